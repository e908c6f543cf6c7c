/** Chooses when snoozed conversations return: later today, tomorrow, next week, or a date and time. */
import { type KeyboardEvent, useState } from 'react'
import { Button, Form, InputField } from '../../../../ui/controls.tsx'
import { Dialog } from '../../../../ui/overlays.tsx'
import { toDatetimeLocal } from '../../lib/datetime-local.ts'
import { formatTime } from '../../lib/time.ts'
import { words } from '../../words/words.ts'
import type { Conversation } from '../model/data.ts'
import { listSnoozeChoices } from './snooze-times.ts'

const { flow } = words.inbox

type Props = { rows: readonly Conversation[]; onChoose: (until: string | null) => void; onClose: () => void }

export default function SnoozeDialog({ rows, onChoose, onClose }: Props) {
  const [now] = useState(() => new Date())
  const [time, setTime] = useState(() => toDatetimeLocal(now.getTime() + 86_400_000))
  const [error, setError] = useState('')
  const choose = (until: string | null) => {
    onClose()
    onChoose(until)
  }
  const submit = () => {
    const at = new Date(time)
    if (Number.isNaN(at.getTime()) || at.getTime() <= Date.now()) setError(flow.past)
    else choose(at.toISOString())
  }
  const isSnoozed = rows.some(({ snoozed_until }) => snoozed_until !== null)
  return (
    <Dialog title={flow.snooze} onClose={onClose}>
      <p className="hint">{flow.snoozeText}</p>
      <ul className="inbox-choices" onKeyDown={moveBetweenChoices}>
        {listSnoozeChoices(now).map(({ key, at }, index) => (
          <li key={key}>
            <button type="button" data-focus={index === 0 ? '' : undefined} onClick={() => choose(at.toISOString())}>
              {flow[key]}
              <small>{formatTime(at.getTime())}</small>
            </button>
          </li>
        ))}
        {isSnoozed && (
          <li>
            <button type="button" onClick={() => choose(null)}>
              {flow.endSnooze}
            </button>
          </li>
        )}
      </ul>
      <Form className="inbox-choice-form" onSubmit={submit}>
        <InputField
          label={flow.snoozeAt}
          error={error}
          type="datetime-local"
          required
          value={time}
          min={toDatetimeLocal(now.getTime())}
          onChange={(event) => {
            setTime(event.target.value)
            setError('')
          }}
        />
        <Button label={flow.snoozeNow} type="submit" />
      </Form>
    </Dialog>
  )
}

/** The arrow keys move between the choices of a dialog and its search field. Enter also sets a check box. */
export function moveBetweenChoices(event: KeyboardEvent<HTMLElement>): void {
  const { target, key, currentTarget } = event
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  if (key === 'Enter' && target instanceof HTMLInputElement && target.type === 'checkbox') target.click()
  else if (!step) return
  else {
    const choices = [...(currentTarget.closest('dialog')?.querySelectorAll<HTMLElement>(choice) ?? [])]
    const from = choices.findIndex((each) => each.matches(':focus'))
    choices[Math.min(choices.length - 1, Math.max(0, from + step))]?.focus()
  }
  event.preventDefault()
}

const choice = 'input[type="search"], .inbox-choices > li > button:first-child, .inbox-choices > li > label > input'
