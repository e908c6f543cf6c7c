/** What one workspace does, however slow, delays no other: searches, filters and bulk writes leave connections to all other calls. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdTransaction, untilWaiting } from './database.ts'
import { type Json, signIn, start, until, withProvider } from './support.ts'

test('while the filters of ten workspaces take for ever, another workspace is served in the API, the dashboard and the web chat', async (t) => {
  const { api, url, db, owner, workspace, connect } = await start(t, { alone: 'locks a table' })
  const site = `${url}/web-chat/${(await connect()).connections.web.id}`
  const { id: contactId } = (await api.post('/contacts', { phone: '+14155550100' })).body.data
  const hostile: { read(): Promise<Json> }[] = []
  for (let i = 0; i < 10; i++) {
    const { api: other } = await workspace()
    const { id } = (await other.post('/segments', { name: 'All' })).body.data
    hostile.push({ read: () => other.get(`/segments/${id}`) })
  }
  const release = await holdTransaction(db, 'lock table segment_members in access exclusive mode')
  const reads = hostile.flatMap(({ read }) => Array.from({ length: 5 }, () => read()))
  await untilWaiting(db)

  // Each of these would wait for the lock if a filter had its connection.
  const browser = await signIn({ url, owner })
  for (const path of ['/session', '/conversations', `/contacts/${contactId}`, '/broadcasts']) {
    assert.equal((await browser.call('GET', path)).status, 200, path)
  }
  assert.equal((await api.post('/contacts', { phone: '+14155550101' })).status, 201)
  const ownSearch = '/contacts?search=415'
  for (const path of ['/me', '/contacts?phone=%2B14155550101', ownSearch, '/conversations', `/contacts/${contactId}`]) {
    assert.equal((await api.get(path)).status, 200, path)
  }
  const visitor = await (
    await fetch(`${site}/visitors`, { method: 'POST', headers: { origin: 'https://shop.test' } })
  ).json()
  const said = await fetch(`${site}/messages`, {
    method: 'POST',
    headers: {
      origin: 'https://shop.test',
      'content-type': 'application/json',
      'x-visitor-token': (visitor as Json).data.visitor_token,
    },
    body: JSON.stringify({ text: 'hello' }),
  })
  assert.equal(said.status, 201)
  assert.equal((await fetch(`${url}/readyz`)).status, 200)

  await release()
  for (const { status } of await Promise.all(reads)) assert.ok([200, 400, 429].includes(status), String(status))
})

test('a flood of messages of one workspace does not delay the message of another', async (t) => {
  const { api, db, connect, workspace, provider } = await withProvider(start(t, { alone: 'locks a table' }))
  const { api: flooded } = await workspace()
  const hostile = await connect({ workspaceId: flooded.workspaceId })
  const messages = Array.from({ length: 3_000 }, (_, i) => ({ from: String(14_155_500_000 + i), id: `m${i}` }))
  const changes = [{ field: 'messages', value: { messages } }]
  // Two statements wait for the lock, with 1,000 messages each. The others wait for these, and so does the message of the other workspace.
  const release = await holdTransaction(db, 'lock table messages in exclusive mode')
  const flood = hostile.callback({ object: 'whatsapp_business_account', entry: [{ changes }] }).catch(() => {})
  await untilWaiting(db, 2)
  const written = provider.writes({ from: '+14155550100', text: 'hello' })
  assert.equal((await api.get('/conversations')).body.data.length, 0)
  await release()
  await written
  assert.equal((await api.get('/conversations')).body.data.length, 1)
  // A slow machine stores the flood later than the channel waits for an answer.
  await flood
  const storedCount = async () => {
    const [row] = await db`select count(*)::int as n from messages where workspace_id = ${flooded.workspaceId}`
    return row?.n
  }
  await until('the flood to be stored', async () => (await storedCount()) === messages.length)
  // Ids of transactions are given at the first write: those of the statements that were stored before.
  const [row] = await db`
    select count(*)::int as n from messages f, messages m
    where f.workspace_id = ${flooded.workspaceId} and m.workspace_id = ${api.workspaceId}
      and f.xmin::text::bigint < m.xmin::text::bigint`
  assert.ok(row?.n < 3_000, `${row?.n} messages of the other workspace were stored first`)
})
