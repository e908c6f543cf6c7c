/**
 * The visitor's stream: sends what the visitor wrote, and what was sent to them, as server-sent events. `seen` gives the time up to
 * which members have read the visitor's messages, `typing` says whether a member types a reply, and `queue` has the line of a visitor whose
 * conversation is in the queue of a team.
 *
 * A notification only causes a read of the rows. A page that reconnects names the last message it has and receives the later
 * ones. A new page receives new messages only. A visitor who has not written yet has no conversation: the stream follows
 * it from its first message, also when the visitor was erased and writes again.
 *
 * Visitors are anonymous, so a stream must be cheap for a long conversation and a slow client. It reads pages of `pageSize`
 * messages and sends each page before it reads the next. A process reads a few pages at a time. A replay covers the newest
 * `maxReplayed` messages. Before a longer one, a `gap` event gives the cursor from which `GET /messages` lists older ones.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Connection } from '../channels/channel.ts'
import { shownName, type Widget } from '../channels/widget.ts'
import { getReadUpTo } from '../conversations/conversations.ts'
import { findThreads } from '../conversations/threads.ts'
import { createFairQueue } from '../lib/fair-queue.ts'
import { createCoalescedRunner, type EventStream } from '../lib/http/event-stream.ts'
import { idAt, isUuid, msOfId } from '../lib/id.ts'
import { bottom, encodeCursor } from '../lib/page.ts'
import type { Db, Fragment, Sql } from '../lib/postgres/db.ts'
import { allColumns, isOfVisitor, listMessageIds, type MessageDetails } from '../messages/messages.ts'
import type { Message } from '../messages/resource.ts'
import type { Live } from '../signals/live.ts'
import { conversationTopic, readTopic } from '../signals/signals.ts'
import type { QueueFeed } from './queue-line.ts'
import type { TypingFeed } from './typing.ts'

export type VisitorStreamContext = {
  db: Db
  live: Live
  log: FastifyBaseLogger
  publicUrl: string
  site: Connection
  visitorId: string
  typing: TypingFeed
  queue: QueueFeed
  /** Of the widget. Undefined: a script of the previous release, which shows no line of the queue. */
  language: string | undefined
  /** What the visitor may see of members' names, now. */
  memberNames: () => Widget['member_names']
}

export type StreamStart = {
  /** Undefined when the visitor has not written yet. */
  conversationId: string | undefined
  /** The newest message the page has. */
  after: string
  /** Set when there are more messages than are replayed: `GET /messages` lists the older ones from this cursor. */
  gapCursor: string | undefined
  /** Ids of the seconds before `after` that the page has, newest first. */
  known: string[]
}

export const visitorTopic = (visitorId: string) => `visitor:${visitorId}`

/** What the visitor sees of the team: the name of each member who wrote, and up to which time members have read. */
type TeamView = { names: ReadonlyMap<string, string | null>; readUpTo: string | undefined }
const unseen: TeamView = { names: new Map(), readUpTo: undefined }

/**
 * A message as the visitor sees it, without the fields for members and API keys. Of the content only what we sent for the
 * visitor to see: buttons, lists, links and locations. The status of the visitor's own message is `read` when a member has read it.
 */
export function toVisible(row: Message & MessageDetails, { names, readUpTo }: TeamView = unseen) {
  const { error, content, broadcast_id, error_text, full_content, sender_id, client_id, ...message } = row
  const isShown = row.direction === 'outbound' && shownContents.includes(row.content_type)
  const isRead =
    row.direction === 'inbound' && readUpTo !== undefined && Date.parse(row.created_at) <= Date.parse(readUpTo)
  const name = names.get(sender_id ?? '') ?? null
  return {
    ...message,
    status: isRead ? ('read' as const) : message.status,
    sender: name === null ? null : { name },
    ...(isShown ? { content } : {}),
    ...(client_id === null ? {} : { client_id }),
  }
}

/** The names of the members who wrote these messages, as visitors see them. */
export async function listSenderNames(
  sql: Sql,
  workspaceId: string,
  memberNames: Widget['member_names'],
  messages: readonly MessageDetails[],
): Promise<TeamView['names']> {
  const ids = new Set(messages.flatMap(({ sender_id }) => sender_id ?? []))
  if (ids.size === 0 || memberNames === 'hidden') return unseen.names
  const rows = await sql<{ id: string; name: string | null }[]>`
    select id, name from members where workspace_id = ${workspaceId} and id = any(${[...ids]}::uuid[])`
  return new Map(rows.map(({ id, name }) => [id, shownName(memberNames, name)]))
}

