/** Callbacks in a workspace with several numbers: each changes only what belongs to its own connection. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { assertFields, assertStatus, dataOf, pluck } from './assertions.ts'
import { type Api, divideTimes, type Json, publicUrl, type Starting, signIn, start, until } from './support.ts'

const ann = '+14155550100'
const wa = ann.slice(1)
const now = () => String(Math.floor(Date.now() / 1_000))

/** Sales is the default number, support shares its provider account. */
async function startNumbers(t: TestContext, starting: Starting = {}) {
  const world = await start(t, starting)
  const provider = await world.connect()
  const browser = await signIn(world)
  const sales = provider.connections.msgapp
  await browser.ask('PATCH', `/channels/${sales.id}`, { name: 'Sales' })
  const support = await world.addNumber('Support', { isSameAccount: true })
  /** Posts a change to the callback URL of a connection, with its signature. The answer follows the commit. */
  const report = async ({ id: connection_id }: Json, field: string, value: Json, entry: Json = {}) => {
    const body = { entry: [{ ...entry, changes: [{ field, value }] }] }
    const answer = await provider.control('POST', '/callback', { connection_id, body })
    assert.deepEqual(answer.body, { data: { status: 200 } })
  }
  /** The customer writes a message with this id, or changes one. */
  const write = (connection: Json, id: string, message: Json) =>
    report(connection, 'messages', { messages: [{ from: wa, id, timestamp: now(), ...message }] })
  /** The business writes in the provider's own app, or changes what it wrote there. */
  const echo = (connection: Json, id: string, message: Json) =>
    report(connection, 'smb_message_echoes', { message_echoes: [{ to: wa, id, timestamp: now(), ...message }] })
  const signalsOf = async ({ id }: Json): Promise<Json[]> => {
    const { data } = await browser.ask('GET', '/channels')
    return data.find((each: Json) => each.id === id).signals
  }
  return { ...world, provider, browser, sales, support, report, write, echo, signalsOf }
}

const text = (body: string) => ({ type: 'text', text: { body } })
const edit = (original_message_id: string, body: string) => ({
  type: 'edit',
  edit: { original_message_id, message: { type: 'text', text: { body } } },
})
const revoke = (original_message_id: string) => ({ type: 'revoke', revoke: { original_message_id } })

/** What identifies a notice that a member dismisses. */
const pickSeen = ({ key, at }: Json) => ({ key, at })

/** The messages of all conversations of a connection, oldest first. */
async function messagesOf(api: Api, { id }: Json): Promise<Json[]> {
  const conversations: Json[] = dataOf(await api.get(`/conversations?connection_id=${id}`))
  const pages = await Promise.all(conversations.map((one) => api.get(`/conversations/${one.id}/messages`)))
  return pages.flatMap((page) => dataOf(page)).reverse()
}

const untilNoneEarly = ({ db, api }: Pick<Awaited<ReturnType<typeof start>>, 'db' | 'api'>) =>
  until('the stored reports to be checked', async () => {
    const rows = await db`select from early_reports where workspace_id = ${api.workspaceId}`
    return rows.length === 0
  })

test('an edit or a deletion through another number changes nothing, and the right one does', async (t) => {
  const world = await startNumbers(t)
  const { api, sales, support, write, echo } = world
  await write(sales, 'wamid.in', text('as written'))
  await echo(sales, 'wamid.out', text('as sent'))
  const shown = async () => pluck(await messagesOf(api, sales), 'content_text')
  // The same person: only the connection differs.
  await write(support, 'wamid.other', text('on the other number'))
  await write(support, 'wamid.e1', edit('wamid.in', 'forged'))
  await echo(support, 'wamid.e2', edit('wamid.out', 'forged'))
  await write(support, 'wamid.e3', revoke('wamid.in'))
  await echo(support, 'wamid.e4', revoke('wamid.out'))
  assert.deepEqual(await shown(), ['as written', 'as sent'])
  // They were stored as early. The check finds the messages, and that they are of another number.
  await untilNoneEarly(world)
  assert.deepEqual(await shown(), ['as written', 'as sent'])
  const [conversation] = dataOf(await api.get(`/conversations?connection_id=${sales.id}`))
  assert.equal(conversation.last_message_text, 'as sent')

  await write(sales, 'wamid.e5', edit('wamid.in', 'corrected'))
  await echo(sales, 'wamid.e6', edit('wamid.out', 'also corrected'))
  assert.deepEqual(await shown(), ['corrected', 'also corrected'])
  await write(sales, 'wamid.e7', revoke('wamid.in'))
  await echo(sales, 'wamid.e8', revoke('wamid.out'))
  assert.deepEqual(await shown(), [null, null])
  assert.deepEqual(pluck(await messagesOf(api, support), 'content_text'), ['on the other number'])
})

