/**
 * The visitor's conversation, without any user interface.
 *
 * Outgoing messages go into a persistent queue and are sent one at a time until the service accepts or rejects them. Each has
 * a `client_id`, so a retry after a lost response does not create a duplicate. Replies arrive on an event stream while the
 * page is visible. If the stream is refused, the widget polls. The thread shows the service's order, then the queue.
 */
import type { Api, Message } from './api.ts'
import type { QueuedMessage, Store } from './store.ts'
import { type ChatView, toView, type Upload } from './view.ts'

type Details = { name: string; email: string }

export type Chat = {
  view(): ChatView
  start(): void
  send(text: string, details?: Details): void
  /** Sends the title of a button or row that the visitor tapped. */
  tap(messageId: string, choice: { id: string; title: string }): void
  /** Uploads a file and sends it as a message of its own. A file that is not uploaded yet is lost with the page. */
  sendFile(file: File, details?: Details): void
  /** Sends a failed message again. */
  retry(key: string): void
  loadEarlier(): Promise<void>
  /** Reports whether the panel is open. Messages in an open, visible panel count as seen. */
  setOpen(isOpen: boolean): void
  /** The message that the visitor has begun, also on an earlier page. */
  draft(): string
  /** The visitor typed. Sends few signals, however fast the visitor types. */
  setDraft(draft: string): void
  /** Connects again: the browser is online, or there is a new token. */
  reconnect(): void
  /** Closes the stream and stops sending. The next page sends the rest of the queue. */
  stop(): void
}

type ChatOptions = {
  api: Api
  store: Store
  onChange: () => void
  /** Called with the text of the newest reply that the visitor has not seen. */
  onReply: (text: string) => void
  /** Called when another tab has deleted the state: the customer signed out there. */
  onCleared: () => void
  /** Called when the service rejects the token of a customer whom the site signed in. Undefined: the visitor is anonymous. */
  onExpired?: () => void
}

/** The service forgets a signal after ten seconds. */
const typingRepeatMs = 4_000
const typingEndMs = 5_000
const minBackoffMs = 1_000
const maxBackoffMs = 30_000

