/** What events carry: the keys of each event, and beside them the resources as the API shows them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recipientFollower, sweepPending } from './internals.ts'
import { recordEvents } from './receiver.ts'
import {
  type Api,
  assertRefused,
  type Json,
  pluck,
  publicUrl,
  start,
  toListed,
  until,
  withProvider,
} from './support.ts'

const phone = '+14155550100'
const hello = { type: 'template', template: { name: 'hello_world' } }

const messagesOf = async (api: Api, conversationId: string): Promise<Json[]> =>
  (await api.get(`/conversations/${conversationId}/messages`)).body.data
const contactOf = async (api: Api, id: string): Promise<Json> => toListed((await api.get(`/contacts/${id}`)).body.data)

/** A conversation as it was when it was created. */
async function createdConversation(api: Api, id: string): Promise<Json> {
  const conversation = (await api.get(`/conversations/${id}`)).body.data
  const nothing = {
    last_message_text: null,
    last_message_at: null,
    last_inbound_at: null,
    unread_count: 0,
    episode: null,
  }
  return { ...conversation, ...nothing, updated_at: conversation.created_at }
}

test('events of an inbound message carry message, contact and conversation as the API shows them, on every channel', async (t) => {
  const world = await withProvider(start(t))
  const { api, url, provider } = world
  const eventsOf = await recordEvents(t, world)
  const place = { latitude: 52.5, longitude: 13.4, name: 'Café "Ö"', address: 'Straße 1' }
  const from = phone.slice(1)
  const location = { from, id: 'wamid.place', timestamp: '1700000000', type: 'location', location: place }
  const profile = { profile: { name: 'Ann' }, wa_id: phone.slice(1) }
  const value = { messaging_product: 'whatsapp', contacts: [profile], messages: [location] }
  await provider.callback({ object: 'whatsapp_business_account', entry: [{ changes: [{ field: 'messages', value }] }] })
  await provider.writes({ channel: 'social', from: '90000001', username: 'ann.r', text: 'hello' })
  const site = `${url}/web-chat/${provider.connections.web.id}`
  const visit = async (path: string, body: Json, token = '') => {
    const headers = { 'x-visitor-token': token, 'content-type': 'application/json' }
    return (await (await fetch(site + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as Json
  }
  const visitor = (await visit('/visitors', {})).data.visitor_token
  await visit('/messages', { text: 'hello', name: 'Bob' }, visitor)

  const received = await eventsOf('message.received')
  const keys = ['conversation_id', 'contact_id', 'content_type', 'text', 'message', 'contact']
  assert.deepEqual(
    received.map(({ data }) => Object.keys(data).sort()),
    [
      [...keys, 'msgapp_message_id'].sort(),
      [...keys, 'channel', 'social_message_id'].sort(),
      [...keys, 'channel', 'message_id'].sort(),
    ],
  )
  for (const { data, occurred_at } of received) {
    const [message] = await messagesOf(api, data.conversation_id)
    assert.deepEqual(data.message, message)
    assert.deepEqual(data.contact, await contactOf(api, data.contact_id))
    const conversation = (await api.get(`/conversations/${data.conversation_id}`)).body.data
    assert.equal(data.contact_id, conversation.contact_id)
    assert.equal(data.message.created_at, conversation.last_inbound_at)
    // The time of the channel, which may be long before ours.
    assert.ok(Date.parse(occurred_at) <= Date.parse(conversation.last_inbound_at))
  }
  assert.equal(received[0].occurred_at, new Date(1_700_000_000_000).toISOString())
  assert.deepEqual(received[0].data.message.content.location, place)
  assert.equal(received[2].data.message_id, received[2].data.message.id)

  const opened = await eventsOf('conversation.created')
  for (const { data, occurred_at } of opened) {
    assert.deepEqual(Object.keys(data), ['conversation_id', 'contact_id', 'conversation'])
    assert.deepEqual(data.conversation, await createdConversation(api, data.conversation_id))
    assert.equal(occurred_at, data.conversation.created_at)
  }
  const channels = opened.map(({ data }) => data.conversation.channel)
  assert.deepEqual(channels, ['msgapp', 'social', 'web'])
  const created = await eventsOf('contact.created')
  for (const { data } of created) {
    const { contact_id: id, contact, ...rest } = data
    assert.deepEqual(contact, await contactOf(api, id))
    const social = contact.channels[0] === 'social' ? { social_username: 'ann.r' } : {}
    assert.deepEqual(rest, { phone: contact.phone, name: contact.name, ...social })
  }
  assert.equal(created.length, 3)
})

test('the event of a contact created with tags contains the tags', async (t) => {
  const world = await start(t)
  const { api } = world
  const eventsOf = await recordEvents(t, world)
  await api.post('/contacts', { phone, name: 'Ann', email: 'ann@example.com', tags: ['vip', 'beta'] })
  await api.post('/contacts', { phone: '+14155550101' })
  const created = await eventsOf('contact.created')
  for (const { data } of created) assert.deepEqual(data.contact, await contactOf(api, data.contact_id))
  const tags = created.map(({ data }) => pluck(data.contact.tags, 'name'))
  assert.deepEqual(tags, [['beta', 'vip'], []])
})

test('a status event contains the updated message, and an event without a subscriber is not recorded', async (t) => {
  const world = await withProvider(start(t))
  const { api, db, provider } = world
  await provider.fault({ mode: 'no_statuses' })
  await api.post('/messages', { to: phone, ...hello })
  assert.equal((await db`select 1 from webhook_events where workspace_id = ${api.workspaceId}`).length, 0)
  const eventsOf = await recordEvents(t, world)
  const sent = (await api.post('/messages', { to: phone, ...hello })).body.data
  const report = async (...statuses: Json[]) => {
    const value = { messaging_product: 'whatsapp', statuses }
    const entry = [{ changes: [{ field: 'messages', value }] }]
    assert.equal(await provider.callback({ object: 'whatsapp_business_account', entry }), 200)
  }
  const said = (status: string, more = {}) => ({ id: sent.msgapp_message_id, status, timestamp: '1700000000', ...more })
  await report(said('sent'))
  await report(said('failed', { errors: [{ code: 131047, title: 'Re-engagement message' }] }))
  const failed = await eventsOf('message.status_updated')
  const [message] = await messagesOf(api, sent.conversation_id)
  const { msgapp_message_id, conversation_id } = sent
  assert.deepEqual(failed.at(-1).data, { msgapp_message_id, conversation_id, status: 'failed', message })
  assert.deepEqual(message.error, { code: '131047', message: 'Re-engagement message' })
  assert.equal(failed.at(-1).occurred_at, '2023-11-14T22:13:20.000Z')
  // Together: each report is an event, and the message is what all of them made of it.
  await report(said('delivered'), said('sent'), said('read'))
  const [read] = await messagesOf(api, sent.conversation_id)
  const together = (await eventsOf('message.status_updated')).slice(2)
  const statuses = together.map(({ data }) => data.status)
  assert.deepEqual(statuses, ['delivered', 'sent', 'read'])
  for (const { data } of together) assert.deepEqual(data.message, read)
  assert.deepEqual([read.status, read.error], ['read', null])
})

test('every transition to failed is an event: a rejection, no report within 15 minutes, a broadcast', async (t) => {
  const world = await withProvider(start(t))
  const { api, db, provider } = world
  const eventsOf = await recordEvents(t, world)
  const failures = async () => (await eventsOf('message.status_updated')).filter(({ data }) => data.status === 'failed')
  const only = async (conversationId: string, status = 'failed') => {
    const events = (await failures()).filter(({ data }) => data.conversation_id === conversationId)
    const [message] = await messagesOf(api, conversationId)
    assert.equal(message.status, status)
    assert.equal(events.length, 1)
    const { data, occurred_at } = events[0]
    assert.deepEqual(data, { msgapp_message_id: null, conversation_id: conversationId, status: 'failed', message })
    assert.ok(Date.now() - Date.parse(occurred_at) < 60_000)
    return message
  }
  const conversationWith = async (to: string) => {
    const { data } = (await api.get('/conversations')).body
    return data.find(({ contact }: Json) => contact.phone === to).id
  }

  await provider.fault({ to: phone, mode: 'reject', code: 131026 })
  assertRefused(await api.post('/messages', { to: phone, ...hello }), 502, 'platform_error')
  assert.equal((await only(await conversationWith(phone))).error.code, '131026')

  const silent = '+14155550101'
  await provider.fault({ to: silent, mode: 'http_500' })
  assertRefused(await api.post('/messages', { to: silent, ...hello }), 502, 'platform_error')
  assert.equal((await failures()).length, 1, 'an unknown outcome is no failure yet')
  await db`
    update messages set created_at = created_at - interval '16 minutes'
    where workspace_id = ${api.workspaceId} and status = 'pending'`
  for (let i = 0; i < 2; i++) await sweepPending(db, { publicUrl, follower: recipientFollower })
  assert.match((await only(await conversationWith(silent))).error.message, /within 15 minutes/)

  const recipient = '+15005550001'
  const news = { name: 'News', template: hello.template, recipients: [{ to: recipient }] }
  const broadcast = await api.post('/broadcasts', news)
  assert.equal(broadcast.status, 202, broadcast.text)
  await until('the broadcast to end', async () => {
    const { data } = (await api.get(`/broadcasts/${broadcast.body.data.id}`)).body
    return data.status === 'sent'
  })
  assert.equal((await only(await conversationWith(recipient))).broadcast_id, broadcast.body.data.id)

  // The social channel has no delivery events.
  await provider.writes({ channel: 'social', from: '90000001', username: 'ann.r', text: 'hello' })
  assert.equal((await failures()).length, 3)
})

test('a change and its event are stored together or not at all', async (t) => {
  const world = await withProvider(start(t))
  const { api, db, provider } = world
  await recordEvents(t, world)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const post = (value: Json) => {
    const changes = [{ field: 'messages', value: { messaging_product: 'whatsapp', ...value } }]
    return provider.callback({ object: 'whatsapp_business_account', entry: [{ changes }] })
  }
  const write = (id: string) =>
    post({ messages: [{ from: '14155550111', id, timestamp, type: 'text', text: { body: id } }] })
  // The simulator reports its messages as delivered, and never as read.
  const unread = '+15005550005'
  // A message to report on, a contact without a conversation, and a customer who wrote before: each change below has one event.
  const { message_id: id, msgapp_message_id: channelId } = (await api.post('/messages', { to: unread, ...hello })).body
    .data
  await api.post('/contacts', { phone: '+14155550112' })
  await write('wamid.first')
  const makeChanges = async () => [
    (await api.post('/contacts', { phone: '+14155550110' })).status,
    (await api.post('/messages', { to: '+14155550112', ...hello })).status,
    await write('wamid.second'),
    await post({ statuses: [{ id: channelId, status: 'read', timestamp, recipient_id: unread.slice(1) }] }),
  ]
  const readState = async () => {
    const [contacts, conversations] = [await api.get('/contacts'), await api.get('/conversations')]
    const events = await db<{ event: string; count: number }[]>`
      select event, count(*)::int as count from webhook_events where workspace_id = ${api.workspaceId} group by event`
    return {
      contacts: contacts.body.data.length,
      conversations: conversations.body.data.map(({ last_message_text }: Json) => last_message_text),
      status: (await api.get(`/messages/${id}`)).body.data.status,
      sent: (await provider.sent()).length,
      events: Object.fromEntries(events.map(({ event, count }) => [event, count])),
    }
  }
  await until('the reports of the simulator', async () => (await readState()).status === 'delivered')
  const before = await readState()
  await db.unsafe(`
    alter table webhook_events add constraint refused check (workspace_id <> '${api.workspaceId}') not valid`)
  assert.deepEqual((await makeChanges()).slice(0, 2), [500, 500])
  assert.deepEqual(await readState(), before)
  await db`alter table webhook_events drop constraint refused`
  assert.deepEqual(await makeChanges(), [201, 201, 200, 200])
  const after = await readState()
  assert.deepEqual([after.contacts, after.conversations.length, after.status, after.sent], [4, 3, 'read', 2])
  assert.ok(after.conversations.includes('wamid.second'))
  for (const [event, count] of Object.entries(before.events)) assert.ok((after.events[event] ?? 0) > count, event)
})
