/**
 * What a command says: its answer on standard output, one line of JSON each
 * for machines, and remarks on standard error, where no script trips over them.
 */
import type { Failure } from './target.ts'

export type Output = {
  /** `json` as it is when it is text already. */
  print(json: object | string, lines: readonly string[]): void
  note(line: string): void
  fail(failure: Pick<Failure, 'code' | 'message'>): void
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
    fail({ code, message }) {
      if (asJson) process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`)
      else process.stderr.write(`${code}: ${message}\n`)
    },
  }
}
