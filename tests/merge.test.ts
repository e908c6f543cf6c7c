/** Two contacts are merged: everything of one moves to the other, also while customers write and members send. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertRefused, pluck } from './assertions.ts'
import { untilWaiting } from './database.ts'
import { pastId } from './internals.ts'
import { createBrowser, type Json, main, type SignedIn, startSignedIn, until, withProvider } from './support.ts'

const phoneOf = (i: number) => `+1415559${String(i).padStart(4, '0')}`

async function signedIn(t: TestContext) {
  const world = await startSignedIn(t)
  const idOf = async (phone: string): Promise<string> =>
    (await world.api.get(`/contacts?phone=${encodeURIComponent(phone)}`)).body.data[0]?.id
  const merge = async (toId: string, fromId: string): Promise<Json> =>
    (await world.ask('POST', `/contacts/${toId}/merge`, { contact_id: fromId })).data
  return { ...world, idOf, merge }
}

/** Every row of the workspace that refers to one of these contacts or conversations, in any table. */
async function listReferences({ db, api }: SignedIn, ids: readonly string[]): Promise<string[]> {
  const columns = await db<{ table: string; column: string }[]>`
    select table_name as table, column_name as column from information_schema.columns
    where table_schema = 'public' and column_name in ('contact_id', 'conversation_id')
      and table_name in (select relname from pg_class where relkind in ('r', 'p') and not relispartition)`
  assert.ok(columns.length >= 10)
  const found: string[] = []
  for (const { table, column } of columns) {
    const rows = await db`
      select from ${db(table)} t where t.workspace_id = ${api.workspaceId} and t.${db(column)} = any(${[...ids]}::uuid[])`
    if (rows.length > 0) found.push(`${table}.${column}`)
  }
  return found
}

