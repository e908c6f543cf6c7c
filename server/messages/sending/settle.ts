/**
 * The second write of a send: the outcome of a message that was prepared as `pending`.
 *
 * An outcome is `sent`, `failed` or `unknown`. An unknown outcome leaves the message `pending`: a report of the channel
 * settles it, and after 15 minutes without one the sweep fails it. A message that the channel refused, or that did not reach
 * the channel, releases its quota unit, and its conversation shows the message before it as the last one again. The same
 * statement records the event and updates the daily counters and the recipient of a broadcast.
 */
import { releaseQuotaOf } from '../../accounts/quota.ts'
import type { SendAnswer } from '../../channels/channel.ts'
import { type Batch, createBatch } from '../../lib/batch.ts'
import { type Fragment, jsonObject, type Sql, sharedFragment } from '../../lib/postgres/db.ts'
import { fold } from '../../lib/text.ts'
import { emit } from '../../webhooks/emit.ts'
import { connectionOf, countOutcomes, hasReports } from '../outcomes.ts'
import { reindexFailedReplies } from '../reindex-requests.ts'
import { messageJson } from '../resource.ts'
import { awaitsRetry, followStatus, type StatusContext } from '../status-follower.ts'
import type { OutboundMessage } from './prepare.ts'

export type SendOutcome = Pick<OutboundMessage, 'workspace_id' | 'conversation_id' | 'id'> & {
  status: 'sent' | 'failed' | 'unknown'
  external_id: string | null
  error: string | null
  /** The name the caller gave for the contact, stored if the channel accepted the message. */
  rename?: { contact_id: string; name: string } | undefined
}

/** Translates the channel's answer into the outcome of the message. */
export function toOutcome(
  { workspace_id, conversation_id, id }: Pick<OutboundMessage, 'workspace_id' | 'conversation_id' | 'id'>,
  sent: SendAnswer,
): SendOutcome {
  const message = { workspace_id, conversation_id, id }
  if (sent.ok) return { ...message, status: 'sent', external_id: sent.external_id, error: null }
  const status = sent.outcome === 'unknown' ? 'unknown' : 'failed'
  return { ...message, status, external_id: null, error: sent.outcome === 'unsent' ? unsentError(sent) : sent.message }
}

const nothingSent = ', so nothing was sent'

/** The error of a message that did not reach the channel. */
export const unsentError = ({ message }: { message: string }): string =>
  `the channel could not be reached (${message.replace(/\.$/, '')})${nothingSent}`

/** Whether the message failed with this error before it reached the channel. */
export const isUnsentError = (error: string | null): boolean => error?.endsWith(nothingSent) ?? false

/**
 * Settles the messages of concurrent sends in one statement. `sql` may lose its last commits in a power cut: those messages
 * are `pending` again and the channel's reports settle them.
 */
export const createSettler = (sql: Sql, context: StatusContext): Batch<SendOutcome, undefined> =>
  createBatch({
    run: (outcomes: readonly SendOutcome[]) => settleMessages(sql, outcomes, context),
    flowOf: ({ workspace_id }) => workspace_id,
    lanes: 1,
  })

