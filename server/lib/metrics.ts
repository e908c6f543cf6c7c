/**
 * Prometheus metrics.
 *
 * Each application has its own registry, so that tests can run several side by side. Other modules add their gauges to it.
 * Responses are counted in plain arrays here: the labelled histogram of the library took a twentieth of a request's time.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

export type Metrics = {
  contentType: string
  /** All metrics in the format of Prometheus. */
  read(): Promise<string>
  /** Counts the responses of a route. `route` is its pattern, not a path, so the number of series stays small. */
  watchRoute(method: string, route: string): (status: number, seconds: number) => void
  /** Adds a counter with one series per value of `label`. */
  counter(name: string, help: string, label: string): (value: string) => void
  /** Adds a gauge that is read at each scrape, with one series per value of `label`. */
  gauge(name: string, help: string, label: string, read: () => Promise<Record<string, number>>): void
  /** Adds a gauge with several labels. */
  gauges<const Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    read: () => Promise<{ labels: Record<Label, string>; value: number }[]>,
  ): void
}

type RouteStats = {
  labels: string
  statuses: Map<number, number>
  buckets: number[]
  seconds: number
  responses: number
}

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const routes: RouteStats[] = []
  const gauges: Metrics['gauges'] = (name, help, labels, read) => {
    new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      async collect() {
        this.reset()
        // A gauge that cannot be read now is skipped. The other metrics are needed most when the database is down.
        for (const { labels, value } of await read().catch(() => [])) this.set(labels, value)
      },
    })
  }
  return {
    gauges,
    contentType: registry.contentType,
    read: async () => `${describeRoutes(routes.filter(({ responses }) => responses > 0))}\n${await registry.metrics()}`,
    watchRoute(method, route) {
      const labels = `method="${method}",route="${route}"`
      const stats: RouteStats = { labels, statuses: new Map(), buckets: bounds.map(() => 0), seconds: 0, responses: 0 }
      routes.push(stats)
      return (status, seconds) => {
        stats.statuses.set(status, (stats.statuses.get(status) ?? 0) + 1)
        stats.responses++
        stats.seconds += seconds
        const bucket = bounds.findIndex((bound) => seconds <= bound)
        if (bucket >= 0) stats.buckets[bucket] = (stats.buckets[bucket] ?? 0) + 1
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

function describeRoutes(routes: RouteStats[]): string {
  const count = 'parley_http_requests_total'
  const time = 'parley_http_request_duration_seconds'
  return [
    `# HELP ${count} Completed requests, by method, route and status.`,
    `# TYPE ${count} counter`,
    ...routes.flatMap(({ labels, statuses }) =>
      [...statuses].map(([status, responses]) => `${count}{${labels},status="${status}"} ${responses}`),
    ),
    `# HELP ${time} Time from the request line to the last byte of the response.`,
    `# TYPE ${time} histogram`,
    ...routes.flatMap(({ labels, buckets, seconds, responses }) => {
      // Prometheus buckets are cumulative.
      const upTo = (i: number) => buckets.slice(0, i + 1).reduce((sum, inBucket) => sum + inBucket, 0)
      return [
        ...bounds.map((bound, i) => `${time}_bucket{le="${bound}",${labels}} ${upTo(i)}`),
        `${time}_bucket{le="+Inf",${labels}} ${responses}`,
        `${time}_sum{${labels}} ${seconds}`,
        `${time}_count{${labels}} ${responses}`,
      ]
    }),
  ].join('\n')
}
