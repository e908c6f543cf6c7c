/** A person wins: however a reply, an echo or the button and a due step of an automation race, no automated message follows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { divideTimes, times } from '../common/times.ts'
import { dataOf } from './assertions.ts'
import { echo } from './automated.ts'
import { pluck, startSignedIn, until } from './support.ts'

const rounds = 10
/** How a person takes over, by how many customers of a round. */
const customers = { reply: 50, echo: 50, button: 50 }

test('500 races each of a reply, an echo and the button with a due step: no automated message comes after them', async (t) => {
  const { api, ask, db, connect } = await startSignedIn(t, {
    times: { ...times, automation: divideTimes(10).automation },
  })
  const { workspaceId } = api
  const provider = await connect({ messagesPerSecond: 1_000 })
  const steps = Array.from({ length: 4 }, (_, i) => ({
    type: 'send',
    message: { type: 'text', text: `step ${i + 1}` },
  }))
  const definition = { trigger: { type: 'message', contains: ['go'] }, steps }
  const { id } = dataOf(await api.post('/automations', { name: 'Talkative', definition }), 201)
  dataOf(await api.post(`/automations/${id}/publish`))
  const kinds = Object.entries(customers).flatMap(([kind, count]) => Array<string>(count).fill(kind))
  const people = kinds.map((kind, i) => ({ kind, from: `+1415556${String(i).padStart(4, '0')}` }))
  await Promise.all(people.map(({ from }) => provider.writes({ from, text: 'hello' })))
  const rows = await db<{ id: string; phone: string }[]>`
    select v.id, c.phone from conversations v join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where v.workspace_id = ${workspaceId}`
  const conversations = new Map(rows.map((row) => [row.phone, row.id]))
  /** The automated messages of the runs that persons ended in the conversation. */
  const listStopped = async (conversationId: string): Promise<string[]> => {
    const messages = await db<{ id: string }[]>`
      select m.id from automation_runs r
      join messages m on m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id and m.run_id = r.id
      where r.workspace_id = ${workspaceId} and r.conversation_id = ${conversationId} and r.reason = 'person'
      order by m.id`
    return pluck(messages, 'id')
  }
  /** Those of each conversation that was taken over by the button, when it was answered. */
  const whenTaken = new Map<string, string[]>()
  const takeOver: Record<string, (conversation: string, from: string, round: number) => Promise<unknown>> = {
    reply: (conversation, _, round) =>
      ask('POST', `/conversations/${conversation}/messages`, { text: `I am here ${round}` }, 201),
    echo: (_, from, round) => echo(provider, from, `wamid.${from}.${round}`),
    button: async (conversation) => {
      await ask('POST', `/conversations/${conversation}/take-over`)
      whenTaken.set(conversation, await listStopped(conversation))
    },
  }
  const countPersons = async (): Promise<number> => {
    const [row] = await db<{ count: number }[]>`
      select count(*)::int as count from messages
      where workspace_id = ${workspaceId} and direction = 'outbound' and sender_type <> 'bot'`
    return row?.count ?? 0
  }
  const checkRound = async () => {
    // Of runs that a message before the reply started. By the run of the message: a late message may be in no log.
    const late = await db<{ id: string }[]>`
      select m.id from automation_runs r
      join messages m on m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id and m.run_id = r.id
      join messages p on p.workspace_id = r.workspace_id and p.conversation_id = r.conversation_id
        and p.direction = 'outbound' and p.sender_type <> 'bot'
      where r.workspace_id = ${workspaceId} and p.id > r.message_id and m.id > p.id`
    assert.deepEqual(pluck(late, 'id'), [])
    for (const [conversation, ids] of whenTaken) assert.deepEqual(await listStopped(conversation), ids)
  }
  for (let round = 0; round < rounds; round++) {
    await Promise.all(
      people.map(async ({ kind, from }, i) => {
        await provider.writes({ from, text: 'go' })
        // From before the first step until after the last one.
        await new Promise((resolve) => setTimeout(resolve, (i * 7) % 160))
        await takeOver[kind]?.(conversations.get(from) ?? '', from, round)
      }),
    )
    await until('the runs to end, and the echoes to be stored', async () => {
      const [open] =
        await db`select from automation_runs where workspace_id = ${workspaceId} and state <> 'ended' limit 1`
      const [queued] = await db`select from automation_triggers where workspace_id = ${workspaceId} limit 1`
      return !open && !queued && (await countPersons()) === (round + 1) * (customers.reply + customers.echo)
    })
    await checkRound()
    // The guard of 25 messages an hour must not decide the races.
    await db`update messages set run_id = null where workspace_id = ${workspaceId}`
    whenTaken.clear()
  }
  const stopped = await db<{ conversation_id: string; count: number }[]>`
    select conversation_id, count(*)::int as count from automation_runs
    where workspace_id = ${workspaceId} and reason = 'person' group by conversation_id`
  for (const one of ['reply', 'echo', 'button']) {
    const ids = people.filter(({ kind }) => kind === one).map(({ from }) => conversations.get(from))
    const count = stopped.reduce((sum, row) => sum + (ids.includes(row.conversation_id) ? row.count : 0), 0)
    assert.ok(count >= 5, `${count} runs were stopped by ${one}`)
  }
})
