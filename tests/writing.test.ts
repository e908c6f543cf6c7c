/** How members write: drafts, canned replies and reactions, through the calls of the dashboard. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertFields, assertRefused, assertStatus, dataOf, pluck } from './assertions.ts'
import { type Browser, publicUrl, signIn } from './browser.ts'
import { createMember, type Json, main, start, until, withProvider } from './support.ts'

const ann = '+14155550100'
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FAAhKDveksOjmAAAAAElFTkSuQmCC',
  'base64',
)

/** The owner and an agent of a workspace with one conversation. */
async function startTeam(t: TestContext) {
  const world = await withProvider(start(t))
  const owner = await signIn(world)
  const agent = await createMember(owner, 'agent', { name: 'Robin' })
  await world.provider.writes({ from: ann, name: 'Ann', text: 'Hello' })
  const [conversation] = (await owner.call('GET', '/conversations')).body.data
  return { ...world, owner, agent, conversation }
}

/** Uploads a file as a member. Returns its link. */
async function upload(url: string, browser: Browser): Promise<string> {
  const answer = await fetch(`${url}/app/api/uploads?filename=table.png`, {
    method: 'POST',
    headers: { cookie: browser.cookie(), origin: publicUrl, 'content-type': 'image/png' },
    body: png,
  })
  assert.equal(answer.status, 201)
  return ((await answer.json()) as Json).data.media_url
}

/** The events of a member's stream, without heartbeats. */
async function follow(t: TestContext, url: string, cookie: string): Promise<string[]> {
  const abort = new AbortController()
  t.after(() => abort.abort())
  const response = await fetch(`${url}/app/api/stream`, { headers: { cookie }, signal: abort.signal })
  const events: string[] = []
  void (async () => {
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      for (const [, event = ''] of part.matchAll(/^event: (\w+)$/gm)) events.push(event)
    }
  })().catch(() => {})
  await until('the stream', async () => events.includes('ready'))
  return events
}

test('a draft belongs to its member, on all their devices; an empty text deletes it', main, async (t) => {
  const { url, owner, agent, conversation } = await startTeam(t)
  const path = `/conversations/${conversation.id}/draft`
  const [ownEvents, otherEvents] = [await follow(t, url, owner.cookie()), await follow(t, url, agent.cookie())]
  const before = otherEvents.length
  const saved = dataOf(await owner.call('PUT', path, { text: 'Hi *Ann*' }))
  assert.deepEqual((await owner.call('GET', '/drafts')).body.data, [saved])
  assert.deepEqual((await agent.call('GET', '/drafts')).body.data, [])
  await until('the event', async () => ownEvents.includes('member_changed'))

  const longer = await owner.call('PUT', path, { text: 'Hi Ann, one moment' })
  assert.ok(longer.body.data.updated_at >= saved.updated_at)
  assert.deepEqual(pluck((await owner.call('GET', '/drafts')).body.data, 'text'), ['Hi Ann, one moment'])
  await agent.call('PUT', path, { text: 'Mine' })
  assert.equal((await owner.call('PUT', path, { text: ' ' })).body.data, null)
  assert.deepEqual((await owner.call('GET', '/drafts')).body.data, [])
  assert.equal((await agent.call('GET', '/drafts')).body.data.length, 1)
  // The drafts of others cause no event, and one's own none for the workspace.
  await until('the event of the agent', async () => otherEvents.includes('member_changed'))
  // A change of presence may arrive at any time.
  const events = otherEvents.slice(before).filter((event) => event !== 'presence')
  assert.deepEqual(events, ['member_changed'])

  assertBadRequest(await owner.call('PUT', path, { text: 'x'.repeat(20_001) }), /^text: /)
  const unknown = '/conversations/0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d4/draft'
  assertRefused(await owner.call('PUT', unknown, { text: 'x' }), 404, 'not_found')
})

