/** The SDK against a real service: all operations, pagination, retries and errors. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { clientErrors } from '../sdk/src/errors.ts'
import { type ChangePosition, type Fetch, Parley, ParleyError, type ParleyOptions } from '../sdk/src/index.ts'
import { scopes, statusOf } from './internals.ts'
import { pluck, start, until, type World, withProvider } from './support.ts'

const phone = '+14155550100'
const absent = '01890000-0000-7000-8000-000000000000'

const open = async ({ url, api }: World, options: Partial<ParleyOptions> = {}): Promise<Parley> =>
  new Parley({ apiKey: await api.key(...scopes), baseUrl: `${url}/v1`, ...options })

/** A `fetch` that validates every response against the OpenAPI document and records the operations. */
function createCheckedFetch({ contract }: World): { fetch: Fetch; used: Set<string> } {
  const used = new Set<string>()
  return {
    used,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      const path = url.replace(/^.*?\/v1/, '')
      const method = init.method ?? 'GET'
      const { status, headers } = response
      const isOpen = headers.get('content-type')?.startsWith('text/event-stream')
      const text = isOpen ? '' : await response.clone().text()
      if (!isOpen) contract.hold(method, path, { status, headers, text, body: JSON.parse(text) })
      const [pathname = ''] = path.split('?')
      for (const known of contract.operations)
        if (known.method === method && new RegExp(`^${known.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname))
          used.add(known.operation.operationId)
      return response
    },
  }
}

/** A response, or a network error. */
type FakeAnswer = Response | Error | (() => Response)

/** A fake service with one answer per request; the last one repeats. It records the requests. */
function createFake(...answers: FakeAnswer[]) {
  const requests: { url: string; headers: Headers; body: unknown }[] = []
  const fetch: Fetch = async (url, { headers, body }) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)]
    requests.push({ url, headers: new Headers(headers), body })
    if (answer instanceof Error || !answer) throw answer
    return typeof answer === 'function' ? answer() : answer.clone()
  }
  return { requests, parley: (options = {}) => new Parley({ apiKey: 'svc_live_x', fetch, ...options }) }
}

const ok = Response.json({ data: { id: 'x' } })
const refusal = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ error: { code, message: 'because' } }, { status, headers })

const alone = 'a shared service would still run while other tests record timers'

/** Records the delays between attempts and lets them expire at once. */
function recordDelays(t: TestContext): number[] {
  const delays: number[] = []
  const { setTimeout } = globalThis
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) => {
    const isAttemptTimeout = ms === 60_000
    if (!isAttemptTimeout) delays.push(ms)
    return setTimeout(run, isAttemptTimeout ? ms : 0)
  })
  return delays
}

/** The error of a failing call. */
async function failureOf(call: PromiseLike<unknown>): Promise<ParleyError> {
  const error = await call.then(
    () => undefined,
    (failure) => failure,
  )
  assert.ok(error instanceof ParleyError, inspect(error))
  return error
}

test('every operation of the OpenAPI document has a method', async (t) => {
  const world = await withProvider(start(t, { alone }))
  const { provider } = world
  const { fetch, used } = createCheckedFetch(world)
  const parley = await open(world, { fetch })

  const { account, key } = await parley.me()
  assert.equal(account.id, world.api.workspaceId)
  assert.deepEqual(key.scopes, [...scopes])

  const ann = await parley.contacts.create({ phone, name: 'Ann' })
  assert.deepEqual(await parley.contacts.create({ phone, name: 'Other' }), ann)
  const updated = await parley.contacts.update(ann.id, { company: 'Acme', tags: ['vip'] })
  assert.deepEqual([updated.company, updated.tags.map(({ name }) => name)], ['Acme', ['vip']])
  const { identities = [], ...read } = await parley.contacts.get(ann.id)
  assert.deepEqual(read, updated)
  assert.deepEqual(pluck(identities, 'channel', 'address'), [['msgapp', phone]])
  assert.deepEqual((await parley.contacts.list({ search: 'unknown' })).data, [])
  assert.deepEqual(await parley.contacts.list({ tag: 'vip' }), { data: [updated], next_cursor: null })

  const [twin, invalid] = await parley.contacts.createBatch({
    contacts: [{ phone: '+14155550177', attributes: { plan: 'pro' } }, { phone: 'none' }],
  })
  assert.deepEqual([twin?.created, invalid?.error?.code], [true, 'bad_request'])
  let position: ChangePosition = { updated_after: '2000-01-01T00:00:00Z' }
  const changed: string[] = []
  for await (const { data, position: next } of parley.contacts.changes(position, { limit: 1 })) {
    changed.push(...data.map(({ id }) => id))
    position = next
  }
  assert.deepEqual(changed, [ann.id, twin?.id])
  assert.equal(position.cursor, undefined)
  const merged = await parley.contacts.merge(ann.id, { contact_id: twin?.id ?? '' })
  assert.deepEqual(merged.attributes, { plan: 'pro' })
  const after: string[] = []
  for await (const { data } of parley.contacts.changes(position)) after.push(...data.map(({ id }) => id))
  assert.deepEqual(after, [ann.id])
  assert.deepEqual(pluck((await parley.tags.list()).data, 'name', 'contact_count'), [['vip', 1]])
  const { id: doomed } = await parley.contacts.create({ phone: '+14155550178' })
  assert.deepEqual(await parley.contacts.delete(doomed), { id: doomed, deleted: true })

  assert.deepEqual((await parley.teams.list()).data, [])
  assert.deepEqual((await parley.episodes.list()).data, [])
  assert.equal((await parley.reports.get('overview', { interval: 'week' })).interval, 'week')
  assert.equal((await parley.reports.satisfaction()).totals.asked, 0)
  assert.deepEqual((await parley.reports.targets()).rows, [])
  assert.equal((await parley.reports.availability()).rows.length, 1)

  const segment = await parley.segments.create({ name: 'Friends' })
  const ids = { contact_ids: [ann.id] }
  const outcome = { segment_id: segment.id, requested: 1, added: 1 }
  assert.deepEqual(await parley.segments.addContacts(segment.id, ids), outcome)
  assert.equal((await parley.segments.get(segment.id)).member_count, 1)
  assert.equal((await parley.segments.update(segment.id, { name: 'Best friends' })).name, 'Best friends')
  assert.deepEqual((await parley.segments.list({ kind: 'static' })).data[0]?.name, 'Best friends')
  assert.deepEqual((await parley.segments.listContacts(segment.id)).data, [merged])
  assert.equal((await parley.segments.removeContacts(segment.id, ids)).removed, 1)
  assert.deepEqual(await parley.segments.delete(segment.id), { id: segment.id, deleted: true })

  const template = { name: 'order_confirmed', params: ['Ann', 'A-1009'] }
  const number = (await parley.connections.list()).data.find(({ channel }) => channel === 'msgapp')
  assert.deepEqual(await parley.connections.get(number?.id ?? ''), number)
  const outgoing = { to: phone, from: number?.address ?? '', type: 'template', template } as const
  assert.deepEqual(await parley.messages.check(outgoing), { to: phone, contact_id: ann.id })
  const sent = await parley.messages.send(outgoing)
  assert.deepEqual([sent.contact_id, sent.contact_created], [ann.id, false])
  const conversation = await parley.conversations.get(sent.conversation_id)
  assert.equal(conversation.contact.name, 'Ann')
  assert.equal(conversation.connection?.id, number?.id)
  assert.deepEqual(pluck((await parley.conversations.list({ contact_id: ann.id })).data, 'id'), [conversation.id])
  const [message] = (await parley.conversations.listMessages(conversation.id)).data
  assert.deepEqual([message?.id, message?.template_name], [sent.message_id, 'order_confirmed'])

  const [member] = (await parley.members.list()).data
  const handed = await parley.conversations.update(conversation.id, { assigned_agent_id: member?.id, labels: ['VIP'] })
  assert.deepEqual([handed.assigned_agent_id, handed.labels[0]?.name], [member?.id, 'VIP'])
  assert.equal((await parley.conversations.read(conversation.id)).unread_count, 0)
  const note = await parley.conversations.createNote(conversation.id, { text: 'Call back' })
  assert.deepEqual((await parley.conversations.listNotes(conversation.id)).data, [note])
  const reply = await parley.conversations.reply(conversation.id, { type: 'template', template })
  const send_at = new Date(Date.now() + 3_600_000).toISOString()
  const scheduled = await parley.conversations.schedule(conversation.id, { type: 'template', template, send_at })
  assert.deepEqual((await parley.conversations.listScheduled(conversation.id, { state: 'open' })).data, [scheduled])
  assert.deepEqual(await parley.messages.getScheduled(scheduled.id), scheduled)
  const held = await parley.messages.updateScheduled(scheduled.id, { hold_if_customer_writes: true })
  assert.equal(held.hold_if_customer_writes, true)
  assert.equal((await parley.messages.cancelScheduled(scheduled.id)).state, 'canceled')
  assert.equal((await parley.messages.get(reply.id)).template_name, 'order_confirmed')

  const recipients = [{ to: phone }, { to: 'nowhere' }]
  const counted = await parley.broadcasts.check({ name: 'All', template, recipients })
  assert.deepEqual(counted, { recipient_count: 1, skipped_count: 1 })
  const broadcast = await parley.broadcasts.create({ name: 'All', template, recipients: [{ to: phone }] })
  assert.equal(broadcast.total_count, 1)
  await until('the broadcast', async () => (await parley.broadcasts.get(broadcast.id)).status === 'sent')
  assert.equal((await provider.sent(phone)).length, 3)

  const found = await parley.templates.list({ search: 'order_confirmed' })
  assert.deepEqual(found.data[0], await parley.templates.get('order_confirmed'))
  assert.deepEqual(found.data[0]?.params, { body: ['{{1}}', '{{2}}'] })
  const draft = await parley.broadcasts.create({ name: 'Draft', template: { name: 'order_confirmed' }, draft: true })
  const batch = { recipients: [{ to: phone, params: ['Ann', 'A-1'] }, { to: phone }] }
  const added = await parley.broadcasts.addRecipients(draft.id, batch)
  assert.deepEqual([added.added, added.skipped.map(({ index }) => index)], [1, [1]])
  assert.deepEqual((await parley.broadcasts.list({ status: 'draft' })).data[0]?.id, draft.id)
  assert.equal((await parley.broadcasts.start(draft.id)).total_count, 1)
  await until('the draft', async () => (await parley.broadcasts.get(draft.id)).status === 'sent')
  assert.equal((await parley.broadcasts.listRecipients(draft.id)).data[0]?.to, phone)
  const definition = { trigger: { type: 'manual' }, steps: [{ type: 'note', text: 'By hand.' }] }
  assert.equal((await parley.automations.check(definition)).valid, true)
  const automation = await parley.automations.create({ name: 'Macro', definition })
  const named = { ...definition, steps: [{ type: 'note', text: 'By hand, of {{contact.name}}.' }] }
  await parley.automations.saveDraft(automation.id, named, { if_updated_at: automation.updated_at })
  const late = parley.automations.saveDraft(automation.id, definition, { if_updated_at: automation.updated_at })
  assert.match((await failureOf(late)).message, /^if_updated_at: the automation has changed since/)
  await parley.automations.saveDraft(automation.id, definition)
  const tried = await parley.automations.dryRun(automation.id, {
    days: 1,
    definition: { ...definition, trigger: { type: 'message' } },
  })
  assert.deepEqual([tried.source, tried.is_complete], ['definition', true])
  assert.equal((await parley.automations.publish(automation.id)).version, 1)
  const [started] = await parley.automations.start(automation.id, { conversation_ids: [conversation.id] })
  const runId = started?.run_id ?? ''
  assert.equal((await parley.automations.getRun(runId)).automation_name, 'Macro')
  assert.deepEqual(pluck((await parley.automations.listRuns(automation.id)).data, 'id'), [runId])
  await parley.conversations.takeOver(conversation.id)
  assert.match((await parley.automations.rotateSecret(automation.id)).secret, /^whsec_/)
  await parley.automations.update(automation.id, { description: 'By hand' })
  assert.equal((await parley.automations.pause(automation.id, { end_runs: true })).state, 'paused')
  assert.equal((await parley.automations.get(automation.id)).description, 'By hand')
  await parley.automations.delete(automation.id)
  assert.deepEqual((await parley.automations.list()).data, [])
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString()
  const later = await parley.broadcasts.create({ name: 'Later', template, recipients: [{ to: phone }], scheduled_at })
  assert.equal((await parley.broadcasts.pause(later.id)).is_paused, true)
  assert.equal((await parley.broadcasts.resume(later.id)).is_paused, false)
  assert.equal((await parley.broadcasts.cancel(later.id)).status, 'canceled')
  const forgotten = await parley.broadcasts.create({ name: 'Forgotten', template, draft: true })
  assert.deepEqual(await parley.broadcasts.delete(forgotten.id), { id: forgotten.id, deleted: true })
  assert.equal((await parley.usage()).messages_sent, 4)

  const webhook = await parley.webhooks.create({ url: 'https://127.0.0.1:1/x', events: ['contact.created'] })
  assert.match(webhook.secret, /^whsec_/)
  const { secret: _, ...shown } = webhook
  assert.deepEqual(await parley.webhooks.get(webhook.id), shown)
  assert.deepEqual((await parley.webhooks.list()).data, [shown])
  const rotated = await parley.webhooks.rotateSecret(webhook.id, { overlap_hours: 24 })
  assert.notEqual(rotated.secret, webhook.secret)
  await parley.contacts.create({ phone: '+14155550179' })
  const delivery = await until('a delivery', async () => (await parley.webhooks.listDeliveries(webhook.id)).data[0])
  assert.equal((await parley.webhooks.redeliver(webhook.id, delivery.id)).event_id, delivery.event_id)
  assert.equal((await parley.webhooks.update(webhook.id, { is_active: false })).is_active, false)
  assert.deepEqual(await parley.webhooks.delete(webhook.id), { id: webhook.id, deleted: true })

  const onReady = () => void parley.contacts.create({ phone: '+14155550101', name: 'Bob' })
  for await (const event of parley.events.stream({ events: ['contact.created'] }, { onReady })) {
    assert.equal(event.event === 'contact.created' && event.data.name, 'Bob')
    break
  }

  const documented = world.contract.operations.map(({ operation }) => operation.operationId)
  assert.deepEqual([...used].sort(), documented.sort())
})

test('iterating over a list yields every item once, even if items are added between pages', async (t) => {
  const world = await start(t, { alone })
  const { fetch, used } = createCheckedFetch(world)
  let calls = 0
  const parley = await open(world, {
    fetch: (url, init) => {
      calls++
      return fetch(url, init)
    },
  })
  const made: string[] = []
  for (let last = 0; last < 7; last++) made.unshift((await parley.contacts.create({ phone: `+1415555010${last}` })).id)

  calls = 0
  const seen: string[] = []
  const listing = parley.contacts.list({ limit: 3 })
  assert.equal(calls, 0, 'no request is sent before the iteration starts')
  for await (const { id } of listing) {
    seen.push(id)
    if (seen.length === 2) await world.api.post('/contacts', { phone: '+14155550999' })
  }
  assert.deepEqual(seen, made)
  assert.equal(calls, 3)

  const sizes: number[] = []
  for await (const { data } of listing.pages()) sizes.push(data.length)
  assert.deepEqual(sizes, [3, 3, 2])

  calls = 0
  for await (const _ of listing) break
  assert.equal(calls, 1, 'leaving the loop stops the requests')

  const first = await listing
  const second = await parley.contacts.list({ limit: 3, cursor: first.next_cursor ?? '' })
  assert.deepEqual([...first.data, ...second.data].map(({ id }) => id).slice(1), made.slice(0, 5))
  const refused = await open(world, { apiKey: 'svc_live_wrong' })
  assert.equal((await failureOf(refused.contacts.list())).code, 'unauthorized')
  assert.ok(used.has('listContacts'))
})

test('a failed page is retried without repeating earlier items', async (t) => {
  recordDelays(t)
  const page = (id: string, next_cursor: string | null) => Response.json({ data: [{ id }], meta: { next_cursor } })
  const see = async (...answers: FakeAnswer[]) => {
    const { requests, parley } = createFake(page('a', 'x'), ...answers)
    const seen: string[] = []
    const loop = async () => {
      for await (const { id } of parley().contacts.list({ search: 's', limit: 1 })) seen.push(id)
    }
    const failure = await loop().catch((error) => error.code)
    return { seen, failure, cursors: requests.map(({ url }) => new URL(url).searchParams.get('cursor')) }
  }
  const recovered = await see(new TypeError('connection lost'), page('b', null))
  assert.deepEqual(recovered, { seen: ['a', 'b'], failure: undefined, cursors: [null, 'x', 'x'] })
  const refused = await see(refusal(401, 'unauthorized'))
  assert.deepEqual(refused, { seen: ['a'], failure: 'unauthorized', cursors: [null, 'x'] })
})

test('a message is sent once even if the response is lost', async (t) => {
  const world = await withProvider(start(t, { alone }))
  const { provider } = world
  const keys: (string | null)[] = []
  const parley = await open(world, {
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (keys.push(new Headers(init.headers).get('idempotency-key')) === 1) throw new TypeError('connection lost')
      assert.equal(response.headers.get('idempotent-replayed'), 'true')
      return response
    },
  })

  const sent = await parley.messages.send({ to: phone, type: 'template', template: { name: 'hello_world' } })

  const accepted = await provider.sent(phone)
  assert.deepEqual(pluck(accepted, 'message_id'), [sent.msgapp_message_id])
  assert.equal(keys.length, 2)
  assert.equal(keys[0], keys[1])
  assert.match(keys[0] ?? '', /^[0-9a-f-]{36}$/)
})

test('404 counts as success only when a DELETE is retried after a lost response', async (t) => {
  recordDelays(t)
  const gone = refusal(404, 'not_found')
  const lost = createFake(new TypeError('connection lost'), gone).parley()
  assert.deepEqual(await lost.segments.delete(absent), { id: absent, deleted: true })
  const limited = createFake(refusal(429, 'rate_limited'), gone).parley()
  assert.equal((await failureOf(limited.segments.delete(absent))).code, 'not_found')
  const members = createFake(new TypeError('connection lost'), gone).parley()
  assert.equal((await failureOf(members.segments.removeContacts(absent, { contact_ids: [] }))).code, 'not_found')
})

test('only temporary failures are retried', async (t) => {
  const delays = recordDelays(t)
  const inHttp = (seconds: number) => new Date(Date.now() + seconds * 1_000).toUTCString()
  const passing: FakeAnswer[] = [
    refusal(429, 'rate_limited', { 'retry-after': '7' }),
    refusal(503, 'internal', { 'retry-after': inHttp(30) }),
    refusal(503, 'internal', { 'retry-after': inHttp(-30) }),
    refusal(503, 'internal', { 'retry-after': 'soon' }),
    refusal(500, 'internal'),
    refusal(503, 'internal'),
    new Response('<h1>Bad Gateway</h1>', { status: 502 }),
    new Response('', { status: 504 }),
    new TypeError('fetch failed'),
    () => new Response(new ReadableStream({ start: (body) => body.error(new TypeError('terminated')) })),
  ]
  for (const answer of passing) {
    const { requests, parley } = createFake(answer, ok)
    await parley().messages.send({ to: phone, text: 'hello' }, { idempotencyKey: 'mine' })
    assert.equal(requests.length, 2, inspect(answer))
    const keys = requests.map(({ headers }) => headers.get('idempotency-key'))
    assert.deepEqual(keys, ['mine', 'mine'])
    assert.equal(requests[0]?.body, requests[1]?.body)
  }
  assert.equal(delays.length, passing.length)
  const [seconds = 0, date = 0, past = 0, none = 0] = delays
  assert.ok(seconds >= 7_000 && seconds <= 7_500, `waited ${seconds} ms`)
  // An HTTP date has no fractions of a second, and some time has passed since.
  assert.ok(date >= 20_000 && date <= 31_500, `waited ${date} ms`)
  assert.ok(past <= 500 && none >= 250 && none <= 500, `waited ${past} and ${none} ms`)

  const final: [Response, string][] = [
    [refusal(400, 'bad_request'), 'bad_request'],
    [refusal(402, 'plan_limit_reached'), 'plan_limit_reached'],
    [refusal(404, 'not_found'), 'not_found'],
    [refusal(502, 'platform_error'), 'platform_error'],
    [refusal(500, 'template_malformed'), 'template_malformed'],
    [refusal(500, 'internal', { 'idempotent-replayed': 'true' }), 'internal'],
    [refusal(429, 'rate_limited', { 'retry-after': '61' }), 'rate_limited'],
    [refusal(503, 'internal', { 'retry-after': inHttp(3_600) }), 'internal'],
    [new Response(null, { status: 301, headers: { location: 'https://elsewhere.test' } }), 'unexpected_response'],
    [new Response('<h1>Welcome</h1>'), 'unexpected_response'],
    [Response.json({}), 'unexpected_response'],
    [Response.json(null, { status: 400 }), 'unexpected_response'],
    [Response.json({ error: 'no' }, { status: 400 }), 'unexpected_response'],
  ]
  for (const [answer, code] of final) {
    const { requests, parley } = createFake(answer, ok)
    const error = await failureOf(parley().messages.send({ to: phone, text: 'hello' }))
    assert.deepEqual([error.code, error.status, requests.length], [code, answer.status, 1])
  }
  assert.equal(delays.length, passing.length)
})

test('delays double up to eight seconds, and maxRetries limits the attempts', async (t) => {
  const delays = recordDelays(t)
  const { requests, parley } = createFake(new TypeError('fetch failed'))

  const error = await failureOf(parley({ maxRetries: 6 }).me())

  assert.deepEqual([error.code, error.status, requests.length], ['network_error', 0, 7])
  assert.match(error.message, /fetch failed/)
  assert.ok(error.cause instanceof TypeError)
  const most = [500, 1_000, 2_000, 4_000, 8_000, 8_000]
  assert.equal(delays.length, most.length)
  for (const [index, delay] of delays.entries()) {
    const longest = most[index] ?? 0
    assert.ok(delay >= longest / 2 && delay <= longest, `${delay} ms is not between ${longest / 2} and ${longest}`)
  }
  await failureOf(parley().me({ maxRetries: 0 }))
  assert.equal(requests.length, 8)
  assert.equal(requests[0]?.headers.get('idempotency-key'), null, 'only a POST has a key')
  await failureOf(parley({ maxRetries: Number.NaN }).me())
  assert.equal(requests.length, 9, 'NaN does not retry for ever')
})

test('a signal aborts a call and its delays; a timeout ends an attempt', async (t) => {
  const hang: Fetch = (_url, { signal }) =>
    new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  const parley = new Parley({ apiKey: 'svc_live_x', fetch: hang, maxRetries: 1 })
  const reason = new Error('no longer needed')

  const early = await failureOf(parley.me({ signal: AbortSignal.abort(reason) }))
  assert.deepEqual([early.code, early.cause], ['aborted', reason])

  const controller = new AbortController()
  const inFlight = failureOf(parley.me({ signal: controller.signal }))
  controller.abort(reason)
  assert.deepEqual([(await inFlight).code, (await inFlight).cause], ['aborted', reason])

  const later = new AbortController()
  const limited = createFake(refusal(429, 'rate_limited', { 'retry-after': '60' }))
  const waiting = failureOf(limited.parley().me({ signal: later.signal }))
  await until('the first answer', async () => limited.requests.length === 1)
  later.abort(reason)
  assert.deepEqual([(await waiting).code, limited.requests.length], ['aborted', 1])

  recordDelays(t)
  const late = await failureOf(parley.me({ timeoutMs: 20 }))
  assert.deepEqual([late.code, late.status], ['timeout', 0])
})

test('an error carries the code, status and message of the service', async (t) => {
  const world = await withProvider(start(t, { alone }))
  const { provider } = world
  const parley = await open(world, { maxRetries: 0 })

  const missing = await failureOf(parley.contacts.get(absent))
  assert.deepEqual([missing.code, missing.status, missing.message], ['not_found', 404, 'contact not found'])
  assert.match(missing.requestId ?? '', /^[0-9a-f-]{36}$/)
  const wrong = await failureOf(parley.messages.send({ to: '12', text: 'hello' }))
  assert.deepEqual([wrong.code, wrong.message], ['bad_request', 'to: not a phone number'])

  const retrying = await open(world)
  const hello = { type: 'template', template: { name: 'hello_world' } } as const
  const refused = await failureOf(retrying.messages.send({ to: '+15005550001', ...hello }))
  assert.deepEqual([refused.code, refused.status], ['platform_error', 502])
  assert.match(refused.message, /131026/)
  assert.equal((await provider.sent('+15005550001')).length, 0)

  await world.db`update api_key_windows set request_count = 120`
  const limited = await failureOf(parley.me())
  assert.deepEqual([limited.code, limited.status], ['rate_limited', 429])
  assert.ok(limited.retryAfter && limited.retryAfter > 0 && limited.retryAfter <= 60)

  const nowhere = new Parley({ apiKey: 'svc_live_x', baseUrl: 'http://127.0.0.1:1/v1', maxRetries: 0 })
  const unreached = await failureOf(nowhere.me())
  assert.deepEqual([unreached.code, unreached.status, unreached.requestId], ['network_error', 0, undefined])
})

test('the error codes of the SDK differ from those of the service, and the README explains each', () => {
  const readme = readFileSync('sdk/README.md', 'utf8')
  for (const [code, meaning] of Object.entries(clientErrors)) {
    assert.ok(!(code in statusOf), code)
    assert.ok(readme.includes(`| \`${code}\` | ${meaning} |`), code)
  }
})

test('an id cannot address another resource', async () => {
  const { requests, parley } = createFake(ok)
  for (const id of ['..', '.', '']) {
    await assert.rejects(parley().segments.delete(id), TypeError)
    await assert.rejects(async () => parley().segments.listContacts(id).then(), TypeError)
  }
  assert.equal(requests.length, 0)
  await parley({ baseUrl: 'https://parley.test/v1/' }).contacts.get('a/../b?c#d')
  assert.equal(requests[0]?.url, 'https://parley.test/v1/contacts/a%2F..%2Fb%3Fc%23d')
})

test('a malformed key or URL is rejected at once, and a key is never printed', () => {
  for (const apiKey of [undefined, '', 'svc_live_x\n', 'svc live'])
    assert.throws(() => new Parley({ apiKey }), /^TypeError: apiKey: /)
  for (const baseUrl of ['', 'parley.test/v1', 'ftp://parley.test'])
    assert.throws(() => new Parley({ apiKey: 'svc_live_x', baseUrl }), /^TypeError: baseUrl: /)
  const shown = inspect(new Parley({ apiKey: 'svc_live_secret' }), { depth: 9, showHidden: true })
  assert.doesNotMatch(shown, /svc_live_secret/)
})
