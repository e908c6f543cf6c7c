/** The status of a test event, updated until it is delivered or has failed. */
import { useEffect } from 'react'
import { Link } from 'wouter'
import { Icon } from '../../../ui/icon.tsx'
import { describeError, invalidate } from '../lib/api.ts'
import { webhookWords } from '../words/webhooks.ts'
import { lastAttempt, useDelivery } from './use-deliveries.ts'

const { log, test } = webhookWords

type Outcome = { tone: 'green' | 'amber' | 'red' | 'blue'; text: string }

/** `onView`: the member opens the delivery, for a dialog that would cover it. */
type Props = { id: string; endpointId: string; onView?: () => void }

export function TestResult({ id, endpointId, onView }: Props) {
  const delivery = useDelivery(id)
  const status = delivery.data?.status
  // The test changes the state of the endpoint, which the page shows.
  useEffect(() => {
    if (status && status !== 'pending') void invalidate({ queryKey: ['GET /webhooks'] })
  }, [status])
  const { tone, text } = delivery.error
    ? ({ tone: 'red', text: describeError(delivery.error) } as const)
    : outcomeOf(delivery.data)
  return (
    <div className="note hooks-outcome" data-tone={tone} role="status">
      {tone === 'blue' ? (
        <span className="spinner" aria-hidden="true" />
      ) : (
        <Icon name={tone === 'green' ? 'check' : 'alert'} />
      )}
      <div>
        {text}{' '}
        <Link href={`/webhooks/${endpointId}?delivery=${id}`} {...(onView && { onClick: onView })}>
          {test.view}
        </Link>
      </div>
    </div>
  )
}

function outcomeOf(delivery: ReturnType<typeof useDelivery>['data']): Outcome {
  const attempt = delivery && lastAttempt(delivery)
  if (delivery?.status === 'canceled') return { tone: 'red', text: test.canceled }
  if (!delivery || !attempt) return { tone: 'blue', text: test.sending }
  const reason = attempt.error ?? log.noAnswer
  if (delivery.status === 'pending') return { tone: 'amber', text: test.retrying(reason) }
  return delivery.status === 'delivered'
    ? { tone: 'green', text: test.delivered(attempt.http_status ?? 200, log.milliseconds(attempt.duration_ms ?? 0)) }
    : { tone: 'red', text: test.failed(reason) }
}
