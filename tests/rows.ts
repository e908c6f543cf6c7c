/** Every row of a workspace, whatever tables there are: to see that nothing changed, and that nothing leaked. */
import type { Db } from '../server/lib/db.ts'

/** Counted or marked by every request, so they tell nothing about what a request did. */
const counters = ['api_keys', 'api_key_windows']

/** Kept of messages by a loop, in its own time. */
const digested = [
  'message_words',
  'message_slices',
  'message_days',
  'message_waits',
  'message_answers',
  'message_revisits',
]

/** Tables whose rows belong to a workspace. */
export async function listTenantTables(db: Db): Promise<string[]> {
  const tables = await db<{ name: string }[]>`
    select c.relname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and a.attname = 'workspace_id' and not a.attisdropped
    order by c.relname`
  return tables.map(({ name }) => name)
}

/** One sum over every row of a workspace, but for those that tell who did what and when they were last seen, if so `except`ed. */
export async function createChecksum(
  db: Db,
  { except = [] }: { except?: readonly string[] } = {},
): Promise<(workspaceId: string) => Promise<string>> {
  const names = (await listTenantTables(db)).filter((name) => ![...counters, ...digested, ...except].includes(name))
  const rows = names.map((name) => `select '${name} ' || t::text as row from ${name} t where workspace_id = $1`)
  const statement = `
    select md5(coalesce(string_agg(row, e'\\n' order by row), '')) as sum
    from (${rows.join(' union all ')}) as everything`
  return async (workspaceId) => {
    const [sum] = await db.unsafe<{ sum: string }[]>(statement, [workspaceId], { prepare: true })
    return sum?.sum ?? ''
  }
}
