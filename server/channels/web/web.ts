/**
 * The web channel: our own widget is the other side, so there is nobody to ask.
 *
 * A reply is sent when it is stored; the visitor's page takes it from there.
 * What a visitor writes comes through our own endpoint, already checked, and is
 * read like any provider's report so that the rest of the way is the same.
 */
import type { Channel, Report } from '../channel.ts'
import { idOf, ignored, personOf, recordOf, textOf, timeOf } from '../reading.ts'

/** The name of a message to which a page gave one: nobody else's page can give the same. */
export const nameOfVisit = (visitorId: string, clientId: string): string => `${visitorId}:${clientId.toLowerCase()}`
export const isNamedVisit = (name: string): boolean => name.includes(':')

export function createWeb(): Channel {
  return {
    name: 'web',
    windowMs: null,
    lateWindowMs: null,
    quotableId: (_externalId, ourId) => ourId,
    send: async () => ({ ok: true, external_id: null, person: null }),
    answerHandshake: () => undefined,
    isSigned: () => false,
    parse: (_connection, body) => [readVisit(body)],
    fetchMedia: async () => ({ ok: false, again: false, message: 'this channel has no media' }),
    check: async () => [
      { step: 'Web chat is ready', ok: true, field: null, message: 'The channel is served here: nothing to reach.' },
    ],
  }
}

function readVisit(body: unknown): Report {
  const { visitor_id, message_id, text, name, at } = recordOf(body) ?? {}
  const external_id = idOf(message_id)
  const visitor = idOf(visitor_id)
  const content_text = textOf(text)
  if (!external_id || !visitor || content_text === null) return ignored('a visit without visitor, message id or text')
  return {
    kind: 'message',
    from: personOf(visitor, name),
    external_id,
    at: timeOf(typeof at === 'string' ? Date.parse(at) : undefined),
    content_type: 'text',
    content_text,
    media: null,
    reply_to: null,
    interactive_reply_id: null,
    content: null,
  }
}
