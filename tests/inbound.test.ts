/** What customers write and what the channel reports, through its signed callbacks. */
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { assertBadRequest, assertFields, assertRefused, assertStatus, dataOf, pluck } from './assertions.ts'
import { assertCheap } from './cpu.ts'
import { untilWaiting } from './database.ts'
import { brokenMessages, createLog, fixture, sweepPending } from './internals.ts'
import { recordEvents, withoutResources } from './receiver.ts'
import { type Api, type Json, main, publicUrl, signIn, start, until, withProvider } from './support.ts'

const phone = '+14155550100'

const hello = { type: 'template', template: { name: 'hello_world' } }

const messagesOf = async (api: Api, conversationId: string): Promise<Json[]> =>
  (await api.get(`/conversations/${conversationId}/messages?limit=100`)).body.data

const conversationsOf = async (api: Api): Promise<Json[]> => (await api.get('/conversations?limit=100')).body.data

const envelope = (value: Json) => ({
  object: 'whatsapp_business_account',
  entry: [{ changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', ...value } }] }],
})

const now = () => String(Math.floor(Date.now() / 1000))

const text = (from: string, body: string, id = `wamid.${randomUUID()}`) => ({
  from: from.replace('+', ''),
  id,
  timestamp: now(),
  type: 'text',
  text: { body },
})

test(
  'an inbound message creates contact, conversation, message and events; a repeated callback changes nothing',
  main,
  async (t) => {
    const world = await withProvider(start(t))
    const { api, provider } = world
    const eventsOf = await recordEvents(t, world)
    const id = await provider.writes({ from: phone, name: 'Ann 😀', text: 'Grüße / hello' })
    await provider.writes({ from: phone, name: 'Ann 😀', text: 'Grüße / hello', message_id: id })

    const [conversation, ...more] = await conversationsOf(api)
    assert.equal(more.length, 0)
    assert.deepEqual(
      [conversation.channel, conversation.status, conversation.unread_count, conversation.last_message_text],
      ['msgapp', 'open', 1, 'Grüße / hello'],
    )
    assert.deepEqual([conversation.contact.phone, conversation.contact.name], [phone, 'Ann 😀'])
    assert.ok(Date.now() - Date.parse(conversation.last_inbound_at) < 60_000)
    assert.equal(conversation.last_inbound_at, conversation.last_message_at)
    const messages = await messagesOf(api, conversation.id)
    assert.equal(messages.length, 1)
    assert.deepEqual(
      [messages[0].direction, messages[0].sender_type, messages[0].status, messages[0].msgapp_message_id],
      ['inbound', 'customer', 'received', id],
    )
    assert.deepEqual(pluck(await eventsOf(), 'event'), ['contact.created', 'conversation.created', 'message.received'])
    const [received] = await eventsOf('message.received')
    assert.deepEqual(withoutResources(received.data), {
      conversation_id: conversation.id,
      contact_id: conversation.contact_id,
      msgapp_message_id: id,
      content_type: 'text',
      text: 'Grüße / hello',
    })
    assert.ok(received.occurred_at <= conversation.last_inbound_at)
  },
)

test('every kind of inbound message is stored in the content model of the API', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const first = await provider.writes({ from: phone, text: 'first' })
  const kinds: [Json, Json][] = [
    [
      { type: 'image', media: { caption: 'a picture' } },
      { content_type: 'image', content_text: 'a picture' },
    ],
    [{ type: 'video' }, { content_type: 'video', content_text: null }],
    [{ type: 'audio' }, { content_type: 'audio', content_text: null }],
    [
      { type: 'document', media: { filename: 'a.pdf', caption: 'read' } },
      { content_type: 'document', content_text: 'read' },
    ],
    [{ type: 'sticker' }, { content_type: 'sticker', content_text: null }],
    [{ type: 'location' }, { content_type: 'location' }],
    [{ type: 'contacts' }, { content_type: 'contacts' }],
    [
      { type: 'reaction', text: '👍', reply_to: first },
      { content_type: 'reaction', content_text: '👍' },
    ],
    [
      { type: 'button', button: { id: 'yes-42', title: 'Yes' }, reply_to: first },
      { content_type: 'interactive', content_text: 'Yes', interactive_reply_id: 'yes-42' },
    ],
    [
      { type: 'list', button: { id: 'row-1', title: 'Row' }, reply_to: first },
      { content_type: 'interactive', content_text: 'Row', interactive_reply_id: 'row-1' },
    ],
    [
      { type: 'order', order: { catalog_id: '1', product_items: [] } },
      { content_type: 'unsupported', content: { type: 'order', order: { catalog_id: '1', product_items: [] } } },
    ],
    [
      { type: 'form', form: { size: 'L' } },
      {
        content_type: 'interactive',
        content: { form: { name: 'flow', response: { flow_token: 'unused', size: 'L' } } },
      },
    ],
    [
      { text: 'From an ad', referral: { source_type: 'ad', headline: 'Summer' } },
      { content_type: 'text', content: { referral: { source_type: 'ad', headline: 'Summer' } } },
    ],
  ]
  for (const [given, expected] of kinds) {
    await provider.writes({ from: phone, ...given })
    const [conversation] = await conversationsOf(api)
    const messages = await messagesOf(api, conversation.id)
    for (const [field, value] of Object.entries(expected)) assert.deepEqual(messages[0][field], value, given.type)
    if (given.reply_to) assert.equal(messages[0].reply_to_message_id, messages.at(-1).id)
    if (['location', 'contacts'].includes(given.type)) assert.ok(messages[0].content_text)
    if (given.type === 'location') assert.equal(typeof messages[0].content.location.latitude, 'number')
    if (given.type === 'contacts') assert.ok(messages[0].content.contacts[0].phones[0].phone)
    if (given.type === 'document') assert.equal(messages[0].content.filename, 'a.pdf')
    assert.deepEqual([messages[0].error, messages[0].broadcast_id], [null, null])
  }
  // A tap on a template's quick reply comes as a type of its own.
  const { msgapp_message_id: template } = (await api.post('/messages', { to: phone, ...hello })).body.data
  await provider.writes({ from: phone, type: 'button', button: { id: 'STOP', title: 'Stop' }, reply_to: template })
  const [tapped] = await messagesOf(api, (await conversationsOf(api))[0].id)
  assert.deepEqual([tapped.content_type, tapped.content_text, tapped.interactive_reply_id], ['button', 'Stop', 'STOP'])
  const order = { from: phone.slice(1), id: 'wamid.order', timestamp: now(), type: 'order', order: { catalog_id: '1' } }
  const messages = [order, { ...order, id: 'wamid.new', type: 'hologram' }]
  assert.equal(await provider.callback(envelope({ messages })), 200)
  const [conversation] = await conversationsOf(api)
  const [unknown, unsupported] = await messagesOf(api, conversation.id)
  for (const message of [unknown, unsupported]) {
    assert.deepEqual([message.content_type, message.content_text], ['unsupported', null])
  }
  assert.deepEqual(unsupported.content.order, { catalog_id: '1' })
  assert.equal(conversation.unread_count, 17)
})

test('a callback with 1,000 messages of 100 contacts is stored completely, in order and once', async (t) => {
  const world = await withProvider(start(t))
  const { api, db, provider } = world
  const eventsOf = await recordEvents(t, world)
  const messages = Array.from({ length: 1_000 }, (_, i) => text(`+1415556${String(1000 + (i % 100))}`, `message ${i}`))
  const body = envelope({ messages })
  assert.deepEqual(await Promise.all([provider.callback(body), provider.callback(body)]), [200, 200])
  const [counted] = await db`
      select count(*)::int as n, count(distinct conversation_id)::int as conversations
      from messages where workspace_id = ${api.workspaceId}`
  assert.deepEqual([counted?.n, counted?.conversations], [1_000, 100])
  for (const conversation of (await conversationsOf(api)).slice(0, 5)) {
    const texts = (await messagesOf(api, conversation.id)).map(({ content_text }) => Number(content_text.split(' ')[1]))
    const newestFirst = texts.toSorted((one, other) => other - one)
    assert.deepEqual(texts, newestFirst)
    assert.deepEqual([conversation.unread_count, conversation.last_message_text], [10, `message ${texts[0]}`])
  }
  assert.equal((await eventsOf('message.received')).length, 1_000)
})

test('the events of a callback have the order of its messages', async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  const eventsOf = await recordEvents(t, world)
  // No index has this order.
  const phones = Array.from({ length: 300 }, (_, i) => `+1415558${String(1000 + ((i * 7) % 300))}`)
  assert.equal(await provider.callback(envelope({ messages: phones.map((phone) => text(phone, 'Hello')) })), 200)
  const dataOfAll = async (event: Parameters<typeof eventsOf>[0]) => pluck(await eventsOf(event), 'data')
  const contacts = await dataOfAll('contact.created')
  assert.deepEqual(pluck(contacts, 'phone'), phones)
  for (const event of ['conversation.created', 'message.received'] as const)
    assert.deepEqual(pluck(await dataOfAll(event), 'contact_id'), pluck(contacts, 'contact_id'))
})

