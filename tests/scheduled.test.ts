/** Messages to send later: sent at their time, held, failed, changed and canceled, and never sent twice. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setPlan, sweepPending } from './internals.ts'
import {
  assertBadRequest,
  assertFields,
  assertRefused,
  createMember,
  dataOf,
  divideTimes,
  type Json,
  main,
  pluck,
  publicUrl,
  type Starting,
  signIn,
  startSignedIn,
  until,
  withProvider,
} from './support.ts'

const ann = '+14155550100'
const ben = '+14155550101'
const soon = (ms: number): string => new Date(Date.now() + ms).toISOString()
const hour = 3_600_000

/** Ann has just written. Calls of the API and of a member, on her conversation. */
async function startTalk(t: TestContext, starting?: Starting) {
  const world = await withProvider(startSignedIn(t, starting))
  const { api, db, ask, provider } = world
  const { workspaceId } = api
  await provider.writes({ from: ann, name: 'Ann', text: 'hello' })
  const [{ id: conversationId, contact_id: contactId }] = (await api.get('/conversations')).body.data
  const path = `/conversations/${conversationId}/scheduled-messages`
  const schedule = async (body: Json): Promise<Json> =>
    dataOf(await api.post(path, { send_at: soon(hour), ...body }), 201)
  const scheduleAsMember = async (body: Json): Promise<Json> =>
    (await ask('POST', path, { send_at: soon(hour), ...body }, 201)).data
  const get = async (id: string): Promise<Json> => dataOf(await api.get(`/scheduled-messages/${id}`))
  /** The time of these messages has come. */
  const makeDue = async (...ids: string[]) => {
    await db`
      update scheduled_messages set send_at = now(), due_at = now()
      where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])`
  }
  const untilState = (id: string, ...states: string[]): Promise<Json> =>
    until(`one of ${states.join(', ')}`, async () => {
      const message = await get(id)
      return states.includes(message.state) && message
    })
  const textsTo = async (to: string) => (await provider.sent(to)).map(({ body }) => body.text?.body)
  return { ...world, conversationId, contactId, path, schedule, scheduleAsMember, get, makeDue, untilState, textsTo }
}

test('a message is sent at its time, and is then a message of the conversation', main, async (t) => {
  const { api, schedule, untilState, textsTo, conversationId } = await startTalk(t)
  const at = soon(700)
  const scheduled = await schedule({ text: 'Good morning', send_at: at })
  assertFields(scheduled, {
    state: 'scheduled',
    send_at: at,
    hold_if_customer_writes: false,
    message_id: null,
    error: null,
  })
  assertFields(scheduled, {
    conversation_id: conversationId,
    content: { type: 'text', text: 'Good morning' },
    reply_to_message_id: null,
  })
  assertFields(scheduled.author, { type: 'api_key', name: 'Test' })
  const sent = await untilState(scheduled.id, 'sent')
  const message = dataOf(await api.get(`/messages/${sent.message_id}`))
  assertFields(message, { conversation_id: conversationId, direction: 'outbound', content_text: 'Good morning' })
  assert.ok(message.created_at >= at, `${message.created_at} is before ${at}`)
  assert.deepEqual(await textsTo(ann), ['Good morning'])
  const listed = dataOf(await api.get(`/conversations/${conversationId}/scheduled-messages`))
  assert.deepEqual(pluck(listed, 'id', 'state'), [[scheduled.id, 'sent']])
  assert.deepEqual((await api.get(`/conversations/${conversationId}/scheduled-messages?state=open`)).body.data, [])
})

test('a message of a member is a reply of that member: it ends the wait and assigns the conversation', async (t) => {
  const { ask, api, db, makeDue, untilState, scheduleAsMember, conversationId } = await startTalk(t)
  await db`update workspaces set assign_on_reply = true where id = ${api.workspaceId}`
  const { member } = (await ask('GET', '/session')).data
  const scheduled = await scheduleAsMember({ text: 'Hello Ann' })
  assertFields(scheduled, { hold_if_customer_writes: true })
  assertFields(scheduled.author, { type: 'member', id: member.id })
  await makeDue(scheduled.id)
  await untilState(scheduled.id, 'sent')
  const [message] = (await ask('GET', `/conversations/${conversationId}/messages`)).data
  assertFields(message, { content_text: 'Hello Ann', sender_id: member.id })
  await until('the assignment', async () => {
    const { assigned_agent_id, waiting_since } = (await ask('GET', `/conversations/${conversationId}`)).data
    return assigned_agent_id === member.id && waiting_since === null
  })
})

