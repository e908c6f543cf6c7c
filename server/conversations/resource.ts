/** The conversation: its schema with the SQL of its fields. */
import { contentTypes } from '../channels/channel.ts'
import { EmbeddedConnection, embeddedConnectionExample } from '../channels/resource.ts'
import { channels, contactExample } from '../contacts/resource.ts'
import { TagList } from '../contacts/tags.ts'
import { Column, Joined, NoColumn, resource } from '../lib/resource.ts'
import {
  DateTime,
  ForMembers,
  NullableDateTime,
  NullableObject,
  NullableText,
  OneOf,
  type Static,
  Type,
  toPublic,
  Uuid,
} from '../lib/schema.ts'
import { EmbeddedTeam } from '../teams/resource.ts'
import { OpenEpisode } from './episodes/resource.ts'
import { dueOf, handlers, receivedAt, statuses } from './filter-fields.ts'
import { LabelList } from './labels.ts'

const EmbeddedContact = Type.Object(
  {
    id: Uuid,
    phone: NullableText(),
    social_username: NullableText(),
    username: ForMembers(NullableText({ description: 'The username on the primary channel.' })),
    name: NullableText(),
    email: NullableText(),
    company: NullableText(),
    tags: TagList,
  },
  { title: 'EmbeddedContact' },
)

const embeddedExample = {
  id: contactExample.id,
  phone: contactExample.phone,
  social_username: contactExample.social_username,
  name: contactExample.name,
  email: contactExample.email,
  company: contactExample.company,
  tags: contactExample.tags,
}
export const conversationExample = {
  id: '0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d4',
  channel: 'msgapp',
  connection: embeddedConnectionExample,
  contact_id: contactExample.id,
  status: 'open',
  assigned_agent_id: null,
  assigned_team_id: null,
  last_message_text: 'Is my order on its way?',
  last_message_at: '2026-01-07T11:15:30.000Z',
  last_inbound_at: '2026-01-07T11:15:30.000Z',
  unread_count: 1,
  handled_by: 'team',
  labels: [{ id: '0199c1d2-9f42-7d61-8a05-1b2c3d4e5f60', name: 'Delivery', color: '#2563eb' }],
  episode: {
    id: '0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d5',
    opened_at: '2026-01-07T11:15:30.000Z',
    opened_by: 'customer',
    first_assigned_at: null,
    first_reply_at: null,
    first_reply_by: null,
    replies: 0,
    customer_messages: 1,
    reopened_from: null,
  },
  snoozed_until: null,
  created_at: '2026-01-07T11:15:30.000Z',
  updated_at: '2026-01-07T11:15:30.000Z',
  contact: embeddedExample,
}

/** The newest message; while the customer waits, the newest that no program sent. */
const LastMessage = NullableObject({
  direction: OneOf(['inbound', 'outbound']),
  content_type: OneOf(contentTypes),
  /** The channel's type of an `unsupported` message: `order`, `call`, `ig_reel`. */
  content_kind: NullableText(),
  /** The newest one that was not refused is `last_message_text`. */
  content_text: NullableText(),
  status: OneOf(['received', 'pending', 'sent', 'failed', 'delivered', 'read']),
  created_at: DateTime,
  /** The member who wrote it. */
  sender: NullableObject({ id: Uuid, name: Type.String() }),
  /** What sent it without a member. Such a message does not move the conversation. */
  automated_by: Type.Unsafe<'api' | 'broadcast' | 'automation' | null>({
    ...{ type: ['string', 'null'], enum: ['api', 'broadcast', 'automation', null] },
  }),
})