test('of reports that arrive before their message, only those of its number are applied', async (t) => {
  const world = await startNumbers(t)
  const { api, sales, support, report, write, echo } = world
  const status = (connection: Json, value: string) =>
    report(connection, 'messages', {
      statuses: [{ id: 'wamid.out', status: value, timestamp: now(), recipient_id: wa }],
    })
  await write(sales, 'wamid.e1', edit('wamid.edited', 'corrected'))
  await write(support, 'wamid.e2', edit('wamid.edited', 'forged'))
  await write(support, 'wamid.e3', revoke('wamid.kept'))
  await write(sales, 'wamid.e4', revoke('wamid.revoked'))
  await status(support, 'read')
  await status(sales, 'delivered')
  const waiting = await world.db`select from early_reports where workspace_id = ${api.workspaceId}`
  assert.equal(waiting.length, 6)
  for (const id of ['wamid.edited', 'wamid.kept', 'wamid.revoked']) await write(sales, id, text(id))
  await echo(sales, 'wamid.out', text('as sent'))
  await untilNoneEarly(world)
  assert.deepEqual(pluck(await messagesOf(api, sales), 'content_text', 'status'), [
    ['corrected', 'received'],
    ['wamid.kept', 'received'],
    [null, 'received'],
    ['as sent', 'delivered'],
  ])
})

test('an echo through another number is not taken for the answer to a send', async (t) => {
  const world = await startNumbers(t, { times: divideTimes(10) })
  const { api, provider, sales, support, write, echo } = world
  await write(sales, 'wamid.in', text('hello'))
  const { workspaceId: workspace_id } = api
  await provider.fault({ mode: 'no_statuses', workspace_id })
  await provider.fault({ mode: 'drop_connection_after_accept', workspace_id, count: 1 })
  const [conversation] = dataOf(await api.get('/conversations'))
  assertStatus(await api.post(`/conversations/${conversation.id}/messages`, { text: 'Hi' }), 502)
  await echo(support, 'wamid.other', text('Hi'))
  const sent = async () => (await messagesOf(api, sales)).at(-1)
  assertFields(await sent(), { content_text: 'Hi', status: 'pending', msgapp_message_id: null })
  const [other] = await messagesOf(api, support)
  assertFields(other, { content_text: 'Hi', direction: 'outbound', msgapp_message_id: 'wamid.other' })
  // The same id through the right number, later: it is known and stays with the other one.
  await echo(sales, 'wamid.other', text('Hi'))
  assertFields(await sent(), { status: 'pending', msgapp_message_id: null })
  await echo(sales, 'wamid.own', text('Hi'))
  const identified = await until('the echo of its own number', async () => {
    const message = await sent()
    return message.status === 'sent' && message
  })
  assert.equal(identified.msgapp_message_id, 'wamid.own')
  assert.equal((await messagesOf(api, sales)).length, 2)
  assert.equal((await messagesOf(api, support)).length, 1)
})

test('a read mark, an edit or a deletion through another social account changes nothing', async (t) => {
  const world = await startNumbers(t)
  const { api, url, browser, provider } = world
  const { social } = provider.connections
  const settings = { account_id: '17841499999999999', access_token: 'token', app_secret: 'secret' }
  const { data: outlet } = await browser.ask(
    'POST',
    '/channels',
    { channel: 'social', name: 'Outlet', ...settings },
    201,
  )
  const person = { id: '90000001' }
  /** Posts an event between an account and the person, signed for the account. */
  const post = async (connection: Json, event: Json, isOwn = false) => {
    const account = { id: connection.account_id }
    const parties = isOwn ? { sender: account, recipient: person } : { sender: person, recipient: account }
    const messaging = [{ ...parties, timestamp: Date.now(), ...event }]
    const body = JSON.stringify({ object: 'instagram', entry: [{ id: connection.account_id, messaging }] })
    const signature = createHmac('sha256', connection.app_secret).update(body).digest('hex')
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
    const answer = await fetch(`${url}/channels/social/${connection.id}`, { method: 'POST', headers, body })
    assert.equal(answer.status, 200)
  }
  const wrong = { ...outlet, ...settings }
  await provider.writes({ channel: 'social', from: person.id, username: 'ann.r', text: 'hello' })
  await post(social, { message: { mid: 'mid.out', text: 'as sent', is_echo: true } }, true)
  const last = async () => (await messagesOf(api, social)).at(-1)
  await post(wrong, { read: { mid: 'mid.out' } })
  await post(wrong, { message_edit: { mid: 'mid.out', text: 'forged' } }, true)
  await post(wrong, { message: { mid: 'mid.out', is_deleted: true, is_echo: true } }, true)
  assertFields(await last(), { status: 'sent', content_text: 'as sent' })
  await untilNoneEarly(world)
  assertFields(await last(), { status: 'sent', content_text: 'as sent' })
  await post(social, { read: { mid: 'mid.out' } })
  await post(social, { message_edit: { mid: 'mid.out', text: 'corrected' } }, true)
  assertFields(await last(), { status: 'read', content_text: 'corrected' })
  await post(social, { message: { mid: 'mid.out', is_deleted: true, is_echo: true } }, true)
  assert.equal((await last()).content_text, null)
})

