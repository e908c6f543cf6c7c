/** The page of an endpoint: details, health, delivery log and, for owners and admins, actions. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Button, IconButton } from '../../../ui/controls.tsx'
import { Card, EmptyState, Note } from '../../../ui/display.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { invalidate, useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { formatDate } from '../lib/time.ts'
import { CallButton, ConfirmCall } from '../ui/dialogs.tsx'
import { Facts } from '../ui/facts.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { LastTime } from '../ui/time.tsx'
import { webhookWords } from '../words/webhooks.ts'
import { words } from '../words/words.ts'
import { type Endpoint, EventList, failureOf, LastAttempt, StateBadge, splitUrl, stateOf } from './endpoint.tsx'
import { EndpointDialog } from './endpoint-form.tsx'
import { EndpointHealth } from './health.tsx'
import { endpointPollMs } from './list.tsx'
import { DeliveryLog } from './log.tsx'
import { ReplayDialog } from './replay.tsx'
import { SecretFact } from './rotate.tsx'
import { TestDialog } from './test-event.tsx'

const webhooks = webhookWords
const { detail } = webhooks

export function EndpointPage({ id }: { id: string }) {
  const endpoints = useCall('GET /webhooks', {}, { live: true, pollMs: endpointPollMs })
  return (
    <QueryView query={endpoints}>
      {(all) => {
        const endpoint = all.find((each) => each.id === id)
        return endpoint ? <EndpointDetails endpoint={endpoint} /> : <EndpointNotFound />
      }}
    </QueryView>
  )
}

const backLinkOf = ({ provider }: Endpoint) =>
  provider === 'api'
    ? { href: '/webhooks', label: detail.back }
    : { href: '/integrations', label: detail.backToIntegrations }

function EndpointDetails({ endpoint }: { endpoint: Endpoint }) {
  const isManager = useIsManager()
  return (
    <Page
      title={splitUrl(endpoint.url).host}
      back={backLinkOf(endpoint)}
      actions={isManager && <Actions endpoint={endpoint} />}
    >
      <StateNote endpoint={endpoint} />
      <div className="hooks-top">
        <Card title={detail.facts} actions={<StateBadge endpoint={endpoint} />}>
          <Facts
            facts={{
              [detail.url]: <div className="mono">{endpoint.url}</div>,
              [detail.events]: <EventList events={endpoint.events} />,
              [webhooks.rotate.fact]: <SecretFact endpoint={endpoint} isManager={isManager} />,
              [detail.lastAttempt]: <LastAttempt endpoint={endpoint} />,
              [detail.last]: <LastTime at={endpoint.last_delivery_at} none={detail.noSuccess} />,
              [detail.failures]: detail.failuresOf(endpoint.failure_count),
              [detail.created]: formatDate(endpoint.created_at),
              [detail.id]: <div className="mono">{endpoint.id}</div>,
            }}
          />
        </Card>
        <EndpointHealth endpointId={endpoint.id} />
      </div>
      <DeliveryLog endpoint={endpoint} />
    </Page>
  )
}

/** Why events are not delivered, and how to fix it. */
function StateNote({ endpoint }: { endpoint: Endpoint }) {
  const isManager = useIsManager()
  const state = stateOf(endpoint)
  const failure = failureOf(endpoint)
  if (state === 'active') return null
  if (state === 'failing') {
    return (
      <Note tone="amber">
        {endpoint.failure_count > 0 && <p>{detail.failingText(endpoint.failure_count)}</p>}
        {failure !== undefined && <p>{detail.retryingText(failure)}</p>}
      </Note>
    )
  }
  return (
    <div className="note hooks-state-note" data-tone={state === 'stopped' ? 'red' : 'amber'}>
      <div className="grow">
        {state === 'stopped' && <strong>{detail.stoppedTitle}</strong>}
        <p>{state === 'stopped' ? detail.stoppedText : detail.inactiveText}</p>
      </div>
      {isManager && (
        <CallButton
          label={detail.enable}
          icon="play"
          call="PATCH /webhooks/{id}"
          input={{ params: { id: endpoint.id }, body: { is_active: true } }}
          stale={['GET /webhooks']}
          done={detail.enabled}
        />
      )}
    </div>
  )
}

