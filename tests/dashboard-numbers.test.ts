/** Several numbers and sites of a workspace in the browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, resize, skip, visit } from './dashboard.ts'
import { until } from './support.ts'

/** Both widths and themes. */
async function assertLooks(page: Page): Promise<void> {
  for (const [width, theme] of [
    [390, 'light'],
    [390, 'dark'],
    [1440, 'light'],
    [1440, 'dark'],
  ] as const) {
    await resize(page, width, theme)
    await assertAccessible(page)
    await assertFits(page)
  }
}

test('numbers are renamed, made the default, disconnected and connected again', { skip }, async (t) => {
  const { page, provider, addNumber } = await openDashboard(t, '/settings/channels')
  const card = page.getByRole('region', { name: 'Messaging app' })
  await card.getByRole('heading', { name: 'Phone number' }).waitFor()
  await card.getByRole('link', { name: 'Connect another number' }).waitFor()
  assert.equal(await card.getByText('Default', { exact: true }).count(), 0, 'one number is not called the default')
  const sales = await addNumber('Sales')
  await provider.writes({ connection_id: sales.id, from: '+14155550100', name: 'Ann Lee', text: 'Hello' })
  // The provider posts a callback of the new number to the address of the first one.
  const metadata = { phone_number_id: sales.phone_number_id }
  const message = { from: '14155550100', id: 'wamid.1', timestamp: '1', type: 'text', text: { body: 'Hello' } }
  const value = { metadata, messages: [message] }
  assert.equal(
    await provider.callback({ entry: [{ id: sales.account_id, changes: [{ field: 'messages', value }] }] }),
    200,
  )
  await page.reload()
  const notices = card
    .getByRole('region', { name: 'Phone number' })
    .getByRole('list', { name: 'Notices from the provider' })
  await notices.getByText(`${sales.address} is connected as “Sales”`).waitFor()
  await notices.getByText(`/channels/msgapp/${sales.id}, with the verify token in its settings.`).waitFor()
  const part = card.getByRole('region', { name: 'Sales' })
  await part.getByText(sales.address ?? '').waitFor()
  await part.getByText('80 per second').waitFor()
  await part.getByText('No notices').waitFor()
  await card.getByRole('region', { name: 'Phone number' }).getByText('Default', { exact: true }).waitFor()
  await assertLooks(page)

  const dialog = page.getByRole('dialog')
  await part.getByRole('button', { name: 'Rename Sales' }).click()
  await dialog.getByRole('textbox', { name: 'Name' }).fill('phone NUMBER')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Another connection has this name').waitFor()
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Sales desk')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await part.getByRole('heading', { name: 'Sales desk' }).waitFor()

  await part.getByRole('button', { name: 'Make default' }).click()
  await dialog.getByText('New conversations will use it.').waitFor()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Make default' }).click()
  await part.getByText('Default', { exact: true }).waitFor()
  assert.equal(await part.getByRole('button', { name: 'Make default' }).count(), 0)

  await part.getByRole('button', { name: 'Check connection' }).click()
  await part.getByRole('list', { name: 'Check result' }).waitFor()
  await part.getByRole('button', { name: 'Disconnect' }).click()
  await dialog.getByRole('heading', { name: `Disconnect “Sales desk · ${sales.address}”?` }).waitFor()
  await dialog.getByText('you cannot reply to these conversations').waitFor()
  await dialog.getByText('“Phone number” becomes the default.').waitFor()
  await dialog.getByRole('button', { name: 'Disconnect' }).click()
  await part.waitFor({ state: 'detached' })
  await visit(page, '/settings/audit')
  await page.getByText('disconnected the connection Messaging app: Sales desk').waitFor()
  await page.getByText('changed the connection Messaging app: Sales desk').first().waitFor()

  await visit(page, '/inbox')
  await page.getByRole('link', { name: /Ann Lee/ }).click()
  await page.getByText('“Sales desk” is disconnected').waitFor()
  assert.equal(await page.getByRole('textbox', { name: 'Reply', exact: true }).count(), 0)
  await assertLooks(page)

  await visit(page, '/settings/channels/msgapp/new')
  await page.getByRole('heading', { name: 'Connect another number' }).waitFor()
  await page
    .getByText('A second number of the same app needs an override of the callback URL at the provider')
    .waitFor()
  await assertLooks(page)
  await page.getByLabel('Name', { exact: true }).fill('Sales again')
  await page.getByLabel('Account ID').fill(sales.account_id)
  await page.getByLabel('Phone number ID').fill(sales.phone_number_id)
  await page.getByLabel('Access token').fill(sales.access_token)
  await page.getByLabel('App secret').fill(sales.app_secret)
  await page.getByText('Advanced settings').click()
  await page.getByLabel('Provider URL').fill(sales.base_url)
  await page.getByRole('button', { name: 'Save and continue' }).click()
  await page.getByText('All checks passed.').waitFor()
  await page.getByText('override the callback URL for this phone number at the provider').waitFor()
  await page.getByRole('link', { name: 'Channels' }).first().click()
  const again = card.getByRole('region', { name: 'Sales again' })
  await again.getByText(sales.address ?? '').waitFor()
  await again.getByText('Connected', { exact: true }).waitFor()
  await again.getByRole('link', { name: 'Configure' }).click()
  await page.waitForURL(`**/settings/channels/${sales.id}`)
  await page.getByRole('heading', { name: 'Sales again' }).waitFor()
  await page.getByLabel('Access token').fill('a-wrong-token')
  await page.getByRole('button', { name: 'Save changes' }).first().click()
  await dialog.getByText('Messages use the new values at once').waitFor()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Replace' }).click()
  await page.getByRole('list', { name: 'Check result' }).getByText('Invalid OAuth access token').waitFor()
  await page.getByLabel('Access token').fill(sales.access_token)
  await page.getByRole('button', { name: 'Save changes' }).first().click()
  await dialog.getByRole('button', { name: 'Replace' }).click()
  await page.getByText('All checks passed.').waitFor()

  // Its conversation continues.
  await visit(page, '/inbox')
  await page.getByRole('link', { name: /Ann Lee/ }).click()
  await page.getByRole('textbox', { name: 'Reply', exact: true }).waitFor()
})

