/** The forms of what starts the automation: the trigger, and the conditions. */
import { useState } from 'react'
import { Button, Checkbox, Field, InputField, SelectField, TextArea } from '../../../../../ui/controls.tsx'
import { useCall } from '../../../lib/api.ts'
import { FilterRules } from '../../../segments/builder.tsx'
import { firstRule } from '../../../segments/rules.ts'
import { editorWords } from '../../../words/automation-editor.ts'
import { words } from '../../../words/words.ts'
import { useEditing } from '../context.ts'
import type { Trigger } from '../model/definition.ts'
import { fieldsFor } from '../model/fields.ts'
import { newTrigger } from '../model/new-step.ts'
import { DurationInput } from './inputs.tsx'

const { forms: text } = editorWords

const triggerTypes = ['message', 'conversation', 'contact', 'silence', 'target', 'rating', 'manual'] as const

type OfType<Type extends Trigger['type']> = Extract<Trigger, { type: Type }>
type Props<Kind extends Trigger = Trigger> = { trigger: Kind; onChange: (trigger: Trigger, field?: string) => void }

export function TriggerForm() {
  const { definition, change } = useEditing()
  const { trigger } = definition
  const onChange = (next: Trigger, field?: string) =>
    change({ ...definition, trigger: next }, field && `trigger ${field}`)
  return (
    <>
      <SelectField
        label={text.triggerType}
        value={trigger.type}
        options={triggerTypes.map((type) => [type, text.triggerTypes[type]])}
        onChange={({ target }) => {
          const type = triggerTypes.find((each) => each === target.value)
          if (type) onChange(newTrigger(type))
        }}
      />
      {trigger.type === 'message' && <MessageTrigger trigger={trigger} onChange={onChange} />}
      {trigger.type === 'conversation' && <ConversationTrigger trigger={trigger} onChange={onChange} />}
      {trigger.type === 'contact' && <ContactTrigger trigger={trigger} onChange={onChange} />}
      {trigger.type === 'silence' && <SilenceTrigger trigger={trigger} onChange={onChange} />}
      {trigger.type === 'rating' && <RatingTrigger trigger={trigger} onChange={onChange} />}
      {trigger.type === 'target' && <TargetTrigger trigger={trigger} onChange={onChange} />}
      {trigger.type === 'manual' && <p className="soft">{text.manualHint}</p>}
    </>
  )
}

function MessageTrigger({ trigger, onChange }: Props<OfType<'message'>>) {
  const { when, contains, button, content_types: types, ...rest } = trigger
  const set = (changes: Partial<OfType<'message'>>, field?: string) => {
    const next = { when, contains, button, content_types: types, ...changes }
    const present = Object.entries(next).filter(([, value]) => value !== undefined && value.length > 0)
    onChange({ ...rest, ...Object.fromEntries(present) }, field)
  }
  return (
    <>
      <SelectField
        label={text.when}
        value={when ?? 'any'}
        options={Object.entries(text.moments)}
        onChange={({ target }) => set({ when: target.value === 'any' ? '' : target.value })}
      />
      <Words words={contains ?? []} onChange={(next) => set({ contains: next }, 'contains')} />
      <InputField
        label={text.triggerButton}
        hint={text.optional}
        maxLength={256}
        value={button ?? ''}
        onChange={({ target }) => set({ button: target.value }, 'button')}
      />
      <details open={types !== undefined}>
        <summary>{text.contentTypes}</summary>
        <div className="editor-types">
          {Object.entries(words.segments.contentTypes).map(([type, label]) => (
            <Checkbox
              key={type}
              label={label}
              checked={types?.includes(type) ?? false}
              onChange={({ target }) =>
                set({
                  content_types: target.checked
                    ? [...(types ?? []), type]
                    : (types ?? []).filter((other) => other !== type),
                })
              }
            />
          ))}
        </div>
      </details>
    </>
  )
}

/** One word or phrase per line. The empty lines of a member who types stay in the text. */
function Words({ words: list, onChange }: { words: readonly string[]; onChange: (list: string[]) => void }) {
  const [typed, setTyped] = useState(list.join('\n'))
  const parse = (value: string) =>
    value
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean)
  const shown = parse(typed).join('\n') === list.join('\n') ? typed : list.join('\n')
  return (
    <Field label={text.contains} hint={text.containsHint}>
      {(wiring) => (
        <TextArea
          {...wiring}
          rows={3}
          value={shown}
          onChange={({ target }) => {
            setTyped(target.value)
            onChange(parse(target.value))
          }}
        />
      )}
    </Field>
  )
}

const conversationEvents = ['opened', 'closed', 'assigned', 'label_added', 'label_removed'] as const
const contactEvents = ['created', 'tag_added', 'tag_removed', 'attribute_changed'] as const
const targetEvents = ['due', 'breached'] as const
const clocks = ['first_reply', 'next_reply', 'closing'] as const
const silenceEvents = ['waiting', 'no_reply', 'window_ends'] as const

type EventProps<Event extends string> = {
  value: string
  events: readonly Event[]
  onChange: (event: Event) => void
}

