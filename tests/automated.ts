/** A workspace with the simulator and automations, and what tests of automations do and wait for. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { divideTimes } from '../common/times.ts'
import { dataOf } from './assertions.ts'
import type { Provider } from './provider.ts'
import { type Json, startSignedIn, until } from './support.ts'

export const text = (body: string) => ({ type: 'text', text: body })
export const say = (body: string, more: Json = {}) => ({ type: 'send', message: text(body), ...more })
export const note = (body: string) => ({ type: 'note', text: body })

/** A person writes in the provider's own app. `id`: of the message. */
export async function echo(provider: Provider, to: string, id: string): Promise<void> {
  const { phone_number_id, account_id } = provider.connections.msgapp
  const timestamp = `${Math.floor(Date.now() / 1000)}`
  const sent = { from: '1', to: to.slice(1), id, timestamp, type: 'text', text: { body: 'It is me.' } }
  const value = { metadata: { display_phone_number: '1', phone_number_id }, message_echoes: [sent] }
  const changes = [{ field: 'smb_message_echoes', value: { messaging_product: 'whatsapp', ...value } }]
  const body = { object: 'whatsapp_business_account', entry: [{ id: account_id, changes }] }
  assert.equal(await provider.callback(body), 200)
}

export async function startAutomated(t: TestContext) {
  const world = await startSignedIn(t, { times: divideTimes(10) })
  const { api, db, connect } = world
  const { workspaceId } = api
  const provider = await connect({ messagesPerSecond: 1_000 })
  /** Returns the id. */
  const publish = async (name: string, definition: Json): Promise<string> => {
    const { id } = dataOf(await api.post('/automations', { name, definition }), 201)
    return dataOf(await api.post(`/automations/${id}/publish`)).id
  }
  /** Newest first. */
  const runsOf = async (id: string): Promise<Json[]> => (await api.get(`/automations/${id}/runs`)).body.data
  const untilEnded = (id: string, count = 1): Promise<Json[]> =>
    until(`${count} runs to end`, async () => {
      const runs = await runsOf(id)
      return runs.length >= count && runs.every(({ state }) => state === 'ended') && runs
    })
  const untilWaiting = (id: string): Promise<Json> =>
    until('a run to wait', async () => (await runsOf(id)).find(({ state }) => state === 'waiting'))
  const stepsOf = async (runId: string): Promise<Json[]> => dataOf(await api.get(`/automation-runs/${runId}`)).steps
  const textsTo = async (to: string): Promise<string[]> =>
    (await provider.sent(to)).map(({ body }) => body.text?.body ?? body.interactive?.body?.text ?? body.type)
  const untilSent = (to: string, texts: readonly string[]) =>
    until(`the messages to ${to}`, async () => {
      const sent = await textsTo(to)
      return sent.length >= texts.length && sent
    }).then((sent) => assert.deepEqual(sent, texts))
  const conversationOf = async (from: string): Promise<Json> => {
    const [contact] = (await api.get(`/contacts?phone=${encodeURIComponent(from)}`)).body.data
    return (await api.get(`/conversations?contact_id=${contact.id}`)).body.data[0]
  }
  /** The customer has written, so the window is open. Returns the conversation. */
  const converse = async (from: string): Promise<Json> => {
    await provider.writes({ from, name: 'Ann', text: 'hello' })
    return conversationOf(from)
  }
  /** Everything that was queued before is decided. */
  const settle = () =>
    until('the queue to be empty', async () => {
      const rows = await db`select from automation_triggers where workspace_id = ${workspaceId} limit 1`
      return rows.length === 0
    })
  /** A run that waits for a time is due now. */
  const makeDue = (id: string) =>
    db`update automation_runs set due_at = now(), timeout_at = least(timeout_at, now()) where workspace_id = ${workspaceId} and automation_id = ${id}`
  const notesOf = async (id: string): Promise<Json[]> => (await api.get(`/conversations/${id}/notes`)).body.data
  return {
    ...{ ...world, provider, publish, runsOf, untilEnded, untilWaiting, stepsOf, textsTo, untilSent, conversationOf },
    ...{ converse, settle, makeDue, notesOf },
  }
}
