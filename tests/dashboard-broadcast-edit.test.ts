/** Broadcasts that are not sent, in a real browser: a scheduled one is rescheduled, edited, duplicated and sent now, a draft is deleted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, openDashboard, skip, visit } from './dashboard.ts'
import { createBrowser, pluck, until } from './support.ts'

/** Choose from the menu of a broadcast's page. */
async function chooseAction(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: action }).click()
}

test('a scheduled broadcast is rescheduled, edited, duplicated and sent now', { skip }, async (t) => {
  const { page, api, provider } = await openDashboard(t, '/broadcasts')
  const created = await api.post('/broadcasts', {
    name: 'Spring news',
    template: { name: 'hello_world' },
    recipients: [{ to: '+14155550101', name: 'Porter, Ann' }, { to: '+14155550102' }],
    scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  })
  const { id, scheduled_at: before } = created.body.data
  const read = async () => (await api.get(`/broadcasts/${id}`)).body.data
  const at = page.getByLabel('Date and time')
  await visit(page, `/broadcasts/${id}`)
  await page.getByRole('button', { name: 'Edit' }).click()
  await at.waitFor()
  await page.goBack()
  await chooseAction(page, 'Reschedule')
  const dialog = page.getByRole('dialog', { name: 'Reschedule broadcast' })
  await dialog.locator('input').fill('2020-01-01T10:00')
  await dialog.getByRole('button', { name: 'Reschedule' }).click()
  await dialog.getByText('Choose a time in the future.').waitFor()
  await assertAccessible(page)
  await dialog.locator('input').fill('2040-01-01T10:00')
  await dialog.getByRole('button', { name: 'Reschedule' }).click()
  await page.getByText('Broadcast rescheduled').waitFor()
  assert.notEqual((await read()).scheduled_at, before)

  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('heading', { name: 'Edit broadcast' }).waitFor()
  const name = page.getByLabel('Name', { exact: true })
  await until('the name', async () => (await name.inputValue()) === 'Spring news')
  await until('the time of now, not of the first visit', async () => (await at.inputValue()) === '2040-01-01T10:00')
  await name.fill('Summer news')
  await page.getByRole('button', { name: /^Schedule/ }).click()
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Schedule/ })
    .click()
  await page.getByRole('heading', { name: 'Summer news', exact: true }).waitFor()
  const edited = await read()
  assert.deepEqual([edited.name, edited.total_count, edited.status], ['Summer news', 2, 'scheduled'])

  await chooseAction(page, 'Duplicate')
  await page.getByRole('heading', { name: 'Duplicate broadcast' }).waitFor()
  await until('the copied name', async () => (await name.inputValue()) === 'Summer news (copy)')
  await until('the recipients', async () =>
    /\+14155550101, "Porter, Ann"\n\+14155550102/.test(await page.locator('textarea').first().inputValue()),
  )
  await page.goBack()

  await chooseAction(page, 'Send now')
  await page.getByRole('dialog').getByRole('button', { name: 'Send now' }).click()
  await page.getByText('Sending started').waitFor()
  await until('both messages', async () => (await provider.sent()).length === 2)
  await page.getByRole('button', { name: 'Edit' }).waitFor({ state: 'detached' })

  // Recipients keep the values of their own in a copy, also after the list was edited.
  const own = await api.post('/broadcasts', {
    name: 'Orders',
    template: { name: 'order_confirmed' },
    recipients: [
      { to: '+14155550103', params: ['Cy', 'A-103'] },
      { to: '+14155550104', params: ['Dee', 'A-104'] },
    ],
    scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  })
  await page.goto(`/broadcasts/${own.body.data.id}`)
  await chooseAction(page, 'Duplicate')
  await page.getByText('Some recipients have template values of their own.').waitFor()
  await page.locator('textarea').first().fill('+1 (415) 555-0104, Dee')
  await page.getByRole('complementary').getByText('A-104').waitFor()
  await page.getByRole('button', { name: 'Send to 1 recipient' }).click()
  await page.getByRole('dialog').getByRole('button', { name: /^Send/ }).click()
  const sent = await until('the message', async () => (await provider.sent('+14155550104'))[0])
  assert.match(JSON.stringify(sent.body), /A-104/)
})

test('a draft is deleted after a question', { skip }, async (t) => {
  const { page, api } = await openDashboard(t, '/broadcasts')
  const template = { name: 'hello_world' }
  const draft = { name: 'Spring news', template, recipients: [{ to: '+14155550101' }], draft: true }
  const { id } = (await api.post('/broadcasts', draft)).body.data
  await visit(page, `/broadcasts/${id}`)
  await page.getByRole('button', { name: 'Send now' }).waitFor()
  await chooseAction(page, 'Delete draft')
  const dialog = page.getByRole('dialog', { name: 'Delete this draft?' })
  await dialog.getByText('The draft is deleted with 1 recipient.').waitFor()
  await dialog.getByRole('button', { name: 'Delete draft' }).click()
  await page.waitForURL('**/broadcasts')
  await page.getByText('Draft deleted').waitFor()
  assert.equal((await api.get(`/broadcasts/${id}`)).status, 404)
})

