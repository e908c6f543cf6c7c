/** The provider's validation of a template's values. */
import { type Failure, failure } from './errors.ts'
import { isHttpUrl, isObject, isText, type Json, objectsIn } from './http.ts'
import { componentOf, fill, parametersOf, textOf, typeOf } from './template-render.ts'
import type { Button, Shape, Template } from './templates.ts'

/** Returns `undefined` if the values match the template. `isMedia` returns whether a media id exists. */
export function checkTemplate(
  template: Template,
  input: unknown,
  isMedia: (id: string) => boolean,
): Failure | undefined {
  if (input !== undefined && !Array.isArray(input)) return failure(100, 'template.components: an array')
  const components: readonly unknown[] = input ?? []
  const isNamed = template.parameter_format === 'NAMED'
  const known = new Set(['header', 'body', 'button', 'carousel', 'limited_time_offer'])
  for (const component of components) {
    if (!isObject(component) || !isText(component.type) || !known.has(component.type.toLowerCase())) {
      return failure(100, 'template.components: each has a type of header, body, button, carousel, limited_time_offer')
    }
  }
  const list = components as readonly Json[]
  return checkShape(template.shape, list, isNamed, isMedia, '') ?? checkCards(template.shape, list, isNamed, isMedia)
}

function checkShape(
  shape: Shape,
  components: readonly Json[],
  isNamed: boolean,
  isMedia: (id: string) => boolean,
  where: string,
): Failure | undefined {
  const header = parametersOf(componentOf(components, 'header'))
  const body = parametersOf(componentOf(components, 'body'))
  return (
    checkHeader(shape, header, isNamed, isMedia, where) ??
    checkTexts(shape.body?.text ?? '', shape.body?.names ?? [], body, isNamed, `${where}body`, 1024) ??
    checkButtons(
      shape.buttons,
      components.filter((each) => typeOf(each) === 'button'),
      where,
    )
  )
}

function checkHeader(
  { header }: Shape,
  parameters: readonly Json[],
  isNamed: boolean,
  isMedia: (id: string) => boolean,
  where: string,
): Failure | undefined {
  const name = `${where}header`
  if (!header || header.format === 'TEXT') {
    return checkTexts(header?.text ?? '', header?.names ?? [], parameters, isNamed, name, 60)
  }
  const [parameter] = parameters
  const type = isText(parameter?.type) ? parameter.type.toLowerCase() : 'unknown'
  const expected = header.format.toLowerCase()
  const value = parameter?.[expected]
  if (parameters.length !== 1 || type !== expected || !isObject(value)) {
    return failure(132012, `${name}: Format mismatch, expected ${header.format}, received ${type.toUpperCase()}`)
  }
  if (expected === 'location') {
    const isPlace = [value.latitude, value.longitude].every(
      (each) => each !== undefined && each !== '' && Number.isFinite(Number(each)),
    )
    return isPlace ? undefined : failure(132012, `${name}: latitude and longitude are required`)
  }
  if (['image', 'video', 'document'].includes(expected)) return checkMediaValue(value, isMedia, name)
  return undefined
}

/** Exactly one of `id` and `link`. */
export function checkMediaValue(value: Json, isMedia: (id: string) => boolean, where: string): Failure | undefined {
  const { id, link } = value
  if ((id === undefined) === (link === undefined))
    return failure(131009, `${where}: exactly one of id and link is required`)
  if (link !== undefined) {
    return isHttpUrl(link) ? undefined : failure(131009, `${where}: link is no http address`)
  }
  return isText(id) && isMedia(id) ? undefined : failure(131009, `${where}: media id ${String(id)} does not exist`)
}

function checkTexts(
  text: string,
  names: readonly string[],
  parameters: readonly Json[],
  isNamed: boolean,
  where: string,
  maxLength: number,
): Failure | undefined {
  if (parameters.length !== names.length) {
    return failure(
      132000,
      `${where}: number of localizable_params (${parameters.length}) does not match the expected number of params (${names.length})`,
    )
  }
  if (names.length === 0) return undefined
  const seen = new Set<unknown>()
  for (const parameter of parameters) {
    const value = textOf(parameter)
    if (value === undefined)
      return failure(132012, `${where}: Format mismatch, expected TEXT, received ${String(parameter.type)}`)
    if (value === '') return failure(131008, `${where}: Parameter of type text is missing text value`)
    if (/[\n\t]| {5}/.test(value)) {
      return failure(
        132018,
        `${where}: Param text cannot have new-line/tab characters or more than 4 consecutive spaces`,
      )
    }
    if (isNamed && (!names.includes(String(parameter.parameter_name)) || seen.has(parameter.parameter_name))) {
      return failure(
        132018,
        `${where}: Parameter name ${String(parameter.parameter_name ?? 'is missing')} does not match the template: ${names.join(', ')}`,
      )
    }
    seen.add(parameter.parameter_name)
  }
  const rendered = fill(text, names, parameters, isNamed)
  return rendered.length > maxLength ? failure(132005, `${where}: at most ${maxLength} characters`) : undefined
}

