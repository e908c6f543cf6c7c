/**
 * Media that customers sent: a loop claims rows, fetches the files from the channel and stores them.
 *
 * A row of `media` is the job, and later the file that `routes.ts` serves. A claim is a lease: it moves `next_attempt_at`
 * beyond the longest fetch, so the rows of a crashed worker become claimable again. A second fetch replaces the file,
 * because the store's key is the row's id. `attempt_count` identifies the lease: an outcome after the lease expired changes
 * nothing. `slots.ts` limits how many fetches a workspace has in flight.
 *
 * The token in a media link has 256 random bits and is the only credential.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import type { Channel, FetchedMedia, MediaReference } from '../channels/channel.ts'
import { getConnection, getConnectionById } from '../channels/connections.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { randomToken, type Sealer } from '../lib/crypto.ts'
import { newId } from '../lib/id.ts'
import type { Db, Fragment, Sql } from '../lib/postgres/db.ts'
import type { Loop } from '../lib/process/loop.ts'
import type { Metrics } from '../lib/process/metrics.ts'
import type { Polls } from '../lib/process/polls.ts'
import type { Store } from '../lib/store.ts'
import { BrokenSourceError, TooLargeError } from '../lib/store-spool.ts'
import { within } from '../lib/time.ts'
import type { Signals } from '../signals/signals.ts'
import { createMediaSlots, type MediaSlots } from './slots.ts'

/** `stored`: a relation with the `message_id` of a stored file. */
export type LinkMessage = (sql: Sql, workspaceId: string, stored: Fragment, path: string) => Fragment

export type MediaFetchOptions = {
  db: Db
  sealer: Sealer
  channels: Partial<Record<ChannelName, Pick<Channel, 'fetchMedia'>>>
  store: Store
  log: FastifyBaseLogger
  polls: Polls
  /** The end of a statement: stores the path of a file in its message. The module `messages` provides it. */
  linkMessage: LinkMessage
  signals?: Pick<Signals, 'changed'>
  times: Times['media']
}

/** `wake` claims at once instead of at the next poll. */
export type MediaFetchLoop = Loop & { wake(): void }

type ClaimedMedia = {
  workspace_id: string
  id: string
  channel: ChannelName
  /** Null in rows of an earlier release: the default connection of the channel. */
  connection_id: string | null
  source: MediaReference
  token: string
  mime_type: string | null
  filename: string | null
  attempt_count: number
}

type FetchOutcome =
  | { ok: true; size_bytes: number; mime_type: string }
  /** `retryMs`: the delay before the next attempt; undefined for a final failure. */
  | { ok: false; message: string; retryMs: number | undefined; isAttempt: boolean }

const maxBytes = 100 * 1024 * 1024

/** The secret of a media link. */
export const mediaToken = (): string => randomToken()

/** The columns of a `media` row that is to be fetched; all null without media. */
export function toMediaColumns(media: MediaReference | null) {
  if (!media) return { media_id: null, media_source: null, media_token: null, mime_type: null, filename: null }
  const { mime_type, filename } = media
  return { media_id: newId(), media_source: media, media_token: mediaToken(), mime_type, filename }
}

