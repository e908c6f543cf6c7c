/** The provider's rate limits: messages per second of a number, messages to one recipient, the 24-hour window. */
import type { AccountState } from './accounts.ts'

/** Leaky bucket per recipient: it holds 45 messages, and one leaks every 6 seconds. */
const pairLeakMs = 6_000
const pairCapacity = 45
const sweepAbove = 20_000

/** Token bucket that refills at the account's rate and holds one second's tokens. */
export function takeAllowance(state: AccountState, messagesPerSecond: number, now: number): boolean {
  const capacity = Math.max(1, messagesPerSecond)
  const gained = (Math.max(0, now - state.allowanceAt) / 1000) * messagesPerSecond
  const allowance = Math.min(capacity, state.allowance + gained)
  state.allowanceAt = now
  state.allowance = allowance < 1 ? allowance : allowance - 1
  return allowance >= 1
}

export function takePair(state: AccountState, key: string, now: number): boolean {
  const { pairs } = state
  const emptyAt = Math.max(now, pairs.get(key) ?? 0) + pairLeakMs
  if (emptyAt - now > pairCapacity * pairLeakMs) return false
  pairs.set(key, emptyAt)
  if (pairs.size > sweepAbove && now - state.pairsSweptAt > pairLeakMs) {
    state.pairsSweptAt = now
    for (const [other, at] of pairs) if (at < now) pairs.delete(other)
  }
  return true
}

const dayMs = 24 * 60 * 60 * 1000

/** Whether the customer wrote within the last `days` days. */
export function isWindowOpen(state: AccountState, key: string, now: number, days = 1): boolean {
  const customer = state.customers.get(key)
  return customer !== undefined && now - customer.last_inbound_at < days * dayMs
}
