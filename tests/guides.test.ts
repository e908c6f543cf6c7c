/** The examples of the guides work: every JSON block of a guide is accepted by the call that the guide describes. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { dataOf } from './assertions.ts'
import { automationFields, endReasons, filterFields } from './internals.ts'
import { type Json, signIn, start, withProvider } from './support.ts'

const readBlocks = (document: string): string[] =>
  [...readFileSync(document, 'utf8').matchAll(/```json\n(.*?)```/gs)].map(([, block = '']) => block)

test('every message of the guide about sending is accepted', async (t) => {
  const { api, provider } = await withProvider(start(t))
  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'Where is it?' })
  const { body: conversations } = await api.get('/conversations')
  const { body: messages } = await api.get(`/conversations/${conversations.data[0].id}/messages`)
  const blocks = readBlocks('docs/send-messages.md')
  const types = new Set<string>()
  const templates = new Set<string>()
  for (const block of blocks) {
    const message: Json = JSON.parse(block.replaceAll('MESSAGE_ID', messages.data[0].id))
    const { status, body } = await api.post('/messages/check', message)
    assert.equal(status, 200, `${block}\n${JSON.stringify(body)}`)
    types.add(message.interactive?.kind ?? message.type ?? 'text')
    if (message.template) templates.add(message.template.name)
  }
  const kinds = ['audio', 'buttons', 'document', 'image', 'link', 'list', 'location', 'reaction', 'template', 'text']
  assert.deepEqual([...types].sort(), kinds)
  const seeded = ['appointment', 'offer_carousel', 'order_code', 'order_confirmed', 'order_update']
  assert.deepEqual([...templates].sort(), seeded)
})

test('every filter of the guide about segments is accepted, and its table has all fields and ops', async (t) => {
  const { api } = await start(t)
  const blocks = readBlocks('docs/segments.md')
  assert.ok(blocks.length >= 4)
  for (const [index, block] of blocks.entries()) {
    const segment = { name: `Segment ${index}`, kind: 'dynamic', filter: JSON.parse(block) }
    const { status, body } = await api.post('/segments', segment)
    assert.equal(status, 201, `${block}\n${JSON.stringify(body)}`)
  }
  assert.deepEqual(readFields(readFileSync('docs/segments.md', 'utf8')), opsOf(filterFields))
})

const namesIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)

/** The fields of a table of the guide with their ops. */
const readFields = (guide: string): Record<string, string[]> =>
  Object.fromEntries(
    [...guide.matchAll(/^\| (`[^|]+) \| (`[^|]+) \| (.+) \|$/gm)].flatMap(([, fields = '', ops = '']) =>
      namesIn(fields).map((field): [string, string[]] => [field, namesIn(ops).sort()]),
    ),
  )

const opsOf = (fields: Record<string, object>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(fields).map(([field, ops]) => [field, Object.keys(ops).sort()]))

test('the guide about automation has all triggers, fields, steps and reasons, and its examples are accepted', async (t) => {
  const { api, url } = await start(t)
  const guide = readFileSync('docs/automation.md', 'utf8')
  const sectionOf = (title: string) =>
    new RegExp(`^## ${title}\\n(.*?)(?=^## |$(?![\\s\\S]))`, 'ms').exec(guide)?.[1] ?? ''
  const commands = [...guide.matchAll(/-d '(\{.*?)'/gs)].map(([, body = '']) => JSON.parse(body).definition)
  const files = namesOfFiles(guide).map((file) => JSON.parse(readFileSync(`docs/${file}`, 'utf8')))
  const blocks = readBlocks('docs/automation.md').map((block) => JSON.parse(block))
  assert.deepEqual([commands.length, files.length, blocks.length], [1, 6, 1])
  for (const definition of [...commands, ...files, ...blocks]) dataOf(await api.post('/automations/check', definition))

  const schema: Json = JSON.parse(readFileSync('sdk/automation.schema.json', 'utf8'))
  const typesOf = ({ oneOf }: Json): string[] => oneOf.map(({ properties }: Json) => properties.type.const)
  const firstCells = (section: string) =>
    [...section.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)].flatMap(([, cell = '']) => namesIn(cell))
  const [steps = '', answers = ''] = sectionOf('Steps').split('`answer` says')
  assert.deepEqual(firstCells(sectionOf('Triggers')).slice(1), typesOf(schema.properties.trigger))
  assert.deepEqual(firstCells(steps).slice(1), typesOf(schema.$defs.Step))
  const { answer } = schema.$defs.Step.oneOf[1].properties
  assert.deepEqual(firstCells(answers), typesOf(answer))
  assert.deepEqual(firstCells(sectionOf('What ends a run')).slice(1), endReasons)
  const fields = { ...opsOf(filterFields), ...readFields(sectionOf('Conditions')) }
  assert.deepEqual(fields, opsOf(automationFields))
  const { paths }: Json = await (await fetch(`${url}/openapi.json`)).json()
  const described = sectionOf('API')
  for (const path of Object.keys(paths).filter((each) => each.includes('automation'))) {
    const name = path.replace('/automations/{id}/pause', '…/pause')
    assert.ok(described.includes(name.startsWith('…') ? name : `/v1${name}`), path)
  }
})

const namesOfFiles = (guide: string): string[] =>
  [...guide.matchAll(/\]\((automations\/[\w-]+\.json)\)/g)].map(([, file = '']) => file)

test('the identity tokens of the examples for Node and Python are accepted', async (t) => {
  const { api, url, connect, ...world } = await start(t)
  const siteId = (await connect({ workspaceId: api.workspaceId })).connections.web.id
  const browser = await signIn({ url, ...world })
  const { secret } = dataOf(await browser.call('POST', '/channels/web/identity-secret'), 201)
  const guide = readFileSync('docs/web-chat.md', 'utf8')
  const blockOf = (start: string) =>
    new RegExp(`\`\`\`${start}.*?\`\`\``, 's').exec(guide)?.[0].replace(/^.*\n|```$/g, '') ?? ''
  const customer = { id: 4711, name: 'Ann Lee', email: 'ann@example.com' }
  const script = `${blockOf('js\nimport')}\nexport { identityToken }`
  const { identityToken } = await import(`data:text/javascript,${encodeURIComponent(script)}`)
  const python = `${blockOf('python')}\nimport sys\nprint(identity_token(sys.argv[1], json.loads(sys.argv[2])))`
  const run = spawnSync('python3', ['-c', python, secret, JSON.stringify(customer)], { encoding: 'utf8' })
  const tokens: string[] = [identityToken(secret, customer), ...(run.error ? [] : [run.stdout.trim()])]
  const visitors = tokens.map(async (token) => {
    const response = await fetch(`${url}/web-chat/${siteId}/identity`, {
      method: 'POST',
      headers: { origin: 'https://shop.test', 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    })
    const body: Json = await response.json()
    assert.equal(response.status, 201, JSON.stringify(body))
    return body.data.visitor_id
  })
  assert.equal(new Set(await Promise.all(visitors)).size, 1)
})
