/** Renders messages as the customer's phone shows them. */

import { attachmentsOf, linkOfAttachment } from '../graph/social.ts'
import { type AccountState, findTemplate } from '../state/accounts.ts'
import type { MediaStore } from '../state/media.ts'
import type { PhoneEntry } from '../state/phones.ts'
import type { Bubble, Location, RenderedButton, RenderedTemplate } from '../wire/bubble.ts'
import { isObject, isText, type Json, objectOf, objectsIn } from '../wire/http.ts'
import { idOf } from '../wire/message-checks.ts'
import { renderTemplate } from '../wire/template-render.ts'
import type { World } from '../world.ts'

type RenderedContent = Pick<
  Bubble,
  'type' | 'text' | 'media' | 'template' | 'reply_to' | 'location' | 'contacts' | 'reaction'
>

const textOr = (value: unknown) => (isText(value) ? value : null)

export const pageUrl = (id: string) => `/simulator/media/${id}`

const emptyContent: RenderedContent = { type: 'text', text: null, media: null, template: null, reply_to: null }

/** The bubble of an entry, from the journal unless it is older. */
export function renderBubble(
  { journal, accounts, media }: Pick<World, 'journal' | 'accounts' | 'media'>,
  entry: PhoneEntry,
): Bubble {
  if (entry.bubble) return { ...entry.bubble, status: entry.status, error: entry.error }
  const line = JSON.parse(journal.read(entry)) as { bubble: Bubble; at: string; body: Json }
  const { id, from, status, error, phone } = entry
  if (from === 'customer') return { ...line.bubble, status, error }
  const state = accounts.resolveState({ w: phone.workspace_id, c: phone.channel, n: phone.connection_id })
  return { id, from, at: line.at, status, error, ...renderSent(state, line.body, media) }
}

function renderSent(state: AccountState, body: Json, media: MediaStore): RenderedContent {
  return state.channel === 'social' ? renderSocial(state, body) : renderMessage(state, body, media)
}

function renderMessage(state: AccountState, body: Json, media: MediaStore): RenderedContent {
  const type = isText(body.type) ? body.type : 'text'
  const content = body[type]
  const reply_to = isObject(body.context) ? textOr(body.context.message_id) : null
  const rendered: RenderedContent = { ...emptyContent, type, reply_to }
  if (type === 'contacts' && Array.isArray(content))
    return { ...rendered, contacts: content.filter(isObject).map(renderContact) }
  if (!isObject(content)) return rendered
  if (type === 'text') return { ...rendered, text: textOr(content.body) }
  if (type === 'template') {
    const template = findTemplate(state, content)
    return { ...rendered, template: template ? renderTemplate(template, content.components, pageUrl) : null }
  }
  if (type === 'interactive') return { ...rendered, template: renderInteractive(content) }
  if (type === 'location') return { ...rendered, location: content as Location }
  if (type === 'reaction') {
    return {
      ...rendered,
      reaction: { message_id: textOr(content.message_id) ?? '', emoji: textOr(content.emoji) ?? '' },
    }
  }
  const file = isText(content.id) ? media.get(content.id) : undefined
  const url = isText(content.link) ? content.link : isText(content.id) ? pageUrl(content.id) : ''
  return {
    ...rendered,
    text: textOr(content.caption),
    media: { url, mime_type: file?.mime_type ?? null, filename: textOr(content.filename) ?? file?.filename ?? null },
  }
}

export function renderContact({ name, phones }: Json) {
  const [first] = objectsIn(phones)
  return {
    name: (isObject(name) ? textOr(name.formatted_name) : null) ?? '',
    phone: textOr(first?.phone) ?? '',
  }
}

