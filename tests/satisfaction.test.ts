/** Satisfaction: one question after an episode, on every channel, and its answer. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { sweepPending } from './internals.ts'
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
  startSignedIn,
  until,
  withProvider,
} from './support.ts'

const phone = '+14155550100'
const userId = '17841400000000001'
/** A time-ordered id. */
const laterId = (): string =>
  `${Date.now()
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-7${randomUUID().slice(15)}`

type ChannelName = 'msgapp' | 'social' | 'web'

/** A workspace that asks at once. A member has replied to a customer on each channel. */
async function startTalk(t: TestContext, { settings = {}, ...starting }: Starting & { settings?: Json } = {}) {
  const world = await withProvider(startSignedIn(t, { times: divideTimes(10), ...starting }))
  const { api, db, ask, url, provider } = world
  const { workspaceId } = api
  const configure = async (changes: Json): Promise<Json> => (await ask('PATCH', '/satisfaction', changes)).data
  await configure({ is_on: true, delay_seconds: 0, ...settings })

  const conversationOf = async (channel: string): Promise<Json> =>
    (await api.get(`/conversations?channel=${channel}`)).body.data.find(
      ({ contact }: Json) => channel !== 'msgapp' || contact.phone === phone,
    )
  const writeOn: Record<ChannelName, (text: string) => Promise<unknown>> = {
    msgapp: (text) => provider.writes({ from: phone, name: 'Ann', text }),
    social: (text) => provider.writes({ channel: 'social', from: userId, username: 'ann', text }),
    web: (text) => visit('POST', { text }),
  }
  const site = `${url}/web-chat/${provider.connections.web.id}`
  const visitors = await fetch(`${site}/visitors`, { method: 'POST' })
  const { visitor_token } = ((await visitors.json()) as Json).data
  const visit = async (method: string, body?: Json): Promise<Json> => {
    const response = await fetch(`${site}/messages`, {
      method,
      headers: { 'x-visitor-token': visitor_token, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    assert.ok(response.status < 300, `${response.status}`)
    return response.json() as Promise<Json>
  }
  /** The customer writes and a member replies. Returns the id of the conversation. */
  const talk = async (channel: ChannelName = 'msgapp', text = 'hello'): Promise<string> => {
    await writeOn[channel](text)
    const { id } = await conversationOf(channel)
    await ask('POST', `/conversations/${id}/messages`, { text: 'Here you are.' }, 201)
    await ask('POST', `/conversations/${id}/read`)
    return id
  }
  const close = (id: string) => ask('PATCH', `/conversations/${id}`, { status: 'closed' })
  /** Newest first. */
  const messagesOf = async (id: string): Promise<Json[]> => (await api.get(`/conversations/${id}/messages`)).body.data
  const questionOf = async (id: string): Promise<Json | undefined> =>
    (await messagesOf(id)).find(({ sender_type, content_type }) => sender_type === 'bot' && content_type !== 'text')
  const untilAsked = (id: string): Promise<Json> =>
    until('the question', async () => {
      const question = await questionOf(id)
      return question && question.status !== 'pending' && question
    })
  const ratingsOf = async (id: string): Promise<Json[]> => [
    ...(await db`
      select * from ratings where workspace_id = ${workspaceId} and conversation_id = ${id} order by message_id`),
  ]
  const untilRated = (id: string): Promise<Json> =>
    until('the line of the rating', async () => {
      const [last] = (await ratingsOf(id)).toReversed()
      return last?.is_announced && last.due_at === null && last
    })
  /** All closings until now are decided, and nothing is to be sent: another conversation that closed later was asked. */
  const settle = async () => {
    const from = `+1415556${Math.floor(1_000 + Math.random() * 8_999)}`
    await provider.writes({ from, name: 'Marker', text: 'marker' })
    const [{ id }] = (await api.get('/conversations?channel=msgapp')).body.data
    await ask('POST', `/conversations/${id}/messages`, { text: 'Here you are.' }, 201)
    await close(id)
    await untilAsked(id)
  }
  const tap = async (channel: ChannelName, question: Json, rating: number) => {
    const { interactive } = question.content
    const choices = interactive.buttons ?? interactive.sections[0].rows
    const button = choices.find(({ id }: Json) => id.endsWith(`:${rating}`))
    assert.ok(button, `no choice ${rating}`)
    if (channel === 'web') return void (await visit('POST', { tap: { message_id: question.id, id: button.id } }))
    const from = channel === 'msgapp' ? phone : userId
    const type = channel === 'msgapp' ? 'list' : 'button'
    await provider.writes({ channel, from, type, button, reply_to: question.message_id })
  }
  const timelineOf = async (id: string): Promise<Json[]> => (await ask('GET', `/conversations/${id}/timeline`)).data
  const get = async (id: string): Promise<Json> => (await ask('GET', `/conversations/${id}`)).data
  return {
    ...{ ...world, provider, configure, visit, talk, close, messagesOf, questionOf, untilAsked, ratingsOf, untilRated },
    ...{ settle, tap, timelineOf, get, writeOn },
  }
}

for (const channel of ['msgapp', 'social', 'web'] as const) {
  test(`on ${channel} a closed episode is asked about once, and a tap stores the rating`, main, async (t) => {
    const world = await startTalk(t)
    const { api, ask, talk, close, untilAsked, tap, untilRated, get, messagesOf, timelineOf, settle } = world
    const { member } = (await ask('GET', '/session')).data
    const id = await talk(channel)
    await close(id)
    const question = await untilAsked(id)
    assertFields(question, { sender_type: 'bot', content_type: 'interactive' })
    const { interactive } = question.content
    assert.equal(interactive.kind, channel === 'msgapp' ? 'list' : 'buttons')
    const titles = (interactive.buttons ?? interactive.sections[0].rows).map(({ title }: Json) => title)
    assert.deepEqual(titles, ['5 · Very good', '4 · Good', '3 · Okay', '2 · Bad', '1 · Very bad'])
    await tap(channel, question, 4)
    const rated = await untilRated(id)
    assertFields(rated, { state: 'rated', rating: 4, member_id: member.id, comment: null })
    const { contact_id, ...conversation } = await get(id)
    assertFields(conversation, { status: 'closed', unread_count: 0, waiting_since: null })
    const { data: episodes } = (await api.get(`/episodes?conversation_id=${id}`)).body
    assert.deepEqual(pluck(episodes, 'id', 'customer_messages'), [[rated.episode_id, 1]], 'an answer opens no episode')
    const [thanks, answer] = await messagesOf(id)
    assertFields(thanks ?? {}, { sender_type: 'bot', content_text: 'Thank you for your feedback!' })
    assertFields(answer ?? {}, { direction: 'inbound', content_text: '4 · Good' })
    const [listedConversation] = (await ask('GET', '/conversations?status=closed')).data
    assert.equal(listedConversation.last_message.automated_by, 'automation', 'the thanks are no broadcast')
    const [line] = await timelineOf(id)
    assertFields(line ?? {}, { kind: 'rated', details: { by: 'customer', rating: 4 } })
    const [listed] = (await ask('GET', `/contacts/${contact_id}/ratings`)).data
    assertFields(listed, { id: question.id, rating: 4, comment: null, conversation_id: id })
    assert.equal(listed.member.id, member.id)

    // A later tap changes nothing, and is no message for the team either.
    await tap(channel, question, 1)
    await settle()
    assertFields(await untilRated(id), { rating: 4 })
    assertFields(await get(id), { status: 'closed', unread_count: 0 })
    assert.equal((await messagesOf(id)).filter(({ sender_type }) => sender_type === 'bot').length, 2)
  })
}

test('a typed number, a title or stars are a rating, and the next text is the comment if one is requested', async (t) => {
  const world = await startTalk(t, { settings: { comment_request: 'What can we do better?', thanks: '' } })
  const { ask, talk, close, untilAsked, untilRated, get, writeOn, provider, ratingsOf, timelineOf } = world
  const id = await talk()
  await close(id)
  await untilAsked(id)
  await writeOn.msgapp('2.')
  assertFields(await untilRated(id), { rating: 2 })
  assert.equal((await provider.sent(phone)).at(-1)?.body.text.body, 'What can we do better?')
  await writeOn.msgapp('You were late.')
  assertFields((await ratingsOf(id))[0] ?? {}, { rating: 2, comment: 'You were late.' })
  const { contact_id, ...conversation } = await get(id)
  assertFields(conversation, { status: 'closed', unread_count: 0 })
  const [listed] = (await ask('GET', `/contacts/${contact_id}/ratings`)).data
  assertFields(listed, { rating: 2, comment: 'You were late.' })
  // One comment. What follows is a message like any other.
  await writeOn.msgapp('And one more question')
  assertFields(await get(id), { status: 'open', unread_count: 1 })
  assert.equal((await timelineOf(id)).filter(({ kind }) => kind === 'rated').length, 1)
})

test('a customer who rates and comments waits for no reply: in the overview, and after a refused reply', async (t) => {
  const world = await startTalk(t, { settings: { comment_request: 'Why?' } })
  const { api, db, ask, browser, talk, close, untilAsked, untilRated, get, writeOn, provider, messagesOf } = world
  const id = await talk()
  await close(id)
  await untilAsked(id)
  await writeOn.msgapp('2')
  await untilRated(id)
  await writeOn.msgapp('You were late.')
  const untilDigested = () =>
    until('the digest of all messages', async () => {
      const [left] = await db`
        select count(*)::int as count from messages m
        where m.workspace_id = ${api.workspaceId} and not exists (
          select from message_words w where w.workspace_id = m.workspace_id and w.conversation_id = m.conversation_id and w.id = m.id
        )`
      return left?.count === 0
    })
  await untilDigested()
  assert.deepEqual([...(await db`select from message_waits where workspace_id = ${api.workspaceId}`)], [])

  await writeOn.msgapp('Another matter')
  const [question] = await messagesOf(id)
  await provider.fault({ to: phone, mode: 'reject', code: 131026, count: 1 })
  assert.equal((await browser.call('POST', `/conversations/${id}/messages`, { text: 'refused' })).status, 502)
  await until('the wait', async () => (await get(id)).waiting_since !== null)
  assert.equal((await get(id)).waiting_since, question?.created_at)
  await ask('POST', `/conversations/${id}/messages`, { text: 'Here you are.' }, 201)
  await untilDigested()
  assert.equal((await ask('GET', '/overview?days=7')).data.responses.count, 2)
})

test('what is no answer is a message like any other, and a number in an open conversation is none', async (t) => {
  const { talk, close, untilAsked, tap, untilRated, get, writeOn, ratingsOf } = await startTalk(t)
  const id = await talk()
  await close(id)
  const question = await untilAsked(id)
  await writeOn.msgapp('I have 3 more questions')
  assertFields(await get(id), { status: 'open', unread_count: 1 })
  await writeOn.msgapp('3')
  assertFields(await get(id), { unread_count: 2 })
  assertFields((await ratingsOf(id))[0] ?? {}, { state: 'asked', rating: null })
  // A tap is one in every state, and changes nothing else.
  await tap('msgapp', question, 5)
  assertFields(await untilRated(id), { rating: 5 })
  assertFields(await get(id), { status: 'open', unread_count: 2 })
})

test('an answer after three days is a message like any other', async (t) => {
  const { api, db, talk, close, untilAsked, get, writeOn, ratingsOf } = await startTalk(t)
  const id = await talk()
  await close(id)
  await untilAsked(id)
  await db`
    update ratings set asked_at = asked_at - interval '3 days 1 minute'
    where workspace_id = ${api.workspaceId} and conversation_id = ${id}`
  await writeOn.msgapp('5')
  assertFields(await get(id), { status: 'open', unread_count: 1 })
  assertFields((await ratingsOf(id))[0] ?? {}, { state: 'asked' })
})

test('a rating is no opt-out, and an opt-out is no comment', async (t) => {
  const { ask, talk, close, untilAsked, untilRated, get, writeOn, ratingsOf, api } = await startTalk(t, {
    settings: { comment_request: 'Why?' },
  })
  await ask('PATCH', '/workspace', { opt_out_words: ['STOP', '1'] })
  const id = await talk()
  await close(id)
  await untilAsked(id)
  await writeOn.msgapp('1')
  assertFields(await untilRated(id), { rating: 1 })
  const { contact_id } = await get(id)
  assertFields(dataOf(await api.get(`/contacts/${contact_id}`)), { opted_out: false })
  await writeOn.msgapp('STOP')
  assertFields(dataOf(await api.get(`/contacts/${contact_id}`)), { opted_out: true })
  assertFields((await ratingsOf(id))[0] ?? {}, { comment: null })
  assertFields(await get(id), { status: 'open' })
})

test('outside the window the chosen template asks, and without one the customer is not asked', async (t) => {
  const { api, db, configure, talk, close, untilAsked, settle, questionOf, writeOn, untilRated, get } =
    await startTalk(t)
  const age = (id: string) => db`
    update conversations set last_inbound_at = now() - interval '25 hours'
    where workspace_id = ${api.workspaceId} and id = ${id}`
  const id = await talk()
  await age(id)
  await close(id)
  await settle()
  assert.equal(await questionOf(id), undefined)

  const social = await talk('social')
  await age(social)
  await configure({ template: { name: 'hello_world' } })
  const again = await talk()
  assert.equal(again, id)
  await age(id)
  await Promise.all([close(id), close(social)])
  const question = await untilAsked(id)
  assertFields(question, { content_type: 'template', template_name: 'hello_world', sender_type: 'bot' })
  await settle()
  assert.equal(await questionOf(social), undefined, 'programs have no template there')
  await writeOn.msgapp('⭐⭐⭐')
  assertFields(await untilRated(id), { rating: 3 })
  assertFields(await get(id), { status: 'closed' })
})

test('a contact is asked once within the days of the setting, on whatever channel', async (t) => {
  const { api, db, talk, close, untilAsked, settle, ratingsOf } = await startTalk(t, { settings: { min_days: 3 } })
  const id = await talk()
  await close(id)
  await untilAsked(id)
  await talk()
  await close(id)
  await settle()
  assert.equal((await ratingsOf(id)).length, 1)
  await db`
    update ratings set asked_at = asked_at - interval '3 days', created_at = created_at - interval '3 days'
    where workspace_id = ${api.workspaceId} and conversation_id = ${id}`
  await talk()
  await close(id)
  await until('the second question', async () => (await ratingsOf(id)).length === 2)
  assert.equal(new Set(pluck(await ratingsOf(id), 'episode_id').flat()).size, 2)
})

test('bot-only, spam, blocked and opted-out episodes are not asked about', async (t) => {
  const { api, ask, provider, close, settle, ratingsOf, configure } = await startTalk(t, {
    settings: { skip_labels: ['Spam', 'Test'] },
  })
  const converse = async (from: string, hasReply = true): Promise<Json> => {
    await provider.writes({ from, name: 'Ben', text: 'hello' })
    const [conversation] = (await api.get('/conversations')).body.data
    if (hasReply) await ask('POST', `/conversations/${conversation.id}/messages`, { text: 'Hi' }, 201)
    return conversation
  }
  const unanswered = await converse('+14155550111', false)
  // Of an API key.
  dataOf(await api.post(`/conversations/${unanswered.id}/messages`, { text: 'Automatic' }), 201)
  const spam = await converse('+14155550112')
  await ask('PATCH', `/conversations/${spam.id}`, { add_labels: ['SPAM'] })
  const blocked = await converse('+14155550113')
  const opted = await converse('+14155550114')
  await ask('PATCH', `/contacts/${opted.contact_id}`, { opted_out: true })
  await ask('POST', `/conversations/${blocked.id}/block`)
  for (const { id } of [unanswered, spam, opted]) await close(id)
  await settle()
  for (const { id } of [unanswered, spam, blocked, opted]) assert.deepEqual(await ratingsOf(id), [], id)
  // Only episodes of chosen connections.
  await configure({ connection_ids: [provider.connections.web.id] })
  const elsewhere = await converse('+14155550115')
  await close(elsewhere.id)
  await configure({ connection_ids: null })
  await settle()
  assert.equal((await ratingsOf(elsewhere.id)).length, 1, 'the setting counts when the episode is decided')
})

test('a question is not sent when the conversation is opened again before its time', async (t) => {
  const { ask, talk, close, settle, ratingsOf, configure, writeOn, provider } = await startTalk(t, {
    settings: { delay_seconds: 86_400 },
  })
  const undone = await talk()
  await close(undone)
  await ask('PATCH', `/conversations/${undone}`, { status: 'open' })
  const written = await talk('social')
  await close(written)
  await writeOn.social('wait')
  assert.equal((await ask('GET', `/conversations/${written}`)).data.status, 'open')
  await configure({ delay_seconds: 0 })
  await settle()
  assert.deepEqual([await ratingsOf(undone), await ratingsOf(written)], [[], []])
  assert.equal((await provider.sent(userId)).length, 1)
})

test('a rating starts automations, and the answer starts none as a message', async (t) => {
  const { api, talk, close, untilAsked, tap, untilRated } = await startTalk(t)
  const publish = async (name: string, trigger: Json): Promise<string> => {
    const definition = { trigger, steps: [{ type: 'note', text: name }] }
    const { id } = dataOf(await api.post('/automations', { name, definition }), 201)
    return dataOf(await api.post(`/automations/${id}/publish`)).id
  }
  const id = await talk()
  await close(id)
  const question = await untilAsked(id)
  const bad = await publish('Bad', { type: 'rating', at_most: 2 })
  const good = await publish('Good', { type: 'rating' })
  const message = await publish('Message', { type: 'message' })
  const opened = await publish('Opened', { type: 'conversation', event: 'opened' })
  await tap('msgapp', question, 3)
  await untilRated(id)
  const runsOf = async (automation: string): Promise<Json[]> =>
    (await api.get(`/automations/${automation}/runs`)).body.data
  await until('the run', async () => (await runsOf(good))[0]?.state === 'ended')
  const notes = (await api.get(`/conversations/${id}/notes`)).body.data
  assert.deepEqual(pluck(notes, 'text'), ['Good'])
  for (const other of [bad, message, opened]) assert.deepEqual(await runsOf(other), [])
})

test('a question with an unknown outcome is not sent again, and ends with the outcome of its message', async (t) => {
  const { api, db, provider, talk, close, ratingsOf, questionOf } = await startTalk(t)
  const { workspaceId } = api
  const id = await talk()
  await provider.fault({ to: phone, mode: 'hang' })
  await close(id)
  const { message_id: messageId } = await until('the end of the attempt', async () => {
    const [row] = await ratingsOf(id)
    // A claim that found no outcome does not count as an attempt.
    return row?.state === 'asked' && row.attempt_count === 0 && row
  })
  await provider.control('DELETE', '/faults')
  const makeDue = () => db`
    update ratings set due_at = now() where workspace_id = ${workspaceId} and conversation_id = ${id} and due_at is not null`
  await makeDue()
  await db`
    update messages set created_at = now() - interval '16 minutes' where workspace_id = ${workspaceId} and id = ${messageId}`
  await sweepPending(db, { publicUrl })
  const failed = await until('the outcome', async () => {
    await makeDue()
    const [row] = await ratingsOf(id)
    return row?.state === 'failed' && row
  })
  assert.match(failed.error, /no report from the channel/)
  assert.equal((await questionOf(id))?.id, messageId)
  assert.equal((await provider.sent(phone)).filter(({ body }) => body.type === 'interactive').length, 0)
})

test('a question that the channel refuses has failed, and the customer may be asked again', async (t) => {
  const { provider, talk, close, untilAsked, ratingsOf } = await startTalk(t)
  const id = await talk()
  await provider.fault({ to: phone, mode: 'reject', code: 131026, count: 1 })
  await close(id)
  const failed = await until('the failure', async () => (await ratingsOf(id)).find(({ state }) => state === 'failed'))
  assert.match(failed.error, /131026/)
  assert.equal(failed.due_at, null)
  await talk()
  await close(id)
  await until('the next question', async () => (await ratingsOf(id)).some(({ state }) => state === 'asked'))
  assert.equal((await untilAsked(id)).status === 'failed', false)
})

test('a claim whose worker was killed before it wrote the message is repeated under the same id', async (t) => {
  const { api, db, provider, talk, close, untilAsked, ratingsOf } = await startTalk(t, {
    settings: { delay_seconds: 86_400 },
  })
  const { workspaceId } = api
  const id = await talk()
  await close(id)
  const [{ id: episodeId } = { id: '' }] = (await api.get(`/episodes?conversation_id=${id}`)).body.data
  const { contact_id } = dataOf(await api.get(`/conversations/${id}`))
  // Later than all messages, as the id of a claim is.
  const messageId = laterId()
  await db`
    insert into ratings (workspace_id, message_id, episode_id, conversation_id, contact_id, state, due_at, attempt_count, created_at)
    values (${workspaceId}, ${messageId}, ${episodeId}, ${id}, ${contact_id}, 'due', now(), 1, now())`
  assert.equal((await untilAsked(id)).id, messageId)
  const [rating] = await until('the end', async () => {
    const rows = await ratingsOf(id)
    return rows[0]?.due_at === null && rows
  })
  assertFields(rating, { state: 'asked', attempt_count: 2 })
  assert.equal((await provider.sent(phone)).filter(({ body }) => body.type === 'interactive').length, 1)
})

test('two processes ask once, and two answers at the same moment are one rating', async (t) => {
  const { api, ask, db, provider, twin, ratingsOf, close } = await startTalk(t, {
    alone: 'its own two workers compete for the questions of all workspaces',
    settings: { delay_seconds: 86_400 },
  })
  await twin()
  const { workspaceId } = api
  const count = 30
  const phones = Array.from({ length: count }, (_, i) => `+1415556${1_000 + i}`)
  for (const from of phones) await provider.writes({ from, text: 'hi' })
  const { data: conversations } = (await api.get('/conversations?limit=100')).body
  for (const { id } of conversations) {
    await ask('POST', `/conversations/${id}/messages`, { text: 'Hi' }, 201)
    await close(id)
  }
  await ask('PATCH', '/satisfaction', { delay_seconds: 0 })
  await until('all questions', async () => {
    const [row] = await db<{ count: number }[]>`
      select count(*)::int as count from ratings where workspace_id = ${workspaceId} and state = 'asked' and due_at is null`
    return row?.count === count
  })
  const sent = (await provider.sent()).filter(({ body }) => body.type === 'interactive')
  assert.equal(sent.length, count)
  assert.equal(new Set(sent.map(({ to }) => to)).size, count, 'none is asked twice')
  const first = sent[0]
  assert.ok(first)
  const from = `+${first.to.replace('+', '')}`
  const rows = first.body.interactive.action.sections[0].rows
  await Promise.all(
    rows.map(({ id, title }: Json) =>
      provider.writes({ from, type: 'list', button: { id, title }, reply_to: first.message_id }),
    ),
  )
  const conversation = (await api.get(`/conversations?limit=100`)).body.data
  assert.ok(conversation.every(({ status }: Json) => status === 'closed'))
  const rated = await db<{ conversation_id: string }[]>`
    select conversation_id from ratings where workspace_id = ${workspaceId} and state = 'rated'`
  assert.equal(rated.length, 1)
  const id = rated[0]?.conversation_id ?? ''
  await until('the thanks', async () => (await ratingsOf(id))[0]?.due_at === null)
  assert.equal((await provider.sent(from)).filter(({ body }) => body.text?.body.startsWith('Thank you')).length, 1)
  const lines = (await ask('GET', `/conversations/${id}/timeline`)).data
  assert.equal(lines.filter(({ kind }: Json) => kind === 'rated').length, 1)
})

test('a merge moves ratings, and the question can still be answered; erasing a contact deletes them', async (t) => {
  const { api, ask, db, provider, talk, close, untilAsked, ratingsOf, writeOn, untilRated } = await startTalk(t)
  const { workspaceId } = api
  const id = await talk()
  await close(id)
  await untilAsked(id)
  const other = '+14155550101'
  await provider.writes({ from: other, name: 'Ann B', text: 'hi' })
  const [kept] = (await api.get('/conversations')).body.data
  await close(kept.id)
  const { contact_id } = dataOf(await api.get(`/conversations/${id}`))
  dataOf(await api.post(`/contacts/${kept.contact_id}/merge`, { contact_id }))
  assert.equal((await ratingsOf(kept.id)).length, 1)
  await writeOn.msgapp('4')
  assertFields(await untilRated(kept.id), { rating: 4, contact_id: kept.contact_id })
  assert.equal((await ask('GET', `/contacts/${kept.contact_id}/ratings`)).data.length, 1)
  dataOf(await api.delete(`/contacts/${kept.contact_id}`))
  assert.equal((await db`select from ratings where workspace_id = ${workspaceId}`).length, 0)
})

test('settings: defaults, rules, and who may change them', async (t) => {
  const { ask, browser, provider } = await withProvider(startSignedIn(t))
  const defaults = (await ask('GET', '/satisfaction')).data
  assertFields(defaults, { is_on: false, min_days: 7, delay_seconds: 60, skip_labels: ['spam'], template: null })
  for (const [body, reason] of [
    [{ question: ' ' }, 'question: must have 1 to 500 characters'],
    [{ question: 'é'.repeat(501) }, 'question: must have 1 to 500 characters'],
    [{ question: '語'.repeat(400) }, 'question: must have at most 1000 bytes'],
    [{ choices: ['1', '2', '3', '4'] }, /choices/],
    [{ choices: ['a', 'A', 'b', 'c', 'd'] }, 'choices: must be different'],
    [{ choices: ['a', 'b', 'c', 'd', 'x'.repeat(21)] }, 'choices[4]: must have 1 to 20 characters'],
    [{ list_button: '' }, 'list_button: must have 1 to 20 characters'],
    [{ thanks: 'x'.repeat(500), comment_request: 'x'.repeat(500) }, /comment_request: must have at most 1000 bytes/],
    [{ min_days: 0 }, /min_days/],
    [{ delay_seconds: -1 }, /delay_seconds/],
    [{ connection_ids: [randomUUID()] }, 'connection_ids: not a connection of this workspace'],
    [{ team_ids: [randomUUID()] }, 'team_ids: not a team of this workspace'],
    [{ connection_ids: [] }, /connection_ids/],
  ] as const)
    assertBadRequest(await browser.call('PATCH', '/satisfaction', body), reason)
  const changed = (
    await ask('PATCH', '/satisfaction', {
      question: ' How was it? ',
      template: { name: 'hello_world', language: 'en_US' },
      connection_ids: [provider.connections.web.id],
    })
  ).data
  assertFields(changed, { question: 'How was it?', is_on: false, connection_ids: [provider.connections.web.id] })
  assert.deepEqual((await ask('GET', '/satisfaction')).data, changed)
  assertFields((await ask('PATCH', '/satisfaction', { template: null, connection_ids: null })).data, {
    template: null,
    connection_ids: null,
  })
  const agent = await createMember(browser, 'agent')
  assertFields((await agent.ask('GET', '/satisfaction')).data, { question: 'How was it?' })
  assertRefused(await agent.call('PATCH', '/satisfaction', { is_on: true }), 403, 'forbidden')
})
