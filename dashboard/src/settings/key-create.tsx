/** Creates an API key with a name and scopes, then shows the key once. */
import { useState } from 'react'
import { Button, Checkbox, InputField } from '../../../ui/controls.tsx'
import { Note } from '../../../ui/display.tsx'
import { useChange } from '../lib/api.ts'
import { openCalls, scopeCalls } from '../lib/calls.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { FormDialog, SecretDialog } from '../ui/dialogs.tsx'
import { words } from '../words/words.ts'

const { keys } = words.settings

type Scope = keyof typeof scopeCalls

const allScopes = Object.keys(scopeCalls) as Scope[]
const withoutScopes = keys.withoutScopes(openCalls)

export function CreateKey({ onClose }: { onClose: () => void }) {
  const [scopes, setScopes] = useState<readonly Scope[]>([])
  const create = useChange('POST /keys', { stale: ['GET /keys'] })
  const { values, errors, bind } = useFormFields({ name: '' }, create.error, ['scopes'])
  if (create.data) {
    return (
      <SecretDialog
        title={keys.madeTitle(create.data.name)}
        warning={<p>{keys.madeText}</p>}
        secret={create.data.key}
        done={keys.madeDone}
        onDone={onClose}
      />
    )
  }
  const hasAll = scopes.length === allScopes.length
  const toggle = (scope: Scope) =>
    setScopes(scopes.includes(scope) ? scopes.filter((each) => each !== scope) : [...scopes, scope])
  return (
    <FormDialog
      title={keys.make}
      size="wide"
      action={keys.submit}
      isBusy={create.isPending}
      isHeld
      error={errors.rest}
      onSubmit={() => create.mutate({ body: { ...values, scopes: [...scopes] } })}
      onClose={onClose}
    >
      <InputField
        label={keys.name}
        hint={keys.nameHint}
        required
        autoComplete="off"
        placeholder={keys.namePlaceholder}
        {...bind('name')}
      />
      <fieldset className="settings-scope-choice">
        <legend className="legend">{keys.scopes}</legend>
        <Button
          label={hasAll ? keys.chooseNone : keys.chooseAll}
          size="small"
          variant="quiet"
          onClick={() => setScopes(hasAll ? [] : allScopes)}
        />
        <div className="settings-scope-grid">
          {allScopes.map((scope) => (
            <Checkbox
              key={scope}
              label={<code>{scope}</code>}
              hint={keys.scopeHint(keys.scopeTexts[scope], scopeCalls[scope])}
              checked={scopes.includes(scope)}
              onChange={() => toggle(scope)}
            />
          ))}
        </div>
        {errors.scopes && (
          <Note tone="red" icon="info">
            {errors.scopes}
          </Note>
        )}
      </fieldset>
      {scopes.length === 0 && values.name.trim() ? (
        <Note tone="amber">{withoutScopes}</Note>
      ) : (
        <p className="soft small">{scopes.length === 0 ? withoutScopes : keys.fixed}</p>
      )}
    </FormDialog>
  )
}
