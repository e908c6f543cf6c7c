/** Creates an API key with a name and scopes, then shows the key once. */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Checkbox, Field, Input } from '../../../ui/form.tsx'
import { ErrorNote, Note } from '../../../ui/note.tsx'
import { useChange } from '../lib/api.ts'
import { openCalls, scopeCalls } from '../lib/calls.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { SecretDialog } from '../ui/secret-dialog.tsx'
import { words } from '../words/words.ts'

const { keys } = words.settings
const { common } = words

type Scope = keyof typeof scopeCalls

const allScopes = Object.keys(scopeCalls) as Scope[]
const withoutScopes = keys.withoutScopes(openCalls)

export function CreateKey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>([])
  const create = useChange('POST /keys', { stale: ['GET /keys'] })
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
  const errors = fieldErrorsOf(create.error, ['name', 'scopes'])
  const hasAll = scopes.length === allScopes.length
  const toggle = (scope: Scope) =>
    setScopes(scopes.includes(scope) ? scopes.filter((each) => each !== scope) : [...scopes, scope])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate({ body: { name, scopes: [...scopes] } })
  }
  return (
    // Closing the dialog during the request would lose the key.
    <Dialog title={keys.make} size="wide" onClose={() => !create.isPending && onClose()}>
      <form onSubmit={submit}>
        <Field label={keys.name} hint={keys.nameHint} error={errors.name}>
          {(wiring) => (
            <Input
              {...wiring}
              required
              autoComplete="off"
              placeholder={keys.namePlaceholder}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <fieldset className="settings-scope-choice">
          <legend>{keys.scopes}</legend>
          <Button size="small" variant="quiet" onClick={() => setScopes(hasAll ? [] : allScopes)}>
            {hasAll ? keys.chooseNone : keys.chooseAll}
          </Button>
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
          {errors.scopes && <Note tone="red">{errors.scopes}</Note>}
        </fieldset>
        {scopes.length === 0 && name.trim() ? (
          <Note tone="amber" icon="alert">
            {withoutScopes}
          </Note>
        ) : (
          <p className="soft small">{scopes.length === 0 ? withoutScopes : keys.fixed}</p>
        )}
        {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
        <div className="dialog-foot">
          <Button onClick={onClose} disabled={create.isPending}>
            {common.cancel}
          </Button>
          <Button type="submit" variant="primary" busy={create.isPending}>
            {keys.submit}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
