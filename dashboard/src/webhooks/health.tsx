/** How an endpoint does, at a glance: the last deliveries as a strip, newest at the right, and what they come to. */

import { Card } from '../../../ui/card.tsx'
import { useCall } from '../lib/api.ts'
import { formatShare, formatTime } from '../lib/time.ts'
import { QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { type Delivery, lastAttempt } from './deliveries.ts'
import { lookAgainMs } from './list.tsx'

const { health, log } = words.webhooks

/** So many are looked at. */
const shown = 50

export function EndpointHealth({ endpointId }: { endpointId: string }) {
  const recent = useCall(
    'GET /webhooks/{id}/deliveries',
    { params: { id: endpointId }, query: { limit: shown } },
    { live: true, pollMs: lookAgainMs },
  )
  return (
    <Card title={health.title}>
      <QueryView query={recent} lines={3}>
        {(deliveries) => {
          const last = deliveries.slice(0, shown)
          return last.length > 0 ? <Summary deliveries={last} /> : <p className="soft">{health.none}</p>
        }}
      </QueryView>
    </Card>
  )
}

function Summary({ deliveries }: { deliveries: readonly Delivery[] }) {
  const over = deliveries.filter(({ status }) => status === 'delivered' || status === 'failed')
  const delivered = over.filter(({ status }) => status === 'delivered').length
  const retried = deliveries.filter(({ attempt_count }) => attempt_count > 1).length
  const median = medianOf(deliveries.flatMap((delivery) => lastAttempt(delivery)?.duration_ms ?? []))
  return (
    <>
      <dl className="hooks-numbers">
        <div>
          <dt>{health.success(over.length)}</dt>
          <dd>{over.length > 0 ? formatShare(delivered, over.length) : '–'}</dd>
        </div>
        <div>
          <dt>{health.median}</dt>
          <dd>{median === undefined ? '–' : log.milliseconds(median)}</dd>
        </div>
        <div>
          <dt>{health.again}</dt>
          <dd>{retried}</dd>
        </div>
      </dl>
      <div>
        <div className="hooks-strip" role="img" aria-label={health.label(delivered, over.length)}>
          {Array.from({ length: shown - deliveries.length }, (_, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike.
            <span key={place} />
          ))}
          {deliveries.toReversed().map((delivery) => (
            <span key={delivery.id} data-look={lookOf(delivery)} title={titleOf(delivery)} />
          ))}
        </div>
        <div className="hooks-ends" aria-hidden="true">
          <span>{health.oldest}</span>
          <span>{health.newest}</span>
        </div>
      </div>
    </>
  )
}

/** A delivery that needs or needed several attempts is a warning, even if it arrives. */
const lookOf = ({ status, attempt_count, attempts }: Delivery): string => {
  if (status === 'pending') return attempts.length > 0 ? 'again' : status
  return status === 'delivered' && attempt_count > 1 ? 'again' : status
}

const titleOf = ({ event, status, created_at }: Delivery): string =>
  health.bar(event, log.statuses[status], formatTime(created_at))

function medianOf(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]
}
