/** Writing in the inbox in a real browser: drafts, unsent messages, reactions, canned replies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, fakeMicrophone, openDashboard, skip, visit } from './dashboard.ts'
import { createBrowser, until } from './support.ts'

const ann = '+14155550100'
const ben = '+14155550101'

const rowOf = (page: Page, name: string) =>
  page.getByRole('list', { name: 'Conversations' }).getByRole('link', { name })
const bubble = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })
const box = (page: Page) => page.getByRole('textbox', { name: 'Reply', exact: true })
const isRead = (page: Page, text: string) => bubble(page, text).last().getByText('Read', { exact: true }).waitFor()

test('a draft follows the member to another browser, live, and never replaces text that is typed', {
  skip,
}, async (t) => {
  const { page, provider, window } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await provider.writes({ from: ben, name: 'Ben Carter', text: 'Hi' })
  await rowOf(page, 'Ben Carter').waitFor()
  await rowOf(page, 'Ann Porter').click()
  await box(page).fill('Dear Ann')
  const other = await window()
  await other.goto('/inbox')
  await rowOf(other, 'Ann Porter').getByText('Draft', { exact: true }).waitFor()
  await rowOf(other, 'Ann Porter').getByText('Dear Ann').waitFor()
  await rowOf(other, 'Ann Porter').click()
  await until('the draft', async () => (await box(other).inputValue()) === 'Dear Ann')
  await assertAccessible(other)

  // While a save waits for its answer, the other browser writes, and the text that is typed here stays.
  const held = Promise.withResolvers<void>()
  await page.route(/\/draft$/, async (route) => {
    await held.promise
    await route.fallback()
  })
  await box(page).press('End')
  await box(page).pressSequentially(', thanks')
  await box(other).fill('Something else')
  await until('the other draft', async () => {
    const drafts = await page.evaluate<{ data: { text: string }[] }>("fetch('/app/api/drafts').then((r) => r.json())")
    return drafts.data[0]?.text === 'Something else'
  })
  await box(page).pressSequentially(' for writing')
  assert.equal(await box(page).inputValue(), 'Dear Ann, thanks for writing')
  held.resolve()
  await until('the last text', async () => (await box(other).inputValue()) === 'Dear Ann, thanks for writing')
  await page.unroute(/\/draft$/)

  // A reload keeps it, and sending removes it in both browsers.
  await page.reload()
  await until('the draft after a reload', async () => (await box(page).inputValue()) === 'Dear Ann, thanks for writing')
  await box(page).press('Enter')
  await isRead(page, 'Dear Ann, thanks for writing')
  await until('an empty box', async () => (await box(other).inputValue()) === '')
  await rowOf(other, 'Ben Carter').click()
  assert.equal(await rowOf(other, 'Ann Porter').getByText('Draft', { exact: true }).count(), 0)
})

test('the save of a box that was emptied does not clear what is typed after it', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await rowOf(page, 'Ann Porter').click()
  await box(page).fill('Dear Ann')
  const isSaved = (text: string) =>
    until(`the draft “${text}”`, async () => {
      const drafts = await page.evaluate<{ data: { text: string }[] }>("fetch('/app/api/drafts').then((r) => r.json())")
      return drafts.data[0]?.text === text
    })
  await isSaved('Dear Ann')
  const saved: string[] = []
  const [isHeld, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await page.route(/\/draft$/, async (route) => {
    saved.push(route.request().postDataJSON().text)
    isHeld.resolve()
    await held.promise
    await route.fallback()
  })
  await box(page).fill('')
  await isHeld.promise
  // The box is emptied once more while the first save waits for its answer.
  await box(page).fill('D')
  await box(page).fill('')
  const answered = page.waitForResponse(/\/draft$/)
  held.resolve()
  await (await answered).finished()
  await box(page).fill('Hello Ann')
  await isSaved('Hello Ann')
  assert.deepEqual(saved, ['', 'Hello Ann'])
  assert.equal(await box(page).inputValue(), 'Hello Ann')
})

test('a message that was not sent outlives its tab and is marked in the list', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await rowOf(page, 'Ann Porter').click()
  const isSend = /\/app\/api\/conversations\/[\w-]+\/messages$/
  await page.route(isSend, (route) => (route.request().method() === 'POST' ? route.abort() : route.fallback()))
  await box(page).fill('Until five')
  await box(page).press('Enter')
  await page.getByText('Not sent.').waitFor()
  const again = await page.context().newPage()
  await page.close()
  await again.goto('/inbox')
  await rowOf(again, 'Ann Porter').getByText('Not sent', { exact: true }).waitFor()
  await rowOf(again, 'Ann Porter').getByText('Until five').waitFor()
  await rowOf(again, 'Ann Porter').click()
  await again.getByRole('button', { name: 'Retry' }).click()
  await isRead(again, 'Until five')
  const mark = rowOf(again, 'Ann Porter').getByText('Not sent', { exact: true })
  await until('no mark', async () => (await mark.count()) === 0)
  assert.equal((await provider.sent(ann)).length, 1)
})

test('a reply without a connection says that it is sent later, and is sent then', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await rowOf(page, 'Ann Porter').click()
  await box(page).waitFor()
  await page.context().setOffline(true)
  await box(page).fill('Until five')
  await box(page).press('Enter')
  const waiting = page.getByText('Waiting for the connection. It is sent when you are online again.')
  await waiting.waitFor()
  assert.equal(await page.getByText('Not sent.').count(), 0)
  assert.equal(await page.getByRole('button', { name: 'Retry' }).count(), 0)
  // Nothing of it looks like a failure.
  assert.equal(await page.locator('.inbox-message:last-of-type .inbox-status-icon').last().isVisible(), false)
  await rowOf(page, 'Ann Porter').getByText('Sent later', { exact: true }).waitFor()
  await assertAccessible(page)
  // One that is discarded meanwhile is not sent.
  await box(page).fill('Or until six')
  await box(page).press('Enter')
  await until('both', async () => (await waiting.count()) === 2)
  await page.getByRole('button', { name: 'Discard' }).last().click()
  await page.context().setOffline(false)
  await isRead(page, 'Until five')
  assert.equal(await waiting.count(), 0)
  assert.equal((await provider.sent(ann)).length, 1)
})

test('a conversation opens with the reply or the note as it was left', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await provider.writes({ from: ben, name: 'Ben Carter', text: 'Hi' })
  await rowOf(page, 'Ben Carter').waitFor()
  const note = page.getByRole('combobox', { name: 'Note' })
  const leave = async () => {
    await rowOf(page, 'Ben Carter').click()
    await page.getByRole('heading', { name: 'Ben Carter' }).waitFor()
    await rowOf(page, 'Ann Porter').click()
    await page.getByRole('heading', { name: 'Ann Porter' }).waitFor()
  }
  await rowOf(page, 'Ann Porter').click()
  await page.getByText('Note', { exact: true }).click()
  await note.fill('She is a friend')
  await leave()
  await note.waitFor()
  await page.locator('.inbox-composer-head').getByText('Reply', { exact: true }).click()
  await box(page).fill('Dear Ann')
  await leave()
  await box(page).waitFor()
  assert.equal(await box(page).inputValue(), 'Dear Ann')
  assert.equal(await note.count(), 0)
  await page.getByText('Note', { exact: true }).click()
  assert.equal(await note.inputValue(), 'She is a friend')
  await page.reload()
  await note.waitFor()
})

test('with several conversations of a contact, the first one is focused and Enter opens it', { skip }, async (t) => {
  const { page, provider, api, addNumber } = await openDashboard(t, '/inbox')
  const sales = await addNumber('Sales')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello sales', connection_id: sales.id })
  await until('both', async () => (await api.get('/conversations')).body.data.length === 2)
  await page.reload()
  await rowOf(page, 'Ann Porter').first().waitFor()
  await page.keyboard.press('c')
  await page.keyboard.type('ann')
  await page.keyboard.press('Enter')
  const choices = page.getByRole('list', { name: 'Channels' }).getByRole('button')
  await choices.first().and(page.locator(':focus')).waitFor()
  await page.keyboard.press('ArrowDown')
  await choices.nth(1).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/inbox/*')
})

test('members and customers react to messages; reactions show on the bubble', { skip }, async (t) => {
  const { page, provider, window } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'It arrived, thank you!' })
  await rowOf(page, 'Ann Porter').click()
  await bubble(page, 'It arrived').hover()
  await bubble(page, 'It arrived').getByRole('button', { name: 'React' }).click()
  await page.getByRole('menuitem', { name: 'React with 🙏' }).click()
  const removal = bubble(page, 'It arrived').getByRole('button', { name: 'Remove reaction 🙏' })
  await removal.waitFor()
  await until('the reaction at the customer', async () => (await provider.sent(ann))[0]?.body.reaction?.emoji === '🙏')
  const other = await window()
  await other.goto(page.url())
  await bubble(other, 'It arrived').getByRole('button', { name: 'Remove reaction 🙏' }).waitFor()
  assert.equal(await other.getByRole('article').count(), 1)
  await removal.click()
  await until('no reaction', async () => (await removal.count()) === 0)
  await until('its removal at the customer', async () => (await provider.sent(ann))[1]?.body.reaction?.emoji === '')

  // A reaction that the channel refuses disappears, with the reason.
  await provider.fault({ to: ann, mode: 'reject', code: 131026, count: 1 })
  await bubble(page, 'It arrived').hover()
  await bubble(page, 'It arrived').getByRole('button', { name: 'React' }).click()
  await page.getByRole('menuitem', { name: 'React with 👍' }).click()
  await page.getByRole('status').filter({ hasText: '131026' }).waitFor()
  const left = bubble(page, 'It arrived').getByRole('button', { name: /^Remove reaction/ })
  await until('no reaction again', async () => (await left.count()) === 0)
})

test('a canned reply is saved in the settings and inserted with its variables and files', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/settings/replies')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'When are you open?' })
  await page.getByRole('button', { name: 'Add canned reply' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Shortcut').fill('hours')
  await dialog.getByLabel('Text').fill('Hi ')
  await dialog.getByRole('button', { name: 'Insert {{contact.first_name|there}}' }).click()
  await dialog.getByLabel('Text').press('End')
  await dialog.getByLabel('Text').pressSequentially(', until *five*.')
  const file = { name: 'map.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') }
  await dialog.locator('input[type=file]').setInputFiles(file)
  await dialog.getByRole('button', { name: 'Remove map.png' }).waitFor()
  await dialog.getByLabel('Who sees it').selectOption('All members')
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Add canned reply' }).click()
  await page.getByRole('heading', { name: 'Shared with all members' }).waitFor()
  await page.getByText('/hours').waitFor()

  await visit(page, '/inbox')
  await rowOf(page, 'Ann Porter').click()
  await box(page).press('/')
  await page.getByRole('option', { name: /^\/hours/ }).waitFor()
  await page.getByRole('option').getByText('Hi Ann, until').waitFor()
  await assertAccessible(page)
  await box(page).pressSequentially('hou')
  await box(page).press('Enter')
  await until('the text', async () => (await box(page).inputValue()) === 'Hi Ann, until *five*.')
  await page.getByRole('region', { name: 'Preview' }).locator('strong', { hasText: 'five' }).waitFor()
  await page.getByRole('button', { name: 'Remove map.png' }).waitFor()
  // Text and file survive a reload.
  await page.reload()
  await page.getByRole('button', { name: 'Remove map.png' }).waitFor()
  await until('the text again', async () => (await box(page).inputValue()) === 'Hi Ann, until *five*.')

  // Bold by key, then an emoji by search.
  await box(page).press('End')
  await box(page).pressSequentially(' Bye')
  for (let i = 0; i < 3; i++) await box(page).press('Shift+ArrowLeft')
  await box(page).press('Control+b')
  await box(page).press('End')
  await page.getByRole('button', { name: 'Insert emoji' }).click()
  await page.getByRole('combobox', { name: 'Search emoji' }).pressSequentially('waving hand')
  await page.getByRole('option', { name: 'waving hand' }).first().waitFor()
  await page.keyboard.press('Enter')
  await until('the emoji', async () => (await box(page).inputValue()) === 'Hi Ann, until *five*. *Bye*👋')
  await box(page).press('Enter')
  await isRead(page, 'Hi Ann, until five')
  assert.equal((await provider.sent(ann))[0]?.body.image.caption, 'Hi Ann, until *five*. *Bye*👋')
  await page.reload()
  await isRead(page, 'Hi Ann, until five')
  assert.equal(await page.getByRole('button', { name: 'Remove map.png' }).count(), 0)
  // The button opens the same list with a search field, and adds the reply to the text.
  await box(page).fill('PS: ')
  await page.getByRole('button', { name: 'Insert canned reply' }).click()
  const search = page.getByRole('combobox', { name: 'Search canned replies' })
  await search.pressSequentially('hou')
  await search.press('Enter')
  await until('both texts', async () => (await box(page).inputValue()) === 'PS: Hi Ann, until *five*.')
})

test('a canned reply is shared with a team in the settings', { skip }, async (t) => {
  const { page, url, owner } = await openDashboard(t)
  const browser = createBrowser(url, url)
  await browser.signIn(owner)
  await browser.ask('POST', '/teams', { name: 'Support' }, 201)
  // The window may have asked for the teams less than two seconds before: it keeps that answer.
  await page.goto('/settings/replies')
  await page.getByRole('button', { name: 'Add canned reply' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Shortcut').fill('refund')
  await dialog.getByLabel('Text').fill('Refunds take a day.')
  await dialog.getByLabel('Who sees it').selectOption('Team Support')
  await dialog.getByRole('button', { name: 'Add canned reply' }).click()
  await page.getByRole('heading', { name: 'Shared with the team Support' }).waitFor()
  await page.getByRole('button', { name: 'Edit /refund' }).click()
  await dialog.getByLabel('Who sees it').selectOption('All members')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Shared with all members' }).waitFor()
})

test('a conversation is started from the inbox and from a contact, with a template where it is needed', {
  skip,
}, async (t) => {
  const { page, provider, api } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await api.post('/contacts', { phone: ben, name: 'Ben Carter' })
  await rowOf(page, 'Ann Porter').waitFor()
  await page.keyboard.press('c')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('searchbox').fill('ann')
  await dialog.getByRole('button', { name: /^Ann Porter/ }).waitFor()
  await assertAccessible(page)
  await dialog.getByRole('searchbox').press('Enter')
  await box(page).waitFor()
  await page.getByRole('heading', { name: 'Ann Porter' }).waitFor()

  await visit(page, '/contacts')
  await page
    .getByRole('row', { name: /Ben Carter/ })
    .getByRole('button', { name: 'New conversation' })
    .click()
  await dialog.getByRole('button', { name: 'Sync templates' }).click()
  await dialog.getByRole('button', { name: /^hello_world/ }).click()
  await assertFits(page)
  await dialog.getByRole('button', { name: 'Send template' }).click()
  await page.waitForURL('**/inbox/*')
  await page.getByRole('heading', { name: 'Ben Carter' }).waitFor()
  await rowOf(page, 'Ben Carter').waitFor()
  assert.equal((await provider.sent(ben))[0]?.body.template.name, 'hello_world')
  // The inbox has a link with this name too.
  await page.goto('/contacts')
  await page.getByRole('link', { name: 'Ben Carter' }).click()
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.waitForURL('**/inbox/*')
})

test('a voice note is recorded in a format that the channel takes', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Call me' })
  await provider.writes({ channel: 'social', from: '90000001', username: 'ben', name: 'Ben Carter', text: 'Me too' })
  // Once a row is open, new rows wait behind "1 new".
  await rowOf(page, 'Ben Carter').waitFor()
  for (const [name, to, type] of [
    ['Ann Porter', ann, 'audio/ogg'],
    ['Ben Carter', '90000001', 'audio/wav'],
  ] as const) {
    await rowOf(page, name).click()
    await page.evaluate(fakeMicrophone)
    await page.getByRole('button', { name: 'Record voice note' }).click()
    await page.getByText(/^0:0[1-9]$/).waitFor()
    await page.getByRole('button', { name: 'Attach', exact: true }).click()
    await page.getByRole('button', { name: /^Remove voice/ }).waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await until('the voice note', async () => (await provider.sent(to)).length > 0)
    const [{ body } = { body: {} }] = await provider.sent(to)
    const link = body.audio?.link ?? body.message?.attachment?.payload?.url
    assert.equal((await fetch(link)).headers.get('content-type'), type)
    // The browser itself can play it, for about as long as it was recorded.
    const seconds = await page.evaluate<number>(
      `new Promise((resolve, reject) => { const audio = new Audio(${JSON.stringify(link)}); audio.onerror = () => reject(new Error('unplayable')); audio.onloadedmetadata = () => resolve(audio.duration) })`,
    )
    assert.ok(seconds > 0.5 && seconds < 30, `${seconds} s`)
  }
  // Without a microphone the page says so.
  await page.evaluate(
    "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', 'NotAllowedError'))",
  )
  await page.getByRole('button', { name: 'Record voice note' }).click()
  await page.getByRole('alert').filter({ hasText: 'microphone' }).waitFor()
})

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FAAhKDveksOjmAAAAAElFTkSuQmCC'
