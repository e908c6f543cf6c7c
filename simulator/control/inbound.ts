/**
 * A customer writes: the control call in our words becomes the provider's
 * callback.
 */

import { attachmentsOf, socialIdPattern } from '../graph/social.ts'
import type { AccountState } from '../state/accounts.ts'
import type { Media } from '../state/media.ts'
import type { Bubble } from '../state/phones.ts'
import { type MediaType, mediaTypes } from '../state/sample-media.ts'
import { badRequest, isObject, type Json, readType } from '../wire/http.ts'
import { createMid, createWamid, keyOf, userIdOf, userIdPattern, waIdOf } from '../wire/ids.ts'
import type { World } from '../world.ts'
import { drawContact, pageUrl } from './bubbles.ts'

const types = [
  'text',
  ...mediaTypes,
  'location',
  'contacts',
  'reaction',
  'button',
  'list',
  'order',
  'form',
  'share',
] as const
type Type = (typeof types)[number]

/** The call, read and checked. */
export type Written = {
  type: Type
  /** E.164 or a user id: the phone on the table. */
  phone: string
  /** Digits; empty where only a user id is known, and on social. */
  number: string
  userId: string
  name: string | null
  username: string | null
  text: string | null
  at: number
  messageId: string
  replyTo: string | null
  button: { id: string; title: string; description: string | null }
  media: Media | undefined
  caption: string | null
  location: Json
  contacts: Json[]
  emoji: string
  order: Json
  /** The answers to a form, by field. */
  form: Json
  /** A post, a reel or a story, on social. */
  share: Json
  /** The ad or the link the customer came from; null without. */
  referral: Json | null
}

const optionalText = (body: Json, name: string): string | null => {
  const value = body[name] ?? null
  if (value !== null && typeof value !== 'string') throw badRequest(`${name}: a string`)
  return value
}

const optionalObject = (body: Json, name: string): Json | null => {
  const value = body[name] ?? null
  if (value !== null && !isObject(value)) throw badRequest(`${name}: an object`)
  return value
}

export async function readInbound(world: World, state: AccountState, body: Json): Promise<Written> {
  const type = types.find((each) => each === (body.type ?? 'text'))
  if (!type) throw badRequest(`type: one of ${types.join(', ')}`)
  const who = readSender(state, body)
  const text = optionalText(body, 'text')
  if (type === 'share' && state.channel !== 'social') throw badRequest('type: share is of the social channel')
  if ((type === 'order' || type === 'form') && state.channel === 'social') {
    throw badRequest(`type: ${type} is of the msgapp channel`)
  }
  if (type === 'text' && (text === null || text === '')) throw badRequest('text: required for type text')
  const given = body.media ?? {}
  if (!isObject(given)) throw badRequest('media: an object')
  const mediaType = mediaTypes.find((each) => each === type)
  const media = mediaType ? await resolveMedia(world, state, mediaType, given) : undefined
  const tapped = type === 'button' || type === 'list'
  const button = isObject(body.button) ? body.button : undefined
  if (tapped && (typeof button?.id !== 'string' || typeof button.title !== 'string')) {
    throw badRequest(`button: { id, title } is required for type ${type}`)
  }
  const reaction = isObject(body.reaction) ? body.reaction : {}
  const replyTo =
    optionalText(body, 'reply_to') ?? (typeof reaction.message_id === 'string' ? reaction.message_id : null)
  if (type === 'reaction' && replyTo === null) throw badRequest('reply_to: required for type reaction')
  const accountId = state.account?.account_id ?? ''
  return {
    type,
    ...who,
    name: optionalText(body, 'name'),
    username: optionalText(body, 'username'),
    text,
    at: readTime(body.timestamp),
    messageId:
      optionalText(body, 'message_id') ??
      (state.channel === 'social'
        ? createMid(accountId)
        : createWamid(who.number || who.userId.slice(0, 20), 'customer')),
    replyTo,
    button: {
      id: String(button?.id ?? ''),
      title: String(button?.title ?? ''),
      description: typeof button?.description === 'string' ? button.description : null,
    },
    media,
    caption: typeof given.caption === 'string' ? given.caption : text,
    location: isObject(body.location)
      ? body.location
      : { latitude: 37.7955, longitude: -122.3937, name: 'Ferry Building', address: '1 Ferry Building, San Francisco' },
    contacts: Array.isArray(body.contacts)
      ? body.contacts.filter(isObject).map(asContact)
      : [asContact({ name: 'Ana Ruiz', phone: '+14155550123' })],
    emoji: typeof reaction.emoji === 'string' ? reaction.emoji : (text ?? '👍'),
    order: optionalObject(body, 'order') ?? {
      catalog_id: '194836987003835',
      text: text ?? '',
      product_items: [{ product_retailer_id: 'walnut-table', quantity: 1, item_price: 249.5, currency: 'USD' }],
    },
    form: optionalObject(body, 'form') ?? { name: 'Ana Ruiz', size: 'L' },
    share: optionalObject(body, 'share') ?? {
      type: 'ig_post',
      title: 'Walnut table',
      url: 'https://shop.example/posts/walnut-table',
    },
    referral: optionalObject(body, 'referral'),
  }
}

