/** The effect of a batch of outcomes on each endpoint's count of consecutive failures. */
import { testEventNames } from './emit.ts'

/** Consecutive failed events after which an endpoint is deactivated. */
export const maxFailures = 15

export type Tally = {
  workspace_id: string
  endpoint_id: string
  /** Failed events before the first success. */
  first_run: number
  /** The most consecutive failed events after a success. */
  longest_run: number
  /** Failed events since the last success. */
  last_run: number
  has_success: boolean
  /** Of the last attempt. */
  http_status: number | null
  error: string | null
}

export type Outcome = {
  workspace_id: string
  endpoint_id: string
  event: string
  status: 'delivered' | 'failed' | 'pending'
  http_status: number | null
  error: string | null
}

/**
 * One tally per endpoint, in the order of endpoint ids. It holds for any count before the batch. A failed test event does not
 * count; a delivered one resets the count as any success does.
 */
export function tallyOutcomes(outcomes: readonly Outcome[]): Tally[] {
  const tallies = new Map<string, Tally>()
  for (const { workspace_id, endpoint_id, event, status, http_status, error } of outcomes) {
    const tally = tallies.get(endpoint_id) ?? {
      workspace_id,
      endpoint_id,
      first_run: 0,
      longest_run: 0,
      last_run: 0,
      has_success: false,
      http_status,
      error,
    }
    Object.assign(tally, { http_status, error })
    tallies.set(endpoint_id, tally)
    if (status === 'pending' || (status === 'failed' && isTestEvent(event))) continue
    if (status === 'delivered') {
      tally.has_success = true
      tally.last_run = 0
    } else if (tally.has_success) {
      tally.last_run++
      tally.longest_run = Math.max(tally.longest_run, tally.last_run)
    } else {
      tally.first_run++
    }
  }
  return [...tallies.values()].sort((one, other) => (one.endpoint_id < other.endpoint_id ? -1 : 1))
}

const isTestEvent = (event: string): boolean => testEventNames.some((name) => name === event)
