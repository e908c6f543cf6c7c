/**
 * An import of a million rows with 12 columns: how fast it is checked, imported and undone, what a row costs, and how much memory the
 * process of the engines needs. `IMPORT_ROWS` sets another number of rows.
 *
 * The lower bound: the same rows copied inside the database into the same tables, with their indexes and foreign keys, as many per
 * statement as a chunk has. An import writes with one connection, too, and has more to do than the copy, which only reads its rows by index.
 */
import { cpuPer, readCpu } from './cpu.ts'
import type { Figure } from './figure.ts'
import { type Call, mapping, settle, signIn, writeFile } from './import-data.ts'
import { listProcesses, residentMb } from './memory.ts'
import { discard, type Service, startService } from './service.ts'

const rowCount = Number(process.env.IMPORT_ROWS ?? 1_000_000)

export async function benchImport(): Promise<Figure[]> {
  const service = await startService()
  const call = await signIn(service)
  const file = writeFile(rowCount)
  const engines = listProcesses(service).get('engines') ?? service.pid
  const idleMb = residentMb(engines)
  const { id } = await call('POST', '/imports?filename=people.csv', file)
  const checked = await measure(service, call, id, () => call('POST', `/imports/${id}/check`, { mapping }))
  const imported = await measure(service, call, id, () => call('POST', `/imports/${id}/start`))
  const peakMb = residentMb(engines, 'VmHWM')
  if (imported.value.result?.created !== rowCount) throw new Error(JSON.stringify(imported.value))
  const copied = await measureCopy(service)
  const undone = await measure(service, call, id, () => call('POST', `/imports/${id}/undo`))
  if (undone.value.undo?.erased !== rowCount) throw new Error(JSON.stringify(undone.value))
  await service.stop()
  discard(service)
  const rows = rowCount.toLocaleString('en')
  const megabytes = (file.length / 1024 / 1024).toFixed(0)
  return [
    {
      what: `import of ${rows} rows, 12 columns`,
      value: imported.perSecond,
      unit: 'rows/s',
      goal: { atLeast: 10_000 },
      note: imported.cpu,
    },
    {
      what: 'lower bound: the rows of the import copied inside the database by one connection',
      value: copied.perSecond,
      unit: 'rows/s',
      note: copied.cpu,
    },
    {
      what: `check of ${rows} rows, 12 columns, ${megabytes} MB`,
      value: checked.perSecond,
      unit: 'rows/s',
      note: checked.cpu,
    },
    { what: `undo of ${rows} new contacts`, value: undone.perSecond, unit: 'contacts/s', note: undone.cpu },
    {
      what: 'memory of the process that imports, at its highest',
      value: peakMb,
      unit: 'MB',
      goal: { below: 300 },
      note: `${idleMb.toFixed(0)} MB before`,
    },
  ]
}

/** Runs a job of the import to its end. */
async function measure(service: Service, call: Call, id: string, start: () => Promise<unknown>) {
  const before = readCpu(service)
  const began = performance.now()
  await start()
  const value = await settle(call, id)
  return { value, ...describe(service, before, began, rowCount) }
}

function describe(service: Service, before: ReturnType<typeof readCpu>, began: number, rows: number) {
  const perSecond = rows / ((performance.now() - began) / 1_000)
  const { node, database } = cpuPer(before, readCpu(service), rows)
  return { perSecond, cpu: `CPU per row ${node.toFixed(1)} µs Node and ${database.toFixed(1)} µs PostgreSQL` }
}

const tables = [
  ['contacts', 'id'],
  ['contact_identities', 'contact_id'],
  ['contact_tags', 'contact_id'],
  ['contact_import_changes', 'contact_id'],
] as const
const copiedRows = 100_000
const rowsPerChunk = 2_000

/** Copies contacts of the import into another workspace, which is rolled back. */
async function measureCopy(service: Service) {
  const target = '01890000-0000-7000-8000-0000000000ff'
  let copied: { perSecond: number; cpu: string } | undefined
  const isDone = new Error('rolled back')
  await service.db
    .begin(async (sql) => {
      await sql`
        insert into workspaces (id, name, default_country, created_at)
        select ${target}, 'Copy', default_country, created_at from workspaces where id = ${service.workspaceId}`
      await sql`
        insert into tags (workspace_id, id, name, name_key, color, created_at)
        select ${target}, id, name, name_key, color, created_at from tags where workspace_id = ${service.workspaceId}`
      const contacts = await sql<{ contact_id: string }[]>`
        select contact_id from contact_import_changes where workspace_id = ${service.workspaceId}
        order by contact_id limit ${copiedRows}`
      const columns = await sql<{ table: string; names: string }[]>`
        select attrelid::regclass::text as table, string_agg(quote_ident(attname), ', ') as names from pg_attribute
        where attrelid = any(${tables.map(([table]) => table)}::regclass[]) and attnum > 0 and not attisdropped
          and attgenerated = '' and attname <> 'workspace_id'
        group by attrelid`
      const namesOf = new Map(columns.map(({ table, names }) => [table, names]))
      const before = readCpu(service)
      const began = performance.now()
      for (let from = 0; from < contacts.length; from += rowsPerChunk) {
        const to = Math.min(from + rowsPerChunk, contacts.length) - 1
        const [first = '', last = ''] = [contacts[from]?.contact_id, contacts[to]?.contact_id]
        for (const [table, key] of tables) {
          const names = namesOf.get(table)
          await sql.unsafe(
            `insert into ${table} (workspace_id, ${names}) select $1, ${names} from ${table}
            where workspace_id = $2 and ${key} between $3 and $4`,
            [target, service.workspaceId, first, last],
          )
        }
      }
      copied = describe(service, before, began, contacts.length)
      throw isDone
    })
    .catch((error: unknown) => {
      if (error !== isDone) throw error
    })
  if (!copied) throw new Error('nothing was copied')
  return copied
}
