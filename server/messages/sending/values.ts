/**
 * Contact fields in the values of a template: `{{contact.name}}`, or with a fallback for an empty field,
 * `{{contact.name|there}}`. An attribute is a field too: `{{contact.attributes.city}}`. Pure.
 *
 * The text of a contact's field is never expanded itself. Any other text in braces is literal, as in a message.
 */
import type { TemplateParams } from '../../channels/channel.ts'
import { maxTextLength } from '../../channels/template-schema.ts'
import { namePattern } from '../../contacts/attributes.ts'
import { lengthOf } from '../../lib/text.ts'

export const valueFields = ['name', 'phone', 'email', 'company'] as const
type ValueField = (typeof valueFields)[number]
export type ValuedContact = Record<ValueField, string | null> & {
  /** `any`: every attribute has a value. Null: there is no contact. */
  attributes?: Readonly<Record<string, unknown>> | 'any' | null | undefined
}

const attributePrefix = 'attributes.'

/** The name of the attribute in `attributes.NAME`; undefined for every other field. */
export function attributeOf(field: string): string | undefined {
  const name = field.startsWith(attributePrefix) ? field.slice(attributePrefix.length) : ''
  return namePattern.test(name) ? name : undefined
}

/** The text of a contact's field; null when the contact has none. */
export function readContactField(contact: ValuedContact, field: string): string | null {
  if (isField(field)) return contact[field]
  const attributes = contact.attributes ?? {}
  if (attributes === 'any') return 'x'
  const name = attributeOf(field) ?? ''
  const value = Object.hasOwn(attributes, name) ? attributes[name] : null
  return value === null || value === undefined ? null : String(value)
}

/** Each character can match in one way only. Blanks that two groups can match take quadratic time: seconds per request. */
const reference = /\{\{\s*contact\.([^{}|]*)(?:\|([^{}]*))?\}\}/g

/** Returns the error for the first unknown field, with the path of the value, or undefined. */
export function findValueFault(params: TemplateParams, rootPath: string): string | undefined {
  for (const { path, text } of listTexts(params, rootPath)) {
    for (const [, name = ''] of text.matchAll(reference)) {
      const field = name.trimEnd()
      if (!isContactField(field)) {
        return `${path}: unknown field contact.${field}; use one of ${valueFields.join(', ')}, attributes.NAME`
      }
    }
  }
  return undefined
}

export const hasFields = (params: TemplateParams): boolean =>
  listTexts(params, '').some(({ text }) => text.match(reference) !== null)

/** The fields without a fallback, in the order in which `expandValues` reports them. One pass: a request can name thousands. */
export function listRequiredFields(params: TemplateParams): string[] {
  const required = new Set<string>()
  for (const { text } of listTexts(params, '')) {
    for (const [, name = '', fallback] of text.matchAll(reference)) {
      const field = name.trimEnd()
      if (fallback === undefined && isContactField(field)) required.add(field)
    }
  }
  return [...required]
}

/** A failure without a `missing` field: a value is longer than `maxTextLength` with its fields. */
export type ExpandedValues = { ok: true; params: TemplateParams } | { ok: false; missing?: string }

/** Replaces the fields with the contact's values, or returns the first empty field that has no fallback. */
export function expandValues(params: TemplateParams, contact: ValuedContact): ExpandedValues {
  let missing: string | undefined
  let isTooLong = false
  const fill = (text: string) => {
    let units = text.length
    const filled = text.replace(reference, (whole, name: string, fallback: string | undefined) => {
      const field = name.trimEnd()
      // A character has at most two units. A request could multiply the longest name by 65,536.
      if (!isContactField(field) || units > 2 * maxTextLength) return whole
      const value = readContactField(contact, field)
      const isEmpty = !value?.trim()
      if (isEmpty && fallback === undefined) missing ??= field
      const replacement = (isEmpty ? fallback : value) ?? ''
      units += replacement.length - whole.length
      return replacement
    })
    if (filled !== text && lengthOf(filled) > maxTextLength) isTooLong = true
    return filled
  }
  const filled = mapTexts(params, fill) as TemplateParams
  if (missing) return { ok: false, missing }
  return isTooLong ? { ok: false } : { ok: true, params: filled }
}

export const tooLongReason = `a value has more than ${maxTextLength} characters with the fields of the contact`

/** A contact with a value in every field, to check whether a template can be filled at all. */
export const completeContact: ValuedContact = { name: 'x', phone: 'x', email: 'x', company: 'x', attributes: 'any' }

/** Whether a contact can have the field. */
export const isContactField = (field: string): boolean => isField(field) || attributeOf(field) !== undefined

const isField = (text: string): text is ValueField => (valueFields as readonly string[]).includes(text)

function listTexts(value: unknown, path: string): { path: string; text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }]
  if (Array.isArray(value)) return value.flatMap((item, i) => listTexts(item, `${path}[${i}]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, item]) => listTexts(item, `${path}.${name}`))
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]))
}
