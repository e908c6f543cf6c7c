/** Conversations through the API: lists by activity and change, changes, notes, members. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { assertFields, assertRefused, pluck } from './assertions.ts'
import { type Api, assertBadRequest, type Json, main, signIn, start, until, withProvider } from './support.ts'

const phoneOf = (i: number) => `+1415555${String(1000 + i)}`

const idsIn = ({ body }: { body: Json }): string[] => body.data.map(({ id }: Json) => id)

/** Five conversations, the oldest first, and a signed-in owner. */
async function startConversations(t: TestContext) {
  const world = await withProvider(start(t))
  const { api, url, owner, provider } = world
  for (let i = 0; i < 5; i++) await provider.writes({ from: phoneOf(i), name: `Person ${i}`, text: `hello ${i}` })
  const ids = idsIn(await api.get('/conversations')).reverse() as [string, string, string, string, string]
  const browser = await signIn({ url, owner })
  const memberId: string = (await api.get('/members')).body.data[0].id
  return { ...world, provider, ids, browser, memberId }
}

/** All rows of a list, page by page. */
async function listAll(api: Api, path: string, limit = 2): Promise<Json[]> {
  const rows: Json[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = `${path.includes('?') ? '&' : '?'}limit=${limit}&cursor=${cursor}`
    const { body, status, text } = await api.get(`${path}${page}`)
    assert.equal(status, 200, text)
    rows.push(...body.data)
    cursor = body.meta.next_cursor
  }
  return rows
}
const listIds = async (api: Api, path: string) => (await listAll(api, path)).map(({ id }) => id)

test(
  'sort=activity lists by the last message of either side, page by page; the default order stays',
  main,
  async (t) => {
    const { api, provider, ids } = await startConversations(t)
    const [a, b, c, d, e] = ids
    assert.deepEqual(idsIn(await api.get('/conversations?sort=activity')), [e, d, c, b, a])
    await provider.writes({ from: phoneOf(1), text: 'again' })
    await api.post('/messages', { to: phoneOf(0), text: 'an answer' })
    assert.deepEqual(await listIds(api, '/conversations?sort=activity'), [a, b, e, d, c])
    assert.deepEqual(idsIn(await api.get('/conversations')), [e, d, c, b, a])
    await api.patch(`/conversations/${c}`, { status: 'closed' })
    assert.deepEqual(idsIn(await api.get('/conversations?sort=activity&status=open')), [a, b, e, d])
    assert.deepEqual(idsIn(await api.get('/conversations?sort=activity&cursor=nonsense&limit=1')), [a])
    for (const query of ['sort=newest', 'sort=', 'sort=activity&updated_after=2026-01-01T00:00:00Z']) {
      assertBadRequest(await api.get(`/conversations?${query}`), /^sort: /)
    }
  },
)

test('a large workspace is read in spans, with the same rows in the same order', async (t) => {
  const { api, db } = await startConversations(t)
  // A workspace is large by all its conversations; the lists read the open ones.
  await db`
    with people as (
      insert into contacts (workspace_id, id, created_at, updated_at)
      select ${api.workspaceId}::uuid, gen_random_uuid(), now() - interval '400 days', now() from generate_series(1, 5100)
      returning id
    ),
    numbered as (select id, row_number() over () as n from people)
    insert into conversations (workspace_id, id, contact_id, channel, status, created_at, updated_at, last_message_at)
    select ${api.workspaceId}::uuid, gen_random_uuid(), id, 'web', case when n <= 500 then 'open' else 'closed' end, now() - interval '400 days',
      case when n % 2 = 0 then now() - interval '300 days' else now() - n * interval '10 hours' end,
      case when n % 3 = 0 then null else now() - n * interval '10 hours' end
    from numbered`
  const active = await listAll(api, '/conversations?sort=activity&status=open', 100)
  assert.equal(new Set(active.map(({ id }) => id)).size, 505)
  const activityTimes = active.map(({ last_message_at, created_at }) => last_message_at ?? created_at)
  assert.deepEqual(activityTimes, activityTimes.toSorted().reverse())
  const changed = await listAll(api, '/conversations?updated_after=2020-01-01T00:00:00.000Z&status=open', 100)
  assert.equal(new Set(changed.map(({ id }) => id)).size, 505)
  const times = changed.map(({ updated_at }) => updated_at)
  assert.deepEqual(times, times.toSorted())
})

