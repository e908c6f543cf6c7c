/** What callers send about broadcasts, and recipients as they see them. */

import { ParamsSchema } from '../channels/template-schema.ts'
import {
  ForMembers,
  inDocument,
  NullableDateTime,
  NullableText,
  OneOf,
  type Static,
  TrimmedText,
  Type,
} from '../lib/schema.ts'
import { readParams, readTemplate, TemplateSchema } from '../messages/sending/requested-content.ts'
import { maxNameLength, type NewBroadcast, type RecipientInput } from './accept.ts'
import { maxSegments } from './audience.ts'
import type { DraftContent } from './drafts.ts'
import { shownStatuses } from './recipients.ts'

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

const SegmentIds = Type.Array(Type.String({ format: 'uuid' }), { maxItems: maxSegments })

/** Without `segment_ids`: all contacts. */
const AudienceSchema = Type.Object({ segment_ids: SegmentIds, excluded_segment_ids: SegmentIds })

export const NewBroadcastSchema = Type.Object(
  {
    name: TrimmedText(maxNameLength),
    template: TemplateSchema,
    from: Type.Optional(
      Type.String({
        maxLength: 100,
        description:
          'The number that sends it: its connection id, or the number itself. Without it the default number.',
      }),
    ),
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
    audience: ForMembers(AudienceSchema),
    scheduled_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'The time of the start. Up to 5 minutes in the past means now.',
      }),
    ),
    draft: Type.Optional(
      Type.Boolean({
        description:
          'True creates a draft. Add recipients with `POST /broadcasts/{id}/recipients`, then start it. Needs neither ' +
          '`recipients` nor `segment_id`. A draft is deleted after 30 days; a workspace has at most 1,000.',
      }),
    ),
  },
  {
    title: 'NewBroadcast',
    ...inDocument({
      oneOf: [
        { required: ['recipients'] },
        { required: ['segment_id'] },
        // Not `enum: [true]`: the Java client of openapi-generator does not compile with it.
        { required: ['draft'], properties: { recipients: { not: {} }, segment_id: { not: {} } } },
      ],
    }),
    examples: [
      {
        name: 'Summer news',
        template: { name: 'order_confirmed', params: ['{{contact.name|there}}', 'A-10042'], contact_fields: true },
        recipients: [{ to: '+14155550100' }, { to: '+14155550101', params: ['Grace', 'A-10043'] }],
      },
    ],
  },
)

export const CheckedBroadcastSchema = Type.Object(
  {
    recipient_count: Type.Integer({
      description: 'The number of recipients that would be sent to, as far as is known now.',
    }),
    skipped_count: Type.Integer({ description: 'The number of recipients that would be skipped.' }),
  },
  { title: 'CheckedBroadcast', examples: [{ recipient_count: 2, skipped_count: 0 }] },
)

export const NewRecipients = Type.Object(
  { recipients: Type.Array(Recipient, { minItems: 1, maxItems: 1_000 }) },
  {
    title: 'NewRecipients',
    examples: [
      {
        recipients: [
          { to: '+14155550100', params: ['Ada', 'A-10042'] },
          { to: '+14155550101', params: ['Grace', 'A-10043'] },
        ],
      },
    ],
  },
)

export const AddedRecipients = Type.Object(
  {
    added: Type.Integer({ description: 'The number of recipients that were added.' }),
    skipped: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'The position in the request, from 0.' }),
        reason: Type.String({
          description: 'Not a phone number, a missing value, or a number that the draft has already.',
        }),
      }),
    ),
  },
  {
    title: 'AddedRecipients',
    examples: [{ added: 1, skipped: [{ index: 1, reason: 'the number is in the broadcast already' }] }],
  },
)

export const RecipientView = Type.Object(
  {
    to: NullableText({
      description: 'The phone number; null for a contact without one, and after the contact was erased.',
    }),
    contact_id: NullableText({ format: 'uuid', description: 'Null until the contact exists.' }),
    status: OneOf(shownStatuses),
    reason: NullableText({ description: 'Why the recipient was skipped or the message failed.' }),
    message_id: NullableText({ format: 'uuid', description: 'Null until the message exists.' }),
    place: ForMembers(Type.Integer()),
    phone: ForMembers(NullableText()),
    username: ForMembers(NullableText()),
    name: ForMembers(NullableText()),
    conversation_id: ForMembers(NullableText({ format: 'uuid' })),
  },
  {
    title: 'BroadcastRecipient',
    examples: [
      {
        to: '+14155550100',
        contact_id: '0199c1d2-7b10-7a33-8c44-5d6e7f8a9b0c',
        status: 'delivered',
        reason: null,
        message_id: '0199c1d2-b061-7f22-9d33-1a2b3c4d5e6f',
      },
    ],
  },
)

/** A member may name an audience, and template values may have contact fields if a member's request does not say it. */
export function readBroadcast(body: Static<typeof NewBroadcastSchema>, isMember = false): NewBroadcast {
  const { name, template, from, recipients, segment_id, audience, scheduled_at, draft } = body
  return {
    name,
    from,
    template: readTemplate(template, isMember),
    recipients: recipients?.map(readRecipient),
    segment_id,
    // The schema of the public API does not have the field, but a request may.
    audience: isMember ? audience : undefined,
    scheduled_at,
    draft,
  }
}

/** A member's draft, as far as it is written. */
export const DraftSchema = Type.Object({
  name: Type.Optional(Type.String({ maxLength: maxNameLength })),
  template: Type.Optional(TemplateSchema),
  from: Type.Optional(NullableText({ format: 'uuid' })),
  recipients: Type.Optional(Type.Array(Recipient, { maxItems: 1_000 })),
  audience: Type.Optional(AudienceSchema),
  scheduled_at: Type.Optional(NullableDateTime),
})

export const readDraft = ({ template, recipients, ...rest }: Static<typeof DraftSchema>): DraftContent => ({
  ...rest,
  template: template && readTemplate(template, true),
  recipients: recipients?.map(readRecipient),
})

export const readRecipient = ({ to, name, params }: Static<typeof Recipient>): RecipientInput => ({
  to,
  name,
  params: params && readParams(params),
})
