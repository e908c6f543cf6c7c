/** `/conversations` for members: list the inbox, count it, assign, set a status, mark as read. */
import type { Session } from '../accounts/sessions.ts'
import { contentTypes } from '../channels/channel.ts'
import { channels } from '../contacts/contacts.ts'
import type { Db } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { readPosition } from '../lib/page.ts'
import { DataOf, IdParams, ListOf, ListQuery, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { readConversation, updateConversation } from './conversations.ts'
import { statuses } from './filter-fields.ts'
import { countInbox, type InboxContext, type InboxRow, listInbox, readInboxPosition, requireInboxRow } from './inbox.ts'
import { ConversationSchema } from './routes.ts'

/** A conversation with fields that the public API does not have. */
const MemberConversation = Type.Object(
  {
    ...ConversationSchema.properties,
    window_closes_at: NullableText({
      format: 'date-time',
      description:
        'Until then free-form messages can be sent. Null when the channel has no window (web) or the customer has not written yet.',
    }),
    late_window_closes_at: NullableText({
      format: 'date-time',
      description:
        'Until then a member may still reply, if the channel gives members a longer window than programs (social).',
    }),
    assigned_agent: Type.Unsafe<InboxRow['assigned_agent']>({
      type: ['object', 'null'],
      properties: { id: Uuid, name: NullableText(), email: Type.String() },
      required: ['id', 'name', 'email'],
    }),
    last_message: Type.Unsafe<InboxRow['last_message']>({
      type: ['object', 'null'],
      properties: {
        direction: OneOf(['inbound', 'outbound']),
        content_type: OneOf(contentTypes),
        content_kind: NullableText(),
        status: OneOf(['received', 'pending', 'sent', 'failed', 'delivered', 'read']),
      },
      required: ['direction', 'content_type', 'content_kind', 'status'],
    }),
  },
  { title: 'MemberConversation' },
)

const InboxQuery = ListQuery({
  status: Type.Optional(OneOf(statuses)),
  channel: Type.Optional(OneOf(channels)),
  contact_id: Type.Optional(Uuid),
  assigned: Type.Optional(Type.String({ description: "`me`, `nobody`, or a member's id." })),
  unread: Type.Optional(OneOf(['true'])),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: "A part of the contact's name, number, e-mail address or company." }),
  ),
})

const count = (description: string) =>
  Type.Integer({ description: `${description} At most 1,000, which means 1,000 or more.` })
const Counts = Type.Object({
  open: count('`status=open`.'),
  pending: count('`status=pending`.'),
  mine: count('`assigned=me&status=open`.'),
  unassigned: count('Open conversations without an assigned member.'),
  unread: count('`unread=true`.'),
})

const Changes = Type.Object({
  status: Type.Optional(OneOf(statuses)),
  assigned_agent_id: Type.Optional(NullableText({ format: 'uuid' })),
})

const summarizeChanges = (
  { assigned_agent: agent }: Static<typeof MemberConversation>,
  { status, assigned_agent_id: agentId }: Static<typeof Changes>,
) => {
  const assigned = agentId === undefined ? [] : [agent ? `assigned to ${agent.email}` : 'unassigned']
  return [...(status ? [status] : []), ...assigned].join(', ')
}

export const conversationDashboard = (db: Db, context: InboxContext) => async (app: App) => {
  app.get(
    '/conversations',
    { schema: { querystring: InboxQuery, response: { 200: ListOf(MemberConversation) } } },
    async ({ session, query }) => {
      const position = { limit: readPosition(query).limit, before: readInboxPosition(query.cursor) }
      return listInbox(db, session.workspaceId, context, readFilters(session, query), position)
    },
  )
  app.get('/conversations/counts', { schema: { response: { 200: DataOf(Counts) } } }, async ({ session }) => ({
    data: await countInbox(db, session.workspaceId, session.member.id),
  }))
  app.get(
    '/conversations/:id',
    { schema: { params: IdParams, response: { 200: DataOf(MemberConversation) } } },
    async ({ session, params }) => ({ data: await requireInboxRow(db, session.workspaceId, context, params.id) }),
  )
  app.patch(
    '/conversations/:id',
    {
      config: { audit: { action: 'conversation.changed', summary: summarizeChanges } },
      schema: { params: IdParams, body: Changes, response: { 200: DataOf(MemberConversation) } },
    },
    async ({ session: { workspaceId }, params, body }) => {
      const { id } = await updateConversation(db, workspaceId, params.id, body)
      return { data: await requireInboxRow(db, workspaceId, context, id) }
    },
  )
  app.post(
    '/conversations/:id/read',
    { config: { audit: false }, schema: { params: IdParams, response: { 200: DataOf(MemberConversation) } } },
    async ({ session: { workspaceId }, params }) => {
      const { id } = await readConversation(db, workspaceId, params.id)
      return { data: await requireInboxRow(db, workspaceId, context, id) }
    },
  )
}

function readFilters({ member }: Session, query: Static<typeof InboxQuery>) {
  const { status, channel, contact_id, assigned, unread, search } = query
  const isKnown = assigned === undefined || assigned === 'me' || assigned === 'nobody' || isUuid(assigned)
  if (!isKnown) throw badRequest("assigned: must be `me`, `nobody` or a member's id")
  const agent = assigned === 'me' ? member.id : assigned
  return { status, channel, contact_id, agent, unread: unread === 'true', search: search?.trim() }
}
