/** The event stream: every event of its own workspace, and none is missed when the connection is lost. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createFrameReader, type Frame } from '../sdk/src/frames.ts'
import { assertBadRequest, assertRefused, dataOf, pluck } from './assertions.ts'
import { type Db, idAt, newId, pastId, scopes, sweepListeners } from './internals.ts'
import { type Api, type Json, main, signIn, start, until, withProvider } from './support.ts'

type Line = {
  response: Response
  frames: Frame[]
  /** What came, without the greeting. */
  events(): Json[]
  until(count: number): Promise<Json[]>
  close(): void
  ended: Promise<void>
}

async function open(t: TestContext, url: string, key: string, query = '', lastId?: string): Promise<Line> {
  const stop = new AbortController()
  t.after(() => stop.abort())
  const response = await fetch(`${url}/v1/events/stream${query}`, {
    headers: { authorization: `Bearer ${key}`, ...(lastId ? { 'last-event-id': lastId } : {}) },
    signal: stop.signal,
  })
  assert.equal(response.status, 200)
  const frames: Frame[] = []
  const read = async () => {
    const readFrames = createFrameReader()
    if (response.body) for await (const part of response.body) frames.push(...readFrames(part))
  }
  const ended = read().catch(() => {})
  const events = () => frames.filter(({ name }) => name !== 'ready').map(({ data }) => JSON.parse(data))
  await until('the greeting', async () => frames.length > 0)
  assert.equal(frames[0]?.name, 'ready')
  return {
    response,
    frames,
    events,
    until: (count) => until(`${count} events`, async () => events().length >= count && events()),
    close: () => stop.abort(),
    ended,
  }
}

const keep = (db: Db, workspaceId: string, id: string, name: string) => db`
  insert into webhook_events (workspace_id, id, event, body, occurred_at)
  values (${workspaceId}, ${id}, 'contact.created', ${JSON.stringify({ id, data: { name } })}, now())`

/** Notifies the streams of the workspace of a change. */
const nudge = (api: Api) => api.post('/segments', { name: crypto.randomUUID() })

const namesOf = (events: Json[]) => events.map(({ data }) => data.name)

test(
  'without a webhook, a stream delivers the events of its workspace since it opened, byte for byte',
  main,
  async (t) => {
    const { url, api, db, provider, workspace } = await withProvider(start(t))
    const { api: theirs } = await workspace()
    const key = await api.key('webhooks:manage')
    await api.post('/contacts', { phone: '+14155550199', name: 'Before' })
    const all = await open(t, url, key)
    const some = await open(t, url, key, '?events=message.received,contact.created')
    const foreign = await open(t, url, await theirs.key('webhooks:manage'))
    assert.match(all.response.headers.get('content-type') ?? '', /^text\/event-stream/)
    assert.ok(all.response.headers.get('x-ratelimit-remaining'))

    await provider.writes({ from: '+14155550100', text: 'one\ntwo \u2028 é' })

    await all.until(3)
    await some.until(2)
    const kept = await db<{ body: string }[]>`
    select body from webhook_events where workspace_id = ${api.workspaceId} order by id`
    assert.deepEqual(pluck(all.frames.slice(1), 'data'), pluck(kept, 'body'))
    const names = (line: Line) => line.frames.slice(1).map(({ name }) => name)
    assert.deepEqual(names(all), ['contact.created', 'conversation.created', 'message.received'])
    assert.deepEqual(names(some), ['contact.created', 'message.received'])
    await theirs.post('/contacts', { phone: '+14155550101', name: 'Theirs' })
    assert.deepEqual(namesOf(await foreign.until(1)), ['Theirs'])
    assert.equal(all.events().length, 3)
  },
)

test('events that commit late are delivered, and a client that reconnects gets all of them', async (t) => {
  const { url, api, db } = await start(t)
  const key = await api.key('webhooks:manage')
  const first = await open(t, url, key)
  const now = Date.now()
  const [late, later, early, missed] = [idAt(now - 3_000), idAt(now - 2_000), idAt(now), idAt(now + 5)]
  await keep(db, api.workspaceId, early, 'early')
  await nudge(api)
  await first.until(1)

  await keep(db, api.workspaceId, late, 'late')
  await nudge(api)
  assert.deepEqual(namesOf(await first.until(2)), ['early', 'late'])
  assert.equal(first.frames.at(-1)?.id, early, 'one goes on behind the newest')
  first.close()
  await keep(db, api.workspaceId, later, 'later')
  await keep(db, api.workspaceId, missed, 'missed')

  const second = await open(t, url, key, '', early.toUpperCase())
  assert.deepEqual(namesOf(await second.until(4)), ['late', 'later', 'early', 'missed'])
  const fresh = await open(t, url, key)
  await nudge(api)
  await keep(db, api.workspaceId, newId(), 'new')
  await nudge(api)
  assert.deepEqual(namesOf(await fresh.until(1)), ['new'])
})

