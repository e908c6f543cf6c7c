/** The pages for developers: the request log, and the events with their deliveries. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, skip } from './dashboard.ts'
import { addEndpoint } from './deliveries.ts'
import { startReceiver } from './receiver.ts'
import { until } from './support.ts'

const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name })
const rows = (page: Page) => page.getByRole('row').filter({ has: page.getByRole('link') })

test('a developer finds a failed request, reads its error and body, and no new request moves the list', {
  skip,
}, async (t) => {
  const { page, api, window } = await openDashboard(t, '/developers')
  await page.getByRole('heading', { name: 'No requests yet' }).waitFor()
  const key = await api.key('contacts:write')
  await api.get('/me')
  const refused = await api.post('/contacts', { phone: 'nonsense', password: 'hunter2' }, { key })
  await api.get('/contacts?search=ann')
  // The list is empty, so new requests appear by themselves. On a slow machine the last ones may come later.
  await rows(page).first().waitFor()
  await until('all requests', async () => {
    await page.reload()
    await rows(page).first().waitFor()
    return (await rows(page).count()) === 3
  })

  await page.getByLabel('Status').selectOption('Failed')
  await until('one row', async () => (await rows(page).count()) === 1)
  const row = rows(page).filter({ hasText: 'POST /v1/contacts' }).filter({ hasText: 'bad_request' })
  await row.getByRole('link').press('Enter')
  const whole = dialog(page, 'POST /v1/contacts')
  await whole.getByText(refused.body.error.message).waitFor()
  await whole.getByText('"phone": "nonsense"').waitFor()
  await whole.getByText('"password": "[removed]"').waitFor()
  await whole.getByText(refused.headers.get('x-request-id') ?? '').waitFor()
  await assertAccessible(page)
  const link = page.url()
  await page.keyboard.press('Escape')
  await row.getByRole('link').and(page.locator(':focus')).waitFor()

  await page.getByLabel('Path contains').fill('/segments')
  await page.getByRole('heading', { name: 'No matching requests' }).waitFor()
  const reloaded = page.waitForResponse(/\/app\/api\/requests(\?(?!.*limit)|$)/)
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await reloaded
  await until('all rows', async () => (await rows(page).count()) === 3)
  await api.get('/me?new=1')
  await api.get('/me?new=2')
  await page.getByRole('button', { name: 'Show 2 new requests' }).waitFor()
  assert.equal(await rows(page).count(), 3)
  await page.getByRole('button', { name: 'Show 2 new requests' }).press('Enter')
  await until('the new rows', async () => (await rows(page).count()) === 5)
  assert.match(await rows(page).first().innerText(), /new=2/)

  const phone = await window({ width: 390, height: 844, dark: true })
  await phone.goto(link)
  await dialog(phone, 'POST /v1/contacts').getByText('"phone": "nonsense"').waitFor()
  await assertFits(phone)
  await assertAccessible(phone)
  await phone.keyboard.press('Escape')
  await rows(phone).first().waitFor()
})

test('a developer finds an event by phone number, reads its body and attempts, and resends it', { skip }, async (t) => {
  const { page, api, window, member } = await openDashboard(t, '/developers/events')
  await page.getByRole('heading', { name: 'No events yet' }).waitFor()
  const receiver = await startReceiver(t)
  receiver.answers(404)
  await addEndpoint(api, receiver.url)
  await api.post('/contacts', { phone: '+14155550141', name: 'Ann' })
  const { id } = (await api.post('/contacts', { phone: '+14155550142', name: 'Ben' })).body.data
  const failed = rows(page).filter({ hasText: 'Failed' })
  await failed.first().waitFor()
  await until('both events', async () => {
    await page.reload()
    await rows(page).first().waitFor()
    return (await failed.count()) === 2
  })
  await page.getByLabel('Message ID, contact ID, phone or event ID').fill('+14155550142')
  await until('one row', async () => (await rows(page).count()) === 1)
  await rows(page).filter({ hasText: id }).getByRole('link').press('Enter')
  const whole = dialog(page, 'contact.created')
  await whole.getByText(`"contact_id": "${id}"`).waitFor()
  await whole.getByText('Attempts: 1').click()
  await whole.getByText('HTTP 404').waitFor()
  await assertAccessible(page)
  receiver.answers(200)
  await whole.getByRole('button', { name: 'Resend' }).press('Enter')
  await whole.getByText('Delivered', { exact: true }).waitFor()
  const link = page.url()
  await page.keyboard.press('Escape')
  // The state changes in place.
  await rows(page).filter({ hasText: 'Delivered' }).waitFor()
  assert.equal((await receiver.until(3)).length, 3)

  const phone = await window({ width: 390, height: 844, dark: true, as: await member('agent') })
  await phone.goto(link)
  await dialog(phone, 'contact.created').getByText(`"contact_id": "${id}"`).waitFor()
  assert.equal(await phone.getByRole('button', { name: 'Resend' }).count(), 0)
  await assertFits(phone)
  await assertAccessible(phone)
})
