/** The reply area: the reply box while the reply window is open, otherwise the reason and the template picker. */
import { useEffect, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useNow } from '../lib/hooks.ts'
import { formatSpan, formatTime } from '../lib/time.ts'
import { words } from '../words/words.ts'
import type { Conversation, Message } from './data.ts'
import { useMe } from './me.ts'
import { send } from './outbox.ts'
import { ReplyBox } from './reply-box.tsx'
import { type ReplyWindow, replyWindowOf } from './reply-rules.ts'
import { TemplatePicker } from './template-picker.tsx'

const { composer } = words.inbox

type Props = {
  conversation: Conversation
  /** The id of the newest message in the thread. */
  newestId: string
  quoted: Message | undefined
  onQuoteDone: () => void
}

export function Composer({ conversation, newestId, quoted, onQuoteDone }: Props) {
  const now = useNow(10_000)
  const me = useMe()
  const [isPickerOpen, setPickerOpen] = useState(false)
  const replyWindow = replyWindowOf(conversation, now)
  const isMsgapp = conversation.channel === 'msgapp'
  const { state } = replyWindow
  // Drops the quote when the reply window closes.
  useEffect(() => {
    if (state === 'closed') onQuoteDone()
  }, [state, onQuoteDone])
  return (
    <footer className="inbox-composer">
      {replyWindow.state === 'closed' ? (
        <WindowClosed
          conversation={conversation}
          hasWritten={replyWindow.hasWritten}
          onTemplate={() => setPickerOpen(true)}
        />
      ) : (
        <ReplyBox
          conversation={conversation}
          quoted={quoted}
          onQuoteDone={onQuoteDone}
          onSend={(body) => send({ conversationId: conversation.id, body, after: newestId, sender: me, quoted })}
          onTemplate={isMsgapp ? () => setPickerOpen(true) : undefined}
          note={<WindowNote replyWindow={replyWindow} now={now} />}
        />
      )}
      {isPickerOpen && (
        <TemplatePicker
          conversation={conversation}
          onClose={() => setPickerOpen(false)}
          onSend={(template, text) => {
            setPickerOpen(false)
            send({
              conversationId: conversation.id,
              body: { type: 'template', template },
              after: newestId,
              sender: me,
              text,
            })
          }}
        />
      )}
    </footer>
  )
}

const closingSoonMs = 2 * 60 * 60_000

function WindowNote({ replyWindow, now }: { replyWindow: ReplyWindow; now: number }) {
  const hint = (
    <span className="inbox-hint">
      <span aria-hidden="true">{composer.keys}</span>
      <span className="offscreen">{composer.hint}</span>
    </span>
  )
  if (replyWindow.state === 'closed' || replyWindow.closesAt === null) return hint
  const left = replyWindow.closesAt - now
  const span = formatSpan(left)
  const until = formatTime(replyWindow.closesAt)
  const isSoon = replyWindow.state === 'late' || left < closingSoonMs
  return (
    <>
      {hint}
      <span
        className="inbox-window"
        data-soon={isSoon ? '' : undefined}
        title={replyWindow.state === 'late' ? composer.lateTitleUntil(until) : composer.closesTitle(until)}
      >
        <Icon name="clock" />
        {replyWindow.state === 'late' ? composer.lateUntil(span) : composer.closesIn(span)}
      </span>
    </>
  )
}

type WindowClosedProps = { conversation: Conversation; hasWritten: boolean; onTemplate: () => void }

function WindowClosed({ conversation: { channel }, hasWritten, onTemplate }: WindowClosedProps) {
  const isMsgapp = channel === 'msgapp'
  const title = hasWritten ? (isMsgapp ? composer.closedTitle : composer.lateTitle) : composer.neverTitle
  const text = hasWritten
    ? isMsgapp
      ? composer.closedText
      : composer.lateText
    : isMsgapp
      ? composer.neverText
      : composer.startText
  return (
    <div className="inbox-closed">
      <Icon name="clock" />
      <div>
        <strong>{title}</strong>
        <p>{text}</p>
      </div>
      {isMsgapp && (
        <Button variant="primary" icon="templates" onClick={onTemplate}>
          {composer.chooseTemplate}
        </Button>
      )}
    </div>
  )
}
