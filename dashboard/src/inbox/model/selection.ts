/** The selected conversations. A store, so that only the rows whose state changes render again. */
import { createStore } from '../../lib/store.ts'
import { listedIds, rowOf } from './list-focus.ts'

const selection = createStore<ReadonlySet<string>>(() => new Set())
/** Where a range starts. */
let anchor = ''

export const getSelected = selection.get
export const useSelected = (): ReadonlySet<string> => selection.useValue((selected) => selected)
export const useIsSelected = (id: string): boolean => selection.useValue((selected) => selected.has(id))

/** A mention, a found message or a conversation outside of the list has no check box that shows it. */
export const canSelect = (id: string): boolean => rowOf(id)?.parentElement?.querySelector('input') != null

export function toggleSelected(id: string): void {
  const next = new Set(getSelected())
  if (!next.delete(id)) next.add(id)
  anchor = id
  selection.set(next)
}

/** Selects the rows between the last toggled one and this one. */
export function selectUpTo(id: string): void {
  const ids = listedIds()
  const [from, to] = [ids.indexOf(anchor), ids.indexOf(id)]
  if (from < 0 || to < 0) toggleSelected(id)
  else selection.set(new Set([...getSelected(), ...ids.slice(Math.min(from, to), Math.max(from, to) + 1)]))
}

/** Rows that leave the list leave the selection: no action changes a conversation that the member does not see. */
export function keepSelected(ids: ReadonlySet<string>): void {
  const kept = [...getSelected()].filter((id) => ids.has(id))
  if (kept.length < getSelected().size) selection.set(new Set(kept))
}

export const selectAll = (): void => selection.set(new Set(listedIds()))

export function clearSelection(): void {
  anchor = ''
  if (getSelected().size > 0) selection.set(new Set())
}
