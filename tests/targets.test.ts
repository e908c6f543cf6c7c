/** Service level targets: which applies, when a clock runs, breaches that are recorded once, and what automations and lists make of them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { note, startAutomated } from './automated.ts'
import {
  assertBadRequest,
  assertFields,
  assertRefused,
  createMember,
  dataOf,
  type Json,
  main,
  pluck,
  signIn,
  start,
  until,
} from './support.ts'

const phoneOf = (i: number) => `+1415588${String(i).padStart(4, '0')}`
const labeled = (name: string) => ({ match: 'all', rules: [{ field: 'label', op: 'has', value: name }] })
const minuteMs = 60_000

async function startWorld(t: TestContext) {
  const world = await startAutomated(t)
  const { db, api, ask } = world
  const { workspaceId } = api
  const create = async (target: Json): Promise<Json> => (await ask('POST', '/targets', target, 201)).data
  const change = async (id: string, changes: Json): Promise<Json> =>
    (await ask('PATCH', `/targets/${id}`, changes)).data
  const reply = async (id: string, text = 'hi'): Promise<Json> =>
    (await ask('POST', `/conversations/${id}/messages`, { type: 'text', text }, 201)).data
  const update = async (id: string, changes: Json): Promise<Json> =>
    (await ask('PATCH', `/conversations/${id}`, changes)).data
  const rowOf = async (id: string): Promise<Json> => (await ask('GET', `/conversations/${id}`)).data
  /** Everything that has happened is followed. */
  const settle = () =>
    until('the clocks to follow', async () => {
      const open = await db`
        select from target_changes where workspace_id = ${workspaceId}
        union all
        select from target_clocks where workspace_id = ${workspaceId} and next_at <= now()
        union all
        select from target_workspaces where workspace_id = ${workspaceId} and (is_requested or ready_after is not null)`
      return open.length === 0
    })
  const followed = async (id: string): Promise<Json> => {
    await settle()
    return rowOf(id)
  }
  /** So much time has passed for the conversation: all its times are that much earlier. */
  const wait = async (id: string, minutes: number) => {
    await settle()
    await db.begin(async (sql) => {
      await sql`
        update target_clocks k set started_at = k.started_at - i.by, due_at = k.due_at - i.by, next_at = k.next_at - i.by,
          breached_at = k.breached_at - i.by, ended_at = k.ended_at - i.by
        from episodes e, make_interval(secs => ${minutes * 60}) as i (by)
        where k.workspace_id = ${workspaceId} and e.workspace_id = k.workspace_id and e.id = k.episode_id and e.conversation_id = ${id}`
      const rows = await sql<{ episode_id: string; track: Json }[]>`
        select f.episode_id, f.track from target_episodes f join episodes e on e.workspace_id = f.workspace_id and e.id = f.episode_id
        where f.workspace_id = ${workspaceId} and e.conversation_id = ${id}`
      for (const { episode_id, track } of rows) {
        const earlier = (value: unknown): unknown =>
          Array.isArray(value)
            ? value.map(earlier)
            : typeof value === 'number' && value > 1e12
              ? value - minutes * minuteMs
              : value
        const moved = Object.fromEntries(Object.entries(track).map(([name, value]) => [name, earlier(value)]))
        await sql`
          update target_episodes set track = ${sql.json(moved as Json)} where workspace_id = ${workspaceId} and episode_id = ${episode_id}`
      }
      // Targets and automations are that much older, too.
      await sql`
        update targets set updated_at = updated_at - make_interval(secs => ${minutes * 60}) where workspace_id = ${workspaceId}`
      await sql`
        update automations set checked_until = checked_until - make_interval(secs => ${minutes * 60}) where workspace_id = ${workspaceId}`
      await sql`
        update conversations set waiting_since = waiting_since - make_interval(secs => ${minutes * 60})
        where workspace_id = ${workspaceId} and id = ${id}`
    })
    await settle()
  }
  const clocksOf = async (id: string): Promise<Json[]> => {
    await settle()
    return db<Json[]>`
      select k.kind, k.outcome, k.breached_at, k.due_at, k.ended_at, k.target_id from target_clocks k
      join episodes e on e.workspace_id = k.workspace_id and e.id = k.episode_id
      where k.workspace_id = ${workspaceId} and e.conversation_id = ${id}
      order by e.opened_at, k.kind`
  }
  const outcomesOf = async (id: string) => pluck(await clocksOf(id), 'kind', 'outcome')
  const list = async (query: string): Promise<string[]> =>
    pluck((await ask('GET', `/conversations?${query}`)).data, 'id')
  return { ...world, create, change, reply, update, rowOf, settle, followed, wait, clocksOf, outcomesOf, list }
}

