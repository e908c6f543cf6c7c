/** Concurrent requests for the same list share one run, and still see every write that was answered before them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Json, start, withProvider } from './support.ts'

test('each of many concurrent readers sees the contact whose creation was answered before it asked', async (t) => {
  const { api } = await start(t)
  const namesOf = (body: Json) => body.data.map(({ name }: Json) => name)
  const read = async (name: string) => {
    const answer = await api.get('/contacts?limit=100')
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.ok(namesOf(answer.body).includes(name), name)
  }
  const write = async (writer: number) => {
    for (let i = 0; i < 8; i++) {
      const name = `Writer ${writer} contact ${i}`
      assert.equal((await api.post('/contacts', { phone: `+141555${writer}${100 + i}0`, name })).status, 201)
      await Promise.all(Array.from({ length: 3 }, () => read(name)))
    }
  }
  await Promise.all(Array.from({ length: 6 }, (_, writer) => write(writer)))
})

test('workspaces and filters share nothing, and all of them get the refusal of a bad request', async (t) => {
  const { api, workspace } = await start(t)
  const { api: other } = await workspace()
  await api.post('/contacts', { phone: '+14155550100', name: 'Ours', tags: ['vip'] })
  await api.post('/contacts', { phone: '+14155550101', name: 'Ours too' })
  await other.post('/contacts', { phone: '+14155550100', name: 'Theirs' })
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => [
      api.get('/contacts'),
      other.get('/contacts'),
      api.get('/contacts?tag=vip'),
      api.get('/contacts?limit=1'),
      api.get('/contacts?channel=fax'),
    ]).flat(),
  )
  answers.forEach(({ status, body }, i) => {
    const expected = [['Ours too', 'Ours'], ['Theirs'], ['Ours'], ['Ours too'], undefined][i % 5]
    assert.equal(status, expected ? 200 : 400)
    assert.deepEqual(
      body.data?.map(({ name }: Json) => name),
      expected,
    )
  })
})

test('a row of a list has the same bytes as the resource by its id, whatever its texts contain', async (t) => {
  const { api, provider } = await withProvider(start(t))
  const odd = 'quote " backslash \\ line\nend tab\t one\u0001two \u0001tag_ids x\u0001 é 😀 \u2028'
  const tags = ['b "quoted"', 'a\\b', 'C 😀']
  const attributes = { plan: 'pro', seats: 12, ratio: 0.5, text: odd, flag: false }
  await provider.writes({ from: '+14155550100', name: odd, text: odd })
  await provider.writes({ from: '+14155550101', name: 'Plain', text: 'hello' })
  const contact = { phone: '+14155550100', name: odd, email: 'a@example.com', company: odd, tags, attributes }
  assert.equal((await api.post('/contacts', { ...contact, if_exists: 'update' })).status, 200)
  const [, oddOne] = (await api.get('/conversations')).body.data
  assert.equal((await api.patch(`/conversations/${oddOne.id}`, { labels: ['Refund "now"', 'B'] })).status, 200)
  const since = 'updated_after=2000-01-01T00:00:00Z'
  const lists = ['/contacts', `/contacts?${since}`, '/conversations', '/conversations?sort=activity']
  for (const list of [...lists, `/conversations?${since}`]) {
    const { text, body } = await api.get(list)
    const rows = await Promise.all(
      body.data.map(async ({ id }: Json) => {
        const one = await api.get(`/${list.includes('contacts') ? 'contacts' : 'conversations'}/${id}`)
        // Only the contact by its id has identities, as its last field.
        return one.text.slice('{"data":'.length, -1).replace(/,"identities":\[[^\]]*\]\}$/, '}')
      }),
    )
    assert.equal(rows.length, 2)
    assert.equal(text, `{"data":[${rows.join(',')}],"meta":{"next_cursor":null}}`, list)
  }
})
