/** `verifyWebhook` of the SDK accepts only genuine signatures, and its types match the delivered events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signatureOf } from '../common/webhook-request.ts'
import {
  type ContactCreated,
  type ConversationCreated,
  type MessageReceived,
  type MessageStatusUpdated,
  Parley,
  ParleyError,
  verifyWebhook,
  type WebhookEvent,
} from '../sdk/src/index.ts'
import { contentTypes, eventNames, scopes } from './internals.ts'
import { startReceiver } from './receiver.ts'
import { cases, secret, t as signedAt, vectors } from './signatures.ts'
import { start, until, withProvider } from './support.ts'

type Delivered = Parameters<typeof verifyWebhook>[0]

/** The error code of a rejected delivery. */
const refusalOf = (delivery: Delivered) =>
  verifyWebhook(delivery).then(
    () => undefined,
    (error) => (error instanceof ParleyError ? error.code : assert.fail(error)),
  )

test('only correctly signed payloads are accepted', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] })
  for (const { secret, header, body, now, ok } of cases) {
    t.mock.timers.setTime(now * 1_000)
    const code = await refusalOf({ payload: body, signature: header, secret })
    // The vectors are signed correctly, but they are not events.
    assert.equal(code, ok ? 'invalid_payload' : 'invalid_signature', JSON.stringify({ header, now }).slice(0, 500))
  }
  t.mock.timers.setTime(signedAt * 1_000)
  const [body, v1] = vectors[0]
  const header = `t=${signedAt},v1=${v1}`
  for (const signature of [undefined, null, [], ['t=1', 'v1=2'], 'null'])
    assert.equal(await refusalOf({ payload: body, signature, secret }), 'invalid_signature')
  assert.equal(await refusalOf({ payload: body, signature: header, secret: undefined }), 'invalid_signature')
  for (const signature of [[header], [header, header], `${header}, ${header}`])
    assert.equal(await refusalOf({ payload: body, signature, secret }), 'invalid_payload')
})

test('the caller sets the maximum age of a signature', async (t) => {
  const [payload, v1] = vectors[0]
  t.mock.timers.enable({ apis: ['Date'], now: (signedAt + 1_000) * 1_000 })
  const judge = (toleranceSeconds: number | undefined) =>
    refusalOf({ payload, signature: `t=${signedAt},v1=${v1}`, secret, toleranceSeconds })
  for (const tolerance of [1_000, Number.POSITIVE_INFINITY]) assert.equal(await judge(tolerance), 'invalid_payload')
  for (const tolerance of [undefined, 999, 0, -1, Number.NaN])
    assert.equal(await judge(tolerance), 'invalid_signature', `${tolerance}`)
})

test('a payload is text or bytes, and must be an event', async () => {
  const t = Math.floor(Date.now() / 1_000)
  const sign = (body: string) => ({ signature: `t=${t},v1=${signatureOf(secret, t, body)}`, secret })
  const event = { id: 'x', event: 'conversation.created', data: { contact_id: 'é\u2028😀' } }
  const body = JSON.stringify(event)
  const bytes = new TextEncoder().encode(body)
  const within = new Uint8Array([0, ...bytes, 0]).subarray(1, -1)
  for (const payload of [body, bytes, within, bytes.buffer, Buffer.from(body)])
    assert.deepEqual(await verifyWebhook({ payload, ...sign(body) }), event)
  // A parsed body is reported as such. No payload causes an error of another type.
  for (const parsed of [event, {}, null, undefined, 1]) {
    const { code, message } = await verifyWebhook({ payload: parsed as never, ...sign(body) }).catch((error) => error)
    assert.equal(code, 'invalid_signature')
    assert.match(message, /pass the raw request body/)
  }
  for (const other of ['', '[]', 'null', '{"id":1}', '{"id":"x","event":"contact.created"}'])
    assert.equal(await refusalOf({ payload: other, ...sign(other) }), 'invalid_payload', other)
})

type Is = (value: unknown) => boolean
/** A predicate for every key of a type. The compiler rejects missing and extra keys. */
type Shape<Data> = { [Key in keyof Required<Data>]: Is }

