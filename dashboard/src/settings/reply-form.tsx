/** The dialog to add or edit a canned reply: shortcut, text with variables, files, and who sees it. */
import { useRef, useState } from 'react'
import { Button, Checkbox, InputField, TextAreaField } from '../../../ui/controls.tsx'
import { Attachments } from '../inbox/composer/attachments.tsx'
import type { CannedReply } from '../inbox/composer/canned-replies.ts'
import { insertText } from '../inbox/composer/text-edits.ts'
import { useAttachments } from '../inbox/composer/use-attachments.ts'
import { useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useIsManager } from '../lib/session.tsx'
import { FormDialog } from '../ui/dialogs.tsx'
import { words } from '../words/words.ts'

const { replies: labels } = words.settings

const variables = ['{{contact.first_name|there}}', '{{contact.name|there}}', '{{contact.company}}', '{{member.name}}']
const maxFiles = 5

export function ReplyForm({ reply, onClose }: { reply: CannedReply | undefined; onClose: () => void }) {
  const isManager = useIsManager()
  const [isShared, setShared] = useState(reply?.is_shared ?? false)
  const { attachments, add, remove } = useAttachments(reply?.attachments)
  const box = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const outcome = { stale: ['GET /canned-replies'], done: labels.saved, onDone: onClose } as const
  const create = useChange('POST /canned-replies', outcome)
  const update = useChange('PUT /canned-replies/{id}', outcome)
  const files = attachments.flatMap(({ uploaded }) => uploaded?.media_url ?? [])
  const initial = { shortcut: reply?.shortcut ?? '', text: reply?.text ?? '' }
  const { values, errors, bind } = useFormFields(initial, create.error ?? update.error, ['attachments'])
  const submit = () => {
    const body = { ...values, attachments: files, is_shared: isShared }
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
        <Button
          label={labels.attach}
          icon="attach"
          disabled={attachments.length >= maxFiles}
          onClick={() => picker.current?.click()}
        />
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label={labels.attach}
          onChange={(event) => {
            add([...(event.target.files ?? [])].slice(0, maxFiles - attachments.length))
            event.target.value = ''
          }}
        />
      </div>
      {isManager && (
        <Checkbox
          label={labels.share}
          hint={labels.shareHint}
          checked={isShared}
          onChange={(event) => setShared(event.target.checked)}
        />
      )}
    </FormDialog>
  )
}
