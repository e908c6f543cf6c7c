/** Drafts that members write in the dashboard, and audiences of several segments. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertFields, assertRefused, pluck } from './assertions.ts'
import { sweepDrafts } from './internals.ts'
import { createMember, type Json, main, startSignedIn, until, withProvider } from './support.ts'

const phoneOf = (i: number) => `+1415559${String(i).padStart(4, '0')}`
const template = { name: 'order_confirmed', language: 'en_US', params: ['{{contact.name|there}}', 'A-1'] }

async function startDrafting(t: TestContext) {
  const world = await withProvider(startSignedIn(t))
  const create = async (body: Json = {}): Promise<Json> =>
    (await world.ask('POST', '/broadcasts/drafts', body, 201)).data
  const save = async (id: string, body: Json): Promise<Json> =>
    (await world.ask('PATCH', `/broadcasts/${id}/draft`, body)).data
  const untilOver = (id: string) =>
    until('the broadcast to be over', async () => {
      const broadcast = await world.get(`/broadcasts/${id}`)
      return broadcast.completed_at !== null && broadcast
    })
  return { ...world, create, save, untilOver }
}

test('a draft is saved while it is written, listed with its author, and sent once', main, async (t) => {
  const { create, save, get, browser, provider, api, owner, untilOver } = await startDrafting(t)
  const draft = await create({ name: 'Spring' })
  assertFields(draft, { status: 'draft', name: 'Spring', total_count: 0, template: { name: '', language: '' } })
  assert.ok(draft.saved_at)
  await save(draft.id, { template })
  const recipients = [{ to: phoneOf(1), name: 'Ann' }, { to: 'not a number' }, { to: phoneOf(2) }]
  await save(draft.id, { recipients, scheduled_at: '2020-01-01T00:00:00.000Z' })
  const saved = await save(draft.id, { name: 'Spring news' })
  assertFields(saved, { name: 'Spring news', total_count: 3, template: { name: 'order_confirmed', language: 'en_US' } })
  const source = await get(`/broadcasts/${draft.id}/source`)
  assert.deepEqual(pluck(source.recipients, 'to'), [phoneOf(1), 'not a number', phoneOf(2)])
  assert.equal(source.scheduled_at, '2020-01-01T00:00:00.000Z')
  const [listed] = await get('/broadcasts?status=draft')
  assert.deepEqual([listed.id, listed.author.name !== null], [draft.id, true])
  assert.ok(owner)
  // The API sees it, without the fields of members, and cannot start what is not complete.
  const seen = (await api.get(`/broadcasts/${draft.id}`)).body.data
  assert.deepEqual([seen.status, 'author' in seen, 'audience' in seen], ['draft', false, false])
  const unfinished = await create({ name: 'Nothing yet' })
  assert.equal((await api.post(`/broadcasts/${unfinished.id}/start`)).status, 400)

  const body = { name: 'Spring news', template, recipients: [recipients[0], recipients[2]] }
  const answers = await Promise.all([
    browser.call('POST', `/broadcasts/${draft.id}/send`, body),
    browser.call('POST', `/broadcasts/${draft.id}/send`, body),
  ])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 404])
  const sent = answers.find(({ status }) => status === 202)?.body.data
  assert.equal((await untilOver(sent.id)).sent_count, 2)
  assert.equal((await provider.sent()).length, 2)
  assertRefused(await browser.call('GET', `/broadcasts/${draft.id}`), 404, 'not_found')
  assertRefused(await browser.call('PATCH', `/broadcasts/${draft.id}/draft`, { name: 'x' }), 404, 'not_found')
  assertBadRequest(await browser.call('PATCH', `/broadcasts/${sent.id}/draft`, { name: 'x' }), /cannot be saved/)
})

test('a complete draft of a member is started through the API, and an incorrect one is refused', async (t) => {
  const { create, save, api, untilOver } = await startDrafting(t)
  const wrong = await create({
    name: 'Wrong',
    template: { ...template, params: ['one'] },
    recipients: [{ to: phoneOf(3) }],
  })
  assertBadRequest(await api.post(`/broadcasts/${wrong.id}/start`), /param/)
  const right = await create({ name: 'Right', template, recipients: [{ to: phoneOf(3) }] })
  // The last audience counts.
  await save(right.id, { audience: { segment_ids: [], excluded_segment_ids: [] } })
  assertFields(await save(right.id, { name: 'Right' }), { total_count: 0, segment_id: null })
  assertFields(await save(right.id, { recipients: [{ to: phoneOf(3) }] }), { total_count: 1, audience: null })
  assert.equal((await api.post(`/broadcasts/${right.id}/start`)).status, 200)
  assert.equal((await untilOver(right.id)).sent_count, 1)
})

test('the draft of an integration is neither saved nor replaced by a member', async (t) => {
  const { browser, api, get } = await startDrafting(t)
  const draft = { name: 'Of a program', template, recipients: [{ to: phoneOf(4) }], draft: true }
  const { id } = (await api.post('/broadcasts', draft)).body.data
  assertBadRequest(await browser.call('PATCH', `/broadcasts/${id}/draft`, { name: 'x' }), /integration/)
  const body = { name: 'x', template, recipients: [{ to: phoneOf(5) }] }
  assertRefused(await browser.call('POST', `/broadcasts/${id}/send`, body), 404, 'not_found')
  assertFields(await get(`/broadcasts/${id}`), {
    status: 'draft',
    name: 'Of a program',
    total_count: 1,
    saved_at: null,
  })
})

test('agents write drafts, viewers do not, and an old draft is deleted', async (t) => {
  const { create, db, api, get, browser } = await startDrafting(t)
  const { id } = await create({ name: 'Old' })
  const agent = await createMember(browser, 'agent')
  const viewer = await createMember(browser, 'viewer')
  assert.equal((await viewer.call('POST', '/broadcasts/drafts', { name: 'Mine' })).status, 403)
  const own = (await agent.ask('POST', '/broadcasts/drafts', { name: 'Mine' }, 201)).data
  assert.equal(own.author.id, agent.id)
  await agent.ask('PATCH', `/broadcasts/${id}/draft`, { name: 'Changed by an agent' })
  await db`
    update broadcasts set saved_at = now() - interval '31 days', created_at = now() - interval '40 days'
    where workspace_id = ${api.workspaceId} and id = ${id}`
  await db`
    update broadcasts set created_at = now() - interval '40 days' where workspace_id = ${api.workspaceId} and id = ${own.id}`
  await sweepDrafts(db)
  assert.deepEqual(pluck(await get('/broadcasts'), 'id'), [own.id])
})

test('an audience is all contacts or several segments, without the members of others', async (t) => {
  const { ask, api, get, browser, provider, untilOver } = await startDrafting(t)
  const tags = [['vip'], ['new'], ['vip', 'staff'], [], ['new']]
  for (const [i, names] of tags.entries()) {
    await api.post('/contacts', {
      phone: phoneOf(i),
      name: `No ${i}`,
      tags: names,
      ...(i === 3 ? {} : { email: `n${i}@x.test` }),
    })
  }
  const segment = async (rule: Json): Promise<string> => {
    const filter = { match: 'all', rules: [rule] }
    return (await api.post('/segments', { name: `${rule.field} ${rule.value}`, kind: 'dynamic', filter })).body.data.id
  }
  const hasTag = (value: string) => segment({ field: 'tag', op: 'has', value })
  const [vip, fresh, staff] = [await hasTag('vip'), await hasTag('new'), await hasTag('staff')]
  // Contact 3 has no email: a rule about it is neither true nor false, and does not exclude the contact.
  const odd = await segment({ field: 'email', op: 'is', value: 'n0@x.test' })
  const hello = { name: 'hello_world' }
  const preview = async (segment_ids: string[], excluded_segment_ids: string[]) =>
    (await ask('POST', '/broadcasts/preview', { template: hello, audience: { segment_ids, excluded_segment_ids } }))
      .data
  const namesOf = ({ samples }: Json) => pluck(samples, 'name').sort()
  assert.equal((await preview([], [])).total, 5)
  assert.deepEqual(namesOf(await preview([], [odd])), ['No 1', 'No 2', 'No 3', 'No 4'])
  assert.deepEqual(namesOf(await preview([vip, fresh], [staff])), ['No 0', 'No 1', 'No 4'])
  for (const audience of [
    { segment_ids: [vip], excluded_segment_ids: [vip] },
    { segment_ids: [vip], excluded_segment_ids: ['0199c1d2-6b10-7c3a-9d52-3b6f0e8c4a17'] },
  ]) {
    const { status } = await browser.call('POST', '/broadcasts', { name: 'x', template: hello, audience })
    assert.ok(status === 400 || status === 404)
  }
  const audience = { segment_ids: [vip, fresh], excluded_segment_ids: [staff] }
  const { id } = (await ask('POST', '/broadcasts', { name: 'News', template: hello, audience }, 202)).data
  const over = await untilOver(id)
  assert.deepEqual([over.sent_count, over.segment_id], [3, null])
  assert.deepEqual(over.audience, audience)
  assert.deepEqual((await provider.sent()).map(({ to }) => to).sort(), [0, 1, 4].map(phoneOf))
  // One segment without exceptions is the segment of the public API.
  const one = { segment_ids: [vip], excluded_segment_ids: [] }
  const draft = (await ask('POST', '/broadcasts/drafts', { audience: one }, 201)).data
  assert.deepEqual([draft.segment_id, draft.audience], [vip, null])
  assert.equal((await get(`/broadcasts/${draft.id}/source`)).segment_id, vip)
  // A key does not have the field.
  const refused = await api.post('/broadcasts', { name: 'News', template: hello, audience: one })
  assertBadRequest(refused, /recipients: required/)
})

test('attributes of the contact fill values, and a contact without one is skipped', async (t) => {
  const { ask, api, get, provider, untilOver } = await startDrafting(t)
  await api.post('/contacts', { phone: phoneOf(1), name: 'Ann', attributes: { city: 'Paris', visits: 3 } })
  await api.post('/contacts', { phone: phoneOf(2), name: 'Bo', attributes: { visits: 4 } })
  assert.deepEqual(await get('/broadcasts/fields'), { attributes: ['visits', 'city'] })
  const values = { ...template, params: ['{{contact.attributes.city}}', '{{contact.attributes.visits|0}}'] }
  const body = { name: 'Cities', template: values, audience: { segment_ids: [], excluded_segment_ids: [] } }
  const preview = (await ask('POST', '/broadcasts/preview', body)).data
  assert.deepEqual(preview.skipped, [{ reason: 'the contact has no attributes.city', count: 1 }])
  assert.deepEqual(preview.samples, [{ name: 'Ann', to: phoneOf(1), params: { body: ['Paris', '3'] } }])
  const { id } = (await ask('POST', '/broadcasts', body, 202)).data
  const over = await untilOver(id)
  assert.deepEqual([over.sent_count, over.skipped_count], [1, 1])
  assert.match(JSON.stringify((await provider.sent(phoneOf(1)))[0]?.body), /Paris.*3/)
  // A number without a contact has no attributes.
  const list = { name: 'List', template: values, recipients: [{ to: phoneOf(1) }, { to: phoneOf(9) }] }
  const listed = await untilOver((await ask('POST', '/broadcasts', list, 202)).data.id)
  assert.deepEqual([listed.sent_count, listed.skipped_count], [1, 1])
})
