/**
 * Broadcasts through the front door: who is reached, who is not and why, and
 * counters that are exact whatever happens.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertRefused, dataOf, pluck } from '../../tests/assertions.ts'
import { publicUrl } from '../../tests/browser.ts'
import { holdTransaction } from '../../tests/database.ts'
import { recordEvents } from '../../tests/receiver.ts'
import { type Api, type Json, main, start, type TestDatabase, until, withProvider } from '../../tests/support.ts'
import { setPlan } from '../accounts/quota.ts'
import { filterFields } from '../conversations/filter-fields.ts'
import type { Db } from '../lib/postgres/db.ts'
import { sweepPending } from '../messages/sending/settle.ts'
import { cancelBroadcast, pauseBroadcast, requireBroadcast, resumeBroadcast } from './broadcasts.ts'
import { recipientFollower } from './counts.ts'
import { fillBroadcast } from './fill.ts'

const hello = { name: 'hello_world' }
const phoneOf = (i: number) => `+1415556${String(i).padStart(4, '0')}`
const people = (count: number, from = 0) => Array.from({ length: count }, (_, i) => ({ to: phoneOf(from + i) }))
const soon = (ms: number) => new Date(Date.now() + ms).toISOString()

const accept = async (api: Api, body: Json): Promise<Json> =>
  dataOf(await api.post('/broadcasts', { name: 'News', template: hello, ...body }), 202)

/** Reads a broadcast from the API and checks that its four counts add up. */
async function read(api: Api, id: string): Promise<Json> {
  const { body } = await api.get(`/broadcasts/${id}`)
  const { total_count, pending_count, sent_count, failed_count, skipped_count } = body.data
  assert.equal(total_count, pending_count + sent_count + failed_count + skipped_count, JSON.stringify(body.data))
  assert.ok(body.data.delivered_count <= sent_count && body.data.read_count <= body.data.delivered_count)
  const isOver = body.data.status === 'sent' || (pending_count === 0 && body.data.status === 'canceled')
  assert.equal(body.data.completed_at !== null, isOver)
  return body.data
}

/** Waits until the broadcast meets a condition. */
const untilRead = (api: Api, id: string, what: string, holds: (broadcast: Json) => boolean): Promise<Json> =>
  until(what, async () => {
    const broadcast = await read(api, id)
    return holds(broadcast) && broadcast
  })

/** Waits until no recipient is pending, and checks that the counters equal the rows. */
async function untilSent(db: Db, api: Api, id: string): Promise<Json> {
  await until('the broadcast to be sent', async () => (await read(api, id)).status === 'sent')
  return assertCounted(db, api, id)
}

async function assertCounted(db: Db, api: Api, id: string): Promise<Json> {
  const counts = await db.begin('isolation level repeatable read', async (sql) => {
    const shown = await requireBroadcast(sql, api.workspaceId, id)
    const [rows] = await sql<Json[]>`
      select count(*)::int as total_count, count(*) filter (where status in ('pending', 'sending'))::int as pending_count,
        count(*) filter (where status in ('sent', 'delivered', 'read'))::int as sent_count,
        count(*) filter (where status in ('delivered', 'read'))::int as delivered_count,
        count(*) filter (where status = 'read')::int as read_count,
        count(*) filter (where status = 'failed')::int as failed_count,
        count(*) filter (where status = 'skipped')::int as skipped_count
      from broadcast_recipients where broadcast_id = ${id}`
    return { shown, rows }
  })
  for (const [name, count] of Object.entries(counts.rows)) {
    assert.equal(counts.shown[name as 'total_count'], count, `${name}: ${JSON.stringify(counts.shown)}`)
  }
  return counts.shown
}

const countsOf = ({ total_count, sent_count, delivered_count, read_count, failed_count, skipped_count }: Json) => [
  ...[total_count, sent_count, delivered_count, read_count, failed_count, skipped_count],
]

const recipientsOf = (db: Db, id: string) =>
  db<{ place: number; phone: string; status: string; reason: string | null; attempt_count: number }[]>`
    select place, phone, status, reason, attempt_count from broadcast_recipients where broadcast_id = ${id} order by place`

/** Recipients whose message waits for its next attempt. */
const requeued = (db: Db, api: Api) => db`
  select 1 from broadcast_recipients where workspace_id = ${api.workspaceId} and retry_at is not null`

const throttled = (db: Db, api: Api) => db<{ rate: number }[]>`
  select rate from broadcast_paces where workspace_id = ${api.workspaceId} and throttled_at is not null`

const usageOf = async (db: Db, api: Api): Promise<number> => {
  const [usage] = await db<{ count: number }[]>`
    select coalesce(sum(message_count), 0)::int as count from plan_usage where workspace_id = ${api.workspaceId}`
  return usage?.count ?? 0
}

test(
  'a broadcast reaches every recipient once as a message of their conversation, and its counters end at read',
  main,
  async (t) => {
    const { api, url, db, provider } = await withProvider(start(t))
    await api.post('/contacts', { phone: phoneOf(0), name: 'Ann' })
    const recipients = [{ to: phoneOf(0) }, { to: phoneOf(1), name: 'Bob' }, { to: '(415) 556-0002' }]

    const accepted = await accept(api, { recipients })

    const { id, created_at, started_at, ...rest } = accepted
    assert.deepEqual(rest, {
      name: 'News',
      status: 'sending',
      template: { name: 'hello_world', language: 'en_US' },
      connection_id: (await api.get('/connections')).body.data[0].id,
      segment_id: null,
      total_count: 3,
      pending_count: 3,
      sent_count: 0,
      delivered_count: 0,
      read_count: 0,
      failed_count: 0,
      skipped_count: 0,
      is_paused: false,
      paused_reason: null,
      scheduled_at: null,
      completed_at: null,
    })
    assert.ok(created_at && started_at)
    await untilSent(db, api, id)
    const done = await untilRead(api, id, 'all recipients to read it', ({ read_count }) => read_count === 3)
    assert.deepEqual(countsOf(done), [3, 3, 3, 3, 0, 0])
    await assertCounted(db, api, id)
    assert.equal((await read(api, id)).completed_at, done.completed_at, 'reports move no end')
    assert.deepEqual((await provider.sent()).map(({ to }) => to).sort(), [phoneOf(0), phoneOf(1), phoneOf(2)])
    const conversations = (await api.get('/conversations')).body.data
    assert.deepEqual(conversations.map(({ contact }: Json) => contact.name).sort(), ['Ann', 'Bob', null])
    for (const conversation of conversations) {
      const [message, ...more] = (await api.get(`/conversations/${conversation.id}/messages`)).body.data
      assert.equal(more.length, 0)
      const { direction, sender_type, content_type, template_name, status, broadcast_id } = message
      assert.deepEqual(
        [direction, sender_type, content_type, template_name, status, broadcast_id],
        ['outbound', 'bot', 'template', 'hello_world', 'read', id],
      )
    }
    assert.equal(await usageOf(db, api), 3)
    const [stored] = await until('the end to be written down', async () => {
      const rows = await db<Json[]>`select status, completed_at, reserved_count from broadcasts where id = ${id}`
      return rows[0]?.status === 'sent' && rows
    })
    assert.deepEqual([stored.completed_at, stored.reserved_count], [done.completed_at, 0])
    const metrics = await (await fetch(`${url}/metrics`)).text()
    assert.match(metrics, /^parley_broadcasts\{status="sent"\} 1$/m)
    assert.match(metrics, /^parley_broadcast_sends_total\{outcome="sent"\} 3$/m)
  },
)

