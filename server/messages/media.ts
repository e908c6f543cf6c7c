/**
 * Media the customers sent: fetch them from the channel, keep them, show them.
 *
 * A row of `media` is the job and then what is served. A claim moves
 * `next_attempt_at` beyond the time a fetch may take, so a crashed worker's
 * rows come back by themselves; what it had stored is replaced, as the key is
 * the row's id. `attempt_count` names the claim: whoever comes too late with an
 * outcome settles nothing.
 *
 * A link is a secret of 256 bits and needs no other: whoever has it may read.
 * What customers send is never trusted to be what it says, so a browser is
 * told to show only what cannot run, and to run nothing.
 */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Channel, FetchedMedia, MediaReference } from '../channels/channel.ts'
import { getConnection } from '../channels/connections.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import { randomToken, type Sealer } from '../lib/crypto.ts'
import type { Db, Sql } from '../lib/db.ts'
import { errorBody, notFound } from '../lib/errors.ts'
import { type Loop, startRepeating } from '../lib/loop.ts'
import type { Metrics } from '../lib/metrics.ts'
import type { App } from '../lib/server.ts'
import type { ByteRange, Store } from '../lib/store.ts'
import { BrokenSourceError, TooLargeError } from '../lib/store-spool.ts'

export type Fetching = {
  db: Db
  sealer: Sealer
  channels: Partial<Record<ChannelName, Pick<Channel, 'fetchMedia'>>>
  store: Store
  log: FastifyBaseLogger
  /** For a fetch, from the question to the last byte kept. */
  timeoutMs?: number
}

/** `wake` makes it look at once, where a row was just added. */
export type FetchingLoop = Loop & { wake(): void }

type Claimed = {
  workspace_id: string
  id: string
  channel: ChannelName
  source: MediaReference
  token: string
  mime_type: string | null
  filename: string | null
  attempt_count: number
}

type Outcome =
  | { ok: true; size_bytes: number; mime_type: string }
  /** `pauseSeconds`: when to try again, undefined for never; `counts`: whether it was an attempt of the few there are. */
  | { ok: false; message: string; pauseSeconds: number | undefined; counts: boolean }

const maxBytes = 100 * 1024 * 1024
const maxAtOnce = 8
const pausesSeconds = [1, 5, 30, 120, 600]
/** Longer than a fetch with its settling may take. */
const leaseSeconds = 90
/** Our own store does not work: that is not the media's fault, however long it takes to mend. */
const storePauseSeconds = 60
/** Told to stop, those under way get this long to finish, and then this long to let go. */
const graceMs = 2_000
const letGoMs = 1_000

/** What a link carries. */
export const mediaToken = (): string => randomToken()

export function startFetchingMedia({ timeoutMs = 60_000, ...fetching }: Fetching): FetchingLoop {
  const { db, log } = fetching
  const underWay = new Set<Promise<void>>()
  const stopping = new AbortController()
  let looking: Promise<void> | undefined
  let lookAgain = false
  let stopped = false
  const roomLeft = () => (stopped ? 0 : maxAtOnce - underWay.size)

  /** One look at a time; whoever asks during one, or without room, gets another after it. */
  async function look(): Promise<void> {
    lookAgain = true
    if (roomLeft() > 0) {
      looking ??= claimWhileRoom().finally(() => {
        looking = undefined
      })
    }
    await looking
  }

  async function claimWhileRoom(): Promise<void> {
    for (let room = roomLeft(); lookAgain && room > 0; room = roomLeft()) {
      lookAgain = false
      const claimed = await claimMedia(db, room)
      for (const row of claimed) begin(row)
      // There may be more.
      if (claimed.length === room) lookAgain = true
    }
  }

  function lookUnlessBroken(): void {
    look().catch((error) => log.error({ err: error, loop: 'fetch-media' }, 'cannot look for media; tries again'))
  }

  function begin(row: Claimed): void {
    const fetched = fetchAndSettle(fetching, row, timeoutMs, stopping.signal)
      .catch((error) => log.error({ err: error, media: row.id }, 'media could not be settled; its lease will run out'))
      .finally(() => {
        underWay.delete(fetched)
        if (lookAgain && !stopped) lookUnlessBroken()
      })
    underWay.add(fetched)
  }

  const polling = startRepeating({ name: 'fetch-media', everyMs: 1_000, log, run: look })
  lookUnlessBroken()
  return {
    wake() {
      if (!stopped) lookUnlessBroken()
    },
    async stop() {
      stopped = true
      await polling.stop()
      await looking?.catch(() => {})
      await within(graceMs, Promise.all(underWay))
      stopping.abort(new Error('the service stops'))
      await within(letGoMs, Promise.all(underWay))
    },
  }
}

