/** Customers whose number is hidden behind a username: known by a user id of the provider account until a callback brings the number. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertFields, dataOf, pluck } from './assertions.ts'
import { addSimulatedNumber, createSealer, registerSimulatorAccounts } from './internals.ts'
import { recordEvents } from './receiver.ts'
import { type Json, main, startSignedIn, testEncryptionKey, until, withProvider } from './support.ts'

const hello = { name: 'hello_world' }
const phone = '+14155550100'
const userIdOf = (i: number) => `US.9${String(i).padStart(6, '0')}`
const noPhone = 'has no phone number'
const needsPhone = 'has no phone number, which the template needs'

const envelope = (value: Json) => ({
  object: 'whatsapp_business_account',
  entry: [{ changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', ...value } }] }],
})

/** A world with the owner signed in, in which customers write by user id. */
async function signedIn(t: TestContext) {
  const world = await withProvider(startSignedIn(t))
  const { api, ask, get, provider } = world
  const write = (i: number, more: Json = {}) =>
    provider.writes({ user_id: userIdOf(i), username: `bo.b${i}`, text: 'hi', ...more })
  /** The contact that a member finds. */
  const find = async (search: string): Promise<Json> => {
    const { data } = await ask('GET', `/contacts?search=${encodeURIComponent(search)}`)
    assert.equal(data.length, 1, `${search}: ${JSON.stringify(data)}`)
    return data[0]
  }
  const segmentOf = async (...rules: Json[]): Promise<string> =>
    dataOf(await api.post('/segments', { name: 'People', kind: 'dynamic', filter: { match: 'all', rules } }), 201).id
  const onMsgapp = { field: 'channel', op: 'has', value: 'msgapp' }
  const send = async (body: Json): Promise<Json> =>
    (await ask('POST', '/broadcasts', { name: 'News', template: hello, ...body }, 202)).data
  const untilOver = (id: string): Promise<Json> =>
    until('the broadcast to be over', async () => {
      const broadcast = await get(`/broadcasts/${id}`)
      return broadcast.completed_at !== null && broadcast
    })
  const recipientsOf = async (id: string): Promise<Json[]> =>
    dataOf(await api.get(`/broadcasts/${id}/recipients?limit=100`), 200)
  /** A template for one-time codes, which the provider sends to numbers only. */
  const addCode = async () => {
    const { account_id, access_token } = provider.connections.msgapp
    const added = await fetch(`${provider.simulatorUrl}/graph/v25.0/${account_id}/message_templates`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ name: 'code', language: 'en_US', category: 'AUTHENTICATION' },
        components: [{ type: 'BODY', text: 'Your code is {{1}}.', example: { body_text: [['123']] } }],
      }),
    })
    assert.equal(added.status, 200, await added.text())
    await ask('POST', '/templates/refresh')
    return { name: 'code', params: ['123'] }
  }
  return { ...world, write, find, segmentOf, onMsgapp, send, untilOver, recipientsOf, addCode }
}

