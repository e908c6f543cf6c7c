import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { assertBadRequest, assertRefused, pluck } from './assertions.ts'
import { scopes, sha256 } from './internals.ts'
import { type Browser, createBrowser, file, type Json, main, publicUrl, signIn, start, type World } from './support.ts'

/** A member of the given role, signed in. */
async function member({ url, owner }: World, role: 'owner' | 'admin' | 'agent') {
  const inviter = await signIn({ url, owner })
  const email = `${role}-${Math.random()}@acme.test`
  const invited = await inviter.call('POST', '/members', { email, role })
  assert.equal(invited.status, 201, invited.text)
  const browser = createBrowser(url)
  const path = `/invitations/${invited.body.data.invitation_token}`
  const accepted = await browser.call('POST', path, { name: 'Some One', password: 'long enough' })
  assert.equal(accepted.status, 201, accepted.text)
  return { browser, email, accepted, invited, path }
}

test('a member signs in, is recognised by the session, and signs out', main, async (t) => {
  const { url, owner, api } = await start(t)
  const browser = createBrowser(url)
  assertRefused(await browser.call('GET', '/session'), 401, 'unauthorized')

  const signedIn = await browser.signIn({ ...owner, email: ` ${owner.email.toUpperCase()} ` })
  assert.equal(signedIn.status, 200)
  assert.equal(signedIn.body.data.role, 'owner')
  assert.equal(signedIn.body.data.member.email, owner.email)
  assert.deepEqual(signedIn.body.data.workspace, { id: api.workspaceId, name: 'Acme', default_country: 'US' })
  const [cookie = ''] = signedIn.headers.getSetCookie()
  assert.match(cookie, /^parley_session=[0-9A-Za-z]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/)
  assert.deepEqual((await browser.call('GET', '/session')).body, signedIn.body)

  const thief = createBrowser(url)
  const stolen = { cookie: cookie.split(';')[0] ?? '' }
  assert.equal((await browser.call('DELETE', '/session')).status, 200)
  assertRefused(await browser.call('GET', '/session'), 401, 'unauthorized')
  assertRefused(await thief.call('GET', '/session', undefined, stolen), 401, 'unauthorized')
})

test('over HTTPS the session cookie has the __Host- prefix; cookies without it work until they expire', async (t) => {
  const secureUrl = 'https://parley.test'
  const { url, owner, db, api } = await start(t, { publicUrl: secureUrl })
  const browser = createBrowser(url, secureUrl)
  const [cookie = ''] = (await browser.signIn(owner)).headers.getSetCookie()
  assert.match(cookie, /^__Host-parley_session=[0-9A-Za-z]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/)
  assert.equal((await browser.call('GET', '/session')).status, 200)

  const ask = (cookie: string) => createBrowser(url, secureUrl).call('GET', '/session', undefined, { cookie })
  const [, token = ''] = /=([^;]+)/.exec(cookie) ?? []
  for (const planted of [
    `parley_session=${token}`,
    `parley_session=__Host-${token}`,
    `__Host-parley_session=__Host-${token}`,
  ]) {
    assertRefused(await ask(planted), 401, 'unauthorized')
  }
  assert.equal((await ask(`parley_session=planted; __Host-parley_session=${token}`)).status, 200)

  // A session from before the prefix: only its token is hashed.
  await db`
    update sessions set token_hash = ${createHash('sha256').update(token).digest('hex')}
    where workspace_id = ${api.workspaceId}`
  const old = createBrowser(url, secureUrl)
  assert.equal((await ask(`parley_session=${token}`)).status, 200)
  assertRefused(await ask(`__Host-parley_session=${token}`), 401, 'unauthorized')
  const left = await old.call('DELETE', '/session', undefined, { cookie: `parley_session=${token}` })
  assert.deepEqual(
    left.headers.getSetCookie().map((text) => text.split(';')[0]),
    ['__Host-parley_session=', 'parley_session='],
  )
  assertRefused(await ask(`parley_session=${token}`), 401, 'unauthorized')
})

