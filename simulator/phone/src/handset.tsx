/** One phone: the customer's name, the conversation with the business, and the composer. */
import { type DragEvent, type KeyboardEvent, memo, useEffect, useId, useMemo, useRef, useState } from 'react'
import { IconButton, Select } from '../../../ui/controls.tsx'
import { Avatar, Badge, Code, copyText } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import type { Bubble, Connection, Customer, Phone, Workspace } from './api.ts'
import { addressOf, channelNames, choicesOf, describeConnection, hasNumber, keyOf, titleOf } from './board.ts'
import { Composer } from './composer.tsx'
import { dayOf } from './format.tsx'
import { Message, type MessageActions, type Reactions } from './message.tsx'
import { firstCall } from './samples.ts'
import { useOutbox } from './use-outbox.ts'

/** Messages that are shown at first, and each time the person asks for earlier ones. */
const pageSize = 150
/** Messages of one side within this time form a group. */
const groupMs = 5 * 60_000
const hourMs = 60 * 60_000
const windowMs = 24 * hourMs
/** Distance from the end, in pixels, at which the conversation follows new messages. */
const endMargin = 60

type HandsetProps = {
  phone: Phone
  workspace: Workspace
  connections: readonly Connection[]
  onHide: (customer: Customer) => void
  onSelect: (key: string) => void
  onOpen: (customer: Customer) => void
  onWriteTo: (key: string, connectionId: string) => void
}

