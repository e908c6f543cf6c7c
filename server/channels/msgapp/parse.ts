/**
 * Translates the callbacks of the `msgapp` provider into reports. `content.ts` reads the content of messages, `account.ts`
 * the changes of the account and its templates.
 *
 * A callback has entries, an entry has changes, and a change has messages or statuses, any number of each. Each item is read
 * on its own. A message of a known sender always becomes a message: one whose content cannot be read, or that was written
 * in a group, is `unsupported` with its parts as `content`. A message without a usable sender has no conversation, so it is
 * malformed.
 */
import { isUuid } from '../../lib/id.ts'
import type { Connection, Person, Report } from '../channel.ts'
import { describeError } from '../graph.ts'
import {
  contentOf,
  idOf,
  ignored,
  isOtherId,
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
} from '../reading.ts'
import { readAccountChange, signal } from './account.ts'
import { emptyMessage, readWrittenMessage } from './content.ts'

export function parse(connection: Connection, body: unknown): Report[] {
  const callback = recordOf(body)
  if (!callback) return [malformed('not an object')]
  if (callback.object !== undefined && callback.object !== 'whatsapp_business_account') {
    return [ignored('of another product', callback.object)]
  }
  const reports = itemsOf(callback.entry, 'entry', (entry) => {
    if (isOtherId(entry.id, connection.account_id)) return readForeignEntry(connection, entry)
    return itemsOf(entry.changes, 'change', (change) => readChange(connection, change, timeOf(entry.time)))
  })
  return reports.length > 0 ? reports : [malformed('no entries')]
}

/** An app has one callback URL for all its accounts and numbers, unless it is overridden for one of them. */
function readForeignEntry({ account_id }: Connection, { id, changes }: Json): Report[] {
  const key = `foreign:${textOf(id, 100) ?? ''}`
  const about = { key, shown: `account ${textOf(id, 50)}`, reason: `this connection is for account ${account_id}` }
  const values = recordsOf(changes)
    .filter(isOfNumber)
    .map(({ value }) => value)
  const byNumber = [...Map.groupBy(values, numberIdOf)].map(
    ([number, ofNumber]): Report => ({
      kind: 'foreign',
      ...about,
      id: number,
      hasMessages: ofNumber.some(hasMessages),
    }),
  )
  const ignoredAs = values.some(hasMessages)
    ? ignored(`messages for ${about.shown}: ${about.reason}`)
    : ignored('of another account', id)
  return [...byNumber, ignoredAs]
}

/** The id of the number that a change is about. Changes of the account and its templates name none. */
function numberIdOf(value: unknown): string | null {
  const { phone_number_id: id } = recordOf(recordOf(value)?.metadata) ?? {}
  return idOf(typeof id === 'number' ? String(id) : id) ?? null
}

/**
 * Fields that arrive at the callback URL of the number, if it has one of its own. All others, such as preferences and changes of
 * templates, arrive at the URL of the app.
 */
const fieldsOfNumber = new Set<unknown>(['messages', 'calls', 'smb_message_echoes', undefined])

const isOfNumber = ({ field, value }: Json): boolean => fieldsOfNumber.has(field) || hasMessages(value)

const hasMessages = (value: unknown): boolean => {
  const { messages, calls } = recordOf(value) ?? {}
  return recordsOf(messages).length + recordsOf(calls).length > 0
}

