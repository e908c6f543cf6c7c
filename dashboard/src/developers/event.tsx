/** The dialog of an event: its body and its deliveries with their attempts. Owners and admins resend it to an endpoint. */
import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../../../ui/controls.tsx'
import { Badge, Code, CopyButton, EmptyState } from '../../../ui/display.tsx'
import { Dialog, useToast } from '../../../ui/overlays.tsx'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { QueryView } from '../ui/page.tsx'
import { Attempts } from '../webhooks/attempts.tsx'
import { EndpointUrl } from '../webhooks/endpoint.tsx'
import { prettyJson } from '../webhooks/pretty-json.ts'
import { nextAttemptText, statusTones } from '../webhooks/use-deliveries.ts'
import { words } from '../words/words.ts'

const { detail } = words.developers.events
const { delivery: labels, log } = words.webhooks

type EventWithBody = DataOf<'GET /events/{id}'>
type EventDelivery = EventWithBody['deliveries'][number]

/** While a delivery is pending. */
const pendingPollMs = 1_000

export function EventDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [isPending, setPending] = useState(false)
  const event = useCall('GET /events/{id}', { params: { id } }, { pollMs: isPending ? pendingPollMs : false })
  const hasPending = event.data?.deliveries.some(({ status }) => status === 'pending') ?? false
  if (hasPending !== isPending) setPending(hasPending)
  const notFound = <EmptyState icon="search" title={detail.gone} text={detail.goneText} />
  return (
    <Dialog title={event.data?.event ?? detail.facts} size="wide" onClose={onClose}>
      <QueryView query={event} notFound={notFound}>
        {(loaded) => <Details event={loaded} />}
      </QueryView>
    </Dialog>
  )
}

function Details({ event: { id, occurred_at, recorded_at, body, deliveries } }: { event: EventWithBody }) {
  return (
    <>
      <dl className="facts" aria-label={detail.facts}>
        <dt>{detail.id}</dt>
        <dd className="row">
          <code>{id}</code>
          <CopyButton text={id} size="small" label={detail.copyId} />
        </dd>
        <dt>{detail.occurred}</dt>
        <dd className="mono">{occurred_at}</dd>
        <dt>{detail.recorded}</dt>
        <dd className="mono">{recorded_at}</dd>
      </dl>
      <section className="dev-part">
        <h3>{detail.deliveries}</h3>
        {deliveries.length === 0 && <p className="soft">{detail.noDeliveries}</p>}
        {deliveries.map((delivery) => (
          <DeliveryPart key={delivery.id} delivery={delivery} />
        ))}
      </section>
      <section className="dev-part">
        <h3>{detail.body}</h3>
        <Code text={prettyJson(body)} />
      </section>
    </>
  )
}

function DeliveryPart({ delivery }: { delivery: EventDelivery }) {
  const isManager = useIsManager()
  const toast = useToast()
  const { id, endpoint, status, attempts } = delivery
  const wait = nextAttemptText(delivery)
  const redeliver = useChange('POST /deliveries/{id}/redeliver', {
    stale: ['GET /events', 'GET /events/{id}', 'GET /webhooks/{id}/deliveries'],
    onDone: () => toast.success(labels.redelivered),
    onFailed: toast.error,
  })
  return (
    <article className="dev-delivery">
      <div className="row spread">
        <Link href={`/webhooks/${endpoint.id}?delivery=${id}`} className="dev-endpoint" title={detail.toEndpoint}>
          <EndpointUrl url={endpoint.url} />
        </Link>
        <span className="dev-status" aria-live="polite">
          {wait && <span className="soft small">{wait}</span>}
          <Badge tone={statusTones[status]}>{log.statuses[status]}</Badge>
          {isManager && (
            <Button
              label={labels.redeliver}
              size="small"
              icon="refresh"
              busy={redeliver.isPending}
              disabled={!endpoint.is_active}
              onClick={() => redeliver.mutate({ params: { id } })}
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
