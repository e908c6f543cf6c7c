/**
 * Fills a stored template with a caller's values: the components for the wire, and the text that a customer reads. Pure.
 *
 * Every variable needs a value. The first unusable value is reported with its path: a missing value, an empty one, or a URL
 * that is not http or https. Values without a variable are ignored. Values are literal: a variable in a value is not
 * expanded. A preview collects the paths of missing values instead, and shows the variable.
 *
 * A template may repeat a variable, so the length of the filled text is limited: 64 KiB of variables with values of 4,096 characters
 * would fill 50 MB.
 */

import { isHttpUrl } from '../../lib/text.ts'
import type { FillResult, ShownCard, ShownTemplate, Template, TemplateParams, TemplatePreview } from '../channel.ts'
import { type Json, recordOf } from '../reading.ts'

export function fillTemplate(template: Template, params: TemplateParams): FillResult {
  const part = fillPart(template.components, params, optionsOf(template, onUnusable), 'template.params.')
  if ('fault' in part) return { ok: false, ...part }
  const { wire, shown } = part
  return { ok: true, components: wire, text: shown.body ?? '', content: shown }
}

/** `missing` has the paths of values in `params`: `body[1]`, `cards[0].headerMediaUrl`. */
export function previewTemplate(template: Template, params: TemplateParams): TemplatePreview {
  const missing: string[] = []
  const collect: OnUnusable = (name, placeholder, rule) => {
    if (rule !== notEmpty) missing.push(name)
    return placeholder
  }
  const part = fillPart(template.components, params, optionsOf(template, collect), '')
  if ('fault' in part) return { ok: false, fault: 'template', message: part.message }
  return { ok: true, shown: part.shown, missing }
}

const optionsOf = ({ parameter_format }: Template, onUnusable: OnUnusable): FillOptions => ({
  isNamed: parameter_format.toUpperCase() === 'NAMED',
  onUnusable,
  filled: { length: 0 },
})

type Fault = { fault: 'params' | 'template'; message: string }
/** Handles an unusable value: returns a fault, or the placeholder that a preview shows. */
type OnUnusable = (name: string, placeholder: string, rule?: string) => string | Fault
/** `filled`: the length of all filled texts of the template so far. */
type FillOptions = { isNamed: boolean; onUnusable: OnUnusable; filled: { length: number } }
type Buttons = (Json & { text: string | null })[]
type Part = { wire: Json[]; shown: ShownTemplate & { buttons: Buttons } }

/** Fills the components of a template or of one card. `path` is the prefix of their values. */
function fillPart(components: unknown, params: TemplateParams, options: FillOptions, path: string): Part | Fault {
  if (!Array.isArray(components)) return unreadable('its components are not a list')
  const wire: Json[] = []
  const shown: Part['shown'] = { header: null, body: null, footer: null, buttons: [], cards: [] }
  for (const item of components) {
    const component = recordOf(item)
    if (!component || typeof component.type !== 'string') return unreadable('a component has no type')
    const type = component.type.toUpperCase()
    if (type === 'HEADER') {
      const header = fillHeader(component, params, options, path)
      if ('fault' in header) return header
      wire.push(...header.wire)
      shown.header = header.shown
    } else if (type === 'BODY') {
      const body = fillBody(component, params, options, path)
      if ('fault' in body) return body
      wire.push(...body.wire)
      shown.body = body.shown
    } else if (type === 'FOOTER') {
      if (typeof component.text !== 'string' || hasVariable(component.text)) return unreadable('its footer')
      shown.footer = component.text
    } else if (type === 'BUTTONS') {
      const buttons = fillButtons(component, params, options, path)
      if ('fault' in buttons) return buttons
      wire.push(...buttons.wire)
      shown.buttons = buttons.shown
    } else if (type === 'CAROUSEL') {
      const carousel = fillCarousel(component, params, options, path)
      if ('fault' in carousel) return carousel
      wire.push(carousel.wire)
      shown.cards = carousel.shown
    } else if (needsValue(component)) return unreadable(`${type} has a variable that cannot be filled`)
  }
  return { wire, shown }
}

/** The values that a caller can send. */
const maxVariables = 200
/** Of all filled texts of a template. The provider accepts about 1,024 in a body. */
const maxFilledLength = 65_536

