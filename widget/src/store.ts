/**
 * What the widget remembers in a visitor's browser, for each site by itself:
 * who they are, what waits to be sent, what they have seen. Several tabs share
 * it, so every change reads first. Where a browser keeps nothing (a blocked or
 * full storage) it is kept for as long as the page is open, and what an earlier
 * page left there is not taken for it.
 */
import type { Settings } from './service.ts'

export type Waiting = {
  /** Made once, so that however often it is sent it is kept once. */
  client_id: string
  text: string
  at: string
}

type Kept = {
  token?: string | undefined
  name?: string
  email?: string
  /** Was asked for name and e-mail, and went on. */
  introduced?: boolean
  /** The newest message seen with the panel open. */
  seen?: string | undefined
  queue: Waiting[]
  /** As they were last, for a page that is opened without a line. */
  settings?: Settings
}

export type Store = {
  read(): Kept
  /** Change something of it. */
  change(change: (kept: Kept) => Partial<Kept>): Kept
  /** Be told when another tab changed it, until the signal. */
  onChange(run: () => void, signal: AbortSignal): void
}

export function createStore(siteId: string): Store {
  const key = `parley-chat:${siteId}`
  let memory: Kept = { queue: [] }
  /** Whether the last change could be kept: where it could not, only memory knows it. */
  let isKept = true
  const read = (): Kept => {
    if (!isKept) return memory
    try {
      const text = localStorage.getItem(key)
      if (text) memory = readKept(JSON.parse(text)) ?? memory
    } catch {
      // Blocked, or not ours: what is in memory holds.
    }
    return memory
  }
  return {
    read,
    change(change) {
      const kept = read()
      memory = { ...kept, ...change(kept) }
      try {
        localStorage.setItem(key, JSON.stringify(memory))
        isKept = true
      } catch {
        isKept = false
      }
      return memory
    },
    onChange(run, signal) {
      const heard = (event: StorageEvent) => {
        if (event.key === key) run()
      }
      addEventListener('storage', heard, { signal })
    },
  }
}

/** Whoever may write to the storage of a site may write nonsense: what is not as it was left is not taken. */
function readKept(value: Kept | null): Kept | undefined {
  if (!value || !Array.isArray(value.queue)) return undefined
  const { token, seen } = value
  return {
    ...value,
    token: typeof token === 'string' ? token : undefined,
    seen: typeof seen === 'string' ? seen : undefined,
    queue: value.queue.filter((each) => typeof each?.client_id === 'string' && typeof each.text === 'string'),
  }
}
