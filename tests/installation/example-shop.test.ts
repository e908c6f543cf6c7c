/** `examples/shop`: sends each order update once and learns its outcome, whatever interrupts it. */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runExample } from '../example.ts'
import { createFolder } from '../folder.ts'
import { start, until, withProvider } from '../support.ts'

const phoneOf = (i: number) => `+1415555${1_000 + i}`

test('the shop sends each update once, survives kills, and shows outcomes and replies', async (t) => {
  const world = await withProvider(start(t))
  const { api, db, provider } = world
  const key = await api.key('messages:send', 'messages:read', 'webhooks:manage')
  const folder = createFolder(t)
  const order = (i: number, status: string, phone = phoneOf(i)) => {
    const line = JSON.stringify({ order: `A-${i}`, phone, name: `Customer ${i}`, status })
    appendFileSync(join(folder, 'orders.jsonl'), `${line}\n`)
  }
  const run = () => runExample(t, world, { name: 'shop', key, args: [folder] })

  order(1, 'confirmed')
  order(2, 'confirmed')
  order(3, 'confirmed', 'not a number')
  await provider.fault({ to: phoneOf(2), mode: 'reject' })
  const first = run()
  await first.prints('A-1 confirmed: read')
  await first.prints(/A-2 confirmed: failed \(.+\)/)
  await first.prints(/A-3 confirmed: failed \(to: .+\)/)
  await provider.writes({ from: phoneOf(1), text: 'Thank you!' })
  await first.prints('reply from Customer 1 (A-1): Thank you!')

  // The channel accepts this one and breaks the connection: the outcome is unknown until a report arrives.
  await provider.fault({ to: phoneOf(4), mode: 'drop_connection_after_accept' })
  order(4, 'confirmed')
  await first.prints(/A-4 confirmed: (delivered|read)/)

  // Nothing reaches the channel: the shop sends the update again, and the customer gets it once.
  await provider.goDown()
  order(6, 'confirmed')
  await first.prints(/A-6 confirmed: not sent, trying again: .*nothing was sent/)
  await provider.comeUp()
  await first.prints(/A-6 confirmed: (delivered|read)/)

  // Killed between the send and its report, and while it was away the message was delivered.
  order(1, 'shipped')
  await until('the update to be sent', async () => (await provider.sent(phoneOf(1))).length === 2)
  await first.kill()
  order(5, 'confirmed')
  await until('the report', async () => {
    const [shipped] = await db`
      select 1 from messages
      where workspace_id = ${api.workspaceId} and status = 'read' and content_text like '%shipped%'`
    return shipped
  })
  const second = run()
  await second.prints('A-5 confirmed: read')
  // On a slow machine the report may have reached the first run.
  if (!first.output().includes('A-1 shipped: read')) await second.prints('A-1 shipped: read')
  await provider.writes({ from: phoneOf(5), text: 'Where is it?' })
  await second.prints('reply from Customer 5 (A-5): Where is it?')
  await second.kill()

  for (const [i, count] of [
    [1, 2],
    [4, 1],
    [5, 1],
    [6, 1],
  ] as const)
    assert.equal((await provider.sent(phoneOf(i))).length, count, phoneOf(i))
  // As if it was killed right after the channel accepted the message: the journal does not have it.
  const lines = readFileSync(join(folder, 'journal.jsonl'), 'utf8').split('\n')
  rmSync(join(folder, 'journal.jsonl'))
  appendFileSync(join(folder, 'journal.jsonl'), lines.filter((line) => !line.includes('A-5')).join('\n'))
  const third = run()
  await third.prints('A-5 confirmed: read')
  await third.kill()
  assert.doesNotMatch(third.output(), /A-1|A-2|A-4|A-6/)
  assert.equal((await provider.sent(phoneOf(5))).length, 1)
})
