/** The body of a send request: its schema, and the rules between its fields. Needs neither the database nor the channel. */
import type { Interactive, Location, TemplateParams } from '../../channels/channel.ts'
import { maxTextLength, ParamsSchema } from '../../channels/template-schema.ts'
import { badRequest } from '../../lib/errors.ts'
import { inDocument, OneOf, type Static, Type } from '../../lib/schema.ts'
import { isHttpUrl, lengthOf } from '../../lib/text.ts'
import { InteractiveSchema, LocationSchema, readInteractive, readLocation } from './interactive.ts'

const maxCaptionLength = 1024

export const TemplateSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 512, description: "The approved template's name." }),
    language: Type.Optional(Type.String({ minLength: 1, maxLength: 20, description: '`en_US` when absent.' })),
    params: Type.Optional(ParamsSchema),
    contact_fields: Type.Optional(
      Type.Boolean({
        description:
          'True fills fields of the contact in values, with a fallback for an empty field: `{{contact.name|there}}`. The fields are `name`, `phone`, `email`, `company` and `attributes.NAME` for an attribute. Otherwise values are literal.',
      }),
    ),
  },
  { title: 'TemplateSend' },
)

export type RequestedTemplate = { name: string; language: string; params: TemplateParams; contact_fields: boolean }

/** The template of a request. `hasFields`: whether values may have contact fields if the request does not say it. */
export const readTemplate = (
  { name, language = 'en_US', params, contact_fields }: Static<typeof TemplateSchema>,
  hasFields = false,
): RequestedTemplate => ({ name, language, params: readParams(params), contact_fields: contact_fields ?? hasFields })

/** A list holds the values of the body. */
export const readParams = (params: Static<typeof ParamsSchema> = {}): TemplateParams =>
  Array.isArray(params) ? { body: params } : params

const sendTypes = [
  'text',
  'template',
  'image',
  'video',
  'document',
  'audio',
  'interactive',
  'location',
  'reaction',
] as const

/** The types of a message that is sent later. */
export const laterTypes = sendTypes.filter((type) => type !== 'reaction')

/** A reaction to a message of the conversation. */
const ReactionSchema = Type.Object(
  {
    message_id: Type.String({ format: 'uuid', description: 'A message of the same conversation.' }),
    emoji: Type.String({ maxLength: 100, description: 'One emoji; empty removes the reaction.' }),
  },
  { title: 'Reaction' },
)

export const contentFields = {
  type: Type.Optional(OneOf(sendTypes, { description: '`text` when absent.' })),
  text: Type.Optional(
    Type.String({
      description: `The text of a text message, at most ${maxTextLength} characters; the caption of an image, video or document, at most ${maxCaptionLength}.`,
      ...inDocument({ maxLength: maxTextLength }),
    }),
  ),
  media_url: Type.Optional(
    Type.String({
      maxLength: 2000,
      description: 'A public URL; required for image, video, document and audio.',
      ...inDocument({ format: 'uri' }),
    }),
  ),
  filename: Type.Optional(Type.String({ maxLength: 255, description: 'Shown in the chat for a document.' })),
  template: Type.Optional(TemplateSchema),
  interactive: Type.Optional(InteractiveSchema),
  location: Type.Optional(LocationSchema),
  reaction: Type.Optional(ReactionSchema),
  reply_to_message_id: Type.Optional(
    Type.String({ format: 'uuid', description: 'An earlier message of the same conversation to quote.' }),
  ),
}

const RequestedContent = Type.Object(contentFields)

export type RequestedContent =
  | { type: 'text'; text: string }
  | { type: 'image' | 'video' | 'document' | 'audio'; media_url: string; text: string | null; filename: string | null }
  | ({ type: 'template' } & RequestedTemplate)
  | { type: 'interactive'; interactive: Interactive }
  | { type: 'location'; location: Location }
  | { type: 'reaction'; message_id: string; emoji: string }

/** Applies the rules between the fields of a request. 400 names the field and the rule. `hasFields`: as for `readTemplate`. */
export function readRequestedContent(body: Static<typeof RequestedContent>, hasFields = false): RequestedContent {
  const { type = 'text', text, template, interactive, location, reaction, media_url: mediaUrl } = body
  if (text !== undefined && type !== 'text')
    requireLength(text, 0, type === 'template' ? maxTextLength : maxCaptionLength)
  if (type === 'text') return { type, text: requireText(requireField(text, type)) }
  if (type === 'template') return { type, ...readTemplate(requireField(template, type), hasFields) }
  if (type === 'interactive') return { type, interactive: readInteractive(requireField(interactive, type)) }
  if (type === 'location') return { type, location: readLocation(requireField(location, type)) }
  if (type === 'reaction') {
    const { message_id, emoji } = requireField(reaction, type)
    if (emoji !== '' && !isEmoji(emoji)) throw badRequest('reaction.emoji: must be one emoji')
    return { type, message_id, emoji }
  }
  const url = requireField(mediaUrl, 'media_url')
  if (!isHttpUrl(url)) throw badRequest('media_url: must be an http or https URL')
  if (type === 'audio' && text !== undefined) throw badRequest('text: a voice message has no caption')
  if (text) requireNotBlank(text)
  const filename = type === 'document' ? body.filename || null : null
  return { type, media_url: url.trim(), text: text || null, filename }
}

function requireField<Value>(value: Value | undefined, field: string): Value {
  if (value === undefined) throw badRequest(`${field}: required`)
  return value
}

/** The message that a request quotes or reacts to, and the field that names it. */
export type Quote = { id: string; field: 'reply_to_message_id' | 'reaction.message_id' }

export function readQuote(requested: RequestedContent, replyTo: string | undefined): Quote | undefined {
  if (requested.type === 'reaction') return { id: requested.message_id, field: 'reaction.message_id' }
  return replyTo === undefined ? undefined : { id: replyTo, field: 'reply_to_message_id' }
}

/** One emoji, which may be a sequence: with a skin tone, joined, a flag or a keycap. */
const isEmoji = (text: string): boolean => /^\p{RGI_Emoji}$/v.test(text) || /^\p{Extended_Pictographic}$/u.test(text)

/** The text of a message from the API, a member or a visitor: 1 to 4096 characters, not all of them spaces. */
export function requireText(text: string): string {
  requireLength(text, 1, maxTextLength)
  requireNotBlank(text)
  return text
}

function requireNotBlank(text: string): void {
  if (text.trim() === '') throw badRequest('text: must not be blank')
}

function requireLength(text: string, min: number, max: number): void {
  const length = lengthOf(text)
  if (length >= min && length <= max) return
  throw badRequest(
    min > 0 ? `text: must have ${min} to ${max} characters` : `text: must have at most ${max} characters`,
  )
}
