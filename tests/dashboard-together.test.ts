/** Two members in the same inbox, each in a browser window: presence, the warning before a second reply, notes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, skip, visit } from './dashboard.ts'
import { createBrowser, type Json, until } from './support.ts'

const ann = '+14155550100'

const rowOf = (page: Page, name: string) =>
  page.getByRole('list', { name: 'Conversations' }).getByRole('link', { name })
const thread = (page: Page) => page.getByRole('log', { name: 'Messages' })
const box = (page: Page) => page.getByRole('textbox', { name: 'Reply', exact: true })
const noteBox = (page: Page) => page.getByRole('combobox', { name: 'Note' })
const presence = (page: Page) => page.locator('.inbox-presence-head')

test('two members see each other in a conversation, and the second reply asks first', { skip }, async (t) => {
  const { page: owner, provider, window, member } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Where is my order?' })
  const ben = await window({ as: await member('agent', 'Ben Carter') })
  await ben.goto('/inbox')
  await rowOf(ben, 'Ann Porter').click()
  await rowOf(owner, 'Ann Porter').getByText('Ben Carter is viewing').waitFor()
  await rowOf(owner, 'Ann Porter').click()
  await presence(owner).getByText('Ben Carter is viewing').waitFor()
  await thread(owner).getByText('Where is my order?').waitFor()

  await box(ben).fill('It is on its way')
  // Typing shows for some seconds only.
  await Promise.all([
    presence(owner).getByText('Ben Carter is typing a reply…').waitFor(),
    owner.locator('.inbox-typing', { hasText: 'Ben Carter is typing a reply…' }).waitFor(),
  ])
  await box(owner).fill('Let me check')
  await presence(ben).getByText('is typing a reply…').waitFor()
  await box(ben).press('Enter')
  await thread(owner).getByText('It is on its way').waitFor()

  // Escape keeps the text; the next attempt sends it without another question.
  await box(owner).press('Enter')
  const question = owner.getByRole('dialog', { name: /^Ben Carter replied \d+ s ago$/ })
  await question.getByText('It is on its way').waitFor()
  await assertAccessible(owner)
  await owner.keyboard.press('Escape')
  await question.waitFor({ state: 'detached' })
  assert.equal(await box(owner).inputValue(), 'Let me check')
  await owner.locator('textarea:focus').waitFor()
  await owner.keyboard.press('Enter')
  await thread(owner).getByText('Let me check').waitFor()
  await until('both replies', async () => (await provider.sent(ann)).length === 2)

  // By keyboard: Tab reaches "Send anyway". A reload keeps the beginning of the draft.
  await box(owner).fill('Tomorrow')
  await owner.reload()
  await thread(owner).getByText('Let me check').waitFor()
  await box(ben).fill('It arrives at noon')
  await box(ben).press('Enter')
  await thread(owner).getByText('It arrives at noon').waitFor()
  await box(owner).press('Enter')
  await question.waitFor()
  await owner.keyboard.press('Tab')
  await owner.keyboard.press('Enter')
  await thread(owner).getByText('Tomorrow').waitFor()
  await until('all four', async () => (await provider.sent(ann)).length >= 4)
  const texts = (await provider.sent(ann)).map(({ body }) => body.text.body)
  assert.deepEqual(texts, ['It is on its way', 'Let me check', 'It arrives at noon', 'Tomorrow'])

  // A template asks too, and keeps its values meanwhile.
  await owner.getByRole('button', { name: 'Send template' }).click()
  const picker = owner.getByRole('dialog', { name: /^Send template to/ })
  await picker.getByRole('button', { name: 'Sync templates' }).click()
  await picker.getByRole('button', { name: /^order_confirmed/ }).click()
  await picker.getByLabel('Value {{1}}').fill('Ann')
  await picker.getByLabel('Value {{2}}').fill('#4711')
  await box(ben).fill('Sent again')
  await box(ben).press('Enter')
  await thread(owner).getByText('Sent again').waitFor({ state: 'attached' })
  await picker.getByRole('button', { name: 'Send template' }).click()
  await question.getByText('Sent again').waitFor()
  await owner.keyboard.press('Escape')
  await question.waitFor({ state: 'detached' })
  assert.equal(await picker.getByLabel('Value {{2}}').inputValue(), '#4711')
  await picker.getByRole('button', { name: 'Send template' }).click()
  await thread(owner).getByText('Your order #4711 is confirmed.').waitFor()
  await until('the template', async () => (await provider.sent(ann)).length === 6)

  await ben.goto('/contacts')
  await until('Ben to leave', async () => (await presence(owner).textContent()) === '')
  await ben.goBack()
  await presence(owner).getByText('Ben Carter is viewing').waitFor()
  await ben.close()
  await until('Ben to close the page', async () => (await presence(owner).textContent()) === '')

  // Another member merges the contact: the page follows with the text, which the service has stored by then.
  await provider.writes({ from: '+14155550101', name: 'Ann P.', text: 'My other number' })
  await rowOf(owner, 'Ann P.').click()
  await thread(owner).getByText('My other number').waitFor()
  await box(owner).fill('Which one do you')
  await until('the stored text', async () =>
    (await (await owner.request.get('/app/api/drafts')).text()).includes('Which one do you'),
  )
  const merged = owner.getByText('This conversation was merged into another one.').waitFor()
  await owner.evaluate(async () => {
    const { data } = (await (await fetch('/app/api/conversations')).json()) as Json
    const [to, from] = ['Ann Porter', 'Ann P.'].map((name) => data.find(({ contact }: Json) => contact.name === name))
    await fetch(`/app/api/contacts/${to.contact_id}/merge`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ contact_id: from.contact_id }),
    })
  })
  await merged
  await thread(owner).getByText('It arrives at noon').waitFor()
  await thread(owner).getByText('My other number').waitFor()
  await until('the text', async () => (await box(owner).inputValue()) === 'Which one do you')
  await box(owner).press('Enter')
  await until('the reply', async () => (await provider.sent('+14155550101')).length === 1)
})

test('a note mentions a member by keyboard, is marked as private, and is never sent', { skip }, async (t) => {
  const { page: owner, provider, window, member } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  const ben = await window({ as: await member('agent', 'Ben Carter'), width: 390 })
  await ben.goto('/inbox')
  await rowOf(owner, 'Ann Porter').click()
  await thread(owner).getByText('Hello').waitFor()
  await box(owner).fill('A reply for later')
  await owner.keyboard.press('Escape')
  await owner.keyboard.press('n')
  await owner.locator('textarea:focus').waitFor()
  await owner.getByText('Only your team sees this').waitFor()
  await owner.keyboard.type('Please call her, @be')
  const option = owner.getByRole('option', { name: 'Ben Carter' })
  await option.waitFor()
  assert.equal(await noteBox(owner).getAttribute('aria-activedescendant'), await option.getAttribute('id'))
  await assertAccessible(owner)
  await owner.keyboard.press('Enter')
  assert.equal(await noteBox(owner).inputValue(), 'Please call her, @Ben Carter ')
  await owner.keyboard.type('today')
  await owner.keyboard.press('Enter')
  const note = (page: Page) => page.getByRole('article', { name: /^Note from/ })
  await note(owner).getByText('@Ben Carter').waitFor()

  // The mention is unread until Ben opens its conversation.
  await ben.getByRole('button', { name: 'Mentions 1', exact: true }).click()
  const mentions = ben.getByRole('list', { name: 'Mentions' })
  await mentions.getByText('Please call her, @Ben Carter today').waitFor()
  await assertAccessible(ben)
  await mentions.getByRole('link', { name: 'Ann Porter' }).click()
  await note(ben).getByText('Please call her, @Ben Carter today').waitFor()
  await ben.getByRole('button', { name: 'Back to list' }).click()
  await ben.getByRole('button', { name: 'Mentions', exact: true }).waitFor()
  await mentions.getByRole('link', { name: 'Ann Porter' }).click()
  await note(ben).waitFor()
  assert.equal(await note(ben).getByRole('button', { name: 'Delete note' }).count(), 0, 'only the author')
  await assertAccessible(ben)
  await assertFits(ben)

  await owner.keyboard.press('Escape')
  await owner.keyboard.press('a')
  await thread(owner).getByText('You assigned the conversation to yourself').waitFor()
  await thread(ben).getByText('assigned the conversation to themselves').waitFor()
  await owner.keyboard.press('r')
  assert.equal(await box(owner).inputValue(), 'A reply for later')
  await note(owner).getByRole('button', { name: 'Delete note' }).click()
  await owner.getByRole('dialog').getByRole('button', { name: 'Delete note' }).click()
  await note(owner).waitFor({ state: 'detached' })
  await note(ben).waitFor({ state: 'detached' })
  assert.deepEqual(await provider.sent(ann), [])
})

test('an undo keeps what another member changed meanwhile', { skip }, async (t) => {
  const { page: owner, provider, window, member } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  const ben = await window({ as: await member('agent', 'Ben Carter') })
  await ben.goto('/inbox')
  for (const page of [owner, ben]) await rowOf(page, 'Ann Porter').click()
  const labels = (page: Page) => page.locator('.inbox-thread-head').getByRole('listitem')
  const label = async (page: Page, text: string, onEntered = () => {}) => {
    await page.keyboard.press('l')
    const search = page.getByRole('dialog').getByRole('searchbox')
    await search.fill(text)
    await page.keyboard.press('Enter')
    onEntered()
    // Enter waits for the labels, and empties the field.
    await until('the label to be set', async () => (await search.inputValue()) === '')
    await page.keyboard.press('Escape')
  }
  const become = async (...names: string[]) => {
    for (const page of [owner, ben])
      await until(names.join(), async () => (await labels(page).allTextContents()).join() === names.join())
  }
  await label(owner, 'Refund')
  await become('Refund')
  await label(ben, 'Urgent')
  await become('Refund', 'Urgent')
  await owner.keyboard.press('z')
  await become('Urgent')
  // Enter takes the first of several matches, and creates no label with the beginning of a name: it waits for the labels.
  await ben.reload()
  await become('Urgent')
  const entered = Promise.withResolvers<void>()
  await ben.route('**/app/api/labels', async (route) => {
    await entered.promise
    await route.continue()
  })
  await label(ben, 'r', entered.resolve)
  await become('Refund', 'Urgent')
  // The arrow keys move between the search field and the labels; Enter sets them.
  await ben.keyboard.press('l')
  await ben.getByRole('checkbox', { name: 'Urgent' }).waitFor()
  for (const key of ['ArrowDown', 'ArrowDown', 'Enter', 'Escape']) await ben.keyboard.press(key)
  await become('Refund')

  // A conversation that another member closes leaves the selection with its row.
  await provider.writes({ from: '+14155550101', name: 'Cleo Dane', text: 'Hello' })
  await owner.getByRole('button', { name: '1 new', exact: true }).click()
  const select = (name: string) => ben.getByRole('checkbox', { name: `Select ${name}` })
  for (const name of ['Ann Porter', 'Cleo Dane']) await select(name).check()
  await ben.getByRole('toolbar').getByText('2 selected').waitFor()
  await rowOf(owner, 'Cleo Dane').click()
  await owner.getByRole('heading', { name: 'Cleo Dane', level: 2 }).waitFor()
  await owner.keyboard.press('e')
  await ben.getByRole('toolbar').getByText('1 selected').waitFor()
  assert.equal(await select('Ann Porter').isChecked(), true)
})

