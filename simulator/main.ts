/**
 * The standalone simulator, for load tests and for other programs that use the
 * provider's API.
 *
 *   npm run -s simulator -- --port N [options]
 *
 * It listens on loopback and has no sign-in. With a wider `--host`, every
 * machine on the network can read and send all messages.
 */
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { networkInterfaces } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import pino from 'pino'
import { isLoopbackHost } from '../common/address.ts'
import { onStopRequest } from '../common/stop-request.ts'
import { readTimes } from '../common/times.ts'
import { createSimulator, type Simulator } from './simulator.ts'

const usage = `usage: npm run -s simulator -- --port N [options]

  --host ADDRESS      listen on this address (127.0.0.1)
  --public-url URL    the address that clients use (http://HOST:PORT)
  --data DIR          folder of the journal and files (DATA_DIR/simulator)
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
const handle: RequestListener = (request, response) => {
  // Some clients accept only a host name, so the provider's API is at the root as well.
  if (/^\/v\d+\.\d+\//.test(request.url ?? '')) request.url = `/simulator/graph${request.url}`
  if (simulator) simulator.handle(request, response)
  else response.writeHead(503, { 'retry-after': '1' }).end()
}
const limits = { keepAliveTimeout: 75_000, headersTimeout: 10_000, requestTimeout: 60_000 }
const server = tls ? createHttpsServer({ ...limits, ...tls }, handle) : createHttpServer(limits, handle)
await new Promise<void>((resolve, reject) => {
  server.once('error', reject)
  server.listen(port, host, 1024, resolve)
}).catch((error: Error) => {
  console.error(`the simulator cannot listen on ${host}:${port}: ${error.message}`)
  process.exit(1)
})
const address = server.address()
const boundPort = typeof address === 'object' && address ? address.port : port
const isWildcard = host === '0.0.0.0' || host === '::'
const shownHost = isWildcard ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
const url = publicUrl ?? `${tls ? 'https' : 'http'}://${shownHost}:${boundPort}`
const isLocal = isLoopbackHost(host)
simulator = await createSimulator({
  dir,
  name: String(boundPort),
  publicUrl: url,
  hostnames: isWildcard ? ownAddresses() : [host],
  isPrivate: isLocal,
  log,
  times: readTimes(process.env).simulator,
})
console.log(`The simulator is at ${url}/simulator (journal: ${dir})`)
if (isLocal) console.log('It listens on loopback, so only programs on this machine reach it (--host changes that)')
else {
  console.error(
    `Warning: the simulator listens on ${host} and has no sign-in. Every machine that reaches this port can read and ` +
      'send all messages here, and can register callback addresses that this machine then calls.',
  )
}

/** DNS rebinding needs a host name, so each address of this machine is accepted as `Host`. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
}

onStopRequest(async () => {
  server.close()
  await simulator?.stop()
  server.closeAllConnections()
  process.exit(0)
})
