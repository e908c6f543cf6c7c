/**
 * The simulator with several numbers and accounts in one workspace, and with
 * customers whose number is hidden behind a username.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { times } from '../common/times.ts'
import { createSimulator, type SimulatorAccount } from '../simulator/simulator.ts'
import { assertFields, pluck } from './assertions.ts'
import { createFolder } from './folder.ts'
import { listen } from './listen.ts'
import {
  type Answer,
  accountsFor,
  assertFailure,
  clientOf,
  dayAgo,
  idOf,
  type Json,
  log,
  number,
  type Receiver,
  startReceiver,
} from './simulator-client.ts'
import { until } from './until.ts'

type Numbers = Record<'sales' | 'support' | 'shop' | 'brand' | 'outlet', SimulatorAccount>

/** Sales and support are numbers of one provider account; the shop has an account of its own. */
function numbersFor(callbackUrl: string): Numbers {
  const [msgapp, social] = accountsFor(callbackUrl)
  const named = (account: SimulatorAccount, name: string, more: Partial<SimulatorAccount> = {}): SimulatorAccount => ({
    ...account,
    connection_id: name.toLowerCase(),
    name,
    address: account.display_phone_number && `+${account.display_phone_number}`,
    is_channel_default: false,
    ...more,
  })
  const support = { ...msgapp, phone_number_id: '2003', display_phone_number: '15550002222' }
  const shop = { ...msgapp, account_id: '3001', phone_number_id: '3002', display_phone_number: '15550003333' }
  return {
    sales: named(msgapp, 'Sales', { is_channel_default: true }),
    support: named(support, 'Support'),
    shop: named({ ...shop, access_token: 'shop token' }, 'Shop'),
    brand: named(social, 'Brand', { address: 'acme.brand', is_channel_default: true }),
    outlet: named({ ...social, account_id: '17841400000000009', access_token: 'ig outlet' }, 'Outlet'),
  }
}

/** A simulator with the journal of the folder. Without accounts it is a standalone one. */
async function run(t: TestContext, dir: string, accounts?: readonly SimulatorAccount[]) {
  const server = createServer((request, response) => simulator.handle(request, response))
  const origin = await listen(t, server)
  const simulator = await createSimulator({
    dir,
    name: 'test',
    publicUrl: origin,
    isPrivate: true,
    ...(accounts ? { loadAccounts: async () => [...accounts] } : {}),
    log,
    times: times.simulator,
  })
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= simulator.stop())
  t.after(stop)
  const client = clientOf(origin)
  const sendFrom = (phoneNumberId: string, message: Json, token = 'token') =>
    client.graph('POST', `${phoneNumberId}/messages`, { messaging_product: 'whatsapp', ...message }, token)
  const sent = async (query = ''): Promise<Json[]> => (await client.control('GET', `sent${query}`)).body.data
  const writes = async (message: Json): Promise<string> => {
    const answer = await client.control('POST', 'inbound', { text: 'hello', ...message })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body.data.message_id
  }
  return { ...client, sendFrom, sent, writes, stop }
}

async function start(t: TestContext, change: (numbers: Numbers) => void = () => {}) {
  const receiver = await startReceiver(t)
  const numbers = numbersFor(receiver.url)
  change(numbers)
  const dir = createFolder(t)
  return { ...(await run(t, dir, Object.values(numbers))), receiver, numbers, dir }
}

const text = (to: string) => ({ to, type: 'text', text: { body: 'hi' } })
const textTo = (recipient: string) => ({ recipient, type: 'text', text: { body: 'hi' } })
const hello = { type: 'template', template: { name: 'hello_world', language: { code: 'en_US' } } }

/** The change of the callback with this message, or with a status of it. */
function changeWith({ callbacks }: Receiver, id: string): Json {
  const changes = callbacks.flatMap(({ body }) => body.entry.flatMap((entry: Json) => entry.changes ?? []))
  return changes.find(({ value }) =>
    [...(value.messages ?? []), ...(value.statuses ?? [])].some((each) => each.id === id),
  )?.value
}

const numberOf = (receiver: Receiver, id: string) => changeWith(receiver, id)?.metadata.phone_number_id

