/**
 * Fills a stored template with a caller's values: the components for the wire
 * and the text a person reads. Pure.
 *
 * Every variable of the template needs a value. The first faulty value is named
 * as the caller would write it: a required one that is missing, one that is
 * present but empty, a URL that is not http or https. Values the template has
 * no place for are ignored, whatever they are. Values are literal: text in them
 * that looks like a variable stays as it is. A preview collects the names of
 * missing values instead of refusing, and shows the variable in their place.
 */

import { isHttpUrl } from '../../lib/text.ts'
import type { Filled, Previewed, Shown, ShownCard, Template, TemplateParams } from '../channel.ts'
import { type Json, recordOf } from '../reading.ts'

export function fillTemplate(template: Template, params: TemplateParams): Filled {
  const part = fillPart(template.components, params, { isNamed: isNamed(template), lack }, 'template.params.')
  if ('fault' in part) return { ok: false, ...part }
  const { wire, shown } = part
  return { ok: true, components: wire, text: shown.body ?? '', content: shown }
}

/** `missing` names values as `params` does: `body[1]`, `cards[0].headerMediaUrl`. */
export function previewTemplate(template: Template, params: TemplateParams): Previewed {
  const missing: string[] = []
  const collect: Lacking = (name, placeholder, rule) => {
    if (rule !== notEmpty) missing.push(name)
    return placeholder
  }
  const part = fillPart(template.components, params, { isNamed: isNamed(template), lack: collect }, '')
  if ('fault' in part) return { ok: false, fault: 'template', message: part.message }
  return { ok: true, shown: part.shown, missing }
}

const isNamed = ({ parameter_format }: Template) => parameter_format.toUpperCase() === 'NAMED'

type Fault = { fault: 'params' | 'template'; message: string }
/** Handles a value that cannot be used: refuses it, or gives the placeholder that a preview shows instead. */
type Lacking = (name: string, placeholder: string, rule?: string) => string | Fault
type Filling = { isNamed: boolean; lack: Lacking }
type Buttons = (Json & { text: string | null })[]
type Part = { wire: Json[]; shown: Shown & { buttons: Buttons } }

/** The components of a template, or of one card of its carousel. `path` leads to their values. */
function fillPart(components: unknown, params: TemplateParams, filling: Filling, path: string): Part | Fault {
  if (!Array.isArray(components)) return unreadable('its components are no list')
  const wire: Json[] = []
  const shown: Part['shown'] = { header: null, body: null, footer: null, buttons: [], cards: [] }
  for (const item of components) {
    const component = recordOf(item)
    if (!component || typeof component.type !== 'string') return unreadable('a component has no type')
    const type = component.type.toUpperCase()
    if (type === 'HEADER') {
      const header = fillHeader(component, params, filling, path)
      if ('fault' in header) return header
      wire.push(...header.wire)
      shown.header = header.shown
    } else if (type === 'BODY') {
      const body = fillBody(component, params, filling, path)
      if ('fault' in body) return body
      wire.push(...body.wire)
      shown.body = body.shown
    } else if (type === 'FOOTER') {
      if (typeof component.text !== 'string' || hasVariable(component.text)) return unreadable('its footer')
      shown.footer = component.text
    } else if (type === 'BUTTONS') {
      const buttons = fillButtons(component, params, filling, path)
      if ('fault' in buttons) return buttons
      wire.push(...buttons.wire)
      shown.buttons = buttons.shown
    } else if (type === 'CAROUSEL') {
      const carousel = fillCarousel(component, params, filling, path)
      if ('fault' in carousel) return carousel
      wire.push(carousel.wire)
      shown.cards = carousel.shown
    } else if (needsValue(component)) return unreadable(`${type} has a variable that cannot be filled`)
  }
  return { wire, shown }
}

