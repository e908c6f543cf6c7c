/** Messages: reading them. */
import { memberName } from '../accounts/members.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { createBatch } from '../lib/batch.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { bottom, type Page, type Position, toPage, top } from '../lib/page.ts'
import { type Fragment, type Sql, sharedFragment } from '../lib/postgres/db.ts'
import type { LinkMessage } from '../media/media.ts'
import { type Message, messageColumns, storedMessage } from './resource.ts'

/** Columns that the public API does not return. */
export type MessageDetails = {
  /** The stored error: the channel's code and text. A `pending` message has one while its outcome is unknown. */
  error_text: string | null
  /** The stored content. For a template it is the rendered template. */
  full_content: Record<string, unknown> | null
  sender_id: string | null
  /** The id that the visitor's page chose for its own message; shown to that page only. */
  client_id: string | null
}

/** A page of a conversation, newest first. 404 when the workspace does not have the conversation. `visitorId`: as below. */
export async function listMessages(
  sql: Sql,
  workspaceId: string,
  conversationId: string,
  publicUrl: string,
  { limit, before }: Position,
  visitorId?: string,
): Promise<Page<Message & MessageDetails>> {
  const channel = await requireChannelOf(sql, workspaceId, conversationId)
  const range = sql`
    m.conversation_id = ${conversationId} and m.id < ${before}
      and ${visitorId === undefined ? sql`true` : isOfVisitor(sql, workspaceId, conversationId, visitorId)}`
  const rows = await sql<(Message & MessageDetails & { found_count: number })[]>`
    select ${allColumns(sql, channel, publicUrl)}, m.found_count
    from ${pageOfMessages(sql, workspaceId, range, limit)} m
    order by m.id desc`
  return toPage(rows, limit, rows[0]?.found_count)
}

/** Bytes of text and content after which a page ends. A channel can report 256 KiB of content with each message. */
const maxPageBytes = 1024 * 1024

/**
 * A relation of messages, newest first: at most `limit + 1`, and only so many that all but the last have less than `maxPageBytes`.
 * `found_count` also counts those that do not fit.
 */
export function pageOfMessages(sql: Sql, workspaceId: string, range: Fragment, limit: number): Fragment {
  const stored = storedMessage(sql)
  return sql`(
    select ${stored}, m.found_count
    from (
      select ${stored}, count(*) over ()::int as found_count, sum(m.bytes) over (order by m.id desc) - m.bytes as bytes_before
      from (
        select ${stored}, coalesce(octet_length(m.content_text), 0) + coalesce(octet_length(m.content::text), 0) as bytes
        from messages m
        where m.workspace_id = ${workspaceId} and ${range}
        order by m.id desc
        limit ${limit + 1}
      ) m
    ) m
    where m.bytes_before < ${maxPageBytes}
  )`
}

/**
 * Whether message `m` of a conversation is one that this visitor of the web chat wrote or that was sent to them. A merged contact
 * has several visitors, and nothing proves that they are one person. A message without a visitor was stored by an earlier release
 * and is shown while the contact has one visitor.
 */
export const isOfVisitor = (sql: Sql, workspaceId: string, conversationId: string, visitorId: string): Fragment => sql`(
  m.visitor_id = ${visitorId} or m.visitor_id is null and not exists (
    select from conversations c
    join contact_identities i on i.workspace_id = c.workspace_id and i.contact_id = c.contact_id and i.channel = 'web'
    where c.workspace_id = ${workspaceId} and c.id = ${conversationId} and i.external_id <> ${visitorId}
  )
)`

/**
 * Reads one message of any conversation; 404 if the workspace has none with this id. Found by its id alone: merging two contacts
 * moves a message to another conversation. Concurrent reads share a statement, as the admission of their keys does.
 */
type MessageReader = (workspaceId: string, id: string) => Promise<Message>

export function createMessageReader(sql: Sql, publicUrl: string): MessageReader {
  const read = createBatch({
    run: (keys: readonly MessageKey[]) => readMessages(sql, keys, publicUrl),
    flowOf: ({ workspaceId }) => workspaceId,
    max: 32,
  })
  return async (workspaceId, id) => {
    const message = isUuid(id) ? await read({ workspaceId, id }) : undefined
    if (!message) throw notFound('message')
    return message
  }
}

type MessageKey = { workspaceId: string; id: string }

async function readMessages(
  sql: Sql,
  keys: readonly MessageKey[],
  publicUrl: string,
): Promise<(Message | undefined)[]> {
  const rows = await sql<(Message & { position: number })[]>`
    select k.position::int, ${publicColumns(sql, publicUrl)}
    from unnest(${keys.map(({ workspaceId }) => workspaceId)}::uuid[], ${keys.map(({ id }) => id)}::uuid[])
      with ordinality as k (workspace_id, id, position)
    join messages m on m.workspace_id = k.workspace_id and m.id = k.id
    join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id`
  const byPosition = new Map(rows.map((row) => [row.position, row]))
  return keys.map((_, i) => byPosition.get(i + 1))
}

const publicColumns = sharedFragment((sql, publicUrl) => messageColumns(sql, sql`v.channel`, publicUrl))

export async function getMessage(
  sql: Sql,
  workspaceId: string,
  { conversationId, id, channel, visitorId }: MessageRef,
  publicUrl: string,
): Promise<(Message & MessageDetails) | undefined> {
  const [message] = await sql<(Message & MessageDetails)[]>`
    select ${allColumns(sql, channel, publicUrl)}
    from messages m
    where m.workspace_id = ${workspaceId} and m.conversation_id = ${conversationId} and m.id = ${id}
      and ${visitorId === undefined ? sql`true` : isOfVisitor(sql, workspaceId, conversationId, visitorId)}`
  return message
}

