/** Somebody is in: what was asked before, perhaps by somebody else, is forgotten. */
import { queries } from '../lib/api.ts'
import type { SessionView } from '../lib/session.tsx'

export function enterAs(session: SessionView): void {
  queries.clear()
  queries.setQueryData(['GET /session', {}], session)
}
