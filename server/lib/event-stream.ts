/**
 * Server-sent events: answers that stay open.
 *
 * A crowd knows all that are open, so that nobody has more than a few and none
 * keeps the server from stopping. Whoever does not read what is sent loses the
 * line instead of filling our memory; a browser comes back by itself.
 */
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { ApiError } from './errors.ts'
import type { App } from './server.ts'

export type EventStream = {
  /** Send one event; `data` becomes JSON. */
  send(event: string, data: unknown, id?: string): void
  /** Send one event whose data is one line of text already, to the byte. */
  sendText(event: string, line: string, id?: string): void
  /** When what was sent so far has left, or it is over: whoever sends much at a time waits for it. */
  whenSent(): Promise<void>
  isOpen(): boolean
  /** When it is over, in whatever way; at once if it is. */
  onClose(run: () => void): void
}

export type Crowd = {
  /**
   * Take a place for somebody, before anything is waited for, so that those who come together are counted; 429 when they
   * have theirs. It is free again when the answer is over.
   */
  enter(reply: FastifyReply, whose: string): void
  /** Begin to stream. */
  open(reply: FastifyReply, options: Opening): EventStream
}

export type Opening = {
  headers?: Record<string, string>
  heartbeatMs: number
  /** How long a browser waits before it comes back. */
  retryMs?: number
  /** At each heartbeat: false ends it. */
  mayGoOn?: () => Promise<boolean>
}

type Looking = {
  look: () => Promise<void>
  isOpen: () => boolean
  onError: (error: unknown) => void
  /** However much is heard, the next look waits this long. */
  pauseMs?: number
}

/** What to call when there is news: one look at a time, and whatever is heard during one means another. */
export function createLookout({ look, isOpen, onError, pauseMs }: Looking): () => Promise<void> {
  let isLooking = false
  let again = false
  return async () => {
    again = true
    if (isLooking) return
    isLooking = true
    while (again && isOpen()) {
      again = false
      await look().catch(onError)
      if (pauseMs) await delay(pauseMs, undefined, { ref: false })
    }
    isLooking = false
  }
}

/** Unread so much is not read any more. */
const maxUnread = 8 * 1024 * 1024

/** `most` of anybody's in this process. */
export function createCrowd(app: App, most: number): Crowd {
  const places = new Map<ServerResponse, string>()
  app.addHook('preClose', async () => {
    for (const response of places.keys()) if (response.headersSent) response.end()
  })
  return {
    enter({ raw }, whose) {
      const taken = [...places.values()].filter((other) => other === whose).length
      if (taken >= most) throw new ApiError('rate_limited', 'too many streams are open', { 'retry-after': '30' })
      places.set(raw, whose)
      raw.on('close', () => places.delete(raw))
    },
    open(reply, { headers = {}, heartbeatMs, retryMs, mayGoOn }) {
      reply.hijack()
      const response = reply.raw
      // Set, not only written: the log looks at it when the answer is over.
      response.setHeader('content-type', 'text/event-stream; charset=utf-8')
      response.writeHead(200, {
        ...headers,
        'cache-control': 'no-store',
        // A proxy that gathers the answer would gather for ever.
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
        'x-request-id': String(reply.request.id),
      })
      const write = (text: string) => {
        if (response.writableEnded || response.destroyed) return
        if (response.writableLength > maxUnread) response.destroy()
        else response.write(text)
      }
      // HEAD asks for the headers alone. What follows finds the stream closed.
      if (reply.request.method === 'HEAD') response.end()
      write(retryMs === undefined ? ': welcome\n\n' : `retry: ${retryMs}\n\n`)
      let isAsking = false
      /** One at a time, or a slow database would be asked ever more often. */
      const beat = async () => {
        if (isAsking) return
        isAsking = true
        // Not to know is no reason to end it: the next heartbeat asks again.
        const goesOn = mayGoOn ? await mayGoOn().catch(() => true) : true
        isAsking = false
        if (goesOn) write(': still here\n\n')
        else response.end()
      }
      const heartbeat = setInterval(() => void beat(), heartbeatMs)
      const onClose = (run: () => void) => {
        if (response.destroyed) run()
        else response.on('close', run)
      }
      onClose(() => clearInterval(heartbeat))
      const sendText: EventStream['sendText'] = (event, line, id) =>
        write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${line}\n\n`)
      return {
        send: (event, data, id) => sendText(event, JSON.stringify(data), id),
        sendText,
        whenSent: () =>
          new Promise((resolve) => {
            if (!response.writableNeedDrain || response.destroyed) return resolve()
            const done = () => {
              response.off('drain', done).off('close', done)
              resolve()
            }
            response.on('drain', done).on('close', done)
          }),
        isOpen: () => !response.destroyed && !response.writableEnded,
        onClose,
      }
    },
  }
}
