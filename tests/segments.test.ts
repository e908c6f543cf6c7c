import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, assertRefused, assertStatus, dataOf, pluck, toListed } from './assertions.ts'
import { type Api, type Json, main, start } from './support.ts'

const absent = '01890000-0000-7000-8000-000000000000'
const byTag = (value: string) => ({ match: 'all', rules: [{ field: 'tag', op: 'has', value }] })

async function people(api: Api, count: number, more: object = {}): Promise<string[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, i) => api.post('/contacts', { phone: `+1415555${1000 + i}`, ...more })),
  )
  return answers.map(({ body }) => body.data.id)
}

test('a static segment contains the contacts that were added', main, async (t) => {
  const { api, workspace } = await start(t)
  const ids = await people(api, 3)
  const other = await workspace()
  const [foreign = ''] = await people(other.api, 1)

  const made = await api.post('/segments', { name: '  Friends  ', description: 'People we like' })
  assert.equal(made.status, 201)
  const { id, color, created_at, updated_at, ...rest } = made.body.data
  const friends = { name: 'Friends', description: 'People we like', kind: 'static' }
  assert.deepEqual(rest, { ...friends, filter: null, member_count: 0 })
  assert.match(color, /^#[0-9a-f]{6}$/)
  assert.equal(created_at, updated_at)

  const add = (contact_ids: string[]) => api.post(`/segments/${id}/contacts`, { contact_ids })
  const first = await add([ids[0] ?? '', ids[1] ?? '', foreign, absent, ids[0] ?? ''])
  assert.deepEqual([first.status, first.body.data], [200, { segment_id: id, requested: 5, added: 2 }])
  assert.deepEqual((await add(ids)).body.data, { segment_id: id, requested: 3, added: 1 })
  assert.equal((await api.get(`/segments/${id}`)).body.data.member_count, 3)

  const removed = await api.delete(`/segments/${id}/contacts`, { contact_ids: [ids[1], foreign, absent] })
  assert.deepEqual([removed.status, removed.body.data], [200, { segment_id: id, requested: 3, removed: 1 }])
  const members = (await api.get(`/segments/${id}/contacts`)).body
  assert.deepEqual(pluck(members.data, 'id'), [ids[2], ids[0]].sort().reverse())
  assert.equal(members.meta.next_cursor, null)
  assert.deepEqual(members.data[0], toListed((await api.get(`/contacts/${members.data[0].id}`)).body.data))
})

test('a dynamic segment is computed on every read', main, async (t) => {
  const { api } = await start(t)
  const [ann = '', bob = ''] = await people(api, 2)
  await api.patch(`/contacts/${ann}`, { tags: ['VIP'] })

  const made = await api.post('/segments', { name: 'Very important', kind: 'dynamic', filter: byTag('vip') })
  assert.equal(made.status, 201)
  assert.equal(made.body.data.member_count, 1)
  assert.deepEqual(made.body.data.filter, byTag('vip'))
  const path = `/segments/${made.body.data.id}`

  await api.patch(`/contacts/${bob}`, { tags: ['Vip'] })
  await api.patch(`/contacts/${ann}`, { tags: [] })
  assert.equal((await api.get(path)).body.data.member_count, 1)
  assert.deepEqual(pluck((await api.get(`${path}/contacts`)).body.data, 'id'), [bob])
  const dynamic = /dynamic/
  assertBadRequest(await api.post(`${path}/contacts`, { contact_ids: [ann] }), dynamic)
  assertBadRequest(await api.delete(`${path}/contacts`, { contact_ids: [ann] }), dynamic)
})

test('segment names are unique, ignoring case', async (t) => {
  const { api, workspace } = await start(t)
  const first = await api.post('/segments', { name: 'Été 2026' })
  const second = await api.post('/segments', { name: 'Other' })
  const taken = 'name: already used by another segment'
  assertBadRequest(await api.post('/segments', { name: 'éTÉ 2026 ' }), taken)
  assertBadRequest(await api.patch(`/segments/${second.body.data.id}`, { name: 'ÉTÉ 2026' }), taken)
  assert.equal((await api.patch(`/segments/${first.body.data.id}`, { name: 'ÉTÉ 2026' })).body.data.name, 'ÉTÉ 2026')
  const other = await workspace()
  assert.equal((await other.api.post('/segments', { name: 'Été 2026' })).status, 201)

  const rush = await Promise.all(Array.from({ length: 10 }, () => api.post('/segments', { name: 'Rush' })))
  assert.equal(rush.filter(({ status }) => status === 201).length, 1)
  for (const answer of rush.filter(({ status }) => status !== 201)) assertBadRequest(answer, taken)
})

test('an invalid segment is rejected', async (t) => {
  const { api } = await start(t)
  const refused = async (body: object, message: RegExp | string) =>
    assertBadRequest(await api.post('/segments', body), message)
  await refused({}, 'name: required')
  await refused({ name: '  ' }, 'name: must not be blank')
  await refused({ name: null }, 'name: must be a string')
  await refused({ name: 'x'.repeat(81) }, 'name: must have at most 80 characters')
  await refused({ name: 'x', kind: 'magic' }, 'kind: must be one of static, dynamic')
  await refused({ name: 'x', description: 5 }, 'description: must be a string or null')
  await refused({ name: 'x', kind: 'dynamic' }, 'filter: required for a dynamic segment')
  await refused({ name: 'x', kind: 'dynamic', filter: null }, 'filter: required for a dynamic segment')
  await refused({ name: 'x', kind: 'dynamic', filter: 'x' }, 'filter: must be an object')
  await refused({ name: 'x', kind: 'dynamic', filter: { match: 'all', rules: [] } }, /^filter\.rules: /)
  const rules = Array.from({ length: 51 }, () => ({ field: 'name', op: 'is_set' }))
  await refused({ name: 'x', kind: 'dynamic', filter: { match: 'any', rules } }, /^filter\.rules: .*50/)
  assert.deepEqual((await api.get('/segments')).body.data, [])

  const emoji = '😀'.repeat(80)
  assert.equal((await api.post('/segments', { name: emoji, description: null })).body.data.name, emoji)
  for (const [i, kind] of [undefined, 'static', null].entries()) {
    for (const [j, given] of [byTag('x'), null, 'x', { match: 'none' }, byTag('')].entries()) {
      const dropped = dataOf(await api.post('/segments', { name: `Drops ${i} ${j}`, kind, filter: given }), 201)
      assert.deepEqual([dropped.kind, dropped.filter], ['static', null])
    }
  }
  const full = { match: 'any', rules: rules.slice(0, 50) }
  assert.equal((await api.post('/segments', { name: 'Full', kind: 'dynamic', filter: full })).status, 201)
})

test('an invalid rule is named by its index, counted from 0', async (t) => {
  const { api } = await start(t)
  const good = { field: 'name', op: 'is_set' }
  const refused = async (rule: object, message: RegExp) => {
    const filter = { match: 'all', rules: [good, rule] }
    assertBadRequest(await api.post('/segments', { name: 'x', kind: 'dynamic', filter }), message)
  }
  await refused({ field: 'shoe_size', op: 'is', value: '5' }, /^filter\.rules\[1\]\.field: /)
  await refused({ field: 'constructor', op: 'is', value: '5' }, /^filter\.rules\[1\]\.field: /)
  await refused({ field: 'name', op: 'has', value: 'x' }, /^filter\.rules\[1\]\.op: /)
  await refused({ field: 'name', op: 'is' }, /^filter\.rules\[1\]\.value: required/)
  await refused({ field: 'name', op: 'is', value: null }, /^filter\.rules\[1\]\.value: /)
  await refused({ field: 'name', op: 'is', value: 5 }, /^filter\.rules\[1\]\.value: /)
  await refused({ field: 'channel', op: 'has', value: 'fax' }, /^filter\.rules\[1\]\.value: /)
  await refused({ field: 'connection', op: 'has', value: ' ' }, /^filter\.rules\[1\]\.value: required/)
  await refused({ field: 'connection', op: 'is', value: 'Sales' }, /^filter\.rules\[1\]\.op: /)
  await refused({ field: 'conversation_status', op: 'is', value: 'asleep' }, /^filter\.rules\[1\]\.value: /)
  for (const value of ['yesterday', '30', '30x', '-3d', '2026-02-30T00:00:00Z', '2026-01-01', '9999999d']) {
    await refused({ field: 'created_at', op: 'before', value }, /^filter\.rules\[1\]\.value: /)
  }
  await refused({ op: 'is', value: 'x' }, /^filter\.rules\[1\]\.field: required/)
  const optedOut = { field: 'opted_out', op: 'is', value: 'yes' }
  await refused(optedOut, /^filter\.rules\[1\]\.value: must be one of true, false/)
})

test('a rule may be a nested filter, and an operator without a value is returned with an empty one', async (t) => {
  const { api } = await start(t)
  const create = async (phone: string, body: object) => (await api.post('/contacts', { phone, ...body })).body.data.id
  const ann = await create('+14155550100', { name: 'Ann', tags: ['VIP'] })
  const bob = await create('+14155550101', { name: 'Bob', company: 'Acme' })
  await create('+14155550102', { name: 'Cat' })
  await create('+14155550103', { tags: ['VIP'] })
  const isNamed = { field: 'name', op: 'is_set' }
  const [isVip, isAtAcme] = [byTag('vip').rules[0], { field: 'company', op: 'is', value: 'ACME' }]
  const rules = [isVip, isAtAcme, { ...isNamed, extra: 1 }]
  const filter = { match: 'all', rules: [isNamed, { match: 'any', rules }] }
  const post = (given: object) => api.post('/segments', { name: 'Nested', kind: 'dynamic', filter: given })
  const made = dataOf(await post({ match: 'all', rules: [isNamed, { match: 'any', rules: [isVip, isAtAcme] }] }), 201)
  assert.equal(made.member_count, 2)
  const { id } = made
  assert.deepEqual(pluck((await api.get(`/segments/${id}/contacts`)).body.data, 'id'), [bob, ann])
  const changed = await api.patch(`/segments/${id}`, { filter })
  const answered = { ...isNamed, value: '' }
  assert.deepEqual(changed.body.data.filter, {
    match: 'all',
    rules: [answered, { field: 'group', op: 'any', value: '', match: 'any', rules: [isVip, isAtAcme, answered] }],
  })
  assert.equal(changed.body.data.member_count, 3)
  assert.deepEqual((await api.get('/segments')).body.data[0].filter, changed.body.data.filter)

  const refused = async (rule: unknown, message: RegExp) =>
    assertBadRequest(await post({ match: 'all', rules: [isNamed, rule] }), message)
  const wrongOp = { field: 'tag', op: 'is', value: 'x' }
  await refused({ match: 'any', rules: [isVip, wrongOp] }, /^filter\.rules\[1\]\.rules\[1\]\.op: /)
  const noValue = { field: 'tag', op: 'has' }
  await refused({ match: 'any', rules: [isVip, noValue] }, /^filter\.rules\[1\]\.rules\[1\]\.value: /)
  await refused({ match: 'some', rules: [isVip] }, /^filter\.rules\[1\]\.match: /)
  await refused({ match: 'any', rules: [] }, /^filter\.rules\[1\]\.rules: /)
  await refused({ match: 'any', rules: [{ match: 'any', rules: [isVip] }] }, /^filter\.rules\[1\]\.rules\[0\]/)
  await refused({ ...isVip, rules: [isVip], op: 'unknown' }, /^filter\.rules\[1\]\.op: /)
  await refused({ rules: [isVip] }, /^filter\.rules\[1\]\.match: required/)
  await refused({ op: 'has' }, /^filter\.rules\[1\]\.field: required/)
  await refused({ field: 'tag' }, /^filter\.rules\[1\]\.op: required/)
  const full = { match: 'any', rules: Array.from({ length: 50 }, () => isVip) }
  assertBadRequest(await post({ match: 'any', rules: Array.from({ length: 5 }, () => full) }), /^filter: .*200/)
})

test('a group is returned with the fields of a rule, and accepted in this form, too', async (t) => {
  const { api } = await start(t)
  const isVip = { field: 'tag', op: 'has', value: 'vip' }
  const create = (name: string, rule: unknown) =>
    api.post('/segments', { name, kind: 'dynamic', filter: { match: 'all', rules: [isVip, rule] } })
  const shown = { field: 'group', op: 'any', value: '', match: 'any', rules: [isVip] }
  const forms = [
    { match: 'any', rules: [isVip] },
    { field: 'group', op: 'any', value: '', rules: [isVip] },
    { field: 'group', op: 'any', rules: [isVip] },
    { field: 'group', match: 'any', rules: [isVip] },
    shown,
  ]
  for (const [i, form] of forms.entries()) {
    const made = await create(`Form ${i}`, form)
    assert.equal(made.status, 201, made.text)
    assert.deepEqual(made.body.data.filter.rules, [isVip, shown])
    for (const rule of made.body.data.filter.rules) {
      assert.deepEqual(Object.keys(rule).slice(0, 3), ['field', 'op', 'value'])
    }
    const { id, filter } = made.body.data
    assert.deepEqual((await api.patch(`/segments/${id}`, { filter })).body.data.filter, filter)
    assert.deepEqual((await api.get(`/segments/${id}`)).body.data.filter, filter)
    assert.deepEqual((await api.get('/segments?limit=1')).body.data[0].filter, filter)
  }
  for (const [rule, message] of [
    [{ field: 'group', op: 'has', rules: [isVip] }, 'filter.rules[1].op: must be one of all, any'],
    [{ field: 'group', rules: [isVip] }, 'filter.rules[1].op: required'],
    [{ field: 'group', op: 'any', value: '' }, 'filter.rules[1].rules: required'],
    [{ ...shown, op: 'all' }, 'filter.rules[1].op: must be the same as match'],
    [{ ...shown, rules: [shown] }, /^filter\.rules\[1\]\.rules\[0\]\.field: unknown/],
    [{ ...shown, rules: 'x' }, 'filter.rules[1].rules: must be an array'],
    [{ ...shown, rules: [{ ...isVip, value: 5 }] }, 'filter.rules[1].rules[0].value: must be a string'],
  ] as const) {
    assertBadRequest(await create('Refused', rule), message)
  }
})

test('an update changes only the fields it contains, never the kind', async (t) => {
  const { api } = await start(t)
  await people(api, 2, { tags: ['a'] })
  const made = (await api.post('/segments', { name: 'One', description: 'd', kind: 'dynamic', filter: byTag('a') }))
    .body.data
  const path = `/segments/${made.id}`

  const renamed = (await api.patch(path, { name: 'Two', kind: 'static', color: '#000000' })).body.data
  assert.deepEqual({ ...renamed, updated_at: '' }, { ...made, name: 'Two', updated_at: '' })
  const refiltered = (await api.patch(path, { filter: byTag('b'), description: null })).body.data
  assert.deepEqual([refiltered.member_count, refiltered.description], [0, null])
  const wrong = { match: 'all', rules: [{ field: 'x', op: 'y' }] }
  assertBadRequest(await api.patch(path, { filter: wrong }), /rules\[0\]\.field/)
  const unchanged = (await api.get(path)).body.data
  assert.deepEqual((await api.patch(path, { filter: null, name: null })).body.data, unchanged)
  assertRefused(await api.patch(`/segments/${absent}`, { name: 'x' }), 404, 'not_found')

  const fixed = (await api.post('/segments', { name: 'Fixed' })).body.data
  assertBadRequest(await api.patch(`/segments/${fixed.id}`, { filter: byTag('a') }), /static/)
})

test('lists have no counts, are filtered by kind, and have pages', async (t) => {
  const { api } = await start(t)
  for (let i = 0; i < 5; i++) await api.post('/segments', { name: `S${i}` })
  await api.post('/segments', { name: 'D', kind: 'dynamic', filter: byTag('x') })

  const page = (await api.get('/segments?limit=4')).body
  assert.deepEqual(pluck(page.data, 'name'), ['D', 'S4', 'S3', 'S2'])
  assert.ok(!('member_count' in page.data[0]))
  const rest = (await api.get(`/segments?limit=4&cursor=${page.meta.next_cursor}`)).body
  assert.deepEqual([rest.data.length, rest.meta.next_cursor], [2, null])
  assert.equal((await api.get('/segments?kind=dynamic')).body.data.length, 1)
  assertBadRequest(await api.get('/segments?kind=odd'), /^kind: /)
})

test('deleting a segment keeps its contacts', async (t) => {
  const { api } = await start(t)
  const ids = await people(api, 2)
  const { id } = (await api.post('/segments', { name: 'Short-lived' })).body.data
  await api.post(`/segments/${id}/contacts`, { contact_ids: ids })

  const deleted = await api.delete(`/segments/${id}`)
  assert.deepEqual([deleted.status, deleted.body], [200, { data: { id, deleted: true } }])
  for (const answer of [
    await api.delete(`/segments/${id}`),
    await api.get(`/segments/${id}`),
    await api.get(`/segments/${id}/contacts`),
    await api.post(`/segments/${id}/contacts`, { contact_ids: ids }),
    await api.delete(`/segments/${id}/contacts`, { contact_ids: ids }),
  ]) {
    assertRefused(answer, 404, 'not_found')
  }
  assert.equal((await api.get('/contacts')).body.data.length, 2)
  assert.equal((await api.post('/segments', { name: 'short-LIVED' })).status, 201)
})

test('a call takes 1 to 1,000 contact ids', async (t) => {
  const { api } = await start(t)
  const [ann] = await people(api, 1)
  const { id } = (await api.post('/segments', { name: 'Bulk' })).body.data
  const path = `/segments/${id}/contacts`
  const thousand = Array.from({ length: 1_000 }, () => ann)
  const added = { segment_id: id, requested: 1_000, added: 1 }
  assert.deepEqual((await api.post(path, { contact_ids: thousand })).body.data, added)
  assertBadRequest(await api.post(path, { contact_ids: [...thousand, ann] }), /^contact_ids: .*1000/)
  assertBadRequest(await api.post(path, { contact_ids: [] }), /^contact_ids: /)
  assertBadRequest(await api.post(path, { contact_ids: ann }), 'contact_ids: must be an array')
  assertBadRequest(await api.post(path, { contact_ids: [ann, 'x'] }), 'contact_ids[1]: not a uuid')
  assertBadRequest(await api.post(path, { contact_ids: [`urn:uuid:${ann}`] }), 'contact_ids[0]: not a uuid')
  assertBadRequest(await api.post(path))
})

test('concurrent calls that add the same contacts succeed and count each once', async (t) => {
  const { api } = await start(t)
  const ids = await people(api, 60)
  const { id } = (await api.post('/segments', { name: 'Crowd' })).body.data
  const orders = [ids, ids.toReversed(), ids.toSorted()]
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => api.post(`/segments/${id}/contacts`, { contact_ids: orders[i % 3] })),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  const added = answers.reduce((sum, { body }) => sum + body.data.added, 0)
  assert.equal(added, 60)
})

