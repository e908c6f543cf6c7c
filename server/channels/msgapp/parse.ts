/**
 * What the provider of `msgapp` posts, in our words.
 *
 * A callback holds entries, an entry changes, a change messages or statuses,
 * any number of each. Every item is read by itself. A message of a known sender
 * always becomes a message: one whose content cannot be read, or that was
 * written in a group, is `unsupported` with its parts as `content`. Without a
 * usable sender there is no conversation, so that one is malformed.
 */
import { isUuid } from '../../lib/id.ts'
import type { Connection, ContentType, MediaReference, Person, Report, Written } from '../channel.ts'
import { describeError } from '../graph.ts'
import {
  contentOf,
  derivedIdOf,
  idOf,
  ignored,
  isOther,
  itemsOf,
  type Json,
  malformed,
  maxName,
  personOf,
  phoneOf,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
  usernameOf,
  withoutFileHandles,
} from '../reading.ts'
import { foreignMessages, readAccountChange, signal } from './account.ts'

export function parse(connection: Connection, body: unknown): Report[] {
  const callback = recordOf(body)
  if (!callback) return [malformed('not an object')]
  if (callback.object !== undefined && callback.object !== 'whatsapp_business_account') {
    return [ignored('of another product', callback.object)]
  }
  const reports = itemsOf(callback.entry, 'entry', (entry) => {
    if (isOther(entry.id, connection.account_id)) return readForeignEntry(connection, entry)
    return itemsOf(entry.changes, 'change', (change) => readChange(connection, change, timeOf(entry.time)))
  })
  return reports.length > 0 ? reports : [malformed('no entries')]
}

function readForeignEntry({ account_id }: Connection, { id, changes }: Json): Report[] {
  if (!recordsOf(changes).some(({ value }) => hasMessages(value))) return [ignored('of another account', id)]
  return foreignMessages(id, `account ${textOf(id, 50)}`, `this connection is for account ${account_id}`)
}

const hasMessages = (value: unknown): boolean => {
  const { messages, calls } = recordOf(value) ?? {}
  return recordsOf(messages).length + recordsOf(calls).length > 0
}

/** `at` is the entry's time, which only changes of the account carry. */
function readChange(connection: Connection, change: Json, at: string): Report[] {
  const value = recordOf(change.value)
  if (!value) return [malformed('a change without a value')]
  const { phone_number_id: number, display_phone_number } = recordOf(value.metadata) ?? {}
  if (isOther(number, connection.phone_number_id)) {
    if (!hasMessages(value)) return [ignored('of another number', number)]
    const shown = phoneOf(display_phone_number) ?? textOf(display_phone_number, 50) ?? `number id ${textOf(number, 50)}`
    return foreignMessages(number, shown, 'this number is not connected')
  }
  switch (change.field) {
    case 'messages':
    case undefined:
      return readMessages(value)
    case 'calls':
      return readCalls(value)
    case 'smb_message_echoes':
      return itemsOf(value.message_echoes, 'echo', (echo) => [readEcho(echo)])
    case 'user_preferences':
      return itemsOf(value.user_preferences, 'preference', (preference) => [readPreference(preference)])
    case 'user_id_update':
      return Array.isArray(value.user_id_update)
        ? itemsOf(value.user_id_update, 'user id', (update) => [readUserIdUpdate(update)])
        : [readUserIdUpdate(value)]
    default: {
      const reports = readAccountChange(change.field, value, at)
      if (reports) return reports
      // Messages under a field we do not know (`standby`, for one) are messages all the same.
      return hasMessages(value) ? readMessages(value) : [ignored('a field we do not read', change.field)]
    }
  }
}

function readMessages(value: Json): Report[] {
  const named = nameFinder(value)
  const reports = [
    ...itemsOf(value.messages, 'message', (message) => [readMessage(message, named)]),
    ...itemsOf(value.statuses, 'status', (status) => [readStatus(status, named)]),
    ...itemsOf(value.errors, 'error', (error) => [readAccountError(error)]),
  ]
  return reports.length > 0 ? reports : [ignored('a change with neither messages nor statuses')]
}

