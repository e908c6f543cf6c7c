/** Knowing the contact, in a real browser: the contact panel, merging a duplicate, and the command palette. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFits, openDashboard, skip, visit } from './dashboard.ts'
import { type Json, until } from './support.ts'

test('the panel edits attributes in place, keeps notes, and merges a duplicate into the open conversation', {
  skip,
}, async (t) => {
  const { page, api, provider, window } = await openDashboard(t, '/inbox', { width: 1440 })
  await provider.writes({ from: '+14155550101', name: 'Ann Porter', text: 'From my old number' })
  await provider.writes({ from: '+14155550102', name: 'Ann Porter', text: 'From my new number' })
  const contacts = (await api.get('/contacts')).body.data
  for (const { id } of contacts) await api.patch(`/contacts/${id}`, { company: 'Porter Ltd' })
  const [open] = (await api.get('/conversations')).body.data
  await visit(page, `/inbox/${open.id}`)
  const panel = page.locator('.inbox-contact')

  // Unsaved fields are kept when the panel is hidden, and when another conversation is shown.
  await panel.getByRole('button', { name: 'Edit', exact: true }).click()
  await panel.getByLabel('Name').fill('Anne Porter')
  await page.getByRole('button', { name: 'Hide contact' }).click()
  await panel.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Show contact' }).click()
  assert.equal(await panel.getByLabel('Name').inputValue(), 'Anne Porter')
  const rows = page.locator('.inbox-list [data-row]')
  const others = rows.and(page.locator(':not([aria-current])'))
  await others.first().click()
  await panel.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  await others.first().click()
  await until('the unsaved name', async () => (await panel.getByLabel('Name').inputValue()) === 'Anne Porter')
  await panel.getByRole('button', { name: 'Cancel' }).click()

  await panel.getByText('Attributes', { exact: true }).click()
  await panel.getByRole('button', { name: 'Add attribute' }).click()
  await page.keyboard.type('Customer no')
  await panel.getByLabel('Type').selectOption('number')
  await panel.getByLabel('Value').fill('many')
  await page.keyboard.press('Enter')
  await panel.getByText('Enter a number.').waitFor()
  await panel.getByLabel('Value').fill('17')
  await page.keyboard.press('Enter')
  await panel.getByRole('button', { name: /^Edit customer_no/ }).click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type('18')
  await page.keyboard.press('Enter')
  await panel.getByText('18', { exact: true }).waitFor()
  const edit = panel.getByRole('button', { name: /^Edit customer_no/ })
  await until('focus to return', () => edit.evaluate((element) => element.matches(':focus')))

  await panel.getByText('Notes', { exact: true }).click()
  const note = panel.getByLabel('Write a note about this contact')
  await note.fill('Prefers mornings')
  // An unsaved note stays while the member looks elsewhere.
  await visit(page, '/segments')
  await page.getByRole('heading', { name: 'Segments', exact: true }).waitFor()
  await page.goBack()
  await until('the unsaved note', async () => (await note.inputValue()) === 'Prefers mornings')
  await note.focus()
  await page.keyboard.press('ControlOrMeta+Enter')
  await panel.locator('.contact-notes').getByText('Prefers mornings').waitFor()
  await assertAccessible(page)

  await panel.getByText('Same name and company').waitFor()
  await panel.getByRole('button', { name: /^Review/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Merge contacts' })
  await dialog.getByText(/still reach the contact, which no longer shows this number/).waitFor()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Merge contacts' }).click()
  await page.getByText('Contacts merged').waitFor()
  await page.getByText('From my old number').first().waitFor()
  await page.locator('.inbox-thread, .inbox-messages, main').getByText('From my new number').first().waitFor()
  const [left, ...more] = (await api.get('/contacts')).body.data
  assert.deepEqual([left.company, more.length], ['Porter Ltd', 0])
  assert.equal((await api.get('/conversations')).body.data.length, 1)

  // Any other contact is found by search, also on a phone.
  const narrow = await window({ width: 390, dark: true })
  await narrow.goto(`/contacts/${left.id}`)
  await api.post('/contacts', { phone: '+14155550109', name: 'A. P. Porter', email: 'ann@porter.test' })
  await narrow.getByRole('button', { name: 'Merge with…' }).press('Enter')
  const search = narrow.getByRole('dialog').getByRole('searchbox')
  await until('focus in the search', () => search.evaluate((element) => element.matches(':focus')))
  await narrow.keyboard.type('a. p.')
  await narrow
    .getByRole('dialog')
    .getByRole('button', { name: /A\. P\. Porter/ })
    .waitFor()
  await narrow
    .getByRole('dialog')
    .getByRole('button', { name: /^Ann Porter/ })
    .waitFor({ state: 'detached' })
  await assertAccessible(narrow)
  await assertFits(narrow)
  await search.press('Enter')
  await narrow.getByRole('dialog', { name: 'Merge contacts' }).getByText('ann@porter.test').first().waitFor()
  await narrow.getByRole('button', { name: 'Merge contacts' }).press('Enter')
  await narrow.getByRole('dialog').waitFor({ state: 'detached' })
  await until('one contact', async () => (await api.get('/contacts')).body.data.length === 1)
  assert.equal((await api.get('/contacts')).body.data[0].email, 'ann@porter.test')
  await narrow.getByText('customer_no').waitFor()
  await narrow.locator('.contact-notes').getByText('Prefers mornings').waitFor()
  // The history has it too.
  await narrow.locator('.contact-history').getByText('Prefers mornings').waitFor()
  await assertFits(narrow)
})

test('the palette finds people, conversations, pages and actions by keyboard', { skip }, async (t) => {
  const { page, api, provider } = await openDashboard(t, '/overview', { width: 1440 })
  await provider.writes({ from: '+14155550101', name: 'Ann Porter', text: 'Where is my parcel?' })
  await provider.writes({ from: '+14155550102', name: 'Ben Okafor', text: 'Hello' })
  const palette = page.getByRole('dialog', { name: /^Search people/ })
  const input = palette.getByRole('combobox')
  const selects = (text: string) => palette.locator('[aria-selected="true"]', { hasText: text }).waitFor()

  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.press('Control+k')
  await input.waitFor()
  await page.keyboard.type('porter')
  await palette.getByRole('group', { name: 'People' }).getByText('Ann Porter').waitFor()
  await palette.getByRole('group', { name: 'Conversations' }).getByText('Where is my parcel?').waitFor()
  await assertAccessible(page)
  await page.keyboard.press('ArrowDown')
  await selects('Where is my parcel')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/inbox\/[0-9a-f-]{36}/)

  // What was opened last comes first, and the actions are those of the open conversation.
  await page.keyboard.press('Control+k')
  await input.waitFor()
  await selects('Ann Porter')
  // What would change nothing is not offered.
  await page.keyboard.type('assign')
  await palette.getByText('Assign to me').waitFor()
  assert.equal(await palette.getByText('Remove assignment').count(), 0)
  await page.keyboard.press('Enter')
  await page.getByText(/^Conversation with Ann Porter assigned to /).waitFor()
  await page.keyboard.press('Control+k')
  await input.fill('assign')
  await palette.getByText('Remove assignment').waitFor()
  assert.equal(await palette.getByText('Assign to me').count(), 0)
  await input.fill('close conv')
  await palette.getByText('Close conversation').waitFor()
  await page.keyboard.press('Enter')
  await until('the conversation to be closed', async () => {
    const { data } = (await api.get('/conversations')).body
    return data.some(({ status, contact }: Json) => status === 'closed' && contact.name === 'Ann Porter')
  })

  await page.keyboard.press('Control+k')
  await input.fill('no such thing')
  await palette.getByText('No results for “no such thing”.').waitFor()
  await page.keyboard.press('Escape')
  await palette.waitFor({ state: 'hidden' })
  // The words of a message open it in its conversation. The search index follows within a second.
  await page.keyboard.press('Control+k')
  const message = palette.getByRole('group', { name: 'Messages' }).getByText('Where is my parcel?')
  await until('the message to be found', async () => {
    await input.fill('')
    await input.fill('my parc')
    return message.waitFor({ timeout: 2_000 }).then(
      () => true,
      () => false,
    )
  })
  await page.keyboard.press('ArrowUp')
  await selects('Where is my parcel')
  // The message is highlighted for some seconds only.
  const highlighted = page.locator('[data-message][data-highlighted]').getByText('Where is my parcel?').waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/inbox\/[0-9a-f-]{36}\?message=/)
  await highlighted

  await page.keyboard.press('Control+k')
  await input.fill('segm')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/segments')
})

test('a name in the palette opens the customer and runs no action that has the name in its label', {
  skip,
}, async (t) => {
  // The inbox keeps the list of members for a moment, so it opens after they exist.
  const { page, api, provider, member } = await openDashboard(t, '/segments')
  await member('agent', 'Sam Porter')
  await provider.writes({ from: '+14155550101', name: 'Ann Porter', text: 'Hello' })
  await api.post('/contacts', { phone: '+14155550102', name: 'Samuel Whitfield' })
  const stored = async (): Promise<Json> => (await api.get('/conversations')).body.data[0]
  const palette = page.getByRole('dialog', { name: /^Search people/ })
  const { id } = await stored()
  await visit(page, `/inbox/${id}`)
  await page.getByRole('heading', { name: 'Ann Porter', exact: true }).waitFor()
  await page.keyboard.press('Control+k')
  await palette.getByText('Assign to Sam Porter').waitFor()
  // Nothing is chosen while nothing is typed, and Enter waits for the people.
  assert.equal(await palette.locator('[aria-selected="true"]').count(), 0)
  await page.keyboard.press('Enter')
  await page.keyboard.type('sam')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/contacts/*')
  await page.getByRole('heading', { name: 'Samuel Whitfield', exact: true }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'Ann Porter', exact: true }).waitFor()
  const { status, assigned_agent_id } = await stored()
  assert.deepEqual([status, assigned_agent_id], ['open', null])
  await page.keyboard.press('Control+k')
  await page.keyboard.type('assign sam')
  await page.keyboard.press('Enter')
  await page.getByText('Conversation with Ann Porter assigned to Sam Porter').waitFor()
})

test('a contact is blocked and unblocked in the panel, and a conversation stays unread after a mark', {
  skip,
}, async (t) => {
  const { page, api, provider } = await openDashboard(t, '/inbox', { width: 1440 })
  await provider.writes({ from: '+14155550101', name: 'Ann Porter', text: 'Buy now' })
  const [{ id }] = (await api.get('/conversations')).body.data
  await visit(page, `/inbox/${id}`)
  const panel = page.locator('.inbox-contact')
  const read = async (): Promise<Json> => (await api.get(`/conversations/${id}`)).body.data
  await until('it to be read', async () => (await read()).unread_count === 0)
  await panel.getByRole('button', { name: 'Mark as unread' }).click()
  await page.getByText('Conversation with Ann Porter marked as unread').waitFor()
  assert.equal((await read()).unread_count, 1)
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
  await until('it to be read again', async () => (await read()).unread_count === 0)

  await panel.getByRole('button', { name: 'Block', exact: true }).click()
  await panel.getByText(/The channel refuses their messages/).waitFor()
  await page
    .locator('.inbox-thread-head')
    .getByText(/^Blocked/)
    .waitFor()
  await assertAccessible(page)
  assert.equal((await read()).status, 'closed')
  // The key undoes the block, and the closing with it.
  await page.getByText('Ann Porter blocked. The conversation is closed.', { exact: true }).waitFor()
  await page.keyboard.press('z')
  await panel.getByRole('button', { name: 'Block', exact: true }).waitFor()
  await until('it open again', async () => (await read()).status === 'open')
  // A blocked contact gets no reply. The end of the block opens what it has closed.
  const reply = page.getByRole('textbox', { name: 'Reply', exact: true })
  await reply.waitFor()
  await panel.getByRole('button', { name: 'Block', exact: true }).click()
  const reason = page.locator('.inbox-composer').getByText('Ann Porter is blocked')
  await reason.waitFor()
  assert.equal(await reply.count(), 0)
  // Neither the key of a reply nor text that is typed ends the block.
  await page.keyboard.press('r')
  await page.keyboard.type('Hi there')
  await page.keyboard.press('Enter')
  assert.equal((await read()).status, 'closed')
  await page.locator('.inbox-composer').getByRole('button', { name: 'Unblock' }).click()
  await page.getByText('Ann Porter unblocked. The conversation is open again.').waitFor()
  await reply.waitFor()
  assert.equal((await read()).status, 'open')
  await panel.getByRole('button', { name: 'Block', exact: true }).waitFor()
  await provider.writes({ from: '+14155550101', text: 'Sorry' })
  await page.locator('.inbox-messages').getByText('Sorry').first().waitFor()
})
