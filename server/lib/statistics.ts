/**
 * Statistics of tables that grow fast.
 *
 * PostgreSQL looks once a minute whether a table has changed so much that its
 * statistics must be made anew. Until then a table that was empty is planned
 * for as if it still were: on the first busy minute of a new installation, to
 * find one of 5,000 people took 1 ms instead of 15 µs, because every index that
 * begins with the workspace looked as good as the right one. So whoever works
 * in the background looks more often. Plans made before are made anew.
 */
import type { Db } from './db.ts'

/** Below this any plan will do. */
const fewRows = 200

/** Analyze every table of ours that has doubled since it was last looked at. */
export async function analyzeGrown(db: Db): Promise<void> {
  const grown = await db<{ name: string }[]>`
    select s.relname as name
    from pg_stat_user_tables s
    join pg_class c on c.oid = s.relid
    where s.schemaname = current_schema() and s.n_mod_since_analyze > greatest(c.reltuples, ${fewRows})`
  for (const { name } of grown) await db`analyze (skip_locked) ${db(name)}`
}
