/**
 * Reports that arrived before the message they are about.
 *
 * A channel may report a message shortly before it answers the send, and it reports messages that another system sent. A
 * report without a message is stored in `early_reports` and checked with exponential backoff: after 1, 2, 4, 8 … seconds,
 * for an hour. A run checks a bounded number and workspaces take turns: the cost does not grow with the number of stored
 * reports, and a flood in one workspace delays no other.
 */
import type { Report } from '../../channels/channel.ts'
import { newId } from '../../lib/id.ts'
import type { Db, Fragment, Sql } from '../../lib/postgres/db.ts'
import type { Signals } from '../../signals/signals.ts'
import type { StatusContext } from '../status-follower.ts'
import { applyEcho, type EchoTimes } from './echoes.ts'
import { applyCorrection, applyReadUpTo, applyStatuses, type ReportSource, type StatusUpdate } from './reports.ts'

export type EarlyReport = {
  workspace_id: string
  /** Reports that an earlier release stored have no connection. */
  report: Extract<Report, { external_id: string }> & ReportSource
}

/** Checks in one run, shared by the workspaces with stored reports. */
const checksPerRun = 500
const minPerWorkspace = 10
/** A sweep deletes the oldest reports of a workspace beyond this: a report that is early by seconds is among the newest. */
const maxPerWorkspace = 10_000

/** Stores reports until their messages exist. */
export async function storeEarlyReports(sql: Sql, reports: readonly EarlyReport[]): Promise<void> {
  const rows = reports.map(({ workspace_id, report }) => ({
    workspace_id,
    id: newId(),
    external_id: report.external_id,
    report,
  }))
  await sql`
    insert into early_reports (workspace_id, id, external_id, report, received_at)
    select workspace_id, id, external_id, report, now()
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as i (workspace_id uuid, id uuid, external_id text, report jsonb)`
}

export const hasEarlyReports = (sql: Sql): Fragment => sql`exists (select from early_reports)`

/** Applies the stored reports whose message exists by now, and notifies their workspaces. */
export async function applyEarlyReports(
  db: Db,
  onMediaGone: (ids: readonly string[]) => void,
  signals: Signals,
  context: StatusContext,
  times: EchoTimes,
): Promise<void> {
  const early = await db.begin(async (sql) => {
    const claimed = await claimEarlyReports(sql, times)
    const updates: StatusUpdate[] = []
    for (const { workspace_id: workspaceId, report } of claimed) {
      const { channel, connection_id: connectionId } = report
      if (report.kind === 'status') updates.push({ workspaceId, channel, connectionId, report })
      else if (report.kind === 'read_up_to') await applyReadUpTo(sql, workspaceId, report, report.external_id)
      else if (report.kind === 'edit' || report.kind === 'revoke')
        await applyCorrection(sql, workspaceId, report, report, onMediaGone)
    }
    if (updates.length > 0) await applyStatuses(sql, updates, context)
    return claimed
  })
  // An echo has a transaction of its own. A crash before it loses the echo only.
  for (const { workspace_id: workspaceId, report } of early) {
    if (report.kind !== 'echo') continue
    const { channel, connection_id, scope } = report
    const source = { channel, connection_id, scope }
    const isApplied = await applyEcho(db, workspaceId, source, report, times, context)
    if (!isApplied) await storeEarlyReports(db, [{ workspace_id: workspaceId, report }])
  }
  for (const workspaceId of new Set(early.map(({ workspace_id }) => workspace_id))) signals.changed(workspaceId)
}

/**
 * Checks the reports that are due. Returns all reports of messages that exist by now, and echoes older than any send in
 * flight, in the order of arrival. They are deleted: apply them in the same transaction.
 */