/** `at` is the time of the entry. Only changes of the account have no time of their own. */
function readChange(connection: Connection, change: Json, at: string): Report[] {
  const value = recordOf(change.value)
  if (!value) return [malformed('a change without a value')]
  const { phone_number_id: number, display_phone_number } = recordOf(value.metadata) ?? {}
  if (isOtherId(number, connection.phone_number_id)) {
    const shown = phoneOf(display_phone_number) ?? textOf(display_phone_number, 50) ?? `number id ${textOf(number, 50)}`
    const isWritten = hasMessages(value)
    const reason = 'this number is not connected'
    const about = { id: numberIdOf(value), key: `foreign:${textOf(number, 100) ?? ''}`, shown, reason }
    return [
      ...(isOfNumber(change) ? [{ kind: 'foreign' as const, ...about, hasMessages: isWritten }] : []),
      isWritten ? ignored(`messages for ${shown}: ${reason}`) : ignored('of another number', number),
    ]
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
      // An unknown field, such as `standby`, may have messages too.
      return hasMessages(value) ? readMessages(value) : [ignored('a field we do not read', change.field)]
    }
  }
}

function readMessages(value: Json): Report[] {
  const withNames = createNameLookup(value)
  const reports = [
    ...itemsOf(value.messages, 'message', (message) => [readMessage(message, withNames)]),
    ...itemsOf(value.statuses, 'status', (status) => [readStatus(status, withNames)]),
    ...itemsOf(value.errors, 'error', (error) => [readAccountError(error)]),
  ]
  return reports.length > 0 ? reports : [ignored('a change with neither messages nor statuses')]
}

/** Returns a function that adds the names in `contacts` to a person. */
function createNameLookup(value: Json): (person: Person) => Person {
  const contacts = recordsOf(value.contacts)
  const byIdentity = new Map(
    contacts.flatMap((contact) => identitiesOf(contact).map((identity) => [identity, contact])),
  )
  const lengthOf = (list: unknown) => (Array.isArray(list) ? list.length : 0)
  // A single contact next to a single item belongs to it, even if the ids differ.
  const itemCount = lengthOf(value.messages) + lengthOf(value.statuses) + lengthOf(value.calls)
  const onlyContact = contacts.length === 1 && itemCount === 1 ? contacts[0] : undefined
  return (person) => {
    const contact = byIdentity.get(person.phone ?? '') ?? byIdentity.get(person.user_id ?? '') ?? onlyContact
    return contact ? addNames(person, contact) : person
  }
}

function readMessage(message: Json, withNames: (person: Person) => Person): Report {
  if (message.type === 'system') return readMove(message)
  const from = withNames(readPerson(message.from, message.from_user_id))
  if (!isIdentified(from)) return malformed('a message without a usable sender', message.id)
  return readCorrection(message, from) ?? { kind: 'message', from, ...readWrittenMessage(message) }
}

function readEcho(echo: Json): Report {
  if (echo.type === 'system') return ignored('a system message', echo.id)
  const correction = readCorrection(echo, null)
  if (correction) return correction
  const to = readPerson(echo.to, echo.to_user_id)
  if (!isIdentified(to)) return malformed('an echo without a usable recipient', echo.id)
  return { kind: 'echo', to, ...readWrittenMessage(echo) }
}

/**
 * A customer's call becomes a message without text, so that members see it: the service does not answer calls. Further
 * events of the call have the same id, so they change nothing.
 */
function readCalls(value: Json): Report[] {
  const withNames = createNameLookup(value)
  const reports = itemsOf(value.calls, 'call', (call) => {
    const { event, direction, status, start_time, end_time, duration } = call
    if (direction === 'BUSINESS_INITIATED') return [ignored('a call of the business', call.id)]
    const from = withNames(readPerson(call.from, call.from_user_id))
    if (!isIdentified(from)) return [malformed('a call without a usable caller', call.id)]
    const shown = contentOf({ event, direction, status, start_time, end_time, duration }) ?? {}
    const message = { ...emptyMessage(call), content: contentOf({ type: 'call', call: shown }) }
    return [{ kind: 'message', from, ...message }]
  })
  return reports.length > 0 ? reports : [ignored('a change without calls')]
}

/** An edit or a revocation that names its message. Neither is a new message. */
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

