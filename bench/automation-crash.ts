/**
 * 2,000 runs of automations while one process after the other is killed with kill -9: the API, one of its children, the worker, the channel
 * and a session of the database. Steps that took effect twice, runs that stay behind, and what the channel got against what the log says.
 *
 * Customers write until the service takes their message, as the provider does, and half of them are asked a question.
 */
import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AutomationDefinition } from '../sdk/src/index.ts'
import { type Programs, startPrograms } from '../tests/crashing.ts'
import { until } from '../tests/support.ts'
import type { Figure } from './figure.ts'
import { postOnce, writtenBy } from './inbound.ts'
import { phoneOf } from './people.ts'

const people = 2_000
const kills = 20
const perCallback = 10
/** Between two callbacks: fewer questions than a workspace may start in a second, also when a worker has a few seconds to catch up. */
const pauseMs = 350
const question = 'Are you ready?'
const withinMs = 300_000

const say = (text: string) => ({ type: 'send' as const, message: { type: 'text' as const, text } })
const steps = [
  say('one'),
  { type: 'set' as const, add_tags: ['Bot'] },
  say('two'),
  { type: 'note' as const, text: 'noted' },
]
const definitions: Record<'go' | 'talk', AutomationDefinition> = {
  go: { trigger: { type: 'message', contains: ['go'] }, steps: [...steps, { type: 'wait', for: '10s' }, say('three')] },
  talk: {
    trigger: { type: 'message', contains: ['talk'] },
    steps: [
      ...steps,
      {
        type: 'ask',
        message: { type: 'text', text: question },
        answer: { type: 'text' },
        save_as: 'answers.ready',
        // A question whose send was interrupted may never have reached the customer.
        timeout: { after: '1m', steps: [say('no answer')] },
      },
      say('three'),
    ],
  },
}

type Sent = { to: string; body: { text: { body: string } } }
type Workspace = Awaited<ReturnType<Programs['workspace']>>

export async function benchAutomationCrash(): Promise<Figure[]> {
  const cleanUps: (() => unknown)[] = []
  const owner = { after: (run: () => unknown) => void cleanUps.push(run), diagnostic: console.log, passed: true }
  const programs = await startPrograms(owner, { roles: ['api', 'worker'] })
  const workspace = await programs.workspace()
  for (const [name, definition] of Object.entries(definitions)) {
    const { id } = await workspace.parley.automations.create({ name, definition })
    await workspace.parley.automations.publish(id)
  }
  const answering = { isOver: false }
  const answered = answerQuestions(programs, workspace, answering)
  const [killed] = await Promise.all([killInTurn(programs), writeAll(programs, workspace)])
  const began = performance.now()
  await until(
    () => 'the runs to end',
    () => hasEnded(programs, workspace),
    withinMs,
  ).catch((error) => console.error(error))
  const seconds = (performance.now() - began) / 1000
  answering.isOver = true
  await answered
  const figures = await check(programs, workspace, killed, seconds)
  for (const run of cleanUps.reverse()) await run()
  return figures
}

/** Half of the customers start each automation. A callback that the service does not take is repeated. */
async function writeAll(programs: Programs, workspace: Workspace): Promise<void> {
  const words = Object.keys(definitions)
  for (let from = 0; from < people; from += perCallback) {
    const writers = Array.from({ length: perCallback }, (_, i) => from + i)
    await postUntilTaken(programs, workspace, writers, words[(from / perCallback) % words.length] ?? '')
    await sleep(pauseMs)
  }
}

async function postUntilTaken(
  { services: [api] }: Programs,
  { connections: { msgapp } }: Workspace,
  writers: readonly number[],
  text: string,
): Promise<void> {
  const target = { connection: msgapp, port: Number(new URL(api.url).port), path: `/channels/msgapp/${msgapp.id}` }
  const body = writtenBy(msgapp, writers, text)
  while (!(await postOnce(target, body))) await sleep(100)
}

/** Answers every question that the channel got, once. */
async function answerQuestions(programs: Programs, workspace: Workspace, over: { isOver: boolean }): Promise<void> {
  const personOf = new Map(Array.from({ length: people }, (_, i) => [phoneOf(i).slice(1), i]))
  while (!over.isOver) {
    const sent = await listSent(workspace)
    const asked = sent.flatMap(({ to, body }) =>
      body.text.body === question ? (personOf.get(to.replace('+', '')) ?? []) : [],
    )
    const open = new Set(asked)
    for (const person of open) personOf.delete(phoneOf(person).slice(1))
    if (open.size > 0) await postUntilTaken(programs, workspace, [...open], 'yes')
    await sleep(500)
  }
}

