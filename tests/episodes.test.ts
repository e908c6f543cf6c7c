/** Episodes: the stretches of work in a conversation, as callers of the API see them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { dataOf, pluck } from './assertions.ts'
import { echo, startAutomated } from './automated.ts'
import { newId } from './internals.ts'
import { createMember, type Json, main, startSignedIn, until, withProvider } from './support.ts'

const phoneOf = (i: number) => `+1415577${String(i).padStart(4, '0')}`

async function startWorld(t: TestContext) {
  const world = await withProvider(startSignedIn(t))
  const { api, provider, browser, ask } = world
  const conversationOf = async (phone: string): Promise<Json> => {
    const [contact] = (await api.get(`/contacts?phone=${encodeURIComponent(phone)}`)).body.data
    return (await api.get(`/conversations?contact_id=${contact.id}`)).body.data[0]
  }
  const read = async (id: string): Promise<Json> => dataOf(await api.get(`/conversations/${id}`))
  /** Newest first. */
  const episodesOf = async (id: string): Promise<Json[]> => dataOf(await api.get(`/episodes?conversation_id=${id}`))
  const writes = (phone: string, text = 'hello') => provider.writes({ from: phone, text })
  const reply = async (id: string, text = 'hi'): Promise<Json> =>
    (await ask('POST', `/conversations/${id}/messages`, { type: 'text', text }, 201)).data
  const change = async (id: string, changes: Json): Promise<Json> =>
    (await ask('PATCH', `/conversations/${id}`, changes)).data
  const me: Json = (await ask('GET', '/session')).data.member
  /** The customer has written once. */
  const converse = async (phone: string): Promise<Json> => {
    await writes(phone)
    return conversationOf(phone)
  }
  const shiftClosing = (id: string, hours: number) => world.db`
    update episodes set closed_at = closed_at - make_interval(hours => ${hours}), opened_at = opened_at - make_interval(hours => ${hours})
    where workspace_id = ${api.workspaceId} and conversation_id = ${id}`
  return { ...world, browser, conversationOf, read, episodesOf, writes, reply, change, converse, me, shiftClosing }
}

test(
  'an episode opens with the first message of the customer, counts, and closes with what the conversation was',
  main,
  async (t) => {
    const { api, converse, writes, reply, change, read, episodesOf, me, db } = await startWorld(t)
    const conversation = await converse(phoneOf(1))
    const { id } = conversation
    const [first] = dataOf(await api.get(`/conversations/${id}/messages`))
    assert.deepEqual(conversation.episode, {
      id: first.id,
      opened_at: first.created_at,
      opened_by: 'customer',
      first_assigned_at: null,
      first_reply_at: null,
      first_reply_by: null,
      replies: 0,
      customer_messages: 1,
      reopened_from: null,
    })
    await writes(phoneOf(1), 'more')
    const answer = await reply(id)
    await reply(id, 'again')
    await change(id, { assigned_agent_id: me.id, add_labels: ['Refund', 'VIP'] })
    const open = (await read(id)).episode
    assert.deepEqual(
      [open.customer_messages, open.replies, open.first_reply_at, open.first_reply_by],
      [2, 2, answer.created_at, me.id],
    )
    assert.ok(open.first_assigned_at)
    const [listed] = await episodesOf(id)
    assert.deepEqual(
      [listed?.customer_messages, listed?.replies, listed?.member_id, pluck(listed?.labels, 'name')],
      [2, 2, me.id, ['Refund', 'VIP']],
    )

    await change(id, { status: 'closed', remove_labels: ['VIP'] })
    assert.equal((await read(id)).episode, null)
    await change(id, { assigned_agent_id: null, add_labels: ['Later'] })
    const [closed] = await episodesOf(id)
    assert.deepEqual(
      [
        closed?.id,
        closed?.customer_messages,
        closed?.replies,
        closed?.closed_by,
        closed?.closed_by_id,
        closed?.member_id,
        pluck(closed?.labels, 'name'),
      ],
      [first.id, 2, 2, 'member', me.id, me.id, ['Refund']],
    )
    assert.ok(closed?.closed_at > answer.created_at)
    const [row] =
      await db`select episode_id, episode_messages, episode_replies from conversations where id = ${id} and workspace_id = ${api.workspaceId}`
    assert.deepEqual({ ...row }, { episode_id: null, episode_messages: 0, episode_replies: 0 })
  },
)

