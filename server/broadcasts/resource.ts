/** The broadcast: its schema with the SQL of its fields. */
import { memberName } from '../accounts/members.ts'
import type { TemplateParams } from '../channels/channel.ts'
import { StructuredParams } from '../channels/template-schema.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { Column, Joined, resource } from '../lib/resource.ts'
import {
  DateTime,
  ForMembers,
  NullableDateTime,
  NullableObject,
  NullableText,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { Audience } from './audience.ts'
import { sumCounts } from './counts.ts'
import { senderOf } from './pace.ts'

export const broadcastStatuses = ['draft', 'scheduled', 'sending', 'sent', 'canceled'] as const
export type BroadcastStatus = (typeof broadcastStatuses)[number]

/** Condition: all recipients of broadcast `b` with sums `n` have an outcome. */
export const isDone = (sql: Sql): Fragment => sql`(b.is_filled and b.started_at is not null and n.pending_count = 0)`

/** Condition: broadcast `b` has no pending recipient and gets no more. */
export const isOver = (sql: Sql): Fragment =>
  sql`(b.status = 'sending' and ${isDone(sql)} or b.status = 'canceled' and n.pending_count = 0)`

/** The time of the last outcome. */
export const doneAt = (sql: Sql): Fragment => sql`coalesce(greatest(n.settled_at, b.started_at), b.started_at)`

/**
 * From-items: broadcast `b`, its sums `n`, the number of recipients that wait for a retry `q`, and the circuit breaker `h`,
 * which is null unless it keeps the broadcast waiting.
 */
export const broadcastTables = (sql: Sql): Fragment => sql`
  broadcasts b
  cross join lateral (${sumCounts(sql)}) n
  cross join lateral (
    select count(*)::int as retry_count
    from broadcast_recipients r
    where b.completed_at is null and r.workspace_id = b.workspace_id and r.broadcast_id = b.id and r.retry_at is not null
  ) q
  left join lateral (
    select p.breaker_reason as error, case p.breaker_state when 'open' then p.breaker_until end as next_attempt_at,
      format('The channel is not answering (%s). %s', p.breaker_reason,
      case p.breaker_state when 'half_open' then 'An attempt is in flight.'
        else format('Next attempt at %s.', to_char(p.breaker_until at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
      end) as reason
    from broadcast_paces p
    where b.status = 'sending' and not b.is_paused and p.workspace_id = b.workspace_id
      and p.connection_id = ${senderOf(sql)} and p.breaker_state <> 'closed'
      and (b.position < b.filled_count or not b.is_filled or q.retry_count > 0)
    limit 1
  ) h on true`

/** Condition on those tables: no recipient is handed over now. */
export const isPaused = (sql: Sql): Fragment => sql`(b.is_paused or h.error is not null)`

/** The number of recipients with a status. */
const count = (description: string) => Joined('n', Type.Integer({ description }))

const broadcastFields = {
  id: Uuid,
  name: Type.String({ description: 'Can be empty in a draft of a member.' }),
  status: Column(
    OneOf(broadcastStatuses, {
      description: '`draft` until it is started; `sent` when no recipient is pending.',
    }),
    (sql) => sql`case when b.status = 'sending' and ${isDone(sql)} then 'sent' else b.status end`,
  ),
  template: Column(
    Type.Object({ name: Type.String(), language: Type.String() }),
    (sql) => sql`json_build_object('name', b.template_name, 'language', b.template_language)`,
  ),
  connection_id: Column(
    NullableText({ format: 'uuid', description: 'The number that sends it. Null when the workspace has none.' }),
    senderOf,
  ),
  segment_id: NullableText({ format: 'uuid' }),
  total_count: Type.Integer({
    description: 'All recipients, each number once; 0 for a segment until sending starts.',
  }),
  pending_count: count('Recipients that were not sent to yet or have no outcome yet.'),
  sent_count: count('Recipients whose message the channel accepted and that did not fail later.'),
  delivered_count: count('Of those, delivered. Includes the messages that were read.'),
  read_count: count('Of those, read.'),
  failed_count: count('Recipients whose message the channel refused or that failed later.'),
  skipped_count: count(
    'Recipients that were not sent to: no usable number, a missing value, opted out, or the broadcast was canceled.',
  ),
  is_paused: Column(
    Type.Boolean({
      description:
        'No recipient is sent to now. If the channel does not answer, the broadcast continues by itself; otherwise a member resumes it.',
    }),
    isPaused,
  ),
  paused_reason: Column(
    NullableText({
      description:
        'The reason, with the time of the next attempt if the channel does not answer. Null when it is not paused or a member paused it.',
    }),
    (sql) => sql`coalesce(b.pause_reason, h.reason)`,
  ),
  created_at: DateTime,
  scheduled_at: NullableDateTime,
  started_at: NullableDateTime,
  completed_at: Column(
    NullableDateTime,
    (sql) => sql`coalesce(b.completed_at, case when ${isOver(sql)} then ${doneAt(sql)} end)`,
  ),
  params: ForMembers(Type.Unsafe<TemplateParams>(StructuredParams)),
  /** The last failure, while the circuit breaker is open. */
  channel_error: ForMembers(Column(NullableText(), (sql) => sql`h.error`)),
  /** The time of the next probe; null while one is in flight. */
  next_attempt_at: ForMembers(Joined('h', NullableDateTime)),
  /** Handed over but not confirmed by the channel; 0 while a segment is still filling. */
  awaiting_count: ForMembers(
    Column(
      Type.Integer(),
      (sql) => sql`case
        when b.completed_at is not null or b.started_at is null or not b.is_filled then 0
        when b.status = 'canceled' then greatest(0, n.pending_count - (b.filled_count - b.position))
        else greatest(0, n.pending_count - b.reserved_count - q.retry_count)
      end`,
    ),
  ),
  /**
   * Recipients who wrote or tapped a button within 72 hours of the delivery. A message counts for the broadcast that it quotes,
   * otherwise for the last one sent to the contact.
   */
  replied_count: ForMembers(Joined('n', Type.Integer())),
  /** Of those, recipients who tapped a quick-reply button of the message. */
  tapped_count: ForMembers(Joined('n', Type.Integer())),
  /** Recipients who opted out of broadcasts within 72 hours of the delivery. */
  opted_out_count: ForMembers(Joined('n', Type.Integer())),
  cancel_reason: ForMembers(NullableText()),
  /** The broadcast to the recipients that this one did not reach. */
  again_id: ForMembers(NullableText({ format: 'uuid' })),
  /** Null for a list and for one segment, which is in `segment_id`. */
  audience: ForMembers(NullableObject({ segment_ids: Type.Array(Uuid), excluded_segment_ids: Type.Array(Uuid) })),
  author: ForMembers(
    Column(
      NullableObject({ id: Uuid, name: NullableText() }),
      (sql) => sql`(
        select json_build_object('id', m.id, 'name', ${memberName(sql, sql`m`)})
        from members m where m.workspace_id = b.workspace_id and m.id = b.author_id
      )`,
    ),
  ),
  /** When a member last saved the draft. Null: it is no draft of a member. */
  saved_at: ForMembers(NullableDateTime),
}

const broadcastExample = {
  id: '0199c1d2-af50-7974-99e5-8b1c2d3e4f50',
  name: 'Summer news',
  status: 'sending',
  template: { name: 'order_confirmed', language: 'en_US' },
  connection_id: '0199c1d2-7a10-7c31-8e02-4d5e6f708192',
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

export const BroadcastSchema = Type.Object(broadcastFields, { title: 'Broadcast', examples: [broadcastExample] })

/** `contact_fields`: contact fields in values are filled. `is_filled`: all recipients are rows, as those of a list always are. */
export type Broadcast = Required<Static<typeof BroadcastSchema>> & {
  contact_fields: boolean
  is_filled: boolean
  audience: Audience | null
}

const broadcast = resource('b', BroadcastSchema)

/** The fields of a broadcast in `broadcastTables`. */
export const broadcastColumns = (sql: Sql): Fragment => sql`${broadcast.columns(sql)}, b.contact_fields, b.is_filled`