function fillHeader(
  component: Json,
  params: TemplateParams,
  { isNamed, onUnusable, filled }: FillOptions,
  path: string,
): { wire: Json[]; shown: ShownTemplate['header'] } | Fault {
  const format = typeof component.format === 'string' ? component.format.toUpperCase() : 'TEXT'
  if (format === 'TEXT') {
    const { text } = component
    if (typeof text !== 'string') return unreadable('its header has no text')
    const [name, another] = variablesOf(text, isNamed)
    if (another !== undefined) return unreadable('its header has more than one variable')
    if (name === undefined) return { wire: [], shown: { format, text } }
    const value = params.headerText || onUnusable(`${path}headerText`, `{{${name}}}`)
    if (typeof value !== 'string') return value
    const rendered = render(text, new Map([[name, value]]), filled, `${path}headerText`)
    if (typeof rendered !== 'string') return rendered
    const parameter = textParameter(name, value, isNamed)
    return { wire: [{ type: 'header', parameters: [parameter] }], shown: { format, text: rendered } }
  }
  if (format === 'IMAGE' || format === 'VIDEO' || format === 'DOCUMENT') {
    const { headerMediaId: id, headerMediaUrl: url, headerFilename } = params
    const optional = { headerMediaId: id, ...(format === 'DOCUMENT' ? { headerFilename } : {}) }
    const fault = checkOptional({ ...optional, ...(id ? { headerMediaUrl: url } : {}) }, path, onUnusable)
    if (fault) return fault
    const isUsable = id || (url && isHttpUrl(url))
    const link = isUsable
      ? url?.trim()
      : onUnusable(`${path}headerMediaUrl`, '', url ? notHttp : 'required (or headerMediaId)')
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
    const unusable = input ? undefined : onUnusable(`${path}headerLocation`, '')
    if (!input) return typeof unusable === 'object' ? unusable : { wire: [], shown: { format } }
    const { name, address } = input
    const latitude = input.latitude || onUnusable(`${path}headerLocation.latitude`, '')
    if (typeof latitude !== 'string') return latitude
    const longitude = input.longitude || onUnusable(`${path}headerLocation.longitude`, '')
    if (typeof longitude !== 'string') return longitude
    const fault = checkOptional({ name, address }, `${path}headerLocation.`, onUnusable)
    if (fault) return fault
    const location = { latitude, longitude, ...(name ? { name } : {}), ...(address ? { address } : {}) }
    return {
      wire: [{ type: 'header', parameters: [{ type: 'location', location }] }],
      shown: { format, location },
    }
  }
  return unreadable(`its header has a format that cannot be filled: ${format}`)
}

function fillBody(
  component: Json,
  params: TemplateParams,
  { isNamed, onUnusable, filled }: FillOptions,
  path: string,
): { wire: Json[]; shown: string } | Fault {
  const { text } = component
  if (typeof text !== 'string') return unreadable('its body has no text')
  const values = new Map<string, string>()
  const names = variablesOf(text, isNamed)
  if (names.length > maxVariables) return unreadable(`its body has more than ${maxVariables} variables`)
  for (const [i, name] of names.entries()) {
    const { bodyNamed = {}, body = [] } = params
    const isByName = Object.hasOwn(bodyNamed, name)
    const isListed = !isByName && (body[i] !== undefined || isPositional(name, isNamed))
    // A key of `bodyNamed` takes precedence, even when its value is empty.
    const input = isByName ? bodyNamed[name] : body[i]
    const value = input || onUnusable(isListed ? `${path}body[${i}]` : `${path}bodyNamed.${name}`, `{{${name}}}`)
    if (typeof value !== 'string') return value
    values.set(name, value)
  }
  const rendered = render(text, values, filled, `${path}body`)
  if (typeof rendered !== 'string') return rendered
  const parameters = Array.from(values, ([name, value]) => textParameter(name, value, isNamed))
  return { wire: parameters.length > 0 ? [{ type: 'body', parameters }] : [], shown: rendered }
}