test('a control call names one of the connections, or gets the default of the channel', async (t) => {
  const { control, writes, receiver, numbers } = await start(t)
  const { data } = (await control('GET', 'accounts')).body
  assert.deepEqual(pluck(data, 'connection_id', 'name', 'address', 'is_channel_default'), [
    ['sales', 'Sales', '+15550001111', true],
    ['support', 'Support', '+15550002222', false],
    ['shop', 'Shop', '+15550003333', false],
    ['brand', 'Brand', 'acme.brand', true],
    ['outlet', 'Outlet', '', false],
  ])
  assert.ok(data.every((account: Json) => account.access_token === undefined))

  const from = number(1)
  assert.equal(numberOf(receiver, await writes({ from })), '2002')
  assert.equal(numberOf(receiver, await writes({ from, connection_id: 'support' })), '2003')
  const { workspace_id } = numbers.sales
  assert.equal(numberOf(receiver, await writes({ from, workspace_id, connection_id: 'shop' })), '3002')
  // The connection decides the channel.
  await writes({ from: '77', connection_id: 'outlet' })
  assert.equal(receiver.messaging().at(-1).recipient.id, '17841400000000009')

  const message = { from: '14155550100', id: 'wamid.1', timestamp: '1', type: 'text', text: { body: 'x' } }
  const body = { entry: [{ changes: [{ field: 'messages', value: { messages: [message] } }] }] }
  const posted = await control('POST', 'callback', { connection_id: 'shop', body })
  assert.deepEqual(posted.body, { data: { status: 200 } })
  const { entry } = receiver.callbacks.at(-1)?.body ?? {}
  assert.deepEqual([entry[0].id, entry[0].changes[0].value.metadata.phone_number_id], ['3001', '3002'])

  // biome-ignore format: a table
  const unknown: [string, string, Json][] = [
    ['POST', 'inbound', { from, text: 'x', connection_id: 'none' }],
    ['POST', 'inbound', { from, text: 'x', connection_id: 'sales', workspace_id: 'another' }],
    ['POST', 'callback', { body: {}, connection_id: 'none' }],
    ['POST', 'faults', { mode: 'hang', connection_id: 'none' }],
    ['GET', 'sent?connection_id=none', undefined],
    ['GET', 'sent?connection_id=sales&workspace_id=another', undefined],
  ]
  for (const [method, path, body] of unknown) {
    const answer = await control(method, path, body)
    assert.equal(answer.status, 404, `${path} ${JSON.stringify(body)}`)
    assert.match(answer.body.error.message, /^connection_id: .* has no connection (none|sales)$/)
  }
  const other = await control('POST', 'inbound', { from, text: 'x', channel: 'social', connection_id: 'sales' })
  assert.match(other.body.error.message, /^channel: sales is a connection of msgapp/)
  const number5 = await control('POST', 'inbound', { from, text: 'x', connection_id: 5 })
  assert.match(number5.body.error.message, /^connection_id: a string/)
})

test('the 24-hour window is open at the number that the customer wrote to', async (t) => {
  const { sendFrom, writes, receiver, graph } = await start(t)
  await writes({ from: number(1) })
  await receiver.ladder(idOf(await sendFrom('2002', text(number(1)))), 'sent', 'delivered', 'read')
  const [failed] = (await receiver.ladder(idOf(await sendFrom('2003', text(number(1)))), 'failed')) as [Json]
  assert.equal(failed.errors[0].code, 131047)
  await writes({ from: number(1), connection_id: 'support', timestamp: dayAgo(1) })
  await receiver.ladder(idOf(await sendFrom('2003', text(number(1)))), 'failed')
  await writes({ from: number(1), connection_id: 'support' })
  await receiver.ladder(idOf(await sendFrom('2003', text(number(1)))), 'sent', 'delivered', 'read')

  await writes({ channel: 'social', from: '77' })
  const reply = { recipient: { id: '77' }, message: { text: 'hi' } }
  assert.equal((await graph('POST', 'me/messages', reply, 'ig')).status, 200)
  assertFailure(await graph('POST', 'me/messages', reply, 'ig outlet'), 400, 100)
})

