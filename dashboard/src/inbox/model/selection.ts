/** The selected conversations. A store, so that only the rows whose state changes render again. */
import { useSyncExternalStore } from 'react'
import { listedIds } from './list-focus.ts'

let selected: ReadonlySet<string> = new Set()
/** Where a range starts. */
let anchor = ''
const listeners = new Set<() => void>()

function set(next: ReadonlySet<string>): void {
  selected = next
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const getSelected = (): ReadonlySet<string> => selected
export const useSelected = (): ReadonlySet<string> => useSyncExternalStore(subscribe, getSelected)
export const useIsSelected = (id: string): boolean => useSyncExternalStore(subscribe, () => selected.has(id))

export function toggleSelected(id: string): void {
  const next = new Set(selected)
  if (!next.delete(id)) next.add(id)
  anchor = id
  set(next)
}

/** Selects the rows between the last toggled one and this one. */
export function selectUpTo(id: string): void {
  const ids = listedIds()
  const [from, to] = [ids.indexOf(anchor), ids.indexOf(id)]
  if (from < 0 || to < 0) toggleSelected(id)
  else set(new Set([...selected, ...ids.slice(Math.min(from, to), Math.max(from, to) + 1)]))
}

/** Rows that leave the list leave the selection: no action changes a conversation that the member does not see. */
export function keepSelected(ids: ReadonlySet<string>): void {
  const kept = [...selected].filter((id) => ids.has(id))
  if (kept.length < selected.size) set(new Set(kept))
}

export const selectAll = (): void => set(new Set(listedIds()))

export function clearSelection(): void {
  anchor = ''
  if (selected.size > 0) set(new Set())
}
