/** The funnel of a broadcast: who replied, tapped a button or opted out, counted when it happens and exact by a recount. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertFields } from './assertions.ts'
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
  /** The counters as the API shows them, and as the tables have it. */
  const counts = async (id: string) => {
    const { replied_count, tapped_count, opted_out_count } = (await api.get(`/broadcasts/${id}`)).body.data
    const shown = { replied: replied_count, tapped: tapped_count, opted_out: opted_out_count }
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
  return { ...world, workspaceId, send, lastSent, writes, counts }
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
  const { db, api, provider, workspaceId, send, lastSent, writes, counts } = await startSending(t)
  const id = await send([0, 1, 2, 3, 4, 5, 6, 7])
  assert.deepEqual(await counts(id), { replied: 0, tapped: 0, opted_out: 0 })

  const message_id = await writes(0, { text: 'How much is it?' })
  await writes(0, { text: 'And when?' })
  await writes(0, { text: 'How much is it?', message_id })
  assert.deepEqual(await counts(id), { replied: 1, tapped: 0, opted_out: 0 })

  const tap = { type: 'button', button: { id: 'more', title: 'More' }, reply_to: await lastSent(1) }
  await writes(1, tap)
  await writes(1, tap)
  assert.deepEqual(await counts(id), { replied: 2, tapped: 1, opted_out: 0 })

  await writes(2, { text: 'STOP' })
  assert.equal(await provider.callback(stopPreference(phoneOf(3))), 200)
  assert.deepEqual(await counts(id), { replied: 3, tapped: 1, opted_out: 2 })

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
  assert.deepEqual(await counts(id), { replied: 3, tapped: 1, opted_out: 2 })
  const listed = (await api.get('/broadcasts')).body.data[0]
  assertFields(listed, { id, replied_count: 3, tapped_count: 1, opted_out_count: 2 })
})

test('a message counts for the broadcast that it quotes, otherwise for the last one', async (t) => {
  const { send, lastSent, writes, counts } = await startSending(t)
  const first = await send([0, 1])
  const quoted = await lastSent(1)
  const second = await send([0, 1])
  await writes(0, { text: 'Yes please' })
  await writes(1, { text: 'This one', reply_to: quoted })
  assert.deepEqual(await counts(first), { replied: 1, tapped: 0, opted_out: 0 })
  assert.deepEqual(await counts(second), { replied: 1, tapped: 0, opted_out: 0 })
})

test('concurrent replies and opt-outs are counted exactly', async (t) => {
  const { send, writes, counts, get } = await startSending(t)
  const people = Array.from({ length: 12 }, (_, i) => i)
  const id = await send(people)
  await Promise.all(people.flatMap((i) => ['One', 'Two', i % 3 ? 'Three' : 'STOP'].map((text) => writes(i, { text }))))
  assert.deepEqual(await counts(id), { replied: 12, tapped: 0, opted_out: 4 })
  const points: Json[] = await get(`/broadcasts/${id}/timeline`)
  assertFields(points.at(-1), { sent: 12, delivered: 12, replied: 12, tapped: 0, opted_out: 4 })
  for (const [i, point] of points.entries()) {
    for (const step of ['sent', 'delivered', 'read', 'replied']) {
      assert.ok(i === 0 || point[step] >= points[i - 1]?.[step], `${step} at ${point.at}`)
    }
  }
})
