/**
 * Every page and dialog once: it passes axe, fits a phone, and is used by keyboard only. Tab reaches each control and shows where
 * the focus is, and no control keeps it. States that need a longer journey are inspected in the test of that journey.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, type Dashboard, openDashboard, resize, skip, visit } from './dashboard.ts'
import { addEndpoint } from './deliveries.ts'
import { createImporter } from './importing.ts'
import { startReceiver } from './receiver.ts'
import { createBrowser, until } from './support.ts'

/**
 * Prepares `walk` for the open dialog, else the page: the controls that Tab must reach, and what each looks like without the focus.
 * Options of a list, radio buttons, menu items and cells of a grid are reached through their group.
 */
const prepareWalk = `(() => {
  const still = new CSSStyleSheet()
  still.replaceSync('* { transition: none !important; animation: none !important }')
  document.adoptedStyleSheets = [still]
  document.activeElement?.blur()
  const scope = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
  const isUsable = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && !one.closest('[inert], [aria-hidden="true"]')
  const isInGroup = (one) => one.tabIndex < 0 && one.closest('[role="listbox"], [role="menu"], [role="tablist"], [role="grid"]')
  const controls = [...scope.querySelectorAll('a[href], button, input, select, textarea, summary, [role="button"]')]
    .filter((one) => isUsable(one) && !isInGroup(one))
  // A text box may show the focus at its frame, and a switch beside its hidden input.
  const lookOf = (one) => [one, one.parentElement, one.parentElement?.parentElement, one.nextElementSibling].map((part) => {
    const style = part && getComputedStyle(part)
    return style && [style.outline, style.boxShadow, style.borderColor, style.backgroundColor].join()
  }).join()
  const unfocused = new Map(controls.map((one) => [one, lookOf(one)]))
  const nameOf = (one) => one.tagName.toLowerCase() + ' ' + (one.getAttribute('aria-label') || one.innerText?.slice(0, 40) || one.id || one.className)
  const focused = []
  const unmarked = new Set()
  const outside = new Set()
  const follow = ({ target }) => {
    focused.push(target)
    // The only control of a dialog has the focus in any case.
    if (controls.length > 1 && unfocused.get(target) === lookOf(target)) unmarked.add(nameOf(target))
    const { width, top, bottom, left, right } = target.getBoundingClientRect()
    if (width < 1 || bottom < 1 || top > innerHeight || right < 1 || left > innerWidth) outside.add(nameOf(target))
  }
  addEventListener('focusin', follow)
  const radioGroupOf = (one) => one.type === 'radio' ? one.name : one
  globalThis.walk = {
    hasReturned: () => focused.lastIndexOf(focused[0]) > 0,
    finish() {
      removeEventListener('focusin', follow)
      const reached = new Set(focused.map(radioGroupOf))
      const missed = controls.filter((one) => one.isConnected && !reached.has(radioGroupOf(one))).map(nameOf)
      return { missed, unmarked: [...unmarked], outside: [...outside] }
    },
  }
  return controls.length
})()`

const tabsPerCheck = 10

/** Presses Tab until the focus is back at the first control. */
async function walk(page: Page, name: string): Promise<void> {
  const count = await page.evaluate<number>(prepareWalk)
  assert.ok(count > 0, `${name} has no controls`)
  // A field for a date has a stop for each of its parts.
  const most = 2 * count + 40
  let pressed = 0
  while (pressed < most && !(await page.evaluate<boolean>('walk.hasReturned()'))) {
    for (let i = 0; i < tabsPerCheck; i++) await page.keyboard.press('Tab')
    pressed += tabsPerCheck
  }
  const found = await page.evaluate<object>('walk.finish()')
  assert.deepEqual(found, { missed: [], unmarked: [], outside: [] }, name)
  assert.ok(pressed < most || count === 1, `${name} keeps the focus`)
}

/** Waits until the heading is shown and all data is loaded. */
const settle = (page: Page, heading = '') =>
  until(`the heading ${heading}`, () =>
    page.evaluate<boolean>(
      `document.querySelector('h1')?.textContent.includes(${JSON.stringify(heading)}) === true && !document.querySelector('.skeleton, .placeholder')`,
    ),
  )

/** Opens a page and waits for its data. */
async function show(page: Page, path: string, heading: string): Promise<void> {
  await visit(page, path)
  await settle(page, heading)
}

/** At 1280 pixels in light mode, then on a phone in dark mode, where the page must also fit. */
async function inspectPage(page: Page): Promise<void> {
  await assertAccessible(page)
  await resize(page, 390, 'dark')
  await assertFits(page)
  await assertAccessible(page)
  await resize(page, 1280, 'light')
}

/**
 * Opens a dialog by keyboard, walks it, and closes it with Escape: the focus returns to its button. `More actions › Cancel` is an
 * item of a menu.
 */