export async function claimEarlyReports(sql: Sql, { echoMs }: EchoTimes): Promise<EarlyReport[]> {
  const claimed = await sql<(EarlyReport & { id: string })[]>`
    with recursive ${waitingWorkspaces(sql)},
    -- The number of checks for each workspace.
    workspace_share as (
      select greatest(${minPerWorkspace}, ${checksPerRun} / greatest(1, count(*))) as count
      from waiting_workspaces where workspace_id is not null
    ),
    -- The reports of each workspace that are due longest.
    due_reports as (
      select e.workspace_id, e.id, row_number() over (partition by e.workspace_id order by e.next_check_at) as round
      from workspace_share s
      cross join waiting_workspaces w
      cross join lateral (
        select e.workspace_id, e.id, e.next_check_at from early_reports e
        where e.workspace_id = w.workspace_id and e.next_check_at <= now()
        order by e.next_check_at
        limit s.count
      ) e
    ),
    -- Round by round, one report per workspace. Without the limit the planner expects many rows and reads whole tables.
    chosen_reports as (
      select workspace_id, id from due_reports order by round limit ${checksPerRun}
    ),
    -- Without reports that another worker checks at the same time.
    locked_reports as (
      select e.workspace_id, e.id, e.external_id, e.received_at, e.check_count, e.report->>'kind' = 'echo' as is_echo
      from early_reports e
      join chosen_reports c on c.workspace_id = e.workspace_id and c.id = e.id
      where e.next_check_at <= now()
      for update of e skip locked
    ),
    -- Whether the message exists, or the echo has waited long enough.
    checked_reports as (
      select l.workspace_id, l.id, l.external_id, l.received_at, l.check_count, l.is_echo,
        l.is_echo and l.received_at < now() - make_interval(secs => ${echoMs / 1000}) as is_overdue,
        exists (
          select from messages m where m.workspace_id = l.workspace_id and m.external_id = l.external_id
        ) as has_message
      from locked_reports l
    ),
    -- Doubles the delay until the next check. An echo is checked at the latest when it has waited long enough.
    postponed_reports as (
      update early_reports e
      set check_count = e.check_count + 1,
        next_check_at = least(
          now() + make_interval(secs => power(2, least(c.check_count, 11))),
          case when c.is_echo then greatest(
            now() + interval '1 second', c.received_at + make_interval(secs => ${echoMs / 1000})
          ) end
        )
      from checked_reports c
      where e.workspace_id = c.workspace_id and e.id = c.id and not (c.is_overdue or c.has_message)
    ),
    -- With all reports about the same message, due or not, so that two edits are applied in their order.
    ready_reports as (
      select e.workspace_id, e.id
      from checked_reports c
      join early_reports e on e.workspace_id = c.workspace_id and e.external_id = c.external_id
      where c.has_message
      union
      select workspace_id, id from checked_reports where is_overdue
    ),
    -- Without reports that another worker has locked: that worker applies them.
    claimed_reports as (
      select e.workspace_id, e.id
      from early_reports e
      join ready_reports r on r.workspace_id = e.workspace_id and r.id = e.id
      for update of e skip locked
    )
    delete from early_reports e using claimed_reports c
    where e.workspace_id = c.workspace_id and e.id = c.id
    returning e.workspace_id, e.id, e.report`
  return [...claimed].sort((one, other) => (one.id < other.id ? -1 : 1))
}

export const dropReasons = ['expired', 'excess'] as const

/** Deletes reports older than an hour, and the oldest reports of a workspace beyond its limit. Returns the numbers. */
export async function sweepEarlyReports(sql: Sql): Promise<Record<(typeof dropReasons)[number], number>> {
  const expired = await sql`delete from early_reports where received_at < now() - interval '1 hour'`
  const excess = await sql`
    with recursive ${waitingWorkspaces(sql)},
    -- The newest report beyond the limit of each workspace. Ids are in the order of arrival.
    excess_reports as (
      select w.workspace_id, e.id
      from waiting_workspaces w
      cross join lateral (
        select e.id from early_reports e
        where e.workspace_id = w.workspace_id
        order by e.id desc
        offset ${maxPerWorkspace}
        limit 1
      ) e
    )
    delete from early_reports e using excess_reports s
    where e.workspace_id = s.workspace_id and e.id <= s.id`
  return { expired: expired.count, excess: excess.count }
}

/** Member of a `with recursive` list: every workspace with stored reports, found by one index step each. */
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
