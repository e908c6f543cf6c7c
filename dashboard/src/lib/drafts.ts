/**
 * Whose drafts are in this tab. What somebody began to write stays in it until
 * it is sent, over a reload and when a session ran out; whoever signs out, or
 * comes after somebody else, finds nothing there. Everything that is kept for
 * the life of a tab is a draft.
 */

const place = 'parley-writer'

/** Somebody is here: what another left is gone. */
export function claimDrafts(memberId: string): void {
  if (sessionStorage.getItem(place) === memberId) return
  sessionStorage.clear()
  sessionStorage.setItem(place, memberId)
}

export function forgetDrafts(): void {
  sessionStorage.clear()
}
