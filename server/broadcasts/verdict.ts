/**
 * What the channel's answer to a send means for the recipient, the circuit breaker and the broadcast. Pure.
 *
 * Only what the channel certainly did not take is sent again. An unknown outcome never is.
 */
import type { Sent } from '../channels/channel.ts'
import { isConnectionFault, isTemplateFault } from '../messages/dispatch.ts'

export type Verdict = {
  /** Send to the recipient again after this time; null: settle the message with this outcome. */
  retryMs: number | null
  /** `throttled`: it asks for a slower pace, and is down only if that does not help. */
  channel: 'answered' | 'throttled' | 'failed'
  /** Whose fault it is, if no recipient can be sent to until a member has fixed it. */
  fault: 'template' | 'credentials' | null
}

/** Times a recipient is sent to at most, if the channel refuses every time. */
const maxAttempts = 5
/** A template's fault may be one recipient's: it is tried once more. */
const maxTemplateAttempts = 2
const retryMs = 1_000
/** The channel takes one message to a person every six seconds. */
const pairRetryMs = 6_000
const pairRateLimit = 131056

/** `attempt`: how often the channel was asked, this time included. A probe that is throttled costs its recipient nothing. */
export function judgeSent(sent: Sent, { attempt, isProbe }: { attempt: number; isProbe: boolean }): Verdict {
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
