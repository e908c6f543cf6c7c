/** The messages of a conversation as members see them: with the author, the file, the quoted message and the error reason. */
import { idempotencyKeyOf } from '../accounts/idempotency.ts'
import { memberName } from '../accounts/members.ts'
import type { Channel, ContentType } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import type { Fragment, Sql } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import {
  allColumns,
  type directions,
  type Message,
  type MessageDetails,
  pageOfMessages,
  requireChannelOf,
} from './messages.ts'

export const mediaStates = ['pending', 'stored', 'failed'] as const

/** Unlike API clients, members see the stored error and content. */
export type MemberMessage = Omit<Message, 'error' | 'content'> &
  Pick<MessageDetails, 'sender_id'> & {
    error: MessageDetails['error_text']
    content: MessageDetails['full_content']
    sender: { id: string; name: string } | null
    media: {
      mime_type: string | null
      filename: string | null
      size_bytes: number | null
      state: (typeof mediaStates)[number]
    } | null
    reply_to: {
      id: string
      direction: (typeof directions)[number]
      content_type: ContentType
      content_text: string | null
    } | null
    error_reason: string | null
    /** Of the request that sent it, if a page of a member made it within the last day: the page knows its message by it. */
    idempotency_key: string | null
  }

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
    Pick<MemberMessage, 'sender' | 'media' | 'reply_to' | 'idempotency_key'> & { found_count: number }
  const path = sql`'/app/api/conversations/' || m.conversation_id::text || '/messages'`
  const rows = await sql<Row[]>`
    select ${allColumns(sql, channel, publicUrl)}, m.found_count,
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
