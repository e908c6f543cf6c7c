/**
 * The message: its schema with the SQL of its fields.
 *
 * A stored status only moves up: pending, sent, failed, delivered, read. The channel reports in any order and more than
 * once. `delivered` ranks above `failed` because a delivered message did not fail.
 */
import { contentTypes } from '../channels/channel.ts'
import { conversationExample } from '../conversations/resource.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { Column, resource, StatementColumn } from '../lib/resource.ts'
import {
  DateTime,
  NullableDateTime,
  NullableObject,
  NullableText,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../lib/schema.ts'

export const directions = ['inbound', 'outbound'] as const
const senderTypes = ['customer', 'agent', 'bot'] as const
/** In order of rank. Inbound messages have only `received`. */
export const messageStatuses = ['received', 'pending', 'sent', 'failed', 'delivered', 'read'] as const
export type MessageStatus = (typeof messageStatuses)[number]

export const messageFields = {
  id: Uuid,
  conversation_id: Uuid,
  direction: OneOf(directions),
  sender_type: OneOf(senderTypes, { description: '`agent` is a member or the API, `bot` is a broadcast.' }),
  content_type: OneOf(contentTypes),
  content_text: NullableText({ description: 'The text, the caption, the title of a tapped button, an emoji.' }),
  content: Column(
    Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description:
        'Structured content in the format of the channel: an order, a form response, contact cards, coordinates, a referral, a shared link. For a message that you sent: `interactive` or `location`, as in the request. Otherwise null.',
    }),
    // The content of a template is our rendering and may contain media ids of the channel.
    (sql) => sql`case when m.content_type <> 'template' then m.content end`,
  ),
  media_url: StatementColumn(
    NullableText({ format: 'uri', description: 'Null until the media of a customer has been fetched.' }),
  ),
  template_name: NullableText(),
  broadcast_id: NullableText({ format: 'uuid', description: 'The broadcast that sent it.' }),
  msgapp_message_id: StatementColumn(
    NullableText({ description: "The primary channel's id of the message; delivery events refer to it." }),
  ),
  message_id: StatementColumn(
    Type.String({ description: "The channel's id of the message if there is one, otherwise our id." }),
  ),
  status: OneOf(messageStatuses, {
    description: '`received` for inbound messages. Outbound messages start as `pending`.',
  }),
  error: StatementColumn(
    NullableObject(
      {
        code: Type.String({ description: "The channel's error code, or `platform_error` if it sent none." }),
        message: Type.String({ description: 'A readable explanation; may change.' }),
      },
      { description: 'Why the message failed; null while its status is not `failed`.' },
    ),
  ),
  reply_to_message_id: NullableText({ format: 'uuid' }),
  interactive_reply_id: NullableText({ description: 'The id of the tapped button or row.' }),
  deleted_at: NullableDateTime,
  created_at: DateTime,
}

export const messageExample = {
  id: '0199c1d2-9e40-7a63-88d4-7a0b1c2d3e4f',
  conversation_id: conversationExample.id,
  direction: 'outbound',
  sender_type: 'agent',
  content_type: 'text',
  content_text: 'It left this morning.',
  content: null,
  media_url: null,
  template_name: null,
  broadcast_id: null,
  msgapp_message_id: 'wamid.HBgLMTQxNTU1NTAxMDAVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA',
  message_id: 'wamid.HBgLMTQxNTU1NTAxMDAVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA',
  status: 'delivered',
  error: null,
  reply_to_message_id: null,
  interactive_reply_id: null,
  deleted_at: null,
  created_at: '2026-01-07T11:16:00.000Z',
}

export const MessageSchema = Type.Object(messageFields, { title: 'Message', examples: [messageExample] })
export type Message = Static<typeof MessageSchema>

const message = resource('m', MessageSchema)

/**
 * The fields of message `m` as the API and events show them. `channel` is an expression, because a statement may read
 * messages of several channels.
 */
export const messageColumns = (sql: Sql, channel: Fragment, publicUrl: string): Fragment =>
  message.jsonColumns(sql, valuesOf(sql, channel, publicUrl))

/**
 * The same as a JSON object. A statement that changes messages passes their new `status` and `error`, because it reads rows as they
 * were before it.
 */
export const messageJson = (sql: Sql, channel: Fragment, publicUrl: string, after?: StatusAfter): Fragment =>
  message.json(sql, valuesOf(sql, channel, publicUrl, after))

/** The columns of a relation that takes the place of `messages m`. */
export const storedMessage = (sql: Sql): Fragment =>
  sql`${message.storedColumns(sql)}, m.sender_id, m.run_id, m.content, m.media_url, m.external_id, m.error`

type StatusAfter = { status: Fragment; error: Fragment }

function valuesOf(
  sql: Sql,
  channel: Fragment,
  publicUrl: string,
  { status, error }: StatusAfter = { status: sql`m.status`, error: sql`m.error` },
) {
  return {
    // One that begins with a slash is a path of our own media.
    media_url: sql`case when m.media_url like '/%' then ${publicUrl}::text || m.media_url else m.media_url end`,
    msgapp_message_id: sql`case when ${channel} = 'msgapp' then m.external_id end`,
    message_id: sql`case when ${channel} = 'web' then m.id::text else coalesce(m.external_id, m.id::text) end`,
    status,
    error: sql`case when ${status} = 'failed' then ${errorJson(sql, error)} end`,
  }
}

/** An error is stored as `code: text`, as a text, or as a code. */
const errorJson = (sql: Sql, error: Fragment): Fragment => sql`json_build_object(
  'code', coalesce(substring(${error} from '^(\\d{1,9})(?:: |$)'), 'platform_error'),
  'message', coalesce(
    nullif(regexp_replace(${error}, '^\\d{1,9}(: |$)', ''), ''),
    'the channel reported error ' || ${error},
    'the channel gave no reason'
  )
)`
