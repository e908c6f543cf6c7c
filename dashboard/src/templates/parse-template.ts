/**
 * Parses the provider's template components for the pages. Unknown parts are ignored; the service validates the template when
 * it is sent.
 *
 * A value has the same path as in the service's errors: `body[0]`, `bodyNamed.time`, `cards[1].buttonParams.0`.
 */
import type { ItemOf } from '../lib/api.ts'
import type { TemplateParams } from '../lib/calls.ts'

export type Template = ItemOf<'GET /templates'>

/** The values of a template or of one of its cards. */
export type Values = Omit<TemplateParams, 'cards'>

export type Variable = { name: string; index: number; isNamed: boolean; example: string | null }
type Media = 'image' | 'video' | 'document'
export type Header =
  | { kind: 'text'; text: string; variable: Variable | null }
  | { kind: Media; example: string | null }
  | { kind: 'location' }
export type Button = {
  type: string
  text: string
  url: string | null
  /** The required value, if there is one. */
  needs: 'url' | 'code' | null
  example: string | null
}
export type Part = {
  header: Header | null
  body: { text: string; variables: readonly Variable[] } | null
  footer: string | null
  buttons: readonly Button[]
  cards: readonly Part[]
}

/** `{{1}}` or `{{name}}` in a text. */
export const variable = /\{\{\s*(\w+)\s*\}\}/g

export const parseTemplate = ({ components, parameter_format }: Template): Part =>
  readPart(components, parameter_format.toUpperCase() === 'NAMED')

function readPart(components: unknown, isNamed: boolean): Part {
  const part: Part = { header: null, body: null, footer: null, buttons: [], cards: [] }
  for (const component of recordsOf(components)) {
    const type = textOf(component.type)?.toUpperCase()
    if (type === 'HEADER') part.header = readHeader(component, isNamed)
    if (type === 'BODY') part.body = readBody(component, isNamed)
    if (type === 'FOOTER') part.footer = textOf(component.text)
    if (type === 'BUTTONS') part.buttons = recordsOf(component.buttons).map(readButton)
    if (type === 'CAROUSEL') part.cards = recordsOf(component.cards).map((card) => readPart(card.components, isNamed))
  }
  // A one-time password button uses the code in the body, so the code is entered once.
  const hasBodyCode = (part.body?.variables.length ?? 0) > 0
  if (hasBodyCode)
    part.buttons = part.buttons.map((button) => (button.type === 'OTP' ? { ...button, needs: null } : button))
  return part
}

function readHeader(component: Json, isNamed: boolean): Header | null {
  const example = recordOf(component.example)
  const format = textOf(component.format)?.toLowerCase() ?? 'text'
  if (format === 'image' || format === 'video' || format === 'document') {
    return { kind: format, example: listOf(example?.header_handle).map(textOf).find(Boolean) ?? null }
  }
  if (format === 'location') return { kind: 'location' }
  const text = textOf(component.text)
  if (format !== 'text' || text === null) return null
  const [name] = variablesOf(text, isNamed)
  const named = recordsOf(example?.header_text_named_params)[0]
  const headerExample = textOf(listOf(example?.header_text)[0]) ?? textOf(named?.example)
  return { kind: 'text', text, variable: name ? { name, index: 0, isNamed: true, example: headerExample } : null }
}

function readBody(component: Json, isNamed: boolean): Part['body'] {
  const text = textOf(component.text)
  if (text === null) return null
  const example = recordOf(component.example)
  const positional = listOf(listOf(example?.body_text)[0])
  const byName = recordsOf(example?.body_text_named_params)
  const variables = variablesOf(text, isNamed).map((name, index) => ({
    name,
    index,
    isNamed: !isPositional(name, isNamed),
    example: textOf(byName.find(({ param_name }) => param_name === name)?.example) ?? textOf(positional[index]),
  }))
  return { text, variables }
}

function readButton(button: Json): Button {
  const type = textOf(button.type)?.toUpperCase() ?? ''
  const url = textOf(button.url)
  const isDynamic = type === 'URL' && url !== null && url.search(variable) !== -1
  return {
    type,
    text: textOf(button.text) ?? '',
    url,
    needs: isDynamic ? 'url' : type === 'COPY_CODE' || type === 'OTP' ? 'code' : null,
    example: exampleOfButton(textOf(listOf(button.example)[0]) ?? textOf(button.example), isDynamic ? url : null),
  }
}

/** The example of a URL button is a full URL. Returns only the part that replaces the variable. */
function exampleOfButton(example: string | null, url: string | null): string | null {
  const [before = '', after = ''] = url?.split(/\{\{\s*\w+\s*\}\}/) ?? []
  if (!example?.startsWith(before) || !example.endsWith(after)) return example
  return example.slice(before.length, example.length - after.length) || null
}

/** The distinct variables of a text: numbered ones sorted, named ones in order of appearance. */
function variablesOf(text: string, isNamed: boolean): string[] {
  const names = [...new Set(Array.from(text.matchAll(variable), ([, name = '']) => name))]
  return names.every((name) => isPositional(name, isNamed)) ? names.sort((a, b) => Number(a) - Number(b)) : names
}

const isPositional = (name: string, isNamed: boolean): boolean => !isNamed && /^\d+$/.test(name)

/** The paths of the required values that `params` lacks, in the order of the form. */
export function missingValues(template: Template, params: TemplateParams): string[] {
  const part = parseTemplate(template)
  return [
    ...missingOf(part, params, ''),
    ...part.cards.flatMap((card, index) => missingOf(card, params.cards?.[index] ?? {}, `cards[${index}].`)),
  ]
}

function missingOf({ header, body, buttons }: Part, values: Values, path: string): string[] {
  const missing: string[] = []
  if (header?.kind === 'text' && header.variable && !values.headerText) missing.push('headerText')
  if (header && header.kind !== 'text' && header.kind !== 'location' && !values.headerMediaUrl && !values.headerMediaId)
    missing.push('headerMediaUrl')
  if (header?.kind === 'location') {
    if (!values.headerLocation?.latitude) missing.push('headerLocation.latitude')
    if (!values.headerLocation?.longitude) missing.push('headerLocation.longitude')
  }
  for (const each of body?.variables ?? []) if (!variableValue(each, values)) missing.push(variablePath(each))
  buttons.forEach(({ needs }, index) => {
    if (needs && !values.buttonParams?.[index]) missing.push(`buttonParams.${index}`)
  })
  return missing.map((name) => path + name)
}

export const variablePath = ({ name, index, isNamed }: Variable): string =>
  isNamed ? `bodyNamed.${name}` : `body[${index}]`

export const variableValue = ({ name, index, isNamed }: Variable, values: Values): string =>
  (isNamed ? values.bodyNamed?.[name] : values.body?.[index]) ?? ''

type Json = Record<string, unknown>

const recordOf = (value: unknown): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const recordsOf = (value: unknown): Json[] =>
  listOf(value)
    .map(recordOf)
    .filter((item) => item !== undefined)
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