test('the next message of the customer opens an episode that names the one before if it closed less than 24 hours ago', async (t) => {
  const { converse, writes, change, episodesOf, shiftClosing } = await startWorld(t)
  const { id } = await converse(phoneOf(2))
  await change(id, { status: 'closed' })
  await writes(phoneOf(2), 'one more thing')
  const [second, first] = await episodesOf(id)
  assert.deepEqual([second?.reopened_from, second?.customer_messages, first?.customer_messages], [first?.id, 1, 1])
  await change(id, { status: 'closed' })
  await shiftClosing(id, 25)
  await writes(phoneOf(2), 'weeks later')
  const episodes = await episodesOf(id)
  assert.deepEqual([episodes.length, episodes[0]?.reopened_from], [3, null])
})

test('a conversation that is reopened without a message continues its last episode within 24 hours, also after an undo', async (t) => {
  const { api, converse, writes, reply, change, read, episodesOf, shiftClosing } = await startWorld(t)
  const { id, episode } = await converse(phoneOf(3))
  await reply(id)
  await change(id, { status: 'closed' })
  await change(id, { status: 'open' })
  const again = await read(id)
  assert.deepEqual([again.episode.id, again.episode.replies, again.episode.customer_messages], [episode.id, 1, 1])
  await writes(phoneOf(3), 'still here')
  assert.equal((await read(id)).episode.customer_messages, 2)
  await api.patch(`/conversations/${id}`, { status: 'closed' })
  const [byKey] = await episodesOf(id)
  assert.equal(byKey?.closed_by, 'api')
  assert.ok(byKey?.closed_by_id)
  await shiftClosing(id, 25)
  await change(id, { status: 'open' })
  assert.equal((await read(id)).episode, null)
  await writes(phoneOf(3), 'a new matter')
  const episodes = await episodesOf(id)
  assert.deepEqual([episodes.length, episodes[0]?.reopened_from, episodes[0]?.customer_messages], [2, null, 1])
})

test('only members reply: API sends and broadcasts neither count nor open an episode, a template of a member does', async (t) => {
  const { api, ask, converse, read, conversationOf, me, provider, episodesOf, reply, change } = await startWorld(t)
  const { id } = await converse(phoneOf(4))
  dataOf(await api.post('/messages', { to: phoneOf(4), text: 'from a program' }), 201)
  dataOf(await api.post(`/conversations/${id}/messages`, { text: 'from a program' }), 201)
  const { episode } = await read(id)
  assert.deepEqual([episode.replies, episode.first_reply_at], [0, null])
  dataOf(await api.post('/messages', { to: phoneOf(5), type: 'template', template: { name: 'hello_world' } }), 201)
  const broadcast = {
    name: 'News',
    template: { name: 'hello_world' },
    recipients: [{ to: phoneOf(5) }, { to: phoneOf(4) }],
  }
  const { id: broadcastId } = (await ask('POST', '/broadcasts', broadcast, 202)).data
  await until('the broadcast', async () => (await ask('GET', `/broadcasts/${broadcastId}`)).data.sent_count === 2)
  assert.equal((await conversationOf(phoneOf(5))).episode, null)
  assert.equal((await read(id)).episode.replies, 0)

  const [contact] = (await api.get(`/contacts?phone=${encodeURIComponent(phoneOf(5))}`)).body.data
  const template = { name: 'hello_world', language: 'en_US' }
  await ask('POST', `/contacts/${contact.id}/conversations`, { template }, 201)
  const opened = (await conversationOf(phoneOf(5))).episode
  assert.deepEqual(
    [opened.opened_by, opened.replies, opened.customer_messages, opened.first_reply_by],
    ['member', 1, 0, me.id],
  )
  assert.equal(opened.first_reply_at, opened.opened_at)
  await provider.writes({ from: phoneOf(5), text: 'yes?' })
  const answered = (await conversationOf(phoneOf(5))).episode
  assert.deepEqual([answered.id, answered.customer_messages], [opened.id, 1])

  // A closed conversation stays closed when a member writes, so nothing opens.
  await change(id, { status: 'closed' })
  await reply(id, 'by the way')
  assert.deepEqual(
    [(await read(id)).episode, (await episodesOf(id)).length, (await episodesOf(id))[0]?.replies],
    [null, 1, 0],
  )
})

