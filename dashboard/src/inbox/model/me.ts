/** The signed-in member as the sender of messages. */
import { useMemo } from 'react'
import { memberName } from '../../lib/people.ts'
import { useSession } from '../../lib/session.tsx'

export function useMe(): { id: string; name: string } {
  const { member } = useSession()
  return useMemo(() => ({ id: member.id, name: memberName(member) }), [member])
}
