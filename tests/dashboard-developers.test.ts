/** The pages for developers: the request log, and the events with their deliveries. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { toCurl } from '../dashboard/src/lib/curl.ts'
import { assertAccessible, assertFits, openDashboard, resize, skip } from './dashboard.ts'
import { addEndpoint } from './deliveries.ts'
import { startReceiver } from './receiver.ts'
import { until } from './support.ts'

const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name })
/** The details of a row, beside the list. */
const panel = (page: Page, name: string | RegExp) => page.getByRole('region', { name })
const rows = (page: Page) => page.getByRole('row').filter({ has: page.getByRole('link') })

test('a developer finds a failed request, reads its error, body and response, and no new request moves the list', {
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
  const whole = panel(page, 'POST /v1/contacts')
  // In the note and in the response.
  await whole.getByText(refused.body.error.message).first().waitFor()
  await whole.getByText('"phone": "nonsense"').waitFor()
  await whole.getByText('"password": "[removed]"').waitFor()
  await whole
    .getByText(refused.headers.get('x-request-id') ?? '')
    .first()
    .waitFor()
  await whole.getByText('"code": "bad_request"').waitFor()
  await whole.getByText('Headers').click()
  await whole.getByText('x-ratelimit-remaining').waitFor()
  await whole.getByRole('button', { name: 'Copy as curl' }).waitFor()
  await assertAccessible(page)
  await assertFits(page)
  const link = page.url()
  await page.keyboard.press('Escape')
  await row.getByRole('link').and(page.locator(':focus')).waitFor()

  await page.getByLabel('Path contains').fill('/segments')
  await page.getByRole('heading', { name: 'No matching requests' }).waitFor()
  const reloaded = page.waitForResponse(/\/app\/api\/requests(\?(?!.*limit)|$)/)
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await reloaded
  await until('all rows', async () => (await rows(page).count()) === 3)
  // The list stays usable beside the details, and the keys step through it.
  await rows(page).filter({ hasText: 'POST' }).getByRole('link').click()
  await whole.waitFor()
  await page.keyboard.press('j')
  await panel(page, 'GET /v1/me').getByText('The log keeps the response of failed requests only.').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Next' }).isDisabled())
  await page.getByRole('button', { name: 'Previous' }).click()
  await whole.waitFor()
  await page.keyboard.press('k')
  await panel(page, 'GET /v1/contacts').waitFor()
  await page.keyboard.press('Escape')
  await panel(page, 'GET /v1/contacts').waitFor({ state: 'hidden' })

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
  const whole = panel(page, 'contact.created')
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
  for (const width of [737, 768, 820]) {
    await resize(page, width, 'light')
    await assertFits(page)
  }

  const phone = await window({ width: 390, height: 844, dark: true, as: await member('agent') })
  await phone.goto(link)
  await dialog(phone, 'contact.created').getByText(`"contact_id": "${id}"`).waitFor()
  assert.equal(await phone.getByRole('button', { name: 'Resend' }).count(), 0)
  await assertFits(phone)
  await assertAccessible(phone)
})

test('a request as a curl command has exactly its parts, whatever they contain', () => {
  const url = "https://example.com/v1/me?a=[1]&b='$(id)'"
  const body = "@/etc/passwd '\\n$HOME\n!!"
  const headers = [
    { name: 'X-Name', value: "it's `$HOME`" },
    { name: 'Authorization', value: 'Bearer $PARLEY_API_KEY' },
  ]
  const argumentsOf = (command: string): string[] => {
    const script = `curl() { printf '%s\\0' "$@"; }\n${command}`
    return execFileSync('/bin/sh', ['-c', script], { env: { PARLEY_API_KEY: 'k' } })
      .toString()
      .split('\0')
      .slice(0, -1)
  }
  const sent = [
    '-H',
    'Authorization: Bearer k',
    '-H',
    "X-Name: it's `$HOME`",
    '-H',
    'Authorization: Bearer $PARLEY_API_KEY',
  ]
  assert.deepEqual(argumentsOf(toCurl({ method: 'POST', url, hasKey: true, headers, body })), [
    ...['--globoff', '-X', 'POST', url],
    ...sent,
    ...['--data-raw', body],
  ])
  // A terminal would obey the end of a paste, and run the rest.
  const pasted = argumentsOf(toCurl({ method: 'POST', url: '/', headers: [], body: 'a\x1b[201~\r\x7fb\u009bc' }))
  assert.equal(pasted.at(-1), 'a\ufffd[201~\ufffd\ufffdb\ufffdc')
  assert.equal(toCurl({ method: 'GET', url: 'https://example.com/', headers: [] }), "curl 'https://example.com/'")
  assert.equal(toCurl({ method: 'HEAD', url: '/', headers: [], body: { file: 'b' } }), "curl --head '/' \\\n  -d @b")
})
