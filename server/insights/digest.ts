/**
 * The digest: every message is read once, soon after it was written, and what
 * others look up later is kept of it: the words it is found by, its day's
 * counters, who waits for an answer. Whoever sends or receives does nothing
 * for it.
 *
 * Messages are read in the order of their ids, which are times. Yet one may
 * appear behind others that were begun later: its transaction took longer, or
 * its process's clock is behind. So a message counts as read by its row in
 * `message_words`, written in the same transaction as all that is kept of it,
 * and what was read is looked over again: the last two seconds at every turn,
 * the last two minutes every quarter of a minute. `position` is where even
 * that has been done. One that is later still comes through `reindex-requests.ts`, as
 * do those whose text was changed.
 *
 * One process at a time: whoever has the row of the position. It is a row and
 * not a lock of the machine, since processes may be on several. A start from
 * nothing, or after a long stop, works its way up at half speed.
 */
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { ChannelName } from '../contacts/contacts.ts'
import type { Db, Sql } from '../lib/db.ts'
import type { Health } from '../lib/health.ts'
import { idAt } from '../lib/id.ts'
import { type Loop, startRepeating } from '../lib/loop.ts'
import {
  deleteReindexRequests,
  listReindexRequests,
  type ReindexRequest,
  requestReindex,
} from '../messages/reindex-requests.ts'
import { recountMessages } from './answers.ts'
import { type Counted, countMessages } from './days.ts'
import { addWords, changeWords, type Texted } from './word-index.ts'

const everyMs = 1_000
/** Messages read in a transaction; their words are the most that keeps the process from others at a time. */
const batchSize = 500
/** Out of order by no more than this is usual. */
const usualMs = 2_000
/** And this is the most: longer than any statement may take, and than clocks differ. */
const lateMs = 120_000
const lookBackSeconds = 15
/** Above every id. */
const top = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

type Fresh = Texted & Omit<Counted, 'channel'>

/** A way through the messages from somewhere to the newest. */
type Pass = { from: string; beganMs: number; isWide: boolean }

/** What a pass is after a batch: what is left of it, and when it began; undefined: another process is at it. */
type Turn = { next: Pass | undefined; beganMs: number } | undefined

export function startDigesting({ db, log, health }: { db: Db; log: FastifyBaseLogger; health: Health }): Loop {
  let isStopping = false
  let lastMs: number | undefined
  const run = async () => {
    let pass: Pass | undefined
    while (!isStopping) {
      const began = performance.now()
      const turn: Turn = await db.begin((sql) => digest(sql, pass, lastMs))
      if (!turn) return
      if (!turn.next) {
        lastMs = turn.beganMs
        return
      }
      pass = turn.next
      await sleep(performance.now() - began)
    }
  }
  const loop = startRepeating({ name: 'digest', everyMs, log, health, run })
  return {
    async stop() {
      isStopping = true
      await loop.stop()
    },
  }
}

/** Read the next batch of a pass, or the first of a new one. `lastMs`: when the last pass of this process began. */
async function digest(sql: Sql, given: Pass | undefined, lastMs: number | undefined): Promise<Turn> {
  const [state] = await sql<{ position: string; slice_count: number; now_ms: number; is_time: boolean }[]>`
    select position, slice_count, extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
      looked_back_at < now() - make_interval(secs => ${lookBackSeconds}) as is_time
    from message_digest
    for update skip locked`
  if (!state) return undefined
  const { position } = state
  const nowMs = Math.floor(state.now_ms)
  const isWide = state.is_time || lastMs === undefined
  const near = idAt(Math.min(nowMs, lastMs ?? nowMs) - usualMs)
  const pass = given ?? { from: isWide ? position : near, beganMs: nowMs, isWide }

  const end = await findEnd(sql, pass.from)
  const requests = given ? [] : await listReindexRequests(sql, batchSize)
  const again = requests.length > 0 ? await readRequested(sql, requests) : []
  const fresh = await readFresh(sql, pass.from, end ?? top)
  const seen = new Set(fresh.map(({ id }) => id))
  const outOfOrder = again.filter(({ id, is_read }) => !is_read && !seen.has(id))
  const count = await keep(sql, [...outOfOrder, ...fresh].sort(byId), state.slice_count)
  const known = again.filter(({ is_read }) => is_read)
  await changeWords(sql, known)
  await recountMessages(sql, await withChannels(sql, known))
  const found = new Set(again.map(({ id }) => id))
  await deleteReindexRequests(
    sql,
    requests.filter(({ message_id, is_expired }) => is_expired || found.has(message_id)),
  )

  const settled = idAt(pass.beganMs - lateMs)
  const reached = end !== undefined && end < settled ? end : settled
  const isOver = pass.isWide && end === undefined
  if (pass.isWide || count !== state.slice_count) {
    await sql`
      update message_digest set slice_count = ${count},
        position = ${pass.isWide && reached > position ? reached : position},
        looked_back_at = case when ${isOver} then now() else looked_back_at end`
  }
  return { next: end === undefined ? undefined : { ...pass, from: end }, beganMs: pass.beganMs }
}

