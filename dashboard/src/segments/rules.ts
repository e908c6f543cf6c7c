/** The rules of a filter while somebody makes them: some may be incomplete. */
import type { DataOf, InputOf, ItemOf } from '../lib/api.ts'

export type Filter = NonNullable<InputOf<'POST /segments/count'>['body']['filter']>
export type Rule = Filter['rules'][number]
export type FieldView = ItemOf<'GET /segments/fields'>
export type Fields = DataOf<'GET /segments/fields'>

export function opsOf(fields: Fields, field: string): FieldView['ops'] {
  return fields.find((each) => each.field === field)?.ops ?? []
}

/** What kind of value this rule wants; null: none. */
export function valueKindOf(fields: Fields, { field, op }: Rule): FieldView['ops'][number]['value'] {
  return opsOf(fields, field).find((each) => each.op === op)?.value ?? null
}

/** Another field may not have the op, and means another kind of value. */
export function withField(fields: Fields, rule: Rule, field: string): Rule {
  const op = opsOf(fields, field).some((each) => each.op === rule.op) ? rule.op : (opsOf(fields, field)[0]?.op ?? '')
  const changed = { field, op, value: '' }
  return valueKindOf(fields, changed) === valueKindOf(fields, rule) ? { ...changed, value: rule.value } : changed
}

export const firstRule = (fields: Fields): Rule => ({
  field: fields[0]?.field ?? '',
  op: fields[0]?.ops[0]?.op ?? '',
  value: '',
})

/** What can be asked: every rule that wants a value has one. Undefined while one lacks it. */
export function completeFilter(fields: Fields, { match, rules }: Filter): Filter | undefined {
  const isComplete = rules.every((rule) => valueKindOf(fields, rule) === null || (rule.value ?? '').trim() !== '')
  if (rules.length === 0 || !isComplete) return undefined
  const kept = rules.map(({ field, op, value }) =>
    valueKindOf(fields, { field, op }) === null ? { field, op } : { field, op, value },
  )
  return { match, rules: kept }
}
