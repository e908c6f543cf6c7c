/** The examples of the guides work: every JSON block of a guide is accepted by the call that the guide describes. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { dataOf } from './assertions.ts'
import { filterFields } from './internals.ts'
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
  const rows = [...readFileSync('docs/segments.md', 'utf8').matchAll(/^\| (`[^|]+) \| (`[^|]+) \| (.+) \|$/gm)]
  const namesIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
  const documented = rows.flatMap(([, fields = '', ops = '']) =>
    namesIn(fields).map((field): [string, string[]] => [field, namesIn(ops).sort()]),
  )
  const known = Object.entries(filterFields).map(([field, ops]): [string, string[]] => [field, Object.keys(ops).sort()])
  assert.deepEqual(Object.fromEntries(documented), Object.fromEntries(known))
})

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