function fillHeader(
  component: Json,
  params: TemplateParams,
  { isNamed, lack }: Filling,
  path: string,
): { wire: Json[]; shown: Shown['header'] } | Fault {
  const format = typeof component.format === 'string' ? component.format.toUpperCase() : 'TEXT'
  if (format === 'TEXT') {
    const { text } = component
    if (typeof text !== 'string') return unreadable('its header has no text')
    const [name, another] = variablesOf(text, isNamed)
    if (another !== undefined) return unreadable('its header has more than one variable')
    if (name === undefined) return { wire: [], shown: { format, text } }
    const value = params.headerText || lack(`${path}headerText`, `{{${name}}}`)
    if (typeof value !== 'string') return value
    const parameter = textParameter(name, value, isNamed)
    return {
      wire: [{ type: 'header', parameters: [parameter] }],
      shown: { format, text: render(text, new Map([[name, value]])) },
    }
  }
  if (format === 'IMAGE' || format === 'VIDEO' || format === 'DOCUMENT') {
    const { headerMediaId: id, headerMediaUrl: url, headerFilename } = params
    const optional = { headerMediaId: id, ...(format === 'DOCUMENT' ? { headerFilename } : {}) }
    const fault = faultOfOptional({ ...optional, ...(id ? { headerMediaUrl: url } : {}) }, path, lack)
    if (fault) return fault
    const isUsable = id || (url && isHttpUrl(url))
    const link = isUsable
      ? url?.trim()
      : lack(`${path}headerMediaUrl`, '', url ? notHttp : 'required (or headerMediaId)')
    if (typeof link === 'object') return link
    const filename = format === 'DOCUMENT' && headerFilename ? { filename: headerFilename } : {}
    const kind = format.toLowerCase()
    return {
      wire: [{ type: 'header', parameters: [{ type: kind, [kind]: { ...(id ? { id } : { link }), ...filename } }] }],
      shown: { format, ...(id ? { id } : { url: link ?? '' }), ...filename },
    }
  }
  if (format === 'LOCATION') {
    const input = params.headerLocation
    const lacking = input ? undefined : lack(`${path}headerLocation`, '')
    if (!input) return typeof lacking === 'object' ? lacking : { wire: [], shown: { format } }
    const { name, address } = input
    const latitude = input.latitude || lack(`${path}headerLocation.latitude`, '')
    if (typeof latitude !== 'string') return latitude
    const longitude = input.longitude || lack(`${path}headerLocation.longitude`, '')
    if (typeof longitude !== 'string') return longitude
    const fault = faultOfOptional({ name, address }, `${path}headerLocation.`, lack)
    if (fault) return fault
    const location = { latitude, longitude, ...(name ? { name } : {}), ...(address ? { address } : {}) }
    return {
      wire: [{ type: 'header', parameters: [{ type: 'location', location }] }],
      shown: { format, location },
    }
  }
  return unreadable(`its header is of a kind that cannot be filled: ${format}`)
}

function fillBody(
  component: Json,
  params: TemplateParams,
  { isNamed, lack }: Filling,
  path: string,
): { wire: Json[]; shown: string } | Fault {
  const { text } = component
  if (typeof text !== 'string') return unreadable('its body has no text')
  const values = new Map<string, string>()
  for (const [i, name] of variablesOf(text, isNamed).entries()) {
    const { bodyNamed = {}, body = [] } = params
    const isByName = Object.hasOwn(bodyNamed, name)
    const isListed = !isByName && (body[i] !== undefined || isPositional(name, isNamed))
    // A name that `bodyNamed` carries decides, also when its value is empty.
    const input = isByName ? bodyNamed[name] : body[i]
    const value = input || lack(isListed ? `${path}body[${i}]` : `${path}bodyNamed.${name}`, `{{${name}}}`)
    if (typeof value !== 'string') return value
    values.set(name, value)
  }
  const parameters = Array.from(values, ([name, value]) => textParameter(name, value, isNamed))
  return { wire: parameters.length > 0 ? [{ type: 'body', parameters }] : [], shown: render(text, values) }
}

