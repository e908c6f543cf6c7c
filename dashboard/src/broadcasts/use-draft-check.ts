/**
 * Checks a draft while the member edits it: lists the missing parts, and previews the recipients with the service once only
 * the name is missing.
 */
import { useMemo } from 'react'
import { useCall } from '../lib/api.ts'
import { useDebounced } from '../lib/hooks.ts'
import type { Template } from '../templates/parse-template.ts'
import { isUsable } from '../templates/status.tsx'
import { parseRecipients } from './parse-recipients.ts'
import { bodyOf, type Draft, missingValuesOf, todosOf } from './use-draft.ts'

/** Debounce of preview requests. */
const debounceMs = 400

export function useDraftCheck(draft: Draft, templates: readonly Template[]) {
  const { source, segment_id, template: selected, params, ownValues, isLater, at } = draft
  const numbers = useMemo(() => parseRecipients(draft.numbers), [draft.numbers])
  const chosen = templates.find(
    (each) => isUsable(each) && each.name === selected?.name && each.language === selected.language,
  )
  const missing = chosen ? missingValuesOf(draft, numbers, chosen) : []
  const todos = todosOf(draft, numbers, chosen)
  const isReady = todos.every((todo) => todo === 'name')
  const body = useMemo(
    () =>
      isReady ? bodyOf({ source, segment_id, template: selected, params, ownValues, isLater, at }, numbers) : undefined,
    [isReady, source, segment_id, numbers, selected, params, ownValues, isLater, at],
  )
  const settledBody = useDebounced(body, debounceMs)
  const query = useCall(
    'POST /broadcasts/preview',
    { body: settledBody ?? { template: { name: '' } } },
    { enabled: settledBody !== undefined, keepPrevious: true },
  )
  const isSettled = body === settledBody
  return {
    numbers,
    chosen,
    /** The paths of the missing template values. */
    missing,
    todos,
    isReady,
    /** The request body without the name. `preview` belongs to it. */
    body: isSettled ? body : undefined,
    preview: isReady && !query.error ? query.data : undefined,
    error: isReady && isSettled ? query.error : undefined,
    isChecking: isReady && (!isSettled || query.isFetching),
    retry: () => void query.refetch(),
  }
}
