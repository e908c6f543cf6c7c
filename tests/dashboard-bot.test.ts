/** The inbox while a bot answers: the banner, the view, who wrote what, and taking over. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataOf } from './assertions.ts'
import { assertAccessible, assertFits, openDashboard, resize, skip } from './dashboard.ts'
import { until } from './support.ts'

const phone = '+14155550100'

test('a member sees that the bot answers, finds the conversation in its view, and takes over', { skip }, async (t) => {
  const { page, provider, api } = await openDashboard(t, '/inbox', { width: 1440 })
  const definition = {
    trigger: { type: 'message', when: 'first' },
    steps: [
      {
        type: 'ask',
        message: { type: 'text', text: 'What is it about?' },
        answer: { type: 'text' },
        save_as: 'answers.topic',
      },
      { type: 'send', message: { type: 'text', text: 'Thank you.' } },
    ],
  }
  const { id } = dataOf(await api.post('/automations', { name: 'Welcome menu', definition }), 201)
  dataOf(await api.post(`/automations/${id}/publish`))
  await provider.writes({ from: phone, name: 'Ann Bee', text: 'hi' })
  await until('the question', async () => (await provider.sent(phone)).length === 1)
  const view = page.locator('.inbox-sidebar').getByRole('button', { name: /^With the bot/ })
  await view.click()
  await page.locator('.inbox-row', { hasText: 'Ann Bee' }).click()
  const banner = page.getByRole('status', { name: 'Automation' })
  await banner.getByText('“Welcome menu” is answering').waitFor()
  await page.getByText('What is it about?').first().waitFor()
  for (const [width, scheme] of [
    [390, 'dark'],
    [1440, 'light'],
  ] as const) {
    await resize(page, width, scheme)
    await assertAccessible(page)
    await assertFits(page)
  }
  await banner.getByRole('button', { name: 'Take over' }).click()
  await banner.waitFor({ state: 'detached' })
  await provider.writes({ from: phone, text: 'prices' })
  const [run] = (await api.get(`/automations/${id}/runs`)).body.data
  assert.deepEqual([run.reason, typeof run.ended_by], ['person', 'string'])
  assert.equal((await provider.sent(phone)).length, 1)
})
