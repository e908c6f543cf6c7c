/** The page of the office hours, and the forms that use them, in a browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFits, openDashboard, resize, skip, visit } from './dashboard.ts'
import { createBrowser, dataOf, type Json, until } from './support.ts'

test('an owner edits the hours of a week by keyboard, copies a day, and sees what is open now', { skip }, async (t) => {
  const dashboard = await openDashboard(t, '/settings/hours')
  const { page } = dashboard
  const browser = createBrowser(dashboard.url, dashboard.url)
  await browser.signIn(dashboard.owner)
  const stored = async (): Promise<Json[]> => (await browser.ask('GET', '/schedules')).data
  await page.getByRole('heading', { name: 'No schedules yet' }).waitFor()
  await page.getByRole('link', { name: 'Add schedule' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('Support')
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo')
  assert.equal(await page.getByLabel('Default of the workspace').isChecked(), true, 'the first one is the default')

  // Typed with keys only: 8 is 08:00, and a period that ends first is explained and not saved.
  const from = page.getByLabel('Monday, period 1, from')
  await from.fill('8')
  await from.press('Tab')
  assert.equal(await from.inputValue(), '08:00')
  const to = page.getByLabel('Monday, period 1, to')
  await to.fill('700')
  await to.press('Tab')
  await page.getByText('A period must end after it starts.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Add schedule' }).isDisabled(), true)
  await to.fill('12.30')
  await to.press('Tab')
  await page.getByRole('button', { name: 'Add a period on Monday' }).press('Enter')
  await page.getByLabel('Monday, period 2, to').fill('24')
  await page.getByLabel('Monday, period 2, from').fill('1330')
  await page.getByRole('button', { name: 'Copy Monday to other days' }).press('Enter')
  await page.getByRole('menuitem', { name: 'To every day' }).press('Enter')
  await page.getByRole('button', { name: 'Remove period 2 on Sunday' }).click()
  await page.getByRole('button', { name: 'Remove period 1 on Sunday' }).click()
  await page.getByText(/^Now: (Open\. Closes|Closed\. Opens) /).waitFor()
  await page.getByLabel('social', { exact: false }).first().check()
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Add schedule' }).click()
  await page.waitForURL('**/settings/hours')
  await page.getByText('Mon to Sat 08:00–12:30, 13:30–24:00').waitFor()
  await page.getByText(/^Used by the workspace, /).waitFor()
  const [schedule] = await stored()
  assert.deepEqual([schedule?.time_zone, schedule?.is_default, schedule?.periods.length], ['Asia/Tokyo', true, 12])
  assert.equal(schedule?.connection_ids.length, 1)

  await page.getByRole('link', { name: 'Edit Support' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Help desk')
  await page.getByRole('link', { name: 'Hours' }).last().click()
  await page.getByRole('button', { name: 'Keep editing' }).click()
  for (const width of [390, 768, 1440]) {
    for (const theme of ['light', 'dark'] as const) {
      await resize(page, width, theme)
      await assertFits(page)
    }
  }
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Schedule “Help desk” saved').waitFor()
  await page.getByRole('link', { name: 'Edit Help desk' }).and(page.locator(':focus')).waitFor()
  await page.getByRole('button', { name: 'Delete Help desk' }).click()
  await page.getByRole('button', { name: 'Delete schedule' }).click()
  await page.getByRole('heading', { name: 'No schedules yet' }).waitFor()
  assert.deepEqual(await stored(), [])
})

