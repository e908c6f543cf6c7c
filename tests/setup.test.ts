/** The first run of an installation, and what the setup page shows. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertRefused, createBrowser, type Json, setupToken, start } from './support.ts'

const first = {
  token: setupToken,
  workspace_name: ' First ',
  default_country: 'DE',
  name: ' Ann ',
  email: 'ann@first.test',
  password: 'correct horse',
}

/** An installation that was never used. */
async function startEmpty(t: TestContext) {
  const world = await start(t, { alone: 'deletes all workspaces' })
  await world.db`delete from workspaces`
  return { ...world, call: (body: object, url = world.url) => createBrowser(url).call('POST', '/setup', body) }
}

test('the printed token creates the first workspace once and signs its owner in', async (t) => {
  const { url, db, call } = await startEmpty(t)
  const browser = createBrowser(url)
  const needed = { needed: true, sends_email: false, single_sign_on: null, demo: null }
  assert.deepEqual((await browser.call('GET', '/setup')).body.data, needed)
  const refused = async (change: object, message: RegExp) =>
    assertBadRequest(await call({ ...first, ...change }), message)
  await refused({ workspace_name: ' ' }, /^workspace_name: /)
  await refused({ default_country: 'Germany' }, /^default_country: /)
  await refused({ name: '' }, /^name: /)
  await refused({ email: 'nobody' }, /^email: /)
  await refused({ password: 'short' }, /^password: /)
  await refused({ password: 'Password1' }, /^password: too common/)
  for (const token of ['', 'wrong', `${setupToken} `, setupToken.slice(1)]) {
    assertRefused(await call({ ...first, token }), 403, 'forbidden', /^token: /)
  }
  assertRefused(await browser.call('POST', '/setup', first, { origin: 'https://evil.test' }), 403, 'forbidden')
  assert.deepEqual(await db`select id from workspaces`.then((rows) => [...rows]), [])

  const made = await browser.call('POST', '/setup', { ...first, time_zone: 'Asia/Kolkata' })
  assert.equal(made.status, 201, made.text)
  const { member, workspace, role } = made.body.data
  assert.deepEqual([member.email, member.name, role], ['ann@first.test', 'Ann', 'owner'])
  assert.deepEqual([workspace.name, workspace.default_country], ['First', 'DE'])
  assert.deepEqual((await browser.call('GET', '/session')).body, made.body)
  assert.equal((await browser.call('GET', '/workspace')).body.data.time_zone, 'Asia/Kolkata')
  const [entry] = (await browser.call('GET', '/audit')).body.data
  assert.deepEqual([entry.action, entry.member.email, entry.summary], ['workspace.created', 'ann@first.test', 'First'])
  assert.equal((await createBrowser(url).signIn(first)).status, 200)
  const done = { needed: false, sends_email: false, single_sign_on: null, demo: null }
  assert.deepEqual((await browser.call('GET', '/setup')).body.data, done)
  assertRefused(await call({ ...first, email: 'eve@first.test' }), 403, 'forbidden', /workspace already/)
})

test('of two concurrent setups in two processes, one creates the workspace', async (t) => {
  const { url, db, twin, call } = await startEmpty(t)
  const urls = [url, await twin(), url, await twin()]
  const answers = await Promise.all(urls.map((each, i) => call({ ...first, email: `${i}@first.test` }, each)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 403, 403, 403])
  assert.deepEqual([...(await db`select name from workspaces`)], [{ name: 'First' }])
})

test('ten wrong setup tokens a minute are checked, and the right one is never refused', async (t) => {
  const { call } = await startEmpty(t)
  for (let i = 0; i < 10; i++) assertRefused(await call({ ...first, token: `guess ${i}` }), 403, 'forbidden')
  const refused = await call({ ...first, token: 'guess 10' })
  assertRefused(refused, 429, 'rate_limited')
  assert.ok(Number(refused.headers.get('retry-after')) >= 1)
  assert.equal((await call({ ...first, time_zone: 'Mars/Base' })).status, 201, 'an unknown time zone is UTC')
})

/** A request with whatever headers, which `fetch` does not let one send. */
function ask(url: string, headers: Record<string, string>): Promise<Json> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/app/api/setup`, { headers }, async (response) => {
      let text = ''
      for await (const part of response) text += part
      resolve(JSON.parse(text).data)
    })
    asked.on('error', reject).end()
  })
}

/** The same over HTTP/1.0. */
async function askPlainly(url: string): Promise<Json> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /app/api/setup HTTP/1.0\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const part of socket) text += part
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).data
}

test("the demo's password is shown on its own machine only, and only while it is valid", async (t) => {
  const demo = { workspace_id: '', owner: { email: '', password: '' } }
  const { url, db, api, owner } = await start(t, {
    publicUrl: 'http://127.0.0.1:4000',
    setup: { getDemo: () => demo },
  })
  Object.assign(demo, { workspace_id: api.workspaceId, owner })
  assert.equal((await ask(url, {})).demo, null, 'no demo workspace')
  await db`update workspaces set is_demo = true`
  assert.deepEqual(await ask(url, {}), { needed: false, sends_email: false, single_sign_on: null, demo: owner })
  assert.deepEqual((await ask(url, { host: 'localhost:4000' })).demo, owner)
  const untold = { email: owner.email, password: null }
  for (const headers of [{ 'x-forwarded-for': '127.0.0.1' }, { forwarded: 'for=127.0.0.1' }, { host: 'evil.test' }]) {
    assert.deepEqual((await ask(url, headers)).demo, untold, JSON.stringify(headers))
  }
  // As nginx asks when it is configured with nothing but `proxy_pass`.
  assert.deepEqual((await askPlainly(url)).demo, untold)
  const browser = createBrowser(url)
  await browser.call('POST', '/session', owner, { origin: url })
  const wanted = { current_password: owner.password, new_password: 'my very own' }
  assert.equal((await browser.call('PATCH', '/profile', wanted, { origin: url })).status, 200)
  assert.deepEqual((await ask(url, {})).demo, untold)
})