/** In minutes from now, rounded. */
const dueIn = ({ due_at }: Json): number => Math.round((Date.parse(due_at) - Date.now()) / minuteMs)

test('managers create, order, change and delete targets, and every member sees them', main, async (t) => {
  const browser = await signIn(await start(t))
  const first: Json = dataOf(await browser.call('POST', '/targets', { name: ' Fast ', first_reply_minutes: 5 }), 201)
  assertFields(first, {
    ...{ name: 'Fast', position: 0, is_active: true, is_office_time: false, conditions: null },
    ...{ first_reply_minutes: 5, next_reply_minutes: null, closing_minutes: null },
  })
  const conditions = labeled('VIP')
  const second: Json = dataOf(
    await browser.call('POST', '/targets', { name: 'VIP', closing_minutes: 60, conditions }),
    201,
  )
  // The one without conditions stays the last resort.
  assertFields(second, { position: 0, conditions })
  const agent = await createMember(browser, 'agent')
  assert.deepEqual((await agent.ask('GET', '/targets')).data, [second, { ...first, position: 1 }])
  for (const [method, path] of [
    ['POST', '/targets'],
    ['POST', '/targets/preview'],
    ['PATCH', `/targets/${first.id}`],
    ['DELETE', `/targets/${first.id}`],
  ] as const) {
    assertRefused(await agent.call(method, path, method === 'DELETE' ? undefined : { name: 'Mine' }), 403, 'forbidden')
  }
  dataOf(await browser.call('PATCH', `/targets/${first.id}`, { position: 0 }))
  assert.deepEqual(pluck((await browser.ask('GET', '/targets')).data, 'name'), ['Fast', 'VIP'])
  dataOf(await browser.call('PATCH', `/targets/${second.id}`, { position: 0 }))
  assert.deepEqual(pluck((await browser.ask('GET', '/targets')).data, 'name', 'position'), [
    ['VIP', 0],
    ['Fast', 1],
  ])
  const changed = dataOf(
    await browser.call('PATCH', `/targets/${first.id}`, {
      first_reply_minutes: null,
      next_reply_minutes: 9,
      is_active: false,
    }),
  )
  assertFields(changed, { name: 'Fast', first_reply_minutes: null, next_reply_minutes: 9, is_active: false })
  assertBadRequest(await browser.call('PATCH', `/targets/${first.id}`, { name: 'vip' }), 'name: already in use')
  assertBadRequest(await browser.call('PATCH', `/targets/${first.id}`, { name: ' ' }), 'name: must not be blank')
  assertBadRequest(
    await browser.call('PATCH', `/targets/${first.id}`, { next_reply_minutes: null }),
    'first_reply_minutes: one of first_reply_minutes, next_reply_minutes and closing_minutes is required',
  )
  const wrong = { match: 'all', rules: [{ field: 'status', op: 'is', value: 'open' }] }
  const refused = await browser.call('PATCH', `/targets/${first.id}`, { conditions: wrong })
  assert.match(refused.body.error.message, /^conditions\.rules\[0\]\.field: unknown; use one of/)
  assertFields(dataOf(await browser.call('DELETE', `/targets/${second.id}`)), { id: second.id, deleted: true })
  assert.deepEqual(pluck((await browser.ask('GET', '/targets')).data, 'name', 'position'), [['Fast', 0]])
  assertRefused(await browser.call('PATCH', `/targets/${second.id}`, { name: 'Late' }), 404, 'not_found')
  // The name of a deleted one is free.
  dataOf(await browser.call('POST', '/targets', { name: 'VIP', closing_minutes: 60 }), 201)
  for (let i = 2; i < 20; i++)
    dataOf(await browser.call('POST', '/targets', { name: `T${i}`, closing_minutes: 60 }), 201)
  assert.deepEqual(pluck((await browser.ask('GET', '/targets')).data, 'position'), [...Array(20).keys()])
  assertBadRequest(
    await browser.call('POST', '/targets', { name: 'More', closing_minutes: 60 }),
    'there are 20 targets already',
  )
  const { data: entries } = await browser.ask('GET', '/audit?object=target')
  assert.deepEqual(pluck(entries.slice(-1), 'action', 'summary'), [['target.created', 'Fast']])
})