test('status reports in any order: the stored status only advances, and every report is an event', async (t) => {
  const world = await withProvider(start(t))
  const { api, provider } = world
  const eventsOf = await recordEvents(t, world)
  await provider.fault({ mode: 'no_statuses' })
  const orders: [string[], string][] = [
    [['sent', 'delivered', 'read'], 'read'],
    [['read', 'delivered', 'sent'], 'read'],
    [['sent', 'failed'], 'failed'],
    [['failed', 'sent'], 'failed'],
    [['failed', 'delivered'], 'delivered'],
    [['delivered', 'failed'], 'delivered'],
    [['sent', 'sent', 'delivered', 'delivered'], 'delivered'],
    [['deleted', 'warning', 'delivered'], 'delivered'],
  ]
  for (const [i, [statuses, outcome]] of orders.entries()) {
    const to = `+1415555020${i}`
    const { msgapp_message_id: id, conversation_id } = (await api.post('/messages', { to, ...hello })).body.data
    const report = (status: string) => ({
      id,
      status,
      timestamp: now(),
      recipient_id: to.slice(1),
      ...(status === 'failed' ? { errors: [{ code: 131026, title: 'Message undeliverable' }] } : {}),
    })
    // One after the other, and then all of them in one callback.
    for (const status of statuses) assert.equal(await provider.callback(envelope({ statuses: [report(status)] })), 200)
    assert.equal((await messagesOf(api, conversation_id))[0].status, outcome, statuses.join())
    assert.equal(await provider.callback(envelope({ statuses: statuses.map(report) })), 200)
    assert.equal((await messagesOf(api, conversation_id))[0].status, outcome, statuses.join())
    const known = statuses.filter((status) => status !== 'deleted' && status !== 'warning')
    const reported = (await eventsOf('message.status_updated'))
      .filter(({ data }) => data.msgapp_message_id === id)
      .map(({ data }) => data.status)
    assert.deepEqual(reported.toSorted(), [...known, ...known].toSorted())
  }
})

