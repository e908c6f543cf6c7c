/**
 * The API reference in a real browser: complete, usable by keyboard, and quiet
 * towards everybody but the service itself.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { chromium, type Page } from 'playwright-core'
import { chromiumFlags, resolveChromium } from '../scripts/chromium.ts'
import { statusOf } from './internals.ts'
import { type Json, start, type World } from './support.ts'

const executablePath = resolveChromium()
const skip = executablePath ? false : 'no Chromium found; looked in the usual places (tests/chromium.ts)'

type Opened = World & {
  page: Page
  document: Json
  /** What the browser complained of: console errors, uncaught ones, breaches of the content security policy. */
  complaints: string[]
  requested: string[]
}

async function open(t: TestContext, { width = 1440, hash = '' } = {}): Promise<Opened> {
  const world = await start(t)
  const document = await (await fetch(`${world.url}/openapi.json`)).json()
  const browser = await chromium.launch({ executablePath: executablePath ?? '', args: chromiumFlags })
  t.after(() => browser.close())
  const page = await browser.newPage({
    viewport: { width, height: 900 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
  })
  const complaints: string[] = []
  const requested: string[] = []
  page.on('console', (message) => {
    // A refused call is an answer, and the browser notes it as an error whoever asked for it.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => requested.push(request.url()))
  await page.goto(`${world.url}/docs${hash}`)
  await page.locator('.operation').first().waitFor()
  return { ...world, page, document, complaints, requested }
}

/** Every schema, answer and form; twice, for what was inside. */
async function openEverything(page: Page): Promise<void> {
  for (let depth = 0; depth < 2; depth++) {
    await page.locator('main [aria-expanded=false]').evaluateAll((buttons: { click(): void }[]) => {
      for (const button of buttons) button.click()
    })
  }
  await page.getByLabel('API key').last().waitFor()
}

const operationsOf = (document: Json) =>
  Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, { operationId, summary }]) => ({
      id: `operation-${operationId}`,
      title: `${method.toUpperCase()} ${path}`,
      summary,
    })),
  )

test('the reference shows every operation of the document, in its navigation too', { skip }, async (t) => {
  const { page, document } = await open(t)
  const operations = operationsOf(document)
  assert.ok(operations.length > 10)

  for (const { id, title, summary } of operations) {
    const section = page.locator(`#${id}`)
    const shown = await section.locator('.endpoint-path').locator('.method, code').allTextContents()
    assert.equal(shown.join(' '), title)
    assert.equal(await page.locator(`#links a[href="#${id}"]`).locator('span').first().textContent(), summary)
    for (const language of ['curl', 'JavaScript', 'Python'])
      assert.ok(await section.getByRole('tab', { name: language }).isVisible())
  }
  assert.equal(await page.locator('.operation').count(), operations.length)
})

test('the error table has every code with the status the service gives it', { skip }, async (t) => {
  const { page } = await open(t)
  const rows = await page.locator('#errors tbody tr').all()

  const shown = await Promise.all(
    rows.map(async (row) => [
      await row.locator('.name').textContent(),
      Number(await row.locator('.status').textContent()),
    ]),
  )

  assert.deepEqual(Object.fromEntries(shown), statusOf)
})

test('the guide to webhooks shows the receivers in four languages, byte for byte', { skip }, async (t) => {
  const { page, url, complaints } = await open(t, { hash: '#verifying' })
  const section = page.locator('#verifying')
  const shown = section.getByRole('tabpanel', { name: 'the receiver' })

  for (const [name, file] of Object.entries({ PHP: 'php', Python: 'py', Go: 'go', TypeScript: 'ts' })) {
    const text = await (await fetch(`${url}/docs/receivers/verify.${file}`)).text()
    await section.getByRole('tab', { name }).click()
    await shown.getByText(`Receive webhooks with ${name === 'TypeScript' ? 'Node' : name}`).waitFor()
    assert.equal(await shown.textContent(), text)
  }
  assert.deepEqual(complaints, [])
})

test('the reference asks nobody but the service and gives the browser nothing to complain of', { skip }, async (t) => {
  const { page, url, complaints, requested } = await open(t)

  await openEverything(page)

  assert.deepEqual(complaints, [])
  assert.deepEqual(
    requested.filter((address) => !address.startsWith('data:') && new URL(address).origin !== url),
    [],
  )
})

test('a call tried on the page goes to the service it came from and shows the answer', { skip }, async (t) => {
  const { page, api, url, requested, complaints } = await open(t, { hash: '#operation-getMe' })
  const me = page.locator('#operation-getMe')
  await me.getByRole('button', { name: 'Try it' }).click()
  await me.getByRole('button', { name: 'Send request' }).click()
  assert.match((await me.getByRole('status').textContent()) ?? '', /Paste an API key first/)

  await me.getByLabel('API key').fill(await api.key())
  await me.getByRole('button', { name: 'Send request' }).click()

  await me.locator('.outcome', { hasText: '200' }).waitFor()
  assert.equal(requested.at(-1), `${url}/v1/me`)
  const shown = JSON.parse((await me.getByLabel('the answer', { exact: true }).textContent()) ?? '')
  assert.equal(shown.data.account.id, api.workspaceId)
  assert.match((await me.locator('.headers').textContent()) ?? '', /X-Request-Id.+X-RateLimit-Remaining119/)
  assert.equal(await page.evaluate('localStorage.getItem("parley.docs.key")'), null)
  assert.deepEqual(complaints, [])
})