function Actions({ endpoint }: { endpoint: Endpoint }) {
  const [open, setOpen] = useState<'edit' | 'test' | 'replay' | 'disable' | 'delete' | null>(null)
  const close = () => setOpen(null)
  return (
    <>
      <Button label={webhooks.test.open} icon="bolt" disabled={!endpoint.is_active} onClick={() => setOpen('test')} />
      <Button label={detail.replay} icon="refresh" disabled={!endpoint.is_active} onClick={() => setOpen('replay')} />
      <Button label={detail.edit} icon="edit" onClick={() => setOpen('edit')} />
      <Menu
        label={detail.more}
        button={<IconButton size="medium" label={detail.more} icon="more" variant="quiet" />}
        items={[
          ...(endpoint.is_active ? [{ label: detail.disable, onSelect: () => setOpen('disable') }] : []),
          { label: detail.delete, danger: true, onSelect: () => setOpen('delete') },
        ]}
      />
      {open === 'edit' && <EditDialog endpoint={endpoint} onClose={close} />}
      {open === 'test' && <TestDialog endpoint={endpoint} onClose={close} />}
      {open === 'replay' && <ReplayDialog endpointId={endpoint.id} onClose={close} />}
      {open === 'disable' && <DisableEndpoint endpoint={endpoint} onClose={close} />}
      {open === 'delete' && <DeleteEndpoint endpoint={endpoint} onClose={close} />}
    </>
  )
}

type ActionProps = { endpoint: Endpoint; onClose: () => void }

function EditDialog({ endpoint, onClose }: ActionProps) {
  const change = useChange('PATCH /webhooks/{id}', {
    stale: ['GET /webhooks'],
    done: webhooks.form.changed,
    onDone: onClose,
  })
  return (
    <EndpointDialog
      title={webhooks.form.edit}
      initial={endpoint}
      action={words.common.save}
      isBusy={change.isPending}
      error={change.error}
      onSubmit={({ url, events }) =>
        change.mutate({ params: { id: endpoint.id }, body: { events, ...(url === endpoint.url ? {} : { url }) } })
      }
      onClose={onClose}
    />
  )
}

const DisableEndpoint = ({ endpoint, onClose }: ActionProps) => (
  <ConfirmCall
    title={webhooks.disable.title}
    text={webhooks.disable.text}
    action={webhooks.disable.action}
    call="PATCH /webhooks/{id}"
    input={{ params: { id: endpoint.id }, body: { is_active: false } }}
    stale={['GET /webhooks', 'GET /webhooks/{id}/deliveries']}
    done={detail.disabled}
    onClose={onClose}
  />
)

function DeleteEndpoint({ endpoint, onClose }: ActionProps) {
  const [, navigate] = useLocation()
  return (
    <ConfirmCall
      title={webhooks.delete.title}
      text={webhooks.delete.text(endpoint.url)}
      action={webhooks.delete.action}
      danger
      call="DELETE /webhooks/{id}"
      input={{ params: { id: endpoint.id } }}
      done={webhooks.delete.done}
      onDone={() => {
        // Navigates first; otherwise the page would briefly show "Endpoint not found".
        navigate(backLinkOf(endpoint).href)
        void invalidate({ queryKey: ['GET /webhooks'] })
      }}
      onClose={onClose}
    />
  )
}

function EndpointNotFound() {
  return (
    <Page title={webhooks.title}>
      <EmptyState
        icon="webhooks"
        title={detail.goneTitle}
        text={detail.goneText}
        action={<LinkButton label={detail.back} href="/webhooks" />}
      />
    </Page>
  )
}
