/**
 * The simulator, as the service and as people meet it: alone, against a tiny
 * receiver of callbacks.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { times } from '../common/times.ts'
import { createSimulator } from '../simulator/simulator.ts'
import { assertFields, pluck } from './assertions.ts'
import { createFolder } from './folder.ts'
import { listen } from './listen.ts'
import { createSimulatorProgram, type Program } from './program.ts'
import {
  type Answer,
  accountsFor,
  assertFailure,
  type Callback,
  type Client,
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

type Starting = {
  messagesPerSecond?: number
  quotas?: Parameters<typeof createSimulator>[0]['quotas']
  isPrivate?: boolean
}

async function start(t: TestContext, { messagesPerSecond, quotas = {}, isPrivate = true }: Starting = {}) {
  const receiver = await startReceiver(t)
  const server = createServer((request, response) => simulator.handle(request, response))
  const origin = await listen(t, server)
  const accounts = accountsFor(receiver.url, messagesPerSecond)
  const simulator = await createSimulator({
    dir: createFolder(t),
    name: 'test',
    publicUrl: origin,
    isPrivate,
    loadAccounts: async () => accounts,
    quotas,
    log,
    times: times.simulator,
  })
  t.after(() => simulator.stop())
  return { ...clientOf(origin), receiver, accounts }
}

test('an accepted template is reported sent, delivered and read, with our callback data', async (t) => {
  const { template, receiver, accounts } = await start(t)
  const answer = await template('+1 (415) 555-0100', 'hello_world', undefined, { biz_opaque_callback_data: 'job:42/ñ' })
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body.contacts, [{ input: '+1 (415) 555-0100', wa_id: '14155550100' }])
  const id = idOf(answer)
  const layout = Buffer.from(id.replace('wamid.', ''), 'base64').toString('latin1')
  assert.ok(layout.startsWith('\x1c\x18\x0b14155550100\x15\x02\x00\x11\x18\x12'), id)
  assert.match(layout.slice(20), /^[0-9A-F]{18}.$/s)

  const [sent, delivered, read] = await receiver.ladder(id, 'sent', 'delivered', 'read')
  for (const status of [sent, delivered, read]) {
    assert.equal(status.biz_opaque_callback_data, 'job:42/ñ')
    assert.equal(status.recipient_id, '14155550100')
    assert.match(status.timestamp, /^\d{10}$/)
  }
  assert.deepEqual(sent.pricing, { billable: true, pricing_model: 'PMP', type: 'regular', category: 'utility' })
  assert.equal(read.pricing, undefined)
  const [{ body, raw, headers }] = receiver.callbacks as [Callback]
  assert.equal(body.object, 'whatsapp_business_account')
  assert.equal(body.entry[0].id, accounts[0].account_id)
  const metadata = { display_phone_number: '15550001111', phone_number_id: '2002' }
  assert.deepEqual(body.entry[0].changes[0].value.metadata, metadata)
  assert.equal(body.entry[0].changes[0].value.contacts[0].wa_id, '14155550100')

  // The provider's own escaping, signed as it is on the wire.
  assert.match(raw, /"job:42\\\/\\u00f1"/)
  assert.doesNotMatch(raw, /[^\x20-\x7e]/)
  const signature = createHmac('sha256', 'app secret').update(raw).digest('hex')
  assert.equal(headers['x-hub-signature-256'], `sha256=${signature}`)
})

test('reports of many messages share callbacks', async (t) => {
  const { template, receiver } = await start(t)
  await Promise.all(Array.from({ length: 300 }, (_, i) => template(number(i))))
  await until('900 statuses', () => receiver.statuses().length === 900)
  assert.ok(receiver.callbacks.length < 300, `${receiver.callbacks.length} callbacks`)
  for (const { body } of receiver.callbacks) assert.ok(body.entry[0].changes[0].value.statuses.length <= 200)
})

test('a callback that is not answered with 200 is repeated as it was', async (t) => {
  const { template, receiver } = await start(t)
  receiver.answers.push(500, 204, 400)
  const id = idOf(await template(number(1)))
  await until('the read report', () => receiver.statuses(id).some(({ status }) => status === 'read'))
  const refused = receiver.callbacks.slice(0, 3).map(({ raw }) => raw)
  await until('what was refused to be repeated', () =>
    refused.every((raw) => receiver.callbacks.filter((callback) => callback.raw === raw).length >= 2),
  )
})

test('what was accepted is listed in order, by number and by workspace', async (t) => {
  const { template, control, accounts } = await start(t)
  for (const to of [number(1), number(2), number(1)]) await template(to)
  const all = (await control('GET', 'sent')).body.data
  assert.deepEqual(pluck(all, 'to'), [number(1), number(2), number(1)])
  assert.deepEqual(Object.keys(all[0]), ['message_id', 'workspace_id', 'channel', 'to', 'at', 'body'])
  assert.equal(all[0].body.template.name, 'hello_world')
  assert.equal(all[0].workspace_id, accounts[0].workspace_id)
  for (const query of [
    `to=${number(1)}`,
    `to=${encodeURIComponent(number(1))}&workspace_id=${accounts[0].workspace_id}`,
  ]) {
    assert.equal((await control('GET', `sent?${query}`)).body.data.length, 2)
  }
  assert.deepEqual((await control('GET', 'sent?workspace_id=another')).body.data, [])
  assert.deepEqual((await control('GET', 'sent?to=%2B4915112345678')).body.data, [])
})

test('numbers of Mexico and Brazil are written as the network writes them', async (t) => {
  const { template, control, receiver } = await start(t)
  const mexico = await template('+525512345678')
  assert.deepEqual(mexico.body.contacts, [{ input: '+525512345678', wa_id: '5215512345678' }])
  const [{ recipient_id }] = (await receiver.ladder(idOf(mexico), 'sent', 'delivered', 'read')) as [Json]
  assert.equal(recipient_id, '5215512345678')
  assert.equal((await template('+551187654321')).body.contacts[0].wa_id, '5511987654321')
  assert.equal((await template('+5511987654321')).body.contacts[0].wa_id, '5511987654321')
  for (const to of ['%2B525512345678', '%2B5215512345678']) {
    assert.deepEqual(pluck((await control('GET', `sent?to=${to}`)).body.data, 'to'), ['+525512345678'])
  }
})

test('a message may go to a user id instead of a number', async (t) => {
  const { graph, receiver } = await start(t)
  const answer = await graph('POST', '2002/messages', {
    messaging_product: 'whatsapp',
    recipient: 'MX.9f31c0a7b2',
    type: 'template',
    template: { name: 'hello_world', language: { code: 'en_US' } },
  })
  assert.deepEqual(answer.body.contacts, [{ input: 'MX.9f31c0a7b2', user_id: 'MX.9f31c0a7b2' }])
  const [status] = (await receiver.ladder(idOf(answer), 'sent', 'delivered', 'read')) as [Json]
  assert.deepEqual([status.recipient_id, status.recipient_user_id], [undefined, 'MX.9f31c0a7b2'])
})

test('outside the 24-hour window free text is accepted and then fails', async (t) => {
  const { send, control, receiver } = await start(t)
  const text = (to: string) => send({ to, type: 'text', text: { body: 'hi' } })
  const stranger = await text(number(1))
  assert.equal(stranger.status, 200)
  const [failed] = (await receiver.ladder(idOf(stranger), 'failed')) as [Json]
  assert.equal(failed.errors[0].code, 131047)
  assert.equal(failed.errors[0].title, failed.errors[0].message)
  assert.ok(failed.errors[0].error_data.details && failed.errors[0].href)

  await control('POST', 'inbound', { from: number(2), text: 'hello', timestamp: dayAgo(1) })
  await receiver.ladder(idOf(await text(number(2))), 'failed')
  await control('POST', 'inbound', { from: number(2), text: 'hello' })
  const inside = idOf(await text(number(2)))
  const [sent] = (await receiver.ladder(inside, 'sent', 'delivered', 'read')) as [Json]
  const free = { billable: false, pricing_model: 'PMP', type: 'free_customer_service', category: 'service' }
  assert.deepEqual(sent.pricing, free)
  // An old message that is reported late closes nothing.
  await control('POST', 'inbound', { from: number(2), text: 'late', timestamp: dayAgo(3) })
  await receiver.ladder(idOf(await text(number(2))), 'sent', 'delivered', 'read')
})

test('magic numbers misbehave each in its own way', async (t) => {
  const { template, receiver } = await start(t)
  assertFailure(await template('+15005550001'), 400, 131026)
  assertFailure(await template('+15005550002'), 400, 132015)
  assertFailure(await template('+15005550003'), 500, 131000)
  assertFailure(await template('+15005550004'), 400, 130429)
  const unread = idOf(await template('+15005550005'))
  const failing = idOf(await template('+15005550006'))
  const usual = idOf(await template(number(1)))
  const [, failed] = await receiver.ladder(failing, 'sent', 'failed')
  assert.equal(failed.errors[0].code, 131000)
  await receiver.ladder(usual, 'sent', 'delivered', 'read')
  await receiver.ladder(unread, 'sent', 'delivered')
})

test('a send to the number that never answers gets no answer', async (t) => {
  const { origin, control } = await start(t)
  const body = {
    messaging_product: 'whatsapp',
    to: '+15005550009',
    type: 'template',
    template: { name: 'hello_world', language: { code: 'en_US' } },
  }
  const waiting = fetch(`${origin}/simulator/graph/v25.0/2002/messages`, {
    method: 'POST',
    headers: { authorization: 'Bearer token' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(200),
  })
  await assert.rejects(waiting, { name: 'TimeoutError' })
  assert.deepEqual((await control('GET', 'sent')).body.data, [])
})

test('each fault does what it says, to whom it says, as often as it says', async (t) => {
  const { template, control, receiver } = await start(t)
  const fault = async (body: Json) => assert.equal((await control('POST', 'faults', body)).status, 200)
  const sentTo = async (to: string) => (await control('GET', `sent?to=${encodeURIComponent(to)}`)).body.data

  await fault({ to: number(1), mode: 'reject', code: 131031, count: 1 })
  await fault({ to: number(2), mode: 'http_500', count: 1 })
  await fault({ to: number(3), mode: 'throttle', count: 2 })
  await fault({ to: number(4), mode: 'reject', count: 1 })
  assertFailure(await template(number(1)), 403, 131031)
  assertFailure(await template(number(2)), 500, 131000)
  assertFailure(await template(number(3)), 400, 130429)
  assertFailure(await template(number(3)), 400, 130429)
  assertFailure(await template(number(4)), 400, 131026)
  for (const i of [1, 2, 3, 4, 5]) assert.equal((await template(number(i))).status, 200)
  assert.deepEqual((await control('GET', 'faults')).body.data, [])

  await fault({ to: number(6), mode: 'drop_connection_after_accept' })
  await assert.rejects(template(number(6)))
  const [dropped] = await sentTo(number(6))
  await receiver.ladder(dropped.message_id, 'sent', 'delivered', 'read')

  await fault({ to: number(7), mode: 'duplicate_statuses' })
  await fault({ to: number(8), mode: 'reorder_statuses' })
  await fault({ to: number(9), mode: 'no_statuses' })
  await fault({ to: number(10), mode: 'delay', delay_ms: 120 })
  const [twice, reordered, silent] = [
    await template(number(7)),
    await template(number(8)),
    await template(number(9)),
  ].map(idOf) as [string, string, string]
  const before = Date.now()
  const usual = idOf(await template(number(10)))
  assert.ok(Date.now() - before >= 110)
  await receiver.ladder(reordered, 'read', 'delivered', 'sent')
  await until('every status twice', () => receiver.statuses(twice).length === 6)
  for (const name of ['sent', 'delivered', 'read']) {
    const posts = receiver.callbacks.filter(({ body }) =>
      body.entry[0].changes[0].value.statuses.some((status: Json) => status.id === twice && status.status === name),
    )
    assert.equal(posts.length, 2, `${name} in separate posts`)
  }
  await receiver.ladder(usual, 'sent', 'delivered', 'read')
  assert.deepEqual(receiver.statuses(silent), [])

  await fault({ mode: 'hang' })
  await control('DELETE', 'faults')
  assert.equal((await template(number(11))).status, 200)
})

test('template values are checked against the template', async (t) => {
  const { template, graph } = await start(t)
  const texts = (...values: string[]) => values.map((text) => ({ type: 'text', text }))
  const body = (...values: string[]) => ({ type: 'body', parameters: texts(...values) })
  const url = (id: string, index: unknown = '0') => ({ type: 'button', sub_type: 'url', index, parameters: texts(id) })
  const image = { type: 'header', parameters: [{ type: 'image', image: { link: 'https://example.com/a.jpg' } }] }
  const named = (values: Record<string, string>) => ({
    type: 'body',
    parameters: Object.entries(values).map(([parameter_name, text]) => ({ type: 'text', parameter_name, text })),
  })
  const coupon = { type: 'coupon_code', coupon_code: 'SPRING25' }
  const code = { type: 'button', sub_type: 'copy_code', index: 0, parameters: [coupon] }
  const header = (text: string) => ({ type: 'header', parameters: texts(text) })
  const card = (card_index: number, ...components: unknown[]) => ({ card_index, components })
  const carousel = (...cards: unknown[]) => ({ type: 'carousel', cards })

  // biome-ignore format: a table
  const fine: [string, unknown[]][] = [
    ['hello_world', []],
    ['order_confirmed', [body('Ann', '#1')]],
    ['order_update', [body('#1', 'there'), url('4711')]],
    ['order_update', [body('#1', 'there'), url('4711', 0)]],
    ['order_code', [header('Ann'), body('#1'), code]],
    ['appointment', [image, named({ time: 'now', name: 'Ann' })]],
    ['offer_carousel', [body('Ann'), carousel(card(0, image, body('20%'), url('a')), card(1, image, body('30%'), url('b')))]],
  ]
  for (const [name, components] of fine) {
    const answer = await template(number(1), name, components)
    assert.equal(answer.status, 200, `${name}: ${JSON.stringify(answer.body)}`)
    assert.equal(answer.body.messages[0].message_status, 'accepted')
  }

  // biome-ignore format: a table
  const wrong: [string, unknown, number, number, RegExp?][] = [
    ['no_such', [], 404, 132001],
    ['paused_promo', [], 400, 132015],
    ['hello_world', [body('x')], 400, 132000, /\(1\).*\(0\)/],
    ['hello_world', 'x', 400, 100],
    ['hello_world', [{ type: 'shoe' }], 400, 100],
    ['order_confirmed', undefined, 400, 132000, /\(0\).*\(2\)/],
    ['order_confirmed', [body('Ann')], 400, 132000],
    ['order_confirmed', [body('Ann', '')], 400, 131008],
    ['order_confirmed', [body('Ann', 'two\nlines')], 400, 132018],
    ['order_confirmed', [body('Ann', 'x'.repeat(1100))], 400, 132005],
    ['order_confirmed', [{ type: 'body', parameters: [{ type: 'image', image: {} }, ...texts('x')] }], 400, 132012],
    ['order_update', [body('#1', 'there')], 400, 131008, /index 0/],
    ['order_update', [body('#1', 'there'), url('4711', '1')], 400, 132018],
    ['order_update', [body('#1', 'there'), { ...code, index: 0 }], 400, 132012],
    ['order_code', [body('#1'), code], 400, 132000, /header/],
    ['order_code', [header('Ann'), body('#1')], 400, 131008],
    ['order_code', [header('x'.repeat(70)), body('#1'), code], 400, 132005],
    ['appointment', [named({ name: 'Ann', time: 'now' })], 400, 132012, /expected IMAGE/],
    ['appointment', [header('Ann'), named({ name: 'Ann', time: 'now' })], 400, 132012],
    ['appointment', [image, named({ name: 'Ann' })], 400, 132000],
    ['appointment', [image, named({ name: 'Ann', when: 'now' })], 400, 132018],
    ['appointment', [image, body('Ann', 'now')], 400, 132018],
    ['appointment', [{ type: 'header', parameters: [{ type: 'image', image: { id: '404' } }] }, named({ name: 'A', time: 'B' })], 400, 131009],
    ['offer_carousel', [body('Ann')], 400, 132018, /cards \(0\)/],
    ['offer_carousel', [body('Ann'), carousel(card(0, image, body('1'), url('a')))], 400, 132018],
    ['offer_carousel', [body('Ann'), carousel(card(0, image, body('1'), url('a')), card(1, image, body('2')))], 400, 131008, /card 1/],
    ['offer_carousel', [body('Ann'), carousel(card(0, body('1'), url('a')), card(1, image, body('2'), url('b')))], 400, 132012, /card 0/],
  ]
  for (const [name, components, status, code, details] of wrong) {
    await t.test(`${name} ${JSON.stringify(components)?.slice(0, 80)}`, async () => {
      assertFailure(await template(number(2), name, components), status, code, details)
    })
  }
  assertFailure(
    await graph('POST', '2002/messages', {
      messaging_product: 'whatsapp',
      to: number(1),
      type: 'template',
      template: { name: 'hello_world', language: { code: 'en' } },
    }),
    404,
    132001,
  )
})

test('messages of a wrong shape are refused with the right code', async (t) => {
  const { send, graph, control } = await start(t)
  await control('POST', 'inbound', { from: number(1), text: 'hi' })
  const to = number(1)
  const button = (id: string, title: string) => ({ type: 'reply', reply: { id, title } })
  const interactive = (action: Json, type = 'button') => ({
    to,
    type: 'interactive',
    interactive: { type, body: { text: 'Pick' }, action },
  })
  // biome-ignore format: a table
  const wrong: [Json, number, RegExp?][] = [
    [{ type: 'text', text: { body: 'x' } }, 100, /to/],
    [{ to: 'nobody', type: 'text', text: { body: 'x' } }, 131009],
    [{ recipient: 'nobody', type: 'text', text: { body: 'x' } }, 131009],
    [{ to, type: 'shoe' }, 100, /type/],
    [{ to, type: 'text' }, 131008],
    [{ to, type: 'text', text: { body: '' } }, 131008],
    [{ to, type: 'text', text: { body: 'x'.repeat(4097) } }, 100],
    [{ to, type: 'image', image: {} }, 131009],
    [{ to, type: 'image', image: { id: '1', link: 'https://x.test/a' } }, 131009],
    [{ to, type: 'image', image: { id: '1' } }, 131009],
    [{ to, type: 'image', image: { link: 'ftp://x.test/a' } }, 131009],
    [{ to, type: 'audio', audio: { link: 'https://x.test/a', caption: 'x' } }, 100],
    [{ to, type: 'image', image: { link: 'https://x.test/a', filename: 'x' } }, 100],
    [{ to, type: 'location', location: { latitude: 95, longitude: 0 } }, 131009],
    [{ to, type: 'location', location: { latitude: 5 } }, 131008],
    [{ to, type: 'reaction', reaction: { emoji: 'x' } }, 131008],
    [{ to, type: 'contacts', contacts: [{}] }, 131008],
    [interactive({ buttons: [] }), 131008],
    [interactive({ buttons: ['1', '2', '3', '4'].map((id) => button(id, id)) }), 131009],
    [interactive({ buttons: [button('1', 'x'.repeat(21))] }), 100],
    [interactive({ button: 'Slots', sections: [{ rows: [{ id: '1', title: 'x'.repeat(25) }] }] }, 'list'), 100],
    [{ to, type: 'text', text: { body: 'x' }, biz_opaque_callback_data: 'x'.repeat(513) }, 100],
    [{ to: '+15550001111', type: 'text', text: { body: 'x' } }, 131021],
    [{ status: 'read' }, 131008],
  ]
  for (const [message, code, details] of wrong) assertFailure(await send(message), 400, code, details)
  const bare = await graph('POST', '2002/messages', { to, type: 'text', text: { body: 'x' } })
  assertFailure(bare, 400, 100, /messaging_product|whatsapp/)
  // biome-ignore format: a table
  const fine: Json[] = [
    { to, text: { body: 'no type' } },
    { to, type: 'text', text: { body: 'x'.repeat(4096) }, context: { message_id: 'wamid.x' } },
    { to, type: 'document', document: { link: 'https://x.test/a', filename: 'a.pdf', caption: 'x' } },
    { to, type: 'reaction', reaction: { message_id: 'wamid.x', emoji: '👍' } },
    { to, type: 'contacts', contacts: [{ name: { formatted_name: 'Ana' } }] },
    interactive({ buttons: [button('1', 'Yes')] }),
  ]
  for (const message of fine) assert.equal((await send(message)).status, 200)
  assert.deepEqual((await send({ status: 'read', message_id: 'wamid.x', typing_indicator: { type: 'text' } })).body, {
    success: true,
  })
})

test('parameters may come in the query, as a form, or as JSON text inside JSON, with the token among them', async (t) => {
  const { origin, control, graph, receiver } = await start(t)
  await control('POST', 'inbound', { from: number(1), text: 'hi' })
  await control('POST', 'inbound', { channel: 'social', from: '77', text: 'hi' })
  const post = async (
    path: string,
    body: string | URLSearchParams | FormData,
    headers: Record<string, string> = {},
  ) => {
    const answer = await fetch(`${origin}/simulator/graph/v25.0/${path}`, { method: 'POST', body, headers })
    return { status: answer.status, body: (await answer.json()) as Json, headers: answer.headers }
  }
  const bearer = { authorization: 'Bearer token' }
  const contacts = JSON.stringify([{ name: { formatted_name: 'Bob' } }])
  const fields = { messaging_product: 'whatsapp', to: number(1), type: 'text', text: '{"body":"a b"}' }
  const form = new URLSearchParams(fields)
  const multipart = new FormData()
  for (const [name, value] of form) multipart.set(name, value)
  const social = new URLSearchParams({ recipient: '{"id":"77"}', message: '{"text":"x"}', access_token: 'ig' })
  for (const answer of [
    await post('2002/messages', form, bearer),
    await post('2002/messages', multipart, bearer),
    await post(
      '2002/messages?messaging_product=whatsapp&to=14155550001',
      JSON.stringify({ text: { body: 'x' } }),
      bearer,
    ),
    await post(
      '2002/messages',
      JSON.stringify({ messaging_product: 'whatsapp', to: 14155550001, text: { body: 'x' } }),
      bearer,
    ),
    await post(
      '2002/messages',
      JSON.stringify({ messaging_product: 'whatsapp', to: number(1), type: 'contacts', contacts }),
      bearer,
    ),
    await post('me/messages', social),
  ]) {
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  const sent = (await control('GET', 'sent')).body.data
  assert.deepEqual(sent[0].body.text, { body: 'a b' })
  assert.deepEqual(sent[4].body.contacts, [{ name: { formatted_name: 'Bob' } }])
  assert.deepEqual(sent[5].body, { recipient: { id: '77' }, message: { text: 'x' } }, 'the token is not kept')
  // Text that looks like JSON stays text.
  const message = { messaging_product: 'whatsapp', to: number(1), text: { body: '{}' } }
  const data = { biz_opaque_callback_data: '{"job":1}', ...message }
  const answer = await post('2002/messages', JSON.stringify(data), bearer)
  await receiver.ladder(idOf(answer), 'sent', 'delivered', 'read')
  assert.equal(receiver.statuses(idOf(answer))[0].biz_opaque_callback_data, '{"job":1}')

  for (const [path, body, status, code] of [
    ['2002/messages', 'not JSON', 400, 100],
    ['2002/messages?appsecret_proof=0', form, 400, 100],
    ['2002/messages', new URLSearchParams({ access_token: 'wrong' }), 401, 190],
    ['2002/messages?messaging_product=whatsapp', '{}', 400, 100],
    ['', '{"batch":[]}', 400, 100],
  ] as const) {
    const headers = String(body).includes('wrong') ? {} : bearer
    assertFailure(await post(path, body, headers), status, code)
  }
  const [{ contacts: named }] = receiver.callbacks.map(({ body }) => body.entry[0].changes?.[0].value ?? {}) as [Json]
  assert.deepEqual(named[0].profile, {}, 'a customer without a name has a profile all the same')
  const proof = createHmac('sha256', 'app secret').update('token').digest('hex')
  assert.equal((await graph('GET', `2002?appsecret_proof=${proof}`)).status, 200)
})

test('a token opens only its own account, and what is not there is error 100, 33', async (t) => {
  const { graph, call } = await start(t)
  assertFailure(await graph('POST', '2002/messages', {}, 'wrong'), 401, 190)
  assertFailure(await call('POST', '/graph/v25.0/2002/messages', {}), 401, 190)
  const missing = await graph('POST', '9999/messages', {})
  assertFailure(missing, 400, 100)
  assert.equal(missing.body.error.error_subcode, 33)
  assertFailure(await graph('GET', '9999'), 400, 100)
  assertFailure(await graph('POST', '2002/messages', {}, 'ig'), 400, 100)
  const fields = await graph('GET', '2002?fields=verified_name,quality_rating')
  assert.deepEqual(fields.body, { id: '2002', verified_name: 'Acme', quality_rating: 'GREEN' })
  assert.equal((await call('GET', '/graph/1001', undefined, { authorization: 'Bearer token' })).body.name, 'Acme')
  assert.deepEqual((await graph('POST', '1001/subscribed_apps')).body, { success: true })
})

test('one person can be sent 45 messages at once, not more', async (t) => {
  const { template } = await start(t)
  const answers = await Promise.all(Array.from({ length: 46 }, () => template(number(1))))
  assert.equal(answers.filter(({ status }) => status === 200).length, 45)
  assertFailure(answers.find(({ status }) => status !== 200) as Answer, 400, 131056)
  assert.equal((await template(number(2))).status, 200)
})

test('a number is held to its pace', async (t) => {
  const { template } = await start(t, { messagesPerSecond: 2 })
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => template(number(i))))
  const accepted = answers.filter(({ status }) => status === 200).length
  assert.ok(accepted >= 2 && accepted < 12, `${accepted} accepted`)
  assertFailure(answers.find(({ status }) => status !== 200) as Answer, 400, 130429)
  await until('the pace to allow one more', async () => (await template(number(99))).status === 200)
})

test('templates are listed in pages, made and deleted, with a callback for each', async (t) => {
  const { graph, template, receiver, origin } = await start(t)
  const names: string[] = []
  let path: string | undefined = '1001/message_templates?limit=3&fields=name,status,components'
  while (path) {
    const { body }: Answer = await graph('GET', path)
    names.push(...body.data.map(({ name }: Json) => name))
    assert.ok(body.paging.cursors.after)
    path = body.paging.next?.replace(`${origin}/simulator/graph/v25.0/`, '')
  }
  assert.deepEqual(names, [
    ...['hello_world', 'order_confirmed', 'order_update', 'order_code', 'appointment', 'offer_carousel'],
    'paused_promo',
  ])

  const body = {
    name: 'greeting',
    language: 'de',
    category: 'UTILITY',
    components: [{ type: 'body', text: 'Hallo {{1}}!', example: { body_text: [['Ann']] } }],
  }
  assert.equal((await graph('POST', '1001/message_templates', body)).body.status, 'APPROVED')
  const again = await graph('POST', '1001/message_templates', body)
  assertFailure(again, 400, 100)
  assert.equal(again.body.error.error_subcode, 2388024)
  const rejected = { ...body, name: 'bad', components: [{ type: 'BODY', text: 'REJECT this.' }] }
  assert.equal((await graph('POST', '1001/message_templates', rejected)).body.status, 'REJECTED')
  const use = {
    template: {
      name: 'greeting',
      language: { code: 'de' },
      components: [{ type: 'body', parameters: [{ type: 'text', text: 'Ann' }] }],
    },
  }
  assert.equal((await template(number(1), '', undefined, use)).status, 200)
  assert.deepEqual((await graph('DELETE', '1001/message_templates?name=greeting')).body, { success: true })
  assertFailure(await template(number(1), '', undefined, use), 404, 132001)
  const events = () => receiver.callbacks.map(({ body }) => body.entry[0].changes[0].value.event).filter(Boolean)
  await until('three callbacks', () => events().length === 3)
  assert.deepEqual(events().sort(), ['APPROVED', 'DELETED', 'REJECTED'])
  const [{ value }] = receiver.callbacks
    .map(({ body }) => body.entry[0].changes[0])
    .filter(({ value }) => value.event) as [Json]
  assert.deepEqual([value.message_template_name, typeof value.message_template_id], ['greeting', 'number'])
})

test('the example pictures of templates can be fetched where they say they are', async (t) => {
  const { graph, origin } = await start(t)
  const { body } = await graph('GET', '1001/message_templates?limit=100')
  const links = [...JSON.stringify(body).matchAll(/"header_handle":\["([^"]+)"\]/g)].map(([, link = '']) => link)
  assert.equal(links.length, 3)
  for (const link of new Set(links)) {
    assert.ok(link.startsWith(origin), link)
    const picture = await fetch(link)
    assert.deepEqual([picture.status, picture.headers.get('content-type')], [200, 'image/png'])
  }
})

test('a file is got in two hops, with the token, until it is deleted', async (t) => {
  const { graph, origin, send, control, receiver } = await start(t)
  const form = new FormData()
  form.set('messaging_product', 'whatsapp')
  form.set('type', 'image/png')
  const bytes = Uint8Array.from({ length: 3000 }, (_, i) => i % 256)
  form.set('file', new Blob([bytes], { type: 'image/png' }), 'a.png')
  const upload = await fetch(`${origin}/simulator/graph/v25.0/2002/media`, {
    method: 'POST',
    headers: { authorization: 'Bearer token' },
    body: form,
  })
  const { id } = (await upload.json()) as Json
  assert.match(id, /^\d+$/)
  const { body } = await graph('GET', id)
  assert.deepEqual([body.mime_type, body.file_size, body.id], ['image/png', 3000, id])
  assert.equal((await fetch(body.url)).status, 401)
  const file = await fetch(body.url, { headers: { authorization: 'Bearer token' } })
  assert.deepEqual(new Uint8Array(await file.arrayBuffer()), bytes)
  const late = body.url.replace(/ext=\d+/, `ext=${Date.now() + 99_000_000}`)
  assert.equal((await fetch(late, { headers: { authorization: 'Bearer token' } })).status, 404)

  await control('POST', 'inbound', { from: number(1), text: 'hi' })
  await receiver.ladder(idOf(await send({ to: number(1), type: 'image', image: { id } })), 'sent', 'delivered', 'read')
  const audio = await send({ to: number(1), type: 'audio', audio: { id } })
  const [failed] = (await receiver.ladder(idOf(audio), 'failed')) as [Json]
  assert.equal(failed.errors[0].code, 131053)
  assert.deepEqual((await graph('DELETE', id)).body, { success: true })
  assertFailure(await graph('GET', id), 400, 100)
})

test('a customer writes in every way there is', async (t) => {
  const { control, receiver, template, graph, origin, call } = await start(t)
  const write = async (message: Json) => {
    const answer = await control('POST', 'inbound', { from: number(1), name: 'Ana Ñ', ...message })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const written = receiver.messages().find(({ id }) => id === answer.body.data.message_id)
    assert.ok(written, 'the callback was taken before the answer')
    return written
  }
  const text = await write({
    channel: 'msgapp',
    text: 'hello 👋',
    timestamp: '2026-01-02T03:04:05Z',
    username: 'ana.n',
  })
  assertFields(text, { type: 'text', text: { body: 'hello 👋' }, from: '14155550001', timestamp: '1767323045' })
  const { value } = receiver.callbacks.at(-1)?.body.entry[0].changes[0] ?? {}
  assert.deepEqual(value.contacts[0].profile, { name: 'Ana Ñ', username: 'ana.n' })
  assert.equal(value.contacts[0].user_id, text.from_user_id)
  assert.match(receiver.callbacks.at(-1)?.raw ?? '', /hello \\ud83d\\udc4b/)
  const repeated = await write({ text: 'hello 👋', message_id: text.id, timestamp: 1767323045 })
  assert.equal(receiver.messages().filter(({ id }) => id === text.id).length, 2)
  assert.equal(repeated.timestamp, '1767323045')

  for (const [type, magic] of [
    ['image', '\x89PNG'],
    ['video', 'ftyp'],
    ['audio', 'OggS'],
    ['document', '%PDF'],
    ['sticker', 'RIFF'],
  ] as const) {
    const message = await write({ type, media: { caption: 'look' } })
    assert.equal(message.type, type)
    const { body } = await graph('GET', message[type].id)
    assert.equal(body.mime_type, message[type].mime_type)
    assert.equal(body.sha256, message[type].sha256)
    const file = await fetch(body.url, { headers: { authorization: 'Bearer token' } })
    const start = Buffer.from(await file.arrayBuffer()).subarray(0, 12)
    assert.ok(start.toString('latin1').includes(magic))
  }
  const url = new URL('/media/picture.jpg', receiver.url).href
  const linked = await write({ type: 'image', media: { url, caption: 'mine' } })
  assert.deepEqual([linked.image.mime_type, linked.image.caption], ['image/jpeg', 'mine'])
  const linkedFile = await fetch((await graph('GET', linked.image.id)).body.url, {
    headers: { authorization: 'Bearer token' },
  })
  assert.equal(await linkedFile.text(), 'bytes of a picture')

  const headers = { 'content-type': 'audio/mpeg', 'x-simulator': '1' }
  const uploaded = await call('POST', '/control/uploads', Buffer.from('voice'), headers)
  assert.match(uploaded.body.data.url, /^\/simulator\/media\/\d+$/)
  assert.equal(await (await fetch(origin + uploaded.body.data.url)).text(), 'voice')
  assert.equal((await write({ type: 'audio', media: { id: uploaded.body.data.id } })).audio.mime_type, 'audio/mpeg')

  assert.ok((await write({ type: 'location' })).location.latitude)
  assert.ok((await write({ type: 'contacts' })).contacts[0].name.formatted_name)
  const button = { id: 'yes', title: 'Yes' }
  const picked = await write({ type: 'list', button, reply_to: 'wamid.x' })
  assert.deepEqual(picked.interactive, { type: 'list_reply', list_reply: button })
  const tapped = await write({ type: 'button', button, reply_to: 'wamid.x' })
  assert.deepEqual(tapped.interactive, { type: 'button_reply', button_reply: button })
  assert.deepEqual(tapped.context, { from: '15550001111', id: 'wamid.x' })
  const sent = idOf(await template(number(1)))
  assert.deepEqual((await write({ type: 'button', button, reply_to: sent })).button, { payload: 'yes', text: 'Yes' })
  const liked = await write({ type: 'reaction', text: '👍', reply_to: sent })
  assert.deepEqual(liked.reaction, { message_id: sent, emoji: '👍' })
  assert.deepEqual((await write({ type: 'reaction', text: '', reply_to: sent })).reaction, { message_id: sent })
  const hidden = await write({ from: undefined, user_id: 'US.123', text: 'no number' })
  assert.deepEqual([hidden.from, hidden.from_user_id], [undefined, 'US.123'])
})

test('the page shows the customer that the service refused, and the callback is repeated', async (t) => {
  const { control, receiver } = await start(t)
  receiver.answers.push(503)
  const refused = await control('POST', 'inbound', { from: number(1), text: 'hello' })
  assert.equal(refused.status, 502)
  assert.equal(refused.body.error.code, 'callback_failed')
  assert.match(refused.body.error.message, /503/)
  await until('the repeat', () => receiver.messages().length === 2)
  assert.equal(receiver.callbacks[0]?.raw, receiver.callbacks[1]?.raw)
})

test('social: echo and read, windows said at once, profiles', async (t) => {
  const { control, social, graph, receiver } = await start(t)
  const user = '1234567890123456'
  const unknown = await social(user, { text: 'hi' })
  assertFailure(unknown, 400, 100)
  assert.equal(unknown.body.error.error_subcode, 2534014)
  assertFailure(await graph('GET', `${user}?fields=name`, undefined, 'ig'), 400, 100)

  const wrote = await control('POST', 'inbound', {
    channel: 'social',
    from: user,
    username: 'ana.r',
    name: 'Ana',
    text: 'Hola',
    timestamp: dayAgo(2),
  })
  const [inbound] = receiver.messaging()
  assert.deepEqual(inbound.message, { mid: wrote.body.data.message_id, text: 'Hola' })
  const ends = [inbound.sender.id, inbound.recipient.id, typeof inbound.timestamp]
  assert.deepEqual(ends, [user, '17841400000000000', 'number'])
  const profile = await graph('GET', `${user}?fields=name,username,profile_pic`, undefined, 'ig')
  assert.deepEqual([profile.body.name, profile.body.username, profile.body.id], ['Ana', 'ana.r', user])
  assert.ok((await fetch(profile.body.profile_pic)).ok)

  const closed = await social(user, { text: 'hi' })
  assertFailure(closed, 403, 10)
  assert.equal(closed.body.error.error_subcode, 2534022)
  const human = { messaging_type: 'MESSAGE_TAG', tag: 'HUMAN_AGENT' }
  const sent = await social(user, { text: 'hi' }, human)
  assert.deepEqual(Object.keys(sent.body), ['recipient_id', 'message_id'])
  const about = (mid: string) => receiver.messaging().filter(({ message, read }) => (message ?? read)?.mid === mid)
  await until('echo and read', () => about(sent.body.message_id).length === 2)
  const [echo, read] = about(sent.body.message_id)
  assert.deepEqual(echo.message, { mid: sent.body.message_id, text: 'hi', is_echo: true })
  assert.deepEqual([echo.sender.id, echo.recipient.id], ['17841400000000000', user])
  assert.deepEqual([read.sender.id, read.read], [user, { mid: sent.body.message_id }])

  await control('POST', 'inbound', { channel: 'social', from: user, text: 'again' })
  const link = { type: 'image', payload: { url: 'https://example.com/a.jpg' } }
  for (const message of [
    { text: 'é'.repeat(500) },
    { attachment: link },
    { attachments: link },
    { attachments: [link, link] },
  ]) {
    assert.equal((await social(user, message)).status, 200)
  }
  for (const message of [
    { text: 'é'.repeat(501) },
    { text: 'x', attachment: link },
    {},
    { attachment: { type: 'shoe' } },
  ]) {
    assertFailure(await social(user, message), 400, 100)
  }
  assertFailure(await social(user, { text: 'x' }, { tag: 'ACCOUNT_UPDATE' }), 400, 100)
  assert.equal((await control('GET', `sent?to=${user}`)).body.data.length, 5)
  assert.deepEqual(
    (await graph('POST', 'me/messages', { recipient: { id: user }, sender_action: 'typing_on' }, 'ig')).body,
    { recipient_id: user },
  )
  await control('POST', 'faults', { to: user, mode: 'throttle', count: 1 })
  assertFailure(await social(user, { text: 'x' }), 400, 4)
  await control('POST', 'inbound', { channel: 'social', from: user, type: 'image' })
  const { url } = receiver.messaging().findLast(({ sender, message }) => sender.id === user && message).message
    .attachments[0].payload
  assert.equal((await fetch(url)).headers.get('content-type'), 'image/png')
})

test('any callback can be posted, signed, with the ids filled in where they lack', async (t) => {
  const { control, receiver, send } = await start(t)
  const post = async (call: Json) => {
    assert.deepEqual((await control('POST', 'callback', call)).body, { data: { status: 200 } })
    return receiver.callbacks.at(-1) as Callback
  }
  const timestamp = String(Math.floor(Date.now() / 1000))
  const message = { from: '14155550100', id: 'wamid.1', timestamp, type: 'text', text: { body: 'é/' } }
  const { body, raw, headers } = await post({
    body: { entry: [{ changes: [{ field: 'messages', value: { messages: [message] } }] }] },
  })
  assert.equal(body.entry[0].id, '1001')
  const metadata = { display_phone_number: '15550001111', phone_number_id: '2002' }
  assert.deepEqual(body.entry[0].changes[0].value.metadata, metadata)
  assert.match(raw, /"\\u00e9\\\/"/)
  assert.equal(headers['x-hub-signature-256'], `sha256=${createHmac('sha256', 'app secret').update(raw).digest('hex')}`)
  const answered = await send({ to: '+14155550100', type: 'text', text: { body: 'x' } })
  await receiver.ladder(idOf(answered), 'sent', 'delivered', 'read')

  const own = {
    entry: [
      {
        id: '7',
        changes: [
          { field: 'messages', value: { metadata: { phone_number_id: '8' }, statuses: [] } },
          { field: 'other', value: {} },
        ],
      },
    ],
  }
  const kept = (await post({ body: own })).body.entry[0]
  assert.deepEqual([kept.id, kept.changes[0].value.metadata.phone_number_id, kept.changes[1].value], ['7', '8', {}])
  const social = (
    await post({
      channel: 'social',
      body: { object: 'instagram', entry: [{ messaging: [{ sender: { id: '5' }, message: { mid: 'x' } }] }] },
    })
  ).body
  assert.deepEqual(social.entry[0].messaging[0].recipient, { id: '17841400000000000' })
  for (const garbage of [
    null,
    7,
    'text',
    [],
    [1],
    { entry: 'x' },
    { entry: [null, 5, { changes: [1, { value: 2 }] }] },
  ]) {
    const raw = (await post({ body: garbage })).body
    if (!JSON.stringify(garbage).includes('changes')) assert.deepEqual(raw, garbage)
  }
  receiver.answers.push(403)
  assert.deepEqual((await control('POST', 'callback', { body: {} })).body, { data: { status: 403 } })
  const large = { entry: [{ id: '1', changes: [{ value: 'x'.repeat(2_900_000) }] }] }
  assert.equal((await post({ body: large })).body.entry[0].changes[0].value.length, 2_900_000)
})

test('a control call that cannot be understood says which field is wrong', async (t) => {
  const { control, call, origin } = await start(t)
  // biome-ignore format: a table
  const wrong: [string, string, Json, RegExp, number?][] = [
    ['POST', 'inbound', { text: 'x' }, /^from:/],
    ['POST', 'inbound', { from: 'me', text: 'x' }, /^from:/],
    ['POST', 'inbound', { from: number(1) }, /^text:/],
    ['POST', 'inbound', { from: number(1), type: 'shoe' }, /^type:/],
    ['POST', 'inbound', { from: number(1), channel: 'mail', text: 'x' }, /^channel:/],
    ['POST', 'inbound', { from: number(1), text: 'x', timestamp: 'soon' }, /^timestamp:/],
    ['POST', 'inbound', { from: number(1), type: 'button' }, /^button:/],
    ['POST', 'inbound', { from: number(1), type: 'reaction' }, /^reply_to:/],
    ['POST', 'inbound', { from: number(1), type: 'image', media: { url: 'x' } }, /^media\.url:/],
    ['POST', 'inbound', { from: number(1), type: 'image', media: 'x' }, /^media:/],
    ['POST', 'inbound', { from: number(1), text: 'x', workspace_id: 'another' }, /^workspace_id:/, 404],
    ['POST', 'inbound', [], /JSON object/],
    ['POST', 'faults', { mode: 'explode' }, /^mode:/],
    ['POST', 'faults', { mode: 'reject', count: 0 }, /^count:/],
    ['POST', 'faults', { mode: 'reject', to: 5 }, /^to:/],
    ['POST', 'faults', { mode: 'delay' }, /^delay_ms:/],
    ['POST', 'callback', {}, /^body:/],
    ['PUT', 'accounts', { channel: 'msgapp' }, /^callback_url:/],
    ['POST', 'uploads', {}, /^x-simulator:/],
    ['GET', 'nothing', undefined, /no such call/, 404],
    ['GET', 'phones?workspace_id=another', undefined, /^workspace_id:/, 404],
  ]
  for (const [method, path, body, message, status = 400] of wrong) {
    const answer = await control(method, path, body)
    assert.equal(answer.status, status, `${path} ${JSON.stringify(body)}`)
    assert.match(answer.body.error.message, message)
    assert.ok(answer.body.error.code)
  }
  const form = await call('POST', '/control/inbound', Buffer.from('{"from":"+14155550100","text":"x"}'), {
    'content-type': 'text/plain',
  })
  assert.match(form.body.error.message, /^content-type:/)
  const huge = await fetch(`${origin}/simulator/control/inbound`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: 'x'.repeat(5_000_000),
  })
  assert.equal(huge.status, 413)
})

/** A request with headers that `fetch` does not let a caller choose. */
function ask(
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string | Buffer },
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('latin1').on('data', (part) => (text += part))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

