/** The API reference in a real browser: complete, accessible, and without requests to other hosts. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, resolveBrowser, skip } from './dashboard.ts'
import { statusOf } from './internals.ts'
import { type Json, pluck, start, until, type World } from './support.ts'

type Opened = World & {
  page: Page
  document: Json
  /** Console errors, uncaught exceptions and violations of the Content-Security-Policy. */
  browserErrors: string[]
  requestedUrls: string[]
}

type Opening = { width?: number; hash?: string; reducedMotion?: 'reduce' | 'no-preference' }

async function open(
  t: TestContext,
  { width = 1440, hash = '', reducedMotion = 'reduce' }: Opening = {},
): Promise<Opened> {
  const world = await start(t, { pages: true })
  const document = await (await fetch(`${world.url}/openapi.json`)).json()
  const browser = await resolveBrowser()
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: 'light', reducedMotion })
  t.after(() => page.context().close())
  const browserErrors: string[] = []
  const requestedUrls: string[] = []
  page.on('console', (message) => {
    // The browser also logs responses with an error status, which some tests expect.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      browserErrors.push(message.text())
  })
  page.on('pageerror', (error) => browserErrors.push(error.message))
  page.on('request', (request) => requestedUrls.push(request.url()))
  await page.goto(`${world.url}/docs${hash}`)
  await page.locator('.operation').first().waitFor()
  return { ...world, page, document, browserErrors, requestedUrls }
}

/** Opens every schema, response and form; twice, for nested ones. */
async function openEverything(page: Page): Promise<void> {
  for (let depth = 0; depth < 2; depth++) {
    await page.locator('main [aria-expanded=false]').evaluateAll((buttons: { click(): void }[]) => {
      for (const button of buttons) button.click()
    })
  }
  // By its id: reading the labels of the whole page takes longer than the browser may.
  await page.locator('main input[id$="-key"]').last().waitFor()
}

const operationsOf = (document: Json) =>
  Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, { operationId, summary }]) => ({
      id: `operation-${operationId}`,
      title: `${method.toUpperCase()} ${path}`,
      summary,
    })),
  )

test('the reference shows every operation, event and error code of the document, also in its navigation', {
  skip,
}, async (t) => {
  const { page, document } = await open(t)
  const operations = operationsOf(document)
  assert.ok(operations.length > 10)

  const shown = await page.evaluate<Json[]>(`[...document.querySelectorAll('.operation')].map((section) => ({
    id: section.id,
    title: [...section.querySelectorAll('.endpoint-path :is(.method, code)')].map((part) => part.textContent).join(' '),
    summary: document.querySelector('#links a[href="#' + section.id + '"] span')?.textContent,
    languages: [...section.querySelectorAll('[role=tab]')].filter((tab) => tab.checkVisibility()).map((tab) => tab.textContent),
  }))`)
  const byId = (one: Json, other: Json) => one.id.localeCompare(other.id)
  assert.deepEqual(shown.map(({ languages, ...operation }) => operation).sort(byId), operations.toSorted(byId))
  for (const { id, languages } of shown) assert.deepEqual(languages.slice(0, 3), ['TypeScript', 'Python', 'curl'], id)
  for (const name of Object.keys(document.webhooks)) {
    await page.locator('#links').getByRole('link', { name }).waitFor()
    assert.equal(await page.locator('.event', { hasText: name }).getByText('Example payload').count(), 1)
  }
  const rows = page.locator('#errors tbody tr')
  const codes = await rows.locator('.name').allTextContents()
  const statuses = await rows.locator('.status').allTextContents()
  assert.deepEqual(Object.fromEntries(codes.map((code, i) => [code, Number(statuses[i])])), statusOf)
})