test('holidays are added by hand and chosen from a calendar file; a broken file is explained', { skip }, async (t) => {
  const dashboard = await openDashboard(t)
  const { page } = dashboard
  const browser = createBrowser(dashboard.url, dashboard.url)
  await browser.signIn(dashboard.owner)
  const year = new Date().getUTCFullYear() + 1
  const { data: schedule } = await browser.ask(
    'POST',
    '/schedules',
    {
      ...{ name: 'Support', time_zone: 'UTC', periods: [{ day: 0, from: '09:00', to: '17:00' }] },
      holidays: [{ date: `${year}-05-01`, name: 'Labour Day' }],
    },
    201,
  )
  await visit(page, `/settings/hours/${schedule.id}`)
  const event = (date: string, name: string) =>
    `BEGIN:VEVENT\nDTSTART;VALUE=DATE:${date}\nSUMMARY:${name}\nEND:VEVENT\n`
  const choose = (content: string) =>
    page
      .getByLabel('Import calendar file')
      .setInputFiles({ name: 'holidays.ics', mimeType: 'text/calendar', buffer: Buffer.from(content) })
  await choose('not a calendar')
  await page
    .getByText('Line 1: has no colon')
    .or(page.getByText(/line 1: has no colon/))
    .waitFor()
  const events = [
    event(`${year}1225`, 'Christmas'),
    event(`${year}1226`, 'Boxing Day'),
    event(`${year}0501`, 'May Day'),
    `BEGIN:VEVENT\nDTSTART:${year}0602T140000\nDTEND:${year}0602T160000\nSUMMARY:Fire drill\nEND:VEVENT\n`,
  ]
  await choose(`BEGIN:VCALENDAR\n${events.join('')}END:VCALENDAR\n`)
  const dialog = page.getByRole('dialog')
  await dialog.getByText('4 holidays found.').waitFor()
  assert.equal(await dialog.getByLabel('May Day').isDisabled(), true, 'a date that exists is not added again')
  await dialog.getByText(/14:00–16:00. Not a whole day/).waitFor()
  assert.equal(await dialog.getByLabel('Fire drill').isChecked(), false)
  await dialog.getByLabel('Boxing Day').uncheck()
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'Add 1 holiday' }).click()
  await page.getByRole('button', { name: 'Add holiday', exact: true }).click()
  await page.getByLabel('Date of holiday 3').fill(`${year}-01-01`)
  await page.getByLabel('Name of holiday 3').fill('New Year')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.waitForURL('**/settings/hours')
  const [saved] = (await browser.ask('GET', '/schedules')).data
  assert.deepEqual(saved.holidays, [
    { date: `${year}-01-01`, name: 'New Year' },
    { date: `${year}-05-01`, name: 'Labour Day' },
    { date: `${year}-12-25`, name: 'Christmas' },
  ])
})

test('members who may not change the hours see them', { skip }, async (t) => {
  const { window, member, ...world } = await openDashboard(t)
  const browser = createBrowser(world.url, world.url)
  await browser.signIn(world.owner)
  const schedule = { name: 'Support', time_zone: 'UTC', periods: [{ day: 0, from: '09:00', to: '17:00' }] }
  const { data } = await browser.ask('POST', '/schedules', schedule, 201)
  const agent = await window({ as: await member('agent') })
  await agent.goto(`/settings/hours/${data.id}`)
  await agent.waitForURL('**/settings/hours')
  await agent.getByText('Mon 09:00–17:00').waitFor()
  assert.equal(await agent.getByRole('link', { name: /Add schedule|Edit/ }).count(), 0)
})

test('an automation waits until the opening and asks for the hours, in the forms of the editor', {
  skip,
}, async (t) => {
  const { page, api } = await openDashboard(t)
  const steps = [{ type: 'wait', for: '1h' }]
  const definition = { trigger: { type: 'message' }, steps }
  const { id } = dataOf(await api.post('/automations', { name: 'Later', definition }), 201)
  await visit(page, `/automations/${id}`)
  await page.getByText('Wait', { exact: true }).first().click()
  await page.getByLabel('Wait', { exact: true }).selectOption('Until the office hours begin')
  const draft = () =>
    until('the draft', async () => {
      const { draft } = dataOf(await api.get(`/automations/${id}`))
      return draft?.steps[0].until && draft
    })
  assert.deepEqual((await draft()).steps, [{ type: 'wait', until: 'opening' }])
  await page.getByText('until the office hours begin').first().waitFor()
})
