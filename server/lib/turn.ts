/** One at a time for each key: whoever shares a key waits for the one before. */
export function createTurns(): <Result>(key: string, run: () => Promise<Result>) => Promise<Result> {
  const last = new Map<string, Promise<unknown>>()
  return async (key, run) => {
    const before = last.get(key)
    const mine = (async () => {
      await before?.catch(() => {})
      return run()
    })()
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }
}
