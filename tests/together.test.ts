/** Members who work in the same inbox: presence, notes and mentions. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertFields, assertRefused, pluck } from './assertions.ts'
import type { Provider } from './provider.ts'
import { createChecksum } from './rows.ts'
import { createMember, type Json, type Member, main, publicUrl, signIn, start, until, withProvider } from './support.ts'

const pageOf = (letter: string) => letter.repeat(32)

const createAgent = (owner: Member, name: string) => createMember(owner, 'agent', { name })

/** The data of the `presence` events of a member's stream, its changes, and the data of the last change of conversations. */
async function openStream(t: TestContext, { url, cookie }: Member) {
  const abort = new AbortController()
  t.after(() => abort.abort())
  const headers = { cookie: cookie(), origin: publicUrl }
  const response = await fetch(`${url}/app/api/stream`, { headers, signal: abort.signal })
  const seen = { presence: [] as Json[], changes: [] as string[], inbox: '' }
  const read = async () => {
    let text = ''
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = (text + part).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const [, event] = /^event: (.*)$/m.exec(block) ?? []
        const [, data = ''] = /^data: (.*)$/m.exec(block) ?? []
        if (event === 'changed' || event === 'conversations') seen.changes.push(event)
        if (event === 'conversations') seen.inbox = data
        if (event === 'presence') seen.presence.push(JSON.parse(data).members)
      }
    }
  }
  read().catch(() => {})
  await until('the first presence', async () => seen.presence.length > 0)
  return seen
}

/** A conversation with a customer. */
async function openConversation({ provider }: { provider: Provider }, owner: Member): Promise<string> {
  await provider.writes({ from: '+14155550100', name: 'Ann Porter', text: 'Hello?' })
  return (await owner.ask('GET', '/conversations')).data[0].id
}

test(
  'members of all processes see who views and writes in a conversation; a closed page disappears at once',
  main,
  async (t) => {
    const world = await withProvider(start(t))
    const owner = await signIn(world)
    const ben = await signIn({ url: await world.twin(), owner: await createAgent(owner, 'Ben') })
    const id = await openConversation(world, owner)
    const stream = await openStream(t, owner)
    assert.deepEqual(stream.presence, [[]])
    const shows = (what: string, ...expected: Json[]) =>
      until(what, () => JSON.stringify(stream.presence.at(-1)) === JSON.stringify(expected))
    const report = (body: Json) => ben.ask('POST', '/presence', { page_id: pageOf('b'), state: 'open', ...body })

    const page = { page_id: pageOf('b'), state: 'open', conversation_id: id }
    const { headers } = await ben.call('POST', '/presence', page)
    assert.equal(headers.get('connection'), 'close')
    const viewing = { member_id: ben.id, name: 'Ben', conversation_id: id, typing: null }
    await shows('Ben', viewing)
    await report({ conversation_id: id, typing: 'reply' })
    await shows('Ben typing', { ...viewing, typing: 'reply' })
    // A second page of the same member adds nothing.
    await ben.ask('POST', '/presence', { page_id: pageOf('c'), state: 'open', conversation_id: id })
    await report({ conversation_id: id })
    await shows('Ben reading', viewing)
    await ben.ask('POST', '/presence', { page_id: pageOf('c'), state: 'closed' })
    await report({ state: 'closed' })
    await shows('no one')
    // Another conversation, one that does not exist, and none.
    await report({ conversation_id: id })
    await shows('Ben again', viewing)
    await report({ conversation_id: '00000000-0000-7000-8000-000000000000' })
    await shows('no one')
    for (const body of [{ page_id: 'x' }, { typing: 'song' }, { conversation_id: 'x' }, { state: 'odd' }]) {
      assertBadRequest(await ben.call('POST', '/presence', { page_id: pageOf('b'), state: 'open', ...body }))
    }
  },
)

