/**
 * Broadcasts: one template to many recipients.
 *
 * A broadcast is accepted with its recipients as rows, or with a segment that becomes rows when it starts. A draft gets its
 * recipients in batches, and starts when the caller says so. It is `sending`
 * until no recipient is pending. Then it reads as `sent`, even before the loop has written that.
 *
 * The quota of all recipients is reserved at the start. A unit belongs to the broadcast (`reserved_count`) until its
 * recipient is handed over, and to the message from then on.
 */

import { releaseQuota, reserveQuota } from '../accounts/quota.ts'
import { ApiError, badRequest, notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import type { RequestedTemplate } from '../messages/sending/requested-content.ts'
import { failUnsent } from '../messages/sending/settle.ts'
import { addCounts, sumCounts } from './counts.ts'
import { probeNow } from './pace.ts'
import { type Broadcast, type BroadcastStatus, broadcastColumns, broadcastTables, doneAt, isOver } from './resource.ts'

export async function getBroadcast(sql: Sql, workspaceId: string, id: string): Promise<Broadcast | undefined> {
  const [row] = isUuid(id)
    ? await sql<Broadcast[]>`
        select ${broadcastColumns(sql)}
        from ${broadcastTables(sql)}
        where b.workspace_id = ${workspaceId} and b.id = ${id}`
    : []
  return row
}

/** The names of these broadcasts by id. */
export async function listBroadcastNames(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; name: string }[]>`
    select id, name from broadcasts where workspace_id = ${workspaceId} and id = any(${[...ids]}::uuid[])`
  return new Map(rows.map(({ id, name }) => [id, name]))
}

export async function requireBroadcast(sql: Sql, workspaceId: string, id: string): Promise<Broadcast> {
  const broadcast = await getBroadcast(sql, workspaceId, id)
  if (!broadcast) throw notFound('broadcast')
  return broadcast
}

/** The template with its values, as a request has it. */
export const templateOf = ({ template, params, contact_fields }: Broadcast): RequestedTemplate => ({
  ...template,
  params,
  contact_fields,
})

/**
 * Starts a broadcast, in the caller's transaction. Contacts that opted out are skipped. Throws 402 when the plan does not allow
 * the others. One without a list has no recipients yet: `fillBroadcast` lists its audience and reserves their quota.
 */
export async function start(
  sql: Sql,
  workspaceId: string,
  id: string,
  { is_filled: isFilled }: Pick<Broadcast, 'is_filled'>,
): Promise<void> {
  await sql`
    update broadcasts set status = 'sending', is_paused = false, pause_reason = null
    where workspace_id = ${workspaceId} and id = ${id}`
  if (!isFilled) return
  await skipOptedOut(sql, workspaceId, id)
  const [usable] = await sql<{ count: number }[]>`
    select count(*)::int as count from broadcast_recipients
    where workspace_id = ${workspaceId} and broadcast_id = ${id} and status = 'pending'`
  await reserveRecipients(sql, workspaceId, id, usable?.count ?? 0)
}

/** Reserves the quota of all recipients that can be sent to. From then on they may be handed over. Throws 402. */
export async function reserveRecipients(sql: Sql, workspaceId: string, id: string, count: number): Promise<void> {
  const month = await reserveQuota(sql, workspaceId, count)
  await sql`
    update broadcasts set started_at = now(), plan_month = ${month}::text::date, reserved_count = ${count}
    where workspace_id = ${workspaceId} and id = ${id}`
}

export const optedOutReason = 'opted out of broadcasts'

async function skipOptedOut(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await sql`
    with moved_recipients as (
      update broadcast_recipients r set status = 'skipped', reason = ${optedOutReason}
      where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and r.status = 'pending'
        -- Not a join: the planner, which expects one such recipient, compared each recipient with each.
        and (
          select c.opted_out_at
          from contact_identities i
          join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
          where i.workspace_id = r.workspace_id and i.channel = 'msgapp' and i.external_id = r.identity
        ) is not null
      returning r.workspace_id, r.broadcast_id, 'pending' as status_before, r.status as status_after
    )
    ${addCounts(sql, sql`moved_recipients`)}`
}

