/**
 * The visitor's stream: every message of their conversation as it is stored,
 * by server-sent events.
 *
 * A notification is a hint to read the rows. A page that reconnects names the
 * last message it has and receives what came after it; a new page receives
 * what comes from now on. A visitor who has not written yet has no
 * conversation; the stream follows theirs from its first message on, also after
 * the visitor was erased and writes again.
 *
 * Anybody can be a visitor, so a stream costs little however long its
 * conversation is and however slowly its client reads: messages are read in
 * pages of `pageSize`, each sent before the next is read, and a few pages at a
 * time in a process. A replay covers the newest `mostReplayed` messages. When
 * there are more, a `gap` event comes first, with the cursor from which
 * `GET /messages` lists the older ones.
 */

import type { FastifyBaseLogger } from 'fastify'
import { conversationTopic } from '../accounts/signals.ts'
import type { Connection } from '../channels/channel.ts'
import { findThreads } from '../conversations/threads.ts'
import type { Db, Sql } from '../lib/db.ts'
import { createCoalescedRunner, type EventStream } from '../lib/event-stream.ts'
import { createFairQueue } from '../lib/fair-queue.ts'
import { idAt, isUuid, msOfId } from '../lib/id.ts'
import type { Live } from '../lib/live.ts'
import { bottom, encodeCursor } from '../lib/page.ts'
import { allColumns, listMessageIds, type Message, type MessageDetails } from '../messages/messages.ts'

export type Watching = {
  db: Db
  live: Live
  log: FastifyBaseLogger
  publicUrl: string
  site: Connection
  visitorId: string
}

/** Where a stream starts. */
export type Start = {
  /** Undefined: the visitor has not written yet. */
  conversationId: string | undefined
  /** The newest message the page has. */
  after: string
  /** There are more messages than are replayed: `GET /messages` lists the older ones from this cursor on. */
  gapCursor: string | undefined
  /** Ids of the last seconds before `after`, newest first: the page has them. */
  known: string[]
}

export const visitorTopic = (visitorId: string) => `visitor:${visitorId}`

/** A message as its visitor sees it, without what only members and API keys may see. */
export function toVisible(row: Message & MessageDetails) {
  const { error, content, broadcast_id, error_text, full_content, sender_id, client_id, ...message } = row
  return client_id === null ? message : { ...message, client_id }
}

const hiddenFields = ['error', 'content', 'broadcast_id', 'error_text', 'full_content', 'sender_id']

/**
 * The messages after an id as `toVisible` shows them, oldest first, without the skipped and the pending ones. The database
 * writes the JSON: rows as objects, written here, doubled what a replay allocates.
 */
async function listVisible(
  sql: Sql,
  workspaceId: string,
  { conversationId, after, skipped }: { conversationId: string; after: string; skipped: readonly string[] },
  publicUrl: string,
): Promise<{ id: string; json: string }[]> {
  return sql<{ id: string; json: string }[]>`
    select v.id, (
      to_jsonb(v) - ${hiddenFields}::text[] - case when v.client_id is null then 'client_id' else '' end
    )::text as json
    from (
      select ${allColumns(sql, 'web', publicUrl)}
      from messages m
      where m.workspace_id = ${workspaceId} and m.conversation_id = ${conversationId} and m.id > ${after}
        and m.id <> all(${[...skipped]}::uuid[]) and m.status <> 'pending'
      order by m.id
      limit ${pageSize}
    ) v
    order by v.id`
}

/** The conversation of a visitor, if they have written. */
export async function findConversation(db: Db, site: Connection, visitorId: string): Promise<string | undefined> {
  const who = { workspace_id: site.workspace_id, channel: 'web', phone: null, user_id: visitorId } as const
  const [thread] = await findThreads(db, [who])
  return thread?.conversation_id ?? undefined
}

/** Messages a stream holds in memory while its client does not read: at most 160 KB of text. */
const pageSize = 10
const mostReplayed = 5_000
/** Characters sent in one go. The kernel buffers up to 4 MB for a client that reads nothing, so it is not given more. */
const mostAtOnce = 250_000
const continueMs = 200
/** Pages that all streams of a process read at once, so that replays leave the pool to others. */
const pagesAtOnce = 4
/** An id is created before its message is committed, so a message can appear behind a newer one, this much later. */
const overlapMs = 10_000
/** Of the overlap a stream remembers so many ids; it does not look further back for late commits. */
const mostKnown = 200

