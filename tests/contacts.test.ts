import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Api,
  assertBadRequest,
  assertRefused,
  dataOf,
  type Json,
  main,
  pluck,
  start,
  toListed,
  until,
} from './support.ts'

const absent = '01890000-0000-7000-8000-000000000000'

const create = async (api: Api, contact: object): Promise<Json> => dataOf(await api.post('/contacts', contact), 201)

/** Every row of a list, page by page. */
async function all(api: Api, path: string, limit: number): Promise<Json[]> {
  const rows: Json[] = []
  let cursor = ''
  for (;;) {
    const page = await api.get(`${path}${path.includes('?') ? '&' : '?'}limit=${limit}${cursor && `&cursor=${cursor}`}`)
    rows.push(...page.body.data)
    if (page.body.meta.next_cursor === null) return rows
    assert.equal(page.body.data.length, limit)
    cursor = page.body.meta.next_cursor
  }
}

test('a new number creates a contact; a known number returns it unchanged', main, async (t) => {
  const { api, db } = await start(t)

  const input = { name: 'Ann', email: 'ann@example.com', company: 'Acme', tags: ['VIP', ' vip ', 'Beta'] }
  const made = await api.post('/contacts', { phone: '(415) 555-0100', ...input })
  const found = await api.post('/contacts', { phone: '+1 415 555 0100', name: 'Someone else', tags: ['New'] })

  assert.equal(made.status, 201)
  const { id, created_at, updated_at, tags, ...rest } = made.body.data
  assert.deepEqual(rest, {
    phone: '+14155550100',
    social_username: null,
    channels: ['msgapp'],
    name: 'Ann',
    email: 'ann@example.com',
    company: 'Acme',
    avatar_url: null,
    attributes: {},
    opted_out: false,
  })
  assert.deepEqual(pluck(tags, 'name'), ['Beta', 'VIP'])
  assert.match(tags[0].color, /^#[0-9a-f]{6}$/)
  assert.equal(created_at, updated_at)
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 10_000)
  assert.equal(found.status, 200)
  assert.deepEqual(found.body.data, made.body.data)
  assert.deepEqual((await db`select name from tags where workspace_id = ${api.workspaceId} and name = 'New'`).length, 0)
  assert.deepEqual(toListed((await api.get(`/contacts/${id}`)).body.data), made.body.data)
  assert.deepEqual(toListed((await api.get(`/contacts/${id.toUpperCase()}`)).body.data), made.body.data)
})

test('a known number is updated when the caller requests it', async (t) => {
  const { api, db } = await start(t)
  const fields = { name: 'Ann', email: 'ann@example.com', company: 'Acme', tags: ['VIP'] }
  const ann = await create(api, { phone: '+14155550100', ...fields })
  const post = async (body: object) => api.post('/contacts', { phone: '(415) 555-0100', ...body })
  const kept = await post({ name: 'Bob', if_exists: 'keep' })
  assert.deepEqual([kept.status, kept.body.data], [200, ann])
  const updated = await post({ name: 'Anna', email: null, tags: ['New'], if_exists: 'update' })
  assert.equal(updated.status, 200)
  const { name, email, company, tags } = updated.body.data
  assert.deepEqual([name, email, company, tags.map(({ name }: Json) => name)], ['Anna', null, 'Acme', ['New']])
  assert.deepEqual(toListed((await api.get(`/contacts/${ann.id}`)).body.data), updated.body.data)
  const made = await api.post('/contacts', { phone: '+14155550200', name: 'Eve', if_exists: 'update' })
  assert.deepEqual([made.status, made.body.data.name], [201, 'Eve'])
  assertBadRequest(await post({ if_exists: 'replace' }), 'if_exists: must be one of keep, update')
  assertBadRequest(await post({ name: 5, if_exists: 'update' }), /^name: /)
  assert.equal((await db`select from contacts where workspace_id = ${api.workspaceId}`).length, 2)
})

