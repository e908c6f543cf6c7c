/**
 * One method per API operation, grouped by resource.
 *
 * Methods take the request body and return the `data` of the response, in the spelling of the API. The last argument holds the
 * call options.
 */
import type { Calls } from './calls.ts'
import { type ChangePosition, changePages, Listing } from './listing.ts'
import { type CallOptions, type InputOf, type PostOptions, type Route, type Settings, send } from './request.ts'
import { EventStream, type StreamOptions, type StreamQuery } from './stream.ts'
import type {
  AutomationChange,
  AutomationDefinition,
  AutomationDryRunRequest,
  AutomationPause,
  AutomationStart,
  ContactBatch,
  ContactChanges,
  ContactIds,
  ContactMerge,
  ConversationChanges,
  GetAvailabilityReportQuery,
  GetReportQuery,
  GetSatisfactionReportQuery,
  GetTargetsReportQuery,
  GetTemplateQuery,
  ListAutomationRunsQuery,
  ListBroadcastRecipientsQuery,
  ListBroadcastsQuery,
  ListContactsQuery,
  ListConversationsQuery,
  ListEpisodesQuery,
  ListMembersQuery,
  ListMessagesQuery,
  ListNotesQuery,
  ListScheduledMessagesQuery,
  ListSegmentContactsQuery,
  ListSegmentsQuery,
  ListTagsQuery,
  ListTemplatesQuery,
  ListWebhookDeliveriesQuery,
  NewAutomation,
  NewBroadcast,
  NewContact,
  NewMessage,
  NewNote,
  NewRecipients,
  NewReply,
  NewScheduledMessage,
  NewSegment,
  NewWebhook,
  Report,
  SaveAutomationDraftQuery,
  ScheduledMessageChanges,
  SecretRotation,
  SegmentChanges,
  WebhookChanges,
} from './types.ts'

/** Routes whose response has this key. */
type RouteWith<Key extends string> = { [Name in Route]: Calls[Name] extends Record<Key, unknown> ? Name : never }[Route]

export type Caller = {
  call<Name extends RouteWith<'data'>>(
    route: Name,
    input: InputOf<Name>,
    options: PostOptions | undefined,
  ): Promise<Calls[Name]['data']>
  list<Name extends RouteWith<'item'>>(
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
      const pageInput = cursor === undefined ? input : { ...input, query: { ...query, cursor } }
      const { data, meta } = await send(settings, route, pageInput, options)
      return { data: data as never[], next_cursor: meta?.next_cursor ?? null }
    })
  },
  stream: (query, options) => new EventStream(settings, query, options),
})

export const contactsOf = ({ call, list }: Caller) => ({
  /** Finds or creates a contact. An existing phone number returns its contact, unchanged unless `if_exists` is `update`. */
  create: (contact: NewContact, options?: PostOptions) => call('POST /contacts', { body: contact }, options),
  /** Finds or creates up to 1,000 contacts. Results are in the order of the items; an invalid item has an `error`. */
  createBatch: (batch: ContactBatch, options?: PostOptions) => call('POST /contacts/batch', { body: batch }, options),
  /** Newest first. With `updated_after`, oldest change first. */
  list: (query: ListContactsQuery = {}, options?: CallOptions) => list('GET /contacts', { query }, options),
  get: (id: string, options?: CallOptions) => call('GET /contacts/{id}', { params: { id } }, options),
  /** Pages of the contacts that changed after a position. Store the `position` of each page after you have processed it. */
  changes: (
    position: ChangePosition,
    query: Omit<ListContactsQuery, keyof ChangePosition> = {},
    options?: CallOptions,
  ) => changePages(position, (from) => list('GET /contacts', { query: { ...query, ...from } }, options)),
  /** Changes only the fields that are present. `tags` replaces all tags; `add_tags` and `remove_tags` keep the others. */
  update: (id: string, changes: ContactChanges, options?: CallOptions) =>
    call('PATCH /contacts/{id}', { params: { id }, body: changes }, options),
  /** Moves everything of the contact `contact_id` here and deletes it. The values of this contact win. */
  merge: (id: string, merge: ContactMerge, options?: PostOptions) =>
    call('POST /contacts/{id}/merge', { params: { id }, body: merge }, options),
  /** Erases the person with all conversations, messages and files. */
  delete: (id: string, options?: CallOptions) => call('DELETE /contacts/{id}', { params: { id } }, options),
})

export const tagsOf = ({ list }: Caller) => ({
  /** All tags by name, with the number of contacts. */
  list: (query: ListTagsQuery = {}, options?: CallOptions) => list('GET /tags', { query }, options),
})

