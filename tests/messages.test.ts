/** `POST /messages` and its effects, with the simulator as the provider. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import {
  type Answer,
  assertBadRequest,
  assertFields,
  assertRefused,
  assertStatus,
  dataOf,
  pluck,
  toListed,
} from './assertions.ts'
import { recordEvents } from './receiver.ts'
import { type Api, divideTimes, type Json, main, signIn, start, startSignedIn, until, withProvider } from './support.ts'

const phone = '+14155550100'

const messagesOf = async (api: Api, conversationId: string): Promise<Json[]> =>
  (await api.get(`/conversations/${conversationId}/messages`)).body.data

const template = (name: string, params?: unknown) => ({
  type: 'template',
  template: { name, ...(params ? { params } : {}) },
})

test(
  'a template reaches the phone, and the answer contains the ids of message, contact and conversation',
  main,
  async (t) => {
    const world = await withProvider(start(t))
    const { api, provider } = world
    const eventsOf = await recordEvents(t, world)
    const order = { to: '(415) 555-0100', name: 'Ann', ...template('order_confirmed', ['Ann', 'A-1']) }
    const sent = await api.post('/messages', order)
    assert.equal(sent.status, 201, sent.text)
    const { message_id, msgapp_message_id, conversation_id, contact_id, contact_created } = sent.body.data
    assert.equal(contact_created, true)

    const [accepted, ...more] = await provider.sent(phone)
    assert.equal(more.length, 0)
    assert.equal(accepted?.message_id, msgapp_message_id)
    assert.equal(accepted?.body.biz_opaque_callback_data, message_id)
    assert.deepEqual(accepted?.body.template.language, { code: 'en_US' })

    const contact = toListed((await api.get(`/contacts/${contact_id}`)).body.data)
    assert.deepEqual([contact.phone, contact.name, contact.channels], [phone, 'Ann', ['msgapp']])
    const conversation = (await api.get(`/conversations/${conversation_id}`)).body.data
    assertFields(conversation, { channel: 'msgapp', status: 'open', unread_count: 0, last_inbound_at: null })
    assert.equal(conversation.contact.id, contact_id)
    const [message] = await until('the read report', async () => {
      const messages = await messagesOf(api, conversation_id)
      return messages[0]?.status === 'read' && messages
    })
    assert.deepEqual(
      [message.id, message.direction, message.sender_type, message.content_type, message.template_name],
      [message_id, 'outbound', 'agent', 'template', 'order_confirmed'],
    )
    assert.equal(message.msgapp_message_id, msgapp_message_id)
    assert.equal(message.message_id, msgapp_message_id)
    assert.equal(conversation.last_message_text, message.content_text)
    assert.match(message.content_text, /A-1/)

    const again = await api.post('/messages', { to: phone, name: 'Ann Lee', ...template('hello_world') })
    assertFields(again.body.data, { contact_created: false, contact_id, conversation_id })
    assert.equal((await api.get(`/contacts/${contact_id}`)).body.data.name, 'Ann Lee')

    const [created] = await eventsOf('contact.created')
    assert.deepEqual(created.data, { contact_id, phone, name: 'Ann', contact })
    assert.deepEqual([created.account_id, created.occurred_at], [api.workspaceId, contact.created_at])
    const [opened] = await eventsOf('conversation.created')
    assert.deepEqual(
      [opened.data.conversation_id, opened.data.contact_id, opened.data.conversation.id],
      [conversation_id, contact_id, conversation_id],
    )
    // The event of a report that overtook its message is emitted a little later.
    const statuses = await until('every report', async () => {
      const reported = await eventsOf('message.status_updated')
      const own = reported.filter(({ data }) => data.msgapp_message_id === msgapp_message_id)
      return own.length >= 3 && own
    })
    assert.deepEqual(statuses.map(({ data }) => data.status).sort(), ['delivered', 'read', 'sent'])
    assert.deepEqual(Object.keys(statuses[0].data), ['msgapp_message_id', 'conversation_id', 'status', 'message'])
    assert.equal(statuses[0].data.conversation_id, conversation_id)
  },
)

test('every structured template of the demo has the wire format of the provider', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const cases: [Json, Json][] = [
    [{ name: 'order_confirmed', params: { body: ['Ann', 'A-1'], headerText: 'not there' } }, ['body']],
    [{ name: 'order_update', params: { body: ['Ann', 'A-1'], buttonParams: { 0: 'A-1?x=1' } } }, ['body', 'button']],
    [
      { name: 'order_code', params: { headerText: 'A-1', body: ['Ann'], buttonParams: { 0: 'SAVE20' } } },
      ['header', 'body', 'button'],
    ],
    [
      {
        name: 'appointment',
        params: { bodyNamed: { name: 'Ann', time: '9:00' }, headerMediaUrl: 'https://cdn.example/a.png' },
      },
      ['header', 'body'],
    ],
    [
      {
        name: 'offer_carousel',
        params: {
          body: ['Ann'],
          cards: [
            { headerMediaUrl: 'https://cdn.example/1.png', body: ['One'], buttonParams: { 0: 'one' } },
            { headerMediaId: '1234', body: ['Two'], buttonParams: { 0: 'two' } },
          ],
        },
      },
      ['body', 'carousel'],
    ],
  ]
  for (const [given, parts] of cases) {
    const sent = await api.post('/messages', { to: phone, type: 'template', template: given })
    if (given.name === 'offer_carousel' && sent.status === 502) assert.match(sent.body.error.message, /1234/)
    else assert.equal(sent.status, 201, sent.text)
    const last = (await provider.sent(phone)).at(-1)
    if (sent.status === 201) {
      assert.equal(last?.body.template.name, given.name)
      assert.deepEqual(pluck(last?.body.template.components, 'type'), parts)
    }
  }
})

test('a missing template value, an unknown or unapproved template: 400 names it, and nothing is created', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const named = { bodyNamed: { name: 'Ann', time: '9' } }
  const card = { headerMediaUrl: 'https://x.test/a.png', body: ['One'], buttonParams: { 0: 'one' } }
  for (const [given, message] of [
    [template('order_confirmed', ['only one']), /^template\.params\.body\[1\]: required/],
    [template('order_update', ['Ann', 'A-1']), /^template\.params\.buttonParams\.0: required/],
    [
      template('appointment', { bodyNamed: { name: 'Ann' }, headerMediaUrl: 'https://x.test/a.png' }),
      /bodyNamed\.time: required/,
    ],
    [template('appointment', { bodyNamed: { name: 'Ann', time: '9' } }), /headerMediaUrl: required/],
    [template('offer_carousel', { body: ['Ann'], cards: [{}, {}] }), /cards\[0\]\.headerMediaUrl: required/],
    [
      template('appointment', { bodyNamed: { name: '', time: '9' }, body: ['Ann'], headerMediaId: '1' }),
      'template.params.bodyNamed.name: required',
    ],
    [
      template('appointment', { ...named, headerMediaUrl: 'nope' }),
      /^template\.params\.headerMediaUrl: must be an http/,
    ],
    [
      template('appointment', { ...named, headerMediaUrl: 'ftp://x.test/a' }),
      /^template\.params\.headerMediaUrl: must be/,
    ],
    [template('appointment', { ...named, headerMediaId: '' }), 'template.params.headerMediaId: must not be empty'],
    [
      template('offer_carousel', { body: ['Ann'], cards: [{ ...card, headerMediaUrl: 'nope' }, card] }),
      /^template\.params\.cards\[0\]\.headerMediaUrl: must be an http or https URL/,
    ],
    [template('no_such'), /^template\.name: there is no template no_such in en_US/],
    [{ type: 'template', template: { name: 'hello_world', language: 'de' } }, /in de/],
    [template('paused_promo'), /^template\.name: paused_promo in en_US is not approved \(paused\)/],
    [{ type: 'template' }, 'template: required'],
    [{ type: 'template', template: {} }, 'template.name: required'],
    [template('hello_world', 'text'), /^template\.params: /],
    [template('hello_world', [1]), /^template\.params/],
  ] as const) {
    assertBadRequest(await api.post('/messages', { to: phone, ...given }), message)
  }
  assert.deepEqual(await provider.sent(), [])
  assert.deepEqual((await api.get('/contacts')).body.data, [])
})

test('a template approved a moment ago is found', async (t) => {
  const { api, provider } = await withProvider(start(t))
  await api.post('/messages', { to: phone, ...template('hello_world') })
  const { account_id, access_token, base_url, api_version } = provider.connections.msgapp
  const created = await fetch(`${base_url}/${api_version}/${account_id}/message_templates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'fresh',
      language: 'en_US',
      category: 'UTILITY',
      components: [{ type: 'BODY', text: 'Hello {{1}}, all fresh.', example: { body_text: [['Ann']] } }],
    }),
  })
  assert.equal(created.status, 200, await created.text())
  assertStatus(await api.post('/messages', { to: phone, ...template('fresh', ['Ann']) }), 201)
})

test('a template that is not stored while the channel is down: 502, and the request works later under its key', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const broadcast = { name: 'News', template: { name: 'hello_world' }, recipients: [{ to: phone }] }
  const requests = {
    '/messages/check': { to: phone, ...template('hello_world') },
    '/messages': { to: phone, ...template('hello_world') },
    '/broadcasts/check': broadcast,
    '/broadcasts': broadcast,
  }
  const post = (path: string, body: Json) => api.post(path, body, { headers: { 'idempotency-key': path } })
  const assertUnsent = (answer: Answer) => {
    assertRefused(
      answer,
      502,
      'platform_error',
      /could not be checked: .* did not return its templates, so nothing was sent$/,
    )
    assert.deepEqual(answer.body.error.details, { outcome: 'unsent', message_id: null, channel_code: null })
  }
  await provider.goDown()
  for (const [path, body] of Object.entries(requests)) assertUnsent(await post(path, body))
  assert.deepEqual((await api.get('/contacts')).body.data, [])
  assert.deepEqual((await api.get('/broadcasts')).body.data, [])
  await provider.comeUp()
  for (const [path, body] of Object.entries(requests)) {
    const answer = await post(path, body)
    assert.ok(answer.status < 300, answer.text)
  }
  await provider.goDown()
  for (const unclear of [template('no_such'), template('paused_promo'), template('order_confirmed', ['only one'])]) {
    assertUnsent(await api.post('/messages', { to: phone, ...unclear }))
  }
  await provider.comeUp()
})

test('text and media need an open 24-hour window', async (t) => {
  const { api, provider } = await withProvider(start(t))
  assertBadRequest(await api.post('/messages', { to: phone, text: 'hello' }), /has not written yet.*template/)
  assert.deepEqual((await api.get('/contacts')).body.data, [])

  const old = new Date(Date.now() - 25 * 3_600_000)
  await provider.writes({ from: phone, text: 'long ago', timestamp: old.toISOString() })
  const closed = await api.post('/messages', { to: phone, text: 'hello' })
  const closedAt = new Date(Math.floor(old.getTime() / 1000) * 1000 + 24 * 3_600_000).toISOString()
  assertBadRequest(closed, new RegExp(`closed at ${closedAt}.*template`))
  assert.deepEqual(await provider.sent(), [])
  const [{ last_inbound_at, last_message_at }] = (await api.get('/conversations')).body.data
  assert.equal(last_inbound_at, last_message_at, 'both by our clock, whatever time the channel gives')

  await provider.writes({ from: phone, text: 'now' })
  await provider.writes({ from: phone, text: 'late report of an old one', timestamp: old.toISOString() })
  for (const body of [
    { text: 'hello' },
    { type: 'image', media_url: 'https://cdn.example/a.png', text: 'a caption' },
    { type: 'video', media_url: 'https://cdn.example/a.mp4' },
    { type: 'document', media_url: 'https://cdn.example/a.pdf', filename: 'a.pdf', text: 'read me' },
    { type: 'audio', media_url: 'https://cdn.example/a.ogg' },
  ]) {
    assertStatus(await api.post('/messages', { to: phone, ...body }), 201)
  }
  const bodies = (await provider.sent(phone)).map(({ body }) => body)
  assert.deepEqual(pluck(bodies, 'type'), ['text', 'image', 'video', 'document', 'audio'])
  assert.deepEqual(bodies[1].image, { link: 'https://cdn.example/a.png', caption: 'a caption' })
  assert.deepEqual(bodies[3].document, { link: 'https://cdn.example/a.pdf', caption: 'read me', filename: 'a.pdf' })
})

test('an invalid message is rejected with the field and the rule', async (t) => {
  const { api, connect } = await start(t)
  await connect()
  const url = 'https://cdn.example/a'
  for (const [body, message] of [
    [{}, 'to: required'],
    [{ to: 1 }, /^to: /],
    [{ to: 'nobody', text: 'x' }, 'to: not a phone number'],
    [{ to: phone }, 'text: required'],
    [{ to: phone, text: '' }, 'text: must have 1 to 4096 characters'],
    [{ to: phone, text: 'x'.repeat(4097) }, 'text: must have 1 to 4096 characters'],
    [{ to: phone, text: null }, /^text: /],
    [{ to: phone, type: 'sticker' }, /^type: must be one of/],
    [{ to: phone, type: 'image' }, 'media_url: required'],
    [{ to: phone, type: 'image', media_url: 'nowhere' }, /^media_url: /],
    [{ to: phone, type: 'image', media_url: 'ftp://x.test/a' }, /^media_url: /],
    [{ to: phone, text: ' \n\t\u00a0\u2003' }, 'text: must not be blank'],
    [{ to: phone, type: 'image', media_url: url, text: '  ' }, 'text: must not be blank'],
    [{ to: phone, type: 'image', media_url: url, text: '😀'.repeat(1025) }, 'text: must have at most 1024 characters'],
    [{ to: phone, type: 'audio', media_url: url, text: 'x' }, /^text: a voice message/],
    [{ to: phone, text: 'x', reply_to_message_id: 'no' }, 'reply_to_message_id: not a uuid'],
    [{ to: phone, text: 'x', reply_to_message_id: randomUUID() }, /^reply_to_message_id: /],
    [{ to: phone, text: 'x', name: 5 }, /^name: /],
    [{ to: phone, text: 'x\0' }, /^text: /],
  ] as const) {
    assertBadRequest(await api.post('/messages', body), message)
  }
})

test('without a connection: msgapp_not_configured, after the scope is checked', async (t) => {
  const { api } = await start(t)
  assertRefused(await api.post('/messages', { to: phone, text: 'x' }), 400, 'msgapp_not_configured')
  const key = await api.key('messages:read')
  assertRefused(await api.post('/messages', { to: phone, text: 'x' }, { key }), 403, 'forbidden', /messages:send/)
})

test('a reply quotes a message of the same conversation, in both directions', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const first = await provider.writes({ from: phone, text: 'a question' })
  const other = await provider.writes({ from: '+14155550101', text: 'another person' })
  const conversations = (await api.get('/conversations')).body.data
  const [theirs, ours] = (await Promise.all(conversations.map(({ id }: Json) => messagesOf(api, id)))) as Json[][]
  assert.deepEqual([theirs?.[0].message_id, ours?.[0].message_id], [other, first])

  const sent = await api.post('/messages', { to: phone, text: 'an answer', reply_to_message_id: ours?.[0].id })
  assert.equal(sent.status, 201, sent.text)
  assert.deepEqual((await provider.sent(phone))[0]?.body.context, { message_id: first })
  const quoting = { to: phone, text: 'no', reply_to_message_id: theirs?.[0].id }
  assertBadRequest(await api.post('/messages', quoting), /^reply_to_message_id/)
  await provider.writes({ from: phone, text: 'thanks', reply_to: sent.body.data.msgapp_message_id })
  const [thanks, answer] = await messagesOf(api, sent.body.data.conversation_id)
  assert.equal(thanks.reply_to_message_id, answer.id)
  assert.equal(answer.reply_to_message_id, ours?.[0].id)
})

test('a message without a channel id cannot be quoted, and the reply is not stored', async (t) => {
  const { api, provider, browser } = await withProvider(startSignedIn(t))
  await provider.writes({ from: phone, text: 'a question' })
  const [{ id: conversationId }] = (await api.get('/conversations')).body.data
  const quote = (reply_to_message_id: string) => ({ text: 'about that', reply_to_message_id })
  for (const mode of ['reject', 'http_500']) {
    await provider.fault({ to: phone, mode, code: 131026, count: 1 })
    assertRefused(await api.post('/messages', { to: phone, text: mode }), 502, 'platform_error')
    const [unsent, ...before] = await messagesOf(api, conversationId)
    assert.deepEqual([unsent.content_text, unsent.msgapp_message_id], [mode, null])
    const message = 'reply_to_message_id: the channel has no id for this message, so it cannot be quoted'
    const path = `/conversations/${conversationId}/messages`
    assertBadRequest(await api.post('/messages', { to: phone, ...quote(unsent.id) }), message)
    assertBadRequest(await browser.call('POST', path, quote(unsent.id)), message)
    assert.equal((await messagesOf(api, conversationId)).length, before.length + 1)
  }

  // On the social channel a message of several attachments is stored as several; the channel knows it by one id.
  const parts = [1, 2].map((n) => ({ type: 'image', payload: { url: `${provider.simulatorUrl}/none/${n}` } }))
  const person = { sender: { id: 'ann' }, timestamp: Date.now() }
  const message = { mid: 'mid-1', attachments: parts }
  await provider.callback({ entry: [{ messaging: [{ ...person, message }] }] }, 'social')
  const reaction = { mid: 'mid-1', action: 'react', emoji: '👍' }
  await provider.callback({ entry: [{ messaging: [{ ...person, reaction }] }] }, 'social')
  const [social] = (await api.get('/conversations?channel=social')).body.data
  const stored = await messagesOf(api, social.id)
  const second = stored.find(({ message_id }) => message_id === 'mid-1:1')
  const reacted = stored.find(({ content_type }) => content_type === 'reaction')
  const answers = (id: string) => browser.call('POST', `/conversations/${social.id}/messages`, quote(id))
  assertBadRequest(await answers(reacted.id), /^reply_to_message_id: /)
  assert.equal((await answers(second.id)).status, 201)
  assert.deepEqual((await provider.sent('ann'))[0]?.body.reply_to, { mid: 'mid-1' })
})

test('the channel rejects a message: 502 with its reason, the message is stored as failed, and no quota is used', async (t) => {
  const { api, provider, db } = await withProvider(start(t))
  await provider.fault({ to: phone, mode: 'reject', code: 131026 })
  const refused = await api.post('/messages', { to: phone, ...template('hello_world') })
  assertRefused(refused, 502, 'platform_error', /131026/)
  const [conversation] = (await api.get('/conversations')).body.data
  const [message] = await messagesOf(api, conversation.id)
  assert.deepEqual([message.status, message.msgapp_message_id], ['failed', null])
  assert.equal(message.error.code, '131026')
  assert.match(message.error.message, /^[A-Z]/)
  assert.deepEqual([message.content, message.broadcast_id], [null, null])
  const [usage] = await db`select message_count from plan_usage where workspace_id = ${api.workspaceId}`
  assert.equal(usage?.message_count, 0)
})

test('a send the channel refuses does not rename the contact; one it accepts does', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const sendAs = (to: string, name: string) => api.post('/messages', { to, name, ...template('hello_world') })
  const { contact_id } = (await sendAs(phone, 'Ann')).body.data
  const nameOf = async (id: string) => (await api.get(`/contacts/${id}`)).body.data.name
  const other = '+14155550101'
  const nameless = (await api.post('/contacts', { phone: other })).body.data.id
  for (const to of [phone, other]) await provider.fault({ to, mode: 'reject', code: 131026, count: 1 })
  assertRefused(await sendAs(phone, 'Eve'), 502, 'platform_error')
  assertRefused(await sendAs(other, 'Eve'), 502, 'platform_error')
  assert.deepEqual([await nameOf(contact_id), await nameOf(nameless)], ['Ann', null])
  // Together they share one statement; the newest message's name is stored.
  const sent = await Promise.all([sendAs(phone, ' Ann Lee '), sendAs(other, 'Bob')])
  assert.deepEqual([...new Set(sent.map(({ status }) => status))], [201])
  assert.deepEqual([await nameOf(contact_id), await nameOf(nameless)], ['Ann Lee', 'Bob'])
})

test('a message that the channel refuses is not the last message of its conversation', async (t) => {
  const { api, provider, browser } = await withProvider(startSignedIn(t))
  await provider.writes({ from: phone, text: 'a question' })
  const [{ id }] = (await api.get('/conversations')).body.data
  const lastOf = async (conversationId: string) => {
    const { last_message_text, last_message_at } = (await api.get(`/conversations/${conversationId}`)).body.data
    return [last_message_text, last_message_at]
  }
  const refuse = async (text: string) => {
    await provider.fault({ to: phone, mode: 'reject', code: 131026, count: 1 })
    assertRefused(await api.post('/messages', { to: phone, text }), 502, 'platform_error')
  }
  const question = await lastOf(id)
  await refuse('refused')
  assert.deepEqual(await lastOf(id), question)
  await refuse('refused again')
  assert.deepEqual(await lastOf(id), question)

  assert.equal((await api.post('/messages', { to: phone, text: 'an answer' })).status, 201)
  const answer = await lastOf(id)
  assert.equal(answer[0], 'an answer')
  await provider.fault({ to: phone, mode: 'reject', code: 131026, count: 1 })
  const reply = await browser.call('POST', `/conversations/${id}/messages`, { text: 'refused' })
  assertRefused(reply, 502, 'platform_error')
  assert.deepEqual(await lastOf(id), answer)
  // Members see in their list that the message failed.
  const [row] = (await browser.call('GET', '/conversations')).body.data
  assert.deepEqual([row.last_message.content_text, row.last_message.status], ['refused', 'failed'])

  const other = '+14155550109'
  await provider.fault({ to: other, mode: 'reject', code: 131026, count: 1 })
  assertRefused(await api.post('/messages', { to: other, ...template('hello_world') }), 502, 'platform_error')
  const [first] = (await api.get('/conversations')).body.data
  assert.deepEqual([first.contact.phone, first.last_message_text, first.last_message_at], [other, null, null])
})

test('a temporary rejection of the channel is retried at most twice', async (t) => {
  const { api, provider } = await withProvider(start(t, { times: divideTimes(10) }))
  await provider.fault({ to: phone, mode: 'throttle', count: 2 })
  await provider.fault({ to: '+14155550101', mode: 'throttle' })
  const [through, refused] = await Promise.all([
    api.post('/messages', { to: phone, ...template('hello_world') }),
    api.post('/messages', { to: '+14155550101', ...template('hello_world') }),
  ])
  assert.equal(through.status, 201, through.text)
  assertRefused(refused, 502, 'platform_error', /130429/)
  assert.equal((await provider.sent()).length, 1)
})

test('after a 500 or a lost connection the outcome is unknown: the message stays pending, is not sent again, and a report settles it', async (t) => {
  const { api, provider } = await withProvider(start(t))
  await provider.fault({ to: phone, mode: 'http_500', count: 1 })
  await provider.fault({ to: '+14155550101', mode: 'drop_connection_after_accept', count: 1 })
  assertRefused(await api.post('/messages', { to: phone, ...template('hello_world') }), 502, 'platform_error')
  assertRefused(await api.post('/messages', { to: '+14155550101', ...template('hello_world') }), 502, 'platform_error')
  const [dropped, broken] = (await api.get('/conversations')).body.data
  const [unknown] = await messagesOf(api, broken.id)
  assert.deepEqual([unknown.status, unknown.error], ['pending', null])
  const [settled] = await until('the reports', async () => {
    const messages = await messagesOf(api, dropped.id)
    return messages[0].status === 'read' && messages
  })
  const sent = await provider.sent()
  assert.deepEqual(pluck(sent, 'message_id'), [settled.msgapp_message_id])
})

test('a message whose reports arrive before the answer to its send keeps the status of the reports', async (t) => {
  const { api, provider } = await withProvider(start(t))
  // The template is cached first, so that only the answer is late.
  await api.post('/messages', { to: '+14155550101', ...template('hello_world') })
  await provider.fault({ to: phone, mode: 'delay', delay_ms: 4_000 })
  let isAnswered = false
  const sending = api.post('/messages', { to: phone, ...template('hello_world') }).finally(() => (isAnswered = true))
  const conversation = await until('the conversation', async () =>
    (await api.get('/conversations')).body.data.find(({ contact }: Json) => contact.phone === phone),
  )
  await until('the reports', async () => (await messagesOf(api, conversation.id))[0]?.status === 'read')
  assert.equal(isAnswered, false, 'the answer was first')
  assert.equal((await sending).status, 201)
  const [message] = await messagesOf(api, conversation.id)
  assert.equal(message.status, 'read')
  const [accepted] = await provider.sent(phone)
  assert.equal(message.msgapp_message_id, accepted?.message_id)
})

/** After 15 seconds: `common/times.test.ts` has the real time. */
test('no answer in time: 502, pending', async (t) => {
  const { api, provider } = await withProvider(start(t, { times: divideTimes(10) }))
  await provider.fault({ to: phone, mode: 'hang' })
  const late = await api.post('/messages', { to: phone, ...template('hello_world') })
  assertRefused(late, 502, 'platform_error', /no answer within 1.5 s/)
  const [conversation] = (await api.get('/conversations')).body.data
  assert.equal((await messagesOf(api, conversation.id))[0].status, 'pending')
})

