/**
 * The fields of the conditions of automations: those of segments, those of the conversation, and constants.
 *
 * A condition is evaluated on contact `c` and conversation `v` of one statement. `v` may be a row of nulls: a contact has perhaps no
 * conversation. So every condition on `v` is true or false, never null. `channel` and `connection` are those of the conversation.
 * The message and the answers of a run are constants, and so are the office hours of a moment: `resolveConstants` decides their rules
 * before the statement.
 */
import { contentTypes } from '../channels/channel.ts'
import { channels } from '../contacts/resource.ts'
import { connectionValue, filterFields, selectConnections, statusValue } from '../conversations/filter-fields.ts'
import { isUuid } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import {
  anyAttribute,
  contactFields,
  type Filter,
  type FilterFields,
  isGroup,
  notOneOf,
  type Op,
  type Rule,
} from '../segments/filter.ts'
import { type Answers, readAnswerAt } from './definition.ts'

type Ops = Record<string, Op>

const channelValue = { value: 'channel', fault: notOneOf(channels) } as const
const labelValue = { value: 'label', fault: (value: string) => (value.trim() ? undefined : 'required') } as const
const memberValue = {
  value: 'member',
  fault: (value: string) => (isUuid(value) ? undefined : 'must be the id of a member'),
} as const
const teamValue = {
  value: 'team',
  fault: (value: string) => (isUuid(value) ? undefined : 'must be the id of a team'),
} as const
const contentTypeValue = { value: 'content_type', fault: notOneOf(contentTypes) } as const

const hoursValue = { value: 'hours', fault: notOneOf(['open', 'closed']) } as const

/** The ops of a table without their SQL. */
const asConstants = (ops: Ops = {}): Ops =>
  Object.fromEntries(Object.entries(ops).map(([op, { takes }]) => [op, constant(takes)]))

function constant(takes: Op['takes']): Op {
  const condition = () => {
    throw new Error('a constant of a run has no SQL')
  }
  return takes ? { takes, condition } : { condition }
}

const answerOps = asConstants(contactFields[anyAttribute])

export const automationFields: FilterFields = {
  ...filterFields,
  channel: {
    has: { takes: channelValue, condition: (sql, _, value) => sql`v.channel is not distinct from ${value}` },
    not_has: { takes: channelValue, condition: (sql, _, value) => sql`v.channel is distinct from ${value}` },
  },
  connection: {
    has: { takes: connectionValue, condition: isOnConnection },
    not_has: {
      takes: connectionValue,
      condition: (sql, workspaceId, value) => sql`not ${isOnConnection(sql, workspaceId, value)}`,
    },
  },
  status: {
    is: { takes: statusValue, condition: (sql, _, value) => sql`v.status is not distinct from ${value}` },
    is_not: { takes: statusValue, condition: (sql, _, value) => sql`v.status is distinct from ${value}` },
  },
  label: {
    has: { takes: labelValue, condition: hasLabel },
    not_has: {
      takes: labelValue,
      condition: (sql, workspaceId, value) => sql`not ${hasLabel(sql, workspaceId, value)}`,
    },
  },
  assignee: {
    is: {
      takes: memberValue,
      condition: (sql, _, value) => sql`v.assigned_agent_id is not distinct from ${value}::uuid`,
    },
    is_set: { condition: (sql) => sql`v.assigned_agent_id is not null` },
    is_not_set: { condition: (sql) => sql`v.assigned_agent_id is null` },
  },
  team: {
    is: { takes: teamValue, condition: (sql, _, value) => sql`v.team_id is not distinct from ${value}::uuid` },
    is_not: { takes: teamValue, condition: (sql, _, value) => sql`v.team_id is distinct from ${value}::uuid` },
    is_set: { condition: (sql) => sql`v.team_id is not null` },
    is_not_set: { condition: (sql) => sql`v.team_id is null` },
  },
  hours: { is: constant(hoursValue) },
  'message.text': asConstants(contactFields.name),
  'message.type': { is: constant(contentTypeValue), is_not: constant(contentTypeValue) },
  'answers.NAME': answerOps,
  'answers.NAME.PATH': answerOps,
}

