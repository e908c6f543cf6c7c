/** A filter as text, with the names of tags and connections. */
import { useCall } from '../lib/api.ts'
import { useConnections } from '../lib/connections.ts'
import { describeFilter } from './describe-filter.ts'
import type { Filter } from './rules.ts'

/** Filters store ids of tags and connections; the text shows their names. */
export function useFilterText(): (filter: Filter) => string {
  const { data: tags = [] } = useCall('GET /tags', {})
  const connections = useConnections()
  const byId = new Map([...tags, ...connections].map(({ id, name }) => [id, name]))
  return (filter) => describeFilter(filter, { byId })
}
