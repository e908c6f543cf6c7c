/** The inbox in a real browser: customers write, members answer, and both see it at once. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, resize, skip } from './dashboard.ts'
import { fixture } from './internals.ts'
import type { Provider } from './provider.ts'
import { createBrowser, type Json, until } from './support.ts'

const ann = '+14155550100'
const ben = '+14155550101'

const rowOf = (page: Page, name: string) =>
  page.getByRole('list', { name: 'Conversations' }).getByRole('link', { name })
const said = (page: Page, text: string) => page.getByRole('log', { name: 'Messages' }).getByText(text)
const bubble = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })
const box = (page: Page) => page.getByRole('textbox', { name: 'Reply', exact: true })
const sidebar = (page: Page) => page.getByRole('navigation', { name: 'Views, labels and members' })

/** The order stays still while the pointer is over the list: arrivals wait behind a button. */
const showNew = (page: Page, count: number) => page.getByRole('button', { name: `${count} new`, exact: true }).click()

async function answer(page: Page, text: string): Promise<void> {
  await box(page).fill(text)
  await box(page).press('Enter')
}

/** The customer has it, and has seen it. */
const isRead = (page: Page, text: string) => bubble(page, text).last().getByText('Read', { exact: true }).waitFor()

test('an inbound message appears live, and a reply shows its status up to read', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox')
  await page.getByRole('heading', { name: 'No conversations yet' }).waitFor()

  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Is anybody there?' })
  await rowOf(page, 'Ann Porter').getByText('Is anybody there?').waitFor()
  await page.locator('.inbox-unread', { hasText: '1' }).waitFor()
  await rowOf(page, 'Ann Porter').click()
  await said(page, 'Is anybody there?').waitFor()
  await page.getByText('Window closes in').waitFor()
  await provider.writes({ from: ann, text: 'I can wait, see https://shop.example/orders.' })
  await page.getByRole('link', { name: 'https://shop.example/orders', exact: true }).waitFor()
  await until('nothing unread', async () => (await page.locator('.nav-count').count()) === 0)

  await answer(page, 'Here we are!')
  await isRead(page, 'Here we are!')
  assert.equal((await provider.sent(ann))[0]?.body.text.body, 'Here we are!')
  await bubble(page, 'Is anybody there?').hover()
  await bubble(page, 'Is anybody there?').getByRole('button', { name: 'Reply' }).click()
  await answer(page, 'Yes, all of us')
  await bubble(page, 'Yes, all of us').getByRole('button', { name: 'Ann Porter Is anybody there?' }).waitFor()
  await until('the quote', async () => (await provider.sent(ann))[1]?.body.context?.message_id)

  await provider.fault({ to: ann, mode: 'reject', code: 131026, count: 1 })
  await answer(page, 'Does this arrive?')
  await said(page, 'This number cannot be reached on the channel.').waitFor()
  await said(page, '131026').waitFor()
  await assertFailureBelow(page, 'Does this arrive?', 'Yes, all of us')
  await page.getByRole('button', { name: 'Retry' }).click()
  await isRead(page, 'Does this arrive?')

  await page.route('**/messages', (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({ status: 400, json: { error: { code: 'bad_request', message: 'text: not this one' } } })
      : route.fallback(),
  )
  await answer(page, 'Refused at first')
  await page.getByRole('alert').getByText('Text: not this one').waitFor()
  await page.unroute('**/messages')
  await bubble(page, 'Refused at first').getByRole('button', { name: 'Retry' }).click()
  await isRead(page, 'Refused at first')
  assert.equal(await bubble(page, 'Refused at first').count(), 1)

  // What may have gone out is not offered to be sent anew: it went out, and shows up.
  await page.route('**/messages', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback()
    await route.fetch()
    await route.fulfill({ status: 504, body: 'the proxy gave up' })
  })
  const lost = page.waitForResponse((response) => response.status() === 504)
  await answer(page, 'Past a tired proxy')
  await lost
  await isRead(page, 'Past a tired proxy')
  await until('it to be there once', async () => (await bubble(page, 'Past a tired proxy').count()) === 1)
  await page.unroute('**/messages')
})

/** The reason and the buttons of a failed message are below its bubble, and both end where the bubble of a sent one ends. */
async function assertFailureBelow(page: Page, failed: string, sent: string): Promise<void> {
  const edges = (part: Locator) =>
    part.evaluate((element) => {
      const { top, bottom, right } = element.getBoundingClientRect()
      return { top, bottom, right: Math.round(right) }
    })
  const failedBubble = await edges(bubble(page, failed).locator('.inbox-bubble'))
  const sentBubble = await edges(bubble(page, sent).last().locator('.inbox-bubble'))
  const note = await edges(bubble(page, failed).locator('.inbox-unsent'))
  const retry = await edges(bubble(page, failed).getByRole('button', { name: 'Retry' }))
  assert.ok(note.top >= failedBubble.bottom, 'the reason is below the bubble')
  assert.ok(retry.top > failedBubble.bottom, 'the button is below the bubble')
  assert.deepEqual(
    [failedBubble.right, note.right, retry.right],
    [sentBubble.right, sentBubble.right, sentBubble.right],
  )
}

