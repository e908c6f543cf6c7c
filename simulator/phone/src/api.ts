/** The simulator's control API and event stream, on the page's own origin. */
import type { BubbleStatus, Location, Bubble as ServerBubble } from '../../wire/bubble.ts'

/** `sending` is a message that the simulator has not accepted yet. */
export type Status = BubbleStatus | 'sending'
export type Bubble = Omit<ServerBubble, 'status'> & { status: Status }
export type Customer = {
  channel: 'msgapp' | 'social'
  /** E.164 on msgapp; a user id if the number is hidden, and on social. */
  id: string
  name: string | null
  username: string | null
}
/** A number of the workspace, or an account on social. */
export type Connection = {
  connection_id: string
  channel: Customer['channel']
  name: string
  address: string
  is_default: boolean
}
/** A customer's chat with one number. The simulator names no connection if it has none. */
export type Chat = Customer & { connection_id?: string; messages: readonly Bubble[] }
export type Phone = Customer & {
  /** The number that the phone writes to; empty if the simulator names none. */
  connectionId: string
  /** The chat with that number. */
  messages: readonly Bubble[]
  /** The chats with the other numbers, by connection. */
  otherChats: ReadonlyMap<string, { messages: readonly Bubble[]; unread: number }>
}
export type Workspace = { workspace_id: string; business_name: string; display_phone_number?: string }
/** `has_dashboard`: the simulator is part of a service, whose dashboard is on the same host. */
export type PhoneList = {
  workspace: Workspace
  workspaces: Workspace[]
  connections?: Connection[]
  has_dashboard?: boolean
  phones: Chat[]
}
export type Fault = {
  to: string | null
  connection_id?: string | null
  mode: string
  code: number | null
  count: number | null
  delay_ms: number | null
}
type Source = { channel: Customer['channel']; connection_id?: string; phone: string }
export type StreamEvent =
  | ({ type: 'bubble'; bubble: Bubble } & Source & Pick<Customer, 'name' | 'username'>)
  | ({ type: 'status' } & Source & Pick<Bubble, 'id' | 'status' | 'error'>)
export type InboundMessage = {
  type: string
  text?: string
  media?: Record<string, string>
  location?: Location
  reply_to?: string
  button?: { id: string; title: string; description?: string | undefined }
}
export type Answer<Data> = { ok: true; data: Data } | { ok: false; message: string }

const control = '/simulator/control'

const query = (workspaceId: string | undefined) =>
  workspaceId ? `?${new URLSearchParams({ workspace_id: workspaceId })}` : ''

export const listPhones = (workspaceId: string | undefined) => call<PhoneList>(`/phones${query(workspaceId)}`)

export const postInbound = (message: object) => callJson<{ message_id: string }>('/inbound', message)

export const uploadFile = (file: File) =>
  call<{ id: string; url: string }>('/uploads', {
    method: 'POST',
    headers: { 'content-type': file.type || 'application/octet-stream', 'x-simulator': '1' },
    body: file,
  })

export const listFaults = () => call<Fault[]>('/faults')
export const addFault = (fault: Partial<Fault>) => callJson<Fault>('/faults', fault)
export const clearFaults = () => call<unknown>('/faults', { method: 'DELETE' })

const callJson = <Data>(path: string, body: object) =>
  call<Data>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

async function call<Data>(path: string, options?: RequestInit): Promise<Answer<Data>> {
  try {
    const response = await fetch(control + path, options)
    const body = await response.json().catch(() => undefined)
    if (response.ok && body) return { ok: true, data: body.data }
    return { ok: false, message: body?.error?.message ?? `the simulator answered ${response.status}` }
  } catch {
    return { ok: false, message: 'the simulator does not answer' }
  }
}

const firstBackoffMs = 1_000
const maxBackoffMs = 15_000

type StreamHandlers = { onOpen: () => void; onLost: () => void; onEvent: (event: StreamEvent) => void }

/**
 * Follows the event stream and reconnects. `onOpen` runs after every connect, so that the caller can load what it
 * missed. A hidden page closes its stream, because a browser allows only six connections to a host.
 */
export function openStream(workspaceId: string | undefined, { onOpen, onLost, onEvent }: StreamHandlers): () => void {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let backoffMs = firstBackoffMs
  const connect = () => {
    source = new EventSource(`${control}/stream${query(workspaceId)}`)
    source.addEventListener('open', () => {
      backoffMs = firstBackoffMs
      onOpen()
    })
    for (const type of ['bubble', 'status'] as const)
      source.addEventListener(type, (event) => onEvent({ type, ...JSON.parse(event.data) }))
    source.addEventListener('error', () => {
      onLost()
      // The browser reconnects by itself unless the answer was an error.
      if (source?.readyState !== EventSource.CLOSED) return
      timer = setTimeout(connect, backoffMs)
      backoffMs = Math.min(backoffMs * 2, maxBackoffMs)
    })
  }
  const close = () => {
    clearTimeout(timer)
    source?.close()
    source = undefined
  }
  const followVisibility = () => {
    if (document.hidden) close()
    else if (!source) connect()
  }
  followVisibility()
  document.addEventListener('visibilitychange', followVisibility)
  return () => {
    document.removeEventListener('visibilitychange', followVisibility)
    close()
  }
}
