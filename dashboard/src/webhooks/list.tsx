/** The webhook endpoints with their state. Endpoints of integrations are only counted here. */
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { EmptyState } from '../../../ui/state.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { DeveloperTabs } from '../ui/developer-tabs.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { type Endpoint, EndpointUrl, EventList, LastAttempt, StateBadge } from './endpoint.tsx'
import { EndpointForm } from './endpoint-form.tsx'
import { SigningSecret } from './secret.tsx'

const { webhooks } = words
const { columns } = webhooks

/** Poll interval of endpoints: deliveries trigger no live updates. */
export const endpointPollMs = 5_000

export function EndpointList() {
  const isManager = useIsManager()
  const [isAdding, setAdding] = useState(false)
  const endpoints = useCall('GET /webhooks', {}, { live: true, pollMs: endpointPollMs })
  const add = isManager && (
    <Button variant="primary" icon="plus" onClick={() => setAdding(true)}>
      {webhooks.add}
    </Button>
  )
  return (
    <Page title={webhooks.title} lead={webhooks.lead} actions={add}>
      <DeveloperTabs />
      <QueryView query={endpoints}>
        {(all) => {
          const own = all.filter(({ provider }) => provider === 'api')
          return (
            <>
              <Card flush>{own.length > 0 ? <Table endpoints={own} /> : <Nothing add={add} />}</Card>
              <OfTools number={all.length - own.length} />
            </>
          )
        }}
      </QueryView>
      {isAdding && <AddEndpoint onClose={() => setAdding(false)} />}
    </Page>
  )
}

function Table({ endpoints }: { endpoints: readonly Endpoint[] }) {
  return (
    <table className="table hooks-table" aria-label={webhooks.list}>
      <thead>
        <tr>
          <th scope="col">{columns.url}</th>
          <th scope="col" className="hooks-wide">
            {columns.events}
          </th>
          <th scope="col">{columns.state}</th>
          <th scope="col" className="end">
            {columns.last}
          </th>
        </tr>
      </thead>
      <tbody>
        {endpoints.map((endpoint) => (
          <tr key={endpoint.id} data-link="">
            <td>
              <Link href={`/webhooks/${endpoint.id}`} className="row-link">
                <EndpointUrl url={endpoint.url} />
              </Link>
            </td>
            <td data-label={columns.events} className="hooks-wide">
              <EventList events={endpoint.events} />
            </td>
            <td data-label={columns.state}>
              <span className="hooks-status">
                <StateBadge endpoint={endpoint} />
                {endpoint.failure_count > 0 && (
                  <span className="soft small">{webhooks.inARow(endpoint.failure_count)}</span>
                )}
              </span>
            </td>
            <td data-label={columns.last} className="end">
              <LastAttempt endpoint={endpoint} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Nothing({ add }: { add: ReactNode }) {
  return (
    <EmptyState
      icon="webhooks"
      title={webhooks.emptyTitle}
      action={
        <>
          {add}
          <a className="button" href="/docs#verifying" target="_blank" rel="noopener">
            {webhooks.toDocs}
            <Icon name="external" />
          </a>
        </>
      }
    >
      {add ? webhooks.emptyText : webhooks.emptyAgent}
    </EmptyState>
  )
}

function OfTools({ number }: { number: number }) {
  if (number === 0) return null
  return (
    <p className="soft small">
      {webhooks.toIntegrations(number)} <Link href="/integrations">{webhooks.seeIntegrations}</Link>
    </p>
  )
}

function AddEndpoint({ onClose }: { onClose: () => void }) {
  const [secret, setSecret] = useState('')
  const create = useChange('POST /webhooks', {
    stale: ['GET /webhooks'],
    onDone: (made) => setSecret(made.secret),
  })
  const { form, secret: labels } = webhooks
  if (secret) return <SigningSecret title={labels.title} text={labels.text} secret={secret} onClose={onClose} />
  return (
    // Closing the dialog during the request would lose the secret.
    <Dialog title={form.create} onClose={() => !create.isPending && onClose()}>
      <EndpointForm
        action={form.submit}
        busy={create.isPending}
        error={create.error}
        onSubmit={(body) => create.mutate({ body })}
        onClose={onClose}
      />
    </Dialog>
  )
}
