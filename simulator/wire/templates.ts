/**
 * Message templates: the seeded ones of every account, and those an account creates.
 *
 * A template holds its API resource and its `shape`: the values that a send
 * must fill in. The shape is computed once, because every send is checked
 * against it.
 */
import { changeCallback } from './callback.ts'
import { type Failure, failure } from './errors.ts'
import { isObject, type Json, objectsIn } from './http.ts'
import { hash } from './ids.ts'

export type Template = {
  readonly id: string
  readonly name: string
  readonly language: string
  readonly category: string
  readonly status: string
  readonly parameter_format: 'POSITIONAL' | 'NAMED'
  readonly components: readonly Json[]
  readonly shape: Shape
}

/** The parts of a template that take values. Positional values are named `1`, `2`, … */
export type Shape = {
  header: { format: string; text: string; names: readonly string[] } | undefined
  body: { text: string; names: readonly string[] } | undefined
  footer: string | null
  buttons: readonly Button[]
  cards: readonly Shape[] | undefined
}
export type Button = { type: string; text: string; url: string; needsValue: boolean; phone_number: string }

export const templateKey = ({ name, language }: { name: string; language: string }) => `${name}/${language}`

const defaultLanguage = 'en_US'

/** The path of a sample picture that does not expire. It needs no sign-in. */
export const samplePicture = '/simulator/media/88099999999999990000'

/** The documented templates. Ids differ between owners. `origin` serves the sample picture. */
export function seedTemplates(owner: string, origin: string): Template[] {
  const seed = (name: string, components: Json[], more: Partial<Template> = {}) =>
    createTemplate(owner, { name, language: defaultLanguage, category: 'UTILITY', components, ...more })
  const picture = {
    type: 'HEADER',
    format: 'IMAGE',
    example: { header_handle: [`${origin}${samplePicture}`] },
  }
  const card = {
    components: [
      picture,
      { type: 'BODY', text: 'Now with {{1}} off.', example: { body_text: [['20%']] } },
      { type: 'BUTTONS', buttons: [urlButton('See it', 'https://shop.example/p/{{1}}')] },
    ],
  }
  return [
    seed('hello_world', [
      { type: 'HEADER', format: 'TEXT', text: 'Hello World' },
      {
        type: 'BODY',
        text: 'Welcome and congratulations! This message shows that you can send one to your customers.',
      },
      { type: 'FOOTER', text: 'A sample message' },
    ]),
    seed('order_confirmed', [body('Thank you, {{1}}! Your order {{2}} is confirmed.', ['Ann', '#4711'])]),
    seed('order_update', [
      body('Your order {{1}} is {{2}} now.', ['#4711', 'on its way']),
      { type: 'BUTTONS', buttons: [urlButton('Track it', 'https://shop.example/orders/{{1}}')] },
    ]),
    seed('order_code', [
      { type: 'HEADER', format: 'TEXT', text: 'A code for {{1}}', example: { header_text: ['Ann'] } },
      body('Show this code when you collect your order {{1}}.', ['#4711']),
      { type: 'BUTTONS', buttons: [{ type: 'COPY_CODE', text: 'Copy offer code', example: ['SPRING25'] }] },
    ]),
    seed(
      'appointment',
      [
        picture,
        {
          type: 'BODY',
          text: 'Hello {{name}}, we look forward to seeing you: {{time}}.',
          example: {
            body_text_named_params: [
              { param_name: 'name', example: 'Ann' },
              { param_name: 'time', example: 'Friday at 10:30' },
            ],
          },
        },
      ],
      { parameter_format: 'NAMED' },
    ),
    seed('offer_carousel', [body('Picked for you, {{1}}:', ['Ann']), { type: 'CAROUSEL', cards: [card, card] }], {
      category: 'MARKETING',
    }),
    seed('paused_promo', [{ type: 'BODY', text: 'Our sale starts today.' }], {
      category: 'MARKETING',
      status: 'PAUSED',
    }),
  ]
}

const body = (text: string, example: string[]) => ({ type: 'BODY', text, example: { body_text: [example] } })
const urlButton = (text: string, url: string) => ({ type: 'URL', text, url, example: [url.replace('{{1}}', '4711')] })

export function createTemplate(
  owner: string,
  input: Pick<Template, 'name' | 'language' | 'category' | 'components'> & Partial<Template>,
): Template {
  const { name, language } = input
  const id = `${String(hash(name, hash(owner))).padStart(10, '1')}${String(hash(language, hash(name))).slice(0, 5)}`
  return {
    status: 'APPROVED',
    parameter_format: 'POSITIONAL',
    ...input,
    id,
    shape: shapeOf(input.components),
  }
}

