/**
 * The dry run of automations: it names the runs that the published automation then has when the same customers write the same messages
 * to a fresh workspace, it changes nothing, and its work is limited.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { divideTimes } from '../common/times.ts'
import { assertBadRequest, assertStatus, dataOf } from './assertions.ts'
import { signIn } from './browser.ts'
import { idAt } from './internals.ts'
import type { Provider } from './provider.ts'
import { type Api, type Json, type SignedIn, startSignedIn, until } from './support.ts'

const text = (body: string) => ({ type: 'text', text: body })
const say = (body: string) => ({ type: 'send', message: text(body) })
const is = (field: string, value: string) => ({ match: 'all', rules: [{ field, op: 'is', value }] })

const menu = {
  trigger: { type: 'message', when: 'first_since_closed' },
  conditions: { match: 'all', rules: [{ field: 'assignee', op: 'is_not_set' }] },
  steps: [
    {
      type: 'ask',
      message: {
        type: 'interactive',
        interactive: {
          kind: 'buttons',
          body: 'Hello {{contact.name}}, what is it about?',
          buttons: ['Sales', 'Help'].map((title) => ({ id: title.toLowerCase(), title })),
        },
      },
      answer: { type: 'choice' },
      save_as: 'answers.topic',
      retries: { max: 1, text: 'Please tap a button.' },
      timeout: { after: '1h', steps: [say('Write again when you have time.'), { type: 'end' }] },
    },
    {
      type: 'branch',
      cases: [
        {
          when: is('answers.topic', 'sales'),
          steps: [
            {
              type: 'ask',
              message: text('How many seats?'),
              answer: { type: 'number' },
              save_as: 'contact.attributes.seats',
              retries: { max: 1, text: 'A number please, not {{answers.topic}}.' },
            },
          ],
        },
      ],
      otherwise: [say('See our help pages.'), { type: 'set', status: 'closed' }, { type: 'end' }],
    },
    {
      type: 'branch',
      cases: [{ when: is('attributes.seats', '12'), steps: [say('{{contact.attributes.seats}} seats: a dozen.')] }],
      otherwise: [say('{{answers.seats}} seats, noted.')],
    },
    { type: 'hand_over', note: 'A lead.' },
  ],
}
const followUp = {
  trigger: { type: 'message', contains: ['price'] },
  steps: [say('One moment.'), { type: 'wait', for: '1h' }, say('Are you still there, {{contact.name|friend}}?')],
}
const apology = {
  trigger: { type: 'silence', event: 'waiting', after: '2h' },
  conditions: is('status', 'open'),
  steps: [say('Sorry for the wait.')],
}

/** Together with the message before; a minute later; after all waits. */
const gaps = { soon: 300, later: 60_000, long: 25 * 3_600_000 } as const
type Action = { do: string; gap: keyof typeof gaps }
type Customer = { name: string; phone: string; actions: Action[] }

/** Each is a word of the customer, or what the team does: `+person`, `+close`. A dot before it: soon; an underscore: long after. */
const scripts = [
  'hello #sales 12',
  'hello #sales 1 .2 12',
  'hello _thanks',
  'hello #help hello #sales 7',
  'hello +person price',
  'hello #sales STOP hello',
  'hello nothing #sales many lots',
  'hello #help +close price #sales +person 12',
  'price +person',
  'price _hello',
  'STOP START hello',
  'hello #sales _12',
  'hello +close hello _price',
]
const words = [
  'hello',
  'price',
  '12',
  'many',
  '#sales',
  '#help',
  '+person',
  '+close',
  'STOP',
  'START',
  '_hello',
  '_price',
]

/** The same ones in every run. */
function* randomScripts(count: number): Generator<string> {
  let seed = 7
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  for (let i = 0; i < count; i++) {
    yield Array.from({ length: 3 + next(4) }, (_, k) => (k === 0 ? 'hello' : words[next(words.length)])).join(' ')
  }
}

