/**
 * The tools of `parley mcp`, each a call of the public API: its arguments, the
 * scope it needs, the operation whose answer it returns, and for tools that
 * send, the dry run.
 */
import Type, { type Static, type TObject, type TProperties } from 'typebox'
import type { Listing, Parley, PostOptions } from '../sdk/src/index.ts'
import type { Scope } from '../server/accounts/keys.ts'
import { OneOf } from '../server/lib/schema.ts'
import type { Confirmations } from './confirm.ts'
import { Failure } from './target.ts'

type Context = { parley: Parley; scopes: readonly string[]; confirmations: Confirmations }

export type Tool = {
  name: string
  description: string
  /** Null: any key will do. */
  scope: Scope | null
  input: TObject
  /** The operation of the API document whose answer a reading tool returns. */
  operation?: string
  /** What a sending tool returns. */
  output?: TObject
  sends?: boolean
  run(context: Context, given: unknown): Promise<object>
}

/** A tool whose arguments have the type of its schema, which they were held against. */
function toTool<Input extends TProperties>(
  tool: Omit<Tool, 'input' | 'run'> & {
    input: TObject<Input>
    run: (context: Context, given: Static<TObject<Input>>) => Promise<object>
  },
): Tool {
  return { ...tool, run: (context, given) => tool.run(context, given as Static<TObject<Input>>) }
}

const page = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: '50 when absent.' })),
  cursor: Type.Optional(Type.String({ description: 'meta.next_cursor of the page before.' })),
}
/** Dots alone lead elsewhere in an address, and are no id. */
const id = (of: string) => Type.String({ pattern: '[^.]', description: `The id of a ${of}.` })

/** As the API answers it. */
async function pageOf<Item>(listing: Listing<Item>): Promise<object> {
  const { data, next_cursor } = await listing
  return { data, meta: { next_cursor } }
}

export const readTools: readonly Tool[] = [
  toTool({
    name: 'me',
    operation: 'getMe',
    description: 'The workspace and what the key may do.',
    scope: null,
    input: Type.Object({}),
    run: async ({ parley }) => ({ data: await parley.me() }),
  }),
  toTool({
    name: 'search_contacts',
    operation: 'listContacts',
    description: 'Contacts, newest first; by name, phone, e-mail or company, by tag, by channel.',
    scope: 'contacts:read',
    input: Type.Object({
      search: Type.Optional(Type.String()),
      tag: Type.Optional(Type.String({ description: 'Name or id of a tag.' })),
      channel: Type.Optional(OneOf(['msgapp', 'social', 'web'])),
      ...page,
    }),
    run: ({ parley }, query) => pageOf(parley.contacts.list(query)),
  }),
  toTool({
    name: 'get_contact',
    operation: 'getContact',
    description: 'One contact.',
    scope: 'contacts:read',
    input: Type.Object({ id: id('contact') }),
    run: async ({ parley }, given) => ({ data: await parley.contacts.get(given.id) }),
  }),
  toTool({
    name: 'list_segments',
    operation: 'listSegments',
    description: 'Named audiences, newest first.',
    scope: 'contacts:read',
    input: Type.Object({ kind: Type.Optional(OneOf(['static', 'dynamic'])), ...page }),
    run: ({ parley }, query) => pageOf(parley.segments.list(query)),
  }),
  toTool({
    name: 'list_segment_members',
    operation: 'listSegmentContacts',
    description: 'The contacts of a segment.',
    scope: 'contacts:read',
    input: Type.Object({ id: id('segment'), ...page }),
    run: ({ parley }, { id, ...query }) => pageOf(parley.segments.listContacts(id, query)),
  }),
  toTool({
    name: 'list_conversations',
    operation: 'listConversations',
    description: 'Conversations, newest first, each with its contact.',
    scope: 'conversations:read',
    input: Type.Object({
      status: Type.Optional(OneOf(['open', 'pending', 'closed'])),
      contact_id: Type.Optional(id('contact')),
      channel: Type.Optional(OneOf(['msgapp', 'social', 'web'])),
      ...page,
    }),
    run: ({ parley }, query) => pageOf(parley.conversations.list(query)),
  }),
  toTool({
    name: 'list_messages',
    operation: 'listMessages',
    description: 'The messages of a conversation, newest first.',
    scope: 'messages:read',
    input: Type.Object({ conversation_id: id('conversation'), ...page }),
    run: ({ parley }, { conversation_id, ...query }) =>
      pageOf(parley.conversations.listMessages(conversation_id, query)),
  }),
  toTool({
    name: 'get_broadcast',
    operation: 'getBroadcast',
    description: 'How far a broadcast has got.',
    scope: 'broadcasts:send',
    input: Type.Object({ id: id('broadcast') }),
    run: async ({ parley }, given) => ({ data: await parley.broadcasts.get(given.id) }),
  }),
]

