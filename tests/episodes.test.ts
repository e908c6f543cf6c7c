/** Episodes: the stretches of work in a conversation, as callers of the API see them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { dataOf, pluck } from './assertions.ts'
import { echo } from './automated.ts'
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
