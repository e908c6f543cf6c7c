/** New steps and triggers, as complete as they can be without the member. Pure. */
import { type Fields, firstRule } from '../../../segments/rules.ts'
import { type Answer, newAnswerName } from './answers.ts'
import type { Case, Definition, Step, StepType, Trigger } from './definition.ts'

export const emptyDefinition: Definition = { trigger: { type: 'message' }, steps: [] }

/** `choice`: the question before the step whose answers a new branch distinguishes. */
export function newStep(type: StepType, definition: Definition, fields: Fields, choice?: Answer): Step {
  switch (type) {
    case 'send':
      return { type, message: { type: 'text', text: '' } }
    case 'ask':
      return {
        type,
        message: { type: 'text', text: '' },
        answer: { type: 'text' },
        save_as: `answers.${newAnswerName(definition)}`,
      }
    case 'branch':
      return { type, cases: choice ? casesOf(choice, []) : [newCase(fields)] }
    case 'wait':
      return { type, for: '1h' }
    case 'set':
      return { type }
    case 'note':
      return { type, text: '' }
    case 'call':
      return { type, url: '' }
    case 'hand_over':
    case 'end':
      return { type }
  }
}

export const newCase = (fields: Fields): Case => ({
  when: { match: 'all', rules: [firstRule(fields)] },
  steps: [],
})

/** A case for every button or row of a question that has none yet. */
export function casesOf({ name, options }: Answer, cases: readonly Case[]): Case[] {
  const field = `answers.${name}`
  const isCovered = (id: string) =>
    cases.some(({ when }) =>
      when.rules.some((rule) => 'field' in rule && rule.field === field && rule.op === 'is' && rule.value === id),
    )
  return options
    .filter(({ id }) => !isCovered(id))
    .map(({ id, title }) => ({
      ...(title ? { name: title } : {}),
      when: { match: 'all', rules: [{ field, op: 'is', value: id }] },
      steps: [],
    }))
}

export function newTrigger(type: Trigger['type']): Trigger {
  switch (type) {
    case 'message':
    case 'manual':
      return { type }
    case 'conversation':
      return { type, event: 'closed' }
    case 'contact':
      return { type, event: 'created' }
    case 'silence':
      return { type, event: 'no_reply', after: '1d' }
    case 'rating':
      return { type, at_most: 2 }
    case 'target':
      return { type, event: 'breached' }
  }
}
