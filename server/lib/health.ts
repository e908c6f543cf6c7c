/**
 * Which background loops work.
 *
 * Every round of a loop runs under `watch`. A loop is failing when its rounds
 * have thrown for `graceMs` without a success in between. One failed round is
 * ordinary: a deadlock, or a database that restarts.
 *
 * A full disk counts at once and by its own name.
 */
import { outageOf } from './outage.ts'

export type Health = {
  /** Runs one round of a loop and records whether it threw. */
  watch<Result>(loop: string, run: () => Promise<Result>): Promise<Result>
  /** Records an error of a request. */
  note(error: unknown): void
  /** The names of the failing loops, and `disk` if a write failed in the last seconds because a disk is full. */
  failing(): string[]
}

const defaultGraceMs = 30_000

/** A service without load writes seldom, so a full disk is reported for some time after the last error. */
const diskMs = 5_000

export function createHealth({ graceMs = defaultGraceMs, now = () => performance.now() } = {}): Health {
  const failingSince = new Map<string, number>()
  let diskFullAt = Number.NEGATIVE_INFINITY
  const note: Health['note'] = (error) => {
    if (outageOf(error) === 'disk') diskFullAt = now()
  }
  return {
    note,
    async watch(loop, run) {
      try {
        const result = await run()
        failingSince.delete(loop)
        return result
      } catch (error) {
        note(error)
        if (!failingSince.has(loop)) failingSince.set(loop, now())
        throw error
      }
    },
    failing() {
      const loops = [...failingSince].filter(([, since]) => now() - since >= graceMs).map(([loop]) => loop)
      return now() - diskFullAt < diskMs ? ['disk', ...loops] : loops
    },
  }
}
