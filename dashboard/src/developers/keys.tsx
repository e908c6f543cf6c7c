/** API keys. Owners and admins create, edit and revoke them; all members see the list. Revoked and expired keys stay listed. */
import { useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Card, EmptyState, Note } from '../../../ui/display.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { DeveloperTabs } from '../ui/developer-tabs.tsx'
import { ConfirmCall, SecretDialog } from '../ui/dialogs.tsx'
import { CopyableCode, Facts } from '../ui/facts.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { KeyForm } from './key-form.tsx'
import { type Key, KeyList } from './key-list.tsx'

const { keys } = words.developers

type Open = { dialog: 'create' } | { dialog: 'edit' | 'revoke'; key: Key }

export function Keys() {
  const isManager = useIsManager()
  const query = useCall('GET /keys', {})
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const createButton = isManager && (
    <Button label={keys.make} variant="primary" icon="plus" onClick={() => setOpen({ dialog: 'create' })} />
  )
  const actions = {
    onEdit: (key: Key) => setOpen({ dialog: 'edit', key }),
    onRevoke: (key: Key) => setOpen({ dialog: 'revoke', key }),
  }
  return (
    <Page title={keys.title} lead={keys.lead} actions={createButton}>
      <DeveloperTabs />
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
            <KeyList keys={all} actions={isManager ? actions : undefined} />
          )
        }
      </QueryView>
      <UsageCard />
      {open?.dialog === 'create' && <CreateKey onClose={close} />}
      {open?.dialog === 'edit' && <EditKey apiKey={open.key} onClose={close} />}
      {open?.dialog === 'revoke' && <RevokeKey apiKey={open.key} onClose={close} />}
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

type KeyDialogProps = { apiKey: Key; onClose: () => void }

const RevokeKey = ({ apiKey: { id, name, prefix }, onClose }: KeyDialogProps) => (
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

/** Creates an API key, then shows it once. */
function CreateKey({ onClose }: { onClose: () => void }) {
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
  return (
    <KeyForm
      title={keys.make}
      action={keys.submit}
      isBusy={create.isPending}
      error={create.error}
      onSubmit={(body) => create.mutate({ body })}
      onClose={onClose}
    />
  )
}

function EditKey({ apiKey, onClose }: KeyDialogProps) {
  const change = useChange('PATCH /keys/{id}', {
    stale: ['GET /keys'],
    done: ({ name }) => keys.changed(name),
    onDone: onClose,
  })
  return (
    <KeyForm
      title={keys.editTitle(apiKey.name)}
      action={words.common.save}
      initial={apiKey}
      isBusy={change.isPending}
      error={change.error}
      onSubmit={(body) => change.mutate({ params: { id: apiKey.id }, body })}
      onClose={onClose}
    />
  )
}
