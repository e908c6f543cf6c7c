/**
 * Conditions at a moment of the past. Pure.
 *
 * The fields of the conversation that its timeline keeps (status, assignee, team, labels) have their value of that moment, and the office hours
 * of today are applied to it. All others have
 * their value of today, which the database has evaluated rule by rule (`history.ts`), unless a simulated run would have changed them.
 */
import type { Schedule } from '../../hours/hours.ts'
import { fold } from '../../lib/text.ts'
import { attributeOf } from '../../messages/sending/values.ts'
import { type Filter, isGroup, type Rule } from '../../segments/filter.ts'
import type { Definition } from '../definition.ts'
import { answerOf, type Constants, isOfMessage, meetsAnswer, resolveConstants } from '../fields.ts'
import { meetsHours } from '../office-hours.ts'
import { listSteps } from '../steps.ts'
import type { ThreadState } from './state.ts'

/** What simulated runs would have changed of the contact, by name; tags by their folded name. */
export type ContactChanges = { tags: Map<string, boolean>; attributes: Map<string, unknown> }

export type Situation = {
  /** Undefined: the contact has no conversation. */
  state: Pick<ThreadState, 'status' | 'assigned_agent_id' | 'assigned_team_id' | 'labels'> | undefined
  changes: ContactChanges
  /** What the database says of each rule, by its key. */
  facts: ReadonlyMap<string, boolean>
  /** The folded names of the labels and tags whose ids occur in rules. */
  names: ReadonlyMap<string, string>
  /** Those of today. Undefined: always open. */
  schedule: Schedule | undefined
  /** The moment. */
  ms: number
}

export const keyOfRule = ({ field, op, value = '' }: Rule): string => JSON.stringify([field, op, value])

const fieldsOfMoment = ['status', 'assignee', 'team', 'label', 'hours']

const isDecidedHere = ({ field }: Rule): boolean =>
  isOfMessage(field) || answerOf(field) !== undefined || fieldsOfMoment.includes(field)

/** The different rules of a definition that the database evaluates. */
export function listFacts(definition: Definition): Rule[] {
  const rules = listAllRules(definition).filter((rule) => !isDecidedHere(rule))
  return [...new Map(rules.map((rule) => [keyOfRule(rule), rule])).values()]
}

/** The rules of the conditions and of all branches. */
export function listAllRules(definition: Definition): Rule[] {
  const filters = [
    ...(definition.conditions ? [definition.conditions] : []),
    ...listSteps(definition).flatMap(({ step }) => (step.type === 'branch' ? step.cases.map(({ when }) => when) : [])),
  ]
  return filters.flatMap(({ rules }) => rules.flatMap((rule) => (isGroup(rule) ? rule.rules : [rule])))
}

/** Whether a filter matches. An absent one does. */
export function isMet(filter: Filter | undefined, constants: Constants, situation: Situation): boolean {
  if (!filter) return true
  const result = resolveConstants(filter, constants, (rule) => decideRule(rule, situation))
  if (typeof result !== 'boolean') throw new Error('a rule of a dry run was not decided')
  return result
}

function decideRule(rule: Rule, { state, changes, facts, names, schedule, ms }: Situation): boolean {
  const isMetByHours = meetsHours(rule, schedule, ms)
  if (isMetByHours !== undefined) return isMetByHours
  const { field, op, value = '' } = rule
  if (field === 'status') return (state?.status === value) === (op === 'is')
  if (field === 'assignee') {
    const assignee = state?.assigned_agent_id ?? null
    return op === 'is' ? assignee === value : (assignee !== null) === (op === 'is_set')
  }
  if (field === 'team') {
    const team = state?.assigned_team_id ?? null
    if (op === 'is' || op === 'is_not') return (team === value.toLowerCase()) === (op === 'is')
    return (team !== null) === (op === 'is_set')
  }
  const keys = [fold(value.trim()), names.get(value) ?? fold(value.trim())]
  if (field === 'label') {
    const has = state?.labels.some((name) => keys.includes(fold(name))) ?? false
    return has === (op === 'has')
  }
  const isTagged =
    field === 'tag' ? keys.map((key) => changes.tags.get(key)).find((one) => one !== undefined) : undefined
  if (isTagged !== undefined) return isTagged === (op === 'has')
  const attribute = attributeOf(field)
  if (attribute !== undefined && changes.attributes.has(attribute)) {
    return meetsAnswer(changes.attributes.get(attribute) ?? undefined, op, value)
  }
  return facts.get(keyOfRule(rule)) ?? false
}