export function startMediaFetch(context: MediaFetchOptions): MediaFetchLoop {
  const { db, log, polls, times } = context
  const slots = createMediaSlots(times)
  const inFlight = new Set<Promise<void>>()
  const stopping = new AbortController()
  let claimInFlight: Promise<void> | undefined
  let isRequested = false
  let isStopped = false

  /** Runs one claim at a time. A request during a claim causes another one. */
  async function claim(): Promise<void> {
    isRequested = true
    claimInFlight ??= claimWhileFree().finally(() => {
      claimInFlight = undefined
    })
    await claimInFlight
  }

  async function claimWhileFree(): Promise<void> {
    for (let free = slots.free(); isRequested && free > 0 && !isStopped; free = slots.free()) {
      isRequested = false
      const claimed = await claimMedia(db, free, slots, times)
      for (const row of claimed) start(row)
      // More rows may be due.
      if (claimed.length > 0) isRequested = true
    }
  }

  function claimInBackground(): void {
    if (isStopped) return
    claim().catch((error) =>
      log.error({ err: error, loop: 'fetch-media' }, 'media could not be claimed; the next poll tries again'),
    )
  }

  function start(row: ClaimedMedia): void {
    const release = slots.start(row.workspace_id)
    const slotTimer = setTimeout(claimInBackground, times.slowMs)
    const fetch = fetchAndSettle(context, row, stopping.signal)
      .catch((error): boolean => {
        log.error({ err: error, media: row.id }, 'the outcome of a media fetch could not be stored; its lease expires')
        return false
      })
      .then((isOk) => {
        clearTimeout(slotTimer)
        release(isOk)
        inFlight.delete(fetch)
        claimInBackground()
      })
    inFlight.add(fetch)
  }

  const polling = polls.add({ name: 'fetch-media', everyMs: times.pollMs, isDue: hasPending, run: claim })
  claimInBackground()
  return {
    wake: claimInBackground,
    async stop() {
      isStopped = true
      await polling.stop()
      await claimInFlight?.catch(() => {})
      await within(times.stopMs, Promise.all(inFlight))
      stopping.abort(new Error('the service is stopping'))
      await within(times.abortMs, Promise.all(inFlight))
    },
  }
}

/** Returns whether the file was fetched. */
async function fetchAndSettle(context: MediaFetchOptions, row: ClaimedMedia, stop: AbortSignal): Promise<boolean> {
  const { db, store, log, signals, times } = context
  const timeout = AbortSignal.timeout(times.fetchMs)
  const signal = AbortSignal.any([timeout, stop])
  let outcome: FetchOutcome
  try {
    outcome = await fetchMedia(context, row, signal)
  } catch (error) {
    if (stop.aborted) outcome = { ok: false, message: 'the service stopped', retryMs: 0, isAttempt: false }
    else if (timeout.aborted) outcome = retryLater(row, `the fetch took longer than ${times.fetchMs / 1000} s`, times)
    else if (error instanceof TooLargeError) outcome = giveUp(tooLarge)
    else if (error instanceof BrokenSourceError)
      outcome = retryLater(row, `the channel broke off: ${error.message}`, times)
    else {
      log.error({ err: error, media: row.id }, 'a fetched file could not be stored')
      outcome = { ok: false, message: ourFault, retryMs: times.storeRetryMs, isAttempt: false }
    }
  }
  if (!outcome.ok) await settleFailed(db, row, outcome)
  else if (!(await settleStored(context, row, outcome)) && !(await hasRow(db, row))) await store.delete(row.id)
  signals?.changed(row.workspace_id)
  return outcome.ok
}

/** Fetches a file into the store. Throws the store's errors, and the reason of an aborted `signal`. */
async function fetchMedia(
  { db, sealer, channels, store, log, times }: MediaFetchOptions,
  row: ClaimedMedia,
  signal: AbortSignal,
): Promise<FetchOutcome> {
  // Media that crashes the worker in every attempt ends here.
  if (row.attempt_count > times.retryMs.length + 1) return giveUp('no attempt completed')
  const channel = channels[row.channel]
  if (!channel) return giveUp(`no such channel: ${row.channel}`)
  const { workspace_id: workspaceId, connection_id: connectionId } = row
  const connection = connectionId
    ? await getConnectionById(db, sealer, workspaceId, connectionId)
    : await getConnection(db, sealer, workspaceId, row.channel)
  if (!connection) return retryLater(row, 'the channel is not connected', times)

  const request = channel.fetchMedia(connection, row.source, maxBytes).catch((error: unknown): FetchedMedia => {
    log.error({ err: error, media: row.id, channel: row.channel }, 'the channel adapter failed to fetch media')
    return { ok: false, again: true, message: ourFault }
  })
  const fetched = await unlessAborted(signal, request, (late) => late.ok && late.bytes.destroy())
  if (!fetched.ok) return fetched.again ? retryLater(row, fetched.message, times) : giveUp(fetched.message)

  const mime_type = chooseType(fetched.mime_type, row.mime_type)
  const { size_bytes } = await store.put(row.id, fetched.bytes, { mime_type, maxBytes, signal })
  return { ok: true, size_bytes, mime_type }
}

