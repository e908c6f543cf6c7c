/**
 * Outages: the disk is full, or the database or the store of media is away. They end without a change of the program, so a
 * caller gets 503 with the reason instead of 500, and the log has one line instead of one for each request.
 */
import { StoreUnavailableError } from '../store.ts'

/** `disk`: of the database, or of the media. `store`: the bucket of the media. */
export type Outage = 'disk' | 'database' | 'store'

/** SQLSTATE of PostgreSQL, and errors of file systems. */
const diskCodes = new Set(['53100', 'ENOSPC', 'EDQUOT'])

/**
 * SQLSTATE: connection exceptions, a read-only server, no memory, too many connections, shutdown, crash, starting. Then the codes
 * of the driver.
 */
const databaseCodes = /^(08\w{3}|25006|53[0239]00|57P0[1-3]|CONNECTION_(CLOSED|DESTROYED|ENDED)|CONNECT_TIMEOUT)$/

export function outageOf(error: unknown): Outage | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof StoreUnavailableError) return 'store'
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code !== undefined && diskCodes.has(code)) return 'disk'
  if (code !== undefined && databaseCodes.test(code)) return 'database'
  // The driver adds the statement to an error of its connection. Faults of the statement itself have a code of their own.
  const isOfConnection = syscall !== undefined || (code === undefined && error.name === 'Error')
  return 'query' in error && isOfConnection ? 'database' : undefined
}

/** For callers. */
export const outageMessages: Record<Outage, string> = {
  disk: 'the disk of the service is full; repeat the request later',
  database: 'the database of the service is not available; repeat the request later',
  store: 'the store of media files is not available; repeat the request later',
}

/** For the log. */
const outageLines: Record<Outage, string> = {
  disk: 'the disk is full: requests and background tasks that write fail until it has space',
  database: 'the database is not available: requests and background tasks fail until it is back',
  store: 'the store of media files is not available: requests and background tasks with files fail until it is back',
}

/** With the code `internal`, as for every failure on our side: the set of codes is closed, and clients may rely on it. */
export const outageStatus = 503
export const outageRetrySeconds = 1

type LogLine = [fields: unknown, text?: string | undefined, ...values: unknown[]]

const logEveryMs = 30_000

/** Returns the line to log. During an outage it is one line per kind and `logEveryMs`, with the number of those it replaces. */
export function createOutageFilter(now = () => performance.now()): (line: LogLine) => LogLine | undefined {
  const logged = new Map<Outage, { at: number; skipped: number }>()
  return (line) => {
    const [fields, text] = line
    const { err, ...others } = (typeof fields === 'object' && fields !== null ? fields : {}) as { err?: unknown }
    const outage = outageOf(err)
    if (!outage) return line
    const last = logged.get(outage)
    if (last && now() - last.at < logEveryMs) {
      last.skipped++
      return undefined
    }
    logged.set(outage, { at: now(), skipped: 0 })
    const { code, message } = err as NodeJS.ErrnoException
    const skipped = last?.skipped ? { skipped_lines: last.skipped } : {}
    return [{ ...others, outage, code, reason: message, failed: text, ...skipped }, outageLines[outage]]
  }
}