test('of two reports that wait for the same message the higher status stays', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  await provider.fault({ mode: 'no_statuses' })
  const to = '+14155550210'
  const sent = (await api.post('/messages', { to, ...hello })).body.data
  const report = (status: string) =>
    provider.callback(
      envelope({ statuses: [{ id: sent.msgapp_message_id, status, timestamp: now(), recipient_id: to.slice(1) }] }),
    )
  const reports: Promise<number>[] = []
  await db.begin(async (sql) => {
    await sql`
      select from messages where workspace_id = ${api.workspaceId} and id = ${sent.message_id} for no key update`
    for (const status of ['read', 'delivered']) {
      reports.push(report(status))
      await untilWaiting(db, reports.length)
    }
  })
  assert.deepEqual(await Promise.all(reports), [200, 200])
  assert.equal((await messagesOf(api, sent.conversation_id))[0].status, 'read')
})

test('a report that arrives before its message waits for it', async (t) => {
  const world = await withProvider(start(t))
  const { api, db, provider } = world
  const eventsOf = await recordEvents(t, world)
  await provider.fault({ mode: 'no_statuses' })
  await provider.writes({ from: phone, text: 'hi' })
  const [conversation] = await conversationsOf(api)
  const later = 'wamid.later'
  await provider.callback(envelope({ statuses: [{ id: 'wamid.out', status: 'delivered', timestamp: now() }] }))
  const message = { type: 'text', text: { body: 'fixed' } }
  const edit = { type: 'edit', edit: { original_message_id: later, message } }
  await provider.callback(
    envelope({ messages: [{ from: phone.slice(1), id: 'wamid.edit', timestamp: now(), ...edit }] }),
  )
  assert.deepEqual(await eventsOf('message.status_updated'), [])
  const sent = (await api.post('/messages', { to: phone, text: 'out' })).body.data
  await db`update messages set external_id = 'wamid.out' where id = ${sent.message_id}`
  await provider.callback(envelope({ messages: [text(phone, 'typo', later)] }))
  await until('the early reports', async () => {
    const [inbound, out] = await messagesOf(api, conversation.id)
    return inbound.content_text === 'fixed' && out.status === 'delivered'
  })
  assert.equal((await eventsOf('message.status_updated')).length, 1)
  const [waiting] = await db`select count(*)::int as n from early_reports where workspace_id = ${api.workspaceId}`
  assert.equal(waiting?.n, 0)
})

test('without a report a message fails after 15 minutes; a later delivered report still wins', async (t) => {
  const { api, provider, db } = await withProvider(start(t))
  await provider.fault({ to: phone, mode: 'http_500' })
  await api.post('/messages', { to: phone, ...hello })
  const [conversation] = await conversationsOf(api)
  await sweepPending(db, { publicUrl })
  assert.equal((await messagesOf(api, conversation.id))[0].status, 'pending')
  await db`
    update messages set created_at = created_at - interval '16 minutes' where workspace_id = ${api.workspaceId}`
  await sweepPending(db, { publicUrl })
  const [failed] = await messagesOf(api, conversation.id)
  assert.equal(failed.status, 'failed')
  assert.match(failed.error.message, /no report from the channel within 15 minutes$/)
  const status = { id: 'wamid.late', status: 'delivered', timestamp: now(), biz_opaque_callback_data: failed.id }
  await provider.callback(envelope({ statuses: [status] }))
  const [delivered] = await messagesOf(api, conversation.id)
  assert.deepEqual([delivered.status, delivered.error, delivered.msgapp_message_id], ['delivered', null, 'wamid.late'])
  const [usage] = await db`select message_count from plan_usage where workspace_id = ${api.workspaceId}`
  assert.equal(usage?.message_count, 1, 'a sent message counts, even when its report is late')

  // The same when it is found only after the service stood still for weeks.
  await api.post('/messages', { to: phone, ...hello })
  await db`
    update messages set created_at = created_at - interval '20 days'
    where workspace_id = ${api.workspaceId} and status = 'pending'`
  await sweepPending(db, { publicUrl })
  await sweepPending(db, { publicUrl }, 365)
  assert.equal((await messagesOf(api, conversation.id))[0].status, 'failed')
})

test('an edit replaces the text, a revoke empties the message, and a changed number keeps the contact', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const id = await provider.writes({ from: phone, name: 'Ann', text: 'tpyo' })
  const from = { from: phone.slice(1), timestamp: now() }
  const edit = { type: 'edit', edit: { original_message_id: id, message: { type: 'text', text: { body: 'typo' } } } }
  await provider.callback(envelope({ messages: [{ ...from, id: 'wamid.e', ...edit }] }))
  let [conversation] = await conversationsOf(api)
  assert.deepEqual([conversation.last_message_text, conversation.unread_count], ['typo', 1])
  await provider.callback(
    envelope({ messages: [{ ...from, id: 'wamid.r', type: 'revoke', revoke: { original_message_id: id } }] }),
  )
  const [message, ...more] = await messagesOf(api, conversation.id)
  assert.deepEqual([message.content_text, more.length], [null, 0])
  assert.ok(message.deleted_at)

  const system = { type: 'user_changed_number', body: 'changed', wa_id: '14155550177' }
  await provider.callback(envelope({ messages: [{ ...from, id: 'wamid.s', type: 'system', system }] }))
  await provider.writes({ from: '+14155550177', text: 'it is me' })
  const conversations = await conversationsOf(api)
  assert.equal(conversations.length, 1)
  ;[conversation] = conversations
  assert.equal(conversation.contact.phone, '+14155550177')
  assert.equal((await messagesOf(api, conversation.id)).length, 2)
})

