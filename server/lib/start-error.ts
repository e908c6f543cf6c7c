/** A start that fails for something the operator can mend: it is told in words, without a stack. */
export class StartError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'StartError'
  }
}

/** What to print of an error: words for what the operator can mend (a setting, an option, a taken port), all of it for our bugs. */
export function inWords(error: unknown): unknown {
  const plain = error instanceof StartError || (error instanceof Error && 'code' in error)
  return plain ? error.message || String(error) : error
}

/** Whether the system refused with this code, such as ENOENT. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
