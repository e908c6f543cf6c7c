/**
 * Drafts, which pages keep in `sessionStorage`: they survive a reload and an expired session. They belong to one member, so they are
 * cleared on sign-out and when another member signs in. Nothing else may use `sessionStorage`.
 */

const ownerKey = 'parley-writer'

/** Clears the drafts of any other member. */
export function setDraftOwner(memberId: string): void {
  if (sessionStorage.getItem(ownerKey) === memberId) return
  sessionStorage.clear()
  sessionStorage.setItem(ownerKey, memberId)
}

export function clearDrafts(): void {
  sessionStorage.clear()
}