test('a name that was pointed at this machine opens nothing', async (t) => {
  const { origin } = await start(t)
  const { port } = new URL(origin)
  const paths = ['', '/phone/phone.js', '/control/sent', '/control/phones', '/control/stream', '/graph/v25.0/2002']
  for (const host of ['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, '10.0.0.1', '@']) {
    for (const path of paths) {
      const answer = await ask(`${origin}/simulator${path}`, { headers: { host } })
      assert.equal(answer.status, 421, `${host} ${path}`)
      assert.match(answer.text, /wrong_host/)
    }
  }
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LOCALHOST', `[::1]:${port}`, '127.0.0.9']) {
    assert.equal((await ask(`${origin}/simulator/control/sent`, { headers: { host } })).status, 200, host)
  }
})

test('a page of another site cannot drive the simulator, in any way a browser lets it', async (t) => {
  const { origin, control } = await start(t)
  const body = JSON.stringify({ mode: 'hang' })
  const json = { 'content-type': 'application/json' }
  for (const from of ['https://evil.example', 'http://127.0.0.1:1', 'null', `${origin}.evil.example`, '']) {
    for (const [method, path, headers] of [
      ['POST', 'faults', json],
      ['DELETE', 'faults', {}],
      ['POST', 'inbound', json],
      ['POST', 'callback', json],
      ['PUT', 'accounts', json],
      ['POST', 'uploads', { 'x-simulator': '1', 'content-type': 'image/png' }],
    ] as const) {
      const sent = method === 'DELETE' ? {} : { body }
      const url = `${origin}/simulator/control/${path}`
      const answer = await ask(url, { method, headers: { ...headers, origin: from }, ...sent })
      assert.equal(answer.status, 403, `${from} ${method} ${path}`)
    }
  }
  // What a form can send without asking first, also where the browser says nothing of where it comes from.
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
    for (const path of ['faults', 'inbound', 'callback', 'accounts']) {
      const method = path === 'accounts' ? 'PUT' : 'POST'
      const url = `${origin}/simulator/control/${path}`
      assert.equal((await ask(url, { method, headers: { 'content-type': type }, body })).status, 400, `${path} ${type}`)
    }
  }
  const url = `${origin}/simulator/control/faults`
  assert.equal((await ask(url, { method: 'OPTIONS', headers: { origin: 'https://evil.example' } })).status, 403)
  assert.deepEqual((await control('GET', 'faults')).body.data, [])
  const own = await ask(url, { method: 'POST', headers: { ...json, origin }, body })
  assert.equal(own.status, 200)
  assert.equal(own.headers['access-control-allow-origin'], undefined)
  assert.equal(own.headers['x-content-type-options'], 'nosniff')
})