test(
  'a customer without a number is a full contact: lists, search, segments, inbox, events and export',
  main,
  async (t) => {
    const { api, browser, ask, get, provider, write, find, segmentOf, onMsgapp, ...world } = await signedIn(t)
    const events = await recordEvents(t, { ...world, api })
    await write(1, { name: 'Bo Bell' })
    await write(2, { username: '@Cy.Clark' })
    await api.post('/contacts', { phone, name: 'Ann' })
    await provider.writes({ channel: 'social', from: '90000001', username: 'dee', text: 'hi' })

    const { username, ...bo } = await find('Bo B')
    assert.equal(username, 'bo.b1')
    assertFields(bo, { name: 'Bo Bell', phone: null, social_username: null, channels: ['msgapp'] })
    const cy = await find('@cy.cl')
    assertFields(cy, { name: null, username: 'Cy.Clark' })
    for (const search of ['cy', 'CY.CLARK', '@cy', 'clark']) assert.equal((await find(search)).id, cy.id)
    const shown = dataOf(await api.get(`/contacts/${bo.id}`), 200)
    assertFields(shown, { phone: null, name: 'Bo Bell', channels: ['msgapp'] })
    assert.ok(!('username' in shown), 'the public API has no such field')

    const [row] = (await ask('GET', '/conversations?search=cy.clark')).data
    assertFields(row, { channel: 'msgapp', contact_id: cy.id })
    assert.equal(row.contact.username, 'Cy.Clark')
    const segment = await segmentOf(onMsgapp, { field: 'phone', op: 'is_not_set' })
    const members = dataOf(await api.get(`/segments/${segment}/contacts`), 200)
    assert.deepEqual(new Set(pluck(members, 'id')), new Set([bo.id, cy.id]))

    const isOwn = ({ data }: Json) => [bo.id, cy.id].includes(data.contact_id)
    const created = (await events('contact.created')).filter(isOwn)
    assert.deepEqual(
      created.map(({ data }) => [data.phone, data.name, data.contact.channels]),
      [
        [null, 'Bo Bell', ['msgapp']],
        [null, null, ['msgapp']],
      ],
    )
    assert.equal((await events('message.received')).filter(isOwn).length, 2)

    // What members do with a contact.
    await ask('PATCH', `/contacts/${cy.id}`, { name: 'Cy', opted_out: true, add_tags: ['vip'] })
    await ask('POST', `/contacts/${cy.id}/notes`, { text: 'Hides the number' }, 201)
    assertFields((await ask('POST', `/conversations/${row.id}/block`)).data, { is_channel_blocked: true })
    await ask('POST', `/conversations/${row.id}/unblock`)
    const download = await fetch(`${world.url}/app/api/contacts.csv`, { headers: { cookie: browser.cookie() } })
    const csv = await download.text()
    assert.match(csv, /^name,phone,email,company,tags,channels,opted_out,username,created_at\r\n/m)
    assert.match(csv, /\r\nCy,,,,vip,msgapp,true,Cy\.Clark,/)
    assert.match(csv, /\r\nBo Bell,,,,,msgapp,false,bo\.b1,/)

    // People change their username.
    await write(1, { username: 'bo.bell' })
    assert.equal((await find('bo.bell')).id, bo.id)
    assert.deepEqual((await ask('GET', '/contacts?search=bo.b1')).data, [])
    assert.equal((await get(`/contacts/${bo.id}`)).name, 'Bo Bell')
  },
)

test('a broadcast reaches a hundred people without a number', main, async (t) => {
  const { api, ask, provider, connect, write, segmentOf, send, untilOver, recipientsOf } = await signedIn(t)
  await connect({ messagesPerSecond: 500 })
  await Promise.all(Array.from({ length: 100 }, (_, i) => write(i)))
  await provider.writes({ channel: 'social', from: '90000001', username: 'dee', text: 'hi' })
  const segment_id = await segmentOf({ field: 'phone', op: 'is_not_set' })

  const preview = (await ask('POST', '/broadcasts/preview', { template: hello, segment_id })).data
  assertFields(preview, { total: 101, sendable: 100, skipped: [{ reason: noPhone, count: 1 }] })
  assert.match(preview.samples[0].to, /^@bo\.b\d+$/)
  const check = { name: 'News', template: hello, segment_id }
  const checked = dataOf(await api.post('/broadcasts/check', check), 200)
  assertFields(checked, { recipient_count: 100, skipped_count: 1 })

  const { id } = await send({ segment_id })
  await untilOver(id)
  const read = () => ask('GET', `/broadcasts/${id}`).then(({ data }) => data)
  const over = await until('all to be delivered', async () => (await read()).delivered_count === 100 && (await read()))
  assertFields(over, { total_count: 101, sent_count: 100, failed_count: 0, skipped_count: 1 })
  const sent = (await provider.sent()).filter(({ channel }) => channel === 'msgapp')
  assert.deepEqual(
    pluck(pluck(sent, 'body'), 'recipient').toSorted(),
    Array.from({ length: 100 }, (_, i) => userIdOf(i)).toSorted(),
  )
  assert.ok(sent.every(({ body }) => body.to === undefined))
  const recipients = await recipientsOf(id)
  assert.equal(recipients.length, 100)
  assert.ok(recipients.every(({ to, contact_id }) => to === null && contact_id !== null))
  const conversations = (await ask('GET', '/conversations?limit=100&channel=msgapp')).data
  assert.equal(conversations.length, 100, 'the messages are in the conversations that the people have')
})

