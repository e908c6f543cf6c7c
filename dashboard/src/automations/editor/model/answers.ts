/** The answers of an automation: which ones a step can use, and how they are renamed. Pure. */
import {
  type Case,
  type Definition,
  isDefinition,
  type Option,
  optionsOf,
  readSaveAs,
  type Step,
} from './definition.ts'
import { changeStep, listAt, listSteps, ownerOf, placeOf } from './tree.ts'

export type Answer = {
  name: string
  /** `object`: the response of a call, whose values have a path. */
  kind: 'text' | 'number' | 'choice' | 'object'
  /** The buttons or rows of a choice. */
  options: readonly Option[]
}

/** What earlier steps save on some way to the step, as the service checks it. The latest answer of a name counts. */
export function answersBefore(definition: Definition, id: string): Answer[] {
  const found = new Map<string, Answer>()
  for (const step of stepsBefore(definition, id)) {
    for (const { step: each } of listSteps({ steps: [step] })) {
      const answer = answerOf(each)
      if (answer?.name) found.set(answer.name, answer)
    }
  }
  return [...found.values()]
}

/** The steps before a step in its list and in those around it, from the outside inwards. */
function stepsBefore(definition: Definition, id: string): Step[] {
  const { list, index } = placeOf(id)
  const owner = ownerOf(list)
  const outer = owner ? stepsBefore(definition, owner.id) : []
  return [...outer, ...listAt(definition, list).slice(0, index)]
}

function answerOf(step: Step): Answer | undefined {
  if (step.type === 'call') {
    return step.save_as === undefined ? undefined : { name: readSaveAs(step.save_as).name, kind: 'object', options: [] }
  }
  if (step.type !== 'ask') return undefined
  const { name } = readSaveAs(step.save_as)
  const { type } = step.answer
  if (type === 'choice') return { name, kind: 'choice', options: optionsOf(step.message) }
  return { name, kind: type === 'number' ? 'number' : 'text', options: [] }
}

/** The choice question nearest before a step. */
export const choiceBefore = (definition: Definition, id: string): Answer | undefined =>
  answersBefore(definition, id).findLast(({ kind, options }) => kind === 'choice' && options.length > 0)

/** All names that are used. */
const namesOf = (definition: Pick<Definition, 'steps'>): string[] =>
  listSteps(definition).flatMap(({ step }) => answerOf(step)?.name ?? [])

/** A name for a new answer: `answer`, `answer_2`, … */
export function newAnswerName(definition: Definition, base = 'answer'): string {
  const used = new Set(namesOf(definition))
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}_${number}`
    if (!used.has(name)) return name
  }
}

/**
 * The titles of buttons and rows have changed. The name of a case that was made from a title follows: the case has the title as its name,
 * and a rule that the answer is this button.
 */
export function renameCases(
  definition: Definition,
  answer: string,
  from: readonly Option[],
  to: readonly Option[],
): Definition {
  const titles = new Map(to.map(({ id, title }) => [id, title]))
  const changed = from.filter(({ id, title }) => titles.has(id) && titles.get(id) !== title)
  if (changed.length === 0) return definition
  const branches = listSteps(definition).filter(({ step }) => step.type === 'branch')
  return branches.reduce(
    (renamed, { id }) =>
      changeStep(renamed, id, (step) =>
        step.type === 'branch'
          ? { ...step, cases: step.cases.map((each) => follow(each, answer, changed, titles)) }
          : step,
      ),
    definition,
  )
}

function follow(one: Case, answer: string, changed: readonly Option[], titles: ReadonlyMap<string, string>): Case {
  const { name = '', ...rest } = one
  const option = changed.find(
    ({ id, title }) =>
      title === name &&
      one.when.rules.some((rule) => 'field' in rule && rule.field === `answers.${answer}` && rule.value === id),
  )
  const title = option && titles.get(option.id)
  return option ? { ...rest, ...(title ? { name: title } : {}) } : one
}

/** Renames an answer in all texts and rules, unless another step saves the same name. */
export function renameReferences(definition: Definition, from: string, to: string): Definition {
  if (!from || !to || from === to || namesOf(definition).includes(from)) return definition
  const reference = new RegExp(`(\\{\\{\\s*answers\\.)${from}(?=[\\s.|}])`, 'g')
  const field = new RegExp(`^answers\\.${from}(?=\\.|$)`)
  const rename = (value: unknown, key?: string): unknown => {
    if (typeof value === 'string') {
      return key === 'field' ? value.replace(field, `answers.${to}`) : value.replace(reference, `$1${to}`)
    }
    if (Array.isArray(value)) return value.map((item) => rename(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, rename(item, name)]))
  }
  const renamed = rename(definition)
  return isDefinition(renamed) ? renamed : definition
}