test('only public addresses are downloaded from, and this machine where no other reaches the simulator', async (t) => {
  let asked = 0
  const inside = createServer((_request, response) => {
    asked++
    response.end('secret')
  })
  const { port } = new URL(await listen(t, inside))
  const quotas = { downloadMs: 300, downloadBytes: 4_000 }
  const exposed = await start(t, { quotas, isPrivate: false })
  const { control, receiver, origin, graph } = await start(t, { quotas })
  const image = (url: string) => ({ from: number(1), type: 'image', media: { url } })
  const write = (url: string) => control('POST', 'inbound', image(url))
  const elsewhere = ['169.254.169.254', '10.0.0.1', '[fd00:ec2::254]', `0.0.0.0:${port}`]
  const here = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433'].map((host) => `${host}:${port}`)
  const refused = [
    ...elsewhere.map((host) => [host, control] as const),
    ...[...elsewhere, ...here].map((host) => [host, exposed.control] as const),
  ]
  for (const [host, ask] of refused) {
    const answer = await ask('POST', 'inbound', image(`http://${host}/latest/meta-data`))
    assert.equal(answer.status, 400, host)
    assert.match(answer.body.error.message, /^media\.url: .*is not a public address/)
  }
  for (const url of ['file:///etc/passwd', 'ftp://example.com/a', 'http://u:p@example.com/', 'nothing']) {
    assert.match((await write(url)).body.error.message, /^media\.url:/, url)
  }
  assert.equal(asked, 0)
  assert.equal((await write(`http://127.0.0.1:${port}/photo.png`)).status, 200)
  assert.equal(asked, 1)

  const own = (path: string) => new URL(path, receiver.url).href
  for (const path of ['/media/moved', '/media/slow', '/media/huge']) {
    const answer = await write(own(path))
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const { image } = receiver.messages().find(({ id }) => id === answer.body.data.message_id)
    assert.equal((await graph('GET', image.id)).body.file_size, 0, path)
    assert.equal((await fetch(`${origin}/simulator/media/${image.id}`)).status, 404, path)
  }
  // Several at once: the rest is refused, not queued.
  const many = await Promise.all(Array.from({ length: 8 }, () => write(own('/media/slow'))))
  assert.ok(many.filter(({ status }) => status === 400).length >= 4)
})

