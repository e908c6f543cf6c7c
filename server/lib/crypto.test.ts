import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createSealer, SealError } from './crypto.ts'

const sealer = createSealer('0f'.repeat(32))
const runs = { seed: 1, numRuns: 300 }
const refused = (words: RegExp) => (error: unknown) => error instanceof SealError && words.test(error.message)

test('what is sealed is opened again, and never looks the same twice', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const sealed = sealer.seal(text)
      assert.match(sealed, /^v1\.[\w-]+$/)
      assert.equal(sealer.open(sealed), text)
      assert.notEqual(sealer.seal(text), sealed)
    }),
    runs,
  )
})

test('another key opens nothing, and says so', () => {
  const other = createSealer('f0'.repeat(32))
  assert.throws(() => other.open(sealer.seal('secret')), refused(/another ENCRYPTION_KEY/))
})

test('a text that was changed anywhere is not opened', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.integer({ min: 1, max: 255 }), (text, place, flip) => {
      const bytes = Buffer.from(sealer.seal(text).slice(3), 'base64url')
      const i = place % bytes.length
      bytes[i] = (bytes[i] ?? 0) ^ flip
      assert.throws(() => sealer.open(`v1.${bytes.toString('base64url')}`), refused(/changed since/))
    }),
    runs,
  )
})

test('what was never sealed is not opened', () => {
  for (const text of ['', 'v1.', 'v1.AAAA', 'secret', sealer.seal('x').replace('v1.', 'v2.'), ` ${sealer.seal('x')}`]) {
    assert.throws(() => sealer.open(text), refused(/not a text that was sealed/))
  }
})

test('a key is 64 hex characters', () => {
  for (const key of ['', 'ab', 'g'.repeat(64), '0'.repeat(65)]) {
    assert.throws(() => createSealer(key), refused(/64 hex/))
  }
})