test('messages of a conversation are sent in the order of their times', async (t) => {
  const { schedule, makeDue, untilState, textsTo } = await startTalk(t)
  const texts = ['one', 'two', 'three', 'four']
  const ids: string[] = []
  for (const text of texts) ids.push((await schedule({ text })).id)
  await makeDue(...ids)
  for (const id of ids) await untilState(id, 'sent')
  assert.deepEqual(await textsTo(ann), texts)
})

test('a message is held when the customer has written, and a member decides', main, async (t) => {
  const { ask, browser, provider, makeDue, untilState, scheduleAsMember, schedule, textsTo, get } = await startTalk(t)
  const [now, later, never] = [
    await scheduleAsMember({ text: 'Send now' }),
    await scheduleAsMember({ text: 'Send later' }),
    await scheduleAsMember({ text: 'Cancel' }),
  ]
  const anyway = await schedule({ text: 'Anyway' })
  await provider.writes({ from: ann, text: 'One more question' })
  await makeDue(now.id, later.id, never.id, anyway.id)
  // The API does not hold back messages unless the request says so.
  for (const { id } of [now, later, never]) await untilState(id, 'held')
  await untilState(anyway.id, 'sent')
  assert.deepEqual(await textsTo(ann), ['Anyway'])

  await ask('POST', `/scheduled-messages/${now.id}/send`)
  await untilState(now.id, 'sent')
  // A change of the text alone does not send a held message.
  await ask('PATCH', `/scheduled-messages/${later.id}`, { text: 'Send later, changed' })
  assertFields(await get(later.id), { state: 'held', content: { type: 'text', text: 'Send later, changed' } })
  await ask('PATCH', `/scheduled-messages/${later.id}`, { send_at: soon(300) })
  await untilState(later.id, 'sent')
  const canceled = (await ask('DELETE', `/scheduled-messages/${never.id}`)).data
  assertFields(canceled, { state: 'canceled', message_id: null })
  assertBadRequest(await browser.call('POST', `/scheduled-messages/${never.id}/send`), /was canceled/)
  assert.deepEqual(await textsTo(ann), ['Anyway', 'Send now', 'Send later, changed'])
})

test('a reaction of the customer, or a message before a change, does not hold a message', async (t) => {
  const { api, ask, provider, makeDue, untilState, scheduleAsMember, textsTo } = await startTalk(t)
  const sent = dataOf(await api.post('/messages', { to: ann, text: 'first' }), 201)
  const reacted = await scheduleAsMember({ text: 'after a reaction' })
  await provider.writes({ from: ann, type: 'reaction', reaction: { message_id: sent.msgapp_message_id, emoji: '👍' } })
  await makeDue(reacted.id)
  await untilState(reacted.id, 'sent')
  const changed = await scheduleAsMember({ text: 'before' })
  await provider.writes({ from: ann, text: 'a question' })
  await ask('PATCH', `/scheduled-messages/${changed.id}`, { text: 'with the answer' })
  await makeDue(changed.id)
  await untilState(changed.id, 'sent')
  assert.deepEqual(await textsTo(ann), ['first', 'after a reaction', 'with the answer'])
})

test(
  'a message outside the window fails with the reason, and can be sent when the customer has written',
  main,
  async (t) => {
    const { api, ask, db, provider, makeDue, untilState, scheduleAsMember, textsTo, path } = await startTalk(t)
    const { workspaceId } = api
    const { id } = await scheduleAsMember({ text: 'Too late' })
    await db`
    update conversations set last_inbound_at = now() - interval '25 hours' where workspace_id = ${workspaceId}`
    await makeDue(id)
    const failed = await untilState(id, 'failed')
    assert.match(failed.error, /the 24-hour window closed at/)
    assert.equal(failed.message_id, null)
    assert.deepEqual(pluck(dataOf(await api.get(`${path}?state=open`)), 'id'), [id])
    assert.deepEqual(await textsTo(ann), [])
    await provider.writes({ from: ann, text: 'Hello?' })
    await ask('POST', `/scheduled-messages/${id}/send`)
    assertFields(await untilState(id, 'sent'), { error: null })
    assert.deepEqual(await textsTo(ann), ['Too late'])
  },
)

