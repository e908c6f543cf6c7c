/** The sidebar and the filters of the inbox, notes in its search, and lists of contacts, in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFits, openDashboard, skip, visit } from './dashboard.ts'
import { createBrowser, type Json, pluck, until } from './support.ts'

const ann = '+14155550101'
const ben = '+14155550102'

test('the sidebar lists views, labels and members with live counts, and filters are chips that can be removed', {
  skip,
}, async (t) => {
  const { page, api, provider, window, url, owner } = await openDashboard(t, '/inbox', { width: 1440 })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'one' })
  await provider.writes({ from: ben, name: 'Ben Carter', text: 'two' })
  const conversations: Json[] = (await api.get('/conversations')).body.data
  const idOf = (name: string) => conversations.find(({ contact }) => contact.name === name)?.id
  await api.patch(`/conversations/${idOf('Ann Porter')}`, { labels: ['Refund'] })
  const waiting = { name: 'Longest wait', filters: { status: 'open', sort: 'waiting' } }
  const member = createBrowser(url, url)
  await member.signIn(owner)
  await member.ask('POST', '/views', waiting, 201)
  await visit(page, '/inbox')
  // In the navigation of a wide window. A view also has an order.
  const sidebar = page.getByRole('navigation', { name: 'Views, labels and members' })
  const marked = async () =>
    (await sidebar.locator('[aria-current]').allInnerTexts()).map((text) => text.split('\n')[0])
  await sidebar.getByRole('button', { name: /^Longest wait\s*2$/ }).waitFor()
  assert.deepEqual(await marked(), ['Open conversations'])
  // What the sidebar has is not in the list too. The filter is a chip there.
  const list = page.getByRole('region', { name: 'Conversations' })
  await list.getByRole('button', { name: /^Unread/ }).waitFor()
  assert.equal(await list.getByRole('button', { name: /^(Mine|Unassigned|Mentions)/ }).count(), 0)
  await sidebar.getByRole('button', { name: /^Mine/ }).click()
  // The counts are those without a filter.
  await list.getByRole('button', { name: 'Open', exact: true }).waitFor()
  await list.getByRole('button', { name: 'Remove filter: Mine' }).click()
  await until('no filter', async () => (await marked()).join() === 'Open conversations')
  await sidebar.getByRole('button', { name: 'Longest wait' }).click()
  await until('the view', async () => (await marked()).join() === 'Longest wait')
  await sidebar.getByRole('button', { name: 'Open conversations' }).click()
  await sidebar.getByRole('button', { name: /^Refund\s*1$/ }).click()
  const rows = page.locator('.inbox-list [data-row]')
  await until('one row', async () => (await rows.count()) === 1)
  await assertAccessible(page)
  await api.patch(`/conversations/${idOf('Ben Carter')}`, { labels: ['Refund'] })
  await sidebar.getByRole('button', { name: /^Refund\s*2$/ }).waitFor()
  await until('two rows', async () => (await rows.count()) === 2)
  // All counts change together, also those that the page asks for only later.
  const counts = '**/app/api/inbox/counts'
  await page.route(counts, () => {})
  await rows.filter({ hasText: 'Ann Porter' }).click()
  await page.getByRole('button', { name: 'Status: Open' }).waitFor()
  await page.keyboard.press('e')
  for (const name of ['Open conversations', 'Longest wait', 'Refund'])
    await sidebar.getByRole('button', { name: new RegExp(`^${name}\\s*1$`) }).waitFor()
  await page.keyboard.press('z')
  for (const name of ['Open conversations', 'Longest wait', 'Refund'])
    await sidebar.getByRole('button', { name: new RegExp(`^${name}\\s*2$`) }).waitFor()
  await page.unroute(counts)

  await page.getByRole('button', { name: 'Remove filter: Refund' }).click()
  assert.equal(new URL(page.url()).search, '')
  await page.getByRole('button', { name: 'Filters', exact: true }).click()
  const popover = page.getByRole('dialog', { name: 'Filters' })
  await popover.getByLabel('No reply yet').check()
  await assertAccessible(page)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Change filter: No reply yet' }).waitFor()
  assert.equal(new URL(page.url()).search, '?no_reply=true')

  const narrow = await window({ width: 390, dark: true })
  await narrow.goto('/inbox')
  await narrow.getByRole('button', { name: 'Views, labels and members' }).click()
  await narrow.getByRole('dialog', { name: 'Views, labels and members' }).waitFor()
  await assertAccessible(narrow)
  await narrow
    .getByRole('dialog')
    .getByRole('button', { name: /^Refund/ })
    .click()
  await narrow.getByRole('dialog').waitFor({ state: 'detached' })
  await narrow.getByRole('button', { name: 'Remove filter: Refund' }).waitFor()
  await assertFits(narrow)
})

test('a note is found by the search and opens in its thread', { skip }, async (t) => {
  const { page, api, provider } = await openDashboard(t, '/inbox', { width: 1440 })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'one' })
  const [{ id }] = (await api.get('/conversations')).body.data
  await api.post(`/conversations/${id}/notes`, { text: 'Waits for a receipt' })
  await page.getByRole('searchbox').fill('receipt')
  await page
    .getByRole('region', { name: 'Notes' })
    .getByRole('link', { name: /Ann Porter/ })
    .click()
  await page.waitForURL(/\/inbox\/[0-9a-f-]{36}\?.*message=/)
  await page.locator('.inbox-note-entry').getByText('Waits for a receipt').waitFor()
  await page.getByRole('searchbox').fill('zzzqq')
  await page.getByText('No contacts, messages or notes match “zzzqq”.').waitFor()
  await assertAccessible(page)
})

