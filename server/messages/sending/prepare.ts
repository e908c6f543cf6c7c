/**
 * The write before a send: messages are inserted as `pending` and counted against the plan, one statement per batch.
 *
 * No transaction stays open while the channel is called afterwards. A crash in between leaves the `pending` row. The
 * channel's reports carry our message id and settle it, or the sweep does (`settle.ts`).
 */
import { countQuota, quotaError, requireQuota } from '../../accounts/quota.ts'
import type { PersonRef } from '../../contacts/people.ts'
import { answerEpisodes, teamOfOpening } from '../../conversations/episodes/writing.ts'
import { resolveThreads } from '../../conversations/threads.ts'
import { createBatch } from '../../lib/batch.ts'
import { notFound } from '../../lib/errors.ts'
import { timeOfId } from '../../lib/id.ts'
import { type Db, type Fragment, requireRow, type Sql, withRetries } from '../../lib/postgres/db.ts'
import type { Target, TargetThread } from './target.ts'

export type OutboundMessage = {
  workspace_id: string
  conversation_id: string
  id: string
  sender_type: 'agent' | 'bot'
  sender_id: string | null
  content_type: string
  content_text: string | null
  content: Record<string, unknown> | null
  media_url: string | null
  template_name: string | null
  reply_to_message_id: string | null
  /** The broadcast that sends it. */
  broadcast_id: string | null
  /** The run of an automation that sends it. */
  run_id?: string | null
  /** The visitor of the web chat to whom it is sent. */
  visitor_id?: string | null
}

type NewMessage = Omit<OutboundMessage, 'conversation_id'>

/**
 * Runs in the transaction that writes the message, with its conversation locked. Returns the id of the message, which may be another one
 * than it gets. Throws to write nothing.
 */
export type Within = (sql: Sql, thread: TargetThread, id: string) => Promise<string>

export type PreparedThread = TargetThread & { message_id: string }

/**
 * Returns a function that writes the message of a target, with the contact and the conversation that do not exist yet. It
 * throws 402 when the plan is used up, and 404 when the conversation was erased.
 */
export function createPreparer(db: Db) {
  const resolveThread = createBatch({
    run: (people: readonly PersonRef[]) => resolveThreads(db, people),
    flowOf: ({ workspace_id }) => workspace_id,
  })
  // One statement at a time: each counts in the same quota row, so a second one would only wait, with a smaller batch.
  const prepareOne = createBatch({
    run: (messages: readonly OutboundMessage[]) => prepareMessages(db, messages),
    flowOf: ({ workspace_id }) => workspace_id,
    lanes: 1,
  })

  /** Returns false when the conversation is gone. */
  async function write(message: NewMessage, { conversation_id }: TargetThread): Promise<boolean> {
    const row = { ...message, conversation_id }
    // Either the batch as a whole did not fit into the plan, or this message alone does not.
    return (await prepareOne(row)) || withRetries(() => prepareAlone(db, row))
  }

  async function writeFirst(message: NewMessage, who: PersonRef): Promise<TargetThread> {
    const { isLimited } = await requireQuota(db, who.workspace_id)
    if (isLimited) return withRetries(() => db.begin((sql) => prepareWithContact(sql, message, who)))
    const thread = await resolveThread(who)
    if (!(await write(message, thread))) throw notFound('conversation')
    return thread
  }

  return async (
    { thread, who }: Pick<Target, 'thread' | 'who'>,
    message: NewMessage,
    within?: Within,
  ): Promise<PreparedThread> => {
    if (within) return withRetries(() => db.begin((sql) => prepareWithin(sql, { thread, who }, message, within)))
    const written = { message_id: message.id }
    if (thread && (await write(message, thread))) return { ...thread, ...written }
    // The number of a contact that was erased or merged at the same moment leads elsewhere now.
    if (!who) throw notFound('conversation')
    return { ...(await writeFirst(message, who)), ...written }
  }
}

