/**
 * Two workspaces never meet: what one of them sends, whatever ids, names or
 * cursors of the other it has got hold of, shows it nothing of the other and
 * changes nothing there.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { type Answer, assertBadRequest, assertRefused, assertStatus, dataOf, pluck } from './assertions.ts'
import { type Browser, createBrowser, signIn } from './browser.ts'
import { createImporter } from './importing.ts'
import { createWorkspace, type Db, deleteWorkspace, encodeCursor } from './internals.ts'
import type { Provider } from './provider.ts'
import { createChecksum, listTenantTables } from './rows.ts'
import { type Api, createDatabase, file, type Json, main, type Owner, start, until, type World } from './support.ts'

/** What a workspace has, one of each; both have people, tags and segments of the same names. */
type Resources = {
  contacts: string
  segments: string
  dynamicSegments: string
  webhooks: string
  /** A delivery to the webhook. */
  delivery: string
  broadcasts: string
  automations: string
  'automation-runs': string
  connections: string
  conversations: string
  socialConversations: string
  webConversations: string
  tag: string
  message: string
  messages: string
  'scheduled-messages': string
  team: string
  provider: Provider
  visitor: string
  secrets: Set<string>
}

const shared = { tag: 'Shared', segment: 'All contacts', phone: '+14155550100', userId: '90000001' }

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

/** Fill a workspace. `word` is in every text that is its own, so that a leak is seen. */
async function createResources({ db, url, connect }: World, api: Api, word: string): Promise<Resources> {
  const make = async (path: string, body: Json) => dataOf(await api.post(path, body), 201)
  const provider = await connect({ workspaceId: api.workspaceId })
  const person = { name: `${word} name`, email: `${word}@example.com`, company: `${word} company` }
  const contact = await make('/contacts', { phone: shared.phone, ...person, tags: [shared.tag, `${word} tag`] })
  for (let i = 0; i < 3; i++) await make('/contacts', { phone: `+1415555020${i}`, ...person, tags: [shared.tag] })
  const segment = await make('/segments', { name: shared.segment, description: `${word} description` })
  await api.post(`/segments/${segment.id}/contacts`, { contact_ids: [contact.id] })
  const filter = { match: 'all', rules: [{ field: 'tag', op: 'has', value: `${word} tag` }] }
  const dynamic = await make('/segments', { name: `${word} segment`, kind: 'dynamic', filter })

  const webhook = await make('/webhooks', { url: `https://127.0.0.1:9/${word}`, events: ['contact.created'] })
  await make('/contacts', { phone: '+14155550298' })
  const delivery = await until('a failed attempt', async () => {
    const [first] = (await api.get(`/webhooks/${webhook.id}/deliveries`)).body.data
    return first?.attempts.length > 0 && first.id
  })
  await api.patch(`/webhooks/${webhook.id}`, { is_active: false })

  // The same people write to both.
  await provider.writes({ from: shared.phone, text: `${word} text` })
  await provider.writes({ from: shared.phone, type: 'image', media: { caption: `${word} caption` } })
  const social = { channel: 'social', from: shared.userId, username: 'ann', name: `${word} social` }
  await provider.writes({ ...social, text: `${word} post` })
  const site = `${url}/web-chat/${provider.connections.web.id}`
  const token: Json = await (await fetch(`${site}/visitors`, { method: 'POST' })).json()
  const visitor = token.data.visitor_token
  await fetch(`${site}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-visitor-token': visitor },
    body: JSON.stringify({ text: `${word} visit`, name: `${word} visitor` }),
  })
  await createTemplate(provider, `${word}_template`)
  await make('/messages', { to: shared.phone, type: 'template', template: { name: `${word}_template` } })
  const sent = await make('/messages', { to: shared.phone, text: `${word} reply` })
  const [{ id: talk }] = (await api.get('/conversations?channel=msgapp')).body.data
  const later = { text: `${word} later`, send_at: inAnHour() }
  const scheduled = await make(`/conversations/${talk}/scheduled-messages`, later)
  const news = { name: `${word} news`, template: { name: 'hello_world' } }
  const { body } = await api.post('/broadcasts', { ...news, recipients: [{ to: shared.phone }] })
  const broadcast = body.data
  await until('every report and the media', async () => {
    const [state] = await db<{ done: boolean }[]>`
      select bool_and(status in ('read', 'received')) and bool_and(content_type <> 'image' or media_url is not null)
        and (select status = 'sent' from broadcasts where id = ${broadcast.id}) as done
      from messages where workspace_id = ${api.workspaceId}`
    return state?.done
  })
  const automation = await createAutomation(api, provider, word)
  const [run] = (await api.get(`/automations/${automation.id}/runs`)).body.data
  const [team] = await db<{ id: string }[]>`
    insert into teams (workspace_id, id, name, name_key, color, created_at)
    values (${api.workspaceId}, gen_random_uuid(), ${`${word} team`}, ${`${word} team`}, '#2563eb', now())
    returning id`
  assertStatus(await api.patch(`/conversations/${talk}`, { assigned_team_id: team?.id }), 200)
  await db`update conversations set status = 'pending' where workspace_id = ${api.workspaceId} and channel = 'msgapp'`
  const conversations = (await api.get('/conversations')).body.data
  const onChannel = (name: string) => conversations.find(({ channel }: Json) => channel === name).id
  const tag = contact.tags.find(({ name }: { name: string }) => name === shared.tag)
  const ids = [contact.id, segment.id, dynamic.id, ...conversations.map(({ id }: Json) => id), sent.message_id]
  const { msgapp, social: instagram } = provider.connections
  const tokens = [msgapp, instagram].flatMap(({ access_token, app_secret, verify_token, account_id }) => [
    ...[access_token, app_secret, verify_token, account_id],
  ])
  const links = await db<{ token: string }[]>`select token from media where workspace_id = ${api.workspaceId}`
  return {
    contacts: contact.id,
    segments: segment.id,
    dynamicSegments: dynamic.id,
    webhooks: webhook.id,
    delivery,
    broadcasts: broadcast.id,
    automations: automation.id,
    'automation-runs': run.id,
    connections: provider.connections.msgapp.id,
    conversations: onChannel('msgapp'),
    socialConversations: onChannel('social'),
    webConversations: onChannel('web'),
    tag: tag.id,
    message: sent.message_id,
    messages: sent.message_id,
    'scheduled-messages': scheduled.id,
    team: team?.id ?? '',
    provider,
    visitor,
    secrets: new Set([
      ...[word, sent.msgapp_message_id, ...tokens, ...links.map(({ token }) => token)],
      ...ids.map((id) => encodeCursor(id)),
      ...(await listIds(db, api.workspaceId)),
    ]),
  }
}

/** An automation with a run that has ended. */
async function createAutomation(api: Api, provider: Provider, word: string): Promise<Json> {
  const definition = {
    trigger: { type: 'message', contains: [`${word} start`] },
    steps: [{ type: 'note', text: `${word} note` }],
  }
  const automation = dataOf(await api.post('/automations', { name: `${word} automation`, definition }), 201)
  assertStatus(await api.post(`/automations/${automation.id}/publish`), 200)
  await provider.writes({ from: shared.phone, text: `${word} start` })
  await until('the run', async () => {
    const [run] = (await api.get(`/automations/${automation.id}/runs`)).body.data
    return run?.state === 'ended'
  })
  return automation
}

async function createTemplate({ connections }: Provider, name: string): Promise<void> {
  const { account_id, access_token, base_url, api_version } = connections.msgapp
  const created = await fetch(`${base_url}/${api_version}/${account_id}/message_templates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name,
      language: 'en_US',
      category: 'UTILITY',
      components: [{ type: 'BODY', text: `From ${name}.` }],
    }),
  })
  assert.equal(created.status, 200, await created.text())
}

/** Every uuid in every row of a workspace. */
async function listIds(db: Db, workspaceId: string): Promise<Set<string>> {
  const ids = new Set<string>()
  for (const table of await listTenantTables(db)) {
    for (const { row } of await db<{ row: string }[]>`
      select t::text as row from ${db(table)} t where workspace_id = ${workspaceId}`) {
      for (const [id] of row.matchAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g)) ids.add(id)
    }
  }
  return ids
}

