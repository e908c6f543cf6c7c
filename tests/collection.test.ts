/** The Postman collections are current, valid and complete, and their requests run from top to bottom against a real service. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { Ajv2020 } from 'ajv/dist/2020.js'
import {
  collectionFile,
  describeCollection,
  describeStreamCollection,
  streamCollectionFile,
} from '../scripts/collection.ts'
import { scopes } from './internals.ts'
import { startReceiver } from './receiver.ts'
import { pluck, start } from './support.ts'

type Pair = { key: string; value: string; disabled?: boolean }
type Request = {
  method: string
  header: Pair[]
  url: { raw: string; host: string[]; path: string[]; query?: Pair[]; variable?: Pair[] }
  body?: { mode: 'raw'; raw: string }
}
type Script = { listen: 'prerequest' | 'test'; script: { exec: string[] } }
type Item = { name: string; event?: Script[]; request: Request; response: { code: number; body: string }[] }
type Collection<Content> = { item: Content[]; variable: Pair[]; auth: { bearer: Pair[] } }

const collection: Collection<{ name: string; item: Item[] }> = JSON.parse(readFileSync(collectionFile, 'utf8'))
const streams: Collection<Item> = JSON.parse(readFileSync(streamCollectionFile, 'utf8'))
const items = collection.item.flatMap((folder) => folder.item)

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
const script = object({ type: { const: 'text/javascript' }, exec: list(filled) })
const item = object({
  name: filled,
  'event?': list(object({ listen: { enum: ['prerequest', 'test'] }, script })),
  request,
  response: list(response),
})
/** The parts of the schema of Postman v2.1 that the collections use. */
const schemaOf = (content: object) =>
  object({
    info: object({
      name: filled,
      description: filled,
      schema: { const: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json' },
    }),
    item: list(content),
    auth: object({ type: { const: 'bearer' }, bearer: list(object({ key: filled, value: filled, type: filled })) }),
    variable: list(variable),
  })

test('the collections are current', async () => {
  assert.equal(readFileSync(collectionFile, 'utf8'), await describeCollection(), 'run `npm run collection`')
  assert.equal(readFileSync(streamCollectionFile, 'utf8'), await describeStreamCollection(), 'run `npm run collection`')
})

test('the collections have the structure that Postman v2.1 requires', () => {
  const folder = object({ name: filled, description: filled, item: list(item) })
  for (const [content, value] of [
    [folder, collection],
    [item, streams],
  ] as const) {
    const validate = new Ajv2020({ allErrors: true }).compile(schemaOf(content))
    assert.ok(validate(value), JSON.stringify(validate.errors?.slice(0, 5)))
    assert.deepEqual(value.auth.bearer, [{ key: 'token', value: '{{api_key}}', type: 'string' }])
  }
  for (const { request } of [...items, ...streams.item]) {
    const { raw, host, path, query = [], variable = [] } = request.url
    // Programs read either `raw` or the parts.
    const enabled = query.filter(({ disabled }) => !disabled).map(({ key, value }) => `${key}=${value}`)
    assert.equal(raw, [`${host.join('.')}/${path.join('/')}`, ...enabled].join('?'))
    const named = path.flatMap((part) => (part.startsWith(':') ? [part.slice(1)] : []))
    assert.deepEqual(pluck(variable, 'key'), named)
    if (request.body) JSON.parse(request.body.raw)
  }
})

test('the collections have every operation, with examples, and the endless one apart', async (t) => {
  const { contract } = await start(t)
  const toLine = ({ request, name }: Item) => {
    const path = request.url.raw
      .replace('{{base_url}}', '')
      .replace(/\?.*/, '')
      .replace(/:(\w+)/g, '{$1}')
    return `${request.method} ${path}, ${name}`
  }
  const documented = contract.operations.map(({ method, path, operation }) => {
    const { summary } = operation as unknown as { summary: string }
    return `${method} ${path}, ${summary}`
  })
  const apart = streams.item.map(toLine)
  assert.deepEqual(apart, ['GET /events/stream, Follow events'])
  assert.deepEqual([...new Set([...items.map(toLine), ...apart])].sort(), documented.sort())
  for (const { method, path, operation } of contract.operations) {
    const found = [...items, ...streams.item].find((item) => toLine(item).startsWith(`${method} ${path}, `))
    assert.equal(Boolean(found?.request.body), Boolean(operation.requestBody), `${method} ${path}`)
    assert.equal(found?.response.length, path === '/events/stream' ? 0 : 1, `${method} ${path}`)
  }
})

test('the requests run from top to bottom with a URL and a key, also twice', async (t) => {
  const { url, api, connect } = await start(t)
  await connect()
  const receiver = await startReceiver(t)
  const defaults = Object.fromEntries(collection.variable.map(({ key, value }) => [key, value]))
  for (const round of [1, 2]) {
    // A key of its own for each: together they are more requests than one key may make in a minute.
    const own = { base_url: `${url}/v1`, api_key: await api.key(...scopes), webhook_url: receiver.url }
    const variables: Record<string, string> = { ...defaults, ...own }
    const fill = (text: string) =>
      text
        .replaceAll('{{$guid}}', randomUUID())
        .replaceAll('{{$timestamp}}', String(Math.floor(Date.now() / 1000)))
        .replace(/\{\{(\w+)\}\}/g, (_, name: string) => variables[name] || assert.fail(`${name} has no value`))
    const run = (item: Item, listen: Script['listen'], body?: unknown) => {
      const code = item.event?.find((event) => event.listen === listen)?.script.exec.join('\n') ?? ''
      const set = (name: string, value: string) => {
        assert.ok(name in defaults, `${name} is no variable of the collection`)
        variables[name] = value
      }
      runInNewContext(code, { pm: { collectionVariables: { set }, response: { json: () => body } } })
    }
    for (const item of items) {
      run(item, 'prerequest')
      const { method, header, url, body } = item.request
      const address = (url.variable ?? []).reduce((text, { key, value }) => text.replace(`:${key}`, value), url.raw)
      const sent = [
        ...header.filter(({ disabled }) => !disabled),
        { key: 'Authorization', value: `Bearer ${collection.auth.bearer[0]?.value}` },
      ]
      const headers = Object.fromEntries(sent.map(({ key, value }) => [key, fill(value)]))
      const answer = await fetch(fill(address), { method, headers, body: body ? fill(body.raw) : null })
      const text = await answer.text()
      assert.ok(answer.ok, `round ${round}: ${item.name}: ${answer.status} ${text}`)
      run(item, 'test', JSON.parse(text))
    }
  }
})
