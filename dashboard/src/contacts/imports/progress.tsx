/** The progress of a check, an import or an undo: a bar, the speed and the time that is left. */
import { Button } from '../../../../ui/controls.tsx'
import { Card, Progress } from '../../../../ui/display.tsx'
import { formatSpan } from '../../lib/time.ts'
import { ConfirmButton } from '../../ui/dialogs.tsx'
import { importWords } from '../../words/imports.ts'
import type { Import } from './state.tsx'

const { progress: text } = importWords

export function ImportProgress({ value }: { value: Import }) {
  const { id, state, size_bytes, progress } = value
  if (!progress) return null
  const title = state === 'checking' ? text.checking : state === 'undoing' ? text.undoing : text.importing
  const { rows_done, rows_total, bytes_done, rows_per_second, seconds_left } = progress
  const [done, total] = rows_total === null ? [bytes_done, size_bytes] : [rows_done, rows_total]
  const facts = [
    (state === 'undoing' ? text.contacts : text.rows)(rows_done, rows_total),
    ...(rows_per_second === null ? [] : [text.speed(rows_per_second)]),
    ...(seconds_left === null ? [] : [text.left(formatSpan(seconds_left * 1_000))]),
  ]
  return (
    <Card title={title}>
      <Progress label={title} total={Math.max(1, total)} parts={[{ value: Math.min(done, total) }]} />
      <p className="imports-facts">{progress.is_waiting ? text.waiting : facts.join(' · ')}</p>
      <p className="soft small">{text.note}</p>
      {state === 'importing' && (
        <div className="row">
          <ConfirmButton
            button={<Button label={text.cancel} />}
            title={text.cancelTitle}
            text={text.cancelText}
            action={text.cancelDo}
            danger
            call="DELETE /imports/{id}"
            input={{ params: { id } }}
            stale={['GET /imports/{id}', 'GET /imports']}
            done={text.canceled}
          />
        </div>
      )}
    </Card>
  )
}
