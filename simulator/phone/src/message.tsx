/** One message: its content, time and status, reactions, and the actions on it. */
import { memo, useRef, useState } from 'react'
import { IconButton } from '../../../ui/controls.tsx'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import type { BubbleError, RenderedButton } from '../../wire/bubble.ts'
import type { Bubble, Status } from './api.ts'
import { isEmojiOnly, RichText, summaryOf, timeOf } from './format.tsx'
import { type Contact, ContactCards, Document, LocationCard, Picture, Video, VoiceNote } from './media.tsx'
import { errorTexts, reactions } from './samples.ts'
import { Carousel, TemplateButtons, TemplateHeader } from './template.tsx'

export type MessageActions = {
  show: (id: string) => void
  quote: (bubble: Bubble) => void
  react: (bubble: Bubble, emoji: string) => void
  tap: (bubble: Bubble, button: RenderedButton) => void
  retry: (id: string) => void
  openContact: (contact: Contact) => void
}

/** Emoji by sender. */
export type Reactions = Partial<Record<Bubble['from'], string>>

type MessageProps = {
  bubble: Bubble
  /** The message that this one replies to, if the phone has it. */
  quoted: Bubble | undefined
  businessName: string
  hasMarks: boolean
  /** The same side wrote the message before, less than five minutes earlier. */
  isFollowing: boolean
  /** The one message that Tab reaches; arrow keys reach the others. */
  isTabStop: boolean
  reactions: Reactions | undefined
  /** Texts of the quick replies that the customer tapped. */
  tapped: ReadonlySet<string> | undefined
  actions: MessageActions
}

const statuses: Record<Status, [text: string, icon: IconName]> = {
  sending: ['Sending', 'clock'],
  accepted: ['Accepted, not sent yet', 'clock'],
  sent: ['Sent', 'check'],
  delivered: ['Delivered', 'checks'],
  read: ['Read', 'checks'],
  failed: ['Failed', 'alert'],
}

/** An unsent message has a local id; the simulator does not know it. */
const isLocal = (id: string) => id.startsWith('local-')

export const Message = memo(function Message(props: MessageProps) {
  const { bubble, hasMarks, tapped, actions } = props
  const { id, from, type, status, template } = bubble
  const isBare = type === 'sticker' || (type === 'text' && !bubble.reply_to && isEmojiOnly(bubble.text ?? ''))
  const onTap = (button: RenderedButton) => actions.tap(bubble, button)
  const classes = ['message', `from-${from}`, `type-${type}`, isBare && 'bare', props.isFollowing && 'follows']
  return (
    <li
      className={classes.filter(Boolean).join(' ')}
      data-id={id}
      data-status={status}
      tabIndex={props.isTabStop ? 0 : -1}
    >
      <div className="bubble-row">
        <div className="bubble">
          {bubble.reply_to && <Quote {...props} />}
          {template?.header && <TemplateHeader header={template.header} hasMarks={hasMarks} />}
          {template?.body && <RichText text={template.body} hasMarks={hasMarks} />}
          {template?.footer && <RichText className="footer" text={template.footer} hasMarks={false} />}
          {!template && <Content bubble={bubble} hasMarks={hasMarks} actions={actions} />}
          <span className="line meta">
            <time dateTime={bubble.at}>{timeOf(bubble.at)}</time>
            <Tick bubble={bubble} />
          </span>
          {template && (
            <TemplateButtons buttons={template.buttons} listLabel={template.list_label} tapped={tapped} onTap={onTap} />
          )}
        </div>
        <ReactionBadges {...props} />
        {!isLocal(id) && <Toolbar {...props} />}
      </div>
      {template?.cards && <Carousel cards={template.cards} hasMarks={hasMarks} tapped={tapped} onTap={onTap} />}
      {status === 'failed' && <FailureNote bubble={bubble} onRetry={() => actions.retry(id)} />}
    </li>
  )
})