function fillButtons(
  component: Json,
  params: TemplateParams,
  { onUnusable, filled }: FillOptions,
  path: string,
): { wire: Json[]; shown: Buttons } | Fault {
  if (!Array.isArray(component.buttons)) return unreadable('its buttons are not a list')
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
    const unusable = () => onUnusable(`${path}buttonParams.${i}`, '{{1}}')

    if (type === 'URL') {
      if (typeof button.url !== 'string') return unreadable('a button has no URL')
      const names = variablesOf(button.url, false)
      const value = names.length === 0 ? '' : input || unusable()
      if (typeof value !== 'string') return value
      const url = render(button.url, new Map(names.map((name) => [name, value])), filled, `${path}buttonParams.${i}`)
      if (typeof url !== 'string') return url
      if (names.length > 0) emit('url', { type: 'text', text: value })
      shown.push({ type, text, url })
    } else if (type === 'COPY_CODE') {
      const value = input || unusable()
      if (typeof value !== 'string') return value
      emit('copy_code', { type: 'coupon_code', coupon_code: value })
      shown.push({ type, text, code: value })
    } else if (type === 'OTP') {
      // The code on the button defaults to the one in the body.
      const code = (input ?? params.body?.[0]) || unusable()
      if (typeof code !== 'string') return code
      emit('url', { type: 'text', text: code })
      shown.push({ type, text, code })
    } else if (type === 'QUICK_REPLY' || type === 'FLOW') {
      const fault = checkOptional({ [i]: input }, `${path}buttonParams.`, onUnusable)
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

/** Fills all cards of the template, by index. A card without variables needs no values. */
function fillCarousel(
  component: Json,
  params: TemplateParams,
  options: FillOptions,
  path: string,
): { wire: Json; shown: ShownCard[] } | Fault {
  if (!Array.isArray(component.cards)) return unreadable('its cards are not a list')
  const wire: Json[] = []
  const shown: ShownCard[] = []
  for (const [i, card] of component.cards.entries()) {
    const part = fillPart(recordOf(card)?.components, params.cards?.[i] ?? {}, options, `${path}cards[${i}].`)
    if ('fault' in part) return part
    wire.push({ card_index: i, components: part.wire })
    const { header, body, buttons } = part.shown
    shown.push({ header, body, buttons })
  }
  return { wire: { type: 'carousel', cards: wire }, shown }
}

const variable = /\{\{\s*(\w+)\s*\}\}/g

const hasVariable = (text: string) => text.search(variable) !== -1

/** Each variable once, in the order of its values: numbers ascending, names by first occurrence. */
function variablesOf(text: string, isNamed: boolean): string[] {
  const names = [...new Set(Array.from(text.matchAll(variable), ([, name = '']) => name))]
  return names.every((name) => isPositional(name, isNamed)) ? names.sort((a, b) => Number(a) - Number(b)) : names
}

/** Without a parameter format, a variable that is a number is positional. */
const isPositional = (name: string, isNamed: boolean) => !isNamed && /^\d+$/.test(name)

function textParameter(name: string, text: string, isNamed: boolean): Json {
  return { type: 'text', ...(isPositional(name, isNamed) ? {} : { parameter_name: name }), text }
}

/** The text with its values. `path` names them when the texts of the template become too long; then this one is not built. */
function render(
  text: string,
  values: ReadonlyMap<string, string>,
  filled: { length: number },
  path: string,
): string | Fault {
  filled.length += text.length
  const rendered = text.replace(variable, (whole, name: string) => {
    const value = values.get(name) ?? whole
    filled.length += value.length - whole.length
    return filled.length > maxFilledLength ? '' : value
  })
  if (filled.length <= maxFilledLength) return rendered
  const message = `${path}: the texts of the template must have at most ${maxFilledLength} characters with their values`
  return { fault: 'params', message }
}

/** Whether a component of an unknown type has a variable or needs an expiry time. */
function needsValue(component: Json): boolean {
  const { example, ...rest } = component
  return hasVariable(JSON.stringify(rest)) || recordOf(rest.limited_time_offer)?.has_expiration === true
}

/** Reports the first of these values that is present but empty. */
function checkOptional(
  values: Record<string, string | undefined>,
  path: string,
  onUnusable: OnUnusable,
): Fault | undefined {
  const name = Object.keys(values).find((each) => values[each] === '')
  const unusable = name === undefined ? undefined : onUnusable(path + name, '', notEmpty)
  return typeof unusable === 'object' ? unusable : undefined
}

const notEmpty = 'must not be empty'
const notHttp = 'must be an http or https URL'
const onUnusable: OnUnusable = (name, _placeholder, rule = 'required') => ({
  fault: 'params',
  message: `${name}: ${rule}`,
})
const unreadable = (message: string): Fault => ({ fault: 'template', message })
