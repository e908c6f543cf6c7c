/** Chooses when a reply is sent: in an hour, this morning, this evening, tomorrow, on Monday, or at a date and time. */
import { useState } from 'react'
import { Button, Checkbox, Form, InputField } from '../../../../ui/controls.tsx'
import { formatTime, toDatetimeLocal } from '../../lib/time.ts'
import { type Anchor, Popover } from '../../ui/popover.tsx'
import { words } from '../../words/words.ts'
import type { SendTime } from '../model/scheduled.ts'
import { moveBetweenChoices } from './snooze-dialog.tsx'

const { later } = words.inbox

type Props = {
  /** When the reply window closes; null if it does not. */
  closesAt: number | null
  anchor: Anchor | undefined
  onChoose: (time: SendTime) => void
  onClose: () => void
}

export default function LaterDialog({ closesAt, anchor, onChoose, onClose }: Props) {
  const [now] = useState(() => new Date())
  const [time, setTime] = useState(() => {
    // Well before the end of the reply window.
    const latest =
      closesAt === null ? Number.POSITIVE_INFINITY : Math.max(closesAt - hourMs, now.getTime() + 5 * minuteMs)
    return toDatetimeLocal(Math.min(now.getTime() + dayMs, latest))
  })
  const [isHoldable, setHoldable] = useState(true)
  const [error, setError] = useState('')
  const isTooLate = (at: number) => closesAt !== null && at > closesAt
  const choose = (at: Date) => {
    onClose()
    onChoose({ send_at: at.toISOString(), hold_if_customer_writes: isHoldable })
  }
  const submit = () => {
    const fault = findTimeFault(time)
    if (fault) setError(fault)
    else choose(new Date(time))
  }
  return (
    <Popover title={later.title} anchor={anchor} onClose={onClose}>
      <p className="hint">{later.text}</p>
      {closesAt !== null && <p className="hint">{later.closes(formatTime(closesAt))}</p>}
      <ul className="inbox-choices" onKeyDown={moveBetweenChoices}>
        {listTimes(now).map(({ key, at }, index) => (
          <li key={key}>
            <button type="button" data-focus={index === 0 ? '' : undefined} onClick={() => choose(at)}>
              {later[key]}
              <small data-late={isTooLate(at.getTime()) ? '' : undefined}>
                {formatTime(at.getTime())}
                {isTooLate(at.getTime()) && ` · ${later.afterWindow}`}
              </small>
            </button>
          </li>
        ))}
      </ul>
      <Form className="inbox-choice-form" noValidate onSubmit={submit}>
        <InputField
          label={later.at}
          error={error}
          type="datetime-local"
          required
          value={time}
          hint={isTooLate(new Date(time).getTime()) ? later.tooLate(isHoldable) : undefined}
          min={toDatetimeLocal(now.getTime())}
          onChange={(event) => {
            setTime(event.target.value)
            setError('')
          }}
        />
        <Checkbox
          label={later.hold}
          hint={later.holdText}
          checked={isHoldable}
          onChange={(event) => setHoldable(event.target.checked)}
        />
        <Button label={later.schedule} type="submit" />
      </Form>
    </Popover>
  )
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const maxDays = 90

/** The text of an error for the value of a date and time field; empty when it is usable. */
export function findTimeFault(value: string): string {
  const at = new Date(value).getTime()
  if (Number.isNaN(at) || at <= Date.now()) return later.past
  return at > Date.now() + maxDays * dayMs ? later.tooFar : ''
}

type TimeChoice = { key: 'inOneHour' | 'thisMorning' | 'thisEvening' | 'tomorrow' | 'monday'; at: Date }

const eveningHour = 18
const morningHour = 9

/** The times that the dialog offers, by the clock of the browser. */
function listTimes(now: Date): TimeChoice[] {
  const inOneHour = new Date(now.getTime() + hourMs)
  const morning = hourIn(now, 0, morningHour)
  const evening = hourIn(now, 0, eveningHour)
  const daysToMonday = (8 - now.getDay()) % 7 || 7
  return [
    { key: 'inOneHour', at: inOneHour },
    ...(morning > inOneHour ? [{ key: 'thisMorning' as const, at: morning }] : []),
    ...(evening > inOneHour ? [{ key: 'thisEvening' as const, at: evening }] : []),
    { key: 'tomorrow', at: hourIn(now, 1, morningHour) },
    ...(daysToMonday > 1 ? [{ key: 'monday' as const, at: hourIn(now, daysToMonday, morningHour) }] : []),
  ]
}

function hourIn(now: Date, days: number, hour: number): Date {
  const at = new Date(now)
  at.setDate(at.getDate() + days)
  at.setHours(hour, 0, 0, 0)
  return at
}