async function settleMessages(
  sql: Sql,
  outcomes: readonly SendOutcome[],
  { publicUrl, follower }: StatusContext,
): Promise<void> {
  const rows = outcomes.map(({ rename, ...outcome }) =>
    rename ? { ...outcome, contact_id: rename.contact_id, name: rename.name, name_key: fold(rename.name) } : outcome,
  )
  // Most batches have no failure and no name; their statement is shorter.
  const hasNames = outcomes.some(({ rename }) => rename)
  const hasFailures = outcomes.some(({ status }) => status === 'failed')
  await sql`
    with
    -- The outcomes, with the contact's new name where the caller gave one.
    input as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        workspace_id uuid, conversation_id uuid, id uuid, status text, external_id text, error text, contact_id uuid,
        name text, name_key text
      )
    ),
    ${hasFailures ? lockConversations(sql) : sql``}
    -- Their messages, locked in the order of their ids, so that two batches cannot deadlock. Found by id alone: merging two
    -- contacts may move a message to another conversation at any time.
    locked_messages as (
      select i.workspace_id, i.id, i.status, i.external_id, i.error, i.contact_id, i.name, i.name_key,
        m.status as status_before, ${connectionOf(sql)} as connection_id,
        -- A retry may be sent long after its message was created, and the sweep may have failed the message by then.
        m.status = 'failed' and m.external_id is null and i.status = 'sent' as was_swept,
        ${hasFailures ? sql`v.id` : sql`null::uuid`} as locked_conversation_id
      from input i
      ${hasFailures ? sql`left join locked_conversations v on (v.workspace_id, v.id) = (i.workspace_id, i.conversation_id)` : sql``}
      join messages m on m.workspace_id = i.workspace_id and m.id = i.id
      order by m.conversation_id, m.id
      for no key update of m
    ),
    -- A report may have moved the message already: then only the channel's id is stored.
    settled_messages as (
      update messages m set
        external_id = coalesce(l.external_id, m.external_id),
        status = case
          when m.status = 'pending' and l.status <> 'unknown' or l.was_swept then l.status else m.status end,
        error = case when m.status = 'pending' or l.was_swept then l.error else m.error end
      from locked_messages l
      where m.workspace_id = l.workspace_id and m.id = l.id
      returning m.workspace_id, m.conversation_id, m.id, m.sender_type, m.status, m.error, m.created_at, m.visitor_id,
        l.status_before, l.connection_id, l.locked_conversation_id,
        case when l.was_swept then -1 else (l.status = 'failed' and l.status_before = 'pending')::int end as released_units
    ),
    ${hasNames ? storeNames(sql) : sql``}
    ${hasFailures ? restoreLastMessages(sql) : sql``}
    ${countOutcomes(sql, sql`settled_messages`, hasReports(sql))}${followStatus(sql, follower, sql`settled_messages`)},
    ${reindexFailedReplies(sql, sql`settled_messages`)}${hasFailures ? sql`, ${emitFailures(sql, publicUrl)}` : sql``}
    ${releaseQuotaOf(sql, sql`settled_messages`)}`
}

/** Member of a `with` list, with a comma after it. */
const lockConversations = (sql: Sql): Fragment => sql`
  -- The conversations of refused messages, locked before messages (lock order: ARCHITECTURE.md).
  locked_conversations as (
    select v.workspace_id, v.id
    from (select distinct workspace_id, conversation_id from input where status = 'failed') i
    join conversations v on v.workspace_id = i.workspace_id and v.id = i.conversation_id
    order by v.id
    for no key update of v
  ),`

/** Member of a `with` list, with a comma after it. */
const restoreLastMessages = (sql: Sql): Fragment => sql`
  -- The conversations whose last message was refused show the last one that did not fail.
  restored_conversations as (
    update conversations v set last_message_text = n.content_text, last_message_at = n.created_at, updated_at = now()
    from (
      select workspace_id, conversation_id, max(created_at) as created_at, array_agg(id) as message_ids
      from settled_messages
      where status = 'failed' and status_before = 'pending' and locked_conversation_id = conversation_id
      group by workspace_id, conversation_id
    ) r
    left join lateral (
      select m.content_text, m.created_at from messages m
      where m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id and m.status <> 'failed'
        and m.id <> all(r.message_ids)
      order by m.id desc
      limit 1
    ) n on true
    where v.workspace_id = r.workspace_id and v.id = r.conversation_id and v.last_message_at = r.created_at
  ),`

/** Members of a `with` list, with a comma after them: the contacts' new names from `locked_messages`. */
const storeNames = (sql: Sql): Fragment => sql`
  -- The names of accepted messages, the newest of each contact. Sorting reads all locked messages before the first
  -- contact changes, so messages are locked before contacts.
  new_names as (
    select distinct on (workspace_id, contact_id) workspace_id, contact_id, name, name_key
    from locked_messages
    where status = 'sent' and name is not null
    order by workspace_id, contact_id, id desc
  ),
  -- Contacts that had another name.
  renamed_contacts as (
    update contacts c set name = n.name, name_key = n.name_key, updated_at = clock_timestamp()
    from new_names n
    where c.workspace_id = n.workspace_id and c.id = n.contact_id and c.name is distinct from n.name
  ),`