const customers = [...scripts, ...randomScripts(11)].map((script, i): Customer => {
  const actions = script.split(' ').map((word): Action => {
    const gap = word.startsWith('.') ? 'soon' : word.startsWith('_') ? 'long' : 'later'
    return { do: word.replace(/^[._]/, ''), gap }
  })
  return { name: `C${String(i).padStart(2, '0')}`, phone: `+141555501${String(i).padStart(2, '0')}`, actions }
})

type Place = { api: Api; ask: SignedIn['ask']; provider: Provider; db: SignedIn['db'] }

/** Performs one action. */
async function act({ api, ask, provider, db }: Place, { name, phone: from }: Customer, action: Action): Promise<void> {
  const word = action.do
  if (word.startsWith('#')) {
    const id = word.slice(1)
    await provider.writes({ from, name, type: 'button', button: { id, title: id } })
  } else if (!word.startsWith('+')) await provider.writes({ from, name, text: word })
  else {
    const [conversation] = await db<{ id: string }[]>`
      select v.id from conversations v join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
      where v.workspace_id = ${api.workspaceId} and c.phone = ${from}`
    if (word === '+close') await api.patch(`/conversations/${conversation?.id}`, { status: 'closed' })
    else await ask('POST', `/conversations/${conversation?.id}/messages`, { text: 'I answer.' }, 201)
  }
}

async function startPlaces(t: TestContext) {
  const divided = divideTimes(10)
  const times = { ...divided, automation: { ...divided.automation, togetherMs: 3_000 } }
  const world = await startSignedIn(t, { times })
  const { db, api, ask } = world
  const past: Place = { db, api, ask, provider: await world.connect({ messagesPerSecond: 1_000 }) }
  const fresh = async (): Promise<Place> => {
    const { api, owner } = await world.workspace()
    const { ask } = await signIn({ url: world.url, owner })
    const provider = await world.connect({ workspaceId: api.workspaceId, messagesPerSecond: 1_000 })
    return { db, api, ask, provider }
  }
  return { ...world, past, fresh }
}

/** Plays all scripts and gives what happened the times of the scripts. */
async function writePast(place: Place): Promise<void> {
  const { api, db } = place
  const startedAt = idAt(Date.now() - 60_000)
  const isNew = db`workspace_id = ${api.workspaceId} and id > ${startedAt}`
  await Promise.all(
    customers.map(async (customer, i) => {
      let ms = Date.now() - (5 * 24 - i) * 3_600_000
      for (const action of customer.actions) {
        ms += gaps[action.gap]
        await act(place, customer, action)
        const at = new Date(ms).toISOString()
        const ofCustomer = db`conversation_id in (
          select v.id from conversations v join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
          where v.workspace_id = ${api.workspaceId} and c.phone = ${customer.phone}
        )`
        await db`update messages set id = ${idAt(ms)}, created_at = ${at}, sent_at = case when sent_at is not null then ${at}::timestamptz end where ${isNew} and ${ofCustomer}`
        // Several changes of one moment keep their order.
        await db`
          update timeline_entries e set id = n.id, created_at = ${at}
          from (
            select id as old_id, (${idAt(ms).slice(0, -4)} || lpad(row_number() over (order by id)::text, 4, '0'))::uuid as id
            from timeline_entries where ${isNew} and ${ofCustomer}
          ) n
          where e.workspace_id = ${api.workspaceId} and e.id = n.old_id`
      }
    }),
  )
}

const isOpen = (place: Place, { phone }: Customer, condition: ReturnType<Place['db']>) => place.db`
  select from automation_runs r join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
  where r.workspace_id = ${place.api.workspaceId} and c.phone = ${phone} and r.state <> 'ended' and ${condition}
  limit 1`

/** No run of the customer has anything to do now. */
const untilIdle = (place: Place, customer: Customer) =>
  until(`the runs of ${customer.name} to be idle`, async () => {
    const queued = await place.db`select from automation_triggers where workspace_id = ${place.api.workspaceId} limit 1`
    if (queued.length > 0) return false
    return (
      (await isOpen(place, customer, place.db`(r.state = 'running' or r.due_at < now() + interval '10 s')`)).length ===
      0
    )
  })

