/** Canned replies: those shared with all members or with a team, and the member's own. Owners and admins change the shared ones. */
import { useRef, useState } from 'react'
import { Button, FilePicker, IconButton, InputField, SelectField, TextAreaField } from '../../../ui/controls.tsx'
import { Card, EmptyState } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Attachments } from '../inbox/composer/attachments.tsx'
import type { CannedReply } from '../inbox/composer/canned-replies.ts'
import { insertText } from '../inbox/composer/text-edits.ts'
import { useAttachments } from '../inbox/composer/use-attachments.ts'
import { useCall, useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useCanWrite, useIsManager } from '../lib/session.tsx'
import { ConfirmCall, FormDialog } from '../ui/dialogs.tsx'
import { Marked } from '../ui/marked.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'

const { replies: labels } = settingsWords

export function CannedReplies() {
  const query = useCall('GET /canned-replies', {}, { live: true })
  const teams = useCall('GET /teams', {}).data ?? []
  const isManager = useIsManager()
  const canWrite = useCanWrite()
  const [editing, setEditing] = useState<CannedReply | 'new'>()
  const [deleting, setDeleting] = useState<CannedReply>()
  const add = canWrite && <Button label={labels.add} variant="primary" icon="plus" onClick={() => setEditing('new')} />
  return (
    <Page title={labels.title} lead={<Marked text={labels.lead} isKeys />} actions={add}>
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState icon="bolt" title={labels.empty} text={labels.emptyText} action={add} />
            </Card>
          ) : (
            [
              {
                key: 'shared',
                title: labels.shared,
                group: all.filter((one) => one.is_shared && one.team_id === null),
              },
              ...teams.map(({ id, name }) => ({
                ...{ key: id, title: labels.ofTeam(name), group: all.filter(({ team_id }) => team_id === id) },
              })),
              { key: 'personal', title: labels.personal, group: all.filter(({ is_shared }) => !is_shared) },
            ].map(({ key, title, group }) => {
              if (group.length === 0) return null
              const canChange = isManager || (canWrite && key === 'personal')
              return (
                <Card key={key} title={title} flush>
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
                              onClick={() => setEditing(reply)}
                            />
                            <IconButton
                              label={labels.remove(reply.shortcut)}
                              icon="trash"
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
    text={!reply.is_shared ? labels.deleteText : reply.team_id ? labels.deleteOfTeam : labels.deleteShared}
    action={labels.deleteDo}
    danger
    call="DELETE /canned-replies/{id}"
    input={{ params: { id: reply.id } }}
    stale={['GET /canned-replies']}
    done={labels.deleted(reply.shortcut)}
    onClose={onClose}
  />
)

const variables = ['{{contact.first_name|there}}', '{{contact.name|there}}', '{{contact.company}}', '{{member.name}}']
const maxFiles = 5

/** The dialog to add or edit a canned reply: shortcut, text with variables, files, and who sees it. */
function ReplyForm({ reply, onClose }: { reply: CannedReply | undefined; onClose: () => void }) {
  const isManager = useIsManager()
  const teams = useCall('GET /teams', {}).data ?? []
  const [audience, setAudience] = useState(reply?.is_shared ? (reply.team_id ?? 'all') : 'me')
  const { attachments, add, remove } = useAttachments(reply?.attachments)
  const box = useRef<HTMLTextAreaElement>(null)
  const outcome = { stale: ['GET /canned-replies'], done: labels.saved, onDone: onClose } as const
  const create = useChange('POST /canned-replies', outcome)
  const update = useChange('PUT /canned-replies/{id}', outcome)
  const files = attachments.flatMap(({ uploaded }) => uploaded?.media_url ?? [])
  const initial = { shortcut: reply?.shortcut ?? '', text: reply?.text ?? '' }
  const { values, errors, bind } = useFormFields(initial, create.error ?? update.error, ['attachments'])
  const submit = () => {
    const isShared = audience !== 'me'
    const team_id = isShared && audience !== 'all' ? audience : null
    const body = { ...values, attachments: files, is_shared: isShared, team_id }
    if (reply) update.mutate({ params: { id: reply.id }, body })
    else create.mutate({ body })
  }
  return (
    <FormDialog
      title={reply ? labels.editTitle(reply.shortcut) : labels.add}
      size="wide"
      action={reply ? words.common.save : labels.add}
      isBusy={create.isPending || update.isPending}
      isReady={files.length === attachments.length}
      error={errors.attachments ?? errors.rest}
      onSubmit={submit}
      onClose={onClose}
    >
      <InputField
        label={labels.shortcut}
        hint={labels.shortcutHint}
        required
        maxLength={41}
        autoComplete="off"
        {...bind('shortcut')}
      />
      <TextAreaField label={labels.text} ref={box} rows={6} dir="auto" maxLength={4096} {...bind('text')} />
      <ul className="settings-chips" aria-label={labels.variables}>
        {variables.map((variable) => (
          <li key={variable}>
            <button
              type="button"
              className="settings-chip"
              aria-label={labels.insert(variable)}
              onClick={() => box.current && insertText(box.current, variable)}
            >
              <code>{variable}</code>
            </button>
          </li>
        ))}
      </ul>
      <p className="soft small">{labels.variablesHint}</p>
      <Attachments attachments={attachments} onRemove={(one) => remove([one])} />
      <div>
        <FilePicker
          label={labels.attach}
          button={(open) => (
            <Button label={labels.attach} icon="attach" disabled={attachments.length >= maxFiles} onClick={open} />
          )}
          multiple
          onFiles={(chosen) => add(chosen.slice(0, maxFiles - attachments.length))}
        />
      </div>
      {isManager && (
        <SelectField
          label={labels.audience}
          hint={labels.shareHint}
          value={audience}
          options={[
            ['me', labels.onlyMe],
            ['all', labels.allMembers],
            ...teams.map(({ id, name }) => [id, labels.team(name)] as const),
          ]}
          onChange={({ target }) => setAudience(target.value)}
        />
      )}
    </FormDialog>
  )
}
