/** Lists of contacts for members: their number, orders, bulk tags, the export of a selection, and the history of one contact. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, dataOf, pluck } from './assertions.ts'
import { signIn } from './browser.ts'
import { type Json, start, withProvider } from './support.ts'

test('contacts are counted and sorted by name and company, those without one last', async (t) => {
  const world = await start(t)
  const { api } = world
  const browser = await signIn(world)
  const people = [
    { phone: '+14155550101', name: 'bea', company: 'Zeta' },
    { phone: '+14155550102', name: 'Ann', company: 'Acme' },
    { phone: '+14155550103', name: 'Cleo' },
    { phone: '+14155550104' },
    { phone: '+14155550105', name: 'ann', company: 'acme', tags: ['vip'] },
  ]
  for (const person of people) assert.equal((await api.post('/contacts', person)).status, 201)
  const read = async (query: string) => {
    const phones: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const answer = await browser.call('GET', `/contacts?limit=2${query}${cursor ? `&cursor=${cursor}` : ''}`)
      assert.equal(answer.status, 200, answer.text)
      phones.push(...answer.body.data.map(({ phone }: Json) => phone.slice(-1)))
      cursor = answer.body.meta.next_cursor
    }
    return phones.join('')
  }
  assert.equal(await read('&sort=name'), '25134')
  assert.equal(await read('&sort=name_desc'), '31524')
  assert.equal(await read('&sort=company'), '25143')
  assert.equal(await read('&sort=company_desc'), '15243')
  assert.equal(await read(''), '54321')
  assert.equal(await read('&sort=name&tag=vip'), '5')
  assert.equal((await browser.call('GET', '/contacts?sort=name&cursor=x')).body.data.length, 5)
  const count = async (query: string) => dataOf(await browser.call('GET', `/contacts/count${query}`))
  assert.deepEqual(await count(''), { count: 5, has_more: false })
  assert.deepEqual(await count('?tag=vip'), { count: 1, has_more: false })
  assert.deepEqual(await count('?search=zeta'), { count: 1, has_more: false })
  // Only members can sort.
  assert.deepEqual(pluck((await api.get('/contacts?sort=name')).body.data, 'phone').length, 5)
})

test('selected contacts are tagged at once and exported, and those of others are not', async (t) => {
  const world = await start(t)
  const { api, workspace } = world
  const browser = await signIn(world)
  const create = async (phone: string): Promise<string> =>
    (await api.post('/contacts', { phone, tags: ['old'] })).body.data.id
  const ids = [await create('+14155550101'), await create('+14155550102')]
  const kept = await create('+14155550103')
  const theirs = (await (await workspace()).api.post('/contacts', { phone: '+14155550104' })).body.data.id
  const tagged = await browser.call('POST', '/contacts/tags', {
    ids: [...ids, theirs],
    add_tags: ['VIP', 'new'],
    remove_tags: ['OLD'],
  })
  assert.deepEqual(dataOf(tagged), { count: 2 })
  const tagsOf = async (id: string) => pluck((await api.get(`/contacts/${id}`)).body.data.tags, 'name').sort()
  for (const id of ids) assert.deepEqual(await tagsOf(id), ['VIP', 'new'])
  assert.deepEqual(await tagsOf(kept), ['old'])
  const actionsOf = async (id: string) => pluck(dataOf(await browser.call('GET', `/contacts/${id}/history`)), 'action')
  for (const id of ids) assert.deepEqual(await actionsOf(id), ['contacts.tagged'])
  assert.deepEqual(await actionsOf(kept), [])
  const many = Array.from({ length: 99 }, (_, i) => `tag ${i}`)
  assertBadRequest(await browser.call('POST', '/contacts/tags', { ids, add_tags: many }), /^add_tags: /)
  for (const id of ids) assert.deepEqual(await tagsOf(id), ['VIP', 'new'])

  const download = await fetch(`${world.url}/app/api/contacts.csv`, {
    method: 'POST',
    headers: { cookie: browser.cookie(), origin: browser.origin, 'content-type': 'application/json' },
    body: JSON.stringify({ ids: [...ids, theirs] }),
  })
  assert.equal(download.status, 200)
  const csv = await download.text()
  assert.equal(csv.trim().split('\n').length, 3)
  assert.match(csv, /14155550101/)
  assert.doesNotMatch(csv, /14155550103|14155550104/)
})

test('the history of a contact has its messages, notes and changes of all channels, newest first', async (t) => {
  const world = await withProvider(start(t))
  const { api, provider, workspace } = world
  const browser = await signIn(world)
  await provider.writes({ from: '+14155550101', name: 'Ann', text: 'Hello' })
  const [{ id, contact_id: contactId }] = dataOf(await browser.call('GET', '/conversations'))
  assert.equal((await browser.call('POST', `/conversations/${id}/messages`, { text: 'Hi Ann' })).status, 201)
  await browser.call('POST', `/conversations/${id}/notes`, { text: 'Called her' })
  await browser.call('POST', `/contacts/${contactId}/notes`, { text: 'Prefers mornings' })
  await browser.call('PATCH', `/contacts/${contactId}`, { company: 'Acme', add_tags: ['vip'] })
  await browser.call('PATCH', `/conversations/${id}`, { labels: ['Refund'] })
  const path = `/contacts/${contactId}/history`
  const entries = dataOf(await browser.call('GET', path))
  assert.deepEqual(
    entries.map(({ kind, direction, action, text }: Json) => [kind, direction ?? action, text]),
    [
      ['conversation', 'labeled', null],
      ['change', 'contact.changed', entries[1].text],
      ['note', null, 'Prefers mornings'],
      ['note', null, 'Called her'],
      ['message', 'outbound', 'Hi Ann'],
      ['message', 'inbound', 'Hello'],
    ],
  )
  assert.match(entries[1].text, /company.*tags/)
  // Pages neither skip nor repeat an entry.
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await browser.call('GET', `${path}?limit=2${cursor ? `&cursor=${cursor}` : ''}`)
    seen.push(...pluck(body.data as Json[], 'id'))
    cursor = body.meta.next_cursor
  }
  assert.deepEqual(seen, pluck(entries, 'id'))
  const others = await signIn(world, (await workspace()).owner)
  assert.equal((await others.call('GET', path)).status, 404)
  assert.equal((await api.delete(`/contacts/${contactId}`)).status, 200)
  assert.equal((await browser.call('GET', path)).status, 404)
})
