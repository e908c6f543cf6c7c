/** The model of the editor of automations: the tree and its edits, undo, lines, answers, faults, differences. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { answersBefore, newAnswerName, renameReferences } from '../dashboard/src/automations/editor/model/answers.ts'
import { type Definition, isDefinition, type Step } from '../dashboard/src/automations/editor/model/definition.ts'
import { describeStep, describeTrigger, toText } from '../dashboard/src/automations/editor/model/describe.ts'
import { compare } from '../dashboard/src/automations/editor/model/diff.ts'
import { readFault } from '../dashboard/src/automations/editor/model/fault.ts'
import { commit, redo, startHistory, undo } from '../dashboard/src/automations/editor/model/history.ts'
import { casesOf } from '../dashboard/src/automations/editor/model/new-step.ts'
import { retitle, toKind, usedIds } from '../dashboard/src/automations/editor/model/options.ts'
import {
  canMove,
  changeList,
  changeStep,
  duplicateStep,
  insertStep,
  listSteps,
  moveStep,
  removeStep,
  stepAt,
} from '../dashboard/src/automations/editor/model/tree.ts'

const noNames = new Map<string, string>()
const note = (text: string): Step => ({ type: 'note', text })
const filter = { match: 'all' as const, rules: [{ field: 'tag', op: 'has', value: 'VIP' }] }
const define = (...steps: Step[]): Definition => ({ trigger: { type: 'message' }, steps })
const branch = (...lists: Step[][]): Step => ({
  type: 'branch',
  cases: lists.map((steps) => ({ when: filter, steps })),
})

/** The notes of a definition in their order, each with the id of its step. */
const notesOf = (definition: Definition): string[] =>
  listSteps(definition).flatMap(({ id, step }) => (step.type === 'note' ? `${step.text} ${id}` : []))

const examples = readdirSync('docs/automations').map((name) => {
  const read: unknown = JSON.parse(readFileSync(`docs/automations/${name}`, 'utf8'))
  assert.ok(isDefinition(read), name)
  return read
})

test('every example is a definition that the outline can show, and has a line for each step', () => {
  for (const example of examples) {
    assert.ok(describeTrigger(example.trigger).startsWith('When '))
    for (const { step } of listSteps(example)) assert.ok(toText(describeStep(step, noNames)).length > 3)
  }
  assert.equal(isDefinition({ trigger: { type: 'message' }, steps: [{ type: 'wait' }] }), false)
  assert.equal(isDefinition({ trigger: { type: 'message' }, steps: [{ type: 'dance' }] }), false)
  assert.equal(isDefinition([]), false)
})

test('steps have the paths of the errors of the service', () => {
  const definition = define(note('a'), {
    ...{ type: 'ask', message: { type: 'text', text: '?' }, answer: { type: 'text' }, save_as: 'answers.a' },
    timeout: { after: '1h', steps: [note('late')] },
    on_error: [branch([note('b')], [note('c')])],
  })
  assert.deepEqual(notesOf(definition), [
    'a steps[0]',
    'late steps[1].timeout.steps[0]',
    'b steps[1].on_error[0].cases[0].steps[0]',
    'c steps[1].on_error[0].cases[1].steps[0]',
  ])
  for (const { id, step } of listSteps(definition)) assert.equal(stepAt(definition, id), step)
})

test('an edit changes one place and copies fields that the editor does not know', () => {
  const unknown = { color: 'red' }
  const definition = { ...define(note('a'), Object.assign(branch([note('b')]), unknown)), ...unknown }
  const id = 'steps[1].cases[0].steps[0]'
  const changed = changeStep(definition, id, () => note('B'))
  assert.deepEqual(notesOf(changed), ['a steps[0]', `B ${id}`])
  assert.deepEqual(Object.keys(changed), Object.keys(definition))
  assert.deepEqual(Object.keys(changed.steps[1] ?? {}), ['type', 'cases', 'color'])
  assert.deepEqual(insertStep(definition, 'steps[1].otherwise', 0, note('c')).definition.steps[1], {
    ...definition.steps[1],
    otherwise: [note('c')],
  })
  assert.equal(removeStep(definition, id).selected, 'steps[1]')
  assert.equal(removeStep(definition, 'steps[1]').selected, 'steps[0]')
  assert.equal(duplicateStep(definition, 'steps[0]').selected, 'steps[1]')
  assert.deepEqual(changeList(definition, 'steps', () => []).steps, [])
})

