/** The overview shows what was received and sent, as a chart and as a table. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, resize, skip, visit } from './dashboard.ts'
import { createBrowser, until } from './support.ts'

/** A row of the table by its first cell: messaging app, social, web chat, all; received, then sent. */
const rowOf = async (page: Page, name: string | RegExp): Promise<number[]> => {
  const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) })
  return (await row.getByRole('cell').allInnerTexts()).map(Number)
}

test('tiles, chart and table show the counts of inbound and outbound messages', { skip }, async (t) => {
  const { page, api, db, provider, url, owner } = await openDashboard(t, '/overview')
  await page.getByRole('heading', { name: 'No data yet' }).waitFor()
  await page.getByRole('link', { name: 'Connect a channel' }).waitFor()

  for (const text of ['one', 'two', 'three']) await provider.writes({ from: '+14155550100', text })
  await provider.writes({ channel: 'social', from: '1784', username: 'robin', text: 'hello' })
  const member = createBrowser(url, url)
  await member.signIn(owner)
  for (const text of ['answer', 'and more'])
    assert.equal((await api.post('/messages', { to: '+14155550100', text })).status, 201)
  await api.post('/webhooks', { url: 'https://127.0.0.1:1/hook', events: ['contact.created'] })
  await until('all of it is counted', async () => {
    const { days, funnel } = (await member.call('GET', '/overview?days=7')).body.data
    const today = days.at(-1)
    return today.msgapp.inbound === 3 && today.social.inbound === 1 && today.msgapp.outbound === 2 && funnel.read === 2
  })

  await db`
    insert into message_periods (workspace_id, at, channel, connection_id, inbound, outbound, answers, answer_seconds,
      within_five_minutes, within_one_hour, within_one_day)
    values (${api.workspaceId}, now() - interval '2 days', 'web', gen_random_uuid(), 2, 0, 0, 0, 0, 0, 0)`

  await visit(page, '/overview?days=7')
  const tile = (name: string) =>
    page.getByRole('list', { name: 'Key metrics' }).getByRole('listitem').filter({ hasText: name })
  await tile('Messages received').getByText('6', { exact: true }).waitFor()
  await tile('Messages sent').getByText('2', { exact: true }).waitFor()
  await tile('Delivered').getByText('100%').waitFor()
  await tile('Delivered').getByText('of 2 messages outside the web chat').waitFor()
  await page.getByText('Shares of 2 messages sent outside the web chat').waitFor()
  await page.getByText(/Data since \w+ \d+\./).waitFor()
  assert.equal(await tile('Open').getByRole('link').getAttribute('href'), '/inbox?status=open')
  assert.equal(await tile('Unassigned').getByRole('link').getAttribute('href'), '/inbox?assigned=nobody')
  await page.getByRole('listitem').filter({ hasText: 'Read' }).getByText('100%').waitFor()
  await page.getByRole('link', { name: /^127\.0\.0\.1:1/ }).waitFor()

  const chart = page.getByRole('slider', { name: /^Messages per day/ })
  await chart.focus()
  await chart.and(page.locator('[aria-valuetext$=": 4 received, 2 sent"]')).waitFor()
  await page.keyboard.press('ArrowLeft')
  await chart.and(page.locator('[aria-valuetext$=": 0 received, 0 sent"]')).waitFor()
  await page.keyboard.press('End')
  await page.locator('.chart-tip').getByText('Web chat').waitFor()
  await assertAccessible(page)

  await page.getByRole('button', { name: 'Table' }).click()
  await page.getByRole('table', { name: 'Messages per day and channel' }).waitFor()
  assert.deepEqual(await rowOf(page, 'Total'), [3, 1, 2, 6, 2, 0, 0, 2])
  assert.equal(
    await page.getByRole('rowheader').count(),
    4,
    'a row a day since the first one with messages, and their sum',
  )
  await page.getByText('30 days').click()
  await page.waitForURL(/days=30|overview\?as=table/)
  // The table is not on the page while its data loads.
  await page.getByRole('rowheader').nth(3).waitFor()
  assert.equal(await page.getByRole('rowheader').count(), 4)
  await page.waitForURL(/as=table/)
  await page.getByText('Today', { exact: true }).click()
  await page.getByRole('table', { name: 'Messages per hour and channel' }).waitFor()
  assert.equal(await page.getByRole('rowheader').count(), 25, 'a row an hour, and their sum')
  await page.getByRole('button', { name: 'Chart' }).click()
  await page.getByRole('slider', { name: /^Messages per hour/ }).waitFor()
  await page.getByText('Days are in UTC.').waitFor()

  // The period before was as long, so the change is shown.
  await db`
    insert into message_periods (workspace_id, at, channel, connection_id, inbound, outbound, answers, answer_seconds,
      within_five_minutes, within_one_hour, within_one_day)
    values (${api.workspaceId}, now() - interval '13 days', 'web', gen_random_uuid(), 3, 0, 0, 0, 0, 0, 0)`
  await page.getByText('7 days', { exact: true }).click()
  await tile('Messages received').getByText('Up 100% from the 7 days before').waitFor()
})

