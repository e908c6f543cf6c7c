/** The rules of a filter while a member edits them: some may be incomplete. */
import type { Calls, FilterRule } from '../lib/calls.ts'

type MatchMode = Calls['POST /segments/count']['body']['filter']['match']
export type Rule = FilterRule
export type Group = { match: MatchMode; rules: Rule[] }
export type Filter = { match: MatchMode; rules: (Rule | Group)[] }
export type FieldView = Calls['GET /segments/fields']['answer']['data'][number] & {
  /** Instead of the text of the field. */
  label?: string
  /** The values of a text that has only these. */
  choices?: readonly (readonly [value: string, label: string])[]
}
export type Fields = readonly FieldView[]

/** The end of a field of the list that stands for several: `attributes.NAME` for all attributes. */
const placeholder = /\.(NAME|PATH)$/

const prefixOf = (field: string): string => field.replace(placeholder, '.')

/** The field of the list that a rule compares, itself or the one that stands for it. */
export const listedField = (fields: Fields, field: string): FieldView | undefined =>
  fields.find((each) => each.field === field) ??
  fields.find((each) => placeholder.test(each.field) && field.startsWith(prefixOf(each.field)))

/** What a rule has instead of `NAME`, such as the name of the attribute, empty while it is not typed yet; undefined for other fields. */
export function nameIn(fields: Fields, field: string): string | undefined {
  const listed = listedField(fields, field)?.field
  if (listed === undefined || !placeholder.test(listed)) return undefined
  return field === listed ? '' : field.slice(prefixOf(listed).length)
}

/** The field of a rule with this instead of `NAME`. */
export function withName(fields: Fields, field: string, name: string): string {
  return prefixOf(listedField(fields, field)?.field ?? '') + name
}

export const opsOf = (fields: Fields, field: string): FieldView['ops'] => listedField(fields, field)?.ops ?? []

/** The value type of a rule. Null: the rule takes no value. */
export function valueKindOf(fields: Fields, { field, op }: Rule): FieldView['ops'][number]['value'] {
  return opsOf(fields, field).find((each) => each.op === op)?.value ?? null
}

/** Changes the field of a rule. Keeps the operator if the new field has it, and the value if its type is the same. */
export function withField(fields: Fields, rule: Rule, field: string): Rule {
  const op = opsOf(fields, field).some((each) => each.op === rule.op) ? rule.op : (opsOf(fields, field)[0]?.op ?? '')
  const changed = { field: prefixOf(field), op, value: '' }
  return valueKindOf(fields, changed) === valueKindOf(fields, rule) ? { ...changed, value: rule.value } : changed
}

export const firstRule = (fields: Fields): Rule => ({
  field: fields[0]?.field ?? '',
  op: fields[0]?.ops[0]?.op ?? '',
  value: '',
})

export const isGroup = (rule: Rule | Group): rule is Group => 'rules' in rule

/** The filter if every rule has its value and the name of its attribute, else undefined. */
export function completeFilter(fields: Fields, { match, rules }: Filter): Filter | undefined {
  const completed = rules.map((rule) => (isGroup(rule) ? completeGroup(fields, rule) : completeRule(fields, rule)))
  const complete = completed.filter((rule) => rule !== undefined)
  return complete.length === rules.length && rules.length > 0 ? { match, rules: complete } : undefined
}

function completeGroup(fields: Fields, { match, rules }: Group): Group | undefined {
  const complete = rules.map((rule) => completeRule(fields, rule)).filter((rule) => rule !== undefined)
  return complete.length === rules.length && rules.length > 0 ? { match, rules: complete } : undefined
}

function completeRule(fields: Fields, { field, op, value = '' }: Rule): Rule | undefined {
  if (nameIn(fields, field) === '') return undefined
  if (valueKindOf(fields, { field, op }) === null) return { field, op }
  return value.trim() === '' ? undefined : { field, op, value }
}
