/**
 * Counts calls by key in windows of a fixed length, in the memory of this process. All keys share the windows, so nothing is left of a
 * key after its window.
 */
export function createRateWindow(max: number, windowMs: number): (key: string) => number {
  const counts = new Map<string, number>()
  let startMs = Number.NEGATIVE_INFINITY

  /** Counts a call. Returns 0, or the seconds until the next window when the key has used up this one. */
  return (key) => {
    const now = performance.now()
    if (now - startMs >= windowMs) {
      startMs = now
      counts.clear()
    }
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    return count <= max ? 0 : Math.ceil((startMs + windowMs - now) / 1_000)
  }
}
