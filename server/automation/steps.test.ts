import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Definition, Step } from './definition.ts'
import {
  describeStep,
  enterList,
  findStep,
  firstPosition,
  hasQuestions,
  listNested,
  listParents,
  listSteps,
  nextPosition,
} from './steps.ts'
import { anyDefinition, buttons, steps, text } from './test-definitions.ts'

const note = (value: string): Step => ({ type: 'note', text: value })
const isOpen = { match: 'all' as const, rules: [{ field: 'status', op: 'is', value: 'open' }] }
const ask: Step = {
  ...{ type: 'ask', message: buttons, answer: { type: 'choice' }, save_as: 'answers.topic' },
  timeout: { after: '1h', steps: [note('late')] },
  on_error: [note('failed')],
}
const definition: Definition = {
  trigger: { type: 'manual' },
  steps: [
    note('first'),
    ask,
    {
      type: 'branch',
      cases: [
        { when: isOpen, steps: [note('a'), ask] },
        { when: isOpen, steps: [] },
      ],
      otherwise: [note('b')],
    },
    note('last'),
  ],
}

test('every step has a position and a JSON path', () => {
  assert.deepEqual(
    listSteps(definition).map(({ position, path, depth }) => [position, path, depth]),
    [
      ['0', 'steps[0]', 0],
      ['1', 'steps[1]', 0],
      ['1.timeout.0', 'steps[1].timeout.steps[0]', 1],
      ['1.on_error.0', 'steps[1].on_error[0]', 1],
      ['2', 'steps[2]', 0],
      ['2.cases.0.0', 'steps[2].cases[0].steps[0]', 1],
      ['2.cases.0.1', 'steps[2].cases[0].steps[1]', 1],
      ['2.cases.0.1.timeout.0', 'steps[2].cases[0].steps[1].timeout.steps[0]', 2],
      ['2.cases.0.1.on_error.0', 'steps[2].cases[0].steps[1].on_error[0]', 2],
      ['2.otherwise.0', 'steps[2].otherwise[0]', 1],
      ['3', 'steps[3]', 0],
    ],
  )
})

test('a run goes on after the step whose list has ended', () => {
  const next = (position: string) => nextPosition(definition, position)
  assert.deepEqual(['0', '1', '2', '3'].map(next), ['1', '2', '3', undefined])
  assert.deepEqual([next('1.timeout.0'), next('1.on_error.0'), next('2.otherwise.0')], ['2', '2', '3'])
  assert.deepEqual([next('2.cases.0.0'), next('2.cases.0.1'), next('2.cases.0.1.timeout.0')], ['2.cases.0.1', '3', '3'])
  const enter = (list: string) => enterList(definition, '2', list)
  assert.deepEqual([enter('cases.0'), enter('cases.1'), enter('otherwise')], ['2.cases.0.0', '3', '2.otherwise.0'])
  assert.equal(enterList({ steps: [{ type: 'send', message: text('x'), on_error: [] }] }, '0', 'on_error'), undefined)
  const parents = listParents(definition, '2.cases.0.1.timeout.0').map(({ position }) => position)
  assert.deepEqual(parents, ['2', '2.cases.0.1'])
  assert.deepEqual(listParents(definition, '0'), [])
})

test('a position that the definition does not have is not found', () => {
  const wrong = [
    '',
    '4',
    '-1',
    '01',
    '1.0',
    '1.timeout',
    '1.timeout.1',
    '2.cases',
    '2.cases.0',
    '2.cases.2.0',
    '2.cases..0',
  ]
  const further = [
    '0.on_error.0',
    '2.constructor.0',
    '2.__proto__.0',
    'length',
    '0.',
    '1e0',
    '99999999999999999999',
    '2.otherwise.0.0',
  ]
  for (const position of [...wrong, ...further]) {
    assert.equal(findStep(definition, position), undefined, position)
    assert.equal(nextPosition(definition, position), undefined, position)
  }
})

test('walking through every list visits every step once', () => {
  fc.assert(
    fc.property(anyDefinition, (any) => {
      const all = listSteps(any)
      for (const placed of all) assert.deepEqual(findStep(any, placed.position), placed)
      const visited: string[] = []
      // Each list is entered once, and left where the run goes on after the step around it.
      const walk = (start: string | undefined, end: string | undefined): void => {
        for (let at = start; at !== undefined && at !== end; at = nextPosition(any, at)) {
          visited.push(at)
          const step = findStep(any, at)?.step
          for (const { list } of step ? listNested(step) : []) walk(enterList(any, at, list), nextPosition(any, at))
        }
      }
      walk(firstPosition, undefined)
      assert.deepEqual(
        visited,
        all.map(({ position }) => position),
      )
    }),
    { numRuns: 200, endOnFailure: true },
  )
})

test('an automation has questions if a step on any level asks', () => {
  assert.equal(hasQuestions(definition), true)
  assert.equal(hasQuestions({ steps: [note('a')] }), false)
  assert.equal(hasQuestions({ steps: [{ type: 'send', message: text('x'), on_error: [ask] }] }), true)
})

test('a step is described on one short line', () => {
  const described = steps.map(describeStep)
  for (const line of described) assert.ok([...line].length <= 80 && !line.includes('\n') && line === line.trim(), line)
  assert.equal(describeStep(ask), 'ask choice: buttons: How can we help?')
  assert.equal(describeStep(note('a\n  b')), 'note a b')
  assert.equal([...describeStep(note('👍'.repeat(100)))].length, 80)
  assert.deepEqual(described.slice(0, 2), ['send Hello {{contact.name|there}}', 'send buttons: How can we help?'])
  assert.ok(described.includes('wait 90d') && described.includes('end') && described.includes('branch VIP, case 2'))
})
