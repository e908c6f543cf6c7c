/**
 * Runs at most `concurrency` jobs at a time. Flows are served round robin, one job each: however many jobs one flow has, another flow's
 * job waits for at most one job of each flow before it. A job is rejected with `refuse()` if `maxWaiting` jobs of its flow wait.
 */
export type FairQueue = <Result>(flow: string, run: () => Promise<Result>) => Promise<Result>

type Bound = { maxWaiting: number; refuse: () => Error }

export function createFairQueue(concurrency: number, bound?: Bound): FairQueue {
  /** Jobs by flow; the flow to be served next comes first. */
  const flows = new Map<string, (() => Promise<void>)[]>()
  let running = 0

  function runNext(): void {
    while (running < concurrency) {
      const [next] = flows
      if (!next) return
      const [flow, jobs] = next
      const job = jobs.shift()
      flows.delete(flow)
      if (jobs.length > 0) flows.set(flow, jobs)
      running++
      void job?.().finally(() => {
        running--
        runNext()
      })
    }
  }

  return (flow, run) =>
    new Promise((resolve, reject) => {
      const jobs = flows.get(flow) ?? []
      if (bound && jobs.length >= bound.maxWaiting) return reject(bound.refuse())
      jobs.push(() => run().then(resolve, reject))
      flows.set(flow, jobs)
      runNext()
    })
}
