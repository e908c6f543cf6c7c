/**
 * The simulator on its own, for load tests and for other programs that speak to
 * the provider.
 *
 *   npm run -s simulator -- --port N [options]
 *
 * It listens on loopback. It has no sign-in, so a wider `--host` is for networks
 * whose every machine may read and send everything here.
 */
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { networkInterfaces } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import pino from 'pino'
import { isLoopbackHost } from '../common/address.ts'
import { createSimulator, type Simulator } from './simulator.ts'

const usage = `usage: npm run -s simulator -- --port N [options]

  --host ADDRESS      where to listen (127.0.0.1)
  --public-url URL    how others reach it, when that is not http://HOST:PORT
  --data DIR          where to keep the journal and files (DATA_DIR/simulator)
  --tls-cert FILE     serve https: the certificate chain and
  --tls-key FILE      the private key, both PEM`

type Options = {
  port: number
  host: string
  publicUrl: string | undefined
  dir: string
  tls: { cert: Buffer; key: Buffer } | undefined
}

function readOptions(): Options | undefined {
  try {
    const text = { type: 'string' } as const
    const { values } = parseArgs({
      options: { port: text, host: text, data: text, 'public-url': text, 'tls-cert': text, 'tls-key': text },
    })
    const port = Number(values.port)
    if (!Number.isInteger(port) || port < 0 || port > 65_535) return undefined
    const { 'public-url': publicUrl, 'tls-cert': cert, 'tls-key': key } = values
    if (publicUrl !== undefined && !/^https?:$/.test(URL.parse(publicUrl)?.protocol ?? '')) return undefined
    if ((cert === undefined) !== (key === undefined)) return undefined
    return {
      port,
      host: values.host ?? '127.0.0.1',
      publicUrl: publicUrl === undefined ? undefined : new URL(publicUrl).origin,
      dir: resolve(values.data ?? `${process.env.DATA_DIR ?? './data'}/simulator`),
      tls: cert === undefined || key === undefined ? undefined : { cert: readFileSync(cert), key: readFileSync(key) },
    }
  } catch (error) {
    console.error((error as Error).message)
    return undefined
  }
}

const options = readOptions()
if (!options) {
  console.error(usage)
  process.exit(2)
}
const { port, host, publicUrl, dir, tls } = options
const log = pino({ level: process.env.LOG_LEVEL ?? 'info' }, pino.destination(2))

let simulator: Simulator | undefined
const answer: RequestListener = (request, response) => {
  // Some clients can be given a host only: for them the provider's API is at the root as well.
  if (/^\/v\d+\.\d+\//.test(request.url ?? '')) request.url = `/simulator/graph${request.url}`
  if (simulator) simulator.handle(request, response)
  else response.writeHead(503, { 'retry-after': '1' }).end()
}
const limits = { keepAliveTimeout: 75_000, headersTimeout: 10_000, requestTimeout: 60_000 }
const server = tls ? createHttpsServer({ ...limits, ...tls }, answer) : createHttpServer(limits, answer)
await new Promise<void>((listening, failed) => {
  server.once('error', failed)
  server.listen(port, host, 1024, listening)
}).catch((error: Error) => {
  console.error(`the simulator cannot listen on ${host}:${port}: ${error.message}`)
  process.exit(1)
})
const address = server.address()
const boundPort = typeof address === 'object' && address ? address.port : port
const isAnywhere = host === '0.0.0.0' || host === '::'
const shownHost = isAnywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
const url = publicUrl ?? `${tls ? 'https' : 'http'}://${shownHost}:${boundPort}`
const isLocal = isLoopbackHost(host)
simulator = await createSimulator({
  dir,
  name: String(boundPort),
  publicUrl: url,
  hostnames: isAnywhere ? ownAddresses() : [host],
  isPrivate: isLocal,
  log,
})
console.log(`The simulator is at ${url}/simulator (its journal in ${dir})`)
if (isLocal) console.log('It listens on loopback: only programs of this machine reach it (--host widens that)')
else {
  console.error(
    `Warning: it listens on ${host} and has no sign-in. Every machine that reaches this port can read and send all ` +
      'messages here, and can register callback addresses that this machine then calls.',
  )
}

/** An address cannot be rebound as a name can, so each of this machine's own is accepted as `Host`. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
}

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
