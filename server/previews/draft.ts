/**
 * Brings the draft of an automation into its preview, as a version of the copy there: new runs use it, open ones keep theirs.
 *
 * A definition may name members, teams, labels, tags, connections and templates of its workspace. Those that it names exist in the preview
 * too: members, teams, labels and tags as copies with the same id, the connection as the number of the preview, and templates as
 * templates of its simulated account. A copied member cannot sign in. A copied team has no members, connections, hours and policy. The
 * office hours are those of the number when the draft was last brought in.
 */
import { publish } from '../automation/automations.ts'
import type { Definition } from '../automation/definition.ts'
import { scheduleOf } from '../hours/schedules.ts'
import { badRequest } from '../lib/errors.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import type { SimulatorClient } from './phone.ts'
import { getSandbox, type Sandbox } from './sandbox.ts'

type Context = { db: Db; simulator: SimulatorClient }

/** Publishes the draft in the preview if it has changed, and returns it. Without a draft: the newest version. */
export async function useDraft(
  { db, simulator }: Context,
  workspaceId: string,
  sandbox: Sandbox,
  memberId: string,
): Promise<Definition> {
  const original = await getDraft(db, workspaceId, sandbox.id)
  if (original === undefined) throw badRequest('draft: there is nothing to preview')
  const connection = await findConnection(db, workspaceId, original)
  const definition = connection ? original.replaceAll(connection.id, sandbox.id) : original
  if (definition !== (await getCopied(db, sandbox))) {
    await copyTemplates(db, workspaceId, sandbox, simulator, definition)
    await db.begin(async (sql) => {
      await copyNamed(sql, workspaceId, sandbox, definition, memberId)
      await copyHours(sql, workspaceId, sandbox, connection?.id)
      if (connection) await renameNumber(sql, sandbox, connection.name)
      await sql`
        update automations set draft = ${definition} where workspace_id = ${sandbox.id} and id = ${sandbox.copyId}`
    })
    await publishCopy(db, workspaceId, sandbox)
  }
  return JSON.parse(definition) as Definition
}

/** If another member has restarted the preview meanwhile, that call publishes the draft. */
async function publishCopy(db: Db, workspaceId: string, { id, copyId }: Sandbox): Promise<void> {
  try {
    await publish(db, id, copyId, null)
  } catch (error) {
    const current = await getSandbox(db, workspaceId, id)
    if (current?.copyId === copyId) throw error
  }
}

/** The draft as JSON, or else the newest version. Undefined: there is neither. */
export async function getDraft(sql: Sql, workspaceId: string, automationId: string): Promise<string | undefined> {
  const [automation] = await sql<{ definition: string | null }[]>`
    select coalesce(a.draft, n.definition) as definition
    from automations a
    left join automation_versions n on n.workspace_id = a.workspace_id and n.automation_id = a.id and n.version = a.version
    where a.workspace_id = ${workspaceId} and a.id = ${automationId}`
  return automation?.definition ?? undefined
}

async function getCopied(sql: Sql, { id, copyId }: Sandbox): Promise<string | undefined> {
  const [version] = await sql<{ definition: string }[]>`
    select n.definition from automations a
    join automation_versions n on n.workspace_id = a.workspace_id and n.automation_id = a.id and n.version = a.version
    where a.workspace_id = ${id} and a.id = ${copyId}`
  return version?.definition
}

/** The number that the preview stands for: one that the definition names, or else the default one. */
async function findConnection(
  sql: Sql,
  workspaceId: string,
  definition: string,
): Promise<{ id: string; name: string } | undefined> {
  const isNamed = sql`strpos(${definition}, k.id::text) > 0 or strpos(${definition}, to_json(k.name)::text) > 0`
  const [connection] = await sql<{ id: string; name: string }[]>`
    select k.id, k.name from channel_connections k
    where k.workspace_id = ${workspaceId} and k.channel_name = 'msgapp' and k.disconnected_at is null
    order by ${isNamed} desc, k.channel is null, k.id
    limit 1`
  return connection
}

async function renameNumber(sql: Sql, { id }: Sandbox, name: string): Promise<void> {
  await sql`
    update channel_connections set name = ${name}, name_key = ${fold(name)} where workspace_id = ${id} and id = ${id}`
}

/** Copies the labels, tags, teams and members whose ids are in the definition, and the member who previews. */
async function copyNamed(
  sql: Sql,
  workspaceId: string,
  { id }: Sandbox,
  definition: string,
  memberId: string,
): Promise<void> {
  for (const table of ['labels', 'tags', 'teams']) {
    await sql`
      insert into ${sql(table)} (workspace_id, id, name, name_key, color, created_at)
      select ${id}, t.id, t.name, t.name_key, t.color, t.created_at from ${sql(table)} t
      where t.workspace_id = ${workspaceId} and strpos(${definition}, t.id::text) > 0
      on conflict do nothing`
  }
  // No email has this key, and no password this hash.
  await sql`
    insert into members (workspace_id, id, email, email_key, name, role, password_hash, created_at)
    select ${id}, m.id, m.id::text, 'PREVIEW ' || m.id, coalesce(m.name, m.email), m.role, '', m.created_at from members m
    where m.workspace_id = ${workspaceId} and (strpos(${definition}, m.id::text) > 0 or m.id = ${memberId})
    on conflict do nothing`
}

/** The office hours of the number become those of the preview. */
async function copyHours(sql: Sql, workspaceId: string, { id }: Sandbox, connectionId?: string): Promise<void> {
  const schedule = await scheduleOf(sql, workspaceId, { connectionId })
  await sql`delete from schedules where workspace_id = ${id}`
  if (!schedule) return
  const { time_zone, periods, holidays } = schedule
  await sql`
    insert into schedules (workspace_id, id, name, name_key, time_zone, periods, holidays, created_at)
    values (${id}, ${id}, 'Preview', 'preview', ${time_zone}, ${sql.json([...periods])}, ${sql.json([...holidays])}, now())`
  await sql`update workspaces set schedule_id = ${id} where id = ${id} and preview_of is not null`
}

type TemplateCopy = { name: string; language: string; category: string; parameter_format: string; components: unknown }

/** Creates the templates that the definition sends in the simulated account. One that it has already, or refuses, stays as it is. */
async function copyTemplates(
  sql: Sql,
  workspaceId: string,
  sandbox: Sandbox,
  simulator: SimulatorClient,
  definition: string,
): Promise<void> {
  if (!definition.includes('"template"')) return
  const templates = await sql<TemplateCopy[]>`
    select name, language, category, parameter_format, components from templates
    where workspace_id = ${workspaceId} and strpos(${definition}, to_json(name)::text) > 0`
  for (const template of templates) await simulator.createTemplate(sandbox.id, template)
}
