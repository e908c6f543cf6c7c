/** Replays the events of a period, for example after an outage of the receiver. */
import { useState } from 'react'
import { Button, InputField } from '../../../ui/controls.tsx'
import { useChange } from '../lib/api.ts'
import { fieldErrorOf } from '../lib/field-errors.ts'
import { toDatetimeLocal } from '../lib/time.ts'
import { FormDialog } from '../ui/dialogs.tsx'
import { webhookWords } from '../words/webhooks.ts'

const { replay: labels } = webhookWords

const hourMs = 3_600_000
const presets = [
  { label: labels.lastHour, ms: hourMs },
  { label: labels.lastDay, ms: 24 * hourMs },
  { label: labels.lastWeek, ms: 7 * 24 * hourMs },
]

/** A period that ends with the current minute, because the inputs have no seconds. */
function rangeOf(ms: number): { from: string; to: string } {
  const end = Math.ceil(Date.now() / 60_000) * 60_000
  return { from: toDatetimeLocal(end - ms), to: toDatetimeLocal(end) }
}

const toTimestamp = (field: string): string => new Date(field).toISOString()

export function ReplayDialog({ endpointId, onClose }: { endpointId: string; onClose: () => void }) {
  const [range, setRange] = useState(() => rangeOf(hourMs))
  const replay = useChange('POST /webhooks/{id}/replay', {
    stale: ['GET /webhooks/{id}/deliveries'],
    done: ({ queued }) => labels.queued(queued),
    onDone: onClose,
  })
  const submit = () => {
    const body = { from: toTimestamp(range.from), to: toTimestamp(range.to) }
    replay.mutate({ params: { id: endpointId }, body })
  }
  const bind = (name: 'from' | 'to') => ({
    type: 'datetime-local',
    required: true,
    value: range[name],
    onChange: (event: { target: { value: string } }) => setRange({ ...range, [name]: event.target.value }),
  })
  return (
    <FormDialog
      title={labels.title}
      action={labels.action}
      icon="refresh"
      isBusy={replay.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <p className="soft">{labels.text}</p>
      {/* biome-ignore lint/a11y/useSemanticElements: the group contains buttons, not fields. */}
      <div className="row" role="group" aria-label={labels.quick}>
        {presets.map(({ label, ms }) => (
          <Button label={label} key={label} size="small" onClick={() => setRange(rangeOf(ms))} />
        ))}
      </div>
      <div className="hooks-range">
        <InputField label={labels.from} {...bind('from')} />
        <InputField
          label={labels.to}
          hint={labels.limit}
          error={fieldErrorOf(replay.error, 'from', 'to')}
          {...bind('to')}
        />
      </div>
    </FormDialog>
  )
}
