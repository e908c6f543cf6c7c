/** A mutex per key: calls with the same key run one after the other, in the order of the calls. */
export type KeyedMutex = <Result>(key: string, run: () => Promise<Result>) => Promise<Result>

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>()
  return async (key, run) => {
    const previous = tails.get(key)
    const current = (async () => {
      await previous?.catch(() => {})
      return run()
    })()
    tails.set(key, current)
    try {
      return await current
    } finally {
      if (tails.get(key) === current) tails.delete(key)
    }
  }
}
