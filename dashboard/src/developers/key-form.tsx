/** The form of an API key: name, scopes and expiry. */
import { type Ref, useRef, useState } from 'react'
import { Button, Checkbox, InputField, SelectField } from '../../../ui/controls.tsx'
import { ErrorNote, Note } from '../../../ui/display.tsx'
import { openCalls, scopeCalls } from '../lib/calls.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { formatDate, toDatetimeLocal } from '../lib/time.ts'
import { FormDialog } from '../ui/dialogs.tsx'
import { words } from '../words/words.ts'
import type { Key } from './key-list.tsx'

const { keys } = words.developers

type Scope = keyof typeof scopeCalls

const allScopes = Object.keys(scopeCalls) as Scope[]

/** Without `expires_at`, the expiry stays as it is. */
type KeyFields = { name: string; scopes: string[]; expires_at?: string | null }

type KeyFormProps = {
  title: string
  action: string
  initial?: Pick<Key, 'name' | 'scopes' | 'expires_at'>
  isBusy: boolean
  /** The error of the service. */
  error: unknown
  onSubmit: (fields: KeyFields) => void
  onClose: () => void
}

export function KeyForm({ initial, error, onSubmit, ...dialog }: KeyFormProps) {
  const [scopes, setScopes] = useState<readonly Scope[]>(allScopes.filter((scope) => initial?.scopes.includes(scope)))
  // Few keys need none, and Enter in the name should not create one by mistake. So the member says that it is meant.
  const [hasNone, setNone] = useState(initial?.scopes.length === 0)
  const [isMissing, setMissing] = useState(false)
  const [expiry, setExpiry] = useState<Expiry>({ choice: initial?.expires_at ? 'keep' : 'never', date: '' })
  const { values, errors, bind } = useFormFields({ name: initial?.name ?? '' }, error, ['scopes', 'expires_at'])
  const isUndecided = scopes.length === 0 && !hasNone
  const grid = useRef<HTMLDivElement>(null)
  const submit = () => {
    setMissing(isUndecided)
    if (isUndecided) grid.current?.querySelector('input')?.focus()
    else onSubmit({ ...values, scopes: [...scopes], ...expiryOf(expiry) })
  }
  return (
    // Closing the dialog during the request would lose a new key.
    <FormDialog
      {...dialog}
      size="wide"
      isHeld
      error={errors.rest}
      onSubmit={submit}
      onInvalid={() => setMissing(isUndecided)}
    >
      <InputField
        label={keys.name}
        hint={keys.nameHint}
        required
        autoComplete="off"
        placeholder={keys.namePlaceholder}
        {...bind('name')}
      />
      <ExpiryFields
        value={expiry}
        current={initial?.expires_at ?? null}
        error={errors.expires_at}
        onChange={setExpiry}
      />
      <ScopeChoice
        grid={grid}
        scopes={scopes}
        isMissing={isMissing && isUndecided}
        error={errors.scopes}
        onChange={setScopes}
      />
      {scopes.length === 0 ? (
        <Checkbox
          label={keys.withoutScopes}
          hint={keys.withoutScopesHint(openCalls)}
          checked={hasNone}
          onChange={() => setNone(!hasNone)}
        />
      ) : (
        <p className="soft small">{keys.changeable}</p>
      )}
    </FormDialog>
  )
}

const days = ['7', '30', '90', '365'] as const
const dayMs = 86_400_000

type Expiry = { choice: 'keep' | 'never' | 'date' | (typeof days)[number]; date: string }

function expiryOf({ choice, date }: Expiry): Pick<KeyFields, 'expires_at'> {
  if (choice === 'keep') return {}
  if (choice === 'never') return { expires_at: null }
  // The end of the chosen day, where the member is.
  if (choice === 'date') return { expires_at: new Date(`${date}T23:59:59`).toISOString() }
  return { expires_at: new Date(Date.now() + Number(choice) * dayMs).toISOString() }
}

type ExpiryProps = {
  value: Expiry
  /** The expiry of an existing key. */
  current: string | null
  error: string | undefined
  onChange: (value: Expiry) => void
}

function ExpiryFields({ value, current, error, onChange }: ExpiryProps) {
  const options: [Expiry['choice'], string][] = [
    ...(current ? ([['keep', keys.keepsExpiry(formatDate(current))]] as [Expiry['choice'], string][]) : []),
    ['never', keys.expiries.never],
    ...days.map((count): [Expiry['choice'], string] => [count, keys.expiries[count]]),
    ['date', keys.expiries.date],
  ]
  const choose = (wanted: string) => {
    const [choice] = options.find(([name]) => name === wanted) ?? []
    if (choice) onChange({ ...value, choice })
  }
  const isDate = value.choice === 'date'
  return (
    <div className="dev-expiry">
      <SelectField
        label={keys.expiry}
        hint={keys.expiryHint}
        error={isDate ? undefined : error}
        value={value.choice}
        options={options}
        onChange={({ target }) => choose(target.value)}
      />
      {isDate && (
        <InputField
          label={keys.expiryDate}
          error={error}
          type="date"
          required
          min={toDatetimeLocal(Date.now()).slice(0, 10)}
          max="9999-12-31"
          value={value.date}
          onChange={({ target }) => onChange({ ...value, date: target.value })}
        />
      )}
    </div>
  )
}

type ScopeProps = {
  grid: Ref<HTMLDivElement>
  scopes: readonly Scope[]
  isMissing: boolean
  error: string | undefined
  onChange: (scopes: readonly Scope[]) => void
}

function ScopeChoice({ grid, scopes, isMissing, error, onChange }: ScopeProps) {
  const hasAll = scopes.length === allScopes.length
  const toggle = (scope: Scope) =>
    onChange(scopes.includes(scope) ? scopes.filter((each) => each !== scope) : [...scopes, scope])
  return (
    <fieldset className="stack dev-scope-choice">
      <legend className="legend">{keys.scopes}</legend>
      <Button
        label={hasAll ? keys.chooseNone : keys.chooseAll}
        size="small"
        variant="quiet"
        onClick={() => onChange(hasAll ? [] : allScopes)}
      />
      {isMissing && <ErrorNote>{keys.scopesMissing}</ErrorNote>}
      <div className="dev-scope-grid" ref={grid}>
        {allScopes.map((scope) => (
          <div key={scope}>
            <Checkbox
              label={<code>{scope}</code>}
              hint={keys.scopeTexts[scope]}
              checked={scopes.includes(scope)}
              onChange={() => toggle(scope)}
            />
            <details className="dev-scope-calls small soft">
              <summary>{keys.calls}</summary>
              <ul>
                {scopeCalls[scope].map((call) => (
                  <li key={call}>
                    <code>{call}</code>
                  </li>
                ))}
              </ul>
            </details>
          </div>
        ))}
      </div>
      {error && (
        <Note tone="red" icon="info">
          {error}
        </Note>
      )}
    </fieldset>
  )
}