test('contacts of a segment are listed newest first, whenever they were added', async (t) => {
  const { api } = await start(t)
  const ids: string[] = []
  for (let i = 0; i < 9; i++) {
    ids.push((await api.post('/contacts', { phone: `+1415555${1000 + i}`, tags: ['all'] })).body.data.id)
  }
  const fixed = (await api.post('/segments', { name: 'Fixed' })).body.data
  const computed = (await api.post('/segments', { name: 'All', kind: 'dynamic', filter: byTag('all') })).body.data
  const [oldest = '', ...others] = ids
  await api.post(`/segments/${fixed.id}/contacts`, { contact_ids: others })
  await api.post(`/segments/${fixed.id}/contacts`, { contact_ids: [oldest] })
  for (const { id } of [fixed, computed]) {
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Json = (await api.get(`/segments/${id}/contacts?limit=4&cursor=${cursor}`)).body
      seen.push(...page.data.map((contact: Json) => contact.id))
      cursor = page.meta.next_cursor
      // A new contact sorts before the first page: no row is skipped or repeated.
      const phone = `+1415556${1000 + seen.length}${id === fixed.id ? 1 : 2}`.slice(0, 12)
      const late = await api.post('/contacts', { phone, tags: ['all'] })
      await api.post(`/segments/${fixed.id}/contacts`, { contact_ids: [late.body.data.id] })
    }
    const kept = seen.filter((id) => ids.includes(id))
    assert.deepEqual(kept, ids.toReversed())
    assert.equal(new Set(seen).size, seen.length)
  }
})