test('duplicate numbers count once, and unreachable recipients are skipped with a reason', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  const numbers = [
    ...['+55 11 99123-4567', '+551191234567', '+5511991234567', phoneOf(1)],
    ...['4155560001', 'none', ' none ', '12'],
  ]
  const { id, total_count, skipped_count, pending_count } = await accept(api, {
    recipients: numbers.map((to) => ({ to })),
  })
  assert.deepEqual([total_count, skipped_count, pending_count], [4, 2, 2])
  await untilSent(db, api, id)
  const rows = await recipientsOf(db, id)
  assert.deepEqual(pluck(rows, 'place', 'phone', 'reason'), [
    [1, '+5511991234567', null],
    [2, phoneOf(1), null],
    [3, 'none', 'not a phone number'],
    [4, '12', 'not a phone number'],
  ])
  assert.equal((await provider.sent()).length, 2)
  assert.equal(await usageOf(db, api), 2)
})

test('an invalid broadcast is rejected with the field name, and nothing is written', async (t) => {
  const { api, db, workspace, provider } = await withProvider(start(t))
  const { api: theirs } = await workspace()
  const recipients = people(2)
  const values = { name: 'order_confirmed' }
  const theirSegment = (await theirs.post('/segments', { name: 'Theirs' })).body.data.id
  for (const [body, message] of [
    [{ recipients: undefined }, 'recipients: required, unless there is a segment_id'],
    [{ segment_id: theirSegment }, 'segment_id: must not be combined with recipients'],
    [{ name: '  ' }, 'name: must not be blank'],
    [{ name: 'x'.repeat(81) }, 'name: must have at most 80 characters'],
    [{ recipients: [] }, /^recipients: /],
    [{ recipients: people(1_001) }, /^recipients: /],
    [{ recipients: [{ to: 'x' }] }, 'recipients[0].to: not a phone number'],
    [{ recipients: [{ to: 'x' }, { to: 'y' }] }, 'recipients[0].to: not a phone number; no recipient is usable'],
    [{ scheduled_at: '2026-02-30T00:00:00Z' }, /^scheduled_at: /],
    [{ scheduled_at: soon(-6 * 60_000) }, 'scheduled_at: must not be more than 5 minutes in the past'],
    [{ template: { name: 'none_such' } }, /^template\.name: there is no template/],
    [{ template: { name: 'paused_promo' } }, /^template\.name: .*not approved \(paused\)/],
    [{ template: values }, 'template.params.body[0]: required'],
    [
      { template: { ...values, params: ['a', '{{contact.age}}'], contact_fields: true } },
      /^template\.params\.body\[1\]: unknown field contact\.age/,
    ],
    [
      { template: { ...hello, contact_fields: true }, recipients: [{ to: phoneOf(1), params: ['{{contact.x}}'] }] },
      /^recipients\[0\]\.params\.body\[0\]: unknown field/,
    ],
    [{ template: values, recipients: [{ to: phoneOf(1), params: ['a'] }] }, 'recipients[0].params.body[1]: required'],
  ] as const) {
    const answer = await api.post('/broadcasts', { name: 'News', template: hello, recipients, ...body })
    assertBadRequest(answer, message)
  }
  const other = await api.post('/broadcasts', { name: 'News', template: hello, segment_id: theirSegment })
  assertRefused(other, 404, 'not_found')
  const bare = await theirs.post('/broadcasts', { name: 'News', template: hello, recipients })
  assertRefused(bare, 400, 'msgapp_not_configured')
  const scopeless = await api.post('/broadcasts', {}, { key: await api.key('messages:send') })
  assertRefused(scopeless, 403, 'forbidden', /broadcasts:send/)
  const [made] = await db<{ count: number }[]>`select count(*)::int as count from broadcasts
    where workspace_id = ${api.workspaceId}`
  assert.equal(made?.count, 0)

  const { id } = await accept(api, { recipients: people(1), scheduled_at: soon(3_600_000) })
  assertRefused(await theirs.get(`/broadcasts/${id}`), 404, 'not_found')
  assertRefused(await api.get('/broadcasts/x'), 404, 'not_found')
  assert.deepEqual(await provider.sent(), [])
})

test('with contact_fields, template values use the fields of each contact, and params of a recipient replace all of them', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  const person = { phone: phoneOf(0), name: 'Ann {{contact.phone}}', email: 'ann@example.com', company: 'Acme' }
  await api.post('/contacts', person)
  const { id } = await accept(api, {
    template: {
      name: 'order_confirmed',
      params: ['{{contact.name|there}}', '{{contact.company}}'],
      contact_fields: true,
    },
    recipients: [
      { to: phoneOf(0) },
      { to: phoneOf(1), params: ['{{contact.name}}', 'B'], name: 'Bob' },
      { to: phoneOf(2), params: ['C'] },
      { to: phoneOf(3) },
      { to: phoneOf(4), params: { body: ['{{contact.name|friend}}', '{{contact.phone}}'] } },
    ],
  })
  await untilSent(db, api, id)
  const sent = await provider.sent()
  const bodyOf = (to: string) =>
    sent.find((one) => one.to === to)?.body.template.components[0].parameters.map(({ text }: Json) => text)
  assert.deepEqual(bodyOf(phoneOf(0)), ['Ann {{contact.phone}}', 'Acme'])
  assert.deepEqual(bodyOf(phoneOf(1)), ['Bob', 'B'])
  assert.deepEqual(bodyOf(phoneOf(4)), ['friend', phoneOf(4)])
  const reasons = (await recipientsOf(db, id)).map(({ status, reason }) => [status === 'skipped', reason])
  assert.deepEqual(reasons[2], [true, 'template.params.body[1]: required'])
  assert.deepEqual(reasons[3], [true, 'the contact has no company'])
  assert.equal(sent.length, 3)
  // No contact is created for a skipped recipient, and its quota is returned.
  const contacts = (await api.get('/contacts')).body.data.map(({ phone }: Json) => phone)
  assert.deepEqual(contacts.sort(), [phoneOf(0), phoneOf(1), phoneOf(4)])
  assert.equal(await usageOf(db, api), 3)
})