/** A person has a new number or user id. Older payloads have `new_wa_id`, newer ones `wa_id`. */
function readMove(message: Json): Report {
  const system = recordOf(message.system) ?? {}
  const from = readPerson(message.from, message.from_user_id)
  const to = readPerson(system.new_wa_id ?? system.wa_id, system.user_id)
  if (!isIdentified(from)) return malformed('a system message about no person', message.id)
  const isSame = (to.phone ?? from.phone) === from.phone && (to.user_id ?? from.user_id) === from.user_id
  if (isSame) return ignored('a system message', system.type ?? message.type)
  return { kind: 'moved', from, to, at: timeOf(message.timestamp) }
}

function readUserIdUpdate(update: Json): Report {
  const { previous, current } = recordOf(update.user_id) ?? {}
  // The number may be the new one, so it identifies the old person only when there is no previous user id.
  const from = idOf(previous) ? readPerson(undefined, previous) : readPerson(update.wa_id, undefined)
  const to = readPerson(update.wa_id, current)
  if (!isIdentified(from) || !to.user_id || to.user_id === from.user_id) return ignored('a user id that did not change')
  return { kind: 'moved', from, to, at: timeOf(update.timestamp) }
}

const statuses: Readonly<Record<string, 'sent' | 'delivered' | 'read' | 'failed'>> = {
  sent: 'sent',
  delivered: 'delivered',
  read: 'read',
  played: 'read',
  failed: 'failed',
}

function readStatus(item: Json, withNames: (person: Person) => Person): Report {
  const external_id = idOf(item.id)
  if (!external_id) return malformed('a status without a usable id')
  const status = typeof item.status === 'string' && Object.hasOwn(statuses, item.status) && statuses[item.status]
  if (!status) return ignored('a status we do not know', item.status)
  const ours = item.biz_opaque_callback_data
  const recipient =
    item.recipient_type === 'group' ? null : withNames(readPerson(item.recipient_id, item.recipient_user_id))
  const [error] = recordsOf(item.errors)
  return {
    kind: 'status',
    external_id,
    message_id: typeof ours === 'string' && isUuid(ours) ? ours.toLowerCase() : null,
    status,
    at: timeOf(item.timestamp),
    error: status === 'failed' && error ? describeError(error) || null : null,
    recipient: recipient && isIdentified(recipient) ? recipient : null,
  }
}

/** An error of the account, not of a message. */
function readAccountError(error: Json): Report {
  const text = describeError(error)
  if (text === '') return malformed('an error without a text')
  const [code] = text.split(':')
  return signal(`error:${textOf(code, 100)}`, 'warning', `The provider reported an error. ${text}`)
}

function readPreference(preference: Json): Report {
  const { wa_id, user_id, category, value, timestamp } = preference
  if (category !== undefined && category !== 'marketing_messages')
    return ignored('a preference we do not know', category)
  if (value !== 'stop' && value !== 'resume') return ignored('a preference we do not know', value)
  const from = readPerson(wa_id, user_id)
  if (!isIdentified(from)) return malformed('a preference of no person')
  return { kind: 'preference', from, wants: value, at: timeOf(timestamp) }
}

/** A number, a user id or both. A user id may be in the field for the number. */
function readPerson(number: unknown, userId: unknown): Person {
  const idAsNumber = typeof number === 'string' && /^[A-Z]{2}\.(ENT\.)?\w{1,128}$/.test(number) ? number : null
  return { ...personOf(idOf(userId) ?? idAsNumber), phone: phoneOf(number) }
}

const isIdentified = ({ phone, user_id }: Person) => phone !== null || user_id !== null

const identitiesOf = ({ wa_id, user_id }: Json) =>
  [phoneOf(wa_id), idOf(user_id)].filter((identity) => typeof identity === 'string')

function addNames(person: Person, contact: Json): Person {
  const profile = recordOf(contact.profile)
  return {
    phone: person.phone ?? phoneOf(contact.wa_id),
    user_id: person.user_id ?? idOf(contact.user_id) ?? null,
    name: textOf(profile?.name, maxName),
    username: usernameOf(profile?.username),
  }
}
