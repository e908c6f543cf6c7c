/**
 * A broadcast that is being written. It stays in this tab until it is sent, so
 * that neither a fault nor a look at another page loses it.
 */
import { useCallback, useEffect, useState } from 'react'
import type { InputOf } from '../lib/api.ts'
import type { TemplateParams } from '../lib/calls.ts'
import { useSession } from '../lib/session.tsx'
import { missingValues, type Template } from '../templates/shape.ts'
import { mostPeople, type Numbers } from './numbers.ts'

export type Draft = {
  name: string
  source: 'segment' | 'numbers'
  segment_id: string
  numbers: string
  template: { name: string; language: string } | null
  params: TemplateParams
  isLater: boolean
  /** As the browser's own field has it: in the time zone of whoever writes. */
  at: string
  testTo: string
}

const empty: Draft = {
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

/** What the address asks for goes before what was kept: `?template=…&language=…`, `?segment=…`. */
export function useDraft(): { draft: Draft; change: Change; forget: () => void } {
  const place = `parley-broadcast-${useSession().workspace.id}`
  const [draft, setDraft] = useState(() => withAsked(readDraft(place), new URLSearchParams(location.search)))
  useEffect(() => {
    if (draft === empty) sessionStorage.removeItem(place)
    else sessionStorage.setItem(place, JSON.stringify(draft))
  }, [draft, place])
  const change = useCallback((changes: Partial<Draft>) => setDraft((now) => ({ ...now, ...changes })), [])
  const forget = useCallback(() => {
    sessionStorage.removeItem(place)
    setDraft(empty)
  }, [place])
  return { draft, change, forget }
}

function readDraft(place: string): Draft {
  try {
    return { ...empty, ...JSON.parse(sessionStorage.getItem(place) ?? '{}') }
  } catch {
    return empty
  }
}

function withAsked(draft: Draft, query: URLSearchParams): Draft {
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

/** What is still to be done, in the order of the page. */
export function todosOf(draft: Draft, { people }: Numbers, template: Template | undefined): Todo[] {
  const todos: Todo[] = []
  if (!draft.name.trim()) todos.push('name')
  if (draft.source === 'segment' && !draft.segment_id) todos.push('segment')
  if (draft.source === 'numbers' && people.length === 0) todos.push('numbers')
  if (draft.source === 'numbers' && people.length > mostPeople) todos.push('tooMany')
  if (!template) todos.push('template')
  else if (missingValues(template, draft.params).length > 0) todos.push('values')
  if (draft.isLater && !isAhead(draft.at)) todos.push('at')
  return todos
}

const isAhead = (at: string): boolean => at !== '' && new Date(at).getTime() > Date.now()

/** What is sent, but for its name. */
export type Body = Omit<InputOf<'POST /broadcasts'>['body'], 'name'>

type Sent = Pick<Draft, 'source' | 'segment_id' | 'template' | 'params' | 'isLater' | 'at'>

export function bodyOf(draft: Sent, { people }: Numbers): Body | undefined {
  const { source, segment_id, template, params, isLater, at } = draft
  if (!template) return undefined
  return {
    template: { ...template, params },
    ...(source === 'segment' ? { segment_id } : { recipients: [...people] }),
    ...(isLater ? { scheduled_at: new Date(at).toISOString() } : {}),
  }
}
