/** Teams in a real browser: the page of settings, and the inbox that assigns conversations to them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataOf, pluck } from './assertions.ts'
import { assertAccessible, assertFits, openDashboard, resize, skip, visit } from './dashboard.ts'
import { type Browser, createBrowser, createMember, type Json, until } from './support.ts'

/** The owner at the calls of the page. */
async function signInOwner({
  url,
  owner,
}: {
  url: string
  owner: { email: string; password: string }
}): Promise<Browser> {
  const browser = createBrowser(url, url)
  dataOf(await browser.signIn(owner))
  return browser
}

const shots = process.env.PARLEY_TEST_SHOTS

test('an owner adds, changes and deletes teams, and chooses who sees what', { skip }, async (t) => {
  const world = await openDashboard(t, '/settings/teams')
  const { page, window, member } = world
  const owner = await signInOwner(world)
  await createMember(owner, 'agent', { name: 'Robin Agent' })
  const shoot = async (name: string) => shots && (await page.screenshot({ path: `${shots}/${name}.png` }))
  await page.getByText('No teams yet').waitFor()
  await shoot('teams-empty')
  await page.reload()
  await page.getByRole('button', { name: 'Add team' }).first().press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').waitFor()
  await page.keyboard.type('Billing')
  await dialog.getByRole('checkbox', { name: 'Robin Agent' }).check()
  const connections = dialog.getByRole('group', { name: 'Connections' }).getByRole('checkbox')
  await connections.first().check()
  await assertAccessible(page)
  await shoot('teams-form')
  await dialog.getByRole('button', { name: 'Add team' }).press('Enter')
  const row = (name: string) => page.getByRole('row').filter({ hasText: name })
  await row('Billing').getByText('Robin Agent').waitFor()

  await page.getByRole('button', { name: 'Add team' }).click()
  await dialog.getByLabel('Name').fill('billing')
  // A connection has one team.
  assert.equal(await connections.first().isDisabled(), true)
  await page.keyboard.press('Enter')
  await dialog.getByText(/already used by another team/i).waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Edit team Billing' }).press('Enter')
  await dialog.getByLabel('Name').fill('Payments')
  await dialog.getByRole('radio', { name: 'Teal' }).check()
  await page.keyboard.press('Enter')
  await row('Payments').waitFor()

  const save = page.getByRole('button', { name: 'Save changes' })
  assert.ok(await save.isDisabled())
  await page.getByLabel('Agents see').selectOption('own')
  assert.equal(dataOf(await owner.call('GET', '/workspace')).agents_see, 'all', 'choosing alone changes nothing')
  await save.click()
  await until('the setting', async () => dataOf(await owner.call('GET', '/workspace')).agents_see === 'own')
  for (const [width, scheme] of [
    [1440, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const) {
    await resize(page, width, scheme)
    await assertFits(page)
    await assertAccessible(page)
    await shoot(`teams-${width}-${scheme}`)
  }
  await resize(page, 1280, 'light')
  const viewer = await window({ as: await member('viewer'), width: 390, height: 844 })
  await viewer.goto('/settings/teams')
  await viewer.getByText('Payments').waitFor()
  assert.equal(await viewer.getByRole('button', { name: /team/i }).count(), 0)
  assert.equal(await viewer.getByLabel('Agents see').isDisabled(), true)

  await page.getByRole('button', { name: 'Delete team Payments' }).click()
  await dialog.getByRole('button', { name: 'Delete team' }).click()
  await page.getByText('No teams yet').waitFor()
})

test('what a member may not see is not shown as missing or as a failure', { skip }, async (t) => {
  const world = await openDashboard(t, '/contacts')
  const { page, provider, api, window, member } = world
  const owner = await signInOwner(world)
  dataOf(await owner.call('PATCH', '/workspace', { agents_see: 'own' }))
  dataOf(await owner.call('POST', '/teams', { name: 'Billing' }), 201)
  await provider.writes({ from: '+14155550100', name: 'Ann Porter', text: 'Hello' })
  const [{ id, contact_id }] = (await api.get('/conversations')).body.data
  const [me] = dataOf(await owner.call('GET', '/members'))
  dataOf(await owner.call('PATCH', `/conversations/${id}`, { assigned_agent_id: me.id }))
  const agent = await window({ as: await member('agent', 'Robin Agent') })
  await agent.goto(`/contacts/${contact_id}`)
  await agent.getByText('No conversations that you may see.').waitFor()
  await agent.getByText('No entries that you may see.').waitFor()
  assert.equal(await agent.getByRole('link', { name: 'Developers' }).count(), 0)
  await page.getByRole('link', { name: 'Developers' }).waitFor()
  for (const path of ['/reports/labels', '/developers/requests']) {
    await visit(agent, path)
    await agent.getByRole('heading', { name: 'Not available to you' }).waitFor()
    assert.equal(await agent.getByRole('button', { name: 'Try again' }).count(), 0, path)
    await assertAccessible(agent)
  }
})

test('a member assigns a conversation to a team, which its row, sidebar, filter and timeline show', {
  skip,
}, async (t) => {
  const world = await openDashboard(t, '/inbox', { width: 1440 })
  const { page, provider, api } = world
  const owner = await signInOwner(world)
  const shoot = async (name: string) => shots && (await page.screenshot({ path: `${shots}/${name}.png` }))
  for (const name of ['Billing', 'Sales']) dataOf(await owner.call('POST', '/teams', { name }), 201)
  await provider.writes({ from: '+14155550100', name: 'Ann Porter', text: 'Hello' })
  await provider.writes({ from: '+14155550101', name: 'Ben Wu', text: 'Hi' })
  await page.reload()
  const rowOf = (name: string) => page.getByRole('list', { name: 'Conversations' }).getByRole('link', { name })
  await rowOf('Ann Porter').click()
  await page.getByRole('button', { name: /^Assigned to: / }).click()
  await shoot('inbox-assign')
  await page
    .getByRole('menuitemradio', { name: 'Team Billing' })
    .or(page.getByRole('menuitem', { name: 'Team Billing' }))
    .first()
    .click()
  await page.getByRole('button', { name: 'Assigned to: Unassigned. Assign · Team Billing' }).waitFor()
  await rowOf('Ann Porter').getByText('Team Billing').waitFor()
  await page.getByText(/assigned the conversation to team Billing$/).waitFor()
  await until('the team', async () => {
    const listed = dataOf(await api.get('/conversations?assigned_team_id=none'))
    return listed.length === 1
  })
  const sidebar = page.getByRole('navigation', { name: 'Views and labels' }).or(page.locator('.inbox-sidebar')).first()
  if (!(await sidebar.isVisible())) await page.keyboard.press('Escape')
  await page.goto('/inbox?team=nobody')
  await rowOf('Ben Wu').waitFor()
  await page
    .getByRole('button', { name: /No team/ })
    .first()
    .waitFor()
  assert.equal(await rowOf('Ann Porter').count(), 0)
  await shoot('inbox-filter')
  await assertAccessible(page)
  // Several at once.
  await page.goto('/inbox')
  await rowOf('Ann Porter').waitFor()
  for (const box of await page.locator('.inbox-select').all()) await box.check()
  const bar = page.getByRole('toolbar', { name: 'Selected conversations' })
  await bar.getByRole('button', { name: 'Assign' }).click()
  await page.getByRole('menuitem', { name: 'Team Sales' }).click()
  await until('both teams', async () => {
    const listed = dataOf(await api.get('/conversations'))
    return new Set(pluck(listed, 'assigned_team_id')).size === 1 && listed[0].assigned_team_id !== null
  })
  await shoot('inbox-bulk')
})

test('the queue of a team is a list of the sidebar and of the settings, and a conversation shows its position', {
  skip,
}, async (t) => {
  const world = await openDashboard(t, '/settings/assignment', { width: 1440 })
  const { page, provider, api, member, window } = world
  const owner = await signInOwner(world)
  const ana = await member('agent', 'Ana Silva')
  const anaId = dataOf(await owner.call('GET', '/members')).find(({ email }: Json) => email === ana.email).id
  const connection_ids = [provider.connections.msgapp.id]
  const { id: teamId } = dataOf(await owner.call('POST', '/teams', { name: 'Billing', connection_ids }), 201)
  for (const [index, name] of ['Ann Porter', 'Ben Wu', 'Cem Ak'].entries())
    await provider.writes({ from: `+1415555010${index}`, name, text: 'Hello' })
  await page.getByRole('link', { name: 'Show the queue of Billing: 3 conversations' }).click()
  const list = page.getByRole('list', { name: 'Conversations' })
  const names = async () => (await list.locator('.inbox-row-name').allTextContents()).join()
  await until('the longest wait first', async () => (await names()) === 'Ann Porter,Ben Wu,Cem Ak')
  const queues = page.locator('.inbox-sidebar section').filter({ has: page.getByRole('heading', { name: 'Queues' }) })
  const entry = queues.getByRole('button', { name: /^Billing/ })
  await until('the count', async () => (await entry.innerText()).includes('3'))
  assert.equal(await entry.getAttribute('aria-current'), 'true')
  await list.getByRole('link', { name: /Ben Wu/ }).click()
  await page.getByText(/^Number 2 in the queue, waiting /).waitFor()
  await assertAccessible(page)

  // Another member takes the first one: list, count and position follow.
  const [first] = dataOf(await api.get('/contacts?phone=%2B14155550100'))
  const [conversation] = dataOf(await api.get(`/conversations?contact_id=${first.id}`))
  assert.equal(conversation.assigned_team_id, teamId)
  dataOf(await owner.call('PATCH', `/conversations/${conversation.id}`, { assigned_agent_id: anaId }))
  await page.getByText(/^Number 1 in the queue, waiting /).waitFor()
  await until('the list', async () => (await names()) === 'Ben Wu,Cem Ak')
  await until('the count', async () => (await entry.innerText()).includes('2'))
  // Its order ends with it.
  await page.getByRole('button', { name: /^Open conversations/ }).click()
  await until('the newest first', async () => (await names()).startsWith('Cem Ak'))

  const phone = await window({ as: ana, width: 390 })
  await phone.goto(`/inbox?team=${teamId}&assigned=nobody&sort=waiting`)
  await phone.getByRole('link', { name: /Cem Ak/ }).click()
  await phone.getByText(/^Number 2 in the queue, waiting /).waitFor()
  await assertFits(phone)
  await assertAccessible(phone)
})
