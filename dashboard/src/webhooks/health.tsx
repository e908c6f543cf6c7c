/**
 * The health of an endpoint: success rate, median response time, and the last deliveries as a strip, newest at the right. Test events do
 * not count.
 */

import { Card } from '../../../ui/display.tsx'
import { useCall } from '../lib/api.ts'
import { formatShare, formatTime } from '../lib/time.ts'
import { QueryView } from '../ui/page.tsx'
import { webhookWords } from '../words/webhooks.ts'
import { endpointPollMs } from './list.tsx'
import type { Delivery } from './use-deliveries.ts'

const { health, log } = webhookWords

/** The number of deliveries to evaluate. */
const maxDeliveries = 50

export function EndpointHealth({ endpointId }: { endpointId: string }) {
  const recent = useCall(
    'GET /webhooks/{id}/deliveries',
    { params: { id: endpointId }, query: { limit: maxDeliveries } },
    { live: true, pollMs: endpointPollMs },
  )
  return (
    <Card title={health.title}>
      <QueryView query={recent} lines={3}>
        {(deliveries) => {
          const last = deliveries.filter(({ event }) => !event.endsWith('.test')).slice(0, maxDeliveries)
          return last.length > 0 ? <Summary deliveries={last} /> : <p className="soft">{health.none}</p>
        }}
      </QueryView>
    </Card>
  )
}

function Summary({ deliveries }: { deliveries: readonly Delivery[] }) {
  const settled = deliveries.filter(({ status }) => status === 'delivered' || status === 'failed')
  const delivered = settled.filter(({ status }) => status === 'delivered').length
  const retried = deliveries.filter(({ attempt_count }) => attempt_count > 1).length
  // An attempt without a response has the time until the connection failed.
  const median = medianOf(
    deliveries.flatMap(
      ({ attempts }) => attempts.findLast(({ http_status }) => http_status !== null)?.duration_ms ?? [],
    ),
  )
  return (
    <>
      <dl className="hooks-numbers">
        <div>
          <dt className="soft small">{health.success(settled.length)}</dt>
          <dd>{settled.length > 0 ? formatShare(delivered, settled.length) : '–'}</dd>
        </div>
        <div>
          <dt className="soft small">{health.median}</dt>
          <dd>{median === undefined ? '–' : log.milliseconds(median)}</dd>
        </div>
        <div>
          <dt className="soft small">{health.again}</dt>
          <dd>{retried}</dd>
        </div>
      </dl>
      <div>
        <div className="hooks-strip" role="img" aria-label={health.label(delivered, settled.length)}>
          {Array.from({ length: maxDeliveries - deliveries.length }, (_, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the items are identical.
            <span key={index} />
          ))}
          {deliveries.toReversed().map((delivery) => (
            <span key={delivery.id} data-outcome={outcomeOf(delivery)} title={titleOf(delivery)} />
          ))}
        </div>
        <div className="hooks-ends soft" aria-hidden="true">
          <span>{health.oldest}</span>
          <span>{health.newest}</span>
        </div>
      </div>
    </>
  )
}

/** A delivery with several attempts is shown as a warning, even if it was delivered. */
const outcomeOf = ({ status, attempt_count, attempts }: Delivery): string => {
  if (status === 'pending') return attempts.length > 0 ? 'again' : status
  return status === 'delivered' && attempt_count > 1 ? 'again' : status
}

const titleOf = ({ event, status, created_at }: Delivery): string =>
  health.bar(event, log.statuses[status], formatTime(created_at))

function medianOf(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]
}
