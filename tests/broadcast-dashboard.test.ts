/**
 * What members do with broadcasts in their dashboard: look before, send, stop,
 * see who got it and who did not, and send it again to those.
 */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertFields, assertRefused, pluck } from './assertions.ts'
import { createBrowser, publicUrl, signIn } from './browser.ts'
import { type Db, setPlan, writeRecipients } from './internals.ts'
import { createMember, type Json, type Starting, startSignedIn, until, withProvider } from './support.ts'

const hello = { name: 'hello_world' }
const phoneOf = (i: number) => `+1415557${String(i).padStart(4, '0')}`
const people = (count: number, from = 0) => Array.from({ length: count }, (_, i) => ({ to: phoneOf(from + i) }))
const soon = (ms: number) => new Date(Date.now() + ms).toISOString()
const tomorrow = () => soon(86_400_000)

/** A world with the owner signed in, and ways to ask for what must be there. */
async function signedIn(t: TestContext, starting?: Starting) {
  const world = await startSignedIn(t, starting)
  const { ask, get } = world
  const send = async (body: Json): Promise<Json> =>
    (await ask('POST', '/broadcasts', { name: 'News', template: hello, ...body }, 202)).data
  const untilOver = (id: string) =>
    until('the broadcast to be over', async () => {
      const broadcast = await get(`/broadcasts/${id}`)
      return broadcast.completed_at !== null && broadcast
    })
  return { ...world, send, untilOver }
}

/** A broadcast that is over, of so many recipients that were never sent to. */
async function makeLarge(db: Db, workspaceId: string, count: number): Promise<string> {
  const id = crypto.randomUUID()
  await db`
    insert into broadcasts (workspace_id, id, name, status, template_name, template_language, params, total_count,
      filled_count, position, is_filled, created_at, started_at, completed_at)
    values (${workspaceId}, ${id}, 'Large', 'sent', 'hello_world', 'en_US', '{}', ${count}, ${count}, ${count}, true, now(),
      now(), now())`
  await db`
    insert into broadcast_recipients (workspace_id, broadcast_id, place, phone, identity, name, status, reason)
    select ${workspaceId}, ${id}, i, '+1212' || (5000000 + i), '+1212' || (5000000 + i), 'No ' || i,
      case when i = ${count}::int then 'failed' else 'read' end, case when i = ${count}::int then 'the last' end
    from generate_series(1, ${count}::int) i`
  await db`
    insert into broadcast_counts (workspace_id, broadcast_id, shard, sent, delivered, read, failed, skipped, settled_at)
    values (${workspaceId}, ${id}, 0, ${count - 1}, ${count - 1}, ${count - 1}, 1, 0, now())`
  return id
}

test('a member sends a broadcast and finds it in the list with its counters', async (t) => {
  const { ask, get, send, untilOver, provider, api } = await withProvider(signedIn(t))
  const first = await send({ name: 'First', recipients: people(3) })
  assert.deepEqual(
    [first.name, first.status, first.total_count, first.is_paused, first.paused_reason, first.cancel_reason],
    ['First', 'sending', 3, false, null, null],
  )
  await untilOver(first.id)
  const done = await until('all recipients to read it', async () => {
    const broadcast = await get(`/broadcasts/${first.id}`)
    return broadcast.read_count === 3 && broadcast
  })
  const shown = (await api.get(`/broadcasts/${first.id}`)).body.data
  const idle = { channel_error: null, next_attempt_at: null, awaiting_count: 0, cancel_reason: null, again_id: null }
  const { id: authorId, name: author } = done.author
  assert.ok(authorId && author)
  const responses = { replied_count: 0, tapped_count: 0, opted_out_count: 0 }
  const members = { audience: null, author: done.author, saved_at: null, ...responses }
  assert.deepEqual(done, { ...shown, params: {}, ...idle, ...members })
  assert.equal((await provider.sent()).length, 3)

  const second = await send({ name: 'Second', recipients: people(1), scheduled_at: tomorrow() })
  const third = await send({ name: 'Third', recipients: people(1), scheduled_at: tomorrow() })
  await ask('POST', `/broadcasts/${third.id}/cancel`)
  const list = await get('/broadcasts')
  assert.deepEqual(pluck(list, 'id', 'status').flat(), [third.id, 'canceled', second.id, 'scheduled', first.id, 'sent'])
  assert.deepEqual(list[2], done)
  for (const [status, ids] of [
    ['sent', [first.id]],
    ['scheduled', [second.id]],
    ['canceled', [third.id]],
    ['sending', []],
  ] as const) {
    const found = (await get(`/broadcasts?status=${status}`)).map(({ id }: Json) => id)
    assert.deepEqual(found, ids, status)
  }
  assert.deepEqual(await get('/broadcasts?is_paused=true'), [])
  await ask('POST', `/broadcasts/${second.id}/pause`)
  for (const query of ['is_paused=true', 'is_paused=true&status=scheduled']) {
    assert.deepEqual(pluck(await get(`/broadcasts?${query}`), 'id'), [second.id])
  }
  assert.deepEqual(await get('/broadcasts?is_paused=true&status=sending'), [])
  const page = await ask('GET', '/broadcasts?limit=2')
  await send({ name: 'Newer', recipients: people(1), scheduled_at: tomorrow() })
  const next = await ask('GET', `/broadcasts?limit=2&cursor=${page.meta.next_cursor}`)
  assert.deepEqual([next.data.length, next.data[0].id, next.meta.next_cursor], [1, first.id, null])
})

