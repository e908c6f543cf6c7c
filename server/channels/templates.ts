/**
 * Templates: the messages a provider approved, as it lists them.
 *
 * The provider owns them; ours is a copy, replaced whole at every refresh and
 * corrected by its status reports in between. A provider that does not answer
 * takes nothing away.
 */

import type { Sql } from '../lib/db.ts'
import { createNextRuns } from '../lib/next-run.ts'
import type { Channel, Connection, Template } from './channel.ts'

export type ListedTemplate = Template & { updated_at: string }

export async function listTemplates(sql: Sql, workspaceId: string): Promise<ListedTemplate[]> {
  return sql<ListedTemplate[]>`
    select external_id, name, language, status, category, parameter_format, components, updated_at
    from templates
    where workspace_id = ${workspaceId}
    order by name, language`
}

export async function getTemplate(
  sql: Sql,
  workspaceId: string,
  name: string,
  language: string,
): Promise<Template | undefined> {
  const [template] = await sql<Template[]>`
    select external_id, name, language, status, category, parameter_format, components
    from templates
    where workspace_id = ${workspaceId} and name = ${name} and language = ${language}`
  return template
}

const inNextRun = createNextRuns()

/**
 * Fetch the provider's list and keep it in place of ours; false: it did not answer as it should, and ours stays.
 * Callers at the same time share a fetch that begins after they asked.
 */
export function refreshTemplates(sql: Sql, channel: Channel, connection: Connection): Promise<boolean> {
  return inNextRun(connection.id, async () => {
    const listed = await channel.listTemplates?.(connection)
    if (listed) await replaceTemplates(sql, connection.workspace_id, listed)
    return listed !== undefined
  })
}

/** What the provider says of one template; one we do not have is found by the next refresh. */
export async function setTemplateStatus(
  sql: Sql,
  workspaceId: string,
  name: string,
  language: string,
  status: string,
): Promise<void> {
  await sql`
    update templates set status = ${status}, updated_at = now()
    where workspace_id = ${workspaceId} and name = ${name} and language = ${language} and status <> ${status}`
}

/** Forget them all: they were another account's. */
export async function deleteTemplates(sql: Sql, workspaceId: string): Promise<void> {
  await sql`delete from templates where workspace_id = ${workspaceId}`
}

/** Keep this list in place of ours. */
export async function replaceTemplates(sql: Sql, workspaceId: string, listed: readonly Template[]): Promise<void> {
  const byName = new Map(
    listed.filter(isStorable).map((template) => [`${template.name} ${template.language}`, template]),
  )
  const text = JSON.stringify([...byName.values()])
  await sql`
    with given as (
      select external_id, name, language, status, category, parameter_format,
        coalesce(components, '[]') as components
      from jsonb_to_recordset(${text}::text::jsonb) as given (
        external_id text, name text, language text, status text, category text, parameter_format text, components jsonb
      )
    ),
    gone as (
      delete from templates t
      where t.workspace_id = ${workspaceId}
        and not exists (select from given g where g.name = t.name and g.language = t.language)
    )
    insert into templates as t
      (workspace_id, name, language, external_id, status, category, parameter_format, components, updated_at)
    select ${workspaceId}, name, language, external_id, status, category, parameter_format, components, now()
    from given
    -- So that two processes that refresh at once never lock each other out.
    order by name collate "C", language collate "C"
    on conflict (workspace_id, name, language) do update set
      external_id = excluded.external_id, status = excluded.status, category = excluded.category,
      parameter_format = excluded.parameter_format, components = excluded.components, updated_at = excluded.updated_at
    where (t.external_id, t.status, t.category, t.parameter_format, t.components) is distinct from
      (excluded.external_id, excluded.status, excluded.category, excluded.parameter_format, excluded.components)`
}

/** A template with text that PostgreSQL cannot keep, a NUL or half a character, is left out; its neighbours are not. */
const isStorable = (template: Template): boolean => !/\\u(0000|d[89a-f]..)/.test(JSON.stringify(template))
