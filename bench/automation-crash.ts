/**
 * 2,000 runs of an automation with sends, questions, a wait, a note and a branch, while processes are killed 20 times: the main process,
 * the API, the engines, a second worker, the channel, the database and one of its sessions. The customers answer what the channel's log
 * shows, and that log decides at the end: no message twice, none missing without a kill between it and the channel, no run stuck.
 *
 * `SYNCHRONOUS_COMMIT=off` runs it on a database that loses its last commits at a kill, which no guarantee covers: messages arrive twice then.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Parley } from '../sdk/src/index.ts'
import type { AskStep, Definition, Step } from '../server/automation/definition.ts'
import type { Connection } from '../server/channels/channel.ts'
import type { ChannelName } from '../server/contacts/resource.ts'
import type { Db } from '../server/lib/postgres/db.ts'
import { toProvider } from '../tests/provider.ts'
import { chooseKills, type Parts, type Sent, startParts } from './automation-crash-parts.ts'
import type { Figure } from './figure.ts'
import { phoneOf } from './people.ts'
import { createKeys } from './service.ts'

const people = 2_000
const perSecond = 6
const kills = 20
/** Between two kills: the claims of a dead worker end after 15 seconds. */
const pauseMs = { least: 8_000, most: 20_000 }
/** After the last answer. A question that never reached the customer ends in this time, too. */
const settleMs = 10 * 60_000

/** The texts of the automation, in their order. */
const texts = {
  hello: 'Hello, one moment.',
  name: 'What is your name?',
  count: 'How many do you need?',
  again: 'A number, please.',
  large: 'We have so many.',
  small: 'We have enough.',
  bye: 'Goodbye.',
}
const note = 'Asked for the name.'

/** Of the second attempt of a step: the first one failed and did not reach the channel. */
const secondAttempt = ' (second attempt)'

const send = (text: string): Step => ({ type: 'send', message: { type: 'text', text } })
const say = (text: string): Step => ({
  ...{ type: 'send', message: { type: 'text', text } },
  on_error: [{ type: 'wait', for: '30s' }, send(text + secondAttempt)],
})
type Question = Pick<AskStep, 'answer' | 'save_as' | 'retries'>
const askOnce = (text: string, question: Question): AskStep => ({
  ...{ type: 'ask', message: { type: 'text', text }, timeout: { after: '3m', steps: [] } },
  ...question,
})
const ask = (text: string, question: Question): AskStep => ({
  ...askOnce(text, question),
  on_error: [{ type: 'wait', for: '30s' }, askOnce(text + secondAttempt, question)],
})

const definition: Definition = {
  trigger: { type: 'message', contains: ['start'] },
  steps: [
    say(texts.hello),
    ask(texts.name, { answer: { type: 'text' }, save_as: 'answers.name' }),
    { type: 'note', text: note },
    { type: 'wait', for: '10s' },
    ask(texts.count, {
      ...{ answer: { type: 'number' }, save_as: 'answers.count' },
      retries: { max: 2, text: texts.again },
    }),
    {
      type: 'branch',
      cases: [
        {
          when: { match: 'all', rules: [{ field: 'answers.count', op: 'gt', value: '10' }] },
          steps: [say(texts.large)],
        },
      ],
      otherwise: [say(texts.small)],
    },
    say(texts.bye),
  ],
}

/** What customer `i` answers to a text. Every second one first answers with a word, every third one needs many. */
function answerOf(i: number, text: string): string | undefined {
  const number = i % 3 === 0 ? '12' : '3'
  if (text === texts.name) return 'Robin'
  if (text === texts.count) return i % 2 === 0 ? 'several' : number
  return text === texts.again ? number : undefined
}

/** What customer `i` must be sent who got the texts `got`. One who did not get a question gives no answer. */
function expectedBy(i: number, got: readonly string[]): string[] {
  const { hello, name, count, again, large, small, bye } = texts
  const isAskedAgain = i % 2 === 0 && got.includes(count)
  const isAnswered = got.includes(isAskedAgain ? again : count)
  return [hello, name, count, ...(isAskedAgain ? [again] : []), isAnswered && i % 3 === 0 ? large : small, bye]
}

