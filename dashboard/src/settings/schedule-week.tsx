/** The weekly hours: the periods of each day as typed times, with a menu that copies a day to others. */
import type { Period } from '../../../common/office-hours.ts'
import { IconButton, Input } from '../../../ui/controls.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { settingsWords } from '../words/settings.ts'
import { completeTime, findFault } from './hours-text.ts'

const { hours: text } = settingsWords

type Props = { periods: readonly Period[]; onChange: (periods: Period[]) => void }

export function WeekEditor({ periods, onChange }: Props) {
  const ofDay = (day: number) => periods.filter((period) => period.day === day)
  /** Replaces the periods of some days. */
  const setDays = (days: readonly number[], next: readonly Period[]) =>
    onChange(
      text.days.flatMap((_, day) => (days.includes(day) ? next.map((period) => ({ ...period, day })) : ofDay(day))),
    )
  return (
    <div className="stack">
      <p className="soft">{text.weekHint}</p>
      <ul className="hours-week">
        {text.days.map((name, day) => (
          <li key={name}>
            <DayEditor
              name={name}
              periods={ofDay(day)}
              onChange={(next) => setDays([day], next)}
              onCopy={(days) => setDays(days, ofDay(day))}
              day={day}
            />
          </li>
        ))}
      </ul>
    </div>
  )
}

type DayProps = {
  name: string
  day: number
  periods: readonly Period[]
  onChange: (periods: Period[]) => void
  onCopy: (days: number[]) => void
}

function DayEditor({ name, day, periods, onChange, onCopy }: DayProps) {
  const fault = findFault(periods)
  const change = (index: number, changes: Partial<Period>) =>
    onChange(periods.map((period, i) => (i === index ? { ...period, ...changes } : period)))
  const add = () => onChange([...periods, nextPeriod(day, periods)])
  const copies = [
    { label: text.copyTo.next, onSelect: () => onCopy([day, (day + 1) % 7]) },
    { label: text.copyTo.workdays, onSelect: () => onCopy([0, 1, 2, 3, 4]) },
    { label: text.copyTo.all, onSelect: () => onCopy([0, 1, 2, 3, 4, 5, 6]) },
  ]
  return (
    <fieldset className="hours-day">
      <legend className="offscreen">{name}</legend>
      <span className="hours-day-name" aria-hidden="true">
        {name}
      </span>
      <div className="hours-periods">
        {periods.length === 0 && <span className="soft">{text.closed}</span>}
        {periods.map((period, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a period has no other name than its position.
          <div key={i} className="hours-period">
            <TimeInput
              label={text.from(name, i + 1)}
              value={period.from}
              isWrong={fault !== undefined && findFault([period]) !== undefined}
              onChange={(from) => change(i, { from })}
            />
            <span aria-hidden="true">{text.until}</span>
            <TimeInput
              label={text.to(name, i + 1)}
              value={period.to}
              isWrong={fault !== undefined && findFault([period]) !== undefined}
              onChange={(to) => change(i, { to })}
            />
            <IconButton
              label={text.removePeriod(name, i + 1)}
              icon="close"
              onClick={() => onChange(periods.filter((_, other) => other !== i))}
            />
          </div>
        ))}
        {fault && (
          <span className="error" role="alert">
            {fault}
          </span>
        )}
      </div>
      <span className="hours-day-actions">
        <IconButton label={text.addPeriod(name)} icon="plus" onClick={add} />
        <Menu label={text.copy(name)} button={<IconButton label={text.copy(name)} icon="copy" />} items={copies} />
      </span>
    </fieldset>
  )
}

type TimeProps = { label: string; value: string; isWrong: boolean; onChange: (value: string) => void }

/** A text, not `type="time"`: that has no 24:00, and AM and PM in some browsers. */
const TimeInput = ({ label, value, isWrong, onChange }: TimeProps) => (
  <Input
    aria-label={label}
    aria-invalid={isWrong || undefined}
    inputMode="numeric"
    maxLength={5}
    autoComplete="off"
    value={value}
    onChange={({ target }) => onChange(target.value)}
    onBlur={({ target }) => onChange(completeTime(target.value))}
  />
)

/** After the last period of the day, or all of the working hours. */
function nextPeriod(day: number, periods: readonly Period[]): Period {
  const last = periods.at(-1)?.to
  if (!last) return { day, from: '09:00', to: '17:00' }
  return last < '23:00' ? { day, from: last, to: '23:00' } : { day, from: '', to: '' }
}
