/** Who writes here, as their messages will say. */
import { useMemo } from 'react'
import { memberName } from '../lib/people.ts'
import { useSession } from '../lib/session.tsx'

export function useMe(): { id: string; name: string } {
  const { member } = useSession()
  return useMemo(() => ({ id: member.id, name: memberName(member) }), [member])
}
