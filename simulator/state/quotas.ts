/** Resource limits of one simulator: disk, memory, connections and calls. */

const mebibyte = 1024 * 1024

export const defaultQuotas = {
  /** About six million messages. A full journal refuses new messages; accepted ones are still reported. */
  journalBytes: 4096 * mebibyte,
  /** Files of customers and of the business. New files evict the oldest. */
  mediaBytes: 1024 * mebibyte,
  mediaFiles: 10_000,
  downloadBytes: 20 * mebibyte,
  /** From the DNS lookup to the last byte. */
  downloadMs: 10_000,
  downloadsAtOnce: 4,
  /** Customers of one number whose window and name are kept, and user ids of one account. */
  customers: 500_000,
  /** Templates of one account; the provider allows an unverified business the same number. */
  templates: 250,
  /** Accounts of a standalone simulator. */
  accounts: 1_000,
  faults: 1_000,
  /** Open event streams of phone pages. */
  streams: 100,
  /** Callbacks that the service has not accepted yet, without status reports. */
  waitingCallbacks: 10_000,
  /** Control calls that change something. */
  controlCallsPerSecond: 2_000,
  /** Calls of the provider's API per account, without messages. */
  graphCallsPerSecond: 1_000,
}

export type Quotas = typeof defaultQuotas

/** A token bucket that refills at `perSecond` and holds one second's tokens. Takes a token, or returns false. */
export function createBucket(perSecond: number): (now: number) => boolean {
  let tokens = perSecond
  let filledAt = 0
  return (now) => {
    tokens = Math.min(perSecond, tokens + (Math.max(0, now - filledAt) / 1000) * perSecond)
    filledAt = now
    if (tokens < 1) return false
    tokens--
    return true
  }
}

/** Deletes the entry that was added first if there are `max` entries. */
export function evictOldest(entries: Map<string, unknown> | Set<string>, max: number): void {
  if (entries.size < max) return
  const [oldest] = entries.keys()
  if (oldest !== undefined) entries.delete(oldest)
}
