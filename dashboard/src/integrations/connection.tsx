/** A connection of an automation tool: state, test event, delivery log and disconnect. */
import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import { useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { ConfirmButton } from '../ui/dialogs.tsx'
import { type Endpoint, EndpointUrl, EventList, LastAttempt, StateBadge } from '../webhooks/endpoint.tsx'
import { words } from '../words/words.ts'
import { TestResult } from './test-result.tsx'
import type { Tool } from './tools.tsx'

const { integrations } = words

export function Connection({ endpoint, tool }: { endpoint: Endpoint; tool: Tool }) {
  const isManager = useIsManager()
  return (
    <li>
      <div className="row spread">
        <EndpointUrl url={endpoint.url} />
        <StateBadge endpoint={endpoint} />
      </div>
      <div className="row tools-facts">
        <EventList events={endpoint.events} />
        <span className="small">
          <LastAttempt endpoint={endpoint} isSentence />
        </span>
      </div>
      {isManager ? (
        <ConnectionActions endpoint={endpoint} tool={tool} />
      ) : (
        <div className="row">
          <LogLink endpoint={endpoint} />
        </div>
      )}
    </li>
  )
}

const LogLink = ({ endpoint }: { endpoint: Endpoint }) => (
  <Link
    href={`/webhooks/${endpoint.id}`}
    className="button"
    data-size="small"
    data-variant="quiet"
    aria-label={integrations.logOf(endpoint.url)}
  >
    <Icon name="clock" />
    {integrations.log}
  </Link>
)

function ConnectionActions({ endpoint, tool }: { endpoint: Endpoint; tool: Tool }) {
  const toast = useToast()
  const [testId, setTestId] = useState('')
  const test = useChange('POST /integrations/{id}/test', {
    stale: ['GET /webhooks/{id}/deliveries'],
    onDone: ({ id }) => setTestId(id),
    onFailed: toast.error,
  })
  const enable = useChange('PATCH /webhooks/{id}', {
    stale: ['GET /webhooks'],
    onDone: () => toast.success(integrations.enabled),
    onFailed: toast.error,
  })
  const params = { id: endpoint.id }
  return (
    <>
      <div className="row">
        {endpoint.is_active ? (
          <Button
            label={integrations.test.action}
            size="small"
            icon="bolt"
            busy={test.isPending}
            title={integrations.test.actionOf(endpoint.url)}
            onClick={() => test.mutate({ params })}
          />
        ) : (
          <Button
            label={integrations.enable}
            size="small"
            icon="play"
            busy={enable.isPending}
            onClick={() => enable.mutate({ params, body: { is_active: true } })}
          />
        )}
        <LogLink endpoint={endpoint} />
        <Disconnect endpoint={endpoint} tool={tool} />
      </div>
      {testId && <TestResult key={testId} id={testId} endpointId={endpoint.id} />}
    </>
  )
}

function Disconnect({ endpoint, tool }: { endpoint: Endpoint; tool: Tool }) {
  const { disconnect } = integrations
  const { name } = integrations.tools[tool]
  return (
    <ConfirmButton
      button={<Button label={disconnect.action} size="small" variant="quiet" icon="off" />}
      title={disconnect.title(name)}
      action={disconnect.action}
      danger
      call="DELETE /webhooks/{id}"
      input={{ params: { id: endpoint.id } }}
      stale={['GET /webhooks']}
      done={disconnect.done(name)}
    >
      {disconnect.text(endpoint.url)}
    </ConfirmButton>
  )
}
