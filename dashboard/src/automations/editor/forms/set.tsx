/** The form of the step that changes the conversation and the contact. */
import { Button, Checkbox, IconButton, Input, SelectField } from '../../../../../ui/controls.tsx'
import { editorWords } from '../../../words/automation-editor.ts'
import { words } from '../../../words/words.ts'
import type { AttributeValue, SetStep } from '../model/definition.ts'
import { DurationInput, MemberSelect, NamesInput, TeamSelect } from './inputs.tsx'
import type { FormProps } from './on-error.tsx'

const { forms: text } = editorWords

const nameFields = [
  { field: 'add_labels', kind: 'label', label: text.addLabels },
  { field: 'remove_labels', kind: 'label', label: text.removeLabels },
  { field: 'add_tags', kind: 'tag', label: text.addTags },
  { field: 'remove_tags', kind: 'tag', label: text.removeTags },
] as const

/** Stands for "unassigned" in the lists of members and teams, where an empty value is "unchanged". */
const unassigned = 'unassigned'

export function SetForm({ step, onChange }: FormProps<SetStep>) {
  const { assigned_agent_id: member, assigned_team_id: team, snooze_for: snooze } = step
  const set = (changes: Partial<SetStep>, removed?: keyof SetStep, field?: string) => {
    const entries = Object.entries({ ...step, ...changes }).filter(([name]) => name !== removed)
    onChange({ type: 'set', ...Object.fromEntries(entries) }, field)
  }
  return (
    <>
      {nameFields.map(({ field, kind, label }) => (
        <NamesInput
          key={field}
          kind={kind}
          label={label}
          names={step[field] ?? []}
          onChange={(names) => (names.length > 0 ? set({ [field]: names }) : set({}, field))}
        />
      ))}
      <div className="editor-pair">
        <SelectField
          label={text.status}
          value={step.status ?? ''}
          options={[['', text.unchanged], ...Object.entries(words.statuses)]}
          onChange={({ target }) => (target.value ? set({ status: target.value }) : set({}, 'status'))}
        />
        <MemberSelect
          label={text.assignee}
          value={member === null ? unassigned : (member ?? '')}
          first={[
            ['', text.unchanged],
            [unassigned, text.unassigned],
          ]}
          onChange={(id) =>
            id === '' ? set({}, 'assigned_agent_id') : set({ assigned_agent_id: id === unassigned ? null : id })
          }
        />
        <TeamSelect
          label={text.team}
          value={team === null ? unassigned : (team ?? '')}
          first={[
            ['', text.unchanged],
            [unassigned, text.noTeam],
          ]}
          onChange={(id) =>
            id === '' ? set({}, 'assigned_team_id') : set({ assigned_team_id: id === unassigned ? null : id })
          }
        />
      </div>
      <Checkbox
        label={text.snooze}
        checked={snooze !== undefined}
        onChange={({ target }) => (target.checked ? set({ snooze_for: '1d' }) : set({}, 'snooze_for'))}
      />
      {snooze !== undefined && (
        <div className="editor-indent">
          <DurationInput
            label={text.snoozeFor}
            value={snooze}
            onChange={(span) => set({ snooze_for: span }, undefined, 'snooze')}
          />
        </div>
      )}
      <Attributes
        attributes={step.attributes ?? {}}
        onChange={(attributes, field) =>
          Object.keys(attributes).length > 0 ? set({ attributes }, undefined, field) : set({}, 'attributes')
        }
      />
    </>
  )
}

type AttributesProps = {
  attributes: Readonly<Record<string, AttributeValue>>
  onChange: (attributes: Record<string, AttributeValue>, field?: string) => void
}

function Attributes({ attributes, onChange }: AttributesProps) {
  const entries = Object.entries(attributes)
  const change = (index: number, entry: [string, AttributeValue], field: string) =>
    onChange(Object.fromEntries(entries.map((each, i) => (i === index ? entry : each))), field)
  return (
    <fieldset className="stack stack-tight">
      <legend className="label">{text.attributes}</legend>
      {entries.map(([name, value], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the name changes while it is typed.
        <div key={index} className="editor-option" data-wide="">
          <Input
            aria-label={text.attribute}
            placeholder={text.attribute}
            value={name}
            onChange={({ target }) => {
              const next = target.value.toLowerCase().replaceAll(/[^a-z0-9_]+/g, '_')
              if (next === name || !(next in attributes)) change(index, [next, value], `attribute ${index}`)
            }}
          />
          {value === null ? (
            <span className="soft">{text.removesAttribute}</span>
          ) : (
            <Input
              aria-label={text.value}
              placeholder={text.value}
              maxLength={500}
              value={String(value)}
              onChange={({ target }) => change(index, [name, toValue(target.value, value)], `value ${index}`)}
            />
          )}
          <IconButton
            icon="close"
            label={text.remove(name || text.attribute)}
            onClick={() => onChange(Object.fromEntries(entries.toSpliced(index, 1)))}
          />
        </div>
      ))}
      <div className="row">
        <Button
          label={text.addAttribute}
          icon="plus"
          size="small"
          disabled={'' in attributes}
          onClick={() => onChange({ ...attributes, '': '' })}
        />
      </div>
    </fieldset>
  )
}

/** A number stays a number, and a boolean one of its two values. */
function toValue(typed: string, before: AttributeValue): AttributeValue {
  if (typeof before === 'number' && typed.trim() !== '' && Number.isFinite(Number(typed))) return Number(typed)
  if (typeof before === 'boolean' && (typed === 'true' || typed === 'false')) return typed === 'true'
  return typed
}
