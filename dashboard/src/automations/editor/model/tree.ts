/**
 * The tree of steps, and edits of it. Pure: an edit returns a new definition.
 *
 * The id of a step is its path in the definition, as in the errors of the service: `steps[2].cases[0].steps[1]`. The id of a list is the
 * path without the index: `steps[2].cases[0].steps`.
 */
import type { Definition, Step } from './definition.ts'

/** The list of the definition itself. */
export const rootList = 'steps'

/** A list within a step. `name`: its path below that of the step. A branch always has `otherwise`, also if the definition has none. */
export type NestedList = { name: string; steps: readonly Step[] }

export function listNested(step: Step): NestedList[] {
  if (step.type === 'branch') {
    return [
      ...step.cases.map(({ steps }, i) => ({ name: `cases[${i}].steps`, steps })),
      { name: 'otherwise', steps: step.otherwise ?? [] },
    ]
  }
  return [
    ...(step.type === 'ask' && step.timeout ? [{ name: 'timeout.steps', steps: step.timeout.steps }] : []),
    ...('on_error' in step && step.on_error ? [{ name: 'on_error', steps: step.on_error }] : []),
  ]
}

function withNested(step: Step, name: string, steps: Step[]): Step {
  if (step.type === 'branch') {
    if (name !== 'otherwise') {
      return { ...step, cases: step.cases.map((one, i) => (name === `cases[${i}].steps` ? { ...one, steps } : one)) }
    }
    // An empty list is the same as none.
    const { otherwise: _, ...rest } = step
    return steps.length > 0 ? { ...rest, otherwise: steps } : rest
  }
  if (name === 'timeout.steps' && step.type === 'ask' && step.timeout) {
    return { ...step, timeout: { ...step.timeout, steps } }
  }
  return name === 'on_error' && 'on_error' in step ? { ...step, on_error: steps } : step
}

export const idOf = (list: string, index: number): string => `${list}[${index}]`

/** The list of a step, and its place there. */
export function placeOf(id: string): { list: string; index: number } {
  const [, list = rootList, index = '0'] = /^(.*)\[(\d+)\]$/.exec(id) ?? []
  return { list, index: Number(index) }
}

/** The step that a list is in; undefined for the list of the definition. */
export function ownerOf(list: string): { id: string; name: string } | undefined {
  const [, id, name] = /^(.*\])\.(cases\[\d+\]\.steps|otherwise|timeout\.steps|on_error)$/.exec(list) ?? []
  return id && name ? { id, name } : undefined
}

export function listAt(definition: Definition, list: string): readonly Step[] {
  const owner = ownerOf(list)
  if (!owner) return definition.steps
  const step = stepAt(definition, owner.id)
  return (step && listNested(step).find(({ name }) => name === owner.name)?.steps) ?? []
}

export function stepAt(definition: Definition, id: string): Step | undefined {
  const { list, index } = placeOf(id)
  return listAt(definition, list)[index]
}

export function changeList(definition: Definition, list: string, change: (steps: Step[]) => Step[]): Definition {
  const owner = ownerOf(list)
  if (!owner) return { ...definition, steps: change([...definition.steps]) }
  const steps = change([...listAt(definition, list)])
  return changeStep(definition, owner.id, (step) => withNested(step, owner.name, steps))
}

export function changeStep(definition: Definition, id: string, change: (step: Step) => Step): Definition {
  const { list, index } = placeOf(id)
  return changeList(definition, list, (steps) => steps.map((step, i) => (i === index ? change(step) : step)))
}

/** An edit, and the step that is selected after it. */
export type Edit = { definition: Definition; selected: string | undefined }

export function insertStep(definition: Definition, list: string, index: number, step: Step): Edit {
  const changed = changeList(definition, list, (steps) => steps.toSpliced(index, 0, step))
  return { definition: changed, selected: idOf(list, index) }
}

/** The next step is selected, else the one before, else the step around it. */
export function removeStep(definition: Definition, id: string): Edit {
  const { list, index } = placeOf(id)
  const changed = changeList(definition, list, (steps) => steps.toSpliced(index, 1))
  const count = listAt(changed, list).length
  return { definition: changed, selected: count > 0 ? idOf(list, Math.min(index, count - 1)) : ownerOf(list)?.id }
}

export function duplicateStep(definition: Definition, id: string): Edit {
  const step = stepAt(definition, id)
  const { list, index } = placeOf(id)
  return step ? insertStep(definition, list, index + 1, step) : { definition, selected: id }
}

/** The place of a step after a move by one, in the definition without it. Steps move through all lists, in the order in which they read. */
function targetOf(definition: Definition, id: string, by: 1 | -1): { list: string; index: number } | undefined {
  const { list, index } = placeOf(id)
  const neighbor = listAt(definition, list)[index + by]
  if (neighbor) {
    const inner = listNested(neighbor).at(by === 1 ? 0 : -1)
    if (!inner) return { list, index: index + by }
    // Without the step that moves, the next one is in its place.
    const neighborId = idOf(list, by === 1 ? index : index - 1)
    return { list: `${neighborId}.${inner.name}`, index: by === 1 ? 0 : inner.steps.length }
  }
  const owner = ownerOf(list)
  const parent = owner && stepAt(definition, owner.id)
  if (!owner || !parent) return undefined
  const lists = listNested(parent)
  const sibling = lists[lists.findIndex(({ name }) => name === owner.name) + by]
  if (sibling) return { list: `${owner.id}.${sibling.name}`, index: by === 1 ? 0 : sibling.steps.length }
  const outer = placeOf(owner.id)
  return { list: outer.list, index: outer.index + (by === 1 ? 1 : 0) }
}

export const canMove = (definition: Definition, id: string, by: 1 | -1): boolean =>
  targetOf(definition, id, by) !== undefined

export function moveStep(definition: Definition, id: string, by: 1 | -1): Edit {
  const step = stepAt(definition, id)
  const target = targetOf(definition, id, by)
  if (!step || !target) return { definition, selected: id }
  const { list, index } = placeOf(id)
  const without = changeList(definition, list, (steps) => steps.toSpliced(index, 1))
  return insertStep(without, target.list, target.index, step)
}

/** A step with its id and the number of steps around it. */
export type PlacedStep = { id: string; depth: number; step: Step }

/** Every step, one before those within it. */
export function listSteps({ steps }: Pick<Definition, 'steps'>): PlacedStep[] {
  const listFrom = (inner: readonly Step[], list: string, depth: number): PlacedStep[] =>
    inner.flatMap((step, i) => {
      const id = idOf(list, i)
      const nested = listNested(step).flatMap(({ name, steps: own }) => listFrom(own, `${id}.${name}`, depth + 1))
      return [{ id, depth, step }, ...nested]
    })
  return listFrom(steps, rootList, 0)
}

/** Whether nothing in the same list can run after the step. */
export const isEnd = ({ type }: Step): boolean => type === 'end' || type === 'hand_over'

/** Whether the run never gets to what follows a list. */
export function endsRun(steps: readonly Step[]): boolean {
  const last = steps.at(-1)
  if (!last) return false
  return isEnd(last) || (last.type === 'branch' && listNested(last).every(({ steps: inner }) => endsRun(inner)))
}
