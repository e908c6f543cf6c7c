/** E-mail: invitations and password resets through a real SMTP server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, assertRefused } from './assertions.ts'
import { createWorkspace, resetPassword } from './internals.ts'
import { startMailServer } from './mail-server.ts'
import { createBrowser, createMember, type Json, main, signIn, startSignedIn, until } from './support.ts'

const pathOf = (link: string) => new URL(link).pathname

test('an invitation is sent by e-mail, and the inviter keeps the link when that fails', async (t) => {
  const mail = await startMailServer(t)
  const world = await startSignedIn(t, { smtp: mail.settings })
  await world.ask('PATCH', '/workspace', { name: 'Acme <b>& "Sons"</b>' })
  await world.ask('PATCH', '/profile', { name: '<script>alert(1)</script>' })
  const invite = async (email: string) => (await world.ask('POST', '/members', { email, role: 'agent' }, 201)).data
  const invited = await invite('ann@new.test')
  assert.deepEqual([invited.email_status, invited.email_error], ['sent', null])
  const received = await mail.next('ann@new.test')
  assert.deepEqual([received.from, received.to], ['parley@acme.test', ['ann@new.test']])
  // Only the person sees the link of the e-mail. Both are for the same invitation.
  assert.match(received.link, /^http:\/\/parley\.test\/invitations\/[0-9A-Za-z]{43}$/)
  assert.notEqual(received.link, invited.invitation_url)
  const [row] = await world.db`
    select row_to_json(i)::text as text from invitations i where workspace_id = ${world.api.workspaceId}`
  for (const link of [received.link, invited.invitation_url]) {
    assert.equal((await createBrowser(world.url).call('GET', pathOf(link))).body.data.email, 'ann@new.test')
    assert.ok(!row?.text.includes(link.split('/').at(-1)))
  }
  const [, html = ''] = received.source.split('<!doctype html>')
  assert.match(html, /Acme &lt;b&gt;&amp; &quot;Sons&quot;&lt;\/b&gt;/)
  assert.doesNotMatch(html, /<script>|<b>/)
  assert.match(received.source, /^From: Parley <parley@acme.test>$/m)
  assert.match(received.source, /^Auto-Submitted: auto-generated$/m)
  const profile = { name: 'Ann', password: 'long enough' }
  const joined = await createBrowser(world.url).call('POST', pathOf(received.link), profile)
  assert.equal(joined.status, 201, joined.text)
  assertRefused(await createBrowser(world.url).call('GET', pathOf(invited.invitation_url)), 404, 'not_found')

  mail.refuse('mailbox full')
  const failed = await invite('bob@new.test')
  assert.equal(failed.email_status, 'failed')
  assert.match(failed.email_error, /550 mailbox full/)
  const shown = await createBrowser(world.url).call('GET', pathOf(failed.invitation_url))
  assert.equal(shown.body.data.email, 'bob@new.test')
  // A comma adds no second recipient.
  assertBadRequest(await world.browser.call('POST', '/members', { email: 'a@b.test,c@d.test', role: 'agent' }))
  assert.equal(mail.mails.length, 1)

  const silent = await startSignedIn(t)
  const unsent = await silent.ask('POST', '/members', { email: 'ann@new.test', role: 'agent' }, 201)
  assert.equal(unsent.data.email_status, 'off')
  assert.equal((await silent.get('/setup')).sends_email, false)
  assert.equal((await world.get('/setup')).sends_email, true)
})

test('a mail server that is gone, or refuses the password, is named in the response', async (t) => {
  const mail = await startMailServer(t)
  const url = new URL(mail.settings.url)
  url.password = 'secret-but-wrong'
  const world = await startSignedIn(t, { smtp: { ...mail.settings, url: url.href } })
  const { data } = await world.ask('POST', '/members', { email: 'ann@new.test', role: 'agent' }, 201)
  assert.equal(data.email_status, 'failed')
  assert.match(data.email_error, /wrong credentials/)
  assert.doesNotMatch(data.email_error, /secret-but-wrong/)
  const gone = await startSignedIn(t, { smtp: { ...mail.settings, url: 'smtp://127.0.0.1:1' } })
  const refused = (await gone.ask('POST', '/members', { email: 'ann@new.test', role: 'agent' }, 201)).data
  assert.match(refused.email_error, /ECONNREFUSED/)
})

test('a member resets a forgotten password by e-mail, once, and all sessions end', main, async (t) => {
  const mail = await startMailServer(t)
  const world = await startSignedIn(t, { smtp: mail.settings })
  const { owner, browser, db, url } = world
  const visitor = createBrowser(url)
  const ask = (email: string) => visitor.call('POST', '/password-resets', { email })
  const known = await ask(` ${owner.email.toUpperCase()} `)
  const unknown = await ask('unknown@acme.test')
  assert.deepEqual([known.status, known.text], [202, unknown.text])
  const first = await mail.next(owner.email)
  assert.match(first.source, /^Auto-Submitted: auto-generated$/m)
  await ask(owner.email)
  const second = await mail.next(owner.email)
  // A new link replaces the one before.
  assertRefused(await visitor.call('GET', pathOf(first.link)), 404, 'not_found')
  const path = pathOf(second.link)
  assert.deepEqual((await visitor.call('GET', path)).body.data, { email: owner.email })
  assertBadRequest(await visitor.call('POST', path, { password: 'Password1' }), /too common/)
  const wanted = 'a brand new one'
  const answers = await Promise.all([1, 2, 3].map(() => visitor.call('POST', path, { password: wanted })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404])
  assertRefused(await browser.call('GET', '/session'), 401, 'unauthorized')
  assertRefused(await createBrowser(url).signIn(owner), 401, 'unauthorized')
  assert.equal((await visitor.signIn({ ...owner, password: wanted })).status, 200)
  const entries = (await visitor.call('GET', '/audit')).body.data.map(({ action, summary }: Json) => [action, summary])
  assert.deepEqual(entries[1], ['member.password_reset', 'by e-mail'])
  const recipients = mail.mails.map(({ to }) => to.join())
  assert.deepEqual(recipients, [owner.email, owner.email])

  // The token is stored as a hash, and expires.
  await ask(owner.email)
  const third = await mail.next(owner.email)
  const [stored] = await db`select row_to_json(r)::text as text from password_resets r`
  assert.ok(!stored?.text.includes(third.link.split('/').at(-1)))
  await db`update password_resets set expires_at = now() - interval '1 second'`
  assertRefused(await visitor.call('POST', pathOf(third.link), { password: wanted }), 404, 'not_found')
})

test('a link ends with every change of the password, for all workspaces it is for', async (t) => {
  const mail = await startMailServer(t)
  const world = await startSignedIn(t, { smtp: mail.settings })
  const { owner, browser, db, url } = world
  const visitor = createBrowser(url)
  await db.begin((sql) => createWorkspace(sql, { name: 'Second', default_country: 'US', owner }))
  const request = async () => {
    await visitor.call('POST', '/password-resets', { email: owner.email })
    const path = pathOf((await mail.next(owner.email)).link)
    assert.equal((await visitor.call('GET', path)).status, 200)
    return path
  }
  const assertGone = async (path: string) => {
    assertRefused(await visitor.call('GET', path), 404, 'not_found')
    assertRefused(await visitor.call('POST', path, { password: 'chosen by a thief' }), 404, 'not_found')
  }
  const first = await request()
  const changes = { current_password: owner.password, new_password: 'a brand new one' }
  assert.equal((await browser.call('PATCH', '/profile', { name: 'Ann' })).status, 200)
  assert.equal((await visitor.call('GET', first)).status, 200)
  assert.equal((await browser.call('PATCH', '/profile', changes)).status, 200)
  await assertGone(first)
  const second = await request()
  await resetPassword(db, owner.email)
  await assertGone(second)
})

test('links go to the stored address only, and only to members with exactly that address', async (t) => {
  const mail = await startMailServer(t)
  const world = await startSignedIn(t, { smtp: mail.settings })
  const { db, api, url } = world
  const other = await world.workspace()
  // Both fold to the same text, but they are two mailboxes.
  const [victim, attacker] = ['ann@straße.test', 'ann@strasse.test']
  const [row] = await db`select email_key from members where workspace_id = ${api.workspaceId}`
  assert.ok(row)
  await db`update members set email = ${victim}, email_key = 'ann@strasse.test' where workspace_id = ${api.workspaceId}`
  await db`update members set email = ${attacker}, email_key = 'ann@strasse.test' where workspace_id = ${other.api.workspaceId}`
  await createBrowser(url).call('POST', '/password-resets', { email: attacker })
  const { link } = await mail.next(attacker)
  await until('both e-mails', async () => mail.mails.length === 2)
  assert.equal((await createBrowser(url).call('POST', pathOf(link), { password: 'chosen by another' })).status, 200)
  const guess = { email: victim, password: 'chosen by another', workspace_id: api.workspaceId }
  assertRefused(await createBrowser(url).call('POST', '/session', guess), 401, 'unauthorized')
  assert.equal((await createBrowser(url).signIn({ email: attacker, password: 'chosen by another' })).status, 200)
})

test('an address that another person took is no member’s address: no link is sent, and no new password opens that workspace', async (t) => {
  const mail = await startMailServer(t)
  const world = await startSignedIn(t, { smtp: mail.settings })
  const { url, db } = world
  const [email, chosen] = ['ann@corp.test', 'chosen by the inviter']
  const invite = async (by = world.browser) =>
    (await by.call('POST', '/members', { email, role: 'agent' })).body.data.invitation_url
  const accept = (link: string, password: string) =>
    createBrowser(url).call('POST', pathOf(link), { name: 'Ann', password })
  const ask = () => createBrowser(url).call('POST', '/password-resets', { email })

  // Ann joins with the link of the e-mail.
  await invite()
  assert.equal((await accept((await mail.next(email)).link, 'long enough')).status, 201)
  // The owner of another workspace invites Ann and accepts the link that the inviter sees.
  const other = await world.workspace({ name: 'Evil' })
  const mallory = createBrowser(url)
  await mallory.signIn(other.owner)
  const planted = await invite(mallory)
  await mail.next(email)
  assert.equal((await accept(planted, chosen)).body.data.workspace.name, 'Evil')

  await ask()
  const { link } = await mail.next(email)
  assert.equal((await createBrowser(url).call('POST', pathOf(link), { password: 'a brand new one' })).status, 200)
  const entered = await createBrowser(url).signIn({ email, password: 'a brand new one' })
  assert.deepEqual([entered.status, entered.body.data.workspace.name], [200, 'Acme'])
  assert.equal((await createBrowser(url).signIn({ email, password: chosen })).body.data.workspace.name, 'Evil')

  // Without a proved address no e-mail is sent: the next one is that of a member who has one.
  await db`delete from members where workspace_id = ${world.api.workspaceId} and email = ${email}`
  const sent = mail.mails.length
  assert.equal((await ask()).status, 202)
  await createBrowser(url).call('POST', '/password-resets', { email: world.owner.email })
  await mail.next(world.owner.email)
  assert.equal(mail.mails.length, sent + 1)
  assert.equal((await db`select 1 from password_resets where workspace_id = ${other.api.workspaceId}`).length, 0)
})

test('the operator resets the password of the members with a proved address, and else proves it', async (t) => {
  const world = await startSignedIn(t)
  const { url, db, owner } = world
  const other = await world.workspace({ name: 'Evil' })
  const mallory = await signIn({ url, owner: other.owner })
  const join = (email: string) => createMember(mallory, 'agent', { email, password: 'long enough' })
  const planted = await join(owner.email)
  const reset = await resetPassword(db, owner.email)
  assert.equal((await createBrowser(url).signIn(reset)).body.data.workspace.id, world.api.workspaceId)
  assert.equal((await planted.call('GET', '/session')).status, 200)
  assertRefused(await world.browser.call('GET', '/session'), 401, 'unauthorized')

  const email = `ann@${crypto.randomUUID()}.test`
  const ann = await join(email)
  const given = await resetPassword(db, email)
  assertRefused(await ann.call('GET', '/session'), 401, 'unauthorized')
  assert.equal((await createBrowser(url).signIn(given)).body.data.workspace.name, 'Evil')
  const [row] = await db`
    select email_proved_at from members where workspace_id = ${other.api.workspaceId} and email = ${email}`
  assert.ok(row?.email_proved_at)
})

test('requests for a new password are limited per address, known or not', async (t) => {
  const mail = await startMailServer(t)
  const world = await startSignedIn(t, { smtp: mail.settings })
  const ask = (email: string) => createBrowser(world.url).call('POST', '/password-resets', { email })
  for (const email of [world.owner.email, 'unknown@acme.test']) {
    for (let i = 0; i < 3; i++) assert.equal((await ask(email)).status, 202)
    const refused = await ask(email)
    assertRefused(refused, 429, 'rate_limited')
    assert.ok(Number(refused.headers.get('retry-after')) > 60)
  }
  for (let i = 0; i < 14; i++) assert.equal((await ask(`${i}@acme.test`)).status, 202)
  assertRefused(await ask('last@acme.test'), 429, 'rate_limited')
  const silent = await startSignedIn(t)
  const asked = createBrowser(silent.url).call('POST', '/password-resets', { email: silent.owner.email })
  assertBadRequest(await asked, /sends no email/)
})
