/**
 * A long list that changes while somebody looks at it.
 *
 * Its beginning is small and asked for again at every piece of news. What is
 * older is asked for in large pages once somebody goes there, and again a
 * moment after the beginning changed, so a busy workspace does not make a
 * browser read a thousand rows four times a second. Whatever the beginning
 * does not have although it would stand there is gone.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { type InputOf, usePages } from '../lib/api.ts'
import { byActivity, byAge, freshCount, olderCount, threadInput } from './data.ts'

export type ListQuery = NonNullable<InputOf<'GET /conversations'>['query']>

/** Conversations, last activity first. While other ones are asked for, the last answer stays. */
export function useConversations(query: ListQuery, enabled = true) {
  const wanted = useWanted(JSON.stringify(query))
  const head = usePages(
    'GET /conversations',
    { query: { ...query, limit: freshCount } },
    { live: true, keep: true, enabled },
  )
  const older = usePages(
    'GET /conversations',
    { query: { ...query, limit: olderCount } },
    { enabled: enabled && wanted.is },
  )
  return useJoined(head, older, wanted, byActivity)
}

/** The messages of a conversation, newest first. */
export function useThread(id: string) {
  const wanted = useWanted(id)
  const head = usePages('GET /conversations/{id}/messages', threadInput(id), { live: true })
  const older = usePages('GET /conversations/{id}/messages', threadInput(id, olderCount), { enabled: wanted.is })
  return useJoined(head, older, wanted, byAge)
}

/** Whether somebody went beyond the beginning of this very list. */
function useWanted(key: string): { is: boolean; set: () => void } {
  const [wanted, setWanted] = useState<string>()
  const set = useCallback(() => setWanted(key), [key])
  return { is: wanted === key, set }
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

function useJoined<Item extends { id: string }>(
  head: Pages<Item>,
  older: Pages<Item>,
  wanted: { is: boolean; set: () => void },
  compare: (one: Item, other: Item) => number,
) {
  useCalm(head.dataUpdatedAt, wanted.is, older.refetch)
  const items = useMemo(() => {
    const fresh = head.data?.pages.flatMap((page) => page.data) ?? []
    const isAll = head.data?.pages.at(-1)?.meta.next_cursor === null
    return isAll || !wanted.is ? fresh : join(fresh, older.data?.pages.flatMap((page) => page.data) ?? [], compare)
  }, [head.data, older.data, wanted.is, compare])

  const { fetchNextPage } = older
  const isReady = wanted.is && older.data !== undefined
  const { is: isWanted, set: want } = wanted
  const fetchMore = useCallback(() => {
    if (isReady) void fetchNextPage()
    else if (!isWanted) want()
  }, [isReady, isWanted, want, fetchNextPage])
  return {
    items,
    data: head.data,
    error: head.error,
    refetch: head.refetch,
    isPlaceholderData: head.isPlaceholderData,
    hasNextPage: !head.isPlaceholderData && (isReady ? older.hasNextPage : head.hasNextPage),
    isFetchingNextPage: isWanted && (older.isFetchingNextPage || !isReady),
    fetchNextPage: fetchMore,
  }
}

function join<Item extends { id: string }>(
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

const calmMs = 2_000

/** Run a while after the beginning changed, and not again before that. */
function useCalm(changedAt: number, isOn: boolean, run: () => unknown): void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const latest = useRef(run)
  latest.current = run
  const seen = useRef(changedAt)
  useEffect(() => {
    if (isOn && seen.current !== changedAt && !timer.current) {
      timer.current = setTimeout(() => {
        timer.current = undefined
        void latest.current()
      }, calmMs)
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
