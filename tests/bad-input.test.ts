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
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { type Answer, assertBadRequest, assertRefused } from './assertions.ts'
import type { Contract, Operation } from './contract.ts'
import {
  codePoint,
  createWorkspace,
  type Db,
  encodeCursor,
  filterFields,
  isUuid,
  parsePhone,
  scopes,
  statusOf,
} from './internals.ts'
import type { Provider } from './provider.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createChangeLog } from './rows.ts'
import { type Api, file, type Json, signIn, start, until, type World } from './support.ts'

type Schema = {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  const?: string
  enum?: string[]
  format?: string
  minLength?: number
  maxLength?: number
}

/** What is put on the wire, to the byte. */
type Wired = { path: string; body?: string | Buffer | undefined; headers?: Record<string, string> }

/** One call of the API in a workspace of its own, so that many are tried side by side and each sees only its own rows. */
type Lane = {
  name: string
  method: string
  operation: Operation
  body: Schema
  api: Api
  /** A request that would succeed. */
  valid(): Promise<{ path: string; id: string; body: Json }>
  /** Send it; holds the answer against the document, and the rows against what they were. */
  send(wired: Wired): Promise<Answer>
  /** Sends requests that must not change a row, several at a time. The rows are compared once, because each read costs as much as a request. */
  sendAll(all: readonly Wired[]): Promise<Answer[]>
}

let numbers = 0
const nextPhone = () => `+1415${String(5_550_000 + numbers++).padStart(7, '0')}`
const oddPhone = '+14155559999'
const nextName = () => `Name ${numbers++}`
const filter = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'vip' }] }

/** Who makes things in a workspace: its own key, and its customers by way of the channel. */
type Maker = { api: Api; provider: Provider; receiver: Receiver }

/** The resources of paths with an id. */
const make = {
  contacts: async ({ api }: Maker) => (await api.post('/contacts', { phone: nextPhone(), tags: ['vip'] })).body.data,
  contactPairs: async (maker: Maker) => ({
    ...(await make.contacts(maker)),
    other_id: (await make.contacts(maker)).id,
  }),
  segments: async ({ api }: Maker) => (await api.post('/segments', { name: nextName() })).body.data,
  dynamicSegments: async ({ api }: Maker) =>
    (await api.post('/segments', { name: nextName(), kind: 'dynamic', filter })).body.data,
  segmentsAndContacts: async (maker: Maker) => ({
    ...(await make.segments(maker)),
    contact_id: (await make.contacts(maker)).id,
  }),
  /** With a contact who just wrote. The contact with the phone number among the unusual texts wrote too. */
  conversations: async ({ api, provider }: Maker) => {
    const phone = nextPhone()
    for (const from of [oddPhone, phone]) await provider.writes({ from, text: 'hello' })
    const [conversation] = (await api.get('/conversations?limit=1')).body.data
    const [message] = (await api.get(`/conversations/${conversation.id}/messages?limit=1`)).body.data
    return { ...conversation, phone, message_id: message.id }
  },
  connections: async ({ api }: Maker) => (await api.get('/connections')).body.data[0],
  messages: async (maker: Maker) => ({ id: (await make.conversations(maker)).message_id }),
  'scheduled-messages': async (maker: Maker) => {
    const { id } = await make.conversations(maker)
    const body = { text: nextName(), send_at: tomorrow() }
    return (await maker.api.post(`/conversations/${id}/scheduled-messages`, body)).body.data
  },
  /** A workspace has room for two hundred. */
  automations: async ({ api }: Maker) => {
    for (const { id } of (await api.get('/automations')).body.data.slice(190)) await api.delete(`/automations/${id}`)
    const { id } = (await api.post('/automations', { name: nextName(), definition: newDefinition() })).body.data
    return (await api.post(`/automations/${id}/publish`)).body.data
  },
  'automation-runs': async (maker: Maker) => {
    const { id } = await make.automations(maker)
    const conversation_ids = [(await make.conversations(maker)).id]
    const [{ run_id }] = (await maker.api.post(`/automations/${id}/runs`, { conversation_ids })).body.data
    await until('the run', async () => (await maker.api.get(`/automation-runs/${run_id}`)).body.data.state === 'ended')
    return { id: run_id }
  },
  /** A workspace has room for a hundred. */
  webhooks: async ({ api }: Maker) => {
    for (const { id } of (await api.get('/webhooks')).body.data.slice(90)) await api.delete(`/webhooks/${id}`)
    return (await api.post('/webhooks', newWebhook())).body.data
  },
  /** The first list is fetched from the channel. */
  templates: async ({ api }: Maker) => (await api.get('/templates')).body.data[0],
  /** With a delivery that the receiver has accepted. */
  deliveredWebhooks: async ({ api, receiver }: Maker) => {
    const { id } = (await api.post('/webhooks', { url: receiver.url, events: ['contact.created'] })).body.data
    await api.post('/contacts', { phone: nextPhone() })
    const delivery = await until('a delivery', async () => {
      const [first] = (await api.get(`/webhooks/${id}/deliveries?status=delivered`)).body.data
      return first
    })
    return { id, delivery_id: delivery.id }
  },
  drafts: async ({ api }: Maker) => (await api.post('/broadcasts', { ...newBroadcast(), draft: true })).body.data,
  broadcasts: async ({ api }: Maker) => (await api.post('/broadcasts', newBroadcast())).body.data,
}

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString()

const newDefinition = () => ({ trigger: { type: 'manual' }, steps: [{ type: 'note', text: nextName() }] })

const newWebhook = () => ({ url: `https://127.0.0.1:9/${numbers++}`, events: ['conversation.created'] })

/** Of tomorrow: what is sent now changes rows by itself. */
const newBroadcast = () => ({
  name: nextName(),
  template: { name: 'order_confirmed', language: 'en_US', params: ['Ann', 'A-1'] },
  recipients: [{ to: nextPhone(), name: nextName(), params: ['Bob', '{{contact.name|A-2}}'] }],
  scheduled_at: tomorrow(),
})

/** What a call is about, where it is not just what the first word of its path says. */
const subjects: Record<string, (maker: Maker) => Promise<Json>> = {
  mergeContacts: make.contactPairs,
  updateSegment: make.dynamicSegments,
  addSegmentContacts: make.segmentsAndContacts,
  removeSegmentContacts: make.segmentsAndContacts,
  sendMessage: make.conversations,
  checkMessage: make.conversations,
  createWebhook: make.webhooks,
  listWebhookDeliveries: make.deliveredWebhooks,
  redeliverWebhook: make.deliveredWebhooks,
  addBroadcastRecipients: make.drafts,
  startBroadcast: make.drafts,
  deleteBroadcast: make.drafts,
  listTemplates: make.templates,
  getTemplate: make.templates,
}

/** A channel takes so many messages to one person at a time; then another one is written to. */
const messagesPerPerson = 40

/** Every part a template may have values for. */
const templateParams = {
  body: ['Ann', 'A-1'],
  bodyNamed: { name: 'Ann' },
  headerText: 'Order',
  headerMediaUrl: 'https://cdn.example/a.png',
  headerMediaId: '1',
  headerFilename: 'a.pdf',
  headerLocation: { latitude: '1', longitude: '2', name: 'Here', address: 'There' },
  buttonParams: { first: 'A-1' },
  cards: [{ headerMediaUrl: 'https://cdn.example/a.png', body: ['One'], bodyNamed: { name: 'Ann' } }],
}

