/** The webhook endpoints with their state. Endpoints of integrations are only counted here. */
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../../../ui/controls.tsx'
import { Card, EmptyState } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { DeveloperTabs } from '../ui/developer-tabs.tsx'
import { ListenCommand } from '../ui/listen-command.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { webhookWords } from '../words/webhooks.ts'
import { type Endpoint, EndpointUrl, EventList, LastAttempt, StateBadge } from './endpoint.tsx'
import { EndpointDialog } from './endpoint-form.tsx'
import { SigningSecret } from './rotate.tsx'

const webhooks = webhookWords

/** Poll interval of endpoints: deliveries trigger no live updates. */
export const endpointPollMs = 5_000

export function EndpointList() {
  const isManager = useIsManager()
  const [isAdding, setAdding] = useState(false)
  const endpoints = useCall('GET /webhooks', {}, { live: true, pollMs: endpointPollMs })
  const add = isManager && <Button label={webhooks.add} variant="primary" icon="plus" onClick={() => setAdding(true)} />
  return (
    <Page title={webhooks.title} lead={webhooks.lead} actions={add}>
      <DeveloperTabs />
      <QueryView query={endpoints}>
        {(all) => {
          const own = all.filter(({ provider }) => provider === 'api')
          return (
            <>
              <Card flush>
                {own.length === 0 ? (
                  <Nothing add={add} />
                ) : (
                  <Table
                    className="hooks-table"
                    label={webhooks.list}
                    isLinked
                    rows={own}
                    keyOf={({ id }) => id}
                    columns={columns}
                  />
                )}
              </Card>
              <OfTools number={all.length - own.length} />
            </>
          )
        }}
      </QueryView>
      {isAdding && <AddEndpoint onClose={() => setAdding(false)} />}
    </Page>
  )
}

const columns: Column<Endpoint>[] = [
  {
    label: webhooks.columns.url,
    cell: ({ id, url }) => (
      <Link href={`/webhooks/${id}`} className="row-link">
        <EndpointUrl url={url} />
      </Link>
    ),
  },
  {
    label: webhooks.columns.events,
    className: 'hooks-wide',
    cell: ({ events }) => <EventList events={events} />,
  },
  {
    label: webhooks.columns.state,
    narrow: 'plain',
    cell: (endpoint) => (
      <span className="hooks-status">
        <StateBadge endpoint={endpoint} />
        {endpoint.failure_count > 0 && <span className="soft small">{webhooks.inARow(endpoint.failure_count)}</span>}
      </span>
    ),
  },
  {
    label: webhooks.columns.last,
    className: 'end',
    cell: (endpoint) => <LastAttempt endpoint={endpoint} />,
  },
]

function Nothing({ add }: { add: ReactNode }) {
  return (
    <>
      <EmptyState
        icon="webhooks"
        title={webhooks.emptyTitle}
        text={add ? webhooks.emptyText : webhooks.emptyAgent}
        action={
          <>
            {add}
            <a className="button" href="/docs#verifying" target="_blank" rel="noopener">
              {webhooks.toDocs}
              <Icon name="external" />
            </a>
          </>
        }
      />
      {add && (
        <div className="stack stack-tight card-body hooks-listen">
          <ListenCommand />
        </div>
      )}
    </>
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
  const create = useChange('POST /webhooks', { stale: ['GET /webhooks'] })
  const { form, secret: labels } = webhooks
  if (create.data) {
    return <SigningSecret title={labels.title} text={labels.text} secret={create.data.secret} onClose={onClose} />
  }
  return (
    <EndpointDialog
      title={form.create}
      action={form.submit}
      isBusy={create.isPending}
      error={create.error}
      onSubmit={(body) => create.mutate({ body })}
      onClose={onClose}
    />
  )
}
