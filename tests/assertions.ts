/** Assertions that many tests share. */
import assert from 'node:assert/strict'
import type { Json } from './owner.ts'

export type Answer = { status: number; headers: Headers; body: Json; text: string }

export function assertStatus(answer: Pick<Answer, 'status' | 'text'>, status: number): void {
  assert.equal(answer.status, status, answer.text)
}

/** Returns the `data` of an answer that must have this status. */
export function dataOf(answer: Omit<Answer, 'headers'>, status = 200): Json {
  assertStatus(answer, status)
  return answer.body.data
}

/** A refusal with its code, and with a message that names what it must. */
export function assertRefused(answer: Answer, status: number, code: string, message?: RegExp | string): void {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.body.error.code, code, answer.text)
  if (typeof message === 'string') assert.equal(answer.body.error.message, message)
  else if (message) assert.match(answer.body.error.message, message)
}

/** A refusal of a caller's mistake: 400, with a message that names the field. */
export const assertBadRequest = (answer: Answer, message?: RegExp | string): void =>
  assertRefused(answer, 400, 'bad_request', message)

/** A contact as lists, changes and events have it. Only `GET /contacts/{id}` has its identities. */
export const toListed = ({ identities, ...contact }: Json): Json => contact

/** Compares the named fields of a value. Its other fields do not count. */
export function assertFields(actual: Json, expected: Record<string, unknown>, message?: string): void {
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, actual[name]])), expected, message)
}

/** One field of each row, or several fields as a tuple: `pluck(rows, 'id')`, `pluck(rows, 'id', 'name')`. */
export function pluck<Row = Json, Name extends keyof Row = keyof Row>(rows: readonly Row[], name: Name): Row[Name][]
export function pluck<Row = Json>(rows: readonly Row[], ...names: (keyof Row)[]): Json[][]
export function pluck(rows: readonly Json[], ...names: PropertyKey[]): Json[] {
  return rows.map((row) => (names.length === 1 ? row[names[0] ?? ''] : names.map((name) => row[name])))
}
