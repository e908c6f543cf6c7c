/**
 * Rules for migrations since the last release: what would lock a large table for long, what an interrupted run could not repeat,
 * and what the code of the previous release would miss. They read the text, so they know the usual statements, not all of SQL.
 */

export type Migration = { name: string; text: string }

/** Tables with few rows. Every other table of a release may have millions. */
const smallTables = new Set(
  `api_keys broadcast_paces broadcasts channel_connections checklists encryption_checks invitations members message_digest
  migrations plan_usage segments tags templates webhook_endpoints webhook_listeners workspaces`.split(/\s+/),
)

/** An index of such a table cannot be built concurrently, but those of its partitions can. */
const partitionedTables = new Set(['webhook_attempts', 'webhook_events', 'api_requests'])

/** Each of them waits up to 300 ms for its lock while the migration holds those of the others. */
const maxTablesAtOnce = 2

/** Returns a sentence for each violation. `releasedTables` may have rows; tables that are newer are empty. */
export function checkMigration(
  { name, text }: Migration,
  releasedTables: ReadonlySet<string>,
  releasedVersions: readonly string[],
): string[] {
  const isLarge = (table: string | undefined) =>
    table !== undefined && releasedTables.has(table) && !smallTables.has(table)
  const isInTransaction = !text.startsWith('-- Runs without a transaction.')
  const hasPartitions = /^-- Each row is a statement\.$/m.test(text)
  const unusedSince = /^-- Unused since release (\d+\.\d+\.\d+)\.$/m.exec(text)?.[1]
  const found: string[] = []
  const changed = new Set<string>()
  for (const statement of splitStatements(text)) {
    const refuse = (reason: string) => found.push(`${name}: ${reason}: ${statement.slice(0, 120)}`)
    const table =
      /^(?:alter table(?: if exists)?(?: only)?|truncate(?: table)?|lock table|cluster|vacuum full) (\w+)/.exec(
        statement,
      )?.[1]
    const index = /^create (?:unique )?index (concurrently )?.*? on (?:only )?(\w+)/.exec(statement)
    const trigger = /^(?:create|drop) (?:or replace )?trigger .*? on (\w+)/.exec(statement)?.[1]
    for (const one of [table, trigger]) if (one && isLarge(one)) changed.add(one)

    if (index && !index[1] && isLarge(index[2]) && !(hasPartitions && partitionedTables.has(index[2] ?? '')))
      refuse('use `create index concurrently if not exists` in a file without a transaction')
    if (/^drop index (?!concurrently )/.test(statement)) refuse('use `drop index concurrently if exists`')
    if (/^reindex (?!.*concurrently)/.test(statement)) refuse('use `reindex … concurrently`')
    if (/^(truncate|lock table|cluster|vacuum full)/.test(statement) && isLarge(table))
      refuse('it locks a large table against all reads and writes')
    if (statement.startsWith('alter table') && isLarge(table)) {
      if (
        / add (constraint|check|foreign key)/.test(statement) &&
        !/ not valid/.test(statement) &&
        !/ using index/.test(statement)
      )
        refuse('add the constraint as `not valid`, and validate it in a file without a transaction')
      if (/ validate constraint/.test(statement) && isInTransaction)
        refuse('validate the constraint in a file without a transaction')
      if (/ add column .*( references | check \(| unique| primary key)/.test(statement))
        refuse('add the column first, then its constraint as `not valid`')
      if (/ add column .*( stored|serial| identity| default (?!'|null|true|false|-?\d))/.test(statement))
        refuse('the column has no constant default, so it rewrites the table')
      if (/ set not null/.test(statement)) refuse('use a check constraint: `not valid`, then validate it')
      if (/ alter (column )?\w+ (set data )?type /.test(statement))
        refuse('a new type rewrites the table; add a column')
      if (/ set (un)?logged/.test(statement)) refuse('it rewrites the table')
    }
    const isBatched = statement.startsWith('do ') && / commit;/.test(statement) && / limit /.test(statement)
    const written = /\b(?:update (\w+)(?: (?:as )?\w+)? set|delete from (\w+))/.exec(statement)
    if (written && isLarge(written[1] ?? written[2]) && !/^create (or replace )?function/.test(statement) && !isBatched)
      refuse('change the rows in batches that commit: a `do` block with `limit` and `commit`')
    if (/^drop table|^alter table .* (drop column|rename )/.test(statement) && isReleased(statement, releasedTables)) {
      if (!unusedSince || !releasedVersions.includes(unusedSince))
        refuse('the previous release may use it; write `-- Unused since release X.` if a release does not')
    }
    if (isInTransaction && / concurrently /.test(statement))
      refuse('begin the file with `-- Runs without a transaction.`')
    if (!isInTransaction && !isRepeatable(statement))
      refuse('after an interruption the whole file runs again; use `if not exists`, `if exists` or `or replace`')
  }
  if (isInTransaction && changed.size > maxTablesAtOnce)
    found.push(`${name}: it locks ${[...changed].join(', ')} at the same time; use a file without a transaction`)
  return found
}

const isReleased = (statement: string, tables: ReadonlySet<string>): boolean =>
  tables.has(/^(?:drop table(?: if exists)?|alter table(?: if exists)?(?: only)?) (\w+)/.exec(statement)?.[1] ?? '')

function isRepeatable(statement: string): boolean {
  if (/^create (table|(unique )?index)/.test(statement)) return / if not exists /.test(statement)
  if (/^create (function|trigger|view)/.test(statement)) return false
  if (/^drop /.test(statement)) return / if exists /.test(statement)
  if (/^alter table/.test(statement)) return !/ add column (?!if not exists)| drop column (?!if exists)/.test(statement)
  return true
}

/** Statements on one line each, without comments. A body between dollar signs is part of its statement. */
function splitStatements(text: string): string[] {
  const parts: string[] = ['']
  for (const [i, piece] of text
    .replaceAll(/^\s*--.*$/gm, '')
    .split('$$')
    .entries()) {
    const [head = '', ...rest] = i % 2 === 1 ? [`$$${piece}$$`] : piece.split(';')
    parts[parts.length - 1] += head
    parts.push(...rest)
  }
  return parts.map((part) => part.replaceAll(/\s+/g, ' ').trim().toLowerCase()).filter((part) => part !== '')
}

/** The tables that migrations create. */
export function tablesOf(migrations: readonly Migration[]): Set<string> {
  const created = migrations.flatMap(({ text }) => [
    ...text.matchAll(/^create (?:unlogged )?table (?:if not exists )?(\w+)/gm),
  ])
  return new Set(created.map(([, table = '']) => table))
}
