/** One message: quote, content, delivery status and reactions. Memoized, so only changed messages render. */

import { memo } from 'react'
import { Button, IconButton } from '../../../../ui/controls.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { useNow } from '../../lib/hooks.ts'
import { useLiveState } from '../../lib/live.tsx'
import { formatClock, formatTime } from '../../lib/time.ts'
import { Time } from '../../ui/time.tsx'
import { words } from '../../words/words.ts'
import { type Message, summaryOf } from '../model/data.ts'
import { canResend, discard, isWaiting, retry } from '../model/outbox.ts'
import { Content } from './content.tsx'
import type { Reactions } from './message-groups.ts'
import { type React, ReactButton, ReactionBadges } from './reactions.tsx'
import { StatusIcon } from './status-icon.tsx'
import { Preview } from './text.tsx'

const { message: labels, flow } = words.inbox

type Props = {
  message: Message
  /** For the accessible name. */
  sender: string
  /** The customer's display name. */
  customer: string
  reactions: ReturnType<Reactions['get']>
  isHighlighted: boolean
  /** The message is only in this browser's outbox; the service did not accept it. */
  isLocal: boolean
  onQuote: ((message: Message) => void) | undefined
  /** The emoji that the channel accepts. `onReact` is undefined if it has no reactions or the reply window is closed. */
  reactionChoices: readonly string[]
  onReact: React | undefined
  onResend: (message: Message) => void
  onReveal: (id: string) => void
}

export const Bubble = memo(function Bubble(props: Props) {
  const { message, sender, reactions = [], reactionChoices, isHighlighted, onQuote, onReact } = props
  const { id, status, direction, content_type: type, created_at: at, deleted_at: deleted } = message
  const isBare = type === 'sticker' && !deleted && message.media_url !== null
  const canAnswer = !deleted && status !== 'pending' && status !== 'failed' && type !== 'unsupported'
  return (
    <article
      className="inbox-message"
      data-message={id}
      data-highlighted={isHighlighted ? '' : undefined}
      aria-label={labels.from(sender, formatTime(at))}
    >
      <div className="inbox-bubble" data-bare={isBare ? '' : undefined}>
        {message.reply_to && type !== 'reaction' && <Quote quoted={message.reply_to} {...props} />}
        {deleted ? <p className="inbox-system">{labels.deleted}</p> : <Content message={message} />}
        <span className="line inbox-meta soft">
          {message.template_name && (
            <span className="line inbox-meta-template" title={labels.template(message.template_name)}>
              <Icon name="templates" />
              <span className="cut">{message.template_name}</span>
            </span>
          )}
          <Time at={at} format={formatClock} />
          {direction === 'outbound' && <StatusIcon status={status} />}
        </span>
        <ReactionBadges message={message} reactions={reactions} onReact={onReact} />
      </div>
      {canAnswer && (onQuote || onReact) && (
        <span className="inbox-message-actions">
          {onReact && (
            <ReactButton
              message={message}
              choices={reactionChoices}
              current={reactions.find(({ side }) => side === 'outbound')?.emoji}
              onReact={onReact}
            />
          )}
          {onQuote && <IconButton label={labels.reply} icon="reply" onClick={() => onQuote(message)} />}
        </span>
      )}
      {status === 'failed' && (props.isLocal ? <UnsentNote {...props} /> : <FailureNote {...props} />)}
    </article>
  )
})

type QuoteProps = Pick<Props, 'customer' | 'onReveal'> & { quoted: NonNullable<Message['reply_to']> }

function Quote({ quoted, customer, onReveal }: QuoteProps) {
  return (
    <button type="button" className="inbox-quote small" title={labels.toQuoted} onClick={() => onReveal(quoted.id)}>
      <strong>{quoted.direction === 'inbound' ? customer : labels.team}</strong>
      <span className="cut">
        <Preview text={summaryOf(quoted)} />
      </span>
    </button>
  )
}

/** The channel's code in a stored error, such as `131026: …`. */
const channelCode = /^(\d+)\b/

/** A message that is sent by itself later says so: the member may have replied in another way meanwhile. */
function UnsentNote(props: Props) {
  const isLive = useLiveState() === 'live'
  const now = useNow(60_000)
  const { message } = props
  if (!isWaiting(message, isLive, now)) return <FailureNote {...props} />
  return (
    <div className="stack inbox-unsent small" role="status">
      <p>
        <Icon name="clock" />
        <span>{flow.waitingToSend}</span>
      </p>
      <div className="row">
        <Button label={labels.discard} size="small" variant="quiet" onClick={() => discard(message)} />
      </div>
    </div>
  )
}

/** The reason for the failure and the channel's code, with retry and discard where possible. */
function FailureNote({ message, isLocal, onResend }: Props) {
  const { error, error_reason: reason } = message
  const code = error && channelCode.exec(error)?.[1]
  return (
    <div className="stack inbox-unsent small" data-failed role={isLocal ? 'alert' : undefined}>
      <p>
        <Icon name="alert" />
        <span>
          <strong>{labels.failed}</strong> {reason}
          {code && !reason?.includes(code) && <span className="nowrap"> {labels.code(code)}</span>}
        </span>
      </p>
      {(isLocal || canResend(message)) && (
        <div className="row">
          <Button
            label={labels.retry}
            size="small"
            icon="refresh"
            onClick={() => (isLocal ? retry : onResend)(message)}
          />
          {isLocal && <Button label={labels.discard} size="small" variant="quiet" onClick={() => discard(message)} />}
        </div>
      )}
    </div>
  )
}
