/**
 * Broadcasts: one template to many.
 *
 * A broadcast is accepted with its recipients as rows, or with a segment that
 * becomes rows when it starts. It is `sending` until nobody is pending; then
 * it reads as `sent`, whether or not the engine has written so yet. Places in
 * the plan are taken for all of them when it starts: they belong to the
 * broadcast (`reserved_count`) until a recipient is handed over, and to the
 * message from then on.
 */

import { quotaErrorOf, releaseQuota, reserveQuota } from '../accounts/quota.ts'
import type { TemplateParams } from '../channels/channel.ts'
import type { Db, Fragment, Sql } from '../lib/db.ts'
import { ApiError, badRequest, notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { failUnsent } from '../messages/settle.ts'
import { addUp, sumUp } from './counts.ts'
import { probeNow } from './pace.ts'

export const broadcastStatuses = ['scheduled', 'sending', 'sent', 'canceled'] as const
export type BroadcastStatus = (typeof broadcastStatuses)[number]

export type Broadcast = {
  id: string
  name: string
  status: BroadcastStatus
  template: { name: string; language: string }
  segment_id: string | null
  total_count: number
  pending_count: number
  sent_count: number
  delivered_count: number
  read_count: number
  failed_count: number
  skipped_count: number
  /** By a member, by the service, or while it waits for the channel. */
  is_paused: boolean
  /** Null when a member paused it. */
  paused_reason: string | null
  created_at: string
  scheduled_at: string | null
  started_at: string | null
  completed_at: string | null
}

/** What members see besides. */
export type BroadcastDetails = {
  params: TemplateParams
  /** While it waits because the channel is not answering: the last failure. */
  channel_error: string | null
  /** And when the channel is tried next; null while an attempt is in flight. */
  next_attempt_at: string | null
  /** Handed to the channel, which has not confirmed them; 0 while the recipients of a segment are still being listed. */
  awaiting_count: number
  cancel_reason: string | null
  /** The broadcast to those this one did not reach. */
  again_id: string | null
}

export async function getBroadcast(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<(Broadcast & BroadcastDetails) | undefined> {
  const [row] = isUuid(id)
    ? await sql<(Broadcast & BroadcastDetails)[]>`
        select ${broadcastColumns(sql)}
        from ${broadcastTables(sql)}
        where b.workspace_id = ${workspaceId} and b.id = ${id}`
    : []
  return row
}

export async function requireBroadcast(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<Broadcast & BroadcastDetails> {
  const broadcast = await getBroadcast(sql, workspaceId, id)
  if (!broadcast) throw notFound('broadcast')
  return broadcast
}

/** Everybody of broadcast `b` with sums `n` has an outcome. */
export const isDone = (sql: Sql): Fragment => sql`(b.is_filled and b.started_at is not null and n.pending_count = 0)`

/** Nobody of broadcast `b` is pending, and nobody will be. */
const isOver = (sql: Sql): Fragment =>
  sql`(b.status = 'sending' and ${isDone(sql)} or b.status = 'canceled' and n.pending_count = 0)`

/** When the last of them got it. */
const doneAt = (sql: Sql): Fragment => sql`coalesce(greatest(n.settled_at, b.started_at), b.started_at)`

/**
 * Broadcast `b` with its sums `n`, its recipients that wait for another attempt `q`, and the circuit breaker that holds it
 * back `h`, which is null for nearly all.
 */
export const broadcastTables = (sql: Sql): Fragment => sql`
  broadcasts b
  cross join lateral (${sumUp(sql)}) n
  cross join lateral (
    select count(*)::int as retry_count
    from broadcast_recipients r
    where b.completed_at is null and r.workspace_id = b.workspace_id and r.broadcast_id = b.id and r.retry_at is not null
  ) q
  left join lateral (
    select p.breaker_reason as error, case p.breaker_state when 'open' then p.breaker_until end as next_attempt_at, format('The channel is not answering (%s). %s', p.breaker_reason,
      case p.breaker_state when 'half_open' then 'An attempt is in flight.'
        else format('Next attempt at %s.', to_char(p.breaker_until at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
      end) as reason
    from broadcast_paces p
    where b.status = 'sending' and not b.is_paused and p.workspace_id = b.workspace_id and p.breaker_state <> 'closed'
      and (b.position < b.filled_count or not b.is_filled or q.retry_count > 0)
    limit 1
  ) h on true`

/** Condition on those tables: no recipient is handed over for the moment. */
export const isPaused = (sql: Sql): Fragment => sql`(b.is_paused or h.error is not null)`

export function broadcastColumns(sql: Sql): Fragment {
  return sql`
    b.id, b.name, case when b.status = 'sending' and ${isDone(sql)} then 'sent' else b.status end as status,
    json_build_object('name', b.template_name, 'language', b.template_language) as template, b.segment_id,
    b.total_count, n.pending_count, n.sent_count, n.delivered_count, n.read_count, n.failed_count, n.skipped_count,
    ${isPaused(sql)} as is_paused, coalesce(b.pause_reason, h.reason) as paused_reason,
    b.created_at, b.scheduled_at, b.started_at,
    coalesce(b.completed_at, case when ${isOver(sql)} then ${doneAt(sql)} end) as completed_at,
    b.params, h.error as channel_error, h.next_attempt_at, b.cancel_reason, b.again_id,
    case
      when b.completed_at is not null or b.started_at is null or not b.is_filled then 0
      when b.status = 'canceled' then greatest(0, n.pending_count - (b.filled_count - b.position))
      else greatest(0, n.pending_count - b.reserved_count - q.retry_count)
    end as awaiting_count`
}

/**
 * Begin with the recipients that have rows, in the caller's transaction: pass over those who opted out, and take places
 * in the plan for the others. What does not fit is thrown.
 */
export async function beginSending(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await skipOptedOut(sql, workspaceId, id)
  const [usable] = await sql<{ count: number }[]>`
    select count(*)::int as count from broadcast_recipients
    where workspace_id = ${workspaceId} and broadcast_id = ${id} and status = 'pending'`
  const count = usable?.count ?? 0
  const month = await reserveQuota(sql, workspaceId, count)
  if (month === undefined) throw await quotaErrorOf(sql, workspaceId, count)
  await sql`
    update broadcasts set status = 'sending', started_at = now(), plan_month = ${month}::text::date,
      reserved_count = ${count}, is_paused = false, pause_reason = null
    where workspace_id = ${workspaceId} and id = ${id}`
}

export const optedOut = 'opted out of broadcasts'

async function skipOptedOut(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await sql`
    with out as (
      select r.place
      from broadcast_recipients r
      join contact_identities i
        on i.workspace_id = r.workspace_id and i.channel = 'msgapp' and i.external_id = r.identity
      join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
      where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and r.status = 'pending'
        and c.opted_out_at is not null
    ),
    moved as (
      update broadcast_recipients r set status = 'skipped', reason = ${optedOut}
      from out
      where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and r.place = out.place
      returning r.workspace_id, r.broadcast_id, 'pending' as status_before, r.status as status_after
    )
    ${addUp(sql, sql`moved`)}`
}

type Locked = {
  status: BroadcastStatus
  is_filled: boolean
  is_paused: boolean
  is_late: boolean
  segment_id: string | null
  position: number
  filled_count: number
  plan_month: string | null
  reserved_count: number
  started_at: string | null
}

/** A schedule that is over by more than this was missed; somebody must say whether it still goes out. */
const missedHours = 24

async function lockBroadcast(sql: Sql, workspaceId: string, id: string): Promise<Locked | undefined> {
  const [row] = isUuid(id)
    ? await sql<Locked[]>`
        select status, is_filled, is_paused, segment_id, position, filled_count, plan_month::text, reserved_count,
          started_at, coalesce(scheduled_at < now() - make_interval(hours => ${missedHours}), false) as is_late
        from broadcasts where workspace_id = ${workspaceId} and id = ${id}
        for no key update`
    : []
  return row
}

/** A scheduled broadcast whose time has come: it starts, or waits for a word when that was long ago, or is canceled. */
export async function startScheduled(db: Db, workspaceId: string, id: string): Promise<void> {
  await starting(db, workspaceId, id, async (sql, broadcast) => {
    if (broadcast.status !== 'scheduled' || broadcast.is_paused) return
    if (!broadcast.is_late) return start(sql, workspaceId, id, broadcast)
    const reason = 'The service was not running at the scheduled time. Resume it to send it now, or cancel it.'
    await holdBroadcast(sql, workspaceId, id, reason)
  })
}

/** One whose start the plan refuses is canceled, and says why. */
async function starting(
  db: Db,
  workspaceId: string,
  id: string,
  run: (sql: Sql, broadcast: Locked) => Promise<void>,
): Promise<void> {
  try {
    await db.begin(async (sql) => {
      const broadcast = await lockBroadcast(sql, workspaceId, id)
      if (!broadcast) throw notFound('broadcast')
      await run(sql, broadcast)
    })
  } catch (error) {
    if (!isPlanRefusal(error)) throw error
    await cancelBroadcast(db, workspaceId, id, error.message)
  }
}

const isPlanRefusal = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 402

async function start(sql: Sql, workspaceId: string, id: string, { segment_id }: Locked): Promise<void> {
  if (segment_id === null) return beginSending(sql, workspaceId, id)
  // Counted, and started, by whoever makes rows of it.
  await sql`
    update broadcasts set status = 'sending', is_paused = false, pause_reason = null
    where workspace_id = ${workspaceId} and id = ${id}`
}

/** As the service itself does it, which says why; nothing when it is over. */
export async function holdBroadcast(sql: Sql, workspaceId: string, id: string, reason: string | null): Promise<void> {
  await sql`
    update broadcasts set is_paused = true, pause_reason = ${reason}
    where workspace_id = ${workspaceId} and id = ${id} and status in ('scheduled', 'sending') and not is_paused`
}

/** Hand nobody over any more until it is resumed. */
export async function pauseBroadcast(sql: Sql, workspaceId: string, id: string): Promise<void> {
  const { status } = await requireBroadcast(sql, workspaceId, id)
  if (status === 'sent' || status === 'canceled') throw badRequest(`a broadcast that is ${status} cannot be paused`)
  await holdBroadcast(sql, workspaceId, id, null)
}

/** Go on. A scheduled one whose time is over starts now. One that waits for the channel tries it now. */
export async function resumeBroadcast(db: Db, workspaceId: string, id: string): Promise<void> {
  const { status } = await requireBroadcast(db, workspaceId, id)
  if (status === 'sent' || status === 'canceled') throw badRequest(`a broadcast that is ${status} cannot be resumed`)
  if (status === 'sending') await probeNow(db, workspaceId)
  await starting(db, workspaceId, id, async (sql, broadcast) => {
    if (!broadcast.is_paused) return
    if (broadcast.status === 'scheduled' && broadcast.is_late) return start(sql, workspaceId, id, broadcast)
    await sql`
      update broadcasts set is_paused = false, pause_reason = null
      where workspace_id = ${workspaceId} and id = ${id}`
  })
}

/** Whoever was not handed over is skipped. Of very many the engine skips the rest. */
export async function cancelBroadcast(
  db: Db,
  workspaceId: string,
  id: string,
  reason: string | null = null,
): Promise<void> {
  const { status } = await requireBroadcast(db, workspaceId, id)
  if (status === 'sent') throw badRequest('a broadcast that is sent cannot be canceled')
  await db.begin(async (sql) => {
    const broadcast = await lockBroadcast(sql, workspaceId, id)
    if (broadcast?.status !== 'scheduled' && broadcast?.status !== 'sending') return
    await sql`
      update broadcasts set status = 'canceled', cancel_reason = ${reason}, is_paused = false, pause_reason = null,
        total_count = filled_count, is_filled = true, member_ids = null, reserved_count = 0
      where workspace_id = ${workspaceId} and id = ${id}`
    const { plan_month: month, reserved_count: count } = broadcast
    if (month !== null && count > 0) await releaseQuota(sql, workspaceId, month, count)
  })
  for (let chunk = 0; chunk < chunksAtOnce; chunk++) {
    if (!(await skipRest(db, workspaceId, id))) break
  }
  await finishBroadcast(db, workspaceId, id)
}

const chunkSize = 5_000
const chunksAtOnce = 4

export const canceled = 'canceled'

/** Skip some of those a canceled broadcast will not reach; answers whether there are more. */
export function skipRest(db: Db, workspaceId: string, id: string): Promise<boolean> {
  return db.begin(async (sql) => {
    const broadcast = await lockBroadcast(sql, workspaceId, id)
    if (broadcast?.status !== 'canceled') return false
    const to = Math.min(broadcast.position + chunkSize, broadcast.filled_count)
    const held = await sql<{ message_id: string }[]>`
      select message_id from broadcast_recipients
      where workspace_id = ${workspaceId} and broadcast_id = ${id} and retry_at is not null and message_id is not null`
    await sql`
      with moved as (
        update broadcast_recipients set status = 'skipped', reason = ${canceled}, message_id = null, retry_at = null
        where workspace_id = ${workspaceId} and broadcast_id = ${id} and status = 'pending'
          and (place > ${broadcast.position} and place <= ${to} or retry_at is not null)
        returning workspace_id, broadcast_id, 'pending' as status_before, status as status_after
      )
      ${addUp(sql, sql`moved`)}`
    if (held.length > 0) {
      const ids = held.map(({ message_id }) => message_id)
      await failUnsent(sql, workspaceId, ids, 'the broadcast was canceled')
    }
    await sql`update broadcasts set position = ${to} where workspace_id = ${workspaceId} and id = ${id}`
    return to < broadcast.filled_count
  }) as Promise<boolean>
}

/** Write down that nobody is pending any more, if so. */
export async function finishBroadcast(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await sql`
    with done as (
      select b.id, coalesce(${doneAt(sql)}, now()) as at
      from broadcasts b cross join lateral (${sumUp(sql)}) n
      where b.workspace_id = ${workspaceId} and b.id = ${id} and b.completed_at is null and ${isOver(sql)}
    )
    update broadcasts b set status = case when b.status = 'sending' then 'sent' else b.status end, completed_at = d.at,
      is_paused = false, pause_reason = null
    from done d
    where b.workspace_id = ${workspaceId} and b.id = d.id and b.completed_at is null`
}
