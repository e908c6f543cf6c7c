/**
 * Translates the filter of a segment into a SQL condition on contact `c`. Pure.
 *
 * A field is a table of operators (ops). An op validates its value and turns it into SQL. A rule may be a group of rules, so
 * a filter has at most two levels. Fields of contacts are here. A module to the right adds its own fields in `app.ts`. The field
 * `attributes.NAME` stands for one field per name of an attribute, and so does every field that ends in `.NAME`. A field that ends in
 * `.NAME.PATH` stands for the values within a named object.
 */
import { namePattern } from '../contacts/attributes.ts'
import { hasChannel, hasTag } from '../contacts/contacts.ts'
import { channels } from '../contacts/resource.ts'
import { badRequest } from '../lib/errors.ts'
import { type Fragment, plannedPerCall, type Sql } from '../lib/postgres/db.ts'
import { escapeLike, fold, lengthOf } from '../lib/text.ts'
import { parseTime } from '../lib/time.ts'

export const matchModes = ['all', 'any'] as const
type MatchMode = (typeof matchModes)[number]

/** `value` is absent for an op that takes none. */
export type Rule = { field: string; op: string; value?: string | undefined }
export type RuleGroup = { match: MatchMode; rules: Rule[] }
export type Filter = { match: MatchMode; rules: (Rule | RuleGroup)[] }

/** A rule or a group as a caller sends it. A group has `match`, or the `field` of groups with its mode as `op`. */
type RuleInput = Partial<Rule> & { match?: MatchMode | undefined; rules?: Rule[] | undefined }
export type FilterInput = { match: MatchMode; rules: RuleInput[] }

/** The `field` of a group. Callers that expect `field`, `op` and `value` in every rule get them in groups too. */
export const groupField = 'group'

/** The most rules in a filter or a group, and in a filter with all its groups. */
export const maxRules = 50
export const maxTotalRules = 200

/** The kind of a value, for the input of the dashboard. */
export const valueKinds = [
  'text',
  'tag',
  'channel',
  'connection',
  'time',
  'status',
  'boolean',
  'number',
  'label',
  'member',
  'content_type',
  'hours',
  'team',
] as const

/** The kind of value of an op. `fault` returns the error of an invalid value. */
type ValueRule = { value: (typeof valueKinds)[number]; fault: (value: string) => string | undefined }

export type Op = {
  /** Absent: the op takes no value. */
  takes?: ValueRule
  /** `name` is what the field has instead of `NAME` or `NAME.PATH`, such as the name of the attribute in `attributes.NAME`. */
  condition: (sql: Sql, workspaceId: string, value: string, name: string) => Fragment
}
export type FilterFields = Record<string, Record<string, Op>>

/** Checks every rule and drops unknown properties. A 400 names the rule by its position, from 0, below the path of the filter. */
export function requireFilter(fields: FilterFields, { match, rules }: FilterInput, root = 'filter'): Filter {
  const ruleCount = rules.reduce((count, rule) => count + (isGroupInput(rule) ? (rule.rules?.length ?? 0) : 1), 0)
  if (ruleCount > maxTotalRules) throw badRequest(`${root}: must have at most ${maxTotalRules} rules in total`)
  const checked = rules.map((rule, i) => {
    const path = `${root}.rules[${i}]`
    return isGroupInput(rule) ? requireGroup(fields, rule, path) : requireRule(fields, rule, path)
  })
  return { match, rules: checked }
}

const isGroupInput = ({ field, rules }: RuleInput): boolean =>
  field === groupField || (field === undefined && rules !== undefined)

function requireGroup(fields: FilterFields, { field, op, match, rules }: RuleInput, path: string): RuleGroup {
  const mode = field === groupField ? (op ?? match) : match
  if (mode === undefined) throw badRequest(`${path}.${field === groupField ? 'op' : 'match'}: required`)
  const known = matchModes.find((each) => each === mode)
  if (!known) throw badRequest(`${path}.op: must be one of ${matchModes.join(', ')}`)
  if (match !== undefined && match !== known) throw badRequest(`${path}.op: must be the same as match`)
  if (!rules) throw badRequest(`${path}.rules: required`)
  return { match: known, rules: rules.map((rule, i) => requireRule(fields, rule, `${path}.rules[${i}]`)) }
}

function requireRule(fields: FilterFields, { field, op, value }: RuleInput, path: string): Rule {
  if (field === undefined) throw badRequest(`${path}.field: required`)
  if (op === undefined) throw badRequest(`${path}.op: required`)
  const { ops } = findField(fields, field) ?? {}
  if (!ops) throw badRequest(`${path}.field: unknown; use one of ${Object.keys(fields).join(', ')}`)
  const known = own(ops, op)
  if (!known) throw badRequest(`${path}.op: unknown for ${field}; use one of ${Object.keys(ops).join(', ')}`)
  if (value === undefined && known.takes) throw badRequest(`${path}.value: required`)
  const text = value ?? ''
  const fault = known.takes ? known.takes.fault(text) : tooLong(text)
  if (fault) throw badRequest(`${path}.value: ${fault}`)
  return { field, op, value: text }
}

