/** The input for the value of a rule, by type. A time is a date, or an age relative to the time of evaluation. */
import { Input, Select } from '../../../ui/controls.tsx'
import { useCall } from '../lib/api.ts'
import { useConnections } from '../lib/connections.ts'
import { memberName } from '../lib/people.ts'
import { toDatetimeLocal } from '../lib/time.ts'
import { words } from '../words/words.ts'
import type { FieldView } from './rules.ts'

const { builder } = words.segments

type ValueProps = { value: string; onChange: (value: string) => void }

type ValueInputProps = ValueProps & { kind: FieldView['ops'][number]['value']; choices?: FieldView['choices'] }

export function ValueInput({ kind, choices, value, onChange }: ValueInputProps) {
  if (choices && kind) return <Choice value={value} onChange={onChange} choices={withValue(choices, value)} />
  switch (kind) {
    case null:
      return <span className="segments-no-value" />
    case 'tag':
      return <TagValue value={value} onChange={onChange} />
    case 'channel':
      return <Choice value={value} onChange={onChange} choices={Object.entries(words.channels)} />
    case 'connection':
      return <ConnectionValue value={value} onChange={onChange} />
    case 'status':
      return <Choice value={value} onChange={onChange} choices={Object.entries(words.statuses)} />
    case 'label':
      return <LabelValue value={value} onChange={onChange} />
    case 'member':
      return <MemberValue value={value} onChange={onChange} />
    case 'team':
      return <TeamValue value={value} onChange={onChange} />
    case 'content_type':
      return <Choice value={value} onChange={onChange} choices={Object.entries(words.segments.contentTypes)} />
    case 'hours':
      return <Choice value={value} onChange={onChange} choices={Object.entries(words.segments.hours)} />
    case 'boolean':
      return <Choice value={value} onChange={onChange} choices={Object.entries(words.segments.booleans)} />
    case 'time':
      return <TimeValue value={value} onChange={onChange} />
    default:
      return (
        <Input
          aria-label={builder.value}
          inputMode={kind === 'number' ? 'decimal' : 'text'}
          value={value}
          maxLength={500}
          onChange={(event) => onChange(event.target.value)}
        />
      )
  }
}

function Choice({ value, onChange, choices }: ValueProps & { choices: readonly (readonly [string, string])[] }) {
  return (
    <Select
      aria-label={builder.value}
      value={value}
      options={choices}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="" disabled>
        {builder.choose}
      </option>
    </Select>
  )
}

/** Stores the id of a tag, so that renaming keeps the rule. A deleted tag, or one stored by name, stays as it is. */
function TagValue(props: ValueProps) {
  return <NamedValue {...props} items={useCall('GET /tags', {}).data ?? []} />
}

function LabelValue(props: ValueProps) {
  return <NamedValue {...props} items={useCall('GET /labels', {}).data ?? []} />
}

/** Stores the id. A connection that is disconnected, or stored by name, stays as it is. */
function ConnectionValue(props: ValueProps) {
  return <NamedValue {...props} items={useConnections()} />
}

function MemberValue(props: ValueProps) {
  const members = useCall('GET /members', {}).data ?? []
  return <NamedValue {...props} items={members.map((member) => ({ id: member.id, name: memberName(member) }))} />
}

function TeamValue(props: ValueProps) {
  return <NamedValue {...props} items={useCall('GET /teams', {}).data ?? []} />
}

type NamedValueProps = ValueProps & { items: readonly { id: string; name: string }[] }

function NamedValue({ value, onChange, items }: NamedValueProps) {
  const names = items.map(({ id, name }) => [name.toLowerCase() === value.toLowerCase() ? value : id, name] as const)
  return <Choice value={value} onChange={onChange} choices={withValue(names, value)} />
}

/** The choices with a value that is none of them any more. */
const withValue = (choices: readonly (readonly [string, string])[], value: string) =>
  value === '' || choices.some(([key]) => key === value) ? choices : [...choices, [value, value] as const]

function TimeValue({ value, onChange }: ValueProps) {
  const [, count = '', unit = 'd'] = /^(\d*)([dh])$/.exec(value) ?? []
  const isDate = value !== '' && !/^\d*[dh]$/.test(value)
  return (
    <span className="segments-time">
      {isDate ? (
        <Input
          type="datetime-local"
          aria-label={builder.time}
          value={toInputValue(value)}
          onChange={(event) => onChange(event.target.value ? new Date(event.target.value).toISOString() : '0d')}
        />
      ) : (
        <Input
          type="number"
          min={0}
          max={36_500}
          aria-label={builder.value}
          value={count}
          onChange={(event) => onChange(event.target.value ? `${Math.trunc(Number(event.target.value))}${unit}` : '')}
        />
      )}
      <Select
        aria-label={builder.kindOfTime}
        value={isDate ? 'date' : unit}
        options={[
          ['d', `${builder.ageUnits.d} ${builder.age}`],
          ['h', `${builder.ageUnits.h} ${builder.age}`],
          ['date', builder.date],
        ]}
        onChange={({ target }) =>
          onChange(target.value === 'date' ? new Date().toISOString() : `${count || '30'}${target.value}`)
        }
      />
    </span>
  )
}

/** An invalid stored time shows as an empty input. */
const toInputValue = (iso: string): string => (Number.isNaN(Date.parse(iso)) ? '' : toDatetimeLocal(Date.parse(iso)))
