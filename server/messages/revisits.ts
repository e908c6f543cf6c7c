/**
 * Messages to look at again: their text was changed or taken back, or their id
 * is older than they are, so that whoever reads messages in order has read
 * past it. A row is a request to the digest, which has it within a second.
 */
import type { Fragment, Sql } from '../lib/db.ts'

/** Whose message is not there this long after the request is not coming. */
const patienceSeconds = 120

export type Revisit = { workspace_id: string; id: string; message_id: string; is_over: boolean }

/** Member of a `with` list: look again at the messages of a relation that has their `workspace_id, id`. */
export const revisiting = (sql: Sql, changed: Fragment): Fragment => sql`
  revisits as (
    insert into message_revisits (workspace_id, message_id) select workspace_id, id from ${changed}
  )`

/** Look at this one when it is there: ask before it is written, or a crash in between loses it. */
export async function revisitMessage(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await sql`insert into message_revisits (workspace_id, message_id) values (${workspaceId}, ${id})`
}

export async function listRevisits(sql: Sql, limit: number): Promise<Revisit[]> {
  return sql<Revisit[]>`
    select workspace_id, id, message_id,
      created_at < now() - make_interval(secs => ${patienceSeconds}) as is_over
    from message_revisits r
    order by r.created_at
    limit ${limit}`
}

export async function endRevisits(sql: Sql, revisits: readonly Revisit[]): Promise<void> {
  if (revisits.length === 0) return
  await sql`
    delete from message_revisits r
    using unnest(${revisits.map(({ workspace_id }) => workspace_id)}::uuid[], ${revisits.map(({ id }) => id)}::uuid[])
      as g (workspace_id, id)
    where r.workspace_id = g.workspace_id and r.id = g.id`
}
