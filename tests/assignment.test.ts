/** Availability of members, and the assignment of queues: at once, in order, and never beyond a capacity. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { divideTimes } from '../common/times.ts'
import { assertBadRequest, assertRefused, assertStatus, dataOf, pluck } from './assertions.ts'
import { type Db, newId } from './internals.ts'
import type { Provider } from './provider.ts'
import {
  createMember,
  type Json,
  type Member,
  main,
  publicUrl,
  type Starting,
  signIn,
  start,
  startSignedIn,
  until,
  withProvider,
} from './support.ts'

type Team = { id: string; policy(policy: string, more?: Json): Promise<Json> }

/** Members of `names` in a team with a policy, and a simulator. */
async function startTeam(t: TestContext, names: readonly string[], starting?: Starting) {
  const world = await withProvider(startSignedIn(t, starting))
  const { browser: lead, db, api, provider } = world
  const members = new Map<string, Member>()
  for (const name of names) members.set(name, await createMember(lead, 'agent', { name }))
  const member = (name: string): Member => members.get(name) ?? assert.fail(name)
  const createTeam = async (
    name: string,
    memberNames: readonly string[],
    connection_ids: string[] = [],
  ): Promise<Team> => {
    const member_ids = memberNames.map((one) => member(one).id)
    const { id } = (await lead.ask('POST', '/teams', { name, member_ids, connection_ids }, 201)).data
    const policy: Team['policy'] = async (name, more = {}) =>
      (await lead.ask('PATCH', `/assignment/teams/${id}`, { policy: name, ...more })).data
    return { id, policy }
  }
  const team = await createTeam('Sales', names, [provider.connections.msgapp.id])
  const conversationOf = async (from: string): Promise<Json> => {
    const [contact] = (await api.get(`/contacts?phone=${encodeURIComponent(from)}`)).body.data
    return (await api.get(`/conversations?contact_id=${contact.id}`)).body.data[0]
  }
  /** A customer writes to the number that the team serves. Returns the conversation, which is in the queue unless it is assigned by now. */
  const queue = async (from: string): Promise<Json> => {
    await provider.writes({ from, text: 'Hello?' })
    return conversationOf(from)
  }
  const agentOf = async ({ id }: Json): Promise<string | null> =>
    dataOf(await api.get(`/conversations/${id}`)).assigned_agent_id
  const choose = (name: string, state: string) => member(name).ask('PUT', '/availability', { state })
  const setCapacity = (name: string, capacity: number) =>
    lead.ask('PATCH', `/assignment/members/${member(name).id}`, { capacity })
  /** Fails if it takes more than a second, on a machine that may be busy with other tests: more than ten. */
  const untilAssigned = (conversation: Json, name: string | null) =>
    until(
      `${conversation.id} to be of ${name}`,
      async () => (await agentOf(conversation)) === (name && member(name).id),
      10_000,
    )
  const lines = async ({ id }: Json): Promise<Json[]> =>
    (await lead.ask('GET', `/conversations/${id}/timeline`)).data
      .filter(({ kind }: Json) => kind === 'assigned')
      .map(({ details }: Json) => details)
  /** All requests that were made before are decided. */
  const settle = () =>
    until('no requests', async () => {
      const rows = await db`select from assignment_requests where workspace_id = ${api.workspaceId}`
      return rows.length === 0
    })
  return {
    ...{ ...world, lead, member, team, createTeam, conversationOf, queue, agentOf, choose, setCapacity, untilAssigned },
    ...{ lines, settle },
  }
}

