/** Lists of episodes: newest first, or those that changed since a time. */
import { type Page, type Position, toPage } from '../../lib/page.ts'
import { type ChangePosition, changedUs, isChangedAfter, listChanges } from '../../lib/postgres/changes.ts'
import type { Fragment, Sql } from '../../lib/postgres/db.ts'
import { type Episode, episode } from './resource.ts'

export type EpisodeFilters = { conversation_id?: string | undefined }

export async function listEpisodes(
  sql: Sql,
  workspaceId: string,
  filters: EpisodeFilters,
  { limit, before }: Position,
): Promise<Page<Episode>> {
  const rows = await readEpisodes<Episode>(
    sql,
    workspaceId,
    sql`e.id < ${before} and ${isSelected(sql, filters)} order by e.id desc limit ${limit + 1}`,
  )
  return toPage(rows, limit)
}

/** Episodes that changed after a position, oldest change first. None is skipped (`lib/postgres/changes.ts`). */
export async function listChangedEpisodes(
  sql: Sql,
  workspaceId: string,
  filters: EpisodeFilters,
  position: ChangePosition,
): Promise<Page<Episode>> {
  return listChanges(sql, position, () =>
    readEpisodes<Episode & { changed_us: number }>(
      sql,
      workspaceId,
      sql`${isChangedAfter(sql, sql`e.updated_at`, sql`e.id`, position)} and ${isSelected(sql, filters)}
        order by e.updated_at, e.id limit ${position.limit + 1}`,
      sql`, ${changedUs(sql, sql`e.updated_at`)}`,
    ),
  )
}

const isSelected = (sql: Sql, { conversation_id }: EpisodeFilters): Fragment =>
  conversation_id ? sql`e.conversation_id = ${conversation_id}` : sql`true`

async function readEpisodes<Row>(
  sql: Sql,
  workspaceId: string,
  range: Fragment,
  extra: Fragment = sql``,
): Promise<Row[]> {
  return (await sql`
    select ${episode.columns(sql)}${extra}
    from episodes e
    left join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
    where e.workspace_id = ${workspaceId} and ${range}`) as unknown as Row[]
}
