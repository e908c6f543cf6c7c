/** The names of what definitions refer to by id. */
import { useMemo } from 'react'
import { useCall } from '../../lib/api.ts'
import { useConnections } from '../../lib/connections.ts'
import { memberName } from '../../lib/people.ts'

const none: readonly never[] = []

export function useNames() {
  const { data: people = none } = useCall('GET /members', {})
  const { data: teams = none } = useCall('GET /teams', {})
  const { data: tags = none } = useCall('GET /tags', {})
  const { data: labels = none } = useCall('GET /labels', {})
  const connections = useConnections()
  return useMemo(() => {
    const members = people
      .filter(({ state }) => state === 'active')
      .map((member) => ({ id: member.id, name: memberName(member) }))
    const all = [...members, ...teams, ...tags, ...labels, ...connections]
    return { members, teams, names: new Map(all.map(({ id, name }) => [id, name])) }
  }, [people, teams, tags, labels, connections])
}