test(
  'each cause assigns the longest waiting conversation to an available member below capacity, and the thread says why',
  main,
  async (t) => {
    const world = await startTeam(t, ['Ana'])
    const { team, api, db, provider, queue, choose, setCapacity, untilAssigned, lines, settle, agentOf } = world
    await setCapacity('Ana', 2)
    const first = await queue('+14155550101')
    const second = await queue('+14155550102')
    const third = await queue('+14155550103')

    // A policy without an available member, then a member without a policy, change nothing.
    await team.policy('fewest_open')
    await settle()
    assert.equal(await agentOf(first), null)
    // A member becomes available.
    await choose('Ana', 'available')
    await untilAssigned(first, 'Ana')
    await untilAssigned(second, 'Ana')
    assert.equal(await agentOf(third), null)
    const [line] = await lines(second)
    assert.deepEqual(
      [line.by, line.policy, line.open, line.capacity, line.assignee.name],
      ['policy', 'fewest_open', 2, 2, 'Ana'],
    )

    // Closing one.
    assertStatus(await api.patch(`/conversations/${first.id}`, { status: 'closed' }), 200)
    await untilAssigned(third, 'Ana')
    // Snoozing one. A message that reopens a conversation in the team.
    await api.patch(`/conversations/${first.id}`, { assigned_agent_id: null })
    await provider.writes({ from: '+14155550101', text: 'Again' })
    await settle()
    assert.equal(await agentOf(first), null)
    const snoozed_until = new Date(Date.now() + 3_600_000).toISOString()
    assertStatus(await api.patch(`/conversations/${second.id}`, { snoozed_until }), 200)
    await untilAssigned(first, 'Ana')
    // A raised capacity, for a conversation that gets the team.
    const fourth = await queue('+14155550104')
    await settle()
    assert.equal(await agentOf(fourth), null)
    await setCapacity('Ana', 3)
    await untilAssigned(fourth, 'Ana')
    // A hand-over by a bot.
    await setCapacity('Ana', 4)
    await db`update conversations set bot_run_id = ${newId()} where workspace_id = ${api.workspaceId} and id = ${third.id}`
    await api.patch(`/conversations/${third.id}`, { assigned_agent_id: null })
    await settle()
    assert.equal(await agentOf(third), null)
    await db`update conversations set bot_run_id = null where workspace_id = ${api.workspaceId} and id = ${third.id}`
    await untilAssigned(third, 'Ana')

    // A policy that is switched on.
    await team.policy('none')
    const fifth = await queue('+14155550105')
    await setCapacity('Ana', 20)
    await settle()
    assert.equal(await agentOf(fifth), null)
    await team.policy('round_robin')
    await untilAssigned(fifth, 'Ana')
    assert.deepEqual(pluck((await lines(fifth)).slice(0, 1), 'policy', 'open', 'capacity'), [['round_robin', 4, 20]])
    // A member who is away gets nothing; one who joins the team is asked at once.
    await choose('Ana', 'away')
    const sixth = await queue('+14155550106')
    await settle()
    assert.equal(await agentOf(sixth), null)
    await world.lead.ask('PUT', '/availability', { state: 'available' })
    const [ownerRow] = await db<{ id: string }[]>`
    select id from members where workspace_id = ${api.workspaceId} and role = 'owner'`
    const ownerId = ownerRow?.id ?? assert.fail()
    await db`insert into team_members (workspace_id, team_id, member_id) values (${api.workspaceId}, ${team.id}, ${ownerId})`
    await until('the owner to have it', async () => (await agentOf(sixth)) === ownerId, 10_000)
  },
)

test('conversations that are snoozed, closed, blocked, or automated only are in no queue', async (t) => {
  const { team, api, db, lead, queue, choose, settle, agentOf, untilAssigned } = await startTeam(t, ['Ana'])
  const snoozed = await queue('+14155550111')
  const closed = await queue('+14155550112')
  const automated = await queue('+14155550113')
  const blocked = await queue('+14155550114')
  const waiting = await queue('+14155550115')
  const snoozed_until = new Date(Date.now() + 3_600_000).toISOString()
  await api.patch(`/conversations/${snoozed.id}`, { snoozed_until })
  await api.patch(`/conversations/${closed.id}`, { status: 'closed' })
  await db`update conversations set inbox_at = null where workspace_id = ${api.workspaceId} and id = ${automated.id}`
  await db`
    update conversations set blocked_at = now() where workspace_id = ${api.workspaceId} and id = ${blocked.id}`
  const [before] = (await lead.ask('GET', '/assignment/teams')).data
  assert.deepEqual([before.queued, before.member_count, before.available_count], [1, 1, 0])
  await team.policy('round_robin')
  await choose('Ana', 'available')
  await untilAssigned(waiting, 'Ana')
  await settle()
  for (const one of [snoozed, closed, automated, blocked]) assert.equal(await agentOf(one), null)
  // The snooze ends.
  await db`
    update conversations set snoozed_until = now() where workspace_id = ${api.workspaceId} and id = ${snoozed.id}`
  await untilAssigned(snoozed, 'Ana')
  const [ana] = (await lead.ask('GET', '/assignment/members')).data
  assert.deepEqual([ana.name, ana.state, ana.open, ana.capacity, ana.team_ids], ['Ana', 'available', 2, 20, [team.id]])
})

