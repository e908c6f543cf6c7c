/** The dialog to add or change a target. Its lower part shows which open conversations the edited target would put on the clock. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { Button, Checkbox, Field, Input, InputField, SegmentedControl, Select } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { DueClock } from '../inbox/model/due-clock.tsx'
import { call, describeError, useCall, useChange } from '../lib/api.ts'
import type { Calls } from '../lib/calls.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { useDebounced } from '../lib/hooks.ts'
import { FilterRules } from '../segments/builder.tsx'
import { completeFilter, type Fields, type Filter, firstRule } from '../segments/rules.ts'
import { FormDialog } from '../ui/dialogs.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'

const { targets: texts } = settingsWords

export type Target = Calls['GET /targets']['answer']['data'][number]
export const clockKinds = ['first_reply', 'next_reply', 'closing'] as const
type Kind = (typeof clockKinds)[number]

/** What a changed target changes on other pages. */
export const targetQueries = ['GET /targets', 'GET /conversations', 'GET /conversations/{id}'] as const

const units = { minutes: 1, hours: 60, days: 1_440 } as const
type Unit = keyof typeof units
const unitNames = Object.keys(units) as Unit[]
type Time = { count: string; unit: Unit }

const maxMinutes = 525_600

function toTime(minutes: number | null): Time {
  if (minutes === null) return { count: '', unit: 'minutes' }
  const unit = minutes % units.days === 0 ? 'days' : minutes % units.hours === 0 ? 'hours' : 'minutes'
  return { count: String(minutes / units[unit]), unit }
}

/** Null: none. Undefined: it is not a time. */
function toMinutes({ count, unit }: Time): number | null | undefined {
  if (count.trim() === '') return null
  const minutes = Number(count) * units[unit]
  return Number.isInteger(minutes) && minutes >= 1 && minutes <= maxMinutes ? minutes : undefined
}

/** A stored group has the fields of a rule, too. */
export const toEdited = (conditions: Target['conditions']): Filter | null =>
  conditions && {
    match: conditions.match,
    rules: conditions.rules.map((rule) =>
      rule.rules
        ? { match: rule.match ?? 'all', rules: rule.rules }
        : { field: rule.field, op: rule.op, value: rule.value },
    ),
  }

export function TargetForm({ target, onClose }: { target: Target | undefined; onClose: () => void }) {
  const known = useCall('GET /targets/fields', {}).data ?? []
  const fields: Fields = known.map((each) => {
    const label = texts.fields[each.field]
    return label ? { ...each, label } : each
  })
  const [name, setName] = useState(target?.name ?? '')
  const [isActive, setActive] = useState(target?.is_active ?? true)
  const [isOffice, setOffice] = useState(target?.is_office_time ?? false)
  const [conditions, setConditions] = useState(() => toEdited(target?.conditions ?? null))
  const [times, setTimes] = useState(() => ({
    first_reply: toTime(target?.first_reply_minutes ?? (target ? null : 30)),
    next_reply: toTime(target?.next_reply_minutes ?? null),
    closing: toTime(target?.closing_minutes ?? null),
  }))
  const settings = { stale: targetQueries, onDone: onClose }
  const create = useChange('POST /targets', { ...settings, done: (one) => texts.added(one.name) })
  const update = useChange('PATCH /targets/{id}', { ...settings, done: (one) => texts.saved(one.name) })
  const errors = fieldErrorsOf(create.error ?? update.error, ['name'])
  const minutes = {
    first_reply_minutes: toMinutes(times.first_reply),
    next_reply_minutes: toMinutes(times.next_reply),
    closing_minutes: toMinutes(times.closing),
  }
  const complete = conditions === null ? null : completeFilter(fields, conditions)
  const isTimed = Object.values(minutes).some((one) => one !== null) && !Object.values(minutes).includes(undefined)
  const body =
    isTimed && complete !== undefined
      ? {
          ...{ conditions: complete, is_office_time: isOffice },
          first_reply_minutes: minutes.first_reply_minutes ?? null,
          next_reply_minutes: minutes.next_reply_minutes ?? null,
          closing_minutes: minutes.closing_minutes ?? null,
        }
      : undefined
  const submit = () => {
    if (!body) return
    const all = { ...body, name: name.trim(), is_active: isActive }
    if (target) update.mutate({ params: { id: target.id }, body: all })
    else create.mutate({ body: all })
  }
  return (
    <FormDialog
      title={target ? texts.editTitle(target.name) : texts.add}
      size="wide"
      className="stack settings-form"
      action={target ? words.common.save : texts.add}
      isBusy={create.isPending || update.isPending}
      isReady={body !== undefined}
      error={errors.rest}
      onSubmit={submit}
      onClose={onClose}
    >
      <InputField
        label={texts.name}
        error={errors.name}
        required
        maxLength={80}
        autoComplete="off"
        dir="auto"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Conditions fields={fields} conditions={conditions} onChange={setConditions} />
      {clockKinds.map((kind) => (
        <TimeField
          key={kind}
          kind={kind}
          time={times[kind]}
          onChange={(time) => setTimes({ ...times, [kind]: time })}
        />
      ))}
      <SegmentedControl
        label={texts.count}
        value={isOffice ? 'office' : 'calendar'}
        options={[
          { value: 'calendar', label: texts.counts.calendar },
          { value: 'office', label: texts.counts.office },
        ]}
        onChange={(value) => setOffice(value === 'office')}
      />
      <Checkbox label={texts.active} checked={isActive} onChange={(event) => setActive(event.target.checked)} />
      <Preview id={target?.id} body={body} />
    </FormDialog>
  )
}

