/** The shared components in the dashboard: keyboard, focus and roles of menus, comboboxes and dialogs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, openDashboard, skip, visit } from './dashboard.ts'
import { until } from './support.ts'

test('a menu opens, searches and closes by keyboard, and returns the focus to its button', { skip }, async (t) => {
  const { page } = await openDashboard(t, '/overview')
  const button = page.getByRole('button', { name: 'Your account' })
  const menu = page.getByRole('menu', { name: 'Your account' })
  await button.press('ArrowDown')
  await menu.getByRole('menuitemradio', { name: 'Available' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('k')
  await menu.getByRole('menuitem', { name: 'Keyboard shortcuts' }).and(page.locator(':focus')).waitFor()
  await assertAccessible(page)
  // The shortcut of the page must not also open the list of shortcuts.
  await page.keyboard.press('?')
  await page.keyboard.press('Escape')
  await menu.waitFor({ state: 'detached' })
  await button.and(page.locator(':focus')).waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)

  // An item can open a dialog, which returns the focus to the same button.
  await button.press('Enter')
  await menu.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click()
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await button.and(page.locator(':focus')).waitFor()

  await button.press('Enter')
  await menu.getByRole('menuitemradio', { name: 'Dark' }).click()
  await page.locator('html[data-theme="dark"]').waitFor()
  await button.press('Enter')
  await menu.getByRole('menuitemradio', { name: 'Dark', checked: true }).waitFor()
  await menu.locator(':focus').waitFor()
  await page.keyboard.press('Tab')
  await menu.waitFor({ state: 'detached' })

  // The first press builds the menu: by pointer, and by Enter.
  await page.reload()
  await button.click()
  await menu.waitFor()
  await page.keyboard.press('ArrowDown')
  await menu.getByRole('menuitemradio', { name: 'Available' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Escape')
  await button.and(page.locator(':focus')).waitFor()
  await page.reload()
  await button.press('Enter')
  await menu.getByRole('menuitemradio', { name: 'Available' }).and(page.locator(':focus')).waitFor()
})

test('a combobox suggests and takes new text; Escape closes its list before the dialog', { skip }, async (t) => {
  const { page, api } = await openDashboard(t)
  await api.post('/contacts', { phone: '+14155550199', tags: ['VIP', 'Wholesale'] })
  await visit(page, '/contacts')
  await page.getByRole('button', { name: 'Add contact' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add contact' })
  const input = dialog.getByRole('combobox', { name: 'Add tag' })
  const suggestion = (name: string) => dialog.getByRole('listbox').getByRole('option', { name })
  const tag = (name: string) => dialog.getByRole('button', { name: `Remove tag ${name}` })
  await input.pressSequentially('vi')
  await suggestion('VIP').waitFor()
  await suggestion('Wholesale').waitFor({ state: 'detached' })
  await assertAccessible(page)
  await input.press('ArrowDown')
  await input.press('Enter')
  await tag('VIP').waitFor()
  await until('an empty input', async () => (await input.inputValue()) === '')

  await input.pressSequentially('who')
  await suggestion('Wholesale').click()
  await tag('Wholesale').waitFor()
  await input.fill('New')
  await input.press('Enter')
  await tag('New').waitFor()

  await tag('VIP').click()
  await input.pressSequentially('v')
  await suggestion('VIP').waitFor()
  await input.press('Escape')
  await suggestion('VIP').waitFor({ state: 'detached' })
  // The dialog closes with the next one, after the question about what was entered.
  await input.press('Escape')
  await page.getByRole('dialog', { name: 'Discard changes?' }).getByRole('button', { name: 'Discard changes' }).click()
  await dialog.waitFor({ state: 'detached' })
})

test('a notice stays while the pointer or the focus is in it', { skip }, async (t) => {
  const { page } = await openDashboard(t, '/sign-in')
  await page.clock.install()
  await page.goto('/settings/workspace')
  await page.getByLabel('New keyword').fill('BAJA')
  await page.getByLabel('New keyword').press('Enter')
  const notice = page.locator('.toast', { hasText: 'Saved' })
  const dismiss = notice.getByRole('button', { name: 'Dismiss' })
  await dismiss.focus()
  await page.clock.fastForward(60_000)
  assert.equal(await notice.isVisible(), true)
  await notice.hover()
  await dismiss.blur()
  await page.getByLabel('New keyword').hover()
  await page.clock.fastForward(60_000)
  await notice.waitFor({ state: 'detached' })
})

test('figures that change have one width, and the hyphens of texts are narrow', { skip }, async (t) => {
  const { page } = await openDashboard(t, '/settings/workspace')
  await page.getByRole('heading', { level: 1, name: 'Workspace' }).waitFor()
  const widths = await page.evaluate<Record<string, number>>(`document.fonts.ready.then(() => {
    const widthOf = (text, tag, className) => {
      const element = Object.assign(document.createElement(tag), { textContent: text.repeat(20), className })
      element.style.cssText = 'position: absolute; white-space: nowrap'
      document.querySelector('main').append(element)
      const { width } = element.getBoundingClientRect()
      element.remove()
      return width
    }
    const ofTag = (tag, className = '') => ['-', '0', '1'].map((text) => widthOf(text, tag, className))
    const [hyphen, zero] = ofTag('p')
    const [, timeZero, timeOne] = ofTag('time')
    const [, countZero, countOne] = ofTag('span', 'numeric')
    return { hyphen: hyphen / zero, time: timeOne / timeZero, count: countOne / countZero }
  })`)
  assert.ok((widths.hyphen ?? 1) < 0.85, `a hyphen has ${widths.hyphen} of the width of a figure`)
  assert.deepEqual([widths.time, widths.count], [1, 1])
})

/** The contrasts of the outlines of badges and of the empty bars of a health strip with the card around them. */
const contrasts = `(() => {
  const channels = (color) => /^color/.test(color)
    ? color.match(/[\\d.]+/g).slice(0, 3).map(Number)
    : color.match(/[\\d.]+/g).slice(0, 3).map((value) => value / 255)
  const light = (color) => {
    const [r, g, b] = channels(color).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const card = document.createElement('div')
  card.className = 'card'
  document.body.append(card)
  const tones = ['', 'green', 'blue', 'amber', 'red', 'accent'].map((tone) => '<span class="badge" data-tone="' + tone + '">x</span>')
  card.innerHTML = tones.join('').replace(' data-tone=""', '') + '<div class="hooks-strip"><span></span></div>'
  const behind = light(getComputedStyle(card).backgroundColor)
  const found = [...card.querySelectorAll('span')].map((span) => {
    const outline = light(getComputedStyle(span).boxShadow.match(/(color|rgba?)\\([^)]*\\)/)[0])
    return (Math.max(outline, behind) + 0.05) / (Math.min(outline, behind) + 0.05)
  })
  card.remove()
  return found
})()`

test('badges and empty health strips stand out from their card in both themes', { skip }, async (t) => {
  const { page } = await openDashboard(t, '/webhooks')
  await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const found = await page.evaluate<number[]>(contrasts)
    assert.equal(found.length, 7)
    assert.ok(Math.min(...found) >= 3, `${colorScheme}: ${found.map((value) => value.toFixed(2)).join()}`)
  }
})
