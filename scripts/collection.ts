/**
 * `npm run collection` generates `docs/parley.postman_collection.json` from the OpenAPI document: all operations with examples, in
 * the format of Postman (v2.1), which Bruno, Insomnia and other programs import. A test checks that the file is current.
 *
 * The requests run from top to bottom with nothing but `base_url` and `api_key`: a request that creates something stores its id in
 * a variable, later requests use it, and the last folder deletes what the others created. The event stream never ends, so it is in
 * a collection of its own. Optional query parameters and headers are present but disabled.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ApiDocument, type ApiOperation, describeService } from './describe-service.ts'

const docs = join(import.meta.dirname, '../docs')
export const collectionFile = join(docs, 'parley.postman_collection.json')
export const streamCollectionFile = join(docs, 'parley-events.postman_collection.json')

/** Numbers that are reserved for fiction. The last folder erases the contact. */
const phone = '+12025550143'
const otherPhone = '+12025550144'

type Step = {
  operation: string
  /** Replaces the example of the document. */
  body?: object
  /** Variables and the expressions of their values, where `body` is the response. */
  stores?: Record<string, string>
  /** Variables that are set before the request. */
  before?: Record<string, string>
  /** Query parameters that are enabled, with their values. */
  query?: Record<string, string>
}
type Folder = { name: string; description: string; steps: (Step | string)[] }

const template = { name: 'order_confirmed', params: ['Ada', 'A-10042'] }
const definition = { trigger: { type: 'manual' }, steps: [{ type: 'note', text: 'Started by hand.' }] }
const tomorrow = 'new Date(Date.now() + 86400000).toISOString()'

/** The order of a run. An operation that is not listed is at the end of the folder of its tag. */
const folders: readonly Folder[] = [
  { name: 'Account', description: 'What the key is and may do.', steps: ['getMe', 'getUsage'] },
  {
    name: 'Webhooks',
    description: 'An endpoint for the events of the next requests. Set `webhook_url` to a server of yours to see them.',
    steps: [
      {
        operation: 'createWebhook',
        body: { url: '{{webhook_url}}', events: ['contact.created', 'message.status_updated'] },
        stores: { webhook_id: 'body.data.id' },
      },
      'listWebhooks',
      'getWebhook',
      'updateWebhook',
      'rotateWebhookSecret',
    ],
  },
  {
    name: 'Contacts',
    description: 'Contacts and tags.',
    steps: [
      {
        operation: 'createContact',
        body: { phone, name: 'Ada Lovelace', tags: ['vip'], attributes: { plan: 'pro' }, if_exists: 'update' },
        stores: { contact_id: 'body.data.id' },
      },
      {
        operation: 'createContacts',
        body: { contacts: [{ phone, company: 'Analytical Engines', if_exists: 'update' }, { phone: otherPhone }] },
        stores: { other_contact_id: 'body.data[1].id' },
      },
      'listContacts',
      'getContact',
      'updateContact',
      { operation: 'mergeContacts', body: { contact_id: '{{other_contact_id}}' } },
      'listTags',
    ],
  },
  {
    name: 'Segments',
    description: 'Named audiences of contacts.',
    steps: [
      {
        operation: 'createSegment',
        body: { name: 'Regulars {{$timestamp}}', description: 'Ordered at least twice this year' },
        stores: { segment_id: 'body.data.id' },
      },
      'listSegments',
      'getSegment',
      { operation: 'updateSegment', body: { description: 'Ordered at least three times this year' } },
      { operation: 'addSegmentContacts', body: { contact_ids: ['{{contact_id}}'] } },
      'listSegmentContacts',
      { operation: 'removeSegmentContacts', body: { contact_ids: ['{{contact_id}}'] } },
    ],
  },
  {
    name: 'Templates',
    description: 'The templates of the channel.',
    steps: [
      {
        operation: 'listTemplates',
        stores: { template_name: 'body.data[0].name', template_language: 'body.data[0].language' },
      },
      { operation: 'getTemplate', query: { language: '{{template_language}}' } },
    ],
  },
  {
    name: 'Messages',
    description: 'Sends a template of the demo. For another workspace, change its name and values.',
    steps: [
      { operation: 'checkMessage', body: { to: phone, type: 'template', template } },
      {
        operation: 'sendMessage',
        body: { to: phone, type: 'template', template },
        stores: { message_id: 'body.data.message_id', conversation_id: 'body.data.conversation_id' },
      },
      'getMessage',
    ],
  },
  {
    name: 'Conversations',
    description: 'The conversation of that message. Text and buttons need a message of the customer within 24 hours.',
    steps: [
      { operation: 'listConnections', stores: { connection_id: 'body.data[0].id' } },
      'getConnection',
      'listConversations',
      'getConversation',
      'listMessages',
      { operation: 'replyToConversation', body: { type: 'template', template } },
      {
        operation: 'scheduleMessage',
        before: { tomorrow },
        body: { type: 'template', template, send_at: '{{tomorrow}}' },
        stores: { scheduled_message_id: 'body.data.id' },
      },
      'listScheduledMessages',
      'getScheduledMessage',
      { operation: 'updateScheduledMessage', body: { hold_if_customer_writes: true } },
      'cancelScheduledMessage',
      'readConversation',
      'updateConversation',
      'createNote',
      'listNotes',
      'listMembers',
      'listTeams',
    ],
  },
  {
    name: 'Reports',
    description: 'The figures of the last 30 days.',
    steps: [
      { operation: 'getReport', before: { report_name: "'members'" } },
      ...['getSatisfactionReport', 'getTargetsReport', 'getAvailabilityReport'],
    ],
  },
  {
    name: 'Automations',
    description: 'An automation that is started by hand on that conversation and adds a note.',
    steps: [
      { operation: 'checkAutomation', body: definition },
      {
        operation: 'createAutomation',
        body: { name: 'Example {{$timestamp}}', definition },
        stores: { automation_id: 'body.data.id' },
      },
      { operation: 'updateAutomation', body: { description: 'Adds a note.' } },
      { operation: 'saveAutomationDraft', body: definition },
      { operation: 'dryRunAutomation', body: { days: 7, definition: { ...definition, trigger: { type: 'message' } } } },
      'publishAutomation',
      {
        operation: 'startAutomation',
        body: { conversation_ids: ['{{conversation_id}}'] },
        stores: { automation_run_id: 'body.data[0].run_id' },
      },
      'getAutomationRun',
      'listAutomationRuns',
      'takeOverConversation',
      { operation: 'pauseAutomation', body: { end_runs: true } },
    ],
  },
  {
    name: 'Broadcasts',
    description:
      'A draft that is deleted, and one that is scheduled for tomorrow and then canceled, so nothing is sent.',
    steps: [
      { operation: 'checkBroadcast', body: { name: 'Summer news', template, recipients: [{ to: phone }] } },
      {
        operation: 'createBroadcast',
        body: { name: 'A draft', template, draft: true },
        stores: { broadcast_id: 'body.data.id' },
      },
      'deleteBroadcast',
      {
        operation: 'createBroadcast',
        before: { tomorrow },
        body: { name: 'Summer news', template, scheduled_at: '{{tomorrow}}', draft: true },
        stores: { broadcast_id: 'body.data.id' },
      },
      { operation: 'addBroadcastRecipients', body: { recipients: [{ to: phone, params: ['Ada', 'A-10042'] }] } },
      'startBroadcast',
      'listBroadcasts',
      'getBroadcast',
      'listBroadcastRecipients',
      'pauseBroadcast',
      'resumeBroadcast',
      'cancelBroadcast',
    ],
  },
  {
    name: 'Webhook deliveries',
    description: 'The events of the requests above.',
    steps: [{ operation: 'listWebhookDeliveries', stores: { delivery_id: 'body.data[0].id' } }, 'redeliverWebhook'],
  },
  {
    name: 'Clean up',
    description: 'Deletes what the requests above created.',
    steps: ['deleteAutomation', 'deleteSegment', 'deleteWebhook', 'deleteContact'],
  },
]