/** The field that stands for the attributes. */
export const anyAttribute = 'attributes.NAME'

const placeholder = /\.NAME(\.PATH)?$/
const pathPart = /^[\w-]{1,40}$/

/** Whether a field of the table stands for others. */
export const isPlaceholder = (field: string): boolean => placeholder.test(field)

/** The regular expression of the fields that a placeholder stands for. */
export const patternOf = (field: string): string =>
  `^${field
    .replaceAll('.', '\\.')
    .replace('NAME', namePattern.source.slice(1, -1))
    .replace('\\.PATH', `(\\.${pathPart.source.slice(1, -1)})+`)}$`

/** The ops of a field, and what it has instead of the `NAME` of a placeholder. */
function findField(fields: FilterFields, field: string): { ops: Record<string, Op>; name: string } | undefined {
  const ops = own(fields, field)
  if (ops) return isPlaceholder(field) ? undefined : { ops, name: '' }
  const [prefix = '', name = '', ...path] = field.split('.')
  if (!namePattern.test(name) || !path.every((part) => pathPart.test(part))) return undefined
  const named = own(fields, `${prefix}.NAME${path.length > 0 ? '.PATH' : ''}`)
  return named && { ops: named, name: [name, ...path].join('.') }
}

export const isGroup = (rule: Rule | RuleGroup): rule is RuleGroup => 'rules' in rule

/** A stored filter as callers see it: a group has the fields of a rule, too. */
export function showFilter({ match, rules }: Filter): Filter {
  const toShown = (rule: Rule | RuleGroup) =>
    isGroup(rule) ? { field: groupField, op: rule.match, value: '', ...rule } : { value: '', ...rule }
  return { match, rules: rules.map(toShown) }
}

/** The same filter with every rule replaced by what `change` returns. */
export function mapRules(filter: Filter, change: (rule: Rule) => Rule): Filter {
  const rules = filter.rules.map((rule) => (isGroup(rule) ? { ...rule, rules: rule.rules.map(change) } : change(rule)))
  return { ...filter, rules }
}

export function toCondition(sql: Sql, workspaceId: string, fields: FilterFields, { match, rules }: Filter): Fragment {
  // Equal rules are evaluated once.
  const different = new Map(rules.map((rule) => [JSON.stringify(rule), rule]))
  const conditions = [...different.values()].map((rule) => {
    if (isGroup(rule)) return toCondition(sql, workspaceId, fields, rule)
    const { field, op, value = '' } = rule
    const { ops = {}, name = '' } = findField(fields, field) ?? {}
    const known = own(ops, op)
    if (!known) throw new Error(`a stored filter has the unknown rule ${field} ${op}`)
    return known.condition(sql, workspaceId, value, name)
  })
  const joined = conditions.reduce((one, other) =>
    match === 'all' ? sql`${one} and ${other}` : sql`${one} or ${other}`,
  )
  return plannedPerCall(sql, sql`(${joined})`)
}

/** Every field with its ops and the kind of value of each. */
export function describeFields(fields: FilterFields) {
  return Object.entries(fields).map(([field, ops]) => ({
    field,
    ops: Object.entries(ops).map(([op, { takes }]) => ({ op, value: takes?.value ?? null })),
  }))
}

const textValue: ValueRule = { value: 'text', fault: blank }
const tagValue: ValueRule = { value: 'tag', fault: blank }
const channelValue: ValueRule = { value: 'channel', fault: notOneOf(channels) }
const timeValue: ValueRule = { value: 'time', fault: notATime }
const numberValue: ValueRule = { value: 'number', fault: notANumber }
const booleanValue: ValueRule = { value: 'boolean', fault: notOneOf(['true', 'false']) }