async function walkDialog(page: Page, button: string): Promise<void> {
  const [name = '', item] = button.split(' › ')
  const opener = page.getByRole('button', { name, exact: true }).first()
  await opener.press('Enter')
  if (item) await page.getByRole('menuitem', { name: item }).press('Enter')
  await page.locator('dialog[open]').waitFor()
  await settle(page)
  await walk(page, `${page.url()} ${button}`)
  await assertAccessible(page)
  await page.keyboard.press('Escape')
  await page.locator('dialog[open]').waitFor({ state: 'detached' })
  await opener.and(page.locator(':focus')).waitFor()
}

for (const part of ['customers', 'reports', 'developers', 'settings'] as const) {
  const what = `every page and dialog of ${part} is used with Tab, Enter and Escape, is accessible, and fits a phone`
  test(what, { skip }, async (t) => {
    const { page, paths } = await openFullWorkspace(t)
    for (const [path, heading, buttons] of paths[part]) {
      await show(page, path, heading)
      await walk(page, path)
      await inspectPage(page)
      for (const button of buttons) await walkDialog(page, button)
    }
  })
}

test('every dialog of the inbox, and the sign-in, are used by keyboard and are accessible', { skip }, async (t) => {
  const { page, window } = await openFullWorkspace(t)
  await show(page, '/inbox', 'Inbox')
  await page.locator('[data-row]').first().waitFor()
  for (const [keys, what] of [
    ['f', 'filters'],
    ['v', 'views'],
    ['?', 'shortcuts'],
    ['c', 'new conversation'],
    ['Control+k', 'palette'],
    ['j', 'list'],
    ['x', 'selection'],
    ['x', 'no selection'],
    ['Enter', 'conversation'],
    ['n', 'note'],
    ['r', 'reply'],
    ['s', 'snooze'],
    ['l', 'labels'],
  ] as const) {
    await page.keyboard.press(keys)
    if (!['list', 'selection', 'no selection', 'conversation', 'note', 'reply'].includes(what)) {
      await page.locator('dialog[open]').waitFor()
    }
    await settle(page)
    if (what === 'list' || what === 'no selection') continue
    await walk(page, what)
    if (what === 'conversation') await inspectPage(page)
    // Chromium lets the keys scroll an area without controls, as this one is. Axe does not know that.
    else if (what !== 'shortcuts') await assertAccessible(page)
    await page.keyboard.press('Escape')
    if (what === 'selection') await page.locator('[data-row]').first().focus()
  }

  const stranger = await window({ as: null })
  await stranger.goto('/sign-in')
  await settle(stranger)
  await walk(stranger, '/sign-in')
  await inspectPage(stranger)
})

