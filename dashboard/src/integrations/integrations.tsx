/**
 * Automation tools: one card per tool with its steps and connections. A connection is a webhook endpoint that belongs to the tool.
 * Other tools get an ordinary webhook endpoint.
 */
import '../webhooks/webhooks.css'
import './integrations.css'
import { useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Badge } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import type { Endpoint } from '../webhooks/endpoint.tsx'
import { EndpointDialog } from '../webhooks/endpoint-form.tsx'
import { endpointPollMs } from '../webhooks/list.tsx'
import { SigningSecret } from '../webhooks/rotate.tsx'
import { words } from '../words/words.ts'
import { Connection } from './connection.tsx'
import { type Tool, ToolLogo, tools } from './tools.tsx'

const { integrations } = words

export default function Integrations() {
  const endpoints = useCall('GET /webhooks', {}, { live: true, pollMs: endpointPollMs })
  return (
    <Page title={integrations.title} lead={integrations.lead}>
      <QueryView query={endpoints}>
        {(all) => (
          <div className="tools-grid">
            {tools.map((tool) => (
              <ToolCard key={tool} tool={tool} connections={all.filter(({ provider }) => provider === tool)} />
            ))}
            <OtherTools />
          </div>
        )}
      </QueryView>
    </Page>
  )
}

function ToolCard({ tool, connections }: { tool: Tool; connections: readonly Endpoint[] }) {
  const isManager = useIsManager()
  const [isConnecting, setConnecting] = useState(false)
  const { name, text, steps } = integrations.tools[tool]
  const isConnected = connections.length > 0
  return (
    <section className="card stack tools-card" aria-label={name}>
      <header className="line tools-head">
        <ToolLogo tool={tool} />
        <div className="grow">
          <h2>{name}</h2>
        </div>
        <Badge tone={isConnected ? 'green' : undefined}>
          {isConnected ? integrations.connected(connections.length) : integrations.notConnected}
        </Badge>
      </header>
      <p className="soft">{text}</p>
      {isConnected ? (
        <ul className="tools-connections lined" aria-label={integrations.connections(name)}>
          {connections.map((endpoint) => (
            <Connection key={endpoint.id} endpoint={endpoint} tool={tool} />
          ))}
        </ul>
      ) : (
        <StepList tool={name} steps={steps} />
      )}
      <footer className="tools-foot">
        {isManager ? (
          <Button
            label={isConnected ? integrations.another : integrations.connect}
            icon={isConnected ? 'plus' : 'link'}
            variant={isConnected ? undefined : 'primary'}
            onClick={() => setConnecting(true)}
          />
        ) : (
          <span className="soft small">{integrations.onlyManagers}</span>
        )}
      </footer>
      {isConnecting && <Connect tool={tool} onClose={() => setConnecting(false)} />}
    </section>
  )
}

const StepList = ({ tool, steps }: { tool: string; steps: readonly string[] }) => (
  <ol className="tools-steps soft" aria-label={integrations.steps(tool)}>
    {steps.map((step) => (
      <li key={step}>{step}</li>
    ))}
  </ol>
)

function OtherTools() {
  const { name, text, steps, action } = integrations.other
  return (
    <section className="card stack tools-card" aria-label={name}>
      <header className="line tools-head">
        <span className="mark tools-mark" data-tool="other" aria-hidden="true">
          <Icon name="webhooks" />
        </span>
        <h2 className="grow">{name}</h2>
      </header>
      <p className="soft">{text}</p>
      <StepList tool={name} steps={steps} />
      <footer className="tools-foot">
        <LinkButton label={useIsManager() ? action : integrations.toWebhooks} icon="webhooks" href="/webhooks" />
      </footer>
    </section>
  )
}

function Connect({ tool, onClose }: { tool: Tool; onClose: () => void }) {
  const { name, steps } = integrations.tools[tool]
  const { form, secret: labels } = integrations
  const connect = useChange('POST /integrations', { stale: ['GET /webhooks'] })
  if (connect.data) {
    const { secret } = connect.data
    return <SigningSecret title={labels.title(name)} text={labels.text} secret={secret} onClose={onClose} />
  }
  return (
    <EndpointDialog
      title={form.title(name)}
      lead={<StepList tool={name} steps={steps} />}
      urlLabel={form.url}
      action={form.submit}
      isBusy={connect.isPending}
      error={connect.error}
      onSubmit={(fields) => connect.mutate({ body: { provider: tool, ...fields } })}
      onClose={onClose}
    />
  )
}
