/** The inputs of the forms: texts with fields, durations, names of tags and labels, names of answers. */
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react'
import { Combobox } from '../../../../../ui/combobox.tsx'
import { Button, Field, Input, Select, TextArea } from '../../../../../ui/controls.tsx'
import { Menu } from '../../../../../ui/menu.tsx'
import { useCall } from '../../../lib/api.ts'
import { Tag } from '../../../ui/tag.tsx'
import { editorWords } from '../../../words/automation-editor.ts'
import { useEditing } from '../context.ts'
import { answersBefore } from '../model/answers.ts'

const { forms: text } = editorWords

type TextProps = {
  label: string
  value: string
  /** The step, which decides about the answers that the text can use. */
  stepId: string
  rows?: number
  maxLength?: number
  hint?: ReactNode
  placeholder?: string
  onChange: (value: string) => void
}

const contactFields = [
  { label: text.contactFields.name, reference: '{{contact.name|there}}' },
  { label: text.contactFields.phone, reference: '{{contact.phone}}' },
  { label: text.contactFields.email, reference: '{{contact.email}}' },
  { label: text.contactFields.company, reference: '{{contact.company}}' },
]

/** A text with a menu that inserts fields of the contact and earlier answers at the cursor. */
export function FieldsText({ label, value, stepId, rows, maxLength = 4096, hint, placeholder, onChange }: TextProps) {
  const { definition, canEdit } = useEditing()
  const area = useRef<HTMLTextAreaElement>(null)
  const input = useRef<HTMLInputElement>(null)
  const attributes = useCall('GET /broadcasts/fields', {}).data?.attributes ?? []
  const insert = (reference: string) => {
    const element = area.current ?? input.current
    const from = element?.selectionStart ?? value.length
    const to = element?.selectionEnd ?? value.length
    onChange(value.slice(0, from) + reference + value.slice(to))
    element?.focus()
    // The cursor is placed after the next render.
    requestAnimationFrame(() => element?.setSelectionRange(from + reference.length, from + reference.length))
  }
  const answers = answersBefore(definition, stepId)
  const items = [
    ...answers.map(({ name, kind }) => ({
      label: kind === 'object' ? editorWords.answerPath(name) : editorWords.answer(name),
      onSelect: () => insert(kind === 'object' ? `{{answers.${name}.status}}` : `{{answers.${name}}}`),
    })),
    ...(answers.length > 0 ? [{ kind: 'separator' as const }] : []),
    ...contactFields.map((field) => ({ label: field.label, onSelect: () => insert(field.reference) })),
    ...attributes.map((name) => ({ label: name, onSelect: () => insert(`{{contact.attributes.${name}}}`) })),
  ]
  const shared = { value, maxLength, placeholder, onChange: ({ target }: Typed) => onChange(target.value) }
  return (
    <div className="editor-text">
      <Field label={label} hint={hint}>
        {(wiring) =>
          rows ? (
            <TextArea {...wiring} {...shared} ref={area} rows={rows} />
          ) : (
            <Input {...wiring} {...shared} ref={input} autoComplete="off" />
          )
        }
      </Field>
      {canEdit && (
        <Menu
          label={text.insertInto(label)}
          button={
            <Button
              label={text.insert}
              size="small"
              variant="quiet"
              icon="person"
              aria-label={text.insertInto(label)}
            />
          }
          items={items}
        />
      )}
    </div>
  )
}

type Typed = { target: { value: string } }

/** A number and its unit. An empty number is kept, so that the member can type another one. */
export function DurationInput({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (value: string) => void
}) {
  const [, count = '', unit = 'h'] = /^(\d*)([smhd])$/.exec(value) ?? []
  return (
    <Field label={label}>
      {(wiring) => (
        <div className="line editor-duration">
          <Input
            {...wiring}
            type="number"
            inputMode="numeric"
            min={1}
            value={count}
            onChange={({ target }) => onChange(`${target.value.replace(/\D/g, '')}${unit}`)}
          />
          <Select
            aria-label={text.duration(label)}
            value={unit}
            options={Object.entries(text.units)}
            onChange={({ target }) => onChange(`${count}${target.value}`)}
          />
        </div>
      )}
    </Field>
  )
}

