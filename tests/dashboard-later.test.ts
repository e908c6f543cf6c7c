/** Messages to send later in a real browser: schedule by mouse and by keyboard, change, send now, cancel, and decide about a held one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, skip } from './dashboard.ts'
import { until } from './support.ts'

const ann = '+14155550100'

const rowOf = (page: Page, name: string) =>
  page.getByRole('list', { name: 'Conversations' }).getByRole('link', { name })
const box = (page: Page) => page.getByRole('textbox', { name: 'Reply', exact: true })
const waiting = (page: Page, text: string) =>
  page.getByRole('region', { name: 'Scheduled messages' }).getByRole('article').filter({ hasText: text })
const isEmpty = (page: Page) => until('an empty box', async () => (await box(page).inputValue()) === '')

test('a reply is scheduled by mouse, seen live by another member, changed, and sent now', { skip }, async (t) => {
  const { page, provider, window, member } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'When do you open?' })
  await rowOf(page, 'Ann Porter').click()
  const colleague = await member('agent', 'Grace Hopper')
  const other = await window({ as: colleague, width: 390, dark: true })
  await other.goto(page.url())
  await other.getByRole('article').filter({ hasText: 'When do you open?' }).waitFor()

  await box(page).fill('We are open now')
  await page.getByRole('button', { name: 'Send later' }).click()
  const dialog = page.getByRole('dialog', { name: 'Send later' })
  await dialog.getByRole('button', { name: /^Tomorrow morning/ }).waitFor()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: /^Tomorrow morning/ }).click()
  await waiting(page, 'We are open now')
    .getByText(/^Scheduled for .*9:00/)
    .waitFor()
  await waiting(page, 'We are open now').getByText('by you').waitFor()
  await isEmpty(page)
  await assertAccessible(page)
  // Closing the conversation does not cancel it, and says so.
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByText('Conversation with Ann Porter closed. A scheduled message will still be sent').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await rowOf(page, 'Ann Porter').click()
  await waiting(other, 'We are open now')
    .getByText(/^by owner@/)
    .waitFor()
  await assertAccessible(other)
  await assertFits(other)
  assert.equal((await provider.sent(ann)).length, 0)

  // Another member changes the text; the first page shows it.
  await waiting(other, 'We are open now').getByRole('button', { name: 'Edit' }).click()
  const edit = other.getByRole('dialog', { name: 'Edit scheduled message' })
  await edit.getByLabel('Text').fill('We are open from nine')
  await assertAccessible(other)
  await assertFits(other)
  await edit.getByRole('button', { name: 'Save' }).click()
  await waiting(page, 'We are open from nine').getByText('by Grace Hopper').waitFor()
  await waiting(page, 'We are open from nine').getByText(/9:00/).waitFor()

  await waiting(page, 'We are open from nine').getByRole('button', { name: 'Send now' }).click()
  await page
    .getByRole('article')
    .filter({ hasText: 'We are open from nine' })
    .getByText('Read', { exact: true })
    .waitFor()
  await until('no waiting message', async () => (await waiting(page, 'We are open from nine').count()) === 0)
  assert.deepEqual(
    (await provider.sent(ann)).map(({ body }) => body.text.body),
    ['We are open from nine'],
  )
})

test('a reply is scheduled by keyboard at a date and time, and canceled', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await rowOf(page, 'Ann Porter').click()
  await box(page).fill('See you *soon*')
  await page.getByRole('button', { name: 'Send', exact: true }).focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Send later' })
  const first = dialog.getByRole('button', { name: /^In 1 hour/ })
  await until('the focus', () => first.evaluate((element) => element.matches(':focus')))
  await page.keyboard.press('ArrowDown')
  assert.equal(await first.evaluate((element) => element.matches(':focus')), false)
  // Escape returns to the button, and the text stays.
  await page.keyboard.press('Escape')
  await until('the focus again', () =>
    page.getByRole('button', { name: 'Send later' }).evaluate((element) => element.matches(':focus')),
  )
  assert.equal(await box(page).inputValue(), 'See you *soon*')
  await page.keyboard.press('Enter')
  // The customer wrote just now, so in two days the reply window is closed.
  await dialog.getByText(/^The reply window closes on /).waitFor()
  assert.equal(await dialog.getByText('The reply window is closed then').count(), 0)
  await dialog.getByLabel('Date and time').fill('2020-01-01T10:00')
  await dialog.getByLabel('Date and time').press('Enter')
  await dialog.getByText('Choose a time in the future.').waitFor()
  const inTwoDays = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 11)
  await dialog.getByLabel('Date and time').fill(`${inTwoDays}10:30`)
  // If the customer writes again, it waits for a decision. So it is never sent by itself.
  const hold = page.getByRole('checkbox', { name: 'Hold it if the customer writes first' })
  await dialog.getByText('so the message is not sent').waitFor()
  await hold.press('Space')
  await dialog.getByText('sent only if the customer writes again').waitFor()
  await hold.press('Space')
  await dialog.getByLabel('Date and time').press('Enter')
  await waiting(page, 'See you soon').getByText('so the message is not sent').waitFor()
  await waiting(page, 'See you soon')
    .getByText(/^Scheduled for .*10:30/)
    .waitFor()
  await isEmpty(page)
  await until('the focus in the box', () => box(page).evaluate((element) => element.matches(':focus')))

  await page.reload()
  await waiting(page, 'See you soon').getByRole('button', { name: 'Cancel' }).press('Enter')
  const question = page.getByRole('dialog', { name: 'Cancel this message?' })
  await question.getByRole('button', { name: 'Cancel message' }).press('Enter')
  await until('no waiting message', async () => (await waiting(page, 'See you soon').count()) === 0)
  assert.equal((await provider.sent(ann)).length, 0)
})

test('a message that will be held says so before its time, and when its conversation is closed', {
  skip,
}, async (t) => {
  const { page, provider, db, api } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await rowOf(page, 'Ann Porter').click()
  await box(page).fill('Did it work?')
  await page.getByRole('button', { name: 'Send later' }).click()
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^In 1 hour/ })
    .click()
  await waiting(page, 'Did it work?').waitFor()
  // The provider reports whole seconds.
  await db`update scheduled_messages set updated_at = updated_at - interval '2 seconds' where workspace_id = ${api.workspaceId}`
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'It works now' })
  await page.reload()
  await waiting(page, 'Did it work?').getByText('The customer has written since.').waitFor()
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByText('closed. A scheduled message is on hold for your decision').waitFor()
})

test('a held message and one outside the window say why, and a member decides', { skip }, async (t) => {
  const { page, provider, db, api } = await openDashboard(t, '/inbox')
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Hello' })
  await rowOf(page, 'Ann Porter').click()
  const schedule = async (text: string) => {
    await box(page).fill(text)
    await page.getByRole('button', { name: 'Send later' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^In 1 hour/ })
      .click()
    await waiting(page, text)
      .getByText(/^Scheduled for/)
      .waitFor()
    await isEmpty(page)
  }
  const makeDue = async () => {
    await db`update scheduled_messages set due_at = now() where workspace_id = ${api.workspaceId} and state = 'scheduled'`
  }
  await schedule('Are you there?')
  await provider.writes({ from: ann, text: 'One more thing' })
  await makeDue()
  await waiting(page, 'Are you there?').getByText('On hold: the customer wrote before this message was sent.').waitFor()
  await assertAccessible(page)
  await waiting(page, 'Are you there?').getByRole('button', { name: 'Send now' }).click()
  await until('the message', async () => (await provider.sent(ann)).length === 1)

  await schedule('Good night')
  await db`
    update conversations set last_inbound_at = now() - interval '25 hours' where workspace_id = ${api.workspaceId}`
  await makeDue()
  await waiting(page, 'Good night')
    .getByText(/^Not sent: the reply window was closed/)
    .waitFor()
  assert.equal((await provider.sent(ann)).length, 1)
})