test('a clock runs while the customer waits, and its outcome is met or missed', main, async (t) => {
  const { create, converse, provider, reply, update, followed, wait, outcomesOf, clocksOf } = await startWorld(t)
  await create({ name: 'All', first_reply_minutes: 10, next_reply_minutes: 20, closing_minutes: 45 })
  const { id } = await converse(phoneOf(1))
  const row = await followed(id)
  assertFields(row, { due_kind: 'first_reply' })
  assert.equal(dueIn(row), 10)
  await reply(id)
  // While we wait for the customer no clock runs.
  assertFields(await followed(id), { due_at: null, due_kind: null })
  await update(id, { snoozed_until: new Date(Date.now() + 3_600_000).toISOString() })
  assertFields(await followed(id), { due_at: null, due_kind: null })
  await provider.writes({ from: phoneOf(1), text: 'and now?' })
  const waiting = await followed(id)
  assertFields(waiting, { due_kind: 'next_reply' })
  assert.equal(dueIn(waiting), 20)
  await wait(id, 25)
  const late = await followed(id)
  assert.equal(dueIn(late), -5)
  assert.deepEqual(await outcomesOf(id), [
    ['closing', null],
    ['first_reply', 'met'],
    ['next_reply', 'missed'],
  ])
  await reply(id)
  await provider.writes({ from: phoneOf(1), text: 'thanks' })
  const third = await followed(id)
  // 25 of 45 minutes are used, so a next reply is due at the same time as the closing.
  assert.equal(dueIn(third), 20)
  await reply(id)
  await update(id, { status: 'closed' })
  assertFields(await followed(id), { due_at: null, due_kind: null })
  const clocks = await clocksOf(id)
  assert.deepEqual(pluck(clocks, 'kind', 'outcome'), [
    ['closing', 'met'],
    ['first_reply', 'met'],
    ['next_reply', 'missed'],
  ])
  for (const clock of clocks) assert.ok(clock.ended_at, clock.kind)
  // The next message opens another episode, which has clocks of its own.
  await provider.writes({ from: phoneOf(1), text: 'one more' })
  assertFields(await followed(id), { due_kind: 'first_reply' })
  assert.equal((await clocksOf(id)).length, 5)
})

test('a miss stays with the member who had the conversation, and keeps its time when the target changes', async (t) => {
  const { ask, browser, create, change, converse, reply, update, followed, wait } = await startWorld(t)
  const ana = await createMember(browser, 'agent', { name: 'Ana' })
  const ben = await createMember(browser, 'agent', { name: 'Ben' })
  const target = await create({ name: 'All', first_reply_minutes: 10 })
  const { id } = await converse(phoneOf(2))
  await update(id, { assigned_agent_id: ana.id })
  await wait(id, 15)
  await update(id, { assigned_agent_id: ben.id })
  await change(target.id, { first_reply_minutes: 100 })
  assert.equal(dueIn(await followed(id)), 85)
  await reply(id)
  await followed(id)
  const [missed, ...rest] = (await ask('GET', '/reports/targets/outcomes?figure=missed')).data
  assert.deepEqual(rest, [])
  const [outcome] = missed.outcomes
  assert.equal(outcome.member, 'Ana')
  assert.equal(outcome.due_at, outcome.at)
  assert.ok(Date.parse(outcome.due_at) < Date.parse(outcome.ended_at))
  for (const [member, count] of [
    [ana, 1],
    [ben, 0],
  ] as const) {
    const { totals } = (await ask('GET', `/reports/targets?member_id=${member.id}`)).data
    assert.deepEqual(totals.first_reply, { met: 0, missed: count })
  }
})

