/**
 * `npm run schema`: write `schema.sql`, the migrated database as one can read it.
 *
 * It is for reading and reviewing, not for loading: tables with their columns,
 * constraints and indexes, in a fixed order, straight from the catalogue.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Db } from '../server/lib/db.ts'
import { startEmbeddedPostgres } from '../server/lib/embedded-postgres.ts'
import { migrate } from '../server/lib/migrate.ts'

export const schemaFile = join(import.meta.dirname, '..', 'schema.sql')

export async function describeSchema(db: Db): Promise<string> {
  const extensions = await db<{ name: string }[]>`
    select extname as name from pg_extension where extname <> 'plpgsql' order by 1`
  const tables = await db<{ name: string; definition: string }[]>`
    select c.relname as name,
      'create ' || case c.relpersistence when 'u' then 'unlogged ' else '' end || 'table ' || c.relname || E' (\n' ||
      (
        select string_agg('  ' || line, E',\n' order by place, line_order)
        from (
          select 1 as place, a.attnum::int as line_order,
            a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ||
            case when a.attnotnull then ' not null' else '' end ||
            case a.attgenerated when 's' then ' generated always as ' || pg_get_expr(d.adbin, d.adrelid) || ' stored'
              else coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') end as line
          from pg_attribute a
          left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
          where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          union all
          select 2, row_number() over (order by k.contype desc, k.conname)::int,
            'constraint ' || k.conname || ' ' || pg_get_constraintdef(k.oid)
          from pg_constraint k
          where k.conrelid = c.oid and k.contype <> 'n'
        ) as lines
      ) || E'\n)' || coalesce(' partition by ' || pg_get_partkeydef(c.oid), '') || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '') || ';' as definition
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname`
  const indexes = await db<{ name: string; definition: string }[]>`
    select tablename as name, indexdef || ';' as definition from pg_indexes
    where schemaname = 'public'
      and indexname not in (select conname from pg_constraint where contype in ('p', 'u'))
    order by tablename, indexname`
  return [
    '-- The migrated database, for reading. Written by `npm run schema`; a test keeps it true.\n',
    ...extensions.map(({ name }) => `create extension ${name};`),
    ...tables.map(({ name, definition }) =>
      ['', definition, ...indexes.filter((index) => index.name === name).map((index) => index.definition)].join('\n'),
    ),
    '',
  ].join('\n')
}

if (import.meta.main) {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-schema-'))
  const postgres = await startEmbeddedPostgres({ dataDir, settings: { fsync: 'off' } })
  const db = connect({ database: postgres.address, max: 1 })
  await migrate(db)
  writeFileSync(schemaFile, await describeSchema(db))
  await db.end()
  await postgres.stop()
  rmSync(dataDir, { recursive: true, force: true })
  process.exit(0)
}