test('the inbox names the number, filters by it, and replies leave from it', { skip }, async (t) => {
  const { page, provider, addNumber } = await openDashboard(t, '/inbox')
  await provider.writes({ from: '+14155550100', name: 'Ann Lee', text: 'Hello default' })
  const ann = page.getByRole('link', { name: /Ann Lee/ })
  await ann.waitFor()
  await ann.click()
  const head = page.locator('.inbox-thread-head')
  await head.getByText('+14155550100 · Messaging app').waitFor()
  assert.equal(
    await page.locator('.inbox-row-connection, .inbox-from').count(),
    0,
    'with one number its name is not shown',
  )
  const sales = await addNumber('Sales')
  await provider.writes({ connection_id: sales.id, from: '+14155550200', name: 'Bob Ray', text: 'Hello sales' })
  await page.goto('/inbox')
  const bob = page.getByRole('link', { name: /Bob Ray/ })
  await bob.locator('.inbox-row-connection', { hasText: 'Sales' }).waitFor()
  await ann.locator('.inbox-row-connection', { hasText: 'Phone number' }).waitFor()
  await bob.click()
  await head.getByText('+14155550200 · Messaging app · Sales').waitFor()
  await page.getByText(`From Sales · ${sales.address}`).waitFor()
  await page.getByRole('textbox', { name: 'Reply', exact: true }).fill('From the sales desk')
  await page.keyboard.press('Enter')
  await until('the reply', async () => (await provider.sent('+14155550200')).length > 0)
  const [reply] = await provider.sent('+14155550200')
  assert.equal(reply?.connection_id, sales.id)
  await assertLooks(page)

  await visit(page, '/inbox')
  await ann.waitFor()
  await page.keyboard.press('f')
  const dialog = page.getByRole('dialog')
  await dialog.locator('summary').getByText('Connection', { exact: true }).click()
  await dialog.getByRole('checkbox', { name: 'Sales' }).check()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Done' }).click()
  await ann.waitFor({ state: 'detached' })
  await bob.waitFor()
  assert.equal(new URL(page.url()).searchParams.get('connection'), sales.id)
  await page.getByRole('button', { name: 'Change filter: Sales' }).waitFor()

  // A view keeps the filter.
  await page.keyboard.press('v')
  await dialog.getByLabel('Name').fill('Sales inbox')
  await dialog.getByRole('button', { name: 'Save view' }).click()
  await dialog.getByRole('button', { name: /^Sales inbox/ }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Remove filter: Sales' }).click()
  await ann.waitFor()
  await page.keyboard.press('v')
  await dialog.getByRole('button', { name: /^Sales inbox/ }).click()
  await ann.waitFor({ state: 'detached' })

  // So does the command palette.
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('Filter by connection Phone')
  await page.getByRole('option', { name: 'Filter by connection: Phone number' }).click()
  await bob.waitFor({ state: 'detached' })
  await ann.waitFor()
})

test('a broadcast and a new conversation are sent from a chosen number', { skip }, async (t) => {
  const { page, provider, addNumber } = await openDashboard(t, '/templates')
  const sales = await addNumber('Sales', { messagesPerSecond: 10 })
  const answer = await fetch(`${provider.simulatorUrl}/graph/v25.0/${sales.account_id}/message_templates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sales.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'sales_only',
      language: 'en_US',
      category: 'MARKETING',
      components: [{ type: 'BODY', text: 'Only from sales' }],
    }),
  })
  assert.equal(answer.status, 200, await answer.text())
  await page.reload()
  await page.getByRole('button', { name: 'Sync templates' }).click()
  await page.getByText(/templates synced$/).waitFor()
  await page
    .getByRole('row', { name: /sales_only/ })
    .getByText('Sales', { exact: true })
    .waitFor()
  await assertLooks(page)

  await visit(page, '/broadcasts/new')
  const from = page.getByLabel('Send from')
  await from.waitFor()
  assert.equal(await from.inputValue(), provider.connections.msgapp.id, 'the default number is chosen first')
  await page.getByRole('button', { name: /^hello_world/ }).waitFor()
  assert.equal(await page.getByRole('button', { name: /^sales_only/ }).count(), 0)
  await from.selectOption(sales.id)
  await page.getByText('Up to 10 messages per second.').waitFor()
  await page.getByRole('button', { name: /^sales_only/ }).click()
  await from.selectOption(provider.connections.msgapp.id)
  await page.getByText('“Phone number” has no template sales_only.').waitFor()
  await page.getByRole('button', { name: 'Sync templates' }).waitFor()
  await from.selectOption(sales.id)
  await page.getByRole('button', { name: 'Change', exact: true }).waitFor()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Sale')
  await page.getByText('Phone numbers', { exact: true }).click()
  await page.getByRole('textbox', { name: 'Phone numbers', exact: true }).fill('+14155550300')
  await assertLooks(page)
  await page.getByRole('button', { name: 'Send to 1 recipient' }).click()
  const question = page.getByRole('dialog')
  assert.deepEqual(await question.locator('dt').allTextContents(), [
    ...['From', 'Audience', 'Recipients', 'Time', 'Template'],
  ])
  await question.getByText(`Sales · ${sales.address}`).waitFor()
  await assertLooks(page)
  await question.getByRole('button', { name: 'Send to 1 recipient' }).click()
  await page.waitForURL(/\/broadcasts\/[0-9a-f-]+$/)
  await page.getByText(`Sales · ${sales.address}`).waitFor()
  await until('the broadcast', async () => (await provider.sent('+14155550300')).length > 0)
  assert.equal((await provider.sent('+14155550300'))[0]?.connection_id, sales.id)

  await visit(page, '/inbox')
  await page.getByRole('button', { name: 'New conversation' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('searchbox').fill('+14155550400')
  await dialog.getByRole('button', { name: 'Add contact +14155550400' }).click()
  const sender = dialog.getByLabel('Send from')
  await sender.selectOption(sales.id)
  await dialog.getByRole('button', { name: /^sales_only/ }).click()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Send template' }).click()
  await page.locator('.inbox-thread-head').getByText('Messaging app · Sales').waitFor()
  assert.equal((await provider.sent('+14155550400'))[0]?.connection_id, sales.id)
})

test('a number without templates has a button to sync them where a broadcast needs one', { skip }, async (t) => {
  const { page, addNumber } = await openDashboard(t, '/templates')
  await page.getByRole('button', { name: 'Sync templates' }).click()
  await page.getByRole('row', { name: /hello_world/ }).waitFor()
  const sales = await addNumber('Sales')
  await page.goto('/broadcasts/new')
  await page.getByRole('button', { name: /^hello_world/ }).click()
  await page.getByLabel('Send from').selectOption(sales.id)
  await page.getByText('“Sales” has no template hello_world.').waitFor()
  await page.getByText('No approved templates of “Sales”.').waitFor()
  assert.equal(await page.getByText('no longer approved').count(), 0)
  await assertLooks(page)
  await page.getByRole('button', { name: 'Sync templates' }).click()
  await page.getByText(/templates? synced$/).waitFor()
  await page.getByRole('button', { name: 'Change', exact: true }).waitFor()
})

test('a long name of a number gives its space to names of templates and customers, and to the period', {
  skip,
}, async (t) => {
  const { page, provider, addNumber } = await openDashboard(t, '/templates')
  const long = await addNumber('Wholesale and trade customers of Europe and the Middle East')
  await provider.writes({ connection_id: long.id, from: '+14155550100', name: 'Samuel Whitfield', text: 'Hello' })
  await page.reload()
  await page.getByRole('button', { name: 'Sync templates' }).click()
  await page.getByText(/templates? synced$/).waitFor()
  const boxOf = async (part: Locator) => (await part.boundingBox()) ?? assert.fail(`${part} is not visible`)
  const row = page.getByRole('row', { name: /hello_world/ }).first()
  for (const width of [1440, 1280, 1000]) {
    await resize(page, width, width === 1000 ? 'dark' : 'light')
    const name = await boxOf(row.locator('td').first())
    assert.ok(name.width >= 160, `the name has ${name.width} pixels of ${width}`)
    const [table, card] = [await boxOf(page.locator('table')), await boxOf(page.locator('.card:has(table)'))]
    assert.ok(table.width <= card.width, `the table has ${table.width} pixels in ${card.width} at ${width}`)
  }
  await assertLooks(page)

  await visit(page, '/overview')
  const [filter, period] = [page.getByLabel('Connection'), page.getByRole('radiogroup', { name: 'Date range' })]
  await filter.waitFor()
  await resize(page, 1440, 'light')
  assert.ok((await boxOf(period)).y < (await boxOf(page.locator('.page-head'))).y + 40, 'they are on one line')
  await resize(page, 390, 'light')
  const { x, width } = await boxOf(filter)
  assert.ok(x + width <= 390, `the filter ends at ${x + width} of 390 pixels`)
  await assertLooks(page)

  await visit(page, '/inbox')
  await page.getByRole('link', { name: /Samuel/ }).click()
  const about = page.locator('.inbox-thread-about > p')
  await about.waitFor()
  for (const each of [1440, 1000, 390]) {
    await resize(page, each, 'light')
    const end = await page.evaluate<number>(`{
      const about = document.querySelector('.inbox-thread-about > p')
      const number = new Range()
      number.setStart(about.firstChild, 0)
      number.setEnd(about.firstChild, '+14155550100'.length)
      number.getBoundingClientRect().right - about.getBoundingClientRect().right
    }`)
    assert.ok(end <= 0, `the number of the customer is cut by ${end} pixels at ${each}`)
  }
})

test('each site has its own page', { skip }, async (t) => {
  const { page, provider } = await openDashboard(t, '/settings/channels')
  const card = page.getByRole('region', { name: 'Web chat' })
  await card.getByRole('button', { name: 'Connect another site' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Second shop')
  await dialog.getByLabel('Website').fill('two.example')
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Connect', exact: true }).click()
  const part = card.getByRole('region', { name: 'Second shop' })
  await part.getByText('two.example').waitFor()
  await part.getByRole('link', { name: 'Configure' }).click()
  await page.getByRole('heading', { name: 'Second shop' }).waitFor()
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  assert.notEqual(id, provider.connections.web.id)
  await page.getByText(`data-site="${id}"`).waitFor()
  await page.getByLabel('Title').fill('Ask shop two')
  await assertLooks(page)
  await page.getByRole('button', { name: 'Save changes' }).last().click()
  await page.getByText('Saved').waitFor()
  await visit(page, `/settings/channels/${provider.connections.web.id}`)
  await page.getByRole('heading', { name: 'Website', level: 1 }).waitFor()
  await page.getByText(`data-site="${provider.connections.web.id}"`).waitFor()
  assert.equal(await page.getByLabel('Title').inputValue(), '')
})