test('a step moves through all lists in the order in which they read, and back', () => {
  const definition = define(note('x'), branch([note('a')], []), note('z'))
  const places = ['steps[0]']
  let now = definition
  for (let at = 'steps[0]'; canMove(now, at, 1); at = places.at(-1) ?? '') {
    const moved = moveStep(now, at, 1)
    now = moved.definition
    places.push(moved.selected ?? '')
  }
  assert.deepEqual(places, [
    'steps[0]',
    'steps[0].cases[0].steps[0]',
    'steps[0].cases[0].steps[1]',
    'steps[0].cases[1].steps[0]',
    'steps[0].otherwise[0]',
    'steps[1]',
    'steps[2]',
  ])
  for (const place of places.toReversed().slice(1)) {
    const moved = moveStep(now, places.pop() ?? '', -1)
    now = moved.definition
    assert.equal(moved.selected, place)
  }
  assert.deepEqual(now, definition)
})

test('any moves keep all steps', () => {
  const moves = fc.array(fc.tuple(fc.nat(), fc.constantFrom<1 | -1>(1, -1)), { maxLength: 30 })
  fc.assert(
    fc.property(fc.constantFrom(...examples), moves, (example, list) => {
      let now: Definition = example
      for (const [pick, by] of list) {
        const all = listSteps(now)
        now = moveStep(now, all[pick % all.length]?.id ?? '', by).definition
      }
      const typesOf = (definition: Definition) =>
        listSteps(definition)
          .map(({ step }) => step.type)
          .sort()
      assert.deepEqual(typesOf(now), typesOf(example))
      assert.ok(isDefinition(now))
    }),
  )
})

test('edits are undone and redone; those of one field within a second are one', () => {
  let history = startHistory('')
  history = commit(history, 'H', { field: 'text', at: 0 })
  history = commit(history, 'He', { field: 'text', at: 500 })
  history = commit(history, 'He!', { field: 'text', at: 2_000 })
  history = commit(history, 'other', { at: 2_100 })
  const back = [1, 2, 3, 4].map(() => {
    history = undo(history)
    return history.present
  })
  assert.deepEqual(back, ['He!', 'He', '', ''])
  history = redo(history)
  assert.equal(history.present, 'He')
  history = commit(history, 'new', { at: 3_000 })
  assert.equal(redo(history), history)
})

const question: Step = {
  type: 'ask',
  message: {
    type: 'interactive',
    interactive: {
      kind: 'buttons',
      body: 'Which size?',
      buttons: [
        { id: 'small', title: 'Small' },
        { id: 'large', title: 'Large' },
      ],
    },
  },
  answer: { type: 'choice' },
  save_as: 'answers.size',
}

test('a step knows the answers of earlier steps, and those of lists that may have run', () => {
  const late: Step = { type: 'call', url: 'https://example.com', save_as: 'answers.order' }
  const definition = define(branch([question, note('b')], [note('c')]), late, note('d'))
  const namesAt = (id: string) => answersBefore(definition, id).map(({ name }) => name)
  assert.deepEqual(namesAt('steps[0].cases[0].steps[1]'), ['size'])
  assert.deepEqual(namesAt('steps[0].cases[1].steps[0]'), [])
  assert.deepEqual(namesAt('steps[1]'), ['size'])
  assert.deepEqual(namesAt('steps[2]'), ['size', 'order'])
  assert.equal(newAnswerName(definition), 'answer')
  assert.equal(newAnswerName(definition, 'size'), 'size_2')
})

