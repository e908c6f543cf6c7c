/**
 * An import of a million rows into a workspace that has contacts of the file, while the API is used. The service is killed in the middle of
 * the import and of its undo. Then every row of the file has its contact, and after the undo the tables are as they were, row by row.
 * `IMPORT_ROWS` sets another number of rows.
 *
 * A restored contact has a new `updated_at`, which is not compared. Tags that an import created stay.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Parley } from '../sdk/src/index.ts'
import type { Figure } from './figure.ts'
import { firstNumber, type Import, mapping, settle, signIn, writeFile } from './import-data.ts'
import { listProcesses, residentMb } from './memory.ts'
import { createKeys, discard, type Service, startService } from './service.ts'

const rowCount = Number(process.env.IMPORT_ROWS ?? 1_000_000)
/** One contact for so many rows of the file is there before. */
const knownShare = 20

/** What an import may write, and what refers to contacts. */
const tables = [
  'contacts',
  'contact_identities',
  'contact_tags',
  'contact_notes',
  'contact_merges',
  'conversations',
  'messages',
  'segment_members',
] as const

export async function benchImportKill(): Promise<Figure[]> {
  let service = await startService()
  await insertKnown(service)
  const keys = await createKeys(service, keyCount)
  const alone = startTraffic(service, keys)
  await sleep(30_000)
  const idle = await alone.stop()
  await snapshot(service)
  let call = await signIn(service)
  const { id } = await call('POST', '/imports?filename=people.csv', writeFile(rowCount))
  await call('POST', `/imports/${id}/check`, { mapping })
  const { check } = await settle(call, id)
  const waits: number[] = []
  let peakMb = 0

  /** Runs a job to its end. Kills all processes of the service in the middle. */
  async function runKilled(action: string): Promise<{ value: Import; seconds: number; killedAt: number }> {
    const began = performance.now()
    await call('POST', `/imports/${id}/${action}`)
    let traffic = startTraffic(service, keys)
    const isHalf = ({ progress }: Import) => (progress?.rows_done ?? 0) >= rowCount / 2
    const middle = await settle(call, id, isHalf)
    waits.push(...(await traffic.stop()))
    const processes = listProcesses(service)
    peakMb = Math.max(peakMb, residentMb(processes.get('engines') ?? service.pid, 'VmHWM'))
    for (const pid of processes.values()) process.kill(pid, 'SIGKILL')
    await service.db.end({ timeout: 1 })
    service = await startService(service.dataDir)
    call = await signIn(service)
    traffic = startTraffic(service, keys)
    const value = await settle(call, id)
    waits.push(...(await traffic.stop()))
    peakMb = Math.max(peakMb, residentMb(listProcesses(service).get('engines') ?? service.pid, 'VmHWM'))
    return { value, seconds: (performance.now() - began) / 1_000, killedAt: middle.progress?.rows_done ?? rowCount }
  }

  const imported = await runKilled('start')
  const wrong = await countWrong(service)
  const undone = await runKilled('undo')
  const differences = await countDifferences(service)
  await service.stop()
  discard(service)
  const { created, changed } = check ?? { created: 0, changed: 0 }
  const what = `import of ${rowCount.toLocaleString('en')} rows, killed in the middle`
  const isAsChecked = JSON.stringify(imported.value.result) === JSON.stringify(check)
  return [
    {
      what: `${what}: rows whose contact is not as in the file`,
      value: wrong,
      unit: 'rows',
      goal: { below: 1 },
      note: `${created} created, ${changed} changed; killed after ${imported.killedAt} rows; ${imported.seconds.toFixed(0)} s with the restart`,
    },
    { what: `${what}: check and import differ`, value: isAsChecked ? 0 : 1, unit: 'counts', goal: { below: 1 } },
    {
      what: `${what}, and its undo, killed in the middle too: rows of ${tables.length} tables that differ from before`,
      value: differences,
      unit: 'rows',
      goal: { below: 1 },
      note: `${undone.value.undo?.erased} erased, ${undone.value.undo?.restored} restored, ${undone.value.undo?.kept} kept; killed after ${undone.killedAt}; ${undone.seconds.toFixed(0)} s with the restart`,
    },
    {
      what: `${what}: calls of the API meanwhile, p99`,
      value: at(waits, 0.99),
      unit: 'ms',
      note: `p50 ${at(waits, 0.5).toFixed(1)} ms, of ${waits.length}; without an import p50 ${at(idle, 0.5).toFixed(1)} ms, p99 ${at(idle, 0.99).toFixed(1)} ms`,
    },
    {
      what: `${what}: memory of the process that imports, at its highest`,
      value: peakMb,
      unit: 'MB',
      goal: { below: 300 },
    },
  ]
}

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0

