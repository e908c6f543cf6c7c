/**
 * The sockets of the database driver: to the primary of one or more servers, with the session's settings applied.
 *
 * The driver sends settings as startup parameters, and PgBouncer refuses every startup parameter it does not track. So this
 * module sends them as one query between the end of the handshake and the driver's first statement. The driver has no hook
 * for that moment and negotiates TLS itself on a socket of its own, so this module opens the socket and negotiates TLS.
 *
 * The same query asks whether the server is a standby, which accepts no writes. Then the connection fails and the next one
 * goes to the primary. The driver's own `target_session_attrs` takes a standby for the primary, and with several hosts it
 * connects again without a pause.
 *
 * A server whose machine or network is gone closes no connection. When an answer is missing for some seconds, the server is
 * asked on new connections. If it answers on none of them, its connections are closed.
 */
import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { Encryption, Host } from './address.ts'

/** The part of the driver's parsed options that says where the server is. */
type Target = { host: string[]; port: number[]; path: string | false }

const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])
const connectTimeoutMs = 10_000
/** An answer that takes longer may never come. */
const silenceMs = 2_000
const probeTimeoutMs = 2_000
/** At the same time. With 5 % of loss, one of a hundred probes fails, and a wrong verdict closes all connections of the process. */
const probeCount = 3
const watchMs = 1_000

export type SocketOpener = {
  /** The driver's `socket` option. */
  open(target: Target): Promise<Duplex>
  /** Destroys what is open and opens no more. The driver forgets a socket that is still connecting when its pool ends. */
  close(): void
}

type OpenerOptions = {
  settings: Record<string, string | number>
  encryption: Encryption
  /** Finds the primary of several servers. Absent: the driver's target is the only server. */
  findPrimary?: (() => Promise<Host>) | undefined
}

/** `waitingSince`: when the driver wrote something that has no answer yet. */
type Watched = { at: Host; waitingSince: number | undefined }

