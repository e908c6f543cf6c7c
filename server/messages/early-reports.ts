/**
 * Reports that arrived before the message they are about.
 *
 * A channel reports a message a moment before the response to its send, or
 * reports messages that another system sent. So a report without a message
 * waits here and is checked with exponential backoff: after 1, 2, 4, 8 …
 * seconds, for an hour. A run checks a bounded number, and workspaces take
 * turns, so its cost does not grow with the number of waiting reports and a
 * flood in one workspace delays no other.
 */
import type { Report } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import type { Fragment, Sql } from '../lib/db.ts'
import { newId } from '../lib/id.ts'

export type EarlyReport = { workspace_id: string; report: Report & { channel: ChannelName } }

/** Longer than a send waits for its response. */
export const echoPatienceSeconds = 20
/** Checks in one run, shared by the workspaces with waiting reports. */
const checksPerRun = 500
const leastShare = 10
/** Beyond it the oldest of a workspace are dropped: a report that is early by seconds is among the newest. */
const mostPerWorkspace = 10_000

/** Stores a report until the message it is about is there. */
export async function waitForMessage(
  sql: Sql,
  workspaceId: string,
  channel: ChannelName,
  report: Extract<Report, { external_id: string }>,
): Promise<void> {
  await sql`
    insert into early_reports (workspace_id, id, external_id, report, received_at)
    values (${workspaceId}, ${newId()}, ${report.external_id}, ${JSON.stringify({ ...report, channel })}::text::jsonb, now())`
}

/**
 * Checks the reports that are due. Returns all reports of the messages that are there by now, and echoes that have waited
 * longer than any send takes, in the order they arrived. They are deleted: apply them in the same transaction.
 */
export async function takeEarly(sql: Sql): Promise<EarlyReport[]> {
  const taken = await sql<(EarlyReport & { id: string })[]>`
    with recursive ${waitingWorkspaces(sql)},
    -- How many each workspace may have checked.
    share as (
      select greatest(${leastShare}, ${checksPerRun} / greatest(1, count(*))) as count from waiting_workspaces where workspace_id is not null
    ),
    -- Of each workspace those that are due for the longest.
    due as (
      select e.workspace_id, e.id, row_number() over (partition by e.workspace_id order by e.next_check_at) as turn
      from share s
      cross join waiting_workspaces w
      cross join lateral (
        select e.workspace_id, e.id, e.next_check_at from early_reports e
        where e.workspace_id = w.workspace_id and e.next_check_at <= now()
        order by e.next_check_at
        limit s.count
      ) e
    ),
    -- Workspaces take turns. The limit also shows the planner that these are few: without it, it reads whole tables.
    chosen as (
      select workspace_id, id from due order by turn limit ${checksPerRun}
    ),
    -- Without those that another worker checks at this moment.
    locked as (
      select e.workspace_id, e.id, e.external_id, e.received_at, e.check_count, e.report->>'kind' = 'echo' as is_echo
      from early_reports e
      join chosen c on c.workspace_id = e.workspace_id and c.id = e.id
      where e.next_check_at <= now()
      for update of e skip locked
    ),
    -- Whether the message is there, or an echo has waited long enough.
    checked as (
      select l.workspace_id, l.id, l.external_id, l.received_at, l.check_count, l.is_echo,
        l.is_echo and l.received_at < now() - make_interval(secs => ${echoPatienceSeconds}) as is_overdue,
        exists (
          select from messages m where m.workspace_id = l.workspace_id and m.external_id = l.external_id
        ) as has_message
      from locked l
    ),
    -- The next check is twice as far away; an echo's is when it has waited long enough.
    postponed as (
      update early_reports e
      set check_count = e.check_count + 1,
        next_check_at = least(
          now() + make_interval(secs => power(2, least(c.check_count, 11))),
          case when c.is_echo then greatest(
            now() + interval '1 second', c.received_at + make_interval(secs => ${echoPatienceSeconds})
          ) end
        )
      from checked c
      where e.workspace_id = c.workspace_id and e.id = c.id and not (c.is_overdue or c.has_message)
    ),
    -- Together with the others about the same message, due or not: two edits are applied in their order.
    ready as (
      select e.workspace_id, e.id
      from checked c
      join early_reports e on e.workspace_id = c.workspace_id and e.external_id = c.external_id
      where c.has_message
      union
      select workspace_id, id from checked where is_overdue
    ),
    -- Without those that another worker has locked: it takes them itself.
    taken as (
      select e.workspace_id, e.id
      from early_reports e
      join ready r on r.workspace_id = e.workspace_id and r.id = e.id
      for update of e skip locked
    )
    delete from early_reports e using taken t
    where e.workspace_id = t.workspace_id and e.id = t.id
    returning e.workspace_id, e.id, e.report`
  return [...taken].sort((one, other) => (one.id < other.id ? -1 : 1))
}

/** Deletes the reports whose message did not come within an hour, and the oldest of workspaces that have too many. */
export async function sweepEarly(sql: Sql): Promise<{ expired: number; excess: number }> {
  const expired = await sql`delete from early_reports where received_at < now() - interval '1 hour'`
  const excess = await sql`
    with recursive ${waitingWorkspaces(sql)},
    -- The newest report that is too many, where there is one. Ids are in the order of arrival.
    surplus as (
      select w.workspace_id, e.id
      from waiting_workspaces w
      cross join lateral (
        select e.id from early_reports e
        where e.workspace_id = w.workspace_id
        order by e.id desc
        offset ${mostPerWorkspace}
        limit 1
      ) e
    )
    delete from early_reports e using surplus s
    where e.workspace_id = s.workspace_id and e.id <= s.id`
  return { expired: expired.count, excess: excess.count }
}

/** Member of a `with recursive` list: every workspace with waiting reports, one step in the index each. */
const waitingWorkspaces = (sql: Sql): Fragment => sql`
  waiting_workspaces as (
    (select workspace_id from early_reports order by workspace_id limit 1)
    union all
    select (
      select e.workspace_id from early_reports e where e.workspace_id > w.workspace_id order by e.workspace_id limit 1
    )
    from waiting_workspaces w
    where w.workspace_id is not null
  )`
