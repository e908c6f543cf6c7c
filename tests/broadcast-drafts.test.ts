/** Broadcasts of the public API: lists, drafts with recipients in batches, start, pause, resume, cancel, recipients. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertRefused, dataOf, pluck } from './assertions.ts'
import { setPlan, sweepDrafts } from './internals.ts'
import { type Api, type Json, main, signIn, start, until } from './support.ts'

const template = { name: 'order_confirmed' }
const phoneOf = (i: number) => `+1415${String(5_000_000 + i)}`
const people = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ to: phoneOf(from + i), params: [`Name ${from + i}`, `A-${from + i}`] }))
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString()

async function createDraft(api: Api, more: Json = {}): Promise<Json> {
  const created = dataOf(await api.post('/broadcasts', { name: 'Campaign', template, draft: true, ...more }), 202)
  assert.equal(created.status, 'draft')
  return created
}

const add = async (api: Api, id: string, recipients: Json[]): Promise<Json> =>
  dataOf(await api.post(`/broadcasts/${id}/recipients`, { recipients }))

const untilOver = (api: Api, id: string) =>
  until(
    'the broadcast to be over',
    async () => {
      const { data } = (await api.get(`/broadcasts/${id}`)).body
      return data.completed_at !== null && data
    },
    60_000,
  )

async function startConnected(t: TestContext) {
  const world = await start(t)
  const provider = await world.connect({ messagesPerSecond: 1_000 })
  return { ...world, provider }
}

async function listAll(api: Api, path: string): Promise<Json[]> {
  const all: Json[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Json = (await api.get(`${path}${path.includes('?') ? '&' : '?'}limit=100&cursor=${cursor}`)).body
    all.push(...page.data)
    cursor = page.meta.next_cursor
  }
  return all
}

test('a draft collects recipients with values of their own in batches, and each gets one message', main, async (t) => {
  const { api, provider } = await startConnected(t)
  const draft = await createDraft(api, { template: { ...template, contact_fields: true } })
  assert.deepEqual([draft.total_count, draft.started_at, draft.is_paused, draft.paused_reason], [0, null, false, null])
  assert.deepEqual(await add(api, draft.id, people(60)), { added: 60, skipped: [] })
  const mixed = [
    ...people(30, 50),
    { to: phoneOf(79), params: ['Twice', 'in the batch'] },
    { to: 'not a number', params: ['a', 'b'] },
    { to: phoneOf(500) },
    { to: phoneOf(501), params: ['only one'] },
    { to: phoneOf(502), params: ['{{contact.shoe_size}}', 'b'] },
    { to: `(415) 500-0503`, params: ['{{contact.name|there}}', 'b'] },
  ]
  const known = 'the number is in the broadcast already'
  const { added, skipped } = await add(api, draft.id, mixed)
  assert.equal(added, 21)
  assert.deepEqual(skipped.slice(0, 11), [
    ...Array.from({ length: 10 }, (_, index) => ({ index, reason: known })),
    { index: 30, reason: known },
  ])
  assert.deepEqual(
    skipped.slice(11).map(({ index, reason }: Json) => [index, reason.replace(/;.*/, '')]),
    [
      [31, 'not a phone number'],
      [32, 'params.body[0]: required'],
      [33, 'params.body[1]: required'],
      [34, 'params.body[0]: unknown field contact.shoe_size'],
    ],
  )
  assert.deepEqual(await add(api, draft.id, mixed.slice(0, 5)), {
    added: 0,
    skipped: Array.from({ length: 5 }, (_, index) => ({ index, reason: known })),
  })
  assert.equal((await provider.sent()).length, 0)
  const ready = (await api.get(`/broadcasts/${draft.id}`)).body.data
  assert.deepEqual([ready.status, ready.total_count, ready.pending_count], ['draft', 81, 81])

  const started = dataOf(await api.post(`/broadcasts/${draft.id}/start`))
  assert.equal(started.status, 'sending')
  const over = await untilOver(api, draft.id)
  assert.deepEqual([over.status, over.sent_count, over.failed_count, over.skipped_count], ['sent', 81, 0, 0])
  const sent = await provider.sent()
  assert.equal(new Set(sent.map(({ to }) => to)).size, 81)
  assert.equal(sent.length, 81)
  const texts = new Map(sent.map(({ to, body }) => [to.replace(/\D/g, ''), JSON.stringify(body)]))
  for (const i of [0, 59, 60, 79]) assert.match(texts.get(phoneOf(i).slice(1)) ?? '', new RegExp(`Name ${i}.*A-${i}`))
  assert.match(texts.get('14155000503') ?? '', /there/)
})

