/** Sign-in with OpenID Connect, against a real provider over HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, pluck } from './assertions.ts'
import { createBrowser, createMember, publicUrl, signIn } from './browser.ts'
import { insertMember, unlinkAccountsOf } from './internals.ts'
import { type OidcServer, startOidcServer } from './oidc-server.ts'
import { type Json, main, type Starting, start, startSignedIn, until, type World } from './support.ts'

const callbackUrl = `${publicUrl}/app/api/oidc/callback`

/** A person's browser, with the cookies of the service and of the provider. It follows no redirect by itself. */
function createAgent({ url }: Pick<World, 'url'>) {
  const jars = new Map<string, Map<string, string>>()
  const request = async (address: string, init: RequestInit = {}): Promise<Response> => {
    const { origin, pathname, search } = new URL(address)
    const jar = jars.get(origin) ?? new Map<string, string>()
    jars.set(origin, jar)
    const target = origin === publicUrl ? url : origin
    const response = await fetch(`${target}${pathname}${search}`, {
      redirect: 'manual',
      ...init,
      headers: { origin, ...init.headers, cookie: [...jar].map((pair) => pair.join('=')).join('; ') },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0\b|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }
  const locationOf = (response: Response, base: string): string => {
    assert.equal(response.status, 303, `${base} answered ${response.status}`)
    return new URL(response.headers.get('location') ?? assert.fail(), base).href
  }
  const cookies = (origin = publicUrl) => jars.get(origin) ?? new Map<string, string>()

  /** Asks the service for a sign-in. Returns the address at the provider, or the page of the service with an error. */
  const begin = async (to?: string): Promise<string> => {
    const address = `${publicUrl}/app/api/oidc/start${to === undefined ? '' : `?to=${encodeURIComponent(to)}`}`
    return locationOf(await request(address), address)
  }
  /** Signs in at the provider, or cancels. Returns the callback. */
  const authorize = async (address: string, subject: string): Promise<string> => {
    let next = address
    for (let i = 0; i < 6 && !next.startsWith(callbackUrl); i++) {
      const isForm = new URL(next).pathname.startsWith('/interaction/')
      const body = new URLSearchParams({ login: subject })
      next = locationOf(await request(next, isForm ? { method: 'POST', body } : {}), next)
    }
    return next
  }
  /** Opens the callback. Returns the page that the browser is sent to, without the origin. */
  const finish = async (callback: string): Promise<string> => {
    const page = new URL(locationOf(await request(callback), callback))
    assert.equal(page.origin, publicUrl)
    return page.href.slice(publicUrl.length)
  }
  const signIn = async (subject: string, to?: string) => finish(await authorize(await begin(to), subject))
  const call = async (path: string): Promise<Json> => {
    const response = await request(`${publicUrl}/app/api${path}`)
    return response.status === 200 ? ((await response.json()) as Json).data : response.status
  }
  return { request, begin, authorize, finish, signIn, call, cookies }
}

type Policy = {
  roles?: Record<string, 'owner' | 'admin' | 'agent' | 'viewer'>
  isHome?: boolean
  domains?: readonly string[]
}

/** A service with a provider, whose people sign in to the first workspace. */
async function startWithProvider(
  t: Parameters<typeof startOidcServer>[0],
  policy: Policy = {},
  starting: Starting = {},
) {
  const provider = await startOidcServer(t)
  const { roles, isHome = true, domains = provider.settings.domains } = policy
  const mapped = roles ? { claim: 'groups', roles: new Map(Object.entries(roles)) } : {}
  const oidc = { ...provider.settings, domains, ...mapped }
  const world = await startSignedIn(t, { oidc, ...starting })
  assert.equal((await world.db`select id from workspaces`).length, 1)
  if (!isHome) await world.workspace()
  return { ...world, provider, signIn: (subject: string) => createAgent(world).signIn(subject) }
}

const memberOf = async ({ get }: { get(path: string): Promise<Json> }, email: string): Promise<Json> =>
  (await get('/members')).find((member: Json) => member.email === email)

test('a new person signs in with the provider, gets an account and opens the requested page', main, async (t) => {
  const world = await startWithProvider(t)
  const { provider, db, get, url } = world
  assert.equal((await get('/setup')).single_sign_on, 'Acme ID')
  provider.people.set('ann', { email: 'Ann@Acme.test', email_verified: true, name: ' Ann Agent ' })
  const ann = createAgent(world)
  const started = await ann.request(`${publicUrl}/app/api/oidc/start?to=${encodeURIComponent('/settings/profile?x=1')}`)
  assert.match(
    started.headers.get('set-cookie') ?? '',
    /^parley_oidc=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
  )
  assert.equal(started.headers.get('cache-control'), 'no-store')
  const authorization = new URL(started.headers.get('location') ?? '')
  const { state, nonce, code_challenge: challenge, ...parameters } = Object.fromEntries(authorization.searchParams)
  const expected = { client_id: 'parley', response_type: 'code', redirect_uri: callbackUrl }
  assert.deepEqual(parameters, { ...expected, scope: 'openid email profile', code_challenge_method: 'S256' })
  for (const value of [state, nonce, challenge]) {
    assert.ok((value ?? '').length >= 43)
    assert.ok(![...ann.cookies().values()].join().includes(value ?? ''))
  }
  assert.equal(await ann.finish(await ann.authorize(authorization.href, 'ann')), '/settings/profile?x=1')
  assert.deepEqual([...ann.cookies().keys()].sort(), ['parley_device', 'parley_session'])
  const { member, role } = await ann.call('/session')
  assert.deepEqual([member.email, member.name, role], ['Ann@Acme.test', 'Ann Agent', 'agent'])
  const sessions = await ann.call('/sessions')
  assert.deepEqual(pluck(sessions, 'is_current', 'address'), [[true, '127.0.0.1']])
  const entries = async () =>
    (await get('/audit')).filter((entry: Json) => entry.member.id === member.id).map((e: Json) => [e.action, e.summary])
  assert.deepEqual(await entries(), [
    ['session.created', 'from 127.0.0.1, with single sign-on'],
    ['member.joined', 'as agent, with single sign-on'],
  ])

  // Later the subject decides, whatever the e-mail is.
  provider.people.set('ann', { email: 'other@acme.test', email_verified: false })
  assert.equal(await world.signIn('ann'), '/inbox')
  assert.equal((await get('/members')).length, 2)
  // There is no password: no guess is right, and a reset has nothing to set.
  const [stored] = await db`select password_hash from members where id = ${member.id}`
  const guess = { email: 'ann@acme.test', password: stored?.password_hash }
  assertRefused(await createBrowser(url).signIn(guess), 401, 'unauthorized')
})

test('a provider that states all claims in the ID token is asked for nothing more', async (t) => {
  const provider = await startOidcServer(t, { isComplete: true })
  const roles = new Map([['team', 'viewer' as const]])
  const world = await startSignedIn(t, { oidc: { ...provider.settings, claim: 'nested.groups', roles } })
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true, groups: 'team' })
  assert.equal(await createAgent(world).signIn('ann'), '/sign-in?error=no_role')
  const flat = await startSignedIn(t, { oidc: { ...provider.settings, claim: 'groups', roles } })
  provider.requests.length = 0
  assert.equal(await createAgent(flat).signIn('ann'), '/inbox')
  assert.deepEqual(
    provider.requests.filter((path) => !path.startsWith('/auth') && !path.startsWith('/interaction')),
    ['/.well-known/openid-configuration', '/token', '/jwks'],
  )
  assert.equal((await memberOf(flat, 'ann@acme.test')).role, 'viewer')
})

