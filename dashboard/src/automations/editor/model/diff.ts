/** The differences of two definitions, as lines of the outline. Pure. */

import { editorWords } from '../../../words/automation-editor.ts'
import type { Definition, Step } from './definition.ts'
import { describeConditions, describeList, describeStep, describeTrigger, type Names, toText } from './describe.ts'
import { listNested } from './tree.ts'

/** One line of both. `before` or `after` is absent if only one definition has it. */
export type Difference = { before?: string; after?: string; depth: number }

/** A line of the outline, and the content that decides whether two lines are the same. */
type Entry = { line: string; content: string; depth: number }

/** What changes from one definition to another, in the order of the outline. */
export function compare(before: Definition, after: Definition, names: Names): Difference[] {
  return align(entriesOf(before, names), entriesOf(after, names))
}

function entriesOf(definition: Definition, names: Names): Entry[] {
  const { trigger, conditions, steps } = definition
  return [
    { line: describeTrigger(trigger), content: `trigger ${toKey(trigger)}`, depth: 0 },
    ...(conditions
      ? [
          {
            line: `${editorWords.conditions} ${describeConditions(conditions, names, definition)}`,
            content: `conditions ${toKey(conditions)}`,
            depth: 0,
          },
        ]
      : []),
    ...entriesOfSteps(steps, names, definition, 0),
  ]
}

function entriesOfSteps(steps: readonly Step[], names: Names, definition: Definition, depth: number): Entry[] {
  return steps.flatMap((step) => [
    { line: toText(describeStep(step, names)), content: toKey(withoutLists(step)), depth },
    ...listNested(step).flatMap(({ name, steps: inner }) => {
      if (inner.length === 0 && name === 'otherwise') return []
      const heading = headingOf(step, name, names, definition)
      return [
        { line: heading, content: `list ${heading}`, depth: depth + 1 },
        ...entriesOfSteps(inner, names, definition, depth + 1),
      ]
    }),
  ])
}

/** A case with its conditions, so that a change of them is a difference. */
function headingOf(step: Step, name: string, names: Names, definition: Definition): string {
  const heading = describeList(step, name)
  const [, index] = /^cases\[(\d+)\]/.exec(name) ?? []
  const when = step.type === 'branch' && index !== undefined ? step.cases[Number(index)]?.when : undefined
  return when ? `${heading} (${describeConditions(when, names, definition)})` : heading
}

/** A step without its lists, which have entries of their own. */
function withoutLists(step: Step): object {
  switch (step.type) {
    case 'branch':
      return { type: step.type }
    case 'ask': {
      const { timeout, on_error: _, ...rest } = step
      return { ...rest, timeout: timeout?.after }
    }
    case 'send':
    case 'call': {
      const { on_error: _, ...rest } = step
      return rest
    }
    default:
      return step
  }
}

/** JSON without regard to the order of fields. */
const toKey = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )

export const isSame = (one: unknown, other: unknown): boolean => toKey(one) === toKey(other)

/** The entries that differ, by their longest common subsequence. A removed entry and the added one at its place are one change. */
function align(before: readonly Entry[], after: readonly Entry[]): Difference[] {
  const lengths = commonLengths(before, after)
  const differences: Difference[] = []
  let [i, k] = [0, 0]
  const removed: Entry[] = []
  const added: Entry[] = []
  const flush = () => {
    for (let n = 0; n < Math.max(removed.length, added.length); n++) {
      const [old, fresh] = [removed[n], added[n]]
      differences.push({
        ...(old ? { before: old.line } : {}),
        ...(fresh ? { after: fresh.line } : {}),
        depth: (fresh ?? old)?.depth ?? 0,
      })
    }
    removed.length = 0
    added.length = 0
  }
  while (i < before.length || k < after.length) {
    const [old, fresh] = [before[i], after[k]]
    if (old && fresh && isEqual(old, fresh)) {
      flush()
      i++
      k++
    } else if (old && (!fresh || (lengths[i + 1]?.[k] ?? 0) >= (lengths[i]?.[k + 1] ?? 0))) {
      removed.push(old)
      i++
    } else if (fresh) {
      added.push(fresh)
      k++
    }
  }
  flush()
  return differences
}

const isEqual = (one: Entry, other: Entry): boolean => one.content === other.content && one.depth === other.depth

/** The length of the longest common subsequence of the rests from two positions. */
function commonLengths(before: readonly Entry[], after: readonly Entry[]): number[][] {
  const lengths = Array.from({ length: before.length + 1 }, () => Array.from({ length: after.length + 1 }, () => 0))
  for (let i = before.length - 1; i >= 0; i--) {
    for (let k = after.length - 1; k >= 0; k--) {
      const [old, fresh, row] = [before[i], after[k], lengths[i]]
      if (!old || !fresh || !row) continue
      row[k] = isEqual(old, fresh)
        ? (lengths[i + 1]?.[k + 1] ?? 0) + 1
        : Math.max(lengths[i + 1]?.[k] ?? 0, row[k + 1] ?? 0)
    }
  }
  return lengths
}
