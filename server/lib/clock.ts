/**
 * The service's clock: the database's time, without a query per reading.
 *
 * Processes on several machines share one database, so its clock is the time of everything they share: ids and with them
 * `created_at`, the order of lists, partitions, schedules, signatures. Each process measures how far the database's clock
 * is from its own at start and every ten seconds, and adds the difference. The remaining error is at most one round trip,
 * plus ten seconds of drift. Local deadlines and durations use `performance.now()`, which no clock change affects.
 *
 * Before the first measurement, and in programs without a database, it is the process's own clock.
 */
import type { FastifyBaseLogger } from 'fastify'
import { requireRow, type Sql } from './postgres/db.ts'
import type { Health } from './process/health.ts'
import { type Loop, startRepeating } from './process/loop.ts'

const measureEveryMs = 10_000
/** The process's clock has been changed, or the machine was suspended, when it moves this much against the monotonic one. */
const jumpMs = 500
/** A difference that is worth a warning. */
export const reportedMs = 5_000

/** Added to the process's clock. */
let offsetMs = 0
/** The process's clock less the monotonic one, at the last measurement. */
let baseMs = wallLessMonotonic()
let onJump = () => {}

export function nowMs(): number {
  if (Math.abs(wallLessMonotonic() - baseMs) > jumpMs) {
    baseMs = wallLessMonotonic()
    onJump()
  }
  return Date.now() + offsetMs
}

/** The difference to the process's own clock, for a library that reads that one. */
export const clockOffsetSeconds = (): number => Math.round(offsetMs / 1_000)

/** How far the database's clock is ahead of the one of this machine. */
export const getClockOffsetMs = (): number => offsetMs

export const nowIso = (): string => new Date(nowMs()).toISOString()

/**
 * Measures the difference to the database's clock. The database reads its clock at some moment of the round trip, so each
 * measurement gives an interval. The difference is moved into it and no further, so a slow response never makes it worse.
 */
export async function syncClock(sql: Sql): Promise<number> {
  const sentAt = Date.now()
  const [row] = await sql<{ ms: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`
  const receivedAt = Date.now()
  const databaseMs = requireRow(row, 'the time').ms
  offsetMs = Math.round(Math.min(Math.max(offsetMs, databaseMs - receivedAt - 1), databaseMs - sentAt + 1))
  baseMs = wallLessMonotonic()
  return offsetMs
}

type ClockOptions = { db: Sql; log: FastifyBaseLogger; health: Health }

/** Measures every ten seconds. Resolves after the first measurement. */
export async function startClock({ db, log, health }: ClockOptions): Promise<Loop> {
  let reported = 0
  const measure = async () => {
    const offset = await syncClock(db)
    if (Math.abs(offset - reported) < reportedMs) return
    reported = offset
    log.warn(
      { offset_ms: offset },
      'the clock of this machine differs from the clock of the database; the service uses the latter',
    )
  }
  await measure()
  onJump = () => void measure().catch((error) => log.warn({ err: error }, 'the clock could not be measured'))
  const loop = startRepeating({ name: 'clock', everyMs: measureEveryMs, log, health, run: measure })
  return {
    async stop() {
      onJump = () => {}
      await loop.stop()
    },
  }
}

function wallLessMonotonic(): number {
  return Date.now() - performance.now()
}
