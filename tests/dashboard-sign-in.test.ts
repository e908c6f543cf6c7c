/** The pages in front of the door: signing in and out, the first run, an invitation, in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, skip, visit } from './dashboard.ts'
import { createWorkspace, sha256, totpCodeOf, totpStepOf } from './internals.ts'
import { startMailServer } from './mail-server.ts'
import { startOidcServer } from './oidc-server.ts'
import { createBrowser, setupToken, until } from './support.ts'

test('after sign-in a visitor reaches the requested page, and can sign out again', { skip }, async (t) => {
  const { page, owner } = await openDashboard(t, '/settings/workspace?x=1', { as: null })
  const password = page.getByLabel('Password', { exact: true })
  const enter = page.getByRole('button', { name: 'Sign in', exact: true })
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.locator('[name=email]:focus').waitFor()

  await page.keyboard.type(owner.email)
  await password.fill('not this one')
  await page.getByRole('button', { name: 'Show password' }).click()
  assert.equal(await password.getAttribute('type'), 'text')
  await enter.click()
  await page.getByRole('alert').filter({ hasText: 'Wrong email or password' }).waitFor()
  assert.equal(await password.getAttribute('aria-invalid'), 'true')

  await password.fill(owner.password)
  await password.press('Enter')
  await page.getByRole('heading', { name: 'Workspace', level: 1 }).waitFor()
  await page.waitForURL('**/settings/workspace?x=1')

  // A draft survives a reload, and this browser does not keep it.
  await page.goto('/broadcasts/new')
  await page.getByLabel('Name').first().fill('Between us')
  await page.waitForURL('**/broadcasts/new?draft=*')
  await page.getByText('Draft saved').waitFor()
  await page.reload()
  await until('the draft', async () => (await page.getByLabel('Name').first().inputValue()) === 'Between us')
  const isLeft = () =>
    page.evaluate<boolean>("JSON.stringify([{ ...sessionStorage }, { ...localStorage }]).includes('Between us')")
  assert.equal(await isLeft(), false)
  await page.getByRole('button', { name: /^Your account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  assert.equal(await isLeft(), false)
  await page.goto('/settings/keys')
  await page.waitForURL('**/sign-in?to=%2Fsettings%2Fkeys')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  // This server cannot send a link.
  await page.goto('/forgot-password')
  await page.getByText('This server does not send email.').waitFor()
  assert.equal(await page.getByRole('textbox').count(), 0)
})

test('after too many wrong passwords the page shows when to try again', { skip }, async (t) => {
  const { page, db } = await openDashboard(t, '/sign-in', { as: null, width: 390, height: 844, dark: true })
  const email = 'unknown@acme.test'
  await db`
    insert into sign_in_failures (address, email_key, started_at, failure_count)
    values ('site 127.0.0', ${sha256(email)}, now(), 10)`
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill('anything')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText(/^Try again in \d+ s\.$/).waitFor()
  assert.ok(await page.getByRole('button', { name: 'Sign in', exact: true }).isDisabled())
  await assertAccessible(page)
  await assertFits(page)
})

test('an invitation is accepted once, and an invalid one shows an error', { skip }, async (t) => {
  const { page, url, owner, db, api } = await openDashboard(t, '/sign-in', { as: null, width: 390, height: 844 })
  const inviter = createBrowser(url, url)
  await inviter.signIn(owner)
  const invite = async (email: string): Promise<string> =>
    (await inviter.call('POST', '/members', { email, role: 'admin' })).body.data.invitation_url

  const link = await invite('sam@acme.test')
  await page.goto(link)
  await page.getByRole('heading', { name: 'Join Acme' }).waitFor()
  await page.getByText('You have been invited as Admin.').waitFor()
  await assertAccessible(page)
  await assertFits(page)
  await page.keyboard.type('Sam Admin')
  await page.getByLabel('Password', { exact: true }).fill('long enough')
  await page.getByRole('button', { name: 'Join' }).click()
  await page.locator('.inbox-search').waitFor()

  const late = await invite('late@acme.test')
  await db`update invitations set expires_at = now() - interval '1 minute' where workspace_id = ${api.workspaceId}`
  for (const gone of [link, late]) {
    await page.goto(gone)
    await page.getByRole('heading', { name: 'This invitation is no longer valid' }).waitFor()
  }
  await assertAccessible(page)
})

