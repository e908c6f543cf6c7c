/** The overview: its counters stay exact when the processes that maintain them fail. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answer, assertBadRequest, assertRefused, assertStatus, dataOf } from './assertions.ts'
import { untilWaiting } from './database.ts'
import { newId } from './internals.ts'
import {
  createBrowser,
  type Json,
  main,
  type Starting,
  signIn,
  start,
  until,
  type World,
  withProvider,
} from './support.ts'

const phone = '+14155550100'

async function startLooking(t: TestContext, starting?: Starting) {
  const world = await start(t, starting)
  const browser = await signIn(world)
  const overview = async (query = ''): Promise<Json> => (await browser.call('GET', `/overview${query}`)).body.data
  return { ...world, browser, overview }
}

const sum = (days: Json[], channel: string, direction: string): number =>
  days.reduce((total, day) => total + day[channel][direction], 0)

test('the overview counts inbound and outbound messages, their outcomes and the response times', main, async (t) => {
  const { api, db, url, browser, connect, overview } = await startLooking(t)
  const empty = await overview()
  assert.equal(empty.days.length, 30)
  assert.equal(empty.days.at(-1).day, new Date().toISOString().slice(0, 10))
  assert.deepEqual(empty.days[0].social, { inbound: 0, outbound: 0 })
  assert.deepEqual(empty.responses.within, { five_minutes: 0, one_hour: 0, one_day: 0 })
  assert.equal(empty.responses.average_seconds, null)

  const provider = await connect()
  // Two questions, one answer; then another question.
  const first = await provider.writes({ from: phone, text: 'one?' })
  await provider.writes({ from: phone, text: 'two?' })
  const [{ id }] = (await api.get('/conversations')).body.data
  for (const text of ['answer', 'and more']) await browser.call('POST', `/conversations/${id}/messages`, { text })
  // A reaction needs no reply, and a broadcast is no reply.
  await provider.writes({ from: phone, type: 'reaction', text: '👍', reply_to: first })
  await browser.call('POST', `/conversations/${id}/messages`, { text: 'and more yet' })
  await provider.writes({ from: phone, text: 'three?' })
  await provider.writes({ channel: 'social', from: '90000001', username: 'bob', text: 'hello' })
  const hello = { type: 'template', template: { name: 'hello_world' } }
  for (const to of ['+15005550001', '+15005550005', '+15005550006']) await api.post('/messages', { to, ...hello })
  await api.post('/broadcasts', { name: 'News', ...hello, recipients: [{ to: phone }] })
  const endpoint = { url: 'https://127.0.0.1:9/x', events: ['message.received'] }
  const { body: hook } = await api.post('/webhooks', endpoint)

  // 7 messages out: three read, a broadcast read, one refused, one delivered, one failed after it was sent.
  const funnel = { sent: 5, delivered: 5, read: 4, failed: 2 }
  const seen = await until('all of it', async () => {
    const now = await overview('?days=7')
    const isAll = JSON.stringify(now.funnel) === JSON.stringify(funnel) && sum(now.days, 'msgapp', 'outbound') === 7
    return isAll && sum(now.days, 'social', 'inbound') === 1 && now
  })
  assert.equal(seen.days.length, 7)
  assert.deepEqual(seen.days.at(-1).msgapp, { inbound: 4, outbound: 7 })
  assert.equal(seen.responses.count, 1)
  assert.deepEqual(seen.responses.within, { five_minutes: 1, one_hour: 1, one_day: 1 })
  assert.ok(seen.responses.average_seconds <= 5)
  assert.equal(seen.responses.days.at(-1).count, 1)
  assert.ok(seen.open_conversations >= 2)
  assert.equal(seen.unassigned_conversations, seen.open_conversations)
  assert.deepEqual(
    [seen.webhooks.length, seen.webhooks[0].id, seen.webhooks[0].waiting_count, seen.webhooks[0].provider],
    [1, hook.data.id, 0, 'api'],
  )
  // An answer that the channel refuses later was none, and the one after it is.
  const asked = '+14155550188'
  await provider.fault({ to: asked, mode: 'no_statuses' })
  await provider.writes({ from: asked, text: 'and me?' })
  const [{ id: other }] = (await browser.call('GET', '/conversations?limit=1')).body.data
  const isWaiting = async () => (await db`select 1 from message_waits where conversation_id = ${other}`).length === 1
  const untilCounted = (count: number, waits: boolean) =>
    until(`${count} answers`, async () => {
      const { responses } = await overview('?days=7')
      return responses.count === count && (await isWaiting()) === waits
    })
  const reply = (text: string) => browser.call('POST', `/conversations/${other}/messages`, { text })
  const untilRead = (id: string) =>
    until('it to be read, and nothing to look at again', async () => {
      const read = await db`select 1 from message_words where id = ${id} and not exists (
        select from message_revisits where workspace_id = ${api.workspaceId})`
      return read.length > 0
    })
  /** `meanwhile` happens after the digest has read what `begin` wrote, and before it has counted it. */
  const whileCounting = <Begun>(begin: () => PromiseLike<Begun>, meanwhile: (begun: Begun) => Promise<unknown>) =>
    db.begin(async (sql) => {
      // The counters of this quarter of an hour and of the next one.
      await sql`
        insert into message_periods as p (workspace_id, at, channel, connection_id, inbound, outbound, answers, answer_seconds,
          within_five_minutes, within_one_hour, within_one_day)
        select ${api.workspaceId}, date_bin('15 minutes', now() + n * interval '15 minutes', timestamptz 'epoch'), 'msgapp',
          ${provider.connections.msgapp.id}, 0, 0, 0, 0, 0, 0, 0
        from generate_series(0, 1) n
        on conflict (workspace_id, at, channel, connection_id) do update set inbound = p.inbound`
      const begun = await begin()
      await untilWaiting(db, 1, 'into message_periods')
      await meanwhile(begun)
    })
  const lost = await reply('lost on the way')
  await untilCounted(2, false)
  const fail = ({ body }: Answer) => {
    const value = { statuses: [{ id: body.data.msgapp_message_id, status: 'failed', timestamp: '1700000000' }] }
    return provider.callback({ entry: [{ changes: [{ field: 'messages', value }] }] })
  }
  await fail(lost)
  await untilCounted(1, true)
  const found = await reply('found')
  await untilCounted(2, false)
  // Also while others are counted: a reply that comes in that moment is one answer, not two.
  await provider.writes({ from: asked, text: 'and now?' })
  await untilCounted(2, true)
  let late = ''
  await whileCounting(
    () => db`
      with failed as (
        update messages set status = 'failed' where id = ${found.body.data.id} returning workspace_id, conversation_id, id
      ),
      revisits as (insert into message_revisits (workspace_id, message_id) select workspace_id, id from failed)
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, status, created_at)
      select workspace_id, conversation_id, ${newId()}, 'inbound', 'customer', 'text', 'received', now() from failed`,
    async () => {
      late = (await reply('found again')).body.data.id
    },
  )
  await untilRead(late)
  assert.deepEqual([(await overview('?days=7')).responses.count, await isWaiting()], [2, false])
  // Nor was one an answer that is refused while it is being counted.
  await provider.writes({ from: asked, text: 'and then?' })
  await untilCounted(2, true)
  await whileCounting(
    async () => {
      const unlucky = await reply('lost as it is read')
      late = unlucky.body.data.id
      return unlucky
    },
    (unlucky) => fail(unlucky),
  )
  await untilRead(late)
  assert.deepEqual([(await overview('?days=7')).responses.count, await isWaiting()], [2, true])
  const [member] = (await browser.call('GET', '/members')).body.data
  await browser.call('PATCH', `/conversations/${id}`, { assigned_agent_id: member.id })
  const later = await overview('?days=90')
  assert.equal(later.days.length, 90)
  assert.equal(later.unassigned_conversations, later.open_conversations - 1)
  assertBadRequest(await browser.call('GET', '/overview?days=8'))
  assertRefused(await createBrowser(url).call('GET', '/overview'), 401, 'unauthorized')
})