test('a contact is found by its exact number or e-mail address', async (t) => {
  const { api } = await start(t)
  const ann = await create(api, { phone: '+14155550100', email: 'Ann@Example.com' })
  const bob = await create(api, { phone: '+14155550101', email: 'xann@example.com' })
  const cat = await create(api, { phone: '+14155550102', email: 'ann@example.com' })
  const dan = await create(api, { phone: '+5511987654321' })
  const ids = async (query: Record<string, string>) =>
    dataOf(await api.get(`/contacts?${new URLSearchParams(query)}`)).map(({ id }: Json) => id)
  for (const phone of ['+14155550100', '+1 (415) 555-0100', '415 555 0100', '14155550100'])
    assert.deepEqual(await ids({ phone }), [ann.id], phone)
  // The same Brazilian line, without the ninth digit.
  assert.deepEqual(await ids({ phone: '+551187654321' }), [dan.id])
  assert.deepEqual(await ids({ phone: '+14155550199' }), [])
  assert.deepEqual(await ids({ email: 'ANN@example.com' }), [cat.id, ann.id])
  assert.deepEqual(await ids({ email: 'ann@example.co' }), [])
  assert.deepEqual(await ids({ email: 'ann_example.com' }), [])
  assert.deepEqual(await ids({ email: 'ann@example.com', phone: '+14155550100' }), [ann.id])
  assert.deepEqual(await ids({ email: 'xann@example.com', search: 'xann' }), [bob.id])
  for (const phone of ['', 'nope', '12']) {
    const query = new URLSearchParams({ phone })
    assertBadRequest(await api.get(`/contacts?${query}`), 'phone: not a phone number')
  }
  assertBadRequest(await api.get('/contacts?email='), /^email: /)
})

test('blank text is stored as null', async (t) => {
  const { api } = await start(t)
  const blank = { name: '  ', email: '\t', company: ' \n ' }
  const ann = await create(api, { phone: '+14155550100', ...blank })
  assert.deepEqual([ann.name, ann.email, ann.company], [null, null, null])
  await api.patch(`/contacts/${ann.id}`, { name: 'Ann', email: 'a@b.c', company: 'Acme' })
  const changed = (await api.patch(`/contacts/${ann.id}`, blank)).body.data
  assert.deepEqual([changed.name, changed.email, changed.company], [null, null, null])
})

test('white space around names, emails and companies is removed wherever they come from', async (t) => {
  const { api, connect } = await start(t)
  await connect()
  const spaced = { name: ' Ann\t', email: '\u00a0ann@example.com ', company: '\nAcme ' }
  const trimmed = ['Ann', 'ann@example.com', 'Acme']
  const textsOf = ({ name, email, company }: Json) => [name, email, company]
  const foundBy = async (email: string) =>
    (await api.get(`/contacts?${new URLSearchParams({ email })}`)).body.data.map(({ phone }: Json) => phone)

  assert.deepEqual(textsOf(await create(api, { phone: '+14155550100', ...spaced })), trimmed)
  const { id } = await create(api, { phone: '+14155550101' })
  assert.deepEqual(textsOf((await api.patch(`/contacts/${id}`, spaced)).body.data), trimmed)
  const known = await api.post('/contacts', { phone: '+14155550101', name: ' Bea ', if_exists: 'update' })
  assert.equal(known.body.data.name, 'Bea')
  const contacts = [
    { phone: '+14155550101', ...spaced, if_exists: 'update' },
    { phone: '+14155550102', ...spaced },
  ]
  const batch = (await api.post('/contacts/batch', { contacts })).body.data
  for (const each of batch) assert.deepEqual(textsOf((await api.get(`/contacts/${each.id}`)).body.data), trimmed)
  const phones = ['+14155550102', '+14155550101', '+14155550100']
  for (const email of ['ANN@example.com', ' ann@example.com ']) assert.deepEqual(await foundBy(email), phones)

  const template = { name: 'hello_world' }
  await api.post('/messages', { to: '+14155550103', type: 'template', template, name: ' Cleo ' })
  const recipients = [
    { to: '+14155550100', name: ' Dana ' },
    { to: '+14155550104', name: ' Eve ' },
  ]
  await api.post('/broadcasts', { name: 'News', template, recipients })
  for (const [phone, name] of [
    ['+14155550103', 'Cleo'],
    ['+14155550100', 'Dana'],
    ['+14155550104', 'Eve'],
  ] as const) {
    const found = async () => (await api.get(`/contacts?${new URLSearchParams({ phone })}`)).body.data[0]
    await until(name, async () => (await found())?.name === name)
  }
})

test('a number without country code is read with the default country', async (t) => {
  const { workspace } = await start(t)
  const { api } = await workspace({ country: 'GB' })
  assert.equal((await create(api, { phone: '020 7946 0958' })).phone, '+442079460958')
  assert.equal((await create(api, { phone: '+1 555 555 0100' })).phone, '+15555550100')
})

