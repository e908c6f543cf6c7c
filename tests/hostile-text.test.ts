/**
 * The work on a text grows linearly with it, wherever a caller sends it: 64 KiB of a shape that makes a regular expression backtrack, in
 * every field, query, header, path and callback. Quadratic work on 64 KiB takes a second and more of the event loop that all callers share.
 */
import { test } from 'node:test'
import { assertCheap } from './cpu.ts'
import { createBrowser, type Json, signIn, start, withProvider } from './support.ts'

const size = 65_536
/** Of headers and URLs: Node's own limit for all of them is 16 KiB. */
const headSize = 8_192

const words = [
  ...['pwd', ' ', 'a', '1', '{{contact.', '{{ ', '"', '\\', '/', '//a', '=', '.', '-', ',', '[', '(', '<b>', '*_', 'é'],
  ...['İ', '👍', '\u0300', '+1 (', 'https://a.', 'Bearer ', '%'],
]
const shapes = words.flatMap((word) => {
  const fill = (length: number) =>
    word
      .repeat(Math.ceil(length / word.length))
      .slice(0, length)
      .toWellFormed()
  // With an end that the expression cannot match, and with the blanks in which another one may look for its end.
  return [
    (length: number) => `${fill(length - 1)}!`,
    (length: number) => `${fill(length / 2)}${' '.repeat(length / 2)}`,
  ]
})

/** The client of a call is in the work too, and takes about a millisecond. */
const assertLinear = (what: string, call: () => Promise<unknown>) => assertCheap(what, 50, call, 3)

type Schema = Record<string, Json>

test('no text of a caller takes more than linear work', async (t) => {
  const { api, url, owner, contract, provider } = await withProvider(start(t))
  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'hello' })
  const [conversation] = (await api.get('/conversations')).body.data
  const [message] = (await api.get(`/conversations/${conversation.id}/messages`)).body.data
  let turn = 0
  const next = () => shapes[turn++ % shapes.length] as (length: number) => string
  const show = (shape: (length: number) => string) => JSON.stringify(shape(16))

  /** The text in every place of the schema that takes a string, alone: a body for each. */
  const listBodies = (schema: Schema, depth = 0): ((text: string) => Json)[] => {
    const resolved = contract.resolve(schema) as Schema
    const options = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])]
    const own = [resolved.type].flat().includes('string') ? [(text: string) => text] : []
    const inItems = resolved.items && depth < 6 ? listBodies(resolved.items, depth + 1) : []
    const inFields = Object.entries<Schema>(depth < 6 ? (resolved.properties ?? {}) : {}).flatMap(([name, field]) =>
      listBodies(field, depth + 1).map((make) => (text: string) => ({ ...resolved.examples?.[0], [name]: make(text) })),
    )
    return [
      ...own,
      ...inFields,
      ...inItems.map((make) => (text: string) => [make(text)]),
      ...options.flatMap((option) => listBodies(option, depth + 1)),
    ]
  }

  for (const { method, path, operation } of contract.operations) {
    if (operation.responses[200]?.content['text/event-stream']) continue
    const at = path.replace('{id}', conversation.id).replace(/\{\w+\}/g, message.id)
    const send = (to: string, body?: Json) => () =>
      fetch(`${url}/v1${to}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }).then((response) => response.text())
    const key = await api.key('contacts:read', 'contacts:write', 'conversations:read', 'messages:read', 'messages:send')
    const schema = operation.requestBody?.content['application/json']?.schema
    for (const make of schema ? listBodies(schema) : []) {
      const shape = next()
      await assertLinear(`${method} ${path} with ${show(shape)}`, send(at, make(shape(size))))
    }
    if (schema) await assertLinear(`${method} ${path} without JSON`, send(at, next()(size)))
    const shape = next()
    for (const { name } of (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')) {
      const query = `${name}=${encodeURIComponent(shape(headSize / 4)).slice(0, headSize)}`
      await assertLinear(`${method} ${path}?${name} with ${show(shape)}`, send(`${at}?${query}`))
    }
    const id = encodeURIComponent(shape(headSize / 4)).slice(0, headSize)
    await assertLinear(`${method} ${path} with the id ${show(shape)}`, send(path.replace(/\{\w+\}/g, id)))
  }

  const headers = [
    ...['authorization', 'idempotency-key', 'x-request-id', 'if-none-match', 'accept', 'accept-encoding', 'range'],
    ...['cookie', 'origin', 'x-forwarded-for', 'user-agent', 'accept-language', 'if-modified-since'],
  ]
  const headShapes = shapes.filter((shape) => /^[\x20-\x7e]*$/.test(shape(16)))
  for (const path of ['/v1/me', '/app/api/session', '/', '/openapi.json', '/readyz']) {
    for (const name of headers) {
      const shape = headShapes[turn++ % headShapes.length] ?? String
      await assertLinear(`${path} with ${name}: ${show(shape)}`, () =>
        fetch(`${url}${path}`, { headers: { [name]: shape(headSize) } }).then((response) => response.text()),
      )
    }
  }

  const browser = await signIn({ url, owner })
  const site = `${url}/web-chat/${provider.connections.web.id}`
  for (let i = 0; i < shapes.length; i += 4) {
    const shape = shapes[i + (turn++ % 4)] ?? String
    const text = shape(size)
    const calls: Record<string, () => Promise<unknown>> = {
      search: () => browser.call('GET', `/search?q=${encodeURIComponent(shape(200))}`),
      'search of contacts': () => browser.call('GET', `/contacts?search=${encodeURIComponent(shape(1_000))}`),
      note: () => browser.call('POST', `/conversations/${conversation.id}/notes`, { text: shape(5_000) }),
      reply: () => browser.call('POST', `/conversations/${conversation.id}/messages`, { text: shape(4_096) }),
      contact: () => api.call('PATCH', `/contacts/${conversation.contact.id}`, { body: { name: text, company: text } }),
      'opt-out word': () => browser.call('PATCH', '/workspace', { opt_out_words: [shape(80)] }),
      'sign-in': () => createBrowser(url).call('POST', '/session', { email: shape(200), password: shape(200) }),
      'callback with the message': () => provider.callback(callbackOf(text)),
      'callback without sense': () => provider.callback({ object: text, entry: [{ id: text, changes: text }] }),
      visitor: () =>
        fetch(`${site}/visitors`, { method: 'POST', headers: { origin: 'https://shop.test' }, body: text }),
    }
    for (const [what, call] of Object.entries(calls)) await assertLinear(`${what} with ${show(shape)}`, call)
  }
})

/** A customer's message as the channel reports it. */
const callbackOf = (text: string): Json => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      id: text,
      changes: [
        {
          field: 'messages',
          value: {
            messaging_product: 'whatsapp',
            metadata: { phone_number_id: text, display_phone_number: text },
            contacts: [{ wa_id: '14155550100', profile: { name: text } }],
            messages: [{ id: text, from: '14155550100', timestamp: '1', type: 'text', text: { body: text } }],
          },
        },
      ],
    },
  ],
})