test('a template that needs a phone number skips the others, counted before and after sending', async (t) => {
  const { api, ask, browser, provider, write, find, segmentOf, onMsgapp, addCode, ...world } = await signedIn(t)
  const { send, untilOver, recipientsOf } = world
  const template = await addCode()
  for (const i of [1, 2, 3]) await write(i)
  await provider.writes({ from: phone, text: 'hi' })
  await ask('PATCH', `/contacts/${(await find('bo.b3')).id}`, { opted_out: true })
  const segment_id = await segmentOf(onMsgapp)
  const preview = (await ask('POST', '/broadcasts/preview', { template, segment_id })).data
  assertFields(preview, { total: 4, sendable: 1, skipped: [{ reason: needsPhone, count: 3 }] })
  const checked = dataOf(await api.post('/broadcasts/check', { name: 'Codes', template, segment_id }), 200)
  assertFields(checked, { recipient_count: 1, skipped_count: 3 })
  const { id } = await send({ template, segment_id })
  assertFields(await untilOver(id), { total_count: 4, sent_count: 1, skipped_count: 3 })
  const skipped = (await recipientsOf(id)).filter(({ status }) => status === 'skipped')
  assert.deepEqual(pluck(skipped, 'reason'), [needsPhone, needsPhone, needsPhone])

  // One who opted out is skipped for that reason, where the number is not needed.
  const { id: other } = await send({ segment_id })
  assertFields(await untilOver(other), { total_count: 4, sent_count: 3, skipped_count: 1 })
  const [out] = (await recipientsOf(other)).filter(({ status }) => status === 'skipped')
  assert.equal(out?.reason, 'opted out of broadcasts')

  const [{ id: conversation, contact_id: contact }] = (await ask('GET', '/conversations?search=bo.b1')).data
  for (const [path, body] of [
    [`/conversations/${conversation}/messages`, { type: 'template', template }],
    [`/contacts/${contact}/conversations`, { template }],
  ] as const) {
    const refused = await browser.call('POST', path, body)
    assertBadRequest(refused, 'template: needs a phone number, which the contact does not have')
  }
})

test('the number that a later callback brings belongs to the contact, and broadcasts use it', async (t) => {
  const { api, get, provider, write, find, segmentOf, onMsgapp, send, untilOver } = await signedIn(t)
  await write(1)
  const { id } = await find('bo.b1')
  await write(1, { from: phone, text: 'this is my number' })
  assertFields(await get(`/contacts/${id}`), { phone, username: 'bo.b1' })
  assert.equal(dataOf(await api.get(`/contacts?phone=${encodeURIComponent(phone)}`))[0].id, id)
  assert.equal(dataOf(await api.get(`/conversations?contact_id=${id}`)).length, 1)
  const broadcast = await send({ segment_id: await segmentOf(onMsgapp) })
  await untilOver(broadcast.id)
  assert.deepEqual(pluck(pluck(await provider.sent(), 'body'), 'to'), [phone])

  // A status report brings it too.
  await write(2)
  const second = await find('bo.b2')
  const [conversation] = dataOf(await api.get(`/conversations?contact_id=${second.id}`))
  const other = '+14155550102'
  const status = { status: 'sent', timestamp: `${Math.floor(Date.now() / 1000)}`, id: 'wamid.unknown' }
  const statuses = [{ ...status, recipient_id: other.slice(1), recipient_user_id: userIdOf(2) }]
  await provider.callback(envelope({ statuses }))
  assert.equal((await get(`/contacts/${second.id}`)).phone, other)
  assert.equal((await get(`/conversations/${conversation.id}`)).contact.phone, other)
})

test('a number that another contact has is offered for merging, and the identities stay until then', async (t) => {
  const { api, ask, get, provider, write, find } = await signedIn(t)
  for (const i of [1, 2]) {
    const number = `+1415555020${i}`
    await write(i)
    const hidden = await find(`bo.b${i}`)
    const known = dataOf(await api.post('/contacts', { phone: number, name: `Ann ${i}` }), 201)
    assert.deepEqual(await get(`/contacts/${hidden.id}/duplicates`), [])
    await write(i, { from: number, text: 'this is my number' })
    const offersOf = async (id: string) =>
      (await get(`/contacts/${id}/duplicates`)).map(({ contact, reason }: Json) => [contact.id, reason])
    assert.deepEqual(await offersOf(hidden.id), [[known.id, 'phone']])
    assert.deepEqual(await offersOf(known.id), [[hidden.id, 'phone']])
    assert.equal((await get(`/contacts/${hidden.id}`)).phone, null)
    // The user id alone still leads to the first contact, the number to the second.
    const timestamp = `${Math.floor(Date.now() / 1000)}`
    const message = { id: `wamid.${i}`, timestamp, type: 'text', text: { body: 'me again' }, from_user_id: userIdOf(i) }
    await provider.callback(envelope({ contacts: [{ user_id: userIdOf(i) }], messages: [message] }))
    for (const [id, count] of [
      [hidden.id, 2],
      [known.id, 1],
    ] as const) {
      const conversations = dataOf(await api.get(`/conversations?contact_id=${id}`))
      assert.deepEqual(pluck(conversations, 'unread_count'), [count])
    }
    if (i === 1) {
      await ask('POST', `/contacts/${known.id}/merge`, { contact_id: hidden.id })
      assertFields(await get(`/contacts/${known.id}`), { phone: number, username: 'bo.b1' })
      assert.deepEqual(await offersOf(known.id), [])
      assert.equal(dataOf(await api.get('/conversations')).length, 1)
    } else {
      await ask('DELETE', `/contacts/${known.id}`)
      assert.deepEqual(await offersOf(hidden.id), [], 'an erased number leaves no trace')
      await write(i, { from: number })
      assert.equal((await get(`/contacts/${hidden.id}`)).phone, number)
    }
  }
})

