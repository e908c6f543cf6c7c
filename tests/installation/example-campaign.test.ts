/** `examples/campaign`: reaches each person once, whatever interrupts it, and reports every outcome. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runExample } from '../example.ts'
import { start } from '../support.ts'

const phoneOf = (i: number) => `+1415${5_000_000 + i}`

test('the campaign is killed while it adds people and while it sends, and each person gets one message', async (t) => {
  const world = await start(t)
  const { api, db, connect } = world
  const provider = await connect({ messagesPerSecond: 300 })
  const key = await api.key('messages:send', 'broadcasts:send')
  for (const i of [3, 1_200]) await provider.fault({ to: phoneOf(i), mode: 'reject' })
  await api.post('/contacts', { phone: phoneOf(7) })
  await db`update contacts set opted_out_at = now(), opted_out_by = 'member' where workspace_id = ${api.workspaceId}`
  const run = () => runExample(t, world, { name: 'campaign', key, args: ['Spring', '1500'] })

  const first = run()
  await first.prints('added 1000 of 1500 (1000 new)')
  await first.kill()
  const second = run()
  await second.prints(/sending: \d+ pending, [1-9]/)
  await second.kill()
  assert.match(second.output(), /added 1000 of 1500 \(0 new\)/)
  const third = run()
  assert.equal(await third.ended, 0, third.output())

  assert.doesNotMatch(third.output(), /added|started/)
  assert.match(third.output(), /^1500 recipients\n {2}read +1497\n/m)
  assert.match(third.output(), /failed +2\n {4}.+: \+14155000003, \+14155001200\n/)
  assert.match(third.output(), /skipped +1\n {4}opted out of broadcasts: \+14155000007\n/)
  const messages = await db<{ phone: string; count: number; text: string }[]>`
    select c.phone, count(*)::int as count, min(m.content_text) as text
    from messages m
    join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where m.workspace_id = ${api.workspaceId} group by c.phone`
  assert.equal(messages.length, 1_499)
  assert.ok(messages.every(({ count }) => count === 1))
  const one = messages.find(({ phone }) => phone === phoneOf(1_499))
  assert.match(one?.text ?? '', /Customer 1500.*A-11500/)
  assert.equal((await api.get('/broadcasts')).body.data.length, 1)

  const again = run()
  assert.equal(await again.ended, 0, again.output())
  assert.equal((await db`select 1 from messages where workspace_id = ${api.workspaceId}`).length, 1_499)
})