test('a page without heartbeats expires, and heartbeats write no logged row and reload no page', async (t) => {
  const world = await withProvider(start(t))
  const { db, api } = world
  const owner = await signIn(world)
  const ben = await createAgent(owner, 'Ben')
  const id = await openConversation(world, owner)
  const earlier = await openStream(t, owner)
  const report = (who: Member, page: string, conversation_id: string | null) =>
    who.ask('POST', '/presence', { page_id: pageOf(page), state: 'open', conversation_id })
  // The process announces changes in order: a stream that shows this one has received all earlier ones.
  const mark = async (stream: typeof earlier, label: string) => {
    await owner.ask('PATCH', `/conversations/${id}`, { labels: [label] })
    await until(label, async () => stream.inbox.includes(`"${label}"`))
  }
  await report(ben, 'b', id)
  await until('Ben', async () => earlier.presence.at(-1)?.length === 1)
  await report(owner, 'a', id)
  await until('both', async () => earlier.presence.at(-1)?.length === 2)

  const [table] = await db`select relpersistence from pg_class where relname = 'member_presence'`
  assert.equal(table?.relpersistence, 'u')
  await mark(earlier, 'before')
  await until('the audit entries', async () => {
    const entries = await db<{ action: string }[]>`select action from audit_log where workspace_id = ${api.workspaceId}`
    return entries.length >= 4 && entries.some(({ action }) => action === 'conversation.changed')
  })
  const stream = await openStream(t, owner)
  // An open stream is reported for the availability of its member, soon after it opens and then at an interval.
  const except = ['member_presence', 'sessions', 'member_availability', 'availability_spans']
  const read = await createChecksum(db, { except })
  const rows = await read(api.workspaceId)
  for (let i = 0; i < 10; i++) {
    assert.deepEqual((await report(ben, 'b', id)).data, { is_changed: false })
    await report(owner, 'a', id)
  }
  assert.equal(await read(api.workspaceId), rows)

  await db`update member_presence set seen_at = seen_at - interval '31 seconds' where member_id = ${ben.id}`
  await report(owner, 'a', id)
  await until('only the owner', async () => stream.presence.at(-1)?.length === 1)
  await mark(stream, 'after')
  assert.deepEqual([stream.presence.length, stream.changes], [2, ['conversations']])

  // A script that reports random pages does not fill the table.
  for (let i = 0; i < 25; i++) await report(ben, (i % 16).toString(16), null)
  for (let i = 0; i < 25; i++) {
    const page_id = (i + 100).toString(16).padStart(32, '0')
    await ben.ask('POST', '/presence', { page_id, state: 'open', conversation_id: id })
  }
  assert.equal((await db`select from member_presence where member_id = ${ben.id}`).length, 20)
})

test('notes are seen by members only, mention members, and are deleted by their author', main, async (t) => {
  const world = await withProvider(start(t))
  const { api, db } = world
  const owner = await signIn(world)
  const [ben, cleo] = [await createAgent(owner, 'Ben'), await createAgent(owner, 'Cleo')]
  const id = await openConversation(world, owner)
  const before = (await owner.ask('GET', `/conversations/${id}`)).data
  const text = '@Ben she is a VIP. @Cleo too'
  const note = (await owner.ask('POST', `/conversations/${id}/notes`, { text: ` ${text} `, mentions: [ben.id] }, 201))
    .data
  assert.deepEqual(note, {
    id: note.id,
    kind: 'note',
    member: { id: owner.id, name: world.owner.email },
    text,
    details: { mentions: [{ id: ben.id, name: 'Ben' }] },
    created_at: note.created_at,
  })
  assert.deepEqual((await owner.ask('GET', `/conversations/${id}`)).data, before, 'a note moves nothing')
  const { data: messages } = (await api.get(`/conversations/${id}/messages`)).body
  assert.deepEqual(pluck(messages, 'content_text'), ['Hello?'])
  assert.ok(note.id > messages[0].id, 'ids grow with time')
  const second = (await cleo.ask('POST', `/conversations/${id}/notes`, { text: 'Noted', mentions: [cleo.id] }, 201))
    .data
  const timeline = async (query = '') => cleo.ask('GET', `/conversations/${id}/timeline${query}`)
  assert.deepEqual((await timeline()).data, [second, note])
  const first = await timeline('?limit=1')
  assert.deepEqual((await timeline(`?limit=1&cursor=${first.meta.next_cursor}`)).data, [note])

  const mentionsOf = async (who: Member, query = '') => (await who.ask('GET', `/mentions${query}`)).data
  const [mention, ...more] = await mentionsOf(ben, '?unread=true')
  assert.deepEqual(more, [])
  assertFields(mention, { id: note.id, conversation_id: id, text, read_at: null })
  assert.deepEqual([mention.author.id, mention.contact.name, mention.channel], [owner.id, 'Ann Porter', 'msgapp'])
  assert.deepEqual([await mentionsOf(cleo), await mentionsOf(owner)], [[], []], 'not the author of a note')
  assert.deepEqual((await ben.ask('POST', '/mentions/read', { conversation_id: id })).data, { read: 1 })
  assert.deepEqual(await mentionsOf(ben, '?unread=true'), [])
  assert.ok((await mentionsOf(ben))[0].read_at)
  assert.deepEqual((await ben.ask('POST', '/mentions/read', { conversation_id: id })).data, { read: 0 })

  const path = `/conversations/${id}/notes/${note.id}`
  assertRefused(await ben.call('DELETE', path), 403, 'forbidden', /author/)
  assert.deepEqual((await owner.ask('DELETE', path)).data, { id: note.id, deleted: true })
  assertRefused(await owner.call('DELETE', path), 404, 'not_found')
  assert.deepEqual([(await timeline()).data, await mentionsOf(ben)], [[second], []])

  for (const [body, message] of [
    [{ text: '  ' }, /^text: /],
    [{ text: 'x'.repeat(10_001) }, /^text: /],
    [{ text: 'x', mentions: ['x'] }, /mentions/],
    [{ text: 'x', mentions: ['00000000-0000-7000-8000-000000000000'] }, /^mentions: /],
    [{ text: 'x', mentions: Array(51).fill(ben.id) }, /mentions/],
  ] as const) {
    assertBadRequest(await owner.call('POST', `/conversations/${id}/notes`, body), message)
  }
  // A removed member is still the author.
  await owner.ask('DELETE', `/members/${cleo.id}`)
  const [last] = (await owner.ask('GET', `/conversations/${id}/timeline`)).data
  assert.deepEqual(last.member, { id: cleo.id, name: null })
  await owner.ask('DELETE', `/contacts/${before.contact_id}`)
  assert.equal((await db`select from timeline_entries where workspace_id = ${api.workspaceId}`).length, 0)
})