test('recipients are listed in order with their outcome, and by status', async (t) => {
  const { api, provider } = await startConnected(t)
  const { id } = await createDraft(api, { recipients: people(2) })
  await add(api, id, people(120, 2))
  const path = `/broadcasts/${id}/recipients`
  const before = await listAll(api, path)
  assert.deepEqual(pluck(before, 'to'), pluck(people(122), 'to'))
  assert.deepEqual(before[0], { to: phoneOf(0), contact_id: null, status: 'pending', reason: null, message_id: null })
  for (const i of [1, 60, 121]) await provider.fault({ to: phoneOf(i), mode: 'reject' })
  await api.post(`/broadcasts/${id}/start`)
  const { failed_count, sent_count } = await untilOver(api, id)
  assert.deepEqual([failed_count, sent_count], [3, 119])
  const all = await listAll(api, path)
  assert.equal(all.length, 122)
  for (const { contact_id, message_id } of all) assert.ok(contact_id && message_id)
  const failed = await listAll(api, `${path}?status=failed`)
  assert.deepEqual(pluck(failed, 'to'), [1, 60, 121].map(phoneOf))
  for (const { reason } of failed) assert.ok(reason)
  assertBadRequest(await api.get(`${path}?status=lost`), /^status: /)
})

test('broadcasts are listed newest first, in pages, by status', async (t) => {
  const { api } = await startConnected(t)
  const drafts: string[] = []
  for (let i = 0; i < 3; i++) drafts.unshift((await createDraft(api)).id)
  const later = { name: 'Later', template, recipients: people(1), scheduled_at: tomorrow() }
  const scheduled = await api.post('/broadcasts', later)
  const ids = async (query: string) => (await api.get(`/broadcasts?${query}`)).body.data.map(({ id }: Json) => id)
  assert.deepEqual(await ids(''), [scheduled.body.data.id, ...drafts])
  assert.deepEqual(await ids('status=draft'), drafts)
  assert.deepEqual(await ids('status=scheduled'), [scheduled.body.data.id])
  assert.deepEqual(await ids('status=sent'), [])
  const first = (await api.get('/broadcasts?limit=2')).body
  assert.deepEqual(await ids(`limit=2&cursor=${first.meta.next_cursor}`), drafts.slice(1))
  assertBadRequest(await api.get('/broadcasts?status=lost'), /^status: /)
  for (const each of first.data) assert.deepEqual([each.is_paused, each.paused_reason], [false, null])
})

test('a broadcast is paused, resumed and canceled through the API', async (t) => {
  const { api, provider } = await startConnected(t)
  const later = { name: 'Later', template, recipients: people(3), scheduled_at: tomorrow() }
  const { body } = await api.post('/broadcasts', later)
  const { id } = body.data
  const change = async (verb: string) => dataOf(await api.post(`/broadcasts/${id}/${verb}`))
  assert.equal((await change('pause')).is_paused, true)
  assert.equal((await change('pause')).is_paused, true)
  const resumed = await change('resume')
  assert.deepEqual([resumed.is_paused, resumed.status], [false, 'scheduled'])
  const canceled = await change('cancel')
  assert.deepEqual([canceled.status, canceled.skipped_count, canceled.pending_count], ['canceled', 3, 0])
  assert.equal((await change('cancel')).status, 'canceled')
  for (const verb of ['pause', 'resume', 'start'])
    assertBadRequest(await api.post(`/broadcasts/${id}/${verb}`), /canceled/)
  assertBadRequest(await api.post(`/broadcasts/${id}/recipients`, { recipients: people(1) }), /draft/)
  assert.equal((await provider.sent()).length, 0)
})

