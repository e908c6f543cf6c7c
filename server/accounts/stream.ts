/**
 * `/stream`: keeps a member's pages up to date.
 *
 * An event says that something in the workspace changed, but not what: the page reloads the data it shows. A stream sends the
 * first event at once and at most five per second. It ends with its session.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Db } from '../lib/db.ts'
import { createCoalescedRunner, createStreamRegistry } from '../lib/event-stream.ts'
import type { Live } from '../lib/live.ts'
import { type App, listOf } from '../lib/server.ts'
import { isSignedIn } from './sessions.ts'
import { type Signals, workspaceTopic } from './signals.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route changes nothing that other members see, although it is not a GET. */
    isQuiet?: boolean
  }
}

const streamsPerMember = 50
const pauseMs = 200
const retryMs = 2_000

export type MemberStreamOptions = { db: Db; live: Live; heartbeatMs: number; drainTimeoutMs: number }

export const streamRoutes =
  ({ db, live, heartbeatMs, drainTimeoutMs }: MemberStreamOptions) =>
  async (app: App) => {
    const streams = createStreamRegistry(app, { drainTimeoutMs })
    app.get('/stream', async ({ session }, reply) => {
      streams.enter(reply, [{ key: session.member.id, most: streamsPerMember }])
      const stream = streams.open(reply, { heartbeatMs, retryMs, isAuthorized: () => isSignedIn(db, session) })
      const notify = createCoalescedRunner({
        run: () => stream.send('changed', {}),
        isOpen: stream.isOpen,
        onError: (error) => app.log.warn({ err: error }, 'a member stream could not be notified'),
        pauseMs,
      })
      stream.onClose(live.listen(workspaceTopic(session.workspaceId), notify))
      // A page that loads its data after `ready` misses no change.
      await stream.send('ready', {})
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
