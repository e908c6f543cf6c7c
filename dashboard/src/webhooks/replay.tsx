/** Send again everything of a time, after a receiver was down or lost what it had. */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { useChange } from '../lib/api.ts'
import { faultOf } from '../lib/faults.ts'
import { words } from '../words/words.ts'

const { replay: said } = words.webhooks

const hourMs = 3_600_000
const quick = [
  { label: said.lastHour, ms: hourMs },
  { label: said.lastDay, ms: 24 * hourMs },
  { label: said.lastWeek, ms: 7 * 24 * hourMs },
]

/** Up to the end of this minute, since fields hold no seconds and now must be within. */
function rangeOf(ms: number): { from: string; to: string } {
  const end = Math.ceil(Date.now() / 60_000) * 60_000
  return { from: toField(end - ms), to: toField(end) }
}

/** What a field for a date and time takes: local, without a zone. */
function toField(ms: number): string {
  const offsetMs = new Date(ms).getTimezoneOffset() * 60_000
  return new Date(ms - offsetMs).toISOString().slice(0, 16)
}

const toMoment = (field: string): string => new Date(field).toISOString()

export function ReplayDialog({ endpointId, onClose }: { endpointId: string; onClose: () => void }) {
  const toast = useToast()
  const [range, setRange] = useState(() => rangeOf(hourMs))
  const replay = useChange('POST /webhooks/{id}/replay', {
    stale: ['GET /webhooks/{id}/deliveries'],
    onDone: ({ queued }) => {
      toast.success(said.queued(queued))
      onClose()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const body = { from: toMoment(range.from), to: toMoment(range.to) }
    replay.mutate({ params: { id: endpointId }, body })
  }
  const bind = (name: 'from' | 'to') => ({
    type: 'datetime-local',
    required: true,
    value: range[name],
    onChange: (event: { target: { value: string } }) => setRange({ ...range, [name]: event.target.value }),
  })
  return (
    <Dialog title={said.title} onClose={onClose}>
      <form onSubmit={submit}>
        <p className="soft">{said.text}</p>
        {/* biome-ignore lint/a11y/useSemanticElements: they are deeds, not fields. */}
        <div className="row" role="group" aria-label={said.quick}>
          {quick.map(({ label, ms }) => (
            <Button key={label} size="small" onClick={() => setRange(rangeOf(ms))}>
              {label}
            </Button>
          ))}
        </div>
        <div className="hooks-range">
          <Field label={said.from}>{(wiring) => <Input {...wiring} {...bind('from')} />}</Field>
          <Field label={said.to} hint={said.limit} fault={faultOf(replay.error, 'from', 'to')}>
            {(wiring) => <Input {...wiring} {...bind('to')} />}
          </Field>
        </div>
        <div className="dialog-foot">
          <Button onClick={onClose}>{words.common.cancel}</Button>
          <Button type="submit" variant="primary" icon="refresh" busy={replay.isPending}>
            {said.action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
