/**
 * Reads that all visitors' streams of a workspace share: one read serves them, however many visitors there are. It runs when a
 * notification of the workspace arrives, and again after a time while its result says so.
 */
import type { FastifyBaseLogger } from 'fastify'
import { createCoalescedRunner } from '../lib/http/event-stream.ts'
import type { Live } from '../signals/live.ts'

export type Feed<Follower> = {
  /** Reads at once, and after each change. Returns a function that ends it. */
  follow(workspaceId: string, follower: Follower): () => void
}

type FeedOptions<Follower> = {
  live: Live
  log: FastifyBaseLogger
  /** Of the log line after a failed read. */
  what: string
  topicOf: (workspaceId: string) => string
  /** Reads and notifies the followers. Returns whether to read again after `recheckMs`. */
  read: (workspaceId: string, followers: ReadonlySet<Follower>) => Promise<boolean>
  /** Whether a change of these rows may matter to the followers. Absent: always. */
  concerns?: (followers: ReadonlySet<Follower>, ids: readonly string[]) => boolean
  recheckMs: number
  /** The time between two reads of a workspace. */
  pauseMs?: number
}

export function createFeed<Follower>(options: FeedOptions<Follower>): Feed<Follower> {
  const { live, log, what, topicOf, read, concerns, recheckMs, pauseMs = 0 } = options
  type Followed = { followers: Set<Follower>; notified: () => Promise<void>; stop: () => void }
  const workspaces = new Map<string, Followed>()

  function start(workspaceId: string): Followed {
    const followers = new Set<Follower>()
    let timer: NodeJS.Timeout | undefined
    const notified = createCoalescedRunner({
      run: async () => {
        const isRepeated = await read(workspaceId, followers)
        clearTimeout(timer)
        if (isRepeated && followers.size > 0) timer = setTimeout(() => void notified(), recheckMs)
      },
      isOpen: () => followers.size > 0,
      onError: (error) => log.warn({ err: error }, `a visitor stream could not read ${what}`),
      pauseMs,
    })
    const stopListening = live.listen(topicOf(workspaceId), (ids) => {
      if (!ids || !concerns || concerns(followers, ids)) void notified()
    })
    const stop = () => {
      clearTimeout(timer)
      stopListening()
    }
    return { followers, notified, stop }
  }

  return {
    follow(workspaceId, follower) {
      const followed = workspaces.get(workspaceId) ?? start(workspaceId)
      workspaces.set(workspaceId, followed)
      followed.followers.add(follower)
      void followed.notified()
      return () => {
        followed.followers.delete(follower)
        if (followed.followers.size > 0) return
        followed.stop()
        workspaces.delete(workspaceId)
      }
    },
  }
}