test('the first sign-in links a member by verified e-mail only, apart from ASCII case', async (t) => {
  const world = await startWithProvider(t)
  const { provider, db, owner, signIn } = world
  provider.people.set('owner', { email: owner.email.toUpperCase(), email_verified: false })
  assert.equal(await signIn('owner'), '/sign-in?error=unverified')
  provider.people.set('owner', { email: owner.email.toUpperCase(), email_verified: 'true' })
  assert.equal(await signIn('owner'), '/sign-in?error=unverified')
  provider.people.set('owner', { email: owner.email.toUpperCase() })
  assert.equal(await signIn('owner'), '/sign-in?error=unverified')
  provider.people.set('owner', { email_verified: true })
  assert.equal(await signIn('owner'), '/sign-in?error=unverified')
  assert.equal((await db`select 1 from oidc_accounts`).length, 0)
  provider.people.set('owner', { email: owner.email.toUpperCase(), email_verified: true })
  assert.equal(await signIn('owner'), '/inbox')
  assert.equal((await world.get('/members')).length, 1)
  // Another account with the same e-mail does not open the member.
  provider.people.set('recycled', { email: owner.email, email_verified: true })
  assert.equal(await signIn('recycled'), '/sign-in?error=other_account')
  // Both fold to the same text, but they are two mailboxes.
  await db`update members set email = 'ann@straße.test', email_key = 'ann@strasse.test'`
  provider.people.set('attacker', { email: 'ann@strasse.test', email_verified: true })
  assert.equal(await signIn('attacker'), '/sign-in?error=no_account')
  assert.equal((await db`select 1 from oidc_accounts`).length, 1)
  // The operator unlinks a member whose account was created again.
  assert.equal(await unlinkAccountsOf(db, 'ann@strasse.test'), 1)
  provider.people.set('again', { email: 'ann@straße.test', email_verified: true })
  assert.equal(await signIn('again'), '/inbox')
})

