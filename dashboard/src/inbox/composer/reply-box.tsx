/** The reply box: grows with the text, saves a draft, accepts files by button, paste and drop, and sends on Enter. */
import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { Button, IconButton } from '../../../../ui/controls.tsx'
import { Menu } from '../../../../ui/menu.tsx'
import { useToast } from '../../../../ui/overlays.tsx'
import { useFileDrop } from '../../lib/hooks.ts'
import { nameOf } from '../../lib/people.ts'
import { reportTyping } from '../../lib/presence.ts'
import { useSession } from '../../lib/session.tsx'
import { formatTime } from '../../lib/time.ts'
import { hasMarks } from '../../templates/formatted-text.tsx'
import { words } from '../../words/words.ts'
import { useActions } from '../actions/actions.ts'
import { type Conversation, type Message, summaryOf } from '../model/data.ts'
import { isLastSent } from '../model/outbox.ts'
import { addLateFile, readDraftFiles, storeDraftFiles, useLateFiles, useReplyDraft } from '../model/reply-drafts.ts'
import { type SendTime, schedule } from '../model/scheduled.ts'
import type { Body } from '../model/unconfirmed.ts'
import { Preview, Text } from '../thread/text.tsx'
import { Attachments } from './attachments.tsx'
import { type CannedReply, fillVariables, findVariable } from './canned-replies.ts'
import { useInlineReplies } from './inline-replies.tsx'
import { remainingLength, toBodies } from './reply-rules.ts'
import { ReplyTools, type Tool } from './reply-tools.tsx'
import type { ReplyGuard } from './reply-warning.tsx'
import { useAutoHeight, useUndoInEmptyBox } from './text-box.ts'
import { insertText, markKeys, toggleMark } from './text-edits.ts'
import { useAttachments } from './use-attachments.ts'

const { composer, flow, later } = words.inbox

type Props = {
  conversation: Conversation
  quoted: Message | undefined
  onQuoteDone: () => void
  /** Asks before a reply that another member has sent in the meantime. */
  guard: ReplyGuard
  onSend: (body: Body) => void
  /** Absent: the channel has no templates. */
  onTemplate: (() => void) | undefined
  note: ReactNode
}

const showRemainingBelow = 200