test('the guides show how to send the first message, and when a message may be sent again', { skip }, async (t) => {
  const { page, url } = await open(t, { hash: '#first-message' })
  const guide = page.locator('#first-message')
  const install = guide.getByRole('tabpanel', { name: 'Install' })
  assert.equal(await install.textContent(), `curl -O ${url}/docs/sdk/parley-sdk.tgz\nnpm install ./parley-sdk.tgz`)
  const send = guide.getByRole('tabpanel', { name: 'Send a template' })
  assert.match((await send.textContent()) ?? '', /parley\.messages\.send\(/)
  // One choice of language is valid for the whole page.
  await guide.getByRole('tab', { name: 'curl' }).last().click()
  assert.match((await send.textContent()) ?? '', new RegExp(`^curl ${url}/v1/messages`))
  const outcomes = await page.locator('#did-it-send tbody tr td:first-child').allTextContents()
  assert.deepEqual(outcomes, ['rejected', 'unsent', 'unknown'])
  for (const name of ['parley-sdk.tgz', 'parley_sdk.tar.gz']) {
    const link = page.locator('#sdks').getByRole('link', { name })
    assert.equal((await fetch(url + (await link.getAttribute('href')))).status, 200, name)
  }
})

test('the webhook guide shows the exact receivers in four languages', { skip }, async (t) => {
  const { page, url, browserErrors } = await open(t, { hash: '#verifying' })
  const section = page.locator('#verifying')
  const shown = section.getByRole('tabpanel', { name: 'Webhook receiver' })

  for (const [name, file] of Object.entries({ PHP: 'php', Python: 'py', Go: 'go', TypeScript: 'ts' })) {
    const text = await (await fetch(`${url}/docs/receivers/verify.${file}`)).text()
    await section.getByRole('tab', { name }).click()
    await shown.getByText(`Webhook receiver for ${name === 'TypeScript' ? 'Node' : name}`).waitFor()
    assert.equal(await shown.textContent(), text)
  }
  assert.deepEqual(browserErrors, [])
})

test('the reference with all its parts open calls only the service, violates no policy, and fits a phone', {
  skip,
}, async (t) => {
  const { page, url, browserErrors, requestedUrls } = await open(t)

  // Axe and the width below see only what is laid out.
  await page.evaluate(`{
    const whole = new CSSStyleSheet()
    whole.replaceSync('* { content-visibility: visible !important }')
    document.adoptedStyleSheets = [whole]
  }`)
  await page.locator('#operation-createContact').getByRole('button', { name: 'Try it' }).click()
  await assertAccessible(page)
  await openEverything(page)
  await page.setViewportSize({ width: 390, height: 900 })

  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
  assert.deepEqual(browserErrors, [])
  const foreign = requestedUrls.filter((address) => !address.startsWith('data:') && new URL(address).origin !== url)
  assert.deepEqual(foreign, [])
})

test('the form calls the service of the page, shows the response, and explains a rejected key', { skip }, async (t) => {
  const { page, api, url, requestedUrls, browserErrors } = await open(t, { hash: '#operation-getMe' })
  const me = page.locator('#operation-getMe')
  await me.getByRole('button', { name: 'Try it' }).click()
  await me.getByRole('button', { name: 'Send request' }).click()
  await me.getByRole('status').filter({ hasText: 'Enter an API key' }).waitFor()
  await me.getByLabel('API key').fill('svc_live_unknown')
  await me.getByLabel('API key').press('Enter')
  await me.locator('.outcome', { hasText: '401' }).waitFor()
  const reason = /a valid API key is required.+mistyped, revoked or expired/
  await me.getByRole('status').filter({ hasText: reason }).waitFor()
  const response = async () => JSON.parse((await me.getByLabel('Response', { exact: true }).textContent()) ?? '')
  assert.equal((await response()).error.code, 'unauthorized')

  await me.getByLabel('API key').fill(await api.key())
  await me.getByRole('button', { name: 'Send request' }).click()

  await me.locator('.outcome', { hasText: '200' }).waitFor()
  assert.equal(requestedUrls.at(-1), `${url}/v1/me`)
  assert.equal((await response()).data.account.id, api.workspaceId)
  assert.match((await me.locator('.headers').textContent()) ?? '', /X-Request-Id.+X-RateLimit-Remaining119/)
  assert.equal(await page.evaluate('localStorage.getItem("parley.docs.key")'), null)
  assert.deepEqual(browserErrors, [])
})

test('the samples and the request contain what the reader types', { skip }, async (t) => {
  const { page, api } = await open(t, { hash: '#operation-createContact' })
  const section = page.locator('#operation-createContact')
  const sample = section.getByLabel('Request', { exact: true })
  await section.getByRole('button', { name: 'Try it' }).click()
  await section.getByLabel('API key').fill(await api.key('contacts:write'))
  await section.getByRole('button', { name: 'New key' }).click()
  const idempotencyKey = await section.getByLabel('Idempotency-Key').inputValue()

  await section.getByLabel('Body').fill('{ "phone": "+14155550123", "name": "O\'Hara" }')

  const shown = async () => (await sample.textContent()) ?? ''
  assert.match(await shown(), /parley\.contacts\.create\(\{\n {2}phone: '\+14155550123',\n {2}name: 'O\\'Hara',\n\}, /)
  assert.ok((await shown()).includes(`{ idempotencyKey: '${idempotencyKey}' })`))
  await section.getByRole('tab', { name: 'Python' }).click()
  assert.match(await shown(), /'name': 'O\\'Hara'/)
  assert.ok((await shown()).includes(`idempotency_key='${idempotencyKey}')`))
  await section.getByRole('tab', { name: 'curl' }).click()
  assert.ok((await shown()).includes(`-H 'Idempotency-Key: ${idempotencyKey}'`))
  assert.ok((await shown()).includes(`"name": "O'\\''Hara"`))

  await section.getByRole('button', { name: 'Send request' }).click()
  await section.locator('.outcome', { hasText: '201' }).waitFor()
  await section.getByRole('button', { name: 'Send request' }).click()
  await section.locator('.headers', { hasText: 'Idempotent-Replayed' }).waitFor()
  const { body } = await api.get('/contacts')
  assert.deepEqual(pluck(body.data, 'name'), ["O'Hara"])
})

test('slash focuses the search, and Enter opens the first result', { skip }, async (t) => {
  const { page } = await open(t)

  await page.keyboard.press('/')
  await page.keyboard.type('patch contacts/')
  await page
    .locator('#sidebar')
    .getByText(/^\d+ found$/)
    .waitFor()

  assert.equal(await page.locator('#links .result-title').first().textContent(), 'Change a contact')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/docs#operation-updateContact')
  await page.locator('#links a[aria-current][href="#operation-updateContact"]').waitFor()
})

test('the search finds the texts of guides, errors and fields, and leads to them', { skip }, async (t) => {
  const { page } = await open(t)
  const sidebar = page.locator('#sidebar')
  const results = sidebar.getByRole('list', { name: 'Search results' })
  const box = sidebar.getByLabel('Search the reference')
  for (const [query, kind, hash] of [
    ['constant time', 'Guide', '#verifying'],
    ['plan_limit_reached', 'Error', '#error-plan_limit_reached'],
    ['snoozed_until', 'Field', '#operation-'],
    ['every valid key may call', 'GET', '#operation-getMe'],
  ] as const) {
    await box.fill(query)
    const badge = page.locator('.method, .result-kind', { hasText: new RegExp(`^${kind}$`) })
    const found = results.getByRole('link').filter({ has: badge }).first()
    await found.waitFor()
    assert.ok((await found.getAttribute('href'))?.startsWith(hash), query)
  }
  await assertAccessible(page, '#sidebar')
  await box.fill('plan_limit_reached')
  await box.press('Enter')
  await page.waitForURL('**/docs#error-plan_limit_reached')
  await until('the error on the screen', async () => {
    const at = await page.locator('#error-plan_limit_reached').boundingBox()
    return at !== null && at.y > 0 && at.y < 900
  })
  // A section that was not found ends the search.
  await page.evaluate("location.hash = 'operation-getMe'")
  await page.locator('#links .nav-group').first().waitFor()
  assert.equal(await box.inputValue(), '')
})

test('a signed-in owner tries calls with a temporary key, which gets only their scopes and ends with the page', {
  skip,
}, async (t) => {
  const { page, url, owner, api, db } = await open(t)
  const session = await page.request.post(`${url}/app/api/session`, { data: owner, headers: { origin: url } })
  assert.equal(session.status(), 200)
  await page.goto(url)
  await until('the page knows', () => page.evaluate('localStorage.getItem("parley-signed-in") !== null'))
  await page.goto(`${url}/docs#operation-getMe`)
  const listKeys = async () => {
    const keys = await db<{ name: string; scopes: string[]; is_revoked: boolean }[]>`
      select name, scopes, revoked_at is not null as is_revoked from api_keys
      where workspace_id = ${api.workspaceId} and name = 'API reference' order by id`
    return [...keys]
  }

  const [me, list] = [page.locator('#operation-getMe'), page.locator('#operation-listContacts')]
  await me.getByRole('button', { name: 'Try it' }).click()
  await me.getByText('You are signed in, so you need no key').waitFor()
  assert.deepEqual(await listKeys(), [])
  await me.getByRole('button', { name: 'Send request' }).click()
  await me.locator('.outcome', { hasText: '200' }).waitFor()
  await me.getByText(/Temporary key svc_live_.*without scopes/).waitFor()

  await list.getByRole('button', { name: 'Try it' }).click()
  await list.getByRole('button', { name: 'Send request' }).click()
  await list.locator('.outcome', { hasText: '200' }).waitFor()
  await list.getByText(/scopes: contacts:read/).waitFor()
  const key = { name: 'API reference', scopes: ['contacts:read'] }
  assert.deepEqual(await listKeys(), [{ ...key, is_revoked: false }])
  await assertAccessible(page, '#operation-listContacts')

  await list.getByRole('button', { name: 'Revoke the temporary key' }).click()
  await list.getByText('You are signed in, so you need no key').waitFor()
  assert.deepEqual(await listKeys(), [{ ...key, is_revoked: true }])
  await list.getByRole('button', { name: 'Send request' }).click()
  await list.getByText(/scopes: contacts:read/).waitFor()
  // A key that was revoked elsewhere is replaced.
  await db`update api_keys set revoked_at = now() where workspace_id = ${api.workspaceId} and name = 'API reference'`
  await list.getByRole('button', { name: 'Send request' }).click()
  await until('another key', async () => (await listKeys()).length === 3)
  await list.locator('.outcome', { hasText: '200' }).waitFor()
  assert.equal(
    await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage }).includes("svc_live_")'),
    false,
  )
  await page.goto(`${url}/healthz`)
  await until('the revocation', async () => (await listKeys()).every(({ is_revoked }) => is_revoked))
  assert.equal((await listKeys()).length, 3)
})

test('no letter typed after the slash is lost, also where it opens the drawer', { skip }, async (t) => {
  const { page } = await open(t, { width: 390, reducedMotion: 'no-preference' })

  const focused = await page.evaluate(`
    document.dispatchEvent(new KeyboardEvent('keydown', { key: '/' }))
    document.activeElement.getAttribute('aria-label')
  `)

  assert.equal(focused, 'Search the reference')
})

test('a deep link opens the page at its operation', { skip }, async (t) => {
  const { page } = await open(t, { hash: '#operation-deleteSegment' })

  await page.locator('#links a[aria-current][href="#operation-deleteSegment"]').waitFor()
  await until('the heading at the top', async () => {
    const box = await page.locator('#operation-deleteSegment h3').boundingBox()
    return box !== null && box.y > 0 && box.y < 300
  })
})

test('the theme follows the system until the reader selects one', { skip }, async (t) => {
  const { page } = await open(t)
  const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
  const light = await background()
  await page.emulateMedia({ colorScheme: 'dark' })
  const toLight = page.locator('.top').getByRole('button', { name: 'Switch to light theme' })
  await toLight.waitFor()
  assert.notEqual(await background(), light)

  await toLight.click()

  await until('the light theme', async () => (await background()) === light)
  await page.reload()
  await until('the light theme again', async () => (await background()) === light)
})

test('on a phone the menu opens and closes', { skip }, async (t) => {
  const { page } = await open(t, { width: 390 })
  const menu = page.locator('.top').getByRole('button', { name: 'Menu' })
  const search = page.locator('#sidebar').getByLabel('Search the reference')
  assert.equal(await search.isVisible(), false)
  await menu.click()
  await search.fill('segment')
  await page.keyboard.press('Enter')
  await search.waitFor({ state: 'hidden' })
  await menu.and(page.locator('.top [aria-expanded=false]')).waitFor()
})

test('a document that cannot be loaded is reported, and can be loaded again', { skip }, async (t) => {
  const { page } = await open(t)
  await page.route('**/openapi.json', (route) => route.fulfill({ status: 503, body: 'not now' }))
  await page.reload()
  await page.getByRole('alert').getByText('The operations could not be loaded').waitFor()
  assert.ok(await page.getByRole('heading', { name: 'Authentication' }).isVisible())

  await page.unroute('**/openapi.json')
  await page.getByRole('button', { name: 'Try again' }).click()

  await page.locator('.operation').first().waitFor()
  await until('no alert', async () => (await page.getByRole('alert').textContent()) === '')
})
