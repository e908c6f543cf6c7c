/**
 * The box one writes in. It grows with the text, keeps what was begun, takes
 * files by button, paste and drop, and sends on Enter.
 */
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Button, IconButton } from '../../../ui/button.tsx'
import { nameOf } from '../lib/people.ts'
import { useShortcuts } from '../lib/shortcuts.ts'
import { words } from '../words/words.ts'
import { Attachments } from './attachments.tsx'
import { type Conversation, lineOf, type Message } from './data.ts'
import type { Body } from './outbox.ts'
import { useAttachments } from './upload.ts'
import { keepDraft, readDraft, roomFor, toBodies } from './writing.ts'

const { composer } = words.inbox

type Props = {
  conversation: Conversation
  quoted: Message | undefined
  onQuoteDone: () => void
  onSend: (body: Body) => void
  /** Absent: the channel has no templates. */
  onTemplate: (() => void) | undefined
  note: ReactNode
}

const tellRoomBelow = 200

export function WriteBox({ conversation, quoted, onQuoteDone, onSend, onTemplate, note }: Props) {
  const { id, channel, contact } = conversation
  const [text, setText] = useState(() => readDraft(id))
  const [isOver, setOver] = useState(false)
  const [isPressed, setPressed] = useState(false)
  const { attachments, add, forget } = useAttachments()
  const box = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const takesFiles = channel !== 'web'
  useGrowing(box, text)
  useShortcuts({ r: () => box.current?.focus() })

  const write = (next: string) => {
    setText(next)
    keepDraft(id, next)
  }
  const ready = attachments.flatMap(({ uploaded }) => uploaded ?? [])
  const room = roomFor(channel, text)
  const isWaiting = ready.length < attachments.length
  const isBroken = attachments.some(({ fault }) => fault !== undefined)
  const canSend = (text.trim() !== '' || attachments.length > 0) && !isBroken && room >= 0
  const send = () => {
    if (!canSend) return
    if (isWaiting) return setPressed(true)
    setPressed(false)
    for (const body of toBodies(channel, text.trim(), ready, quoted?.id)) onSend(body)
    write('')
    forget(attachments)
    onQuoteDone()
    box.current?.focus()
  }
  // Whoever pressed it while a file was on its way does not have to press again.
  useEffect(() => {
    if (isPressed && isBroken) setPressed(false)
    else if (isPressed && !isWaiting) send()
  })
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === 'Escape') return leave(event)
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  const paste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    if (files.length === 0 || !takesFiles) return
    event.preventDefault()
    add(files)
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    if (takesFiles) add(event.dataTransfer.files)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is one way of three; the button is for everybody.
    <div
      className="inbox-write"
      data-over={isOver && takesFiles ? '' : undefined}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {quoted && (
        <div className="inbox-replying">
          <span>
            <strong>{composer.replying(quoted.direction === 'inbound' ? nameOf(contact) : composer.toYourself)}</strong>
            <span className="cut">{lineOf(quoted)}</span>
          </span>
          <IconButton label={composer.dropReply} icon="close" size="small" onClick={onQuoteDone} />
        </div>
      )}
      <Attachments attachments={attachments} onRemove={(one) => forget([one])} />
      {channel === 'social' && attachments.length > 0 && text && <p className="inbox-aside">{composer.noCaption}</p>}
      <textarea
        ref={box}
        rows={1}
        value={text}
        aria-label={composer.label}
        placeholder={isOver && takesFiles ? composer.drop : composer.placeholder(nameOf(contact))}
        dir="auto"
        onChange={(event) => write(event.target.value)}
        onKeyDown={press}
        onPaste={paste}
      />
      <div className="inbox-write-foot">
        {takesFiles && (
          <>
            <IconButton label={composer.attach} icon="attach" size="small" onClick={() => picker.current?.click()} />
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              aria-label={composer.attach}
              onChange={(event) => {
                add(event.target.files ?? [])
                event.target.value = ''
                box.current?.focus()
              }}
            />
          </>
        )}
        {onTemplate && <IconButton label={composer.template} icon="templates" size="small" onClick={onTemplate} />}
        <span className="inbox-note">
          {room < tellRoomBelow ? (
            <span className="inbox-window" data-soon={room < 0 ? '' : undefined} role="status">
              {composer.left(room)}
            </span>
          ) : (
            note
          )}
        </span>
        <Button
          variant="primary"
          size="small"
          icon="send"
          disabled={!canSend}
          busy={isPressed && isWaiting && canSend}
          onClick={send}
        >
          {composer.send}
        </Button>
      </div>
    </div>
  )
}

/** Escape leaves the box, so that the keys of the inbox work again. */
function leave(event: KeyboardEvent<HTMLTextAreaElement>): void {
  event.stopPropagation()
  event.currentTarget.blur()
  document.querySelector<HTMLElement>('.inbox-messages')?.focus({ preventScroll: true })
}

function useGrowing(box: { current: HTMLTextAreaElement | null }, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the text that makes it grow.
  useLayoutEffect(() => {
    const { current: element } = box
    if (!element) return
    element.style.height = 'auto'
    element.style.height = `${element.scrollHeight}px`
  }, [box, text])
}