test('passwords, sessions and keys are stored only as hashes', async (t) => {
  const world = await start(t)
  const { url, db, api } = world
  const invited = { email: (await member(world, 'owner')).email, password: 'long enough' }
  const browser = createBrowser(url)
  const cookie = (await browser.signIn(invited)).headers.get('set-cookie') ?? ''
  const token = /=([^;]+)/.exec(cookie)?.[1] ?? ''
  const { key, prefix } = (await browser.call('POST', '/keys', { name: 'Secret', scopes: [] })).body.data
  const rows = await db`
    select row_to_json(m)::text as text from members m where workspace_id = ${api.workspaceId}
    union all select row_to_json(s)::text from sessions s where workspace_id = ${api.workspaceId}
    union all select row_to_json(k)::text from api_keys k where workspace_id = ${api.workspaceId}`
  const everything = rows.map(({ text }) => text).join('\n')
  for (const secret of [invited.password, token, key]) assert.ok(secret.length > 10 && !everything.includes(secret))
  assert.match(everything, /\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  assert.equal(prefix, key.slice(0, 16))
  assert.match(key, /^svc_live_[0-9A-Za-z]{43}$/)
})

let guarded: Promise<{ world: World; twin: string }> | undefined

/**
 * A workspace in a service with two processes behind a trusted proxy. The tests of sign-in limits share it: failed sign-ins count per
 * network, so each test has addresses of its own.
 */
async function startGuarded() {
  guarded ??= start(file, { trustedProxies: ['127.0.0.1'] }).then(async (world) => ({
    world,
    twin: await world.twin(),
  }))
  const { world, twin } = await guarded
  return { ...world, ...(await world.workspace()), twin }
}

/** Signs in as a client at this address. */
const signInFrom = (browser: Browser, address: string, who: object) =>
  browser.call('POST', '/session', who, { 'x-forwarded-for': address })

/** Lets time pass for the failed sign-ins of all clients. */
const passMinute = (db: World['db']) => db`update sign_in_failures set started_at = started_at - interval '1 minute'`

test('after ten failed sign-ins in a minute a site is refused for that e-mail only, until the minute ends', async () => {
  const { url, owner, db, twin, workspace } = await startGuarded()
  const guess = (address: string, who: object, base = url) => signInFrom(createBrowser(base), address, who)
  for (const [address, neighbour] of [
    ['203.0.113.1', '203.0.113.11'],
    ['2001:db8:1:1::1', '2001:db8:1:2::1'],
  ] as const) {
    for (let i = 0; i < 5; i++) {
      assertRefused(await guess(address, { ...owner, password: `guess ${i}` }), 401, 'unauthorized')
      assertRefused(await guess(neighbour, { ...owner, password: `other ${i}` }, twin), 401, 'unauthorized')
    }
    const refused = await guess(address, owner)
    assertRefused(refused, 429, 'rate_limited', /^too many failed sign-ins; try again in \d+ s$/)
    const seconds = Number(refused.headers.get('retry-after'))
    assert.ok(seconds > 0 && seconds <= 60, `${seconds} s`)
    assert.equal((await guess(address, (await workspace()).owner)).status, 200)
    assert.equal((await guess('198.51.100.7', owner)).status, 200)
    await passMinute(db)
    assert.equal((await guess(address, owner)).status, 200)
  }
})

test('of a burst of guesses at most ten are checked, across all processes', async () => {
  const { url, owner, twin } = await startGuarded()
  const guesses = await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      signInFrom(createBrowser(i % 2 ? url : twin), '203.0.113.2', { ...owner, password: 'guess' }),
    ),
  )
  assert.equal(guesses.filter(({ status }) => status === 401).length, 10)
  assert.equal(guesses.filter(({ status }) => status === 429).length, 20)
})

test('twenty correct sign-ins at the same time all succeed', async () => {
  const { url, owner } = await startGuarded()
  const signedIn = await Promise.all(
    Array.from({ length: 20 }, () => signInFrom(createBrowser(url), '203.0.113.3', owner)),
  )
  assert.deepEqual(new Set(signedIn.map(({ status }) => status)), new Set([200]))
})

