/** `POST /contacts/batch`: the effect of single requests in their order, without one stopping the others. */
import assert from 'node:assert/strict'
import { type ClientRequest, request } from 'node:http'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { assertCheap } from './cpu.ts'
import {
  type Api,
  assertBadRequest,
  assertRefused,
  dataOf,
  type Json,
  main,
  pluck,
  start,
  toListed,
  until,
} from './support.ts'

const phoneOf = (n: number) => `+1415${String(5_550_000 + n).padStart(7, '0')}`
const post = (api: Api, contacts: unknown[], headers: Record<string, string> = {}) =>
  api.post('/contacts/batch', { contacts }, { headers })

async function batch(api: Api, contacts: unknown[]): Promise<Json[]> {
  const answer = dataOf(await post(api, contacts))
  assert.deepEqual(pluck(answer, 'index'), [...contacts.keys()])
  return answer
}

const getContact = async (api: Api, id: string): Promise<Json> => toListed((await api.get(`/contacts/${id}`)).body.data)
const tagNames = ({ tags }: Json): string[] => tags.map(({ name }: Json) => name)

test('items create, find, update or fail, each alone and in order', main, async (t) => {
  const { api, workspace } = await start(t)
  const { api: neighbour } = await workspace()
  await neighbour.post('/contacts', { phone: phoneOf(1), name: 'Theirs' })
  const known = (await api.post('/contacts', { phone: phoneOf(1), name: 'Ann', tags: ['a', 'b'] })).body.data
  const kept = (await api.post('/contacts', { phone: phoneOf(2), name: 'Bob' })).body.data
  const results = await batch(api, [
    { phone: phoneOf(1), name: 'Anna', email: '', tags: ['B', 'c'], attributes: { x: 1 }, if_exists: 'update' },
    { phone: phoneOf(2), name: 'Other', tags: ['never'] },
    {
      phone: '(415) 555-0003',
      name: 'New',
      company: 'Acme',
      tags: ['c', 'd'],
      attributes: { y: 'z' },
      opted_out: true,
    },
    { phone: '12' },
    { name: 'No phone' },
    { phone: phoneOf(4), name: 5 },
    'text',
    null,
    { phone: phoneOf(5), attributes: { Bad: 1 } },
    { phone: phoneOf(6), tags: [''] },
    { phone: phoneOf(7), if_exists: 'replace' },
    { phone: phoneOf(8), name: 'a\0b' },
    { phone: phoneOf(9), name: null, email: null, tags: null, opted_out: null },
  ])
  assert.deepEqual(results[0], { index: 0, id: known.id, created: false })
  assert.deepEqual(results[1], { index: 1, id: kept.id, created: false })
  assert.deepEqual([results[2].created, results[12].created], [true, true])
  const messages = results.slice(3, 12).map(({ error }) => `${error.code} ${error.message}`)
  const expected = [
    /^bad_request phone: not a phone number$/,
    /^bad_request phone: required$/,
    /^bad_request name: must be a string or null$/,
    /^bad_request body: must be an object$/,
    /^bad_request body: must be an object$/,
    /^bad_request attributes\.Bad: a name has/,
    /^bad_request tags\[0\]: must not be blank$/,
    /^bad_request if_exists: must be one of keep, update$/,
    /^bad_request name: contains a character that is not text$/,
  ]
  messages.forEach((message, i) => {
    assert.match(message, expected[i] ?? /$^/)
  })
  const anna = await getContact(api, known.id)
  assert.deepEqual([anna.name, anna.email, anna.attributes, tagNames(anna)], ['Anna', null, { x: 1 }, ['b', 'c']])
  assert.deepEqual(await getContact(api, kept.id), kept)
  const made = await getContact(api, results[2].id)
  assert.deepEqual(
    [made.phone, made.name, made.company, made.attributes, made.opted_out, tagNames(made), made.channels],
    ['+14155550003', 'New', 'Acme', { y: 'z' }, true, ['c', 'd'], ['msgapp']],
  )
  assert.equal(made.created_at, made.updated_at)
  assert.equal((await api.get('/contacts')).body.data.length, 4)
  assert.ok(!(await api.get('/tags')).body.data.some(({ name }: Json) => name === 'never'))
  assert.equal((await neighbour.get('/contacts')).body.data[0].name, 'Theirs')
})