test('the filter by connection is in the address, works by keyboard, and selects the figures', { skip }, async (t) => {
  const { page, provider, addNumber } = await openDashboard(t, '/overview')
  await provider.writes({ from: '+14155550100', text: 'to the first number' })
  await page.getByRole('list', { name: 'Key metrics' }).waitFor()
  const filter = page.getByRole('combobox', { name: 'Connection' })
  assert.equal(await filter.count(), 0, 'with one connection of each channel there is nothing to choose')

  const sales = await addNumber('Sales')
  for (const from of ['+14155550200', '+14155550201'])
    await provider.writes({ connection_id: sales.id, from, text: 'to sales' })
  await visit(page, '/contacts')
  await page.goto('/overview')
  const tile = (name: string) =>
    page.getByRole('list', { name: 'Key metrics' }).getByRole('listitem').filter({ hasText: name })
  const showsReceived = (count: string) => tile('Messages received').getByText(count, { exact: true }).waitFor()
  await showsReceived('3')
  await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
  assert.deepEqual(await filter.locator('option').first().innerText(), 'All connections')

  // Typing the name chooses it.
  await filter.focus()
  await page.keyboard.type('Sales')
  await page.waitForURL((url) => url.searchParams.get('connection') === sales.id)
  await showsReceived('2')
  await tile('Open conversations').getByText('2', { exact: true }).waitFor()
  assert.equal(
    await tile('Open conversations').getByRole('link').getAttribute('href'),
    `/inbox?status=open&connection=${sales.id}`,
  )
  assert.equal(await page.getByRole('heading', { name: 'Webhooks' }).count(), 0)
  assert.equal(await page.locator('.chart-legend li').count(), 1)
  for (const [width, scheme] of [
    [390, 'light'],
    [390, 'dark'],
    [1440, 'dark'],
    [1440, 'light'],
  ] as const) {
    await resize(page, width, scheme)
    await assertAccessible(page)
    await assertFits(page)
  }
  await page.getByRole('button', { name: 'Table' }).click()
  assert.deepEqual(await rowOf(page, 'Total'), [2, 0])
  await page.getByRole('button', { name: 'Chart' }).click()

  // The address is enough, and an unknown connection is no filter.
  await page.reload()
  await showsReceived('2')
  assert.equal(await filter.inputValue(), sales.id)
  await filter.selectOption({ label: provider.connections.web.name })
  await page.getByText('The web chat reports no delivery.').waitFor()
  await showsReceived('0')
  assert.equal(await tile('Delivered').count(), 0)
  await filter.selectOption('All connections')
  await page.waitForURL((url) => !url.searchParams.has('connection'))
  await showsReceived('3')
  await page.goto('/overview?connection=01890000-0000-7000-8000-000000000000')
  await showsReceived('3')
})
