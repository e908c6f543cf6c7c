/**
 * What we send, written in two steps with the channel's answer between them:
 * prepared as `pending`, then settled. Nothing is held meanwhile. A crash in
 * between leaves the `pending` row; the channel's own reports carry our id and
 * settle it, or the sweep does.
 *
 * Preparing also takes the message's place in the plan of the month; a message
 * the channel refused gives it back.
 */
import { countQuota, quotaError, releaseQuotaOf } from '../accounts/quota.ts'
import { createBatch } from '../lib/batch.ts'
import { type Db, type Fragment, jsonObject, type Sql, withRetries } from '../lib/db.ts'
import { type ApiError, notFound } from '../lib/errors.ts'
import { timeOfId } from '../lib/id.ts'
import { fold } from '../lib/text.ts'
import { emit } from '../webhooks/emit.ts'
import { type Applying, andFollow, isHeld } from './follow.ts'
import { messageColumns } from './messages.ts'
import { countOutcomes } from './outcomes.ts'
import { reindexFailedReplies } from './reindex-requests.ts'

export type NewOutbound = {
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
}

export type Outcome = {
  workspace_id: string
  conversation_id: string
  id: string
  status: 'sent' | 'failed' | 'unknown'
  external_id: string | null
  error: string | null
  /** The name the caller gave for the contact, stored if the channel accepted the message. */
  rename?: { contact_id: string; name: string } | undefined
}

export type Ledger = {
  /** Write it as pending. 402 when the plan has no room, 404 when the conversation is not there any more. */
  prepare(message: NewOutbound): Promise<void>
  /** Write what became of it. */
  settle(outcome: Outcome): Promise<void>
}

/**
 * `settleSql` may forget its last commits in a power cut: what it settled is pending again then, and settled by the
 * channel's reports.
 */
export function createLedger(sql: Sql, settleSql: Sql, applying: Applying): Ledger {
  // One at a time: they all count in the plan, and a second would only wait for the first, in smaller batches.
  const prepare = createBatch({ run: (messages: readonly NewOutbound[]) => prepareMessages(sql, messages), lanes: 1 })
  const settle = createBatch({
    run: (outcomes: readonly Outcome[]) => settleMessages(settleSql, outcomes, applying),
    lanes: 1,
  })
  return {
    async prepare(message) {
      if (await prepare(message)) return
      // The whole batch did not fit in the plan, or this one alone does not.
      const [fits] = await withRetries(() => prepareMessages(sql, [message]))
      if (!fits) throw await faultOf(sql, message)
    },
    settle,
  }
}

/** Write messages as pending whose places in the plan were taken before. */
export async function prepareReserved(sql: Sql, messages: readonly NewOutbound[]): Promise<void> {
  const prepared = await prepareMessages(sql, messages, { isReserved: true })
  if (!prepared.every(Boolean)) throw new Error('a conversation just found or made is not there')
}

/** Which of them found room in their workspace's plan: all of a workspace's whose conversations are there, or none. */
async function prepareMessages(
  sql: Sql,
  messages: readonly NewOutbound[],
  { isReserved = false } = {},
): Promise<boolean[]> {
  const rows = messages.map((message) => ({ ...message, created_at: timeOfId(message.id) }))
  const preparable = sql`given g join locked l on l.workspace_id = g.workspace_id and l.id = g.conversation_id`
  const added = await sql<{ id: string }[]>`
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        workspace_id uuid, conversation_id uuid, id uuid, sender_type text, sender_id uuid, content_type text,
        content_text text, content jsonb, media_url text, template_name text, reply_to_message_id uuid,
        broadcast_id uuid, created_at timestamptz
      )
    ),
    -- In order, so that two batches with the same conversations never lock each other out.
    locked as (
      select v.workspace_id, v.id
      from conversations v
      where (v.workspace_id, v.id) in (select workspace_id, conversation_id from given)
      order by v.id
      for no key update
    ),
    ${isReserved ? sql`counted_quota as (select distinct workspace_id from given)` : countQuota(sql, preparable)},
    added as (
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, sender_id, content_type,
        content_text, content, media_url, template_name, status, reply_to_message_id, broadcast_id, created_at)
      select g.workspace_id, g.conversation_id, g.id, 'outbound', g.sender_type, g.sender_id, g.content_type,
        g.content_text, g.content, g.media_url, g.template_name, 'pending', g.reply_to_message_id, g.broadcast_id,
        g.created_at
      from given g
      join counted_quota c on c.workspace_id = g.workspace_id
      join locked l on l.workspace_id = g.workspace_id and l.id = g.conversation_id
      returning workspace_id, conversation_id, id, content_text, created_at
    ),
    touched as (
      update conversations v
      set last_message_text = a.content_text, last_message_at = a.created_at, updated_at = now()
      from (
        select distinct on (workspace_id, conversation_id) workspace_id, conversation_id, content_text, created_at
        from added order by workspace_id, conversation_id, id desc
      ) a
      where v.workspace_id = a.workspace_id and v.id = a.conversation_id
        and (v.last_message_at is null or v.last_message_at <= a.created_at)
    )
    select id from added`
  const ids = new Set(added.map(({ id }) => id))
  return messages.map(({ id }) => ids.has(id))
}