const asText = (value: unknown) => (typeof value === 'string' ? value : '')

function shapeOf(components: readonly Json[]): Shape {
  const shape: Shape = { header: undefined, body: undefined, footer: null, buttons: [], cards: undefined }
  for (const component of components) {
    const text = asText(component.text)
    const type = asText(component.type).toUpperCase()
    if (type === 'HEADER') {
      shape.header = { format: asText(component.format).toUpperCase() || 'TEXT', text, names: namesIn(text) }
    }
    if (type === 'BODY') shape.body = { text, names: namesIn(text) }
    if (type === 'FOOTER') shape.footer = text
    if (type === 'BUTTONS') {
      shape.buttons = objectsIn(component.buttons).map((button) => {
        const buttonType = asText(button.type).toUpperCase()
        const url = asText(button.url)
        return {
          type: buttonType,
          text: asText(button.text) || (buttonType === 'COPY_CODE' ? 'Copy offer code' : ''),
          url,
          needsValue:
            (buttonType === 'URL' && url.includes('{{')) || buttonType === 'COPY_CODE' || buttonType === 'OTP',
          phone_number: asText(button.phone_number),
        }
      })
    }
    if (type === 'CAROUSEL' && Array.isArray(component.cards)) {
      shape.cards = objectsIn(component.cards).map(({ components }) => shapeOf(objectsIn(components)))
    }
  }
  return shape
}

/** The names in `{{1}}` and `{{name}}`, without duplicates, numbers sorted. */
function namesIn(text: string): string[] {
  const names = new Set([...text.matchAll(/\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g)].map(([, name = '']) => name))
  return [...names].sort((one, other) => Number(one) - Number(other) || 0)
}

/** Parses the body of `POST …/message_templates`. */
export function parseTemplate(owner: string, input: unknown, isKnown: (key: string) => boolean): Template | Failure {
  if (!isObject(input)) return failure(100, 'a JSON object is required')
  const { name, language, category, components } = input
  if (typeof name !== 'string' || !/^[a-z0-9_]{1,512}$/.test(name)) {
    return failure(100, 'name: lower-case letters, digits and underscores, at most 512')
  }
  if (typeof language !== 'string' || !/^[a-z]{2,3}(_[A-Za-z]{2,4})?$/.test(language)) {
    return failure(100, 'language: a code such as en_US')
  }
  const kind = asText(category).toUpperCase()
  if (!['MARKETING', 'UTILITY', 'AUTHENTICATION'].includes(kind)) {
    return failure(100, 'category: MARKETING, UTILITY or AUTHENTICATION')
  }
  if (!Array.isArray(components) || !components.every(isObject)) return failure(100, 'components: an array is required')
  if (isKnown(templateKey({ name, language }))) {
    return failure(100, undefined, { subcode: 2388024, message: 'Content in this language already exists' })
  }
  const upper = components.map((component) => ({ ...component, type: asText(component.type).toUpperCase() }))
  const template = createTemplate(owner, {
    name,
    language,
    category: kind,
    components: upper,
    parameter_format: asText(input.parameter_format).toUpperCase() === 'NAMED' ? 'NAMED' : 'POSITIONAL',
  })
  const text = template.shape.body?.text
  if (!text) return failure(100, 'components: a BODY with text is required')
  if (text.length > 1024) return failure(100, 'BODY: at most 1024 characters', { subcode: 2388040 })
  if (/^\s*\{\{|\}\}\s*$/.test(text)) {
    return failure(100, 'BODY: a variable cannot be at the start or the end', { subcode: 2388299 })
  }
  return text.includes('REJECT') ? { ...template, status: 'REJECTED' } : template
}

/** The template as the API returns it. */
export function templateResource({ shape: _, ...template }: Template): Json {
  return template
}

/** The callback that reports a template's new status. */
export function templateCallback(accountId: string, template: Template, event: string, now: number): Json {
  const value = {
    event,
    message_template_id: Number(template.id),
    message_template_name: template.name,
    message_template_language: template.language,
    message_template_category: template.category,
    reason: event === 'REJECTED' ? 'INVALID_FORMAT' : event === 'DELETED' ? null : 'NONE',
  }
  return changeCallback(accountId, 'message_template_status_update', value, { time: Math.floor(now / 1000) })
}
