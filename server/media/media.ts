/**
 * Media the customers sent: fetch them from the channel, keep them, show them.
 *
 * A row of `media` is the job and then what is served. A claim moves
 * `next_attempt_at` beyond the time a fetch may take, so a crashed worker's
 * rows come back by themselves; what it had stored is replaced, as the key is
 * the row's id. `attempt_count` names the claim: an outcome that comes too late
 * settles nothing. Workspaces take turns (`media-slots.ts`).
 *
 * A link is a secret of 256 bits and needs no other: whoever has it may read.
 * What customers send is never trusted to be what it says, so a browser is
 * told to show only what cannot run, and to run nothing.
 */

import type { FastifyBaseLogger } from 'fastify'
import type { Signals } from '../accounts/signals.ts'
import type { Channel, FetchedMedia, MediaReference } from '../channels/channel.ts'
import { getConnection } from '../channels/connections.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import { randomToken, type Sealer } from '../lib/crypto.ts'
import type { Db, Fragment, Sql } from '../lib/db.ts'
import type { Health } from '../lib/health.ts'
import { newId } from '../lib/id.ts'
import { type Loop, startRepeating } from '../lib/loop.ts'
import type { Metrics } from '../lib/metrics.ts'
import type { Store } from '../lib/store.ts'
import { BrokenSourceError, TooLargeError } from '../lib/store-spool.ts'
import { within } from '../lib/time.ts'
import { createMediaSlots, type MediaSlots, slowMs } from './slots.ts'

/** `stored`: a relation with the `conversation_id, message_id` of a file. */
export type LinkMessage = (sql: Sql, workspaceId: string, stored: Fragment, path: string) => Fragment

