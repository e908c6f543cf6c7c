/**
 * The event `conversations` of the members' stream: conversations that changed, as the inbox lists them, and the counts.
 *
 * Pages put the conversations into the lists they show, so a customer's message costs one read for all open pages of the workspace.
 * After very many changes the event has no conversations, and pages reload their lists.
 */
import type { Session } from '../accounts/callers.ts'
import type { StreamFeed } from '../accounts/stream.ts'
import { createCoalescer } from '../lib/coalescer.ts'
import type { Db } from '../lib/postgres/db.ts'
import { inboxTopic } from '../signals/signals.ts'
import { keyOf } from '../teams/visibility.ts'
import { countInbox, countMine, type InboxCounts } from './counts.ts'
import { type InboxContext, listInboxRows } from './inbox.ts'
import type { InboxRow } from './resource.ts'

/** Conversations in one event: as many as the first page of a list. */
const maxRows = 50

type InboxEvent = {
  /** Null: reload the lists. */
  conversations: InboxRow[] | null
  /** The ids of conversations that no longer exist, or that the member does not see. */
  removed: string[]
  counts: InboxCounts
}

export function inboxFeed(db: Db, context: InboxContext): StreamFeed {
  const coalesce = createCoalescer()
  return {
    event: 'conversations',
    isSentFirst: false,
    topicOf: inboxTopic,
    async read(reader: Session, ids): Promise<InboxEvent> {
      const { workspaceId, member } = reader
      const key = keyOf(reader)
      const listed = ids && ids.length <= maxRows ? ids.toSorted() : undefined
      const [rows, counts, mine] = await Promise.all([
        listed && coalesce(`${key} ${listed.join()}`, () => listInboxRows(db, workspaceId, context, listed, reader)),
        coalesce(key, () => countInbox(db, reader)),
        countMine(db, workspaceId, member.id),
      ])
      const found = new Set(rows?.map(({ id }) => id))
      const removed = listed?.filter((id) => !found.has(id)) ?? []
      return { conversations: rows ?? null, removed, counts: { ...counts, mine } }
    },
  }
}