test('round robin takes turns; fewest open fills the gaps', async (t) => {
  const { team, queue, choose, agentOf, member, untilAssigned, settle, api } = await startTeam(t, ['Ana', 'Ben'])
  await choose('Ana', 'available')
  await choose('Ben', 'available')
  await team.policy('round_robin')
  const turns: (string | null)[] = []
  for (const from of ['+14155550121', '+14155550122', '+14155550123', '+14155550124']) {
    const conversation = await queue(from)
    turns.push(await until('a turn', () => agentOf(conversation)))
    if (turns.length === 1) await api.patch(`/conversations/${conversation.id}`, { status: 'closed' })
  }
  assert.equal(new Set(turns).size, 2)
  assert.deepEqual([turns[0], turns[1]], [turns[2], turns[3]])
  // Whose first one is closed has fewer.
  await team.policy('fewest_open')
  await settle()
  const next = await queue('+14155550125')
  await untilAssigned(next, turns[0] === member('Ana').id ? 'Ana' : 'Ben')
})

/** At every commit, the number of open conversations of the members. Commits run one after the other. */
async function observe(db: Db): Promise<() => Promise<number>> {
  await db`create table observed_loads (member_id uuid, open int)`
  await db`
    create function observe_load() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(4711);
      insert into observed_loads
      select assigned_agent_id, count(*) from conversations
      where assigned_agent_id = new.assigned_agent_id and status = 'open' and bot_run_id is null
      group by assigned_agent_id;
      return null;
    end $$`
  await db`
    create constraint trigger observe_load after update on conversations deferrable initially deferred
    for each row when (new.assigned_agent_id is not null and old.assigned_agent_id is distinct from new.assigned_agent_id)
    execute function observe_load()`
  return async () => (await db<{ most: number }[]>`select max(open) as most from observed_loads`)[0]?.most ?? 0
}

/** Writes of many customers, whose conversations are then in the queues of the teams in turn. */
async function fillQueues(
  { provider, db, api }: { provider: Provider; db: Db; api: { workspaceId: string } },
  count: number,
  teams: readonly Team[],
): Promise<void> {
  const numbers = Array.from({ length: count }, (_, i) => `+1415556${String(i).padStart(4, '0')}`)
  for (let i = 0; i < count; i += 20) {
    await Promise.all(numbers.slice(i, i + 20).map((from) => provider.writes({ from, text: 'Hello?' })))
  }
  for (const [i, { id }] of teams.entries()) {
    await db`
      update conversations v set team_id = ${id}
      from (
        select id, row_number() over (order by id) as position from conversations where workspace_id = ${api.workspaceId}
      ) n
      where v.workspace_id = ${api.workspaceId} and v.id = n.id and n.position % ${teams.length} = ${i}`
  }
}

test(
  '300 conversations, four members with capacity 5, two processes: never more than 5 at any commit, and equal shares',
  main,
  async (t) => {
    const names = ['Ana', 'Ben', 'Cleo', 'Dan']
    const world = await startTeam(t, names, { alone: 'observes the commits of all workspaces' })
    const { db, api, lead, team, choose, setCapacity, member } = world
    const other = await signIn({ url: await world.twin(), owner: world.owner })
    const most = await observe(db)
    for (const name of names) {
      await setCapacity(name, 5)
      await choose(name, 'available')
    }
    await fillQueues(world, 300, [team])
    await team.policy('fewest_open')
    const ids = names.map((name) => member(name).id)
    const openOf = async () =>
      db<{ id: string; open: string[]; total: number }[]>`
      select i.id, (
        select coalesce(array_agg(v.id order by v.id) filter (where v.status = 'open'), '{}') from conversations v
        where v.workspace_id = ${api.workspaceId} and v.assigned_agent_id = i.id
      ) as open, (
        select count(*)::int from conversations v where v.workspace_id = ${api.workspaceId} and v.assigned_agent_id = i.id
      ) as total
      from unnest(${ids}::uuid[]) as i (id)`
    for (let assigned = 20; ; assigned += 12) {
      const full = await until('all capacity to be used', async () => {
        const rows = await openOf()
        const total = rows.reduce((sum, one) => sum + one.total, 0)
        return total >= Math.min(assigned, 300) && rows
      })
      const totals = full.map(({ total }) => total)
      assert.ok(Math.max(...totals) - Math.min(...totals) <= 1, `shares: ${totals.join()}`)
      if (assigned >= 300) break
      // Three of each member, at both processes at the same time.
      const [here = [], there = []] = [
        full.flatMap(({ open }) => open.slice(0, 2)),
        full.flatMap(({ open }) => open.slice(2, 3)),
      ]
      await Promise.all([
        lead.ask('POST', '/conversations/bulk', { ids: here, status: 'closed' }),
        other.ask('POST', '/conversations/bulk', { ids: there, status: 'closed' }),
      ])
    }
    assert.equal(await most(), 5)
  },
)

