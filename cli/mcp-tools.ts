/**
 * The tools of `parley mcp`. Each tool is a call of the public API. Tools that change something exist only with --allow-send, and
 * tools that send a message require a dry run first.
 *
 * Over 400 lines because it is one list, read from top to bottom.
 */
import Type, { type Static, type TObject, type TProperties } from 'typebox'
import type { Interactive, Listing, Me, Parley, PostOptions } from '../sdk/src/index.ts'
import type { Confirmations } from './confirm.ts'
import { CommandError } from './target.ts'

type Context = { parley: Parley; scopes: readonly string[]; confirmations: Confirmations }

/** `addition` and `update` change stored data. An update replaces what was there. A send reaches customers. */
type Change = 'addition' | 'update' | 'send'

export type Tool = {
  name: string
  /** For people. */
  title: string
  description: string
  /** The scope that the key needs. Null: none. */
  scope: Me['key']['scopes'][number] | null
  input: TObject
  /** The API operation whose response a reading tool returns. */
  operation?: string
  /** The output schema of a sending tool. */
  output?: TObject
  /** Undefined: the tool only reads. Others exist only with --allow-send. */
  change?: Change
  run(context: Context, input: unknown): Promise<object>
}

/** Types the input of `run` by the tool's schema. The server validates the input before the call. */
export function defineTool<Input extends TProperties>(
  tool: Omit<Tool, 'input' | 'run'> & {
    input: TObject<Input>
    run: (context: Context, input: Static<TObject<Input>>) => Promise<object>
  },
): Tool {
  return { ...tool, run: (context, input) => tool.run(context, input as Static<TObject<Input>>) }
}

/** An unknown argument is an error: ignored, it would give a plausible wrong answer, such as all contacts instead of those found. */
export const closedObject = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false })

export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: values })

export const page = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default: 50.' })),
  cursor: Type.Optional(Type.String({ description: 'meta.next_cursor of the previous page.' })),
}
/** Rejects ids that consist of dots: in a URL they would address another resource. */
export const id = (resource: string) => Type.String({ pattern: '[^.]', description: `The id of a ${resource}.` })

/** Returns a page in the format of the API. */
export async function fetchPage<Item>(listing: Listing<Item>): Promise<object> {
  const { data, next_cursor } = await listing
  return { data, meta: { next_cursor } }
}