test('an event during the first load of the inbox is shown', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/contacts')
  const notified = page.evaluate<unknown>(
    "new Promise((notified) => { const line = new EventSource('/app/api/stream'); line.onerror = notified; line.addEventListener('ready', () => { window.isReady = true }); line.addEventListener('conversations', notified) })",
  )
  await until('the stream', () => page.evaluate<boolean>('window.isReady === true'))
  // The response is held until the customer has written and the page received the event.
  const held = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  await page.route(/app\/api\/conversations\?/, async (route) => {
    const answer = await route.fetch()
    asked.resolve()
    await held.promise
    await route.fulfill({ response: answer })
  })
  await page.getByRole('link', { name: /^Inbox/ }).click()
  await asked.promise
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Just now' })
  await notified
  held.resolve()
  await rowOf(page, 'Ann Porter').getByText('Just now').waitFor()
  await page.unrouteAll({ behavior: 'wait' })

  // A hidden tab counts what is new, loads nothing else, and is up to date when it is visible again.
  const setHidden = (isHidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
    )
  await setHidden(true)
  let listCount = 0
  page.on('request', (request) => {
    if (/app\/api\/conversations\?/.test(request.url())) listCount++
  })
  await provider.writes({ from: ben, name: 'Ben Carter', text: 'Unseen so far' })
  await until('the count', async () => (await page.title()).startsWith('(2)'))
  assert.equal(listCount, 0)
  await setHidden(false)
  await rowOf(page, 'Ben Carter').getByText('Unseen so far').waitFor()
})

test('a conversation is found, opened, answered, assigned and closed by keyboard', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t)
  await provider.writes({ from: ben, name: 'Ben Carter', text: 'First' })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Second' })
  await rowOf(page, 'Ann Porter').waitFor()
  await rowOf(page, 'Ben Carter').waitFor()

  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Ben Carter' }).waitFor()
  await box(page).waitFor()
  await page.keyboard.press('r')
  await page.locator('textarea:focus').waitFor()
  await page.keyboard.type('Hello Ben')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('Welcome')
  await page.keyboard.press('Enter')
  await isRead(page, 'Hello Ben')
  assert.equal((await provider.sent(ben))[0]?.body.text.body, 'Hello Ben\nWelcome')

  await page.keyboard.press('Escape')
  await page.keyboard.press('a')
  await page.getByRole('button', { name: /^Assigned to: (?!Unassigned)/ }).waitFor()
  // Closing continues with the next conversation.
  await page.keyboard.press('e')
  await page.getByRole('heading', { name: 'Ann Porter' }).waitFor()
  await rowOf(page, 'Ben Carter').waitFor({ state: 'detached' })
  await page.keyboard.press('u')
  await page.getByRole('heading', { name: 'No conversation selected' }).waitFor()

  await sidebar(page).getByRole('button', { name: /^Mine/ }).click()
  await page.getByRole('button', { name: 'Closed', exact: true }).click()
  await rowOf(page, 'Ben Carter').waitFor()
  assert.equal(new URL(page.url()).search, '?assigned=me&status=closed')
  await page.getByRole('button', { name: /^Unread/ }).click()
  await page.getByText('No conversations match these filters.').waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Show all conversations' }).click()
  await rowOf(page, 'Ann Porter').waitFor()
  await provider.writes({ from: ben, text: 'Once more' })
  await rowOf(page, 'Ben Carter').getByText('Once more').waitFor()
  await page.getByRole('region', { name: 'Conversations' }).getByRole('button', { name: 'Open' }).click()
  const first = page.locator('[data-row]').first()
  await until('who wrote last, first', async () => /Ben Carter/.test((await first.textContent()) ?? ''))
})

test('a status change can be undone, and an unsent message survives a reload', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t)
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Is it *open* _today_? https://example.com/_x_' })
  await rowOf(page, 'Ann Porter').click()
  await page.locator('.inbox-text strong', { hasText: 'open' }).waitFor()
  await page.getByRole('link', { name: 'https://example.com/_x_', exact: true }).waitFor()
  await page.keyboard.press('e')
  await page.getByRole('button', { name: 'Status: Closed' }).waitFor()
  const line = page.getByText('You closed the conversation')
  await line.waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('button', { name: 'Status: Open' }).waitFor()
  // A slip leaves no lines in the thread.
  await line.waitFor({ state: 'detached' })
  assert.equal(await page.getByText('You reopened the conversation').count(), 0)
  await rowOf(page, 'Ann Porter').waitFor()

  const isSend = /\/app\/api\/conversations\/[\w-]+\/messages$/
  await page.route(isSend, (route) => (route.request().method() === 'POST' ? route.abort() : route.fallback()))
  await box(page).fill('Yes, until five')
  await page.keyboard.press('Enter')
  await page.getByText('Not sent.').waitFor()
  page.on('dialog', (dialog) => void dialog.accept())
  await page.reload()
  await page.getByText('Not sent.').waitFor()
  await page.unrouteAll({ behavior: 'wait' })
  await page.getByRole('button', { name: 'Retry' }).click()
  await isRead(page, 'Yes, until five')
  assert.equal((await provider.sent(ann)).length, 1)
})

