/** What members know about a contact: attributes, notes, the page of a web visitor, duplicates. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertRefused, createMember, type Json, main, startSignedIn } from './support.ts'

async function withContact(t: TestContext) {
  const world = await startSignedIn(t)
  const contact = (await world.ask('POST', '/contacts', { phone: '+14155550100', name: 'Ann Porter' }, 201)).data
  const change = async (attributes: Json) =>
    (await world.ask('PATCH', `/contacts/${contact.id}`, { attributes })).data.attributes
  return { ...world, id: contact.id as string, change }
}

test('attributes are texts, numbers and booleans; a change is merged and null removes one', main, async (t) => {
  const { id, api, browser, change, get, ask } = await withContact(t)
  assert.deepEqual((await get(`/contacts/${id}`)).attributes, {})
  assert.deepEqual(await change({ plan: 'gold', seats: 3, is_beta: false }), { plan: 'gold', seats: 3, is_beta: false })
  assert.deepEqual(await change({ seats: null, score: 1.5 }), { plan: 'gold', is_beta: false, score: 1.5 })
  // Concurrent changes of different attributes all succeed.
  await Promise.all(Array.from({ length: 20 }, (_, i) => change({ [`k${i}`]: i })))
  assert.equal(Object.keys((await get(`/contacts/${id}`)).attributes).length, 23)
  for (const [attributes, message] of [
    [{ Plan: 'x' }, /attributes\.Plan/],
    [{ '1a': 'x' }, /attributes\.1a/],
    [{ [`a${'b'.repeat(40)}`]: 'x' }, /attributes\.ab/],
    [{ plan: 'x'.repeat(501) }, /500 characters/],
    [{ plan: ['x'] }, /attributes\.plan/],
    [{ plan: { a: 1 } }, /attributes\.plan/],
    [Object.fromEntries(Array.from({ length: 28 }, (_, i) => [`new${i}`, i])), /50 entries/],
  ] as const) {
    assertBadRequest(await browser.call('PATCH', `/contacts/${id}`, { attributes }), message)
  }
  assert.equal(Object.keys((await get(`/contacts/${id}`)).attributes).length, 23)
  assert.deepEqual((await api.get(`/contacts/${id}`)).body.data.attributes, (await get(`/contacts/${id}`)).attributes)
  const [entry] = await get('/audit')
  assert.deepEqual([entry.action, entry.summary], ['contact.changed', 'attributes'])
  assert.equal((await ask('GET', '/contacts')).data[0].attributes.plan, 'gold')
})

test('members write notes about a contact, and only the author deletes one', async (t) => {
  const { id, ask, browser } = await withContact(t)
  const note = (await ask('POST', `/contacts/${id}/notes`, { text: '  Prefers mornings ' }, 201)).data
  assert.equal(note.text, 'Prefers mornings')
  const ben = await createMember(browser, 'agent', { name: 'Ben' })
  const second = (await ben.call('POST', `/contacts/${id}/notes`, { text: 'Second' })).body.data
  assert.equal(second.author.name, 'Ben')
  const page = await ask('GET', `/contacts/${id}/notes?limit=1`)
  assert.deepEqual(page.data, [second])
  assert.deepEqual((await ask('GET', `/contacts/${id}/notes?cursor=${page.meta.next_cursor}`)).data, [note])
  assertRefused(await ben.call('DELETE', `/contacts/${id}/notes/${note.id}`), 403, 'forbidden')
  await ask('DELETE', `/contacts/${id}/notes/${note.id}`)
  assert.deepEqual((await ask('GET', `/contacts/${id}/notes`)).data, [second])
  assertRefused(await browser.call('DELETE', `/contacts/${id}/notes/${note.id}`), 404, 'not_found')
  for (const text of ['  ', 'x'.repeat(10_001)])
    assertBadRequest(await browser.call('POST', `/contacts/${id}/notes`, { text }))
})

test("the last page and the browser of a web visitor are kept, without the page's query string", async (t) => {
  const { id, api, db, url, connect, ask, get } = await withContact(t)
  const site = `${url}/web-chat/${(await connect()).connections.web.id}`
  const headers = { 'content-type': 'application/json', 'user-agent': 'Tested/1.0' }
  const { data } = (await (await fetch(`${site}/visitors`, { method: 'POST' })).json()) as Json
  const own = { ...headers, 'x-visitor-token': data.visitor_token }
  const write = (page: Json) =>
    fetch(`${site}/messages`, { method: 'POST', headers: own, body: JSON.stringify({ text: 'hi', page }) })
  assert.equal((await write({ url: 'https://shop.test/cart?token=secret#pay', title: 'Cart' })).status, 201)
  const [{ contact_id }] = (await ask('GET', '/conversations')).data
  const { seen_at, ...visit } = await get(`/contacts/${contact_id}/visit`)
  const shown = { url: 'https://shop.test/cart', title: 'Cart', user_agent: 'Tested/1.0' }
  assert.deepEqual(visit, { ...shown, customer_id: null })
  assert.ok(Math.abs(Date.parse(seen_at) - Date.now()) < 60_000)
  await db`
    update contact_identities set visit = visit || jsonb_build_object('seen_at', now() - interval '11 seconds')
    where workspace_id = ${api.workspaceId} and channel = 'web'`
  const abort = new AbortController()
  const query = new URLSearchParams({ token: data.visitor_token, page_url: 'https://shop.test/pay?card=4111' })
  await fetch(`${site}/stream?${query}`, { headers, signal: abort.signal })
  abort.abort()
  assert.equal((await get(`/contacts/${contact_id}/visit`)).url, 'https://shop.test/pay')
  assert.equal((await write({ url: 'javascript:alert(1)' })).status, 201)
  assert.equal((await get(`/contacts/${contact_id}/visit`)).url, 'https://shop.test/pay')
  assert.equal(await get(`/contacts/${id}/visit`), null)
})

test('contacts with the same e-mail address, or the same name and company, are offered as duplicates', async (t) => {
  const { id, ask, get } = await withContact(t)
  const create = async (phone: string, fields: Json) =>
    (await ask('POST', '/contacts', { phone, ...fields }, 201)).data.id
  const byEmail = await create('+14155550101', { email: 'ANN@x.test' })
  const byName = await create('+14155550102', { name: 'ann porter', company: 'Porter Ltd' })
  await create('+14155550103', { name: 'Ann Porter' })
  await create('+14155550104', { email: 'joann@x.test' })
  assert.deepEqual(await get(`/contacts/${id}/duplicates`), [])
  await ask('PATCH', `/contacts/${id}`, { email: 'ann@x.test', company: 'porter ltd' })
  const found = await get(`/contacts/${id}/duplicates`)
  const reasons = found.map(({ contact, reason }: Json) => [contact.id, reason])
  assert.deepEqual(reasons.flat(), [byEmail, 'email', byName, 'name_and_company'])
})

test('an e-mail address that only a web visitor typed makes no duplicate', async (t) => {
  const { id, api, db, url, connect, ask, get } = await withContact(t)
  await ask('PATCH', `/contacts/${id}`, { email: 'ann@x.test' })
  const site = `${url}/web-chat/${(await connect()).connections.web.id}`
  const writeAs = async (messages: Json[]): Promise<string> => {
    const { data } = (await (await fetch(`${site}/visitors`, { method: 'POST' })).json()) as Json
    const headers = { 'content-type': 'application/json', 'x-visitor-token': data.visitor_token }
    const answers: Json[] = []
    for (const message of messages) {
      const answer = await fetch(`${site}/messages`, { method: 'POST', headers, body: JSON.stringify(message) })
      answers.push((await answer.json()) as Json)
    }
    return (await get(`/conversations/${answers[0]?.data.conversation_id}`)).contact_id
  }
  const first = await writeAs([{ text: 'hi', email: 'Ann@X.test' }])
  const later = await writeAs([{ text: 'hi' }, { text: 'it is me', email: 'ann@x.test' }])
  for (const contactId of [id, first, later]) assert.deepEqual(await get(`/contacts/${contactId}/duplicates`), [])
  // The address stays typed by a visitor in a merged contact that had none.
  const other = (await ask('POST', '/contacts', { phone: '+14155550109' }, 201)).data.id
  assert.equal((await ask('POST', `/contacts/${other}/merge`, { contact_id: later })).data.email, 'ann@x.test')
  for (const contactId of [id, other]) assert.deepEqual(await get(`/contacts/${contactId}/duplicates`), [])
  // A member gives an address, and the typed one is not kept.
  await ask('PATCH', `/contacts/${id}`, { email: 'ann@corp.test' })
  await ask('PATCH', `/contacts/${first}`, { email: 'ann@corp.test' })
  const left = (await get(`/contacts/${id}/duplicates`)).map(({ contact, reason }: Json) => [contact.id, reason])
  assert.deepEqual(left, [[first, 'email']])
  const typed = await db`select from contacts where workspace_id = ${api.workspaceId} and typed_email_key is not null`
  assert.equal(typed.length, 1, 'only that of the merged contact')
})
