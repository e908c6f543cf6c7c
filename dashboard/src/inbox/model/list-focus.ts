/** Keyboard navigation of the conversation list. Rows are links; the focused row is the current position. */

const listRows = () => [...document.querySelectorAll<HTMLAnchorElement>('.inbox-list a[data-row]')]

/** The conversation that a row opens. The row of a found message has the id of the message. Empty: a found note opens its contact. */
const conversationOf = ({ pathname }: HTMLAnchorElement): string => /^\/inbox\/([^/]+)/.exec(pathname)?.[1] ?? ''

const isOpenRow = (row: HTMLAnchorElement): boolean => row.matches('[aria-current]')

/** The conversations of the list, from top to bottom. */
export const listedIds = (): string[] => [...new Set(listRows().map(conversationOf))].filter((id) => id !== '')

export const rowOf = (id: string): HTMLElement | null =>
  document.querySelector(`.inbox-list [data-row="${CSS.escape(id)}"]`)

/** The row that has the focus, or whose check box has it. */
const focusedRow = (): HTMLAnchorElement | undefined =>
  document.activeElement?.closest('.inbox-list .inbox-item')?.querySelector<HTMLAnchorElement>('a[data-row]') ??
  undefined

/** The conversation of the focused row. */
export function focusedId(): string {
  const row = focusedRow()
  return row ? conversationOf(row) : ''
}

/**
 * Whether the member works in the list: a change of its order would move what the member reads or is about to press. The focus on the row
 * of the open conversation is no work: that row is chosen already.
 */
export function isListInUse(): boolean {
  const list = document.querySelector('.inbox-list .inbox-scroll')
  if (!list) return false
  const isChoosing = list.contains(document.activeElement) && !document.activeElement?.matches('[aria-current]')
  return list.scrollTop > 0 || list.matches(':hover') || isChoosing
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
export function moveInList(step: 1 | -1): void {
  const rows = listRows()
  moveFrom(rows, focusedRow() ?? rows.findLast(isOpenRow), step)
}

/** Opens the next or previous conversation, starting from the open one. It can have several rows: one of them may have the focus. */
export function openInList(step: 1 | -1): void {
  const rows = listRows().filter((row) => conversationOf(row) !== '')
  const focused = focusedRow()
  const open = rows.filter(isOpenRow)
  const from = open.find((row) => row === focused) ?? open.at(-1) ?? focused
  const next = moveFrom(rows, from, step)
  // At the end of the list, the open one stays.
  if (next && !(next === from && isOpenRow(next))) next.click()
}

function moveFrom(
  rows: readonly HTMLAnchorElement[],
  from: HTMLAnchorElement | undefined,
  step: 1 | -1,
): HTMLAnchorElement | undefined {
  const index = from ? rows.indexOf(from) : -1
  const next = rows[index < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, index + step))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
  return next
}

export function focusSearch(): void {
  document.querySelector<HTMLInputElement>('.inbox-search input')?.focus()
}