/**
 * Make somebody and prepare the message to them, or neither: in a plan with a limit nobody is made for a message that
 * finds no room. The count is taken last, here as everywhere: whoever held it while looking for a conversation would
 * wait for those who hold the conversation and wait for the count.
 */
export async function prepareFirst<Made extends { row: NewOutbound }>(
  db: Db,
  make: (sql: Sql) => Promise<Made>,
): Promise<Made> {
  const run = async (sql: Sql) => {
    const made = await make(sql)
    const [isPrepared] = await prepareMessages(sql, [made.row])
    if (!isPrepared) throw await faultOf(sql, made.row)
    return made
  }
  return withRetries(() => db.begin(run) as Promise<Made>)
}

/** Why a message was not written: 404 when its conversation was erased in this very moment, else 402. */
async function faultOf(
  sql: Sql,
  { workspace_id, conversation_id }: Pick<NewOutbound, 'workspace_id' | 'conversation_id'>,
): Promise<ApiError> {
  const [there] = await sql`
    select 1 from conversations where workspace_id = ${workspace_id} and id = ${conversation_id}`
  return there ? quotaError(sql, workspace_id) : notFound('conversation')
}

async function settleMessages(
  sql: Sql,
  outcomes: readonly Outcome[],
  { publicUrl, follower }: Applying,
): Promise<undefined[]> {
  const rows = outcomes.map(({ rename, ...outcome }) =>
    rename ? { ...outcome, contact_id: rename.contact_id, name: rename.name, name_key: fold(rename.name) } : outcome,
  )
  // Most batches have none, and are not slowed down by it.
  const hasFailures = outcomes.some(({ status }) => status === 'failed')
  await sql`
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        workspace_id uuid, conversation_id uuid, id uuid, status text, external_id text, error text, contact_id uuid,
        name text, name_key text
      )
    ),
    locked as (
      select g.workspace_id, g.conversation_id, g.id, g.status, g.external_id, g.error, g.contact_id, g.name, g.name_key,
        m.status as status_before,
        -- A second try may be sent long after its message was made, and the sweep may come in between.
        m.status = 'failed' and m.external_id is null and g.status = 'sent' as was_given_up
      from given g
      join messages m on m.workspace_id = g.workspace_id and m.conversation_id = g.conversation_id and m.id = g.id
      order by m.conversation_id, m.id
      for no key update of m
    ),
    settled as (
      update messages m set
        external_id = coalesce(l.external_id, m.external_id),
        status = case
          when m.status = 'pending' and l.status <> 'unknown' or l.was_given_up then l.status else m.status end,
        -- An error that a report has overtaken is none.
        error = case when m.status = 'pending' or l.was_given_up then l.error else m.error end
      from locked l
      where m.workspace_id = l.workspace_id and m.conversation_id = l.conversation_id and m.id = l.id
      returning m.workspace_id, m.conversation_id, m.id, m.sender_type, m.status, m.error, m.created_at, l.status_before,
        case when l.was_given_up then -1 else (l.status = 'failed' and l.status_before = 'pending')::int end as released_units
    ),
    -- The names to store: of accepted messages only, the newest of each contact. The sort reads all of locked before the
    -- first contact is changed, so messages are locked before contacts.
    new_names as (
      select distinct on (workspace_id, contact_id) workspace_id, contact_id, name, name_key
      from locked
      where status = 'sent' and name is not null
      order by workspace_id, contact_id, id desc
    ),
    renamed_contacts as (
      update contacts c set name = n.name, name_key = n.name_key, updated_at = now()
      from new_names n
      where c.workspace_id = n.workspace_id and c.id = n.contact_id and c.name is distinct from n.name
    ),
    ${countOutcomes(sql, sql`settled`)}${andFollow(sql, follower, sql`settled`)},
    ${reindexFailedReplies(sql, sql`settled`)}${hasFailures ? sql`, ${emitFailures(sql, publicUrl)}` : sql``}
    ${releaseQuotaOf(sql, sql`settled`)}`
  return outcomes.map(() => undefined)
}

