/**
 * The social channel: direct messages to an account.
 *
 * People are opaque ids, scoped to the account. The provider reports no
 * delivery, only what was read, and it gives nothing of ours back: a send
 * whose answer was lost comes to light by its echo.
 */
import type { Http } from '../../lib/http.ts'
import type { Channel, Connection, Content, Outgoing, Profile, Sent } from '../channel.ts'
import { ask, errorOf, probe, refuse, settle } from '../graph.ts'
import { fetchMedia } from '../media.ts'
import { idOf, type Json, maxName, personOf, recordOf, textOf, usernameOf } from '../reading.ts'
import { answerHandshake, isSigned } from '../signature.ts'
import { parse, quotableId } from './parse.ts'

const dayMs = 24 * 60 * 60 * 1000
const maxTextBytes = 1_000
const throttleCodes = [4, 613, 80002]

export function createSocial(http: Http): Channel {
  return {
    name: 'social',
    windowMs: dayMs,
    lateWindowMs: 7 * dayMs,
    quotableId,
    send: (connection, outgoing) => send(http, connection, outgoing),
    answerHandshake,
    isSigned,
    parse,
    fetchMedia: (connection, media, maxBytes) => fetchMedia(http, connection, media, maxBytes),
    fetchProfile: (connection, userId) => fetchProfile(http, connection, userId),
    check: (connection) =>
      probe(http, connection, [
        {
          step: 'Read the account',
          field: 'account_id',
          path: [connection.account_id],
          query: { fields: 'id,name,username' },
        },
      ]),
  }
}

async function send(http: Http, connection: Connection, outgoing: Outgoing): Promise<Sent> {
  const { to, content, reply_to, late_reply } = outgoing
  if (!to.user_id) return refuse('the recipient has no user id on this channel')
  if (content.type === 'template') return refuse('this channel has no templates')
  if (content.type === 'text' && Buffer.byteLength(content.text) > maxTextBytes) {
    return refuse(`text: longer than ${maxTextBytes} bytes, which is all this channel takes`)
  }
  const answer = await ask(http, connection, {
    method: 'POST',
    path: [connection.account_id, 'messages'],
    body: {
      recipient: { id: to.user_id },
      ...(late_reply ? { messaging_type: 'MESSAGE_TAG', tag: 'HUMAN_AGENT' } : { messaging_type: 'RESPONSE' }),
      message: wireOf(content),
      ...(reply_to === null ? {} : { reply_to: { mid: reply_to } }),
    },
    timeoutMs: 15_000,
  })
  return settle(answer, throttleCodes, (value) => {
    const { message_id, recipient_id } = recordOf(value) ?? {}
    const external_id = idOf(message_id)
    const userId = idOf(recipient_id)
    return external_id ? { ok: true, external_id, person: userId ? personOf(userId) : null } : undefined
  })
}

/** Images go as a list, everything else alone; there are no captions here. */
function wireOf(content: Exclude<Content, { type: 'template' }>): Json {
  if (content.type === 'text') return { text: content.text }
  const type = content.type === 'document' ? 'file' : content.type
  const attachment = { type, payload: { url: content.media_url } }
  return type === 'image' ? { attachments: [attachment] } : { attachment }
}

/** Somebody's name and picture; undefined when the provider does not tell. The picture's address lives for days only. */
async function fetchProfile(http: Http, connection: Connection, userId: string): Promise<Profile | undefined> {
  const answer = await ask(http, connection, {
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