test('a number has its own sending rate, recipients, blocked users and registration', async (t) => {
  const { sendFrom, writes, graph } = await start(t, ({ sales }) => Object.assign(sales, { messages_per_second: 2 }))
  const flood = (phoneNumberId: string) =>
    Promise.all(Array.from({ length: 20 }, (_, i) => sendFrom(phoneNumberId, { to: number(i), ...hello })))
  const [slow, fast] = [await flood('2002'), await flood('2003')]
  assertFailure(slow.find(({ status }) => status !== 200) as Answer, 400, 130429)
  assert.deepEqual(new Set(pluck(fast, 'status')), new Set([200]))

  const burst = await Promise.all(Array.from({ length: 46 }, () => sendFrom('2003', { to: number(50), ...hello })))
  assertFailure(burst.find(({ status }) => status !== 200) as Answer, 400, 131056)
  assert.equal((await sendFrom('3002', { to: number(50), ...hello }, 'shop token')).status, 200)

  await writes({ from: number(60), connection_id: 'support' })
  const block = { messaging_product: 'whatsapp', block_users: [{ user: number(60) }] }
  assert.equal((await graph('POST', '2003/block_users', block)).status, 200)
  assertFailure(await sendFrom('2003', { to: number(60), ...hello }), 400, 130403)
  assert.deepEqual((await graph('GET', '2002/block_users')).body.data, [])
  await until('the rate to allow a message', async () => {
    const { status, body } = await sendFrom('2002', { to: number(60), ...hello })
    assert.notEqual(body.error?.code, 130403)
    return status === 200
  })
  await graph('POST', '2003/deregister')
  assertFailure(await sendFrom('2003', { to: number(61), ...hello }), 400, 133010)
  await until(
    'the rate to allow another',
    async () => (await sendFrom('2002', { to: number(61), ...hello })).status === 200,
  )
})

test('numbers of one provider account share its templates and profile', async (t) => {
  const { sendFrom, graph, receiver } = await start(t)
  const components = [{ type: 'BODY', text: 'Ours.' }]
  const ours = { name: 'ours', language: 'en_US', category: 'UTILITY', components }
  const created = await graph('POST', '1001/message_templates', ours)
  assert.equal(created.body.status, 'APPROVED')
  const use = { to: number(1), type: 'template', template: { name: 'ours', language: { code: 'en_US' } } }
  assert.equal((await sendFrom('2002', use)).status, 200)
  assert.equal((await sendFrom('2003', use)).status, 200)
  assertFailure(await sendFrom('3002', use, 'shop token'), 404, 132001)
  const own = await graph('POST', '3001/message_templates', ours, 'shop token')
  assert.equal(own.body.status, 'APPROVED')
  assert.notEqual(own.body.id, created.body.id)
  // One callback per template, not one per number.
  const events = () => receiver.callbacks.filter(({ raw }) => raw.includes('message_template_status_update'))
  await until('a callback for each account', () => events().length === 2)
  assert.deepEqual(
    events()
      .map(({ body }) => body.entry[0].id)
      .sort(),
    ['1001', '3001'],
  )

  await graph('POST', '2003/whatsapp_business_profile', { messaging_product: 'whatsapp', about: 'Pottery' })
  assert.equal((await graph('GET', '2002/whatsapp_business_profile')).body.data[0].about, 'Pottery')
  const theirs = await graph('GET', '3002/whatsapp_business_profile', undefined, 'shop token')
  assert.equal(theirs.body.data[0].about, undefined)
  const { data } = (await graph('GET', '1001/phone_numbers')).body
  assert.deepEqual(pluck(data, 'id', 'display_phone_number'), [
    ['2002', '15550001111'],
    ['2003', '15550002222'],
  ])
  const { body } = await graph('GET', '17841400000000000?fields=username', undefined, 'ig')
  assert.equal(body.username, 'acme.brand')
})

test('a message leaves from the number in the path, and a number of another account does not exist', async (t) => {
  const { sendFrom, sent, receiver, numbers } = await start(t)
  const fromSupport = idOf(await sendFrom('2003', { to: number(1), ...hello }))
  const fromSales = idOf(await sendFrom('2002', { to: number(1), ...hello }))
  await receiver.ladder(fromSupport, 'sent', 'delivered', 'read')
  await receiver.ladder(fromSales, 'sent', 'delivered', 'read')
  assert.deepEqual([numberOf(receiver, fromSupport), numberOf(receiver, fromSales)], ['2003', '2002'])
  const refused = await sendFrom('3002', { to: number(1), ...hello })
  assertFailure(refused, 400, 100)
  assert.equal(refused.body.error.error_subcode, 33)
  assertFailure(await sendFrom('2002', { to: number(1), ...hello }, 'shop token'), 400, 100)

  const rows = await sent()
  assert.deepEqual(pluck(rows, 'message_id', 'connection_id'), [
    [fromSupport, 'support'],
    [fromSales, 'sales'],
  ])
  assertFields(rows[0], { workspace_id: numbers.sales.workspace_id, channel: 'msgapp', to: number(1) })
  assert.equal(rows[0].body.template.name, 'hello_world')
  assert.deepEqual(pluck(await sent('?connection_id=sales'), 'message_id'), [fromSales])
  assert.deepEqual(pluck(await sent(`?connection_id=support&to=${number(1)}`), 'message_id'), [fromSupport])
  assert.deepEqual(await sent('?connection_id=shop'), [])
})

