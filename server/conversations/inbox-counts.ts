/**
 * Exact counts of the open conversations of the inbox, at any number of conversations.
 *
 * Triggers of the table `conversations` insert a row for each change of a count, so concurrent changes do not wait for each
 * other. A read adds up the rows of the workspace, or of one connection. A loop replaces the rows of a connection by their sum.
 */
import type { Db, Sql } from '../lib/postgres/db.ts'

export async function readInboxCounts(
  sql: Sql,
  workspaceId: string,
  connectionId?: string,
): Promise<{ open_conversations: number; unassigned_conversations: number }> {
  const isOfConnection = connectionId === undefined ? sql`` : sql`and connection_id = ${connectionId}`
  const [counts] = await sql<{ open: number; unassigned: number }[]>`
    select coalesce(sum(open), 0)::int as open, coalesce(sum(unassigned), 0)::int as unassigned
    from inbox_counts where workspace_id = ${workspaceId} ${isOfConnection}`
  return { open_conversations: counts?.open ?? 0, unassigned_conversations: counts?.unassigned ?? 0 }
}

/** Of an advisory lock: one process at a time replaces rows. */
const foldLock = 7_263_559

/** Replaces the rows of each connection by their sum, and counts workspaces with rows of an earlier version again. */
export async function foldInboxCounts(db: Db): Promise<void> {
  await db.begin(async (sql) => {
    const [lock] = await sql<{ is_held: boolean }[]>`select pg_try_advisory_xact_lock(${foldLock}) as is_held`
    if (!lock?.is_held) return
    await sql`
      with
      changed_connections as (
        select workspace_id, connection_id from inbox_counts group by workspace_id, connection_id having count(*) > 1
      ),
      folded_counts as (
        delete from inbox_counts c using changed_connections w
        where c.workspace_id = w.workspace_id and c.connection_id = w.connection_id
        returning c.workspace_id, c.connection_id, c.open, c.unassigned
      )
      insert into inbox_counts (workspace_id, connection_id, open, unassigned)
      select workspace_id, connection_id, sum(open), sum(unassigned) from folded_counts group by workspace_id, connection_id`
    await recount(sql)
  })
}

/** Counts the workspaces again that have rows without a connection. One statement sees the conversations and the rows at the same moment. */
async function recount(sql: Sql): Promise<void> {
  await sql`
    with
    uncounted_workspaces as (select distinct workspace_id from inbox_counts where connection_id is null),
    deleted_counts as (
      delete from inbox_counts c using uncounted_workspaces w where c.workspace_id = w.workspace_id
    )
    insert into inbox_counts (workspace_id, connection_id, open, unassigned)
    select v.workspace_id, v.connection_id, count(*), count(*) filter (where v.assigned_agent_id is null and v.bot_run_id is null)
    from uncounted_workspaces w
    join conversations v on v.workspace_id = w.workspace_id
    where v.inbox_at is not null and v.status = 'open'
    group by v.workspace_id, v.connection_id`
}