test('an invalid phone number is rejected with the field and the rule', async (t) => {
  const { api } = await start(t)
  for (const phone of ['', 'abc', '+1', '12', '+999999999999999999', '+14155550100 ext. 5']) {
    assertBadRequest(await api.post('/contacts', { phone }), 'phone: not a phone number')
  }
  assertBadRequest(await api.post('/contacts', { phone: 14155550100 }), 'phone: must be a string')
  assertBadRequest(await api.post('/contacts', { phone: null }), 'phone: must be a string')
  assertBadRequest(await api.post('/contacts', { name: 'Ann' }), 'phone: required')
  assert.deepEqual((await api.get('/contacts')).body.data, [])
})

test('50 concurrent first calls with one new number create one contact', async (t) => {
  const { api, db } = await start(t)
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => api.post('/contacts', { phone: '+14155550177', name: 'Rush', tags: ['a', 'b'] })),
  )
  assert.equal(new Set(answers.map(({ body }) => body.data.id)).size, 1)
  assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  assert.equal(answers.filter(({ status }) => status === 200).length, 49)
  const [{ count }] =
    (await db`select count(*)::int as count from contacts where workspace_id = ${api.workspaceId}`) as unknown as [
      { count: number },
    ]
  assert.equal(count, 1)
})

test('an update changes only the fields it contains', async (t) => {
  const { api } = await start(t)
  const fields = { phone: '+14155550101', name: 'Ann', email: 'a@b.c', company: 'Acme', tags: ['One'] }
  const before = await create(api, fields)

  const named = (await api.patch(`/contacts/${before.id}`, { name: 'Anna', nickname: 'ignored' })).body.data
  assert.deepEqual({ ...named, updated_at: '' }, { ...before, name: 'Anna', updated_at: '' })
  assert.ok(named.updated_at >= before.updated_at)

  const cleared = (await api.patch(`/contacts/${before.id}`, { name: null, email: '', company: null })).body.data
  assert.deepEqual([cleared.name, cleared.email, cleared.company], [null, null, null])
  assert.deepEqual(cleared.tags, before.tags)

  const same = (await api.patch(`/contacts/${before.id}`, {})).body.data
  assert.deepEqual(same, cleared)
  assert.deepEqual(toListed((await api.get(`/contacts/${before.id}`)).body.data), cleared)
})

test('tags in an update replace all tags, and existing tags keep their spelling', async (t) => {
  const { api } = await start(t)
  const ann = await create(api, { phone: '+14155550102', tags: ['Été', 'Two'] })
  const bob = await create(api, { phone: '+14155550103' })

  const changed = (await api.patch(`/contacts/${bob.id}`, { tags: ['ÉTÉ', 'Three'] })).body.data
  assert.deepEqual(pluck(changed.tags, 'name'), ['Three', 'Été'])
  const shared = ann.tags.find(({ name }: Json) => name === 'Été')
  assert.ok(changed.tags.some(({ id }: Json) => id === shared.id))
  assert.deepEqual((await api.patch(`/contacts/${bob.id}`, { tags: [] })).body.data.tags, [])
})

test('an invalid update is rejected and changes nothing', async (t) => {
  const { api } = await start(t)
  const ann = await create(api, { phone: '+14155550104', name: 'Ann', tags: ['One'] })
  const path = `/contacts/${ann.id}`
  for (const field of ['name', 'email', 'company']) {
    for (const value of [5, true, {}, ['x']]) {
      const refused = await api.patch(path, { [field]: value, tags: ['New'] })
      assertBadRequest(refused, `${field}: must be a string or null`)
    }
  }
  assertBadRequest(await api.patch(path, { tags: 'ok' }), 'tags: must be an array')
  assert.deepEqual((await api.patch(path, { tags: null, phone: null })).body.data, ann)
  assertBadRequest(await api.patch(path, { tags: ['ok', 5] }), 'tags[1]: must be a string')
  assertBadRequest(await api.patch(path, { tags: ['ok', '  '] }), 'tags[1]: must not be blank')
  assertBadRequest(await api.patch(path, { tags: ['x'.repeat(81)] }), /^tags\[0\]: .*80/)
  const many = Array.from({ length: 101 }, (_, i) => `t${i}`)
  assertBadRequest(await api.patch(path, { name: 'Bob', tags: many }), /^tags: .*100/)
  assertBadRequest(await api.patch(path, { phone: '+14155550999' }), 'phone: cannot be changed')
  assertRefused(await api.patch(`/contacts/${absent}`, { name: 'x' }), 404, 'not_found')
  assert.deepEqual(toListed((await api.get(path)).body.data), ann)

  assert.equal((await api.patch(path, { phone: '415-555-0104', tags: many.slice(0, 100) })).body.data.tags.length, 100)
  const emoji = '😀'.repeat(80)
  assert.equal((await api.patch(path, { tags: [emoji] })).body.data.tags[0].name, emoji)
})

