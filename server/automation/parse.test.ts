import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertCheap } from '../../tests/cpu.ts'
import type { Step } from './definition.ts'
import { automationFields } from './fields.ts'
import { parseDefinition } from './parse.ts'
import { anyDefinition, messages, steps, text, triggers } from './test-definitions.ts'
import { ask, branch, isOpen, malformed, many, nest, say, withSteps, withTrigger } from './test-malformed.ts'

const parse = (input: unknown) => parseDefinition(input, automationFields)
const toText = (value: unknown) => JSON.stringify(value, null, 2)

test('a malformed definition is refused with the path and the rule of its first fault', () => {
  assert.ok(new Set(malformed.map(([input]) => JSON.stringify(input))).size >= 60)
  for (const [input, message] of malformed) {
    assert.throws(
      () => parse(input),
      (error: Error & { code?: string }) => {
        assert.deepEqual([error.message, error.code], [message, 'bad_request'])
        return true
      },
      JSON.stringify(input)?.slice(0, 300),
    )
  }
})

test('every trigger, message and step is accepted as it is', () => {
  for (const trigger of triggers) {
    const definition = withTrigger(trigger)
    assert.equal(toText(parse(definition)), toText(definition))
  }
  for (const step of steps) {
    const definition = withSteps(step)
    assert.equal(toText(parse(definition)), toText(definition))
  }
  const conditions = {
    match: 'all',
    rules: [
      { field: 'message.text', op: 'contains', value: 'refund' },
      { field: 'attributes.plan', op: 'is', value: 'pro' },
      { match: 'any', rules: [{ field: 'channel', op: 'has', value: 'web' }, isOpen] },
    ],
  }
  const definition = { trigger: { type: 'message' }, conditions, steps: [{ type: 'end' }] }
  assert.equal(toText(parse(definition)), toText(definition))
  assert.equal(messages.length, 12)
  parse(withSteps(...nest(8)))
  parse(withSteps(...many(200)))
})

test('a step may use the answers of the steps before it, also of those of a branch', () => {
  const ways: Step[][] = [
    [{ type: 'ask', message: text('?'), answer: { type: 'text' }, save_as: 'answers.a' }],
    [{ type: 'ask', message: text('?'), answer: { type: 'text' }, save_as: 'contact.attributes.a' }],
    [{ type: 'call', url: 'https://shop.test', save_as: 'answers.a' }],
    [branch(isOpen, [ask({})]) as Step],
    [{ type: 'send', message: text('x'), on_error: [ask({}) as Step] }],
    [ask({ save_as: 'answers.b', timeout: { after: '1h', steps: [ask({})] } }) as Step],
  ]
  for (const way of ways) {
    const uses = [
      say('{{answers.a.status|none}}'),
      branch({ field: 'answers.a', op: 'gt', value: '2' }, [say('{{answers.a}}')]),
    ]
    parse(withSteps(...way, ...uses))
  }
})

test('the canonical form has the fields in the documented order, trimmed and without empty ones', () => {
  const input = {
    steps: [
      { message: { filename: '', text: '', media_url: ' https://x.test/a.pdf ', type: 'document' }, type: 'send' },
      { remove_tags: [' a ', 'A', 'b'], attributes: { z: 1, b: null }, type: 'set', status: 'closed' },
      {
        type: 'branch',
        cases: [
          {
            steps: [],
            when: {
              rules: [
                { value: '', op: 'is_set', field: 'email' },
                { rules: [isOpen], op: 'any', field: 'group' },
              ],
              match: 'all',
            },
          },
        ],
      },
    ],
    trigger: { label: ' Refund ', event: 'label_added', type: 'conversation' },
  }
  const rules = [
    { field: 'email', op: 'is_set' },
    { match: 'any', rules: [isOpen] },
  ]
  const canonical = {
    trigger: { type: 'conversation', event: 'label_added', label: 'Refund' },
    steps: [
      { type: 'send', message: { type: 'document', media_url: 'https://x.test/a.pdf' } },
      { type: 'set', status: 'closed', remove_tags: ['a', 'b'], attributes: { z: 1, b: null } },
      { type: 'branch', cases: [{ when: { match: 'all', rules }, steps: [] }] },
    ],
  }
  assert.equal(toText(parse(input)), toText(canonical))
})

