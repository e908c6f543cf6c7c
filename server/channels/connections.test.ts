import assert from 'node:assert/strict'
import { createCipheriv, randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertFields, assertRefused, dataOf, pluck } from '../../tests/assertions.ts'
import { type Browser, createBrowser, createMember, publicUrl, signIn } from '../../tests/browser.ts'
import { createDatabase, type Json, main, start, withProvider } from '../../tests/support.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import { createSealer } from '../lib/crypto.ts'
import { connectSimulator, loadSimulatorAccounts, readSimulatorUrl } from '../simulator-host/accounts.ts'
import type { Channel, Template } from './channel.ts'
import { recordConnectionOutcome, settleCheck } from './connection-outcomes.ts'
import { getConnection, listConnections } from './connections.ts'
import { changeTemplate, getTemplate, listTemplates, refreshTemplates } from './templates.ts'

const settings = {
  account_id: '102290129340398',
  phone_number_id: '106540352242922',
  access_token: 'EAAJB-a-token',
  app_secret: '0123456789abcdef',
}

/** A workspace without any channel, and its owner. */
async function startBare(t: TestContext) {
  const world = await start(t)
  const browser = await signIn(world)
  const list = async (): Promise<Json[]> => (await browser.call('GET', '/channels')).body.data
  return { ...world, browser, list }
}

test('a channel is connected, shown without secrets, and keeps its callback URL on updates', main, async (t) => {
  const { api, browser, list, db } = await startBare(t)
  assert.deepEqual(await list(), [])
  const connected = dataOf(await browser.call('PUT', '/channels/msgapp', settings))
  const { id, verify_token, ...shown } = connected
  assert.deepEqual(shown, {
    channel: 'msgapp',
    name: 'Phone number',
    address: null,
    is_default: true,
    callback_url: `${publicUrl}/channels/msgapp/${id}`,
    callback_verified_at: null,
    callback_received_at: null,
    messages_per_second: 80,
    state: 'unchecked',
    last_error: null,
    checked_at: null,
    account_id: settings.account_id,
    phone_number_id: settings.phone_number_id,
    base_url: 'https://graph.facebook.com',
    api_version: 'v25.0',
    simulator: null,
    signals: [],
  })
  assert.ok(verify_token.length >= 20)
  assert.deepEqual(await list(), [connected])

  const paced = await browser.call('PUT', '/channels/msgapp', { messages_per_second: 250 })
  assert.deepEqual(paced.body.data, { ...connected, messages_per_second: 250 })
  const renewed = await browser.call('PUT', '/channels/msgapp', { access_token: 'EAAJB-another', verify_token: 'mine' })
  assert.deepEqual(renewed.body.data, { ...paced.body.data, verify_token: 'mine' })

  const rows = await db`select c::text as row from channel_connections c where workspace_id = ${api.workspaceId}`
  const everything = `${rows[0]?.row} ${JSON.stringify([await list(), paced.body, renewed.body])}`
  for (const secret of [settings.access_token, 'EAAJB-another', settings.app_secret]) {
    assert.ok(!everything.includes(secret), secret)
  }
})

test('each channel has its own required settings', async (t) => {
  const { browser, list } = await startBare(t)
  const { phone_number_id, ...social } = settings
  const connected = dataOf(await browser.call('PUT', '/channels/social', { ...social, phone_number_id }))
  assertFields(connected, { base_url: 'https://graph.instagram.com', phone_number_id: '' })
  const web = await browser.call('PUT', '/channels/web', {})
  assertFields(dataOf(web), { state: 'connected', callback_url: null, verify_token: null })
  assert.equal((await browser.call('PUT', '/channels/web', {})).body.data.id, web.body.data.id)
  assert.deepEqual(pluck(await list(), 'channel'), ['social', 'web'])
  assertRefused(await browser.call('PUT', '/channels/pigeon', settings), 404, 'not_found')
})

