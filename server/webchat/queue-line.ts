/**
 * The line of the web chat for visitors whose conversation is in the queue of a team: the position, and the expected time while the
 * team is open and the pace of its queue is known. All visitors of a workspace share the reads.
 */
import type { FastifyBaseLogger } from 'fastify'
import { describeQueue } from '../../common/chat-hint.ts'
import type { Times } from '../../common/times.ts'
import { readQueuePace } from '../conversations/assignment/expected-wait.ts'
import { listQueued, type Queued } from '../conversations/assignment/queue.ts'
import { isOpen } from '../hours/hours.ts'
import { readSchedules } from '../hours/schedules.ts'
import { nowMs } from '../lib/clock.ts'
import type { Db } from '../lib/postgres/db.ts'
import { createTtlCache } from '../lib/ttl-cache.ts'
import type { Live } from '../signals/live.ts'
import { inboxTopic } from '../signals/signals.ts'
import { createFeed, type Feed } from './feed.ts'

type QueueFollower = {
  conversationId: string
  connectionId: string
  language: string
  /** The line of the last read; undefined before it. */
  line?: string | null
  /** Null: the conversation is in no queue, or its customer does not wait. */
  onLine: (line: string | null) => void
}

export type QueueFeed = Feed<QueueFollower>

type QueueFeedOptions = { db: Db; live: Live; log: FastifyBaseLogger; times: Times['webChat']['queue'] }

export function createQueueFeed({ db, live, log, times }: QueueFeedOptions): QueueFeed {
  const paceOf = createTtlCache(
    async (workspaceId) => ({
      seconds: await readQueuePace(db, workspaceId),
      schedules: await readSchedules(db, workspaceId),
    }),
    times.recheckMs,
  )

  async function read(workspaceId: string, followers: ReadonlySet<QueueFollower>): Promise<boolean> {
    // A visitor who comes during the read is part of the next one.
    const present = [...followers]
    const ids = [...new Set(present.map(({ conversationId }) => conversationId))]
    const queued = new Map((await listQueued(db, workspaceId, ids)).map((one) => [one.id, one]))
    const pace = queued.size > 0 ? await paceOf(workspaceId) : undefined
    const lineOf = (
      { team_id: teamId, position, waiting_since }: Queued,
      { connectionId, language }: QueueFollower,
    ) => {
      if (!waiting_since) return null
      const seconds = isOpen(pace?.schedules({ teamId, connectionId }), nowMs()) ? pace?.seconds.get(teamId) : undefined
      return describeQueue(position, seconds === undefined ? undefined : seconds * position, language)
    }
    for (const follower of present) {
      const found = queued.get(follower.conversationId)
      const line = found ? lineOf(found, follower) : null
      if (line === follower.line) continue
      follower.line = line
      follower.onLine(line)
    }
    return queued.size > 0
  }

  /** While no visitor waits, the other changes of the workspace cost nothing. */
  function concerns(followers: ReadonlySet<QueueFollower>, ids: readonly string[]): boolean {
    const changed = new Set(ids)
    for (const { line, conversationId } of followers) if (line || changed.has(conversationId)) return true
    return false
  }

  return createFeed({ ...{ live, log, read, concerns, ...times }, what: 'its queue', topicOf: inboxTopic })
}