/** Contacts that the file changes: other names and attributes, and a tag of their own. */
async function insertKnown({ db, workspaceId }: Service): Promise<void> {
  await db`
    with
    -- One contact for some rows of the file.
    people as (
      select ('01890000-0000-7000-9000-' || lpad(to_hex(i), 12, '0'))::uuid as id, '+1' || (${firstNumber}::bigint + i) as phone
      from generate_series(0, ${rowCount - 1}::int, ${knownShare}::int) as i
    ),
    inserted_contacts as (
      insert into contacts (workspace_id, id, phone, name, name_key, attributes, created_at, updated_at)
      select ${workspaceId}, id, phone, 'Earlier', 'earlier', '{"city":"Rome","since":2019}', now(), now() from people
    ),
    inserted_identities as (
      insert into contact_identities (workspace_id, channel, external_id, contact_id)
      select ${workspaceId}, 'msgapp', phone, id from people
    ),
    inserted_tag as (
      insert into tags (workspace_id, id, name, name_key, color, created_at)
      values (${workspaceId}, '01890000-0000-7000-8000-0000000000aa', 'Earlier', 'earlier', '#0d9488', now())
    )
    insert into contact_tags (workspace_id, contact_id, tag_id)
    select ${workspaceId}, id, '01890000-0000-7000-8000-0000000000aa' from people`
  await db`analyze contacts, contact_identities, contact_tags`
}

async function snapshot({ db, workspaceId }: Service): Promise<void> {
  for (const table of tables) {
    await db`
      create table ${db(`before_${table}`)} as
      select to_jsonb(t) - 'updated_at' as content from ${db(table)} t where t.workspace_id = ${workspaceId}`
  }
}

/** Rows that are there now and were not before, or the other way round. */
async function countDifferences({ db, workspaceId }: Service): Promise<number> {
  let differences = 0
  for (const table of tables) {
    const [row] = await db<{ count: number }[]>`
      with now_rows as (select to_jsonb(t) - 'updated_at' as content from ${db(table)} t where t.workspace_id = ${workspaceId})
      select (
        (select count(*) from (select content from now_rows except all select content from ${db(`before_${table}`)}) d) +
        (select count(*) from (select content from ${db(`before_${table}`)} except all select content from now_rows) d)
      )::int as count`
    if (row && row.count > 0) console.log(`${table}: ${row.count} rows differ`)
    differences += row?.count ?? 0
  }
  return differences
}

/** Rows of the file without exactly one contact that has its values. */
async function countWrong({ db, workspaceId }: Service): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int as count
    from generate_series(0, ${rowCount - 1}::int) as i
    left join (
      select phone, count(*) as count, min(email) as email, min(attributes->>'customer_no') as number, min((
          select count(*) from contact_tags ct join tags g on g.workspace_id = ct.workspace_id and g.id = ct.tag_id
          where ct.workspace_id = c.workspace_id and ct.contact_id = c.id and g.name_key <> 'earlier'
        )) as tags
      from contacts c
      where workspace_id = ${workspaceId}
      group by phone
    ) c on c.phone = '+1' || (${firstNumber}::bigint + i)
    where c.count is distinct from 1 or c.email is distinct from 'p' || i || '@example.com'
      or c.number is distinct from 'C-' || i or c.tags is distinct from 2`
  return row?.count ?? -1
}

/** A key allows two calls per second. */
const keyCount = 20
const pauseMs = 50

/** One call after another: reads a page, searches, creates a contact that the file does not have, and erases it. */
function startTraffic({ url }: Service, keys: readonly string[]): { stop(): Promise<number[]> } {
  const clients = keys.map((apiKey) => new Parley({ apiKey, baseUrl: `${url}/v1` }))
  const waits: number[] = []
  let isStopped = false
  async function timed<Value>(run: (parley: Parley) => PromiseLike<Value>): Promise<Value> {
    const parley = clients[waits.length % clients.length]
    if (!parley) throw new Error('there are no keys')
    const began = performance.now()
    const value = await run(parley)
    waits.push(performance.now() - began)
    await sleep(pauseMs)
    return value
  }
  const ended = (async () => {
    for (let i = 0; !isStopped; i++) {
      await timed(({ contacts }) => contacts.list({ limit: 50 }))
      await timed(({ contacts }) => contacts.list({ search: 'earlier', limit: 20 }))
      const { id } = await timed(({ contacts }) =>
        contacts.create({ phone: `+1305${2_000_000 + i}`, name: 'Meanwhile' }),
      )
      await timed(({ contacts }) => contacts.delete(id))
    }
  })()
  return {
    async stop() {
      isStopped = true
      await ended
      return waits
    },
  }
}