async function fetchAndSettle(
  fetching: Omit<Fetching, 'timeoutMs'>,
  row: Claimed,
  timeoutMs: number,
  stop: AbortSignal,
) {
  const { db, log } = fetching
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([timeout, stop])
  let outcome: Outcome
  try {
    outcome = await fetchMedia(fetching, row, signal)
  } catch (error) {
    if (stop.aborted) outcome = { ok: false, message: 'the service stopped', pauseSeconds: 0, counts: false }
    else if (timeout.aborted) outcome = again(row, `not complete within ${timeoutMs / 1000} s`)
    else if (error instanceof TooLargeError) outcome = never(tooLarge)
    else if (error instanceof BrokenSourceError) outcome = again(row, `the channel broke off: ${error.message}`)
    else {
      log.error({ err: error, media: row.id }, 'media could not be kept')
      outcome = { ok: false, message: ourFault, pauseSeconds: storePauseSeconds, counts: false }
    }
  }
  if (outcome.ok) await settleStored(db, row, outcome)
  else await settleFailed(db, row, outcome)
}

/** Fetch into the store. Throws what the store throws, and whatever `signal` is aborted with. */
async function fetchMedia(
  { db, sealer, channels, store, log }: Omit<Fetching, 'timeoutMs'>,
  row: Claimed,
  signal: AbortSignal,
): Promise<Outcome> {
  // Those that crash a worker before it can tell stop here.
  if (row.attempt_count > pausesSeconds.length + 1) return never('no attempt came to an end')
  const channel = channels[row.channel]
  if (!channel) return never(`no such channel: ${row.channel}`)
  const connection = await getConnection(db, sealer, row.workspace_id, row.channel)
  if (!connection) return again(row, 'the channel is not connected')

  const asked = channel.fetchMedia(connection, row.source, maxBytes).catch((error: unknown): FetchedMedia => {
    log.error({ err: error, media: row.id, channel: row.channel }, 'a channel failed to fetch media')
    return { ok: false, again: true, message: ourFault }
  })
  const fetched = await unlessAborted(signal, asked, (late) => late.ok && late.bytes.destroy())
  if (!fetched.ok) return fetched.again ? again(row, fetched.message) : never(fetched.message)

  const mime_type = chooseType(fetched.mime_type, row.mime_type)
  const { size_bytes } = await store.put(row.id, fetched.bytes, { mime_type, maxBytes, signal })
  return { ok: true, size_bytes, mime_type }
}

const ourFault = 'something went wrong on our side'
const tooLarge = `over ${maxBytes / 1024 / 1024} MB`
const never = (message: string): Outcome => ({ ok: false, message, pauseSeconds: undefined, counts: true })
const again = ({ attempt_count }: Claimed, message: string): Outcome => ({
  ok: false,
  message,
  pauseSeconds: pausesSeconds[attempt_count - 1],
  counts: true,
})

/** Lease up to `limit` that are due, oldest first. `skip locked` lets workers claim side by side. */
function claimMedia(sql: Sql, limit: number): Promise<Claimed[]> {
  return sql<Claimed[]>`
    with due as (
      select workspace_id, id from media
      where state = 'pending' and next_attempt_at <= now()
      order by next_attempt_at
      limit ${limit}
      for update skip locked
    )
    update media m
    set attempt_count = attempt_count + 1, next_attempt_at = now() + make_interval(secs => ${leaseSeconds})
    from due where m.workspace_id = due.workspace_id and m.id = due.id
    returning m.workspace_id, m.id, m.channel, m.source, m.token, m.mime_type, m.filename, m.attempt_count`
}

