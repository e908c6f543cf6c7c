/** The rules of a filter while a member edits them: some may be incomplete. */
import type { DataOf, InputOf, ItemOf } from '../lib/api.ts'
import type { FilterRule } from '../lib/calls.ts'

type MatchMode = InputOf<'POST /segments/count'>['body']['filter']['match']
export type Rule = FilterRule
export type Group = { match: MatchMode; rules: Rule[] }
export type Filter = { match: MatchMode; rules: (Rule | Group)[] }
export type FieldView = ItemOf<'GET /segments/fields'>
export type Fields = DataOf<'GET /segments/fields'>

const attributePrefix = 'attributes.'
/** In the list of fields, this one stands for all attributes. */
const anyAttribute = 'attributes.NAME'

/** The name of the attribute that a rule compares, empty while it is not typed yet; undefined for other fields. */
export function attributeOf(field: string): string | undefined {
  if (field === anyAttribute) return ''
  return field.startsWith(attributePrefix) ? field.slice(attributePrefix.length) : undefined
}

export const fieldOfAttribute = (name: string): string => attributePrefix + name

/** The entry of a field in the list of fields. */
export const listedField = (field: string): string => (attributeOf(field) === undefined ? field : anyAttribute)

export function opsOf(fields: Fields, field: string): FieldView['ops'] {
  return fields.find((each) => each.field === listedField(field))?.ops ?? []
}

/** The value type of a rule. Null: the rule takes no value. */
export function valueKindOf(fields: Fields, { field, op }: Rule): FieldView['ops'][number]['value'] {
  return opsOf(fields, field).find((each) => each.op === op)?.value ?? null
}

/** Changes the field of a rule. Keeps the operator if the new field has it, and the value if its type is the same. */
export function withField(fields: Fields, rule: Rule, field: string): Rule {
  const op = opsOf(fields, field).some((each) => each.op === rule.op) ? rule.op : (opsOf(fields, field)[0]?.op ?? '')
  const changed = { field: field === anyAttribute ? attributePrefix : field, op, value: '' }
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
  if (attributeOf(field) === '') return undefined
  if (valueKindOf(fields, { field, op }) === null) return { field, op }
  return value.trim() === '' ? undefined : { field, op, value }
}