test('an invited person joins with the role of the invitation, which is used up', async (t) => {
  const { provider, signIn, ask, get, db } = await startWithProvider(t)
  await ask('POST', '/members', { email: 'ann@acme.test', role: 'admin' }, 201)
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true })
  assert.equal(await signIn('ann'), '/inbox')
  const members = (await get('/members')).map(({ email, role, state }: Json) => [email, role, state])
  assert.deepEqual(members[1], ['ann@acme.test', 'admin', 'active'])
  assert.equal((await db`select 1 from invitations`).length, 0)
})

test('roles follow the claim at each sign-in, up and down, and never take the last owner', async (t) => {
  const roles = { 'parley-admins': 'admin', support: 'agent', readers: 'viewer', bosses: 'owner' } as const
  const world = await startWithProvider(t, { roles })
  const { provider, owner, signIn, get, api, browser } = world
  const person = (groups: unknown) => ({ email: 'ann@acme.test', email_verified: true, groups })
  const roleAfter = async (groups: unknown) => {
    provider.people.set('ann', person(groups))
    assert.equal(await signIn('ann'), '/inbox')
    return (await memberOf(world, 'ann@acme.test')).role
  }
  assert.equal(await roleAfter(['support', 'parley-admins', 'readers', 7]), 'admin')
  assert.equal(await roleAfter('support'), 'agent')
  const { id } = await memberOf(world, 'ann@acme.test')
  const conversation = await startConversation(world)
  await browser.call('PATCH', `/conversations/${conversation}`, { assigned_agent_id: id })
  assert.equal(await roleAfter(['readers']), 'viewer')
  const { data } = (await api.get(`/conversations/${conversation}`)).body
  assert.equal(data.assigned_agent_id, null)
  assert.equal(await roleAfter(['readers', 'bosses']), 'owner')
  for (const none of [[], ['Support'], undefined, { support: true }]) {
    provider.people.set('ann', person(none))
    assert.equal(await signIn('ann'), '/sign-in?error=no_role')
    assert.equal((await memberOf(world, 'ann@acme.test')).role, 'owner')
  }
  // Of two owners one can become an agent, and the last cannot.
  assert.equal(await roleAfter(['support']), 'agent')
  provider.people.set('owner', { email: owner.email, email_verified: true, groups: ['support'] })
  assert.equal(await signIn('owner'), '/inbox')
  assert.equal((await memberOf(world, owner.email)).role, 'owner')
  const changes = (await get('/audit')).filter(({ action }: Json) => action === 'member.role_changed')
  assert.equal(changes.length, 4)
  assert.equal(changes[0].summary, 'ann@acme.test, agent, with single sign-on')
})

test('without a rule for roles a member keeps the role', async (t) => {
  const world = await startWithProvider(t)
  const { provider, owner, signIn } = world
  provider.people.set('owner', { email: owner.email, email_verified: true, groups: [] })
  assert.equal(await signIn('owner'), '/inbox')
  assert.equal((await memberOf(world, owner.email)).role, 'owner')
})