const shownContents: readonly string[] = ['interactive', 'location']

const hiddenFields = ['error', 'broadcast_id', 'error_text', 'full_content', 'sender_id', 'is_read']

/**
 * A page of messages after an id as `toVisible` shows them, oldest first, without skipped and pending messages. The database
 * writes the JSON: building it here doubled the memory of a replay.
 */
async function listVisible(
  sql: Sql,
  workspaceId: string,
  { conversationId, visitorId, after, skipped, memberNames }: VisibleRange,
  publicUrl: string,
): Promise<{ id: string; json: string }[]> {
  return sql<{ id: string; json: string }[]>`
    select v.id, (
      (
        to_jsonb(v) || jsonb_build_object('sender', ${senderJson(sql, workspaceId, memberNames)},
          'status', case when v.is_read then 'read' else v.status end)
      ) - ${hiddenFields}::text[] - case when v.client_id is null then 'client_id' else '' end
        - case when v.direction = 'outbound' and v.content_type = any(${shownContents}) then '' else 'content' end
    )::text as json
    from (
      select ${allColumns(sql, 'web', publicUrl)}, m.direction = 'inbound' and m.created_at <= (
        select c.read_up_to from conversations c where c.workspace_id = ${workspaceId} and c.id = ${conversationId}
      ) as is_read
      from messages m
      where m.workspace_id = ${workspaceId} and m.conversation_id = ${conversationId} and m.id > ${after}
        and m.id <> all(${[...skipped]}::uuid[]) and m.status <> 'pending'
        and ${isOfVisitor(sql, workspaceId, conversationId, visitorId)}
      order by m.id
      limit ${pageSize}
    ) v
    order by v.id`
}

type VisibleRange = {
  conversationId: string
  visitorId: string
  after: string
  skipped: readonly string[]
  memberNames: Widget['member_names']
}

/** The `sender` of message `v`: what `shownName` returns for its member. */
const senderJson = (sql: Sql, workspaceId: string, memberNames: Widget['member_names']): Fragment => {
  if (memberNames === 'hidden') return sql`null::json`
  const trimmed = sql`regexp_replace(m.name, '^\\s+|\\s+$', '', 'g')`
  const shown = memberNames === 'first' ? sql`substring(${trimmed} from '^\\S+')` : trimmed
  return sql`(
    select json_build_object('name', ${shown}) from members m
    where m.workspace_id = ${workspaceId} and m.id = v.sender_id and m.name ~ '\\S'
  )`
}

/** The conversation of a visitor, if they have written. It may have messages of other visitors (`isOfVisitor`). */
export async function findConversation(db: Db, site: Connection, visitorId: string): Promise<string | undefined> {
  const { workspace_id, id: connection_id } = site
  const who = { workspace_id, channel: 'web', connection_id, phone: null, user_id: visitorId } as const
  const [thread] = await findThreads(db, [who])
  return thread?.conversation_id ?? undefined
}

/** Messages a stream holds in memory while its client does not read: at most 160 KB of text. */
const pageSize = 10
const maxReplayed = 5_000
/** Characters per run. The kernel buffers up to 4 MB for a client that does not read, so it gets no more at a time. */
const maxCharsPerRun = 250_000
const continueMs = 200
/** Concurrent page reads of a process, so that replays do not use up the connection pool. */
const concurrentPages = 4
/** A message can be committed this long after its id was created, so after messages with newer ids. */
const overlapMs = 10_000
/** Ids of the overlap that a stream remembers. It does not find late commits further back. */
const maxKnown = 200

const pageQueue = createFairQueue(concurrentPages)

/** The start for a page that sent this `Last-Event-ID`, or none. */
export async function findStart(
  { db, site, visitorId }: VisitorStreamContext,
  lastEventId: unknown,
): Promise<StreamStart> {
  const conversationId = await findConversation(db, site, visitorId)
  const seen = typeof lastEventId === 'string' && isUuid(lastEventId) ? lastEventId.toLowerCase() : undefined
  if (!conversationId) return { conversationId, after: seen ?? bottom, gapCursor: undefined, known: [] }
  const listIds = (range: { after?: string; upTo?: string; offset?: number; limit: number }) =>
    listMessageIds(db, site.workspace_id, { conversationId, visitorId }, range)
  const [newest = bottom] = seen ? [seen] : await listIds({ limit: 1 })
  const [oldestReplayed, before] = seen ? await listIds({ offset: maxReplayed - 1, limit: 2 }) : []
  const isGap = oldestReplayed !== undefined && before !== undefined && before > newest
  const after = isGap ? before : newest
  const known = await listIds({ after: overlapBefore(after), upTo: after, limit: maxKnown })
  return { conversationId, after, gapCursor: isGap ? encodeCursor(oldestReplayed) : undefined, known }
}