test("a colleague's conversation stays unread until its assignee opens it, a member replies, or marks it as read", {
  skip,
}, async (t) => {
  const { page: owner, provider, window, member, api, ...world } = await openDashboard(t, '/inbox')
  const browser = createBrowser(world.url, world.url)
  await browser.signIn(world.owner)
  const benAccount = await member('agent', 'Ben Carter')
  const { data: members } = (await browser.call('GET', '/members')).body
  const ben: Json = members.find(({ name }: Json) => name === 'Ben Carter')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Where is my order?' })
  const [{ id }] = (await api.get('/conversations')).body.data
  await browser.call('PATCH', `/conversations/${id}`, { assigned_agent_id: ben.id })
  await provider.writes({ from: '+14155550102', name: 'Cy Young', text: 'Thanks' })
  const unread = async () => (await api.get(`/conversations/${id}`)).body.data.unread_count

  // Closing one opens the next, which is Ben's.
  await rowOf(owner, 'Cy Young').click()
  await owner.getByRole('button', { name: 'Close', exact: true }).click()
  await thread(owner).getByText('Where is my order?').waitFor()
  await rowOf(owner, 'Ann Porter').and(owner.locator('[aria-current]')).waitFor()
  // The page marks a conversation as read when it is painted: the answer of a later call comes after that one.
  await owner.getByRole('button', { name: 'Assigned to: Ben Carter' }).waitFor()
  await owner.evaluate("fetch('/app/api/session')")
  assert.equal(await unread(), 1)

  // By hand, in the menu of the status, and undone.
  const menu = owner.getByRole('button', { name: /^Status: / })
  await menu.click()
  await owner.getByRole('menuitem', { name: 'Mark as read' }).click()
  await owner.getByText('Conversation with Ann Porter marked as read').waitFor()
  assert.equal(await unread(), 0)
  await owner.locator('.toast', { hasText: 'marked as read' }).getByRole('button', { name: 'Undo' }).click()
  await until('it unread again', async () => (await unread()) === 1)

  // Its assignee opens it; then a customer writes, and a colleague replies.
  const page = await window({ as: benAccount })
  await page.goto(`/inbox/${id}`)
  await until('it read by Ben', async () => (await unread()) === 0)
  await page.goto('/contacts')
  await provider.writes({ from: ann, text: 'Hello?' })
  await thread(owner).getByText('Hello?').waitFor()
  assert.equal(await unread(), 1)
  await box(owner).fill('It is on its way')
  await box(owner).press('Enter')
  await until('it read by the reply', async () => (await unread()) === 0)
})