const streams = ['streamEvents']

const auth = { type: 'bearer', bearer: [{ key: 'token', value: '{{api_key}}', type: 'string' }] }
const settings = [
  { key: 'base_url', value: 'http://127.0.0.1:4000/v1', type: 'string' },
  { key: 'api_key', value: '', type: 'string' },
]
const schema = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json'

type Located = { method: string; path: string; operation: ApiOperation }

export async function describeCollection(): Promise<string> {
  const { document } = await describeService()
  const operations = listOperations(document)
  const listed = new Set(folders.flatMap(({ steps }) => steps.map((step) => toStep(step).operation)).concat(streams))
  const item = folders.map(({ name, description, steps }) => {
    const rest = operations.filter(({ operation }) => operation.tags[0] === name && !listed.has(operation.operationId))
    const all = [...steps, ...rest.map(({ operation }) => operation.operationId)].map(toStep)
    return { name, description, item: all.map((step) => describeItem(requireOperation(operations, step), step)) }
  })
  const stored = new Set(folders.flatMap(({ steps }) => steps.flatMap((step) => namesOf(toStep(step)))))
  const { title: name, description } = document.info
  const variable = [
    ...settings,
    { key: 'webhook_url', value: 'https://example.com/hooks/parley', type: 'string' },
    ...Array.from(stored, (key) => ({ key, value: '', type: 'string' })),
  ]
  return toText({ info: { name, description, schema }, item, auth, variable })
}

