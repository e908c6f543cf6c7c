/** Two-step sign-in: codes of an authenticator app, recovery codes, and a workspace that requires it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, assertRefused, dataOf } from './assertions.ts'
import { type Browser, createBrowser, createMember, signIn } from './browser.ts'
import { totpCodeOf, totpStepOf } from './internals.ts'
import { type Json, main, startSignedIn, type World } from './support.ts'

/** The next code by default: the current one was used for the setup. Both stay valid if the period changes meanwhile. */
const codeOf = (secret: string, offset = 1) => totpCodeOf(secret, totpStepOf(Date.now()) + offset)

/** As if the last code was used long ago, so that a test need not wait for the next. */
const forgetUse = (world: World) =>
  world.db`update member_second_factors set last_step = 0 where workspace_id = ${world.api.workspaceId}`

async function setUp(browser: Browser, password: string): Promise<{ secret: string; codes: string[] }> {
  const { secret } = dataOf(await browser.call('POST', '/profile/second-factor', { current_password: password }))
  const confirmed = dataOf(await browser.call('POST', '/profile/second-factor/confirm', { code: codeOf(secret, 0) }))
  return { secret, codes: confirmed.recovery_codes }
}

const actionsOf = async (browser: Browser): Promise<string[]> =>
  (await browser.call('GET', '/audit')).body.data.map(({ action, summary }: Json) => [action, summary].join(' '))

test('after the setup sign-in needs a code, and each code works once in all processes', main, async (t) => {
  const world = await startSignedIn(t)
  const { api, browser, owner, db, url } = world
  const off = { confirmed_at: null, recovery_codes_left: 0, is_required: false }
  assert.deepEqual(await world.get('/profile/second-factor'), off)
  const begin = (body: object) => browser.call('POST', '/profile/second-factor', body)
  assertBadRequest(await begin({}), /^current_password: required/)
  assertBadRequest(await begin({ current_password: 'wrong' }), /^current_password: wrong/)
  const { secret, url: link } = (await begin({ current_password: owner.password })).body.data
  assert.equal(
    link,
    `otpauth://totp/Parley%20Acme:${encodeURIComponent(owner.email)}?secret=${secret}&issuer=Parley%20Acme`,
  )
  // Until it is confirmed the password is enough.
  assert.equal((await createBrowser(url).signIn(owner)).status, 200)
  const confirm = (code: string) => browser.call('POST', '/profile/second-factor/confirm', { code })
  assertBadRequest(await confirm(codeOf(secret, 5)), /^code: wrong/)
  const used = codeOf(secret, 0)
  const confirmed = await confirm(` ${used.replace(/^.../, '$& ')} `)
  assert.equal(confirmed.body.data.recovery_codes.length, 10)
  assertBadRequest(await begin({ current_password: owner.password }), /on already/)

  const twin = await world.twin()
  const enter = (second_factor_code?: string, at = url) =>
    createBrowser(at).call('POST', '/session', { ...owner, ...(second_factor_code ? { second_factor_code } : {}) })
  const asked = await enter()
  assertRefused(asked, 401, 'unauthorized', /enter the code/)
  assert.deepEqual(asked.body.error.details, { second_factor: 'required' })
  assert.deepEqual(asked.headers.getSetCookie(), [])
  const wrongPassword = await createBrowser(url).call('POST', '/session', {
    ...owner,
    password: 'wrong horse',
    second_factor_code: codeOf(secret),
  })
  assertRefused(wrongPassword, 401, 'unauthorized', 'wrong email or password')
  assert.equal(wrongPassword.body.error.details, undefined)
  // The code of the setup is used.
  assertRefused(await enter(used), 401, 'unauthorized', /used already/)
  const code = codeOf(secret)
  const answers = await Promise.all([enter(code), enter(code, twin), enter(code), enter(code, twin)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401])

  const [row] = await db`
    select secret, recovery_code_hashes from member_second_factors where workspace_id = ${api.workspaceId}`
  const stored = JSON.stringify(row)
  for (const hidden of [secret, ...confirmed.body.data.recovery_codes]) assert.ok(!stored.includes(hidden), hidden)
  assert.ok((await actionsOf(browser)).includes('member.second_factor_enabled '))
})