/** Adds to a person the names that `contacts` has for them. */
function nameFinder(value: Json): (person: Person) => Person {
  const contacts = recordsOf(value.contacts)
  const byName = new Map(contacts.flatMap((contact) => namesOf(contact).map((name) => [name, contact])))
  const lengthOf = (list: unknown) => (Array.isArray(list) ? list.length : 0)
  // A single contact beside a single item is about it, whatever it is called.
  const itemCount = lengthOf(value.messages) + lengthOf(value.statuses) + lengthOf(value.calls)
  const only = contacts.length === 1 && itemCount === 1 ? contacts[0] : undefined
  return (person) => {
    const contact = byName.get(person.phone ?? '') ?? byName.get(person.user_id ?? '') ?? only
    return contact ? addNames(person, contact) : person
  }
}

function readMessage(message: Json, named: (person: Person) => Person): Report {
  if (message.type === 'system') return readMove(message)
  const from = named(whoIs(message.from, message.from_user_id))
  if (!isSomebody(from)) return malformed('a message without a usable sender', message.id)
  return readCorrection(message, from) ?? { kind: 'message', from, ...readWritten(message) }
}

function readEcho(echo: Json): Report {
  if (echo.type === 'system') return ignored('a system message', echo.id)
  const correction = readCorrection(echo, null)
  if (correction) return correction
  const to = whoIs(echo.to, echo.to_user_id)
  if (!isSomebody(to)) return malformed('an echo without a usable recipient', echo.id)
  return { kind: 'echo', to, ...readWritten(echo) }
}

/**
 * A call of a customer, as a message without content: Parley answers no calls, and members should see that one came. Its
 * further events have the same id, so they change nothing.
 */
function readCalls(value: Json): Report[] {
  const named = nameFinder(value)
  const reports = itemsOf(value.calls, 'call', (call) => {
    const { event, direction, status, start_time, end_time, duration } = call
    if (direction === 'BUSINESS_INITIATED') return [ignored('a call of the business', call.id)]
    const from = named(whoIs(call.from, call.from_user_id))
    if (!isSomebody(from)) return [malformed('a call without a usable caller', call.id)]
    const shown = contentOf({ event, direction, status, start_time, end_time, duration }) ?? {}
    const written = { ...emptyMessage(call), content: contentOf({ type: 'call', call: shown }) }
    return [{ kind: 'message', from, ...written }]
  })
  return reports.length > 0 ? reports : [ignored('a change without calls')]
}

/** An edit or a revocation that can be applied; neither is a new message. */
function readCorrection(message: Json, from: Person | null): Report | undefined {
  const { type, timestamp } = message
  if (type !== 'edit' && type !== 'revoke') return undefined
  const change = recordOf(message[type])
  const external_id = idOf(change?.original_message_id)
  if (!external_id) return undefined
  const at = timeOf(timestamp)
  if (type === 'revoke') return { kind: 'revoke', from, external_id, at }
  const edited = recordOf(change?.message) ?? {}
  const part =
    typeof edited.type === 'string' && Object.hasOwn(edited, edited.type) ? recordOf(edited[edited.type]) : undefined
  const text = textOf(part?.body) ?? textOf(part?.caption)
  return text === null ? undefined : { kind: 'edit', from, external_id, text, at }
}

