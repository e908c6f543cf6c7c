/**
 * `npm run screenshots`: takes the screenshots in `docs/images`.
 *
 * It starts the service with a new demo in a temporary folder and opens the pages as the demo's owner, so the pictures show
 * what a new user sees.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { type Demo, readDemo } from '../server/demo/demo.ts'
import { chromiumFlags, resolveChromium } from './chromium.ts'
import { freePort } from './free-port.ts'

const root = join(import.meta.dirname, '..')
const images = join(root, 'docs/images')
const dataDir = mkdtempSync(join(tmpdir(), 'parley-screenshots-'))
const waitMs = 60_000

const executablePath = resolveChromium({ install: true })
if (!executablePath) throw new Error('Chromium is not installed')
mkdirSync(images, { recursive: true })

const origin = `http://127.0.0.1:${await freePort()}`
const service = spawn(process.execPath, ['server/main.ts'], {
  cwd: root,
  env: { ...process.env, PORT: new URL(origin).port, DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
  stdio: ['ignore', 'ignore', 'inherit'],
})
const browser = await chromium.launch({ executablePath, args: chromiumFlags })
try {
  const demo = await untilReady(service)
  const light = await signIn(demo, 'light')
  const page = await light.newPage()
  await untilDigested(light)

  await openConversation(page, 'Samuel Whitfield')
  await page.getByRole('article', { name: /^Note from/ }).waitFor()
  await shoot(page, 'inbox')
  const dark = await signIn(demo, 'dark')
  const darkPage = await dark.newPage()
  await openConversation(darkPage, 'Maya Lindqvist')
  await darkPage.locator('.inbox-picture img').first().waitFor()
  await shoot(darkPage, 'inbox-dark')
  const picture = await darkPage.locator('.inbox-template img').first().getAttribute('src')
  await page.goto('/overview')
  await page.getByRole('list', { name: 'Key metrics' }).waitFor()
  await shoot(page, 'overview')
  await page.goto('/broadcasts')
  await page.getByRole('link', { name: 'Open studio on Saturday' }).click()
  await page.getByText('Opted out of broadcasts').first().waitFor()
  await shoot(page, 'broadcast')
  await page.goto('/templates')
  await page.getByRole('link', { name: 'appointment' }).first().click()
  await page.getByLabel('Image URL').fill(picture ?? '')
  await page.getByLabel('{{name}}', { exact: true }).fill('Maya')
  await page.getByLabel('{{time}}', { exact: true }).fill('Saturday at 10, with tea and cake')
  await page.getByText('with tea and cake').first().waitFor()
  await shoot(page, 'template')
  await exchangeMessages(demo, light)
  const phones = await light.newPage()
  await phones.goto('/simulator')
  await phones.getByText('Lovely, see you at five!').first().waitFor()
  await shoot(phones, 'phones')
} finally {
  await browser.close()
  service.kill('SIGTERM')
  await new Promise((resolve) => (service.exitCode === null ? service.once('exit', resolve) : resolve(undefined)))
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 })
}

/** Waits until the service is ready. The demo exists by then. */
async function untilReady(started: ChildProcess): Promise<Demo> {
  for (const end = Date.now() + waitMs; Date.now() < end; ) {
    if (started.exitCode !== null) throw new Error('the service did not start')
    const answer = await fetch(`${origin}/readyz`).catch(() => undefined)
    const demo = answer?.ok ? readDemo(dataDir) : undefined
    if (demo) return demo
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`the service was not ready within ${waitMs} ms`)
}

/** Opens a browser context that is signed in as the demo's owner. */
async function signIn({ owner }: Demo, colorScheme: 'light' | 'dark'): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    deviceScaleFactor: 1,
    reducedMotion: 'reduce',
    baseURL: origin,
    locale: 'en-US',
    colorScheme,
  })
  const answer = await context.request.post('/app/api/session', { data: owner, headers: { origin } })
  if (!answer.ok()) throw new Error(await answer.text())
  return context
}

/** Waits until the digest has processed the demo's history. */
async function untilDigested(context: BrowserContext): Promise<void> {
  for (const end = Date.now() + waitMs; Date.now() < end; ) {
    const { data } = await (await context.request.get('/app/api/overview?days=30')).json()
    if (data.responses.count > 0) return
  }
  throw new Error(`the digest did not process the history within ${waitMs} ms`)
}

async function openConversation(page: Page, name: string): Promise<void> {
  await page.goto('/inbox')
  await page.getByRole('list', { name: 'Conversations' }).getByRole('link', { name }).click()
  await page.getByRole('heading', { name }).first().waitFor()
}

/** The shop sends messages to two customers, and they reply. The owner's session may control the simulator, an API key may not. */
async function exchangeMessages({ base_url, api_key, simulator_url }: Demo, owner: BrowserContext): Promise<void> {
  const post = async (url: string, body: object, headers: Record<string, string>) => {
    const answer = await owner.request.post(url, { data: body, headers })
    if (!answer.ok()) throw new Error(await answer.text())
  }
  const send = (body: object) => post(`${base_url}/messages`, body, { authorization: `Bearer ${api_key}` })
  const write = (body: object) => post(`${simulator_url}/control/inbound`, body, { origin })
  const [elena, samuel] = ['+12125550143', '+442079460337']
  const params = { body: ['C-3341', 'on its way'], buttonParams: { 0: 'C-3341' } }
  await send({ to: samuel, type: 'template', template: { name: 'order_update', params } })
  await write({ from: samuel, name: 'Samuel Whitfield', text: 'Found it! The neighbour had taken it in.' })
  await send({ to: samuel, text: 'What a relief. Enjoy the mugs!' })
  await send({ to: elena, text: 'Hi Elena, we are here until six today.' })
  await write({ from: elena, name: 'Elena Marchetti', text: 'Lovely, see you at five!' })
  await send({ to: elena, text: 'Your mugs are wrapped and waiting.' })
}

async function shoot(page: Page, name: string): Promise<void> {
  // A pointer over a row would show its check box.
  await page.mouse.move(0, 0)
  await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {})
  const png = await page.screenshot()
  writeFileSync(join(images, `${name}.png`), png)
  console.log(`${name}.png ${Math.round(png.length / 1024)} KB`)
}
