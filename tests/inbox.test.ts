/** The members' inbox: every filter and order lists each conversation once, and a conversation shows what happened in it. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertFields, assertRefused, assertStatus, dataOf, pluck } from './assertions.ts'
import { hashPassword, insertMember, newId } from './internals.ts'
import {
  type Browser,
  createBrowser,
  createMember,
  type Json,
  main,
  start,
  until,
  type World,
  withProvider,
} from './support.ts'

const dayMs = 24 * 60 * 60 * 1000
const channels = ['msgapp', 'social', 'web'] as const
const statuses = ['open', 'pending', 'closed'] as const

type Seed = {
  id: string
  channel: string
  status: string
  agent: string | null
  unread: number
  /** Microseconds after a moment; null: only automated messages. */
  at: number | null
  /** As `at`. */
  waiting?: number | null
  label?: string | null
  name: string
}

/** Conversations as they are in the table, each with a contact of its own. */
async function plant({ db, api }: World, seeds: readonly Omit<Seed, 'id'>[]): Promise<Seed[]> {
  const rows = seeds.map((seed) => ({ ...seed, id: newId(), contact_id: newId() }))
  await db`
    with given as (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as g (id uuid, contact_id uuid, channel text, status text, agent uuid, unread int, at bigint, waiting bigint, name text)
    ),
    people as (
      insert into contacts (workspace_id, id, name, name_key, created_at, updated_at)
      select ${api.workspaceId}, contact_id, name, lower(name), now(), now() from given
    )
    insert into conversations (workspace_id, id, contact_id, channel, status, assigned_agent_id, unread_count,
      last_message_at, inbox_at, waiting_since, created_at, updated_at)
    select ${api.workspaceId}, id, contact_id, channel, status, agent, unread, now(),
      timestamptz '2026-01-01' + at * interval '1 microsecond', timestamptz '2026-01-01' + waiting * interval '1 microsecond',
      timestamptz '2025-12-01', now()
    from given`
  for (const label of new Set(rows.flatMap((row) => row.label ?? []))) {
    const id = newId()
    await db`
      insert into labels (workspace_id, id, name, name_key, color, created_at)
      values (${api.workspaceId}, ${id}, ${label}, ${label.toLowerCase()}, '#000000', now())`
    const labeled = rows.filter((row) => row.label === label).map((row) => row.id)
    await db`
      insert into conversation_labels (workspace_id, conversation_id, label_id)
      select ${api.workspaceId}, conversation_id, ${id} from unnest(${labeled}::uuid[]) as l (conversation_id)`
  }
  return rows
}

/** As the inbox shows them: those with automated messages only are last, by their creation. */
const inOrder = (seeds: readonly Seed[]) =>
  seeds.toSorted((one, other) => (other.at ?? -1) - (one.at ?? -1) || (other.id < one.id ? -1 : 1)).map(({ id }) => id)