test('a completed broadcast is listed as sent even before its row says so', async (t) => {
  const { db, get, send, untilOver, connect } = await signedIn(t, { alone: 'creates a trigger' })
  await connect()
  const { id } = await send({ recipients: people(1) })
  await untilOver(id)
  await until('it to be written down', async () => {
    const [row] = await db`select 1 from broadcasts where id = ${id} and status = 'sent'`
    return row
  })
  await db`
    create function keep() returns trigger language plpgsql as 'begin return null; end';`
  await db`create trigger keep before update on broadcasts for each row when (new.status = 'sent') execute function keep()`
  await db`update broadcasts set status = 'sending', completed_at = null`
  assert.deepEqual((await get('/broadcasts?status=sending')).length, 0)
  const [sent] = await get('/broadcasts?status=sent')
  assert.deepEqual([sent?.id, sent?.status], [id, 'sent'])
})

test('every member may list and run broadcasts; only owners and admins may export the recipients', async (t) => {
  const { url, browser, send, connect } = await signedIn(t)
  await connect()
  const { id } = await send({ recipients: people(1), scheduled_at: tomorrow() })
  const news = { name: 'News', template: hello, recipients: people(1), scheduled_at: tomorrow() }
  const calls: [string, string, Json?][] = [
    ['GET', '/broadcasts'],
    ['GET', `/broadcasts/${id}`],
    ['GET', `/broadcasts/${id}/recipients`],
    ['GET', `/broadcasts/${id}/recipients.csv`],
    ['POST', '/broadcasts', news],
    ['POST', '/broadcasts/preview', news],
    ['POST', '/broadcasts/test', { template: hello, to: phoneOf(0) }],
    ['POST', `/broadcasts/${id}/pause`],
    ['POST', `/broadcasts/${id}/resume`],
    ['POST', `/broadcasts/${id}/cancel`],
    ['POST', `/broadcasts/${id}/again`],
  ]
  const stranger = createBrowser(url)
  for (const [method, path, body] of calls) {
    assertRefused(await stranger.call(method, path, body), 401, 'unauthorized')
    if (method === 'GET') continue
    const elsewhere = await browser.call(method, path, body, { origin: 'https://elsewhere.test' })
    assertRefused(elsewhere, 403, 'forbidden')
  }
  assert.equal((await browser.call('GET', `/broadcasts/${id}`)).body.data.status, 'scheduled')
  for (const role of ['admin', 'agent'] as const) {
    const member = await createMember(browser, role)
    const own = (await member.call('POST', '/broadcasts', news)).body.data
    const cookie = await cookieOf(url, { email: member.email, password: member.password })
    const exported = await fetch(`${url}/app/api/broadcasts/${own.id}/recipients.csv`, { headers: { cookie } })
    assert.equal(exported.status, role === 'admin' ? 200 : 403)
    await exported.text()
    for (const [method, path, body] of calls) {
      if (path.endsWith('.csv')) continue
      const answer = await member.call(method, path.replace(id, own.id), body)
      assert.ok(answer.status < 300, `${role} ${method} ${path}: ${answer.text}`)
    }
  }
})

