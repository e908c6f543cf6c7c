/** Automations: every trigger as customers cause it, on every channel; what starts nothing; and which of several automations run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataOf } from './assertions.ts'
import { echo, note, say, startAutomated, text } from './automated.ts'
import { holdTransaction } from './database.ts'
import { idAt } from './internals.ts'
import { type Json, pluck, until } from './support.ts'

const phone = '+14155550100'
const question = (body: string) => ({
  ...{ type: 'ask', message: text(body), answer: { type: 'text' }, save_as: 'answers.reply' },
})

test('a message starts an automation by its moment, words, button and type, and all of them must match', async (t) => {
  const { api, provider, publish, runsOf, settle, conversationOf } = await startAutomated(t)
  const onMessage = (trigger: Json, conditions?: Json) => ({
    ...{ trigger: { type: 'message', ...trigger }, steps: [note('x')] },
    ...(conditions ? { conditions: { match: 'all', rules: [conditions] } } : {}),
  })
  const tapped = { button: 'prices', contains: ['price'], content_types: ['interactive'] }
  const definitions: Record<string, Json> = {
    any: onMessage({ when: 'any' }),
    first: onMessage({ when: 'first' }),
    first_since_closed: onMessage({ when: 'first_since_closed' }),
    contains: onMessage({ contains: ['how much', 'price'] }),
    button: onMessage({ button: 'prices' }),
    content_types: onMessage({ content_types: ['image', 'location'] }),
    reaction: onMessage({ content_types: ['reaction'] }),
    all_fields: onMessage({ when: 'first_since_closed', ...tapped }),
    'message.text': onMessage({}, { field: 'message.text', op: 'starts_with', value: 'the p' }),
    'message.type': onMessage({}, { field: 'message.type', op: 'is', value: 'image' }),
    channel: onMessage({}, { field: 'channel', op: 'not_has', value: 'msgapp' }),
  }
  const ids: Record<string, string> = {}
  for (const [name, definition] of Object.entries(definitions)) ids[name] = await publish(name, definition)
  const tap = { from: phone, type: 'list', button: { id: 'prices', title: 'Our price list' } }
  await provider.writes({ from: phone, name: 'Ann', text: 'hello' })
  await provider.writes({ from: phone, text: 'The PRICE?' })
  await provider.writes({ from: phone, text: 'priceless' })
  await provider.writes(tap)
  const image = await provider.writes({ from: phone, type: 'image', media: { caption: 'a picture' } })
  await provider.writes({ from: phone, type: 'reaction', text: '👍', reply_to: image })
  await settle()
  const { id } = await conversationOf(phone)
  await api.patch(`/conversations/${id}`, { status: 'closed' })
  await provider.writes(tap)
  await settle()
  const messages: Json[] = (await api.get(`/conversations/${id}/messages`)).body.data.toReversed()
  assert.equal(messages.length, 7)
  const started = async (name: string): Promise<number[]> => {
    const places = pluck(await runsOf(ids[name] ?? ''), 'message_id').map((one) => pluck(messages, 'id').indexOf(one))
    return places.sort()
  }
  const expected: Record<string, number[]> = {
    any: [0, 1, 2, 3, 4, 5, 6],
    first: [0],
    first_since_closed: [0, 6],
    contains: [1, 3, 6],
    button: [3, 6],
    content_types: [4],
    reaction: [5],
    all_fields: [6],
    'message.text': [1],
    'message.type': [4],
    channel: [],
  }
  for (const name of Object.keys(definitions)) assert.deepEqual(await started(name), expected[name], name)
})

test("a customer's first message creates the contact and opens the conversation, on every channel", async (t) => {
  const { api, provider, url, publish, runsOf, untilEnded, conversationOf } = await startAutomated(t)
  const onChannel = (trigger: Json, channel?: string) => ({
    ...{ trigger, steps: [note('x')] },
    ...(channel ? { conditions: { match: 'all', rules: [{ field: 'channel', op: 'has', value: channel }] } } : {}),
  })
  const created = await publish('Created', onChannel({ type: 'contact', event: 'created' }))
  const opened = await publish('Opened', onChannel({ type: 'conversation', event: 'opened' }))
  const bySocial = await publish('Social', onChannel({ type: 'message' }, 'social'))
  const answer = await publish('Answer', {
    ...onChannel({ type: 'message', contains: ['open'] }, 'web'),
    steps: [say('Until 5, {{contact.name|there}}.')],
  })
  await provider.writes({ from: phone, name: 'Ann', text: 'hello' })
  await provider.writes({ channel: 'social', from: '9001', username: 'cleo', text: 'hello' })
  const site = `${url}/web-chat/${provider.connections.web.id}`
  const visitor: Json = await (await fetch(`${site}/visitors`, { method: 'POST' })).json()
  const headers = { 'content-type': 'application/json', 'x-visitor-token': visitor.data.visitor_token }
  const body = JSON.stringify({ text: 'Are you open?', name: 'Dan' })
  assert.equal((await fetch(`${site}/messages`, { method: 'POST', headers, body })).status, 201)
  const [run] = await untilEnded(answer)
  assert.equal(run?.reason, 'finished')
  const shown: Json = await (await fetch(`${site}/messages`, { headers })).json()
  assert.deepEqual(shown.data.map(({ content_text }: Json) => content_text).sort(), ['Are you open?', 'Until 5, Dan.'])
  assert.equal((await untilEnded(created, 3)).length, 3)
  assert.equal((await untilEnded(opened, 3)).length, 3)
  assert.equal((await untilEnded(bySocial)).length, 1)
  // A second message opens nothing. A customer who writes to a closed conversation opens it, and is no new contact.
  await provider.writes({ from: phone, text: 'more' })
  const { id } = await conversationOf(phone)
  await api.patch(`/conversations/${id}`, { status: 'closed' })
  await provider.writes({ from: phone, text: 'again' })
  assert.equal((await untilEnded(opened, 4)).length, 4)
  assert.equal((await runsOf(created)).length, 3)
})

test('what an automation or a reply changes starts the automations that wait for the change', async (t) => {
  const { ask, provider, publish, untilEnded } = await startAutomated(t)
  const on = (trigger: Json) => ({ trigger, steps: [note('x')] })
  const byAnswer = await publish('City', on({ type: 'contact', event: 'attribute_changed', attribute: 'city' }))
  const bySet = await publish('Plan', on({ type: 'contact', event: 'attribute_changed', attribute: 'plan' }))
  const labeled = await publish('Label', on({ type: 'conversation', event: 'label_added', label: 'Asked' }))
  const closed = await publish('Closed', on({ type: 'conversation', event: 'closed' }))
  const assigned = await publish('Assigned', on({ type: 'conversation', event: 'assigned' }))
  const asking = await publish('Ask', {
    trigger: { type: 'message', contains: ['start'] },
    steps: [
      { ...question('Which city?'), save_as: 'contact.attributes.city' },
      { type: 'set', add_labels: ['Asked'], attributes: { plan: 'pro' }, status: 'closed' },
    ],
  })
  await provider.writes({ from: phone, text: 'start' })
  await until('the question', async () => (await provider.sent(phone)).length === 1)
  await provider.writes({ from: phone, text: 'Rome' })
  const [run] = await untilEnded(asking)
  assert.equal(run?.reason, 'finished')
  for (const id of [byAnswer, bySet, labeled, closed]) {
    assert.deepEqual(pluck(await untilEnded(id), 'conversation_id'), [run?.conversation_id])
  }
  await ask('PATCH', '/workspace', { assign_on_reply: true })
  await ask('POST', `/conversations/${run?.conversation_id}/messages`, { text: 'I am here.' }, 201)
  assert.deepEqual(pluck(await untilEnded(assigned), 'conversation_id'), [run?.conversation_id])
})

test('a callback that the provider posts again starts an automation once', async (t) => {
  const { provider, publish, runsOf, settle, textsTo } = await startAutomated(t)
  const answer = await publish('Answer', { trigger: { type: 'message' }, steps: [say('Hello.')] })
  const opened = await publish('Opened', { trigger: { type: 'conversation', event: 'opened' }, steps: [note('x')] })
  const created = await publish('Created', { trigger: { type: 'contact', event: 'created' }, steps: [note('x')] })
  const message = { from: phone, name: 'Ann', text: 'hello', message_id: 'wamid.once' }
  await Promise.all(Array.from({ length: 5 }, () => provider.writes(message)))
  await provider.writes(message)
  await settle()
  await provider.writes(message)
  // Decided after the others.
  await provider.writes({ from: '+14155550199', text: 'hello' })
  await settle()
  for (const id of [answer, opened, created]) assert.equal((await runsOf(id)).length, 2)
  await until('the answer', async () => (await textsTo('+14155550199')).length === 1)
  assert.deepEqual(await textsTo(phone), ['Hello.'])
})

test('a message of a blocked contact starts nothing', async (t) => {
  const { api, ask, provider, publish, runsOf, settle } = await startAutomated(t)
  const answer = await publish('Answer', { trigger: { type: 'message' }, steps: [note('x')] })
  const opened = await publish('Opened', { trigger: { type: 'conversation', event: 'opened' }, steps: [note('x')] })
  // The channel blocks only people who wrote within 24 hours, so messages of this contact still arrive.
  const template = { to: phone, type: 'template', template: { name: 'hello_world' } }
  assert.equal((await api.post('/messages', template)).status, 201)
  const [{ id }] = (await api.get('/conversations')).body.data
  const blocked = (await ask('POST', `/conversations/${id}/block`)).data
  assert.deepEqual([blocked.is_channel_blocked, blocked.status], [false, 'closed'])
  await provider.writes({ from: phone, name: 'Ann', text: 'Buy now' })
  assert.equal((await api.get(`/conversations/${id}/messages`)).body.data.length, 2)
  await settle()
  assert.deepEqual([await runsOf(answer), await runsOf(opened)], [[], []])
  // The end of the block opens the conversation.
  await ask('POST', `/conversations/${id}/unblock`)
  await provider.writes({ from: phone, text: 'Sorry' })
  await settle()
  assert.equal((await runsOf(answer)).length, 1)
})

test('a message that a member or the provider’s app has answered before its decision starts nothing', async (t) => {
  const { api, ask, db, provider, publish, runsOf, converse, settle } = await startAutomated(t)
  const [replied = '', echoed = '', called = '', other = ''] = [
    '+14155550101',
    '+14155550102',
    '+14155550103',
    '+14155550104',
  ]
  const conversations = await Promise.all([replied, echoed, called].map(converse))
  const id = await publish('Answer', { trigger: { type: 'message' }, steps: [note('x')] })
  // The lock of the process that decides for the workspace.
  const release = await holdTransaction(db, `select pg_advisory_xact_lock(7263561, hashtext('${api.workspaceId}'))`)
  for (const from of [replied, echoed, called]) await provider.writes({ from, text: 'Is anyone there?' })
  await ask('POST', `/conversations/${conversations[0]?.id}/messages`, { text: 'I am.' }, 201)
  await echo(provider, echoed, 'wamid.app')
  await api.post(`/conversations/${conversations[2]?.id}/messages`, { text: 'from a program' })
  await release()
  await provider.writes({ from: other, text: 'hello' })
  await settle()
  const started = pluck(await runsOf(id), 'conversation_id')
  assert.deepEqual([started.length, started.at(-1)], [2, conversations[2]?.id])
})

test('of several automations all without questions run, in their order, and the first one with questions', async (t) => {
  const { api, provider, publish, runsOf, settle, untilSent } = await startAutomated(t)
  const on = (...steps: Json[]) => ({ trigger: { type: 'message' }, steps })
  const plain = await publish('Plain', on({ type: 'set', add_labels: ['One'] }))
  const second = await publish('Second', on(question('Second?')))
  const first = await publish('First', on(question('First?')))
  const last = await publish('Last', on({ type: 'set', add_labels: ['Two'] }))
  assert.equal((await api.patch(`/automations/${first}`, { position: 0 })).status, 200)
  await provider.writes({ from: phone, text: 'hello' })
  await untilSent(phone, ['First?'])
  await settle()
  const counts = await Promise.all([plain, second, first, last].map(async (id) => (await runsOf(id)).length))
  assert.deepEqual(counts, [1, 0, 1, 1])
  // The answer of the question: the others run again, and no other question starts.
  await provider.writes({ from: phone, text: 'an answer' })
  await settle()
  const after = await Promise.all([plain, second, first, last].map(async (id) => (await runsOf(id)).length))
  assert.deepEqual(after, [2, 0, 1, 2])
  const started = (await Promise.all([first, plain, last].map(runsOf))).map((runs) => runs.at(-1)?.id)
  assert.deepEqual(started, started.toSorted())
})

test('a workspace starts at most 100 runs with questions in a second, and any number without', async (t) => {
  const { api, db, provider, publish, runsOf, settle, untilWaiting, untilEnded } = await startAutomated(t)
  const asking = await publish('Ask', { trigger: { type: 'message' }, steps: [question('Your name?')] })
  const plain = await publish('Plain', { trigger: { type: 'message' }, steps: [note('x')] })
  await provider.writes({ from: phone, text: 'hello' })
  const { id } = await untilWaiting(asking)
  // 100 runs in each second from this one on, for a minute.
  const second = Math.floor(Date.now() / 1_000) * 1_000
  const ids = Array.from({ length: 6_000 }, (_, i) => idAt(second + i * 10))
  await db`
    insert into automation_runs (workspace_id, id, automation_id, version, contact_id, cause, has_questions, state, reason, position,
      started_at, ended_at)
    select r.workspace_id, i.id, r.automation_id, r.version, r.contact_id, 'message:' || i.id, true, 'ended', 'finished', 'end',
      r.started_at, r.started_at
    from automation_runs r, unnest(${ids}::uuid[]) as i (id)
    where r.workspace_id = ${api.workspaceId} and r.id = ${id}`
  const other = '+14155550102'
  await provider.writes({ from: other, text: 'hello' })
  await settle()
  const refused = (await api.get(`/automations/${asking}/runs?reason=limit_runs`)).body.data
  assert.equal(refused.length, 1)
  const conversation = dataOf(await api.get(`/conversations/${refused[0].conversation_id}`))
  assert.deepEqual([conversation.handled_by, refused[0].state], ['team', 'ended'])
  assert.equal((await untilEnded(plain, 2)).length, 2)
  assert.deepEqual(await provider.sent(other), [])
  // In another second it starts. What the guard has refused does not count.
  await db`delete from automation_runs where workspace_id = ${api.workspaceId} and id in (select unnest(${ids}::uuid[]))`
  await provider.writes({ from: other, text: 'hello again' })
  await until('the question', async () => (await provider.sent(other)).length === 1)
  assert.equal((await runsOf(plain)).length, 3)
})
