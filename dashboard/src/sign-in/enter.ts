/** Somebody is in: what was asked before, perhaps by somebody else, is forgotten. */
import { queryClient } from '../lib/api.ts'
import type { SessionView } from '../lib/session.tsx'

export function enterAs(session: SessionView): void {
  queryClient.clear()
  queryClient.setQueryData(['GET /session', {}], session)
}
