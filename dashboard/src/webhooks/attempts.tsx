/** The attempts of a delivery, newest first: time, duration, response and error. */

import { Badge, Code } from '../../../ui/display.tsx'
import { formatTime } from '../lib/time.ts'
import { webhookWords } from '../words/webhooks.ts'
import { prettyJson } from './pretty-json.ts'
import { type Attempt, statusTones } from './use-deliveries.ts'

const { delivery: labels, log } = webhookWords

export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  const newestFirst = attempts.toReversed()
  return (
    <section className="stack stack-tight">
      <h3>{labels.attempts}</h3>
      {newestFirst.length === 0 && <p className="soft">{labels.noAttempts}</p>}
      <ol className="hooks-attempts lined">
        {newestFirst.map((attempt, index) => (
          <li key={attempt.at + attempt.attempt}>
            <AttemptItem attempt={attempt} isNewest={index === 0} />
          </li>
        ))}
      </ol>
    </section>
  )
}

function AttemptItem({ attempt, isNewest }: { attempt: Attempt; isNewest: boolean }) {
  const { attempt: number, status, http_status, duration_ms, error, response, at } = attempt
  // `pending` here means that the attempt failed and the delivery will be retried.
  const tone = status === 'pending' ? 'amber' : statusTones[status]
  return (
    <>
      <div className="row spread">
        <div className="row">
          <strong>{labels.attempt(number)}</strong>
          {http_status === null ? (
            <span className="hooks-reason" data-tone={tone}>
              {error ?? log.statuses[status]}
            </span>
          ) : (
            <Badge tone={tone}>{labels.answered(http_status)}</Badge>
          )}
        </div>
        <span className="soft small numeric">
          {duration_ms === null ? null : `${log.milliseconds(duration_ms)} · `}
          <time dateTime={at}>{formatTime(at)}</time>
        </span>
      </div>
      {http_status !== null && (
        <details className="hooks-fold" open={isNewest}>
          <summary>{labels.response}</summary>
          {response ? <Code text={prettyJson(response)} /> : <p className="soft small">{labels.noResponse}</p>}
        </details>
      )}
    </>
  )
}
