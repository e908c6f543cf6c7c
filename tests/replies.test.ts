/** Replies in a conversation on every channel, buttons, lists, links, locations and reactions, and one message by its id. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { assertRefused, assertStatus, dataOf } from './assertions.ts'
import { recordEvents } from './receiver.ts'
import { type Api, assertBadRequest, assertFields, type Json, main, start, until, withProvider } from './support.ts'

const phone = '+14155550100'
const userId = '90000001'
const buttons = (more: Json = {}) => ({
  kind: 'buttons',
  body: 'Keep your order?',
  buttons: [
    { id: 'keep', title: 'Keep it' },
    { id: 'cancel', title: 'Cancel it' },
  ],
  ...more,
})
const list = {
  kind: 'list',
  body: 'Pick a slot',
  button: 'Slots',
  sections: [
    { title: 'Monday', rows: [{ id: 'm9', title: '09:00', description: '30 min' }] },
    { title: 'Tuesday', rows: [{ id: 't9', title: '09:00' }] },
  ],
}
const link = { kind: 'link', body: 'Track your parcel', text: 'Track', url: 'https://shop.example/track/1' }
const location = { latitude: 37.7955, longitude: -122.3937, name: 'Ferry Building', address: '1 Ferry Building' }

const conversationOn = async (api: Api, channel: string): Promise<Json> =>
  (await api.get(`/conversations?channel=${channel}`)).body.data[0]
const newest = async (api: Api, id: string): Promise<Json> =>
  (await api.get(`/conversations/${id}/messages?limit=1`)).body.data[0]

/** A customer on each channel has just written. */
async function startTalk(t: TestContext) {
  const world = await withProvider(start(t))
  const { api, url, provider } = world
  const inboundId = await provider.writes({ from: phone, name: 'Ann', text: 'hello' })
  await provider.writes({ channel: 'social', from: userId, username: 'ann', text: 'hello' })
  const site = `${url}/web-chat/${provider.connections.web.id}`
  const visitors = await fetch(`${site}/visitors`, { method: 'POST' })
  const { visitor_token } = ((await visitors.json()) as Json).data
  const visit = async (method: string, body?: Json): Promise<{ status: number; body: Json }> => {
    const response = await fetch(`${site}/messages`, {
      method,
      headers: { 'x-visitor-token': visitor_token, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: response.status, body: await response.json() }
  }
  assert.equal((await visit('POST', { text: 'hello' })).status, 201)
  const ids = {
    msgapp: (await conversationOn(api, 'msgapp')).id,
    social: (await conversationOn(api, 'social')).id,
    web: (await conversationOn(api, 'web')).id,
  }
  const reply = (channel: keyof typeof ids, body: Json, call?: Json) =>
    api.post(`/conversations/${ids[channel]}/messages`, body, call)
  return { ...world, provider, inboundId, visit, ids, reply }
}

test('a reply reaches the customer on every channel, and GET /messages/{id} returns it', main, async (t) => {
  const { api, provider, ids, reply, visit } = await startTalk(t)
  for (const channel of ['msgapp', 'social', 'web'] as const) {
    const sent = dataOf(await reply(channel, { text: `Hello on ${channel}` }), 201)
    const { id, conversation_id, direction, sender_type, content_text } = sent
    const expected = [ids[channel], 'outbound', 'agent', `Hello on ${channel}`]
    assert.deepEqual([conversation_id, direction, sender_type, content_text], expected)
    const read = dataOf(await api.get(`/messages/${id}`))
    const { status: _, ...fields } = sent
    const { status: __, ...same } = read
    assert.deepEqual(same, fields)
  }
  assert.equal((await provider.sent(phone)).at(-1)?.body.text.body, 'Hello on msgapp')
  assert.equal((await provider.sent(userId)).at(-1)?.body.message.text, 'Hello on social')
  assert.equal((await visit('GET')).body.data[0].content_text, 'Hello on web')
  const inbound = (await api.get(`/conversations/${ids.msgapp}/messages`)).body.data.at(-1)
  assert.deepEqual((await api.get(`/messages/${inbound.id}`)).body.data, inbound)
  for (const id of [randomUUID(), 'nope', '%00']) assertRefused(await api.get(`/messages/${id}`), 404, 'not_found')
  assertRefused(await api.post(`/conversations/${randomUUID()}/messages`, { text: 'x' }), 404, 'not_found')
  assertRefused(await api.post('/conversations/nope/messages', { text: 'x' }), 404, 'not_found')
})

test('an Idempotency-Key sends a reply once', async (t) => {
  const { provider, reply } = await startTalk(t)
  const call = { headers: { 'idempotency-key': 'one' } }
  const once = { text: 'once' }
  const [one, other] = await Promise.all([reply('social', once, call), reply('social', once, call)])
  assert.deepEqual([one.status, other.status], [201, 201])
  assert.equal(one.text, other.text)
  assert.equal((await provider.sent(userId)).length, 1)
  assertBadRequest(await reply('social', { text: 'twice' }, call), /Idempotency-Key/)
})

test('buttons, lists, links and locations have the wire format of each channel, and are stored', main, async (t) => {
  const { api, provider, ids, reply } = await startTalk(t)
  const wire = async (to: string) => (await provider.sent(to)).at(-1)?.body
  const header = { header: 'Order A-1', footer: 'Acme' }
  const send = async (channel: 'msgapp' | 'social', body: Json) => {
    const sent = dataOf(await reply(channel, body), 201)
    return { stored: sent, wire: await wire(channel === 'msgapp' ? phone : userId) }
  }
  const shown = await send('msgapp', { type: 'interactive', interactive: buttons(header) })
  assert.deepEqual(shown.wire.interactive, {
    type: 'button',
    header: { type: 'text', text: 'Order A-1' },
    body: { text: 'Keep your order?' },
    footer: { text: 'Acme' },
    action: {
      buttons: [
        { type: 'reply', reply: { id: 'keep', title: 'Keep it' } },
        { type: 'reply', reply: { id: 'cancel', title: 'Cancel it' } },
      ],
    },
  })
  assert.deepEqual(
    [shown.stored.content_type, shown.stored.content_text, shown.stored.content],
    ['interactive', 'Keep your order?', { interactive: buttons(header) }],
  )
  const listed = await send('msgapp', { type: 'interactive', interactive: { ...list, unknown: 1 } })
  const action = { button: 'Slots', sections: list.sections }
  assert.deepEqual(listed.wire.interactive, { type: 'list', body: { text: 'Pick a slot' }, action })
  assert.deepEqual(listed.stored.content, { interactive: list })
  const linked = await send('msgapp', { type: 'interactive', interactive: link })
  assert.deepEqual(linked.wire.interactive, {
    type: 'cta_url',
    body: { text: 'Track your parcel' },
    action: { name: 'cta_url', parameters: { display_text: 'Track', url: link.url } },
  })
  const placed = await send('msgapp', { type: 'location', location })
  assert.deepEqual(placed.wire.location, location)
  assert.deepEqual(
    [placed.stored.content_type, placed.stored.content_text, placed.stored.content],
    ['location', 'Ferry Building, 1 Ferry Building', { location }],
  )
  const quick = await send('social', { type: 'interactive', interactive: buttons() })
  assert.deepEqual(quick.wire.message, {
    text: 'Keep your order?',
    quick_replies: [
      { content_type: 'text', title: 'Keep it', payload: 'keep' },
      { content_type: 'text', title: 'Cancel it', payload: 'cancel' },
    ],
  })
  const opened = await send('social', { type: 'interactive', interactive: link })
  assert.deepEqual(opened.wire.message.attachment, {
    type: 'template',
    payload: {
      template_type: 'button',
      text: 'Track your parcel',
      buttons: [{ type: 'web_url', title: 'Track', url: link.url }],
    },
  })
  // The channel echoes what the account sent: it stays one message.
  await until('the echoes', async () => (await newest(api, ids.social)).status === 'read')
  assert.equal((await api.get(`/conversations/${ids.social}/messages`)).body.data.length, 3)
  // The same through a phone number.
  assertStatus(await api.post('/messages', { to: phone, type: 'interactive', interactive: buttons() }), 201)
  assert.equal((await wire(phone)).interactive.type, 'button')
  assertStatus(await api.post('/messages/check', { to: phone, type: 'location', location }), 200)
})

test('a tap on a button or a row arrives as an interactive reply on every channel', main, async (t) => {
  const world = await startTalk(t)
  const { api, provider, ids, reply, visit } = world
  const eventsOf = await recordEvents(t, world)
  const ask = async (channel: keyof typeof ids, interactive: Json) =>
    dataOf(await reply(channel, { type: 'interactive', interactive }), 201)
  const assertTapped = async (channel: keyof typeof ids, question: Json, id: string, title: string) => {
    const tapped = await newest(api, ids[channel])
    assert.deepEqual(
      [tapped.direction, tapped.content_type, tapped.content_text, tapped.interactive_reply_id],
      ['inbound', 'interactive', title, id],
    )
    assert.equal(tapped.reply_to_message_id, question.id)
  }
  const asked = await ask('msgapp', buttons())
  const keep = { id: 'keep', title: 'Keep it' }
  await provider.writes({ from: phone, type: 'button', button: keep, reply_to: asked.message_id })
  await assertTapped('msgapp', asked, 'keep', 'Keep it')
  const social = await ask('social', buttons())
  await provider.writes({ channel: 'social', from: userId, type: 'button', button: keep, reply_to: social.message_id })
  await assertTapped('social', social, 'keep', 'Keep it')

  const web = await ask('web', buttons())
  const seen = (await visit('GET')).body.data[0]
  assert.deepEqual(seen.content, { interactive: buttons() })
  const tap = { tap: { message_id: web.id, id: 'cancel' }, client_id: randomUUID() }
  const tapped = await visit('POST', tap)
  assert.equal(tapped.status, 201, JSON.stringify(tapped.body))
  await assertTapped('web', web, 'cancel', 'Cancel it')
  assert.equal((await visit('POST', tap)).body.data.id, tapped.body.data.id, 'a repeated tap is one message')
  const rows = await ask('web', list)
  await visit('POST', { tap: { message_id: rows.id, id: 'm9' } })
  await assertTapped('web', rows, 'm9', '09:00')
  assert.deepEqual((await newest(api, ids.web)).content, { description: '30 min' })
  for (const bad of [
    { message_id: web.id, id: 'other' },
    { message_id: randomUUID(), id: 'keep' },
    { message_id: asked.id, id: 'keep' },
    { message_id: tapped.body.data.id, id: 'cancel' },
  ]) {
    assert.equal((await visit('POST', { tap: bad })).status, 400, JSON.stringify(bad))
  }
  assert.equal((await visit('POST', { tap: { message_id: web.id, id: 'keep' }, file: 'x' })).status, 400)
  const received = (await eventsOf('message.received')).map(({ data }) => data.message.interactive_reply_id)
  assert.deepEqual(received.filter(Boolean).sort(), ['cancel', 'keep', 'keep', 'm9'])
})

test('reactions: sent, replaced, removed, and refused elsewhere', async (t) => {
  const { api, provider, inboundId, ids, reply, workspace, connect } = await startTalk(t)
  const [hello] = (await api.get(`/conversations/${ids.msgapp}/messages`)).body.data
  const react = (message_id: string, emoji: string) => ({ type: 'reaction', reaction: { message_id, emoji } })
  const sent = dataOf(await reply('msgapp', react(hello.id, '👍')), 201)
  assert.deepEqual((await provider.sent(phone)).at(-1)?.body.reaction, { message_id: inboundId, emoji: '👍' })
  assertFields(sent, { content_type: 'reaction', content_text: '👍', reply_to_message_id: hello.id })
  assertStatus(await api.post('/messages', { to: phone, ...react(hello.id, '') }), 201)
  const [post] = (await api.get(`/conversations/${ids.social}/messages`)).body.data
  assert.equal((await reply('social', react(post.id, '❤️'))).status, 201)

  const other = await workspace({ name: 'Theirs' })
  const theirs = await connect({ workspaceId: other.api.workspaceId })
  await theirs.writes({ from: phone, text: 'hello' })
  const foreign = (await other.api.get('/conversations')).body.data[0]
  const [foreignMessage] = (await other.api.get(`/conversations/${foreign.id}/messages`)).body.data
  const elsewhere = /^reaction\.message_id: not a message of this conversation/
  for (const [answer, message] of [
    [await reply('msgapp', react(post.id, '👍')), elsewhere],
    [await reply('msgapp', react(foreignMessage.id, '👍')), elsewhere],
    [await api.post('/messages', { to: phone, ...react(foreignMessage.id, '👍') }), elsewhere],
    [await api.post('/messages', { to: '+14155550111', ...react(hello.id, '👍') }), elsewhere],
    [await reply('msgapp', react(hello.id, 'ok')), /^reaction\.emoji: must be one emoji/],
    [await reply('msgapp', { type: 'reaction' }), 'reaction: required'],
    [await reply('msgapp', { type: 'reaction', reaction: { emoji: '👍' } }), 'reaction.message_id: required'],
    [await reply('social', react(post.id, '👍')), /^reaction\.emoji: the social channel supports only/],
    [await reply('web', react(post.id, '👍')), /^type: the web channel has no reactions/],
  ] as const) {
    assertBadRequest(answer, message)
  }
  assertRefused(await api.get(`/messages/${foreignMessage.id}`), 404, 'not_found')
  assertRefused(await api.post(`/conversations/${foreign.id}/messages`, { text: 'x' }), 404, 'not_found')
})

test('what a channel cannot carry, and what breaks a rule, is a 400 that names it; nothing is sent', async (t) => {
  const { api, provider, reply, ids } = await startTalk(t)
  const choice = (id: string, title = id) => ({ id, title })
  const one = (rows: Json[]) => ({ ...list, sections: [{ title: 'One', rows }] })
  const rows = Array.from({ length: 11 }, (_, i) => choice(`r${i}`))
  for (const [interactive, message] of [
    [undefined, 'interactive: required'],
    [{}, 'interactive.kind: required'],
    [{ kind: 'carousel' }, /^interactive\.kind: must be one of buttons, list, link/],
    [buttons({ body: undefined }), 'interactive.body: required'],
    [buttons({ body: ' ' }), 'interactive.body: must not be blank'],
    [buttons({ body: 'x'.repeat(1025) }), /^interactive\.body: must have at most 1024/],
    [buttons({ header: 'x'.repeat(61) }), /^interactive\.header: must have at most 60/],
    [buttons({ footer: '' }), 'interactive.footer: must not be empty'],
    [buttons({ buttons: [] }), /^interactive\.buttons: must have at least 1/],
    [buttons({ buttons: ['a', 'b', 'c', 'd'].map((id) => choice(id)) }), /^interactive\.buttons: must have at most 3/],
    [
      buttons({ buttons: [choice('a', 'One'), choice('a', 'Two')] }),
      'interactive.buttons[1].id: must be unique in the message',
    ],
    [
      buttons({ buttons: [choice('a', 'One'), choice('b', 'One')] }),
      'interactive.buttons[1].title: must be unique in the message',
    ],
    [buttons({ buttons: [choice('a', 'x'.repeat(21))] }), /^interactive\.buttons\[0\]\.title: must have at most 20/],
    [buttons({ buttons: [choice('x'.repeat(257), 'One')] }), /^interactive\.buttons\[0\]\.id: must have at most 256/],
    [buttons({ buttons: [choice(' ', 'One')] }), 'interactive.buttons[0].id: must not be blank'],
    [{ ...list, sections: [] }, /^interactive\.sections: must have at least 1/],
    [{ ...list, button: 'x'.repeat(21) }, /^interactive\.button: must have at most 20/],
    [one([choice('a'), choice('a', 'Two')]), 'interactive.sections[0].rows[1].id: must be unique in the message'],
    [one(rows), /^interactive\.sections\[0\]\.rows: must have at most 10/],
    [
      { ...list, sections: [0, 6].map((i) => ({ title: `S${i}`, rows: rows.slice(i, i + 6) })) },
      'interactive.sections: must have at most 10 rows in total',
    ],
    [{ ...list, sections: [{ rows: [choice('a')] }] }, 'interactive.sections[0].title: required'],
    [one([{ ...choice('a'), description: 'x'.repeat(73) }]), /rows\[0\]\.description: must have at most 72/],
    [{ ...link, url: 'http://shop.example' }, 'interactive.url: must be an https URL'],
    [{ ...link, url: 'javascript:alert(1)' }, 'interactive.url: must be an https URL'],
    [{ ...link, url: 'shop.example' }, 'interactive.url: must be an https URL'],
    [{ ...link, text: 'x'.repeat(21) }, /^interactive\.text: must have at most 20/],
  ] as const) {
    assertBadRequest(await reply('msgapp', { type: 'interactive', interactive }), message)
    assertBadRequest(await api.post('/messages/check', { to: phone, type: 'interactive', interactive }), message)
  }
  for (const [wrong, message] of [
    [undefined, 'location: required'],
    [{ ...location, latitude: 91 }, /^location\.latitude: /],
    [{ ...location, longitude: '1' }, 'location.longitude: must be a number'],
    [{ ...location, name: ' ' }, 'location.name: must not be blank'],
  ] as const) {
    assertBadRequest(await reply('web', { type: 'location', location: wrong }), message)
  }
  for (const [body, message] of [
    [{ type: 'interactive', interactive: list }, 'interactive.kind: the social channel has no lists'],
    [
      { type: 'interactive', interactive: buttons({ header: 'H' }) },
      'interactive.header: the social channel has no headers',
    ],
    [
      { type: 'interactive', interactive: buttons({ footer: 'F' }) },
      'interactive.footer: the social channel has no footers',
    ],
    [
      { type: 'interactive', interactive: buttons({ body: 'é'.repeat(501) }) },
      /^interactive\.body: the social channel accepts at most 1000 bytes/,
    ],
    [
      { type: 'interactive', interactive: { ...link, body: 'x'.repeat(641) } },
      /^interactive\.body: the social channel accepts at most 640/,
    ],
    [{ type: 'location', location }, 'type: the social channel has no locations'],
    [{ type: 'template', template: { name: 'hello_world' } }, /^type: only the msgapp channel/],
  ] as const) {
    assertBadRequest(await reply('social', body), message)
  }
  // Characters are counted, not bytes or code units.
  const emoji = buttons({ buttons: [choice('🙂'.repeat(256), '🙂'.repeat(20))] })
  assert.equal((await reply('msgapp', { type: 'interactive', interactive: emoji })).status, 201)
  assert.equal((await provider.sent()).length, 1)
  assert.equal((await api.get(`/conversations/${ids.social}/messages`)).body.data.length, 1)
})

test('outside the 24-hour window only a template is sent, in a conversation too', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const old = new Date(Date.now() - 25 * 3_600_000).toISOString()
  await provider.writes({ from: phone, text: 'hello', timestamp: old })
  await provider.writes({ channel: 'social', from: userId, text: 'hello', timestamp: old })
  for (const channel of ['msgapp', 'social']) {
    const { id } = await conversationOn(api, channel)
    for (const body of [
      { text: 'hi' },
      { type: 'interactive', interactive: buttons() },
      ...(channel === 'msgapp' ? [{ type: 'location', location }] : []),
    ]) {
      assertBadRequest(await api.post(`/conversations/${id}/messages`, body), /^the 24-hour window closed/)
    }
  }
  const { id } = await conversationOn(api, 'msgapp')
  const sent = await api.post(`/conversations/${id}/messages`, { type: 'template', template: { name: 'hello_world' } })
  assert.equal(sent.status, 201, sent.text)
})

test('a 502 has the outcome, the message and the code of the channel as fields', main, async (t) => {
  const { api, provider, ids, reply } = await startTalk(t)
  await provider.fault({ to: phone, mode: 'reject', code: 131026, count: 1 })
  const refused = await reply('msgapp', { text: 'refused' })
  assertRefused(refused, 502, 'platform_error', /131026/)
  const failed = await newest(api, ids.msgapp)
  assert.deepEqual(refused.body.error.details, { outcome: 'rejected', message_id: failed.id, channel_code: '131026' })
  assert.deepEqual(failed.error.code, '131026')
  await provider.fault({ to: phone, mode: 'http_500', count: 1 })
  const unknown = await api.post('/messages', { to: phone, text: 'unknown' })
  assertRefused(unknown, 502, 'platform_error')
  const pending = await newest(api, ids.msgapp)
  assert.deepEqual([pending.status, pending.content_text], ['pending', 'unknown'])
  const { details } = unknown.body.error
  assert.deepEqual([details.outcome, details.message_id], ['unknown', pending.id])
  await provider.fault({ to: phone, mode: 'drop_connection_after_accept', count: 1 })
  const lost = await reply('msgapp', { text: 'lost' })
  assert.deepEqual([lost.body.error.details.outcome, lost.body.error.details.channel_code], ['unknown', null])
  // A refusal before the channel has no details.
  assert.equal((await reply('msgapp', { text: '' })).body.error.details, undefined)
})

test(
  'a message that does not reach the channel fails at once, uses no quota, and may be sent again',
  main,
  async (t) => {
    const { api, provider, ids, reply } = await startTalk(t)
    const usedUnits = async () => (await api.get('/usage')).body.data.messages_sent
    const used = await usedUnits()
    const reason = 'the channel could not be reached (connection refused), so nothing was sent'
    await provider.goDown()
    for (const channel of ['msgapp', 'social'] as const) {
      const call = { headers: { 'idempotency-key': `a reply on ${channel}` } }
      const unsent = await reply(channel, { text: 'hello again' }, call)
      assertRefused(unsent, 502, 'platform_error', reason)
      const failed = await newest(api, ids[channel])
      assert.deepEqual([failed.status, failed.content_text], ['failed', 'hello again'])
      assert.deepEqual(failed.error, { code: 'platform_error', message: reason })
      assert.deepEqual(unsent.body.error.details, { outcome: 'unsent', message_id: failed.id, channel_code: null })
      const repeated = await reply(channel, { text: 'hello again' }, call)
      assert.deepEqual([repeated.text, repeated.headers.get('idempotent-replayed')], [unsent.text, 'true'])
    }
    const unsent = await api.post('/messages', { to: phone, text: 'hello again' })
    assert.equal(unsent.body.error.details.outcome, 'unsent', unsent.text)
    assert.equal(await usedUnits(), used)
    await provider.comeUp()
    for (const channel of ['msgapp', 'social'] as const) {
      assert.equal((await reply(channel, { text: 'hello again' })).status, 201)
    }
    assert.deepEqual([(await provider.sent(phone)).length, (await provider.sent(userId)).length], [1, 1])
    assert.equal(await usedUnits(), used + 2)
  },
)

test('with contact_fields, contact fields in template values are filled, as in broadcasts', main, async (t) => {
  const { api, provider } = await withProvider(start(t))
  await api.post('/contacts', { phone, name: 'Ann {{contact.email}}', email: 'ann@example.com' })
  const withFields = { name: 'order_confirmed', contact_fields: true }
  const send = (params: unknown, more: Json = {}) =>
    api.post('/messages', { to: phone, type: 'template', template: { ...withFields, params }, ...more })
  const texts = async (to = phone) =>
    (await provider.sent(to)).at(-1)?.body.template.components[0].parameters.map(({ text }: Json) => text)
  assert.equal((await send(['{{contact.name|there}}', '{{ contact.company |A-1}}'])).status, 201)
  assert.deepEqual(await texts(), ['Ann {{contact.email}}', 'A-1'])
  assert.equal((await send(['{{contact.name}}', '{{contact.email}}'], { name: 'Bea' })).status, 201)
  assert.deepEqual(await texts(), ['Bea', 'ann@example.com'])
  const { id } = await conversationOn(api, 'msgapp')
  const template = { ...withFields, params: { body: ['{{contact.phone}}', '{{name}}'] } }
  assertStatus(await api.post(`/conversations/${id}/messages`, { type: 'template', template }), 201)
  assert.deepEqual(await texts(), [phone, '{{name}}'])
  const fresh = '+14155550111'
  assert.equal((await send(['{{contact.name|there}}', '{{contact.phone}}'], { to: fresh })).status, 201)
  assert.deepEqual(await texts(fresh), ['there', fresh])
  for (const path of ['/messages', '/messages/check']) {
    const refused = (params: string[]) =>
      api.post(path, { to: phone, type: 'template', template: { ...withFields, params } })
    const unknown = await refused(['a', '{{contact.age}}'])
    assertBadRequest(unknown, /^template\.params\.body\[1\]: unknown field contact\.age/)
    assertBadRequest(await refused(['{{contact.company}}', 'b']), /^template\.params: the contact has no company/)
  }
})

test('template values are literal, in every send, check and broadcast', main, async (t) => {
  const { api, provider } = await withProvider(start(t))
  await api.post('/contacts', { phone, name: 'Ann', email: 'ann@example.com' })
  const values = ['Alice {{contact.x}}', '{{contact.phone}} {{contact.company}}']
  const template = { name: 'order_confirmed', params: values }
  const sends = async () =>
    (await provider.sent()).map(({ body }) => body.template.components[0].parameters.map(({ text }: Json) => text))
  const message = { type: 'template', template }
  assert.equal((await api.post('/messages/check', { to: phone, ...message })).status, 200)
  const sent = dataOf(await api.post('/messages', { to: phone, ...message }), 201)
  const isOff = { type: 'template', template: { ...template, contact_fields: false } }
  assert.equal((await api.post(`/conversations/${sent.conversation_id}/messages`, isOff)).status, 201)

  const own = { to: '+14155550111', params: values }
  const broadcast = { name: 'News', template, recipients: [{ to: phone }, own] }
  const checked = (await api.post('/broadcasts/check', broadcast)).body.data
  assert.deepEqual(checked, { recipient_count: 2, skipped_count: 0 })
  assert.equal((await api.post('/broadcasts', broadcast)).status, 202)
  const draft = { name: 'Draft', template: { name: 'order_confirmed' }, draft: true }
  const { id } = (await api.post('/broadcasts', draft)).body.data
  const added = (await api.post(`/broadcasts/${id}/recipients`, { recipients: [own] })).body.data
  assert.deepEqual(added, { added: 1, skipped: [] })
  assert.equal((await api.post(`/broadcasts/${id}/start`)).status, 200)
  await until('all five messages', async () => (await provider.sent()).length === 5)
  assert.deepEqual(await sends(), [values, values, values, values, values])

  const filter = { match: 'all', rules: [{ field: 'phone', op: 'is', value: phone }] }
  const segment = (await api.post('/segments', { name: 'Ann', kind: 'dynamic', filter })).body.data
  assert.equal((await api.post('/broadcasts', { name: 'Segment', template, segment_id: segment.id })).status, 202)
  await until('the message of the segment', async () => (await provider.sent()).length === 6)
  assert.deepEqual((await sends()).at(-1), values)
})
