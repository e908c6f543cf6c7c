/** The integrators' commands: `parley listen`, `tail`, `send`, `templates`, `trigger` and `mcp`. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createConfirmations } from '../../cli/confirm.ts'
import { toMessage } from '../../cli/send.ts'
import { usages } from '../../cli/usage.ts'
import { version } from '../../common/version.ts'
import { verifyWebhook } from '../../receivers/verify.ts'
import { freePort } from '../../scripts/free-port.ts'
import { ParleyError } from '../../sdk/src/index.ts'
import { assist, converse, parley } from '../command.ts'
import { createFolder } from '../folder.ts'
import { listen } from '../listen.ts'
import { startMs } from '../program.ts'
import { type Json, start, until, type World, withProvider } from '../support.ts'

/** Runs a command to its end and returns its JSON output. It must succeed. */
async function resultOf(t: TestContext, env: Record<string, string>, ...args: string[]): Promise<Json> {
  const running = parley(t, env, ...args, '--json')
  assert.equal(await running.exit, 0, running.stderr() + running.stdout())
  return running.lines()[0]
}

const envOf = async ({ url, api }: World, key?: string) => ({
  PARLEY_URL: url,
  PARLEY_API_KEY: key ?? (await api.key('messages:send', 'contacts:read', 'contacts:write', 'webhooks:manage')),
})

/** A status for which the server does not respond. */
const silent = 0

/** A webhook receiver on the developer's machine. */
async function startHook(t: TestContext) {
  const received: { headers: IncomingHttpHeaders; raw: Buffer; body: Json }[] = []
  const statuses: number[] = []
  const server = createServer(async (request, response) => {
    const raw = Buffer.concat(await request.toArray())
    received.push({ headers: request.headers, raw, body: JSON.parse(raw.toString()) })
    const status = statuses.shift() ?? 204
    if (status !== silent) response.writeHead(status).end()
  })
  const url = `${await listen(t, server)}/hook`
  const texts = () => received.filter(({ body }) => body.event === 'message.received').map(({ body }) => body.data.text)
  return { url, received, statuses, texts }
}

/** A TCP proxy between a command and the service whose connections can be cut. */
async function startProxy(t: TestContext, url: string) {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createTcpServer((socket) => {
    if (isCut) return socket.destroy()
    const far = connect(Number(new URL(url).port), '127.0.0.1')
    for (const [one, other] of [
      [socket, far],
      [far, socket],
    ] as const) {
      sockets.add(one)
      one.pipe(other)
      one.on('error', () => {}).on('close', () => other.destroy())
    }
  })
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    cut()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    restore: () => {
      isCut = false
    },
  }
}

