/**
 * The conversation of this browser's visitor, without anything to look at.
 *
 * What is written goes into the queue first and is sent from there, one after
 * the other, until the service has it: each under a name of its own, so that
 * sending again after a lost answer changes nothing. What is answered comes by
 * a stream while the page is looked at, or by asking again where there is
 * none. Messages stand in the service's order, and those that wait come last.
 */
import type { Message, Service } from './service.ts'
import type { Store, Waiting } from './store.ts'

export type Shown = {
  /** Stays the same from waiting to sent. */
  key: string
  isOwn: boolean
  state: 'sent' | 'waiting' | 'refused'
  text: string | null
  media_url: string | null
  isDeleted: boolean
  at: string
}

export type View = { messages: Shown[]; unread: number; isOffline: boolean; hasEarlier: boolean }

export type Chat = {
  view(): View
  start(): void
  say(text: string, details?: { name: string; email: string }): void
  /** Try a refused one once more. */
  sayAgain(key: string): void
  loadEarlier(): Promise<void>
  /** Whether the visitor sees the messages. */
  setOpen(isOpen: boolean): void
}

type Chatting = { service: Service; store: Store; onChange: () => void }

const shortestWaitMs = 1_000
const longestWaitMs = 30_000

export function createChat({ service, store, onChange }: Chatting): Chat {
  const thread = new Map<string, Message>()
  const refused = new Set<string>()
  let earlier: string | null = null
  let isLoaded = false
  let isOpen = false
  let isSending = false
  const sendPause = createPause()
  const askPause = createPause()
  let source: EventSource | undefined
  let sendTimer: ReturnType<typeof setTimeout> | undefined
  let askTimer: ReturnType<typeof setTimeout> | undefined

  const newest = () => [...thread.keys()].sort().pop()

  /** Take what the service has; none of it waits any longer. */
  function add(messages: readonly Message[]): void {
    const before = thread.size
    for (const message of messages) {
      if (message.direction === 'outbound' && /pending|failed/.test(message.status)) continue
      thread.set(message.id, message)
    }
    const names = new Set(messages.map(({ client_id }) => client_id))
    if (store.read().queue.some(({ client_id }) => names.has(client_id))) {
      store.change(({ queue }) => ({ queue: queue.filter(({ client_id }) => !names.has(client_id)) }))
    }
    if (thread.size !== before) noteSeen()
    onChange()
  }

  function noteSeen(): void {
    const seen = newest()
    if (isOpen && !document.hidden && seen && seen > (store.read().seen ?? '')) store.change(() => ({ seen }))
  }

  /** The service does not know this visitor any more: what they write makes a new one. */
  function forget(): void {
    disconnect()
    thread.clear()
    earlier = null
    isLoaded = false
    store.change(() => ({ token: undefined, seen: undefined }))
  }

  async function resolveToken(): Promise<string | { retryMs: number | undefined; isFinal: boolean }> {
    const { token } = store.read()
    if (token) return token
    const answer = await service.visitor()
    if (!answer.ok) return { retryMs: answer.retryMs, isFinal: isFinal(answer.status) }
    // Another tab may have been faster: then its visitor is ours.
    return store.change((kept) => ({ token: kept.token ?? answer.data.visitor_token })).token ?? ''
  }

  async function flush(): Promise<void> {
    if (isSending) return
    isSending = true
    clearTimeout(sendTimer)
    for (let next = nextWaiting(); next; next = nextWaiting()) {
      const retryMs = await sendOne(next)
      if (retryMs === undefined) continue
      sendTimer = setTimeout(() => void flush(), retryMs)
      break
    }
    isSending = false
    connect()
  }

  const nextWaiting = () => store.read().queue.find(({ client_id }) => !refused.has(client_id))

  /** Answers how long to wait before the next attempt, or undefined when this one is settled. */
  async function sendOne({ client_id, text }: Waiting): Promise<number | undefined> {
    const token = await resolveToken()
    if (typeof token !== 'string') {
      if (!token.isFinal) return token.retryMs ?? sendPause.next()
      refuse(client_id)
      return undefined
    }
    const { name, email } = store.read()
    const answer = await service.send(token, {
      ...{ text, client_id },
      ...(name ? { name } : {}),
      ...(email ? { email } : {}),
    })
    if (answer.ok) {
      sendPause.reset()
      add([{ ...answer.data, client_id }])
    } else if (answer.status === 401) {
      forget()
      return sendPause.next()
    } else if (isFinal(answer.status)) refuse(client_id)
    else return answer.retryMs ?? sendPause.next()
    return undefined
  }

  function refuse(clientId: string): void {
    refused.add(clientId)
    onChange()
  }

  /** Ask for the newest; whatever a stream missed is among them. */
  async function refresh(): Promise<void> {
    const { token } = store.read()
    if (!token) return
    const answer = await service.list(token)
    if (!answer.ok) {
      if (answer.status === 401) forget()
      return
    }
    const oldest = answer.data.at(-1)?.id ?? ''
    const isDetached = !answer.data.some(({ id }) => thread.has(id))
    if (!isLoaded || isDetached) {
      isLoaded = true
      earlier = answer.next
      // More was missed than a page holds: the thread begins with it, so that it has no hole.
      for (const id of thread.keys()) if (id < oldest) thread.delete(id)
    }
    add(answer.data)
  }

  /** Only while the page is looked at: a browser has few lines to a host, and tabs share them. */
  function connect(): void {
    const { token } = store.read()
    if (source || document.hidden || !token) return
    clearTimeout(askTimer)
    const opened = service.stream(token)
    source = opened
    opened.onopen = () => {
      askPause.reset()
      void refresh()
    }
    opened.onmessage = ({ data }) => add([JSON.parse(data)])
    opened.onerror = () => {
      // A line that broke is taken up by the browser; a refusal is not.
      if (opened.readyState !== EventSource.CLOSED || source !== opened) return
      disconnect()
      askTimer = setTimeout(() => void refresh().then(connect), askPause.next())
    }
  }

  function disconnect(): void {
    clearTimeout(askTimer)
    source?.close()
    source = undefined
  }

  return {
    view: () => toView({ thread, refused, hasEarlier: earlier !== null, store }),
    start() {
      addEventListener('online', () => {
        sendPause.reset()
        askPause.reset()
        disconnect()
        connect()
        void flush()
        onChange()
      })
      addEventListener('offline', onChange)
      document.addEventListener('visibilitychange', () => {
        if (document.hidden) disconnect()
        else connect()
        noteSeen()
        onChange()
      })
      store.onChange(() => {
        connect()
        onChange()
      })
      connect()
      void flush()
    },
    say(text, details) {
      const waiting = { client_id: newId(), text, at: new Date().toISOString() }
      store.change(({ queue }) => ({
        queue: [...queue, waiting],
        ...(details ? { ...details, introduced: true } : {}),
      }))
      onChange()
      void flush()
    },
    sayAgain(key) {
      refused.delete(key)
      onChange()
      void flush()
    },
    async loadEarlier() {
      const { token } = store.read()
      if (!token || earlier === null) return
      const answer = await service.list(token, earlier)
      if (!answer.ok) return
      earlier = answer.next
      add(answer.data)
    },
    setOpen(next) {
      isOpen = next
      noteSeen()
      onChange()
    },
  }
}

