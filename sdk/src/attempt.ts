/**
 * One attempt of a call: its outcome, its timeout, and the delay before the next attempt.
 *
 * A failed attempt is a value, so the retry loop does not catch exceptions that it cannot handle.
 */
import { clientErrors, ParleyError } from './errors.ts'

export type FailedAttempt = {
  ok: false
  error: ParleyError
  /** A retry would return the same error. */
  isFinal: boolean
}
export type Outcome<Value> = { ok: true; value: Value } | FailedAttempt

export const failed = (error: ParleyError, isFinal = false): FailedAttempt => ({ ok: false, error, isFinal })

/** The timeout of an attempt. `signal` aborts when the caller's signal aborts or the timer expires. */
export type AttemptTimeout = {
  signal: AbortSignal
  /** Starts or restarts the timer. `message` is the error message if it expires. */
  start(ms: number, message: string): void
  /** Stops the timer. */
  pause(): void
  /** The failure for a thrown `cause`: `aborted`, `timeout`, or else `network_error` with this message. */
  toFailure(cause: unknown, message?: string): FailedAttempt
  /** Ends the attempt: aborts pending work and detaches from the caller's signal. */
  end(): void
}

/** `setTimeout` fires at once for longer delays. */
const maxTimerMs = 2 ** 31 - 1

export function createAttemptTimeout(callerSignal: AbortSignal | undefined): AttemptTimeout {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let timeoutMessage: string | undefined
  const abort = () => controller.abort(callerSignal?.reason)
  callerSignal?.addEventListener('abort', abort)
  if (callerSignal?.aborted) abort()
  return {
    signal: controller.signal,
    start(ms, message) {
      clearTimeout(timer)
      const expire = () => {
        timeoutMessage = message
        controller.abort()
      }
      timer = setTimeout(expire, Math.min(ms, maxTimerMs))
    },
    pause: () => clearTimeout(timer),
    toFailure(cause, message = `${clientErrors.network_error}: ${describeCause(cause)}`) {
      if (callerSignal?.aborted) return failed(abortedBy(callerSignal), true)
      if (timeoutMessage !== undefined) return failed(new ParleyError('timeout', timeoutMessage, { cause }))
      return failed(new ParleyError('network_error', message, { cause }))
    },
    end() {
      clearTimeout(timer)
      callerSignal?.removeEventListener('abort', abort)
      controller.abort()
    },
  }
}

/** Node's `fetch` throws a generic error and puts the reason into its `cause`. */
function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const inner = cause.cause instanceof Error ? cause.cause : undefined
  return [cause.message, inner?.message].filter(Boolean).join(': ')
}

const minBackoffMs = 500
const maxBackoffMs = 8_000

/** The delay before the next attempt. `attempt` counts from 0. `Retry-After` wins over the exponential backoff. */
export function retryDelayMs({ retryAfter }: ParleyError, attempt: number): number {
  const backoffMs = Math.min(minBackoffMs * 2 ** attempt, maxBackoffMs) * (1 - Math.random() / 2)
  return retryAfter === undefined ? backoffMs : retryAfter * 1_000 + Math.random() * minBackoffMs
}

/** Resolves after `ms`, or as soon as `signal` aborts. It never rejects: the caller checks the signal. */
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