/**
 * Members of a `with` list: `message.status_updated` for each message of the primary channel in `settled_messages` that
 * the statement moved to `failed`. The channel reports every other change, and those reports are the events.
 */
const emitFailures = sharedFragment((sql, publicUrl) =>
  emit(sql, {
    event: 'message.status_updated',
    workspaces: sql`settled_messages`,
    from: sql`settled_messages s
      join conversations v on v.workspace_id = s.workspace_id and v.id = s.conversation_id and v.channel = 'msgapp'
      join messages m on m.workspace_id = s.workspace_id and m.id = s.id`,
    where: sql`s.status = 'failed' and s.status_before <> 'failed'`,
    order: sql`m.id`,
    workspaceId: sql`s.workspace_id`,
    occurredAt: sql`now()`,
    data: jsonObject(
      sql,
      sql`m.external_id as msgapp_message_id, s.conversation_id, s.status,
        ${messageJson(sql, sql`v.channel`, publicUrl, { status: sql`s.status`, error: sql`s.error` })} as message`,
    ),
  }),
)

/**
 * Fails prepared messages of a broadcast that will not be sent. The caller has settled their recipients. Without `emits`
 * there is no event: for messages that the same transaction deletes.
 */
export async function failUnsent(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
  error: string,
  { emits = true } = {},
): Promise<void> {
  // The messages are templates, which have no `media_url` to complete.
  const emitted = emits ? sql`, ${emitFailures(sql, '')}` : sql``
  await sql`
    with settled_messages as (
      update messages m set status = 'failed', error = ${error}
      where m.workspace_id = ${workspaceId} and m.id = any(${[...ids]}::uuid[])
        and m.external_id is null and m.direction = 'outbound' and m.status = 'pending'
      returning m.workspace_id, m.conversation_id, m.id, m.created_at, m.status, m.error, 'pending' as status_before,
        ${connectionOf(sql)} as connection_id, 1 as released_units
    ),
    ${countOutcomes(sql, sql`settled_messages`)}${emitted}
    ${releaseQuotaOf(sql, sql`settled_messages`)}`
}

/** A message without a report for this long has failed. */
const reportTimeoutMinutes = 15
const noReport = `no report from the channel within ${reportTimeoutMinutes} minutes`

/** Whether the sweep failed the message with this error: the channel may still have accepted it. */
export const isSweptError = (error: string | null): boolean => error?.endsWith(noReport) ?? false

/**
 * Fails messages that are at most `maxAgeDays` old and had no report in time; a later report still moves them. Returns
 * their workspaces.
 *
 * A message waits from its creation, and a broadcast's retry may be sent after days in a paused broadcast. So a second,
 * hourly sweep covers a year. Its index also has all failed messages: 300,000 of them take 0.3 s.
 */
export async function sweepPending(
  sql: Sql,
  { publicUrl, follower }: StatusContext,
  maxAgeDays = 7,
): Promise<string[]> {
  const released = await sql<{ workspace_id: string }[]>`
    with settled_messages as (
      update messages m set
        status = 'failed',
        error = coalesce(m.error || '; ', '') || ${noReport}
      where m.external_id is null and m.direction = 'outbound' and m.status = 'pending'
        and m.created_at > now() - make_interval(days => ${maxAgeDays})
        and m.created_at <= now() - make_interval(mins => ${reportTimeoutMinutes})
        and not ${awaitsRetry(sql, follower)}
      returning m.workspace_id, m.conversation_id, m.id, m.sender_type, m.status, m.error, m.created_at, m.visitor_id,
        'pending' as status_before, ${connectionOf(sql)} as connection_id, 1 as released_units
    ),
    ${countOutcomes(sql, sql`settled_messages`, hasReports(sql))}${followStatus(sql, follower, sql`settled_messages`)},
    ${reindexFailedReplies(sql, sql`settled_messages`)},
    ${emitFailures(sql, publicUrl)}
    ${releaseQuotaOf(sql, sql`settled_messages`)}
    returning u.workspace_id`
  return released.map(({ workspace_id }) => workspace_id)
}