test(
  'merging moves conversations, messages, files, notes, tags, attributes and recipients; nothing is lost',
  main,
  async (t) => {
    const world = await withProvider(signedIn(t))
    const { api, db, ask, get, idOf, merge, provider } = world
    const [kept, gone] = [phoneOf(1), phoneOf(2)]
    await api.post('/contacts', { phone: kept, name: 'Ann Porter', tags: ['vip', 'both'] })
    const person = { name: 'A. Porter', email: 'ann@x.test', company: 'Porter', tags: ['both', 'old'] }
    await api.post('/contacts', { phone: gone, ...person })
    const [toId, fromId] = [await idOf(kept), await idOf(gone)]
    for (const [from, text] of [
      [kept, 'first parcel'],
      [gone, 'second parcel'],
      [kept, 'third'],
    ])
      await provider.writes({ from, text })
    await provider.writes({ from: gone, type: 'image', media: { caption: 'a picture' } })
    await api.post('/messages', { to: gone, text: 'to the second number' })
    await ask('PATCH', `/contacts/${toId}`, { attributes: { plan: 'gold', seats: 3 } })
    await ask('PATCH', `/contacts/${fromId}`, { attributes: { plan: 'free', is_beta: true } })
    await ask('POST', `/contacts/${fromId}/notes`, { text: 'Prefers mornings' }, 201)
    const segment = (await ask('POST', '/segments', { name: 'List' }, 201)).data
    await ask('POST', `/segments/${segment.id}/contacts`, { contact_ids: [fromId] })
    const [from] = (await ask('GET', `/conversations?contact_id=${fromId}`)).data
    const [to] = (await ask('GET', `/conversations?contact_id=${toId}`)).data
    const member = (await ask('GET', '/session')).data.member
    await ask('POST', `/conversations/${from.id}/notes`, { text: 'Call back', mentions: [member.id] }, 201)
    const template = { name: 'order_confirmed', params: ['a', 'b'] }
    const broadcast = (
      await ask('POST', '/broadcasts', { name: 'Both', template, recipients: [{ to: kept }, { to: gone }] }, 202)
    ).data
    const before = await until('every report, the file and the digest', async () => {
      const [state] = await db<{ done: boolean; messages: number; unread: number }[]>`
      select count(*) = 7 and bool_and(m.status in ('read', 'received'))
        and bool_and(m.content_type <> 'image' or m.media_url is not null)
        and (select count(*) from message_words w where w.workspace_id = ${api.workspaceId}) = 7 as done,
        count(*)::int as messages,
        (select sum(unread_count)::int from conversations v where v.workspace_id = ${api.workspaceId}) as unread
      from messages m where m.workspace_id = ${api.workspaceId}`
      return state?.done && state
    })

    await ask('PATCH', `/contacts/${fromId}`, { opted_out: true })
    await ask('PATCH', `/conversations/${from.id}`, { labels: ['billing'] })
    await ask('PATCH', `/conversations/${to.id}`, { labels: ['Billing', 'urgent'] })
    await ask('PUT', `/conversations/${from.id}/draft`, { text: 'half a reply' })
    const merged = await merge(toId, fromId)
    assert.deepEqual(
      [merged.id, merged.phone, merged.name, merged.email, merged.company, merged.attributes],
      [toId, kept, 'Ann Porter', 'ann@x.test', 'Porter', { plan: 'gold', seats: 3, is_beta: true }],
    )
    assert.deepEqual(pluck(merged.tags, 'name'), ['both', 'old', 'vip'])
    assert.notEqual(merged.opted_out_at, null)
    assert.deepEqual(await listReferences(world, [fromId, from.id]), [])
    assertRefused(await world.browser.call('GET', `/contacts/${fromId}`), 404, 'not_found')
    const conversations = (await ask('GET', `/conversations?contact_id=${toId}`)).data
    assert.deepEqual(pluck(conversations, 'id', 'unread_count'), [[to.id, before.unread]])
    const thread = (await ask('GET', `/conversations/${to.id}/messages`)).data
    assert.equal(thread.length, before.messages)
    const picture = thread.find(({ content_type }: Json) => content_type === 'image')
    assert.equal((await fetch(picture.media_url.replace(/^http:\/\/[^/]+/, world.url))).status, 200)
    const { data: entries } = await ask('GET', `/conversations/${to.id}/timeline`)
    assert.equal(entries.filter(({ kind }: Json) => kind === 'note').length, 1)
    assert.equal((await ask('GET', `/contacts/${toId}/notes`)).data[0].text, 'Prefers mornings')
    assert.equal((await get(`/segments/${segment.id}/contacts`))[0].id, toId)
    const found = (await get('/search?q=parcel')).map(({ message }: Json) => message.conversation_id)
    assert.deepEqual(found, [to.id, to.id])
    assert.deepEqual(pluck(await get(`/broadcasts/${broadcast.id}/recipients`), 'phone', 'contact_id', 'status'), [
      [kept, toId, 'read'],
      [gone, toId, 'read'],
    ])
    assert.deepEqual(pluck(conversations[0].labels, 'name'), ['billing', 'urgent'])
    assert.equal((await db`select from drafts where conversation_id = ${to.id} and text = 'half a reply'`).length, 1)
    const [entry] = await get('/audit')
    assert.deepEqual([entry.action, entry.subject_id, entry.summary], ['contact.merged', toId, fromId])

    // The customer still has both numbers. A reply goes to the one that wrote last.
    for (const number of [gone, kept, gone]) {
      await provider.writes({ from: number, text: `from ${number}` })
      const count = (await provider.sent(number)).length
      await ask('POST', `/conversations/${to.id}/messages`, { text: 'hello' }, 201)
      assert.equal((await provider.sent(number)).length, count + 1, number)
    }
    assert.equal(await idOf(gone), toId)
    await api.post('/messages', { to: gone, text: 'by number' })
    assert.equal((await provider.sent(gone)).at(-1)?.body.text.body, 'by number')
  },
)

