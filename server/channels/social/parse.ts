/**
 * What the provider of `social` posts, in our words.
 *
 * Each item of `messaging` is one thing that happened between the account and
 * one person. What the account itself wrote, here or in the provider's app,
 * comes back as an echo. A message may hold several attachments; ours holds
 * one, so the further ones become messages of their own, with the attachment's
 * place behind the id.
 */
import type { Connection, ContentType, Person, Report, Written } from '../channel.ts'
import {
  contentOf,
  idOf,
  ignored,
  isOther,
  itemsOf,
  type Json,
  maxName,
  personOf,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
} from '../reading.ts'

export function parse(connection: Connection, body: unknown): Report[] {
  const callback = recordOf(body)
  if (!callback) return [ignored('not an object')]
  if (callback.object !== undefined && callback.object !== 'instagram') {
    return [ignored('of another product', callback.object)]
  }
  const reports = itemsOf(callback.entry, 'entry', (entry) => {
    if (isOther(entry.id, connection.account_id)) return [ignored('of another account', entry.id)]
    return [
      ...itemsOf(entry.messaging, 'messaging', (item) => readItem(connection, item)),
      // The test button of the provider's console wraps the same item in another way.
      ...itemsOf(entry.changes, 'change', (change) => {
        const item = recordOf(change.value)
        return item ? readItem(connection, item) : [ignored('a change without a value')]
      }),
      ...itemsOf(entry.standby, 'standby', () => [ignored('another app has the conversation')]),
    ]
  })
  return reports.length > 0 ? reports : [ignored('nothing in it')]
}

function readItem({ account_id }: Connection, item: Json): Report[] {
  const sender = recordOf(item.sender)
  const recipient = recordOf(item.recipient)
  const isOurs = sender?.id === account_id
  if (!isOurs && recordOf(item.message)?.is_echo !== true && isOther(recipient?.id, account_id)) {
    return [ignored('to another account', recipient?.id)]
  }
  const at = timeOf(item.timestamp)
  const from = whoIs(sender)
  const message = recordOf(item.message)
  if (message) return readMessage(message, { at, isOurs, sender, recipient })
  const edit = recordOf(item.message_edit)
  if (edit) return [readEdit(edit, isOurs ? null : (from ?? null), at)]
  if (isOurs || !from) return [ignored('from nobody')]
  const reaction = recordOf(item.reaction)
  if (reaction) return [readReaction(reaction, from, at, item.timestamp)]
  const postback = recordOf(item.postback)
  if (postback) return [readPostback(postback, from, at)]
  const read = recordOf(item.read)
  if (read) {
    const external_id = idOf(read.mid)
    return [external_id ? { kind: 'read_up_to', external_id, from, at } : ignored('read, without saying what')]
  }
  return [ignored('of a kind we do not read', Object.keys(item).join(' '))]
}

/** Undoes what `parse` adds to ids: a further attachment is quoted by its message; a reaction cannot be quoted. */
export function quotableId(externalId: string | null): string | null {
  if (externalId === null || externalId.includes(':reaction:')) return null
  return externalId.replace(/:\d+$/, '')
}

type Parties = { at: string; isOurs: boolean; sender: Json | undefined; recipient: Json | undefined }

function readMessage(message: Json, { at, isOurs, sender, recipient }: Parties): Report[] {
  const mid = idOf(message.mid)
  if (!mid) return [ignored('a message without a usable id')]
  if (message.is_deleted === true) {
    const from = isOurs || message.is_echo === true ? null : (whoIs(sender) ?? null)
    return [{ kind: 'revoke', from, external_id: mid, at }]
  }
  if (message.is_self === true) return [ignored('the account wrote to itself')]
  if (message.is_echo === true && !isOurs && sender?.id !== undefined)
    return [ignored('an echo of another account', sender.id)]
  const isEcho = message.is_echo === true || isOurs
  const person = whoIs(isEcho ? recipient : sender)
  if (!person) return [ignored(isEcho ? 'an echo to nobody' : 'a message from nobody', mid)]
  const written = readWritten(message, mid, at)
  if (written.length === 0) return [ignored('a message whose content cannot be read', mid)]
  return written.map((part) => {
    if (!idOf(part.external_id)) return ignored('an attachment without a usable id')
    return isEcho ? { kind: 'echo', to: person, ...part } : { kind: 'message', from: person, ...part }
  })
}