test('a recovery code signs in once, is recorded, and new codes replace the old ones', async (t) => {
  const world = await startSignedIn(t)
  const { browser, owner, url } = world
  const { secret, codes } = await setUp(browser, owner.password)
  const enter = (second_factor_code = '') =>
    createBrowser(url).call('POST', '/session', { ...owner, second_factor_code })
  const [first = '', second = ''] = codes
  assert.match(first, /^([0-9a-z]{4}-){3}[0-9a-z]{4}$/)
  assert.equal((await enter(first.toUpperCase().replaceAll('-', ' '))).status, 200)
  assertRefused(await enter(first), 401, 'unauthorized')
  assert.ok((await actionsOf(browser)).includes('session.created from 127.0.0.1, with a recovery code'))
  assert.equal((await world.get('/profile/second-factor')).recovery_codes_left, 9)

  const renew = (code: string) => browser.call('POST', '/profile/second-factor/recovery-codes', { code })
  assertBadRequest(await renew('000000'), /^code: /)
  const renewed = (await renew(codeOf(secret))).body.data.recovery_codes
  assert.equal(new Set([...codes, ...renewed]).size, 20)
  assertRefused(await enter(second), 401, 'unauthorized')
  assert.equal((await enter(renewed[0])).status, 200)

  const off = (code: string) => browser.call('DELETE', '/profile/second-factor', { code })
  assertBadRequest(await off(first), /^code: /)
  assert.equal((await off(renewed[1])).status, 200)
  assert.equal((await createBrowser(url).signIn(owner)).status, 200)
  const actions = await actionsOf(browser)
  for (const action of ['member.recovery_codes_created ', 'member.second_factor_disabled '])
    assert.ok(actions.includes(action))
})

test('guesses at codes are limited, and a browser that signed in before has a limit of its own', async (t) => {
  const world = await startSignedIn(t)
  const { browser, owner, url } = world
  const { secret, codes } = await setUp(browser, owner.password)
  const enter = (from: Browser, second_factor_code: string) =>
    from.call('POST', '/session', { ...owner, second_factor_code })
  for (let i = 0; i < 5; i++) assertRefused(await enter(createBrowser(url), '000000'), 401, 'unauthorized')
  // Also the right code, a recovery code, and in another process.
  assertRefused(await enter(createBrowser(url), codeOf(secret)), 429, 'rate_limited')
  assertRefused(await enter(createBrowser(await world.twin()), codes[0] ?? ''), 429, 'rate_limited')
  assert.equal((await enter(browser, codeOf(secret))).status, 200)
  await forgetUse(world)
  await world.db`update sign_in_failures set started_at = started_at - interval '16 minutes'`
  assert.equal((await enter(createBrowser(url), codeOf(secret))).status, 200)
})

test('a browser is known until the password or the second factor changes, or the member signs out everywhere', async (t) => {
  const world = await startSignedIn(t)
  const { browser, owner, url, db } = world
  let { password } = owner
  const enter = (from: Browser, second_factor_code?: string) =>
    from.call('POST', '/session', { ...owner, password, ...(second_factor_code ? { second_factor_code } : {}) })
  const passWindow = () => db`update sign_in_failures set started_at = started_at - interval '16 minutes'`
  /** Uses up the codes of the clients that are not known. */
  const useUp = async () => {
    await passWindow()
    for (let i = 0; i < 5; i++) assertRefused(await enter(createBrowser(url), '000000'), 401, 'unauthorized')
  }
  const assertKnown = async (from: Browser, code: string) => {
    await forgetUse(world)
    assert.equal((await enter(from, code)).status, 200)
  }
  const early = await signIn({ url, owner })
  const { secret } = await setUp(browser, owner.password)
  await useUp()
  assertRefused(await enter(early, codeOf(secret)), 429, 'rate_limited')
  // The browser in which the change was made stays known.
  await assertKnown(browser, codeOf(secret))

  /** Another browser, which is known. */
  const open = async () => {
    await passWindow()
    const other = createBrowser(url)
    await assertKnown(other, codeOf(secret))
    return other
  }
  const second = await open()
  await useUp()
  await assertKnown(second, codeOf(secret))
  assert.equal((await browser.call('DELETE', '/sessions')).status, 200)
  assertRefused(await enter(second, codeOf(secret)), 429, 'rate_limited')
  await assertKnown(browser, codeOf(secret))

  const third = await open()
  const change = { current_password: password, new_password: 'a brand new one' }
  assert.equal((await browser.call('PATCH', '/profile', change)).status, 200)
  password = change.new_password
  await useUp()
  assertRefused(await enter(third, codeOf(secret)), 429, 'rate_limited')
  await assertKnown(browser, codeOf(secret))

  assert.equal((await browser.call('DELETE', '/sessions?including_current=true')).status, 200)
  assertRefused(await enter(browser, codeOf(secret)), 429, 'rate_limited')
})

test('all known browsers of a member share a limit on wrong codes', async (t) => {
  const world = await startSignedIn(t)
  const { browser, owner, url, db } = world
  const { secret } = await setUp(browser, owner.password)
  const enter = (from: Browser, second_factor_code: string) =>
    from.call('POST', '/session', { ...owner, second_factor_code })
  const known = [browser, createBrowser(url), createBrowser(url)]
  for (const each of known) {
    await forgetUse(world)
    assert.equal((await enter(each, codeOf(secret))).status, 200)
  }
  await forgetUse(world)
  const [first = browser, second = browser, third = browser] = known
  for (const each of [first, second]) {
    for (let i = 0; i < 5; i++) assertRefused(await enter(each, '000000'), 401, 'unauthorized')
    assertRefused(await enter(each, '000000'), 429, 'rate_limited')
  }
  assertRefused(await enter(third, codeOf(secret)), 429, 'rate_limited')
  await db`update sign_in_failures set started_at = started_at - interval '16 minutes'`
  assert.equal((await enter(third, codeOf(secret))).status, 200)
})