export const readTools: readonly Tool[] = [
  defineTool({
    name: 'me',
    title: 'Get the workspace',
    operation: 'getMe',
    description: 'Get the workspace and the scopes of the key.',
    scope: null,
    input: closedObject({}),
    run: async ({ parley }) => ({ data: await parley.me() }),
  }),
  defineTool({
    name: 'list_segments',
    title: 'List segments',
    operation: 'listSegments',
    description: 'List segments (named audiences), newest first.',
    scope: 'contacts:read',
    input: closedObject({ kind: Type.Optional(oneOf(['static', 'dynamic'])), ...page }),
    run: ({ parley }, query) => fetchPage(parley.segments.list(query)),
  }),
  defineTool({
    name: 'list_segment_members',
    title: 'List the contacts of a segment',
    operation: 'listSegmentContacts',
    description: 'List the contacts of a segment.',
    scope: 'contacts:read',
    input: closedObject({ id: id('segment'), ...page }),
    run: ({ parley }, { id, ...query }) => fetchPage(parley.segments.listContacts(id, query)),
  }),
  defineTool({
    name: 'list_conversations',
    title: 'List conversations',
    operation: 'listConversations',
    description: 'List conversations with their contacts, newest first, or by the last message with sort: activity.',
    scope: 'conversations:read',
    input: closedObject({
      status: Type.Optional(oneOf(['open', 'pending', 'closed'])),
      contact_id: Type.Optional(id('contact')),
      channel: Type.Optional(oneOf(['msgapp', 'social', 'web'])),
      connection_id: Type.Optional(id('connection')),
      sort: Type.Optional(oneOf(['activity'])),
      assigned_agent_id: Type.Optional(Type.String({ description: 'The id of a member, or none.' })),
      assigned_team_id: Type.Optional(Type.String({ description: 'The id of a team, or none.' })),
      label: Type.Optional(Type.String({ description: 'The name or id of a label.' })),
      ...page,
    }),
    run: ({ parley }, query) => fetchPage(parley.conversations.list(query)),
  }),
  defineTool({
    name: 'list_episodes',
    title: 'List episodes',
    operation: 'listEpisodes',
    description:
      'List episodes, newest first: the stretches of work in conversations, each with its first reply, its counts and its closing.',
    scope: 'conversations:read',
    input: closedObject({ conversation_id: Type.Optional(id('conversation')), ...page }),
    run: ({ parley }, query) => fetchPage(parley.episodes.list(query)),
  }),
  defineTool({
    name: 'list_connections',
    title: 'List connections',
    operation: 'listConnections',
    description: 'List the phone numbers, social accounts and sites of the workspace.',
    scope: 'conversations:read',
    input: closedObject({}),
    run: ({ parley }) => fetchPage(parley.connections.list()),
  }),
  defineTool({
    name: 'list_notes',
    title: 'List notes',
    operation: 'listNotes',
    description: 'List the internal notes of a conversation, newest first.',
    scope: 'conversations:write',
    input: closedObject({ conversation_id: id('conversation'), ...page }),
    run: ({ parley }, { conversation_id, ...query }) =>
      fetchPage(parley.conversations.listNotes(conversation_id, query)),
  }),
  defineTool({
    name: 'list_members',
    title: 'List members',
    operation: 'listMembers',
    description: 'List the members of the workspace, who can be assigned to conversations.',
    scope: 'conversations:write',
    input: closedObject(page),
    run: ({ parley }, query) => fetchPage(parley.members.list(query)),
  }),
  defineTool({
    name: 'list_teams',
    title: 'List teams',
    operation: 'listTeams',
    description: 'List the teams that conversations can be assigned to, with their members and connections.',
    scope: 'conversations:read',
    input: closedObject({}),
    run: ({ parley }) => fetchPage(parley.teams.list()),
  }),
  defineTool({
    name: 'list_messages',
    title: 'List messages',
    operation: 'listMessages',
    description: 'List the messages of a conversation, newest first.',
    scope: 'messages:read',
    input: closedObject({ conversation_id: id('conversation'), ...page }),
    run: ({ parley }, { conversation_id, ...query }) =>
      fetchPage(parley.conversations.listMessages(conversation_id, query)),
  }),
  defineTool({
    name: 'list_templates',
    title: 'List templates',
    operation: 'listTemplates',
    description: 'List message templates with the values that each one needs (params). Only APPROVED ones can be sent.',
    scope: 'messages:send',
    input: closedObject({
      status: Type.Optional(Type.String({ description: 'Such as approved.' })),
      language: Type.Optional(Type.String({ description: 'Such as en_US.' })),
      search: Type.Optional(Type.String({ description: 'A part of the name.' })),
      account: Type.Optional(Type.String({ description: 'The id of a provider account.' })),
      ...page,
    }),
    run: ({ parley }, query) => fetchPage(parley.templates.list(query)),
  }),
  defineTool({
    name: 'get_usage',
    title: 'Get the usage',
    operation: 'getUsage',
    description: "Get the number of messages sent this month and the plan's limit.",
    scope: null,
    input: closedObject({}),
    run: async ({ parley }) => ({ data: await parley.usage() }),
  }),
  defineTool({
    name: 'get_message',
    title: 'Get a message',
    operation: 'getMessage',
    description: 'Get a message with its delivery status.',
    scope: 'messages:read',
    input: closedObject({ id: id('message') }),
    run: async ({ parley }, { id }) => ({ data: await parley.messages.get(id) }),
  }),
  defineTool({
    name: 'list_broadcasts',
    title: 'List broadcasts',
    operation: 'listBroadcasts',
    description: 'List broadcasts with their status and counters, newest first.',
    scope: 'broadcasts:send',
    input: closedObject({
      status: Type.Optional(oneOf(['draft', 'scheduled', 'sending', 'sent', 'canceled'])),
      ...page,
    }),
    run: ({ parley }, query) => fetchPage(parley.broadcasts.list(query)),
  }),
  defineTool({
    name: 'list_broadcast_recipients',
    title: 'List the recipients of a broadcast',
    operation: 'listBroadcastRecipients',
    description: 'List the recipients of a broadcast with their outcome and, if it failed or was skipped, the reason.',
    scope: 'broadcasts:send',
    input: closedObject({
      id: id('broadcast'),
      status: Type.Optional(oneOf(['pending', 'sent', 'delivered', 'read', 'failed', 'skipped'])),
      ...page,
    }),
    run: ({ parley }, { id, ...query }) => fetchPage(parley.broadcasts.listRecipients(id, query)),
  }),
  defineTool({
    name: 'get_broadcast',
    title: 'Get a broadcast',
    operation: 'getBroadcast',
    description: 'Get the status and counters of a broadcast.',
    scope: 'broadcasts:send',
    input: closedObject({ id: id('broadcast') }),
    run: async ({ parley }, { id }) => ({ data: await parley.broadcasts.get(id) }),
  }),
]

