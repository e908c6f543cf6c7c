/**
 * The reply area: the reply box while the reply window is open, otherwise the reason and the template picker. A switch replaces it
 * with the note box.
 */
import { useCallback, useEffect, useLayoutEffect, useState } from 'react'
import { Button, SegmentedControl } from '../../../../ui/controls.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { useConnectionOf } from '../../lib/connections.ts'
import { deferred } from '../../lib/deferred.tsx'
import { useNow } from '../../lib/hooks.ts'
import { nameOf } from '../../lib/people.ts'
import { useMe } from '../../lib/session.tsx'
import { useShortcuts } from '../../lib/shortcuts.ts'
import { formatSpan, formatTime } from '../../lib/time.ts'
import { words } from '../../words/words.ts'
import type { Conversation, Message } from '../model/data.ts'
import { useModeration } from '../model/moderation.ts'
import { readWritingMode, saveWritingMode, type WritingMode } from '../model/notes.ts'
import { send } from '../model/outbox.ts'
import { ComposerPresence } from '../model/presence.tsx'
import { findWritingPart } from '../model/writing-part.ts'
import { NoteBox } from './note-box.tsx'
import { ReplyBox } from './reply-box.tsx'
import { type ReplyWindow, replyWindowOf } from './reply-rules.ts'
import { ReplyWarning, useReplyGuard } from './reply-warning.tsx'
import { leaveComposer } from './text-box.ts'

const { composer, contact: contactWords } = words.inbox

const TemplatePicker = deferred(async () => ({ default: (await import('./template-picker.tsx')).TemplatePicker }))

type Props = {
  conversation: Conversation
  /** The messages of the thread, newest first. Undefined until they have loaded. */
  messages: readonly Message[] | undefined
  quoted: Message | undefined
  onQuoteDone: () => void
}

export function Composer({ conversation, messages, quoted, onQuoteDone }: Props) {
  const now = useNow(10_000)
  const me = useMe()
  const [isPickerOpen, setPickerOpen] = useState(false)
  const replyWindow = replyWindowOf(conversation, now)
  const isMsgapp = conversation.channel === 'msgapp'
  const { state } = replyWindow
  const { account, name: connectionName, isDisconnected } = useConnectionOf(conversation)
  const isBlocked = conversation.blocked_at !== null
  const guard = useReplyGuard(conversation.id, messages, me.id)
  const { mode, open } = useMode(conversation.id)
  const openPicker = () => {
    guard.begin()
    setPickerOpen(true)
  }
  const closePicker = () => {
    guard.end()
    setPickerOpen(false)
    // The focus returns to the composer, also if a key of the thread opened the picker.
    open('reply')
  }
  const needsTemplate = state === 'closed' && isMsgapp && !isDisconnected && !isBlocked
  const reply = () => {
    open('reply')
    if (needsTemplate) openPicker()
  }
  useShortcuts({ r: reply, n: () => open('note') })
  // Early, so that it opens at once.
  useEffect(() => {
    if (needsTemplate) TemplatePicker.preload()
  }, [needsTemplate])
  // A quote belongs to a reply.
  useEffect(() => {
    if (quoted) open('reply')
  }, [quoted, open])
  // Drops the quote when the member can no longer reply.
  useEffect(() => {
    if (state === 'closed' || isDisconnected || isBlocked) onQuoteDone()
  }, [state, isDisconnected, isBlocked, onQuoteDone])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape leaves its controls.
    <footer className="inbox-composer" data-mode={mode} data-own-keys="" onKeyDown={leaveComposer}>
      <div className="line inbox-composer-head">
        <SegmentedControl
          label={composer.mode}
          value={mode}
          options={[
            { value: 'reply', label: composer.modes.reply },
            { value: 'note', icon: 'note', label: composer.modes.note },
          ]}
          onChange={open}
        />
        {connectionName && !isDisconnected && mode === 'reply' && (
          <span className="inbox-from cut soft small">{composer.from(connectionName)}</span>
        )}
        <ComposerPresence conversationId={conversation.id} />
      </div>
      {mode === 'note' && (
        <div>
          <NoteBox conversationId={conversation.id} />
        </div>
      )}
      {/* Hidden and not removed: it keeps its attachments. */}
      <div hidden={mode !== 'reply'}>
        {isBlocked ? (
          <Blocked conversation={conversation} />
        ) : isDisconnected ? (
          <Disconnected conversation={conversation} />
        ) : replyWindow.state === 'closed' ? (
          <WindowClosed conversation={conversation} hasWritten={replyWindow.hasWritten} onTemplate={openPicker} />
        ) : (
          <ReplyBox
            conversation={conversation}
            quoted={quoted}
            onQuoteDone={onQuoteDone}
            guard={guard}
            onSend={(body) => send({ conversationId: conversation.id, body, sender: me, quoted })}
            onTemplate={isMsgapp ? openPicker : undefined}
            note={<WindowNote replyWindow={replyWindow} now={now} />}
          />
        )}
      </div>
      {guard.question && <ReplyWarning question={guard.question} />}
      {isPickerOpen && (
        <TemplatePicker
          name={nameOf(conversation.contact)}
          account={account}
          onClose={closePicker}
          // The picker keeps its values while the question is open.
          onSend={(template, text) =>
            guard.check(() => {
              closePicker()
              const body = { type: 'template' as const, template }
              send({ conversationId: conversation.id, body, sender: me, text })
            })
          }
        />
      )}
    </footer>
  )
}

