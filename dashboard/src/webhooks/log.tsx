/** The delivery log of an endpoint, newest first, filtered by status. A row opens the delivery. */
import { Link, useSearch } from 'wouter'
import { Badge } from '../../../ui/badge.tsx'
import { Card } from '../../../ui/card.tsx'
import { SegmentedControl } from '../../../ui/form.tsx'
import { EmptyState } from '../../../ui/state.tsx'
import { useSearchParam } from '../lib/hooks.ts'
import { LoadMore } from '../ui/load-more.tsx'
import { QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { words } from '../words/words.ts'
import { DeliveryDialog } from './delivery.tsx'
import type { Endpoint } from './endpoint.tsx'
import {
  type Delivery,
  type DeliveryStatus,
  lastAttempt,
  nextAttemptText,
  statuses,
  statusTones,
  useDeliveryLog,
} from './use-deliveries.ts'

const { log } = words.webhooks
const { columns } = log

export function DeliveryLog({ endpoint }: { endpoint: Endpoint }) {
  const [wanted, setWanted] = useSearchParam('status')
  const [open, setOpen] = useSearchParam('delivery')
  const status = statuses.find((each) => each === wanted)
  const pages = useDeliveryLog(endpoint.id, status)
  const options: { value: DeliveryStatus | ''; label: string }[] = [
    { value: '', label: log.all },
    ...statuses.map((value) => ({ value, label: log.statuses[value] })),
  ]
  return (
    <Card
      flush
      title={log.title}
      actions={
        <div className="hooks-filter">
          <SegmentedControl label={log.status} value={status ?? ''} options={options} onChange={setWanted} />
        </div>
      }
    >
      <QueryView query={pages}>
        {() =>
          pages.items.length > 0 ? (
            <>
              <Table endpointId={endpoint.id} deliveries={pages.items} />
              <LoadMore pages={pages} />
            </>
          ) : (
            <EmptyState icon="clock" title={status ? log.noneSuch : log.empty}>
              {status ? log.noneSuchText : log.emptyText}
            </EmptyState>
          )
        }
      </QueryView>
      {open && <DeliveryDialog id={open} endpoint={endpoint} onShow={setOpen} onClose={() => setOpen('')} />}
    </Card>
  )
}

function Table({ endpointId, deliveries }: { endpointId: string; deliveries: readonly Delivery[] }) {
  return (
    <table className="table hooks-log" aria-label={log.title}>
      <thead>
        <tr>
          <th scope="col">{columns.event}</th>
          <th scope="col">{columns.status}</th>
          <th scope="col">{columns.http}</th>
          <th scope="col" className="end hooks-wide">
            {columns.attempts}
          </th>
          <th scope="col" className="end hooks-wide">
            {columns.duration}
          </th>
          <th scope="col" className="end">
            {columns.at}
          </th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map((delivery) => (
          <Row key={delivery.id} endpointId={endpointId} delivery={delivery} />
        ))}
      </tbody>
    </table>
  )
}

function Row({ endpointId, delivery }: { endpointId: string; delivery: Delivery }) {
  const search = new URLSearchParams(useSearch())
  search.set('delivery', delivery.id)
  const attempt = lastAttempt(delivery)
  const wait = nextAttemptText(delivery)
  return (
    <tr data-link="">
      <td>
        <Link href={`/webhooks/${endpointId}?${search}`} className="row-link mono">
          {delivery.event}
        </Link>
      </td>
      <td data-label={columns.status}>
        <span className="hooks-status">
          <Badge tone={statusTones[delivery.status]}>{log.statuses[delivery.status]}</Badge>
          {wait && <span className="soft small nowrap">{wait}</span>}
        </span>
      </td>
      <td data-label={columns.http} className="hooks-answer">
        <Answer delivery={delivery} />
      </td>
      <td data-label={columns.attempts} className="end numeric hooks-wide">
        {delivery.attempt_count}
      </td>
      <td data-label={columns.duration} className="end numeric nowrap hooks-wide">
        {attempt?.duration_ms != null ? log.milliseconds(attempt.duration_ms) : dash}
      </td>
      <td data-label={columns.at} className="end">
        <RelativeTime at={delivery.created_at} />
      </td>
    </tr>
  )
}

const dash = '–'

/** The HTTP status or error of the last attempt. */
function Answer({ delivery }: { delivery: Delivery }) {
  const attempt = lastAttempt(delivery)
  if (!attempt) return <span className="soft">{dash}</span>
  if (attempt.http_status !== null) return <span className="mono numeric">{attempt.http_status}</span>
  return <span className="soft">{attempt.error ?? log.noAnswer}</span>
}