export const segmentsOf = ({ call, list }: Caller) => ({
  /** A dynamic segment requires a `filter`. A static one ignores it. */
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
  /** Adds 1 to 1000 contacts to a static segment. */
  addContacts: (id: string, contacts: ContactIds, options?: PostOptions) =>
    call('POST /segments/{id}/contacts', { params: { id }, body: contacts }, options),
  /** Removes contacts from a static segment. After a retry, `removed` counts only the contacts that the last attempt removed. */
  removeContacts: (id: string, contacts: ContactIds, options?: CallOptions) =>
    call('DELETE /segments/{id}/contacts', { params: { id }, body: contacts }, options),
})

export const conversationsOf = ({ call, list }: Caller) => ({
  /** Newest first, on all channels unless filtered. Each conversation includes its contact. */
  list: (query: ListConversationsQuery = {}, options?: CallOptions) => list('GET /conversations', { query }, options),
  get: (id: string, options?: CallOptions) => call('GET /conversations/{id}', { params: { id } }, options),
  /** Newest first. */
  listMessages: (id: string, query: ListMessagesQuery = {}, options?: CallOptions) =>
    list('GET /conversations/{id}/messages', { params: { id }, query }, options),
  /** Pages of the conversations that changed after a position. Store the `position` of each page after you have processed it. */
  changes: (
    position: ChangePosition,
    query: Omit<ListConversationsQuery, keyof ChangePosition | 'sort'> = {},
    options?: CallOptions,
  ) => changePages(position, (from) => list('GET /conversations', { query: { ...query, ...from } }, options)),
  /** Changes the status, the assigned member, the snooze or the labels; only the fields that are present. */
  update: (id: string, changes: ConversationChanges, options?: CallOptions) =>
    call('PATCH /conversations/{id}', { params: { id }, body: changes }, options),
  /** Sets `unread_count` to 0. A visitor of the web chat sees that their messages were read. */
  read: (id: string, options?: PostOptions) => call('POST /conversations/{id}/read', { params: { id } }, options),
  /** Newest first. */
  listNotes: (id: string, query: ListNotesQuery = {}, options?: CallOptions) =>
    list('GET /conversations/{id}/notes', { params: { id }, query }, options),
  /** Adds an internal note. The customer never sees it. */
  createNote: (id: string, note: NewNote, options?: PostOptions) =>
    call('POST /conversations/{id}/notes', { params: { id }, body: note }, options),
  /** Sends a message on the channel of the conversation and returns it once the channel accepts it. */
  reply: (id: string, message: NewReply, options?: PostOptions) =>
    call('POST /conversations/{id}/messages', { params: { id }, body: message }, options),
  /** Ends the open runs of automations in the conversation. */
  takeOver: (id: string, options?: PostOptions) =>
    call('POST /conversations/{id}/take-over', { params: { id } }, options),
  /** Sends a message at `send_at`. Returns at once; the service checks the content now and the reply window at that time. */
  schedule: (id: string, message: NewScheduledMessage, options?: PostOptions) =>
    call('POST /conversations/{id}/scheduled-messages', { params: { id }, body: message }, options),
  /** Newest first. */
  listScheduled: (id: string, query: ListScheduledMessagesQuery = {}, options?: CallOptions) =>
    list('GET /conversations/{id}/scheduled-messages', { params: { id }, query }, options),
})

export const episodesOf = ({ list }: Caller) => ({
  /** Newest first: the stretches of work in conversations. */
  list: (query: ListEpisodesQuery = {}, options?: CallOptions) => list('GET /episodes', { query }, options),
  /** Pages of the episodes that changed after a position. Store the `position` of each page after you have processed it. */
  changes: (
    position: ChangePosition,
    query: Omit<ListEpisodesQuery, keyof ChangePosition> = {},
    options?: CallOptions,
  ) => changePages(position, (from) => list('GET /episodes', { query: { ...query, ...from } }, options)),
})

export const reportsOf = ({ call }: Caller) => ({
  /** `overview`, `members`, `teams`, `labels`, `connections` or `busy_hours`: the last 30 days, unless the query names others. */
  get: (name: Report['name'], query: GetReportQuery = {}, options?: CallOptions) =>
    call('GET /reports/{name}', { params: { name }, query }, options),
  /** Questions and ratings, with rows by member unless the query says `by`. */
  satisfaction: (query: GetSatisfactionReportQuery = {}, options?: CallOptions) =>
    call('GET /reports/satisfaction', { query }, options),
  /** Met and missed targets. */
  targets: (query: GetTargetsReportQuery = {}, options?: CallOptions) =>
    call('GET /reports/targets', { query }, options),
  /** How long members were available, away and offline. */
  availability: (query: GetAvailabilityReportQuery = {}, options?: CallOptions) =>
    call('GET /reports/availability', { query }, options),
})