/** Whether the member writes a reply or a note: as the conversation was left. `open` also focuses its box. */
function useMode(conversationId: string) {
  const [{ mode, openCount }, setState] = useState<{ mode: WritingMode; openCount: number }>(() => ({
    mode: readWritingMode(conversationId),
    openCount: 0,
  }))
  const open = useCallback(
    (next: WritingMode) => {
      saveWritingMode(conversationId, next)
      setState((state) => ({ mode: next, openCount: state.openCount + 1 }))
    },
    [conversationId],
  )
  // In a layout effect: the next key must find the focus in the composer.
  useLayoutEffect(() => {
    if (openCount > 0) findWritingPart()?.focus()
  }, [openCount])
  return { mode, open }
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

/** The channel refuses a reply. The button is no child of the row, which takes the focus: typed text must not press it. */
function Blocked({ conversation: { id, contact } }: { conversation: Conversation }) {
  const { setBlocked } = useModeration()
  const [isBusy, setBusy] = useState(false)
  const unblock = () => {
    setBusy(true)
    void setBlocked(id, false).finally(() => setBusy(false))
  }
  return (
    <div className="row inbox-closed" tabIndex={-1}>
      <Icon name="off" />
      <div>
        <strong>{contactWords.blockedTitle(nameOf(contact))}</strong>
        <p>{contactWords.blockedText}</p>
      </div>
      <span>
        <Button label={contactWords.unblock} busy={isBusy} onClick={unblock} />
      </span>
    </div>
  )
}

/** The API refuses a reply, because no connection would send it. */
const Disconnected = ({ conversation: { channel, connection } }: { conversation: Conversation }) => (
  // It takes the focus: text that is typed then is no shortcut.
  <div className="row inbox-closed" tabIndex={-1}>
    <Icon name="off" />
    <div>
      <strong>{composer.disconnectedTitle(connection?.name ?? words.channels[channel])}</strong>
      <p>{composer.disconnectedTexts[channel]}</p>
    </div>
  </div>
)

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
    // It takes the focus when there is no button: text that is typed then is no shortcut.
    <div className="row inbox-closed" tabIndex={-1}>
      <Icon name="clock" />
      <div>
        <strong>{title}</strong>
        <p>{text}</p>
      </div>
      {isMsgapp && <Button label={composer.chooseTemplate} variant="primary" icon="templates" onClick={onTemplate} />}
    </div>
  )
}