test('two concurrent updates of the tags of one contact leave one of the two lists', async (t) => {
  const { api } = await start(t)
  const ann = await create(api, { phone: '+14155550105' })
  const lists = [
    ['a', 'b'],
    ['c', 'd'],
  ]
  await Promise.all(Array.from({ length: 20 }, (_, i) => api.patch(`/contacts/${ann.id}`, { tags: lists[i % 2] })))
  const names = (await api.get(`/contacts/${ann.id}`)).body.data.tags.map(({ name }: Json) => name)
  const isOne = lists.some((list) => JSON.stringify(list) === JSON.stringify(names))
  assert.ok(isOne, JSON.stringify(names))
})

test('concurrent calls that create overlapping new tags all succeed', async (t) => {
  const { api } = await start(t)
  const ids = await Promise.all(
    Array.from({ length: 10 }, async (_, i) => (await create(api, { phone: `+1415555${1000 + i}` })).id),
  )
  const names = Array.from({ length: 200 }, (_, i) => `tag ${i}`)
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) => {
      const tags = names.filter((_, j) => (j * 7 + i * 13) % 5 < 2)
      return api.patch(`/contacts/${ids[i % 10]}`, { tags: i % 2 ? tags : tags.toReversed() })
    }),
  )
  for (const { status, text } of answers) assert.equal(status, 200, text)
})

test('lists are newest first, and pages neither skip nor repeat a row', async (t) => {
  const { api } = await start(t)
  const made: string[] = []
  for (let i = 0; i < 25; i++) made.push((await create(api, { phone: `+1415555${String(1000 + i)}` })).id)

  const rows = await all(api, '/contacts', 7)
  assert.deepEqual(pluck(rows, 'id'), made.toReversed())

  const page = await api.get('/contacts?limit=10')
  await create(api, { phone: '+14155552000' })
  const next = await api.get(`/contacts?limit=10&cursor=${page.body.meta.next_cursor}`)
  assert.deepEqual(pluck(next.body.data, 'id'), made.toReversed().slice(10, 20))
})

test('an invalid page size means 50, an invalid cursor the first page', async (t) => {
  const { api } = await start(t)
  for (let i = 0; i < 52; i++) await create(api, { phone: `+1415555${String(1000 + i)}` })
  for (const limit of ['0', '-1', '101', '1.5', 'abc', '', '1e1', '%2B5', '5&limit=6']) {
    assert.equal((await api.get(`/contacts?limit=${limit}`)).body.data.length, 50, limit)
  }
  assert.equal((await api.get('/contacts?limit=100')).body.data.length, 52)
  const first = (await api.get('/contacts')).body
  for (const cursor of ['', 'x', '%00', 'A'.repeat(22), `${first.meta.next_cursor}A`, 'a&cursor=b', '!'.repeat(5000)]) {
    const page = (await api.get(`/contacts?cursor=${cursor}`)).body
    if (cursor !== 'A'.repeat(22)) assert.deepEqual(page, first, cursor)
  }
})