/** Locks the conversation, or creates it, runs `within` and writes the message. */
async function prepareWithin(
  sql: Sql,
  { thread, who }: Pick<Target, 'thread' | 'who'>,
  message: NewMessage,
  within: Within,
): Promise<PreparedThread> {
  const { workspace_id } = message
  const isLocked = async ({ conversation_id }: TargetThread) => {
    const [locked] = await sql`
      select from conversations where workspace_id = ${workspace_id} and id = ${conversation_id} for no key update`
    return locked !== undefined
  }
  const isKnown = thread !== undefined && (await isLocked(thread))
  const [resolved] = isKnown || !who ? [thread] : await resolveThreads(sql, [who])
  if (!resolved || (!isKnown && !(await isLocked(resolved)))) throw notFound('conversation')
  const id = await within(sql, resolved, message.id)
  if (!(await prepareAlone(sql, { ...message, id, conversation_id: resolved.conversation_id }))) {
    throw notFound('conversation')
  }
  return { ...resolved, message_id: id }
}

/** Writes messages whose quota a broadcast has reserved. */
export async function prepareReserved(sql: Sql, messages: readonly OutboundMessage[]): Promise<void> {
  const prepared = await prepareMessages(sql, messages, { isReserved: true })
  if (!prepared.every(Boolean)) throw new Error('a conversation that was just resolved does not exist')
}

/**
 * Creates the contact and writes the message, or neither: a plan with a limit creates no contact for a message that it
 * refuses. The quota is locked last, as everywhere (see the lock order in ARCHITECTURE.md).
 */
async function prepareWithContact(sql: Sql, message: NewMessage, who: PersonRef): Promise<TargetThread> {
  const [resolved] = await resolveThreads(sql, [who])
  const thread = requireRow(resolved, 'the resolved conversation')
  const { conversation_id } = thread
  if (!(await prepareAlone(sql, { ...message, conversation_id }))) throw notFound('conversation')
  return thread
}

/** Writes one message. Returns false when its conversation was erased at the same moment. 402 when the plan is used up. */
async function prepareAlone(sql: Sql, message: OutboundMessage): Promise<boolean> {
  const [isPrepared] = await prepareMessages(sql, [message])
  if (isPrepared) return true
  const { workspace_id, conversation_id } = message
  const [conversation] = await sql`
    select 1 from conversations where workspace_id = ${workspace_id} and id = ${conversation_id}`
  if (conversation) throw await quotaError(sql, workspace_id)
  return false
}

