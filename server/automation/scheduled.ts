/**
 * Scheduled messages: replies that are sent later, in the conversation for which they were written.
 *
 * `scheduled` waits for its time and `sending` is in a worker (`scheduled-queue.ts`). `held` was due, but the customer had written in the
 * meantime: it waits for a decision. `failed` could not be sent. If the channel refused it, the failed message is in the conversation, and
 * the row is final; otherwise its content can be changed and sent again. `sent` and `canceled` are final.
 */
import { memberName } from '../accounts/members.ts'
import { nowMs } from '../lib/clock.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import { type Db, type Fragment, isDangling, requireRow, type Sql } from '../lib/postgres/db.ts'
import { Column, resource } from '../lib/resource.ts'
import { DateTime, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import { parseTime } from '../lib/time.ts'
import { markUploadsUsed, releaseUploads, tokensIn } from '../media/uploads.ts'
import { contentFields, laterTypes, type RequestedContent } from '../messages/sending/requested-content.ts'

export const scheduledStates = ['scheduled', 'held', 'sending', 'sent', 'failed', 'canceled'] as const
export type ScheduledState = (typeof scheduledStates)[number]

const { reply_to_message_id: quoteField, reaction: _, type: _type, ...otherFields } = contentFields
/** The content of a reply. A reaction cannot be scheduled. */
const laterContentFields = {
  type: Type.Optional(OneOf(laterTypes, { description: '`text` when absent.' })),
  ...otherFields,
}
const ScheduledContent = Type.Object(
  { ...laterContentFields, media_url: Type.Optional(Type.String()) },
  { title: 'ScheduledContent', description: 'The content of the request.' },
)

export const laterFields = { ...laterContentFields, reply_to_message_id: quoteField }

export type LaterBody = Static<Type.TObject<typeof laterFields>>
export type ScheduledContent = Static<typeof ScheduledContent>

/** The content to store, of a request and what was read of it: the fields that its type has. */
export function toScheduledContent({ template, location }: LaterBody, requested: RequestedContent): ScheduledContent {
  const { type } = requested
  if (type === 'text') return { type, text: requested.text }
  if (type === 'interactive') return { type, interactive: requested.interactive }
  if (type === 'location') return { type, ...(location ? { location } : {}) }
  if (type === 'template') {
    const { contact_fields } = requested
    return { type, ...(template ? { template: { ...template, contact_fields } } : {}) }
  }
  if (type === 'reaction') throw badRequest('type: a reaction cannot be sent later')
  const { media_url, text, filename } = requested
  return { type, media_url, ...(text === null ? {} : { text }), ...(filename === null ? {} : { filename }) }
}

const authorOf = (sql: Sql): Fragment => sql`json_build_object(
  'type', case when s.member_id is null then 'api_key' else 'member' end,
  'id', coalesce(s.member_id, s.key_id),
  'name', coalesce(
    (select ${memberName(sql, sql`m`)} from members m where m.workspace_id = s.workspace_id and m.id = s.member_id),
    (select k.name from api_keys k where k.workspace_id = s.workspace_id and k.id = s.key_id)
  )
)`

export const ScheduledMessageSchema = Type.Object(
  {
    id: Uuid,
    conversation_id: Uuid,
    state: OneOf(scheduledStates, {
      description:
        '`scheduled` waits for its time. `held` was due, but the customer had written: change its time, send or cancel it. `failed` could not be sent; `error` has the reason.',
    }),
    send_at: DateTime,
    hold_if_customer_writes: Type.Boolean({
      description: 'The message is held instead of sent if the customer writes before its time.',
    }),
    content: ScheduledContent,
    reply_to_message_id: NullableText({ format: 'uuid', description: 'The message that it quotes.' }),
    message_id: Column(
      NullableText({
        format: 'uuid',
        description: 'The message, once it is sent. Also set if the channel refused it: its error is in the message.',
      }),
      (sql) => sql`case when s.state in ('sent', 'failed') then s.message_id end`,
    ),
    error: Column(
      NullableText({ description: 'Why it failed, else null.' }),
      (sql) => sql`case when s.state = 'failed' then s.error end`,
    ),
    author: Column(
      Type.Object({
        type: OneOf(['member', 'api_key']),
        id: Uuid,
        name: NullableText({ description: 'The name of the member or of the API key. Null for a removed member.' }),
      }),
      authorOf,
    ),
    created_at: DateTime,
    updated_at: DateTime,
  },
  {
    title: 'ScheduledMessage',
    examples: [
      {
        id: '0199c1d2-b161-7c95-8af6-9c2d3e4f5061',
        conversation_id: '0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d4',
        state: 'scheduled',
        send_at: '2026-01-08T09:00:00.000Z',
        hold_if_customer_writes: false,
        content: { type: 'text', text: 'Good morning! Your order is ready.' },
        reply_to_message_id: null,
        message_id: null,
        error: null,
        author: { type: 'api_key', id: '0199c1d2-5a0f-7b29-8c41-2a5e9d7b3c06', name: 'Shop' },
        created_at: '2026-01-07T17:30:00.000Z',
        updated_at: '2026-01-07T17:30:00.000Z',
      },
    ],
  },
)
export type ScheduledMessage = Static<typeof ScheduledMessageSchema>

const { columns } = resource('s', ScheduledMessageSchema)

const maxDays = 90
/** Messages that are scheduled, held or being sent. */
const maxPerConversation = 100
const maxPerWorkspace = 10_000

/** The time in UTC. 400 unless it is within the next 90 days. */
export function readSendAt(text: string): string {
  const timeMs = parseTime(text)
  if (timeMs === undefined) throw badRequest('send_at: must be a date-time such as 2026-01-31T09:30:00Z')
  if (timeMs < nowMs()) throw badRequest('send_at: must not be in the past')
  if (timeMs > nowMs() + maxDays * 86_400_000) throw badRequest(`send_at: must be within ${maxDays} days`)
  return new Date(timeMs).toISOString()
}

export type Author = { memberId: string } | { keyId: string }

/** The checked content of a request, and who wrote it. */
export type WrittenContent = {
  author: Author
  content: ScheduledContent
  replyTo: string | undefined
  publicUrl: string
}

/** `id`: given when the request may be repeated; a message with this id is returned as it is. */
type NewScheduled = WrittenContent & { id?: string | undefined; sendAt: string; isHoldable: boolean }

/** 404 when there is no such conversation, 400 when too many messages wait. */
export async function createScheduled(
  db: Db,
  workspaceId: string,
  conversationId: string,
  { id = newId(), author, content, replyTo, publicUrl, sendAt, isHoldable }: NewScheduled,
): Promise<ScheduledMessage> {
  const create = async (sql: Sql): Promise<void> => {
    // One after the other, so that the limits are exact.
    await sql`select id from workspaces where id = ${workspaceId} for no key update`
    if (await getScheduled(sql, workspaceId, id)) return
    await requireCapacity(sql, workspaceId, conversationId)
    const uploadIds = await reserveUploads(sql, workspaceId, content, publicUrl)
    const { memberId, keyId } = columnsOf(author)
    await sql`
      insert into scheduled_messages (workspace_id, id, conversation_id, member_id, key_id, content, reply_to_message_id, upload_ids,
        send_at, due_at, hold_if_customer_writes, created_at)
      values (${workspaceId}, ${id}, ${conversationId}, ${memberId}, ${keyId}, ${JSON.stringify(content)}::text::jsonb,
        ${replyTo ?? null}, ${uploadIds}::uuid[], ${sendAt}, ${sendAt}, ${isHoldable}, ${timeOfId(id)})`
  }
  await db.begin(create).catch((error: unknown) => {
    throw isDangling(error, 'scheduled_messages_conversation_fkey') ? notFound('conversation') : error
  })
  return requireScheduled(db, workspaceId, id)
}

/** Messages that need no more attention: `open` in the list omits them. */
const isOpen = (sql: Sql): Fragment => sql`(
  s.state in ('scheduled', 'held', 'sending') or s.state = 'failed' and s.message_id is null
)`

/** A page of the messages of a conversation, newest first. `open`: those that wait or need a decision. */
export async function listScheduled(
  sql: Sql,
  workspaceId: string,
  conversationId: string,
  { limit, before }: Position,
  state?: ScheduledState | 'open',
): Promise<Page<ScheduledMessage>> {
  const [conversation] = isUuid(conversationId)
    ? await sql`select from conversations where workspace_id = ${workspaceId} and id = ${conversationId}`
    : []
  if (!conversation) throw notFound('conversation')
  const condition = state === undefined ? sql`true` : state === 'open' ? isOpen(sql) : sql`s.state = ${state}`
  const rows = await sql<ScheduledMessage[]>`
    select ${columns(sql)} from scheduled_messages s
    where s.workspace_id = ${workspaceId} and s.conversation_id = ${conversationId} and s.id < ${before} and ${condition}
    order by s.id desc
    limit ${limit + 1}`
  return toPage(rows, limit)
}

export async function requireScheduled(sql: Sql, workspaceId: string, id: string): Promise<ScheduledMessage> {
  const message = await getScheduled(sql, workspaceId, id)
  if (!message) throw notFound('scheduled message')
  return message
}

async function getScheduled(sql: Sql, workspaceId: string, id: string): Promise<ScheduledMessage | undefined> {
  const [message] = isUuid(id)
    ? await sql<ScheduledMessage[]>`
        select ${columns(sql)} from scheduled_messages s where s.workspace_id = ${workspaceId} and s.id = ${id}`
    : []
  return message
}

type ScheduledChanges = {
  written?: WrittenContent | undefined
  sendAt?: string | undefined
  isHoldable?: boolean | undefined
}

/**
 * Changes content, time or both. A held or failed message waits again only with a new time: otherwise the change of a word would
 * send it. 400 when it is being sent or has ended.
 */
export async function changeScheduled(
  db: Db,
  workspaceId: string,
  id: string,
  { written, sendAt, isHoldable }: ScheduledChanges,
): Promise<ScheduledMessage> {
  await db.begin(async (sql) => {
    const { upload_ids: oldUploads } = await lockChangeable(sql, workspaceId, id)
    if (written) {
      const { memberId, keyId } = columnsOf(written.author)
      const uploadIds = await reserveUploads(sql, workspaceId, written.content, written.publicUrl)
      await sql`
        update scheduled_messages set member_id = ${memberId}, key_id = ${keyId},
          content = ${JSON.stringify(written.content)}::text::jsonb, reply_to_message_id = ${written.replyTo ?? null},
          upload_ids = ${uploadIds}::uuid[]
        where workspace_id = ${workspaceId} and id = ${id}`
      await releaseUploads(sql, workspaceId, oldUploads)
    }
    if (sendAt) await reschedule(sql, workspaceId, id, sql`${sendAt}::timestamptz`)
    await sql`
      update scheduled_messages set hold_if_customer_writes = coalesce(${isHoldable ?? null}::boolean, hold_if_customer_writes),
        written_at = now(), updated_at = now()
      where workspace_id = ${workspaceId} and id = ${id}`
  })
  return requireScheduled(db, workspaceId, id)
}

/** Makes a message due. It is sent even if the customer has written. */
export async function sendScheduledNow(db: Db, workspaceId: string, id: string): Promise<ScheduledMessage> {
  await db.begin(async (sql) => {
    await lockChangeable(sql, workspaceId, id)
    await reschedule(sql, workspaceId, id, sql`now()`)
    await sql`
      update scheduled_messages set hold_if_customer_writes = false, written_at = now(), updated_at = now()
      where workspace_id = ${workspaceId} and id = ${id}`
  })
  return requireScheduled(db, workspaceId, id)
}

/** A canceled message stays canceled. 400 when it is being sent or has ended otherwise. */
export async function cancelScheduled(db: Db, workspaceId: string, id: string): Promise<ScheduledMessage> {
  const { state } = await requireScheduled(db, workspaceId, id)
  if (state !== 'canceled') {
    await db.begin(async (sql) => {
      const { upload_ids: uploads } = await lockChangeable(sql, workspaceId, id)
      await sql`
        update scheduled_messages set state = 'canceled', upload_ids = '{}', updated_at = now()
        where workspace_id = ${workspaceId} and id = ${id}`
      await releaseUploads(sql, workspaceId, uploads)
    })
  }
  return requireScheduled(db, workspaceId, id)
}

async function reschedule(sql: Sql, workspaceId: string, id: string, at: Fragment): Promise<void> {
  await sql`
    update scheduled_messages set state = 'scheduled', send_at = ${at}, due_at = ${at}, attempt_count = 0, message_id = null,
      error = null
    where workspace_id = ${workspaceId} and id = ${id}`
}

/** Locks a message that may still change. 404, or 400 with the reason why it may not. */
async function lockChangeable(sql: Sql, workspaceId: string, id: string): Promise<{ upload_ids: string[] }> {
  type Locked = { state: ScheduledState; message_id: string | null; upload_ids: string[] }
  const [message] = isUuid(id)
    ? await sql<Locked[]>`
        select state, message_id, upload_ids from scheduled_messages
        where workspace_id = ${workspaceId} and id = ${id}
        for update`
    : []
  if (!message) throw notFound('scheduled message')
  const { state, message_id: messageId } = message
  if (state === 'sending') throw badRequest('the message is being sent')
  if (state === 'sent') throw badRequest('the message was sent')
  if (state === 'canceled') throw badRequest('the message was canceled')
  if (state === 'failed' && messageId) {
    throw badRequest(`the channel refused the message; it is in the conversation as message ${messageId}`)
  }
  return message
}

const columnsOf = (author: Author): { memberId: string | null; keyId: string | null } =>
  'memberId' in author ? { memberId: author.memberId, keyId: null } : { memberId: null, keyId: author.keyId }

/** Keeps the uploaded files of a content until the message is sent. */
async function reserveUploads(
  sql: Sql,
  workspaceId: string,
  content: WrittenContent['content'],
  publicUrl: string,
): Promise<string[]> {
  const used = await markUploadsUsed(sql, workspaceId, tokensIn(JSON.stringify(content), publicUrl))
  return used.map(({ id }) => id)
}

async function requireCapacity(sql: Sql, workspaceId: string, conversationId: string): Promise<void> {
  if (!isUuid(conversationId)) throw notFound('conversation')
  const [counts] = await sql<{ here: number; everywhere: number }[]>`
    select count(*) filter (where conversation_id = ${conversationId})::int as here, count(*)::int as everywhere
    from scheduled_messages
    where workspace_id = ${workspaceId} and state in ('scheduled', 'held', 'sending')`
  const { here, everywhere } = requireRow(counts, 'the counts')
  if (here >= maxPerConversation)
    throw badRequest(
      `the conversation has ${maxPerConversation} scheduled messages; cancel one, or wait until one is sent`,
    )
  if (everywhere >= maxPerWorkspace)
    throw badRequest(
      `the workspace has ${maxPerWorkspace.toLocaleString('en')} scheduled messages; cancel some, or wait until some are sent`,
    )
}

/** Deletes the messages of the contact's conversations, in the transaction that erases the contact, and gives up the uses of their files. */
export async function eraseScheduledOf(sql: Sql, workspaceId: string, contactId: string): Promise<void> {
  const deleted = await sql<{ upload_ids: string[] }[]>`
    delete from scheduled_messages s using conversations v
    where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and s.workspace_id = ${workspaceId}
      and s.conversation_id = v.id
    returning s.upload_ids`
  await releaseUploads(
    sql,
    workspaceId,
    deleted.flatMap(({ upload_ids }) => upload_ids),
  )
}

/** Moves the messages of a conversation into the one that takes its content. */
export async function moveScheduled(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    update scheduled_messages set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
}
