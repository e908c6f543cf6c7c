/** Previews of automations: a draft on a simulated phone, through callbacks, engine and sends, and nothing of it in the workspace. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { divideTimes } from '../common/times.ts'
import { signatureOf } from '../common/webhook-request.ts'
import { assertRefused, dataOf, pluck } from './assertions.ts'
import { createFolder } from './folder.ts'
import { connectSimulator, createSealer, loadSimulatorAccounts, sweepPreviews } from './internals.ts'
import { startProvider } from './provider.ts'
import { startReceiver } from './receiver.ts'
import {
  assertBadRequest,
  createMember,
  type Json,
  main,
  signIn,
  startSignedIn,
  testEncryptionKey,
  until,
} from './support.ts'

/** Previews of these tests have no files. */
const store = { delete: async () => {} }
const sealer = createSealer(testEncryptionKey)
const phone = '+14155550100'
const text = (body: string) => ({ type: 'text', text: body })
const say = (body: string) => ({ type: 'send', message: text(body) })

/** A service with a built-in simulator, to which the workspace is connected, and functions for the preview of an automation. */
async function startPreviewing(t: TestContext) {
  const world = await startSignedIn(t, { times: divideTimes(10) })
  const { api, db, url, ask } = world
  const provider = await startProvider(t, createFolder(t), () => loadSimulatorAccounts(db, sealer, url))
  const { workspaceId } = api
  const simulating = { sealer, workspaceId, kind: 'built_in', simulatorUrl: provider.simulatorUrl } as const
  const connections = await db.begin((sql) => connectSimulator({ ...simulating, db: sql }))
  const draft = async (definition: Json): Promise<string> =>
    dataOf(await api.post('/automations', { name: 'Tried', definition }), 201).id
  const of = (id: string) => {
    const path = `/automations/${id}/preview`
    const read = async (): Promise<Json> => (await ask('GET', path)).data
    const waitFor = (what: string, isThere: (preview: Json) => unknown): Promise<Json> =>
      until(what, async () => {
        const preview = await read()
        return isThere(preview) && preview
      })
    return {
      path,
      read,
      waitFor,
      restart: async (): Promise<Json> => (await ask('POST', path)).data,
      write: async (body: string): Promise<Json> => (await ask('POST', `${path}/messages`, { text: body })).data,
      tap: async (button: Json): Promise<Json> => (await ask('POST', `${path}/messages`, { button })).data,
      start: async (): Promise<Json> => (await ask('POST', `${path}/start`)).data,
      skip: async (): Promise<Json> => (await ask('POST', `${path}/skip`)).data,
      /** Waits for the texts that the phone has received. */
      shows: (...texts: string[]) =>
        waitFor(`the phone to show ${texts}`, ({ messages }) => textsOf(messages).length >= texts.length).then(
          ({ messages }) => assert.deepEqual(textsOf(messages), texts),
        ),
      ended: (reason: string) =>
        waitFor('the run to end', ({ run }) => run?.state === 'ended').then(({ run }) =>
          assert.equal(run.reason, reason),
        ),
    }
  }
  return { ...world, provider: provider.of(workspaceId, connections), draft, of }
}

const textsOf = (messages: Json[]): string[] =>
  messages
    .filter(({ direction, status }) => direction === 'outbound' && status !== 'pending')
    .map(({ content_text }) => content_text)

const menu = (sales: string): Json => ({
  trigger: { type: 'message', when: 'first_since_closed' },
  steps: [
    {
      type: 'ask',
      message: {
        type: 'interactive',
        interactive: {
          kind: 'buttons',
          body: 'What is it about?',
          buttons: [
            { id: 'sales', title: 'Sales' },
            { id: 'help', title: 'Help' },
          ],
        },
      },
      answer: { type: 'choice' },
      save_as: 'answers.topic',
    },
    { type: 'ask', message: text('How many seats?'), answer: { type: 'number' }, save_as: 'contact.attributes.seats' },
    {
      type: 'branch',
      cases: [
        { when: { match: 'all', rules: [{ field: 'answers.topic', op: 'is', value: 'sales' }] }, steps: [say(sales)] },
      ],
      otherwise: [say('Help is near.')],
    },
    { type: 'set', add_tags: ['Asked'] },
    { type: 'hand_over', note: 'A lead.' },
  ],
})

