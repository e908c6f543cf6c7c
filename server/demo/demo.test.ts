/** The demo workspace has a past, and every counter agrees with it. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Browser, createBrowser } from '../../tests/browser.ts'
import { createFolder } from '../../tests/folder.ts'
import { assertFields, createDatabase, file, type Json, type Owner, start, until } from '../../tests/support.ts'
import { createSealer } from '../lib/crypto.ts'
import { isUuid, timeOfId } from '../lib/id.ts'
import type { Db } from '../lib/postgres/db.ts'
import { createFolderStore } from '../lib/store-folder.ts'
import { isRatingAnswer } from '../satisfaction/answers.ts'
import { listRecentCustomers } from '../simulator-host/accounts.ts'
import { listDemoHistory } from '../simulator-host/demo-history.ts'
import { type Demo, resolveDemo } from './demo.ts'
import { demoPeople, labelColors } from './people.ts'
import { demoThreads } from './texts.ts'

const sealer = createSealer('5e'.repeat(32))

function making(t: Owner, db: Db) {
  const dataDir = createFolder(t)
  const store = createFolderStore(join(dataDir, 'media'))
  return { db, sealer, store, dataDir, publicUrl: 'http://parley.test', simulatorUrl: 'http://127.0.0.1:9/simulator' }
}

let started: ReturnType<typeof startDemo> | undefined

/** The service that the tests of the history share. They only read. */
const joinDemo = () => {
  started ??= startDemo()
  return started
}

/** A service that was in use for a while before its demo was made. */
async function startDemo() {
  const world = await start(file, { alone: 'has one demo workspace' })
  const digested = async () =>
    (await world.db`select 1 from message_digest where position > ${'01000000-0000-0000-0000-000000000000'}`).length
  await until('the digest to have gone past the history', digested)
  const made = await resolveDemo(making(file, world.db))
  assert.ok(made)
  const browser = createBrowser(world.url)
  assert.equal((await browser.signIn(made.owner)).status, 200)
  return { ...world, demo: made, browser }
}

const dataOf = async (browser: Browser, path: string): Promise<Json> => {
  const answer = await browser.call('GET', path)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.data
}

const countOf = async (db: Db, demo: Demo): Promise<Json> => {
  // No provider reports on messages of the web chat, so they have no outcome.
  const [counts] = await db`
    select count(*)::int as messages, count(*) filter (where m.direction = 'inbound')::int as inbound,
      count(*) filter (where m.direction = 'outbound')::int as outbound,
      count(*) filter (where v.channel <> 'web' and m.status in ('sent', 'delivered', 'read'))::int as sent,
      count(*) filter (where v.channel <> 'web' and m.status in ('delivered', 'read'))::int as delivered,
      count(*) filter (where v.channel <> 'web' and m.status = 'read')::int as read,
      count(*) filter (where v.channel <> 'web' and m.status = 'failed')::int as failed
    from messages m
    join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
    where m.workspace_id = ${demo.workspace_id}`
  return counts
}

