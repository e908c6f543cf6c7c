/**
 * What the provider of `msgapp` posts, in our words.
 *
 * A callback holds entries, an entry changes, a change messages or statuses,
 * any number of each. Every item is read by itself: one that makes no sense is
 * ignored with a reason, and its neighbours are read. A message of a kind we
 * know in a shape we do not is ignored; one of a kind we do not know, or that
 * the provider could not hand over, is `unsupported`, so that the customer is
 * not left unheard.
 */
import { isUuid } from '../../lib/id.ts'
import type { Connection, ContentType, MediaReference, Person, Report, Written } from '../channel.ts'
import { describeError } from '../graph.ts'
import {
  contentOf,
  idOf,
  ignored,
  isOther,
  itemsOf,
  type Json,
  maxName,
  personOf,
  phoneOf,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
  usernameOf,
} from '../reading.ts'

export function parse(connection: Connection, body: unknown): Report[] {
  const callback = recordOf(body)
  if (!callback) return [ignored('not an object')]
  if (callback.object !== undefined && callback.object !== 'whatsapp_business_account') {
    return [ignored('of another product', callback.object)]
  }
  const reports = itemsOf(callback.entry, 'entry', (entry) => {
    if (isOther(entry.id, connection.account_id)) return [ignored('of another account', entry.id)]
    return itemsOf(entry.changes, 'change', (change) => readChange(connection, change))
  })
  return reports.length > 0 ? reports : [ignored('nothing in it')]
}

function readChange(connection: Connection, change: Json): Report[] {
  const value = recordOf(change.value)
  if (!value) return [ignored('a change without a value')]
  const number = recordOf(value.metadata)?.phone_number_id
  if (isOther(number, connection.phone_number_id)) return [ignored('of another number', number)]
  switch (change.field) {
    case 'messages':
    case undefined:
      return readMessages(value)
    case 'smb_message_echoes':
      return itemsOf(value.message_echoes, 'echo', (echo) => [readEcho(echo)])
    case 'message_template_status_update':
      return [readTemplateStatus(value)]
    case 'user_preferences':
      return itemsOf(value.user_preferences, 'preference', (preference) => [readPreference(preference)])
    case 'user_id_update':
      return Array.isArray(value.user_id_update)
        ? itemsOf(value.user_id_update, 'user id', (update) => [readUserIdUpdate(update)])
        : [readUserIdUpdate(value)]
    default:
      return [ignored('a field we do not read', change.field)]
  }
}

function readMessages(value: Json): Report[] {
  const contacts = recordsOf(value.contacts)
  const byName = new Map(contacts.flatMap((contact) => namesOf(contact).map((name) => [name, contact])))
  const lengthOf = (list: unknown) => (Array.isArray(list) ? list.length : 0)
  // A single contact beside a single item is about it, whatever it is called.
  const isSingle = contacts.length === 1 && lengthOf(value.messages) + lengthOf(value.statuses) === 1
  const named = (person: Person): Person => {
    const contact = byName.get(person.phone ?? '') ?? byName.get(person.user_id ?? '') ?? (isSingle && contacts[0])
    return contact ? addNames(person, contact) : person
  }
  const reports = [
    ...itemsOf(value.messages, 'message', (message) => [readMessage(message, named)]),
    ...itemsOf(value.statuses, 'status', (status) => [readStatus(status, named)]),
    ...itemsOf(value.errors, 'error', (error) => [ignored('an error of the account', describeError(error))]),
  ]
  return reports.length > 0 ? reports : [ignored('a change with neither messages nor statuses')]
}

function readMessage(message: Json, named: (person: Person) => Person): Report {
  const external_id = idOf(message.id)
  if (!external_id) return ignored('a message without a usable id')
  if (message.group_id !== undefined) return ignored('a message in a group')
  if (message.type === 'system') return readMove(message)
  const from = named(whoIs(message.from, message.from_user_id))
  const change = isSomebody(from) ? readChangeOfMessage(message, from) : undefined
  if (change) return change
  if (!isSomebody(from)) return ignored('a message from nobody', external_id)
  const written = readWritten(external_id, message)
  return 'reason' in written ? ignored(written.reason, written.quoted) : { kind: 'message', from, ...written }
}

