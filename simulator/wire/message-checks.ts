/**
 * The provider's validation of a message: structure, limits, known media.
 * `template-checks.ts` validates templates.
 *
 * A missing field is 131008, an invalid value 131009, a length over the limit
 * or an unexpected key 100.
 */
import { type Failure, failure } from './errors.ts'
import { isHttpUrl, isObject, isText, type Json, objectOf, objectsIn } from './http.ts'
import { keyOf, userIdPattern } from './ids.ts'
import { checkMediaValue } from './template-checks.ts'

type IsMedia = (id: string) => boolean

/** The id of a button or row as text; many clients send a number. */
export const idOf = (value: unknown): string | undefined =>
  isText(value) ? value : typeof value === 'number' ? String(value) : undefined

/** Whether a text has more characters (code points). */
const exceeds = (text: string, max: number): boolean => text.length > max && [...text].length > max

const missing = (name: string) => failure(131008, `${name} is required`)
const invalid = (reason: string) => failure(131009, reason)
const tooLong = (name: string, max: number) =>
  failure(100, `Param ${name} must be at most ${max} characters long.`, {
    message: `(#100) Param ${name} must be at most ${max} characters long.`,
  })
const unexpected = (key: string, type: string) =>
  failure(100, `Unexpected key "${key}" on param "${type}".`, {
    message: `(#100) Unexpected key "${key}" on param "${type}".`,
  })

/** Validates the fields of every message. `to` takes precedence over `recipient`. */
export function checkEnvelope(body: Json): Failure | undefined {
  if (body.messaging_product !== 'whatsapp') {
    return failure(100, 'messaging_product: whatsapp', {
      message: '(#100) The parameter messaging_product is required.',
    })
  }
  if (body.status !== undefined) return undefined
  const { to, recipient, recipient_type, biz_opaque_callback_data: data, context } = body
  if (recipient_type !== undefined && recipient_type !== 'individual') return invalid('recipient_type: individual')
  if (to === undefined && recipient === undefined) {
    return failure(100, 'to: required', { message: '(#100) The parameter to is required.' })
  }
  if (to !== undefined) {
    if (!isText(to) || !/^\d{6,15}$/.test(keyOf(to))) return invalid('to: not a phone number')
  } else if (!isText(recipient) || !userIdPattern.test(recipient)) return invalid('recipient: not a user id')
  if (data !== undefined && !isText(data)) return invalid('biz_opaque_callback_data: a string')
  if (isText(data) && data.length > 512) return tooLong('biz_opaque_callback_data', 512)
  if (context !== undefined && (!isObject(context) || !isText(context.message_id))) return missing('context.message_id')
  return undefined
}

const mediaTypes = new Set(['image', 'video', 'audio', 'document', 'sticker'])

/** Validates the content of a message that is not a template. */
export function checkContent(body: Json, isMedia: IsMedia): Failure | undefined {
  const type = body.type ?? 'text'
  if (!isText(type)) return invalid('type: a string')
  const check = mediaTypes.has(type) ? checkMedia : checks[type]
  if (!check) {
    return failure(100, `type: one of ${[...Object.keys(checks), ...mediaTypes, 'template'].join(', ')}`, {
      message: `(#100) Param type must be one of {${[...Object.keys(checks), ...mediaTypes, 'template'].join(', ').toUpperCase()}} - got "${type}".`,
    })
  }
  const content = body[type]
  if (content === undefined) return missing(`Parameter ${type}`)
  return check(content, type, isMedia, body)
}

type Check = (content: unknown, type: string, isMedia: IsMedia, body: Json) => Failure | undefined

const checks: Record<string, Check> = {
  text(content) {
    if (!isObject(content) || !isText(content.body) || content.body === '') return missing("text['body']")
    return exceeds(content.body, 4096) ? tooLong("text['body']", 4096) : undefined
  },
  location(content) {
    if (!isObject(content)) return missing('location')
    for (const [key, max] of [
      ['latitude', 90],
      ['longitude', 180],
    ] as const) {
      const value = content[key]
      if (value === undefined || value === '') return missing(`location['${key}']`)
      if (!(Math.abs(Number(value)) <= max)) return invalid(`location['${key}'] is out of range`)
    }
    return undefined
  },
  reaction(content, _type, _isMedia, body) {
    if (!isObject(content) || !isText(content.message_id)) return missing("reaction['message_id']")
    if (!isText(content.emoji)) return missing("reaction['emoji']")
    return body.context === undefined ? undefined : unexpected('context', 'reaction')
  },
  contacts(content) {
    if (!Array.isArray(content) || content.length === 0) return missing('contacts')
    if (content.length > 257) return invalid('contacts: at most 257')
    const isNamed = (each: unknown) => isObject(each) && isObject(each.name) && isText(each.name.formatted_name)
    return content.every(isNamed) ? undefined : missing("contacts['name']['formatted_name']")
  },
  interactive: checkInteractive,
}

