/** What members do with conversations: look, take, set a status, open. */

import { channels } from '../contacts/contacts.ts'
import type { Db } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import { DataOf, IdParams, ListOf, ListQuery, NullableText, OneOf, type Static, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { listConversations, readConversation, requireConversation, updateConversation } from './conversations.ts'
import { statuses } from './filter-fields.ts'
import { ConversationSchema } from './routes.ts'

const Changes = Type.Object({
  status: Type.Optional(OneOf(statuses)),
  assigned_agent_id: Type.Optional(NullableText({ format: 'uuid' })),
})

const whatChanged = (_: unknown, { status, assigned_agent_id: agentId }: Static<typeof Changes>) => {
  const assigned = agentId === undefined ? [] : [agentId ? `assigned to ${agentId}` : 'assigned to nobody']
  return [...(status ? [status] : []), ...assigned].join(', ')
}

export const conversationDashboard = (db: Db) => async (app: App) => {
  app.get(
    '/conversations',
    {
      schema: {
        querystring: ListQuery({
          status: Type.Optional(OneOf(statuses)),
          channel: Type.Optional(OneOf(channels)),
          contact_id: Type.Optional(Type.String({ format: 'uuid' })),
        }),
        response: { 200: ListOf(ConversationSchema) },
      },
    },
    async ({ session, query }) => listConversations(db, session.workspaceId, query, readPosition(query)),
  )
  app.get(
    '/conversations/:id',
    { schema: { params: IdParams, response: { 200: DataOf(ConversationSchema) } } },
    async ({ session, params }) => ({ data: await requireConversation(db, session.workspaceId, params.id) }),
  )
  app.patch(
    '/conversations/:id',
    {
      config: { audit: { action: 'conversation.changed', summary: whatChanged } },
      schema: { params: IdParams, body: Changes, response: { 200: DataOf(ConversationSchema) } },
    },
    async ({ session, params, body }) => ({ data: await updateConversation(db, session.workspaceId, params.id, body) }),
  )
  app.post(
    '/conversations/:id/read',
    { config: { audit: false }, schema: { params: IdParams, response: { 200: DataOf(ConversationSchema) } } },
    async ({ session, params }) => ({ data: await readConversation(db, session.workspaceId, params.id) }),
  )
}