const from = Type.Optional(
  Type.String({
    description: 'The number of the workspace that sends, or the id of its connection. Default: chosen by the service.',
  }),
)
const template = closedObject({
  name: Type.String({ description: 'The name of an approved template.' }),
  language: Type.Optional(Type.String({ description: 'Default: en_US.' })),
  params: Type.Optional(Type.Array(Type.String(), { description: 'Values of the body, in order.' })),
  contact_fields: Type.Optional(
    Type.Boolean({
      description: 'True fills contact fields in values, such as {{contact.name|there}}. Default: literal.',
    }),
  ),
})
/** After a dry run, `sent` is false and the token sends. After sending, `sent` is true and `data` is the API's response. */
const SendOutput = Type.Object({
  sent: Type.Boolean(),
  would_send: Type.Optional(Type.Object({})),
  to: Type.Optional(Type.String({ description: 'The number in E.164.' })),
  contact: Type.Optional(Type.Unknown({ description: 'The contact, or the reason why it is missing.' })),
  recipient_count: Type.Optional(Type.Integer({ description: 'How many recipients would receive the template.' })),
  skipped_count: Type.Optional(Type.Integer({ description: 'How many recipients would be skipped.' })),
  segment: Type.Optional(Type.Unknown({ description: 'The segment, or the reason why it is missing.' })),
  confirmation_token: Type.Optional(Type.String()),
  expires_in_seconds: Type.Optional(Type.Integer()),
  data: Type.Optional(Type.Object({}, { description: 'The response of the API.' })),
})
const confirmationInput = {
  dry_run: Type.Optional(
    Type.Boolean({
      description: 'Set to true first. Validates the request, sends nothing and returns a confirmation_token.',
    }),
  ),
  confirmation_token: Type.Optional(
    Type.String({ description: 'The token of a dry run with the same arguments. Sends the message.' }),
  ),
}