test('a channel that only the merged contact has keeps its conversation', async (t) => {
  const { ask, provider, idOf, merge, api } = await withProvider(signedIn(t))
  await api.post('/contacts', { phone: phoneOf(10), name: 'Ann' })
  await provider.writes({ channel: 'social', from: '90000010', username: 'ann.p', text: 'hey' })
  const [social] = (await ask('GET', '/conversations?channel=social')).data
  const merged = await merge(await idOf(phoneOf(10)), social.contact_id)
  assert.deepEqual([merged.channels, merged.social_username, merged.name], [['msgapp', 'social'], 'ann.p', 'Ann'])
  await provider.writes({ channel: 'social', from: '90000010', text: 'again' })
  const [after, ...more] = (await ask('GET', '/conversations?channel=social')).data
  assert.deepEqual([after.id, after.contact_id, after.unread_count, more.length], [social.id, merged.id, 2, 0])
})

test('messages that arrive, are sent or are reported during a merge are stored once, with the contact that stays', async (t) => {
  const world = await withProvider(signedIn(t))
  const { api, db, ask, get, idOf, merge, provider } = world
  const rounds = 6
  const perNumber = 8
  for (let round = 0; round < rounds; round++) {
    const [kept, gone] = [phoneOf(100 + 2 * round), phoneOf(101 + 2 * round)]
    // In some rounds the merged contact has no conversation yet, so a message creates it at the same moment.
    if (round % 3 !== 2) await provider.writes({ from: gone, text: 'before' })
    else await api.post('/contacts', { phone: gone })
    await provider.writes({ from: kept, text: 'before' })
    const [toId, fromId] = [await idOf(kept), await idOf(gone)]
    await provider.fault({ to: gone, mode: 'delay', delay_ms: 150, count: 2 })
    const writes = Array.from({ length: perNumber }, (_, i) =>
      [gone, kept].map((from) => provider.writes({ from, text: i === 3 && from === gone ? 'STOP' : `message ${i}` })),
    ).flat()
    const sends = round % 3 === 2 ? [] : [1, 2, 3].map((i) => api.post('/messages', { to: gone, text: `answer ${i}` }))
    const merging = merge(toId, fromId)
    const more = Array.from({ length: perNumber }, (_, i) => provider.writes({ from: gone, text: `later ${i}` }))
    await Promise.all([merging, ...writes, ...more])
    for (const answer of await Promise.all(sends)) assert.equal(answer.status, 201, answer.text)

    assert.equal(await idOf(gone), toId)
    assert.deepEqual(await listReferences(world, [fromId]), [])
    const conversations = (await ask('GET', `/conversations?contact_id=${toId}`)).data
    assert.equal(conversations.length, 1)
    const inboundCount = 3 * perNumber + (round % 3 === 2 ? 1 : 2)
    const [counts] = await db`
      select count(*) filter (where direction = 'inbound')::int as inbound,
        count(distinct external_id) filter (where direction = 'inbound')::int as different,
        count(*) filter (where direction = 'outbound')::int as outbound
      from messages where workspace_id = ${api.workspaceId} and conversation_id = ${conversations[0].id}`
    assert.deepEqual({ ...counts }, { inbound: inboundCount, different: inboundCount, outbound: sends.length })
    assert.equal(conversations[0].unread_count, inboundCount)
    assert.notEqual((await get(`/contacts/${toId}`)).opted_out_at, null, 'the customer opted out')
  }
  await until('every send to be reported', async () => {
    const open = await db`
      select from messages where workspace_id = ${api.workspaceId} and direction = 'outbound' and status <> 'read'`
    return open.length === 0
  })
  await until('every message to be in the search index', async () => {
    const [state] = await db`
      select (select count(*) from messages m where m.workspace_id = ${api.workspaceId})
        = (select count(*) from message_words w where w.workspace_id = ${api.workspaceId}) as is_complete`
    return state?.is_complete
  })
})