test('a workspace requires two-step sign-in: members set it up at their next sign-in and can do nothing else before', async (t) => {
  const world = await startSignedIn(t)
  const { browser, owner, url, ask } = world
  const ann = { email: 'ann@acme.test', password: 'long enough' }
  const early = await createMember(browser, 'admin', ann)

  const require = (by: Browser, requires_second_factor = true) =>
    by.call('PATCH', '/workspace', { requires_second_factor })
  assertBadRequest(await require(browser), /for yourself first/)
  const { secret } = await setUp(browser, owner.password)
  assertRefused(await require(early), 403, 'forbidden', /only an owner/)
  assert.equal((await require(browser)).body.data.requires_second_factor, true)
  assert.ok((await actionsOf(browser)).includes('workspace.changed requires_second_factor: true'))

  // The session from before continues; the next one waits for the setup.
  assert.equal((await early.call('GET', '/members')).status, 200)
  const late = createBrowser(url)
  const entered = await late.signIn(ann)
  assert.deepEqual([entered.status, entered.body.data.second_factor_due], [200, true])
  for (const [method, path, body] of [
    ['GET', '/members'],
    ['GET', '/conversations'],
    ['GET', '/stream'],
    ['PATCH', '/profile', { name: 'Eve' }],
    ['POST', '/keys', { name: 'Mine', scopes: [] }],
    ['DELETE', '/sessions'],
  ] as const) {
    const refused = await late.call(method, path, body)
    assertRefused(refused, 403, 'forbidden', /set up two-step sign-in/)
    assert.deepEqual(refused.body.error.details, { second_factor: 'setup_required' })
  }
  const setup = (await late.call('POST', '/profile/second-factor', {})).body.data
  const code = codeOf(setup.secret, 0)
  assert.equal((await late.call('POST', '/profile/second-factor/confirm', { code })).status, 200)
  assert.equal((await late.call('GET', '/members')).status, 200)
  assert.equal((await late.call('GET', '/session')).body.data.second_factor_due, false)

  // A member who joins later.
  const next = (await ask('POST', '/members', { email: 'bob@acme.test', role: 'agent' }, 201)).data
  const bob = createBrowser(url)
  const profile = { name: 'Bob', password: ann.password }
  const joined = await bob.call('POST', `/invitations/${next.invitation_token}`, profile)
  assert.deepEqual([joined.status, joined.body.data.second_factor_due], [201, true])
  assert.equal((await bob.call('DELETE', '/session')).status, 200)

  // Turning it off leads to a new setup.
  await forgetUse(world)
  assert.equal((await browser.call('DELETE', '/profile/second-factor', { code: codeOf(secret) })).status, 200)
  assert.equal((await browser.call('GET', '/session')).body.data.second_factor_due, true)
  assertRefused(await browser.call('GET', '/members'), 403, 'forbidden')
})

test('only an owner resets the second factor of a member, within the workspace', async (t) => {
  const world = await startSignedIn(t)
  const { url, ask } = world
  const ann = await createMember(world.browser, 'agent', { password: 'long enough' })
  const admin = await createMember(world.browser, 'admin')
  await setUp(ann, 'long enough')
  const listed = (await world.get('/members')).map(({ id, has_second_factor }: Json) => [id, has_second_factor])
  assert.deepEqual(new Map(listed).get(ann.id), true)
  assert.deepEqual(new Map(listed).get(admin.id), false)

  const path = `/members/${ann.id}/second-factor`
  assertRefused(await admin.call('DELETE', path), 403, 'forbidden')
  const stranger = await startSignedIn(t)
  assertRefused(await stranger.browser.call('DELETE', path), 404, 'not_found')
  assertRefused(await createBrowser(url).signIn({ email: ann.email, password: 'long enough' }), 401, 'unauthorized')
  assert.deepEqual((await ask('DELETE', path)).data, { id: ann.id, deleted: true })
  assert.ok((await actionsOf(world.browser)).includes(`member.second_factor_reset ${ann.email}`))
  assert.equal((await createBrowser(url).signIn({ email: ann.email, password: 'long enough' })).status, 200)
  assertBadRequest(await world.browser.call('DELETE', path), /no second factor/)
  assertRefused(await world.browser.call('DELETE', '/members/nonsense/second-factor'), 404, 'not_found')
})
