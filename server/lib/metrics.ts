/**
 * What the operator's Prometheus reads.
 *
 * One registry a process, so that a test may run several applications side by
 * side. Rooms add their own gauges to it. Answers are counted here, in plain
 * arrays, and written out when they are asked for: the library's labelled
 * histogram took a twentieth of the time of a request.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

export type Metrics = {
  contentType: string
  /** Everything, as Prometheus wants it. */
  read(): Promise<string>
  /** Count the answers of a route. It is named by its pattern, never by a path: the number of series stays small. */
  watchRoute(method: string, route: string): (status: number, seconds: number) => void
  /** Add a counter, one series a value of `label`. */
  counter(name: string, help: string, label: string): (value: string) => void
  /** Add a gauge that is read when Prometheus asks, one series a value of `label`. */
  gauge(name: string, help: string, label: string, read: () => Promise<Record<string, number>>): void
  /** The same with several labels. */
  gauges<const Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    read: () => Promise<{ labels: Record<Label, string>; value: number }[]>,
  ): void
}

type Watched = { labels: string; statuses: Map<number, number>; buckets: number[]; seconds: number; answers: number }

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const routes: Watched[] = []
  const gauges: Metrics['gauges'] = (name, help, labels, read) => {
    new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      async collect() {
        this.reset()
        // What cannot be read now, such as the database's view when it is down, is left out; the rest is needed most then.
        for (const { labels, value } of await read().catch(() => [])) this.set(labels, value)
      },
    })
  }
  return {
    gauges,
    contentType: registry.contentType,
    read: async () => `${describeRoutes(routes.filter(({ answers }) => answers > 0))}\n${await registry.metrics()}`,
    watchRoute(method, route) {
      const labels = `method="${method}",route="${route}"`
      const watched: Watched = { labels, statuses: new Map(), buckets: bounds.map(() => 0), seconds: 0, answers: 0 }
      routes.push(watched)
      return (status, seconds) => {
        watched.statuses.set(status, (watched.statuses.get(status) ?? 0) + 1)
        watched.answers++
        watched.seconds += seconds
        const bucket = bounds.findIndex((bound) => seconds <= bound)
        if (bucket >= 0) watched.buckets[bucket] = (watched.buckets[bucket] ?? 0) + 1
      }
    },
    counter(name, help, label) {
      const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
      return (value) => counter.inc({ [label]: value })
    },
    gauge(name, help, label, read) {
      gauges(name, help, [label], async () =>
        Object.entries(await read()).map(([key, value]) => ({ labels: { [label]: key }, value })),
      )
    },
  }
}

function describeRoutes(routes: Watched[]): string {
  const count = 'parley_http_requests_total'
  const time = 'parley_http_request_duration_seconds'
  return [
    `# HELP ${count} Requests answered, by method, route and status.`,
    `# TYPE ${count} counter`,
    ...routes.flatMap(({ labels, statuses }) =>
      [...statuses].map(([status, answers]) => `${count}{${labels},status="${status}"} ${answers}`),
    ),
    `# HELP ${time} Time from the request line to the last byte of the answer.`,
    `# TYPE ${time} histogram`,
    ...routes.flatMap(({ labels, buckets, seconds, answers }) => {
      // A bucket of Prometheus holds those below it as well.
      const upTo = (i: number) => buckets.slice(0, i + 1).reduce((sum, inBucket) => sum + inBucket, 0)
      return [
        ...bounds.map((bound, i) => `${time}_bucket{le="${bound}",${labels}} ${upTo(i)}`),
        `${time}_bucket{le="+Inf",${labels}} ${answers}`,
        `${time}_sum{${labels}} ${seconds}`,
        `${time}_count{${labels}} ${answers}`,
      ]
    }),
  ].join('\n')
}