const EventSelect = <Event extends keyof typeof text.events>({ value, events, onChange }: EventProps<Event>) => (
  <SelectField
    label={text.event}
    value={value}
    options={events.map((event) => [event, text.events[event]])}
    onChange={({ target }) => {
      const event = events.find((each) => each === target.value)
      if (event) onChange(event)
    }}
  />
)

function ConversationTrigger({ trigger, onChange }: Props<OfType<'conversation'>>) {
  const { label, ...rest } = trigger
  const hasLabel = trigger.event.startsWith('label_')
  return (
    <>
      <EventSelect
        value={trigger.event}
        events={conversationEvents}
        onChange={(event) => onChange(event.startsWith('label_') ? { ...trigger, event } : { ...rest, event })}
      />
      {hasLabel && (
        <InputField
          label={text.label}
          hint={text.optional}
          maxLength={80}
          value={label ?? ''}
          onChange={({ target }) => onChange(target.value ? { ...trigger, label: target.value } : rest, 'label')}
        />
      )}
    </>
  )
}

function ContactTrigger({ trigger, onChange }: Props<OfType<'contact'>>) {
  const { tag, attribute, ...rest } = trigger
  const field = trigger.event.startsWith('tag_')
    ? 'tag'
    : trigger.event === 'attribute_changed'
      ? 'attribute'
      : undefined
  return (
    <>
      <EventSelect
        value={trigger.event}
        events={contactEvents}
        onChange={(event) => {
          const isOfTag = event.startsWith('tag_') && tag !== undefined
          onChange({ ...rest, event, ...(isOfTag ? { tag } : {}) })
        }}
      />
      {field && (
        <InputField
          label={field === 'tag' ? text.tag : text.triggerAttribute}
          hint={text.optional}
          maxLength={80}
          value={trigger[field] ?? ''}
          onChange={({ target }) => onChange(target.value ? { ...rest, [field]: target.value } : rest, field)}
        />
      )}
    </>
  )
}

function SilenceTrigger({ trigger, onChange }: Props<OfType<'silence'>>) {
  const event = silenceEvents.find((each) => each === trigger.event) ?? 'waiting'
  return (
    <>
      <EventSelect
        value={trigger.event}
        events={silenceEvents}
        onChange={(next) => onChange({ ...trigger, event: next })}
      />
      <DurationInput
        label={text.after[event]}
        value={trigger.after}
        onChange={(after) => onChange({ ...trigger, after }, 'after')}
      />
    </>
  )
}

function RatingTrigger({ trigger, onChange }: Props<OfType<'rating'>>) {
  const { at_most: atMost, ...rest } = trigger
  return (
    <SelectField
      label={text.atMost}
      hint={text.atMostHint}
      value={String(atMost ?? 5)}
      options={[1, 2, 3, 4, 5].map((rating) => [String(rating), text.ratings(rating)])}
      onChange={({ target }) => {
        const rating = Number(target.value)
        onChange(rating < 5 ? { ...rest, at_most: rating } : rest)
      }}
    />
  )
}

function TargetTrigger({ trigger, onChange }: Props<OfType<'target'>>) {
  const { before, target, clock, ...rest } = trigger
  const targets = useCall('GET /targets', {}).data ?? []
  const event = targetEvents.find((each) => each === trigger.event) ?? 'breached'
  const set = (changes: { event?: string; before?: string; target?: string; clock?: string }, field?: string) => {
    const next = { before, target, clock, ...changes }
    const present = Object.entries(next).filter(([, value]) => value !== undefined && value !== '')
    onChange({ ...rest, ...Object.fromEntries(present) }, field)
  }
  const known = targets.map(({ id, name }) => [id, name] as const)
  const options =
    target && !targets.some(({ id }) => id === target) ? [...known, [target, text.deletedTarget] as const] : known
  return (
    <>
      <EventSelect
        value={event}
        events={targetEvents}
        onChange={(next) => set({ event: next, before: next === 'due' ? (before ?? '10m') : '' })}
      />
      {event === 'due' && (
        <DurationInput
          label={text.beforeBreach}
          value={before ?? ''}
          onChange={(value) => set({ before: value }, 'before')}
        />
      )}
      <SelectField
        label={text.target}
        value={target ?? ''}
        options={[['', text.anyTarget], ...options]}
        onChange={(event) => set({ target: event.target.value })}
      />
      <SelectField
        label={text.clock}
        value={clock ?? ''}
        options={[['', text.anyClock], ...clocks.map((each) => [each, text.clocks[each]] as const)]}
        onChange={({ target }) => set({ clock: target.value })}
      />
    </>
  )
}

export function ConditionsForm() {
  const { definition, change, fields } = useEditing()
  const { conditions, ...rest } = definition
  const known = fieldsFor(fields, [], definition.trigger.type === 'message')
  if (!conditions) {
    return (
      <div className="row">
        <Button
          label={text.addConditions}
          icon="plus"
          size="small"
          onClick={() => change({ ...definition, conditions: { match: 'all', rules: [firstRule(known)] } })}
        />
      </div>
    )
  }
  return (
    <>
      <FilterRules
        label={text.conditionsMatch}
        fields={known}
        filter={conditions}
        onChange={(next) => change({ ...definition, conditions: next }, 'conditions')}
      />
      <div className="row">
        <Button label={editorWords.removeConditions} size="small" icon="trash" onClick={() => change(rest)} />
      </div>
    </>
  )
}