/** The other workspace, with its resources. */
async function createTheirs(owner: Owner) {
  const world = await start(owner)
  const { api: theirs, owner: theirOwner } = await world.workspace({ name: 'Theirs' })
  return { theirs, theirOwner, foreign: await createResources(world, theirs, 'theirword') }
}

let unchanging: ReturnType<typeof createTheirs> | undefined

/**
 * Two workspaces with resources. At the end theirs must be as it was, so the tests share it. With `isFresh` it belongs to the test, which may
 * change it, and ours is older and younger than theirs.
 */
async function startNeighbours(t: TestContext, { isFresh = false } = {}) {
  const world = await start(t)
  const { api: ours, db } = world
  const early = await ours.post('/contacts', { phone: '+14155550300' })
  if (!isFresh) unchanging ??= createTheirs(file)
  const { theirs, theirOwner, foreign } = await (isFresh ? createTheirs(t) : (unchanging ?? assert.fail()))
  const own = await createResources(world, ours, 'ourword')
  const read = await createChecksum(db)
  const before = await read(theirs.workspaceId)

  /** Nothing of theirs in an answer, but for what was sent. */
  const assertBlind = (answer: Answer, sent: string) => {
    for (const secret of foreign.secrets) {
      if (sent.includes(secret)) continue
      assert.ok(!answer.text.includes(secret), `${sent} shows ${secret}: ${answer.text}`)
    }
  }
  const call = async (method: string, path: string, body?: Json) => {
    const answer = await ours.call(method, path, body === undefined ? {} : { body })
    assertBlind(answer, `${method} ${path} ${JSON.stringify(body ?? '')}`)
    return answer
  }
  const assertUnchanged = async () => assert.equal(await read(theirs.workspaceId), before, 'a row of theirs changed')
  return { ...world, theirs, theirOwner, foreign, own, early: early.body.data.id, call, assertBlind, assertUnchanged }
}

/** A body that would succeed on a resource of one's own. */
const bodies: Record<string, (resources: Resources) => Json> = {
  updateConversation: () => ({ status: 'closed', labels: ['Taken'] }),
  createNote: () => ({ text: 'Taken' }),
  replyToConversation: ({ message }) => ({ text: 'Taken', reply_to_message_id: message }),
  scheduleMessage: ({ message }) => ({ text: 'Taken', reply_to_message_id: message, send_at: inAnHour() }),
  updateScheduledMessage: () => ({ text: 'Taken' }),
  createContact: () => ({ phone: '+14155550400', tags: [shared.tag] }),
  createContacts: () => ({ contacts: [{ phone: shared.phone, name: 'Taken', if_exists: 'update' }] }),
  updateContact: () => ({ name: 'Taken', add_tags: ['Taken'], attributes: { taken: true }, opted_out: true }),
  mergeContacts: ({ contacts }) => ({ contact_id: contacts }),
  createSegment: () => ({ name: 'Taken' }),
  updateSegment: () => ({ name: 'Taken', description: null }),
  addSegmentContacts: ({ contacts }) => ({ contact_ids: [contacts] }),
  removeSegmentContacts: ({ contacts }) => ({ contact_ids: [contacts] }),
  createWebhook: () => ({ url: 'https://127.0.0.1:9/', events: ['contact.created'] }),
  addBroadcastRecipients: () => ({ recipients: [{ to: '+14155550499' }] }),
  rotateWebhookSecret: () => ({ overlap_hours: 24 }),
  createAutomation: () => ({ name: 'Taken' }),
  checkAutomation: () => ({ trigger: { type: 'manual' }, steps: [{ type: 'end' }] }),
  updateAutomation: () => ({ name: 'Taken' }),
  saveAutomationDraft: () => ({ trigger: { type: 'manual' }, steps: [{ type: 'end' }] }),
  startAutomation: ({ conversations }) => ({ conversation_ids: [conversations] }),
  updateWebhook: () => ({ url: 'https://127.0.0.1:9/taken', is_active: true }),
}

/** A member's browser that sees nothing of theirs. */
async function createCaller({ url, owner, assertBlind }: Awaited<ReturnType<typeof startNeighbours>>) {
  const browser = await signIn({ url, owner })
  return async (method: string, path: string, body?: Json) => {
    const answer = await browser.call(method, path, body)
    assertBlind(answer, `${method} ${path} ${JSON.stringify(body ?? '')}`)
    return answer
  }
}

test('every path with an id of another workspace is 404 and changes nothing', main, async (t) => {
  const { contract, foreign, own, call, assertUnchanged } = await startNeighbours(t)
  let walked = 0
  for (const { method, path, operation } of contract.operations) {
    if (!path.includes('{id}')) continue
    const root = path.split('/')[1] ?? ''
    const kinds = Object.keys(foreign).filter((kind) => kind.toLowerCase().endsWith(root)) as 'contacts'[]
    assert.ok(kinds.length > 0, `${path}: create ${root} in createResources`)
    for (const kind of kinds) {
      for (const resources of operation.requestBody ? [own, foreign] : [own]) {
        const body = operation.requestBody && (bodies[operation.operationId]?.(resources) ?? {})
        const target = path.replace('{id}', foreign[kind]).replace('{delivery_id}', foreign.delivery)
        const answer = await call(method, target, body)
        assertRefused(answer, 404, 'not_found')
        assert.doesNotMatch(answer.text, /theirword/)
        walked++
      }
    }
  }
  assert.ok(walked >= 16, `${walked}`)
  await assertUnchanged()
})

test('deliveries, broadcasts, templates and usage of another workspace are unknown to the caller', async (t) => {
  const { foreign, own, call, assertUnchanged } = await startNeighbours(t)
  await call('PATCH', `/webhooks/${own.webhooks}`, { is_active: true })
  for (const id of [foreign.delivery, foreign.delivery.toUpperCase()])
    assertRefused(await call('POST', `/webhooks/${own.webhooks}/deliveries/${id}/redeliver`), 404, 'not_found')
  assertStatus(await call('GET', `/webhooks/${own.webhooks}/deliveries?cursor=${encodeCursor(foreign.delivery)}`), 200)
  assert.deepEqual(pluck((await call('GET', '/broadcasts')).body.data, 'id'), [own.broadcasts])
  assert.deepEqual((await call('GET', `/broadcasts?cursor=${encodeCursor(foreign.broadcasts)}`)).body.data, [])
  assertRefused(await call('GET', '/templates/theirword_template'), 404, 'not_found')
  const from = { to: shared.phone, from: foreign.connections, type: 'template', template: { name: 'hello_world' } }
  assertBadRequest(await call('POST', '/messages', from), /^from: /)
  assert.deepEqual((await call('GET', `/conversations?connection_id=${foreign.connections}`)).body.data, [])
  assert.equal((await call('GET', '/connections')).body.data.length, 3)
  assert.deepEqual((await call('GET', '/templates?search=theirword')).body.data, [])
  assert.equal((await call('GET', '/templates?search=ourword')).body.data.length, 1)
  assert.equal((await call('GET', '/usage')).body.data.messages_sent, 3)
  await assertUnchanged()
})

test('a team of another workspace is not listed, changed or assigned', async (t) => {
  const neighbours = await startNeighbours(t)
  const { foreign, own, call, assertUnchanged } = neighbours
  const member = await createCaller(neighbours)
  assert.deepEqual(pluck((await call('GET', '/teams')).body.data, 'id'), [own.team])
  assert.deepEqual(pluck((await member('GET', '/teams')).body.data, 'id'), [own.team])
  assert.deepEqual((await call('GET', `/conversations?assigned_team_id=${foreign.team}`)).body.data, [])
  assert.deepEqual((await member('GET', `/conversations?team=${foreign.team}`)).body.data, [])
  const change = { assigned_team_id: foreign.team }
  assertBadRequest(await call('PATCH', `/conversations/${own.conversations}`, change), /^assigned_team_id: not a team/)
  assertBadRequest(await member('POST', '/conversations/bulk', { ids: [own.conversations], ...change }), /not a team/)
  for (const [method, body] of [['PATCH', { name: 'Taken' }], ['DELETE']] as const)
    assertRefused(await member(method, `/teams/${foreign.team}`, body), 404, 'not_found')
  const taken = { connection_ids: [foreign.connections] }
  assertBadRequest(await member('PATCH', `/teams/${own.team}`, taken), /^connection_ids: not connections/)
  await assertUnchanged()
})

