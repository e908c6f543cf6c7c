/** Plans: so many messages a month are exactly so many, however many processes send them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setPlan } from './internals.ts'
import { assertRefused, dataOf, type Json, pluck, signIn, start, type World } from './support.ts'

const hello = { type: 'template', template: { name: 'hello_world' } }
const phone = '+14155550100'

/** A workspace with a limit, its owner signed in. */
async function startLimited(world: World, limit: number) {
  const { api, db, url, owner, connect } = world
  const provider = await connect({ messagesPerSecond: 10_000 })
  const browser = await signIn({ url, owner })
  const set = (state: 'active' | 'lapsed', messages_per_month: number | null) =>
    setPlan(db, api.workspaceId, { state, messages_per_month })
  await set('active', limit)
  const planOf = async (): Promise<Json> => (await browser.call('GET', '/workspace')).body.data.plan
  return { provider, browser, set, planOf }
}

const numbersFrom = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(3, '0')}`)

test('200 concurrent sends through two processes: a quota of 100 admits exactly 100', async (t) => {
  const world = await start(t)
  const { api, db, url, twin } = world
  const { provider, planOf } = await startLimited(world, 100)
  const urls = [url, await twin()]
  const known = numbersFrom('+14155552', 40)
  // More sends than numbers: sends that create a contact and sends that find it meet in one statement.
  const strangers = numbersFrom('+14155563', 50)
  await Promise.all(known.map((from) => provider.writes({ from, text: 'hi' })))
  const keys = await Promise.all(Array.from({ length: 5 }, () => api.key('messages:send')))
  const answers = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const to = i % 2 === 0 ? known[(i / 2) % known.length] : strangers[((i - 1) / 2) % strangers.length]
      const response = await fetch(`${urls[(i >> 1) % 2]}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys[i % keys.length]}`, 'content-type': 'application/json' },
        body: JSON.stringify({ to, ...hello }),
      })
      return { status: response.status, body: (await response.json()) as Json }
    }),
  )
  const sent = answers.filter(({ status }) => status === 201)
  const refused = answers.filter(({ status }) => status !== 201)
  const refusals = new Set(refused.map(({ status, body }) => `${status} ${body.error?.code}`))
  assert.deepEqual([...refusals], ['402 plan_limit_reached'])
  assert.deepEqual([sent.length, refused.length], [100, 100])
  const usage = await db`select message_count from plan_usage where workspace_id = ${api.workspaceId}`
  assert.deepEqual(pluck(usage, 'message_count'), [100])
  assert.equal((await provider.sent()).length, 100)
  const { used, left } = await planOf()
  assert.deepEqual([used, left], [100, 0])
  const [rows] = await db`
    select (select count(*)::int from contacts where workspace_id = ${api.workspaceId}) as contacts,
      (select count(*)::int from conversations where workspace_id = ${api.workspaceId}) as conversations,
      (select count(*)::int from messages where workspace_id = ${api.workspaceId} and direction = 'outbound') as messages`
  const made = known.length + sent.filter(({ body }) => body.data.contact_created).length
  const expected = { contacts: made, conversations: made, messages: 100 }
  assert.deepEqual({ ...rows }, expected, 'no contact is created without a message')
})

test('under a quota, concurrent sends to the same new contact all succeed', async (t) => {
  const world = await start(t)
  const { api, url, twin } = world
  const { planOf } = await startLimited(world, 1_000)
  const urls = [url, await twin()]
  const numbers = numbersFrom('+14155557', 12)
  const writers = Array.from({ length: 24 }, async (_, i) => {
    const key = await api.key('messages:send')
    const statuses: number[] = []
    for (const to of numbers) {
      const response = await fetch(`${urls[i % 2]}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ to, ...hello }),
      })
      statuses.push(response.status)
    }
    return statuses
  })
  const statuses = (await Promise.all(writers)).flat()
  assert.deepEqual([...new Set(statuses)], [201])
  assert.equal((await planOf()).used, statuses.length)
  assert.equal((await api.get('/contacts')).body.data.length, numbers.length)
})