const choices = {
  kind: 'buttons',
  body: 'Keep it?',
  buttons: [
    { id: 'yes', title: 'Yes' },
    { id: 'no', title: 'No' },
  ],
}
const listRows = [{ id: 'one', title: 'One', description: 'The first' }]
const choiceList = { kind: 'list', body: 'Which one?', button: 'Choose', sections: [{ title: 'All', rows: listRows }] }
const link = { kind: 'link', text: 'Open', url: 'https://shop.example/' }

type Body = (subject: Json) => Json

/**
 * Valid bodies where the schema alone does not describe one; several where a call has several uses. Their texts are new each
 * time, so that half a write would be seen.
 */
const bodies: Record<string, Body | Body[]> = {
  createContact: () => ({ phone: nextPhone(), ...newPerson() }),
  createContacts: () => ({ contacts: [{ phone: nextPhone(), ...newPerson() }] }),
  updateContact: [
    ({ phone }) => ({ phone, ...newPerson() }),
    () => ({ add_tags: [nextName()], remove_tags: ['vip'], attributes: { plan: 'pro' }, opted_out: true }),
  ],
  mergeContacts: ({ other_id }) => ({ contact_id: other_id }),
  createSegment: () => ({ name: nextName(), description: nextName(), kind: 'dynamic', filter }),
  updateSegment: () => ({ name: nextName(), description: nextName(), filter }),
  addSegmentContacts: ({ contact_id }) => ({ contact_ids: [contact_id] }),
  removeSegmentContacts: ({ contact_id }) => ({ contact_ids: [contact_id] }),
  createAutomation: () => ({ name: nextName(), description: nextName() }),
  updateAutomation: () => ({ name: nextName(), description: nextName(), position: 0 }),
  pauseAutomation: () => ({ end_runs: true }),
  createWebhook: newWebhook,
  updateWebhook: () => ({ ...newWebhook(), is_active: true }),
  rotateWebhookSecret: () => ({ overlap_hours: 0 }),
  createBroadcast: newBroadcast,
  checkBroadcast: newBroadcast,
  addBroadcastRecipients: () => ({ recipients: newBroadcast().recipients }),
  checkMessage: ({ phone }) => ({
    to: phone,
    type: 'template',
    text: nextName(),
    name: nextName(),
    template: { name: 'order_confirmed', language: 'en_US', params: templateParams },
  }),
  updateConversation: [
    () => ({ status: 'pending', assigned_agent_id: null, labels: [nextName()] }),
    () => ({ status: 'pending', snoozed_until: tomorrow(), labels: [nextName()] }),
  ],
  createNote: () => ({ text: nextName() }),
  scheduleMessage: () => ({ type: 'text', text: nextName(), send_at: tomorrow(), hold_if_customer_writes: true }),
  updateScheduledMessage: () => ({
    type: 'text',
    text: nextName(),
    send_at: tomorrow(),
    hold_if_customer_writes: true,
  }),
  replyToConversation: [
    () => ({ type: 'interactive', text: nextName(), interactive: { ...choices, header: 'Order', footer: 'Acme' } }),
    () => ({ type: 'interactive', text: nextName(), interactive: choiceList }),
    () => ({ type: 'interactive', text: nextName(), interactive: { ...link, body: nextName() } }),
    () => ({
      type: 'location',
      text: nextName(),
      location: { latitude: 1, longitude: 2, name: nextName(), address: nextName() },
    }),
    ({ message_id }) => ({ type: 'reaction', text: nextName(), reaction: { message_id, emoji: '' } }),
  ],
  sendMessage: [
    ({ phone }) => ({
      to: phone,
      type: 'document',
      text: nextName(),
      media_url: 'https://cdn.example/a.pdf',
      filename: 'a.pdf',
      name: nextName(),
    }),
    ({ phone }) => ({
      to: phone,
      type: 'template',
      text: nextName(),
      template: { name: 'order_confirmed', language: 'en_US', params: templateParams },
    }),
    ({ phone }) => ({
      to: phone,
      type: 'template',
      text: nextName(),
      template: { name: 'order_confirmed', params: ['Ann', 'A-1'] },
    }),
  ],
}
const newPerson = () => ({
  ...{ name: nextName(), email: nextName(), company: nextName(), tags: [nextName()] },
  ...{ attributes: { plan: nextName(), seats: 5 }, opted_out: true },
})

/** The largest body of a call. */
const bodyLimits: Record<string, number> = { createContacts: 40 }

/** A batch refuses an item in its result. Returns such an answer as the refusal of a request with one item. */
function ofBatch(answer: Answer): Answer {
  const error = Array.isArray(answer.body.data) ? answer.body.data[0]?.error : undefined
  if (!error) return answer
  const message = `contacts[0]${error.message.startsWith('body:') ? error.message.slice(4) : `.${error.message}`}`
  return { ...answer, status: statusOf[error.code as 'bad_request'], body: { error: { ...error, message } } }
}

/** The service, and one lane for each call and valid body, made when first needed. */
type Lanes = {
  world: World
  receiver: Receiver
  read: (workspaceId: string) => Promise<string>
  made: Map<string, Promise<Lane>[]>
}
let lanes: Promise<Lanes> | undefined

async function startLanes(): Promise<Lanes> {
  const world = await start(file)
  // A workspace that no lane calls: nothing here may touch it.
  const receiver = await startReceiver(file)
  const bystander = { api: world.api, provider: await world.connect(), receiver }
  await make.segments(bystander)
  await make.contacts(bystander)
  await make.conversations(bystander)
  // A report that comes by itself would change rows as well.
  await bystander.provider.fault({ mode: 'no_statuses' })
  return { world, receiver, read: await createChangeLog(world.db), made: new Map() }
}

/** Try something on every call of the document that meets a condition, all of them side by side. */
async function onEveryCall(
  which: (operation: Operation) => boolean,
  attempt: (lane: Lane) => Promise<void>,
): Promise<void> {
  lanes ??= startLanes()
  const { world, receiver, read, made } = await lanes
  const before = await read(world.api.workspaceId)
  const isTried = (operation: Operation) => !isStream(operation) && !(operation.operationId in elsewhere)
  const chosen = world.contract.operations.filter(({ operation }) => isTried(operation) && which(operation))
  assert.ok(chosen.length > 0)
  const lanesOf = (one: (typeof chosen)[number]) =>
    [bodies[one.operation.operationId]].flat().map((body) => createLane(world, receiver, one, body, read))
  const all = chosen.flatMap((one) => {
    const own = made.get(one.operation.operationId) ?? lanesOf(one)
    made.set(one.operation.operationId, own)
    return own
  })
  await Promise.all(all.map(async (lane) => attempt(await lane)))

  assert.equal(await read(world.api.workspaceId), before, 'the rows of another workspace')
}

/** Calls that other tests give bad input, and why. */
const elsewhere: Record<string, string> = {
  saveAutomationDraft: 'a definition has paths of its own (server/automation/parse.test.ts)',
  checkAutomation: 'the same',
  dryRunAutomation: 'its definition has them too (tests/automation-dry-run.test.ts)',
  startAutomation: 'a run changes rows by itself (tests/automation-steps.test.ts)',
}

/** Its answer has no end to wait for; what it refuses is tried in `event-stream.test.ts`. */
const isStream = ({ responses }: Operation) => responses[200]?.content['text/event-stream'] !== undefined
const hasBody = ({ requestBody }: Operation) => requestBody !== undefined
const hasParameter = (place: string) => (operation: Operation) =>
  (operation.parameters ?? []).some((parameter) => parameter.in === place)