test('a miss ends with the reply or the closing, also when its target does not apply any more', async (t) => {
  const { ask, create, change, converse, reply, update, provider, followed, wait, clocksOf, settle } =
    await startWorld(t)
  const other = await create({ name: 'Other', closing_minutes: 600, conditions: labeled('Other') })
  const all = await create({ name: 'All', first_reply_minutes: 10, next_reply_minutes: 10 })
  const passOn = async (id: string) => {
    await wait(id, 15)
    await update(id, { add_labels: ['Other'] })
    await settle()
  }
  const endsOf = async (id: string) =>
    (await clocksOf(id))
      .filter(({ target_id }) => target_id === all.id)
      .map(({ kind, outcome, ended_at }) => [kind, outcome, ended_at !== null])
  const [replied, closed, next] = [
    await converse(phoneOf(70)),
    await converse(phoneOf(71)),
    await converse(phoneOf(72)),
  ]
  await passOn(replied.id)
  assert.deepEqual(await endsOf(replied.id), [['first_reply', 'missed', false]])
  await reply(replied.id)
  assert.deepEqual(await endsOf(replied.id), [['first_reply', 'missed', true]])
  await passOn(closed.id)
  await update(closed.id, { status: 'closed' })
  assert.deepEqual(await endsOf(closed.id), [['first_reply', 'missed', true]])
  await reply(next.id)
  await provider.writes({ from: phoneOf(72), text: 'and now?' })
  await passOn(next.id)
  await reply(next.id)
  const ended = [
    ['first_reply', 'met', true],
    ['next_reply', 'missed', true],
  ]
  assert.deepEqual(await endsOf(next.id), ended)
  await provider.writes({ from: phoneOf(72), text: 'once more' })
  assert.deepEqual(await endsOf(next.id), ended)
  // The time of a target is removed, and then all targets are off.
  const [removed, off] = [await converse(phoneOf(73)), await converse(phoneOf(74))]
  await wait(removed.id, 15)
  await wait(off.id, 15)
  await change(all.id, { first_reply_minutes: null })
  await settle()
  await reply(removed.id)
  assert.deepEqual(await endsOf(removed.id), [['first_reply', 'missed', true]])
  for (const { id } of [all, other]) await change(id, { is_active: false })
  await followed(off.id)
  await update(off.id, { status: 'closed' })
  const { data } = await ask('GET', '/reports/targets/outcomes?figure=missed')
  const lateness = data.map(({ outcomes: [one] }: Json) =>
    Math.round((Date.parse(one.ended_at) - Date.parse(one.at)) / minuteMs),
  )
  assert.deepEqual(lateness, [5, 5, 5, 5, 5])
  const { totals } = (await ask('GET', '/reports/targets')).data
  assertFields(totals, { first_reply: { met: 1, missed: 4 }, next_reply: { met: 0, missed: 1 } })
})

test('the first active target whose conditions match applies, also after they change', async (t) => {
  const { create, change, converse, update, followed, clocksOf, wait } = await startWorld(t)
  const all = await create({ name: 'All', first_reply_minutes: 60 })
  const vip = await create({ name: 'VIP', first_reply_minutes: 5, conditions: labeled('VIP') })
  const { id } = await converse(phoneOf(2))
  assert.equal(dueIn(await followed(id)), 60)
  await change(vip.id, { position: 0 })
  assert.equal(dueIn(await followed(id)), 60)
  await update(id, { add_labels: ['VIP'] })
  assert.equal(dueIn(await followed(id)), 5)
  assert.deepEqual(pluck(await clocksOf(id), 'target_id'), [vip.id])
  await update(id, { remove_labels: ['VIP'] })
  assert.equal(dueIn(await followed(id)), 60)
  await wait(id, 30)
  await change(all.id, { first_reply_minutes: 40 })
  assert.equal(dueIn(await followed(id)), 10)
  await change(all.id, { is_active: false })
  assertFields(await followed(id), { due_at: null })
  assert.equal((await clocksOf(id)).length, 0)
})

