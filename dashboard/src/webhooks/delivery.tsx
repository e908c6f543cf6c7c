/** The details of a delivery: request, attempts and resend. Polled while pending. After a resend they show the new delivery. */
import { useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Badge, Code, CopyButton, EmptyState, ErrorNote, Note } from '../../../ui/display.tsx'
import { describeError, useChange } from '../lib/api.ts'
import { toCurl } from '../lib/curl.ts'
import { useIsManager } from '../lib/session.tsx'
import { Detail, type Steps } from '../ui/detail.tsx'
import { Facts, Headers } from '../ui/facts.tsx'
import { QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { webhookWords } from '../words/webhooks.ts'
import { Attempts } from './attempts.tsx'
import type { Endpoint } from './endpoint.tsx'
import { prettyJson } from './pretty-json.ts'
import { nextAttemptText, statusTones, useDelivery } from './use-deliveries.ts'

const { delivery: labels, log } = webhookWords

type DeliveryView = NonNullable<ReturnType<typeof useDelivery>['data']>

type DeliveryProps = {
  id: string
  endpoint: Endpoint
  steps: Steps
  /** Shows another delivery instead. */
  onShow: (id: string) => void
  onClose: () => void
}

export function DeliveryDetail({ id, endpoint, steps, onShow, onClose }: DeliveryProps) {
  const delivery = useDelivery(id)
  const [resentId, setResentId] = useState('')
  const showNew = (other: string) => {
    setResentId(other)
    onShow(other)
  }
  return (
    <Detail id={id} title={delivery.data?.event ?? labels.facts} steps={steps} onClose={onClose}>
      <QueryView query={delivery} notFound={<EmptyState icon="search" title={labels.gone} />}>
        {(loaded) => (
          <>
            {resentId === id && <Note tone="green">{labels.seeNew}</Note>}
            <Facts label={labels.facts} facts={factsOf(loaded)} />
            <Attempts attempts={loaded.attempts} />
            <Request request={loaded.request} url={endpoint.url} />
            <ResendBar delivery={loaded} endpoint={endpoint} onShow={showNew} />
          </>
        )}
      </QueryView>
    </Detail>
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

function Request({ request: { headers, body }, url }: { request: DeliveryView['request']; url: string }) {
  const isManager = useIsManager()
  const unsigned = headers.filter(({ name }) => !name.endsWith('-Signature'))
  return (
    <section className="stack stack-tight">
      <h3>{labels.request}</h3>
      {body === null ? <Note>{labels.notKept}</Note> : <Code text={prettyJson(body)} />}
      <Headers label={labels.headers} headers={headers} />
      <p className="soft small">{labels.signed}</p>
      {/* Other members see only the host of the URL. */}
      {isManager && body !== null && (
        <div>
          <CopyButton
            text={toCurl({ method: 'POST', url, headers: unsigned, body })}
            label={labels.curl}
            size="small"
          />
        </div>
      )}
    </section>
  )
}

type ResendBarProps = { delivery: DeliveryView } & Pick<DeliveryProps, 'endpoint' | 'onShow'>

function ResendBar({ delivery, endpoint, onShow }: ResendBarProps) {
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
      {isManager && delivery.request.body !== null && (
        <div className="dialog-foot hooks-foot">
          <Button
            label={labels.redeliver}
            variant="primary"
            icon="refresh"
            busy={redeliver.isPending}
            disabled={!endpoint.is_active}
            onClick={() => redeliver.mutate({ params: { id: delivery.id } })}
          />
        </div>
      )}
    </>
  )
}