/** Inbound messages of the last year, older than all others. */
async function plantHistory({ db, api }: SignedIn, conversationId: string, count: number): Promise<void> {
  const firstMs = Date.now() - 300 * 86_400_000
  const ids = Array.from({ length: count }, (_, i) => pastId(firstMs + i * 60_000))
  await db`
    with planted as (
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, external_id,
        status, created_at)
      select ${api.workspaceId}, ${conversationId}, h.id, 'inbound', 'customer', 'text', 'message ' || n, ${conversationId} || n,
        'received', now() + make_interval(days => -300, mins => n::int)
      from unnest(${ids}::uuid[]) with ordinality h (id, n)
      returning workspace_id, conversation_id, id, content_text
    )
    insert into message_words (workspace_id, conversation_id, id, words)
    select workspace_id, conversation_id, id, to_tsvector('simple', content_text) from planted`
}

test('a long history moves while customers write, and a worker completes a merge that was interrupted', async (t) => {
  const world = await withProvider(signedIn(t))
  const { api, db, get, browser, idOf, merge, provider } = world
  const readContact = async (phone: string) => {
    await provider.writes({ from: phone, text: 'before' })
    const contactId = await idOf(phone)
    const [{ id }] = await get(`/conversations?contact_id=${contactId}`)
    return { contactId, id }
  }
  const count = async (id: string) =>
    (await db<{ count: number }[]>`select count(*)::int as count from messages where conversation_id = ${id}`)[0]?.count
  const kept = await readContact(phoneOf(70))
  const gone = await readContact(phoneOf(71))
  await plantHistory(world, gone.id, 1_700)
  let isMerging = true
  let written = 0
  const writing = (async () => {
    for (; isMerging; written++) await provider.writes({ from: phoneOf(70 + (written % 2)), text: `during ${written}` })
  })()
  await merge(kept.contactId, gone.contactId)
  isMerging = false
  await writing
  assert.equal(await count(kept.id), 1_702 + written)
  assert.deepEqual(await listReferences(world, [gone.id, gone.contactId]), [])
  assert.equal((await get(`/conversations/${gone.id}`)).unread_count, 2 + written)
  assert.equal((await db`select from message_words where conversation_id = ${kept.id}`).length >= 1_700, true)

  // The process that merged was stopped after some batches.
  const interrupt = async (from: { id: string; contactId: string }) => {
    await plantHistory(world, from.id, 700)
    await db`
      insert into contact_merges (workspace_id, from_id, to_id, continued_at)
      values (${api.workspaceId}, ${from.contactId}, ${kept.contactId}, now() - interval '1 minute')`
  }
  const stopped = await readContact(phoneOf(72))
  await interrupt(stopped)
  await until('the worker to complete it', async () => (await get(`/conversations/${stopped.id}`)).id === kept.id)
  assert.equal(await count(kept.id), 1_702 + written + 701)
  assert.equal(await idOf(phoneOf(72)), kept.contactId)

  // A contact whose history is partly with another one is not erased alone.
  const erased = await readContact(phoneOf(73))
  await interrupt(erased)
  assertRefused(await browser.call('DELETE', `/contacts/${erased.contactId}`), 404, 'not_found')
  assert.equal(await count(kept.id), 1_702 + written + 2 * 701)
})

