/**
 * HTTP/1.1 connections to receivers: sends one request at a time per connection and reads its response.
 *
 * A client of our own: a signed post took 51 to 90 µs of CPU time against 108 to 146 µs in a loop over undici. It needs little:
 * one method, a body in memory, no redirects, no pipelining, no decompression.
 *
 * A connection is in one of three states: busy (it has an exchange), idle (kept for the next request to the same origin) and
 * closed. It becomes idle only after a response that left no doubt about its end. After anything unusual (two lengths, an
 * unknown encoding, surplus bytes, a request that was not read) it is closed, so no response is taken for that of another request.
 */
import type { Socket } from 'node:net'

export type Origin = { hostname: string; host: string; port: string }

/** One request and its response. */
export interface Exchange {
  /** The exchange ended while it waited for a connection: nothing is sent. */
  readonly isOver: boolean
  /** The connection that the request is written to. */
  onSend(connection: Connection): void
  /** The final status; earlier ones (1xx) are skipped. */
  onStatus(status: number): void
  onBody(part: Buffer): void
  /** All bytes received so far are read, and the response is not complete. */
  onPause(): void
  /** Called once. `null`: the response is complete. */
  onEnd(error: Error | null): void
}

export type Connect = (origin: Origin, done: (error: Error | null, socket: Socket | null) => void) => void

export type Connections = {
  send(origin: Origin, request: string, exchange: Exchange): void
  stop(): void
}

const protocol = 'HTTP/1.'
const maxHeadBytes = 32 * 1024
const maxInterimCount = 10
/** A line between the chunks of a body. */
const maxLineLength = 1_024
/**
 * An idle connection is closed after this time, unless the receiver names another in `Keep-Alive`. Common servers close
 * theirs after 5 s or more. Closing first avoids posting on a connection that is just being closed, which costs an attempt.
 */
const idleMs = 4_000
const maxIdleMs = 600_000
/** Closed this long before the receiver closes it. */
const idleMarginMs = 1_000
const sweepEveryMs = 500

/** `addressMs`: how long a connection carries requests after `connect` was called for it, which checks its address. */
export function createConnections(connect: Connect, addressMs: number): Connections {
  const hosts = new Map<string, Host>()
  const open = new Set<Connection>()
  let isStopped = false

  const pool: Pool = {
    keep(connection) {
      const { waiting, idle } = hostOf(connection.host)
      // A connection is being opened for each request that waits.
      if (connection.isExpired(performance.now())) return connection.destroy()
      const next = takeWaiting(waiting)
      if (next) connection.send(next.request, next.exchange)
      else idle.push(connection)
    },
    drop(connection) {
      open.delete(connection)
      const { idle } = hostOf(connection.host)
      const index = idle.indexOf(connection)
      if (index >= 0) idle.splice(index, 1)
    },
  }

  function hostOf(name: string): Host {
    const known = hosts.get(name)
    if (known) return known
    const host: Host = { idle: [], waiting: [], openingCount: 0 }
    hosts.set(name, host)
    return host
  }

  /** The new connection carries the request that has waited for longest. That may not be the one it was opened for. */
  function onConnect(name: string, calledAt: number, error: Error | null, socket: Socket | null): void {
    const host = hostOf(name)
    host.openingCount--
    if (!socket) {
      takeWaiting(host.waiting)?.exchange.onEnd(error)
      return
    }
    if (isStopped) {
      socket.destroy()
      return
    }
    const connection = new Connection(pool, name, socket, calledAt + addressMs)
    open.add(connection)
    pool.keep(connection)
  }

  const sweep = setInterval(() => {
    const now = performance.now()
    for (const connection of open) if (connection.isExpired(now)) connection.destroy()
    for (const [name, { idle, waiting, openingCount }] of hosts) {
      if (idle.length + waiting.length + openingCount === 0) hosts.delete(name)
    }
  }, sweepEveryMs)
  sweep.unref()

  return {
    send(origin, request, exchange) {
      const host = hostOf(origin.host)
      for (let kept = host.idle.pop(); kept; kept = host.idle.pop()) {
        if (!kept.isExpired(performance.now())) return kept.send(request, exchange)
        kept.destroy()
      }
      host.waiting.push({ request, exchange })
      host.openingCount++
      const calledAt = performance.now()
      connect(origin, (error, socket) => onConnect(origin.host, calledAt, error, socket))
    },
    stop() {
      isStopped = true
      clearInterval(sweep)
      for (const connection of open) connection.destroy()
    },
  }
}