test('a reply that the connection lost is repeated by itself, and sent once if its response is lost', {
  skip,
}, async (t) => {
  const { page, api, provider } = await openDashboard(t, '/inbox', { width: 1440 })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'one' })
  const [{ id }] = (await api.get('/conversations')).body.data
  await visit(page, `/inbox/${id}`)
  let posts = 0
  let ended = 0
  await page.route('**/app/api/conversations/*/messages', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    posts += 1
    // The service gets the second one and sends it, but the page gets no response.
    if (posts === 2) await route.fetch()
    await route.abort()
    ended += 1
  })
  const box = page.getByRole('textbox', { name: 'Reply', exact: true })
  await box.fill('Are you still there?')
  await box.press('Enter')
  await until('a second request', () => ended === 2)
  const bubble = page.locator('.inbox-messages [data-message]').getByText('Are you still there?')
  await until('one confirmed reply', async () => {
    const unsent = await page.getByRole('button', { name: /Retry/ }).count()
    return unsent === 0 && (await bubble.count()) === 1
  })
  assert.equal((await provider.sent(ann)).length, 1)
})

test('contacts are counted, sorted, selected, tagged and exported, in two lines on a phone', { skip }, async (t) => {
  // The list of contacts does not follow changes, so it opens after they are added.
  const { page, api, window } = await openDashboard(t, '/segments', { width: 1440 })
  for (const [phone, name] of [
    [ann, 'Bea'],
    [ben, 'Ann'],
  ])
    await api.post('/contacts', { phone, name, company: 'Acme', tags: ['new'] })
  await visit(page, '/contacts')
  await page.getByText('2 contacts').waitFor()
  const names = () => page.locator('.contacts-person a').allTextContents()
  await until('the newest first', async () => (await names()).join() === 'Ann,Bea')
  await page.getByRole('button', { name: /^Name/ }).click()
  await page.getByRole('columnheader', { name: /Name/ }).and(page.locator('[aria-sort="ascending"]')).waitFor()
  await page.getByRole('button', { name: /^Name/ }).click()
  await until('descending by name', async () => (await names()).join() === 'Bea,Ann')
  await assertAccessible(page)

  await page.getByLabel('Select Ann').check()
  const bar = page.getByRole('toolbar', { name: 'Selected contacts' })
  await bar.getByRole('button', { name: 'Select all loaded' }).click()
  await bar.getByText('2 contacts selected').waitFor()
  await bar.getByRole('button', { name: 'Clear selection' }).click()
  await page.getByLabel('Select Bea').click()
  await page.getByLabel('Select Ann').click({ modifiers: ['Shift'] })
  await bar.getByText('2 contacts selected').waitFor()
  for (const action of ['Add tag', 'Remove tag'])
    assert.equal(await bar.getByRole('button', { name: action }).isDisabled(), true, `${action} needs a tag`)
  await bar.getByRole('combobox', { name: 'Tag' }).fill('vip')
  await bar.getByRole('button', { name: 'Add tag' }).click()
  await page.getByText('Tag “vip” added to 2 contacts').waitFor()
  const tagsOf = async () =>
    (await api.get('/contacts')).body.data.map(({ tags }: Json) => pluck(tags, 'name').sort().join())
  assert.deepEqual(await tagsOf(), ['new,vip', 'new,vip'])
  await page.getByRole('button', { name: 'Undo' }).click()
  await until('the tags of before', async () => (await tagsOf()).join(' ') === 'new new')
  // Undoing a change of nothing would remove a tag that was there.
  const tag = bar.getByRole('combobox', { name: 'Tag' })
  await tag.fill('New')
  await tag.press('Enter')
  await page.getByText('No contact changed: all selected ones have the tag “New”').waitFor()
  await tag.fill('other')
  await bar.getByRole('button', { name: 'Remove tag' }).click()
  await page.getByText('No contact changed: none of the selected ones has the tag “other”').waitFor()
  await tag.fill('extra')
  await tag.press('Enter')
  await page.getByText('Tag “extra” added to 2 contacts').waitFor()
  assert.deepEqual(await tagsOf(), ['extra,new', 'extra,new'])
  for (const { id } of (await api.get('/contacts')).body.data) await api.patch(`/contacts/${id}`, { tags: ['new'] })
  await assertAccessible(page)
  const download = page.waitForEvent('download')
  await bar.getByRole('button', { name: 'Export selected' }).click()
  assert.equal((await download).suggestedFilename(), 'contacts.csv')

  const narrow = await window({ width: 390 })
  await narrow.goto('/contacts')
  const row = narrow.locator('tbody tr').first()
  await row.waitFor()
  const height = await row.evaluate((element) => element.getBoundingClientRect().height)
  assert.ok(height < 100, `a row has ${height} px`)
  const leftOf = async (part: string) => Math.round((await row.locator(part).first().boundingBox())?.x ?? 0)
  assert.equal(await leftOf('td:nth-child(2)'), await leftOf('.row-link'), 'the second line begins below the name')
  // The table has no head there, so the order is with the filters.
  await narrow.getByRole('button', { name: 'Filters', exact: true }).click()
  const sheet = narrow.getByRole('dialog', { name: 'Filters' })
  await sheet.getByRole('combobox', { name: 'Order' }).selectOption({ label: 'Name, A to Z' })
  await narrow.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  await until('ascending by name', async () => {
    const shown = await narrow.locator('.contacts-person a').allTextContents()
    return shown.join() === 'Ann,Bea'
  })
  await assertFits(narrow)
  await assertAccessible(narrow)
})
