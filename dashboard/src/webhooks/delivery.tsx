/** The dialog of a delivery: request, attempts and resend. Polled while pending. After a resend it shows the new delivery. */
import { useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Badge, Code, EmptyState, ErrorNote, Note } from '../../../ui/display.tsx'
import { Dialog } from '../../../ui/overlays.tsx'
import { describeError, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { Facts } from '../ui/facts.tsx'
import { QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { words } from '../words/words.ts'
import { Attempts } from './attempts.tsx'
import type { Endpoint } from './endpoint.tsx'
import { prettyJson } from './pretty-json.ts'
import { nextAttemptText, statusTones, useDelivery } from './use-deliveries.ts'

const { delivery: labels, log } = words.webhooks

type DeliveryView = NonNullable<ReturnType<typeof useDelivery>['data']>

type DeliveryProps = {
  id: string
  endpoint: Endpoint
  /** Shows another delivery in the dialog. */
  onShow: (id: string) => void
  onClose: () => void
}

export function DeliveryDialog({ id, endpoint, onShow, onClose }: DeliveryProps) {
  const delivery = useDelivery(id)
  const [resentId, setResentId] = useState('')
  const showNew = (other: string) => {
    setResentId(other)
    onShow(other)
  }
  return (
    <Dialog title={delivery.data?.event ?? labels.facts} size="wide" onClose={onClose}>
      <QueryView query={delivery} notFound={<EmptyState icon="search" title={labels.gone} />}>
        {(loaded) => (
          <>
            {resentId === id && <Note tone="green">{labels.seeNew}</Note>}
            <Facts label={labels.facts} facts={factsOf(loaded)} />
            <Attempts attempts={loaded.attempts} />
            <Request request={loaded.request} />
            <ResendBar delivery={loaded} endpoint={endpoint} onShow={showNew} onClose={onClose} />
          </>
        )}
      </QueryView>
    </Dialog>
  )
}

function factsOf(delivery: DeliveryView) {
  const wait = nextAttemptText(delivery)
  return {
    [labels.status]: (
      <div className="row" aria-live="polite">
        <Badge tone={statusTones[delivery.status]}>{log.statuses[delivery.status]}</Badge>
        {wait && <span className="soft small">{wait}</span>}
      </div>
    ),
    [log.columns.at]: <RelativeTime at={delivery.created_at} />,
    [labels.eventId]: <div className="mono">{delivery.event_id}</div>,
  }
}

function Request({ request: { headers, body } }: { request: DeliveryView['request'] }) {
  return (
    <section className="stack stack-tight">
      <h3>{labels.request}</h3>
      {body === null ? <Note>{labels.notKept}</Note> : <Code text={prettyJson(body)} />}
      <details className="hooks-fold">
        <summary>{labels.headers}</summary>
        <dl className="facts hooks-headers small">
          {headers.map(({ name, value }) => (
            <Header key={name} name={name} value={value} />
          ))}
        </dl>
        <p className="soft small">{labels.signed}</p>
      </details>
    </section>
  )
}

const Header = ({ name, value }: { name: string; value: string }) => (
  <>
    <dt className="mono">{name}</dt>
    <dd className="mono">{value}</dd>
  </>
)

type ResendBarProps = { delivery: DeliveryView } & Omit<DeliveryProps, 'id'>

function ResendBar({ delivery, endpoint, onShow, onClose }: ResendBarProps) {
  const isManager = useIsManager()
  const redeliver = useChange('POST /deliveries/{id}/redeliver', {
    stale: ['GET /webhooks/{id}/deliveries'],
    done: labels.redelivered,
    onDone: ({ id }) => onShow(id),
  })
  return (
    <>
      {redeliver.error && <ErrorNote>{describeError(redeliver.error)}</ErrorNote>}
      {isManager && !endpoint.is_active && <p className="soft small">{labels.disabled}</p>}
      <div className="dialog-foot hooks-foot">
        <Button label={words.common.close} onClick={onClose} />
        {isManager && delivery.request.body !== null && (
          <Button
            label={labels.redeliver}
            variant="primary"
            icon="refresh"
            busy={redeliver.isPending}
            disabled={!endpoint.is_active}
            onClick={() => redeliver.mutate({ params: { id: delivery.id } })}
          />
        )}
      </div>
    </>
  )
}
