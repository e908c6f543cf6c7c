/**
 * The digest: a background loop that reads every message once, within a second, and derives the word index, the counters
 * of the overview, and who waits for an answer. Sending and receiving do not write any of these.
 *
 * Messages are read in the order of their ids, which contain the time. A message can be committed after others with later
 * ids, because its transaction took longer or the clock of its process is behind. So the row in `message_words` marks a
 * message as read; the same transaction writes everything derived from it. Every pass reads the last two seconds again,
 * and every 30 seconds a wide pass reads the last two minutes again. `position` is the id below which no message can
 * appear any more. `messages/reindex-requests.ts` names messages that are even later, or whose text changed.
 *
 * A batch is limited by its texts too: no transaction may pause for ten seconds between two statements. A batch that fails for another
 * reason than an outage is repeated in smaller parts. The message at which they end is digested without its words, so that it does
 * not stop the digest of all others.
 *
 * One process at a time runs the digest: the one that locks the row of `position`. After a long stop it catches up at half
 * speed, so that other work is not delayed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import { nowMs } from '../lib/clock.ts'
import { idAt } from '../lib/id.ts'
import { type Db, isCollision, isLockTimeout, type Sql } from '../lib/postgres/db.ts'
import type { Health } from '../lib/process/health.ts'
import { type Loop, startRepeating } from '../lib/process/loop.ts'
import type { Metrics } from '../lib/process/metrics.ts'
import { outageOf } from '../lib/process/outage.ts'
import {
  deleteReindexRequests,
  listReindexRequests,
  type ReindexRequest,
  requestReindex,
} from '../messages/reindex-requests.ts'
import { isRatingAnswer } from '../satisfaction/answers.ts'
import type { Signals } from '../signals/signals.ts'
import { recountMessages } from './answers.ts'
import { type CountableMessage, countMessages } from './periods.ts'
import { type RestoredWaits, restoreWaits } from './waits.ts'
import { addWords, type IndexableMessage, updateWords } from './word-index.ts'
import { maxSearchedLength } from './words.ts'

/** Messages per transaction. The word index takes 45 µs a message in batches of 500 and 30 µs in batches of 2,000. */
const batchSize = 2_000
/** UTF-8 bytes of text per transaction. Scripts without spaces have a word for every three bytes, and 1,000 words take a millisecond. */
const maxBatchBytes = 1_500_000
/** Most late messages are committed within this time. */
const narrowMs = 2_000
/** Longer than any statement may take and than clocks may differ: no message is committed later. */
const wideMs = 120_000
/** Above every id. */
const top = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

type DigestMessage = IndexableMessage & Omit<CountableMessage, 'channel' | 'connection_id'>

/** Reads the messages from an id up to the newest, batch by batch. */
type Pass = { from: string; startedMs: number; isWide: boolean }

/** At most `size` messages. `hasWords` is false for one that cannot be digested with its words. */
type BatchLimits = { size: number; hasWords: boolean }

/**
 * The pass after a batch: what remains of it, and when it started. `digested`: ids of messages. `waits`: conversations in which a
 * customer waits again, or no longer. Undefined when another process runs the digest.
 */
type PassResult =
  | { next: Pass | undefined; startedMs: number; digested: string[]; waits: RestoredWaits['changed'] }
  | undefined

type DigestOptions = {
  db: Db
  log: FastifyBaseLogger
  health: Health
  metrics: Metrics
  signals: Signals
  times: Times['digest']
}

export function startDigest({ db, log, health, metrics, signals, times }: DigestOptions): Loop {
  let isStopping = false
  let lastPassMs: number | undefined
  /** Undefined while another process runs the digest. */
  let digestedUpToMs: number | undefined
  metrics.gauge(
    'parley_message_digest',
    'How long ago the last complete digest began: searches and the overview lack later messages.',
    'what',
    async (): Promise<Record<string, number>> =>
      digestedUpToMs === undefined ? {} : { lag_seconds: Math.max(0, nowMs() - digestedUpToMs) / 1000 },
  )
  const run = async () => {
    let pass: Pass | undefined
    let limits: BatchLimits = fullBatch
    let failure: unknown
    while (!isStopping) {
      const startedAt = performance.now()
      let result: PassResult
      try {
        result = await db.begin((sql) => digestBatch(sql, pass, limits, lastPassMs, times))
      } catch (error) {
        if (isPassing(error) || !limits.hasWords) throw error
        limits = { size: Math.ceil(limits.size / 8), hasWords: limits.size > 1 }
        failure = error
        continue
      }
      if (!result) {
        digestedUpToMs = undefined
        return
      }
      if (!limits.hasWords) {
        log.warn({ err: failure, messages: result.digested }, 'a message cannot be indexed; searches do not find it')
        limits = fullBatch
      }
      for (const { workspace_id, id } of result.waits) signals.inboxChanged(workspace_id, [id])
      if (!result.next) {
        lastPassMs = digestedUpToMs = result.startedMs
        return
      }
      pass = result.next
      await sleep(performance.now() - startedAt)
    }
  }
  const loop = startRepeating({ name: 'digest', everyMs: times.pollMs, log, health, run })
  return {
    async stop() {
      isStopping = true
      await loop.stop()
    },
  }
}

