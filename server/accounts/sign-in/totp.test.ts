import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findTotpStep, newTotpSecret, totpCodeOf, totpStepOf, totpUrlOf } from './totp.ts'

/** `12345678901234567890`, the secret of the RFC. */
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

test('codes are those of RFC 6238', () => {
  const vectors = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ] as const
  for (const [seconds, code] of vectors) assert.equal(totpCodeOf(secret, totpStepOf(seconds * 1_000)), code)
})

test('a code is valid in its period, the one before and the one after', () => {
  const now = 1_234_567_890_000
  const step = totpStepOf(now)
  for (const [difference, isValid] of [
    [-2, false],
    [-1, true],
    [0, true],
    [1, true],
    [2, false],
  ] as const) {
    const expected = isValid ? step + difference : undefined
    assert.equal(findTotpStep(secret, totpCodeOf(secret, step + difference), now), expected)
  }
  for (const wrong of ['', '12345', 'abcdef', '٢٨٧٠٨٢', '287082 '])
    assert.equal(findTotpStep(secret, wrong, 59_000), undefined)
})

test('secrets have 160 random bits, and the link escapes names', () => {
  assert.match(newTotpSecret(), /^[A-Z2-7]{32}$/)
  assert.notEqual(newTotpSecret(), newTotpSecret())
  const url = new URL(totpUrlOf({ issuer: 'Parley: A&B', account: 'ann@acme.test', secret }))
  assert.equal(decodeURIComponent(url.pathname), '/Parley  A&B:ann@acme.test')
  assert.deepEqual(Object.fromEntries(url.searchParams), { secret, issuer: 'Parley  A&B' })
})
