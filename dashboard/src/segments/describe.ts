/** A filter as text, such as "Tag has VIP and Last message received in the last 30 days". */
import { useCall } from '../lib/api.ts'
import { useConnections } from '../lib/connections.ts'
import { words } from '../words/words.ts'
import { attributeOf, type Filter, isGroup, type Rule } from './rules.ts'

const { segments } = words

/** Filters store ids of tags and connections; the text shows their names. */
export function useFilterText(): (filter: Filter) => string {
  const { data: tags = [] } = useCall('GET /tags', {})
  const connections = useConnections()
  const names = new Map([...tags, ...connections].map(({ id, name }) => [id, name]))
  return (filter) => describeFilter(filter, names)
}

function describeFilter({ match, rules }: Filter, names: ReadonlyMap<string, string>): string {
  const described = rules.map((rule) =>
    isGroup(rule) ? `(${describeFilter(rule, names)})` : describeRule(rule, names),
  )
  return described.join(match === 'all' ? segments.and : segments.or)
}

const describeField = (field: string): string => segments.fields[field] ?? attributeOf(field) ?? field

function describeRule({ field, op, value }: Rule, names: ReadonlyMap<string, string>): string {
  const [, count, unit] = /^(\d+)([dh])$/.exec(value ?? '') ?? []
  const age = segments.ages[op]
  if (count && unit && age) {
    return `${describeField(field)} ${age(segments.spanOf(Number(count), unit === 'd' ? 'd' : 'h'))}`
  }
  return [describeField(field), segments.ops[op] ?? op, value ? describeValue(field, value, names) : '']
    .filter(Boolean)
    .join(' ')
}

function describeValue(field: string, value: string, names: ReadonlyMap<string, string>): string {
  if (field === 'tag' || field === 'connection') return names.get(value) ?? value
  if (field === 'channel') return words.channels[value as keyof typeof words.channels] ?? value
  if (field === 'conversation_status') return words.statuses[value as keyof typeof words.statuses] ?? value
  if (field === 'opted_out') return segments.booleans[value] ?? value
  return value
}