const fullBatch: BatchLimits = { size: batchSize, hasWords: true }

/** Whether the same batch can succeed later. */
const isPassing = (error: unknown): boolean =>
  outageOf(error) !== undefined || isCollision(error) || isLockTimeout(error)

/** Digests the next batch of a pass, or the first batch of a new one. `lastPassMs`: when this process's last pass started. */
async function digestBatch(
  sql: Sql,
  current: Pass | undefined,
  { size, hasWords }: BatchLimits,
  lastPassMs: number | undefined,
  times: Times['digest'],
): Promise<PassResult> {
  const [state] = await sql<{ position: string; slice_count: number; now_ms: number; is_wide_due: boolean }[]>`
    select position, slice_count, extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
      looked_back_at < now() - make_interval(secs => ${times.wideMs / 1000}) as is_wide_due
    from message_digest
    for update skip locked`
  if (!state) return undefined
  const { position } = state
  const startMs = Math.floor(state.now_ms)
  const isWide = state.is_wide_due || lastPassMs === undefined
  const narrowStart = idAt(Math.min(startMs, lastPassMs ?? startMs) - narrowMs)
  const pass = current ?? { from: isWide ? position : narrowStart, startedMs: startMs, isWide }

  const textLength = hasWords ? maxSearchedLength : 0
  const end = await findEnd(sql, pass.from, size)
  const requests = current ? [] : await listReindexRequests(sql, { size, maxBytes: maxBatchBytes, maxTextBytes })
  const requested = requests.length > 0 ? await readRequested(sql, requests, textLength) : []
  const undigested = await readUndigested(sql, pass.from, end ?? top, textLength)
  const undigestedIds = new Set(undigested.map(({ id }) => id))
  const late = requested.filter(({ id, is_digested }) => !is_digested && !undigestedIds.has(id))
  const sliceCount = await digestMessages(sql, [...late, ...undigested].sort(byId), state.slice_count)
  const changed = requested.filter(({ is_digested }) => is_digested)
  await updateWords(sql, changed)
  await recountMessages(sql, await withConnections(sql, changed))
  const waits = await restoreWaits(sql, requested)
  const served = new Set(requested.map(({ id }) => id))
  for (const id of waits.lockedOut) served.delete(id)
  await deleteReindexRequests(
    sql,
    requests.filter(({ message_id, is_expired }) => is_expired || served.has(message_id)),
  )

  const completeUpTo = idAt(pass.startedMs - wideMs)
  const reached = end !== undefined && end < completeUpTo ? end : completeUpTo
  const isWidePassDone = pass.isWide && end === undefined
  if (pass.isWide || sliceCount !== state.slice_count) {
    await sql`
      update message_digest set slice_count = ${sliceCount},
        position = ${pass.isWide && reached > position ? reached : position},
        looked_back_at = case when ${isWidePassDone} then now() else looked_back_at end`
  }
  const next = end === undefined ? undefined : { ...pass, from: end }
  const digested = [...requested, ...undigested].map(({ id }) => id)
  return { next, startedMs: pass.startedMs, digested, waits: waits.changed }
}

/** Indexes and counts undigested messages, in the order of their ids. Returns the new number of slices. */
async function digestMessages(sql: Sql, undigested: readonly DigestMessage[], sliceCount: number): Promise<number> {
  if (undigested.length === 0) return sliceCount
  const messages = await withConnections(sql, undigested)
  const locked = new Set(messages.map(({ id }) => id))
  // A transaction is deleting the conversations of the others. If it rolls back, the requests bring their messages back.
  for (const { workspace_id, id } of undigested) {
    if (!locked.has(id)) await requestReindex(sql, workspace_id, id)
  }
  if (messages.length === 0) return sliceCount
  const count = await addWords(sql, messages, sliceCount)
  await countMessages(sql, messages)
  return count
}