test("a reply from the provider's own app is a reply without a member", async (t) => {
  const { converse, read, provider } = await startWorld(t)
  const { id } = await converse(phoneOf(6))
  await echo(provider, phoneOf(6), 'wamid.own')
  const { episode } = await until('the reply', async () => {
    const conversation = await read(id)
    return conversation.episode.replies === 1 && conversation
  })
  assert.ok(episode.first_reply_at)
  assert.equal(episode.first_reply_by, null)
})

test('a refused reply is no reply, and the episode that it opened does not exist', async (t) => {
  const { api, browser, converse, read, reply, provider, episodesOf, conversationOf, change } = await startWorld(t)
  const { id } = await converse(phoneOf(7))
  await provider.fault({ to: phoneOf(7), mode: 'reject', code: 131026, count: 1 })
  const refused = await browser.call('POST', `/conversations/${id}/messages`, { type: 'text', text: 'refused' })
  assert.equal(refused.status, 502)
  await until('the undo', async () => (await read(id)).episode.replies === 0)
  assert.equal((await read(id)).episode.first_reply_at, null)
  const answer = await reply(id)
  const { episode } = await read(id)
  assert.deepEqual([episode.replies, episode.first_reply_at], [1, answer.created_at])

  await provider.fault({ to: phoneOf(8), mode: 'reject', code: 131026, count: 1 })
  dataOf(await api.post('/contacts', { phone: phoneOf(8) }), 201)
  const [contact] = (await api.get(`/contacts?phone=${encodeURIComponent(phoneOf(8))}`)).body.data
  const template = { name: 'hello_world', language: 'en_US' }
  assert.equal((await browser.call('POST', `/contacts/${contact.id}/conversations`, { template })).status, 502)
  await until('the undo of the opening', async () => (await conversationOf(phoneOf(8))).episode === null)
  assert.deepEqual(await episodesOf((await conversationOf(phoneOf(8))).id), [])

  // Also after the episode has closed.
  await provider.fault({ to: phoneOf(7), mode: 'reject', code: 131026, count: 1 })
  await browser.call('POST', `/conversations/${id}/messages`, { type: 'text', text: 'refused' })
  await change(id, { status: 'closed' })
  await until('the count of the closed episode', async () => (await episodesOf(id))[0]?.replies === 1)
})

test('blocking closes the episode, messages of a blocked contact open none, and unblocking continues it', async (t) => {
  const { api, ask, conversationOf, writes, read, episodesOf, me } = await startWorld(t)
  // The channel blocks only people who wrote within 24 hours, so messages of this contact still arrive.
  dataOf(await api.post('/contacts', { phone: phoneOf(9) }), 201)
  const [contact] = (await api.get(`/contacts?phone=${encodeURIComponent(phoneOf(9))}`)).body.data
  await ask(
    'POST',
    `/contacts/${contact.id}/conversations`,
    { template: { name: 'hello_world', language: 'en_US' } },
    201,
  )
  const { id, episode } = await conversationOf(phoneOf(9))
  await ask('POST', `/conversations/${id}/block`)
  const [closed] = await episodesOf(id)
  assert.deepEqual([closed?.closed_by, closed?.closed_by_id, (await read(id)).episode], ['block', me.id, null])
  await writes(phoneOf(9), 'let me in')
  assert.deepEqual([(await read(id)).episode, (await episodesOf(id)).length], [null, 1])
  await ask('POST', `/conversations/${id}/unblock`)
  const again = await read(id)
  assert.deepEqual(
    [again.status, again.episode.id, again.episode.replies, again.episode.customer_messages],
    ['open', episode.id, 1, 0],
  )
})

test('an episode is assigned when a member takes the conversation, and from the start if it was assigned already', async (t) => {
  const world = await startWorld(t)
  const { converse, writes, change, read, episodesOf, me } = world
  const other = await createMember(world.browser, 'agent')
  const { id } = await converse(phoneOf(10))
  await change(id, { assigned_agent_id: me.id })
  const at = (await read(id)).episode.first_assigned_at
  await change(id, { assigned_agent_id: other.id })
  assert.equal((await read(id)).episode.first_assigned_at, at)
  await change(id, { status: 'closed' })
  await writes(phoneOf(10), 'back')
  const [second] = await episodesOf(id)
  assert.equal(second?.first_assigned_at, second?.opened_at)
})