/** A person has a new number or user id. Older payloads say `new_wa_id` where newer ones say `wa_id`. */
function readMove(message: Json): Report {
  const system = recordOf(message.system) ?? {}
  const from = whoIs(message.from, message.from_user_id)
  const to = whoIs(system.new_wa_id ?? system.wa_id, system.user_id)
  if (!isSomebody(from)) return malformed('a system message about no person', message.id)
  const isSame = (to.phone ?? from.phone) === from.phone && (to.user_id ?? from.user_id) === from.user_id
  if (isSame) return ignored('a system message', system.type ?? message.type)
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
  if (!external_id) return malformed('a status without a usable id')
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

/** An error of the account itself, of no message. */
function readAccountError(error: Json): Report {
  const text = describeError(error)
  if (text === '') return malformed('an error without words')
  const [code] = text.split(':')
  return signal(`error:${textOf(code, 100)}`, 'warning', `The provider reported an error. ${text}`)
}

function readPreference(preference: Json): Report {
  const { wa_id, user_id, category, value, timestamp } = preference
  if (category !== undefined && category !== 'marketing_messages')
    return ignored('a preference we do not know', category)
  if (value !== 'stop' && value !== 'resume') return ignored('a preference we do not know', value)
  const from = whoIs(wa_id, user_id)
  if (!isSomebody(from)) return malformed('a preference of no person')
  return { kind: 'preference', from, wants: value, at: timeOf(timestamp) }
}

type Said = Pick<Written, 'content_type' | 'content_text'> & Partial<Omit<Written, 'content'>> & { content?: Json }

/** What was written. A type or a shape we do not know, and anything in a group, is `unsupported`. */
function readWritten(message: Json): Written {
  const said = (isInGroup(message) ? undefined : sayOf(message)) ?? unsupportedOf(message)
  const { id, forwarded, frequently_forwarded, referred_product } = recordOf(message.context) ?? {}
  return {
    ...emptyMessage(message),
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

const emptyMessage = (item: Json): Written => ({
  external_id: idOf(item.id) ?? derivedIdOf(item),
  at: timeOf(item.timestamp),
  content_type: 'unsupported',
  content_text: null,
  media: null,
  reply_to: null,
  interactive_reply_id: null,
  content: null,
})

const isInGroup = ({ group_id }: Json): boolean => group_id !== undefined && group_id !== null

/** Undefined for a type or a shape we do not know. */
function sayOf(message: Json): Said | undefined {
  const { type } = message
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
      return sayContacts(message.contacts)
    case 'interactive':
      return sayInteractive(recordOf(message.interactive))
    case 'button':
      return sayTap('button', textOf(recordOf(message.button)?.text), recordOf(message.button)?.payload)
    case 'reaction':
      return sayReaction(recordOf(message.reaction))
    default:
      return undefined
  }
}

/** Fields of a message around its content; `context` and `referral` are read for every type. */
const envelope = new Set([
  'from',
  'from_user_id',
  'from_parent_user_id',
  'to',
  'id',
  'timestamp',
  'context',
  'referral',
])

/** The content in the provider's own structure. */
function unsupportedOf(message: Json): Said {
  const parts = Object.entries(message).filter(([name]) => !envelope.has(name))
  const content = Object.fromEntries(parts.map(([name, part]) => [name, withoutFileHandles(part, name)]))
  return { content_type: 'unsupported', content_text: null, content }
}

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
  const { latitude, longitude, name, address } = location ?? {}
  const isPlace = [latitude, longitude].every(
    (degree) => typeof degree === 'number' || /^-?\d/.test(textOf(degree) ?? ''),
  )
  const words = [name, address].map((part) => textOf(part, maxName)).filter((part) => part !== null)
  if (!isPlace && words.length === 0) return undefined
  return {
    content_type: 'location',
    content_text: words.join(', ') || textOf(`${latitude}, ${longitude}`, maxName),
    content: { location },
  }
}

function sayContacts(contacts: unknown): Said | undefined {
  const cards = recordsOf(contacts)
  const names = cards.map((contact) => {
    const { formatted_name, first_name, last_name } = recordOf(contact.name) ?? {}
    const parts = [first_name, last_name].map((part) => textOf(part, maxName)).filter((part) => part !== null)
    const [phone] = recordsOf(contact.phones)
    return textOf(formatted_name, maxName) ?? (parts.join(' ') || textOf(phone?.phone, maxName))
  })
  if (cards.length === 0) return undefined
  return {
    content_type: 'contacts',
    content_text: textOf(names.filter((name) => name !== null).join(', ')),
    content: { contacts },
  }
}

function sayInteractive(interactive: Json | undefined): Said | undefined {
  const { type, button_reply, list_reply, nfm_reply } = interactive ?? {}
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
  return undefined
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
