/** Concurrent requests for the same list share one run, and still see every write that was answered before them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Json, start } from './support.ts'

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
