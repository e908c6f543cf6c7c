/**
 * Teams: groups of members who answer conversations together, and the connections that they serve.
 *
 * One transaction at a time changes the teams of a workspace: it locks the workspace, as changes of members do. So the limit holds, a
 * connection has one team, and a member who becomes a viewer is in none.
 */
import { lockMembers } from '../accounts/members.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Db, isDuplicate, type Sql } from '../lib/postgres/db.ts'
import { colorOf, fold, lengthOf } from '../lib/text.ts'
import { type Team, team } from './resource.ts'

const maxTeams = 100
/** Members and connections of one team. */
export const maxInTeam = 1_000
const maxNameLength = 80

export type TeamChanges = {
  name?: string | undefined
  color?: string | undefined
  /** Exactly these members. */
  member_ids?: readonly string[] | undefined
  /** Exactly these connections. */
  connection_ids?: readonly string[] | undefined
}

/** By name. */
export async function listTeams(sql: Sql, workspaceId: string): Promise<Team[]> {
  return sql<Team[]>`
    select ${team.columns(sql)} from teams t where t.workspace_id = ${workspaceId} order by t.name_key limit ${maxTeams}`
}

/** By default in the color of its name. */
export async function createTeam(
  db: Db,
  workspaceId: string,
  { name: input, color, member_ids, connection_ids }: TeamChanges & { name: string },
): Promise<Team> {
  const name = readTeamName(input)
  const id = newId()
  return db
    .begin(async (sql) => {
      await lockMembers(sql, workspaceId)
      const [{ count = 0 } = {}] = await sql<{ count: number }[]>`
        select count(*)::int as count from teams where workspace_id = ${workspaceId}`
      if (count >= maxTeams) throw badRequest(`there are ${maxTeams} teams already`)
      await sql`
        insert into teams (workspace_id, id, name, name_key, color, created_at)
        values (${workspaceId}, ${id}, ${name}, ${fold(name)}, ${color ?? colorOf(fold(name))}, ${timeOfId(id)})`
      await replaceMembers(sql, workspaceId, id, member_ids ?? [])
      await replaceConnections(sql, workspaceId, id, connection_ids ?? [])
      return requireTeam(sql, workspaceId, id)
    })
    .catch(refuseDuplicate)
}

/** Changes the fields that are present. */
export async function updateTeam(db: Db, workspaceId: string, id: string, changes: TeamChanges): Promise<Team> {
  const { name: input, color = null, member_ids, connection_ids } = changes
  const name = input === undefined ? null : readTeamName(input)
  return db
    .begin(async (sql) => {
      await lockMembers(sql, workspaceId)
      const before = await requireTeam(sql, workspaceId, id)
      await sql`
        update teams set name = coalesce(${name}, name), name_key = coalesce(${name === null ? null : fold(name)}, name_key),
          color = coalesce(${color}, color), updated_at = now()
        where workspace_id = ${workspaceId} and id = ${before.id}`
      if (member_ids) await replaceMembers(sql, workspaceId, before.id, member_ids)
      if (connection_ids) await replaceConnections(sql, workspaceId, before.id, connection_ids)
      return requireTeam(sql, workspaceId, before.id)
    })
    .catch(refuseDuplicate)
}

/** Takes a team's conversations from it. The module that owns them passes it in. */
export type ReleaseTeam = (db: Db, workspaceId: string, team: { id: string; byId: string }) => Promise<void>

/**
 * Deletes a team. First it gets no new conversations; then `release` takes its conversations from it, in short transactions; then its
 * row goes. After an interruption a repeated call continues.
 */
export async function deleteTeam(
  db: Db,
  workspaceId: string,
  { id, byId, release }: { id: string; byId: string; release: ReleaseTeam },
): Promise<{ id: string; deleted: true; name: string }> {
  const { id: teamId, name } = await db.begin(async (sql) => {
    await lockMembers(sql, workspaceId)
    const found = await requireTeam(sql, workspaceId, id)
    await sql`delete from team_connections where workspace_id = ${workspaceId} and team_id = ${found.id}`
    return found
  })
  await release(db, workspaceId, { id: teamId, byId })
  await db`delete from teams where workspace_id = ${workspaceId} and id = ${teamId}`
  return { id: teamId, deleted: true, name }
}

