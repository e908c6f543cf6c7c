/**
 * `/stream`: keeps a member's pages up to date.
 *
 * An event says that something changed, but not what: the page reloads the data it shows. `changed` is about the workspace,
 * `member_changed` about data that only this member sees. A stream sends the first event at once and at most five per second.
 * It ends with its session.
 *
 * Feeds are the exception: their events carry the data, because it changes too often to reload lists for it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createCoalescer } from '../lib/coalescer.ts'
import type { Db } from '../lib/db.ts'
import { createCoalescedRunner, createStreamRegistry } from '../lib/event-stream.ts'
import type { Live } from '../lib/live.ts'
import { type App, listOf } from '../lib/server.ts'
import { isSignedIn } from './sessions.ts'
import { memberTopic, type Signals, workspaceTopic } from './signals.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route changes nothing that other members see, although it is not a GET. */
    isQuiet?: boolean
  }
}

const streamsPerMember = 50
const pauseMs = 200
const retryMs = 2_000

/** Events that carry their data. `read` runs when a stream opens and when the topic of its workspace is announced. */
export type StreamFeed = {
  event: string
  topicOf(workspaceId: string): string
  read(workspaceId: string): Promise<object>
}

export type MemberStreamOptions = {
  db: Db
  live: Live
  heartbeatMs: number
  drainTimeoutMs: number
  feeds: readonly StreamFeed[]
}

export const streamRoutes =
  ({ db, live, heartbeatMs, drainTimeoutMs, feeds }: MemberStreamOptions) =>
  async (app: App) => {
    const streams = createStreamRegistry(app, { drainTimeoutMs })
    // The streams of a workspace share the reads of a feed.
    const coalesce = createCoalescer()
    app.get('/stream', async ({ session }, reply) => {
      streams.enter(reply, [{ key: session.member.id, most: streamsPerMember }])
      const stream = streams.open(reply, { heartbeatMs, retryMs, isAuthorized: () => isSignedIn(db, session) })
      const { workspaceId } = session
      const createNotifier = (run: () => Promise<void>) =>
        createCoalescedRunner({
          run,
          isOpen: stream.isOpen,
          onError: (error) => app.log.warn({ err: error }, 'a member stream could not be notified'),
          pauseMs,
        })
      const send = (event: string) => createNotifier(() => stream.send(event, {}))
      stream.onClose(live.listen(workspaceTopic(workspaceId), send('changed')))
      stream.onClose(live.listen(memberTopic(session.member.id), send('member_changed')))
      const notifiers = feeds.map(({ event, topicOf, read }) => {
        const send = createNotifier(async () => {
          const data = await coalesce(`${event} ${workspaceId}`, () => read(workspaceId))
          await stream.send(event, data)
        })
        stream.onClose(live.listen(topicOf(workspaceId), send))
        return send
      })
      // A page that loads its data after `ready` misses no change.
      await stream.send('ready', {})
      for (const send of notifiers) void send()
    })
  }

/** Signals the workspace after every successful request that may have changed something. */
export function signalChanges(
  app: App,
  signals: Signals,
  workspaceOf: (request: FastifyRequest) => string | undefined,
): void {
  const signal = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const workspaceId = reply.statusCode < 400 ? workspaceOf(request) : undefined
    if (workspaceId) signals.changed(workspaceId)
    done()
  }
  app.addHook('onRoute', (route) => {
    if (route.method === 'GET' || route.config?.isQuiet) return
    route.onResponse = [...listOf(route.onResponse), signal]
  })
}
