/** What members do with tags and segments in their dashboard. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertRefused, type Json, pluck, startSignedIn } from '../../tests/support.ts'
import { filterFields } from '../conversations/filter-fields.ts'
import { requireFilter } from './filter.ts'

async function signedIn(t: TestContext) {
  const world = await startSignedIn(t)
  const ask: typeof world.ask = async (...call) => (await world.ask(...call)).data
  return { ...world, ask }
}

test('tags are listed with their counts, renamed without losing a contact, and deleted', async (t) => {
  const { api, db, browser, ask } = await signedIn(t)
  for (const [i, tags] of [['vip', 'Émile'], ['vip'], ['émile', 'b']].entries()) {
    await ask('POST', '/contacts', { phone: `+1415555010${i}`, tags }, 201)
  }
  const list = async () =>
    (await ask('GET', '/tags')).map((tag: Json) => [tag.name, tag.contact_count, tag.has_more_contacts])
  assert.deepEqual((await list()).flat(), ['b', 1, false, 'vip', 2, false, 'Émile', 2, false])
  const [, vip, emile] = await ask('GET', '/tags')
  const rules = [{ field: 'tag', op: 'not_has', value: ' VIP ' }]
  const segment = await ask('POST', '/segments', { name: 'S', kind: 'dynamic', filter: { match: 'all', rules } }, 201)
  assert.equal(segment.member_count, 1)

  for (const name of ['ÉMILE', ' émile '])
    assertBadRequest(await browser.call('PATCH', `/tags/${vip.id}`, { name }), 'name: already used by another tag')
  assertBadRequest(await browser.call('PATCH', `/tags/${vip.id}`, { name: ' ' }), 'name: must not be blank')
  assertBadRequest(await browser.call('PATCH', `/tags/${vip.id}`, { name: 'x'.repeat(81) }), /80/)
  assert.deepEqual(await ask('PATCH', `/tags/${vip.id}`, { name: ' Gold ' }), {
    ...{ id: vip.id, name: 'Gold', color: vip.color, contact_count: 2, has_more_contacts: false },
  })
  // The filter that named it still finds the same people.
  const kept = await ask('GET', `/segments/${segment.id}`)
  assert.deepEqual([kept.member_count, kept.filter.rules], [1, [{ field: 'tag', op: 'not_has', value: vip.id }]])
  assert.equal((await ask('PATCH', `/tags/${vip.id}`, { name: 'GOLD' })).name, 'GOLD')
  assert.equal((await ask('GET', '/contacts?tag=gold')).length, 2)

  assert.deepEqual(await ask('DELETE', `/tags/${emile.id}`), { id: emile.id, deleted: true })
  for (const id of [emile.id, 'x']) {
    assertRefused(await browser.call('DELETE', `/tags/${id}`), 404, 'not_found')
    assertRefused(await browser.call('PATCH', `/tags/${id}`, { name: 'y' }), 404, 'not_found')
  }
  assert.deepEqual((await list()).flat(), ['b', 1, false, 'GOLD', 2, false])
  await db`
    with made as (
      insert into contacts (workspace_id, id, created_at, updated_at)
      select ${api.workspaceId}, gen_random_uuid(), now(), now() from generate_series(1, 10050) returning id
    )
    insert into contact_tags (workspace_id, contact_id, tag_id) select ${api.workspaceId}, id, ${vip.id} from made`
  assert.deepEqual((await list())[1], ['GOLD', 10_000, true])
  await ask('DELETE', `/tags/${vip.id}`)
  assert.equal((await list()).length, 1)
})

test('members build segments: every field describes its operators, and a filter is counted before it is saved', async (t) => {
  const { api, browser, ask } = await signedIn(t)
  for (let i = 0; i < 7; i++) await api.post('/contacts', { phone: `+1415555010${i}`, name: `Ann ${i}`, tags: ['vip'] })
  const fields = await ask('GET', '/segments/fields')
  assert.deepEqual(pluck(fields, 'field'), Object.keys(filterFields))
  const examples: Record<string, string> = {
    text: 'ann',
    tag: 'vip',
    channel: 'web',
    connection: 'Sales',
    time: '30d',
    status: 'open',
    boolean: 'true',
    number: '3',
  }
  for (const { field: listed, ops } of fields) {
    const field = listed.replace('NAME', 'plan')
    for (const { op, value } of ops) {
      const rule = { field, op, ...(value ? { value: examples[value] } : {}) }
      requireFilter(filterFields, { match: 'all', rules: [rule] })
      const { count, sample } = await ask('POST', '/segments/count', { filter: { match: 'all', rules: [rule] } })
      assert.equal(sample.length, Math.min(count, 5), `${field} ${op}`)
    }
  }
  const { ops } = fields.find(({ field }: Json) => field === 'conversation_status')
  assert.deepEqual(pluck(ops, 'op', 'value').flat(), ['is', 'status', 'is_not', 'status'])
  const filter = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'VIP' }] }
  const counted = await ask('POST', '/segments/count', { filter })
  assert.deepEqual([counted.count, counted.sample[0].name, counted.sample[0].opted_out_at], [7, 'Ann 6', null])
  const unknown = { filter: { match: 'all', rules: [{ field: 'shoe', op: 'is', value: '1' }] } }
  assertBadRequest(await browser.call('POST', '/segments/count', unknown), /^filter\.rules\[0\]\.field: unknown/)
  assertBadRequest(await browser.call('POST', '/segments/count', {}), 'filter: required')

  const dynamic = await ask('POST', '/segments', { name: 'Dynamic', kind: 'dynamic', filter }, 201)
  assert.deepEqual(dynamic, (await api.get(`/segments/${dynamic.id}`)).body.data)
  const list = await ask('POST', '/segments', { name: 'List' }, 201)
  const ids = counted.sample.map(({ id }: Json) => id)
  const path = `/segments/${list.id}/contacts`
  assert.deepEqual(await ask('POST', path, { contact_ids: ids }), { segment_id: list.id, requested: 5, added: 5 })
  assert.equal((await ask('GET', path))[0].opted_out_by, null)
  const removed = { segment_id: list.id, requested: 1, removed: 1 }
  assert.deepEqual(await ask('DELETE', path, { contact_ids: [ids[0]] }), removed)
  const renamed = await ask('PATCH', `/segments/${list.id}`, { name: 'Renamed' })
  assert.deepEqual([renamed.name, renamed.member_count], ['Renamed', 4])
  assert.deepEqual(pluck(await ask('GET', '/segments?kind=static'), 'name'), ['Renamed'])
  assert.deepEqual(await ask('DELETE', `/segments/${list.id}`), { id: list.id, deleted: true })
  assertRefused(await browser.call('GET', `/segments/${list.id}`), 404, 'not_found')
})
