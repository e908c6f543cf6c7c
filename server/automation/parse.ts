/**
 * Reads the definition of an automation: checks it and returns its canonical form. Pure.
 *
 * The schema is checked first (`read.ts`), then the rules between fields, from the top. A 400 has the path of the first fault:
 * `steps[2].cases[0].when.rules[1].op: unknown for tag; use one of has, not_has`. The canonical form has the fields in the order of the
 * schema and only those that the caller sent, so that `JSON.stringify` of it can be kept in git. It has no `$schema`: a file has it.
 */
import { namePattern, requireAttributes } from '../contacts/attributes.ts'
import { maxTags, readTagName, readTagNames } from '../contacts/tags.ts'
import { maxLabels } from '../conversations/labels.ts'
import { badRequest } from '../lib/errors.ts'
import { isHttpsUrl } from '../lib/text.ts'
import { type Filter, type FilterFields, isGroup, mapRules, type Rule, requireFilter } from '../segments/filter.ts'
import {
  type AskStep,
  type BranchStep,
  type CallStep,
  type Definition,
  limits,
  type Message,
  readSaveAs,
  type SetStep,
  type Step,
  type Trigger,
  type WaitStep,
} from './definition.ts'
import { type DurationRange, durationRanges, findDurationFault } from './durations.ts'
import { answerOf, isOfMessage } from './fields.ts'
import { isMatchable } from './match.ts'
import { below, readMessage } from './message.ts'
import { readBySchema } from './read.ts'
import { DefinitionSchema, saveAsExpression } from './schema.ts'
import { listSteps } from './steps.ts'
import { findReferenceFault, hasReference, listTexts } from './texts.ts'

/** Throws 400 with the path of the first fault. `fields`: those of conditions (`fields.ts`). */
export function parseDefinition(input: unknown, fields: FilterFields): Definition {
  const nested = { name: 'Steps', max: limits.nesting, message: `nested more than ${limits.nesting} levels deep` }
  const read = readBySchema(DefinitionSchema, withoutReference(input), { root: 'definition', nested }) as Definition
  if (listSteps(read).length > limits.steps)
    throw badRequest(`steps: must have at most ${limits.steps} steps on all levels`)
  const trigger = readTrigger(read.trigger)
  const conditions = read.conditions && readConditions(fields, read.conditions, trigger)
  const { steps } = readSteps(read.steps, 'steps', { fields, saved: new Set() })
  const definition = { trigger, ...(conditions ? { conditions } : {}), steps }
  if (Buffer.byteLength(JSON.stringify(definition)) > limits.bytes) {
    throw badRequest(`definition: must have at most ${limits.bytes} bytes as JSON`)
  }
  return definition
}

/** Drops `$schema`, which editors read. */
function withoutReference(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input
  const { $schema, ...rest } = input as Record<string, unknown>
  return typeof $schema === 'string' ? rest : input
}

function readTrigger(trigger: Trigger): Trigger {
  const requireFor = (field: 'label' | 'tag' | 'attribute' | 'before', events: readonly string[]) => {
    if (!(field in trigger) || ('event' in trigger && events.includes(trigger.event))) return
    throw badRequest(`trigger.${field}: only for the ${events.length > 1 ? 'events' : 'event'} ${events.join(' and ')}`)
  }
  if (trigger.type === 'message') {
    trigger.contains?.forEach((word, i) => {
      if (!isMatchable(word)) throw badRequest(`trigger.contains[${i}]: must have a letter, a digit or a symbol`)
    })
  }
  if (trigger.type === 'conversation') {
    requireFor('label', ['label_added', 'label_removed'])
    if (trigger.label !== undefined) return { ...trigger, label: readTagName(trigger.label, 'trigger.label') }
  }
  if (trigger.type === 'contact') {
    requireFor('tag', ['tag_added', 'tag_removed'])
    requireFor('attribute', ['attribute_changed'])
    if (trigger.attribute !== undefined && !namePattern.test(trigger.attribute)) {
      throw badRequest(`trigger.attribute: ${nameRule}`)
    }
    if (trigger.tag !== undefined) return { ...trigger, tag: readTagName(trigger.tag, 'trigger.tag') }
  }
  if (trigger.type === 'silence') requireDuration(trigger.after, 'trigger.after', durationRanges.silence)
  if (trigger.type === 'target') {
    requireFor('before', ['due'])
    if (trigger.before !== undefined) requireDuration(trigger.before, 'trigger.before', durationRanges.beforeBreach)
    else if (trigger.event === 'due') throw badRequest('trigger.before: required')
    if (trigger.target !== undefined) return { ...trigger, target: trigger.target.toLowerCase() }
  }
  return trigger
}

const nameRule = 'a name has 1 to 40 characters of a-z, 0-9 and _, and begins with a letter'