test('no list shows a row of another workspace, whatever the query', async (t) => {
  const { contract, foreign, own, call, assertUnchanged } = await startNeighbours(t)
  const ids = [foreign.contacts, foreign.segments, foreign.conversations, foreign.message, foreign.tag]
  const texts = [shared.tag, shared.segment, shared.phone, 'theirword', 'theirword name', '%', '_', '']
  const known = [...ids, ...ids.map((id) => encodeCursor(id)), ...texts]
  const parameters = contract.operations.flatMap(({ method, path, operation }) =>
    (operation.parameters ?? []).flatMap((parameter) =>
      parameter.in === 'query' ? [{ method, path, name: parameter.name }] : [],
    ),
  )
  // Each of their other ids and secrets is the value of one parameter.
  const others = [...foreign.secrets].filter((secret) => !known.includes(secret))
  for (const [place, { method, path, name }] of parameters.entries()) {
    const target = path.replace('{id}', own[path.split('/')[1] as 'contacts'])
    for (const value of [...known, ...others.filter((_, i) => i % parameters.length === place)]) {
      await call(method, `${target}?${name}=${encodeURIComponent(value)}&limit=100`)
    }
  }
  for (const query of [
    `tag=${foreign.tag}`,
    `tag=${foreign.tag.toUpperCase()}`,
    'tag=theirword%20tag',
    'search=theirword',
  ]) {
    assert.deepEqual((await call('GET', `/contacts?${query}`)).body.data, [], query)
  }
  assert.equal((await call('GET', `/contacts?tag=${shared.tag}`)).body.data.length, 4)
  assert.deepEqual((await call('GET', `/tags?cursor=${encodeCursor(foreign.tag)}`)).body.data, [])
  const counted = (await call('GET', '/tags')).body.data.find(({ name }: Json) => name === shared.tag)
  assert.equal(counted.contact_count, 4)
  assert.equal((await call('GET', '/contacts?updated_after=2000-01-01T00:00:00Z&tag=Shared')).body.data.length, 4)
  assert.deepEqual((await call('GET', `/conversations?contact_id=${foreign.contacts}`)).body.data, [])
  assert.equal((await call('GET', '/conversations')).body.data.length, 3)
  assert.equal((await call('GET', `/conversations/${own.conversations}/messages`)).body.data.length, 6)
  await assertUnchanged()
})

test('a cursor of another workspace is only a position in the caller’s own list', async (t) => {
  const { foreign, own, early, call, theirs, assertUnchanged } = await startNeighbours(t, { isFresh: true })
  const { next_cursor: cursor } = (await theirs.get('/contacts?limit=1')).body.meta
  assert.ok(cursor)
  const below = await call('GET', `/contacts?cursor=${cursor}`)
  assert.deepEqual(pluck(below.body.data, 'id'), [early])
  const segments = await call('GET', `/segments?cursor=${encodeCursor(foreign.segments)}`)
  assert.deepEqual(segments.body.data, [])
  const members = await call('GET', `/segments/${own.segments}/contacts?cursor=${encodeCursor(foreign.contacts)}`)
  assert.deepEqual(members.body.data, [])
  const conversations = await call('GET', `/conversations?cursor=${encodeCursor(foreign.conversations)}`)
  assert.deepEqual(conversations.body.data, [])
  const messages = `/conversations/${own.conversations}/messages?cursor=${encodeCursor(foreign.message)}`
  assert.deepEqual((await call('GET', messages)).body.data, [])
  await assertUnchanged()
})

test('a message of another workspace cannot be quoted, and a message to its contact creates a contact of the caller', async (t) => {
  const { foreign, own, call, theirs, assertUnchanged } = await startNeighbours(t)
  const sentByThem = (await foreign.provider.sent()).length
  for (const id of [foreign.message, foreign.message.toUpperCase(), foreign.conversations, own.conversations]) {
    const quoting = { to: shared.phone, text: 'quote', reply_to_message_id: id }
    assertBadRequest(await call('POST', '/messages', quoting), /^reply_to_message_id: /)
  }
  assertBadRequest(
    await call('POST', '/messages', { to: '+14155550888', text: 'x', reply_to_message_id: foreign.message }),
    /^reply_to_message_id: /,
  )
  const theirTemplate = { type: 'template', template: { name: 'theirword_template' } }
  assertBadRequest(await call('POST', '/messages', { to: shared.phone, ...theirTemplate }))
  const sent = dataOf(await call('POST', '/messages', { to: shared.phone, text: 'ours', name: 'Taken' }), 201)
  assert.deepEqual([sent.contact_id, sent.conversation_id], [own.contacts, own.conversations])
  assert.equal((await foreign.provider.sent()).length, sentByThem)
  assert.equal((await own.provider.sent(shared.phone)).length, 4)
  assert.equal((await theirs.get(`/contacts/${foreign.contacts}`)).body.data.name, 'theirword name')
  await assertUnchanged()
})

test('a broadcast uses only contacts, segments and templates of its own workspace', async (t) => {
  const { db, foreign, own, call, assertUnchanged } = await startNeighbours(t)
  const sentByThem = (await foreign.provider.sent()).length
  const news = { name: 'News', template: { name: 'hello_world' } }
  for (const id of [foreign.segments, foreign.dynamicSegments, foreign.broadcasts]) {
    assertRefused(await call('POST', '/broadcasts', { ...news, segment_id: id }), 404, 'not_found')
  }
  const theirTemplate = { ...news, template: { name: 'theirword_template' }, segment_id: own.segments }
  assertBadRequest(await call('POST', '/broadcasts', theirTemplate))
  const params = ['{{contact.name}}', '{{contact.company}}']
  const values = { name: 'order_confirmed', params, contact_fields: true }
  const accepted = await call('POST', '/broadcasts', { ...news, template: values, segment_id: own.segments })
  assert.equal(accepted.status, 202, accepted.text)
  await until('it to be sent', async () => {
    const answer = await call('GET', `/broadcasts/${accepted.body.data.id}`)
    return answer.body.data.status === 'sent'
  })
  const [recipient, ...more] = await db<{ contact_id: string }[]>`
    select contact_id from broadcast_recipients where broadcast_id = ${accepted.body.data.id}`
  assert.deepEqual([recipient?.contact_id, more.length], [own.contacts, 0])
  assert.match(JSON.stringify((await own.provider.sent(shared.phone)).at(-1)?.body), /ourword name/)
  assert.equal((await foreign.provider.sent()).length, sentByThem)
  await assertUnchanged()
})

