/** Several sites of a workspace: each has its own settings, secret and visitors. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { assertRefused, assertStatus, dataOf, pluck } from './assertions.ts'
import { createBrowser, createMember, type Json, main, startSignedIn, withProvider } from './support.ts'

const origin = 'https://shop.test'

async function startSites(t: TestContext) {
  const world = await withProvider(startSignedIn(t))
  const { browser, provider, url } = world
  const added = dataOf(
    await browser.call('POST', '/channels', {
      channel: 'web',
      name: 'Second shop',
      address: 'https://Two.Example/shop',
    }),
    201,
  )
  const visit = async (siteId: string, method: string, path: string, token?: string, body?: Json) => {
    const response = await fetch(`${url}/web-chat/${siteId}${path}`, {
      method,
      headers: {
        origin,
        ...(token ? { 'x-visitor-token': token } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    return { status: response.status, text, headers: response.headers, body: text && JSON.parse(text) }
  }
  return { ...world, one: provider.connections.web.id, two: added.id as string, added: added as Json, visit }
}

test('each site has its own settings and identity secret', main, async (t) => {
  const { browser, url, workspace, one, two, added, visit, provider } = await startSites(t)
  assert.deepEqual([added.name, added.address, added.is_default], ['Second shop', 'two.example', false])
  const change = { title: 'Two', color: '#112233', allowed_origins: [origin] }
  assert.equal(dataOf(await browser.call('PATCH', `/channels/${two}/widget`, change)).id, two)
  assert.equal(dataOf(await browser.call('GET', `/channels/${two}/widget`)).title, 'Two')
  const first = dataOf(await browser.call('GET', `/channels/${one}/widget`))
  assert.deepEqual([first.id, first.title, first.allowed_origins], [one, null, []])
  assert.deepEqual(first, dataOf(await browser.call('GET', '/channels/web/widget')), 'without an id: the default site')
  assert.equal((await visit(two, 'GET', '/settings')).body.data.color, '#112233')
  assert.notEqual((await visit(one, 'GET', '/settings')).body.data.color, '#112233')

  const { secret } = dataOf(await browser.call('POST', `/channels/${two}/identity-secret`), 201)
  const token = signIdentity(secret, { sub: 'customer-1', exp: Math.floor(Date.now() / 1000) + 600 })
  assert.equal((await visit(two, 'POST', '/identity', undefined, { token })).status, 201)
  assert.match((await visit(one, 'POST', '/identity', undefined, { token })).text, /the site has no identity secret/)
  assert.equal(dataOf(await browser.call('GET', `/channels/${one}/widget`)).identity_secret_at, null)
  assertStatus(await browser.call('DELETE', `/channels/${two}/identity-secret`), 200)
  assert.equal(dataOf(await browser.call('GET', `/channels/${two}/widget`)).identity_secret_at, null)

  const agent = await createMember(browser, 'agent')
  assertStatus(await agent.call('GET', `/channels/${two}/widget`), 200)
  assertRefused(await agent.call('PATCH', `/channels/${two}/widget`, change), 403, 'forbidden')
  const stranger = createBrowser(url)
  await stranger.signIn((await workspace()).owner)
  assertStatus(await browser.call('DELETE', `/channels/${two}`), 200)
  for (const [caller, id] of [
    [stranger, one],
    [browser, two],
    [browser, provider.connections.msgapp.id],
    [browser, 'no-id'],
  ] as const) {
    assertRefused(await caller.call('GET', `/channels/${id}/widget`), 404, 'not_found')
    assertRefused(await caller.call('PATCH', `/channels/${id}/widget`, change), 404, 'not_found')
    assertRefused(await caller.call('POST', `/channels/${id}/identity-secret`), 404, 'not_found')
    assertRefused(await caller.call('DELETE', `/channels/${id}/identity-secret`), 404, 'not_found')
  }
})

test("visitors of one site never see another site's messages", async (t) => {
  const { browser, one, two, visit, get, api } = await startSites(t)
  const open = async (site: string) => (await visit(site, 'POST', '/visitors')).body.data.visitor_token as string
  const tokens = { one: await open(one), two: await open(two) }
  for (const [site, token] of [
    [one, tokens.one],
    [two, tokens.two],
  ] as const) {
    assert.equal((await visit(site, 'POST', '/messages', token, { text: `hello ${site}` })).status, 201)
  }
  const rows: Json[] = await get('/conversations')
  const of = (site: string) => rows.find(({ connection }) => connection.id === site)
  assert.deepEqual([of(one)?.connection.name, of(two)?.connection.name], ['Website', 'Second shop'])
  // Even of one contact: the conversations of the sites stay apart.
  const merge = { contact_id: of(two)?.contact_id }
  assertStatus(await browser.call('POST', `/contacts/${of(one)?.contact_id}/merge`, merge), 200)
  assert.equal((await get('/conversations')).length, 2)
  for (const site of [one, two]) {
    const reply = { text: `answer ${site}` }
    assertStatus(await browser.call('POST', `/conversations/${of(site)?.id}/messages`, reply), 201)
  }
  const texts = async (site: string, token: string) =>
    pluck((await visit(site, 'GET', '/messages', token)).body.data, 'content_text').sort()
  assert.deepEqual(await texts(one, tokens.one), [`answer ${one}`, `hello ${one}`])
  assert.deepEqual(await texts(two, tokens.two), [`answer ${two}`, `hello ${two}`])
  for (const [site, token] of [
    [two, tokens.one],
    [one, tokens.two],
  ] as const) {
    assert.equal((await visit(site, 'GET', '/messages', token)).status, 401)
    assert.equal((await visit(site, 'POST', '/messages', token, { text: 'other' })).status, 401)
    assert.equal((await visit(site, 'GET', `/stream?token=${encodeURIComponent(token)}`)).status, 401)
  }
  assert.equal((await api.get('/conversations')).body.data.length, 2)
})

function signIdentity(secret: string, claims: Json): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
