/**
 * The custom attributes of a contact, edited in place. A value is a text, a number, or yes or no; its type is chosen when the
 * attribute is added.
 */
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Button, Form, IconButton, Input, InputField, SelectField, SubmitButton } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import { type DataOf, describeError, useChange } from '../lib/api.ts'
import { nameOf } from '../lib/people.ts'
import { words } from '../words/words.ts'

const { attributes: texts } = words.contactPanel

type Value = string | number | boolean
type ValueType = keyof typeof texts.types
type Contact = DataOf<'GET /contacts/{id}'>

export function Attributes({ contact }: { contact: Contact }) {
  const { id, attributes } = contact
  const toast = useToast()
  const [isAdding, setAdding] = useState(false)
  const change = useChange('PATCH /contacts/{id}', { stale: ['GET /contacts/{id}'], reportsError: true })
  const set = (name: string, value: Value | null) =>
    change.mutate({ params: { id }, body: { attributes: { [name]: value } } })
  // A change in flight shows at once.
  const shown = { ...attributes, ...(change.isPending ? change.variables.body.attributes : {}) }
  const entries = Object.entries(shown).flatMap(([name, value]): [string, Value][] =>
    isValue(value) ? [[name, value]] : [],
  )
  const remove = (name: string, value: Value) => {
    set(name, null)
    toast.success(texts.removed(name, nameOf(contact)), () => set(name, value))
  }
  return (
    <>
      {entries.length > 0 && (
        <dl className="attributes">
          {entries
            .toSorted(([one], [other]) => one.localeCompare(other))
            .map(([name, value]) => (
              <Attribute
                key={name}
                name={name}
                value={value}
                onChange={(next) => set(name, next)}
                onRemove={() => remove(name, value)}
              />
            ))}
        </dl>
      )}
      {entries.length === 0 && !isAdding && <p className="soft small">{texts.none}</p>}
      {isAdding ? (
        <NewAttribute contactId={id} onDone={() => setAdding(false)} />
      ) : (
        <Button label={texts.add} size="small" icon="plus" onClick={() => setAdding(true)} />
      )}
    </>
  )
}

const isValue = (value: unknown): value is Value => ['string', 'number', 'boolean'].includes(typeof value)

type AttributeProps = { name: string; value: Value; onChange: (value: Value) => void; onRemove: () => void }

function Attribute({ name, value, onChange, onRemove }: AttributeProps) {
  const [typed, setTyped] = useState<string>()
  const button = useRef<HTMLButtonElement>(null)
  const wasEditing = useRef(false)
  const isEditing = typed !== undefined
  // Focus returns to the value after editing.
  useEffect(() => {
    if (wasEditing.current && !isEditing) button.current?.focus()
    wasEditing.current = isEditing
  }, [isEditing])
  const save = () => {
    if (typed === undefined) return
    const next = typeof value === 'number' ? Number(typed.trim().replace(',', '.')) : typed
    const isUsable = typeof next === 'string' || (typed.trim() !== '' && Number.isFinite(next))
    if (isUsable && next !== value) onChange(next)
    setTyped(undefined)
  }
  const keys = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== 'Escape') return
    // Enter must not click the value that gets the focus. Escape ends only the editing, not the drawer of the panel.
    event.preventDefault()
    event.stopPropagation()
    if (event.key === 'Enter') save()
    else setTyped(undefined)
  }
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {typeof value === 'boolean' ? (
          <label className="check switch">
            <input
              type="checkbox"
              role="switch"
              aria-checked={value}
              aria-label={name}
              checked={value}
              onChange={(event) => onChange(event.target.checked)}
            />
            <span>{value ? texts.yes : texts.no}</span>
          </label>
        ) : isEditing ? (
          <Input
            aria-label={name}
            autoFocus
            inputMode={typeof value === 'number' ? 'decimal' : 'text'}
            maxLength={500}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={keys}
            onBlur={save}
          />
        ) : (
          <button
            ref={button}
            type="button"
            className="attribute-value"
            aria-label={texts.edit(name, value === '' ? texts.empty : String(value))}
            onClick={() => setTyped(String(value))}
          >
            {value === '' ? <span className="soft">{texts.empty}</span> : String(value)}
          </button>
        )}
        <IconButton label={texts.remove(name)} icon="close" onClick={onRemove} />
      </dd>
    </div>
  )
}

function NewAttribute({ contactId, onDone }: { contactId: string; onDone: () => void }) {
  const [name, setName] = useState('')
  const [type, setType] = useState<ValueType>('text')
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<{ name?: string; value?: string }>({})
  const change = useChange('PATCH /contacts/{id}', { stale: ['GET /contacts/{id}'], onDone })
  const submit = () => {
    const key = name.trim()
    if (!/^[a-z][a-z0-9_]{0,39}$/.test(key)) return setError({ name: texts.badName })
    const value =
      type === 'number' ? Number(typed.trim().replace(',', '.')) : type === 'boolean' ? typed === 'yes' : typed
    if (type === 'number' && (typed.trim() === '' || !Number.isFinite(value)))
      return setError({ value: texts.badNumber })
    setError({})
    change.mutate({ params: { id: contactId }, body: { attributes: { [key]: value } } })
  }
  return (
    <Form className="attribute-form" onSubmit={submit} noValidate>
      <InputField
        label={texts.name}
        hint={texts.nameHint}
        error={error.name}
        autoFocus
        autoComplete="off"
        maxLength={40}
        value={name}
        onChange={(event) => setName(event.target.value.toLowerCase().replaceAll(' ', '_'))}
      />
      <SelectField
        label={texts.type}
        value={type}
        options={Object.entries(texts.types)}
        onChange={(event) => {
          setType(event.target.value as ValueType)
          setTyped('')
        }}
      />
      {type === 'boolean' ? (
        <SelectField
          label={texts.value}
          value={typed || 'no'}
          options={[
            ['yes', texts.yes],
            ['no', texts.no],
          ]}
          onChange={(event) => setTyped(event.target.value)}
        />
      ) : (
        <InputField
          label={texts.value}
          error={error.value}
          autoComplete="off"
          inputMode={type === 'number' ? 'decimal' : 'text'}
          maxLength={500}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      )}
      {change.error && <ErrorNote>{describeError(change.error)}</ErrorNote>}
      <div className="row">
        <SubmitButton label={texts.add} size="small" busy={change.isPending} />
        <Button label={words.common.cancel} size="small" onClick={onDone} />
      </div>
    </Form>
  )
}
