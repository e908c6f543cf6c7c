/**
 * Lottery scheduling: each slot goes to one of the waiting callers, drawn at random.
 *
 * For a rate limit whose callers cannot be distinguished: a client with many requests has a better chance, but it cannot keep
 * another client out by being faster.
 */
export type Lottery = {
  /** Whether callers wait for a slot of this key, so that a new caller has to wait as well. */
  hasWaiting(key: string): boolean
  /**
   * Waits for the next slot, which is `afterMs` from now if no other caller waits, and runs `run` if this caller is drawn.
   * Returns `undefined` when another caller is drawn, or at once when too many wait. The slot after is `everyMs` later.
   */
  enter<Result>(key: string, timing: Timing, run: () => Promise<Result>): Promise<Result | undefined>
}

type Timing = { afterMs: number; everyMs: number }
type Caller = (isDrawn: boolean) => void

export function createLottery({ maxPerKey, maxWaiting }: { maxPerKey: number; maxWaiting: number }): Lottery {
  const waiting = new Map<string, Caller[]>()
  let count = 0

  /** The key stays while the drawn caller runs: a caller who comes meanwhile must not take the slot first. */
  function draw(key: string): void {
    const callers = waiting.get(key)?.splice(0) ?? []
    count -= callers.length
    const drawn = Math.floor(Math.random() * callers.length)
    for (const [i, caller] of callers.entries()) caller(i === drawn)
  }

  return {
    hasWaiting: (key) => waiting.has(key),
    async enter(key, { afterMs, everyMs }, run) {
      const callers = waiting.get(key) ?? []
      if (callers.length >= maxPerKey || count >= maxWaiting) return undefined
      if (!waiting.has(key)) {
        waiting.set(key, callers)
        setTimeout(() => draw(key), afterMs)
      }
      count++
      const isDrawn = await new Promise<boolean>((resolve) => callers.push(resolve))
      if (!isDrawn) return undefined
      try {
        return await run()
      } finally {
        if (callers.length === 0) waiting.delete(key)
        else setTimeout(() => draw(key), everyMs)
      }
    },
  }
}