test('a fault stops one number while the other sends', async (t) => {
  const { sendFrom, control } = await start(t)
  const fault = await control('POST', 'faults', { mode: 'http_500', connection_id: 'sales' })
  assertFields(fault.body.data, { mode: 'http_500', connection_id: 'sales', to: null, count: null })
  for (let i = 0; i < 3; i++) {
    assertFailure(await sendFrom('2002', { to: number(i), ...hello }), 500, 131000)
    assert.equal((await sendFrom('2003', { to: number(i), ...hello })).status, 200)
  }
  // The fault of a connection takes precedence over one of all, that of a recipient over both.
  await control('POST', 'faults', { mode: 'throttle' })
  assertFailure(await sendFrom('2002', { to: number(5), ...hello }), 500, 131000)
  assertFailure(await sendFrom('2003', { to: number(5), ...hello }), 400, 130429)
  await control('POST', 'faults', { mode: 'reject', to: number(5) })
  assertFailure(await sendFrom('2002', { to: number(5), ...hello }), 400, 131026)
  await control('DELETE', 'faults')
  assert.equal((await sendFrom('2002', { to: number(5), ...hello })).status, 200)
})

test('the phone of a customer has one chat with each number', async (t) => {
  const { sendFrom, control, writes, numbers } = await start(t)
  await writes({ from: number(1), name: 'Ana', text: 'to sales' })
  await writes({ from: number(1), text: 'to support', connection_id: 'support' })
  await sendFrom('2003', text(number(1)))
  const { data } = (await control('GET', 'phones')).body
  assert.deepEqual(data.connections.slice(0, 2), [
    { connection_id: 'sales', channel: 'msgapp', name: 'Sales', address: '+15550001111', is_default: true },
    { connection_id: 'support', channel: 'msgapp', name: 'Support', address: '+15550002222', is_default: false },
  ])
  const chats = data.phones.map(({ id, connection_id, messages }: Json) => [id, connection_id, pluck(messages, 'text')])
  assert.deepEqual(chats, [
    [number(1), 'support', ['to support', 'hi']],
    [number(1), 'sales', ['to sales']],
  ])
  assert.equal(data.workspace.display_phone_number, numbers.sales.display_phone_number)
})

test('after a restart each number has its customers, and each account its templates', async (t) => {
  const first = await start(t)
  const { receiver, numbers, dir } = first
  await first.writes({ from: number(1), connection_id: 'support' })
  const components = [{ type: 'BODY', text: 'Mine.' }]
  const mine = { name: 'mine', language: 'en_US', category: 'UTILITY', components }
  const { id } = (await first.graph('POST', '3001/message_templates', mine, 'shop token')).body
  await first.graph('POST', '2003/deregister')
  receiver.answers.push(...Array.from({ length: 40 }, () => 500))
  const late = idOf(await first.sendFrom('3002', { to: number(2), ...hello }, 'shop token'))
  await first.stop()
  receiver.answers.length = 0

  const second = await run(t, dir, Object.values(numbers))
  await until('all reports', () => new Set(pluck(receiver.statuses(late), 'status')).size === 3)
  assert.equal(numberOf(receiver, late), '3002')
  assert.deepEqual(pluck(await second.sent(), 'message_id', 'connection_id'), [[late, 'shop']])
  assertFailure(await second.sendFrom('2003', text(number(1))), 400, 133010)
  await second.graph('POST', '2003/register')
  await receiver.ladder(idOf(await second.sendFrom('2003', text(number(1)))), 'sent', 'delivered', 'read')
  await receiver.ladder(idOf(await second.sendFrom('2002', text(number(1)))), 'failed')
  const listed = await second.graph('GET', '3001/message_templates?name=mine', undefined, 'shop token')
  assert.deepEqual(pluck(listed.body.data, 'id'), [id])
  assert.deepEqual((await second.graph('GET', '1001/message_templates?name=mine')).body.data, [])
  const { phones } = (await second.control('GET', 'phones')).body.data
  assert.deepEqual(new Set(pluck(phones, 'connection_id')), new Set(['shop', 'support', 'sales']))
})