function checkMedia(content: unknown, type: string, isMedia: IsMedia): Failure | undefined {
  if (!isObject(content)) return invalid(`${type}: an object`)
  const { caption, filename } = content
  const error = checkMediaValue(content, isMedia, type)
  if (error) return error
  if (caption !== undefined) {
    if (type === 'audio' || type === 'sticker') return unexpected('caption', type)
    if (!isText(caption)) return invalid(`${type}['caption']: a string`)
    if (exceeds(caption, 1024)) return tooLong(`${type}['caption']`, 1024)
  }
  if (filename !== undefined && type !== 'document') return unexpected('filename', type)
  return undefined
}

function checkInteractive(content: unknown): Failure | undefined {
  if (!isObject(content)) return missing('interactive')
  const { type, header, body, footer, action } = content
  if (!isText(type)) return missing("interactive['type']")
  if (!isObject(action)) return missing("interactive['action']")
  const text = isObject(body) ? body.text : undefined
  if (type !== 'product' && (!isText(text) || text === '')) return missing("interactive['body']['text']")
  const max = type === 'list' ? 4096 : 1024
  if (isText(text) && exceeds(text, max)) return tooLong("interactive['body']['text']", max)
  for (const [name, part] of [
    ['header', header],
    ['footer', footer],
  ] as const) {
    const partText = isObject(part) ? part.text : undefined
    if (isText(partText) && exceeds(partText, 60)) return tooLong(`interactive['${name}']['text']`, 60)
  }
  if (type === 'button') return checkReplyButtons(action.buttons)
  if (type === 'list') return checkList(action)
  if (type === 'cta_url') return checkLink(action.parameters)
  return undefined
}

function checkLink(parameters: unknown): Failure | undefined {
  if (!isObject(parameters)) return missing("interactive['action']['parameters']")
  const { display_text: label, url } = parameters
  if (!isText(label) || label === '') return missing("parameters['display_text']")
  if (exceeds(label, 20)) return tooLong("parameters['display_text']", 20)
  if (!isText(url) || url === '') return missing("parameters['url']")
  return isHttpUrl(url) ? undefined : invalid("parameters['url'] is not a URL")
}

function checkReplyButtons(buttons: unknown): Failure | undefined {
  if (!Array.isArray(buttons) || buttons.length === 0) return missing("interactive['action']['buttons']")
  if (buttons.length > 3) return invalid("interactive['action']['buttons']: at most 3")
  const ids = new Set<string>()
  const titles = new Set<string>()
  for (const button of buttons) {
    const reply = objectOf(objectOf(button).reply)
    const id = idOf(reply.id)
    if (id === undefined || !isText(reply.title) || reply.title === '') return missing('reply.id and reply.title')
    if (exceeds(reply.title, 20)) return tooLong('reply.title', 20)
    if (exceeds(id, 256)) return tooLong('reply.id', 256)
    if (ids.has(id)) return invalid(`reply.id ${id} occurs twice`)
    if (titles.has(reply.title)) return invalid(`reply.title ${reply.title} occurs twice`)
    ids.add(id)
    titles.add(reply.title)
  }
  return undefined
}

function checkList(action: Json): Failure | undefined {
  if (!isText(action.button) || action.button === '') return missing("interactive['action']['button']")
  if (exceeds(action.button, 20)) return tooLong("interactive['action']['button']", 20)
  const sections = objectsIn(action.sections)
  if (sections.length === 0) return missing("interactive['action']['sections']")
  if (sections.length > 10) return invalid("interactive['action']['sections']: at most 10")
  const rows = sections.flatMap((section) => (Array.isArray(section.rows) ? section.rows : []))
  if (rows.length === 0) return missing('rows')
  if (rows.length > 10) return invalid('rows: at most 10 in all sections')
  for (const section of sections) {
    if (isText(section.title) && exceeds(section.title, 24)) return tooLong("section['title']", 24)
    if (sections.length > 1 && (!isText(section.title) || section.title === '')) return missing("section['title']")
  }
  const ids = new Set<string>()
  for (const row of rows) {
    const id = isObject(row) ? idOf(row.id) : undefined
    if (!isObject(row) || id === undefined || !isText(row.title) || row.title === '')
      return missing('row.id and row.title')
    if (exceeds(id, 200)) return tooLong('row.id', 200)
    if (exceeds(row.title, 24)) return tooLong('row.title', 24)
    if (isText(row.description) && exceeds(row.description, 72)) return tooLong('row.description', 72)
    if (ids.has(id)) return invalid(`row.id ${id} occurs twice`)
    ids.add(id)
  }
  return undefined
}