test('a browser that signed in before is never locked out by guesses from its own address', async () => {
  const { url, owner, db, workspace } = await startGuarded()
  const address = '203.0.113.4'
  const browser = createBrowser(url)
  const guess = (who: object, from = createBrowser(url)) => signInFrom(from, address, who)
  const [, device = ''] = (await guess(owner, browser)).headers.getSetCookie()
  assert.match(device, /^parley_device=v2\.[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=31536000$/)
  await browser.call('DELETE', '/session')
  const attack = Array.from({ length: 130 }, (_, i) => guess({ ...owner, password: `guess ${i}` }))
  await Promise.any(attack.map(async (answer) => assert.equal((await answer).status, 429)))
  assertRefused(await guess({ ...owner, password: 'mistyped' }, browser), 401, 'unauthorized')
  assert.equal((await guess(owner, browser)).status, 200)
  assert.equal((await Promise.all(attack)).filter(({ status }) => status === 401).length, 10)

  // It has a limit of its own, which leaves others alone, and it is known for its own e-mail only.
  await passMinute(db)
  for (let i = 0; i < 10; i++) assert.equal((await guess({ ...owner, password: `guess ${i}` }, browser)).status, 401)
  assertRefused(await guess(owner, browser), 429, 'rate_limited')
  assertRefused(await guess({ ...owner, password: 'guess' }), 401, 'unauthorized')
  const { owner: stranger } = await workspace()
  for (let i = 0; i < 2; i++) assert.equal((await guess({ ...stranger, password: `guess ${i}` }, browser)).status, 401)
  const [network] = await db`select failure_count from sign_in_failures where address = ${address} and email_key = ''`
  assert.equal(network?.failure_count, 3)
})

test('guessing at many e-mails from one network is limited, and delays no other network', async () => {
  const { url, owner, db } = await startGuarded()
  const guess = (who: object, address: string) => signInFrom(createBrowser(url), address, who)
  // 40 of the 60 guesses a minute are used up.
  await db`
    insert into sign_in_failures (address, email_key, started_at, failure_count) values ('203.0.113.9', '', now(), 40)`
  let checked = 0
  const spraying = Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      const answer = await guess({ email: `${i}@acme.test`, password: 'password1' }, '203.0.113.9')
      if (answer.status === 401) checked++
      return answer.status
    }),
  )
  assert.equal((await guess(owner, '198.51.100.8')).status, 200)
  assert.ok(checked < 20, `${checked} guesses of the other network were checked first`)
  const statuses = await spraying
  assert.equal(statuses.filter((status) => status === 401).length, 20)
  assert.equal(statuses.filter((status) => status === 429).length, 40)
  // A refused guess adds no row, unless it ran beside the last one that was checked.
  const emailKeys = statuses.map((_, i) => sha256(`${i}@acme.test`))
  const rows = await db`select 1 from sign_in_failures where email_key = any(${emailKeys})`
  assert.ok(rows.length <= 21, `${rows.length} rows`)
})

test('an unknown e-mail and a wrong password get the same answer', async (t) => {
  const { url, owner } = await start(t)
  const unknown = await createBrowser(url).signIn({ email: 'unknown@acme.test', password: 'x' })
  const wrong = await createBrowser(url).signIn({ ...owner, password: 'x' })
  assert.equal(unknown.text, wrong.text)
  assert.equal(unknown.status, wrong.status)
})

