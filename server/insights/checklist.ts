/**
 * The checklist of first steps: what a new workspace needs, for owners and admins; how to answer customers, for an agent.
 *
 * Each step is derived from existing rows by a few index lookups, so the cost does not depend on the size of the workspace.
 * The data that a demo workspace is created with does not count: its key has no creator, its history used no quota, and
 * `inbound_before` holds the number of its inbound messages. Nor does a temporary key of the API reference. An owner or admin hides
 * the list for all of them, an agent only for themselves.
 */
import { isForProgram } from '../accounts/keys.ts'
import { isManager, type MemberRole } from '../accounts/members.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { countedPeriods } from './periods.ts'

/** In the order in which the dashboard suggests them. */
const workspaceSteps = ['message_sent', 'customer_wrote', 'key_made', 'webhook_delivered'] as const
const agentSteps = ['conversation_taken', 'customer_answered', 'reply_saved', 'notifications_chosen'] as const
export const steps = [...workspaceSteps, ...agentSteps] as const
type Step = (typeof steps)[number]

export type Checklist = { items: { name: Step; done: boolean }[]; dismissed: boolean }

type Reader = { id: string; role: MemberRole }

/** The list of a member's role. A viewer's is empty. */
export async function readChecklist(sql: Sql, workspaceId: string, reader: Reader): Promise<Checklist> {
  if (isManager(reader)) return toChecklist(workspaceSteps, await readWorkspaceSteps(sql, workspaceId))
  return reader.role === 'agent'
    ? toChecklist(agentSteps, await readAgentSteps(sql, workspaceId, reader.id))
    : { items: [], dismissed: true }
}

type Row<Name extends Step> = (Record<Name, boolean> & { dismissed: boolean }) | undefined

const toChecklist = <Name extends Step>(names: readonly Name[], row: Row<Name>): Checklist => ({
  items: names.map((name) => ({ name, done: row?.[name] ?? false })),
  dismissed: row?.dismissed ?? false,
})

async function readWorkspaceSteps(sql: Sql, workspaceId: string): Promise<Row<(typeof workspaceSteps)[number]>> {
  const periods = countedPeriods(sql, workspaceId)
  const [row] = await sql<NonNullable<Row<(typeof workspaceSteps)[number]>>[]>`
    select
      exists (select from plan_usage u where u.workspace_id = w.id and u.message_count > 0) as message_sent,
      -- Inbound messages are counted a second late. Those of the demo history are before the second day.
      exists (select from ${periods} p where p.at >= f.first_day + interval '1 day' and p.inbound > 0)
        or (
          select sum(p.inbound) from ${periods} p
          where p.at >= f.first_day and p.at < f.first_day + interval '1 day'
        ) > coalesce(l.inbound_before, 0) is true as customer_wrote,
      exists (select from api_keys k where k.workspace_id = w.id and ${isForProgram(sql)}) as key_made,
      l.event_heard_at is not null or exists (
        select from webhook_endpoints e where e.workspace_id = w.id and e.last_delivery_at is not null
      ) as webhook_delivered,
      l.dismissed_at is not null as dismissed
    from workspaces w
    cross join lateral (select date_trunc('day', w.created_at, 'utc') as first_day) f
    left join checklists l on l.workspace_id = w.id
    where w.id = ${workspaceId}`
  return row
}

/** Conversations of the agent, and messages of each, in which a reply of the agent is searched. */
const maxConversations = 20
const maxMessages = 50

async function readAgentSteps(
  sql: Sql,
  workspaceId: string,
  memberId: string,
): Promise<Row<(typeof agentSteps)[number]>> {
  const [row] = await sql<NonNullable<Row<(typeof agentSteps)[number]>>[]>`
    with
    -- Bounds the search for a reply, whatever the number of conversations.
    taken_conversations as (
      select v.id from conversations v
      where v.workspace_id = ${workspaceId} and v.assigned_agent_id = ${memberId}
      limit ${maxConversations}
    )
    select
      exists (select from taken_conversations) as conversation_taken,
      exists (
        select from taken_conversations v
        cross join lateral (
          select sender_id from messages m
          where m.workspace_id = ${workspaceId} and m.conversation_id = v.id
          order by m.id desc
          limit ${maxMessages}
        ) r
        where r.sender_id = ${memberId}
      ) as customer_answered,
      exists (
        select from canned_replies r where r.workspace_id = ${workspaceId} and r.member_id = m.id
      ) as reply_saved,
      m.preferences ?| array['notifications', 'sound', 'quiet_hours'] as notifications_chosen,
      coalesce((m.preferences->>'checklist_dismissed')::boolean, false) as dismissed
    from members m
    where m.workspace_id = ${workspaceId} and m.id = ${memberId}`
  return row
}

/** Hides the checklist: for all owners and admins, or for one agent. */
export async function dismissChecklist(sql: Sql, workspaceId: string, reader: Reader): Promise<Checklist> {
  if (isManager(reader)) {
    await sql`
      insert into checklists (workspace_id, dismissed_at) values (${workspaceId}, now())
      on conflict (workspace_id) do update set dismissed_at = coalesce(checklists.dismissed_at, excluded.dismissed_at)`
  } else {
    await sql`
      update members set preferences = preferences || '{"checklist_dismissed": true}'
      where workspace_id = ${workspaceId} and id = ${reader.id}`
  }
  return readChecklist(sql, workspaceId, reader)
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
