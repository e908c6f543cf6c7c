import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeHandOver, joinReplies, judgeReply, StepFailed } from './decisions.ts'
import type { AskStep } from './definition.ts'
import { fillMessage } from './texts.ts'

const contact = { name: 'Ann', phone: '+14155550100', email: null, company: null, attributes: {} }
const step: AskStep = {
  type: 'ask',
  message: { type: 'text', text: 'How many?' },
  answer: { type: 'number' },
  save_as: 'contact.attributes.seats',
  retries: { max: 1, text: '{{answers.topic}}: a number please.' },
}

test('an answer is saved, and one that does not fit is asked for again until there are no tries', () => {
  const values = { contact, answers: { topic: 'sales' } }
  const saved = judgeReply(step, values, 0, { text: ' 12 ', button: null })
  assert.deepEqual(saved, { isAnswer: true, value: 12, attribute: 'seats', variables: { topic: 'sales', seats: 12 } })
  const again = judgeReply(step, values, 0, { text: 'many', button: null })
  assert.equal(again.isAnswer, false)
  assert.throws(() => judgeReply(step, values, 1, { text: 'many', button: null }), StepFailed)
})

test('the text of a retry is filled once: a value of the customer is not expanded', () => {
  const values = { contact, answers: { topic: '{{contact.phone}}' } }
  const judged = judgeReply(step, values, 0, { text: 'many', button: null })
  assert.ok(!judged.isAnswer)
  const filled = fillMessage(judged.message, values)
  assert.deepEqual(filled.ok && filled.message, { type: 'text', text: '{{contact.phone}}: a number please.' })
})

test('messages are one answer: the first tap, else all texts', () => {
  const one = { text: 'one', button: null }
  assert.equal(joinReplies([]), undefined)
  assert.deepEqual(joinReplies([one, { text: null, button: null }, { text: 'two', button: null }]), {
    text: 'one\ntwo',
    button: null,
  })
  assert.deepEqual(joinReplies([one, { text: 'Sales', button: 'sales' }]), { text: 'Sales', button: 'sales' })
})

test('the note of a hand-over has its text and the answers', () => {
  assert.equal(describeHandOver('A lead.', { seats: 12, order: { id: 1 } }), 'A lead.\n\nseats: 12\norder: {"id":1}')
  assert.equal(describeHandOver('', {}), '')
})
