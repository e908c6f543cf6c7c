/**
 * Unsent text in the browser. It belongs to one member, so it is cleared on sign-out and when another member signs in.
 *
 * Forms keep their input in `sessionStorage`: it survives a reload and an expired session. Nothing else may use `sessionStorage`.
 * Replies and messages that the service has not confirmed are in `localStorage`, under `unsentPrefix`: they also survive closing
 * the tab.
 */

const ownerKey = 'parley-writer'
const unsentPrefix = 'parley-unsent-'

/** Clears the unsent text of any other member. */
export function setDraftOwner(memberId: string): void {
  if (sessionStorage.getItem(ownerKey) !== memberId) sessionStorage.clear()
  if (localStorage.getItem(ownerKey) !== memberId) clearUnsent()
  sessionStorage.setItem(ownerKey, memberId)
  localStorage.setItem(ownerKey, memberId)
}

export function clearDrafts(): void {
  sessionStorage.clear()
  clearUnsent()
}

function clearUnsent(): void {
  for (const [key] of listUnsent('')) removeUnsent(key)
}

/** The entries whose keys start with this text; the keys without it. */
export function listUnsent(prefix: string): [key: string, value: string][] {
  const start = unsentPrefix + prefix
  return Object.keys(localStorage)
    .filter((key) => key.startsWith(start))
    .map((key) => [key.slice(start.length), localStorage.getItem(key) ?? ''])
}

/** Calls `listener` when another tab stores or removes (null) such an entry. */
export function followUnsent(prefix: string, listener: (key: string, value: string | null) => void): void {
  const start = unsentPrefix + prefix
  addEventListener(
    'storage',
    ({ key, newValue }) => key?.startsWith(start) && listener(key.slice(start.length), newValue),
  )
}

export const readUnsent = (key: string): string | null => localStorage.getItem(unsentPrefix + key)

/** Stores an entry. When the storage is full, the text is kept in memory only: writing and sending still work. */
export function storeUnsent(key: string, value: string): void {
  try {
    localStorage.setItem(unsentPrefix + key, value)
  } catch {
    localStorage.removeItem(unsentPrefix + key)
  }
}

export const removeUnsent = (key: string): void => localStorage.removeItem(unsentPrefix + key)
