/**
 * The queue of scheduled messages: claim and settle.
 *
 * A claim stores the id of the message and takes a lease. A worker that claims the row again, after a crash of the first one, sends under
 * the same id: the sender finds the first attempt by it and does not send twice. Facts about a message are stored only while the row
 * still has that id.
 *
 * The messages of a conversation are sent one after the other, in the order of their times.
 */
import { idFromTime } from '../lib/id.ts'
import type { Db, Fragment, Sql } from '../lib/postgres/db.ts'
import { countWaiting } from '../lib/postgres/waiting.ts'
import type { Metrics } from '../lib/process/metrics.ts'
import type { MediaSlots } from '../media/slots.ts'
import { releaseUploads } from '../media/uploads.ts'
import type { ScheduledContent } from './scheduled.ts'

export type ClaimedMessage = {
  workspace_id: string
  id: string
  conversation_id: string
  member_id: string | null
  content: ScheduledContent
  reply_to_message_id: string | null
  message_id: string
  attempt_count: number
  /** An earlier claim had the same message id. */
  is_repeat: boolean
}

type Claim = { claimed: ClaimedMessage[]; held: { workspace_id: string; conversation_id: string }[] }

/** How many due messages of a workspace a claim reads: many of them may be in the same conversation. */
const maxRead = 50

/** Whether messages wait for their time or for the outcome of a send. */
export const hasScheduled = (sql: Sql): Fragment =>
  sql`exists (select from scheduled_messages where state in ('scheduled', 'sending'))`

/**
 * Claims up to `limit` due messages. Workspaces take turns: those with the fewest sends in flight in this process first, within their
 * limits. A message whose customer has written since is held in the same statement.
 */
export async function claimScheduled(
  sql: Sql,
  limit: number,
  slots: Pick<MediaSlots, 'busy' | 'maxPerWorkspace'>,
  { leaseMs }: { leaseMs: number },
): Promise<Claim> {
  type Row = ClaimedMessage & { state: 'sending' | 'held' }
  const rows = await sql<Row[]>`
    with recursive
    -- The workspaces with sends in flight in this process, and their limits.
    busy_workspaces as (
      select workspace_id, in_flight, max_in_flight
      from json_to_recordset(${JSON.stringify(slots.busy())}::text::json) as b (workspace_id uuid, in_flight int, max_in_flight int)
    ),
    -- Every workspace with a message that waits, found by one index step each.
    waiting_workspaces as (
      (
        select workspace_id from scheduled_messages where state in ('scheduled', 'sending')
        order by workspace_id limit 1
      )
      union all
      select (
        select s.workspace_id from scheduled_messages s
        where s.state in ('scheduled', 'sending') and s.workspace_id > w.workspace_id
        order by s.workspace_id
        limit 1
      )
      from waiting_workspaces w
      where w.workspace_id is not null
    ),
    -- The first due message of each conversation, unless a worker sends another one there.
    due_messages as (
      select f.workspace_id, f.id, f.due_at, f.max_in_flight,
        f.in_flight + row_number() over (partition by f.workspace_id order by f.due_at, f.id) as round
      from (
        select distinct on (d.workspace_id, d.conversation_id) d.workspace_id, d.id, d.due_at,
          coalesce(b.in_flight, 0) as in_flight, coalesce(b.max_in_flight, ${slots.maxPerWorkspace}::int) as max_in_flight
        from waiting_workspaces w
        left join busy_workspaces b on b.workspace_id = w.workspace_id
        cross join lateral (
          select s.workspace_id, s.id, s.conversation_id, s.send_at, s.due_at from scheduled_messages s
          where s.workspace_id = w.workspace_id and s.state in ('scheduled', 'sending') and s.due_at <= now()
          order by s.due_at, s.id
          limit ${maxRead}
        ) d
        where not exists (
          select from scheduled_messages o
          where o.workspace_id = d.workspace_id and o.conversation_id = d.conversation_id and o.state = 'sending'
            and o.error is null and o.due_at > now()
        )
        order by d.workspace_id, d.conversation_id, d.send_at, d.id
      ) f
    ),
    -- Round by round, one message per workspace.
    chosen_messages as (
      select workspace_id, id from due_messages where round <= max_in_flight order by round, due_at limit ${limit}
    ),
    -- Without rows that another worker or a member is changing.
    locked_messages as (
      select s.workspace_id, s.id, s.state = 'sending' as is_repeat, ${isHeld(sql)} as is_held
      from scheduled_messages s
      join chosen_messages c on c.workspace_id = s.workspace_id and c.id = s.id
      where s.state in ('scheduled', 'sending') and s.due_at <= now()
      for update of s skip locked
    )
    update scheduled_messages s set state = case when l.is_held then 'held' else 'sending' end,
      message_id = case when not l.is_held then coalesce(s.message_id, ${idFromTime(sql, sql`clock_timestamp()`)}) end,
      attempt_count = s.attempt_count + 1, due_at = ${after(sql, leaseMs)}, updated_at = now()
    from locked_messages l
    where s.workspace_id = l.workspace_id and s.id = l.id
    returning s.workspace_id, s.id, s.conversation_id, s.member_id, s.content, s.reply_to_message_id, s.message_id,
      s.attempt_count, s.state, l.is_repeat`
  return {
    claimed: rows.filter(({ state }) => state === 'sending'),
    held: rows.filter(({ state }) => state === 'held'),
  }
}