export const connectionsOf = ({ call, list }: Caller) => ({
  /** All numbers, social accounts and sites on one page, oldest first. Disconnected ones are listed while they have conversations. */
  list: (options?: CallOptions) => list('GET /connections', {}, options),
  get: (id: string, options?: CallOptions) => call('GET /connections/{id}', { params: { id } }, options),
})

export const automationsOf = ({ call, list }: Caller) => ({
  /** All of them on one page, in the order in which they are tried. */
  list: (options?: CallOptions) => list('GET /automations', {}, options),
  /** Creates a draft. It starts nothing before it is published. */
  create: (automation: NewAutomation, options?: PostOptions) =>
    call('POST /automations', { body: automation }, options),
  /** Applies the checks of `saveDraft` and changes nothing. */
  check: (definition: AutomationDefinition, options?: PostOptions) =>
    call('POST /automations/check', { body: definition }, options),
  get: (id: string, options?: CallOptions) => call('GET /automations/{id}', { params: { id } }, options),
  /** Changes the name, the description or the place among the others. */
  update: (id: string, changes: AutomationChange, options?: CallOptions) =>
    call('PATCH /automations/{id}', { params: { id }, body: changes }, options),
  /** Its open runs end. */
  delete: (id: string, options?: CallOptions) => call('DELETE /automations/{id}', { params: { id } }, options),
  /** Replaces the definition that is edited. With `if_updated_at`, only if the automation has not changed since. */
  saveDraft: (
    id: string,
    definition: AutomationDefinition,
    query: SaveAutomationDraftQuery = {},
    options?: CallOptions,
  ) => call('PUT /automations/{id}/draft', { params: { id }, query, body: definition }, options),
  /** The draft becomes the newest version, and the automation is active. */
  publish: (id: string, options?: PostOptions) => call('POST /automations/{id}/publish', { params: { id } }, options),
  /** It starts no new runs. */
  pause: (id: string, pause: AutomationPause = {}, options?: PostOptions) =>
    call('POST /automations/{id}/pause', { params: { id }, body: pause }, options),
  /**
   * What it would have done in the last days. Changes nothing and sends nothing. Without a definition, its draft is tried, else its
   * published version.
   */
  dryRun: (id: string, dryRun: AutomationDryRunRequest = {}, options?: PostOptions) =>
    call('POST /automations/{id}/dry-run', { params: { id }, body: dryRun }, options),
  /** Replaces the secret that signs the calls to URLs, and returns the new one. */
  rotateSecret: (id: string, options?: PostOptions) =>
    call('POST /automations/{id}/rotate-secret', { params: { id } }, options),
  /** Newest first. */
  listRuns: (id: string, query: ListAutomationRunsQuery = {}, options?: CallOptions) =>
    list('GET /automations/{id}/runs', { params: { id }, query }, options),
  /** Starts an automation with the trigger `manual` on 1 to 100 conversations. */
  start: (id: string, start: AutomationStart, options?: PostOptions) =>
    call('POST /automations/{id}/runs', { params: { id }, body: start }, options),
  /** A run with what each of its steps did. */
  getRun: (id: string, options?: CallOptions) => call('GET /automation-runs/{id}', { params: { id } }, options),
})

export const membersOf = ({ list }: Caller) => ({
  /** The people of the workspace, newest first. */
  list: (query: ListMembersQuery = {}, options?: CallOptions) => list('GET /members', { query }, options),
})

export const teamsOf = ({ list }: Caller) => ({
  /** All teams by name, with their members and the connections that they serve. */
  list: (options?: CallOptions) => list('GET /teams', {}, options),
})

export const messagesOf = ({ call }: Caller) => ({
  /** Sends a message to a phone number and returns once the channel accepts it. More than 24 hours after the customer's last message, only templates are allowed. */
  send: (message: NewMessage, options?: PostOptions) => call('POST /messages', { body: message }, options),
  get: (id: string, options?: CallOptions) => call('GET /messages/{id}', { params: { id } }, options),
  /** Runs the checks of `send`, except those of the channel. Sends nothing. */
  check: (message: NewMessage, options?: PostOptions) => call('POST /messages/check', { body: message }, options),
  /** A message of `conversations.schedule`. `message_id` is set once it is sent. */
  getScheduled: (id: string, options?: CallOptions) =>
    call('GET /scheduled-messages/{id}', { params: { id } }, options),
  /** Changes the content, the time or both. Content fields replace the whole content. */
  updateScheduled: (id: string, changes: ScheduledMessageChanges, options?: CallOptions) =>
    call('PATCH /scheduled-messages/{id}', { params: { id }, body: changes }, options),
  /** The message is not sent. Its state is `canceled`. */
  cancelScheduled: (id: string, options?: CallOptions) =>
    call('DELETE /scheduled-messages/{id}', { params: { id } }, options),
})

