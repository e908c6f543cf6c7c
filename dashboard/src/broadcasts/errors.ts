/** Assigns errors to the fields of the new broadcast page. The service names the field before a colon. */
import { CallError, describeError } from '../lib/api.ts'
import { broadcastWords } from '../words/broadcasts.ts'
import { words } from '../words/words.ts'
import type { Draft, Todo } from './use-draft.ts'

const { compose: text } = broadcastWords

export type ComposeErrors = {
  name?: string
  from?: string
  audience?: string
  template?: string
  at?: string
  /** By the path of the template value. */
  values: Readonly<Record<string, string>>
  /** The draft was sent or deleted meanwhile. */
  draft?: string
  /** Errors that belong to no field. */
  other?: string
}

const valuePrefix = 'template.params.'

export function readErrors(error: unknown): ComposeErrors {
  if (!error) return { values: {} }
  const errorMessage = error instanceof CallError ? error.message : ''
  const [, field = '', rule = ''] = /^([\w.[\]]+): ([\s\S]+)$/.exec(errorMessage) ?? []
  if (field.startsWith(valuePrefix)) {
    const message = rule.startsWith('required') ? words.templates.values.required : capitalize(rule)
    return { values: { [field.slice(valuePrefix.length)]: message } }
  }
  if (field === 'name') return { values: {}, name: capitalize(rule) }
  if (field === 'from') return { values: {}, from: capitalize(rule) }
  if (field === 'scheduled_at') return { values: {}, at: capitalize(rule) }
  if (field.startsWith('template')) return { values: {}, template: capitalize(rule) }
  if (/^(recipients|segment_id|audience)/.test(field)) return { values: {}, audience: capitalize(rule) }
  if (errorMessage === 'draft not found') return { values: {}, draft: text.draftGone }
  if (error instanceof CallError && error.status === 404) return { values: {}, audience: describeError(error) }
  return { values: {}, other: describeError(error) }
}

/** Errors for missing parts, shown after an attempt to send. */
export function missingErrors(todos: readonly Todo[], missing: readonly string[], { at }: Draft): ComposeErrors {
  const has = new Set(todos)
  return {
    values: Object.fromEntries(missing.map((path) => [path, words.templates.values.required])),
    ...(has.has('name') ? { name: text.nameNeeded } : {}),
    ...(has.has('segment') ? { audience: text.segmentNeeded } : {}),
    ...(has.has('numbers') ? { audience: text.numbersNeeded } : {}),
    ...(has.has('template') ? { template: text.templateNeeded } : {}),
    ...(has.has('at') ? { at: at ? text.atOver : text.atNeeded } : {}),
  }
}

/** Errors of the service take precedence. */
export const mergeErrors = (localErrors: ComposeErrors, serverErrors: ComposeErrors): ComposeErrors => ({
  ...localErrors,
  ...serverErrors,
  values: { ...localErrors.values, ...serverErrors.values },
})

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