test('invalid settings are rejected by name and not stored', async (t) => {
  const { browser, list } = await startBare(t)
  for (const name of Object.keys(settings)) {
    const without = { ...settings, [name]: undefined }
    assertBadRequest(await browser.call('PUT', '/channels/msgapp', without), new RegExp(`^${name}: required`))
  }
  const wrong: [object, RegExp][] = [
    [{ account_id: '12/../34' }, /^account_id: /],
    [{ phone_number_id: '+1 415' }, /^phone_number_id: /],
    [{ phone_number_id: 12 }, /^phone_number_id: must be a string/],
    [{ access_token: 'two words' }, /^access_token: /],
    [{ access_token: 'x\r\ny: z' }, /^access_token: /],
    [{ app_secret: ' ' }, /^app_secret: required/],
    [{ verify_token: 'ü' }, /^verify_token: /],
    [{ api_version: '25' }, /^api_version: /],
    [{ messages_per_second: 0 }, /^messages_per_second: /],
    [{ messages_per_second: 10_001 }, /^messages_per_second: /],
    [{ messages_per_second: 1.5 }, /^messages_per_second: /],
    [{ base_url: 'graph.facebook.com' }, /^base_url: .*https/],
    [{ base_url: 'http://graph.facebook.com' }, /^base_url: .*https/],
    [{ base_url: 'https://user:pass@example.com' }, /^base_url: .*password/],
    [{ base_url: 'https://example.com/?to=' }, /^base_url: /],
    [{ base_url: 'https://127.0.0.1:4000' }, /^base_url: .*not a public address/],
    [{ base_url: 'https://2130706433/' }, /^base_url: .*not a public address/],
    [{ base_url: 'https://[::ffff:10.0.0.1]/' }, /^base_url: .*not a public address/],
    [{ base_url: 'https://169.254.169.254/graph' }, /^base_url: .*not a public address/],
    [{ base_url: 'https://LOCALHOST/' }, /^base_url: .*not a public address/],
  ]
  for (const [change, message] of wrong) {
    assertBadRequest(await browser.call('PUT', '/channels/msgapp', { ...settings, ...change }), message)
  }
  assert.deepEqual(await list(), [])
})

test('changing the base URL of a connection requires its ids and secrets again', async (t) => {
  const { browser, list } = await startBare(t)
  const first = (await browser.call('PUT', '/channels/msgapp', settings)).body.data
  const base_url = 'https://graph.example.com/proxy/'
  for (const [missing, given] of [
    ['account_id', {}],
    ['access_token', { ...settings, access_token: undefined }],
    ['app_secret', { ...settings, app_secret: undefined }],
  ] as const) {
    const refused = await browser.call('PUT', '/channels/msgapp', { ...given, base_url })
    assertBadRequest(refused, new RegExp(`^${missing}: required`))
  }
  assert.deepEqual(await list(), [first])
  const moved = (await browser.call('PUT', '/channels/msgapp', { ...settings, base_url })).body.data
  assert.deepEqual([moved.id, moved.base_url], [first.id, 'https://graph.example.com/proxy'])
  const same = await browser.call('PUT', '/channels/msgapp', { base_url: moved.base_url, messages_per_second: 7 })
  assert.deepEqual(same.body.data, { ...moved, messages_per_second: 7 })
})

test('a simulated connection accepts another pace, and new secrets make it a real one', async (t) => {
  const { api, browser, db } = await startBare(t)
  const { id } = (await browser.call('PUT', '/channels/msgapp', settings)).body.data
  const simulator = 'http://127.0.0.1:9/simulator/graph'
  await db`
    update channel_connections set base_url = ${simulator}, is_private = true, simulator = 'built_in', state = 'connected'
    where workspace_id = ${api.workspaceId}`
  const paced = await browser.call('PUT', '/channels/msgapp', { base_url: simulator, messages_per_second: 500 })
  assert.deepEqual([paced.status, paced.body.data.simulator, paced.body.data.state], [200, 'built_in', 'connected'])
  const [kept] = await db`select is_private, messages_per_second from channel_connections where id = ${id}`
  assert.deepEqual({ ...kept }, { is_private: true, messages_per_second: 500 })

  const elsewhere = { ...settings, base_url: 'http://127.0.0.1:10/simulator/graph' }
  assertBadRequest(await browser.call('PUT', '/channels/msgapp', elsewhere), /^base_url: /)
  const real = await browser.call('PUT', '/channels/msgapp', settings)
  assertFields(real.body.data, { id, base_url: 'https://graph.facebook.com', simulator: null, state: 'unchecked' })
  const [row] = await db`select is_private from channel_connections where id = ${id}`
  assert.equal(row?.is_private, false)
})

