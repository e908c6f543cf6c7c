/**
 * Exact counts of the open conversations of the inbox, at any number of conversations.
 *
 * Triggers of the table `conversations` insert a row for each change of a count, so concurrent changes do not wait for each
 * other. A read adds up the rows of the workspace. A loop replaces them by their sum.
 */
import type { Db, Sql } from '../lib/postgres/db.ts'

export async function readInboxCounts(
  sql: Sql,
  workspaceId: string,
): Promise<{ open_conversations: number; unassigned_conversations: number }> {
  const [counts] = await sql<{ open: number; unassigned: number }[]>`
    select coalesce(sum(open), 0)::int as open, coalesce(sum(unassigned), 0)::int as unassigned
    from inbox_counts where workspace_id = ${workspaceId}`
  return { open_conversations: counts?.open ?? 0, unassigned_conversations: counts?.unassigned ?? 0 }
}

/** Replaces the rows of each workspace by their sum. */
export async function foldInboxCounts(db: Db): Promise<void> {
  await db`
    with
    changed_workspaces as (select workspace_id from inbox_counts group by workspace_id having count(*) > 1),
    folded_counts as (
      delete from inbox_counts c using changed_workspaces w
      where c.workspace_id = w.workspace_id
      returning c.workspace_id, c.open, c.unassigned
    )
    insert into inbox_counts (workspace_id, open, unassigned)
    select workspace_id, sum(open), sum(unassigned) from folded_counts group by workspace_id`
}
