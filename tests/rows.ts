/** All rows of a workspace, in every tenant table: to prove that nothing changed and nothing leaked. */
import type { Db } from '../server/lib/postgres/db.ts'

/** Written by every request, so they show nothing about its effect. */
const counters = ['api_keys', 'api_key_windows', 'api_requests']

/** Derived from messages and conversations by a background loop. */
const digested = [
  ...['inbox_counts', 'message_words', 'message_slices', 'message_days', 'message_waits', 'message_answers'],
  ...['message_periods', 'message_revisits'],
  ...['report_changes', 'report_counts', 'report_histograms', 'report_states', 'counted_episodes'],
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

/** Answers a function that hashes every row of a workspace, without the tables in `except`. */
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

/**
 * Logs which workspace each changed row belongs to, and answers how many changes a workspace has had. Asking costs one
 * index look-up, where a checksum reads every table.
 */
export async function createChangeLog(db: Db): Promise<(workspaceId: string) => Promise<string>> {
  const names = (await listTenantTables(db)).filter((name) => ![...counters, ...digested].includes(name))
  await db.unsafe(`
    create table row_changes (workspace_id uuid, id bigint generated always as identity, primary key (workspace_id, id));
    create function log_change() returns trigger language plpgsql as $$
      begin
        insert into row_changes (workspace_id) values (coalesce(new.workspace_id, old.workspace_id));
        return null;
      end $$;
    ${names
      .map(
        (name) => `
          create trigger log_change after insert or delete on ${name} for each row execute function log_change();
          create trigger log_update after update on ${name} for each row
            when (old.* is distinct from new.*) execute function log_change();`,
      )
      .join('')}`)
  return async (workspaceId) => {
    const [last] = await db<{ id: string }[]>`
      select id from row_changes where workspace_id = ${workspaceId} order by id desc limit 1`
    return last?.id ?? ''
  }
}
