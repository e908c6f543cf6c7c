/**
 * Templates: the messages that the provider approved.
 *
 * The provider owns them. Ours is a copy: a refresh replaces it, and status reports update it in between. It stays as it is
 * when the provider does not answer.
 */

import { createCoalescer } from '../lib/coalescer.ts'
import { type Page, readPosition } from '../lib/page.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { isStorable as isText } from '../lib/text.ts'
import type { Channel, Connection, Template, TemplateChanges } from './channel.ts'

export type ListedTemplate = Required<Template> & { updated_at: string }

export async function listTemplates(sql: Sql, workspaceId: string): Promise<ListedTemplate[]> {
  return sql<ListedTemplate[]>`
    select ${listedColumns(sql)} from templates t where t.workspace_id = ${workspaceId} order by t.name, t.language`
}

const listedColumns = (sql: Sql): Fragment => sql`
  t.external_id, t.name, t.language, t.status, t.category, t.parameter_format, t.components, t.status_reason, t.quality,
  t.previous_category, t.updated_at`

export type TemplateQuery = {
  limit?: unknown
  cursor?: unknown
  status?: string | undefined
  language?: string | undefined
  search?: string | undefined
}

/**
 * A page of templates, sorted by name and language. `isEmpty`: the workspace has no templates at all. Only the keys are sorted,
 * and the components of one page are read.
 */
export async function pageTemplates(
  sql: Sql,
  workspaceId: string,
  query: TemplateQuery,
): Promise<Page<ListedTemplate> & { isEmpty: boolean }> {
  const { limit } = readPosition(query)
  const after = typeof query.cursor === 'string' ? decodeKey(query.cursor) : undefined
  const rows = await sql<ListedTemplate[]>`
    with page as (
      select name, language from templates
      where workspace_id = ${workspaceId}
        and ${after ? sql`(name collate "C", language collate "C") > (${after.name}, ${after.language})` : sql`true`}
        and ${query.status === undefined ? sql`true` : sql`upper(status) = ${query.status.toUpperCase()}`}
        and ${query.language === undefined ? sql`true` : sql`language = ${query.language}`}
        and ${query.search === undefined ? sql`true` : sql`position(${query.search.toLowerCase()} in lower(name)) > 0`}
      order by name collate "C", language collate "C"
      limit ${limit + 1}
    )
    select ${listedColumns(sql)}
    from page p join templates t on t.workspace_id = ${workspaceId} and t.name = p.name and t.language = p.language
    order by t.name collate "C", t.language collate "C"`
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const isEmpty = rows.length === 0 && !(await hasTemplates(sql, workspaceId))
  return { data, meta: { next_cursor: rows.length > limit && last ? encodeKey(last) : null }, isEmpty }
}

async function hasTemplates(sql: Sql, workspaceId: string): Promise<boolean> {
  const [found] = await sql`select 1 from templates where workspace_id = ${workspaceId} limit 1`
  return found !== undefined
}

type TemplateKey = { name: string; language: string }

const encodeKey = ({ name, language }: TemplateKey): string =>
  Buffer.from(JSON.stringify([name, language])).toString('base64url')

/** Undefined if the cursor is not one of ours. */
function decodeKey(cursor: string): TemplateKey | undefined {
  try {
    const [name, language]: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    const isKey = typeof name === 'string' && typeof language === 'string' && isText(name + language)
    return isKey ? { name, language } : undefined
  } catch {
    return undefined
  }
}

export async function getListedTemplate(
  sql: Sql,
  workspaceId: string,
  name: string,
  language: string,
): Promise<ListedTemplate | undefined> {
  if (!isText(name)) return undefined
  const [template] = await sql<ListedTemplate[]>`
    select ${listedColumns(sql)}
    from templates t
    where t.workspace_id = ${workspaceId} and t.name = ${name} and t.language = ${language}`
  return template
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
 * Fetches the provider's list and replaces ours. Returns false when the provider did not answer; then ours stays.
 * Concurrent callers share one fetch that starts after their call.
 */
export function refreshTemplates(sql: Sql, channel: Channel, connection: Connection): Promise<boolean> {
  return coalesceRefresh(connection.id, async () => {
    const listed = await channel.listTemplates?.(connection)
    if (listed) await replaceTemplates(sql, connection.workspace_id, listed)
    return listed !== undefined
  })
}

/** Applies the provider's changes to one template. The next refresh adds one that we do not have. */
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

/** Deletes all templates, because they belong to another account. */
export async function deleteTemplates(sql: Sql, workspaceId: string): Promise<void> {
  await sql`delete from templates where workspace_id = ${workspaceId}`
}

/** Replaces our templates with this list. */
export async function replaceTemplates(sql: Sql, workspaceId: string, listed: readonly Template[]): Promise<void> {
  const byName = new Map(
    listed.filter(isStorable).map((template) => [`${template.name} ${template.language}`, template]),
  )
  const text = JSON.stringify([...byName.values()])
  await sql`
    with
    -- The provider's list.
    input as (
      select external_id, name, language, status, category, parameter_format,
        coalesce(components, '[]') as components, status_reason, quality, previous_category
      from jsonb_to_recordset(${text}::text::jsonb) as i (
        external_id text, name text, language text, status text, category text, parameter_format text, components jsonb,
        status_reason text, quality text, previous_category text
      )
    ),
    -- Templates that the provider no longer lists.
    deleted_templates as (
      delete from templates t
      where t.workspace_id = ${workspaceId}
        and not exists (select from input i where i.name = t.name and i.language = t.language)
    )
    insert into templates as t
      (workspace_id, name, language, external_id, status, category, parameter_format, components, status_reason, quality,
        previous_category, updated_at)
    select ${workspaceId}, name, language, external_id, status, category, parameter_format, components, status_reason,
      quality, previous_category, now()
    from input
    -- Sorted, so that two concurrent refreshes cannot deadlock.
    order by name collate "C", language collate "C"
    on conflict (workspace_id, name, language) do update set
      external_id = excluded.external_id, status = excluded.status, category = excluded.category,
      parameter_format = excluded.parameter_format, components = excluded.components,
      -- Values from reports stay until the list has other ones.
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

/** A template with text that PostgreSQL cannot store, a NUL or a lone surrogate, is skipped. */
const isStorable = (template: Template): boolean => !/\\u(0000|d[89a-f]..)/.test(JSON.stringify(template))