test('a sign-in needs no code of Parley, also where the workspace requires two-step sign-in', async (t) => {
  const world = await startWithProvider(t)
  const { provider, db } = world
  await db`update workspaces set requires_second_factor = true`
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true })
  const ann = createAgent(world)
  assert.equal(await ann.signIn('ann'), '/inbox')
  assert.equal((await ann.call('/session')).second_factor_due, false)
  assert.ok(Array.isArray(await ann.call('/members')))
})

test('a callback works only in the browser that started it, once, and in time', async (t) => {
  const world = await startWithProvider(t)
  const { provider, db } = world
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true })
  provider.people.set('mallory', { email: 'mallory@acme.test', email_verified: true })
  const [ann, mallory] = [createAgent(world), createAgent(world)]
  const expired = '/sign-in?error=expired'

  // The callback of another person, in a browser with and without an attempt of its own.
  const foreign = await mallory.authorize(await mallory.begin(), 'mallory')
  assert.equal(await ann.finish(foreign), expired)
  const own = await ann.begin('/contacts')
  assert.equal(await ann.finish(foreign), `${expired}&to=%2Fcontacts`)
  // The code of another person with the state of this browser: the provider compares the verifier.
  const mixed = new URL(foreign)
  mixed.searchParams.set('state', new URL(own).searchParams.get('state') ?? '')
  assert.equal(await ann.finish(mixed.href), '/sign-in?error=failed&to=%2Fcontacts')
  // It used up the attempt.
  assert.equal(await ann.finish(await ann.authorize(own, 'ann')), expired)
  assert.equal(await ann.call('/session'), 401)

  const wrongNonce = new URL(await ann.begin())
  wrongNonce.searchParams.set('nonce', 'n'.repeat(43))
  assert.equal(await createAgent(world).finish(callbackUrl), expired)
  assert.equal(await ann.finish(await ann.authorize(wrongNonce.href, 'ann')), '/sign-in?error=failed')

  const callback = await ann.authorize(await ann.begin(), 'ann')
  const kept = new Map(ann.cookies())
  for (const change of [(value: string) => `${value.slice(0, -3)}AAA`, () => 'v2.AAAA', () => '']) {
    const cookie = `parley_oidc=${change(kept.get('parley_oidc') ?? '')}`
    const response = await fetch(callback.replace(publicUrl, world.url), { redirect: 'manual', headers: { cookie } })
    assert.equal(response.headers.get('location'), expired)
  }
  assert.equal(await ann.finish(callback), '/inbox')
  assert.equal(await ann.finish(callback), expired)
  // Even with the cookie from before the provider refuses the code.
  for (const [name, value] of kept) ann.cookies().set(name, value)
  assert.equal(await ann.finish(callback), '/sign-in?error=failed')
  assert.equal((await db`select 1 from members`).length, 2)

  // The time is in the cookie itself, whatever the browser does with it.
  const late = await ann.authorize(await ann.begin(), 'ann')
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 601_000 })
  assert.equal(await ann.finish(late), expired)
  t.mock.timers.reset()
})

test('an ID token with a wrong signature is refused', async (t) => {
  const { provider, signIn, db } = await startWithProvider(t)
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true })
  provider.tamper((body) => {
    const tokens = JSON.parse(body)
    const [head, payload, signature = ''] = tokens.id_token.split('.')
    return JSON.stringify({ ...tokens, id_token: `${head}.${payload}.${[...signature].reverse().join('')}` })
  })
  assert.equal(await signIn('ann'), '/sign-in?error=failed')
  provider.tamper((body) => body)
  assert.equal(await signIn('ann'), '/inbox')
  assert.equal((await db`select 1 from members`).length, 2)
})

test('a removed member does not come back without an invitation', async (t) => {
  const world = await startWithProvider(t)
  const { provider, ask } = world
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true })
  const ann = createAgent(world)
  assert.equal(await ann.signIn('ann'), '/inbox')
  const remove = async () => ask('DELETE', `/members/${(await memberOf(world, 'ann@acme.test')).id}`)
  await remove()
  assert.equal(await ann.call('/session'), 401)
  assert.equal(await ann.signIn('ann'), '/sign-in?error=removed')
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: false })
  assert.equal(await world.signIn('ann'), '/sign-in?error=removed')
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true })
  await ask('POST', '/members', { email: 'ann@acme.test', role: 'viewer' }, 201)
  assert.equal(await world.signIn('ann'), '/inbox')
  assert.equal((await memberOf(world, 'ann@acme.test')).role, 'viewer')
})

