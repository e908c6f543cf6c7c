/**
 * A contact is erased: nothing of it is left in any table or in the store, all
 * others are as they were, and broadcasts go on with exact counters.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { untilWaiting } from '../../tests/database.ts'
import { createChecksum, listTenantTables } from '../../tests/rows.ts'
import { assertRefused, type Json, type Starting, startSignedIn, until, withProvider } from '../../tests/support.ts'
import { setPlan } from '../accounts/quota.ts'
import { fillBroadcast } from '../broadcasts/fill.ts'
import { filterFields } from '../conversations/filter-fields.ts'
import { newId } from '../lib/id.ts'
import type { Db } from '../lib/postgres/db.ts'
import { createEraser } from './erase-contact.ts'

const phoneOf = (i: number) => `+1415558${String(i).padStart(4, '0')}`

async function signedIn(t: TestContext, starting?: Starting) {
  const world = await startSignedIn(t, starting)
  const { ask } = world
  const erase = async (id: string) =>
    assert.deepEqual((await ask('DELETE', `/contacts/${id}`)).data, { id, deleted: true })
  const idOf = async (phone: string): Promise<string> =>
    (await world.api.get(`/contacts?search=${encodeURIComponent(phone)}`)).body.data[0]?.id
  const send = async (body: Json): Promise<Json> =>
    (await ask('POST', '/broadcasts', { name: 'News', template: { name: 'hello_world' }, ...body }, 202)).data
  /** The kept counters against the recipients themselves, and the plan's places against what took them. */
  const assertExact = (id: string) => assertCounters(world.db, id)
  return { ...world, erase, idOf, send, assertExact }
}

async function assertCounters(db: Db, id: string): Promise<void> {
  // One statement, so that a report between two reads cannot make them differ.
  const [row] = await db<{ counts: object; recipients: object }[]>`
    select
      (
        select row_to_json(k) from (
          select b.total_count, coalesce(sum(c.sent), 0) as sent, coalesce(sum(c.delivered), 0) as delivered,
            coalesce(sum(c.read), 0) as read, coalesce(sum(c.failed), 0) as failed, coalesce(sum(c.skipped), 0) as skipped
          from broadcasts b left join broadcast_counts c on c.broadcast_id = b.id
          where b.id = ${id} group by b.total_count
        ) k
      ) as counts,
      (
        select row_to_json(k) from (
          select count(*) as total_count, count(*) filter (where status in ('sent', 'delivered', 'read')) as sent,
            count(*) filter (where status in ('delivered', 'read')) as delivered,
            count(*) filter (where status = 'read') as read, count(*) filter (where status = 'failed') as failed,
            count(*) filter (where status = 'skipped') as skipped
          from broadcast_recipients where broadcast_id = ${id}
        ) k
      ) as recipients`
  assert.deepEqual(row?.counts, row?.recipients)
}

/** Every row of the workspace that has one of these words in it, in any table. */
async function listTraces(db: Db, workspaceId: string, words: readonly string[]): Promise<string[]> {
  const traces: string[] = []
  for (const table of await listTenantTables(db)) {
    for (const { row } of await db<{ row: string }[]>`
      select t::text as row from ${db(table)} t where workspace_id = ${workspaceId}`) {
      if (words.some((word) => row.includes(word))) traces.push(`${table} ${row}`)
    }
  }
  return traces
}