test('the demo history is counted, searched and filtered like real messages', async () => {
  const { db, demo, browser } = await joinDemo()
  const { workspace_id: workspaceId } = demo
  const counts = await countOf(db, demo)
  assert.ok(counts.messages >= 100 && counts.failed >= 2, JSON.stringify(counts))
  const overview = await until('the history to be counted', async () => {
    const data = await dataOf(browser, '/overview?days=30')
    const sum = (way: string) =>
      data.days.reduce((all: number, day: Json) => all + day.msgapp[way] + day.social[way] + day.web[way], 0)
    return sum('inbound') === counts.inbound && sum('outbound') === counts.outbound && data
  })
  const { sent, delivered, read, failed } = counts
  assert.deepEqual(overview.funnel, { sent, delivered, read, failed })
  assert.ok(overview.days.filter((day: Json) => day.msgapp.inbound + day.msgapp.outbound > 0).length >= 12)
  assert.ok(overview.responses.count >= 30 && overview.responses.average_seconds < 3_600)
  const [open] =
    await db`select count(*)::int as open from conversations where workspace_id = ${workspaceId} and status = 'open' and inbox_at is not null`
  assert.equal(overview.open_conversations, open?.open)

  // Each conversation says what its messages say.
  const wrong = await db`
    select v.id from conversations v
    cross join lateral (
      select max(m.created_at) as last_at, max(m.sent_at) filter (where m.direction = 'inbound') as inbound_at,
        (array_agg(m.content_text order by m.id desc))[1] as text, min(m.id::text) as first_id,
        count(*) filter (where m.direction = 'inbound')::int as inbound,
        max(m.created_at) filter (where (m.direction = 'inbound' and not (${isRatingAnswer(db)})) or m.sender_id is not null) as inbox_at
      from messages m where m.workspace_id = v.workspace_id and m.conversation_id = v.id
    ) m
    where v.workspace_id = ${workspaceId} and (
      v.last_message_at is distinct from m.last_at or v.last_inbound_at is distinct from m.inbound_at
      or v.inbox_at is distinct from m.inbox_at or v.last_message_text is distinct from m.text or v.unread_count > m.inbound or v.created_at > m.last_at
    )`
  assert.deepEqual([...wrong], [])
  const found = (await browser.call('GET', '/search?q=juniper')).body.data
  assert.match(found[0].message.content_text, /Juniper/)
  const inbox = await dataOf(browser, '/conversations/counts')
  assert.ok(inbox.unread >= 5 && inbox.mine >= 3 && inbox.pending >= 2, JSON.stringify(inbox))

  const segments = await dataOf(browser, '/segments')
  assert.deepEqual(segments.map(({ kind }: Json) => kind).sort(), ['dynamic', 'dynamic', 'static'])
  for (const { id } of segments) assert.ok((await dataOf(browser, `/segments/${id}`)).member_count >= 6)
  const [{ id: broadcastId }] = await dataOf(browser, '/broadcasts')
  const { status, ...broadcast } = await dataOf(browser, `/broadcasts/${broadcastId}`)
  const ofBroadcast = (await dataOf(browser, `/broadcasts/${broadcastId}/recipients?limit=100`)) as Json[]
  const having = (...those: string[]) => ofBroadcast.filter((one) => those.includes(one.status)).length
  assert.deepEqual(
    [status, broadcast.total_count, broadcast.pending_count, broadcast.sent_count, broadcast.delivered_count],
    ['sent', 18, 0, having('sent', 'delivered', 'read'), having('delivered', 'read')],
  )
  const others = { read_count: having('read'), failed_count: having('failed'), skipped_count: having('skipped') }
  assertFields(broadcast, others)
  assert.ok(having('failed') > 0 && having('skipped') === 2)
  const points = (await dataOf(browser, `/broadcasts/${broadcastId}/timeline`)) as Json[]
  const { sent_count, delivered_count, replied_count } = broadcast
  assertFields(points.at(-1), { sent: sent_count, delivered: delivered_count, replied: replied_count })
  assert.equal((await dataOf(browser, '/templates')).length, 7)
})

test('the demo history leaves no pending work and completes no checklist step', async () => {
  const { db, demo, browser, url } = await joinDemo()
  const { workspace_id: id } = demo
  const [due] = await db`
    select (select count(*) from messages where workspace_id = ${id} and status = 'pending')::int as pending,
      (select count(*) from media where workspace_id = ${id} and state <> 'stored')::int as media,
      (select count(*) from uploads where workspace_id = ${id} and used_at is null)::int as uploads,
      (select count(*) from broadcasts where workspace_id = ${id} and completed_at is null)::int as broadcasts,
      (select count(*) from webhook_events where workspace_id = ${id})::int as events,
      (select count(*) from plan_usage where workspace_id = ${id})::int as plan`
  assert.deepEqual({ ...due }, { pending: 0, media: 0, uploads: 0, broadcasts: 0, events: 0, plan: 0 })
  await until('every message to be read once', async () => {
    const [left] = await db`select count(*)::int as count from message_revisits`
    return left?.count === 0
  })
  const { items, dismissed } = await dataOf(browser, '/checklist')
  assert.deepEqual([items.map(({ done }: Json) => done), dismissed], [[false, false, false, false], false])

  // Everything happened before the workspace was made, in the order of its ids.
  const [{ created_at: made }] = (await db`select created_at from workspaces where id = ${id}`) as Json
  const rows = await db<{ id: string; created_at: string }[]>`
    select id, created_at from messages where workspace_id = ${id}
    union all select id, created_at from conversations where workspace_id = ${id}
    union all select id, created_at from contacts where workspace_id = ${id}`
  for (const row of rows) {
    assert.ok(isUuid(row.id) && row.created_at < made, row.created_at)
    assert.equal(timeOfId(row.id), row.created_at)
  }
  // No demo contact has a number of the documentation's examples, or one that fails by rule.
  const phones = Object.values(demoPeople).flatMap(({ phone = [] }) => phone)
  assert.equal(phones.length, new Set(phones).size)
  const found = phones.filter((phone) => /^\+1(415|500)555/.test(phone))
  assert.deepEqual(found, [])
  // Contacts who wrote within the day can be answered: the simulator knows them.
  const known = await listRecentCustomers(db)
  assert.ok(known.some(({ channel, id: phone }) => channel === 'msgapp' && phone === demoPeople.samuel.phone))
  assert.ok(known.some(({ channel, username }) => channel === 'social' && username === 'kit.and.clay'))
  assert.ok(known.every(({ channel, username }) => channel === 'social' || username === null))
  const connections = await db`select id from channel_connections where workspace_id = ${id}`
  const own = known.filter(({ workspace_id }) => workspace_id === id)
  assert.ok(own.every(({ connection_id }) => connections.some((each) => each.id === connection_id)))
  const answer = await fetch(`${url}/v1/contacts?limit=100`, { headers: { authorization: `Bearer ${demo.api_key}` } })
  const contacts: Json = await answer.json()
  assert.equal(contacts.data.length, Object.keys(demoPeople).length)
})

