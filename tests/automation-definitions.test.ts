/** Definitions of automations through the API: how deep they may be, and their check. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, dataOf } from './assertions.ts'
import { malformed } from './internals.ts'
import { type Json, start } from './support.ts'

const condition = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'VIP' }] }

/** A step within as many branches as needed for its level, from 1. */
const nested = (level: number, step: Json): Json =>
  level === 1 ? step : { type: 'branch', cases: [{ when: condition, steps: [nested(level - 1, step)] }] }

/** Of all contents, the one with the most levels. */
const cards = {
  type: 'send',
  message: { type: 'template', template: { name: 'offer_carousel', params: { cards: [{ body: ['A', 'B'] }] } } },
}

test('steps are nested 8 levels deep, with any content in the innermost one', async (t) => {
  const { api } = await start(t)
  const definition = { trigger: { type: 'manual' }, steps: [nested(8, cards)] }
  const created = dataOf(await api.post('/automations', { name: 'Deep', definition }), 201)
  assert.deepEqual(created.draft, definition)
  const path = `steps[0]${'.cases[0].steps[0]'.repeat(7)}.cases[0].steps`
  const deeper = { ...definition, steps: [nested(9, { type: 'note', text: 'x' })] }
  const refused = await api.post('/automations', { name: 'Deeper', definition: deeper })
  assertBadRequest(refused, `${path}: nested more than 8 levels deep`)
})

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

test('each of 60 and more malformed definitions is a 400 with the path and the rule of its fault', async (t) => {
  const { api } = await start(t)
  // What is no object, or has the name of a prototype, is refused before it is read.
  const sent = malformed.filter(([definition]) => isObject(definition) && !Object.hasOwn(definition, '__proto__'))
  assert.ok(new Set(sent.map(([definition]) => JSON.stringify(definition))).size >= 60)
  const refusals = await Promise.all(sent.map(([definition]) => api.post('/automations/check', definition)))
  for (const [i, [definition, message]] of sent.entries()) {
    const { status, body } = refusals[i] ?? {}
    const { code, message: shown } = body?.error ?? {}
    assert.deepEqual([status, code, shown], [400, 'bad_request', message], JSON.stringify(definition).slice(0, 200))
  }
})

test('a check says whether a definition is valid, and stores nothing', async (t) => {
  const { api } = await start(t)
  const check = (definition: Json) => api.post('/automations/check', definition)
  const definition = {
    steps: [nested(2, { type: 'note', text: 'A VIP' }), { message: { text: 'Hello', type: 'text' }, type: 'send' }],
    trigger: { type: 'message' },
    $schema: 'https://parley.test/docs/automation.schema.json',
  }
  const checked = dataOf(await check(definition))
  assert.equal(checked.valid, true)
  // The order of the fields is that of the schema.
  assert.equal(
    JSON.stringify(checked.definition),
    JSON.stringify({
      trigger: definition.trigger,
      steps: [definition.steps[0], { type: 'send', message: { type: 'text', text: 'Hello' } }],
    }),
  )
  assert.deepEqual(checked.steps, [
    { path: 'steps[0]', depth: 0, text: 'branch case 1' },
    { path: 'steps[0].cases[0].steps[0]', depth: 1, text: 'note A VIP' },
    { path: 'steps[1]', depth: 0, text: 'send Hello' },
  ])
  const steps = [
    { type: 'branch', cases: [{ when: { match: 'all', rules: [{ field: 'tag', op: 'like' }] }, steps: [] }] },
  ]
  const refused = await check({ ...definition, steps })
  assertBadRequest(refused, 'steps[0].cases[0].when.rules[0].op: unknown for tag; use one of has, not_has')
  assertBadRequest(await check({}), 'trigger: required')
  const other = await api.key('contacts:read')
  assert.equal((await api.post('/automations/check', definition, { key: other })).status, 403)
  assert.deepEqual((await api.get('/automations')).body.data, [])
})

test('a call to an address that the service never calls is refused while it is edited', async (t) => {
  const { api } = await start(t)
  const { id } = dataOf(await api.post('/automations', { name: 'Order status' }), 201)
  const definitionOf = (url: string) => ({
    trigger: { type: 'message' },
    steps: [
      { type: 'wait', for: '1h' },
      { type: 'call', url },
    ],
  })
  const save = (url: string) => api.call('PUT', `/automations/${id}/draft`, { body: definitionOf(url) })
  const advice = 'Use a public host, or ask the operator to allow the network in WEBHOOK_ALLOWED_CIDRS'
  for (const [url, host] of [
    ['https://10.0.0.1/orders', '10.0.0.1'],
    ['https://[::1]/orders', '::1'],
    ['https://169.254.169.254', '169.254.169.254'],
  ] as const) {
    const message = `steps[1].url: ${host} is not a public address. ${advice}`
    assertBadRequest(await save(url), message)
    assertBadRequest(await api.post('/automations', { name: 'Other', definition: definitionOf(url) }), message)
    assertBadRequest(await api.post('/automations/check', definitionOf(url)), message)
  }
  // Tests allow 127.0.0.0/8. A name is resolved only by the call.
  for (const url of ['https://localhost/orders', 'https://127.0.0.1/orders', 'https://orders.invalid/']) {
    dataOf(await save(url))
  }
})

test('a draft that another caller has changed is not overwritten', async (t) => {
  const { api } = await start(t)
  const definition = { trigger: { type: 'manual' }, steps: [{ type: 'note', text: 'a' }] }
  const { id, updated_at: read } = dataOf(await api.post('/automations', { name: 'Draft', definition }), 201)
  const path = (updatedAt: string) => `/automations/${id}/draft?if_updated_at=${encodeURIComponent(updatedAt)}`
  const save = (text: string, updatedAt: string) =>
    api.call('PUT', path(updatedAt), { body: { ...definition, steps: [{ type: 'note', text }] } })
  const saved = dataOf(await save('b', read))
  assert.notEqual(saved.updated_at, read)
  assertBadRequest(await save('c', read), 'if_updated_at: the automation has changed since')
  assert.equal(dataOf(await api.get(`/automations/${id}`)).draft.steps[0].text, 'b')
  // As after a lost response.
  assert.equal(dataOf(await save('b', read)).draft.steps[0].text, 'b')
  const { updated_at: now } = dataOf(await api.get(`/automations/${id}`))
  assert.equal((await save('c', now)).status, 200)
  assertBadRequest(await save('b', read), 'if_updated_at: the automation has changed since')
})

test('a workspace has at most 200 automations', async (t) => {
  const { api, db } = await start(t)
  const create = (name: string) =>
    api.post('/automations', { name, definition: { trigger: { type: 'manual' }, steps: [{ type: 'end' }] } })
  const { id } = dataOf(await create('First'), 201)
  await db`
    insert into automations (workspace_id, id, name, description, state, position, kind, draft, secret, created_at, updated_at)
    select workspace_id, uuidv7(), 'Copy ' || i, description, state, i, kind, draft, secret, created_at, updated_at
    from automations, generate_series(1, 198) as i
    where workspace_id = ${api.workspaceId} and id = ${id}`
  assert.equal((await create('The last')).status, 201)
  assertBadRequest(await create('One more'), 'a workspace has at most 200 automations')
})
