/** The dialog to add or edit a canned reply: shortcut, text with variables, files, and who sees it. */
import { type FormEvent, useRef, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Checkbox, Field, Input, TextArea } from '../../../ui/form.tsx'
import { ErrorNote } from '../../../ui/note.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { Attachments } from '../inbox/composer/attachments.tsx'
import type { CannedReply } from '../inbox/composer/canned-replies.ts'
import { insertText } from '../inbox/composer/text-edits.ts'
import { useAttachments } from '../inbox/composer/use-attachments.ts'
import { useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { useIsManager } from '../lib/session.tsx'
import { words } from '../words/words.ts'

const { replies: labels } = words.settings

const variables = ['{{contact.first_name|there}}', '{{contact.name|there}}', '{{contact.company}}', '{{member.name}}']
const maxFiles = 5

export function ReplyForm({ reply, onClose }: { reply: CannedReply | undefined; onClose: () => void }) {
  const toast = useToast()
  const isManager = useIsManager()
  const [shortcut, setShortcut] = useState(reply?.shortcut ?? '')
  const [text, setText] = useState(reply?.text ?? '')
  const [isShared, setShared] = useState(reply?.is_shared ?? false)
  const { attachments, add, remove } = useAttachments(reply?.attachments)
  const box = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const done = {
    stale: ['GET /canned-replies'],
    onDone: () => {
      toast.success(labels.saved)
      onClose()
    },
  } as const
  const create = useChange('POST /canned-replies', done)
  const update = useChange('PUT /canned-replies/{id}', done)
  const isBusy = create.isPending || update.isPending
  const files = attachments.flatMap(({ uploaded }) => uploaded?.media_url ?? [])
  const isReady = files.length === attachments.length
  const errors = fieldErrorsOf(create.error ?? update.error, ['shortcut', 'text', 'attachments'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const body = { shortcut, text, attachments: files, is_shared: isShared }
    if (reply) update.mutate({ params: { id: reply.id }, body })
    else create.mutate({ body })
  }
  return (
    <Dialog title={reply ? labels.editTitle(reply.shortcut) : labels.add} size="wide" onClose={onClose}>
      <form onSubmit={submit}>
        <Field label={labels.shortcut} hint={labels.shortcutHint} error={errors.shortcut}>
          {(wiring) => (
            <Input
              {...wiring}
              required
              maxLength={41}
              autoComplete="off"
              value={shortcut}
              onChange={(event) => setShortcut(event.target.value)}
            />
          )}
        </Field>
        <Field label={labels.text} error={errors.text}>
          {(wiring) => (
            <TextArea
              {...wiring}
              ref={box}
              rows={6}
              dir="auto"
              maxLength={4096}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
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
          <Button icon="attach" disabled={attachments.length >= maxFiles} onClick={() => picker.current?.click()}>
            {labels.attach}
          </Button>
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
        {(errors.attachments ?? errors.rest) && <ErrorNote>{errors.attachments ?? errors.rest}</ErrorNote>}
        <div className="dialog-foot">
          <Button onClick={onClose}>{words.common.cancel}</Button>
          <Button type="submit" variant="primary" busy={isBusy} disabled={!isReady}>
            {reply ? words.common.save : labels.add}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
