/** The pages in front of the door: signing in and out, the first run, an invitation, in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFits, openDashboard, skip } from './dashboard.ts'
import { sha256, totpCodeOf, totpStepOf } from './internals.ts'
import { createBrowser, setupToken } from './support.ts'

test('after sign-in a visitor reaches the requested page, and can sign out again', { skip }, async (t) => {
  const { window, owner } = await openDashboard(t, '/settings/plan')
  const page = await window({ as: null })
  await page.goto('/settings/workspace?x=1')
  const password = page.getByLabel('Password', { exact: true })
  const enter = page.getByRole('button', { name: 'Sign in', exact: true })
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  assert.equal(await page.evaluate('document.activeElement.name'), 'email')
  await assertAccessible(page)

  await page.keyboard.type(owner.email)
  await password.fill('not this one')
  await page.getByRole('button', { name: 'Show password' }).click()
  assert.equal(await password.getAttribute('type'), 'text')
  await enter.click()
  await page.getByRole('alert').filter({ hasText: 'Wrong e-mail or password' }).waitFor()
  assert.equal(await password.getAttribute('aria-invalid'), 'true')

  await password.fill(owner.password)
  await password.press('Enter')
  await page.getByRole('heading', { name: 'Workspace', level: 1 }).waitFor()
  assert.equal(page.url().replace(/^.*\/\/[^/]*/, ''), '/settings/workspace?x=1')

  // A draft survives a reload, and the next member in this browser does not see it.
  await page.goto('/broadcasts/new')
  await page.getByLabel('Name').first().fill('Between us')
  await page.reload()
  assert.equal(await page.getByLabel('Name').first().inputValue(), 'Between us')
  const isLeft = () => page.evaluate<boolean>("JSON.stringify({ ...sessionStorage }).includes('Between us')")
  assert.equal(await isLeft(), true)
  await page.getByRole('button', { name: /^Your account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  assert.equal(await isLeft(), false)
  await page.goto('/settings/keys')
  await page.waitForURL('**/sign-in?to=%2Fsettings%2Fkeys')
})

test('after too many wrong passwords the page shows when to try again', { skip }, async (t) => {
  const { window, db } = await openDashboard(t)
  const page = await window({ as: null, width: 390, height: 844, dark: true })
  const email = 'unknown@acme.test'
  await db`
    insert into sign_in_failures (address, email_key, started_at, failure_count)
    values ('127.0.0.1', ${sha256(email)}, now(), 10)`
  await page.goto('/sign-in')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill('anything')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText(/^Try again in \d+ s\.$/).waitFor()
  assert.ok(await page.getByRole('button', { name: 'Sign in', exact: true }).isDisabled())
  await assertAccessible(page)
  await assertFits(page)
})

test('an invitation is accepted once, and an invalid one shows an error', { skip }, async (t) => {
  const { window, url, owner, db } = await openDashboard(t)
  const inviter = createBrowser(url, url)
  await inviter.signIn(owner)
  const invite = async (email: string): Promise<string> =>
    (await inviter.call('POST', '/members', { email, role: 'admin' })).body.data.invitation_url

  const page = await window({ as: null, width: 390, height: 844 })
  const link = await invite('sam@acme.test')
  await page.goto(link)
  await page.getByRole('heading', { name: 'Join Acme' }).waitFor()
  await page.getByText('You have been invited as Admin.').waitFor()
  await assertAccessible(page)
  await assertFits(page)
  await page.keyboard.type('Sam Admin')
  await page.getByLabel('Password', { exact: true }).fill('long enough')
  await page.getByRole('button', { name: 'Join' }).click()
  await page.waitForURL('**/inbox')

  const late = await invite('late@acme.test')
  await db`update invitations set expires_at = now() - interval '1 minute'`
  for (const gone of [link, late]) {
    await page.goto(gone)
    await page.getByRole('heading', { name: 'This invitation is no longer valid' }).waitFor()
  }
  await assertAccessible(page)
})

test('the first run creates a workspace with the setup code from the link or typed in', { skip }, async (t) => {
  const { window, db } = await openDashboard(t)
  const page = await window({ as: null, width: 390, height: 844 })
  await page.goto('/setup')
  await page.getByRole('heading', { name: 'Parley is already set up' }).waitFor()
  await db`delete from workspaces`
  await page.goto('/sign-in')
  await page.getByRole('heading', { name: 'Welcome to Parley' }).waitFor()
  await page.getByLabel('Setup code').waitFor()
  await assertAccessible(page)
  await assertFits(page)

  await page.goto('/setup?token=wrong')
  await page.getByLabel('Workspace name').fill('Acme Bakery')
  await page.getByLabel('Country').selectOption({ label: 'Portugal' })
  await page.getByLabel('Your name').fill('Dana Owner')
  await page.getByLabel('Email').fill('dana@acme.test')
  await page.getByLabel('Password', { exact: true }).fill('long enough')
  const create = page.getByRole('button', { name: 'Create workspace' })
  await create.click()
  await page.getByRole('alert').filter({ hasText: 'Wrong; use the link that the service printed' }).waitFor()
  await page.getByLabel('Setup code').fill(setupToken)
  await create.click()
  await page.waitForURL('**/settings/channels')
  await page.getByRole('heading', { name: 'Channels' }).waitFor()
  const [made] = await db`select name, default_country from workspaces`
  assert.deepEqual({ ...made }, { name: 'Acme Bakery', default_country: 'PT' })
})