test('a report that names a message of another workspace, or has the wrong signature, changes nothing there', async (t) => {
  const { url, db, foreign, own, api, assertUnchanged } = await startNeighbours(t)
  const [theirMessage] = await db<{ external_id: string }[]>`
    select external_id from messages where id = ${foreign.message}`
  const timestamp = String(Math.floor(Date.now() / 1000))
  const theirs = foreign.provider.connections.msgapp
  const value = (metadata: Json) => ({
    messaging_product: 'whatsapp',
    ...(metadata ? { metadata } : {}),
    statuses: [
      { id: theirMessage?.external_id, status: 'failed', timestamp },
      { id: 'wamid.forged', status: 'failed', timestamp, biz_opaque_callback_data: foreign.message },
    ],
    messages: [{ from: shared.phone.slice(1), id: 'wamid.f', timestamp, type: 'text', text: { body: 'forged' } }],
  })
  const envelope = (metadata?: Json) => ({
    object: 'whatsapp_business_account',
    entry: [{ id: metadata && theirs.account_id, changes: [{ field: 'messages', value: value(metadata) }] }],
  })
  for (const channel of ['msgapp', 'social'] as const) {
    const bytes = JSON.stringify(envelope({ phone_number_id: theirs.phone_number_id }))
    const { app_secret } = own.provider.connections[channel]
    const signature = `sha256=${createHmac('sha256', app_secret).update(bytes).digest('hex')}`
    const response = await fetch(`${url}/channels/${channel}/${foreign.provider.connections[channel].id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': signature },
      body: bytes,
    })
    assert.equal(response.status, 401)
  }
  // Signed as it must be, on our own connection, about messages and accounts that are not ours.
  assert.equal(await own.provider.callback(envelope()), 200)
  assert.equal(await own.provider.callback(envelope({ phone_number_id: theirs.phone_number_id })), 200)
  const [kept] = (await api.get(`/conversations/${own.conversations}/messages`)).body.data
  assert.equal(kept.content_text, 'forged')
  await assertUnchanged()
})

test('a visitor token and a conversation of another workspace are unknown to web chat', async (t) => {
  const { url, foreign, own, assertBlind, assertUnchanged } = await startNeighbours(t)
  const visit = async (site: string, token: string, path: string, body?: Json): Promise<Answer> => {
    const response = await fetch(`${url}/web-chat/${site}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'content-type': 'application/json', 'x-visitor-token': token },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
  }
  const ourSite = own.provider.connections.web.id
  const theirSite = foreign.provider.connections.web.id
  assertRefused(await visit(ourSite, foreign.visitor, '/messages'), 401, 'unauthorized')
  assertRefused(await visit(ourSite, foreign.visitor, '/messages', { text: 'hi' }), 401, 'unauthorized')
  const stream = `/stream?token=${encodeURIComponent(foreign.visitor)}`
  assertRefused(await visit(ourSite, foreign.visitor, stream), 401, 'unauthorized')
  assertRefused(await visit(theirSite, own.visitor, '/messages'), 401, 'unauthorized')
  assertRefused(await visit(theirSite, own.visitor, '/messages', { text: 'hi' }), 401, 'unauthorized')
  const thread = await visit(ourSite, own.visitor, '/messages')
  assertBlind(thread, 'the own thread')
  assert.deepEqual(pluck(thread.body.data, 'content_text'), ['ourword visit'])
  for (const { connections } of [own.provider, foreign.provider]) {
    assertRefused(await visit(connections.msgapp.id, own.visitor, '/messages'), 404, 'not_found')
  }
  await assertUnchanged()
})

test('a member reads, answers and changes conversations and channels of their own workspace only', async (t) => {
  const neighbours = await startNeighbours(t)
  const { api, db, foreign, own, theirs, assertUnchanged } = neighbours
  const call = await createCaller(neighbours)
  const sentByThem = (await foreign.provider.sent()).length
  const { conversations, socialConversations, webConversations } = foreign
  for (const id of [conversations, socialConversations, webConversations, foreign.contacts, foreign.message]) {
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { status: 'closed' }],
      ['PATCH', '', { snoozed_until: new Date(Date.now() + 3_600_000).toISOString() }],
      ['PATCH', '', { labels: ['Taken'] }],
      ['PATCH', '', {}],
      ['POST', '/read'],
      ['POST', '/unread'],
      ['POST', '/block'],
      ['POST', '/unblock'],
      ['GET', '/messages'],
      ['POST', '/messages', { text: 'hello' }],
      ['POST', '/templates/preview', { name: 'hello_world' }],
    ] as const) {
      assertRefused(await call(method, `/conversations/${id}${path}`, body), 404, 'not_found')
    }
  }
  const [theirMember] = await db<{ id: string }[]>`select id from members where workspace_id = ${theirs.workspaceId}`
  const assignment = { assigned_agent_id: theirMember?.id }
  assertBadRequest(await call('PATCH', `/conversations/${own.conversations}`, assignment), /^assigned_agent_id: /)
  const quoting = { text: 'x', reply_to_message_id: foreign.message }
  assertBadRequest(await call('POST', `/conversations/${own.conversations}/messages`, quoting))
  for (const query of ['', '?channel=web', '?status=pending', '?unread=true', '?assigned=nobody']) {
    const { status } = await call('GET', `/conversations${query}`)
    assert.equal(status, 200)
  }
  for (const query of [`contact_id=${foreign.contacts}`, `assigned=${theirMember?.id}`, 'search=theirword']) {
    assert.deepEqual((await call('GET', `/conversations?${query}`)).body.data, [])
  }
  assert.equal((await call('GET', '/conversations/counts')).body.data.pending, 1)
  assertBadRequest(await call('POST', '/templates/preview', { name: 'theirword_template' }))
  assert.equal((await call('GET', '/conversations')).body.data.length, 3)
  assert.equal((await call('GET', `/conversations/${own.conversations}/messages`)).body.data.length, 6)
  await until('the digest', async () => {
    const left = await db`
      select from messages m
      where m.workspace_id = any(${[api.workspaceId, theirs.workspaceId]}::uuid[])
        and not exists (select from message_words w where w.workspace_id = m.workspace_id and w.id = m.id)`
    return left.length === 0
  })
  for (const word of ['theirword', 'theirw', 'theirword text', '1.theirword', "2.text' | '1.text"]) {
    assert.deepEqual((await call('GET', `/search?q=${encodeURIComponent(word)}`)).body.data, [], word)
    assert.deepEqual((await call('GET', `/search/notes?q=${encodeURIComponent(word)}`)).body.data, [], word)
  }
  assert.ok((await call('GET', '/search?q=ourword')).body.data.length >= 5)
  const { data: overview } = (await call('GET', '/overview?days=7')).body
  assert.equal(overview.days.at(-1).msgapp.inbound + overview.days.at(-2).msgapp.inbound, 3)
  assert.equal(overview.webhooks.length, 1)

  for (const id of [foreign.contacts, foreign.conversations, theirs.workspaceId]) {
    assertRefused(await call('GET', `/contacts/${id}`), 404, 'not_found')
    assertRefused(await call('GET', `/contacts/${id}/history`), 404, 'not_found')
    for (const change of [{}, { opted_out: true }, { name: 'Taken', tags: ['Taken'], opted_out: true }]) {
      assertRefused(await call('PATCH', `/contacts/${id}`, change), 404, 'not_found')
    }
  }
  const [theirWorkspace] = await db`select name, opt_out_words from workspaces where id = ${theirs.workspaceId}`
  const ours = { name: 'Ours', opt_out_words: ['enough'], workspace_id: theirs.workspaceId, id: theirs.workspaceId }
  const renamed = await call('PATCH', '/workspace', ours)
  assert.deepEqual([renamed.body.data.name, renamed.body.data.id], ['Ours', api.workspaceId])
  assert.equal((await call('GET', '/workspace')).body.data.id, api.workspaceId)
  const unchanged = await db`select name, opt_out_words from workspaces where id = ${theirs.workspaceId}`
  assert.deepEqual([...unchanged], [theirWorkspace])

  for (const { id } of Object.values(foreign.provider.connections)) {
    assertRefused(await call('POST', `/channels/${id}/check`), 404, 'not_found')
    assertRefused(await call('DELETE', `/channels/${id}`), 404, 'not_found')
  }
  assert.equal((await call('GET', '/channels')).body.data.length, 3)
  assert.ok((await call('GET', '/templates')).body.data.length > 0)
  assert.equal((await call('POST', '/templates/refresh')).status, 200)
  assertStatus(await call('POST', `/conversations/${own.conversations}/messages`, { text: 'ours' }), 201)
  assertStatus(await call('DELETE', `/channels/${own.provider.connections.msgapp.id}`), 200)
  assert.equal((await foreign.provider.sent()).length, sentByThem)
  await assertUnchanged()
})

test('a person who writes to two workspaces opts out of one, by the opt-out words of that one', async (t) => {
  const neighbours = await startNeighbours(t, { isFresh: true })
  const { url, theirOwner, foreign, own, api, assertUnchanged } = neighbours
  const call = await createCaller(neighbours)
  await call('PATCH', '/workspace', { opt_out_words: ['enough'] })
  const isOut = async () => (await call('GET', `/contacts/${own.contacts}`)).body.data.opted_out_by
  const category = { wa_id: shared.phone.slice(1), category: 'marketing_messages' }
  const preference = (value: string) => ({ ...category, timestamp: Date.now() / 1000, value })
  const callback = (value: string) => ({
    object: 'whatsapp_business_account',
    entry: [{ changes: [{ field: 'user_preferences', value: { user_preferences: [preference(value)] } }] }],
  })
  await own.provider.writes({ from: shared.phone, text: 'Enough!' })
  assert.equal(await isOut(), 'customer')
  await own.provider.writes({ from: shared.phone, text: 'START' })
  assert.equal(await own.provider.callback(callback('stop')), 200)
  assert.equal(await isOut(), 'channel')
  await call('PATCH', `/contacts/${own.contacts}`, { opted_out: false })
  await call('PATCH', `/contacts/${own.contacts}`, { opted_out: true })
  assert.equal(await isOut(), 'member')
  await assertUnchanged()

  // The reverse holds too: opt-out words of one workspace have no effect in the other.
  await call('PATCH', `/contacts/${own.contacts}`, { opted_out: false })
  await foreign.provider.writes({ from: shared.phone, text: 'Enough!' })
  const neighbour = createBrowser(url)
  await neighbour.signIn(theirOwner)
  const theirContact = async () => (await neighbour.call('GET', `/contacts/${foreign.contacts}`)).body.data
  assert.equal((await theirContact()).opted_out_by, null)
  await foreign.provider.writes({ from: shared.phone, text: 'STOP' })
  assert.equal((await theirContact()).opted_out_by, 'customer')
  assert.equal(await isOut(), null)
  assert.equal((await api.get(`/contacts/${own.contacts}`)).status, 200)
})

