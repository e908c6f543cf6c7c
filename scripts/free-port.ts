/** Finds a free port for a service that a test or a benchmark starts. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below the ports that the system gives to connections and to `listen(0)`, so that none of them takes it meanwhile. */
const firstPort = 10_000
const endPort = 32_000

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const port = randomInt(firstPort, endPort)
    const probe = createServer()
      .on('error', () => resolve(freePort()))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(port)))
  })
}