/** Renders buttons and rows of an interactive message like those of a template. */
function renderInteractive({ header, body, footer, action }: Json): RenderedTemplate {
  const heading = isObject(header) ? textOr(header.text) : null
  const tap = (type: 'QUICK_REPLY' | 'LIST_REPLY', reply: Json, index: number): RenderedButton => ({
    index,
    type,
    text: textOr(reply.title) ?? '',
    payload: idOf(reply.id) ?? '',
  })
  const actions = objectOf(action)
  const buttons = objectsIn(actions.buttons).map(({ reply }) => objectOf(reply))
  const sections = objectsIn(actions.sections)
  const rows = sections.flatMap((section) => objectsIn(section.rows).map((row) => ({ row, section })))
  const link = isObject(actions.parameters) ? actions.parameters : undefined
  return {
    name: '',
    header: heading ? { type: 'text', text: heading } : null,
    body: (isObject(body) ? textOr(body.text) : null) ?? '',
    footer: isObject(footer) ? textOr(footer.text) : null,
    buttons: link
      ? [{ index: 0, type: 'URL', text: textOr(link.display_text) ?? '', url: textOr(link.url) ?? '' }]
      : [
          ...buttons.map((reply, index) => tap('QUICK_REPLY', reply, index)),
          ...rows.map(({ row, section }, index) => ({
            ...tap('LIST_REPLY', row, buttons.length + index),
            section: textOr(section.title) ?? '',
            description: textOr(row.description) ?? '',
          })),
        ],
    cards: null,
    list_label: textOr(actions.button) ?? '',
  }
}

function renderSocial(state: AccountState, body: Json): RenderedContent {
  if (body.sender_action !== undefined) {
    const message_id = (isObject(body.payload) ? textOr(body.payload.message_id) : null) ?? ''
    return {
      ...emptyContent,
      type: 'reaction',
      reaction: { message_id, emoji: body.sender_action === 'react' ? '❤️' : '' },
    }
  }
  const message = objectOf(body.message)
  const reply_to = isObject(body.reply_to) ? textOr(body.reply_to.mid) : null
  const [attachment] = attachmentsOf(message)
  const text = textOr(message.text)
  const replies = objectsIn(message.quick_replies)
  if (!attachment && replies.length > 0) {
    return {
      ...emptyContent,
      type: 'template',
      reply_to,
      template: { ...emptyTemplate, body: text ?? '', buttons: renderButtons(replies) },
    }
  }
  if (!attachment) return { ...emptyContent, text, reply_to }
  if (attachment.type === 'template' && isObject(attachment.payload)) {
    return { ...emptyContent, type: 'template', reply_to, template: renderSocialTemplate(attachment.payload) }
  }
  const type = attachment.type === 'file' ? 'document' : (textOr(attachment.type) ?? 'image')
  const url = linkOfAttachment(state, attachment) ?? ''
  return { ...emptyContent, type, reply_to, media: { url, mime_type: null, filename: null } }
}

const emptyTemplate: RenderedTemplate = { name: '', header: null, body: '', footer: null, buttons: [], cards: null }

/** Buttons of the social channel: one with a URL opens it, any other sends a reply. */
const renderButtons = (buttons: readonly Json[]): RenderedButton[] =>
  buttons.map(({ title, url, payload }, index) =>
    isText(url)
      ? { index, type: 'URL', text: textOr(title) ?? '', url }
      : { index, type: 'QUICK_REPLY', text: textOr(title) ?? '', payload: textOr(payload) ?? '' },
  )

const buttonsIn = ({ buttons }: Json): RenderedButton[] => renderButtons(objectsIn(buttons))

function renderSocialTemplate(payload: Json): RenderedTemplate {
  if (payload.template_type === 'button') {
    return { ...emptyTemplate, body: textOr(payload.text) ?? '', buttons: buttonsIn(payload) }
  }
  const elements = objectsIn(payload.elements)
  const cards = elements.map((element) => ({
    header: isText(element.image_url) ? ({ type: 'image', url: element.image_url } as const) : null,
    body: [element.title, element.subtitle].filter(isText).join('\n'),
    buttons: buttonsIn(element),
  }))
  return { ...emptyTemplate, cards }
}
