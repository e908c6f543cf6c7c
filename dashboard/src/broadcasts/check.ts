/**
 * What is known of a draft while it is written: what is still to be done, and
 * once nothing but its name is, whom the service says it would reach.
 */
import { useMemo } from 'react'
import { useCall } from '../lib/api.ts'
import { useDebounced } from '../lib/hooks.ts'
import { missingValues, type Template } from '../templates/shape.ts'
import { isUsable } from '../templates/status.tsx'
import { bodyOf, type Draft, todosOf } from './draft.ts'
import { readNumbers } from './numbers.ts'

/** So long it must be left alone before the service is asked. */
const stillMs = 400

export function useCheck(draft: Draft, templates: readonly Template[]) {
  const { source, segment_id, template: wanted, params, isLater, at } = draft
  const numbers = useMemo(() => readNumbers(draft.numbers), [draft.numbers])
  const chosen = templates.find(
    (each) => isUsable(each) && each.name === wanted?.name && each.language === wanted.language,
  )
  const missing = chosen ? missingValues(chosen, params) : []
  const todos = todosOf(draft, numbers, chosen)
  const isReady = todos.every((todo) => todo === 'name')
  const body = useMemo(
    () => (isReady ? bodyOf({ source, segment_id, template: wanted, params, isLater, at }, numbers) : undefined),
    [isReady, source, segment_id, numbers, wanted, params, isLater, at],
  )
  const still = useDebounced(body, stillMs)
  const asked = useCall(
    'POST /broadcasts/preview',
    { body: still ?? { template: { name: '' } } },
    { enabled: still !== undefined, keepPrevious: true },
  )
  const isSettled = body === still
  return {
    numbers,
    chosen,
    /** The paths of the values that are not there yet. */
    missing,
    todos,
    isReady,
    /** What would be sent, but for its name; what `preview` is about. */
    body: isSettled ? body : undefined,
    preview: isReady && !asked.error ? asked.data : undefined,
    error: isReady && isSettled ? asked.error : undefined,
    isChecking: isReady && (!isSettled || asked.isFetching),
    retry: () => void asked.refetch(),
  }
}
