/**
 * One live stream per browser.
 *
 * The tab that holds the lock keeps the connection, also while it is hidden, and relays every event to the other tabs. When it
 * closes, the browser gives the lock to another tab, whose new stream starts with `ready`. Browsers do not freeze a tab that
 * holds a lock. Without locks (a page without HTTPS) each visible tab has a connection of its own.
 */
import type { InboxEvent } from './conversations.ts'
import type { PresenceData } from './presence.ts'

export type StreamState = 'connecting' | 'live' | 'reconnecting'
/**
 * `ready`: the stream is open, and changes before it may have been missed. `changed`: the workspace changed. `member_changed`: data
 * that only the member sees changed. `conversations`: the conversations that changed. `visits`: the contacts whose page of the web chat
 * changed; null: any.
 */
export type StreamEvent =
  | { name: 'ready' | 'changed' | 'member_changed' }
  | { name: 'conversations'; data: InboxEvent }
  | { name: 'presence'; data: PresenceData }
  | { name: 'visits'; data: VisitsData }
type VisitsData = { contact_ids: readonly string[] | null }

type Relayed =
  | { kind: 'event'; event: StreamEvent }
  | { kind: 'state'; state: StreamState }
  /** A new tab asks for the state and the presence of members. */
  | { kind: 'join' }

export type SharedStream = {
  /** Whether this tab keeps the connection. It does the work that one tab does for all. */
  isLeading: () => boolean
  stop: () => void
}

const retryMs = 2_000

type StreamOptions = {
  /** Tabs with the same name share a stream. */
  name: string
  onEvent: (event: StreamEvent) => void
  onState: (state: StreamState) => void
}

export function openSharedStream({ name, onEvent, onState }: StreamOptions): SharedStream {
  return navigator.locks ? shareStream({ name, onEvent, onState }) : openWhileVisible({ name, onEvent, onState })
}

function shareStream({ name, onEvent, onState }: StreamOptions): SharedStream {
  const channel = new BroadcastChannel(name)
  const stopping = new AbortController()
  let stream: { stop: () => void } | undefined
  let state: StreamState = 'connecting'
  // For tabs that join: the service sends it when the stream opens and when it changes.
  let presence: StreamEvent | undefined
  const post = (message: Relayed) => channel.postMessage(message)
  const setState = (next: StreamState) => {
    state = next
    onState(next)
  }
  channel.onmessage = ({ data }: MessageEvent<Relayed>) => {
    if (data.kind === 'event') onEvent(data.event)
    if (data.kind === 'state' && data.state !== state) {
      setState(data.state)
      // The changes before this tab joined may be missing from what it shows.
      if (data.state === 'live') onEvent({ name: 'ready' })
    }
    if (data.kind === 'join' && stream) {
      post({ kind: 'state', state })
      if (presence) post({ kind: 'event', event: presence })
    }
  }
  post({ kind: 'join' })
  navigator.locks
    .request(`${name}:stream`, { signal: stopping.signal }, () => {
      stream = connect({
        onEvent: (event) => {
          if (event.name === 'presence') presence = event
          onEvent(event)
          post({ kind: 'event', event })
        },
        onState: (next) => {
          setState(next)
          post({ kind: 'state', state: next })
        },
      })
      return new Promise((release) => stopping.signal.addEventListener('abort', release))
    })
    // The request was aborted before the lock was granted.
    .catch(() => {})
  return {
    isLeading: () => stream !== undefined,
    stop() {
      stopping.abort()
      stream?.stop()
      stream = undefined
      channel.close()
    },
  }
}

function openWhileVisible({ onEvent, onState }: StreamOptions): SharedStream {
  let stream: { stop: () => void } | undefined
  const follow = () => {
    if (!document.hidden) stream ??= connect({ onEvent, onState })
    else {
      stream?.stop()
      stream = undefined
    }
  }
  follow()
  document.addEventListener('visibilitychange', follow)
  return {
    isLeading: () => true,
    stop() {
      document.removeEventListener('visibilitychange', follow)
      stream?.stop()
    },
  }
}

function connect({ onEvent, onState }: Pick<StreamOptions, 'onEvent' | 'onState'>): { stop: () => void } {
  let source: EventSource
  let retry: ReturnType<typeof setTimeout> | undefined
  const open = () => {
    source = new EventSource('/app/api/stream')
    source.addEventListener('ready', () => {
      onState('live')
      onEvent({ name: 'ready' })
    })
    source.addEventListener('changed', () => onEvent({ name: 'changed' }))
    source.addEventListener('member_changed', () => onEvent({ name: 'member_changed' }))
    source.addEventListener('conversations', ({ data }) => onEvent({ name: 'conversations', data: JSON.parse(data) }))
    source.addEventListener('presence', ({ data }) => onEvent({ name: 'presence', data: JSON.parse(data) }))
    source.addEventListener('visits', ({ data }) => onEvent({ name: 'visits', data: JSON.parse(data) }))
    source.addEventListener('error', () => {
      onState('reconnecting')
      // The browser reconnects by itself after a network error, but not after an error response.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(open, retryMs)
    })
  }
  open()
  return {
    stop() {
      clearTimeout(retry)
      source.close()
    },
  }
}