test('the name of a recipient is stored only when the channel accepts the message', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  const names = { 0: 'Ann', 1: undefined, 2: 'Cid', 3: undefined }
  for (const [i, name] of Object.entries(names)) await api.post('/contacts', { phone: phoneOf(Number(i)), name })
  for (const i of [0, 1]) await provider.fault({ to: phoneOf(i), mode: 'reject' })
  const recipients = [0, 1, 2, 3, 4].map((i) => ({ to: phoneOf(i), name: `New ${i}` }))
  await untilSent(db, api, (await accept(api, { recipients })).id)
  const contacts = (await api.get('/contacts')).body.data
  const expected = ['Ann', null, 'New 2', 'New 3', 'New 4'].map((name, i) => [phoneOf(i), name])
  assert.deepEqual(pluck(contacts, 'phone', 'name').sort(), expected)
})

test('a scheduled broadcast starts at its time and not before, one up to 5 minutes late at once, and one a day late asks for confirmation', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  const at = soon(3_600_000)
  const scheduled = await accept(api, { recipients: people(2), scheduled_at: at })
  assert.deepEqual([scheduled.status, scheduled.scheduled_at, scheduled.started_at], ['scheduled', at, null])
  const past = await accept(api, { recipients: people(2, 10), scheduled_at: soon(-4 * 60_000) })
  assert.equal(past.status, 'sending')
  await untilSent(db, api, past.id)
  assert.equal((await read(api, scheduled.id)).status, 'scheduled')
  await db`update broadcasts set scheduled_at = now() where id = ${scheduled.id}`
  await untilSent(db, api, scheduled.id)
  assert.equal((await provider.sent()).length, 4)

  const missed = await Promise.all(
    [20, 30].map((from) => accept(api, { recipients: people(1, from), scheduled_at: soon(3_600_000) })),
  )
  await db`update broadcasts set scheduled_at = now() - interval '25 hours'
    where workspace_id = ${api.workspaceId} and status = 'scheduled'`
  const ids: string[] = missed.map(({ id }) => id)
  await until('both to be paused', async () => {
    const both = await Promise.all(ids.map((id) => requireBroadcast(db, api.workspaceId, id)))
    return both.every(({ is_paused, paused_reason, status }) => is_paused && paused_reason && status === 'scheduled')
  })
  await resumeBroadcast(db, api.workspaceId, ids[0] ?? '')
  await cancelBroadcast(db, api.workspaceId, ids[1] ?? '')
  await untilSent(db, api, ids[0] ?? '')
  const canceled = await assertCounted(db, api, ids[1] ?? '')
  assert.deepEqual([canceled.status, canceled.skipped_count], ['canceled', 1])
  assert.equal((await provider.sent()).length, 5)
  assert.equal(await usageOf(db, api), 5)
})

test('a segment is evaluated when sending starts, static or dynamic', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  const contacts: string[] = []
  for (let i = 0; i < 6; i++) {
    const { id } = (await api.post('/contacts', { phone: phoneOf(i), tags: i < 4 ? ['vip'] : [] })).body.data
    contacts.push(id)
  }
  await provider.writes({ channel: 'social', from: '90000001', username: 'soc', name: 'Soc', text: 'hello' })
  const [social] = (await api.get('/contacts?channel=social')).body.data
  const list = (await api.post('/segments', { name: 'List' })).body.data.id
  await api.post(`/segments/${list}/contacts`, { contact_ids: [...contacts.slice(0, 3), social.id] })
  await db`update contacts set opted_out_at = now(), opted_out_by = 'member' where id = ${contacts[1] ?? ''}`

  const scheduled = await accept(api, { segment_id: list, scheduled_at: soon(3_600_000) })
  assert.deepEqual([scheduled.status, scheduled.total_count, scheduled.segment_id], ['scheduled', 0, list])
  await api.post(`/segments/${list}/contacts`, { contact_ids: [contacts[5]] })
  await db`update broadcasts set scheduled_at = now() where id = ${scheduled.id}`
  const sent = await untilSent(db, api, scheduled.id)
  assert.deepEqual([sent.total_count, sent.sent_count, sent.skipped_count], [5, 3, 2])
  const reasons = (await recipientsOf(db, scheduled.id)).flatMap(({ reason }) => reason ?? [])
  assert.deepEqual(reasons.sort(), ['has no phone number', 'opted out of broadcasts'])
  assert.deepEqual((await provider.sent()).map(({ to }) => to).sort(), [phoneOf(0), phoneOf(2), phoneOf(5)])
  assert.equal(await usageOf(db, api), 3)

  const filter = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'vip' }] }
  const vips = (await api.post('/segments', { name: 'Vips', kind: 'dynamic', filter })).body.data.id
  const dynamic = await accept(api, { segment_id: vips })
  assert.equal(dynamic.status, 'sending')
  const all = await untilSent(db, api, dynamic.id)
  assert.deepEqual([all.total_count, all.sent_count, all.skipped_count], [4, 3, 1])

  const emptySegment = (await api.post('/segments', { name: 'Nobody' })).body.data.id
  assert.equal((await untilSent(db, api, (await accept(api, { segment_id: emptySegment })).id)).total_count, 0)
  const doomed = await accept(api, { segment_id: emptySegment, scheduled_at: soon(500) })
  await api.delete(`/segments/${emptySegment}`)
  const canceled = await until('its cancelling', async () => {
    const broadcast = await requireBroadcast(db, api.workspaceId, doomed.id)
    return broadcast.status === 'canceled' && broadcast
  })
  assert.match(canceled.cancel_reason ?? '', /segment/)
})