test('the demo has three members, labels of different colors, canned replies, attributes, notes and a mention', async () => {
  const { db, demo, browser, url } = await joinDemo()
  assert.deepEqual((await dataOf(browser, '/members')).map(({ email, role }: Json) => [email, role]).sort(), [
    ['alex@demo.test', 'admin'],
    ['owner@demo.test', 'owner'],
    ['sam@demo.test', 'agent'],
  ])
  for (const { email, password } of demo.members ?? assert.fail()) {
    assert.equal((await createBrowser(url).signIn({ email, password })).status, 200)
  }
  const labels: Json[] = await dataOf(browser, '/labels')
  assert.deepEqual(labels.map(({ name }) => name).sort(), Object.keys(labelColors).sort())
  assert.equal(new Set(labels.map(({ color }) => color)).size, labels.length)
  const used = new Set(demoThreads.flatMap((thread) => thread.labels ?? []))
  assert.ok([...used].every((name) => name in labelColors))
  assert.ok((await dataOf(browser, '/canned-replies')).length >= 4)
  const mentions = await dataOf(browser, '/mentions')
  assert.equal(mentions.length, 1)
  const [rows] = await db`
    select (select count(*) from contacts where workspace_id = ${demo.workspace_id} and attributes <> '{}')::int as attributes,
      (select count(*) from contact_notes where workspace_id = ${demo.workspace_id})::int as notes,
      (select count(distinct member_id) from timeline_entries where workspace_id = ${demo.workspace_id})::int as authors`
  assert.deepEqual({ ...rows }, { attributes: 9, notes: 2, authors: 3 })
})

test('the demo has teams with queues, capacities, and members who were at work', async () => {
  const { db, demo, browser } = await joinDemo()
  const teams: Json[] = await dataOf(browser, '/assignment/teams')
  assert.deepEqual(
    teams.map(({ name, policy, queued, member_count }) => [name, policy, queued, member_count]),
    [
      ['Sales', 'none', 1, 2],
      ['Support', 'fewest_open', 2, 2],
    ],
  )
  const connections = (await dataOf(browser, '/teams')).flatMap((team: Json) => team.connection_ids)
  assert.equal(new Set(connections).size, 3)
  const members: Json[] = await dataOf(browser, '/assignment/members')
  for (const { name, open, capacity } of members) assert.ok(open >= 1 && open <= capacity, `${name}: ${open}`)
  assert.ok(members.some(({ capacity }) => capacity === 5))
  // Nothing lasts, nothing overlaps, and the counts of the policy are those of its line.
  const [spans] = await db`
    select count(*)::int as count, count(distinct member_id)::int as members, count(distinct started_at::date)::int as days,
      count(*) filter (where started_at >= ended_at or ended_at > now() or exists (
        select from availability_spans o
        where o.workspace_id = s.workspace_id and o.member_id = s.member_id and o.started_at > s.started_at and o.started_at < s.ended_at
      ))::int as wrong
    from availability_spans s where workspace_id = ${demo.workspace_id}`
  assert.ok(spans && spans.days >= 12, JSON.stringify(spans))
  assertFields(spans, { members: 3, wrong: 0 })
  const lines = await db`
    select details from timeline_entries where workspace_id = ${demo.workspace_id} and details->>'by' = 'policy'`
  assert.ok(lines.length >= 5)
  for (const { details } of lines)
    assert.ok(details.open >= 1 && details.open <= details.capacity, JSON.stringify(details))
})