test(
  'a draft runs on the phone of its preview, and the published version answers customers as before',
  main,
  async (t) => {
    const { api, db, provider, draft, of } = await startPreviewing(t)
    const id = await draft({ trigger: { type: 'message' }, steps: [say('The published answer.')] })
    await api.post(`/automations/${id}/publish`)
    await api.call('PUT', `/automations/${id}/draft`, { body: menu('{{answers.seats}} seats for {{contact.name}}.') })
    const preview = of(id)
    assert.equal((await preview.read()).ends_at, null)
    const opened = await preview.restart()
    assert.deepEqual([opened.is_available, opened.messages, opened.run, opened.has_calls], [true, [], null, false])

    await preview.write('hi')
    await preview.shows('What is it about?')
    await provider.writes({ from: phone, name: 'Ann', text: 'hi' })
    await until('the answer to the customer', async () => (await provider.sent(phone)).length === 1)
    assert.equal((await provider.sent(phone))[0]?.body.text.body, 'The published answer.')
    assert.equal(
      (await preview.waitFor('the question', ({ waits_for }) => waits_for === 'answer')).run.path,
      'steps[0]',
    )

    await preview.tap({ id: 'sales', title: 'Sales' })
    await preview.shows('What is it about?', 'How many seats?')
    await preview.write('12')
    await preview.shows('What is it about?', 'How many seats?', '12 seats for Test customer.')
    await preview.ended('handed_over')
    const { messages, run } = await preview.waitFor(
      'the ticks',
      (now) => now.messages.at(-1).status === 'read' || now.messages.at(-1).status === 'delivered',
    )
    assert.deepEqual(messages.map(({ direction, sender_type }: Json) => `${direction} ${sender_type}`).slice(0, 2), [
      'inbound customer',
      'outbound bot',
    ])
    assert.deepEqual(run.answers, { topic: 'sales', seats: 12 })

    // Nothing of it is in the workspace.
    assert.deepEqual(pluck((await api.get('/contacts')).body.data, 'phone'), [phone])
    assert.equal((await api.get('/conversations')).body.data.length, 1)
    assert.deepEqual((await api.get('/tags')).body.data, [])
    assert.equal((await api.get('/usage')).body.data.messages_sent, 1)
    const automation = dataOf(await api.get(`/automations/${id}`))
    assert.deepEqual([automation.version, automation.recent_runs.started], [1, 1])
    assert.equal((await api.get('/automations')).body.data.length, 1)
    assert.deepEqual(pluck((await api.get(`/automations/${id}/runs`)).body.data, 'version'), [1])
    assert.equal((await provider.sent()).length, 1)
    const published = await db`select version from automation_versions where workspace_id = ${api.workspaceId}`
    assert.equal(published.length, 1)
  },
)

test('a change of the draft is used by the next run, and a restart starts with a new customer', async (t) => {
  const { api, draft, of } = await startPreviewing(t)
  const first = (body: string): Json => ({ trigger: { type: 'message', when: 'first' }, steps: [say(body)] })
  const id = await draft(first('One.'))
  const preview = of(id)
  await preview.restart()
  await preview.write('hi')
  await preview.shows('One.')
  await api.call('PUT', `/automations/${id}/draft`, { body: first('Two.') })
  await preview.write('hi again')
  await preview.ended('finished')
  const again = await preview.restart()
  assert.deepEqual([again.messages, again.run], [[], null])
  await preview.write('hi')
  await preview.shows('Two.')
  assert.equal((await preview.read()).messages.length, 2)
  // In the middle of runs, and twice at the same time.
  await preview.write('once more')
  await Promise.all([preview.restart(), preview.restart(), preview.write('at the same time').catch(() => {})])
  await preview.restart()
  await preview.write('hi')
  await preview.shows('Two.')
})

test('waiting is skipped: a pause, a question without an answer, and the silence of the customer', async (t) => {
  const { api, draft, of } = await startPreviewing(t)
  const id = await draft({
    trigger: { type: 'message' },
    steps: [
      say('One moment.'),
      { type: 'wait', for: '2h' },
      {
        ...{ type: 'ask', message: text('Still there?'), answer: { type: 'text' }, save_as: 'answers.there' },
        timeout: { after: '1d', steps: [say('Goodbye.')] },
      },
    ],
  })
  const preview = of(id)
  await preview.restart()
  await preview.write('hi')
  await preview.waitFor('the pause', ({ waits_for }) => waits_for === 'time')
  await preview.skip()
  await preview.waitFor('the question', ({ waits_for }) => waits_for === 'answer')
  await preview.skip()
  await preview.shows('One moment.', 'Still there?', 'Goodbye.')
  await preview.ended('finished')

  for (const event of ['waiting', 'no_reply', 'window_ends']) {
    const trigger = { type: 'silence', event, after: '3h' }
    await api.call('PUT', `/automations/${id}/draft`, { body: { trigger, steps: [say(`After ${event}.`)] } })
    const opened = await preview.restart()
    assert.deepEqual(opened.trigger, { type: 'silence', event, after: '3h', name: null })
    await preview.start()
    await preview.shows(`After ${event}.`)
  }
})

