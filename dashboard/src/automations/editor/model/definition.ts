/**
 * The definition of an automation while a member edits it: some texts may be empty. The guide on automation describes the language.
 *
 * Objects may have fields that are not named here. Every edit copies them.
 */
import type { TemplateParams } from '../../../lib/calls.ts'
import type { Filter } from '../../../segments/rules.ts'

export type Definition = { trigger: Trigger; conditions?: Filter; steps: Step[] }

export type Trigger =
  | { type: 'message'; when?: string; contains?: string[]; button?: string; content_types?: string[] }
  | { type: 'conversation'; event: string; label?: string }
  | { type: 'contact'; event: string; tag?: string; attribute?: string }
  | { type: 'silence'; event: string; after: string }
  | { type: 'rating'; at_most?: number }
  | { type: 'target'; event: string; before?: string; target?: string; clock?: string }
  | { type: 'manual' }

/** A button or a row of a list. The id is the answer that is saved. */
export type Option = { id: string; title: string; description?: string }
export type Section = { title: string; rows: Option[] }
export type Interactive =
  | { kind: 'buttons'; body: string; header?: string; footer?: string; buttons: Option[] }
  | { kind: 'list'; body: string; button: string; sections: Section[] }
  | { kind: 'link'; body: string; text: string; url: string }

const mediaTypes = ['image', 'video', 'audio', 'document'] as const
type MediaType = (typeof mediaTypes)[number]

export type Message =
  | { type: 'text'; text: string }
  | { type: 'interactive'; interactive: Interactive }
  | { type: MediaType; media_url: string; text?: string; filename?: string }
  | {
      type: 'location'
      location: { latitude: number; longitude: number; name?: string; address?: string }
    }
  | { type: 'template'; template: { name: string; language?: string; params?: string[] | TemplateParams } }

export const answerTypes = ['text', 'number', 'email', 'date', 'choice'] as const
type AnswerType = (typeof answerTypes)[number]

export type SendStep = { type: 'send'; message: Message; on_error?: Step[] }
export type AskStep = {
  type: 'ask'
  message: Message
  answer: { type: AnswerType; min?: number; max?: number }
  save_as: string
  retries?: { max: number; text: string }
  timeout?: { after: string; steps: Step[] }
  on_error?: Step[]
}
export type Case = { name?: string; when: Filter; steps: Step[] }
export type BranchStep = { type: 'branch'; cases: Case[]; otherwise?: Step[] }
export type SetStep = {
  type: 'set'
  status?: string
  assigned_agent_id?: string | null
  assigned_team_id?: string | null
  snooze_for?: string
  add_labels?: string[]
  remove_labels?: string[]
  add_tags?: string[]
  remove_tags?: string[]
  attributes?: Record<string, AttributeValue>
}
export type AttributeValue = string | number | boolean | null
/** Either for a time or until an event. */
export type WaitStep = { type: 'wait'; for?: string; until?: string }
export type NoteStep = { type: 'note'; text: string }
export type CallStep = { type: 'call'; url: string; save_as?: string; on_error?: Step[] }
export type HandOverStep = { type: 'hand_over'; assigned_agent_id?: string; assigned_team_id?: string; note?: string }
type EndStep = { type: 'end' }

export type Step = SendStep | AskStep | BranchStep | WaitStep | SetStep | NoteStep | CallStep | HandOverStep | EndStep
export type StepType = Step['type']

/** In the order of the menu that adds a step. */
export const stepTypes = [
  'send',
  'ask',
  'branch',
  'wait',
  'set',
  'note',
  'call',
  'hand_over',
  'end',
] as const satisfies StepType[]

export const answerPrefix = 'answers.'
export const attributePrefix = 'contact.attributes.'

/** The name under which an answer is saved, and whether it is an attribute of the contact too. */
export function readSaveAs(saveAs: string): { name: string; isAttribute: boolean } {
  const isAttribute = saveAs.startsWith(attributePrefix)
  return { name: saveAs.slice((isAttribute ? attributePrefix : answerPrefix).length), isAttribute }
}

/** The buttons or rows of a message. */
export function optionsOf(message: Message): Option[] {
  if (message.type !== 'interactive' || message.interactive.kind === 'link') return []
  const { interactive } = message
  return interactive.kind === 'buttons' ? interactive.buttons : interactive.sections.flatMap(({ rows }) => rows)
}

/** Whether the outline can show a value: it has the parts of a definition, though their texts may be wrong. */
export const isDefinition = (value: unknown): value is Definition =>
  isRecord(value) &&
  isTrigger(value.trigger) &&
  (value.conditions === undefined || isFilter(value.conditions)) &&
  isSteps(value.steps)

type Fields = Record<string, unknown>

