/** Reports in a real browser: periods and filters, figures that open what is behind them, plots as tables, CSV, and the keyboard. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { dataOf } from './assertions.ts'
import { assertAccessible, assertFits, openDashboard, resize, skip } from './dashboard.ts'
import { fillReports } from './report-data.ts'
import { createBrowser, type Json, until } from './support.ts'

const shots = process.env.PARLEY_TEST_SHOTS

const dayMs = 86_400_000

const widths = [
  [1440, 'light'],
  [1024, 'light'],
  [390, 'light'],
  [390, 'dark'],
  [1024, 'dark'],
  [1440, 'dark'],
] as const

/** The page at every width, in both themes. */
async function inspect(page: Page, name: string): Promise<void> {
  for (const [width, scheme] of widths) {
    await resize(page, width, scheme)
    await assertFits(page)
    if (shots) await page.screenshot({ path: `${shots}/reports-${name}-${width}-${scheme}.png`, fullPage: false })
    await assertAccessible(page)
  }
  for (const width of [737, 768, 820]) {
    await resize(page, width, 'light')
    await assertFits(page)
  }
  await resize(page, 1280, 'light')
}

/** Waits until the page shows the data of its URL. */
const settle = (page: Page) =>
  until('the data', () =>
    page.evaluate<boolean>(
      `document.querySelector('.reports-body') !== null && !document.querySelector('.reports-body[aria-busy], .placeholder')`,
    ),
  )

/** A figure of the page by its label. */
const figureOf = (page: Page, label: string) =>
  page.getByRole('button', { name: new RegExp(`, ${label}\\. Show details$`) })
const countOf = async (page: Page, label: string) =>
  Number((await figureOf(page, label).innerText()).replaceAll(',', ''))

/** Scrolls the open list to its end. */
async function readAll(page: Page): Promise<string[][]> {
  const dialog = page.getByRole('dialog')
  const end = dialog.getByText(/^The list is complete: /)
  await until('the end of the list', async () => {
    await page.evaluate("document.querySelector('dialog[open] .dialog-body')?.scrollTo(0, 1e6)")
    return end.isVisible()
  })
  return dialog
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.innerText)))
}

async function openFilled(t: TestContext, path: string, count = 240) {
  const dashboard = await openDashboard(t, '/settings/profile')
  const filled = await fillReports(dashboard, count)
  const member = createBrowser(dashboard.url, dashboard.url)
  await member.signIn(dashboard.owner)
  const report = async (query: string): Promise<Json> => (await member.ask('GET', `/reports/${query}`)).data
  await dashboard.page.goto(path)
  if (path.startsWith('/reports')) await settle(dashboard.page)
  return { ...dashboard, ...filled, report }
}

test('the period is in the address and selects the figures, and each figure opens as many episodes', {
  skip,
}, async (t) => {
  const { page, report } = await openFilled(t, '/reports')
  const usual = await report('overview')
  assert.equal(await countOf(page, 'Opened'), usual.totals.opened)

  const period = page.getByRole('combobox', { name: 'Period' })
  await period.selectOption('Last 7 days')
  await page.waitForURL(/[?&]period=7\b/)
  const [from, to] = [-6, 0].map((days) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10))
  const week = await report(`overview?from_day=${from}&to_day=${to}`)
  await until('the figures of the week', async () => (await countOf(page, 'Opened')) === week.totals.opened)
  assert.notEqual(week.totals.opened, usual.totals.opened)
  await page.reload()
  await settle(page)
  assert.equal(await countOf(page, 'Opened'), week.totals.opened)

  await period.selectOption('Last 30 days')
  await until('the figures of 30 days', async () => (await countOf(page, 'Opened')) === usual.totals.opened)
  for (const [label, figure, unit] of [
    ['Opened', 'opened', 'episodes'],
    ['Closed', 'closed', 'episodes'],
    ['Reopened', 'reopened', 'episodes'],
    ['Waiting now', 'waiting_now', 'episodes'],
  ] as const) {
    const count = usual.totals[figure]
    assert.ok(count > 0, figure)
    assert.equal(await countOf(page, label), count)
    await figureOf(page, label).click()
    await page.getByRole('dialog', { name: label }).getByText(`${count} ${unit}`, { exact: true }).waitFor()
    assert.equal((await readAll(page)).length, count)
    await page.keyboard.press('Escape')
    await figureOf(page, label).and(page.locator(':focus')).waitFor()
  }
  await figureOf(page, 'Replies').click()
  const replies = (await readAll(page)).reduce((sum, cells) => sum + Number(cells.at(-1)), 0)
  assert.equal(replies, usual.totals.replies)
  await page.keyboard.press('Escape')
  await figureOf(page, 'First reply, Median').click()
  assert.equal((await readAll(page)).length, usual.totals.first_reply.count)

  // The way back from a conversation leads to the list.
  await page.getByRole('dialog').getByRole('link').first().click()
  await page.waitForURL(/\/inbox\//)
  await page.goBack()
  await page.getByRole('dialog', { name: 'First reply' }).waitFor()
  await page.keyboard.press('Escape')

  await period.selectOption('Custom dates')
  await page.getByLabel('First day').fill('2026-03-02')
  await page.getByLabel('Last day').fill('2026-03-01')
  await page.getByText('The last day is before the first day.').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Download CSV' }).count(), 0)
  await page.getByLabel('First day').fill('2024-03-02')
  await page.getByText('A report has at most 366 days.').waitFor()
  await page.getByLabel('First day').fill('2026-02-01')
  await page.getByText(/Feb 1\s–\sMar 1, 2026/).waitFor()
  await page.getByText('No episodes in this period').waitFor()
  await page.getByRole('button', { name: 'Show 90 days' }).click()
  await figureOf(page, 'Opened').waitFor()
})

