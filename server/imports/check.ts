/**
 * Checks a file: reads all of it and counts what the import would do. Nothing is written but the rejected rows. A file with a fault
 * in its last line fails here, so no file is imported in part.
 *
 * After a crash the check starts again with the first row.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Times } from '../../common/times.ts'
import type { ByteSource } from '../lib/csv-format.ts'
import { createCsvReader } from '../lib/csv-reader.ts'
import type { Db } from '../lib/postgres/db.ts'
import { endCheck, type ImportJob, keepLease, reportProgress } from './jobs.ts'
import { readContacts, readIdentities } from './known.ts'
import { toColumns } from './mapping.ts'
import { planChunk, type StoredContact } from './plan.ts'
import { deleteRejects, saveRejects } from './rejects.ts'
import { addPlan, noResult } from './results.ts'
import { createRowReader } from './rows.ts'

export type JobContext = {
  db: Db
  source: ByteSource
  times: Times['imports']
  isStopped: () => boolean
}

/** Contacts with several numbers whose changes are remembered. With more of them, the counts may differ from those of the import. */
const maxRemembered = 10_000

/** Returns false when it was stopped before the end. Throws a `CsvError` for a fault of the file. */
export async function checkFile({ db, source, times, isStopped }: JobContext, job: ImportJob): Promise<boolean> {
  const { workspaceId, id, options, encoding, delimiter, country, first } = job
  const reader = createCsvReader(source, { encoding, delimiter, position: first })
  const rowReader = createRowReader({ columns: toColumns(job.mapping), options, country, delimiter })
  // With the lease: a worker that was paused after its claim must not delete the rows of the one that has it now.
  await db.begin(async (sql) => {
    await keepLease(sql, job, times.leaseMs)
    await deleteRejects(sql, workspaceId, id)
  })
  const remembered = new Map<string, StoredContact>()
  let result = noResult
  let rowsDone = 0
  let reportedAt = performance.now()
  for (;;) {
    if (isStopped()) return false
    const chunk = await reader.next()
    if (!chunk) break
    const { people, faults } = await rowReader.read(chunk)
    const identities = people.map(({ identity }) => identity)
    const known = identities.length === 0 ? [] : [...(await readIdentities(db, workspaceId, identities)).keys()]
    const contacts = await readContacts(db, workspaceId, known)
    for (const [identity, contact] of contacts) contacts.set(identity, remembered.get(contact.id) ?? contact)
    const plan = planChunk(people, faults, contacts, options.update)
    for (const [contactId, contact] of plan.changed) {
      // A copy, because texts of the file can hold the memory of their whole chunk.
      if (remembered.size < maxRemembered || remembered.has(contactId)) {
        remembered.set(contactId, structuredClone(contact))
      }
    }
    await saveRejects(db, job, { chunk, faults: plan.faults, replaces: false })
    result = addPlan(result, plan)
    rowsDone += chunk.count
    if (performance.now() - reportedAt > times.reportMs) {
      await reportProgress(db, job, { next: chunk.end, rowsDone })
      reportedAt = performance.now()
    }
    await sleep(times.pauseMs)
  }
  await endCheck(db, job, result)
  return true
}
