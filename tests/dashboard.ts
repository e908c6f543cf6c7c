/**
 * The dashboard in a real browser: a service with its pages, the simulator as
 * the world, and somebody signed in. One Chromium a test file, a window of its
 * own a test.
 *
 * A test fails when the browser complained of anything: an error in the
 * console, one nobody caught, a breach of the page's policy.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, type TestContext } from 'node:test'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { chromiumFlags, resolveChromium } from '../scripts/chromium.ts'
import type { Provider } from './provider.ts'
import { createBrowser, start, type World } from './support.ts'

const executablePath = resolveChromium()
/** Why the tests of a file are left out, if they are: `test('…', { skip }, …)`. */
export const skip = executablePath ? false : 'no Chromium found; looked in the usual places (tests/chromium.ts)'

let browser: Promise<Browser> | undefined
after(async () => (await browser)?.close())

type Window = { width?: number; height?: number; dark?: boolean; as?: { email: string; password: string } | null }

export type Dashboard = World & {
  /** The simulator, connected to the workspace on every channel. */
  provider: Provider
  page: Page
  /** The page of another window: of the owner, of somebody else, or of nobody (`as: null`). */
  window(options?: Window): Promise<Page>
  /** Somebody with this role, who can sign in. */
  member(role: 'admin' | 'agent', name?: string): Promise<{ email: string; password: string }>
}

/** Start everything and open a path as the owner, in a window 1280 wide unless told otherwise. */
export async function openDashboard(t: TestContext, path = '/', options: Window = {}): Promise<Dashboard> {
  const world = await start(t, { pages: true })
  const provider = await world.connect()
  const complaints: string[] = []
  const contexts: BrowserContext[] = []
  t.after(async () => {
    await Promise.all(contexts.map((context) => context.close()))
    assert.deepEqual(complaints, [], 'the browser complained')
  })

  const window: Dashboard['window'] = async ({ width = 1280, height = 860, dark = false, as = world.owner } = {}) => {
    browser ??= chromium.launch({ executablePath: executablePath ?? '', args: chromiumFlags })
    const context = await (await browser).newContext({
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
      baseURL: world.url,
      locale: 'en-US',
    })
    contexts.push(context)
    context.setDefaultTimeout(10_000)
    context.on('console', (message) => {
      // A refused call is an answer, and the browser notes it as an error whoever asked for it.
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
  const member: Dashboard['member'] = async (role, name = 'Robin Agent') => {
    const owner = createBrowser(world.url, world.url)
    await owner.signIn(world.owner)
    const email = `${role}@${crypto.randomUUID()}.test`
    const invited = await owner.call('POST', '/members', { email, role })
    const password = 'correct horse'
    const token = invited.body.data.invitation_token
    const joined = await createBrowser(world.url, world.url).call('POST', `/invitations/${token}`, { name, password })
    assert.equal(joined.status, 201, joined.text)
    return { email, password }
  }
  const page = await window(options)
  await page.goto(path)
  return { ...world, provider, page, window, member }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Violation = { id: string; impact: string; help: string; nodes: { html: string; failureSummary: string }[] }

/** Nothing on the page, as it is now, that keeps somebody out. */
export async function assertAccessible(page: Page): Promise<void> {
  await page.evaluate(axe)
  const violations = await page.evaluate<Violation[]>('axe.run().then(({ violations }) => violations)')
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  const told = grave.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`).join('\n')}`,
  )
  assert.deepEqual(told, [], `${page.url()} keeps somebody out`)
}

/** Nothing sticks out to the right, whatever the width: neither of the window, nor of the page in it, which alone scrolls. */
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