/** The message, and one more for each attachment behind the first. Empty when nothing can be made of it. */
function readWritten(message: Json, mid: string, at: string): Written[] {
  const text = textOf(message.text)
  const [first, ...others] = recordsOf(message.attachments).map(readAttachment)
  const quickReply = recordOf(message.quick_reply)
  const { mid: repliedMid, story } = recordOf(message.reply_to) ?? {}
  const base = { at, reply_to: idOf(repliedMid) ?? null, interactive_reply_id: null }
  const extra = { story: recordOf(story), referral: recordOf(message.referral) }
  const further = others.map((attachment, i): Written => {
    const { content_type, media, content } = attachment
    return {
      ...base,
      external_id: `${mid}:${i + 1}`,
      content_type,
      content_text: null,
      media,
      content: contentOf(content),
    }
  })
  const say = (content_type: ContentType, said: Partial<Written>, content: Json = {}): Written[] => [
    {
      ...base,
      external_id: mid,
      content_type,
      content_text: text,
      media: null,
      ...said,
      content: contentOf({ ...content, ...extra }),
    },
    ...further,
  ]
  if (quickReply) return say('interactive', { interactive_reply_id: textOf(quickReply.payload, 1_000) })
  if (first?.media) return say(first.content_type, { media: first.media }, first.content)
  if (text !== null) return say('text', {}, first?.content)
  if (first) return say('unsupported', {}, first.content)
  return message.is_unsupported === true ? say('unsupported', { content_text: null }) : []
}

const mediaTypes: Readonly<Record<string, ContentType>> = {
  image: 'image',
  video: 'video',
  audio: 'audio',
  file: 'document',
}

/** Media, or something else that the provider shows and we cannot: a shared post, a reel, a mention in a story. */
function readAttachment({ type, payload }: Json): Pick<Written, 'content_type' | 'media'> & { content: Json } {
  const { url, title } = recordOf(payload) ?? {}
  const content_type = typeof type === 'string' && Object.hasOwn(mediaTypes, type) ? mediaTypes[type] : undefined
  const address = textOf(url)
  if (content_type && address !== null) {
    return { content_type, media: { id: null, url: address, mime_type: null, filename: null }, content: {} }
  }
  return { content_type: 'unsupported', media: null, content: { attachment: contentOf({ type, title, url: address }) } }
}

function readEdit({ mid, text }: Json, from: Person | null, at: string): Report {
  const external_id = idOf(mid)
  const edited = textOf(text)
  if (!external_id || edited === null) return ignored('an edit without a usable id or text')
  return { kind: 'edit', from, external_id, text: edited, at }
}

function readPostback(postback: Json, from: Person, at: string): Report {
  const external_id = idOf(postback.mid)
  const content_text = textOf(postback.title)
  const interactive_reply_id = textOf(postback.payload, 1_000)
  if (!external_id || (content_text === null && interactive_reply_id === null))
    return ignored('a tap that cannot be read')
  const content = contentOf({ referral: recordOf(postback.referral) })
  return {
    kind: 'message',
    from,
    external_id,
    at,
    content_type: 'button',
    content_text,
    media: null,
    reply_to: null,
    interactive_reply_id,
    content,
  }
}

/** A reaction has no id of its own, so it gets one that is the same each time it is reported. */
function readReaction({ mid, action, emoji, reaction }: Json, from: Person, at: string, timestamp: unknown): Report {
  const reply_to = idOf(mid)
  const when = typeof timestamp === 'string' || typeof timestamp === 'number' ? timestamp : ''
  const external_id = idOf(`${reply_to}:reaction:${from.user_id}:${when}`)
  if (!reply_to || !external_id) return ignored('a reaction to a message without a usable id')
  if (action !== 'react' && action !== 'unreact') return ignored('a reaction we do not know', action)
  return {
    kind: 'message',
    from,
    external_id,
    at,
    content_type: 'reaction',
    content_text: action === 'react' ? (textOf(emoji, maxName) ?? textOf(reaction, maxName)) : null,
    media: null,
    reply_to,
    interactive_reply_id: null,
    content: null,
  }
}

function whoIs(party: Json | undefined): Person | undefined {
  const id = idOf(party?.id)
  return id ? personOf(id, party?.name, party?.username) : undefined
}
