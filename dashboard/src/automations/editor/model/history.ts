/** The states of an edited value, for undo and redo. Pure. */

export type History<Value> = {
  past: readonly Value[]
  present: Value
  future: readonly Value[]
  /** The field that the latest edit changed, and when. */
  latest: { field: string; at: number } | undefined
}

const maxPast = 200

/** Edits of one field within this time are undone together. */
const mergeMs = 1_000

export const startHistory = <Value>(present: Value): History<Value> => ({
  past: [],
  present,
  future: [],
  latest: undefined,
})

/** `field`: of a text that a member types. Edits without a field are undone one by one. */
export function commit<Value>(
  history: History<Value>,
  next: Value,
  { field = '', at }: { field?: string | undefined; at: number },
): History<Value> {
  const { past, present, latest } = history
  const isMerged = field !== '' && latest?.field === field && at - latest.at < mergeMs
  return {
    past: isMerged ? past : [...past, present].slice(-maxPast),
    present: next,
    future: [],
    latest: { field, at },
  }
}

export function undo<Value>(history: History<Value>): History<Value> {
  const { past, present, future } = history
  const previous = past.at(-1)
  if (previous === undefined) return history
  return { past: past.slice(0, -1), present: previous, future: [present, ...future], latest: undefined }
}

export function redo<Value>(history: History<Value>): History<Value> {
  const { past, present, future } = history
  const [next, ...rest] = future
  if (next === undefined) return history
  return { past: [...past, present], present: next, future: rest, latest: undefined }
}
