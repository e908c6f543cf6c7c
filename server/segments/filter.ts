/**
 * A segment's filter as a condition on contact `c`. Pure: nothing is read.
 *
 * A field is a table of ops; an op checks its value and turns it into SQL.
 * Fields about contacts are here. A room to the right that knows more about a
 * person adds its own fields when the application is put together.
 */
import { channels, hasChannel, hasTag } from '../contacts/contacts.ts'
import type { Fragment, Sql } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { escapeLike, fold, lengthOf } from '../lib/text.ts'
import { parseTime } from '../lib/time.ts'

export type Rule = { field: string; op: string; value?: string }
export type Filter = { match: 'all' | 'any'; rules: Rule[] }

/** What a value is, for whoever asks for one: any text, or one of those there are. */
export const valueKinds = ['text', 'tag', 'channel', 'time', 'status'] as const

/** Checks a value: what is wrong with it, in words. */
type Taking = { value: (typeof valueKinds)[number]; fault: (value: string) => string | undefined }

export type Op = {
  /** Absent: the op takes no value. */
  takes?: Taking
  condition: (sql: Sql, workspaceId: string, value: string) => Fragment
}
export type FilterFields = Record<string, Record<string, Op>>

/** Check every rule and drop what is not ours; 400 names the rule, counted from 0. */
export function requireFilter(fields: FilterFields, { match, rules }: Filter): Filter {
  const checked = rules.map(({ field, op, value }, i): Rule => {
    const at = `filter.rules[${i}]`
    const ops = own(fields, field)
    if (!ops) throw badRequest(`${at}.field: unknown; there are ${Object.keys(fields).join(', ')}`)
    const known = own(ops, op)
    if (!known) throw badRequest(`${at}.op: unknown; ${field} has ${Object.keys(ops).join(', ')}`)
    if (value === undefined && known.takes) throw badRequest(`${at}.value: required`)
    if (value === undefined) return { field, op }
    const fault = known.takes ? known.takes.fault(value) : tooLong(value)
    if (fault) throw badRequest(`${at}.value: ${fault}`)
    return { field, op, value }
  })
  return { match, rules: checked }
}

export function toCondition(sql: Sql, workspaceId: string, fields: FilterFields, { match, rules }: Filter): Fragment {
  const conditions = rules.map(({ field, op, value = '' }) => {
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
}

type Expression = (sql: Sql) => Fragment

/** Ops on a folded text. A missing text is unlike any text: it meets `is_not` and `not_contains`. */
export function textOps(key: Expression): Record<string, Op> {
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
