/** Which changes wait for the decision what they start, and how many of them may start a run with questions. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { divideTimes } from '../common/times.ts'
import { dataOf } from './assertions.ts'
import { holdTransaction } from './database.ts'
import { type Json, pluck, startSignedIn, until, withProvider } from './support.ts'

const text = (body: string) => ({ type: 'text', text: body })
const question = { type: 'ask', message: text('Your name?'), answer: { type: 'text' }, save_as: 'answers.name' }

/** A workspace whose changes wait until `decide` is called, as in an outage of the workers. */
async function startUndecided(t: TestContext) {
  const world = await withProvider(startSignedIn(t, { times: divideTimes(10) }))
  const { api, db, provider } = world
  const workspaceId = api.workspaceId
  const publish = async (name: string, definition: Json): Promise<Json> => {
    const { id } = dataOf(await api.post('/automations', { name, definition }), 201)
    return dataOf(await api.post(`/automations/${id}/publish`))
  }
  /** The lock of the process that decides for the workspace. Returns `decide`. */
  const hold = () => holdTransaction(db, `select pg_advisory_xact_lock(7263561, hashtext('${workspaceId}'))`)
  /** The texts of the messages that wait. */
  const listQueued = async (): Promise<string[]> => {
    const rows = await db<{ text: string }[]>`
      select m.content_text as text
      from automation_triggers t join messages m on m.workspace_id = t.workspace_id and m.id = t.message_id
      where t.workspace_id = ${workspaceId}
      order by m.id`
    return rows.map((row) => row.text)
  }
  const untilDecided = () => until('the decisions', async () => (await listQueued()).length === 0)
  const countRuns = async () => {
    const rows = await db<{ second: number; is_refused: boolean; count: number }[]>`
      select floor(extract(epoch from m.created_at))::int as second, coalesce(r.reason = 'limit_runs', false) as is_refused,
        count(*)::int as count
      from automation_runs r
      join messages m on m.workspace_id = r.workspace_id and m.conversation_id = r.conversation_id and m.id = r.message_id
      where r.workspace_id = ${workspaceId}
      group by 1, 2`
    const sum = (some: readonly { count: number }[]) => some.reduce((total, { count }) => total + count, 0)
    const started = rows.filter(({ is_refused }) => !is_refused)
    return {
      started: sum(started),
      most: Math.max(0, ...pluck(started, 'count').flat()),
      refused: sum(rows.filter(({ is_refused }) => is_refused)),
    }
  }
  return { api, provider, publish, hold, listQueued, untilDecided, countRuns }
}

test('only messages wait that may start an automation, answer its question or opt out', async (t) => {
  const { provider, publish, hold, listQueued, untilDecided } = await startUndecided(t)
  await publish('Prices', { trigger: { type: 'message', contains: ['price'] }, steps: [question] })
  await publish('Opened', {
    trigger: { type: 'conversation', event: 'opened' },
    steps: [{ type: 'note', text: 'new' }],
  })
  await publish('Tap', { trigger: { type: 'message', button: 'yes' }, steps: [{ type: 'note', text: 'yes' }] })
  const [customer, other] = ['+14155550101', '+14155550102']
  const decide = await hold()
  for (const said of ['first', 'second', 'What is the PRICE?', 'fourth'])
    await provider.writes({ from: customer, text: said })
  await provider.writes({ from: customer, type: 'button', button: { id: 'no', title: 'No' } })
  await provider.writes({ from: customer, type: 'button', button: { id: 'yes', title: 'Yes' } })
  await provider.writes({ from: customer, text: 'STOP' })
  assert.deepEqual(await listQueued(), ['first', 'What is the PRICE?', 'Yes', 'STOP'])
  await decide()
  await untilDecided()

  await provider.writes({ from: other, text: 'price' })
  await until('the question', async () => (await provider.sent(other)).length === 1)
  const decideAnswer = await hold()
  await provider.writes({ from: other, text: 'Robin' })
  assert.deepEqual(await listQueued(), ['Robin'])
  await decideAnswer()
  await untilDecided()
})

test('after an outage of the workers no run with questions is refused, however many are decided at once', async (t) => {
  const { provider, publish, hold, untilDecided, countRuns } = await startUndecided(t)
  await publish('Name', { trigger: { type: 'message' }, steps: [question] })
  const decide = await hold()
  const second = () => Math.floor(Date.now() / 1000)
  for (let group = 0; group < 3; group++) {
    const phones = Array.from({ length: 60 }, (_, i) => `+1415555${1_000 + group * 100 + i}`)
    await Promise.all(phones.map((from) => provider.writes({ from, text: 'hello' })))
    const last = second()
    await until('the next second', async () => second() > last)
  }
  await decide()
  await untilDecided()
  const { started, refused } = await countRuns()
  assert.deepEqual([started, refused], [180, 0])
})

test('of the messages of one second at most 100 start a run with questions', async (t) => {
  const { provider, publish, untilDecided, countRuns } = await startUndecided(t)
  await publish('Name', { trigger: { type: 'message' }, steps: [question] })
  // Of one callback, so they have the time of one second or of two.
  const messages = Array.from({ length: 250 }, (_, i) => ({
    ...{ from: `1415555${2_000 + i}`, id: `wamid.flood${i}`, timestamp: `${Math.floor(Date.now() / 1000)}` },
    ...{ type: 'text', text: { body: 'hello' } },
  }))
  const value = { messaging_product: 'whatsapp', messages }
  const body = { object: 'whatsapp_business_account', entry: [{ changes: [{ field: 'messages', value }] }] }
  assert.equal(await provider.callback(body), 200)
  await untilDecided()
  const { started, most, refused } = await countRuns()
  assert.equal(started + refused, 250)
  assert.ok(most === 100 && refused >= 50, `${started} started, at most ${most} in a second`)
})
