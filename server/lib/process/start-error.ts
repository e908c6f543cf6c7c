/** The start failed for a reason that the operator can fix. Only its message is printed, without a stack. */
export class StartError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'StartError'
  }
}

/** What to print of an error: the message if the operator can fix it (a setting, an option, a port in use), else all of it. */
export function inWords(error: unknown): unknown {
  const plain = error instanceof StartError || (error instanceof Error && 'code' in error)
  return plain ? error.message || String(error) : error
}

/** Whether it is a system error with this code, such as ENOENT. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
