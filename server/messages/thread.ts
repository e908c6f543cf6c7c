/** The messages of a conversation as members see them: with the author, the file, the quoted message and the error reason. */
import { idempotencyKeyOf } from '../accounts/idempotency.ts'
import { memberName } from '../accounts/members.ts'
import { type Channel, contentTypes } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { notFound } from '../lib/errors.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { NullableInteger, NullableObject, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import { allColumns, type MessageDetails, pageOfMessages, requireChannelOf } from './messages.ts'
import { directions, type Message, messageFields } from './resource.ts'

/** Unlike API clients, members see the stored error and content. */
export const MemberMessageSchema = Type.Object(
  {
    ...messageFields,
    error: NullableText({ description: "The channel's error code and text." }),
    error_reason: NullableText({ description: 'Why it failed, as one readable sentence.' }),
    sender_id: NullableText(),
    sender: NullableObject({ id: Uuid, name: Type.String() }, { description: 'The member who wrote it.' }),
    run_id: NullableText({ format: 'uuid', description: 'The run of an automation that sent it.' }),
    content: Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'], additionalProperties: true }),
    media: NullableObject(
      {
        mime_type: NullableText(),
        filename: NullableText(),
        size_bytes: NullableInteger,
        state: OneOf(['pending', 'stored', 'failed']),
      },
      { description: 'Its file, if we store one.' },
    ),
    reply_to: NullableObject(
      {
        id: Uuid,
        direction: OneOf(directions),
        content_type: OneOf(contentTypes),
        content_text: NullableText(),
      },
      { description: 'The quoted message, with its text cut to 200 characters.' },
    ),
    idempotency_key: NullableText({ description: 'Of the request of a member that sent it, for a day.' }),
  },
  { title: 'MemberMessage' },
)
type MemberMessage = Static<typeof MemberMessageSchema>

export type ThreadContext = { publicUrl: string; channels: Record<ChannelName, Pick<Channel, 'explainError'>> }

/** A page, newest first. 404 when the workspace does not have the conversation. */
export async function listThread(
  sql: Sql,
  workspaceId: string,
  context: ThreadContext,
  conversationId: string,
  { limit, before }: Position,
): Promise<Page<MemberMessage>> {
  const channel = await requireChannelOf(sql, workspaceId, conversationId)
  const range = sql`m.conversation_id = ${conversationId} and m.id < ${before}`
  const { messages, foundCount } = await readThread(sql, workspaceId, context, channel, range, limit)
  return toPage(messages, limit, foundCount)
}

/** Found by its id alone: merging two contacts moves a message to another conversation. */
export async function requireMemberMessage(
  sql: Sql,
  workspaceId: string,
  context: ThreadContext,
  { channel, id }: { channel: ChannelName; id: string },
): Promise<MemberMessage> {
  const { messages } = await readThread(sql, workspaceId, context, channel, sql`m.id = ${id}`, 1)
  const [message] = messages
  // The contact was erased after the message was sent.
  if (!message) throw notFound('conversation')
  return message
}

/** Characters of a quoted message that are shown. */
const quotedLength = 200

async function readThread(
  sql: Sql,
  workspaceId: string,
  { publicUrl, channels }: ThreadContext,
  channel: ChannelName,
  range: Fragment,
  limit: number,
): Promise<{ messages: MemberMessage[]; foundCount: number }> {
  type Row = Message &
    MessageDetails &
    Pick<MemberMessage, 'sender' | 'run_id' | 'media' | 'reply_to' | 'idempotency_key'> & { found_count: number }
  const path = sql`'/app/api/conversations/' || m.conversation_id::text || '/messages'`
  const rows = await sql<Row[]>`
    select ${allColumns(sql, channel, publicUrl)}, m.run_id, m.found_count,
      (
        select json_build_object('id', a.id, 'name', ${memberName(sql, sql`a`)})
        from members a where a.workspace_id = ${workspaceId} and a.id = m.sender_id
      ) as sender,
      coalesce((
        select json_build_object('mime_type', f.mime_type, 'filename', f.filename, 'size_bytes', f.size_bytes,
          'state', f.state)
        from media f
        where f.workspace_id = ${workspaceId} and f.conversation_id = m.conversation_id and f.message_id = m.id
        limit 1
      ), case when m.media_url like '/media/%' then (
        select json_build_object('mime_type', u.mime_type, 'filename', u.filename, 'size_bytes', u.size_bytes,
          'state', 'stored')
        from uploads u
        where u.workspace_id = ${workspaceId} and u.token = split_part(m.media_url, '/', 3)
      ) end) as media,
      (
        select json_build_object('id', q.id, 'direction', q.direction, 'content_type', q.content_type,
          'content_text', left(q.content_text, ${quotedLength}))
        from messages q
        where q.workspace_id = ${workspaceId} and q.conversation_id = m.conversation_id and q.id = m.reply_to_message_id
      ) as reply_to,
      case when m.sender_id is not null
        then ${idempotencyKeyOf(sql, workspaceId, path, sql`m.id`)} end as idempotency_key
    from ${pageOfMessages(sql, workspaceId, range, limit)} m
    order by m.id desc`
  const { explainError } = channels[channel]
  const messages = rows.map(({ error_text, full_content, client_id: _, found_count: __, ...row }) => ({
    ...row,
    error: error_text,
    content: full_content,
    error_reason: error_text === null ? null : (explainError?.(error_text) ?? toSentence(error_text)),
  }))
  return { messages, foundCount: rows[0]?.found_count ?? 0 }
}

/** The text of a stored error as a sentence, without its code. */
function toSentence(error: string): string {
  const text = error.replace(/^\d+(: |$)/, '').trim() || `The channel reported error ${error}`
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}