test('listen forwards each event once and signed, even if the connection is lost or the receiver fails', async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  const proxy = await startProxy(t, world.url)
  const hook = await startHook(t)
  hook.statuses.push(500)
  const key = await world.api.key('webhooks:manage')
  const env = { PARLEY_URL: `${proxy.url}/`, PARLEY_API_KEY: key }
  const listening = parley(t, env, 'listen', '--forward', hook.url, '--json')
  await until('the listener', async () => listening.lines().length > 0, startMs)
  const [{ secret, account_id }] = listening.lines()
  assert.match(secret, /^whsec_[0-9A-Za-z]{43}$/)
  assert.equal(account_id, world.api.workspaceId)
  assert.ok(!secret.includes(key.slice(-20)))

  await provider.writes({ from: '+14155550100', text: 'one' })
  await until('the first message', async () => hook.texts().includes('one'))
  proxy.cut()
  await until('the lost connection', async () => listening.stderr().includes('Connection lost.'))
  await provider.writes({ from: '+14155550100', text: 'two' })
  proxy.restore()
  await until('the missed message', async () => hook.texts().includes('two'))
  await provider.writes({ from: '+14155550100', text: 'three' })
  await until('the last message', async () => hook.texts().includes('three'))

  assert.deepEqual(hook.texts(), ['one', 'two', 'three'])
  const kept = await world.db<{ body: string }[]>`
    select body from webhook_events where workspace_id = ${world.api.workspaceId} order by id`
  assert.deepEqual(hook.received.map(({ raw }) => raw.toString()).sort(), kept.map(({ body }) => body).sort())
  for (const { headers, raw, body } of hook.received) {
    assert.ok(verifyWebhook(secret, headers['x-service-signature'], raw))
    assert.ok(!verifyWebhook(`${secret}x`, headers['x-service-signature'], raw))
    assert.equal(headers['x-service-event'], body.event)
    assert.equal(headers['x-legacy-signature'], headers['x-service-signature'])
    assert.equal(headers['x-service-webhook-id'], hook.received[0]?.headers['x-service-webhook-id'])
    assert.equal(headers['content-type'], 'application/json')
  }
  await until('the last line', async () => listening.lines().length === 1 + hook.received.length)
  const [, failed, next] = listening.lines()
  assert.deepEqual([failed.status, failed.error, next.status, next.error], [500, 'HTTP 500', 204, null])

  // Ctrl-C does not wait for a receiver that does not respond, and prints nothing about it.
  hook.statuses.push(silent)
  await provider.writes({ from: '+14155550100', text: 'four' })
  await until('the request without a response', async () => hook.texts().includes('four'))
  const outputBefore = listening.stdout()
  listening.child.kill('SIGINT')
  assert.equal(await listening.exit, 0)
  assert.equal(listening.stdout(), outputBefore)
})

test('trigger and send cause real events, and tail prints them, with the key of the demo', async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  const dataDir = createFolder(t)
  const { PARLEY_API_KEY: api_key } = await envOf(world)
  const demo = { base_url: `${world.url}/v1`, api_key, simulator_url: provider.simulatorUrl }
  writeFileSync(join(dataDir, 'demo.json'), JSON.stringify(demo))
  const env = { DATA_DIR: dataDir }
  const machine = parley(t, env, 'tail', '--json')
  const person = parley(t, env, 'tail', '--events', 'message.received')
  const newcomer = parley(t, env, 'listen')
  await until('the listener', async () => newcomer.stdout().includes('Listening for events of'), startMs)
  for (const { stderr } of [machine, person]) {
    await until('the stream', async () => stderr().includes('Waiting for events'), startMs)
    assert.match(stderr(), /with the key from the demo/)
  }
  const eventsOf = (event: string) => machine.lines().filter((line) => line.event === event)

  const [written, opened, made] = await Promise.all([
    resultOf(t, env, 'trigger', 'message.received', '--text', 'Is it \u009b31mthere?'),
    resultOf(t, env, 'trigger', 'conversation.created'),
    resultOf(t, env, 'trigger', 'contact.created', '--from', '+12025550123'),
  ])
  const [sent, reported] = await Promise.all([
    resultOf(t, env, 'send', '--to', '+14155550100', '--text', 'It is.'),
    resultOf(t, env, 'trigger', 'message.status_updated', '--to', '+14155550111'),
  ])

  assert.equal(sent.status, 'sent')
  assert.equal((await provider.sent('+14155550100')).at(-1)?.body.text.body, 'It is.')
  await until('every status', async () => eventsOf('message.status_updated').length >= 6)
  const statuses = eventsOf('message.status_updated').map(({ data }) => data.msgapp_message_id)
  assert.deepEqual(new Set(statuses), new Set([sent.msgapp_message_id, reported.msgapp_message_id]))
  const messages = eventsOf('message.received').map(({ data }) => data.msgapp_message_id)
  assert.deepEqual(messages.sort(), [written.message_id, opened.message_id].sort())
  assert.equal(eventsOf('conversation.created').length, 3)
  assert.ok(
    eventsOf('contact.created').some(({ data }) => data.contact_id === made.id && data.phone === '+12025550123'),
  )
  await until('the event in full', async () => newcomer.stdout().includes(`"contact_id": "${made.id}"`))
  await until('both lines', async () => person.stdout().split('\n').length === 3)
  assert.match(person.stdout(), /^\S+Z message\.received +conversation_id=\S+ .*text="Is it \\u009b31mthere\?"$/m)
  for (const { child, exit } of [machine, person]) {
    child.kill('SIGTERM')
    assert.equal(await exit, 0)
  }
})