const byId = (one: DigestMessage, other: DigestMessage): number => (one.id < other.id ? -1 : 1)

/** Of one text. */
const maxTextBytes = 3 * maxSearchedLength

/** The last message of the batch after `from`; undefined when fewer messages than a batch remain. */
async function findEnd(sql: Sql, from: string, size: number): Promise<string | undefined> {
  // `octet_length` does not read texts that are stored apart.
  const [end] = await sql<{ id: string }[]>`
    select id
    from (
      select id, row_number() over (order by id) as count, sum(bytes) over (order by id) as bytes
      from (
        select id, least(coalesce(octet_length(content_text), 0), ${maxTextBytes}::int) as bytes
        from messages where id > ${from} order by id limit ${size}
      ) m
    ) m
    where count = ${size} or bytes > ${maxBatchBytes}
    order by id
    limit 1`
  return end?.id
}

/** The undigested messages of a range. The lateral join checks row by row, so no plan reads more than the range. */
async function readUndigested(sql: Sql, from: string, to: string, textLength: number): Promise<DigestMessage[]> {
  return sql<DigestMessage[]>`
    select m.workspace_id, m.conversation_id, m.id, m.direction, m.sender_type, m.content_type, m.status,
      m.direction = 'inbound' and ${isRatingAnswer(sql)} as is_rating_answer, left(m.content_text, ${textLength}) as content_text
    from messages m
    left join lateral (
      select true as is_digested from message_words w
      where w.workspace_id = m.workspace_id and w.conversation_id = m.conversation_id and w.id = m.id
      limit 1
    ) w on true
    where m.id > ${from} and m.id <= ${to} and w.is_digested is null
    order by m.id`
}

/** The requested messages that exist, with the beginnings of their current texts. */
async function readRequested(
  sql: Sql,
  requests: readonly ReindexRequest[],
  textLength: number,
): Promise<(DigestMessage & { is_digested: boolean })[]> {
  return sql<(DigestMessage & { is_digested: boolean })[]>`
    select m.workspace_id, m.conversation_id, m.id, m.direction, m.sender_type, m.content_type, m.status,
      m.direction = 'inbound' and ${isRatingAnswer(sql)} as is_rating_answer, left(m.content_text, ${textLength}) as content_text,
      exists (
        select from message_words w
        where w.workspace_id = m.workspace_id and w.conversation_id = m.conversation_id and w.id = m.id
      ) as is_digested
    from (
      select distinct workspace_id, message_id
      from unnest(${requests.map(({ workspace_id }) => workspace_id)}::uuid[],
        ${requests.map(({ message_id }) => message_id)}::uuid[]) as i (workspace_id, message_id)
    ) i
    join messages m on m.workspace_id = i.workspace_id and m.id = i.message_id`
}

/** The messages whose conversation could be locked, with its channel and connection. */
async function withConnections<Read extends DigestMessage>(sql: Sql, messages: readonly Read[]) {
  if (messages.length === 0) return []
  const conversations = await lockConversations(sql, messages)
  return messages.flatMap((message) => {
    const source = conversations.get(message.conversation_id)
    return source ? [{ ...message, ...source }] : []
  })
}

type Source = Pick<CountableMessage, 'channel' | 'connection_id'>

/** Locks the conversations of these messages against deletion. Skips those that a transaction is deleting. */
async function lockConversations(sql: Sql, messages: readonly DigestMessage[]): Promise<Map<string, Source>> {
  const workspaceIds = new Map(messages.map(({ workspace_id, conversation_id }) => [conversation_id, workspace_id]))
  const locked = await sql<({ id: string } & Source)[]>`
    select v.id, v.channel, v.connection_id
    from unnest(${[...workspaceIds.values()]}::uuid[], ${[...workspaceIds.keys()]}::uuid[]) as i (workspace_id, id)
    join conversations v on v.workspace_id = i.workspace_id and v.id = i.id
    for key share of v skip locked`
  return new Map(locked.map(({ id, ...source }) => [id, source]))
}