async function readAll(browser: Browser, query: string, limit: number) {
  const ids: string[] = []
  const sizes: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/conversations?limit=${limit}${query}${cursor ? `&cursor=${cursor}` : ''}`
    const answer = await browser.call('GET', path)
    assert.equal(answer.status, 200, answer.text)
    ids.push(...answer.body.data.map(({ id }: Json) => id))
    sizes.push(answer.body.data.length)
    cursor = answer.body.meta.next_cursor
  }
  return { ids, sizes }
}

async function startInbox(t: TestContext) {
  const world = await start(t)
  const browser = createBrowser(world.url)
  const me = (await browser.signIn(world.owner)).body.data.member
  const passwordHash = await hashPassword('correct horse')
  const person = { email: 'other@acme.test', name: 'Other', role: 'agent', passwordHash } as const
  const other = await insertMember(world.db, world.api.workspaceId, person)
  return { ...world, browser, me, other }
}

test('pages of every filter contain each matching conversation exactly once, latest activity first', async (t) => {
  const world = await startInbox(t)
  const { browser, me, other } = world
  const agents = [null, me.id, other.id]
  const seeds = await plant(
    world,
    Array.from({ length: 90 }, (_, i) => ({
      channel: channels[i % 3] ?? '',
      status: statuses[Math.floor(i / 3) % 3] ?? '',
      agent: agents[Math.floor(i / 9) % 3] ?? null,
      unread: i % 4 === 0 && i % 10 !== 7 ? 2 : 0,
      // Some at the same moment, some a microsecond apart, some never.
      at: i % 10 === 7 ? null : Math.floor((i * 37) % 60),
      label: i % 5 === 0 ? 'Refund' : null,
      name: i % 2 === 0 ? 'Ann Even' : 'Bob Odd',
    })),
  )
  // Conversations of another workspace are never listed.
  const theirs = await world.workspace()
  await plant({ ...world, api: theirs.api }, [
    { channel: 'msgapp', status: 'open', agent: null, unread: 1, at: 5, name: 'Ann Even' },
  ])
  let walked = 0
  for (const status of [undefined, ...statuses]) {
    for (const channel of [undefined, ...channels]) {
      for (const assigned of [undefined, 'me', 'nobody', other.id]) {
        for (const unread of [undefined, 'true']) {
          const search = walked % 3 === 0 ? 'nn ev' : undefined
          const label = walked % 5 === 0 ? 'refund' : undefined
          const agent = assigned === 'me' ? me.id : assigned === 'nobody' ? null : assigned
          const meant = seeds.filter(
            (seed) =>
              // A search also finds conversations that are not in the inbox.
              (!status || (seed.status === status && (seed.at !== null || search))) &&
              (!label || seed.label === 'Refund') &&
              (!channel || seed.channel === channel) &&
              (assigned === undefined || seed.agent === agent) &&
              (!unread || seed.unread > 0) &&
              (!search || seed.name === 'Ann Even'),
          )
          const filters = Object.entries({ status, channel, assigned, unread, search, label })
          const query = filters.map(([name, value]) => (value === undefined ? '' : `&${name}=${value}`)).join('')
          const { ids } = await readAll(browser, query, 19)
          assert.deepEqual(ids, inOrder(meant), query)
          if (walked % 7 === 0) {
            const oldest = await readAll(browser, `${query}&sort=oldest`, 19)
            assert.deepEqual(oldest.ids, inOrder(meant).toReversed(), `${query}, oldest first`)
          }
          walked++
        }
      }
    }
  }
  assert.equal(walked, 4 * 4 * 4 * 2)
  assert.deepEqual((await readAll(browser, '', 3)).ids, inOrder(seeds))

  const { data } = (await browser.call('GET', '/conversations/counts')).body
  const count = (is: (seed: Seed) => boolean) => seeds.filter((seed) => seed.at !== null && is(seed)).length
  assert.deepEqual(data, {
    bot: 0,
    open: count(({ status }) => status === 'open'),
    pending: count(({ status }) => status === 'pending'),
    mine: count(({ status, agent }) => status === 'open' && agent === me.id),
    unassigned: count(({ status, agent }) => status === 'open' && agent === null),
    unread: count(({ status, unread }) => status === 'open' && unread > 0),
  })
  for (const cursor of ['x', 'A'.repeat(32), '_'.repeat(32), encodeURIComponent('✓')]) {
    const answer = await browser.call('GET', `/conversations?cursor=${cursor}`)
    assert.equal(answer.status, 200, 'what is no cursor of ours is a place like any other')
  }
  assertBadRequest(await browser.call('GET', '/conversations?assigned=you'), /^assigned: /)
})

test('the order of waits lists waiting customers first, longest wait first, then all others', async (t) => {
  const world = await startInbox(t)
  const { browser, me } = world
  const seeds = await plant(
    world,
    Array.from({ length: 60 }, (_, i) => ({
      channel: channels[i % 3] ?? '',
      status: statuses[Math.floor(i / 3) % 3] ?? '',
      agent: i % 2 === 0 ? me.id : null,
      unread: 0,
      at: (i * 37) % 60,
      waiting: i % 4 === 0 ? (i * 11) % 20 : null,
      name: `Ann ${i}`,
    })),
  )
  const isWaiting = (seed: Seed) => seed.waiting !== null && seed.status !== 'closed'
  const byWait = (list: readonly Seed[]) => [
    ...list
      .filter(isWaiting)
      .toSorted((one, other) => (one.waiting ?? 0) - (other.waiting ?? 0) || (one.id < other.id ? -1 : 1))
      .map(({ id }) => id),
    ...inOrder(list.filter((seed) => !isWaiting(seed))),
  ]
  for (const limit of [4, 19, 100]) {
    for (const query of ['', '&status=open', '&assigned=me', '&status=open&channel=web', '&search=ann']) {
      const meant = seeds.filter(
        ({ status, agent, channel }) =>
          (!query.includes('open') || status === 'open') &&
          (!query.includes('me') || agent === me.id) &&
          (!query.includes('web') || channel === 'web'),
      )
      const { ids } = await readAll(browser, `&sort=waiting${query}`, limit)
      assert.deepEqual(ids, byWait(meant), `${query} by ${limit}`)
    }
  }
  const waiting = await readAll(browser, '&waiting_minutes=10&status=open', 5)
  const meant = seeds.filter((seed) => isWaiting(seed) && seed.status === 'open')
  assert.deepEqual(waiting.ids, inOrder(meant))
  const sorted = await readAll(browser, '&waiting_minutes=10&status=open&sort=waiting', 5)
  assert.deepEqual(sorted.ids, byWait(meant))
  const minutes = Math.floor((Date.now() - Date.parse('2026-01-01')) / 60_000) + 10
  assert.deepEqual((await readAll(browser, `&waiting_minutes=${minutes}`, 5)).ids, [])
  assertBadRequest(await browser.call('GET', '/conversations?waiting_minutes=0'), /^waiting_minutes: /)
  assertBadRequest(await browser.call('GET', '/conversations?sort=best'), /sort/)
})

test(
  'only customers and members move a conversation; automated messages neither put it into the inbox nor move it',
  main,
  async (t) => {
    const { provider, browser, api } = await withProvider(startInbox(t))
    const list = async (query = '?status=open'): Promise<Json[]> =>
      (await browser.call('GET', `/conversations${query}`)).body.data
    const phones = async (query?: string) => (await list(query)).map(({ contact }: Json) => contact.phone)
    const hello = { to: '+14155550101', type: 'template', template: { name: 'hello_world' } }
    const sent = await api.post('/messages', hello)
    assert.equal(sent.status, 201, sent.text)
    const news = { name: 'News', template: { name: 'hello_world' }, recipients: [{ to: '+14155550102' }] }
    const { body } = await api.post('/broadcasts', news)
    await until('the broadcast', async () => (await api.get(`/broadcasts/${body.data.id}`)).body.data.status === 'sent')
    assert.deepEqual(await phones(), [])
    const counts = async () => (await browser.call('GET', '/conversations/counts')).body.data
    assert.deepEqual(await counts(), { open: 0, pending: 0, mine: 0, unassigned: 0, unread: 0, bot: 0 })
    // It is open for the API, and members find it without a status, by the contact and by a search.
    const automated = (await api.get('/conversations?status=open')).body.data
    assert.deepEqual(automated.map(({ contact }: Json) => contact.phone).sort(), ['+14155550101', '+14155550102'])
    assert.deepEqual((await phones('')).sort(), ['+14155550101', '+14155550102'])
    const senders = (await list('')).map(({ contact, last_message: last }) => `${contact.phone} ${last.automated_by}`)
    assert.deepEqual(senders.sort(), ['+14155550101 api', '+14155550102 broadcast'])
    const [first] = automated
    assert.equal((await phones(`?contact_id=${first.contact_id}&status=open`)).length, 1)
    assert.equal((await phones('?search=5550101&status=open')).length, 1)
    const overview = (await browser.call('GET', '/overview?days=7')).body.data
    assert.equal(overview.open_conversations, 0)

    await provider.writes({ from: '+14155550103', text: 'one' })
    await provider.writes({ from: '+14155550101', text: 'two' })
    assert.deepEqual(await phones(), ['+14155550101', '+14155550103'])
    const [, third] = await list()
    assert.equal(third?.waiting_since, third?.inbox_at)
    assert.ok(third?.waiting_since)
    await provider.writes({ from: '+14155550103', text: 'still waiting' })
    const [moved] = await list()
    assertFields(moved, { id: third?.id, waiting_since: third?.waiting_since }, 'the wait has the first start')
    await provider.writes({ from: '+14155550101', text: 'three' })

    // A send of the API moves nothing and ends no wait; a reply of a member does both.
    await api.post('/messages', { to: '+14155550103', text: 'automatic' })
    const [, unmoved] = await list()
    assert.deepEqual([unmoved?.contact.phone, unmoved?.waiting_since], ['+14155550103', third?.waiting_since])
    // While the customer waits, members see the message of the row's time. The API has the newest one.
    assert.deepEqual([unmoved?.last_message_text, unmoved?.last_message.content_text], ['automatic', 'still waiting'])
    assertStatus(await browser.call('POST', `/conversations/${third?.id}/messages`, { text: 'hello' }), 201)
    const [top] = await list()
    assert.deepEqual([top?.id, top?.waiting_since], [third?.id, null])
    await api.post('/messages', { to: '+14155550103', text: 'automatic again' })
    const { last_message: last } = (await list())[0] ?? {}
    assert.deepEqual([last?.content_text, last?.automated_by], ['automatic again', 'api'])

    // Closing ends the wait, reopening restores it, and a message after closing starts a new one.
    await provider.writes({ from: '+14155550103', text: 'again' })
    const path = `/conversations/${third?.id}`
    const since = (await browser.call('GET', path)).body.data.waiting_since
    const closed = await browser.call('PATCH', path, { status: 'closed' })
    assert.equal(closed.body.data.waiting_since, null)
    assert.equal((await browser.call('PATCH', path, { status: 'open' })).body.data.waiting_since, since)
    await browser.call('PATCH', path, { status: 'closed' })
    await provider.writes({ from: '+14155550103', text: 'and again' })
    assert.ok((await browser.call('GET', path)).body.data.waiting_since > since)
  },
)

test('a customer waits again when the reply of a member fails, and no longer when it arrives after all', async (t) => {
  const { provider, browser, url, api } = await withProvider(startInbox(t))
  const phone = '+14155550111'
  await provider.writes({ from: phone, text: 'one' })
  const [{ id, waiting_since: since }] = (await browser.call('GET', '/conversations')).body.data
  assert.ok(since)
  const path = `/conversations/${id}`
  const readWait = async () => (await browser.call('GET', path)).body.data.waiting_since
  const untilWait = (expected: string | null) =>
    until(`the wait to be ${expected}`, async () => (await readWait()) === expected)
  const reply = (text: string) => browser.call('POST', `${path}/messages`, { text })
  const report = ({ body }: { body: Json }, status: string) => {
    const value = { statuses: [{ id: body.data.msgapp_message_id, status, timestamp: '1700000000' }] }
    return provider.callback({ entry: [{ changes: [{ field: 'messages', value }] }] })
  }

  // The channel refuses the reply.
  await provider.fault({ to: phone, mode: 'reject', count: 1 })
  assert.equal((await reply('refused')).status, 502)
  await untilWait(since)

  // The channel accepts the reply and reports its failure later. Automated messages are not replies.
  await provider.fault({ to: phone, mode: 'no_statuses' })
  const lost = await reply('lost')
  assert.equal(lost.status, 201, lost.text)
  assert.equal(await readWait(), null)
  await api.post('/messages', { to: phone, text: 'automatic' })
  const abort = new AbortController()
  t.after(() => abort.abort())
  const stream = await fetch(`${url}/app/api/stream`, { headers: { cookie: browser.cookie() }, signal: abort.signal })
  const events = { count: 0 }
  const listen = async () => {
    for await (const text of stream.body?.pipeThrough(new TextDecoderStream()) ?? [])
      events.count += text.split('event: conversations').length - 1
  }
  listen().catch(() => {})
  await report(lost, 'failed')
  await untilWait(since)
  await until('the pages to be notified of both changes', async () => events.count >= 2)
  const sorted = (await browser.call('GET', '/conversations?sort=waiting')).body.data
  assert.equal(sorted[0].waiting_since, since)

  // A later reply that arrived is enough.
  const [first, second] = [await reply('first'), await reply('second')]
  await report(first, 'failed')
  await report(second, 'failed')
  await untilWait(since)
  await report(second, 'delivered')
  await untilWait(null)

  // A wait that began after closing does not become longer.
  await provider.writes({ from: phone, text: 'thanks' })
  await browser.call('PATCH', path, { status: 'closed' })
  await provider.writes({ from: phone, text: 'one more question' })
  const later = await readWait()
  const last = await reply('answer')
  await report(last, 'failed')
  await untilWait(later)
})

test('a snoozed conversation is pending until its time, or until the customer writes', async (t) => {
  const { provider, browser, api } = await withProvider(startInbox(t))
  await provider.writes({ from: '+14155550101', text: 'one' })
  await provider.writes({ from: '+14155550102', text: 'two' })
  const [second, first] = (await browser.call('GET', '/conversations')).body.data
  const path = `/conversations/${first.id}`
  const later = new Date(Date.now() + dayMs).toISOString()
  const stateOf = async () => {
    const { status, snoozed_until } = (await browser.call('GET', path)).body.data
    return [status, snoozed_until]
  }
  await browser.call('PATCH', path, { snoozed_until: later })
  assert.deepEqual(await stateOf(), ['pending', later])
  assert.equal((await api.get(path)).body.data.snoozed_until, later)
  await browser.call('PATCH', path, { assigned_agent_id: null })
  assert.deepEqual(await stateOf(), ['pending', later])
  await browser.call('PATCH', path, { snoozed_until: null })
  assert.deepEqual(await stateOf(), ['open', null])
  await browser.call('PATCH', path, { snoozed_until: later })
  await browser.call('PATCH', path, { status: 'closed' })
  assert.deepEqual(await stateOf(), ['closed', null], 'closing ends the snooze')
  await browser.call('PATCH', path, { snoozed_until: later })
  await provider.writes({ from: '+14155550101', text: 'hello?' })
  assert.deepEqual(await stateOf(), ['open', null], 'the customer wakes it')
  await browser.call('PATCH', path, { status: 'pending' })
  assert.deepEqual(await stateOf(), ['pending', null])

  await provider.writes({ from: '+14155550102', text: 'now first' })
  const soon = new Date(Date.now() + 300).toISOString()
  await browser.call('PATCH', path, { snoozed_until: soon })
  await until('the snooze to end', async () => (await stateOf())[0] === 'open')
  const [woken] = (await browser.call('GET', '/conversations?status=open')).body.data
  assert.equal(woken.id, first.id, 'it is at the top')
  assert.ok(woken.id !== second.id && woken.snoozed_until === null)

  for (const [value, message] of [
    ['2020-01-01T00:00:00Z', /^snoozed_until: .*future/],
    [new Date(Date.now() + 1_000 * dayMs).toISOString(), /^snoozed_until: .*days/],
    ['tomorrow', /^snoozed_until: /],
  ] as const) {
    assertBadRequest(await browser.call('PATCH', path, { snoozed_until: value }), message)
  }
  const contradiction = { snoozed_until: later, status: 'open' }
  assertBadRequest(await browser.call('PATCH', path, contradiction), /^snoozed_until: /)
})

test('labels are created by their first use, unique without regard to case, and shown in the API', async (t) => {
  const { provider, browser, api } = await withProvider(startInbox(t))
  await provider.writes({ from: '+14155550101', text: 'one' })
  const [{ id }] = (await browser.call('GET', '/conversations')).body.data
  const path = `/conversations/${id}`
  const labeled = await browser.call('PATCH', path, { labels: [' Refund ', 'VIP', 'refund'] })
  const namesOf = ({ body }: { body: Json }) => body.data.labels.map(({ name }: Json) => name)
  assert.deepEqual(namesOf(labeled), ['Refund', 'VIP'])
  assert.deepEqual((await api.get(path)).body.data.labels, labeled.body.data.labels)
  assert.match(labeled.body.data.labels[0].color, /^#[0-9a-f]{6}$/)
  assert.deepEqual(namesOf(await browser.call('PATCH', path, { add_labels: ['vip', 'New'] })), ['New', 'Refund', 'VIP'])
  assert.deepEqual(namesOf(await browser.call('PATCH', path, { remove_labels: ['REFUND', 'none'] })), ['New', 'VIP'])
  assert.deepEqual(namesOf(await browser.call('PATCH', path, { labels: [] })), [])
  const both = { labels: ['a'], add_labels: ['b'] }
  assertBadRequest(await browser.call('PATCH', path, both), /^labels: /)
  assertBadRequest(await browser.call('PATCH', path, { labels: [' '] }), /^labels\[0\]: /)
  const many = Array.from({ length: 51 }, (_, i) => `l${i}`)
  assertBadRequest(await browser.call('PATCH', path, { labels: many }))

  const all = (await browser.call('GET', '/labels')).body.data
  assert.deepEqual(pluck(all, 'name'), ['New', 'Refund', 'VIP'])
  assert.equal((await browser.call('POST', '/labels', { name: 'REFUND' })).status, 200)
  const created = await browser.call('POST', '/labels', { name: 'Delivery', color: '#abcdef' })
  assert.equal(created.status, 201)
  assert.equal(created.body.data.color, '#abcdef')
  await browser.call('PATCH', path, { labels: ['Delivery'] })
  assert.deepEqual(pluck((await browser.call('GET', '/labels/counts')).body.data, 'conversation_count'), [1, 0, 0, 0])
  const change = { name: 'Shipping', color: '#123456' }
  const renamed = await browser.call('PATCH', `/labels/${created.body.data.id}`, change)
  assert.deepEqual(renamed.body.data, { id: created.body.data.id, ...change })
  assertBadRequest(await browser.call('PATCH', `/labels/${created.body.data.id}`, { name: 'vip' }), /^name: /)
  assert.deepEqual(namesOf(await browser.call('GET', path)), ['Shipping'])
  for (const label of ['shipping', created.body.data.id]) {
    assert.equal((await browser.call('GET', `/conversations?label=${label}`)).body.data.length, 1, label)
  }
  assert.equal((await browser.call('GET', '/conversations?label=none')).body.data.length, 0)
  assert.equal((await browser.call('DELETE', `/labels/${created.body.data.id}`)).status, 200)
  assert.deepEqual(namesOf(await browser.call('GET', path)), [])
  assertRefused(await browser.call('DELETE', `/labels/${created.body.data.id}`), 404, 'not_found')
})

test('a workspace has at most 1,000 labels, and those that exist stay usable', async (t) => {
  const { browser, api, db } = await startInbox(t)
  await db`
    insert into labels (workspace_id, id, name, name_key, color, created_at)
    select ${api.workspaceId}, gen_random_uuid(), 'L' || i, 'l' || i, '#000000', now() from generate_series(1, 1000) i`
  const refused = await browser.call('POST', '/labels', { name: 'One more' })
  assertBadRequest(refused, 'labels: a workspace has at most 1000 labels')
  assert.equal((await browser.call('POST', '/labels', { name: 'l1' })).status, 200)
  assert.equal((await browser.call('GET', '/labels')).body.data.length, 1_000)
})

test('a bulk change answers for each conversation with its state before and after', async (t) => {
  const world = await startInbox(t)
  const { browser, me, workspace, url } = world
  const seeds = await plant(
    world,
    Array.from({ length: 5 }, (_, i) => ({
      channel: 'msgapp',
      status: i === 4 ? 'closed' : 'open',
      agent: null,
      unread: 0,
      at: i,
      name: `Ann ${i}`,
      label: i === 0 ? 'Old' : null,
    })),
  )
  const ids = seeds.map(({ id }) => id)
  const missing = newId()
  const change = { status: 'closed', assigned_agent_id: me.id, add_labels: ['Done'] }
  const answer = await browser.call('POST', '/conversations/bulk', { ids: [...ids, missing, ids[0]], ...change })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.body.data.length, 6)
  assert.deepEqual(answer.body.data[0], {
    id: ids[0],
    before: { status: 'open', assigned_agent_id: null, assigned_team_id: null, snoozed_until: null, labels: ['Old'] },
    after: {
      status: 'closed',
      assigned_agent_id: me.id,
      assigned_team_id: null,
      snoozed_until: null,
      labels: ['Old', 'Done'],
    },
  })
  assert.equal(answer.body.data[4].before.status, 'closed')
  assert.deepEqual([answer.body.data[5].id, answer.body.data[5].error.code], [missing, 'not_found'])
  const rows = (await browser.call('GET', '/conversations?status=closed&assigned=me&label=done')).body.data
  assert.equal(rows.length, 5)
  const [entry] = (await browser.call('GET', '/audit')).body.data
  assert.deepEqual(
    [entry.action, entry.summary],
    ['conversations.changed', `5 conversations: closed; assigned to ${me.email}; added labels: Done`],
  )
  assertBadRequest(await browser.call('POST', '/conversations/bulk', { ids: [], status: 'open' }))
  const many = { ids: Array.from({ length: 501 }, newId), status: 'open' }
  assertBadRequest(await browser.call('POST', '/conversations/bulk', many))

  const neighbour = createBrowser(url)
  await neighbour.signIn((await workspace()).owner)
  const foreign = await neighbour.call('POST', '/conversations/bulk', { ids, status: 'open', add_labels: ['Theirs'] })
  assert.ok(foreign.body.data.every(({ error }: Json) => error.code === 'not_found'))
  assert.equal((await browser.call('GET', '/conversations?status=closed')).body.data.length, 5)
})

test('a view is private to its member or shared with all', async (t) => {
  const { browser, url, other, workspace } = await startInbox(t)
  const colleague = createBrowser(url)
  await colleague.signIn({ email: other.email, password: 'correct horse' })
  const filters = { status: 'open', assigned: 'me', label: 'VIP', waiting_minutes: '30', sort: 'waiting' }
  const mine = dataOf(await browser.call('POST', '/views', { name: 'My VIPs', filters }), 201)
  assert.deepEqual(mine, { id: mine.id, name: 'My VIPs', is_shared: false, filters })
  const shared = await browser.call('POST', '/views', { name: 'Team', is_shared: true, filters: {} })
  const namesOf = async (who: Browser) => (await who.call('GET', '/views')).body.data.map(({ name }: Json) => name)
  assert.deepEqual([await namesOf(browser), await namesOf(colleague)], [['My VIPs', 'Team'], ['Team']])
  const path = `/views/${mine.id}`
  assertRefused(await colleague.call('PATCH', path, { name: 'Taken' }), 404, 'not_found')
  assertRefused(await colleague.call('DELETE', path), 404, 'not_found')
  const changes = { name: 'Everyone', filters: { unread: 'true' } }
  const renamed = await colleague.call('PATCH', `/views/${shared.body.data.id}`, changes)
  assert.deepEqual(renamed.body.data, { ...shared.body.data, name: 'Everyone', filters: { unread: 'true' } })
  assert.equal((await browser.call('PATCH', path, { is_shared: true })).body.data.is_shared, true)
  assert.deepEqual(await namesOf(colleague), ['My VIPs', 'Everyone'])
  for (const [wrong, message] of [
    [{ name: ' ', filters: {} }, /^name: /],
    [{ name: 'x', filters: { assigned: 'you' } }, /^assigned: /],
    [{ name: 'x', filters: { sort: 'best' } }, /sort/],
  ] as const) {
    assertBadRequest(await browser.call('POST', '/views', wrong), message)
  }
  const neighbour = createBrowser(url)
  await neighbour.signIn((await workspace()).owner)
  assert.deepEqual(await namesOf(neighbour), [])
  assertRefused(await neighbour.call('DELETE', path), 404, 'not_found')
  assert.equal((await browser.call('DELETE', path)).status, 200)
})

test('a rare match among thousands is found in a bounded number of steps, and so is a name that thousands share', async (t) => {
  const world = await startInbox(t)
  const { browser } = world
  const seeds = await plant(
    world,
    Array.from({ length: 7_000 }, (_, i) => ({
      channel: i % 3_000 === 2_500 ? 'web' : 'msgapp',
      status: 'closed',
      agent: null,
      unread: 0,
      at: i,
      name: `Sam ${i}`,
    })),
  )
  const rare = await readAll(browser, '&assigned=nobody&channel=web', 50)
  assert.deepEqual(rare.ids, inOrder(seeds.filter(({ channel }) => channel === 'web')))
  assert.ok(rare.sizes.length > 1, 'it took more than one look')
  const common = await browser.call('GET', '/conversations?search=sam&limit=100')
  assert.deepEqual(pluck(common.body.data, 'id'), inOrder(seeds).slice(0, 100))
  const few = await readAll(browser, '&search=Sam%20699', 4)
  assert.deepEqual(few.ids, inOrder(seeds.filter(({ name }) => name.includes('Sam 699'))))
  const { open, unassigned } = (await browser.call('GET', '/conversations/counts')).body.data
  assert.deepEqual([open, unassigned], [0, 0])
  await world.db`update conversations set status = 'open' where workspace_id = ${world.api.workspaceId}`
  const capped = (await browser.call('GET', '/conversations/counts')).body.data
  assert.deepEqual([capped.open, capped.unassigned], [1_000, 1_000])
})

test('a conversation shows when its window closes, its assignee and its last message', main, async (t) => {
  const { provider, browser, me, api, db } = await withProvider(startInbox(t))
  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'hello' })
  await provider.writes({ channel: 'social', from: '90000001', username: 'bob', text: 'hi' })
  const rows = (await browser.call('GET', '/conversations')).body.data
  assert.deepEqual(pluck(rows, 'channel'), ['social', 'msgapp'])
  const [social, msgapp] = rows
  // The window runs by the clock of the channel, which gives whole seconds.
  const assertWindow = (closesAt: string, receivedAt: string, ms: number) => {
    const openMs = Date.parse(closesAt) - Date.parse(receivedAt)
    assert.ok(openMs <= ms && openMs > ms - 60_000, `open for ${openMs} ms`)
  }
  for (const row of [social, msgapp]) {
    assertWindow(row.window_closes_at, row.last_inbound_at, dayMs)
    const last = { direction: 'inbound', content_type: 'text', content_kind: null, status: 'received', sender: null }
    assert.deepEqual(row.last_message, {
      ...last,
      ...{ content_text: row.last_message_text, created_at: row.last_message_at, automated_by: null },
    })
    assert.deepEqual([row.assigned_agent, row.unread_count], [null, 1])
  }
  assertWindow(social.late_window_closes_at, social.last_inbound_at, 7 * dayMs)
  assert.equal(msgapp.late_window_closes_at, null)

  const path = `/conversations/${msgapp.id}`
  const taken = await browser.call('PATCH', path, { assigned_agent_id: me.id, status: 'pending' })
  assert.deepEqual(taken.body.data.assigned_agent, { id: me.id, name: me.name, email: me.email })
  const { unread_count, updated_at } = (await browser.call('POST', `${path}/read`)).body.data
  assert.equal(unread_count, 0)
  assert.deepEqual((await browser.call('GET', path)).body.data, { ...taken.body.data, unread_count: 0, updated_at })
  await browser.call('POST', `${path}/messages`, { text: 'hello back' })
  await until('the ticks of the answer', async () => {
    const { last_message: last } = (await browser.call('GET', path)).body.data
    assert.equal(last.sender?.id, me.id)
    assert.equal(last.automated_by, null)
    return last.direction === 'outbound' && last.status === 'read'
  })
  const [first] = (await browser.call('GET', '/conversations')).body.data
  assert.equal(first.id, msgapp.id, 'the conversation with the latest message is first')
  // The public API shows what it showed, in its own order.
  const published = (await api.get('/conversations')).body.data
  assert.deepEqual(Object.keys(published[0]).includes('window_closes_at'), false)
  assert.equal(published[0].id, social.id)
  await db`update conversations set last_inbound_at = null where id = ${msgapp.id}`
  assert.equal((await browser.call('GET', path)).body.data.window_closes_at, null)
})

test('a reply of a member ends the unread state, and an automated message does not', async (t) => {
  const { provider, browser, api } = await withProvider(startInbox(t))
  await provider.writes({ from: '+14155550100', text: 'hello' })
  const [{ id }] = (await browser.call('GET', '/conversations')).body.data
  const unread = async () => (await browser.call('GET', `/conversations/${id}`)).body.data.unread_count
  await api.post('/messages', { to: '+14155550100', text: 'We are open again.' })
  assert.equal(await unread(), 1)
  await browser.call('POST', `/conversations/${id}/messages`, { text: 'hello back' })
  assert.equal(await unread(), 0)
})

test('a reply assigns an unassigned conversation to its author, if the workspace wants it', async (t) => {
  const { provider, browser, me } = await withProvider(startInbox(t))
  await provider.writes({ from: '+14155550100', text: 'first' })
  await provider.writes({ from: '+14155550101', text: 'second' })
  const [{ id: second }, { id: first }] = (await browser.call('GET', '/conversations')).body.data
  const agent = await createMember(browser, 'agent', { name: 'Kim' })
  const agentOf = async (id: string) => (await browser.call('GET', `/conversations/${id}`)).body.data.assigned_agent_id
  const reply = (id: string, body: Json, by = agent) => by.ask('POST', `/conversations/${id}/messages`, body, 201)

  await reply(first, { text: 'not yet' })
  assert.equal(await agentOf(first), null)
  assertRefused(await agent.call('PATCH', '/workspace', { assign_on_reply: true }), 403, 'forbidden')
  assertRefused(await browser.call('PATCH', '/workspace', { assign_on_reply: 'yes' }), 400, 'bad_request')
  assert.equal((await browser.ask('PATCH', '/workspace', { assign_on_reply: true })).data.assign_on_reply, true)

  // A reaction is no reply, and a refused reply assigns no member.
  const [{ id: message }] = (await browser.call('GET', `/conversations/${first}/messages`)).body.data.slice(-1)
  await reply(first, { type: 'reaction', reaction: { message_id: message, emoji: '👍' } })
  await provider.fault({ to: '+14155550100', mode: 'reject', code: 131026, count: 1 })
  assert.equal((await agent.call('POST', `/conversations/${first}/messages`, { text: 'refused' })).status, 502)
  assert.equal(await agentOf(first), null)
  await reply(first, { text: 'mine now' })
  assert.equal(await agentOf(first), agent.id)
  const timeline = (await browser.call('GET', `/conversations/${first}/timeline`)).body.data
  assert.deepEqual(pluck(timeline, 'kind'), ['assigned'])
  // An assigned conversation keeps its member.
  await browser.ask('PATCH', `/conversations/${second}`, { assigned_agent_id: me.id })
  await reply(second, { text: 'for you' })
  assert.equal(await agentOf(second), me.id)
})

test('a message shows its author, the quoted message, its file, and an explanation of its failure', async (t) => {
  const { provider, browser, me } = await withProvider(startInbox(t))
  await provider.writes({ from: '+14155550100', text: 'a question' })
  await provider.writes({ from: '+14155550100', type: 'document', media: { filename: 'bill.pdf' } })
  const [{ id }] = (await browser.call('GET', '/conversations')).body.data
  const thread = async (): Promise<Json[]> => (await browser.call('GET', `/conversations/${id}/messages`)).body.data
  const [file, question] = await until('the file', async () => {
    const messages = await thread()
    return messages[0].media_url && messages
  })
  assertFields(file.media, { filename: 'bill.pdf', state: 'stored', mime_type: 'application/pdf' })
  assert.ok(file.media.size_bytes > 0)
  assertFields(question, { media: null, sender: null, reply_to: null, error_reason: null })
  const reply = { text: 'an answer', reply_to_message_id: question.id }
  const answer = await browser.call('POST', `/conversations/${id}/messages`, reply)
  assert.deepEqual(answer.body.data.sender, { id: me.id, name: me.email })
  const brief = { id: question.id, direction: 'inbound', content_type: 'text', content_text: 'a question' }
  assert.deepEqual(answer.body.data.reply_to, brief)
  assert.deepEqual((await thread())[0].reply_to, brief)

  for (const [from, reason] of [
    ['+15005550001', /^This number cannot be reached on the channel\.$/],
    ['+15005550003', /^Something went wrong at the channel\.$/],
    ['+15005550006', /\.$/],
  ] as const) {
    await provider.writes({ from, text: 'hello' })
    const [conversation] = (await browser.call('GET', '/conversations')).body.data
    await browser.call('POST', `/conversations/${conversation.id}/messages`, { text: 'x' })
    const failed = await until(`${from} to fail`, async () => {
      const [last] = (await browser.call('GET', `/conversations/${conversation.id}/messages`)).body.data
      return last.direction === 'outbound' && last.error && last
    })
    assert.match(failed.error_reason, reason, from)
    assert.doesNotMatch(failed.error_reason, /^\d/)
  }
})

test('a template preview looks as the customer sees it, and shows placeholders without a value', async (t) => {
  const { provider, browser, url, workspace } = await withProvider(startInbox(t))
  await browser.call('POST', '/templates/refresh')
  const show = async (body: Json, path = '/templates/preview') => (await browser.call('POST', path, body)).body.data
  const none = { header: null, header_media: null, footer: null, buttons: [], cards: [], missing: [] }
  const empty = await show({ name: 'order_update' })
  assert.match(empty.text, /\{\{1\}\}.*\{\{2\}\}/s)
  assert.deepEqual(empty.missing, ['body[0]', 'body[1]', 'buttonParams.0'])
  assert.equal(empty.buttons.length, 1)
  const half = await show({ name: 'order_confirmed', language: 'en_US', params: ['', 'tomorrow {{1}}'] })
  assert.match(half.text, /\{\{1\}\}.*tomorrow \{\{1\}\}/s, 'a value is taken literally')
  assert.deepEqual(half.missing, ['body[0]'])
  const full = await show({ name: 'order_confirmed', params: ['A1', 'tomorrow'] })
  assert.deepEqual(full, { ...none, footer: full.footer, text: full.text })
  assert.doesNotMatch(full.text, /\{\{/)
  const named = await show({ name: 'appointment', params: { bodyNamed: { name: 'Ann' } } })
  assert.match(named.text, /Ann.*\{\{time\}\}/s)
  assert.deepEqual(named.header_media, { format: 'image', url: null })
  assert.deepEqual(named.missing.toSorted(), ['bodyNamed.time', 'headerMediaUrl'])
  const carousel = await show({ name: 'offer_carousel', params: { body: ['Ann'], cards: [{ body: ['Hat'] }] } })
  assert.equal(carousel.cards.length, 2)
  assert.match(carousel.cards[0].text, /Hat/)
  assert.match(carousel.cards[1].text, /\{\{1\}\}/)
  assert.ok(carousel.missing.includes('cards[1].body[0]'))

  await provider.writes({ from: '+14155550100', text: 'hi' })
  const [{ id }] = (await browser.call('GET', '/conversations')).body.data
  const path = `/conversations/${id}/templates/preview`
  assert.deepEqual(await show({ name: 'order_confirmed', params: ['A1', 'tomorrow'] }, path), full)
  const sent = await browser.call('POST', `/conversations/${id}/messages`, {
    type: 'template',
    template: { name: 'order_confirmed', params: ['A1', 'tomorrow'] },
  })
  assert.equal(sent.body.data.content_text, full.text, 'what was shown is what is sent')
  assertBadRequest(await browser.call('POST', path, { name: 'no_such' }), /^name: .*no_such/)
  const neighbour = createBrowser(url)
  await neighbour.signIn((await workspace()).owner)
  assertRefused(await neighbour.call('POST', path, { name: 'hello_world' }), 404, 'not_found')
  assertBadRequest(await neighbour.call('POST', '/templates/preview', { name: 'hello_world' }))
})
