/**
 * Availability: whether conversations may be assigned to a member.
 *
 * The state follows from three facts in the row of the member: when a process last had an open stream (`seen_at`), when a page last
 * reported input (`input_at`), and whether the member chose to be away. It is stored, because the engine of assignment and the history
 * need its changes. Triggers of the table write the history and the requests for the engine.
 *
 * Each process reports its open streams as a heartbeat. So a member with several tabs on several processes is online as long as one of
 * them is, and a process that dies needs no cleaning up.
 */
import type { Times } from '../../common/times.ts'
import { roles } from '../accounts/members.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'

export const availabilities = ['available', 'away', 'offline'] as const
export type AvailabilityState = (typeof availabilities)[number]

/** `is_chosen`: the member chose to be away. `since` is null for a member who has never been online. */
export type Availability = { state: AvailabilityState; is_chosen: boolean; since: string | null }

export type MemberKey = { workspaceId: string; memberId: string }

type Limits = Pick<Times['availability'], 'awayMs' | 'offlineMs'>

/** What a report says of its members. */
type Report = {
  /** The member used a page. */
  isInput?: boolean
  /** The member chose a state. */
  choice?: 'available' | 'away' | undefined
  /** The stream has just opened. The page reports its input next, so a member without input stays offline until the next heartbeat. */
  isOpening?: boolean
}

export async function readAvailability(sql: Sql, { workspaceId, memberId }: MemberKey): Promise<Availability> {
  const [row] = await sql<Availability[]>`
    select state, is_away_chosen as is_chosen, changed_at as since from member_availability
    where workspace_id = ${workspaceId} and member_id = ${memberId}`
  return row ?? { state: 'offline', is_chosen: false, since: null }
}

/**
 * Stores what pages and streams report of these members, and the states that follow. Viewers are skipped: no conversation is assigned to
 * them. Returns the members whose state changed.
 */
export async function reportMembers(
  sql: Sql,
  members: readonly MemberKey[],
  { isInput = false, choice, isOpening = false }: Report,
  limits: Limits,
): Promise<MemberKey[]> {
  if (members.length === 0) return []
  const workspaceIds = members.map(({ workspaceId }) => workspaceId)
  const memberIds = members.map(({ memberId }) => memberId)
  const reported = sql`unnest(${workspaceIds}::uuid[], ${memberIds}::uuid[]) as i (workspace_id, member_id)`
  const hasInput = isInput || choice !== undefined
  await sql`
    insert into member_availability (workspace_id, member_id)
    select m.workspace_id, m.id
    from ${reported} join members m on m.workspace_id = i.workspace_id and m.id = i.member_id
    where m.role = any(${assignableRoles}::text[]) and not exists (
      select from member_availability a where a.workspace_id = m.workspace_id and a.member_id = m.id
    )
    order by m.workspace_id, m.id
    on conflict do nothing`
  const rows = await sql<ChangedRow[]>`
    with
    -- In the order of the key, as all statements lock them.
    locked_members as (
      select a.workspace_id, a.member_id, a.state, a.input_at,
        ${choice ? sql`${choice === 'away'}::boolean` : sql`a.is_away_chosen`} as is_away_chosen
      from ${reported}
      join member_availability a on a.workspace_id = i.workspace_id and a.member_id = i.member_id
      order by a.workspace_id, a.member_id
      for no key update of a
    ),
    reported_members as (
      select workspace_id, member_id, state, is_away_chosen, now() as seen_at,
        ${hasInput ? sql`now()` : sql`input_at`} as input_at
      from locked_members
    ),
    next_states as (
      select workspace_id, member_id, state, is_away_chosen, seen_at, input_at, ${nextState(sql, limits)} as next
      from reported_members
    )
    update member_availability a set seen_at = n.seen_at, input_at = n.input_at, is_away_chosen = n.is_away_chosen,
      ${setState(sql, isOpening ? sql`case when n.next = 'away' and not n.is_away_chosen then n.state else n.next end` : sql`n.next`)}
    from next_states n
    where a.workspace_id = n.workspace_id and a.member_id = n.member_id
    returning a.workspace_id, a.member_id, a.state <> n.state as is_changed`
  return toChanged(rows)
}

/** Updates the states of members of all workspaces that time has changed: no input, no stream. Returns them. */
export async function settleAvailability(sql: Sql, limits: Limits): Promise<MemberKey[]> {
  const rows = await sql<ChangedRow[]>`
    with
    -- Of members who are online: a heartbeat makes the others available. A row that another statement changes is due again at the next run.
    due_members as (
      select workspace_id, member_id, state, is_away_chosen, ${nextState(sql, limits)} as next
      from member_availability
      where state <> 'offline' and state <> ${nextState(sql, limits)}
      order by workspace_id, member_id
      limit ${settledAtOnce}
      for no key update skip locked
    )
    update member_availability a set ${setState(sql, sql`n.next`)}
    from due_members n
    where a.workspace_id = n.workspace_id and a.member_id = n.member_id
    returning a.workspace_id, a.member_id, true as is_changed`
  const changed = toChanged(rows)
  return rows.length === settledAtOnce ? [...changed, ...(await settleAvailability(sql, limits))] : changed
}

/** Stores that a member has signed out. Another page of the member makes them available again with its next input. */
export async function leave(sql: Sql, { workspaceId, memberId }: MemberKey): Promise<MemberKey[]> {
  const rows = await sql<ChangedRow[]>`
    with next_states as (
      select workspace_id, member_id, is_away_chosen from member_availability
      where workspace_id = ${workspaceId} and member_id = ${memberId} and state <> 'offline'
      for no key update
    )
    update member_availability a set seen_at = null, input_at = null, ${setState(sql, sql`'offline'`)}
    from next_states n
    where a.workspace_id = n.workspace_id and a.member_id = n.member_id
    returning a.workspace_id, a.member_id, true as is_changed`
  return toChanged(rows)
}

const settledAtOnce = 1_000
const assignableRoles = roles.filter((role) => role !== 'viewer')

type ChangedRow = { workspace_id: string; member_id: string; is_changed: boolean }

const toChanged = (rows: readonly ChangedRow[]): MemberKey[] =>
  rows.flatMap(({ workspace_id, member_id, is_changed }) =>
    is_changed ? [{ workspaceId: workspace_id, memberId: member_id }] : [],
  )

const nextState = (sql: Sql, { awayMs, offlineMs }: Limits): Fragment => sql`case
  when seen_at is null or seen_at <= now() - make_interval(secs => ${offlineMs / 1_000}) then 'offline'
  when is_away_chosen or input_at is null or input_at <= now() - make_interval(secs => ${awayMs / 1_000}) then 'away'
  else 'available'
end`

/** The time of a change is that of the update, not of the transaction, which may have waited for the row. */
const setState = (sql: Sql, next: Fragment): Fragment => sql`
  state = ${next},
  changed_at = case
    when ${next} <> a.state or (a.state = 'away' and n.is_away_chosen <> a.is_away_chosen)
    then greatest(clock_timestamp(), a.changed_at) else a.changed_at
  end`
