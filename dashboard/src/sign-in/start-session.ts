/** Starts a session in the browser. Clears the cache, which can hold data of another member. */
import { queryClient } from '../lib/api.ts'
import type { SessionView } from '../lib/session.tsx'

export function startSession(session: SessionView): void {
  queryClient.clear()
  queryClient.setQueryData(['GET /session', {}], session)
}