/** Ever longer while it goes wrong. */
function createPause() {
  let failures = 0
  return {
    next: () => Math.min(longestWaitMs, shortestWaitMs * 2 ** failures++),
    reset() {
      failures = 0
    },
  }
}

/** Sent again it would be refused again; the others are over with time. */
const isFinal = (status: number): boolean => status >= 400 && status < 500 && ![401, 408, 429].includes(status)

type Parts = { thread: ReadonlyMap<string, Message>; refused: ReadonlySet<string>; hasEarlier: boolean; store: Store }

function toView({ thread, refused, hasEarlier, store }: Parts): View {
  const { queue, seen = '' } = store.read()
  const sent = [...thread.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
  const known = new Set(sent.map(({ client_id }) => client_id))
  return {
    messages: [
      ...sent.map(
        (message): Shown => ({
          key: message.client_id ?? message.id,
          isOwn: message.direction === 'inbound',
          state: 'sent',
          text: message.content_text,
          media_url: message.media_url,
          isDeleted: message.deleted_at !== null,
          at: message.created_at,
        }),
      ),
      ...queue
        .filter(({ client_id }) => !known.has(client_id))
        .map(
          ({ client_id, text, at }): Shown => ({
            ...{ key: client_id, isOwn: true, text, media_url: null, isDeleted: false, at },
            state: refused.has(client_id) ? 'refused' : 'waiting',
          }),
        ),
    ],
    unread: sent.filter(({ id, direction }) => direction === 'outbound' && id > seen).length,
    isOffline: !navigator.onLine,
    hasEarlier,
  }
}

/** A random uuid; browsers make one themselves only on pages that came by https. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const variant = '89ab'[(bytes[8] ?? 0) % 4]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}
