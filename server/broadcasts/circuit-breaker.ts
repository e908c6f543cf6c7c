/**
 * The circuit breaker of a sending number, as a pure state machine: state, event and time in, state out.
 *
 *   closed     Recipients are handed over. Consecutive failures of the channel are counted.
 *   open       No recipient is handed over until `until`. Then one is, as a probe.
 *   half_open  The probe is in flight. Without an outcome at `until` it counts as failed: its process may have died.
 *
 *   closed ── 25 consecutive failures ──▶ open ── until ──▶ half_open ── probe answered ──▶ closed
 *                                       ▲                    │
 *                                       └── probe failed or expired, with a longer delay
 *
 * A failure is an outage of the channel: no connection, no answer, a 5xx, or a throttle that persists. An answer about the
 * recipient, the template or the credentials shows that the channel works.
 */
import type { Times } from '../../common/times.ts'

export type Breaker =
  | { state: 'closed'; failureCount: number }
  /** `probeCount`: probes that failed since it opened. `until`: in milliseconds. `reason`: the last failure. */
  | { state: 'open' | 'half_open'; probeCount: number; until: number; reason: string }

export type BreakerEvent =
  /** The channel answered a send. */
  | { type: 'answered'; isProbe: boolean }
  /** A send failed because of the channel. */
  | { type: 'failed'; isProbe: boolean; reason: string }
  /** A recipient could be handed over now. */
  | { type: 'due' }

export type BreakerPolicy = Times['broadcasts']['breaker'] & { failuresToOpen: number }

export const maxFailures = 25

export const closed: Breaker = { state: 'closed', failureCount: 0 }

/** After `due`, a breaker that moved from open to half_open allows one probe, and a closed one allows every recipient. */
export function transition(breaker: Breaker, event: BreakerEvent, now: number, policy: BreakerPolicy): Breaker {
  if (breaker.state === 'closed') {
    if (event.type === 'answered') return closed
    if (event.type !== 'failed') return breaker
    const failureCount = breaker.failureCount + 1
    return failureCount < policy.failuresToOpen ? { state: 'closed', failureCount } : open(0, event.reason, now, policy)
  }
  switch (event.type) {
    case 'answered':
      // Sends that were in flight when the breaker opened prove nothing about the channel now.
      return event.isProbe ? closed : breaker
    case 'failed':
      if (breaker.state === 'open' || !event.isProbe) return breaker
      return open(breaker.probeCount + 1, event.reason, now, policy)
    case 'due':
      if (now < breaker.until) return breaker
      return breaker.state === 'open'
        ? { ...breaker, state: 'half_open', until: now + policy.probeMs }
        : open(breaker.probeCount + 1, breaker.reason, breaker.until, policy)
  }
}

function open(probeCount: number, reason: string, now: number, { delaysMs }: BreakerPolicy): Breaker {
  const delayMs = delaysMs[Math.min(probeCount, delaysMs.length - 1)] ?? 0
  return { state: 'open', probeCount, until: now + delayMs, reason }
}