export const Handset = memo(function Handset(props: HandsetProps) {
  const { phone, workspace, connections, onHide, onSelect, onOpen, onWriteTo } = props
  const toast = useToast()
  const titleId = useId()
  const [quoted, setQuoted] = useState<Bubble>()
  const [file, setFile] = useState<File>()
  const [isDropTarget, setDropTarget] = useState(false)
  const choices = choicesOf(connections, phone.channel)
  const { pending, send, retry, post } = useOutbox(phone, workspace.workspace_id, choices.length > 0)
  const scroller = useRef<HTMLDivElement>(null)
  const key = keyOf(phone)
  const title = titleOf(phone)
  const isSocial = phone.channel === 'social'
  const isNumberShown = hasNumber(phone)

  const actions = useMemo<MessageActions>(
    () => ({
      retry,
      quote: setQuoted,
      show(id) {
        const target = scroller.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`)
        target?.scrollIntoView({ block: 'center' })
        target?.focus({ preventScroll: true })
      },
      tap(bubble, { type, text, payload, description }) {
        const button = { id: payload || text, title: text, description: description || undefined }
        send({ type: type === 'LIST_REPLY' ? 'list' : 'button', text, button, reply_to: bubble.id })
      },
      async react(bubble, emoji) {
        const answer = await post({ type: 'reaction', text: emoji, reply_to: bubble.id })
        if (!answer.ok) toast.error(`The reaction was not sent: ${answer.message}`)
      },
      openContact: ({ name, phone: number }) =>
        onOpen({ channel: 'msgapp', id: number.replace(/[\s().-]/g, ''), name: name || null, username: null }),
    }),
    [retry, send, post, toast, onOpen],
  )
  const drop = (event: DragEvent) => {
    setDropTarget(false)
    const [dropped] = event.dataTransfer.files
    if (!dropped) return
    event.preventDefault()
    setFile(dropped)
  }
  const copyAddress = () =>
    copyText(phone.id).then(() => toast.success(`${isNumberShown ? 'Number' : 'User id'} copied`), toast.error)
  return (
    <section
      className="phone"
      data-channel={phone.channel}
      data-key={key}
      aria-labelledby={titleId}
      tabIndex={-1}
      onFocus={() => onSelect(key)}
    >
      <header className="line tag">
        <div className="grow">
          <h2 id={titleId} className="cut">
            <bdi>{title}</bdi>
            <span className="offscreen"> on {channelNames[phone.channel]}</span>
          </h2>
          <p className="small soft numeric">
            {title !== addressOf(phone) && <span className="cut">{addressOf(phone)}</span>}
            {!isSocial && <WindowNote phone={phone} />}
          </p>
        </div>
        <IconButton icon="copy" label={isNumberShown ? 'Copy the number' : 'Copy the user id'} onClick={copyAddress} />
        <IconButton icon="close" label="Hide this phone" onClick={() => onHide(phone)} />
      </header>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping a file has an equivalent in the menu "Attach". */}
      <div
        className="handset"
        data-drop-target={isDropTarget || undefined}
        onDragOver={(event) => {
          if (!event.dataTransfer.types.includes('Files')) return
          event.preventDefault()
          setDropTarget(true)
        }}
        onDragLeave={(event) => !event.currentTarget.contains(event.relatedTarget as Node) && setDropTarget(false)}
        onDrop={drop}
      >
        <div className="screen">
          <div className="line chat-head">
            <Avatar name={workspace.business_name} />
            <span className="grow">
              <strong className="cut" dir="auto">
                {workspace.business_name}
              </strong>
              {choices.length === 0 ? (
                <span className="small soft">{isSocial ? channelNames.social : numberOf(workspace)}</span>
              ) : (
                <WriteTo
                  phone={phone}
                  choices={choices}
                  onChange={(connectionId) => {
                    setQuoted(undefined)
                    onWriteTo(key, connectionId)
                  }}
                />
              )}
            </span>
          </div>
          <Conversation
            key={phone.connectionId}
            {...{ phone, pending, actions, scroller }}
            businessName={workspace.business_name}
          />
          <Composer
            customer={title}
            businessName={workspace.business_name}
            hasLocations={!isSocial}
            quoted={quoted}
            onQuote={setQuoted}
            file={file}
            onFile={setFile}
            onSend={(message) => {
              send(message)
              if (scroller.current) scroller.current.scrollTop = 0
            }}
          />
          <div className="drop-hint" aria-hidden="true">
            <Icon name="upload" />
            Drop the file here
          </div>
        </div>
      </div>
    </section>
  )
})

const numberOf = ({ display_phone_number: number = '' }: Workspace) =>
  number.replace(/^(?=\d+$)/, '+') || channelNames.msgapp

type WriteToProps = {
  phone: Phone
  choices: readonly Connection[]
  onChange: (connectionId: string) => void
}

/** The number that the phone writes to. Chats with other numbers count their new messages. */
function WriteTo({ phone, choices, onChange }: WriteToProps) {
  const unreadOf = (connectionId: string) => phone.otherChats.get(connectionId)?.unread ?? 0
  const unread = choices.reduce((sum, { connection_id: id }) => sum + unreadOf(id), 0)
  const kind = phone.channel === 'social' ? 'Account' : 'Number'
  return (
    <span className="write-to">
      <Select
        aria-label={`${kind} that ${titleOf(phone)} writes to`}
        value={phone.connectionId}
        options={choices.map((choice) => {
          const count = unreadOf(choice.connection_id)
          return [choice.connection_id, `${describeConnection(choice)}${count > 0 ? ` (${count} new)` : ''}`]
        })}
        onChange={(event) => onChange(event.target.value)}
      />
      {unread > 0 && (
        <Badge tone="red">
          {unread > 99 ? '99+' : unread}
          <span className="offscreen"> new in other chats</span>
        </Badge>
      )}
    </span>
  )
}

/** Whether the 24-hour window is open: outside of it the business can send templates only. */
function WindowNote({ phone }: { phone: Phone }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000)
    return () => clearInterval(timer)
  }, [])
  const last = phone.messages.findLast(({ from }) => from === 'customer')
  const openMs = last ? Date.parse(last.at) + windowMs - now : 0
  if (openMs <= 0)
    return (
      <span className="window" title="The customer has not written for 24 hours. Only templates can be sent.">
        Templates only
      </span>
    )
  return (
    <span
      className="window"
      data-open=""
      title="The customer wrote within 24 hours. The business can send any message."
    >
      Free text, {openMs >= hourMs ? `${Math.floor(openMs / hourMs)} h` : `${Math.ceil(openMs / 60_000)} min`} left
    </span>
  )
}

type ConversationProps = {
  phone: Phone
  pending: readonly Bubble[]
  businessName: string
  actions: MessageActions
  scroller: React.RefObject<HTMLDivElement | null>
}

/** The scroller is a reversed column, so the browser itself keeps the newest message in view. */
function Conversation({ phone, pending, businessName, actions, scroller }: ConversationProps) {
  const [count, setCount] = useState(pageSize)
  const [tabStop, setTabStop] = useState<string>()
  const [seenCount, setSeenCount] = useState(phone.messages.length)
  const { messages } = phone
  const reactions = useMemo(() => reactionsOf(messages), [messages])
  const tapped = useMemo(() => tappedOf(messages), [messages])
  const all = [...messages.filter(({ reaction }) => !reaction), ...pending]
  const shown = all.slice(-count)
  const isAtEnd = () => Math.abs(scroller.current?.scrollTop ?? 0) < endMargin
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs for every new message.
  useEffect(() => {
    if (isAtEnd()) setSeenCount(messages.length)
  }, [messages.length])

  const move = (event: KeyboardEvent<HTMLOListElement>) => {
    const items = [...event.currentTarget.querySelectorAll<HTMLElement>('.message')]
    const index = items.indexOf(event.target as HTMLElement)
    const next = { ArrowUp: index - 1, ArrowDown: index + 1, Home: 0, End: items.length - 1 }[event.key]
    if (index < 0 || next === undefined) return
    event.preventDefault()
    items[Math.max(0, Math.min(items.length - 1, next))]?.focus()
  }
  const tabStopId = shown.some(({ id }) => id === tabStop) ? tabStop : shown.at(-1)?.id
  return (
    <div className="chat">
      <div
        ref={scroller}
        className="scroller"
        data-empty={all.length === 0 || undefined}
        onScroll={() => isAtEnd() && setSeenCount(messages.length)}
      >
        <div className="log">
          {all.length === 0 && <FirstSteps phone={phone} />}
          {all.length > count && (
            <button type="button" className="pill" onClick={() => setCount(count + pageSize)}>
              Show earlier messages
            </button>
          )}
          <ol
            aria-label={`Conversation of ${titleOf(phone)} with ${businessName}`}
            onKeyDown={move}
            onFocus={(event) => setTabStop(event.target.closest<HTMLElement>('.message')?.dataset.id)}
          >
            {shown.flatMap((bubble, index) => {
              const before = shown[index - 1]
              const day = dayOf(bubble.at)
              const isNewDay = !before || dayOf(before.at) !== day
              return [
                isNewDay && (
                  <li key={`day ${bubble.id}`} className="day">
                    {day}
                  </li>
                ),
                <Message
                  key={bubble.id}
                  bubble={bubble}
                  quoted={bubble.reply_to ? all.find(({ id }) => id === bubble.reply_to) : undefined}
                  businessName={businessName}
                  hasMarks={phone.channel === 'msgapp'}
                  isFollowing={!isNewDay && isFollowing(bubble, before)}
                  isTabStop={bubble.id === tabStopId}
                  reactions={reactions.get(bubble.id)}
                  tapped={tapped.get(bubble.id)}
                  actions={actions}
                />,
              ]
            })}
          </ol>
        </div>
      </div>
      {seenCount < messages.length && (
        <button type="button" className="pill newer" onClick={() => scroller.current?.scrollTo({ top: 0 })}>
          New messages
        </button>
      )}
    </div>
  )
}

const isFollowing = (bubble: Bubble, before: Bubble | undefined) =>
  before?.from === bubble.from && Date.parse(bubble.at) - Date.parse(before.at) < groupMs

/** The last reaction of each side to each message. An empty emoji removes a reaction. */
function reactionsOf(messages: readonly Bubble[]): Map<string, Reactions> {
  const found = new Map<string, Reactions>()
  for (const { reaction, from } of messages) {
    if (!reaction) continue
    const { [from]: _, ...others } = found.get(reaction.message_id) ?? {}
    found.set(reaction.message_id, reaction.emoji ? { ...others, [from]: reaction.emoji } : others)
  }
  return found
}

/** The texts of tapped quick replies, by the message they belong to. */
function tappedOf(messages: readonly Bubble[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const { type, from, reply_to, text } of messages) {
    if (from !== 'customer' || !reply_to || !text || !['button', 'list'].includes(type)) continue
    found.set(reply_to, (found.get(reply_to) ?? new Set()).add(text))
  }
  return found
}

function FirstSteps({ phone }: { phone: Phone }) {
  if (phone.channel === 'social')
    return (
      <div className="first-steps">
        <h3>The customer writes first</h3>
        <p>
          On Social a business can only reply. Write a message below, then answer it in the <a href="/">dashboard</a>.
        </p>
      </div>
    )
  if (!hasNumber(phone))
    return (
      <div className="first-steps">
        <h3>The customer writes first</h3>
        <p>
          The number is hidden behind a username. The business learns the user id from the first message. Write it
          below, then answer it in the <a href="/">dashboard</a>.
        </p>
      </div>
    )
  return (
    <div className="first-steps">
      <h3>No messages yet</h3>
      <p>Send the first message from a terminal, in the folder of the service:</p>
      <Code text={firstCall(phone.id)} />
      <p>
        <code>$KEY</code> is the <code>api_key</code> in <code>data/demo.json</code>.
      </p>
      <p>Or write a message below: a customer can start the conversation.</p>
    </div>
  )
}
