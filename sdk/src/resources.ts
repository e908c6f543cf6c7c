/**
 * Every operation of the API, a method each, in the nouns of the API.
 *
 * Methods take and answer what the service does, in its spelling: the body of
 * a request, the `data` of its answer. The last argument is always how to call.
 */
import type { Calls } from './calls.ts'
import { Listing } from './listing.ts'
import { type CallOptions, type InputOf, type PostOptions, type Route, type Settings, send } from './request.ts'
import { EventStream, type StreamOptions, type StreamQuery } from './stream.ts'
import type {
  ContactChanges,
  ContactIds,
  ListContactsQuery,
  ListConversationsQuery,
  ListMessagesQuery,
  ListSegmentContactsQuery,
  ListSegmentsQuery,
  NewBroadcast,
  NewContact,
  NewMessage,
  NewSegment,
  NewWebhook,
  SegmentChanges,
  WebhookChanges,
} from './types.ts'

/** Calls whose answer has this key. */
type With<Key extends string> = { [Name in Route]: Calls[Name] extends Record<Key, unknown> ? Name : never }[Route]

export type Caller = {
  call<Name extends With<'data'>>(
    route: Name,
    input: InputOf<Name>,
    options: PostOptions | undefined,
  ): Promise<Calls[Name]['data']>
  list<Name extends With<'item'>>(
    route: Name,
    input: InputOf<Name>,
    options: CallOptions | undefined,
  ): Listing<Calls[Name]['item']>
  stream(query: StreamQuery, options: StreamOptions): EventStream
}

export const createCaller = (settings: Settings): Caller => ({
  async call(route, input, options) {
    return (await send(settings, route, input, options)).data as never
  },
  list(route, input, options) {
    return new Listing(async (cursor) => {
      const { query } = input as { query?: object }
      const asked = cursor === undefined ? input : { ...input, query: { ...query, cursor } }
      const { data, meta } = await send(settings, route, asked, options)
      return { data: data as never[], next_cursor: meta?.next_cursor ?? null }
    })
  },
  stream: (query, options) => new EventStream(settings, query, options),
})

export const contactsOf = ({ call, list }: Caller) => ({
  /** Find or create. A known number answers its contact, unchanged unless `if_exists` is `update`. */
  create: (contact: NewContact, options?: PostOptions) => call('POST /contacts', { body: contact }, options),
  /** Newest first. */
  list: (query: ListContactsQuery = {}, options?: CallOptions) => list('GET /contacts', { query }, options),
  get: (id: string, options?: CallOptions) => call('GET /contacts/{id}', { params: { id } }, options),
  /** Only the fields present change; `tags` replaces the tags with exactly this list. */
  update: (id: string, changes: ContactChanges, options?: CallOptions) =>
    call('PATCH /contacts/{id}', { params: { id }, body: changes }, options),
})

export const segmentsOf = ({ call, list }: Caller) => ({
  /** A dynamic segment needs a `filter`; a static one drops it. */
  create: (segment: NewSegment, options?: PostOptions) => call('POST /segments', { body: segment }, options),
  /** Newest first. */
  list: (query: ListSegmentsQuery = {}, options?: CallOptions) => list('GET /segments', { query }, options),
  get: (id: string, options?: CallOptions) => call('GET /segments/{id}', { params: { id } }, options),
  /** Only the fields present change. The kind never does. */
  update: (id: string, changes: SegmentChanges, options?: CallOptions) =>
    call('PATCH /segments/{id}', { params: { id }, body: changes }, options),
  /** Its contacts stay. */
  delete: (id: string, options?: CallOptions) => call('DELETE /segments/{id}', { params: { id } }, options),
  /** Newest contact first. A dynamic segment is computed on this read. */
  listContacts: (id: string, query: ListSegmentContactsQuery = {}, options?: CallOptions) =>
    list('GET /segments/{id}/contacts', { params: { id }, query }, options),
  /** To a static segment, 1 to 1000 at once. */
  addContacts: (id: string, contacts: ContactIds, options?: PostOptions) =>
    call('POST /segments/{id}/contacts', { params: { id }, body: contacts }, options),
  /** From a static segment. After a repetition `removed` counts what was left to remove. */
  removeContacts: (id: string, contacts: ContactIds, options?: CallOptions) =>
    call('DELETE /segments/{id}/contacts', { params: { id }, body: contacts }, options),
})

export const conversationsOf = ({ call, list }: Caller) => ({
  /** Newest first, on every channel unless filtered, each with its contact. */
  list: (query: ListConversationsQuery = {}, options?: CallOptions) => list('GET /conversations', { query }, options),
  get: (id: string, options?: CallOptions) => call('GET /conversations/{id}', { params: { id } }, options),
  /** Newest first. */
  listMessages: (id: string, query: ListMessagesQuery = {}, options?: CallOptions) =>
    list('GET /conversations/{id}/messages', { params: { id }, query }, options),
})

export const messagesOf = ({ call }: Caller) => ({
  /** To a phone number; answers once the channel accepted it. Outside 24 hours of the customer's last message, a template. */
  send: (message: NewMessage, options?: PostOptions) => call('POST /messages', { body: message }, options),
  /** Applies the checks of `send`, except for the channel's own, and sends nothing. */
  check: (message: NewMessage, options?: PostOptions) => call('POST /messages/check', { body: message }, options),
})

export const broadcastsOf = ({ call }: Caller) => ({
  /** A template to many; accepted at once, sent in the background. */
  create: (broadcast: NewBroadcast, options?: PostOptions) => call('POST /broadcasts', { body: broadcast }, options),
  /** Applies the checks of `create` and sends nothing. */
  check: (broadcast: NewBroadcast, options?: PostOptions) =>
    call('POST /broadcasts/check', { body: broadcast }, options),
  /** Its counters are exact at this read. */
  get: (id: string, options?: CallOptions) => call('GET /broadcasts/{id}', { params: { id } }, options),
})

export const webhooksOf = ({ call, list }: Caller) => ({
  /** The answer holds the `secret`, this once. */
  create: (webhook: NewWebhook, options?: PostOptions) => call('POST /webhooks', { body: webhook }, options),
  /** All of them, newest first, on one page. */
  list: (options?: CallOptions) => list('GET /webhooks', {}, options),
  get: (id: string, options?: CallOptions) => call('GET /webhooks/{id}', { params: { id } }, options),
  /** Only the fields present change. */
  update: (id: string, changes: WebhookChanges, options?: CallOptions) =>
    call('PATCH /webhooks/{id}', { params: { id }, body: changes }, options),
  /** Nothing more is sent to it. */
  delete: (id: string, options?: CallOptions) => call('DELETE /webhooks/{id}', { params: { id } }, options),
})

export const eventsOf = ({ stream }: Caller) => ({
  /** As they happen, for `for await`: what webhooks carry, without an address of yours. Nothing is asked before. */
  stream: (query: StreamQuery = {}, options: StreamOptions = {}) => stream(query, options),
})