function Content({ bubble, hasMarks, actions }: Pick<MessageProps, 'bubble' | 'hasMarks' | 'actions'>) {
  const { type, text, location, contacts } = bubble
  const file = bubble.media ?? {}
  const caption = text && <RichText text={text} hasMarks={hasMarks} />
  if (type === 'location' && location) return <LocationCard location={location} />
  if (type === 'contacts' && contacts) return <ContactCards contacts={contacts} onOpen={actions.openContact} />
  if (type === 'sticker') return <Picture file={file} isSticker />
  const content = {
    image: <Picture file={file} alt={text ?? undefined} />,
    video: <Video file={file} />,
    audio: <VoiceNote file={file} />,
    document: <Document file={file} />,
  }[type]
  if (!content) return caption || <p className="text unsupported">This type of message cannot be shown here.</p>
  return (
    <>
      <div className="framed">{content}</div>
      {caption}
    </>
  )
}

/** A customer's own message shows only that it is being sent or failed. */
function Tick({ bubble: { from, status } }: Pick<MessageProps, 'bubble'>) {
  if (from === 'customer' && status !== 'sending' && status !== 'failed') return null
  const [text, icon] = statuses[status]
  return (
    <span className={`tick ${status}`} title={text}>
      <Icon name={icon} />
      <span className="offscreen">{text}</span>
    </span>
  )
}

function Quote({ bubble, quoted, businessName, actions }: MessageProps) {
  const author = quoted ? (quoted.from === 'customer' ? 'You' : businessName) : 'Earlier'
  return (
    <button type="button" className="quote" disabled={!quoted} onClick={() => actions.show(bubble.reply_to ?? '')}>
      <span className="offscreen">Show the quoted message of </span>
      <strong>{author}</strong>
      <span dir="auto">{quoted ? summaryOf(quoted) : 'This message is no longer available'}</span>
    </button>
  )
}

function ReactionBadges({ reactions: shown = {}, businessName }: MessageProps) {
  const badges = Object.entries(shown)
  if (badges.length === 0) return null
  return (
    <span className="reactions">
      {badges.map(([from, emoji]) => (
        <span key={from} className="reaction">
          {emoji}
          <span className="offscreen"> from {from === 'customer' ? 'the customer' : businessName}</span>
        </span>
      ))}
    </span>
  )
}

function Toolbar({ bubble, reactions: current, actions }: MessageProps) {
  const [isPicking, setPicking] = useState(false)
  const toolbar = useRef<HTMLDivElement>(null)
  /** The focus moves to the message, because the button that has it disappears. */
  const close = () => {
    toolbar.current?.closest<HTMLElement>('.message')?.focus()
    setPicking(false)
  }
  if (isPicking)
    return (
      // biome-ignore lint/a11y/useSemanticElements: a fieldset does not lay out as a toolbar.
      <div
        ref={toolbar}
        className="toolbar picking"
        role="group"
        aria-label="React with"
        onKeyDown={(event) => event.key === 'Escape' && close()}
        onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setPicking(false)}
      >
        {reactions.map((emoji, index) => {
          const isCurrent = current?.customer === emoji
          return (
            <button
              key={emoji}
              type="button"
              // biome-ignore lint/a11y/noAutofocus: the picker replaces the button that had the focus.
              autoFocus={index === 0}
              aria-pressed={isCurrent}
              aria-label={isCurrent ? `Remove ${emoji}` : emoji}
              onClick={() => {
                close()
                actions.react(bubble, isCurrent ? '' : emoji)
              }}
            >
              {emoji}
            </button>
          )
        })}
      </div>
    )
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset does not lay out as a toolbar.
    <div className="toolbar" role="group" aria-label="Actions on this message">
      {bubble.from === 'business' && <IconButton icon="smile" label="React" onClick={() => setPicking(true)} />}
      <IconButton icon="reply" label="Reply" onClick={() => actions.quote(bubble)} />
    </div>
  )
}

function FailureNote({ bubble: { id, from, error }, onRetry }: Pick<MessageProps, 'bubble'> & { onRetry: () => void }) {
  const { text, detail } = describe(error)
  return (
    <div className="failure">
      <p>
        <strong>{from === 'business' ? 'Not delivered. ' : 'Not sent. '}</strong>
        {text}
      </p>
      {detail && <small>{detail}</small>}
      {isLocal(id) && (
        <button type="button" className="pill" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

function describe(error: BubbleError | null): { text: string; detail: string } {
  const { code = 0, message = '' } = error ?? {}
  const text = errorTexts[code]
  if (text) return { text, detail: `${code} ${message}` }
  return { text: message || 'The channel gave no reason', detail: '' }
}
