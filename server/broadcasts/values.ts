/**
 * Contact fields in the values of a template: `{{contact.name}}`, or with a
 * word for those who have none, `{{contact.name|there}}`. Pure.
 *
 * What stands in a contact's own field is never read as a field again. Any
 * other text in braces is taken literally, as it is in a message.
 */
import type { TemplateParams } from '../channels/channel.ts'

export const valueFields = ['name', 'phone', 'email', 'company'] as const
export type ValueField = (typeof valueFields)[number]
export type ValuedContact = Record<ValueField, string | null>

/** Each character has one way to match: blanks that two parts could take cost their square, and one request some seconds. */
const reference = /\{\{\s*contact\.([^{}|]*)(?:\|([^{}]*))?\}\}/g

/** What is wrong with the fields that values name, in words that begin with the path of the value. */
export function faultOfValues(params: TemplateParams, path: string): string | undefined {
  for (const { at, text } of textsOf(params, path)) {
    for (const [, name = ''] of text.matchAll(reference)) {
      const field = name.trimEnd()
      if (!isField(field)) return `${at}: there is no contact.${field}; there are ${valueFields.join(', ')}`
    }
  }
  return undefined
}

export const hasFields = (params: TemplateParams): boolean =>
  textsOf(params, '').some(({ text }) => text.match(reference) !== null)

export type Expanded = { ok: true; params: TemplateParams } | { ok: false; missing: ValueField }

/** Values with a contact's fields in their places; or the first field that is empty and has no word in its stead. */
export function expandValues(params: TemplateParams, contact: ValuedContact): Expanded {
  let missing: ValueField | undefined
  const fill = (text: string) =>
    text.replace(reference, (whole, name: string, fallback: string | undefined) => {
      const field = name.trimEnd()
      if (!isField(field)) return whole
      const value = contact[field]
      if (value?.trim()) return value
      if (fallback === undefined) missing ??= field
      return fallback ?? ''
    })
  const filled = mapTexts(params, fill) as TemplateParams
  return missing ? { ok: false, missing } : { ok: true, params: filled }
}

/** Somebody of whom everything is known, to see whether a template can be filled at all. */
export const anybody: ValuedContact = { name: 'x', phone: 'x', email: 'x', company: 'x' }

const isField = (text: string): text is ValueField => (valueFields as readonly string[]).includes(text)

function textsOf(value: unknown, at: string): { at: string; text: string }[] {
  if (typeof value === 'string') return [{ at, text: value }]
  if (Array.isArray(value)) return value.flatMap((item, i) => textsOf(item, `${at}[${i}]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, item]) => textsOf(item, `${at}.${name}`))
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]))
}
