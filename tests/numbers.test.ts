/** Several numbers in one workspace: which number sends, what belongs to a number, and what to a provider account. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import {
  type Answer,
  assertBadRequest,
  assertFields,
  assertRefused,
  assertStatus,
  dataOf,
  pluck,
} from './assertions.ts'
import { recordEvents } from './receiver.ts'
import { type Api, type Json, main, signIn, start, until } from './support.ts'

const hello = { type: 'template', template: { name: 'hello_world' } }
const phoneOf = (i: number) => `+1415${String(5_550_000 + i)}`
const dayAgo = () => new Date(Date.now() - 25 * 3_600_000).toISOString()
const absent = '01890000-0000-7000-8000-000000000000'

/** Sales is the default number, support shares its provider account, the shop has an account of its own. */
async function startNumbers(t: TestContext) {
  const world = await start(t)
  const provider = await world.connect({ messagesPerSecond: 1_000 })
  const browser = await signIn(world)
  const sales = provider.connections.msgapp
  await browser.ask('PATCH', `/channels/${sales.id}`, { name: 'Sales' })
  const support = await world.addNumber('Support', { isSameAccount: true, messagesPerSecond: 1_000 })
  const shop = await world.addNumber('Shop', { messagesPerSecond: 1_000 })
  const numbers = { sales, support, shop }
  const nameOf = (id: string) => Object.entries(numbers).find(([, number]) => number.id === id)?.[0]
  /** The names of the numbers that sent to this phone number, in order. */
  const sendersTo = async (to: string) => (await provider.sent(to)).map(({ connection_id }) => nameOf(connection_id))
  return { ...world, provider, browser, ...numbers, sendersTo }
}

const conversationsOf = async (api: Api, query: string): Promise<Json[]> =>
  dataOf(await api.get(`/conversations?${query}`))