test('canned replies are shared or personal, unique by shortcut, and keep their files', main, async (t) => {
  const { url, db, owner, agent, api } = await startTeam(t)
  const link = await upload(url, owner)
  const input = { shortcut: '/Hours', text: 'Hi {{contact.name|there}}', attachments: [link], is_shared: true }
  const created = dataOf(await owner.call('POST', '/canned-replies', input), 201)
  const { id } = created
  assert.deepEqual([created.shortcut, created.is_shared], ['Hours', true])
  assert.deepEqual(created.attachments, [
    { media_url: link, type: 'image', mime_type: 'image/png', filename: 'table.png', size_bytes: png.length },
  ])
  assertBadRequest(await owner.call('POST', '/canned-replies', { ...input, shortcut: 'hours' }), /^shortcut: /)

  // An agent has personal ones, also with a shortcut that a shared one has, and does not change shared ones.
  const personal = dataOf(await agent.call('POST', '/canned-replies', { shortcut: 'hours', text: 'Mine' }), 201)
  assertRefused(await agent.call('POST', '/canned-replies', { ...input, shortcut: 'new' }), 403, 'forbidden')
  assertRefused(await agent.call('DELETE', `/canned-replies/${id}`), 403, 'forbidden')
  const listed = async (browser: typeof owner) =>
    pluck((await browser.call('GET', '/canned-replies')).body.data, 'shortcut', 'is_shared')
  assert.deepEqual(await listed(owner), [['Hours', true]])
  assert.deepEqual((await listed(agent)).flat(), ['Hours', true, 'hours', false])
  const other = personal.id
  assertRefused(await owner.call('PUT', `/canned-replies/${other}`, { shortcut: 'x', text: 'x' }), 404, 'not_found')

  // The file is kept while the reply has it, and swept afterwards.
  const uses = async () => {
    const [row] = await db<{ is_used: boolean; use_count: number }[]>`
      select used_at is not null as is_used, use_count from uploads where workspace_id = ${api.workspaceId}`
    return [row?.is_used, row?.use_count]
  }
  assert.deepEqual(await uses(), [true, 1])
  const changed = await owner.call('PUT', `/canned-replies/${id}`, { ...input, text: 'Open until five' })
  assert.equal(changed.body.data.text, 'Open until five')
  assert.deepEqual(await uses(), [true, 1])
  assert.equal((await owner.call('DELETE', `/canned-replies/${id}`)).status, 200)
  assert.deepEqual(await uses(), [false, 0])
  assert.deepEqual(await listed(owner), [])

  for (const [body, field] of [
    [{ shortcut: 'two words', text: 'x' }, /^shortcut: /],
    [{ shortcut: '', text: 'x' }, /^shortcut: /],
    [{ shortcut: 'x'.repeat(41), text: 'x' }, /^shortcut: /],
    [{ shortcut: 'x', text: ' ' }, /^text: /],
    [{ shortcut: 'x', text: 'x'.repeat(4097) }, /^text: /],
    [{ shortcut: 'x', text: 'x', attachments: ['https://cdn.example/a.png'] }, /^attachments\[0\]: /],
  ] as const) {
    assertBadRequest(await owner.call('POST', '/canned-replies', body), field)
  }
  const entries = (await owner.call('GET', '/audit')).body.data.filter(({ action }: Json) =>
    action.startsWith('reply.'),
  )
  assert.deepEqual(pluck(entries, 'action'), ['reply.deleted', 'reply.changed', 'reply.created'])
  assert.deepEqual(pluck(entries, 'summary'), ['/Hours', '/Hours', '/Hours'])
})

test(
  'a canned reply of a team is seen by its members and by managers, and by all once the team is deleted',
  main,
  async (t) => {
    const world = await start(t)
    const owner = await signIn(world)
    const [inside, outside] = [await createMember(owner, 'agent'), await createMember(owner, 'agent')]
    const createTeam = async (name: string, member_ids: string[]): Promise<string> =>
      dataOf(await owner.call('POST', '/teams', { name, member_ids }), 201).id
    const [support, sales] = [await createTeam('Support', [inside.id]), await createTeam('Sales', [])]
    const input = { shortcut: 'refund', text: 'Refunds take a day.', is_shared: true, team_id: support }
    const { id, team_id } = dataOf(await owner.call('POST', '/canned-replies', input), 201)
    assert.equal(team_id, support)
    const seen = async () =>
      Promise.all(
        [owner, inside, outside].map(async (member) =>
          pluck(dataOf(await member.call('GET', '/canned-replies')), 'id').includes(id),
        ),
      )
    assert.deepEqual(await seen(), [true, true, false])
    for (const [member, status] of [
      [inside, 403],
      [outside, 404],
    ] as const) {
      const code = status === 403 ? 'forbidden' : 'not_found'
      assertRefused(await member.call('PUT', `/canned-replies/${id}`, input), status, code)
      assertRefused(await member.call('DELETE', `/canned-replies/${id}`), status, code)
    }
    const put = (body: object) => owner.call('PUT', `/canned-replies/${id}`, { ...input, ...body })
    assertBadRequest(await put({ team_id: id }), 'team_id: not a team of this workspace')
    assertBadRequest(await put({ is_shared: false }), 'team_id: a personal canned reply has no team')
    assertBadRequest(await put({ team_id: 'Support' }), /^team_id/)
    dataOf(await put({ team_id: sales }))
    assert.deepEqual(await seen(), [true, false, false])
    dataOf(await put({ team_id: null }))
    assert.deepEqual(await seen(), [true, true, true])
    dataOf(await put({ team_id: sales }))
    dataOf(await owner.call('DELETE', `/teams/${sales}`))
    assert.deepEqual(await seen(), [true, true, true])
  },
)

