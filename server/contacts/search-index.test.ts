/** The search index of contacts: found before and after the worker merges it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../../tests/support.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import { newId } from '../lib/id.ts'
import { createMetrics } from '../lib/process/metrics.ts'
import { listContacts } from './contacts.ts'
import { createPeople } from './people.ts'
import { createSearchMerge } from './search-index.ts'

test('a new contact is found at once, before and after the worker merges the search index', async (t) => {
  const db = (await createDatabase(t)).connect(2)
  const owner = { email: `owner@${newId()}.test`, password: 'correct horse' }
  const { workspace_id } = await db.begin((sql) => createWorkspace(sql, { name: 'Acme', default_country: 'US', owner }))
  const people = Array.from({ length: 200 }, (_, i) => {
    const phone = `+1415555${String(i).padStart(4, '0')}`
    return { workspace_id, channel: 'msgapp' as const, phone, user_id: null, name: `Person ${i} Lovelace` }
  })
  const metrics = createMetrics()
  const merge = createSearchMerge(db, metrics)
  const find = async () => {
    // Otherwise a small table is scanned.
    const rows = await db.begin(async (sql) => {
      await sql`set local enable_seqscan = off`
      await sql`set local enable_indexscan = off`
      return listContacts(sql, workspace_id, { search: 'person 7 love' }, { limit: 10, before: 'f'.repeat(32) })
    })
    return rows.data.map(({ name }) => name)
  }
  await merge()
  await createPeople(db, people)
  assert.deepEqual(await find(), ['Person 7 Lovelace'])
  await merge()
  const [, pages] = /^parley_search_pending_pages\{table="contacts"\} (\d+)$/m.exec(await metrics.read()) ?? []
  assert.ok(Number(pages) > 0, `${pages} pages were merged`)
  assert.deepEqual(await find(), ['Person 7 Lovelace'])
  await merge()
  assert.match(await metrics.read(), /^parley_search_pending_pages\{table="contacts"\} 0$/m)
})
