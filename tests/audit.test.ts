/** The audit log: it records every change of a member and contains no secret. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settings as words } from '../dashboard/src/words/en/settings.ts'
import { assertBadRequest, assertRefused } from './assertions.ts'
import { sweepEntries } from './internals.ts'
import { type Browser, createBrowser, createMember, type Json, pluck, signIn, start, withProvider } from './support.ts'

/** Calls that are not recorded, each with its reason. */
const unrecorded: Record<string, string> = {
  'PATCH /preferences': 'only the pages of this member change',
  'POST /conversations/:id/read': 'looking at something changes nothing for others',
  'POST /conversations/:id/unread': 'a mark for members, as it is read',
  'POST /conversations/:id/messages': 'the conversation itself says who wrote what',
  'POST /conversations/:id/scheduled-messages': 'the thread shows who wrote the message',
  'PATCH /scheduled-messages/:id': 'the thread shows who wrote the message',
  'DELETE /scheduled-messages/:id': 'the message was never sent',
  'POST /scheduled-messages/:id/send': 'the conversation itself says who wrote what',
  'POST /conversations/:id/notes': 'the thread shows who wrote the note',
  'POST /mentions/read': 'it changes nothing for others',
  'POST /oidc/session': 'it writes its entries itself, as the callback of the provider does',
  'POST /presence': 'it is gone when the page is closed',
  'PUT /availability': 'the history of states has it',
  'POST /availability/input': 'the history of states has it',
  'POST /contacts/:id/conversations': 'the conversation itself says who wrote what',
  'PUT /conversations/:id/draft': 'only its author sees it',
  'POST /contacts/:id/notes': 'the note names its author and time',
  'POST /password-resets': 'an e-mail may be sent, nothing else changes',
  'POST /password-resets/:token': 'no session names the member, so it writes its entry itself',
  'POST /profile/second-factor': 'nothing changes until the member confirms a code',
  'POST /uploads': 'a file says nothing until it is sent',
  'POST /checklist/dismiss': 'a page looks different, nothing else does',
  'POST /templates/preview': 'nothing is kept',
  'POST /conversations/:id/templates/preview': 'nothing is kept',
  'POST /schedules/holidays': 'nothing is kept',
  'POST /segments/count': 'nothing is kept',
  'POST /targets/preview': 'nothing is kept',
  'POST /broadcasts/preview': 'nothing is sent or kept',
  'POST /broadcasts/drafts': 'a draft names its author, and nothing is sent',
  'PATCH /broadcasts/:id/draft': 'it is saved every second; the broadcast that is sent is recorded',
  'PUT /automations/:id/draft': 'it is saved while a member types; the version that is published is recorded',
  'POST /automations/:id/dry-run': 'nothing is sent or kept',
  'POST /automations/:id/preview': 'a preview changes nothing in the workspace',
  'POST /automations/:id/preview/messages': 'a preview changes nothing in the workspace',
  'POST /automations/:id/preview/start': 'a preview changes nothing in the workspace',
  'POST /automations/:id/preview/skip': 'a preview changes nothing in the workspace',
  'POST /automations/:id/runs': 'the run names its cause, and the thread shows what it did',
  'POST /conversations/:id/take-over': 'the run names the member',
  'POST /broadcasts/test': 'it is a message in its conversation, with who sent it',
}

test('every dashboard call that changes data is recorded, or is listed as an exception', async (t) => {
  const { memberRoutes } = await start(t)
  const silent = new Set<string>()
  const forgotten: string[] = []
  let count = 0
  for (const { method, url, config } of memberRoutes) {
    const name = `${method} ${url.replace('/app/api', '')}`
    const audit = config?.audit
    if (audit === false) silent.add(name)
    if (method === 'GET') continue
    count++
    if (audit === undefined) forgotten.push(name)
    if (audit) assert.match(typeof audit === 'string' ? audit : audit.action, /^[a-z]+\.[a-z_]+$/, name)
  }
  assert.ok(count >= 30, `${count}`)
  assert.deepEqual(forgotten, [], 'say in their config what the audit log says of them')
  assert.deepEqual([...silent].sort(), Object.keys(unrecorded).sort())
  const actions = memberRoutes.flatMap(({ config }) => (config?.audit ? [config.audit] : []))
  const unworded = actions
    .map((audit) => (typeof audit === 'string' ? audit : audit.action))
    .filter((action) => !(action in words.audit.actions))
  assert.deepEqual(unworded, [], 'add a sentence to words/en/settings-audit.ts')
  const kinds = Object.keys(words.audit.actions).map((action) => action.replace(/s?\..*/, ''))
  const unlisted = kinds.filter((kind) => !(kind in words.audit.objects))
  assert.deepEqual(unlisted, [], 'add the kind to the filter in words/en/settings-audit.ts')
})