test('a removed person does not come back with another account, and neither does a member with a password', async (t) => {
  const world = await startWithProvider(t)
  const { provider, ask, signIn } = world
  const remove = async (email: string) => ask('DELETE', `/members/${(await memberOf(world, email)).id}`)
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true })
  assert.equal(await signIn('ann'), '/inbox')
  await remove('ann@acme.test')
  provider.people.set('ann again', { email: 'Ann@Acme.test', email_verified: true })
  assert.equal(await signIn('ann again'), '/sign-in?error=removed')

  await createMember(world.browser, 'agent', { email: 'bob@acme.test' })
  await remove('bob@acme.test')
  provider.people.set('bob', { email: 'bob@acme.test', email_verified: true })
  assert.equal(await signIn('bob'), '/sign-in?error=removed')
  await ask('POST', '/members', { email: 'bob@acme.test', role: 'viewer' }, 201)
  assert.equal(await signIn('bob'), '/inbox')
  assert.equal((await memberOf(world, 'bob@acme.test')).role, 'viewer')
})

test('only invited people and people of the domains get an account', async (t) => {
  const world = await startWithProvider(t, { domains: ['acme.test', 'xn--strae-oqa.example'] })
  const { provider, ask, signIn, db, api } = world
  const enter = (subject: string, email: string) => {
    provider.people.set(subject, { email, email_verified: true })
    return signIn(subject)
  }
  for (const email of ['eve@mail.test', 'eve@sub.acme.test', 'eve@notacme.test', 'eve@acme.test.evil.test']) {
    assert.equal(await enter(email, email), '/sign-in?error=no_account', email)
  }
  assert.equal(await enter('ann', 'ann@ACME.test'), '/inbox')
  assert.equal(await enter('bob', 'bob@straße.example'), '/inbox')
  await ask('POST', '/members', { email: 'eve@mail.test', role: 'viewer' }, 201)
  assert.equal(await enter('eve', 'eve@mail.test'), '/inbox')
  assert.equal((await memberOf(world, 'eve@mail.test')).role, 'viewer')

  // An invitation of a member who may no longer invite to its role does not count.
  await ask('POST', '/members', { email: 'boss@mail.test', role: 'owner' }, 201)
  const setRole = (role: string) =>
    db`update members set role = ${role} where workspace_id = ${api.workspaceId} and email = ${world.owner.email}`
  await setRole('admin')
  assert.equal(await enter('boss', 'boss@mail.test'), '/sign-in?error=no_account')
  await setRole('owner')
  assert.equal(await enter('boss', 'boss@mail.test'), '/inbox')

  const closed = await startWithProvider(t, { domains: [], roles: { support: 'agent' } })
  closed.provider.people.set('ann', { email: 'ann@acme.test', email_verified: true, groups: ['support'] })
  assert.equal(await closed.signIn('ann'), '/sign-in?error=no_account')
  await closed.ask('POST', '/members', { email: 'ann@acme.test', role: 'viewer' }, 201)
  assert.equal(await closed.signIn('ann'), '/inbox')
  assert.equal((await memberOf(closed, 'ann@acme.test')).role, 'agent')
})