export type LockedBroadcast = {
  status: BroadcastStatus
  is_paused: boolean
  is_due: boolean
  is_late: boolean
  is_filled: boolean
  saved_at: string | null
  position: number
  filled_count: number
  plan_month: string | null
  reserved_count: number
}

/** A broadcast that could not start within this time was missed. A member decides whether it is still sent. */
const missedHours = 24

/** 404 when it does not exist. */
export async function lockBroadcast(sql: Sql, workspaceId: string, id: string): Promise<LockedBroadcast> {
  const [row] = isUuid(id)
    ? await sql<LockedBroadcast[]>`
        select status, is_paused, is_filled, saved_at, position, filled_count, plan_month::text, reserved_count,
          coalesce(scheduled_at <= now(), true) as is_due,
          coalesce(scheduled_at < now() - make_interval(hours => ${missedHours}), false) as is_late
        from broadcasts where workspace_id = ${workspaceId} and id = ${id}
        for no key update`
    : []
  if (!row) throw notFound('broadcast')
  return row
}

/** Starts a scheduled broadcast that is due. Pauses it when it was missed; cancels it when the plan refuses it. */
export async function startScheduled(db: Db, workspaceId: string, id: string): Promise<void> {
  await withStart(db, workspaceId, id, async (sql, broadcast) => {
    // A member may have paused or rescheduled it since it was listed as due.
    if (broadcast.status !== 'scheduled' || broadcast.is_paused || !broadcast.is_due) return
    if (!broadcast.is_late) return start(sql, workspaceId, id, broadcast)
    const reason = 'The service was not running at the scheduled time. Resume it to send it now, or cancel it.'
    await pauseWithReason(sql, workspaceId, id, reason)
  })
}

/** Runs with the broadcast locked. Cancels the broadcast, with the reason, when the plan refuses the start. */
async function withStart(
  db: Db,
  workspaceId: string,
  id: string,
  run: (sql: Sql, broadcast: LockedBroadcast) => Promise<void>,
): Promise<void> {
  try {
    await db.begin(async (sql) => run(sql, await lockBroadcast(sql, workspaceId, id)))
  } catch (error) {
    if (!isPlanRefusal(error)) throw error
    await cancelBroadcast(db, workspaceId, id, error.message)
  }
}

const isPlanRefusal = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 402

/** Pauses a broadcast that is scheduled or sending. `reason` is null when a member does it. */
export async function pauseWithReason(sql: Sql, workspaceId: string, id: string, reason: string | null): Promise<void> {
  await sql`
    update broadcasts set is_paused = true, pause_reason = ${reason}
    where workspace_id = ${workspaceId} and id = ${id} and status in ('scheduled', 'sending') and not is_paused`
}

/** Stops handing over until a member resumes the broadcast. */
export async function pauseBroadcast(sql: Sql, workspaceId: string, id: string): Promise<void> {
  requireStatus(await requireBroadcast(sql, workspaceId, id), ['scheduled', 'sending'], 'paused')
  await pauseWithReason(sql, workspaceId, id, null)
}

/** Throws 400 unless the broadcast has one of the statuses. `change` completes the message: `paused`. */
export function requireStatus(
  { status }: Pick<Broadcast, 'status'>,
  allowed: readonly BroadcastStatus[],
  change: string,
): void {
  if (allowed.includes(status)) return
  throw badRequest(`a broadcast that is ${status === 'draft' ? 'a draft' : status} cannot be ${change}`)
}

