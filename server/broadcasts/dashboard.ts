/**
 * The members' routes of broadcasts: preview, create, list, edit, start, pause, resume, cancel, delete, and send again. Every member
 * may call them; only an owner or admin may export the recipients. Members may use contact fields in template values.
 */

import { Readable } from 'node:stream'
import { managers } from '../accounts/members.ts'
import type { Signals } from '../accounts/signals.ts'
import type { TemplateParams } from '../channels/channel.ts'
import type { Db } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import {
  DataOf,
  Deleted,
  IdParams,
  ListOf,
  ListQuery,
  NullableDateTime,
  NullableText,
  OneOf,
  type Static,
  Type,
} from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { MemberMessage } from '../messages/dashboard.ts'
import { readTemplate, StructuredParams, TemplateSchema } from '../messages/draft.ts'
import type { Sender } from '../messages/send.ts'
import { requireMemberMessage, type ThreadContext } from '../messages/thread.ts'
import { type AcceptContext, acceptBroadcast, type NewBroadcast } from './accept.ts'
import { sendAgain } from './again.ts'
import {
  type Broadcast,
  broadcastStatuses,
  cancelBroadcast,
  pauseBroadcast,
  requireBroadcast,
  resumeBroadcast,
} from './broadcasts.ts'
import { deleteDraft, startBroadcast } from './drafts.ts'
import { editBroadcast, getBroadcastSource } from './edit.ts'
import { listBroadcasts } from './list.ts'
import { previewBroadcast, sendTest } from './preview.ts'
import { listRecipients, readCursor, shownStatuses, writeRecipients } from './recipients.ts'
import { broadcastFields, NewBroadcastSchema, readBroadcast } from './resource.ts'
import { deleteMs } from './routes.ts'

const MemberBroadcast = Type.Object({
  ...broadcastFields,
  params: Type.Unsafe<TemplateParams>(StructuredParams),
  channel_error: NullableText(),
  next_attempt_at: NullableDateTime,
  awaiting_count: Type.Integer(),
  cancel_reason: NullableText(),
  again_id: NullableText({ format: 'uuid' }),
})

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
    left: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
    fits: Type.Boolean(),
    state: OneOf(['active', 'lapsed']),
  }),
  sample: Type.Unsafe<{ text: string; to: string } | null>({
    type: ['object', 'null'],
    properties: { text: { type: 'string' }, to: { type: 'string' } },
  }),
})

const TestMessage = Type.Object({ template: TemplateSchema, to: Type.String({ maxLength: 500 }) })

/** The body is optional. */
const SendAgainBody = Type.Unsafe<{ name?: string } | null>({
  type: ['object', 'null'],
  properties: { name: { type: 'string' } },
})

const RecipientView = Type.Object({
  place: Type.Integer(),
  phone: NullableText(),
  name: NullableText(),
  contact_id: NullableText({ format: 'uuid' }),
  status: OneOf(shownStatuses),
  reason: NullableText(),
  message_id: NullableText({ format: 'uuid' }),
  conversation_id: NullableText({ format: 'uuid' }),
})

const nameOf = ({ name }: Broadcast) => name

const BroadcastChanges = Type.Object(Type.Partial(NewBroadcastSchema).properties)

/** The changes in the shape of a new broadcast. */
function readChanges(body: Static<typeof BroadcastChanges>): Partial<NewBroadcast> {
  const { name, template, recipients, segment_id, scheduled_at } = body
  // The reader needs a template; a change may have none.
  const read = readBroadcast({ ...body, name: name ?? '', template: template ?? { name: '' } }, true)
  return {
    ...(name === undefined ? {} : { name: read.name }),
    ...(template === undefined ? {} : { template: read.template }),
    ...(recipients === undefined ? {} : { recipients: read.recipients }),
    ...(segment_id === undefined ? {} : { segment_id: read.segment_id }),
    ...(scheduled_at === undefined ? {} : { scheduled_at: read.scheduled_at }),
  }
}

