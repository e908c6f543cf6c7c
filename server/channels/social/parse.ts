/**
 * Translates the callbacks of the `social` provider into reports.
 *
 * Each item of `messaging` is one event between the account and one person. `standby` has the same items while another app
 * answers the conversation. Messages of the account itself come back as echoes. Our message holds one attachment, so each
 * further attachment becomes its own message, with the attachment's index appended to the id.
 *
 * Every event of a known person becomes a message. One that cannot be read is `unsupported`, with its parts as `content`.
 */
import type { Connection, ContentType, Person, Report, WrittenMessage } from '../channel.ts'
import {
  contentOf,
  derivedIdOf,
  idOf,
  ignored,
  isDerivedId,
  isOtherId,
  itemsOf,
  type Json,
  malformed,
  maxName,
  personOf,
  recordOf,
  textOf,
  timeOf,
  withoutFileHandles,
} from '../reading.ts'

export function parse(connection: Connection, body: unknown): Report[] {
  const callback = recordOf(body)
  if (!callback) return [malformed('not an object')]
  if (callback.object !== undefined && callback.object !== 'instagram') {
    return [ignored('of another product', callback.object)]
  }
  const reports = itemsOf(callback.entry, 'entry', (entry) => {
    if (isOtherId(entry.id, connection.account_id)) {
      return Array.isArray(entry.messaging) ? reportForeignAccount(entry.id) : [ignored('of another account', entry.id)]
    }
    return [
      ...itemsOf(entry.messaging, 'messaging', (item) => readItem(connection, item)),
      ...itemsOf(entry.standby, 'standby', (item) => readItem(connection, item)),
      // The test button of the provider's console wraps the item differently.
      ...itemsOf(entry.changes, 'change', (change) => {
        const item = recordOf(change.value)
        return item ? readItem(connection, item) : [malformed('a change without a value')]
      }),
    ]
  })
  return reports.length > 0 ? reports : [malformed('no entries')]
}

/** Messages for another account. They cannot be answered here, so members get a warning. */
function reportForeignAccount(id: unknown): Report[] {
  const account = textOf(typeof id === 'number' ? String(id) : id, 100) ?? 'without an id'
  const about = { id: account, key: `foreign:${account}`, shown: `account ${account}` }
  return [
    { kind: 'foreign', ...about, reason: 'this account is not connected', hasMessages: true },
    ignored('of another account', account),
  ]
}

function readItem({ account_id }: Connection, item: Json): Report[] {
  const sender = recordOf(item.sender)
  const recipient = recordOf(item.recipient)
  const message = recordOf(item.message)
  const isOurs = sender?.id === account_id
  if (!isOurs && message?.is_echo !== true && isOtherId(recipient?.id, account_id))
    return reportForeignAccount(recipient?.id)
  const at = timeOf(item.timestamp)
  if (message) return readMessage(message, item, { at, isOurs, sender, recipient })
  const from = readPerson(sender)
  const { reaction, postback, message_edit: edit, referral, read } = item
  if (recordOf(edit) && isOurs) return [readEdit(edit, null, at) ?? malformed('an edit without a usable id or text')]
  if (isOurs) return [ignored('an event of the account itself', Object.keys(item).join(' '))]
  if (!from) return [malformed('an event without a usable sender', Object.keys(item).join(' '))]
  if (recordOf(read)) {
    const external_id = idOf(recordOf(read)?.mid)
    return [external_id ? { kind: 'read_up_to', external_id, from, at } : malformed('read, without a message id')]
  }
  const readable =
    readReaction(reaction, from, at, item.timestamp) ?? readPostback(item, from, at) ?? readEdit(edit, from, at)
  if (readable) return [readable]
  const content = contentOf({ reaction, postback, message_edit: edit, referral, message: item.message })
  if (!content) return [ignored('an unknown event', Object.keys(item).join(' '))]
  return [{ kind: 'message', from, ...emptyMessage(derivedIdOf(item), at), content }]
}

const emptyMessage = (external_id: string, at: string): WrittenMessage => ({
  external_id,
  at,
  content_type: 'unsupported',
  content_text: null,
  media: null,
  reply_to: null,
  interactive_reply_id: null,
  content: null,
})

/** Removes what `parse` appends to ids: an attachment is quoted by its message. An event without an id cannot be quoted. */
export function quotableId(externalId: string | null): string | null {
  if (externalId === null || isDerivedId(externalId) || externalId.includes(':reaction:')) return null
  return externalId.replace(/:\d+$/, '')
}

type Parties = { at: string; isOurs: boolean; sender: Json | undefined; recipient: Json | undefined }

function readMessage(message: Json, item: Json, { at, isOurs, sender, recipient }: Parties): Report[] {
  const mid = idOf(message.mid)
  if (message.is_deleted === true) {
    const from = isOurs || message.is_echo === true ? null : (readPerson(sender) ?? null)
    return [mid ? { kind: 'revoke', from, external_id: mid, at } : malformed('a deletion without a usable id')]
  }
  if (message.is_self === true) return [ignored('the account wrote to itself')]
  if (message.is_echo === true && !isOurs && sender?.id !== undefined)
    return [ignored('an echo of another account', sender.id)]
  const isEcho = message.is_echo === true || isOurs
  const person = readPerson(isEcho ? recipient : sender)
  if (!person)
    return [malformed(isEcho ? 'an echo without a usable recipient' : 'a message without a usable sender', mid)]
  return readWritten(message, mid ?? derivedIdOf(item), at).map((part) =>
    isEcho ? { kind: 'echo', to: person, ...part } : { kind: 'message', from: person, ...part },
  )
}