function readConditions(fields: FilterFields, filter: Filter, trigger: Trigger): Filter {
  const conditions = requireFilter(fields, filter, 'conditions')
  for (const { rule, path } of listRules(conditions, 'conditions')) {
    if (answerOf(rule.field) !== undefined) {
      throw badRequest(`${path}.field: there are no answers before the first step; use a branch`)
    }
    if (isOfMessage(rule.field) && trigger.type !== 'message') {
      throw badRequest(`${path}.field: only an automation that a message starts has ${rule.field}`)
    }
  }
  return withoutEmptyValues(conditions)
}

/** `saved`: the names of the answers that earlier steps save on some way to the step. */
type Scope = { fields: FilterFields; saved: Set<string> }

/** `isEnd`: the run never gets to what follows the list. */
function readSteps(steps: readonly Step[], path: string, scope: Scope): { steps: Step[]; isEnd: boolean } {
  let isEnd = false
  const read = steps.map((step, i) => {
    if (isEnd) throw badRequest(`${path}[${i}]: never runs, because the step before ends the run`)
    const result = readStep(step, `${path}[${i}]`, scope)
    isEnd = result.isEnd
    return result.step
  })
  return { steps: read, isEnd }
}

type ReadStep = { step: Step; isEnd: boolean }

function readStep(step: Step, path: string, scope: Scope): ReadStep {
  switch (step.type) {
    case 'send': {
      const message = requireMessage(step.message, `${path}.message`, scope)
      return goesOn({ ...step, message, ...readOnError(step, path, scope) })
    }
    case 'ask':
      return readAsk(step, path, scope)
    case 'branch':
      return readBranch(step, path, scope)
    case 'wait':
      return goesOn(readWait(step, path))
    case 'set':
      return goesOn(readSet(step, path, scope))
    case 'note':
      requireText(step.text, `${path}.text`, scope)
      return goesOn(step)
    case 'call':
      return readCall(step, path, scope)
    case 'hand_over':
      if (step.note !== undefined) requireText(step.note, `${path}.note`, scope)
      return { step, isEnd: true }
    case 'end':
      return { step, isEnd: true }
  }
}

const goesOn = (step: Step): ReadStep => ({ step, isEnd: false })

function readAsk(step: AskStep, path: string, scope: Scope): ReadStep {
  const { answer, retries, timeout } = step
  const message = requireMessage(step.message, `${path}.message`, scope)
  if (answer.type === 'choice' && !hasChoices(message)) {
    throw badRequest(`${path}.answer.type: a choice needs a message with buttons or a list`)
  }
  if (answer.type === 'number' && (answer.min ?? -Infinity) > (answer.max ?? Infinity)) {
    throw badRequest(`${path}.answer.max: must not be less than min`)
  }
  requireSaveAs(step.save_as, `${path}.save_as`)
  if (retries) {
    below(`${path}.retries`, () => readMessage({ type: 'text', text: retries.text }))
    requireReferences(retries.text, `${path}.retries.text`, scope)
  }
  if (timeout) requireDuration(timeout.after, `${path}.timeout.after`, durationRanges.timeout)
  const late = timeout && readNested(timeout.steps, `${path}.timeout.steps`, scope)
  const onError = readOnError(step, path, scope)
  for (const name of late?.saved ?? []) scope.saved.add(name)
  scope.saved.add(readSaveAs(step.save_as).name)
  return goesOn({
    ...{ ...step, message },
    ...(timeout && late ? { timeout: { after: timeout.after, steps: late.steps } } : {}),
    ...onError,
  })
}

const hasChoices = (message: Message): boolean => message.type === 'interactive' && message.interactive.kind !== 'link'

function readBranch(step: BranchStep, path: string, scope: Scope): ReadStep {
  const cases = step.cases.map((each, i) => {
    const when = readFilter(each.when, `${path}.cases[${i}].when`, scope)
    return { each, when, list: readNested(each.steps, `${path}.cases[${i}].steps`, scope) }
  })
  const otherwise = step.otherwise && readNested(step.otherwise, `${path}.otherwise`, scope)
  const lists = [...cases.map(({ list }) => list), ...(otherwise ? [otherwise] : [])]
  for (const { saved } of lists) for (const name of saved) scope.saved.add(name)
  return {
    step: {
      ...step,
      cases: cases.map(({ each, when, list }) => ({ ...each, when, steps: list.steps })),
      ...(otherwise ? { otherwise: otherwise.steps } : {}),
    },
    isEnd: otherwise !== undefined && lists.every(({ isEnd }) => isEnd),
  }
}

function readWait(step: WaitStep, path: string): Step {
  const duration = 'for' in step ? step.for : undefined
  if (duration === undefined && !('until' in step)) throw badRequest(`${path}.for: required, or until`)
  if (duration !== undefined && 'until' in step) throw badRequest(`${path}.until: not together with for`)
  if (duration !== undefined) requireDuration(duration, `${path}.for`, durationRanges.wait)
  return step
}

