/**
 * How fast the queues of teams move, from the episodes of the last hour.
 *
 * A queue is busy while a customer waits in it: the union of the waits of this hour, which end with the first assignment or reply, and
 * of the conversations that wait now. The time of busy queue per wait that ended is the time of one position.
 */
import type { Sql } from '../../lib/postgres/db.ts'
import { isQueued } from './queue.ts'

/** Fewer waits that ended in the last hour say nothing. */
const minWaits = 3
/** A conversation that was taken sooner did not queue: its team had free members. */
const minWaitSeconds = 10

/** Seconds per position, by team. A team of which it is unknown is absent. */
export async function readQueuePace(sql: Sql, workspaceId: string): Promise<Map<string, number>> {
  const hourAgo = sql`now() - interval '1 hour'`
  const endOfWait = sql`least(e.first_assigned_at, e.first_reply_at)`
  const rows = await sql<{ team_id: string; seconds: number }[]>`
    with
    -- Waits that ended in the last hour. An assignment and a reply move updated_at, which has an index.
    ended_waits as (
      select coalesce(e.team_id, v.team_id) as team_id, greatest(e.opened_at, ${hourAgo}) as from_at, ${endOfWait} as to_at
      from episodes e
      join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
      where e.workspace_id = ${workspaceId} and e.updated_at > ${hourAgo} and ${endOfWait} > ${hourAgo}
        and e.opened_by = 'customer' and ${endOfWait} >= e.opened_at + make_interval(secs => ${minWaitSeconds})
    ),
    -- The longest wait of each queue contains the others.
    present_waits as (
      select t.id as team_id, greatest(q.waiting_since, ${hourAgo}) as from_at, now() as to_at
      from teams t
      cross join lateral (
        select v.waiting_since from conversations v
        where v.workspace_id = t.workspace_id and v.team_id = t.id and ${isQueued(sql)}
        order by v.waiting_since
        limit 1
      ) q
      where t.workspace_id = ${workspaceId} and q.waiting_since is not null
    ),
    -- Each wait counts from the end of the waits that began before it.
    waits as (
      select w.team_id, w.ended, w.to_at, greatest(w.from_at, max(w.to_at) over (
        partition by w.team_id order by w.from_at, w.to_at rows between unbounded preceding and 1 preceding
      )) as from_at
      from (
        select team_id, from_at, to_at, 1 as ended from ended_waits
        union all
        select team_id, from_at, to_at, 0 from present_waits
      ) w
    )
    select team_id, sum(greatest(0, extract(epoch from to_at - from_at)))::float8 / sum(ended) as seconds
    from waits
    where team_id is not null
    group by team_id
    having sum(ended) >= ${minWaits}`
  return new Map(rows.map(({ team_id, seconds }) => [team_id, seconds]))
}