type Waiting = { request: string; exchange: Exchange }

type Host = {
  /** The connection used last comes last, and is used first. */
  idle: Connection[]
  /** Requests that wait for a connection: a new one, or one that becomes idle before. */
  waiting: Waiting[]
  /** Connections that are being opened. One that was opened too late for its request serves the next. */
  openingCount: number
}

/** Skips requests whose exchange has ended. */
function takeWaiting(waiting: Waiting[]): Waiting | undefined {
  let next = waiting.shift()
  while (next?.exchange.isOver) next = waiting.shift()
  return next
}

type Pool = { keep(connection: Connection): void; drop(connection: Connection): void }

/** What is expected next. `size`, `data-end` and `trailer` are lines of a body in chunks; `close`: a body until the connection ends. */
type Expected = 'head' | 'length' | 'size' | 'data-end' | 'trailer' | 'close'

export class Connection {
  readonly host: string
  private readonly pool: Pool
  private readonly socket: Socket
  private readonly usableUntil: number
  private exchange: Exchange | undefined
  private expected: Expected = 'head'
  /** Responses before the final one. */
  private interimCount = 0
  /** The beginning of a head. */
  private head: Buffer | undefined
  /** Bytes left of the body or of its chunk. */
  private left = 0
  /** The beginning of a line between chunks. */
  private line = ''
  private isReusable = true
  private isWritten = false
  private idleUntil = performance.now() + idleMs
  private keepMs = idleMs

  constructor(pool: Pool, host: string, socket: Socket, usableUntil: number) {
    this.pool = pool
    this.host = host
    this.socket = socket
    this.usableUntil = usableUntil
    socket.on('data', (chunk: Buffer) => this.read(chunk))
    socket.on('end', () => this.close(null))
    socket.on('error', (error) => this.close(error))
    socket.on('close', () => this.close(null))
  }

  /** It has no exchange, and the receiver may close it or its address was checked too long ago. */
  isExpired(now: number): boolean {
    return !this.exchange && (this.idleUntil <= now || this.usableUntil <= now)
  }

  send(request: string, exchange: Exchange): void {
    this.exchange = exchange
    this.expected = 'head'
    this.interimCount = 0
    this.left = 0
    this.isReusable = true
    this.keepMs = idleMs
    exchange.onSend(this)
    this.isWritten = false
    this.socket.write(request, 'utf8', this.onWritten)
  }

  /** Closes the connection without a word to its exchange. */
  destroy(): void {
    this.exchange = undefined
    this.pool.drop(this)
    this.socket.destroy()
  }

  private close(error: Error | null): void {
    const exchange = this.exchange
    const isComplete = !error && exchange && this.expected === 'close'
    this.destroy()
    exchange?.onEnd(isComplete ? null : (error ?? new Error('connection lost before a response')))
  }

  private fail(message: string): void {
    const exchange = this.exchange
    this.destroy()
    exchange?.onEnd(new Error(message))
  }

  private read(chunk: Buffer): void {
    // Bytes that answer no request.
    const { exchange } = this
    if (!exchange) this.destroy()
    else if (this.expected === 'head') this.readHead(this.head ? Buffer.concat([this.head, chunk]) : chunk)
    else this.readBody(chunk)
    if (exchange && this.exchange === exchange) exchange.onPause()
  }

