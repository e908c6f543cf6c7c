/** Renders a template with its values for the phone. */
import type { Location, RenderedButton, RenderedCard, RenderedHeader, RenderedTemplate } from './bubble.ts'
import { isObject, isText, type Json, objectsIn } from './http.ts'
import type { Button, Shape, Template } from './templates.ts'

/** `urlOf` returns the link of a media id. */
export function renderTemplate(template: Template, input: unknown, urlOf: (id: string) => string): RenderedTemplate {
  const components = objectsIn(input)
  const isNamed = template.parameter_format === 'NAMED'
  const carousel = componentOf(components, 'carousel')
  const cards = objectsIn(carousel?.cards)
  return {
    name: template.name,
    ...renderShape(template.shape, components, isNamed, urlOf),
    footer: template.shape.footer,
    cards:
      template.shape.cards?.map((shape, index) => {
        const card = cards.find((each) => Number(each.card_index) === index)
        const inside = objectsIn(card?.components)
        return renderShape(shape, inside, isNamed, urlOf)
      }) ?? null,
  }
}

function renderShape(
  shape: Shape,
  components: readonly Json[],
  isNamed: boolean,
  urlOf: (id: string) => string,
): RenderedCard {
  const header = parametersOf(componentOf(components, 'header'))
  const body = parametersOf(componentOf(components, 'body'))
  return {
    header: renderHeader(shape, header, isNamed, urlOf),
    body: fill(shape.body?.text ?? '', shape.body?.names ?? [], body, isNamed),
    buttons: shape.buttons.map((button, index) => renderButton(button, index, components)),
  }
}

function renderHeader(
  { header }: Shape,
  parameters: readonly Json[],
  isNamed: boolean,
  urlOf: (id: string) => string,
): RenderedHeader | null {
  if (!header) return null
  if (header.format === 'TEXT') return { type: 'text', text: fill(header.text, header.names, parameters, isNamed) }
  const type = header.format.toLowerCase() as RenderedHeader['type']
  const value = parameters[0]?.[type]
  if (!isObject(value)) return { type }
  if (type === 'location') return { type, location: value as Location }
  return {
    type,
    ...(isText(value.link) ? { url: value.link } : isText(value.id) ? { url: urlOf(value.id) } : {}),
    ...(isText(value.filename) ? { filename: value.filename } : {}),
  }
}

function renderButton(
  { type, text, url, phone_number }: Button,
  index: number,
  components: readonly Json[],
): RenderedButton {
  const component = components.find((each) => typeOf(each) === 'button' && Number(each.index) === index)
  const [parameter] = parametersOf(component)
  const value = (key: string) => (isText(parameter?.[key]) ? parameter[key] : undefined)
  if (type === 'URL') return { index, type, text, url: url.replace(/\{\{[^}]*\}\}/, value('text') ?? '') }
  if (type === 'COPY_CODE') return { index, type, text, code: value('coupon_code') ?? '' }
  if (type === 'PHONE_NUMBER') return { index, type, text, url: `tel:${phone_number}` }
  return { index, type, text, payload: value('payload') ?? text }
}

export function fill(text: string, names: readonly string[], parameters: readonly Json[], isNamed: boolean): string {
  if (names.length === 0) return text
  return text.replace(/\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g, (whole, name: string) => {
    const parameter = isNamed
      ? parameters.find((each) => each.parameter_name === name)
      : parameters[names.indexOf(name)]
    return (parameter && textOf(parameter)) ?? whole
  })
}

/** The text of a text, currency or date value; `undefined` for other values. */
export function textOf(parameter: Json): string | undefined {
  const { type } = parameter
  if (type === 'text') return isText(parameter.text) ? parameter.text : undefined
  const value = type === 'currency' || type === 'date_time' ? parameter[type] : undefined
  return isObject(value) && isText(value.fallback_value) ? value.fallback_value : undefined
}

export const typeOf = (component: Json) => (isText(component.type) ? component.type.toLowerCase() : '')
export const componentOf = (components: readonly Json[], type: string) =>
  components.find((each) => typeOf(each) === type)
export const parametersOf = (component: Json | undefined): readonly Json[] => objectsIn(component?.parameters)
