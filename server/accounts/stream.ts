/**
 * `/stream`: what keeps a member's pages up to date.
 *
 * It says that something of the workspace changed, never what: the page asks
 * anew for what it shows. However much happens, a stream is told at most five
 * times a second, at once for the first. It ends with its session.
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
    /** It changes nothing that others see, though it is no GET. */
    isQuiet?: boolean
  }
}

const streamsPerMember = 50
const pauseMs = 200
const retryMs = 2_000

export type Streaming = { db: Db; live: Live; heartbeatMs: number; drainTimeoutMs: number }

export const streamRoutes =
  ({ db, live, heartbeatMs, drainTimeoutMs }: Streaming) =>
  async (app: App) => {
    const streams = createStreamRegistry(app, { drainTimeoutMs })
    app.get('/stream', async ({ session }, reply) => {
      streams.enter(reply, [{ key: session.member.id, most: streamsPerMember }])
      const stream = streams.open(reply, { heartbeatMs, retryMs, mayGoOn: () => isSignedIn(db, session) })
      const notify = createCoalescedRunner({
        run: () => stream.send('changed', {}),
        isOpen: stream.isOpen,
        onError: (error) => app.log.warn({ err: error }, 'a member stream could not be notified'),
        pauseMs,
      })
      stream.onClose(live.listen(workspaceTopic(session.workspaceId), notify))
      // Whoever hears this and asks then misses nothing: what happens from here on is told.
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
