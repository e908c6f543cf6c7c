/**
 * Applies the channel's reports about stored messages, in bulk and in any order: statuses, edits, deletions, read marks.
 *
 * A report finds its message by the channel's id, or by our id, which the send carried: so it also settles a message whose
 * answer was lost. The caller stores a report without a message (`early-reports.ts`). Each status report of the primary
 * channel is an event, also when it is repeated or late. The stored status only moves up (`messageStatuses`).
 */
import { releaseQuotaOf } from '../../accounts/quota.ts'
import type { Report } from '../../channels/channel.ts'
import { identitiesOf, type PersonRef } from '../../contacts/people.ts'
import type { ChannelName } from '../../contacts/resource.ts'
import { retryMoved } from '../../conversations/threads.ts'
import { type Fragment, jsonObject, type Sql, sharedFragment } from '../../lib/postgres/db.ts'
import { emit } from '../../webhooks/emit.ts'
import { isOfVisitor } from '../messages.ts'
import { connectionOf, countOutcomes } from '../outcomes.ts'
import { reindexFailedReplies, reindexMessages } from '../reindex-requests.ts'
import { messageJson, messageStatuses } from '../resource.ts'
import { followStatus, type StatusContext } from '../status-follower.ts'

/** The connection that received a report. A report changes only messages of its own connection. */
export type ReportSource = Pick<PersonRef, 'channel' | 'connection_id' | 'scope'>

export type StatusUpdate = {
  workspaceId: string
  channel: ChannelName
  connectionId?: string | null | undefined
  report: Extract<Report, { kind: 'status' }>
  /** The conversation of the message, set when the update is applied. */
  conversationId?: string
}

/** Sets the `conversationId` of each update whose message is stored. */
export async function applyStatuses(sql: Sql, updates: readonly StatusUpdate[], context: StatusContext): Promise<void> {
  await updateStatuses(sql, updates, context)
  const unknown = updates.filter(({ conversationId }) => !conversationId)
  if (unknown.length === 0) return
  const identified = await identifyMessages(sql, unknown, context)
  if (identified.length > 0) await updateStatuses(sql, identified, context)
}

/** Applies the updates whose message has the channel's id. */
async function updateStatuses(
  sql: Sql,
  updates: readonly StatusUpdate[],
  { publicUrl, follower }: StatusContext,
): Promise<void> {
  const highest = findHighest(updates)
  const rows = updates.map(({ workspaceId, channel, connectionId, report }, index) => ({
    index,
    workspace_id: workspaceId,
    connection_id: connectionId,
    external_id: report.external_id,
    status: report.status,
    rank: messageStatuses.indexOf(report.status),
    is_highest: highest[index] === report,
    highest_status: highest[index]?.status,
    highest_error: highest[index]?.error,
    // Events report delivery on the primary channel only.
    emits: channel === 'msgapp',
    occurred_at: report.at,
  }))
  const found = await sql<{ index: number; conversation_id: string }[]>`
    with
    -- The status reports.
    input as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        index int, workspace_id uuid, connection_id uuid, external_id text, status text, rank int, is_highest boolean,
        highest_status text, highest_error text, emits boolean, occurred_at timestamptz
      )
    ),
    -- Each report with its message. Also those that do not change: their reports are events. Nothing below joins two lists of the
    -- statement: the planner expects one row of each, and would compare each report with each. offset 0 finds the messages by their ids
    -- alone: the planner also paired each report with each conversation of its connection, and with each sent message while it expected
    -- none in the table.
    found_messages as (
      select r.*
      from (
        select i.index, m.workspace_id, m.conversation_id, m.id, m.direction, ${connectionOf(sql)} as connection_id,
          i.connection_id as reporting_id, i.external_id, i.status, i.rank, i.highest_status, i.highest_error, i.emits, i.occurred_at,
          i.is_highest and i.rank > ${rankOf(sql, sql`m.status`)} as moves_up
        from input i
        join messages m on m.workspace_id = i.workspace_id and m.external_id = i.external_id
        offset 0
      ) r
      where r.direction = 'outbound' and ${isOfConnection(sql)}
    ),
    -- The messages that move up, locked in the order of their ids, so that two batches cannot deadlock.
    locked_messages as (
      select m.workspace_id, m.conversation_id, m.id, f.connection_id, f.highest_status as status, f.rank, f.highest_error as error,
        m.status as status_before
      from found_messages f
      join messages m on m.workspace_id = f.workspace_id and m.id = f.id
      where f.moves_up
      order by m.conversation_id, m.id
      for no key update of m
    ),
    -- Compares the rank again: another batch may have moved the message before it was locked. Found by id alone, because
    -- merging two contacts may have moved the message to another conversation.
    updated_messages as (
      update messages m set status = l.status, error = l.error
      from locked_messages l
      where m.workspace_id = l.workspace_id and m.id = l.id
        and l.rank > ${rankOf(sql, sql`m.status`)}
      returning m.workspace_id, m.conversation_id, m.id, m.sender_type, m.status, m.error, m.created_at, l.connection_id,
        l.status_before
    ),
    ${countOutcomes(sql, sql`updated_messages`)}${followStatus(sql, follower, sql`updated_messages`)},
    ${reindexFailedReplies(sql, sql`updated_messages`)},
    ${emitReported(sql, publicUrl)}
    select index, conversation_id from found_messages`
  for (const { index, conversation_id } of found) {
    const update = updates[index]
    if (update) update.conversationId = conversation_id
  }
}

