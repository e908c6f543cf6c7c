/** The teams of the demo, when its members were available, and its targets. */
import { pastId, timeOfId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import { readTarget } from '../targets/targets.ts'
import type { TargetChange } from './episodes.ts'
import type { Past } from './past.ts'
import { capacities, demoTargets, demoTeams, type MemberKey, shifts, type TeamKey } from './people.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
const minuteMs = 60_000
const createdMs = 15 * dayMs
const json = (rows: unknown) => JSON.stringify(rows)
const keysOf = Object.keys as <Key extends string>(from: Record<Key, unknown>) => Key[]

/** Runs in the caller's transaction. Returns the ids of the teams. */
export async function insertTeams(
  sql: Sql,
  { workspaceId, memberIds, nowMs }: Pick<Past, 'workspaceId' | 'memberIds' | 'nowMs'>,
): Promise<Record<TeamKey, string>> {
  const rows = keysOf(demoTeams).map((key) => {
    const { members, ...team } = demoTeams[key]
    const id = pastId(nowMs - createdMs)
    const member_ids = members.map((member) => memberIds[member])
    return { ...team, key, id, name_key: fold(team.name), member_ids, created_at: timeOfId(id) }
  })
  await sql`
    with
    input as (
      select * from json_to_recordset(${json(rows)}::text::json) as g (
        id uuid, name text, name_key text, color text, policy text, member_ids json, channels jsonb, created_at timestamptz
      )
    ),
    inserted_teams as (
      insert into teams (workspace_id, id, name, name_key, color, policy, created_at, updated_at)
      select ${workspaceId}, id, name, name_key, color, policy, created_at, created_at from input
    ),
    inserted_connections as (
      insert into team_connections (workspace_id, connection_id, team_id)
      select k.workspace_id, k.id, i.id
      from input i join channel_connections k on k.workspace_id = ${workspaceId} and i.channels ? k.channel_name
    )
    insert into team_members (workspace_id, team_id, member_id)
    select ${workspaceId}, i.id, m.id::uuid from input i cross join json_array_elements_text(i.member_ids) as m (id)`
  return Object.fromEntries(rows.map(({ key, id }) => [key, id])) as Record<TeamKey, string>
}

/** The shifts of the last two weeks. All members are offline now, and they are older than their shifts. */
export async function insertAvailability(sql: Sql, { workspaceId, memberIds, nowMs }: Past): Promise<void> {
  const spans = keysOf(capacities).flatMap((key) =>
    shiftsOf(key, nowMs).map((span) => ({ ...span, member_id: memberIds[key] })),
  )
  await sql`
    update members set created_at = ${new Date(nowMs - createdMs).toISOString()} where workspace_id = ${workspaceId}`
  const members = keysOf(capacities).map((key) => ({ member_id: memberIds[key], capacity: capacities[key] }))
  await sql`
    with
    spans as (
      select * from json_to_recordset(${json(spans)}::text::json) as g (
        member_id uuid, state text, is_chosen boolean, started_at timestamptz, ended_at timestamptz
      )
    ),
    inserted_spans as (
      insert into availability_spans (workspace_id, member_id, started_at, ended_at, state, is_chosen)
      select ${workspaceId}, member_id, started_at, ended_at, state, is_chosen from spans
    )
    insert into member_availability (workspace_id, member_id, capacity, changed_at, seen_at, input_at)
    select ${workspaceId}, g.member_id, g.capacity, s.ended_at, s.ended_at, s.ended_at
    from json_to_recordset(${json(members)}::text::json) as g (member_id uuid, capacity int)
    join (select member_id, max(ended_at) as ended_at from spans group by member_id) s on s.member_id = g.member_id`
}

/** Each shift has a break. The last one has ended before now; on Sundays there is none, unless it is today. */
function shiftsOf(key: MemberKey, nowMs: number) {
  const { from, pause, until, leftMinutes, isChosen } = shifts[key]
  const parts = [
    { state: 'available', is_chosen: false, from, until: pause.from },
    { state: 'away', is_chosen: isChosen, ...pause },
    { state: 'available', is_chosen: false, from: pause.until, until },
  ]
  const days = Array.from({ length: 14 }, (_, i) => nowMs - (13 - i) * dayMs)
  const worked = days.filter((dayMs) => dayMs === nowMs || new Date(dayMs).getUTCDay() !== 0)
  return worked.flatMap((atMs) =>
    parts.map(({ state, is_chosen, ...hours }) => ({
      ...{ state, is_chosen, started_at: new Date(atMs + hours.from * hourMs).toISOString() },
      ended_at: new Date(Math.min(atMs + hours.until * hourMs, nowMs - leftMinutes * minuteMs)).toISOString(),
    })),
  )
}

/** The loop `targets` follows the changes within seconds. */
export async function insertTargets(
  sql: Sql,
  { workspaceId, nowMs }: Past,
  changes: readonly TargetChange[],
): Promise<void> {
  const rows = demoTargets.map((target, position) => {
    const id = pastId(nowMs - createdMs + position)
    const { name, conditions, ...rest } = readTarget({ ...target, is_active: true, is_office_time: false })
    return { ...rest, id, name, name_key: fold(name), position, conditions, created_at: timeOfId(id) }
  })
  await sql`
    insert into targets (workspace_id, id, name, name_key, position, is_active, is_office_time, conditions, first_reply_minutes,
      next_reply_minutes, closing_minutes, created_at, updated_at)
    select ${workspaceId}, id, name, name_key, position, is_active, is_office_time, nullif(conditions, 'null'), first_reply_minutes,
      next_reply_minutes, closing_minutes, created_at, created_at
    from json_to_recordset(${json(rows)}::text::json) as g (
      id uuid, name text, name_key text, position int, is_active boolean, is_office_time boolean, conditions jsonb,
      first_reply_minutes int, next_reply_minutes int, closing_minutes int, created_at timestamptz
    )`
  await sql`insert into target_workspaces (workspace_id, is_active) values (${workspaceId}, true)`
  await sql`
    insert into target_changes (workspace_id, conversation_id, episode_id, at, is_open, waiting_since, is_with_bot, has_replied)
    select ${workspaceId}, conversation_id, episode_id, at, is_open, waiting_since, false, has_replied
    from json_to_recordset(${json(changes)}::text::json) as g (
      conversation_id uuid, episode_id uuid, at timestamptz, is_open boolean, waiting_since timestamptz, has_replied boolean
    )
    order by at`
}