test('the demo’s episodes agree with its messages and its timeline, and reports count them', async () => {
  const { db, demo, browser } = await joinDemo()
  const { workspace_id: id } = demo
  const wrong = await db`
    with
    numbered as (
      select e.*, v.status, v.team_id as current_team_id, v.assigned_agent_id as current_member_id, v.episode_id as open_id, v.episode_messages, v.episode_replies,
        lag(e.id) over w as before_id, lag(e.closed_at) over w as before_closed_at, lead(e.opened_at) over w as next_at
      from episodes e join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
      where e.workspace_id = ${id}
      window w as (partition by e.conversation_id order by e.opened_at)
    )
    select n.id from numbered n
    cross join lateral (
      select count(*) filter (where m.direction = 'inbound' and not (${isRatingAnswer(db)}))::int as received,
        count(*) filter (where m.sender_id is not null and m.status <> 'failed')::int as replies,
        min(m.created_at) filter (where m.sender_id is not null and m.status <> 'failed') as first_reply_at,
        min(m.created_at) filter (where m.direction = 'inbound' or m.sender_id is not null) as opened_at
      from messages m
      where m.workspace_id = n.workspace_id and m.conversation_id = n.conversation_id and m.created_at >= n.opened_at
        and m.created_at < coalesce(n.closed_at, now())
    ) m
    where m.opened_at <> n.opened_at or m.first_reply_at is distinct from n.first_reply_at or (n.closed_at > n.next_at)
      or (m.received, m.replies) <> (
        case when n.closed_at is null then n.episode_messages else n.customer_messages end,
        case when n.closed_at is null then n.episode_replies else n.replies end
      )
      or (n.closed_at is null) <> (n.open_id = n.id) is true or (n.next_at is null and (n.status = 'closed') <> (n.closed_at is not null))
      or n.reopened_from is distinct from case when n.before_closed_at > n.opened_at - interval '24 hours' then n.before_id end
      or (n.closed_at is not null and n.replies > 0 and n.member_id is distinct from n.current_member_id)
      or (n.closed_at is not null and (n.team_id is distinct from n.current_team_id or not exists (
        select from timeline_entries t
        where t.workspace_id = n.workspace_id and t.conversation_id = n.conversation_id and t.created_at = n.closed_at
          and t.details->>'status' = 'closed' and (t.member_id is not distinct from n.closed_by_id or t.details->>'run_id' = n.closed_by_id::text)
      )))`
  assert.deepEqual([...wrong], [])
  const [counts] = await db`
    select count(*)::int as opened, count(closed_at)::int as closed, count(reopened_from)::int as reopened,
      count(distinct first_reply_by)::int as members
    from episodes where workspace_id = ${id}`
  assert.ok(counts && counts.opened >= 30 && counts.reopened >= 1, JSON.stringify(counts))
  const overview = await until('the hours and the counters of all episodes', async () => {
    const [left] = await db`
      select (select count(*) from report_changes where workspace_id = ${id})::int as changes, (
          select count(*) from episodes where workspace_id = ${id} and closed_at is not null and office_closing_s is null
        )::int as hours`
    return left?.changes === 0 && left.hours === 0 && dataOf(browser, '/reports/overview')
  })
  const { opened, closed, reopened } = counts
  assertFields(overview.totals, { opened, closed, reopened })
  assert.ok(overview.totals.first_reply.median_seconds > 60 && overview.totals.first_reply.median_seconds < 7_200)
  for (const [name, count] of [
    ['members', counts.members],
    ['teams', 2],
    ['connections', 3],
    ['labels', 5],
  ] as const) {
    const { rows } = await dataOf(browser, `/reports/${name}`)
    assert.ok(rows.filter((row: Json) => row.id !== null && row.opened > 0).length >= count, `${name}: ${rows.length}`)
  }
  assert.ok((await dataOf(browser, '/reports/busy_hours')).hours.length >= 10)
})