test('a journal without connections belongs to the default of the channel, also when the default changes', async (t) => {
  const receiver = await startReceiver(t)
  const { sales, support, brand } = numbersFor(receiver.url)
  const unnamed = [sales, brand].map(({ connection_id, name, address, is_channel_default, ...account }) => account)
  const dir = createFolder(t)
  const before = await run(t, dir, unnamed)
  await before.writes({ from: number(1), name: 'Ana' })
  await before.graph('POST', '1001/message_templates', {
    name: 'mine',
    language: 'en_US',
    category: 'UTILITY',
    components: [{ type: 'BODY', text: 'Mine.' }],
  })
  receiver.answers.push(...Array.from({ length: 40 }, () => 500))
  const early = idOf(await before.sendFrom('2002', { to: number(2), ...hello }))
  assert.equal((await before.control('POST', 'inbound', { from: number(3), text: 'refused' })).status, 502)
  await before.stop()
  receiver.answers.length = 0
  receiver.callbacks.length = 0
  // The lines are those of an earlier version.
  const lines = readFileSync(join(dir, 'test.jsonl'), 'utf8')
  assert.doesNotMatch(lines, /"(n|a|connection_id)":/)

  const verify = async (accounts: SimulatorAccount[]) => {
    const { sent, sendFrom, control, stop } = await run(t, dir, accounts)
    const old = (await sent()).find(({ message_id }) => message_id === early)
    assert.equal(old.connection_id, 'sales')
    assert.ok((await sent('?connection_id=sales')).some(({ message_id }) => message_id === early))
    await until('all reports', () => new Set(pluck(receiver.statuses(early), 'status')).size === 3)
    assert.equal(numberOf(receiver, early), '2002')
    await until('the callback that was refused', () => receiver.messages().some(({ text }) => text?.body === 'refused'))
    await receiver.ladder(idOf(await sendFrom('2002', text(number(1)))), 'sent', 'delivered', 'read')
    await receiver.ladder(idOf(await sendFrom('2003', text(number(1)))), 'failed')
    const mine = { to: number(4), type: 'template', template: { name: 'mine', language: { code: 'en_US' } } }
    assert.equal((await sendFrom('2002', mine)).status, 200)
    const { phones } = (await control('GET', 'phones')).body.data
    const ana = phones.find(({ id, connection_id }: Json) => id === number(1) && connection_id === 'sales')
    assert.deepEqual([ana.name, ana.messages[0].text], ['Ana', 'hello'])
    await stop()
  }
  await verify([sales, support, brand])
  await verify([{ ...sales, is_channel_default: false }, { ...support, is_channel_default: true }, brand])
})

test('a standalone simulator registers each connection, and without one the account of workspace and channel', async (t) => {
  const receiver = await startReceiver(t)
  const { sales, support } = numbersFor(receiver.url)
  const { connection_id: _, name: __, address: ___, is_channel_default: ____, ...unnamed } = sales
  const dir = createFolder(t)
  const { control, sendFrom, sent, writes, stop } = await run(t, dir)
  const register = async (account: Json) => assert.equal((await control('PUT', 'accounts', account)).status, 200)
  const listed = async () =>
    pluck((await control('GET', 'accounts')).body.data, 'connection_id', 'phone_number_id', 'is_channel_default')

  await register(unnamed)
  await writes({ from: number(1) })
  await register({ ...unnamed, messages_per_second: 500 })
  assert.deepEqual(await listed(), [[undefined, '2002', undefined]])
  // The connection takes over what the account without one has.
  const { is_channel_default: _____, ...first } = sales
  await register(first)
  assert.deepEqual(await listed(), [['sales', '2002', true]])
  await receiver.ladder(idOf(await sendFrom('2002', text(number(1)))), 'sent', 'delivered', 'read')
  assert.deepEqual(pluck(await sent(), 'connection_id'), ['sales'])
  await register(support)
  assert.deepEqual(await listed(), [
    ['sales', '2002', true],
    ['support', '2003', false],
  ])
  assert.equal(numberOf(receiver, await writes({ from: number(2) })), '2002')
  await register({ ...support, is_channel_default: true })
  assert.equal(numberOf(receiver, await writes({ from: number(2) })), '2003')
  assert.deepEqual((await listed()).map(([id, , isDefault]) => [id, isDefault]).sort(), [
    ['sales', false],
    ['support', true],
  ])
  for (const [field, value] of [
    ['connection_id', 'a b'],
    ['connection_id', 5],
    ['is_channel_default', 'yes'],
  ] as const) {
    const answer = await control('PUT', 'accounts', { ...support, [field]: value })
    assert.match(answer.body.error.message, new RegExp(`^${field}:`))
  }
  await stop()

  const again = await run(t, dir)
  await receiver.ladder(idOf(await again.sendFrom('2002', text(number(1)))), 'sent', 'delivered', 'read')
  await receiver.ladder(idOf(await again.sendFrom('2003', text(number(1)))), 'failed')
  await receiver.ladder(idOf(await again.sendFrom('2003', text(number(2)))), 'sent', 'delivered', 'read')
})