const template = Type.Object({
  name: Type.String({ description: 'Of an approved template.' }),
  language: Type.Optional(Type.String({ description: 'en_US when absent.' })),
  params: Type.Optional(Type.Array(Type.String(), { description: 'Values of its body, in their order.' })),
})
/** Of a dry run: `sent` is false, and the token sends. Afterwards: `sent` is true, and `data` is the answer of the API. */
const Confirmed = Type.Object({
  sent: Type.Boolean(),
  would_send: Type.Optional(Type.Object({})),
  to: Type.Optional(Type.String({ description: 'The number in E.164.' })),
  contact: Type.Optional(Type.Unknown({ description: 'The contact, or why it is not shown.' })),
  recipient_count: Type.Optional(Type.Integer({ description: 'How many recipients would be sent to.' })),
  skipped_count: Type.Optional(Type.Integer({ description: 'How many recipients would be skipped.' })),
  segment: Type.Optional(Type.Unknown({ description: 'The segment, or why it is not shown.' })),
  confirmation_token: Type.Optional(Type.String()),
  expires_in_seconds: Type.Optional(Type.Integer()),
  data: Type.Optional(Type.Object({}, { description: 'What the API answered to the send.' })),
})
const confirming = {
  dry_run: Type.Optional(
    Type.Boolean({ description: 'True first: checks, shows what would be sent, and answers a token.' }),
  ),
  confirmation_token: Type.Optional(Type.String({ description: 'Of the dry run with the same arguments: sends.' })),
}

export const sendTools: readonly Tool[] = [
  toTool({
    name: 'send_message',
    output: Confirmed,
    description:
      'Send to a phone number. Text and media reach only customers who wrote within 24 hours; otherwise use a template. ' +
      'Call it with dry_run: true first.',
    scope: 'messages:send',
    sends: true,
    input: Type.Object({
      to: Type.String({ description: 'A phone number such as +14155550100.' }),
      type: Type.Optional(OneOf(['text', 'template', 'image', 'video', 'document', 'audio'])),
      text: Type.Optional(Type.String()),
      media_url: Type.Optional(Type.String()),
      template: Type.Optional(template),
      ...confirming,
    }),
    run: (context, given) =>
      sendOnceConfirmed(context, 'send_message', given, {
        check: async (message) => {
          const { to, contact_id } = await context.parley.messages.check(message)
          return { to, contact: contact_id ? await readContact(context, contact_id) : 'a new contact' }
        },
        send: (message, options) => context.parley.messages.send(message, options),
      }),
  }),
  toTool({
    name: 'create_broadcast',
    output: Confirmed,
    description: 'Send a template to many: to numbers, or to everybody in a segment. Call it with dry_run: true first.',
    scope: 'broadcasts:send',
    sends: true,
    input: Type.Object({
      name: Type.String({ description: 'What members see it by.' }),
      template,
      recipients: Type.Optional(
        Type.Array(
          Type.Object({
            to: Type.String(),
            name: Type.Optional(Type.String()),
            params: Type.Optional(Type.Array(Type.String())),
          }),
          { minItems: 1, maxItems: 1_000 },
        ),
      ),
      segment_id: Type.Optional(Type.String({ pattern: '[^.]', description: 'Instead of recipients.' })),
      scheduled_at: Type.Optional(Type.String({ description: 'A date-time; at once when absent.' })),
      ...confirming,
    }),
    run: (context, given) =>
      sendOnceConfirmed(context, 'create_broadcast', given, {
        check: async (broadcast) => ({
          ...(await context.parley.broadcasts.check(broadcast)),
          ...(broadcast.segment_id ? { segment: await readSegment(context, broadcast.segment_id) } : {}),
        }),
        send: (broadcast, options) => context.parley.broadcasts.create(broadcast, options),
      }),
  }),
]

type Confirming = { dry_run?: boolean; confirmation_token?: string }

type Sending<Body> = {
  /** Refuses what sending would refuse, and describes what would be sent. */
  check: (body: Body) => Promise<object>
  send: (body: Body, options: PostOptions) => Promise<unknown>
}

/** A dry run checks and answers a token; a call with that token sends. */
async function sendOnceConfirmed<Given extends Confirming>(
  { confirmations }: Context,
  tool: string,
  given: Given,
  { check, send }: Sending<Omit<Given, keyof Confirming>>,
): Promise<object> {
  const { dry_run, confirmation_token, ...body } = given
  if (dry_run) {
    const checked = await check(body)
    return { sent: false, would_send: body, ...checked, ...confirmations.keep(tool, body) }
  }
  if (confirmation_token === undefined) {
    throw new Failure('not_confirmed', 'nothing was sent: call it with dry_run: true first, then with its token')
  }
  const data = await confirmations.use(confirmation_token, tool, body, (idempotencyKey) =>
    send(body, { idempotencyKey }),
  )
  return { sent: true, data }
}

const noScope = 'not known: the key lacks the scope contacts:read'

async function readContact({ parley, scopes }: Context, id: string): Promise<object | string> {
  if (!scopes.includes('contacts:read')) return noScope
  const { phone, name } = await parley.contacts.get(id)
  return { id, phone, name }
}

async function readSegment({ parley, scopes }: Context, id: string): Promise<object | string> {
  if (!scopes.includes('contacts:read')) return noScope
  const { name, member_count } = await parley.segments.get(id)
  return { name, member_count }
}