/** Empty while the channel is down. */
const listSent = ({ provider }: Workspace): Promise<Sent[]> => provider.sent().catch(() => []) as Promise<Sent[]>

/** Returns what was killed. */
async function killInTurn({ db, simulator, services }: Programs): Promise<string[]> {
  const [api, worker] = services
  const victims: Record<string, () => Promise<unknown>> = {
    worker: async () => {
      await worker?.kill()
      await worker?.start()
    },
    'a session of the database': async () => {
      const rows = await db<{ pid: number }[]>`
        select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1`
      for (const { pid } of rows) process.kill(pid, 'SIGKILL')
    },
    'a child of the API': async () => {
      for (const pid of listChildren(api.pid()).slice(0, 1)) process.kill(pid, 'SIGKILL')
    },
    channel: async () => {
      await simulator.kill()
      await simulator.start()
    },
    API: async () => {
      await api.kill()
      await api.start()
    },
  }
  const names = Object.keys(victims)
  const killed: string[] = []
  for (let i = 0; i < kills; i++) {
    await sleep(800 + Math.random() * 1_700)
    const name = names[i % names.length] ?? ''
    await victims[name]?.()
    killed.push(name)
  }
  return killed
}

const listChildren = (pid: number): number[] =>
  execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/)
    .map(Number)

/** The database may be recovering. */
async function hasEnded({ db }: Programs, { id }: Workspace): Promise<boolean> {
  const [row] = await db<{ open: number; ended: number }[]>`
    select (select count(*) from automation_runs where workspace_id = ${id} and state <> 'ended')::int
        + (select count(*) from automation_triggers where workspace_id = ${id})::int as open,
      (select count(*) from automation_runs where workspace_id = ${id} and state = 'ended')::int as ended`.catch(
    () => [],
  )
  return row !== undefined && row.open === 0 && row.ended > 0
}

async function check({ db }: Programs, workspace: Workspace, killed: string[], seconds: number): Promise<Figure[]> {
  const { id } = workspace
  const sent = (await listSent(workspace)).map(({ to, body }) => `${to.replace('+', '')} ${body.text.body}`)
  const got = new Set(sent)
  const [counts] = await db<{ runs: number; finished: number; repeated: number; notes: number; unknown: number }[]>`
    select count(*)::int as runs, (count(*) filter (where r.reason = 'finished'))::int as finished,
      (select count(*) from (
        select from automation_steps s
        where s.workspace_id = ${id} and s.outcome in ('done', 'sent', 'unknown', 'asked', 'answered')
        group by s.run_id, s.path, s.outcome having count(*) > 1
      ) twice)::int as repeated,
      (select count(*) from timeline_entries where workspace_id = ${id} and kind = 'note')::int as notes,
      (select count(*) from automation_steps where workspace_id = ${id} and outcome = 'unknown')::int as unknown
    from automation_runs r where r.workspace_id = ${id}`
  const logged = await db<{ line: string }[]>`
    select ltrim(c.phone, '+') || ' ' || m.content_text as line
    from automation_steps s
    join automation_runs r on r.workspace_id = s.workspace_id and r.id = s.run_id
    join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
    join messages m on m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id and m.id = s.message_id
    where s.workspace_id = ${id} and s.outcome = 'sent'`
  const { runs = 0, finished = 0, repeated = -1, notes = 0, unknown = 0 } = counts ?? {}
  const what = `${people.toLocaleString('en')} runs, ${killed.length} times kill -9 of ${[...new Set(killed)].join(', ')}`
  const none = { below: 1 }
  return [
    {
      what: `${what}: messages that the channel got twice`,
      value: sent.length - got.size,
      unit: 'messages',
      goal: none,
      note: `${sent.length} in all`,
    },
    {
      what: `${what}: other steps that took effect twice`,
      value: repeated + Math.abs(notes - runs),
      unit: 'steps',
      goal: none,
      note: `${notes} notes of ${runs} runs`,
    },
    {
      what: `${what}: customers without a run that ended`,
      value: Math.abs(people - runs) + (runs - finished),
      unit: 'customers',
      goal: none,
      note: `${finished} of ${runs} runs finished, the last ${seconds.toFixed(0)} s after the last kill and message`,
    },
    {
      what: `${what}: messages that the log calls sent and the channel did not get`,
      value: logged.filter(({ line }) => !got.has(line)).length,
      unit: 'messages',
      goal: none,
      note: `${unknown} steps with an unknown outcome, which are not repeated`,
    },
  ]
}
