import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signatureOf } from './webhook-request.ts'

test('the signature is the one of the documents', () => {
  for (const [body, v1] of [
    ['{"a":1,"b":{"c":[1,2,3]}}', '15d79cf9ceb13eb2da9bdf43ed419589bcd491e1a8cee7ff71d4a2aaf7d290f2'],
    ['{"n":12345678901234567890,"f":1.10}', '13a6f8f444ae3df2e098ae0aa8c74d5f188e38996701ef21857a8878a3a907ec'],
  ] as const) {
    assert.equal(signatureOf('whsec_test_secret', 1_700_000_000, body), v1)
  }
})