const names = (page: Page) => page.locator('[data-row] .inbox-row-name').allTextContents()

test('a link to a conversation shows the whole list, and later arrivals enter it, or wait while the pointer is over it', {
  skip,
}, async (t) => {
  const { page, provider, api } = await openDashboard(t, '/overview')
  for (const [from, name] of [
    [ben, 'Ben Carter'],
    [ann, 'Ann Porter'],
  ] as const)
    await provider.writes({ from, name, text: 'Hello' })
  const [, { id }] = (await api.get('/conversations')).body.data
  await page.goto(`/inbox/${id}`)
  await page.getByRole('heading', { name: 'Ben Carter' }).waitFor()
  await until('both rows', async () => (await names(page)).join() === 'Ann Porter,Ben Carter')
  assert.equal(await page.getByRole('button', { name: / new$/ }).count(), 0)
  // The open conversation stays open and marked.
  await provider.writes({ from: '+14155550102', name: 'Cleo Dane', text: 'Hello' })
  await until('the new row', async () => (await names(page)).join() === 'Cleo Dane,Ann Porter,Ben Carter')
  await rowOf(page, 'Ben Carter').and(page.locator('[aria-current]')).waitFor()
  await page.getByRole('heading', { name: 'Ben Carter' }).waitFor()
  assert.equal(await page.getByRole('button', { name: / new$/ }).count(), 0)
  // The row with the focus keeps it when it moves.
  await rowOf(page, 'Ben Carter').focus()
  await provider.writes({ from: ben, text: 'And?' })
  await provider.writes({ from: ann, text: 'And?' })
  await until('the new order', async () => (await names(page)).join() === 'Ann Porter,Ben Carter,Cleo Dane')
  await rowOf(page, 'Ben Carter').and(page.locator(':focus')).waitFor()
  // The row under the pointer does not move, and neither does a list in which a row is chosen by keys.
  await rowOf(page, 'Cleo Dane').hover()
  await provider.writes({ from: '+14155550103', name: 'Dora Eck', text: 'Hello' })
  await page.getByRole('button', { name: '1 new', exact: true }).waitFor()
  await page.mouse.move(0, 0)
  await rowOf(page, 'Cleo Dane').focus()
  await provider.writes({ from: '+14155550104', name: 'Edda Fox', text: 'Hello' })
  await page.getByRole('button', { name: '2 new', exact: true }).waitFor()
  assert.deepEqual(await names(page), ['Ann Porter', 'Ben Carter', 'Cleo Dane'])
  await page.getByRole('textbox', { name: 'Reply', exact: true }).focus()
  await provider.writes({ from: '+14155550105', name: 'Finn Gray', text: 'Hello' })
  const all = 'Finn Gray,Edda Fox,Dora Eck,Ann Porter,Ben Carter,Cleo Dane'
  await until('all rows', async () => (await names(page)).join() === all)
})