test('a failed command prints the error code and message and exits with 1', async (t) => {
  const world = await start(t)
  await world.connect()
  const env = await envOf(world)
  const noScope = { ...env, PARLEY_API_KEY: await world.api.key() }
  const nowhere = { ...env, PARLEY_URL: `http://127.0.0.1:${await freePort()}` }
  const to = ['--to', '+14155550100']
  const attempts: [Record<string, string>, string[], RegExp][] = [
    [env, ['send', ...to, '--text', 'hello'], /^bad_request: .*use a template/m],
    [env, ['send', '--to', '+15005550001', '--template', 'hello_world'], /^platform_error: .*131026/m],
    [env, ['send', ...to, '--colour', 'red'], /^bad_option: .*--colour/m],
    [env, ['trigger', 'message.received'], /^not_found: .*DEMO=1/m],
    [{ ...env, PARLEY_API_KEY: '' }, ['tail'], /^no_key: .*PARLEY_API_KEY/m],
    [env, ['tail', '--key', 'svc_live_unknown'], /^unauthorized: /m],
    [noScope, ['tail'], /^forbidden: .*webhooks:manage/m],
    [env, ['tail', '--events', 'x'], /^bad_request: events: unknown event 'x'/m],
    [nowhere, ['tail'], /^no_answer: .* refused the connection. Is the service running/m],
    [env, ['listen', '--print', '--forward', 'http://localhost:3000'], /^bad_option: Use either/m],
  ]
  // Three at a time, because each is a process.
  const queue = attempts.values()
  const work = async () => {
    for (const [env, args, message] of queue) {
      const running = parley(t, env, ...args)
      assert.equal(await running.exit, 1, args.join(' '))
      assert.match(running.stderr(), message)
      assert.equal(running.stdout(), '')
    }
  }
  await Promise.all([work(), work(), work()])
  const json = parley(t, env, 'send', ...to, '--text', 'hello', '--json')
  assert.equal(await json.exit, 1)
  assert.equal(json.lines()[0].error.code, 'bad_request')
  const rejected = parley(t, env, 'send', '--to', '+15005550001', '--template', 'hello_world', '--json')
  assert.equal(await rejected.exit, 1)
  assert.equal(rejected.lines()[0].error.details.outcome, 'rejected')
})

test('help and version are printed however they are requested, with one line per command', async (t) => {
  const outputOf = async (...args: string[]) => {
    const running = parley(t, {}, ...args)
    assert.equal(await running.exit, 0, args.join(' ') + running.stderr())
    return running.stdout()
  }
  const [help, short, word, all, shortAll, wordAll, operator, shown] = await Promise.all([
    outputOf('listen', '--help'),
    outputOf('listen', '-h'),
    outputOf('help', 'listen'),
    outputOf('--help'),
    outputOf('-h'),
    outputOf('help'),
    outputOf('help', 'plan', 'set'),
    outputOf('--version'),
  ])
  assert.match(help, /^npx parley listen .*\n[\s\S]*--forward URL/)
  assert.deepEqual([short, word, shortAll, wordAll], [help, help, all, all])
  for (const name of Object.keys(usages)) assert.match(all, new RegExp(`^  npx parley ${name} .{10,100}$`, 'm'))
  assert.match(operator, /^npx parley plan set --workspace ID/)
  assert.equal(shown, `${version}\n`)
  const unknown = parley(t, {}, 'lissen')
  assert.equal(await unknown.exit, 2)
  assert.match(unknown.stderr(), /^Unknown command: lissen\n/)
  assert.equal(unknown.stdout(), '')
})

