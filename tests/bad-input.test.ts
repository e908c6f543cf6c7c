/**
 * Nothing a caller sends can break the service: every field of every call of
 * the API, one thing wrong at a time.
 *
 * The calls are read off the API's own document, so a new one is tried as soon
 * as it is there; all it may need is a valid request to start from, below.
 * Whatever is sent, the answer is one the document lists, never a 500, and a
 * refusal leaves every row of the workspace as it was.
 */
import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { scopes } from '../server/accounts/keys.ts'
import type { Db } from '../server/lib/db.ts'
import { encodeCursor } from '../server/lib/page.ts'
import type { Contract, Operation } from './contract.ts'
import { type Answer, type Api, assertRefused, type Json, start, type World } from './support.ts'

type Schema = {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: string[]
  format?: string
  maxLength?: number
}

/** What is put on the wire, to the byte. */
type Wired = { path: string; body?: string | Buffer | undefined; headers?: Record<string, string> }

/** One call of the API in a workspace of its own, so that many are tried side by side and each sees only its own rows. */
type Lane = {
  name: string
  method: string
  operation: Operation
  body: Schema | undefined
  api: Api
  /** A request that would succeed. */
  valid(): Promise<{ path: string; id: string; body: Json }>
  /** Send it; holds the answer against the document, and the rows against what they were. */
  send(wired: Wired): Promise<Answer>
}

let numbers = 0
const nextPhone = () => `+1415${String(5_550_000 + numbers++).padStart(7, '0')}`
const nextName = () => `Name ${numbers++}`
const filter = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'vip' }] }

const make = {
  contacts: async (api: Api) => (await api.post('/contacts', { phone: nextPhone(), tags: ['vip'] })).body.data,
  segments: async (api: Api) => (await api.post('/segments', { name: nextName() })).body.data,
  dynamicSegment: async (api: Api) =>
    (await api.post('/segments', { name: nextName(), kind: 'dynamic', filter })).body.data,
}

/** Valid requests where the schema alone cannot tell: the resource the path is about, and the body. */
const requests: Record<string, (api: Api) => Promise<{ id?: string; body?: Json }>> = {
  createContact: async () => ({
    body: { phone: nextPhone(), name: 'Ann', email: 'ann@example.com', company: 'Acme', tags: ['vip'] },
  }),
  updateContact: async (api) => {
    const { id, phone } = await make.contacts(api)
    return { id, body: { phone, name: 'Ann', email: 'ann@example.com', company: 'Acme', tags: ['vip'] } }
  },
  createSegment: async () => ({ body: { name: nextName(), description: 'All of them', kind: 'dynamic', filter } }),
  updateSegment: async (api) => ({
    id: (await make.dynamicSegment(api)).id,
    body: { name: nextName(), description: 'All of them', filter },
  }),
  addSegmentContacts: async (api) => ({
    id: (await make.segments(api)).id,
    body: { contact_ids: [(await make.contacts(api)).id] },
  }),
  removeSegmentContacts: async (api) => ({
    id: (await make.segments(api)).id,
    body: { contact_ids: [(await make.contacts(api)).id] },
  }),
}

/** Try something on every call the document has that meets a condition, all of them side by side. */
async function onEveryCall(t: TestContext, which: (lane: Lane) => boolean, attempt: (lane: Lane) => Promise<void>) {
  const world = await start(t)
  // A workspace nobody calls: nothing here may touch it.
  await make.segments(world.api)
  await make.contacts(world.api)
  const read = await checksums(world.db)
  const before = await read(world.api.workspaceId)

  const lanes = await Promise.all(world.contract.operations.map((one) => createLane(world, one, read)))
  const chosen = lanes.filter(which)
  assert.ok(chosen.length > 0)
  await Promise.all(chosen.map(attempt))

  assert.equal(await read(world.api.workspaceId), before, 'the rows of another workspace')
}