test('erasing a contact leaves nothing in any table or in the store, and no other contact changes', async (t) => {
  const { api, db, url, browser, ask, erase, idOf, send, provider, workspace } = await withProvider(signedIn(t))
  const { api: neighbour } = await workspace()
  for (const [phone, name] of [
    [phoneOf(1), 'Erasable'],
    [phoneOf(2), 'Staying'],
  ] as const) {
    await api.post('/contacts', { phone, name, email: `${name}@x`, company: `${name} Inc`, tags: ['both', name] })
    await provider.writes({ from: phone, text: `${name} says` })
    await provider.writes({ from: phone, type: 'image', media: { caption: `${name} picture` } })
    await api.post('/messages', { to: phone, text: `to ${name}` })
  }
  await neighbour.post('/contacts', { phone: phoneOf(1), name: 'Erasable of theirs' })
  const id = await idOf(phoneOf(1))
  const other = await idOf(phoneOf(2))
  const segment = (await ask('POST', '/segments', { name: 'List' }, 201)).data
  await ask('POST', `/segments/${segment.id}/contacts`, { contact_ids: [id, other] })
  const params = { name: 'order_confirmed', params: ['a', 'b'] }
  const recipients = [{ to: phoneOf(1), name: 'Erasable', params: ['Erasable', 'own'] }, { to: phoneOf(2) }]
  const sent = await send({ template: params, recipients })
  const waiting = await send({ recipients, scheduled_at: new Date(Date.now() + 86_400_000).toISOString() })
  const links = await until('every report and the media', async () => {
    const [state] = await db<{ done: boolean; links: string[] }[]>`
      select count(*) = 8 and bool_and(status in ('read', 'received')) and bool_and(content_type <> 'image' or media_url is not null) as done,
        array_agg(media_url order by id) filter (where media_url is not null) as links
      from messages where workspace_id = ${api.workspaceId}`
    return state?.done && state.links
  })
  const [conversation] = await db<{ id: string }[]>`select id from conversations where contact_id = ${id}`
  const theirMessages = await db<
    { id: string }[]
  >`select id from messages where conversation_id = ${conversation?.id ?? ''}`
  const statusOf = async (link = '') => (await fetch(`${url}${link}`)).status
  assert.deepEqual([links.length, await statusOf(links[0]), await statusOf(links[1])], [2, 200, 200])
  const read = await createChecksum(db)
  const theirs = await read(neighbour.workspaceId)
  const stays = async () => JSON.stringify([await listTraces(db, api.workspaceId, [other, phoneOf(2), 'Staying'])])
  const staying = await stays()

  await erase(id)
  const words = [id, phoneOf(1), conversation?.id ?? '', ...theirMessages.map((message) => message.id)]
  const texts = [...words, 'Erasable says', 'Erasable picture', 'Erasable@x', '"own"']
  // The tag and the event bodies are not the person's own; the audit log keeps only the id of the erased contact;
  // a report that the channel sends after all that waits an hour for its message, and then goes. A slice of the words
  // ends at a place in time, which is the id of what was read last, whether it is there or not.
  const allowed = /^(webhook_events|tags|simulator|audit_log|early_reports|message_slices)/
  const listLeaks = async () => (await listTraces(db, api.workspaceId, texts)).filter((row) => !allowed.test(row))
  // The counters of reports follow within seconds.
  const isKept = (row: string) => !/^(counted_episodes|report_changes)/.test(row)
  assert.deepEqual((await listLeaks()).filter(isKept), [])
  await until('the counters to follow', async () => (await listLeaks()).length === 0)
  assert.deepEqual([await statusOf(links[0]), await statusOf(links[1])], [404, 200])
  assert.equal(await stays(), staying)
  assert.equal(await read(neighbour.workspaceId), theirs)
  for (const again of [id, id.toUpperCase(), 'x'])
    assertRefused(await browser.call('DELETE', `/contacts/${again}`), 404, 'not_found')
  for (const broadcast of [sent, waiting]) await assertCounters(db, broadcast.id)
  const [gone, kept] = (await ask('GET', `/broadcasts/${waiting.id}/recipients`)).data
  assert.deepEqual(
    [gone.status, gone.reason, gone.phone, gone.name, kept.status, kept.phone],
    ['skipped', 'the contact was erased', null, null, 'pending', phoneOf(2)],
  )
  const [reached] = (await ask('GET', `/broadcasts/${sent.id}/recipients`)).data
  assert.deepEqual([reached.status, reached.phone, reached.message_id], ['read', null, null])

  await provider.writes({ from: phoneOf(1), text: 'back' })
  const back = await ask('GET', `/contacts/${await idOf(phoneOf(1))}`)
  assert.notEqual(back.data.id, id)
  assert.deepEqual([back.data.name, back.data.tags], [null, []])
})