test('a draft is saved while it is written, and a colleague finds and continues it', { skip }, async (t) => {
  const { page, api, window, member, url, owner } = await openDashboard(t, '/broadcasts')
  const browser = createBrowser(url, url)
  await browser.signIn(owner)
  await browser.ask('POST', '/templates/refresh')
  for (const [i, tag] of ['vip', 'new', 'staff'].entries()) {
    const phone = `+1415555020${i}`
    await api.post('/contacts', { phone, name: `No ${i}`, tags: [tag], attributes: { city: `City ${i}` } })
    const filter = { match: 'all', rules: [{ field: 'tag', op: 'has', value: tag }] }
    await api.post('/segments', { name: `All ${tag}`, kind: 'dynamic', filter })
  }
  await visit(page, '/broadcasts/new')
  await page.getByLabel('Name', { exact: true }).fill('Autumn news')
  const segments = page.getByRole('combobox', { name: 'Segment', exact: true })
  await segments.selectOption('All vip')
  await segments.selectOption('All new')
  await page.getByRole('combobox', { name: 'Exclude' }).selectOption('All staff')
  await page.getByRole('button', { name: /^order_confirmed/ }).click()
  await page.getByRole('button', { name: 'Insert a contact field into Value {{1}}' }).click()
  await page.getByRole('menuitem', { name: 'city' }).click()
  await page.getByRole('textbox', { name: 'Value {{2}}' }).fill('A-1')
  await page.getByRole('button', { name: 'Send to 2 recipients' }).waitFor()
  await page.getByText('Draft saved').waitFor()
  await assertAccessible(page)

  const agent = await window({ as: await member('agent') })
  await agent.goto('/broadcasts?status=draft')
  await agent.getByRole('link', { name: 'Autumn news' }).click()
  await agent.getByRole('listitem').filter({ hasText: 'All new' }).waitFor()
  const value = agent.getByRole('textbox', { name: 'Value {{1}}' })
  await until('the attribute', async () => (await value.inputValue()) === '{{contact.attributes.city}}')
  await agent.getByRole('button', { name: 'Remove segment All new' }).click()
  await agent.getByRole('button', { name: 'Send to 1 recipient' }).click()
  await agent.getByRole('dialog').getByRole('button', { name: 'Send to 1 recipient' }).click()
  await agent.getByText('1 of 1 processed').waitFor()
  assert.deepEqual((await api.get('/broadcasts?status=draft')).body.data, [])
  await assertAccessible(agent)

  // The first member still has the draft open.
  await page.getByLabel('Name', { exact: true }).fill('Too late')
  await page.getByText('it was sent or deleted by another member').waitFor()
  await page.getByRole('button', { name: 'Send to 2 recipients' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send to 2 recipients' }).click()
  await page.getByRole('dialog').getByText('Nothing was sent now.').waitFor()
})

test('a draft is saved when the connection returns, and a copy is one draft that survives a reload', {
  skip,
}, async (t) => {
  const { page, api, window, member } = await openDashboard(t, '/broadcasts')
  const sent = { name: 'May', template: { name: 'hello_world' }, recipients: [{ to: '+14155550109' }] }
  const { id } = (await api.post('/broadcasts', sent)).body.data
  await visit(page, `/broadcasts/${id}/copy`)
  const name = page.getByLabel('Name', { exact: true })
  await name.fill('June')
  await page.waitForURL(`**/broadcasts/${id}/copy?draft=*`)
  await page.getByText('Draft saved').waitFor()
  await page.route('**/app/api/broadcasts/*/draft', (route) => route.abort())
  await name.fill('June news')
  await page.getByText('Draft not saved yet. Trying again…').waitFor()
  await page.unroute('**/app/api/broadcasts/*/draft')
  await page.getByText('Draft saved').waitFor()
  await page.reload()
  await until('the name', async () => (await name.inputValue()) === 'June news')
  const drafts = async () => (await api.get('/broadcasts?status=draft')).body.data
  assert.deepEqual(pluck(await drafts(), 'name'), ['June news'])

  // A viewer reads what members write.
  const viewer = await window({ as: await member('viewer') })
  await viewer.goto('/broadcasts?status=draft')
  await viewer.getByRole('link', { name: 'June news' }).click()
  await viewer.getByText('Nothing is sent until a member sends it.').waitFor()
  await assertAccessible(viewer)

  // The commands open a new broadcast beside the draft.
  await page.goto('/broadcasts?status=draft')
  await page.getByRole('link', { name: 'June news' }).click()
  await until('the draft', async () => (await name.inputValue()) === 'June news')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('new broadcast')
  await page.getByRole('option', { name: 'New broadcast' }).click()
  await until('an empty name', async () => (await name.inputValue()) === '')
})

test('the draft of an integration without recipients can only be deleted', { skip }, async (t) => {
  const { page, api } = await openDashboard(t, '/broadcasts')
  const draft = { name: 'Empty', template: { name: 'hello_world' }, draft: true }
  const { id } = (await api.post('/broadcasts', draft)).body.data
  await visit(page, `/broadcasts/${id}`)
  await chooseAction(page, 'Delete draft')
  await page.getByRole('dialog', { name: 'Delete this draft?' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Send now' }).count(), 0)
})
