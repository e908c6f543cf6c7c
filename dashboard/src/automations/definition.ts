/** The parts of a definition that the pages describe. The service has checked it, so it is not checked again. */

type Choice = { id: string; title: string }
type Interactive = { body?: string; buttons?: Choice[]; sections?: { rows: Choice[] }[] }
export type Message = {
  type: string
  text?: string
  media_url?: string
  interactive?: Interactive
  template?: { name: string }
  location?: { name?: string }
}
type Case = { name?: string; steps: Step[] }
export type Step = {
  type: string
  message?: Message
  cases?: Case[]
  otherwise?: Step[]
  timeout?: { steps: Step[] }
  on_error?: Step[]
  for?: string
  until?: string
  text?: string
  url?: string
  note?: string
  [field: string]: unknown
}
export type Trigger = {
  type: string
  event?: string
  when?: string
  contains?: string[]
  button?: string
  content_types?: string[]
  label?: string
  tag?: string
  attribute?: string
  after?: string
  at_most?: number
  before?: string
}
type Definition = { trigger: Trigger; steps: Step[] }

type Stored = Record<string, unknown>

export const readDefinition = (stored: Stored): Definition => stored as Definition

/** The steps on all levels. */
const listSteps = (steps: readonly Step[]): Step[] =>
  steps.flatMap((step) => [
    step,
    ...(step.cases ?? []).flatMap((one) => listSteps(one.steps)),
    ...listSteps(step.otherwise ?? []),
    ...listSteps(step.timeout?.steps ?? []),
    ...listSteps(step.on_error ?? []),
  ])

/** Whether it waits for answers: of several such automations only one answers a message. */
export const hasQuestions = (stored: Stored): boolean =>
  listSteps(readDefinition(stored).steps).some(({ type }) => type === 'ask')

/** The step at a JSON path of the log, such as `steps[2].cases[0].steps[1]`. */
export function findStep(stored: Stored, path: string): Step | undefined {
  let value: unknown = stored
  for (const name of path.match(/\w+/g) ?? []) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Stored)[name]
  }
  return typeof value === 'object' && value !== null && 'type' in value ? (value as Step) : undefined
}

/** The title of the button or row that a customer tapped. Undefined: the answer is no such id. */
export function titleOfChoice(step: Step | undefined, id: unknown): string | undefined {
  const { buttons = [], sections = [] } = step?.message?.interactive ?? {}
  return [...buttons, ...sections.flatMap(({ rows }) => rows)].find((choice) => choice.id === id)?.title
}
