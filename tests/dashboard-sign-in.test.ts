/** The pages in front of the door: signing in and out, the first run, an invitation, in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFits, openDashboard, skip } from './dashboard.ts'
import { sha256 } from './internals.ts'
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
