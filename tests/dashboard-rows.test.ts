/** What a conversation shows in a real browser: its row in the list, and the line of actions above its thread. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { assertStatus, dataOf } from './assertions.ts'
import { assertAccessible, assertFits, openDashboard, resize, skip, visit } from './dashboard.ts'
import { createBrowser, type Json, until } from './support.ts'

const ann = '+14155550100'
const ben = '+14155550101'

const rowOf = (page: Page, name: string) =>
  page.getByRole('list', { name: 'Conversations' }).getByRole('link', { name })
const box = (page: Page) => page.getByRole('textbox', { name: 'Reply', exact: true })

async function edgesOf(part: Locator) {
  const { left, right, top, bottom } = await part.evaluate((element) => element.getBoundingClientRect().toJSON())
  return { left, right, middle: Math.round((top + bottom) / 2) } as { left: number; right: number; middle: number }
}

test('assign, snooze and close are one line of buttons at every width', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox', { width: 1440 })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await rowOf(page, 'Ann Porter').click()
  const assign = page.getByRole('button', { name: /^Assigned to: / })
  const snooze = page.getByRole('button', { name: 'Snooze', exact: true })
  const close = page.getByRole('button', { name: 'Close', exact: true })
  await assign.getByText('Assign', { exact: true }).waitFor()
  for (const width of [1440, 1280, 1024, 768, 390]) {
    await resize(page, width, width === 768 ? 'dark' : 'light')
    const edges = await Promise.all([assign, snooze, close].map(edgesOf))
    assert.equal(new Set(edges.map(({ middle }) => middle)).size, 1, `one line at ${width} pixels`)
    assert.ok(edges[0] && edges[1] && edges[2] && edges[0].right <= edges[1].left && edges[1].right <= edges[2].left)
    for (const [part, text] of [
      [assign, 'Assign'],
      [snooze, 'Snooze'],
      [close, 'Close'],
    ] as const)
      assert.equal(
        await part
          .getByText(text)
          .or(part.filter({ hasText: text }))
          .first()
          .isVisible(),
        true,
      )
    await assertFits(page)
    await assertAccessible(page)
  }
  await assign.click()
  await page.getByRole('menuitemradio', { name: /\(you\)/ }).click()
  await page.getByRole('button', { name: /^Assigned to: (?!Unassigned)/ }).waitFor()
  await close.click()
  await page.getByRole('button', { name: 'Reopen', exact: true }).click()
  await page.getByRole('button', { name: 'Status: Open' }).waitFor()
})

test('the buttons of the header are at the same place in every conversation', { skip }, async (t) => {
  // The inbox keeps the list of members for a moment, so it opens after they exist.
  const { page, provider, api, member } = await openDashboard(t, '/segments', { width: 1440 })
  await member('agent', 'Sam Porter')
  for (const [from, name] of [
    [ben, 'Ben Carter'],
    [ann, 'Ann Porter'],
  ] as const)
    await provider.writes({ from, name, text: 'Hello' })
  await page.goto('/inbox')
  const conversations: Json[] = (await api.get('/conversations')).body.data
  const { id } = conversations.find(({ contact }) => contact.name === 'Ann Porter') ?? assert.fail()
  assertStatus(await api.patch(`/conversations/${id}`, { labels: ['Refund', 'Urgent'] }), 200)
  const assign = page.getByRole('button', { name: /^Assigned to: / })
  const placeOf = async (name: string) => {
    await rowOf(page, name).click()
    await page.getByRole('heading', { name, level: 2 }).and(page.locator('.inbox-thread-head *')).waitFor()
    return page.evaluate<string>(`JSON.stringify([...document.querySelectorAll('.inbox-thread-actions button')].map((one) => {
      const { left, top, width } = one.getBoundingClientRect()
      return [left, top, width].map(Math.round)
    }))`)
  }
  for (const width of [1440, 1400, 1100, 1000]) {
    await resize(page, width, 'light')
    const before = await placeOf('Ben Carter')
    assert.equal(await placeOf('Ann Porter'), before, `with labels at ${width} pixels`)
    const cut = `document.querySelector('.inbox-thread-actions > :last-child').getBoundingClientRect().right > document.querySelector('.inbox-thread').getBoundingClientRect().right`
    assert.equal(await page.evaluate(cut), false, `the last button is cut at ${width} pixels`)
  }
  const before = await placeOf('Ann Porter')
  await assign.click()
  await page.getByRole('menuitemradio', { name: 'Sam Porter' }).click()
  await page.getByRole('button', { name: 'Assigned to: Sam Porter' }).waitFor()
  await page.locator('.toast').getByRole('button', { name: 'Dismiss' }).click()
  await page.locator('.toast').waitFor({ state: 'detached' })
  assert.equal(await placeOf('Ann Porter'), before, 'with an assignee')
  const isCut = await assign.locator('.cut').evaluate((text) => text.scrollWidth > text.clientWidth)
  assert.equal(isCut, false, 'the name of the assignee has space')

  // The second label is a number with the names in its title, and keys open their dialogs beside the controls.
  await rowOf(page, 'Ann Porter').getByTitle('Labels: Refund, Urgent').getByText('+1').waitFor()
  for (const [key, name, control] of [
    ['l', 'Labels', page.getByRole('button', { name: 'Labels', exact: true })],
    ['s', 'Snooze', page.getByRole('button', { name: 'Snooze', exact: true })],
    ['f', 'Filters', page.getByRole('button', { name: 'Filters', exact: true })],
    ['v', 'Views', page.getByRole('button', { name: 'Views, labels and members' })],
  ] as const) {
    await page.locator('.inbox-messages').focus()
    await page.keyboard.press(key)
    const dialog = page.getByRole('dialog', { name, exact: true })
    await dialog.waitFor()
    const [box, anchor] = [await dialog.boundingBox(), await control.boundingBox()]
    assert.ok(box && anchor, name)
    assert.equal(Math.round(box.y - anchor.y - anchor.height), 6, `${name} is below its control`)
    assert.ok(box.x <= anchor.x + anchor.width && anchor.x <= box.x + box.width, `${name} is beside its control`)
    if (key === 'l') {
      assert.equal(await dialog.getByRole('button', { name: /^Delete/ }).count(), 0)
      assert.equal(await dialog.getByRole('link', { name: 'Manage labels' }).getAttribute('href'), '/settings/labels')
      await assertAccessible(page)
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }
})

test('a workspace can assign a conversation to the member who replies', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/settings/workspace')
  await page.getByRole('switch', { name: /^Assign to me when I reply/ }).click()
  await page.getByRole('switch', { name: /^Assign to me when I reply/, checked: true }).waitFor()
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await visit(page, '/inbox')
  await rowOf(page, 'Ann Porter').click()
  await page.getByRole('button', { name: 'Assigned to: Unassigned' }).waitFor()
  await box(page).fill('Hello Ann')
  await box(page).press('Enter')
  await page.getByRole('button', { name: /^Assigned to: (?!Unassigned)/ }).waitFor()
})

test('a row shows its time, the wait, who replied, the channel at the avatar, and formatted text', {
  skip,
}, async (t) => {
  const { page, provider, url, owner, window, member, db, api } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ben, name: 'Ben Carter', text: 'Is it *open*?' })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  const browser = createBrowser(url, url)
  await browser.signIn(owner)
  await until('both', async () => (await browser.ask('GET', '/conversations')).data.length === 2)
  const waited = (name: string, wait: string) => db`
    update conversations v set waiting_since = now() - ${wait}::interval, updated_at = now() from contacts c
    where v.workspace_id = ${api.workspaceId} and c.workspace_id = v.workspace_id and c.id = v.contact_id and c.name = ${name}`
  await waited('Ben Carter', '50 hours')
  await waited('Ann Porter', '190 minutes')
  await page.reload()
  const waitOf = (name: string) => rowOf(page, name).getByTitle(/^Waiting for a reply from a member since /)
  assert.equal(await waitOf('Ben Carter').textContent(), 'Waiting 2 d')
  assert.equal(await waitOf('Ann Porter').textContent(), 'Waiting 3 h')
  assert.equal(await waitOf('Ben Carter').getAttribute('data-tone'), 'red')
  assert.equal(await waitOf('Ann Porter').getAttribute('data-tone'), 'amber')
  // Both wrote today.
  for (const name of ['Ann Porter', 'Ben Carter'])
    assert.match(await rowOf(page, name).locator('time').innerText(), /^\d+:\d\d\s[AP]M$/)
  await rowOf(page, 'Ben Carter').locator('strong', { hasText: 'open' }).waitFor()

  const [overlap, covered] = await rowOf(page, 'Ann Porter').evaluate((row) => {
    const avatar = row.querySelector('.avatar')
    const badge = row.querySelector('.channel')?.getBoundingClientRect()
    const initials = row.ownerDocument.createRange()
    if (!avatar?.firstChild || !badge) return []
    initials.selectNodeContents(avatar.firstChild)
    const { right, bottom } = avatar.getBoundingClientRect()
    const letters = initials.getBoundingClientRect()
    return [badge.left < right && badge.top < bottom, badge.left < letters.right && badge.top < letters.bottom]
  })
  assert.equal(overlap, true, 'the channel is at the corner of the avatar')
  assert.equal(covered, false, 'the channel covers no initials')

  const conversations: Json[] = (await browser.ask('GET', '/conversations')).data
  const idOf = (name: string) => conversations.find(({ contact }) => contact.name === name).id
  await browser.ask('POST', `/conversations/${idOf('Ann Porter')}/messages`, { text: 'Hi *Ann*' }, 201)
  const kim = await window({ as: await member('agent', 'Kim Lee') })
  await kim.goto(`/inbox/${idOf('Ben Carter')}`)
  await box(kim).fill('From Kim')
  await box(kim).press('Enter')
  await rowOf(page, 'Ann Porter').getByText('You:').waitFor()
  await rowOf(page, 'Ben Carter').getByTitle('Kim Lee', { exact: true }).waitFor()
  await rowOf(page, 'Ben Carter').getByText('From Kim').waitFor()
  assert.equal(await rowOf(page, 'Ben Carter').getByText('You:').count(), 0)
  await rowOf(kim, 'Ben Carter').getByText('You:').waitFor()
  await assertAccessible(page)
  await resize(page, 390, 'dark')
  await assertFits(page)
  await assertAccessible(page)
})

test('a row names what sent an automated message, and shows the time by which it is sorted', { skip }, async (t) => {
  const { page, provider, api, url, owner, db } = await openDashboard(t, '/inbox')
  const cleo = '+14155550102'
  for (const [from, name] of [
    [cleo, 'Cleo Dane'],
    [ben, 'Ben Carter'],
    [ann, 'Ann Porter'],
  ] as const)
    await provider.writes({ from, name, text: `Question of ${name}` })
  await rowOf(page, 'Ann Porter').getByText('Question of Ann Porter').waitFor()
  const rows = () =>
    page.locator('[data-row]').evaluateAll((all) =>
      all.map((row) => ({
        name: row.querySelector('.inbox-row-name')?.textContent ?? '',
        at: row.querySelector('time')?.getAttribute('datetime') ?? '',
      })),
    )
  const before = await rows()
  assert.deepEqual(
    before.map(({ name }) => name),
    ['Ann Porter', 'Ben Carter', 'Cleo Dane'],
  )
  const template = { name: 'hello_world', language: 'en_US' }
  assertStatus(await api.post('/messages', { to: ben, type: 'template', template }), 201)
  assertStatus(await api.post('/broadcasts', { name: 'News', template, recipients: [{ to: cleo }] }), 202)
  const listed = async (): Promise<Json[]> => (await api.get('/conversations')).body.data
  await until('both messages', async () => {
    const texts = (await listed()).map(({ last_message_text: text }) => text)
    return texts.filter((text) => text.startsWith('Question')).length === 1
  })
  assert.deepEqual(await rows(), before, 'neither moves its row or changes its time')
  // While the customer waits, the row shows their message with its time, not with that of the automated one.
  await db`
    update messages set created_at = now() + interval '5 minutes'
    where workspace_id = ${api.workspaceId} and direction = 'outbound'`
  await db`
    update conversations set last_message_at = now() + interval '5 minutes'
    where workspace_id = ${api.workspaceId} and last_message_text not like 'Question%'`
  await page.reload()
  await rowOf(page, 'Ben Carter').getByText('Question of Ben Carter').waitFor()
  assert.equal(await rowOf(page, 'Ben Carter').locator('.inbox-row-you').count(), 0)
  // The customer waits since the first message, and the list is sorted by the last one.
  await provider.writes({ from: cleo, text: 'Anything?' })
  await rowOf(page, 'Cleo Dane').getByText('Anything?').waitFor()
  await rowOf(page, 'Ben Carter').getByText('Question of Ben Carter').waitFor()
  for (const [sort, names] of [
    ['Newest', ['Cleo Dane', 'Ann Porter', 'Ben Carter']],
    ['Oldest', ['Ben Carter', 'Ann Porter', 'Cleo Dane']],
    ['Longest wait', ['Cleo Dane', 'Ben Carter', 'Ann Porter']],
  ] as const) {
    await page.getByRole('button', { name: /^Sort by/ }).click()
    await page.getByRole('menuitemradio', { name: sort }).click()
    await until(sort, async () => (await rows()).map(({ name }) => name).join() === names.join())
    const times = (await rows()).map(({ at }) => Date.parse(at))
    assert.deepEqual(
      times,
      times.toSorted((one, other) => (sort === 'Newest' ? other - one : one - other)),
      sort,
    )
  }

  // Once a member has replied, the last message is the automated one.
  const member = createBrowser(url, url)
  await member.signIn(owner)
  for (const { id, contact } of await listed()) {
    if (contact.name === 'Ann Porter') continue
    await member.ask('POST', `/conversations/${id}/messages`, { text: 'A moment, please' }, 201)
  }
  assertStatus(await api.post('/messages', { to: ben, type: 'template', template }), 201)
  assertStatus(await api.post('/broadcasts', { name: 'More', template, recipients: [{ to: cleo }] }), 202)
  await rowOf(page, 'Ben Carter').getByText('Automated:').waitFor()
  await rowOf(page, 'Cleo Dane').getByText('Broadcast:').waitFor()
  // One that came later than the time of the row has its own time.
  await db`
    update conversations set inbox_at = now() - interval '3 days'
    where workspace_id = ${api.workspaceId}`
  await page.reload()
  await rowOf(page, 'Cleo Dane')
    .getByText(/^Broadcast, \d+:\d\d [AP]M: $/)
    .waitFor()
  await rowOf(page, 'Ann Porter')
    .getByText(/^\d+:\d\d [AP]M: $/)
    .waitFor()
  await assertAccessible(page)
})

test('a conversation with automated messages only is not shown as open', { skip }, async (t) => {
  const { page, api } = await openDashboard(t, '/inbox?status=all')
  const template = { name: 'hello_world', language: 'en_US' }
  const sent = dataOf(await api.post('/messages', { to: ann, name: 'Ann Porter', type: 'template', template }), 201)
  const hint = /^No reply yet: it enters the inbox when the customer writes or a member replies/
  await rowOf(page, 'Ann Porter').getByText('Automated', { exact: true }).and(page.getByTitle(hint)).waitFor()
  await rowOf(page, 'Ann Porter').click()
  const status = page.getByRole('button', { name: 'Status: Automated' })
  await status.and(page.getByTitle(hint)).waitFor()
  await assertAccessible(page)
  // It can be closed, and the text of its return does not claim that it is in the inbox.
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByText('Conversation with Ann Porter closed').waitFor()
  await page.getByRole('button', { name: 'Status: Closed' }).waitFor()
  await page.getByRole('button', { name: 'Reopen', exact: true }).click()
  await page.getByText(/^Conversation with Ann Porter reopened\. No reply yet: it enters the inbox when/).waitFor()
  await status.waitFor()
  await visit(page, `/contacts/${sent.contact_id}`)
  await page.locator('.contacts-conversations .badge', { hasText: 'Automated' }).waitFor()
  await assertAccessible(page)
})

test('the rows stay in place when the first one is selected, and a tight row shows the whole name', {
  skip,
}, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox', { width: 1440 })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await provider.writes({ from: ben, name: 'Benjamina Carterfield', text: 'Hello' })
  const word = rowOf(page, 'Benjamina Carterfield').locator('.inbox-wait > :first-child')
  await word.waitFor()
  for (const width of [1440, 1000, 390]) {
    await resize(page, width, width === 1000 ? 'dark' : 'light')
    const top = () => page.locator('.inbox-scroll').evaluate((list) => list.getBoundingClientRect().top)
    const before = await top()
    await page.getByRole('checkbox', { name: 'Select Ann Porter' }).focus()
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    const bar = page.getByRole('toolbar', { name: 'Selected conversations' })
    await bar.getByRole('button', { name: 'More actions' }).waitFor()
    assert.equal(await top(), before, `at ${width} pixels`)
    await assertFits(page)
    await page.keyboard.press('Escape')
    await page.getByText('1 selected').waitFor({ state: 'detached' })
    const isCut = await rowOf(page, 'Benjamina Carterfield')
      .locator('.inbox-row-name')
      .evaluate((name) => name.scrollWidth > name.clientWidth)
    assert.equal(isCut, false, `at ${width} pixels`)
  }
})

test('with several numbers, the name of the number gives its space to the name of the customer', {
  skip,
}, async (t) => {
  const { page, provider, addNumber } = await openDashboard(t, '/inbox', { width: 1440 })
  const { id } = await addNumber('Customer support Germany and Austria')
  const long = 'Samuel Oyelaran'
  await provider.writes({ from: ann, name: long, text: 'Hello', connection_id: id })
  await provider.writes({ from: ben, name: 'Bo', text: 'Hello' })
  await page.goto('/inbox')
  const isCut = (row: string, part: string) =>
    rowOf(page, row)
      .locator(part)
      .evaluate((element) => element.scrollWidth > element.clientWidth)
  await rowOf(page, long).locator('.inbox-row-connection').waitFor()
  for (const width of [1440, 1000, 390]) {
    await resize(page, width, width === 1000 ? 'dark' : 'light')
    assert.equal(await isCut(long, '.inbox-row-name'), false, `the customer at ${width} pixels`)
    assert.equal(await isCut(long, '.inbox-row-connection'), true, `the number at ${width} pixels`)
    const { left, right } = await edgesOf(rowOf(page, long).locator('.inbox-row-connection'))
    assert.ok(right - left >= 24, `${right - left} pixels of the number at ${width} pixels`)
    // With enough space both are whole.
    assert.equal(await isCut('Bo', '.inbox-row-name'), false)
    assert.equal(await isCut('Bo', '.inbox-row-connection'), false, `a short name at ${width} pixels`)
    await assertFits(page)
    await assertAccessible(page)
  }
})

test('labels of conversations and tags of people look different', { skip }, async (t) => {
  const { page, provider, api } = await openDashboard(t, '/inbox', { width: 1440 })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  const [{ id, contact_id: contactId }] = (await api.get('/conversations')).body.data
  assertStatus(await api.patch(`/contacts/${contactId}`, { tags: ['VIP'] }), 200)
  assertStatus(await api.patch(`/conversations/${id}`, { labels: ['Refund'] }), 200)
  await rowOf(page, 'Ann Porter').click()
  const look = (part: Locator) =>
    part.evaluate((element) => {
      const style = element.ownerDocument.defaultView?.getComputedStyle(element)
      return {
        radius: Number.parseFloat(style?.borderTopLeftRadius ?? ''),
        hasIcon: element.querySelector('svg') !== null,
      }
    })
  const label = page.getByRole('list', { name: 'Labels' }).locator('.label-chip', { hasText: 'Refund' })
  const tag = page.getByRole('complementary').locator('.tag', { hasText: 'VIP' })
  await label.waitFor()
  await tag.waitFor()
  assert.deepEqual([(await look(label)).hasIcon, (await look(tag)).hasIcon], [false, true])
  assert.ok((await look(label)).radius < (await look(tag)).radius)
  await page.getByRole('complementary').locator('.label-chip', { hasText: 'Refund' }).waitFor()
  assert.equal(await page.locator('.tag', { hasText: 'Refund' }).count(), 0)
  await rowOf(page, 'Ann Porter').locator('.label-chip', { hasText: 'Refund' }).waitFor()
  await assertAccessible(page)
  await resize(page, 1440, 'dark')
  await assertAccessible(page)
})
