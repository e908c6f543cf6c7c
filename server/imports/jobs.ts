/**
 * The work of imports: claims of the worker, its progress and its end.
 *
 * A row of `contact_imports` in the state `checking`, `importing` or `undoing` is a job. A claim is a lease with a number. Every write
 * of the worker names that number and extends the lease, so a worker that has lost its lease, or whose import was canceled, changes
 * nothing. One job of a workspace is claimed at a time; the others wait in the order in which they were requested.
 */
import type { Times } from '../../common/times.ts'
import type { Delimiter, Encoding } from '../lib/csv-format.ts'
import type { CsvPosition } from '../lib/csv-reader.ts'
import type { Db, Fragment, Sql } from '../lib/postgres/db.ts'
import type { ImportOptions, Target } from './mapping.ts'
import type { ImportResult } from './results.ts'

export type ImportJob = {
  workspaceId: string
  id: string
  state: 'checking' | 'importing' | 'undoing'
  lease: number
  /** Claims without any progress, with this one. */
  attempts: number
  sizeBytes: number
  encoding: Encoding
  delimiter: Delimiter
  mapping: Target[]
  options: ImportOptions
  country: string
  /** Where the first row starts, and where the import continues. */
  first: CsvPosition
  next: CsvPosition
  checked: ImportResult | null
  result: ImportResult | null
  undoneTo: string | null
}

/** The import was canceled, or another worker has it. Nothing of the transaction is stored. */
export class LostLease extends Error {}

/** The key of an advisory lock: one process at a time claims, so that two never claim jobs of the same workspace. */
const claimLock = 7_263_558

/** About 50,000 rows, which are imported within seconds. */
const smallBytes = 5 * 1024 * 1024

export const isLarge = ({ sizeBytes }: ImportJob): boolean => sizeBytes > smallBytes

type Slots = { free: number; large: number }

/** Claims up to `free` jobs, of which up to `large` have large files, at most one per workspace. */
export const hasJobs = (sql: Sql): Fragment =>
  sql`exists (select from contact_imports where state in ('checking', 'importing', 'undoing'))`

export function claimJobs(db: Db, { free, large }: Slots, { leaseMs }: Times['imports']): Promise<ImportJob[]> {
  return db.begin(async (sql): Promise<ImportJob[]> => {
    const [lock] = await sql<{ is_held: boolean }[]>`select pg_try_advisory_xact_lock(${claimLock}) as is_held`
    if (!lock?.is_held) return []
    return sql<ImportJob[]>`
      with
      -- All jobs, with those that a worker has.
      jobs as (
        select j.workspace_id, j.id, j.queued_at, j.size_bytes > ${smallBytes} as is_large,
          coalesce(j.leased_until > now(), false) as is_leased
        from contact_imports j
        where j.state in ('checking', 'importing', 'undoing')
      ),
      -- The first job of each workspace that has none in work.
      due_jobs as (
        select distinct on (j.workspace_id) j.workspace_id, j.id, j.queued_at, j.is_large
        from jobs j
        where not exists (select from jobs o where o.workspace_id = j.workspace_id and o.is_leased)
        order by j.workspace_id, j.queued_at, j.id
      ),
      -- Those that there are slots for: a large file does not take the slot of small ones.
      fitting_jobs as (
        select d.workspace_id, d.id, d.queued_at
        from (select *, row_number() over (partition by is_large order by queued_at, id) as position from due_jobs) d
        where not d.is_large or d.position <= ${large}
        order by d.queued_at
        limit ${free}
      ),
      -- Without those that a member changes at this moment.
      locked_jobs as (
        select i.workspace_id, i.id
        from contact_imports i join fitting_jobs d on d.workspace_id = i.workspace_id and d.id = i.id
        where i.state in ('checking', 'importing', 'undoing')
        order by d.queued_at
        for update of i skip locked
      )
      update contact_imports i set lease = i.lease + 1, attempt_count = i.attempt_count + 1,
        leased_until = ${leaseEnd(sql, leaseMs)}, resumed_at = now(), resumed_rows = i.rows_done
      from locked_jobs l
      where i.workspace_id = l.workspace_id and i.id = l.id
      returning i.workspace_id as "workspaceId", i.id, i.state, i.lease, i.attempt_count as attempts,
        i.size_bytes::float8 as "sizeBytes", i.encoding, i.delimiter, i.mapping, i.options, i.country,
        json_build_object('byte', i.first_byte, 'line', i.first_line) as first,
        json_build_object('byte', i.next_byte, 'line', i.next_line) as next,
        i.check_result as checked, i.result, i.undone_to as "undoneTo"`
  }) as Promise<ImportJob[]>
}