/** A workspace with one of everything that has a page of its own. */
async function openFullWorkspace(t: TestContext) {
  const dashboard = await openDashboard(t, '/inbox')
  const { api, provider, url, owner } = dashboard
  const member = createBrowser(url, url)
  await member.signIn(owner)
  const create = async (path: string, body: object): Promise<string> => {
    const { status, body: answer, text } = await member.call('POST', path, body)
    assert.ok(status < 300, text)
    return answer.data.id
  }
  await provider.writes({ from: '+14155550100', name: 'Ann Porter', text: 'Where is my order?' })
  await member.call('POST', '/templates/refresh')
  // The new contact is an event for the endpoint.
  const endpoint = await addEndpoint(api, (await startReceiver(t)).url)
  const contact = await create('/contacts', { phone: '+14155550101', name: 'Ben Carter', tags: ['VIP'] })
  const rules = [{ field: 'tag', op: 'has', value: 'VIP' }]
  const segment = await create('/segments', { name: 'VIP', kind: 'dynamic', filter: { match: 'all', rules } })
  const broadcast = await create('/broadcasts', {
    name: 'Later',
    template: { name: 'hello_world' },
    segment_id: segment,
    scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  })
  await create('/canned-replies', { shortcut: 'hours', text: 'We open at ten.' })
  await create('/labels', { name: 'Refund' })
  const schedule = await create('/schedules', {
    ...{ name: 'Support', time_zone: 'Europe/Berlin', periods: [{ day: 0, from: '09:00', to: '17:00' }] },
    holidays: [{ date: '2030-12-25', name: 'Christmas' }],
  })
  await create('/targets', { name: 'Fast', first_reply_minutes: 30 })
  await create('/teams', { name: 'Support' })
  await create('/views', { name: 'Mine', filters: { assigned: 'me' } })
  const { automation, run } = await startAutomation(dashboard, create)
  const importer = createImporter(member)
  const people = 'phone,name,remark\n+14155550102,Cy Ames,x\n1,No number,\n'
  const uploaded = await importer.accept(people)
  const checked = await importer.check(people)
  const imported = await importer.importFile(people)
  // Neighbors have different headings, so that a heading shows that the page has changed.
  type Visit = [path: string, heading: string, dialogs: string[]]
  const customers: Visit[] = [
    ['/overview', 'Overview', []],
    ['/inbox', 'Inbox', []],
    ['/overview?as=table&days=90', 'Overview', []],
    ['/inbox?q=order', 'Inbox', []],
    ['/contacts', 'Contacts', ['Add contact', 'Tags']],
    ['/inbox?mentions=true', 'Inbox', []],
    ['/contacts/import', 'Import contacts', []],
    [`/contacts/import/${uploaded.id}`, 'people.csv', ['Delete file']],
    ['/segments', 'Segments', []],
    [`/contacts/import/${checked.id}`, 'people.csv', []],
    ['/segments', 'Segments', []],
    [`/contacts/import/${imported.id}`, 'people.csv', ['Undo import']],
    [`/contacts/${contact}`, 'Ben Carter', ['New conversation', 'Erase contact']],
    ['/segments', 'Segments', []],
    ['/segments/new', 'New segment', []],
    [`/segments/${segment}`, 'VIP', ['Delete']],
    [`/segments/${segment}/edit`, 'Edit segment', []],
    ['/broadcasts', 'Broadcasts', []],
    ['/broadcasts/new', 'New broadcast', []],
    [
      `/broadcasts/${broadcast}`,
      'Later',
      ['Reschedule', 'Send now', 'Cancel broadcast'].map((item) => `More actions › ${item}`),
    ],
    [`/broadcasts/${broadcast}/edit`, 'Edit broadcast', []],
    ['/automations', 'Automations', []],
    ['/automations/new', 'New automation', []],
    [`/automations/${automation}/runs`, 'Opening hours', []],
    [`/automations/runs/${run}`, 'Run with Ann Porter', []],
    [
      `/automations/${automation}`,
      'Opening hours',
      ['Pause', ...['Rename', 'Replace secret', 'Delete'].map((item) => `More actions › ${item}`)],
    ],
    ['/templates', 'Templates', []],
    ['/templates/hello_world/en_US', 'hello_world', []],
    ['/templates/offer_carousel/en_US', 'offer_carousel', []],
  ]
  const reports: Visit[] = [
    ['/reports', 'Reports · Overview', ['1, Opened. Show details']],
    ['/reports/members', 'Reports · Members', []],
    ['/reports/teams?period=own&from=2026-01-01&to=2026-01-31', 'Reports · Teams', []],
    ['/reports/labels', 'Reports · Labels', []],
    ['/reports/connections', 'Reports · Connections', []],
    ['/reports/satisfaction', 'Reports · Satisfaction', []],
    ['/reports/targets', 'Reports · Targets', []],
    ['/reports/availability', 'Reports · Availability', []],
    ['/reports/busy-hours', 'Reports · Busy hours', []],
    ['/reports?volume=table&first_reply=table&closing=table', 'Reports · Overview', []],
  ]
  const developers: Visit[] = [
    ['/developers/requests', 'Requests', []],
    ['/developers/events', 'Events', []],
    ['/webhooks', 'Webhooks', ['Add endpoint']],
    [`/webhooks/${endpoint.id}`, '127.0.0.1', ['Edit', 'Send test event', 'Replay events', 'Rotate secret']],
    ['/integrations', 'Integrations', ['Connect']],
    ['/developers/keys', 'API keys', ['Create API key']],
  ]
  const settings: Visit[] = [
    ['/settings/members', 'Members', ['Invite member']],
    ['/settings/channels', 'Channels', ['Disconnect']],
    ['/settings/channels/social', 'Connect social', []],
    ['/settings/hours', 'Hours', ['Delete Support']],
    [`/settings/hours/${schedule}`, 'Support', []],
    ['/settings/hours/new', 'New schedule', []],
    ['/settings/replies', 'Canned replies', ['Add canned reply', 'Edit /hours', 'Delete /hours']],
    ['/settings/assignment', 'Assignment', []],
    ['/settings/labels', 'Labels', ['Add label', 'Edit label Refund', 'Delete label Refund']],
    ['/settings/targets', 'Targets', ['Add target', 'Edit target Fast', 'Delete target Fast']],
    ['/settings/satisfaction', 'Satisfaction', []],
    ['/settings/teams', 'Teams', ['Add team', 'Edit team Support', 'Delete team Support']],
    ['/settings/workspace', 'Workspace', []],
    ['/settings/plan', 'Plan and usage', []],
    ['/settings/audit', 'Audit log', []],
    ['/settings/notifications', 'Notifications', []],
    ['/settings/profile', 'Profile', ['Sign out everywhere']],
    ['/no-such-page', 'Page not found', []],
  ]
  return { ...dashboard, paths: { customers, reports, developers, settings } }
}

/** An automation with a run, and a second one, so that the list has an order. */
async function startAutomation(
  { api, provider }: Dashboard,
  create: (path: string, body: object) => Promise<string>,
): Promise<{ automation: string; run: string }> {
  const steps = [{ type: 'send', message: { type: 'text', text: 'We are open from 9 to 5.' } }]
  const automation = await create('/automations', {
    name: 'Opening hours',
    description: 'Answers questions about our opening hours.',
    definition: { trigger: { type: 'message', contains: ['open'] }, steps },
  })
  await create('/automations', { name: 'Thank you', definition: { trigger: { type: 'manual' }, steps } })
  await create(`/automations/${automation}/publish`, {})
  await provider.writes({ from: '+14155550100', text: 'Are you open today?' })
  const run = await until('the run', async () => (await api.get(`/automations/${automation}/runs`)).body.data[0]?.id)
  return { automation, run }
}