test('a message that the channel refuses is a failed message of the conversation, and is final', async (t) => {
  const { api, provider, makeDue, untilState, schedule } = await startTalk(t)
  const { id } = await schedule({ text: 'refused' })
  await provider.fault({ to: ann, mode: 'reject', code: 131026, count: 1 })
  await makeDue(id)
  const failed = await untilState(id, 'failed')
  assert.match(failed.error, /131026/)
  assertFields(dataOf(await api.get(`/messages/${failed.message_id}`)), { status: 'failed', content_text: 'refused' })
  assertBadRequest(await api.patch(`/scheduled-messages/${id}`, { send_at: soon(hour) }), new RegExp(failed.message_id))
})

test('a message with an unknown outcome is not sent again, and ends with the outcome of its message', async (t) => {
  const { api, db, provider, makeDue, untilState, schedule, get, textsTo } = await startTalk(t, {
    times: divideTimes(10),
  })
  const { workspaceId } = api
  const { id } = await schedule({ text: 'lost' })
  await provider.fault({ to: ann, mode: 'hang' })
  await makeDue(id)
  const messageId = await until('the end of the first attempt', async () => {
    const [row] = await db<{ message_id: string; error: string | null }[]>`
      select message_id, error from scheduled_messages where workspace_id = ${workspaceId} and id = ${id}`
    return row?.error && row.message_id
  })
  assertFields(await get(id), { state: 'sending', message_id: null, error: null })
  assertBadRequest(await api.delete(`/scheduled-messages/${id}`), 'the message is being sent')
  await provider.control('DELETE', '/faults')
  // The next message of the conversation does not wait for it.
  const next = await schedule({ text: 'next' })
  await makeDue(next.id)
  await untilState(next.id, 'sent')
  await db`
    update messages set created_at = now() - interval '16 minutes' where workspace_id = ${workspaceId} and id = ${messageId}`
  await sweepPending(db, { publicUrl })
  const failed = await untilState(id, 'failed')
  assert.match(failed.error, /no report from the channel/)
  assert.equal(failed.message_id, messageId)
  assert.deepEqual(await textsTo(ann), ['next'])
})

test('a used-up plan fails the message, and nothing is lost', async (t) => {
  const { api, db, ask, makeDue, untilState, schedule, textsTo } = await startTalk(t)
  const { id } = await schedule({ text: 'over the limit' })
  await setPlan(db, api.workspaceId, { messages_per_month: 0, state: 'active' })
  await makeDue(id)
  assert.match((await untilState(id, 'failed')).error, /plan/)
  await setPlan(db, api.workspaceId, { messages_per_month: null, state: 'active' })
  await ask('POST', `/scheduled-messages/${id}/send`)
  await untilState(id, 'sent')
  assert.deepEqual(await textsTo(ann), ['over the limit'])
})

test('content, time and quote can be changed until the message is sent', async (t) => {
  const { api, provider, schedule, makeDue, untilState, get, conversationId } = await startTalk(t)
  const [inbound] = (await api.get(`/conversations/${conversationId}/messages`)).body.data
  const { id } = await schedule({ text: 'Helo' })
  const at = soon(2 * hour)
  const buttons = { kind: 'buttons', body: 'Which one?', buttons: [{ id: 'a', title: 'A' }] }
  const changed = dataOf(
    await api.patch(`/scheduled-messages/${id}`, {
      type: 'interactive',
      interactive: buttons,
      reply_to_message_id: inbound.id,
      send_at: at,
      hold_if_customer_writes: true,
    }),
  )
  assertFields(changed, {
    send_at: at,
    hold_if_customer_writes: true,
    reply_to_message_id: inbound.id,
    state: 'scheduled',
  })
  assert.deepEqual(changed.content, { type: 'interactive', interactive: buttons })
  assertFields(dataOf(await api.patch(`/scheduled-messages/${id}`, { send_at: soon(hour) })), {
    content: changed.content,
  })
  await makeDue(id)
  await untilState(id, 'sent')
  const [wire] = await provider.sent(ann)
  assert.equal(wire?.body.interactive.body.text, 'Which one?')
  assert.equal(wire?.body.context.message_id, inbound.msgapp_message_id)
  for (const answer of [
    await api.patch(`/scheduled-messages/${id}`, { text: 'again' }),
    await api.delete(`/scheduled-messages/${id}`),
  ])
    assertBadRequest(answer, 'the message was sent')
  assertFields(await get(id), { state: 'sent' })
})

