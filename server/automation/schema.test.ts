import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fc from 'fast-check'
import { describeFile } from './file-schema.ts'
import { describeDefinition } from './schema.ts'
import { anyDefinition, steps, text, triggers } from './test-definitions.ts'

const schema = JSON.parse(JSON.stringify(describeDefinition()))
const reference = 'https://parley.test/docs/automation.schema.json'
const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false })
formats.default(ajv)
const validate = ajv.compile(schema)

const accepts = (definition: unknown) => assert.ok(validate(definition), JSON.stringify([definition, validate.errors]))
const refuses = (definition: unknown) => assert.equal(validate(definition), false, JSON.stringify(definition))
const withSteps = (...list: unknown[]) => ({ trigger: { type: 'manual' }, steps: list })

test('the published schema is a JSON Schema that accepts what the service accepts', () => {
  assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema')
  assert.deepEqual(Object.keys(schema.$defs), ['Steps', 'Step', 'Message', 'Filter'])
  for (const trigger of triggers) accepts({ trigger, steps: [{ type: 'end' }] })
  for (const step of steps) accepts(withSteps(step))
  fc.assert(
    fc.property(anyDefinition, (definition) => accepts(definition)),
    { numRuns: 100, endOnFailure: true },
  )
})

test('a definition and a file may name their schema, and a file has a definition within', () => {
  const validateFile = ajv.compile(JSON.parse(JSON.stringify(describeFile())))
  const examples = globSync('docs/automations/*.json')
  assert.equal(examples.length, 6)
  for (const path of examples) {
    const definition = JSON.parse(readFileSync(path, 'utf8'))
    accepts({ $schema: reference, ...definition })
    const file = { $schema: reference, name: 'x', description: '', position: 0, definition }
    assert.ok(validateFile(file), JSON.stringify(validateFile.errors))
    for (const wrong of [
      { ...file, name: undefined },
      { ...file, state: 'active' },
      { ...file, position: -1 },
    ]) {
      assert.equal(validateFile(JSON.parse(JSON.stringify(wrong))), false)
    }
    assert.equal(validateFile({ ...file, definition: { ...definition, steps: [{ type: 'sned' }] } }), false)
  }
  refuses({ $schema: 1, ...withSteps({ type: 'end' }) })
})

test('the published schema refuses typing errors on every level', () => {
  const filter = (rule: object) => ({ match: 'all', rules: [rule] })
  const button = { id: 'a', title: 'A' }
  const wrong: unknown[] = [
    {},
    { ...withSteps({ type: 'end' }), name: 'x' },
    withSteps(),
    withSteps({ type: 'sned' }),
    withSteps({ type: 'send', mesage: text('x') }),
    withSteps({ type: 'send', message: { type: 'text', txet: 'x' } }),
    withSteps({ type: 'send', message: { type: 'text', text: 'x'.repeat(4097) } }),
    withSteps({
      type: 'send',
      message: { type: 'interactive', interactive: { kind: 'buttons', body: 'x', buttons: [{ ...button, url: 'x' }] } },
    }),
    withSteps({ type: 'send', message: { type: 'template', template: { name: 'x', params: { boddy: [] } } } }),
    withSteps({ type: 'wait', for: '1 hour' }),
    withSteps({ type: 'set' }),
    withSteps({ type: 'set', attributes: { 'A b': 1 } }),
    withSteps({ type: 'ask', message: text('?'), answer: { type: 'text' }, save_as: 'name' }),
    withSteps({ type: 'call', url: 'https://shop.test', save_as: 'contact.attributes.order' }),
    withSteps({ type: 'branch', cases: [{ when: filter({ field: 'shoe', op: 'is', value: 'x' }), steps: [] }] }),
    withSteps({ type: 'branch', cases: [{ when: filter({ field: 'status', op: 'like', value: 'x' }), steps: [] }] }),
    withSteps({ type: 'branch', cases: [{ when: filter({ field: 'tag', op: 'has', value: 'x' }), steps: [{}] }] }),
    { trigger: { type: 'conversation', event: 'reopened' }, steps: [{ type: 'end' }] },
  ]
  for (const definition of wrong) refuses(definition)
  accepts(
    withSteps({
      type: 'branch',
      cases: [{ when: filter({ field: 'answers.order.status', op: 'is_set' }), steps: [] }],
    }),
  )
})

test('every property of the published schema that is no constant is described or named by its values', () => {
  const bare: string[] = []
  const visit = (part: unknown, path: string): void => {
    if (typeof part !== 'object' || part === null) return
    for (const [name, value] of Object.entries(part)) {
      if (name === '$defs' && path === '') for (const each of ['Steps', 'Step']) visit(value[each], `$defs.${each}`)
      else if (name === 'properties') {
        for (const [field, known] of Object.entries<Record<string, unknown>>(value)) {
          const isPlain = ['description', 'enum', 'const', 'oneOf', '$ref'].some((keyword) => keyword in known)
          if (!isPlain) bare.push(`${path}.${field}`)
          visit(known, `${path}.${field}`)
        }
      } else if (name !== '$defs') visit(value, path)
    }
  }
  visit(schema, '')
  assert.deepEqual(bare, [])
})