function readEcho(echo: Json): Report {
  const external_id = idOf(echo.id)
  if (!external_id) return ignored('an echo without a usable id')
  const change = readChangeOfMessage(echo, null)
  if (change) return change
  const to = whoIs(echo.to, echo.to_user_id)
  if (!isSomebody(to)) return ignored('an echo to nobody', external_id)
  const written = readWritten(external_id, echo)
  return 'reason' in written ? ignored(written.reason, written.quoted) : { kind: 'echo', to, ...written }
}

/** An edit or a revocation, which is no new message; undefined for what is one. */
function readChangeOfMessage({ type, timestamp, ...message }: Json, from: Person | null): Report | undefined {
  if (type !== 'edit' && type !== 'revoke') return undefined
  const change = recordOf(message[type])
  const external_id = idOf(change?.original_message_id)
  if (!external_id) return ignored(`${type} of a message without a usable id`)
  const at = timeOf(timestamp)
  if (type === 'revoke') return { kind: 'revoke', from, external_id, at }
  const edited = recordOf(change?.message) ?? {}
  const part =
    typeof edited.type === 'string' && Object.hasOwn(edited, edited.type) ? recordOf(edited[edited.type]) : undefined
  const text = textOf(part?.body) ?? textOf(part?.caption)
  return text === null ? ignored('an edit without text', external_id) : { kind: 'edit', from, external_id, text, at }
}

/** Somebody has a new number or user id. Older payloads say `new_wa_id` where newer ones say `wa_id`. */
function readMove(message: Json): Report {
  const system = recordOf(message.system) ?? {}
  const from = whoIs(message.from, message.from_user_id)
  const to = whoIs(system.new_wa_id ?? system.wa_id, system.user_id)
  const isSame = (to.phone ?? from.phone) === from.phone && (to.user_id ?? from.user_id) === from.user_id
  if (!isSomebody(from) || isSame) return ignored('a system message', system.type ?? message.type)
  return { kind: 'moved', from, to, at: timeOf(message.timestamp) }
}

function readUserIdUpdate(update: Json): Report {
  const { previous, current } = recordOf(update.user_id) ?? {}
  // The number that comes along may be the new one, so it names the old person only when nothing else does.
  const from = idOf(previous) ? whoIs(undefined, previous) : whoIs(update.wa_id, undefined)
  const to = whoIs(update.wa_id, current)
  if (!isSomebody(from) || !to.user_id || to.user_id === from.user_id) return ignored('a user id that did not change')
  return { kind: 'moved', from, to, at: timeOf(update.timestamp) }
}

const statuses: Readonly<Record<string, 'sent' | 'delivered' | 'read' | 'failed'>> = {
  sent: 'sent',
  delivered: 'delivered',
  read: 'read',
  played: 'read',
  failed: 'failed',
}

function readStatus(item: Json, named: (person: Person) => Person): Report {
  const external_id = idOf(item.id)
  if (!external_id) return ignored('a status without a usable id')
  const status = typeof item.status === 'string' && Object.hasOwn(statuses, item.status) && statuses[item.status]
  if (!status) return ignored('a status we do not know', item.status)
  const ours = item.biz_opaque_callback_data
  const recipient = item.recipient_type === 'group' ? null : named(whoIs(item.recipient_id, item.recipient_user_id))
  const [error] = recordsOf(item.errors)
  return {
    kind: 'status',
    external_id,
    message_id: typeof ours === 'string' && isUuid(ours) ? ours.toLowerCase() : null,
    status,
    at: timeOf(item.timestamp),
    error: status === 'failed' && error ? describeError(error) || null : null,
    recipient: recipient && isSomebody(recipient) ? recipient : null,
  }
}