/** Condition on conversation `v`: it is on the connection with this id or name. */
function isOnConnection(sql: Sql, workspaceId: string, value: string): Fragment {
  return sql`coalesce(v.connection_id = any(array(${selectConnections(sql, workspaceId, value)})), false)`
}

/** Condition on conversation `v`: it has the label with this id or name. */
function hasLabel(sql: Sql, workspaceId: string, value: string): Fragment {
  return sql`exists (
    select from conversation_labels cl
    where cl.workspace_id = v.workspace_id and cl.conversation_id = v.id and cl.label_id = any(array(
      select l.id from labels l
      where l.workspace_id = ${workspaceId}
        and (l.name_key = ${fold(value.trim())} or l.id = ${isUuid(value) ? value : null}::uuid)
    ))
  )`
}

/** What a run knows without the database. `message`: absent when no message started the run. */
export type Constants = {
  message?: { text: string | null; type: string } | undefined
  answers: Answers
}

/** The name of the answer that a field reads; undefined for every other field. */
export function answerOf(field: string): string | undefined {
  return field.startsWith('answers.') ? field.split('.')[1] : undefined
}

export const isOfMessage = (field: string): boolean => field.startsWith('message.')

/**
 * The filter without the rules on constants, or its result if nothing else decides it. `known`: decides other rules too, for a caller that
 * knows more than the run.
 */
export function resolveConstants(
  { match, rules }: Filter,
  constants: Constants,
  known: (rule: Rule) => boolean | undefined = () => undefined,
): Filter | boolean {
  const resolve = (rule: Rule) => {
    const resolved = resolveRule(rule, constants)
    return typeof resolved === 'boolean' ? resolved : (known(rule) ?? rule)
  }
  const resolved = rules.map((rule) => (isGroup(rule) ? decide(rule.match, rule.rules.map(resolve)) : resolve(rule)))
  return decide(match, resolved)
}

/** One rule that is met decides `any`, one that is not met decides `all`. */
function decide<Item extends object>(match: Filter['match'], resolved: readonly (Item | boolean)[]) {
  const decisive = match === 'any'
  if (resolved.includes(decisive)) return decisive
  const rules = resolved.filter((each) => typeof each === 'object')
  return rules.length === 0 ? !decisive : { match, rules }
}

function resolveRule(rule: Rule, { message, answers }: Constants): Rule | boolean {
  const { field, op, value = '' } = rule
  if (field === 'message.text') return meetsText(message?.text ?? undefined, op, value)
  if (field === 'message.type') return (message?.type === value) === (op === 'is')
  if (answerOf(field) === undefined) return rule
  return meetsAnswer(readAnswerAt(answers, field.slice('answers.'.length)), op, value)
}

/** Of an answer, or of an attribute. */
export function meetsAnswer(answer: unknown, op: string, value: string): boolean {
  // As for attributes: a text is neither greater nor less than a number.
  if (op === 'gt') return typeof answer === 'number' && answer > Number(value)
  if (op === 'lt') return typeof answer === 'number' && answer < Number(value)
  if (op === 'is_set' || op === 'is_not_set') return (answer !== undefined) === (op === 'is_set')
  return meetsText(answer === undefined || typeof answer === 'object' ? undefined : String(answer), op, value)
}

/** A missing text differs from every text, as in a segment. */
function meetsText(text: string | undefined, op: string, value: string): boolean {
  const own = text === undefined ? undefined : fold(text)
  const key = fold(value)
  switch (op) {
    case 'is':
      return own === key
    case 'is_not':
      return own !== key
    case 'contains':
      return own?.includes(key) ?? false
    case 'not_contains':
      return !own?.includes(key)
    case 'starts_with':
      return own?.startsWith(key) ?? false
    case 'is_set':
      return own !== undefined
    case 'is_not_set':
      return own === undefined
    default:
      throw new Error(`a stored filter has the unknown op ${op}`)
  }
}
