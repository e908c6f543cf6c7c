/**
 * One delivery, whole: what was sent, what came back on every attempt, and a
 * way to send it again. Followed while it is under way; sent again, the new
 * one takes its place.
 */
import { useState } from 'react'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { Code } from '../../../ui/copy.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { ErrorNote, Note } from '../../../ui/note.tsx'
import { EmptyState } from '../../../ui/state.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { CallError, describeError, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { words } from '../words/words.ts'
import { Attempts } from './attempts.tsx'
import { statusTones, useDelivery, waitOf } from './deliveries.ts'
import type { Endpoint } from './endpoint.tsx'
import { prettyJson } from './pretty.ts'

const { delivery: said, log } = words.webhooks

type Whole = NonNullable<ReturnType<typeof useDelivery>['data']>

type DeliveryProps = {
  id: string
  endpoint: Endpoint
  /** Another delivery is looked at instead. */
  onOther: (id: string) => void
  onClose: () => void
}

export function DeliveryDialog({ id, endpoint, onOther, onClose }: DeliveryProps) {
  const delivery = useDelivery(id)
  const [newest, setNewest] = useState('')
  const goTo = (other: string) => {
    setNewest(other)
    onOther(other)
  }
  const isGone = delivery.error instanceof CallError && delivery.error.status === 404
  return (
    <Dialog title={delivery.data?.event ?? said.facts} size="wide" onClose={onClose}>
      {isGone ? (
        <EmptyState icon="search" title={said.gone} />
      ) : (
        <QueryView query={delivery}>
          {(whole) => (
            <>
              {newest === id && (
                <Note tone="green" icon="check">
                  <p>{said.seeNew}</p>
                </Note>
              )}
              <Facts delivery={whole} />
              <Attempts attempts={whole.attempts} />
              <Request request={whole.request} />
              <Again delivery={whole} endpoint={endpoint} onOther={goTo} onClose={onClose} />
            </>
          )}
        </QueryView>
      )}
    </Dialog>
  )
}

function Facts({ delivery }: { delivery: Whole }) {
  const wait = waitOf(delivery)
  return (
    <dl className="facts" aria-label={said.facts}>
      <dt>{said.status}</dt>
      <dd className="row" aria-live="polite">
        <Badge tone={statusTones[delivery.status]}>{log.statuses[delivery.status]}</Badge>
        {wait && <span className="soft small">{wait}</span>}
      </dd>
      <dt>{log.columns.at}</dt>
      <dd>
        <RelativeTime at={delivery.created_at} />
      </dd>
      <dt>{said.eventId}</dt>
      <dd className="mono">{delivery.event_id}</dd>
    </dl>
  )
}

function Request({ request: { headers, body } }: { request: Whole['request'] }) {
  return (
    <section className="hooks-part">
      <h3>{said.request}</h3>
      {body === null ? (
        <Note>
          <p>{said.notKept}</p>
        </Note>
      ) : (
        <Code text={prettyJson(body)} />
      )}
      <details className="hooks-fold">
        <summary>{said.headers}</summary>
        <dl className="facts hooks-headers">
          {headers.map(({ name, value }) => (
            <Header key={name} name={name} value={value} />
          ))}
        </dl>
        <p className="soft small">{said.signed}</p>
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

type AgainProps = { delivery: Whole } & Omit<DeliveryProps, 'id'>

function Again({ delivery, endpoint, onOther, onClose }: AgainProps) {
  const isManager = useIsManager()
  const toast = useToast()
  const redeliver = useChange('POST /deliveries/{id}/redeliver', {
    stale: ['GET /webhooks/{id}/deliveries'],
    onDone: ({ id }) => {
      toast.success(said.redelivered)
      onOther(id)
    },
  })
  return (
    <>
      {redeliver.error && <ErrorNote>{describeError(redeliver.error)}</ErrorNote>}
      {isManager && !endpoint.is_active && <p className="soft small">{said.disabled}</p>}
      <div className="dialog-foot hooks-foot">
        <Button onClick={onClose}>{words.common.close}</Button>
        {isManager && delivery.request.body !== null && (
          <Button
            variant="primary"
            icon="refresh"
            busy={redeliver.isPending}
            disabled={!endpoint.is_active}
            onClick={() => redeliver.mutate({ params: { id: delivery.id } })}
          >
            {said.redeliver}
          </Button>
        )}
      </div>
    </>
  )
}
