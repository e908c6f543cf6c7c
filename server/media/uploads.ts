/**
 * Files that members, and visitors of the web chat, upload to send. They are served by a secret link and deleted after a day,
 * those of visitors after an hour, unless they are sent.
 *
 * The first bytes of a file decide its type. The declared type counts only for documents, and only if a browser cannot run
 * it. Each type has the size limit of the channel. A file is marked as used when its own workspace sends it; a link of
 * another workspace is treated like any external URL.
 */
import { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { randomToken } from '../lib/crypto.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'
import { BrokenSourceError, TooLargeError } from '../lib/store-spool.ts'
import { headBytes, typeOfBytes } from './file-type.ts'
import { bareType, cleanName, deleteFiles, mediaPath, unknownType } from './media.ts'
import { maxVisitorBytes, requireVisitorFile } from './visitor-files.ts'

export type UploadType = 'image' | 'video' | 'audio' | 'document'

type Upload = {
  type: UploadType
  /** The path of its link, without the public URL. */
  path: string
  mime_type: string
  filename: string | null
  size_bytes: number
}

const mebibyte = 1024 * 1024
/** The limits of the channel; for documents our own limit. */
const limits: Record<UploadType, number> = {
  image: 5 * mebibyte,
  video: 16 * mebibyte,
  audio: 16 * mebibyte,
  document: 16 * mebibyte,
}
export const maxUploadBytes = Math.max(...Object.values(limits))

/** The maximum number of unsent files of the members of a workspace. Files of visitors are counted by `webchat/visitors.ts`. */
const maxUnused = 1_000
const maxNameLength = 100

/** The member or the visitor of the web chat who uploads. */
type Author = { id: string; isVisitor: boolean }
type NewUpload = { author: Author; declaredType: string | undefined; filename: string | undefined; bytes: Readable }

export async function createUpload(
  { sql, store }: { sql: Sql; store: Store },
  workspaceId: string,
  { author, declaredType, filename: declaredName, bytes }: NewUpload,
): Promise<Upload & { token: string }> {
  if (!author.isVisitor) await requireCapacity(sql, workspaceId)
  const { head, whole } = await readHead(bytes)
  if (head.length === 0) throw badRequest('body: must not be empty')
  const { type, mime_type } = detectType(head, declaredType)
  const id = newId()
  const token = randomToken()
  // Cut at the front, because the extension is at the end.
  const cutName = [...(cleanName(declaredName ?? null) ?? '')].slice(-maxNameLength).join('') || null
  const filename = author.isVisitor ? requireVisitorFile(head, { mime_type, filename: cutName }) : cutName
  // The row is written first, so that the sweep finds the file after a crash.
  await sql`
    insert into uploads (workspace_id, id, token, mime_type, filename, size_bytes, created_by, is_visitor, created_at)
    values (${workspaceId}, ${id}, ${token}, ${mime_type}, ${filename}, 0, ${author.id}, ${author.isVisitor}, ${timeOfId(id)})`
  try {
    const maxBytes = author.isVisitor ? maxVisitorBytes : limits[type]
    const size_bytes = await storeFile(store, id, whole, { type, mime_type, maxBytes })
    await sql`update uploads set size_bytes = ${size_bytes} where workspace_id = ${workspaceId} and id = ${id}`
    return { type, token, path: mediaPath(token, filename), mime_type, filename, size_bytes }
  } catch (error) {
    await sql`delete from uploads where workspace_id = ${workspaceId} and id = ${id}`
    throw error
  }
}

async function storeFile(
  store: Store,
  id: string,
  bytes: Readable,
  { type, mime_type, maxBytes }: Pick<Upload, 'type' | 'mime_type'> & { maxBytes: number },
): Promise<number> {
  try {
    return (await store.put(id, bytes, { mime_type, maxBytes })).size_bytes
  } catch (error) {
    if (error instanceof TooLargeError) {
      throw badRequest(`body: ${names[type]} may have at most ${maxBytes / mebibyte} MiB`)
    }
    if (error instanceof BrokenSourceError) throw badRequest('body: incomplete')
    throw error
  }
}

const names: Record<UploadType, string> = {
  image: 'an image',
  video: 'a video',
  audio: 'an audio file',
  document: 'a document',
}

/** Throws 429 when the members of the workspace have too many unsent files. */
async function requireCapacity(sql: Sql, workspaceId: string): Promise<void> {
  const [unused] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from (
      select from uploads
      where workspace_id = ${workspaceId} and used_at is null and not is_visitor
      limit ${maxUnused}
    ) counted`
  if (unused && unused.count >= maxUnused) {
    throw new ApiError(
      'rate_limited',
      `the workspace has ${maxUnused} unsent files; each is deleted a day after its upload`,
      {
        'retry-after': '3600',
      },
    )
  }
}

/** Reads the first bytes. `whole` is a stream of the complete file. */
async function readHead(bytes: Readable): Promise<{ head: Buffer; whole: Readable }> {
  const chunks: AsyncIterator<Buffer> = bytes[Symbol.asyncIterator]()
  const read: Buffer[] = []
  let size = 0
  while (size < headBytes) {
    const next = await chunks.next().catch(() => {
      throw badRequest('body: incomplete')
    })
    if (next.done) break
    read.push(next.value)
    size += next.value.length
  }
  async function* all() {
    try {
      yield* read
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value
    } finally {
      bytes.destroy()
    }
  }
  return { head: Buffer.concat(read).subarray(0, headBytes), whole: Readable.from(all(), { objectMode: false }) }
}

/** Types that the channel displays as image, video or audio. Other files are sent as documents. */
const displayed: Record<string, UploadType> = {
  'image/jpeg': 'image',
  'image/png': 'image',
  'video/mp4': 'video',
  'video/3gpp': 'video',
  'audio/ogg': 'audio',
  'audio/mpeg': 'audio',
  'audio/aac': 'audio',
  'audio/amr': 'audio',
  'audio/mp4': 'audio',
}

/** Declared document types that are accepted: no browser runs or displays them. */
const acceptedDocuments =
  /^(text\/(plain|csv)|application\/(zip|json|msword|vnd\.(ms-|openxmlformats-|oasis\.)[\w.+-]+))$/

function detectType(head: Buffer, declared: string | undefined): Pick<Upload, 'type' | 'mime_type'> {
  const declaredType = bareType(declared ?? null)
  const container = typeOfBytes(head)
  // Browsers record sound in the same container as video; only the declared type distinguishes the two.
  const detected = container === 'video/mp4' && declaredType === 'audio/mp4' ? declaredType : container
  if (detected) return { type: displayed[detected] ?? 'document', mime_type: detected }
  return { type: 'document', mime_type: acceptedDocuments.test(declaredType) ? declaredType : unknownType }
}

/** The tokens of our media links in a text. */
export function tokensIn(text: string, publicUrl: string): string[] {
  const parts = text.split(`${publicUrl}/media/`).slice(1)
  return parts.flatMap((part) => /^([0-9A-Za-z]{43})(?![0-9A-Za-z])/.exec(part)?.[1] ?? [])
}

/** Marks the workspace's own files among these as used, so that the sweep keeps them. Returns them. */
export async function markUploadsUsed(
  sql: Sql,
  workspaceId: string,
  tokens: readonly string[],
): Promise<{ id: string; token: string; path: string }[]> {
  if (tokens.length === 0) return []
  const used = await sql<{ id: string; token: string; filename: string | null }[]>`
    update uploads set used_at = coalesce(used_at, now()), use_count = use_count + 1
    where workspace_id = ${workspaceId} and token = any(${[...tokens]}::text[])
    returning id, token, filename`
  return used.map(({ id, token, filename }) => ({ id, token, path: mediaPath(token, filename) }))
}

/** The workspace's own uploaded files with these links, in order and marked as used. 400 for any other link. */
export async function requireUploads(
  sql: Sql,
  workspaceId: string,
  links: readonly string[],
  { publicUrl, field }: { publicUrl: string; field: string },
): Promise<string[]> {
  const tokens = links.map((link) => tokensIn(link, publicUrl)[0])
  await markUploadsUsed(
    sql,
    workspaceId,
    tokens.filter((token) => token !== undefined),
  )
  const found = await sql<{ id: string; token: string }[]>`
    select id, token from uploads where workspace_id = ${workspaceId} and token = any(${tokens.map((token) => token ?? '')}::text[])`
  return tokens.map((token, i) => {
    const upload = found.find((each) => each.token === token)
    if (!upload) throw badRequest(`${field}[${i}]: not an uploaded file of this workspace`)
    return upload.id
  })
}

/** Marks a file of this visitor as used. 400 when there is none. A repeated message names the same file again. */
export async function markVisitorFileUsed(
  sql: Sql,
  workspaceId: string,
  { visitorId, token }: { visitorId: string; token: string },
): Promise<Pick<Upload, 'type' | 'path'>> {
  const [file] = await sql<{ token: string; mime_type: string; filename: string | null }[]>`
    update uploads set used_at = coalesce(used_at, now()), use_count = use_count + 1
    where workspace_id = ${workspaceId} and token = ${token} and is_visitor and created_by = ${visitorId}
    returning token, mime_type, filename`
  if (!file) throw badRequest('file: not a file of this visitor')
  return { type: visitorType(file.mime_type), path: mediaPath(file.token, file.filename) }
}

/** The type of message for a visitor's file: the web chat displays every image, also those that other channels do not. */
const visitorType = (mimeType: string): UploadType =>
  displayed[mimeType] ?? (/^(image|audio|video)\//.exec(mimeType)?.[1] as UploadType | undefined) ?? 'document'

/** The uploaded files with these ids, in no order. */
export async function listUploads(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<(Upload & { id: string })[]> {
  if (ids.length === 0) return []
  const uploads = await sql<(Pick<Upload, 'mime_type' | 'filename' | 'size_bytes'> & { id: string; token: string })[]>`
    select id, token, mime_type, filename, size_bytes::int as size_bytes
    from uploads where workspace_id = ${workspaceId} and id = any(${[...ids]}::uuid[])`
  return uploads.map(({ token, ...upload }) => ({
    ...upload,
    type: displayed[upload.mime_type] ?? 'document',
    path: mediaPath(token, upload.filename),
  }))
}

/** Gives up a use of these files, several of a file that is named repeatedly. The sweep deletes a file without any use. */
export async function releaseUploads(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    update uploads u
    set use_count = u.use_count - r.count, used_at = case when u.use_count > r.count then u.used_at end
    from (select id, count(*)::int as count from unnest(${[...ids]}::uuid[]) as i (id) group by id) r
    where u.workspace_id = ${workspaceId} and u.id = r.id`
}

/**
 * Deletes the rows of the files that a contact has uploaded in the web chat and has not sent, in the transaction that erases the
 * contact. Returns their ids, for the caller to delete from the store.
 */
export async function deleteUnsentFilesOf(sql: Sql, workspaceId: string, contactId: string): Promise<string[]> {
  const deleted = await sql<{ id: string }[]>`
    delete from uploads u using contact_identities i
    where i.workspace_id = ${workspaceId} and i.contact_id = ${contactId} and i.channel = 'web'
      and u.workspace_id = ${workspaceId} and u.is_visitor and u.used_at is null and u.created_by::text = i.external_id
    returning u.id`
  return deleted.map(({ id }) => id)
}

/** Deletes files that members did not send within a day, or visitors within an hour. */
export async function sweepUploads(sql: Sql, store: Store, log: FastifyBaseLogger): Promise<void> {
  for (;;) {
    const deleted = await sql<{ id: string }[]>`
      with expired_uploads as (
        select workspace_id, id from uploads
        where used_at is null and created_at < now() - interval '1 hour'
          and (is_visitor or created_at < now() - interval '1 day')
        order by created_at
        limit ${sweepBatchSize}
        for update skip locked
      )
      delete from uploads u using expired_uploads e
      where u.workspace_id = e.workspace_id and u.id = e.id
      returning u.id`
    await deleteFiles(
      store,
      deleted.map(({ id }) => id),
      log,
    )
    if (deleted.length < sweepBatchSize) return
  }
}

const sweepBatchSize = 500
