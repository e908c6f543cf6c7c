/** People of a workspace and where they are signed in: who may change whom, and what is over when. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, assertRefused, dataOf, pluck } from './assertions.ts'
import { type Browser, createBrowser, createMember, signIn } from './browser.ts'
import { untilWaiting } from './database.ts'
import { createChecksum } from './rows.ts'
import { type Json, main, start, until, withProvider } from './support.ts'

type Role = 'owner' | 'admin' | 'agent' | 'viewer'

const password = 'long enough'
let invited = 0

test('roles decide who may change whose role and remove whom', async (t) => {
  const world = await start(t)
  const owner = await signIn(world)
  const actors = { owner, admin: await createMember(owner, 'admin') }
  // by, whom, which role (or null: out), allowed
  for (const [by, whom, role, isAllowed] of [
    ['owner', 'agent', 'owner', true],
    ['owner', 'owner', 'admin', true],
    ['owner', 'owner', null, true],
    ['admin', 'agent', 'admin', true],
    ['admin', 'admin', 'agent', true],
    ['admin', 'admin', null, true],
    ['admin', 'agent', 'owner', false],
    ['admin', 'owner', 'agent', false],
    ['admin', 'owner', 'owner', false],
    ['admin', 'owner', null, false],
  ] as const) {
    const person = await createMember(owner, whom)
    const path = `/members/${person.id}`
    const answer = await (role ? actors[by].call('PATCH', path, { role }) : actors[by].call('DELETE', path))
    const session = await person.call('GET', '/session')
    if (!isAllowed) {
      assertRefused(answer, 403, 'forbidden', /owner/)
      assert.equal(session.body.data.role, whom)
    } else if (role) {
      assert.deepEqual([answer.status, answer.body.data.role, session.body.data.role], [200, role, role], answer.text)
    } else {
      assert.deepEqual(answer.body.data, { id: person.id, deleted: true })
      assertRefused(session, 401, 'unauthorized')
      assertRefused(await createBrowser(world.url).signIn(person), 401, 'unauthorized')
    }
  }
  const agent = await createMember(owner, 'agent')
  assertRefused(await agent.call('PATCH', `/members/${agent.id}`, { role: 'owner' }), 403, 'forbidden')
  assertRefused(await agent.call('DELETE', `/members/${actors.admin.id}`), 403, 'forbidden')
  assertBadRequest(await owner.call('PATCH', `/members/${agent.id}`, { role: 'king' }), /^role: /)
  for (const id of ['nonsense', world.api.workspaceId]) {
    assertRefused(await owner.call('PATCH', `/members/${id}`, { role: 'agent' }), 404, 'not_found')
    assertRefused(await owner.call('DELETE', `/members/${id}`), 404, 'not_found')
  }
})

test('the last owner cannot be removed, not even when two owners remove each other at once', async (t) => {
  const world = await start(t)
  const first = await signIn(world)
  const own = `/members/${first.id}`
  assertRefused(await first.call('PATCH', own, { role: 'admin' }), 403, 'forbidden', /last owner/)
  assertRefused(await first.call('DELETE', own), 403, 'forbidden', /last owner/)
  assert.equal((await first.call('PATCH', own, { role: 'owner' })).status, 200)

  const second = await createMember(first, 'owner')
  const other = `/members/${second.id}`
  const answers = await Promise.all([first.call('PATCH', other, { role: 'agent' }), second.call('DELETE', own)])
  assert.equal(answers.filter(({ status }) => status === 200).length, 1, answers.map(({ text }) => text).join())
  const [owners] = await world.db`
    select count(*)::int as count from members where workspace_id = ${world.api.workspaceId} and role = 'owner'`
  assert.equal(owners?.count, 1)
})

test('an invitation shows its workspace and role, and can be withdrawn by members who may invite to that role', async (t) => {
  const world = await start(t)
  const owner = await signIn(world)
  const admin = await createMember(owner, 'admin')
  const invite = async (role: Role) =>
    (await owner.call('POST', '/members', { email: `${role}@new.test`, role })).body.data
  const agents = await invite('agent')
  const path = `/invitations/${agents.invitation_token}`
  const anybody = createBrowser(world.url)
  const shown = { workspace_name: 'Acme', email: 'agent@new.test', role: 'agent' }
  assert.deepEqual((await anybody.call('GET', path)).body.data, shown)
  assertRefused(await anybody.call('GET', '/invitations/nonsense'), 404, 'not_found')
  assert.equal((await admin.call('DELETE', `/members/${agents.id}`)).status, 200)
  assertRefused(await anybody.call('GET', path), 404, 'not_found')
  assertRefused(await anybody.call('POST', path, { name: 'Late', password }), 404, 'not_found')

  const owners = await invite('owner')
  assertRefused(await admin.call('DELETE', `/members/${owners.id}`), 403, 'forbidden')
  const lower = await admin.call('POST', '/members', { email: 'owner@new.test', role: 'agent' })
  assertBadRequest(lower, /^email: invited to be an owner, and only an owner can change that$/)
  assert.equal((await anybody.call('GET', `/invitations/${owners.invitation_token}`)).body.data.role, 'owner')
})

test('a workspace has at most 1,000 open invitations; expired and replaced ones do not count', async (t) => {
  const { db, url, owner: member, api } = await start(t)
  const owner = await signIn({ url, owner: member })
  const insert = (count: number, validDays: number) => db`
    insert into invitations (workspace_id, id, token_hash, email, email_key, role, invited_by, created_at, expires_at)
    select ${api.workspaceId}, gen_random_uuid(), gen_random_uuid(), mail, mail, 'agent', ${owner.id}, now(), now() + make_interval(days => ${validDays})
    from (select gen_random_uuid() || '@acme.test' as mail from generate_series(1, ${count})) as people`
  await insert(999, 1)
  await insert(50, -1)
  const invite = (email: string) => owner.call('POST', '/members', { email, role: 'agent' })
  assert.equal((await invite('last@acme.test')).status, 201)
  assertBadRequest(await invite('more@acme.test'), /^email: the workspace has 1,000 open invitations/)
  assertBadRequest(await invite(member.email), /^email: .+ is already a member$/)
  assert.equal((await invite('last@acme.test')).status, 201)
})

test('an invitation ends when its inviter may no longer invite to its role', async (t) => {
  const world = await start(t)
  const { db, api } = world
  const owner = await signIn(world)
  const boss = await createMember(owner, 'owner')
  const admin = await createMember(owner, 'admin')
  const invite = async (by: Browser, role: Role) => {
    const answer = dataOf(await by.call('POST', '/members', { email: `${role}-${invited++}@new.test`, role }), 201)
    return `/invitations/${answer.invitation_token}`
  }
  const anyone = createBrowser(world.url)
  const accept = (path: string) => createBrowser(world.url).call('POST', path, { name: 'New', password })
  const assertGone = async (...paths: string[]) => {
    for (const path of paths) {
      assertRefused(await anyone.call('GET', path), 404, 'not_found')
      assertRefused(await accept(path), 404, 'not_found')
    }
  }
  const owners = await invite(boss, 'owner')
  const admins = await invite(boss, 'admin')
  const agents = await invite(boss, 'agent')
  await owner.call('PATCH', `/members/${boss.id}`, { role: 'admin' })
  await assertGone(owners)
  assert.equal((await accept(agents)).status, 201)
  await owner.call('PATCH', `/members/${boss.id}`, { role: 'agent' })
  await assertGone(admins)

  const viewers = await invite(admin, 'viewer')
  const others = await invite(owner, 'viewer')
  await owner.call('DELETE', `/members/${admin.id}`)
  await assertGone(viewers)
  const states = (await owner.call('GET', '/members')).body.data.map(({ state }: Json) => state)
  assert.equal(states.filter((state: string) => state === 'invited').length, 1)

  // The inviter is checked again at acceptance, whatever has changed the role.
  const setRole = (role: Role) =>
    db`update members set role = ${role} where workspace_id = ${api.workspaceId} and email = ${world.owner.email}`
  await setRole('agent')
  await assertGone(others)
  await setRole('owner')
  assert.equal((await accept(others)).status, 201)
})

test('a removed member is rejected by every process from the next request on, and their conversations become unassigned', async (t) => {
  const world = await start(t)
  const { api, db } = world
  const twin = await world.twin()
  const owner = await signIn(world)
  const admin = await createMember(owner, 'admin')
  const agent = await createMember(owner, 'agent')
  const elsewhere = await signIn({ url: twin, owner: admin })
  const { key } = (await admin.call('POST', '/keys', { name: 'Stays', scopes: ['contacts:read'] })).body.data

  const provider = await world.connect()
  for (const from of ['+14155550100', '+14155550101']) await provider.writes({ from, text: 'hello' })
  const [one, other] = (await api.get('/conversations')).body.data
  await owner.call('PATCH', `/conversations/${one.id}`, { assigned_agent_id: admin.id })
  await owner.call('PATCH', `/conversations/${other.id}`, { assigned_agent_id: agent.id })

  assert.equal((await owner.call('DELETE', `/members/${admin.id}`)).status, 200)
  for (const browser of [admin, elsewhere]) {
    assertRefused(await browser.call('GET', '/session'), 401, 'unauthorized')
  }
  const assigned = (await api.get('/conversations')).body.data.map((each: Json) => [each.id, each.assigned_agent_id])
  assert.deepEqual(assigned.flat(), [one.id, null, other.id, agent.id])
  const refused = await owner.call('PATCH', `/conversations/${one.id}`, { assigned_agent_id: admin.id })
  assertBadRequest(refused, /^assigned_agent_id: /)
  assert.equal((await api.get('/contacts', { key })).status, 200)
  assert.equal((await db`select 1 from sessions where member_id = ${admin.id}`).length, 0)
})

test('a member who is removed during an assignment does not get the conversation', async (t) => {
  const world = await withProvider(start(t))
  const { api, db, provider } = world
  const owner = await signIn(world)
  const agent = await createMember(owner, 'agent')
  await provider.writes({ from: '+14155550100', text: 'hello' })
  const [{ id }] = (await api.get('/conversations')).body.data
  const assigning = await db.begin(async (sql) => {
    await sql`delete from members where workspace_id = ${api.workspaceId} and id = ${agent.id}`
    const assigning = owner.call('PATCH', `/conversations/${id}`, { assigned_agent_id: agent.id })
    await untilWaiting(db)
    return { assigning }
  })
  assertBadRequest(await assigning.assigning, /^assigned_agent_id: /)
})

test('a member lists their sessions and ends any of them', async (t) => {
  const world = await start(t, { trustedProxies: ['127.0.0.1'] })
  const twin = await world.twin()
  const owner = createBrowser(world.url)
  const long = `Browser ${'x'.repeat(400)}`
  const forwarded = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7' }
  await owner.call('POST', '/session', world.owner, { 'user-agent': long, ...forwarded })
  const others = [createBrowser(twin), createBrowser(world.url), createBrowser(twin)]
  for (const other of others) await other.signIn(world.owner)
  const agent = await createMember(owner, 'agent')

  const { data } = (await owner.call('GET', '/sessions')).body
  assert.deepEqual(pluck(data, 'is_current'), [true, false, false, false])
  assert.deepEqual(
    [data[0].address, data[0].user_agent, data[0].last_seen_at >= data[0].created_at.slice(0, 16)],
    ['198.51.100.7', long.slice(0, 300), true],
  )
  assert.equal(data[1].address, '127.0.0.1')
  const entries = async (by: Browser, action: string) =>
    (await by.call('GET', '/audit')).body.data.filter((entry: Json) => entry.action === action)
  const created = pluck(await entries(owner, 'session.created'), 'summary')
  assert.deepEqual(created, ['from 127.0.0.1', 'from 127.0.0.1', 'from 127.0.0.1', 'from 198.51.100.7'])
  const fields = ['address', 'created_at', 'id', 'is_current', 'last_seen_at', 'user_agent']
  assert.deepEqual(Object.keys(data[0]).sort(), fields)
  // Newest first behind the current one.
  const gone = data[1].id
  assertRefused(await agent.call('DELETE', `/sessions/${gone}`), 404, 'not_found')
  assert.deepEqual((await owner.call('DELETE', `/sessions/${gone}`)).body.data, { ended: 1 })
  assertRefused(await owner.call('DELETE', `/sessions/${gone}`), 404, 'not_found')
  assertRefused(await owner.call('DELETE', '/sessions/nonsense'), 404, 'not_found')
  assertRefused((await others[2]?.call('GET', '/session')) ?? assert.fail(), 401, 'unauthorized')
  assert.equal((await others[1]?.call('GET', '/session'))?.status, 200)
  assert.deepEqual((await owner.call('DELETE', '/sessions')).body.data, { ended: 2 })
  for (const other of others) assertRefused(await other.call('GET', '/session'), 401, 'unauthorized')
  assert.equal((await owner.call('GET', '/session')).status, 200)
  assert.equal((await agent.call('GET', '/sessions')).body.data.length, 1)

  const other = await signIn(world)
  const everywhere = await owner.call('DELETE', '/sessions?including_current=true')
  assert.deepEqual(everywhere.body.data, { ended: 2 })
  assert.doesNotMatch(owner.cookie(), /parley_session/)
  for (const browser of [owner, other]) assertRefused(await browser.call('GET', '/session'), 401, 'unauthorized')
  assert.equal((await agent.call('GET', '/session')).status, 200)
  const [last] = await entries(await signIn(world), 'session.ended')
  assert.equal(last.summary, 'everywhere: 2')
})

test('a common password is refused wherever one is chosen', async (t) => {
  const world = await start(t)
  const owner = await signIn(world)
  const invitation = await owner.call('POST', '/members', { email: 'robin.baker@acme.test', role: 'agent' })
  const guest = createBrowser(world.url)
  const path = `/invitations/${invitation.body.data.invitation_token}`
  for (const [wanted, message] of [
    ['P4ssw0rd!', /^password: too common/],
    ['robin.baker1', /^password: must not be your email/],
    ['short', /^password: must have 8/],
  ] as const) {
    assertBadRequest(await guest.call('POST', path, { name: 'Robin', password: wanted }), message)
  }
  assert.equal((await guest.call('POST', path, { name: 'Robin', password })).status, 201)
  const change = (wanted: string) =>
    guest.call('PATCH', '/profile', { current_password: password, new_password: wanted })
  assertBadRequest(await change('qwertyuiop1'), /^new_password: too common/)
  assertBadRequest(await change('Acme2026'), /^new_password: must not be/)
  assert.equal((await change('a loaf of rye')).status, 200)
})

test('a session is marked as seen once a minute, and no request waits for the mark', async (t) => {
  const world = await start(t)
  const { api, db } = world
  const owner = await signIn(world)
  await db`update sessions set last_seen_at = now() - interval '1 hour' where workspace_id = ${api.workspaceId}`
  // The row is locked: the caller still gets an answer, and a later call writes the mark.
  await db.begin(async (sql) => {
    await sql`select 1 from sessions where workspace_id = ${api.workspaceId} for update`
    const answers = await Promise.all(Array.from({ length: 20 }, () => owner.call('GET', '/session')))
    assert.ok(answers.every(({ status }) => status === 200))
  })
  await until('the mark', async () => {
    await owner.call('GET', '/session')
    const [session] = await db`
      select last_seen_at > now() - interval '1 minute' as is_seen from sessions where workspace_id = ${api.workspaceId}`
    return session?.is_seen
  })
})

test('a member changes their name and password, and guesses at the old password are limited as at sign-in', async (t) => {
  const world = await start(t)
  const { owner } = world
  const browser = await signIn(world, owner)
  const other = await signIn(world, owner)
  const change = (body: object) => browser.call('PATCH', '/profile', body)
  const named = await change({ name: ' Ann ' })
  assert.deepEqual([named.status, named.body.data.member.name, named.body.data.role], [200, 'Ann', 'owner'])
  assert.deepEqual((await browser.call('GET', '/session')).body, named.body)
  assert.equal((await other.call('GET', '/session')).status, 200)

  const wanted = 'a new password'
  const refused = async (body: object, message: RegExp) => assertBadRequest(await change(body), message)
  await refused({ name: ' ' }, /^name: /)
  await refused({ new_password: wanted }, /^current_password: required/)
  await refused({ new_password: 'short', current_password: owner.password }, /^new_password: /)
  await refused({ new_password: wanted, current_password: 'wrong', name: 'Eve' }, /^current_password: wrong/)
  assert.equal((await browser.call('GET', '/session')).body.data.member.name, 'Ann')

  assert.equal((await change({ new_password: wanted, current_password: owner.password })).status, 200)
  assert.equal((await browser.call('GET', '/session')).status, 200)
  assertRefused(await other.call('GET', '/session'), 401, 'unauthorized')
  assertRefused(await createBrowser(world.url).signIn(owner), 401, 'unauthorized')
  await signIn(world, { ...owner, password: wanted })

  for (let i = 0; i < 9; i++) await refused({ new_password: wanted, current_password: 'guess' }, /wrong/)
  assertRefused(await change({ new_password: wanted, current_password: 'guess' }), 429, 'rate_limited')
  // Neither these guesses nor those at sign-in keep the member out.
  await signIn(world, { ...owner, password: wanted })
  await world.db`update sign_in_failures set started_at = started_at - interval '1 minute'`
  assert.equal((await change({ new_password: 'the right one', current_password: wanted })).status, 200)
})

test('the country of a workspace must be valid, and numbers are parsed with it', async (t) => {
  const world = await start(t)
  const owner = await signIn(world)
  for (const default_country of ['de', 'XX', 'Germany', '']) {
    const refused = await owner.call('PATCH', '/workspace', { default_country, name: 'Taken' })
    assertBadRequest(refused, /^default_country: /)
  }
  const changed = await owner.call('PATCH', '/workspace', { default_country: 'DE' })
  assert.deepEqual([changed.body.data.default_country, changed.body.data.name], ['DE', 'Acme'])
  assert.equal((await owner.call('GET', '/session')).body.data.workspace.default_country, 'DE')
  const contact = await world.api.post('/contacts', { phone: '030 901820' })
  assert.equal(contact.body.data.phone, '+4930901820', contact.text)
})

/** The calls that change only the member's own data. */
const ownCalls = [
  'DELETE /profile/second-factor',
  'DELETE /session',
  'DELETE /sessions',
  'DELETE /sessions/:id',
  'PATCH /preferences',
  'PATCH /profile',
  'POST /mentions/read',
  'POST /presence',
  'POST /profile/second-factor',
  'POST /profile/second-factor/confirm',
  'POST /profile/second-factor/recovery-codes',
]

