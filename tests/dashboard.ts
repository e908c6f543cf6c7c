/**
 * The dashboard in a real browser: a service with its pages, the simulator as
 * the provider, and a member who is signed in. All files share the Chromium of
 * the run (tests/chromium.ts); each test has its own window.
 *
 * A test fails when the browser reports an error: in the console, an uncaught
 * exception, or a violation of the content security policy.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, afterEach, type TestContext } from 'node:test'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { chromiumFlags, resolveChromium } from '../scripts/chromium.ts'
import type { Provider } from './provider.ts'
import { createBrowser, createMember, type Starting, start, type World, withProvider } from './support.ts'

const executablePath = resolveChromium()
/** The reason to skip the tests of a file, or false: `test('…', { skip }, …)`. */
export const skip = executablePath ? false : 'no Chromium found; looked in the usual places (scripts/chromium.ts)'

let browser: Promise<Browser> | undefined
after(async () => (await browser)?.close())

/** The windows of a test, and what the browser reported in them. */
type Windows = { contexts: BrowserContext[]; complaints: string[] }
const windowsOf = new Map<unknown, Windows>()
// Not `t.after`: if it fails, the runner skips the later ones of the test, and a server that stays open keeps the process running.
afterEach(async (t) => {
  const { contexts, complaints } = windowsOf.get(t) ?? { contexts: [], complaints: [] }
  windowsOf.delete(t)
  await Promise.all(contexts.map((context) => context.close()))
  // The runner shows only the first error of a test.
  if ('passed' in t && !t.passed)
    for (const complaint of complaints) t.diagnostic(`the browser complained: ${complaint}`)
  else assert.deepEqual(complaints, [], 'the browser complained')
})

/** The Chromium of the run, or one of this file when it runs by itself. */
export function resolveBrowser(): Promise<Browser> {
  const endpoint = process.env.PARLEY_TEST_BROWSER
  browser ??= endpoint
    ? chromium.connect(endpoint)
    : chromium.launch({ executablePath: executablePath ?? '', args: chromiumFlags })
  return browser
}

type Window = {
  width?: number
  height?: number
  dark?: boolean
  as?: { email: string; password: string } | null
  /** Allow the service worker, which fetches all files of the dashboard. */
  worker?: boolean
}

export type Dashboard = World & {
  /** The simulator, connected to the workspace on every channel. */
  provider: Provider
  page: Page
  /** Opens another window: of the owner, of another member, or signed out (`as: null`). */
  window(options?: Window): Promise<Page>
  /** Creates a member with this role. */
  member(role: 'admin' | 'agent' | 'viewer', name?: string): Promise<{ email: string; password: string }>
}

/** Starts the service and opens a path as the owner. The window is 1280 pixels wide by default. */
export async function openDashboard(
  t: TestContext,
  path = '/',
  options: Window = {},
  starting: Starting = {},
): Promise<Dashboard> {
  const world = await withProvider(start(t, { pages: true, ...starting }))
  const { contexts, complaints } = windowsOf.get(t) ?? { contexts: [], complaints: [] }
  windowsOf.set(t, { contexts, complaints })

  const window: Dashboard['window'] = async ({
    width = 1280,
    height = 860,
    dark = false,
    as = world.owner,
    worker = false,
  } = {}) => {
    const context = await (await resolveBrowser()).newContext({
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
      baseURL: world.url,
      locale: 'en-US',
      serviceWorkers: worker ? 'allow' : 'block',
    })
    contexts.push(context)
    context.setDefaultTimeout(30_000)
    context.on('console', (message) => {
      // The browser logs every answer with an error status; pages handle those.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        complaints.push(message.text())
    })
    context.on('weberror', (error) => complaints.push(error.error().message))
    if (as) {
      const answer = await context.request.post('/app/api/session', { data: as, headers: { origin: world.url } })
      assert.equal(answer.status(), 200, await answer.text())
    }
    return context.newPage()
  }
  const member: Dashboard['member'] = async (role, name) => {
    const owner = createBrowser(world.url, world.url)
    await owner.signIn(world.owner)
    const { email, password } = await createMember(owner, role, { name })
    return { email, password }
  }
  const page = await window(options)
  await page.goto(path)
  return { ...world, page, window, member }
}

/** Opens a path in a window that shows the dashboard, as a link does. Loading the application again takes a second of a core. */
export const visit = (page: Page, path: string): Promise<unknown> =>
  page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)

/** Changes the width and the color scheme of a window. No transition runs afterwards. */
export async function resize(page: Page, width: number, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.evaluate(`{
    const still = new CSSStyleSheet()
    still.replaceSync('* { transition: none !important; animation: none !important }')
    document.adoptedStyleSheets = [still]
  }`)
  await page.setViewportSize({ width, height: 860 })
  await page.emulateMedia({ colorScheme })
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Violation = { id: string; impact: string; help: string; nodes: { html: string; failureSummary: string }[] }

/**
 * Fails when axe finds a serious or critical violation on the page or, while one is open, in the dialog: the rest is inert then.
 * `part`: a selector, for a page that another test inspects as a whole.
 */
export async function assertAccessible(page: Page, part?: string): Promise<void> {
  // A color that changes has another contrast on its way.
  await page.evaluate(`Promise.allSettled(
    document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime < Infinity).map((one) => one.finished),
  ).then(() => {})`)
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe)
  const scope = part ? JSON.stringify(part) : "[...document.querySelectorAll('dialog[open]')].at(-1) ?? document"
  const violations = await page.evaluate<Violation[]>(
    `axe.run(${scope}, { resultTypes: ['violations'], preload: false }).then(({ violations }) => violations)`,
  )
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  const found = grave.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`).join('\n')}`,
  )
  assert.deepEqual(found, [], `${page.url()} is not accessible`)
}

/** Fails when the page is wider than the window, or higher than it outside of the scrolling area. */
export async function assertFits(page: Page): Promise<void> {
  const over = await page.evaluate<number>(
    "Math.max(...['html', 'main', 'dialog[open]'].map((name) => document.querySelector(name)).map((box) => box ? box.scrollWidth - box.clientWidth : 0))",
  )
  assert.ok(over <= 0, `${page.url()} is ${over} pixels wider than the window`)
  const below = await page.evaluate<number>(
    "document.querySelector('.shell') ? document.documentElement.scrollHeight - innerHeight : 0",
  )
  assert.ok(below <= 0, `${page.url()} has ${below} pixels below the window`)
}

/** A script for a page: a tone instead of the microphone that this machine does not have. */
export const fakeMicrophone = `navigator.mediaDevices.getUserMedia = async () => {
  const context = new AudioContext()
  const tone = new OscillatorNode(context, { frequency: 440 })
  const target = new MediaStreamAudioDestinationNode(context, { channelCount: 1 })
  tone.connect(target)
  tone.start()
  await context.resume()
  return target.stream
}`