test('a call to a merged conversation reaches the one with its content, and a write at that moment is never an error', async (t) => {
  const { ask, get, browser, provider, idOf, merge } = await withProvider(signedIn(t))
  const member = (await ask('GET', '/session')).data.member
  const writes: [method: string, path: string, body?: Json][] = [
    ['POST', '/notes', { text: 'a note', mentions: [member.id] }],
    ['POST', '/messages', { text: 'a reply' }],
    ['PUT', '/draft', { text: 'half a reply' }],
    ['PATCH', '', { add_labels: ['vip'] }],
    ['PATCH', '', { snoozed_until: new Date(Date.now() + 3_600_000).toISOString() }],
    ['PATCH', '', { assigned_agent_id: member.id }],
    ['POST', '/read'],
  ]
  const kept = phoneOf(50)
  await provider.writes({ from: kept, text: 'kept' })
  const toId = await idOf(kept)
  const [{ id: into }] = await get(`/conversations?contact_id=${toId}`)
  const mergedIds: string[] = []
  for (let round = 0; round < 5; round++) {
    const gone = phoneOf(51 + round)
    await provider.writes({ from: gone, text: 'gone' })
    const fromId = await idOf(gone)
    const [{ id }] = await get(`/conversations?contact_id=${fromId}`)
    mergedIds.push(id)
    const writeAll = () =>
      Promise.all([
        ...writes.map(([method, path, body]) => browser.call(method, `/conversations/${id}${path}`, body)),
        browser.call('POST', '/presence', { page_id: 'ab'.repeat(16), conversation_id: id, state: 'open' }),
        browser.call('POST', '/conversations/bulk', { ids: [id, into], add_labels: [`round ${round}`] }),
        browser.call('POST', '/mentions/read', { conversation_id: id }),
      ])
    const before = writeAll()
    const merging = merge(toId, fromId)
    const answers = [...(await before), ...(await writeAll())]
    await merging
    for (const { status, text } of [...answers, ...(await writeAll())]) assert.ok(status < 300, text)
  }
  // Each id leads to the conversation that has everything now, also after it was merged itself.
  await provider.writes({ from: phoneOf(60), text: 'the last' })
  const lastId = await idOf(phoneOf(60))
  const [last] = await get(`/conversations?contact_id=${lastId}`)
  await merge(lastId, toId)
  for (const id of [...mergedIds, into]) assert.equal((await get(`/conversations/${id}`)).id, last.id)
  const { data: note } = await ask('POST', `/conversations/${into}/notes`, { text: 'after the merge' }, 201)
  const { data: reply } = await ask('POST', `/conversations/${into}/messages`, { text: 'after the merge' }, 201)
  assert.equal(reply.conversation_id, last.id)
  assert.ok((await get(`/conversations/${last.id}/timeline`)).some(({ id }: Json) => id === note.id))
  const { browser: stranger } = await startSignedIn(t)
  assertRefused(await stranger.call('GET', `/conversations/${into}`), 404, 'not_found')
})

test('a call that has begun before the merge ends reaches the merged conversation', async (t) => {
  const { api, browser, connect, database, db, get, idOf, merge, owner, twin } = await signedIn(t)
  const provider = await connect()
  // Each waiting call has a connection, so two processes share them.
  const elsewhere = createBrowser(await twin())
  await elsewhere.signIn(owner)
  const read = async (phone: string) => {
    await provider.writes({ from: phone, text: 'hello' })
    const contactId = await idOf(phone)
    const [{ id }] = await get(`/conversations?contact_id=${contactId}`)
    return { contactId, id }
  }
  const kept = await read(phoneOf(80))
  const gone = await read(phoneOf(81))
  // The calls queue for the lock behind the merge, so each finds its conversation gone.
  const other = database.connect(1)
  const path = `/conversations/${gone.id}`
  const { merging, calls } = await other.begin(async (sql) => {
    await sql`select from conversations where workspace_id = ${api.workspaceId} and id = ${gone.id} for update`
    const merging = merge(kept.contactId, gone.contactId)
    // Any other waiter would let the calls queue before the merge.
    await untilWaiting(db, 1, 'contact_id = any.*for update')
    const calls = [
      browser.call('POST', `${path}/notes`, { text: 'a note' }),
      browser.call('POST', `${path}/messages`, { text: 'a reply' }),
      browser.call('PATCH', path, { add_labels: ['vip'] }),
      elsewhere.call('POST', `${path}/read`),
      elsewhere.call('PUT', `${path}/draft`, { text: 'half a reply' }),
    ]
    await untilWaiting(db, 1 + calls.length)
    return { merging, calls }
  })
  await merging
  const [note, reply, changed] = await Promise.all(calls)
  for (const { status, text } of await Promise.all(calls)) assert.ok(status < 300, text)
  assert.equal(reply?.body.data.conversation_id, kept.id)
  assert.deepEqual([changed?.body.data.id, changed?.body.data.labels.length], [kept.id, 1])
  const timeline = await get(`/conversations/${kept.id}/timeline`)
  assert.equal(timeline.filter(({ id }: Json) => id === note?.body.data.id).length, 1)
  const { data: drafts } = (await browser.call('GET', '/drafts')).body
  assert.deepEqual(pluck(drafts, 'conversation_id', 'text'), [[kept.id, 'half a reply']])
})

