/**
 * The warning before a second reply: another member replied after this member began to write. It asks once per reply, and the text
 * stays in the box.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { Button } from '../../../../ui/controls.tsx'
import { Dialog } from '../../../../ui/overlays.tsx'
import { useNow } from '../../lib/hooks.ts'
import { formatSpan } from '../../lib/time.ts'
import { words } from '../../words/words.ts'
import { type Message, summaryOf } from '../model/data.ts'
import { Preview } from '../thread/text.tsx'

const { warning } = words.inbox

const startKey = (id: string) => `parley-draft-start-${id}`

export type ReplyGuard = {
  /** Runs `send`, or asks first. */
  check: (send: () => void) => void
  /** Call when the text changes: an empty text ends the draft. */
  follow: (text: string) => void
  /** Call when the member begins a template, and when it is sent or given up. */
  begin: () => void
  end: () => void
  question: { reply: Message; confirm: () => void; close: () => void } | undefined
}

/** `messages`: newest first. Undefined until they have loaded. */
export function useReplyGuard(
  conversationId: string,
  messages: readonly Message[] | undefined,
  memberId: string,
): ReplyGuard {
  const [pending, setPending] = useState<{ reply: Message; send: () => void }>()
  const latest = useRef(messages)
  latest.current = messages
  const key = startKey(conversationId)
  /** The newest message when the draft began. Kept with the draft, so that a reload does not lose it. */
  const start = useRef(sessionStorage.getItem(key) ?? undefined)
  const setStart = useCallback(
    (id: string | undefined) => {
      start.current = id
      if (id === undefined) sessionStorage.removeItem(key)
      else sessionStorage.setItem(key, id)
    },
    [key],
  )
  const hasText = useRef(false)
  const begin = useCallback(() => {
    if (start.current === undefined && latest.current) setStart(latest.current[0]?.id ?? '')
  }, [setStart])
  const follow = useCallback(
    (text: string) => {
      hasText.current = text !== ''
      if (!hasText.current) setStart(undefined)
      else begin()
    },
    [setStart, begin],
  )
  // A text in the reply box is a draft of its own.
  const end = useCallback(() => {
    if (!hasText.current) setStart(undefined)
  }, [setStart])
  // The messages of a restored draft load after its text.
  const isLoaded = messages !== undefined
  useEffect(() => {
    if (isLoaded && hasText.current && start.current === undefined) setStart(latest.current?.[0]?.id ?? '')
  }, [isLoaded, setStart])
  const check = useCallback(
    (send: () => void) => {
      const reply = latest.current?.find(
        ({ id, direction, sender }) =>
          direction === 'outbound' &&
          sender &&
          sender.id !== memberId &&
          start.current !== undefined &&
          id > start.current,
      )
      if (reply) setPending({ reply, send })
      else send()
    },
    [memberId],
  )
  const close = useCallback(() => {
    // The member has seen the reply: the next attempt sends.
    setStart(latest.current?.[0]?.id ?? '')
    setPending(undefined)
  }, [setStart])
  const question = pending && {
    reply: pending.reply,
    close,
    confirm: () => {
      close()
      pending.send()
    },
  }
  return { check, follow, begin, end, question }
}

type WarningProps = { question: NonNullable<ReplyGuard['question']> }

export function ReplyWarning({ question: { reply, confirm, close } }: WarningProps) {
  const now = useNow()
  const ago = formatSpan(Math.max(1_000, now - Date.parse(reply.created_at)))
  return (
    <Dialog title={warning.title(reply.sender?.name ?? '', ago)} onClose={close}>
      <blockquote className="inbox-warning-reply">
        <Preview text={summaryOf(reply)} />
      </blockquote>
      <p>{warning.text}</p>
      <div className="dialog-foot">
        <Button label={warning.edit} onClick={close} data-focus="" />
        <Button label={warning.send} variant="primary" icon="send" onClick={confirm} />
      </div>
    </Dialog>
  )
}
