/** A scheduled broadcast is edited, rescheduled, started and copied; nothing is sent twice. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, type Json, main, startSignedIn, until, withProvider } from './support.ts'

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
const later = () => inMs(86_400_000)
const phoneOf = (i: number) => `+1415557${String(i).padStart(4, '0')}`

async function startScheduling(t: TestContext) {
  const world = await withProvider(startSignedIn(t))
  const news = () => ({
    name: 'News',
    template: { name: 'hello_world' },
    recipients: [{ to: phoneOf(1), name: 'Ann' }, { to: phoneOf(2) }],
    scheduled_at: later(),
  })
  const schedule = async (body: Json = {}): Promise<Json> =>
    (await world.ask('POST', '/broadcasts', { ...news(), ...body }, 202)).data
  const completed = (id: string) =>
    until('it to be over', async () => {
      const broadcast = await world.get(`/broadcasts/${id}`)
      return broadcast.completed_at !== null && broadcast
    })
  return { ...world, schedule, completed }
}

test('a scheduled broadcast is edited and started now; each recipient gets one message', main, async (t) => {
  const { ask, get, browser, provider, schedule, completed } = await startScheduling(t)
  const { id } = await schedule()
  const at = later()
  const template = { name: 'order_confirmed', language: 'en_US', params: ['Ann', 'A-1'] }
  const recipients = [{ to: phoneOf(2) }, { to: phoneOf(3), name: 'Cy' }, { to: 'no number' }]
  const edited = (await ask('PATCH', `/broadcasts/${id}`, { name: 'Orders', template, recipients, scheduled_at: at }))
    .data
  assert.deepEqual(
    [edited.name, edited.template.name, edited.total_count, edited.skipped_count, edited.scheduled_at, edited.status],
    ['Orders', 'order_confirmed', 3, 1, at, 'scheduled'],
  )
  // What is not named stays.
  const renamed = (await ask('PATCH', `/broadcasts/${id}`, { name: 'Orders 2' })).data
  assert.deepEqual([renamed.name, renamed.total_count, renamed.scheduled_at], ['Orders 2', 3, at])
  const source = await get(`/broadcasts/${id}/source`)
  assert.deepEqual(source, {
    status: 'scheduled',
    name: 'Orders 2',
    template: { ...template, params: (await get(`/broadcasts/${id}`)).params, contact_fields: true },
    from: provider.connections.msgapp.id,
    segment_id: null,
    audience: null,
    recipients: [
      { to: phoneOf(2), name: null },
      { to: phoneOf(3), name: 'Cy' },
      { to: 'no number', name: null },
    ],
    has_more_recipients: false,
    has_own_values: false,
    scheduled_at: at,
  })
  for (const [changes, message] of [
    [{ name: ' ' }, /name/],
    [{ template: { name: 'nothing' } }, /template/],
    [{ template: { name: 'order_confirmed', params: ['one'] } }, /param/],
    [{ scheduled_at: '2020-01-01T00:00:00Z' }, /scheduled_at/],
    [{ segment_id: '0199c1d2-6b10-7c3a-9d52-3b6f0e8c4a17' }, /segment/],
  ] as const) {
    const answer = await browser.call('PATCH', `/broadcasts/${id}`, changes)
    assert.ok(answer.status === 400 || answer.status === 404, answer.text)
    assert.match(answer.body.error.message, message)
  }
  assert.equal((await get(`/broadcasts/${id}`)).name, 'Orders 2')

  await ask('POST', `/broadcasts/${id}/start`)
  const done = await completed(id)
  assert.deepEqual([done.sent_count, done.skipped_count, done.pending_count], [2, 1, 0])
  assert.deepEqual((await provider.sent()).map(({ to }) => to).sort(), [phoneOf(2), phoneOf(3)])
  for (const call of [
    () => browser.call('PATCH', `/broadcasts/${id}`, { name: 'Too late' }),
    () => browser.call('POST', `/broadcasts/${id}/start`),
  ])
    assertBadRequest(await call(), /cannot be (changed|started)/)
  const audit = (await get('/audit')).map(({ action }: Json) => action)
  assert.ok(audit.includes('broadcast.edited') && audit.includes('broadcast.started'))
})

test('of an edit and the start at the same moment one comes first, and nothing is sent twice', async (t) => {
  const { browser, get, provider, schedule, completed, ask } = await startScheduling(t)
  for (let round = 0; round < 6; round++) {
    const [kept, added] = [phoneOf(100 + 2 * round), phoneOf(101 + 2 * round)]
    // The first ones are due before the calls, the last ones after them.
    const { id } = await schedule({ recipients: [{ to: kept }], scheduled_at: inMs(25 * round) })
    const answers = await Promise.all([
      browser.call('PATCH', `/broadcasts/${id}`, { recipients: [{ to: kept }, { to: added }], scheduled_at: later() }),
      browser.call('POST', `/broadcasts/${id}/start`),
      browser.call('POST', `/broadcasts/${id}/start`),
    ])
    for (const { status, text } of answers) assert.ok(status === 200 || status === 400, text)
    assert.ok(answers.slice(1).filter(({ status }) => status === 200).length <= 1)
    const isEdited = answers[0]?.status === 200
    if ((await get(`/broadcasts/${id}`)).status === 'scheduled') await ask('POST', `/broadcasts/${id}/start`)
    const done = await completed(id)
    assert.equal((await provider.sent(kept)).length, 1, `round ${round}`)
    assert.equal((await provider.sent(added)).length, isEdited ? 1 : 0, `round ${round}`)
    assert.equal(done.sent_count, isEdited ? 2 : 1)
  }
})

test('a rescheduled broadcast starts by its new time, and values of recipients stay', async (t) => {
  const { ask, get, provider, schedule, completed } = await startScheduling(t)
  const template = { name: 'order_confirmed' }
  const recipients = [{ to: phoneOf(50), params: ['Ann', 'A-50'] }]
  const { id } = await schedule({ template, recipients })
  const source = await get(`/broadcasts/${id}/source`)
  assert.equal(source.has_own_values, true)
  assert.deepEqual(source.recipients, [{ to: phoneOf(50), name: null, params: { body: ['Ann', 'A-50'] } }])
  await ask('PATCH', `/broadcasts/${id}`, { scheduled_at: inMs(200) })
  await completed(id)
  const [sent] = await provider.sent(phoneOf(50))
  assert.match(JSON.stringify(sent?.body), /A-50/)
})

test('values stay literal or keep their fields when a broadcast is edited, copied or older than the choice', async (t) => {
  const { api, db, ask, get, provider, completed } = await startScheduling(t)
  const template = { name: 'order_confirmed', params: ['{{contact.name|there}}', 'A-1'] }
  const create = async (to: string, more: Json = {}) => {
    const body = { name: 'News', template: { ...template, ...more }, recipients: [{ to }], scheduled_at: later() }
    return (await api.post('/broadcasts', body)).body.data.id
  }
  const valuesOf = async (to: string) =>
    (await provider.sent(to)).map(({ body }) => body.template.components[0].parameters[0].text)

  // Of the API, without fields: the name changes, the values do not.
  const literal = await create(phoneOf(70))
  await ask('PATCH', `/broadcasts/${literal}`, { name: 'Still literal' })
  assert.equal((await get(`/broadcasts/${literal}/source`)).template.contact_fields, false)
  await provider.fault({ to: phoneOf(70), mode: 'reject', count: 1 })
  await ask('POST', `/broadcasts/${literal}/start`)
  await completed(literal)
  const again = (await ask('POST', `/broadcasts/${literal}/again`, undefined, 202)).data
  await completed(again.id)
  assert.deepEqual(await valuesOf(phoneOf(70)), ['{{contact.name|there}}'])

  // As the previous release created it.
  const older = await create(phoneOf(71))
  await db`
    update broadcasts set contact_fields = default where workspace_id = ${api.workspaceId} and id = ${older}`
  await ask('POST', `/broadcasts/${older}/start`)
  await completed(older)
  assert.deepEqual(await valuesOf(phoneOf(71)), ['there'])

  // A member who sends the values of this form sends fields.
  const changed = await create(phoneOf(72))
  await ask('PATCH', `/broadcasts/${changed}`, { template })
  await ask('POST', `/broadcasts/${changed}/start`)
  await completed(changed)
  assert.deepEqual(await valuesOf(phoneOf(72)), ['there'])
})