test('a file is shown only if nothing in it can run, and links of the social channel are signed', async (t) => {
  const { call, origin, control, receiver } = await start(t)
  const upload = async (type: string) => {
    const { body } = await call('POST', '/control/uploads', Buffer.from('<script>alert(1)</script>'), {
      'content-type': type,
      'x-simulator': '1',
    })
    return fetch(origin + body.data.url)
  }
  for (const type of ['text/html', 'image/svg+xml', 'application/xhtml+xml', 'text/xml', 'text/javascript', 'x/y']) {
    const file = await upload(type)
    assert.equal(file.headers.get('content-type'), 'application/octet-stream', type)
    assert.equal(file.headers.get('content-disposition'), 'attachment', type)
  }
  for (const type of ['image/png', 'IMAGE/JPEG', 'audio/ogg; codecs=opus', 'video/mp4', 'application/pdf']) {
    const file = await upload(type)
    assert.equal(file.headers.get('content-type'), type.toLowerCase().split(';')[0], type)
    assert.equal(file.headers.get('x-content-type-options'), 'nosniff')
    assert.match(file.headers.get('content-security-policy') ?? '', /default-src 'none'; sandbox/)
  }
  await control('POST', 'inbound', { channel: 'social', from: '1', type: 'image' })
  const { url } = receiver.messaging()[0].message.attachments[0].payload
  assert.equal((await fetch(url)).status, 200)
  const otherHash = url.replace(/hash=(.)/, (_: string, first: string) => `hash=${first === 'x' ? 'y' : 'x'}`)
  for (const wrong of [otherHash, url.replace(/ext=\d/, 'ext=9'), `${url}x`]) {
    assert.equal((await fetch(wrong)).status, 404, wrong)
  }
})