/** Returns which messages were written. Of one workspace they are all those whose conversation exists, or none. */
async function prepareMessages(
  sql: Sql,
  messages: readonly OutboundMessage[],
  { isReserved = false } = {},
): Promise<boolean[]> {
  const rows = messages.map((message) => ({ ...message, created_at: timeOfId(message.id) }))
  // Most batches have no reply of a member; the statement of the others is shorter.
  const hasReplies = messages.some(({ sender_id }) => sender_id !== null)
  const isOpening = sql`v.episode_id is null and v.status <> 'closed'`
  const sendable = sql`input i join locked_conversations l on l.workspace_id = i.workspace_id and l.id = i.conversation_id`
  const inserted = await sql<{ id: string }[]>`
    with
    -- The messages to write.
    input as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        workspace_id uuid, conversation_id uuid, id uuid, sender_type text, sender_id uuid, content_type text,
        content_text text, content jsonb, media_url text, template_name text, reply_to_message_id uuid,
        broadcast_id uuid, run_id uuid, visitor_id text, created_at timestamptz
      )
    ),
    -- Their conversations, locked in the order of their ids, so that two batches cannot deadlock.
    locked_conversations as (
      select v.workspace_id, v.id, v.last_message_at
        ${hasReplies ? sql`, v.status, v.connection_id, v.assigned_agent_id, v.episode_id, v.episode_replies` : sql``}
      from conversations v
      where (v.workspace_id, v.id) in (select workspace_id, conversation_id from input)
      order by v.id
      for no key update
    ),
    ${
      isReserved
        ? sql`-- Every workspace: the quota is reserved.
          counted_quota as (select distinct workspace_id from input)`
        : countQuota(sql, sendable)
    },
    -- Only messages of workspaces whose quota was counted.
    inserted_messages as (
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, sender_id, content_type,
        content_text, content, media_url, template_name, status, reply_to_message_id, broadcast_id, run_id, visitor_id,
        created_at)
      select i.workspace_id, i.conversation_id, i.id, 'outbound', i.sender_type, i.sender_id, i.content_type,
        i.content_text, i.content, i.media_url, i.template_name, 'pending', i.reply_to_message_id, i.broadcast_id,
        i.run_id, i.visitor_id, i.created_at
      from input i
      join counted_quota c on c.workspace_id = i.workspace_id
      join locked_conversations l on l.workspace_id = i.workspace_id and l.id = i.conversation_id
      returning workspace_id, conversation_id, id, sender_id, content_text, created_at
    ),
    ${hasReplies ? sql`${countReplies(sql)},` : sql``}
    -- The last message that lists show, unless a newer one is stored. A member's reply moves the conversation in the inbox
    -- and ends the customer's wait and the unread state; an automated message changes no indexed column.
    updated_conversations as (
      update conversations v set
        last_message_text = case when n.is_last then n.content_text else v.last_message_text end,
        last_message_at = greatest(v.last_message_at, n.created_at),
        inbox_at = greatest(v.inbox_at, n.replied_at),
        waiting_since = case when n.replied_at is null then v.waiting_since end,
        ${isReserved ? sql`last_broadcast_message_id = greatest(v.last_broadcast_message_id, n.id),` : sql``}
        ${
          hasReplies
            ? sql`
              unread_count = case when n.replied_at is null then v.unread_count else 0 end,
              read_up_to = case when n.replied_at is null or v.unread_count = 0 then v.read_up_to else v.last_received_at end,
              episode_replies = case
                when v.episode_id is null and v.status = 'closed' then 0 else v.episode_replies + coalesce(n.reply_count, 0) end,
              episode_id = case when ${isOpening} then n.reply_id else v.episode_id end,
              team_id = case when ${isOpening} and n.reply_id is not null then ${teamOfOpening(sql)} else v.team_id end,`
            : sql``
        }
        updated_at = now()
      from (
        select distinct on (i.workspace_id, i.conversation_id) i.workspace_id, i.conversation_id, i.id, i.content_text,
          i.created_at, l.last_message_at is null or l.last_message_at <= i.created_at as is_last,
          ${hasReplies ? sql`r.id as reply_id, r.count as reply_count,` : sql``}
          max(i.created_at) filter (where i.sender_id is not null)
            over (partition by i.workspace_id, i.conversation_id) as replied_at
        from inserted_messages i
        join locked_conversations l on l.workspace_id = i.workspace_id and l.id = i.conversation_id
        ${hasReplies ? sql`left join replies r on r.workspace_id = i.workspace_id and r.conversation_id = i.conversation_id` : sql``}
        order by i.workspace_id, i.conversation_id, i.id desc
      ) n
      where v.workspace_id = n.workspace_id and v.id = n.conversation_id
        and ${isReserved ? sql`true` : sql`(n.is_last or n.replied_at is not null)`}
    )
    select id from inserted_messages`
  const ids = new Set(inserted.map(({ id }) => id))
  return messages.map(({ id }) => ids.has(id))
}

/** Members of a `with` list: the replies of members among `inserted_messages`, by conversation, and what they are for its episode. */
const countReplies = (sql: Sql): Fragment => sql`
  -- The replies of members in each conversation.
  replies as (
    select i.workspace_id, i.conversation_id, count(*)::int as count, (array_agg(i.id order by i.id))[1] as id,
      min(i.created_at) as at, (array_agg(i.sender_id order by i.id))[1] as member_id
    from inserted_messages i
    where i.sender_id is not null
    group by i.workspace_id, i.conversation_id
  ),
  ${answerEpisodes(sql, sql`replies`)}`
