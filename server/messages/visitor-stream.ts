/**
 * What a visitor's page hears: every message of their conversation as it is
 * kept, by server-sent events.
 *
 * News is a hint to look at the rows. A page that comes back says what it saw
 * last and goes on behind it; one that is new hears what comes from now on. A
 * visitor who has not written yet has no conversation, and hears of theirs from
 * its first message; so does one who was erased and writes again.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Connection } from '../channels/channel.ts'
import { findThreads } from '../conversations/threads.ts'
import type { Db } from '../lib/db.ts'
import { createLookout, type EventStream } from '../lib/event-stream.ts'
import { isUuid, timeOfId } from '../lib/id.ts'
import type { Live } from '../lib/live.ts'
import { listMessages, listMessagesAfter, type Message, type MessageDetails } from './messages.ts'

export type Watching = {
  db: Db
  live: Live
  log: FastifyBaseLogger
  publicUrl: string
  site: Connection
  visitorId: string
}

/** Where a page begins: its conversation, if there is one, and the newest message it has. */
export type Place = { conversationId: string | undefined; after: string }

export const visitorTopic = (visitorId: string) => `visitor:${visitorId}`
export const conversationTopic = (conversationId: string) => `conversation:${conversationId}`

/** A message as its visitor sees it, without what only members and API keys may see. */
export function toVisible(row: Message & MessageDetails) {
  const { error, content, broadcast_id, error_text, full_content, sender_id, client_id, ...message } = row
  return client_id === null ? message : { ...message, client_id }
}

/** The conversation of a visitor, if they have written. */
export async function findConversation(db: Db, site: Connection, visitorId: string): Promise<string | undefined> {
  const who = { workspace_id: site.workspace_id, channel: 'web', phone: null, user_id: visitorId } as const
  const [thread] = await findThreads(db, [who])
  return thread?.conversation_id ?? undefined
}

/** Go on behind the message a browser saw last, or with what comes from now on. */
export async function findPlace({ db, site, visitorId, publicUrl }: Watching, seen: unknown): Promise<Place> {
  const conversationId = await findConversation(db, site, visitorId)
  if (typeof seen === 'string' && isUuid(seen)) return { conversationId, after: seen.toLowerCase() }
  if (!conversationId) return { conversationId, after: bottom }
  const newest = await listMessages(db, site.workspace_id, conversationId, publicUrl, { limit: 1, before: top })
  return { conversationId, after: newest.data[0]?.id ?? bottom }
}

/** Show everything from this place on, until the stream is over. */
export async function watch(watching: Watching, stream: EventStream, place: Place): Promise<void> {
  const { db, live, log, site, visitorId } = watching
  let { after } = place
  let conversationId: string | undefined
  /** Nobody has looked yet which conversation it is by now. */
  let isStale = place.conversationId === undefined
  let stopFollowing = () => {}
  /** Messages of the last moments that the page has. */
  let shown: Set<string> | undefined

  const follow = (found: string | undefined) => {
    if (!found || found === conversationId || !stream.isOpen()) return
    stopFollowing()
    conversationId = found
    stopFollowing = live.listen(conversationTopic(found), heard)
  }
  const look = async () => {
    if (isStale) {
      isStale = false
      const found = await findConversation(db, site, visitorId).catch((error) => {
        isStale = true
        throw error
      })
      follow(found)
    }
    if (!conversationId) return
    const recent = await listSince(watching, conversationId, earlier(after, overlapMs))
    shown ??= new Set(recent.filter(({ id }) => id <= after).map(({ id }) => id))
    for (const message of recent) {
      if (shown.has(message.id)) continue
      // A page resumes behind the newest it saw, also when an older one came after it.
      if (message.id > after) after = message.id
      stream.send('message', toVisible(message), after)
    }
    shown = new Set(recent.map(({ id }) => id))
  }
  const heard = createLookout({
    look,
    isOpen: stream.isOpen,
    onError: (error) => log.warn({ err: error }, 'a stream could not look for news'),
  })
  const stopVisitor = live.listen(visitorTopic(visitorId), () => {
    isStale = true
    void heard()
  })
  stream.onClose(() => {
    stopVisitor()
    stopFollowing()
  })
  follow(place.conversationId)
  await heard()
}

/** An id is made before its message is committed, so one may appear behind another that was begun later. */
const overlapMs = 10_000

/** Everything behind this message, oldest first. */
async function listSince({ db, site, publicUrl }: Watching, conversationId: string, after: string) {
  const messages: Awaited<ReturnType<typeof listMessagesAfter>> = []
  for (let from = after; ; ) {
    const place = { conversationId, after: from, channel: 'web' } as const
    const page = await listMessagesAfter(db, site.workspace_id, place, publicUrl)
    messages.push(...page)
    const last = page.at(-1)
    if (!last) return messages
    from = last.id
  }
}

const bottom = '00000000-0000-0000-0000-000000000000'
const top = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The smallest id of so much before. */
function earlier(id: string, ms: number): string {
  const time = Math.max(0, Date.parse(timeOfId(id)) - ms)
    .toString(16)
    .padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}${bottom.slice(13)}`
}