test('owners and admins change channels; agents can only list them', async (t) => {
  const world = await startBare(t)
  const admin = await createMember(await signIn(world), 'admin')
  const agent = await createMember(await signIn(world), 'agent')
  const { id } = (await admin.call('PUT', '/channels/web', {})).body.data
  for (const [method, path, body] of [
    ['PUT', '/channels/web', {}],
    ['POST', `/channels/${id}/check`, undefined],
    ['DELETE', `/channels/${id}`, undefined],
    ['POST', '/templates/refresh', undefined],
  ] as const) {
    assertRefused(await agent.call(method, path, body), 403, 'forbidden')
    assertRefused(await createBrowser(world.url).call(method, path, body), 401, 'unauthorized')
  }
  assert.equal((await agent.call('GET', '/channels')).body.data[0].id, id)
  assert.equal((await agent.call('GET', '/templates')).status, 200)
  assert.deepEqual((await admin.call('DELETE', `/channels/${id}`)).body.data, { id, deleted: true })
  assert.deepEqual(await world.list(), [])
})

test('a check reports the fault, and its result is stored', async (t) => {
  const { api, browser, list, db } = await startBare(t)
  const { id } = (await browser.call('PUT', '/channels/msgapp', settings)).body.data
  // The operator's own address, without a server.
  await db`
    update channel_connections set base_url = 'http://127.0.0.1:1/graph', is_private = true
    where workspace_id = ${api.workspaceId}`
  const checked = await browser.call('POST', `/channels/${id}/check`)
  assert.equal(checked.status, 200, checked.text)
  const { state, steps } = checked.body.data
  assert.equal(state, 'failing')
  const failed = steps.find(({ ok }: Json) => !ok)
  assert.ok(failed.message.length > 0)
  const [shown] = await list()
  assert.deepEqual([shown.state, shown.last_error], ['failing', failed.message])
  assert.ok(shown.checked_at)
  const paced = await browser.call('PUT', '/channels/msgapp', { messages_per_second: 9 })
  assert.deepEqual(paced.body.data, { ...shown, messages_per_second: 9 }, 'another pace fixes nothing')
  assert.ok(!checked.text.includes(settings.access_token) && !checked.text.includes(settings.app_secret))

  const web = (await browser.call('PUT', '/channels/web', {})).body.data
  assert.equal((await browser.call('POST', `/channels/${web.id}/check`)).body.data.state, 'connected')
})

/** A change of the account, as the provider posts it. */
const accountChange = (field: string, value: Json, at = Date.now()) => ({
  object: 'whatsapp_business_account',
  entry: [{ time: Math.floor(at / 1000), changes: [{ field, value }] }],
})

test('account notices of the provider are shown until they are resolved, dismissed or expired', async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  const { id } = provider.connections.msgapp
  const owner = await signIn(world)
  const agent = await createMember(await signIn(world), 'agent')
  const signals = async (browser = owner): Promise<Json[]> =>
    (await browser.call('GET', '/channels')).body.data.find((one: Json) => one.id === id).signals
  const report = async (field: string, value: Json, at?: number) =>
    assert.equal(await provider.callback(accountChange(field, value, at)), 200)
  assert.deepEqual(await signals(), [])

  const inAnHour = Math.floor(Date.now() / 1000) + 3_600
  const limits = [{ restriction_type: 'RESTRICTED_BIZ_INITIATED_MESSAGING', expiration: inAnHour }]
  await report('account_update', { event: 'ACCOUNT_RESTRICTION', restriction_info: limits })
  const [restriction, ...none] = await signals(agent)
  assert.deepEqual(none, [])
  assert.deepEqual(
    [restriction.severity, restriction.text, Date.parse(restriction.expires_at)],
    ['restriction', 'The provider restricted this account: it cannot start conversations.', inAnHour * 1000],
  )
  // Whatever follows, the list stays short and the restriction stays in it.
  const named = (name: string) => ({ message_template_name: name, message_template_language: 'en_US' })
  for (let i = 0; i < 22; i++) await report('message_template_status_update', { event: 'PAUSED', ...named(`t${i}`) })
  const many = await signals()
  assert.deepEqual([many.length, many[0].key], [20, 'account_restriction'])

  // A late report changes nothing, the resolving one removes its signal and no other.
  await report('message_template_status_update', { event: 'APPROVED', ...named('t21') }, Date.now() - 3_600_000)
  assert.equal((await signals()).length, 20)
  await report('message_template_status_update', { event: 'APPROVED', ...named('t21') })
  const left = await signals()
  assert.equal(left.length, 19)
  assert.ok(!left.some(({ key }) => key === 'template_status:t21:en_US'))

  const dismiss = (signal: Json, browser: Browser = owner) =>
    browser.call('POST', `/channels/${id}/signals/dismiss`, { key: signal.key, at: signal.at })
  assertRefused(await dismiss(left[1], agent), 403, 'forbidden')
  const stranger = await signIn(world, (await world.workspace()).owner)
  assertRefused(await dismiss(left[1], stranger), 404, 'not_found')
  assert.equal((await dismiss({ ...left[1], at: new Date(0).toISOString() })).status, 200)
  assert.equal((await signals()).length, 19, 'what was reported again since then stays')
  assert.equal((await dismiss(left[1])).status, 200)
  assert.deepEqual(await signals(), [left[0], ...left.slice(2)])

  const over = [{ ...limits[0], expiration: inAnHour - 7_200 }]
  await report('account_update', { event: 'ACCOUNT_RESTRICTION', restriction_info: over })
  assert.ok((await signals()).every(({ severity }) => severity !== 'restriction'))
  const another = await owner.call('PUT', '/channels/msgapp', { account_id: '7' })
  assert.deepEqual(another.body.data.signals, [], 'another account begins without')
})

