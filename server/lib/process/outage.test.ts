import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreUnavailableError } from '../store.ts'
import { createOutageFilter, outageOf } from './outage.ts'

const withFields = (fields: object, message = 'it failed') => Object.assign(new Error(message), fields)

test('errors of the disk, of the connection and of the store are outages; faults of a statement are not', () => {
  for (const code of ['53100', 'ENOSPC', 'EDQUOT']) assert.equal(outageOf(withFields({ code })), 'disk', code)
  for (const code of ['57P01', '57P03', '53300', '08006', '25006', 'CONNECTION_CLOSED', 'CONNECT_TIMEOUT'])
    assert.equal(outageOf(withFields({ code })), 'database', code)
  const query = 'select 1'
  assert.equal(outageOf(withFields({ code: 'ENOENT', syscall: 'connect', query })), 'database')
  assert.equal(outageOf(withFields({ query }, 'the database server at db1:5432 does not answer')), 'database')
  // Of a file, of the statement, of the program.
  assert.equal(outageOf(withFields({ code: 'ENOENT', syscall: 'open' })), undefined)
  for (const code of ['23505', '42P01', 'UNDEFINED_VALUE'])
    assert.equal(outageOf(withFields({ code, query })), undefined)
  assert.equal(outageOf(Object.assign(new TypeError('no'), { query })), undefined)
  assert.equal(outageOf('ENOSPC'), undefined)
  assert.equal(outageOf(new StoreUnavailableError('the bucket does not answer')), 'store')
})

test('the log has one line for each kind of outage every 30 seconds, with the number of lines it replaces', () => {
  let now = 0
  const filter = createOutageFilter(() => now)
  const full = { err: withFields({ code: 'ENOSPC' }, 'no space'), loop: 'digest' }
  const first = { loop: 'digest', outage: 'disk', code: 'ENOSPC', reason: 'no space', failed: 'a task failed' }
  const text = 'the disk is full: requests and background tasks that write fail until it has space'
  assert.deepEqual(filter([full, 'a task failed']), [first, text])
  for (let i = 0; i < 40; i++) assert.equal(filter([full, 'request failed']), undefined)
  const other = filter([{ err: withFields({ code: '57P01' }) }, 'request failed'])
  assert.match(String(other?.[1]), /^the database is not available/)
  now = 30_000
  assert.deepEqual(filter([full, 'a task failed']), [{ ...first, skipped_lines: 40 }, text])
  const bug = [{ err: new Error('a bug') }, 'request failed'] as const
  assert.deepEqual(filter([...bug]), [...bug])
  assert.deepEqual(filter(['a line']), ['a line'])
})