test('a member reads and runs broadcasts of their own workspace only', async (t) => {
  const neighbours = await startNeighbours(t)
  const { db, foreign, own, assertUnchanged } = neighbours
  const call = await createCaller(neighbours)
  const sentByThem = (await foreign.provider.sent()).length
  for (const id of [foreign.broadcasts, foreign.broadcasts.toUpperCase(), foreign.segments, own.segments]) {
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/recipients'],
      ['GET', '/recipients?status=read'],
      ['GET', '/recipients.csv'],
      ['GET', '/source'],
      ['GET', '/timeline'],
      ['POST', '/pause'],
      ['POST', '/resume'],
      ['POST', '/cancel'],
      ['POST', '/again'],
    ] as const) {
      assertRefused(await call(method, `/broadcasts/${id}${path}`), 404, 'not_found')
    }
    const body = { name: 'News', template: { name: 'hello_world' }, recipients: [{ to: shared.phone }] }
    assertRefused(await call('PATCH', `/broadcasts/${id}/draft`, body), 404, 'not_found')
    assertRefused(await call('POST', `/broadcasts/${id}/send`, body), 404, 'not_found')
  }
  for (const query of ['', '?status=sent', `?cursor=${encodeCursor(foreign.broadcasts)}`])
    await call('GET', `/broadcasts${query}`)
  assert.equal((await call('GET', '/broadcasts')).body.data.length, 1)
  const [recipient] = (await call('GET', `/broadcasts/${own.broadcasts}/recipients`)).body.data
  assert.deepEqual([recipient.contact_id, recipient.conversation_id], [own.contacts, own.conversations])

  const template = { name: 'order_confirmed', params: ['{{contact.name}}', '{{contact.company}}'] }
  for (const path of ['/broadcasts', '/broadcasts/preview']) {
    for (const segment_id of [foreign.segments, foreign.dynamicSegments]) {
      assertRefused(await call('POST', path, { name: 'News', template, segment_id }), 404, 'not_found')
      for (const audience of [
        { segment_ids: [own.segments, segment_id], excluded_segment_ids: [] },
        { segment_ids: [], excluded_segment_ids: [segment_id] },
      ])
        assertRefused(await call('POST', path, { name: 'News', template, audience }), 404, 'not_found')
    }
    const theirTemplate = { name: 'News', template: { name: 'theirword_template' }, segment_id: own.segments }
    assertBadRequest(await call('POST', path, theirTemplate))
  }
  for (const audience of [{ segment_id: own.segments }, { recipients: [{ to: shared.phone }] }]) {
    const { data } = (await call('POST', '/broadcasts/preview', { template, ...audience })).body
    assert.equal(data.total, 1)
    assert.match(data.samples[0].params.body.join(), /ourword name.*ourword company/)
  }
  const tested = await call('POST', '/broadcasts/test', { template, to: shared.phone })
  assert.equal(tested.body.data.conversation_id, own.conversations, tested.text)
  const again = await db`update broadcast_recipients set status = 'failed' where broadcast_id = ${own.broadcasts}`
  assert.equal(again.count, 1)
  assert.equal((await call('POST', `/broadcasts/${own.broadcasts}/again`)).status, 202)
  assert.equal((await foreign.provider.sent()).length, sentByThem)
  await assertUnchanged()
})

test('a member reads, imports, exports and erases contacts of their own workspace only', async (t) => {
  const neighbours = await startNeighbours(t)
  const { url, owner, foreign, own, assertBlind, assertUnchanged } = neighbours
  const call = await createCaller(neighbours)
  for (const query of ['', `?tag=${foreign.tag}`, '?search=theirword', `?cursor=${encodeCursor(foreign.contacts)}`]) {
    assert.equal((await call('GET', `/contacts${query}`)).status, 200)
  }
  for (const id of [foreign.contacts, foreign.tag, foreign.segments]) {
    assertRefused(await call('DELETE', `/contacts/${id}`), 404, 'not_found')
    assertRefused(await call('DELETE', `/tags/${id}`), 404, 'not_found')
    assertRefused(await call('PATCH', `/tags/${id}`, { name: 'Taken' }), 404, 'not_found')
  }
  for (const id of [foreign.segments, foreign.dynamicSegments]) {
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { name: 'Taken' }],
      ['DELETE', ''],
      ['GET', '/contacts'],
      ['POST', '/contacts', { contact_ids: [own.contacts] }],
      ['DELETE', '/contacts', { contact_ids: [foreign.contacts] }],
    ] as const) {
      assertRefused(await call(method, `/segments/${id}${path}`, body), 404, 'not_found')
    }
    assertRefused(await call('GET', `/contacts.csv?segment_id=${id}`), 404, 'not_found')
  }
  const rules = [{ field: 'tag', op: 'has', value: foreign.tag }]
  const counted = await call('POST', '/segments/count', { filter: { match: 'any', rules } })
  assert.deepEqual(counted.body.data, { count: 0, sample: [] })
  assert.equal((await call('GET', '/segments')).body.data.length, 2)
  assert.equal((await call('GET', '/tags')).body.data.length, 2)
  assert.equal((await call('PATCH', `/tags/${own.tag}`, { name: 'theirword tag' })).status, 200)

  const signedIn = await fetch(`${url}/app/api/session`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json' },
    body: JSON.stringify(owner),
  })
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const fetched = async (path: string, request: RequestInit = {}): Promise<Answer> => {
    const headers = { origin: url, cookie, 'content-type': 'text/csv' }
    const response = await fetch(`${url}/app/api${path}`, { ...request, headers })
    const answer = { status: response.status, headers: response.headers, text: await response.text(), body: {} }
    assertBlind(answer, `${path} ${request.body ?? ''} theirword`)
    return answer
  }
  assert.match((await fetched('/contacts.csv')).text, /ourword name/)
  // The same people as theirs: made or changed with us, and nowhere else.
  const file = `phone,name,tags\n${shared.phone},Changed,${shared.tag}\n+14155550209,New,${shared.tag}\n`
  const uploaded = await fetched('/imports', { method: 'POST', body: file })
  const { id, mapping } = JSON.parse(uploaded.text).data
  assertStatus(await call('POST', `/imports/${id}/check`, { mapping }), 200)
  const inState = (state: string) =>
    until(state, async () => {
      const { data } = (await call('GET', `/imports/${id}`)).body
      return data.state === state && data
    })
  await inState('checked')
  assertStatus(await call('POST', `/imports/${id}/start`), 200)
  const { result } = await inState('done')
  assert.deepEqual([result.created, result.changed], [1, 1])
  assert.equal((await call('DELETE', `/contacts/${own.contacts}`)).status, 200)
  assert.equal((await call('DELETE', `/tags/${own.tag}`)).status, 200)
  await assertUnchanged()
})

test('contacts of another workspace are neither added to nor removed from a segment', async (t) => {
  const { foreign, own, call, assertUnchanged } = await startNeighbours(t)
  const theirIds = [...foreign.secrets].filter((secret) => /^[0-9a-f-]{36}$/.test(secret))
  const ids = [...theirIds, own.contacts]
  const added = await call('POST', `/segments/${own.segments}/contacts`, { contact_ids: theirIds })
  assert.deepEqual(added.body.data, { segment_id: own.segments, requested: theirIds.length, added: 0 })
  assert.equal((await call('GET', `/segments/${own.segments}`)).body.data.member_count, 1)
  const removed = await call('DELETE', `/segments/${own.segments}/contacts`, { contact_ids: ids })
  assert.deepEqual(removed.body.data, { segment_id: own.segments, requested: ids.length, removed: 1 })
  await assertUnchanged()
})

