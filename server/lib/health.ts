/**
 * Which background loops work.
 *
 * Every round of a loop runs under `watch`. A loop is failing when its rounds
 * have thrown for `graceMs` without a success in between. One failed round is
 * ordinary: a deadlock, or a database that restarts.
 */
export type Health = {
  /** Runs one round of a loop and records whether it threw. */
  watch<Result>(loop: string, run: () => Promise<Result>): Promise<Result>
  /** The names of the failing loops. */
  failing(): string[]
}

const defaultGraceMs = 30_000

export function createHealth({ graceMs = defaultGraceMs, now = () => performance.now() } = {}): Health {
  const failingSince = new Map<string, number>()
  return {
    async watch(loop, run) {
      try {
        const result = await run()
        failingSince.delete(loop)
        return result
      } catch (error) {
        if (!failingSince.has(loop)) failingSince.set(loop, now())
        throw error
      }
    },
    failing: () => [...failingSince].filter(([, since]) => now() - since >= graceMs).map(([loop]) => loop),
  }
}