test('the disk, the memory and the calls that a simulator uses are bounded', async (t) => {
  const quotas = { journalBytes: 20_000, mediaBytes: 3_000, faults: 2, streams: 1, templates: 8, accounts: 1 }
  const { control, call, template, graph, origin, social, receiver } = await start(t, { quotas })
  const upload = async (size: number) =>
    (await call('POST', '/control/uploads', Buffer.alloc(size), { 'content-type': 'image/png', 'x-simulator': '1' }))
      .body.data.url
  const [first, second, third] = [await upload(1_000), await upload(1_000), await upload(1_500)]
  const statuses = await Promise.all([first, second, third].map(async (url) => (await fetch(origin + url)).status))
  assert.deepEqual(statuses, [404, 200, 200], 'the oldest file made room')

  for (const status of [200, 200, 400]) {
    assert.equal((await control('POST', 'faults', { to: '+4915112345678', mode: 'hang' })).status, status)
  }
  const stop = new AbortController()
  const stream = await fetch(`${origin}/simulator/control/stream`, { signal: stop.signal })
  assert.equal((await control('GET', 'stream')).status, 503)
  stop.abort()
  await stream.text().catch(() => {})
  const made = (name: string) =>
    graph('POST', '1001/message_templates', {
      name,
      language: 'en_US',
      category: 'UTILITY',
      components: [{ type: 'BODY', text: 'x' }],
    })
  assert.equal((await made('one')).status, 200)
  assertFailure(await made('two'), 400, 100, /at most 8 templates/)

  await control('POST', 'inbound', { channel: 'social', from: '1', text: 'x' })
  let accepted = 0
  for (let i = 0; i < 100 && (await template(number(i))).status === 200; i++) accepted++
  assert.ok(accepted > 10 && accepted < 100, `${accepted} accepted`)
  assertFailure(await template(number(1)), 500, 131016, /journal is full \(20000 bytes\)/)
  assertFailure(await social('1', { text: 'x' }), 500, 131016)
  const refused = await control('POST', 'inbound', { from: number(1), text: 'x' })
  assert.deepEqual([refused.status, refused.body.error.code], [507, 'journal_full'])
  // What was accepted is reported to its end.
  await until('every report', () => receiver.statuses().filter(({ status }) => status === 'read').length === accepted)
})