test('a request that changes data must come from the same origin', async (t) => {
  const { url, owner } = await start(t)
  const browser = createBrowser(url)
  for (const origin of ['https://evil.test', 'null', `${publicUrl}.evil.test`, 'http://parley.test:81']) {
    assertRefused(await browser.call('POST', '/session', owner, { origin }), 403, 'forbidden')
  }
  const bare = await fetch(`${url}/app/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(owner),
  })
  assert.equal(bare.status, 403)
  for (const origin of [publicUrl, url]) {
    assert.equal((await browser.call('POST', '/session', owner, { origin })).status, 200)
  }
})

test('a key is shown once, listed with its state, and revoked for good', async (t) => {
  const world = await start(t)
  const { url, owner, api } = world
  const browser = await signIn({ url, owner })

  const created = await browser.call('POST', '/keys', { name: ' CRM ', scopes: ['contacts:write', 'contacts:read'] })
  assert.equal(created.status, 201)
  const { key, ...shown } = created.body.data
  assert.deepEqual(
    [shown.name, shown.scopes, shown.last_used_at, shown.expires_at, shown.state],
    ['CRM', ['contacts:read', 'contacts:write'], null, null, 'active'],
  )
  await api.get('/contacts', { key })
  const listed = (await browser.call('GET', '/keys')).body.data.find(({ id }: Json) => id === shown.id)
  assert.ok(listed.last_used_at)
  assert.deepEqual({ ...listed, last_used_at: null }, shown)
  assert.ok(!JSON.stringify(listed).includes(key))

  const revoked = await browser.call('POST', `/keys/${shown.id}/revoke`)
  assert.deepEqual([revoked.status, revoked.body.data.state], [200, 'revoked'])
  assert.equal((await browser.call('POST', `/keys/${shown.id}/revoke`)).body.data.state, 'revoked')
  assertRefused(await api.get('/me', { key }), 401, 'unauthorized')
  const after = (await browser.call('GET', '/keys')).body.data
  assert.equal(after.find(({ id }: Json) => id === shown.id).state, 'revoked')
})

test('an invalid key request is rejected', async (t) => {
  const { url, owner } = await start(t)
  const browser = await signIn({ url, owner })
  const refused = async (body: object, message: RegExp) =>
    assertBadRequest(await browser.call('POST', '/keys', body), message)
  await refused({ scopes: [] }, /^name: required/)
  await refused({ name: '  ', scopes: [] }, /^name: /)
  await refused({ name: 'x'.repeat(81), scopes: [] }, /^name: .*80/)
  await refused({ name: 'x' }, /^scopes: required/)
  await refused({ name: 'x', scopes: ['contacts:read', 'everything'] }, /^scopes: .*everything/)
  await refused({ name: 'x', scopes: 'contacts:read' }, /^scopes: /)
  assertRefused(await browser.call('POST', '/keys/nonsense/revoke'), 404, 'not_found')
  assert.equal((await browser.call('POST', '/keys', { name: '😀'.repeat(80), scopes: [...scopes] })).status, 201)
})

test('owners and admins change keys and members; agents can only list them', async (t) => {
  const world = await start(t)
  for (const role of ['admin', 'agent'] as const) {
    const { browser } = await member(world, role)
    const made = await browser.call('POST', '/keys', { name: 'Mine', scopes: [] })
    const invited = await browser.call('POST', '/members', { email: `new-${role}@acme.test`, role: 'agent' })
    if (role === 'admin') {
      assert.deepEqual([made.status, invited.status], [201, 201])
      const asOwner = await browser.call('POST', '/members', { email: 'x@acme.test', role: 'owner' })
      assertRefused(asOwner, 403, 'forbidden', /owner/)
    } else {
      assertRefused(made, 403, 'forbidden')
      assertRefused(invited, 403, 'forbidden')
      const { id } = (await browser.call('GET', '/keys')).body.data[0]
      assertRefused(await browser.call('POST', `/keys/${id}/revoke`), 403, 'forbidden')
    }
    assert.equal((await browser.call('GET', '/keys')).status, 200)
    assert.equal((await browser.call('GET', '/members')).status, 200)
  }
})

test('an invitation creates one member and expires after a week', async (t) => {
  const world = await start(t)
  const { browser, email, accepted, invited, path } = await member(world, 'agent')
  assert.match(invited.body.data.invitation_url, new RegExp(`^${publicUrl}/.*${invited.body.data.invitation_token}$`))
  const { role, member: self } = accepted.body.data
  assert.deepEqual([role, self.email, self.name], ['agent', email, 'Some One'])
  assert.equal((await browser.call('GET', '/session')).status, 200)
  assert.equal((await createBrowser(world.url).signIn({ email, password: 'long enough' })).status, 200)
  const again = { name: 'Some One', password: 'long enough' }
  assertRefused(await createBrowser(world.url).call('POST', path, again), 404, 'not_found')
  assertRefused(await createBrowser(world.url).call('POST', '/invitations/nonsense', again), 404, 'not_found')

  const owner = await signIn(world)
  assertBadRequest(await owner.call('POST', '/members', { email: email.toUpperCase(), role: 'admin' }), /already/)
  assertBadRequest(await owner.call('POST', '/members', { email: 'no address', role: 'admin' }), /^email: /)
  assertBadRequest(await owner.call('POST', '/members', { email: 'a@b.test', role: 'king' }), /^role: /)
  const first = (await owner.call('POST', '/members', { email: 'late@acme.test', role: 'agent' })).body.data
  const second = (await owner.call('POST', '/members', { email: 'late@acme.test', role: 'agent' })).body.data
  assertRefused(await owner.call('POST', `/invitations/${first.invitation_token}`, again), 404, 'not_found')
  const short = await owner.call('POST', `/invitations/${second.invitation_token}`, { name: 'x', password: 'short' })
  assertBadRequest(short, /^password: /)
  const list = (await owner.call('GET', '/members')).body.data
  assert.deepEqual(pluck(list, 'email', 'state', 'role'), [
    [world.owner.email, 'active', 'owner'],
    [email, 'active', 'agent'],
    ['late@acme.test', 'invited', 'agent'],
  ])
  await world.db`update invitations set expires_at = now() where workspace_id = ${world.api.workspaceId}`
  assertRefused(await owner.call('POST', `/invitations/${second.invitation_token}`, again), 404, 'not_found')
})
