/** The draft of a new broadcast. It is kept in the tab's session storage until it is sent or discarded. */
import { useCallback, useEffect, useState } from 'react'
import type { InputOf } from '../lib/api.ts'
import type { TemplateParams } from '../lib/calls.ts'
import { useSession } from '../lib/session.tsx'
import { missingValues, type Template } from '../templates/parse-template.ts'
import { maxRecipients, type RecipientList } from './parse-recipients.ts'

export type Draft = {
  name: string
  source: 'segment' | 'numbers'
  segment_id: string
  numbers: string
  template: { name: string; language: string } | null
  params: TemplateParams
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
export function todosOf(draft: Draft, { recipients }: RecipientList, template: Template | undefined): Todo[] {
  const todos: Todo[] = []
  if (!draft.name.trim()) todos.push('name')
  if (draft.source === 'segment' && !draft.segment_id) todos.push('segment')
  if (draft.source === 'numbers' && recipients.length === 0) todos.push('numbers')
  if (draft.source === 'numbers' && recipients.length > maxRecipients) todos.push('tooMany')
  if (!template) todos.push('template')
  else if (missingValues(template, draft.params).length > 0) todos.push('values')
  if (draft.isLater && !isFuture(draft.at)) todos.push('at')
  return todos
}

const isFuture = (at: string): boolean => at !== '' && new Date(at).getTime() > Date.now()

/** The request body without the name. */
export type Body = Omit<InputOf<'POST /broadcasts'>['body'], 'name'>

type BodySource = Pick<Draft, 'source' | 'segment_id' | 'template' | 'params' | 'isLater' | 'at'>

export function bodyOf(draft: BodySource, { recipients }: RecipientList): Body | undefined {
  const { source, segment_id, template, params, isLater, at } = draft
  if (!template) return undefined
  return {
    template: { ...template, params },
    ...(source === 'segment' ? { segment_id } : { recipients: [...recipients] }),
    ...(isLater ? { scheduled_at: new Date(at).toISOString() } : {}),
  }
}