test('updated_after lists what changed, oldest change first, and skips nothing', main, async (t) => {
  const { api, provider, ids, memberId } = await startConversations(t)
  const [a, b, c] = ids
  const all = await listAll(api, '/conversations?updated_after=2020-01-01T00:00:00Z')
  assert.equal(all.length, 5)
  const last = all.at(-1).updated_at
  assert.deepEqual(await listAll(api, `/conversations?updated_after=${last}`), [])
  await api.patch(`/conversations/${b}`, { assigned_agent_id: memberId })
  await api.post(`/conversations/${a}/read`)
  await provider.writes({ from: phoneOf(2), text: 'again' })
  await api.patch(`/conversations/${b}`, { labels: ['VIP'] })
  assert.deepEqual(await listIds(api, `/conversations?updated_after=${last}`), [a, c, b])
  assert.deepEqual(await listIds(api, `/conversations?updated_after=${last}&label=VIP`), [b])
  for (const value of ['yesterday', '2026-02-30T00:00:00Z', '5']) {
    assertBadRequest(await api.get(`/conversations?updated_after=${value}`), /^updated_after: /)
  }
})

test('the filters by member and label, alone and together', async (t) => {
  const { api, ids, memberId } = await startConversations(t)
  const [a, b, c, d, e] = ids
  for (const id of [a, c]) {
    await api.patch(`/conversations/${id}`, { assigned_agent_id: memberId, labels: ['Refund', 'VIP'] })
  }
  await api.patch(`/conversations/${b}`, { labels: ['vip'] })
  const { labels } = (await api.get(`/conversations/${a}`)).body.data
  assert.deepEqual(pluck(labels, 'name'), ['Refund', 'VIP'])
  for (const [query, expected] of [
    [`assigned_agent_id=${memberId}`, [c, a]],
    [`assigned_agent_id=${memberId.toUpperCase()}`, [c, a]],
    ['assigned_agent_id=none', [e, d, b]],
    [`assigned_agent_id=${randomUUID()}`, []],
    ['label=VIP', [c, b, a]],
    ['label=vip&assigned_agent_id=none', [b]],
    [`label=${labels[0].id}&limit=1`, [c]],
    ['label=unknown', []],
    ['label=VIP&sort=activity&status=closed', []],
    [`label=VIP&sort=activity&assigned_agent_id=${memberId}`, [c, a]],
  ] as const) {
    assert.deepEqual(idsIn(await api.get(`/conversations?${query}`)), expected, query)
  }
  for (const value of ['me', '', 'null', `${memberId}x`]) {
    const refused = await api.get(`/conversations?assigned_agent_id=${value}`)
    assertBadRequest(refused, 'assigned_agent_id: must be a uuid or none')
  }
})

