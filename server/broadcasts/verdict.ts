/**
 * Decides what the channel's answer to a send means for the recipient, the circuit breaker and the broadcast. Pure.
 *
 * Only a message that the channel certainly did not accept is sent again. An unknown outcome is never retried.
 */
import type { Times } from '../../common/times.ts'
import type { SendAnswer } from '../channels/channel.ts'
import { isConnectionFault, isTemplateFault } from '../messages/sending/dispatch.ts'

export type Verdict = {
  /** Retry after this time; null: settle the message with this outcome. */
  retryMs: number | null
  /** `throttled`: the channel asks for a slower pace. It counts as an outage only if the throttling persists. */
  channel: 'answered' | 'throttled' | 'failed'
  /** A fault that affects every recipient until a member fixes it. */
  fault: 'template' | 'credentials' | null
}

/** The most attempts per recipient. */
const maxAttempts = 5
/** For a refused template: one recipient's values may be the reason. */
const maxTemplateAttempts = 2
const pairRateLimit = 131056

/** `attempt`: the number of this attempt, from 1. A throttled probe is retried without a limit. */
export function judgeSent(
  sent: SendAnswer,
  { attempt, isProbe }: { attempt: number; isProbe: boolean },
  { retryMs, pairRetryMs }: Pick<Times['broadcasts'], 'retryMs' | 'pairRetryMs'>,
): Verdict {
  if (sent.ok) return { retryMs: null, channel: 'answered', fault: null }
  if (sent.outcome === 'unknown') return { retryMs: null, channel: 'failed', fault: null }
  if (sent.outcome === 'unsent') return { retryMs, channel: 'failed', fault: null }
  const backoff = 2 ** (attempt - 1)
  if (sent.again && sent.code === pairRateLimit) {
    return { retryMs: attempt < maxAttempts ? pairRetryMs * backoff : null, channel: 'answered', fault: null }
  }
  if (sent.again) {
    const isRetried = isProbe || attempt < maxAttempts
    return { retryMs: isRetried ? retryMs * Math.min(backoff, 8) : null, channel: 'throttled', fault: null }
  }
  if (isConnectionFault(sent)) {
    return { retryMs: attempt < maxAttempts ? retryMs : null, channel: 'answered', fault: 'credentials' }
  }
  if (isTemplateFault(sent)) {
    return { retryMs: attempt < maxTemplateAttempts ? retryMs : null, channel: 'answered', fault: 'template' }
  }
  return { retryMs: null, channel: 'answered', fault: null }
}