test('search matches a part of name, phone, e-mail or company, ignoring case', async (t) => {
  const { api } = await start(t)
  const ids: Record<string, string> = {}
  const people = {
    ann: { phone: '+14155550100', name: 'Ann Åkesson', email: 'ANN@Example.com', company: 'Straße & Co' },
    bob: { phone: '+14155550200', name: 'Bob 100%_sure', company: 'ΟΔΟΣ' },
    eva: { phone: '+442079460958', name: 'Eva\\Maria', email: null },
  }
  for (const [who, person] of Object.entries(people)) ids[who] = (await create(api, person)).id
  const search = async (text: string) => {
    const found = dataOf(await api.get(`/contacts?search=${encodeURIComponent(text)}`))
    const byId = Object.fromEntries(Object.entries(ids).map(([who, id]) => [id, who]))
    return found.map(({ id }: Json) => byId[id]).sort()
  }
  assert.deepEqual(await search('åKES'), ['ann'])
  assert.deepEqual(await search('example.COM'), ['ann'])
  assert.deepEqual(await search('STRASSE'), ['ann'])
  assert.deepEqual(await search('οδος'), ['bob'])
  assert.deepEqual(await search('ΔΟΣ'), ['bob'])
  assert.deepEqual(await search('5550'), ['ann', 'bob'])
  assert.deepEqual(await search('0%_s'), ['bob'])
  assert.deepEqual(await search('%%%'), [])
  assert.deepEqual(await search('___'), [])
  assert.deepEqual(await search('a\\m'), ['eva'])
  assert.deepEqual(await search('+4420'), ['eva'])
  assert.deepEqual(await search('+14155550100'), ['ann'])
  assert.deepEqual(await search('4155550200'), ['bob'])
  assert.deepEqual(await search('555010'), ['ann'])
  assert.deepEqual(await search('+155550100'), [])
  assert.deepEqual(await search('999950100'), [])
  // A number as people write it.
  assert.deepEqual(await search('(415) 555-0100'), ['ann'])
  assert.deepEqual(await search('555 0200'), ['bob'])
  assert.deepEqual(await search('+44 20 7946-0958'), ['eva'])
  assert.deepEqual(await search('555-0'), ['ann', 'bob'])
  assert.deepEqual(await search('(999) 555-0100'), [])
  assert.deepEqual(await search(''), ['ann', 'bob', 'eva'])
  assert.deepEqual(await search('no such name'), [])
  // One or two characters: beginnings only.
  assert.deepEqual(await search('an'), ['ann'])
  assert.deepEqual(await search('kE'), [])
  assert.deepEqual(await search('+4'), ['eva'])
  assert.deepEqual(await search('b'), ['bob'])
  assert.deepEqual(await search('%'), [])
  assertBadRequest(await api.get('/contacts?search=a%00b'), /^search: /)
  assertBadRequest(await api.get('/contacts?search=a&search=b'), /^search: /)

  await api.patch(`/contacts/${ids.ann}`, { name: 'Renamed' })
  assert.deepEqual(await search('åkes'), [])
  assert.deepEqual(await search('RENAMED'), ['ann'])
})

test('a contact known only on another channel has no number, and cannot get one by an update', async (t) => {
  const { api, db } = await start(t)
  const { id } = await create(api, { phone: '+14155550100', name: 'Ann' })
  await db`update contact_identities set channel = 'social', external_id = 'u1' where contact_id = ${id}`
  await db`update contacts set phone = null, social_username = 'ann.o', social_username_key = 'ann.o' where id = ${id}`

  const ann = (await api.get(`/contacts/${id}`)).body.data
  assert.deepEqual([ann.phone, ann.social_username, ann.channels], [null, 'ann.o', ['social']])
  assertBadRequest(await api.patch(`/contacts/${id}`, { phone: '+14155550100' }), 'phone: cannot be changed')
  assert.equal((await api.patch(`/contacts/${id}`, { name: 'Anna' })).body.data.name, 'Anna')
})

test('a list is filtered by tag id, tag name and channel', async (t) => {
  const { api, db } = await start(t)
  const ann = await create(api, { phone: '+14155550100', tags: ['Élite'] })
  await create(api, { phone: '+14155550200' })
  await db`
    insert into contact_identities (workspace_id, channel, external_id, contact_id)
    values (${api.workspaceId}, 'social', 'u1', ${ann.id})`
  const ids = async (query: string) => (await api.get(`/contacts?${query}`)).body.data.map(({ id }: Json) => id)
  assert.deepEqual(await ids(`tag=${encodeURIComponent('éLITE')}`), [ann.id])
  assert.deepEqual(await ids(`tag=${ann.tags[0].id}`), [ann.id])
  assert.deepEqual(await ids(`tag=${absent}`), [])
  assert.deepEqual(await ids('tag=none'), [])
  assert.deepEqual(await ids('channel=social'), [ann.id])
  assert.equal((await ids('channel=msgapp')).length, 2)
  assert.deepEqual(await ids('channel=web'), [])
  assert.deepEqual(await ids('channel=social&tag=none'), [])
  assert.deepEqual((await api.get(`/contacts/${ann.id}`)).body.data.channels, ['msgapp', 'social'])
  assertBadRequest(await api.get('/contacts?channel=fax'), /^channel: must be one of msgapp, social, web/)
  assert.equal((await api.get('/contacts?unknown=1')).status, 200)
})