/** The message, and one more for each attachment after the first. */
function readWritten(message: Json, mid: string, at: string): WrittenMessage[] {
  const text = textOf(message.text)
  const [first, ...others] = attachmentsOf(message).map(readAttachment)
  const { mid: repliedMid, story } = recordOf(message.reply_to) ?? {}
  const base = { ...emptyMessage(mid, at), reply_to: idOf(repliedMid) ?? null }
  const extra = { story: recordOf(story), referral: recordOf(message.referral) }
  const further = others.map(({ content_type, media, content }, i): WrittenMessage => {
    const id = `${mid}:${i + 1}`
    const external_id = idOf(id) ?? derivedIdOf({ id })
    return { ...base, external_id, content_type, media, content: contentOf(content) }
  })
  const toMessages = (
    content_type: ContentType,
    fields: Partial<WrittenMessage>,
    content: Json = {},
  ): WrittenMessage[] => [
    { ...base, content_type, content_text: text, ...fields, content: contentOf({ ...content, ...extra }) },
    ...further,
  ]
  const payload = textOf(recordOf(message.quick_reply)?.payload, 1_000)
  if (message.quick_reply && (text ?? payload) !== null)
    return toMessages('interactive', { interactive_reply_id: payload })
  // An echo of our own link. Its text is in the template.
  const linkText = textOf(recordOf(recordOf(attachmentsOf(message)[0])?.payload)?.text)
  if (message.is_echo === true && text === null && linkText !== null)
    return toMessages('interactive', { content_text: linkText }, first?.content)
  if (first?.media) return toMessages(first.content_type, { media: first.media }, first.content)
  if (text !== null) return toMessages('text', {}, first?.content)
  if (first) return toMessages('unsupported', {}, first.content)
  const parts = Object.entries(message).filter(([name]) => !envelope.has(name))
  const unknownParts = Object.fromEntries(parts.map(([name, part]) => [name, withoutFileHandles(part, name)]))
  return toMessages('unsupported', {}, unknownParts)
}

/** The fields around the content. `reply_to` and `referral` are read for every message. */
const envelope = new Set(['mid', 'is_echo', 'app_id', 'metadata', 'is_unsupported', 'reply_to', 'referral'])

/** The provider sends a list, an object or a single `attachment`. */
const attachmentsOf = ({ attachments, attachment }: Json): unknown[] =>
  [attachments, attachment].flatMap((part) => part ?? [])

const mediaTypes: Readonly<Record<string, ContentType>> = {
  image: 'image',
  video: 'video',
  audio: 'audio',
  file: 'document',
}

/** Media, or something that `content` describes: a shared post, a reel, a mention in a story. */
function readAttachment(attachment: unknown): Pick<WrittenMessage, 'content_type' | 'media'> & { content: Json } {
  const { type, payload } = recordOf(attachment) ?? {}
  const { url, title, ig_post_media_id, reel_video_id } = recordOf(payload) ?? {}
  const content_type = typeof type === 'string' && Object.hasOwn(mediaTypes, type) ? mediaTypes[type] : undefined
  const address = textOf(url)
  if (content_type && address !== null) {
    return { content_type, media: { id: null, url: address, mime_type: null, filename: null }, content: {} }
  }
  const described = contentOf({ type, title, url: address, ig_post_media_id, reel_video_id })
  return { content_type: 'unsupported', media: null, content: { attachment: described ?? attachment } }
}

function readEdit(edit: unknown, from: Person | null, at: string): Report | undefined {
  const external_id = idOf(recordOf(edit)?.mid)
  const text = textOf(recordOf(edit)?.text)
  return external_id && text !== null ? { kind: 'edit', from, external_id, text, at } : undefined
}

function readPostback(item: Json, from: Person, at: string): Report | undefined {
  const { mid, title, payload, referral } = recordOf(item.postback) ?? {}
  const content_text = textOf(title)
  const interactive_reply_id = textOf(payload, 1_000)
  if (content_text === null && interactive_reply_id === null) return undefined
  return {
    kind: 'message',
    from,
    ...emptyMessage(idOf(mid) ?? derivedIdOf(item), at),
    content_type: 'button',
    content_text,
    interactive_reply_id,
    content: contentOf({ referral: recordOf(referral) }),
  }
}

/** A reaction has no id. It gets one that is the same each time the provider reports it. */
function readReaction(reaction: unknown, from: Person, at: string, timestamp: unknown): Report | undefined {
  const { mid, action, emoji, reaction: word } = recordOf(reaction) ?? {}
  const reply_to = idOf(mid)
  const when = typeof timestamp === 'string' || typeof timestamp === 'number' ? timestamp : ''
  const external_id = idOf(`${reply_to}:reaction:${from.user_id}:${when}`)
  if (!reply_to || !external_id || (action !== 'react' && action !== 'unreact')) return undefined
  return {
    kind: 'message',
    from,
    ...emptyMessage(external_id, at),
    content_type: 'reaction',
    content_text: action === 'react' ? (textOf(emoji, maxName) ?? textOf(word, maxName)) : null,
    reply_to,
  }
}

function readPerson(party: Json | undefined): Person | undefined {
  const id = idOf(party?.id)
  return id ? personOf(id, party?.name, party?.username) : undefined
}