async function createLane(
  { url, db, workspace, contract, connect }: World,
  receiver: Receiver,
  { method, path, operation }: Contract['operations'][number],
  makeBody: Body | undefined,
  read: (workspaceId: string) => Promise<string>,
): Promise<Lane> {
  const { api } = await workspace()
  const provider = await connect({ workspaceId: api.workspaceId, messagesPerSecond: 10_000 })
  const name = `${method} ${path}`
  const body = follow(contract, operation.requestBody?.content['application/json']?.schema ?? {})
  let rows: string | undefined
  let key = await api.key(...scopes)
  let calls = 0

  // What the call itself does not delete or start serves again.
  const usesUp = ['startBroadcast', 'mergeContacts'].includes(operation.operationId)
  const serves = (method !== 'DELETE' || hasBody(operation)) && !usesUp
  const makeSubject =
    subjects[operation.operationId] ?? (path.includes('{id}') ? make[path.split('/')[1] as 'contacts'] : undefined)
  let subject: Json
  let uses = 0
  const valid: Lane['valid'] = async () => {
    if (makeSubject && !(subject && serves && ++uses % messagesPerPerson > 0)) {
      subject = await makeSubject({ api, provider, receiver })
      rows = undefined
    }
    const id = subject?.id ?? ''
    const given = makeBody?.(subject) ?? (hasBody(operation) ? sample(body) : undefined)
    const filled = path
      .replace('{id}', id)
      .replace('{delivery_id}', subject?.delivery_id ?? '')
      .replace('{name}', path.startsWith('/reports') ? 'overview' : 'hello_world')
    return { path: filled, id, body: given }
  }
  const exchange = async ({ path, body, headers }: Wired) => {
    if (++calls % 110 === 0) key = await api.key(...scopes)
    const wired = await wire(url, method, `/v1${path}`, { authorization: `Bearer ${key}`, ...headers }, body)
    const answer = operation.operationId === 'createContacts' ? ofBatch(wired) : wired
    const sent = [name, path, body, JSON.stringify(headers ?? {})].map((part) => String(part).slice(0, 200)).join(' ')
    assert.notEqual(answer.status, 500, sent)
    contract.hold(method, path, wired)
    return { answer, sent }
  }
  const readAtRest = async () => {
    await rest(db, api.workspaceId)
    return read(api.workspaceId)
  }
  const send: Lane['send'] = async (wired) => {
    rows ??= await readAtRest()
    const { answer, sent } = await exchange(wired)
    // What the channel refused is kept, as failed.
    if ((answer.status < 400 && method !== 'GET') || answer.status === 502) {
      rows = undefined
    } else assert.equal(await read(api.workspaceId), rows, `${answer.status}, but rows changed: ${sent}`)
    return answer
  }
  const sendAll: Lane['sendAll'] = async (all) => {
    rows ??= await readAtRest()
    const sent: Awaited<ReturnType<typeof exchange>>[] = []
    for (let i = 0; i < all.length; i += 10) sent.push(...(await Promise.all(all.slice(i, i + 10).map(exchange))))
    const unrefused = sent.find(({ answer }) => answer.status < 400)?.sent
    assert.equal(await read(api.workspaceId), rows, `rows changed: ${unrefused ?? 'after a refusal'}`)
    return sent.map(({ answer }) => answer)
  }

  const first = await valid()
  const answer = await send(json(first.path, first.body))
  assert.ok(answer.status < 300, `what is a valid ${operation.operationId}? ${answer.text}`)
  return { name, method, operation, body, api, valid, send, sendAll }
}

/** Waits until nothing of a workspace changes by itself: broadcasts and deliveries are over, and office hours of episodes are counted. */
async function rest(db: Db, workspaceId: string): Promise<void> {
  const isResting = async () => {
    const [open] = await db`
      select 1 from broadcasts where workspace_id = ${workspaceId} and completed_at is null
        and status not in ('draft', 'scheduled')
      union all
      select 1 from webhook_deliveries where workspace_id = ${workspaceId}
      union all
      select 1 from episodes where workspace_id = ${workspaceId} and (
        (first_reply_at is not null and office_first_reply_s is null) or (closed_at is not null and office_closing_s is null)
      )`
    return !open
  }
  await until('a workspace at rest', isResting)
}

/** A request with a JSON body, given as a value or as text. */
function json(path: string, body?: unknown): Wired {
  if (body === undefined) return { path }
  return { path, body: typeof body === 'string' ? body : toText(body), headers: { 'content-type': 'application/json' } }
}

/** A schema of the document with every reference in it followed. */
function follow(contract: Contract, schema: Record<string, unknown>): Schema {
  const walk = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(walk)
    if (typeof part !== 'object' || part === null) return part
    const resolved = contract.resolve(part as Record<string, unknown>)
    return Object.fromEntries(Object.entries(resolved).map(([key, inner]) => [key, walk(inner)]))
  }
  return walk(schema) as Schema
}

/** Something a schema describes. */
function sample({ type, enum: allowed, format, properties = {}, items = {}, anyOf, oneOf, ...rest }: Schema): Json {
  const [option] = anyOf ?? oneOf ?? []
  if (option) return sample(option)
  if (rest.const !== undefined) return rest.const
  const [kind] = [type].flat()
  if (allowed) return allowed[0]
  if (kind === 'object')
    return Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, sample(part)]))
  if (kind === 'array') return [sample(items)]
  if (kind === 'integer' || kind === 'number') return 1
  if (kind === 'boolean') return true
  if (format === 'date-time') return '2026-01-05T09:30:00.000Z'
  if (format === 'date') return '2026-01-05'
  return format === 'uuid' ? crypto.randomUUID() : 'text'
}

const agent = new Agent({ keepAlive: true })

/** Send bytes as they are: no client in between tidies them up. */
function wire(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<Answer> {
  const { hostname, port } = new URL(url)
  const bytes = body === undefined ? undefined : Buffer.from(body)
  // Without it, the client would send an empty body in chunks if there is an `Expect` header.
  const length = bytes || method === 'POST' ? { 'content-length': String(bytes?.length ?? 0) } : {}
  // The server may close the connection on a body that is too large, so no other request shares it.
  const line = bytes && bytes.length > 1_000_000 ? false : agent
  const target = { hostname, port, method, path, headers: { ...length, ...headers }, agent: line }
  return new Promise((resolve, reject) => {
    const request = httpRequest(target, async (response) => {
      try {
        const received = Buffer.concat(await response.toArray())
        const text = String(response.headers['content-encoding'] === 'gzip' ? gunzipSync(received) : received)
        const given = new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)]))
        resolve({ status: response.statusCode ?? 0, headers: given, text, body: JSON.parse(text) })
      } catch (cause) {
        reject(new Error(`${method} ${path.slice(0, 200)} ${response.statusCode} is no JSON`, { cause }))
      }
    })
    request.on('error', reject)
    request.end(bytes)
  })
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

type Field = { steps: (string | number)[]; path: string; schema: Schema; required: boolean; optional: boolean }