/** The fields of contacts. */
export const contactFields: FilterFields = {
  tag: {
    has: { takes: tagValue, condition: hasTag },
    not_has: { takes: tagValue, condition: (sql, workspaceId, value) => sql`not ${hasTag(sql, workspaceId, value)}` },
  },
  name: textOps((sql) => sql`c.name_key`),
  email: textOps((sql) => sql`c.email_key`),
  company: textOps((sql) => sql`c.company_key`),
  phone: textOps((sql) => sql`c.phone`),
  social_username: textOps((sql) => sql`c.social_username_key`),
  channel: {
    has: { takes: channelValue, condition: (sql, _, value) => hasChannel(sql, value) },
    not_has: { takes: channelValue, condition: (sql, _, value) => sql`not ${hasChannel(sql, value)}` },
  },
  created_at: timeOps((sql) => sql`c.created_at`),
  opted_out: {
    is: {
      takes: booleanValue,
      condition: (sql, _, value) => (value === 'true' ? sql`c.opted_out_at is not null` : sql`c.opted_out_at is null`),
    },
  },
  [anyAttribute]: {
    // Attributes have no folded copy, so the database folds both sides.
    ...textOps(
      (sql, name) => sql`lower(c.attributes ->> ${name}::text)`,
      (sql, text) => sql`lower(${text}::text)`,
    ),
    gt: {
      takes: numberValue,
      condition: (sql, _, value, name) => sql`${numberOf(sql, name)} > ${value}::text::numeric`,
    },
    lt: {
      takes: numberValue,
      condition: (sql, _, value, name) => sql`${numberOf(sql, name)} < ${value}::text::numeric`,
    },
  },
}

/** The number in an attribute; null for a text or a boolean, which is neither greater nor less than a number. */
const numberOf = (sql: Sql, name: string): Fragment =>
  sql`case when jsonb_typeof(c.attributes -> ${name}::text) = 'number' then (c.attributes ->> ${name}::text)::numeric end`

type Expression = (sql: Sql, name: string) => Fragment

function folded(sql: Sql, text: string): Fragment {
  return sql`${fold(text)}`
}

/**
 * Ops on a folded text. A missing text differs from every text: it matches `is_not` and `not_contains`. `toKey` folds the value
 * of a rule as the key is folded.
 */
function textOps(key: Expression, toKey = folded): Record<string, Op> {
  const anywhere = (sql: Sql, value: string) => toKey(sql, `%${escapeLike(value)}%`)
  const beginning = (sql: Sql, value: string) => toKey(sql, `${escapeLike(value)}%`)
  return {
    is: { takes: textValue, condition: (sql, _, value, name) => sql`${key(sql, name)} = ${toKey(sql, value)}` },
    is_not: {
      takes: textValue,
      condition: (sql, _, value, name) => sql`${key(sql, name)} is distinct from ${toKey(sql, value)}`,
    },
    contains: {
      takes: textValue,
      condition: (sql, _, value, name) => sql`${key(sql, name)} like ${anywhere(sql, value)}`,
    },
    not_contains: {
      takes: textValue,
      condition: (sql, _, value, name) => sql`(${key(sql, name)} like ${anywhere(sql, value)}) is not true`,
    },
    starts_with: {
      takes: textValue,
      condition: (sql, _, value, name) => sql`${key(sql, name)} like ${beginning(sql, value)}`,
    },
    is_set: { condition: (sql, _workspaceId, _value, name) => sql`${key(sql, name)} is not null` },
    is_not_set: { condition: (sql, _workspaceId, _value, name) => sql`${key(sql, name)} is null` },
  }
}

/** Ops on a time, with a date-time or an age: `before 30d` is more than thirty days ago. A missing time matches neither. */
export function timeOps(time: (sql: Sql) => Fragment): Record<string, Op> {
  return {
    before: { takes: timeValue, condition: (sql, _, value) => sql`${time(sql)} < ${momentOf(sql, value)}` },
    after: { takes: timeValue, condition: (sql, _, value) => sql`${time(sql)} > ${momentOf(sql, value)}` },
    is_set: { condition: (sql) => sql`${time(sql)} is not null` },
    is_not_set: { condition: (sql) => sql`${time(sql)} is null` },
  }
}

export function notOneOf(values: readonly string[]): (value: string) => string | undefined {
  return (value) => (values.includes(value) ? undefined : `must be one of ${values.join(', ')}`)
}

function blank(value: string): string | undefined {
  return value.trim() === '' ? 'must not be blank' : tooLong(value)
}

function tooLong(value: string): string | undefined {
  return lengthOf(value) > maxValueLength ? `must have at most ${maxValueLength} characters` : undefined
}

export const maxValueLength = 500

function notANumber(value: string): string | undefined {
  return /^-?\d{1,30}(\.\d{1,30})?$/.test(value) ? undefined : 'must be a number, such as 12 or -0.5'
}

const age = /^(\d{1,6})([dh])$/

function notATime(value: string): string | undefined {
  if (age.test(value) || parseTime(value) !== undefined) return undefined
  return 'must be a date-time such as 2026-01-31T09:30:00Z, or an age such as 30d or 12h'
}

function momentOf(sql: Sql, value: string): Fragment {
  const [, count, unit] = age.exec(value) ?? []
  if (!count) return sql`${new Date(value).toISOString()}::timestamptz`
  return sql`now() - make_interval(hours => ${Number(count) * (unit === 'd' ? 24 : 1)})`
}

/** An own property, not an inherited one: `constructor` is not a filter field. */
function own<Value>(table: Record<string, Value>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
