/** Canned replies: the shared ones and the member's own. Owners and admins change the shared ones. */
import { useState } from 'react'
import { Button, IconButton } from '../../../ui/controls.tsx'
import { Card, EmptyState } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import type { CannedReply } from '../inbox/composer/canned-replies.ts'
import { useCall } from '../lib/api.ts'
import { useCanWrite, useIsManager } from '../lib/session.tsx'
import { ConfirmCall } from '../ui/dialogs.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { ReplyForm } from './reply-form.tsx'

const { replies: labels } = words.settings

export function CannedReplies() {
  const query = useCall('GET /canned-replies', {}, { live: true })
  const isManager = useIsManager()
  const canWrite = useCanWrite()
  const [editing, setEditing] = useState<CannedReply | 'new'>()
  const [deleting, setDeleting] = useState<CannedReply>()
  const add = canWrite && <Button label={labels.add} variant="primary" icon="plus" onClick={() => setEditing('new')} />
  return (
    <Page title={labels.title} lead={labels.lead} actions={add}>
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState icon="bolt" title={labels.empty} text={labels.emptyText} action={add} />
            </Card>
          ) : (
            [true, false].map((isShared) => {
              const group = all.filter(({ is_shared }) => is_shared === isShared)
              if (group.length === 0) return null
              const canChange = isManager || (canWrite && !isShared)
              return (
                <Card key={String(isShared)} title={isShared ? labels.shared : labels.personal} flush>
                  <ul className="settings-replies lined">
                    {group.map((reply) => (
                      <li key={reply.id}>
                        <span className="grow column">
                          <strong>/{reply.shortcut}</strong>
                          <span className="clamp settings-reply-text soft small">{reply.text}</span>
                          {reply.attachments.length > 0 && (
                            <span className="soft small">
                              <Icon name="attach" />{' '}
                              {reply.attachments.map(({ filename, type }) => filename ?? type).join(', ')}
                            </span>
                          )}
                        </span>
                        {canChange && (
                          <>
                            <IconButton
                              label={labels.edit(reply.shortcut)}
                              icon="edit"
                              size="small"
                              onClick={() => setEditing(reply)}
                            />
                            <IconButton
                              label={labels.remove(reply.shortcut)}
                              icon="trash"
                              size="small"
                              onClick={() => setDeleting(reply)}
                            />
                          </>
                        )}
                      </li>
                    ))}
                  </ul>
                </Card>
              )
            })
          )
        }
      </QueryView>
      {editing && <ReplyForm reply={editing === 'new' ? undefined : editing} onClose={() => setEditing(undefined)} />}
      {deleting && <DeleteReply reply={deleting} onClose={() => setDeleting(undefined)} />}
    </Page>
  )
}

const DeleteReply = ({ reply, onClose }: { reply: CannedReply; onClose: () => void }) => (
  <ConfirmCall
    title={labels.deleteTitle(reply.shortcut)}
    action={labels.deleteDo}
    danger
    call="DELETE /canned-replies/{id}"
    input={{ params: { id: reply.id } }}
    stale={['GET /canned-replies']}
    done={labels.deleted(reply.shortcut)}
    onClose={onClose}
  >
    <p>{reply.is_shared ? labels.deleteShared : labels.deleteText}</p>
  </ConfirmCall>
)
