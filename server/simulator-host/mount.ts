/**
 * `/simulator/…`: the simulator inside the service, on the service's own port.
 *
 * The simulator speaks plain HTTP, streams included, so requests are handed
 * over with their bodies unread. Only streams are ended here when the service
 * stops, since they would not end by themselves.
 *
 * The simulator has no sign-in. Where more than this machine reaches it, all
 * but the provider's API and signed links needs the session of the demo's
 * owner. The provider's API needs its token everywhere.
 */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Simulator } from '../../simulator/simulator.ts'
import { samplePicture } from '../../simulator/wire/templates.ts'
import { getRequestSession } from '../accounts/sessions.ts'
import { isFromHere, visitOf } from '../accounts/setup.ts'
import type { Db } from '../lib/db.ts'
import type { App } from '../lib/server.ts'

export type Mounting = {
  simulator: Pick<Simulator, 'handle'>
  db: Db
  publicUrl: string
  /** More than this machine reaches the service. */
  isExposed: boolean
}

export const simulatorMount = (mounting: Mounting) => async (app: App) => {
  const { simulator } = mounting
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  const streams = new Set<ServerResponse>()
  app.addHook('preClose', async () => {
    for (const response of streams) response.end()
  })
  for (const url of ['/simulator', '/simulator/*']) {
    app.all(url, async (request, reply) => {
      if (!hasOwnAccess(request.url) && !(await isOwner(mounting, request))) return refuse(request, reply)
      // From here on no limit of ours on time or size holds.
      reply.hijack()
      if (request.url.startsWith('/simulator/control/stream')) {
        streams.add(reply.raw)
        reply.raw.on('close', () => streams.delete(reply.raw))
      }
      simulator.handle(request.raw, reply.raw)
    })
  }
}

/** Whether the simulator itself checks the caller, by a token or by the signature of a link, or has nothing to protect. */
function hasOwnAccess(url: string): boolean {
  const [path = '', query] = url.split('?', 2)
  if (path.startsWith('/simulator/graph/') || path === '/simulator/lookaside' || path === samplePicture) return true
  return path.startsWith('/simulator/media/') && new URLSearchParams(query).has('hash')
}

/** Whether the caller sits at this machine, where it alone reaches the service, or is signed in as the demo's owner. */
async function isOwner({ db, publicUrl, isExposed }: Mounting, request: FastifyRequest): Promise<boolean> {
  if (!isExposed && isFromHere(visitOf(request, publicUrl))) return true
  const session = await getRequestSession(db, request)
  if (session?.member.role !== 'owner') return false
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
