/**
 * A template's components, which are the provider's own words, read into what
 * the pages show and ask for. Whatever cannot be read is left out, never thrown
 * at: the service says what is wrong with it when it is sent.
 *
 * A value has a path, the same as the service names it by: `body[0]`,
 * `bodyNamed.time`, `cards[1].buttonParams.0`.
 */
import type { ItemOf } from '../lib/api.ts'
import type { TemplateParams } from '../lib/calls.ts'

export type Template = ItemOf<'GET /templates'>

/** Values of a whole template or of one of its cards, which have fewer. */
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
  /** What must be given for it, if anything. */
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

/** `{{1}}` or `{{name}}`, as they stand in a text. */
export const variable = /\{\{\s*(\w+)\s*\}\}/g

export const readTemplate = ({ components, parameter_format }: Template): Part =>
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
  // The code on such a button is the one in the body, so it need not be said twice.
  const isSaid = (part.body?.variables.length ?? 0) > 0
  if (isSaid) part.buttons = part.buttons.map((button) => (button.type === 'OTP' ? { ...button, needs: null } : button))
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
  const shown = textOf(listOf(example?.header_text)[0]) ?? textOf(named?.example)
  return { kind: 'text', text, variable: name ? { name, index: 0, isNamed: true, example: shown } : null }
}

function readBody(component: Json, isNamed: boolean): Part['body'] {
  const text = textOf(component.text)
  if (text === null) return null
  const example = recordOf(component.example)
  const byPlace = listOf(listOf(example?.body_text)[0])
  const byName = recordsOf(example?.body_text_named_params)
  const variables = variablesOf(text, isNamed).map((name, index) => ({
    name,
    index,
    isNamed: !isPositional(name, isNamed),
    example: textOf(byName.find(({ param_name }) => param_name === name)?.example) ?? textOf(byPlace[index]),
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

/** An example of an address is a whole one; what is asked for is only what stands in its variable's place. */
function exampleOfButton(example: string | null, url: string | null): string | null {
  const [before = '', after = ''] = url?.split(/\{\{\s*\w+\s*\}\}/) ?? []
  if (!example?.startsWith(before) || !example.endsWith(after)) return example
  return example.slice(before.length, example.length - after.length) || null
}

/** Each variable once: by number, or where they have names, as they appear. */
function variablesOf(text: string, isNamed: boolean): string[] {
  const names = [...new Set(Array.from(text.matchAll(variable), ([, name = '']) => name))]
  return names.every((name) => isPositional(name, isNamed)) ? names.sort((a, b) => Number(a) - Number(b)) : names
}

const isPositional = (name: string, isNamed: boolean): boolean => !isNamed && /^\d+$/.test(name)

/** The paths of all values that a template needs and `params` lack, in the order in which they are asked for. */
export function missingValues(template: Template, params: TemplateParams): string[] {
  const part = readTemplate(template)
  return [
    ...missingOf(part, params, ''),
    ...part.cards.flatMap((card, place) => missingOf(card, params.cards?.[place] ?? {}, `cards[${place}].`)),
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
  for (const each of body?.variables ?? []) if (!givenValue(each, values)) missing.push(pathOfVariable(each))
  buttons.forEach(({ needs }, place) => {
    if (needs && !values.buttonParams?.[place]) missing.push(`buttonParams.${place}`)
  })
  return missing.map((name) => path + name)
}

export const pathOfVariable = ({ name, index, isNamed }: Variable): string =>
  isNamed ? `bodyNamed.${name}` : `body[${index}]`

export const givenValue = ({ name, index, isNamed }: Variable, values: Values): string =>
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
