/**
 * `/simulator/…`: the built-in simulator, another process (`proxy.ts`), on the service's own port.
 *
 * The simulator handles raw HTTP, so it gets requests with unread bodies. When
 * the service stops, this plugin ends the event streams, which would otherwise
 * stay open.
 *
 * The simulator has no sign-in. If other machines can reach the service, every
 * call except the provider's API and signed links requires the session of the
 * demo's owner. The provider's API always requires its token.
 */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Simulator } from '../../simulator/simulator.ts'
import { samplePicture } from '../../simulator/wire/templates.ts'
import { getRequestSession } from '../accounts/sign-in/sessions.ts'
import { isFromHere, visitOf } from '../accounts/sign-in/setup.ts'
import type { App } from '../lib/http/server.ts'
import type { Db } from '../lib/postgres/db.ts'

export type SimulatorMountOptions = {
  handle: Simulator['handle']
  db: Db
  publicUrl: string
  /** Other machines can reach the service. */
  isExposed: boolean
}

export const simulatorMount = (options: SimulatorMountOptions) => async (app: App) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  const streams = new Set<ServerResponse>()
  app.addHook('preClose', async () => {
    for (const response of streams) response.end()
  })
  for (const url of ['/simulator', '/simulator/*']) {
    app.all(url, { config: { isSimulated: true } }, async (request, reply) => {
      if (!needsNoSession(request) && !(await mayUse(options, request))) return refuse(request, reply)
      // The service's limits on time and size do not apply to the simulator.
      reply.hijack()
      if (request.url.startsWith('/simulator/control/stream')) {
        streams.add(reply.raw)
        reply.raw.on('close', () => streams.delete(reply.raw))
      }
      options.handle(request.raw, reply.raw)
    })
  }
}

/** Whether the simulator authenticates the request itself, by a token or a signed link, or the file is public. */
function needsNoSession({ url, headers }: FastifyRequest): boolean {
  const [path = '', query] = url.split('?', 2)
  // A preview of an automation: it has the token of its simulated account.
  if (path === '/simulator/control/inbound' && headers.authorization !== undefined) return true
  if (path.startsWith('/simulator/graph/') || path === '/simulator/lookaside' || path === samplePicture) return true
  return path.startsWith('/simulator/media/') && new URLSearchParams(query).has('hash')
}

/** Whether the caller is on this machine and only this machine reaches the service, or is the demo's owner. */
async function mayUse({ db, publicUrl, isExposed }: SimulatorMountOptions, request: FastifyRequest): Promise<boolean> {
  if (!isExposed && isFromHere(visitOf(request, publicUrl))) return true
  const session = await getRequestSession(db, request)
  if (session?.member.role !== 'owner' || session.secondFactorDue) return false
  const [workspace] = await db`select 1 from workspaces where id = ${session.workspaceId} and is_demo`
  return workspace !== undefined
}

const signInFirst = 'sign in to the dashboard as the owner of the demo workspace first'

function refuse(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.code(401).header('cache-control', 'no-store')
  if (request.url !== '/simulator' && request.url !== '/simulator/') {
    return reply.send({ error: { code: 'unauthorized', message: signInFirst } })
  }
  const page = `<!doctype html><meta charset="utf-8"><title>Simulator</title><p>To open the simulator, ${signInFirst}: <a href="/">dashboard</a>.`
  return reply.type('text/html; charset=utf-8').header('content-security-policy', "default-src 'none'").send(page)
}