test('a filter with the tag id of another workspace matches no contact', async (t) => {
  const { foreign, call, assertUnchanged } = await startNeighbours(t)
  const people = (await call('GET', '/contacts')).body.data.length
  for (const [op, count] of [
    ['has', 0],
    ['not_has', people],
  ] as const) {
    const filter = { match: 'any', rules: [{ field: 'tag', op, value: foreign.tag }] }
    const created = await call('POST', '/segments', { name: `Theirs, ${op}`, kind: 'dynamic', filter })
    assert.equal(created.body.data.member_count, count)
    assert.equal((await call('GET', `/segments/${created.body.data.id}/contacts`)).body.data.length, count)
    const changed = await call('PATCH', `/segments/${created.body.data.id}`, { filter })
    assert.equal(changed.body.data.member_count, count)
  }
  const everything = [
    { field: 'conversation_status', op: 'is', value: 'pending' },
    { field: 'channel', op: 'has', value: 'msgapp' },
    { field: 'last_inbound_at', op: 'after', value: '1d' },
    { field: 'name', op: 'is_not_set' },
    { field: 'name', op: 'is_set' },
  ]
  const filter = { match: 'any', rules: everything }
  const all = await call('POST', '/segments', { name: 'All', kind: 'dynamic', filter })
  assert.equal(all.body.data.member_count, people)
  await call('GET', `/segments/${all.body.data.id}/contacts?limit=100`)
  await assertUnchanged()
})

test('unique values are unique within one workspace only', async (t) => {
  const { api: ours, foreign, own, call, theirs, assertUnchanged } = await startNeighbours(t, { isFresh: true })
  assert.notEqual(own.tag, foreign.tag)
  assert.notEqual(own.contacts, foreign.contacts)
  assertStatus(await call('POST', '/segments', { name: 'theirword segment' }), 201)
  const tagged = await call('PATCH', `/contacts/${own.contacts}`, { tags: ['theirword tag', shared.tag] })
  assert.equal(tagged.body.data.tags.length, 2)
  assert.ok(tagged.body.data.tags.every(({ id }: { id: string }) => !foreign.secrets.has(id)))
  assertStatus(await call('DELETE', `/segments/${own.segments}`), 200)
  await assertUnchanged()

  const request = { headers: { 'idempotency-key': 'one and the same' } }
  const one = await theirs.post('/contacts', { phone: '+14155550500', name: 'theirword' }, request)
  const other = await ours.post('/contacts', { phone: '+14155550500', name: 'theirword' }, request)
  assert.deepEqual([one.status, other.status], [201, 201])
  assert.notEqual(one.body.data.id, other.body.data.id)
  assert.equal(other.headers.get('idempotent-replayed'), null)
})

test('a member reads and changes keys and members of their own workspace only', async (t) => {
  const { url, db, owner, theirs, theirOwner, foreign, assertBlind, assertUnchanged } = await startNeighbours(t)
  const theirKeys = await db<{ id: string }[]>`select id from api_keys where workspace_id = ${theirs.workspaceId}`
  const theirKey = await theirs.key('contacts:read')
  const states = () => db`select id, revoked_at from api_keys where workspace_id = ${theirs.workspaceId} order by id`
  const before = await states()
  const browser = await signIn({ url, owner })
  const call = async (method: string, path: string, body?: Json) => {
    const answer = await browser.call(method, path, body)
    assertBlind(answer, `${method} ${path} ${JSON.stringify(body ?? '')}`)
    assert.ok(!answer.text.includes(theirOwner.email), path)
    return answer
  }

  for (const id of [...theirKeys.map(({ id }) => id), theirs.workspaceId, foreign.contacts, foreign.webhooks]) {
    assertRefused(await call('POST', `/keys/${id}/revoke`), 404, 'not_found')
    assertRefused(await call('PATCH', `/keys/${id}`, { scopes: [], expires_at: null }), 404, 'not_found')
    assertRefused(await call('POST', `/webhooks/${id}/test`, { event: 'contact.created' }), 404, 'not_found')
  }
  assert.deepEqual(await states(), before)
  assert.equal((await theirs.get('/contacts', { key: theirKey })).status, 200)
  const neighbour = createBrowser(url)
  const { member: theirMember } = (await neighbour.signIn(theirOwner)).body.data
  const { id: invitation } = (await neighbour.call('POST', '/members', { email: 'in@their.test', role: 'agent' })).body
    .data
  const [theirSession] = (await neighbour.call('GET', '/sessions')).body.data
  for (const id of [theirMember.id, invitation, theirSession.id, theirs.workspaceId]) {
    assertRefused(await call('PATCH', `/members/${id}`, { role: 'agent' }), 404, 'not_found')
    assertRefused(await call('DELETE', `/members/${id}`), 404, 'not_found')
    assertRefused(await call('DELETE', `/sessions/${id}`), 404, 'not_found')
  }
  assert.equal((await call('DELETE', '/sessions')).body.data.ended, 0)
  assert.equal((await neighbour.call('GET', '/members')).body.data.length, 2)
  for (const query of ['', `?cursor=${encodeCursor(theirMember.id)}`]) {
    assert.doesNotMatch((await call('GET', `/audit${query}`)).text, /their\.test/)
  }
  await neighbour.call('DELETE', `/members/${invitation}`)
  await neighbour.call('DELETE', '/session')
  await db`delete from audit_log where workspace_id = ${theirs.workspaceId}`
  assert.ok((await call('GET', '/keys')).body.data.length >= 1)
  assert.equal((await call('GET', '/members')).body.data.length, 1)
  await call('GET', '/session')
  const wrongDoor = await createBrowser(url).call('POST', '/session', { ...owner, workspace_id: theirs.workspaceId })
  assertRefused(wrongDoor, 401, 'unauthorized')
  const person = { email: 'new@example.com', role: 'agent', workspace_id: theirs.workspaceId }
  const invited = await call('POST', '/members', person)
  assert.equal(invited.status, 201)
  const created = await call('POST', '/keys', { name: 'Ours', scopes: [], workspace_id: theirs.workspaceId })
  const me = await theirs.get('/me', { key: created.body.data.key })
  assert.notEqual(me.body.data.account.id, theirs.workspaceId)
  await call('DELETE', '/session')
  await assertUnchanged()
})

test('a person with one e-mail and password in two workspaces has a session in one at a time', async (t) => {
  const { url, db } = await start(t)
  const owner = { email: 'both@example.com', password: 'correct horse' }
  const create = async (name: string) =>
    (await db.begin((sql) => createWorkspace(sql, { name, default_country: 'US', owner }))).workspace_id
  const workspaces = [await create('One'), await create('Two')]
  for (const workspaceId of workspaces) {
    const browser = createBrowser(url)
    const session = await browser.call('POST', '/session', { ...owner, workspace_id: workspaceId })
    assert.equal(session.body.data.workspace.id, workspaceId)
    const [member] = (await browser.call('GET', '/members')).body.data
    assert.equal(member.id, session.body.data.member.id)
    const { id } = (await browser.call('POST', '/keys', { name: 'Key', scopes: [] })).body.data
    const keys = (await browser.call('GET', '/keys')).body.data.map((key: { id: string }) => key.id)
    assert.deepEqual(keys, [id])
  }

  // The person chooses. In a browser in which one was opened before, that one comes first.
  const choose = (browser: Browser, who: Json) => browser.call('POST', '/session', { ...who, choose_workspace: true })
  const [one, two] = [
    { id: workspaces[0], name: 'One' },
    { id: workspaces[1], name: 'Two' },
  ]
  const asked = await choose(createBrowser(url), owner)
  assertRefused(asked, 401, 'unauthorized', 'choose a workspace')
  assert.deepEqual([asked.body.error.details, asked.headers.getSetCookie()], [{ workspaces: [two, one] }, []])
  const wrong = await choose(createBrowser(url), { ...owner, password: 'wrong horse' })
  assert.equal(wrong.body.error.details, undefined)
  const known = createBrowser(url)
  await known.call('POST', '/session', { ...owner, workspace_id: one.id })
  assert.deepEqual((await choose(known, owner)).body.error.details, { workspaces: [one, two] })
  assert.equal((await choose(known, { ...owner, workspace_id: two.id })).body.data.workspace.id, two.id)
  // A caller that does not ask enters the newest.
  assert.equal((await createBrowser(url).signIn(owner)).body.data.workspace.id, two.id)
})