const ourFault = 'something went wrong on our side'
const tooLarge = `over ${maxBytes / 1024 / 1024} MB`
const giveUp = (message: string): FetchOutcome => ({ ok: false, message, retryMs: undefined, isAttempt: true })
const retryLater = ({ attempt_count }: ClaimedMedia, message: string, times: Times['media']): FetchOutcome => ({
  ok: false,
  message,
  retryMs: times.retryMs[attempt_count - 1],
  isAttempt: true,
})

const hasPending = (sql: Sql): Fragment => sql`exists (select from media where state = 'pending')`

/**
 * Claims up to `limit` due rows. Workspaces take turns: those with the fewest fetches in flight in this process first,
 * within their limits, and the oldest rows of each first. `skip locked` lets several workers claim at the same time.
 */
function claimMedia(sql: Sql, limit: number, slots: MediaSlots, { leaseMs }: Times['media']): Promise<ClaimedMedia[]> {
  return sql<ClaimedMedia[]>`
    with recursive
    -- The workspaces with fetches in flight in this process, and their limits.
    busy_workspaces as (
      select workspace_id, in_flight, max_in_flight
      from json_to_recordset(${JSON.stringify(slots.busy())}::text::json) as b (workspace_id uuid, in_flight int, max_in_flight int)
    ),
    -- Every workspace with pending media, found by one index step each.
    waiting_workspaces as (
      (select workspace_id from media where state = 'pending' order by workspace_id limit 1)
      union all
      select (
        select m.workspace_id from media m
        where m.state = 'pending' and m.workspace_id > w.workspace_id
        order by m.workspace_id
        limit 1
      )
      from waiting_workspaces w
      where w.workspace_id is not null
    ),
    -- The oldest due media of each workspace, as many as it may start.
    due_media as (
      select m.workspace_id, m.id, m.next_attempt_at,
        coalesce(b.in_flight, 0) + row_number() over (partition by m.workspace_id order by m.next_attempt_at) as round
      from waiting_workspaces w
      left join busy_workspaces b on b.workspace_id = w.workspace_id
      cross join lateral (
        select m.workspace_id, m.id, m.next_attempt_at from media m
        where m.state = 'pending' and m.workspace_id = w.workspace_id and m.next_attempt_at <= now()
        order by m.next_attempt_at
        limit greatest(0, coalesce(b.max_in_flight - b.in_flight, ${slots.maxPerWorkspace}::int))
      ) m
    ),
    -- Round by round, one row per workspace.
    chosen_media as (
      select workspace_id, id from due_media order by round, next_attempt_at limit ${limit}
    ),
    -- Without rows that another worker is claiming or has just claimed.
    locked_media as (
      select m.workspace_id, m.id
      from media m
      join chosen_media c on c.workspace_id = m.workspace_id and c.id = m.id
      where m.state = 'pending' and m.next_attempt_at <= now()
      for update of m skip locked
    )
    update media m
    set attempt_count = m.attempt_count + 1, next_attempt_at = now() + make_interval(secs => ${leaseMs / 1000})
    from locked_media l where m.workspace_id = l.workspace_id and m.id = l.id
    returning m.workspace_id, m.id, m.channel, m.connection_id, m.source, m.token, m.mime_type, m.filename, m.attempt_count`
}

/** Whether the row still exists: the message may have been deleted, or the contact erased. */
async function hasRow(sql: Sql, { workspace_id: workspaceId, id }: ClaimedMedia): Promise<boolean> {
  const rows = await sql`select 1 from media where workspace_id = ${workspaceId} and id = ${id}`
  return rows.length > 0
}

