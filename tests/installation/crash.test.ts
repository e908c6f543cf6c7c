/** kill -9 amid many sends, and SIGTERM with open streams: the service as a real process, the channel as another one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPrograms } from '../crashing.ts'
import { file, type Json, pluck, until } from '../support.ts'

const programs = startPrograms(file)

const hello = { type: 'template', template: { name: 'hello_world' } }

test('killed amid 200 sends: every accepted message is stored once as sent, inbound messages of the outage arrive once, and retries send nothing twice', async () => {
  const { db, services, workspace } = await programs
  const [service] = services
  const { id: workspaceId, provider, newKey, post, listOutbound } = await workspace()
  const numbers = Array.from({ length: 200 }, (_, i) => `+1415555${String(2000 + i)}`)
  const sendAll = async (some: readonly string[]) => {
    const keys = await Promise.all(Array.from({ length: 4 }, newKey))
    return Promise.all(some.map(async (to, i) => ({ to, answer: await post(keys[i % 4] ?? '', to, { to, ...hello }) })))
  }
  assert.equal((await post(await newKey(), 'first', { to: '+14155550100', ...hello }))?.status, 201)
  // Half of the answers are on their way when it ends; so are reports.
  await provider.fault({ mode: 'delay', delay_ms: 5_000, count: 80 })
  const sending = sendAll(numbers)
  await until('the channel to have taken some', async () => (await provider.sent()).length > 90)

  await service.kill()

  const answered = (await sending).filter(({ answer }) => answer)
  for (const { answer } of answered) assert.equal(answer?.status, 201, JSON.stringify(answer))
  const customers = ['+14155553001', '+14155553002', '+14155553003']
  for (const from of customers) {
    const refused = await provider.control('POST', '/inbound', { channel: 'msgapp', from, text: 'anybody there?' })
    assert.equal(refused.status, 502, JSON.stringify(refused.body))
  }
  await provider.control('DELETE', '/faults')
  await service.start()

  const accepted = await provider.sent()
  assert.ok(accepted.length > 90 && accepted.length <= 201, `${accepted.length}`)
  assert.ok(answered.length < accepted.length, `${answered.length} of ${accepted.length} were answered`)
  assert.equal(new Set(accepted.map(({ to }) => to)).size, accepted.length)
  const rows = await until('every accepted message to be sent', async () => {
    const byId = new Map((await listOutbound()).map((row) => [row.id, row]))
    const isSent = ({ message_id, to, body }: (typeof accepted)[number]) => {
      const row = byId.get(body.biz_opaque_callback_data)
      return row?.external_id === message_id && row.phone === to && row.status === 'read'
    }
    return accepted.every(isSent) && [...byId.values()]
  })
  assert.equal(new Set(rows.map(({ phone }) => phone)).size, rows.length, 'one message a person')
  for (const { to, answer } of answered) {
    const row = rows.find(({ phone }) => phone === to)
    assert.deepEqual([row?.id, row?.external_id], [answer?.body.data.message_id, answer?.body.data.msgapp_message_id])
  }
  const written = await until('the customers of the outage', async () => {
    const inbound = await db<{ phone: string }[]>`
      select c.phone from messages m
      join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
      join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
      where m.workspace_id = ${workspaceId} and m.direction = 'inbound' order by c.phone`
    return inbound.length >= customers.length && inbound
  })
  assert.deepEqual(pluck(written, 'phone'), customers)

  // All but those with an unknown outcome: their retries wait for the outcome, as the other test shows.
  const known = new Set(accepted.map(({ to }) => to))
  const prepared = new Set(rows.map(({ phone }) => phone))
  const repeated = numbers.filter((to) => known.has(to) || !prepared.has(to))
  // As if the 15 seconds had passed that a claim of a dead process holds.
  await db`update idempotency_keys set locked_until = now() - interval '1 second' where workspace_id = ${workspaceId}`
  for (const { answer } of await sendAll(repeated)) assert.equal(answer?.status, 201, JSON.stringify(answer))
  const after = await provider.sent()
  assert.equal(new Set(after.map(({ to }) => to)).size, after.length, 'no recipient got it twice')
  assert.equal(after.length, repeated.length + 1)
  const inbound = await db`select 1 from messages where workspace_id = ${workspaceId} and direction = 'inbound'`
  assert.equal(inbound.length, customers.length)
  const [usage] = await db<{ message_count: number }[]>`
    select message_count from plan_usage where workspace_id = ${workspaceId}`
  assert.equal(usage?.message_count, (await listOutbound()).length)
})

test('on SIGTERM the service ends open streams and exits', async () => {
  const { services, workspace } = await programs
  const [service] = services
  const { connections } = await workspace()
  const site = `${service.url}/web-chat/${connections.web.id}`
  const { data }: Json = await (await fetch(`${site}/visitors`, { method: 'POST' })).json()
  const address = `${site}/stream?token=${encodeURIComponent(data.visitor_token)}`
  const streams = await Promise.all(Array.from({ length: 3 }, () => fetch(address)))
  const [code, ...texts] = await Promise.all([service.kill('SIGTERM'), ...streams.map((stream) => stream.text())])
  assert.equal(code, 0)
  assert.deepEqual(texts, ['retry: 3000\n\n', 'retry: 3000\n\n', 'retry: 3000\n\n'])
})
