/** The spans of episodes in office hours: computed by the loop `episode-hours`, shortly after a reply or a closing. */
import { officeMs, type Schedule } from '../../hours/hours.ts'
import { scheduleOf } from '../../hours/schedules.ts'
import type { Db, Sql } from '../../lib/postgres/db.ts'

/** Episodes of one transaction. */
const chunkSize = 500

type Due = {
  workspace_id: string
  id: string
  opened_ms: number
  first_reply_ms: number | null
  closed_ms: number | null
  team_id: string | null
  connection_id: string | null
}

/** Computes what is missing, in all workspaces. */
export async function computeEpisodeHours(db: Db): Promise<void> {
  while (((await db.begin(computeChunk)) as number) === chunkSize) {
    // Each round computes a full chunk.
  }
}

async function computeChunk(sql: Sql): Promise<number> {
  const due = await listDue(sql)
  if (due.length === 0) return 0
  const schedules = new Map<string, Schedule | undefined>()
  const spans = []
  for (const { workspace_id, id, opened_ms, first_reply_ms, closed_ms, team_id, connection_id } of due) {
    const key = `${workspace_id} ${team_id} ${connection_id}`
    if (!schedules.has(key)) {
      schedules.set(key, await scheduleOf(sql, workspace_id, { teamId: team_id, connectionId: connection_id }))
    }
    const schedule = schedules.get(key)
    const secondsUntil = (ms: number | null) =>
      ms === null
        ? null
        : Math.floor((schedule ? officeMs(schedule, opened_ms, ms) : Math.max(ms - opened_ms, 0)) / 1000)
    spans.push({ workspace_id, id, first_reply_s: secondsUntil(first_reply_ms), closing_s: secondsUntil(closed_ms) })
  }
  await sql`
    update episodes e set office_first_reply_s = i.first_reply_s, office_closing_s = i.closing_s, updated_at = now()
    from json_to_recordset(${JSON.stringify(spans)}::text::json)
      as i (workspace_id uuid, id uuid, first_reply_s integer, closing_s integer)
    where e.workspace_id = i.workspace_id and e.id = i.id`
  return due.length
}

/** Locked. Those that another transaction changes now are due again at the next run. The condition is that of the index. */
function listDue(sql: Sql): Promise<Due[]> {
  const ms = (column: string) => sql.unsafe(`(extract(epoch from e.${column}) * 1000)::float8`)
  return sql<Due[]>`
    select e.workspace_id, e.id, e.connection_id, ${ms('opened_at')} as opened_ms, ${ms('first_reply_at')} as first_reply_ms,
      ${ms('closed_at')} as closed_ms, case when e.closed_at is null then v.team_id else e.team_id end as team_id
    from episodes e
    join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
    where (e.first_reply_at is not null and e.office_first_reply_s is null)
      or (e.closed_at is not null and e.office_closing_s is null)
    order by e.workspace_id, e.id
    limit ${chunkSize}
    for no key update of e skip locked`
}
