/** Teams: who manages them, and how conversations belong to them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertFields, assertRefused, assertStatus, dataOf, pluck } from './assertions.ts'
import { type Browser, createMember, signIn } from './browser.ts'
import { type Json, main, start, until, withProvider } from './support.ts'

const ann = '+14155550101'
const ben = '+14155550102'
const cleo = '+14155550103'
const noId = '00000000-0000-4000-8000-000000000000'

const createTeam = async (browser: Browser, body: Json): Promise<Json> =>
  dataOf(await browser.call('POST', '/teams', body), 201)

async function startTeams(t: TestContext) {
  const world = await withProvider(start(t))
  const owner = await signIn(world)
  const list = async (query = ''): Promise<Json[]> => dataOf(await owner.call('GET', `/conversations${query}`))
  const names = async (query: string) => pluck(pluck(await list(query), 'contact'), 'name').sort()
  const write = async (from: string, name: string): Promise<Json> => {
    await world.provider.writes({ from, name, text: `Hello from ${name}` })
    return (await list(`?search=${name}`))[0]
  }
  return { ...world, owner, list, names, write }
}

test('owners and admins manage teams, all members see them, and the audit log has each change', main, async (t) => {
  const { owner, provider, api } = await startTeams(t)
  const [admin, agent, viewer] = [
    await createMember(owner, 'admin'),
    await createMember(owner, 'agent'),
    await createMember(owner, 'viewer'),
  ]
  const { msgapp, social } = provider.connections
  const billing = await createTeam(admin, {
    ...{ name: ' Billing ', member_ids: [agent.id, admin.id], connection_ids: [msgapp.id] },
  })
  assertFields(billing, { name: 'Billing', member_ids: [agent.id, admin.id].sort(), connection_ids: [msgapp.id] })
  assert.match(billing.color, /^#[0-9a-f]{6}$/)
  const sales = await createTeam(owner, { name: 'Sales', color: '#112233' })
  assertFields(sales, { color: '#112233', member_ids: [], connection_ids: [] })
  for (const member of [owner, agent, viewer]) {
    assert.deepEqual(pluck(dataOf(await member.call('GET', '/teams')), 'name'), ['Billing', 'Sales'])
  }
  for (const member of [agent, viewer]) {
    assertRefused(await member.call('POST', '/teams', { name: 'Mine' }), 403, 'forbidden')
    assertRefused(await member.call('PATCH', `/teams/${sales.id}`, { name: 'Mine' }), 403, 'forbidden')
    assertRefused(await member.call('DELETE', `/teams/${sales.id}`), 403, 'forbidden')
  }
  assertBadRequest(await owner.call('POST', '/teams', { name: 'BILLING' }), 'name: already used by another team')
  assertBadRequest(await owner.call('PATCH', `/teams/${sales.id}`, { name: 'billing' }), /already used/)
  for (const name of ['', ' ', 'x'.repeat(81)])
    assertBadRequest(await owner.call('POST', '/teams', { name }), /^name: /)
  assertBadRequest(await owner.call('POST', '/teams', { name: 'A', color: 'red' }), /^color/)
  assertBadRequest(await owner.call('POST', '/teams', { name: 'A', member_ids: [noId] }), /^member_ids: not members/)
  assertBadRequest(await owner.call('POST', '/teams', { name: 'A', member_ids: [viewer.id] }), /is a viewer/)
  assertBadRequest(await owner.call('POST', '/teams', { name: 'A', connection_ids: [noId] }), /^connection_ids: not/)
  assertBadRequest(
    await owner.call('PATCH', `/teams/${sales.id}`, { connection_ids: [msgapp.id] }),
    /is served by the team Billing$/,
  )
  assertRefused(await owner.call('PATCH', `/teams/${noId}`, { name: 'A' }), 404, 'not_found')
  assertRefused(await owner.call('DELETE', '/teams/nonsense'), 404, 'not_found')

  const changes = { name: 'billing', member_ids: [agent.id], connection_ids: [social.id] }
  assertFields(dataOf(await admin.call('PATCH', `/teams/${billing.id}`, changes)), changes)
  assertFields(dataOf(await owner.call('PATCH', `/teams/${sales.id}`, { connection_ids: [msgapp.id] })), {
    name: 'Sales',
    connection_ids: [msgapp.id],
  })
  // A viewer answers no conversations.
  dataOf(await owner.call('PATCH', `/members/${agent.id}`, { role: 'viewer' }))
  const [listed] = dataOf(await api.get('/teams'))
  assertFields(listed, { id: billing.id, name: 'billing', member_ids: [], connection_ids: [social.id] })
  assert.deepEqual(Object.keys(listed).sort(), [
    ...['color', 'connection_ids', 'created_at', 'id', 'member_ids', 'name'],
  ])
  assertStatus(await owner.call('DELETE', `/teams/${sales.id}`), 200)
  const audit = dataOf(await owner.call('GET', '/audit')).filter(({ action }: Json) => action.startsWith('team.'))
  assert.deepEqual(pluck(audit, 'action', 'summary').reverse(), [
    ...[
      ['team.created', 'Billing'],
      ['team.created', 'Sales'],
      ['team.changed', 'billing'],
    ],
    ...[
      ['team.changed', 'Sales'],
      ['team.deleted', 'Sales'],
    ],
  ])
})

test('a workspace has at most 100 teams, also when they are created at once', async (t) => {
  const { owner } = await startTeams(t)
  const answers = await Promise.all(
    Array.from({ length: 105 }, (_, i) => owner.call('POST', '/teams', { name: `Team ${i}` })),
  )
  assert.equal(answers.filter(({ status }) => status === 201).length, 100)
  assertBadRequest(answers.find(({ status }) => status !== 201) ?? assert.fail(), 'there are 100 teams already')
})

test('a conversation has a team, a member, both or neither', main, async (t) => {
  const { owner, api, write, names } = await startTeams(t)
  const agent = await createMember(owner, 'agent')
  const [a, b] = [await write(ann, 'Ann'), await write(ben, 'Ben')]
  await write(cleo, 'Cleo')
  const sales = await createTeam(owner, { name: 'Sales' })
  const billing = await createTeam(owner, { name: 'Billing' })
  assert.equal(dataOf(await api.get(`/conversations/${a.id}`)).assigned_team_id, null)
  const patched = dataOf(await api.patch(`/conversations/${a.id}`, { assigned_team_id: sales.id }))
  assertFields(patched, { assigned_team_id: sales.id, assigned_agent_id: null })
  const both = { assigned_team_id: sales.id.toUpperCase(), assigned_agent_id: agent.id }
  const row = dataOf(await owner.call('PATCH', `/conversations/${b.id}`, both))
  assertFields(row, { assigned_team_id: sales.id, assigned_agent_id: agent.id })
  assert.deepEqual(row.assigned_team, { id: sales.id, name: 'Sales', color: sales.color })
  for (const id of [noId, 'nonsense']) {
    assertBadRequest(await api.patch(`/conversations/${a.id}`, { assigned_team_id: id }), /assigned_team_id/)
  }

  const listed = async (query: string) => pluck(dataOf(await api.get(`/conversations?${query}`)), 'id').sort()
  assert.deepEqual(await listed(`assigned_team_id=${sales.id}`), [a.id, b.id].sort())
  assert.deepEqual(await listed(`assigned_team_id=${sales.id}&assigned_agent_id=none`), [a.id])
  assert.equal((await listed('assigned_team_id=none')).length, 1)
  assert.deepEqual(await listed(`assigned_team_id=${billing.id}`), [])
  assertBadRequest(await api.get('/conversations?assigned_team_id=sales'), 'assigned_team_id: must be a uuid or none')

  const change = { ids: [a.id, b.id], assigned_team_id: billing.id }
  const results = dataOf(await owner.call('POST', '/conversations/bulk', change))
  assert.deepEqual(
    results.map(({ before, after }: Json) => [before.assigned_team_id, after.assigned_team_id]),
    [
      [sales.id, billing.id],
      [sales.id, billing.id],
    ],
  )
  for (const sort of ['newest', 'oldest', 'waiting']) {
    const by = `&sort=${sort}&status=open`
    assert.deepEqual(await names(`?team=${billing.id}${by}`), ['Ann', 'Ben'], sort)
    assert.deepEqual(await names(`?team=nobody${by}`), ['Cleo'], sort)
    assert.deepEqual(await names(`?team=nobody,${billing.id}${by}`), ['Ann', 'Ben', 'Cleo'], sort)
    assert.deepEqual(await names(`?team=${billing.id},${sales.id}${by}`), ['Ann', 'Ben'], sort)
    assert.deepEqual(await names(`?team=${billing.id}&assigned=nobody${by}`), ['Ann'], sort)
    assert.deepEqual(await names(`?team=${sales.id}${by}`), [], sort)
  }
  assert.deepEqual(await names(`?team=${billing.id}&search=ben`), ['Ben'])
  assertBadRequest(await owner.call('GET', '/conversations?team=billing'), /^team: /)
  const view = { name: 'Billing', filters: { team: billing.id } }
  assert.equal(dataOf(await owner.call('POST', '/views', view), 201).filters.team, billing.id)
  const counts = await until('the counts of the sidebar', async () => {
    const counted = dataOf(await owner.call('GET', '/inbox/counts'))
    return counted.views.length > 0 && counted
  })
  assert.deepEqual(counts.teams, [{ id: billing.id, count: 2 }])
  assert.equal(counts.views[0].count, 2)

  dataOf(await owner.call('PATCH', `/conversations/${a.id}`, { assigned_team_id: null }))
  const lines = dataOf(await owner.call('GET', `/conversations/${a.id}/timeline`))
  assert.deepEqual(
    lines.filter(({ kind }: Json) => kind === 'assigned').map(({ details }: Json) => details.team),
    [null, { id: billing.id, name: 'Billing' }, { id: sales.id, name: 'Sales' }],
  )
})

test('pages of a team’s inbox list each conversation once, in order', async (t) => {
  const { owner, db, api, list, write } = await startTeams(t)
  const teams = [await createTeam(owner, { name: 'Sales' }), await createTeam(owner, { name: 'Billing' })]
  for (let i = 0; i < 7; i++) await write(`+1415555020${i}`, `Person${i}`)
  const all = await list()
  for (const [i, { id }] of all.entries()) {
    await api.patch(`/conversations/${id}`, { assigned_team_id: teams[i % 2]?.id, status: i % 3 ? 'open' : 'closed' })
  }
  assert.equal((await db`select from conversations where workspace_id = ${api.workspaceId}`).length, 7)
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = `/conversations?team=${pluck(teams, 'id').join()}&limit=2&cursor=${cursor}`
    const { data, meta }: Json = (await owner.call('GET', query)).body
    seen.push(...pluck<Json>(data, 'id'))
    cursor = meta.next_cursor
  }
  assert.deepEqual(seen, pluck(all, 'id'))
})

test('a deleted team leaves its conversations, with a line in each thread', async (t) => {
  const { owner, api, write } = await startTeams(t)
  const sales = await createTeam(owner, { name: 'Sales' })
  const a = await write(ann, 'Ann')
  dataOf(await api.patch(`/conversations/${a.id}`, { assigned_team_id: sales.id }))
  assert.deepEqual(dataOf(await owner.call('DELETE', `/teams/${sales.id}`)), { id: sales.id, deleted: true })
  assert.equal(dataOf(await api.get(`/conversations/${a.id}`)).assigned_team_id, null)
  const [line, before] = dataOf(await owner.call('GET', `/conversations/${a.id}/timeline`))
  assert.deepEqual([line.details, line.member.id], [{ team: null }, owner.id])
  assert.deepEqual(before.details.team, { id: sales.id, name: 'Sales' })
  assert.deepEqual(dataOf(await owner.call('GET', '/teams')), [])
})