/** Time passes until no run of the customer waits. */
async function passTime(place: Place, customer: Customer): Promise<void> {
  for (;;) {
    await untilIdle(place, customer)
    if ((await isOpen(place, customer, place.db`true`)).length === 0) return
    await place.db`
      update automation_runs r set due_at = now(), timeout_at = least(timeout_at, now()) from contacts c
      where r.workspace_id = ${place.api.workspaceId} and c.workspace_id = r.workspace_id and c.id = r.contact_id
        and c.phone = ${customer.phone} and r.state <> 'ended'`
  }
}

async function publish({ api }: Pick<Place, 'api'>, name: string, definition: Json): Promise<string> {
  const { id } = dataOf(await api.post('/automations', { name, definition }), 201)
  return dataOf(await api.post(`/automations/${id}/publish`)).id
}

type Seen = { contact: string; started: string | null; reason: string | null; texts: string[]; answers: Json }

/** One line per run, with the answers by name. */
const sortSeen = (runs: Seen[]): string[] =>
  runs.map(({ answers, ...run }) => JSON.stringify([run, Object.entries(answers).sort()])).sort()

/** What the runs of an automation did. */
async function listReal({ api, db }: Place, automationId: string): Promise<Seen[]> {
  const rows = await db<
    { contact: string; started: string | null; reason: string | null; texts: string[]; answers: Json }[]
  >`
    select c.name as contact, m.content_text as started, r.reason, r.variables as answers, array(
      select split_part(s.content_text, chr(10), 1) from messages s
      where s.workspace_id = r.workspace_id and s.run_id = r.id order by s.id
    ) as texts
    from automation_runs r
    join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
    left join messages m on m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id and m.id = r.message_id
    where r.workspace_id = ${api.workspaceId} and r.automation_id = ${automationId}`
  return rows.map(({ contact, started, reason, texts, answers }) => ({ contact, started, reason, texts, answers }))
}

/** What a dry run says of them. */
const toSeen = ({ runs }: Json): Seen[] =>
  runs.map(({ contact_name, message_text, reason, steps, answers }: Json) => ({
    contact: contact_name,
    started: message_text,
    reason,
    texts: steps
      .filter(({ outcome }: Json) => ['sent', 'asked', 'repeated'].includes(outcome))
      .map((step: Json) => step.text.split('\n')[0]),
    answers,
  }))

test('a dry run names exactly the runs, messages and ends that the published automations then have', async (t) => {
  const { past, fresh } = await startPlaces(t)
  const real = await fresh()
  const ids = [await publish(real, 'Menu', menu), await publish(real, 'Follow up', followUp)]
  await Promise.all([
    writePast(past),
    ...customers.map(async (customer) => {
      for (const action of customer.actions) {
        if (action.gap === 'long') await passTime(real, customer)
        if (action.gap === 'later') await untilIdle(real, customer)
        await act(real, customer, action)
      }
      await passTime(real, customer)
    }),
  ])
  for (const [i, definition] of [menu, followUp].entries()) {
    const { id } = dataOf(await past.api.post('/automations', { name: `Tried ${i}`, definition }), 201)
    const tried = dataOf(await past.api.post(`/automations/${id}/dry-run`, {}))
    const expected = await listReal(real, ids[i] ?? '')
    assert.deepEqual(sortSeen(toSeen(tried)), sortSeen(expected))
    assert.deepEqual([tried.source, tried.is_complete, tried.conversation_count], ['draft', true, customers.length])
    assert.deepEqual(
      [tried.counts.runs, tried.counts.conversations, tried.counts.messages],
      [
        expected.length,
        new Set(expected.map(({ contact }) => contact)).size,
        expected.flatMap(({ texts }) => texts).length,
      ],
    )
    const reasons = new Set(expected.map(({ reason }) => reason))
    for (const reason of i === 0
      ? ['handed_over', 'person', 'opted_out', 'failed', 'finished']
      : ['person', 'finished']) {
      assert.ok(reasons.has(reason), `no run ended with ${reason}`)
      assert.equal(tried.counts[reason], expected.filter((run) => run.reason === reason).length)
    }
  }
})

