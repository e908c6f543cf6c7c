/** What starts an automation and what its steps do, in words. */
import { automationWords } from '../words/automations.ts'
import { type Message, readDefinition, type Step, type Trigger } from './definition.ts'
import { fillNames } from './references.ts'

const { triggers, steps, messages } = automationWords.text

/** `definition`: null for an automation without one. `isWhole`: with all words. */
export const describeStart = (definition: Record<string, unknown> | null, isWhole = false): string =>
  definition ? describeTrigger(readDefinition(definition).trigger, isWhole) : triggers.none

function describeTrigger(trigger: Trigger, isWhole: boolean): string {
  const { type, event, label, tag, attribute, after, before } = trigger
  switch (type) {
    case 'message':
      return describeMessageTrigger(trigger, isWhole)
    case 'conversation':
      return triggers.conversation(event, label)
    case 'contact':
      return triggers.contact(event, tag, attribute)
    case 'silence':
      return triggers.silence(event, after)
    case 'rating':
      return triggers.rating(trigger.at_most)
    case 'target':
      return triggers.target(event, before)
    default:
      return triggers.manual
  }
}

function describeMessageTrigger(trigger: Trigger, isWhole: boolean): string {
  const { when, contains = [], button, content_types: types = [] } = trigger
  return [
    triggers.message(when),
    ...(contains.length > 0 ? [triggers.contains(contains, isWhole)] : []),
    ...(button === undefined ? [] : [triggers.button(button)]),
    ...(types.length > 0 ? [triggers.contentTypes(types)] : []),
  ].join(' ')
}

/** A step on one line. `type`: of a step that is not known any more. */
export function describeStep(type: string, step: Step | undefined): string {
  switch (type) {
    case 'send':
      return steps.send(describeMessage(step?.message))
    case 'ask':
      return steps.ask(describeMessage(step?.message))
    case 'branch':
      return steps.branch
    case 'wait':
      return step?.until === undefined ? steps.wait(step?.for) : steps.waitForOpening
    case 'set':
      return steps.set(describeFields(step))
    case 'note':
      return steps.note
    case 'call':
      return steps.call(step?.url ?? '')
    case 'hand_over':
      return steps.hand_over
    default:
      return steps.end
  }
}

const describeFields = (step: Step | undefined): string =>
  [...new Set(Object.keys(step ?? {}).flatMap((name) => steps.fields[name] ?? []))].join(', ')

function describeMessage(message: Message | undefined): string {
  const { type, text, interactive, template, location } = message ?? {}
  if (interactive?.body) return messages.text(fillNames(interactive.body))
  if (template) return messages.template(template.name)
  if (type === 'location') return messages.location(location?.name)
  if (type === 'image' || type === 'video' || type === 'audio' || type === 'document') return messages[type]
  return text ? messages.text(fillNames(text)) : messages.other
}
