/**
 * Which background loops work.
 *
 * Every round of a loop runs under `watch`. A loop is failing when its rounds
 * have thrown for `graceMs` without a success in between. One failed round is
 * ordinary: a deadlock, or a database that restarts.
 *
 * A full disk counts at once and by its own name.
 */
import type { Times } from '../../../common/times.ts'
import { outageOf } from './outage.ts'

/** `succeededMsAgo` is null until the first round has succeeded. */
type LoopState = { name: string; succeededMsAgo: number | null; isFailing: boolean }

export type Health = {
  /** Adds a loop whose first round is later. */
  register(loop: string): void
  /** Runs one round of a loop and records whether it threw. */
  watch<Result>(loop: string, run: () => Promise<Result>): Promise<Result>
  /** Records that a part of a long round has succeeded: its loop works, although the round goes on. */
  progressed(loop: string): void
  /** Records an error of a request. */
  note(error: unknown): void
  /** The names of the failing loops, and `disk` if a write failed in the last seconds because a disk is full. */
  failing(): string[]
  /** All loops of the process, by name. */
  loops(): LoopState[]
}

export function createHealth({ graceMs, diskMs }: Times['health'], now = () => performance.now()): Health {
  const failingSince = new Map<string, number>()
  const succeededAt = new Map<string, number | null>()
  let diskFullAt = Number.NEGATIVE_INFINITY
  const note: Health['note'] = (error) => {
    if (outageOf(error) === 'disk') diskFullAt = now()
  }
  const progressed: Health['progressed'] = (loop) => {
    failingSince.delete(loop)
    succeededAt.set(loop, now())
  }
  const isFailing = (loop: string): boolean => now() - (failingSince.get(loop) ?? now()) >= graceMs
  return {
    note,
    progressed,
    register(loop) {
      if (!succeededAt.has(loop)) succeededAt.set(loop, null)
    },
    async watch(loop, run) {
      try {
        const result = await run()
        progressed(loop)
        return result
      } catch (error) {
        note(error)
        this.register(loop)
        if (!failingSince.has(loop)) failingSince.set(loop, now())
        throw error
      }
    },
    failing() {
      const loops = [...failingSince.keys()].filter(isFailing)
      return now() - diskFullAt < diskMs ? ['disk', ...loops] : loops
    },
    loops: () =>
      [...succeededAt]
        .map(([name, at]) => ({ name, succeededMsAgo: at === null ? null : now() - at, isFailing: isFailing(name) }))
        .sort((one, other) => one.name.localeCompare(other.name)),
  }
}