const pageQueue = createFairQueue(pagesAtOnce)

/** Where to start for a page that sent this `Last-Event-ID`, or none. */
export async function findStart({ db, site, visitorId }: Watching, lastEventId: unknown): Promise<Start> {
  const conversationId = await findConversation(db, site, visitorId)
  const seen = typeof lastEventId === 'string' && isUuid(lastEventId) ? lastEventId.toLowerCase() : undefined
  if (!conversationId) return { conversationId, after: seen ?? bottom, gapCursor: undefined, known: [] }
  const listIds = (range: { after?: string; upTo?: string; offset?: number; limit: number }) =>
    listMessageIds(db, site.workspace_id, conversationId, range)
  const [newest = bottom] = seen ? [seen] : await listIds({ limit: 1 })
  const [oldestReplayed, before] = seen ? await listIds({ offset: mostReplayed - 1, limit: 2 }) : []
  const isGap = oldestReplayed !== undefined && before !== undefined && before > newest
  const after = isGap ? before : newest
  const known = await listIds({ after: overlapBefore(after), upTo: after, limit: mostKnown })
  return { conversationId, after, gapCursor: isGap ? encodeCursor(oldestReplayed) : undefined, known }
}

/** Sends every message from the start on, until the stream is over. */
export function watch(watching: Watching, stream: EventStream, start: Start): void {
  const { db, live, log, site, visitorId, publicUrl } = watching
  let { after, gapCursor } = start
  let conversationId: string | undefined
  /** Whether the visitor's conversation has to be looked up again. */
  let isStale = start.conversationId === undefined
  let stopFollowing = () => {}
  /** Ids of the overlap that the page has, and the id below which the stream does not look any more. */
  const known = new Set(start.known.toReversed())
  let floor = start.known.length < mostKnown ? bottom : (start.known.at(-1) ?? bottom)

  const follow = (found: string | undefined) => {
    if (!found || found === conversationId || !stream.isOpen()) return
    stopFollowing()
    conversationId = found
    stopFollowing = live.listen(conversationTopic(found), notified)
  }
  const remember = (id: string) => {
    known.add(id)
    for (const old of known) {
      if (known.size <= mostKnown && old > overlapBefore(after)) break
      known.delete(old)
      if (old > floor) floor = old
    }
  }
  const run = async () => {
    if (isStale) {
      isStale = false
      const found = await findConversation(db, site, visitorId).catch((error) => {
        isStale = true
        throw error
      })
      follow(found)
    }
    if (gapCursor) await stream.send('gap', { next_cursor: gapCursor })
    gapCursor = undefined
    let left = mostAtOnce
    const overlap = overlapBefore(after)
    for (let from = overlap > floor ? overlap : floor; conversationId && stream.isOpen(); ) {
      const range = { conversationId, after: from, skipped: [...known].filter((id) => id > from) }
      const page = await pageQueue(visitorId, () => listVisible(db, site.workspace_id, range, publicUrl))
      for (const { id, json } of page) {
        // A page resumes after the newest message it has, also when an older one came after it.
        if (id > after) after = id
        remember(id)
        await stream.sendText('message', json, after)
        left -= json.length
      }
      const last = page.at(-1)
      if (!last || page.length < pageSize) return
      from = last.id
      if (left <= 0) return stream.end(continueMs)
    }
  }
  const notified = createCoalescedRunner({
    run,
    isOpen: stream.isOpen,
    onError: (error) => log.warn({ err: error }, 'a visitor stream could not read new messages'),
  })
  const stopVisitor = live.listen(visitorTopic(visitorId), () => {
    isStale = true
    void notified()
  })
  stream.onClose(() => {
    stopVisitor()
    stopFollowing()
  })
  follow(start.conversationId)
  void notified()
}

const overlapBefore = (id: string): string => idAt(msOfId(id) - overlapMs)