test('a target that applies after its time has run out has no miss of its own', async (t) => {
  const world = await startWorld(t)
  const { ask, create, change, converse, reply, update, provider, followed, wait, settle, outcomesOf, clocksOf } = world
  const createTeam = async (name: string): Promise<string> => (await ask('POST', '/teams', { name }, 201)).data.id
  const [bookings, repairs] = [await createTeam('Bookings'), await createTeam('Repairs')]
  const ofTeam = (value: string) => ({ match: 'all', rules: [{ field: 'team', op: 'is', value }] })
  const times = { first_reply_minutes: 10, next_reply_minutes: 10 }
  const fast = await create({ name: 'Fast', ...times, conditions: ofTeam(bookings) })
  const slow = await create({ name: 'Slow', first_reply_minutes: 20, conditions: ofTeam(repairs) })
  await change(slow.id, { next_reply_minutes: 20 })
  const [early, late] = [await converse(phoneOf(60)), await converse(phoneOf(61))]
  for (const { id } of [early, late]) await update(id, { assigned_team_id: bookings })
  await wait(early.id, 15)
  await wait(late.id, 25)
  for (const { id } of [early, late]) await update(id, { assigned_team_id: repairs })
  // What is left of the time counts from the beginning of the wait.
  assert.equal(dueIn(await followed(early.id)), 5)
  const isOfFast = async () =>
    assert.deepEqual(pluck(await clocksOf(late.id), 'target_id', 'kind', 'outcome'), [
      [fast.id, 'first_reply', 'missed'],
    ])
  assertFields(await followed(late.id), { due_at: null, due_kind: null })
  await isOfFast()
  // Neither another change of the conversation nor one of the target counts it.
  await update(late.id, { add_labels: ['Later'] })
  await wait(late.id, 1)
  await change(slow.id, { name: 'Slower' })
  assertFields(await followed(late.id), { due_at: null })
  await isOfFast()
  const preview = await ask('POST', '/targets/preview', {
    ...{ id: slow.id, first_reply_minutes: 20, conditions: ofTeam(repairs) },
  })
  assert.deepEqual(pluck(preview.data.conversations, 'id'), [early.id])
  assertFields((await ask('POST', '/targets/preview', { id: 'none', first_reply_minutes: 20 })).data, { count: 0 })
  // The target that missed it shows it as late again.
  await update(late.id, { assigned_team_id: bookings })
  assert.equal(dueIn(await followed(late.id)), -16)
  await update(late.id, { assigned_team_id: repairs })
  await reply(late.id)
  await provider.writes({ from: phoneOf(61), text: 'and now?' })
  const waiting = await followed(late.id)
  assertFields(waiting, { due_kind: 'next_reply' })
  assert.equal(dueIn(waiting), 20)
  await wait(late.id, 21)
  assert.deepEqual(await outcomesOf(late.id), [
    ['first_reply', 'missed'],
    ['next_reply', 'missed'],
  ])
  // A new target applies to waits from their start.
  const other = await converse(phoneOf(62))
  await wait(other.id, 60)
  for (const team of [bookings, null]) {
    await update(other.id, { assigned_team_id: team })
    await settle()
  }
  assertFields((await ask('POST', '/targets/preview', { first_reply_minutes: 30 })).data, { overdue_count: 1 })
  await create({ name: 'All', first_reply_minutes: 30 })
  assert.equal(dueIn(await followed(other.id)), -30)
  assert.deepEqual(await outcomesOf(other.id), [['first_reply', 'missed']])
})

test('office hours count, and a change of the schedule moves the clocks', async (t) => {
  const { ask, create, converse, followed } = await startWorld(t)
  await create({ name: 'Office', first_reply_minutes: 60, is_office_time: true })
  const { id } = await converse(phoneOf(3))
  // Without a schedule it is always open.
  assert.equal(dueIn(await followed(id)), 60)
  const schedule = { name: 'Never', time_zone: 'UTC', periods: [], is_default: true }
  const { data } = await ask('POST', '/schedules', schedule, 201)
  assertFields(await followed(id), { due_at: null })
  const periods = [0, 1, 2, 3, 4, 5, 6].map((day) => ({ day, from: '00:00', to: '24:00' }))
  await ask('PATCH', `/schedules/${data.id}`, { periods })
  assert.equal(dueIn(await followed(id)), 60)
  const soon = new Date(Date.now() + 30 * minuteMs).toISOString().slice(0, 10)
  await ask('PATCH', `/schedules/${data.id}`, {
    holidays: [soon, new Date().toISOString().slice(0, 10)].map((date) => ({ date, name: 'Closed' })),
  })
  const closed = await followed(id)
  assert.ok(closed.due_at === null || dueIn(closed) > 60)
})

