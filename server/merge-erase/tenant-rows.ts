/**
 * Deletes all rows of a tenant, in every table with a column `workspace_id`.
 *
 * Tables, keys and references come from the catalog, so a new table needs no line here. A table is emptied after the tables that
 * refer to it, so no delete cascades to many rows. Each statement deletes at most `batchSize` rows in the order of the primary key
 * and commits, unless the caller has a transaction. It locks no rows of other tenants, and it starts behind the deleted rows:
 * reading those again would take quadratic time.
 */
import { type Sql, withRetries } from '../lib/postgres/db.ts'

/** `key`: the primary key without the tenant. `parents`: the tables it refers to. Names are quoted. */
type TenantTable = { name: string; key: string[]; parents: string[] }

const batchSize = 1_000

type Options = {
  /** Tables that stay as they are. */
  kept?: readonly string[]
  /** Of each statement. In a transaction only one: its caller repeats it as a whole. */
  tries?: number
}

/** Returns the number of deleted rows. */
export async function deleteTenantRows(
  db: Sql,
  workspaceId: string,
  { kept = [], tries = 4 }: Options = {},
): Promise<number> {
  let count = 0
  for (const table of childrenFirst(await listTenantTables(db))) {
    if (!kept.includes(table.name)) count += await emptyTable(db, workspaceId, table, tries)
  }
  return count
}

async function listTenantTables(db: Sql): Promise<TenantTable[]> {
  return db<TenantTable[]>`
    select quote_ident(c.relname) as name,
      array(
        select quote_ident(k.attname) from pg_index i
        cross join unnest(i.indkey) with ordinality as indexed (attnum, position)
        join pg_attribute k on k.attrelid = i.indrelid and k.attnum = indexed.attnum
        where i.indrelid = c.oid and i.indisprimary and k.attname <> 'workspace_id'
        order by indexed.position
      ) as key,
      array(
        select distinct quote_ident(parent.relname) from pg_constraint f join pg_class parent on parent.oid = f.confrelid
        where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid
      ) as parents
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id' and not a.attisdropped
    where c.relnamespace = to_regnamespace(current_schema()) and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname`
}

/** Tables without references come last: triggers of other tables may write to them. */
function childrenFirst(tables: readonly TenantTable[]): TenantTable[] {
  const sorted: TenantTable[] = []
  for (let left = [...tables]; left.length > 0; left = left.filter((table) => !sorted.includes(table))) {
    const free = left.filter(({ name }) => !left.some(({ parents }) => parents.includes(name)))
    if (free.length === 0)
      throw new Error(`these tables refer to each other: ${left.map(({ name }) => name).join(', ')}`)
    sorted.push(...free)
  }
  return [
    ...sorted.filter(({ parents }) => parents.length > 0),
    ...sorted.filter(({ parents }) => parents.length === 0),
  ]
}

async function emptyTable(db: Sql, workspaceId: string, { name, key }: TenantTable, tries: number): Promise<number> {
  if (key.length === 0) {
    const statement = `delete from ${name} where workspace_id = $1`
    const deleted = await withRetries(() => db.unsafe(statement, [workspaceId]), tries)
    return deleted.count
  }
  let count = 0
  let last: string[] = []
  for (;;) {
    const statement = deleteBatch(name, key, last.length > 0)
    const [batch] = await withRetries(
      () => db.unsafe<{ last: string[]; count: number }[]>(statement, [workspaceId, ...last], { prepare: true }),
      tries,
    )
    if (!batch) return count
    count += batch.count
    last = batch.last
  }
}

function deleteBatch(name: string, key: readonly string[], isLater: boolean): string {
  const columns = key.join(', ')
  const values = key.map((_, i) => `$${i + 2}`).join(', ')
  return `
    with batch as (
      select ${columns} from ${name} where workspace_id = $1 ${isLater ? `and (${columns}) > (${values})` : ''}
      order by ${columns} limit ${batchSize}
    ),
    deleted as (
      delete from ${name} t using batch b
      where t.workspace_id = $1 and ${key.map((column) => `t.${column} = b.${column}`).join(' and ')}
    )
    select array[${key.map((column) => `${column}::text`).join(', ')}] as last, (select count(*)::int from batch) as count
    from batch order by ${key.map((column) => `${column} desc`).join(', ')} limit 1`
}
