/** Runs at most `most` functions at once; the others wait in the order they came. */
export function createGate(most: number): <Result>(run: () => Promise<Result>) => Promise<Result> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (run) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await run()
    } finally {
      const next = waiting.shift()
      // The slot passes on; it is free only when no one waits.
      if (next) next()
      else running--
    }
  }
}
