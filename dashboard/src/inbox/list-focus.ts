/** Keyboard navigation of the conversation list. Rows are links; the focused row is the current position. */

const listRows = () => [...document.querySelectorAll<HTMLElement>('.inbox-list [data-row]')]

export const rowOf = (id: string): HTMLElement | null =>
  document.querySelector(`.inbox-list [data-row="${CSS.escape(id)}"]`)

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
