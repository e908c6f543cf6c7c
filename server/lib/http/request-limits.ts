/** Limits on how long a request may take and on how many requests a connection may have open. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyReply, FastifyRequest, onRequestHookHandler, onResponseHookHandler } from 'fastify'

/**
 * Fails a request without a response within `timeoutMs`, and cuts off a response that is not sent by then. The handler runs
 * on, and its response is dropped. Fastify's own handler timeout does not work here: it stops when the request stream closes,
 * which Node does as soon as the body is read.
 *
 * A response that the client has not read after `timeoutMs` more is cut off too: it would stay in memory. Event streams
 * (`event-stream.ts`) have a limit of their own.
 */
export function limitResponseTime(request: FastifyRequest, reply: FastifyReply, timeoutMs: number): void {
  clearTimeout(request.responseTimer)
  request.responseTimer = setTimeout(() => {
    if (reply.raw.writableEnded) request.responseTimer = setTimeout(() => reply.raw.destroy(), timeoutMs)
    if (reply.sent) return
    const error = new Error(`no response within ${timeoutMs} ms`)
    if (reply.raw.headersSent) reply.raw.destroy(error)
    else reply.send(error)
  }, timeoutMs)
}

/** A hook for routes with a timeout of their own. */
export function withResponseTimeout(timeoutMs: number): onRequestHookHandler {
  return (request, reply, done) => {
    limitResponseTime(request, reply, timeoutMs)
    done()
  }
}

/** Connections on which an authorized caller uploads a file. `requestTimeoutMs` does not apply to them. */
const uploadSockets = new WeakSet<Duplex>()

const isUploading = (socket: Duplex): boolean => uploadSockets.has(socket)

export const startUpload: onRequestHookHandler = ({ socket }, _reply, done) => {
  uploadSockets.add(socket)
  done()
}

export const endUpload: onResponseHookHandler = ({ socket }, _reply, done) => {
  uploadSockets.delete(socket)
  done()
}

/** The newest request of each connection. */
const newestRequests = new WeakMap<Duplex, IncomingMessage>()
const graceMs = 1_000

/**
 * Refuses a request that is not complete in time. Node's measurement includes the time in which this process was frozen or busy, so
 * what the client has sent meanwhile is read first.
 */
export function refuseUnlessComplete(socket: Duplex, refuse: () => void): void {
  const before = newestRequests.get(socket)
  const wasComplete = before?.complete
  setTimeout(() => {
    const newest = newestRequests.get(socket)
    const isComplete = newest?.complete && !(newest === before && wasComplete)
    if (!isComplete && !isUploading(socket) && socket.writable) refuse()
  }, graceMs)
}

const maxPipelined = 100

/** Requests in flight, by connection. */
const openRequests = new WeakMap<Socket, number>()

/** A client may send requests before it has the earlier responses, but not so many that it delays other clients. */
export function limitPipelining(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const open = (openRequests.get(socket) ?? 0) + 1
    openRequests.set(socket, open)
    newestRequests.set(socket, request)
    if (open > maxPipelined) socket.destroy()
    if (!socket.destroyed) handle(request, response)
  }
}

export function endRequest(socket: Socket): void {
  openRequests.set(socket, (openRequests.get(socket) ?? 1) - 1)
}
