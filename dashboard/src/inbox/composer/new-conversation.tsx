/**
 * Starts a conversation with a contact. A contact who has written to a connection has a conversation there, which opens. On the primary
 * channel the business may write first, from a number without a conversation and with a template: only the template creates the
 * conversation. On the other channels the customer must write first.
 */
import { useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { Button, SelectField } from '../../../../ui/controls.tsx'
import { ErrorNote, Note, Skeleton } from '../../../../ui/display.tsx'
import { Dialog, useToast } from '../../../../ui/overlays.tsx'
import { ContactSearch } from '../../contacts/contact-search.tsx'
import { CallError, call, describeError, type ItemOf, newIdempotencyKey, useChange, usePages } from '../../lib/api.ts'
import { describeConnection, useConnectionNames, useNumbers } from '../../lib/connections.ts'
import { nameOf } from '../../lib/people.ts'
import { ChannelMark } from '../../ui/channel.tsx'
import { words } from '../../words/words.ts'
import { moveBetweenChoices } from '../actions/snooze-dialog.tsx'
import type { TemplateSend } from './template-form.tsx'
import { TemplatePicker } from './template-picker.tsx'

const { start: labels } = words.inbox

type Person = Pick<
  ItemOf<'GET /contacts'>,
  'id' | 'name' | 'phone' | 'social_username' | 'username' | 'channels' | 'email'
>

/** Without a contact the member chooses one first. */
type Props = { contact?: Person | undefined; onClose: () => void }

export default function NewConversation({ contact, onClose }: Props) {
  const [chosen, setChosen] = useState(contact)
  return chosen ? (
    <ChooseChannel contact={chosen} onClose={onClose} />
  ) : (
    <ChooseContact onChoose={setChosen} onClose={onClose} />
  )
}

function ChooseContact({ onChoose, onClose }: { onChoose: (contact: Person) => void; onClose: () => void }) {
  const create = useChange('POST /contacts', { stale: ['GET /contacts'], onDone: onChoose })
  return (
    <Dialog title={labels.title} onClose={onClose}>
      <ContactSearch onChoose={onChoose}>
        {(search, found) => (
          <>
            {isPhone(search) && found.length === 0 && (
              <div>
                <Button
                  label={labels.addNumber(search)}
                  icon="plus"
                  busy={create.isPending}
                  onClick={() => create.mutate({ body: { phone: search } })}
                />
              </div>
            )}
            {create.error && <ErrorNote>{describeError(create.error)}</ErrorNote>}
          </>
        )}
      </ContactSearch>
    </Dialog>
  )
}

const isPhone = (text: string): boolean => /^\+?[\d\s()./-]{7,}$/.test(text)

function ChooseChannel({ contact, onClose }: { contact: Person; onClose: () => void }) {
  const [, navigate] = useLocation()
  const toast = useToast()
  const query = usePages('GET /conversations', { query: { contact_id: contact.id } })
  const [isTemplateOpen, setTemplateOpen] = useState(false)
  const [isSending, setSending] = useState(false)
  const conversations = query.data && query.items
  const connectionNameOf = useConnectionNames()
  const numbers = useNumbers()
  const freeNumbers = numbers.filter(({ id }) => conversations?.every(({ connection }) => connection?.id !== id))
  const [chosenId, setChosenId] = useState<string>()
  // The default number first.
  const number = freeNumbers.find(({ id }) => id === chosenId) ?? freeNumbers[0]
  const hasNoNumber = numbers.length === 0 && conversations?.every(({ channel }) => channel !== 'msgapp') === true
  const canStart = contact.channels.includes('msgapp') && (number !== undefined || hasNoNumber)
  const onlyId = conversations?.length === 1 && !canStart ? conversations[0]?.id : undefined
  const mustStart = conversations?.length === 0 && canStart
  const open = (id: string) => {
    onClose()
    navigate(`/inbox/${id}`)
  }
  // With one possibility there is nothing to choose.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once per answer.
  useEffect(() => {
    if (onlyId) open(onlyId)
    if (mustStart) setTemplateOpen(true)
  }, [onlyId, mustStart])
  // The choices render after the dialog, which has put the focus on its close button.
  const list = useRef<HTMLUListElement>(null)
  const hasChoices = conversations !== undefined && !onlyId && !mustStart
  useEffect(() => {
    if (hasChoices) list.current?.querySelector('button')?.focus()
  }, [hasChoices])
  const send = async (template: TemplateSend) => {
    if (isSending) return
    setSending(true)
    const params = { id: contact.id }
    const idempotencyKey = newIdempotencyKey()
    try {
      const body = { template, ...(number && numbers.length > 1 ? { from: number.id } : {}) }
      const { data } = await call('POST /contacts/{id}/conversations', { params, body, idempotencyKey })
      open(data.conversation_id)
    } catch (error) {
      toast.error(error)
      setSending(false)
      // The message failed at the channel. It is in the conversation, with the reason.
      const isStored = error instanceof CallError && error.details.message_id
      const connection = number ? { connection: number.id } : {}
      const query = { contact_id: contact.id, channel: 'msgapp', ...connection }
      const [created] = isStored ? (await call('GET /conversations', { query })).data : []
      if (created) open(created.id)
    }
  }
  if (isTemplateOpen) {
    return (
      <TemplatePicker
        name={nameOf(contact)}
        account={number?.account_id}
        onClose={onClose}
        onSend={(template) => void send(template)}
      >
        {numbers.length > 1 && (
          <SelectField
            label={labels.from}
            value={number?.id}
            options={freeNumbers.map((free) => [free.id, describeConnection(free)])}
            onChange={({ target }) => setChosenId(target.value)}
          />
        )}
      </TemplatePicker>
    )
  }
  return (
    <Dialog title={labels.titleWith(nameOf(contact))} onClose={onClose}>
      {query.error ? (
        <ErrorNote>{describeError(query.error)}</ErrorNote>
      ) : !conversations || onlyId ? (
        <Skeleton lines={3} />
      ) : conversations.length === 0 && !canStart ? (
        <Note>{labels.unreachable}</Note>
      ) : (
        <ul className="contact-choices" aria-label={labels.channels} ref={list} onKeyDown={moveBetweenChoices}>
          {conversations.map((conversation) => (
            <li key={conversation.id}>
              <button type="button" onClick={() => open(conversation.id)}>
                <ChannelMark channel={conversation.channel} />
                <span className="grow">
                  {labels.continue(words.channels[conversation.channel])}{' '}
                  <span className="soft">{connectionNameOf(conversation)}</span>
                </span>
              </button>
            </li>
          ))}
          {canStart && (
            <li>
              <button type="button" onClick={() => setTemplateOpen(true)}>
                <ChannelMark channel="msgapp" />
                <span className="grow">{labels.withTemplate(words.channels.msgapp)}</span>
              </button>
            </li>
          )}
        </ul>
      )}
    </Dialog>
  )
}