test('a password that is right for one workspace gives no unlimited guesses at another', async (t) => {
  const { url, db } = await start(t)
  const email = 'guessed@example.com'
  const create = (name: string, password: string) =>
    db.begin((sql) => createWorkspace(sql, { name, default_country: 'US', owner: { email, password } }))
  await create('Of the guesser', 'a guess that changes')
  await create('Of the victim', 'correct horse')
  for (const choice of [{ choose_workspace: true }, {}]) {
    await db`delete from sign_in_failures`
    const guess = async (browser: Browser) =>
      (await browser.call('POST', '/session', { email, password: 'a guess that changes', ...choice })).status
    const statuses: number[] = []
    for (let i = 0; i < 14 && statuses.at(-1) !== 429; i++) statuses.push(await guess(createBrowser(url)))
    assert.deepEqual([statuses[0], statuses.at(-1)], [200, 429], statuses.join())
  }
  // On a device of the guesser's own, the sign-in works, but compares no other password any more.
  await db`delete from sign_in_failures`
  const device = createBrowser(url)
  await device.call('POST', '/session', { email, password: 'a guess that changes' })
  const attempt = { email, password: 'a guess that changes', choose_workspace: true }
  for (let i = 0; i < 10; i++) assert.equal((await device.call('POST', '/session', attempt)).status, 200)
  const [failures] = await db<{ count: number }[]>`
    select max(failure_count)::int as count from sign_in_failures where email_key <> ''`
  assert.ok(failures && failures.count >= 10, String(failures?.count))
})

test('deleting a workspace leaves no row and no file of it, and changes nothing of another', async (t) => {
  const { db, theirs, theirOwner, foreign, own, api: ours, url } = await startNeighbours(t, { isFresh: true })
  const { workspaceId } = theirs
  // More rows than a batch has, with keys of one and of several columns.
  await db`
    with made as (
      insert into contacts (workspace_id, id, phone, created_at, updated_at)
      select ${workspaceId}, gen_random_uuid(), '+1212' || (5000000 + i), now(), now() from generate_series(1, 2500) i
      returning workspace_id, id, phone
    )
    insert into contact_identities (workspace_id, channel, external_id, contact_id)
    select workspace_id, 'msgapp', phone, id from made`
  const importer = createImporter(await signIn({ url, owner: theirOwner }))
  await importer.importFile('phone,name\n+14155550777,theirword\n')
  await importer.check('phone,name\n1,theirword\n')
  await until('the file of the import that has ended to be deleted', async () => {
    const left = await db`select from contact_imports where workspace_id = ${workspaceId} and has_file`
    return left.length === 1
  })
  const files = await db<{ id: string }[]>`
    select id from media where workspace_id = ${workspaceId}
    union all
    select id from contact_imports where workspace_id = ${workspaceId} and has_file`
  const read = await createChecksum(db)
  const before = await read(ours.workspaceId)
  const key = await theirs.key('contacts:read')

  const deletedFiles: string[] = []
  const remove = async (id: string) => void deletedFiles.push(id)
  const deleted = await deleteWorkspace(db, workspaceId, { delete: remove })
  assert.ok(files.length > 0)
  assert.deepEqual(deletedFiles.sort(), files.map(({ id }) => id).sort())
  assert.equal(deleted.deleted_files, files.length)
  assert.ok(deleted.deleted_rows > 5_000, String(deleted.deleted_rows))
  for (const table of await listTenantTables(db)) {
    assert.equal((await db`select from ${db(table)} where workspace_id = ${workspaceId}`).length, 0, table)
  }
  assert.deepEqual([...(await db`select from workspaces where id = ${workspaceId}`)], [])
  assert.equal((await theirs.get('/contacts', { key })).status, 401)
  assert.equal((await createBrowser(url).signIn(theirOwner)).status, 401)
  assert.equal(await read(ours.workspaceId), before)
  assert.equal((await ours.get(`/contacts/${own.contacts}`)).status, 200)
  // Connections are cached for a second.
  await until('callbacks to be refused', async () => (await foreign.provider.callback({})) === 404)
  assert.deepEqual(await deleteWorkspace(db, workspaceId, { delete: remove }), { deleted_rows: 0, deleted_files: 0 })
})

