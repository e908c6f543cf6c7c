/**
 * The checklist of a new workspace: which first steps are done.
 *
 * Each step is derived from existing rows by a few index lookups, so the cost does not depend on the size of the workspace.
 * The data that a demo workspace is created with does not count: its key has no creator, its history used no quota, and
 * `inbound_before` holds the number of its inbound messages. Dismissing hides the list for all members.
 */
import type { Sql } from '../lib/postgres/db.ts'

/** In the order in which the dashboard suggests them. */
export const steps = ['message_sent', 'customer_wrote', 'key_made', 'webhook_delivered'] as const
type Step = (typeof steps)[number]

export type Checklist = { items: { name: Step; done: boolean }[]; dismissed: boolean }

export async function readChecklist(sql: Sql, workspaceId: string): Promise<Checklist> {
  const [row] = await sql<(Record<Step, boolean> & { dismissed: boolean })[]>`
    select
      exists (select from plan_usage u where u.workspace_id = w.id and u.message_count > 0) as message_sent,
      -- Inbound messages are counted per day, a second late. Those of the demo history are all on the first day.
      exists (select from message_days d where d.workspace_id = w.id and d.day > b.day and d.inbound > 0)
        or (
          select sum(d.inbound) from message_days d where d.workspace_id = w.id and d.day = b.day
        ) > coalesce(l.inbound_before, 0) is true as customer_wrote,
      exists (select from api_keys k where k.workspace_id = w.id and k.created_by is not null) as key_made,
      l.event_heard_at is not null or exists (
        select from webhook_endpoints e where e.workspace_id = w.id and e.last_delivery_at is not null
      ) as webhook_delivered,
      l.dismissed_at is not null as dismissed
    from workspaces w
    cross join lateral (select (w.created_at at time zone 'utc')::date as day) b
    left join checklists l on l.workspace_id = w.id
    where w.id = ${workspaceId}`
  return {
    items: steps.map((name) => ({ name, done: row?.[name] ?? false })),
    dismissed: row?.dismissed ?? false,
  }
}

/** Hides the checklist for all members of the workspace. */
export async function dismissChecklist(sql: Sql, workspaceId: string): Promise<Checklist> {
  await sql`
    insert into checklists (workspace_id, dismissed_at) values (${workspaceId}, now())
    on conflict (workspace_id) do update set dismissed_at = coalesce(checklists.dismissed_at, excluded.dismissed_at)`
  return readChecklist(sql, workspaceId)
}

/** Records that an event stream delivered an event. Returns true for the first one. */
export async function noteEventHeard(sql: Sql, workspaceId: string): Promise<boolean> {
  const noted = await sql`
    insert into checklists (workspace_id, event_heard_at) values (${workspaceId}, now())
    on conflict (workspace_id) do update set event_heard_at = excluded.event_heard_at
    where checklists.event_heard_at is null
    returning workspace_id`
  return noted.length > 0
}

/** Records the number of existing inbound messages, which do not count as a step. */
export async function noteHistory(sql: Sql, workspaceId: string): Promise<void> {
  await sql`
    insert into checklists (workspace_id, inbound_before)
    select w.id, count(*)::int
    from workspaces w
    join messages m on m.workspace_id = w.id and m.direction = 'inbound'
      and (m.created_at at time zone 'utc')::date = (w.created_at at time zone 'utc')::date
    where w.id = ${workspaceId}
    group by w.id`
}
