/**
 * The event stream: events in real time, for programs that cannot receive webhooks.
 *
 * - `for await` delivers each event once. It reads the next event after the loop body finishes (back-pressure).
 * - After a lost connection the stream reconnects without limit and sends `Last-Event-ID`. The service replays the last two
 *   minutes before it, because transactions can commit out of order. The stream drops events that it has already delivered.
 * - `onReturn` reports how long the connection was lost. Events of a long outage may be lost.
 * - The stream ends when the caller leaves the loop or aborts the signal. It throws if the service rejects the request, or if
 *   the first connection fails after `maxRetries` retries.
 */
import {
  type AttemptTimeout,
  createAttemptTimeout,
  type FailedAttempt,
  failed,
  type Outcome,
  retryDelayMs,
  wait,
} from './attempt.ts'
import { clientErrors, ParleyError } from './errors.ts'
import { isEvent, type WebhookEvent } from './events.ts'
import { createFrameReader } from './frames.ts'
import {
  type CallOptions,
  headersOf,
  isObject,
  parseJson,
  parseResponse,
  type Settings,
  timeoutMessage,
  toSearch,
} from './request.ts'

export type StreamQuery = {
  /** The event names to receive. Default: all. Newer versions of the service may add names. */
  events?: readonly (WebhookEvent['event'] | (string & Record<never, never>))[] | undefined
}

export type StreamOptions = CallOptions & {
  /**
   * Resumes after this event of an earlier run of your program. By default the stream starts with new events. The two minutes
   * before the event are replayed: process each `id` once.
   */
  lastEventId?: string | undefined
  /** The first connection is open. The stream delivers all events from now on. */
  onReady?: ((ready: { listener_id: string }) => void) | undefined
  /** The connection is lost. The stream reconnects by itself. */
  onBreak?: ((error: ParleyError) => void) | undefined
  /** The stream has reconnected, `awayMs` after the last data. Up to one minute, no event is lost. */
  onReturn?: ((awayMs: number) => void) | undefined
}

export type StreamedEvent = {
  event: WebhookEvent
  /** The event's exact bytes: the body that a webhook would have. */
  body: string
  /** Store it to resume after this event when your program restarts. */
  lastEventId: string
}

/** The service sends a heartbeat every 15 seconds. */
const idleTimeoutMs = 45_000
/** Delivered ids are remembered for longer than the two minutes that the service replays. */
const seenTtlMs = 180_000

/** A connection that lasted this long resets the backoff. */
const stableMs = 10_000

/** The state that survives a reconnect. */
type StreamState = {
  lastEventId: string | undefined
  seen: Set<string>
  wasReady: boolean
  /** When the last data arrived after the `ready` frame. */
  lastDataAt: number
}

export class EventStream implements AsyncIterable<WebhookEvent> {
  readonly #settings: Settings
  readonly #query: StreamQuery
  readonly #options: StreamOptions

