/**
 * Imports of contacts from files: what members request. A worker does the work (`run.ts`).
 *
 * States: `uploaded → checking → checked → importing → done`, and `undoing → undone`. `failed` after an error: before the import has
 * started, the file can be checked again with another mapping. `canceled` by a member. A file is deleted when its import has ended.
 */
import type { Readable } from 'node:stream'
import { readTagName } from '../contacts/tags.ts'
import type { Delimiter } from '../lib/csv-format.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import type { Db, Fragment, Sql } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'
import { BrokenSourceError, TooLargeError } from '../lib/store-spool.ts'
import { type FileHead, readHead, sourceOf } from './file.ts'
import { cancelColumns } from './jobs.ts'
import { type AttributeType, type ImportOptions, requireMapping, type Target } from './mapping.ts'
import { deleteRejects } from './rejects.ts'
import { defaultOptions, requireRowOf, type StoredColumn } from './resource.ts'
import { saveMapping } from './saved-mappings.ts'
import { suggestTargets } from './suggest.ts'

const mebibyte = 1024 * 1024
export const maxFileBytes = 100 * mebibyte

/** Files of a workspace that wait for their import. */
const maxWaiting = 10

type ImportContext = { db: Db; store: Store }
type NewImport = { memberId: string; country: string; filename: string | undefined; bytes: Readable }

/** Stores the file of a new import and reads its first rows. Returns the id. 400 for a file that cannot be read. */
export async function createImport(
  { db, store }: ImportContext,
  workspaceId: string,
  { memberId, country, filename, bytes }: NewImport,
): Promise<string> {
  await requireCapacity(db, workspaceId)
  const id = newId()
  // The row is written first, so that the sweep finds the file after a crash.
  await db`
    insert into contact_imports (workspace_id, id, state, filename, created_by, created_at)
    values (${workspaceId}, ${id}, 'uploading', ${cleanFilename(filename)}, ${memberId}, ${timeOfId(id)})`
  try {
    const size = await storeFile(store, id, bytes)
    const head = await readHead(sourceOf(store, id, size))
    const columns = await describeColumns(db, workspaceId, head, country)
    await db`
      update contact_imports set state = 'uploaded', size_bytes = ${size}, ${headColumns(db, head, columns)}
      where workspace_id = ${workspaceId} and id = ${id}`
    return id
  } catch (error) {
    await removeImport({ db, store }, workspaceId, id)
    throw error
  }
}

async function storeFile(store: Store, id: string, bytes: Readable): Promise<number> {
  try {
    return (await store.put(id, bytes, { mime_type: 'text/csv', maxBytes: maxFileBytes })).size_bytes
  } catch (error) {
    if (error instanceof TooLargeError) {
      throw badRequest(`body: a file may have at most ${maxFileBytes / mebibyte} MiB`)
    }
    if (error instanceof BrokenSourceError) throw badRequest('body: incomplete')
    throw error
  }
}

const shownSamples = 3

async function describeColumns(
  sql: Sql,
  workspaceId: string,
  head: FileHead,
  country: string,
): Promise<StoredColumn[]> {
  const { header, samples, delimiter } = head
  const attributes = await listAttributeTypes(sql, workspaceId)
  return suggestTargets(header, samples, { country, delimiter, attributes }).map((suggestion, i) => ({
    ...suggestion,
    samples: samples[i]?.slice(0, shownSamples) ?? [],
  }))
}

const headColumns = (sql: Sql, head: FileHead, columns: readonly StoredColumn[]): Fragment => {
  const { encoding, delimiter, header, first } = head
  return sql`encoding = ${encoding}, delimiter = ${delimiter}, header = ${header}::text[],
  columns = ${JSON.stringify(columns)}::text::jsonb, first_byte = ${first.byte}, first_line = ${first.line},
  next_byte = ${first.byte}, next_line = ${first.line}`
}

const maxNameLength = 200

/** Without characters that could disguise it. */
function cleanFilename(filename: string | undefined): string | null {
  const name = (filename ?? '')
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
    .trim()
  return [...name].slice(-maxNameLength).join('') || null
}

/** The attributes of the newest contacts, which are those in use, with the type of most values. */
async function listAttributeTypes(sql: Sql, workspaceId: string): Promise<Map<string, AttributeType>> {
  const rows = await sql<{ key: string; type: string }[]>`
    select a.key, mode() within group (order by jsonb_typeof(a.value)) as type
    from (
      select attributes from contacts where workspace_id = ${workspaceId} order by id desc limit ${sampledContacts}
    ) c
    cross join lateral jsonb_each(c.attributes) as a
    group by a.key
    limit ${maxListed}`
  return new Map(rows.map(({ key, type }) => [key, type === 'number' || type === 'boolean' ? type : 'text']))
}

const sampledContacts = 1_000
const maxListed = 500

async function requireCapacity(sql: Sql, workspaceId: string): Promise<void> {
  const [waiting] = await sql<{ count: number }[]>`
    select count(*)::int as count from contact_imports where workspace_id = ${workspaceId} and has_file`
  if (waiting && waiting.count >= maxWaiting) {
    throw new ApiError('rate_limited', `${maxWaiting} files wait for their import; start or delete one of them`, {
      'retry-after': '60',
    })
  }
}

