/**
 * A long list with live updates.
 *
 * Every live update reloads the small first page (the head). Older items load in large pages when the member scrolls to them.
 * They reload at most every 2 seconds after the head changed, so a busy workspace does not make the browser read a thousand
 * rows four times a second. An older item that sorts before the end of the head but is not in it was removed.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { usePages } from '../../lib/api.ts'
import { inboxOrders, type ListQuery } from '../../lib/conversation-lists.ts'
import { useSession } from '../../lib/session.tsx'
import { placeChanged } from './conversations.ts'
import { byId, headPageSize, olderPageSize, threadInput } from './data.ts'
import { useUnconfirmed } from './unconfirmed.ts'

/** Conversations in the order of the query, with the unconfirmed changes. While another query loads, the previous result stays. */
export function useConversations(query: ListQuery, enabled = true) {
  const { id: memberId } = useSession().member
  const unconfirmed = useUnconfirmed('change')
  const olderRequest = useOlderRequested(JSON.stringify(query))
  const head = usePages(
    'GET /conversations',
    { query: { ...query, limit: headPageSize } },
    { live: true, keepPrevious: true, enabled },
  )
  const older = usePages(
    'GET /conversations',
    { query: { ...query, limit: olderPageSize } },
    { enabled: enabled && olderRequest.isRequested },
  )
  const pages = useMergedPages(head, older, olderRequest, inboxOrders[query.sort ?? 'newest'])
  if (!pages.data) return pages
  const isWhole = !pages.hasNextPage
  return { ...pages, items: placeChanged(pages.items, unconfirmed, query, { memberId, isWhole }) }
}

/** The messages of a conversation, newest first. */
export function useThread(id: string) {
  const olderRequest = useOlderRequested(id)
  const head = usePages('GET /conversations/{id}/messages', threadInput(id), { live: true })
  const older = usePages('GET /conversations/{id}/messages', threadInput(id, olderPageSize), {
    enabled: olderRequest.isRequested,
  })
  return useMergedPages(head, older, olderRequest, byId)
}

/** The timeline of a conversation with the unconfirmed notes, newest first. */
export function useTimeline(id: string) {
  const olderRequest = useOlderRequested(id)
  const head = usePages('GET /conversations/{id}/timeline', threadInput(id), { live: true })
  const older = usePages('GET /conversations/{id}/timeline', threadInput(id, olderPageSize), {
    enabled: olderRequest.isRequested,
  })
  const pages = useMergedPages(head, older, olderRequest, byId)
  const unconfirmed = useUnconfirmed('note')
  const items = useMemo(() => {
    const keys = new Set(pages.items.map(({ idempotency_key }) => idempotency_key))
    const notes = unconfirmed.flatMap((one) =>
      one.kind === 'note' && one.conversationId === id && !keys.has(one.key) ? one.entry : [],
    )
    return [...notes.toReversed(), ...pages.items]
  }, [pages.items, unconfirmed, id])
  return { ...pages, items }
}

type OlderRequest = { isRequested: boolean; request: () => void }

/** Whether the member scrolled beyond the head of the list with this key. */
function useOlderRequested(key: string): OlderRequest {
  const [requestedKey, setRequestedKey] = useState<string>()
  const request = useCallback(() => setRequestedKey(key), [key])
  return { isRequested: requestedKey === key, request }
}

type Page<Item> = { data: Item[]; meta: { next_cursor: string | null } }
type Pages<Item> = {
  data: { pages: Page<Item>[] } | undefined
  dataUpdatedAt: number
  error: unknown
  isPlaceholderData: boolean
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => unknown
  refetch: () => unknown
}

function useMergedPages<Item extends { id: string }>(
  head: Pages<Item>,
  older: Pages<Item>,
  olderRequest: OlderRequest,
  compare: (one: Item, other: Item) => number,
) {
  useThrottled(head.dataUpdatedAt, olderRequest.isRequested, older.refetch)
  const items = useMemo(() => {
    const fresh = head.data?.pages.flatMap((page) => page.data) ?? []
    const isAll = head.data?.pages.at(-1)?.meta.next_cursor === null
    return isAll || !olderRequest.isRequested
      ? fresh
      : mergePages(fresh, older.data?.pages.flatMap((page) => page.data) ?? [], compare)
  }, [head.data, older.data, olderRequest.isRequested, compare])

  const { fetchNextPage } = older
  const isReady = olderRequest.isRequested && older.data !== undefined
  const { isRequested, request } = olderRequest
  const fetchMore = useCallback(() => {
    if (isReady) void fetchNextPage()
    else if (!isRequested) request()
  }, [isReady, isRequested, request, fetchNextPage])
  return {
    items,
    data: head.data,
    error: head.error,
    refetch: head.refetch,
    isPlaceholderData: head.isPlaceholderData,
    hasNextPage: !head.isPlaceholderData && (isReady ? older.hasNextPage : head.hasNextPage),
    isFetchingNextPage: isRequested && (older.isFetchingNextPage || !isReady),
    fetchNextPage: fetchMore,
  }
}

function mergePages<Item extends { id: string }>(
  fresh: readonly Item[],
  older: readonly Item[],
  compare: (one: Item, other: Item) => number,
): Item[] {
  const last = fresh.at(-1)
  const seen = new Set(fresh.map(({ id }) => id))
  const rest = older.filter((item) => {
    if (seen.has(item.id) || (last && compare(last, item) > 0)) return false
    seen.add(item.id)
    return true
  })
  return [...fresh, ...rest]
}

const throttleMs = 2_000

/** Throttle: runs once, `throttleMs` after the first change of `changedAt`. */
function useThrottled(changedAt: number, isOn: boolean, run: () => unknown): void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const latest = useRef(run)
  latest.current = run
  const seen = useRef(changedAt)
  useEffect(() => {
    if (isOn && seen.current !== changedAt && !timer.current) {
      timer.current = setTimeout(() => {
        timer.current = undefined
        void latest.current()
      }, throttleMs)
    }
    seen.current = changedAt
  }, [changedAt, isOn])
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      timer.current = undefined
    },
    [],
  )
}
