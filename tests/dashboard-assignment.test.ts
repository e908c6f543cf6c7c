/** Availability in the shell, and the page of the assignment, in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFits, openDashboard, skip, visit } from './dashboard.ts'
import { createBrowser, until } from './support.ts'

test('a member is available with the page open, and chooses to be away by menu, key and palette', {
  skip,
}, async (t) => {
  const { page, url, member, window } = await openDashboard(t, '/inbox')
  const account = page.getByRole('button', { name: /^Your account/ })
  const shows = (state: string) =>
    until(
      () => `${state} in the shell`,
      async () => (await account.innerText()).includes(state),
    )
  await shows('Available')
  await account.click()
  await page.getByRole('menuitemradio', { name: 'Away' }).click()
  await shows('Away')
  await page.getByText('No new conversations are assigned to you.').waitFor()
  // The choice stays when the page is loaded again, which is an input.
  await page.reload()
  await shows('Away')
  await page.keyboard.press('Shift+A')
  await shows('Available')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('availability')
  await page.getByRole('option', { name: 'Availability: Away' }).click()
  await shows('Away')

  // Viewers have no availability.
  const viewer = await window({ as: await member('viewer') })
  await viewer.goto(`${url}/inbox`)
  const other = viewer.getByRole('button', { name: /^Your account/ })
  await other.waitFor()
  assert.doesNotMatch(await other.innerText(), /Available|Away|Offline/)
})

test('a manager sets policies and capacities; the queue is assigned, and the thread says why', { skip }, async (t) => {
  const { page, url, owner, provider, member, window } = await openDashboard(t, '/settings/assignment')
  await page.getByText('No teams yet').waitFor()
  const lead = createBrowser(url, url)
  await lead.signIn(owner)
  const ana = await member('agent', 'Ana Silva')
  const members = (await lead.ask('GET', '/members')).data
  const anaId = members.find(({ name }: { name: string }) => name === 'Ana Silva').id
  const team = { name: 'Sales', member_ids: [anaId], connection_ids: [provider.connections.msgapp.id] }
  await lead.ask('POST', '/teams', team, 201)
  await provider.writes({ from: '+14155550101', name: 'Rosa Diaz', text: 'Hello?' })

  const teams = page.getByRole('table', { name: 'Teams' })
  await teams.getByText('0 of 1').waitFor()
  const capacity = page.getByLabel('Capacity of Ana Silva')
  await capacity.fill('201')
  await capacity.press('Enter')
  const reason = page.getByRole('alert').filter({ hasText: 'The capacity must be a whole number from 0 to 200.' })
  await reason.waitFor()
  assert.equal(await capacity.inputValue(), '201', 'it can be corrected')
  await capacity.fill('2')
  await reason.waitFor({ state: 'detached' })
  await capacity.press('Enter')
  await page.getByText('Ana Silva gets up to 2 conversations').waitFor()
  await page.getByLabel('Return conversations of Sales if the member is offline').selectOption('After 10 minutes')
  await page.getByText('Assignment of Sales saved').first().waitFor()
  await page.getByLabel('Assignment of Sales').selectOption('Fewest open first')

  // Ana opens the dashboard, so she is available.
  const inbox = await window({ as: ana })
  await inbox.goto('/inbox')
  await inbox.getByText('Rosa Diaz').first().click()
  await inbox.getByText('Assigned to you: fewest open conversations (1 of 2).').waitFor()
  await teams.getByText('1 of 1').waitFor()
  await page.getByRole('table', { name: 'Members' }).getByText('1 conversation').waitFor()
  await assertAccessible(page)
  await visit(page, '/settings/members')
  await page.getByText('1 of 2 open').waitFor()

  // An agent reads the page, on a phone.
  const phone = await window({ as: ana, width: 390, dark: true })
  await phone.goto('/settings/assignment')
  await phone.getByText('Only owners and admins can change the assignment.').waitFor()
  await phone.getByText('After 10 minutes').waitFor()
  assert.equal(await phone.getByRole('combobox', { name: 'Assignment of Sales' }).count(), 0)
  await assertAccessible(phone)
  await assertFits(phone)
})