test('the overview has the days and hours of the workspace’s time zone, its first day, and the period before', async (t) => {
  const { api, db, browser, overview } = await startLooking(t)
  const before = await overview()
  assert.deepEqual([before.time_zone, before.first_day, before.previous, before.hours], ['UTC', null, null, []])
  // Two zones without summer time and without whole hours: it is not near midnight in one of them.
  const [{ zone } = assert.fail()] = await db<{ zone: string }[]>`
    select zone from unnest(array['Asia/Kolkata', 'Pacific/Marquesas']) zone
    order by abs(extract(hour from now() at time zone zone) - 12) limit 1`
  assert.equal((await browser.call('PATCH', '/workspace', { time_zone: zone })).status, 200)
  const [local] = await db<{ today: string; midnight: string }[]>`
    select (now() at time zone ${zone})::date::text as today,
      to_char(date_trunc('day', now() at time zone ${zone}) at time zone ${zone} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI"Z"') as midnight`
  assert.ok(local)
  const dayMs = 86_400_000
  const atMidnight = (days: number) => Date.parse(local.midnight) - days * dayMs
  const count = async (ms: number, inbound: number, answers = 0, seconds = 0) => {
    await db`
      insert into message_periods (workspace_id, at, channel, connection_id, inbound, outbound, answers, answer_seconds,
        within_five_minutes, within_one_hour, within_one_day)
      values (${api.workspaceId}, ${new Date(ms).toISOString()}, 'msgapp', ${newId()}, ${inbound}, 1, ${answers}, ${seconds}, 0, 0, 0)`
  }
  // The last quarter of an hour of a day and the first one of the next.
  await count(atMidnight(0), 5, 2, 120)
  await count(atMidnight(0) - 900_000, 3)
  await count(atMidnight(13), 2, 1, 600)
  const week = await overview('?days=7')
  const inboundOf = (days: Json[]) => days.map(({ msgapp }) => msgapp.inbound)
  assert.deepEqual(inboundOf(week.days), [0, 0, 0, 0, 0, 3, 5])
  assert.deepEqual([week.time_zone, week.days.at(-1).day], [zone, local.today])
  assert.equal(week.first_day, new Date(Date.parse(local.today) - 13 * dayMs).toISOString().slice(0, 10))
  assert.deepEqual([week.previous.inbound, week.previous.responses], [2, { count: 1, average_seconds: 600 }])
  assert.equal(week.responses.average_seconds, 60)
  // Nothing is compared with days on which the workspace was not in use.
  const month = await overview('?days=30')
  assert.deepEqual([month.previous, month.first_day], [null, week.first_day])
  // Today is compared with yesterday until the same time.
  await count(atMidnight(1), 4)
  await count(Date.now() - dayMs + 1_200_000, 100)
  const today = await overview('?days=1')
  assert.equal(today.hours.length, 24)
  assert.equal(Date.parse(today.hours[0].at), Date.parse(local.midnight))
  assert.deepEqual([today.hours[0].msgapp.inbound, today.previous.inbound], [5, 4])
})

