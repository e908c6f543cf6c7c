/** Opting out of broadcasts: by word, by the channel's preference, by a member's switch; the later decision holds. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertRefused, assertStatus, dataOf } from './assertions.ts'
import { recordEvents } from './receiver.ts'
import { createBrowser, createMember, type Json, signIn, start, toListed, type World } from './support.ts'

const phone = '+14155550100'
const hello = { type: 'template', template: { name: 'hello_world' } }
const secondMs = 1_000
const minuteMs = 60 * secondMs

/** Whole seconds, like the timestamps of the channel. */
const ago = (ms: number) => Math.floor((Date.now() - ms) / secondMs)
const isoOf = (seconds: number) => new Date(seconds * secondMs).toISOString()

async function startOptingOut(t: TestContext) {
  const world = await start(t)
  const provider = await world.connect({ messagesPerSecond: 10_000 })
  const browser = await signIn(world)
  const writes = (text: string, more: Json = {}) => provider.writes({ from: phone, text, ...more })
  const prefers = (value: string, timestamp = ago(0), who: Json = { wa_id: phone.slice(1) }) =>
    provider.callback({
      object: 'whatsapp_business_account',
      entry: [
        {
          changes: [
            {
              field: 'user_preferences',
              value: {
                messaging_product: 'whatsapp',
                user_preferences: [{ ...who, category: 'marketing_messages', value, timestamp }],
              },
            },
          ],
        },
      ],
    })
  return { ...world, provider, browser, writes, prefers, contact: contactOf(world, browser) }
}

/** The contact with a number, as members see it. */
const contactOf =
  ({ api }: World, browser: ReturnType<typeof createBrowser>) =>
  async (number = phone): Promise<Json> => {
    const [found] = (await api.get(`/contacts?search=${encodeURIComponent(number)}`)).body.data
    return found && (await browser.call('GET', `/contacts/${found.id}`)).body.data
  }

const stateOf = ({ opted_out_at, opted_out_by }: Json) => ({ opted_out_at, opted_out_by })
const isIn = { opted_out_at: null, opted_out_by: null }

test('STOP opts the contact out and START in again; both are stored as messages, and direct sends still work', async (t) => {
  const world = await startOptingOut(t)
  const { api, browser, writes, contact } = world
  const eventsOf = await recordEvents(t, world)
  await writes('hello')
  assert.deepEqual(stateOf(await contact()), isIn)

  const at = ago(0)
  const id = await writes(' “Stop!” ', { timestamp: at })
  assert.deepEqual(stateOf(await contact()), { opted_out_at: isoOf(at), opted_out_by: 'customer' })
  const [conversation] = (await api.get('/conversations')).body.data
  const [message] = (await api.get(`/conversations/${conversation.id}/messages`)).body.data
  assert.deepEqual(
    [message.content_text, message.content_type, message.direction, message.msgapp_message_id],
    [' “Stop!” ', 'text', 'inbound', id],
  )
  assert.deepEqual([conversation.unread_count, conversation.status], [2, 'open'])
  assert.equal((await eventsOf('message.received')).length, 2)

  assert.equal((await api.post('/messages', { to: phone, text: 'we read it' })).status, 201)
  assert.equal((await api.post('/messages', { to: phone, ...hello })).status, 201)
  assertStatus(await browser.call('POST', `/conversations/${conversation.id}/messages`, { text: 'bye' }), 201)

  await writes('start')
  assert.deepEqual(stateOf(await contact()), isIn)
  await writes('UNSUBSCRIBE')
  assert.equal((await contact()).opted_out_by, 'customer')
  await writes('please start again')
  assert.equal((await contact()).opted_out_by, 'customer')
})

test('STOP works as the first message of an unknown contact, and as a tapped button', async (t) => {
  const { api, provider, writes, contact } = await startOptingOut(t)
  await writes('STOP')
  assert.equal((await contact()).opted_out_by, 'customer')
  const tap = { type: 'button', button: { id: 'x', title: 'Start' } }
  await provider.writes({ from: phone, ...tap })
  assert.deepEqual(stateOf(await contact()), isIn)
  // A template's quick reply comes as a type of its own.
  const { msgapp_message_id: template } = (await api.post('/messages', { to: phone, ...hello })).body.data
  await provider.writes({ from: phone, type: 'button', button: { id: 'x', title: 'Stop' }, reply_to: template })
  assert.equal((await contact()).opted_out_by, 'customer')
  await provider.writes({ from: phone, type: 'list', button: { id: 'x', title: 'START' } })
  assert.deepEqual(stateOf(await contact()), isIn)
  await provider.writes({ from: phone, type: 'image', media: { caption: 'STOP' } })
  await provider.writes({ from: phone, type: 'button', button: { id: 'STOP', title: 'Bus stop' } })
  assert.deepEqual(stateOf(await contact()), isIn)
})