test('with several workspaces only members sign in, and the setting chooses the workspace', async (t) => {
  const world = await startWithProvider(t, { isHome: false })
  const { provider, owner, api, url, db } = world
  provider.people.set('new', { email: 'new@acme.test', email_verified: true })
  provider.people.set('owner', { email: owner.email, email_verified: true })
  assert.equal(await world.signIn('new'), '/sign-in?error=no_account')
  const agent = createAgent(world)
  assert.equal(await agent.signIn('owner'), '/inbox')
  assert.equal((await agent.call('/session')).workspace.id, api.workspaceId)

  const [other] = await db`select id from workspaces where id <> ${api.workspaceId}`
  const chosen = await startSignedIn(t, { oidc: { ...provider.settings, workspaceId: other?.id } })
  assert.notEqual(chosen.url, url)
  const path = await createAgent(chosen).signIn('new')
  assert.equal(path, '/sign-in?error=no_account', 'the workspace does not exist there')
  await chosen.db`
    insert into workspaces (id, name, default_country, created_at) values (${other?.id}, 'Chosen', 'US', now())`
  const joined = createAgent(chosen)
  assert.equal(await joined.signIn('new'), '/inbox')
  assert.equal((await joined.call('/session')).workspace.name, 'Chosen')
  // A member of another workspace gets an account in the chosen one, and keeps the other.
  const email = 'neighbour@acme.test'
  await chosen.db`
    update members set email = ${email}, email_key = ${email} where workspace_id = ${chosen.api.workspaceId}`
  provider.people.set('neighbour', { email, email_verified: true })
  const neighbour = createAgent(chosen)
  assert.equal(await neighbour.signIn('neighbour'), '/inbox')
  const session = await neighbour.call('/session')
  assert.deepEqual([session.workspace.name, session.role], ['Chosen', 'agent'])
})

test('with several workspaces an address that another person took opens nothing, and a member of several chooses', async (t) => {
  const world = await startWithProvider(t)
  const { provider, api, url, db } = world
  const email = 'ann@corp.test'
  provider.people.set('ann', { email, email_verified: true })
  // The owner of another workspace invites Ann and accepts the link.
  const other = await world.workspace({ name: 'Evil' })
  await createMember(await signIn({ url, owner: other.owner }), 'agent', { email })
  assert.equal(await world.signIn('ann'), '/sign-in?error=no_account')

  const person = { email, name: null, role: 'admin', passwordHash: 'none', isEmailProved: true } as const
  await insertMember(db, api.workspaceId, person)
  const ann = createAgent(world)
  assert.equal(await ann.signIn('ann'), '/inbox')
  assert.equal((await ann.call('/session')).workspace.id, api.workspaceId)

  // Once both are proved, the person chooses.
  await db`update members set email_proved_at = now() where email = ${email}`
  const apart = await world.workspace({ name: 'Apart' })
  const chooser = createAgent(world)
  assert.equal(await chooser.signIn('ann', '/contacts'), '/sign-in?choose=workspace&to=%2Fcontacts')
  assert.deepEqual([...chooser.cookies().keys()], ['parley_oidc_workspace'])
  const names = (await chooser.call('/oidc/workspaces')).map(({ name }: Json) => name)
  assert.deepEqual(names, ['Evil', 'Acme'])
  const choose = async (agent: typeof chooser, workspace_id: string) => {
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify({ workspace_id }) }
    const response = await agent.request(`${publicUrl}/app/api/oidc/session`, init)
    return { status: response.status, body: (await response.json()) as Json }
  }
  assert.equal((await choose(chooser, apart.api.workspaceId)).status, 404)
  assert.equal((await choose(createAgent(world), api.workspaceId)).status, 404)
  assert.deepEqual(await choose(chooser, api.workspaceId), { status: 200, body: { data: { to: '/contacts' } } })
  assert.equal((await chooser.call('/session')).workspace.id, api.workspaceId)
  // The choice is used up.
  assert.equal(await chooser.call('/oidc/workspaces'), 404)
  assert.equal((await choose(chooser, other.api.workspaceId)).status, 404)
})

test('the provider proves the address of a member, and what the inviter could have set up before ends', async (t) => {
  const world = await startWithProvider(t)
  const { provider, owner, url } = world
  const ann = { email: 'ann@acme.test', password: 'long enough' }
  const planted = await createMember(world.browser, 'agent', ann)
  provider.people.set('ann', { email: ann.email, email_verified: true })
  assert.equal(await world.signIn('ann'), '/inbox')
  assertRefused(await planted.call('GET', '/session'), 401, 'unauthorized')
  assertRefused(await createBrowser(url).signIn(ann), 401, 'unauthorized')
  // The second sign-in ends nothing, and a member with a proved address keeps the password.
  const agent = createAgent(world)
  assert.equal(await agent.signIn('ann'), '/inbox')
  assert.equal(await world.signIn('ann'), '/inbox')
  assert.equal((await agent.call('/session')).member.email, ann.email)
  provider.people.set('owner', { email: owner.email, email_verified: true })
  assert.equal(await world.signIn('owner'), '/inbox')
  assert.equal((await createBrowser(url).signIn(owner)).status, 200)
})

