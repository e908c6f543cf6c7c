/**
 * Positions in the tree of steps. Pure.
 *
 * A position has the index of a step and, for a step within another one, the list that holds it: `2`, `2.cases.0.1`, `2.otherwise.0`,
 * `1.on_error.0`, `1.timeout.0`. It is stored in a run. The log has the same as a JSON path: `steps[2].cases[0].steps[1]`.
 */
import type { Definition, Message, Step } from './definition.ts'

/** `list`: the name within the step, `cases.0`, `otherwise`, `timeout` or `on_error`. `path`: the same below the JSON path of the step. */
export type NestedList = { list: string; path: string; steps: readonly Step[] }

/** The lists of steps within a step, in the order of the definition. */
export function listNested(step: Step): NestedList[] {
  if (step.type === 'branch') {
    return [
      ...step.cases.map(({ steps }, i) => ({ list: `cases.${i}`, path: `cases[${i}].steps`, steps })),
      ...(step.otherwise ? [{ list: 'otherwise', path: 'otherwise', steps: step.otherwise }] : []),
    ]
  }
  const onError =
    'on_error' in step && step.on_error ? [{ list: 'on_error', path: 'on_error', steps: step.on_error }] : []
  if (step.type !== 'ask' || !step.timeout) return onError
  return [{ list: 'timeout', path: 'timeout.steps', steps: step.timeout.steps }, ...onError]
}

/** `depth`: 0 for a step that is in no other one. */
export type PlacedStep = { position: string; path: string; depth: number; step: Step }

/** Every step, a step before those within it. */
export const listSteps = ({ steps }: Pick<Definition, 'steps'>): PlacedStep[] => listFrom(steps, '', 'steps', 0)

function listFrom(steps: readonly Step[], prefix: string, pathOfList: string, depth: number): PlacedStep[] {
  return steps.flatMap((step, i) => {
    const [position, path] = [`${prefix}${i}`, `${pathOfList}[${i}]`]
    const nested = listNested(step).flatMap(({ list, path: below, steps: inner }) =>
      listFrom(inner, `${position}.${list}.`, `${path}.${below}`, depth + 1),
    )
    return [{ position, path, depth, step }, ...nested]
  })
}

/** Whether a run of the automation can wait for an answer. Of several such automations only one runs in a conversation. */
export const hasQuestions = (definition: Pick<Definition, 'steps'>): boolean =>
  listSteps(definition).some(({ step }) => step.type === 'ask')

export const firstPosition = '0'

/** Undefined for a position that the definition does not have. */
export function findStep({ steps }: Pick<Definition, 'steps'>, position: string): PlacedStep | undefined {
  return trace(steps, position)?.at(-1)
}

/** The steps that contain the step at a position, from the outside inwards. */
export const listParents = ({ steps }: Pick<Definition, 'steps'>, position: string): PlacedStep[] =>
  trace(steps, position)?.slice(0, -1) ?? []

/** The position after a step. The end of a list within a step leads on after that step; the end of the definition is undefined. */
export function nextPosition({ steps }: Pick<Definition, 'steps'>, position: string): string | undefined {
  const traced = trace(steps, position) ?? []
  for (const { position: current } of traced.toReversed()) {
    const next = siblingOf(current)
    if (trace(steps, next)) return next
  }
  return undefined
}

/** The position after a step that runs one of its lists: the first step of the list, or the one after the step if the list is empty. */
export function enterList(definition: Pick<Definition, 'steps'>, position: string, list: string): string | undefined {
  const first = `${position}.${list}.0`
  return findStep(definition, first) ? first : nextPosition(definition, position)
}

function siblingOf(position: string): string {
  const dot = position.lastIndexOf('.')
  return `${position.slice(0, dot + 1)}${Number(position.slice(dot + 1)) + 1}`
}

const index = /^(?:0|[1-9]\d{0,3})$/

/** The step at a position and those around it, from the outside inwards. */
function trace(steps: readonly Step[], position: string): PlacedStep[] | undefined {
  const parts = position.split('.')
  const traced: PlacedStep[] = []
  let list: readonly Step[] = steps
  let pathOfList = 'steps'
  for (let i = 0; i < parts.length; ) {
    const part = parts[i] ?? ''
    const step = index.test(part) ? list[Number(part)] : undefined
    if (!step) return undefined
    const path = `${pathOfList}[${part}]`
    traced.push({ position: parts.slice(0, i + 1).join('.'), path, depth: traced.length, step })
    if (i === parts.length - 1) return traced
    const name = parts[i + 1] === 'cases' ? `cases.${parts[i + 2]}` : parts[i + 1]
    const nested = listNested(step).find((each) => each.list === name)
    if (!nested) return undefined
    list = nested.steps
    pathOfList = `${path}.${nested.path}`
    i += parts[i + 1] === 'cases' ? 3 : 2
  }
  return undefined
}

const maxDescription = 80

/** A step on one line, for the log and the list of a dry run. */
export function describeStep(step: Step): string {
  const text = [step.type, detailOf(step)].join(' ').trim().replace(/\s+/g, ' ')
  const characters = [...text]
  return characters.length > maxDescription ? `${characters.slice(0, maxDescription - 1).join('')}…` : text
}

function detailOf(step: Step): string {
  switch (step.type) {
    case 'send':
      return describeMessage(step.message)
    case 'ask':
      return `${step.answer.type}: ${describeMessage(step.message)}`
    case 'branch':
      return step.cases.map(({ name }, i) => name ?? `case ${i + 1}`).join(', ')
    case 'wait':
      return 'for' in step ? step.for : `until ${step.until}`
    case 'set':
      return Object.keys(step)
        .filter((name) => name !== 'type')
        .join(', ')
    case 'note':
      return step.text
    case 'call':
      return step.url
    case 'hand_over':
      return step.note ?? ''
    case 'end':
      return ''
  }
}

/** The text of a message, without references when it is filled. */
export function describeMessage(message: Message): string {
  switch (message.type) {
    case 'text':
      return message.text
    case 'interactive':
      return `${message.interactive.kind}: ${message.interactive.body}`
    case 'template':
      return `template ${message.template.name}`
    case 'location':
      return `location ${message.location.name ?? `${message.location.latitude}, ${message.location.longitude}`}`
    default:
      return `${message.type} ${message.text ?? message.media_url}`
  }
}