test('a member sets up two-step sign-in and signs in with a code; the workspace requires it, and an owner resets it', {
  skip,
}, async (t) => {
  const { page, window, owner, member, db } = await openDashboard(t, '/settings/workspace')
  const agent = await member('agent', 'Robin Agent')
  const require = page.getByRole('switch', { name: 'Require two-step sign-in' })
  await page.goto('/settings/workspace')
  await page.getByRole('link', { name: 'Set up two-step sign-in for yourself first' }).waitFor()
  assert.equal(await require.isDisabled(), true)

  await page.goto('/settings/profile')
  await page.getByRole('button', { name: 'Set up two-step sign-in' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Current password').fill('not this one')
  await page.keyboard.press('Enter')
  await dialog.getByRole('alert').filter({ hasText: 'Wrong' }).waitFor()
  await dialog.getByLabel('Current password').fill(owner.password)
  await page.keyboard.press('Enter')
  await dialog.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor()
  await assertAccessible(page)
  await dialog.getByText('Cannot scan the QR code?').click()
  const secret = (await dialog.locator('.secret code').textContent()) ?? ''
  await dialog.getByLabel('Code', { exact: true }).fill('000000')
  await page.keyboard.press('Enter')
  await dialog.getByRole('alert').filter({ hasText: 'Wrong, or used already' }).waitFor()
  await dialog.getByLabel('Code', { exact: true }).fill(codeOf(secret, 0))
  await page.keyboard.press('Enter')
  const codes = dialog.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem')
  await codes.first().waitFor()
  assert.equal(await codes.count(), 10)
  const recoveryCode = (await codes.first().textContent()) ?? ''
  await page.keyboard.press('Escape')
  await assertAccessible(page)
  await dialog.getByRole('button', { name: 'I have stored the codes' }).click()
  await page.getByText('10 recovery codes left').waitFor()
  await assertAccessible(page)

  const phone = await window({ as: null, width: 390, height: 844, dark: true })
  await phone.goto('/sign-in?to=/settings/profile')
  await phone.getByLabel('Email').fill(owner.email)
  await phone.getByLabel('Password', { exact: true }).fill(owner.password)
  await phone.keyboard.press('Enter')
  await phone.getByRole('heading', { name: 'Two-step sign-in' }).waitFor()
  assert.equal(await phone.evaluate('document.activeElement.name'), 'one-time-code')
  await assertAccessible(phone)
  await assertFits(phone)
  await phone.keyboard.type('123123')
  await phone.keyboard.press('Enter')
  await phone.getByRole('alert').filter({ hasText: 'Wrong code' }).waitFor()
  await phone.getByLabel('Code', { exact: true }).fill(recoveryCode)
  await phone.keyboard.press('Enter')
  await phone.getByText('9 recovery codes left').waitFor()
  await assertFits(phone)

  await page.goto('/settings/workspace')
  await require.click()
  await page.getByText('Changes saved').waitFor()
  await assertAccessible(page)
  const robin = await window({ as: agent, width: 390, height: 844 })
  await robin.goto('/inbox')
  await robin.getByText('Acme requires two-step sign-in.').waitFor()
  await assertAccessible(robin)
  await robin.getByRole('button', { name: 'Set up' }).click()
  await robin.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor()
  await assertAccessible(robin)
  await assertFits(robin)
  await robin.getByText('Cannot scan the QR code?').click()
  const theirs = (await robin.locator('.secret code').textContent()) ?? ''
  await robin.getByLabel('Code', { exact: true }).fill(codeOf(theirs, 0))
  await robin.keyboard.press('Enter')
  await robin.getByRole('list', { name: 'Recovery codes' }).waitFor()
  await assertFits(robin)
  await robin.getByRole('button', { name: 'I have stored the codes' }).click()
  await robin.getByRole('heading', { name: 'Inbox' }).first().waitFor()

  await page.goto('/settings/members')
  await page.getByRole('row').filter({ hasText: 'Robin Agent' }).filter({ hasText: 'On' }).waitFor()
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Actions for Robin Agent' }).click()
  await page.getByRole('menuitem', { name: 'Reset two-step sign-in…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Reset', exact: true }).click()
  await page.getByText('Two-step sign-in of Robin Agent reset').waitFor()
  await robin.reload()
  await robin.getByText('Acme requires two-step sign-in.').waitFor()
  await page.goto('/settings/audit')
  await page.getByRole('cell', { name: 'Reset a member’s two-step sign-in' }).waitFor()
  assert.equal((await db`select 1 from member_second_factors`).length, 1)
})

/** The code of the authenticator app. */
const codeOf = (secret: string, offset: number) => totpCodeOf(secret, totpStepOf(Date.now()) + offset)