test('a provider that is down, does not answer or refuses is reported on the sign-in page', async (t) => {
  const world = await startWithProvider(t)
  const { provider, owner, url } = world
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true })
  provider.setDown(true)
  const ann = createAgent(world)
  const unavailable = `${publicUrl}/sign-in?error=unavailable`
  assert.equal(await ann.begin('/contacts'), `${unavailable}&to=%2Fcontacts`)
  assert.equal(await ann.begin(), unavailable)
  assert.equal(await ann.begin(), unavailable)
  assert.equal(provider.requests.length, 1, 'a failed discovery is not repeated at once')
  assert.equal((await createBrowser(url).signIn(owner)).status, 200)
  provider.setDown(false)
  const address = await until('the provider to be asked again', async () => {
    const next = await ann.begin()
    return next !== unavailable && next
  })
  const callback = await ann.authorize(address, 'ann')
  provider.setDown(true)
  assert.equal(await ann.finish(callback), '/sign-in?error=unavailable')
  provider.setDown(false)
  const again = await ann.authorize(await ann.begin(), 'ann')
  provider.setDown('silent')
  assert.equal(await ann.finish(again), '/sign-in?error=unavailable')
  provider.setDown(false)
  assert.equal(await createAgent(world).signIn(''), '/sign-in?error=denied')
  assert.equal(await ann.signIn('ann'), '/inbox')
})

test('callbacks are limited per network, and right ones do not count', async (t) => {
  const world = await startWithProvider(t)
  const { provider, db } = world
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true })
  assert.equal(await world.signIn('ann'), '/inbox')
  const counts = () => db`select failure_count from sign_in_failures where address like 'oidc %'`
  assert.equal((await counts())[0]?.failure_count, 0)
  assert.equal(await world.signIn(''), '/sign-in?error=denied')
  assert.equal((await counts())[0]?.failure_count, 1)
  await db`update sign_in_failures set failure_count = 1000, started_at = now()`
  provider.requests.length = 0
  assert.equal(await world.signIn('ann'), '/sign-in?error=too_many')
  assert.ok(!provider.requests.includes('/token'))
})

test('the sign-in returns only to pages of the dashboard', async (t) => {
  const world = await startWithProvider(t)
  const { provider } = world
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true })
  for (const to of [
    ...['https://evil.test/', '//evil.test/inbox', '/\\evil.test', '/\t/evil.test', '/a/..//evil.test'],
    ...['/a/%2e%2e/\\evil.test', 'javascript:alert(1)', '/app/api/oidc/start', '/x/../app/api/session'],
    ...['/./../app/api/session', `/${'x'.repeat(2_000)}`, ''],
  ]) {
    assert.equal(await createAgent(world).signIn('ann', to), '/inbox', to)
  }
  assert.equal(await createAgent(world).signIn('ann', '/inbox/1?a=%0d%0a#b'), '/inbox/1?a=%0d%0a#b')
})

test('without a provider the routes do not exist, and over https the cookie is bound to the host', async (t) => {
  const world = await startSignedIn(t)
  assert.equal((await world.get('/setup')).single_sign_on, null)
  for (const path of ['/oidc/start', '/oidc/callback']) {
    assertRefused(await world.browser.call('GET', path), 404, 'not_found')
  }
  const provider: OidcServer = await startOidcServer(t, { callback: 'https://parley.test/app/api/oidc/callback' })
  const { url } = await start(t, { oidc: provider.settings, publicUrl: 'https://parley.test' })
  const started = await fetch(`${url}/app/api/oidc/start`, { redirect: 'manual' })
  assert.match(
    started.headers.get('set-cookie') ?? '',
    /^__Host-parley_oidc=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/,
  )
})

/** The id of a conversation with a customer. */
async function startConversation({ connect, api }: World): Promise<string> {
  const customer = await connect()
  await customer.writes({ from: '+14155550100', text: 'Hello' })
  const [conversation] = (await api.get('/conversations')).body.data
  return conversation.id
}
