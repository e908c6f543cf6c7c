/** Targets in the settings with what they would put on the clock, and the clocks in the inbox. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFits, openDashboard, resize, skip } from './dashboard.ts'
import { createBrowser, until } from './support.ts'

test('a member adds a target, sees what it puts on the clock, and the inbox shows the clocks', { skip }, async (t) => {
  const { page, url, owner, api, db, provider } = await openDashboard(t, '/settings/targets')
  const member = createBrowser(url, url)
  await member.signIn(owner)
  for (const [i, name] of ['Ann', 'Bo', 'Cy'].entries()) {
    await provider.writes({ from: `+1415599000${i}`, name, text: 'hello' })
  }
  const conversations = (await api.get('/conversations')).body.data
  const idOf = (name: string): string =>
    conversations.find((one: { contact: { name: string } }) => one.contact.name === name).id
  await db`
    update conversations set waiting_since = now() - interval '25 minutes'
    where workspace_id = ${api.workspaceId} and id = ${idOf('Bo')}`
  await db`
    update conversations set waiting_since = now() - interval '35 minutes'
    where workspace_id = ${api.workspaceId} and id = ${idOf('Cy')}`

  await page.getByText('No targets yet').waitFor()
  await page.getByRole('button', { name: 'Add target' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Add target' })
  await dialog.getByLabel('Name', { exact: true }).fill('Everything')
  const preview = dialog.getByRole('region', { name: 'Now on the clock' })
  await preview.getByText('3 open conversations would have a clock, 1 of them is overdue').waitFor()
  await preview.getByText(/Overdue 5/).waitFor()
  await dialog.getByLabel('First reply', { exact: true }).fill('')
  await preview.getByText('Enter a time').waitFor()
  assert.ok(await dialog.getByRole('button', { name: 'Add target' }).isDisabled())
  await dialog.getByLabel('First reply', { exact: true }).fill('2')
  await dialog.getByLabel('Unit of First reply').selectOption('hours')
  await preview.getByText('3 open conversations would have a clock', { exact: true }).waitFor()
  await dialog.getByLabel('First reply', { exact: true }).fill('30')
  await dialog.getByLabel('Unit of First reply').selectOption('minutes')
  await dialog.getByLabel('Closing', { exact: true }).fill('1')
  await dialog.getByLabel('Unit of Closing').selectOption('days')
  await dialog.getByRole('button', { name: 'Add target' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('cell', { name: /First reply 30 min · Closing 1 d/ }).waitFor()

  const label = (await member.ask('POST', '/labels', { name: 'VIP', color: '#2563eb' }, 201)).data
  const conditions = { match: 'all', rules: [{ field: 'label', op: 'has', value: label.id }] }
  const vip = await member.ask('POST', '/targets', { name: 'VIP', first_reply_minutes: 60, conditions }, 201)
  assert.equal(vip.data.position, 0, 'above the one without conditions')
  await member.ask('PATCH', `/conversations/${idOf('Ann')}`, { add_labels: ['VIP'] })
  await page.reload()
  await page.getByRole('cell', { name: 'Label has VIP' }).waitFor()
  assert.equal(await page.getByText(/Never applies/).count(), 0)
  await page.getByRole('button', { name: 'Move target VIP down' }).click()
  await page.getByText('Never applies: “Everything” comes first.').waitFor()
  await page.getByRole('button', { name: 'Edit target VIP' }).click()
  await page.getByText('1 open conversation matches, but “Everything” comes first.').waitFor()
  await page.getByRole('button', { name: 'Add rule' }).click()
  await page.getByLabel('Field').last().selectOption('Attribute')
  for (const [width, theme] of [
    [390, 'dark'],
    [1000, 'light'],
    [1440, 'dark'],
  ] as const) {
    await resize(page, width, theme)
    await assertFits(page)
  }
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Move target VIP up' }).click()
  await page.getByText('“VIP” is number 1').waitFor()
  await until('the order', async () => (await member.ask('GET', '/targets')).data[0].name === 'VIP')

  await until('the clocks', async () => (await member.ask('GET', `/conversations/${idOf('Cy')}`)).data.due_at !== null)
  await page.goto('/inbox?sort=due')
  const rows = page.locator('[data-row]')
  await page
    .locator(`[data-row="${idOf('Cy')}"]`)
    .getByText(/^Overdue 5/)
    .first()
    .waitFor()
  await page
    .locator(`[data-row="${idOf('Bo')}"]`)
    .getByText(/^Reply due in/)
    .first()
    .waitFor()
  const order = await rows.evaluateAll((all) => all.map((one) => one.getAttribute('data-row')))
  assert.deepEqual(order, ['Cy', 'Bo', 'Ann'].map(idOf))
  await page.goto(`/inbox/${idOf('Cy')}?overdue=true`)
  await page
    .locator('.inbox-thread-head')
    .getByText(/^Overdue 5/)
    .waitFor()
  await until('one row', async () => (await rows.count()) === 1)
  await page.getByRole('button', { name: 'Remove filter: Overdue' }).click()
  await until('all rows', async () => (await rows.count()) === 3)

  // The clock changes at the moment at which the time is over.
  await db`update conversations set due_at = now() + interval '8 seconds' where id = ${idOf('Bo')}`
  await page.goto('/inbox?sort=due')
  const clock = page.locator(`[data-row="${idOf('Bo')}"] .inbox-wait`)
  await clock.getByText('Reply due in less than a minute').waitFor()
  await clock.getByText('< 1 min').waitFor()
  await clock.getByText('Overdue less than a minute').waitFor({ timeout: 9_000 })
})
