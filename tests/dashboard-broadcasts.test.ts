/** Templates and broadcasts in the browser: look before, send, follow, stop. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, skip, visit } from './dashboard.ts'
import type { Provider } from './provider.ts'
import { times, until } from './support.ts'

const name = (page: Page) => page.getByRole('textbox', { name: 'Name', exact: true })
const value = (page: Page, label: string) => page.getByRole('textbox', { name: label, exact: true })

/** From the list of templates: fetch them from the channel. */
async function refresh(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sync templates' }).click()
  await page.getByText(/^\d templates synced$/).waitFor()
}

/** On the page of a new broadcast: to these numbers. */
async function pasteNumbers(page: Page, ...lines: string[]): Promise<void> {
  await page.getByText('Phone numbers', { exact: true }).click()
  await page.getByRole('textbox', { name: 'Phone numbers', exact: true }).fill(lines.join('\n'))
}

/** Send, and say yes to the last question. */
async function confirm(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: action }).click()
  await page.getByRole('dialog').getByRole('button', { name: action }).click()
}

/** Choose from the menu of a broadcast's page. */
async function chooseAction(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: action }).click()
}

/** A template of the channel, approved at once. */
async function makeTemplate({ simulatorUrl, connections }: Provider, template: unknown): Promise<void> {
  const { account_id, access_token } = connections.msgapp
  const answer = await fetch(`${simulatorUrl}/graph/v25.0/${account_id}/message_templates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify(template),
  })
  assert.equal(answer.status, 200, await answer.text())
}

test('a member composes, checks, tests and sends a broadcast, and finds the recipient it did not reach', {
  skip,
}, async (t) => {
  const { page, provider, window, member } = await openDashboard(t, '/templates')
  await refresh(page)
  await page.getByRole('link', { name: 'Broadcasts' }).click()
  await page.getByRole('heading', { name: 'No broadcasts yet' }).waitFor()
  await page.getByRole('link', { name: 'New broadcast' }).first().click()
  await page.getByText('Choose a template', { exact: true }).waitFor()

  // What is missing is named where it is missing, and what was written survives a reload.
  await page.getByRole('searchbox', { name: 'Search approved templates' }).fill('track')
  await page.getByText('No matching templates.').waitFor()
  await page.getByRole('searchbox', { name: 'Search approved templates' }).fill('order_up')
  await page.getByRole('button', { name: /^order_update/ }).click()
  const rows = ['+14155550100,Ann Lee', 'not a number', '+15005550001,Uma Away', '+14155550100']
  await pasteNumbers(page, 'phone,name', ...rows)
  await page.getByText('2 recipients · 1 duplicate removed').waitFor()
  await page.getByText('Line 3: not a number').waitFor()
  await value(page, 'Value {{1}}').fill('#4711 of ')
  await page.getByRole('button', { name: 'Insert a contact field into Value {{1}}' }).click()
  // The choice takes effect when the menu is gone, here late. What is typed meanwhile stays.
  await page.evaluate(`{
    const soon = requestAnimationFrame
    window.requestAnimationFrame = (run) => setTimeout(() => soon(run), 300)
  }`)
  await page.getByRole('menuitem', { name: /^Name/ }).click()
  await value(page, 'URL ending for “Track it”').fill('4711')
  await until('the field', async () => (await value(page, 'Value {{1}}').inputValue()).includes('contact.name'))
  assert.equal(await value(page, 'URL ending for “Track it”').inputValue(), '4711')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('Enter a name.').waitFor()
  await page.getByText('Enter a value.').waitFor()
  assert.equal(await value(page, 'Value {{2}}').getAttribute('aria-invalid'), 'true')
  await assertAccessible(page)

  await page.getByText('Draft saved').waitFor()
  await page.reload()
  const kept = '#4711 of {{contact.name|there}}'
  await until('the text', async () => (await value(page, 'Value {{1}}').inputValue()) === kept)
  await value(page, 'Value {{2}}').fill('on its way')
  await name(page).fill('Order news')
  await page.getByText('Your order #4711 of Ann Lee is on its way now.').first().waitFor()
  // The preview is the message of each recipient, by name.
  const preview = page.getByRole('complementary')
  await preview.getByText('Ann Lee', { exact: true }).waitFor()
  await preview.getByRole('button', { name: 'Next recipient' }).click()
  await preview.getByText('#4711 of Uma Away').waitFor()

  await value(page, 'Phone number').fill('+14155550199')
  await page.getByRole('button', { name: 'Send test' }).click()
  await page.getByRole('link', { name: 'Open conversation' }).waitFor()
  assert.equal((await provider.sent('+14155550199')).length, 1)

  // The response is lost; a retry does not send a second broadcast.
  await page.route('**/app/api/broadcasts/*/send', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await confirm(page, 'Send to 2 recipients')
  await page
    .getByRole('dialog')
    .getByText(/Could not reach the server/)
    .waitFor()
  await page.unroute('**/app/api/broadcasts/*/send')
  await page.getByRole('dialog').getByRole('button', { name: 'Send to 2 recipients' }).click()
  await page.getByRole('heading', { name: 'Order news', exact: true }).waitFor()
  await page.getByText('2 of 2 processed').waitFor()
  await page.getByRole('row', { name: /Ann Lee.*Read/ }).waitFor()
  await page.getByRole('row', { name: /Uma Away.*Failed.*Cannot be reached/ }).waitFor()
  assert.match(
    (await page.getByRole('link', { name: 'Uma Away', exact: true }).getAttribute('href')) ?? '',
    /^\/contacts\//,
  )
  // Each part of the bar is in its legend.
  await page.getByText('Delivered, not read').and(page.locator(':not(option)')).waitFor()
  await page.getByRole('combobox', { name: 'Status' }).selectOption('failed')
  await page.getByRole('row', { name: /Ann Lee/ }).waitFor({ state: 'detached' })
  const link = page.getByRole('link', { name: 'Download CSV' })
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
  assert.match(download.suggestedFilename(), /^broadcast-.*\.csv$/)
  await assertAccessible(page)
  const agent = await window({ as: await member('agent'), width: 390, height: 844 })
  await agent.goto(new URL(page.url()).pathname)
  await agent.getByRole('row', { name: /Uma Away/ }).waitFor()
  await agent.getByText(/^Shares of 2 recipients/).waitFor()
  await agent.getByText('Over time').waitFor()
  await assertFits(agent)
  assert.equal(await agent.getByRole('link', { name: 'Download CSV' }).count(), 0, 'an agent exports nothing')
  await agent.goto('/broadcasts')
  await agent.getByRole('row', { name: /Order news/ }).waitFor()
  await assertFits(agent)
  await agent.close()

  // The list and the page have the same shares.
  await page.getByText(/^Shares of 2 recipients\. Skipped contacts are not counted\./).waitFor()
  await page.getByRole('button', { name: 'Resend to failed' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Resend' }).click()
  await page.getByRole('heading', { name: 'Order news (again)', exact: true }).waitFor()
  await page.getByRole('link', { name: 'Broadcasts' }).first().click()
  await page.getByRole('row', { name: /Order news order_update.* Sent 2 (50% )?50% 50% 0%/ }).waitFor()
  assert.equal(await page.getByRole('link', { name: /^Order news/ }).count(), 2)
})

test('an image that cannot be loaded is reported at its field, in the preview and before sending', {
  skip,
}, async (t) => {
  const { page, api } = await openDashboard(t, '/templates')
  await api.post('/contacts', { phone: '+14155550102', name: 'Cy', attributes: { city: 'Oslo' } })
  await refresh(page)
  await visit(page, '/broadcasts/new?template=appointment&language=en_US')
  await name(page).fill('Spring')
  await pasteNumbers(page, '+14155550100,Ann Lee')
  // One menu has all contact fields and attributes of a text, and the hint explains what it inserts. A file has none.
  await page.getByRole('button', { name: 'Insert a contact field into {{name}}' }).click()
  for (const field of [/^Name/, 'Phone', 'Email', 'Company'])
    await page.getByRole('menuitem', { name: field }).waitFor()
  await page.getByRole('menuitem', { name: 'city' }).click()
  await until(
    'the attribute',
    async () => (await value(page, '{{name}}').inputValue()) === '{{contact.attributes.city}}',
  )
  await page.getByText('The text in double braces is replaced with the data of each recipient.').waitFor()
  assert.equal(await page.getByRole('button', { name: /into Image URL/ }).count(), 0)
  await value(page, '{{name}}').fill('Ann')
  await value(page, '{{time}}').fill('10 am')
  await value(page, 'Image URL').fill('https://image.invalid/a.png')
  await page.getByText('Check that the URL is public and leads to an image.').waitFor()
  await page.getByRole('complementary').getByText('The image could not be loaded').waitFor()
  await page.getByText('If the provider cannot load it either, the messages fail.').waitFor()
  await assertAccessible(page)
  // The question names the broadcast, the audience and the time, and does not forbid to send.
  await page.getByRole('button', { name: 'Send to 1 recipient' }).click()
  const question = page.getByRole('dialog', { name: 'Send “Spring” now?' })
  for (const text of ['Phone numbers', 'Now', 'appointment']) await question.getByText(text, { exact: true }).waitFor()
  await question.getByText('The image could not be loaded.').waitFor()
  assert.ok(await question.getByRole('button', { name: 'Send to 1 recipient' }).isEnabled())
})

test('recipients are those that a broadcast is sent to, before and after; skipped contacts are counted apart', {
  skip,
}, async (t) => {
  const { api, page, window } = await openDashboard(t, '/templates')
  for (const [i, name] of ['Ann Lee', 'Bo', 'Cy'].entries())
    await api.post('/contacts', { phone: `+1415555010${i}`, name, opted_out: i === 2 })
  await refresh(page)
  await visit(page, '/broadcasts/new?template=hello_world&language=en_US')
  await page.getByText('All contacts', { exact: true }).click()
  await name(page).fill('News')
  await page.getByRole('button', { name: 'Send to 2 recipients' }).click()
  const question = page.getByRole('dialog')
  await question.getByText('1 other contact of the audience will be skipped.').waitFor()
  await question.getByRole('button', { name: 'Send to 2 recipients' }).click()
  await page.getByText('2 of 2 processed').waitFor()
  await page.getByText(/^Shares of 2 recipients\./).waitFor()
  await page.getByRole('option', { name: 'All, with skipped (3)' }).waitFor({ state: 'attached' })
  await page.getByRole('link', { name: 'Broadcasts' }).first().click()
  await page.getByRole('row', { name: /News hello_world.* Sent 2 1 skipped 100% 100%/ }).waitFor()
  await assertAccessible(page)
  // The time of the last column is on one line, and the name has the free width.
  const wide = await window({ width: 1440 })
  await wide.goto('/broadcasts')
  const cells = wide.getByRole('row', { name: /^News/ }).getByRole('cell')
  await cells.first().waitFor()
  const widths = await cells.evaluateAll((all) => all.map((cell) => cell.getBoundingClientRect().width))
  assert.equal(Math.max(...widths), widths[0], widths.join())
  const narrow = await window({ width: 390 })
  await narrow.goto('/broadcasts')
  await narrow.getByText('1 skipped').waitFor()
  await assertFits(narrow)
})

test('a scheduled broadcast waits for its time, and an agent cancels it', { skip }, async (t) => {
  const { api, page, provider, window, member } = await openDashboard(t, '/templates')
  await api.post('/contacts', { phone: '+14155550100', name: 'Ann Lee', tags: ['vip'] })
  await api.post('/contacts', { phone: '+14155550101', tags: ['vip'] })
  const filter = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'vip' }] }
  await api.post('/segments', { name: 'Good customers', kind: 'dynamic', filter })
  await refresh(page)
  const agent = await window({ as: await member('agent'), width: 390, height: 844 })
  await agent.goto('/templates/hello_world/en_US')
  await agent.getByRole('link', { name: 'Use in a broadcast' }).click()
  await agent.getByText('This template has no parameters.').waitFor()
  await assertFits(agent)
  await name(agent).fill('Next week')
  await agent.getByRole('combobox', { name: 'Segment', exact: true }).selectOption('Good customers')
  await agent.getByText('2 contacts now.').waitFor()
  await agent.getByText('Later', { exact: true }).click()
  await agent.getByLabel('Date and time').fill('2020-01-01T09:00')
  await agent.getByRole('button', { name: 'Send', exact: true }).click()
  await agent.getByText('This time is in the past. Choose a later time.').waitFor()
  await agent.getByLabel('Date and time').fill(`${new Date().getFullYear() + 1}-01-31T09:30`)
  await confirm(agent, 'Schedule for 2 recipients')
  await agent.getByText(/Starts on Jan 31, .* 9:30 AM/).waitFor()
  await assertFits(agent)

  await chooseAction(agent, 'Cancel broadcast')
  await agent.getByRole('dialog').getByRole('button', { name: 'Cancel broadcast' }).click()
  await agent.getByText('Canceled by a member.').waitFor()
  await agent.getByRole('link', { name: 'Broadcasts' }).first().click()
  await agent.getByRole('row', { name: /Next week.*Canceled/ }).waitFor()
  await agent.getByText('Scheduled', { exact: true }).click()
  await agent.getByRole('heading', { name: 'No matching broadcasts' }).waitFor()
  const asked = agent.waitForResponse((answer) => answer.url().includes('/broadcasts?is_paused=true'))
  await agent.getByText('Paused', { exact: true }).click()
  assert.equal((await asked).status(), 200)
  await agent.getByRole('heading', { name: 'No matching broadcasts' }).waitFor()
  await agent.goto('/broadcasts')
  await agent.getByRole('row', { name: /Next week/ }).waitFor()
  await assertFits(agent)
  assert.deepEqual(await provider.sent(), [])
})

test('a paused broadcast shows whether it waits for a confirmation or for the channel', { skip }, async (t) => {
  // Its own attempt comes long after the one that the member asks for.
  const breaker = { ...times.broadcasts.breaker, delaysMs: [59_000] }
  const late = { ...times, broadcasts: { ...times.broadcasts, breaker } }
  const { api, page, provider } = await openDashboard(t, '/templates', {}, { times: late })
  await refresh(page)
  const phoneOf = (i: number) => `+1415555${String(i).padStart(4, '0')}`
  const send = async (recipients: { to: string }[]): Promise<string> => {
    const template = { name: 'hello_world' }
    const answer = await api.post('/broadcasts', { name: 'News', template, recipients })
    return answer.body.data.id
  }
  const notice = page.getByText(/^2 awaiting confirmation, at most 15 min\./)
  for (const i of [1, 2]) await provider.fault({ to: phoneOf(i), mode: 'http_500' })
  await visit(page, `/broadcasts/${await send([0, 1, 2].map((i) => ({ to: phoneOf(i) })))}`)
  await notice.waitFor()
  await page.getByText('1 of 3 processed').waitFor()
  assert.equal(await page.getByText('per second').count(), 0, 'nothing is left to send, so there is no sending rate')
  await chooseAction(page, 'Cancel broadcast')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel broadcast' }).click()
  await page.getByText('Canceled by a member.').waitFor()
  await notice.waitFor()
  assert.equal(await page.getByText(/Canceling|Skipping/).count(), 0, 'it is canceled')
  await assertAccessible(page)

  await provider.fault({ mode: 'http_500' })
  await visit(page, `/broadcasts/${await send(Array.from({ length: 60 }, (_, i) => ({ to: phoneOf(100 + i) })))}`)
  await page.getByText(/^The provider is not responding: 131000/).waitFor()
  await page.getByText(/Next attempt in \d+ s, at \d/).waitFor()
  await page.getByText('Paused', { exact: true }).waitFor()
  await assertFits(page)
  await assertAccessible(page)
  await provider.control('DELETE', '/faults')
  await page.getByRole('button', { name: 'Retry now' }).click()
  await page.getByText(/^The provider is not responding/).waitFor({ state: 'detached' })
  await page.getByText(/^\d+ awaiting confirmation, at most 15 min\./).waitFor()
})

test('a template preview shows the values that the member enters', { skip }, async (t) => {
  const { page, provider, window, member } = await openDashboard(t, '/templates')
  await page.getByRole('heading', { name: 'No templates yet' }).waitFor()
  await visit(page, '/templates/unknown')
  await page.getByText('Page not found').waitFor()
  await visit(page, '/templates')
  await makeTemplate(provider, {
    name: 'spring_news',
    language: 'en_US',
    category: 'MARKETING',
    components: [
      { type: 'HEADER', format: 'TEXT', text: 'News for {{1}}', example: { header_text: ['Ann'] } },
      { type: 'BODY', text: 'It is *really {{1}}*, <b>not _so_</b>.', example: { body_text: [['spring']] } },
      { type: 'FOOTER', text: 'Reply STOP to end' },
      { type: 'BUTTONS', buttons: [{ type: 'QUICK_REPLY', text: 'More about this' }] },
    ],
  })
  await refresh(page)
  await page.getByRole('searchbox', { name: 'Search templates' }).fill('spring')
  await page.getByRole('row', { name: /spring_news.*en_US Marketing Approved/ }).waitFor()
  assert.equal(await page.getByRole('row').count(), 2)
  await page.getByRole('searchbox', { name: 'Search templates' }).fill('')
  await page.getByRole('combobox', { name: 'Status' }).selectOption('Paused')
  await page.getByRole('link', { name: 'paused_promo' }).click()
  await page.getByText('This template cannot be sent.').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Use in a broadcast' }).count(), 0)

  await visit(page, '/templates/spring_news/en_US')
  const preview = page.getByRole('figure', { name: 'Preview of spring_news' })
  await preview.getByText('News for Ann').waitFor()
  assert.equal(await preview.locator('strong').innerText(), 'really spring')
  assert.equal(await preview.locator('em').innerText(), 'so')
  await preview.getByText('<b>not').waitFor()
  await preview.getByText('Reply STOP to end').waitFor()
  await preview.getByText('More about this').waitFor()
  await value(page, 'Value {{1}}').fill('autumn')
  await preview.getByText('really autumn').waitFor()
  await preview.getByText('News for {{1}}').waitFor()

  await visit(page, '/templates/offer_carousel/en_US')
  await page.getByRole('group', { name: 'Card 2' }).getByLabel('Value {{1}}').fill('half')
  await page.getByRole('listitem').getByText('Now with half off.').waitFor()
  const agent = await window({ as: await member('agent') })
  await agent.goto('/templates')
  await agent.getByText('offer_carousel', { exact: true }).waitFor()
  assert.equal(await agent.getByRole('button', { name: 'Sync templates' }).count(), 0)
})