test('the files of personal canned replies are released when their member is removed', async (t) => {
  const { url, db, owner, agent, api } = await startTeam(t)
  const link = await upload(url, agent)
  for (const shortcut of ['one', 'two']) {
    assertStatus(await agent.call('POST', '/canned-replies', { shortcut, text: 'Hi', attachments: [link] }), 201)
  }
  const uses = async () =>
    (await db`select used_at is not null as is_used, use_count from uploads where workspace_id = ${api.workspaceId}`)[0]
  assert.deepEqual({ ...(await uses()) }, { is_used: true, use_count: 2 })
  const { id } = (await agent.call('GET', '/session')).body.data.member
  assertStatus(await owner.call('DELETE', `/members/${id}`), 200)
  assert.deepEqual({ ...(await uses()) }, { is_used: false, use_count: 0 })
})

test('a member reacts to a message and removes the reaction, on both channels that have reactions', main, async (t) => {
  const { provider, owner, conversation } = await startTeam(t)
  const path = `/conversations/${conversation.id}/messages`
  const [message] = (await owner.call('GET', path)).body.data
  const react = (emoji: string, to = path, message_id = message.id) =>
    owner.call('POST', to, { type: 'reaction', reaction: { message_id, emoji } })
  const liked = await react('👍🏽')
  assert.equal(liked.status, 201, liked.text)
  assertFields(liked.body.data, { content_type: 'reaction', content_text: '👍🏽', reply_to_message_id: message.id })
  assert.equal((await react('')).body.data.content_text, null)
  const sent = await provider.sent(ann)
  assert.deepEqual(
    sent.map(({ body }) => [body.type, body.reaction, body.context]),
    [
      ['reaction', { message_id: message.message_id, emoji: '👍🏽' }, undefined],
      ['reaction', { message_id: message.message_id, emoji: '' }, undefined],
    ],
  )
  for (const emoji of ['ok', '👍👍', ' 👍']) assertBadRequest(await react(emoji), /^reaction\.emoji: /)
  assertBadRequest(await react('👍', path, conversation.id), /not a message of this conversation/)

  await provider.writes({ channel: 'social', from: '90000001', username: 'ann', text: 'Hi from social' })
  const [social] = (await owner.call('GET', '/conversations?channel=social')).body.data
  const socialPath = `/conversations/${social.id}/messages`
  const [post] = (await owner.call('GET', socialPath)).body.data
  assertBadRequest(await react('👍', socialPath, post.id), /only ❤️/)
  assert.equal((await react('❤️', socialPath, post.id)).status, 201)
  assert.equal((await react('', socialPath, post.id)).status, 201)
  const actions = (await provider.sent('90000001')).map(({ body }) => [body.sender_action, body.payload])
  assert.deepEqual(actions, [
    ['react', { message_id: post.message_id, reaction: 'love' }],
    ['unreact', { message_id: post.message_id }],
  ])
})

test('a page finds its message and its note in the thread by the key of its request', async (t) => {
  const { owner, conversation } = await startTeam(t)
  const path = `/conversations/${conversation.id}`
  for (const [sent, listed] of [
    ['messages', 'messages'],
    ['notes', 'timeline'],
  ] as const) {
    const key = crypto.randomUUID()
    const post = () => owner.call('POST', `${path}/${sent}`, { text: 'Hi' }, { 'idempotency-key': key })
    const { data } = (await post()).body
    assert.equal((await post()).body.data.id, data.id)
    await owner.call('POST', `${path}/${sent}`, { text: 'Hi' })
    const items: Json[] = (await owner.call('GET', `${path}/${listed}`)).body.data
    const found = items.filter(({ idempotency_key }) => idempotency_key)
    assert.deepEqual(pluck(found, 'id', 'idempotency_key'), [[data.id, key]])
  }
})

test('a member starts a conversation with a contact by a template', main, async (t) => {
  const { provider, owner, api } = await startTeam(t)
  const contact = (await api.post('/contacts', { phone: '+14155550177', name: 'Ben' })).body.data
  const path = `/contacts/${contact.id}/conversations`
  assertBadRequest(await owner.call('POST', path, {}), /^template: /)
  const key = { 'idempotency-key': crypto.randomUUID() }
  const template = { name: 'order_confirmed', params: ['Ben', '#4711'] }
  const started = await owner.call('POST', path, { template }, key)
  assert.equal(started.status, 201, started.text)
  assert.deepEqual((await owner.call('POST', path, { template }, key)).body, started.body)
  assert.equal((await provider.sent('+14155550177')).length, 1)
  const { conversation_id } = started.body.data
  const [message] = (await owner.call('GET', `/conversations/${conversation_id}/messages`)).body.data
  const shown = [message.template_name, message.sender_type, typeof message.sender?.id]
  assert.deepEqual(shown, ['order_confirmed', 'agent', 'string'])
  // A member's message brings the conversation into the inbox.
  const inbox = (await owner.call('GET', '/conversations?status=open')).body.data
  assert.ok(inbox.some(({ id }: Json) => id === conversation_id))
  assertRefused(await owner.call('POST', `/contacts/${conversation_id}/conversations`, { template }), 404, 'not_found')
})