/** Statements that may read across workspaces, identified by a part of their text, each with its reason. */
const across: Record<string, string> = {
  'with requested_keys as (': 'a key is found by its hash: it is what says which workspace the caller is of',
  'from invitations i join workspaces w': 'and what it is to',
  'delete from audit_log where created_at': 'sweep of what has run out, for all',
  'delete from visitor_presence where typing_until': 'sweep of what has run out, for all',
  'delete from invitations i where (i.token_hash':
    'an invitation is found by its token: it says which workspace one joins',
  'w.name as workspace_name, m.id, m.password_hash from members m':
    'a member signs in by e-mail, and the password decides the workspace',
  'from sessions s join members m': 'a session is found by its token: it says which workspace the member is in',
  'select workspace_id, id from members where email_key':
    'the operator resets the password or the second factor of all members with an e-mail',
  'select workspace_id, id, email from members where email_key': 'a link by e-mail is for all members with the address',
  'select workspace_id from oidc_accounts where issuer':
    'an account at the provider says which workspaces the person is a member of',
  'select workspace_id, email from members where email_key': 'and so does a verified e-mail, at the first sign-in',
  'from password_resets r join members m': 'it is found by its token: it says whose password it sets',
  'delete from password_resets where token_hash': 'and is used once',
  'delete from password_resets r using password_resets own': 'and ends as a whole when a password changes',
  'delete from password_resets where expires_at': 'sweep of what has run out, for all',
  'delete from webhook_deliveries where event_id': 'sweep of what has nothing to send any more, for all',
  'delete from sessions where expires_at': 'sweep of what has run out, for all',
  'delete from invitations where expires_at': 'sweep of what has run out, for all',
  'delete from idempotency_keys where created_at': 'sweep of what has run out, for all',
  'on w.id = c.workspace_id where c.id = any(': 'a callback names its connection: it says which workspace it is for',
  'select workspace_id, connection_id from inbox_counts group by workspace_id, connection_id':
    'folds the counts of every workspace, each on its own',
  'uncounted_workspaces as (select distinct workspace_id from inbox_counts where connection_id is null)':
    'counts the workspaces again that an earlier version counted, each on its own',
  'from channel_connections c join workspaces w':
    'the built-in simulator stands for the provider of all, and the operator checks the callbacks of all',
  "from channel_connections where simulator = 'built_in' order by id limit 1":
    'where the built-in simulator is, for all',
  'update channel_connections set base_url': 'the built-in simulator has moved, for all',
  "select workspace_id, channel_name as channel, secrets from channel_connections where secrets <> '' order by id desc limit":
    'whether the key opens the secrets of this database, for all',
  'select workspace_id, id, secret from webhook_endpoints order by id desc limit': 'the same',
  'with recursive queued_endpoints as (': 'the engine claims the deliveries of all',
  'select ctid as row_location, id, is_retry, next_attempt_at from webhook_deliveries':
    'the same, of one endpoint at a time',
  'select id, attempt_count from webhook_deliveries where ctid': 'what the engine had claimed, for all',
  'with expired as ( select workspace_id, id from webhook_endpoints':
    'sweep of secrets whose overlap has ended, for all',
  'with chunk as ( select d.workspace_id, d.ctid as place from webhook_endpoints e':
    'the deliveries of one endpoint, or in the sweep those of all deactivated endpoints',
  'delete from webhook_listeners where expires_at': 'sweep of what has run out, for all',
  'select created_at from webhook_deliveries': "the operator's gauge and status page, over all",
  "select case when status = 'pending' then created_at end from messages": "the operator's status page, over all",
  'select coalesce(started_at, created_at) from broadcasts': "the operator's status page, over all",
  "select created_at from media where state = 'pending'": "the operator's status page, over all",
  'select received_at from early_reports order by received_at': "the operator's status page, over all",
  'select continued_at from contact_merges': "the operator's status page, over all",
  'select next_at from target_clocks where next_at < now()': "the operator's gauge, over all",
  'with touched_episodes as (': 'the digest corrects the episodes of all, each by the workspace of its message',
  'from members m left join member_availability a': 'a composed condition names the workspace',
  'bounds as ( select': 'a composed condition names the workspace',
  'with recursive changed_workspaces as (': 'the worker counts the episodes of all',
  'update report_states s set building_generation': 'and looks for workspaces with another time zone',
  'from report_states s join workspaces w': 'and continues one of them',
  'from report_states where has_old_rows': 'and deletes what none reads',
  'with ${parts.uncounted}': 'a composed condition names the workspace',
  'as name, null as color from members n': 'the statement around it names the workspace',
  'select n.id, n.name, n.color from': 'the statement around it names the workspace',
  'select n.id, n.name, null as color from': 'the statement around it names the workspace',
  'select at from target_changes': "the operator's gauge, over all",
  'count(*) filter (where is_active)::int as active': "the operator's gauge, over all",
  'with recursive queued_workspaces as (': 'the engine decides the changes of all, each workspace on its own',
  'with recursive open_workspaces as (': 'and executes the runs of all',
  "where a.state = 'active' and a.kind = 'silence'": 'and looks for silence in all',
  'select workspace_id from satisfaction_settings s where is_on and exists':
    'the worker asks the customers of all, each workspace on its own',
  'or exists (select from ratings where due_at is not null)': 'a poll of the worker, over all',
  'exists (select from webhook_deliveries)': 'a poll of the worker, over all',
  "exists (select from media where state = 'pending')": 'a poll of the worker, over all',
  "exists (select from contact_imports where state in ('checking'": 'a poll of the worker, over all',
  "exists (select from scheduled_messages where state in ('scheduled', 'sending'))": 'a poll of the worker, over all',
  'exists (select from assignment_requests)': 'a poll of the worker, over all',
  'exists (select from target_changes) or exists (': 'a poll of the worker, over all',
  "exists (select from broadcasts where status = 'scheduled'": 'a poll of the worker, over all',
  'exists (select from conversations where snoozed_until <= now())': 'a poll of the worker, over all',
  'exists (select from early_reports)': 'a poll of the worker, over all',
  'exists (select from contact_merges)': 'a poll of the worker, over all',
  "delete from automation_runs where state = 'ended' and ended_at": 'sweep of what has run out, for all',
  'with recursive busy_workspaces as (':
    'the worker fetches media, sends scheduled messages and asks for ratings for all',
  'select id, mime_type, filename, size_bytes::int as size_bytes from media where token':
    "media are found by their link's token, which says whose they are",
  'select (select count(*)::int from media where state': "the operator's gauge, over all",
  'with expired_uploads as (': 'sweep of unsent files, for all',
  'with expired_messages as (': 'sweep of scheduled messages that ended, for all',
  "from automation_runs where state <> 'ended'": "the operator's gauge and status page, over all",
  'select due_at from scheduled_messages': "the operator's gauge, over all",
  'with expired_drafts as (': 'sweep of forgotten drafts, for all',
  'select workspace_id, id from contact_imports where started_at is null':
    'sweep of imports that were not started, for all',
  'select workspace_id, id from contact_imports where has_file and ended_at': 'sweep of their files, for all',
  'select workspace_id, id from ( select workspace_id, id, state, changes_until, sum(':
    'sweep of what has run out, for all',
  'delete from contact_imports i using (': 'sweep of what has run out, for all',
  "with settled_messages as ( update messages m set status = 'failed', error = coalesce":
    'sweep of what got no outcome, for all',
  'delete from early_reports where received_at': 'sweep of what has run out, for all',
  'from conversations where snoozed_until <= now()': 'the worker wakes the snoozed conversations of all',
  "next from member_availability where state <> 'offline' and state <>":
    'the worker stores the states of all members that time has changed',
  'min(id) as first_id from assignment_requests group by workspace_id, team_id':
    'the engine assigns the queues of all, each team on its own',
  'from teams t join members m on m.workspace_id = t.workspace_id left join member_availability a':
    'the worker returns the conversations of all, each team on its own',
  'select coalesce(v.waiting_since, now()) from conversations v where ${isQueued(db)}':
    "the operator's gauge, over all",
  'or (e.closed_at is not null and e.office_closing_s is null) order by': 'the worker computes the office hours of all',
  'as is_merging from conversations v where (v.workspace_id, v.id) >': 'the worker writes the past episodes of all',
  'from contact_merges where continued_at <': 'the worker continues the merges of all',
  "where status = 'scheduled' and scheduled_at <= now()": 'the engine starts the broadcasts of all',
  "where b.completed_at is null and b.status <> 'scheduled' and b.status <> 'draft' order by":
    'and continues the running ones',
  'from broadcasts b group by 1': "the operator's gauge, over all",
  'waiting_workspaces as ( (select workspace_id from early_reports':
    'reports whose message has come are applied for all',
  'from messages where id > ${from} order by id limit ${size}': 'the digest reads the messages of all',
  'where m.id > ${from} and m.id <= ${to} and w.is_digested is null': 'and those it has not read',
  'from message_revisits order by created_at limit ${size}': 'and those that are requested again, of all',
  "from channel_connections k cross join unnest(array['open', 'pending', 'closed']) as s (status)":
    'the built-in simulator serves the connections of all workspaces that use it',
}

test('every statement on tenant rows is scoped to a workspace, or is listed as an exception', async (t) => {
  const db = (await createDatabase(t)).connect(1)
  const tables = (await listTenantTables(db)).join('|')
  const reference = new RegExp(`\\b(?:from|join|into|update|using)\\s+(?:${tables})\\b`, 'g')
  // `… is null or workspace_id = …` is a choice, not a scope.
  const scope = /(?<!is null or (?:\w+\.)?)\bworkspace_id\s*(?:=|in \(select workspace_id from )|\(workspace_id,/g
  const used = new Set<string>()
  let seen = 0
  for (const file of globSync('server/*/**/*.ts')) {
    if (file.endsWith('.test.ts')) continue
    for (const statement of statementsOf(readFileSync(file, 'utf8'))) {
      const rows = statement.match(reference)?.length ?? 0
      if (rows === 0) continue
      seen++
      if ((statement.match(scope)?.length ?? 0) >= rows) continue
      const reason = Object.keys(across).find((words) => statement.includes(words))
      assert.ok(reason, `${file} has a statement that does not say which workspace:\n${statement}`)
      used.add(reason)
    }
  }
  assert.ok(seen >= 30, `only ${seen} statements were found`)
  const unused = Object.keys(across).filter((words) => !used.has(words))
  assert.deepEqual(unused, [], 'exceptions without a statement')
})

/** The SQL of a source file: every tagged template with what is nested in it, comments gone, in single spaces. */
function statementsOf(text: string): string[] {
  const source = text.replace(/\/\*\*[\s\S]*?\*\//g, '')
  const statements: string[] = []
  for (const tag of source.matchAll(/\b(?:sql|db|connection|tx)(?:<[^`]*?>)?`(?!\))/g)) {
    const start = tag.index + tag[0].length
    const statement = source.slice(start, endOf(source, start))
    const bare = statement.replace(/--.*$/gm, ' ').replace(/on conflict \([\w, ]+\)/g, 'on conflict')
    statements.push(bare.replace(/\s+/g, ' ').trim())
  }
  return statements
}

/** Where the template that starts here ends: behind the templates inside it. */
function endOf(source: string, start: number): number {
  let depth = 0
  for (let i = start; i < source.length; i++) {
    if (source.startsWith('${', i)) depth++
    else if (source[i] === '}' && depth > 0) depth--
    else if (source[i] === '{' && depth > 0 && source[i - 1] !== '$') depth++
    else if (source[i] === '`') {
      if (depth === 0) return i
      i = endOf(source, i + 1)
    }
  }
  throw new Error('a template has no end')
}
