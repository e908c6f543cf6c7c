/** The funnel of a broadcast: who replied, tapped a button or opted out, counted when it happens and exact by a recount. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertFields } from './assertions.ts'
import { registerSimulatorAccounts } from './internals.ts'
import { type Json, main, startSignedIn, until, withProvider } from './support.ts'

const phoneOf = (i: number) => `+1415558${String(i).padStart(4, '0')}`
const hello = { name: 'hello_world' }

async function startSending(t: TestContext) {
  const world = await withProvider(startSignedIn(t))
  const { api, db, provider, get } = world
  const { workspaceId } = api
  /** Sends to these numbers and waits until all have it. */
  const send = async (indexes: number[]): Promise<string> => {
    const recipients = indexes.map((i) => ({ to: phoneOf(i) }))
    const { id } = (await api.post('/broadcasts', { name: 'News', template: hello, recipients })).body.data
    await until('all to have it', async () => (await get(`/broadcasts/${id}`)).delivered_count === indexes.length)
    return id
  }
  const lastSent = async (i: number) => (await provider.sent(phoneOf(i))).at(-1)?.message_id
  const writes = (i: number, message: Json) => provider.writes({ from: phoneOf(i), ...message })
  /** The counters as the dashboard has them. They are the number of rows, also after a merge or an erasure. */
  const counts = async (id: string) => {
    const { replied_count, tapped_count, opted_out_count } = await get(`/broadcasts/${id}`)
    const rows = await db<{ kind: string; count: number }[]>`
      select kind, count(*)::int as count from broadcast_responses
      where workspace_id = ${workspaceId} and broadcast_id = ${id} group by kind`
    const shown = { replied: replied_count, tapped: tapped_count, opted_out: opted_out_count }
    const none = { replied: 0, tapped: 0, opted_out: 0 }
    const stored = { ...none, ...Object.fromEntries(rows.map(({ kind, count }) => [kind, count])) }
    assert.deepEqual(shown, stored, 'the counters agree with the responses')
    return shown
  }
  /** The same counted again from messages, recipients and contacts. */
  const recounts = async (id: string) => {
    const shown = await counts(id)
    const [recount] = await db<{ replied: number; tapped: number; opted_out: number }[]>`
      with
      -- Each message with the broadcast's message that it answers.
      received as (
        select m.content_type, m.created_at, coalesce(m.reply_to_message_id, (
          select o.id from messages o
          where o.workspace_id = m.workspace_id and o.conversation_id = m.conversation_id and o.broadcast_id is not null
            and o.id < m.id
          order by o.id desc limit 1
        )) as answered_id
        from messages m
        where m.workspace_id = ${workspaceId} and m.direction = 'inbound' and m.content_type <> 'reaction'
      ),
      in_time as (
        select r.place, x.content_type
        from received x
        join broadcast_recipients r on r.workspace_id = ${workspaceId} and r.message_id = x.answered_id
        where r.broadcast_id = ${id} and x.created_at < r.delivered_at + interval '72 hours'
      )
      select count(distinct place)::int as replied,
        (count(distinct place) filter (where content_type = 'button'))::int as tapped, (
          select count(*)::int from broadcast_recipients r
          join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
          where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and c.opted_out_by in ('customer', 'channel')
            and c.opted_out_at between r.delivered_at - interval '5 seconds' and r.delivered_at + interval '72 hours'
        ) as opted_out
      from in_time`
    assert.deepEqual(shown, { ...recount }, 'the counters agree with the tables')
    return shown
  }
  return { ...world, workspaceId, send, lastSent, writes, counts, recounts }
}

/** The channel reports that the customer opted out in its own settings. */
const stopPreference = (phone: string) => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      changes: [
        {
          field: 'user_preferences',
          value: {
            user_preferences: [
              {
                wa_id: phone.slice(1),
                category: 'marketing_messages',
                timestamp: Math.floor(Date.now() / 1000),
                value: 'stop',
              },
            ],
          },
        },
      ],
    },
  ],
})

test('replies, taps and opt-outs within 72 hours of the delivery count once per recipient', main, async (t) => {
  const { db, api, get, provider, workspaceId, send, lastSent, writes, recounts } = await startSending(t)
  const id = await send([0, 1, 2, 3, 4, 5, 6, 7])
  assert.deepEqual(await recounts(id), { replied: 0, tapped: 0, opted_out: 0 })

  const message_id = await writes(0, { text: 'How much is it?' })
  await writes(0, { text: 'And when?' })
  await writes(0, { text: 'How much is it?', message_id })
  assert.deepEqual(await recounts(id), { replied: 1, tapped: 0, opted_out: 0 })

  const tap = { type: 'button', button: { id: 'more', title: 'More' }, reply_to: await lastSent(1) }
  await writes(1, tap)
  await writes(1, tap)
  assert.deepEqual(await recounts(id), { replied: 2, tapped: 1, opted_out: 0 })

  await writes(2, { text: 'STOP' })
  assert.equal(await provider.callback(stopPreference(phoneOf(3))), 200)
  assert.deepEqual(await recounts(id), { replied: 3, tapped: 1, opted_out: 2 })

  // A reaction is no reply, and a message that quotes another one is no reply to the broadcast.
  await writes(4, { type: 'reaction', text: '👍', reply_to: await lastSent(4) })
  const other = await api.post('/messages', { to: phoneOf(5), type: 'template', template: hello })
  await writes(5, { text: 'About this', reply_to: other.body.data.msgapp_message_id })
  // Later than 72 hours after the delivery.
  await db`
    update broadcast_recipients set delivered_at = delivered_at - interval '73 hours'
    where workspace_id = ${workspaceId} and broadcast_id = ${id} and phone = ${phoneOf(6)}`
  await writes(6, { text: 'Hello again' })
  await writes(99, { text: 'Who are you?' })
  assert.deepEqual(await recounts(id), { replied: 3, tapped: 1, opted_out: 2 })
  const [listed] = await get('/broadcasts')
  assertFields(listed, { id, replied_count: 3, tapped_count: 1, opted_out_count: 2 })
})

