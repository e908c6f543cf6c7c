/**
 * `/simulator/…`: the simulator inside the service, on the service's own port.
 *
 * It speaks plain HTTP by itself, streams included, so requests are handed
 * over as they came: their bodies unread, their answers its own. Only streams
 * are ended by us when the service stops, since they would not end by
 * themselves.
 */
import type { ServerResponse } from 'node:http'
import type { Simulator } from '../simulator/simulator.ts'
import type { App } from './lib/server.ts'

export const simulatorMount = (simulator: Pick<Simulator, 'handle'>) => async (app: App) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  const streams = new Set<ServerResponse>()
  app.addHook('preClose', async () => {
    for (const response of streams) response.end()
  })
  for (const url of ['/simulator', '/simulator/*']) {
    app.all(url, (request, reply) => {
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