test('a preview of a list counts the reachable recipients, gives a reason for each other one, and writes nothing', async (t) => {
  const { api, db, ask, connect } = await signedIn(t)
  const provider = await connect({ messagesPerSecond: 2 })
  await api.post('/contacts', { phone: phoneOf(0), name: 'Ann', company: 'Acme' })
  await api.post('/contacts', { phone: phoneOf(1), name: 'Bob', company: 'Out' })
  await api.post('/contacts', { phone: phoneOf(2), name: 'Eve' })
  await db`
    update contacts set opted_out_at = now(), opted_out_by = 'member'
    where workspace_id = ${api.workspaceId} and phone = ${phoneOf(1)}`
  const template = { name: 'order_confirmed', params: ['{{contact.name|you}}', '{{contact.company}}'] }
  const recipients = [
    { to: phoneOf(1) },
    { to: phoneOf(2) },
    { to: phoneOf(0) },
    { to: phoneOf(0) },
    { to: 'nobody' },
    { to: phoneOf(3), params: ['Own', 'B'] },
    { to: phoneOf(4), params: ['only one'] },
    { to: phoneOf(5), name: 'Given', params: ['{{contact.name}}', '{{contact.email|-}}'] },
  ]
  const counted = () => db`
    select (select count(*) from broadcasts where workspace_id = ${api.workspaceId}) as b,
      (select count(*) from contacts where workspace_id = ${api.workspaceId}) as c, (select count(*) from messages where workspace_id = ${api.workspaceId}) as m`
  const before = [...(await counted())]
  const { data } = await ask('POST', '/broadcasts/preview', { template, recipients })
  assert.deepEqual(
    {
      ...data,
      skipped: data.skipped.map(({ reason, count }: Json) => `${count} ${reason}`).sort(),
      samples: null,
    },
    {
      total: 7,
      sendable: 3,
      skipped: [
        '1 not a phone number',
        '1 opted out of broadcasts',
        '1 template.params.body[1]: required',
        '1 the contact has no company',
      ],
      values_checked: 5,
      duration_seconds: 2,
      plan: { left: null, fits: true, state: 'active' },
      samples: null,
    },
  )
  assert.deepEqual(data.samples[0], { name: 'Ann', to: phoneOf(0), params: { body: ['Ann', 'Acme'] } })
  assert.equal(data.samples.length, 3)
  assert.deepEqual([...(await counted())], before)
  assert.deepEqual(await provider.sent(), [])

  // What it promised is what is sent.
  const { id } = (await ask('POST', '/broadcasts', { name: 'News', template, recipients }, 202)).data
  const done = await until('it to be sent', async () => {
    const { data: broadcast } = await ask('GET', `/broadcasts/${id}`)
    return broadcast.status === 'sent' && broadcast
  })
  assert.deepEqual([done.total_count, done.sent_count, done.skipped_count], [7, 3, 4])
})

test('a preview of a segment counts its contacts and compares them with the remaining quota', async (t) => {
  const { api, db, ask, browser, connect } = await signedIn(t)
  await connect({ messagesPerSecond: 100 })
  const count = 5_000
  await db`
    with made as (
      insert into contacts (workspace_id, id, phone, name, email, company, company_key, opted_out_at, opted_out_by,
        created_at, updated_at)
      select ${api.workspaceId}, ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid,
        case when i % 10 > 0 then '+1415' || (5000000 + i) end, case when i % 7 > 0 then 'No ' || i end,
        case i % 3 when 0 then null when 1 then ${'\u00a0\t '} else 'x@example.com' end,
        'Acme', 'acme', case when i % 4 = 0 then now() end, case when i % 4 = 0 then 'member' end, now(), now()
      from generate_series(1, ${count}::int) i
      returning id, phone
    )
    insert into contact_identities (workspace_id, channel, external_id, contact_id)
    select ${api.workspaceId}, 'msgapp', phone, id from made where phone is not null`
  const filter = { match: 'all', rules: [{ field: 'company', op: 'is', value: 'acme' }] }
  const segment = (await api.post('/segments', { name: 'All', kind: 'dynamic', filter })).body.data.id
  const numbers = Array.from({ length: count }, (_, i) => i + 1)
  const noNumber = numbers.filter((i) => i % 10 === 0)
  const out = numbers.filter((i) => i % 10 > 0 && i % 4 === 0)
  const usable = numbers.filter((i) => i % 10 > 0 && i % 4 > 0)
  const noEmail = usable.filter((i) => i % 3 !== 2)
  const noName = usable.filter((i) => i % 3 === 2 && i % 7 === 0)
  const template = { name: 'order_confirmed', params: ['{{contact.email}} {{contact.name}}', '{{contact.company|x}}'] }
  const preview = async (body: Json) =>
    (await ask('POST', '/broadcasts/preview', { segment_id: segment, ...body })).data

  const shown = await preview({ template, name: 'ignored' })
  const sendable = usable.length - noEmail.length - noName.length
  assert.deepEqual(shown.skipped, [
    { reason: 'the contact has no email', count: noEmail.length },
    { reason: 'opted out of broadcasts', count: out.length },
    { reason: 'has no phone number', count: noNumber.length },
    { reason: 'the contact has no name', count: noName.length },
  ])
  assertFields(shown, { total: count, sendable, duration_seconds: Math.ceil(sendable / 100), values_checked: 1_000 })
  const [first] = usable.filter((i) => i % 3 === 2 && i % 7 > 0)
  const [sample] = shown.samples
  assert.equal(sample.to, `+1415${5_000_000 + (first ?? 0)}`)
  assert.deepEqual(sample.params, { body: [`x@example.com No ${first}`, 'Acme'] })
  const plain = await preview({ template: hello })
  assert.deepEqual([plain.sendable, plain.values_checked], [usable.length, 1])

  // Quota is reserved for every recipient with a number; a missing value shows later.
  for (const [left, fits] of [
    [usable.length, true],
    [usable.length - 1, false],
  ] as const) {
    await setPlan(db, api.workspaceId, { messages_per_month: left, state: 'active' })
    assert.deepEqual((await preview({ template })).plan, { left, fits, state: 'active' })
  }
  await setPlan(db, api.workspaceId, { messages_per_month: 10_000, state: 'lapsed' })
  assert.deepEqual((await preview({ template })).plan, { left: 10_000, fits: false, state: 'lapsed' })
  await db`insert into plan_usage values (${api.workspaceId}, date_trunc('month', now() at time zone 'utc'), 9999)`
  assert.equal((await preview({ template })).plan.left, 1)
  assert.equal((await preview({ template, scheduled_at: soon(40 * 86_400_000) })).plan.left, 10_000)

  const emptySegment = (await api.post('/segments', { name: 'Nobody' })).body.data.id
  const empty = await preview({ template, segment_id: emptySegment })
  assert.deepEqual([empty.total, empty.sendable, empty.samples, empty.duration_seconds], [0, 0, [], 0])
  const missing = await browser.call('POST', '/broadcasts/preview', { template, segment_id: crypto.randomUUID() })
  assertRefused(missing, 404, 'not_found')
})

