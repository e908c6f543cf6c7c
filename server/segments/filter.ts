/**
 * A segment's filter as a condition on contact `c`. Pure: nothing is read.
 *
 * A field is a table of ops. An op checks its value and turns it into SQL.
 * A rule may itself be a filter, so a filter is two levels deep at most.
 * Fields about contacts are here. A room to the right that knows more about a
 * contact adds its own fields when the application is assembled.
 */
import { channels, hasChannel, hasTag } from '../contacts/contacts.ts'
import type { Fragment, Sql } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { escapeLike, fold, lengthOf } from '../lib/text.ts'
import { parseTime } from '../lib/time.ts'

/** `value` is absent for an op that takes none. */
export type Rule = { field: string; op: string; value?: string | undefined }
export type RuleGroup = { match: 'all' | 'any'; rules: Rule[] }
export type Filter = { match: 'all' | 'any'; rules: (Rule | RuleGroup)[] }

/** The most rules in a filter and in a group, and in all of a filter's groups together. */
export const maxRules = 50
const maxRulesInAll = 200

/** What a value is, for whoever asks for one: any text, or one of those there are. */
export const valueKinds = ['text', 'tag', 'channel', 'time', 'status', 'boolean'] as const

/** Checks a value: what is wrong with it, in words. */
type Taking = { value: (typeof valueKinds)[number]; fault: (value: string) => string | undefined }

export type Op = {
  /** Absent: the op takes no value. */
  takes?: Taking
  condition: (sql: Sql, workspaceId: string, value: string) => Fragment
}
export type FilterFields = Record<string, Record<string, Op>>

/** Checks every rule and drops unknown properties. A 400 names the rule by its position, from 0. */
export function requireFilter(fields: FilterFields, { match, rules }: Filter): Filter {
  const ruleCount = rules.reduce((count, rule) => count + (isGroup(rule) ? rule.rules.length : 1), 0)
  if (ruleCount > maxRulesInAll) throw badRequest(`filter: must have at most ${maxRulesInAll} rules in all`)
  const checked = rules.map((rule, i) => {
    const path = `filter.rules[${i}]`
    if (!isGroup(rule)) return requireRule(fields, rule, path)
    const inner = rule.rules.map((each, j) => requireRule(fields, each, `${path}.rules[${j}]`))
    return { match: rule.match, rules: inner }
  })
  return { match, rules: checked }
}

function requireRule(fields: FilterFields, { field, op, value }: Rule, path: string): Rule {
  const ops = own(fields, field)
  if (!ops) throw badRequest(`${path}.field: unknown; there are ${Object.keys(fields).join(', ')}`)
  const known = own(ops, op)
  if (!known) throw badRequest(`${path}.op: unknown; ${field} has ${Object.keys(ops).join(', ')}`)
  if (value === undefined && known.takes) throw badRequest(`${path}.value: required`)
  const text = value ?? ''
  const fault = known.takes ? known.takes.fault(text) : tooLong(text)
  if (fault) throw badRequest(`${path}.value: ${fault}`)
  return { field, op, value: text }
}

export const isGroup = (rule: Rule | RuleGroup): rule is RuleGroup => !('field' in rule)

/** The same filter with every rule replaced by what `change` returns. */
export function mapRules(filter: Filter, change: (rule: Rule) => Rule): Filter {
  const rules = filter.rules.map((rule) => (isGroup(rule) ? { ...rule, rules: rule.rules.map(change) } : change(rule)))
  return { ...filter, rules }
}

export function toCondition(sql: Sql, workspaceId: string, fields: FilterFields, { match, rules }: Filter): Fragment {
  const conditions = rules.map((rule) => {
    if (isGroup(rule)) return toCondition(sql, workspaceId, fields, rule)
    const { field, op, value = '' } = rule
    const known = own(own(fields, field) ?? {}, op)
    if (!known) throw new Error(`a stored filter has ${field} ${op}, which is not known`)
    return known.condition(sql, workspaceId, value)
  })
  const joined = conditions.reduce((one, other) =>
    match === 'all' ? sql`${one} and ${other}` : sql`${one} or ${other}`,
  )
  return sql`(${joined})`
}

/** Every field with its ops, and what each takes. */
export function describeFields(fields: FilterFields) {
  return Object.entries(fields).map(([field, ops]) => ({
    field,
    ops: Object.entries(ops).map(([op, { takes }]) => ({ op, value: takes?.value ?? null })),
  }))
}

const aText: Taking = { value: 'text', fault: blank }
const aTag: Taking = { value: 'tag', fault: blank }
const aChannel: Taking = { value: 'channel', fault: notOneOf(channels) }
const aTime: Taking = { value: 'time', fault: notATime }
const aBoolean: Taking = { value: 'boolean', fault: notOneOf(['true', 'false']) }

/** What every contact can be asked. */
export const contactFields: FilterFields = {
  tag: {
    has: { takes: aTag, condition: hasTag },
    not_has: { takes: aTag, condition: (sql, workspaceId, value) => sql`not ${hasTag(sql, workspaceId, value)}` },
  },
  name: textOps((sql) => sql`c.name_key`),
  email: textOps((sql) => sql`c.email_key`),
  company: textOps((sql) => sql`c.company_key`),
  phone: textOps((sql) => sql`c.phone`),
  social_username: textOps((sql) => sql`c.social_username_key`),
  channel: {
    has: { takes: aChannel, condition: (sql, _, value) => hasChannel(sql, value) },
    not_has: { takes: aChannel, condition: (sql, _, value) => sql`not ${hasChannel(sql, value)}` },
  },
  created_at: timeOps((sql) => sql`c.created_at`),
  opted_out: {
    is: {
      takes: aBoolean,
      condition: (sql, _, value) => (value === 'true' ? sql`c.opted_out_at is not null` : sql`c.opted_out_at is null`),
    },
  },
}

type Expression = (sql: Sql) => Fragment

/** Ops on a folded text. A missing text is unlike any text: it meets `is_not` and `not_contains`. */
function textOps(key: Expression): Record<string, Op> {
  const anywhere = (value: string) => `%${escapeLike(fold(value))}%`
  const beginning = (value: string) => `${escapeLike(fold(value))}%`
  return {
    is: { takes: aText, condition: (sql, _, value) => sql`${key(sql)} = ${fold(value)}` },
    is_not: { takes: aText, condition: (sql, _, value) => sql`${key(sql)} is distinct from ${fold(value)}` },
    contains: { takes: aText, condition: (sql, _, value) => sql`${key(sql)} like ${anywhere(value)}` },
    not_contains: {
      takes: aText,
      condition: (sql, _, value) => sql`(${key(sql)} like ${anywhere(value)}) is not true`,
    },
    starts_with: { takes: aText, condition: (sql, _, value) => sql`${key(sql)} like ${beginning(value)}` },
    is_set: { condition: (sql) => sql`${key(sql)} is not null` },
    is_not_set: { condition: (sql) => sql`${key(sql)} is null` },
  }
}

/** Ops on a time, against a date-time or an age: `before 30d` is longer ago than thirty days. Never met without a time. */
export function timeOps(time: Expression): Record<string, Op> {
  return {
    before: { takes: aTime, condition: (sql, _, value) => sql`${time(sql)} < ${momentOf(sql, value)}` },
    after: { takes: aTime, condition: (sql, _, value) => sql`${time(sql)} > ${momentOf(sql, value)}` },
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

const maxValueLength = 500
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

/** A field of a plain table, not one it inherited: `constructor` is no filter field. */
function own<Value>(table: Record<string, Value>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