export const ConversationSchema = Type.Object(
  {
    id: Uuid,
    channel: OneOf(channels),
    connection: Column(
      NullableObject(EmbeddedConnection, { description: 'The number, social account or site. Replies leave from it.' }),
      (sql) => sql`(
        select row_to_json(k) from (
          select k.id, k.name, k.address from channel_connections k
          where k.workspace_id = v.workspace_id and k.id = v.connection_id
        ) k
      )`,
    ),
    contact_id: Uuid,
    status: OneOf(statuses),
    assigned_agent_id: NullableText({ format: 'uuid', description: 'The member it is assigned to.' }),
    assigned_team_id: Column(
      NullableText({
        format: 'uuid',
        description: 'The team it is assigned to, with or without a member (`GET /teams`).',
      }),
      (sql) => sql`v.team_id`,
    ),
    last_message_text: NullableText(),
    last_message_at: NullableDateTime,
    last_inbound_at: Column(
      NullableText({
        format: 'date-time',
        description:
          'When the service received the last message of the customer. The 24-hour window starts at the time that the channel gives for it, which can be earlier.',
      }),
      receivedAt,
    ),
    unread_count: Type.Integer({
      description:
        'Messages of the customer since a member read the conversation or replied in it. At least 1 after a member marked it as unread. Messages of a blocked contact do not count.',
    }),
    handled_by: Column(
      OneOf(handlers, {
        description:
          '`bot` while an automation waits for an answer of the customer or is about to ask. Otherwise `team`.',
      }),
      (sql) => sql`case when v.bot_run_id is null then 'team' else 'bot' end`,
    ),
    labels: LabelList,
    episode: OpenEpisode,
    snoozed_until: NullableText({
      format: 'date-time',
      description: 'The status is `pending` until then. Null when the conversation is not snoozed.',
    }),
    created_at: DateTime,
    updated_at: DateTime,
    contact: Joined('c', EmbeddedContact),
    window_closes_at: ForMembers(
      NoColumn(
        NullableText({
          format: 'date-time',
          description:
            'Until then free-form messages can be sent. Null when the channel has no window (web) or the customer has not written yet.',
        }),
      ),
    ),
    late_window_closes_at: ForMembers(
      NoColumn(
        NullableText({
          format: 'date-time',
          description:
            'Until then a member may still reply, if the channel gives members a longer window than programs (social).',
        }),
      ),
    ),
    inbox_at: ForMembers(
      NullableText({
        format: 'date-time',
        description:
          'The last message of the customer or reply of a member. Null: only automated messages so far, so it is not in the inbox.',
      }),
    ),
    waiting_since: ForMembers(
      Column(
        NullableText({
          format: 'date-time',
          description: 'The first message of the customer without a reply of a member.',
        }),
        (sql) => sql`case when v.status <> 'closed' then v.waiting_since end`,
      ),
    ),
    due_at: ForMembers(
      Column(
        NullableText({
          format: 'date-time',
          description: 'When the time of a target runs out, or ran out: the earliest one. Null while no clock runs.',
        }),
        dueOf,
      ),
    ),
    due_kind: ForMembers(
      Column(
        NullableText({ enum: ['first_reply', 'next_reply', 'closing', null], description: 'What is due then.' }),
        (sql) => sql`case when ${dueOf(sql)} is not null then v.due_kind end`,
      ),
    ),
    blocked_at: ForMembers(
      NullableText({
        format: 'date-time',
        description:
          'When a member blocked the contact on this channel. Later messages are stored, but do not reopen the conversation.',
      }),
    ),
    is_channel_blocked: ForMembers(
      Type.Boolean({ description: 'The channel blocks the contact too and passes on no messages.' }),
    ),
    assigned_agent: ForMembers(
      Column(
        NullableObject({ id: Uuid, name: NullableText(), email: Type.String() }),
        (sql) => sql`
          case when a.id is not null then json_build_object('id', a.id, 'name', a.name, 'email', a.email) end`,
      ),
    ),
    assigned_team: ForMembers(
      Column(
        NullableObject(EmbeddedTeam),
        (sql) => sql`(
          select json_build_object('id', t.id, 'name', t.name, 'color', t.color) from teams t
          where t.workspace_id = v.workspace_id and t.id = v.team_id
        )`,
      ),
    ),
    last_message: ForMembers(NoColumn(LastMessage)),
  },
  { title: 'Conversation', examples: [conversationExample] },
)

export type Conversation = Static<typeof ConversationSchema>
/** A conversation as members see it. */
export type InboxRow = Required<Conversation>

/** The fields of conversation `v` with contact `c` that all callers see. */
export const publicConversation = resource('v', toPublic(ConversationSchema))
/** With those that only members see; `a` is the assigned member. */
export const memberConversation = resource('v', ConversationSchema)

/** The public fields with the contact as members see it. Without the title of the resource, which has more fields for members. */
export const FoundConversation = Type.Object({
  ...toPublic(ConversationSchema).properties,
  contact: ConversationSchema.properties.contact,
})
export const foundConversation = resource('v', FoundConversation)
