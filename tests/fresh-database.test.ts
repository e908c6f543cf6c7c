/**
 * A statement of a large batch does not compare each row with each: 1,000 rows would take seconds. PostgreSQL plans so when it expects one row
 * of a list that a statement makes, which it often does, and most often in a new database. It says itself what its plans did
 * (`auto_explain`); rows are counted, not time.
 */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createImporter } from './importing.ts'
import { startReceiver } from './receiver.ts'
import { dataOf, type Json, pluck, startSignedIn, until, type World } from './support.ts'

const batchSize = 1_000
/** What a statement may read for each row of its batch. Comparing 1,000 rows with each other reads 500 for each. */
const maxRowsPerRow = 20

const phoneOf = (n: number) => `+1415${5_000_000 + n}`
const people = (from: number, count = batchSize) => Array.from({ length: count }, (_, i) => phoneOf(from + i))

test('in a new database no statement of a batch compares each row with each', async (t) => {
  const reason = 'explains the statements of its database, which is new'
  const { api, url, db, database, browser, connect } = await startSignedIn(t, { alone: reason })
  const provider = await connect({ messagesPerSecond: 10_000 })
  const receiver = await startReceiver(t)
  const events = ['contact.created', 'message.received', 'message.status_updated', 'conversation.created']
  dataOf(await api.post('/webhooks', { url: receiver.url, events }), 201)
  const importer = createImporter(browser)

  const call = (field: string, value: Json) =>
    provider.callback({ object: 'whatsapp_business_account', entry: [{ changes: [{ field, value }] }] })
  let messages = 0
  const write = async (numbers: readonly string[]) => {
    const batch = numbers.map((phone) => ({
      from: phone.slice(1),
      id: `wamid.${messages++}`,
      type: 'text',
      text: { body: 'Where is my order?' },
      context: { from: phone.slice(1), id: `wamid.${messages - 500}` },
    }))
    assert.equal(await call('messages', { messages: batch }), 200)
  }
  const broadcast = async (audience: Json) => {
    const { id } = dataOf(
      await api.post('/broadcasts', { name: 'News', template: { name: 'hello_world' }, ...audience }),
      202,
    )
    await until('the broadcast to end', async () => (await api.get(`/broadcasts/${id}`)).body.data.status === 'sent')
  }

  const plans = await explainStatements(t, db, database.address)
  await until('new connections', async () => (await fetch(`${url}/readyz`)).ok)
  const analyze = await holdStatistics(database)
  await write(people(0))
  await analyze()
  const definition = { trigger: { type: 'conversation', event: 'opened' }, steps: [{ type: 'note', text: 'New.' }] }
  const automation = dataOf(await api.post('/automations', { name: 'New', definition }), 201)
  dataOf(await api.post(`/automations/${automation.id}/publish`))
  await write(people(1_000))
  await write(people(0))
  const ids = pluck(await db`select id from conversations where workspace_id = ${api.workspaceId} limit 500`, 'id')
  await browser.ask('POST', '/conversations/bulk', { ids, status: 'closed' })
  await write(people(0))

  dataOf(
    await api.post('/contacts/batch', {
      contacts: people(2_000).map((phone) => ({ phone, name: 'Ann', tags: ['new'] })),
    }),
  )
  const file = ['phone,name,tags', ...people(2_500, 3_000).map((phone) => `${phone},Bob,vip`)].join('\n')
  const imported = await importer.importFile(file)
  await importer.undo(imported.id)

  // From then on the planner expects that no message is a sent one.
  await analyze()
  await broadcast({ recipients: people(0).map((to) => ({ to })) })
  const sent = await db`
    select external_id from messages where workspace_id = ${api.workspaceId} and direction = 'outbound'`
  const statuses = sent.map(({ external_id: id }) => ({
    id,
    status: 'read',
    timestamp: String(Math.floor(Date.now() / 1_000)),
  }))
  assert.equal(statuses.length, batchSize)
  assert.equal(await call('messages', { statuses }), 200)
  const segment = dataOf(
    await api.post('/segments', {
      name: 'New',
      kind: 'dynamic',
      filter: { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'new' }] },
    }),
    201,
  )
  await broadcast({ segment_id: segment.id })

  await until('the automation', async () => {
    const [row] = await db`
      select count(*)::int as count from automation_runs where workspace_id = ${api.workspaceId} and state = 'ended'`
    return row && row.count >= 1_500
  })

  // A statement that does what no other may do is found.
  const probe = `select pg_sleep(0.1), count(*) from generate_series(1, 1000) one join generate_series(1, 1000) other on one + other < 0`
  await database.connect(1).unsafe(probe)
  const quadratic = plans().filter(({ rows }) => rows > maxRowsPerRow * batchSize)
  for (const { plan } of quadratic.filter(({ text }) => text !== probe)) t.diagnostic(JSON.stringify(plan))
  assert.deepEqual(pluck(quadratic, 'text'), [probe])
})

/**
 * From now on the tables have statistics only when the test calls the returned function: what the planner knows does not depend on the time.
 * The service takes statistics within a second after a table has doubled (`statistics.ts`).
 */
async function holdStatistics(database: World['database']): Promise<() => Promise<void>> {
  const db = await database.connect(1).reserve()
  const tables = await db`
    select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'`
  const hold = async () => {
    await db`begin`
    // The lock of `analyze`.
    for (const { name } of tables) await db`lock table ${db(name)} in share update exclusive mode`
  }
  await db`set idle_in_transaction_session_timeout = 0`
  await hold()
  return async () => {
    await db`commit`
    await db`analyze`
    await hold()
  }
}

type Plan = { rows: number; text: string; plan: Json }

/** Lists the plans of statements from now on, of those that take some time: others read few rows. */
async function explainStatements(
  t: TestContext,
  db: World['db'],
  { host, database }: { host: string; database: string },
): Promise<() => Plan[]> {
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '20ms',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_format': 'json',
    // A batch has a megabyte of them.
    'auto_explain.log_parameter_max_length': '0',
  }
  for (const [name, value] of Object.entries(settings))
    await db.unsafe(`alter database ${database} set ${name} = '${value}'`)
  // The connections of the service come back with the settings.
  await db`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${database} and pid <> pg_backend_pid()`
  const read = followFile(t, join(host, '../../postgres.log'))
  return () =>
    read()
      .split(/^(?=\d{4}-\d\d-\d\d )/m)
      .flatMap((entry) => {
        const [, json] = / plan:\n([\s\S]*)/.exec(entry) ?? []
        if (!json) return []
        const { 'Query Text': text, Plan: plan } = JSON.parse(json)
        return { rows: Math.max(...listNodes(plan).map(readRows)), text, plan }
      })
}

/** What is written into a log from now on. The service empties it when it is long. */
function followFile(t: TestContext, path: string): () => string {
  let position = statSync(path).size
  let text = ''
  const read = () => {
    const bytes = readFileSync(path)
    if (bytes.length < position) position = 0
    text += bytes.subarray(position)
    position = bytes.length
    return text
  }
  const timer = setInterval(read, 500)
  t.after(() => clearInterval(timer))
  return read
}

const listNodes = (plan: Json): Json[] => [plan, ...(plan.Plans ?? []).flatMap(listNodes)]

/** Rows that a part of a plan returned and dropped, in all its loops. */
function readRows(node: Json): number {
  const dropped = Object.keys(node).filter((key) => key.startsWith('Rows Removed'))
  const each = [node['Actual Rows'], ...dropped.map((key) => node[key])].reduce((sum, count) => sum + (count ?? 0), 0)
  return Math.round(each * (node['Actual Loops'] ?? 1))
}
