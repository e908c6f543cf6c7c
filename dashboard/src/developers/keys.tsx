/** API keys. Owners and admins create and revoke them; all members see the list. Revoked and expired keys stay listed. */
import { useState } from 'react'
import { Button, Checkbox, InputField } from '../../../ui/controls.tsx'
import { Card, EmptyState, Note } from '../../../ui/display.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { openCalls, scopeCalls } from '../lib/calls.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useIsManager } from '../lib/session.tsx'
import { ConfirmCall, FormDialog, SecretDialog } from '../ui/dialogs.tsx'
import { CopyableCode, Facts } from '../ui/facts.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { type Key, KeyList } from './key-list.tsx'

const { keys } = words.settings

export function Keys() {
  const isManager = useIsManager()
  const query = useCall('GET /keys', {})
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Key>()
  const createButton = isManager && (
    <Button label={keys.make} variant="primary" icon="plus" onClick={() => setCreating(true)} />
  )
  return (
    <Page title={keys.title} lead={keys.lead} actions={createButton}>
      {!isManager && <Note>{keys.onlyManagers}</Note>}
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState
                icon="key"
                title={keys.empty}
                text={isManager ? keys.emptyText : keys.emptyAgent}
                action={createButton}
              />
            </Card>
          ) : (
            <KeyList keys={all} {...(isManager ? { onRevoke: setRevoking } : {})} />
          )
        }
      </QueryView>
      <UsageCard />
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
      {revoking && <RevokeKey apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </Page>
  )
}

/** How to use a key: base URL and header. */
function UsageCard() {
  const url = `${location.origin}/v1`
  return (
    <Card title={keys.use}>
      <p className="soft">{keys.useText}</p>
      <Facts
        className="settings-facts"
        facts={{
          [keys.baseUrl]: <CopyableCode text={url} label={keys.copyUrl} />,
          [keys.header]: <code>{keys.headerText}</code>,
          [keys.reference]: (
            <a href="/docs" target="_blank" rel="noopener">
              {keys.referenceLink}
            </a>
          ),
        }}
      />
    </Card>
  )
}

const RevokeKey = ({ apiKey: { id, name, prefix }, onClose }: { apiKey: Key; onClose: () => void }) => (
  <ConfirmCall
    title={keys.revokeTitle(name)}
    text={keys.revokeText(prefix)}
    action={keys.revoke}
    danger
    call="POST /keys/{id}/revoke"
    input={{ params: { id } }}
    stale={['GET /keys']}
    done={keys.revokedToast(name)}
    onClose={onClose}
  />
)

type Scope = keyof typeof scopeCalls

const allScopes = Object.keys(scopeCalls) as Scope[]
const withoutScopes = keys.withoutScopes(openCalls)

/** Creates an API key with a name and scopes, then shows the key once. */
function CreateKey({ onClose }: { onClose: () => void }) {
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
      <fieldset className="stack settings-scope-choice">
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
