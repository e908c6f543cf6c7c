/** The draft of a new broadcast. It is kept in the tab's session storage until it is sent or discarded. */
import { useCallback, useEffect, useMemo, useState } from 'react'
import { type InputOf, useCall } from '../lib/api.ts'
import type { TemplateParams } from '../lib/calls.ts'
import { useDebounced } from '../lib/hooks.ts'
import { useSession } from '../lib/session.tsx'
import { missingValues, type Template } from '../templates/parse-template.ts'
import { isUsable } from '../templates/status.tsx'
import { maxRecipients, parseRecipients, type RecipientList } from './parse-recipients.ts'

export type Draft = {
  name: string
  source: 'segment' | 'numbers'
  segment_id: string
  numbers: string
  /** `contact_fields` is false for the literal values of a broadcast of the API. */
  template: { name: string; language: string; contact_fields?: boolean } | null
  params: TemplateParams
  /** Values of single recipients, by the digits of the number. They belong to one template. */
  ownValues: { template: { name: string; language: string }; byNumber: Readonly<Record<string, TemplateParams>> } | null
  isLater: boolean
  /** The value of a `datetime-local` input, in the browser's time zone. */
  at: string
  testTo: string
}

export const empty: Draft = {
  name: '',
  source: 'segment',
  segment_id: '',
  numbers: '',
  template: null,
  params: {},
  ownValues: null,
  isLater: false,
  at: '',
  testTo: '',
}

export type Change = (changes: Partial<Draft>) => void

/** The stored draft. URL parameters override it: `?template=…&language=…`, `?segment=…`. */
export function useDraft(): { draft: Draft; change: Change; discard: () => void } {
  const storageKey = `parley-broadcast-${useSession().workspace.id}`
  const [draft, setDraft] = useState(() => withUrlParams(readDraft(storageKey), new URLSearchParams(location.search)))
  useEffect(() => {
    if (draft === empty) sessionStorage.removeItem(storageKey)
    else sessionStorage.setItem(storageKey, JSON.stringify(draft))
  }, [draft, storageKey])
  const change = useCallback((changes: Partial<Draft>) => setDraft((now) => ({ ...now, ...changes })), [])
  const discard = useCallback(() => {
    sessionStorage.removeItem(storageKey)
    setDraft(empty)
  }, [storageKey])
  return { draft, change, discard }
}

function readDraft(storageKey: string): Draft {
  try {
    return { ...empty, ...JSON.parse(sessionStorage.getItem(storageKey) ?? '{}') }
  } catch {
    return empty
  }
}

function withUrlParams(draft: Draft, query: URLSearchParams): Draft {
  const name = query.get('template')
  const language = query.get('language') ?? 'en_US'
  const segment = query.get('segment')
  const isSame = draft.template?.name === name && draft.template?.language === language
  return {
    ...draft,
    ...(name && !isSame ? { template: { name, language }, params: {} } : {}),
    ...(segment ? { source: 'segment' as const, segment_id: segment } : {}),
  }
}

export type Todo = 'name' | 'segment' | 'numbers' | 'tooMany' | 'template' | 'values' | 'at'

/** The missing parts of a draft, in the order of the page. */
function todosOf(draft: Draft, list: RecipientList, template: Template | undefined): Todo[] {
  const { recipients } = list
  const todos: Todo[] = []
  if (!draft.name.trim()) todos.push('name')
  if (draft.source === 'segment' && !draft.segment_id) todos.push('segment')
  if (draft.source === 'numbers' && recipients.length === 0) todos.push('numbers')
  if (draft.source === 'numbers' && recipients.length > maxRecipients) todos.push('tooMany')
  if (!template) todos.push('template')
  else if (missingValuesOf(draft, list, template).length > 0) todos.push('values')
  if (draft.isLater && !isFuture(draft.at)) todos.push('at')
  return todos
}

/** The paths of missing template values. Recipients with values of their own need no others. */
function missingValuesOf(draft: Draft, { recipients }: RecipientList, template: Template): string[] {
  const isCovered =
    draft.source === 'numbers' && recipients.length > 0 && recipients.every(({ to }) => ownValuesOf(draft, to))
  return isCovered ? [] : missingValues(template, draft.params)
}

/** The values of the first recipient, for the preview and the test message. */
export function sampleValuesOf(draft: Draft, { recipients: [first] }: RecipientList): TemplateParams {
  return (draft.source === 'numbers' && first && ownValuesOf(draft, first.to)) || draft.params
}

export const digitsOf = (number: string): string => number.replace(/\D/g, '')

type ValueSource = Pick<Draft, 'template' | 'ownValues'>

/** Whether single recipients have values for the chosen template. */
export const hasOwnValues = ({ template, ownValues }: ValueSource): boolean =>
  ownValues !== null && template?.name === ownValues.template.name && template.language === ownValues.template.language

const ownValuesOf = (draft: ValueSource, to: string): TemplateParams | undefined =>
  hasOwnValues(draft) ? draft.ownValues?.byNumber[digitsOf(to)] : undefined

const isFuture = (at: string): boolean => at !== '' && new Date(at).getTime() > Date.now()

/** The request body without the name. */
export type Body = Omit<InputOf<'POST /broadcasts'>['body'], 'name'>

type BodySource = Pick<Draft, 'source' | 'segment_id' | 'template' | 'params' | 'ownValues' | 'isLater' | 'at'>

function bodyOf(draft: BodySource, { recipients }: RecipientList): Body | undefined {
  const { source, segment_id, template, params, isLater, at } = draft
  if (!template) return undefined
  const withValues = recipients.map((recipient) => {
    const own = ownValuesOf(draft, recipient.to)
    return own ? { ...recipient, params: own } : recipient
  })
  return {
    template: { ...template, params },
    ...(source === 'segment' ? { segment_id } : { recipients: withValues }),
    ...(isLater ? { scheduled_at: new Date(at).toISOString() } : {}),
  }
}

/** Debounce of preview requests. */
const debounceMs = 400

/** Checks a draft while the member edits it: lists the missing parts, and previews the recipients once only the name is missing. */
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
