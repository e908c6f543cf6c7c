/** The review before sending: recipients, skip reasons, duration and plan. */

import { Button } from '../../../ui/controls.tsx'
import { Note } from '../../../ui/display.tsx'
import type { DataOf } from '../lib/api.ts'
import { formatNumber, formatSpan } from '../lib/time.ts'
import { broadcastWords } from '../words/broadcasts.ts'
import { words } from '../words/words.ts'
import { type Fact, Facts } from './facts.tsx'
import { reasonText } from './status.tsx'
import type { Todo } from './use-draft.ts'

const { compose: text } = broadcastWords

type Preview = DataOf<'POST /broadcasts/preview'>

type ReviewProps = {
  todos: readonly Todo[]
  missingCount: number
  preview: Preview | undefined
  isChecking: boolean
  /** An error that belongs to no field of the page. */
  error: string | undefined
  hasFields: boolean
  hasBrokenImage: boolean
  onRetry: () => void
}

export function Review(props: ReviewProps) {
  const { todos, missingCount, preview, isChecking, error, hasFields, hasBrokenImage, onRetry } = props
  const isReady = todos.every((todo) => todo === 'name')
  return (
    <>
      {todos.length > 0 && (
        <div className="broadcasts-todo">
          <p className="soft">{text.todo}</p>
          <ul>
            {todos.map((todo) => (
              <li key={todo}>{todo === 'values' ? text.todos.values(missingCount) : text.todos[todo]}</li>
            ))}
          </ul>
        </div>
      )}
      {isReady && error && (
        <Note tone="red">
          <p role="alert">{error}</p>
          <Button label={words.common.again} size="small" icon="refresh" onClick={onRetry} />
        </Note>
      )}
      {isReady && !preview && isChecking && (
        <p className="soft" role="status">
          {text.checking}
        </p>
      )}
      {isReady && preview && (
        <div className="stack" aria-busy={isChecking} data-checking={isChecking ? '' : undefined}>
          <Facts facts={factsOf(preview)} />
          <SkipReasons preview={preview} />
          <PlanNote preview={preview} />
          {hasFields && preview.values_checked < preview.sendable && (
            <p className="soft small">{text.partly(preview.values_checked)}</p>
          )}
          {hasBrokenImage && <Note tone="amber">{text.imageBroken}</Note>}
        </div>
      )}
    </>
  )
}

const factsOf = ({ total, sendable, duration_seconds, plan }: Preview): Fact[] => [
  { label: text.total, value: formatNumber(total) },
  { label: text.sendable, value: formatNumber(sendable), isMain: true },
  { label: text.skipped, value: formatNumber(total - sendable) },
  { label: text.duration, value: formatSpan(duration_seconds * 1000) },
  { label: text.plan, value: plan.left === null ? text.unlimited : formatNumber(plan.left) },
]

function SkipReasons({ preview: { skipped } }: { preview: Preview }) {
  if (skipped.length === 0) return null
  return (
    <div className="broadcasts-skipped">
      <h3>{text.skippedBecause}</h3>
      <ul>
        {skipped.map(({ reason, count }) => (
          <li key={reason}>
            <span>{reasonText(reason)}</span>
            <span className="numeric">{formatNumber(count)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function PlanNote({ preview: { plan, sendable } }: { preview: Preview }) {
  const error = plan.state === 'lapsed' ? text.planLapsed : plan.fits ? undefined : text.planFull(plan.left ?? 0)
  if (!error && sendable > 0) return null
  return <Note tone={error ? 'red' : 'amber'}>{error ?? text.noRecipients}</Note>
}
