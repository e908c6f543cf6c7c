/**
 * News without reload: one stream of hints from the service. A hint says that
 * something of the workspace changed; whatever is on the page and `live` is
 * asked again, at most a few times a second. After a break everything live is
 * asked again, so nothing is missed. A page nobody sees has no line: a browser
 * has six to a host, and tabs share them.
 */
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { askAgain } from './api.ts'

export type LiveState = 'connecting' | 'live' | 'broken'

const Context = createContext<LiveState>('connecting')

export const useLiveState = (): LiveState => useContext(Context)

/** No more often than this is the page asked again. */
const restMs = 250
const retryMs = 2_000

export function Live({ children }: { children: ReactNode }) {
  const [state, setState] = useState<LiveState>('connecting')
  useEffect(() => follow(setState), [])
  return <Context value={state}>{children}</Context>
}

/** Listen until told to end; a line the browser gave up is opened again. */
function follow(setState: (state: LiveState) => void): () => void {
  let source: EventSource | undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  let resting: ReturnType<typeof setTimeout> | undefined
  let isStale = false

  const refresh = () => {
    isStale = true
    if (resting) return
    isStale = false
    void askAgain({ predicate: ({ meta }) => meta?.live === true })
    resting = setTimeout(() => {
      resting = undefined
      if (isStale) refresh()
    }, restMs)
  }
  const open = () => {
    clearTimeout(retry)
    source = new EventSource('/app/api/stream')
    source.addEventListener('ready', () => {
      setState('live')
      refresh()
    })
    source.addEventListener('changed', refresh)
    source.addEventListener('error', () => {
      setState('broken')
      if (source?.readyState === EventSource.CLOSED) retry = setTimeout(open, retryMs)
    })
  }
  const close = () => {
    clearTimeout(retry)
    source?.close()
    source = undefined
  }
  const watch = () => {
    if (document.hidden) close()
    else if (!source) open()
  }
  watch()
  document.addEventListener('visibilitychange', watch)
  return () => {
    document.removeEventListener('visibilitychange', watch)
    clearTimeout(resting)
    close()
  }
}