function readSender({ channel, account }: AccountState, body: Json): Pick<Written, 'phone' | 'number' | 'userId'> {
  const [from, userId] = [optionalText(body, 'from'), optionalText(body, 'user_id')]
  if (channel === 'social') {
    const id = from ?? userId
    if (id === null || !socialIdPattern.test(id) || /["\\]/.test(id)) throw badRequest('from: a user id is required')
    return { phone: id, number: '', userId: id }
  }
  if (userId !== null && !userIdPattern.test(userId)) throw badRequest('user_id: such as US.13491208655302741918')
  if (from === null) {
    if (userId === null) throw badRequest('from: a number in E.164 is required')
    return { phone: userId, number: '', userId }
  }
  const number = keyOf(from)
  if (!/^\d{6,15}$/.test(number)) throw badRequest('from: not a phone number in E.164')
  return { phone: `+${number}`, number, userId: userId ?? userIdOf(account?.account_id ?? '', waIdOf(number)) }
}

/** ISO 8601 or unix seconds. */
function readTime(value: unknown): number {
  if (value === undefined || value === null) return Date.now()
  const seconds =
    typeof value === 'number' || (typeof value === 'string' && /^\d{1,12}$/.test(value)) ? Number(value) : undefined
  const at = seconds === undefined ? Date.parse(String(value)) : seconds * 1000
  if (!Number.isFinite(at) || at < 0) throw badRequest('timestamp: an ISO date-time or unix seconds')
  return at
}

async function resolveMedia(world: World, state: AccountState, type: MediaType, given: Json): Promise<Media> {
  const [url, id] = [optionalText(given, 'url'), optionalText(given, 'id')]
  const mimeType = optionalText(given, 'mime_type')
  const filename = optionalText(given, 'filename')
  const { workspace_id } = state
  if (mimeType !== null && !readType(mimeType)) throw badRequest('media.mime_type: such as image/png')
  if (id !== null) {
    const known = world.media.get(id)
    if (!known) throw badRequest('media.id: no such upload')
    return { ...known, filename: filename ?? known.filename, mime_type: mimeType ?? known.mime_type }
  }
  if (url !== null) {
    const found = await world.downloads.get(url)
    if (!found.ok && found.isRefused) throw badRequest(`media.url: ${found.reason}`)
    if (!found.ok)
      world.log.warn({ reason: found.reason }, 'media.url could not be downloaded: the message has no file')
    const type = mimeType ?? ((found.ok && readType(found.mime_type)) || 'application/octet-stream')
    const file = { mime_type: type, filename, workspace_id, from: 'customer' } as const
    return world.media.save(file, found.ok ? found.bytes : undefined)
  }
  const made = world.media.makeUp(type)
  if (mimeType === null || mimeType === made.mime_type) return { ...made, filename: filename ?? made.filename }
  const bytes = world.media.bytes(made) ?? Buffer.alloc(0)
  return world.media.save({ mime_type: mimeType, filename, workspace_id, from: 'customer' }, bytes)
}

/** Either the provider's own shape, or just a name and a phone. */
function asContact(contact: Json): Json {
  if (isObject(contact.name)) return contact
  const name = String(contact.name ?? '')
  const phone = String(contact.phone ?? '')
  const [first = name] = name.split(' ')
  return {
    name: { formatted_name: name, first_name: first },
    phones: [{ phone, wa_id: keyOf(phone), type: 'MOBILE' }],
    vcard: `BEGIN:VCARD\nVERSION:3.0\nFN:${name}\nTEL;type=CELL:${phone}\nEND:VCARD`,
  }
}

export function inboundCallback(world: World, state: AccountState, written: Written): Json {
  return state.channel === 'social' ? socialCallback(world, state, written) : messageCallback(world, state, written)
}

function messageCallback(world: World, state: AccountState, written: Written): Json {
  const { account_id, display_phone_number, phone_number_id } = state.account ?? {}
  const { number, userId, name, username, at, messageId } = written
  const knownName = name ?? state.customers.get(waIdOf(number) || userId)?.name
  const profile = { ...(knownName ? { name: knownName } : {}), ...(username ? { username } : {}) }
  const contact = {
    profile,
    ...(number ? { wa_id: number } : {}),
    user_id: userId,
  }
  const message = {
    ...contextOf(world, state, written),
    ...(number ? { from: number } : {}),
    from_user_id: userId,
    id: messageId,
    timestamp: String(Math.floor(at / 1000)),
    ...(written.referral ? { referral: written.referral } : {}),
    ...messageContent(world, state, written),
  }
  return {
    object: 'whatsapp_business_account',
    entry: [
      {
        id: account_id,
        changes: [
          {
            value: {
              messaging_product: 'whatsapp',
              metadata: { display_phone_number, phone_number_id },
              contacts: [contact],
              messages: [message],
            },
            field: 'messages',
          },
        ],
      },
    ],
  }
}

/** The bubble that is answered, when it is still on the table. */
function answeredBubble(world: World, state: AccountState, { phone, replyTo }: Written) {
  return world.phones.find(state.workspace_id, state.channel, phone)?.entries.find(({ id }) => id === replyTo)
}

function contextOf(world: World, state: AccountState, written: Written): Json {
  const { replyTo, type, number } = written
  if (replyTo === null || type === 'reaction') return {}
  const isOwn = answeredBubble(world, state, written)?.from === 'customer'
  return { context: { from: isOwn ? number : state.account?.display_phone_number, id: replyTo } }
}

function messageContent(world: World, state: AccountState, written: Written): Json {
  const { type, text, caption, media, button, location, contacts, replyTo, emoji } = written
  if (media) {
    const { id, mime_type, sha256, filename } = media
    return {
      type,
      [type]: {
        ...(type === 'document' && filename !== null ? { filename } : {}),
        id,
        mime_type,
        ...(sha256 === '' ? {} : { sha256 }),
        url: world.media.linkOf(id, Date.now()),
        ...(caption !== null && caption !== '' && type !== 'audio' && type !== 'sticker' ? { caption } : {}),
        ...(type === 'audio' ? { voice: /ogg/.test(mime_type) } : {}),
        ...(type === 'sticker' ? { animated: false } : {}),
      },
    }
  }
  if (type === 'location') return { type, location }
  if (type === 'contacts') return { type, contacts }
  if (type === 'reaction') return { type, reaction: { message_id: replyTo, ...(emoji === '' ? {} : { emoji }) } }
  if (type === 'order') return { type, order: written.order }
  if (type === 'form') {
    const response_json = JSON.stringify({ flow_token: 'unused', ...written.form })
    return {
      type: 'interactive',
      interactive: { type: 'nfm_reply', nfm_reply: { name: 'flow', body: 'Sent', response_json } },
    }
  }
  const { id, title, description } = button
  if (type === 'list') {
    const list_reply = { id, title, ...(description === null ? {} : { description }) }
    return { type: 'interactive', interactive: { type: 'list_reply', list_reply } }
  }
  if (type === 'button') {
    // Only a template's quick reply comes as `button`; others are answers to interactive messages.
    if (isTemplate(world, state, written)) return { type: 'button', button: { payload: id, text: title } }
    return { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id, title } } }
  }
  return { type: 'text', text: { body: text } }
}