/**
 * Finds messages by our id that the channel accepted without an answer reaching us, and stores the channel's id with
 * them. Returns the updates of these messages.
 */
async function identifyMessages(
  sql: Sql,
  updates: readonly StatusUpdate[],
  { follower }: StatusContext,
): Promise<StatusUpdate[]> {
  const rows = updates.map(({ workspaceId, connectionId, report }, index) => ({
    index,
    workspace_id: workspaceId,
    connection_id: connectionId,
    external_id: report.external_id,
    message_id: report.message_id,
  }))
  const identified = await sql<{ index: number }[]>`
    with
    -- The ids in the reports: the channel's and ours.
    input as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        index int, workspace_id uuid, connection_id uuid, external_id text, message_id uuid
      )
    ),
    -- The messages without the channel's id, each with the first report about it.
    unidentified_messages as (
      select distinct on (r.workspace_id, r.conversation_id, r.id)
        r.workspace_id, r.conversation_id, r.id, r.created_at, r.status, r.connection_id, r.external_id
      from (
        select i.index, m.workspace_id, m.conversation_id, m.id, m.direction, m.created_at, m.status, ${connectionOf(sql)} as connection_id,
          i.connection_id as reporting_id, i.external_id, m.external_id is null as is_unidentified
        from input i
        join messages m on m.workspace_id = i.workspace_id and m.id = i.message_id
        offset 0
      ) r
      where r.is_unidentified and r.direction = 'outbound' and ${isOfConnection(sql)} and not exists (
        select from messages n where n.workspace_id = r.workspace_id and n.external_id = r.external_id
      )
      order by r.workspace_id, r.conversation_id, r.id, r.index
    ),
    -- The channel knows the message, so it was sent. A message that the sweep failed needs its quota unit again.
    identified_messages as (
      update messages m set
        external_id = u.external_id,
        status = case when m.status in ('pending', 'failed') then 'sent' else m.status end,
        error = null
      from unidentified_messages u
      where m.workspace_id = u.workspace_id and m.id = u.id
        and m.external_id is null
      returning m.workspace_id, m.id, m.sender_type, m.status, m.error, m.external_id, m.created_at, u.connection_id,
        u.status as status_before, case when u.status = 'failed' then -1 else 0 end as released_units
    ),
    ${countOutcomes(sql, sql`identified_messages`)}${followStatus(sql, follower, sql`identified_messages`)},
    ${reindexFailedReplies(sql, sql`identified_messages`)},
    -- Counts the units of swept messages again.
    counted_quota as (${releaseQuotaOf(sql, sql`identified_messages`)})
    select i.index from input i
    join identified_messages m on m.workspace_id = i.workspace_id and m.external_id = i.external_id`
  return identified.flatMap(({ index }) => updates[index] ?? [])
}

/**
 * Members of a `with` list: `message.status_updated` for each row of `found_messages f`. A statement reads tables as they were before it,
 * so a message of `updated_messages` has the highest status of its reports here.
 */
