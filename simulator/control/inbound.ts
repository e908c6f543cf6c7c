/** The body of `POST /simulator/control/inbound`: a customer's message, and its bubble on the phone. */
import { socialIdPattern } from '../graph/social.ts'
import { type AccountState, userIdOfNumber } from '../state/accounts.ts'
import type { Media } from '../state/media.ts'
import { type MediaType, mediaTypes } from '../state/sample-media.ts'
import type { Bubble, Location } from '../wire/bubble.ts'
import { badRequest, isObject, type Json, objectsIn, parseMimeType } from '../wire/http.ts'
import { createMid, createWamid, keyOf, userIdPattern, waIdOf } from '../wire/ids.ts'
import type { World } from '../world.ts'
import { pageUrl, renderContact } from './bubbles.ts'

const otherTypes = ['location', 'contacts', 'reaction', 'button', 'list', 'order', 'form', 'share'] as const
const types = ['text', ...mediaTypes, ...otherTypes] as const
type Type = (typeof types)[number]

/** The validated call. */
export type InboundMessage = {
  type: Type
  /** E.164 or a user id: the phone that shows the message. */
  phone: string
  /** Digits; empty if only a user id is known, and on social. */
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
  /** A post, reel or story, on social. */
  share: Json
  /** The ad or link that led the customer here. */
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

export async function readInbound(world: World, state: AccountState, body: Json): Promise<InboundMessage> {
  const type = types.find((each) => each === (body.type ?? 'text'))
  if (!type) throw badRequest(`type: one of ${types.join(', ')}`)
  const sender = readSender(state, body)
  const text = optionalText(body, 'text')
  if (type === 'share' && state.channel !== 'social') throw badRequest('type: share exists on the social channel only')
  if ((type === 'order' || type === 'form') && state.channel === 'social') {
    throw badRequest(`type: ${type} exists on the msgapp channel only`)
  }
  if (type === 'text' && (text === null || text === '')) throw badRequest('text: required for type text')
  const file = body.media ?? {}
  if (!isObject(file)) throw badRequest('media: an object')
  const mediaType = mediaTypes.find((each) => each === type)
  const media = mediaType ? await resolveMedia(world, state, mediaType, file) : undefined
  const isTap = type === 'button' || type === 'list'
  const button = isObject(body.button) ? body.button : undefined
  if (isTap && (typeof button?.id !== 'string' || typeof button.title !== 'string')) {
    throw badRequest(`button: { id, title } is required for type ${type}`)
  }
  const reaction = isObject(body.reaction) ? body.reaction : {}
  const replyTo =
    optionalText(body, 'reply_to') ?? (typeof reaction.message_id === 'string' ? reaction.message_id : null)
  if (type === 'reaction' && replyTo === null) throw badRequest('reply_to: required for type reaction')
  const accountId = state.account?.account_id ?? ''
  return {
    type,
    ...sender,
    name: optionalText(body, 'name'),
    username: optionalText(body, 'username'),
    text,
    at: readTime(body.timestamp),
    messageId:
      optionalText(body, 'message_id') ??
      (state.channel === 'social'
        ? createMid(accountId)
        : createWamid(sender.number || sender.userId.slice(0, 20), 'customer')),
    replyTo,
    button: {
      id: String(button?.id ?? ''),
      title: String(button?.title ?? ''),
      description: typeof button?.description === 'string' ? button.description : null,
    },
    media,
    caption: typeof file.caption === 'string' ? file.caption : text,
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

function readSender(state: AccountState, body: Json): Pick<InboundMessage, 'phone' | 'number' | 'userId'> {
  const [from, userId] = [optionalText(body, 'from'), optionalText(body, 'user_id')]
  if (state.channel === 'social') {
    const id = from ?? userId
    if (id === null || !socialIdPattern.test(id) || /["\\]/.test(id)) throw badRequest('from: a user id is required')
    return { phone: id, number: '', userId: id }
  }
  if (userId !== null && !userIdPattern.test(userId)) throw badRequest('user_id: such as US.13491208655302741918')
  if (from === null) {
    if (userId === null) throw badRequest('from: a number in E.164 is required, or user_id')
    return { phone: userId, number: '', userId }
  }
  const number = keyOf(from)
  if (!/^\d{6,15}$/.test(number)) throw badRequest('from: not a phone number in E.164')
  return { phone: `+${number}`, number, userId: userId ?? userIdOfNumber(state, waIdOf(number)) }
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

/** The file of a message: an upload by `id`, a download by `url`, or a sample. */
async function resolveMedia(world: World, state: AccountState, type: MediaType, input: Json): Promise<Media> {
  const [url, id] = [optionalText(input, 'url'), optionalText(input, 'id')]
  const mimeType = optionalText(input, 'mime_type')
  const filename = optionalText(input, 'filename')
  const { workspace_id } = state
  if (mimeType !== null && !parseMimeType(mimeType)) throw badRequest('media.mime_type: such as image/png')
  if (id !== null) {
    const known = world.media.get(id)
    if (!known) throw badRequest('media.id: no such upload')
    return { ...known, filename: filename ?? known.filename, mime_type: mimeType ?? known.mime_type }
  }
  if (url !== null) {
    const found = await world.downloads.get(url)
    if (!found.ok && found.isRefused) throw badRequest(`media.url: ${found.reason}`)
    if (!found.ok)
      world.log.warn({ reason: found.reason }, 'media.url could not be downloaded; the message has no file')
    const type = mimeType ?? ((found.ok && parseMimeType(found.mime_type)) || 'application/octet-stream')
    const file = { mime_type: type, filename, workspace_id, from: 'customer' } as const
    return world.media.save(file, found.ok ? found.bytes : undefined)
  }
  const sample = world.media.createSample(type)
  if (mimeType === null || mimeType === sample.mime_type) return { ...sample, filename: filename ?? sample.filename }
  const bytes = world.media.bytes(sample) ?? Buffer.alloc(0)
  return world.media.save({ mime_type: mimeType, filename, workspace_id, from: 'customer' }, bytes)
}

/** Accepts the provider's own shape, or `{ name, phone }`. */
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

export function inboundBubble(inbound: InboundMessage): Bubble {
  const { type, media, messageId, at, replyTo, location, contacts, emoji } = inbound
  return {
    id: messageId,
    from: 'customer',
    at: new Date(at).toISOString(),
    type,
    text: bubbleText(inbound),
    status: 'failed',
    error: null,
    media: media ? { url: pageUrl(media.id), mime_type: media.mime_type, filename: media.filename } : null,
    template: null,
    reply_to: type === 'reaction' ? null : replyTo,
    ...(type === 'location' ? { location: location as Location } : {}),
    ...(type === 'contacts' ? { contacts: contacts.map(renderContact) } : {}),
    ...(type === 'reaction' ? { reaction: { message_id: replyTo ?? '', emoji } } : {}),
  }
}

/** The text of a bubble on the customer's phone. */
function bubbleText({ type, text, caption, media, button, order, share }: InboundMessage): string | null {
  if (media) return caption
  if (type === 'button' || type === 'list') return button.title
  if (type === 'order') {
    return `Order: ${objectsIn(order.product_items)
      .map(({ quantity, product_retailer_id: id }) => `${quantity} × ${id}`)
      .join(', ')}`
  }
  if (type === 'form') return 'Sent a form'
  if (type === 'share') return [share.title, share.url, text].filter((part) => typeof part === 'string').join('\n')
  return type === 'text' ? text : null
}