export function createSocketOpener({ settings, encryption, findPrimary }: OpenerOptions): SocketOpener {
  const set = Object.entries(settings).map(([name, value]) => `set ${name} = '${value}'`)
  const query = queryMessage([...set, 'select pg_is_in_recovery()'].join('; '))
  const sockets = new Set<Socket>()
  let primary: Promise<Host> | undefined
  let isClosed = false

  async function open(target: Target): Promise<Duplex> {
    try {
      const { path } = target
      const at = await locate(target)
      if (isClosed) throw new Error('the connection pool has ended')
      const socket = path ? connectTcp(path) : connectTcp(at.port, at.host)
      sockets.add(socket)
      socket.once('close', () => {
        sockets.delete(socket)
        primary = undefined
      })
      // The driver names them in its errors.
      Object.assign(socket, at)
      await connected(socket)
      if (path) return prepareSession(socket, query, at)
      const encrypted = await encrypt(socket, at.host, encryption)
      watch(encrypted, at)
      return prepareSession(encrypted, query, at)
    } catch (error) {
      primary = undefined
      // The driver returns a connection to its pool when the socket reports an error, but not when this call throws.
      return failingSocket(error as Error)
    }
  }

  async function locate({ host: [host = ''], port: [port = 5432] }: Target): Promise<Host> {
    if (!findPrimary) return { host, port }
    primary ??= findPrimary()
    return primary
  }

  return {
    open,
    close() {
      isClosed = true
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** The connections of all pools: what one finds out about a server holds for the others. */
const watched = new Map<Socket, Watched>()
let watching: NodeJS.Timeout | undefined
const probing = new Set<string>()

function watch(socket: Socket, at: Host): void {
  const state: Watched = { at, waitingSince: undefined }
  watched.set(socket, state)
  socket.once('close', () => watched.delete(socket))
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
  socket.write = (...args: unknown[]) => {
    state.waitingSince ??= performance.now()
    return write(...args)
  }
  socket.on('data', () => {
    state.waitingSince = undefined
  })
  watching ??= setInterval(checkWatched, watchMs).unref()
}

function checkWatched(): void {
  const silentSince = performance.now() - silenceMs
  const silent = new Map<string, Host>()
  for (const { at, waitingSince } of watched.values())
    if (waitingSince !== undefined && waitingSince < silentSince) silent.set(nameOf(at), at)
  for (const at of silent.values()) void closeUnlessAlive(at)
  if (watched.size > 0) return
  clearInterval(watching)
  watching = undefined
}

async function closeUnlessAlive(at: Host): Promise<void> {
  const name = nameOf(at)
  if (probing.has(name)) return
  probing.add(name)
  const answered = await Promise.all(Array.from({ length: probeCount }, () => answers(at)))
  const isAlive = answered.includes(true)
  probing.delete(name)
  if (isAlive) return
  for (const [socket, state] of watched)
    if (nameOf(state.at) === name) socket.destroy(new Error(`the database server at ${name} does not answer`))
}

export const nameOf = ({ host, port }: Host): string => `${host}:${port}`

/** Whether the server answers on a new connection. It answers the question for TLS before anyone signs in. */
async function answers({ host, port }: Host): Promise<boolean> {
  const socket = connectTcp(port, host)
  try {
    await timed(socket, once(socket, 'connect'), probeTimeoutMs)
    socket.write(sslRequest)
    await timed(socket, once(socket, 'data'), probeTimeoutMs)
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

async function encrypt(socket: Socket, host: string, { mode, isDirect }: Encryption): Promise<Socket> {
  if (mode === 'off') return socket
  if (!isDirect) {
    socket.write(sslRequest)
    const [answer] = (await timed(socket, once(socket, 'data'))) as [Buffer]
    if (answer[0] !== 'S'.charCodeAt(0)) {
      if (mode === 'prefer') return socket
      socket.destroy()
      throw new Error(`the database server at ${host} does not support TLS, and sslmode demands it`)
    }
  }
  const secured = connectTls({
    socket,
    ...(isIP(host) ? {} : { servername: host }),
    rejectUnauthorized: mode === 'verify',
    ...(isDirect ? { ALPNProtocols: ['postgresql'] } : {}),
  })
  await timed(secured, once(secured, 'secureConnect'))
  return secured
}

const connected = (socket: Socket) => timed(socket, once(socket, 'connect'))

async function timed<Result>(socket: Socket, event: Promise<Result>, ms = connectTimeoutMs): Promise<Result> {
  let isOver = false
  const giveUp = () => isOver || socket.destroy(new Error(`the database server does not answer within ${ms / 1000} s`))
  // In a process that was busy or frozen, the answer may be there already: it is read before this runs.
  const timer = setTimeout(() => setImmediate(giveUp), ms)
  try {
    return await event
  } finally {
    isOver = true
    clearTimeout(timer)
  }
}

/** A simple query of the wire protocol. */
function queryMessage(text: string): Buffer {
  const body = Buffer.from(`${text}\0`)
  const head = Buffer.alloc(5)
  head.write('Q')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const codeOf = (letter: string): number => letter.charCodeAt(0)
const readyForQuery = codeOf('Z')
const errorResponse = codeOf('E')
const dataRow = codeOf('D')
/** Messages of our query that the driver does not expect: the description of the row, the row and the end of each statement. */
const hidden = new Set(['T', 'D', 'C'].map(codeOf))

/**
 * Holds back the server's first ReadyForQuery, sends `query`, and hides its answers. The second ReadyForQuery reaches the
 * driver in place of the first. From then on the socket is untouched.
 */
function prepareSession(socket: Socket, query: Buffer, at: Host): Socket {
  const emit = socket.emit.bind(socket)
  let pending: Buffer = Buffer.alloc(0)
  let isAsked = false

  function onData(bytes: Buffer): void {
    pending = Buffer.concat([pending, bytes])
    while (pending.length >= 5) {
      const length = pending.readInt32BE(1) + 1
      if (pending.length < length) return
      const message = pending.subarray(0, length)
      const type = message[0] ?? 0
      if (type === readyForQuery && isAsked) {
        // Removes the override: later events take the ordinary path.
        Reflect.deleteProperty(socket, 'emit')
        emit('data', pending)
        return
      }
      pending = pending.subarray(length)
      if (type === readyForQuery) {
        isAsked = true
        socket.write(query)
      } else if (isAsked && hidden.has(type)) {
        // The row has one value, whose last byte is `t` on a standby.
        if (type !== dataRow || message.at(-1) !== codeOf('t')) continue
        socket.destroy(new Error(`the database server at ${nameOf(at)} is a standby, which accepts no writes`))
        return
      } else {
        emit('data', message)
        if (isAsked && type === errorResponse) {
          socket.destroy()
          return
        }
      }
    }
  }

  socket.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event !== 'data') return emit(event, ...args)
    onData(args[0] as Buffer)
    return true
  }
  return socket
}

/** Reports `error` as soon as the driver writes its first bytes. */
function failingSocket(error: Error): Duplex {
  const socket = new Duplex({ emitClose: false, read() {}, write: (_bytes, _encoding, done) => done(error) })
  // `true` marks the close as a failure, so the driver backs off before it connects again.
  socket.once('error', () => setImmediate(() => socket.emit('close', true)))
  return socket
}
