/**
 * Saved views: named filters of the inbox. A view belongs to one member, or is shared: then all members see it and may
 * change it.
 */
import { readTagName } from '../contacts/tags.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'

/** The query of the inbox, as `GET /conversations` takes it. */
type ViewFilters = Record<string, string>

export type InboxView = { id: string; name: string; is_shared: boolean; filters: ViewFilters }

type ViewInput = { name: string; is_shared: boolean; filters: ViewFilters }

/** Of a member, and of the shared ones. */
const maxViews = 100

/** The member's own views and the shared ones, oldest first. */
export async function listViews(sql: Sql, workspaceId: string, memberId: string): Promise<InboxView[]> {
  return sql<InboxView[]>`
    select ${viewColumns(sql)} from inbox_views
    where workspace_id = ${workspaceId} and ${isVisible(sql, memberId)}
    order by id
    limit ${2 * maxViews}`
}

export async function createView(
  sql: Sql,
  workspaceId: string,
  memberId: string,
  { name, is_shared, filters }: ViewInput,
): Promise<InboxView> {
  const id = newId()
  const owner = is_shared ? null : memberId
  const [view] = await sql<InboxView[]>`
    insert into inbox_views (workspace_id, id, member_id, name, filters, created_at)
    select ${workspaceId}, ${id}, ${owner}, ${readTagName(name, 'name')}, ${JSON.stringify(filters)}::text::jsonb,
      ${timeOfId(id)}
    where (
      select count(*) from inbox_views
      where workspace_id = ${workspaceId} and member_id is not distinct from ${owner}::uuid
    ) < ${maxViews}
    returning ${viewColumns(sql)}`
  if (!view) throw badRequest(`at most ${maxViews} ${is_shared ? 'shared views' : 'views of your own'}`)
  return view
}

export async function updateView(
  sql: Sql,
  workspaceId: string,
  memberId: string,
  id: string,
  { name, is_shared, filters }: Partial<ViewInput>,
): Promise<InboxView> {
  if (!isUuid(id)) throw notFound('view')
  const [view] = await sql<InboxView[]>`
    update inbox_views set
      name = coalesce(${name === undefined ? null : readTagName(name, 'name')}, name),
      member_id = case when ${is_shared === undefined} then member_id when not ${is_shared ?? false} then ${memberId}::uuid end,
      filters = coalesce(${filters === undefined ? null : JSON.stringify(filters)}::text::jsonb, filters)
    where workspace_id = ${workspaceId} and id = ${id} and ${isVisible(sql, memberId)}
    returning ${viewColumns(sql)}`
  if (!view) throw notFound('view')
  return view
}

/** Returns its name. */
export async function deleteView(sql: Sql, workspaceId: string, memberId: string, id: string): Promise<string> {
  const [deleted] = isUuid(id)
    ? await sql<{ name: string }[]>`
        delete from inbox_views where workspace_id = ${workspaceId} and id = ${id} and ${isVisible(sql, memberId)}
        returning name`
    : []
  if (!deleted) throw notFound('view')
  return deleted.name
}

const viewColumns = (sql: Sql) => sql`id, name, member_id is null as is_shared, filters`
const isVisible = (sql: Sql, memberId: string) => sql`(member_id is null or member_id = ${memberId})`
