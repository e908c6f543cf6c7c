/**
 * `/conversations/{id}/messages`, `/block`, `/contacts/{id}/conversations` and `/templates/preview` for members: read, reply, block
 * a contact, start a conversation with a template, preview a template. Members may use contact fields in template values.
 */
import type { Session } from '../accounts/callers.ts'
import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { getConnectionById } from '../channels/connections.ts'
import { assignReplier, updateConversation } from '../conversations/changes.ts'
import { requireConversation } from '../conversations/conversations.ts'
import { type InboxContext, requireInboxRow } from '../conversations/inbox.ts'
import { ConversationSchema } from '../conversations/resource.ts'
import { listVisibleIds, requireReachable } from '../conversations/visible-step.ts'
import type { Sealer } from '../lib/crypto.ts'
import { badRequest } from '../lib/errors.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import { IdParams, ListQuery, NullableText, type Static, Type, Uuid } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { type BlockOptions, setBlocked } from './block.ts'
import { previewTemplate } from './preview.ts'
import { contentFields, readRequestedContent, readTemplate, TemplateSchema } from './sending/requested-content.ts'
import type { Sender } from './sending/send.ts'
import { listThread, MemberMessageSchema, requireMemberMessage, type ThreadContext } from './thread.ts'

const Reply = Type.Object(contentFields)

const HeaderMedia = Type.Unsafe<{ format: string; url: string | null } | null>({
  type: ['object', 'null'],
  properties: { format: { type: 'string' }, url: NullableText() },
  required: ['format', 'url'],
})
const previewFields = {
  text: Type.String(),
  header: NullableText(),
  header_media: HeaderMedia,
  buttons: Type.Array(Type.String()),
}
const TemplatePreview = Type.Object(
  {
    ...previewFields,
    footer: NullableText(),
    cards: Type.Array(Type.Object(previewFields)),
    missing: Type.Array(Type.String(), {
      description: 'The missing values, named as in `params`; the texts still have their variables.',
    }),
  },
  { title: 'TemplatePreview' },
)

type ThreadOptions = ThreadContext & {
  channels: BlockOptions['channels']
  db: Db
  sealer: Sealer
  inbox: InboxContext
  signals: Pick<Signals, 'inboxChanged' | 'conversationRead'>
  sender: Sender
  templates: Parameters<typeof previewTemplate>[2]
}

export function threadTable(options: ThreadOptions): readonly Row[] {
  const { db, sealer, sender, templates, inbox, signals, ...context } = options
  const block = async ({ workspaceId, member }: Session, id: string, isBlocked: boolean) => {
    const conversation = await requireConversation(db, workspaceId, id)
    const parts = { db, sealer, channels: context.channels }
    await setBlocked(parts, workspaceId, { memberId: member.id }, conversation.id, isBlocked)
    signals.inboxChanged(workspaceId, [conversation.id])
    return requireInboxRow(db, workspaceId, inbox, conversation.id)
  }
  const preview = (workspaceId: string, template: Static<typeof TemplateSchema>, account: string | undefined) =>
    previewTemplate(db, workspaceId, templates, { ...readTemplate(template), account })
  return [
    row({
      call: 'GET /conversations/:id/messages',
      members: roles,
      params: IdParams,
      query: ListQuery({}),
      list: MemberMessageSchema,
      run: ({ caller, params, query }) => listThread(db, caller.workspaceId, context, params.id, readPosition(query)),
    }),
    row({
      call: 'POST /conversations/:id/messages',
      members: writers,
      audit: false,
      isQuiet: true,
      params: IdParams,
      body: Reply,
      data: MemberMessageSchema,
      status: 201,
      run: async ({ caller, params, body, idempotency }) => {
        const { workspaceId, member } = caller
        const { subject } = idempotency ?? {}
        const requested = readRequestedContent(body, true)
        const { id: conversationId, channel } = await requireConversation(db, workspaceId, params.id)
        const replyTo = body.reply_to_message_id
        const request = { workspaceId, to: { conversationId }, memberId: member.id, requested, replyTo, subject }
        const { message_id: id } = await sender.send(request)
        if (channel === 'web') signals.conversationRead(conversationId)
        const isReaction = body.type === 'reaction'
        if (!isReaction && (await assignReplier(db, workspaceId, conversationId, member.id)))
          signals.inboxChanged(workspaceId, [conversationId])
        return requireMemberMessage(db, workspaceId, context, { channel, id })
      },
    }),
    row({
      call: 'POST /conversations/:id/block',
      members: writers,
      audit: 'contact.blocked',
      isQuiet: true,
      params: IdParams,
      data: ConversationSchema,
      run: ({ caller, params }) => block(caller, params.id, true),
    }),
    row({
      call: 'POST /conversations/:id/unblock',
      members: writers,
      audit: 'contact.unblocked',
      isQuiet: true,
      params: IdParams,
      data: ConversationSchema,
      run: ({ caller, params }) => block(caller, params.id, false),
    }),
    row({
      call: 'POST /contacts/:id/conversations',
      members: writers,
      audit: false,
      params: IdParams,
      body: Type.Object({
        template: TemplateSchema,
        from: Type.Optional(Uuid),
      }),
      data: Type.Object({ conversation_id: Uuid, message_id: Uuid }),
      status: 201,
      run: async ({ caller, params, body, idempotency }) => {
        const { workspaceId, member, defaultCountry } = caller
        await requireReachable(db, caller, { contactId: params.id, connectionId: body.from })
        const { conversation_id, message_id } = await sender.send({
          workspaceId,
          to: { contactId: params.id, defaultCountry, from: body.from },
          requested: readRequestedContent({ type: 'template', template: body.template }, true),
          memberId: member.id,
          subject: idempotency?.subject,
        })
        // A new conversation has no team: a member who sees only some gets it.
        if (!(await listVisibleIds(db, caller, [conversation_id])).has(conversation_id)) {
          const taken = { assigned_agent_id: member.id }
          await updateConversation(db, workspaceId, { memberId: member.id }, conversation_id, taken)
          signals.inboxChanged(workspaceId, [conversation_id])
        }
        return { conversation_id, message_id }
      },
    }),

    row({
      call: 'POST /templates/preview',
      members: writers,
      audit: false,
      isQuiet: true,
      body: Type.Object({
        ...TemplateSchema.properties,
        account: Type.Optional(Type.String({ maxLength: 100, description: 'The provider account that owns it.' })),
      }),
      data: TemplatePreview,
      run: ({ caller, body: { account, ...template } }) => preview(caller.workspaceId, template, account),
    }),
    row({
      call: 'POST /conversations/:id/templates/preview',
      members: writers,
      audit: false,
      isQuiet: true,
      params: IdParams,
      body: TemplateSchema,
      data: TemplatePreview,
      run: async ({ caller: { workspaceId }, params, body }) => {
        const { channel, connection } = await requireConversation(db, workspaceId, params.id)
        if (channel !== 'msgapp') throw badRequest('only the msgapp channel has templates')
        const number = connection ? await getConnectionById(db, sealer, workspaceId, connection.id) : undefined
        return preview(workspaceId, body, number?.account_id)
      },
    }),
  ]
}
