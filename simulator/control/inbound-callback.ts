/** The callback of a customer's message, in the provider's wire format. */
import { attachmentsOf } from '../graph/social.ts'
import type { AccountState } from '../state/accounts.ts'
import { messagesCallback, messagingCallback } from '../wire/callback.ts'
import { isObject, type Json } from '../wire/http.ts'
import { waIdOf } from '../wire/ids.ts'
import type { World } from '../world.ts'
import type { InboundMessage } from './inbound.ts'

export function inboundCallback(world: World, state: AccountState, inbound: InboundMessage): Json {
  return state.channel === 'social' ? socialCallback(world, state, inbound) : messageCallback(world, state, inbound)
}

function messageCallback(world: World, state: AccountState, inbound: InboundMessage): Json {
  const { number, userId, name, username, at, messageId } = inbound
  const known = state.customers.get(waIdOf(number) || userId)
  const profile = { name: name || known?.name || undefined, username: username || known?.username || undefined }
  const contact = { profile, ...(number ? { wa_id: number } : {}), user_id: userId }
  const message = {
    ...contextOf(world, state, inbound),
    ...(number ? { from: number } : {}),
    from_user_id: userId,
    id: messageId,
    timestamp: String(Math.floor(at / 1000)),
    ...(inbound.referral ? { referral: inbound.referral } : {}),
    ...messageContent(world, state, inbound),
  }
  return messagesCallback(state.account, { contacts: [contact], messages: [message] })
}

/** The message that is replied to, if the phone still holds it. */
function repliedEntry(world: World, state: AccountState, { phone, replyTo }: InboundMessage) {
  return world.phones.find(state, phone)?.entries.find(({ id }) => id === replyTo)
}

function contextOf(world: World, state: AccountState, inbound: InboundMessage): Json {
  const { replyTo, type, number, userId } = inbound
  if (replyTo === null || type === 'reaction') return {}
  const isOwn = repliedEntry(world, state, inbound)?.from === 'customer'
  const from = isOwn ? number : state.account?.display_phone_number
  return { context: { ...(from ? { from } : { from_user_id: userId }), id: replyTo } }
}

function messageContent(world: World, state: AccountState, inbound: InboundMessage): Json {
  const { type, text, caption, media, button, location, contacts, replyTo, emoji } = inbound
  if (media) {
    const { id, mime_type, sha256, filename } = media
    return {
      type,
      [type]: {
        ...(type === 'document' && filename !== null ? { filename } : {}),
        id,
        mime_type,
        ...(sha256 === '' ? {} : { sha256 }),
        url: world.media.tokenLink(id, Date.now()),
        ...(caption !== null && caption !== '' && type !== 'audio' && type !== 'sticker' ? { caption } : {}),
        ...(type === 'audio' ? { voice: /ogg/.test(mime_type) } : {}),
        ...(type === 'sticker' ? { animated: false } : {}),
      },
    }
  }
  if (type === 'location') return { type, location }
  if (type === 'contacts') return { type, contacts }
  if (type === 'reaction') return { type, reaction: { message_id: replyTo, ...(emoji === '' ? {} : { emoji }) } }
  if (type === 'order') return { type, order: inbound.order }
  if (type === 'form') {
    const response_json = JSON.stringify({ flow_token: 'unused', ...inbound.form })
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
    // A template's quick reply arrives as `button`; a reply to an interactive message as `interactive`.
    if (isTemplate(world, state, inbound)) return { type: 'button', button: { payload: id, text: title } }
    return { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id, title } } }
  }
  return { type: 'text', text: { body: text } }
}

function isTemplate(world: World, state: AccountState, inbound: InboundMessage): boolean {
  const entry = repliedEntry(world, state, inbound)
  if (entry?.from !== 'business') return false
  const { body } = JSON.parse(world.journal.read(entry)) as { body: Json }
  if (state.channel === 'msgapp') return body.type === 'template'
  return isObject(body.message) && attachmentsOf(body.message)[0]?.type === 'template'
}

const attachmentType: Record<string, string> = { document: 'file', sticker: 'image' }

function socialCallback(world: World, state: AccountState, inbound: InboundMessage): Json {
  const accountId = state.account?.account_id ?? ''
  const { userId, at } = inbound
  const item = {
    sender: { id: userId },
    recipient: { id: accountId },
    timestamp: at,
    ...socialContent(world, state, inbound),
  }
  return messagingCallback(accountId, [item])
}

function socialContent(world: World, state: AccountState, inbound: InboundMessage): Json {
  const { type, text, media, button, messageId: mid, replyTo, emoji } = inbound
  if (type === 'reaction') {
    const action =
      emoji === '' ? { action: 'unreact' } : { action: 'react', reaction: emoji === '❤️' ? 'love' : 'other', emoji }
    return { reaction: { mid: replyTo, ...action } }
  }
  const reply = {
    ...(replyTo === null ? {} : { reply_to: { mid: replyTo } }),
    ...(inbound.referral ? { referral: inbound.referral } : {}),
  }
  if (type === 'share') {
    const { type: kind, ...payload } = inbound.share
    return { message: { mid, attachments: [{ type: kind, payload }], ...(text === null ? {} : { text }), ...reply } }
  }
  if (media) {
    const url = world.media.publicLink(media)
    return { message: { mid, attachments: [{ type: attachmentType[type] ?? type, payload: { url } }], ...reply } }
  }
  if (type === 'button' && isTemplate(world, state, inbound)) {
    return { postback: { mid, title: button.title, payload: button.id } }
  }
  if (type === 'button' || type === 'list') {
    return { message: { mid, text: button.title, quick_reply: { payload: button.id }, ...reply } }
  }
  // The social channel has no such messages and marks them as unsupported.
  if (type === 'location' || type === 'contacts') return { message: { mid, is_unsupported: true } }
  return { message: { mid, text, ...reply } }
}
