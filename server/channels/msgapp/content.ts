/**
 * Reads the content of a `msgapp` message: its type, text, media, reply and structured parts.
 *
 * A type or shape that the service does not know becomes `unsupported`, with its parts as `content`.
 */
import type { ContentType, MediaReference, WrittenMessage } from '../channel.ts'
import {
  contentOf,
  derivedIdOf,
  idOf,
  type Json,
  maxName,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
  withoutFileHandles,
} from '../reading.ts'

type ParsedContent = Pick<WrittenMessage, 'content_type' | 'content_text'> &
  Partial<Omit<WrittenMessage, 'content'>> & { content?: Json }

/** The message without its sender. An unknown type or shape, and any message in a group, is `unsupported`. */
export function readWrittenMessage(message: Json): WrittenMessage {
  const parsed = (isInGroup(message) ? undefined : readContent(message)) ?? readUnsupported(message)
  const { id, forwarded, frequently_forwarded, referred_product } = recordOf(message.context) ?? {}
  return {
    ...emptyMessage(message),
    reply_to: idOf(id) ?? null,
    ...parsed,
    content: contentOf({
      ...parsed.content,
      forwarded: forwarded === true || frequently_forwarded === true || undefined,
      referred_product: recordOf(referred_product),
      referral: recordOf(message.referral),
    }),
  }
}

export const emptyMessage = (item: Json): WrittenMessage => ({
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

/** Undefined for an unknown type or shape. */
function readContent(message: Json): ParsedContent | undefined {
  const { type } = message
  switch (type) {
    case 'text':
      return readText(recordOf(message.text))
    case 'image':
    case 'video':
    case 'audio':
    case 'document':
    case 'sticker':
      return readMedia(type, recordOf(message[type]))
    case 'location':
      return readLocation(recordOf(message.location))
    case 'contacts':
      return readContacts(message.contacts)
    case 'interactive':
      return readInteractive(recordOf(message.interactive))
    case 'button':
      return readTap('button', textOf(recordOf(message.button)?.text), recordOf(message.button)?.payload)
    case 'reaction':
      return readReaction(recordOf(message.reaction))
    default:
      return undefined
  }
}

/** The fields around the content. `context` and `referral` are read for every type. */
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

/** The content in the provider's structure. */
function readUnsupported(message: Json): ParsedContent {
  const parts = Object.entries(message).filter(([name]) => !envelope.has(name))
  const content = Object.fromEntries(parts.map(([name, part]) => [name, withoutFileHandles(part, name)]))
  return { content_type: 'unsupported', content_text: null, content }
}

function readText(text: Json | undefined): ParsedContent | undefined {
  const content_text = textOf(text?.body)
  return content_text === null ? undefined : { content_type: 'text', content_text }
}

function readMedia(content_type: ContentType, part: Json | undefined): ParsedContent | undefined {
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

function readLocation(location: Json | undefined): ParsedContent | undefined {
  const { latitude, longitude, name, address } = location ?? {}
  const hasCoordinates = [latitude, longitude].every(
    (degree) => typeof degree === 'number' || /^-?\d/.test(textOf(degree) ?? ''),
  )
  const words = [name, address].map((part) => textOf(part, maxName)).filter((part) => part !== null)
  if (!hasCoordinates && words.length === 0) return undefined
  return {
    content_type: 'location',
    content_text: words.join(', ') || textOf(`${latitude}, ${longitude}`, maxName),
    content: { location },
  }
}

function readContacts(contacts: unknown): ParsedContent | undefined {
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

function readInteractive(interactive: Json | undefined): ParsedContent | undefined {
  const { type, button_reply, list_reply, nfm_reply } = interactive ?? {}
  if (type === 'button_reply' || type === 'list_reply') {
    const reply = recordOf(type === 'button_reply' ? button_reply : list_reply)
    const parsed = readTap('interactive', textOf(reply?.title), reply?.id)
    return parsed && { ...parsed, content: { description: textOf(reply?.description) } }
  }
  if (type === 'nfm_reply') {
    const { name, body, response_json } = recordOf(nfm_reply) ?? {}
    const response = parseResponse(response_json)
    if (textOf(body) === null && response === undefined) return undefined
    return { content_type: 'interactive', content_text: textOf(body), content: { form: { name, response } } }
  }
  return undefined
}

function readTap(
  content_type: 'button' | 'interactive',
  content_text: string | null,
  id: unknown,
): ParsedContent | undefined {
  const interactive_reply_id = textOf(id, 1_000)
  if (content_text === null && interactive_reply_id === null) return undefined
  return { content_type, content_text, interactive_reply_id }
}

/** A reaction without an emoji was removed. */
function readReaction(reaction: Json | undefined): ParsedContent | undefined {
  const reply_to = idOf(reaction?.message_id)
  return reply_to ? { content_type: 'reaction', content_text: textOf(reaction?.emoji, maxName), reply_to } : undefined
}

/** The answer to a form is JSON in a string. Other text stays as it is. */
function parseResponse(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
