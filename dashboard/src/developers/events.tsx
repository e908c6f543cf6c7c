/** The recorded events, newest first. A row opens the event. */

import { useState } from 'react'
import { Link } from 'wouter'
import { SearchInput, Select } from '../../../ui/controls.tsx'
import { Badge, Code, EmptyState } from '../../../ui/display.tsx'
import { type DataOf, type ItemOf, restartPages, useCall, usePages } from '../lib/api.ts'
import { useSearchParam, useUrlFilters } from '../lib/hooks.ts'
import { useIsManager } from '../lib/session.tsx'
import { formatExact } from '../lib/time.ts'
import { Detail, type Steps } from '../ui/detail.tsx'
import { CallButton } from '../ui/dialogs.tsx'
import { CopyableCode, Facts } from '../ui/facts.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { QueryView } from '../ui/page.tsx'
import { type Column, RowLink } from '../ui/table.tsx'
import { Attempts } from '../webhooks/attempts.tsx'
import { EndpointUrl, eventNames, splitUrl } from '../webhooks/endpoint.tsx'
import { prettyJson } from '../webhooks/pretty-json.ts'
import { nextAttemptText, statusTones } from '../webhooks/use-deliveries.ts'
import { webhookWords } from '../words/webhooks.ts'
import { words } from '../words/words.ts'
import { LogPage, newestLimit, newestRows, stillRows } from './log-page.tsx'

const { events: text } = words.developers
const { statuses } = webhookWords.log

export function Events() {
  const [open, setOpen] = useSearchParam('id')
  const filters = useUrlFilters(['event'], ['search'])
  const { search } = filters.query
  const event = eventNames.find((name) => name === filters.query.event)
  const query = { ...(event ? { event } : {}), ...(search ? { search } : {}) }
  return (
    <LogPage
      text={text}
      filters={filters}
      controls={
        <>
          <SearchInput label={text.search} maxLength={200} {...filters.bind('search')} />
          <Select
            aria-label={text.event}
            options={[['', text.allEvents], ...eventNames.map((name) => [name, name] as const)]}
            {...filters.bind('event')}
            value={event ?? ''}
          />
        </>
      }
      pages={usePages('GET /events', { query }, stillRows)}
      newest={useCall('GET /events', { query: { ...query, limit: newestLimit } }, newestRows)}
      onShowNew={() => void restartPages('GET /events', { query })}
      columns={columns}
      icon="webhooks"
      action={<LinkButton label={text.toWebhooks} href="/webhooks" />}
      open={open}
      onOpen={setOpen}
    >
      {(steps) => <EventDetail id={open} steps={steps} onClose={() => setOpen('')} />}
    </LogPage>
  )
}

const columns: Column<ItemOf<'GET /events'>>[] = [
  {
    label: text.columns.event,
    cell: ({ id, event }) => (
      <RowLink param="id" id={id}>
        {event}
      </RowLink>
    ),
  },
  {
    label: text.columns.subject,
    className: 'split-hidden',
    cell: ({ subject_id: id }) => (
      <span className="mono small soft cut dev-subject" title={id ?? undefined}>
        {id}
      </span>
    ),
  },
  {
    label: text.columns.deliveries,
    narrow: 'plain',
    cell: ({ deliveries }) => (
      <span className="dev-status">
        {deliveries.length === 0 && <span className="soft">{text.notDelivered}</span>}
        {deliveries.map(({ id, status, endpoint }) => (
          <Badge key={id} tone={statusTones[status]}>
            {text.deliveredTo(splitUrl(endpoint.url).host, statuses[status])}
          </Badge>
        ))}
      </span>
    ),
  },
  {
    label: text.columns.at,
    narrow: 'plain',
    className: 'end',
    cellClassName: 'nowrap soft',
    cell: ({ recorded_at: at }) => <time dateTime={at}>{formatExact(at)}</time>,
  },
]

const { detail } = words.developers.events
const { delivery: labels, log } = webhookWords

type EventWithBody = DataOf<'GET /events/{id}'>
type EventDelivery = EventWithBody['deliveries'][number]

/** While a delivery is pending. */
const pendingPollMs = 1_000

/** An event: its body and its deliveries with their attempts. Owners and admins resend it to an endpoint. */
function EventDetail({ id, steps, onClose }: { id: string; steps: Steps; onClose: () => void }) {
  const [isPending, setPending] = useState(false)
  const event = useCall('GET /events/{id}', { params: { id } }, { pollMs: isPending ? pendingPollMs : false })
  const hasPending = event.data?.deliveries.some(({ status }) => status === 'pending') ?? false
  if (hasPending !== isPending) setPending(hasPending)
  const notFound = <EmptyState icon="search" title={detail.gone} text={detail.goneText} />
  return (
    <Detail id={id} title={event.data?.event ?? detail.facts} steps={steps} onClose={onClose}>
      <QueryView query={event} notFound={notFound}>
        {(loaded) => <Details event={loaded} />}
      </QueryView>
    </Detail>
  )
}

function Details({ event: { id, occurred_at, recorded_at, body, deliveries } }: { event: EventWithBody }) {
  return (
    <>
      <Facts
        label={detail.facts}
        facts={{
          [detail.id]: <CopyableCode text={id} label={detail.copyId} />,
          [detail.occurred]: <div className="mono">{occurred_at}</div>,
          [detail.recorded]: <div className="mono">{recorded_at}</div>,
        }}
      />
      <section className="stack stack-tight">
        <h3>{detail.deliveries}</h3>
        {deliveries.length === 0 && <p className="soft">{detail.noDeliveries}</p>}
        {deliveries.map((delivery) => (
          <DeliveryPart key={delivery.id} delivery={delivery} />
        ))}
      </section>
      <section className="stack stack-tight">
        <h3>{detail.body}</h3>
        <Code text={prettyJson(body)} />
      </section>
    </>
  )
}

function DeliveryPart({ delivery }: { delivery: EventDelivery }) {
  const isManager = useIsManager()
  const { id, endpoint, status, attempts } = delivery
  const wait = nextAttemptText(delivery)
  return (
    <article className="stack dev-delivery">
      <div className="row spread">
        <Link href={`/webhooks/${endpoint.id}?delivery=${id}`} className="dev-endpoint" title={detail.toEndpoint}>
          <EndpointUrl url={endpoint.url} />
        </Link>
        <span className="dev-status" aria-live="polite">
          {wait && <span className="soft small">{wait}</span>}
          <Badge tone={statusTones[status]}>{log.statuses[status]}</Badge>
          {isManager && (
            <CallButton
              label={labels.redeliver}
              size="small"
              icon="refresh"
              disabled={!endpoint.is_active}
              call="POST /deliveries/{id}/redeliver"
              input={{ params: { id } }}
              stale={['GET /events', 'GET /events/{id}', 'GET /webhooks/{id}/deliveries']}
              done={labels.redelivered}
            />
          )}
        </span>
      </div>
      {isManager && !endpoint.is_active && <p className="soft small">{labels.disabled}</p>}
      <details className="hooks-fold">
        <summary>{`${labels.attempts}: ${attempts.length}`}</summary>
        <Attempts attempts={attempts} />
      </details>
    </article>
  )
}
