/** How much of the machine one simulator may use: disk, memory, connections, calls. */

const mebibyte = 1024 * 1024

export const defaultQuotas = {
  /** About six million messages. A full journal refuses new messages; what was accepted is still reported. */
  journalBytes: 4096 * mebibyte,
  /** Files of customers and of the business. The oldest make room for new ones. */
  mediaBytes: 1024 * mebibyte,
  mediaFiles: 10_000,
  downloadBytes: 20 * mebibyte,
  /** From the lookup of the name to the last byte. */
  downloadMs: 10_000,
  downloadsAtOnce: 4,
  /** Customers of one account whose window and name are remembered. */
  customers: 500_000,
  /** Templates of one account, as the provider allows an unverified business. */
  templates: 250,
  /** Accounts of a simulator that runs alone. */
  accounts: 1_000,
  faults: 1_000,
  /** Pages that follow the phones. */
  streams: 100,
  /** Callbacks that the service has not accepted yet, apart from status reports. */
  waitingCallbacks: 10_000,
  /** Control calls that change something. */
  controlCallsPerSecond: 2_000,
  /** Calls of the provider's API of one account, apart from messages. */
  graphCallsPerSecond: 1_000,
}

export type Quotas = typeof defaultQuotas

/** A bucket that refills at `perSecond` and holds one second of it. */
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

/** Makes room for one more entry by removing the one that was added first. */
export function limitSize(entries: Map<string, unknown> | Set<string>, max: number): void {
  if (entries.size < max) return
  const [oldest] = entries.keys()
  if (oldest !== undefined) entries.delete(oldest)
}
