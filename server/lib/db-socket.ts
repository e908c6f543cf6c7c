/**
 * The sockets of the database driver, with the session's settings applied.
 *
 * The driver sends settings as startup parameters, and PgBouncer refuses every
 * startup parameter it does not track. So this module sends them as one `SET`
 * query between the end of the handshake and the driver's first statement. The
 * driver has no hook for that moment and negotiates TLS itself on a socket of
 * its own, so this module opens the socket and negotiates TLS.
 */
import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'

/** What `sslmode` and `sslnegotiation` of a database URL mean. */
export type Encryption = {
  mode: 'off' | 'prefer' | 'require' | 'verify'
  /** Start TLS at once instead of asking the server first (PostgreSQL 17). */
  isDirect: boolean
}

/** The part of the driver's parsed options that says where the server is. */
type Target = { host: string[]; port: number[]; path: string | false }

const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])
const connectTimeoutMs = 10_000

export type SocketOpener = {
  /** The driver's `socket` option. Every call opens a socket to the next of the hosts. */
  open(target: Target): Promise<Duplex>
  /** Destroys what is open and opens no more. The driver forgets a socket that is still connecting when its pool ends. */
  close(): void
}

export function createSocketOpener(settings: Record<string, string | number>, encryption: Encryption): SocketOpener {
  const query = queryMessage(
    Object.entries(settings)
      .map(([name, value]) => `set ${name} = '${value}'`)
      .join('; '),
  )
  const sockets = new Set<Socket>()
  let attempt = 0
  let isClosed = false

  async function open({ host, port, path }: Target): Promise<Duplex> {
    const i = attempt++ % host.length
    try {
      if (isClosed) throw new Error('the connection pool has ended')
      const socket = path ? connectTcp(path) : connectTcp(port[i] ?? 5432, host[i])
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      // The driver names them in its errors.
      Object.assign(socket, { host: host[i], port: port[i] })
      await connected(socket)
      return applySettings(path ? socket : await encrypt(socket, host[i] ?? '', encryption), query)
    } catch (error) {
      // The driver returns a connection to its pool when the socket reports an error, but not when this call throws.
      return failingSocket(error as Error)
    }
  }

  return {
    open,
    close() {
      isClosed = true
      for (const socket of sockets) socket.destroy()
    },
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

async function timed<Result>(socket: Socket, event: Promise<Result>): Promise<Result> {
  const timer = setTimeout(() => {
    socket.destroy(new Error(`the database server does not answer within ${connectTimeoutMs / 1000} s`))
  }, connectTimeoutMs)
  try {
    return await event
  } finally {
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

const readyForQuery = 'Z'.charCodeAt(0)
const commandComplete = 'C'.charCodeAt(0)
const errorResponse = 'E'.charCodeAt(0)

/**
 * Holds back the server's first ReadyForQuery, sends `query`, and hides its CommandComplete messages. The second
 * ReadyForQuery reaches the driver in place of the first. From then on the socket is untouched.
 */
function applySettings(socket: Socket, query: Buffer): Socket {
  const emit = socket.emit.bind(socket)
  let pending: Buffer = Buffer.alloc(0)
  let isSetting = false

  function onData(bytes: Buffer): void {
    pending = Buffer.concat([pending, bytes])
    while (pending.length >= 5) {
      const length = pending.readInt32BE(1) + 1
      if (pending.length < length) return
      const message = pending.subarray(0, length)
      const type = message[0]
      if (type === readyForQuery && isSetting) {
        // Removes the override: later events take the ordinary path.
        Reflect.deleteProperty(socket, 'emit')
        emit('data', pending)
        return
      }
      pending = pending.subarray(length)
      if (type === readyForQuery) {
        isSetting = true
        socket.write(query)
      } else if (!isSetting || type !== commandComplete) {
        emit('data', message)
        if (isSetting && type === errorResponse) {
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
