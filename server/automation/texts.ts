/**
 * References in the texts of a definition: `{{contact.name}}`, `{{contact.attributes.city}}`, `{{answers.size}}`, a value of a call's
 * response as `{{answers.order.status}}`, each with an optional fallback for an empty value: `{{contact.name|there}}`. Pure.
 *
 * A value is never expanded itself. Any other text in braces is literal. An empty value without a fallback is an empty text, except in
 * the values of a template: channels refuse empty ones.
 */
import { maxTextLength } from '../channels/template-schema.ts'
import { namePattern } from '../contacts/attributes.ts'
import { lengthOf } from '../lib/text.ts'
import { isContactField, readContactField, type ValuedContact, valueFields } from '../messages/sending/values.ts'
import { type Answers, type Message, readAnswerAt } from './definition.ts'
import { findMessageFault } from './message.ts'

export type TextValues = { contact: ValuedContact; answers: Answers }

/** Each character can match in one way only, so the work is linear. */
const reference = /\{\{\s*(contact|answers)\.([^{}|]*)(?:\|([^{}]*))?\}\}/g

/** The error of the first reference to an unknown field, or to an answer that is not in `saved`. */
export function findReferenceFault(text: string, saved: ReadonlySet<string>): string | undefined {
  for (const [, source, name = ''] of text.matchAll(reference)) {
    const field = name.trimEnd()
    const shown = `${source}.${field.slice(0, 60)}`
    if (source === 'contact' && !isContactField(field)) {
      return `unknown field ${shown}; use one of ${valueFields.join(', ')}, attributes.NAME`
    }
    if (source !== 'answers') continue
    const [answer = '', ...path] = field.split('.')
    if (!namePattern.test(answer) || path.includes('')) return `unknown field ${shown}; use answers.NAME`
    if (!saved.has(answer)) return `no earlier question or call saves answers.${answer}`
  }
  return undefined
}

export const hasReference = (text: string): boolean => text.match(reference) !== null

export type FilledText = { ok: true; text: string } | { ok: false; reason: string }

/** Fills a text that is no message: a note, a repeated question, an attribute. */
export function fillText(text: string, values: TextValues, maxLength = maxTextLength): FilledText {
  const filled = expand(text, values, { maxLength })
  return filled === undefined || lengthOf(filled) > maxLength
    ? { ok: false, reason: `has more than ${maxLength} characters with its values` }
    : { ok: true, text: filled }
}

export type FilledMessage = { ok: true; message: Message } | { ok: false; reason: string }

/** Fills every text of a message. The result keeps the limits of the message, or the reason names the text that does not. */
export function fillMessage(message: Message, values: TextValues): FilledMessage {
  let reason: string | undefined
  const filled = mapTexts(message, (text, path, use) => {
    const expanded = expand(text, values, {
      maxLength: maxTextLength,
      isUrl: use === 'url',
      onEmpty: (field) => {
        if (use === 'value') reason ??= `${path}: ${field} is empty and has no fallback`
      },
    })
    if (expanded === undefined) reason ??= `${path}: must have at most ${maxTextLength} characters`
    return expanded ?? text
  })
  reason ??= findMessageFault(filled)
  return reason === undefined ? { ok: true, message: filled } : { ok: false, reason }
}

/** The texts of a message that may have references, with their paths below the message. */
export function listTexts(message: Message): { path: string; text: string }[] {
  const texts: { path: string; text: string }[] = []
  mapTexts(message, (text, path) => {
    texts.push({ path, text })
    return text
  })
  return texts
}

type Expansion = { maxLength: number; isUrl?: boolean; onEmpty?: (field: string) => void }