test('the order stays still while a member works, and new conversations wait behind a button', { skip }, async (t) => {
  const { page, provider, window, member } = await openDashboard(t)
  await provider.writes({ from: ben, name: 'Ben Carter', text: 'First' })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Second' })
  await rowOf(page, 'Ann Porter').waitFor()
  await rowOf(page, 'Ben Carter').click()
  await answer(page, 'Hello Ben')
  await isRead(page, 'Hello Ben')
  assert.deepEqual(await names(page), ['Ann Porter', 'Ben Carter'], 'an own reply moves nothing')
  await provider.writes({ from: '+14155550102', name: 'Cleo Dane', text: 'Third' })
  await page.getByRole('button', { name: '1 new', exact: true }).waitFor()
  await provider.writes({ from: ann, text: 'Fourth' })
  await page.getByRole('button', { name: '2 new', exact: true }).waitFor()
  await rowOf(page, 'Ann Porter').getByText('Fourth').waitFor()
  assert.deepEqual(await names(page), ['Ann Porter', 'Ben Carter'])
  await page.getByRole('button', { name: /^Open 3/ }).waitFor()
  // When the pointer leaves the list for a dialog, the next change applies the new order.
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.getByRole('dialog').getByRole('searchbox').fill('cleo')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Cleo Dane/ })
    .click()
  await page.getByRole('heading', { name: 'Cleo Dane' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('.')
  await until('the new order', async () => (await names(page)).join() === 'Ann Porter,Cleo Dane,Ben Carter')
  assert.equal(await page.getByRole('button', { name: / new$/ }).count(), 0)

  // A chosen order applies at once, also while a conversation is open.
  await page.getByRole('button', { name: /^Sort by/ }).click()
  await page.getByRole('menuitemradio', { name: 'Newest', checked: true }).locator('.icon').waitFor()
  assert.equal(await page.getByRole('menu').locator('.icon').count(), 1, 'a check mark at the current order only')
  await page.getByRole('menuitemradio', { name: 'Oldest' }).click()
  await until('the oldest first', async () => (await names(page)).join() === 'Ben Carter,Cleo Dane,Ann Porter')
  // The longest wait is first, and a view with this order is shared with another member.
  await page.getByRole('button', { name: /^Sort by/ }).click()
  await page.getByRole('menuitemradio', { name: 'Longest wait' }).click()
  await until('the waiting order', async () => (await names(page)).join() === 'Ann Porter,Cleo Dane,Ben Carter')
  await page.keyboard.press('f')
  const dialog = page.getByRole('dialog')
  await dialog.locator('summary').getByText('Channel', { exact: true }).click()
  const group = dialog.getByRole('group', { name: 'Channel' })
  await group.getByRole('checkbox').first().check()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Filters: 1 filter' }).waitFor()
  await page.keyboard.press('v')
  await dialog.getByRole('button', { name: 'Save view', disabled: true }).waitFor()
  await dialog.getByLabel('Name').fill('Messaging, longest wait')
  await dialog.getByLabel('Share with all members').check()
  await dialog.getByRole('button', { name: 'Save view' }).click()
  await dialog.getByRole('button', { name: /^Messaging, longest wait/ }).waitFor()
  const other = await window({ as: await member('agent') })
  await other.goto('/inbox')
  await rowOf(other, 'Ann Porter').waitFor()
  await other.keyboard.press('v')
  await other
    .getByRole('dialog')
    .getByRole('button', { name: /^Messaging, longest wait/ })
    .click()
  await until('the filters', async () => new URL(other.url()).search === '?sort=waiting&channel=msgapp')
})

test('an undo brings a row back, also when a list from before it arrives later', { skip }, async (t) => {
  const { provider, window } = await openDashboard(t, '/sign-in')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await provider.writes({ from: '+14155550101', name: 'Ben Carter', text: 'Hello' })
  const page = await window()
  // Without the stream, which would take the closed row out of the list before the undo.
  await page.route('**/app/api/stream', () => {})
  await page.goto('/inbox')
  await until('both rows', async () => (await names(page)).join() === 'Ben Carter,Ann Porter')
  const read = Promise.withResolvers<void>()
  const arrive = Promise.withResolvers<void>()
  const store = Promise.withResolvers<void>()
  const isList = (url: string) => url.includes('/app/api/conversations?')
  await page.route(
    (url) => isList(url.href),
    async (route) => {
      const answer = await route.fetch()
      read.resolve()
      await arrive.promise
      // The page may have canceled the request.
      await route.fulfill({ response: answer }).catch(() => {})
    },
  )
  const isListed = (request: { url(): string }) => isList(request.url())
  const isOver = Promise.race([
    page.waitForEvent('requestfinished', isListed),
    page.waitForEvent('requestfailed', isListed),
  ])
  await page.keyboard.press('j')
  await page.keyboard.press('e')
  await read.promise
  assert.deepEqual(await names(page), ['Ann Porter'])
  await page.route('**/app/api/conversations/*', async (route) => {
    if (route.request().method() === 'PATCH') await store.promise
    await route.continue()
  })

  await page.keyboard.press('z')
  await rowOf(page, 'Ben Carter').waitFor()
  arrive.resolve()
  await isOver
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

  assert.deepEqual(await names(page), ['Ben Carter', 'Ann Porter'])
  store.resolve()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
})

