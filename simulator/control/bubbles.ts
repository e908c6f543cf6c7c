/** What the business sent, as the customer's phone shows it. */

import { findTemplate } from '../graph/messages.ts'
import { attachmentsOf, linkOfAttachment } from '../graph/social.ts'
import type { AccountState } from '../state/accounts.ts'
import type { MediaStore } from '../state/media.ts'
import type { Bubble } from '../state/phones.ts'
import { isObject, type Json } from '../wire/http.ts'
import { idOf } from '../wire/message-checks.ts'
import { type Rendered, type RenderedButton, renderTemplate } from '../wire/template-render.ts'

type Drawn = Pick<Bubble, 'type' | 'text' | 'media' | 'template' | 'reply_to' | 'location' | 'contacts' | 'reaction'>

const isText = (value: unknown): value is string => typeof value === 'string'
const textOr = (value: unknown) => (isText(value) ? value : null)

export const pageUrl = (id: string) => `/simulator/media/${id}`

const plain: Drawn = { type: 'text', text: null, media: null, template: null, reply_to: null }

export function drawSent(state: AccountState, body: Json, media: MediaStore): Drawn {
  return state.channel === 'social' ? drawSocial(state, body) : drawMessage(state, body, media)
}

function drawMessage(state: AccountState, body: Json, media: MediaStore): Drawn {
  const type = isText(body.type) ? body.type : 'text'
  const content = body[type]
  const reply_to = isObject(body.context) ? textOr(body.context.message_id) : null
  const drawn: Drawn = { ...plain, type, reply_to }
  if (type === 'contacts' && Array.isArray(content))
    return { ...drawn, contacts: content.filter(isObject).map(drawContact) }
  if (!isObject(content)) return drawn
  if (type === 'text') return { ...drawn, text: textOr(content.body) }
  if (type === 'template') {
    const template = findTemplate(state, content)
    return { ...drawn, template: template ? renderTemplate(template, content.components, pageUrl) : null }
  }
  if (type === 'interactive') return { ...drawn, template: drawInteractive(content) }
  if (type === 'location') return { ...drawn, location: content }
  if (type === 'reaction') {
    return { ...drawn, reaction: { message_id: textOr(content.message_id) ?? '', emoji: textOr(content.emoji) ?? '' } }
  }
  const file = isText(content.id) ? media.get(content.id) : undefined
  const url = isText(content.link) ? content.link : isText(content.id) ? pageUrl(content.id) : ''
  return {
    ...drawn,
    text: textOr(content.caption),
    media: { url, mime_type: file?.mime_type ?? null, filename: textOr(content.filename) ?? file?.filename ?? null },
  }
}

export function drawContact({ name, phones }: Json) {
  const [first] = Array.isArray(phones) ? phones.filter(isObject) : []
  return {
    name: (isObject(name) ? textOr(name.formatted_name) : null) ?? '',
    phone: textOr(first?.phone) ?? '',
  }
}

/** Buttons and rows of an interactive message are tapped as a template's are. */
function drawInteractive({ header, body, footer, action }: Json): Rendered {
  const heading = isObject(header) ? textOr(header.text) : null
  const tap = (type: 'QUICK_REPLY' | 'LIST_REPLY', reply: Json, index: number): RenderedButton => ({
    index,
    type,
    text: textOr(reply.title) ?? '',
    payload: idOf(reply.id) ?? '',
  })
  const given = isObject(action) ? action : {}
  const buttons = Array.isArray(given.buttons)
    ? given.buttons.filter(isObject).map(({ reply }) => (isObject(reply) ? reply : {}))
    : []
  const sections = Array.isArray(given.sections) ? given.sections.filter(isObject) : []
  const rows = sections.flatMap((section) => (Array.isArray(section.rows) ? section.rows.filter(isObject) : []))
  const link = isObject(given.parameters) ? given.parameters : undefined
  return {
    name: '',
    header: heading ? { type: 'text', text: heading } : null,
    body: (isObject(body) ? textOr(body.text) : null) ?? '',
    footer: isObject(footer) ? textOr(footer.text) : null,
    buttons: link
      ? [{ index: 0, type: 'URL', text: textOr(link.display_text) ?? '', url: textOr(link.url) ?? '' }]
      : [
          ...buttons.map((reply, index) => tap('QUICK_REPLY', reply, index)),
          ...rows.map((reply, index) => tap('LIST_REPLY', reply, buttons.length + index)),
        ],
    cards: null,
  }
}

function drawSocial(state: AccountState, body: Json): Drawn {
  const message = isObject(body.message) ? body.message : {}
  const reply_to = isObject(body.reply_to) ? textOr(body.reply_to.mid) : null
  const [attachment] = attachmentsOf(message)
  const text = textOr(message.text)
  const replies = Array.isArray(message.quick_replies) ? message.quick_replies.filter(isObject) : []
  if (!attachment && replies.length > 0) {
    return {
      ...plain,
      type: 'template',
      reply_to,
      template: { ...noTemplate, body: text ?? '', buttons: tapped(replies) },
    }
  }
  if (!attachment) return { ...plain, text, reply_to }
  if (attachment.type === 'template' && isObject(attachment.payload)) {
    return { ...plain, type: 'template', reply_to, template: drawSocialTemplate(attachment.payload) }
  }
  const type = attachment.type === 'file' ? 'document' : (textOr(attachment.type) ?? 'image')
  const url = linkOfAttachment(state, attachment) ?? ''
  return { ...plain, type, reply_to, media: { url, mime_type: null, filename: null } }
}

const noTemplate: Rendered = { name: '', header: null, body: '', footer: null, buttons: [], cards: null }

/** Buttons of the social channel: an address is opened, everything else is answered. */
const tapped = (buttons: readonly Json[]): RenderedButton[] =>
  buttons.map(({ title, url, payload }, index) =>
    isText(url)
      ? { index, type: 'URL', text: textOr(title) ?? '', url }
      : { index, type: 'QUICK_REPLY', text: textOr(title) ?? '', payload: textOr(payload) ?? '' },
  )

const buttonsIn = ({ buttons }: Json): RenderedButton[] =>
  tapped(Array.isArray(buttons) ? buttons.filter(isObject) : [])

function drawSocialTemplate(payload: Json): Rendered {
  if (payload.template_type === 'button') {
    return { ...noTemplate, body: textOr(payload.text) ?? '', buttons: buttonsIn(payload) }
  }
  const elements = Array.isArray(payload.elements) ? payload.elements.filter(isObject) : []
  const cards = elements.map((element) => ({
    header: isText(element.image_url) ? ({ type: 'image', url: element.image_url } as const) : null,
    body: [element.title, element.subtitle].filter(isText).join('\n'),
    buttons: buttonsIn(element),
  }))
  return { ...noTemplate, cards }
}