test('a report is filtered, its table is sorted, downloaded and opened by row, and plots are tables too', {
  skip,
}, async (t) => {
  const { page, report, teams } = await openFilled(t, '/reports/members')
  const [team] = teams
  assert.ok(team)
  const rows = page.getByRole('table', { name: 'Members' }).locator('tbody tr')
  const names = async () =>
    (await rows.locator('td:first-child').allInnerTexts()).map((name) => name.split('\n').at(-1))
  const before = await report('members')
  assert.equal(await rows.count(), before.rows.length + 1)
  assert.equal((await names()).at(-1), 'All')
  const waiting = async () => (await rows.locator('td:nth-child(2)').allInnerTexts()).slice(0, -1).map(Number)
  assert.deepEqual(
    await waiting(),
    (await waiting()).toSorted((one, other) => other - one),
    'who has the most waiting customers is first',
  )
  await page.getByRole('button', { name: 'Member', exact: true }).click()
  await page.waitForURL(/order=name/)
  assert.deepEqual((await names()).slice(0, 2), ['Ana Ruiz', 'Ben Carter'])

  await page.getByRole('combobox', { name: 'Team' }).selectOption({ label: team.name })
  await page.waitForURL((address) => address.searchParams.get('team') === team.id)
  const filtered = await report(`members?team_id=${team.id}`)
  await until('the figures of the team', async () => (await countOf(page, 'Opened, All')) === filtered.totals.opened)
  const ana = filtered.rows.find(({ name }: Json) => name === 'Ana Ruiz')
  await figureOf(page, 'Closed, Ana Ruiz').click()
  const listed = await readAll(page)
  assert.equal(listed.length, ana.closed)
  assert.ok(listed.every((cells) => cells[1] === team.name && cells[2] === 'Ana Ruiz'))
  await page.keyboard.press('Escape')

  const link = page.getByRole('link', { name: 'Download CSV' })
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
  assert.match(download.suggestedFilename(), /^members-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/)
  const csv = await page.request.get((await link.getAttribute('href')) ?? '')
  assert.equal((await csv.text()).trim().split('\r\n').length, filtered.rows.length + 1)

  // A filter that the service cannot add says so, and the others stay on the next page.
  assert.equal(await page.getByRole('combobox', { name: 'Connection' }).isDisabled(), true)
  await page.getByRole('navigation', { name: 'Reports' }).getByRole('link', { name: 'Overview' }).click()
  await settle(page)
  assert.equal(await countOf(page, 'Opened'), filtered.totals.opened)
  const changes = page.getByText(/^[↑↓] .+ than before$|^Same as before$/)
  assert.ok((await changes.count()) >= 8)

  await page.getByRole('slider', { name: /^Opened and closed/ }).focus()
  await page.locator('[aria-valuetext*="Opened"]').first().waitFor()
  await page.getByRole('button', { name: 'Table: Opened and closed' }).press('Enter')
  const table = page.getByRole('table', { name: 'Opened and closed, as a table' })
  const opened = await table.locator('tbody tr td:nth-child(2)').allInnerTexts()
  assert.equal(opened.length, 30)
  assert.equal(
    opened.reduce((sum, count) => sum + Number(count), 0),
    filtered.totals.opened,
  )
  const day = table.getByRole('button', { name: /, Opened, / }).first()
  const count = Number(await day.innerText())
  await day.click()
  assert.equal((await readAll(page)).length, count)
  await page.keyboard.press('Escape')
  await page.getByRole('combobox', { name: 'Interval' }).selectOption('By week')
  await table
    .getByRole('rowheader', { name: /^Week of / })
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await until('all teams', async () => (await countOf(page, 'Opened')) > filtered.totals.opened)
})

