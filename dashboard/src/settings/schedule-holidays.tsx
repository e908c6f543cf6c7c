/** The holidays of a schedule: added by hand, or chosen from those of a calendar file. */
import { useState } from 'react'
import { createPortal } from 'react-dom'
import { Button, Checkbox, FilePicker, IconButton, Input } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import { type DataOf, describeError, useChange } from '../lib/api.ts'
import { formatDate } from '../lib/time.ts'
import { FormDialog } from '../ui/dialogs.tsx'
import { settingsWords } from '../words/settings.ts'
import type { Draft } from './hours-text.ts'

const { hours: text } = settingsWords

type Holidays = Draft['holidays']
type Found = DataOf<'POST /schedules/holidays'>
type Props = { holidays: Holidays; timeZone: string; onChange: (holidays: Holidays) => void }

export function ScheduleHolidays({ holidays, timeZone, onChange }: Props) {
  const [found, setFound] = useState<Found>()
  const [isUnreadable, setUnreadable] = useState(false)
  const read = useChange('POST /schedules/holidays', { onDone: setFound })
  const load = async ([file]: File[]) => {
    if (!file) return
    const content = await file.text().catch(() => undefined)
    setUnreadable(content === undefined)
    if (content !== undefined) read.mutate({ body: { text: content, time_zone: timeZone } })
  }
  const change = (index: number, changes: Partial<Holidays[number]>) =>
    onChange(holidays.map((holiday, i) => (i === index ? { ...holiday, ...changes } : holiday)))
  const error = isUnreadable ? text.unreadable : read.error && describeError(read.error)
  return (
    <div className="stack">
      <p className="soft">{text.holidaysHint}</p>
      {holidays.length === 0 && <p className="soft small">{text.noHolidays}</p>}
      <ul className="hours-holidays">
        {holidays.map(({ date, name }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a holiday has no other name than its position.
          <li key={i}>
            <Input
              type="date"
              aria-label={text.date(i + 1)}
              aria-invalid={date === '' || undefined}
              min="1900-01-01"
              max="2199-12-31"
              value={date}
              onChange={({ target }) => change(i, { date: target.value })}
            />
            <Input
              aria-label={text.holidayName(i + 1)}
              placeholder={text.holidayPlaceholder}
              maxLength={100}
              dir="auto"
              autoComplete="off"
              value={name}
              onChange={({ target }) => change(i, { name: target.value })}
            />
            <IconButton
              label={text.removeHoliday(name || date)}
              icon="close"
              onClick={() => onChange(holidays.filter((_, other) => other !== i))}
            />
          </li>
        ))}
      </ul>
      {holidays.some(({ date }) => date === '') && <p className="soft small">{text.holidayWithoutDate}</p>}
      {error && <ErrorNote>{error}</ErrorNote>}
      <div className="row">
        <Button label={text.addHoliday} icon="plus" onClick={() => onChange([...holidays, { date: '', name: '' }])} />
        <FilePicker
          label={text.importFile}
          accept=".ics,text/calendar"
          button={(open) => (
            <Button
              label={read.isPending ? text.importing : text.importFile}
              icon="upload"
              busy={read.isPending}
              onClick={open}
            />
          )}
          onFiles={(files) => void load(files)}
        />
      </div>
      {/* A form cannot be inside another one. */}
      {found &&
        createPortal(
          <ImportDialog
            found={found}
            existing={holidays}
            onAdd={(added) => onChange(mergeHolidays(holidays, added))}
            onClose={() => setFound(undefined)}
          />,
          document.body,
        )}
    </div>
  )
}

const mergeHolidays = (before: Holidays, added: Holidays): Holidays =>
  [...before.filter(({ date }) => date !== ''), ...added].toSorted((one, other) => (one.date < other.date ? -1 : 1))

type ImportProps = {
  found: Found
  existing: Holidays
  onAdd: (holidays: Holidays) => void
  onClose: () => void
}

function ImportDialog({ found: { holidays, skipped_count: skipped }, existing, onAdd, onClose }: ImportProps) {
  const isNew = (date: string) => !existing.some((holiday) => holiday.date === date)
  const addable = holidays.filter(({ date }) => isNew(date))
  const [chosen, setChosen] = useState(
    () => new Set(addable.filter(({ times }) => times.length === 0).map(({ date }) => date)),
  )
  const choose = (dates: readonly string[], isChosen: boolean) =>
    setChosen((now) => new Set(isChosen ? [...now, ...dates] : [...now].filter((date) => !dates.includes(date))))
  return (
    <FormDialog
      title={text.importTitle}
      action={text.importAction(chosen.size)}
      isBusy={false}
      isReady={chosen.size > 0}
      onSubmit={() => {
        onAdd(addable.filter(({ date }) => chosen.has(date)).map(({ date, name }) => ({ date, name })))
        onClose()
      }}
      onClose={onClose}
    >
      <p>{holidays.length === 0 ? text.noneFound : text.found(holidays.length)}</p>
      {skipped > 0 && <p className="soft small">{text.skipped(skipped)}</p>}
      {addable.length > 1 && (
        <Checkbox
          label={text.selectAll}
          checked={chosen.size === addable.length}
          onChange={({ target }) =>
            choose(
              addable.map(({ date }) => date),
              target.checked,
            )
          }
        />
      )}
      <div className="stack hours-found">
        {holidays.map(({ date, name, times }) => (
          <Checkbox
            key={date}
            label={<span dir="auto">{name || date}</span>}
            hint={isNew(date) ? text.foundOn(formatDate(`${date}T12:00`), times) : text.exists}
            disabled={!isNew(date)}
            checked={chosen.has(date)}
            onChange={({ target }) => choose([date], target.checked)}
          />
        ))}
      </div>
    </FormDialog>
  )
}
