/** The draft of a broadcast: what the member has entered, the request that it becomes, and what is missing. */
import { useMemo } from 'react'
import { type DataOf, type InputOf, useCall } from '../lib/api.ts'
import type { TemplateParams } from '../lib/calls.ts'
import { useDebounced } from '../lib/hooks.ts'
import { toDatetimeLocal } from '../lib/time.ts'
import { missingValues, type Template } from '../templates/parse-template.ts'
import { isUsable } from '../templates/status.tsx'
import { maxRecipients, parseRecipients, type RecipientList } from './parse-recipients.ts'

export type Draft = {
  name: string
  source: 'all' | 'segments' | 'numbers'
  segment_ids: readonly string[]
  /** Of all contacts or of the segments, those that do not get it. */
  excluded_segment_ids: readonly string[]
  numbers: string
  /** The connection id of the number that sends it; empty: the default one. */
  from: string
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

const empty: Draft = {
  name: '',
  source: 'segments',
  segment_ids: [],
  excluded_segment_ids: [],
  numbers: '',
  from: '',
  template: null,
  params: {},
  ownValues: null,
  isLater: false,
  at: '',
  testTo: '',
}

export type Change = (changes: Partial<Draft>) => void

/** A new draft, with the template, its number or the segment of the URL: `?template=…&language=…&from=…`, `?segment=…`. */
export function newDraft(query: URLSearchParams): Draft {
  const name = query.get('template')
  const segment = query.get('segment')
  return {
    ...empty,
    ...(name ? { template: { name, language: query.get('language') ?? 'en_US' } } : {}),
    ...(segment ? { segment_ids: [segment] } : {}),
    from: /^[0-9a-f-]{36}$/.exec(query.get('from') ?? '')?.[0] ?? '',
  }
}

export type Source = DataOf<'GET /broadcasts/{id}/source'>

/** The draft with the content of a broadcast. */
export function toDraft(source: Source): Draft {
  const { name, template, segment_id, audience, recipients, scheduled_at } = source
  const templateRef = { name: template.name, language: template.language }
  const ownValues = recipients.flatMap(({ to, params }) => (params ? [[digitsOf(to), params] as const] : []))
  const segmentIds = audience?.segment_ids ?? (segment_id ? [segment_id] : [])
  const isAll = audience !== null && segmentIds.length === 0
  return {
    ...empty,
    name,
    source: recipients.length > 0 ? 'numbers' : isAll ? 'all' : 'segments',
    segment_ids: segmentIds,
    excluded_segment_ids: audience?.excluded_segment_ids ?? [],
    numbers: recipients.map(toLine).join('\n'),
    from: source.from ?? '',
    template: template.name ? { ...templateRef, contact_fields: template.contact_fields } : null,
    params: template.params,
    ownValues: source.has_own_values ? { template: templateRef, byNumber: Object.fromEntries(ownValues) } : null,
    isLater: scheduled_at !== null,
    at: scheduled_at ? toDatetimeLocal(Date.parse(scheduled_at)) : '',
  }
}

/** A recipient as a line of the list. Quotes protect a name with a comma. */
const toLine = ({ to, name }: Source['recipients'][number]): string =>
  name ? `${to}, "${name.replaceAll('"', '""').replaceAll(/\s+/g, ' ')}"` : to

/** What a save sends: the fields that have changed `since`, or all of them. */
export function contentOf(draft: Draft, since?: Draft): InputOf<'POST /broadcasts/drafts'>['body'] {
  const { name, from, template, params, isLater, at } = draft
  const has = (...fields: (keyof Draft)[]) => !since || fields.some((field) => draft[field] !== since[field])
  const ms = isLater ? new Date(at).getTime() : Number.NaN
  return {
    ...(has('name') ? { name } : {}),
    ...(has('from') && (from || since) ? { from: from || null } : {}),
    ...(template && has('template', 'params') ? { template: { ...template, params } } : {}),
    ...(has('source', 'segment_ids', 'excluded_segment_ids', 'numbers', 'ownValues', 'template')
      ? peopleOf(draft)
      : {}),
    ...(has('isLater', 'at') ? { scheduled_at: Number.isNaN(ms) ? null : new Date(ms).toISOString() } : {}),
  }
}

/** Segments that are not chosen yet are an empty list: an audience without segments would be all contacts. */
function peopleOf(draft: Draft): InputOf<'POST /broadcasts/drafts'>['body'] {
  if (draft.source === 'numbers') {
    const { recipients, invalid } = parseRecipients(draft.numbers)
    const lines = [...withOwnValues(draft, recipients), ...invalid.map(({ text }) => ({ to: text }))]
    return { recipients: lines.slice(0, maxRecipients) }
  }
  return draft.source === 'segments' && draft.segment_ids.length === 0
    ? { recipients: [] }
    : { audience: audienceOf(draft) }
}

const audienceOf = ({ source, segment_ids, excluded_segment_ids }: AudienceSource) => ({
  segment_ids: source === 'all' ? [] : [...segment_ids],
  excluded_segment_ids: [...excluded_segment_ids],
})

type AudienceSource = Pick<Draft, 'source' | 'segment_ids' | 'excluded_segment_ids'>

export type Todo = 'name' | 'segment' | 'numbers' | 'tooMany' | 'template' | 'values' | 'at'

/** The missing parts of a draft, in the order of the page. */
function todosOf(draft: Draft, list: RecipientList, template: Template | undefined): Todo[] {
  const { recipients } = list
  const todos: Todo[] = []
  if (!draft.name.trim()) todos.push('name')
  if (draft.source === 'segments' && draft.segment_ids.length === 0) todos.push('segment')
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

const digitsOf = (number: string): string => number.replace(/\D/g, '')

type ValueSource = Pick<Draft, 'template' | 'ownValues'>

/** Whether single recipients have values for the chosen template. */
export const hasOwnValues = ({ template, ownValues }: ValueSource): boolean =>
  ownValues !== null && template?.name === ownValues.template.name && template.language === ownValues.template.language

const ownValuesOf = (draft: ValueSource, to: string): TemplateParams | undefined =>
  hasOwnValues(draft) ? draft.ownValues?.byNumber[digitsOf(to)] : undefined

const withOwnValues = (draft: ValueSource, recipients: RecipientList['recipients']) =>
  recipients.map((recipient) => {
    const own = ownValuesOf(draft, recipient.to)
    return own ? { ...recipient, params: own } : recipient
  })

const isFuture = (at: string): boolean => at !== '' && new Date(at).getTime() > Date.now()

/** The request body without the name. */
export type Body = Omit<InputOf<'POST /broadcasts'>['body'], 'name'>

type BodySource = AudienceSource & Pick<Draft, 'from' | 'template' | 'params' | 'ownValues' | 'isLater' | 'at'>

function bodyOf(draft: BodySource, { recipients }: RecipientList): Body | undefined {
  const { source, from, template, params, isLater, at } = draft
  if (!template) return undefined
  return {
    ...(from ? { from } : {}),
    template: { ...template, params },
    ...(source === 'numbers' ? { recipients: withOwnValues(draft, recipients) } : { audience: audienceOf(draft) }),
    ...(isLater ? { scheduled_at: new Date(at).toISOString() } : {}),
  }
}

/** Debounce of preview requests. */
const debounceMs = 400

/**
 * Checks a draft while the member edits it: lists the missing parts, and previews the recipients once only the name is missing.
 * `templates`: those of the number that sends it. `from`: its connection id; empty: the default one.
 */
export function useDraftCheck(draft: Draft, templates: readonly Template[], from: string) {
  const { source, segment_ids, excluded_segment_ids, template: selected, params, ownValues, isLater, at } = draft
  const numbers = useMemo(() => parseRecipients(draft.numbers), [draft.numbers])
  const chosen = templates.find(
    (each) => isUsable(each) && each.name === selected?.name && each.language === selected.language,
  )
  const missing = chosen ? missingValuesOf(draft, numbers, chosen) : []
  const todos = todosOf(draft, numbers, chosen)
  const isReady = todos.every((todo) => todo === 'name')
  const body = useMemo(() => {
    const audience = { source, segment_ids, excluded_segment_ids }
    return isReady
      ? bodyOf({ ...audience, from, template: selected, params, ownValues, isLater, at }, numbers)
      : undefined
  }, [isReady, source, segment_ids, excluded_segment_ids, numbers, from, selected, params, ownValues, isLater, at])
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