test('templates are listed with the values that each one needs', async (t) => {
  const world = await start(t)
  await world.connect()
  const env = await envOf(world)
  const found = await resultOf(t, env, 'templates', '--search', 'ORDER_CONF', '--status', 'approved')
  assert.deepEqual([found.name, found.params], ['order_confirmed', { body: ['{{1}}', '{{2}}'] }])
  const [all, none] = [parley(t, env, 'templates'), parley(t, env, 'templates', '--language', 'xx')]
  assert.deepEqual([await all.exit, await none.exit], [0, 0])
  assert.match(all.stdout(), /^order_confirmed +en_US +APPROVED +\{"body":\["\{\{1\}\}","\{\{2\}\}"\]\}$/m)
  assert.equal(none.stdout(), '')
  assert.match(none.stderr(), /No templates match\./)
})

test('send rejects options that would have no effect', () => {
  const to = '+14155550100'
  const refused: [Parameters<typeof toMessage>[0], RegExp][] = [
    [{ text: 'x' }, /^--to: required/],
    [{ to }, /^Use exactly one of/],
    [{ to, text: 'x', template: 'x' }, /^Use exactly one of/],
    [{ to, media: 'x', template: 'x' }, /^Use exactly one of/],
    [{ to, text: 'x', param: ['x'] }, /^--param: only with --template/],
    [{ to, media: 'x', language: 'x' }, /^--language: only with --template/],
    [{ to, template: 'x', filename: 'x' }, /^--filename: only with --media/],
    [{ to, text: 'x', type: 'image' }, /^--type: only with --media/],
    [{ to, media: 'x', type: 'gif' }, /^--type: one of image, video, audio, document/],
  ]
  for (const [sending, message] of refused) assert.throws(() => toMessage(sending), { code: 'bad_option', message })
  const media = 'https://shop.test/a.PNG?b=c.mp3'
  const image = {
    to,
    from: '+15550001111',
    name: 'Ann',
    type: 'image',
    media_url: media,
    text: 'x',
    filename: undefined,
  }
  assert.deepEqual(toMessage({ to, from: '+15550001111', name: 'Ann', media, text: 'x' }), image)
  assert.equal(toMessage({ to, media, type: 'document' }).type, 'document')
  assert.equal(toMessage({ to, media: 'https://shop.test/a' }).type, 'document')
  assert.deepEqual(toMessage({ to, text: 'Keep it?', button: ['Yes', 'No'] }).interactive, {
    kind: 'buttons',
    body: 'Keep it?',
    buttons: [
      { id: 'Yes', title: 'Yes' },
      { id: 'No', title: 'No' },
    ],
  })
  assert.throws(() => toMessage({ to, media, button: ['Yes'] }), { code: 'bad_option', message: /--button/ })
  assert.deepEqual(toMessage({ to, template: 'x', param: ['1', '2'], language: 'de' }).template, {
    name: 'x',
    language: 'de',
    params: ['1', '2'],
  })
})

test('a confirmation token can be used again after a lost response, but not after a rejection', async () => {
  const { create, use } = createConfirmations()
  const body = { to: '+14155550100', text: 'hello' }
  const { confirmation_token: token } = create('send_message', body)
  const keys: string[] = []
  const ask = (tool: string, failure?: ParleyError) =>
    use(token, tool, { ...body }, async (key) => {
      keys.push(key)
      if (failure) throw failure
      return 'sent'
    })
  const isLost = { name: 'ParleyError' }
  const isGone = { code: 'not_confirmed' }
  await assert.rejects(ask('create_broadcast'), isGone)
  const lost = [
    new ParleyError('network_error', 'x'),
    new ParleyError('timeout', 'x'),
    new ParleyError('unexpected_response', 'x', { status: 502 }),
  ]
  for (const failure of lost) await assert.rejects(ask('send_message', failure), isLost)
  await assert.rejects(ask('send_message', new ParleyError('platform_error', 'x', { status: 502 })), isLost)
  await assert.rejects(ask('send_message'), isGone)
  assert.deepEqual(keys, [token, token, token, token])
})