/** Posts to the callback URL of a connection, signed with this secret. */
async function postCallback(url: string, connectionId: string, secret: string, body: Json): Promise<number> {
  const text = JSON.stringify(body)
  const signature = `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature }
  return (await fetch(`${url}/channels/msgapp/${connectionId}`, { method: 'POST', headers, body: text })).status
}

/** A callback with a customer's text. */
const wroteTo = ({ account_id, phone_number_id }: Json, from: string, id: string, body: string): Json => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      id: account_id,
      changes: [
        {
          field: 'messages',
          value: {
            messaging_product: 'whatsapp',
            metadata: { display_phone_number: '15550001111', phone_number_id },
            contacts: [{ profile: { name: 'Ann' }, wa_id: from.slice(1) }],
            messages: [
              {
                from: from.slice(1),
                id,
                timestamp: String(Math.floor(Date.now() / 1_000)),
                type: 'text',
                text: { body },
              },
            ],
          },
        },
      ],
    },
  ],
})

test('GET /connections lists the numbers, accounts and sites of the workspace', main, async (t) => {
  const { api, workspace, sales, support, shop, provider } = await startNumbers(t)
  const answer = await api.get('/connections')
  const listed = dataOf(answer)
  assert.equal(answer.body.meta.next_cursor, null)
  const { social, web } = provider.connections
  assert.deepEqual(
    pluck(listed, 'id', 'channel', 'name', 'address', 'is_default', 'status').sort((a, b) => (a[2] < b[2] ? -1 : 1)),
    [
      [sales.id, 'msgapp', 'Sales', sales.address, true, 'connected'],
      [shop.id, 'msgapp', 'Shop', shop.address, false, 'connected'],
      [social.id, 'social', social.name, social.address, true, 'connected'],
      [support.id, 'msgapp', 'Support', support.address, false, 'connected'],
      [web.id, 'web', web.name, web.address, true, 'connected'],
    ],
  )
  for (const one of listed) assert.deepEqual(dataOf(await api.get(`/connections/${one.id}`)), one)
  assert.ok(!/token|secret|account_id/.test(answer.text), answer.text)
  for (const id of [absent, 'x']) assertRefused(await api.get(`/connections/${id}`), 404, 'not_found')
  const key = await api.key('contacts:read', 'messages:send')
  assertRefused(await api.get('/connections', { key }), 403, 'forbidden')
  const { api: other } = await workspace()
  assert.deepEqual(dataOf(await other.get('/connections')), [])
  assertRefused(await other.get(`/connections/${sales.id}`), 404, 'not_found')
})

test('200 messages over two accounts at the same time all leave from their number', main, async (t) => {
  const { api, provider, sales, shop } = await startNumbers(t)
  const sends = Array.from({ length: 200 }, (_, i) => {
    const [name, from] = i % 2 === 0 ? ['sales', sales.id] : ['shop', shop.address]
    const template = { name: 'order_confirmed', params: [name, `A-${i}`] }
    return { to: phoneOf(Math.floor(i / 2)), from, type: 'template', template }
  })
  for (let i = 0; i < sends.length; i += 20) {
    const answers = await Promise.all(sends.slice(i, i + 20).map((body) => api.post('/messages', body)))
    for (const answer of answers) assertStatus(answer, 201)
  }
  const sent = await provider.sent()
  assert.equal(sent.length, 200)
  const ids: Record<string, string> = { sales: sales.id, shop: shop.id }
  for (const { connection_id, body } of sent) {
    const [name] = body.template.components[0].parameters
    assert.equal(connection_id, ids[name.text], JSON.stringify(body))
  }
  for (const { id } of [sales, shop]) {
    const conversations = await conversationsOf(api, `connection_id=${id}&limit=100`)
    assert.equal(conversations.length, 100)
    assert.equal(new Set(pluck(conversations, 'contact_id')).size, 100)
  }
})

test('replies leave from the number of the conversation, whichever is the default', main, async (t) => {
  const { api, provider, browser, sales, support, shop, sendersTo } = await startNumbers(t)
  const numbers = [shop, sales, support]
  for (const { id } of numbers) await provider.writes({ from: phoneOf(1), text: 'hello', connection_id: id })
  const conversations = await conversationsOf(api, '')
  assert.deepEqual(new Set(conversations.map(({ connection }) => connection.id)), new Set(pluck(numbers, 'id')))
  assert.equal(new Set(pluck(conversations, 'contact_id')).size, 1, 'one person over all numbers')
  const replyFrom = async ({ id }: Json) => {
    const conversation = conversations.find(({ connection }) => connection.id === id)
    assertStatus(await api.post(`/conversations/${conversation?.id}/messages`, { text: 'Hi' }), 201)
  }
  for (const number of numbers) await replyFrom(number)
  await browser.ask('PATCH', `/channels/${shop.id}`, { is_default: true })
  for (const number of numbers) await replyFrom(number)
  assert.deepEqual(await sendersTo(phoneOf(1)), ['shop', 'sales', 'support', 'shop', 'sales', 'support'])
})

test('POST /messages chooses from, then where the customer wrote last, then the last message, then the default', async (t) => {
  const { api, provider, sales, support, shop, sendersTo } = await startNumbers(t)
  const to = phoneOf(1)
  const send = async (more: Json = {}) => dataOf(await api.post('/messages', { to, ...hello, ...more }), 201)
  // No conversation yet: the default number.
  const first = await send()
  assert.deepEqual(Object.keys(first).sort(), [
    ...['contact_created', 'contact_id', 'conversation_id', 'message_id', 'msgapp_message_id'],
  ])
  // `from` wins, and its conversation has the newest message from then on.
  await send({ from: support.id })
  await send()
  await send({ from: sales.address })
  await send()
  // The number to which the customer wrote last wins over newer messages elsewhere.
  await provider.writes({ from: to, text: 'hello', connection_id: shop.id })
  await send({ from: support.id })
  await send()
  await provider.writes({ from: to, text: 'hello', connection_id: sales.id })
  await send({ type: 'text', text: 'Hi', template: undefined })
  assert.deepEqual(await sendersTo(to), [
    ...['sales', 'support', 'support', 'sales', 'sales', 'support', 'shop', 'sales'],
  ])
  assert.equal((await conversationsOf(api, `contact_id=${first.contact_id}`)).length, 3)
})

test('from is an id or a number in any spelling; anything else is refused by name in every call', main, async (t) => {
  const { api, provider, browser, support, shop, sendersTo } = await startNumbers(t)
  const broadcast = { name: 'News', template: hello.template, recipients: [{ to: phoneOf(1) }] }
  const message = { to: phoneOf(1), ...hello }
  const calls: [path: string, body: Json, status: number][] = [
    ['/messages/check', message, 200],
    ['/broadcasts/check', broadcast, 200],
    ['/messages', message, 201],
    ['/broadcasts', { ...broadcast, draft: true }, 202],
  ]
  const digits = String(support.address).slice(2)
  const [area, middle, end] = [digits.slice(0, 3), digits.slice(3, 6), digits.slice(6)]
  const spellings = [
    ...[support.id, support.id.toUpperCase(), support.address, ` ${support.address} `, digits],
    ...[
      `+1 ${area} ${middle} ${end}`,
      `(${area}) ${middle}-${end}`,
      `1-${area}-${middle}-${end}`,
      `${area}.${middle}.${end}`,
    ],
  ]
  for (const from of spellings) {
    for (const [path, body, status] of calls) {
      const data = dataOf(await api.post(path, { ...body, from }), status)
      if (path === '/broadcasts') assert.equal(data.connection_id, support.id)
    }
  }
  assert.deepEqual(
    await sendersTo(phoneOf(1)),
    spellings.map(() => 'support'),
  )

  const { social, web } = provider.connections
  const wrong = [absent, '+14155559999', social.id, web.id, 'Support', '', ' ', 'x'.repeat(100)]
  const refuse = async (from: unknown) => {
    for (const [path, body] of calls) assertBadRequest(await api.post(path, { ...body, from }), /^from: /)
  }
  for (const from of wrong) await refuse(from)
  for (const from of ['x'.repeat(101), { id: support.id }]) {
    for (const [path, body] of calls) assertBadRequest(await api.post(path, { ...body, from }), /from/)
  }
  await provider.writes({ from: phoneOf(2), text: 'hello', connection_id: shop.id })
  await browser.ask('DELETE', `/channels/${shop.id}`)
  await until('the cache of connections to end', async () => {
    const checked = await api.post('/messages/check', { ...message, from: shop.id })
    return checked.status === 400
  })
  for (const from of [shop.id, shop.address]) await refuse(from)
  assert.equal((await sendersTo(phoneOf(1))).length, spellings.length)
})

test('conversations are filtered by connection_id in every order, and have the connection in lists and events', async (t) => {
  const world = await startNumbers(t)
  const { api, provider, support } = world
  const eventsOf = await recordEvents(t, world)
  await provider.writes({ from: phoneOf(1), text: 'hello' })
  for (const i of [1, 2, 3]) await provider.writes({ from: phoneOf(i), text: 'hello', connection_id: support.id })
  const shown = `"connection":${JSON.stringify({ id: support.id, name: 'Support', address: support.address })}`
  const orders = ['', '&sort=activity', '&updated_after=2000-01-01T00:00:00Z', '&status=open', '&channel=msgapp']
  for (const order of orders) {
    // Changes are listed when all earlier ones are committed.
    const answer = await until('three conversations', async () => {
      const page = await api.get(`/conversations?connection_id=${support.id}${order}`)
      return dataOf(page).length === 3 && page
    })
    assert.equal(answer.text.split(shown).length, 4, `${order}: ${answer.text}`)
    const pages = [await api.get(`/conversations?connection_id=${support.id}${order}&limit=2`)]
    pages.push(
      await api.get(
        `/conversations?connection_id=${support.id}${order}&limit=2&cursor=${pages[0]?.body.meta.next_cursor}`,
      ),
    )
    assert.deepEqual(
      pluck(
        pages.flatMap(({ body }) => body.data),
        'id',
      ),
      pluck(dataOf(answer), 'id'),
      order,
    )
    assert.deepEqual(await conversationsOf(api, `connection_id=${absent}${order}`), [])
    assertBadRequest(await api.get(`/conversations?connection_id=x${order}`), /connection_id/)
  }
  assert.deepEqual(await conversationsOf(api, `connection_id=${support.id}&channel=web`), [])
  const [one] = await conversationsOf(api, `connection_id=${support.id}`)
  const read = await api.get(`/conversations/${one?.id}`)
  assert.deepEqual(dataOf(read), one)
  assert.ok(read.text.includes(shown), read.text)
  const events = await eventsOf('conversation.created')
  const created = events.find(({ data }) => data.conversation_id === one?.id)
  assert.deepEqual(created?.data.conversation.connection, one?.connection)
  assert.equal(events.filter(({ data }) => data.conversation.connection.id === support.id).length, 3)
})

test('an outage of one number does not stop the other', async (t) => {
  const { api, provider, support, sales } = await startNumbers(t)
  const { workspaceId: workspace_id } = api
  await provider.fault({ mode: 'reject', code: 190, workspace_id, connection_id: support.id })
  const send = (from: string) => api.post('/messages', { to: phoneOf(1), from, ...hello })
  assertRefused(await send(support.id), 502, 'platform_error')
  assertStatus(await send(sales.id), 201)
  const statusOf = async (id: string) => dataOf(await api.get(`/connections/${id}`)).status
  await until('the number to fail', async () => (await statusOf(support.id)) === 'failing')
  assert.equal(await statusOf(sales.id), 'connected')

  const recipients = Array.from({ length: 60 }, (_, i) => ({ to: phoneOf(100 + i) }))
  const body = { name: 'News', template: hello.template, recipients }
  const held = dataOf(await api.post('/broadcasts', { ...body, from: support.id }), 202)
  const sent = dataOf(await api.post('/broadcasts', body), 202)
  assert.deepEqual([held.connection_id, sent.connection_id], [support.id, sales.id])
  const read = async ({ id }: Json) => dataOf(await api.get(`/broadcasts/${id}`))
  await until('the broadcast of the other number', async () => (await read(sent)).status === 'sent')
  assertFields(await read(sent), { sent_count: 60, failed_count: 0 })
  assertFields(await read(held), { status: 'sending', sent_count: 0 })
  assert.deepEqual(new Set(pluck(await provider.sent(), 'connection_id')), new Set([sales.id]))
  assertStatus(await api.post(`/broadcasts/${held.id}/cancel`), 200)
})

test('the window is open at the number that the customer wrote to, and closed at the other', async (t) => {
  const { api, provider, support, sales, shop, sendersTo } = await startNumbers(t)
  const to = phoneOf(1)
  const send = (from?: string) => api.post('/messages', { to, from, text: 'Hi' })
  await provider.writes({ from: to, text: 'hello', connection_id: support.id, timestamp: dayAgo() })
  await provider.writes({ from: to, text: 'hello', connection_id: sales.id })
  assertStatus(await send(sales.id), 201)
  assertBadRequest(await send(support.id), /window closed/)
  assertBadRequest(await send(shop.id), /has not written yet/)
  assertStatus(await send(), 201)
  const conversations = await conversationsOf(api, '')
  const replyIn = (id: string) => {
    const conversation = conversations.find(({ connection }) => connection.id === id)
    return api.post(`/conversations/${conversation?.id}/messages`, { text: 'Hi' })
  }
  assertBadRequest(await replyIn(support.id), /window closed/)
  assertStatus(await replyIn(sales.id), 201)
  assert.deepEqual(await sendersTo(to), ['sales', 'sales', 'sales'])
})

test('a callback for one number never changes another', async (t) => {
  const { api, url, browser, provider, sales, support, shop } = await startNumbers(t)
  const body = wroteTo(sales, phoneOf(1), 'wamid.forged', 'forged')
  for (const secret of [shop.app_secret, 'guessed', ''])
    assert.equal(await postCallback(url, sales.id, secret, body), 401)
  assert.equal(await postCallback(url, absent, sales.app_secret, body), 404)
  // The provider account of the shop cannot report about the number of another account.
  assert.equal(await postCallback(url, shop.id, shop.app_secret, body), 200)
  assert.deepEqual(await conversationsOf(api, ''), [])

  await provider.fault({ mode: 'no_statuses', workspace_id: api.workspaceId })
  const sent = dataOf(await api.post('/messages', { to: phoneOf(2), ...hello }), 201)
  const status = { id: sent.msgapp_message_id, status: 'read', timestamp: '1', recipient_id: phoneOf(2).slice(1) }
  const report = (connection_id: string) => {
    const value = { messaging_product: 'whatsapp', statuses: [status] }
    const entry = [{ changes: [{ field: 'messages', value }] }]
    return provider.control('POST', '/callback', { connection_id, body: { entry } })
  }
  const statusOf = async () => dataOf(await api.get(`/messages/${sent.message_id}`)).status
  for (const { id } of [support, shop]) {
    assert.deepEqual((await report(id)).body, { data: { status: 200 } })
    // A later callback of the same connection is handled: the report before it has had its effect.
    await provider.writes({ from: phoneOf(3), text: 'marker', connection_id: id })
    assert.equal(await statusOf(), 'sent')
  }
  await report(sales.id)
  await until('the report of its own number', async () => (await statusOf()) === 'read')
  // A notice is on the card of its own connection, also if another number has the same account.
  const history = { entry: [{ changes: [{ field: 'history', value: {} }] }] }
  await provider.control('POST', '/callback', { connection_id: support.id, body: history })
  const noticed = async () => {
    const { data } = await browser.ask('GET', '/channels')
    return pluck(
      data.filter(({ signals }: Json) => signals.some(({ key }: Json) => key === 'history')),
      'id',
    )
  }
  await until('the notice', async () => (await noticed()).length > 0)
  assert.deepEqual(await noticed(), [support.id])
})

test('a user id is one person per provider account, and identities shows where each is known', async (t) => {
  const { api, provider, sales, support, shop } = await startNumbers(t)
  const person = { user_id: 'US.13491208655302741918', username: 'bo.b', text: 'hello' }
  for (const { id } of [sales, support, shop]) await provider.writes({ ...person, connection_id: id })
  const conversations = await conversationsOf(api, '')
  const contactOn = ({ id }: Json) => conversations.find(({ connection }) => connection.id === id)?.contact_id
  assert.equal(contactOn(support), contactOn(sales))
  assert.notEqual(contactOn(shop), contactOn(sales))
  const identitiesOf = async (id: string) => dataOf(await api.get(`/contacts/${id}`)).identities
  const known = (await identitiesOf(contactOn(sales))) as Json[]
  assert.deepEqual(pluck(known, 'channel', 'address', 'connection_id'), [['msgapp', person.user_id, support.id]])
  assert.ok(Date.parse(known[0]?.last_seen_at) > Date.now() - 600_000)
  const atShop = await identitiesOf(contactOn(shop))
  assert.deepEqual(pluck(atShop, 'channel', 'address', 'connection_id'), [['msgapp', person.user_id, shop.id]])
  // Replies reach the person by the user id, without what distinguishes the accounts.
  for (const { id } of conversations) assertStatus(await api.post(`/conversations/${id}/messages`, { text: 'Hi' }), 201)
  for (const { body } of await provider.sent()) assert.equal(body.recipient, person.user_id)
  for (const contact of dataOf(await api.get('/contacts'))) assert.equal(contact.identities, undefined)
})

test('a number that moves to another provider account leaves templates and people of the old one alone', async (t) => {
  const { api, url, browser, provider, sales, support } = await startNumbers(t)
  const user_id = 'US.13491208655302741918'
  await provider.writes({ user_id, username: 'bo.b', text: 'hello', connection_id: support.id })
  const listTemplates = async (account: string) => dataOf(await api.get(`/templates?account=${account}`))
  assertStatus(await api.post('/messages', { to: phoneOf(1), from: support.id, ...hello }), 201)
  const before = await listTemplates(support.account_id)
  assert.ok(before.length > 0)
  const ids = { account_id: '700001', phone_number_id: '700002' }
  await browser.ask('PATCH', `/channels/${sales.id}`, { ...ids, access_token: 'token', app_secret: 'secret' })
  assert.deepEqual(await listTemplates(support.account_id), before)
  const body = wroteTo(ids, phoneOf(2), 'wamid.1', 'hello')
  const { value } = body.entry[0].changes[0]
  Object.assign(value.messages[0], { from: undefined, from_user_id: user_id })
  value.contacts = [{ profile: { name: 'Cy' }, user_id }]
  assert.equal(await postCallback(url, sales.id, 'secret', body), 200)
  const [atSales] = (await conversationsOf(api, `connection_id=${sales.id}`)) as [Json]
  const atSupport = (await conversationsOf(api, `connection_id=${support.id}`)) as Json[]
  assert.ok(!pluck(atSupport, 'contact_id').includes(atSales.contact_id), 'the same user id of another account')
})

test('identities lists numbers, user ids and visitors, the last seen first', async (t) => {
  const { api, url, provider, sales } = await startNumbers(t)
  const { social, web } = provider.connections
  const ann = dataOf(await api.post('/contacts', { phone: phoneOf(1), name: 'Ann' }), 201)
  const identitiesOf = async () => dataOf(await api.get(`/contacts/${ann.id}`)).identities as Json[]
  const number = { channel: 'msgapp', address: phoneOf(1), connection_id: null }
  assert.deepEqual(await identitiesOf(), [{ ...number, last_seen_at: null }])
  await provider.writes({ channel: 'social', from: '90000001', username: 'ann', text: 'hello' })
  const site = `${url}/web-chat/${web.id}`
  const { data }: Json = await (await fetch(`${site}/visitors`, { method: 'POST' })).json()
  const visit = await fetch(`${site}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-visitor-token': data.visitor_token },
    body: JSON.stringify({ text: 'hello' }),
  })
  assert.equal(visit.status, 201)
  await provider.writes({ from: phoneOf(1), text: 'hello' })
  for (const { contact_id } of await conversationsOf(api, ''))
    if (contact_id !== ann.id) dataOf(await api.post(`/contacts/${ann.id}/merge`, { contact_id }))
  const identities = await identitiesOf()
  // The provider also reports a user id with the number.
  assert.deepEqual(pluck(identities, 'channel', 'connection_id'), [
    ['msgapp', null],
    ['web', web.id],
    ['social', social.id],
    ['msgapp', sales.id],
  ])
  assert.deepEqual([identities[0]?.address, identities[2]?.address], [phoneOf(1), '90000001'])
  const [last, ...times] = pluck(identities, 'last_seen_at').reverse()
  assert.equal(last, null)
  assert.deepEqual(times, [...times].sort())
})

