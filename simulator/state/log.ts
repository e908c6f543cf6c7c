/** The methods of a logger that the simulator calls; pino has them. */
export type Log = {
  info(fields: object, message?: string): void
  warn(fields: object, message?: string): void
  error(fields: object, message?: string): void
}
