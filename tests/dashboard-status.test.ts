/** The status page in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, resize, skip } from './dashboard.ts'
import { holdTransaction } from './database.ts'
import { addEndpoint, causeEvent } from './deliveries.ts'
import { startReceiver } from './receiver.ts'
import { createBrowser, until } from './support.ts'

const alone = 'the operator has the first workspace, and the status is that of all workspaces'

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

/** Waits for what a poll shows, without the time between polls. */
const polled = (page: Page, part: Locator) =>
  until('a poll', async () => {
    await page.clock.fastForward(10_000)
    return part.isVisible()
  })

test('the operator reads the status, which refreshes by itself, and copies it for support', { skip }, async (t) => {
  const { page, api, db } = await openDashboard(t, '/sign-in', {}, { alone })
  await page.clock.install()
  await page.goto('/settings/status')
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
  await causeEvent(api)
  await polled(page, rowOf(page, 'Webhook deliveries').getByRole('cell', { name: '1', exact: true }))
  await db`update webhook_deliveries set created_at = now() - interval '10 minutes'`
  const problems = page.getByRole('list', { name: 'What needs attention' })
  await polled(page, problems.getByText('A webhook has waited for five minutes.'))
  await problems.getByText('Open the page Webhooks').waitFor()
  await sentence.filter({ hasText: 'attention' }).waitFor()

  await page.getByRole('button', { name: 'Copy for support' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.match(copied, /^Parley status, \d{4}-/)
  assert.match(copied, /- ParleyWebhooksLate: A webhook has waited for five minutes\./)
  assert.match(copied, /webhooks: 1, oldest 10 min/)
  assert.match(copied, /test process-1: running, version \d/)

  for (const [width, colorScheme] of [
    [360, 'light'],
    [1440, 'dark'],
    [360, 'dark'],
    [1440, 'light'],
  ] as const) {
    await resize(page, width, colorScheme)
    await assertAccessible(page)
    await assertFits(page)
  }
})

test('the page is for the operator only; it shows what it can when a part is unknown, and keeps its values when a check fails', {
  skip,
}, async (t) => {
  const { page, window, member, workspace, url, db } = await openDashboard(t, '/sign-in', {}, { alone })
  const other = await workspace()
  for (const as of [await member('admin'), await member('agent'), other.owner]) {
    const theirs = await window({ as })
    await theirs.goto('/settings/status')
    await theirs.getByRole('heading', { name: 'Only the operator of this Parley server can open “Status”' }).waitFor()
    assert.equal(await theirs.getByRole('link', { name: 'Status' }).count(), 0)
  }
  const stranger = createBrowser(url, url)
  await stranger.signIn(other.owner)
  assert.equal((await stranger.call('GET', '/status')).status, 403)

  await page.clock.install()
  await page.goto('/settings/members')
  const release = await holdTransaction(db, 'lock table contact_merges in access exclusive mode')
  await page.getByRole('link', { name: 'Status' }).click()
  await page
    .getByText(/^Unknown: .*(timeout|no answer)/)
    .first()
    .waitFor()
  await rowOf(page, 'process-1').waitFor()
  await release()
  await polled(page, rowOf(page, 'Webhook deliveries'))

  await page.route('**/app/api/status', (route) => route.abort())
  await polled(page, page.getByText(/^The last check failed\. These values are older\./))
  await rowOf(page, 'process-1').waitFor()
})
