/** The pages of automations: list, starters, the actions of one, runs, macros, and what a viewer sees. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { dataOf } from './assertions.ts'
import { assertAccessible, type Dashboard, openDashboard, resize, skip, visit } from './dashboard.ts'
import { until } from './support.ts'

const send = (text: string) => ({ type: 'send', message: { type: 'text', text } })
const onMessage = { type: 'message' }

/** Creates an automation and publishes it. */
async function publish({ api }: Pick<Dashboard, 'api'>, name: string, definition: object): Promise<string> {
  const { id } = dataOf(await api.post('/automations', { name, definition }), 201)
  dataOf(await api.post(`/automations/${id}/publish`))
  return id
}

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
const chooseMore = async (page: Page, item: string) => {
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

test('a click on a starter creates the draft of its document, which can be published', { skip }, async (t) => {
  const { page, api } = await openDashboard(t, '/automations')
  await page.getByRole('heading', { name: 'No automations yet' }).waitFor()
  const titles: Record<string, string> = {
    'away-message': 'Away message',
    'close-after-silence': 'Close after silence',
    'lead-questions': 'Three lead questions',
    'order-status': 'Order status by URL',
    'reminder-before-window-ends': 'Reminder before the window ends',
    'welcome-menu': 'Welcome menu',
  }
  const documents = globSync('docs/automations/*.json')
  assert.deepEqual(documents.map((file) => basename(file, '.json')).sort(), Object.keys(titles).sort())
  for (const file of documents) {
    const title = titles[basename(file, '.json')] ?? ''
    await visit(page, '/automations/new')
    await page.getByRole('button', { name: title }).click()
    await page.waitForURL(/\/automations\/[0-9a-f-]{36}$/)
    const id = new URL(page.url()).pathname.split('/').at(-1)
    const created = dataOf(await api.get(`/automations/${id}`))
    assert.deepEqual(created.draft, JSON.parse(readFileSync(file, 'utf8')), file)
    assert.equal(created.state, 'draft')
    assert.equal(dataOf(await api.post(`/automations/${id}/publish`)).state, 'active')
  }
  // A name that exists gets a number, and a blank one has no definition.
  for (const title of ['Welcome menu', 'Blank']) {
    await visit(page, '/automations/new')
    await page.getByRole('button', { name: title }).click()
    await page.waitForURL(/\/automations\/[0-9a-f-]{36}$/)
  }
  const { data } = (await api.get('/automations')).body
  assert.deepEqual(
    data.slice(-2).map((each: { name: string }) => each.name),
    ['Welcome menu 2', 'New automation'],
  )
  assert.equal(data.at(-1).draft, null)
})

test('an owner publishes, pauses, resumes, renames, duplicates and deletes an automation', { skip }, async (t) => {
  const { page, api } = await openDashboard(t)
  const trigger = { ...onMessage, contains: ['price', 'cost', 'offer', 'discount'] }
  const conditions = { match: 'all', rules: [{ field: 'tag', op: 'not_has', value: 'Lead' }] }
  const definition = { trigger, conditions, steps: [send('Hello')] }
  const { id } = dataOf(await api.post('/automations', { name: 'Greeting', definition }), 201)
  const read = async () => dataOf(await api.get(`/automations/${id}`))
  await visit(page, `/automations/${id}`)
  await page.getByRole('heading', { name: 'Greeting' }).waitFor()
  await page.getByRole('button', { name: 'Publish' }).click()
  const question = page.getByRole('dialog', { name: 'Publish “Greeting”?' })
  await question.getByText(/^It goes live at once/).waitFor()
  await question.getByText('with “price”, “cost”, “offer” or “discount”').waitFor()
  await question.getByText('Tag does not have Lead').waitFor()
  await question.getByRole('button', { name: 'Publish' }).click()
  await page.getByText('Version 1 is active').waitFor()
  await page.getByText('There are no changes to publish.').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Publish' }).isDisabled())
  assert.equal((await read()).state, 'active')

  await page.getByRole('button', { name: 'Pause' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Let open runs finish').waitFor()
  await dialog.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('New runs start again').waitFor()
  await until('the automation is active', async () => (await read()).state === 'active')

  await chooseMore(page, 'Rename')
  await dialog.getByLabel('Name').fill('Hello')
  await dialog.getByLabel('Description').fill('Greets everyone')
  await dialog.getByRole('button', { name: 'Save changes' }).click()
  await page.getByRole('heading', { name: 'Hello', exact: true }).waitFor()
  await page.getByText('Greets everyone').waitFor()

  await chooseMore(page, 'Replace secret of calls')
  await dialog.getByRole('button', { name: 'Replace secret' }).click()
  await dialog.getByText(/^whsec_/).waitFor()
  await dialog.getByRole('button', { name: 'I have copied it' }).click()

  await chooseMore(page, 'Duplicate')
  await page.getByRole('heading', { name: 'Hello (copy)' }).waitFor()
  await visit(page, `/automations/${id}`)
  await page.getByRole('heading', { name: 'Hello', exact: true }).waitFor()
  await chooseMore(page, 'Delete')
  await dialog.getByText(/log of all its runs are deleted too/).waitFor()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.waitForURL(/\/automations$/)
  await rowOf(page, 'Hello (copy)').waitFor()
  assert.equal((await api.get(`/automations/${id}`)).status, 404)
})

test('pausing can end open runs, and their conversations go to the team', { skip }, async (t) => {
  const { page, api, provider } = await openDashboard(t)
  const ask = { type: 'ask', message: { type: 'text', text: 'Why?' }, answer: { type: 'text' }, save_as: 'answers.why' }
  const id = await publish({ api }, 'Questions', { trigger: onMessage, steps: [ask] })
  await provider.writes({ from: '+14155550100', name: 'Ann Bee', text: 'hi' })
  const listRuns = async () => (await api.get(`/automations/${id}/runs`)).body.data
  await until('a run waits', async () => (await listRuns())[0]?.state === 'waiting')
  await visit(page, `/automations/${id}`)
  await page.getByRole('button', { name: 'Pause' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('End open runs now').check()
  await dialog.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Automation paused').waitFor()
  assert.equal((await listRuns())[0].reason, 'paused')
})

test('the list has what starts an automation, how its runs ended, and its order', { skip }, async (t) => {
  const { page, api, provider } = await openDashboard(t)
  await publish({ api }, 'Offer', { trigger: { ...onMessage, contains: ['offer'] }, steps: [send('Here it is.')] })
  const broken = { type: 'send', message: { type: 'template', template: { name: 'no_such_template' } } }
  await publish({ api }, 'Broken', { trigger: { ...onMessage, contains: ['broken'] }, steps: [broken] })
  await provider.writes({ from: '+14155550100', name: 'Ann Bee', text: 'an offer please' })
  await provider.writes({ from: '+14155550100', text: 'it is broken' })
  await until('both runs ended', async () => {
    const { data } = (await api.get('/automations')).body
    return data[0].recent_runs.finished === 1 && data[1].recent_runs.failed === 1
  })
  await visit(page, '/automations')
  await rowOf(page, 'Offer').getByText('A customer writes with “offer”').waitFor()
  await rowOf(page, 'Broken')
    .getByRole('link', { name: /Last error/ })
    .waitFor()
  const cells = await rowOf(page, 'Offer').getByRole('cell').allInnerTexts()
  assert.deepEqual(cells.slice(1, 8), ['Active', '1', '1', '0', '0', '0', '0'])
  await rowOf(page, 'Broken').getByRole('button', { name: 'Move Broken' }).click()
  await page.getByRole('menuitem', { name: 'Move up' }).click()
  await page.getByText('“Broken” is now 1 of 2').waitFor()
  assert.equal((await api.get('/automations')).body.data[0].name, 'Broken')
  await rowOf(page, 'Broken')
    .getByRole('link', { name: /Last error/ })
    .click()
  await page.getByRole('heading', { name: 'Run with Ann Bee' }).waitFor()
  await page.getByText('Send the template “no_such_template”').waitFor()
})

test('a run shows its steps, answers and end, and the thread links to it', { skip }, async (t) => {
  const { page, api, provider } = await openDashboard(t)
  const buttons = [
    { id: 'order', title: 'My order' },
    { id: 'other', title: 'Something else' },
  ]
  const id = await publish({ api }, 'Welcome menu', {
    trigger: { ...onMessage, when: 'first' },
    steps: [
      {
        type: 'ask',
        message: {
          type: 'interactive',
          interactive: { kind: 'buttons', body: 'Hello {{contact.name|there}}, what is it about?', buttons },
        },
        answer: { type: 'choice' },
        save_as: 'answers.topic',
      },
      {
        type: 'ask',
        message: { type: 'text', text: 'Which one?' },
        answer: { type: 'text' },
        save_as: 'answers.which',
      },
    ],
  })
  const from = '+14155550100'
  await provider.fault({ to: from, mode: 'drop_connection_after_accept', count: 1 })
  await provider.writes({ from, name: 'Ann Bee', text: 'hi' })
  await until('the first question', async () => (await provider.sent(from)).length === 1)
  await provider.writes({ from, text: 'My order' })
  await until('the second question', async () => (await provider.sent(from)).length === 2)

  await visit(page, `/automations/${id}`)
  await page.getByRole('link', { name: 'Runs', exact: true }).click()
  await rowOf(page, 'Ann Bee').getByText('Waiting').waitFor()
  // A run that starts now appears by itself.
  await provider.writes({ from: '+14155550101', name: 'Ben Cole', text: 'hi' })
  await rowOf(page, 'Ben Cole').waitFor()
  await rowOf(page, 'Ann Bee').getByRole('link', { name: 'Ann Bee', exact: true }).click()
  await page.getByText(/^Waits for an answer of the customer, until/).waitFor()
  await page.getByText('Ask “Hello [Name], what is it about?”').waitFor()
  await page.getByText('Perhaps sent').waitFor()
  await page.locator('blockquote', { hasText: 'My order' }).waitFor()
  await page.getByText('A contact writes for the first time').first().waitFor()

  await page.getByRole('link', { name: 'Open conversation' }).click()
  await page.getByRole('status', { name: 'Automation' }).getByRole('link', { name: 'Show run' }).waitFor()
  await page.getByRole('button', { name: 'Take over' }).click()
  await page.locator('.inbox-sender').getByRole('link', { name: 'Bot' }).first().click()
  await page.getByRole('heading', { name: 'Run with Ann Bee' }).waitFor()
  await page.getByText('The automation sent nothing after that.').waitFor()
  for (const [width, scheme] of [
    [390, 'dark'],
    [1280, 'light'],
  ] as const) {
    await resize(page, width, scheme)
    await assertAccessible(page)
  }
  await page.getByRole('link', { name: 'Runs of Welcome menu' }).click()
  await page.getByLabel('Show').selectOption('Finished')
  await page.getByText('No matching runs').waitFor()
  await page.getByLabel('Show').selectOption('Stopped by a person')
  await rowOf(page, 'Ann Bee').waitFor()
})

test('a member starts a macro from the palette and on selected conversations', { skip }, async (t) => {
  const { api, provider, window, member } = await openDashboard(t)
  await publish({ api }, 'Thank you', { trigger: { type: 'manual' }, steps: [send('Thank you.')] })
  const people = ['+14155550100', '+14155550101', '+14155550102']
  for (const from of people) await provider.writes({ from, name: `Ann ${from.slice(-3)}`, text: 'hi' })
  const page = await window({ as: await member('agent') })
  await page.goto('/inbox')
  await page.locator('.inbox-row', { hasText: 'Ann 100' }).click()
  await page.getByRole('log').getByText('hi').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('Run automation: Thank')
  await page.getByRole('option', { name: 'Run automation: Thank you' }).click()
  await page.getByText('Started “Thank you”').waitFor()
  await until('the first message', async () => (await provider.sent('+14155550100')).length === 1)

  // A contact who opted out is refused, the others are not.
  await provider.writes({ from: '+14155550102', text: 'STOP' })
  await until('the contact opted out', async () => {
    const { data } = (await api.get('/contacts?limit=10')).body
    return data.some((contact: { opted_out: boolean }) => contact.opted_out)
  })
  await visit(page, '/inbox')
  for (const name of ['Ann 100', 'Ann 101', 'Ann 102']) {
    await page.locator('.inbox-row', { hasText: name }).focus()
    await page.keyboard.press('x')
  }
  const bar = page.getByRole('toolbar', { name: 'Selected conversations' })
  await bar.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Run automation: Thank you' }).click()
  await page.getByText('Started “Thank you” on 2 conversations').waitFor()
  await page.getByText('Not started on 1 conversation: the contact opted out').waitFor()
  await until('the second message', async () => (await provider.sent('+14155550101')).length === 1)
})

test('a viewer reads automations and runs, and sees no control that changes them', { skip }, async (t) => {
  const { api, provider, window, member } = await openDashboard(t)
  const id = await publish({ api }, 'Greeting', { trigger: onMessage, steps: [send('Hello')] })
  await publish({ api }, 'Second', { trigger: { type: 'manual' }, steps: [send('Hello')] })
  await provider.writes({ from: '+14155550100', name: 'Ann Bee', text: 'hi' })
  await until('the run ended', async () => (await api.get(`/automations/${id}/runs`)).body.data[0]?.state === 'ended')
  for (const role of ['viewer', 'agent'] as const) {
    const page = await window({ as: await member(role) })
    await page.goto('/automations')
    await rowOf(page, 'Greeting').waitFor()
    assert.equal(await page.locator('main').getByRole('button').count(), 0)
    assert.equal(await page.getByRole('link', { name: 'New automation' }).count(), 0)
    await page.getByRole('link', { name: 'Greeting', exact: true }).click()
    await page.getByRole('heading', { name: 'Greeting' }).waitFor()
    for (const name of ['Publish', 'Pause', 'More actions', 'Rename']) {
      assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name)
    }
    await page.getByRole('link', { name: 'Runs', exact: true }).click()
    await page.getByRole('link', { name: 'Ann Bee', exact: true }).click()
    await page.getByRole('heading', { name: 'Run with Ann Bee' }).waitFor()
    await visit(page, '/automations/new')
    await page.getByText('Only owners and admins can change this.').waitFor()
  }
})
