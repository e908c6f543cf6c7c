/**
 * Unsent text in the browser. It belongs to one member, so it is cleared on sign-out and when another member signs in.
 *
 * Forms keep their input in `sessionStorage`: it survives a reload and an expired session. Nothing else may use `sessionStorage`.
 * Replies and messages that the service has not confirmed are in `localStorage`, under `unsentPrefix`: they also survive closing
 * the tab.
 */

const ownerKey = 'parley-writer'
export const unsentPrefix = 'parley-unsent-'

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
  for (const { key } of listUnsent('')) localStorage.removeItem(key)
}

/** The entries of `localStorage` whose keys start with `unsentPrefix` and this text. */
export function listUnsent(prefix: string): { key: string; value: string }[] {
  return Object.keys(localStorage)
    .filter((key) => key.startsWith(unsentPrefix + prefix))
    .map((key) => ({ key, value: localStorage.getItem(key) ?? '' }))
}

/** Stores an entry. When the storage is full, the text is kept in memory only: writing and sending still work. */
export function storeUnsent(key: string, value: string): void {
  try {
    localStorage.setItem(unsentPrefix + key, value)
  } catch {
    localStorage.removeItem(unsentPrefix + key)
  }
}

export const removeUnsent = (key: string): void => localStorage.removeItem(unsentPrefix + key)