test('a viewer reads the inbox, and the pages say why nothing can be changed', { skip }, async (t) => {
  const { page: owner, provider, window, member, db } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  const viewer = await window({ as: await member('viewer', 'Vera Viewer'), width: 1500 })
  const refused: string[] = []
  viewer.on('response', (response) => response.status() === 403 && refused.push(response.url()))
  await viewer.goto('/inbox')
  await rowOf(viewer, 'Ann Porter').click()
  await thread(viewer).getByText('Hello').waitFor()
  const reason = viewer.getByText('Your role is Viewer')
  await reason.waitFor()
  assert.equal(await box(viewer).count(), 0)
  assert.equal(await viewer.getByRole('button', { name: /^Assigned to/ }).isDisabled(), true)
  assert.equal(await viewer.getByRole('button', { name: 'Edit' }).isDisabled(), true)
  const changes: string[] = []
  viewer.on('request', (request) => {
    if (request.method() !== 'GET' && /\/conversations\//.test(request.url())) changes.push(request.url())
  })
  for (const key of ['e', 'a', 'r', 'n']) await viewer.keyboard.press(key)
  // The request of a key would come before this one.
  await viewer.evaluate("fetch('/app/api/session')")
  assert.deepEqual(changes, [])
  await assertAccessible(viewer)
  // The other members see the viewer in the conversation, which is still unread and not theirs.
  await rowOf(owner, 'Ann Porter').getByText('Vera Viewer is viewing').waitFor()
  const [conversation] = await db`
    select unread_count, status, assigned_agent_id from conversations where id = ${viewer.url().split('/').at(-1) ?? ''}`
  assert.deepEqual({ ...conversation }, { unread_count: 1, status: 'open', assigned_agent_id: null })
  await rowOf(owner, 'Ann Porter').click()
  await owner.getByRole('button', { name: /^Assigned to/ }).click()
  await owner.getByRole('menuitemradio', { name: 'Unassigned' }).waitFor()
  assert.equal(await owner.getByRole('menuitemradio', { name: 'Vera Viewer' }).count(), 0)

  for (const [path, button] of [
    ['/contacts', 'Add contact'],
    ['/segments', 'New segment'],
    ['/broadcasts', 'New broadcast'],
  ] as const) {
    await viewer.goto(path)
    await reason.waitFor()
    assert.equal(await viewer.getByText(button).count(), 0, button)
  }
  await visit(viewer, '/broadcasts/new')
  await viewer.getByRole('heading', { name: 'You can only read' }).waitFor()
  assert.deepEqual(refused, [])
})
