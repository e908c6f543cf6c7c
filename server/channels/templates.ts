/**
 * Templates: the messages a provider approved, as it lists them.
 *
 * The provider owns them; ours is a copy, replaced whole at every refresh and
 * corrected by its status reports in between. A provider that does not answer
 * takes nothing away.
 */

import { createCoalescer } from '../lib/coalescer.ts'
import type { Sql } from '../lib/db.ts'
import type { Channel, Connection, Template, TemplateChanges } from './channel.ts'

export type ListedTemplate = Required<Template> & { updated_at: string }

export async function listTemplates(sql: Sql, workspaceId: string): Promise<ListedTemplate[]> {
  return sql<ListedTemplate[]>`
    select external_id, name, language, status, category, parameter_format, components, status_reason, quality,
      previous_category, updated_at
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

const coalesceRefresh = createCoalescer()

/**
 * Fetch the provider's list and keep it in place of ours; false: it did not answer as it should, and ours stays.
 * Callers at the same time share a fetch that begins after they asked.
 */
export function refreshTemplates(sql: Sql, channel: Channel, connection: Connection): Promise<boolean> {
  return coalesceRefresh(connection.id, async () => {
    const listed = await channel.listTemplates?.(connection)
    if (listed) await replaceTemplates(sql, connection.workspace_id, listed)
    return listed !== undefined
  })
}

/** What the provider changed of one template. One we do not have is found by the next refresh. */
export async function changeTemplate(
  sql: Sql,
  workspaceId: string,
  { name, language, changes }: { name: string; language: string; changes: TemplateChanges },
): Promise<void> {
  const { status = null, status_reason = null, quality = null, category = null } = changes
  await sql`
    update templates set
      status = coalesce(${status}, status),
      status_reason = case when ${status}::text is null then status_reason else ${status_reason} end,
      quality = coalesce(${quality}, quality),
      previous_category = case when category <> ${category} then category else previous_category end,
      category = coalesce(${category}, category),
      updated_at = now()
    where workspace_id = ${workspaceId} and name = ${name} and language = ${language}
      and (status <> ${status} or status_reason is distinct from ${status_reason} and ${status}::text is not null
        or quality is distinct from coalesce(${quality}, quality) or category <> ${category})`
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
    with
    -- The provider's list.
    given as (
      select external_id, name, language, status, category, parameter_format,
        coalesce(components, '[]') as components, status_reason, quality, previous_category
      from jsonb_to_recordset(${text}::text::jsonb) as given (
        external_id text, name text, language text, status text, category text, parameter_format text, components jsonb,
        status_reason text, quality text, previous_category text
      )
    ),
    -- Ours that the provider no longer lists.
    gone as (
      delete from templates t
      where t.workspace_id = ${workspaceId}
        and not exists (select from given g where g.name = t.name and g.language = t.language)
    )
    insert into templates as t
      (workspace_id, name, language, external_id, status, category, parameter_format, components, status_reason, quality,
        previous_category, updated_at)
    select ${workspaceId}, name, language, external_id, status, category, parameter_format, components, status_reason,
      quality, previous_category, now()
    from given
    -- So that two processes that refresh at once never lock each other out.
    order by name collate "C", language collate "C"
    on conflict (workspace_id, name, language) do update set
      external_id = excluded.external_id, status = excluded.status, category = excluded.category,
      parameter_format = excluded.parameter_format, components = excluded.components,
      -- What a report said stays until the list says otherwise.
      status_reason = case when excluded.status = t.status then coalesce(excluded.status_reason, t.status_reason)
        else excluded.status_reason end,
      quality = coalesce(excluded.quality, t.quality),
      previous_category = case when excluded.category = t.category
        then coalesce(excluded.previous_category, t.previous_category) else t.category end,
      updated_at = excluded.updated_at
    where (t.external_id, t.status, t.category, t.parameter_format, t.components) is distinct from
        (excluded.external_id, excluded.status, excluded.category, excluded.parameter_format, excluded.components)
      or excluded.status_reason <> coalesce(t.status_reason, '') or excluded.quality <> coalesce(t.quality, '')
      or excluded.previous_category <> coalesce(t.previous_category, '')`
}

/** A template with text that PostgreSQL cannot keep, a NUL or half a character, is left out; its neighbours are not. */
const isStorable = (template: Template): boolean => !/\\u(0000|d[89a-f]..)/.test(JSON.stringify(template))