test('what the previous release counted by day is a part of the overview', async (t) => {
  const { api, db, provider, overview } = await withProvider(startLooking(t))
  await provider.writes({ from: phone, text: 'counted by quarter' })
  await until('the message', async () => (await overview()).days.at(-1).msgapp.inbound === 1)
  await db`
    insert into message_days (workspace_id, day, channel, inbound, outbound, answers, answer_seconds, within_five_minutes,
      within_one_hour, within_one_day)
    select ${api.workspaceId}, (now() at time zone 'utc')::date - n, 'msgapp', 4, 0, 2, 240, 2, 2, 2
    from generate_series(0, 1) n`
  const { days, responses, first_day } = await overview()
  assert.deepEqual([days.at(-2).msgapp.inbound, days.at(-1).msgapp.inbound], [4, 5])
  assert.deepEqual([responses.count, responses.average_seconds, first_day], [4, 120, days.at(-2).day])
  const { hours } = await overview('?days=1')
  assert.equal(sum(hours, 'msgapp', 'inbound'), 5)
})

test('the counts of open conversations stay exact while conversations change and rows are folded', main, async (t) => {
  const { api, db, browser, provider, overview } = await withProvider(startLooking(t))
  const [member] = (await browser.call('GET', '/members')).body.data
  const people = Array.from({ length: 12 }, (_, i) => `+1415555${String(1_000 + i)}`)
  await Promise.all(people.map((from) => provider.writes({ from, text: 'hello' })))
  // Automated messages alone do not put a conversation into the inbox.
  await api.post('/messages', { to: '+14155552000', type: 'template', template: { name: 'hello_world' } })
  const assertExact = async (open: number, unassigned: number) => {
    const { open_conversations, unassigned_conversations } = await overview()
    assert.deepEqual([open_conversations, unassigned_conversations], [open, unassigned])
  }
  const { body } = await api.get('/conversations?limit=50')
  const talks: { id: string; contact_id: string }[] = body.data.filter(({ unread_count }: Json) => unread_count > 0)
  assert.equal(talks.length, 12)
  await assertExact(12, 12)

  const change = (i: number, changes: object) => browser.call('PATCH', `/conversations/${talks[i]?.id}`, changes)
  await Promise.all([0, 1, 2, 3].map((i) => change(i, { assigned_agent_id: member.id })))
  await Promise.all([3, 4].map((i) => change(i, { status: 'closed' })))
  await change(5, { snoozed_until: new Date(Date.now() + 3_600_000).toISOString() })
  await assertExact(9, 6)
  // A closed conversation without a member is counted again when its customer writes.
  const { body: closed } = await api.get(`/contacts/${talks[4]?.contact_id}`)
  await provider.writes({ from: closed.data.phone, text: 'once more' })
  await change(0, { assigned_agent_id: null })
  await assertExact(10, 8)
  // Merged and erased conversations no longer count.
  const merged = await browser.call('POST', `/contacts/${talks[6]?.contact_id}/merge`, {
    contact_id: talks[7]?.contact_id,
  })
  assert.equal(merged.status, 200, JSON.stringify(merged.body))
  assert.equal((await api.delete(`/contacts/${talks[8]?.contact_id}`)).status, 200)
  await assertExact(8, 6)
  // The loop leaves one row, with the same counts.
  await until('one row', async () => {
    const rows = await db`select from inbox_counts where workspace_id = ${api.workspaceId}`
    return rows.length === 1
  })
  await assertExact(8, 6)
})