/** The event stream as a collection of its own: a run of all requests would never end. */
export async function describeStreamCollection(): Promise<string> {
  const { document } = await describeService()
  const operations = listOperations(document)
  const item = streams.map((operation) => describeItem(requireOperation(operations, { operation }), { operation }))
  const description = 'The event stream. It never ends: close the request.'
  return toText({
    info: { name: `${document.info.title}: events`, description, schema },
    item,
    auth,
    variable: settings,
  })
}

const toText = (collection: object): string => `${JSON.stringify(collection, null, 2)}\n`

const toStep = (step: Step | string): Step => (typeof step === 'string' ? { operation: step } : step)

const namesOf = ({ stores = {}, before = {} }: Step): string[] => [...Object.keys(stores), ...Object.keys(before)]

const listOperations = ({ paths }: ApiDocument): Located[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )

function requireOperation(operations: readonly Located[], step: Step): Located {
  const found = operations.find(({ operation }) => operation.operationId === step.operation)
  if (!found) throw new Error(`the API has no operation ${step.operation}`)
  return found
}

function describeItem(located: Located, step: Step): object {
  const { operation } = located
  const request = describeRequest(located, step)
  const event = describeScripts(step)
  const scripts = event.length > 0 ? { event } : {}
  return { name: operation.summary, ...scripts, request, response: describeResponse(request, operation) }
}

/**
 * Scripts of Postman that set variables before the request and store those of a successful response. Postman declares `data`,
 * `request`, `globals` and others itself, so a script that declares one of them does not run.
 */
function describeScripts({ before = {}, stores = {} }: Step): object[] {
  const set = (values: Record<string, string>) =>
    Object.entries(values).map(([name, value]) => `pm.collectionVariables.set('${name}', ${value})`)
  const script = (listen: string, exec: string[]) => ({ listen, script: { type: 'text/javascript', exec } })
  return [
    ...(Object.keys(before).length > 0 ? [script('prerequest', set(before))] : []),
    ...(Object.keys(stores).length > 0 ? [script('test', ['const body = pm.response.json()', ...set(stores)])] : []),
  ]
}

/** The variable of a path parameter: `/contacts/{id}` takes `contact_id`, `/templates/{name}` takes `template_name`. */
function variableOf(path: string, name: string): string {
  const resource = path.split('/')[1]?.replace(/s$/, '').replaceAll('-', '_')
  return name === 'id' || name === 'name' ? `${resource}_${name}` : name
}

function describeRequest({ method, path, operation }: Located, step: Step): object {
  const { parameters = [], requestBody, description = '', responses } = operation
  const body = requestBody && (step.body ?? requestBody.content['application/json'].example)
  const isStream = 'text/event-stream' in (responses['200']?.content ?? {})
  const listed = (place: string) => parameters.filter((parameter) => parameter.in === place)
  const query = listed('query').map(({ name, description = '' }) => ({
    key: name,
    value: step.query?.[name] ?? '',
    description,
    disabled: step.query?.[name] === undefined,
  }))
  const variable = listed('path').map(({ name, description = '' }) => ({
    key: name,
    value: `{{${variableOf(path, name)}}}`,
    description,
  }))
  const segments = path.slice(1).replace(/\{(\w+)\}/g, ':$1')
  const enabled = query.filter(({ disabled }) => !disabled).map(({ key, value }) => `${key}=${value}`)
  return {
    method,
    header: [
      ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
      ...(isStream ? [{ key: 'Accept', value: 'text/event-stream' }] : []),
      ...listed('header').map(({ name, description = '' }) => ({
        key: name,
        // Postman and Bruno replace it by a new UUID.
        value: name === 'Idempotency-Key' ? '{{$guid}}' : '',
        description,
        disabled: true,
      })),
    ],
    url: {
      raw: `{{base_url}}/${segments}${enabled.length > 0 ? `?${enabled.join('&')}` : ''}`,
      host: ['{{base_url}}'],
      path: segments.split('/'),
      ...(query.length > 0 ? { query } : {}),
      ...(variable.length > 0 ? { variable } : {}),
    },
    ...(body === undefined
      ? {}
      : { body: { mode: 'raw', raw: JSON.stringify(body, null, 2), options: { raw: { language: 'json' } } } }),
    description,
  }
}

/** The example of the first successful response. */
function describeResponse(originalRequest: object, { responses }: ApiOperation): object[] {
  const [success] = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  const [status = '', response] = success ?? []
  const example = response?.content['application/json']?.example
  if (example === undefined) return []
  return [
    {
      name: response?.description ?? status,
      originalRequest,
      status: statusTexts[status] ?? '',
      code: Number(status),
      _postman_previewlanguage: 'json',
      header: [{ key: 'Content-Type', value: 'application/json; charset=utf-8' }],
      body: JSON.stringify(example, null, 2),
    },
  ]
}

const statusTexts: Record<string, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted' }

if (import.meta.main) {
  writeFileSync(collectionFile, await describeCollection())
  writeFileSync(streamCollectionFile, await describeStreamCollection())
}
