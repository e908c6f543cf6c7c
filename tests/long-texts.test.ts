/** Messages as long as callers and providers can make them: they delay neither the digest nor other calls. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, start, until } from './support.ts'

const phone = '+14155550100'

test('a value of a template that the name of the contact makes too long is refused, and skipped in a broadcast', async (t) => {
  const { api, connect } = await start(t)
  await connect()
  const template = {
    name: 'order_confirmed',
    contact_fields: true,
    params: ['{{contact.name}}'.repeat(256), 'A'],
  }
  const send = { to: phone, name: '中'.repeat(500), type: 'template', template }
  for (const path of ['/messages', '/messages/check']) {
    const answer = await api.post(path, send)
    assertRefused(answer, 400, 'bad_request')
    assert.match(answer.text, /template\.params: a value has more than 4096 characters/)
  }
  assert.equal((await api.post('/messages/check', { ...send, name: '中'.repeat(16) })).status, 200)
  const recipients = [
    { to: phone, name: 'Ann' },
    { to: '+14155550101', name: '中'.repeat(17) },
  ]
  const { id } = (await api.post('/broadcasts', { name: 'Long', template, recipients })).body.data
  await until('the broadcast', async () => (await api.get(`/broadcasts/${id}`)).body.data.status === 'sent')
  const { sent_count, skipped_count } = (await api.get(`/broadcasts/${id}`)).body.data
  assert.deepEqual({ sent_count, skipped_count }, { sent_count: 1, skipped_count: 1 })
})