/** From now on it is served, and its message says where. */
async function settleStored(sql: Sql, row: Claimed, { size_bytes, mime_type }: Outcome & { ok: true }): Promise<void> {
  const { workspace_id: workspaceId, id, attempt_count, token, filename } = row
  await sql`
    with stored as (
      update media
      set state = 'stored', size_bytes = ${size_bytes}, mime_type = ${mime_type}, last_error = null
      where workspace_id = ${workspaceId} and id = ${id} and state = 'pending' and attempt_count = ${attempt_count}
      returning conversation_id, message_id
    )
    update messages m
    set media_url = ${mediaPath(token, filename)}
    from stored
    where m.workspace_id = ${workspaceId} and m.conversation_id = stored.conversation_id and m.id = stored.message_id`
}

async function settleFailed(sql: Sql, row: Claimed, outcome: Outcome & { ok: false }): Promise<void> {
  const { workspace_id: workspaceId, id, attempt_count } = row
  const { message, pauseSeconds, counts } = outcome
  const words = message.replaceAll('\0', '').slice(0, 500).toWellFormed()
  await sql`
    update media
    set state = ${pauseSeconds === undefined ? 'failed' : 'pending'}, last_error = ${words},
      next_attempt_at = now() + make_interval(secs => ${pauseSeconds ?? 0}),
      attempt_count = ${counts ? attempt_count : attempt_count - 1}
    where workspace_id = ${workspaceId} and id = ${id} and state = 'pending' and attempt_count = ${attempt_count}`
}

/** Where it is served, without the public URL in front. The name at the end is for people; the token is what counts. */
function mediaPath(token: string, filename: string | null): string {
  const name = cleanName(filename)
  return name ? `/media/${token}/${encodeURIComponent(name)}` : `/media/${token}`
}

/** Serve what was stored, to whoever has the link. */
/** Forget the bytes of media that are no message's any more. */
export async function dropMedia(store: Store, ids: readonly string[], log: FastifyBaseLogger): Promise<void> {
  for (const id of ids) {
    await store.delete(id).catch((error) => log.warn({ err: error }, 'media could not be dropped from the store'))
  }
}

export const mediaRoutes =
  ({ db, store }: { db: Db; store: Store }) =>
  async (app: App) => {
    type Asked = { Params: { token: string; filename?: string } }
    const serve = async (request: FastifyRequest<Asked>, reply: FastifyReply) => {
      const media = await getStoredMedia(db, request.params.token)
      if (!media) throw notFound('media')
      // We hand out nothing that `If-Range` could name, so who asks with it has another file in mind, and gets all.
      const range = request.headers['if-range'] ? 'all' : readRange(request.headers.range, media.size_bytes)
      reply.headers({ ...safeHeaders, 'accept-ranges': 'bytes' })
      if (range === 'outside') {
        reply.code(416).header('content-range', `bytes */${media.size_bytes}`)
        return reply.send(errorBody('bad_request', `range: the file has ${media.size_bytes} bytes`))
      }
      const found = await store.get(media.id, range === 'all' ? undefined : range)
      if (!found) {
        request.log.error({ media: media.id }, 'the store does not have what it should')
        throw notFound('media')
      }
      reply.headers(describeMedia(media))
      if (range === 'all') reply.header('content-length', found.size_bytes)
      else {
        reply.code(206).headers({
          'content-range': `bytes ${range.start}-${range.end}/${found.size_bytes}`,
          'content-length': range.end - range.start + 1,
        })
      }
      return reply.send(found.bytes)
    }
    app.get<Asked>('/media/:token', { handlerTimeout: sendingMs }, serve)
    app.get<Asked>('/media/:token/:filename', { handlerTimeout: sendingMs }, serve)
  }

/** A large file may take its time on a slow line, but not for ever: 100 MB at 1.4 Mbit/s. */
const sendingMs = 10 * 60_000

type StoredMedia = { id: string; mime_type: string | null; filename: string | null; size_bytes: number }

/** By its token alone: it is what says whose it is. */
async function getStoredMedia(sql: Sql, token: string): Promise<StoredMedia | undefined> {
  if (!/^[0-9A-Za-z]{43}$/.test(token)) return undefined
  const [media] = await sql<StoredMedia[]>`
    select id, mime_type, filename, size_bytes::int as size_bytes from media
    where token = ${token} and state = 'stored'`
  return media
}