const emitReported = sharedFragment((sql, publicUrl) => {
  // Not correlated, so PostgreSQL reads the list once, into a hash table.
  const isUpdated = sql`(f.workspace_id, f.id) in (select u.workspace_id, u.id from updated_messages u)`
  const after = {
    status: sql`case when f.is_updated then f.highest_status else m.status end`,
    error: sql`case when f.is_updated then f.highest_error else m.error end`,
  }
  const message = sql`
    select ${messageJson(sql, sql`'msgapp'`, publicUrl, after)}
    from messages m
    where m.workspace_id = f.workspace_id and m.conversation_id = f.conversation_id and m.id = f.id`
  return emit(sql, {
    event: 'message.status_updated',
    workspaces: sql`found_messages`,
    from: sql`(select f.*, ${isUpdated} as is_updated from found_messages f) f`,
    where: sql`f.emits`,
    order: sql`f.index`,
    workspaceId: sql`f.workspace_id`,
    occurredAt: sql`f.occurred_at`,
    data: jsonObject(
      sql,
      sql`f.external_id as msgapp_message_id, f.conversation_id, f.status, (${message}) as message`,
    ),
  })
})

/** Condition: the message of report `r` is of the connection that received it. Reports that an earlier release stored have none. */
const isOfConnection = (sql: Sql): Fragment => sql`(r.reporting_id is null or r.connection_id = r.reporting_id)`

/**
 * For each update the report with the highest rank about its message. Only that one is stored; the others are events only. By connection,
 * so that an update through another connection, which is not applied, does not replace one that is.
 */
function findHighest(updates: readonly StatusUpdate[]): StatusUpdate['report'][] {
  const keys = updates.map(
    ({ workspaceId, connectionId, report }) => `${workspaceId} ${connectionId} ${report.external_id}`,
  )
  const highest = new Map<string | undefined, StatusUpdate['report']>()
  updates.forEach(({ report }, i) => {
    const other = highest.get(keys[i])
    if (!other || messageStatuses.indexOf(report.status) > messageStatuses.indexOf(other.status))
      highest.set(keys[i], report)
  })
  return updates.map(({ report }, i) => highest.get(keys[i]) ?? report)
}

/** The rank of a stored status: its index in `messageStatuses`, which are a constant of the statement. */
const rankOf = (sql: Sql, status: Fragment) =>
  sql`array_position(array[${sql.unsafe(`'${messageStatuses.join("', '")}'`)}], ${status}) - 1`

/** A message with several attachments is stored as several messages; their external ids end in these numbers. */
const attachmentNumbers = [1, 2, 3, 4, 5, 6, 7, 8, 9]

export type Correction = Extract<Report, { kind: 'edit' | 'revoke' }>

/**
 * Applies an edit or a deletion. Only the sender of a message can correct it. Returns false when the message is not stored yet.
 * `onMediaGone` gets the ids of deleted media, to delete them from the store.
 */
export async function applyCorrection(
  sql: Sql,
  workspaceId: string,
  { channel, connection_id = null, scope = '' }: ReportSource,
  report: Correction,
  onMediaGone: (ids: readonly string[]) => void,
): Promise<boolean> {
  const { external_id: id } = report
  const isRevoked = report.kind === 'revoke'
  const externalIds = isRevoked ? [id, ...attachmentNumbers.map((n) => `${id}:${n}`)] : [id]
  const messages = await sql<{ id: string; is_sender: boolean }[]>`
    select m.id, case when m.direction = 'outbound' then ${report.from === null} else exists (
        select from conversations v
        join contact_identities i on i.workspace_id = v.workspace_id and i.contact_id = v.contact_id
        where v.workspace_id = m.workspace_id and v.id = m.conversation_id
          and i.channel = ${channel} and i.external_id = any(${report.from ? identitiesOf({ ...report.from, scope }) : []}::text[])
      ) end as is_sender
    from messages m
    join conversations o on o.workspace_id = m.workspace_id and o.id = m.conversation_id
    where m.workspace_id = ${workspaceId} and m.external_id = any(${externalIds})
      and (${connection_id}::uuid is null or o.connection_id = ${connection_id})`
  const corrected = messages.filter(({ is_sender }) => is_sender).map(({ id }) => id)
  if (corrected.length === 0) return messages.length > 0
  // Media is locked before messages, as in the fetch loop (see the lock order in ARCHITECTURE.md).
  const media = isRevoked
    ? await sql<{ id: string }[]>`
        delete from media where workspace_id = ${workspaceId} and message_id = any(${corrected}::uuid[]) returning id`
    : []
  await sql`
    with corrected_messages as (
      update messages m set
        content_text = case when m.deleted_at is null then ${report.kind === 'edit' ? report.text : null}::text else m.content_text end,
        content = case when ${isRevoked} then null else m.content end,
        media_url = case when ${isRevoked} then null else m.media_url end,
        interactive_reply_id = case when ${isRevoked} then null else m.interactive_reply_id end,
        deleted_at = case when ${isRevoked} then coalesce(m.deleted_at, ${report.at}::timestamptz) else m.deleted_at end
      where m.workspace_id = ${workspaceId} and m.external_id = any(${externalIds}) and m.id = any(${corrected}::uuid[])
      returning m.workspace_id, m.conversation_id, m.id, m.content_text
    ),
    ${reindexMessages(sql, sql`corrected_messages`)}
    update conversations v set last_message_text = c.content_text, updated_at = now()
    from corrected_messages c
    where v.workspace_id = ${workspaceId} and v.id = c.conversation_id and not exists (
      select from messages n
      where n.workspace_id = ${workspaceId} and n.conversation_id = c.conversation_id and n.id > c.id
    )`
  onMediaGone(media.map(({ id }) => id))
  return true
}

