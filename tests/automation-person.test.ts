/** A person wins: however a reply and a due step of an automation race, no automated message follows the reply. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { divideTimes } from '../common/times.ts'
import { dataOf } from './assertions.ts'
import { type Json, startSignedIn, until } from './support.ts'

const rounds = 10
const customers = 50

test('500 races of a reply with a due step: no automated message has a later id than the reply', async (t) => {
  const { api, ask, db, connect } = await startSignedIn(t, { times: divideTimes(10) })
  const provider = await connect({ messagesPerSecond: 1_000 })
  const steps = Array.from({ length: 4 }, (_, i) => ({
    type: 'send',
    message: { type: 'text', text: `step ${i + 1}` },
  }))
  const definition = { trigger: { type: 'message', contains: ['go'] }, steps }
  const { id } = dataOf(await api.post('/automations', { name: 'Talkative', definition }), 201)
  dataOf(await api.post(`/automations/${id}/publish`))
  const phoneOf = (i: number) => `+1415556${String(i).padStart(4, '0')}`
  const phones = Array.from({ length: customers }, (_, i) => phoneOf(i))
  await Promise.all(phones.map((from) => provider.writes({ from, text: 'hello' })))
  const rows = await db<{ id: string; phone: string }[]>`
    select v.id, c.phone from conversations v join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where v.workspace_id = ${api.workspaceId}`
  const conversations = new Map(rows.map((row) => [row.phone, row.id]))
  const replies: Json[] = []
  for (let round = 0; round < rounds; round++) {
    // The guard of 25 messages an hour must not decide the races.
    await db`update messages set run_id = null where workspace_id = ${api.workspaceId}`
    await Promise.all(
      phones.map(async (from, i) => {
        await provider.writes({ from, text: 'go' })
        // From before the first step until after the last one.
        await new Promise((resolve) => setTimeout(resolve, (i * 7) % 160))
        const path = `/conversations/${conversations.get(from)}/messages`
        replies.push((await ask('POST', path, { text: `I am here ${round}` }, 201)).data)
      }),
    )
    await until('the runs to end', async () => {
      const [open] =
        await db`select from automation_runs where workspace_id = ${api.workspaceId} and state <> 'ended' limit 1`
      const [queued] = await db`select from automation_triggers where workspace_id = ${api.workspaceId} limit 1`
      return !open && !queued
    })
  }
  assert.equal(replies.length, rounds * customers)
  // Of runs that a message before the reply started.
  const late = await db<{ id: string }[]>`
    select r.id from automation_runs r
    join messages m on m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id and m.sender_type = 'bot'
    join messages p on p.workspace_id = r.workspace_id and p.conversation_id = r.conversation_id and p.sender_id is not null
    join automation_steps s on s.workspace_id = r.workspace_id and s.run_id = r.id and s.message_id = m.id
    where r.workspace_id = ${api.workspaceId} and p.id > r.message_id and m.id > p.id`
  assert.equal(late.length, 0)
  const [stopped] = await db<{ count: number }[]>`
    select count(*)::int as count from automation_runs where workspace_id = ${api.workspaceId} and reason = 'person'`
  assert.ok((stopped?.count ?? 0) > 20, `${stopped?.count} runs were stopped`)
})