const subTypes: Record<string, readonly string[]> = {
  QUICK_REPLY: ['quick_reply'],
  URL: ['url'],
  COPY_CODE: ['copy_code'],
  OTP: ['url', 'copy_code'],
  FLOW: ['flow'],
  CATALOG: ['catalog'],
  MPM: ['mpm'],
}

function checkButtons(buttons: readonly Button[], input: readonly Json[], where: string): Failure | undefined {
  const filled = new Set<number>()
  for (const component of input) {
    const index = Number(component.index)
    const button = component.index === undefined || component.index === '' ? undefined : buttons[index]
    if (!button) return failure(132018, `${where}buttons: there is no button at index ${String(component.index)}`)
    if (filled.has(index)) return failure(132018, `${where}buttons: the button at index ${index} occurs twice`)
    const subType = isText(component.sub_type) ? component.sub_type.toLowerCase() : ''
    const expected = subTypes[button.type]
    if (!expected) return failure(132018, `${where}buttons: the button at index ${index} takes no value`)
    if (!expected.includes(subType)) {
      return failure(
        132012,
        `${where}buttons: sub_type of the button at index ${index} is ${expected[0]}, received ${subType || 'nothing'}`,
      )
    }
    if (button.type === 'URL' && !button.needsValue) {
      return failure(132018, `${where}buttons: the url of the button at index ${index} has no variable`)
    }
    const error = checkButtonValue(subType, parametersOf(component), `${where}buttons: the button at index ${index}`)
    if (error) return error
    filled.add(index)
  }
  const missing = buttons.findIndex(({ needsValue }, index) => needsValue && !filled.has(index))
  if (missing < 0) return undefined
  const type = buttons[missing]?.type === 'COPY_CODE' ? 'Copy code' : 'Url'
  return failure(131008, `${where}buttons: Button at index ${missing} of type ${type} requires a parameter`)
}

function checkButtonValue(subType: string, parameters: readonly Json[], where: string): Failure | undefined {
  const [parameter] = parameters
  if (parameters.length !== 1 || !parameter) return failure(132000, `${where}: exactly one parameter is required`)
  const [key, maxLength] =
    subType === 'url'
      ? ['text', 2000]
      : subType === 'copy_code'
        ? ['coupon_code', 20]
        : subType === 'quick_reply'
          ? ['payload', 512]
          : ['action', 0]
  const expected = key as string
  if (parameter.type !== expected)
    return failure(132012, `${where}: expected ${expected}, received ${String(parameter.type)}`)
  if (expected === 'action') return undefined
  const value = parameter[expected]
  if (!isText(value) || value === '') return failure(131008, `${where}: ${expected} is missing`)
  return value.length > Number(maxLength) ? failure(132018, `${where}: at most ${maxLength} characters`) : undefined
}

function checkCards(
  { cards }: Shape,
  components: readonly Json[],
  isNamed: boolean,
  isMedia: (id: string) => boolean,
): Failure | undefined {
  const carousel = componentOf(components, 'carousel')
  if (!cards) return carousel ? failure(132012, 'carousel: the template has none') : undefined
  const input = objectsIn(carousel?.cards)
  if (input.length !== cards.length) {
    return failure(132018, `carousel: number of cards (${input.length}) does not match the template (${cards.length})`)
  }
  for (const [index, shape] of cards.entries()) {
    const card = input.find((each) => Number(each.card_index) === index)
    if (!card) return failure(132018, `carousel: card_index ${index} is missing`)
    const inside = objectsIn(card.components)
    const error = checkShape(shape, inside, isNamed, isMedia, `carousel card ${index} `)
    if (error) return error
  }
  return undefined
}
