import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../errors.ts'
import { NullableText, Type } from '../schema.ts'
import { parseJson, requireStorable } from './json.ts'

const parse = (text: string) => parseJson(Buffer.from(text))
const refused = (message: RegExp) => (error: unknown) =>
  error instanceof ApiError && error.status === 400 && error.code === 'bad_request' && message.test(error.message)

test('parsing returns what was stringified', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      assert.deepEqual(parse(text), JSON.parse(text))
    }),
    { seed: 1, numRuns: 500 },
  )
})

test('any bytes are either a value or a 400 about the body', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        parseJson(Buffer.from(bytes))
      } catch (error) {
        assert.ok(refused(/^body: /)(error), String(error))
      }
    }),
    { seed: 1, numRuns: 2_000 },
  )
})

test('an empty body is undefined', () => {
  assert.equal(parseJson(Buffer.alloc(0)), undefined)
})

test('a byte order mark in front is skipped', () => {
  assert.deepEqual(parseJson(Buffer.from('\ufeff{"a":"\ufeff"}')), { a: '\ufeff' })
})

test('the error of invalid JSON does not quote it', () => {
  for (const text of [
    '{',
    '{"a":1,}',
    "{'a':1}",
    'NaN',
    '01',
    '"\n"',
    '{"a":1}{',
    ' ',
    '\ufeff',
    '\ufeff\ufeff{}',
    '{}\ufeff',
    '{"a":undefined}',
    '"\\x"',
  ]) {
    assert.throws(() => parse(text), refused(/^body: not valid JSON$/), text)
  }
})

test('invalid UTF-8 is refused, not repaired', () => {
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0x22, 0xc0, 0x80, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0x1f, 0x8b, 0x08],
  ]) {
    assert.throws(() => parseJson(Buffer.from(bytes)), refused(/^body: not UTF-8$/))
  }
})

test('40 levels of arrays and objects are accepted, 41 are not', () => {
  const nested = (depth: number) =>
    `${'[{"a":'.repeat(depth / 2)}${'['.repeat(depth % 2)}${']'.repeat(depth % 2)}${depth % 2 ? '' : '1'}${'}]'.repeat(depth / 2)}`
  assert.doesNotThrow(() => parse(nested(40)))
  for (const text of [nested(41), '['.repeat(100), '['.repeat(500_000), '{"a":'.repeat(100_000)]) {
    assert.throws(() => parse(text), refused(/^body: nested deeper than 40 levels$/))
  }
})

test('brackets inside strings are text', () => {
  const text = `${'[{'.repeat(100)}"\\`
  assert.equal(parse(JSON.stringify(text)), text)
  assert.deepEqual(parse('{"\\"[":"\\\\","b":["\\u005b"]}'), { '"[': '\\', b: ['['] })
  const wide = JSON.stringify(Array.from({ length: 1_000 }, () => [{}]))
  assert.doesNotThrow(() => parse(wide), 'side by side is not deep')
})

test('names with a meaning in JavaScript are plain fields', () => {
  const parsed = parse('{"__proto__":{"polluted":true},"constructor":1}') as Record<string, unknown>
  assert.deepEqual(Object.keys(parsed), ['__proto__', 'constructor'])
  assert.equal(Object.hasOwn({}, 'polluted') || 'polluted' in {}, false)
})

const Schema: object = Type.Object({
  name: NullableText(),
  tags: Type.Array(Type.String()),
  filter: Type.Object({ rules: Type.Array(Type.Object({ value: Type.String() })) }),
  named: Type.Record(Type.String(), Type.String()),
  free: Type.Unknown(),
})

test('text that cannot be stored is refused with its path', () => {
  for (const bad of ['\0', 'a\0', '\ud800', '\udfff x']) {
    const faults: [unknown, RegExp][] = [
      [{ name: bad }, /^name: /],
      [{ tags: ['ok', bad] }, /^tags\[1\]: /],
      [{ filter: { rules: [{ value: 'ok' }, { value: bad }] } }, /^filter\.rules\[1\]\.value: /],
      [{ named: { ok: bad } }, /^named\.ok: /],
      [{ named: { [bad]: 'ok' } }, /^named: /],
    ]
    for (const [value, message] of faults) assert.throws(() => requireStorable(value, Schema), refused(message))
  }
})

test('unknown fields are not checked', () => {
  const values = [
    { unknown: '\0' },
    { filter: { unknown: ['\0'], rules: [{ other: '\0' }] } },
    JSON.parse('{"__proto__":"\\u0000","constructor":{"name":"\\u0000"},"hasOwnProperty":"\\ud800"}'),
    { free: '\0' },
    null,
    undefined,
    5,
  ]
  for (const value of values) assert.doesNotThrow(() => requireStorable(value, Schema))
})