/** Keep what is looked up later of messages that were not read before, in order. Answers how many slices there are. */
async function keep(sql: Sql, fresh: readonly Fresh[], sliceCount: number): Promise<number> {
  if (fresh.length === 0) return sliceCount
  const messages = await withChannels(sql, fresh)
  const held = new Set(messages.map(({ id }) => id))
  // Somebody is just deleting the conversation. If they do not after all, its messages are read then.
  for (const { workspace_id, id } of fresh) {
    if (!held.has(id)) await requestReindex(sql, workspace_id, id)
  }
  if (messages.length === 0) return sliceCount
  await breathe()
  const count = await addWords(sql, messages, sliceCount)
  await breathe()
  await countMessages(sql, messages)
  return count
}

const byId = (one: Fresh, other: Fresh): number => (one.id < other.id ? -1 : 1)

/** The last message of a batch that begins here; undefined: there are fewer. */
async function findEnd(sql: Sql, from: string): Promise<string | undefined> {
  const [end] = await sql<{ id: string }[]>`
    select id from messages where id > ${from} order by id offset ${batchSize - 1} limit 1`
  return end?.id
}

/** Messages of a stretch that were not read yet. Asked row by row: no statistics can make it read more than the stretch. */
async function readFresh(sql: Sql, from: string, to: string): Promise<Fresh[]> {
  return sql<Fresh[]>`
    select m.workspace_id, m.conversation_id, m.id, m.direction, m.sender_type, m.content_type, m.status, m.content_text
    from messages m
    left join lateral (
      select true as is_read from message_words w
      where w.workspace_id = m.workspace_id and w.conversation_id = m.conversation_id and w.id = m.id
      limit 1
    ) w on true
    where m.id > ${from} and m.id <= ${to} and w.is_read is null
    order by m.id`
}

/** Those of the messages asked for that are there, with their texts of now. */
async function readRequested(sql: Sql, requests: readonly ReindexRequest[]): Promise<(Fresh & { is_read: boolean })[]> {
  return sql<(Fresh & { is_read: boolean })[]>`
    select m.workspace_id, m.conversation_id, m.id, m.direction, m.sender_type, m.content_type, m.status, m.content_text,
      exists (
        select from message_words w
        where w.workspace_id = m.workspace_id and w.conversation_id = m.conversation_id and w.id = m.id
      ) as is_read
    from (
      select distinct workspace_id, message_id
      from unnest(${requests.map(({ workspace_id }) => workspace_id)}::uuid[],
        ${requests.map(({ message_id }) => message_id)}::uuid[]) as g (workspace_id, message_id)
    ) g
    join messages m on m.workspace_id = g.workspace_id and m.id = g.message_id`
}

/** Those of the messages whose conversation nobody is just deleting, and nobody will until this is over. */
async function withChannels<Read extends Fresh>(sql: Sql, messages: readonly Read[]) {
  if (messages.length === 0) return []
  const channels = await lockConversations(sql, messages)
  return messages.flatMap((message) => {
    const channel = channels.get(message.conversation_id)
    return channel ? [{ ...message, channel }] : []
  })
}

/** Hold the conversations of these messages against being deleted; whose are just being deleted are not waited for. */
async function lockConversations(sql: Sql, messages: readonly Fresh[]): Promise<Map<string, ChannelName>> {
  const wanted = new Map(messages.map(({ workspace_id, conversation_id }) => [conversation_id, workspace_id]))
  const held = await sql<{ id: string; channel: ChannelName }[]>`
    select v.id, v.channel
    from unnest(${[...wanted.values()]}::uuid[], ${[...wanted.keys()]}::uuid[]) as g (workspace_id, id)
    join conversations v on v.workspace_id = g.workspace_id and v.id = g.id
    for key share of v skip locked`
  return new Map(held.map(({ id, channel }) => [id, channel]))
}