test('lists sort by the due time and filter what is overdue, page by page', async (t) => {
  const { ask, create, converse, wait, reply, list, settle } = await startWorld(t)
  await create({ name: 'All', first_reply_minutes: 30 })
  const ids: string[] = []
  for (let i = 10; i < 15; i++) ids.push((await converse(phoneOf(i))).id)
  const [a = '', b = '', c = '', d = '', e = ''] = ids
  await wait(c, 40)
  await wait(e, 10)
  await wait(a, 50)
  await reply(d)
  await settle()
  assert.deepEqual(await list('sort=due'), [a, c, e, b, d])
  assert.deepEqual(await list('overdue=true&sort=due'), [a, c])
  assert.deepEqual(await list('overdue=true'), [c, a])
  assert.deepEqual(await list('overdue=true&assigned=nobody&status=open'), [c, a])
  const paged: string[] = []
  let cursor = ''
  do {
    const page = await ask('GET', `/conversations?sort=due&limit=2${cursor && `&cursor=${cursor}`}`)
    paged.push(...pluck(page.data, 'id'))
    cursor = page.meta.next_cursor
  } while (cursor)
  assert.deepEqual(paged, [a, c, e, b, d])
  const view = (await ask('POST', '/views', { name: 'Overdue', filters: { overdue: 'true', sort: 'due' } }, 201)).data
  const { views } = (await ask('GET', '/inbox/counts')).data
  assertFields(
    views.find((one: Json) => one.id === view.id),
    { count: 2 },
  )
})

test('a preview counts the open conversations that a target would put on the clock', async (t) => {
  const { ask, create, change, converse, wait, reply, update } = await startWorld(t)
  const vip = await create({ name: 'VIP', first_reply_minutes: 5, conditions: labeled('VIP') })
  const [one, two, three] = [await converse(phoneOf(20)), await converse(phoneOf(21)), await converse(phoneOf(22))]
  await update(one.id, { add_labels: ['VIP'] })
  await wait(two.id, 90)
  await reply(three.id)
  const preview = async (body: Json): Promise<Json> => (await ask('POST', '/targets/preview', body)).data
  const fresh = await preview({ first_reply_minutes: 60 })
  assertFields(fresh, { count: 1, overdue_count: 1, has_more: false })
  assertFields(fresh.conversations[0], { id: two.id, contact_name: 'Ann', due_kind: 'first_reply' })
  assert.equal(dueIn(fresh.conversations[0]), -30)
  const edited = await preview({ id: vip.id, first_reply_minutes: 60 })
  assert.deepEqual(pluck(edited.conversations, 'id'), [two.id, one.id])
  const labels = await preview({ first_reply_minutes: 60, conditions: labeled('Unused label') })
  assertFields(labels, { count: 0, conversations: [], taken_count: 0, taken_by: [] })
  assertFields(fresh, { taken_count: 1, taken_by: ['VIP'] })
  // A new one with conditions comes before the last resort, and is not taken by it; the one below it is.
  const all = await create({ name: 'All', first_reply_minutes: 10 })
  assertFields(await preview({ first_reply_minutes: 60 }), { count: 0, taken_count: 2, taken_by: ['VIP', 'All'] })
  const vips = { first_reply_minutes: 60, conditions: labeled('VIP') }
  assertFields(await preview(vips), { count: 0, taken_count: 1, taken_by: ['VIP'] })
  await change(all.id, { position: 0 })
  assertFields(await preview({ ...vips, id: vip.id }), { count: 0, taken_count: 1, taken_by: ['All'] })
})

test('automations react before and at the breach, once per wait', async (t) => {
  const { create, change, publish, converse, wait, reply, provider, runsOf, followed, settle } = await startWorld(t)
  const target = await create({ name: 'All', first_reply_minutes: 30, next_reply_minutes: 30 })
  const on = (trigger: Json) => ({ trigger: { type: 'target', ...trigger }, steps: [note('x')] })
  const before = await publish('Before', on({ event: 'due', before: '10m', target: target.id }))
  const other = await publish('Other', on({ event: 'due', before: '10m', clock: 'closing' }))
  const at = await publish('At', on({ event: 'breached' }))
  const { id } = await converse(phoneOf(30))
  await wait(id, 15)
  assert.deepEqual(await runsOf(before), [])
  await wait(id, 7)
  await until('the run before the breach', async () => (await runsOf(before)).length === 1)
  await wait(id, 1)
  await wait(id, 20)
  await until('the run at the breach', async () => (await runsOf(at)).length === 1)
  await wait(id, 20)
  await reply(id)
  await provider.writes({ from: phoneOf(30), text: 'again' })
  await followed(id)
  await wait(id, 40)
  await until('the run of the next wait', async () => (await runsOf(at)).length === 2)
  assert.equal((await runsOf(before)).length, 1, 'what is late already is not announced')
  assert.deepEqual(await runsOf(other), [])
  // What only an edit makes late starts nothing.
  const second = await converse(phoneOf(31))
  await wait(second.id, 20)
  await change(target.id, { first_reply_minutes: 1 })
  await settle()
  assert.ok(dueIn(await followed(second.id)) < 0)
  const marker = await converse(phoneOf(32))
  await wait(marker.id, 5)
  await until('the run of the marker', async () =>
    (await runsOf(at)).some(({ conversation_id }) => conversation_id === marker.id),
  )
  assert.ok(!(await runsOf(at)).some(({ conversation_id }) => conversation_id === second.id))
})