test('calls come at a bounded rate', async (t) => {
  const { control, graph } = await start(t, { quotas: { controlCallsPerSecond: 5, graphCallsPerSecond: 5 } })
  const calls = await Promise.all(Array.from({ length: 50 }, () => control('POST', 'faults', {})))
  assert.ok(calls.filter(({ status }) => status === 400).length >= 5)
  assert.equal(calls.find(({ status }) => status === 429)?.headers.get('retry-after'), '1')
  const asked = await Promise.all(Array.from({ length: 50 }, () => graph('GET', '2002')))
  assert.ok(asked.some(({ body }) => body.error?.code === 80007))
  assert.ok(asked.some(({ status }) => status === 200))
})

test('a body that does not end is cut off', async (t) => {
  const { control, origin } = await start(t)
  for (const [path, type] of [
    ['/control/callback', 'application/json'],
    ['/graph/v25.0/2002/messages', 'application/json'],
    ['/graph/v25.0/2002/media', 'multipart/form-data; boundary=x'],
  ]) {
    const headers = { 'content-type': type ?? '', authorization: 'Bearer token' }
    const endless = request(`${origin}/simulator${path}`, { method: 'POST', headers, agent: false })
    let sent = 0
    const gone = new Promise<void>((resolve) => {
      endless.on('error', () => resolve())
      endless.on('close', () => resolve())
    })
    const part = Buffer.alloc(1024 * 1024)
    const pump = () => {
      while (!endless.destroyed && sent < 200) {
        sent++
        if (!endless.write(part)) return
      }
      endless.end()
    }
    endless.on('drain', pump)
    pump()
    await gone
    assert.ok(sent < 100, `${path}: ${sent} MiB`)
    await until('the next call', async () => (await control('GET', 'sent')).status === 200)
  }
})

