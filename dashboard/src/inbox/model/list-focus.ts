/** Keyboard navigation of the conversation list. Rows are links; the focused row is the current position. */

const listRows = () => [...document.querySelectorAll<HTMLAnchorElement>('.inbox-list a[data-row]')]

/** The conversation that a row opens. The row of a found message has the id of the message. */
const conversationOf = (row: HTMLAnchorElement): string => row.pathname.split('/')[2] ?? ''

/** The conversations of the list, from top to bottom. */
export const listedIds = (): string[] => [...new Set(listRows().map(conversationOf))]

export const rowOf = (id: string): HTMLElement | null =>
  document.querySelector(`.inbox-list [data-row="${CSS.escape(id)}"]`)

/** The conversation of the focused row. */
export function focusedId(): string {
  const row = listRows().find((one) => one.matches(':focus'))
  return row ? conversationOf(row) : ''
}

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

/** Focuses the next (1) or previous (-1) row, starting from the focused row, else from the open one. */
export function moveInList(step: 1 | -1): HTMLAnchorElement | undefined {
  const rows = listRows()
  const focused = rows.findIndex((row) => row.matches(':focus'))
  const from = focused >= 0 ? focused : rows.findIndex((row) => row.matches('[aria-current]'))
  const next = rows[from < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, from + step))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
  return next
}

/** The same, and opens the row. */
export const openInList = (step: 1 | -1): void => moveInList(step)?.click()

export function focusSearch(): void {
  document.querySelector<HTMLInputElement>('.inbox-search input')?.focus()
}
