/**
 * Live updates over the stream that all tabs of a browser share (`stream.ts`).
 *
 * `conversations` carries the conversations that changed and the counts (`conversations.ts`), and `presence` who has which of them
 * open (`presence.ts`). `visits` invalidates the pages of web visitors. `changed` says only that something else of the workspace changed: it invalidates all `live` queries.
 * `member_changed` invalidates those of data that only this member sees. `ready` does both, which covers the changes missed while
 * there was no connection. A hidden tab shows only the counts, in its title, and invalidates the `live` queries when it becomes
 * visible.
 */
import { notifyManager, type Query } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { type InputOf, invalidate } from './api.ts'
import { type InboxEvent, showConversations, showCounts } from './conversations.ts'
import { useOnline } from './hooks.ts'
import { receivePresence, startPresence } from './presence.ts'
import { useSession } from './session.tsx'
import { openSharedStream, type SharedStream, type StreamEvent, type StreamState } from './stream.ts'

const Context = createContext<StreamState>('connecting')

/** The browser reports a lost network at once. The stream notices it only when the connection times out. */
export function useLiveState(): StreamState {
  const state = useContext(Context)
  return useOnline() ? state : 'reconnecting'
}

const reloadPauseMs = 1_000
const othersDelayMs = 2_000

const changeListeners = new Set<() => void>()
let stream: SharedStream | undefined

/** Calls `listener` after every change that may be worth a notification, in one tab of the browser, also while it is hidden. */
export function onChangeInLeadingTab(listener: () => void): () => void {
  changeListeners.add(listener)
  return () => changeListeners.delete(listener)
}

export function LiveUpdates({ children }: { children: ReactNode }) {
  const { member } = useSession()
  const [state, setState] = useState<StreamState>('connecting')
  useEffect(() => followChanges(member.id, setState), [member.id])
  useEffect(startPresence, [])
  return <Context value={state}>{children}</Context>
}

/** Returns the function that stops it. */
function followChanges(memberId: string, setState: (state: StreamState) => void): () => void {
  let isStale = false
  let othersTimer: ReturnType<typeof setTimeout> | undefined
  let hasLaterChange = false
  const reload = createThrottle(reloadPauseMs, () => {
    isStale = false
    void invalidate({ predicate: (query) => isLive(query, true) })
  })
  // Lists such as the audit log also change with conversations, but no member waits for them. The service shares the counts of the
  // sidebar for a shorter time than the delay. So a change during the delay needs another one.
  const reloadOthers = () => {
    hasLaterChange = othersTimer !== undefined
    if (hasLaterChange) return
    othersTimer = setTimeout(() => {
      othersTimer = undefined
      void invalidate({ predicate: (query) => isLive(query, true) && !isOfInbox(String(query.queryKey[0])) })
      if (hasLaterChange) reloadOthers()
    }, othersDelayMs)
  }
  const notifyLeadingTab = () => {
    if (stream?.isLeading()) for (const listener of changeListeners) listener()
  }
  const reloadIfVisible = () => {
    if (document.hidden) isStale = true
    else reload.run()
  }
  const showInbox = (event: InboxEvent) => {
    const { conversations, removed } = event
    // One render for the counts and all lists.
    notifyManager.batch(() => {
      showCounts(event)
      if (conversations && !document.hidden) showConversations(conversations, removed, memberId)
    })
    if (!conversations || document.hidden) reloadIfVisible()
    if (!document.hidden) reloadOthers()
    if (!conversations || conversations.some(({ unread_count }) => unread_count > 0)) notifyLeadingTab()
  }
  const receive = (event: StreamEvent) => {
    if (event.name === 'presence') return receivePresence(event.data)
    if (event.name === 'conversations') return showInbox(event.data)
    if (event.name === 'visits') return reloadVisits(event.data.contact_ids)
    if (event.name !== 'changed') void invalidate({ predicate: (query) => isLive(query, 'member') })
    // The title of a hidden tab shows the counts.
    if (event.name === 'ready' && document.hidden) void invalidate({ queryKey: ['GET /conversations/counts'] })
    if (event.name !== 'member_changed') reloadIfVisible()
    notifyLeadingTab()
  }
  const showChanges = () => {
    if (!document.hidden && isStale) reload.run()
  }
  document.addEventListener('visibilitychange', showChanges)
  stream = openSharedStream({ name: `parley:${memberId}`, onState: setState, onEvent: receive })
  return () => {
    document.removeEventListener('visibilitychange', showChanges)
    reload.stop()
    clearTimeout(othersTimer)
    stream?.stop()
    stream = undefined
  }
}

/** Only the tabs that show one of these contacts have such a query. Null: any contact. */
function reloadVisits(contactIds: readonly string[] | null): void {
  void invalidate({
    queryKey: ['GET /contacts/{id}/visit'],
    predicate: ({ queryKey }) => {
      const { params } = queryKey[1] as InputOf<'GET /contacts/{id}/visit'>
      return contactIds === null || contactIds.includes(params.id)
    },
  })
}

/** Whether any part of the page that shows the query follows changes. The query itself knows only the part that was drawn last. */
const isLive = ({ meta, observers }: Query, live: true | 'member'): boolean =>
  meta?.live === live || observers.some(({ options }) => options.meta?.live === live)

/** The queries that `showConversations` keeps current. */
const isOfInbox = (name: string): boolean =>
  (name.startsWith('GET /conversations') && name !== 'GET /conversations/{id}/queue') ||
  name.startsWith('GET /contacts/{id}')

/** Runs at once, and then at most once per pause. */
function createThrottle(pauseMs: number, run: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isPending = false
  const start = () => {
    isPending = timer !== undefined
    if (isPending) return
    run()
    timer = setTimeout(() => {
      timer = undefined
      if (isPending) start()
    }, pauseMs)
  }
  return { run: start, stop: () => clearTimeout(timer) }
}