test('a renamed answer is renamed in texts and rules', () => {
  const rule = { field: 'answers.size', op: 'is', value: 'small' }
  const before = define({ ...question, save_as: 'answers.width' } as Step, {
    type: 'branch',
    cases: [{ when: { match: 'all', rules: [rule] }, steps: [note('{{ answers.size|?}} {{answers.sizes}}')] }],
  })
  const text = JSON.stringify(renameReferences(before, 'size', 'width'))
  assert.match(text, /"answers\.width","op"/)
  assert.match(text, /\{\{ answers\.width\|\?\}\} \{\{answers\.sizes\}\}/)
  // Another step still saves it.
  const other = define(question, ...before.steps)
  assert.equal(renameReferences(other, 'size', 'width'), other)
})

test('the id of a button follows its title until something refers to it', () => {
  const options = [
    { id: 'option', title: '' },
    { id: 'prices', title: 'Prices' },
  ]
  const titled = retitle(options, 0, 'Taille ?', () => false)
  assert.deepEqual(titled[0], { id: 'taille', title: 'Taille ?' })
  assert.equal(retitle(options, 1, 'Offers', (id) => id === 'prices')[1]?.id, 'prices')
  assert.equal(retitle(options, 0, 'Prices', () => false)[0]?.id, 'prices_2')
  assert.equal(retitle([{ id: 'my-own', title: 'Mine' }], 0, 'Yours', () => false)[0]?.id, 'my-own')
  const used = usedIds(define({ type: 'branch', cases: casesOf({ name: 'a', kind: 'choice', options }, []) }), null)
  assert.ok(used.has('prices'))
})

test('a message keeps its text and its options when its kind changes', () => {
  assert.ok(question.type === 'ask')
  const list = toKind(question.message, 'list')
  assert.deepEqual(toKind(list, 'buttons'), question.message)
  assert.deepEqual(toKind(list, 'text'), { type: 'text', text: 'Which size?' })
})

test('a branch gets one case per button that has none yet', () => {
  const answer = answersBefore(define(question, note('')), 'steps[1]')[0]
  assert.ok(answer)
  const cases = casesOf(answer, [])
  assert.deepEqual(
    cases.map(({ name }) => name),
    ['Small', 'Large'],
  )
  assert.deepEqual(
    casesOf(answer, cases.slice(0, 1)).map(({ name }) => name),
    ['Large'],
  )
})

test('a fault names the step and the field of the form', () => {
  const definition = define(note(''), branch([note('')]))
  const fault = (message: string) => readFault(message, definition)
  assert.deepEqual(fault('steps[0].text: must not be empty'), {
    owner: 'steps[0]',
    path: 'text',
    message: 'Text: enter a value.',
  })
  const rule = fault('steps[1].cases[0].when.rules[0].op: unknown for tag; use one of has, not_has')
  assert.deepEqual([rule.owner, rule.message], ['steps[1]', 'Case 1, rule 1: unknown for tag; use one of has, not_has'])
  assert.equal(fault('steps[1].cases[0].steps[0].text: must not be empty').owner, 'steps[1].cases[0].steps[0]')
  assert.equal(fault('trigger.after: must be 1m to 30d').owner, 'trigger')
  assert.equal(readFault('steps: must have at least 1 item', define()).message, 'Add a step.')
  assert.equal(fault('the service is full').message, 'The service is full')
})

test('differences are lines of the outline', () => {
  const before = define(note('a'), note('b'), branch([note('c')]))
  const after = define(note('a'), note('B'), branch([note('c'), note('d')]))
  assert.deepEqual(compare(before, before, noNames), [])
  assert.deepEqual(
    compare(before, after, noNames).map(({ before: was, after: is }) => [was, is]),
    [
      ['Note “b”', 'Note “B”'],
      [undefined, 'Note “d”'],
    ],
  )
})