test('a dry run finds the silences at which the published automation then writes', async (t) => {
  const { past, fresh } = await startPlaces(t)
  const real = await fresh()
  const { db } = real
  const id = await publish(real, 'Apology', apology)
  /** Two hours pass for the customers who wait, once for each wait. */
  const passed = new Map<string, string>()
  const pass = async (customer: Customer) => {
    const [row] = await db<{ id: string; waiting_since: string }[]>`
      select v.id, v.waiting_since from conversations v join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
      where v.workspace_id = ${real.api.workspaceId} and c.phone = ${customer.phone} and v.waiting_since is not null`
    if (!row || passed.get(row.id) === row.waiting_since) return
    const [aged] = await db<{ waiting_since: string }[]>`
      update conversations set waiting_since = now() - interval '2 hours' where id = ${row.id} returning waiting_since`
    passed.set(row.id, aged?.waiting_since ?? '')
    await until('the silence to be checked', async () => {
      const [checked] = await db`
        select from automations where id = ${id} and checked_until > ${aged?.waiting_since ?? null}::timestamptz + interval '2 hours'`
      return checked
    })
  }
  await Promise.all([
    writePast(past),
    ...customers.map(async (customer) => {
      for (const action of customer.actions) {
        if (action.gap === 'long') await pass(customer)
        await act(real, customer, action)
      }
      await pass(customer)
      await untilIdle(real, customer)
    }),
  ])
  const { id: tried } = dataOf(await past.api.post('/automations', { name: 'Apology', definition: apology }), 201)
  const result = dataOf(await past.api.post(`/automations/${tried}/dry-run`, { days: 7 }))
  const expected = await until('the runs to end', async () => {
    const runs = await listReal(real, id)
    return runs.every(({ reason }) => reason !== null) && runs
  })
  assert.ok(expected.length > 5)
  assert.deepEqual(sortSeen(toSeen(result)), sortSeen(expected))
})

/** Tables that a run writes to. */
const tables = [
  ...[
    'messages',
    'conversations',
    'contacts',
    'contact_tags',
    'tags',
    'labels',
    'conversation_labels',
    'timeline_entries',
  ],
  ...['automations', 'automation_versions', 'automation_runs', 'automation_steps', 'automation_triggers', 'plan_usage'],
  ...['webhook_events', 'webhook_deliveries', 'scheduled_messages', 'media', 'audit_log'],
]

test('a dry run changes nothing and sends nothing, and is refused for what it cannot know', async (t) => {
  const world = await startSignedIn(t)
  const { api, ask, db } = world
  const provider = await world.connect()
  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'hello' })
  const everything = {
    trigger: { type: 'message' },
    steps: [
      say('Hello {{contact.name}}'),
      { type: 'set', status: 'closed', add_tags: ['New'], add_labels: ['New'], attributes: { seen: true } },
      { type: 'note', text: 'Seen {{contact.name}}.' },
      { type: 'call', url: 'https://example.com/hook' },
      { type: 'call', url: 'https://example.com/order', save_as: 'answers.order' },
      say('{{answers.order.status}}'),
    ],
  }
  const { id } = dataOf(await api.post('/automations', { name: 'Everything', definition: everything }), 201)
  const path = `/automations/${id}/dry-run`
  const read = async () => {
    const hashes = await Promise.all(
      tables.map(
        (table) => db`
        select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) as hash from ${db(table)} t
        where workspace_id = ${api.workspaceId}`,
      ),
    )
    return JSON.stringify([hashes.map(([row]) => row?.hash), await provider.sent()])
  }
  // The digest and the counters are done with the message.
  const before = await until('the tables to rest', async () => {
    const one = await read()
    return one === (await read()) && one
  })
  const result = dataOf(await api.post(path, {}))
  assert.equal(await read(), before)
  const [run] = result.runs
  assert.deepEqual([run.reason, run.message_count, result.counts.call], ['call', 1, 1])
  assert.deepEqual(
    run.steps.map(({ type, outcome, text: shown }: Json) => [type, outcome, shown]),
    [
      ['send', 'sent', 'Hello Ann'],
      ['set', 'done', 'status closed; add label New; add tag New; seen = true'],
      ['note', 'done', 'Seen Ann.'],
      ['call', 'done', 'https://example.com/hook'],
      ['call', 'stopped', 'https://example.com/order'],
    ],
  )
  assert.ok(result.notes.some((note: string) => /No server is called/.test(note)))

  const tried = (definition: Json) => api.post(path, { definition })
  assert.equal(dataOf(await tried({ ...everything, trigger: { type: 'message', contains: ['bye'] } })).counts.runs, 0)
  assert.equal(
    dataOf(await tried({ trigger: { type: 'contact', event: 'created' }, steps: [say('Hi')] })).counts.runs,
    1,
  )
  assertBadRequest(
    await tried({ trigger: { type: 'message' }, steps: [{ type: 'wait', for: '1x' }] }),
    /^steps\[0\]\.for: /,
  )
  assertBadRequest(await tried({ trigger: { type: 'manual' }, steps: [say('Hi')] }), /^trigger\.type: .*by hand/)
  assertBadRequest(
    await tried({ trigger: { type: 'contact', event: 'tag_added' }, steps: [say('Hi')] }),
    /^trigger\.event: .*not stored/,
  )
  for (const days of [0, 8, 1.5]) assertBadRequest(await api.post(path, { days }), /days/)
  const empty = dataOf(await api.post('/automations', { name: 'Empty' }), 201)
  assertBadRequest(await api.post(`/automations/${empty.id}/dry-run`, {}), /^definition: /)
  const other = await world.workspace()
  assertStatus(await other.api.post(path, {}), 404)
  assertStatus(await api.post(path, {}, { key: await api.key('contacts:read') }), 403)
  const asMember = await ask('POST', path, { days: 1 })
  assert.equal(asMember.data.counts.runs, 1)
})

