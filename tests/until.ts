/** Waits for a condition, so that no test sleeps. */
import { spend } from './spent.ts'

/**
 * Asks every few milliseconds until the answer is neither undefined nor false, and returns it. Generous, for a busy machine. `what` is
 * in the error; a function can say what was there instead.
 */
export function until<Value>(
  what: string | (() => string),
  ask: () => Value | undefined | false | Promise<Value | undefined | false>,
  withinMs = 60_000,
): Promise<Value> {
  return spend('waiting', async () => {
    const deadline = performance.now() + withinMs
    for (;;) {
      const value = await ask()
      if (value) return value
      if (performance.now() > deadline)
        throw new Error(`waited ${withinMs} ms for ${typeof what === 'string' ? what : what()}`)
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
  })
}
