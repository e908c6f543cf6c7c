/** The limits of what a workspace stores for broadcasts that are not sent. */
import { badRequest } from '../lib/errors.ts'
import type { Sql } from '../lib/postgres/db.ts'

const maxDrafts = 1_000
/** As many as the largest segments have. */
const maxUnsent = 1_000_000

/**
 * Throws 400 when the workspace has too many recipients that wait in drafts, scheduled and running broadcasts, or with `isDraft` too
 * many drafts. The recipients of audiences do not count: they exist only while they are sent to. Called after the write, in its
 * transaction: concurrent writes do not see each other, so each may exceed a limit once.
 */
export async function requireCapacity(sql: Sql, workspaceId: string, { isDraft = false } = {}): Promise<void> {
  const [stored] = await sql<{ drafts: number; unsent: number }[]>`
    select count(*) filter (where status = 'draft')::int as drafts,
      coalesce(sum(filled_count - position) filter (
        where segment_id is null and audience is null and status <> 'canceled'
      ), 0)::float8 as unsent
    from broadcasts
    where workspace_id = ${workspaceId} and completed_at is null`
  if (isDraft && stored && stored.drafts > maxDrafts) {
    throw badRequest(`draft: the workspace has ${maxDrafts.toLocaleString('en')} drafts; start or delete one`)
  }
  if (stored && stored.unsent > maxUnsent) {
    const limit = maxUnsent.toLocaleString('en')
    throw badRequest(`recipients: the broadcasts of the workspace may have at most ${limit} that are not sent to yet`)
  }
}
