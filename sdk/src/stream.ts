/**
 * The events of a workspace as they happen, for whoever has no address that a
 * webhook could reach.
 *
 * `for await` has one after the other, each once, and asks for the next when
 * you are done with the one before. When the line breaks we come back as often
 * as it takes and say where we were; the service sends the last minutes before
 * that again, since some of it may have been committed late, and what you had
 * is left out. Whoever was away for so long that events were no longer kept is
 * told how long it was. It ends when you leave the loop or your signal says
 * so. A refusal is thrown, and so is a first attempt that fails, after as many
 * repetitions as any other call has.
 */
import { createPatience, type Failed, failed, type Outcome, type Patience, wait, waitMs } from './attempt.ts'
import { clientErrors, ParleyError } from './errors.ts'
import { isEvent, type WebhookEvent } from './events.ts'
import { createFrameReader } from './frames.ts'
import {
  type CallOptions,
  headersOf,
  isObject,
  noAnswerWithin,
  parse,
  read,
  type Settings,
  toSearch,
} from './request.ts'

export type StreamQuery = {
  /** Only these; all of them when absent. A service newer than this package may have further ones. */
  events?: readonly (WebhookEvent['event'] | (string & Record<never, never>))[] | undefined
}

export type StreamOptions = CallOptions & {
  /**
   * Go on behind this one, of an earlier run of your program; from now on when absent. The two minutes before it
   * come again: act once for each `id`.
   */
  lastEventId?: string | undefined
  /** The line is there for the first time: what happens from now on comes. */
  onReady?: ((ready: { listener_id: string }) => void) | undefined
  /** The line broke. You need do nothing. */
  onBreak?: ((error: ParleyError) => void) | undefined
  /** It is there again, so long after the service was last heard. Up to a minute nothing is lost. */
  onReturn?: ((awayMs: number) => void) | undefined
}

export type StreamedEvent = {
  event: WebhookEvent
  /** The event as it came, to the byte: what a webhook would have as its body. */
  body: string
  /** Keep it to go on behind this event after a restart of your program. */
  lastEventId: string
}

/** The service says that it is there every 15 seconds. */
const silenceMs = 45_000
/** Longer than the two minutes that the service sends again after a reconnect. */
const rememberedMs = 180_000

/** One that lasted so long was no accident: the next wait is a short one again. */
const lastingMs = 10_000

/** What is known from one line to the next. */
type Following = {
  lastEventId: string | undefined
  seen: Set<string>
  wasReady: boolean
  /** When a line that was there last said something. */
  heardAt: number
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

  /** Each event with the text it came in, and what to keep to go on behind it. */
  async *frames(): AsyncGenerator<StreamedEvent, void, undefined> {
    const { signal, lastEventId, maxRetries = this.#settings.maxRetries, onBreak } = this.#options
    const following: Following = { lastEventId, seen: new Set(), wasReady: false, heardAt: 0 }
    for (let attempt = 0; !signal?.aborted; attempt++) {
      const startedAt = Date.now()
      const { error, isFinal } = yield* this.#followOnce(following)
      if (signal?.aborted) return
      if (isFinal || !(following.wasReady || attempt < maxRetries)) throw error
      if (following.wasReady) onBreak?.(error)
      if (following.heardAt - startedAt > lastingMs) attempt = 0
      await wait(waitMs(error, attempt), signal)
    }
  }

  /** One line, until it is no more; answers why. */
  async *#followOnce(following: Following): AsyncGenerator<StreamedEvent, Failed, undefined> {
    const { signal, onReady, onReturn } = this.#options
    const patience = createPatience(signal)
    try {
      const line = await this.#open(following.lastEventId, patience)
      if (!line.ok) return line
      const readFrames = createFrameReader()
      let isThere = false
      for (;;) {
        const part = await readPart(line.value, patience)
        if (!part.ok) return part
        if (isThere) following.heardAt = Date.now()
        for (const { name, id, data } of readFrames(part.value)) {
          const said = parse(data)
          following.lastEventId = id || following.lastEventId
          if (name === 'ready' && isReady(said)) {
            const now = Date.now()
            if (following.wasReady) onReturn?.(now - following.heardAt)
            else onReady?.(said)
            Object.assign(following, { wasReady: true, heardAt: now })
            isThere = true
          } else if (!isEvent(said)) {
            return failed(new ParleyError('unexpected_response', clientErrors.unexpected_response), true)
          } else if (isNew(following.seen, said.id, id)) {
            yield { event: said, body: data, lastEventId: id }
            if (signal?.aborted) return patience.failureOf(undefined)
          }
        }
      }
    } finally {
      patience.end()
    }
  }

  async #open(lastEventId: string | undefined, patience: Patience): Promise<Outcome<Reader>> {
    const { fetch, baseUrl, timeoutMs: usualMs } = this.#settings
    const { timeoutMs = usualMs } = this.#options
    const url = `${baseUrl}/events/stream${toSearch({ events: this.#query.events?.join(',') })}`
    const headers = new Headers({
      ...headersOf(this.#settings, 'text/event-stream'),
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    })
    patience.allow(timeoutMs, noAnswerWithin(timeoutMs))
    try {
      const response = await fetch(url, { headers, redirect: 'manual', signal: patience.signal })
      const isStream = response.ok && response.headers.get('content-type')?.startsWith('text/event-stream')
      if (isStream && response.body) {
        const reader = response.body.getReader()
        // Not every platform ends a body whose request was aborted.
        patience.signal.addEventListener('abort', () => void reader.cancel().catch(() => {}))
        return { ok: true, value: reader }
      }
      const answer = read(response, await response.text())
      return answer.ok ? failed(new ParleyError('unexpected_response', clientErrors.unexpected_response), true) : answer
    } catch (cause) {
      return patience.failureOf(cause)
    } finally {
      patience.pause()
    }
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** The next part of a line. The time somebody takes over the one before does not count. */
async function readPart(reader: Reader, patience: Patience): Promise<Outcome<Uint8Array>> {
  patience.allow(silenceMs, `nothing came for ${silenceMs} ms`)
  try {
    const part = await reader.read()
    return part.done ? patience.failureOf(undefined, 'the service ended the line') : { ok: true, value: part.value }
  } catch (cause) {
    return patience.failureOf(cause)
  } finally {
    patience.pause()
  }
}

const isReady = (said: unknown): said is { listener_id: string } =>
  isObject(said) && typeof said.listener_id === 'string'

/** Whether it was not had before; what the service will not send again is forgotten. */
function isNew(seen: Set<string>, id: string, lastEventId: string): boolean {
  if (seen.has(id)) return false
  seen.add(id)
  for (const oldest of seen) {
    if (madeAt(oldest) >= madeAt(lastEventId) - rememberedMs) break
    seen.delete(oldest)
  }
  return true
}

/** Ids begin with the milliseconds at which they were made. */
const madeAt = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