test('a segment of several chunks is filled completely, even after a crash halfway', async (t) => {
  const { api, db, database, connect } = await start(t)
  await connect({ messagesPerSecond: 10_000 })
  const count = 5_000
  await db`
    with made as (
      insert into contacts (workspace_id, id, phone, created_at, updated_at)
      select ${api.workspaceId}, ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, '+1415' || (5000000 + i), now(), now()
      from generate_series(1, ${count}::int) i returning id, phone
    )
    insert into contact_identities (workspace_id, channel, external_id, contact_id)
    select ${api.workspaceId}, 'msgapp', phone, id from made`
  const { id, fill } = await acceptSegment(api, db, database)
  // It dies after the first chunk.
  await fill({ chunks: 1 })
  assert.equal((await recipientsOf(db, id)).length, 2_000)
  const readFilled = async () => (await db<Json[]>`select is_filled, filled_count from broadcasts where id = ${id}`)[0]
  await resumeBroadcast(db, api.workspaceId, id)
  await until('filling to go on', async () => (await readFilled()).filled_count > 2_000)
  await pauseBroadcast(db, api.workspaceId, id)
  await until('the end of filling', async () => (await readFilled()).is_filled)
  assert.equal((await readFilled()).filled_count, count)
  const [places] = await db<Json[]>`
    select count(distinct contact_id)::int as people, max(place) as last from broadcast_recipients where broadcast_id = ${id}`
  assert.deepEqual(places, { people: count, last: count })
  await cancelBroadcast(db, api.workspaceId, id)
  const canceled = await untilRead(api, id, 'no recipient to be pending', ({ pending_count }) => pending_count === 0)
  assert.equal(canceled.sent_count + canceled.skipped_count, count)
  await assertCounted(db, api, id)
  assert.equal(await usageOf(db, api), canceled.sent_count)
})

test('counters are exact through every outcome, repeated and out of order', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  const magic = ['+15005550001', '+15005550002', '+15005550005', '+15005550006']
  await provider.fault({ to: phoneOf(0), mode: 'duplicate_statuses' })
  await provider.fault({ to: phoneOf(1), mode: 'reorder_statuses' })
  await provider.fault({ to: phoneOf(2), mode: 'drop_connection_after_accept' })
  await provider.fault({ to: phoneOf(3), mode: 'no_statuses' })
  const { id } = await accept(api, { recipients: [...people(6), ...magic.map((number) => ({ to: number }))] })
  const isReported = ({ read_count, failed_count, delivered_count }: Json) =>
    read_count === 5 && failed_count === 3 && delivered_count === 6
  const done = await untilRead(api, id, 'every report', isReported)
  assert.deepEqual(countsOf(done), [10, 7, 6, 5, 3, 0])
  await assertCounted(db, api, id)
  const rows = await recipientsOf(db, id)
  const byPhone = new Map(rows.map((row) => [row.phone, row]))
  assert.match(byPhone.get('+15005550001')?.reason ?? '', /131026/)
  assert.match(byPhone.get('+15005550002')?.reason ?? '', /132015/)
  assert.equal(byPhone.get('+15005550005')?.status, 'delivered')
  assert.equal(byPhone.get(phoneOf(3))?.status, 'sent')
  assert.ok(byPhone.get('+15005550006')?.reason)
  const sent = await provider.sent()
  assert.equal(new Set(sent.map(({ to }) => to)).size, sent.length)
  assert.equal(sent.length, 8)
  // Refused by the channel: not counted. Failed after it was accepted: counted.
  assert.equal(await usageOf(db, api), 8)

  const [failed] = await db<{ external_id: string }[]>`
    select m.external_id from broadcast_recipients r
    join messages m on m.workspace_id = r.workspace_id and m.id = r.message_id
    where r.broadcast_id = ${id} and r.phone = '+15005550006'`
  const status = { id: failed?.external_id, status: 'delivered', timestamp: String(Math.floor(Date.now() / 1000)) }
  const changes = [{ field: 'messages', value: { messaging_product: 'whatsapp', statuses: [status] } }]
  assert.equal(await provider.callback({ object: 'whatsapp_business_account', entry: [{ changes }] }), 200)
  assert.deepEqual(countsOf(await read(api, id)), [10, 8, 7, 5, 2, 0])
  await assertCounted(db, api, id)
})

test('a throttled message is requeued and sent later, once; it fails after five attempts', async (t) => {
  const { api, db, connect } = await start(t)
  const provider = await connect({ messagesPerSecond: 200 })
  await provider.fault({ mode: 'throttle', count: 12 })
  const { id } = await accept(api, { recipients: people(40) })
  await until('some to be requeued', async () => (await requeued(db, api)).length > 0)
  const slowed = await until('the number to be slower', async () => (await throttled(db, api))[0])
  assert.ok(slowed.rate <= 100, String(slowed.rate))
  assert.equal((await untilSent(db, api, id)).sent_count, 40)
  const sent = await provider.sent()
  assert.deepEqual([sent.length, new Set(sent.map(({ to }) => to)).size], [40, 40])
  const tries = (await recipientsOf(db, id)).reduce((sum, { attempt_count }) => sum + attempt_count, 0)
  assert.equal(tries, 52)
  const messages = await db`select 1 from messages where workspace_id = ${api.workspaceId}`
  assert.equal(messages.length, 40, 'a second try is the same message')
  assert.equal(await usageOf(db, api), 40)

  const never = await accept(api, { recipients: [{ to: '+15005550004' }] })
  await until('the first try', async () => (await requeued(db, api)).length > 0)
  // A message that waits for its next attempt is never swept.
  await db`update messages set created_at = now() - interval '1 hour' where workspace_id = ${api.workspaceId} and status = 'pending'`
  await sweepPending(db, { publicUrl, follower: recipientFollower })
  await db`update messages set created_at = now() - interval '8 days' where workspace_id = ${api.workspaceId} and status = 'pending'`
  await sweepPending(db, { publicUrl, follower: recipientFollower }, 365)
  assert.equal((await read(api, never.id)).pending_count, 1)
  await db`update broadcast_recipients set attempt_count = 4, retry_at = now() where broadcast_id = ${never.id}`
  assert.equal((await untilSent(db, api, never.id)).failed_count, 1)
  assert.match((await recipientsOf(db, never.id))[0]?.reason ?? '', /130429/)
})