test('a viewer reads everything that an agent reads and changes nothing', main, async (t) => {
  const world = await withProvider(start(t))
  const owner = await signIn(world)
  const viewer = await createMember(owner, 'viewer')
  const agent = await createMember(owner, 'agent')
  const { provider } = world
  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'Hello' })
  const [{ id }] = (await owner.call('GET', '/conversations')).body.data
  const read = await createChecksum(world.db, { except: ['sessions', 'audit_log'] })
  const before = await read(world.api.workspaceId)

  const allowed = new Set<string>()
  for (const { method, url, config } of world.memberRoutes) {
    if (method === 'HEAD' || url.endsWith('*') || config?.members === 'public') continue
    const path = url.replace('/app/api', '')
    const call = (who: Browser) => who.call(String(method), path.replace(':channel', 'web').replace(/:\w+/g, id))
    const name = `${method} ${path}`
    if (method !== 'GET') {
      // The calls of the list end sessions, so they are made below.
      if (config?.members?.includes('viewer')) allowed.add(name)
      else assertRefused(await call(viewer), 403, 'forbidden')
    } else if (path !== '/stream') {
      const answers = [await call(viewer), await call(agent)]
      assert.equal(answers[0]?.status, answers[1]?.status, name)
    }
  }
  assert.deepEqual([...allowed].sort(), ownCalls, 'calls that change data of others are not for viewers')
  assert.equal(await read(world.api.workspaceId), before)
  const changed = await viewer.call('PATCH', `/conversations/${id}`, {})
  assertRefused(changed, 403, 'forbidden', 'a viewer can only read')

  const page = { page_id: 'a'.repeat(32), state: 'open', conversation_id: id }
  for (const [method, path, body] of [
    ['POST', '/presence', page],
    ['POST', '/mentions/read', { conversation_id: id }],
    ['PATCH', '/profile', { name: 'Vera' }],
    ['DELETE', '/sessions'],
    ['DELETE', '/session'],
  ] as const) {
    const answer = await viewer.call(method, path, body)
    assert.equal(answer.status, 200, `${path} ${answer.text}`)
  }
  const assigned = await owner.call('PATCH', `/conversations/${id}`, { assigned_agent_id: viewer.id })
  assertBadRequest(assigned, 'assigned_agent_id: a viewer cannot be assigned')

  // A member who becomes a viewer loses the assigned conversations.
  await owner.call('PATCH', `/conversations/${id}`, { assigned_agent_id: agent.id })
  assert.equal((await owner.call('PATCH', `/members/${agent.id}`, { role: 'viewer' })).status, 200)
  assert.equal((await owner.call('GET', `/conversations/${id}`)).body.data.assigned_agent_id, null)
  assertRefused(await agent.call('POST', `/conversations/${id}/read`), 403, 'forbidden')
})