test('a canceled message is not sent, and is canceled once', async (t) => {
  const { api, schedule, makeDue, untilState, textsTo } = await startTalk(t)
  const [gone, marker] = [await schedule({ text: 'gone' }), await schedule({ text: 'marker' })]
  for (let i = 0; i < 2; i++)
    assertFields(dataOf(await api.delete(`/scheduled-messages/${gone.id}`)), { state: 'canceled' })
  assertBadRequest(
    await api.patch(`/scheduled-messages/${gone.id}`, { send_at: soon(hour) }),
    'the message was canceled',
  )
  await makeDue(gone.id, marker.id)
  await untilState(marker.id, 'sent')
  assert.deepEqual(await textsTo(ann), ['marker'])
})

test('the content is checked as that of a reply when it is written, the time too', async (t) => {
  const { api, schedule, path } = await startTalk(t)
  const send_at = soon(hour)
  for (const [body, reason] of [
    [{ text: 'x' }, /send_at/],
    [{ text: 'x', send_at: 'tomorrow' }, /send_at/],
    [{ text: 'x', send_at: soon(-60_000) }, 'send_at: must not be in the past'],
    [{ text: 'x', send_at: soon(91 * 24 * hour) }, 'send_at: must be within 90 days'],
    [{ send_at }, 'text: required'],
    [{ text: ' ', send_at }, 'text: must not be blank'],
    [{ type: 'image', media_url: 'ftp://x', send_at }, /^media_url: /],
    [{ type: 'reaction', send_at }, /type/],
    [{ type: 'template', template: { name: 'no_such_template' }, send_at }, /no_such_template/],
    [
      { text: 'x', reply_to_message_id: randomUUID(), send_at },
      'reply_to_message_id: not a message of this conversation',
    ],
  ] as const)
    assertBadRequest(await api.post(path, body), reason)
  const { id } = await schedule({ text: 'kept' })
  assertBadRequest(await api.patch(`/scheduled-messages/${id}`, { text: '' }), /^text: /)
  assertBadRequest(await api.patch(`/scheduled-messages/${id}`, { send_at: soon(-60_000) }), /^send_at: /)
  for (const missing of [randomUUID(), 'nope']) {
    assertRefused(await api.get(`/scheduled-messages/${missing}`), 404, 'not_found')
    assertRefused(await api.patch(`/scheduled-messages/${missing}`, { send_at }), 404, 'not_found')
    assertRefused(await api.delete(`/scheduled-messages/${missing}`), 404, 'not_found')
    assertRefused(await api.get(`/conversations/${missing}/scheduled-messages`), 404, 'not_found')
    assertRefused(
      await api.post(`/conversations/${missing}/scheduled-messages`, { text: 'x', send_at }),
      404,
      'not_found',
    )
  }
})

test('at most 100 messages wait in a conversation and 10,000 in a workspace', async (t) => {
  const { api, db, schedule, path, conversationId } = await startTalk(t)
  const { workspaceId } = api
  const { id } = await schedule({ text: 'first' })
  const copy = async (count: number, target: string) => {
    await db`
      insert into scheduled_messages (workspace_id, id, conversation_id, key_id, content, send_at, due_at, hold_if_customer_writes,
        created_at)
      select workspace_id, gen_random_uuid(), ${target}, key_id, content, send_at, due_at, false, created_at
      from scheduled_messages, generate_series(1, ${count}) where workspace_id = ${workspaceId} and id = ${id}`
  }
  await copy(98, conversationId)
  const body = { text: 'one of two', send_at: soon(hour) }
  const answers = await Promise.all([api.post(path, body), api.post(path, body)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 400], 'the hundredth is the last one')
  assertBadRequest(await api.post(path, body), /the conversation has 100 scheduled messages/)
  dataOf(await api.delete(`/scheduled-messages/${id}`))
  const { id: last } = await schedule({ text: 'in its place' })

  const { conversation_id: other } = dataOf(
    await api.post('/messages', { to: ben, type: 'template', template: { name: 'hello_world' } }),
    201,
  )
  await db`update scheduled_messages set state = 'scheduled' where workspace_id = ${workspaceId} and id = ${id}`
  await copy(9_900, other)
  await db`update scheduled_messages set state = 'canceled' where workspace_id = ${workspaceId} and id in ${db([id, last])}`
  await schedule({ text: 'the 10,000th' })
  const elsewhere = dataOf(
    await api.post('/messages', { to: '+14155550102', type: 'template', template: { name: 'hello_world' } }),
    201,
  )
  const refused = await api.post(`/conversations/${elsewhere.conversation_id}/scheduled-messages`, body)
  assertBadRequest(refused, /the workspace has 10,000 scheduled messages/)
})