type NamesProps = {
  label: string
  kind: 'tag' | 'label'
  names: readonly string[]
  onChange: (names: string[]) => void
}

/** Names of tags or labels: Enter adds the typed one, the cross removes one. */
export function NamesInput({ label, kind, names, onChange }: NamesProps) {
  const { canEdit, names: known } = useEditing()
  const [typed, setTyped] = useState('')
  const { data: items = [] } = useCall(kind === 'tag' ? 'GET /tags' : 'GET /labels', {})
  const shownOf = (name: string) => known.get(name) ?? name
  const colorOf = (name: string) =>
    items.find((item) => item.name.toLowerCase() === shownOf(name).toLowerCase())?.color ?? 'var(--line-strong)'
  const has = (name: string) => names.some((other) => shownOf(other).toLowerCase() === name.toLowerCase())
  const add = (entered: string) => {
    const name = entered.trim()
    setTyped('')
    if (name && !has(name)) onChange([...names, name])
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === ',' && !event.nativeEvent.isComposing) {
      event.preventDefault()
      add(typed)
    }
    if (event.key === 'Backspace' && typed === '' && names.length > 0) onChange(names.slice(0, -1))
  }
  return (
    <div className="field">
      <span className="label">{label}</span>
      <div className="row editor-names">
        {names.map((name) => (
          <Tag
            key={name}
            name={shownOf(name)}
            icon={kind}
            color={colorOf(name)}
            removeLabel={text.remove(shownOf(name))}
            onRemove={canEdit ? () => onChange(names.filter((other) => other !== name)) : undefined}
          />
        ))}
        {canEdit && (
          <Combobox
            suggestions={items.map(({ name }) => name).filter((name) => !has(name))}
            value={typed}
            maxLength={80}
            placeholder={label}
            aria-label={text.addName(label)}
            onChange={setTyped}
            onCommit={add}
            onKeyDown={press}
            onBlur={() => add(typed)}
          />
        )}
      </div>
    </div>
  )
}

/** What is typed as a name of an answer or an attribute: `nameHint`. */
const toName = (typed: string): string =>
  typed
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, 40)

type NameProps = { label: string; value: string; onChange: (name: string) => void }

/** A name that other steps refer to. It changes when the member has finished, so that no step refers to half a name. */
export function NameInput({ label, value, onChange }: NameProps) {
  const [typed, setTyped] = useState<string>()
  const apply = () => {
    if (typed !== undefined && typed !== value) onChange(typed)
    setTyped(undefined)
  }
  return (
    <Field label={label} hint={text.nameHint}>
      {(wiring) => (
        <Input
          {...wiring}
          data-own-undo={typed === undefined ? undefined : ''}
          autoComplete="off"
          spellCheck={false}
          value={typed ?? value}
          onChange={({ target }) => setTyped(toName(target.value))}
          onBlur={apply}
          onKeyDown={(event) => event.key === 'Enter' && apply()}
        />
      )}
    </Field>
  )
}

type ChoiceProps = {
  label: string
  value: string
  first: readonly (readonly [value: string, label: string])[]
  onChange: (id: string) => void
}

/** A member. One that was removed stays until another is chosen. */
export const MemberSelect = (props: ChoiceProps) => (
  <NamedSelect {...props} choices={useEditing().members} unknown={text.unknownMember} />
)

/** A team. One that was deleted stays until another is chosen. */
export const TeamSelect = (props: ChoiceProps) => (
  <NamedSelect {...props} choices={useEditing().teams} unknown={text.unknownTeam} />
)

type NamedProps = ChoiceProps & { choices: readonly { id: string; name: string }[]; unknown: string }

function NamedSelect({ label, value, first, onChange, choices, unknown }: NamedProps) {
  const isKnown = [...first.map(([id]) => id), ...choices.map(({ id }) => id)].includes(value)
  return (
    <Field label={label}>
      {(wiring) => (
        <Select
          {...wiring}
          value={value}
          options={[...first, ...choices.map(({ id, name }) => [id, name] as const)]}
          onChange={({ target }) => onChange(target.value)}
        >
          {!isKnown && <option value={value}>{unknown}</option>}
        </Select>
      )}
    </Field>
  )
}
