/**
 * The log: JSON lines.
 *
 * An error is logged by the fields listed here and no others. PostgreSQL quotes whole rows in `detail` and `where`, the
 * driver keeps a statement's parameters, and a client's error may carry its request: all of these hold customers' data.
 */
import { hostname } from 'node:os'
import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import { createOutageFilter } from './outage.ts'

export type Output = ReturnType<typeof openOutput>

type LogFnHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>

/** What is kept of an output that is not read, or whose disk is full. Later lines are dropped. */
const maxPendingBytes = 4 * 1024 * 1024

/** The standard output. Writing never blocks the process, also when the output is not read, and a failed write does not end it. */
export function openOutput() {
  const output = pino.destination({ dest: 1, sync: false, maxLength: maxPendingBytes })
  // The next line repeats the write.
  return output.on('error', () => {})
}

/** `processName` distinguishes the processes of a service. */
export function createLog(level: string, destination: DestinationStream, processName?: string): Logger {
  const base = { pid: process.pid, hostname: hostname(), ...(processName ? { process: processName } : {}) }
  const filterOutage = createOutageFilter()
  const logMethod: LogFnHook = function (line, log) {
    const kept = filterOutage(line)
    if (kept) log.apply(this, kept as typeof line)
  }
  return pino({ level, base, serializers: { err: describeError }, hooks: { logMethod } }, destination)
}

const loggedFields = new Set([
  ...['type', 'message', 'stack', 'code', 'statusCode', 'errno', 'syscall', 'address', 'port', 'hostname'],
  ...['severity', 'schema_name', 'table_name', 'column_name', 'constraint_name', 'routine'],
])

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const fields = Object.entries(pino.stdSerializers.err(error))
  return {
    ...Object.fromEntries(fields.filter(([name]) => loggedFields.has(name))),
    ...(error instanceof AggregateError ? { errors: error.errors.map(describeError) } : {}),
  }
}
