/** The result of a check or an import: how many rows had which outcome, and the reasons of the rejected ones. */
import { Type } from '../lib/schema.ts'
import type { ChunkPlan } from './plan.ts'

export type ImportResult = {
  created: number
  changed: number
  unchanged: number
  rejected: number
  /** How many rows were rejected for each reason. */
  reasons: Record<string, number>
}

export const resultFields = {
  created: Type.Integer(),
  changed: Type.Integer(),
  unchanged: Type.Integer(),
  rejected: Type.Integer(),
  reasons: Type.Array(Type.Object({ reason: Type.String(), count: Type.Integer() }), {
    description: 'Why rows were rejected, the most frequent reason first.',
  }),
}

export const noResult: ImportResult = { created: 0, changed: 0, unchanged: 0, rejected: 0, reasons: {} }

export const countRows = ({ created, changed, unchanged, rejected }: Omit<ImportResult, 'reasons'>): number =>
  created + changed + unchanged + rejected

/** Each attribute of a file has a reason of its own, so there are not many more. */
const maxReasons = 100
const otherReasons = 'other reasons'

/** The result with the rows of another chunk. */
export function addPlan(result: ImportResult, plan: ChunkPlan): ImportResult {
  const reasons = { ...result.reasons }
  for (const { reason } of plan.faults) {
    const kind = kindOf(reason)
    const isKnown = Object.hasOwn(reasons, kind) || Object.keys(reasons).length < maxReasons
    const name = isKnown ? kind : otherReasons
    reasons[name] = (reasons[name] ?? 0) + 1
  }
  return {
    created: result.created + plan.created.length,
    changed: result.changed + plan.changedCount,
    unchanged: result.unchanged + plan.unchangedCount,
    rejected: result.rejected + plan.faults.length,
    reasons,
  }
}

/** A reason without the numbers that differ from row to row. */
const kindOf = (reason: string): string =>
  reason.replace(/line \d+$/, 'an earlier line').replace(/^tags\[\d+\]/, 'tags')

/** As members see it. */
export const toResultView = ({ reasons, ...counts }: ImportResult) => ({
  ...counts,
  reasons: Object.entries(reasons)
    .map(([reason, count]) => ({ reason, count }))
    .sort((one, other) => other.count - one.count),
})