/** Reads the file again with another delimiter. 400 when it was checked already. */
export async function changeDelimiter(
  { db, store }: ImportContext,
  workspaceId: string,
  id: string,
  { delimiter, country }: { delimiter: Delimiter; country: string },
): Promise<void> {
  const { id: importId, size_bytes, started_at } = await requireRowOf(db, workspaceId, id)
  const refusal = wrongState('the delimiter can be changed only before the import starts')
  if (started_at !== null) throw refusal
  const head = await readHead(sourceOf(store, importId, size_bytes), delimiter)
  const columns = await describeColumns(db, workspaceId, head, country)
  const changed = await db`
    update contact_imports set ${headColumns(db, head, columns)}, mapping = null, check_result = null, checked_at = null, error = null,
      state = 'uploaded'
    where workspace_id = ${workspaceId} and id = ${id} and started_at is null and state in ('uploaded', 'checked', 'failed')`
  if (changed.count === 0) throw refusal
  await deleteRejects(db, workspaceId, id)
}

const wrongState = (sentence: string) => badRequest(`import: ${sentence}`)

type CheckInput = {
  mapping: readonly Target[]
  options?: ImportOptions | undefined
  save_mapping?: boolean | undefined
}

/** Requests a check. 400 for a mapping that is not valid. */
export async function requestCheck(
  db: Db,
  workspaceId: string,
  id: string,
  country: string,
  { mapping, options = defaultOptions, save_mapping = false }: CheckInput,
): Promise<void> {
  const { header } = await requireRowOf(db, workspaceId, id)
  const valid = requireMapping(mapping, header.length)
  const tag = options.tag === null || options.tag.trim() === '' ? null : readTagName(options.tag, 'options.tag')
  const changed = await db`
    update contact_imports set state = 'checking', mapping = ${JSON.stringify(valid)}::text::jsonb,
      options = ${JSON.stringify({ tag, update: options.update })}::text::jsonb, country = ${country}, check_result = null,
      checked_at = null, error = null, queued_at = now(), rows_done = 0, next_byte = first_byte, next_line = first_line,
      attempt_count = 0, leased_until = null
    where workspace_id = ${workspaceId} and id = ${id} and has_file and started_at is null
      and state in ('uploaded', 'checked', 'failed')`
  if (changed.count === 0) throw wrongState('it can be checked only before it starts')
  if (save_mapping) await saveMapping(db, workspaceId, header, valid)
}

export async function requestStart(db: Db, workspaceId: string, id: string): Promise<void> {
  const { state } = await requireRowOf(db, workspaceId, id)
  const changed = await db`
    update contact_imports set state = 'importing', started_at = now(), queued_at = now(), has_changes = true, rows_done = 0,
      next_byte = first_byte, next_line = first_line, result = null, attempt_count = 0, leased_until = null
    where workspace_id = ${workspaceId} and id = ${id} and state = 'checked'`
  if (changed.count === 0) {
    throw wrongState(
      state === 'uploaded' || state === 'failed' ? 'check it before it starts' : 'it has started already',
    )
  }
}

export async function requestUndo(db: Db, workspaceId: string, id: string): Promise<void> {
  await requireRowOf(db, workspaceId, id)
  const changed = await db`
    update contact_imports set state = 'undoing', queued_at = now(), rows_done = 0, undone_to = null, attempt_count = 0,
      leased_until = null, erased_count = 0, restored_count = 0, kept_count = 0
    where workspace_id = ${workspaceId} and id = ${id} and state in ('done', 'failed', 'canceled')
      and started_at is not null and has_changes and changes_until > now()`
  if (changed.count === 0) throw wrongState('it can be undone for seven days after it ended')
}

/** Cancels an import that runs: the rows imported so far stay. Removes one that has not started. 400 for one that has ended. */
export async function cancelImport(
  context: ImportContext,
  workspaceId: string,
  id: string,
): Promise<{ id: string; deleted: boolean }> {
  const { db } = context
  const { id: importId } = await requireRowOf(db, workspaceId, id)
  const canceled = await db`
    update contact_imports set ${cancelColumns(db)}
    where workspace_id = ${workspaceId} and id = ${importId} and state = 'importing'`
  if (canceled.count > 0) return { id: importId, deleted: false }
  if (!(await removeImport(context, workspaceId, importId)))
    throw wrongState('it has ended; imports of the past are kept')
  return { id: importId, deleted: true }
}

/** Deletes an import that has not started, with its file. Returns false for any other. */
export async function removeImport(
  { db, store }: { db: Db; store: Pick<Store, 'delete'> },
  workspaceId: string,
  id: string,
): Promise<boolean> {
  const [removed] = await db<{ id: string }[]>`
    update contact_imports set state = 'uploading', leased_until = null, lease = lease + 1
    where workspace_id = ${workspaceId} and id = ${id} and started_at is null
    returning id`
  if (!removed) return false
  await store.delete(id)
  await deleteRejects(db, workspaceId, id)
  await db`delete from contact_imports where workspace_id = ${workspaceId} and id = ${id}`
  return true
}
