/**
 * The adapter of the social channel: direct messages to an account.
 *
 * People are opaque ids, scoped to the account. The provider reports reads but no deliveries, and it does not return our
 * message id: a send whose answer was lost is found by its echo.
 */
import type { Http } from '../../lib/http/client.ts'
import type {
  BlockAnswer,
  Channel,
  Connection,
  Content,
  Interactive,
  OutgoingMessage,
  Person,
  Profile,
  SendAnswer,
} from '../channel.ts'
import { callProvider, checkReads, errorOf, fetchField, refuse, toBlockAnswer, toSendAnswer } from '../graph.ts'
import { fetchMedia } from '../media.ts'
import { idOf, type Json, maxName, personOf, recordOf, textOf, usernameOf } from '../reading.ts'
import { answerHandshake, isSigned } from '../signature.ts'
import { parse, quotableId } from './parse.ts'

const dayMs = 24 * 60 * 60 * 1000
const maxTextBytes = 1_000
const throttleCodes = [4, 613, 80002]

export function createSocial(http: Http, sendMs: number): Channel {
  return {
    name: 'social',
    windowMs: dayMs,
    lateWindowMs: 7 * dayMs,
    quotableId,
    send: (connection, outgoing) => send(http, connection, outgoing, sendMs),
    answerHandshake,
    isSigned,
    parse,
    fetchMedia: (connection, media, maxBytes) => fetchMedia(http, connection, media, maxBytes),
    fetchProfile: (connection, userId) => fetchProfile(http, connection, userId),
    setBlocked: (connection, person, isBlocked) => setBlocked(http, connection, person, isBlocked, sendMs),
    fetchAddress: async (connection) =>
      usernameOf(await fetchField(http, connection, connection.account_id, 'username')) ?? undefined,
    check: (connection) =>
      checkReads(http, connection, [
        {
          step: 'Read the account',
          field: 'account_id',
          path: [connection.account_id],
          query: { fields: 'id,name,username' },
        },
      ]),
  }
}

async function send(
  http: Http,
  connection: Connection,
  outgoing: OutgoingMessage,
  timeoutMs: number,
): Promise<SendAnswer> {
  const { to, content, reply_to, late_reply } = outgoing
  if (!to.user_id) return refuse('the recipient has no user id on this channel')
  if (content.type === 'template') return refuse('this channel has no templates')
  if (content.type === 'text' && Buffer.byteLength(content.text) > maxTextBytes) {
    return refuse(`text: must have at most ${maxTextBytes} bytes on this channel`)
  }
  const recipient = { id: to.user_id }
  if (content.type === 'reaction') return sendReaction(http, connection, recipient, content.emoji, reply_to, timeoutMs)
  const message = toWire(content)
  if (!message) return refuse('this channel has no locations and no lists')
  const answer = await callProvider(http, connection, {
    method: 'POST',
    path: [connection.account_id, 'messages'],
    body: {
      recipient,
      ...(late_reply ? { messaging_type: 'MESSAGE_TAG', tag: 'HUMAN_AGENT' } : { messaging_type: 'RESPONSE' }),
      message,
      ...(reply_to === null ? {} : { reply_to: { mid: reply_to } }),
    },
    timeoutMs,
  })
  return toSendAnswer(answer, throttleCodes, (value) => {
    const { message_id, recipient_id } = recordOf(value) ?? {}
    const external_id = idOf(message_id)
    const userId = idOf(recipient_id)
    return external_id ? { ok: true, external_id, person: userId ? personOf(userId) : null } : undefined
  })
}

async function setBlocked(
  http: Http,
  connection: Connection,
  { user_id }: Person,
  isBlocked: boolean,
  timeoutMs: number,
): Promise<BlockAnswer> {
  const answer = await callProvider(http, connection, {
    method: 'POST',
    path: [connection.account_id, 'moderate_conversations'],
    body: { user_ids: [{ id: user_id }], actions: [isBlocked ? 'block_user' : 'unblock_user'] },
    timeoutMs,
  })
  return toBlockAnswer(answer)
}

/** A reaction is an action, not a message: the provider gives it no id and sends no echo. It knows only the heart. */
async function sendReaction(
  http: Http,
  connection: Connection,
  recipient: { id: string },
  emoji: string,
  messageId: string | null,
  timeoutMs: number,
): Promise<SendAnswer> {
  const answer = await callProvider(http, connection, {
    method: 'POST',
    path: [connection.account_id, 'messages'],
    body: {
      recipient,
      sender_action: emoji === '' ? 'unreact' : 'react',
      payload: { message_id: messageId, ...(emoji === '' ? {} : { reaction: 'love' }) },
    },
    timeoutMs,
  })
  return toSendAnswer(answer, throttleCodes, (value) =>
    idOf(recordOf(value)?.recipient_id) ? { ok: true, external_id: null, person: null } : undefined,
  )
}

/** Images are sent as a list, other types alone. The channel has no captions. Undefined for what it does not support. */
function toWire(content: Exclude<Content, { type: 'template' | 'reaction' }>): Json | undefined {
  if (content.type === 'text') return { text: content.text }
  if (content.type === 'location') return undefined
  if (content.type === 'interactive') return toInteractive(content.interactive)
  const type = content.type === 'document' ? 'file' : content.type
  const attachment = { type, payload: { url: content.media_url } }
  return type === 'image' ? { attachments: [attachment] } : { attachment }
}

/** Buttons are quick replies, a link is a template with one button. There are no lists. */
function toInteractive(interactive: Interactive): Json | undefined {
  const { body } = interactive
  if (interactive.kind === 'list') return undefined
  if (interactive.kind === 'link') {
    const button = { type: 'web_url', title: interactive.text, url: interactive.url }
    const payload = { template_type: 'button', text: body, buttons: [button] }
    return { attachment: { type: 'template', payload } }
  }
  const quick_replies = interactive.buttons.map(({ id, title }) => ({ content_type: 'text', title, payload: id }))
  return { text: body, quick_replies }
}

/** A person's name and picture, or undefined when the provider does not answer. The URL of the picture expires after days. */
async function fetchProfile(http: Http, connection: Connection, userId: string): Promise<Profile | undefined> {
  const answer = await callProvider(http, connection, {
    method: 'GET',
    path: [userId],
    query: { fields: 'name,username,profile_pic' },
    timeoutMs: 10_000,
  })
  const profile = answer.ok && !errorOf(answer) ? recordOf(answer.value) : undefined
  if (!profile) return undefined
  const picture = textOf(profile.profile_pic)
  return {
    name: textOf(profile.name, maxName),
    username: usernameOf(profile.username),
    avatar_url: picture !== null && picture.length <= 2_048 && /^https?:\/\//i.test(picture) ? picture : null,
  }
}
