/**
 * Load generator: HTTP/1.1 on raw keep-alive sockets, to use as little CPU as possible. Runs in its own process: reads `Load`
 * as JSON from standard input and prints `Measured` as JSON.
 */
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'

export type Load = {
  port: number
  /** Complete requests in wire format, sent in a cycle. */
  requests: string[]
  /** Send each request once. Otherwise repeat the cycle until the time is up. */
  once?: boolean
  /** Expected status; default 200. */
  expected?: number
  connections: number
  seconds: number
  warmUpSeconds: number
}
export type Measured = { perSecond: number; p50: number; p99: number; requests: number; failures: number }

const load: Load = JSON.parse(await text(process.stdin))
const requests = load.requests.map((request) => Buffer.from(request))
const expectedStart = `HTTP/1.1 ${load.expected ?? 200}`
const start = performance.now() + load.warmUpSeconds * 1000
const end = start + load.seconds * 1000
const times: number[] = []
let failures = 0
let next = 0
let last = start

await Promise.all(Array.from({ length: load.connections }, () => sendRequests(connect(load.port, '127.0.0.1'))))
times.sort((a, b) => a - b)
const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
const measured: Measured = {
  perSecond: (times.length * 1000) / (load.once ? last - start : end - start),
  p50: at(0.5),
  p99: at(0.99),
  requests: times.length,
  failures,
}
console.log(JSON.stringify(measured))

/** Sends the next request as soon as a response is complete, until the time is up or no request is left. */
function sendRequests(socket: Socket): Promise<void> {
  socket.setNoDelay(true)
  return new Promise((resolve, reject) => {
    let began = 0
    let missing = 0
    let head = ''
    const send = () => {
      began = performance.now()
      if (began > end || (load.once && next >= requests.length)) {
        socket.destroy()
        resolve()
        return
      }
      head = ''
      missing = -1
      socket.write(requests[next++ % requests.length] ?? '')
    }
    socket.on('connect', send)
    socket.on('error', reject)
    // A response that takes longer than the time that is left does not count, and is not waited for.
    if (!load.once) setTimeout(() => socket.destroy(), end - performance.now()).unref()
    socket.on('close', () => resolve())
    socket.on('data', (bytes: Buffer) => {
      if (missing < 0) {
        head += bytes.toString('latin1')
        const headEnd = head.indexOf('\r\n\r\n')
        if (headEnd < 0) return
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
        missing = length - (head.length - headEnd - 4)
      } else missing -= bytes.length
      if (missing > 0) return
      const now = performance.now()
      if (began >= start && now <= end) {
        times.push(now - began)
        last = now
        if (!head.startsWith(expectedStart)) failures++
      }
      send()
    })
  })
}