test('a lapsed subscription is reported before the quota; without quota no contact is created, and reads still work', async (t) => {
  const world = await start(t)
  const { api } = world
  const { provider, browser, set, planOf } = await startLimited(world, 1)
  const { conversation_id: id, contact_id } = dataOf(await api.post('/messages', { to: phone, ...hello }), 201)
  const refused = async (code: string, message: RegExp) => {
    for (const to of [phone, '+14155550999']) {
      assertRefused(await api.post('/messages', { to, ...hello }), 402, code, message)
    }
    assertRefused(await browser.call('POST', `/conversations/${id}/messages`, hello), 402, code, message)
  }
  await refused('plan_limit_reached', /1 message/)
  await set('lapsed', 1)
  await refused('subscription_lapsed', /lapsed/)
  await set('lapsed', null)
  await refused('subscription_lapsed', /lapsed/)
  assert.deepEqual(
    [(await planOf()).state, (await planOf()).messages_per_month, (await planOf()).used, (await planOf()).left],
    ['lapsed', null, 1, null],
  )
  assert.deepEqual(pluck((await api.get('/contacts')).body.data, 'phone'), [phone])
  const monthOf = (at: number) => new Date(at).toISOString().slice(0, 7)
  const { resets_at, ...usage } = (await api.get('/usage')).body.data
  assert.deepEqual(usage, { month: monthOf(Date.now()), messages_sent: 1, messages_limit: null })
  assert.equal(Date.parse(resets_at), Date.parse(`${resets_at.slice(0, 7)}-01T00:00:00Z`))
  assert.equal(monthOf(Date.parse(resets_at) - 1), usage.month)
  for (const path of [
    '/me',
    '/usage',
    '/segments',
    '/conversations',
    `/conversations/${id}/messages`,
    `/contacts/${contact_id}`,
  ]) {
    assert.equal((await api.get(path)).status, 200, path)
  }
  assert.equal((await api.post('/contacts', { phone: '+14155550200' })).status, 201)
  await provider.writes({ from: phone, text: 'still received' })
  assert.equal((await api.get(`/conversations/${id}`)).body.data.last_message_text, 'still received')
  await set('active', 0)
  assert.equal((await api.get('/usage')).body.data.messages_limit, 0)
  await refused('plan_limit_reached', /0 messages/)
  assert.equal((await planOf()).left, 0, 'a limit below what is used leaves nothing, not less')
  await set('active', null)
  assert.equal((await api.post('/messages', { to: phone, ...hello })).status, 201)
})

test('a send the channel rejects returns its quota', async (t) => {
  const world = await start(t)
  const { api } = world
  const { planOf } = await startLimited(world, 2)
  for (let i = 0; i < 3; i++) {
    assertRefused(await api.post('/messages', { to: '+15005550001', ...hello }), 502, 'platform_error')
    assert.equal((await planOf()).used, 0)
  }
  const sends = [phone, '+14155550200'].map((to) => api.post('/messages', { to, ...hello }))
  const answers = await Promise.all(sends)
  assert.deepEqual(pluck(answers, 'status'), [201, 201])
  assertRefused(await api.post('/messages', { to: phone, ...hello }), 402, 'plan_limit_reached')
  const { used, left } = await planOf()
  assert.deepEqual([used, left], [2, 0])
})

test('the quota starts again each month at midnight UTC', async (t) => {
  const world = await start(t)
  const { api, db } = world
  const { planOf } = await startLimited(world, 1)
  assert.equal((await api.post('/messages', { to: phone, ...hello })).status, 201)
  assertRefused(await api.post('/messages', { to: phone, ...hello }), 402, 'plan_limit_reached')
  await db`update plan_usage set month = month - interval '1 month' where workspace_id = ${api.workspaceId}`
  const plan = await planOf()
  const now = new Date()
  assert.deepEqual(plan, {
    state: 'active',
    messages_per_month: 1,
    used: 0,
    left: 1,
    resets_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString(),
  })
  assert.equal((await api.post('/messages', { to: '+14155550200', ...hello })).status, 201)
  assertRefused(await api.post('/messages', { to: phone, ...hello }), 402, 'plan_limit_reached')
  assert.equal((await planOf()).left, 0)
})

test('the metrics report the usage of every quota, and no workspace without one', async (t) => {
  const world = await start(t, { alone: 'counts the quotas of all workspaces' })
  const { api, db, url, workspace } = world
  await startLimited(world, 3)
  const unlimited = await workspace()
  await api.post('/messages', { to: phone, ...hello })
  const read = async () => {
    const text = await (await fetch(`${url}/metrics`)).text()
    return text.split('\n').filter((line) => line.startsWith('parley_plan_messages{'))
  }
  assert.deepEqual((await read()).sort(), [
    `parley_plan_messages{workspace="${api.workspaceId}",what="limit"} 3`,
    `parley_plan_messages{workspace="${api.workspaceId}",what="used"} 1`,
  ])
  assert.ok((await read()).every((line) => !line.includes(unlimited.api.workspaceId)))
  await db`
    insert into workspaces (id, name, default_country, plan_messages_per_month, created_at)
    select gen_random_uuid(), 'Many', 'US', 5, now() from generate_series(1, 1500)`
  assert.equal((await read()).length, 2_000)
})