test('contacts erased during a broadcast are skipped or already sent to, and every counter stays exact', async (t) => {
  const { api, db, get, erase, idOf, send, ask, connect, assertExact } = await signedIn(t)
  const provider = await connect({ messagesPerSecond: 100 })
  await setPlan(db, api.workspaceId, { messages_per_month: 1_000, state: 'active' })
  const numbers = Array.from({ length: 60 }, (_, i) => phoneOf(i))
  await Promise.all(numbers.map((phone) => api.post('/contacts', { phone, tags: ['all'] })))
  // One is requeued and waits for its next attempt; the answer for the other arrives after the erase.
  await provider.fault({ to: phoneOf(1), mode: 'reject', code: 131056 })
  await provider.fault({ to: phoneOf(4), mode: 'delay', delay_ms: 2_000 })
  const filter = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'all' }] }
  const segment = (await ask('POST', '/segments', { name: 'All', kind: 'dynamic', filter }, 201)).data
  const byList = await send({ recipients: numbers.map((to) => ({ to, name: 'N' })) })
  const bySegment = await send({ segment_id: segment.id })
  await until('both to be in flight', async () => (await provider.sent()).length > 20)
  const ids = await Promise.all([0, 1, 4, 20, 40, 50, 58, 59].map((i) => idOf(phoneOf(i))))
  await Promise.all(ids.map(erase))
  for (const { id } of [byList, bySegment]) {
    const over = await until(
      'it to be over',
      async () => {
        const broadcast = await get(`/broadcasts/${id}`)
        return broadcast.completed_at !== null && broadcast
      },
      20_000,
    )
    assert.deepEqual([over.status, over.total_count, over.pending_count], ['sent', 60, 0])
    assert.ok(over.skipped_count > 0)
    await until('every report', async () => {
      const { read_count, sent_count } = await get(`/broadcasts/${id}`)
      return read_count >= sent_count - 4
    })
    await assertExact(id)
    const [broadcast] = await db`select reserved_count from broadcasts where id = ${id}`
    assert.equal(broadcast?.reserved_count, 0)
  }
  // No recipient was sent to twice, and no contact was created again.
  const counts = new Map<string, number>()
  for (const { to } of await provider.sent()) counts.set(to, (counts.get(to) ?? 0) + 1)
  assert.ok([...counts.values()].every((count) => count <= 2))
  for (const i of [40, 50, 58, 59]) assert.equal(await idOf(phoneOf(i)), undefined)
  // What is counted in the plan is what was sent, or may have been.
  const [usage] = await db<{ message_count: number }[]>`
    select message_count from plan_usage where workspace_id = ${api.workspaceId}`
  const [skipped] = await db<{ count: number }[]>`
    select count(*)::int as count from broadcast_recipients
    where workspace_id = ${api.workspaceId} and status in ('skipped', 'failed')`
  const used = usage?.message_count ?? 0
  assert.ok(used >= 120 - (skipped?.count ?? 0) && used <= 120 - (skipped?.count ?? 0) + 4, `${used} ${skipped?.count}`)
})

test('a contact erased while a broadcast is filled is no recipient', async (t) => {
  const { api, db, get, erase, connect, browser } = await signedIn(t)
  await connect({ messagesPerSecond: 1 })
  await setPlan(db, api.workspaceId, { messages_per_month: 100_000, state: 'active' })
  const { workspaceId } = api
  await db`
    with made as (
      insert into contacts (workspace_id, id, phone, created_at, updated_at)
      select ${workspaceId}, gen_random_uuid(), '+1212' || (5000000 + i), now(), now() from generate_series(1, 5000) i
      returning workspace_id, id, phone
    )
    insert into contact_identities (workspace_id, channel, external_id, contact_id)
    select workspace_id, 'msgapp', phone, id from made`
  const filter = { match: 'all', rules: [{ field: 'phone', op: 'is_set' }] }
  const { id: segmentId } = (await browser.call('POST', '/segments', { name: 'All', kind: 'dynamic', filter })).body
    .data
  const id = newId()
  await db`
    insert into broadcasts (workspace_id, id, name, status, template_name, template_language, params, segment_id,
      is_filled, is_paused, created_at)
    values (${workspaceId}, ${id}, 'Large', 'sending', 'hello_world', 'en_US', '[]', ${segmentId}, false, true, now())`
  const [first] = await db<{ id: string }[]>`
    select id from contacts where workspace_id = ${workspaceId} order by id limit 1`
  const [last] = await db<{ id: string }[]>`
    select id from contacts where workspace_id = ${workspaceId} order by id desc limit 1`
  let isErased: Promise<void> | undefined
  // After the first chunk of rows, of a snapshot that has them both.
  const onChunk = () => {
    isErased ??= Promise.all([erase(first?.id ?? ''), erase(last?.id ?? '')]).then(() => {})
  }
  await fillBroadcast({ db, channel: {}, fields: filterFields, workspaceId, id, onChunk, isStopped: () => false })
  await isErased
  const broadcast = await get(`/broadcasts/${id}`)
  assert.deepEqual([broadcast.total_count, broadcast.skipped_count, broadcast.pending_count], [5_000, 2, 4_998])
  await assertCounters(db, id)
  const rows = await db`
    select place, phone, contact_id, reason from broadcast_recipients
    where broadcast_id = ${id} and status = 'skipped' order by place`
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [1, 5_000].map((place) => ({ place, phone: null, contact_id: null, reason: 'the contact was erased' })),
  )
  const [[plan], [kept]] = await Promise.all([
    db`select message_count from plan_usage where workspace_id = ${workspaceId}`,
    db`select reserved_count from broadcasts where id = ${id}`,
  ])
  assert.deepEqual([plan?.message_count, kept?.reserved_count], [4_998, 4_998])
})

