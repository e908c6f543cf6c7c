/** `/broadcasts`: send one template to many recipients, and read the progress. */
import type { Signals } from '../accounts/signals.ts'
import type { Db } from '../lib/db.ts'
import {
  DataOf,
  DateTime,
  IdParams,
  inDocument,
  NullableDateTime,
  NullableText,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { ParamsSchema, readParams, TemplateSchema } from '../messages/draft.ts'
import { type AcceptContext, acceptBroadcast, checkBroadcast, type NewBroadcast } from './accept.ts'
import { broadcastStatuses, requireBroadcast } from './broadcasts.ts'

const tags = ['Broadcasts']

const count = (description: string) => Type.Integer({ description })

export const broadcastFields = {
  id: Uuid,
  name: Type.String(),
  status: OneOf(broadcastStatuses, { description: '`sent` when no recipient is pending.' }),
  template: Type.Object({ name: Type.String(), language: Type.String() }),
  segment_id: NullableText({ format: 'uuid' }),
  total_count: count('All recipients, each number once; 0 for a segment until sending starts.'),
  pending_count: count('Recipients that were not sent to yet or have no outcome yet.'),
  sent_count: count('Recipients whose message the channel accepted and that did not fail later.'),
  delivered_count: count('Of those, delivered. Includes the messages that were read.'),
  read_count: count('Of those, read.'),
  failed_count: count('Recipients whose message the channel refused or that failed later.'),
  skipped_count: count(
    'Recipients that were not sent to: no usable number, a missing value, opted out, or the broadcast was canceled.',
  ),
  is_paused: Type.Boolean({
    description:
      'No recipient is sent to now. If the channel does not answer, the broadcast continues by itself; otherwise a member resumes it.',
  }),
  paused_reason: NullableText({
    description:
      'The reason, with the time of the next attempt if the channel does not answer. Null when it is not paused or a member paused it.',
  }),
  created_at: DateTime,
  scheduled_at: NullableDateTime,
  started_at: NullableDateTime,
  completed_at: NullableDateTime,
}

const broadcastExample = {
  id: '0199c1d2-af50-7974-99e5-8b1c2d3e4f50',
  name: 'Summer news',
  status: 'sending',
  template: { name: 'order_confirmed', language: 'en_US' },
  segment_id: null,
  total_count: 2,
  pending_count: 2,
  sent_count: 0,
  delivered_count: 0,
  read_count: 0,
  failed_count: 0,
  skipped_count: 0,
  is_paused: false,
  paused_reason: null,
  created_at: '2026-01-08T08:00:00.000Z',
  scheduled_at: null,
  started_at: '2026-01-08T08:00:00.000Z',
  completed_at: null,
}

const BroadcastSchema = Type.Object(broadcastFields, { title: 'Broadcast', examples: [broadcastExample] })

const Recipient = Type.Object(
  {
    to: Type.String({
      maxLength: 500,
      description: 'A phone number. A number without a country code is in the default country of the workspace.',
    }),
    name: Type.Optional(
      Type.String({ maxLength: 500, description: "The contact's name. Replaces the stored name if it is different." }),
    ),
    params: Type.Optional(ParamsSchema),
  },
  { title: 'Recipient' },
)

export const NewBroadcastSchema = Type.Object(
  {
    name: Type.String({ description: '1 to 80 characters.' }),
    template: TemplateSchema,
    recipients: Type.Optional(
      Type.Array(Recipient, {
        minItems: 1,
        maxItems: 1_000,
        description: 'Each number gets one message. The `params` of a recipient replace all `params` of the template.',
      }),
    ),
    segment_id: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'Instead of `recipients`. The members are those at the time when sending starts.',
      }),
    ),
    scheduled_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'The time of the start. Up to 5 minutes in the past means now.',
      }),
    ),
  },
  {
    title: 'NewBroadcast',
    ...inDocument({ oneOf: [{ required: ['recipients'] }, { required: ['segment_id'] }] }),
    examples: [
      {
        name: 'Summer news',
        template: { name: 'order_confirmed', params: ['{{contact.name|there}}', 'A-10042'] },
        recipients: [{ to: '+14155550100' }, { to: '+14155550101', params: ['Grace', 'A-10043'] }],
      },
    ],
  },
)

const CheckedBroadcastSchema = Type.Object(
  {
    recipient_count: Type.Integer({
      description: 'The number of recipients that would be sent to, as far as is known now.',
    }),
    skipped_count: Type.Integer({ description: 'The number of recipients that would be skipped.' }),
  },
  { title: 'CheckedBroadcast', examples: [{ recipient_count: 2, skipped_count: 0 }] },
)

export function readBroadcast(body: Static<typeof NewBroadcastSchema>): NewBroadcast {
  const { name, template, recipients, segment_id, scheduled_at } = body
  return {
    name,
    template: { name: template.name, language: template.language ?? 'en_US', params: readParams(template.params) },
    recipients: recipients?.map((recipient) => ({
      to: recipient.to,
      name: recipient.name,
      params: recipient.params && readParams(recipient.params),
    })),
    segment_id,
    scheduled_at,
  }
}

type BroadcastRoutesOptions = AcceptContext & {
  db: Db
  signals: Signals
}

export const broadcastRoutes =
  ({ signals, ...context }: BroadcastRoutesOptions) =>
  async (app: App) => {
    const config = { scope: 'broadcasts:send' }
    app.post(
      '/broadcasts',
      {
        config: { ...config, failures: [402, 404] },
        schema: {
          operationId: 'createBroadcast',
          summary: 'Send a template to many recipients',
          description:
            'Accepts the broadcast and sends it in the background, at the pace of your number. Values may contain fields of the contact, with a fallback for an empty field: `{{contact.name|there}}`. The fields are `name`, `phone`, `email` and `company`. Recipients without a usable number, with a missing value, or who opted out are skipped.',
          tags,
          body: NewBroadcastSchema,
          response: { 202: DataOf(BroadcastSchema, 'Accepted.') },
        },
      },
      async ({ caller, body, idempotency }, reply) => {
        const { workspaceId, defaultCountry } = caller
        const broadcastCaller = { workspaceId, defaultCountry, subject: idempotency?.subject }
        const broadcast = await acceptBroadcast(context, broadcastCaller, readBroadcast(body))
        signals.broadcastReady()
        reply.code(202)
        return { data: broadcast }
      },
    )
    app.post(
      '/broadcasts/check',
      {
        config: { ...config, failures: [402, 404] },
        schema: {
          operationId: 'checkBroadcast',
          summary: 'Check a broadcast without sending it',
          description:
            'Takes the body of `POST /broadcasts` and applies the same checks: the template with its values, the recipients or the segment, the schedule, the plan. Sends and changes nothing.',
          tags,
          body: NewBroadcastSchema,
          response: { 200: DataOf(CheckedBroadcastSchema, 'The broadcast would be accepted.') },
        },
      },
      async ({ caller: { workspaceId, defaultCountry }, body }) => ({
        data: await checkBroadcast(context, { workspaceId, defaultCountry, subject: undefined }, readBroadcast(body)),
      }),
    )
    app.get(
      '/broadcasts/:id',
      {
        config,
        schema: {
          operationId: 'getBroadcast',
          summary: 'Read a broadcast',
          description: 'The counters are exact. The total is the sum of pending, sent, failed and skipped.',
          tags,
          params: IdParams,
          response: { 200: DataOf(BroadcastSchema) },
        },
      },
      async ({ caller, params }) => ({ data: await requireBroadcast(context.db, caller.workspaceId, params.id) }),
    )
  }