  constructor(settings: Settings, query: StreamQuery, options: StreamOptions) {
    this.#settings = settings
    this.#query = query
    this.#options = options
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WebhookEvent, void, undefined> {
    for await (const { event } of this.frames()) yield event
  }

  /** Iterates over events together with their raw body and the id to resume from. */
  async *frames(): AsyncGenerator<StreamedEvent, void, undefined> {
    const { signal, lastEventId, maxRetries = this.#settings.maxRetries, onBreak } = this.#options
    const state: StreamState = { lastEventId, seen: new Set(), wasReady: false, lastDataAt: 0 }
    for (let attempt = 0; !signal?.aborted; attempt++) {
      const startedAt = Date.now()
      const { error, isFinal } = yield* this.#connectOnce(state)
      if (signal?.aborted) return
      if (isFinal || !(state.wasReady || attempt < maxRetries)) throw error
      if (state.wasReady) onBreak?.(error)
      if (state.lastDataAt - startedAt > stableMs) attempt = 0
      await wait(retryDelayMs(error, attempt), signal)
    }
  }

  /** Reads one connection until it ends, and returns the reason. */
  async *#connectOnce(state: StreamState): AsyncGenerator<StreamedEvent, FailedAttempt, undefined> {
    const { signal, onReady, onReturn } = this.#options
    const timeout = createAttemptTimeout(signal)
    try {
      const connection = await this.#open(state.lastEventId, timeout)
      if (!connection.ok) return connection
      const readFrames = createFrameReader()
      let isReadyReceived = false
      for (;;) {
        const chunk = await readChunk(connection.value, timeout)
        if (!chunk.ok) return chunk
        if (isReadyReceived) state.lastDataAt = Date.now()
        for (const { name, id, data } of readFrames(chunk.value)) {
          const value = parseJson(data)
          state.lastEventId = id || state.lastEventId
          if (name === 'ready' && isReady(value)) {
            const now = Date.now()
            if (state.wasReady) onReturn?.(now - state.lastDataAt)
            else onReady?.(value)
            Object.assign(state, { wasReady: true, lastDataAt: now })
            isReadyReceived = true
          } else if (!isEvent(value)) {
            return failed(new ParleyError('unexpected_response', clientErrors.unexpected_response), true)
          } else if (markSeen(state.seen, value.id, id)) {
            yield { event: value, body: data, lastEventId: id }
            if (signal?.aborted) return timeout.toFailure(undefined)
          }
        }
      }
    } finally {
      timeout.end()
    }
  }

  async #open(lastEventId: string | undefined, timeout: AttemptTimeout): Promise<Outcome<Reader>> {
    const { fetch, baseUrl } = this.#settings
    const { timeoutMs = this.#settings.timeoutMs } = this.#options
    const url = `${baseUrl}/events/stream${toSearch({ events: this.#query.events?.join(',') })}`
    const headers = new Headers({
      ...headersOf(this.#settings, 'text/event-stream'),
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    })
    timeout.start(timeoutMs, timeoutMessage(timeoutMs))
    try {
      const response = await fetch(url, { headers, redirect: 'manual', signal: timeout.signal })
      const isStream = response.ok && response.headers.get('content-type')?.startsWith('text/event-stream')
      if (isStream && response.body) {
        const reader = response.body.getReader()
        // Some platforms do not end the body of an aborted request.
        timeout.signal.addEventListener('abort', () => void reader.cancel().catch(() => {}))
        return { ok: true, value: reader }
      }
      const result = parseResponse(response, await response.text())
      return result.ok ? failed(new ParleyError('unexpected_response', clientErrors.unexpected_response), true) : result
    } catch (cause) {
      return timeout.toFailure(cause)
    } finally {
      timeout.pause()
    }
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** Reads the next chunk. The idle timeout does not run while the caller processes an event. */
async function readChunk(reader: Reader, timeout: AttemptTimeout): Promise<Outcome<Uint8Array>> {
  timeout.start(idleTimeoutMs, `no data for ${idleTimeoutMs} ms`)
  try {
    const chunk = await reader.read()
    return chunk.done ? timeout.toFailure(undefined, 'the service closed the stream') : { ok: true, value: chunk.value }
  } catch (cause) {
    return timeout.toFailure(cause)
  } finally {
    timeout.pause()
  }
}

const isReady = (value: unknown): value is { listener_id: string } =>
  isObject(value) && typeof value.listener_id === 'string'

/** Adds an id and returns whether it is new. Removes ids that are too old to be replayed. */
function markSeen(seen: Set<string>, id: string, lastEventId: string): boolean {
  if (seen.has(id)) return false
  seen.add(id)
  for (const oldest of seen) {
    if (createdAtMs(oldest) >= createdAtMs(lastEventId) - seenTtlMs) break
    seen.delete(oldest)
  }
  return true
}

/** The creation time in a UUIDv7: its first 48 bits are milliseconds. */
const createdAtMs = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