test('a recipient who is over the pair limit waits alone, and the number keeps its pace', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  await provider.fault({ to: phoneOf(0), mode: 'throttle', code: 131056, count: 1 })
  const { id } = await accept(api, { recipients: people(10) })
  await until('all but one', async () => (await read(api, id)).sent_count === 9)
  const [waiting] = await db<{ seconds: number }[]>`
    select extract(epoch from retry_at - now())::float8 as seconds from broadcast_recipients
    where broadcast_id = ${id} and retry_at is not null`
  assert.ok(waiting && waiting.seconds > 3, `${waiting?.seconds} s`)
  assert.equal((await throttled(db, api)).length, 0)
  await db`update broadcast_recipients set retry_at = now() where broadcast_id = ${id} and retry_at is not null`
  assert.equal((await untilSent(db, api, id)).sent_count, 10)
})

test('a message with an unknown outcome is never sent again: reports settle it, or the timeout, or a late report', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  await provider.fault({ to: phoneOf(0), mode: 'http_500' })
  await provider.fault({ to: phoneOf(1), mode: 'drop_connection_after_accept' })
  const { id } = await accept(api, { recipients: people(3) })
  await until('what can be known', async () => (await read(api, id)).read_count === 2)
  const waiting = await read(api, id)
  assert.deepEqual([waiting.status, waiting.pending_count], ['sending', 1])
  assert.equal((await recipientsOf(db, id))[0]?.status, 'sending')
  assert.equal(await usageOf(db, api), 3)
  // As old as a message that was requeued while its broadcast was paused.
  await db`update messages set created_at = created_at - interval '9 days' where workspace_id = ${api.workspaceId} and status = 'pending'`
  await sweepPending(db, { publicUrl, follower: recipientFollower }, 365)
  const given = await untilSent(db, api, id)
  assert.deepEqual(countsOf(given), [3, 2, 2, 2, 1, 0])
  assert.equal(await usageOf(db, api), 2)

  const [lost] = await db<{ id: string }[]>`
    select id from messages where workspace_id = ${api.workspaceId} and status = 'failed'`
  const timestamp = String(Math.floor(Date.now() / 1000))
  const status = { id: 'wamid.late', status: 'read', timestamp, biz_opaque_callback_data: lost?.id }
  const changes = [{ field: 'messages', value: { messaging_product: 'whatsapp', statuses: [status] } }]
  assert.equal(await provider.callback({ object: 'whatsapp_business_account', entry: [{ changes }] }), 200)
  assert.deepEqual(countsOf(await assertCounted(db, api, id)), [3, 3, 3, 3, 0, 0])
  assert.equal(await usageOf(db, api), 3)
  assert.deepEqual([(await provider.sent(phoneOf(0))).length, (await provider.sent(phoneOf(1))).length], [0, 1])
})

test('a recipient who opts out during a broadcast is skipped, and the quota is returned', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  for (const i of [1, 2]) await api.post('/contacts', { phone: phoneOf(i) })
  const { id } = await accept(api, { recipients: people(3), scheduled_at: soon(3_600_000) })
  await pauseBroadcast(db, api.workspaceId, id)
  await provider.writes({ from: phoneOf(1), text: 'Stop.' })
  await db`update broadcasts set scheduled_at = now() - interval '25 hours' where id = ${id}`
  await provider.fault({ to: phoneOf(0), mode: 'throttle', count: 1 })
  await resumeBroadcast(db, api.workspaceId, id)
  // The second was seen to have opted out before the places were taken.
  assert.equal((await recipientsOf(db, id))[1]?.reason, 'opted out of broadcasts')
  await until('the third to be sent to', async () => (await provider.sent(phoneOf(2))).length === 1)
  await until('the first to be requeued', async () => (await requeued(db, api)).length)
  await db`update contacts set opted_out_at = now(), opted_out_by = 'member'
    where workspace_id = ${api.workspaceId} and phone = ${phoneOf(0)}`
  const done = await untilSent(db, api, id)
  assert.deepEqual([done.sent_count, done.skipped_count], [1, 2])
  assert.equal((await provider.sent()).length, 1)
  assert.equal(await usageOf(db, api), 1)

  const late = await accept(api, { recipients: people(1, 2), scheduled_at: soon(3_600_000) })
  await db`update broadcasts set status = 'sending', is_paused = true, started_at = now(), reserved_count = 1,
    plan_month = date_trunc('month', now() at time zone 'utc') where id = ${late.id}`
  await db`update plan_usage set message_count = message_count + 1`
  await db`update contacts set opted_out_at = now(), opted_out_by = 'member' where phone = ${phoneOf(2)}`
  await resumeBroadcast(db, api.workspaceId, late.id)
  assert.equal((await untilSent(db, api, late.id)).skipped_count, 1)
  assert.equal(await usageOf(db, api), 1)
  assert.equal((await provider.sent()).length, 1)
})

test('a quota admits whole broadcasts only, however many are created at once', async (t) => {
  const { api, db, connect } = await start(t)
  const provider = await connect({ messagesPerSecond: 1_000 })
  await setPlan(db, api.workspaceId, { messages_per_month: 25, state: 'active' })
  const broadcasts = Array.from({ length: 6 }, (_, i) =>
    api.post('/broadcasts', { name: 'News', template: hello, recipients: people(8, i * 10) }),
  )
  const messages = Array.from({ length: 4 }, (_, i) =>
    api.post('/messages', { to: phoneOf(500 + i), type: 'template', template: hello }),
  )
  const answers = await Promise.all(broadcasts)
  const single = (await Promise.all(messages)).filter(({ status }) => status === 201).length
  const accepted = answers.filter(({ status }) => status === 202)
  for (const answer of answers) if (answer.status !== 202) assertRefused(answer, 402, 'plan_limit_reached')
  assert.ok(accepted.length >= 2 && accepted.length <= 3, `${accepted.length}`)
  assert.equal(accepted.length * 8 + single <= 25, true)
  for (const { body } of accepted) await untilSent(db, api, body.data.id)
  assert.equal(await usageOf(db, api), accepted.length * 8 + single)
  assert.equal((await provider.sent()).length, accepted.length * 8 + single)

  const left = 25 - accepted.length * 8 - single
  // Skipped and rejected recipients use no quota.
  const fitting = [...people(left - 1, 700), { to: '+15005550001' }, { to: 'x' }]
  if (left > 0) {
    const { id } = await accept(api, { recipients: fitting })
    await untilSent(db, api, id)
    assert.equal(await usageOf(db, api), 24)
  }
  const segment = (
    await api.post('/segments', {
      name: 'All contacts',
      kind: 'dynamic',
      filter: { match: 'all', rules: [{ field: 'phone', op: 'is_set' }] },
    })
  ).body.data.id
  const overQuota = await api.post('/broadcasts', { name: 'x', template: hello, segment_id: segment })
  assertRefused(overQuota, 402, 'plan_limit_reached')
  // What is known not to fit is refused at once; another month has room of its own.
  const later = { recipients: people(9) }
  const inAMinute = { ...later, scheduled_at: soon(60_000) }
  assertRefused(await api.post('/broadcasts', { name: 'x', template: hello, ...inAMinute }), 402, 'plan_limit_reached')
  const inAYear = { ...later, scheduled_at: soon(365 * 86_400_000) }
  assert.equal((await accept(api, inAYear)).status, 'scheduled')
  await setPlan(db, api.workspaceId, { messages_per_month: null, state: 'active' })
  const scheduled = [
    await accept(api, { recipients: people(9), scheduled_at: soon(1_000) }),
    await accept(api, { segment_id: segment, scheduled_at: soon(1_000) }),
  ]
  await setPlan(db, api.workspaceId, { messages_per_month: 25, state: 'active' })
  for (const { id } of scheduled) {
    const canceled = await until('its cancelling', async () => {
      const broadcast = await requireBroadcast(db, api.workspaceId, id)
      return broadcast.status === 'canceled' && broadcast.completed_at !== null && broadcast
    })
    assert.match(canceled.cancel_reason ?? '', /the plan allows 25/)
    await assertCounted(db, api, id)
  }
  await setPlan(db, api.workspaceId, { messages_per_month: 25, state: 'lapsed' })
  for (const body of [{ recipients: people(1) }, { recipients: people(50) }, { segment_id: segment }]) {
    assertRefused(await api.post('/broadcasts', { name: 'x', template: hello, ...body }), 402, 'subscription_lapsed')
  }
})

