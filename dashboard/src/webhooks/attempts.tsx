/** Every attempt of a delivery, newest first: when, how long, what came back, and why it did not count. */

import { Badge } from '../../../ui/badge.tsx'
import { Code } from '../../../ui/copy.tsx'
import { formatTime } from '../lib/time.ts'
import { words } from '../words/words.ts'
import { type Attempt, statusTones } from './deliveries.ts'
import { prettyJson } from './pretty.ts'

const { delivery: said, log } = words.webhooks

export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  const newestFirst = attempts.toReversed()
  return (
    <section className="hooks-part">
      <h3>{said.attempts}</h3>
      {newestFirst.length === 0 && <p className="soft">{said.noAttempts}</p>}
      <ol className="hooks-attempts">
        {newestFirst.map((attempt, place) => (
          <li key={attempt.at + attempt.attempt}>
            <Tried attempt={attempt} isNewest={place === 0} />
          </li>
        ))}
      </ol>
    </section>
  )
}

function Tried({ attempt, isNewest }: { attempt: Attempt; isNewest: boolean }) {
  const { attempt: number, status, http_status, duration_ms, error, response, at } = attempt
  // After an attempt that failed the delivery may still be pending: of the attempt itself that is a failure.
  const tone = status === 'pending' ? 'amber' : statusTones[status]
  return (
    <>
      <div className="row spread">
        <div className="row">
          <strong>{said.attempt(number)}</strong>
          {http_status === null ? (
            <span className="hooks-reason" data-tone={tone}>
              {error ?? log.statuses[status]}
            </span>
          ) : (
            <Badge tone={tone}>{said.answered(http_status)}</Badge>
          )}
        </div>
        <span className="soft small numeric">
          {duration_ms === null ? null : `${log.milliseconds(duration_ms)} · `}
          <time dateTime={at}>{formatTime(at)}</time>
        </span>
      </div>
      {http_status !== null && (
        <details className="hooks-fold" open={isNewest}>
          <summary>{said.response}</summary>
          {response ? <Code text={prettyJson(response)} /> : <p className="soft small">{said.noResponse}</p>}
        </details>
      )}
    </>
  )
}
