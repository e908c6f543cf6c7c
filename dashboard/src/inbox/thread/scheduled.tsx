/** The messages of a conversation that are sent later, below its messages: when, by whom, why not, and what a member can do with each. */
import './scheduled.css'
import { useState } from 'react'
import { Button, Checkbox, InputField, TextAreaField } from '../../../../ui/controls.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { describeError, type InputOf, useChange } from '../../lib/api.ts'
import { useCanWrite, useMe } from '../../lib/session.tsx'
import { formatTime, toDatetimeLocal } from '../../lib/time.ts'
import { CallButton, ConfirmButton, FormDialog } from '../../ui/dialogs.tsx'
import { words } from '../../words/words.ts'
import { findTimeFault } from '../actions/later-dialog.tsx'
import type { Conversation } from '../model/data.ts'
import { lastReplyAt, type Scheduled, useScheduled, willBeHeld } from '../model/scheduled.ts'
import { Text } from './text.tsx'

const { later, message: messageWords } = words.inbox

const listCall = 'GET /conversations/{id}/scheduled-messages'

export default function ScheduledMessages({ conversation }: { conversation: Conversation }) {
  const scheduled = useScheduled(conversation.id)
  const closesAt = lastReplyAt(conversation)
  const isTooLate = ({ state, send_at: at, content }: Scheduled) =>
    state === 'scheduled' && content.type !== 'template' && closesAt !== null && Date.parse(at) > closesAt
  const warningOf = (message: Scheduled) =>
    willBeHeld(message, conversation)
      ? later.willBeHeld
      : isTooLate(message)
        ? later.tooLate(message.hold_if_customer_writes)
        : undefined
  if (scheduled.length === 0) return null
  return (
    <section className="stack inbox-later" aria-label={later.list}>
      {scheduled.map((message) => (
        <Entry key={message.id} message={message} warning={warningOf(message)} />
      ))}
    </section>
  )
}

type EntryProps = {
  message: Scheduled
  /** Why it will not be sent at its time. */
  warning: string | undefined
}

function Entry({ message, warning }: EntryProps) {
  const { id, state, send_at: at, author } = message
  const me = useMe()
  const canWrite = useCanWrite() && state !== 'sending'
  const [isEditing, setEditing] = useState(false)
  const isOwn = author.type === 'member' && author.id === me.id
  const writtenBy = author.type === 'api_key' ? later.byKey(author.name) : isOwn ? later.byYou : later.by(author.name)
  return (
    <article className="inbox-later-entry" data-state={state} aria-label={later.entry(formatTime(at))}>
      <header>
        <Icon name="clock" />
        <p>
          <strong>{describeState(message)}</strong> <span className="soft">{writtenBy}</span>
        </p>
      </header>
      <Content message={message} />
      {warning && <p className="inbox-later-warning">{warning}</p>}
      {canWrite && (
        <footer>
          <Button label={later.edit} size="small" onClick={() => setEditing(true)} />
          <CallButton
            label={later.sendNow}
            size="small"
            call="POST /scheduled-messages/{id}/send"
            input={{ params: { id } }}
            stale={[listCall]}
          />
          <ConfirmButton
            button={<Button label={later.cancel} size="small" />}
            title={later.cancelTitle}
            text={later.cancelText}
            action={later.cancelAction}
            danger
            call="DELETE /scheduled-messages/{id}"
            input={{ params: { id } }}
            stale={[listCall]}
          />
        </footer>
      )}
      {isEditing && <EditDialog message={message} onClose={() => setEditing(false)} />}
    </article>
  )
}

function describeState({ state, send_at: at, error }: Scheduled): string {
  if (state === 'held') return later.states.held
  if (state === 'sending') return later.states.sending
  if (state === 'failed') return later.states.failed(isWindowError(error) ? later.windowClosed : (error ?? ''))
  return later.states.scheduled(formatTime(at))
}

const isWindowError = (error: string | null): boolean => /window closed|has not written yet/.test(error ?? '')

function Content({ message: { content } }: { message: Scheduled }) {
  const { type = 'text', text, filename, template, interactive } = content
  const body = interactive && 'body' in interactive ? String(interactive.body) : undefined
  const label = filename ?? template?.name ?? body
  return (
    <>
      {type !== 'text' && <p className="soft">{[messageWords.kinds[type], label].filter(Boolean).join(': ')}</p>}
      <Text text={text ?? null} />
    </>
  )
}

const hasText = ({ type = 'text' }: Scheduled['content']): boolean =>
  ['text', 'image', 'video', 'document'].includes(type)

type Changes = InputOf<'PATCH /scheduled-messages/{id}'>['body']

function EditDialog({ message, onClose }: { message: Scheduled; onClose: () => void }) {
  const { id, state, content, reply_to_message_id: quotedId, send_at: sendAt } = message
  const isWaiting = state === 'scheduled'
  const [text, setText] = useState(content.text ?? '')
  const [firstTime] = useState(() => toDatetimeLocal(isWaiting ? Date.parse(sendAt) : Date.now() + 3_600_000))
  const [time, setTime] = useState(firstTime)
  const [isHoldable, setHoldable] = useState(isWaiting ? message.hold_if_customer_writes : true)
  const [timeError, setTimeError] = useState('')
  const { mutate, isPending, error } = useChange('PATCH /scheduled-messages/{id}', {
    stale: [listCall],
    done: later.saved,
    onDone: onClose,
  })
  const submit = () => {
    // The field has no seconds: a time that was not changed stays as it is.
    const isMoved = !isWaiting || time !== firstTime
    const fault = isMoved ? findTimeFault(time) : ''
    setTimeError(fault)
    if (fault) return
    const { text: _, ...others } = content
    const quote = quotedId ? { reply_to_message_id: quotedId } : {}
    const changes: Changes = {
      ...(text === (content.text ?? '') ? {} : { ...others, ...quote, ...(text ? { text } : {}) }),
      ...(isMoved ? { send_at: new Date(time).toISOString() } : {}),
      hold_if_customer_writes: isHoldable,
    }
    mutate({ params: { id }, body: changes })
  }
  return (
    <FormDialog
      title={later.editTitle}
      action={later.save}
      noValidate
      className="inbox-choice-form"
      isBusy={isPending}
      error={error ? describeError(error) : undefined}
      onSubmit={submit}
      onClose={onClose}
    >
      {hasText(content) && (
        <TextAreaField
          label={later.messageText}
          rows={4}
          dir="auto"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      <InputField
        label={later.at}
        error={timeError}
        type="datetime-local"
        required
        value={time}
        onChange={(event) => {
          setTime(event.target.value)
          setTimeError('')
        }}
      />
      <Checkbox
        label={later.hold}
        hint={later.holdText}
        checked={isHoldable}
        onChange={(event) => setHoldable(event.target.checked)}
      />
    </FormDialog>
  )
}