async function createLane(
  { url, workspace, contract }: World,
  { method, path, operation }: Contract['operations'][number],
  read: (workspaceId: string) => Promise<string>,
): Promise<Lane> {
  const { api } = await workspace()
  const name = `${method} ${path}`
  const body = operation.requestBody && follow(contract, operation.requestBody.content['application/json'].schema)
  let known: string | undefined
  let key = await api.key(...scopes)
  let calls = 0
  const valid: Lane['valid'] = async () => {
    known = undefined
    const root = path.split('/')[1] as keyof typeof make
    const given = (await requests[operation.operationId]?.(api)) ?? {}
    const id = given.id ?? (path.includes('{id}') ? (await make[root](api)).id : '')
    return { path: path.replace('{id}', id), id, body: given.body ?? (body && sample(body)) }
  }
  const send: Lane['send'] = async ({ path, body, headers }) => {
    if (++calls % 110 === 0) key = await api.key(...scopes)
    known ??= await read(api.workspaceId)
    const answer = await wire(url, method, `/v1${path}`, { authorization: `Bearer ${key}`, ...headers }, body)
    const about = `${name}, sent ${path.slice(0, 200)} ${String(body).slice(0, 200)} ${JSON.stringify(headers ?? {}).slice(0, 200)}`
    assert.notEqual(answer.status, 500, about)
    contract.hold(method, path, answer)
    if (answer.status < 400 && method !== 'GET') known = undefined
    else assert.equal(await read(api.workspaceId), known, `${answer.status}, but rows changed: ${about}`)
    return answer
  }
  const lane = { name, method, operation, body, api, valid, send }
  const { path: validPath, body: validBody } = await valid()
  const answer = await send(withJson(validPath, validBody))
  assert.ok(answer.status < 300, `a valid request for ${operation.operationId} is missing here: ${name} ${answer.text}`)
  return lane
}

const withJson = (path: string, body?: unknown): Wired => ({
  path,
  ...(body === undefined
    ? {}
    : { body: typeof body === 'string' ? body : toText(body), headers: { 'content-type': 'application/json' } }),
})

/** A schema of the document with every reference in it followed. */
function follow(contract: Contract, schema: Record<string, unknown>): Schema {
  const walk = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(walk)
    if (typeof part !== 'object' || part === null) return part
    const { $ref: _, ...resolved } = contract.resolve(part as Record<string, unknown>)
    return Object.fromEntries(Object.entries(resolved).map(([key, inner]) => [key, walk(inner)]))
  }
  return walk(schema) as Schema
}

function sample(schema: Schema): Json {
  const [type] = [schema.type].flat()
  if (schema.enum) return schema.enum[0]
  if (type === 'object')
    return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, part]) => [name, sample(part)]))
  if (type === 'array') return [sample(schema.items ?? {})]
  if (type === 'integer' || type === 'number') return 1
  return type === 'boolean' ? true : 'text'
}

