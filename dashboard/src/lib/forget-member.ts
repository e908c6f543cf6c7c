/** Removes what the browser holds of a member who signs out, so that the next member of this browser does not see it. */
import { queryClient } from './api.ts'
import { clearDrafts } from './drafts.ts'
import { clearRecent } from './palette.ts'

export function forgetMember(): void {
  queryClient.clear()
  clearDrafts()
  clearRecent()
}