test('the latest decision by channel time wins: a late report undoes nothing', async (t) => {
  const { writes, prefers, contact, browser } = await startOptingOut(t)
  const minutes = (n: number) => ago(n * minuteMs)
  const outSince = (seconds: number, by = 'customer') => ({ opted_out_at: isoOf(seconds), opted_out_by: by })

  const stop = minutes(30)
  await writes('STOP', { timestamp: stop })
  await writes('START', { timestamp: minutes(40) })
  assert.deepEqual(stateOf(await contact()), outSince(stop), 'an older START')
  const start = minutes(20)
  const started = await writes('START', { timestamp: start })
  await writes('STOP', { timestamp: minutes(25) })
  assert.deepEqual(stateOf(await contact()), isIn, 'an older STOP')
  await prefers('stop', minutes(21))
  assert.deepEqual(stateOf(await contact()), isIn, 'an older preference')
  const preference = minutes(15)
  await prefers('stop', preference)
  assert.deepEqual(stateOf(await contact()), outSince(preference, 'channel'))
  // The channel repeats what it got no answer to.
  await writes('START', { timestamp: minutes(1), message_id: started })
  assert.deepEqual(stateOf(await contact()), outSince(preference, 'channel'), 'a repeat of a message')
  await prefers('resume', minutes(14))
  await prefers('stop', preference)
  assert.deepEqual(stateOf(await contact()), isIn, 'a repeat of a preference')

  const { id } = await contact()
  const switched = await browser.call('PATCH', `/contacts/${id}`, { opted_out: true })
  assert.equal(switched.body.data.opted_out_by, 'member')
  await writes('START', { timestamp: minutes(1) })
  assert.equal((await contact()).opted_out_by, 'member', 'a START from before the switch')
  await writes('START')
  assert.deepEqual(stateOf(await contact()), isIn, 'a START in the same second as the switch')
})

test('a time in the future counts as now, so that later decisions still win', async (t) => {
  const { writes, contact } = await startOptingOut(t)
  await writes('STOP', { timestamp: ago(-3600 * secondMs) })
  const { opted_out_at } = await contact()
  assert.ok(Date.parse(opted_out_at) <= Date.now() + secondMs, opted_out_at)
  await writes('START', { timestamp: ago(-2 * secondMs) })
  assert.deepEqual(stateOf(await contact()), isIn)
})

