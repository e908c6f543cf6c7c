/** Test data: captured messages in which any field is missing or replaced. */
import { globSync } from 'node:fs'
import fc from 'fast-check'
import { codePoint } from '../lib/test-text.ts'
import { type Json, recordOf, recordsOf } from './reading.ts'
import { fixture } from './test-http.ts'

/** Values that often break parsers. */
export const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...['', '\0', '\ud800', 'a\udc00b', '\0\0', 'x'.repeat(513), 'x'.repeat(70_000), '🙂'.repeat(33_000)],
    ...['-1', '0', '1e3', '99999999999999999999', '1750000000', 1750000000, 1.5e308, -0, Number.POSITIVE_INFINITY],
    ...[null, true, false, [], {}, [[]], [null], { toString: 1, valueOf: 1 }, { length: 3 }, '{{1}}'],
    ...['constructor', '__proto__', 'toString', 'hasOwnProperty'],
    JSON.parse('{"__proto__":{"id":"x"},"constructor":7}'),
    JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`),
  ),
  fc.string({ unit: codePoint }),
)

export type Change = { at: number; to: unknown }

/** The position of a change and the new value; undefined removes the value. */
export const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(),
  to: fc.oneof(odd, fc.jsonValue(), fc.constant(undefined)),
})

/** Replaces the value at one position of a JSON value. Undefined removes it. */
export function replaceAt(body: unknown, { at, to }: Change): unknown {
  const positions: [Record<string, unknown>, string][] = []
  const visit = (value: unknown, depth: number) => {
    if (typeof value !== 'object' || value === null || depth > 20) return
    for (const [name, part] of Object.entries(value)) {
      positions.push([value as Record<string, unknown>, name])
      visit(part, depth + 1)
    }
  }
  visit(body, 0)
  const position = positions[at % Math.max(1, positions.length)]
  if (!position) return to
  const [holder, name] = position
  if (to === undefined) delete holder[name]
  else holder[name] = structuredClone(to)
  return body
}

export const fixturesOf = (channel: 'msgapp' | 'social' | 'web'): unknown[] =>
  globSync('*.json', { cwd: new URL(`${channel}/fixtures/`, import.meta.url) })
    .toSorted()
    .map((file) => fixture(`${channel}/${file.replace('.json', '')}`))

/** The fields that identify the sender and the message, and those that make it something other than a customer's message. */
const kept = {
  msgapp: ['id', 'from', 'from_user_id'],
  social: ['mid', 'is_echo', 'is_self', 'is_deleted'],
} as const

/** Types that are not new messages. */
const corrections: readonly unknown[] = ['system', 'edit', 'revoke']

/** Every captured message of a customer, with one to four changes. Its sender and id stay usable. */
export function brokenMessages(channel: 'msgapp' | 'social'): fc.Arbitrary<Json> {
  const captured = fixturesOf(channel).flatMap((body): Json[] => {
    const [entry] = recordsOf(recordOf(body)?.entry)
    if (channel === 'social') {
      return recordsOf(entry?.messaging).flatMap(({ message }): Json[] => [recordOf(message) ?? {}])
    }
    return recordsOf(entry?.changes).flatMap(({ value }) => recordsOf(recordOf(value)?.messages))
  })
  const messages = captured.filter(
    ({ id, mid, type, is_echo, is_self, is_deleted }) =>
      typeof (id ?? mid) === 'string' && !corrections.includes(type) && !is_echo && !is_self && !is_deleted,
  )
  const broken = fc
    .tuple(fc.constantFrom(...messages), fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([message, changes]) => {
      const changed = changes.reduce<unknown>((body, each) => replaceAt(body, each), structuredClone(message))
      const whole: Json = { ...recordOf(changed) }
      for (const name of kept[channel]) {
        if (message[name] === undefined) delete whole[name]
        else whole[name] = message[name]
      }
      // As it comes over the wire.
      return JSON.parse(JSON.stringify(whole)) as Json
    })
  return broken.filter(({ type }) => !corrections.includes(type))
}
