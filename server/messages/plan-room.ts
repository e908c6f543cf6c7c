/**
 * Room in the plan of the month, for many messages at once: taken before they
 * are written, all or none, and given back for those that never are.
 */
import { requirePlan, thisMonth } from '../accounts/workspaces.ts'
import type { Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import { refusalOf } from './outbound.ts'

/** Take `count` places; answers the month they are in, or undefined when they do not fit. */
export async function takeRoom(sql: Sql, workspaceId: string, count: number): Promise<string | undefined> {
  const [taken] = await sql<{ month: string }[]>`
    insert into plan_usage as u (workspace_id, month, message_count)
    select w.id, ${thisMonth(sql)}, ${count}::int
    from workspaces w
    where w.id = ${workspaceId} and w.plan_state = 'active' and ${count}::int <= coalesce(w.plan_messages_per_month, ${count}::int)
    on conflict (workspace_id, month) do update set message_count = u.message_count + excluded.message_count
      where u.message_count + excluded.message_count <=
        (select coalesce(w.plan_messages_per_month, 2147483647) from workspaces w where w.id = u.workspace_id)
    returning u.month::text`
  return taken?.month
}

export async function giveRoomBack(sql: Sql, workspaceId: string, month: string, count: number): Promise<void> {
  await sql`
    update plan_usage set message_count = greatest(0, message_count - ${count}::int)
    where workspace_id = ${workspaceId} and month = ${month}::text::date`
}

/** Places taken in one month are used in another: a message counts in the month in which it is sent. */
export async function moveRoom(
  sql: Sql,
  workspaceId: string,
  { from, to, count }: { from: string; to: string; count: number },
): Promise<void> {
  await giveRoomBack(sql, workspaceId, from, count)
  await sql`
    insert into plan_usage as u (workspace_id, month, message_count) values (${workspaceId}, ${to}::text::date, ${count})
    on conflict (workspace_id, month) do update set message_count = u.message_count + excluded.message_count`
}

/** Why so many do not fit: 402, a lapsed subscription named first. */
export async function refusalOfMany(sql: Sql, workspaceId: string, count: number): Promise<ApiError> {
  const { state, messages_per_month: most } = await requirePlan(sql, workspaceId)
  if (state === 'lapsed') return refusalOf(sql, workspaceId)
  return new ApiError(
    'plan_limit_reached',
    `the plan allows ${most} messages a month, and what is left is less than ${count}`,
  )
}

/**
 * 402 when so many would not fit in what is left of the month they are sent in, as far as is known now. Nothing is taken.
 * `count` is asked only if the plan has a limit.
 */
export async function requireRoomFor(
  sql: Sql,
  workspaceId: string,
  at: Date,
  count: () => Promise<number>,
): Promise<void> {
  const [plan] = await sql<{ state: string; room: number | null }[]>`
    select w.plan_state as state, w.plan_messages_per_month - coalesce(u.message_count, 0) as room
    from workspaces w
    left join plan_usage u on u.workspace_id = w.id and u.month = ${`${at.toISOString().slice(0, 7)}-01`}::text::date
    where w.id = ${workspaceId}`
  if (plan?.state === 'active' && plan.room === null) return
  const wanted = plan?.state === 'active' ? await count() : 0
  if (plan?.state !== 'active' || wanted > (plan.room ?? 0)) throw await refusalOfMany(sql, workspaceId, wanted)
}