/** Whether the customer has written since the message `s` was. A reaction needs no other answer. */
const isHeld = (sql: Sql): Fragment => sql`(
  s.state = 'scheduled' and s.hold_if_customer_writes and exists (
    select from conversations v
    where v.workspace_id = s.workspace_id and v.id = s.conversation_id and v.last_received_at > s.written_at and exists (
      select from messages m
      where m.workspace_id = v.workspace_id and m.conversation_id = v.id
        and m.id > ${idFromTime(sql, sql`(s.written_at - interval '1 millisecond')`)} and m.created_at > s.written_at
        and m.direction = 'inbound' and m.content_type <> 'reaction'
    )
  )
)`

const after = (sql: Sql, ms: number): Fragment => sql`now() + make_interval(secs => ${ms / 1000})`

/** Extends the leases of messages that this process is sending. */
export async function keepLeases(sql: Sql, messages: readonly ClaimedMessage[], leaseMs: number): Promise<void> {
  await sql`
    update scheduled_messages s set due_at = ${after(sql, leaseMs)}
    from unnest(${messages.map(({ workspace_id }) => workspace_id)}::uuid[], ${messages.map(({ id }) => id)}::uuid[],
      ${messages.map(({ message_id }) => message_id)}::uuid[]) as i (workspace_id, id, message_id)
    where s.workspace_id = i.workspace_id and s.id = i.id and s.message_id = i.message_id and s.state = 'sending'`
}

export async function settleSent(db: Db, message: ClaimedMessage): Promise<void> {
  await settle(db, message, (sql) => sql`state = 'sent', error = null, upload_ids = '{}'`)
}

/** Ends a message that could not be sent. Its files stay for the next attempt, unless the failed message has them. */
export async function settleFailed(db: Db, message: ClaimedMessage, reason: string): Promise<void> {
  const { workspace_id: workspaceId, message_id: messageId } = message
  const error = reason.replaceAll('\0', '').slice(0, 1_000).toWellFormed()
  const [stored] = await db`select from messages where workspace_id = ${workspaceId} and id = ${messageId}`
  await settle(db, message, (sql) =>
    stored
      ? sql`state = 'failed', error = ${error}, upload_ids = '{}'`
      : sql`state = 'failed', error = ${error}, message_id = null`,
  )
}

/** Writes the outcome of this attempt, and gives up the uses of the files that the row had and no longer has. */
async function settle(
  db: Db,
  { workspace_id: workspaceId, id, message_id: messageId }: ClaimedMessage,
  columns: (sql: Sql) => Fragment,
): Promise<void> {
  await db.begin(async (sql) => {
    const [before] = await sql<{ upload_ids: string[] }[]>`
      select upload_ids from scheduled_messages
      where workspace_id = ${workspaceId} and id = ${id} and state = 'sending' and message_id = ${messageId}
      for update`
    if (!before) return
    const [row] = await sql<{ upload_ids: string[] }[]>`
      update scheduled_messages set ${columns(sql)}, updated_at = now()
      where workspace_id = ${workspaceId} and id = ${id}
      returning upload_ids`
    if (row?.upload_ids.length === 0) await releaseUploads(sql, workspaceId, before.upload_ids)
  })
}

/** Whether the message is stored as failed. */
export async function isMessageFailed(
  sql: Sql,
  { workspace_id: workspaceId, message_id: messageId }: ClaimedMessage,
): Promise<boolean> {
  const [failed] = await sql`
    select from messages where workspace_id = ${workspaceId} and id = ${messageId} and status = 'failed'`
  return failed !== undefined
}

/** Lets a worker claim the message again after `afterMs`. `error`: the outcome of the send is not known. `isAttempt`: the claim counts. */
export async function releaseMessage(
  sql: Sql,
  { workspace_id: workspaceId, id, message_id: messageId }: ClaimedMessage,
  { afterMs, isAttempt, error = null }: { afterMs: number; isAttempt: boolean; error?: string | null },
): Promise<void> {
  await sql`
    update scheduled_messages set due_at = ${after(sql, afterMs)}, error = ${error},
      attempt_count = attempt_count - ${isAttempt ? 0 : 1}::int
    where workspace_id = ${workspaceId} and id = ${id} and state = 'sending' and message_id = ${messageId}`
}

const keptDays = 90
const sweepBatchSize = 500

/** Deletes messages of all workspaces that ended 90 days ago. */
export async function sweepScheduled(sql: Sql): Promise<void> {
  for (;;) {
    const deleted = await sql<{ workspace_id: string; upload_ids: string[] }[]>`
      with expired_messages as (
        select workspace_id, id from scheduled_messages
        where state in ('sent', 'failed', 'canceled') and updated_at < now() - make_interval(days => ${keptDays})
        order by updated_at
        limit ${sweepBatchSize}
        for update skip locked
      )
      delete from scheduled_messages s using expired_messages e
      where s.workspace_id = e.workspace_id and s.id = e.id
      returning s.workspace_id, s.upload_ids`
    for (const { workspace_id, upload_ids } of deleted) await releaseUploads(sql, workspace_id, upload_ids)
    if (deleted.length < sweepBatchSize) return
  }
}

/** A gauge of messages that wait for their time, and of those that no worker has claimed since. */
export function watchScheduled(sql: Sql, metrics: Metrics): void {
  metrics.gauge(
    'parley_scheduled_messages',
    'Scheduled messages: waiting for their time, late, and by how many seconds the latest is.',
    'what',
    async () => {
      const waiting = await countWaiting(
        sql,
        sql`select due_at from scheduled_messages where state in ('scheduled', 'sending')`,
      )
      const late = await countWaiting(
        sql,
        sql`select due_at from scheduled_messages where state in ('scheduled', 'sending') and due_at < now()`,
      )
      return { waiting: waiting.count, late: late.count, late_seconds: late.oldest_seconds ?? 0 }
    },
  )
}