test('a preview rejects an invalid broadcast with the same error', async (t) => {
  const { api, browser, workspace, url, connect, db } = await signedIn(t)
  await connect()
  const recipients = people(1)
  for (const [body, message] of [
    [{ template: hello }, 'recipients: required, unless there is a segment_id'],
    [
      { template: hello, recipients, segment_id: crypto.randomUUID() },
      'segment_id: must not be combined with recipients',
    ],
    [{ recipients }, 'template: required'],
    [{ template: hello, recipients: [] }, /^recipients: /],
    [{ template: hello, recipients: [{ to: 'x' }] }, 'recipients[0].to: not a phone number'],
    [{ template: hello, recipients, scheduled_at: 'soon' }, /^scheduled_at: /],
    [{ template: hello, recipients, scheduled_at: soon(-6 * 60_000) }, /^scheduled_at: .* 5 minutes in the past$/],
    [{ template: { name: 'order_confirmed' }, recipients }, 'template.params.body[0]: required'],
    [{ template: { name: 'none_such' }, recipients }, /^template\.name: there is no template/],
    [{ template: { name: 'paused_promo' }, recipients }, /not approved/],
    [{ template: { name: 'order_confirmed', params: ['{{contact.x}}', ''] }, recipients }, /unknown field contact\.x/],
  ] as const) {
    for (const path of ['/broadcasts', '/broadcasts/preview']) {
      assertBadRequest(await browser.call('POST', path, { name: 'News', ...body }), message)
    }
  }
  assertBadRequest(await browser.call('POST', '/broadcasts', { template: hello, recipients }), /^name: /)
  const { owner, api: theirs } = await workspace()
  const bare = await signIn({ url, owner })
  for (const [path, body] of [
    ['/broadcasts', { name: 'News', template: hello, recipients }],
    ['/broadcasts/preview', { template: hello, recipients }],
    ['/broadcasts/test', { template: hello, to: phoneOf(0) }],
  ] as const) {
    assertRefused(await bare.call('POST', path, body), 400, 'msgapp_not_configured')
  }
  const workspaces = [api.workspaceId, theirs.workspaceId]
  assert.equal((await db`select 1 from broadcasts where workspace_id = any(${workspaces}::uuid[])`).length, 0)
  assertBadRequest(await browser.call('GET', '/broadcasts?status=paused'), /^status: /)
})