test('conversations are selected, labeled, snoozed, closed and restored by keyboard', { skip }, async (t) => {
  const { page, provider, browserOf } = await openFlow(t)
  const people = ['Ann Porter', 'Ben Carter', 'Cleo Dane', 'Dan Early']
  for (const [i, name] of people.toReversed().entries()) {
    await provider.writes({ from: `+1415555020${i}`, name, text: `Hello from ${name}` })
  }
  await until('all rows', async () => (await names(page)).join() === people.join())
  const states = async () => {
    const { data } = (await browserOf()).body
    const rows = data.map(({ contact, status, labels, snoozed_until }: Json) => [
      contact.name,
      { status, labels: labels.map(({ name }: Json) => name), isSnoozed: snoozed_until !== null },
    ])
    return Object.fromEntries(rows)
  }
  const becomes = (what: string, check: (all: Json) => boolean) => until(what, async () => check(await states()))

  // A range of three: labeled, then closed, then all restored.
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Shift+X')
  await page.getByRole('toolbar').getByText('3 selected').waitFor()
  await page.keyboard.press('l')
  await page.getByRole('dialog').getByRole('searchbox').fill('Refund')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByRole('checkbox', { name: 'Refund' }).waitFor()
  await page.keyboard.press('Escape')
  await becomes('three labels', (all) => people.slice(0, 3).every((name) => all[name].labels.join() === 'Refund'))
  await page.keyboard.press('e')
  await until('one row', async () => (await names(page)).join() === 'Dan Early')
  await becomes('three closed', (all) => people.slice(0, 3).every((name) => all[name].status === 'closed'))
  await page.getByText('3 conversations closed').waitFor()
  await assertUncovered(page)
  const toast = await page.locator('.toast').last().boundingBox()
  assert.ok(toast && toast.width >= 360 && toast.width <= 420 && toast.height < 64, JSON.stringify(toast))
  await page.keyboard.press('z')
  await becomes('all open', (all) => people.every((name) => all[name].status === 'open'))
  await until('all rows again', async () => (await names(page)).join() === people.join())

  // Next unread, snooze, next longest wait, send and close.
  await page.keyboard.press('o')
  await page.getByRole('heading', { name: 'Ann Porter' }).waitFor()
  await page.keyboard.press('s')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^(Later today|Tomorrow)/ })
    .first()
    .waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Ben Carter' }).waitFor()
  await rowOf(page, 'Ben Carter').and(page.locator(':focus')).waitFor()
  await becomes('a snoozed one', (all) => all['Ann Porter'].isSnoozed && all['Ann Porter'].status === 'pending')
  await page.keyboard.press('w')
  await page.getByRole('heading', { name: 'Dan Early' }).waitFor()
  await box(page).fill('Done!')
  await box(page).press('Control+Enter')
  await page.getByRole('heading', { name: 'Cleo Dane' }).waitFor()
  await until('the focus in the next reply', () =>
    page.evaluate<boolean>("document.activeElement?.tagName === 'TEXTAREA'"),
  )
  await becomes('a closed one', (all) => all['Dan Early'].status === 'closed')
  await page.getByRole('button', { name: 'Undo' }).last().click()
  await until('the reply', async () => (await provider.sent('+14155550200')).length === 1)
  await page.getByRole('heading', { name: 'Dan Early' }).waitFor()
  await becomes('it open again', (all) => all['Dan Early'].status === 'open')

  // A conversation is not closed with a reply that the channel refused.
  await provider.fault({ to: '+14155550200', mode: 'reject', code: 131026, count: 1 })
  await box(page).fill('Refused')
  await box(page).press('Control+Enter')
  await page.getByText('The reply to Dan Early was not sent. The conversation is open again.').waitFor()
  await becomes('it open', (all) => all['Dan Early'].status === 'open')

  // An unread conversation behind "1 new" appears in the list when it opens. When it closes, the list continues with the next row.
  await rowOf(page, 'Ben Carter').hover()
  await provider.writes({ from: '+14155550209', name: 'Eve Fox', text: 'Hello' })
  await page.getByRole('button', { name: '1 new', exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('o')
  await page.getByRole('heading', { name: 'Eve Fox' }).waitFor()
  await rowOf(page, 'Eve Fox').and(page.locator(':focus')).waitFor()
  await page.keyboard.press('e')
  await page.getByRole('heading', { name: 'Ben Carter' }).waitFor()
  await becomes('it closed', (all) => all['Eve Fox'].status === 'closed')
  await rowOf(page, 'Ben Carter').and(page.locator(':focus')).waitFor()

  // Changes are stored in the order in which they were made, also when the service is slow to store the first one.
  await page.evaluate(`(() => {
    const send = window.fetch
    window.stored = []
    window.fetch = async (...request) => {
      if (request[1]?.method === 'PATCH') {
        window.stored.push(JSON.parse(request[1].body).status)
        if (window.stored.length === 1) await new Promise((resolve) => setTimeout(resolve, 300))
      }
      return send(...request)
    }
  })()`)
  for (const key of ['e', 'z', 'e']) await page.keyboard.press(key)
  await page.getByRole('heading', { name: 'Cleo Dane' }).waitFor()
  const stored = () => page.evaluate<string[]>('window.stored')
  await until('three changes', async () => (await stored()).length === 3)
  assert.deepEqual(await stored(), ['closed', 'open', 'closed'])
  await becomes('Ben closed', (all) => all['Ben Carter'].status === 'closed')

  // After the last row, the conversations that waited behind "1 new".
  await provider.writes({ from: '+14155550209', text: 'One more thing' })
  await page.getByRole('button', { name: '1 new', exact: true }).waitFor()
  for (const name of ['Dan Early', 'Eve Fox']) {
    await page.keyboard.press('e')
    await page.getByRole('heading', { name }).waitFor()
  }

  // The next unread conversation matches the filters of the list.
  await provider.writes({ from: '+14155550208', name: 'Flo Gray', text: 'Hello' })
  await page.getByRole('button', { name: '1 new', exact: true }).waitFor()
  await sidebar(page).getByRole('button', { name: /^Mine/ }).click()
  await page.getByText('No conversations match these filters.').waitFor()
  await page.keyboard.press('o')
  await page.getByText('No unread conversations.').waitFor()

  await page.context().setOffline(true)
  await page.getByText('Connection lost. Reconnecting…').waitFor()
  await page.context().setOffline(false)
  await page.getByText('Connection lost. Reconnecting…').waitFor({ state: 'detached' })
})

