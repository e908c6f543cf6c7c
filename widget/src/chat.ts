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
import { toView, type View } from './view.ts'

export type Chat = {
  view(): View
  start(): void
  say(text: string, details?: { name: string; email: string }): void
  /** Try a refused one once more. */
  sayAgain(key: string): void
  loadEarlier(): Promise<void>
  /** Whether the visitor sees the messages. */
  setOpen(isOpen: boolean): void
  /** Listen no more. What waits is sent by the next page. */
  stop(): void
}

type Chatting = {
  service: Service
  store: Store
  onChange: () => void
  /** A reply came that was not seen before. */
  onReply: (text: string) => void
}

const shortestWaitMs = 1_000
const longestWaitMs = 30_000

export function createChat({ service, store, onChange, onReply }: Chatting): Chat {
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

  const ending = new AbortController()
  const newest = () => [...thread.keys()].sort().pop()

  /** Take what the service has; none of it waits any longer. */
  function add(messages: readonly Message[]): void {
    const { seen = '' } = store.read()
    const before = thread.size
    let reply: Message | undefined
    for (const message of messages) {
      const { id, direction, status } = message
      if (direction === 'outbound' && /pending|failed/.test(status)) continue
      if (direction === 'outbound' && id > (reply?.id ?? seen) && !thread.has(id)) reply = message
      thread.set(id, message)
    }
    const names = new Set(messages.map(({ client_id }) => client_id))
    if (store.read().queue.some(({ client_id }) => names.has(client_id))) {
      store.change(({ queue }) => ({ queue: queue.filter(({ client_id }) => !names.has(client_id)) }))
    }
    if (thread.size !== before) noteSeen()
    onChange()
    if (reply) onReply(reply.content_text ?? '')
  }

  function noteSeen(): void {
    const seen = newest()
    if (isOpen && !document.hidden && seen && seen > (store.read().seen ?? '')) store.change(() => ({ seen }))
  }

  /** The service does not know this visitor any more: what they write makes a new one, unless another tab has. */
  function forget(token: string): void {
    disconnect()
    thread.clear()
    earlier = null
    isLoaded = false
    if (store.read().token === token) store.change(() => ({ token: undefined, seen: undefined }))
    onChange()
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
    if (isSending || ending.signal.aborted) return
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
      forget(token)
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
      if (answer.status === 401) forget(token)
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
    if (source || document.hidden || !token || ending.signal.aborted) return
    clearTimeout(askTimer)
    const opened = service.stream(token)
    source = opened
    opened.onopen = () => {
      askPause.reset()
      void refresh()
      // The service is back: what waits need not wait any longer.
      sendPause.reset()
      void flush()
    }
    opened.onmessage = ({ data }) => add([JSON.parse(data)])
    // More was missed than the service replays: the thread starts again with the replayed messages, so that it has no hole,
    // and `loadEarlier` lists the rest.
    opened.addEventListener('gap', ({ data }) => {
      thread.clear()
      earlier = JSON.parse(data).next_cursor
      isLoaded = true
    })
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
      const { signal } = ending
      const back = () => {
        sendPause.reset()
        askPause.reset()
        disconnect()
        connect()
        void flush()
        onChange()
      }
      const look = () => {
        if (document.hidden) disconnect()
        else connect()
        noteSeen()
        onChange()
      }
      const shared = () => {
        connect()
        onChange()
      }
      addEventListener('online', back, { signal })
      addEventListener('offline', onChange, { signal })
      document.addEventListener('visibilitychange', look, { signal })
      store.onChange(shared, signal)
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
      // A line can be dead without anybody having noticed.
      if (next) void refresh()
    },
    stop() {
      ending.abort()
      disconnect()
      clearTimeout(sendTimer)
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

/** A random uuid; browsers make one themselves only on pages that came by https. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const variant = '89ab'[(bytes[8] ?? 0) % 4]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}