test('only the author can change a message, and a list shows only the last message', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const texts = Array.from({ length: 5 }, (_, i) => text(phone, `t${i}`))
  await provider.callback(envelope({ messages: texts }))
  const theirs = await provider.writes({ from: '+14155550101', text: 'theirs' })
  const { msgapp_message_id: ours } = (await api.post('/messages', { to: phone, text: 'ours' })).body.data
  await provider.writes({ from: phone, text: 'last' })
  const change = (type: 'edit' | 'revoke', id: string) => ({
    ...text(phone, ''),
    type,
    [type]: { original_message_id: id, message: { type: 'text', text: { body: 'changed' } } },
  })
  const changes = [
    change('edit', theirs),
    change('revoke', theirs),
    change('edit', ours),
    change('revoke', ours),
    change('revoke', texts[0]?.id ?? ''),
    change('edit', texts[1]?.id ?? ''),
  ]
  assert.equal(await provider.callback(envelope({ messages: changes })), 200)
  const [other, own] = await conversationsOf(api)
  assert.equal((await messagesOf(api, other.id))[0].content_text, 'theirs')
  assert.equal(own.last_message_text, 'last')
  const thread = pluck(await messagesOf(api, own.id), 'content_text')
  assert.deepEqual(thread, ['last', 'ours', 't4', 't3', 't2', 'changed', null])
})

test('a reply in the same callback as its message quotes it', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const first = text(phone, 'first')
  const context = { from: phone.slice(1), id: first.id }
  const reaction = { type: 'reaction', reaction: { message_id: first.id, emoji: '👍' } }
  await provider.callback(
    envelope({ messages: [first, { ...text(phone, 'second'), context }, { ...text(phone, ''), ...reaction }] }),
  )
  const [conversation] = await conversationsOf(api)
  const [reacted, second, quoted] = await messagesOf(api, conversation.id)
  assert.deepEqual([reacted.reply_to_message_id, second.reply_to_message_id], [quoted.id, quoted.id])
})

test('a new user id keeps the number, a number of another contact stays with that contact, and an old message creates no contact', async (t) => {
  const { api, provider, db } = await withProvider(start(t))
  const from = { from: phone.slice(1), from_user_id: 'US.1111111111' }
  const old = text(phone, 'hi')
  await provider.callback(envelope({ messages: [{ ...old, ...from }] }))
  const system = (system: Json) => ({ ...from, id: `wamid.${randomUUID()}`, timestamp: now(), type: 'system', system })
  await provider.callback(
    envelope({ messages: [system({ type: 'user_changed_user_id', body: 'x', user_id: 'US.2222222222' })] }),
  )
  assertStatus(await api.post('/messages', { to: phone, text: 'still you?' }), 201)
  await provider.callback(
    envelope({ messages: [{ ...text(phone, 'yes'), from: undefined, from_user_id: 'US.2222222222' }] }),
  )
  assert.equal((await conversationsOf(api)).length, 1)

  const other = '+14155550188'
  await provider.writes({ from: other, text: 'I am another person' })
  const moved = { type: 'user_changed_number', body: 'x', wa_id: other.slice(1), user_id: 'US.3333333333' }
  await provider.callback(envelope({ messages: [system(moved)] }))
  const phones = (await api.get('/contacts')).body.data.map(({ phone }: Json) => phone)
  assert.deepEqual(phones.toSorted(), [phone, other].toSorted())

  const free = '+14155550199'
  await provider.callback(
    envelope({ messages: [system({ type: 'user_changed_number', body: 'x', wa_id: free.slice(1) })] }),
  )
  // Repeated from the old number, which no contact has now.
  assert.equal(await provider.callback(envelope({ messages: [old] })), 200)
  const [counted] = await db`
      select (select count(*) from contacts where workspace_id = ${api.workspaceId})::int as people, count(*)::int as n
      from conversations where workspace_id = ${api.workspaceId}`
  assert.deepEqual([counted?.people, counted?.n], [2, 2])
})

test('a status with two conflicting message ids applies to the one named by the channel’s id', async (t) => {
  const { api, provider } = await withProvider(start(t))
  await provider.fault({ mode: 'no_statuses' })
  const named = (await api.post('/messages', { to: phone, ...hello })).body.data
  await provider.fault({ to: '+14155550101', mode: 'http_500' })
  await api.post('/messages', { to: '+14155550101', ...hello })
  const [pending] = await messagesOf(api, (await conversationsOf(api))[0].id)
  const delivered = { id: named.msgapp_message_id, status: 'delivered', timestamp: now() }
  const status = { ...delivered, biz_opaque_callback_data: pending.id }
  assert.equal(await provider.callback(envelope({ statuses: [status] })), 200)
  assert.equal((await messagesOf(api, named.conversation_id))[0].status, 'delivered')
  assert.equal((await messagesOf(api, pending.conversation_id))[0].status, 'pending')
})

