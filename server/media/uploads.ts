/**
 * Files that members bring to send: kept, served by a link nobody can guess,
 * and gone after a day unless they were sent.
 *
 * What a file is, its bytes say; what the browser claims counts only for
 * documents, and only among types that cannot run. Each kind has the size the
 * channel takes of it. A link is for whoever has it; which workspace's a file
 * is matters when it is sent: of our own we know size and name, and keep it.
 * Another workspace's link is like any other address outside.
 */
import { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { randomToken } from '../lib/crypto.ts'
import type { Sql } from '../lib/db.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import { headBytes, typeOfBytes } from '../lib/file-type.ts'
import { newId, timeOfId } from '../lib/id.ts'
import type { Store } from '../lib/store.ts'
import { BrokenSourceError, TooLargeError } from '../lib/store-spool.ts'
import { bareType, cleanName, dropMedia, mediaPath, unknownType } from './media.ts'

export type UploadType = 'image' | 'video' | 'audio' | 'document'

export type Upload = {
  type: UploadType
  /** Where it is served, without the public URL in front. */
  path: string
  mime_type: string
  filename: string | null
  size_bytes: number
}

const mebibyte = 1024 * 1024
/** What the channel takes, and of documents as much as we do. */
const limits: Record<UploadType, number> = {
  image: 5 * mebibyte,
  video: 16 * mebibyte,
  audio: 16 * mebibyte,
  document: 16 * mebibyte,
}
export const maxUploadBytes = Math.max(...Object.values(limits))

/** So many may wait to be sent in a workspace. */
const mostUnused = 1_000
const maxNameLength = 100

type Uploading = { memberId: string; declaredType: string | undefined; filename: string | undefined; bytes: Readable }

export async function createUpload(
  { sql, store }: { sql: Sql; store: Store },
  workspaceId: string,
  { memberId, declaredType, filename: given, bytes }: Uploading,
): Promise<Upload> {
  await requireRoom(sql, workspaceId)
  const { head, whole } = await readHead(bytes)
  if (head.length === 0) throw badRequest('body: must not be empty')
  const { type, mime_type } = describe(head, declaredType)
  const id = newId()
  const token = randomToken()
  // The end, because the extension is there.
  const filename = [...(cleanName(given ?? null) ?? '')].slice(-maxNameLength).join('') || null
  // The row is first, so that bytes never lie there unknown: whatever happens, the sweep finds them.
  await sql`
    insert into uploads (workspace_id, id, token, mime_type, filename, size_bytes, created_by, created_at)
    values (${workspaceId}, ${id}, ${token}, ${mime_type}, ${filename}, 0, ${memberId}, ${timeOfId(id)})`
  try {
    const size_bytes = await keep(store, id, whole, { type, mime_type })
    await sql`update uploads set size_bytes = ${size_bytes} where workspace_id = ${workspaceId} and id = ${id}`
    return { type, path: mediaPath(token, filename), mime_type, filename, size_bytes }
  } catch (error) {
    await sql`delete from uploads where workspace_id = ${workspaceId} and id = ${id}`
    throw error
  }
}

async function keep(
  store: Store,
  id: string,
  bytes: Readable,
  { type, mime_type }: Pick<Upload, 'type' | 'mime_type'>,
): Promise<number> {
  try {
    return (await store.put(id, bytes, { mime_type, maxBytes: limits[type] })).size_bytes
  } catch (error) {
    if (error instanceof TooLargeError) {
      throw badRequest(`body: ${names[type]} may have at most ${limits[type] / mebibyte} MiB`)
    }
    if (error instanceof BrokenSourceError) throw badRequest('body: not complete')
    throw error
  }
}

const names: Record<UploadType, string> = {
  image: 'an image',
  video: 'a video',
  audio: 'a sound',
  document: 'a document',
}

async function requireRoom(sql: Sql, workspaceId: string): Promise<void> {
  const [unused] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from (
      select from uploads where workspace_id = ${workspaceId} and used_at is null limit ${mostUnused}
    ) counted`
  if (unused && unused.count >= mostUnused) {
    throw new ApiError('rate_limited', `${mostUnused} files wait to be sent; they go a day after they came`, {
      'retry-after': '3600',
    })
  }
}

/** The first bytes, and all of them. */
async function readHead(bytes: Readable): Promise<{ head: Buffer; whole: Readable }> {
  const chunks: AsyncIterator<Buffer> = bytes[Symbol.asyncIterator]()
  const read: Buffer[] = []
  let size = 0
  while (size < headBytes) {
    const next = await chunks.next().catch(() => {
      throw badRequest('body: not complete')
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

/** What the channel shows as a picture, a film or a sound; other files of those kinds it takes as documents. */
const shown: Record<string, UploadType> = {
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

/** A document's type that may be taken on trust: nothing that a browser would run or show. */
const harmless = /^(text\/(plain|csv)|application\/(zip|json|msword|vnd\.(ms-|openxmlformats-|oasis\.)[\w.+-]+))$/

function describe(head: Buffer, declared: string | undefined): Pick<Upload, 'type' | 'mime_type'> {
  const seen = typeOfBytes(head)
  if (seen) return { type: shown[seen] ?? 'document', mime_type: seen }
  const claimed = bareType(declared ?? null)
  return { type: 'document', mime_type: harmless.test(claimed) ? claimed : unknownType }
}

/** The tokens of links of ours in a text. */
export function tokensIn(text: string, publicUrl: string): string[] {
  const parts = text.split(`${publicUrl}/media/`).slice(1)
  return parts.flatMap((part) => /^([0-9A-Za-z]{43})(?![0-9A-Za-z])/.exec(part)?.[1] ?? [])
}

/** These are sent now, those that are this workspace's: they stay. Answers them. */
export async function keepUploads(
  sql: Sql,
  workspaceId: string,
  tokens: readonly string[],
): Promise<{ token: string; path: string }[]> {
  if (tokens.length === 0) return []
  const used = await sql<{ token: string; filename: string | null }[]>`
    update uploads set used_at = coalesce(used_at, now()), use_count = use_count + 1
    where workspace_id = ${workspaceId} and token = any(${[...tokens]}::text[])
    returning token, filename`
  return used.map(({ token, filename }) => ({ token, path: mediaPath(token, filename) }))
}

/** Forget what was not sent within a day. */
export async function sweepUploads(sql: Sql, store: Store, log: FastifyBaseLogger): Promise<void> {
  for (;;) {
    const gone = await sql<{ id: string }[]>`
      with old as (
        select workspace_id, id from uploads
        where used_at is null and created_at < now() - interval '1 day'
        order by created_at
        limit ${mostSwept}
        for update skip locked
      )
      delete from uploads u using old
      where u.workspace_id = old.workspace_id and u.id = old.id
      returning u.id`
    await dropMedia(
      store,
      gone.map(({ id }) => id),
      log,
    )
    if (gone.length < mostSwept) return
  }
}

const mostSwept = 500
