/** The overview: its counters stay exact when the processes that maintain them fail. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answer, assertBadRequest, assertRefused } from './assertions.ts'
import { untilWaiting } from './database.ts'
import { newId } from './internals.ts'
import { createBrowser, type Json, main, type Starting, signIn, start, until, withProvider } from './support.ts'

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
        insert into message_periods as p (workspace_id, at, channel, inbound, outbound, answers, answer_seconds,
          within_five_minutes, within_one_hour, within_one_day)
        select ${api.workspaceId}, date_bin('15 minutes', now() + n * interval '15 minutes', timestamptz 'epoch'), 'msgapp',
          0, 0, 0, 0, 0, 0, 0
        from generate_series(0, 1) n
        on conflict (workspace_id, at, channel) do update set inbound = p.inbound`
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
      insert into message_periods (workspace_id, at, channel, inbound, outbound, answers, answer_seconds, within_five_minutes,
        within_one_hour, within_one_day)
      values (${api.workspaceId}, ${new Date(ms).toISOString()}, 'msgapp', ${inbound}, 1, ${answers}, ${seconds}, 0, 0, 0)`
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