test('a preview does what its trigger waits for', async (t) => {
  const { api, draft, of } = await startPreviewing(t)
  const triggers: Json[] = [
    { type: 'manual' },
    { type: 'conversation', event: 'closed' },
    { type: 'conversation', event: 'assigned' },
    { type: 'conversation', event: 'label_added', label: 'Refund' },
    { type: 'contact', event: 'tag_removed' },
    { type: 'contact', event: 'attribute_changed', attribute: 'plan' },
  ]
  const id = await draft({ trigger: triggers[0], steps: [say('Started.')] })
  const preview = of(id)
  for (const trigger of triggers) {
    await api.call('PUT', `/automations/${id}/draft`, { body: { trigger, steps: [say('Started.')] } })
    await preview.restart()
    await preview.start()
    await preview.shows('Started.')
    await preview.ended('finished')
    await preview.start()
    await preview.shows('Started.', 'Started.')
  }
  await api.call('PUT', `/automations/${id}/draft`, { body: { trigger: { type: 'message' }, steps: [say('x')] } })
  await preview.restart()
})

test('a draft finds the labels, members, teams, connections and templates of its workspace', async (t) => {
  const { api, browser, provider, draft, of } = await startPreviewing(t)
  const { account_id, access_token, base_url, api_version, id: connectionId } = provider.connections.msgapp
  const label = (await browser.ask('POST', '/labels', { name: 'Urgent' }, 201)).data
  const agent = await createMember(browser, 'agent')
  const team = (await browser.ask('POST', '/teams', { name: 'Support' }, 201)).data
  const created = await fetch(`${base_url}/${api_version}/${account_id}/message_templates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ name: 'of_ours', language: 'en_US', category: 'UTILITY' },
      components: [{ type: 'BODY', text: 'Hello {{1}}, from our template.' }],
    }),
  })
  assert.equal(created.status, 200)
  assert.equal((await api.get('/templates/of_ours')).status, 200)
  const id = await draft({
    trigger: { type: 'message' },
    conditions: { match: 'all', rules: [{ field: 'connection', op: 'has', value: connectionId }] },
    steps: [
      { type: 'set', add_labels: ['Urgent'], assigned_agent_id: agent.id, assigned_team_id: team.id },
      {
        type: 'branch',
        cases: [
          {
            when: {
              match: 'all',
              rules: [
                { field: 'label', op: 'has', value: label.id },
                { field: 'assignee', op: 'is', value: agent.id },
                { field: 'team', op: 'is', value: team.id },
              ],
            },
            steps: [{ type: 'send', message: { type: 'template', template: { name: 'of_ours', params: ['Ann'] } } }],
          },
        ],
      },
    ],
  })
  const preview = of(id)
  await preview.restart()
  await preview.write('hi')
  await preview.ended('finished')
  await preview.shows('Hello Ann, from our template.')
  assert.equal((await api.get('/conversations')).body.data.length, 0)
})

test('a call of a preview names the workspace and the automation, and says that it is a preview', async (t) => {
  const { api, draft, of } = await startPreviewing(t)
  const receiver = await startReceiver(t)
  receiver.answers((response) => response.end(JSON.stringify({ status: 'shipped' })))
  const id = await draft({
    trigger: { type: 'message' },
    steps: [{ type: 'call', url: receiver.url, save_as: 'answers.order' }, say('It is {{answers.order.status}}.')],
  })
  const { secret } = dataOf(await api.post(`/automations/${id}/rotate-secret`))
  const preview = of(id)
  assert.equal((await preview.restart()).has_calls, true)
  await preview.write('Where is it?')
  await preview.shows('It is shipped.')
  const [called] = receiver.received
  assert.equal(called?.headers['x-service-webhook-id'], id)
  assert.equal(called?.body.account_id, api.workspaceId)
  const { id: _, automation, ...run } = called?.body.run ?? {}
  assert.deepEqual([automation, run], ['Tried', { automation_id: id, version: 0, preview: true }])
  const [, time = '', signature] = /^t=(\d+),v1=(\w+)$/.exec(String(called?.headers['x-service-signature'])) ?? []
  assert.equal(signature, signatureOf(secret, Number(time), called?.raw ?? ''))
})

test('only members who may edit automations preview them, and only in their workspace', async (t) => {
  const { browser, draft, of, workspace, url, api } = await startPreviewing(t)
  const id = await draft({ trigger: { type: 'message' }, steps: [say('x')] })
  const { path } = of(id)
  const calls = [
    ['GET', path],
    ['POST', path],
    ['POST', `${path}/messages`, { text: 'hi' }],
    ['POST', `${path}/start`],
    ['POST', `${path}/skip`],
  ] as const
  for (const role of ['agent', 'viewer'] as const) {
    const member = await createMember(browser, role)
    for (const [method, target, body] of calls) assertRefused(await member.call(method, target, body), 403, 'forbidden')
  }
  assert.equal((await (await createMember(browser, 'admin')).call('POST', path)).status, 200)
  const other = await signIn({ url, owner: (await workspace()).owner })
  for (const [method, target, body] of calls) assertRefused(await other.call(method, target, body), 404, 'not_found')
  // The hidden workspace has the id of the automation; nothing of it is the caller's.
  assert.equal((await api.get('/contacts')).body.data.length, 0)
})

test('a preview ends by itself, and nothing of it stays', async (t) => {
  const { browser, db, draft, of } = await startPreviewing(t)
  const id = await draft({
    trigger: { type: 'message' },
    steps: [say('One.'), { type: 'wait', for: '2h' }, say('Two.')],
  })
  const preview = of(id)
  assertBadRequest(await browser.call('POST', `${preview.path}/messages`, { text: 'hi' }), /has ended/)
  await preview.restart()
  await preview.write('hi')
  await preview.waitFor('the pause', ({ waits_for }) => waits_for === 'time')
  await sweepPreviews({ db, store })
  assert.notEqual((await preview.read()).ends_at, null)
  await db`update workspaces set preview_until = now() - interval '1 second' where id = ${id}`
  assert.deepEqual([(await preview.read()).ends_at, (await preview.read()).messages], [null, []])
  assertBadRequest(await browser.call('POST', `${preview.path}/messages`, { text: 'hi' }), /has ended/)
  await sweepPreviews({ db, store })
  for (const table of ['contacts', 'automation_runs', 'automations', 'channel_connections', 'members']) {
    assert.deepEqual([...(await db`select from ${db(table)} where workspace_id = ${id}`)], [], table)
  }
  assert.deepEqual([...(await db`select from workspaces where id = ${id}`)], [])
  await preview.restart()
  await preview.write('hi')
  await preview.shows('One.')
  await browser.ask('DELETE', `/automations/${id}`)
  await sweepPreviews({ db, store })
  assert.deepEqual([...(await db`select from workspaces where id = ${id}`)], [])
})

test('without a simulator a preview says so', async (t) => {
  const { api, browser } = await startSignedIn(t, { alone: 'no other workspace of the database may have a simulator' })
  const definition = { trigger: { type: 'message' }, steps: [say('x')] }
  const { id } = dataOf(await api.post('/automations', { name: 'Tried', definition }), 201)
  assert.equal((await browser.ask('GET', `/automations/${id}/preview`)).data.is_available, false)
  assertBadRequest(await browser.call('POST', `/automations/${id}/preview`), /no simulator/)
  const empty = dataOf(await api.post('/automations', { name: 'Empty' }), 201)
  assertBadRequest(await browser.call('POST', `/automations/${empty.id}/preview`), /nothing to preview/)
})

test('a simulator that does not run is named', async (t) => {
  const { browser, provider, draft, of } = await startPreviewing(t)
  const id = await draft({ trigger: { type: 'message' }, steps: [say('x')] })
  await provider.goDown()
  assertRefused(await browser.call('POST', of(id).path), 502, 'platform_error', /DEMO=1/)
})

test('the simulator takes messages with the token of the account, and with no other', async (t) => {
  const { provider } = await startPreviewing(t)
  const { simulatorUrl, connections } = provider
  const { workspace_id, access_token } = connections.msgapp
  const post = (authorization: string) =>
    fetch(`${simulatorUrl}/control/inbound`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify({ workspace_id, from: phone, text: 'hi' }),
    })
  assert.equal((await post('Bearer of another')).status, 401)
  assert.equal((await post(`Bearer ${access_token}`)).status, 200)
})
