/**
 * One attempt of a call: how it came out, and how long it may take.
 *
 * What goes wrong out there is a value, so that whoever tries again need not
 * catch what is no business of theirs.
 */
import { clientErrors, ParleyError } from './errors.ts'

export type Failed = {
  ok: false
  error: ParleyError
  /** The next answer would be the same. */
  isFinal: boolean
}
export type Outcome<Value> = { ok: true; value: Value } | Failed

export const failed = (error: ParleyError, isFinal = false): Failed => ({ ok: false, error, isFinal })

/** The patience of an attempt: its `signal` fires when the caller's does, or when what was allowed is over. */
export type Patience = {
  signal: AbortSignal
  /** So long from now on; `words` are what is said when it was too long. */
  allow(ms: number, words: string): void
  /** As long as it takes. */
  pause(): void
  /** What kept it from going well; `words` where it was neither the caller nor the time. */
  failureOf(cause: unknown, words?: string): Failed
  /** It is over: what is still under way is dropped, and the caller's signal let go. */
  end(): void
}

/** A timer told to wait longer fires at once. */
const longestTimerMs = 2 ** 31 - 1

export function createPatience(outer: AbortSignal | undefined): Patience {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let late: string | undefined
  const abort = () => controller.abort(outer?.reason)
  outer?.addEventListener('abort', abort)
  if (outer?.aborted) abort()
  return {
    signal: controller.signal,
    allow(ms, words) {
      clearTimeout(timer)
      const giveUp = () => {
        late = words
        controller.abort()
      }
      timer = setTimeout(giveUp, Math.min(ms, longestTimerMs))
    },
    pause: () => clearTimeout(timer),
    failureOf(cause, words = `${clientErrors.network_error}: ${wordsOf(cause)}`) {
      if (outer?.aborted) return failed(abortedBy(outer), true)
      if (late !== undefined) return failed(new ParleyError('timeout', late, { cause }))
      return failed(new ParleyError('network_error', words, { cause }))
    },
    end() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', abort)
      controller.abort()
    },
  }
}

/** What the platform said; Node says what matters in the cause of what it throws. */
function wordsOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const inner = cause.cause instanceof Error ? cause.cause : undefined
  return [cause.message, inner?.message].filter(Boolean).join(': ')
}

const firstWaitMs = 500
const longestWaitMs = 8_000

/** Before the next attempt; `attempt` is the number of those that failed before this one. */
export function waitMs({ retryAfter }: ParleyError, attempt: number): number {
  const backoff = Math.min(firstWaitMs * 2 ** attempt, longestWaitMs) * (1 - Math.random() / 2)
  return retryAfter === undefined ? backoff : retryAfter * 1_000 + Math.random() * firstWaitMs
}

/** Until the signal at most: whoever goes on asks it. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })
}

const abortedBy = (signal: AbortSignal): ParleyError =>
  new ParleyError('aborted', 'the call was aborted', { cause: signal.reason })
