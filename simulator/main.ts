/**
 * The simulator alone: for load tests, and for anybody's own code.
 *
 *   npm run -s simulator -- --port N [--host 127.0.0.1] [--data DIR]
 */
import { createServer } from 'node:http'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import pino from 'pino'
import { createSimulator, type Simulator } from './simulator.ts'

const usage = 'usage: npm run -s simulator -- --port N [--host 127.0.0.1] [--data DIR]'

function readOptions(): { port: number; host: string; dir: string } | undefined {
  try {
    const { values } = parseArgs({
      options: { port: { type: 'string' }, host: { type: 'string' }, data: { type: 'string' } },
    })
    const port = Number(values.port)
    if (!Number.isInteger(port) || port < 0 || port > 65_535) return undefined
    const dir = resolve(values.data ?? `${process.env.DATA_DIR ?? './data'}/simulator`)
    return { port, host: values.host ?? '127.0.0.1', dir }
  } catch {
    return undefined
  }
}

const options = readOptions()
if (!options) {
  console.error(usage)
  process.exit(2)
}
const { port, host, dir } = options
const log = pino({ level: process.env.LOG_LEVEL ?? 'info' }, pino.destination(2))

let simulator: Simulator | undefined
const server = createServer((request, response) => {
  if (simulator) simulator.handle(request, response)
  else response.writeHead(503, { 'retry-after': '1' }).end()
})
server.keepAliveTimeout = 75_000
await new Promise<void>((listening, failed) => {
  server.once('error', failed)
  server.listen(port, host, 1024, listening)
}).catch((error: Error) => {
  console.error(`the simulator cannot listen on ${host}:${port}: ${error.message}`)
  process.exit(1)
})
const address = server.address()
const url = `http://${host.includes(':') ? `[${host}]` : host}:${typeof address === 'object' && address ? address.port : port}`
simulator = await createSimulator({ dir, name: String(new URL(url).port || 80), publicUrl: url, log })
console.log(`The simulator is at ${url}/simulator (its journal in ${dir})`)

let stopping = false
async function stop() {
  if (stopping) return
  stopping = true
  server.close()
  await simulator?.stop()
  server.closeAllConnections()
  process.exit(0)
}
for (const event of ['SIGTERM', 'SIGINT', 'SIGHUP', 'disconnect'] as const) process.on(event, () => void stop())