/** Every field of a body, those inside others and the first item of each array included. */
function fieldsOf(schema: Schema, value: Json, steps: Field['steps'] = [], path = ''): Field[] {
  const field = (step: string | number, path: string, part: Schema, required: boolean, optional = false): Field[] => {
    const own = { steps: [...steps, step], path, schema: part, required, optional }
    return value?.[step] === undefined ? [own] : [own, ...fieldsOf(part, value[step], own.steps, path)]
  }
  const ofKind = value?.kind && schema.oneOf?.find(({ properties }) => properties?.kind?.const === value.kind)
  if (ofKind) return fieldsOf(ofKind, value, steps, path)
  if (schema.anyOf) return fieldsOf(schema.anyOf.find((option) => takes(option, value)) ?? {}, value, steps, path)
  if (schema.items) return field(0, `${path}[0]`, schema.items, false)
  const { additionalProperties: named } = schema
  if (named) return Object.keys(value).flatMap((name) => field(name, `${path}.${name}`, named, false))
  return Object.entries(schema.properties ?? {}).flatMap(([name, part]) => {
    const required = schema.required?.includes(name) ?? false
    return field(name, path ? `${path}.${name}` : name, part, required, !required)
  })
}

const absent = Symbol('absent')

/** Copies a body with one field replaced or removed. */
function replaced(body: Json, [step = '', ...rest]: Field['steps'], value: unknown): Json {
  const copy = Array.isArray(body) ? [...body] : { ...body }
  if (rest.length > 0) copy[step] = replaced(copy[step], rest, value)
  else if (value !== absent) copy[step] = value
  else if (Array.isArray(copy)) copy.splice(Number(step), 1)
  else delete copy[step]
  return copy
}

const words = (text: string) => text.trim().split(/\s+/)

/** So many of the values, others in each turn: all fields of all calls together try every one. */
const someOf = <Value>(values: readonly Value[], turn: number, count: number): Value[] =>
  values.filter((_, place) => (place - turn * count + values.length * turn * count) % values.length < count)

const withNul = ['\u0000', 'a\u0000b']
/** Halves of surrogate pairs. */
const halves = ['\ud800', 'x\udc00y', '\udc00\ud800']
const unstorable = [...withNul, ...halves]
const odd = [
  ...words(`
    🙂 👨‍👩‍👧‍👦 שלום Z͑ͫA̴L̵G̷O e\u0301\u0323\u0345 İ ß ﬁ Σς \u202ertl \uffff \u0001\u001b[31m \u200b
    __proto__ constructor toString hasOwnProperty null undefined NaN [object] {} [] true -1 1e999 0x7f
    % _ \\ \\' \\u0000 %00 $1 {{x}} <script> ../../etc/passwd ${oddPhone}
    0000-01-01T00:00:00Z 9999-12-31T23:59:59-14:00 2026-02-30T00:00:00Z 999999d 1000000d 9d9`),
  ...["' or 1=1 --", '"; drop table contacts; --', 'a\nb', 'a\u2028b', '\ufeffx', ' x '],
]
const long = ['x'.repeat(10_001), '🙂'.repeat(75_000), '\u0301'.repeat(100_000)]
const numbersAndSuch = [
  ...[5, -1, 0, 1.5, 1e308, true, false],
  ...words('1e999 -0 1e-999 9999999999999999999').map((n) => new Raw(n)),
]
const containers: unknown[] = [{}, [], [[]], { length: 1 }, ['x'], { toString: 1 }, new Raw('{"__proto__":"x"}')]
const deep = [`${'['.repeat(100)}${']'.repeat(100)}`, `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`]

function takes({ type = [], anyOf, oneOf }: Schema, value: unknown): boolean {
  const options = type.length === 0 ? (anyOf ?? oneOf) : anyOf
  if (options) return options.some((option) => takes(option, value))
  const types = [type].flat().map((name) => (name === 'integer' ? 'number' : name))
  const parsed = value instanceof Raw ? JSON.parse(value.text) : value
  return types.includes(parsed === null ? 'null' : Array.isArray(parsed) ? 'array' : typeof parsed)
}

/** A 400 whose message starts with the field it is about. */
function assertNames(answer: Answer, path: string, about: string): void {
  assert.equal(answer.status, 400, `${about}: ${answer.text}`)
  assert.match(answer.body.error.message, /^[\w.[\]-]+: \S/, about)
  assert.ok(answer.body.error.message.startsWith(path), `${about} says: ${answer.body.error.message}`)
}

/** Sends a valid body with one field replaced at a time. Each is refused with the field's name or with `says`. */
async function refuseEach(
  { name, body: schema, valid, sendAll }: Lane,
  pick: (field: Field, turn: number) => { value: unknown; says?: string }[],
): Promise<void> {
  const { path, body } = await valid()
  const cases = fieldsOf(schema, body).flatMap((field, place) =>
    pick(field, place + name.length).map((one) => ({ ...one, field })),
  )
  const answers = await sendAll(cases.map(({ field, value }) => json(path, replaced(body, field.steps, value))))
  for (const [i, { field, value, says = field.path }] of cases.entries()) {
    assertNames(answers[i] ?? assert.fail(), says, `${name} ${field.path} = ${toText(value).slice(0, 60)}`)
  }
}

test('a field of the wrong type, or null in a required field, is rejected with the field name', async () => {
  await onEveryCall(hasBody, (lane) =>
    refuseEach(lane, (field, turn) => {
      const wrong = ['', 'x', ...numbersAndSuch, ...containers].filter((value) => !takes(field.schema, value))
      const isNullWrong = !field.optional && !takes(field.schema, null)
      return [...someOf(wrong, turn, 2), ...(isNullWrong ? [null] : [])].map((value) => ({ value }))
    }),
  )
})

test('a missing required field is named; null in an optional field equals a missing field', async () => {
  await onEveryCall(hasBody, async ({ name, body: schema, valid, send }) => {
    const sendWith = async ({ steps }: Field, value: unknown) => {
      const { path, body } = await valid()
      return send(json(path, replaced(body, steps, value)))
    }
    for (const field of fieldsOf(schema, (await valid()).body)) {
      const answer = await sendWith(field, absent)
      const about = `${name} without ${field.path}`
      if (field.required) assertNames(answer, field.path, about)
      // What is needed only sometimes, or an array that may not be empty.
      else if (answer.status === 400) assertNames(answer, field.path.replace(/\[0\]$/, ''), about)
      else assert.ok(answer.status < 300, answer.text)

      if (!field.optional) continue
      const withNull = await sendWith(field, null)
      assert.equal(withNull.status, answer.status, `${name} ${field.path} = null: ${withNull.text}`)
      assert.equal(withNull.body.error?.message, answer.body.error?.message, about)
      // One that the document says may be null is cleared.
      if (takes(field.schema, null) && !field.path.includes('['))
        assert.equal(withNull.body.data[field.path], null, about)
    }
  })
})

test('text that cannot be stored or is too long is rejected with the field name', async () => {
  await onEveryCall(hasBody, (lane) =>
    refuseEach(lane, ({ schema }, turn) => {
      if (!takes(schema, 'text')) return []
      const values = [...someOf(withNul, turn, 1), ...someOf(halves, turn, 1), ...someOf(long, turn, 1)]
      return values.map((value) => ({ value }))
    }),
  )
})

test('unusual text is stored unchanged, or rejected with the field name or by the channel', async () => {
  await onEveryCall(hasBody, async ({ name, body: schema, valid, send }) => {
    const texts = fieldsOf(schema, (await valid()).body).filter((field) => takes(field.schema, 'text'))
    for (const [turn, field] of texts.entries()) {
      // One of them in every field, or all together.
      for (const value of ['', ...someOf([odd.join(' '), ' ', ...odd], turn + name.length, 1)]) {
        const { path, body } = await valid()
        const answer = await send(json(path, replaced(body, field.steps, value)))
        const about = `${name} ${field.path} = ${JSON.stringify(value)}`
        // A template is known by its name and language together, and a list of values is its body's.
        if (answer.status === 400)
          assertNames(answer, field.path.replace(/^(template|recipients\[0\])\.(language|params\[0\])$/, '$1.'), about)
        else if (answer.status !== 502) assertKept(answer, field, value, about)
      }
    }
  })
})

