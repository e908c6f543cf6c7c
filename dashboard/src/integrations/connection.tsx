/** A connection of an automation tool: state, test event, delivery log and disconnect. */
import { useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { useIsManager } from '../lib/session.tsx'
import { CallButton, ConfirmButton } from '../ui/dialogs.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { type Endpoint, EndpointUrl, EventList, LastAttempt, StateBadge } from '../webhooks/endpoint.tsx'
import { TestResult } from '../webhooks/test-result.tsx'
import { words } from '../words/words.ts'
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
  <LinkButton
    label={integrations.log}
    size="small"
    variant="quiet"
    icon="clock"
    href={`/webhooks/${endpoint.id}`}
    aria-label={integrations.logOf(endpoint.url)}
  />
)

function ConnectionActions({ endpoint, tool }: { endpoint: Endpoint; tool: Tool }) {
  const [testId, setTestId] = useState('')
  const params = { id: endpoint.id }
  return (
    <>
      <div className="row">
        {endpoint.is_active ? (
          <CallButton
            label={integrations.test.action}
            size="small"
            icon="bolt"
            title={integrations.test.actionOf(endpoint.url)}
            call="POST /integrations/{id}/test"
            input={{ params }}
            stale={['GET /webhooks/{id}/deliveries']}
            onDone={({ id }) => setTestId(id)}
          />
        ) : (
          <CallButton
            label={integrations.enable}
            size="small"
            icon="play"
            call="PATCH /webhooks/{id}"
            input={{ params, body: { is_active: true } }}
            stale={['GET /webhooks']}
            done={integrations.enabled}
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
      text={disconnect.text(endpoint.url)}
      action={disconnect.action}
      danger
      call="DELETE /webhooks/{id}"
      input={{ params: { id: endpoint.id } }}
      stale={['GET /webhooks']}
      done={disconnect.done(name)}
    />
  )
}
