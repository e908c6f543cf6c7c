/**
 * The widget's state in `localStorage`, one entry per site: visitor token, send queue and read position. A customer whom the site
 * signed in has an entry of their own, without token and draft: they must not outlive the page, because the next person may use the browser.
 *
 * All tabs of a site share the entry, so every update reads it first. If a write fails (storage blocked or full), the state
 * stays in memory until the page closes, and the stale entry in storage is ignored.
 */
import type { Settings, Tap } from './api.ts'

export type QueuedMessage = {
  /** Idempotency id: the service stores the message once, even if the widget sends it several times. */
  client_id: string
  text: string
  at: string
  /** An uploaded file, and its name. */
  file?: string
  name?: string
  /** The button or row whose title is the text. */
  tap?: Tap
}

type StoredState = {
  token?: string | undefined
  name?: string
  email?: string
  /** The visitor has already answered or skipped the form for name and email. */
  introduced?: boolean
  /** Id of the newest message that the visitor saw with the panel open. */
  seen?: string | undefined
  queue: QueuedMessage[]
  /** The text in the message field. */
  draft?: string | undefined
  /** The settings of the last page view, used when the page opens offline. */
  settings?: Settings
}

export type Store = {
  read(): StoredState
  update(change: (state: StoredState) => Partial<StoredState>): StoredState
  /** Calls `listener` after another tab changed or deleted the state, until `signal` aborts. */
  onExternalChange(listener: (isCleared: boolean) => void, signal: AbortSignal): void
  /** Deletes the entry. */
  clear(): void
}

/** `visitorId`: of a customer whom the site signed in. */
export function createStore(siteId: string, visitorId?: string): Store {
  const key = `parley-chat:${siteId}${visitorId ? `:${visitorId}` : ''}`
  let memory: StoredState = { queue: [] }
  /** False after a failed write: `memory` is then newer than the storage. */
  let isPersisted = true
  const read = (): StoredState => {
    if (!isPersisted) return memory
    try {
      const text = localStorage.getItem(key)
      const { token } = memory
      if (text) memory = parseState(JSON.parse(text)) ?? memory
      if (visitorId) memory.token = token
    } catch {
      // The storage is blocked or holds invalid JSON: use the state in memory.
    }
    return memory
  }
  return {
    read,
    update(change) {
      const state = read()
      memory = { ...state, ...change(state) }
      try {
        localStorage.setItem(
          key,
          JSON.stringify(visitorId ? { ...memory, token: undefined, draft: undefined } : memory),
        )
        isPersisted = true
      } catch {
        isPersisted = false
      }
      return memory
    },
    onExternalChange(listener, signal) {
      const onStorage = (event: StorageEvent) => {
        if (event.key === key) listener(event.newValue === null)
      }
      addEventListener('storage', onStorage, { signal })
    },
    clear() {
      memory = { queue: [] }
      try {
        localStorage.removeItem(key)
      } catch {
        // The storage is blocked, so it has no entry.
      }
    },
  }
}

/** Every script of the site can write to this storage, so values of the wrong type are dropped. */
function parseState(value: StoredState | null): StoredState | undefined {
  if (!value || !Array.isArray(value.queue)) return undefined
  const { token, seen } = value
  return {
    ...value,
    token: typeof token === 'string' ? token : undefined,
    seen: typeof seen === 'string' ? seen : undefined,
    queue: value.queue.filter((each) => typeof each?.client_id === 'string' && typeof each.text === 'string'),
  }
}