test('two processes record each breach once, and a reply in time wins over a late worker', async (t) => {
  const { api, db, twin, create, publish, provider, wait, rowOf, converse, runsOf, settle, outcomesOf } =
    await startWorld(t)
  await twin()
  await create({ name: 'All', first_reply_minutes: 30 })
  const at = await publish('At', { trigger: { type: 'target', event: 'breached' }, steps: [note('x')] })
  const phones = Array.from({ length: 30 }, (_, i) => phoneOf(100 + i))
  await Promise.all(phones.map((from) => provider.writes({ from, name: 'Ann', text: 'hello' })))
  await settle()
  await db`update targets set updated_at = updated_at - interval '1 hour' where workspace_id = ${api.workspaceId}`
  await db`
    update conversations set waiting_since = waiting_since - interval '31 minutes'
    where workspace_id = ${api.workspaceId} and waiting_since is not null`
  await until('30 runs', async () => (await runsOf(at)).length >= 20)
  await settle()
  const [count] = await db<{ breaches: number; runs: number }[]>`
    select (select count(*)::int from target_clocks where workspace_id = ${api.workspaceId} and breached_at is not null) as breaches,
      (select count(*)::int from automation_runs where workspace_id = ${api.workspaceId}) as runs`
  assert.equal(count?.breaches, 30)
  await until('all runs', async () => {
    const rows = await db`select from automation_runs where workspace_id = ${api.workspaceId} and automation_id = ${at}`
    return rows.length === 30
  })

  const { id } = await converse(phoneOf(40))
  await wait(id, 30 - 3 / 60)
  const { due_at } = await rowOf(id)
  // The reply is stored in time, and not committed when the time has run out.
  const connection = await db.reserve()
  await connection`begin`
  await connection`
    update conversations set waiting_since = null, episode_replies = 1 where workspace_id = ${api.workspaceId} and id = ${id}`
  assert.ok(Date.now() < Date.parse(due_at))
  await until('the time to run out', async () => Date.now() > Date.parse(due_at))
  const marker = await converse(phoneOf(41))
  await until('the marker to be followed', async () => (await rowOf(marker.id)).due_at !== null)
  await connection`commit`
  connection.release()
  assert.deepEqual(await outcomesOf(id), [['first_reply', 'met']])
})

test('clocks follow a merge, and are erased with the contact', async (t) => {
  const { api, db, ask, create, converse, wait, provider, followed, settle, outcomesOf } = await startWorld(t)
  await create({ name: 'All', first_reply_minutes: 30 })
  const older = await converse(phoneOf(50))
  await wait(older.id, 40)
  const newer = await converse(phoneOf(51))
  await settle()
  await ask('POST', `/contacts/${newer.contact_id}/merge`, { contact_id: older.contact_id })
  const row = await followed(newer.id)
  assert.equal(dueIn(row), -10)
  assert.deepEqual(await outcomesOf(newer.id), [['first_reply', 'missed']])
  await provider.writes({ from: phoneOf(51), text: 'again' })
  await settle()
  await ask('DELETE', `/contacts/${newer.contact_id}`)
  for (const table of ['target_clocks', 'target_episodes', 'target_changes']) {
    await until(`${table} to be empty`, async () => {
      const rows = await db`select from ${db(table)} where workspace_id = ${api.workspaceId}`
      return rows.length === 0
    })
  }
})
