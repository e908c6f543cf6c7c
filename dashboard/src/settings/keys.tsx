/** API keys. Owners and admins create and revoke them; all members see the list. Revoked and expired keys stay listed. */
import { useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Card, EmptyState, Note } from '../../../ui/display.tsx'
import { useCall } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { ConfirmCall } from '../ui/dialogs.tsx'
import { CopyableCode, Facts } from '../ui/facts.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { CreateKey } from './key-create.tsx'
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
    action={keys.revoke}
    danger
    call="POST /keys/{id}/revoke"
    input={{ params: { id } }}
    stale={['GET /keys']}
    done={keys.revokedToast(name)}
    onClose={onClose}
  >
    <p>{keys.revokeText(prefix)}</p>
  </ConfirmCall>
)