test('quota reserved in one month is used in the month of sending', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  await provider.fault({ to: phoneOf(0), mode: 'reject' })
  const { id } = await accept(api, { recipients: people(3), scheduled_at: soon(3_600_000) })
  await db`
    update broadcasts set status = 'sending', is_paused = true, started_at = now(), reserved_count = 3, plan_month = '2026-01-01'
    where id = ${id}`
  await db`insert into plan_usage values (${api.workspaceId}, '2026-01-01', 3)`
  await resumeBroadcast(db, api.workspaceId, id)
  await untilSent(db, api, id)
  const months = await db<Json[]>`select month::text, message_count from plan_usage
    where workspace_id = ${api.workspaceId} order by month`
  assert.deepEqual(pluck(months, 'message_count'), [0, 2])
})

test('two processes on one broadcast send each message once, at the pace of the number', async (t) => {
  const { api, db, connect, twin } = await start(t)
  await twin()
  const pace = 100
  const provider = await connect({ messagesPerSecond: pace })
  const count = 200
  const [one, other] = await Promise.all([
    accept(api, { recipients: people(count / 2) }),
    accept(api, { recipients: people(count / 2, 1_000) }),
  ])
  await untilSent(db, api, one.id)
  await untilSent(db, api, other.id)
  const sent = await provider.sent()
  assert.deepEqual([sent.length, new Set(sent.map(({ to }) => to)).size], [count, count])
  const times = sent.map(({ at }) => Date.parse(at)).sort((a, b) => a - b)
  for (const from of times) {
    const within = times.filter((at) => at >= from && at < from + 1_000).length
    assert.ok(within <= pace * 1.25, `${within} in a second`)
  }
  // Both had their turns from the start.
  const early = sent.slice(0, 60).filter(({ to }) => to >= phoneOf(1_000)).length
  assert.ok(early > 10 && early < 50, `${early} of 60`)
  assert.equal((await throttled(db, api)).length, 0)
})

test('messages of members and the API count towards the pace and never wait', async (t) => {
  const { api, db, connect } = await start(t)
  const pace = 40
  const provider = await connect({ messagesPerSecond: pace })
  const { id } = await accept(api, { recipients: people(60) })
  await until('the first', async () => (await provider.sent()).length > 0)
  const count = 30
  // While the pace is locked, no broadcast sends.
  await db.begin(async (sql) => {
    await sql`select from broadcast_paces where workspace_id = ${api.workspaceId} for update`
    const live = Array.from({ length: count }, (_, i) =>
      api.post('/messages', { to: phoneOf(900 + i), type: 'template', template: hello }),
    )
    for (const { status, text } of await Promise.all(live)) assert.equal(status, 201, text)
  })
  await untilSent(db, api, id)
  const sent = await provider.sent()
  // From the first of them on, all messages together keep to the pace.
  const firstLive = Math.min(...sent.filter(({ to }) => to >= phoneOf(900)).map(({ at }) => Date.parse(at)))
  const later = sent.map(({ at }) => Date.parse(at)).filter((at) => at >= firstLive)
  const seconds = (Math.max(...later) - firstLive) / 1000
  const expected = later.length / pace
  assert.ok(seconds > expected - 0.3, `${later.length} messages took ${seconds} s instead of ${expected}`)
})

test('broadcasts of one number alternate, even with few messages in flight', async (t) => {
  const { api, connect } = await start(t)
  await connect({ messagesPerSecond: 20 })
  const broadcasts = [await accept(api, { recipients: people(40) }), await accept(api, { recipients: people(40, 100) })]
  const counts = await until('some of them', async () => {
    const sent = await Promise.all(broadcasts.map(async ({ id }) => (await read(api, id)).sent_count))
    return sent.reduce((sum, count) => sum + count) >= 12 && sent
  })
  assert.ok(Math.min(...counts) >= 4, `${counts}`)
})