/** `visitorId`: only a message of this visitor of the web chat. */
type MessageRef = { conversationId: string; id: string; channel: ChannelName; visitorId?: string }

/** A message by the name that its channel gave it. */
export async function getMessageNamed(
  sql: Sql,
  workspaceId: string,
  { name, channel }: { name: string; channel: ChannelName },
  publicUrl: string,
): Promise<(Message & MessageDetails) | undefined> {
  const [message] = await sql<(Message & MessageDetails)[]>`
    select ${allColumns(sql, channel, publicUrl)}
    from messages m
    where m.workspace_id = ${workspaceId} and m.external_id = ${name}`
  return message
}

/** The ids of a visitor's messages in a range of their conversation, newest first. */
export async function listMessageIds(
  sql: Sql,
  workspaceId: string,
  { conversationId, visitorId }: { conversationId: string; visitorId: string },
  { after = bottom, upTo = top, offset = 0, limit }: { after?: string; upTo?: string; offset?: number; limit: number },
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select m.id from messages m
    where m.workspace_id = ${workspaceId} and m.conversation_id = ${conversationId} and m.id > ${after} and m.id <= ${upTo}
      and ${isOfVisitor(sql, workspaceId, conversationId, visitorId)}
    order by m.id desc
    offset ${offset}
    limit ${limit}`
  return rows.map(({ id }) => id)
}

/**
 * The message that the inbox shows of each conversation, also one that failed: its direction, type, text, status and author. It is the
 * newest one. While the customer waits, it is the newest that no program sent, because the row has the time of that one.
 */
export async function lastMessagesOf(
  sql: Sql,
  workspaceId: string,
  conversations: readonly { id: string; isWaiting: boolean }[],
): Promise<Map<string, LastMessage>> {
  const read = async (conversationIds: readonly string[], messages: Fragment) => {
    const rows = await sql<(LastMessage & { conversation_id: string })[]>`
      select i.id as conversation_id, m.direction, m.content_type, m.content_kind, m.content_text, m.status, m.created_at, m.automated_by,
        (
          select json_build_object('id', a.id, 'name', ${memberName(sql, sql`a`)})
          from members a where a.workspace_id = ${workspaceId} and a.id = m.sender_id
        ) as sender
      from unnest(${[...conversationIds]}::uuid[]) as i (id)
      cross join lateral (
        select m.direction, m.content_type, m.content_text, m.status, m.created_at, m.sender_id,
          case when m.content_type = 'unsupported'
            then coalesce(m.content->>'type', m.content->'attachment'->>'type') end as content_kind,
          case when ${isAutomated(sql)}
            then case when m.sender_type <> 'bot' then 'api' when m.broadcast_id is not null then 'broadcast' else 'automation' end
          end as automated_by
        from ${messages}
        order by m.id desc
        limit 1
      ) m`
    return rows.map(({ conversation_id, ...message }) => [conversation_id, message] as const)
  }
  // One index step at the end of each conversation: 50 conversations of any length take 1 ms.
  const newest = new Map(
    await read(
      conversations.map(({ id }) => id),
      sql`messages m where m.workspace_id = ${workspaceId} and m.conversation_id = i.id`,
    ),
  )
  const covered = conversations.filter(({ id, isWaiting }) => isWaiting && newest.get(id)?.automated_by)
  if (covered.length === 0) return newest
  const written = await read(
    covered.map(({ id }) => id),
    sql`(
      select m.id, m.direction, m.content_type, m.content_text, m.content, m.status, m.created_at, m.sender_id, m.sender_type,
        m.sent_at, m.broadcast_id
      from messages m
      where m.workspace_id = ${workspaceId} and m.conversation_id = i.id
      order by m.id desc
      limit ${maxAutomated}
    ) m
    where not ${isAutomated(sql)}`,
  )
  return new Map([...newest, ...written])
}

/** Automated messages at the end of a conversation among which that of the customer is searched. */
const maxAutomated = 20

/** A member who writes in the provider's app has no id, but the time of the channel. */
const isAutomated = (sql: Sql): Fragment =>
  sql`(m.direction = 'outbound' and m.sender_id is null and m.sent_at is null)`

type LastMessage = Pick<Message, 'direction' | 'content_type' | 'content_text' | 'status' | 'created_at'> & {
  content_kind: string | null
  sender: { id: string; name: string } | null
  automated_by: 'api' | 'broadcast' | 'automation' | null
}

export async function requireChannelOf(sql: Sql, workspaceId: string, conversationId: string): Promise<ChannelName> {
  const [conversation] = isUuid(conversationId)
    ? await sql<{ channel: ChannelName }[]>`
        select channel from conversations where workspace_id = ${workspaceId} and id = ${conversationId}`
    : []
  if (!conversation) throw notFound('conversation')
  return conversation.channel
}

/** The public fields of message `m` and those of `MessageDetails`. */
export const allColumns = (sql: Sql, channel: ChannelName, publicUrl: string): Fragment =>
  columnsOf(sql, `${channel} ${publicUrl}`)

const columnsOf = sharedFragment((sql, key) => {
  const [channel = '', publicUrl = ''] = key.split(' ')
  return sql`
    ${messageColumns(sql, sql`${channel}::text`, publicUrl)},
    m.error as error_text, m.content as full_content, m.sender_id,
    case when ${channel}::text = 'web' then nullif(split_part(m.external_id, ':', 2), '') end as client_id`
})

/**
 * The end of a statement: stores the path of a fetched file in its message. `stored` has `message_id`. The conversation is not
 * compared: merging two contacts may have moved the message.
 */
export const linkMedia: LinkMessage = (sql, workspaceId, stored, path) => sql`
  update messages m
  set media_url = ${path}
  from ${stored} s
  where m.workspace_id = ${workspaceId} and m.id = s.message_id`