/** What the overview of a connection counts, from the messages and conversations themselves. */
async function recountOf({ db, api }: World, connectionId: string): Promise<Json> {
  const [counted] = await db<Json[]>`
    select count(*) filter (where m.direction = 'inbound')::int as inbound,
      count(*) filter (where m.direction = 'outbound')::int as outbound,
      count(*) filter (where m.direction = 'outbound' and m.status in ('sent', 'delivered', 'read'))::int as sent,
      count(*) filter (where m.direction = 'outbound' and m.status in ('delivered', 'read'))::int as delivered,
      count(*) filter (where m.direction = 'outbound' and m.status = 'read')::int as read,
      count(*) filter (where m.direction = 'outbound' and m.status = 'failed')::int as failed
    from conversations v join messages m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
    where v.workspace_id = ${api.workspaceId} and v.connection_id = ${connectionId}`
  const [open] = await db<Json[]>`
    select count(*)::int as open, count(*) filter (where assigned_agent_id is null)::int as unassigned
    from conversations
    where workspace_id = ${api.workspaceId} and connection_id = ${connectionId} and inbox_at is not null and status = 'open'`
  return { ...counted, ...open }
}

const figuresOf = (overview: Json, channel: string): Json => ({
  inbound: sum(overview.days, channel, 'inbound'),
  outbound: sum(overview.days, channel, 'outbound'),
  ...overview.funnel,
  open: overview.open_conversations,
  unassigned: overview.unassigned_conversations,
})