test('a number that occurs twice is one contact, and later items follow the rule of a known number', async (t) => {
  const { api } = await start(t)
  const many = (from: number, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${from + i}`, i]))
  const results = await batch(api, [
    { phone: '5550001', name: 'unreadable' },
    { phone: phoneOf(1), name: 'First', tags: ['one'], attributes: many(0, 40) },
    { phone: '(415) 555-0001', name: 'Kept' },
    { phone: phoneOf(1), name: 'Second', if_exists: 'update' },
    { phone: phoneOf(1), name: 'Too many', attributes: many(40, 20), if_exists: 'update' },
    { phone: phoneOf(1), tags: ['two'], company: 'Acme', if_exists: 'update' },
  ])
  const { id } = results[1]
  assert.deepEqual(results.slice(1, 4), [
    { index: 1, id, created: true },
    { index: 2, id, created: false },
    { index: 3, id, created: false },
  ])
  assert.match(results[4].error.message, /^attributes: must have at most 50/)
  assert.deepEqual(results[5], { index: 5, id, created: false })
  const contact = await getContact(api, id)
  assert.deepEqual([contact.name, contact.company, tagNames(contact)], ['Second', 'Acme', ['two']])
  const again = await batch(api, [
    { phone: phoneOf(1), attributes: many(40, 20), name: 'Refused', if_exists: 'update' },
    { phone: phoneOf(1), name: 'Third', if_exists: 'update' },
  ])
  assert.match(again[0].error.message, /^attributes: /)
  assert.equal((await getContact(api, id)).name, 'Third')
})

test('an item that changes nothing leaves the contact as it is', async (t) => {
  const { api } = await start(t)
  const full = { phone: phoneOf(1), name: 'Ann', tags: ['a'], attributes: { x: 1, y: true }, opted_out: true }
  const [{ id }] = await batch(api, [full])
  const before = await getContact(api, id)
  await batch(api, [{ ...full, tags: ['A'], attributes: { y: true }, if_exists: 'update' }])
  assert.deepEqual(await getContact(api, id), before)
})

test('the list of items has 1 to 1,000, and the request is refused as a whole otherwise', async (t) => {
  const { api } = await start(t)
  assertBadRequest(await post(api, []), 'contacts: must have at least 1 item')
  const tooMany = Array.from({ length: 1_001 }, (_, n) => ({ phone: phoneOf(n) }))
  assertBadRequest(await post(api, tooMany), 'contacts: must have at most 1000 items')
  assertBadRequest(await api.post('/contacts/batch', {}), 'contacts: required')
  assertBadRequest(await api.post('/contacts/batch', { contacts: {} }), 'contacts: must be an array')
  const key = await api.key('contacts:read')
  assertRefused(await api.post('/contacts/batch', { contacts: tooMany }, { key }), 403, 'forbidden')
  assert.equal((await api.get('/contacts')).body.data.length, 0)
})

test('a thousand full items fit one request, and larger bodies are refused', async (t) => {
  const { api } = await start(t)
  const attributes = Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [`attribute_${i}`.padEnd(40, 'x'), 'v'.repeat(500)]),
  )
  const full = { name: 'n'.repeat(500), email: 'e'.repeat(320), company: 'c'.repeat(500), attributes }
  const tags = Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(80, 't'))
  const contacts = Array.from({ length: 1_000 }, (_, n) => ({ phone: phoneOf(n), ...full, tags: n < 20 ? tags : [] }))
  const results = await batch(api, contacts)
  assert.ok(results.every(({ created }) => created))
  const raw = JSON.stringify({ contacts: [{ phone: phoneOf(1) }] }).padEnd(40 * 1024 * 1024 + 1)
  assertBadRequest(await api.call('POST', '/contacts/batch', { raw }), 'body: over 40 MiB')
})

test('a compressed body of millions of values is refused before they take memory', async (t) => {
  const { api } = await start(t)
  const items = Buffer.from(`{"contacts":[{"phone":"${phoneOf(1)}"},[${'[],'.repeat(13_000_000)}[]]]}`)
  const raw = gzipSync(items, { level: 1 })
  // The service has to unpack the body, but not to create its values.
  await assertCheap('the batch', 100, async () => {
    const answer = await api.call('POST', '/contacts/batch', { raw, headers: { 'content-encoding': 'gzip' } })
    assertBadRequest(answer, 'body: more than 300000 values')
  })
})

test('at most ten batches of a workspace are in flight, and other workspaces have their own', async (t) => {
  const { api, url, workspace } = await start(t)
  const key = await api.key('contacts:write')
  const open = new Set<ClientRequest>()
  const contacts = [{ phone: phoneOf(1) }]
  const refused = await until('a refusal', async () => {
    if (open.size < 10) {
      // A batch whose body does not end. It is refused if it comes while another one has the tenth place.
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const call = request(`${url}/v1/contacts/batch`, { method: 'POST', headers }).on('error', () => {})
      call.on('response', () => open.delete(call))
      call.write('{"contacts":')
      open.add(call)
      return false
    }
    const answer = await post(api, contacts)
    return answer.status !== 200 && answer
  })
  assert.equal(open.size, 10)
  assertRefused(refused, 429, 'rate_limited', 'more than 10 batches at the same time; try again in 1 s')
  assert.equal(refused.headers.get('retry-after'), '1')
  const { api: other } = await workspace()
  assert.equal((await post(other, contacts)).status, 200)
  for (const call of open) call.destroy()
  await until('a free place', async () => (await post(api, contacts)).status === 200)
})

test('a repeat with the same Idempotency-Key replays the answer, and a batch is one request', async (t) => {
  const { api } = await start(t)
  const key = await api.key('contacts:write', 'contacts:read')
  const contacts = [{ phone: phoneOf(1) }, { phone: 'x' }]
  const call = () => api.post('/contacts/batch', { contacts }, { key, headers: { 'idempotency-key': 'batch 1' } })
  const first = await call()
  const second = await call()
  assert.deepEqual(second.body, first.body)
  assert.equal(second.headers.get('idempotent-replayed'), 'true')
  assert.equal(first.headers.get('x-ratelimit-remaining'), '119')
  assert.equal(second.headers.get('x-ratelimit-remaining'), '118')
})

test('each new contact of a batch has one event with its tags', main, async (t) => {
  const { api, db } = await start(t)
  await api.post('/webhooks', { url: 'https://127.0.0.1:9/x', events: ['contact.created'] })
  const items = Array.from({ length: 30 }, (_, n) => ({ phone: phoneOf(n % 20), tags: ['vip'], attributes: { n } }))
  await batch(api, items)
  await batch(api, items)
  const events = await until('events', async () => {
    const rows = await db<{ body: string }[]>`select body from webhook_events where workspace_id = ${api.workspaceId}`
    return rows.length >= 20 && rows
  })
  assert.equal(events.length, 20)
  const { data } = JSON.parse(events[0]?.body ?? '')
  const stored = await getContact(api, data.contact_id)
  assert.deepEqual(data.contact, stored)
})

test('batches with the same numbers, changes, merges and erasures at the same time lose nothing and fail nowhere', async (t) => {
  const { api, db } = await start(t)
  const range = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n)
  const shuffle = <Item>(items: Item[], seed: number) =>
    items
      .map((item, n) => ({ item, at: (n * 7919 + seed * 104_729) % 1_009 }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item)
  const batches = range(0, 8).map((b) =>
    post(
      api,
      shuffle(range(b * 20, 120), b).map((n) => ({
        phone: phoneOf(n),
        tags: [`t${n % 7}`, `b${b}`],
        attributes: { [`b${b}`]: n },
        if_exists: 'update',
      })),
    ),
  )
  const singles = range(0, 40).map((n) =>
    api.post('/contacts', { phone: phoneOf(n * 5), tags: [`t${n % 7}`, `s${n}`], if_exists: 'update' }),
  )
  const answers = await Promise.all([...batches, ...singles])
  for (const { status, text } of answers) assert.ok(status < 300, text)
  const [count] = await db`
    select count(*)::int as contacts, count(distinct phone)::int as phones from contacts where workspace_id = ${api.workspaceId}`
  assert.deepEqual({ ...count }, { contacts: 260, phones: 260 })
  // Attributes are merged, so each batch has left its mark on each of its contacts.
  const rows = await db<{ phone: string; attributes: Json }[]>`
    select phone, attributes from contacts where workspace_id = ${api.workspaceId}`
  for (const { phone, attributes } of rows) {
    const n = Number(phone.slice(5)) - 5_550_000
    const writers = range(0, 8).filter((b) => n >= b * 20 && n < b * 20 + 120)
    assert.deepEqual(Object.keys(attributes).sort(), writers.map((b) => `b${b}`).sort(), phone)
  }

  const contacts = (await api.get('/contacts?limit=60')).body.data as Json[]
  const numbers = contacts.map(({ phone }) => phone)
  const storm = await Promise.all([
    ...range(0, 4).map((b) =>
      post(
        api,
        shuffle(numbers, b).map((phone) => ({
          phone,
          attributes: { storm: b },
          tags: ['storm', `x${b}`],
          if_exists: 'update',
        })),
      ),
    ),
    ...range(0, 10).map((n) =>
      api.post(`/contacts/${contacts[n * 2].id}/merge`, { contact_id: contacts[n * 2 + 1].id }),
    ),
    ...range(20, 10).map((n) => api.delete(`/contacts/${contacts[n].id}`)),
    ...range(0, 40).map((n) =>
      api.patch(`/contacts/${contacts[n].id}`, { add_tags: ['storm', `p${n}`], remove_tags: ['x1'] }),
    ),
  ])
  for (const { status, text } of storm) assert.ok(status === 200 || status === 404, text)
  for (const { status, body } of storm.slice(0, 4)) {
    assert.equal(status, 200)
    assert.ok(body.data.every((result: Json) => result.id))
  }
  const identities = await db`
    select external_id from contact_identities where workspace_id = ${api.workspaceId} and external_id = any(${numbers})`
  const erased = range(20, 10).filter((n) => !identities.some(({ external_id }) => external_id === numbers[n]))
  assert.equal(identities.length + erased.length, numbers.length, 'only erased numbers are gone')
})
