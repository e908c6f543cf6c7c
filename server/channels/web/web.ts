/**
 * The adapter of the web channel. The widget is our own, so there is no provider to call.
 *
 * A reply is sent when it is stored; the visitor's page reads it from our stream. A visitor's message comes through our own
 * endpoint, already validated, and is parsed like a provider's report, so that all channels share the code behind it.
 */
import type { Channel, Report } from '../channel.ts'
import { contentOf, idOf, ignored, personOf, recordOf, textOf, timeOf } from '../reading.ts'

/** The id of a message with a page's `client_id`. It includes the visitor, so two visitors' pages cannot collide. */
export const toVisitMessageId = (visitorId: string, clientId: string): string =>
  `${visitorId}:${clientId.toLowerCase()}`
export const isVisitMessageId = (id: string): boolean => id.includes(':')

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
      {
        step: 'Web chat is ready',
        ok: true,
        field: null,
        message: 'This service provides the channel. No connection is needed.',
      },
    ],
  }
}

const fileTypes = ['image', 'video', 'audio', 'document'] as const

function readVisit(body: unknown): Report {
  const { visitor_id, message_id, text, name, at, type, tap } = recordOf(body) ?? {}
  const external_id = idOf(message_id)
  const visitor = idOf(visitor_id)
  const content_text = textOf(text)
  const tapped = recordOf(tap)
  const content_type = tapped ? 'interactive' : (fileTypes.find((each) => each === type) ?? 'text')
  const isEmpty = content_text === null && content_type === 'text'
  if (!external_id || !visitor || isEmpty) return ignored('a visit without visitor, message id, text or file')
  return {
    kind: 'message',
    from: personOf(visitor, name),
    external_id,
    at: timeOf(typeof at === 'string' ? Date.parse(at) : undefined),
    content_type,
    content_text,
    media: null,
    reply_to: idOf(tapped?.message_id) ?? null,
    interactive_reply_id: textOf(tapped?.id, 1_000),
    content: contentOf({ description: textOf(tapped?.description) }),
  }
}
