/** Where one answers: text, files, a quote, a template; or why one may not, and what helps. */
import { useEffect, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { formatSpan, formatTime } from '../lib/time.ts'
import { useNow } from '../lib/use.ts'
import { words } from '../words/words.ts'
import type { Conversation, Message } from './data.ts'
import { useMe } from './me.ts'
import { send } from './outbox.ts'
import { TemplatePicker } from './template-picker.tsx'
import { WriteBox } from './write-box.tsx'
import { type Writing, writingOf } from './writing.ts'

const { composer } = words.inbox

type Props = {
  conversation: Conversation
  /** The newest message there is. */
  newestId: string
  quoted: Message | undefined
  onQuoteDone: () => void
}

export function Composer({ conversation, newestId, quoted, onQuoteDone }: Props) {
  const now = useNow(10_000)
  const me = useMe()
  const [isPicking, setPicking] = useState(false)
  const writing = writingOf(conversation, now)
  const isMsgapp = conversation.channel === 'msgapp'
  const { is } = writing
  // A quote of a message that can no longer be answered.
  useEffect(() => {
    if (is === 'closed') onQuoteDone()
  }, [is, onQuoteDone])
  return (
    <footer className="inbox-composer">
      {writing.is === 'closed' ? (
        <Closed conversation={conversation} hasWritten={writing.hasWritten} onTemplate={() => setPicking(true)} />
      ) : (
        <WriteBox
          conversation={conversation}
          quoted={quoted}
          onQuoteDone={onQuoteDone}
          onSend={(body) => send({ conversationId: conversation.id, body, after: newestId, sender: me, quoted })}
          onTemplate={isMsgapp ? () => setPicking(true) : undefined}
          note={<WindowNote writing={writing} now={now} />}
        />
      )}
      {isPicking && (
        <TemplatePicker
          conversation={conversation}
          onClose={() => setPicking(false)}
          onSend={(template, text) => {
            setPicking(false)
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

const soonMs = 2 * 60 * 60_000

function WindowNote({ writing, now }: { writing: Writing; now: number }) {
  const hint = (
    <span className="inbox-hint">
      <span aria-hidden="true">{composer.keys}</span>
      <span className="offscreen">{composer.hint}</span>
    </span>
  )
  if (writing.is === 'closed' || writing.closesAt === null) return hint
  const left = writing.closesAt - now
  const span = formatSpan(left)
  const until = formatTime(writing.closesAt)
  const isSoon = writing.is === 'late' || left < soonMs
  return (
    <>
      {hint}
      <span
        className="inbox-window"
        data-soon={isSoon ? '' : undefined}
        title={writing.is === 'late' ? composer.lateTitleUntil(until) : composer.closesTitle(until)}
      >
        <Icon name="clock" />
        {writing.is === 'late' ? composer.lateUntil(span) : composer.closesIn(span)}
      </span>
    </>
  )
}

type ClosedProps = { conversation: Conversation; hasWritten: boolean; onTemplate: () => void }

function Closed({ conversation: { channel }, hasWritten, onTemplate }: ClosedProps) {
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