test('the phone page has strict headers and shows what phones show, live', async (t) => {
  const { control, template, origin, accounts, receiver } = await start(t)
  const html = await (await fetch(`${origin}/simulator`)).text()
  const assets = [...html.matchAll(/"\/simulator(\/phone\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
  assert.ok(assets.length >= 2)
  for (const path of ['', '/', ...assets]) {
    const page = await fetch(`${origin}/simulator${path}`)
    assert.equal(page.status, 200, path)
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'.*media-src 'self' blob:/)
  }
  assert.equal((await fetch(`${origin}/simulator/phone/..%2fmain.ts`)).status, 404)
  assert.equal((await fetch(`${origin}/simulator/phone/nothing.js`)).status, 404)

  const stop = new AbortController()
  const stream = await fetch(`${origin}/simulator/control/stream`, { signal: stop.signal })
  let received = ''
  const hearing = (async () => {
    for await (const part of stream.body ?? []) received += Buffer.from(part).toString()
  })().catch(() => {})
  await control('POST', 'inbound', { from: number(1), name: 'Ana', text: 'hello' })
  const components = [
    {
      type: 'body',
      parameters: [
        { type: 'text', text: '#1' },
        { type: 'text', text: 'there' },
      ],
    },
    { type: 'button', sub_type: 'url', index: 0, parameters: [{ type: 'text', text: '4711' }] },
  ]
  const id = idOf(await template(number(1), 'order_update', components))
  await receiver.ladder(id, 'sent', 'delivered', 'read')
  await until('the stream', () => /event: status[^\n]*\ndata: [^\n]*"status":"read"/.test(received))
  stop.abort()
  await hearing
  assert.equal(received.match(/event: bubble/g)?.length, 2)

  const { body } = await control('GET', 'phones')
  const workspace = { workspace_id: accounts[0].workspace_id, business_name: 'Acme' }
  assert.deepEqual(body.data.workspace, { ...workspace, display_phone_number: '15550001111' })
  const [phone] = body.data.phones
  assert.deepEqual([phone.channel, phone.id, phone.name], ['msgapp', number(1), 'Ana'])
  const [hello, update] = phone.messages
  assert.deepEqual([hello.from, hello.text, hello.status], ['customer', 'hello', 'delivered'])
  assert.deepEqual([update.id, update.status, update.template.body], [id, 'read', 'Your order #1 is there now.'])
  assert.deepEqual(update.template.buttons, [
    { index: 0, type: 'URL', text: 'Track it', url: 'https://shop.example/orders/4711' },
  ])
})

/** The program itself, in a process of its own. */
async function launch(t: TestContext, dir: string, ...args: string[]): Promise<Client & Program> {
  const program = await createSimulatorProgram(t, dir, ...args)
  await program.start()
  return { ...clientOf(program.url), ...program }
}

test('alone it listens on loopback and says so; a wider address is warned of and downloads less', async (t) => {
  const receiver = await startReceiver(t)
  const picture = new URL('/media/picture.jpg', receiver.url).href
  const [account] = accountsFor(receiver.url)
  const local = await launch(t, createFolder(t))
  await until('what it says', () => local.output().includes('It listens on loopback'))
  await local.control('PUT', 'accounts', account)
  const write = (client: Client) =>
    client.control('POST', 'inbound', { from: number(1), type: 'image', media: { url: picture } })
  assert.equal((await write(local)).status, 200)
  // Clients that can be given a host only find the provider's API at the root.
  const atRoot = await fetch(`${local.origin}/v25.0/2002`, { headers: { authorization: 'Bearer token' } })
  assert.equal(((await atRoot.json()) as Json).id, '2002')

  const wide = await launch(t, createFolder(t), '--host', '0.0.0.0', '--public-url', 'http://sim.test:5000')
  await until('the warning', () =>
    /Warning: the simulator listens on 0\.0\.0\.0 and has no sign-in/.test(wide.output()),
  )
  await wide.control('PUT', 'accounts', account)
  assert.match((await write(wide)).body.error.message, /is not a public address/)
  for (const [host, status] of [
    ['sim.test:5000', 200],
    ['evil.example', 421],
  ] as const) {
    assert.equal((await ask(`${wide.origin}/simulator/control/sent`, { headers: { host } })).status, status, host)
  }
})

test('killed in the middle, it goes on with every report and callback, and forgets nothing', async (t) => {
  const receiver: Receiver = await startReceiver(t)
  const dir = createFolder(t)
  const simulator = await launch(t, dir)
  const journal = join(dir, `${new URL(simulator.url).port}.jsonl`)
  for (const account of accountsFor(receiver.url)) {
    assert.deepEqual((await simulator.control('PUT', 'accounts', account)).body, { data: { registered: true } })
  }
  await simulator.control('POST', 'inbound', { from: number(1), name: 'Ana', text: 'hello' })
  await simulator.graph('POST', '1001/message_templates', {
    name: 'mine',
    language: 'en_US',
    category: 'UTILITY',
    components: [{ type: 'BODY', text: 'Mine.' }],
  })
  await simulator.graph('POST', '2002/whatsapp_business_profile', { messaging_product: 'whatsapp', about: 'Pottery' })
  const blocked = { messaging_product: 'whatsapp', block_users: [{ user: number(1) }] }
  await simulator.graph('POST', '2002/block_users', blocked)
  await simulator.graph('DELETE', '2002/block_users', blocked)
  receiver.answers.push(...Array.from({ length: 40 }, () => 500))
  assert.equal((await simulator.control('POST', 'inbound', { from: number(2), text: 'not taken' })).status, 502)
  const ids = (
    await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        simulator.template(number(i), 'hello_world', undefined, { biz_opaque_callback_data: `our ${i}` }),
      ),
    )
  ).map(idOf)
  assert.equal((await simulator.social('1', { text: 'x' })).status, 400)
  await simulator.kill('SIGKILL')
  receiver.answers.length = 0
  receiver.callbacks.length = 0
  appendFileSync(journal, '{"k":"m","p":"full","r":"1')

  await simulator.start()
  for (const [i, id] of ids.entries()) {
    await until(`all statuses of ${i}`, () => new Set(receiver.statuses(id).map(({ status }) => status)).size === 3)
    assert.equal(receiver.statuses(id)[0].biz_opaque_callback_data, `our ${i}`)
  }
  await until('the callback that was not taken', () =>
    receiver.messages().some(({ text }) => text.body === 'not taken'),
  )
  assert.equal(receiver.messages().filter(({ text }) => text.body === 'hello').length, 0)
  const sent = (await simulator.control('GET', 'sent')).body.data
  assert.deepEqual(sent.map(({ message_id }: Json) => message_id).sort(), [...ids].sort())

  // Windows, templates and phones are as they were.
  const inside = await simulator.send({ to: number(1), type: 'text', text: { body: 'still open' } })
  await receiver.ladder(idOf(inside), 'sent', 'delivered', 'read')
  assert.equal((await simulator.template(number(3), 'mine')).status, 200)
  assert.equal((await simulator.graph('GET', '2002/whatsapp_business_profile')).body.data[0].about, 'Pottery')
  const { phones } = (await simulator.control('GET', 'phones')).body.data
  const ana = phones.find(({ id }: Json) => id === number(1))
  assert.deepEqual([ana.name, ana.messages[0].text, ana.messages[1].status], ['Ana', 'hello', 'read'])
  await receiver.ladder(idOf(await simulator.template('+15005550006')), 'sent', 'failed')
  await simulator.kill('SIGTERM')
  for (const line of readFileSync(journal, 'utf8').trimEnd().split('\n')) JSON.parse(line)

  // What was reported is not reported again.
  receiver.callbacks.length = 0
  await simulator.start()
  const after = (await simulator.control('GET', 'phones')).body.data.phones
  assert.equal(after.find(({ id }: Json) => id === '+15005550006').messages[0].error.code, 131000)
  const last = idOf(await simulator.template(number(4)))
  await receiver.ladder(last, 'sent', 'delivered', 'read')
  const reported = new Set(receiver.statuses().map(({ id }) => id))
  const others = [...reported].filter((id) => id !== last && ids.includes(id))
  assert.deepEqual(others, [])
})