/** The same value with the fields of every object in another order. */
function reverseFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseFields)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, field]) => [name, reverseFields(field)])
      .reverse(),
  )
}

test('the canonical form of a canonical form is the same, in any order of its fields', () => {
  fc.assert(
    fc.property(anyDefinition, (definition) => {
      const first = toText(parse(definition))
      assert.equal(toText(parse(JSON.parse(first))), first)
      // The order of named values is the caller's.
      if (!first.includes('"attributes": {') && !first.includes('"bodyNamed"')) {
        assert.equal(toText(parse(reverseFields(JSON.parse(first)))), first)
      }
    }),
    { numRuns: 200, endOnFailure: true },
  )
})

test('a hostile definition takes linear work', async () => {
  const words = ['{{contact.', '{{ ', '{{answers.a|', '{{', ' ', 'a', 'é', '\u0300', '.', '//', '{{contact.name}}']
  const fill = (word: string, length: number) =>
    word
      .repeat(Math.ceil(length / word.length))
      .slice(0, length)
      .toWellFormed()
  const tries = (input: unknown) => () => {
    try {
      parse(input)
    } catch {}
  }
  for (const word of words) {
    const long = fill(word, 65_536)
    const shapes: unknown[] = [
      withSteps(...many(8, say(fill(word, 4_000)))),
      withSteps(...many(8, { type: 'note', text: fill(word, 4_000) })),
      withSteps({ type: 'call', url: `https://${long}` }),
      withSteps({ type: 'wait', for: long }),
      withSteps(ask({ save_as: `answers.${long}` })),
      withSteps(branch({ field: `answers.${long}`, op: long, value: long })),
      withSteps({ type: 'set', attributes: { [long]: long }, add_tags: [long] }),
      withSteps({ [long]: 1 }),
      withTrigger({ type: 'message', contains: [fill(word, 100)] }),
      long,
    ]
    for (const shape of shapes) await assertCheap(JSON.stringify(shape).slice(0, 90), 2, tries(shape), 3)
  }
  let deep: unknown = []
  for (let i = 0; i < 5_000; i++) deep = [branch(isOpen, deep as unknown[])]
  await assertCheap('5,000 levels', 2, tries(withSteps(...(deep as unknown[]))), 3)
  await assertCheap(
    '100,000 unknown fields',
    20,
    tries(withSteps(Object.fromEntries(many(100_000).map((_, i) => [`a${i}`, i])))),
    3,
  )
  await assertCheap(
    '200 steps that save and use answers',
    2,
    tries(withSteps(...many(66, [ask({}), say('{{answers.a}}'.repeat(9)), branch(isOpen, [ask({})])]).flat())),
    3,
  )
})

test('the examples in the documents are canonical', () => {
  const files = globSync('docs/automations/*.json')
  assert.equal(files.length, 6)
  for (const file of files) {
    const content = readFileSync(file, 'utf8')
    assert.equal(content, `${toText(parse(JSON.parse(content)))}\n`, file)
  }
})

test('the address of the schema is accepted at the top of a definition, and is no part of it', () => {
  const definition = { trigger: { type: 'manual' }, steps: [{ type: 'end' }] }
  const named = { $schema: 'https://parley.test/docs/automation.schema.json', ...definition }
  assert.equal(JSON.stringify(parseDefinition(named, automationFields)), JSON.stringify(definition))
  assert.throws(() => parseDefinition({ ...named, $schema: 1 }, automationFields), { message: /unknown field/ })
  const within = { ...definition, steps: [{ $schema: 'x', type: 'end' }] }
  assert.throws(() => parseDefinition(within, automationFields), { message: /^steps\[0\]: has an unknown field/ })
})
