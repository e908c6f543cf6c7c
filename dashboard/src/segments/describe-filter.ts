/** A filter as text, such as "Tag has VIP and Last message received in the last 30 days". Pure. */
import { words } from '../words/words.ts'
import { type Filter, isGroup, type Rule } from './rules.ts'

const { segments } = words

export type FilterNames = {
  /** The names of tags, connections, labels and members, by their ids. */
  byId: ReadonlyMap<string, string>
  /** The text of a field that segments do not have, and of its values. */
  field?: (field: string) => string | undefined
  value?: (field: string, value: string) => string | undefined
}

export function describeFilter({ match, rules }: Filter, names: FilterNames): string {
  const described = rules.map((rule) =>
    isGroup(rule) ? `(${describeFilter(rule, names)})` : describeRule(rule, names),
  )
  return described.join(match === 'all' ? segments.and : segments.or)
}

function describeRule({ field, op, value }: Rule, names: FilterNames): string {
  const shown = names.field?.(field) ?? segments.fields[field] ?? field.replace(/^attributes\./, '')
  const [, count, unit] = /^(\d+)([dh])$/.exec(value ?? '') ?? []
  const age = segments.ages[op]
  if (count && unit && age) return `${shown} ${age(segments.spanOf(Number(count), unit === 'd' ? 'd' : 'h'))}`
  const shownValue = value ? (names.value?.(field, value) ?? describeValue(field, value, names)) : ''
  return [shown, segments.ops[op] ?? op, shownValue].filter(Boolean).join(' ')
}

function describeValue(field: string, value: string, { byId }: FilterNames): string {
  if (field === 'channel') return words.channels[value as keyof typeof words.channels] ?? value
  if (field === 'conversation_status') return words.statuses[value as keyof typeof words.statuses] ?? value
  if (field === 'opted_out') return segments.booleans[value] ?? value
  return field === 'tag' || field === 'connection' ? (byId.get(value) ?? value) : value
}
