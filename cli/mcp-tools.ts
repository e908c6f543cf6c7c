/**
 * The tools of `parley mcp`, each a call of the public API: what it takes, the
 * scope it needs, and for those that send, what a dry run tells.
 */
import Type, { type Static, type TObject, type TProperties } from 'typebox'
import type { Scope } from '../server/accounts/keys.ts'
import type { Api } from './api.ts'
import type { Confirmations } from './confirm.ts'
import { Failure } from './target.ts'

export type Context = { api: Api; scopes: readonly string[]; confirmations: Confirmations }

export type Tool = {
  name: string
  description: string
  /** Null: any key will do. */
  scope: Scope | null
  input: TObject
  sends?: boolean
  run(context: Context, given: unknown): Promise<unknown>
}

/** A tool whose arguments have the type of its schema, which they were held against. */
function toTool<Input extends TProperties>(
  tool: Omit<Tool, 'input' | 'run'> & {
    input: TObject<Input>
    run: (context: Context, given: Static<TObject<Input>>) => Promise<unknown>
  },
): Tool {
  return { ...tool, run: (context, given) => tool.run(context, given as Static<TObject<Input>>) }
}

const page = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: '50 when absent.' })),
  cursor: Type.Optional(Type.String({ description: 'meta.next_cursor of the page before.' })),
}
const id = (of: string) => Type.String({ description: `The id of a ${of}.` })

export const readTools: readonly Tool[] = [
  toTool({
    name: 'me',
    description: 'The workspace and what the key may do.',
    scope: null,
    input: Type.Object({}),
    run: ({ api }) => api.read('/me'),
  }),
  toTool({
    name: 'search_contacts',
    description: 'Contacts, newest first; by name, phone, e-mail or company, by tag, by channel.',
    scope: 'contacts:read',
    input: Type.Object({
      search: Type.Optional(Type.String()),
      tag: Type.Optional(Type.String({ description: 'Name or id of a tag.' })),
      channel: Type.Optional(Type.String({ description: 'msgapp, social or web.' })),
      ...page,
    }),
    run: ({ api }, query) => api.read(`/contacts${toQuery(query)}`),
  }),
  toTool({
    name: 'get_contact',
    description: 'One contact.',
    scope: 'contacts:read',
    input: Type.Object({ id: id('contact') }),
    run: ({ api }, given) => api.read(`/contacts/${encodeURIComponent(given.id)}`),
  }),
  toTool({
    name: 'list_segments',
    description: 'Named audiences, newest first.',
    scope: 'contacts:read',
    input: Type.Object({ kind: Type.Optional(Type.String({ description: 'static or dynamic.' })), ...page }),
    run: ({ api }, query) => api.read(`/segments${toQuery(query)}`),
  }),
  toTool({
    name: 'list_segment_members',
    description: 'The contacts of a segment.',
    scope: 'contacts:read',
    input: Type.Object({ id: id('segment'), ...page }),
    run: ({ api }, { id, ...query }) => api.read(`/segments/${encodeURIComponent(id)}/contacts${toQuery(query)}`),
  }),
  toTool({
    name: 'list_conversations',
    description: 'Conversations, newest first, each with its contact.',
    scope: 'conversations:read',
    input: Type.Object({
      status: Type.Optional(Type.String({ description: 'open, pending or closed.' })),
      contact_id: Type.Optional(id('contact')),
      channel: Type.Optional(Type.String({ description: 'msgapp, social or web.' })),
      ...page,
    }),
    run: ({ api }, query) => api.read(`/conversations${toQuery(query)}`),
  }),
  toTool({
    name: 'list_messages',
    description: 'The messages of a conversation, newest first.',
    scope: 'messages:read',
    input: Type.Object({ conversation_id: id('conversation'), ...page }),
    run: ({ api }, { conversation_id, ...query }) =>
      api.read(`/conversations/${encodeURIComponent(conversation_id)}/messages${toQuery(query)}`),
  }),
]