test('the overview of one connection has its messages, outcomes, replies and conversations only', main, async (t) => {
  const world = await withProvider(startLooking(t))
  const { api, browser, provider, overview } = world
  const shop = await world.addNumber('Shop')
  const { msgapp: sales, social } = provider.connections
  const people = ['+14155551001', '+14155551002', '+14155551003']
  for (const from of people) await provider.writes({ from, text: 'hello?', connection_id: sales.id })
  // The first two write to both numbers, so each of them has two conversations.
  for (const from of people.slice(0, 2)) await provider.writes({ from, text: 'hello?', connection_id: shop.id })
  await provider.writes({ channel: 'social', from: '90000001', username: 'bob', text: 'hello' })
  const talks = async (id: string): Promise<Json[]> => dataOf(await api.get(`/conversations?connection_id=${id}`))
  const reply = ({ id }: Json, text: string) => browser.ask('POST', `/conversations/${id}/messages`, { text }, 201)
  for (const talk of await talks(sales.id)) await reply(talk, 'from sales')
  const [shopTalk, otherTalk] = (await talks(shop.id)) as [Json, Json]
  await reply(shopTalk, 'from the shop')
  await reply(shopTalk, 'and more')
  const hello = { type: 'template', template: { name: 'hello_world' } }
  // Refused at once, failed after it was sent, and read.
  for (const to of ['+15005550001', '+15005550006', '+14155551009'])
    await api.post('/messages', { to, from: shop.id, ...hello })
  const recipients = [{ to: people[2] }]
  assertStatus(await api.post('/broadcasts', { name: 'News', from: shop.id, ...hello, recipients }), 202)
  const [member] = (await browser.call('GET', '/members')).body.data
  await browser.ask('PATCH', `/conversations/${shopTalk.id}`, { assigned_agent_id: member.id })
  await browser.ask('PATCH', `/conversations/${otherTalk.id}`, { status: 'closed' })

  const of = (id: string, days = 7) => overview(`?days=${days}&connection_id=${id}`)
  const connections = [
    { id: sales.id, channel: 'msgapp', replies: 3, funnel: { sent: 3, delivered: 3, read: 3, failed: 0 } },
    { id: shop.id, channel: 'msgapp', replies: 1, funnel: { sent: 4, delivered: 4, read: 4, failed: 2 } },
    { id: social.id, channel: 'social', replies: 0, funnel: { sent: 0, delivered: 0, read: 0, failed: 0 } },
  ]
  for (const { id, channel, replies, funnel } of connections) {
    const seen = await until('all reports, and the digest', async () => {
      const now = await of(id)
      const { inbound, outbound } = await recountOf(world, id)
      const isDigested =
        sum(now.days, channel, 'inbound') === inbound && sum(now.days, channel, 'outbound') === outbound
      return isDigested && JSON.stringify(now.funnel) === JSON.stringify(funnel) && now
    })
    assert.deepEqual(figuresOf(seen, channel), await recountOf(world, id))
    assert.equal(seen.responses.count, replies)
    assert.deepEqual([seen.webhooks, seen.funnel_since, seen.first_day], [[], null, seen.days.at(-1).day])
  }
  const inShop = await of(shop.id)
  assert.deepEqual([inShop.open_conversations, inShop.unassigned_conversations], [1, 0])
  assert.equal(sum((await of(shop.id, 1)).hours, 'msgapp', 'inbound'), 2)
  // Without the filter everything is counted once.
  const all = figuresOf(await overview('?days=7'), 'msgapp')
  const each = await Promise.all(connections.map(async ({ id, channel }) => figuresOf(await of(id), channel)))
  for (const field of ['sent', 'delivered', 'read', 'failed', 'open', 'unassigned']) {
    const total = each.reduce((sum, one) => sum + one[field], 0)
    assert.equal(all[field], total, field)
  }

  // A connection of another workspace does not exist.
  const stranger = await signIn(await start(t))
  assertRefused(await stranger.call('GET', `/overview?connection_id=${shop.id}`), 404, 'not_found')
  for (const id of [newId(), 'shop'])
    assertRefused(await browser.call('GET', `/overview?connection_id=${id}`), 404, 'not_found')
  // A disconnected connection keeps its figures.
  await browser.ask('DELETE', `/channels/${shop.id}`)
  assert.deepEqual(await of(shop.id), inShop)
})

test('the overview of a connection begins after the days that an earlier release counted, and says so', async (t) => {
  const { api, db, provider, overview } = await withProvider(startLooking(t))
  const { id } = provider.connections.msgapp
  await provider.writes({ from: phone, text: 'counted by connection' })
  assert.equal((await api.post('/messages', { to: phone, text: 'reply' })).status, 201)
  const of = () => overview(`?days=7&connection_id=${id}`)
  await until('the messages', async () => {
    const { days, funnel } = await of()
    return sum(days, 'msgapp', 'inbound') === 1 && sum(days, 'msgapp', 'outbound') === 1 && funnel.read === 1
  })
  const dayBefore = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString().slice(0, 10)
  await db`
    insert into message_days (workspace_id, day, channel, inbound, outbound, answers, answer_seconds, within_five_minutes,
      within_one_hour, within_one_day)
    values (${api.workspaceId}, ${dayBefore(1)}, 'msgapp', 4, 3, 2, 240, 2, 2, 2)`
  await db`
    insert into message_outcomes (workspace_id, day, shard, sent, delivered, read, failed)
    values (${api.workspaceId}, ${dayBefore(1)}, 0, 3, 3, 2, 1)`
  const seen = await of()
  assert.deepEqual([seen.first_day, seen.funnel_since, seen.previous], [dayBefore(0), dayBefore(0), null])
  assert.deepEqual([sum(seen.days, 'msgapp', 'inbound'), seen.funnel.sent], [1, 1])
  const all = await overview('?days=7')
  assert.deepEqual([sum(all.days, 'msgapp', 'inbound'), all.funnel.sent, all.funnel_since], [5, 4, null])
  // A report about a message of those days changes the total, and nothing that is shown for the connection.
  await db`
    insert into connection_outcomes (workspace_id, day, connection_id, shard, sent, delivered, read, failed)
    values (${api.workspaceId}, ${dayBefore(1)}, ${id}, 0, 0, 0, 1, 0)`
  assert.deepEqual([(await of()).funnel.read, (await overview('?days=7')).funnel.read], [1, 4])
})