/** Takes a member out of all teams, in the caller's transaction: viewers are in none. */
export async function leaveTeams(sql: Sql, workspaceId: string, memberId: string): Promise<void> {
  await sql`delete from team_members where workspace_id = ${workspaceId} and member_id = ${memberId}`
}

/** Refuses an id that is not of a team. `field` is for the error. */
export async function requireTeamName(sql: Sql, workspaceId: string, id: string, field: string): Promise<string> {
  const [found] = isUuid(id)
    ? await sql<{ name: string }[]>`select name from teams where workspace_id = ${workspaceId} and id = ${id}`
    : []
  if (!found) throw notTeam(field)
  return found.name
}

export const notTeam = (field: string) => badRequest(`${field}: not a team of this workspace`)

async function requireTeam(sql: Sql, workspaceId: string, id: string): Promise<Team> {
  const [found] = isUuid(id)
    ? await sql<Team[]>`select ${team.columns(sql)} from teams t where t.workspace_id = ${workspaceId} and t.id = ${id}`
    : []
  if (!found) throw notFound('team')
  return found
}

/** Gives the team exactly these members. Viewers answer no conversations, so they are in no team. */
async function replaceMembers(sql: Sql, workspaceId: string, id: string, ids: readonly string[]): Promise<void> {
  const memberIds = toUnique(ids)
  const members = await sql<{ email: string; role: string }[]>`
    select email, role from members where workspace_id = ${workspaceId} and id = any(${memberIds}::uuid[])`
  if (members.length < memberIds.length) throw badRequest('member_ids: not members of this workspace')
  const viewer = members.find(({ role }) => role === 'viewer')
  if (viewer) throw badRequest(`member_ids: ${viewer.email} is a viewer, and conversations are not assigned to viewers`)
  await sql`
    delete from team_members
    where workspace_id = ${workspaceId} and team_id = ${id} and member_id <> all(${memberIds}::uuid[])`
  await sql`
    insert into team_members (workspace_id, team_id, member_id)
    select ${workspaceId}, ${id}, m.id from unnest(${memberIds}::uuid[]) as m (id)
    on conflict do nothing`
}

/** Gives the team exactly these connections. One that another team serves is refused. */
async function replaceConnections(sql: Sql, workspaceId: string, id: string, ids: readonly string[]): Promise<void> {
  const connectionIds = toUnique(ids)
  const connections = await sql<{ name: string; team: string | null }[]>`
    select k.name, t.name as team
    from channel_connections k
    left join team_connections tk on tk.workspace_id = k.workspace_id and tk.connection_id = k.id and tk.team_id <> ${id}
    left join teams t on t.workspace_id = tk.workspace_id and t.id = tk.team_id
    where k.workspace_id = ${workspaceId} and k.id = any(${connectionIds}::uuid[])`
  if (connections.length < connectionIds.length) throw badRequest('connection_ids: not connections of this workspace')
  const taken = connections.find((connection) => connection.team !== null)
  if (taken) throw badRequest(`connection_ids: ${taken.name} is served by the team ${taken.team}`)
  await sql`
    delete from team_connections
    where workspace_id = ${workspaceId} and team_id = ${id} and connection_id <> all(${connectionIds}::uuid[])`
  await sql`
    insert into team_connections (workspace_id, connection_id, team_id)
    select ${workspaceId}, k.id, ${id} from unnest(${connectionIds}::uuid[]) as k (id)
    on conflict do nothing`
}

const toUnique = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))]

/** A name as stored: trimmed, 1 to 80 characters. */
function readTeamName(input: string): string {
  const name = input.trim()
  if (name === '' || lengthOf(name) > maxNameLength)
    throw badRequest(`name: must have 1 to ${maxNameLength} characters`)
  return name
}

function refuseDuplicate(error: unknown): never {
  throw isDuplicate(error, 'teams_name_unique') ? badRequest('name: already used by another team') : error
}
