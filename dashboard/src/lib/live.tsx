/**
 * Live updates over one server-sent event stream. A `presence` event carries its data (`presence.ts`). A `changed` event says only
 * that the workspace changed. It invalidates all `live` queries, at most once per `throttleMs`. `member_changed` invalidates those
 * of data that only this member sees. A new connection does both, which covers the changes missed while it was lost. A
 * hidden tab closes its connection, because over HTTP/1.1 a browser opens at most six to a host, for all tabs together.
 */
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { invalidate } from './api.ts'
import { receivePresence, startPresence } from './presence.ts'

export type LiveState = 'connecting' | 'live' | 'reconnecting'

const Context = createContext<LiveState>('connecting')

export const useLiveState = (): LiveState => useContext(Context)

const throttleMs = 250
const retryMs = 2_000

export function LiveUpdates({ children }: { children: ReactNode }) {
  const [state, setState] = useState<LiveState>('connecting')
  useEffect(() => followChanges(setState), [])
  useEffect(startPresence, [])
  return <Context value={state}>{children}</Context>
}

/** Returns the function that stops it. */
function followChanges(setState: (state: LiveState) => void): () => void {
  let source: EventSource | undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  let throttle: ReturnType<typeof setTimeout> | undefined
  let isPending = false

  const refresh = () => {
    isPending = throttle !== undefined
    if (isPending) return
    void invalidate({ predicate: ({ meta }) => meta?.live === true })
    throttle = setTimeout(() => {
      throttle = undefined
      if (isPending) refresh()
    }, throttleMs)
  }
  const refreshOwn = () => void invalidate({ predicate: ({ meta }) => meta?.live === 'member' })
  const open = () => {
    clearTimeout(retry)
    source = new EventSource('/app/api/stream')
    source.addEventListener('ready', () => {
      setState('live')
      refresh()
      refreshOwn()
    })
    source.addEventListener('changed', refresh)
    source.addEventListener('presence', ({ data }) => receivePresence(JSON.parse(data)))
    source.addEventListener('member_changed', refreshOwn)
    source.addEventListener('error', () => {
      setState('reconnecting')
      // The browser reconnects by itself after a network error, but not after an error response.
      if (source?.readyState === EventSource.CLOSED) retry = setTimeout(open, retryMs)
    })
  }
  const close = () => {
    clearTimeout(retry)
    source?.close()
    source = undefined
  }
  const followVisibility = () => {
    if (document.hidden) close()
    else if (!source) open()
  }
  followVisibility()
  document.addEventListener('visibilitychange', followVisibility)
  return () => {
    document.removeEventListener('visibilitychange', followVisibility)
    clearTimeout(throttle)
    close()
  }
}