/**
 * Members of a `with` list: `message.status_updated` for each message of the primary channel in `settled` that this
 * statement moved to `failed`. The channel reports every other move, and those reports are the events.
 */
const emitFailures = (sql: Sql, publicUrl: string): Fragment =>
  emit(sql, {
    event: 'message.status_updated',
    workspaces: sql`settled`,
    from: sql`settled s
      join conversations v on v.workspace_id = s.workspace_id and v.id = s.conversation_id and v.channel = 'msgapp'
      join messages m on m.workspace_id = s.workspace_id and m.conversation_id = s.conversation_id and m.id = s.id`,
    where: sql`s.status = 'failed' and s.status_before <> 'failed'`,
    workspaceId: sql`s.workspace_id`,
    occurredAt: sql`now()`,
    data: jsonObject(
      sql,
      sql`m.external_id as msgapp_message_id, m.conversation_id, s.status,
        ${jsonObject(
          sql,
          messageColumns(sql, sql`v.channel`, publicUrl, { status: sql`s.status`, error: sql`s.error` }),
        )} as message`,
    ),
  })

/**
 * Fail a broadcast's messages that were prepared and will not be sent. Their recipients have been settled by the caller.
 * Without `emits` there is no event: for messages that the same transaction deletes.
 */
export async function failUnsent(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
  error: string,
  { emits = true } = {},
): Promise<void> {
  // They are templates, which have no `media_url` to complete.
  const emitted = emits ? sql`, ${emitFailures(sql, '')}` : sql``
  await sql`
    with settled as (
      update messages m set status = 'failed', error = ${error}
      where m.workspace_id = ${workspaceId} and m.id = any(${[...ids]}::uuid[])
        and m.external_id is null and m.direction = 'outbound' and m.status = 'pending'
      returning m.workspace_id, m.conversation_id, m.id, m.created_at, m.status, m.error, 'pending' as status_before,
        1 as released_units
    ),
    ${countOutcomes(sql, sql`settled`)}${emitted}
    ${releaseQuotaOf(sql, sql`settled`)}`
}

/** How long the channel's reports are waited for. */
const patienceMinutes = 15

/** What is older is looked at seldom: it is many, and hardly any of it is pending. */
const lately = '7 days'

/** Messages without an outcome for too long have failed, unless a report still says otherwise. Answers whose they were. */
export const sweepPending = (sql: Sql, applying: Applying): Promise<string[]> =>
  failSilent(sql, { from: lately, to: `${patienceMinutes} minutes` }, applying)

/**
 * The same for older ones: a broadcast's message that was put back, waited for days with its broadcast paused and then got
 * no outcome; and what was under way when everything stood still for a week. In stretches, each twice as long ago as the
 * one before, up to twenty years.
 */
export async function sweepForgotten(sql: Sql, applying: Applying): Promise<string[]> {
  const workspaceIds = new Set<string>()
  for (let days = 7; days < 20 * 365; days *= 2) {
    const stretch = { from: `${days * 2} days`, to: `${days} days` }
    for (const id of await failSilent(sql, stretch, applying)) workspaceIds.add(id)
  }
  return [...workspaceIds]
}

/** Those made between so long ago and so long ago: what was refused, and what has no other name than ours, is in the index too. */
async function failSilent(
  sql: Sql,
  { from, to }: { from: string; to: string },
  { publicUrl, follower }: Applying,
): Promise<string[]> {
  const given = await sql<{ workspace_id: string }[]>`
    with settled as (
      update messages m set
        status = 'failed',
        error = coalesce(m.error || '; ', '') || ${`no report from the channel within ${patienceMinutes} minutes`}
      where m.external_id is null and m.direction = 'outbound' and m.status = 'pending'
        and m.created_at > now() - ${from}::interval and m.created_at <= now() - ${to}::interval
        and not ${isHeld(sql, follower)}
      returning m.workspace_id, m.conversation_id, m.id, m.sender_type, m.status, m.error, m.created_at,
        'pending' as status_before, 1 as released_units
    ),
    ${countOutcomes(sql, sql`settled`)}${andFollow(sql, follower, sql`settled`)},
    ${reindexFailedReplies(sql, sql`settled`)},
    ${emitFailures(sql, publicUrl)}
    ${releaseQuotaOf(sql, sql`settled`)}
    returning u.workspace_id`
  return given.map(({ workspace_id }) => workspace_id)
}