/** One sum over every row of a workspace, in every table there is, but for those that count the requests themselves. */
async function checksums(db: Db): Promise<(workspaceId: string) => Promise<string>> {
  const tables = await db<{ name: string }[]>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'workspace_id' and table_name not in ('api_keys', 'api_key_windows')
    order by table_name`
  for (const name of ['contacts', 'contact_identities', 'tags', 'contact_tags', 'segments', 'segment_members']) {
    assert.ok(
      tables.some((table) => table.name === name),
      name,
    )
  }
  const rows = tables.map(({ name }) => `select '${name} ' || t::text as row from ${name} t where workspace_id = $1`)
  const statement = `select md5(coalesce(string_agg(row, e'\\n' order by row), '')) as sum from (${rows.join(' union all ')}) as everything`
  return async (workspaceId) =>
    (await db.unsafe<{ sum: string }[]>(statement, [workspaceId], { prepare: true }))[0]?.sum ?? ''
}

const agent = new Agent({ keepAlive: true })

/** Bytes as they are: no client between us and the server tidies them up. */
function wire(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<Answer> {
  const bytes = body === undefined ? undefined : Buffer.from(body)
  // The server may hang up on a body that is too large, so nobody else should be on that line.
  const line = bytes && bytes.length > 1_000_000 ? false : agent
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const length = bytes ? { 'content-length': String(bytes.length) } : {}
    const request = httpRequest(
      { hostname, port, method, path, headers: { ...length, ...headers }, agent: line },
      async (response) => {
        const text = Buffer.concat(await response.toArray()).toString()
        const given = new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)]))
        const parsed = parsedOrUndefined(text)
        if (parsed === undefined)
          reject(new Error(`${method} ${path.slice(0, 200)} ${response.statusCode} is no JSON: ${text}`))
        resolve({ status: response.statusCode ?? 0, headers: given, text, body: parsed })
      },
    )
    request.on('error', reject)
    request.end(bytes)
  })
}

function parsedOrUndefined(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** JSON that `JSON.stringify` does not write. */
class Raw {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** `JSON.stringify`, with raw parts as they are. */
function toText(value: unknown): string {
  const raws: string[] = []
  const text = JSON.stringify(value, (_, part) => (part instanceof Raw ? `<raw ${raws.push(part.text) - 1}>` : part))
  return text.replace(/"<raw (\d+)>"/g, (_, i) => raws[i] ?? '')
}

type Field = { steps: (string | number)[]; path: string; schema: Schema; required: boolean }

/** Every field of a body, those inside others and the first item of each array included. */
function fieldsOf(schema: Schema, value: Json, steps: Field['steps'] = []): Field[] {
  const inner: [string | number, Schema, boolean][] = schema.items
    ? [[0, schema.items, false]]
    : Object.entries(schema.properties ?? {}).map(([name, part]) => [
        name,
        part,
        schema.required?.includes(name) ?? false,
      ])
  return inner.flatMap(([step, part, required]) => {
    const own = [...steps, step]
    const path = own.reduce<string>(
      (path, step) => (typeof step === 'number' ? `${path}[${step}]` : path ? `${path}.${step}` : step),
      '',
    )
    const below = value?.[step] === undefined ? [] : fieldsOf(part, value[step], own)
    return [{ steps: own, path, schema: part, required }, ...below]
  })
}

const absent = Symbol('absent')

/** A copy of a body with one field replaced, or left out. */
function replaced(body: Json, [step = '', ...rest]: Field['steps'], value: unknown): Json {
  const copy = Array.isArray(body) ? [...body] : { ...body }
  if (rest.length > 0) copy[step] = replaced(copy[step], rest, value)
  else if (value !== absent) copy[step] = value
  else if (Array.isArray(copy)) copy.splice(Number(step), 1)
  else delete copy[step]
  return copy
}

const unstorable = ['\u0000', 'a\u0000b', '\ud800', 'x\udc00y', '\udc00\ud800']
const odd = [
  ...[
    '🙂',
    '👨‍👩‍👧‍👦',
    'שלום',
    '\u202eright to left',
    'e\u0301\u0323\u0345',
    'Z͑ͫA̴L̵G̷O',
    '\ufeffx',
    '\uffff',
    '\u2028',
    '\u0001\u001b[31m',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'null',
    'undefined',
    'NaN',
    '[object Object]',
    '$1',
    '{}',
    '[]',
  ],
  ...[
    "' or 1=1 --",
    '"; drop table contacts; --',
    '%',
    '_',
    '\\',
    "\\'",
    '${x}',
    '{{x}}',
    '<script>',
    '../../etc/passwd',
    '%00',
    '\\u0000',
  ],
  ...['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-14:00', '999999d', '-1', '1e999', '0x7f', 'true', 'İ', 'ß', 'ﬁ'],
]
const long = ['x'.repeat(10_000), '🙂'.repeat(75_000), '\u0301'.repeat(100_000)]
const notText = [
  5,
  -1,
  0,
  1.5,
  1e308,
  new Raw('1e999'),
  new Raw('-0'),
  new Raw('123456789012345678901234567890'),
  true,
  false,
]
const containers = [{}, [], [[]], { length: 1 }, ['x'], { toString: 1 }, new Raw('{"__proto__":{"type":"string"}}')]
const deep = [
  new Raw(`${'['.repeat(100)}${']'.repeat(100)}`),
  new Raw(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`),
]

