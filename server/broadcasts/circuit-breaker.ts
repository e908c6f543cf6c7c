/**
 * The circuit breaker of a sending number, as a state machine. Pure: state, event and time in, state out.
 *
 *   closed     Recipients are handed over. Failures of the channel in a row are counted.
 *   open       No recipient is handed over until `until`; then one is, as a probe.
 *   half_open  The probe is in flight. Without an outcome by `until` it has failed: its process may be dead.
 *
 *   closed ── 25 failures in a row ──▶ open ── until ──▶ half_open ── probe answered ──▶ closed
 *                                       ▲                    │
 *                                       └── probe failed or expired, with a longer delay
 *
 * A failure is an outage of the channel: no connection, no answer, a 5xx, or a throttle that persists. An answer about the
 * recipient, the template or the credentials shows that the channel works.
 */
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

export type BreakerPolicy = {
  failuresToOpen: number
  /** Before the first probe, the second, and so on; the last one repeats. */
  delaysMs: readonly number[]
  /** How long the outcome of a probe is awaited. Longer than the timeout of a send. */
  probeTimeoutMs: number
}

export const breakerPolicy: BreakerPolicy = {
  failuresToOpen: 25,
  delaysMs: [30_000, 60_000, 2 * 60_000, 5 * 60_000, 10 * 60_000],
  probeTimeoutMs: 30_000,
}

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
      // Sends that were in flight when it opened prove nothing about the channel now.
      return event.isProbe ? closed : breaker
    case 'failed':
      if (breaker.state === 'open' || !event.isProbe) return breaker
      return open(breaker.probeCount + 1, event.reason, now, policy)
    case 'due':
      if (now < breaker.until) return breaker
      return breaker.state === 'open'
        ? { ...breaker, state: 'half_open', until: now + policy.probeTimeoutMs }
        : open(breaker.probeCount + 1, breaker.reason, breaker.until, policy)
  }
}

function open(probeCount: number, reason: string, now: number, { delaysMs }: BreakerPolicy): Breaker {
  const delayMs = delaysMs[Math.min(probeCount, delaysMs.length - 1)] ?? 0
  return { state: 'open', probeCount, until: now + delayMs, reason }
}
