/** Output of a command: results on standard output (one JSON line each with `--json`), notes on standard error. */
import type { CommandError } from './target.ts'

export type Output = {
  /** Prints a result. A string as `json` must already be JSON. */
  print(json: object | string, lines: readonly string[]): void
  note(line: string): void
  fail(error: Pick<CommandError, 'code' | 'message' | 'details'>): void
}

export function createOutput(asJson: boolean): Output {
  return {
    print(json, lines) {
      const text = typeof json === 'string' ? json : JSON.stringify(json)
      process.stdout.write(asJson ? `${text}\n` : lines.map((line) => `${line}\n`).join(''))
    },
    note(line) {
      process.stderr.write(`${line}\n`)
    },
    fail({ code, message, details }) {
      if (asJson) process.stdout.write(`${JSON.stringify({ error: { code, message, details } })}\n`)
      else process.stderr.write(`${code}: ${message}\n`)
    },
  }
}