test('an assistant reads what its key allows, and sends nothing without --allow-send', async (t) => {
  const world = await start(t)
  const { body } = await world.api.post('/contacts', { phone: '+14155550100', name: 'Ann' })
  const [readAll, readLittle] = await Promise.all([
    assist(
      t,
      await envOf(world, await world.api.key('contacts:read', 'messages:send', 'messages:read', 'broadcasts:send')),
    ),
    assist(t, await envOf(world, await world.api.key())),
  ])
  assert.equal(readAll.hello.serverInfo.name, 'parley')
  assert.deepEqual(await readLittle.tools(), ['get_usage', 'me'])
  assert.deepEqual(await readAll.tools(), [
    ...['get_broadcast', 'get_contact', 'get_message', 'get_usage', 'list_broadcast_recipients', 'list_broadcasts'],
    ...['list_messages', 'list_segment_members', 'list_segments', 'list_tags', 'list_templates', 'me'],
    'search_contacts',
  ])
  assert.equal((await readAll.call('me')).data.account.id, world.api.workspaceId)
  const found = await readAll.call('search_contacts', { search: 'ann', limit: 1 })
  assert.deepEqual([found.data[0].id, found.meta.next_cursor], [body.data.id, null])
  assert.equal((await readAll.call('get_contact', { id: body.data.id })).data.name, 'Ann')
  assert.match((await readAll.call('get_contact', { id: 'x/../..' })).error, /^not_found: /)
  assert.match((await readAll.call('get_contact')).error, /^bad_arguments: get_contact: .*id/)
  assert.match((await readAll.call('search_contacts', { limit: 'x' })).error, /^bad_arguments: .*limit/)
  assert.match((await readAll.call('send_message', { to: '+14155550100', dry_run: true })).error, /--allow-send/)
  assert.match((await readLittle.call('get_contact', { id: body.data.id })).error, /scope contacts:read/)
  assert.match((await readAll.call('get_contact', { id: '..' })).error, /^bad_arguments: get_contact: id /)
  assert.match((await readAll.call('search_contacts', { channel: 'pigeon' })).error, /^bad_arguments: .*channel/)
  // An ignored argument would return all contacts.
  assert.match(
    (await readAll.call('search_contacts', { query: 'bob' })).error,
    /^bad_arguments: search_contacts: unknown argument query\. Its arguments are: search, phone, email, tag, channel, limit, cursor\.$/,
  )
  assert.match((await readAll.call('me', { id: 'x' })).error, /unknown argument id\. Its arguments are: none\.$/)
  // A call in flight is answered after the input ends. Invalid lines are reported on standard error.
  const last = readAll.call('me')
  readAll.child.stdin?.end('nonsense\n{"jsonrpc":"2.0"}\n')
  assert.equal((await last).data.account.id, world.api.workspaceId)
  assert.equal(await readAll.exit, 0)
  assert.equal(readAll.stderr().match(/^Ignored a line that is not an MCP message\.$/gm)?.length, 2)
})

