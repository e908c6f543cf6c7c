/**
 * The log: JSON lines.
 *
 * An error is logged by the fields listed here and no others. PostgreSQL quotes whole rows in `detail` and `where`, the
 * driver keeps a statement's parameters, and a client's error may carry its request: all of these hold customers' data.
 */
import pino, { type DestinationStream, type Logger } from 'pino'

export function createLog(level: string, destination: DestinationStream): Logger {
  return pino({ level, serializers: { err: describeError } }, destination)
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