test('of concurrent merges of the same contacts one succeeds, and a refused merge changes nothing', async (t) => {
  const { api, ask, browser, db, idOf } = await signedIn(t)
  const ids: string[] = []
  for (const i of [30, 31, 32]) {
    await api.post('/contacts', { phone: phoneOf(i), tags: [`t${i}`] })
    ids.push(await idOf(phoneOf(i)))
  }
  const [a = '', b = '', c = ''] = ids
  const answers = await Promise.all([
    browser.call('POST', `/contacts/${a}/merge`, { contact_id: b }),
    browser.call('POST', `/contacts/${b}/merge`, { contact_id: a }),
  ])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404])
  const left = answers[0]?.status === 200 ? a : b
  assertBadRequest(await browser.call('POST', `/contacts/${left}/merge`, { contact_id: left }))
  const { api: neighbour } = await (await startSignedIn(t)).workspace()
  await neighbour.post('/contacts', { phone: phoneOf(33) })
  const theirs = (await neighbour.get('/contacts')).body.data[0].id
  assertRefused(await browser.call('POST', `/contacts/${left}/merge`, { contact_id: theirs }), 404, 'not_found')

  const attributes = (prefix: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, i]))
  await ask('PATCH', `/contacts/${left}`, { attributes: attributes('a', 30) })
  await ask('PATCH', `/contacts/${c}`, { attributes: attributes('b', 21) })
  assertBadRequest(await browser.call('POST', `/contacts/${left}/merge`, { contact_id: c }), /attributes/)
  assert.equal((await db`select from contact_tags where contact_id = ${left}`).length, 2)
  assert.equal((await ask('GET', `/contacts/${c}`)).data.tags.length, 1)
})

test('a broadcast that has both contacts sends one message after they are merged', async (t) => {
  const { api, ask, get, connect, idOf, merge } = await signedIn(t)
  const provider = await connect({ messagesPerSecond: 1 })
  for (const i of [40, 41]) await api.post('/contacts', { phone: phoneOf(i), tags: ['all'] })
  const filter = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'all' }] }
  const segment = (await ask('POST', '/segments', { name: 'All', kind: 'dynamic', filter }, 201)).data
  const template = { name: 'hello_world' }
  const { id } = (await ask('POST', '/broadcasts', { name: 'Once', template, segment_id: segment.id }, 202)).data
  await until('the first send', async () => (await provider.sent(phoneOf(40))).length === 1)
  await ask('POST', `/broadcasts/${id}/pause`)
  assert.equal((await provider.sent(phoneOf(41))).length, 0)
  const toId = await idOf(phoneOf(40))
  await merge(toId, await idOf(phoneOf(41)))
  const done = await until('it to be over', async () => {
    const broadcast = await get(`/broadcasts/${id}`)
    return broadcast.completed_at !== null && broadcast
  })
  assert.deepEqual([done.total_count, done.sent_count, done.skipped_count, done.pending_count], [2, 1, 1, 0])
  assert.equal((await provider.sent(phoneOf(41))).length, 0)
  const [, skipped] = await get(`/broadcasts/${id}/recipients`)
  assert.deepEqual([skipped.contact_id, skipped.reason], [toId, 'the contact was merged with another recipient'])
})

