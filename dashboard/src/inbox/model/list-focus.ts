/** Keyboard navigation of the conversation list. Rows are links; the focused row is the current position. */

const listRows = () => [...document.querySelectorAll<HTMLElement>('.inbox-list [data-row]')]

/** The conversations of the list, from top to bottom. */
export const listedIds = (): string[] => listRows().flatMap((row) => row.dataset.row ?? [])

export const rowOf = (id: string): HTMLElement | null =>
  document.querySelector(`.inbox-list [data-row="${CSS.escape(id)}"]`)

/** The conversation of the focused row. */
export const focusedId = (): string => listRows().find((row) => row.matches(':focus'))?.dataset.row ?? ''

/** Whether the member works in the list: a change of its order would move what the member reads or is about to press. */
export function isListInUse(): boolean {
  const list = document.querySelector('.inbox-list .inbox-scroll')
  return !!list && (list.scrollTop > 0 || list.matches(':hover') || list.contains(document.activeElement))
}

/**
 * The row after these, else the one before them: where the member continues when these leave the list. The first row if the list
 * has none of these: an open conversation can wait behind "1 new".
 */
export function neighborOf(ids: ReadonlySet<string>): string {
  const listed = listedIds()
  const last = listed.findLastIndex((id) => ids.has(id))
  return listed.slice(last + 1).find((id) => !ids.has(id)) ?? listed.slice(0, last).findLast((id) => !ids.has(id)) ?? ''
}

/** Focuses the next (1) or previous (-1) row, starting from the focused row, else from the open conversation. */
export function moveInList(step: 1 | -1, openId: string): void {
  const rows = listRows()
  const focused = rows.findIndex((row) => row.matches(':focus'))
  const from = focused >= 0 ? focused : rows.findIndex((row) => row.dataset.row === openId)
  const next = rows[from < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, from + step))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

export function focusSearch(): void {
  document.querySelector<HTMLInputElement>('.inbox-search input')?.focus()
}