test('PATCH changes a conversation, the thread names the key, and open pages update', main, async (t) => {
  const { api, url, ids, browser, memberId } = await startConversations(t)
  const [a] = ids
  const made = await browser.call('POST', '/keys', { name: 'Helpdesk bot', scopes: ['conversations:write'] })
  const bot = { key: made.body.data.key as string }
  const abort = new AbortController()
  t.after(() => abort.abort())
  const stream = await fetch(`${url}/app/api/stream`, { headers: { cookie: browser.cookie() }, signal: abort.signal })
  const live = { text: '' }
  const listen = async () => {
    for await (const text of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) live.text += text
  }
  listen().catch(() => {})

  const snoozedUntil = new Date(Date.now() + 3_600_000).toISOString()
  const changes = { assigned_agent_id: memberId, snoozed_until: snoozedUntil, labels: ['Refund'] }
  const changed = await api.patch(`/conversations/${a}`, changes, bot)
  assert.equal(changed.status, 200, changed.text)
  const { status, assigned_agent_id, snoozed_until, labels } = changed.body.data
  assert.deepEqual(
    [status, assigned_agent_id, snoozed_until, labels.map(({ name }: Json) => name)],
    ['pending', memberId, snoozedUntil, ['Refund']],
  )
  await until('the open page', async () => live.text.includes(a))
  const timeline = (await browser.call('GET', `/conversations/${a}/timeline`)).body.data
  for (const { member, details } of timeline) {
    assert.deepEqual([member, details.by, details.key.name], [null, 'api', 'Helpdesk bot'])
  }
  assert.deepEqual(timeline.map(({ kind }: Json) => kind).sort(), ['assigned', 'labeled', 'snoozed'])
  const none = { snoozed_until: null, assigned_agent_id: null, labels: [] }
  const woken = await api.patch(`/conversations/${a}`, none, bot)
  assertFields(woken.body.data, { status: 'open', assigned_agent_id: null, labels: [] })
  assert.deepEqual((await api.patch(`/conversations/${a}`, {}, bot)).body.data, woken.body.data)
  assert.equal((await api.patch(`/conversations/${a}`, { status: null, labels: null }, bot)).status, 200)
  assertRefused(await api.get(`/conversations/${a}`, bot), 403, 'forbidden', /conversations:read/)
  const reader = { key: await api.key('conversations:read') }
  const refused = await api.patch(`/conversations/${a}`, { status: 'closed' }, reader)
  assertRefused(refused, 403, 'forbidden', /conversations:write/)
})

test('PATCH refuses what is wrong, and changes nothing', async (t) => {
  const { api, ids, browser, workspace } = await startConversations(t)
  const [a] = ids
  const other = await workspace({ name: 'Theirs' })
  const foreignMember = (await other.api.get('/members')).body.data[0].id
  const invited = await browser.call('POST', '/members', { email: 'viewer@example.com', role: 'viewer' })
  const before = (await api.get(`/conversations/${a}`)).body.data
  const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
  for (const [changes, message] of [
    [{ status: 'done' }, /^status: must be one of open, pending, closed/],
    [{ assigned_agent_id: 'me' }, /^assigned_agent_id: not a uuid/],
    [{ assigned_agent_id: foreignMember }, 'assigned_agent_id: not a member of this workspace'],
    [{ assigned_agent_id: invited.body.data.id }, 'assigned_agent_id: not a member of this workspace'],
    [{ snoozed_until: inMs(-1_000) }, 'snoozed_until: must be in the future'],
    [{ snoozed_until: inMs(400 * 86_400_000) }, 'snoozed_until: must be within 366 days'],
    [{ snoozed_until: 'tomorrow' }, /^snoozed_until: must be a date-time/],
    [{ snoozed_until: '2099' }, /^snoozed_until: must be a date-time/],
    [
      { snoozed_until: inMs(60_000), status: 'closed' },
      /^snoozed_until: a snoozed conversation has the status pending/,
    ],
    [{ labels: 'VIP' }, 'labels: must be an array'],
    [{ labels: [' '] }, /^labels\[0\]: /],
    [{ labels: ['x'.repeat(81)] }, /^labels\[0\]: /],
    [{ labels: Array.from({ length: 51 }, (_, i) => `L${i}`) }, /^labels: must have at most 50/],
    [{ labels: ['new one'], snoozed_until: inMs(-1) }, 'snoozed_until: must be in the future'],
  ] as const) {
    assertBadRequest(await api.patch(`/conversations/${a}`, changes), message)
  }
  assert.deepEqual((await api.get(`/conversations/${a}`)).body.data, before)
  for (const id of [randomUUID(), 'nope']) {
    assertRefused(await api.patch(`/conversations/${id}`, { labels: ['Unknown'] }), 404, 'not_found')
    assertRefused(await api.post(`/conversations/${id}/read`), 404, 'not_found')
    assertRefused(await api.get(`/conversations/${id}/notes`), 404, 'not_found')
    assertRefused(await api.post(`/conversations/${id}/notes`, { text: 'x' }), 404, 'not_found')
  }
  assert.deepEqual((await browser.call('GET', '/labels')).body.data, [], 'a refused change creates no label')
})