test('messages for a number that is not connected are counted as ignored and shown on the card', async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  const browser = await signIn(world)
  const message = { from: '14155550100', id: 'wamid.1', timestamp: '1750000000', type: 'text', text: { body: 'hi' } }
  const metadata = { display_phone_number: '15550009999', phone_number_id: '999' }
  const read = async () => {
    const text = await (await fetch(`${world.url}/metrics`)).text()
    return (outcome: string) =>
      Number(new RegExp(`callbacks_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
  }
  const before = await read()
  const counted = async () => {
    const count = await read()
    return {
      ignored: count('ignored') - before('ignored'),
      malformed: count('malformed') - before('malformed'),
    }
  }
  const post = async (field: string, value: Json) =>
    assert.equal(await provider.callback({ entry: [{ changes: [{ field, value }] }] }), 200)
  await post('messages', { metadata, messages: [message] })
  await post('messages', { metadata, messages: [message] })
  assert.deepEqual(await counted(), { ignored: 2, malformed: 0 })
  const [{ signals }] = (await browser.call('GET', '/channels')).body.data
  assert.deepEqual(pluck(signals, 'severity', 'text'), [
    ['warning', 'Messages for +15550009999 were ignored: this number is not connected.'],
  ])
  assert.deepEqual((await world.api.get('/conversations')).body.data, [])
  await post('flows', { event: 'FLOW_STATUS_CHANGE' })
  assert.deepEqual(await counted(), { ignored: 3, malformed: 0 })
  await post('messages', { messages: [{ ...message, from: undefined }] })
  assert.deepEqual(await counted(), { ignored: 3, malformed: 1 })
})

test('members see template changes of the provider: status with reason, quality and category', async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  const browser = await signIn(world)
  const refresh = () => browser.call('POST', '/templates/refresh')
  await refresh()
  const template = async () => {
    const { data } = (await browser.call('GET', '/templates')).body
    const { status, status_reason, quality, category, previous_category } = data.find(
      ({ name }: Json) => name === 'order_update',
    )
    return { status, status_reason, quality, category, previous_category }
  }
  const report = (field: string, value: Json) =>
    provider.callback(
      accountChange(field, { message_template_name: 'order_update', message_template_language: 'en_US', ...value }),
    )
  const fresh = { status_reason: null, quality: null, previous_category: null }
  assert.deepEqual(await template(), { status: 'APPROVED', category: 'UTILITY', ...fresh })
  await report('message_template_quality_update', { new_quality_score: 'RED' })
  await report('template_category_update', { previous_category: 'UTILITY', new_category: 'MARKETING' })
  await report('message_template_status_update', { event: 'PAUSED', reason: 'INCORRECT_CATEGORY' })
  const changed = { status_reason: 'Incorrect category.', quality: 'RED', previous_category: 'UTILITY' }
  assert.deepEqual(await template(), { status: 'PAUSED', category: 'MARKETING', ...changed })
  await report('message_template_status_update', { event: 'APPROVED', reason: 'NONE' })
  assert.deepEqual(await template(), { status: 'APPROVED', category: 'MARKETING', ...changed, status_reason: null })
  // The simulator's sample pictures are its own.
  const listed = JSON.stringify((await browser.call('GET', '/templates')).body.data)
  const pictures = [...listed.matchAll(/"header_handle":\["([^"]+)"\]/g)].map(([, url = '']) => url)
  assert.ok(pictures.length > 0)
  for (const url of new Set(pictures)) assert.equal((await fetch(url)).headers.get('content-type'), 'image/png')
  // The provider's list says nothing of the quality, so what was reported stays.
  await refresh()
  assert.equal((await template()).quality, 'RED')
})

test('an unknown connection, or one of another workspace, is 404', async (t) => {
  const world = await startBare(t)
  const { browser, workspace, url, list } = world
  const { id } = (await browser.call('PUT', '/channels/web', {})).body.data
  const stranger = createBrowser(url)
  await stranger.signIn((await workspace()).owner)
  for (const [who, which] of [
    [stranger, id],
    [browser, '01890000-0000-7000-8000-000000000000'],
    [browser, 'nonsense'],
  ] as const) {
    assertRefused(await who.call('POST', `/channels/${which}/check`), 404, 'not_found')
    assertRefused(await who.call('DELETE', `/channels/${which}`), 404, 'not_found')
  }
  assert.equal((await list()).length, 1)
})

test('secrets sealed with a lost key can be entered again', async (t) => {
  const { api, browser, list, db } = await startBare(t)
  const first = (await browser.call('PUT', '/channels/msgapp', settings)).body.data
  await db`
    update channel_connections set secrets = ${createSealer('ab'.repeat(32)).seal('{}', ['channel_connections'])}
    where workspace_id = ${api.workspaceId}`
  const [shown] = await list()
  assert.deepEqual([shown.id, shown.state, shown.verify_token], [first.id, 'failing', null])
  assert.match(shown.last_error, /ENCRYPTION_KEY/)
  const pace = await browser.call('PUT', '/channels/msgapp', { messages_per_second: 5 })
  assertBadRequest(pace, /^access_token: required/)
  const { access_token, app_secret } = settings
  const entered = await browser.call('PUT', '/channels/msgapp', { access_token, app_secret })
  assert.deepEqual([entered.status, entered.body.data.id, entered.body.data.state], [200, first.id, 'unchecked'])
})

test('sealed secrets open only in their own row, and a seal without a row opens nowhere', async (t) => {
  const { api, browser, list, db, url, workspace } = await startBare(t)
  await browser.call('PUT', '/channels/msgapp', settings)
  const { owner, api: other } = await workspace()
  const stranger = await signIn({ url, owner })
  await stranger.call('PUT', '/channels/msgapp', { ...settings, app_secret: 'fedcba9876543210' })
  const isMsgapp = ({ channel }: Json) => channel === 'msgapp'
  const shown = async () => (await stranger.call('GET', '/channels')).body.data.find(isMsgapp)
  assert.notEqual((await shown()).state, 'failing')

  await db`
    update channel_connections c set secrets = theirs.secrets from channel_connections theirs
    where c.workspace_id = ${other.workspaceId} and c.channel = 'msgapp'
      and theirs.workspace_id = ${api.workspaceId} and theirs.channel = 'msgapp'`
  assert.deepEqual([(await shown()).state, (await shown()).verify_token], ['failing', null])
  assert.notEqual((await list())[0].state, 'failing')

  const secrets = { access_token: 'a', app_secret: 'b', verify_token: 'of any row' }
  await db`
    update channel_connections set secrets = ${sealWithoutContext('5e'.repeat(32), JSON.stringify(secrets))}
    where workspace_id = ${other.workspaceId}`
  assert.deepEqual([(await shown()).state, (await shown()).verify_token], ['failing', null])
})

/** A seal that is bound to no row. */
function sealWithoutContext(keyHex: string, text: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(keyHex, 'hex'), nonce)
  const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
  return `v1.${Buffer.concat(parts).toString('base64url')}`
}

test('templates are the provider’s list, and stay when the provider does not answer', async (t) => {
  const { browser, db, api } = await startBare(t)
  assertRefused(await browser.call('POST', '/templates/refresh'), 400, 'msgapp_not_configured', /connect-simulator/)
  await browser.call('PUT', '/channels/msgapp', settings)
  await db`
    update channel_connections set base_url = 'http://127.0.0.1:1/graph', is_private = true
    where workspace_id = ${api.workspaceId}`
  const components = [{ type: 'BODY', text: 'Hello {{1}}' }]
  await db`
    insert into templates (workspace_id, name, language, external_id, status, category, parameter_format, components, updated_at)
    values (${api.workspaceId}, 'hello', 'en_US', '1', 'APPROVED', 'UTILITY', 'POSITIONAL', ${db.json(components)}, now())`
  assertRefused(await browser.call('POST', '/templates/refresh'), 502, 'platform_error')
  const listed = (await browser.call('GET', '/templates')).body.data
  assert.deepEqual(
    listed.map(({ updated_at: _, ...template }: Json) => template),
    [
      {
        name: 'hello',
        language: 'en_US',
        account: settings.account_id,
        status: 'APPROVED',
        category: 'UTILITY',
        parameter_format: 'POSITIONAL',
        components,
        status_reason: null,
        quality: null,
        previous_category: null,
      },
    ],
  )
  const [{ id }] = (await browser.call('GET', '/channels')).body.data
  await browser.call('DELETE', `/channels/${id}`)
  assert.deepEqual((await browser.call('GET', '/templates')).body.data, [])
})

const sealer = createSealer('12'.repeat(32))

/** A workspace in a database of its own, without an application. */
async function startAlone(t: TestContext) {
  const db = (await createDatabase(t)).connect(5)
  const create = async () => {
    const given = { name: 'Acme', default_country: 'US', owner: { email: `${Math.random()}@acme.test` } }
    return (await db.begin((sql) => createWorkspace(sql, given))).workspace_id
  }
  return { db, create, workspaceId: await create() }
}

const simulated = { kind: 'built_in', simulatorUrl: 'http://127.0.0.1:4000/simulator' } as const

function template(name: string, changes: Partial<Template> = {}): Template {
  const fixed = { status: 'APPROVED', category: 'UTILITY', parameter_format: 'POSITIONAL', components: [] }
  return { external_id: `id of ${name}`, name, language: 'en_US', ...fixed, ...changes }
}

test('a refresh replaces the whole list, and concurrent callers share one that starts after their call', async (t) => {
  const { db, create, workspaceId } = await startAlone(t)
  const { msgapp } = await connectSimulator({ db, sealer, workspaceId, ...simulated })
  const neighbour = await create()
  const other = (await connectSimulator({ db, sealer, workspaceId: neighbour, ...simulated })).msgapp
  const answers: (Template[] | undefined)[] = []
  let asked = 0
  const listAtProvider = async () => {
    asked++
    await new Promise((resolve) => setImmediate(resolve))
    return answers.shift()
  }
  const channel = { listTemplates: listAtProvider } as Pick<Channel, 'listTemplates'> as Channel
  const refresh = () => refreshTemplates(db, channel, msgapp)
  const names = async () => (await listTemplates(db, workspaceId)).map(({ name, language }) => `${name} ${language}`)

  answers.push([template('same')])
  assert.equal(await refreshTemplates(db, channel, other), true)
  const odd = { deep: [{ 'a.b': null, n: 1.5, text: 'é 😀 \\ {{1}}' }] }
  answers.push([template('b', { components: odd }), template('a'), template('a', { language: 'de' }), template('a')])
  assert.equal(await refresh(), true)
  assert.deepEqual(await names(), ['a de', 'a en_US', 'b en_US'])
  assert.deepEqual(await getTemplate(db, workspaceId, 'b', 'en_US'), template('b', { components: odd }))
  assert.equal(await getTemplate(db, workspaceId, 'b', 'de'), undefined)

  answers.push(undefined)
  assert.equal(await refresh(), false)
  assert.equal((await names()).length, 3)

  await changeTemplate(db, workspaceId, { name: 'b', language: 'en_US', changes: { status: 'PAUSED' } })
  assert.equal((await getTemplate(db, workspaceId, 'b', 'en_US'))?.status, 'PAUSED')
  answers.push([template('b'), template('c'), template('nul', { components: ['\0'] })])
  await refresh()
  assert.deepEqual(await names(), ['b en_US', 'c en_US'])
  assert.deepEqual(await getTemplate(db, workspaceId, 'b', 'en_US'), template('b'))
  assert.equal((await listTemplates(db, neighbour)).length, 1)

  asked = 0
  answers.push([], [template('late')])
  await Promise.all([refresh(), refresh(), refresh(), refresh()])
  assert.equal(asked, 2)
  assert.deepEqual(await names(), ['late en_US'])
})

test('the state of a connection is written only when it changes', async (t) => {
  const { db, workspaceId } = await startAlone(t)
  const { id } = (await connectSimulator({ db, sealer, workspaceId, ...simulated })).msgapp
  const read = async () => {
    const listed = await listConnections(db, sealer, workspaceId, publicUrl)
    const { state, last_error } = listed.find((connection) => connection.id === id) ?? {}
    const [row] = await db`select xmin from channel_connections where id = ${id}`
    return { state, last_error, version: row?.xmin }
  }
  const { version: before } = await read()
  await recordConnectionOutcome(db, workspaceId, id, null)
  assert.equal((await read()).version, before)
  await recordConnectionOutcome(db, workspaceId, id, 'the access token has expired')
  const failing = await read()
  assert.deepEqual([failing.state, failing.last_error], ['failing', 'the access token has expired'])
  await recordConnectionOutcome(db, workspaceId, id, 'the access token has expired')
  assert.equal((await read()).version, failing.version)
  await recordConnectionOutcome(db, workspaceId, id, null)
  assert.deepEqual([(await read()).state, (await read()).last_error], ['connected', null])
  await settleCheck(db, workspaceId, id, { state: 'failing', last_error: 'no such number' })
  await recordConnectionOutcome(db, workspaceId, id, null)
  assert.equal((await read()).state, 'connected')
})

test('a workspace is connected to a simulator once; a repeat changes only URL and pace', async (t) => {
  const { db, create, workspaceId } = await startAlone(t)
  const connect = (more: object = {}) => connectSimulator({ db, sealer, workspaceId, ...simulated, ...more })
  const first = await connect()
  assert.match(first.msgapp.phone_number_id, /^[1-9]\d{14,16}$/)
  assert.match(first.msgapp.account_id, /^[1-9]\d{14,16}$/)
  assert.notEqual(first.social.account_id, first.msgapp.account_id)
  assert.equal(first.msgapp.base_url, 'http://127.0.0.1:4000/simulator/graph')
  assert.deepEqual([first.msgapp.messages_per_second, first.msgapp.is_private], [80, true])
  const simulatorUrl = readSimulatorUrl('http://[::1]:5000/')
  const again = await connect({ simulatorUrl, messagesPerSecond: 900 })
  const base_url = 'http://[::1]:5000/simulator/graph'
  assert.deepEqual(again.msgapp, { ...first.msgapp, base_url, messages_per_second: 900 })
  assert.deepEqual(again.social, { ...first.social, base_url, messages_per_second: 900 })
  assert.equal(again.web.id, first.web.id)
  assert.equal((await connect()).msgapp.messages_per_second, 900)
  assert.deepEqual(await getConnection(db, sealer, workspaceId, 'msgapp'), (await connect()).msgapp)

  await connectSimulator({ db, sealer, workspaceId: await create(), ...simulated, kind: 'alone' })
  const accounts = await loadSimulatorAccounts(db, sealer, 'http://127.0.0.1:4000')
  assert.deepEqual(pluck(accounts, 'channel', 'workspace_id').flat(), ['msgapp', workspaceId, 'social', workspaceId])
  const [account] = accounts
  assert.deepEqual(account, {
    workspace_id: workspaceId,
    channel: 'msgapp',
    connection_id: first.msgapp.id,
    name: 'Phone number',
    address: `+1555${first.msgapp.phone_number_id.slice(-7)}`,
    is_channel_default: true,
    account_id: first.msgapp.account_id,
    phone_number_id: first.msgapp.phone_number_id,
    display_phone_number: `1555${first.msgapp.phone_number_id.slice(-7)}`,
    business_name: 'Acme',
    access_token: first.msgapp.access_token,
    app_secret: first.msgapp.app_secret,
    verify_token: first.msgapp.verify_token,
    callback_url: `http://127.0.0.1:4000/channels/msgapp/${first.msgapp.id}`,
    messages_per_second: 900,
    is_default: false,
  })
})

test('a simulator URL is accepted with or without its path', () => {
  for (const text of ['http://h:1', 'http://h:1/', 'http://h:1/simulator', 'http://h:1/simulator/']) {
    assert.equal(readSimulatorUrl(text), 'http://h:1/simulator', text)
  }
  for (const text of ['h:1', '', 'ftp://h', '127.0.0.1:4100'])
    assert.throws(() => readSimulatorUrl(text), /^Error: --url/)
})