test('equal texts sent to a social thread at once are settled separately', async (t) => {
  const { api, provider, url, owner } = await withProvider(start(t))
  await provider.writes({ channel: 'social', from: '90000001', username: 'ann.r', text: 'hey' })
  const [conversation] = await conversationsOf(api)
  const browser = await signIn({ url, owner })
  await provider.fault({ to: '90000001', mode: 'delay', delay_ms: 300 })
  const replies = await Promise.all(
    Array.from({ length: 3 }, () => browser.call('POST', `/conversations/${conversation.id}/messages`, { text: 'ok' })),
  )
  assert.deepEqual(pluck(replies, 'status'), [201, 201, 201], replies[0]?.text)
  const sent = (await provider.sent('90000001')).map(({ message_id }) => message_id)
  await until('the echoes', async () => (await messagesOf(api, conversation.id)).length === 4)
  const kept = (await messagesOf(api, conversation.id)).slice(0, 3).map(({ message_id }) => message_id)
  assert.deepEqual(kept.toSorted(), sent.toSorted())
})

test('a user name of the primary channel is not used as a social user name', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const contacts = [{ profile: { name: 'Ann', username: '@ann.r' }, wa_id: phone.slice(1), user_id: 'US.1' }]
  await provider.callback(envelope({ contacts, messages: [{ ...text(phone, 'hi'), from_user_id: 'US.1' }] }))
  assert.equal((await conversationsOf(api))[0].contact.social_username, null)
})

test('a contact without a number stays one contact when the number arrives', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const userId = 'US.13491208655302741918'
  const contacts = (more: Json) => [{ profile: { name: 'Ann' }, user_id: userId, ...more }]
  const message = (more: Json) => ({ ...text(phone, 'hi'), from: undefined, from_user_id: userId, ...more })
  for (const body of [
    envelope({ contacts: contacts({}), messages: [message({})] }),
    envelope({ contacts: contacts({}), messages: [message({})] }),
    envelope({ contacts: contacts({ wa_id: phone.slice(1) }), messages: [message({ from: phone.slice(1) })] }),
    envelope({ messages: [text(phone, 'by number alone')] }),
  ]) {
    assert.equal(await provider.callback(body), 200)
  }
  const [conversation, ...more] = await conversationsOf(api)
  assert.equal(more.length, 0)
  assert.equal(conversation.unread_count, 4)
  assert.equal(conversation.contact.phone, phone)
  const sent = await api.post('/messages', { to: phone, text: 'hello' })
  assert.equal(sent.body.data.conversation_id, conversation.id)
})

test('a member replies to a contact who has only a user id', async (t) => {
  const { provider, url, owner } = await withProvider(start(t))
  const userId = 'US.99491208655302741918'
  const message = { ...text(phone, 'hi'), from: undefined, from_user_id: userId }
  await provider.callback(envelope({ contacts: [{ user_id: userId }], messages: [message] }))
  const browser = await signIn({ url, owner })
  const [conversation] = (await browser.call('GET', '/conversations')).body.data
  assert.equal(conversation.contact.phone, null)
  assertStatus(await browser.call('POST', `/conversations/${conversation.id}/messages`, { text: 'hello' }), 201)
  assert.equal((await provider.sent())[0]?.body.recipient, userId)
})

test('a number that the provider normalises differently stays one contact', async (t) => {
  const { api, provider } = await withProvider(start(t))
  for (const [ours, theirs] of [
    ['+525512345678', '+5215512345678'],
    ['+551187654321', '+5511987654321'],
  ] as const) {
    const sent = dataOf(await api.post('/messages', { to: ours, ...hello }), 201)
    await provider.callback(envelope({ messages: [text(theirs, 'hi')] }))
    await provider.callback(envelope({ messages: [text(ours, 'hi')] }))
    const again = dataOf(await api.post('/messages', { to: theirs, ...hello }), 201)
    assertFields(again, { contact_id: sent.contact_id, conversation_id: sent.conversation_id })
    const known = await api.post('/contacts', { phone: theirs })
    assert.deepEqual([known.status, known.body.data.id], [200, sent.contact_id])
  }
  assert.equal((await conversationsOf(api)).length, 2)
})