const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown): boolean => typeof value === 'string'
const isNumber = (value: unknown): boolean => typeof value === 'number'
const isOptional = (value: unknown, isOf: (value: unknown) => boolean): boolean => value === undefined || isOf(value)
const isListOf = (value: unknown, isOf: (value: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isOf)
const isTexts = (value: unknown): boolean => isListOf(value, isText)
const hasTexts = (fields: Fields, ...names: string[]): boolean => names.every((name) => isText(fields[name]))
const hasOptionalTexts = (fields: Fields, ...names: string[]): boolean =>
  names.every((name) => isOptional(fields[name], isText))

function isTrigger(value: unknown): boolean {
  if (!isRecord(value)) return false
  switch (value.type) {
    case 'message':
      return (
        hasOptionalTexts(value, 'when', 'button') &&
        isOptional(value.contains, isTexts) &&
        isOptional(value.content_types, isTexts)
      )
    case 'conversation':
      return hasTexts(value, 'event') && hasOptionalTexts(value, 'label')
    case 'contact':
      return hasTexts(value, 'event') && hasOptionalTexts(value, 'tag', 'attribute')
    case 'silence':
      return hasTexts(value, 'event', 'after')
    case 'rating':
      return isOptional(value.at_most, isNumber)
    case 'target':
      return hasTexts(value, 'event') && hasOptionalTexts(value, 'before', 'target', 'clock')
    default:
      return value.type === 'manual'
  }
}

const isRule = (value: unknown): boolean =>
  isRecord(value) && hasTexts(value, 'field', 'op') && hasOptionalTexts(value, 'value')
const isMode = (value: unknown): boolean => value === 'all' || value === 'any'
const isFilter = (value: unknown): boolean =>
  isRecord(value) &&
  isMode(value.match) &&
  isListOf(value.rules, (rule) =>
    isRecord(rule) && 'rules' in rule ? isMode(rule.match) && isListOf(rule.rules, isRule) : isRule(rule),
  )

const isSteps = (value: unknown): boolean => isListOf(value, isStep)

function isStep(value: unknown): boolean {
  if (!isRecord(value) || !isOptional(value.on_error, isSteps)) return false
  switch (value.type) {
    case 'send':
      return isMessage(value.message)
    case 'ask':
      return isAsk(value)
    case 'branch':
      return isListOf(value.cases, isCase) && isOptional(value.otherwise, isSteps)
    case 'wait':
      return hasTexts(value, 'for') || hasTexts(value, 'until')
    case 'set':
      return isSet(value)
    case 'note':
      return hasTexts(value, 'text')
    case 'call':
      return hasTexts(value, 'url') && hasOptionalTexts(value, 'save_as')
    case 'hand_over':
      return hasOptionalTexts(value, 'assigned_agent_id', 'assigned_team_id', 'note')
    default:
      return value.type === 'end'
  }
}

const isAsk = ({ message, answer, save_as, retries, timeout }: Fields): boolean =>
  isMessage(message) &&
  isRecord(answer) &&
  answerTypes.some((type) => type === answer.type) &&
  isOptional(answer.min, isNumber) &&
  isOptional(answer.max, isNumber) &&
  isText(save_as) &&
  isOptional(retries, (value) => isRecord(value) && isNumber(value.max) && isText(value.text)) &&
  isOptional(timeout, (value) => isRecord(value) && isText(value.after) && isSteps(value.steps))

const isCase = (value: unknown): boolean =>
  isRecord(value) && hasOptionalTexts(value, 'name') && isFilter(value.when) && isSteps(value.steps)

const isTextOrNull = (value: unknown): boolean => value === null || isText(value)

const isSet = (fields: Fields): boolean =>
  hasOptionalTexts(fields, 'status', 'snooze_for') &&
  [fields.assigned_agent_id, fields.assigned_team_id].every((id) => isOptional(id, isTextOrNull)) &&
  ['add_labels', 'remove_labels', 'add_tags', 'remove_tags'].every((name) => isOptional(fields[name], isTexts)) &&
  isOptional(fields.attributes, isRecord)

function isMessage(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { type, interactive, location, template } = value
  if (type === 'text') return hasTexts(value, 'text')
  if (type === 'interactive') return isInteractive(interactive)
  if (type === 'location') {
    return isRecord(location) && isNumber(location.latitude) && isNumber(location.longitude)
  }
  if (type === 'template') return isRecord(template) && hasTexts(template, 'name') && isParams(template.params)
  return mediaTypes.some((media) => media === type) && hasTexts(value, 'media_url') && hasOptionalTexts(value, 'text')
}

const isParams = (value: unknown): boolean => isOptional(value, (params) => isRecord(params) || isTexts(params))
const isOption = (value: unknown): boolean => isRecord(value) && hasTexts(value, 'id', 'title')

function isInteractive(value: unknown): boolean {
  if (!isRecord(value) || !isText(value.body)) return false
  if (value.kind === 'link') return hasTexts(value, 'text', 'url')
  if (value.kind === 'buttons') return isListOf(value.buttons, isOption)
  return (
    value.kind === 'list' &&
    isText(value.button) &&
    isListOf(
      value.sections,
      (section) => isRecord(section) && isText(section.title) && isListOf(section.rows, isOption),
    )
  )
}