function readTemplateStatus(value: Json): Report {
  const name = idOf(value.message_template_name)
  // Samples write `en-US` here, every other place `en_US`.
  const language = idOf(value.message_template_language)?.replaceAll('-', '_')
  const event = typeof value.event === 'string' ? value.event.toUpperCase() : ''
  if (!name || !language || !/^[A-Z_]{1,64}$/.test(event))
    return ignored('a template status without name, language or event')
  const status = event === 'REINSTATED' || event === 'UNARCHIVED' ? 'APPROVED' : event
  return { kind: 'template', name, language, status }
}

function readPreference(preference: Json): Report {
  const { wa_id, user_id, category, value, timestamp } = preference
  if (category !== undefined && category !== 'marketing_messages')
    return ignored('a preference we do not know', category)
  if (value !== 'stop' && value !== 'resume') return ignored('a preference we do not know', value)
  const from = whoIs(wa_id, user_id)
  if (!isSomebody(from)) return ignored('a preference of nobody')
  return { kind: 'preference', from, wants: value, at: timeOf(timestamp) }
}

type Unwritten = { reason: string; quoted?: unknown }
type Said = Pick<Written, 'content_type' | 'content_text'> & Partial<Omit<Written, 'content'>> & { content?: Json }

/** What was written, in whatever way; the reason when nothing can be made of it. */
function readWritten(external_id: string, message: Json): Written | Unwritten {
  const { type, errors } = message
  if (typeof type !== 'string') return { reason: 'a message without a type', quoted: external_id }
  if (type === 'system') return { reason: 'a system message', quoted: external_id }
  if (type === 'request_welcome') return { reason: 'somebody opened the chat and wrote nothing', quoted: external_id }
  const said = sayOf(type, message) ?? (recordsOf(errors).length > 0 ? unsupported({ type, errors }) : undefined)
  if (!said) return { reason: 'a message whose content cannot be read, of type', quoted: type }
  const { id, forwarded, frequently_forwarded, referred_product } = recordOf(message.context) ?? {}
  return {
    external_id,
    at: timeOf(message.timestamp),
    media: null,
    interactive_reply_id: null,
    reply_to: idOf(id) ?? null,
    ...said,
    content: contentOf({
      ...said.content,
      forwarded: forwarded === true || frequently_forwarded === true || undefined,
      referred_product: recordOf(referred_product),
      referral: recordOf(message.referral),
    }),
  }
}

/** By type. Undefined when a type we know has not the shape we know. */
function sayOf(type: string, message: Json): Said | undefined {
  switch (type) {
    case 'text':
      return sayText(recordOf(message.text))
    case 'image':
    case 'video':
    case 'audio':
    case 'document':
    case 'sticker':
      return sayMedia(type, recordOf(message[type]))
    case 'location':
      return sayLocation(recordOf(message.location))
    case 'contacts':
      return sayContacts(recordsOf(message.contacts))
    case 'interactive':
      return sayInteractive(recordOf(message.interactive))
    case 'button':
      return sayTap('button', textOf(recordOf(message.button)?.text), recordOf(message.button)?.payload)
    case 'reaction':
      return sayReaction(recordOf(message.reaction))
    case 'order':
      return unsupported({ type, order: message.order })
    default:
      return unsupported({ type: recordOf(message.unsupported)?.type ?? type, errors: message.errors })
  }
}

const unsupported = (content: Json): Said => ({ content_type: 'unsupported', content_text: null, content })

function sayText(text: Json | undefined): Said | undefined {
  const content_text = textOf(text?.body)
  return content_text === null ? undefined : { content_type: 'text', content_text }
}

function sayMedia(content_type: ContentType, part: Json | undefined): Said | undefined {
  const media: MediaReference = {
    id: idOf(part?.id) ?? null,
    url: textOf(part?.url),
    mime_type: textOf(part?.mime_type, maxName),
    filename: textOf(part?.filename, maxName),
  }
  if (!part || (media.id === null && media.url === null)) return undefined
  return {
    content_type,
    content_text: textOf(part.caption),
    media,
    content: {
      filename: media.filename,
      voice: part.voice === true || undefined,
      animated: part.animated === true || undefined,
    },
  }
}