/** A query value as the service reads it. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    return value
  }
}

/** Where the answer shows the field, it shows what was sent; names are trimmed, and an empty text is null. */
function assertKept({ status, text, body: { data } }: Answer, { steps }: Field, value: string, about: string): void {
  assert.ok(status < 300, `${about}: ${text}`)
  const [first] = steps
  const isName = first === 'tags' || first === 'labels'
  const shown = isName ? data[first][0].name : steps.reduce((part, step) => part?.[step], data)
  // A message shows its content, not the fields of the request.
  if (shown === undefined || 'content_type' in data) return
  const isNote = 'author' in data
  const isTrimmed = isName || isNote || (first === 'name' && ('kind' in data || 'total_count' in data))
  const isBlankContact = 'channels' in data && value.trim() === '' && steps.length === 1
  const kept = isTrimmed || isBlankContact ? value.trim() : value
  assert.equal(shown ?? '', kept, about)
}

test('every operator of every filter field stores a value unchanged or rejects it with the field name', async () => {
  const filtered = ({ operationId }: Operation) => operationId === 'createSegment' || operationId === 'updateSegment'
  await onEveryCall(filtered, async ({ name, valid, send }) => {
    for (const [place, [listed, ops]] of Object.entries(filterFields).entries()) {
      const field = listed.replace('NAME', 'plan')
      for (const [turn, op] of Object.keys(ops).entries()) {
        for (const value of someOf(['', 'x'.repeat(501), ...odd], place + turn + name.length, 1)) {
          const { path, body } = await valid()
          const filter = { match: 'any', rules: [body.filter.rules[0], { field, op, value }] }
          const answer = await send(json(path, { ...body, filter }))
          const about = `${name} ${field} ${op} ${JSON.stringify(value)}`
          const found = [answer.status < 300, answer.body.data?.filter]
          if (answer.status === 400) assertNames(answer, 'filter.rules[1].value', about)
          else assert.deepEqual(found, [true, filter], `${about}: ${answer.text}`)
        }
      }
    }
  })
})

test('arrays of 10,000 items and 100,000 levels of nesting are rejected', async () => {
  await onEveryCall(hasBody, (lane) =>
    refuseEach(lane, ({ schema: { items } }, turn) => {
      const nested = someOf(deep, turn, 1).map((text) => ({ value: new Raw(text), says: 'body: nested' }))
      if (!items) return nested
      const item = sample(items)
      const many = Array.from({ length: 10_000 }, (_, i) => (item === 'text' ? `text ${i}` : item))
      return [...nested, { value: many }]
    }),
  )
})

test('the last of two equal fields wins, and an unknown field is ignored', async () => {
  const strangers = [
    ...words('"unknown":5 "unknown":null "unknown":"\\u0000" "unknown":"\\ud800" "\\u0000":"x" "":"" "id":"x"'),
    ...words('"__proto__":{"name":5} "constructor":{"prototype":{"x":1}} "toString":"x" "workspace_id":"x"'),
    `"unknown":${'['.repeat(20)}${']'.repeat(20)}`,
    `"unknown":"${'x'.repeat(300_000)}"`,
  ]
  await onEveryCall(hasBody, async ({ name, body: { properties = {} }, valid, send, sendAll }) => {
    const { path, body } = await valid()
    const text = toText(body)
    const fields = Object.keys(body).filter((field) => !takes(properties[field] ?? {}, 5))
    const answers = await sendAll(fields.map((field) => json(path, `${text.slice(0, -1)},"${field}":5}`)))
    for (const [i, answer] of answers.entries()) assertNames(answer, fields[i] ?? '', `${name} with ${fields[i]} twice`)
    if (fields.length > 0) {
      const last = await send(json(path, `{${fields.map((field) => `"${field}":5,`).join('')}${text.slice(1)}`))
      assert.ok(last.status < 300, last.text)
    }
    for (const stranger of someOf(strangers, name.length, 2)) {
      const { path, body: own } = await valid()
      const answer = await send(json(path, `{${stranger},${toText(own).slice(1)}`))
      assert.ok(answer.status < 300, `${name} with ${stranger.slice(0, 60)}: ${answer.text}`)
    }
  })
})

const mebibyte = 1024 * 1024

test('a body that is not a JSON object of at most 1 MiB is rejected', async () => {
  await onEveryCall(hasBody, async ({ name, operation, valid, send, sendAll }) => {
    const { path, body } = await valid()
    const text = toText(body)
    const limit = bodyLimits[operation.operationId] ?? 1
    const bytes = limit * mebibyte
    const overLimit = `body: over ${limit} MiB`
    const parts = [Buffer.from('{"x":"'), Buffer.from([0xff, 0xc0, 0x80]), Buffer.from(`",${text.slice(1)}`)]
    const notUtf8 = Buffer.concat(parts)
    const bodies: [string | Buffer | undefined, string][] = [
      ...[undefined, '', ...words('null [] [{}] "x" 5 true false 1e999')].map((text): [string | undefined, string] => [
        text,
        'body: must be an object',
      ]),
      ...[' ', '\n', '\u0000', '{"a":"\n"}', ...words(`{ {"a" {"a":1,} {'a':1} x undefined NaN {}{} //`)].map(
        (text): [string, string] => [text, 'body: not valid JSON'],
      ),
      [`\ufeff\ufeff${text}`, 'body: not valid JSON'],
      [Buffer.from(text, 'utf16le'), 'body: not'],
      [notUtf8, 'body: not UTF-8'],
      ['['.repeat(mebibyte), 'body: nested'],
      [text.padEnd(bytes + 1), overLimit],
      [Buffer.alloc(bytes + 2 * mebibyte, '['), overLimit],
    ]
    const asJson = { 'content-type': 'application/json' }
    const gzip = { ...asJson, 'content-encoding': 'gzip' }
    const types = words(
      'text/plain application/x-www-form-urlencoded multipart/form-data application/jsonp text/json */* ; x',
    )
    const wrongTypes = [undefined, '', ...types, 'x'.repeat(2_000), '\xff', 'application/json x']
    const wrong: (Omit<Wired, 'path'> & { message: string })[] = [
      ...someOf(bodies, name.length, 6).map(([body, message]) => ({ body, headers: asJson, message })),
      { body: text, headers: gzip, message: 'body: not valid gzip' },
      { body: gzipSync(text.padEnd(bytes + 1)), headers: gzip, message: overLimit },
      ...someOf(wrongTypes, name.length, 2).map((type) => ({
        ...{ body: text, headers: type === undefined ? {} : { 'content-type': type } },
        message: 'content-type: must be application/json',
      })),
    ]
    const answers = await sendAll(wrong.map(({ message: _, ...sent }) => ({ path, ...sent })))
    for (const [i, { body, headers, message }] of wrong.entries()) {
      const about = `${name} ${String(body).slice(0, 40)} ${JSON.stringify(headers)}`
      assertNames(answers[i] ?? assert.fail(), message, about)
    }
    const zipped = await send({ path, body: gzipSync(text), headers: gzip })
    assert.ok(zipped.status < 300, zipped.text)

    for (const type of someOf(['application/json', 'Application/JSON ; Charset="UTF-8"'], name.length, 1)) {
      const { path, body } = await valid()
      const answer = await send({ path, body: toText(body).padEnd(mebibyte), headers: { 'content-type': type } })
      assert.ok(answer.status < 300, `${name} with 1 MiB as ${type}: ${answer.text}`)
    }
  })
})

