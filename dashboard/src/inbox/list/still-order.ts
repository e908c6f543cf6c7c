/**
 * The order of the list stays still while the member works in it.
 *
 * The held order is what the member sees. Rows update in place, rows that no longer match disappear, and older rows that load are
 * appended. Conversations that arrive above the end, or that moved because the customer wrote, are counted and wait for `apply`; but one
 * that the member starts or opens appears at its place.
 * While the member does not work in the list, every update applies the new order. If a conversation is open, only an update with a new
 * conversation does: an own reply moves nothing.
 */
import { useCallback, useEffect, useMemo, useReducer, useRef } from 'react'
import type { Conversation } from '../model/data.ts'
import { focusedId } from '../model/list-focus.ts'

type Held = { key: string; order: Conversation[] }

type Input = {
  /** Another key starts a new order. */
  key: string
  /** In the order of the service. */
  fresh: readonly Conversation[]
  /** The member reads its messages: it does not count as new. */
  openId: string
  /** Whether `fresh` has all conversations that match. */
  isComplete: boolean
  compare: (one: Conversation, other: Conversation) => number
}

export function useStillOrder(input: Input, isWorking: () => boolean) {
  const held = useRef<Held>(undefined)
  const [, render] = useReducer((count: number) => count + 1, 0)
  const apply = useCallback(() => {
    held.current = undefined
    render()
  }, [])
  const isFree = !isWorking()
  if (held.current?.key !== input.key || (isFree && input.openId === '')) {
    held.current = { key: input.key, order: [...input.fresh] }
  }
  const result = holdOrder(held.current.order, input)
  // Nothing that the member sees would move, or it may move.
  if (result.rows.length === 0 || (isFree && result.newCount > 0)) {
    held.current = { key: input.key, order: [...input.fresh] }
    return { rows: input.fresh, newCount: 0, apply }
  }
  held.current = { key: input.key, order: result.order }
  return { rows: result.rows, newCount: result.newCount, apply }
}

/** `seen` has the conversations as they were when their position was fixed. */
function holdOrder(seen: readonly Conversation[], { fresh, openId, isComplete, compare }: Omit<Input, 'key'>) {
  const opened = seen.some(({ id }) => id === openId) ? [] : fresh.filter(({ id }) => id === openId)
  const order = opened.length > 0 ? [...seen, ...opened].sort(compare) : seen
  const freshById = new Map(fresh.map((one) => [one.id, one]))
  const heldIds = new Set(order.map(({ id }) => id))
  const [lastFresh, lastHeld] = [fresh.at(-1), order.at(-1)]
  const isBelowFresh = (one: Conversation) => !isComplete && lastFresh !== undefined && compare(lastFresh, one) < 0
  const unseen = fresh.filter(({ id }) => !heldIds.has(id))
  const isBelowHeld = (one: Conversation) => !lastHeld || compare(lastHeld, one) < 0
  const appended = unseen.filter(isBelowHeld)
  const moved = order.filter((before) => {
    const now = freshById.get(before.id)
    return now !== undefined && now.id !== openId && now.unread_count > 0 && now.inbox_at !== before.inbox_at
  })
  const rows = order.flatMap((before) => freshById.get(before.id) ?? (isBelowFresh(before) ? [before] : []))
  return {
    order: [...order, ...appended],
    rows: [...rows, ...appended],
    newCount: unseen.length - appended.length + moved.length,
  }
}

/**
 * The React key of each row. A row that moved up gets a new one, so that React inserts it: with the old key React would move all rows
 * that it passed. The row with the focus keeps its key, and the focus: it may be that of the open conversation.
 */
export function useRowKeys(rows: readonly Conversation[]): (id: string) => string {
  const before = useRef<ReadonlyMap<string, { index: number; moves: number }>>(new Map())
  const current = useMemo(() => {
    let lowest = Number.POSITIVE_INFINITY
    const places = rows.map(({ id }, index) => ({ id, index, last: before.current.get(id) }))
    const keys = places.toReversed().map(({ id, index, last = { index: lowest, moves: 0 } }) => {
      const hasMovedUp = last.index > lowest && id !== focusedId()
      lowest = Math.min(lowest, last.index)
      return [id, { index, moves: last.moves + Number(hasMovedUp) }] as const
    })
    return new Map(keys)
  }, [rows])
  useEffect(() => {
    before.current = current
  }, [current])
  return (id) => `${id} ${current.get(id)?.moves ?? 0}`
}
