/**
 * Prometheus metrics.
 *
 * Each application has its own registry, so that tests can run several side by side. Other modules add their gauges to it.
 * Responses are counted in plain arrays here: the labelled histogram of the library took a twentieth of a request's time.
 *
 * The processes of a service answer as one. The process that is scraped asks its peers for their values (`readShare`). Counters and
 * memory are added up. Of delays the largest counts. A gauge describes the database, so one process reads it.
 */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

export type Metrics = {
  contentType: string
  /** All metrics in the format of Prometheus, with the values of other processes. */
  read(others?: readonly MetricsShare[]): Promise<string>
  /** The values of this process, without the gauges that another process reads. */
  readShare(otherGauges?: readonly string[]): Promise<MetricsShare>
  /** The largest value of each of these gauges that this process has and can read. */
  readGauges(names: readonly string[]): Promise<Record<string, number>>
  /** The names of the gauges of this process. */
  gaugeNames(): string[]
  /** Counts the responses of a route. `route` is its pattern, not a path, so the number of series stays small. */
  watchRoute(method: string, route: string): (status: number, seconds: number) => void
  /**
   * Adds a counter with one series per value of `label`. All exist from the start: Prometheus computes no increase for a series that
   * appears with its first event.
   */
  counter<const Value extends string>(
    name: string,
    help: string,
    label: string,
    values: readonly Value[],
  ): (value: Value) => void
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

/** The metrics of one process. It can be sent to another one. */
export type MetricsShare = { routes: RouteStats[]; series: Series[] }

type Series = { name: string; aggregator: string }

type RouteStats = {
  labels: string
  statuses: Map<number, number>
  buckets: number[]
  seconds: number
  responses: number
}

/** Statuses that alert rules count. Each route has them from the start, like the values of a counter. */
const alertedStatuses = [500, 503]

/** A lag that matters is longer. Each step wakes the process: with the library's 10 ms they took most of the CPU of one at rest. */
export const lagResolutionMs = 50

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

/** How the values of several processes become one, where the library's choice misleads: an alert needs the worst process. */
const aggregators: Record<string, string> = {
  process_start_time_seconds: 'min',
  ...Object.fromEntries(
    ['', '_mean', '_p50', '_p90', '_p99'].map((suffix) => [`nodejs_eventloop_lag${suffix}_seconds`, 'max']),
  ),
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  const gaugeRegistry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagResolutionMs })
  const routes: RouteStats[] = []
  const gauges: Metrics['gauges'] = (name, help, labels, read) => {
    new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [gaugeRegistry],
      async collect() {
        this.reset()
        // A gauge that cannot be read now is skipped. The other metrics are needed most when the database is down.
        for (const { labels, value } of await read().catch(() => [])) this.set(labels, value)
      },
    })
  }
  async function readShare(otherGauges: readonly string[] = []): Promise<MetricsShare> {
    const ownGauges = gaugeRegistry.getMetricsAsArray().filter(({ name }) => !otherGauges.includes(name))
    const series = [
      ...(await registry.getMetricsAsJSON()),
      ...(await Promise.all(ownGauges.map(({ name }) => gaugeRegistry.getSingleMetric(name)?.get()))),
    ]
    return { routes, series: series as unknown as Series[] }
  }
  return {
    gauges,
    contentType: registry.contentType,
    readShare,
    async readGauges(names) {
      const found: Record<string, number> = {}
      for (const name of names) {
        const { values = [] } = (await gaugeRegistry.getSingleMetric(name)?.get()) ?? {}
        if (values.length > 0) found[name] = Math.max(...values.map(({ value }) => value))
      }
      return found
    },
    gaugeNames: () => gaugeRegistry.getMetricsAsArray().map(({ name }) => name),
    async read(others = []) {
      const shares = [await readShare(), ...others]
      const series = shares.map(({ series }) =>
        series.map((one) => ({ ...one, aggregator: aggregators[one.name] ?? one.aggregator })),
      )
      const all = await AggregatorRegistry.aggregate(series).metrics()
      return `${describeRoutes(addRoutes(shares.flatMap(({ routes }) => routes)))}\n${all}`
    },
    watchRoute(method, route) {
      const labels = `method="${method}",route="${route}"`
      const statuses = new Map(alertedStatuses.map((status) => [status, 0]))
      const stats: RouteStats = { labels, statuses, buckets: bounds.map(() => 0), seconds: 0, responses: 0 }
      routes.push(stats)
      return (status, seconds) => {
        stats.statuses.set(status, (stats.statuses.get(status) ?? 0) + 1)
        stats.responses++
        stats.seconds += seconds
        const bucket = bounds.findIndex((bound) => seconds <= bound)
        if (bucket >= 0) stats.buckets[bucket] = (stats.buckets[bucket] ?? 0) + 1
      }
    },
    counter(name, help, label, values) {
      const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
      for (const value of values) counter.inc({ [label]: value }, 0)
      return (value) => counter.inc({ [label]: value })
    },
    gauge(name, help, label, read) {
      gauges(name, help, [label], async () =>
        Object.entries(await read()).map(([key, value]) => ({ labels: { [label]: key }, value })),
      )
    },
  }
}

/** Adds up the responses of each route over all processes. */
function addRoutes(routes: readonly RouteStats[]): RouteStats[] {
  const sums = new Map<string, RouteStats>()
  for (const { labels, statuses, buckets, seconds, responses } of routes) {
    const sum = sums.get(labels)
    if (!sum) {
      sums.set(labels, { labels, statuses: new Map(statuses), buckets: [...buckets], seconds, responses })
      continue
    }
    for (const [status, count] of statuses) sum.statuses.set(status, (sum.statuses.get(status) ?? 0) + count)
    sum.buckets = sum.buckets.map((count, i) => count + (buckets[i] ?? 0))
    sum.seconds += seconds
    sum.responses += responses
  }
  return [...sums.values()]
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
      if (responses === 0) return []
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