  private readHead(data: Buffer): void {
    this.head = undefined
    const text = data.toString('latin1', 0, Math.min(data.length, maxHeadBytes))
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) {
      if (text.slice(0, protocol.length) !== protocol.slice(0, text.length)) this.fail('the response is not HTTP')
      else if (data.length >= maxHeadBytes) this.fail('the head of the response is too long')
      else this.head = data
      return
    }
    const [, version, code] = /^HTTP\/1\.([01]) (\d{3})[ \r]/.exec(text) ?? []
    const status = Number(code)
    const rest = data.subarray(end + 4)
    if (!code || status < 100 || status === 101) this.fail('the response is not HTTP')
    else if (status >= 200) this.readFinal(status, version === '1', text.slice(0, end), rest)
    else if (++this.interimCount > maxInterimCount) this.fail('the response does not begin')
    else if (rest.length > 0) this.readHead(rest)
  }

  private readFinal(status: number, isKeepAlive: boolean, head: string, rest: Buffer): void {
    if (!isKeepAlive) this.isReusable = false
    this.expected = this.readFraming(head)
    if (status === 204 || status === 304) {
      this.expected = 'length'
      this.left = 0
    } else if (this.expected === 'close') this.isReusable = false
    this.exchange?.onStatus(status)
    this.readBody(rest)
  }

  /** Finds the end of the body in the headers. */
  private readFraming(head: string): Expected {
    let length: string | undefined
    let encoding: string | undefined
    let from = head.indexOf('\r\n')
    while (from >= 0) {
      const next = head.indexOf('\r\n', from + 2)
      const line = next < 0 ? head.slice(from + 2) : head.slice(from + 2, next)
      const colon = line.indexOf(':')
      const value = () => line.slice(colon + 1).trim()
      switch (line.slice(0, colon).toLowerCase()) {
        case 'content-length':
          // A second length, also an equal one, is left to the end of the connection.
          length = length === undefined ? value() : 'two'
          break
        case 'transfer-encoding':
          encoding = encoding === undefined ? value().toLowerCase() : 'two'
          break
        case 'connection':
          if (value().toLowerCase() !== 'keep-alive') this.isReusable = false
          break
        case 'keep-alive': {
          const [, seconds] = /timeout=(\d{1,6})/i.exec(value()) ?? []
          if (seconds) this.keepMs = Math.min(maxIdleMs, Number(seconds) * 1000 - idleMarginMs)
          break
        }
      }
      from = next
    }
    if (encoding === 'chunked') {
      if (length !== undefined) this.isReusable = false
      return 'size'
    }
    if (encoding === undefined && length !== undefined && /^\d{1,15}$/.test(length)) {
      this.left = Number(length)
      return 'length'
    }
    return 'close'
  }

  private readBody(data: Buffer): void {
    if (this.expected === 'close') this.emit(data)
    else if (this.expected === 'length') {
      const part = data.length > this.left ? data.subarray(0, this.left) : data
      this.left -= part.length
      this.emit(part)
      if (this.left === 0) this.complete(part.length === data.length)
    } else this.readChunks(data)
  }

  private readChunks(data: Buffer): void {
    let at = 0
    while (at < data.length && this.exchange) {
      if (this.left > 0) {
        const part = data.subarray(at, at + this.left)
        at += part.length
        this.left -= part.length
        this.emit(part)
        continue
      }
      const newline = data.indexOf(10, at)
      const end = newline < 0 ? data.length : newline
      this.line += data.toString('latin1', at, Math.min(end, at + maxLineLength))
      if (this.line.length >= maxLineLength) this.fail('the response has an invalid chunk')
      at = end + 1
      if (newline >= 0 && this.readLine()) this.complete(at === data.length)
    }
  }

  /** Reads a line between chunks. Returns whether it ends the body. */
  private readLine(): boolean {
    const { line } = this
    this.line = ''
    if (this.expected === 'trailer') return line === '\r'
    if (this.expected === 'data-end') {
      this.expected = 'size'
      if (line !== '\r') this.fail('the response has an invalid chunk')
      return false
    }
    const [, size] = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?\r$/i.exec(line) ?? []
    if (!size) this.fail('the response has an invalid chunk')
    else {
      this.left = Number.parseInt(size, 16)
      this.expected = this.left > 0 ? 'data-end' : 'trailer'
    }
    return false
  }

  private emit(part: Buffer): void {
    if (part.length > 0) this.exchange?.onBody(part)
  }

  /** The response is complete. The connection is kept if nothing followed, once the whole request is written. */
  private complete(isAll: boolean): void {
    const { exchange } = this
    if (!exchange) return
    this.exchange = undefined
    this.idleUntil = performance.now() + this.keepMs
    if (!isAll || !this.isReusable || this.keepMs <= 0) this.destroy()
    else if (this.isWritten) this.pool.keep(this)
    exchange.onEnd(null)
  }

  /** Node reports a write after the response has been read if both happen in one turn of its loop. */
  private readonly onWritten = (error?: Error | null): void => {
    if (error || this.socket.destroyed) return
    this.isWritten = true
    if (!this.exchange) this.pool.keep(this)
  }
}