test('the demo’s targets have outcomes of the past, and clocks that run', async () => {
  const { db, demo, browser } = await joinDemo()
  const { workspace_id: id } = demo
  assert.equal((await dataOf(browser, '/targets')).length, 2)
  await until('the clocks', async () => {
    const [left] = await db`select count(*)::int as count from target_changes where workspace_id = ${id}`
    return left?.count === 0
  })
  const clocks = await db<{ kind: string; outcome: string; ms: number; limit_ms: number }[]>`
    select k.kind, k.outcome, extract(epoch from e.first_reply_at - e.opened_at)::float8 * 1000 as ms,
      t.first_reply_minutes * 60000 as limit_ms
    from target_clocks k
    join targets t on t.workspace_id = k.workspace_id and t.id = k.target_id
    join episodes e on e.workspace_id = k.workspace_id and e.id = k.episode_id
    where k.workspace_id = ${id} and k.outcome is not null`
  for (const kind of ['first_reply', 'next_reply', 'closing'])
    assert.ok(
      clocks.some((clock) => clock.kind === kind),
      kind,
    )
  const replied = clocks.filter(({ kind, ms }) => kind === 'first_reply' && ms !== null)
  assert.ok(replied.length >= 20)
  assert.deepEqual(
    replied.filter(({ outcome, ms, limit_ms }) => (outcome === 'met') !== ms <= limit_ms),
    [],
  )
  const due: Json[] = await dataOf(browser, '/conversations?status=open&sort=due')
  const times = due.flatMap(({ due_at }) => (due_at ? [Date.parse(due_at) - Date.now()] : []))
  const isSoon = (ms: number) => ms > 0 && ms < 3_600_000
  assert.ok(times.some((ms) => ms < 0) && times.some(isSoon) && times.length >= 5, `${times}`)
})

test('the demo has a week of ratings, in threads and on contacts', async () => {
  const { db, demo, browser } = await joinDemo()
  const { workspace_id: id } = demo
  const ratings = await db`
    select r.*, e.closed_at, v.rating_message_id,
      (select m.sender_id from messages m
        where m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id and m.sender_id is not null
          and m.created_at < e.closed_at order by m.id desc limit 1) as replied_by,
      (select count(*)::int from messages m
        where m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id
          and (m.id in (r.message_id, r.thanks_id) or m.reply_to_message_id = r.message_id or m.content_text = r.comment)) as messages
    from ratings r
    join episodes e on e.workspace_id = r.workspace_id and e.id = r.episode_id
    join conversations v on v.workspace_id = r.workspace_id and v.id = r.conversation_id
    where r.workspace_id = ${id}`
  const rated = ratings.filter(({ rating }) => rating !== null)
  assert.deepEqual([rated.length, ratings.length], [9, 15])
  assert.deepEqual([...new Set(rated.map(({ rating }) => rating))].sort(), [2, 3, 4, 5])
  for (const one of ratings) {
    assertFields(one, { due_at: null, member_id: one.replied_by, is_announced: one.rating !== null })
    assert.equal(one.rating_message_id, one.message_id)
    assert.equal(one.messages, (one.rating === null ? 1 : 3) + (one.comment === null ? 0 : 1))
    assert.equal(Date.parse(one.asked_at) - Date.parse(one.closed_at), 60_000)
    if (one.rating === null) continue
    const lines: Json[] = await dataOf(browser, `/conversations/${one.conversation_id}/timeline`)
    assert.equal(lines.find(({ kind }) => kind === 'rated')?.details.rating, one.rating)
    const [listed] = await dataOf(browser, `/contacts/${one.contact_id}/ratings`)
    assertFields(listed, { rating: one.rating, comment: one.comment })
  }
  assert.ok(rated.filter(({ comment }) => comment !== null).length >= 2)
  // Customers are asked from now on, and not about the past.
  assertFields(await dataOf(browser, '/satisfaction'), { is_on: true })
})