/** Stores the outcome and links the file in its message. Returns false when the lease was lost or the row is gone. */
async function settleStored(
  { db: sql, linkMessage }: Pick<MediaFetchOptions, 'db' | 'linkMessage'>,
  row: ClaimedMedia,
  { size_bytes, mime_type }: FetchOutcome & { ok: true },
): Promise<boolean> {
  const { workspace_id: workspaceId, id, attempt_count, token, filename } = row
  const stored = await sql`
    with stored_media as (
      update media
      set state = 'stored', size_bytes = ${size_bytes}, mime_type = ${mime_type}, last_error = null
      where workspace_id = ${workspaceId} and id = ${id} and state = 'pending' and attempt_count = ${attempt_count}
      returning message_id
    )
    ${linkMessage(sql, workspaceId, sql`stored_media`, mediaPath(token, filename))}`
  return stored.count > 0
}

async function settleFailed(sql: Sql, row: ClaimedMedia, outcome: FetchOutcome & { ok: false }): Promise<void> {
  const { workspace_id: workspaceId, id, attempt_count } = row
  const { message, retryMs, isAttempt } = outcome
  const error = message.replaceAll('\0', '').slice(0, 500).toWellFormed()
  await sql`
    update media
    set state = ${retryMs === undefined ? 'failed' : 'pending'}, last_error = ${error},
      next_attempt_at = now() + make_interval(secs => ${(retryMs ?? 0) / 1000}),
      attempt_count = ${isAttempt ? attempt_count : attempt_count - 1}
    where workspace_id = ${workspaceId} and id = ${id} and state = 'pending' and attempt_count = ${attempt_count}`
}

/** The path of a media link. The filename at its end is only for readers; the token selects the file. */
export function mediaPath(token: string, filename: string | null): string {
  const name = cleanName(filename)
  return name ? `/media/${token}/${encodeURIComponent(name)}` : `/media/${token}`
}

/** Deletes the files of deleted media from the store. A failure is logged. */
export async function deleteFiles(store: Store, ids: readonly string[], log: FastifyBaseLogger): Promise<void> {
  for (const id of ids) {
    await store.delete(id).catch((error) => log.warn({ err: error }, 'a file could not be deleted from the store'))
  }
}

export const unknownType = 'application/octet-stream'

/** The media type without parameters, in lower case; `unknownType` for anything else. */
export function bareType(mimeType: string | null): string {
  const [type = ''] = (mimeType ?? '').split(';')
  return /^[a-z]+\/[\w!#$&^.+-]{1,100}$/i.test(type.trim()) ? type.trim().toLowerCase() : unknownType
}

/** The type that the download had, or the type in the report when the download had none. */
function chooseType(fetched: string, reported: string | null): string {
  const type = bareType(fetched)
  return type === unknownType ? bareType(reported) : type
}

/**
 * A filename that is safe as the last part of a path. Control and bidirectional characters are removed, because they can
 * disguise the extension.
 */
export function cleanName(filename: string | null): string | undefined {
  const name = (filename ?? '')
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
    .replace(/[/\\]/g, '_')
    .trim()
  // Cut at the front, because the extension is at the end.
  const cut = [...name].slice(-200).join('')
  return /^\.*$/.test(cut) ? undefined : cut
}

/** A gauge of pending media, and of media that failed within the last day. */
export function watchMedia(db: Db, metrics: Metrics): void {
  metrics.gauge('parley_media', 'Media files by state: pending, and failed within the last day.', 'state', async () => {
    const [counts] = await db<{ pending: number; failed: number }[]>`
      select (select count(*)::int from media where state = 'pending') as pending,
        (select count(*)::int from media where state = 'failed' and created_at > now() - interval '1 day') as failed`
    return { ...counts }
  })
}

/** Returns the answer, or throws the reason of the signal. `drop` receives an answer that arrives after that. */
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
