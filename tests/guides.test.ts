/** The examples of the guides work: every JSON block of a guide is accepted by the call that the guide describes. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { filterFields } from './internals.ts'
import { type Json, start, withProvider } from './support.ts'

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