test('45 concurrent first messages to one new number create one contact and one conversation', async (t) => {
  const world = await start(t)
  const { api, connect, twin, url } = world
  const eventsOf = await recordEvents(t, world)
  const provider = await connect({ messagesPerSecond: 1_000 })
  const other = await twin()
  const key = await api.key('messages:send')
  const answers = await Promise.all(
    Array.from({ length: 45 }, async (_, i) => {
      const response = await fetch(`${i % 2 ? url : other}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ to: phone, name: `Ann ${i}`, ...template('hello_world') }),
      })
      return { status: response.status, body: (await response.json()) as Json }
    }),
  )
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201], JSON.stringify(answers[0]))
  assert.equal(answers.filter(({ body }) => body.data.contact_created).length, 1)
  assert.equal(new Set(answers.map(({ body }) => body.data.contact_id)).size, 1)
  assert.equal(new Set(answers.map(({ body }) => body.data.conversation_id)).size, 1)
  assert.equal((await provider.sent(phone)).length, 45)
  assert.equal((await eventsOf('contact.created')).length, 1)
  assert.equal((await eventsOf('conversation.created')).length, 1)
})

test('an Idempotency-Key sends once: concurrent requests share the answer, a 502 is replayed, a rejection is not stored', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const call = { headers: { 'idempotency-key': 'once' } }
  const body = { to: phone, ...template('hello_world') }
  const twins = await Promise.all(Array.from({ length: 4 }, () => api.post('/messages', body, call)))
  assert.deepEqual([...new Set(twins.map(({ text }) => text))].length, 1)
  assert.equal((await provider.sent(phone)).length, 1)

  await provider.fault({ to: '+14155550101', mode: 'reject', count: 1 })
  const failing = { to: '+14155550101', ...template('hello_world') }
  const first = await api.post('/messages', failing, { headers: { 'idempotency-key': 'fails' } })
  const replayed = await api.post('/messages', failing, { headers: { 'idempotency-key': 'fails' } })
  assert.deepEqual([first.status, replayed.status, replayed.text], [502, 502, first.text])
  assert.equal(replayed.headers.get('idempotent-replayed'), 'true')

  const unknown = { to: phone, ...template('not_yet') }
  assertBadRequest(await api.post('/messages', unknown, { headers: { 'idempotency-key': 'later' } }))
  assert.equal((await api.post('/messages', body, { headers: { 'idempotency-key': 'later' } })).status, 201)
})

test('a request repeated after a crash does not send a prepared message again', async (t) => {
  const { api, provider, db } = await withProvider(start(t))
  const body = { to: phone, ...template('hello_world') }
  const call = { headers: { 'idempotency-key': 'crash' } }
  const sent = dataOf(await api.post('/messages', body, call), 201)
  // As a process leaves it that dies between the channel's answer and its own.
  await db`
    update idempotency_keys set status = null, body = null, locked_until = now() - interval '1 second'
    where workspace_id = ${api.workspaceId}`
  const repeated = dataOf(await api.post('/messages', body, call), 201)
  assert.deepEqual({ ...repeated, contact_created: true }, sent)
  assert.equal((await provider.sent(phone)).length, 1)
})

test('a member replies in the dashboard and sees why a message failed', async (t) => {
  const { api, provider, url, owner } = await withProvider(start(t))
  const browser = await signIn({ url, owner })
  await provider.writes({ from: phone, text: 'hello?', name: 'Ann' })
  const [conversation] = (await browser.call('GET', '/conversations')).body.data
  assert.equal(conversation.unread_count, 1)
  assert.equal((await browser.call('POST', `/conversations/${conversation.id}/read`)).body.data.unread_count, 0)

  const replied = await browser.call('POST', `/conversations/${conversation.id}/messages`, { text: 'yes!' })
  assert.equal(replied.status, 201, replied.text)
  assert.deepEqual([replied.body.data.content_text, replied.body.data.sender_type], ['yes!', 'agent'])
  assert.equal((await provider.sent(phone))[0]?.body.text.body, 'yes!')

  await provider.fault({ to: phone, mode: 'reject', code: 131026 })
  const again = await browser.call('POST', `/conversations/${conversation.id}/messages`, { text: 'again' })
  assertRefused(again, 502, 'platform_error')
  const [failed] = (await browser.call('GET', `/conversations/${conversation.id}/messages`)).body.data
  assert.deepEqual([failed.status, failed.content_text], ['failed', 'again'])
  assert.match(failed.error, /131026/)

  const { member } = (await browser.call('GET', '/session')).body.data
  const changes = { status: 'closed', assigned_agent_id: member.id }
  const changed = await browser.call('PATCH', `/conversations/${conversation.id}`, changes)
  assert.deepEqual([changed.body.data.status, changed.body.data.assigned_agent_id], ['closed', member.id])
  const unknown = { assigned_agent_id: randomUUID() }
  assertBadRequest(await browser.call('PATCH', `/conversations/${conversation.id}`, unknown), /^assigned_agent_id/)
  assertRefused(await browser.call('PATCH', `/conversations/${randomUUID()}`, { status: 'open' }), 404, 'not_found')
  assertRefused(await browser.call('POST', `/conversations/${randomUUID()}/messages`, { text: 'x' }), 404, 'not_found')
  assert.equal((await api.post('/messages', { to: phone, ...template('hello_world') })).status, 502)
  assert.equal((await api.get(`/conversations/${conversation.id}`)).body.data.status, 'closed')
  await provider.writes({ from: phone, text: 'one more thing' })
  assert.equal((await api.get(`/conversations/${conversation.id}`)).body.data.status, 'open')
})

test('concurrent sends and callbacks to the same conversations from two processes all succeed', async (t) => {
  const { api, connect, twin, url } = await start(t)
  const provider = await connect({ messagesPerSecond: 10_000 })
  const urls = [url, await twin()]
  const numbers = Array.from({ length: 12 }, (_, i) => `+141555504${String(i).padStart(2, '0')}`)
  const keys = await Promise.all(Array.from({ length: 4 }, () => api.key('messages:send')))
  const send = async (i: number) => {
    const response = await fetch(`${urls[i % 2]}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[i % keys.length]}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: numbers[(i * 7) % 12], ...template('hello_world') }),
    })
    return response.status
  }
  const write = (i: number) => provider.writes({ from: numbers[(i * 5) % 12], text: `hi ${i}` })
  const sent = Array.from({ length: 120 }, (_, i) => send(i))
  const written = Array.from({ length: 60 }, (_, i) => write(i))
  assert.deepEqual([...new Set(await Promise.all(sent))], [201])
  assert.equal(new Set(await Promise.all(written)).size, 60)
})

test('a blank name is ignored', async (t) => {
  const { api, connect } = await start(t)
  await connect()
  const sent = await api.post('/messages', { to: phone, name: 'Ann', ...template('hello_world') })
  await api.post('/messages', { to: phone, name: '   ', ...template('hello_world') })
  assert.equal((await api.get(`/contacts/${sent.body.data.contact_id}`)).body.data.name, 'Ann')
})