test('the demo has automations in each state, with runs, and none answers a customer', async () => {
  const { db, demo, browser } = await joinDemo()
  const automations: Json[] = await dataOf(browser, '/automations')
  assert.deepEqual(
    automations.map(({ name, state, definition, draft }) => [name, state, (definition ?? draft).trigger.type]),
    [
      ['Welcome menu', 'draft', 'message'],
      ['Close as answered', 'active', 'manual'],
      ['Close after silence', 'paused', 'silence'],
    ],
  )
  const [, macro] = automations
  const runs: Json[] = await dataOf(browser, `/automations/${macro.id}/runs`)
  assert.ok(runs.length >= 2)
  assert.deepEqual([macro.recent_runs.finished, macro.recent_runs.started], [runs.length, runs.length])
  for (const { id, reason, conversation_id, started_at, ended_at } of runs) {
    const run = await dataOf(browser, `/automation-runs/${id}`)
    assert.deepEqual([reason, run.steps.length, started_at < ended_at], ['finished', 2, true])
    assert.equal((await dataOf(browser, `/conversations/${conversation_id}`)).status, 'closed')
  }
  const [workspace] = await db`select automation_kinds from workspaces where id = ${demo.workspace_id}`
  assert.deepEqual(workspace?.automation_kinds, ['manual', 'paused'])
})

test('the phones of the demo’s customers have their history, the last conversation first', async () => {
  const { db, demo } = await joinDemo()
  const phones = await listDemoHistory(db)
  const onPhones = demoThreads.filter(({ channel }) => channel !== 'web')
  assert.ok(phones.length >= new Set(onPhones.map((thread) => thread.with)).size - 1)
  assert.ok(phones.every(({ workspace_id, bubbles }) => workspace_id === demo.workspace_id && bubbles.length > 0))
  const last = phones.at(-1)
  assert.equal(last?.id, demoPeople.samuel.phone)
  assert.match(last?.bubbles.at(-1)?.text ?? '', /cannot find the parcel/)
  const bubbles = phones.flatMap((phone) => phone.bubbles)
  for (const type of ['image', 'location', 'reaction', 'template']) {
    const found = bubbles.find((bubble) => bubble.type === type)
    assert.ok(found && (found.media ?? found.location ?? found.reaction ?? found.template), type)
  }
  const ids = new Set(bubbles.map(({ id }) => id))
  const targets = bubbles.flatMap(({ reply_to, reaction }) => reply_to ?? reaction?.message_id ?? [])
  assert.ok(targets.length > 2 && targets.every((id) => ids.has(id)))
})

test('replies of the demo refer only to earlier messages', () => {
  for (const { with: key, lines, unread = 0 } of demoThreads) {
    const last = lines.slice(lines.length - unread)
    const areCustomers = last.every(({ from }) => from === 'customer')
    assert.ok(areCustomers, `${key}: only customers' lines are unread`)
    lines.forEach(({ quotes, reacts }, place) => {
      const target = quotes ?? reacts
      if (target === undefined) return
      assert.ok(target < place, `${key}: line ${place} refers to line ${target}`)
      assert.notEqual(lines[target]?.from === 'customer', lines[place]?.from === 'customer', `${key}: line ${place}`)
    })
  }
})

test('processes that start at once create one history, and a later start adds nothing', async (t) => {
  const database = await createDatabase(t)
  const [one, two] = [database.connect(2), database.connect(2)]
  const makings = [making(t, one), making(t, two)]
  const demos = await Promise.all(makings.map(resolveDemo))
  const made = demos.filter((demo) => demo !== undefined)
  assert.equal(made.length, 1)
  const [demo] = made
  assert.ok(demo)
  const before = await countOf(one, demo)
  for (const again of makings) await resolveDemo(again)
  assert.deepEqual(await countOf(one, demo), before)
  const winner = makings.find(({ dataDir }) => existsSync(join(dataDir, 'demo.json')))
  const [media] = await one<{ id: string }[]>`select id from media`
  assert.ok(winner && media && (await winner.store.get(media.id)), 'its pictures are in the store')
})

test('a demo that cannot be created completely is not created', async (t) => {
  const db = (await createDatabase(t)).connect(2)
  const broken = making(t, db)
  const full = new Error('the disk is full')
  const store = { ...broken.store, put: () => Promise.reject(full) }
  await assert.rejects(resolveDemo({ ...broken, store }), full)
  for (const table of ['workspaces', 'contacts', 'messages', 'connection_outcomes']) {
    assert.equal((await db`select 1 from ${db(table)}`).length, 0, table)
  }
  assert.ok(await resolveDemo(broken), 'the next start makes it')
})
