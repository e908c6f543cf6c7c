/** Notifications of the dashboard in a real browser: tabs that share one stream, titles, desktop notifications, and the offline shell. */
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { freePort } from '../scripts/free-port.ts'
import { assertAccessible, assertFits, openDashboard, skip, visit } from './dashboard.ts'
import { until } from './support.ts'

/** Records notifications and sounds instead of showing them: a headless browser has no desktop. */
const recorder = `
  globalThis.shown = []
  globalThis.soundCount = 0
  globalThis.Notification = class {
    static permission = 'granted'
    constructor(title, { body, tag }) {
      Object.assign(this, { title, body, tag })
      shown.push(this)
    }
    close() {}
  }
  HTMLMediaElement.prototype.play = async () => void soundCount++`

/** Clicks an input. It shows its new state in the same task. */
async function choose(input: Locator, isOn = true): Promise<void> {
  const isChecked = await input.evaluate((element) => {
    const box = element as unknown as { click(): void; checked: boolean }
    box.click()
    return box.checked
  })
  assert.equal(isChecked, isOn)
}

const hide = (page: Page) =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { get: () => true })
    Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })
    document.dispatchEvent(new Event('visibilitychange'))`)

/** Waits for an expression. The policy of the page forbids the way that Playwright waits for one. */
const holds = (page: Page, expression: string) => until(expression, () => page.evaluate<boolean>(expression))

const shownIn = (page: Page) => page.evaluate<string[]>("shown.map(({ title, body }) => title + ': ' + body)")

test('the tabs of a browser share one stream and its unread count, and one of them notifies', { skip }, async (t) => {
  const { page: first, provider } = await openDashboard(t, '/sign-in')
  const context = first.context()
  await context.addInitScript(recorder)
  let streamCount = 0
  context.on('request', (request) => new URL(request.url()).pathname === '/app/api/stream' && streamCount++)
  await first.goto('/settings/plan')
  await first.getByText('Live', { exact: true }).waitFor()
  const second = await context.newPage()
  const third = await context.newPage()
  // In this order: the second one gets the stream when the first one closes.
  for (const [page, path] of [
    [second, '/inbox'],
    [third, '/overview'],
  ] as const) {
    await page.goto(path)
    await page.getByText('Live', { exact: true }).waitFor()
  }
  assert.equal(streamCount, 1)
  for (const page of [first, third]) await hide(page)

  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'Is it ready?' })
  const titled = (page: Page, title: string) => holds(page, `document.title === ${JSON.stringify(title)}`)
  await Promise.all([
    titled(first, '(1) Plan and usage · Parley'),
    titled(second, '(1) Inbox · Parley'),
    titled(third, '(1) Overview · Parley'),
    second.getByRole('link', { name: /Inbox.*1/ }).waitFor(),
  ])
  for (const page of [first, second, third])
    assert.match((await page.locator('link[rel="icon"]').getAttribute('href')) ?? '', /^data:image\/svg/)
  await holds(first, 'shown.length > 0')
  assert.deepEqual(await shownIn(first), ['Ann: Is it ready?'])
  assert.equal(await first.evaluate('soundCount'), 1)
  for (const page of [second, third]) assert.deepEqual(await shownIn(page), [])

  // A click opens the conversation, which is then read in all tabs.
  await second.getByRole('link', { name: /Ann/ }).first().click()
  await Promise.all([
    titled(first, 'Plan and usage · Parley'),
    titled(third, 'Overview · Parley'),
    holds(second, "document.querySelector('link[rel=icon]').getAttribute('href') === '/icon.svg'"),
  ])
  // What is open and visible does not notify, and another tab takes over the stream.
  await first.close()
  await until('another stream', async () => streamCount === 2)
  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'Visible' })
  await second.getByText('Visible').first().waitFor()
  await provider.writes({ from: '+14155550101', name: 'Ben', text: 'Hello' })
  const shown = async () => [...(await shownIn(second)), ...(await shownIn(third))]
  await until('the next notification', async () => (await shown()).length > 0)
  assert.deepEqual(await shown(), ['Ben: Hello'])
  assert.equal(streamCount, 2)
})

test('a member chooses notifications, quiet hours and density, and a click opens the conversation', {
  skip,
}, async (t) => {
  const { page, provider, window } = await openDashboard(t, '/sign-in')
  await page.context().addInitScript(recorder)
  await page.goto('/settings/notifications')
  await choose(page.getByLabel('My conversations'))
  await choose(page.getByRole('switch', { name: 'Pause sounds' }))
  // The last change stays, also when the service is slow to store an earlier one.
  await page.route('**/app/api/preferences', async (route) => {
    const { quiet_hours: hours } = route.request().postDataJSON() ?? {}
    if (hours && hours.to !== '23:59') await new Promise((resolve) => setTimeout(resolve, 500))
    await route.continue()
  })
  await page.getByLabel('From', { exact: true }).fill('00:00')
  await page.getByLabel('To', { exact: true }).fill('23:59')
  await page.getByRole('link', { name: 'Profile' }).click()
  const density = page.getByRole('radiogroup', { name: 'Density' })
  await density.getByText('Comfortable').click()
  await page.locator('html[data-density="comfortable"]').waitFor()

  // They apply in another browser, at 390 pixels and from right to left.
  const phone = await window({ width: 390, height: 800 })
  await phone.goto('/settings/notifications')
  await phone.locator('html[data-density="comfortable"]').waitFor()
  await phone.getByRole('radio', { name: 'My conversations' }).and(phone.locator(':checked')).waitFor()
  await until('the quiet hours', async () => (await phone.getByLabel('To', { exact: true }).inputValue()) === '23:59')
  await phone.evaluate("document.documentElement.dir = 'rtl'")
  await assertFits(phone)
  await assertAccessible(phone)

  await visit(page, '/overview')
  const write = (text: string) => provider.writes({ from: '+14155550100', name: 'Ann', text })
  await write('Not mine')
  await holds(page, "document.title.startsWith('(1)')")
  const save = (change: Promise<void>) =>
    Promise.all([phone.waitForResponse((response) => response.request().method() === 'PATCH'), change])
  await save(choose(phone.getByLabel('All conversations')))
  const asked = page.waitForResponse(
    async (response) => /notifications/.test(response.url()) && (await response.text()).includes('In quiet hours'),
  )
  await write('In quiet hours')
  await asked
  await save(choose(phone.getByRole('switch', { name: 'Pause sounds' }), false))
  await save(choose(phone.getByRole('switch', { name: 'Play a sound' }), false))
  await write('Now')
  await holds(page, "shown.some(({ body }) => body === 'Now')")
  assert.deepEqual(await shownIn(page), ['Ann: Now'])
  assert.equal(await page.evaluate('soundCount'), 0)
  await page.evaluate('shown[0].onclick()')
  await page.waitForURL(/\/inbox\/[\w-]{36}$/)
  await page.getByRole('heading', { name: 'Ann' }).first().waitFor()
})

/** Forwards a port to the service. `cut` closes it, as a lost network does. */
async function startForwarding(t: TestContext, port: number) {
  const sockets = new Set<Socket>()
  const ownPort = await freePort()
  const server = createServer((socket) => {
    const target = connect(port, '127.0.0.1')
    for (const each of [socket, target]) sockets.add(each.on('error', () => {}))
    socket.pipe(target).pipe(socket)
  })
  const open = () => new Promise<void>((resolve) => server.listen(ownPort, '127.0.0.1', resolve))
  const cut = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  await open()
  t.after(cut)
  return { origin: `http://127.0.0.1:${ownPort}`, cut, open }
}

