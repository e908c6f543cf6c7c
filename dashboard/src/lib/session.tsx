/** The session of the signed-in member, for all components below. */
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import type { DataOf } from './api.ts'
import { setDraftOwner } from './drafts.ts'
import { memberName } from './people.ts'

export type SessionView = DataOf<'GET /session'>

const Context = createContext<SessionView | undefined>(undefined)

export function SessionProvider({ session, children }: { session: SessionView; children: ReactNode }) {
  // During render: the components below read their drafts in their first render.
  setDraftOwner(session.member.id)
  return <Context value={session}>{children}</Context>
}

export function useSession(): SessionView {
  const session = useContext(Context)
  if (!session) throw new Error('useSession needs a <SessionProvider> above it')
  return session
}

/** Owners and admins may change the workspace. The service enforces it; the pages only hide the controls from others. */
export function useIsManager(): boolean {
  const { role } = useSession()
  return role === 'owner' || role === 'admin'
}

/** Whether the member sees all conversations, and not only those of their teams or their own. */
export const useSeesAll = (): boolean => useSession().sees === 'all'

/** A viewer only reads. The service enforces it; the pages hide or disable what a viewer cannot do. */
export function useCanWrite(): boolean {
  return useSession().role !== 'viewer'
}

/** The signed-in member as the sender of messages. */
export function useMe(): { id: string; name: string } {
  const { member } = useSession()
  return useMemo(() => ({ id: member.id, name: memberName(member) }), [member])
}