export function ReplyBox({ conversation, quoted, onQuoteDone, guard, onSend, onTemplate, note }: Props) {
  const { id, channel, contact } = conversation
  const [text, saveDraft] = useReplyDraft(id)
  const [isSendPending, setSendPending] = useState(false)
  const [isScheduling, setScheduling] = useState(false)
  const toast = useToast()
  const [tool, setTool] = useState<Tool>()
  const [storedFiles] = useState(() => readDraftFiles(id))
  const { attachments, add, addUploaded, remove } = useAttachments(storedFiles, (file) => addLateFile(id, file))
  const box = useRef<HTMLTextAreaElement>(null)
  const actions = useActions(id)
  /** Runs after the reply is sent, in place of returning to the box. */
  const afterSend = useRef<(() => void) | undefined>(undefined)
  useAutoHeight(box, text)
  const lateFiles = useLateFiles()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stored files change with each late one.
  useEffect(() => addUploaded(readDraftFiles(id)), [id, lateFiles])
  useEffect(() => {
    storeDraftFiles(
      id,
      attachments.flatMap(({ uploaded }) => uploaded ?? []),
    )
  }, [id, attachments])
  const { setTyped, handleUndo } = useUndoInEmptyBox()
  const { member } = useSession()
  const insertReply = ({ text: reply, attachments: files }: CannedReply) => {
    const { current: element } = box
    if (!element) return
    const filled = fillVariables(reply, { contact, member })
    const start = element.selectionStart
    insertText(element, filled)
    const left = findVariable(filled)
    if (left) element.setSelectionRange(start + left.start, start + left.end)
    addUploaded(files)
  }
  const authorOf = ({ sender }: Message) =>
    sender?.id === member.id ? composer.toYourself : (sender?.name ?? composer.toTeam)
  const inline = useInlineReplies({
    contact,
    text,
    onPick: (reply) => {
      box.current?.select()
      insertReply(reply)
    },
    onCancel: () => write(''),
  })
  const { follow } = guard
  const hadText = useRef(false)
  // A stored draft loads after the box: the empty text before it does not end the draft.
  useEffect(() => {
    if (text || hadText.current) follow(text)
    hadText.current = text !== ''
  }, [follow, text])

  const write = (next: string) => {
    saveDraft(next)
    reportTyping(next ? 'reply' : null)
  }
  const hasFormatting = channel !== 'social'
  const uploadedFiles = attachments.flatMap(({ uploaded }) => uploaded ?? [])
  const remaining = remainingLength(channel, text)
  const isUploading = uploadedFiles.length < attachments.length
  const hasFailedUpload = attachments.some(({ error }) => error !== undefined)
  const canSend = (text.trim() !== '' || attachments.length > 0) && !hasFailedUpload && remaining >= 0
  const send = (then?: () => void) => {
    if (!canSend) return
    afterSend.current = then
    if (isUploading) {
      // The button is disabled meanwhile, and would lose the focus.
      box.current?.focus()
      return setSendPending(true)
    }
    setSendPending(false)
    guard.check(sendNow)
  }
  const clear = () => {
    write('')
    setTyped(false)
    remove(attachments)
    // At once: sending may open another conversation, which ends the effect.
    storeDraftFiles(id, [])
    onQuoteDone()
  }
  const listBodies = () => toBodies(channel, text.trim(), uploadedFiles, quoted?.id)
  const sendNow = () => {
    for (const body of listBodies()) onSend(body)
    clear()
    if (afterSend.current) afterSend.current()
    else box.current?.focus()
    afterSend.current = undefined
  }
  const sendLater = async (time: SendTime) => {
    setScheduling(true)
    try {
      await schedule(id, listBodies(), time)
      clear()
      toast.success(later.scheduled(formatTime(time.send_at)))
    } catch (error) {
      toast.error(error)
    } finally {
      setScheduling(false)
      box.current?.focus()
    }
  }
  const sendAndClose = () =>
    send(() => {
      actions.setStatus([id], 'closed', 'reply')
      actions.reopenUnsent(id, isLastSent(id))
    })
  const sendAndSnooze = () =>
    actions.chooseSnooze([id], (until) =>
      send(() => {
        actions.snooze([id], until, 'reply')
        actions.reopenUnsent(id, isLastSent(id))
      }),
    )
  // Send was pressed during an upload: sends once all uploads finish, and gives up when one fails.
  useEffect(() => {
    if (isSendPending && hasFailedUpload) setSendPending(false)
    else if (isSendPending && !isUploading) send(afterSend.current)
  })
  const handleKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (inline.handleKey(event) || handleUndo(event)) return
    const mark = (event.ctrlKey || event.metaKey) && !event.altKey ? markKeys[event.key.toLowerCase()] : undefined
    if (mark && hasFormatting) {
      event.preventDefault()
      return toggleMark(event.currentTarget, mark)
    }
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    if (event.ctrlKey || event.metaKey) sendAndClose()
    else send()
  }
  const drop = useFileDrop(add)
  /** For a button that disappears: the focus goes to the box with it. */
  const inBox = (act: () => void) => () => {
    act()
    box.current?.focus()
  }
  const handlePaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    if (files.length === 0) return
    event.preventDefault()
    add(files)
  }
  return (
    // The attach button is the accessible way to add files.
    <div className="inbox-write" {...drop}>
      {quoted && (
        <div className="line inbox-replying small">
          <span>
            <strong>{composer.replying(quoted.direction === 'inbound' ? nameOf(contact) : authorOf(quoted))}</strong>
            <span className="cut">
              <Preview text={summaryOf(quoted)} />
            </span>
          </span>
          <IconButton label={composer.dropReply} icon="close" onClick={inBox(onQuoteDone)} />
        </div>
      )}
      <Attachments attachments={attachments} onRemove={(one) => inBox(() => remove([one]))()} />
      {channel === 'social' && attachments.length > 0 && text && (
        <p className="inbox-aside soft">{composer.noCaption}</p>
      )}
      <textarea
        ref={box}
        rows={1}
        value={text}
        readOnly={isScheduling}
        aria-label={composer.label}
        placeholder={drop['data-over'] === '' ? composer.drop : composer.placeholder(nameOf(contact))}
        dir="auto"
        onChange={(event) => {
          setTyped(true)
          write(event.target.value)
        }}
        onKeyDown={handleKeyDown}
        onPaste={handlePaste}
        {...inline.boxProps}
      />
      {inline.list}
      {hasFormatting && hasMarks(text) && (
        <section className="inbox-preview soft" aria-label={composer.preview}>
          <Text text={text.trim()} />
        </section>
      )}
      <div className="line inbox-write-foot">
        <ReplyTools
          conversation={conversation}
          box={box}
          tool={tool}
          onTool={setTool}
          onTemplate={onTemplate}
          onFiles={add}
          onReply={insertReply}
        />
        <span className="inbox-note grow soft">
          {remaining < showRemainingBelow ? (
            <span className="inbox-window" data-soon={remaining < 0 ? '' : undefined} role="status">
              {composer.left(remaining)}
            </span>
          ) : (
            note
          )}
        </span>
        <Button
          label={composer.send}
          variant="primary"
          size="small"
          icon="send"
          disabled={!canSend || isScheduling}
          busy={isSendPending && isUploading && canSend}
          onClick={() => send()}
        />
        <IconButton
          label={later.title}
          icon="clock"
          data-opens="later"
          aria-haspopup="dialog"
          disabled={!canSend || isUploading || isScheduling}
          onClick={() => actions.chooseSendTime(conversation, sendLater)}
        />
        <Menu
          label={flow.sendAnd}
          side="top"
          button={<IconButton label={flow.sendAnd} icon="chevron" disabled={!canSend} />}
          items={[
            { key: 'close', label: flow.sendAndClose, onSelect: sendAndClose },
            { key: 'snooze', label: flow.sendAndSnooze, onSelect: sendAndSnooze },
          ]}
        />
      </div>
    </div>
  )
}