test('a reply that arrives before the channel has confirmed the message counts', async (t) => {
  const { db, workspaceId, send, writes, recounts } = await startSending(t)
  const id = await send([0])
  const move = (status: string, isDelivered: boolean) => db`
    update broadcast_recipients set status = ${status}, delivered_at = case when ${isDelivered} then now() end
    where workspace_id = ${workspaceId} and broadcast_id = ${id}`
  await move('sending', false)
  await writes(0, { text: 'That was fast' })
  await move('delivered', true)
  assert.deepEqual(await recounts(id), { replied: 1, tapped: 0, opted_out: 0 })
})

test('messages that two processes receive at the same time count once', async (t) => {
  const { db, twin, provider, send, writes, recounts } = await startSending(t)
  const people = Array.from({ length: 8 }, (_, i) => i)
  const id = await send(people)
  const write = () => people.map((i) => writes(i, { text: i % 2 ? 'Yes' : 'STOP', message_id: `wamid.twice-${i}` }))
  const other = await twin()
  const first = write()
  await registerSimulatorAccounts(db, provider.simulatorUrl, provider.connections, other)
  await Promise.all([...first, ...write()])
  assert.deepEqual(await recounts(id), { replied: 8, tapped: 0, opted_out: 4 })
})

test('the counts stay exact when contacts are merged or erased', async (t) => {
  const { api, ask, send, lastSent, writes, counts } = await startSending(t)
  const id = await send([0, 1, 2, 3])
  const idOf = async (i: number): Promise<string> =>
    (await api.get(`/contacts?phone=${encodeURIComponent(phoneOf(i))}`)).body.data[0].id
  await writes(0, { text: 'Yes' })
  await writes(2, { text: 'STOP' })
  await ask('POST', `/contacts/${await idOf(0)}/merge`, { contact_id: await idOf(1) })
  await api.delete(`/contacts/${await idOf(2)}`)
  assert.deepEqual(await counts(id), { replied: 2, tapped: 0, opted_out: 1 })
  // The merged contact answers the message that its other number got; the erased one is a stranger now.
  await writes(1, { text: 'From my other number', reply_to: await lastSent(1) })
  await writes(2, { text: 'Who are you?' })
  assert.deepEqual(await counts(id), { replied: 3, tapped: 0, opted_out: 1 })
  // Without a quote a message of the merged contact answers the last of the two, which has its reply.
  await writes(0, { text: 'And once more', reply_to: await lastSent(0) })
  await writes(1, { text: 'And once more' })
  assert.deepEqual(await counts(id), { replied: 3, tapped: 0, opted_out: 1 })
})

test('a message counts for the broadcast that it quotes, otherwise for the last one', async (t) => {
  const { send, lastSent, writes, recounts } = await startSending(t)
  const first = await send([0, 1])
  const quoted = await lastSent(1)
  const second = await send([0, 1])
  await writes(0, { text: 'Yes please' })
  await writes(1, { text: 'This one', reply_to: quoted })
  assert.deepEqual(await recounts(first), { replied: 1, tapped: 0, opted_out: 0 })
  assert.deepEqual(await recounts(second), { replied: 1, tapped: 0, opted_out: 0 })
})

test('concurrent replies and opt-outs are counted exactly', async (t) => {
  const { send, writes, recounts, get } = await startSending(t)
  const people = Array.from({ length: 12 }, (_, i) => i)
  const id = await send(people)
  await Promise.all(people.flatMap((i) => ['One', 'Two', i % 3 ? 'Three' : 'STOP'].map((text) => writes(i, { text }))))
  assert.deepEqual(await recounts(id), { replied: 12, tapped: 0, opted_out: 4 })
  const points: Json[] = await get(`/broadcasts/${id}/timeline`)
  assertFields(points.at(-1), { sent: 12, delivered: 12, replied: 12, tapped: 0, opted_out: 4 })
  for (const [i, point] of points.entries()) {
    for (const step of ['sent', 'delivered', 'read', 'replied']) {
      assert.ok(i === 0 || point[step] >= points[i - 1]?.[step], `${step} at ${point.at}`)
    }
  }
})
