/**
 * What the operator's Prometheus reads.
 *
 * One registry a process, so that a test may run several applications side by
 * side. Rooms add their own gauges to it.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export type Metrics = {
  registry: Registry
  /** Count the answers of a route. It is named by its pattern, never by a path: the number of series stays small. */
  watchRoute(method: string, route: string): (status: number, seconds: number) => void
  /** Add a gauge that is read when Prometheus asks, one series a value of `label`. */
  gauge(name: string, help: string, label: string, read: () => Promise<Record<string, number>>): void
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Counter({
    name: 'parley_http_requests_total',
    help: 'Requests answered, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  })
  const latency = new Histogram({
    name: 'parley_http_request_duration_seconds',
    help: 'Time from the request line to the last byte of the answer.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers: [registry],
  })
  return {
    registry,
    watchRoute(method, route) {
      // Looking a series up by its labels costs more than counting: keep the series.
      const time = latency.labels({ method, route })
      const byStatus = new Map<number, Counter.Internal>()
      return (status, seconds) => {
        const answers = byStatus.get(status) ?? requests.labels(method, route, String(status))
        byStatus.set(status, answers)
        answers.inc()
        time.observe(seconds)
      }
    },
    gauge(name, help, label, read) {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [registry],
        async collect() {
          this.reset()
          for (const [value, number] of Object.entries(await read())) this.set({ [label]: value }, number)
        },
      })
    },
  }
}