test('reports are used by keyboard alone, and the list behind a figure is accessible', { skip }, async (t) => {
  const { page, report } = await openFilled(t, '/inbox', 160)
  await page.getByRole('link', { name: 'Reports' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('p')
  await page.waitForURL(/\/reports$/)
  await settle(page)
  const target = figureOf(page, 'Closed')
  for (let presses = 0; presses < 60 && !(await target.and(page.locator(':focus')).isVisible()); presses++)
    await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Closed' }).getByRole('row').nth(3).waitFor()
  for (const [width, scheme] of [
    [1280, 'light'],
    [390, 'dark'],
  ] as const) {
    await resize(page, width, scheme)
    await assertAccessible(page)
    await assertFits(page)
  }
  await resize(page, 1280, 'light')
  await page.keyboard.press('Escape')
  await target.and(page.locator(':focus')).waitFor()

  await page.getByRole('navigation', { name: 'Reports' }).getByRole('link', { name: 'Busy hours' }).press('Enter')
  await settle(page)
  const { hours } = await report('busy_hours')
  const grid = page.getByRole('grid', { name: /^Opened by weekday and hour/ })
  await grid.locator('button[tabindex="0"]').focus()
  await page.keyboard.press('PageDown')
  await page.keyboard.press('End')
  const all = grid.locator('button:focus')
  const total = hours.reduce((sum: number, each: Json) => sum + each.opened, 0)
  assert.equal(await all.innerText(), String(total))
  // Up to the busiest weekday, and to its hours.
  const [busiest] = hours.toSorted((one: Json, other: Json) => other.opened - one.opened)
  for (let row = 7; row > busiest.weekday; row--) await page.keyboard.press('ArrowUp')
  for (let column = 24; column > busiest.hour; column--) await page.keyboard.press('ArrowLeft')
  assert.equal(await grid.locator('button:focus').innerText(), String(busiest.opened))
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Opened' }).waitFor()
  assert.equal((await readAll(page)).length, busiest.opened)
  await page.keyboard.press('Escape')
  await grid.locator('button:focus').waitFor()
  await page.getByText('First replies', { exact: true }).click()
  const replies = page.getByRole('grid', { name: /^First replies by weekday and hour/ })
  await replies
    .getByRole('button', {
      name: new RegExp(`^${hours.reduce((sum: number, each: Json) => sum + each.first_replies, 0)}, Every day$`),
    })
    .waitFor()
})

test('reports say what is missing, and a restricted member sees own figures only', { skip }, async (t) => {
  const dashboard = await openDashboard(t, '/reports/teams')
  const { page, window, member, url, owner } = dashboard
  await page.getByText('No teams yet').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Add a team' }).getAttribute('href'), '/settings/teams')
  await page.getByRole('link', { name: 'Labels', exact: true }).click()
  await page.getByText('No labels yet').waitFor()

  // As after an upgrade, and after a change of the time zone.
  await page.route('**/app/api/reports/overview?*', async (route) => {
    const response = await route.fetch()
    const { data } = await response.json()
    await route.fulfill({ response, json: { data: { ...data, is_complete: false, is_rebuilding: true } } })
  })
  await page.goto('/reports')
  await page.getByText('Past episodes are still being counted').waitFor()
  await page.getByText('The time zone of the workspace has changed').waitFor()
  await page.unroute('**/app/api/reports/overview?*')
  await page.route('**/app/api/reports/overview?*', (route) =>
    route.fulfill({
      status: 400,
      json: { error: { code: 'bad_request', message: 'from_day: choose a shorter period' } },
    }),
  )
  await page.goto('/reports')
  await page.getByText('From_day: choose a shorter period').waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.unroute('**/app/api/reports/overview?*')
  // The page also tries again by itself.
  await page.getByText('No episodes in this period').waitFor()

  await fillReports(dashboard, 160)
  const manager = createBrowser(url, url)
  await manager.signIn(owner)
  dataOf(await manager.call('PATCH', '/workspace', { agents_see: 'own' }))
  const agent = await window({ as: await member('agent', 'Robin Agent') })
  await agent.goto('/reports')
  await agent.getByText('You see your own figures only.').waitFor()
  const tabs = agent.getByRole('navigation', { name: 'Reports' })
  await tabs.getByRole('link', { name: 'Members' }).click()
  await agent.getByText('No episodes in this period').waitFor()
  assert.equal(await tabs.getByRole('link', { name: 'Labels' }).count(), 0)
  assert.equal(await agent.getByRole('combobox', { name: 'Member' }).count(), 0)
})

const reports = [
  ...['overview', 'members', 'teams', 'labels', 'connections'],
  ...['satisfaction', 'targets', 'busy-hours', 'availability'],
]

test('satisfaction, targets and availability open the ratings, results and spans behind their figures', {
  skip,
}, async (t) => {
  const { page, report } = await openFilled(t, '/reports/satisfaction')
  const { totals, rows } = await report('satisfaction')
  assert.ok(totals.ratings > 10)
  for (const [label, count] of [
    ['Asked', totals.asked],
    ['Answered', totals.answered],
    ['Ratings', totals.ratings],
    ['Ratings of 5', totals.by_rating[4]],
  ] as const) {
    assert.equal(await countOf(page, label), count, label)
    await figureOf(page, label).click()
    assert.equal((await readAll(page)).length, count, label)
    await page.keyboard.press('Escape')
  }
  const low = figureOf(page, 'Ratings of 1')
  await low.click()
  await page.getByRole('dialog').getByText('I waited too long for an answer.').first().waitFor()
  await page.keyboard.press('Escape')
  const best = rows.find(({ ratings }: Json) => ratings > 0)
  await figureOf(page, `Average rating, ${best.name ?? 'No member'}`).click()
  assert.equal((await readAll(page)).length, best.ratings)
  await page.keyboard.press('Escape')
  await page.getByRole('radiogroup', { name: 'Rows by' }).getByText('Team').click()
  await page.getByRole('heading', { name: 'By team' }).waitFor()

  await page.getByRole('navigation', { name: 'Reports' }).getByRole('link', { name: 'Targets' }).click()
  const targets = await report('targets')
  await figureOf(page, 'First replies missed').click()
  await page
    .getByRole('dialog')
    .getByText(/First reply/)
    .first()
    .waitFor()
  assert.equal((await readAll(page)).length, targets.totals.first_reply.missed)
  await page.keyboard.press('Escape')
  const [target] = targets.rows
  const missed = target.first_reply.missed + target.next_reply.missed + target.closing.missed
  await figureOf(page, `Missed, ${target.name}`).click()
  await page.getByRole('dialog').getByText(`${missed} results`, { exact: true }).waitFor()
  await readAll(page)
  await page.keyboard.press('Escape')
  // Who had the conversations whose time ran out.
  await page.getByRole('radiogroup', { name: 'Rows by' }).getByText('Member').click()
  await page.getByRole('heading', { name: 'By member' }).waitFor()
  const byMember = await report('targets?by=member')
  const late = byMember.rows.find(({ first_reply: { missed } }: Json) => missed > 0)
  await figureOf(page, `First replies missed, ${late.name ?? 'No member'}`).click()
  assert.equal((await readAll(page)).length, late.first_reply.missed)
  await page.keyboard.press('Escape')
  await page.getByRole('radiogroup', { name: 'Rows by' }).getByText('Target').click()
  await page.getByRole('heading', { name: 'By target' }).waitFor()
  await page.getByRole('combobox', { name: 'Target' }).selectOption({ label: target.name })
  await until(
    'only this target',
    async () => (await countOf(page, 'First replies missed')) === target.first_reply.missed,
  )

  await page.getByRole('navigation', { name: 'Reports' }).getByRole('link', { name: 'Availability' }).click()
  const availability = await report('availability')
  const ana = availability.rows.find(({ name }: Json) => name === 'Ana Ruiz')
  const hours = Math.round(ana.available_seconds / 360) / 10
  assert.equal(await figureOf(page, 'Available, Ana Ruiz').innerText(), `${hours} h`)
  await figureOf(page, 'Available, Ana Ruiz').click()
  assert.ok((await readAll(page)).every((cells) => cells[0] === 'Ana Ruiz' && cells[1] === 'Available'))
})

test('the times behind a figure are those of the time zone whose days it counts', { skip }, async (t) => {
  const dashboard = await openDashboard(t, '/settings/profile')
  const { page } = dashboard
  const member = createBrowser(dashboard.url, dashboard.url)
  await member.signIn(dashboard.owner)
  const timeZone = 'Pacific/Kiritimati'
  dataOf(await member.call('PATCH', '/workspace', { time_zone: timeZone }))
  await fillReports(dashboard, 160)
  const report = async (query: string): Promise<Json> => (await member.ask('GET', `/reports/${query}`)).data
  await until('the days of the zone', async () => (await report('overview')).time_zone === timeZone)
  const format = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeStyle: 'short', timeZone })
  const plain = (text: string) => text.replaceAll(/\s/g, ' ')
  /** What the list shows and its times, of cells that show a time and not a span. */
  const timesOf = async (show: string) => {
    await page.goto(`/reports${show}`)
    await page.getByRole('dialog').getByText('times in Pacific/Kiritimati').waitFor()
    await readAll(page)
    const times = await page
      .getByRole('dialog')
      .locator('time')
      .evaluateAll((found) =>
        found.map((time) => [
          time.getAttribute('title') ?? time.textContent ?? '',
          time.getAttribute('datetime') ?? '',
        ]),
      )
    assert.ok(times.length > 0, show)
    for (const [shown = '', at = ''] of times) assert.equal(plain(shown), plain(format.format(new Date(at))), show)
    return times.map(([shown = '']) => shown)
  }
  const { intervals } = await report('overview')
  const { start, opened } = intervals.toSorted((one: Json, other: Json) => other.opened - one.opened)[0]
  await timesOf(`?show=opened&start=${start}`)
  const days = await page.getByRole('dialog').locator('tbody td:nth-child(4)').allInnerTexts()
  assert.equal(days.length, opened)
  const day = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(start))
  assert.ok(
    days.every((each) => each.startsWith(`${day}, `)),
    days.join(),
  )
  await timesOf('/satisfaction?show=answered')
  await timesOf('/availability?show=available')
  await timesOf('/targets?show=missed')
  const { data } = await member.ask('GET', '/reports/targets/outcomes?figure=missed&limit=1')
  const due = plain(format.format(new Date(data[0].outcomes[0].at)))
  const [first = ''] = await page.getByRole('dialog').locator('tbody td:nth-child(2)').allInnerTexts()
  assert.ok(plain(first).includes(`was due ${due}`), first)
  // The zone of the browser needs no name.
  const zone = await page.evaluate<string>('Intl.DateTimeFormat().resolvedOptions().timeZone')
  dataOf(await member.call('PATCH', '/workspace', { time_zone: zone }))
  await until('the days of the browser', async () => (await report('overview')).time_zone === zone)
  await page.goto('/reports?show=opened')
  await page.getByRole('dialog').getByRole('row').nth(3).waitFor()
  await page.getByRole('dialog').getByText('times in ').waitFor({ state: 'detached' })
})

test('every report is shown at three widths, light and dark', { skip: skip || !shots }, async (t) => {
  const dashboard = await openDashboard(t, '/reports')
  const { page } = dashboard
  await page.getByText('No episodes in this period').waitFor()
  await inspect(page, 'empty')
  await fillReports(dashboard, 480)
  for (const name of reports) {
    await page.goto(name === 'overview' ? '/reports' : `/reports/${name}`)
    await settle(page)
    await inspect(page, name)
  }
  await page.goto('/reports?volume=table&closing=table')
  await settle(page)
  await inspect(page, 'tables')
  for (const [name, path] of [
    ['drawer', '/reports?show=closed'],
    ['drawer-ratings', '/reports/satisfaction?show=ratings'],
    ['drawer-targets', '/reports/targets?show=missed'],
    ['drawer-spans', '/reports/availability?show=available'],
  ] as const) {
    await page.goto(path)
    await page.getByRole('dialog').getByRole('row').nth(10).waitFor()
    await inspect(page, name)
  }
})