test('a test send goes to one number at once, as a message of the member, with the values of that contact', async (t) => {
  const { api, db, browser, ask, get, provider } = await withProvider(signedIn(t))
  await api.post('/contacts', { phone: phoneOf(0), name: 'Ann', company: 'Acme' })
  const template = { name: 'order_confirmed', params: ['{{contact.name|there}}', '{{contact.company|your shop}}'] }
  const { member } = await get('/session')
  for (const [to, values] of [
    ['(415) 557-0000', ['Ann', 'Acme']],
    [phoneOf(1), ['there', 'your shop']],
  ] as const) {
    const { data } = await ask('POST', '/broadcasts/test', { template, to }, 201)
    assert.deepEqual(
      [data.sender_type, data.sender_id, data.content_type, data.template_name, data.direction],
      ['agent', member.id, 'template', 'order_confirmed', 'outbound'],
    )
    assert.ok(data.msgapp_message_id)
    const [sent, ...more] = (await provider.sent()).filter(({ message_id }) => message_id === data.msgapp_message_id)
    assert.equal(more.length, 0)
    const parameters = sent?.body.template.components[0].parameters.map(({ text }: Json) => text)
    assert.deepEqual(parameters, values)
    assert.equal((await get(`/conversations/${data.conversation_id}/messages`))[0].id, data.id)
  }
  assert.equal((await db`select 1 from broadcasts where workspace_id = ${api.workspaceId}`).length, 0)

  const test = (body: Json) => browser.call('POST', '/broadcasts/test', body)
  const bare = { name: 'order_confirmed', params: ['{{contact.name}}', 'x'] }
  for (const [body, message] of [
    [{ template, to: 'nobody' }, 'to: not a phone number'],
    [{ template }, 'to: required'],
    [{ to: phoneOf(0) }, 'template: required'],
    [{ template: bare, to: phoneOf(5) }, /^template\.params: the contact has no name/],
    [
      { template: { name: 'order_confirmed', params: ['{{contact.x}}', 'y'] }, to: phoneOf(0) },
      /unknown field contact\.x/,
    ],
    [{ template: { name: 'order_confirmed' }, to: phoneOf(0) }, 'template.params.body[0]: required'],
    [{ template: { name: 'none_such' }, to: phoneOf(0) }, /^template\.name: /],
  ] as const) {
    assertBadRequest(await test(body), message)
  }
  assertRefused(await test({ template: hello, to: '+15005550001' }), 502, 'platform_error', /131026/)
  await setPlan(db, api.workspaceId, { messages_per_month: 2, state: 'active' })
  assertRefused(await test({ template: hello, to: phoneOf(0) }), 402, 'plan_limit_reached')
  await setPlan(db, api.workspaceId, { messages_per_month: null, state: 'lapsed' })
  assertRefused(await test({ template: hello, to: phoneOf(9) }), 402, 'subscription_lapsed')
  assert.equal((await provider.sent()).length, 2)
})

test('a member pauses, resumes and cancels a broadcast; an impossible change gets an explanation', async (t) => {
  const { browser, ask, get, send, untilOver, connect } = await signedIn(t)
  const provider = await connect({ messagesPerSecond: 20 })
  const { id } = await send({ recipients: people(60) })
  await until('some to be sent', async () => (await get(`/broadcasts/${id}`)).sent_count > 3)
  const paused = (await ask('POST', `/broadcasts/${id}/pause`)).data
  assert.deepEqual([paused.id, paused.is_paused, paused.status], [id, true, 'sending'])
  const stopped = await until('the sends in flight', async () => {
    const one = (await provider.sent()).length
    return (await get(`/broadcasts/${id}`)).sent_count === one && one
  })
  assert.ok(stopped < 60)
  const resumed = (await ask('POST', `/broadcasts/${id}/resume`)).data
  assert.equal(resumed.is_paused, false)
  await until('more to be sent', async () => (await provider.sent()).length > stopped)
  const canceled = (await ask('POST', `/broadcasts/${id}/cancel`)).data
  assert.equal(canceled.status, 'canceled')
  const over = await untilOver(id)
  assert.ok(over.skipped_count > 0)
  assert.equal(over.sent_count + over.skipped_count, 60)

  const sent = await send({ recipients: people(1, 100) })
  await untilOver(sent.id)
  for (const [one, status] of [
    [id, 'canceled'],
    [sent.id, 'sent'],
  ]) {
    for (const word of ['pause', 'resume']) {
      const message = `a broadcast that is ${status} cannot be ${word}d`
      assertBadRequest(await browser.call('POST', `/broadcasts/${one}/${word}`), message)
    }
  }
  const message = 'a broadcast that is sent cannot be canceled'
  assertBadRequest(await browser.call('POST', `/broadcasts/${sent.id}/cancel`), message)
  // Said twice, it is still what was wanted.
  const again = (await ask('POST', `/broadcasts/${id}/cancel`)).data
  assert.equal(again.completed_at, over.completed_at)
})

