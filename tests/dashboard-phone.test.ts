/** The phone beside the editor of an automation, in a real browser. */
import { test } from 'node:test'
import { divideTimes } from '../common/times.ts'
import { dataOf } from './assertions.ts'
import { assertAccessible, assertFits, openDashboard, skip } from './dashboard.ts'
import { createFolder } from './folder.ts'
import { connectSimulator, createSealer, loadSimulatorAccounts } from './internals.ts'
import { startProvider } from './provider.ts'
import { testEncryptionKey, until } from './support.ts'

const sealer = createSealer(testEncryptionKey)
const pathOf = (id: string) => `/automations/${id}`

test('a draft is tried on the phone: text, buttons, a list, a wait that is skipped, and a restart', {
  skip,
}, async (t) => {
  const { page, api, db, url, window } = await openDashboard(t, '/inbox', {}, { times: divideTimes(4) })
  const interactive = (content: object) => ({ type: 'interactive', interactive: content })
  const rows = [{ id: 'a', title: 'Walnut', description: 'A nice one' }]
  const buttons = [{ id: 'sales', title: 'Sales' }]
  const definition = {
    trigger: { type: 'message' },
    steps: [
      {
        type: 'ask',
        message: interactive({ kind: 'buttons', body: 'What is it about?', buttons }),
        answer: { type: 'choice' },
        save_as: 'answers.topic',
      },
      {
        type: 'send',
        message: interactive({
          kind: 'list',
          body: 'Choose a product',
          button: 'Products',
          sections: [{ title: 'Tables', rows }],
        }),
      },
      { type: 'wait', for: '2h' },
      { type: 'end' },
    ],
  }
  const { id } = dataOf(await api.post('/automations', { name: 'Tried', definition }), 201)
  await page.goto(url + pathOf(id))
  await page.getByText('This installation has no simulator').waitFor()
  const provider = await startProvider(t, createFolder(t), () => loadSimulatorAccounts(db, sealer, url))
  const simulating = {
    sealer,
    workspaceId: api.workspaceId,
    kind: 'built_in',
    simulatorUrl: provider.simulatorUrl,
  } as const
  await db.begin((sql) => connectSimulator({ ...simulating, db: sql }))
  const panel = page.getByRole('complementary', { name: 'Beside the steps' })
  const blank = dataOf(await api.post('/automations', { name: 'Blank' }), 201)
  await page.goto(url + pathOf(blank.id))
  await panel.getByText('There is nothing to preview yet').waitFor()
  await page.getByRole('button', { name: 'Add step' }).click()
  await page.getByRole('menuitem', { name: 'Send a message' }).click()
  await panel.getByText('Complete its steps first.').waitFor()
  await page.getByLabel('Text', { exact: true }).fill('Hello')
  await panel.getByRole('button', { name: 'Start the preview' }).waitFor()
  await page.goto(url + pathOf(id))
  // With the keyboard alone: after each button the focus is in the message field.
  const field = page.getByLabel('Message of the customer')
  const untilFocused = () =>
    until('the focus in the message field', () =>
      page.evaluate<boolean>("document.activeElement.matches('.phone-composer input')"),
    )
  await page.getByRole('button', { name: 'Start the preview' }).press('Enter')
  await field.waitFor()
  await untilFocused()
  await page.keyboard.type('hi')
  await page.keyboard.press('Enter')
  await page.getByText('Waits for an answer to “What is it about?”').waitFor()
  await assertAccessible(page)
  await panel.getByRole('button', { name: 'Sales', exact: true }).press('Enter')
  await untilFocused()
  await panel.getByRole('button', { name: 'Skip waiting' }).waitFor()
  await panel.getByText('Products', { exact: true }).click()
  await panel.getByRole('button', { name: 'Walnut' }).waitFor()
  await assertAccessible(page)
  const small = await window({ width: 390, dark: true })
  await small.goto(url + pathOf(id))
  await small.getByText(/^Waits until/).waitFor()
  await assertFits(small)
  await assertAccessible(small)
  await panel.getByRole('button', { name: 'Skip waiting' }).press('Enter')
  await untilFocused()
  await panel.getByText('Finished').waitFor()
  await panel.getByRole('button', { name: 'Restart' }).click()
  await panel.getByText('No messages yet.').waitFor()
  // A call that fails says why, in the words of the outline.
  const calling = { trigger: { type: 'message' }, steps: [{ type: 'call', url: 'https://127.0.0.1:1/order' }] }
  dataOf(await api.call('PUT', `/automations/${id}/draft`, { body: calling }))
  await field.fill('hi')
  await page.keyboard.press('Enter')
  await panel.getByText(/^The call of your server failed. Connection refused. Next try: /).waitFor()
  await panel.getByText('Steps of the run').click()
  await panel.getByText('Call https://127.0.0.1:1/order Repeated · Connection refused').first().waitFor()
  await assertAccessible(page)
  // The preview left nothing in the workspace, so there is no past to try the draft on.
  await page.getByLabel('Past messages', { exact: true }).check({ force: true })
  await page.getByRole('button', { name: 'Try on the last 7 days' }).click()
  await page.getByText('In the last 7 days it would have started no runs.').waitFor()
  await assertAccessible(page)
})