test('an event with an id far in the future makes no stream skip later events, even after a reconnect', async (t) => {
  const { url, api, db } = await start(t)
  const key = await api.key('webhooks:manage')
  const first = await open(t, url, key)
  await keep(db, api.workspaceId, newId(Date.now() + 3_600_000), 'ahead')
  await nudge(api)
  await first.until(1)
  await keep(db, api.workspaceId, newId(), 'next')
  await nudge(api)
  assert.deepEqual(namesOf(await first.until(2)), ['ahead', 'next'])
  const lastId = first.frames.at(-1)?.id ?? ''
  first.close()
  await keep(db, api.workspaceId, newId(), 'missed')
  const second = await open(t, url, key, '', lastId)
  const names = namesOf(await second.until(3))
  assert.deepEqual(names.toSorted(), ['ahead', 'missed', 'next'])
})

test('an event that commits a minute after its id was created is delivered once, at the next heartbeat', async (t) => {
  const { url, api, db } = await start(t, { limits: { heartbeatMs: 50 } })
  const line = await open(t, url, await api.key('webhooks:manage'))
  await keep(db, api.workspaceId, newId(), 'first')
  await line.until(1)
  await keep(db, api.workspaceId, pastId(Date.now() - 65_000), 'a minute late')
  await line.until(2)
  await keep(db, api.workspaceId, newId(), 'last')
  assert.deepEqual(namesOf(await line.until(3)), ['first', 'a minute late', 'last'])
})

test('a client that reconnects after a long time gets every missed event in order', async (t) => {
  const { url, api, db } = await start(t)
  const begin = Date.now() - 3_600_000
  const ids = Array.from({ length: 1_201 }, (_, i) => idAt(begin + i))
  const text = 'x'.repeat(2_000)
  await db`
    insert into webhook_events (workspace_id, id, event, body, occurred_at)
    select ${api.workspaceId}, id, 'contact.created', jsonb_build_object('id', id, 'text', ${text}::text)::text, now()
    from unnest(${ids}::uuid[]) id`
  const line = await open(t, url, await api.key('webhooks:manage'), '', idAt(0))
  const events = await line.until(ids.length)
  assert.deepEqual(pluck(events, 'id'), ids)
})

test('events are recorded while a stream is open and for one minute after it', async (t) => {
  const { url, api, db } = await start(t)
  const count = async () => {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from webhook_events where workspace_id = ${api.workspaceId}`
    return row?.n
  }
  const line = await open(t, url, await api.key('webhooks:manage'), '?events=contact.created')
  line.close()
  await api.post('/contacts', { phone: '+14155550100' })
  assert.equal(await count(), 1)

  const [left] = await db<{ seconds: number }[]>`
    select extract(epoch from expires_at - now())::float as seconds from webhook_listeners
    where workspace_id = ${api.workspaceId}`
  assert.ok(left && left.seconds > 60 && left.seconds <= 75, `${left?.seconds}`)
  await db`update webhook_listeners set expires_at = now() where workspace_id = ${api.workspaceId}`
  await api.post('/contacts', { phone: '+14155550101' })
  assert.equal(await count(), 1)
  await sweepListeners(db)
  assert.equal((await db`select id from webhook_listeners where workspace_id = ${api.workspaceId}`).length, 0)
})

test('a stream ends when its key is revoked, and delivers events even without a notification', async (t) => {
  const { url, api, db } = await start(t, { limits: { heartbeatMs: 50 } })
  const line = await open(t, url, await api.key('webhooks:manage'))
  await keep(db, api.workspaceId, newId(), 'unannounced')
  await line.until(1)
  await db`update api_keys set revoked_at = now() where workspace_id = ${api.workspaceId}`
  await line.ended
})

test('a stream ends when its key loses the scope', async (t) => {
  const world = await start(t, { limits: { heartbeatMs: 50 } })
  const owner = await signIn(world)
  const wanted = ['contacts:read', 'webhooks:manage']
  const { id, key } = dataOf(await owner.call('POST', '/keys', { name: 'Listener', scopes: wanted }), 201)
  const line = await open(t, world.url, key)
  dataOf(await owner.call('PATCH', `/keys/${id}`, { scopes: ['contacts:read'] }))
  await line.ended
})

test('an invalid event list or Last-Event-ID is rejected by name, and the number of open streams is limited', async (t) => {
  const { url, api } = await start(t)
  for (const events of ['', ',', 'message.sent', 'contact.created,', 'CONTACT.CREATED', '%00', 'x'.repeat(501)]) {
    assertBadRequest(await api.get(`/events/stream?events=${events}`), /^events: /)
  }
  assertBadRequest(await api.get('/events/stream?events=a&events=b'), /^events: /)
  for (const id of ['0', 'null', crypto.randomUUID().slice(1), `{${crypto.randomUUID()}}`]) {
    const answer = await api.get('/events/stream', { headers: { 'last-event-id': id } })
    assertBadRequest(answer, 'Last-Event-ID: not an id of this stream')
  }
  const key = await api.key(...scopes)
  const lines = [await open(t, url, key, '', 'ffffffff-ffff-ffff-ffff-ffffffffffff')]
  while (lines.length < 20) lines.push(await open(t, url, key))
  assertRefused(await api.get('/events/stream'), 429, 'rate_limited', /too many streams/)
  lines[0]?.close()
  await until('a place to be free', () => open(t, url, key).catch(() => undefined))
})
