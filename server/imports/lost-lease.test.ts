/** A worker that has lost its lease: the rows of the worker that took over are neither doubled nor lost. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { createFolder } from '../../tests/folder.ts'
import { createDatabase, times } from '../../tests/support.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import { newId } from '../lib/id.ts'
import { createFolderStore } from '../lib/store-folder.ts'
import { checkFile, type JobContext } from './check.ts'
import { sourceOf } from './file.ts'
import { importFile } from './import.ts'
import { createImport, requestCheck, requestStart } from './imports.ts'
import { claimJobs, LostLease } from './jobs.ts'
import { writeRejects } from './rejects.ts'

const rowCount = 5_000
/** Three chunks, each with rejected rows. */
const file = `phone,name\n${Array.from({ length: rowCount }, (_, i) => (i % 500 === 7 ? `bad ${i},N\n` : `+1212${5_000_000 + i},N\n`)).join('')}`

async function startImport(t: TestContext) {
  const db = (await createDatabase(t)).connect(3)
  const store = createFolderStore(createFolder(t))
  const owner = { email: `owner@${newId()}.test`, password: 'correct horse' }
  const { workspace_id: workspaceId } = await db.begin((sql) =>
    createWorkspace(sql, { name: 'Acme', default_country: 'US', owner }),
  )
  const input = { memberId: newId(), country: 'US', filename: 'people.csv', bytes: Readable.from([file]) }
  const id = await createImport({ db, store }, workspaceId, input)
  await requestCheck(db, workspaceId, id, 'US', { mapping: [{ to: 'phone' }, { to: 'name' }] })
  const context: JobContext = {
    db,
    source: sourceOf(store, id, Buffer.byteLength(file)),
    times: times.imports,
    isStopped: () => false,
  }
  /** Claims the import, also from a worker that did not extend its lease in time. */
  const takeOver = async () => {
    await db`update contact_imports set leased_until = null where workspace_id = ${workspaceId} and id = ${id}`
    const [job] = await claimJobs(db, { free: 1, large: 1 }, times.imports)
    return job ?? assert.fail('the import is not claimable')
  }
  const rejected = async () => (await Array.fromAsync(writeRejects(db, workspaceId, id, ['phone', 'name']))).join('')
  const stored = async () => {
    const [row] = await db<{ contacts: number; state: string; result: unknown; checked: unknown }[]>`
      select i.state, i.result, i.check_result as checked,
        (select count(*)::int from contacts c where c.workspace_id = i.workspace_id) as contacts
      from contact_imports i where i.workspace_id = ${workspaceId} and i.id = ${id}`
    return row
  }
  return { db, workspaceId, id, context, takeOver, rejected, stored }
}

const expected = `\ufeffline,reason,phone,name\r\n${Array.from({ length: rowCount / 500 }, (_, i) => `${i * 500 + 9},phone: not a phone number,bad ${i * 500 + 7},N\r\n`).join('')}`

test('a check that was paused after its claim does not delete the rejected rows of the one that took over', async (t) => {
  const { context, takeOver, rejected, stored } = await startImport(t)
  const paused = await takeOver()
  const other = await takeOver()
  assert.ok(other.lease > paused.lease)
  assert.equal(await checkFile(context, other), true)
  assert.equal(await rejected(), expected)
  const before = await stored()
  assert.equal(before?.state, 'checked')
  await assert.rejects(checkFile(context, paused), LostLease)
  assert.equal(await rejected(), expected)
  assert.deepEqual(await stored(), before)
})

test('a check that was paused in the middle of the file writes nothing after another worker has started again', async (t) => {
  const { context, takeOver, rejected } = await startImport(t)
  const [paused, chunks] = [await takeOver(), { left: 1 }]
  assert.equal(await checkFile({ ...context, isStopped: () => chunks.left-- === 0 }, paused), false)
  const partial = await rejected()
  assert.ok(partial.length < expected.length && expected.startsWith(partial), partial)
  const other = await takeOver()
  await assert.rejects(checkFile(context, paused), LostLease)
  assert.equal(await rejected(), partial)
  assert.equal(await checkFile(context, other), true)
  assert.equal(await rejected(), expected)
})

test('an import that was paused writes nothing after another worker has continued', async (t) => {
  const { db, workspaceId, id, context, takeOver, rejected, stored } = await startImport(t)
  await checkFile(context, await takeOver())
  await requestStart(db, workspaceId, id)
  const [paused, chunks] = [await takeOver(), { left: 1 }]
  const stopsAfterOne = () => chunks.left-- === 0
  assert.equal(await importFile({ ...context, isStopped: stopsAfterOne }, paused, () => {}), false)
  // It skips one chunk and writes one.
  chunks.left = 2
  const other = await takeOver()
  assert.ok(other.next.byte > paused.next.byte, 'it continues after the first chunk')
  assert.equal(await importFile({ ...context, isStopped: stopsAfterOne }, other, () => {}), false)
  const before = await stored()
  await assert.rejects(
    importFile(context, paused, () => {}),
    LostLease,
  )
  assert.deepEqual(await stored(), before)
  assert.equal(await rejected(), expected)
  assert.equal(await importFile(context, await takeOver(), () => {}), true)
  await assert.rejects(
    importFile(context, other, () => {}),
    LostLease,
  )
  const done = await stored()
  assert.deepEqual([done?.state, done?.contacts], ['done', rowCount - rowCount / 500])
  assert.deepEqual(done?.result, done?.checked)
  assert.equal(await rejected(), expected)
})
