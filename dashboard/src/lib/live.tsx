/**
 * Live updates over the stream that all tabs of a browser share (`stream.ts`). A `presence` event carries its data
 * (`presence.ts`). A `changed` event says only that the workspace changed. It invalidates all `live` queries, at most once per
 * `throttleMs`. `member_changed` invalidates those of data that only this member sees. `ready` does both, which covers the changes
 * missed while there was no connection. A hidden tab invalidates the `live` queries when it becomes visible.
 *
 * The unread counts are current in hidden tabs too, for their titles: the leading tab fetches them and sends them to the others.
 */
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { type DataOf, invalidate, queryClient } from './api.ts'
import { receivePresence, startPresence } from './presence.ts'
import { useSession } from './session.tsx'
import { openSharedStream, type SharedStream, type StreamEvent, type StreamState } from './stream.ts'

const Context = createContext<StreamState>('connecting')

export const useLiveState = (): StreamState => useContext(Context)

const throttleMs = 250

const changeListeners = new Set<() => void>()
let stream: SharedStream | undefined

/** Calls `listener` after every change of the workspace, in one tab of the browser, also while it is hidden. */
export function onChangeInLeadingTab(listener: () => void): () => void {
  changeListeners.add(listener)
  return () => changeListeners.delete(listener)
}

const isLeading = (): boolean => stream?.isLeading() ?? false

export function LiveUpdates({ children }: { children: ReactNode }) {
  const { member } = useSession()
  const [state, setState] = useState<StreamState>('connecting')
  useEffect(() => followChanges(`parley:${member.id}`, setState), [member.id])
  useEffect(startPresence, [])
  return <Context value={state}>{children}</Context>
}

/** Returns the function that stops it. */
function followChanges(name: string, setState: (state: StreamState) => void): () => void {
  let throttle: ReturnType<typeof setTimeout> | undefined
  let isPending = false
  let isStale = false

  const refresh = () => {
    if (document.hidden) {
      isStale = true
      // Not throttled here: browsers delay the timers of hidden tabs, and the service sends at most five events per second.
      if (isLeading()) void invalidate({ queryKey: [countsCall] })
      return
    }
    isPending = throttle !== undefined
    if (isPending) return
    isStale = false
    void invalidate({ predicate: ({ meta }) => meta?.live === true })
    throttle = setTimeout(() => {
      throttle = undefined
      if (isPending) refresh()
    }, throttleMs)
  }
  const receive = (event: StreamEvent) => {
    if (event.name === 'presence') return receivePresence(event.data)
    if (event.name !== 'changed') void invalidate({ predicate: ({ meta }) => meta?.live === 'member' })
    if (event.name === 'member_changed') return
    refresh()
    if (isLeading()) for (const listener of changeListeners) listener()
  }
  const showChanges = () => {
    if (!document.hidden && isStale) refresh()
  }
  document.addEventListener('visibilitychange', showChanges)
  const stopSharing = shareCounts(`${name}:counts`)
  stream = openSharedStream({ name, onState: setState, onEvent: receive })
  return () => {
    document.removeEventListener('visibilitychange', showChanges)
    clearTimeout(throttle)
    stopSharing()
    stream?.stop()
    stream = undefined
  }
}

const countsCall = 'GET /conversations/counts'
type Counts = DataOf<typeof countsCall>

/** Sends the counts that the leading tab fetched to the other tabs. */
function shareCounts(name: string): () => void {
  // Without locks every tab fetches its own.
  if (!navigator.locks) return () => {}
  const channel = new BroadcastChannel(name)
  channel.onmessage = ({ data }: MessageEvent<Counts>) => queryClient.setQueryData<Counts>([countsCall, {}], data)
  const unsubscribe = queryClient.getQueryCache().subscribe(({ type, query }) => {
    if (type !== 'updated' || query.queryKey[0] !== countsCall || !isLeading()) return
    if (query.state.fetchStatus === 'idle' && query.state.data) channel.postMessage(query.state.data)
  })
  return () => {
    unsubscribe()
    channel.close()
  }
}
