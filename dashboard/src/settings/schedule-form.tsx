/** The form of a schedule: name and time zone, weekly hours, holidays, and what uses it. Its state now follows every edit. */
import { useState } from 'react'
import { Checkbox, Form, InputField, SelectField, SubmitButton } from '../../../ui/controls.tsx'
import { Card, ErrorNote, Note } from '../../../ui/display.tsx'
import { useChange } from '../lib/api.ts'
import { fieldErrorsOf, useFocusOnError } from '../lib/field-errors.ts'
import { useNow } from '../lib/hooks.ts'
import { timeZoneOptions } from '../lib/time-zones.ts'
import { LeaveGuard } from '../ui/leave-guard.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { type Draft, describeNow, findFault, type StoredSchedule } from './hours-text.ts'
import { ScheduleHolidays } from './schedule-holidays.tsx'
import { ScheduleUses } from './schedule-uses.tsx'
import { WeekEditor } from './schedule-week.tsx'

const { hours: text } = settingsWords

const workdays = [0, 1, 2, 3, 4].map((day) => ({ day, from: '09:00', to: '17:00' }))

type Props = {
  /** Undefined: a new one. */
  stored: StoredSchedule | undefined
  all: readonly StoredSchedule[]
  /** Of the workspace. */
  timeZone: string
  onSaved: (id: string) => void
}

export function ScheduleForm({ stored, all, timeZone, onSaved }: Props) {
  const [initial] = useState<Draft>(() => (stored ? draftOf(stored) : newDraft(timeZone, all)))
  const [draft, setDraft] = useState(initial)
  const set = (changes: Partial<Draft>) => setDraft((now) => ({ ...now, ...changes }))
  const outcome = {
    stale: ['GET /schedules'],
    done: ({ name }: { name: string }) => text.saved(name),
    onDone: ({ id }: { id: string }) => onSaved(id),
  } as const
  const create = useChange('POST /schedules', outcome)
  const update = useChange('PATCH /schedules/{id}', outcome)
  const error = create.error ?? update.error
  const errors = fieldErrorsOf(error, ['name', 'time_zone'])
  useFocusOnError(error)
  const isBusy = create.isPending || update.isPending
  const hasWeekFault = findFault(draft.periods) !== undefined
  const isDated = draft.holidays.every(({ date }) => date !== '')
  const submit = () => {
    if (hasWeekFault || !isDated) return
    if (stored) update.mutate({ params: { id: stored.id }, body: draft })
    else create.mutate({ body: draft })
  }
  const isChanged = JSON.stringify(draft) !== JSON.stringify(initial)
  return (
    <Form className="stack hours-form" onSubmit={submit}>
      <Card title={text.general}>
        <div className="stack settings-form">
          <InputField
            label={text.name}
            error={errors.name}
            required
            maxLength={80}
            autoComplete="off"
            dir="auto"
            value={draft.name}
            onChange={({ target }) => set({ name: target.value })}
          />
          <SelectField
            label={text.timeZone}
            error={errors.time_zone}
            options={timeZoneOptions(draft.time_zone)}
            value={draft.time_zone}
            onChange={({ target }) => set({ time_zone: target.value })}
          />
          <Checkbox
            label={text.isDefault}
            hint={text.isDefaultHint}
            checked={draft.is_default}
            onChange={({ target }) => set({ is_default: target.checked })}
          />
        </div>
      </Card>
      {!hasWeekFault && <StateNow draft={draft} />}
      <Card title={text.week}>
        <WeekEditor periods={draft.periods} onChange={(periods) => set({ periods })} />
      </Card>
      <Card title={text.holidays}>
        <ScheduleHolidays
          holidays={draft.holidays}
          timeZone={draft.time_zone}
          onChange={(holidays) => set({ holidays })}
        />
      </Card>
      <Card title={text.uses}>
        <ScheduleUses draft={draft} stored={stored} all={all} onChange={set} />
      </Card>
      {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
      <div className="row">
        <SubmitButton
          label={stored ? words.common.save : text.add}
          busy={isBusy}
          disabled={hasWeekFault || !isDated || (stored !== undefined && !isChanged)}
        />
      </div>
      <LeaveGuard isChanged={isChanged && !isBusy} />
    </Form>
  )
}

function StateNow({ draft }: { draft: Draft }) {
  // A copy: a schedule must not change after its first use.
  const { isOpen, text: now } = describeNow({ ...draft }, useNow(30_000))
  return (
    <Note tone={isOpen ? 'green' : 'amber'} icon="clock">
      <span role="status">
        {text.now}: {now}
      </span>
    </Note>
  )
}

const draftOf = (stored: StoredSchedule): Draft => {
  const { name, time_zone, periods, holidays, is_default, team_ids, connection_ids } = stored
  return { name, time_zone, periods, holidays, is_default, team_ids, connection_ids }
}

/** The first schedule of a workspace is its default, unless the member decides otherwise. */
const newDraft = (timeZone: string, all: readonly StoredSchedule[]): Draft => ({
  ...{ name: '', time_zone: timeZone, periods: workdays, holidays: [] },
  ...{ is_default: all.length === 0, team_ids: [], connection_ids: [] },
})