test('the newest 200 runs are listed, all are counted, and a workspace has one dry run at a time', async (t) => {
  const { api, db } = await startSignedIn(t)
  const nowMs = Date.now()
  const rows = Array.from({ length: 300 }, (_, i) => {
    const ms = nowMs - (i + 1) * 60_000
    return { id: idAt(ms), at: new Date(ms).toISOString(), name: `N${i}` }
  })
  const input = db`json_to_recordset(${JSON.stringify(rows)}::text::json) as i (id uuid, at timestamptz, name text)`
  const [connection] = await db<{ id: string }[]>`
    select gen_random_uuid() as id`
  const world = { workspaceId: api.workspaceId }
  await db`insert into contacts (workspace_id, id, name, name_key, created_at, updated_at) select ${world.workspaceId}, i.id, i.name, lower(i.name), i.at, i.at from ${input}`
  await db`insert into conversations (workspace_id, id, contact_id, channel, connection_id, created_at, updated_at, last_message_at, last_received_at)
    select ${world.workspaceId}, i.id, i.id, 'msgapp', ${connection?.id ?? null}, i.at, i.at, i.at, i.at from ${input}`
  await db`insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
    select ${world.workspaceId}, i.id, i.id, 'inbound', 'customer', 'text', 'hello', 'received', i.at from ${input}`
  const definition = { trigger: { type: 'message', when: 'first' }, steps: [say('Hello {{contact.name}}')] }
  const { id } = dataOf(await api.post('/automations', { name: 'Greeting', definition }), 201)
  const answers = await Promise.all(Array.from({ length: 6 }, () => api.post(`/automations/${id}/dry-run`, {})))
  const done = answers.filter(({ status }) => status === 200)
  assert.ok(done.length > 0)
  assert.deepEqual(
    answers.filter((answer) => !done.includes(answer)).map(({ status }) => status),
    Array.from({ length: 6 - done.length }, () => 429),
  )
  assert.ok(done.length < 6, 'none was refused')
  const { counts, runs, notes, is_complete } = dataOf(done[0] ?? assert.fail())
  assert.deepEqual([counts.runs, counts.conversations, counts.messages, is_complete], [300, 300, 300, true])
  assert.equal(runs.length, 200)
  assert.deepEqual([runs[0].contact_name, runs[199].contact_name], ['N0', 'N199'])
  assert.ok(notes.some((note: string) => /newest 200 runs/.test(note)))
})