test('a body on a call without a body is ignored or rejected', async () => {
  const types: Record<string, string>[] = [{ 'content-type': 'application/json' }, { 'content-type': 'text/plain' }, {}]
  await onEveryCall(
    (operation) => !hasBody(operation),
    async ({ name, method, valid, send }) => {
      const bodies = ['{}', 'null', '{broken', '\u0000', Buffer.from([0xff]), Buffer.alloc(2 * mebibyte, 'x')]
      for (const [turn, body] of someOf(bodies, name.length, 2).entries()) {
        for (const headers of someOf(types, turn + name.length, 1)) {
          const { path } = await valid()
          const answer = await send({ path, body, headers })
          if (method === 'GET') assert.equal(answer.status, 200, name)
          else assert.ok(answer.status < 300 || answer.status === 400, `${name}: ${answer.text}`)
        }
      }
    },
  )
})

test('an invalid query parameter is rejected with its name; an invalid page size or cursor is ignored', async () => {
  const values = [
    ...words(`
      %20 %00 a%00b % %zz %E0%A4%A %ff %C0%80 %ED%A0%80 %u0000 + %2B %25 _ %5C %27 %0A %EF%BF%BF %F0%9F%99%82 %D7%A9
      -1 0 1.5 1e9 NaN null __proto__ constructor %27%20or%201=1-- AAAAAAAAAAAAAAAAAAAAAA`),
    ...['', 'x'.repeat(8_000), '9'.repeat(400), crypto.randomUUID(), encodeCursor(crypto.randomUUID())],
  ]
  const strangers = words('? ?? &&& = __proto__=x __proto__[a]=x constructor=x&toString=y x=%00&y=%zz')
  await onEveryCall(hasParameter('query'), async ({ name, operation, valid, sendAll }) => {
    const { path } = await valid()
    const attempts: { query: string; refusedBy: string | undefined }[] = []
    const attempt = (query: string, refusedBy: string | undefined) => attempts.push({ query, refusedBy })
    for (const [turn, parameter] of (operation.parameters ?? []).entries()) {
      if (parameter.in !== 'query') continue
      const { name: query } = parameter
      const {
        enum: allowed,
        format,
        anyOf,
        minLength = 0,
        maxLength = Number.POSITIVE_INFINITY,
      } = parameter.schema as Schema
      const refusable = query === 'limit' || query === 'cursor' ? undefined : query
      for (const value of someOf(values, turn + name.length, 4)) {
        const isOther =
          (allowed && !allowed.includes(value)) ||
          (format === 'uuid' && !isUuid(value)) ||
          format === 'date-time' ||
          format === 'date' ||
          (anyOf?.some((one) => one.format === 'uuid') && !isUuid(value)) ||
          (query === 'phone' && !parsePhone(decode(value), 'US'))
        const unusable = isOther || value.includes('%00') || value.length > maxLength || value.length < minLength
        attempt(`${query}=${value}`, unusable ? refusable : undefined)
      }
      const usableValue = query === 'phone' ? '4155550100' : sample(parameter.schema)
      // The rows of this report are those of members otherwise, which have no figures per label.
      const isByLabel = operation.operationId === 'getSatisfactionReport' && query === 'label_id'
      const rest = isByLabel ? '&by=label' : ''
      const usable = `${query}=${usableValue}${rest}`
      attempt(usable, undefined)
      attempt(`${usable}&${usable}`, refusable)
      attempt(`${usable}${`&${usable}`.repeat(200)}`, refusable)
      const listed = `${query}[]=${usableValue}${rest}`
      attempt(listed, undefined)
      attempt(`${listed}&${listed}`, refusable)
      attempt(`${listed}&${usable}`, refusable)
      for (const stranger of [`${query}.a=x`, `${query.toUpperCase()}=x`, `%00${query}=x`]) {
        attempt(stranger, undefined)
      }
    }
    for (const stranger of someOf([...strangers, `x=${'y'.repeat(8_000)}`], name.length, 3))
      attempt(stranger, undefined)
    const answers = await sendAll(attempts.map(({ query }) => ({ path: `${path}?${query}` })))
    for (const [i, { query, refusedBy }] of attempts.entries()) {
      const answer = answers[i] ?? assert.fail()
      const about = `${name} ?${query.slice(0, 60)}`
      if (refusedBy) assertNames(answer, refusedBy, about)
      // A template has few languages.
      else if (operation.operationId !== 'getTemplate' || answer.status !== 404)
        assert.equal(answer.status, 200, `${about}: ${answer.text}`)
    }
  })
})

test('an unknown id in a path is 404; an id in capitals is the same id', async () => {
  const hasId = ({ parameters = [] }: Operation) => parameters.some(({ name }) => name === 'id')
  await onEveryCall(hasId, async ({ name, api, valid, send, sendAll }) => {
    const { path, id, body } = await valid()
    const unknownIds = [
      ...words(`
        nonsense 0 -1 null undefined __proto__ constructor . .. %2e%2e %2E %2F ..%2f.. %5c * {id} :id
        %00 ${id}%00 %00${id} ${id}%20 %20${id} ${id}%0a ${id};x ${id}: ${id},${id} ${id}.json
        % %zz %ff %E0%A4%A %C0%80 %F0%9F%99%82 %27%20or%201=1-- urn:uuid:${id} {${id}} %7B${id}%7D
        ${id.replaceAll('-', '')} ${id.slice(0, -1)} ${id}0 ${id.replace(/^./, 'g')}
        00000000-0000-0000-0000-000000000000 ffffffff-ffff-ffff-ffff-ffffffffffff ${crypto.randomUUID()} ${api.workspaceId}`),
      ...['', 'a'.repeat(501), 'a'.repeat(5_000), '%41'.repeat(3_000)],
    ]
    const unknown = someOf(unknownIds, name.length, 8).map((other) => path.replace(id, other))
    const paths = [...unknown, `${path}/`, `${path}/x`, `${path}//`, `${path}%2f`, `/${path}`]
    const answers = await sendAll(paths.map((other) => json(other, body)))
    for (const [i, answer] of answers.entries()) {
      assert.equal(answer.status, 404, `${name} ${paths[i]?.slice(0, 80)}: ${answer.text}`)
      assert.equal(answer.body.error.code, 'not_found')
    }
    const capitals = await send(json(path.replace(id, id.toUpperCase()), body))
    assert.ok(capitals.status < 300, `${name}: ${capitals.text}`)
    assert.ok(!capitals.text.includes(id.toUpperCase()), 'an id is shown in one spelling')
  })
})