test('recipients are listed in order with their outcome, and filtered by status', async (t) => {
  const { api, db, ask, get, send, untilOver, provider } = await withProvider(signedIn(t))
  await provider.fault({ to: phoneOf(2), mode: 'no_statuses' })
  await api.post('/contacts', { phone: phoneOf(0), name: 'Ann' })
  await api.post('/contacts', { phone: phoneOf(3), name: 'Out' })
  await db`
    update contacts set opted_out_at = now(), opted_out_by = 'member'
    where workspace_id = ${api.workspaceId} and phone = ${phoneOf(3)}`
  const numbers = [phoneOf(0), phoneOf(1), phoneOf(2), phoneOf(3), '+15005550001', 'nobody', '+15005550005']
  const { id } = await send({ recipients: numbers.map((to, i) => ({ to, ...(i === 1 ? { name: 'Given' } : {}) })) })
  await untilOver(id)
  const list = (query = '') => ask('GET', `/broadcasts/${id}/recipients${query}`)
  await until('every report', async () => {
    const { read_count, delivered_count } = await get(`/broadcasts/${id}`)
    return read_count === 2 && delivered_count === 3
  })
  const { data, meta } = await list()
  assert.equal(meta.next_cursor, null)
  assert.deepEqual(pluck(data, 'place', 'phone', 'name', 'status'), [
    [1, phoneOf(0), 'Ann', 'read'],
    [2, phoneOf(1), 'Given', 'read'],
    [3, phoneOf(2), null, 'sent'],
    [4, phoneOf(3), 'Out', 'skipped'],
    [5, '+15005550001', null, 'failed'],
    [6, 'nobody', null, 'skipped'],
    [7, '+15005550005', null, 'delivered'],
  ])
  assert.match(data[4].reason, /131026/)
  const reasons = [data[3].reason, data[5].reason, data[0].reason]
  assert.deepEqual(reasons, ['opted out of broadcasts', 'not a phone number', null])
  const thread = await get(`/conversations/${data[0].conversation_id}/messages`)
  assert.deepEqual([thread[0].id, thread[0].status], [data[0].message_id, 'read'])
  const contact = (await api.get(`/contacts/${data[0].contact_id}`)).body.data
  assert.equal(contact.phone, phoneOf(0))
  assert.deepEqual([data[5].contact_id, data[5].message_id, data[5].conversation_id], [null, null, null])
  assert.ok(data[3].contact_id)
  assert.equal(data[3].message_id, null)

  for (const [status, places] of Object.entries({
    read: [1, 2],
    delivered: [7],
    sent: [3],
    failed: [5],
    skipped: [4, 6],
    pending: [],
  })) {
    const found = await list(`?status=${status}`)
    assert.deepEqual(pluck(found.data, 'place'), places, status)
    assert.equal(found.meta.next_cursor, null)
  }
  const places: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Json = await list(`?limit=3&cursor=${cursor}`)
    assert.ok(page.data.length <= 3)
    places.push(...page.data.map(({ place }: Json) => place))
    cursor = page.meta.next_cursor
  }
  assert.deepEqual(places, [1, 2, 3, 4, 5, 6, 7])
  for (const cursor of ['%00', 'x', 'a'.repeat(2_000), Buffer.from('9999999999').toString('base64url')]) {
    assert.equal((await list(`?cursor=${cursor}`)).data.length, 7, cursor)
  }
  // Being sent to is pending.
  await db`update broadcast_recipients set status = 'sending' where workspace_id = ${api.workspaceId} and place = 3`
  await db`
    update broadcast_counts set sent = sent - 1
    where workspace_id = ${api.workspaceId} and shard = (select min(shard) from broadcast_counts where workspace_id = ${api.workspaceId})`
  assert.deepEqual(pluck((await list('?status=pending')).data, 'place'), [3])
})

test('one match among many recipients is found in a bounded number of steps, and an empty result without any', async (t) => {
  const { api, db, ask } = await signedIn(t)
  const count = 120_000
  const id = await makeLarge(db, api.workspaceId, count)
  const list = (query: string) => ask('GET', `/broadcasts/${id}/recipients?${query}`)
  let looks = 0
  let found: Json[] = []
  for (let cursor = ''; found.length === 0 && looks < 10; looks++) {
    const page = await list(`status=failed&cursor=${cursor}`)
    found = page.data
    cursor = page.meta.next_cursor
    assert.equal(cursor === null, found.length > 0)
  }
  assert.deepEqual([looks, found[0]?.place, found[0]?.reason], [3, count, 'the last'])
  const none = await list('status=skipped')
  assert.deepEqual([none.data, none.meta.next_cursor], [[], null])
})