test('numbers of one account share its templates, and another account has its own', async (t) => {
  const { api, sales, support, shop } = await startNumbers(t)
  const create = async ({ account_id, access_token, base_url, api_version }: Json, text: string) => {
    const created = await fetch(`${base_url}/${api_version}/${account_id}/message_templates`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${access_token}` },
      body: JSON.stringify({
        ...{ name: 'ours', language: 'en_US', category: 'UTILITY' },
        components: [{ type: 'BODY', text }],
      }),
    })
    assert.equal(created.status, 200)
  }
  await create(sales, 'From one account.')
  const send = (from: Json) =>
    api.post('/messages', { to: phoneOf(1), from: from.id, type: 'template', template: { name: 'ours' } })
  assertStatus(await send(sales), 201)
  assertStatus(await send(support), 201)
  assertBadRequest(await send(shop), /^template\.name: there is no template ours/)
  const broadcast = { name: 'News', template: { name: 'ours' }, recipients: [{ to: phoneOf(1) }] }
  assertBadRequest(await api.post('/broadcasts/check', { ...broadcast, from: shop.id }), /^template\.name: /)
  dataOf(await api.post('/broadcasts/check', { ...broadcast, from: support.id }))

  await create(shop, 'From another account.')
  const sent = dataOf(await send(shop), 201)
  assert.equal(dataOf(await api.get(`/messages/${sent.message_id}`)).content_text, 'From another account.')
  const list = async (query: string) => dataOf(await api.get(`/templates?search=ours${query}`))
  const accounts = [sales.account_id, shop.account_id].sort()
  assert.deepEqual(pluck(await list(''), 'account').sort(), accounts)
  assert.deepEqual(pluck(await list(''), 'name'), ['ours', 'ours'])
  const [first] = (await api.get('/templates?search=ours&limit=1')).body.data
  const { next_cursor } = (await api.get('/templates?search=ours&limit=1')).body.meta
  const [second] = await list(`&limit=1&cursor=${next_cursor}`)
  assert.deepEqual([first.account, second.account].sort(), accounts)
  for (const account of accounts) {
    assert.deepEqual(pluck(await list(`&account=${account}`), 'account'), [account])
    assert.equal(dataOf(await api.get(`/templates/ours?account=${account}`)).account, account)
  }
  assert.deepEqual(await list('&account=1'), [])
  assert.equal(dataOf(await api.get('/templates/ours')).account, sales.account_id)
})

test('a disconnected number keeps its history and sends nothing, and the next one is the default', async (t) => {
  const { api, provider, browser, sales, support, sendersTo } = await startNumbers(t)
  const to = phoneOf(1)
  await provider.writes({ from: to, text: 'hello' })
  const [conversation] = (await conversationsOf(api, '')) as [Json]
  const later = new Date(Date.now() + 3_600_000).toISOString()
  const body = { name: 'News', template: hello.template, recipients: [{ to }], scheduled_at: later }
  const scheduled = dataOf(await api.post('/broadcasts', body), 202)
  assert.equal(scheduled.connection_id, sales.id)
  await browser.ask('DELETE', `/channels/${sales.id}`)
  const reply = () => api.post(`/conversations/${conversation.id}/messages`, { text: 'Hi' })
  const refused: Answer = await until('the cache of connections to end', async () => {
    const answer = await reply()
    return answer.status !== 201 && answer
  })
  assertRefused(refused, 400, 'msgapp_not_configured')
  const read = dataOf(await api.get(`/conversations/${conversation.id}`))
  assert.deepEqual(read.connection, { id: sales.id, name: 'Sales', address: sales.address })
  assert.ok(dataOf(await api.get(`/conversations/${conversation.id}/messages`)).length > 0)
  assert.equal((await conversationsOf(api, `connection_id=${sales.id}`)).length, 1)
  const stateOf = async (id: string) => {
    const { status, is_default } = dataOf(await api.get(`/connections/${id}`))
    return [status, is_default]
  }
  assert.deepEqual(await stateOf(sales.id), ['disconnected', false])
  assert.deepEqual(await stateOf(support.id), ['connected', true])
  const before = (await sendersTo(to)).length
  assertStatus(await api.post('/messages', { to, ...hello }), 201)
  assert.deepEqual((await sendersTo(to)).slice(before), ['support'])
  // On another channel a reply is refused too.
  await provider.writes({ channel: 'social', from: '90000001', username: 'ann', text: 'hello' })
  const { id: social } = provider.connections.social
  const [direct] = (await conversationsOf(api, `connection_id=${social}`)) as [Json]
  await browser.ask('DELETE', `/channels/${social}`)
  const refusedDirect: Answer = await until('the connection to be gone', async () => {
    const answer = await api.post(`/conversations/${direct.id}/messages`, { text: 'Hi' })
    return answer.status !== 201 && answer
  })
  assertBadRequest(refusedDirect, /no social connection/)
  // A broadcast stays with its number.
  const path = `/broadcasts/${scheduled.id}`
  assert.equal(dataOf(await api.get(path)).connection_id, sales.id)
  dataOf(await api.post(`${path}/start`))
  const paused = await until('the broadcast to pause', async () => {
    const { data } = (await api.get(path)).body
    return data.is_paused && data
  })
  assert.match(paused.paused_reason, /number is disconnected/)
  assert.equal((await sendersTo(to)).length, before + 1)
})

test('a broadcast keeps a number that is disconnected before its first conversation', async (t) => {
  const { api, browser, shop } = await startNumbers(t)
  const recipients = [{ to: phoneOf(1) }]
  const body = { name: 'News', template: hello.template, recipients, from: shop.id, draft: true }
  const draft = dataOf(await api.post('/broadcasts', body), 202)
  await browser.ask('DELETE', `/channels/${shop.id}`)
  assert.equal(dataOf(await api.get(`/connections/${shop.id}`)).status, 'disconnected')
  assert.equal(dataOf(await api.get(`/broadcasts/${draft.id}`)).connection_id, shop.id)
  assertBadRequest(await api.post(`/broadcasts/${draft.id}/start`), /^from: /)
})

test('connecting the same number again continues its conversations', async (t) => {
  const { api, url, browser } = await startNumbers(t)
  const ids = { account_id: '700001', phone_number_id: '700002' }
  const settings = { channel: 'msgapp', ...ids, access_token: 'token', app_secret: 'secret' }
  const { data: first } = await browser.ask('POST', '/channels', { ...settings, name: 'Branch' }, 201)
  const write = async (id: string) =>
    assert.equal(await postCallback(url, first.id, 'secret', wroteTo(ids, phoneOf(1), id, id)), 200)
  await write('wamid.1')
  const listed = () => conversationsOf(api, `connection_id=${first.id}`)
  const [conversation] = (await listed()) as [Json]
  await browser.ask('DELETE', `/channels/${first.id}`)
  assert.equal(await postCallback(url, first.id, 'secret', wroteTo(ids, phoneOf(1), 'wamid.2', 'lost')), 404)
  const { data: again } = await browser.ask('POST', '/channels', { ...settings, name: 'Branch' }, 201)
  assertFields(again, { id: first.id, name: 'Branch', is_default: false })
  await write('wamid.3')
  assert.deepEqual(pluck(await listed(), 'id'), [conversation.id])
  const messages = dataOf(await api.get(`/conversations/${conversation.id}/messages`))
  assert.deepEqual(pluck(messages, 'content_text'), ['wamid.3', 'wamid.1'])
  const twin = await browser.call('POST', '/channels', { ...settings, name: 'Twin' })
  assertBadRequest(twin, 'phone_number_id: already connected as Branch')
})

test('a real number that replaces the disconnected one of the simulator uses the address of the provider', async (t) => {
  const world = await start(t)
  const { api } = world
  const provider = await world.connect()
  const browser = await signIn(world)
  await provider.writes({ from: phoneOf(1), text: 'hello' })
  const { id } = provider.connections.msgapp
  await browser.ask('DELETE', `/channels/${id}`)
  const settings = { account_id: '700001', phone_number_id: '700002', access_token: 'token', app_secret: 'secret' }
  const { data } = await browser.ask('PUT', '/channels/msgapp', settings)
  assertFields(data, { id, base_url: 'https://graph.facebook.com', simulator: null, is_default: true })
  assert.equal((await conversationsOf(api, `connection_id=${id}`)).length, 1)
})

test('connecting the simulator keeps the templates of accounts that other numbers use', async (t) => {
  const world = await start(t)
  const { api, db } = world
  const browser = await signIn(world)
  const secrets = { access_token: 'token', app_secret: 'secret' }
  const connectNumber = async (name: string, account_id: string, phone_number_id: string) =>
    (await browser.ask('POST', '/channels', { channel: 'msgapp', name, account_id, phone_number_id, ...secrets }, 201))
      .data
  await connectNumber('Sales', '700001', '700002')
  await connectNumber('Support', '700001', '700003')
  const shop = await connectNumber('Shop', '800001', '800002')
  const addTemplates = async () => {
    const scopes = await db<{ account_id: string; scope: string }[]>`
      select distinct account_id, scope from channel_connections
      where workspace_id = ${api.workspaceId} and account_id in ('700001', '800001')`
    for (const { account_id, scope } of scopes) {
      const name = `${scope === '' ? '' : `${scope}/`}of_${account_id}`
      await db`
        insert into templates (workspace_id, name, language, external_id, status, category, parameter_format, components, updated_at)
        values (${api.workspaceId}, ${name}, 'en_US', ${account_id}, 'APPROVED', 'UTILITY', 'POSITIONAL', '[]', now())
        on conflict do nothing`
    }
  }
  const listed = async () => pluck(dataOf(await api.get('/templates')), 'account', 'name').sort()
  const own = [
    ['700001', 'of_700001'],
    ['800001', 'of_800001'],
  ]
  const isReal = ([account]: Json) => own.some(([known]) => known === account)
  await addTemplates()
  assert.deepEqual(await listed(), own)
  // The simulator replaces Sales, and Support still has the account.
  const provider = await world.connect()
  assert.equal(provider.connections.msgapp.name, 'Sales')
  assert.deepEqual((await listed()).filter(isReal), own)
  assertStatus(await api.post('/messages', { to: phoneOf(1), ...hello }), 201)
  assert.deepEqual((await listed()).filter(isReal), own)

  // It replaces the only number of an account: its templates are of no number any more, those of the first account stay.
  await browser.ask('PATCH', `/channels/${shop.id}`, { is_default: true })
  const replaced = await world.connect()
  assert.equal(replaced.connections.msgapp.id, shop.id)
  assert.deepEqual((await listed()).filter(isReal), [own[0]])
  const { account_id } = replaced.connections.msgapp
  assert.ok((await listed()).every(([account, name]) => account !== account_id || name !== 'of_800001'))
})

test('names are unique, the default changes, and the 51st connection is refused', async (t) => {
  const { api, browser, provider, sales, support, sendersTo } = await startNumbers(t)
  const rename = (name: unknown) => browser.call('PATCH', `/channels/${support.id}`, { name })
  for (const name of ['Sales', 'sALES ', ' SALES']) assertBadRequest(await rename(name), /^name: another connection/)
  for (const name of ['', ' ', 'x'.repeat(61)]) assertBadRequest(await rename(name), /^name: /)
  assertStatus(await rename(' Help desk '), 200)
  assert.equal(dataOf(await api.get(`/connections/${support.id}`)).name, 'Help desk')
  assertStatus(await rename('help DESK'), 200)

  await browser.ask('PATCH', `/channels/${support.id}`, { is_default: true })
  const defaults = async () => dataOf(await api.get('/connections')).filter((one: Json) => one.is_default)
  assert.deepEqual(
    new Set(pluck(await defaults(), 'id')),
    new Set([support.id, ...['social', 'web'].map((channel) => provider.connections[channel as 'web'].id)]),
  )
  let i = 10
  await until('the new default to send', async () => {
    const to = phoneOf(i++)
    assertStatus(await api.post('/messages', { to, ...hello }), 201)
    return (await sendersTo(to))[0] === 'support'
  })
  assertBadRequest(await browser.call('PATCH', `/channels/${sales.id}`, { is_default: false }), /is_default/)
  assertRefused(await browser.call('PATCH', `/channels/${absent}`, { is_default: true }), 404, 'not_found')

  const count = dataOf(await api.get('/connections')).length
  for (let n = count; n < 50; n++)
    await browser.ask('POST', '/channels', { channel: 'web', name: `Site ${n}`, address: `${n}.example` }, 201)
  const one = { channel: 'web', name: 'One more' }
  assertBadRequest(await browser.call('POST', '/channels', one), 'a workspace has at most 50 connections')
  assert.equal(dataOf(await api.get('/connections')).length, 50)
  const { data } = await browser.ask('GET', '/channels')
  await browser.ask('DELETE', `/channels/${data.find(({ name }: Json) => name === 'Site 49').id}`)
  assertStatus(await browser.call('POST', '/channels', one), 201)
})

test('the audit log names the connection that was connected, changed or disconnected', async (t) => {
  const { browser, support } = await startNumbers(t)
  const { data: site } = await browser.ask('POST', '/channels', { channel: 'web', name: 'Shop site' }, 201)
  await browser.ask('PATCH', `/channels/${support.id}`, { is_default: true })
  await browser.ask('PATCH', `/channels/${site.id}`, { name: 'Old site' })
  await browser.ask('DELETE', `/channels/${site.id}`)
  const { data } = await browser.ask('GET', '/audit?limit=4')
  assert.deepEqual(pluck(data, 'action', 'summary'), [
    ['channel.disconnected', 'web: Old site'],
    ['channel.changed', 'web: Old site'],
    ['channel.changed', 'msgapp: Support'],
    ['channel.connected', 'web: Shop site'],
  ])
})

test('a segment has the contacts with a conversation on a number, by its id or name', async (t) => {
  const { api, provider, sales, support } = await startNumbers(t)
  await provider.writes({ from: phoneOf(1), name: 'Ann', text: 'hello', connection_id: sales.id })
  await provider.writes({ from: phoneOf(2), name: 'Bob', text: 'hello', connection_id: support.id })
  await provider.writes({ from: phoneOf(2), name: 'Bob', text: 'hello', connection_id: sales.id })
  dataOf(await api.post('/contacts', { phone: phoneOf(3), name: 'Cat' }), 201)
  let count = 0
  const namesOf = async (op: string, value: string) => {
    const filter = { match: 'all', rules: [{ field: 'connection', op, value }] }
    const segment = dataOf(await api.post('/segments', { name: `Segment ${++count}`, kind: 'dynamic', filter }), 201)
    return pluck(dataOf(await api.get(`/segments/${segment.id}/contacts`)), 'name').sort()
  }
  for (const value of [support.id, 'Support', ' suPPort']) {
    assert.deepEqual(await namesOf('has', value), ['Bob'])
    assert.deepEqual(await namesOf('not_has', value), ['Ann', 'Cat'])
  }
  assert.deepEqual(await namesOf('has', sales.id), ['Ann', 'Bob'])
  assert.deepEqual(await namesOf('has', 'Nowhere'), [])
  assert.deepEqual(await namesOf('not_has', absent), ['Ann', 'Bob', 'Cat'])
})