function typeOf(value: unknown): string {
  if (value instanceof Raw) return /^[[{]/.test(value.text) ? (value.text[0] === '[' ? 'array' : 'object') : 'number'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function takes({ type }: Schema, value: unknown): boolean {
  const types = [type ?? []].flat().map((name) => (name === 'integer' ? 'number' : name))
  return types.length === 0 || types.includes(typeOf(value))
}

/** A 400 whose message starts with the field it is about. */
function assertNames(answer: Answer, path: string, about: string): void {
  assert.equal(answer.status, 400, `${about}: ${answer.text}`)
  assert.match(answer.body.error.message, /^[\w.[\]-]+: \S/, about)
  assert.ok(answer.body.error.message.startsWith(path), `${about} says: ${answer.body.error.message}`)
}

const hasBody = ({ body }: Lane) => body !== undefined

test('a field of the wrong type is refused by its name; null passes only where the document says so', async (t) => {
  await onEveryCall(t, hasBody, async ({ name, body, valid, send }) => {
    const { path, body: start } = await valid()
    for (const field of fieldsOf(body ?? {}, start)) {
      for (const value of [null, '', 'x', ...notText, ...containers]) {
        if (takes(field.schema, value)) continue
        const answer = await send(withJson(path, replaced(start, field.steps, value)))
        assertNames(answer, field.path, `${name} ${field.path} = ${toText(value)}`)
      }
    }
  })
})

test('a required field that is missing is named; any other may be', async (t) => {
  await onEveryCall(t, hasBody, async ({ name, body, valid, send }) => {
    const { body: start } = await valid()
    for (const field of fieldsOf(body ?? {}, start)) {
      const { path, body: own } = await valid()
      const answer = await send(withJson(path, replaced(own, field.steps, absent)))
      if (field.required) assertNames(answer, field.path, `${name} without ${field.path}`)
      else if (answer.status === 400)
        assertNames(answer, field.path.split(/[.[]/)[0] ?? '', `${name} without ${field.path}`)
      else assert.ok(answer.status < 300, answer.text)
    }
  })
})

test('text that cannot be kept or is too long is refused by the name of its field', async (t) => {
  await onEveryCall(t, hasBody, async ({ name, body, valid, send }) => {
    const { path, body: start } = await valid()
    for (const field of fieldsOf(body ?? {}, start)) {
      if (!takes(field.schema, 'text')) continue
      for (const value of [...unstorable, ...long]) {
        const answer = await send(withJson(path, replaced(start, field.steps, value)))
        assertNames(answer, field.path, `${name} ${field.path} = ${JSON.stringify(value).slice(0, 30)}`)
      }
    }
  })
})

test('odd text is kept to the letter or refused by the name of its field', async (t) => {
  await onEveryCall(t, hasBody, async ({ name, body, valid, send }) => {
    const { body: start } = await valid()
    for (const field of fieldsOf(body ?? {}, start)) {
      if (!takes(field.schema, 'text')) continue
      for (const value of ['', ' ', ...odd]) {
        const { path, body: own } = await valid()
        const answer = await send(withJson(path, replaced(own, field.steps, value)))
        const about = `${name} ${field.path} = ${JSON.stringify(value)}`
        if (answer.status === 400) assertNames(answer, field.path, about)
        else {
          assert.ok(answer.status < 300, answer.text)
          assertKept(answer.body.data, field, value, about)
        }
      }
    }
  })
})

/** Where the answer shows the field, it shows what was sent; an empty text may be null. */
function assertKept(data: Json, { steps }: Field, value: string, about: string): void {
  if (steps[0] === 'tags') {
    const names = data.tags.map((tag: { name: string }) => tag.name)
    assert.deepEqual(names, [value], about)
    return
  }
  const shown = steps.reduce((part, step) => part?.[step], data)
  if (shown === undefined) return
  assert.equal(shown ?? '', value, about)
}

test('ten thousand items and a hundred thousand levels are refused', async (t) => {
  await onEveryCall(t, hasBody, async ({ name, body, valid, send }) => {
    const { path, body: start } = await valid()
    for (const field of fieldsOf(body ?? {}, start)) {
      for (const value of deep) {
        const answer = await send(withJson(path, replaced(start, field.steps, value)))
        assertNames(answer, 'body: nested', `${name} ${field.path}`)
      }
      if (!field.schema.items) continue
      const item =
        fieldsOf(field.schema, [sample(field.schema.items)])[0]?.schema.format === 'uuid'
          ? crypto.randomUUID()
          : undefined
      const items = Array.from(
        { length: 10_000 },
        (_, i) => item ?? (takes(field.schema.items ?? {}, 'x') ? `x${i}` : sample(field.schema.items ?? {})),
      )
      const answer = await send(withJson(path, replaced(start, field.steps, items)))
      assertNames(answer, field.path, `${name} 10,000 ${field.path}`)
    }
  })
})

test('of a field sent twice the last one counts, and a field nobody knows counts for nothing', async (t) => {
  await onEveryCall(t, hasBody, async ({ name, body, valid, send }) => {
    const { body: start } = await valid()
    for (const field of Object.keys(start)) {
      if (takes(body?.properties?.[field] ?? {}, 5)) continue
      const { path, body: own } = await valid()
      const text = toText(own)
      const answer = await send(withJson(path, `${text.slice(0, -1)},${JSON.stringify(field)}:5}`))
      assertNames(answer, field, `${name} with ${field} twice`)
      const last = await send(withJson(path, `{${JSON.stringify(field)}:5,${text.slice(1)}`))
      assert.ok(last.status < 300, last.text)
    }
    const strangers = [
      ...['"unknown":5', '"unknown":null', '"unknown":"\\u0000"', '"unknown":"\\ud800"', '"\\u0000":"x"', '"":""'],
      ...[
        '"__proto__":{"name":5}',
        '"constructor":{"prototype":{"x":1}}',
        '"toString":"x"',
        '"id":"x"',
        '"workspace_id":"x"',
      ],
      `"unknown":${'['.repeat(20)}${']'.repeat(20)}`,
      `"unknown":"${'x'.repeat(300_000)}"`,
    ]
    for (const stranger of strangers) {
      const { path, body: own } = await valid()
      const answer = await send(withJson(path, `{${stranger},${toText(own).slice(1)}`))
      assert.ok(answer.status < 300, `${name} with ${stranger.slice(0, 60)}: ${answer.text}`)
    }
  })
})

const mebibyte = 1024 * 1024

test('a body that is no JSON object of at most 1 MiB is refused', async (t) => {
  const json = { 'content-type': 'application/json' }
  await onEveryCall(t, hasBody, async ({ name, valid, send }) => {
    const { path, body } = await valid()
    const text = toText(body)
    const bodies: [string | Buffer | undefined, string][] = [
      ...['null', '[]', '[{}]', '"x"', '5', 'true', 'false', '1e999'].map((text): [string, string] => [
        text,
        'body: must be',
      ]),
      ...[
        '{',
        '{"a"',
        '{"a":1,}',
        "{'a':1}",
        'x',
        'undefined',
        'NaN',
        ' ',
        '\n',
        '{}{}',
        '\u0000',
        '//',
        '{"a":"\n"}',
      ].map((text): [string, string] => [text, 'body: not valid JSON']),
      ['', 'body: must be'],
      [undefined, 'body: must be'],
      [`\ufeff${text}`, 'body: not valid JSON'],
      [Buffer.from(text, 'utf16le'), 'body: not'],
      [
        Buffer.concat([
          Buffer.from(text.slice(0, -1)),
          Buffer.from(',"x":"'),
          Buffer.from([0xff, 0xc0, 0x80]),
          Buffer.from('"}'),
        ]),
        'body: not UTF-8',
      ],
      [text.padEnd(mebibyte + 1), 'body: over 1 MiB'],
      ['['.repeat(mebibyte), 'body: nested'],
      [Buffer.alloc(3 * mebibyte, '['), 'body: over 1 MiB'],
    ]
    for (const [body, message] of bodies) {
      const answer = await send({ path, body, headers: json })
      assertNames(answer, message, `${name} ${String(body).slice(0, 40)}`)
    }
    const gzipped = await send({ path, body: gzipSync(text), headers: { ...json, 'content-encoding': 'gzip' } })
    assertNames(gzipped, 'body: not UTF-8', `${name} gzip`)

    const types = [
      undefined,
      '',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonp',
    ]
    for (const type of [
      ...types,
      'text/json',
      'application',
      '*/*',
      'application/xml',
      ';',
      'x'.repeat(2_000),
      '\xff',
    ]) {
      const answer = await send({ path, body: text, headers: type === undefined ? {} : { 'content-type': type } })
      assertNames(answer, 'content-type: must be application/json', `${name} as ${type}`)
    }

    const largest = await valid()
    const full = await send({ path: largest.path, body: toText(largest.body).padEnd(mebibyte), headers: json })
    assert.ok(full.status < 300, `${name} with 1 MiB: ${full.text}`)
    const mixed = await valid()
    const charset = { 'content-type': 'Application/JSON ; Charset="UTF-8"' }
    const accepted = await send({ path: mixed.path, body: toText(mixed.body), headers: charset })
    assert.ok(accepted.status < 300, `${name} with a charset: ${accepted.text}`)
  })
})

test('a body nobody asked for does no harm', async (t) => {
  await onEveryCall(
    t,
    ({ body }) => body === undefined,
    async ({ name, method, valid, send }) => {
      for (const body of ['{}', 'null', '{broken', '\u0000', Buffer.from([0xff]), Buffer.alloc(2 * mebibyte, 'x')]) {
        for (const headers of [{ 'content-type': 'application/json' }, { 'content-type': 'text/plain' }, {}] as Record<
          string,
          string
        >[]) {
          const { path } = await valid()
          const answer = await send({ path, body, headers })
          if (method === 'GET') assert.equal(answer.status, 200, name)
          else assert.ok(answer.status === 200 || answer.status === 400, `${name}: ${answer.text}`)
        }
      }
    },
  )
})

test('a query that cannot be used is refused by its name; an unusable page size or cursor never is', async (t) => {
  const queries = ({ operation }: Lane) => (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const values = [
    ...[
      '',
      '%20',
      '%00',
      'a%00b',
      '%',
      '%zz',
      '%E0%A4%A',
      '%ff',
      '%C0%80',
      '%ED%A0%80',
      '%u0000',
      '+',
      '%2B',
      '%25',
      '_',
      '%5C',
      '%27',
    ],
    ...[
      'x'.repeat(8_000),
      '%F0%9F%99%82',
      '%D7%A9',
      '-1',
      '0',
      '1.5',
      '1e9',
      'NaN',
      'null',
      '__proto__',
      'constructor',
      '%27%20or%201=1--',
    ],
    ...[
      encodeCursor('ffffffff-ffff-ffff-ffff-ffffffffffff'),
      'AAAAAAAAAAAAAAAAAAAAAA',
      '9'.repeat(400),
      crypto.randomUUID(),
      '%EF%BF%BF',
      '%0A',
    ],
  ]
  await onEveryCall(
    t,
    (lane) => queries(lane).length > 0,
    async (lane) => {
      const { name, valid, send } = lane
      const { path } = await valid()
      for (const { name: query, schema } of queries(lane)) {
        const { type, enum: allowed, maxLength = Number.POSITIVE_INFINITY } = schema as Schema
        for (const value of values) {
          const answer = await send({ path: `${path}?${query}=${value}` })
          const refused = (allowed && !allowed.includes(value)) || value.includes('%00') || value.length > maxLength
          const about = `${name} ?${query}=${value.slice(0, 40)}`
          if (type && refused) assertNames(answer, query, about)
          else assert.equal(answer.status, 200, `${about}: ${answer.text}`)
        }
        const [usable = 'x'] = allowed ?? []
        for (const repeated of [
          `${query}=${usable}&${query}=${usable}`,
          `${query}=${usable}${`&${query}=x`.repeat(500)}`,
        ]) {
          const answer = await send({ path: `${path}?${repeated}` })
          if (type) assertNames(answer, query, `${name} ?${repeated.slice(0, 60)}`)
          else assert.equal(answer.status, 200, answer.text)
        }
        for (const unknown of [
          `${query}[]=x`,
          `${query}[a]=x`,
          `${query}.a=x`,
          `${query.toUpperCase()}=x`,
          `%00${query}=%00`,
        ]) {
          const answer = await send({ path: `${path}?${unknown}` })
          assert.equal(answer.status, 200, `${name} ?${unknown}: ${answer.text}`)
        }
      }
      for (const query of [
        '?',
        '??',
        '&&&',
        '=',
        '__proto__=x',
        '__proto__[a]=x',
        'constructor=x&toString=y',
        'x=%00&y=%zz',
        `x=${'y'.repeat(8_000)}`,
      ]) {
        const answer = await send({ path: `${path}?${query}` })
        assert.equal(answer.status, 200, `${name} ?${query.slice(0, 40)}: ${answer.text}`)
      }
    },
  )
})

test('an id in a path that names nothing is not found, in capitals it is the same id', async (t) => {
  await onEveryCall(
    t,
    ({ operation }) => (operation.parameters ?? []).some((parameter) => parameter.in === 'path'),
    async (lane) => {
      const { name, api, valid, send } = lane
      const { path, id, body } = await valid()
      const nobody = [
        ...[
          'nonsense',
          '0',
          '-1',
          'null',
          'undefined',
          '__proto__',
          'constructor',
          '.',
          '..',
          '%2e%2e',
          '%2E',
          '%2F',
          '..%2f..',
          '%5c',
        ],
        ...[
          '%00',
          `${id}%00`,
          `%00${id}`,
          `${id}%20`,
          `%20${id}`,
          `${id}%0a`,
          `${id};x`,
          `${id}:`,
          `${id},${id}`,
          `${id}.json`,
          '%',
          '%zz',
        ],
        ...[
          '%ff',
          '%E0%A4%A',
          '%C0%80',
          '%F0%9F%99%82',
          '*',
          '{id}',
          ':id',
          '%27%20or%201=1--',
          `urn:uuid:${id}`,
          `{${id}}`,
          `%7B${id}%7D`,
        ],
        ...[
          id.replaceAll('-', ''),
          id.slice(0, -1),
          `${id}0`,
          id.replace(/^./, 'g'),
          'a'.repeat(501),
          'a'.repeat(5_000),
          '%41'.repeat(3_000),
        ],
        ...[
          '00000000-0000-0000-0000-000000000000',
          'ffffffff-ffff-ffff-ffff-ffffffffffff',
          crypto.randomUUID(),
          api.workspaceId,
          '',
        ],
      ]
      for (const other of nobody) {
        const answer = await send(withJson(path.replace(id, other), body))
        assert.equal(answer.status, 404, `${name} ${other.slice(0, 60)}: ${answer.text}`)
        assert.equal(answer.body.error.code, 'not_found')
      }
      for (const other of [`${path}/`, `${path}/x`, `/${path}`, `${path}//`, `${path}%2f`]) {
        assert.equal((await send(withJson(other, body))).status, 404, other)
      }
      const capitals = await send(withJson(path.replace(id, id.toUpperCase()), body))
      assert.ok(capitals.status < 300, `${name}: ${capitals.text}`)
      assert.ok(!capitals.text.includes(id.toUpperCase()), 'ids are shown in one spelling')
    },
  )
})

test('a path that is not there is 404 whatever is sent to it', async (t) => {
  const { url, api, contract } = await start(t)
  const authorization = `Bearer ${await api.key(...scopes)}`
  const long = Array.from({ length: 500 }, () => crypto.randomUUID())
    .join('')
    .slice(0, 12_000)
  const paths = ['', '/', '/nowhere', '/contacts/x/y', '/%zz', '/Contacts', '/contacts/', `/${long}`]
  for (const path of paths) {
    for (const [method, body] of [
      ['GET'],
      ['POST', '{}'],
      ['POST', '{broken'],
      ['PUT', '\u0000'],
      ['DELETE', 'x'],
      ['PROPFIND'],
      ['OPTIONS'],
      ['TRACE'],
    ] as const) {
      const headers = { authorization, 'idempotency-key': 'k', ...(body ? { 'content-type': 'application/json' } : {}) }
      const answer = await wire(url, method, `/v1${path}`, headers, body)
      assertRefused(answer, 404, 'not_found')
      contract.hold(method, path.split('?')[0] ?? '', answer)
    }
  }
  for (const { method, path } of contract.operations) {
    for (const other of ['PUT', 'OPTIONS', ...(method === 'POST' ? [] : ['POST'])]) {
      if (contract.operations.some((known) => known.path === path && known.method === other)) continue
      const headers = { authorization: `Bearer ${await api.key(...scopes)}`, 'content-type': 'text/plain' }
      assertRefused(
        await wire(url, other, `/v1${path.replace('{id}', api.workspaceId)}`, headers, 'x'),
        404,
        'not_found',
      )
    }
  }
})

test('an odd header does no harm, and what is wrong with one of ours is said', async (t) => {
  await onEveryCall(
    t,
    () => true,
    async ({ name, method, valid, send }) => {
      const attempt = async (headers: Record<string, string>) => {
        const { path, body } = await valid()
        const json = withJson(path, body)
        return send({ ...json, headers: { ...json.headers, ...headers } })
      }
      for (const id of ['a', 'req-1.2:3+4/5=6@7_8', 'x'.repeat(128)]) {
        assert.equal((await attempt({ 'x-request-id': id })).headers.get('x-request-id'), id)
      }
      for (const id of [
        '',
        ' ',
        'two words',
        'x'.repeat(129),
        '"quoted"',
        '{"json":1}',
        '\xe9',
        '%0a',
        '<b>',
        "'",
        '\t',
      ]) {
        const given = (await attempt({ 'x-request-id': id })).headers.get('x-request-id') ?? ''
        assert.match(given, /^[0-9a-f-]{36}$/, JSON.stringify(id))
      }
      for (const key of ['', 'x'.repeat(256), '\xff'.repeat(256)]) {
        const answer = await attempt({ 'idempotency-key': key })
        if (method === 'POST') assertNames(answer, 'Idempotency-Key', `${name} ${key.length}`)
        else assert.ok(answer.status < 300, answer.text)
      }
      for (const key of ['x', 'x'.repeat(255), '\xff'.repeat(255), "' or 1=1 --", '%00', '\\', '{}']) {
        const answer = await attempt({ 'idempotency-key': key })
        assert.ok(answer.status < 300, `${name} ${key}: ${answer.text}`)
      }
      const harmless: Record<string, string>[] = [
        ...[
          { accept: 'text/html' },
          { accept: '' },
          { 'accept-encoding': 'gzip' },
          { range: 'bytes=0-1' },
          { 'if-none-match': '*' },
        ],
        ...[
          { expect: 'nonsense' },
          { cookie: 'parley_session=x; =; ;' },
          { origin: 'https://evil.test' },
          { host: 'évil', connection: 'close' },
        ],
        ...[
          { 'x-http-method-override': 'DELETE' },
          { 'x-forwarded-for': "' or 1=1 --" },
          { 'content-language': '\xff' },
          { __proto__x: 'y' },
        ],
      ]
      for (const headers of harmless)
        assert.ok((await attempt(headers)).status < 300, `${name} ${JSON.stringify(headers)}`)
    },
  )
})

test('whatever stands where a key should, the answer is the same 401', async (t) => {
  const { url, api, contract } = await start(t)
  const key = await api.key(...scopes)
  const odd = [
    ...[
      '',
      ' ',
      'Bearer',
      'Bearer ',
      'Bearer  ',
      `Basic ${key}`,
      key,
      `Bearer${key}`,
      `Bearer ${key} x`,
      `Bearer ${key},`,
      `Bearer "${key}"`,
    ],
    ...[
      `Bearer ${key}\xff`,
      'Bearer \xff\xfe',
      `Bearer ${'x'.repeat(10_000)}`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key.toUpperCase()}`,
    ],
    ...[
      `Bearer ${key}%00`,
      "Bearer ' or 1=1 --",
      'Bearer null',
      'Bearer undefined',
      'Bearer svc_live_',
      'Bearer legacy_live_',
      `Token ${key}`,
    ],
  ]
  const [first] = contract.operations
  assert.ok(first)
  const expected = await wire(url, 'GET', '/v1/me', {})
  assertRefused(expected, 401, 'unauthorized')
  for (const authorization of odd) {
    for (const { method, path } of contract.operations) {
      const answer = await wire(url, method, `/v1${path.replace('{id}', api.workspaceId)}`, { authorization })
      assert.deepEqual([answer.status, answer.text], [401, expected.text], authorization.slice(0, 80))
    }
  }
})

test('what is no HTTP, or too large a header, gets the one error shape too', async (t) => {
  const { url, api } = await start(t)
  const key = await api.key(...scopes)
  const large = await wire(url, 'GET', '/v1/me', { authorization: `Bearer ${key}`, 'x-large': 'x'.repeat(20_000) })
  assertRefused(large, 400, 'bad_request', 'request: headers too large')
  assert.ok(large.headers.get('x-request-id'))
  assertRefused(await wire(url, 'GET', `/v1/me?x=${'y'.repeat(20_000)}`, {}), 400, 'bad_request', /^request: /)

  const post = `POST /v1/contacts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nConnection: close\r\n`
  for (const text of [
    'nonsense\r\n\r\n',
    'GET /v1/me\r\n\r\n',
    'GET /v1/me HTTP/9.9\r\nHost: x\r\n\r\n',
    'GET /v1/me\u0000 HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /v1/me HTTP/1.1\r\nHost: x\r\nX-Nul: a\u0000b\r\n\r\n',
    'GET /v1/é HTTP/1.1\r\nHost: x\r\n\r\n',
    `${post}Content-Length: -5\r\n\r\n{}`,
    `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
    `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    `${post}Transfer-Encoding: nonsense\r\n\r\n{}`,
  ]) {
    const [head = '', body = ''] = (await exchange(url, text)).split('\r\n\r\n')
    assert.match(
      head,
      /^HTTP\/1\.1 400 .*\r\ncontent-type: application\/json; charset=utf-8\r\nx-request-id: [0-9a-f-]{36}/i,
      text,
    )
    assert.equal(JSON.parse(body).error.code, 'bad_request', text)
  }
  // Without a host, and without a key.
  const anonymous = await exchange(url, 'GET /v1/me HTTP/1.1\r\nConnection: close\r\n\r\n')
  assert.match(anonymous, /^HTTP\/1\.1 401 [^]*"code":"unauthorized"/)
  const chunked = await exchange(
    url,
    `${post}Transfer-Encoding: chunked\r\n\r\n${'100000\r\n'}${'x'.repeat(0x100000)}\r\n10\r\n`,
  )
  assert.match(chunked, /^HTTP\/1\.1 400 [^]*body: over 1 MiB/)
})

/** Everything the server says until it hangs up. */
function exchange(url: string, text: string): Promise<string> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => socket.write(text))
    let said = ''
    socket.on('data', (bytes) => {
      said += bytes
    })
    socket.on('close', () => resolve(said))
    socket.on('error', () => {})
  })
}

test('random JSON, alone or in the place of any field, never breaks a call', async (t) => {
  const seed = 20_260_131
  const texts = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.constantFrom(...odd, ...unstorable))
  const value = fc.oneof(texts, fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), fc.array(texts, { maxLength: 5 }))
  await onEveryCall(t, hasBody, async ({ body, valid, send }) => {
    const { path, body: start } = await valid()
    const fields = fieldsOf(body ?? {}, start)
    const changes = fc.uniqueArray(fc.tuple(fc.constantFrom(...fields), value), {
      maxLength: 3,
      selector: ([{ path }]) => path,
    })
    const bodies = fc.oneof(
      { weight: 1, arbitrary: value },
      { weight: 1, arbitrary: fc.dictionary(fc.constantFrom(...Object.keys(start), '__proto__', 'x'), value) },
      // The innermost first, so that each still finds its place.
      {
        weight: 4,
        arbitrary: changes.map((all) =>
          all
            .sort(([a], [b]) => b.steps.length - a.steps.length)
            .reduce((body, [{ steps }, value]) => replaced(body, steps, value), start),
        ),
      },
    )
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const answer = await send({ path, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
        if (answer.status === 400) assert.match(answer.body.error.message, /^[\w.[\]-]+: \S/)
        else assert.ok(answer.status < 300, answer.text)
      }),
      { seed, numRuns: 100 },
    )
  })
})
