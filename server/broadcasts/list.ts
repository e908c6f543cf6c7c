/** Lists of broadcasts, newest first. They read the counters, never the recipients. */
import { type Page, type Position, toPage } from '../lib/page.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import {
  type Broadcast,
  type BroadcastStatus,
  broadcastColumns,
  broadcastTables,
  isDone,
  isPaused,
} from './resource.ts'

export async function listBroadcasts(
  sql: Sql,
  workspaceId: string,
  { status, is_paused }: { status?: BroadcastStatus | undefined; is_paused?: 'true' | undefined },
  { limit, before }: Position,
): Promise<Page<Broadcast>> {
  const rows = await sql<Broadcast[]>`
    select ${broadcastColumns(sql)}
    from ${broadcastTables(sql)}
    where b.workspace_id = ${workspaceId} and b.id < ${before} and ${hasStatus(sql, status)}
      and ${is_paused ? isPaused(sql) : sql`true`}
    order by b.id desc
    limit ${limit + 1}`
  return toPage(rows, limit)
}

/** Condition on the status that callers see: a broadcast that is done is `sent`, even before the loop has written that. */
function hasStatus(sql: Sql, status: BroadcastStatus | undefined): Fragment {
  if (!status) return sql`true`
  if (status === 'sent') return sql`(b.status = 'sent' or b.status = 'sending' and ${isDone(sql)})`
  if (status === 'sending') return sql`b.status = 'sending' and not ${isDone(sql)}`
  return sql`b.status = ${status}`
}