/** A dashboard, and its conversations as the service has them. */
async function openFlow(t: TestContext) {
  const dashboard = await openDashboard(t)
  const browser = createBrowser(dashboard.url, dashboard.url)
  await browser.signIn(dashboard.owner)
  return { ...dashboard, browserOf: () => browser.call('GET', '/conversations') }
}

/** Fails when a toast covers a row of the list, the composer or a button of the page. */
async function assertUncovered(page: Page): Promise<void> {
  const covered = await page.evaluate<string[]>(`(() => {
    const toasts = [...document.querySelectorAll('.toast')].map((one) => one.getBoundingClientRect())
    const parts = [...document.querySelectorAll('main :is(a, button, input, textarea, [data-row])')]
    const isOver = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
    return parts.filter((part) => toasts.some((toast) => isOver(toast, part.getBoundingClientRect()))).map((part) => part.outerHTML.slice(0, 80))
  })()`)
  assert.deepEqual(covered, [])
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FAAhKDveksOjmAAAAAElFTkSuQmCC'

test('an image is sent with its caption, and a template when the window is closed', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'What does it look like?' })
  await rowOf(page, 'Ann Porter').click()
  const file = { name: 'table.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') }
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByRole('button', { name: 'Remove table.png' }).waitFor()
  await answer(page, 'The walnut table')
  await isRead(page, 'The walnut table')
  const [image] = await provider.sent(ann)
  assert.equal(image?.body.image.caption, 'The walnut table')
  assert.equal((await fetch(image?.body.image.link)).headers.get('content-type'), 'image/png')
  await page.getByRole('button', { name: 'View full size' }).click()
  await page.getByRole('dialog').getByRole('img').waitFor()
  await page.keyboard.press('Escape')

  const long = `${'quarterly_statement_'.repeat(4)}.pdf`
  const document = { name: long, mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4') }
  await page.locator('input[type=file]').setInputFiles(document)
  await page.getByRole('button', { name: `Remove ${long}` }).waitFor()
  await box(page).press('Enter')
  const bubble = page.locator('.inbox-bubble', { hasText: long })
  for (const width of [1440, 1000, 390]) {
    await resize(page, width, 'light')
    const [inner, outer] = [await bubble.boundingBox(), await page.locator('.inbox-messages').boundingBox()]
    assert.ok(inner && outer && inner.x >= outer.x, `the file begins ${inner?.x} pixels from the left at ${width}`)
  }
  await resize(page, 1280, 'light')

  const timestamp = new Date(Date.now() - 48 * 3_600_000).toISOString()
  await provider.writes({ from: ben, name: 'Ben Carter', text: 'Long ago', timestamp })
  await rowOf(page, 'Ben Carter').click()
  await page.getByText('The 24-hour reply window is closed').waitFor()
  assert.equal(await box(page).count(), 0)
  // A file alone is a draft, too, even if its upload ends after the member has left.
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  await page.route('**/app/api/uploads*', (route) => left.then(() => route.continue()))
  await rowOf(page, 'Ann Porter').click()
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByRole('button', { name: 'Remove table.png' }).waitFor()
  await rowOf(page, 'Ben Carter').click()
  await page.getByText('The 24-hour reply window is closed').waitFor()
  leave()
  await rowOf(page, 'Ann Porter').getByText('Draft', { exact: true }).waitFor()
  await rowOf(page, 'Ann Porter').getByText('table.png', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Choose template' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Sync templates' }).click()
  await dialog.getByRole('searchbox').fill('order code')
  await dialog.getByRole('button', { name: 'order_code' }).click()
  await dialog.getByRole('button', { name: 'Send template' }).click()
  await dialog.getByText('Enter a value.').first().waitFor()
  await dialog.getByLabel('Header text').fill('Ben')
  await dialog.getByLabel('Value {{1}}').fill('#4711')
  await dialog.getByLabel(/^Code for/).fill('SPRING25')
  await dialog.getByText('Show this code when you collect your order #4711.').waitFor()
  // The values stay while another template is shown, and are not discarded without a question.
  await dialog.getByRole('searchbox').fill('hello')
  await dialog.getByRole('button', { name: 'hello_world' }).click()
  await dialog.getByRole('searchbox').fill('order code')
  await dialog.getByRole('button', { name: 'order_code' }).click()
  assert.equal(await dialog.getByLabel('Header text').inputValue(), 'Ben')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog', { name: 'Discard changes?' }).getByRole('button', { name: 'Keep editing' }).click()
  await dialog.getByText('Show this code when you collect your order #4711.').waitFor()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Send template' }).click()
  await isRead(page, 'your order #4711')
  const [template] = await provider.sent(ben)
  assert.equal(template?.body.template.name, 'order_code')
  assert.match(JSON.stringify(template?.body.template.components), /Ben.*#4711.*SPRING25/)

  const found = page.getByRole('link').filter({ has: page.locator('mark', { hasText: 'walnut' }) })
  await until('what was said a moment ago to be found', async () => {
    await page.getByRole('searchbox').fill('')
    await page.getByRole('searchbox').fill('waln')
    return found.waitFor({ timeout: 2_000 }).then(
      () => true,
      () => false,
    )
  })
  // The message is highlighted for some seconds only.
  const highlighted = page.locator('[data-highlighted]', { hasText: 'The walnut table' }).waitFor()
  await found.click()
  await highlighted
})