test('a customer with a username only has no number in any callback, until the customer shows it', async (t) => {
  const first = await start(t)
  const { writes, sendFrom, receiver, graph, dir, numbers } = first
  const userId = 'US.9001'
  const wrote = await writes({ user_id: userId, username: 'bo.b' })
  const { contacts, messages } = changeWith(receiver, wrote)
  assert.deepEqual(contacts, [{ profile: { username: 'bo.b' }, user_id: userId }])
  assertFields(messages[0], { from: undefined, from_user_id: userId })
  const quoted = await writes({ user_id: userId, reply_to: wrote })
  assert.deepEqual(changeWith(receiver, quoted).messages[0].context, { from_user_id: userId, id: wrote })
  assert.equal(changeWith(receiver, quoted).contacts[0].profile.username, 'bo.b', 'the username is known from now on')

  const answer = await sendFrom('2002', textTo(userId))
  assert.deepEqual(answer.body.contacts, [{ input: userId, user_id: userId }])
  for (const status of await receiver.ladder(idOf(answer), 'sent', 'delivered', 'read')) {
    assertFields(status, { recipient_id: undefined, recipient_user_id: userId })
  }
  const reported = changeWith(receiver, idOf(answer)).contacts
  assert.deepEqual(reported, [{ profile: { name: 'bo.b', username: 'bo.b' }, user_id: userId }])

  const components = [{ type: 'BODY', text: 'Your code is {{1}}.', example: { body_text: [['123']] } }]
  await graph('POST', '1001/message_templates', {
    name: 'code',
    language: 'en_US',
    category: 'AUTHENTICATION',
    components,
  })
  const values = [{ type: 'body', parameters: [{ type: 'text', text: '123' }] }]
  const code = { type: 'template', template: { name: 'code', language: { code: 'en_US' }, components: values } }
  assertFailure(await sendFrom('2002', { recipient: userId, ...code }), 400, 131062)
  assert.equal((await sendFrom('2002', { to: number(9), ...code })).status, 200)

  // The id is one of the provider account: its other number can use it, another account cannot.
  assert.equal((await sendFrom('2003', { recipient: userId, ...hello })).status, 200)
  assertFailure(await sendFrom('3002', { recipient: userId, ...hello }, 'shop token'), 400, 131026, /another business/)
  const { from_user_id: salesId } = changeWith(receiver, await writes({ from: number(8) })).messages[0]
  const toShop = await writes({ from: number(8), connection_id: 'shop' })
  assert.notEqual(changeWith(receiver, toShop).messages[0].from_user_id, salesId)
  assertFailure(await sendFrom('3002', textTo(salesId), 'shop token'), 400, 131026)

  const shown = await writes({ from: number(9), user_id: userId })
  assertFields(changeWith(receiver, shown).contacts[0], { wa_id: '14155550009', user_id: userId })
  assertFields(changeWith(receiver, shown).messages[0], { from: '14155550009', from_user_id: userId })
  const verify = async ({ sendFrom, writes }: Pick<typeof first, 'sendFrom' | 'writes'>) => {
    for (const message of [textTo(userId), text(number(9))]) {
      const [status] = (await receiver.ladder(idOf(await sendFrom('2002', message)), 'sent', 'delivered', 'read')) as [
        Json,
      ]
      assertFields(status, { recipient_id: '14155550009', recipient_user_id: userId })
    }
    assert.equal(changeWith(receiver, await writes({ from: number(9) })).messages[0].from_user_id, userId)
  }
  await verify(first)
  await first.stop()
  await verify(await run(t, dir, Object.values(numbers)))
})
