/**
 * `/simulator/…`: the simulator inside the service, on the service's own port.
 *
 * It speaks plain HTTP by itself, streams included, so requests are handed
 * over as they came: their bodies unread, their answers its own.
 */
import type { Simulator } from '../simulator/simulator.ts'
import type { App } from './lib/server.ts'

export const simulatorMount = (simulator: Pick<Simulator, 'handle'>) => async (app: App) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  for (const url of ['/simulator', '/simulator/*']) {
    app.all(url, (request, reply) => {
      // From here on no limit of ours on time or size holds.
      reply.hijack()
      simulator.handle(request.raw, reply.raw)
    })
  }
}
