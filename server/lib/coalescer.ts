/**
 * Coalesces concurrent runs of the same key.
 *
 * The first call starts a run. All calls during that run share one further run, which starts when the first ends: the run in
 * flight may have read its input before those callers changed it.
 */
export type Coalescer = <Result>(key: string, run: () => Promise<Result>) => Promise<Result>

type Runs = { inFlight: Promise<unknown>; next: Promise<unknown> | undefined }

export function createCoalescer(): Coalescer {
  const runsByKey = new Map<string, Runs>()

  function start<Result>(key: string, run: () => Promise<Result>): Promise<Result> {
    const inFlight = run()
    const runs: Runs = { inFlight, next: undefined }
    runsByKey.set(key, runs)
    const forget = () => {
      if (runsByKey.get(key) === runs && !runs.next) runsByKey.delete(key)
    }
    inFlight.then(forget, forget)
    return inFlight
  }

  return <Result>(key: string, run: () => Promise<Result>) => {
    const runs = runsByKey.get(key)
    if (!runs) return start(key, run)
    runs.next ??= runs.inFlight.then(
      () => start(key, run),
      () => start(key, run),
    )
    return runs.next as Promise<Result>
  }
}
