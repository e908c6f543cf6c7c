/**
 * One run for all who asked before it began.
 *
 * Whoever asks while a run of the key is under way shares the next one, since
 * this one may have looked before something happened that they know of.
 */
export function createNextRuns(): <Result>(key: string, run: () => Promise<Result>) => Promise<Result> {
  const runs = new Map<string, { underWay: Promise<unknown>; next: Promise<unknown> | undefined }>()

  function begin<Result>(key: string, run: () => Promise<Result>): Promise<Result> {
    const underWay = run()
    const mine = { underWay, next: undefined }
    runs.set(key, mine)
    const forget = () => {
      if (runs.get(key) === mine && !mine.next) runs.delete(key)
    }
    underWay.then(forget, forget)
    return underWay
  }

  return <Result>(key: string, run: () => Promise<Result>) => {
    const current = runs.get(key)
    if (!current) return begin(key, run)
    current.next ??= current.underWay.then(
      () => begin(key, run),
      () => begin(key, run),
    )
    return current.next as Promise<Result>
  }
}