test('after merging two web visitors each reads only what they wrote and what was sent to them', async (t) => {
  const world = await signedIn(t)
  const { api, db, ask, connect, merge, url } = world
  const site = `${url}/web-chat/${(await connect()).connections.web.id}`
  const openVisitor = async () => {
    const { data } = (await (await fetch(`${site}/visitors`, { method: 'POST' })).json()) as Json
    const headers = { 'content-type': 'application/json', 'x-visitor-token': data.visitor_token }
    const post = async (body: Json) => {
      const answer = await fetch(`${site}/messages`, { method: 'POST', headers, body: JSON.stringify(body) })
      return { status: answer.status, data: ((await answer.json()) as Json).data }
    }
    const list = async () =>
      ((await (await fetch(`${site}/messages`, { headers })).json()) as Json).data
        .map(({ content_text }: Json) => content_text)
        .reverse()
    const follow = async (after?: string) => {
      const abort = new AbortController()
      t.after(() => abort.abort())
      const stream = await fetch(`${site}/stream?token=${encodeURIComponent(data.visitor_token)}`, {
        headers: after ? { 'last-event-id': after } : {},
        signal: abort.signal,
      })
      const seen = { text: '' }
      const read = async () => {
        for await (const part of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) seen.text += part
      }
      read().catch(() => {})
      return seen
    }
    return { post, list, follow }
  }
  const customer = await openVisitor()
  const first = (await customer.post({ text: 'my address is 1 Main St' })).data
  const interactive = { kind: 'buttons', body: 'Your order?', buttons: [{ id: 'yes', title: 'Yes' }] }
  const choice = (
    await ask('POST', `/conversations/${first.conversation_id}/messages`, { type: 'interactive', interactive }, 201)
  ).data
  const stranger = await openVisitor()
  const strange = (await stranger.post({ text: 'hello' })).data
  // As an earlier release stored them.
  await db`update messages set visitor_id = null where workspace_id = ${api.workspaceId}`
  assert.deepEqual(await customer.list(), ['my address is 1 Main St', 'Your order?'])
  const streams = [await customer.follow(), await stranger.follow()] as const
  const contactOf = async (id: string): Promise<string> => (await ask('GET', `/conversations/${id}`)).data.contact_id
  const [toId, fromId] = [await contactOf(first.conversation_id), await contactOf(strange.conversation_id)]
  await merge(toId, fromId)

  await ask('POST', `/conversations/${first.conversation_id}/messages`, { text: 'for the stranger' }, 201)
  await until('the reply on the stream', async () => streams[1].text.includes('for the stranger'))
  await customer.post({ text: 'me again' })
  await ask('POST', `/conversations/${first.conversation_id}/messages`, { text: 'for the customer' }, 201)
  await until('the reply on the stream', async () => streams[0].text.includes('for the customer'))
  await stranger.post({ text: 'the end' })
  await until('the last message on the stream', async () => streams[1].text.includes('the end'))
  const customers = ['my address is 1 Main St', 'Your order?', 'me again', 'for the customer']
  const strangers = ['hello', 'for the stranger', 'the end']
  assert.deepEqual(await customer.list(), customers)
  assert.deepEqual(await stranger.list(), strangers)
  assert.equal((await stranger.post({ tap: { message_id: choice.id, id: 'yes' } })).status, 400)
  const replay = await stranger.follow('00000000-0000-7000-8000-000000000000')
  await until('the replay', async () => replay.text.includes('the end'))
  for (const text of customers) {
    assert.ok(!streams[1].text.includes(text), `the stranger received: ${text}`)
    assert.ok(!replay.text.includes(text), `the stranger was replayed: ${text}`)
  }
  for (const text of strangers) assert.ok(!streams[0].text.includes(text), `the customer received: ${text}`)
  // Members see one conversation.
  assert.equal((await ask('GET', `/conversations/${first.conversation_id}/messages`)).data.length, 7)
})