/**
 * `cross-origin`, because a link is given to API clients, whose pages are
 * elsewhere and show it: it opens nothing to a page that does not already have
 * the secret, and no cookie plays a part. No page passes the secret on.
 */
const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'referrer-policy': 'no-referrer',
}

/** Only what a browser shows without running it keeps its type; everything else is a file to save. */
function describeMedia({ mime_type, filename }: StoredMedia): Record<string, string> {
  const type = bareType(mime_type)
  const isShown = /^(image|audio|video)\/(?!.*(svg|xml))/.test(type) || type === 'application/pdf'
  const isText = type === 'text/plain'
  const name = cleanName(filename)
  const ascii = name?.replace(/[^\x20-\x7e]|["\\%]/gu, '_')
  return {
    'content-security-policy': policyOf(type),
    'content-type': isShown ? type : isText ? 'text/plain; charset=utf-8' : unknownType,
    'content-disposition': [
      isShown ? 'inline' : 'attachment',
      ...(name ? [`filename="${ascii}"`, `filename*=UTF-8''${encodeExtended(name)}`] : []),
    ].join('; '),
    // For ever, as the bytes behind a link never change; private, as no shared cache should have them.
    'cache-control': 'private, max-age=31536000, immutable',
  }
}

/**
 * Nothing runs and nothing is loaded. Two kinds need room to be opened by
 * themselves: a sound or film loads itself into the browser's player, with our
 * origin as the sender; a PDF gets a viewer that has no part in our origin,
 * and that any sandbox keeps from starting (Chrome, Safari).
 */
function policyOf(type: string): string {
  if (type === 'application/pdf') return "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'"
  if (/^(audio|video)\//.test(type)) {
    return "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox allow-same-origin"
  }
  return "default-src 'none'; sandbox"
}

const unknownType = 'application/octet-stream'

/** Without parameters, in small letters; what is no type at all is unknown. */
function bareType(mimeType: string | null): string {
  const [type = ''] = (mimeType ?? '').split(';')
  return /^[a-z]+\/[\w!#$&^.+-]{1,100}$/i.test(type.trim()) ? type.trim().toLowerCase() : unknownType
}

/** What the bytes came with, unless that says nothing and the report of the message did. */
function chooseType(fetched: string, reported: string | null): string {
  const type = bareType(fetched)
  return type === unknownType ? bareType(reported) : type
}

/**
 * A name that can be the last part of a path and of a file. Control characters
 * and those that turn the direction of writing could dress up an extension.
 */
function cleanName(filename: string | null): string | undefined {
  const name = (filename ?? '')
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
    .replace(/[/\\]/g, '_')
    .trim()
  // The end, because the extension is there.
  const kept = [...name].slice(-200).join('')
  return /^\.*$/.test(kept) ? undefined : kept
}

/** RFC 5987, which leaves fewer characters as they are than a URL does. */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
}

/** One range of bytes. Several, or what is no range, are ignored, as RFC 9110 allows: the answer is all of it. */
function readRange(header: string | undefined, size: number): ByteRange | 'all' | 'outside' {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (!first && !last)) return 'all'
  const start = first ? Number(first) : Math.max(0, size - Number(last))
  const end = first && last ? Math.min(Number(last), size - 1) : size - 1
  if (first && last && Number(last) < Number(first)) return 'all'
  return start > end ? 'outside' : { start, end }
}

/** How many wait, and how many were given up in the last day. */
export function watchMedia(db: Db, metrics: Metrics): void {
  metrics.gauge(
    'parley_media',
    'Media waiting to be fetched, and given up within a day, by state.',
    'state',
    async () => {
      const [counts] = await db<{ pending: number; failed: number }[]>`
      select (select count(*)::int from media where state = 'pending') as pending,
        (select count(*)::int from media where state = 'failed' and created_at > now() - interval '1 day') as failed`
      return { ...counts }
    },
  )
}

/** The answer, unless the time is over first; then one that still comes is given to `drop`. */
function unlessAborted<Value>(
  signal: AbortSignal,
  answer: Promise<Value>,
  drop: (late: Value) => void,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal.reason)
      answer.then(drop, () => {})
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

async function within(milliseconds: number, done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([done, late])
  clearTimeout(timer)
}
