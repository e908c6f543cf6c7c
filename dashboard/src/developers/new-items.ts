/** Counts the items of a list that are newer than those shown, so that the list stays still until the member shows them. */

export const newItemsPollMs = 3_000

type Shown = { items: readonly { id: string }[]; dataUpdatedAt: number }
type Newest = { data: readonly { id: string }[] | undefined; dataUpdatedAt: number }

/** `newest` is the polled first page. `isMore`: all of it is new, so there may be more. */
export function countNewItems({ items, dataUpdatedAt }: Shown, newest: Newest): { count: number; isMore: boolean } {
  const [first] = items
  if (!newest.data || newest.dataUpdatedAt < dataUpdatedAt) return { count: 0, isMore: false }
  const position = first ? newest.data.findIndex(({ id }) => id === first.id) : -1
  return position === -1
    ? { count: newest.data.length, isMore: first !== undefined && newest.data.length > 0 }
    : { count: position, isMore: false }
}
