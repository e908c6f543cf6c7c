/** What members do in a conversation: read it and answer. */

import { requireConversation } from '../conversations/conversations.ts'
import type { Db } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import { DataOf, IdParams, ListOf, ListQuery, NullableText, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { draftFields, readDraft } from './draft.ts'
import { getMessage, listMessages } from './messages.ts'
import { messageFields } from './routes.ts'
import type { Sender } from './send.ts'

export const MemberMessage = Type.Object({
  ...messageFields,
  error: NullableText(),
  sender_id: NullableText(),
  content: Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'], additionalProperties: true }),
})

const Reply = Type.Object(draftFields)

export const messageDashboard =
  ({ db, sender, publicUrl }: { db: Db; sender: Sender; publicUrl: string }) =>
  async (app: App) => {
    app.get(
      '/conversations/:id/messages',
      { schema: { params: IdParams, querystring: ListQuery({}), response: { 200: ListOf(MemberMessage) } } },
      async ({ session, params, query }) =>
        listMessages(db, session.workspaceId, params.id, publicUrl, readPosition(query)),
    )
    app.post(
      '/conversations/:id/messages',
      {
        config: { audit: false },
        schema: { params: IdParams, body: Reply, response: { 201: DataOf(MemberMessage) } },
      },
      async ({ session, params, body }, reply) => {
        const { workspaceId, member } = session
        const draft = readDraft(body)
        const { id: conversationId, channel } = await requireConversation(db, workspaceId, params.id)
        const replyTo = body.reply_to_message_id
        const id = await sender.reply({ workspaceId, conversationId, memberId: member.id, draft, replyTo })
        const message = await getMessage(db, workspaceId, { conversationId, id, channel }, publicUrl)
        if (!message) throw new Error('a message just sent is not there')
        reply.code(201)
        return { data: message }
      },
    )
  }