export function createChat({ api, store, onChange, onReply, onCleared, onExpired }: ChatOptions): Chat {
  const thread = new Map<string, Message>()
  const failedIds = new Set<string>()
  let uploads: readonly Upload[] = []
  let earlierCursor: string | null = null
  let isLoaded = false
  let isOpen = false
  let isSending = false
  let isUploading = false
  const sendBackoff = createBackoff()
  const pollBackoff = createBackoff()
  let source: EventSource | undefined
  let sendTimer: ReturnType<typeof setTimeout> | undefined
  let pollTimer: ReturnType<typeof setTimeout> | undefined
  let typingTimer: ReturnType<typeof setTimeout> | undefined
  /** When the last typing signal was sent; 0: the visitor does not type. */
  let typingSentMs = 0
  /** The member who types, with or without a name. */
  let typing: { name: string | null } | undefined
  let queued: string | null | undefined
  /** The newest reply that was reported as seen. */
  let reportedId = ''

  const stopping = new AbortController()
  const newestId = () => [...thread.keys()].sort().pop()

  /** Adds messages of the service to the thread and removes them from the queue. */
  function add(messages: readonly Message[]): void {
    const { seen = '' } = store.read()
    const sizeBefore = thread.size
    let reply: Message | undefined
    for (const message of messages) {
      const { id, direction, status } = message
      if (direction === 'outbound' && /pending|failed/.test(status)) continue
      if (direction === 'outbound' && id > (reply?.id ?? seen) && !thread.has(id)) reply = message
      thread.set(id, message)
    }
    if (reply) typing = undefined
    const clientIds = new Set(messages.map(({ client_id }) => client_id))
    if (store.read().queue.some(({ client_id }) => clientIds.has(client_id))) {
      store.update(({ queue }) => ({ queue: queue.filter(({ client_id }) => !clientIds.has(client_id)) }))
    }
    if (thread.size !== sizeBefore) markSeen()
    onChange()
    if (reply) onReply(reply.content_text ?? '')
  }

  function markSeen(): void {
    const seen = newestId()
    const { token, seen: seenBefore = '' } = store.read()
    if (!isOpen || document.hidden || !seen || !token) return
    if (seen > seenBefore) store.update(() => ({ seen }))
    const before = reportedId
    for (const { id, direction, status } of thread.values())
      if (direction === 'outbound' && status !== 'read' && id > reportedId) reportedId = id
    if (reportedId !== before) api.sendSeen(token, reportedId)
  }

  function enqueue(content: Pick<QueuedMessage, 'text' | 'tap'>, details?: Details): void {
    const message = { client_id: newId(), at: new Date().toISOString(), ...content }
    store.update(({ queue }) => ({ queue: [...queue, message], ...(details && { ...details, introduced: true }) }))
    onChange()
    void flush()
  }

  function setTyping(isTyping: boolean): void {
    const { token } = store.read()
    clearTimeout(typingTimer)
    // A visitor who has not written has no token, and no member who waits.
    if (!token) return
    if (isTyping) {
      typingTimer = setTimeout(() => setTyping(false), typingEndMs)
      if (Date.now() - typingSentMs < typingRepeatMs) return
    } else if (!typingSentMs) return
    typingSentMs = isTyping ? Date.now() : 0
    api.sendTyping(token, isTyping)
  }

  /** Drops a token that the service rejects. The next send creates a new visitor, unless another tab has created one. */
  function resetVisitor(token: string): void {
    // A customer may have a new token by now.
    if (onExpired && store.read().token !== token) return
    disconnect()
    if (onExpired) {
      store.update(() => ({ token: undefined }))
      onExpired()
      return
    }
    thread.clear()
    earlierCursor = null
    isLoaded = false
    if (store.read().token === token) store.update(() => ({ token: undefined, seen: undefined }))
    onChange()
  }

  async function resolveToken(): Promise<string | { retryMs?: number | undefined; isFinal: boolean }> {
    const { token } = store.read()
    if (token) return token
    if (onExpired) return { isFinal: false }
    const result = await api.createVisitor()
    if (!result.ok) return { retryMs: result.retryMs, isFinal: isFinal(result.status) }
    // If another tab created a visitor in the meantime, use that one.
    return store.update((state) => ({ token: state.token ?? result.data.visitor_token })).token ?? ''
  }

  async function flush(): Promise<void> {
    if (isSending || stopping.signal.aborted) return
    isSending = true
    clearTimeout(sendTimer)
    for (let next = nextQueued(); next && !stopping.signal.aborted; next = nextQueued()) {
      const retryMs = await sendQueued(next)
      if (retryMs === undefined) continue
      sendTimer = setTimeout(() => void flush(), retryMs)
      break
    }
    isSending = false
    connect()
  }

  const nextQueued = () => store.read().queue.find(({ client_id }) => !failedIds.has(client_id))

  /** Returns the delay before the next attempt, or undefined when the message is settled. */
  async function sendQueued({ client_id, text, file, tap }: QueuedMessage): Promise<number | undefined> {
    const token = await resolveToken()
    if (typeof token !== 'string') {
      if (!token.isFinal) return token.retryMs ?? sendBackoff.next()
      markFailed(client_id)
      return undefined
    }
    const { name, email } = store.read()
    const result = await api.sendMessage(token, {
      ...{ text, client_id },
      ...(file ? { file } : {}),
      ...(tap ? { tap } : {}),
      ...(name ? { name } : {}),
      ...(email ? { email } : {}),
    })
    if (result.ok) {
      sendBackoff.reset()
      add([{ ...result.data, client_id }])
    } else if (result.status === 401) {
      resetVisitor(token)
      return sendBackoff.next()
    } else if (isFinal(result.status)) markFailed(client_id)
    else return result.retryMs ?? sendBackoff.next()
    return undefined
  }

  /** One file after the other. An uploaded file joins the queue of messages, which all tabs share. */
  async function flushUploads(): Promise<void> {
    const next = uploads.find(({ isFailed }) => !isFailed)
    if (isUploading || !next || stopping.signal.aborted) return
    isUploading = true
    const { client_id, at, file } = next
    const token = await resolveToken()
    const result = typeof token === 'string' ? await api.uploadFile(token, file) : undefined
    isUploading = false
    if (result?.ok) {
      const message = { client_id, text: '', at, file: result.data.file, name: file.name }
      store.update(({ queue }) => ({ queue: [...queue, message] }))
      uploads = uploads.filter((one) => one !== next)
    } else {
      if (result?.status === 401 && typeof token === 'string') resetVisitor(token)
      uploads = uploads.map((one) => (one === next ? { ...one, isFailed: true } : one))
    }
    onChange()
    void flush()
    void flushUploads()
  }

  function markFailed(clientId: string): void {
    failedIds.add(clientId)
    onChange()
  }

  /** Loads the newest page, which contains everything that a broken stream missed. */
  async function refresh(): Promise<void> {
    const { token } = store.read()
    if (!token) return
    const result = await api.listMessages(token)
    if (!result.ok) {
      if (result.status === 401) resetVisitor(token)
      return
    }
    const oldestId = result.data.at(-1)?.id ?? ''
    const isDetached = !result.data.some(({ id }) => thread.has(id))
    if (!isLoaded || isDetached) {
      isLoaded = true
      earlierCursor = result.nextCursor
      // The gap is larger than a page. Dropping older messages keeps the thread contiguous.
      for (const id of thread.keys()) if (id < oldestId) thread.delete(id)
    }
    add(result.data)
  }

  /** Opens the stream only while the page is visible: browsers limit connections per host, and all tabs share the limit. */
  function connect(): void {
    const { token } = store.read()
    if (source || document.hidden || !token || stopping.signal.aborted) return
    clearTimeout(pollTimer)
    const opened = api.openStream(token)
    source = opened
    opened.onopen = () => {
      pollBackoff.reset()
      void refresh()
      // The service is reachable again, so the queue does not wait for its backoff.
      sendBackoff.reset()
      void flush()
    }
    opened.onmessage = ({ data }) => add([JSON.parse(data)])
    // The visitor missed more than the service replays. Restarting the thread with the replayed messages keeps it contiguous;
    // `loadEarlier` lists the rest.
    opened.addEventListener('gap', ({ data }) => {
      thread.clear()
      earlierCursor = JSON.parse(data).next_cursor
      isLoaded = true
    })
    opened.addEventListener('typing', ({ data }) => {
      const { is_typing: isTyping, name } = JSON.parse(data)
      typing = isTyping ? { name } : undefined
      onChange()
    })
    opened.addEventListener('queue', ({ data }) => {
      queued = JSON.parse(data).text
      onChange()
    })
    opened.addEventListener('seen', ({ data }) => {
      const { up_to: upTo } = JSON.parse(data)
      // Times of the service have one format, so their texts are in order.
      for (const message of thread.values())
        if (message.direction === 'inbound' && message.created_at <= upTo) message.status = 'read'
      onChange()
    })
    opened.onerror = () => {
      // The browser reconnects after a lost connection, but not after a refusal.
      if (opened.readyState !== EventSource.CLOSED || source !== opened) return
      disconnect()
      pollTimer = setTimeout(() => void refresh().then(connect), pollBackoff.next())
    }
  }

  function disconnect(): void {
    clearTimeout(pollTimer)
    typing = queued = undefined
    source?.close()
    source = undefined
  }

  function reconnect(): void {
    sendBackoff.reset()
    pollBackoff.reset()
    disconnect()
    connect()
    void flush()
    onChange()
  }

  return {
    view: () => toView({ thread, failedIds, hasEarlier: earlierCursor !== null, uploads, typing, queued, store }),
    draft: () => store.read().draft ?? '',
    setDraft(draft) {
      store.update(() => ({ draft }))
      setTyping(!!draft.trim())
    },
    reconnect,
    start() {
      const { signal } = stopping
      const onVisibilityChange = () => {
        if (document.hidden) disconnect()
        else connect()
        markSeen()
        onChange()
      }
      const onExternalChange = (isCleared: boolean) => {
        if (isCleared) return onCleared()
        connect()
        onChange()
      }
      addEventListener('online', reconnect, { signal })
      addEventListener('offline', onChange, { signal })
      document.addEventListener('visibilitychange', onVisibilityChange, { signal })
      store.onExternalChange(onExternalChange, signal)
      connect()
      void flush()
    },
    send: (text, details) => enqueue({ text }, details),
    tap: (messageId, { id, title }) => enqueue({ text: title, tap: { message_id: messageId, id } }),
    sendFile(file, details) {
      uploads = [...uploads, { client_id: newId(), at: new Date().toISOString(), file, isFailed: false }]
      if (details) store.update(() => ({ ...details, introduced: true }))
      onChange()
      void flushUploads()
    },
    retry(key) {
      failedIds.delete(key)
      uploads = uploads.map((one) => (one.client_id === key ? { ...one, isFailed: false } : one))
      void flushUploads()
      onChange()
      void flush()
    },
    async loadEarlier() {
      const { token } = store.read()
      if (!token || earlierCursor === null) return
      const result = await api.listMessages(token, earlierCursor)
      if (!result.ok) return
      earlierCursor = result.nextCursor
      add(result.data)
    },
    setOpen(next) {
      isOpen = next
      markSeen()
      onChange()
      // A stream can be dead without an error event, so opening the panel also loads the newest page.
      if (next) void refresh()
    },
    stop() {
      stopping.abort()
      disconnect()
      clearTimeout(sendTimer)
      setTyping(false)
    },
  }
}

/** Exponential backoff. */
function createBackoff() {
  let failures = 0
  return {
    next: () => Math.min(maxBackoffMs, minBackoffMs * 2 ** failures++),
    reset() {
      failures = 0
    },
  }
}

/** Whether a retry would be rejected again. 401, 408 and 429 are temporary. */
const isFinal = (status: number): boolean => status >= 400 && status < 500 && ![401, 408, 429].includes(status)

/** A random UUID. `crypto.randomUUID` exists only on https pages. */
const newId = (): string =>
  'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replace(/x/g, () => {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1))
    return (byte % 16).toString(16)
  })
