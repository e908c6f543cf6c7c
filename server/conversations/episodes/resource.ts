/** The episode: its schema with the SQL of its fields, and what a conversation shows of its open one. */

import { type Fragment, isoTime, type Sql } from '../../lib/postgres/db.ts'
import { Column, resource } from '../../lib/resource.ts'
import {
  DateTime,
  NullableDateTime,
  NullableInteger,
  NullableObject,
  NullableText,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../../lib/schema.ts'
import { LabelSchema } from '../labels.ts'
import { closers, openers } from './writing.ts'

const NullableUuid = (description: string) => NullableText({ format: 'uuid', description })
const NullableTime = (description: string) => NullableText({ format: 'date-time', description })

const openedAt = 'When its first message was stored.'
const openedBy = OneOf(openers, { description: 'Whose message opened it.' })
const firstAssignedAt = NullableTime(
  'When it was first assigned to a member. The time of the opening if the conversation was assigned then.',
)
const firstReplyAt = NullableTime(
  'When a member first replied. Messages of automations, broadcasts and API keys are no reply. The time of the opening if a member opened it.',
)
const firstReplyBy = NullableUuid(
  "The member who first replied. Null without a reply, and for one from the provider's own app.",
)
const replies = Type.Integer({ description: 'Replies of members.' })
const customerMessages = Type.Integer({ description: 'Messages of the customer.' })
const reopenedFrom = NullableUuid('The episode before, if it closed less than 24 hours before this one opened.')

/** Column of an open episode `e` that its conversation `v` has. */
const whileOpen = (name: string, ofConversation: string) => (sql: Sql) =>
  sql.unsafe(`case when e.closed_at is null then coalesce(v.${ofConversation}, e.${name}) else e.${name} end`)

export const EpisodeSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'In general the id of the message that opened it.' }),
    conversation_id: Uuid,
    connection_id: NullableUuid('The number, social account or site.'),
    opened_at: Type.String({ format: 'date-time', description: openedAt }),
    opened_by: openedBy,
    first_assigned_at: firstAssignedAt,
    first_reply_at: firstReplyAt,
    first_reply_by: firstReplyBy,
    replies: Column(replies, whileOpen('replies', 'episode_replies')),
    customer_messages: Column(customerMessages, whileOpen('customer_messages', 'episode_messages')),
    closed_at: NullableTime('Null while it is open.'),
    closed_by: Type.Unsafe<(typeof closers)[number] | null>({
      type: ['string', 'null'],
      enum: [...closers, null],
      description:
        '`silence`: an automation that waits for silence. `block`: a member blocked the contact. Null while it is open, and for closings before episodes were recorded if the timeline does not say it.',
    }),
    closed_by_id: NullableUuid('The member, the API key or the run of the automation that closed it.'),
    reopened_from: reopenedFrom,
    team_id: Column(
      NullableUuid('The team of the conversation: now, or when the episode closed.'),
      (sql) => sql`case when e.closed_at is null then v.team_id else e.team_id end`,
    ),
    member_id: Column(
      NullableUuid('The member to whom the conversation is assigned: now, or when the episode closed.'),
      (sql) => sql`case when e.closed_at is null then v.assigned_agent_id else e.member_id end`,
    ),
    labels: Column(
      Type.Array(LabelSchema, {
        description: 'Of the conversation: now, or when the episode closed, without labels that were deleted. By name.',
      }),
      (sql) => sql`coalesce((
        select json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) order by l.name_key)
        from labels l
        where l.workspace_id = e.workspace_id and l.id = any(case when e.closed_at is not null then e.labels else array(
          select cl.label_id from conversation_labels cl
          where cl.workspace_id = e.workspace_id and cl.conversation_id = e.conversation_id
        ) end)
      ), '[]')`,
    ),
    office_first_reply_s: Type.Unsafe<number | null>({
      ...NullableInteger,
      description: 'Seconds in office hours from the opening to the first reply. Computed within a minute.',
    }),
    office_closing_s: Type.Unsafe<number | null>({
      ...NullableInteger,
      description: 'Seconds in office hours from the opening to the closing. Computed within a minute.',
    }),
    updated_at: Type.String({
      format: 'date-time',
      description:
        'When a field of the episode changed. Counts, team, member and labels of an open episode do not change it; its closing does.',
    }),
  },
  {
    title: 'Episode',
    examples: [
      {
        id: '0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d5',
        conversation_id: '0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d4',
        connection_id: '0199c1d2-7a10-7c31-8e02-4d5e6f708192',
        opened_at: '2026-01-07T11:15:30.000Z',
        opened_by: 'customer',
        first_assigned_at: '2026-01-07T11:16:00.000Z',
        first_reply_at: '2026-01-07T11:18:30.000Z',
        first_reply_by: '0199c1d2-6b10-7a31-8e02-4d5e6f708192',
        replies: 2,
        customer_messages: 3,
        closed_at: '2026-01-07T11:40:00.000Z',
        closed_by: 'member',
        closed_by_id: '0199c1d2-6b10-7a31-8e02-4d5e6f708192',
        reopened_from: null,
        team_id: null,
        member_id: '0199c1d2-6b10-7a31-8e02-4d5e6f708192',
        labels: [{ id: '0199c1d2-9f42-7d61-8a05-1b2c3d4e5f60', name: 'Delivery', color: '#2563eb' }],
        office_first_reply_s: 180,
        office_closing_s: 1470,
        updated_at: '2026-01-07T11:40:00.000Z',
      },
    ],
  },
)

export type Episode = Static<typeof EpisodeSchema>

/** The fields of episode `e`, with its conversation `v`. */
export const episode = resource('e', EpisodeSchema)

/** The field `episode` of conversation `v`. */
export const OpenEpisode = Column(
  NullableObject(
    {
      id: Uuid,
      opened_at: DateTime,
      opened_by: openedBy,
      first_assigned_at: NullableDateTime,
      first_reply_at: NullableDateTime,
      first_reply_by: NullableText({ format: 'uuid' }),
      replies,
      customer_messages: customerMessages,
      reopened_from: NullableText({ format: 'uuid' }),
    },
    { description: 'The open episode: the work since its first message. Null when there is none (`GET /episodes`).' },
  ),
  openEpisode,
)

function openEpisode(sql: Sql): Fragment {
  return sql`case when v.episode_id is not null then (
    select json_build_object('id', e.id, 'opened_at', ${isoTime(sql, sql`e.opened_at`)}, 'opened_by', e.opened_by,
      'first_assigned_at', ${isoTime(sql, sql`e.first_assigned_at`)}, 'first_reply_at', ${isoTime(sql, sql`e.first_reply_at`)},
      'first_reply_by', e.first_reply_by, 'replies', v.episode_replies, 'customer_messages', v.episode_messages,
      'reopened_from', e.reopened_from)
    from episodes e
    where e.workspace_id = v.workspace_id and e.id = v.episode_id
  ) end`
}
