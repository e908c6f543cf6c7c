/** Who writes here, as their messages will say. */
import { useMemo } from 'react'
import { useSession } from '../lib/session.tsx'
import { memberName } from './data.ts'

export function useMe(): { id: string; name: string } {
  const { member } = useSession()
  return useMemo(() => ({ id: member.id, name: memberName(member) }), [member])
}