test('200 messages and replies from two processes are all counted, with one open episode', async (t) => {
  const { api, provider, read, browser, twin, db, episodesOf } = await startWorld(t)
  // The primary channel limits the messages to one person.
  const customer = { channel: 'social', from: '40011', username: 'ann' }
  await provider.writes({ ...customer, text: 'hello' })
  const [{ id }] = dataOf(await api.get('/conversations?channel=social'))
  const other = await twin()
  const reply = async (i: number) => {
    const url = i % 2 === 0 ? browser.url : other
    const response = await fetch(`${url}/app/api/conversations/${id}/messages`, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', cookie: browser.cookie(), origin: browser.origin },
        'idempotency-key': `reply-${i}`,
      },
      body: JSON.stringify({ type: 'text', text: `reply ${i}` }),
    })
    assert.equal(response.status, 201, await response.text())
  }
  await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      i % 2 === 0 ? provider.writes({ ...customer, text: `message ${i}` }) : reply((i - 1) / 2),
    ),
  )
  const { episode } = await read(id)
  assert.deepEqual([episode.customer_messages, episode.replies], [101, 100])
  const [first] = await db<{ created_at: string }[]>`
    select min(created_at) as created_at from messages
    where workspace_id = ${api.workspaceId} and conversation_id = ${id} and sender_id is not null`
  assert.ok(episode.first_reply_at)
  assert.ok(first)
  assert.equal((await episodesOf(id)).length, 1)
})

test('closings among concurrent messages lose no message and leave at most one open episode', async (t) => {
  const { api, converse, change, read, writes, db, episodesOf } = await startWorld(t)
  const { id } = await converse(phoneOf(12))
  await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      i % 3 === 0 ? change(id, { status: 'closed' }) : writes(phoneOf(12), `m ${i}`),
    ),
  )
  const episodes = await episodesOf(id)
  assert.equal(
    episodes.reduce((sum, { customer_messages }) => sum + customer_messages, 0),
    41,
  )
  assert.ok(episodes.filter(({ closed_at }) => closed_at === null).length <= 1)
  const { status, episode } = await read(id)
  assert.equal(episode === null, status === 'closed')
  // Each but the first follows the one before.
  assert.equal(episodes.filter(({ reopened_from }) => reopened_from === null).length, 1)
  const [open] = await db`
    select count(*)::int as count from episodes where workspace_id = ${api.workspaceId} and closed_at is null`
  assert.equal(open?.count, episode === null ? 0 : 1)
})

test('merging two contacts moves their episodes, and two open ones become the older one', async (t) => {
  const { api, ask, converse, reply, change, writes, episodesOf, read, conversationOf } = await startWorld(t)
  const one = await converse(phoneOf(13))
  const other = await converse(phoneOf(14))
  await change(other.id, { status: 'closed' })
  await writes(phoneOf(14), 'again')
  await reply(other.id)
  const [contact] = (await api.get(`/contacts?phone=${encodeURIComponent(phoneOf(14))}`)).body.data
  await ask('POST', `/contacts/${one.contact_id}/merge`, { contact_id: contact.id })
  const merged = await conversationOf(phoneOf(13))
  assert.equal(merged.id, one.id)
  assert.deepEqual(
    [merged.episode.id, merged.episode.customer_messages, merged.episode.replies],
    [one.episode.id, 2, 1],
  )
  assert.ok(merged.episode.first_reply_at)
  assert.deepEqual(pluck(await episodesOf(one.id), 'id').sort(), [one.episode.id, other.episode.id].sort())
  await writes(phoneOf(14), 'to the merged one')
  assert.equal((await read(one.id)).episode.customer_messages, 3)
  await ask('DELETE', `/contacts/${one.contact_id}`)
  assert.deepEqual(dataOf(await api.get('/episodes')), [])
})

test('a process of the previous release that closes a conversation closes its episode', async (t) => {
  const { api, converse, writes, db, episodesOf, reply } = await startWorld(t)
  const { id, episode } = await converse(phoneOf(15))
  await reply(id)
  // The statement of that release.
  await db`
    update conversations v set status = 'closed', assigned_agent_id = null, snoozed_until = null, updated_at = now()
    where v.workspace_id = ${api.workspaceId} and v.id = ${id}`
  const [closed] = await episodesOf(id)
  assert.deepEqual(
    [closed?.id, closed?.replies, closed?.customer_messages, closed?.closed_by],
    [episode.id, 1, 1, null],
  )
  assert.ok(closed?.closed_at)
  await writes(phoneOf(15), 'again')
  const [next] = await episodesOf(id)
  assert.deepEqual([next?.reopened_from, next?.customer_messages], [episode.id, 1])
})

