import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionOf, fixture, outgoing } from '../test-http.ts'
import { createWeb } from './web.ts'

const connection = connectionOf('web')

test('what a visitor wrote is a message like any other', () => {
  assert.deepEqual(createWeb().parse(connection, fixture('web/message')), [
    {
      kind: 'message',
      from: { phone: null, user_id: '019770a0-0000-7000-8000-00000000000a', name: 'Ana', username: null },
      external_id: '019770a0-0000-7000-8000-00000000000b',
      at: '2025-06-15T15:06:40.000Z',
      content_type: 'text',
      content_text: 'Hello, is anybody there?',
      media: null,
      reply_to: null,
      interactive_reply_id: null,
      content: null,
    },
  ])
})

test('a reply is sent at once, and has no id but ours', async () => {
  assert.deepEqual(await createWeb().send(connection, outgoing()), { ok: true, external_id: null, person: null })
})

test('the web channel has no callbacks and no settings to check', async () => {
  const web = createWeb()
  assert.equal(web.answerHandshake(connection, { 'hub.mode': 'subscribe' }), undefined)
  assert.equal(web.isSigned(connection, { headers: {}, body: Buffer.alloc(0) }), false)
  assert.ok((await web.check(connection)).every(({ ok }) => ok))
})