/** The cookie of a member who signs in, for what is no JSON. */
async function cookieOf(url: string, owner: { email: string; password: string }): Promise<string> {
  const response = await fetch(`${url}/app/api/session`, {
    method: 'POST',
    headers: { origin: publicUrl, 'content-type': 'application/json' },
    body: JSON.stringify(owner),
  })
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

test('the CSV export of recipients contains no formula that a spreadsheet would run', async (t) => {
  const { api, db, url, owner, send, connect } = await signedIn(t)
  await connect()
  const names = ['=1+1', '+cmd', '-2', '@x', 'y\t=x', 'a "quoted", name', 'two\nlines', 'Zoë 🙂', '']
  const recipients = names.map((name, i) => ({ to: phoneOf(i), name }))
  const { id } = await send({ recipients: [...recipients, { to: '=SUM(A1)' }], scheduled_at: tomorrow() })
  const cookie = await cookieOf(url, owner)
  const response = await fetch(`${url}/app/api/broadcasts/${id}/recipients.csv`, { headers: { cookie } })
  assert.equal(response.status, 200)
  const exported = await db`
    select subject_id from audit_log where workspace_id = ${api.workspaceId} and action = 'broadcast.exported'`
  assert.deepEqual([...exported], [{ subject_id: id }])
  assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(response.headers.get('content-disposition'), `attachment; filename="broadcast-${id}.csv"`)
  assert.equal(response.headers.get('cache-control'), 'no-store')
  const bytes = Buffer.from(await response.arrayBuffer())
  assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf])
  const [head, ...lines] = bytes.subarray(3).toString().split('\r\n')
  assert.equal(head, 'place,phone,name,status,reason,contact_id,message_id')
  const named = ["'=1+1", "'+cmd", "'-2", "'@x", '"y\t\'=x"', '"a ""quoted"", name"', '"two\nlines"', 'Zoë 🙂', '']
  assert.deepEqual(lines, [
    ...named.map((name, i) => `${i + 1},${phoneOf(i)},${name},pending,,,`),
    "10,'=SUM(A1),,skipped,not a phone number,,",
    '',
  ])

  const large = await makeLarge(db, api.workspaceId, 5_000)
  const all = await (await fetch(`${url}/app/api/broadcasts/${large}/recipients.csv`, { headers: { cookie } })).text()
  const places = all
    .split('\r\n')
    .slice(1, -1)
    .map((line) => Number(line.split(',')[0]))
  const expected = Array.from({ length: 5_000 }, (_, i) => i + 1)
  assert.deepEqual(places, expected)
})

test('a download that the client aborts stops reading the database', async (t) => {
  const { api, db, url, owner, get } = await signedIn(t)
  const id = await makeLarge(db, api.workspaceId, 20_000)
  let statements = 0
  const counting = new Proxy(db, {
    apply: (target, self, given) => {
      statements++
      return Reflect.apply(target as never, self, given)
    },
  })
  const read = async (chunks: number) => {
    statements = 0
    const stream = Readable.from(writeRecipients(counting, api.workspaceId, id), { objectMode: false })
    for await (const _ of stream) if (--chunks === 0) break
    return statements
  }
  const whole = await read(1_000)
  const part = await read(2)
  assert.ok(part > 0 && part < whole / 3, `${part} of ${whole} statements`)

  const { hostname, port } = new URL(url)
  const path = `/app/api/broadcasts/${id}/recipients.csv`
  const cookie = await cookieOf(url, owner)
  await new Promise<void>((resolve, reject) => {
    const request = httpRequest({ hostname, port, path, headers: { cookie } }, (response) => {
      response.once('data', () => request.destroy())
      response.on('close', resolve)
      response.on('error', () => {})
    })
    request.on('error', reject)
    request.end()
  })
  assert.equal((await get(`/broadcasts/${id}`)).total_count, 20_000)
})