export async function benchAutomationCrash(): Promise<Figure[]> {
  const parts = await startParts()
  const { db } = parts
  const [key = ''] = await createKeys(parts.service(), 1)
  const parley = new Parley({ apiKey: key, baseUrl: `${parts.service().url}/v1` })
  const { id } = await parley.automations.create({ name: 'Questions', definition })
  await openWindows(parts)
  await parley.automations.publish(id)

  const customers = startCustomers(parts)
  const killed: Record<string, number> = {}
  await sleep(5_000)
  for (const [name, kill] of chooseKills(parts, kills)) {
    console.log(`${new Date().toISOString().slice(11, 19)} kill -9 of ${name}; ${customers.describe()}`)
    await kill()
    killed[name] = (killed[name] ?? 0) + 1
    await sleep(pauseMs.least + Math.random() * (pauseMs.most - pauseMs.least))
  }
  await customers.untilStarted()
  const stuck = await untilEnded(db, id)
  const log = await customers.stop()
  const found = await untilSettled(() => compare(db, id, log))
  await parts.stop()

  const what = `${people.toLocaleString('en')} runs of an automation, ${kills} kills`
  const counts = Object.entries(killed).map(([name, count]) => `${count} × ${name}`)
  const figure = (about: string, problems: readonly string[], noteText?: string): Figure => {
    for (const problem of problems.slice(0, 20)) console.log(problem)
    return { what: `${what}: ${about}`, value: problems.length, unit: '', goal: { below: 1 }, note: noteText ?? '' }
  }
  return [
    figure(
      'messages that a customer got twice',
      found.twice,
      `${log.length} messages; kill -9 of ${counts.join(', ')}`,
    ),
    figure('runs that are stuck', stuck),
    figure('customers without exactly one run, or with two notes', found.uneven),
    figure(
      'messages that are missing, out of order, or of which service and channel say different things',
      found.different,
      `${found.unknown} were in flight at a kill and are not sent again; ${found.failed} runs failed while the channel was down, and a note says so`,
    ),
  ]
}

/** Each customer has written before, through the simulator, which reports messages to others as failed: their window is closed. */
async function openWindows({ simulator, service }: Parts): Promise<void> {
  const provider = toProvider(
    `${simulator.url}/simulator`,
    service().workspaceId,
    {} as Record<ChannelName, Connection>,
  )
  for (let from = 0; from < people; from += 20) {
    const phones = Array.from({ length: Math.min(20, people - from) }, (_, i) => phoneOf(from + i))
    await Promise.all(phones.map((phone) => provider.writes({ from: phone, text: 'Good morning.' })))
  }
}

/** As the definition has it, whichever attempt sent it. */
const textOf = ({ text }: Sent['body']): string => text?.body.replace(secondAttempt, '') ?? ''

/** Customers who start one after the other, and answer each question in the channel's log once. */
function startCustomers({ post, write, sent }: Parts) {
  const indexes = new Map(Array.from({ length: people }, (_, i) => [phoneOf(i).slice(1), i]))
  const answered = new Set<string>()
  const posts = new Set<Promise<void>>()
  let log: Sent[] = []
  let started = 0
  let isStopped = false
  const writes = (i: number, text: string) => {
    const posted = post(write(i, text))
    posts.add(posted)
    void posted.finally(() => posts.delete(posted))
  }
  const starting = (async () => {
    const began = performance.now()
    for (; started < people; started++) {
      await sleep(Math.max(0, began + (started * 1000) / perSecond - performance.now()))
      writes(started, 'start')
    }
    while (posts.size > 0) await Promise.all(posts)
  })()
  const answering = (async () => {
    while (!isStopped) {
      log = (await sent()) ?? log
      for (const { to, body, message_id } of log) {
        const i = indexes.get(to.replace('+', ''))
        const answer = i === undefined ? undefined : answerOf(i, textOf(body))
        if (i === undefined || answer === undefined || answered.has(message_id)) continue
        answered.add(message_id)
        writes(i, answer)
      }
      await sleep(1_000)
    }
  })()
  return {
    describe: () => `${started} have started, ${log.length} messages are sent, ${posts.size} callbacks are open`,
    untilStarted: () => starting,
    async stop(): Promise<Sent[]> {
      isStopped = true
      await answering
      return (await sent()) ?? []
    },
  }
}

/** Returns the runs that are still open, and the changes that are not decided, when the time is over. */
async function untilEnded(db: Db, automationId: string): Promise<string[]> {
  const deadline = Date.now() + settleMs
  for (;;) {
    await sleep(2_000)
    const open = await db<{ line: string }[]>`
      select concat_ws(' ', 'run', id, state, position, 'due', due_at, 'leased until', leased_until) as line
      from automation_runs where automation_id = ${automationId} and state <> 'ended'
      union all
      select concat_ws(' ', 'change', kind, event, id) from automation_triggers`
    if (open.length === 0 || Date.now() > deadline) return open.map(({ line }) => line)
  }
}