test('orders, form answers, calls, ads and shared posts can be read in the thread', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox')
  const names = ['order', 'form-reply', 'text-from-ad', 'location', 'contacts', 'in-a-group', 'media-failed']
  const captured = names.map((name) => readMessages(`msgapp/${name}`))
  const contacts = [{ wa_id: '5215512345678', profile: { name: 'Ana Ruiz' } }]
  const post = (field: string, value: Json) =>
    provider.callback({ entry: [{ changes: [{ field, value: { contacts, ...value } }] }] })
  assert.equal(await post('messages', { messages: captured.flat() }), 200)
  assert.equal(await post('calls', { calls: [{ id: 'wacid.1', from: '5215512345678' }] }), 200)
  await rowOf(page, 'Ana Ruiz').click()
  const log = page.getByRole('log')
  await log.getByText('Order, 1 item').waitFor()
  await log.getByRole('row', { name: 'sku 2 × $30.00 $60.00' }).waitFor()
  await log.getByRole('row', { name: 'Total $60.00' }).waitFor()
  await log.getByRole('row', { name: 'Size L' }).waitFor()
  assert.equal(await log.getByText('flow_token').count(), 0)
  await log.getByRole('link', { name: 'Came from an ad: Chat with us' }).waitFor()
  await log.getByRole('link', { name: 'View on map' }).waitFor()
  await log.getByText('Luis Ruiz').waitFor()
  await log.getByText('Sent in a group').waitFor()
  await log.getByText('hi all').waitFor()
  await log.getByText('Failed to download the media from the sender.').waitFor()
  await log.getByText('Phone call').waitFor()
  await rowOf(page, 'Ana Ruiz').getByText('Phone call').waitFor()
  await assertAccessible(page)

  const items = ['reel', 'story-mention', 'story-reply', 'from-ad'].flatMap((name) => readMessages(`social/${name}`))
  const sender = { id: '90000001' }
  const messaging = items.map((message, i) => ({ sender, message: { ...message, mid: `mid.${i}` } }))
  assert.equal(await provider.callback({ entry: [{ messaging }] }, 'social'), 200)
  // The simulator knows no profile of this person.
  await showNew(page, 1)
  await rowOf(page, 'Visitor').click()
  await log.getByText('Ten cafés').waitFor()
  await log.getByText('Mentioned you in their story').waitFor()
  await log.getByRole('link', { name: 'Replied to your story' }).waitFor()
  await log.getByText('Came from an ad: Summer').waitFor()
})

/** The messages of a captured callback. */
function readMessages(name: string): Json[] {
  const [entry] = (fixture(name) as Json).entry
  return entry.messaging?.map(({ message }: Json) => message) ?? entry.changes[0].value.messages
}

/** Many messages of one customer in one callback. */
const writesMuch = (provider: Provider, count: number) =>
  provider.callback({
    object: 'whatsapp_business_account',
    entry: [
      {
        changes: [
          {
            field: 'messages',
            value: {
              messaging_product: 'whatsapp',
              contacts: [{ wa_id: ann.slice(1), profile: { name: 'Ann Porter' } }],
              messages: Array.from({ length: count }, (_, place) => ({
                from: ann.slice(1),
                id: `wamid.many.${place}`,
                timestamp: String(Math.floor(Date.now() / 1000)),
                type: 'text',
                text: { body: `Message number ${place + 1}.` },
              })),
            },
          },
        ],
      },
    ],
  })

