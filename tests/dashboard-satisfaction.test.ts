/** Settings → Satisfaction, the rating in the thread and on the contact, and the trigger of an automation, in a real browser. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, skip, visit } from './dashboard.ts'
import { createBrowser, dataOf, divideTimes, until } from './support.ts'

const ann = '+14155550100'

/** The dashboard of a workspace, with the calls of its owner. */
async function open(t: TestContext, path: string) {
  const world = await openDashboard(t, '/overview', { width: 1440 }, { times: divideTimes(10) })
  const { ask, signIn } = createBrowser(world.url, world.url)
  await signIn(world.owner)
  await ask('POST', '/templates/refresh')
  await visit(world.page, path)
  return { ...world, ask }
}

const shots = process.env.PARLEY_TEST_SHOTS
const shoot = async (page: Page, name: string) =>
  shots && (await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true }))

test('a manager switches questions on, changes the texts and sees them in the preview', { skip }, async (t) => {
  const { page, window, member, ask } = await open(t, '/settings/satisfaction')
  await ask('POST', '/labels', { name: 'Test' }, 201)
  await page.getByRole('heading', { level: 1, name: 'Satisfaction' }).waitFor()
  const isOn = page.getByRole('switch', { name: /Ask customers for a rating/ })
  // With the keyboard only.
  await isOn.focus()
  await page.keyboard.press('Space')
  await until('the switch', async () => (await ask('GET', '/satisfaction')).data.is_on)

  const preview = page.getByRole('img', { name: /^The question:/ })
  await page.getByLabel('Question', { exact: true }).fill('Were we helpful?')
  await page.getByLabel('Answer for 5').fill('Excellent')
  await preview.getByText('Were we helpful?').waitFor()
  assert.equal(await preview.getByText('Excellent').count(), 2, 'in the list and as the answer')
  await preview.getByText('Rate', { exact: true }).waitFor()
  await page.getByRole('radiogroup').getByText('Web chat').click()
  assert.equal(await preview.getByText('Rate', { exact: true }).count(), 0, 'only a number has a list')
  await page.getByLabel('Answer for 1').fill('excellent')
  const texts = page.locator('.card', { hasText: 'Button that opens the list' })
  await texts.getByRole('button', { name: 'Save' }).click()
  await texts.getByText('Must be different').waitFor()
  await page.getByLabel('Answer for 1').fill('Poor')
  await page.getByLabel('Request for a comment').fill('Why?')
  await texts.getByRole('button', { name: 'Save' }).click()
  await until('the texts', async () => (await ask('GET', '/satisfaction')).data.comment_request === 'Why?')

  const rules = page.locator('.card', { hasText: 'Never with these labels' })
  await page.getByLabel('Minutes after closing').fill('5')
  await page.getByLabel('Days between two questions to a contact').fill('30')
  // A name that is no label is shown, and can be removed.
  await rules.getByRole('button', { name: 'Remove label spam' }).click()
  await rules.getByRole('combobox', { name: 'Add label' }).fill('te')
  await page.getByRole('option', { name: 'Test' }).click()
  await rules.getByRole('combobox', { name: 'Add label' }).fill('later')
  await page.keyboard.press('Enter')
  const connections = rules.getByRole('group', { name: 'Connections' })
  await connections.getByRole('checkbox', { name: 'All' }).uncheck()
  assert.equal(await rules.getByRole('button', { name: 'Save' }).isDisabled(), true)
  await connections.getByRole('checkbox').nth(1).check()
  await rules.getByRole('button', { name: 'Save' }).click()
  const saved = await until('the rules', async () => {
    const { data } = await ask('GET', '/satisfaction')
    return data.min_days === 30 && data
  })
  assert.deepEqual([saved.delay_seconds, saved.skip_labels, saved.connection_ids.length], [300, ['Test', 'later'], 1])

  const template = page.locator('.card', { hasText: 'After 24 hours' })
  await template.getByLabel('Template that asks').selectOption('hello_world · en_US')
  await template.getByRole('button', { name: 'Save' }).click()
  await until('the template', async () => (await ask('GET', '/satisfaction')).data.template?.name === 'hello_world')
  await assertAccessible(page)

  for (const width of [390, 768, 1024, 1440]) {
    const narrow = await window({ width, dark: width === 390 })
    await narrow.goto('/settings/satisfaction')
    await narrow.getByLabel('Question', { exact: true }).waitFor()
    await assertFits(narrow)
    if (width === 390) await assertAccessible(narrow)
    await shoot(narrow, `settings-${width}`)
  }
  const agent = await window({ as: await member('agent') })
  await agent.goto('/settings/satisfaction')
  await agent.getByText('Only owners and admins').first().waitFor()
  assert.equal(await agent.getByRole('button', { name: 'Save' }).count(), 0)
})