function sayLocation(location: Json | undefined): Said | undefined {
  const { latitude, longitude, name, address, url } = location ?? {}
  const isPlace = [latitude, longitude].every(
    (degree) => typeof degree === 'number' || /^-?\d/.test(textOf(degree) ?? ''),
  )
  const words = [name, address].map((part) => textOf(part, maxName)).filter((part) => part !== null)
  if (!isPlace && words.length === 0) return undefined
  return {
    content_type: 'location',
    content_text: words.join(', ') || textOf(`${latitude}, ${longitude}`, maxName),
    content: { location: { latitude, longitude, name, address, url } },
  }
}

function sayContacts(contacts: Json[]): Said | undefined {
  const names = contacts.map((contact) => {
    const { formatted_name, first_name, last_name } = recordOf(contact.name) ?? {}
    const parts = [first_name, last_name].map((part) => textOf(part, maxName)).filter((part) => part !== null)
    const [phone] = recordsOf(contact.phones)
    return textOf(formatted_name, maxName) ?? (parts.join(' ') || textOf(phone?.phone, maxName))
  })
  if (contacts.length === 0) return undefined
  return {
    content_type: 'contacts',
    content_text: textOf(names.filter((name) => name !== null).join(', ')),
    content: { contacts },
  }
}

function sayInteractive(interactive: Json | undefined): Said | undefined {
  if (!interactive) return undefined
  const { type, button_reply, list_reply, nfm_reply } = interactive
  if (type === 'button_reply' || type === 'list_reply') {
    const reply = recordOf(type === 'button_reply' ? button_reply : list_reply)
    const said = sayTap('interactive', textOf(reply?.title), reply?.id)
    return said && { ...said, content: { description: textOf(reply?.description) } }
  }
  if (type === 'nfm_reply') {
    const { name, body, response_json } = recordOf(nfm_reply) ?? {}
    const response = parseResponse(response_json)
    if (textOf(body) === null && response === undefined) return undefined
    return { content_type: 'interactive', content_text: textOf(body), content: { form: { name, response } } }
  }
  return unsupported({ type, interactive })
}

function sayTap(content_type: 'button' | 'interactive', content_text: string | null, id: unknown): Said | undefined {
  const interactive_reply_id = textOf(id, 1_000)
  if (content_text === null && interactive_reply_id === null) return undefined
  return { content_type, content_text, interactive_reply_id }
}

/** Without an emoji it was taken back. */
function sayReaction(reaction: Json | undefined): Said | undefined {
  const reply_to = idOf(reaction?.message_id)
  return reply_to ? { content_type: 'reaction', content_text: textOf(reaction?.emoji, maxName), reply_to } : undefined
}

/** A form's answer is JSON within a string; what is not stays as it is. */
function parseResponse(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A number, a user id or both. Where a number is expected a user id may stand. */
function whoIs(number: unknown, userId: unknown): Person {
  const instead = typeof number === 'string' && /^[A-Z]{2}\.(ENT\.)?\w{1,128}$/.test(number) ? number : null
  return { ...personOf(idOf(userId) ?? instead), phone: phoneOf(number) }
}

const isSomebody = ({ phone, user_id }: Person) => phone !== null || user_id !== null

const namesOf = ({ wa_id, user_id }: Json) => [phoneOf(wa_id), idOf(user_id)].filter((name) => typeof name === 'string')

function addNames(person: Person, contact: Json): Person {
  const profile = recordOf(contact.profile)
  return {
    phone: person.phone ?? phoneOf(contact.wa_id),
    user_id: person.user_id ?? idOf(contact.user_id) ?? null,
    name: textOf(profile?.name, maxName),
    username: usernameOf(profile?.username),
  }
}