test('a long thread keeps its scroll position; a contact edited beside it updates for all members', {
  skip,
}, async (t) => {
  const { api, page, provider, window } = await openDashboard(t, '/inbox', { width: 1440 })
  await writesMuch(provider, 70)
  await rowOf(page, 'Ann Porter').click()
  const log = page.getByRole('log')
  await said(page, 'Message number 70.').waitFor()
  assert.equal(await said(page, 'Message number 1.').count(), 0)
  // The rest of the first page, which follows the first screen.
  await said(page, 'Message number 21.').waitFor({ state: 'attached' })
  await log.evaluate((element) => element.scrollTo(0, 0))
  await said(page, 'Message number 1.').waitFor({ state: 'attached' })
  assert.ok((await log.evaluate((element) => element.scrollTop)) > 100, 'it stands where it stood')
  await provider.writes({ from: ann, type: 'image', media: { caption: 'And one more.' } })
  await page.getByRole('button', { name: 'New message' }).click()
  await page.getByRole('button', { name: 'View full size' }).waitFor()

  const panel = page.getByRole('complementary', { name: 'Contact' })
  await panel.getByRole('button', { name: 'Edit' }).click()
  await panel.getByLabel('Company').fill('Porter & Sons')
  await panel.getByRole('button', { name: 'Save' }).click()
  await panel.getByText('Porter & Sons').waitFor()
  // Sections without content are folded.
  await panel.getByText('Tags', { exact: true }).click()
  await panel.getByRole('combobox', { name: 'Add tag' }).fill('vip')
  await panel.getByRole('combobox', { name: 'Add tag' }).press('Enter')
  await panel.getByRole('button', { name: 'Remove tag vip' }).waitFor()
  for (const tag of ['new', 'late']) {
    await panel.getByRole('combobox', { name: 'Add tag' }).fill(tag)
    await panel.getByRole('combobox', { name: 'Add tag' }).press('Enter')
    await panel.getByRole('button', { name: `Remove tag ${tag}` }).waitFor()
  }
  // Two at once: the second does not bring the first back.
  await panel.getByRole('button', { name: 'Remove tag new' }).click()
  await panel.getByRole('button', { name: 'Remove tag late' }).click()
  await until('one tag to be left', async () => {
    const { tags } = (await api.get('/contacts?search=Porter')).body.data[0]
    return tags.length === 1 && tags[0].name === 'vip'
  })
  await panel.getByRole('switch', { name: /Receives broadcasts/ }).click()
  await panel.getByText(/Opted out by a member/).waitFor()
  const dark = await window({ width: 1440, dark: true })
  await dark.goto(page.url())
  await dark.getByRole('complementary').getByText('Porter & Sons').waitFor()
  await dark.getByRole('button', { name: 'View full size' }).waitFor()
  await assertAccessible(dark)
  await page.getByRole('button', { name: 'Hide contact' }).click()
  await panel.waitFor({ state: 'detached' })
})

test('on a phone the list, the thread and the contact are separate screens', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox', { width: 390, height: 844 })
  await provider.writes({ from: ann, name: 'Ann Porter', text: `A long word: ${'x'.repeat(200)}` })
  await rowOf(page, 'Ann Porter').waitFor()
  await assertFits(page)
  await rowOf(page, 'Ann Porter').click()
  await box(page).waitFor()
  assert.ok(await rowOf(page, 'Ann Porter').isHidden())
  await answer(page, 'On my way')
  await isRead(page, 'On my way')
  await page.getByRole('button', { name: /^Assigned to/ }).click()
  await page.getByRole('menuitemradio', { name: /\(you\)/ }).click()
  await page.locator('.toast').waitFor()
  await assertUncovered(page)
  await assertFits(page)
  // Snooze and close are icons there, and no button is cut.
  for (const name of [/^Assigned to: (?!Unassigned)/, 'Snooze', 'Close', /^Status/, 'Labels', 'Show contact'])
    await page.getByRole('button', { name, exact: true }).and(page.locator('.inbox-thread-head *')).waitFor()
  const cut = await page.evaluate<string[]>(`[...document.querySelectorAll('.inbox-thread-head button')]
    .filter((one) => one.getBoundingClientRect().right > innerWidth || one.getBoundingClientRect().width > 60)
    .map((one) => one.outerHTML.slice(0, 80))`)
  assert.deepEqual(cut, [])
  await page.getByRole('button', { name: 'Show contact' }).click()
  await page.getByRole('dialog', { name: 'Contact' }).getByText(ann).waitFor()
  await assertFits(page)
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Close contact' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  // Back closes the contact only.
  await page.getByRole('button', { name: 'Show contact' }).click()
  await page.getByRole('dialog', { name: 'Contact' }).waitFor()
  await page.goBack()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Show contact' }).and(page.locator(':focus')).waitFor()
  assert.ok(await rowOf(page, 'Ann Porter').isHidden())
  await page.goBack()
  await rowOf(page, 'Ann Porter').waitFor()
  await rowOf(page, 'Ann Porter').click()
  await box(page).waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.getByRole('button', { name: 'Back to list' }).click()
  await rowOf(page, 'Ann Porter').waitFor()
})