test('a draft is canceled with its recipients, cannot be paused, and starts only with recipients', async (t) => {
  const { api } = await startConnected(t)
  const { id } = await createDraft(api)
  assertBadRequest(await api.post(`/broadcasts/${id}/start`), 'recipients: the draft has none')
  for (const verb of ['pause', 'resume'])
    assertBadRequest(await api.post(`/broadcasts/${id}/${verb}`), /a draft cannot be/)
  await add(api, id, people(5))
  const canceled = (await api.post(`/broadcasts/${id}/cancel`)).body.data
  assert.deepEqual([canceled.status, canceled.skipped_count, canceled.pending_count], ['canceled', 5, 0])
  assert.ok((await untilOver(api, id)).completed_at)
  assertBadRequest(await api.post(`/broadcasts/${id}/start`))

  const { id: later } = await createDraft(api, { scheduled_at: tomorrow(), recipients: people(2) })
  assert.equal((await api.post(`/broadcasts/${later}/start`)).body.data.status, 'scheduled')
  await api.post(`/broadcasts/${later}/cancel`)

  const filter = { match: 'all', rules: [{ field: 'phone', op: 'is_set' }] }
  await api.post('/contacts', { phone: phoneOf(900), name: 'Member' })
  const segment = (await api.post('/segments', { name: 'All', kind: 'dynamic', filter })).body.data
  const values = { ...template, params: ['{{contact.name}}', 'A-1'], contact_fields: true }
  const { id: audience } = await createDraft(api, { segment_id: segment.id, template: values })
  assertBadRequest(await api.post(`/broadcasts/${audience}/recipients`, { recipients: people(1) }))
  assert.equal((await api.post(`/broadcasts/${audience}/start`)).status, 200)
  assert.equal((await untilOver(api, audience)).sent_count, 1)
})

test('a draft that the plan does not allow stays a draft', async (t) => {
  const { api, db } = await startConnected(t)
  const { id } = await createDraft(api, { recipients: people(3) })
  await setPlan(db, api.workspaceId, { messages_per_month: 2, state: 'active' })
  assertRefused(await api.post(`/broadcasts/${id}/start`), 402, 'plan_limit_reached')
  assert.equal((await api.get(`/broadcasts/${id}`)).body.data.status, 'draft')
  await setPlan(db, api.workspaceId, { messages_per_month: 3, state: 'active' })
  assert.equal((await api.post(`/broadcasts/${id}/start`)).status, 200)
  await untilOver(api, id)
  assert.equal((await api.get('/usage')).body.data.messages_sent, 3)
})