test('an Idempotency-Key schedules a message once', async (t) => {
  const { api, path } = await startTalk(t)
  const body = { text: 'once', send_at: soon(hour) }
  const call = { headers: { 'idempotency-key': 'one' } }
  const [one, other] = await Promise.all([api.post(path, body, call), api.post(path, body, call)])
  assert.equal(dataOf(one, 201).id, dataOf(other, 201).id)
  assert.equal((await api.get(path)).body.data.length, 1)
})

test('another workspace does not see, change or send a message', async (t) => {
  const { schedule, get, workspace, url } = await startTalk(t)
  const { id, conversation_id } = await schedule({ text: 'ours' })
  const { api: theirs, owner } = await workspace()
  assertRefused(await theirs.get(`/scheduled-messages/${id}`), 404, 'not_found')
  assertRefused(await theirs.patch(`/scheduled-messages/${id}`, { text: 'theirs' }), 404, 'not_found')
  assertRefused(await theirs.delete(`/scheduled-messages/${id}`), 404, 'not_found')
  assertRefused(await theirs.get(`/conversations/${conversation_id}/scheduled-messages`), 404, 'not_found')
  const member = await signIn({ url, owner })
  assertRefused(await member.call('POST', `/scheduled-messages/${id}/send`), 404, 'not_found')
  assertFields(await get(id), { state: 'scheduled', content: { type: 'text', text: 'ours' } })
})

test('a viewer reads scheduled messages and changes none', async (t) => {
  const { browser, schedule, path } = await startTalk(t)
  const { id } = await schedule({ text: 'hello' })
  const viewer = await createMember(browser, 'viewer')
  assert.equal((await viewer.ask('GET', path)).data.length, 1)
  const body = { text: 'x', send_at: soon(hour) }
  assertRefused(await viewer.call('POST', path, body), 403, 'forbidden')
  assertRefused(await viewer.call('PATCH', `/scheduled-messages/${id}`, { text: 'x' }), 403, 'forbidden')
  assertRefused(await viewer.call('DELETE', `/scheduled-messages/${id}`), 403, 'forbidden')
  assertRefused(await viewer.call('POST', `/scheduled-messages/${id}/send`), 403, 'forbidden')
})

test('a merge moves scheduled messages to the conversation that stays, and they are sent there', async (t) => {
  const { api, provider, schedule, makeDue, untilState, conversationId, contactId } = await startTalk(t)
  await provider.writes({ from: ben, text: 'hi' })
  const [{ id: keptId, contact_id: toId }] = (await api.get('/conversations')).body.data
  const { id } = await schedule({ text: 'for Ann' })
  dataOf(await api.post(`/contacts/${toId}/merge`, { contact_id: contactId }))
  assertFields(dataOf(await api.get(`/scheduled-messages/${id}`)), { conversation_id: keptId, state: 'scheduled' })
  assertRefused(await api.get(`/conversations/${conversationId}/scheduled-messages`), 404, 'not_found')
  await makeDue(id)
  const { message_id } = await untilState(id, 'sent')
  assertFields(dataOf(await api.get(`/messages/${message_id}`)), { conversation_id: keptId })
})

test('erasing a contact deletes its scheduled messages, and their files are released', async (t) => {
  const { api, db, url, browser, schedule, scheduleAsMember, contactId } = await startTalk(t)
  const { workspaceId } = api
  const { id } = await schedule({ text: 'gone' })
  const uploaded = await fetch(`${url}/app/api/uploads?filename=a.txt`, {
    method: 'POST',
    headers: { cookie: browser.cookie(), origin: browser.origin, 'content-type': 'text/plain' },
    body: 'a file',
  })
  const { data: file } = (await uploaded.json()) as Json
  await scheduleAsMember({ type: 'document', media_url: file.media_url, filename: 'a.txt' })
  const uses = async () => {
    const [row] = await db<{ use_count: number; is_used: boolean }[]>`
      select use_count, used_at is not null as is_used from uploads where workspace_id = ${workspaceId}`
    return row && [row.use_count, row.is_used]
  }
  assert.deepEqual(await uses(), [1, true])
  dataOf(await api.delete(`/contacts/${contactId}`))
  assertRefused(await api.get(`/scheduled-messages/${id}`), 404, 'not_found')
  assert.equal((await db`select from scheduled_messages where workspace_id = ${workspaceId}`).length, 0)
  assert.deepEqual(await uses(), [0, false])
})

