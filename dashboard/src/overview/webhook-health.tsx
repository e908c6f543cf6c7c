/** The state of webhook endpoints, failing ones first. */
import { Link } from 'wouter'
import { Card } from '../../../ui/display.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { type EndpointState, EndpointUrl, LastAttempt, StateBadge, stateOf } from '../webhooks/endpoint.tsx'
import { words } from '../words/words.ts'
import type { OverviewView } from './metrics.ts'

const { webhooks: labels } = words.overview

type Health = OverviewView['webhooks'][number]

const urgency: Record<EndpointState, number> = { stopped: 0, failing: 1, active: 2, inactive: 3 }
const shown = 8

export function WebhookHealth({ webhooks }: { webhooks: readonly Health[] }) {
  const worstFirst = webhooks.toSorted((one, other) => urgency[stateOf(one)] - urgency[stateOf(other)])
  const hidden = webhooks.length - shown
  return (
    <Card
      flush={webhooks.length > 0}
      title={labels.title}
      actions={<LinkButton label={labels.all} href="/webhooks" size="small" variant="quiet" />}
    >
      {webhooks.length === 0 ? (
        <p className="soft">
          {labels.none} <Link href="/webhooks">{labels.add}</Link>
        </p>
      ) : (
        <ul className="overview-hooks lined">
          {worstFirst.slice(0, shown).map((webhook) => (
            <Row key={webhook.id} webhook={webhook} />
          ))}
          {hidden > 0 && <li className="soft small">{labels.more(hidden)}</li>}
        </ul>
      )}
    </Card>
  )
}

function Row({ webhook }: { webhook: Health }) {
  const { id, url, waiting_count } = webhook
  return (
    <li data-link="">
      <Link href={`/webhooks/${id}`}>
        <EndpointUrl url={url} />
      </Link>
      <span className="row">
        {waiting_count > 0 && <span className="soft small numeric">{labels.waiting(waiting_count)}</span>}
        <span className="small">
          <LastAttempt endpoint={webhook} />
        </span>
        <StateBadge endpoint={webhook} />
      </span>
    </li>
  )
}