function fillButtons(
  component: Json,
  params: TemplateParams,
  { lack }: Filling,
  path: string,
): { wire: Json[]; shown: Buttons } | Fault {
  if (!Array.isArray(component.buttons)) return unreadable('its buttons are no list')
  const wire: Json[] = []
  const shown: Buttons = []
  for (const [i, item] of component.buttons.entries()) {
    const button = recordOf(item)
    if (!button || typeof button.type !== 'string') return unreadable('a button has no type')
    const type = button.type.toUpperCase()
    const input = params.buttonParams?.[i]
    const text = typeof button.text === 'string' ? button.text : null
    const emit = (sub_type: string, parameter: Json) =>
      wire.push({ type: 'button', sub_type, index: String(i), parameters: [parameter] })
    const lacking = () => lack(`${path}buttonParams.${i}`, '{{1}}')

    if (type === 'URL') {
      if (typeof button.url !== 'string') return unreadable('a button has no address')
      const names = variablesOf(button.url, false)
      const value = names.length === 0 ? '' : input || lacking()
      if (typeof value !== 'string') return value
      if (names.length > 0) emit('url', { type: 'text', text: value })
      shown.push({ type, text, url: render(button.url, new Map(names.map((name) => [name, value]))) })
    } else if (type === 'COPY_CODE') {
      const value = input || lacking()
      if (typeof value !== 'string') return value
      emit('copy_code', { type: 'coupon_code', coupon_code: value })
      shown.push({ type, text, code: value })
    } else if (type === 'OTP') {
      // The code on the button is the one in the body, so the caller need not repeat it.
      const code = (input ?? params.body?.[0]) || lacking()
      if (typeof code !== 'string') return code
      emit('url', { type: 'text', text: code })
      shown.push({ type, text, code })
    } else if (type === 'QUICK_REPLY' || type === 'FLOW') {
      const fault = faultOfOptional({ [i]: input }, `${path}buttonParams.`, lack)
      if (fault) return fault
      if (input && type === 'FLOW') emit('flow', { type: 'action', action: { flow_token: input } })
      else if (input) emit('quick_reply', { type: 'payload', payload: input })
      shown.push({ type, text })
    } else if (needsValue(button)) {
      return unreadable(`a button has a variable that cannot be filled: ${type}`)
    } else {
      const phone = typeof button.phone_number === 'string' ? { phone_number: button.phone_number } : {}
      shown.push({ type, text, ...phone })
    }
  }
  return { wire, shown }
}

/** As many cards go out as the template has: position decides, and one that needs nothing may be left empty. */
function fillCarousel(
  component: Json,
  params: TemplateParams,
  filling: Filling,
  path: string,
): { wire: Json; shown: ShownCard[] } | Fault {
  if (!Array.isArray(component.cards)) return unreadable('its cards are no list')
  const wire: Json[] = []
  const shown: ShownCard[] = []
  for (const [i, card] of component.cards.entries()) {
    const part = fillPart(recordOf(card)?.components, params.cards?.[i] ?? {}, filling, `${path}cards[${i}].`)
    if ('fault' in part) return part
    wire.push({ card_index: i, components: part.wire })
    const { header, body, buttons } = part.shown
    shown.push({ header, body, buttons })
  }
  return { wire: { type: 'carousel', cards: wire }, shown }
}

const variable = /\{\{\s*(\w+)\s*\}\}/g

const hasVariable = (text: string) => text.search(variable) !== -1

/** Each variable once, in the order in which its values are given: by number, or where they have names, as they appear. */
function variablesOf(text: string, isNamed: boolean): string[] {
  const names = [...new Set(Array.from(text.matchAll(variable), ([, name = '']) => name))]
  return names.every((name) => isPositional(name, isNamed)) ? names.sort((a, b) => Number(a) - Number(b)) : names
}

/** A template that does not say so is known by its variables: only numbers are positions. */
const isPositional = (name: string, isNamed: boolean) => !isNamed && /^\d+$/.test(name)

function textParameter(name: string, text: string, isNamed: boolean): Json {
  return { type: 'text', ...(isPositional(name, isNamed) ? {} : { parameter_name: name }), text }
}

function render(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(variable, (whole, name: string) => values.get(name) ?? whole)
}

/** Whether something of a kind we do not know has a variable, or asks for a moment in time. */
function needsValue(component: Json): boolean {
  const { example, ...rest } = component
  return hasVariable(JSON.stringify(rest)) || recordOf(rest.limited_time_offer)?.has_expiration === true
}

/** Refuses the first of these values that is present but empty. */
function faultOfOptional(values: Record<string, string | undefined>, path: string, lack: Lacking): Fault | undefined {
  const name = Object.keys(values).find((each) => values[each] === '')
  const lacking = name === undefined ? undefined : lack(path + name, '', notEmpty)
  return typeof lacking === 'object' ? lacking : undefined
}

const notEmpty = 'must not be empty'
const notHttp = 'must be an http or https URL'
const lack: Lacking = (name, _placeholder, rule = 'required') => ({ fault: 'params', message: `${name}: ${rule}` })
const unreadable = (what: string): Fault => ({ fault: 'template', message: what })