test('a card keeps its edits while another one is saved, and the page asks before they are lost', {
  skip,
}, async (t) => {
  const { page, ask } = await open(t, '/settings/satisfaction')
  const rules = page.locator('.card', { hasText: 'Minutes after closing' })
  const texts = page.locator('.card', { hasText: 'Button that opens the list' })
  const template = page.locator('.card', { hasText: 'After 24 hours' })
  await rules.getByLabel('Minutes after closing').waitFor()
  for (const card of [rules, texts, template]) assert.ok(await card.getByRole('button', { name: 'Save' }).isDisabled())
  await rules.getByLabel('Minutes after closing').fill('5')
  await texts.getByLabel('Question', { exact: true }).fill('Were we helpful? ')
  await template.getByLabel('Template that asks').selectOption('hello_world · en_US')
  await texts.getByRole('button', { name: 'Save' }).click()
  await until('the text', async () => (await ask('GET', '/satisfaction')).data.question === 'Were we helpful?')
  await until('nothing left to save', () => texts.getByRole('button', { name: 'Save' }).isDisabled())
  assert.equal(await rules.getByLabel('Minutes after closing').inputValue(), '5')

  // One question for all cards.
  const question = page.getByRole('dialog', { name: 'Discard changes?' })
  await page.getByRole('link', { name: 'Targets' }).click()
  await question.getByRole('button', { name: 'Keep editing' }).click()
  await rules.getByRole('button', { name: 'Save' }).click()
  await until('the rules', async () => (await ask('GET', '/satisfaction')).data.delay_seconds === 300)
  await until('nothing left to save', () => rules.getByRole('button', { name: 'Save' }).isDisabled())
  await texts.getByLabel('Thanks', { exact: true }).fill('Thanks!')
  await page.getByRole('link', { name: 'Targets' }).click()
  await question.getByRole('button', { name: 'Discard changes' }).click()
  await page.getByRole('heading', { level: 1, name: 'Targets' }).waitFor()
  assert.equal(await question.count(), 0)
})

test('a rating is a line in the thread, and is on the contact with its comment', { skip }, async (t) => {
  const { page, window, ask, api, provider } = await open(t, '/inbox')
  await ask('PATCH', '/satisfaction', { is_on: true, delay_seconds: 0, comment_request: 'Why?' })
  await provider.writes({ from: ann, name: 'Ann Porter', text: 'Where is my order?' })
  const [{ id, contact_id }] = (await api.get('/conversations')).body.data
  await ask('POST', `/conversations/${id}/messages`, { text: 'It arrives today.' }, 201)
  await ask('PATCH', `/conversations/${id}`, { status: 'closed' })
  const isAsked = async () => (await provider.sent(ann)).some(({ body }) => body.type === 'interactive')
  await until('the question', isAsked)
  await provider.writes({ from: ann, text: '2' })
  await visit(page, `/inbox/${id}?status=closed`)
  await page.getByText('The customer gave a rating of 2 of 5').waitFor()
  await provider.writes({ from: ann, text: 'It was three days late.' })
  const panel = page.locator('.inbox-contact')
  await panel.getByText('2 of 5').waitFor()
  await panel.getByText('It was three days late.').waitFor()
  // The thread says how both messages were taken. A comment may be a question: it offers to reopen the conversation.
  const messages = page.getByRole('log', { name: 'Messages' })
  await messages.getByText('Rating: 2 of 5').waitFor()
  const comment = messages.locator('.inbox-answer', { hasText: 'Taken as a comment on the rating' })
  await comment.waitFor()
  await page.getByText('5 · Very good').first().waitFor()
  await assertAccessible(page)
  await shoot(page, 'thread')
  await visit(page, `/contacts/${contact_id}`)
  const card = page.locator('.card', { hasText: 'Ratings' })
  await card.getByText('2 of 5').waitFor()
  await page.getByText('The contact gave a rating of 2 of 5').waitFor()
  await assertAccessible(page)
  await shoot(page, 'contact')
  const phone = await window({ width: 390, dark: true })
  await phone.goto(`/inbox/${id}?status=closed`)
  await phone.getByText('The customer gave a rating of 2 of 5').waitFor()
  await assertFits(phone)
  await shoot(phone, 'thread-390')
  await phone.getByRole('button', { name: 'Reopen conversation' }).click()
  await until('it open', async () => (await api.get(`/conversations/${id}`)).body.data.status === 'open')
})

test('an automation starts with a rating of at most the chosen one', { skip }, async (t) => {
  const { page, ask, api } = await open(t, '/automations')
  const { id } = dataOf(
    await api.post('/automations', {
      name: 'Unhappy',
      definition: { trigger: { type: 'manual' }, steps: [{ type: 'note', text: 'Call them' }] },
    }),
    201,
  )
  await visit(page, `/automations/${id}`)
  await page.locator('[data-line="trigger"]').click()
  await page.getByLabel('Starts when').selectOption('a customer rates us')
  await page.getByLabel('Which ratings').selectOption('At most 3')
  await until('the draft', async () => {
    const { trigger } = (await ask('GET', `/automations/${id}`)).data.draft ?? {}
    return trigger?.type === 'rating' && trigger.at_most === 3
  })
  await page.getByText('When a customer rates us with at most 3').first().waitFor()
  await shoot(page, 'trigger')
})
