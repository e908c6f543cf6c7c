/** The status page in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, skip } from './dashboard.ts'
import { addEndpoint, happen } from './deliveries.ts'
import { startReceiver } from './receiver.ts'
import { createBrowser } from './support.ts'

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

test('the operator reads the status, which refreshes by itself, and copies it for support', { skip }, async (t) => {
  const { page, api, db } = await openDashboard(t, '/settings/status', {}, { alone: true })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const sentence = page.getByRole('status').filter({ hasText: /\S/ })
  // The process of the test has a browser and a simulator beside the service, so its memory or its delay may be named.
  await sentence.filter({ hasText: /Everything works|needs? attention/ }).waitFor()
  await rowOf(page, 'process-1').getByText('Running').waitFor()
  await page.getByText('The database is a PostgreSQL of your own.').waitFor()
  const loops = page.getByText(/background loops, all work/)
  await loops.focus()
  await page.keyboard.press('Enter')
  await rowOf(page, 'digest').waitFor()

  const receiver = await startReceiver(t)
  receiver.answers(() => {})
  await addEndpoint(api, receiver.url)
  await happen(api)
  await rowOf(page, 'Webhook deliveries').getByRole('cell', { name: '1', exact: true }).waitFor()
  await db`update webhook_deliveries set created_at = now() - interval '10 minutes'`
  const problems = page.getByRole('list', { name: 'What needs attention' })
  await problems.getByText('A webhook has waited for five minutes.').waitFor()
  await problems.getByText('Open the page Webhooks').waitFor()
  await sentence.filter({ hasText: 'attention' }).waitFor()

  await page.getByRole('button', { name: 'Copy for support' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.match(copied, /^Parley status, \d{4}-/)
  assert.match(copied, /- ParleyWebhooksLate: A webhook has waited for five minutes\./)
  assert.match(copied, /webhooks: 1, oldest 10 min/)
  assert.match(copied, /test process-1: running, version \d/)
})

test('the page shows what it can when a part is unknown, and keeps its values when a check fails', {
  skip,
}, async (t) => {
  const { page, db } = await openDashboard(t, '/settings/keys', {}, { alone: true })
  const release = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const holding = db.begin(async (sql) => {
    await sql`lock table contact_merges in access exclusive mode`
    held.resolve()
    await release.promise
  })
  await held.promise
  await page.getByRole('link', { name: 'Status' }).click()
  await page.getByText(/^Unknown: .*(timeout|no answer)/).waitFor()
  await rowOf(page, 'process-1').waitFor()
  release.resolve()
  await holding
  await rowOf(page, 'Webhook deliveries').waitFor()

  await page.route('**/app/api/status', (route) => route.abort())
  await page.getByText(/^The last check failed\. These values are older\./).waitFor()
  await rowOf(page, 'process-1').waitFor()
})

test('other members and other workspaces have no status page', { skip }, async (t) => {
  const { page, window, member, workspace, url } = await openDashboard(t, '/settings/keys', {}, { alone: true })
  await page.getByRole('link', { name: 'Status' }).waitFor()
  const other = await workspace()
  for (const as of [await member('admin'), await member('agent'), other.owner]) {
    const theirs = await window({ as })
    await theirs.goto('/settings/status')
    await theirs.getByRole('heading', { name: 'Page not found' }).waitFor()
    assert.equal(await theirs.getByRole('link', { name: 'Status' }).count(), 0)
  }
  const stranger = createBrowser(url, url)
  await stranger.signIn(other.owner)
  assert.equal((await stranger.call('GET', '/status')).status, 403)
})

test('the status page is accessible and fits phones and wide windows, in light and dark mode', { skip }, async (t) => {
  const { window, api, db } = await openDashboard(t, '/settings/keys', {}, { alone: true })
  const receiver = await startReceiver(t)
  receiver.answers(() => {})
  await addEndpoint(api, receiver.url)
  await happen(api)
  await db`update webhook_deliveries set created_at = now() - interval '10 minutes'`
  for (const [width, dark] of [
    [360, false],
    [1440, true],
    [360, true],
    [1440, false],
  ] as const) {
    const page = await window({ width, height: 900, dark })
    await page.goto('/settings/status')
    await page.getByText('A webhook has waited for five minutes.').waitFor()
    await page.getByText(/background loops/).click()
    await assertAccessible(page)
    await assertFits(page)
  }
})