export const templatesOf = ({ call, list }: Caller) => ({
  /** Sorted by name and language. `params` of a template has the shape that `messages.send` takes. */
  list: (query: ListTemplatesQuery = {}, options?: CallOptions) => list('GET /templates', { query }, options),
  /** One template in one language, by default `en_US`. */
  get: (name: string, query: GetTemplateQuery = {}, options?: CallOptions) =>
    call('GET /templates/{name}', { params: { name }, query }, options),
})

export const broadcastsOf = ({ call, list }: Caller) => ({
  /** Sends a template to many recipients. Returns at once; the service sends in the background. With `draft: true` it waits for `start`. */
  create: (broadcast: NewBroadcast, options?: PostOptions) => call('POST /broadcasts', { body: broadcast }, options),
  /** Runs the checks of `create`. Sends nothing. */
  check: (broadcast: NewBroadcast, options?: PostOptions) =>
    call('POST /broadcasts/check', { body: broadcast }, options),
  /** Newest first. */
  list: (query: ListBroadcastsQuery = {}, options?: CallOptions) => list('GET /broadcasts', { query }, options),
  /** The counters are exact at the time of the call. */
  get: (id: string, options?: CallOptions) => call('GET /broadcasts/{id}', { params: { id } }, options),
  /** Adds 1 to 1000 recipients to a draft. A number is added once, so a batch can be repeated safely. */
  addRecipients: (id: string, recipients: NewRecipients, options?: PostOptions) =>
    call('POST /broadcasts/{id}/recipients', { params: { id }, body: recipients }, options),
  /** In the order in which they were added. */
  listRecipients: (id: string, query: ListBroadcastRecipientsQuery = {}, options?: CallOptions) =>
    list('GET /broadcasts/{id}/recipients', { params: { id }, query }, options),
  /** Sends a draft now, or schedules it if its `scheduled_at` is later. */
  start: (id: string, options?: PostOptions) => call('POST /broadcasts/{id}/start', { params: { id } }, options),
  pause: (id: string, options?: PostOptions) => call('POST /broadcasts/{id}/pause', { params: { id } }, options),
  resume: (id: string, options?: PostOptions) => call('POST /broadcasts/{id}/resume', { params: { id } }, options),
  /** Skips the recipients that were not sent to. */
  cancel: (id: string, options?: PostOptions) => call('POST /broadcasts/{id}/cancel', { params: { id } }, options),
  /** Deletes a draft with its recipients. */
  delete: (id: string, options?: CallOptions) => call('DELETE /broadcasts/{id}', { params: { id } }, options),
})

export const webhooksOf = ({ call, list }: Caller) => ({
  /** The response contains the `secret`, which is not shown again. */
  create: (webhook: NewWebhook, options?: PostOptions) => call('POST /webhooks', { body: webhook }, options),
  /** All endpoints on one page, newest first. */
  list: (options?: CallOptions) => list('GET /webhooks', {}, options),
  get: (id: string, options?: CallOptions) => call('GET /webhooks/{id}', { params: { id } }, options),
  /** Changes only the fields that are present. */
  update: (id: string, changes: WebhookChanges, options?: CallOptions) =>
    call('PATCH /webhooks/{id}', { params: { id }, body: changes }, options),
  /** Replaces the secret and returns the new one. For `overlap_hours`, the previous secret also signs. */
  rotateSecret: (id: string, rotation: SecretRotation = {}, options?: PostOptions) =>
    call('POST /webhooks/{id}/rotate-secret', { params: { id }, body: rotation }, options),
  /** Deliveries with their attempts, newest first. */
  listDeliveries: (id: string, query: ListWebhookDeliveriesQuery = {}, options?: CallOptions) =>
    list('GET /webhooks/{id}/deliveries', { params: { id }, query }, options),
  /** Queues a new delivery of the same event. */
  redeliver: (id: string, deliveryId: string, options?: PostOptions) =>
    call(
      'POST /webhooks/{id}/deliveries/{delivery_id}/redeliver',
      { params: { id, delivery_id: deliveryId } },
      options,
    ),
  /** Deletes the endpoint. The service stops sending to it. */
  delete: (id: string, options?: CallOptions) => call('DELETE /webhooks/{id}', { params: { id } }, options),
})

export const eventsOf = ({ stream }: Caller) => ({
  /** Streams events in real time, for use with `for await`. The connection opens when the loop starts. */
  stream: (query: StreamQuery = {}, options: StreamOptions = {}) => stream(query, options),
})