type ConditionsProps = { fields: Fields; conditions: Filter | null; onChange: (conditions: Filter | null) => void }

function Conditions({ fields, conditions, onChange }: ConditionsProps) {
  if (!conditions) {
    // A label is what a team sorts its conversations by.
    const first = fields.filter(({ field }) => field === 'label')
    const add = () => onChange({ match: 'all', rules: [firstRule(first.length > 0 ? first : fields)] })
    return (
      <div className="row">
        <span className="soft">{texts.all}</span>
        <Button label={texts.addConditions} icon="plus" size="small" disabled={fields.length === 0} onClick={add} />
      </div>
    )
  }
  return (
    <fieldset className="stack settings-target-conditions">
      <FilterRules label={texts.conditions} fields={fields} filter={conditions} onChange={onChange} />
      <div className="row">
        <Button label={texts.removeConditions} size="small" icon="trash" onClick={() => onChange(null)} />
      </div>
    </fieldset>
  )
}

type TimeProps = { kind: Kind; time: Time; onChange: (time: Time) => void }

function TimeField({ kind, time, onChange }: TimeProps) {
  const unit = unitNames.find((one) => one === time.unit) ?? 'minutes'
  return (
    <Field label={texts.kinds[kind]} hint={texts.hints[kind]}>
      {(wiring) => (
        <div className="settings-target-time">
          <Input
            {...wiring}
            type="number"
            inputMode="numeric"
            min={1}
            max={maxMinutes / units[unit]}
            step={1}
            value={time.count}
            onChange={(event) => onChange({ ...time, count: event.target.value })}
          />
          <Select
            aria-label={texts.unit(kind)}
            value={unit}
            options={unitNames.map((one) => [one, texts.units[one]])}
            onChange={(event) =>
              onChange({ ...time, unit: unitNames.find((one) => one === event.target.value) ?? 'minutes' })
            }
          />
        </div>
      )}
    </Field>
  )
}

type PreviewBody = Omit<Calls['POST /targets/preview']['body'], 'id'>

/** The open conversations that would have a clock: how many, and those that are due first. */
function Preview({ id, body }: { id: string | undefined; body: PreviewBody | undefined }) {
  const text = useDebounced(body ? JSON.stringify({ ...body, ...(id ? { id } : {}) }) : '', 300)
  const query = useQuery({
    queryKey: ['POST /targets/preview', text],
    queryFn: async ({ signal }) => (await call('POST /targets/preview', { body: JSON.parse(text) }, signal)).data,
    enabled: text !== '',
    placeholderData: keepPreviousData,
  })
  const preview = text === '' ? undefined : query.data
  return (
    <section className="settings-target-preview" aria-label={texts.preview}>
      <h3>{texts.preview}</h3>
      <p role="status" className={preview ? undefined : 'soft'}>
        {text === ''
          ? texts.previewIncomplete
          : preview
            ? [
                preview.count > 0
                  ? texts.previewOf(preview.count, preview.has_more)
                  : preview.taken_count > 0
                    ? texts.previewNoneLeft
                    : texts.previewNone,
                preview.overdue_count > 0 && texts.overdueOf(preview.overdue_count),
              ]
                .filter(Boolean)
                .join(', ')
            : query.error
              ? ''
              : texts.counting}
      </p>
      {preview && preview.taken_count > 0 && (
        <p className="small settings-target-never">
          <Icon name="alert" />
          <span>{texts.takenBy(preview.taken_count, preview.taken_by)}</span>
        </p>
      )}
      {text !== '' && query.error && <ErrorNote>{describeError(query.error)}</ErrorNote>}
      {preview && preview.conversations.length > 0 && (
        <ul>
          {preview.conversations.map(({ id: conversationId, contact_name: name, due_at: at, due_kind: kind }) => (
            <li key={conversationId} className="line">
              <Link href={`/inbox/${conversationId}`} className="cut grow">
                <bdi>{name ?? texts.unnamed}</bdi>
              </Link>
              <DueClock at={at} kind={kind} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
