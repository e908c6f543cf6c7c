/** The queue of reports that arrived before their message: backoff, fairness and the limit per workspace. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createDatabase, times } from '../../../tests/support.ts'
import { createWorkspace } from '../../accounts/workspaces.ts'
import type { Report } from '../../channels/channel.ts'
import { newId } from '../../lib/id.ts'
import { claimEarlyReports, storeEarlyReports, sweepEarlyReports } from './early-reports.ts'

async function startQueue(t: TestContext) {
  const db = (await createDatabase(t)).connect(3)
  const addWorkspace = async () => {
    const owner = { email: `owner@${newId()}.test`, password: 'correct horse' }
    const { workspace_id } = await db.begin((sql) =>
      createWorkspace(sql, { name: 'Acme', default_country: 'US', owner }),
    )
    return workspace_id
  }
  const edit = (external_id: string, text: string): Report & { kind: 'edit' } => ({
    kind: 'edit',
    from: null,
    external_id,
    text,
    at: new Date().toISOString(),
  })
  const wait = (workspaceId: string, externalId: string, text = '') =>
    storeEarlyReports(db, [{ workspace_id: workspaceId, report: { ...edit(externalId, text), channel: 'msgapp' } }])
  /** Inserts many reports, like a flood of reports about messages of another system. */
  const flood = (workspaceId: string, count: number) => {
    const ids = Array.from({ length: count }, () => newId())
    return db`
      insert into early_reports (workspace_id, id, external_id, report, received_at)
      select ${workspaceId}, id, id::text, ${db.json({ ...edit('unknown', ''), channel: 'msgapp' })}, now()
      from unnest(${ids}::uuid[]) as id`
  }
  const addMessage = async (workspaceId: string, externalId: string) => {
    const [contactId, conversationId] = [newId(), newId()]
    await db`insert into contacts (workspace_id, id, created_at, updated_at) values (${workspaceId}, ${contactId}, now(), now())`
    await db`
      insert into conversations (workspace_id, id, contact_id, channel, created_at, updated_at)
      values (${workspaceId}, ${conversationId}, ${contactId}, 'msgapp', now(), now())`
    await db`
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, status, external_id, created_at)
      values (${workspaceId}, ${conversationId}, ${newId()}, 'inbound', 'customer', 'text', 'received', ${externalId}, now())`
  }
  const countOf = async (workspaceId: string) => {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from early_reports where workspace_id = ${workspaceId}`
    return row?.n
  }
  return { db, addWorkspace, wait, flood, addMessage, countOf }
}

const textsOf = (taken: Awaited<ReturnType<typeof claimEarlyReports>>) =>
  taken.map(({ report }) => (report.kind === 'edit' ? report.text : report.kind))

test('a report about an unknown message is checked with exponential backoff, and claimed when the message exists', async (t) => {
  const { db, addWorkspace, wait, addMessage, countOf } = await startQueue(t)
  const workspaceId = await addWorkspace()
  await wait(workspaceId, 'wamid.1', 'edited')
  const pauses: number[] = []
  for (let i = 0; i < 14; i++) {
    assert.deepEqual(await claimEarlyReports(db, times.messages), [])
    const [row] = await db<{ seconds: number }[]>`
      update early_reports set next_check_at = now() returning
        (select round(extract(epoch from next_check_at - now()))::int from early_reports) as seconds`
    pauses.push(row?.seconds ?? 0)
  }
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 2048, 2048])
  await addMessage(workspaceId, 'wamid.1')
  assert.deepEqual(textsOf(await claimEarlyReports(db, times.messages)), ['edited'])
  assert.equal(await countOf(workspaceId), 0)
})

test('all reports about one message are claimed together, in the order of arrival', async (t) => {
  const { db, addWorkspace, wait, addMessage } = await startQueue(t)
  const workspaceId = await addWorkspace()
  await wait(workspaceId, 'wamid.1', 'first')
  for (let i = 0; i < 3; i++) {
    await db`update early_reports set next_check_at = now()`
    await claimEarlyReports(db, times.messages)
  }
  // The first report is due in some seconds, the second now.
  await wait(workspaceId, 'wamid.1', 'second')
  await wait(workspaceId, 'wamid.2', 'of another message')
  await addMessage(workspaceId, 'wamid.1')
  assert.deepEqual(textsOf(await claimEarlyReports(db, times.messages)), ['first', 'second'])
})

test('a flood of reports about unknown messages delays no other workspace and uses only its share of a run', async (t) => {
  const { db, addWorkspace, wait, flood, addMessage, countOf } = await startQueue(t)
  const [noisy, quiet] = [await addWorkspace(), await addWorkspace()]
  await flood(noisy, 10_050)
  await wait(quiet, 'wamid.1', 'early')
  await addMessage(quiet, 'wamid.1')
  assert.deepEqual(textsOf(await claimEarlyReports(db, times.messages)), ['early'])
  const [checked] = await db<{ n: number }[]>`select count(*)::int as n from early_reports where check_count > 0`
  assert.equal(checked?.n, 250, 'half of the checks of a run')

  await wait(quiet, 'wamid.2')
  await wait(noisy, 'newest')
  assert.deepEqual(await sweepEarlyReports(db), { expired: 0, excess: 51 })
  assert.deepEqual([await countOf(noisy), await countOf(quiet)], [10_000, 1])
  const [newest] = await db`select 1 from early_reports where external_id = 'newest'`
  assert.ok(newest, 'the oldest are dropped')
  await db`update early_reports set received_at = now() - interval '61 minutes' where workspace_id = ${quiet}`
  assert.deepEqual(await sweepEarlyReports(db), { expired: 1, excess: 0 })
})
