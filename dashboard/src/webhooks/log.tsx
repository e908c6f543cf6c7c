/** The delivery log of an endpoint, newest first, filtered by status. A row opens the delivery. */

import { SegmentedControl } from '../../../ui/controls.tsx'
import { Badge, Card, EmptyState } from '../../../ui/display.tsx'
import { useSearchParam } from '../lib/hooks.ts'
import { useSteps } from '../ui/detail.tsx'
import { PagedList } from '../ui/page.tsx'
import { type Column, RowLink, Table } from '../ui/table.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { webhookWords } from '../words/webhooks.ts'
import { DeliveryDetail } from './delivery.tsx'
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

const { log } = webhookWords

const dash = '–'

export function DeliveryLog({ endpoint }: { endpoint: Endpoint }) {
  const [wanted, setWanted] = useSearchParam('status')
  const [open, setOpen] = useSearchParam('delivery')
  const status = statuses.find((each) => each === wanted)
  const pages = useDeliveryLog(endpoint.id, status)
  const options: { value: DeliveryStatus | ''; label: string }[] = [
    { value: '', label: log.all },
    ...statuses.map((value) => ({ value, label: log.statuses[value] })),
  ]
  const steps = useSteps(pages, open, setOpen)
  return (
    <div className="split" data-open={open ? '' : undefined}>
      <Card
        flush
        title={log.title}
        actions={
          <div className="hooks-filter">
            <SegmentedControl label={log.status} value={status ?? ''} options={options} onChange={setWanted} />
          </div>
        }
      >
        <PagedList
          pages={pages}
          empty={
            <EmptyState
              icon="clock"
              title={status ? log.noneSuch : log.empty}
              text={status ? log.noneSuchText : log.emptyText}
            />
          }
        >
          {(deliveries) => (
            <Table
              className="hooks-log"
              label={log.title}
              isLinked
              rows={deliveries}
              keyOf={({ id }) => id}
              columns={columns}
            />
          )}
        </PagedList>
      </Card>
      {open && (
        <DeliveryDetail id={open} endpoint={endpoint} steps={steps} onShow={setOpen} onClose={() => setOpen('')} />
      )}
    </div>
  )
}

const columns: Column<Delivery>[] = [
  {
    label: log.columns.event,
    cell: ({ id, event }) => (
      <RowLink param="delivery" id={id}>
        {event}
      </RowLink>
    ),
  },
  {
    label: log.columns.status,
    narrow: 'status',
    cell: (delivery) => {
      const wait = nextAttemptText(delivery)
      return (
        <span className="hooks-status">
          <Badge tone={statusTones[delivery.status]}>{log.statuses[delivery.status]}</Badge>
          {wait && <span className="soft small nowrap">{wait}</span>}
        </span>
      )
    },
  },
  {
    label: log.columns.http,
    cellClassName: 'hooks-answer',
    cell: (delivery) => <Answer delivery={delivery} />,
  },
  {
    label: log.columns.attempts,
    className: 'end hooks-wide split-hidden',
    cellClassName: 'numeric',
    cell: ({ attempt_count }) => attempt_count,
  },
  {
    label: log.columns.duration,
    className: 'end hooks-wide split-hidden',
    cellClassName: 'numeric nowrap',
    cell: (delivery) => {
      const ms = lastAttempt(delivery)?.duration_ms
      return ms == null ? dash : log.milliseconds(ms)
    },
  },
  {
    label: log.columns.at,
    narrow: 'plain',
    className: 'end',
    cell: ({ created_at }) => <RelativeTime at={created_at} />,
  },
]

/** The HTTP status or error of the last attempt. */
function Answer({ delivery }: { delivery: Delivery }) {
  const attempt = lastAttempt(delivery)
  if (!attempt) return <span className="soft">{dash}</span>
  if (attempt.http_status !== null) return <span className="mono numeric">{attempt.http_status}</span>
  return <span className="soft">{attempt.error ?? log.noAnswer}</span>
}