const text: Is = (value) => typeof value === 'string'
const nullable: Is = (value) => value === null || text(value)
const oneOf =
  (...values: readonly unknown[]): Is =>
  (value) =>
    values.includes(value)

const record: Is = (value) => typeof value === 'object' && value !== null
const ids = { conversation_id: text, contact_id: text }
const received = { ...ids, content_type: oneOf(...contentTypes), text: nullable, message: record, contact: record }
const created = { contact_id: text, phone: nullable, name: nullable, contact: record }
const statuses = oneOf('sent', 'delivered', 'read', 'failed')

type On<Channel> = Extract<MessageReceived['data'], { channel: Channel }>
const shapes = {
  'message.received': { ...received, msgapp_message_id: text } satisfies Shape<
    Omit<Exclude<MessageReceived['data'], On<'social' | 'web'>>, 'channel'>
  >,
  'message.received social': { ...received, channel: text, social_message_id: text } satisfies Shape<On<'social'>>,
  'message.received web': { ...received, channel: text, message_id: text } satisfies Shape<On<'web'>>,
  'message.status_updated': {
    msgapp_message_id: nullable,
    conversation_id: text,
    status: statuses,
    message: record,
  } satisfies Shape<MessageStatusUpdated['data']>,
  'conversation.created': { ...ids, conversation: record } satisfies Shape<ConversationCreated['data']>,
  'contact.created': created satisfies Shape<Omit<ContactCreated['data'], 'social_username'>>,
  'contact.created social': { ...created, social_username: nullable } satisfies Shape<ContactCreated['data']>,
}

function kindOf({ event, data }: WebhookEvent): string {
  const isSocial = event === 'contact.created' && 'social_username' in data
  const more = isSocial ? 'social' : event === 'message.received' ? data.channel : undefined
  return more ? `${event} ${more}` : event
}

test('delivered events pass verification and have exactly the keys of their types', async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  const customer = await startReceiver(t)
  const parley = new Parley({ apiKey: await world.api.key(...scopes), baseUrl: `${world.url}/v1` })
  const webhook = await parley.webhooks.create({ url: customer.url, events: [...eventNames] })

  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'hello' })
  await provider.writes({ channel: 'social', from: '90000001', username: 'ann.r', text: 'hello' })
  const site = `${world.url}/web-chat/${provider.connections.web.id}`
  const post = async (path: string, body?: unknown, token = '') => {
    const headers = { 'x-visitor-token': token, 'content-type': 'application/json' }
    const answer = await fetch(site + path, { method: 'POST', headers, body: JSON.stringify(body ?? {}) })
    assert.equal(answer.status, 201)
    return (await answer.json()) as { data: { visitor_token: string } }
  }
  const { visitor_token: visitor } = (await post('/visitors')).data
  await post('/messages', { text: 'hello' }, visitor)
  await parley.messages.send({ to: '+14155550100', text: 'It is on its way.' })

  const kinds = new Set<string>()
  let seen = 0
  await until('events of every kind', async () => {
    for (const { raw, headers } of customer.received.slice(seen)) {
      seen++
      const { secret } = webhook
      const event = await verifyWebhook({ payload: raw, signature: headers['x-service-signature']?.toString(), secret })
      assert.deepEqual(Object.keys(event), ['id', 'event', 'occurred_at', 'account_id', 'data'])
      const shape = Object.entries(shapes).find(([kind]) => kind === kindOf(event))?.[1]
      assert.ok(shape, kindOf(event))
      assert.deepEqual(Object.keys(event.data).sort(), Object.keys(shape).sort(), raw)
      for (const [key, is] of Object.entries(shape)) {
        assert.ok(is(Object.entries(event.data).find(([name]) => name === key)?.[1]), `${key} of ${raw}`)
      }
      kinds.add(kindOf(event))
    }
    return kinds.size === Object.keys(shapes).length
  })
  const [first] = customer.received
  const retired = first?.headers['x-legacy-signature']?.toString()
  assert.ok(await verifyWebhook({ payload: first?.raw ?? '', signature: retired, secret: webhook.secret }))
})