export type Fetching = {
  db: Db
  sealer: Sealer
  channels: Partial<Record<ChannelName, Pick<Channel, 'fetchMedia'>>>
  store: Store
  log: FastifyBaseLogger
  health: Health
  /** The end of a statement that stores the path of a file in the message that has it (`messages` hands it over). */
  linkMessage: LinkMessage
  signals?: Pick<Signals, 'changed'>
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
const pausesSeconds = [1, 5, 30, 120, 600]
/** Longer than a fetch with its settling may take. */
const leaseSeconds = 90
/** Our own store does not work: that is not the media's fault, however long it takes to mend. */
const storePauseSeconds = 60
/** Told to stop, those under way get this long to finish, and then this long to let go. */
const graceMs = 2_000
const letGoMs = 1_000

/** The secret of a media link. */
export const mediaToken = (): string => randomToken()

/** The columns of a `media` row that is to be fetched; all null without media. */
export function toMediaColumns(media: MediaReference | null) {
  if (!media) return { media_id: null, media_source: null, media_token: null, mime_type: null, filename: null }
  const { mime_type, filename } = media
  return { media_id: newId(), media_source: media, media_token: mediaToken(), mime_type, filename }
}

export function startFetchingMedia({ timeoutMs = 60_000, ...fetching }: Fetching): FetchingLoop {
  const { db, log, health } = fetching
  const slots = createMediaSlots()
  const inFlight = new Set<Promise<void>>()
  const stopping = new AbortController()
  let claiming: Promise<void> | undefined
  let isRequested = false
  let isStopped = false

  /** One claim at a time. A request during one, or without a free slot, causes another. */
  async function claim(): Promise<void> {
    isRequested = true
    claiming ??= claimWhileFree().finally(() => {
      claiming = undefined
    })
    await claiming
  }

  async function claimWhileFree(): Promise<void> {
    for (let free = slots.free(); isRequested && free > 0 && !isStopped; free = slots.free()) {
      isRequested = false
      const claimed = await claimMedia(db, free, slots)
      for (const row of claimed) begin(row)
      // There may be more.
      if (claimed.length > 0) isRequested = true
    }
  }

  function claimInBackground(): void {
    if (isStopped) return
    claim().catch((error) => log.error({ err: error, loop: 'fetch-media' }, 'media could not be claimed; tried again'))
  }

  function begin(row: Claimed): void {
    const release = slots.start(row.workspace_id)
    const slotFree = setTimeout(claimInBackground, slowMs)
    const fetched = fetchAndSettle(fetching, row, timeoutMs, stopping.signal)
      .catch((error): boolean => {
        log.error({ err: error, media: row.id }, 'media could not be settled; its lease will run out')
        return false
      })
      .then((isOk) => {
        clearTimeout(slotFree)
        release(isOk)
        inFlight.delete(fetched)
        claimInBackground()
      })
    inFlight.add(fetched)
  }

  const polling = startRepeating({ name: 'fetch-media', everyMs: 1_000, log, health, run: claim })
  claimInBackground()
  return {
    wake: claimInBackground,
    async stop() {
      isStopped = true
      await polling.stop()
      await claiming?.catch(() => {})
      await within(graceMs, Promise.all(inFlight))
      stopping.abort(new Error('the service stops'))
      await within(letGoMs, Promise.all(inFlight))
    },
  }
}

/** Returns whether it was fetched. */
async function fetchAndSettle(
  fetching: Omit<Fetching, 'timeoutMs'>,
  row: Claimed,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<boolean> {
  const { db, store, log, signals } = fetching
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
  if (!outcome.ok) await settleFailed(db, row, outcome)
  else if (!(await settleStored(fetching, row, outcome)) && !(await isKept(db, row))) await store.delete(row.id)
  signals?.changed(row.workspace_id)
  return outcome.ok
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

/**
 * Leases up to `limit` that are due. Workspaces take turns: those with the fewest in flight here first, within their limits,
 * and each one's oldest first. `skip locked` lets workers claim side by side.
 */
function claimMedia(sql: Sql, limit: number, slots: MediaSlots): Promise<Claimed[]> {
  return sql<Claimed[]>`
    with recursive busy as (
      select workspace_id, in_flight, most
      from json_to_recordset(${JSON.stringify(slots.busy())}::text::json) as b (workspace_id uuid, in_flight int, most int)
    ),
    -- Every workspace with pending media, with one step in the index for each, however much it has.
    queues as (
      (select workspace_id from media where state = 'pending' order by workspace_id limit 1)
      union all
      select (
        select m.workspace_id from media m
        where m.state = 'pending' and m.workspace_id > q.workspace_id
        order by m.workspace_id
        limit 1
      )
      from queues q
      where q.workspace_id is not null
    ),
    -- The oldest due media of each, as many as it may start.
    due as (
      select m.workspace_id, m.id, m.next_attempt_at,
        coalesce(b.in_flight, 0) + row_number() over (partition by m.workspace_id order by m.next_attempt_at) as turn
      from queues q
      left join busy b on b.workspace_id = q.workspace_id
      cross join lateral (
        select m.workspace_id, m.id, m.next_attempt_at from media m
        where m.state = 'pending' and m.workspace_id = q.workspace_id and m.next_attempt_at <= now()
        order by m.next_attempt_at
        limit greatest(0, coalesce(b.most - b.in_flight, ${slots.mostPerWorkspace}::int))
      ) m
    ),
    chosen as (
      select workspace_id, id from due order by turn, next_attempt_at limit ${limit}
    ),
    -- Without those that another worker claims at this moment or has just claimed.
    locked as (
      select m.workspace_id, m.id
      from media m
      join chosen c on c.workspace_id = m.workspace_id and c.id = m.id
      where m.state = 'pending' and m.next_attempt_at <= now()
      for update of m skip locked
    )
    update media m
    set attempt_count = m.attempt_count + 1, next_attempt_at = now() + make_interval(secs => ${leaseSeconds})
    from locked l where m.workspace_id = l.workspace_id and m.id = l.id
    returning m.workspace_id, m.id, m.channel, m.source, m.token, m.mime_type, m.filename, m.attempt_count`
}

/** Whether there is still a row of it: its message may have been taken back, or whoever sent it erased. */
async function isKept(sql: Sql, { workspace_id: workspaceId, id }: Claimed): Promise<boolean> {
  const rows = await sql`select 1 from media where workspace_id = ${workspaceId} and id = ${id}`
  return rows.length > 0
}

/** From now on it is served, and its message says where. False: somebody else settled it, or it is gone. */
async function settleStored(
  { db: sql, linkMessage }: Pick<Fetching, 'db' | 'linkMessage'>,
  row: Claimed,
  { size_bytes, mime_type }: Outcome & { ok: true },
): Promise<boolean> {
  const { workspace_id: workspaceId, id, attempt_count, token, filename } = row
  const stored = await sql`
    with stored as (
      update media
      set state = 'stored', size_bytes = ${size_bytes}, mime_type = ${mime_type}, last_error = null
      where workspace_id = ${workspaceId} and id = ${id} and state = 'pending' and attempt_count = ${attempt_count}
      returning conversation_id, message_id
    )
    ${linkMessage(sql, workspaceId, sql`stored`, mediaPath(token, filename))}`
  return stored.count > 0
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
export function mediaPath(token: string, filename: string | null): string {
  const name = cleanName(filename)
  return name ? `/media/${token}/${encodeURIComponent(name)}` : `/media/${token}`
}

/** Forget the bytes of media that are no message's any more. */
export async function dropMedia(store: Store, ids: readonly string[], log: FastifyBaseLogger): Promise<void> {
  for (const id of ids) {
    await store.delete(id).catch((error) => log.warn({ err: error }, 'media could not be dropped from the store'))
  }
}

export const unknownType = 'application/octet-stream'

/** Without parameters, in small letters; what is no type at all is unknown. */
export function bareType(mimeType: string | null): string {
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
export function cleanName(filename: string | null): string | undefined {
  const name = (filename ?? '')
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
    .replace(/[/\\]/g, '_')
    .trim()
  // The end, because the extension is there.
  const kept = [...name].slice(-200).join('')
  return /^\.*$/.test(kept) ? undefined : kept
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