const notTyping = { is_typing: false, name: null }

/** Sends every message after the start until the stream closes. */
export function streamMessages(context: VisitorStreamContext, stream: EventStream, start: StreamStart): void {
  const { db, live, log, site, visitorId, publicUrl, typing, queue, language, memberNames } = context
  let { after, gapCursor } = start
  let conversationId: string | undefined
  /** Whether the visitor's conversation must be read again. */
  let isStale = start.conversationId === undefined
  let stopFollowing = () => {}
  /** Ids of the overlap that the page has, and the id below which the stream does not read any more. */
  const known = new Set(start.known.toReversed())
  let floor = start.known.length < maxKnown ? bottom : (start.known.at(-1) ?? bottom)

  const follow = (found: string | undefined) => {
    if (!found || found === conversationId || !stream.isOpen()) return
    stopFollowing()
    conversationId = found
    const stops = [live.listen(conversationTopic(found), notified), live.listen(readTopic(found), notifiedRead)]
    if (language) {
      const follower = { conversationId: found, connectionId: site.id, language, onLine: showLine }
      stops.push(queue.follow(site.workspace_id, follower))
    }
    stopFollowing = () => {
      for (const stop of stops) stop()
    }
  }
  const remember = (id: string) => {
    known.add(id)
    for (const old of known) {
      if (known.size <= maxKnown && old > overlapBefore(after)) break
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
    let charsLeft = maxCharsPerRun
    const overlap = overlapBefore(after)
    for (let from = overlap > floor ? overlap : floor; conversationId && stream.isOpen(); ) {
      const range = {
        conversationId,
        visitorId,
        memberNames: memberNames(),
        after: from,
        skipped: [...known].filter((id) => id > from),
      }
      const page = await pageQueue(visitorId, () => listVisible(db, site.workspace_id, range, publicUrl))
      for (const { id, json } of page) {
        // The event id is the newest message so far, because a page resumes after it.
        if (id > after) after = id
        remember(id)
        await stream.sendText('message', json, after)
        charsLeft -= json.length
      }
      const last = page.at(-1)
      if (!last || page.length < pageSize) return
      from = last.id
      if (charsLeft <= 0) return stream.end(continueMs)
    }
  }
  const notified = createCoalescedRunner({
    run,
    isOpen: stream.isOpen,
    onError: (error) => log.warn({ err: error }, 'a visitor stream could not read new messages'),
  })
  let seenUpTo: string | undefined
  const notifiedRead = createCoalescedRunner({
    run: async () => {
      const upTo = conversationId && (await getReadUpTo(db, site.workspace_id, conversationId))
      if (upTo && upTo !== seenUpTo) await stream.send('seen', { up_to: upTo })
      seenUpTo = upTo
    },
    isOpen: stream.isOpen,
    onError: (error) => log.warn({ err: error }, 'a visitor stream could not read what members have seen'),
  })
  /** A client that does not read gets the newest line only. */
  let line: string | null = null
  let lineSent: string | null | undefined
  const sendLine = createCoalescedRunner({
    run: async () => {
      const text = line
      if (text !== lineSent) await stream.send('queue', { text })
      lineSent = text
    },
    isOpen: stream.isOpen,
    onError: (error) => log.warn({ err: error }, 'a visitor stream could not send the line of its queue'),
  })
  const showLine = (next: string | null) => {
    line = next
    void sendLine()
  }
  let typingSent = JSON.stringify(notTyping)
  const stopTyping = typing.follow(site.workspace_id, (names) => {
    const name = names.get(conversationId ?? '')
    const state = name === undefined ? notTyping : { is_typing: true, name: shownName(memberNames(), name) }
    const text = JSON.stringify(state)
    if (text !== typingSent) void stream.sendText('typing', text)
    typingSent = text
  })
  const stopVisitor = live.listen(visitorTopic(visitorId), () => {
    isStale = true
    void notified()
  })
  stream.onClose(() => {
    stopVisitor()
    stopTyping()
    stopFollowing()
  })
  follow(start.conversationId)
  void notified()
}

const overlapBefore = (id: string): string => idAt(msOfId(id) - overlapMs)
