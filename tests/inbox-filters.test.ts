/** What members see of the inbox: filters with several values, counts, unread marks, blocked contacts. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { assertBadRequest, assertStatus, dataOf, pluck } from './assertions.ts'
import { signIn } from './browser.ts'
import { recordEvents } from './receiver.ts'
import { type Json, start, until, withProvider } from './support.ts'

const ann = '+14155550101'
const ben = '+14155550102'
const cleo = 'social-user-1'

async function startInbox(t: TestContext) {
  const world = await withProvider(start(t))
  const browser = await signIn(world)
  const list = async (query = ''): Promise<Json[]> => dataOf(await browser.call('GET', `/conversations${query}`))
  const names = async (query: string) => (await list(query)).map(({ contact }) => contact.name).sort()
  const find = async (name: string): Promise<Json> => {
    const found = (await list()).find(({ contact }) => contact.name === name)
    assert.ok(found, name)
    return found
  }
  return { ...world, browser, list, names, find }
}

test('a filter takes several values, and conversations are found by tag, period and missing reply', async (t) => {
  const { provider, browser, api, db, names, find } = await startInbox(t)
  await provider.writes({ from: ann, name: 'Ann', text: 'one' })
  await provider.writes({ from: ben, name: 'Ben', text: 'two' })
  await provider.writes({ channel: 'social', from: cleo, name: 'Cleo', username: 'cleo', text: 'three' })
  const [a, b, c] = [await find('Ann'), await find('Ben'), await find('Cleo')]
  await browser.call('PATCH', `/conversations/${a.id}`, { labels: ['Refund, large'] })
  await browser.call('PATCH', `/conversations/${b.id}`, { labels: ['Delivery'] })
  const labels = dataOf(await browser.call('GET', '/labels'))
  const idOf = (name: string) => labels.find((label: Json) => label.name === name).id
  assert.deepEqual(await names(`?label=${idOf('Refund, large')},${idOf('Delivery')}`), ['Ann', 'Ben'])
  assert.deepEqual(await names(`?label=${encodeURIComponent('refund, LARGE')}`), ['Ann'])
  assert.deepEqual(await names('?label=none'), [])

  assert.deepEqual(await names('?channel=msgapp,social&status=open'), ['Ann', 'Ben', 'Cleo'])
  assert.deepEqual(await names('?channel=social,web'), ['Cleo'])
  assertBadRequest(await browser.call('GET', '/conversations?channel=msgapp,fax'), /^channel: must be one of/)

  const me = dataOf(await browser.call('GET', '/session')).member
  await browser.call('PATCH', `/conversations/${a.id}`, { assigned_agent_id: me.id })
  assert.deepEqual(await names('?assigned=me'), ['Ann'])
  assert.deepEqual(await names('?assigned=nobody,me&status=open'), ['Ann', 'Ben', 'Cleo'])
  assert.deepEqual(await names('?assigned=nobody,00000000-0000-0000-0000-000000000000'), ['Ben', 'Cleo'])
  assertBadRequest(await browser.call('GET', '/conversations?assigned=me,you'), /^assigned: /)

  await api.patch(`/contacts/${b.contact_id}`, { tags: ['vip'] })
  await api.patch(`/contacts/${c.contact_id}`, { tags: ['new'] })
  const tags = dataOf(await browser.call('GET', '/tags'))
  assert.deepEqual(await names('?tag=VIP'), ['Ben'])
  assert.deepEqual(await names(`?tag=${pluck(tags, 'id').join()}&status=open`), ['Ben', 'Cleo'])
  assert.deepEqual(await names('?tag=vip&search=ann'), [])
  assert.deepEqual(await names('?tag=absent'), [])
  // A search that finds more contacts than are selected first still decides.
  const many = Array.from({ length: 501 }, (_, i) => ({ phone: `+1415556${String(i).padStart(4, '0')}`, name: 'Zoe' }))
  assert.equal((await api.post('/contacts/batch', { contacts: many })).status, 200)
  assert.deepEqual(await names('?tag=vip&search=zoe'), [])
  assert.deepEqual(await names('?tag=vip&search=ben'), ['Ben'])

  assert.equal((await browser.call('POST', `/conversations/${b.id}/messages`, { text: 'answer' })).status, 201)
  assert.deepEqual(await names('?no_reply=true'), ['Ann', 'Cleo'])
  assert.deepEqual(await names('?no_reply=true&sort=waiting'), ['Ann', 'Cleo'])

  await db`
    update conversations set inbox_at = now() - interval '10 days'
    where workspace_id = ${api.workspaceId} and id = ${a.id}`
  assert.deepEqual(await names('?active_days=7'), ['Ben', 'Cleo'])
  const weekAgo = new Date(Date.now() - 7 * 86_400_000).toISOString()
  assert.deepEqual(await names(`?active_before=${weekAgo}`), ['Ann'])
  assert.deepEqual(await names(`?active_after=${weekAgo}&sort=waiting&status=open`), ['Ben', 'Cleo'])
  assertBadRequest(await browser.call('GET', '/conversations?active_days=0'), /^active_days: /)
  assertBadRequest(await browser.call('GET', '/conversations?active_after=soon'), /^active_after: /)
})

test('the sidebar counts open conversations of labels, members and saved views', async (t) => {
  const { url, provider, browser, find, workspace } = await startInbox(t)
  await provider.writes({ from: ann, name: 'Ann', text: 'one' })
  await provider.writes({ from: ben, name: 'Ben', text: 'two' })
  const me = dataOf(await browser.call('GET', '/session')).member
  const [a, b] = [await find('Ann'), await find('Ben')]
  await browser.call('PATCH', `/conversations/${a.id}`, { labels: ['Refund'], assigned_agent_id: me.id })
  await browser.call('PATCH', `/conversations/${b.id}`, { labels: ['Refund'] })
  const view = dataOf(
    await browser.call('POST', '/views', { name: 'Mine', filters: { assigned: 'me', status: 'open' } }),
    201,
  )
  const counts = async () => dataOf(await browser.call('GET', '/inbox/counts'))
  const [label] = dataOf(await browser.call('GET', '/labels'))
  assert.deepEqual(await counts(), {
    labels: [{ id: label.id, count: 2 }],
    members: [{ id: me.id, count: 1 }],
    teams: [],
    queues: [],
    views: [{ id: view.id, count: 1, has_more: false }],
    has_more: false,
  })
  await browser.call('PATCH', `/conversations/${a.id}`, { status: 'closed' })
  const after = {
    labels: [{ id: label.id, count: 1 }],
    members: [],
    teams: [],
    queues: [],
    views: [{ id: view.id, count: 0, has_more: false }],
    has_more: false,
  }
  await until('the counts to follow', async () => isDeepStrictEqual(await counts(), after))
  const { owner } = await workspace()
  const theirs = await signIn({ url, owner })
  assert.deepEqual(dataOf(await theirs.call('GET', '/inbox/counts')), {
    labels: [],
    members: [],
    teams: [],
    queues: [],
    views: [],
    has_more: false,
  })
})

test('pages of a filter with several values neither skip nor repeat a conversation while others arrive', async (t) => {
  const { provider, browser, find } = await startInbox(t)
  const me = dataOf(await browser.call('GET', '/session')).member
  for (const i of [1, 2, 3, 4, 5]) await provider.writes({ from: `+1415555010${i}`, name: `Person ${i}`, text: 'one' })
  for (const i of [2, 4]) {
    const { id } = await find(`Person ${i}`)
    await browser.call('PATCH', `/conversations/${id}`, { assigned_agent_id: me.id })
  }
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/conversations?assigned=nobody,me&channel=msgapp,web&limit=2${cursor ? `&cursor=${cursor}` : ''}`
    const { body } = await browser.call('GET', path)
    seen.push(...body.data.map(({ contact }: Json) => contact.name))
    cursor = body.meta.next_cursor
    // It sorts before the first page.
    if (seen.length === 2) await provider.writes({ from: '+14155550109', name: 'Late', text: 'one' })
  }
  assert.deepEqual(seen, ['Person 5', 'Person 4', 'Person 3', 'Person 2', 'Person 1'])
})

test('a reaction does not make a customer wait', async (t) => {
  const { provider, browser, find } = await startInbox(t)
  const first = await provider.writes({ from: ann, name: 'Ann', text: 'Thank you' })
  const { id } = await find('Ann')
  assert.equal((await browser.call('POST', `/conversations/${id}/messages`, { text: 'You are welcome' })).status, 201)
  assert.equal((await find('Ann')).waiting_since, null)
  await provider.writes({ from: ann, type: 'reaction', reply_to: first, text: '👍' })
  const after = await find('Ann')
  assert.equal(after.waiting_since, null)
  assert.equal(after.last_message.content_type, 'reaction')
  // Neither does it in a closed conversation, and a question makes the customer wait from then on.
  await browser.call('PATCH', `/conversations/${id}`, { status: 'closed' })
  await provider.writes({ from: ann, type: 'reaction', reply_to: first, text: '❤️' })
  assert.equal((await find('Ann')).waiting_since, null)
  await provider.writes({ from: ann, text: 'One more question' })
  assert.ok((await find('Ann')).waiting_since)
})

test('a conversation that a member marks as unread stays where it is in the list', async (t) => {
  const { provider, browser, find, list } = await startInbox(t)
  await provider.writes({ from: ann, name: 'Ann', text: 'one' })
  await provider.writes({ from: ben, name: 'Ben', text: 'two' })
  const { id } = await find('Ann')
  assertStatus(await browser.call('POST', `/conversations/${id}/messages`, { text: 'answer' }), 201)
  const before = dataOf(await browser.call('POST', `/conversations/${id}/read`))
  const order = pluck(await list(), 'id')
  const unread = dataOf(await browser.call('POST', `/conversations/${id}/unread`))
  assert.deepEqual(
    [unread.unread_count, unread.inbox_at, unread.waiting_since],
    [1, before.inbox_at, before.waiting_since],
  )
  assert.deepEqual(pluck(await list(), 'id'), order)
  assert.deepEqual(pluck(await list('?unread=true'), 'id').includes(id), true)
  // More messages than one stay counted.
  await provider.writes({ from: ann, text: 'three' })
  assert.equal(dataOf(await browser.call('POST', `/conversations/${id}/unread`)).unread_count, 2)
  assert.equal((await browser.call('POST', `/conversations/${crypto.randomUUID()}/unread`)).status, 404)
})

test('a blocked contact is blocked at the channel, and unblocked by another call', async (t) => {
  const { provider, browser, find, api } = await startInbox(t)
  await provider.writes({ from: ann, name: 'Ann', text: 'spam' })
  const { id } = await find('Ann')
  const blocked = dataOf(await browser.call('POST', `/conversations/${id}/block`))
  assert.ok(blocked.blocked_at)
  assert.deepEqual([blocked.is_channel_blocked, blocked.status, blocked.unread_count], [true, 'closed', 0])
  await assert.rejects(provider.writes({ from: ann, text: 'more spam' }), /blocked/)
  const [entry] = dataOf(await browser.call('GET', `/conversations/${id}/timeline`))
  assert.equal(entry.kind, 'blocked')
  // The public API does not know it.
  assert.equal('blocked_at' in (await api.get(`/conversations/${id}`)).body.data, false)

  const unblocked = dataOf(await browser.call('POST', `/conversations/${id}/unblock`))
  assert.deepEqual([unblocked.blocked_at, unblocked.is_channel_blocked, unblocked.status], [null, false, 'open'])
  await provider.writes({ from: ann, text: 'sorry' })
  assert.equal((await find('Ann')).status, 'open')

  // The end of a block restores the status from before it, and only what the block has changed.
  const statusAfter = async (action: 'block' | 'unblock') =>
    dataOf(await browser.call('POST', `/conversations/${id}/${action}`)).status
  for (const status of ['pending', 'closed']) {
    await browser.ask('PATCH', `/conversations/${id}`, { status })
    assert.deepEqual([await statusAfter('block'), await statusAfter('unblock')], ['closed', status])
  }
  await browser.ask('PATCH', `/conversations/${id}`, { status: 'open' })
  await statusAfter('block')
  await browser.ask('PATCH', `/conversations/${id}`, { status: 'pending' })
  await browser.ask('PATCH', `/conversations/${id}`, { status: 'closed' })
  assert.equal(await statusAfter('unblock'), 'closed')

  await provider.writes({ channel: 'social', from: cleo, name: 'Cleo', username: 'cleo', text: 'spam' })
  const social = await find('Cleo')
  assert.equal(dataOf(await browser.call('POST', `/conversations/${social.id}/block`)).is_channel_blocked, true)
  await assert.rejects(provider.writes({ channel: 'social', from: cleo, text: 'more' }), /blocked/)
  assert.equal(dataOf(await browser.call('POST', `/conversations/${social.id}/unblock`)).is_channel_blocked, false)
})

test('a channel without blocking keeps the messages of a blocked contact out of the inbox', async (t) => {
  const { provider, browser, url, find } = await startInbox(t)
  const site = `${url}/web-chat/${provider.connections.web.id}`
  const visitor: Json = await (await fetch(`${site}/visitors`, { method: 'POST' })).json()
  const write = (text: string) =>
    fetch(`${site}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-visitor-token': visitor.data.visitor_token },
      body: JSON.stringify({ text, name: 'Dan' }),
    })
  assert.equal((await write('spam')).status, 201)
  const { id } = await find('Dan')
  const blocked = dataOf(await browser.call('POST', `/conversations/${id}/block`))
  assert.deepEqual([blocked.is_channel_blocked, blocked.status], [false, 'closed'])
  assert.equal((await write('more spam')).status, 201)
  await until('the message to be stored', async () => {
    const messages = dataOf(await browser.call('GET', `/conversations/${id}/messages`))
    return messages.length === 2
  })
  const quiet = dataOf(await browser.call('GET', `/conversations/${id}`))
  assert.deepEqual([quiet.status, quiet.unread_count, quiet.inbox_at], ['closed', 0, blocked.inbox_at])
  await browser.call('POST', `/conversations/${id}/unblock`)
  assert.equal((await write('sorry')).status, 201)
  assert.equal((await find('Dan')).status, 'open')
})

test('a block that the channel refuses loses no message: it is stored, reported and does not reopen', async (t) => {
  const { provider, browser, api, db, contract } = await startInbox(t)
  const eventsOf = await recordEvents(t, { api, db, contract })
  // The channel blocks only people who wrote within 24 hours.
  const template = { to: ann, type: 'template', template: { name: 'hello_world' } }
  assertStatus(await api.post('/messages', template), 201)
  const [{ id }] = (await api.get('/conversations')).body.data
  const blocked = dataOf(await browser.call('POST', `/conversations/${id}/block`))
  assert.ok(blocked.blocked_at)
  assert.deepEqual([blocked.is_channel_blocked, blocked.status], [false, 'closed'])

  await provider.writes({ from: ann, name: 'Ann', text: 'Buy now' })
  assert.deepEqual(
    (await eventsOf('message.received')).map(({ data }) => data.text),
    ['Buy now'],
  )
  const stored = (await api.get(`/conversations/${id}`)).body.data
  assert.deepEqual([stored.status, stored.unread_count, stored.last_message_text], ['closed', 0, 'Buy now'])
  assert.equal((await api.get(`/conversations/${id}/messages`)).body.data.length, 2)

  // Two members at the same time: one block, one line in the thread.
  assertStatus(await browser.call('POST', `/conversations/${id}/unblock`), 200)
  const path = `/conversations/${id}/block`
  await Promise.all([browser.call('POST', path), browser.call('POST', path)])
  const timeline: Json[] = dataOf(await browser.call('GET', `/conversations/${id}/timeline`))
  assert.deepEqual(pluck(timeline, 'kind'), ['blocked', 'unblocked', 'blocked'])
})