test('a capacity belongs to the member: two teams that share members never exceed it together', async (t) => {
  const names = ['Ana', 'Ben']
  const world = await startTeam(t, names, { alone: 'observes the commits of all workspaces' })
  const { db, api, team, createTeam, choose, setCapacity } = world
  await world.twin()
  const support = await createTeam('Support', names)
  const most = await observe(db)
  for (const name of names) await setCapacity(name, 3)
  await fillQueues(world, 60, [team, support])
  await team.policy('round_robin')
  await support.policy('fewest_open')
  await Promise.all(names.map((name) => choose(name, 'available')))
  for (let left = 60; left > 0; ) {
    const open = await until('assigned conversations', async () => {
      const rows = await db<{ id: string }[]>`
        select id from conversations
        where workspace_id = ${api.workspaceId} and assigned_agent_id is not null and status = 'open'`
      return rows.length >= Math.min(6, left) && rows
    })
    left -= open.length
    await Promise.all(open.map(({ id }) => world.lead.ask('PATCH', `/conversations/${id}`, { status: 'closed' })))
  }
  assert.equal(await most(), 3)
})

/** A stream of the member, until it is closed. */
async function openStream(t: TestContext, { url, cookie }: Member): Promise<() => void> {
  const abort = new AbortController()
  t.after(() => abort.abort())
  const headers = { cookie: cookie(), origin: publicUrl }
  const response = await fetch(`${url}/app/api/stream`, { headers, signal: abort.signal })
  assert.equal(response.status, 200)
  response.body?.pipeTo(new WritableStream()).catch(() => {})
  return () => abort.abort()
}

test(
  'a member is available with input, away without, and offline without a stream; a chosen state stays',
  main,
  async (t) => {
    // Away after 9 seconds without input, offline after 1.2 seconds without a stream.
    const world = await startSignedIn(t, { times: divideTimes(100), alone: 'it has other times' })
    const { browser: owner, db, api } = world
    const ana = await createMember(owner, 'agent', { name: 'Ana' })
    const state = async () => (await ana.ask('GET', '/availability')).data
    const untilState = (expected: string) =>
      until(
        () => `Ana to be ${expected}`,
        async () => (await state()).state === expected,
      )
    const input = () => ana.ask('POST', '/availability/input')
    assert.deepEqual(await state(), { state: 'offline', is_chosen: false, since: null })
    assert.equal((await input()).data.state, 'available')
    // No stream.
    await untilState('offline')
    const close = await openStream(t, ana)
    const closeSecond = await openStream(t, ana)
    await input()
    await untilState('available')
    close()
    // One of two tabs is enough, also for longer than the time without a stream; without input the member is away.
    await untilState('away')
    assert.equal((await state()).is_chosen, false)
    assert.equal((await input()).data.state, 'available')
    // Chosen.
    await ana.ask('PUT', '/availability', { state: 'away' })
    assert.equal((await input()).data.state, 'away')
    assert.equal((await state()).is_chosen, true)
    closeSecond()
    await untilState('offline')
    const again = await openStream(t, ana)
    await untilState('away')
    assert.equal((await state()).is_chosen, true)
    assert.equal((await ana.ask('PUT', '/availability', { state: 'available' })).data.state, 'available')
    again()
    await untilState('offline')
    const spans = await db<{ state: string; is_chosen: boolean; is_open: boolean }[]>`
    select state, is_chosen, ended_at is null as is_open from availability_spans
    where workspace_id = ${api.workspaceId} and member_id = ${ana.id}
    order by started_at`
    assert.ok(spans.every(({ is_open }) => !is_open))
    assert.deepEqual(
      spans
        .map(({ state, is_chosen }) => (is_chosen ? `chosen ${state}` : state))
        .filter((one, i, all) => one !== all[i - 1]),
      ['available', 'away', 'available', 'chosen away', 'available'],
    )
    const [overlap] = await db`
    select from availability_spans a join availability_spans b
      on b.workspace_id = a.workspace_id and b.member_id = a.member_id and b.started_at > a.started_at and b.started_at < a.ended_at
    where a.workspace_id = ${api.workspaceId}`
    assert.equal(overlap, undefined)
  },
)

