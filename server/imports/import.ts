/**
 * Imports a checked file, chunk by chunk. While the database writes a chunk, the next one is read and parsed.
 *
 * A worker that continues an import first reads the rows before its position again: their numbers decide which later rows are
 * repetitions.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type CsvChunk, createCsvReader } from '../lib/csv-reader.ts'
import type { JobContext } from './check.ts'
import { endImport, type ImportJob } from './jobs.ts'
import { toColumns } from './mapping.ts'
import { countRows, noResult } from './results.ts'
import { createRowReader, type ReadRows, type RowReader } from './rows.ts'
import { writeChunk } from './write.ts'

/** Called after a chunk that created contacts. `hasEvents`: webhook deliveries may have been queued. */
type OnCreated = (hasEvents: boolean) => void

/** Returns false when it was stopped before the end. */
export async function importFile(context: JobContext, job: ImportJob, onCreated: OnCreated): Promise<boolean> {
  const { db, source, times, isStopped } = context
  const { options, encoding, delimiter, country } = job
  const rowReader = createRowReader({ columns: toColumns(job.mapping), options, country, delimiter })
  if (!(await skipImported(context, job, rowReader))) return false
  const reader = createCsvReader(source, { encoding, delimiter, position: job.next })
  const readNext = async (): Promise<{ chunk: CsvChunk; rows: ReadRows } | undefined> => {
    const chunk = await reader.next()
    return chunk && { chunk, rows: await rowReader.read(chunk) }
  }
  let result = job.result ?? noResult
  let rowsDone = countRows(result)
  for (let current = await readNext(); current; ) {
    if (isStopped()) return false
    rowsDone += current.chunk.count
    const following = readNext()
    // Its error counts when its turn comes.
    following.catch(() => {})
    const written = await writeChunk(db, job, { ...current, rowsDone, result, leaseMs: times.leaseMs })
    result = written.result
    if (written.hasCreated) onCreated(written.hasEvents)
    await sleep(times.pauseMs)
    current = await following
  }
  await endImport(db, job)
  return true
}

/** Reads the rows before the position of the import. Returns false when it was stopped. */
async function skipImported({ source, isStopped }: JobContext, job: ImportJob, rowReader: RowReader): Promise<boolean> {
  const { encoding, delimiter, first, next } = job
  const reader = createCsvReader(source, { encoding, delimiter, position: first })
  for (let byte = first.byte; byte < next.byte; ) {
    if (isStopped()) return false
    const chunk = await reader.next()
    if (!chunk) throw new Error('the file ends before the position of its import')
    await rowReader.skip(chunk)
    byte = chunk.end.byte
  }
  return true
}
