import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import type { Bubble } from '../wire/bubble.ts'
import { createPhones } from './phones.ts'

/** A response whose client reads only when the test says so. */
function createResponse() {
  const state = { written: [] as string[], isDestroyed: false, writableNeedDrain: false }
  const response = Object.assign(new EventEmitter(), {
    setHeader() {},
    writeHead() {},
    write: (text: string) => state.written.push(text),
    destroy() {
      state.isDestroyed = true
      response.emit('close')
    },
  })
  Object.defineProperty(response, 'writableNeedDrain', { get: () => state.writableNeedDrain })
  return { state, response: response as unknown as ServerResponse }
}

function start() {
  const bubble = { id: 'a', text: 'x'.repeat(300_000) } as Bubble
  const phones = createPhones(() => bubble, 1)
  const added = { id: 'a', from: 'business', offset: 0, length: 1, status: 'accepted' } as const
  const entry = phones.add('w', 'msgapp', '+14155550100', added)
  return { phones, entry }
}

test('events wait while the client does not read, and follow in order when it does', () => {
  const { phones, entry } = start()
  const { state, response } = createResponse()
  assert.ok(phones.subscribe('w', response))
  state.writableNeedDrain = true
  phones.setStatus(entry, 'sent', null)
  phones.setStatus(entry, 'read', null)
  assert.equal(state.written.length, 1)

  state.writableNeedDrain = false
  response.emit('drain')

  assert.match(state.written[1] ?? '', /"status":"sent"[\s\S]*"status":"read"/)
})

test('a client is disconnected when more than 1 MiB of events wait, and its slot is free again', () => {
  const { phones, entry } = start()
  const { state, response } = createResponse()
  phones.subscribe('w', response)
  assert.equal(phones.subscribe('w', createResponse().response), false)
  state.writableNeedDrain = true
  for (let count = 0; count < 3; count++) phones.publish(entry)
  assert.equal(state.isDestroyed, false)

  phones.publish(entry)

  assert.equal(state.isDestroyed, true)
  assert.ok(phones.subscribe('w', createResponse().response))
})

test('a customer has one chat with each number, and chats with removed numbers are omitted', () => {
  const { phones } = start()
  const message = { from: 'business', offset: 0, length: 1, status: 'accepted' } as const
  for (const [id, connection_id] of [
    ['b', 'sales'],
    ['c', 'support'],
    ['d', 'sales'],
  ]) {
    phones.add('w', 'msgapp', '+14155550100', { ...message, id: id ?? '', connection_id })
  }

  const idsOf = (...connectionIds: string[]) =>
    phones.list('w', new Set(connectionIds)).map(({ entries }) => entries.map(({ id }) => id))

  assert.deepEqual(idsOf('sales', 'support'), [['b', 'd'], ['c'], ['a']])
  assert.deepEqual(idsOf('support'), [['c'], ['a']])
})
