/** Moving in the list by keyboard: its rows are links, and the focus is where one is. */

const all = () => [...document.querySelectorAll<HTMLElement>('.inbox-list [data-row]')]

export const rowOf = (id: string): HTMLElement | null =>
  document.querySelector(`.inbox-list [data-row="${CSS.escape(id)}"]`)

/** To the next (1) or the previous (-1) row: from the one with the focus, else from the open one. */
export function moveInList(step: 1 | -1, openId: string): void {
  const rows = all()
  const focused = rows.findIndex((row) => row.matches(':focus'))
  const from = focused >= 0 ? focused : rows.findIndex((row) => row.dataset.row === openId)
  const next = rows[from < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, from + step))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

export function focusSearch(): void {
  document.querySelector<HTMLInputElement>('.inbox-search input')?.focus()
}
