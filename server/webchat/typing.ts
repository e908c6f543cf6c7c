/**
 * Reports to visitors' streams that a member types a reply. All streams of a workspace share one read of the members' presence, which
 * runs when the presence changes, and again while a member types: the page of a member may vanish without a report.
 */
import type { FastifyBaseLogger } from 'fastify'
import { expirySeconds } from '../conversations/presence.ts'
import { listRepliesTyped } from '../conversations/visitor-presence.ts'
import { createCoalescedRunner } from '../lib/http/event-stream.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Live } from '../signals/live.ts'
import { presenceTopic } from '../signals/signals.ts'

/** The names of members who type, by conversation; null: the member has no name. */
type Typing = ReadonlyMap<string, string | null>

export type TypingFeed = {
  /** Calls `onRead` at once and after each change. Returns a function that ends it. */
  follow(workspaceId: string, onRead: (typing: Typing) => void): () => void
}

const recheckMs = 10_000

type Followed = { followers: Set<(typing: Typing) => void>; notified: () => Promise<void>; stop: () => void }

export function createTypingFeed({ db, live, log }: { db: Db; live: Live; log: FastifyBaseLogger }): TypingFeed {
  const workspaces = new Map<string, Followed>()

  function start(workspaceId: string): Followed {
    const followers: Followed['followers'] = new Set()
    let timer: NodeJS.Timeout | undefined
    const run = async () => {
      const typing = await listRepliesTyped(db, workspaceId, expirySeconds)
      for (const onRead of followers) onRead(typing)
      clearTimeout(timer)
      if (typing.size > 0 && followers.size > 0) timer = setTimeout(() => void notified(), recheckMs)
    }
    const notified = createCoalescedRunner({
      run,
      isOpen: () => followers.size > 0,
      onError: (error) => log.warn({ err: error }, 'a visitor stream could not read who types'),
    })
    const stopListening = live.listen(presenceTopic(workspaceId), () => void notified())
    const stop = () => {
      clearTimeout(timer)
      stopListening()
    }
    return { followers, notified, stop }
  }

  return {
    follow(workspaceId, onRead) {
      const followed = workspaces.get(workspaceId) ?? start(workspaceId)
      workspaces.set(workspaceId, followed)
      followed.followers.add(onRead)
      void followed.notified()
      return () => {
        followed.followers.delete(onRead)
        if (followed.followers.size > 0) return
        followed.stop()
        workspaces.delete(workspaceId)
      }
    },
  }
}