const SourceView = Type.Object({
  name: Type.String(),
  template: Type.Object({
    name: Type.String(),
    language: Type.String(),
    params: Type.Unsafe<TemplateParams>(StructuredParams),
    contact_fields: Type.Boolean(),
  }),
  segment_id: NullableText({ format: 'uuid' }),
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

export type BroadcastDashboardOptions = {
  acceptContext: AcceptContext
  sender: Sender
  threadContext: ThreadContext
  signals: Signals
}

export const broadcastDashboard =
  ({ acceptContext, sender, threadContext, signals }: BroadcastDashboardOptions) =>
  async (app: App) => {
    const { db } = acceptContext
    app.get(
      '/broadcasts',
      {
        schema: {
          querystring: ListQuery({
            status: Type.Optional(OneOf(broadcastStatuses)),
            is_paused: Type.Optional(OneOf(['true'])),
          }),
          response: { 200: ListOf(MemberBroadcast) },
        },
      },
      async ({ session, query }) => listBroadcasts(db, session.workspaceId, query, readPosition(query)),
    )
    app.post(
      '/broadcasts',
      {
        config: { audit: { action: 'broadcast.created', summary: nameOf } },
        schema: { body: NewBroadcastSchema, response: { 202: DataOf(MemberBroadcast) } },
      },
      async ({ session: { workspaceId, defaultCountry }, body, idempotency }, reply) => {
        const caller = { workspaceId, defaultCountry, subject: idempotency?.subject }
        const { id } = await acceptBroadcast(acceptContext, caller, readBroadcast(body, true))
        signals.broadcastReady()
        reply.code(202)
        return { data: await requireBroadcast(db, workspaceId, id) }
      },
    )
    app.post(
      '/broadcasts/preview',
      {
        config: { audit: false, isQuiet: true },
        schema: { body: PreviewBody, response: { 200: DataOf(PreviewView) } },
      },
      async ({ session, body }) => ({
        data: await previewBroadcast(acceptContext, session, readBroadcast({ ...body, name: '' }, true)),
      }),
    )
    app.post(
      '/broadcasts/test',
      { config: { audit: false }, schema: { body: TestMessage, response: { 201: DataOf(MemberMessage) } } },
      async ({ session: { workspaceId, defaultCountry, member }, body, idempotency }, reply) => {
        const sent = await sendTest(
          sender,
          { workspaceId, defaultCountry, memberId: member.id, subject: idempotency?.subject },
          { to: body.to, template: readTemplate(body.template, true) },
        )
        const sentMessage = { id: sent.message_id, channel: 'msgapp' } as const
        reply.code(201)
        return { data: await requireMemberMessage(db, workspaceId, threadContext, sentMessage) }
      },
    )
    app.get(
      '/broadcasts/:id',
      { schema: { params: IdParams, response: { 200: DataOf(MemberBroadcast) } } },
      async ({ session, params }) => ({ data: await requireBroadcast(db, session.workspaceId, params.id) }),
    )
    app.patch(
      '/broadcasts/:id',
      {
        config: { audit: { action: 'broadcast.edited', summary: nameOf } },
        schema: { params: IdParams, body: BroadcastChanges, response: { 200: DataOf(MemberBroadcast) } },
      },
      async ({ session: { workspaceId, defaultCountry }, params, body }) => {
        const caller = { workspaceId, defaultCountry }
        const edited = await editBroadcast(acceptContext, caller, params.id, readChanges(body))
        signals.broadcastReady()
        return { data: edited }
      },
    )
    app.delete(
      '/broadcasts/:id',
      {
        config: { audit: { action: 'broadcast.deleted', summary: nameOf } },
        handlerTimeout: deleteMs,
        schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
      },
      async ({ session, params }) => {
        const name = await deleteDraft(acceptContext, session.workspaceId, params.id)
        return { data: { id: params.id.toLowerCase(), deleted: true, name } }
      },
    )
    app.get(
      '/broadcasts/:id/source',
      { schema: { params: IdParams, response: { 200: DataOf(SourceView) } } },
      async ({ session, params }) => ({ data: await getBroadcastSource(db, session.workspaceId, params.id) }),
    )
    for (const [verb, change, action] of [
      [
        'start',
        (_: Db, workspaceId: string, id: string) =>
          startBroadcast(acceptContext, { workspaceId, subject: undefined }, id, { isNow: true }),
        'broadcast.started',
      ],
      ['pause', pauseBroadcast, 'broadcast.paused'],
      ['resume', resumeBroadcast, 'broadcast.resumed'],
      ['cancel', cancelBroadcast, 'broadcast.canceled'],
    ] as const) {
      app.post(
        `/broadcasts/:id/${verb}`,
        {
          config: { audit: { action, summary: nameOf } },
          schema: { params: IdParams, response: { 200: DataOf(MemberBroadcast) } },
        },
        async ({ session: { workspaceId }, params: { id } }) => {
          await change(db, workspaceId, id)
          signals.broadcastReady()
          return { data: await requireBroadcast(db, workspaceId, id) }
        },
      )
    }
    app.post(
      '/broadcasts/:id/again',
      {
        config: { audit: { action: 'broadcast.sent_again', summary: nameOf } },
        handlerTimeout: copyMs,
        schema: { params: IdParams, body: SendAgainBody, response: { 202: DataOf(MemberBroadcast) } },
      },
      async ({ session: { workspaceId }, params, body }, reply) => {
        const broadcast = await sendAgain(acceptContext, workspaceId, params.id, body ?? {})
        signals.broadcastReady()
        reply.code(202)
        return { data: broadcast }
      },
    )
    app.get(
      '/broadcasts/:id/recipients',
      {
        schema: {
          params: IdParams,
          querystring: ListQuery({ status: Type.Optional(OneOf(shownStatuses)) }),
          response: { 200: ListOf(RecipientView) },
        },
      },
      async ({ session, params, query }) =>
        listRecipients(db, session.workspaceId, params.id, query, {
          limit: readPosition(query).limit,
          after: readCursor(query.cursor),
        }),
    )
    app.get(
      '/broadcasts/:id/recipients.csv',
      {
        config: {
          members: managers,
          audit: {
            action: 'broadcast.exported',
            summary: ({ name, total_count }: Broadcast) => `${name}: ${total_count} recipients`,
          },
        },
        handlerTimeout: downloadMs,
        schema: { params: IdParams },
      },
      async (request, reply) => {
        const { workspaceId } = request.session
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
    )
  }
