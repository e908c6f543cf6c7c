/**
 * Templates: the messages that the provider approved. They belong to a provider account, and all its numbers share them.
 *
 * The provider owns them. Ours is a copy: a refresh replaces it, and status reports update it in between. It stays as it is
 * when the provider does not answer. The stored name of a template has the scope of its account (`contacts/scope.ts`).
 */
import { withScope } from '../contacts/scope.ts'

import { createCoalescer } from '../lib/coalescer.ts'
import { type Page, readPosition } from '../lib/page.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { isStorable as isText } from '../lib/text.ts'
import type { Channel, Connection, Template, TemplateChanges } from './channel.ts'

export type ListedTemplate = Required<Template> & {
  /** The provider's id of its account. */
  account: string | null
  updated_at: string
}

/** `account`: only those of this provider account. */
export async function listTemplates(sql: Sql, workspaceId: string, account?: string): Promise<ListedTemplate[]> {
  return sql<ListedTemplate[]>`
    select ${listedColumns(sql)} from templates t
    where t.workspace_id = ${workspaceId} and ${account === undefined ? sql`true` : sql`${accountOf(sql)} = ${account}`}
    order by ${nameOf(sql)}, t.language, t.name`
}

const listedColumns = (sql: Sql): Fragment => sql`
  ${accountOf(sql)} as account, t.external_id, ${nameOf(sql)} as name, t.language, t.status, t.category, t.parameter_format,
  t.components, t.status_reason, t.quality, t.previous_category, t.updated_at`

/** The name of template `t` without its scope. */
const nameOf = (sql: Sql): Fragment => sql`substr(t.name, position('/' in t.name) + 1)`

/** The account of template `t`: that of the connections with its scope. */
const accountOf = (sql: Sql): Fragment => sql`(
  select c.account_id from channel_connections c
  where c.workspace_id = t.workspace_id and c.channel_name = 'msgapp'
    and c.scope = case when position('/' in t.name) > 0 then split_part(t.name, '/', 1) else '' end
  order by c.disconnected_at desc nulls first, c.id
  limit 1
)`

export type TemplateQuery = {
  limit?: unknown
  cursor?: unknown
  status?: string | undefined
  language?: string | undefined
  search?: string | undefined
  account?: string | undefined
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
  const rows = await sql<(ListedTemplate & { stored: string })[]>`
    with page as (
      select t.name, t.language from templates t
      where t.workspace_id = ${workspaceId}
        and ${after ? sql`(${nameOf(sql)} collate "C", t.language collate "C", t.name collate "C") > (${after.name}, ${after.language}, ${after.stored})` : sql`true`}
        and ${query.status === undefined ? sql`true` : sql`upper(t.status) = ${query.status.toUpperCase()}`}
        and ${query.language === undefined ? sql`true` : sql`t.language = ${query.language}`}
        and ${query.account === undefined ? sql`true` : sql`${accountOf(sql)} = ${query.account}`}
        and ${query.search === undefined ? sql`true` : sql`position(${query.search.toLowerCase()} in lower(${nameOf(sql)})) > 0`}
      order by ${nameOf(sql)} collate "C", t.language collate "C", t.name collate "C"
      limit ${limit + 1}
    )
    select ${listedColumns(sql)}, t.name as stored
    from page p join templates t on t.workspace_id = ${workspaceId} and t.name = p.name and t.language = p.language
    order by ${nameOf(sql)} collate "C", t.language collate "C", t.name collate "C"`
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const isEmpty = rows.length === 0 && !(await hasTemplates(sql, workspaceId))
  return { data, meta: { next_cursor: rows.length > limit && last ? encodeKey(last) : null }, isEmpty }
}

async function hasTemplates(sql: Sql, workspaceId: string): Promise<boolean> {
  const [found] = await sql`select 1 from templates where workspace_id = ${workspaceId} limit 1`
  return found !== undefined
}

/** `stored`: the name with its scope. Cursors of earlier releases have none. */
type TemplateKey = { name: string; language: string; stored: string }

const encodeKey = ({ name, language, stored }: TemplateKey): string =>
  Buffer.from(JSON.stringify([name, language, stored])).toString('base64url')