const leaseEnd = (sql: Sql, leaseMs: number): Fragment => sql`now() + make_interval(secs => ${leaseMs / 1000})`

/** Changes the import if it still is this job of this worker. */
async function change(sql: Sql, { workspaceId, id, state, lease }: ImportJob, columns: Fragment): Promise<void> {
  const changed = await sql`
    update contact_imports set ${columns}
    where workspace_id = ${workspaceId} and id = ${id} and state = ${state} and lease = ${lease}`
  if (changed.count === 0) throw new LostLease('the import was canceled, or another worker has it')
}

type Progress = { next: CsvPosition; rowsDone: number }

/** Shows the progress of a check, which starts again from the first row after a crash. */
export async function reportProgress(sql: Sql, job: ImportJob, { next, rowsDone }: Progress): Promise<void> {
  await change(sql, job, sql`next_byte = ${next.byte}, next_line = ${next.line}, rows_done = ${rowsDone}`)
}

/** Extends the lease. */
export async function keepLease(sql: Sql, job: ImportJob, leaseMs: number): Promise<void> {
  await change(sql, job, sql`leased_until = ${leaseEnd(sql, leaseMs)}`)
}

/** Moves the position of the import, in the transaction that has imported the rows before it. */
export async function moveOn(
  sql: Sql,
  job: ImportJob,
  { next, rowsDone, result }: Progress & { result: ImportResult },
  leaseMs: number,
): Promise<void> {
  await change(
    sql,
    job,
    sql`leased_until = ${leaseEnd(sql, leaseMs)}, attempt_count = 0, next_byte = ${next.byte}, next_line = ${next.line},
      rows_done = ${rowsDone}, result = ${JSON.stringify(result)}::text::jsonb`,
  )
}

export async function endCheck(sql: Sql, job: ImportJob, result: ImportResult): Promise<void> {
  await change(
    sql,
    job,
    sql`state = 'checked', checked_at = now(), check_result = ${JSON.stringify(result)}::text::jsonb, leased_until = null,
      attempt_count = 0`,
  )
}

/** How long an import can be undone, and the list of what an undo kept is available. */
const undoDays = 7

const undoEnd = (sql: Sql): Fragment => sql`now() + make_interval(days => ${undoDays})`

/** The values of the first rows are no longer needed. */
const ended = (sql: Sql): Fragment =>
  sql`ended_at = now(), changes_until = ${undoEnd(sql)}, columns = null, leased_until = null, attempt_count = 0`

export async function endImport(sql: Sql, job: ImportJob): Promise<void> {
  await change(sql, job, sql`state = 'done', ${ended(sql)}`)
}

/** Ends a job with a sentence for members. A file that failed its check can be checked again with another mapping. */
export async function failJob(sql: Sql, job: ImportJob, error: string): Promise<void> {
  const end = job.state === 'checking' ? sql`leased_until = null, attempt_count = 0` : ended(sql)
  await change(sql, job, sql`state = 'failed', error = ${error.slice(0, 1_000).toWellFormed()}, ${end}`)
}

/** The columns of an import that a member cancels while it runs. */
export const cancelColumns = (sql: Sql): Fragment => sql`state = 'canceled', ${ended(sql)}`

type UndoCounts = { erased: number; restored: number; kept: number }

/** Moves the position of the undo, in the transaction that has restored the contacts before it. */
export async function moveUndo(
  sql: Sql,
  job: ImportJob,
  { undoneTo, counts, leaseMs }: { undoneTo: string; counts: UndoCounts; leaseMs: number },
): Promise<void> {
  const { erased, restored, kept } = counts
  await change(
    sql,
    job,
    sql`leased_until = ${leaseEnd(sql, leaseMs)}, attempt_count = 0, undone_to = ${undoneTo},
      erased_count = erased_count + ${erased}, restored_count = restored_count + ${restored},
      kept_count = kept_count + ${kept}, rows_done = rows_done + ${erased + restored + kept}`,
  )
}

export async function endUndo(sql: Sql, job: ImportJob): Promise<void> {
  await change(
    sql,
    job,
    sql`state = 'undone', undone_at = now(), changes_until = ${undoEnd(sql)}, leased_until = null, attempt_count = 0`,
  )
}

/** Lets another worker continue: at once after a stop of this one, later after a failure of ours. */
export async function releaseJob(sql: Sql, job: ImportJob, { afterMs = 0, isAttempt = true } = {}): Promise<void> {
  const { workspaceId, id, lease } = job
  await sql`
    update contact_imports set leased_until = ${afterMs === 0 ? sql`null` : leaseEnd(sql, afterMs)},
      attempt_count = greatest(0, attempt_count - ${isAttempt ? 0 : 1})
    where workspace_id = ${workspaceId} and id = ${id} and lease = ${lease}`
}