function isTemplate(world: World, state: AccountState, written: Written): boolean {
  const entry = answeredBubble(world, state, written)
  if (entry?.from !== 'business') return false
  const { body } = JSON.parse(world.journal.read(entry)) as { body: Json }
  if (state.channel === 'msgapp') return body.type === 'template'
  return isObject(body.message) && attachmentsOf(body.message)[0]?.type === 'template'
}

const attachmentType: Record<string, string> = { document: 'file', sticker: 'image' }

function socialCallback(world: World, state: AccountState, written: Written): Json {
  const accountId = state.account?.account_id
  const { userId, at } = written
  const item = {
    sender: { id: userId },
    recipient: { id: accountId },
    timestamp: at,
    ...socialContent(world, state, written),
  }
  return { object: 'instagram', entry: [{ id: accountId, time: Date.now(), messaging: [item] }] }
}

function socialContent(world: World, state: AccountState, written: Written): Json {
  const { type, text, media, button, messageId: mid, replyTo, emoji } = written
  if (type === 'reaction') {
    const action =
      emoji === '' ? { action: 'unreact' } : { action: 'react', reaction: emoji === '❤️' ? 'love' : 'other', emoji }
    return { reaction: { mid: replyTo, ...action } }
  }
  const reply = {
    ...(replyTo === null ? {} : { reply_to: { mid: replyTo } }),
    ...(written.referral ? { referral: written.referral } : {}),
  }
  if (type === 'share') {
    const { type: kind, ...payload } = written.share
    return { message: { mid, attachments: [{ type: kind, payload }], ...(text === null ? {} : { text }), ...reply } }
  }
  if (media) {
    const url = world.media.openLinkOf(media)
    return { message: { mid, attachments: [{ type: attachmentType[type] ?? type, payload: { url } }], ...reply } }
  }
  if (type === 'button' && isTemplate(world, state, written)) {
    return { postback: { mid, title: button.title, payload: button.id } }
  }
  if (type === 'button' || type === 'list') {
    return { message: { mid, text: button.title, quick_reply: { payload: button.id }, ...reply } }
  }
  // This channel has no such thing, and says so.
  if (type === 'location' || type === 'contacts') return { message: { mid, is_unsupported: true } }
  return { message: { mid, text, ...reply } }
}