/** The last reports of the channel arrive a moment after the runs have ended. */
async function untilSettled<Found extends { different: string[] }>(find: () => Promise<Found>): Promise<Found> {
  const deadline = Date.now() + 60_000
  for (;;) {
    const found = await find()
    if (found.different.length === 0 || Date.now() > deadline) return found
    await sleep(2_000)
  }
}

type Outcome = {
  phone: string
  runs: number
  reason: string
  notes: number
  failure_notes: number
  messages: { id: string; text: string; status: string }[]
}

async function compare(db: Db, automationId: string, log: readonly Sent[]) {
  const rows = await db<Outcome[]>`
    select c.phone, count(*)::int as runs, min(r.reason) as reason,
      (select count(*)::int from timeline_entries t
        where t.workspace_id = r.workspace_id and t.conversation_id = r.conversation_id and t.kind = 'note' and t.text = ${note}) as notes,
      (select count(*)::int from timeline_entries t
        where t.workspace_id = r.workspace_id and t.conversation_id = r.conversation_id and t.kind = 'note' and t.text <> ${note})
        as failure_notes,
      (select coalesce(json_agg(json_build_object('id', m.id, 'text', m.content_text, 'status', m.status) order by m.id), '[]')
        from messages m
        where m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id and m.direction = 'outbound') as messages
    from automation_runs r join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
    where r.automation_id = ${automationId}
    group by c.phone, r.workspace_id, r.conversation_id`
  const outcomes = new Map(rows.map((row) => [row.phone, row]))
  const sentTo = new Map<string, Sent[]>()
  for (const one of log) {
    const phone = `+${one.to.replace('+', '')}`
    sentTo.set(phone, [...(sentTo.get(phone) ?? []), one])
  }
  const found = { twice: [] as string[], uneven: [] as string[], different: [] as string[], unknown: 0, failed: 0 }
  for (let i = 0; i < people; i++) {
    const phone = phoneOf(i)
    const got = sentTo.get(phone) ?? []
    const gotTexts = got.map(({ body }) => textOf(body))
    const show = `${phone}: ${got.map(({ body }) => `${body.text?.body} (${body.biz_opaque_callback_data})`).join(' ')}`
    const outcome = outcomes.get(phone)
    const { runs = 0, reason = 'none', notes = 0, failure_notes = 0, messages = [] } = outcome ?? {}
    const isFailed = reason === 'failed' && failure_notes === 1
    if (isFailed) found.failed++
    else if (reason !== 'finished') found.uneven.push(`${phone}: the run ended: ${reason}`)
    if (runs !== 1 || notes > 1 || (notes === 0 && !isFailed))
      found.uneven.push(`${phone}: ${runs} runs, ${notes} notes`)

    // The question is asked again when the text after a wrong answer did not reach the channel.
    const isAskedTwice = messages.some(({ text, status }) => text === texts.again && status === 'failed')
    const once = gotTexts.filter((text) => !(isAskedTwice && text === texts.count))
    if (new Set(once).size < once.length) found.twice.push(show)

    const accepted = new Set(got.map(({ body }) => body.biz_opaque_callback_data))
    const stored = new Map(messages.map((message) => [message.id, message]))
    for (const id of accepted) if (!stored.has(id)) found.different.push(`${phone}: the service does not know ${id}`)
    for (const { id, text, status } of messages) {
      const isAccepted = status === 'sent' || status === 'delivered' || status === 'read'
      if (isAccepted !== accepted.has(id)) found.different.push(`${phone}: ${text} ${id} is ${status}`)
      if (status === 'pending') found.unknown++
    }
    const expected = expectedBy(i, gotTexts)
    const missing = expected.filter(
      (text) => !messages.some((message) => message.text.replace(secondAttempt, '') === text),
    )
    if (missing.length > 0 && !isFailed) found.different.push(`${phone}: not sent: ${missing.join(' ')}`)
    const inOrder = expected.filter((text) => gotTexts.includes(text))
    if (inOrder.join() !== [...new Set(gotTexts)].join()) found.different.push(`unexpected: ${show}`)
  }
  return found
}
