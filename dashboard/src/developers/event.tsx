/** The dialog of an event: its body and its deliveries with their attempts. Owners and admins resend it to an endpoint. */
import { useState } from 'react'
import { Link } from 'wouter'
import { Badge, Code, EmptyState } from '../../../ui/display.tsx'
import { Dialog } from '../../../ui/overlays.tsx'
import { type DataOf, useCall } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { CallButton } from '../ui/dialogs.tsx'
import { CopyableCode, Facts } from '../ui/facts.tsx'
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
      <Facts
        label={detail.facts}
        facts={{
          [detail.id]: <CopyableCode text={id} label={detail.copyId} />,
          [detail.occurred]: <div className="mono">{occurred_at}</div>,
          [detail.recorded]: <div className="mono">{recorded_at}</div>,
        }}
      />
      <section className="stack-tight">
        <h3>{detail.deliveries}</h3>
        {deliveries.length === 0 && <p className="soft">{detail.noDeliveries}</p>}
        {deliveries.map((delivery) => (
          <DeliveryPart key={delivery.id} delivery={delivery} />
        ))}
      </section>
      <section className="stack-tight">
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
    <article className="dev-delivery">
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