test('a member of another workspace sees, writes and deletes no note', async (t) => {
  const world = await withProvider(start(t))
  const owner = await signIn(world)
  const id = await openConversation(world, owner)
  const theirs = await world.workspace()
  const stranger = await signIn(world, theirs.owner)
  const { data: note } = await owner.ask('POST', `/conversations/${id}/notes`, { text: 'Ours' }, 201)
  assertRefused(await stranger.call('GET', `/conversations/${id}/timeline`), 404, 'not_found')
  assertRefused(await stranger.call('POST', `/conversations/${id}/notes`, { text: 'x' }), 404, 'not_found')
  assertRefused(await stranger.call('DELETE', `/conversations/${id}/notes/${note.id}`), 404, 'not_found')
  const mentioning = { text: 'x', mentions: [stranger.id] }
  assertBadRequest(await owner.call('POST', `/conversations/${id}/notes`, mentioning), /^mentions: /)
  const stream = await openStream(t, stranger)
  const report = { page_id: pageOf('a'), state: 'open', conversation_id: id }
  await stranger.ask('POST', '/presence', report)
  await owner.ask('POST', '/presence', report)
  await stranger.ask('POST', '/presence', { ...report, state: 'closed' })
  assert.deepEqual(stream.presence.flat(), [])
})

test('the thread shows who assigned, closed, reopened, labelled and snoozed a conversation', main, async (t) => {
  const world = await withProvider(start(t))
  const { db, provider } = world
  const owner = await signIn(world)
  const ben = await createAgent(owner, 'Ben')
  const id = await openConversation(world, owner)
  const change = (who: Member, body: Json) => who.ask('PATCH', `/conversations/${id}`, body)
  const write = () => provider.writes({ from: '+14155550100', text: 'Still there?' })
  const until1 = new Date(Date.now() + 3_600_000).toISOString()

  await change(owner, { assigned_agent_id: ben.id })
  await change(ben, { assigned_agent_id: ben.id, status: 'open' })
  await change(ben, { labels: ['Refund', 'VIP'] })
  await change(ben, { add_labels: ['Late'], remove_labels: ['vip'], status: 'closed' })
  await write()
  await write()
  await change(owner, { snoozed_until: until1, assigned_agent_id: null })
  await db`update conversations set snoozed_until = now() where id = ${id}`
  await until('it to wake up', async () => (await owner.ask('GET', `/conversations/${id}`)).data.status === 'open')
  await change(owner, { snoozed_until: until1 })
  await write()

  const { data } = await owner.ask('GET', `/conversations/${id}/timeline`)
  const byOwner = { id: owner.id, name: world.owner.email }
  const byBen = { id: ben.id, name: 'Ben' }
  assert.deepEqual(pluck(data.toReversed(), 'kind', 'member', 'details'), [
    ['assigned', byOwner, { assignee: byBen }],
    ['labeled', byBen, { added: ['Refund', 'VIP'], removed: [] }],
    ['status', byBen, { status: 'closed' }],
    ['labeled', byBen, { added: ['Late'], removed: ['VIP'] }],
    ['status', null, { status: 'open', by: 'customer' }],
    ['snoozed', byOwner, { until: until1 }],
    ['assigned', byOwner, { assignee: null }],
    ['status', null, { status: 'open', by: 'timer' }],
    ['snoozed', byOwner, { until: until1 }],
    ['status', null, { status: 'open', by: 'customer' }],
  ])
  // The entry sorts between the messages before and after the reopening.
  const messages = (await owner.ask('GET', `/conversations/${id}/messages`)).data.toReversed()
  const reopened = data.toReversed()[4].id
  assert.ok(messages[0].id < reopened && reopened < messages[1].id)

  const bulk = await ben.ask('POST', '/conversations/bulk', { ids: [id], status: 'closed' })
  assert.equal(bulk.data[0].after.status, 'closed')
  const [last] = (await owner.ask('GET', `/conversations/${id}/timeline?limit=1`)).data
  assert.deepEqual([last.kind, last.member, last.details], ['status', byBen, { status: 'closed' }])
  assertBadRequest(await ben.call('PATCH', `/conversations/${id}`, { assigned_agent_id: 'x' }))
  assert.equal((await owner.ask('GET', `/conversations/${id}/timeline?limit=1`)).data[0].id, last.id)
})