test('open conversations that an earlier version counted are counted again by connection', async (t) => {
  const { api, db, provider, overview } = await withProvider(startLooking(t))
  for (const i of [0, 1, 2]) await provider.writes({ from: `+1415555200${i}`, text: 'hello' })
  await db`update inbox_counts set connection_id = null where workspace_id = ${api.workspaceId}`
  const { id } = provider.connections.msgapp
  await until('the counts', async () => (await overview(`?connection_id=${id}`)).open_conversations === 3)
  assert.equal((await overview()).open_conversations, 3)
})

test('every message counts once, even when two processes keep losing their connections', async (t) => {
  const { api, db, twin, connect, overview } = await startLooking(t, { alone: 'ends connections of the service' })
  await twin()
  await (await connect()).writes({ from: phone, text: 'begin' })
  const [{ id: conversationId }] = (await api.get('/conversations')).body.data
  const total = 3_000
  const insert = (ids: readonly string[]) => db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status,
      created_at)
    select ${api.workspaceId}, ${conversationId}, id, case when place % 2 = 0 then 'outbound' else 'inbound' end,
      case when place % 2 = 0 then 'agent' else 'customer' end, 'text', 'word ' || place, 'sent', now()
    from unnest(${ids}::uuid[]) with ordinality as g (id, place)`
  let isOver = false
  const killing = (async () => {
    let killed = 0
    while (!isOver && killed < 4) {
      const ended = await db`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
          and query ~ 'message_(words|digest|days|slices|waits)' and query !~ 'how far' and random() < 0.3`
      killed += ended.length
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return killed
  })()
  for (let made = 0; made < total; made += 500) await insert(Array.from({ length: 500 }, () => newId()))
  // One whose transaction ends long after later ones were read, and one whose id was made yesterday.
  const late = db.begin(async (sql) => {
    await sql`
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status,
        created_at)
      values (${api.workspaceId}, ${conversationId}, ${newId().replace(/^.{13}/, idTime(Date.now() - 60_000))}, 'inbound',
        'customer', 'text', 'late', 'received', now())`
    await until(
      'the others',
      async () => {
        const [read] = await db<{ count: number }[]>`select count(*)::int as count, 'how far' from message_words`
        return (read?.count ?? 0) >= total
      },
      30_000,
    )
  })
  await late
  isOver = true
  assert.ok((await killing) > 0)
  // Sooner than its time: look back. A pass that looks back at this moment may end later and put the next one off.
  await db`update message_digest set looked_back_at = timestamptz 'epoch' where 'how far' <> ''`
  const old = newId().replace(/^.{13}/, idTime(Date.now() - 3_600_000))
  await db`insert into message_revisits (workspace_id, message_id) values (${api.workspaceId}, ${old})`
  await insert([old])
  const counted = await until(
    'all of it',
    async () => {
      const { days } = await overview()
      return sum(days, 'msgapp', 'inbound') + sum(days, 'msgapp', 'outbound') >= total + 3 && days
    },
    45_000,
  )
  assert.deepEqual([sum(counted, 'msgapp', 'inbound'), sum(counted, 'msgapp', 'outbound')], [total / 2 + 3, total / 2])
  const [rows] = await db`
    select count(*)::int as words, (select sum(message_count)::int from message_slices) as sliced,
      (select count(*)::int from message_revisits) as revisits
    from message_words`
  assert.deepEqual(rows, { words: total + 3, sliced: total + 3, revisits: 0 })
  const { responses } = await overview()
  assert.equal(responses.count, total / 2)
})

const idTime = (ms: number): string => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}`
}
