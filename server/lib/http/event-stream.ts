/**
 * Server-sent events: responses that stay open.
 *
 * Back-pressure: `send` resolves when the kernel has taken the event, and senders await it, so a client that does not read makes
 * the service hold one event. Filling the socket buffer first, 64 KB per client, took 50 slow readers from 200 to 370 MB. A
 * client that reads nothing for `drainTimeoutMs` is disconnected, and earlier if many are stalled at once. It reconnects and
 * resumes with `Last-Event-ID`.
 *
 * The registry holds every open stream of its routes: it limits their number and ends them when the server stops.
 */
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { ApiError } from '../errors.ts'
import type { App } from './server.ts'

export type EventStream = {
  /** Sends one event with `data` as JSON. Resolves when the client can take the next one, or when the stream has ended. */
  send(event: string, data: unknown, id?: string): Promise<void>
  /** Sends one event whose data is this line of text. */
  sendText(event: string, line: string, id?: string): Promise<void>
  /** Ends the stream once everything is sent. A browser reconnects after `retryMs`, with the last id it received. */
  end(retryMs: number): void
  isOpen(): boolean
  /** Runs when the stream ends, for any reason; at once if it has ended. */
  onClose(run: () => void): void
}

/** At most `most` responses that share `key` may be open in this process. */
type OpenLimit = { key: string; most: number }

export type StreamRegistry = {
  /**
   * Counts a response against its limits until it ends; 429 if a limit is reached. Call it before the first `await`, so that
   * simultaneous requests are counted.
   */
  enter(reply: FastifyReply, limits: readonly OpenLimit[]): void
  open(reply: FastifyReply, options: StreamOptions): EventStream
}

type StreamOptions = {
  headers?: Record<string, string>
  heartbeatMs: number
  /** How long a browser waits before it reconnects. */
  retryMs: number
  /** Called at each heartbeat; false ends the stream. */
  isAuthorized?: () => Promise<boolean>
}

type RunnerOptions = {
  run: () => Promise<void>
  isOpen: () => boolean
  onError: (error: unknown) => void
  /** The next run starts at the earliest this long after the last one ended. */
  pauseMs?: number
}

/** Runs once at a time. Any number of calls during a run cause exactly one more. */
export function createCoalescedRunner({ run, isOpen, onError, pauseMs }: RunnerOptions): () => Promise<void> {
  let isRunning = false
  let isRequested = false
  return async () => {
    isRequested = true
    if (isRunning) return
    isRunning = true
    while (isRequested && isOpen()) {
      isRequested = false
      await run().catch(onError)
      if (pauseMs) await delay(pauseMs, undefined, { ref: false })
    }
    isRunning = false
  }
}

/** Limits the number of open responses. `what` names them in the refusal. */
export function createOpenLimits(mostInProcess: number, what: string): Pick<StreamRegistry, 'enter'> {
  const counts = new Map<string, number>()
  const add = (key: string, difference: number) => {
    const count = (counts.get(key) ?? 0) + difference
    if (count > 0) counts.set(key, count)
    else counts.delete(key)
  }
  return {
    enter({ raw }, limits) {
      const all = [{ key: '', most: mostInProcess }, ...limits]
      if (all.some(({ key, most }) => (counts.get(key) ?? 0) >= most)) {
        throw new ApiError('rate_limited', `too many ${what} are open`, { 'retry-after': '30' })
      }
      for (const { key } of all) add(key, 1)
      raw.once('close', () => {
        for (const { key } of all) add(key, -1)
      })
    },
  }
}

const defaultMostOpen = 2_000
const stallMs = 1_000
/** Each stalled client costs up to 200 KB: its connection and what the sender holds for it. */
const mostStalled = 250

export type RegistryOptions = { drainTimeoutMs: number; mostOpen?: number }

export function createStreamRegistry(
  app: App,
  { drainTimeoutMs, mostOpen = defaultMostOpen }: RegistryOptions,
): StreamRegistry {
  const open = new Set<ServerResponse>()
  /** Clients that have read nothing for `stallMs`, the longest first. */
  const stalled = new Set<ServerResponse>()
  const limits = createOpenLimits(mostOpen, 'streams')
  app.addHook('preClose', async () => {
    for (const response of open) response.end()
  })

  /** Resolves when the kernel has taken the text, or when the stream has ended. */
  function flush(response: ServerResponse, text: string): Promise<void> {
    return new Promise((resolve) => {
      if (response.destroyed || response.writableEnded) return resolve()
      const stall = () => {
        stalled.add(response)
        const [longest] = stalled
        if (stalled.size > mostStalled) longest?.destroy()
        timer = setTimeout(() => response.destroy(), drainTimeoutMs)
      }
      let timer = setTimeout(stall, stallMs)
      const done = () => {
        clearTimeout(timer)
        stalled.delete(response)
        response.off('close', done)
        resolve()
      }
      response.on('close', done)
      response.write(text, done)
    })
  }

  return {
    enter: limits.enter,
    open(reply, { headers = {}, heartbeatMs, retryMs, isAuthorized }) {
      reply.hijack()
      const response = reply.raw
      // Set, not only written: the request log reads it when the response ends.
      response.setHeader('content-type', 'text/event-stream; charset=utf-8')
      response.writeHead(200, {
        ...headers,
        'cache-control': 'no-store',
        // Keeps proxies from buffering the response.
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
        'x-request-id': String(reply.request.id),
      })
      open.add(response)
      const isOpen = () => !response.destroyed && !response.writableEnded
      let last: Promise<void> = Promise.resolve()
      const write = (text: string) => {
        last = last.then(() => flush(response, text))
        return last
      }
      // HEAD gets the headers only. Everything that follows finds the stream closed.
      if (reply.request.method === 'HEAD') response.end()
      void write(`retry: ${retryMs}\n\n`)
      let isChecking = false
      const beat = async () => {
        if (isChecking) return
        isChecking = true
        // A check that throws does not end the stream: the next heartbeat repeats it.
        const mayContinue = isAuthorized ? await isAuthorized().catch(() => true) : true
        isChecking = false
        if (!mayContinue) response.end()
        else if (!stalled.has(response)) void write(': still here\n\n')
      }
      const heartbeat = setInterval(() => void beat(), heartbeatMs)
      const closing: (() => void)[] = []
      response.on('close', () => {
        for (const run of closing) run()
      })
      const onClose = (run: () => void) => {
        if (response.destroyed) run()
        else closing.push(run)
      }
      onClose(() => {
        clearInterval(heartbeat)
        open.delete(response)
      })
      const sendText: EventStream['sendText'] = (event, line, id) =>
        write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${line}\n\n`)
      return {
        send: (event, data, id) => sendText(event, JSON.stringify(data), id),
        sendText,
        end: (retryMs) => void write(`retry: ${retryMs}\n\n`).then(() => response.end()),
        isOpen,
        onClose,
      }
    },
  }
}
