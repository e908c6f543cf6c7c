/**
 * What is wrong with a broadcast that is being written, beside what it is
 * about: what the service refused, which names the field before a colon, and
 * what is missing.
 */
import { CallError, describeError } from '../lib/api.ts'
import { words } from '../words/words.ts'
import type { Draft, Todo } from './draft.ts'

const { compose: text } = words.broadcasts

export type ComposeFaults = {
  name?: string
  audience?: string
  template?: string
  at?: string
  /** By the path of the value. */
  values: Readonly<Record<string, string>>
  /** About nothing on the page. */
  other?: string
}

const value = 'template.params.'

export function readFaults(error: unknown): ComposeFaults {
  if (!error) return { values: {} }
  const message = error instanceof CallError ? error.message : ''
  const [, field = '', rule = ''] = /^([\w.[\]]+): ([\s\S]+)$/.exec(message) ?? []
  if (field.startsWith(value)) {
    const told = rule.startsWith('required') ? words.templates.values.required : capitalize(rule)
    return { values: { [field.slice(value.length)]: told } }
  }
  if (field === 'name') return { values: {}, name: capitalize(rule) }
  if (field === 'scheduled_at') return { values: {}, at: capitalize(rule) }
  if (field.startsWith('template')) return { values: {}, template: capitalize(rule) }
  if (/^(recipients|segment_id)/.test(field)) return { values: {}, audience: capitalize(rule) }
  if (error instanceof CallError && error.status === 404) return { values: {}, audience: describeError(error) }
  return { values: {}, other: describeError(error) }
}

/** What nobody has written yet, for when somebody tries to send it all the same. */
export function missingFaults(todos: readonly Todo[], missing: readonly string[], { at }: Draft): ComposeFaults {
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

/** The service's word goes before ours. */
export const joinFaults = (ours: ComposeFaults, told: ComposeFaults): ComposeFaults => ({
  ...ours,
  ...told,
  values: { ...ours.values, ...told.values },
})

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