test('the installed app starts without a connection, shows that, and continues by itself', { skip }, async (t) => {
  const { url, owner, window } = await openDashboard(t, '/sign-in')
  const { origin, cut, open } = await startForwarding(t, Number(new URL(url).port))
  const page = await window({ as: null, worker: true })
  await page.context().request.post(`${origin}/app/api/session`, { data: owner, headers: { origin } })
  await page.goto(`${origin}/inbox`)
  const manifest = await (await page.request.get(`${origin}/manifest.webmanifest`)).json()
  for (const { src } of manifest.icons) assert.equal((await page.request.get(origin + src)).status(), 200, src)
  await page.evaluate('navigator.serviceWorker.ready.then(() => {})')
  const cached = await page.evaluate<string[]>(
    'caches.keys().then(([name]) => caches.open(name)).then((cache) => cache.keys()).then((all) => all.map(({ url }) => new URL(url).pathname))',
  )
  assert.ok(cached.includes('/') && cached.some((path) => path.startsWith('/assets/inbox-')), cached.join())
  assert.ok(!cached.some((path) => path.startsWith('/app/')), cached.join())

  cut()
  await page.goto(`${origin}/contacts`)
  await page.getByRole('heading', { name: 'Cannot reach the server' }).waitFor()
  await assertAccessible(page)
  await open()
  await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor()
})
