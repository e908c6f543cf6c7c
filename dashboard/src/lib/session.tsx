/** Who is signed in, for everything below. */
import { createContext, type ReactNode, useContext } from 'react'
import type { DataOf } from './api.ts'
import { claimDrafts } from './drafts.ts'

export type SessionView = DataOf<'GET /session'>

const Context = createContext<SessionView | undefined>(undefined)

export function Session({ session, children }: { session: SessionView; children: ReactNode }) {
  // Before anything below looks for a draft of its own.
  claimDrafts(session.member.id)
  return <Context value={session}>{children}</Context>
}

export function useSession(): SessionView {
  const session = useContext(Context)
  if (!session) throw new Error('nobody is signed in here')
  return session
}

/** Owners and admins change the workspace; the service insists, the pages only do not offer it to others. */
export function useIsManager(): boolean {
  return useSession().role !== 'agent'
}
