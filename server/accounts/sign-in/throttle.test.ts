import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashInTurn } from './throttle.ts'

test('the passwords of many new members are hashed in turn, and too many of one workspace are refused', async () => {
  const crowd = Promise.allSettled(Array.from({ length: 120 }, () => hashInTurn('crowd', 'long enough')))
  assert.match(await hashInTurn('another', 'long enough'), /^\$argon2id\$/)
  const refused = (await crowd).filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 18)
})