const entriesOf = async (browser: Browser, query = ''): Promise<Json> => {
  const answer = await browser.call('GET', `/audit${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

test('the audit log names actor and action, and contains no secret and no customer data', async (t) => {
  const world = await start(t)
  const { url, owner, db, api } = world
  const browser = createBrowser(url)
  const cookie = (await browser.signIn(owner)).headers.get('set-cookie') ?? ''
  const { member: self } = (await browser.call('GET', '/session')).body.data
  const password = 'a long password'
  const made = async (method: string, path: string, body?: Json, who = browser) => {
    const answer = await who.call(method, path, body)
    assert.ok(answer.status < 300, answer.text)
    return answer.body.data
  }
  const invited = await made('POST', '/members', { email: 'ann@acme.test', role: 'admin' })
  const ann = createBrowser(url)
  const joined = await made('POST', `/invitations/${invited.invitation_token}`, { name: 'Ann', password }, ann)
  // What a schema does not name is not looked at, and not kept either.
  const key = await made('POST', '/keys', { name: 'CRM', scopes: ['contacts:read'], secret: 'unasked' }, ann)
  await made('POST', `/keys/${key.id}/revoke`, undefined, ann)
  await made('PATCH', `/members/${joined.member.id}`, { role: 'agent' })
  await made('PATCH', '/workspace', { name: 'Acme Ltd', opt_out_words: ['enough'], secret: 'unasked' })
  const newPassword = 'another password'
  await made('PATCH', '/profile', { new_password: newPassword, current_password: password }, ann)
  const hook = 'https://127.0.0.1:9/hooks/secret-path?token=secret-token'
  const webhook = await made('POST', '/webhooks', { url: hook, events: ['contact.created'] })
  await made('PATCH', `/webhooks/${webhook.id}`, { url: `${hook}2`, is_active: false })
  await made('DELETE', `/webhooks/${webhook.id}`)
  const contact = (await api.post('/contacts', { phone: '+14155550100', name: 'Bob Customer' })).body.data
  await made('PATCH', `/contacts/${contact.id}`, { name: 'Robert Customer', email: 'bob@customer.test' })
  // Nothing was changed, and no member was created.
  for (const path of [`/contacts/${contact.id}`, '/workspace', '/profile']) {
    await made('PATCH', path, {})
    await made('PATCH', path, { secret: 'unasked' })
  }
  await made('POST', '/contacts', { phone: '+14155550100' })
  await made('DELETE', `/members/${joined.member.id}`)
  // What was refused is not there.
  assertRefused(await ann.call('POST', '/keys', { name: 'No', scopes: [] }), 401, 'unauthorized')
  assertBadRequest(await browser.call('POST', '/keys', { name: ' ', scopes: [] }))
  assertRefused(await browser.call('DELETE', `/webhooks/${webhook.id}`), 404, 'not_found')

  const { data, meta } = await entriesOf(browser)
  const who = { [self.id]: owner.email, [joined.member.id]: 'ann@acme.test' }
  assert.deepEqual(
    data.toReversed().map((entry: Json) => [who[entry.member.id], entry.action, entry.subject_id, entry.summary]),
    [
      [owner.email, 'session.created', null, 'from 127.0.0.1'],
      [owner.email, 'member.invited', invited.id, 'ann@acme.test, admin'],
      ['ann@acme.test', 'member.joined', null, 'as admin'],
      ['ann@acme.test', 'key.created', key.id, 'CRM, contacts:read'],
      ['ann@acme.test', 'key.revoked', key.id, 'CRM'],
      [owner.email, 'member.role_changed', joined.member.id, 'ann@acme.test, agent'],
      [owner.email, 'workspace.changed', api.workspaceId, 'name: Acme Ltd, opt_out_words: enough'],
      ['ann@acme.test', 'profile.changed', null, 'new_password'],
      [owner.email, 'webhook.created', webhook.id, '127.0.0.1:9, contact.created'],
      [owner.email, 'webhook.changed', webhook.id, '127.0.0.1:9, url, is_active: false'],
      [owner.email, 'webhook.deleted', webhook.id, '127.0.0.1:9'],
      [owner.email, 'contact.changed', contact.id, 'name, email'],
      [owner.email, 'member.removed', joined.member.id, 'ann@acme.test'],
    ],
  )
  assert.equal(meta.next_cursor, null)
  // Who is gone is still named.
  assert.deepEqual(data.at(-4).member, { id: joined.member.id, email: 'ann@acme.test', name: null })
  assert.ok(Math.abs(Date.parse(data[0].at) - Date.now()) < 60_000)

  const rows = await db`select row_to_json(a)::text as text from audit_log a where workspace_id = ${api.workspaceId}`
  const everything = rows.map(({ text }) => text).join('\n')
  const token = /=([^;]+)/.exec(cookie)?.[1] ?? assert.fail()
  const secrets = [owner.password, password, newPassword, token, key.key, key.prefix, webhook.secret, 'unasked']
  for (const secret of [...secrets, invited.invitation_token, 'secret-path', 'secret-token', 'Customer', 'bob@']) {
    assert.ok(!everything.includes(secret), secret)
  }
})

test('the audit log names the changed segment or tag and counts the contacts added and removed', async (t) => {
  const { url, api, owner } = await start(t)
  const browser = createBrowser(url)
  const cookie = (await browser.signIn(owner)).headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const ask = async (method: string, path: string, body?: Json) => {
    const answer = await browser.call(method, path, body)
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  const contact = (await api.post('/contacts', { phone: '+14155550100', tags: ['VIP'] })).body.data
  const { data: segment } = await ask('POST', '/segments', { name: 'Friends' })
  const ids = { contact_ids: [contact.id] }
  await ask('POST', `/segments/${segment.id}/contacts`, ids)
  const download = async (path: string) =>
    assert.equal((await fetch(`${url}/app/api${path}`, { headers: { cookie } })).status, 200)
  await download('/contacts.csv')
  await download(`/contacts.csv?segment_id=${segment.id}`)
  await ask('DELETE', `/segments/${segment.id}/contacts`, ids)
  await ask('DELETE', `/segments/${segment.id}`)
  await ask('DELETE', `/tags/${contact.tags[0].id}`)
  const { data } = await entriesOf(browser)
  assert.deepEqual(
    data
      .toReversed()
      .map(({ action, summary }: Json) => [action, summary])
      .slice(1),
    [
      ['segment.created', 'Friends'],
      ['segment.contacts_added', 'Friends: 1 contacts'],
      ['contacts.exported', '1 contacts'],
      ['contacts.exported', 'Friends: 1 contacts'],
      ['segment.contacts_removed', 'Friends: 1 contacts'],
      ['segment.deleted', 'Friends'],
      ['tag.deleted', 'VIP'],
    ],
  )
})

test('the audit log is filtered by member, object and day of the workspace, names customers, and is exported', async (t) => {
  const { url, owner, db, api } = await start(t)
  const browser = createBrowser(url)
  const cookie = (await browser.signIn(owner)).headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const agent = await createMember(browser, 'agent', { name: 'Kim Agent' })
  const contact = (await api.post('/contacts', { phone: '+14155550100', name: 'Bob Customer' })).body.data
  const change = await agent.call('PATCH', `/contacts/${contact.id}`, { email: 'bob@customer.test' })
  assert.equal(change.status, 200, change.text)
  await browser.call('POST', '/segments', { name: 'Friends' })
  const namesOf = async (query: string) => pluck((await entriesOf(browser, query)).data, 'action')
  assert.deepEqual(await namesOf('?object=segment'), ['segment.created'])
  const { member, subject_name } = (await entriesOf(browser, '?object=contact')).data[0]
  assert.deepEqual([member.name, subject_name], ['Kim Agent', 'Bob Customer'])
  assert.deepEqual(await namesOf(`?member_id=${member.id}&object=contact`), ['contact.changed'])
  assert.ok((await namesOf(`?member_id=${member.id}`)).every((action) => !action.startsWith('segment.')))

  // Half an hour after midnight in Auckland is the day before in UTC.
  const changed = await browser.call('PATCH', '/workspace', { time_zone: 'Pacific/Auckland' })
  assert.equal(changed.body.data.time_zone, 'Pacific/Auckland')
  const id = (time: string) =>
    Date.parse(time)
      .toString(16)
      .padStart(12, '0')
      .replace(/^(.{8})/, '$1-')
  const late = '2026-03-01T11:30:00.000Z'
  await db`
    update audit_log set created_at = ${late}, id = (${id(late)} || substr(id::text, 14))::uuid
    where workspace_id = ${api.workspaceId} and action = 'segment.created'`
  assert.deepEqual(await namesOf('?day=2026-03-02'), ['segment.created'])
  for (const day of ['2026-03-01', '0002-03-01', '9999-12-31']) assert.deepEqual(await namesOf(`?day=${day}`), [])
  for (const query of ['?day=2026-02-31', '?day=0000-01-01', '?day=today', '?member_id=me']) {
    assertBadRequest(await browser.call('GET', `/audit${query}`))
  }
  for (const time_zone of ['Mars/Base', 'posixrules', '']) {
    assertBadRequest(await browser.call('PATCH', '/workspace', { time_zone }))
  }

  const download = (headers: Record<string, string>) => fetch(`${url}/app/api/audit.csv?object=contact`, { headers })
  const csv = await (await download({ cookie })).text()
  const [head, row, end] = csv.replace('\ufeff', '').split('\r\n')
  assert.equal(head, 'at,member,email,action,subject_id,subject_name,summary')
  assert.match(row ?? '', /,Kim Agent,[^,]+,contact\.changed,[^,]+,Bob Customer,email$/)
  assert.equal(end, '')
  assert.equal((await download({})).status, 401)
  assert.deepEqual(await namesOf('?object=audit'), ['audit.exported'])
  await api.patch(`/contacts/${contact.id}`, { name: '=1+1' })
  assert.match(await (await download({ cookie })).text(), /,"?'=1\+1"?,/, 'no formula')
  // The log keeps no name: it is gone with the contact.
  await api.delete(`/contacts/${contact.id}`)
  assert.equal((await entriesOf(browser, '?object=contact')).data[0].subject_name, null)
})

test('an entry refers to the customer or endpoint that its sentence names', async (t) => {
  const { api, provider, url, owner } = await withProvider(start(t))
  const browser = await signIn({ url, owner })
  await provider.writes({ from: '+14155550100', name: 'Bob Customer', text: 'buy this' })
  const [{ id }] = (await api.get('/conversations')).body.data
  const hook = { url: 'https://127.0.0.1:9/x', events: ['contact.created'] }
  const endpoint = (await api.post('/webhooks', hook)).body.data
  const calls = [
    [`/conversations/${id}/block`, undefined],
    [`/conversations/${id}/unblock`, undefined],
    [`/webhooks/${endpoint.id}/test`, { event: 'contact.created' }],
  ] as const
  for (const [path, body] of calls) {
    const answer = await browser.call('POST', path, body)
    assert.ok(answer.status < 300, answer.text)
  }
  const { data } = await entriesOf(browser)
  assert.deepEqual(
    data.slice(0, 3).map(({ action, subject_id, subject_name }: Json) => [action, subject_id, subject_name]),
    [
      ['webhook.tested', endpoint.id, null],
      ['contact.unblocked', id, 'Bob Customer'],
      ['contact.blocked', id, 'Bob Customer'],
    ],
  )
})

test('owners and admins read the audit log in pages; entries are deleted after 400 days', async (t) => {
  const { url, owner, db } = await start(t)
  const browser = await signIn({ url, owner })
  for (const role of ['admin', 'agent'] as const) {
    const member = await createMember(browser, role)
    if (role === 'agent') assertRefused(await member.call('GET', '/audit'), 403, 'forbidden')
    else assert.equal((await entriesOf(member)).data.length, 3)
  }
  const all = (await entriesOf(browser)).data.map(({ id }: Json) => id)
  assert.equal(all.length, 5)
  const paged: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Json = await entriesOf(browser, `?limit=2&cursor=${cursor}`)
    paged.push(...page.data.map(({ id }: Json) => id))
    cursor = page.meta.next_cursor
  }
  assert.deepEqual(paged, all)
  await db`update audit_log set created_at = now() - interval '401 days' where id = ${all[1]}`
  await db`update audit_log set created_at = now() - interval '399 days' where id = ${all[2]}`
  await sweepEntries(db)
  const left = (await entriesOf(browser)).data.map(({ id }: Json) => id)
  assert.deepEqual(left, [all[0], ...all.slice(2)])
})

test('a change that cannot be recorded fails', async (t) => {
  const { url, owner, db } = await start(t, { alone: 'adds a constraint' })
  const browser = await signIn({ url, owner })
  await db`alter table audit_log add constraint full_disk check (action <> 'key.created')`
  const answer = await browser.call('POST', '/keys', { name: 'Unseen', scopes: [] })
  assertRefused(answer, 500, 'internal')
  assert.doesNotMatch(answer.text, /svc_live_/)
})