test('callbacks that are unsigned, wrongly signed, oversized or for an unknown connection are rejected; signed garbage is accepted and dropped', async (t) => {
  const { api, provider, url, db } = await withProvider(start(t))
  const { id, app_secret } = provider.connections.msgapp
  const body = JSON.stringify(envelope({ messages: [text(phone, 'hi')] }))
  const sign = (bytes: string, secret = app_secret) =>
    `sha256=${createHmac('sha256', secret).update(bytes).digest('hex')}`
  const post = async (bytes: string, signature: string | undefined, to = `msgapp/${id}`) => {
    const response = await fetch(`${url}/channels/${to}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(signature ? { 'x-hub-signature-256': signature } : {}) },
      body: bytes,
    })
    return response.status
  }
  assert.equal(await post(body, undefined), 401)
  assert.equal(await post(body, sign(body, 'wrong')), 401)
  assert.equal(await post(body, sign(`${body} `)), 401)
  assert.equal(await post(body, 'sha256=zz'), 401)
  assert.equal(await post(body, sign(body), `msgapp/${randomUUID()}`), 404)
  assert.equal(await post(body, sign(body), `social/${id}`), 404)
  assert.equal(await post(body, sign(body), `web/${provider.connections.web.id}`), 404)
  const huge = ' '.repeat(5 * 1024 * 1024)
  assert.equal(await post(huge, sign(huge)), 400)
  const [none] = await db`select count(*)::int as n from messages where workspace_id = ${api.workspaceId}`
  assert.equal(none?.n, 0)
  for (const garbage of [
    ...['', '{', 'null', '[]', '"x"', '{"entry":5}', '{"entry":[null,{"changes":[{"value":null}]}]}'],
  ]) {
    assert.equal(await post(garbage, sign(garbage)), 200, garbage)
  }
  const [still] = await db`select count(*)::int as n from messages where workspace_id = ${api.workspaceId}`
  assert.equal(still?.n, 0)
  const bad = { ...text(phone, 'x'), id: 5 }
  const mixed = JSON.stringify(
    envelope({ messages: [bad, null, text(phone, 'good'), { type: 'text' }], statuses: [null, 7] }),
  )
  assert.equal(await post(mixed, sign(mixed)), 200)
  // Without a usable id it is kept under one of ours; without a sender there is no conversation for it.
  const stored = await db`
    select content_text from messages where workspace_id = ${api.workspaceId} order by content_text`
  assert.deepEqual(pluck(stored, 'content_text'), ['good', 'x'])
})

test('a callback with more reports than a provider sends is refused as a whole, cheaply, and unusable reports are one line of the log', async (t) => {
  const lines: Json[] = []
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const { connect, url, db } = await start(t, { log })
  const { id, app_secret } = (await connect()).connections.msgapp
  const post = async (body: string) => {
    const response = await fetch(`${url}/channels/msgapp/${id}`, {
      method: 'POST',
      headers: {
        'content-encoding': 'gzip',
        'x-hub-signature-256': `sha256=${createHmac('sha256', app_secret).update(body).digest('hex')}`,
      },
      body: gzipSync(body),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const measure = async (body: string) => {
    const answers: Awaited<ReturnType<typeof post>>[] = []
    await assertCheap('the callback', 100, async () => answers.push(await post(body)))
    return answers[0] ?? assert.fail()
  }
  const zeros = (count: number) => `{"entry":[${Array(count).fill(0).join()}]}`
  const values = await measure(zeros(2_000_000))
  assert.deepEqual([values.status, values.body.error.message], [400, 'body: more values than a callback has'])
  const many = await measure(JSON.stringify(envelope({ messages: Array(10_001).fill({ from: '14155550100' }) })))
  assert.deepEqual([many.status, many.body.error.message], [400, 'body: more reports than a callback has'])
  const [none] = await db`select count(*)::int as n from messages`
  assert.equal(none?.n, 0)

  lines.length = 0
  assert.equal((await measure(zeros(10_000))).status, 200)
  const foreign = { object: 'whatsapp_business_account', entry: [{ id: '1' }, { id: '1' }, { id: '2' }, 0] }
  assert.equal((await post(JSON.stringify(foreign))).status, 200)
  const reported = lines.filter(({ reasons }) => reasons).map(({ count, reasons }) => [count, reasons])
  assert.deepEqual(reported, [
    [10_000, ['entry: not an object']],
    [3, ['of another account: "1"', 'of another account: "2"']],
    [1, ['entry: not an object']],
  ])
})

test('no inbound message is lost, however malformed its content, and its neighbours are stored', async (t) => {
  const { api, provider, db } = await withProvider(start(t))
  const number = phone.slice(1)
  const brokenOf = (channel: 'msgapp' | 'social', count: number) =>
    fc
      .sample(brokenMessages(channel), { seed: 2, numRuns: count })
      .map((message, i) => ({ message, id: `${channel}.${i}` }))
  const broken = brokenOf('msgapp', 250).map(({ message, id }) => ({ ...message, id, from: number }))
  const neighbours = Array.from({ length: 250 }, (_, i) => text(phone, 'between', `between.${i}`))
  const messages = broken.flatMap((message, i) => [message, neighbours[i] ?? message])
  assert.equal(await provider.callback(envelope({ messages })), 200)
  const items = brokenOf('social', 150).map(({ message, id }) => ({
    sender: { id: '90000001' },
    timestamp: Date.now(),
    message: { ...message, mid: id },
  }))
  assert.equal(await provider.callback({ object: 'instagram', entry: [{ messaging: items }] }, 'social'), 200)

  const kept = await db<{ channel: string; external_id: string }[]>`
    select v.channel, m.external_id from messages m
    join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
    where m.workspace_id = ${api.workspaceId} and m.direction = 'inbound'`
  const idsOf = (wanted: string) =>
    kept.filter(({ channel }) => channel === wanted).map(({ external_id }) => external_id)
  assert.deepEqual(idsOf('msgapp').toSorted(), messages.map(({ id }) => id).toSorted())
  // Further attachments of a social message are messages of their own.
  const first = idsOf('social').filter((id) => !id.includes(':'))
  assert.deepEqual(first.toSorted(), items.map(({ message }) => message.mid).toSorted())
  for (const conversation of await conversationsOf(api)) {
    assert.equal((await messagesOf(api, conversation.id)).length, 100, 'every one can be read')
  }
})

test('structured content can be read with a key, in the structure of the channel', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const captured = (name: string) =>
    fixture(name) as { entry: { changes: { value: { messages: Json[] } }[]; messaging: { message: Json }[] }[] }
  const names = ['order', 'form-reply', 'contacts', 'location', 'text-from-ad', 'text-about-product']
  const messages = names.map((name) => captured(`msgapp/${name}`).entry[0]?.changes[0]?.value.messages[0])
  assert.equal(await provider.callback(envelope({ messages })), 200)
  const socialNames = ['reel', 'post', 'share', 'story-mention', 'story-reply', 'from-ad']
  const messaging = socialNames.map((name, i) => {
    const item = captured(`social/${name}`).entry[0]?.messaging[0]
    return { ...item, recipient: undefined, message: { ...item?.message, mid: `mid.${i}` } }
  })
  assert.equal(await provider.callback({ object: 'instagram', entry: [{ messaging }] }, 'social'), 200)
  const [social, msgapp] = await conversationsOf(api)
  const partsOf = async ({ id }: Json) =>
    (await messagesOf(api, id)).toReversed().map(({ content }) => Object.keys(content ?? {}).join())
  const parts = ['type,order', 'form', 'contacts', 'location', 'referral', 'referred_product']
  assert.deepEqual(await partsOf(msgapp), parts)
  assert.deepEqual(await partsOf(social), [...Array(4).fill('attachment'), 'story', 'referral'])
  const [order, form] = (await messagesOf(api, msgapp.id)).toReversed()
  assert.deepEqual(order.content.order.product_items, [
    { product_retailer_id: 'sku', quantity: 2, item_price: 30, currency: 'USD' },
  ])
  assert.deepEqual(form.content.form, { name: 'flow', response: { flow_token: 't1', size: 'L' } })
})

test('group messages, calls and unreadable messages appear with the data available; a call appears once', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const from = phone.slice(1)
  const messages = [
    { ...text(phone, 'hi all'), group_id: 'Y2FwaV9ncm91cDox' },
    { from, id: 'wamid.none', timestamp: now() },
    { from, id: 'wamid.tap', timestamp: now(), type: 'interactive' },
  ]
  assert.equal(await provider.callback(envelope({ messages })), 200)
  const call = { id: 'wacid.1', from, timestamp: now(), direction: 'USER_INITIATED' }
  for (const event of ['connect', 'terminate']) {
    const value = { messaging_product: 'whatsapp', calls: [{ ...call, event }] }
    assert.equal(await provider.callback({ entry: [{ changes: [{ field: 'calls', value }] }] }), 200)
  }
  const [conversation] = await conversationsOf(api)
  const shown = (await messagesOf(api, conversation.id)).map(({ content_type, content_text, content }) => {
    assert.deepEqual([content_type, content_text], ['unsupported', null])
    return content
  })
  assert.deepEqual(shown, [
    { type: 'call', call: { event: 'connect', direction: 'USER_INITIATED' } },
    { type: 'interactive' },
    null,
    { type: 'text', group_id: 'Y2FwaV9ncm91cDox', text: { body: 'hi all' } },
  ])
  assert.equal(conversation.unread_count, 4)
})

test('the handshake returns the challenge for the right verify token, and members see whether the provider verified it and sent callbacks', async (t) => {
  const { provider, url, owner } = await withProvider(start(t))
  const { id, account_id, verify_token } = provider.connections.msgapp
  const member = await signIn({ url, owner })
  const seen = async () => {
    const { data } = (await member.call('GET', '/channels')).body
    const { callback_verified_at: verified, callback_received_at: received } = data.find((one: Json) => one.id === id)
    return [verified, received].map((at) => at !== null && Math.abs(Date.parse(at) - Date.now()) < 60_000)
  }
  const ask = (token: string) =>
    fetch(`${url}/channels/msgapp/${id}?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=${token}`)
  const answer = await ask(verify_token)
  assert.deepEqual([answer.status, await answer.text()], [200, '1158201444'])
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/)
  assert.equal((await ask('wrong')).status, 403)
  assert.deepEqual(await seen(), [true, false])
  assert.equal((await fetch(`${url}/channels/msgapp/${id}`, { method: 'POST', body: '{}' })).status, 401)
  assert.deepEqual(await seen(), [true, false])
  await provider.callback({})
  assert.deepEqual(await seen(), [true, true])
  await member.call('PUT', '/channels/msgapp', { account_id, messages_per_second: 7 })
  assert.deepEqual(await seen(), [true, true])
  await member.call('PUT', '/channels/msgapp', { account_id: '7' })
  assert.deepEqual(await seen(), [false, false])
})

test('inbound media is fetched at once and served under an unguessable link', async (t) => {
  const { api, provider, url } = await withProvider(start(t))
  await provider.writes({ from: phone, type: 'image', media: { caption: 'look' } })
  const [conversation] = await conversationsOf(api)
  const [message] = await until('the media', async () => {
    const messages = await messagesOf(api, conversation.id)
    return messages[0].media_url && messages
  })
  const { pathname } = new URL(message.media_url)
  assert.match(pathname, /^\/media\/\w{43}/)
  const picture = await fetch(url + pathname)
  assert.deepEqual([picture.status, picture.headers.get('content-type')], [200, 'image/png'])
  assert.ok((await picture.arrayBuffer()).byteLength > 50)

  const revoke = { ...text(phone, ''), type: 'revoke', revoke: { original_message_id: message.message_id } }
  await provider.callback(envelope({ messages: [revoke] }))
  assert.equal((await fetch(url + pathname)).status, 404)
  assert.equal((await messagesOf(api, conversation.id))[0].media_url, null)
})

test('a template status reported by the provider decides whether the template is sent', async (t) => {
  const { api, provider, db } = await withProvider(start(t))
  assert.equal((await api.post('/messages', { to: phone, ...hello })).status, 201)
  const value = { event: 'PAUSED', message_template_name: 'hello_world', message_template_language: 'en-US' }
  const entry = [{ changes: [{ field: 'message_template_status_update', value }] }]
  await provider.callback({ object: 'whatsapp_business_account', entry })
  const [template] =
    await db`select status from templates where workspace_id = ${api.workspaceId} and name = 'hello_world'`
  assert.equal(template?.status, 'PAUSED')
})

test('lists of conversations: newest first, filtered by status, contact and channel', async (t) => {
  const { api, provider, db } = await withProvider(start(t))
  for (let i = 0; i < 5; i++) await provider.writes({ from: `+1415555030${i}`, text: 'hi' })
  await provider.writes({ channel: 'social', from: '90000001', username: 'ann.r', text: 'hey' })
  const all = await conversationsOf(api)
  assert.equal(all.length, 6)
  const allIds = pluck(all, 'id')
  assert.deepEqual(allIds, allIds.toSorted().toReversed())
  const ids = async (query: string) => (await api.get(`/conversations?${query}`)).body.data.map(({ id }: Json) => id)
  assert.deepEqual(await ids('channel=social'), [all[0].id])
  assert.deepEqual(await ids(`contact_id=${all[3].contact_id}`), [all[3].id])
  await db`update conversations set status = 'pending' where id = ${all[2].id}`
  assert.deepEqual(await ids('status=pending'), [all[2].id])
  assert.deepEqual(await ids('status=open&channel=msgapp'), [all[1].id, all[3].id, all[4].id, all[5].id])
  const first = await api.get('/conversations?limit=4')
  const second = await api.get(`/conversations?limit=4&cursor=${first.body.meta.next_cursor}`)
  assert.deepEqual(pluck([...first.body.data, ...second.body.data], 'id'), pluck(all, 'id'))
  assert.equal(second.body.meta.next_cursor, null)
  assertRefused(await api.get('/conversations?channel=fax'), 400, 'invalid_request')
  assertBadRequest(await api.get('/conversations?status=lost'))
  assertBadRequest(await api.get('/conversations?contact_id=x'))
  assertRefused(await api.get(`/conversations/${randomUUID()}`), 404, 'not_found')
  assertRefused(await api.get(`/conversations/${randomUUID()}/messages`), 404, 'not_found')
  assertRefused(await api.get('/conversations/x/messages'), 404, 'not_found')
})

test('a social thread has the profile name, shows each echo once, takes replies from the dashboard, and is marked read up to a message', async (t) => {
  const world = await withProvider(start(t))
  const { api, url, owner, provider } = world
  const eventsOf = await recordEvents(t, world)
  const id = await provider.writes({ channel: 'social', from: '90000001', username: 'ann.r', name: 'Ann', text: 'hey' })
  const [conversation] = await conversationsOf(api)
  assert.deepEqual(
    [conversation.channel, conversation.contact.phone, conversation.contact.social_username, conversation.contact.name],
    ['social', null, 'ann.r', 'Ann'],
  )
  const [created] = await eventsOf('contact.created')
  const person = { phone: null, name: 'Ann', social_username: 'ann.r' }
  assert.deepEqual(withoutResources(created.data), { contact_id: conversation.contact_id, ...person })
  const [received] = await eventsOf('message.received')
  assert.deepEqual(withoutResources(received.data), {
    channel: 'social',
    conversation_id: conversation.id,
    contact_id: conversation.contact_id,
    social_message_id: id,
    content_type: 'text',
    text: 'hey',
  })
  const browser = await signIn({ url, owner })
  assertStatus(await browser.call('POST', `/conversations/${conversation.id}/messages`, { text: 'hello Ann' }), 201)
  const messages = await until('the read report', async () => {
    const messages = await messagesOf(api, conversation.id)
    return messages[0].status === 'read' && messages
  })
  assert.deepEqual(pluck(messages, 'content_text'), ['hello Ann', 'hey'])
  assert.equal(messages[0].msgapp_message_id, null)
  assert.ok(messages[0].message_id)
  assert.deepEqual(await eventsOf('message.status_updated'), [])

  const share = { type: 'ig_reel', title: 'Ten cafés', url: 'https://www.instagram.com/reel/abc/' }
  await provider.writes({ channel: 'social', from: '90000001', type: 'share', share })
  assert.deepEqual((await messagesOf(api, conversation.id))[0].content, { attachment: share })

  // Written in the provider's own app.
  const echo = (mid: string) => ({
    object: 'instagram',
    entry: [
      {
        messaging: [
          {
            sender: { id: provider.connections.social.account_id },
            recipient: { id: '90000001' },
            timestamp: Date.now(),
            message: { mid, text: 'from the app', is_echo: true },
          },
        ],
      },
    ],
  })
  assert.equal(await provider.callback(echo('mid.app'), 'social'), 200)
  assert.equal(await provider.callback(echo('mid.app'), 'social'), 200)
  const thread = pluck(await messagesOf(api, conversation.id), 'content_text')
  assert.deepEqual(thread, ['from the app', null, 'hello Ann', 'hey'])
  // A member wrote it, although the service does not know which one.
  const { last_message: last } = (await browser.call('GET', `/conversations/${conversation.id}`)).body.data
  assert.deepEqual([last.content_text, last.sender, last.automated_by], ['from the app', null, null])
  const picture = { type: 'image', payload: { url: `${provider.simulatorUrl}/media/88099999999999990000` } }
  const pictured = echo('mid.picture')
  Object.assign(pictured.entry[0]?.messaging[0]?.message ?? {}, { text: undefined, attachments: [picture] })
  assert.equal(await provider.callback(pictured, 'social'), 200)
  const shown = await until('the picture that was sent in the provider’s app', async () => {
    const [message] = await messagesOf(api, conversation.id)
    return message.media_url && message
  })
  assert.deepEqual([shown.direction, shown.content_type], ['outbound', 'image'])
  const long = { text: 'ü'.repeat(501) }
  assertBadRequest(await browser.call('POST', `/conversations/${conversation.id}/messages`, long), /1000 bytes/)
  assertBadRequest(await browser.call('POST', `/conversations/${conversation.id}/messages`, hello), /^type: /)
})