test('an unknown path is 404 for every method and body', async (t) => {
  const { url, api, contract } = await start(t)
  let key = ''
  let calls = 0
  const attempt = async (method: string, path: string, body?: string) => {
    if (calls++ % 100 === 0) key = await api.key(...scopes)
    const authorization = `Bearer ${key}`
    const headers = { authorization, 'idempotency-key': 'k', 'content-type': 'application/json' }
    const answer = await wire(url, method, `/v1${path}`, headers, body)
    assertRefused(answer, 404, 'not_found')
    contract.hold(method, path, answer)
  }
  // Of letters that cannot be compressed, so that no index takes it.
  const long = `/${Array.from({ length: 300 }, () => crypto.randomUUID()).join('')}`
  for (const path of ['', '/', '/nowhere', '/contacts/x/y', '/%zz', '/Contacts', '/contacts/', long]) {
    for (const body of ['{}', '{broken', '\u0000']) await attempt('POST', path, body)
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) await attempt(method, path)
  }
  for (const path of Object.keys(contract.document.paths)) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      // `/contacts/batch` is also the path of a contact with that id.
      const isKnown = (known: string) => new RegExp(`^${known.replace('{id}', '[^/]+')}$`).test(path)
      if (contract.operations.some((known) => isKnown(known.path) && known.method === method)) continue
      await attempt(method, path.replace('{id}', api.workspaceId), method === 'GET' ? undefined : '{broken')
    }
  }
})

test('unusual headers are ignored, and an invalid header of the API is named', async () => {
  const wrongIds = ['', ' ', 'two words', 'x'.repeat(129), '"quoted"', '{"json":1}', '\xe9', '%0a', '<b>', "'", '\t']
  const keys = ['x', 'x'.repeat(255), '\xff'.repeat(255), "' or 1=1 --", '%00', '\\', '{}']
  const harmless: Record<string, string>[] = [
    ...[{ accept: 'text/html' }, { accept: '' }, { 'accept-encoding': 'gzip' }, { range: 'bytes=0-1' }],
    ...[{ expect: 'nonsense' }, { 'if-none-match': '"x"' }, { cookie: 'parley_session=x; =; ;' }, { host: '\xe9' }],
    ...[{ 'x-http-method-override': 'DELETE' }, { 'x-forwarded-for': "' or 1=1 --" }, { origin: 'https://evil.test' }],
  ]
  await onEveryCall(
    () => true,
    async ({ name, method, valid, send }) => {
      const attempt = async (headers: Record<string, string>) => {
        const { path, body } = await valid()
        const request = json(path, body)
        return send({ ...request, headers: { ...request.headers, ...headers } })
      }
      const turn = name.length
      const [requestId = ''] = someOf(['a', 'req-1.2:3+4/5=6@7_8', 'x'.repeat(128)], turn, 1)
      const [wrongKey = ''] = someOf(['', 'x'.repeat(256), '\xff'.repeat(256)], turn, 1)
      const first = await attempt({ 'x-request-id': requestId, 'idempotency-key': wrongKey })
      assert.equal(first.headers.get('x-request-id'), requestId)
      if (method === 'POST') assertNames(first, 'Idempotency-Key', `${name} ${wrongKey.length}`)
      else assert.ok(first.status < 300, first.text)

      const [wrongId = ''] = someOf(wrongIds, turn, 1)
      const [key = ''] = someOf(keys, turn, 1)
      const unusual = { 'x-request-id': wrongId, 'idempotency-key': key, ...someOf(harmless, turn, 1)[0] }
      const second = await attempt(unusual)
      assert.ok(second.status < 300, `${name} ${JSON.stringify(unusual)}: ${second.text}`)
      assert.match(second.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/, JSON.stringify(wrongId))
    },
  )
})

test('every invalid Authorization header gets the same 401', async (t) => {
  const { url, api, contract } = await start(t)
  const key = await api.key(...scopes)
  const expected = await wire(url, 'GET', '/v1/me', {})
  assertRefused(expected, 401, 'unauthorized')
  const tokens = words(`
    "${key}" ${key}\xff \xff\xfe ${'x'.repeat(10_000)} ${key.slice(0, -1)} ${key}x ${key.toUpperCase()} ${key}%00 ${key}, ,
    null undefined svc_live_ legacy_live_ ' or %00 * {}`)
  const odd = [
    ...['', ' ', 'Bearer', 'Bearer ', `Bearer${key}`, key, `Basic ${key}`, `Token ${key}`, `Bearer ${key} x`],
    `x Bearer ${key}`,
    ...tokens.map((token) => `Bearer ${token}`),
  ]
  for (const [turn, authorization] of odd.entries()) {
    for (const { method, path } of someOf(contract.operations, turn, 4)) {
      const answer = await wire(url, method, `/v1${path.replace('{id}', api.workspaceId)}`, { authorization })
      assert.deepEqual([answer.status, answer.text], [401, expected.text], authorization.slice(0, 80))
    }
  }
})

