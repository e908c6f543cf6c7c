/** Caches each key's value for `ttlMs`. Concurrent readers share one load. A failed load and `undefined` are not cached. */
export type TtlCache<Value> = (key: string) => Promise<Value>

/** The cache is emptied at this size, so it needs no eviction order. */
const maxKeys = 10_000

export function createTtlCache<Value>(load: (key: string) => Promise<Value>, ttlMs: number): TtlCache<Value> {
  const entries = new Map<string, { loadedAt: number; value: Promise<Value> }>()
  return (key) => {
    const now = performance.now()
    const cached = entries.get(key)
    if (cached && now - cached.loadedAt < ttlMs) return cached.value
    if (entries.size >= maxKeys) entries.clear()
    const value = load(key)
    entries.set(key, { loadedAt: now, value })
    const forget = () => {
      if (entries.get(key)?.value === value) entries.delete(key)
    }
    value.then((loaded) => loaded === undefined && forget(), forget)
    return value
  }
}