test('a user id is used on the numbers of its provider account only', async (t) => {
  const { api, db, url, ask, browser, provider, write, find, segmentOf, onMsgapp, send, ...world } = await signedIn(t)
  const { untilOver, recipientsOf } = world
  const { simulatorUrl } = provider
  const sealer = createSealer(testEncryptionKey)
  const { workspaceId } = api
  const add = async (name: string, isSameAccount: boolean) => {
    const simulating = { sealer, workspaceId, kind: 'alone', simulatorUrl, name, isSameAccount } as const
    const added = await db.begin((sql) => addSimulatedNumber({ ...simulating, db: sql }))
    await registerSimulatorAccounts(db, simulatorUrl, { msgapp: added }, url)
    return added.id
  }
  const [sister, shop] = [await add('Sister', true), await add('Shop', false)]
  await ask('POST', '/templates/refresh')
  await write(1)
  await write(2, { connection_id: shop })
  const [first, second] = [await find('bo.b1'), await find('bo.b2')]
  const segment_id = await segmentOf(onMsgapp)
  for (const [from, reached, skipped] of [
    [undefined, first, second],
    [sister, first, second],
    [shop, second, first],
  ]) {
    const { id } = await send({ segment_id, from })
    assertFields(await untilOver(id), { sent_count: 1, skipped_count: 1 })
    const outcomes = (await recipientsOf(id)).map(({ contact_id, reason }) => [contact_id, reason] as const)
    assert.deepEqual(
      new Map(outcomes),
      new Map([
        [reached.id, null],
        [skipped.id, noPhone],
      ]),
    )
  }
  const sent: Json[] = await provider.sent()
  assert.deepEqual(pluck(sent, 'connection_id').slice(1), [sister, shop])
  assert.deepEqual(pluck(pluck(sent, 'body'), 'recipient'), [userIdOf(1), userIdOf(1), userIdOf(2)])

  // A member writes first: from the number that the person wrote to, or from another one of its account.
  const begin = (contact: Json, from?: string) =>
    browser.call('POST', `/contacts/${contact.id}/conversations`, { template: hello, from })
  for (const [contact, from, used] of [
    [second, undefined, shop],
    [first, sister, sister],
  ]) {
    const { message_id } = dataOf(await begin(contact, from), 201)
    const last: Json = (await provider.sent()).at(-1)
    assert.deepEqual([last.connection_id, last.body.biz_opaque_callback_data], [used, message_id])
  }
  const refused = 'the contact has no phone number, and has not written to a number of this account'
  assertBadRequest(await begin(first, shop), refused)
  await provider.writes({ channel: 'social', from: '90000001', username: 'dee', text: 'hi' })
  const [dee] = dataOf(await api.get('/contacts?channel=social'))
  assertBadRequest(await begin(dee), 'the contact has no phone number')
})

test('recipients without a number are sent to again, merged and erased as others', async (t) => {
  const { ask, provider, write, find, segmentOf, onMsgapp, send, untilOver, recipientsOf } = await signedIn(t)
  for (const i of [1, 2, 3, 4, 5]) await write(i)
  await provider.fault({ mode: 'reject', code: 131026 })
  const { id } = await send({ segment_id: await segmentOf(onMsgapp) })
  assertFields(await untilOver(id), { total_count: 5, failed_count: 5 })
  const [kept, gone, erased] = [await find('bo.b3'), await find('bo.b4'), await find('bo.b5')]
  await ask('POST', `/contacts/${kept.id}/merge`, { contact_id: gone.id })
  await ask('DELETE', `/contacts/${erased.id}`)
  const contactIds = pluck(await recipientsOf(id), 'contact_id')
  assert.deepEqual(contactIds.slice(2), [kept.id, kept.id, null])
  await provider.control('DELETE', '/faults')
  const again = (await ask('POST', `/broadcasts/${id}/again`, {}, 202)).data
  assertFields(await untilOver(again.id), { total_count: 4, sent_count: 4, skipped_count: 0, failed_count: 0 })
  assert.ok((await provider.sent()).every(({ body }) => body.recipient.startsWith('US.')))
})