test('the file of a message has one use when it is sent, and none when it is canceled or replaced', async (t) => {
  const { api, db, url, ask, browser, scheduleAsMember, makeDue, untilState } = await startTalk(t)
  const { workspaceId } = api
  const upload = async (text: string): Promise<string> => {
    const answer = await fetch(`${url}/app/api/uploads?filename=${text}.txt`, {
      method: 'POST',
      headers: { cookie: browser.cookie(), origin: browser.origin, 'content-type': 'text/plain' },
      body: text,
    })
    return ((await answer.json()) as Json).data.media_url
  }
  const useCounts = async () =>
    pluck(await db`select use_count from uploads where workspace_id = ${workspaceId} order by id`, 'use_count')
  const document = (media_url: string) => ({ type: 'document', media_url })
  const [sent, canceled, replaced] = [await upload('sent'), await upload('canceled'), await upload('replaced')]
  const messages = [
    await scheduleAsMember(document(sent)),
    await scheduleAsMember(document(canceled)),
    await scheduleAsMember(document(replaced)),
  ] as const
  assert.deepEqual(await useCounts(), [1, 1, 1])
  await ask('DELETE', `/scheduled-messages/${messages[1].id}`)
  await ask('PATCH', `/scheduled-messages/${messages[2].id}`, { text: 'no file' })
  await makeDue(messages[0].id)
  await untilState(messages[0].id, 'sent')
  assert.deepEqual(await useCounts(), [1, 0, 0])
})

test('two workers send each message once, and a busy workspace does not delay another', async (t) => {
  const { api, db, provider, textsTo, twin, workspace, connect } = await startTalk(t, {
    alone: 'its own two workers compete for the messages of all workspaces',
  })
  await twin()
  const { workspaceId } = api
  const count = 60
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const from = `+1415556${1_000 + i}`
    await provider.writes({ from, text: 'hi' })
  }
  const { data: conversations } = (await api.get('/conversations?limit=100')).body
  for (const { id } of conversations) {
    const answer = await api.post(`/conversations/${id}/scheduled-messages`, { text: `to ${id}`, send_at: soon(hour) })
    ids.push(dataOf(answer, 201).id)
  }
  // A workspace whose channel is slow, with many messages that are due before all others.
  const slow = await workspace()
  const slowProvider = await connect({ workspaceId: slow.api.workspaceId })
  for (let i = 0; i < 30; i++) {
    const from = `+1415557${1_000 + i}`
    await slowProvider.writes({ from, text: 'hi' })
    await slowProvider.fault({ to: from, mode: 'delay', delay_ms: 3_000 })
  }
  const body = { text: 'slow', send_at: soon(hour) }
  for (const { id } of (await slow.api.get('/conversations')).body.data)
    dataOf(await slow.api.post(`/conversations/${id}/scheduled-messages`, body), 201)
  await db`
    update scheduled_messages set due_at = now() - interval '1 minute' where workspace_id = ${slow.api.workspaceId}`
  await db`update scheduled_messages set due_at = now() where workspace_id = ${workspaceId}`
  await until('all messages', async () => {
    const [row] = await db<{ count: number }[]>`
      select count(*)::int as count from scheduled_messages where workspace_id = ${workspaceId} and state = 'sent'`
    return row?.count === ids.length
  })
  const [waiting] = await db<{ count: number }[]>`
    select count(*)::int as count from scheduled_messages
    where workspace_id = ${slow.api.workspaceId} and state = 'scheduled'`
  assert.ok((waiting?.count ?? 0) > 0, 'the slow workspace was not done before')
  const sent = await provider.sent()
  assert.equal(sent.length, ids.length)
  assert.equal(new Set(sent.map(({ body }) => body.text.body)).size, ids.length, 'none is sent twice')
  assert.equal((await textsTo(ann)).length, 1)
  await slowProvider.control('DELETE', '/faults')
})