test('deleting a segment while contacts are added causes no 500', async (t) => {
  const { api } = await start(t)
  const ids = await people(api, 30)
  for (let round = 0; round < 5; round++) {
    const { id } = (await api.post('/segments', { name: `Race ${round}` })).body.data
    const answers = await Promise.all([
      ...Array.from({ length: 6 }, () => api.post(`/segments/${id}/contacts`, { contact_ids: ids })),
      api.delete(`/segments/${id}`),
      ...Array.from({ length: 6 }, () => api.delete(`/segments/${id}/contacts`, { contact_ids: ids })),
    ])
    for (const { status, text } of answers) assert.ok(status === 200 || status === 404, text)
    assertRefused(await api.get(`/segments/${id}`), 404, 'not_found')
  }
})

test('a filter compares attributes as text and as numbers', async (t) => {
  const { api } = await start(t)
  const people: [string, Json][] = [
    ['Ada', { plan: 'Pro', seats: 12, city: 'Zürich' }],
    ['Ben', { plan: 'free', seats: 3.5 }],
    ['Cy', { plan: 'PROFESSIONAL', seats: '40', trial: true }],
    ['Di', {}],
  ]
  for (const [i, [name, attributes]] of people.entries()) {
    assertStatus(await api.post('/contacts', { phone: `+1415555030${i}`, name, attributes }), 201)
  }
  const find = async (...rules: Json[]) => {
    const filter = { match: 'all', rules }
    const made = await api.post('/segments', { name: JSON.stringify(rules).slice(0, 80), kind: 'dynamic', filter })
    assert.equal(made.status, 201, made.text)
    const listed = await api.get(`/segments/${made.body.data.id}/contacts`)
    return listed.body.data
      .map(({ name }: Json) => name)
      .sort()
      .join(' ')
  }
  const plan = 'attributes.plan'
  const seats = 'attributes.seats'
  assert.equal(await find({ field: plan, op: 'is', value: 'pro' }), 'Ada')
  assert.equal(await find({ field: plan, op: 'is_not', value: 'PRO' }), 'Ben Cy Di')
  assert.equal(await find({ field: plan, op: 'starts_with', value: 'pro' }), 'Ada Cy')
  assert.equal(await find({ field: plan, op: 'contains', value: 'RE' }), 'Ben')
  assert.equal(await find({ field: plan, op: 'not_contains', value: 'r%' }), 'Ada Ben Cy Di')
  assert.equal(await find({ field: plan, op: 'is_set' }), 'Ada Ben Cy')
  assert.equal(await find({ field: plan, op: 'is_not_set' }), 'Di')
  assert.equal(await find({ field: 'attributes.city', op: 'is', value: 'ZÜRICH' }), 'Ada')
  assert.equal(await find({ field: 'attributes.trial', op: 'is', value: 'true' }), 'Cy')
  assert.equal(await find({ field: seats, op: 'gt', value: '3' }), 'Ada Ben')
  assert.equal(await find({ field: seats, op: 'lt', value: '3.6' }), 'Ben')
  assert.equal(await find({ field: seats, op: 'gt', value: '-1' }, { field: plan, op: 'is', value: 'free' }), 'Ben')
  const refuse = async (rule: Json, message: string | RegExp) => {
    const filter = { match: 'all', rules: [rule] }
    assertBadRequest(await api.post('/segments', { name: 'Refused', kind: 'dynamic', filter }), message)
  }
  for (const field of [
    'attributes.NAME',
    'attributes.',
    'attributes',
    'attributes.a-b',
    `attributes.${'a'.repeat(41)}`,
  ])
    await refuse({ field, op: 'is', value: 'x' }, /^filter\.rules\[0\]\.field: unknown; use one of /)
  await refuse({ field: seats, op: 'gt', value: 'many' }, 'filter.rules[0].value: must be a number, such as 12 or -0.5')
  await refuse({ field: seats, op: 'before', value: '3d' }, /^filter\.rules\[0\]\.op: unknown for attributes\.seats/)
})
