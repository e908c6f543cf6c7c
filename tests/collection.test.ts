/** The Postman collection is current, valid, complete, and its requests work against a real service. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { collectionFile, describeCollection } from '../scripts/collection.ts'
import { scopes } from './internals.ts'
import { start } from './support.ts'

type Pair = { key: string; value: string; disabled?: boolean }
type Request = {
  method: string
  header: Pair[]
  url: { raw: string; host: string[]; path: string[]; query?: Pair[]; variable?: Pair[] }
  body?: { mode: 'raw'; raw: string }
}
type Item = { name: string; request: Request; response: { code: number; body: string }[] }
type Collection = { item: { name: string; item: Item[] }[]; variable: Pair[]; auth: { bearer: Pair[] } }

const collection: Collection = JSON.parse(readFileSync(collectionFile, 'utf8'))
const items = collection.item.flatMap((folder) => folder.item.map((item) => ({ folder: folder.name, item })))

/** An object with exactly these keys, of which those that end with `?` are optional. */
const object = (keys: Record<string, object>) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(keys).filter((key) => !key.endsWith('?')),
  properties: Object.fromEntries(Object.entries(keys).map(([key, schema]) => [key.replace('?', ''), schema])),
})
const list = (items: object) => ({ type: 'array', items })
const text = { type: 'string' }
const filled = { type: 'string', minLength: 1 }
const pair = object({ key: filled, value: text, 'description?': text, 'disabled?': { type: 'boolean' } })
const variable = object({ key: filled, value: text, type: { enum: ['string', 'boolean', 'any', 'number'] } })
const request = object({
  method: { enum: ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'] },
  header: list(pair),
  url: object({
    raw: filled,
    host: list(filled),
    path: list(filled),
    'query?': list(pair),
    'variable?': list(object({ key: filled, value: text, description: text })),
  }),
  'body?': object({
    mode: { enum: ['raw', 'urlencoded', 'formdata', 'file', 'graphql'] },
    raw: filled,
    options: object({ raw: object({ language: { const: 'json' } }) }),
  }),
  description: text,
})
const response = object({
  name: filled,
  originalRequest: request,
  status: filled,
  code: { type: 'integer' },
  _postman_previewlanguage: { const: 'json' },
  header: list(pair),
  body: text,
})
/** The parts of the schema of Postman v2.1 that the collection uses. */
const schema = object({
  info: object({
    name: filled,
    description: filled,
    schema: { const: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json' },
  }),
  item: list(
    object({
      name: filled,
      description: filled,
      item: list(object({ name: filled, request, response: list(response) })),
    }),
  ),
  auth: object({ type: { const: 'bearer' }, bearer: list(object({ key: filled, value: filled, type: filled })) }),
  variable: list(variable),
})

test('the collection is current', async () => {
  assert.equal(readFileSync(collectionFile, 'utf8'), await describeCollection(), 'run `npm run collection`')
})

test('the collection has the structure that Postman v2.1 requires', () => {
  const validate = new Ajv2020({ allErrors: true }).compile(schema)
  assert.ok(validate(collection), JSON.stringify(validate.errors?.slice(0, 5)))
  assert.deepEqual(
    collection.variable.map(({ key }) => key),
    ['base_url', 'api_key'],
  )
  assert.deepEqual(collection.auth.bearer, [{ key: 'token', value: '{{api_key}}', type: 'string' }])
  for (const { item } of items) {
    const { raw, host, path, variable = [] } = item.request.url
    // Programs read either `raw` or the parts.
    assert.equal(raw, `${host.join('.')}/${path.join('/')}`)
    const named = path.flatMap((part) => (part.startsWith(':') ? [part.slice(1)] : []))
    assert.deepEqual(
      variable.map(({ key }) => key),
      named,
    )
    if (item.request.body) JSON.parse(item.request.body.raw)
  }
})

test('the collection has every operation once, in the folder of its tag, with examples', async (t) => {
  const { contract } = await start(t)
  const shown = items.map(({ folder, item: { request, name } }) => {
    const path = request.url.raw.replace('{{base_url}}', '').replace(/:(\w+)/g, '{$1}')
    return `${folder}: ${request.method} ${path}, ${name}`
  })
  const documented = contract.operations.map(({ method, path, operation }) => {
    const { tags, summary } = operation as unknown as { tags: string[]; summary: string }
    return `${tags[0]}: ${method} ${path}, ${summary}`
  })
  assert.deepEqual(shown.sort(), documented.sort())
  for (const { method, path, operation } of contract.operations) {
    const found = items.find(({ item: { request } }) => {
      const url = request.url.raw.replace('{{base_url}}', '').replace(/:(\w+)/g, '{$1}')
      return request.method === method && url === path
    })
    assert.equal(Boolean(found?.item.request.body), Boolean(operation.requestBody), `${method} ${path}`)
    assert.equal(found?.item.response.length, path === '/events/stream' ? 0 : 1, `${method} ${path}`)
  }
})

test('the requests of the collection work with a URL and a key', async (t) => {
  const { url, api, connect } = await start(t)
  await connect()
  const variables: Record<string, string> = { base_url: `${url}/v1`, api_key: await api.key(...scopes) }
  const fill = (text: string) =>
    text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => variables[name] ?? assert.fail(name))
  const absent = '01890000-0000-7000-8000-000000000000'
  for (const { item } of items) {
    const { method, header, url, body } = item.request
    // The address of the example must resolve, which needs the network.
    if (item.name === 'Create a webhook') continue
    const address = fill(url.raw)
      .replace(/\/:name/, '/order_confirmed')
      .replace(/\/:\w+/g, `/${absent}`)
    const sent = [
      ...header.filter(({ disabled }) => !disabled),
      { key: 'Authorization', value: fill(`Bearer ${collection.auth.bearer[0]?.value}`) },
    ]
    const headers = Object.fromEntries(sent.map(({ key, value }) => [key, value]))
    const ending = new AbortController()
    const answer = await fetch(address, { method, headers, signal: ending.signal, body: body?.raw ?? null })
    const text = item.response.length > 0 ? await answer.text() : ''
    ending.abort()
    // A path with an id addresses a resource that this workspace does not have.
    const hasId = url.variable?.some(({ key }) => key.endsWith('id')) ?? false
    assert.ok(hasId ? answer.status === 404 : answer.ok, `${item.name}: ${answer.status} ${text}`)
    if (hasId) assert.doesNotMatch(text, /no such path/, item.name)
  }
})
