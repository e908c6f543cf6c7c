/**
 * API keys: who may call the API, and what they may do. Owners and admins make
 * and revoke them; everybody sees the list. A key that stopped working stays
 * listed, with the reason.
 */
import { useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { CopyButton } from '../../../ui/copy.tsx'
import { Confirm } from '../../../ui/dialog.tsx'
import { Note } from '../../../ui/note.tsx'
import { Empty } from '../../../ui/state.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { type ItemOf, messageOf, useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { Asked, Page } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { KeyList } from './key-list.tsx'
import { NewKey } from './key-new.tsx'

const { keys } = words.settings

export type Key = ItemOf<'GET /keys'>

export function Keys() {
  const isManager = useIsManager()
  const asked = useCall('GET /keys', {})
  const [isMaking, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<Key>()
  const make = isManager && (
    <Button variant="primary" icon="plus" onClick={() => setMaking(true)}>
      {keys.make}
    </Button>
  )
  return (
    <Page title={keys.title} lead={keys.lead} actions={make}>
      {!isManager && <Note>{keys.onlyManagers}</Note>}
      <Asked query={asked}>
        {(all) =>
          all.length === 0 ? (
            <Card>
              <Empty icon="key" title={keys.empty} action={make}>
                {isManager ? keys.emptyText : keys.emptyAgent}
              </Empty>
            </Card>
          ) : (
            <KeyList keys={all} {...(isManager ? { onRevoke: setRevoking } : {})} />
          )
        }
      </Asked>
      <Address />
      {isMaking && <NewKey onClose={() => setMaking(false)} />}
      {revoking && <Revoke of={revoking} onClose={() => setRevoking(undefined)} />}
    </Page>
  )
}

/** Where a key is used. */
function Address() {
  const url = `${location.origin}/v1`
  return (
    <Card title={keys.use}>
      <p className="soft">{keys.useText}</p>
      <dl className="facts settings-facts">
        <dt>{keys.baseUrl}</dt>
        <dd className="row">
          <code>{url}</code>
          <CopyButton text={url} size="small" label={keys.copyUrl} />
        </dd>
        <dt>{keys.header}</dt>
        <dd>
          <code>{keys.headerText}</code>
        </dd>
        <dt>{keys.reference}</dt>
        <dd>
          <a href="/docs" target="_blank" rel="noopener">
            {keys.referenceLink}
          </a>
        </dd>
      </dl>
    </Card>
  )
}

function Revoke({ of: { id, name, prefix }, onClose }: { of: Key; onClose: () => void }) {
  const toast = useToast()
  const revoke = useChange('POST /keys/{id}/revoke', {
    stale: ['GET /keys'],
    onDone: () => {
      toast.done(keys.revokedToast(name))
      onClose()
    },
  })
  return (
    <Confirm
      title={keys.revokeTitle(name)}
      action={keys.revoke}
      danger
      busy={revoke.isPending}
      fault={revoke.error ? messageOf(revoke.error) : undefined}
      onConfirm={() => revoke.mutate({ params: { id } })}
      onClose={onClose}
    >
      <p>{keys.revokeText(prefix)}</p>
    </Confirm>
  )
}