test('of many opt-out decisions in one callback the latest of each contact wins, in any order', async (t) => {
  const { provider, contact } = await startOptingOut(t)
  const from = ago(minuteMs)
  const people = Array.from({ length: 20 }, (_, i) => `+141555560${String(i).padStart(2, '0')}`)
  const messages = people.flatMap((number, i) => {
    const words = i % 2 === 0 ? ['START', 'hello', 'STOP'] : ['STOP', 'hello', 'START']
    const said = words.map((body, place) => ({
      from: number.slice(1),
      id: `wamid.${i}.${place}`,
      // A third of them in one second: then the order of arrival decides.
      timestamp: String(from + (i % 3 === 0 ? 0 : place)),
      type: 'text',
      text: { body },
    }))
    return i % 3 === 1 ? said.reverse() : said
  })
  const body = {
    object: 'whatsapp_business_account',
    entry: [{ changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', messages } }] }],
  }
  assert.deepEqual(await Promise.all([provider.callback(body), provider.callback(body)]), [200, 200])
  for (const [i, number] of people.entries()) {
    assert.equal((await contact(number)).opted_out_by, i % 2 === 0 ? 'customer' : null, number)
  }
})

test("the channel's own preference opts contacts out and in, and creates an unknown contact once", async (t) => {
  const world = await startOptingOut(t)
  const { api, db, prefers, contact, writes } = world
  const eventsOf = await recordEvents(t, world)
  await writes('hello')
  const at = ago(0)
  assert.equal(await prefers('stop', at), 200)
  assert.deepEqual(stateOf(await contact()), { opted_out_at: isoOf(at), opted_out_by: 'channel' })
  assert.equal(await prefers('resume', at), 200)
  assert.deepEqual(stateOf(await contact()), isIn)

  const stranger = '+14155550177'
  const who = { wa_id: stranger.slice(1), user_id: 'US.1234567890' }
  const asked = Array.from({ length: 5 }, () => prefers('stop', at, who))
  assert.deepEqual(await Promise.all(asked), [200, 200, 200, 200, 200])
  assert.equal((await contact(stranger)).opted_out_by, 'channel')
  assert.equal((await eventsOf('contact.created')).filter(({ data }) => data.phone === stranger).length, 1)
  assert.equal((await api.get('/conversations')).body.data.length, 1, 'no message was created')
  assert.equal(await prefers('resume', at, { user_id: who.user_id }), 200)
  assert.deepEqual(stateOf(await contact(stranger)), isIn)
  for (const odd of [{ value: 'maybe' }, { category: 'everything' }]) {
    assert.equal(await prefers('stop', at, { ...who, ...odd }), 200)
  }
  const [counted] = await db`select count(*)::int as n from contacts where workspace_id = ${api.workspaceId}`
  assert.equal(counted?.n, 2)
})

test('opt-out words of a workspace take effect from the next message on, in every process', async (t) => {
  const { browser, writes, contact, twin, owner } = await startOptingOut(t)
  await writes('basta')
  assert.deepEqual(stateOf(await contact()), isIn)
  const elsewhere = createBrowser(await twin())
  await elsewhere.signIn(owner)
  const words = [' Basta ', 'ОТПИСКА', 'basta!', 'no más']
  const changed = await elsewhere.call('PATCH', '/workspace', { opt_out_words: words })
  assert.deepEqual(changed.body.data.opt_out_words, ['Basta', 'ОТПИСКА', 'no más'])
  for (const text of ['BASTA', 'отписка.', 'No Ma\u0301s', 'STOP', 'Unsubscribe']) {
    await writes(text)
    assert.equal((await contact()).opted_out_by, 'customer', text)
    await writes('Start')
    assert.deepEqual(stateOf(await contact()), isIn)
  }
  await browser.call('PATCH', '/workspace', { opt_out_words: [] })
  await writes('basta')
  assert.deepEqual(stateOf(await contact()), isIn)
})

test('opt-out words apply to the primary channel only', async (t) => {
  const { api, provider, browser, url } = await startOptingOut(t)
  await provider.writes({ channel: 'social', from: '90000001', username: 'ann', text: 'STOP' })
  const site = `${url}/web-chat/${provider.connections.web.id}`
  const visitor: Json = await (await fetch(`${site}/visitors`, { method: 'POST' })).json()
  const written = await fetch(`${site}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-visitor-token': visitor.data.visitor_token },
    body: JSON.stringify({ text: 'STOP' }),
  })
  assert.equal(written.status, 201)
  const people = (await api.get('/contacts')).body.data
  assert.equal(people.length, 2)
  for (const { id } of people) {
    assert.deepEqual(stateOf((await browser.call('GET', `/contacts/${id}`)).body.data), isIn)
  }
})

test("a member changes opted_out, alone or with the contact's other fields; an equal value changes nothing", async (t) => {
  const { api, browser, writes, contact } = await startOptingOut(t)
  await writes('STOP', { timestamp: ago(minuteMs) })
  const before = await contact()
  const path = `/contacts/${before.id}`
  const same = await browser.call('PATCH', path, { opted_out: true })
  assert.deepEqual(stateOf(same.body.data), stateOf(before), 'only the customer decided it')
  const on = dataOf(await browser.call('PATCH', path, { opted_out: false, name: 'Ann', tags: ['VIP'], email: '' }))
  assert.deepEqual([stateOf(on), on.name, on.tags[0].name, on.email], [isIn, 'Ann', 'VIP', null])
  const off = (await browser.call('PATCH', path, { opted_out: true })).body.data
  assert.equal(off.opted_out_by, 'member')
  assert.ok(Math.abs(Date.now() - Date.parse(off.opted_out_at)) < minuteMs)
  assert.deepEqual(toListed((await browser.call('GET', path)).body.data), off)
  assertBadRequest(await browser.call('PATCH', path, { opted_out: false, tags: [' '] }), /^tags\[0\]: /)
  assert.equal((await contact()).opted_out_by, 'member')

  // The public contact has its own fields and no others.
  const { opted_out_at: _, opted_out_by: __, username: ___, ...shown } = off
  assert.deepEqual(toListed((await api.get(path)).body.data), shown)
  const changes = { opted_out_by: 'customer', optedOutReason: false, opted_out_at: null, name: 'Bo' }
  const changed = await api.patch(path, changes)
  assert.deepEqual(Object.keys(changed.body.data).sort(), Object.keys(shown).sort())
  assert.equal((await contact()).opted_out_by, 'member')
  assert.equal((await api.patch(path, { opted_out: false })).body.data.opted_out, false)
  await api.patch(path, { opted_out: true })
  assert.equal((await contact()).opted_out_by, 'api')
})

test('an invalid contact or workspace is rejected by field, and a missing role by permission', async (t) => {
  const world = await startOptingOut(t)
  const { browser, writes, contact, api, url } = world
  await writes('hi')
  const { id } = await contact()
  const refused = async (path: string, body: unknown, message: RegExp) =>
    assertBadRequest(await browser.call('PATCH', path, body), message)
  for (const value of ['true', 1, []]) await refused(`/contacts/${id}`, { opted_out: value }, /^opted_out: /)
  await refused(`/contacts/${id}`, { phone: '+14155550199' }, /^phone: /)
  await refused('/workspace', { name: ' ' }, /^name: /)
  await refused('/workspace', { name: 'x'.repeat(81) }, /^name: .*80/)
  await refused('/workspace', { opt_out_words: 'stop' }, /^opt_out_words: /)
  await refused('/workspace', { opt_out_words: ['ok', 5] }, /^opt_out_words/)
  await refused('/workspace', { opt_out_words: ['ok', ' '] }, /^opt_out_words\[1\]: /)
  await refused('/workspace', { opt_out_words: ['start'] }, /^opt_out_words\[0\]: /)
  await refused('/workspace', { name: 'New', opt_out_words: ['x'.repeat(81)] }, /^opt_out_words\[0\]: .*80/)
  await refused('/workspace', { opt_out_words: Array.from({ length: 51 }, (_, i) => `w${i}`) }, /^opt_out_words: .*50/)
  for (const wrong of ['nonsense', '01890000-0000-7000-8000-000000000000']) {
    assertRefused(await browser.call('GET', `/contacts/${wrong}`), 404, 'not_found')
    assertRefused(await browser.call('PATCH', `/contacts/${wrong}`, { opted_out: true }), 404, 'not_found')
    assertRefused(await browser.call('PATCH', `/contacts/${wrong}`, {}), 404, 'not_found')
  }

  const { data: workspace } = (await browser.call('GET', '/workspace')).body
  assert.deepEqual(
    { ...workspace, plan: { ...workspace.plan, resets_at: '' } },
    {
      id: api.workspaceId,
      name: 'Acme',
      default_country: 'US',
      time_zone: 'UTC',
      opt_out_words: [],
      requires_second_factor: false,
      assign_on_reply: false,
      agents_see: 'all',
      viewers_see: 'all',
      plan: { state: 'active', messages_per_month: null, used: 0, left: null, resets_at: '' },
    },
  )
  assert.deepEqual((await browser.call('PATCH', '/workspace', {})).body.data, workspace)

  for (const role of ['admin', 'agent'] as const) {
    const member = await createMember(browser, role)
    assert.equal((await member.call('GET', '/workspace')).status, 200)
    assert.equal((await member.call('PATCH', `/contacts/${id}`, { opted_out: role === 'admin' })).status, 200)
    const renamed = await member.call('PATCH', '/workspace', { name: `By ${role}` })
    if (role === 'agent') assertRefused(renamed, 403, 'forbidden', /owner and admin/)
    else assert.equal(renamed.body.data.name, 'By admin')
    assert.equal((await member.call('GET', '/session')).body.data.workspace.name, 'By admin')
  }
  for (const [method, path, body] of [
    ['GET', '/workspace'],
    ['GET', `/contacts/${id}`],
    ['PATCH', '/workspace', {}],
    ['PATCH', `/contacts/${id}`, {}],
  ] as const) {
    assertRefused(await createBrowser(url).call(method, path, body), 401, 'unauthorized')
    if (method === 'GET') continue
    const elsewhere = { origin: 'https://evil.test' }
    assertRefused(await browser.call(method, path, body, elsewhere), 403, 'forbidden', /a page of this service/)
  }
})