test('a broadcast is paused, resumed and canceled; recipients not yet sent to are skipped', async (t) => {
  const { api, db, connect } = await start(t)
  const provider = await connect({ messagesPerSecond: 20 })
  const { id } = await accept(api, { recipients: people(60) })
  await until('some to be sent', async () => (await read(api, id)).sent_count > 5)
  await pauseBroadcast(db, api.workspaceId, id)
  const { position } = (await db<{ position: number }[]>`select position from broadcasts where id = ${id}`)[0] ?? {
    position: 0,
  }
  await until('the sends in flight', async () => (await read(api, id)).sent_count === position)
  assert.ok(position < 60)
  await resumeBroadcast(db, api.workspaceId, id)
  await until('more to be sent', async () => (await read(api, id)).sent_count > position)
  await cancelBroadcast(db, api.workspaceId, id)
  const canceled = await untilRead(api, id, 'the sends in flight', ({ pending_count }) => pending_count === 0)
  assert.equal(canceled.status, 'canceled')
  assert.ok(canceled.skipped_count > 0)
  await assertCounted(db, api, id)
  assert.equal((await provider.sent()).length, canceled.sent_count)
  assert.equal(await usageOf(db, api), canceled.sent_count)
  const skipped = (await recipientsOf(db, id)).filter(({ status }) => status === 'skipped')
  assert.ok(skipped.every(({ reason }) => reason === 'canceled'))
  await cancelBroadcast(db, api.workspaceId, id)
  await assert.rejects(() => pauseBroadcast(db, api.workspaceId, id), /canceled cannot be paused/)
  await assert.rejects(() => resumeBroadcast(db, api.workspaceId, id), /canceled cannot be resumed/)
})

test('a requeued message of a canceled broadcast is never sent and becomes failed', async (t) => {
  const world = await withProvider(start(t))
  const { api, db, provider } = world
  const eventsOf = await recordEvents(t, world)
  await provider.fault({ to: phoneOf(0), mode: 'throttle' })
  const { id } = await accept(api, { recipients: people(2) })
  await until('one to be requeued', async () => (await requeued(db, api)).length)
  await until('the other', async () => (await read(api, id)).sent_count === 1)
  await cancelBroadcast(db, api.workspaceId, id)
  const canceled = await untilRead(api, id, 'no recipient to be pending', ({ pending_count }) => pending_count === 0)
  assert.deepEqual([canceled.sent_count, canceled.skipped_count], [1, 1])
  await assertCounted(db, api, id)
  const failed = await db`select 1 from messages where workspace_id = ${api.workspaceId} and status = 'failed'`
  assert.equal(failed.length, 1)
  const reported = (await eventsOf('message.status_updated')).filter(({ data }) => data.status === 'failed')
  assert.deepEqual(
    reported.map(({ data }) => [data.msgapp_message_id, data.message.broadcast_id, data.message.error.message]),
    [[null, id, 'the broadcast was canceled']],
  )
  assert.equal(await usageOf(db, api), 1)
  assert.equal((await provider.sent()).length, 1)
})

for (const { refused, code, reason, isFailing } of [
  {
    ...{ refused: 'credentials are', code: 190, isFailing: true },
    reason: /^The channel refused the credentials: 190: .*[^.]\. Check the connection, then resume\.$/,
  },
  {
    ...{ refused: 'template is', code: 132015, isFailing: false },
    reason: /^The channel refused the template: 132015: .*[^.]\. Check the template, then resume\.$/,
  },
]) {
  test(`a broadcast pauses when its ${refused} rejected, and after a resume reaches every recipient once`, async (t) => {
    const { api, db, connect } = await start(t)
    const provider = await connect({ messagesPerSecond: 40 })
    await provider.fault({ mode: 'reject', code })
    const { id } = await accept(api, { recipients: people(50) })
    const paused = await untilRead(api, id, 'its pausing', ({ is_paused }) => is_paused)
    assert.match(paused.paused_reason, reason)
    assert.deepEqual([paused.status, paused.failed_count], ['sending', 0])
    const failing = await db`
      select 1 from channel_connections
      where workspace_id = ${api.workspaceId} and channel = 'msgapp' and state = 'failing'`
    assert.equal(failing.length === 1, isFailing)
    await provider.control('DELETE', '/faults')
    await resumeBroadcast(db, api.workspaceId, id)
    const done = await untilSent(db, api, id)
    assert.deepEqual([done.sent_count, done.is_paused, done.paused_reason], [50, false, null])
    const sent = await provider.sent()
    assert.deepEqual([sent.length, new Set(sent.map(({ to }) => to)).size], [50, 50])
    assert.equal(await usageOf(db, api), 50)
  })
}

test('without an approved template or a connection a broadcast pauses with a reason', async (t) => {
  const { api, db, connect } = await start(t)
  const provider = await connect({ messagesPerSecond: 20 })
  const { id } = await accept(api, { recipients: people(30) })
  const untilPaused = (reason: RegExp) =>
    until(`a pause because of ${reason}`, async () => {
      const { is_paused, paused_reason } = await requireBroadcast(db, api.workspaceId, id)
      return is_paused && reason.test(paused_reason ?? '')
    })
  await until('the first', async () => (await read(api, id)).sent_count > 0)
  await db`update templates set status = 'PAUSED' where workspace_id = ${api.workspaceId}`
  await untilPaused(/hello_world in en_US is not approved/)
  await db`update templates set status = 'APPROVED' where workspace_id = ${api.workspaceId}`
  await resumeBroadcast(db, api.workspaceId, id)
  const before = (await read(api, id)).sent_count
  await until('more', async () => (await read(api, id)).sent_count > before)
  await db`delete from channel_connections where workspace_id = ${api.workspaceId} and channel = 'msgapp'`
  await untilPaused(/no usable msgapp connection/)
  const left = await read(api, id)
  assert.ok(left.pending_count > 0 && left.status === 'sending')
  assert.equal((await provider.sent()).length, 30 - left.pending_count)
})

test('a broadcast that is resumed at once, beside another one, finds that its template is approved again', async (t) => {
  const { api, db, connect } = await start(t)
  await connect({ messagesPerSecond: 20 })
  // Its sends keep the number busy, so what was read for the paused broadcast could still be cached.
  const values = { template: { name: 'order_confirmed', params: ['A', 'B'] } }
  const busy = await accept(api, { ...values, recipients: people(200, 100) })
  const { id } = await accept(api, { recipients: people(30) })
  await until('the first', async () => (await read(api, id)).sent_count > 0)
  const setTemplate = (status: string) => db`
    update templates set status = ${status} where workspace_id = ${api.workspaceId} and name = 'hello_world'`
  await setTemplate('PAUSED')
  await until('its pausing', async () => (await requireBroadcast(db, api.workspaceId, id)).is_paused)
  await setTemplate('APPROVED')
  const before = (await read(api, id)).sent_count
  await resumeBroadcast(db, api.workspaceId, id)
  await until('it to go on', async () => (await read(api, id)).sent_count > before)
  assert.equal((await read(api, busy.id)).status, 'sending')
})