test('a member who signs out is offline at once, and gets nothing', async (t) => {
  const { browser: owner } = await startSignedIn(t)
  const ana = await createMember(owner, 'agent', { name: 'Ana' })
  const close = await openStream(t, ana)
  await ana.ask('POST', '/availability/input')
  const stateOfAna = async () =>
    (await owner.ask('GET', '/assignment/members')).data.find(({ id }: Json) => id === ana.id)?.state
  await until('Ana to be available', async () => (await stateOfAna()) === 'available')
  await ana.ask('DELETE', '/session')
  close()
  assert.equal(await stateOfAna(), 'offline')
})

test('conversations of a member who is offline return to the queue after the minutes of the team, with a line', async (t) => {
  const { team, lead, db, api, queue, choose, untilAssigned, lines, agentOf, member, settle } = await startTeam(
    t,
    ['Ana', 'Ben'],
    { times: divideTimes(10), alone: 'its times' },
  )
  await team.policy('round_robin')
  await choose('Ana', 'available')
  const waiting = await queue('+14155550131')
  const answered = await queue('+14155550132')
  await untilAssigned(waiting, 'Ana')
  await untilAssigned(answered, 'Ana')
  const wait = async ({ id }: Json, minutes: number | null) => {
    await db`
      update conversations set waiting_since = now() - make_interval(mins => ${minutes}::int)
      where workspace_id = ${api.workspaceId} and id = ${id}`
  }
  await wait(waiting, 12)
  await wait(answered, null)
  await until('Ana to be offline', async () => {
    const members = (await lead.ask('GET', '/assignment/members')).data
    return members.find(({ name }: Json) => name === 'Ana')?.state === 'offline'
  })
  await settle()
  assert.equal(await agentOf(waiting), member('Ana').id, 'off by default')
  await team.policy('round_robin', { return_minutes: 10 })
  await untilAssigned(waiting, null)
  const [line] = await lines(waiting)
  assert.deepEqual(
    [line.by, line.policy, line.minutes, line.from.name, line.assignee],
    ['policy', 'offline', 12, 'Ana', null],
  )
  assert.equal(await agentOf(answered), member('Ana').id)
  await choose('Ben', 'available')
  await untilAssigned(waiting, 'Ben')
})

test('only managers set policies and capacities, viewers have none, and other workspaces have no part in it', async (t) => {
  const { team, lead, member, url } = await startTeam(t, ['Ana'])
  const ana = member('Ana')
  const viewer = await createMember(lead, 'viewer', { name: 'Vic' })
  const path = `/assignment/teams/${team.id}`
  assertRefused(await ana.call('PATCH', path, { policy: 'none' }), 403, 'forbidden')
  assertRefused(await viewer.call('PUT', '/availability', { state: 'available' }), 403, 'forbidden')
  assertBadRequest(await lead.call('PATCH', `/assignment/members/${viewer.id}`, { capacity: 3 }))
  for (const body of [{}, { policy: 'best' }, { return_minutes: 0 }, { return_minutes: 1_441 }])
    assertBadRequest(await lead.call('PATCH', path, body))
  for (const capacity of [-1, 201, 1.5])
    assertBadRequest(await lead.call('PATCH', `/assignment/members/${ana.id}`, { capacity }))
  assert.equal((await team.policy('round_robin', { return_minutes: 5 })).return_minutes, 5)
  assert.equal((await team.policy('round_robin', { return_minutes: null })).return_minutes, null)

  const theirs = await start(t)
  const stranger = await signIn({ url, owner: theirs.owner })
  assertRefused(await stranger.call('PATCH', path, { policy: 'none' }), 404, 'not_found')
  assertRefused(await stranger.call('PATCH', `/assignment/members/${ana.id}`, { capacity: 1 }), 404, 'not_found')
  assert.deepEqual((await stranger.ask('GET', '/assignment/teams')).data, [])
})