/** Undefined if the cursor is not one of ours. */
function decodeKey(cursor: string): TemplateKey | undefined {
  try {
    const [name, language, stored = name]: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    const isKey = [name, language, stored].every((part) => typeof part === 'string' && isText(part))
    return isKey ? { name: String(name), language: String(language), stored: String(stored) } : undefined
  } catch {
    return undefined
  }
}

/** Without `account` that of the default number is preferred. */
export async function getListedTemplate(
  sql: Sql,
  workspaceId: string,
  { name, language, account }: { name: string; language: string; account?: string | undefined },
): Promise<ListedTemplate | undefined> {
  if (!isText(name)) return undefined
  const [template] = await sql<ListedTemplate[]>`
    select ${listedColumns(sql)}
    from templates t
    where t.workspace_id = ${workspaceId} and ${nameOf(sql)} = ${name} and t.language = ${language}
      and ${account === undefined ? sql`true` : sql`${accountOf(sql)} = ${account}`}
    order by ${accountOf(sql)} = (
      select c.account_id from channel_connections c where c.workspace_id = ${workspaceId} and c.channel = 'msgapp'
    ) desc nulls last, t.name
    limit 1`
  return template
}

export async function getTemplate(
  sql: Sql,
  workspaceId: string,
  name: string,
  language: string,
  scope = '',
): Promise<Template | undefined> {
  const [template] = await sql<Template[]>`
    select external_id, ${name}::text as name, language, status, category, parameter_format, components
    from templates
    where workspace_id = ${workspaceId} and name = ${withScope(scope, name)} and language = ${language}`
  return template
}

const coalesceRefresh = createCoalescer()

/**
 * Fetches the provider's list and replaces ours. Returns false when the provider did not answer; then ours stays.
 * Concurrent callers share one fetch that starts after their call.
 */
export function refreshTemplates(sql: Sql, channel: Channel, connection: Connection): Promise<boolean> {
  const { workspace_id, account_id, scope } = connection
  return coalesceRefresh(`${workspace_id} ${account_id}`, async () => {
    const listed = await channel.listTemplates?.(connection)
    if (listed) await replaceTemplates(sql, workspace_id, listed, scope)
    return listed !== undefined
  })
}

/** Applies the provider's changes to one template. The next refresh adds one that we do not have. */
export async function changeTemplate(
  sql: Sql,
  workspaceId: string,
  { name, language, changes }: { name: string; language: string; changes: TemplateChanges },
  scope = '',
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
    where workspace_id = ${workspaceId} and name = ${withScope(scope, name)} and language = ${language}
      and (status <> ${status} or status_reason is distinct from ${status_reason} and ${status}::text is not null
        or quality is distinct from coalesce(${quality}, quality) or category <> ${category})`
}

/** Deletes the templates of a scope, because its connections belong to another account now. */
export async function deleteTemplates(sql: Sql, workspaceId: string, scope = ''): Promise<void> {
  await sql`delete from templates t where t.workspace_id = ${workspaceId} and ${isOfScope(sql, scope)}`
}

/** Condition: template `t` has this scope. */
const isOfScope = (sql: Sql, scope: string): Fragment =>
  scope === ''
    ? sql`position('/' in t.name) = 0`
    : sql`split_part(t.name, '/', 1) = ${scope} and position('/' in t.name) > 0`

/** Deletes the templates of accounts without a connected number. */
export async function deleteUnusedTemplates(sql: Sql, workspaceId: string): Promise<void> {
  await sql`
    delete from templates t
    where t.workspace_id = ${workspaceId} and not exists (
      select from channel_connections c
      where c.workspace_id = t.workspace_id and c.channel_name = 'msgapp' and c.disconnected_at is null
        and c.scope = case when position('/' in t.name) > 0 then split_part(t.name, '/', 1) else '' end
    )`
}

/** Replaces our templates of a scope with this list. */
export async function replaceTemplates(
  sql: Sql,
  workspaceId: string,
  listed: readonly Template[],
  scope = '',
): Promise<void> {
  const byName = new Map(
    listed
      .filter(isStorable)
      .map((template) => [
        `${template.name} ${template.language}`,
        { ...template, name: withScope(scope, template.name) },
      ]),
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
      where t.workspace_id = ${workspaceId} and ${isOfScope(sql, scope)}
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
