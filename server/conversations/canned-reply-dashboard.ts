/** `/canned-replies` for members. Every member has personal ones; owners and admins change the shared ones. */
import type { FastifyRequest } from 'fastify'
import { managers } from '../accounts/members.ts'
import type { Db } from '../lib/db.ts'
import { DataOf, DateTime, Deleted, IdParams, NullableText, OneOf, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import {
  type Author,
  type CannedReply,
  type CannedReplyInput,
  createCannedReply,
  deleteCannedReply,
  listCannedReplies,
  maxAttachments,
  updateCannedReply,
} from './canned-replies.ts'

const CannedReplyView = Type.Object(
  {
    id: Uuid,
    shortcut: Type.String(),
    text: Type.String({ description: 'May have variables: `{{contact.name|there}}`, `{{member.name}}`.' }),
    attachments: Type.Array(
      Type.Object({
        media_url: Type.String(),
        type: OneOf(['image', 'video', 'audio', 'document']),
        mime_type: Type.String(),
        filename: NullableText(),
        size_bytes: Type.Integer(),
      }),
    ),
    is_shared: Type.Boolean({ description: 'All members see it; else only its author.' }),
    updated_at: DateTime,
  },
  { title: 'CannedReply' },
)

const Input = Type.Object({
  shortcut: Type.String({ maxLength: 200 }),
  text: Type.String({ maxLength: 20_000 }),
  attachments: Type.Optional(
    Type.Array(Type.String({ maxLength: 2_000 }), {
      maxItems: maxAttachments,
      description: 'The `media_url` of uploaded files.',
    }),
  ),
  is_shared: Type.Optional(Type.Boolean()),
})

/** A personal reply is its author's business; the audit log has the changes of shared ones. */
const sharedOnly = ({ handlerResult }: FastifyRequest): boolean =>
  (handlerResult as { data?: { is_shared?: boolean } } | undefined)?.data?.is_shared === true
const shortcutOf = ({ shortcut }: Pick<CannedReply, 'shortcut'>) => `/${shortcut}`

const authorOf = ({ session: { member } }: FastifyRequest): Author => ({
  memberId: member.id,
  isManager: managers.some((role) => role === member.role),
})

const toInput = ({ attachments = [], is_shared = false, ...body }: Partial<CannedReplyInput>): CannedReplyInput => ({
  shortcut: body.shortcut ?? '',
  text: body.text ?? '',
  attachments,
  is_shared,
})

export const cannedReplyDashboard = (db: Db, publicUrl: string) => async (app: App) => {
  app.get(
    '/canned-replies',
    { schema: { response: { 200: DataOf(Type.Array(CannedReplyView)) } } },
    async ({ session }) => ({
      data: await listCannedReplies(db, session.workspaceId, session.member.id, publicUrl),
    }),
  )
  app.post(
    '/canned-replies',
    {
      config: { audit: { action: 'reply.created', summary: shortcutOf, when: sharedOnly } },
      schema: { body: Input, response: { 201: DataOf(CannedReplyView) } },
    },
    async (request, reply) => {
      const { session, body } = request
      reply.code(201)
      return { data: await createCannedReply(db, session.workspaceId, authorOf(request), toInput(body), publicUrl) }
    },
  )
  app.put(
    '/canned-replies/:id',
    {
      config: { audit: { action: 'reply.changed', summary: shortcutOf, when: sharedOnly } },
      schema: { params: IdParams, body: Input, response: { 200: DataOf(CannedReplyView) } },
    },
    async (request) => {
      const { session, params, body } = request
      const author = authorOf(request)
      return {
        data: await updateCannedReply(db, session.workspaceId, author, params.id, toInput(body), publicUrl),
      }
    },
  )
  app.delete(
    '/canned-replies/:id',
    {
      config: { audit: { action: 'reply.deleted', summary: shortcutOf, when: sharedOnly } },
      schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
    },
    async (request) => {
      const { session, params } = request
      const deleted = await deleteCannedReply(db, session.workspaceId, authorOf(request), params.id)
      return { data: { ...deleted, deleted: true } }
    },
  )
}