const template = Type.Object({
  name: Type.String({ description: 'Of an approved template.' }),
  language: Type.Optional(Type.String({ description: 'en_US when absent.' })),
  params: Type.Optional(Type.Array(Type.String(), { description: 'Values of its body, in their order.' })),
})
const confirming = {
  dry_run: Type.Optional(Type.Boolean({ description: 'True first: answers what would be sent, and a token.' })),
  confirmation_token: Type.Optional(Type.String({ description: 'Of the dry run with the same arguments: sends.' })),
}

export const sendTools: readonly Tool[] = [
  toTool({
    name: 'send_message',
    description:
      'Send to a phone number. Text and media reach only customers who wrote within 24 hours; otherwise use a template. ' +
      'Call it with dry_run: true first.',
    scope: 'messages:send',
    sends: true,
    input: Type.Object({
      to: Type.String({ description: 'A phone number such as +14155550100.' }),
      type: Type.Optional(Type.String({ description: 'text, template, image, video, document or audio.' })),
      text: Type.Optional(Type.String()),
      media_url: Type.Optional(Type.String()),
      template: Type.Optional(template),
      ...confirming,
    }),
    run: async (context, given) =>
      sendOnceConfirmed(context, '/messages', given, async ({ to }) => ({ contact: await findContact(context, to) })),
  }),
  toTool({
    name: 'create_broadcast',
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
      segment_id: Type.Optional(Type.String({ description: 'Instead of recipients.' })),
      scheduled_at: Type.Optional(Type.String({ description: 'A date-time; at once when absent.' })),
      ...confirming,
    }),
    run: async (context, given) =>
      sendOnceConfirmed(context, '/broadcasts', given, async ({ recipients, segment_id }) => ({
        recipient_count: recipients && new Set(recipients.map(({ to }) => to)).size,
        segment: segment_id && (await findSegment(context, segment_id)),
      })),
  }),
  toTool({
    name: 'get_broadcast',
    description: 'How far a broadcast has got.',
    scope: 'broadcasts:send',
    input: Type.Object({ id: id('broadcast') }),
    run: ({ api }, given) => api.read(`/broadcasts/${encodeURIComponent(given.id)}`),
  }),
]

type Confirming = { dry_run?: boolean; confirmation_token?: string }

/** First what would be sent, then, with the token of that, sending it. */
async function sendOnceConfirmed<Given extends Confirming>(
  { api, confirmations }: Context,
  path: string,
  given: Given,
  describe: (body: Omit<Given, keyof Confirming>) => Promise<object>,
): Promise<unknown> {
  const { dry_run, confirmation_token, ...body } = given
  if (dry_run) {
    const about = await describe(body)
    return { sent: false, would_send: body, ...about, ...confirmations.keep(path, body) }
  }
  if (confirmation_token === undefined) {
    throw new Failure('not_confirmed', 'nothing was sent: call it with dry_run: true first, then with its token')
  }
  const post = (key: string) => api.call('POST', path, body, { 'idempotency-key': key })
  return { sent: true, data: await confirmations.use(confirmation_token, path, body, post) }
}

type Contact = { id: string; phone: string | null; name: string | null }

/** Who has this number, where the key may know. */
async function findContact({ api, scopes }: Context, phone: string): Promise<Contact | string> {
  if (!scopes.includes('contacts:read')) return 'not known: the key lacks the scope contacts:read'
  const digits = `+${phone.replaceAll(/\D/g, '')}`
  const found = await api.call<Contact[]>('GET', `/contacts${toQuery({ search: digits, limit: 5 })}`)
  const contact = found.find((each) => each.phone === digits)
  return contact ? { id: contact.id, phone: contact.phone, name: contact.name } : 'nobody with this number yet'
}

async function findSegment({ api, scopes }: Context, id: string): Promise<object | string> {
  if (!scopes.includes('contacts:read')) return 'not known: the key lacks the scope contacts:read'
  const { name, member_count } = await api.call<{ name: string; member_count: number }>(
    'GET',
    `/segments/${encodeURIComponent(id)}`,
  )
  return { name, member_count }
}

function toQuery(query: Record<string, string | number | undefined>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? '' : `?${given}`
}