function readSet(step: SetStep, path: string, scope: Scope): Step {
  const { status, snooze_for: snoozeFor, attributes, ...rest } = step
  if (Object.keys(step).length === 1) throw badRequest(`${path}: must change something`)
  if (snoozeFor !== undefined) {
    requireDuration(snoozeFor, `${path}.snooze_for`, durationRanges.snooze)
    if (status !== undefined && status !== 'pending') {
      throw badRequest(`${path}.snooze_for: a snoozed conversation has the status pending`)
    }
  }
  if (attributes) {
    if (Object.keys(attributes).length === 0) throw badRequest(`${path}.attributes: must have at least one entry`)
    below(path, () => requireAttributes(attributes))
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === 'string') requireReferences(value, `${path}.attributes.${name}`, scope)
    }
  }
  const names = (field: 'add_labels' | 'remove_labels' | 'add_tags' | 'remove_tags', max: number) => {
    const list = rest[field]
    return list ? { [field]: [...readTagNames(list, `${path}.${field}`, max).values()] } : {}
  }
  return {
    ...step,
    ...{ ...names('add_labels', maxLabels), ...names('remove_labels', maxLabels) },
    ...{ ...names('add_tags', maxTags), ...names('remove_tags', maxTags) },
  }
}

function readCall(step: CallStep, path: string, scope: Scope): ReadStep {
  const { url, save_as: saveAs } = step
  if (!isHttpsUrl(url) || /[\s\p{Cc}]/u.test(url)) throw badRequest(`${path}.url: must be an https URL`)
  if (hasReference(url)) throw badRequest(`${path}.url: must not have references; the request has all answers`)
  if (saveAs !== undefined) {
    requireSaveAs(saveAs, `${path}.save_as`)
    if (readSaveAs(saveAs).isAttribute)
      throw badRequest(`${path}.save_as: the response of a call is saved as answers.NAME`)
  }
  const onError = readOnError(step, path, scope)
  if (saveAs !== undefined) scope.saved.add(readSaveAs(saveAs).name)
  return goesOn({ ...step, ...onError })
}

/** The steps after a failure. What they save may be known after the step. */
function readOnError(step: { on_error?: Step[] }, path: string, scope: Scope): { on_error?: Step[] } {
  if (!step.on_error) return {}
  const { steps, saved } = readNested(step.on_error, `${path}.on_error`, scope)
  for (const name of saved) scope.saved.add(name)
  return { on_error: steps }
}

/** A list within a step: it knows the answers from before the step, and not those of the other lists. */
function readNested(steps: readonly Step[], path: string, { fields, saved: before }: Scope) {
  const saved = new Set(before)
  return { ...readSteps(steps, path, { fields, saved }), saved }
}

function requireMessage(input: Message, path: string, scope: Scope): Message {
  const message = below(path, () => readMessage(input))
  for (const { path: pathOfText, text } of listTexts(message)) requireReferences(text, `${path}.${pathOfText}`, scope)
  return message
}

function requireText(text: string, path: string, scope: Scope): void {
  if (text.trim() === '') throw badRequest(`${path}: must not be blank`)
  requireReferences(text, path, scope)
}

function requireReferences(text: string, path: string, { saved }: Scope): void {
  const fault = findReferenceFault(text, saved)
  if (fault) throw badRequest(`${path}: ${fault}`)
}

function requireSaveAs(saveAs: string, path: string): void {
  if (!saveAsExpression.test(saveAs)) {
    throw badRequest(`${path}: must be answers.NAME or contact.attributes.NAME; ${nameRule}`)
  }
}

function requireDuration(duration: string, path: string, range: DurationRange): void {
  const fault = findDurationFault(duration, range)
  if (fault) throw badRequest(`${path}: ${fault}`)
}

/** A filter of a branch in its canonical form: a rule without a value has no `value`. */
function readFilter(filter: Filter, path: string, { fields, saved }: Scope): Filter {
  const read = requireFilter(fields, filter, path)
  for (const { rule, path: pathOfRule } of listRules(read, path)) {
    const answer = answerOf(rule.field)
    if (answer !== undefined && !saved.has(answer)) {
      throw badRequest(`${pathOfRule}.field: no earlier question or call saves answers.${answer}`)
    }
  }
  return withoutEmptyValues(read)
}

const withoutEmptyValues = (filter: Filter): Filter =>
  mapRules(filter, ({ field, op, value }) => (value ? { field, op, value } : { field, op }))

function listRules({ rules }: Filter, path: string): { rule: Rule; path: string }[] {
  return rules.flatMap((rule, i) => {
    const pathOfRule = `${path}.rules[${i}]`
    if (!isGroup(rule)) return [{ rule, path: pathOfRule }]
    return rule.rules.map((each, k) => ({ rule: each, path: `${pathOfRule}.rules[${k}]` }))
  })
}
