/** Knowing the contact, in a real browser: the contact panel, and merging a duplicate. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFits, openDashboard, skip } from './dashboard.ts'
import { until } from './support.ts'

test('the panel edits attributes in place, keeps notes, and merges a duplicate into the open conversation', {
  skip,
}, async (t) => {
  const { page, api, provider, window } = await openDashboard(t, '/inbox', { width: 1440 })
  await provider.writes({ from: '+14155550101', name: 'Ann Porter', text: 'From my old number' })
  await provider.writes({ from: '+14155550102', name: 'Ann Porter', text: 'From my new number' })
  const contacts = (await api.get('/contacts')).body.data
  for (const { id } of contacts) await api.patch(`/contacts/${id}`, { company: 'Porter Ltd' })
  const [open] = (await api.get('/conversations')).body.data
  await page.goto(`/inbox/${open.id}`)
  const panel = page.locator('.inbox-contact')

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

  await panel.getByLabel('Write a note about this contact').fill('Prefers mornings')
  await page.keyboard.press('ControlOrMeta+Enter')
  await panel.locator('.contact-notes').getByText('Prefers mornings').waitFor()
  await assertAccessible(page)

  await panel.getByText('Same name and company').waitFor()
  await panel.getByRole('button', { name: /^Review/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Merge contacts' })
  await dialog.getByText(/Both phone numbers reach the contact/).waitFor()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Merge contacts' }).click()
  await page.getByText('Contacts merged').waitFor()
  await page.getByText('From my old number').first().waitFor()
  await page.locator('.inbox-thread, .inbox-messages, main').getByText('From my new number').first().waitFor()
  const [left, ...more] = (await api.get('/contacts')).body.data
  assert.deepEqual([left.company, more.length], ['Porter Ltd', 0])
  assert.equal((await api.get('/conversations')).body.data.length, 1)

  const narrow = await window({ width: 390, dark: true })
  await narrow.goto(`/contacts/${left.id}`)
  await narrow.getByText('customer_no').waitFor()
  await narrow.getByText('Prefers mornings').waitFor()
  await assertFits(narrow)
  await assertAccessible(narrow)
})