test('a wrong key is refused in words', { skip }, async (t) => {
  const { page } = await open(t, { hash: '#operation-getMe' })
  const me = page.locator('#operation-getMe')
  await me.getByRole('button', { name: 'Try it' }).click()
  await me.getByLabel('API key').fill('svc_live_nobody')

  await me.getByLabel('API key').press('Enter')

  await me.locator('.outcome', { hasText: '401' }).waitFor()
  assert.match(
    (await me.getByRole('status').textContent()) ?? '',
    /a valid API key is required.+mistyped, revoked or expired/,
  )
  const shown = JSON.parse((await me.getByLabel('the answer', { exact: true }).textContent()) ?? '')
  assert.equal(shown.error.code, 'unauthorized')
})

test('what the reader types is in the sample and in what is sent', { skip }, async (t) => {
  const { page, api } = await open(t, { hash: '#operation-createContact' })
  const section = page.locator('#operation-createContact')
  const sample = section.getByLabel('the request', { exact: true })
  await section.getByRole('button', { name: 'Try it' }).click()
  await section.getByLabel('API key').fill(await api.key('contacts:write'))
  await section.getByRole('button', { name: 'New key' }).click()
  const idempotencyKey = await section.getByLabel('Idempotency-Key').inputValue()

  await section.getByLabel('Body').fill('{ "phone": "+14155550123", "name": "O\'Hara" }')

  assert.ok((await sample.textContent())?.includes(`-H 'Idempotency-Key: ${idempotencyKey}'`))
  assert.ok((await sample.textContent())?.includes(`"name": "O'\\''Hara"`))
  await section.getByRole('tab', { name: 'Python' }).click()
  assert.match((await sample.textContent()) ?? '', /'name': 'O\\'Hara'/)

  await section.getByRole('button', { name: 'Send request' }).click()
  await section.locator('.outcome', { hasText: '201' }).waitFor()
  await section.getByRole('button', { name: 'Send request' }).click()
  await section.locator('.headers', { hasText: 'Idempotent-Replayed' }).waitFor()
  const { body } = await api.get('/contacts')
  assert.deepEqual(
    body.data.map(({ name }: Json) => name),
    ["O'Hara"],
  )
})

test('the search is reached with a slash and leads to the first thing found', { skip }, async (t) => {
  const { page } = await open(t)

  await page.keyboard.press('/')
  await page.keyboard.type('patch contacts/')

  assert.deepEqual(await page.locator('#links li:visible').locator('span').first().allTextContents(), [
    'Change a contact',
  ])
  assert.equal(await page.getByText('1 found').count(), 1)
  await page.keyboard.press('Enter')
  assert.equal(new URL(page.url()).hash, '#operation-updateContact')
  await page.locator('#links a[aria-current][href="#operation-updateContact"]').waitFor()
})

test('an address that names an operation opens at it', { skip }, async (t) => {
  const { page } = await open(t, { hash: '#operation-deleteSegment' })

  await page.locator('#links a[aria-current][href="#operation-deleteSegment"]').waitFor()
  const box = await page.locator('#operation-deleteSegment h3').boundingBox()
  assert.ok(box && box.y > 0 && box.y < 300, `its heading is at ${box?.y}`)
})

test('dark follows the system, and the reader’s own choice is remembered', { skip }, async (t) => {
  const { page } = await open(t)
  const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
  const light = await background()
  await page.emulateMedia({ colorScheme: 'dark' })
  const toLight = page.getByRole('button', { name: 'Switch to light theme' })
  await toLight.waitFor()
  assert.notEqual(await background(), light)

  await toLight.click()

  assert.equal(await background(), light)
  await page.reload()
  assert.equal(await background(), light)
})

test('nothing is cut off on a phone, and the menu opens and closes', { skip }, async (t) => {
  const { page } = await open(t, { width: 390 })
  await openEverything(page)

  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
  const menu = page.getByRole('button', { name: 'Menu' })
  const search = page.getByLabel('Search the reference')
  assert.equal(await search.isVisible(), false)
  await menu.click()
  await search.fill('segment')
  await page.keyboard.press('Enter')
  await search.waitFor({ state: 'hidden' })
  assert.equal(await menu.getAttribute('aria-expanded'), 'false')
})

test('when the document cannot be loaded the page says so, and tries again when asked', { skip }, async (t) => {
  const { page } = await open(t)
  await page.route('**/openapi.json', (route) => route.fulfill({ status: 503, body: 'not now' }))
  await page.reload()
  await page.getByRole('alert').getByText('The operations could not be loaded').waitFor()
  assert.ok(await page.getByRole('heading', { name: 'Authentication' }).isVisible())

  await page.unroute('**/openapi.json')
  await page.getByRole('button', { name: 'Try again' }).click()

  await page.locator('.operation').first().waitFor()
  assert.equal(await page.getByRole('alert').textContent(), '')
})