export const sendTools: readonly Tool[] = [
  defineTool({
    name: 'update_conversation',
    title: 'Change a conversation',
    operation: 'updateConversation',
    description:
      'Change the status, the assigned member or team, the snooze or the labels of a conversation. The customer sees nothing.',
    scope: 'conversations:write',
    change: 'update',
    input: closedObject({
      id: id('conversation'),
      status: Type.Optional(oneOf(['open', 'pending', 'closed'])),
      assigned_agent_id: Type.Optional(
        Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'The id of a member. Null unassigns.' }),
      ),
      assigned_team_id: Type.Optional(
        Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'The id of a team. Null: of no team.' }),
      ),
      snoozed_until: Type.Optional(
        Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'A date-time in the future.' }),
      ),
      labels: Type.Optional(Type.Array(Type.String(), { description: 'Names: exactly these labels.' })),
    }),
    run: async ({ parley }, { id, ...changes }) => ({ data: await parley.conversations.update(id, changes) }),
  }),
  defineTool({
    name: 'add_note',
    title: 'Add a note',
    description: 'Add an internal note to a conversation. The customer does not see it.',
    scope: 'conversations:write',
    change: 'addition',
    output: Type.Object({ data: Type.Object({}, { description: 'The note.' }) }),
    input: closedObject({ conversation_id: id('conversation'), text: Type.String() }),
    run: async ({ parley }, { conversation_id, text }) => ({
      data: await parley.conversations.createNote(conversation_id, { text }),
    }),
  }),
  defineTool({
    name: 'send_message',
    title: 'Send a message',
    output: SendOutput,
    description:
      'Send a message to a phone number. Everything but a template requires a message from the customer within the last ' +
      '24 hours. ' +
      'Call with dry_run: true first.',
    scope: 'messages:send',
    change: 'send',
    input: closedObject({
      to: Type.String({ description: 'A phone number such as +14155550100.' }),
      from,
      type: Type.Optional(
        oneOf(['text', 'template', 'image', 'video', 'document', 'audio', 'interactive', 'location']),
      ),
      text: Type.Optional(Type.String()),
      media_url: Type.Optional(Type.String()),
      template: Type.Optional(template),
      interactive: Type.Optional(
        Type.Unsafe<Interactive>({
          type: 'object',
          description:
            'Buttons { kind: "buttons", body, buttons: [{ id, title }] }, a list { kind: "list", body, button, ' +
            'sections: [{ title, rows: [{ id, title, description? }] }] } or a link { kind: "link", body, text, url }.',
        }),
      ),
      location: Type.Optional(
        closedObject({
          latitude: Type.Number(),
          longitude: Type.Number(),
          name: Type.Optional(Type.String()),
          address: Type.Optional(Type.String()),
        }),
      ),
      ...confirmationInput,
    }),
    run: (context, input) =>
      confirmAndSend(context, 'send_message', input, {
        check: async (message) => {
          const { to, contact_id } = await context.parley.messages.check(message)
          return { to, contact: contact_id ? await describeContact(context, contact_id) : 'a new contact' }
        },
        send: (message, options) => context.parley.messages.send(message, options),
      }),
  }),
  defineTool({
    name: 'create_broadcast',
    title: 'Send a broadcast',
    output: SendOutput,
    description: 'Send a template to a list of phone numbers or to a segment. Call with dry_run: true first.',
    scope: 'broadcasts:send',
    change: 'send',
    input: closedObject({
      name: Type.String({ description: 'The name that members see.' }),
      template,
      from,
      recipients: Type.Optional(
        Type.Array(
          closedObject({
            to: Type.String(),
            name: Type.Optional(Type.String()),
            params: Type.Optional(Type.Array(Type.String())),
          }),
          { minItems: 1, maxItems: 1_000 },
        ),
      ),
      segment_id: Type.Optional(Type.String({ pattern: '[^.]', description: 'Use either segment_id or recipients.' })),
      scheduled_at: Type.Optional(Type.String({ description: 'A date-time. Default: now.' })),
      ...confirmationInput,
    }),
    run: (context, input) =>
      confirmAndSend(context, 'create_broadcast', input, {
        check: async (broadcast) => ({
          ...(await context.parley.broadcasts.check(broadcast)),
          ...(broadcast.segment_id ? { segment: await describeSegment(context, broadcast.segment_id) } : {}),
        }),
        send: (broadcast, options) => context.parley.broadcasts.create(broadcast, options),
      }),
  }),
]

type ConfirmationInput = { dry_run?: boolean; confirmation_token?: string }

type SendSteps<Body> = {
  /** Throws the errors that sending would throw, and describes the effect. */
  check: (body: Body) => Promise<object>
  send: (body: Body, options: PostOptions) => Promise<unknown>
}

/** A dry run validates and returns a token. A call with that token sends. */
async function confirmAndSend<Input extends ConfirmationInput>(
  { confirmations }: Context,
  tool: string,
  input: Input,
  { check, send }: SendSteps<Omit<Input, keyof ConfirmationInput>>,
): Promise<object> {
  const { dry_run, confirmation_token, ...body } = input
  if (dry_run) {
    const effect = await check(body)
    return { sent: false, would_send: body, ...effect, ...confirmations.create(tool, body) }
  }
  if (confirmation_token === undefined) {
    throw new CommandError('not_confirmed', 'Nothing was sent. Call with dry_run: true first, then with its token.')
  }
  const data = await confirmations.use(confirmation_token, tool, body, (idempotencyKey) =>
    send(body, { idempotencyKey }),
  )
  return { sent: true, data }
}

const noScope = 'unknown: the key lacks the scope contacts:read'

async function describeContact({ parley, scopes }: Context, id: string): Promise<object | string> {
  if (!scopes.includes('contacts:read')) return noScope
  const { phone, name } = await parley.contacts.get(id)
  return { id, phone, name }
}

async function describeSegment({ parley, scopes }: Context, id: string): Promise<object | string> {
  if (!scopes.includes('contacts:read')) return noScope
  const { name, member_count } = await parley.segments.get(id)
  return { name, member_count }
}