/** Marks everything we sent in a conversation up to a message as read. Returns false when it is not stored yet. */
export async function applyReadUpTo(
  sql: Sql,
  workspaceId: string,
  { connection_id = null }: ReportSource,
  externalId: string,
): Promise<boolean> {
  return retryMoved(async () => {
    const [last] = await sql<{ conversation_id: string; id: string }[]>`
      select m.conversation_id, m.id from messages m
      join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
      where m.workspace_id = ${workspaceId} and m.external_id = ${externalId}
        and (${connection_id}::uuid is null or v.connection_id = ${connection_id})`
    if (!last) return false
    // With the rows of the conversation locked, the message is still in it: merging two contacts moves all of them.
    return (await readUpTo(sql, workspaceId, last)) || undefined
  })
}

/** Older messages than these keep their status: a visitor cannot make the service read a long conversation. */
const maxRead = 500

/**
 * Marks what was sent to a visitor of the web chat up to a message as read. No provider reports it, so it neither counts as an outcome nor
 * is an event. Returns whether a message changed.
 */
export async function applyVisitorRead(
  sql: Sql,
  workspaceId: string,
  { conversationId, visitorId, upTo }: { conversationId: string; visitorId: string; upTo: string },
): Promise<boolean> {
  const { count } = await sql`
    with
    -- The newest messages up to the one that the visitor saw.
    newest_messages as (
      select m.id, m.direction, m.status, m.visitor_id from messages m
      where m.workspace_id = ${workspaceId} and m.conversation_id = ${conversationId} and m.id <= ${upTo}
      order by m.id desc
      limit ${maxRead}
    ),
    -- Those that the visitor had not read, locked in the order of their ids.
    locked_messages as (
      select l.id from messages l
      where l.workspace_id = ${workspaceId} and l.conversation_id = ${conversationId} and l.id in (
        select m.id from newest_messages m
        where m.direction = 'outbound' and m.status in ('sent', 'delivered')
          and ${isOfVisitor(sql, workspaceId, conversationId, visitorId)}
      )
      order by l.id
      for no key update
    )
    update messages m set status = 'read'
    from locked_messages l
    where m.workspace_id = ${workspaceId} and m.conversation_id = ${conversationId} and m.id = l.id`
  return count > 0
}

/** Returns false when the message has moved to another conversation. */
async function readUpTo(
  sql: Sql,
  workspaceId: string,
  last: { conversation_id: string; id: string },
): Promise<boolean> {
  await sql`
    with locked_messages as (
      select m.id, m.status as status_before
      from messages m
      where m.workspace_id = ${workspaceId} and m.conversation_id = ${last.conversation_id} and m.id <= ${last.id}
        and m.direction = 'outbound' and m.status in ('sent', 'delivered')
      order by m.id
      for no key update
    ),
    updated_messages as (
      update messages m set status = 'read'
      from locked_messages l
      where m.workspace_id = ${workspaceId} and m.conversation_id = ${last.conversation_id} and m.id = l.id
      returning m.workspace_id, m.created_at, m.status, l.status_before, ${connectionOf(sql)} as connection_id
    ),
    ${countOutcomes(sql, sql`updated_messages`)}
    select 1`
  const [unmoved] = await sql`
    select from messages
    where workspace_id = ${workspaceId} and conversation_id = ${last.conversation_id} and id = ${last.id}`
  return unmoved !== undefined
}
