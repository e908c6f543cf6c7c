import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createSealer, type SealContext, SealError } from './crypto.ts'
import { codePoint } from './test-text.ts'

const sealer = createSealer('0f'.repeat(32))
const runs = { seed: 1, numRuns: 300 }
const refused = (words: RegExp) => (error: unknown) => error instanceof SealError && words.test(error.message)

const row: SealContext = ['secrets', 'workspace', '1']

/** A half of a surrogate pair is no text in UTF-8. */
const wellFormed = fc.string({ unit: codePoint }).map((text) => text.toWellFormed())

test('a sealed text opens, and sealing twice gives different texts', () => {
  fc.assert(
    fc.property(wellFormed, fc.array(fc.string()), (text, keys) => {
      const sealed = sealer.seal(text, ['table', ...keys])
      assert.match(sealed, /^v2\.[\w-]+$/)
      assert.equal(sealer.open(sealed, ['table', ...keys]), text)
      assert.notEqual(sealer.seal(text, ['table', ...keys]), sealed)
    }),
    runs,
  )
})

test('another key opens nothing, and the error says so', () => {
  const other = createSealer('f0'.repeat(32))
  assert.throws(() => other.open(sealer.seal('secret', row), row), refused(/another ENCRYPTION_KEY/))
})

test('a text sealed for one row does not open in another', () => {
  const sealed = sealer.seal('secret', row)
  const others: SealContext[] = [
    ['secrets', 'workspace', '2'],
    ['secrets', 'workspace1'],
    ['secrets', 'workspace', '1', ''],
    ['others', 'workspace', '1'],
  ]
  for (const other of others) assert.throws(() => sealer.open(sealed, other), refused(/for another row/))
  assert.throws(() => sealer.open(sealed.replace('v2.', 'v1.'), row), refused(/not a sealed text/))
})

test('a v1 text, which would open in every row, is refused', () => {
  const old = 'v1.oMatdF9Xz_Jdgd58wy-E0SKMnmOmurNsMmDTzJd0CEpyEQ'
  assert.throws(() => sealer.open(old, row), refused(/not a sealed text/))
  assert.throws(() => sealer.open(old.replace('v1.', 'v2.'), row), refused(/cannot be opened/))
})

test('a changed text does not open', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.integer({ min: 1, max: 255 }), (text, position, flip) => {
      const bytes = Buffer.from(sealer.seal(text, row).slice(3), 'base64url')
      const i = position % bytes.length
      bytes[i] = (bytes[i] ?? 0) ^ flip
      assert.throws(() => sealer.open(`v2.${bytes.toString('base64url')}`, row), refused(/was changed/))
    }),
    runs,
  )
})

test('a text that was never sealed does not open', () => {
  const sealed = sealer.seal('x', row)
  for (const text of ['', 'v1.', 'v2.AAAA', 'secret', sealed.replace('v2.', 'v3.'), ` ${sealed}`]) {
    assert.throws(() => sealer.open(text, row), refused(/not a sealed text/))
  }
})

test('a key is 64 hex characters', () => {
  for (const key of ['', 'ab', 'g'.repeat(64), '0'.repeat(65)]) {
    assert.throws(() => createSealer(key), refused(/64 hex/))
  }
})
