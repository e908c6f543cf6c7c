/** Synchronisation of contacts: `GET /contacts?updated_after=` shows every change, in order, and skips none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Api, assertBadRequest, dataOf, type Json, main, start, until } from './support.ts'

const createContact = async (api: Api, n: number, more: object = {}): Promise<Json> =>
  dataOf(await api.post('/contacts', { phone: `+1415555${String(n).padStart(4, '0')}`, ...more }), 201)

/** Reads the changes after a time, page by page. */
async function readChanges(api: Api, after: string, limit = 50, filters = ''): Promise<Json[]> {
  const rows: Json[] = []
  let cursor = ''
  for (;;) {
    const page = await api.get(`/contacts?updated_after=${after}&limit=${limit}${cursor}${filters}`)
    assert.equal(page.status, 200, page.text)
    rows.push(...page.body.data)
    if (page.body.meta.next_cursor === null) return rows
    assert.equal(page.body.data.length, limit)
    cursor = `&cursor=${page.body.meta.next_cursor}`
  }
}

const idsOf = (rows: readonly Json[]): string[] => rows.map(({ id }) => id)
const start2000 = '2000-01-01T00:00:00Z'

test('changes are listed oldest first, and a change moves a contact to the end', main, async (t) => {
  const { api, workspace } = await start(t)
  const { api: neighbour } = await workspace()
  await createContact(neighbour, 1)
  const [one, two, three] = [await createContact(api, 1), await createContact(api, 2), await createContact(api, 3)]
  assert.deepEqual(idsOf(await readChanges(api, start2000)), [one.id, two.id, three.id])
  const changed = (await api.patch(`/contacts/${one.id}`, { name: 'Ann' })).body.data
  for (const limit of [1, 2, 50]) {
    assert.deepEqual(await readChanges(api, start2000, limit), [two, three, changed])
  }
  assert.deepEqual(await readChanges(api, two.updated_at), [three, changed])
  // The last `updated_at` is where the next synchronisation starts: it repeats nothing.
  assert.deepEqual(await readChanges(api, changed.updated_at), [])
  assert.deepEqual(idsOf(await readChanges(api, start2000, 50, '&search=Ann')), [one.id])
  const local = new Date(Date.parse(two.updated_at) + 7_200_000).toISOString().replace('Z', '+02:00')
  for (const time of [local, encodeURIComponent(local)])
    assert.deepEqual(await readChanges(api, time), [three, changed])
})

test('an unusable time is refused, and an unreadable cursor starts again', async (t) => {
  const { api } = await start(t)
  const { id } = await createContact(api, 1)
  for (const time of ['', 'yesterday', '2026-02-30T00:00:00Z', '2026-01-01', '1', '2026-01-01T00:00:00']) {
    assertBadRequest(await api.get(`/contacts?updated_after=${time}`), /^updated_after: must be a date-time/)
  }
  const far = Buffer.alloc(24, 0x7f).toString('base64url')
  for (const cursor of ['x', 'A'.repeat(22), '_'.repeat(32), far, 'A'.repeat(31)]) {
    assert.deepEqual(idsOf((await api.get(`/contacts?updated_after=${start2000}&cursor=${cursor}`)).body.data), [id])
  }
})

test('a change that commits late is not skipped, however many pages were read meanwhile', main, async (t) => {
  const { api, database } = await start(t)
  const contacts: Json[] = []
  for (let n = 0; n < 6; n++) contacts.push(await createContact(api, n))
  const late = contacts[0].id
  const seen = new Map<string, string | null>()
  let after = start2000
  /** What an integrator does: reads all pages, and continues after the last row. */
  const synchronise = async () => {
    for (const { id, name, updated_at } of await readChanges(api, after, 2)) {
      seen.set(id, name)
      after = updated_at
    }
  }
  const own = database.connect(1)
  await own.begin(async (sql) => {
    // Begins before all other changes, and writes the same rows as the service: with the time of its statement.
    await sql`update contacts set name = 'Late', updated_at = clock_timestamp() where id = ${late}`
    for (const { id } of contacts.slice(1, 4)) await api.patch(`/contacts/${id}`, { name: 'Early' })
    await synchronise()
    await api.patch(`/contacts/${contacts[4].id}`, { name: 'Early' })
    await synchronise()
  })
  await synchronise()
  const names = contacts.map(({ id }) => seen.get(id))
  assert.deepEqual(names, ['Late', 'Early', 'Early', 'Early', 'Early', null])
})

test('no change is skipped while many callers write and one synchronises', async (t) => {
  const { api } = await start(t)
  const contacts: Json[] = []
  for (let n = 0; n < 8; n++) contacts.push(await createContact(api, 100 + n))
  const seen = new Map<string, string>()
  let after = start2000
  let isWriting = true
  const write = async (worker: number) => {
    for (let n = 0; n < 15; n++) {
      const { id } = contacts[(worker * 3 + n) % contacts.length]
      await api.patch(`/contacts/${id}`, { name: `${worker}.${n}`, tags: [`tag ${n % 3}`] })
    }
  }
  const synchronise = async () => {
    for (const row of await readChanges(api, after, 3)) {
      seen.set(row.id, row.name)
      after = row.updated_at
    }
  }
  const reader = (async () => {
    while (isWriting) await synchronise()
  })()
  await Promise.all([0, 1, 2, 3].map(write))
  isWriting = false
  await reader
  await synchronise()
  for (const { id } of contacts) assert.equal(seen.get(id), (await api.get(`/contacts/${id}`)).body.data.name)
})

test('a new contact has an update time that no list has passed, whatever its statement waited for', async (t) => {
  const { api, database, db } = await start(t, { alone: 'locks a table' })
  const before = await createContact(api, 1)
  const own = database.connect(1)
  let creation: Promise<Json> | undefined
  await own.begin(async (sql) => {
    await sql`lock table contact_identities in access exclusive mode`
    creation = createContact(api, 2)
    await until('the creation to wait longer than the lag that lists allow', async () => {
      const waiting = await db`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%contact_identities%'
          and query_start < clock_timestamp() - interval '300 ms'`
      return waiting.length > 0
    })
  })
  const created = await creation
  assert.ok(created && created.updated_at >= created.created_at)
  assert.deepEqual(idsOf(await readChanges(api, before.updated_at)), [created.id])
  const [row] = await db`select updated_at >= created_at as ok from contacts where id = ${created.id}`
  assert.ok(row?.ok)
})