/** Continues. A missed broadcast starts now. A broadcast that waits for the channel probes it now. */
export async function resumeBroadcast(db: Db, workspaceId: string, id: string): Promise<void> {
  const before = await requireBroadcast(db, workspaceId, id)
  requireStatus(before, ['scheduled', 'sending'], 'resumed')
  if (before.status === 'sending') await probeNow(db, workspaceId, id)
  await withStart(db, workspaceId, id, async (sql, broadcast) => {
    if (!broadcast.is_paused) return
    if (broadcast.status === 'scheduled' && broadcast.is_late) return start(sql, workspaceId, id, broadcast)
    await sql`
      update broadcasts set is_paused = false, pause_reason = null
      where workspace_id = ${workspaceId} and id = ${id}`
  })
}

/** Skips the recipients that were not handed over: up to 20,000 here, the rest in the broadcast loop. */
export async function cancelBroadcast(
  db: Db,
  workspaceId: string,
  id: string,
  reason: string | null = null,
): Promise<void> {
  const before = await requireBroadcast(db, workspaceId, id)
  requireStatus(before, ['draft', 'scheduled', 'sending', 'canceled'], 'canceled')
  await db.begin(async (sql) => {
    const broadcast = await lockBroadcast(sql, workspaceId, id)
    if (broadcast.status === 'sent' || broadcast.status === 'canceled') return
    await sql`
      update broadcasts set status = 'canceled', cancel_reason = ${reason}, is_paused = false, pause_reason = null,
        total_count = filled_count, is_filled = true, member_ids = null, reserved_count = 0
      where workspace_id = ${workspaceId} and id = ${id}`
    const { plan_month: month, reserved_count: count } = broadcast
    if (month !== null && count > 0) await releaseQuota(sql, workspaceId, month, count)
  })
  for (let chunk = 0; chunk < maxChunks; chunk++) {
    if (!(await skipRemaining(db, workspaceId, id))) break
  }
  await finishBroadcast(db, workspaceId, id)
}

const chunkSize = 5_000
const maxChunks = 4

export const canceledReason = 'canceled'

/** Skips a chunk of the recipients of a canceled broadcast. Returns whether there are more. */
export function skipRemaining(db: Db, workspaceId: string, id: string): Promise<boolean> {
  return db.begin(async (sql) => {
    const broadcast = await lockBroadcast(sql, workspaceId, id)
    if (broadcast.status !== 'canceled') return false
    const to = Math.min(broadcast.position + chunkSize, broadcast.filled_count)
    const retries = await sql<{ message_id: string }[]>`
      select message_id from broadcast_recipients
      where workspace_id = ${workspaceId} and broadcast_id = ${id} and retry_at is not null and message_id is not null`
    await sql`
      with moved_recipients as (
        update broadcast_recipients set status = 'skipped', reason = ${canceledReason}, message_id = null, retry_at = null
        where workspace_id = ${workspaceId} and broadcast_id = ${id} and status = 'pending'
          and (place > ${broadcast.position} and place <= ${to} or retry_at is not null)
        returning workspace_id, broadcast_id, 'pending' as status_before, status as status_after
      )
      ${addCounts(sql, sql`moved_recipients`)}`
    if (retries.length > 0) {
      const ids = retries.map(({ message_id }) => message_id)
      await failUnsent(sql, workspaceId, ids, 'the broadcast was canceled')
    }
    await sql`update broadcasts set position = ${to} where workspace_id = ${workspaceId} and id = ${id}`
    return to < broadcast.filled_count
  }) as Promise<boolean>
}

/** Writes `completed_at` if no recipient is pending. */
export async function finishBroadcast(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await sql`
    with completed_broadcast as (
      select b.id, coalesce(${doneAt(sql)}, now()) as at
      from broadcasts b cross join lateral (${sumCounts(sql)}) n
      where b.workspace_id = ${workspaceId} and b.id = ${id} and b.completed_at is null and ${isOver(sql)}
    )
    update broadcasts b set status = case when b.status = 'sending' then 'sent' else b.status end, completed_at = d.at,
      is_paused = false, pause_reason = null
    from completed_broadcast d
    where b.workspace_id = ${workspaceId} and b.id = d.id and b.completed_at is null`
}