test('concurrent batches and starts add and send each recipient once', async (t) => {
  const { api, provider, twin } = await startConnected(t)
  const other = await twin()
  const key = await api.key('broadcasts:send')
  const post = async (path: string, body?: Json) => {
    const response = await fetch(`${other}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const { id } = await createDraft(api)
  // The same fifty people in ten batches at the same time, through two processes.
  const batches = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      (i % 2 ? post : api.post)(`/broadcasts/${id}/recipients`, { recipients: people(50) }),
    ),
  )
  const counts = batches.map(({ body }) => body.data.added)
  assert.deepEqual(counts.toSorted(), [...Array(9).fill(0), 50])

  // Starts and batches at the same time: of the batches, those that were added are sent.
  const answers = await Promise.all([
    post(`/broadcasts/${id}/start`),
    ...Array.from({ length: 6 }, (_, i) =>
      api.post(`/broadcasts/${id}/recipients`, { recipients: people(10, 100 + 10 * i) }),
    ),
    api.post(`/broadcasts/${id}/start`),
    post(`/broadcasts/${id}/start`),
  ])
  const starts = [answers.at(0), ...answers.slice(-2)].map((answer) => answer?.status)
  assert.deepEqual(starts.toSorted(), [200, 400, 400])
  const added = answers.slice(1, -2).reduce((sum, { body }) => sum + (body.data?.added ?? 0), 50)
  const over = await untilOver(api, id)
  assert.deepEqual([over.total_count, over.sent_count], [added, added])
  const sent = await provider.sent()
  assert.deepEqual([sent.length, new Set(sent.map(({ to }) => to)).size], [added, added])
})

test('a repeated Idempotency-Key replays the answer of a batch and of a start', async (t) => {
  const { api, db } = await startConnected(t)
  const { id } = await createDraft(api)
  const headers = { 'idempotency-key': randomUUID() }
  const first = await api.post(`/broadcasts/${id}/recipients`, { recipients: people(5) }, { headers })
  const again = await api.post(`/broadcasts/${id}/recipients`, { recipients: people(5) }, { headers })
  assert.equal(again.text, first.text)
  assert.equal((await api.get(`/broadcasts/${id}`)).body.data.total_count, 5)
  const starting = { headers: { 'idempotency-key': randomUUID() } }
  assert.equal((await api.post(`/broadcasts/${id}/start`, undefined, starting)).status, 200)
  // As if the service had crashed before it stored the answer.
  await db`update idempotency_keys set status = null, body = null, locked_until = now() where workspace_id = ${api.workspaceId} and path like '%/start'`
  assert.equal((await api.post(`/broadcasts/${id}/start`, undefined, starting)).status, 200)
  assertBadRequest(await api.post(`/broadcasts/${id}/start`), /cannot be started/)
  await untilOver(api, id)
})

test('a draft needs the scope and belongs to one workspace, and its fields are validated', async (t) => {
  const { api, workspace } = await startConnected(t)
  const { api: stranger } = await workspace()
  const { id } = await createDraft(api)
  const key = await api.key('messages:send')
  for (const [method, path] of [
    ['GET', ''],
    ['GET', `/${id}/recipients`],
    ['POST', `/${id}/start`],
    ['POST', `/${id}/pause`],
    ['POST', `/${id}/resume`],
    ['POST', `/${id}/cancel`],
  ] as const) {
    assertRefused(await api.call(method, `/broadcasts${path}`, { key }), 403, 'forbidden', /broadcasts:send/)
    if (path) assertRefused(await stranger.call(method, `/broadcasts${path}`), 404, 'not_found', 'broadcast not found')
  }
  assertRefused(await stranger.post(`/broadcasts/${id}/recipients`, { recipients: people(1) }), 404, 'not_found')
  assert.deepEqual((await stranger.get('/broadcasts')).body.data, [])
  for (const recipients of [undefined, [], people(1_001), [{}], [{ to: 5 }]])
    assertBadRequest(await api.post(`/broadcasts/${id}/recipients`, { recipients }), /^recipients/)
  assertBadRequest(await api.post('/broadcasts', { name: 'x', template }), /^recipients: required/)
  const absent = { name: 'x', template: { name: 'absent' }, draft: true }
  assertBadRequest(await api.post('/broadcasts', absent), /^template\.name: /)
  assertBadRequest(await api.post('/broadcasts', { name: 'x', template, draft: 'yes' }), /^draft: /)
})

test('a contact that is erased is no recipient of a draft any more, and its number can be added again', async (t) => {
  const { api } = await startConnected(t)
  const { id: contactId } = (await api.post('/contacts', { phone: phoneOf(1), name: 'Ann' })).body.data
  const { id } = await createDraft(api)
  await add(api, id, people(3))
  assert.equal((await api.delete(`/contacts/${contactId}`)).status, 200)
  const erased = (await api.get(`/broadcasts/${id}`)).body.data
  assert.deepEqual([erased.total_count, erased.pending_count, erased.skipped_count], [3, 2, 1])
  const recipients = await listAll(api, `/broadcasts/${id}/recipients`)
  assert.deepEqual(pluck(recipients, 'to', 'status'), [
    [phoneOf(0), 'pending'],
    [null, 'skipped'],
    [phoneOf(2), 'pending'],
  ])
  const repeated = [{ index: 0, reason: 'the number is in the broadcast already' }]
  assert.deepEqual(await add(api, id, people(2)), { added: 1, skipped: repeated })
  await api.post(`/broadcasts/${id}/start`)
  const over = await untilOver(api, id)
  assert.deepEqual([over.sent_count, over.skipped_count, over.total_count], [3, 1, 4])
})

test('a draft is deleted with its recipients, and no other broadcast is', async (t) => {
  const { api, db, url, owner } = await startConnected(t)
  const { id } = await createDraft(api, { recipients: people(1) })
  await add(api, id, people(5, 1))
  const deleted = await api.delete(`/broadcasts/${id}`)
  assert.deepEqual([deleted.status, deleted.body], [200, { data: { id, deleted: true } }])
  assert.equal((await db`select from broadcast_recipients where workspace_id = ${api.workspaceId}`).length, 0)
  assertRefused(await api.get(`/broadcasts/${id}`), 404, 'not_found')
  assertRefused(await api.delete(`/broadcasts/${id}`), 404, 'not_found', 'broadcast not found')
  assertRefused(await api.delete('/broadcasts/nonsense'), 404, 'not_found')
  const later = { name: 'Later', template, recipients: people(1), scheduled_at: tomorrow() }
  const scheduled = (await api.post('/broadcasts', later)).body.data
  const refusal = 'only a draft can be deleted; the broadcast is scheduled'
  assertBadRequest(await api.delete(`/broadcasts/${scheduled.id}`), refusal)
  assert.equal((await api.get(`/broadcasts/${scheduled.id}`)).status, 200)

  const browser = await signIn({ url, owner })
  const { id: second } = await createDraft(api)
  assert.equal((await browser.call('DELETE', `/broadcasts/${second}`)).status, 200)
  assertBadRequest(await browser.call('DELETE', `/broadcasts/${scheduled.id}`), refusal)
  const [entry] = (await browser.call('GET', '/audit')).body.data
  assert.deepEqual([entry.action, entry.subject_id, entry.summary], ['broadcast.deleted', second, 'Campaign'])
})

test('a workspace has at most 1,000 drafts and 1,000,000 recipients that are not sent to', async (t) => {
  const { api, db } = await startConnected(t)
  const { id } = await createDraft(api, { recipients: people(1) })
  await db`
    insert into broadcasts (workspace_id, id, name, status, template_name, template_language, params, is_filled, created_at)
    select workspace_id, gen_random_uuid(), name, status, template_name, template_language, params, is_filled, created_at
    from broadcasts, generate_series(1, 998) where workspace_id = ${api.workspaceId} and id = ${id}`
  const { id: last } = await createDraft(api)
  const draft = { name: 'Campaign', template, draft: true }
  assertBadRequest(await api.post('/broadcasts', draft), /^draft: the workspace has 1,000 drafts/)
  // A broadcast that is sent at once is no draft.
  const now = dataOf(await api.post('/broadcasts', { name: 'Now', template, recipients: people(1) }), 202)
  await untilOver(api, now.id)
  await api.delete(`/broadcasts/${last}`)
  const { id: next } = await createDraft(api)

  // As if the first draft had nearly a million recipients.
  await db`
    update broadcasts set filled_count = 999999, total_count = 999999
    where workspace_id = ${api.workspaceId} and id = ${id}`
  assert.equal((await add(api, next, people(1))).added, 1)
  const limit = /^recipients: .* at most 1,000,000 /
  const tooMany = { recipients: people(1, 1) }
  for (const path of [next, id].map((each) => `/broadcasts/${each}/recipients`))
    assertBadRequest(await api.post(path, tooMany), limit)
  for (const more of [{}, { scheduled_at: tomorrow() }])
    assertBadRequest(await api.post('/broadcasts', { name: 'x', template, ...tooMany, ...more }), limit)
  assert.equal((await api.get(`/broadcasts/${next}`)).body.data.total_count, 1)
  await api.delete(`/broadcasts/${id}`)
  assert.equal((await add(api, next, people(1, 1))).added, 1)
})

test('a draft is deleted 30 days after it was created', async (t) => {
  const { api, db, connect } = await start(t, { alone: 'sweeps the drafts of all workspaces' })
  await connect()
  const [old, young, scheduled] = [
    (await createDraft(api, { recipients: people(2) })).id,
    (await createDraft(api)).id,
    (await api.post('/broadcasts', { name: 'Later', template, recipients: people(1), scheduled_at: tomorrow() })).body
      .data.id,
  ]
  const age = (id: string, days: number) => db`
    update broadcasts set created_at = now() - make_interval(days => ${days})
    where workspace_id = ${api.workspaceId} and id = ${id}`
  await age(old, 31)
  await age(young, 29)
  await age(scheduled, 31)
  assert.deepEqual(await sweepDrafts(db), [api.workspaceId])
  const left = (await api.get('/broadcasts')).body.data.map(({ id }: Json) => id)
  assert.deepEqual(left, [scheduled, young])
  assert.deepEqual(await sweepDrafts(db), [])
})