test('the first run creates a workspace with the setup code from the link or typed in', { skip }, async (t) => {
  const opening = { as: null, width: 390, height: 844 }
  const { page, db } = await openDashboard(t, '/setup', opening, { alone: 'deletes all workspaces' })
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
  const { page, window, owner, member, db, api } = await openDashboard(t, '/settings/workspace')
  const agent = await member('agent', 'Robin Agent')
  const require = page.getByRole('switch', { name: 'Require two-step sign-in' })
  await page.getByRole('link', { name: 'Set up two-step sign-in for yourself first' }).waitFor()
  assert.equal(await require.isDisabled(), true)

  await page.goto('/settings/profile')
  await page.getByRole('button', { name: 'Set up two-step sign-in' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Current password').and(page.locator(':focus')).waitFor()
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
  // The closing dialog covers the buttons of the page.
  await dialog.waitFor({ state: 'detached' })
  await assertAccessible(page)

  const phone = await window({ as: null, width: 390, height: 844, dark: true })
  await phone.goto('/sign-in?to=/settings/profile')
  await phone.getByLabel('Email').fill(owner.email)
  await phone.getByLabel('Password', { exact: true }).fill(owner.password)
  await phone.keyboard.press('Enter')
  await phone.getByRole('heading', { name: 'Two-step sign-in' }).waitFor()
  await phone.locator('[name=one-time-code]:focus').waitFor()
  await assertAccessible(phone)
  await assertFits(phone)
  await phone.keyboard.type('123123')
  await phone.keyboard.press('Enter')
  await phone.getByRole('alert').filter({ hasText: 'Wrong code' }).waitFor()
  await phone.getByLabel('Code', { exact: true }).fill(recoveryCode)
  await phone.keyboard.press('Enter')
  await phone.getByText('9 recovery codes left').waitFor()
  await assertFits(phone)

  await visit(page, '/settings/workspace')
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

  await visit(page, '/settings/members')
  await page.getByRole('row').filter({ hasText: 'Robin Agent' }).filter({ hasText: 'On' }).waitFor()
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Actions for Robin Agent' }).click()
  await page.getByRole('menuitem', { name: 'Reset two-step sign-in…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Reset', exact: true }).click()
  await page.getByText('Two-step sign-in of Robin Agent reset').waitFor()
  await robin.reload()
  await robin.getByText('Acme requires two-step sign-in.').waitFor()
  await visit(page, '/settings/audit')
  await page.getByText('reset the two-step sign-in of').waitFor()
  assert.equal((await db`select from member_second_factors where workspace_id = ${api.workspaceId}`).length, 1)
})

test('a forgotten password is reset with the link of an e-mail, and an invitation is sent by e-mail', {
  skip,
}, async (t) => {
  const mail = await startMailServer(t)
  const { page, window, owner } = await openDashboard(t, '/settings/members', {}, { smtp: mail.settings })
  await page.getByRole('button', { name: 'Invite member' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('The new member gets an email with a link.').waitFor()
  await dialog.getByLabel('Email').fill('ann@new.test')
  await dialog.getByRole('button', { name: 'Send invitation' }).click()
  await page.getByText('An email with a link is on its way to ann@new.test.').waitFor()
  await assertAccessible(page)
  const { link } = await mail.next('ann@new.test')
  const shared = (await page.locator('.secret code').textContent()) ?? ''
  assert.match(shared, /\/invitations\/\w{43}$/)
  assert.notEqual(shared, link)
  await page.getByRole('button', { name: 'Done' }).click()
  mail.refuse('mailbox full')
  await page.getByRole('button', { name: 'Invite member' }).click()
  await dialog.getByLabel('Email').fill('bob@new.test')
  await dialog.getByRole('button', { name: 'Send invitation' }).click()
  await page.getByText('The email to bob@new.test could not be sent: 550 mailbox full.').waitFor()
  await assertAccessible(page)
  mail.refuse(undefined)

  const phone = await window({ as: null, width: 390, height: 844, dark: true })
  await phone.goto('/sign-in')
  await phone.getByRole('link', { name: 'Forgot your password?' }).click()
  await phone.getByRole('heading', { name: 'Reset your password' }).waitFor()
  await phone.locator('[name=email]:focus').waitFor()
  await assertAccessible(phone)
  await assertFits(phone)
  await phone.keyboard.type(owner.email)
  await phone.keyboard.press('Enter')
  await phone.getByRole('heading', { name: 'Check your email' }).waitFor()
  await assertAccessible(phone)
  const reset = await mail.next(owner.email)
  await phone.goto(reset.link)
  await phone.getByLabel('New password').and(phone.locator(':focus')).waitFor()
  await assertAccessible(phone)
  await assertFits(phone)
  await phone.keyboard.type('Password1')
  await phone.keyboard.press('Enter')
  await phone.getByRole('alert').filter({ hasText: 'Too common' }).waitFor()
  await phone.getByLabel('New password').fill('a brand new one')
  await phone.keyboard.press('Enter')
  await phone.getByRole('heading', { name: 'Password changed' }).waitFor()
  await phone.getByRole('link', { name: 'Sign in' }).click()
  await phone.getByLabel('Email').fill(owner.email)
  await phone.getByLabel('Password', { exact: true }).fill('a brand new one')
  await phone.keyboard.press('Enter')
  await phone.locator('.inbox-search').waitFor()
  await phone.goto(reset.link)
  await phone.getByRole('heading', { name: 'This link is no longer valid' }).waitFor()
  await assertAccessible(phone)
})

test('a person continues with the provider, sees why a sign-in failed, and reaches the requested page', {
  skip,
}, async (t) => {
  const provider = await startOidcServer(t)
  provider.people.set('ann', { email: 'ann@acme.test', email_verified: true, name: 'Ann Agent' })
  provider.people.set('bob', { email: 'bob@acme.test', email_verified: false })
  const opening = { as: null, width: 390, height: 844, dark: true }
  const { page, window, member } = await openDashboard(t, '/settings/profile?x=1', opening, { oidc: provider.settings })
  const proceed = page.getByRole('link', { name: 'Continue with Acme ID' })
  const logIn = async (subject: string) => {
    await proceed.click()
    await page.getByRole('heading', { name: 'Acme ID' }).waitFor()
    await page.getByLabel('User').fill(subject)
    await page.getByRole('button', { name: 'Log in' }).click()
  }
  await proceed.waitFor()
  await page.locator('[name=email]:focus').waitFor()
  await assertAccessible(page)
  await assertFits(page)

  await logIn('')
  await page.getByRole('alert').filter({ hasText: 'You canceled the sign-in' }).waitFor()
  await assertAccessible(page)
  await assertFits(page)
  await logIn('bob')
  await page.getByRole('alert').filter({ hasText: 'no verified email address' }).waitFor()
  await page.context().clearCookies()
  await logIn('ann')
  await page.getByRole('heading', { name: 'Profile', level: 1 }).waitFor()
  await page.waitForURL('**/settings/profile?x=1')
  await page.getByText('You sign in with single sign-on.').waitFor()
  assert.equal(await page.getByLabel('Current password').count(), 0)
  await assertAccessible(page)

  // A password works beside it, and an unknown code from elsewhere is not shown.
  const other = await window({ as: null })
  const { email, password } = await member('agent')
  await other.goto('/sign-in?error=%3Cb%3Enonsense')
  await other.getByRole('alert').filter({ hasText: 'The sign-in with Acme ID failed.' }).waitFor()
  await assertAccessible(other)
  await other.getByLabel('Email').fill(email)
  await other.getByLabel('Password', { exact: true }).fill(password)
  await other.keyboard.press('Enter')
  // A window that closes while its page loads complains.
  await other.locator('.inbox-search').waitFor()
})

test('a member of several workspaces chooses one, after the password and after single sign-on', { skip }, async (t) => {
  const provider = await startOidcServer(t)
  const opening = { as: null, width: 390, height: 844 }
  const { page, window, owner, db } = await openDashboard(t, '/sign-in', opening, { oidc: provider.settings })
  provider.people.set('owner', { email: owner.email, email_verified: true })
  await db.begin((sql) => createWorkspace(sql, { name: 'Second', default_country: 'US', owner }))
  await page.getByLabel('Email').fill(owner.email)
  await page.getByLabel('Password', { exact: true }).fill(owner.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Choose a workspace' }).waitFor()
  await page.locator('.sign-in-choices button:focus', { hasText: 'Second' }).waitFor()
  await assertAccessible(page)
  await assertFits(page)
  await page.getByRole('button', { name: 'Back' }).click()
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Acme', exact: true }).click()
  await page.locator('.inbox-search').waitFor()
  const nameOf = (shown: Page) =>
    shown.evaluate<string>("fetch('/app/api/session').then((r) => r.json()).then(({ data }) => data.workspace.name)")
  assert.equal(await nameOf(page), 'Acme')

  const other = await window({ ...opening, dark: true })
  await other.goto('/settings/profile')
  await other.getByRole('link', { name: 'Continue with Acme ID' }).click()
  await other.getByLabel('User').fill('owner')
  await other.getByRole('button', { name: 'Log in' }).click()
  await other.getByRole('button', { name: 'Second', exact: true }).waitFor()
  await assertAccessible(other)
  await assertFits(other)
  await other.getByRole('button', { name: 'Second', exact: true }).click()
  await other.getByRole('heading', { name: 'Profile', level: 1 }).waitFor()
  assert.equal(await nameOf(other), 'Second')
  await other.goto('/sign-in?choose=workspace')
  await other.getByRole('alert').filter({ hasText: 'took more than 10 minutes' }).waitFor()
})

/** The code of the authenticator app. */
const codeOf = (secret: string, offset: number) => totpCodeOf(secret, totpStepOf(Date.now()) + offset)
