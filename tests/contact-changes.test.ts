/** Fields and calls of contacts that integrations need: attributes, opt-out, single tags, erasing, merging, the list of tags. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, assertRefused, dataOf, toListed } from './assertions.ts'
import { type Api, type Json, main, pluck, start, startSignedIn, withProvider } from './support.ts'

const absent = '01890000-0000-7000-8000-000000000000'
const phoneOf = (n: number) => `+1415555${String(n).padStart(4, '0')}`

const create = async (api: Api, contact: object): Promise<Json> => dataOf(await api.post('/contacts', contact), 201)

const tagNames = ({ tags }: Json): string[] => tags.map(({ name }: Json) => name)

test(
  'attributes and the opt-out are in every answer, and are set when a contact is created or found',
  main,
  async (t) => {
    const { api, db } = await start(t)
    const attributes = { plan: 'pro', seats: 12, is_partner: true }
    const ann = await create(api, { phone: phoneOf(1), attributes: { ...attributes, none: null }, opted_out: true })
    assert.deepEqual([ann.attributes, ann.opted_out], [attributes, true])
    for (const path of [`/contacts/${ann.id}`, '/contacts']) {
      const { data } = (await api.get(path)).body
      assert.deepEqual(toListed([data].flat()[0]), ann)
    }
    const bob = await create(api, { phone: phoneOf(2) })
    assert.deepEqual([bob.attributes, bob.opted_out], [{}, false])
    const kept = await api.post('/contacts', { phone: phoneOf(1), attributes: { plan: 'free' }, opted_out: false })
    assert.deepEqual([kept.status, kept.body.data], [200, ann])
    const moved = { plan: null, city: 'Rome' }
    const update = { phone: phoneOf(1), attributes: moved, opted_out: false, if_exists: 'update' }
    const updated = (await api.post('/contacts', update)).body.data
    assert.deepEqual([updated.attributes, updated.opted_out], [{ seats: 12, is_partner: true, city: 'Rome' }, false])
    await api.patch(`/contacts/${ann.id}`, { opted_out: true })
    const [row] = await db`select opted_out_by from contacts where id = ${ann.id}`
    assert.equal(row?.opted_out_by, 'api')
  },
)

test('a change merges attributes, and null removes one; invalid ones change nothing', async (t) => {
  const { api } = await start(t)
  const { id } = await create(api, { phone: phoneOf(1), attributes: { plan: 'pro', seats: 1 } })
  const patch = (attributes: unknown) => api.patch(`/contacts/${id}`, { attributes, name: 'Ann' })
  const changed = (await patch({ plan: null, city: 'Rome', absent: null })).body.data
  assert.deepEqual(changed.attributes, { seats: 1, city: 'Rome' })
  const refused: [unknown, RegExp][] = [
    [{ Plan: 'x' }, /^attributes\.Plan: a name has/],
    [{ '1st': 'x' }, /^attributes\.1st: /],
    [{ [`a${'b'.repeat(40)}`]: 'x' }, /^attributes\.ab/],
    [{ plan: 'x'.repeat(501) }, /^attributes\.plan: must have at most 500 characters/],
    [{ plan: [] }, /^attributes\.plan: must be a text, a number/],
    [{ plan: {} }, /^attributes\.plan: must be/],
    [[], /^attributes: must be an object/],
    ['x', /^attributes: must be an object/],
    [Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`a${i}`, i])), /^attributes: must have at most 50/],
  ]
  for (const [attributes, message] of refused) {
    assertBadRequest(await patch(attributes), message)
    const body = { phone: phoneOf(1), attributes, if_exists: 'update' }
    assertBadRequest(await api.post('/contacts', body), message)
  }
  assert.deepEqual(toListed((await api.get(`/contacts/${id}`)).body.data), changed)
  const full = Object.fromEntries(Array.from({ length: 48 }, (_, i) => [`a${i}`, 'é'.repeat(500)]))
  assert.equal(Object.keys((await patch(full)).body.data.attributes).length, 50)
})

test('single tags are added and removed; together with tags they are refused', main, async (t) => {
  const { api } = await start(t)
  const { id } = await create(api, { phone: phoneOf(1), tags: ['One', 'Two'] })
  const patch = (body: object) => api.patch(`/contacts/${id}`, body)
  assert.deepEqual(tagNames((await patch({ add_tags: ['three', ' TWO '] })).body.data), ['One', 'three', 'Two'])
  assert.deepEqual(tagNames((await patch({ remove_tags: ['ONE', 'none'] })).body.data), ['three', 'Two'])
  assert.deepEqual(tagNames((await patch({ add_tags: ['Four'], remove_tags: ['two'] })).body.data), ['Four', 'three'])
  assert.deepEqual(tagNames((await patch({ add_tags: null, tags: ['Five'] })).body.data), ['Five'])
  const together = /^tags: not together with add_tags or remove_tags/
  assertBadRequest(await patch({ tags: [], add_tags: ['x'] }), together)
  assertBadRequest(await patch({ tags: ['x'], remove_tags: [] }), together)
  assertBadRequest(await patch({ add_tags: ['X'], remove_tags: ['x'] }), /^remove_tags: x is also/)
  assertBadRequest(await patch({ add_tags: [' '] }), /^add_tags\[0\]: must not be blank/)
  assertBadRequest(await patch({ remove_tags: ['x'.repeat(81)] }), /^remove_tags\[0\]: must have at most 80/)
  const many = Array.from({ length: 100 }, (_, i) => `tag ${i}`)
  assertBadRequest(await patch({ add_tags: many }), /^add_tags: the contact would have more than 100/)
  assert.deepEqual(tagNames((await api.get(`/contacts/${id}`)).body.data), ['Five'])
  const listed = (await api.get('/tags')).body.data.map(({ name }: Json) => name)
  assert.ok(!listed.includes('tag 1'), 'a refused change creates no tags')
  assertRefused(await api.patch(`/contacts/${absent}`, { add_tags: ['New'] }), 404, 'not_found')
})

test('concurrent changes of single tags and attributes are all kept', async (t) => {
  const { api } = await start(t)
  const { id } = await create(api, { phone: phoneOf(1), tags: Array.from({ length: 20 }, (_, i) => `old ${i}`) })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      api.patch(`/contacts/${id}`, {
        ...{ add_tags: [`new ${i}`, 'common', `even ${i % 2}`], remove_tags: [`old ${i}`] },
        attributes: { [`a${i}`]: i },
      }),
    ),
  )
  for (const answer of answers) assert.equal(answer.status, 200, answer.text)
  const contact = (await api.get(`/contacts/${id}`)).body.data
  const expected = [...Array.from({ length: 20 }, (_, i) => `new ${i}`), 'common', 'even 0', 'even 1']
  assert.deepEqual(tagNames(contact).sort(), expected.sort())
  assert.equal(Object.keys(contact.attributes).length, 20)
})

test('a contact is erased with everything about it', main, async (t) => {
  const { api, provider, workspace } = await withProvider(start(t))
  const { api: neighbour } = await workspace()
  await provider.writes({ from: phoneOf(1), text: 'hello' })
  const [{ id }] = (await api.get('/contacts')).body.data
  assertRefused(await neighbour.delete(`/contacts/${id}`), 404, 'not_found')
  const key = await api.key('contacts:read')
  assertRefused(await api.delete(`/contacts/${id}`, undefined, { key }), 403, 'forbidden')
  const erased = await api.delete(`/contacts/${id.toUpperCase()}`)
  assert.deepEqual([erased.status, erased.body], [200, { data: { id, deleted: true } }])
  assert.deepEqual((await api.get('/contacts')).body.data, [])
  assert.deepEqual((await api.get('/conversations')).body.data, [])
  for (const path of [`/contacts/${id}`, '/contacts/x']) assertRefused(await api.delete(path), 404, 'not_found')
})

test('merging moves the other contact here, and the values of this one win', main, async (t) => {
  const { api, provider, workspace } = await withProvider(start(t))
  const { api: neighbour } = await workspace()
  await provider.writes({ from: phoneOf(2), text: 'hello' })
  const [other] = (await api.get('/contacts')).body.data
  await api.patch(`/contacts/${other.id}`, { name: 'Old', company: 'Acme', tags: ['b'], attributes: { x: 1, y: 1 } })
  const ann = await create(api, { phone: phoneOf(1), name: 'Ann', tags: ['a'], attributes: { x: 2 } })
  const merge = (id: string, contact_id: unknown, by = api) => by.post(`/contacts/${id}/merge`, { contact_id })
  assertRefused(await merge(ann.id, other.id, neighbour), 404, 'not_found')
  const theirs = await create(neighbour, { phone: phoneOf(3) })
  assertRefused(await merge(ann.id, theirs.id), 404, 'not_found')
  assertBadRequest(await merge(ann.id, ann.id), /^contact_id: /)
  assertBadRequest(await merge(ann.id, 'x'), /^contact_id: /)
  assertBadRequest(await merge(ann.id, undefined), 'contact_id: required')
  const merged = await merge(ann.id, other.id)
  assert.equal(merged.status, 200, merged.text)
  const { name, company, attributes, phone } = merged.body.data
  assert.deepEqual([name, company, attributes, phone], ['Ann', 'Acme', { x: 2, y: 1 }, phoneOf(1)])
  assert.deepEqual(tagNames(merged.body.data), ['a', 'b'])
  assertRefused(await api.get(`/contacts/${other.id}`), 404, 'not_found')
  assert.equal((await api.get('/conversations')).body.data[0].contact_id, ann.id)
  // The number of the other contact leads here now.
  assert.equal((await api.get(`/contacts?phone=${encodeURIComponent(phoneOf(2))}`)).body.data[0].id, ann.id)
})

test('the list of tags has every tag with its number of contacts', main, async (t) => {
  const { api, db, workspace } = await start(t)
  const { api: neighbour } = await workspace()
  assert.deepEqual((await api.get('/tags')).body, { data: [], meta: { next_cursor: null } })
  await create(neighbour, { phone: phoneOf(1), tags: ['VIP'] })
  const ann = await create(api, { phone: phoneOf(1), tags: ['vip', 'Zeta'] })
  await create(api, { phone: phoneOf(2), tags: ['VIP', 'älpha'] })
  await api.patch(`/contacts/${ann.id}`, { remove_tags: ['zeta'] })
  const { data } = (await api.get('/tags')).body
  assert.deepEqual(pluck(data, 'name', 'contact_count').flat(), ['vip', 2, 'Zeta', 0, 'älpha', 1])
  assert.deepEqual(Object.keys(data[0]), ['id', 'name', 'color', 'contact_count'])
  assert.equal(data[0].id, ann.tags[0].id)
  await db`
    insert into tags (workspace_id, id, name, name_key, color, created_at)
    select ${api.workspaceId}, gen_random_uuid(), 'n' || n, 'n' || n, '#000000', now() from generate_series(1, 1500) n`
  const first = (await api.get('/tags')).body
  const rest = (await api.get(`/tags?cursor=${first.meta.next_cursor}`)).body
  assert.deepEqual([first.data.length, rest.data.length, rest.meta.next_cursor], [1_000, 503, null])
  assert.equal(new Set([...first.data, ...rest.data].map(({ id }: Json) => id)).size, 1_503)
  const key = await api.key('contacts:write')
  assertRefused(await api.get('/tags', { key }), 403, 'forbidden', /contacts:read/)
})

test('members see what the API changed', async (t) => {
  const { api, browser } = await startSignedIn(t)
  const ann = await create(api, { phone: phoneOf(1), attributes: { plan: 'pro' }, opted_out: true })
  const shown = (await browser.call('GET', `/contacts/${ann.id}`)).body.data
  assert.deepEqual([shown.attributes, shown.opted_out_by, shown.opted_out], [{ plan: 'pro' }, 'api', true])
})
