/** One message: what it says, what it answers, what became of it, and how people reacted. Drawn again only when it changed. */
import { memo } from 'react'
import { Button, IconButton } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { formatClock, formatTime } from '../lib/time.ts'
import { words } from '../words/words.ts'
import type { Reactions } from './arrange.ts'
import { Content } from './content.tsx'
import { lineOf, type Message } from './data.ts'
import { discard, isRepeatable, retry } from './outbox.ts'
import { Ticks } from './ticks.tsx'

const { message: said } = words.inbox

type Props = {
  message: Message
  /** Who wrote it, for those who hear the page. */
  sender: string
  /** How the customer is called. */
  customer: string
  reactions: ReturnType<Reactions['get']>
  isLit: boolean
  /** It never left this browser. */
  isLocal: boolean
  onQuote: ((message: Message) => void) | undefined
  onAgain: (message: Message) => void
  onReveal: (id: string) => void
}

export const Bubble = memo(function Bubble(props: Props) {
  const { message, sender, reactions = [], isLit, onQuote } = props
  const { id, status, direction, content_type: type, created_at: at, deleted_at: deleted } = message
  const isBare = type === 'sticker' && !deleted && message.media_url !== null
  const canQuote = onQuote && !deleted && status !== 'pending' && status !== 'failed' && type !== 'unsupported'
  return (
    <article
      className="inbox-message"
      data-message={id}
      data-lit={isLit ? '' : undefined}
      aria-label={said.from(sender, formatTime(at))}
    >
      <div
        className="inbox-bubble"
        data-bare={isBare ? '' : undefined}
        data-failed={status === 'failed' ? '' : undefined}
      >
        {message.reply_to && type !== 'reaction' && <Quote quoted={message.reply_to} {...props} />}
        {deleted ? <p className="inbox-system">{said.deleted}</p> : <Content message={message} />}
        <span className="inbox-meta">
          {message.template_name && (
            <span className="inbox-meta-template" title={said.template(message.template_name)}>
              <Icon name="templates" />
              <span className="cut">{message.template_name}</span>
            </span>
          )}
          <time dateTime={at} title={formatTime(at)}>
            {formatClock(at)}
          </time>
          {direction === 'outbound' && <Ticks status={status} />}
        </span>
        {reactions.length > 0 && (
          <span className="inbox-reactions">
            {reactions.map(({ side, emoji }) => (
              <span key={side} role="img" aria-label={said.reacted(emoji)} title={said.reacted(emoji)}>
                {emoji}
              </span>
            ))}
          </span>
        )}
      </div>
      {canQuote && (
        <span className="inbox-deeds">
          <IconButton label={said.reply} icon="reply" size="small" onClick={() => onQuote(message)} />
        </span>
      )}
      {status === 'failed' && <Failed {...props} />}
    </article>
  )
})

type QuoteProps = Pick<Props, 'customer' | 'onReveal'> & { quoted: NonNullable<Message['reply_to']> }

function Quote({ quoted, customer, onReveal }: QuoteProps) {
  const line = lineOf(quoted)
  return (
    <button type="button" className="inbox-quote" title={said.toQuoted} onClick={() => onReveal(quoted.id)}>
      <strong>{quoted.direction === 'inbound' ? customer : said.you}</strong>
      <span className="cut">{line}</span>
    </button>
  )
}

/** Why it did not go out, and what can be done about it. */
function Failed({ message, isLocal, onAgain }: Props) {
  const { id, error_reason: reason } = message
  return (
    <div className="inbox-failed" role={isLocal ? 'alert' : undefined}>
      <p>
        <Icon name="alert" />
        <span>
          <strong>{said.failed}</strong> {reason}
        </span>
      </p>
      {(isLocal || isRepeatable(message)) && (
        <div className="row">
          <Button size="small" icon="refresh" onClick={() => (isLocal ? retry(id) : onAgain(message))}>
            {said.again}
          </Button>
          {isLocal && (
            <Button size="small" variant="quiet" onClick={() => discard(id)}>
              {said.discard}
            </Button>
          )}
        </div>
      )}
    </div>
  )
}
