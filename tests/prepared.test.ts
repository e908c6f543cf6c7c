/**
 * Statements are prepared once per connection: a call that is repeated sends no statement to be parsed again. Only searches and composed
 * filters are planned at each call (`plannedPerCall`).
 */
import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { addEndpoint } from './deliveries.ts'
import { createImporter } from './importing.ts'
import { perCallComment } from './internals.ts'
import { startReceiver } from './receiver.ts'
import { type Json, signIn, start, until } from './support.ts'

/** Lists the texts that this process sends to PostgreSQL to be parsed, except those that are planned per call. */
function recordParses(t: TestContext): string[] {
  const parsed: string[] = []
  const write = Socket.prototype.write
  t.mock.method(Socket.prototype, 'write', function (this: Socket, ...args: Parameters<typeof write>) {
    const [bytes] = args as unknown[]
    if (Buffer.isBuffer(bytes)) parsed.push(...readParses(bytes))
    return write.apply(this, args)
  })
  return parsed
}

/** The texts of the Parse messages, if these bytes are messages of a client of PostgreSQL: a letter, and the length of the rest. */
function readParses(bytes: Buffer): string[] {
  const found: string[] = []
  for (let from = 0; from < bytes.length; ) {
    const length = from + 5 <= bytes.length ? bytes.readInt32BE(from + 1) : 0
    if (length < 4 || from + 1 + length > bytes.length) return []
    if (bytes[from] === 0x50) {
      const [, text = ''] = bytes.toString('utf8', from + 5, from + 1 + length).split('\0')
      if (!text.includes(perCallComment)) found.push(text)
    }
    from += 1 + length
  }
  return found
}

/** As many as it takes to reach every connection of a pool, and some for the statements of the engines in between. */
const maxRepeats = 60
/** So many in a row must send nothing to be parsed. */
const cleanRepeats = 3

test('a call of the API or the dashboard that is repeated sends no statement to be parsed', async (t) => {
  const { api, url, owner, contract, memberRoutes, connect } = await start(t)
  const provider = await connect({ messagesPerSecond: 10_000 })
  const receiver = await startReceiver(t)
  const endpoint = await addEndpoint(api, receiver.url)
  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'Where is my order?' })
  const browser = await signIn({ url, owner })
  const [conversation] = (await api.get('/conversations')).body.data
  const [message] = (await api.get(`/conversations/${conversation.id}/messages`)).body.data
  const segment = (await api.post('/segments', { name: 'All' })).body.data
  const template = { name: 'hello_world' }
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString()
  const recipients = [{ to: '+14155550100' }]
  const broadcast = (await api.post('/broadcasts', { name: 'Later', template, recipients, scheduled_at })).body.data
  const later = { text: 'Soon', send_at: scheduled_at }
  const scheduled = (await api.post(`/conversations/${conversation.id}/scheduled-messages`, later)).body.data
  const definition = { trigger: { type: 'manual' }, steps: [{ type: 'note', text: 'By hand.' }] }
  const automation = (await api.post('/automations', { name: 'Macro', definition })).body.data
  await api.post(`/automations/${automation.id}/publish`)
  const manual = { conversation_ids: [conversation.id] }
  const [{ run_id }] = (await api.post(`/automations/${automation.id}/runs`, manual)).body.data
  const delivery = await until('a delivery', async () => {
    await api.post('/contacts', { phone: '+14155550102' })
    return (await api.get(`/webhooks/${endpoint.id}/deliveries`)).body.data[0]
  })
  const request = await until('the request log', async () => (await browser.call('GET', '/requests')).body.data[0])
  const [event] = (await browser.call('GET', '/events')).body.data
  const ids: Record<string, string> = {
    contacts: conversation.contact.id,
    conversations: conversation.id,
    messages: message.id,
    'scheduled-messages': scheduled.id,
    automations: automation.id,
    'automation-runs': run_id,
    segments: segment.id,
    broadcasts: broadcast.id,
    webhooks: endpoint.id,
    deliveries: delivery.id,
    requests: request.id,
    events: event.id,
    templates: 'hello_world',
    channels: provider.connections.web.id,
    connections: provider.connections.msgapp.id,
    reports: 'overview',
    imports: (await createImporter(browser).accept('phone\n+14155550103')).id,
  }
  const parsed = recordParses(t)

  async function assertPrepared(what: string, call: () => Promise<{ status: number; text: string }>): Promise<void> {
    let clean = 0
    let last: string[] = []
    for (let i = 0; i < maxRepeats && clean < cleanRepeats; i++) {
      parsed.length = 0
      const { status, text } = await call()
      assert.ok(status < 300, `${what}: ${text}`)
      last = parsed.length > 0 ? [...parsed] : last
      clean = parsed.length > 0 ? 0 : clean + 1
    }
    assert.equal(clean, cleanRepeats, `${what} still parses:\n${last.join('\n')}`)
  }

  const pathOf = (path: string) => path.replace(/^\/([\w-]+)\/(?:\{\w+\}|:\w+)/, (_, room) => `/${room}/${ids[room]}`)
  let count = 0
  for (const { method, path, operation } of contract.operations) {
    if (method !== 'GET' || operation.responses[200]?.content['text/event-stream']) continue
    await assertPrepared(`GET ${path}`, () => api.get(pathOf(path)))
    count++
  }
  // The lists behind figures are found by composed conditions.
  const unlike = /reports\/.+\/|stream|\.csv|oidc|:token|\/status$|\/search(\/|$)/
  for (const { method, url: route } of memberRoutes) {
    if (method !== 'GET' || unlike.test(route)) continue
    await assertPrepared(`GET ${route}`, () => browser.call('GET', pathOf(route.replace('/app/api', ''))))
    count++
  }
  assert.ok(count > 60, `${count} routes`)

  let number = 0
  const writes: Record<string, () => Promise<Json>> = {
    'a new contact': () => api.post('/contacts', { phone: `+1415556${1_000 + number++}`, tags: ['vip'] }),
    'a known contact': () => api.post('/contacts', { phone: '+14155550100' }),
    'a changed contact': () => api.patch(`/contacts/${conversation.contact.id}`, { name: `Ann ${number++}` }),
    'a message': () => api.post('/messages', { to: '+14155550100', type: 'text', text: 'Soon' }),
    'a reply of a member': () => browser.call('POST', `/conversations/${conversation.id}/messages`, { text: 'Soon' }),
    'a scheduled message that is changed': () => api.patch(`/scheduled-messages/${scheduled.id}`, later),
    'a note': () => api.post(`/conversations/${conversation.id}/notes`, { text: 'Asked twice.' }),
    'a changed conversation': () => api.patch(`/conversations/${conversation.id}`, { status: 'open' }),
    'a read conversation': () => api.post(`/conversations/${conversation.id}/read`),
    'a member of a segment': () =>
      api.post(`/segments/${segment.id}/contacts`, { contact_ids: [conversation.contact.id] }),
    'a checked message': () => api.post('/messages/check', { to: '+14155550100', type: 'text', text: 'Soon' }),
    'a broadcast': () => api.post('/broadcasts', { name: `B ${number++}`, template, recipients, scheduled_at }),
  }
  for (const [what, call] of Object.entries(writes)) await assertPrepared(what, call)
})