test('malformed HTTP and oversized headers get the usual error body', async (t) => {
  const { url, api } = await start(t)
  const key = await api.key(...scopes)
  const large = await wire(url, 'GET', '/v1/me', { authorization: `Bearer ${key}`, 'x-large': 'x'.repeat(20_000) })
  assertBadRequest(large, 'request: headers too large')
  assert.ok(large.headers.get('x-request-id'))
  assertBadRequest(await wire(url, 'GET', `/v1/me?x=${'y'.repeat(20_000)}`, {}), /^request: /)

  const head = 'Host: x\r\nConnection: close\r\n'
  const post = `POST /v1/contacts HTTP/1.1\r\n${head}Authorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
  const shape =
    /^HTTP\/1\.1 400 .*\r\ncontent-type: application\/json; charset=utf-8\r\nx-request-id: [0-9a-f-]{36}\r\n/i
  for (const text of [
    ...['nonsense\r\n\r\n', `GET /v1/me HTTP/9.9\r\n${head}\r\n`, `GET /v1/me\u0000 HTTP/1.1\r\n${head}\r\n`],
    ...[`GET /v1/é HTTP/1.1\r\n${head}\r\n`, `GET /v1/me HTTP/1.1\r\n${head}X-Nul: a\u0000b\r\n\r\n`],
    ...[`${post}Content-Length: -5\r\n\r\n{}`, `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
    `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    `${post}Transfer-Encoding: nonsense\r\n\r\n{}`,
  ]) {
    const answer = await exchange(url, text)
    assert.match(answer, shape, text)
    assert.equal(JSON.parse(answer.split('\r\n\r\n')[1] ?? '').error.code, 'bad_request', text)
  }
  const homeless = await exchange(url, 'GET /v1/me HTTP/1.1\r\nConnection: close\r\n\r\n')
  assert.match(homeless, /^HTTP\/1\.1 401 /)
  assert.match(homeless, /"code":"unauthorized"/)
  const endless = await exchange(url, `${post}Transfer-Encoding: chunked\r\n\r\n100001\r\n${'x'.repeat(0x100001)}\r\n`)
  assert.match(endless, /^HTTP\/1\.1 400 /)
  assert.match(endless, /body: over 1 MiB/)
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
    socket.on('error', () => {})
    socket.on('close', () => resolve(said))
  })
}

test('random JSON as the body or as any field never causes a 500', async () => {
  const texts = fc.oneof(fc.string({ unit: codePoint, maxLength: 20 }), fc.constantFrom(...odd, ...unstorable))
  const value = fc.oneof(texts, fc.jsonValue({ maxDepth: 4, stringUnit: codePoint }), fc.array(texts, { maxLength: 5 }))
  await onEveryCall(hasBody, async ({ operation, body: schema, valid, send }) => {
    const { path, body: whole } = await valid()
    // The contact that is merged is gone after the first success.
    const isUsedUp = ({ status }: Answer) => status === 404 && operation.operationId === 'mergeContacts'
    const fields = fieldsOf(schema, whole)
    const changes = fc.uniqueArray(fc.tuple(fc.constantFrom(...fields), value), {
      maxLength: 3,
      selector: ([{ path }]) => path,
    })
    // The innermost first, so that each still finds its place.
    const changed = changes.map((all) =>
      all
        .sort(([one], [other]) => other.steps.length - one.steps.length)
        .reduce((body, [{ steps }, value]) => replaced(body, steps, value), whole),
    )
    const loose = fc.dictionary(fc.constantFrom(...Object.keys(whole), '__proto__', 'x'), value)
    const bodies = fc.oneof(value, loose, { weight: 4, arbitrary: changed })
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const answer = await send(json(path, JSON.stringify(body)))
        if (answer.status === 400) assert.match(answer.body.error.message, /^[\w.[\]-]+: \S/)
        else assert.ok(answer.status < 300 || answer.status === 502 || isUsedUp(answer), answer.text)
      }),
      { seed: 20_260_131, numRuns: 10 },
    )
  })
})

test('invalid input to the dashboard routes never causes a 500', async (t) => {
  const { url, owner, api, db, connect } = await start(t)
  const maker = { api, provider: await connect({ messagesPerSecond: 10_000 }), receiver: await startReceiver(t) }
  const browser = await signIn({ url, owner })
  const changed = await make.conversations(maker)
  const answered = await make.conversations(maker)
  const segment = await make.segments(maker)
  const webhook = await make.webhooks(maker)
  const canceled = await make.broadcasts(maker)
  await browser.call('POST', `/broadcasts/${canceled.id}/cancel`)
  const forms: [string, Json, string?][] = [
    [`/conversations/${changed.id}`, { status: 'open', assigned_agent_id: null }, 'PATCH'],
    [`/conversations/${answered.id}/messages`, { type: 'text', text: 'hello', reply_to_message_id: answered.id }],
    [`/conversations/${answered.id}/messages`, { type: 'template', template: { name: 'hello_world', params: [] } }],
    [`/contacts/${changed.contact_id}`, { ...newPerson(), phone: changed.phone, opted_out: true }, 'PATCH'],
    ['/workspace', { name: 'Acme', default_country: 'US', opt_out_words: ['enough'] }, 'PATCH'],
    ['/profile', { name: 'Ann', current_password: 'wrong horse', new_password: 'correct horse' }, 'PATCH'],
    [`/members/${crypto.randomUUID()}`, { role: 'agent' }, 'PATCH'],
    ['/setup', { token: 'x', workspace_name: 'x', default_country: 'US', name: 'x', email: 'x@y.z', password: 'x' }],
    [`/webhooks/${webhook.id}`, { ...newWebhook(), is_active: true }, 'PATCH'],
    ['/webhooks', newWebhook()],
    ['/broadcasts', newBroadcast()],
    ['/broadcasts/preview', newBroadcast()],
    ['/broadcasts/preview', { template: { name: 'hello_world' }, segment_id: segment.id }],
    ['/broadcasts/test', { template: { name: 'hello_world' }, to: nextPhone() }],
    [`/broadcasts/${canceled.id}/again`, { name: nextName() }],
    ['/channels/web', { messages_per_second: 80, base_url: 'https://x.test', api_version: 'v25.0' }, 'PUT'],
    ['/session', { email: 'x@example.com', password: 'correct horse', workspace_id: crypto.randomUUID() }],
    ['/keys', { name: 'Key', scopes: ['contacts:read'] }],
    [`/keys/${crypto.randomUUID()}/revoke`, {}],
    ['/members', { email: 'x@example.com', role: 'agent' }],
    ['/invitations/x', { name: 'Ann', password: 'correct horse' }],
  ]
  const wrong = [null, 5, {}, [], [null], '', ...odd.slice(0, 6)]
  for (const [place, [path, form, method = 'POST']] of forms.entries()) {
    for (const [step, field] of Object.keys(form).entries()) {
      const turn = place + step
      // Wrong guesses are limited, and this test is not about that.
      await db`delete from sign_in_failures`
      const texts = [...someOf(withNul, turn, 1), ...someOf(halves, turn, 1), ...someOf(long, turn, 1)]
      for (const value of [...someOf(wrong, turn, 2), ...texts]) {
        const [sent] = someOf([value, [value]], turn, 1)
        const answer = await browser.call(method, path, { ...form, [field]: sent })
        assert.ok(answer.status < 500, `${path} ${field} = ${JSON.stringify(sent)}: ${answer.text}`)
        if (answer.status >= 400) assert.deepEqual(Object.keys(answer.body.error).sort(), ['code', 'message'])
        if (unstorable.includes(String(value))) assert.equal(answer.status, 400, answer.text)
      }
    }
  }
  for (const path of ['/keys/%00/revoke', `/keys/${'a'.repeat(5_000)}/revoke`, '/keys/%zz/revoke', '/nowhere']) {
    assertRefused(await browser.call('POST', path), 404, 'not_found')
  }
})

test('a length is counted in characters: 80 emoji are 80, however many bytes they take', async (t) => {
  const { api, url, owner, db } = await start(t)
  const browser = await signIn({ url, owner })
  const workspaceOwner = { email: 'other@example.com', password: 'correct horse' }
  const attempts: Record<string, (name: string) => Promise<number>> = {
    segment: async (name) => (await api.post('/segments', { name })).status,
    tag: async (name) => (await api.post('/contacts', { phone: nextPhone(), tags: [name] })).status,
    key: async (name) => (await browser.call('POST', '/keys', { name, scopes: [] })).status,
    workspace: (name) =>
      db
        .begin((sql) => createWorkspace(sql, { name, default_country: 'US', owner: workspaceOwner }))
        .then(
          () => 201,
          (error) => error.status,
        ),
  }
  for (const [what, attempt] of Object.entries(attempts)) {
    assert.equal(await attempt('🙂'.repeat(80)), 201, what)
    assert.equal(await attempt('🙂'.repeat(81)), 400, what)
  }
})

test('for a value that may be one of two objects, the error names the type once', async (t) => {
  const { api } = await start(t)
  for (const rule of ['x', 5, [], true]) {
    const segment = { name: 'x', kind: 'dynamic', filter: { match: 'all', rules: [rule] } }
    assertBadRequest(await api.post('/segments', segment), 'filter.rules[0]: must be an object')
  }
})

test('for a value that may be a list or an object, the error names the fault in the form that was sent', async (t) => {
  const { api } = await start(t)
  for (const [params, message] of [
    ['x', 'template.params: must be an array or an object'],
    [5, 'template.params: must be an array or an object'],
    [['a', 1], 'template.params[1]: must be a string'],
    [{ body: ['a', 1] }, 'template.params.body[1]: must be a string'],
    [{ body: 'a' }, 'template.params.body: must be an array'],
    [{ bodyNamed: { 'a\nb': 5 } }, 'template.params.bodyNamed.a\nb: must be a string'],
    [{ headerLocation: { latitude: '1' } }, 'template.params.headerLocation.longitude: required'],
    [{ cards: [{}, { body: [null] }] }, 'template.params.cards[1].body[0]: must be a string'],
    [{ cards: [{ headerMediaUrl: 'x'.repeat(2001) }] }, /^template\.params\.cards\[0\]\.headerMediaUrl: must have at/],
    [{ body: ['a\0'] }, /^template\.params\.body\[0\]: contains/],
  ] as const) {
    const body = { to: nextPhone(), type: 'template', template: { name: 'x', params } }
    assertBadRequest(await api.post('/messages', body), message)
  }
})
