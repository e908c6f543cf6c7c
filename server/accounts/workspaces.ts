/** Workspaces: the tenants. All other data belongs to exactly one of them. */
import { isSupportedCountry } from 'libphonenumber-js/min'
import { hashPassword, randomPassword } from '../lib/crypto.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { lengthOf } from '../lib/text.ts'
import { insertMember, type Sees } from './members.ts'
import { readOptOutWords } from './opt-out-words.ts'
import { type Quota, readQuota } from './quota.ts'
import { requirePassword } from './sign-in/passwords.ts'

export type NewWorkspace = {
  name: string
  default_country: string
  /** Of the first owner's browser. Absent or unknown: UTC. */
  time_zone?: string | undefined
  owner: { email: string; password?: string | undefined; name?: string | undefined }
  is_demo?: boolean
}

export type CreatedWorkspace = { workspace_id: string; owner: { email: string; password: string } }

/** Creates a workspace and its owner, in the caller's transaction. Without a password it generates one and returns it once. */
export async function createWorkspace(sql: Sql, input: NewWorkspace): Promise<CreatedWorkspace> {
  const name = readName(input.name)
  const defaultCountry = readCountry(input.default_country)
  const timeZone = (input.time_zone && (await findTimeZone(sql, input.time_zone))) || 'UTC'
  const id = newId()
  const password = input.owner.password ?? randomPassword()
  requirePassword(password, { email: input.owner.email, name: input.owner.name, workspaceName: name })
  const passwordHash = await hashPassword(password)
  await sql`
    insert into workspaces (id, name, default_country, time_zone, is_demo, created_at)
    values (${id}, ${name}, ${defaultCountry}, ${timeZone}, ${input.is_demo ?? false}, ${timeOfId(id)})`
  const { email } = await insertMember(sql, id, {
    email: input.owner.email,
    name: input.owner.name ?? null,
    role: 'owner',
    passwordHash,
    // Only the operator creates workspaces.
    isEmailProved: true,
  })
  return { workspace_id: id, owner: { email, password } }
}

/** A workspace as its members see it. */
export type Workspace = {
  id: string
  name: string
  default_country: string
  /** IANA name. Days of the overview and of the audit log are those of this zone. */
  time_zone: string
  opt_out_words: string[]
  requires_second_factor: boolean
  assign_on_reply: boolean
  /** Which conversations agents and viewers see. */
  agents_see: Sees
  viewers_see: Sees
  plan: Omit<Quota, 'month'>
}

export async function requireWorkspace(sql: Sql, workspaceId: string): Promise<Workspace> {
  const [workspace] = await sql<Omit<Workspace, 'plan'>[]>`
    select id, name, default_country, time_zone, opt_out_words, requires_second_factor, assign_on_reply, agents_see,
      viewers_see
    from workspaces where id = ${workspaceId}`
  if (!workspace) throw notFound('workspace')
  const { month: _, ...plan } = await readQuota(sql, workspaceId)
  return { ...workspace, plan }
}

/** A workspace as the operator sees it. */
type ListedWorkspace = {
  workspace_id: string
  name: string
  created_at: string
  is_demo: boolean
  member_count: number
  /** Their e-mail addresses. */
  owners: string[]
}

/** All workspaces but those of previews, the oldest first. */
export async function listWorkspaces(sql: Sql): Promise<ListedWorkspace[]> {
  return sql<ListedWorkspace[]>`
    select w.id as workspace_id, w.name, w.created_at, w.is_demo, count(m.id)::int as member_count,
      coalesce(array_agg(m.email order by m.id) filter (where m.role = 'owner'), '{}') as owners
    from workspaces w left join members m on m.workspace_id = w.id
    where w.preview_of is null
    group by w.id
    order by w.created_at, w.id`
}

export type WorkspaceChanges = {
  name?: string | undefined
  default_country?: string | undefined
  time_zone?: string | undefined
  opt_out_words?: readonly string[] | undefined
  requires_second_factor?: boolean | undefined
  assign_on_reply?: boolean | undefined
  agents_see?: Sees | undefined
  viewers_see?: Sees | undefined
}

/** Changes the fields that are present. `opt_out_words` replaces the whole list. */
export async function updateWorkspace(sql: Sql, workspaceId: string, changes: WorkspaceChanges): Promise<Workspace> {
  const columns = {
    ...(changes.name === undefined ? {} : { name: readName(changes.name) }),
    ...(changes.default_country === undefined
      ? {}
      : { default_country: readCountry(changes.default_country, 'default_country') }),
    ...(changes.time_zone === undefined ? {} : { time_zone: await readTimeZone(sql, changes.time_zone) }),
    ...(changes.opt_out_words === undefined ? {} : { opt_out_words: readOptOutWords(changes.opt_out_words) }),
    ...(changes.requires_second_factor === undefined ? {} : { requires_second_factor: changes.requires_second_factor }),
    ...(changes.assign_on_reply === undefined ? {} : { assign_on_reply: changes.assign_on_reply }),
    ...(changes.agents_see === undefined ? {} : { agents_see: changes.agents_see }),
    ...(changes.viewers_see === undefined ? {} : { viewers_see: changes.viewers_see }),
  }
  if (Object.keys(columns).length > 0) await sql`update workspaces set ${sql(columns)} where id = ${workspaceId}`
  return requireWorkspace(sql, workspaceId)
}

export function readName(input: string, field = 'name'): string {
  const name = input.trim()
  if (name === '' || lengthOf(name) > 80) throw badRequest(`${field}: must have 1 to 80 characters`)
  return name
}

export async function readTimeZone(sql: Sql, input: string): Promise<string> {
  const zone = await findTimeZone(sql, input)
  if (!zone) throw badRequest(`time_zone: '${input}' is not the name of a time zone such as Europe/Berlin`)
  return zone
}

/** A zone that both the database and the browsers of members know. */
async function findTimeZone(sql: Sql, input: string): Promise<string | undefined> {
  const [known] = await sql<{ name: string }[]>`
    select name from pg_timezone_names where name = ${input} and name ~ '^(UTC|[A-Z]\\w+/[\\w/+-]+)$'`
  return known && isTimeZone(known.name) ? known.name : undefined
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** The country of phone numbers without a country code. */
export function readCountry(input: string, field = 'country'): string {
  if (!isSupportedCountry(input)) throw badRequest(`${field}: '${input}' is not a two-letter country code such as US`)
  return input
}