export function inboundBubble({
  type,
  text,
  caption,
  media,
  button,
  messageId,
  at,
  replyTo,
  location,
  contacts,
  emoji,
  order,
  share,
}: Written): Bubble {
  return {
    id: messageId,
    from: 'customer',
    at: new Date(at).toISOString(),
    type,
    text: bubbleText({ type, text, caption, media, button, order, share }),
    status: 'failed',
    error: null,
    media: media ? { url: pageUrl(media.id), mime_type: media.mime_type, filename: media.filename } : null,
    template: null,
    reply_to: type === 'reaction' ? null : replyTo,
    ...(type === 'location' ? { location } : {}),
    ...(type === 'contacts' ? { contacts: contacts.map(drawContact) } : {}),
    ...(type === 'reaction' ? { reaction: { message_id: replyTo ?? '', emoji } } : {}),
  }
}

/** The words of a bubble on the customer's phone. */
function bubbleText({
  type,
  text,
  caption,
  media,
  button,
  order,
  share,
}: Pick<Written, 'type' | 'text' | 'caption' | 'media' | 'button' | 'order' | 'share'>): string | null {
  if (media) return caption
  if (type === 'button' || type === 'list') return button.title
  if (type === 'order') {
    const items = Array.isArray(order.product_items) ? order.product_items.filter(isObject) : []
    return `Order: ${items.map(({ quantity, product_retailer_id: id }) => `${quantity} × ${id}`).join(', ')}`
  }
  if (type === 'form') return 'Sent a form'
  if (type === 'share') return [share.title, share.url, text].filter((part) => typeof part === 'string').join('\n')
  return type === 'text' ? text : null
}
