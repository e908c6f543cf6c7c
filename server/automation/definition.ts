/**
 * The definition of an automation: when it starts, for which contacts, and its steps. The names are public and never change.
 *
 * Steps are a tree. A step with lists of its own (`cases`, `otherwise`, `timeout`, `on_error`) runs one of them, and the run goes on
 * after the step. `schema.ts` has the same shapes for callers, `parse.ts` the rules between the fields.
 */
import type { ContentType, Interactive, Location, TemplateParams } from '../channels/channel.ts'
import type { AttributeChanges } from '../contacts/attributes.ts'
import type { statuses } from '../conversations/filter-fields.ts'
import type { Filter } from '../segments/filter.ts'

export type Definition = { trigger: Trigger; conditions?: Filter; steps: Step[] }

/** A whole number and one unit: `10s`, `5m`, `2h`, `3d` (`durations.ts`). */
export type Duration = string

export const messageMoments = ['any', 'first', 'first_since_closed'] as const
export const conversationEvents = ['opened', 'closed', 'assigned', 'label_added', 'label_removed'] as const
export const contactEvents = ['created', 'tag_added', 'tag_removed', 'attribute_changed'] as const
/** The customer waits for a reply; the customer has not replied; the reply window ends. */
export const silenceEvents = ['waiting', 'no_reply', 'window_ends'] as const

/** A clock of a target runs out soon, or has run out (`server/targets/`). */
export const targetEvents = ['due', 'breached'] as const
export const clockKinds = ['first_reply', 'next_reply', 'closing'] as const
export type ClockKind = (typeof clockKinds)[number]

export type MessageTrigger = {
  type: 'message'
  when?: (typeof messageMoments)[number]
  contains?: string[]
  button?: string
  content_types?: ContentType[]
}
export type Trigger =
  | MessageTrigger
  | { type: 'conversation'; event: (typeof conversationEvents)[number]; label?: string }
  | { type: 'contact'; event: (typeof contactEvents)[number]; tag?: string; attribute?: string }
  /** `after`: for `window_ends` the time before the end. */
  | { type: 'silence'; event: (typeof silenceEvents)[number]; after: Duration }
  /** `target` is an id. `before`: only for `due`. */
  | { type: 'target'; event: (typeof targetEvents)[number]; before?: Duration; target?: string; clock?: ClockKind }
  /** The customer rates an episode. */
  | { type: 'rating'; at_most?: number }
  | { type: 'manual' }

export const waitEvents = ['opening'] as const

export const mediaTypes = ['image', 'video', 'audio', 'document'] as const

/** What a step sends: the content fields of a send request. */
export type Message =
  | { type: 'text'; text: string }
  | { type: 'interactive'; interactive: Interactive }
  | { type: (typeof mediaTypes)[number]; media_url: string; text?: string; filename?: string }
  | { type: 'location'; location: Location }
  | { type: 'template'; template: { name: string; language?: string; params?: string[] | TemplateParams } }

export type Answer =
  | { type: 'text' }
  | { type: 'number'; min?: number; max?: number }
  | { type: 'email' }
  | { type: 'date' }
  /** One of the buttons or rows of the question's message. */
  | { type: 'choice' }

/** For a time, or until the office hours of the conversation begin. */
export type WaitStep = { type: 'wait'; for: Duration } | { type: 'wait'; until: (typeof waitEvents)[number] }
type SendStep = { type: 'send'; message: Message; on_error?: Step[] }
export type AskStep = {
  type: 'ask'
  message: Message
  answer: Answer
  /** `answers.NAME`, or `contact.attributes.NAME`, which also stores the answer under NAME. */
  save_as: string
  retries?: { max: number; text: string }
  timeout?: { after: Duration; steps: Step[] }
  on_error?: Step[]
}
export type BranchStep = { type: 'branch'; cases: Case[]; otherwise?: Step[] }
type Case = { name?: string; when: Filter; steps: Step[] }
export type SetStep = {
  type: 'set'
  status?: (typeof statuses)[number]
  /** Null: the conversation is unassigned. */
  assigned_agent_id?: string | null
  /** Null: the conversation has no team. */
  assigned_team_id?: string | null
  snooze_for?: Duration
  add_labels?: string[]
  remove_labels?: string[]
  add_tags?: string[]
  remove_tags?: string[]
  attributes?: AttributeChanges
}
export type CallStep = { type: 'call'; url: string; save_as?: string; on_error?: Step[] }

export type Step =
  | SendStep
  | AskStep
  | BranchStep
  | WaitStep
  | SetStep
  | { type: 'note'; text: string }
  | CallStep
  | { type: 'hand_over'; assigned_agent_id?: string; assigned_team_id?: string; note?: string }
  | { type: 'end' }

/** The values that questions and calls have saved, by name. A call saves a JSON object. */
export type Answers = Readonly<Record<string, unknown>>

const attributePrefix = 'contact.attributes.'
const answerPrefix = 'answers.'

/** Where an answer is stored: its name, and whether it is an attribute of the contact too. */
export function readSaveAs(saveAs: string): { name: string; isAttribute: boolean } {
  const isAttribute = saveAs.startsWith(attributePrefix)
  return { name: saveAs.slice((isAttribute ? attributePrefix : answerPrefix).length), isAttribute }
}

/** The value at a path of the answers, such as `order.status`; undefined when there is none. */
export function readAnswerAt(answers: Answers, path: string): unknown {
  let value: unknown = answers
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value ?? undefined
}

export const limits = {
  /** Of all levels. */
  steps: 200,
  nesting: 8,
  bytes: 32_768,
  cases: 20,
  words: 50,
  wordLength: 100,
  retries: 10,
  caseName: 100,
} as const