/** Undefined when the text becomes too long: a value could be repeated a thousand times. */
function expand(text: string, values: TextValues, { maxLength, isUrl, onEmpty }: Expansion): string | undefined {
  let units = text.length
  // A character has at most two units.
  const isTooLong = () => units > 2 * maxLength
  const filled = text.replace(reference, (whole, source: string, name: string, fallback: string | undefined) => {
    if (isTooLong()) return whole
    const field = name.trimEnd()
    const value =
      source === 'contact' ? readContactField(values.contact, field) : toText(readAnswerAt(values.answers, field))
    const isEmpty = !value?.trim()
    if (isEmpty && fallback === undefined) onEmpty?.(`${source}.${field}`)
    // A value must not add a path or a host to a URL.
    const shown = isUrl ? encodeURIComponent(value?.toWellFormed() ?? '') : value
    const replacement = (isEmpty ? fallback : shown) ?? ''
    units += replacement.length - whole.length
    return replacement
  })
  return isTooLong() ? undefined : filled
}

/** Objects and lists have no text. */
function toText(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

/** What a text is used for. `value`: a value of a template. */
type Use = 'text' | 'url' | 'value'
type Change = (text: string, path: string, use: Use) => string

/** Changes the texts that the customer reads, and URLs. Ids, names of templates and languages are literal. */
function mapTexts(message: Message, change: Change): Message {
  const changed = <Name extends string>(
    fields: Partial<Record<Name, string | undefined>>,
    path = '',
    use: Use = 'text',
  ) =>
    Object.fromEntries(
      Object.entries<string | undefined>(fields).flatMap(([name, text]) =>
        text === undefined ? [] : [[name, change(text, path + name, use)]],
      ),
    ) as Record<Name, string>
  switch (message.type) {
    case 'text':
      return { ...message, ...changed({ text: message.text }) }
    case 'interactive':
      return { ...message, interactive: mapInteractive(message.interactive, change) }
    case 'location': {
      const { name, address } = message.location
      return { ...message, location: { ...message.location, ...changed({ name, address }, 'location.') } }
    }
    case 'template': {
      const { params } = message.template
      if (!params) return message
      const filled = mapValues(params, 'template.params', change) as typeof params
      return { ...message, template: { ...message.template, params: filled } }
    }
    default: {
      const { media_url, text, filename } = message
      return { ...message, ...changed({ media_url }, '', 'url'), ...changed({ text, filename }) }
    }
  }
}

type Interactive = Extract<Message, { type: 'interactive' }>['interactive']

function mapInteractive(interactive: Interactive, change: Change): Interactive {
  const text = (value: string, path: string) => change(value, `interactive.${path}`, 'text')
  const optional = <Name extends string>(name: Name, value: string | undefined, path: string = name) =>
    (value === undefined ? {} : { [name]: text(value, path) }) as { [Key in Name]?: string }
  const body = text(interactive.body, 'body')
  if (interactive.kind === 'link') {
    const url = change(interactive.url, 'interactive.url', 'url')
    return { ...interactive, body, text: text(interactive.text, 'text'), url }
  }
  if (interactive.kind === 'buttons') {
    const { header, footer, buttons } = interactive
    return {
      ...{ ...interactive, body, ...optional('header', header), ...optional('footer', footer) },
      buttons: buttons.map(({ id, title }, i) => ({ id, title: text(title, `buttons[${i}].title`) })),
    }
  }
  const sections = interactive.sections.map(({ title, rows }, i) => ({
    title: text(title, `sections[${i}].title`),
    rows: rows.map((row, k) => {
      const path = `sections[${i}].rows[${k}]`
      const title = text(row.title, `${path}.title`)
      return { id: row.id, title, ...optional('description', row.description, `${path}.description`) }
    }),
  }))
  return { ...interactive, body, button: text(interactive.button, 'button'), sections }
}

/** The values of a template, at any depth. */
function mapValues(value: unknown, path: string, change: Change): unknown {
  if (typeof value === 'string') return change(value, path, path.endsWith('.headerMediaUrl') ? 'url' : 'value')
  if (Array.isArray(value)) return value.map((item, i) => mapValues(item, `${path}[${i}]`, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, mapValues(item, `${path}.${name}`, change)]),
  )
}