test('a reply to a contact who is erased at that moment is 404 and uses no quota', async (t) => {
  const { api, db, browser, idOf, erase, provider, get } = await withProvider(signedIn(t))
  for (const i of [1, 2]) await provider.writes({ from: phoneOf(i), text: 'hi' })
  const [second, first] = await get('/conversations')
  const gone = await db.begin(async (sql) => {
    await sql`delete from contacts where id = ${first.contact_id}`
    const answer = browser.call('POST', `/conversations/${first.id}/messages`, { text: 'hello' })
    await untilWaiting(db)
    return { answer }
  })
  assertRefused(await gone.answer, 404, 'not_found', /^conversation/)
  const usage = await db`
    select 1 from plan_usage where workspace_id = ${api.workspaceId} and message_count > 0`
  assert.equal(usage.length, 0)

  await provider.fault({ to: phoneOf(2), mode: 'delay', delay_ms: 1_000 })
  const answer = browser.call('POST', `/conversations/${second.id}/messages`, { text: 'hello' })
  const listPending = () => db`select from messages where workspace_id = ${api.workspaceId} and status = 'pending'`
  await until('it to be in flight', async () => (await listPending()).length > 0)
  await erase(await idOf(phoneOf(2)))
  assertRefused(await answer, 404, 'not_found', /^conversation/)
})

test('an interrupted erase leaves no search words behind', async (t) => {
  const { db, ask, erase, idOf, provider } = await withProvider(signedIn(t, { alone: 'creates a trigger on contacts' }))
  await provider.writes({ from: phoneOf(2), text: 'my parcel' })
  await provider.writes({ from: phoneOf(1), text: 'my parcel too' })
  const id = await idOf(phoneOf(1))
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
    select v.workspace_id, v.id, ${newId()}::uuid, 'inbound', 'customer', 'text', 'parcel again', 'received', now()
    from conversations v where v.contact_id = ${id}`
  const search = async (): Promise<string[]> =>
    (await ask('GET', '/search?q=parcel&limit=1')).data.map(({ message }: Json) => message.content_text)
  await until('the digest', async () => (await db`select 1 from message_words`).length === 3)
  assert.deepEqual(await search(), ['parcel again'])
  await db`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not today'; end $$`
  await db`create trigger refusing before delete on contacts execute function refuse()`
  await ask('DELETE', `/contacts/${id}`, undefined, 500)
  assert.deepEqual(await search(), ['my parcel'])
  await db`drop trigger refusing on contacts`
  await erase(id)
  assert.deepEqual(await search(), ['my parcel'])
})

test('a contact with thousands of messages is erased, and a failure leaves the rest to a retry', async (t) => {
  const { api, db, idOf, provider, get } = await withProvider(signedIn(t))
  await provider.writes({ from: phoneOf(1), text: 'hi' })
  await provider.writes({ from: phoneOf(1), type: 'image', media: { caption: 'picture' } })
  await until(
    'the media',
    async () => (await db`select 1 from media where workspace_id = ${api.workspaceId} and state = 'stored'`).length > 0,
  )
  const id = await idOf(phoneOf(1))
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
    select workspace_id, id, gen_random_uuid(), 'inbound', 'customer', 'text', 'more', 'received', now()
    from conversations, generate_series(1, 3500)
    where workspace_id = ${api.workspaceId}`
  const log = { warn() {}, error() {} } as unknown as Parameters<typeof createEraser>[0]['log']
  const keys: string[] = []
  let isBroken = true
  const store = {
    delete: async (key: string) => {
      if (isBroken) throw new Error('no store')
      keys.push(key)
    },
  } as unknown as Parameters<typeof createEraser>[0]['store']
  const eraseContact = createEraser({ db, store, log, completeMerges: async () => {} })
  await assert.rejects(eraseContact(api.workspaceId, id), /no store/)
  assert.equal((await get(`/contacts/${id}`)).id, id)
  isBroken = false
  const [media] = await db<{ id: string }[]>`select id from media where workspace_id = ${api.workspaceId}`
  // However many ask at once, one of them erases.
  const answers = await Promise.allSettled([1, 2, 3].map(() => eraseContact(api.workspaceId, id)))
  assert.ok(answers.some(({ status }) => status === 'fulfilled'))
  for (const answer of answers)
    if (answer.status === 'rejected') assert.match(String(answer.reason), /contact not found/)
  assert.ok(keys.includes(media?.id ?? ''))
  for (const table of ['contacts', 'contact_identities', 'conversations', 'messages', 'media'])
    assert.equal((await db`select 1 from ${db(table)} where workspace_id = ${api.workspaceId}`).length, 0, table)
})
