/** The chat on the phone of a preview, as the customer sees it: buttons, rows of lists and quick replies of templates can be tapped. */
import { useEffect, useRef } from 'react'
import { Icon } from '../../../ui/icon.tsx'
import '../inbox/thread/content.css'
import { Content } from '../inbox/thread/content.tsx'
import { recordOf, recordsOf, textOf, webUrl } from '../inbox/thread/parse-content.ts'
import { StatusIcon } from '../inbox/thread/status-icon.tsx'
import { Text } from '../inbox/thread/text.tsx'
import type { DataOf } from '../lib/api.ts'
import { formatClock } from '../lib/time.ts'
import { Time } from '../ui/time.tsx'
import { automationPhoneWords as texts } from '../words/automation-phone.ts'

type Message = DataOf<'GET /automations/{id}/preview'>['messages'][number]
type Tapped = { id: string; title: string; is_row?: boolean; reply_to?: string }
type Choice = Tapped & { description?: string | undefined }
export type Tap = (button: Tapped) => void

type Props = { messages: readonly Message[]; onTap: Tap; isBusy: boolean }

export function Chat({ messages, onTap, isBusy }: Props) {
  const end = useRef<HTMLOListElement>(null)
  const count = messages.length
  useEffect(() => {
    if (count > 0) end.current?.scrollTo({ top: end.current.scrollHeight })
  }, [count])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard.
    <ol className="phone-chat" ref={end} aria-label={texts.chat} tabIndex={0}>
      {messages.length === 0 && <li className="phone-none soft small">{texts.noMessages}</li>}
      {messages.map((message) => (
        <li key={message.id} className="phone-message" data-side={message.direction}>
          <span className="offscreen">{message.direction === 'inbound' ? texts.customer : texts.automation}</span>
          <div className="phone-bubble" data-failed={message.status === 'failed' ? '' : undefined}>
            <Body {...{ message, onTap, isBusy }} />
            <span className="line phone-meta soft">
              <Time at={message.created_at} format={formatClock} />
              {message.direction === 'outbound' && <StatusIcon status={message.status} />}
            </span>
          </div>
          {message.status === 'failed' && (
            <p className="phone-failed small">{texts.notDelivered(message.error_reason ?? message.error)}</p>
          )}
        </li>
      ))}
    </ol>
  )
}

type BodyProps = { message: Message; onTap: Tap; isBusy: boolean }

function Body({ message, onTap, isBusy }: BodyProps) {
  const { direction, content, msgapp_message_id } = message
  if (direction === 'inbound') return <Text text={message.content_text} />
  const replyTo = msgapp_message_id ? { reply_to: msgapp_message_id } : {}
  const tap: Tap = (button) => onTap({ ...button, ...replyTo })
  const interactive = recordOf(content?.interactive)
  if (interactive) return <Choices {...{ interactive, isBusy }} onTap={tap} />
  const replies = message.content_type === 'template' ? quickRepliesOf(content) : []
  return (
    <>
      <Content message={replies.length > 0 ? { ...message, content: { ...content, buttons: [] } } : message} />
      <Buttons buttons={replies} isBusy={isBusy} onTap={tap} />
    </>
  )
}

/** A quick reply without a value of its own answers with its text. */
const quickRepliesOf = (content: Message['content']): Tapped[] =>
  recordsOf(content?.buttons).flatMap(({ type, text }) => {
    const title = textOf(text)
    return title && textOf(type)?.toUpperCase() === 'QUICK_REPLY' ? [{ id: title, title }] : []
  })

const tappable = (value: unknown): Choice[] =>
  recordsOf(value).flatMap((button) => {
    const [id, title] = [textOf(button.id), textOf(button.title)]
    return id && title ? [{ id, title, description: textOf(button.description) }] : []
  })

function Choices({
  interactive,
  onTap,
  isBusy,
}: {
  interactive: Record<string, unknown>
  onTap: Tap
  isBusy: boolean
}) {
  const { header, body, footer, button, buttons, sections, text, url } = interactive
  const href = webUrl(textOf(url))
  return (
    <div className="stack phone-choices">
      {textOf(header) && <strong>{textOf(header)}</strong>}
      <Text text={textOf(body) ?? null} />
      {textOf(footer) && <p className="soft small">{textOf(footer)}</p>}
      <Buttons buttons={tappable(buttons)} isBusy={isBusy} onTap={onTap} />
      {href && (
        <a className="phone-choice" href={href} target="_blank" rel="noopener noreferrer">
          <Icon name="external" /> {textOf(text)}
        </a>
      )}
      {textOf(button) && (
        <details className="phone-list">
          <summary className="phone-choice">
            <Icon name="menu" /> {textOf(button)}
          </summary>
          {recordsOf(sections).map(({ title, rows }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the order of the sections is fixed.
            <div key={index} className="stack">
              {textOf(title) && <strong className="small">{textOf(title)}</strong>}
              <Buttons
                buttons={tappable(rows).map((row) => ({ ...row, is_row: true }))}
                isBusy={isBusy}
                onTap={onTap}
              />
            </div>
          ))}
        </details>
      )}
    </div>
  )
}

function Buttons({ buttons, onTap, isBusy }: { buttons: readonly Choice[]; onTap: Tap; isBusy: boolean }) {
  return buttons.map(({ description, ...button }) => (
    <button key={button.id} type="button" className="phone-choice" disabled={isBusy} onClick={() => onTap(button)}>
      <span>
        {button.title}
        {description && <small>{description}</small>}
      </span>
    </button>
  ))
}
