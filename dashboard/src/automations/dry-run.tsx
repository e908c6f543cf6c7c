/**
 * Tries an automation on the last 7 days: a button, then a summary, the runs that it would have started, and what cannot be known.
 *
 * The service tries the draft, else the published version. A panel beside the outline of the editor shows it.
 */
import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../../../ui/controls.tsx'
import { Badge, ErrorNote, Note, type Tone } from '../../../ui/display.tsx'
import { type DataOf, describeError, useChange } from '../lib/api.ts'
import { fieldErrorOf } from '../lib/field-errors.ts'
import { formatTime } from '../lib/time.ts'
import { Time } from '../ui/time.tsx'
import { automationDryRunWords as labels } from '../words/automation-dry-run.ts'
import './dry-run.css'

type Result = DataOf<'POST /automations/{id}/dry-run'>
type Run = Result['runs'][number]
type Step = Run['steps'][number]
type Reason = keyof typeof labels.reasons

/** Runs that are shown at first, and more at each click. */
const pageSize = 20

/** `updatedAt`: of the automation. A result of before its last change says so. */
export function DryRun({ automationId, updatedAt }: { automationId: string; updatedAt: string }) {
  const attempt = useChange('POST /automations/{id}/dry-run')
  const [triedAt, setTriedAt] = useState(updatedAt)
  const { data, error, isPending } = attempt
  return (
    <section className="dry-run" aria-label={labels.title}>
      <p className="soft">{labels.lead}</p>
      <div className="row">
        <Button
          icon={data ? 'refresh' : 'play'}
          label={data ? labels.again : labels.action}
          busy={isPending}
          onClick={() => {
            setTriedAt(updatedAt)
            attempt.mutate({ params: { id: automationId }, body: {} })
          }}
        />
      </div>
      <div role="status">
        {isPending && <p className="soft">{labels.reading}</p>}
        {data && !isPending && (
          <p className="dry-run-summary">{data.counts.runs > 0 ? labels.summary(data.counts) : labels.none}</p>
        )}
      </div>
      {error && <ErrorNote>{describeRefusal(error)}</ErrorNote>}
      {data && !isPending && <ResultView key={data.until} result={data} isStale={triedAt !== updatedAt} />}
    </section>
  )
}

/** A trigger without a past is a fault of no field that the panel has. */
const describeRefusal = (error: Error): string => fieldErrorOf(error, 'trigger') ?? describeError(error)

function ResultView({ result, isStale }: { result: Result; isStale: boolean }) {
  const [shown, setShown] = useState(pageSize)
  const { counts, runs, notes, is_complete } = result
  const rest = runs.length - shown
  return (
    <>
      {isStale && <Note tone="amber">{labels.stale}</Note>}
      {!is_complete && <Note tone="amber">{labels.incomplete}</Note>}
      {runs.length > 0 && (
        <>
          <Ends counts={counts} />
          <h3>{labels.runs}</h3>
          {labels.listed(runs.length, counts.runs) && <p className="soft">{labels.listed(runs.length, counts.runs)}</p>}
          <ol className="dry-run-runs">
            {runs.slice(0, shown).map((run, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a run of the past has no id, and the list does not change.
              <li key={i}>
                <RunView run={run} />
              </li>
            ))}
          </ol>
          {rest > 0 && (
            <div className="row">
              <Button
                size="small"
                label={labels.more(Math.min(rest, pageSize))}
                onClick={() => setShown(shown + pageSize)}
              />
            </div>
          )}
        </>
      )}
      {notes.length > 0 && (
        <details open={!is_complete}>
          <summary>{labels.notes}</summary>
          <ul className="dry-run-notes">
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

const tones: Partial<Record<Reason, Tone>> = {
  finished: 'green',
  handed_over: 'blue',
  person: 'blue',
  failed: 'red',
  limit_messages: 'red',
  limit_chain: 'red',
  call: 'amber',
}

/** How many runs ended in which way. */
function Ends({ counts }: { counts: Result['counts'] }) {
  const reasons = (Object.keys(labels.reasons) as Reason[]).filter((reason) => counts[reason] > 0)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls.
    <div className="dry-run-ends" role="group" aria-label={labels.ends}>
      {reasons.map((reason) => (
        <Badge key={reason} tone={tones[reason]}>
          {labels.reasons[reason]}: {counts[reason].toLocaleString()}
        </Badge>
      ))}
      {counts.open > 0 && (
        <Badge>
          {labels.open}: {counts.open.toLocaleString()}
        </Badge>
      )}
    </div>
  )
}

function RunView({ run }: { run: Run }) {
  const { conversation_id, message_id, message_text, started_at, reason, error, steps } = run
  const name = run.contact_name ?? labels.unnamed
  const query = message_id ? `?message=${message_id}` : ''
  return (
    <>
      <div className="dry-run-head">
        {conversation_id ? (
          <Link href={`/inbox/${conversation_id}${query}`} aria-label={labels.conversation(name)}>
            {name}
          </Link>
        ) : (
          <strong>{name}</strong>
        )}
        <span className="soft">
          <Time at={started_at} format={formatTime} />
        </span>
        <Badge tone={reason ? tones[reason] : undefined}>{reason ? labels.reasons[reason] : labels.open}</Badge>
      </div>
      {message_text && <p className="dry-run-cause">{labels.wrote(message_text)}</p>}
      {error && <p className="dry-run-cause">{error}</p>}
      {steps.length > 0 && (
        <details>
          <summary>{labels.steps(steps.length)}</summary>
          <ol className="dry-run-steps">
            {steps.map((step, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change.
              <li key={i}>
                <StepView step={step} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  )
}

function StepView({ step: { type, outcome, text, reason, input } }: { step: Step }) {
  return (
    <>
      <strong>{labels.outcomes[outcome] ?? labels.step[type] ?? type}</strong>
      {input && <span className="soft">{labels.wrote(input)}</span>}
      {text && <span> {text}</span>}
      {reason && <span className="soft">{reason}</span>}
    </>
  )
}
