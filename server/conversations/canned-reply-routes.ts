/** `/canned-replies` for members. Every member has personal ones; owners and admins change the shared ones. */

import type { FastifyRequest } from 'fastify'
import type { Session } from '../accounts/callers.ts'
import { managers, roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Db } from '../lib/postgres/db.ts'
import { Deleted, IdParams, NullableText, Type } from '../lib/schema.ts'
import {
  type Author,
  type CannedReply,
  type CannedReplyInput,
  CannedReplySchema,
  createCannedReply,
  deleteCannedReply,
  listCannedReplies,
  maxAttachments,
  updateCannedReply,
} from './canned-replies.ts'

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
  team_id: Type.Optional(
    NullableText({
      format: 'uuid',
      description: 'Of a shared reply: only the members of this team see it. Null: all members.',
    }),
  ),
})

/** A personal reply is its author's business; the audit log has the changes of shared ones. */
const sharedOnly = ({ handlerResult }: FastifyRequest): boolean =>
  (handlerResult as { data?: { is_shared?: boolean } } | undefined)?.data?.is_shared === true
const shortcutOf = ({ shortcut }: Pick<CannedReply, 'shortcut'>) => `/${shortcut}`

const authorOf = ({ member }: Session): Author => ({
  memberId: member.id,
  isManager: managers.some((role) => role === member.role),
})

const toInput = ({
  attachments = [],
  is_shared = false,
  team_id = null,
  ...body
}: Partial<CannedReplyInput>): CannedReplyInput => ({
  shortcut: body.shortcut ?? '',
  text: body.text ?? '',
  attachments,
  is_shared,
  team_id,
})

export const cannedReplyTable = (db: Db, publicUrl: string): readonly Row[] => [
  row({
    call: 'GET /canned-replies',
    members: roles,
    data: Type.Array(CannedReplySchema),
    run: ({ caller }) => listCannedReplies(db, caller.workspaceId, authorOf(caller), publicUrl),
  }),
  row({
    call: 'POST /canned-replies',
    members: writers,
    audit: { action: 'reply.created', summary: shortcutOf, when: sharedOnly },
    body: Input,
    data: CannedReplySchema,
    status: 201,
    run: ({ caller, body }) => createCannedReply(db, caller.workspaceId, authorOf(caller), toInput(body), publicUrl),
  }),
  row({
    call: 'PUT /canned-replies/:id',
    members: writers,
    audit: { action: 'reply.changed', summary: shortcutOf, when: sharedOnly },
    params: IdParams,
    body: Input,
    data: CannedReplySchema,
    run: ({ caller, params, body }) =>
      updateCannedReply(db, caller.workspaceId, authorOf(caller), params.id, toInput(body), publicUrl),
  }),
  row({
    call: 'DELETE /canned-replies/:id',
    members: writers,
    audit: { action: 'reply.deleted', summary: shortcutOf, when: sharedOnly },
    params: IdParams,
    data: Deleted,
    run: async ({ caller, params }) => {
      const deleted = await deleteCannedReply(db, caller.workspaceId, authorOf(caller), params.id)
      return { ...deleted, deleted: true }
    },
  }),
]
