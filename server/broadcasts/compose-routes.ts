/** What members do with a broadcast beside the calls of the API: draft, preview, test, edit, send again, follow, export. */

import { Readable } from 'node:stream'
import { managers, roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { TemplateParams } from '../channels/channel.ts'
import { StructuredParams } from '../channels/template-schema.ts'
import {
  DateTime,
  IdParams,
  NullableDateTime,
  NullableInteger,
  NullableObject,
  NullableText,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../lib/schema.ts'
import { readTemplate, TemplateSchema } from '../messages/sending/requested-content.ts'
import type { Sender } from '../messages/sending/send.ts'
import { MemberMessageSchema, requireMemberMessage, type ThreadContext } from '../messages/thread.ts'
import { acceptBroadcast, type NewBroadcast } from './accept.ts'
import { sendAgain } from './again.ts'
import { requireBroadcast } from './broadcasts.ts'
import { createDraft, saveDraft } from './drafts.ts'
import { editBroadcast, getBroadcastSource } from './edit.ts'
import { listAttributes } from './fields.ts'
import { previewBroadcast, sendTest } from './preview.ts'
import { writeRecipients } from './recipients.ts'
import { type Broadcast, BroadcastSchema, broadcastStatuses } from './resource.ts'
import { type BroadcastOptions, nameOf } from './routes.ts'
import { DraftSchema, NewBroadcastSchema, readBroadcast, readDraft } from './schemas.ts'
import { readTimeline } from './timeline.ts'

const PreviewBody = Type.Object({ ...NewBroadcastSchema.properties, name: Type.Optional(Type.String()) })

const PreviewView = Type.Object({
  total: Type.Integer(),
  sendable: Type.Integer(),
  skipped: Type.Array(Type.Object({ reason: Type.String(), count: Type.Integer() })),
  values_checked: Type.Integer({
    description:
      'The number of recipients whose values were checked. Errors in the values of the others show when they are sent.',
  }),
  duration_seconds: Type.Integer(),
  plan: Type.Object({
    left: NullableInteger,
    fits: Type.Boolean(),
    state: OneOf(['active', 'lapsed']),
  }),
  samples: Type.Array(
    Type.Object({ name: NullableText(), to: Type.String(), params: Type.Unsafe<TemplateParams>(StructuredParams) }),
  ),
})

const TimelineView = Type.Array(
  Type.Object({
    at: DateTime,
    sent: Type.Integer(),
    delivered: Type.Integer(),
    read: Type.Integer(),
    replied: Type.Integer(),
    tapped: Type.Integer(),
    opted_out: Type.Integer(),
  }),
)

const TestMessage = Type.Object({
  template: TemplateSchema,
  from: NewBroadcastSchema.properties.from,
  to: Type.String({ maxLength: 500 }),
})

/** The body is optional. */
const SendAgainBody = Type.Unsafe<{ name?: string } | null>({
  type: ['object', 'null'],
  properties: { name: { type: 'string' } },
})

const BroadcastChanges = Type.Object(Type.Partial(NewBroadcastSchema).properties)

/** The changes in the shape of a new broadcast. */
function readChanges(body: Static<typeof BroadcastChanges>): Partial<NewBroadcast> {
  const { name, template, from, recipients, segment_id, audience, scheduled_at } = body
  // The reader needs a template; a change may have none.
  const read = readBroadcast({ ...body, name: name ?? '', template: template ?? { name: '' } }, true)
  return {
    ...(name === undefined ? {} : { name: read.name }),
    ...(template === undefined ? {} : { template: read.template }),
    ...(from === undefined ? {} : { from }),
    ...(recipients === undefined ? {} : { recipients: read.recipients }),
    ...(segment_id === undefined ? {} : { segment_id: read.segment_id }),
    ...(audience === undefined ? {} : { audience: read.audience }),
    ...(scheduled_at === undefined ? {} : { scheduled_at: read.scheduled_at }),
  }
}

const SourceView = Type.Object({
  status: OneOf(broadcastStatuses),
  name: Type.String(),
  template: Type.Object({
    name: Type.String(),
    language: Type.String(),
    params: Type.Unsafe<TemplateParams>(StructuredParams),
    contact_fields: Type.Boolean(),
  }),
  from: NullableText({ format: 'uuid', description: 'The connection id of the number that sends it.' }),
  segment_id: NullableText({ format: 'uuid' }),
  audience: NullableObject({ segment_ids: Type.Array(Uuid), excluded_segment_ids: Type.Array(Uuid) }),
  recipients: Type.Array(
    Type.Object({
      to: Type.String(),
      name: NullableText(),
      params: Type.Optional(Type.Unsafe<TemplateParams>(StructuredParams)),
    }),
  ),
  has_more_recipients: Type.Boolean(),
  has_own_values: Type.Boolean({ description: 'Some recipients have template values of their own.' }),
  scheduled_at: NullableDateTime,
})

/** A million recipients are copied in half a minute on a fast disk. */
const copyMs = 10 * 60_000

/** A limit for the download of a million lines over a slow connection. */
const downloadMs = 30 * 60_000

export type ComposeOptions = BroadcastOptions & { sender: Sender; threadContext: ThreadContext }

export function composeTable({ context, sender, threadContext, signals }: ComposeOptions): readonly Row[] {
  const { db } = context
  return [
    row({
      call: 'POST /broadcasts/preview',
      members: writers,
      audit: false,
      isQuiet: true,
      body: PreviewBody,
      data: PreviewView,
      run: ({ caller, body }) => previewBroadcast(context, caller, readBroadcast({ ...body, name: '' }, true)),
    }),
    row({
      call: 'POST /broadcasts/test',
      members: writers,
      audit: false,
      body: TestMessage,
      data: MemberMessageSchema,
      status: 201,
      run: async ({ caller: { workspaceId, defaultCountry, member }, body, idempotency }) => {
        const sent = await sendTest(
          sender,
          { workspaceId, defaultCountry, memberId: member.id, subject: idempotency?.subject },
          { to: body.to, from: body.from, template: readTemplate(body.template, true) },
        )
        const sentMessage = { id: sent.message_id, channel: 'msgapp' } as const
        return requireMemberMessage(db, workspaceId, threadContext, sentMessage)
      },
    }),
    row({
      call: 'POST /broadcasts/drafts',
      members: writers,
      audit: false,
      body: DraftSchema,
      data: BroadcastSchema,
      status: 201,
      run: ({ caller: { member, ...caller }, body, idempotency }) =>
        createDraft(context, { ...caller, memberId: member.id, subject: idempotency?.subject }, readDraft(body)),
    }),
    row({
      call: 'PATCH /broadcasts/:id/draft',
      members: writers,
      audit: false,
      isQuiet: true,
      params: IdParams,
      body: DraftSchema,
      data: BroadcastSchema,
      run: ({ caller, params, body }) =>
        saveDraft(context, { ...caller, subject: undefined }, params.id, readDraft(body)),
    }),
    row({
      call: 'POST /broadcasts/:id/send',
      members: writers,
      audit: { action: 'broadcast.created', summary: nameOf },
      params: IdParams,
      body: NewBroadcastSchema,
      data: BroadcastSchema,
      status: 202,
      run: async ({ caller: { member, ...caller }, params, body, idempotency }) => {
        const sender = { ...caller, memberId: member.id, subject: idempotency?.subject }
        const { id } = await acceptBroadcast(context, sender, readBroadcast(body, true), { draftId: params.id })
        signals.broadcastReady()
        return requireBroadcast(db, caller.workspaceId, id)
      },
    }),
    row({
      call: 'GET /broadcasts/fields',
      members: roles,
      data: Type.Object({ attributes: Type.Array(Type.String()) }),
      run: async ({ caller }) => ({ attributes: await listAttributes(db, caller.workspaceId) }),
    }),
    row({
      call: 'GET /broadcasts/:id/timeline',
      members: roles,
      params: IdParams,
      data: TimelineView,
      run: ({ caller, params }) => readTimeline(db, caller.workspaceId, params.id),
    }),
    row({
      call: 'PATCH /broadcasts/:id',
      members: writers,
      audit: { action: 'broadcast.edited', summary: nameOf },
      params: IdParams,
      body: BroadcastChanges,
      data: BroadcastSchema,
      run: async ({ caller, params, body }) => {
        const edited = await editBroadcast(context, caller, params.id, readChanges(body))
        signals.broadcastReady()
        return edited
      },
    }),
    row({
      call: 'GET /broadcasts/:id/source',
      members: roles,
      params: IdParams,
      data: SourceView,
      run: ({ caller, params }) => getBroadcastSource(db, caller.workspaceId, params.id),
    }),
    row({
      call: 'POST /broadcasts/:id/again',
      members: writers,
      audit: { action: 'broadcast.sent_again', summary: nameOf },
      handlerTimeout: copyMs,
      params: IdParams,
      body: SendAgainBody,
      data: BroadcastSchema,
      status: 202,
      run: async ({ caller: { workspaceId }, params, body }) => {
        const broadcast = await sendAgain(context, workspaceId, params.id, body ?? {})
        signals.broadcastReady()
        return broadcast
      },
    }),
    row({
      call: 'GET /broadcasts/:id/recipients.csv',
      members: managers,
      audit: {
        action: 'broadcast.exported',
        summary: ({ name, total_count }: Broadcast) => `${name}: ${total_count} recipients`,
      },
      handlerTimeout: downloadMs,
      params: IdParams,
      run: async (request, reply) => {
        const { workspaceId } = request.caller
        const broadcast = await requireBroadcast(db, workspaceId, request.params.id)
        const { id } = broadcast
        // The audit log cannot read a streamed response.
        request.handlerResult = { data: broadcast }
        reply.headers({
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="broadcast-${id}.csv"`,
          'x-content-type-options': 'nosniff',
        })
        return reply.send(Readable.from(writeRecipients(db, workspaceId, id), { objectMode: false }))
      },
    }),
  ]
}