test('callbacks of a connected number at the address of another one are a notice that says how to fix it', async (t) => {
  const world = await startNumbers(t)
  const { api, addNumber, browser, connect, workspace, sales, support, report, signalsOf } = world
  const shop = await addNumber('Shop')
  const message = { from: wa, id: 'wamid.1', timestamp: now(), ...text('hello') }
  const status = { id: 'wamid.2', status: 'read', timestamp: now(), recipient_id: wa }
  const about = ({ phone_number_id, address }: Json, value: Json): Json => ({
    messaging_product: 'whatsapp',
    metadata: { phone_number_id, display_phone_number: String(address).slice(1) },
    ...value,
  })
  const noticeOf = ({ name, address, id }: Json) =>
    `${address} is connected as “${name}”, but its callbacks arrive at the address of “Sales” and are ignored. ` +
    `At the provider, set the callback URL of ${address} to ${publicUrl}/channels/msgapp/${id}, with the verify token in its settings.`
  const texts = async () => pluck(await signalsOf(sales), 'text').sort()
  // A number of the same account, and one of another account of the same app. A status shows it too.
  await report(sales, 'messages', about(support, { messages: [message] }))
  await report(sales, 'messages', about(shop, { statuses: [status] }), { id: shop.account_id })
  assert.deepEqual(await texts(), [noticeOf(support), noticeOf(shop)].sort())
  assert.deepEqual(pluck(await signalsOf(sales), 'severity'), ['warning', 'warning'])
  assert.deepEqual(dataOf(await api.get('/conversations')), [], 'nothing is received at the wrong address')
  for (const other of [support, shop]) assert.deepEqual(await signalsOf(other), [])

  // Preferences and templates arrive at the URL of the app, also when a number has a URL of its own.
  await browser.ask('POST', `/channels/${sales.id}/signals/dismiss`, pickSeen((await signalsOf(sales))[0]))
  await browser.ask('POST', `/channels/${sales.id}/signals/dismiss`, pickSeen((await signalsOf(sales))[0]))
  const preference = { wa_id: wa, category: 'marketing_messages', value: 'stop', timestamp: now() }
  await report(sales, 'user_preferences', about(support, { user_preferences: [preference] }))
  await report(sales, 'message_template_status_update', { event: 'APPROVED' }, { id: shop.account_id })
  assert.deepEqual(await signalsOf(sales), [])
  await report(sales, 'calls', about(support, { calls: [] }))
  await report(sales, 'messages', about(shop, { statuses: [status] }), { id: shop.account_id })
  assert.deepEqual(await texts(), [noticeOf(support), noticeOf(shop)].sort())

  // A number that is not connected is named as before, and its statuses are of no interest.
  const stranger = { phone_number_id: '999', address: '+15550009999' }
  await report(sales, 'messages', about(stranger, { statuses: [status] }))
  assert.equal((await signalsOf(sales)).length, 2)
  await report(sales, 'messages', about(stranger, { messages: [message] }))
  const unconnected = 'Messages for +15550009999 were ignored: this number is not connected.'
  assert.deepEqual(await texts(), [noticeOf(support), noticeOf(shop), unconnected].sort())
  // One that was disconnected is not connected, and neither is a number of another workspace.
  await browser.ask('DELETE', `/channels/${support.id}`)
  const { api: theirs } = await workspace()
  const { msgapp } = (await connect({ workspaceId: theirs.workspaceId })).connections
  for (const other of [support, msgapp]) {
    await report(sales, 'messages', about(other, { messages: [message] }))
    assert.ok((await texts()).includes(`Messages for ${other.address} were ignored: this number is not connected.`))
  }
  assert.equal((await texts()).length, 4)
})

test('callbacks of a connected social account at the address of another one are a notice too', async (t) => {
  const { browser, provider, signalsOf } = await startNumbers(t)
  const { social } = provider.connections
  const settings = { account_id: '17841499999999999', access_token: 'token', app_secret: 'secret' }
  const { data: outlet } = await browser.ask(
    'POST',
    '/channels',
    { channel: 'social', name: 'Outlet', ...settings },
    201,
  )
  const messaging = [
    { sender: { id: '90000001' }, recipient: { id: settings.account_id }, message: { mid: 'm', text: 'x' } },
  ]
  const body = { object: 'instagram', entry: [{ id: settings.account_id, messaging }] }
  assert.equal(await provider.callback(body, 'social'), 200)
  const account = `Account ${settings.account_id}`
  assert.deepEqual(pluck(await signalsOf(social), 'text'), [
    `${account} is connected as “Outlet”, but its callbacks arrive at the address of “${social.name}” and are ignored. ` +
      `At the provider, set the callback URL of account ${settings.account_id} to ${publicUrl}/channels/social/${outlet.id}, with the verify token in its settings.`,
  ])
})
