/** Chooses when snoozed conversations return: later today, tomorrow, next week, or a date and time. */
import { type KeyboardEvent, useState } from 'react'
import { Button, Form, InputField } from '../../../../ui/controls.tsx'
import { formatTime, toDatetimeLocal } from '../../lib/time.ts'
import { type Anchor, Popover } from '../../ui/popover.tsx'
import { words } from '../../words/words.ts'
import type { Conversation } from '../model/data.ts'

const { flow } = words.inbox

type Props = {
  rows: readonly Conversation[]
  anchor: Anchor | undefined
  onChoose: (until: string | null) => void
  onClose: () => void
}

export default function SnoozeDialog({ rows, anchor, onChoose, onClose }: Props) {
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
    <Popover title={flow.snooze} anchor={anchor} onClose={onClose}>
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
    </Popover>
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

const choice =
  'input[type="search"], :is(.inbox-choices, .contact-choices, .inbox-picker-list ul) > li > button:first-child, .inbox-choices > li > label > input'

type SnoozeChoice = { key: 'laterToday' | 'thisMorning' | 'tomorrow' | 'nextWeek'; at: Date }

const laterHours = 3
const morningHour = 9

/** The times that the dialog offers, by the clock of the browser. */
function listSnoozeChoices(now: Date): SnoozeChoice[] {
  const later = new Date(now.getTime() + laterHours * 3_600_000)
  later.setMinutes(later.getMinutes() < 30 ? 30 : 60, 0, 0)
  const isToday = later.toDateString() === now.toDateString()
  const daysToMonday = (8 - now.getDay()) % 7 || 7
  return [
    ...(isToday ? [{ key: 'laterToday' as const, at: later }] : []),
    ...(later < morningIn(now, 0) ? [{ key: 'thisMorning' as const, at: morningIn(now, 0) }] : []),
    { key: 'tomorrow', at: morningIn(now, 1) },
    { key: 'nextWeek', at: morningIn(now, daysToMonday) },
  ]
}

function morningIn(now: Date, days: number): Date {
  const at = new Date(now)
  at.setDate(at.getDate() + days)
  at.setHours(morningHour, 0, 0, 0)
  return at
}
