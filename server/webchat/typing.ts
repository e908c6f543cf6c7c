/**
 * Reports to visitors' streams that a member types a reply. The read runs again while a member types: the page of a member may vanish
 * without a report.
 */
import type { FastifyBaseLogger } from 'fastify'
import { expirySeconds } from '../conversations/presence.ts'
import { listRepliesTyped } from '../conversations/visitor-presence.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Live } from '../signals/live.ts'
import { presenceTopic } from '../signals/signals.ts'
import { createFeed, type Feed } from './feed.ts'

/** The names of members who type, by conversation; null: the member has no name. */
type Typing = ReadonlyMap<string, string | null>

export type TypingFeed = Feed<(typing: Typing) => void>

export const createTypingFeed = ({ db, live, log }: { db: Db; live: Live; log: FastifyBaseLogger }): TypingFeed =>
  createFeed({
    ...{ live, log, what: 'who types', topicOf: presenceTopic, recheckMs: 10_000 },
    read: async (workspaceId, followers) => {
      const typing = await listRepliesTyped(db, workspaceId, expirySeconds)
      for (const onRead of followers) onRead(typing)
      return typing.size > 0
    },
  })