test('PATCH beside customers who write: no message is lost, and a message reopens the conversation', async (t) => {
  const { api, provider, ids } = await startConversations(t)
  const [a] = ids
  await Promise.all([
    ...Array.from({ length: 15 }, (_, i) => provider.writes({ from: phoneOf(0), text: `more ${i}` })),
    ...Array.from({ length: 15 }, (_, i) =>
      api.patch(`/conversations/${a}`, { status: i % 2 === 0 ? 'closed' : 'pending', labels: [`L${i % 3}`] }),
    ),
  ])
  assert.equal((await api.get(`/conversations/${a}`)).body.data.unread_count, 16)
  assert.equal((await api.patch(`/conversations/${a}`, { status: 'closed' })).body.data.status, 'closed')
  await provider.writes({ from: phoneOf(0), text: 'one more' })
  const { status, unread_count } = (await api.get(`/conversations/${a}`)).body.data
  assert.deepEqual([status, unread_count], ['open', 17])
  const read = await api.post(`/conversations/${a}/read`)
  assert.deepEqual([read.status, read.body.data.unread_count], [200, 0])
})

test('members see the notes of the API with the name of the key, and the API those of members', main, async (t) => {
  const { api, ids, browser, provider, memberId } = await startConversations(t)
  const [a] = ids
  const write = () =>
    api.post(`/conversations/${a}/notes`, { text: ' Asked for a refund ' }, { headers: { 'idempotency-key': 'note' } })
  const [first, same] = await Promise.all([write(), write()])
  assert.equal(first.status, 201, first.text)
  assert.equal(same.text, first.text)
  const note = first.body.data
  assert.deepEqual([note.text, note.author.type], ['Asked for a refund', 'api_key'])
  const written = await browser.call('POST', `/conversations/${a}/notes`, { text: 'On it' })
  const notes = await listAll(api, `/conversations/${a}/notes`, 1)
  const authors = notes.map(({ text, author }) => [text, author.type, author.id])
  assert.deepEqual(authors.flat(), ['On it', 'member', memberId, 'Asked for a refund', 'api_key', note.author.id])
  const [, shown] = (await browser.call('GET', `/conversations/${a}/timeline`)).body.data
  const key = { id: note.author.id, name: note.author.name }
  assert.deepEqual([shown.kind, shown.text, shown.member, shown.details.key], ['note', note.text, null, key])
  assert.deepEqual(await provider.sent(), [], 'a note is never sent')
  for (const text of ['', ' ', 'x'.repeat(10_001)]) {
    assertBadRequest(await api.post(`/conversations/${a}/notes`, { text }), /^text: /)
  }
  assert.equal((await browser.call('DELETE', `/conversations/${a}/notes/${note.id}`)).status, 200)
  assert.deepEqual(await listIds(api, `/conversations/${a}/notes`), [written.body.data.id])
})

test('GET /members lists the members of the workspace and who is online', main, async (t) => {
  const { api, browser, memberId, owner } = await startConversations(t)
  const [member, ...more] = (await api.get('/members')).body.data
  assert.deepEqual(more, [])
  assert.deepEqual(Object.keys(member), ['id', 'name', 'email', 'role', 'is_online'])
  assert.deepEqual([member.id, member.email, member.role, member.is_online], [memberId, owner.email, 'owner', false])
  const opened = await browser.call('POST', '/presence', { page_id: 'a'.repeat(32), state: 'open' })
  assert.ok(opened.status < 300, opened.text)
  assert.equal((await api.get('/members')).body.data[0].is_online, true)
  await browser.call('POST', '/members', { email: 'new@example.com', role: 'agent' })
  assert.equal((await api.get('/members')).body.data.length, 1, 'an invitation is not a member')
  assertRefused(await api.get('/members', { key: await api.key('contacts:read') }), 403, 'forbidden')
})
