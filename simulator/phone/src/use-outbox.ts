/**
 * Messages that the customer sends from this page, until the conversation has them.
 *
 * A message is shown at once and sent in the background. The stream may return
 * it before or after the answer to our call; it is shown once either way. A
 * failed message stays with its error until the person retries it.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'react'
import { type Answer, type Bubble, type InboundMessage, type Phone, postInbound, uploadFile } from './api.ts'
import { hasNumber } from './board.ts'

/** `file` is uploaded first. */
export type Outgoing = InboundMessage & { file?: File }
/** `connectionId` is the number it was written to, `sentId` the message id that the simulator returned. */
type Pending = { bubble: Bubble; outgoing: Outgoing; connectionId: string; sentId?: string }

/** The clocks of the browser and the simulator may differ by this much. */
const clockToleranceMs = 60_000

let lastLocalId = 0

/** `hasChoice`: the workspace has several numbers, so each call names one. */
export function useOutbox(phone: Phone, workspaceId: string, hasChoice: boolean) {
  const [pending, setPending] = useState<readonly Pending[]>([])
  /** Messages of the conversation that were sent from here. */
  const settledIds = useRef(new Set<string>())
  const latest = useRef({ phone, workspaceId, hasChoice })
  latest.current = { phone, workspaceId, hasChoice }

  useLayoutEffect(() => {
    const open = pending.filter((each) => {
      const match = findMatch(phone, each, settledIds.current)
      if (!match) return true
      settledIds.current.add(match.id)
      if (each.bubble.media?.url.startsWith('blob:')) URL.revokeObjectURL(each.bubble.media.url)
      return false
    })
    if (open.length < pending.length) setPending(open)
  }, [phone, pending])

  const outbox = useMemo(() => {
    const post = (message: InboundMessage, connectionId = latest.current.phone.connectionId) => {
      const { phone, workspaceId, hasChoice } = latest.current
      const { channel, id, name, username } = phone
      return postInbound({
        workspace_id: workspaceId,
        channel,
        ...(hasChoice ? { connection_id: connectionId } : {}),
        ...(channel === 'social' || hasNumber(phone) ? { from: id } : { user_id: id }),
        ...(username ? { username } : {}),
        ...(name ? { name } : {}),
        ...message,
      })
    }
    const update = (id: string, change: (each: Pending) => Pending) =>
      setPending((all) => all.map((each) => (each.bubble.id === id ? change(each) : each)))
    const deliver = async (id: string, outgoing: Outgoing, connectionId: string) => {
      const answer = await send(outgoing, (message) => post(message, connectionId))
      if (answer.ok) {
        const sentId = answer.data.message_id
        update(id, (each) => ({ ...each, sentId, bubble: { ...each.bubble, status: 'delivered' } }))
      } else {
        const error = { code: 0, message: answer.message }
        update(id, (each) => ({ ...each, bubble: { ...each.bubble, status: 'failed', error } }))
      }
    }
    return {
      post,
      send(outgoing: Outgoing) {
        const bubble = localBubble(outgoing)
        const { connectionId } = latest.current.phone
        setPending((all) => [...all, { bubble, outgoing, connectionId }])
        void deliver(bubble.id, outgoing, connectionId)
      },
      retry(id: string) {
        update(id, (each) => {
          void deliver(id, each.outgoing, each.connectionId)
          return { ...each, bubble: { ...each.bubble, status: 'sending' } }
        })
      },
    }
  }, [])
  const shown = pending.filter(({ connectionId }) => connectionId === phone.connectionId)
  return { ...outbox, pending: shown.map(({ bubble }) => bubble) }
}

async function send(
  { file, text, media, ...rest }: Outgoing,
  post: (message: InboundMessage) => Promise<Answer<{ message_id: string }>>,
) {
  if (!file) return post({ ...rest, ...(media ? { media } : {}), ...(text ? { text } : {}) })
  const upload = await uploadFile(file)
  if (!upload.ok) return upload
  const mime_type = file.type || 'application/octet-stream'
  return post({
    ...rest,
    media: { ...upload.data, mime_type, filename: file.name, ...(text ? { caption: text } : {}) },
  })
}

function localBubble({ type, text, file, location, reply_to }: Outgoing): Bubble {
  return {
    id: `local-${++lastLocalId}`,
    from: 'customer',
    at: new Date().toISOString(),
    type,
    text: text ?? null,
    status: 'sending',
    error: null,
    media: file ? { url: URL.createObjectURL(file), mime_type: file.type, filename: file.name } : null,
    template: null,
    reply_to: reply_to ?? null,
    ...(location ? { location } : {}),
  }
}

/** The message of the conversation that a pending one became. Before the answer it is found by its content. */
function findMatch(phone: Phone, { bubble, connectionId, sentId }: Pending, settledIds: ReadonlySet<string>) {
  const { messages = [] } = connectionId === phone.connectionId ? phone : (phone.otherChats.get(connectionId) ?? {})
  if (sentId) return messages.find(({ id }) => id === sentId)
  const last = messages.at(-1)
  const isMatch =
    last &&
    !settledIds.has(last.id) &&
    bubble.status === 'sending' &&
    last.from === 'customer' &&
    last.type === bubble.type &&
    (last.text ?? '') === (bubble.text ?? '') &&
    Math.abs(Date.parse(last.at) - Date.parse(bubble.at)) < clockToleranceMs
  return isMatch ? last : undefined
}