test('a repeated request creates one broadcast', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  const body = { name: 'News', template: hello, recipients: people(3) }
  const request = { headers: { 'idempotency-key': 'k' } }
  const [one, other] = await Promise.all([
    api.post('/broadcasts', body, request),
    api.post('/broadcasts', body, request),
  ])
  assert.deepEqual(one.body, other.body)
  // As if the process had died before its answer was kept.
  await db`
    update idempotency_keys set status = null, body = null, locked_until = now() - interval '1 second'
    where workspace_id = ${api.workspaceId}`
  assert.equal((await api.post('/broadcasts', body, request)).body.data.id, one.body.data.id)
  await untilSent(db, api, one.body.data.id)
  assert.equal((await provider.sent()).length, 3)
})

test('a thousand recipients are accepted in one request', async (t) => {
  const { api, connect } = await start(t)
  await connect()
  const { total_count } = await accept(api, { recipients: people(1_000), scheduled_at: soon(3_600_000) })
  assert.equal(total_count, 1_000)
})

test('a connection that replaces another continues its broadcasts', async (t) => {
  const { api, db, connect } = await start(t)
  await connect({ messagesPerSecond: 20 })
  const { id } = await accept(api, { recipients: people(60) })
  await until('the first', async () => (await read(api, id)).sent_count > 0)
  await db`delete from channel_connections where workspace_id = ${api.workspaceId} and channel = 'msgapp'`
  await connect({ messagesPerSecond: 100 })
  // Its templates have not been loaded yet.
  await until('its pausing', async () => (await requireBroadcast(db, api.workspaceId, id)).is_paused)
  await api.post('/messages', { to: phoneOf(100), type: 'template', template: hello })
  await resumeBroadcast(db, api.workspaceId, id)
  assert.equal((await untilSent(db, api, id)).sent_count, 60)
})

test('a message that was requeued long ago and is accepted during the sweep counts as sent and uses quota', async (t) => {
  const { api, db, provider } = await withProvider(start(t))
  await provider.fault({ to: phoneOf(0), mode: 'throttle', count: 1 })
  await provider.fault({ to: phoneOf(0), mode: 'no_statuses' })
  const { id } = await accept(api, { recipients: people(1) })
  await until('it to be requeued', async () => (await requeued(db, api)).length)
  await provider.fault({ to: phoneOf(0), mode: 'delay', delay_ms: 1_500 })
  await db`update messages set created_at = created_at - interval '20 minutes' where workspace_id = ${api.workspaceId}`
  await until('its second try', async () => (await recipientsOf(db, id))[0]?.attempt_count === 2)
  await sweepPending(db, { publicUrl, follower: recipientFollower })
  const sent = await untilRead(api, id, 'its outcome', ({ sent_count }) => sent_count === 1)
  assert.deepEqual(countsOf(sent), [1, 1, 0, 0, 0, 0])
  await assertCounted(db, api, id)
  assert.equal(await usageOf(db, api), 1)
  assert.deepEqual(
    (await db<Json[]>`select status, error from messages where workspace_id = ${api.workspaceId}`).map(
      ({ status, error }) => [status, error],
    ),
    [['sent', null]],
  )
})

/** A paused broadcast to all contacts, and a way to write so many chunks of it as a process of its own does. */
async function acceptSegment(api: Api, db: Db, database: TestDatabase) {
  const filter = { match: 'all', rules: [{ field: 'phone', op: 'is_set' }] }
  const segment = (await api.post('/segments', { name: 'All', kind: 'dynamic', filter })).body.data.id
  const { id } = await accept(api, { segment_id: segment, scheduled_at: soon(3_600_000) })
  await db`update broadcasts set status = 'sending', is_paused = true where id = ${id}`
  const fill = ({ chunks = Number.POSITIVE_INFINITY } = {}) => {
    let written = 0
    return fillBroadcast({
      ...{ db: database.connect(2), channel: {}, fields: filterFields, workspaceId: api.workspaceId, id },
      ...{ onChunk: () => written++, isStopped: () => written >= chunks },
    })
  }
  return { id, fill }
}

/** The same, to a segment of three. */
async function prepareSegment(t: TestContext) {
  const world = await start(t)
  const { api, db, database, connect } = world
  await connect()
  for (let i = 0; i < 3; i++) await api.post('/contacts', { phone: phoneOf(i) })
  return { ...world, ...(await acceptSegment(api, db, database)) }
}

test('after a crash a segment is unchanged: contacts who joined later are no recipients, and the quota holds', async (t) => {
  const { api, db, id, fill } = await prepareSegment(t)
  await setPlan(db, api.workspaceId, { messages_per_month: 3, state: 'active' })
  // It dies when it has listed the members and taken their places.
  await fill({ chunks: 0 })
  assert.deepEqual([(await read(api, id)).total_count, await usageOf(db, api)], [3, 3])
  await api.post('/contacts', { phone: phoneOf(3) })
  await fill()
  const rows = await recipientsOf(db, id)
  const expected = [0, 1, 2].map((i) => [phoneOf(i), 'pending'])
  assert.deepEqual(pluck(rows, 'phone', 'status'), expected)
  const [stored] = await db<Json[]>`select is_filled, member_ids, reserved_count from broadcasts where id = ${id}`
  assert.deepEqual(stored, { is_filled: true, member_ids: null, reserved_count: 3 })
  await resumeBroadcast(db, api.workspaceId, id)
  assert.equal((await untilSent(db, api, id)).sent_count, 3)
  assert.equal(await usageOf(db, api), 3)
})

test('two processes that fill one broadcast create one recipient per contact, even when one loses its connection', async (t) => {
  const { api, db, database, id, fill } = await prepareSegment(t)
  await fill({ chunks: 0 })
  const release = await holdTransaction(
    database.connect(1),
    `select from broadcasts where id = '${id}' for no key update`,
  )
  const first = fill().catch(() => 'lost')
  const isWaiting = async () => {
    const waiting = await db<{ pid: number }[]>`
      select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%set filled_count%'`
    return waiting[0]?.pid
  }
  const pid = await until('the first to write', isWaiting)
  await fill()
  assert.equal((await recipientsOf(db, id)).length, 0, 'the second leaves it to the first')
  await db`select pg_terminate_backend(${pid})`
  assert.equal(await first, 'lost')
  await release()
  await Promise.all([fill(), fill()])
  await fill()
  const rows = await recipientsOf(db, id)
  const expected = [0, 1, 2].map((i) => [i + 1, phoneOf(i)])
  assert.deepEqual(pluck(rows, 'place', 'phone'), expected)
  assert.equal((await read(api, id)).total_count, 3)
})