test('an episode that an automation closes names its run, and silence if it waited for that', async (t) => {
  const { api, db, provider, publish, untilEnded, converse } = await startAutomated(t)
  await publish('Close', {
    trigger: { type: 'message', contains: ['bye'] },
    steps: [
      { type: 'send', message: { type: 'text', text: 'Bye.' } },
      { type: 'set', status: 'closed' },
    ],
  })
  const { id } = await converse(phoneOf(16))
  await provider.writes({ from: phoneOf(16), text: 'bye' })
  const closed = await until('the closing', async () => {
    const [last] = dataOf(await api.get(`/episodes?conversation_id=${id}`))
    return last?.closed_at !== null && last
  })
  assert.deepEqual([closed.closed_by, closed.replies, closed.first_reply_at], ['automation', 0, null])
  assert.ok(closed.closed_by_id)
  const silent = await publish('Silence', {
    trigger: { type: 'silence', event: 'waiting', after: '1m' },
    steps: [{ type: 'set', status: 'closed' }],
  })
  await provider.writes({ from: phoneOf(16), text: 'hello?' })
  await db`
    update conversations set waiting_since = now() - interval '57 seconds' where workspace_id = ${api.workspaceId} and id = ${id}`
  await untilEnded(silent)
  const [last] = dataOf(await api.get(`/episodes?conversation_id=${id}`))
  assert.equal(last?.closed_by, 'silence')
})

test('the team of the connection gets the conversation when an episode opens, unless it has a team', async (t) => {
  const { api, db, provider, converse, change, writes, episodesOf } = await startWorld(t)
  const { workspaceId } = api
  const teamIds = [newId(), newId()]
  for (const [i, id] of teamIds.entries()) {
    await db`
      insert into teams (workspace_id, id, name, name_key, color, created_at)
      values (${workspaceId}, ${id}, ${`Team ${i}`}, ${`team ${i}`}, '#2563eb', now())`
  }
  const [first = '', second = ''] = teamIds
  await db`
    insert into team_connections (workspace_id, connection_id, team_id) values (${workspaceId}, ${provider.connections.msgapp.id}, ${first})`
  const { id } = await converse(phoneOf(17))
  assert.equal((await episodesOf(id))[0]?.team_id, first)
  await db`update conversations set team_id = ${second} where workspace_id = ${workspaceId} and id = ${id}`
  await change(id, { status: 'closed' })
  await writes(phoneOf(17), 'again')
  assert.deepEqual(pluck(await episodesOf(id), 'team_id'), [second, second])
})

test('a list of changed episodes has each once and skips none', async (t) => {
  const { api, converse, change } = await startWorld(t)
  const start = new Date(Date.now() - 60_000).toISOString()
  const ids: string[] = []
  for (let i = 20; i < 27; i++) ids.push((await converse(phoneOf(i))).episode.id)
  const readAll = async (after: string) => {
    const rows: Json[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Json = (
        await api.get(`/episodes?updated_after=${encodeURIComponent(after)}&limit=3&cursor=${cursor}`)
      ).body
      rows.push(...page.data)
      cursor = page.meta.next_cursor
    }
    return rows
  }
  const all = await readAll(start)
  assert.deepEqual(pluck(all, 'id').sort(), ids.sort())
  const position = all.at(-1)?.updated_at
  const [conversation] = dataOf(await api.get('/conversations'))
  await change(conversation.id, { status: 'closed' })
  assert.deepEqual([...new Set(pluck(await readAll(position), 'id'))], [conversation.episode.id])
  const key = await api.key('contacts:read')
  assert.equal((await api.get('/episodes', { key })).status, 403)
})

test('the spans in office hours follow a reply and a closing', async (t) => {
  const { converse, reply, change, episodesOf } = await startWorld(t)
  const { id } = await converse(phoneOf(30))
  await reply(id)
  await change(id, { status: 'closed' })
  const [episode] = await until('the spans', async () => {
    const episodes = await episodesOf(id)
    return episodes[0]?.office_closing_s !== null && episodes
  })
  const seconds = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1000
  assert.ok(Math.abs(episode?.office_first_reply_s - seconds(episode?.opened_at, episode?.first_reply_at)) <= 1)
  assert.ok(Math.abs(episode?.office_closing_s - seconds(episode?.opened_at, episode?.closed_at)) <= 1)
})