test('a broadcast is repeated once, for the recipients it did not reach, with their values', async (t) => {
  const { api, db, browser, ask, get, send, untilOver, provider } = await withProvider(signedIn(t))
  await provider.fault({ to: phoneOf(1), mode: 'reject', count: 1 })
  await provider.fault({ to: phoneOf(2), mode: 'reject', count: 1 })
  await provider.fault({ to: phoneOf(3), mode: 'reject', count: 1 })
  const recipients = [
    { to: phoneOf(0) },
    { to: phoneOf(1), name: 'Bob', params: ['{{contact.name}}', 'own'] },
    { to: phoneOf(2) },
    { to: phoneOf(3) },
    { to: 'nobody' },
    { to: phoneOf(4), params: ['one'] },
  ]
  const template = { name: 'order_confirmed', params: ['all', '{{contact.phone}}'] }
  const first = await send({ template, recipients })
  const over = await untilOver(first.id)
  assert.deepEqual([over.sent_count, over.failed_count, over.skipped_count], [1, 3, 2])
  await db`
    update contacts set opted_out_at = now(), opted_out_by = 'member'
    where workspace_id = ${api.workspaceId} and phone = ${phoneOf(3)}`

  const repeat = (id: string, body?: Json) => browser.call('POST', `/broadcasts/${id}/again`, body)
  assertBadRequest(await repeat(first.id, { name: ' ' }), /^name: /)
  await setPlan(db, api.workspaceId, { messages_per_month: 2, state: 'active' })
  assertRefused(await repeat(first.id), 402, 'plan_limit_reached')
  await setPlan(db, api.workspaceId, { messages_per_month: 100, state: 'active' })
  // However many members think of it.
  const answers = await Promise.all([repeat(first.id), repeat(first.id), repeat(first.id)])
  const accepted = answers.filter(({ status }) => status === 202)
  assert.equal(accepted.length, 1, answers.map(({ text }) => text).join('\n'))
  for (const answer of answers) {
    if (answer.status !== 202) assert.match(answer.body.error.message, /sent again already/)
  }
  const again = accepted[0]?.body.data
  assert.deepEqual(
    [again.name, again.total_count, again.skipped_count, again.template],
    ['News (again)', 3, 1, { name: 'order_confirmed', language: 'en_US' }],
  )
  const done = await untilOver(again.id)
  assert.deepEqual([done.status, done.sent_count, done.skipped_count], ['sent', 2, 1])
  const bodies = (await provider.sent()).map(({ to, body }) => [
    to,
    ...body.template.components[0].parameters.map(({ text }: Json) => text),
  ])
  assert.deepEqual(bodies.sort(), [
    [phoneOf(0), 'all', phoneOf(0)],
    [phoneOf(1), 'Bob', 'own'],
    [phoneOf(2), 'all', phoneOf(2)],
  ])
  assert.deepEqual(
    (await get(`/broadcasts/${again.id}/recipients`)).map(({ place, phone, status }: Json) => [
      place,
      phone,
      status === 'skipped',
    ]),
    [
      [1, phoneOf(1), false],
      [2, phoneOf(2), false],
      [3, phoneOf(3), true],
    ],
  )
  const [usage] = await db<{ message_count: number }[]>`
    select message_count from plan_usage where workspace_id = ${api.workspaceId}`
  assert.equal(usage?.message_count, 3)
  assert.equal((await get(`/broadcasts/${first.id}`)).again_id, again.id)
  assertBadRequest(await repeat(first.id), /sent again already/)
  assertBadRequest(await repeat(again.id), /no recipient is left/)

  const waiting = await send({ name: '🙂'.repeat(80), recipients: people(2, 50), scheduled_at: tomorrow() })
  assertBadRequest(await repeat(waiting.id), /scheduled cannot be sent again/)
  await ask('POST', `/broadcasts/${waiting.id}/cancel`)
  const named = (template: string) => db`update broadcasts set template_name = ${template} where id = ${waiting.id}`
  await named('paused_promo')
  assertBadRequest(await repeat(waiting.id), /not approved/)
  await named('hello_world')
  const renamed = (await ask('POST', `/broadcasts/${waiting.id}/again`, {}, 202)).data
  assert.equal(renamed.name, `${'🙂'.repeat(72)} (again)`)
  assert.equal((await untilOver(renamed.id)).sent_count, 2)
  const given = await send({ recipients: people(1, 60), scheduled_at: tomorrow() })
  await ask('POST', `/broadcasts/${given.id}/cancel`)
  assert.equal((await ask('POST', `/broadcasts/${given.id}/again`, { name: 'Mine' }, 202)).data.name, 'Mine')
})

test('a member cannot read or change a broadcast of another workspace', async (t) => {
  const { url, workspace, browser, send, connect } = await signedIn(t)
  await connect()
  const { id } = await send({ recipients: people(2), scheduled_at: tomorrow() })
  const { owner, api: theirs } = await workspace()
  await connect({ workspaceId: theirs.workspaceId })
  const other = await signIn({ url, owner })
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/recipients'],
    ['GET', '/recipients?status=pending'],
    ['GET', '/recipients.csv'],
    ['POST', '/pause'],
    ['POST', '/resume'],
    ['POST', '/cancel'],
    ['POST', '/again'],
  ] as const) {
    for (const one of [id, id.toUpperCase(), 'x', '%00']) {
      assertRefused(await other.call(method, `/broadcasts/${one}${path}`), 404, 'not_found')
    }
  }
  assert.deepEqual((await other.call('GET', '/broadcasts')).body.data, [])
  const kept = (await browser.call('GET', `/broadcasts/${id}`)).body.data
  assert.deepEqual([kept.status, kept.is_paused, kept.pending_count], ['scheduled', false, 2])
})