test('with --allow-send an assistant sends only what a dry run showed, and only once', async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  const { body } = await world.api.post('/contacts', { phone: '+14155550100', name: 'Ann' })
  const key = await world.api.key(
    ...(['contacts:read', 'contacts:write', 'conversations:write', 'messages:send', 'broadcasts:send'] as const),
  )
  const { call, child, exit, listed } = await assist(t, await envOf(world, key), '--allow-send')
  for (const { name, title, inputSchema, annotations } of listed) {
    assert.match(title, /^[A-Z][a-z ]+$/, name)
    assert.equal(inputSchema.additionalProperties, false, name)
    const { title: shown, ...hints } = annotations
    assert.equal(shown, title)
    assert.deepEqual(Object.keys(hints), ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'], name)
  }
  const changing = listed.filter(({ annotations }) => !annotations.readOnlyHint)
  assert.deepEqual(
    changing.map(({ name, annotations: { destructiveHint, idempotentHint, openWorldHint } }) => [
      ...[name, destructiveHint, idempotentHint, openWorldHint],
    ]),
    [
      ['update_contact', true, true, false],
      ['update_conversation', true, true, false],
      ['add_note', false, false, false],
      ['send_message', true, false, true],
      ['create_broadcast', true, false, true],
    ],
  )
  const typo = { to: '+14155550100', template: { name: 'hello_world', values: ['x'] }, dry_run: true }
  assert.match((await call('send_message', typo)).error, /unknown argument template\.values\.$/)
  const changes = { id: body.data.id, add_tags: ['vip'], attributes: { plan: 'pro' }, company: 'Acme' }
  const changed = (await call('update_contact', changes)).data
  assert.deepEqual([changed.company, changed.attributes, changed.tags[0].name], ['Acme', { plan: 'pro' }, 'vip'])
  assert.equal((await call('list_tags')).data[0].contact_count, 1)
  assert.match((await call('update_contact', { id: body.data.id, attributes: { plan: [] } })).error, /^bad_arguments: /)
  const message = { to: '+14155550100', type: 'template', template: { name: 'hello_world' } }

  assert.match((await call('send_message', message)).error, /^not_confirmed: Nothing was sent/)
  const shown = await call('send_message', { ...message, dry_run: true })
  assert.deepEqual([shown.sent, shown.would_send, shown.contact.id], [false, message, body.data.id])
  const { confirmation_token } = shown
  const other = { ...message, to: '+14155550101', confirmation_token }
  assert.match((await call('send_message', other)).error, /^not_confirmed: The arguments differ/)
  assert.match((await call('send_message', { ...message, confirmation_token: 'x' })).error, /^not_confirmed: /)
  assert.deepEqual(await provider.sent(), [])
  const sent = await call('send_message', { ...message, confirmation_token })
  assert.ok(sent.data.message_id)
  assert.match((await call('send_message', { ...message, confirmation_token })).error, /^not_confirmed: The token/)
  assert.equal((await provider.sent()).length, 1)

  const news = { name: 'News', template: { name: 'hello_world' }, recipients: [{ to: '+14155550102' }] }
  const planned = await call('create_broadcast', { ...news, dry_run: true })
  assert.deepEqual([planned.sent, planned.recipient_count, planned.skipped_count], [false, 1, 0])
  const begun = await call('create_broadcast', { ...news, confirmation_token: planned.confirmation_token })
  await until('the broadcast', async () => (await call('get_broadcast', { id: begun.data.id })).data.status === 'sent')
  assert.equal((await provider.sent('+14155550102')).length, 1)
  // A dry run fails with the same errors as sending.
  for (const [tool, impossible, reason] of [
    ['send_message', { to: '+14155550103', text: 'hello' }, /^bad_request: .*use a template/],
    ['send_message', { to: 'nowhere', text: 'hello' }, /^bad_request: to: not a phone number/],
    ['send_message', { ...message, template: { name: 'order_confirmed' } }, /^bad_request: template/],
    ['create_broadcast', { ...news, template: { name: 'no_such' } }, /^bad_request: template/],
    ['create_broadcast', { ...news, name: ' ' }, /^bad_request: name/],
    ['create_broadcast', { ...news, recipients: [{ to: 'nowhere' }] }, /^bad_request: recipients\[0\]\.to/],
  ] as const) {
    assert.match((await call(tool, { ...impossible, dry_run: true })).error, reason)
  }
  assert.equal((await provider.sent()).length, 2)
  child.kill('SIGTERM')
  assert.equal(await exit, 0)
})

test('an assistant whose key is over its rate limit waits for the limit', async (t) => {
  const world = await start(t)
  const key = await world.api.key()
  await world.api.get('/me', { key })
  const running = parley(t, await envOf(world, key), 'mcp')
  const assisting = converse(running)
  const refused = async () => {
    // The minute ends two seconds after the first call of the assistant, whenever that is.
    await world.db`
      update api_key_windows set started_at = now() - interval '58 seconds', request_count = 120
      where workspace_id = ${world.api.workspaceId}`
    return /^The key is over its rate limit. Retrying in \d+ s\.$/m.test(running.stderr())
  }
  await until('the assistant to be refused', refused, startMs)
  const { tools } = await assisting
  assert.deepEqual(await tools(), ['get_usage', 'me'])
})
