/** What a message answers: ratings in all their spellings, comments, and their times. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../lib/id.ts'
import { type Asked, judge, readChoiceId, readRating, toQuestion, type Written } from './question.ts'

const choices = ['1 · Very bad', '2 · Bad', '3 · Okay', '4 · Good', 'Great!']
const at = '2026-01-05T09:00:00.000Z'
const later = (minutes: number): number => Date.parse(at) + minutes * 60_000
const id = newId()
const question: Asked = { message_id: id, state: 'asked', asked_at: at, comment: null, comment_until: null, choices }
const rated: Asked = { ...question, state: 'rated', comment_until: new Date(later(15)).toISOString() }
const written = (text: string | null, more: Partial<Written> = {}): Written => ({
  ...{ text, content_type: 'text', button: null, is_wish: false },
  ...more,
})

test('a typed rating is a digit from 1 to 5, stars, or the title of a choice, and nothing else', () => {
  for (const [text, rating] of [
    ['4', 4],
    [' 5. ', 5],
    ['٣', 3],
    ['⭐⭐', 2],
    ['⭐️⭐️⭐️⭐️⭐️', 5],
    ['great', 5],
    ['1 · very BAD', 1],
    ['0', undefined],
    ['6', undefined],
    ['45', undefined],
    ['4 of them', undefined],
    ['⭐⭐⭐⭐⭐⭐', undefined],
    ['', undefined],
    ['thanks', undefined],
  ] as const)
    assert.equal(readRating({ text, content_type: 'text' }, choices), rating, text)
  assert.equal(readRating({ text: '4', content_type: 'image' }, choices), undefined)
  // A button of a template.
  assert.equal(readRating({ text: '4 – Good', content_type: 'button' }, choices), 4)
  assert.equal(readRating({ text: '45 minutes', content_type: 'button' }, choices), undefined)
})

test('a tap names its question', () => {
  for (const channel of ['msgapp', 'social', 'web'] as const) {
    const requested = toQuestion({ question: 'How was it?', choices, list_button: 'Rate' }, channel, id)
    assert.ok(requested.type === 'interactive' && requested.interactive.kind !== 'link')
    const { interactive } = requested
    const rows = interactive.kind === 'buttons' ? interactive.buttons : interactive.sections.flatMap(({ rows }) => rows)
    assert.deepEqual(
      rows.map((row) => readChoiceId(row.id)),
      [5, 4, 3, 2, 1].map((rating) => ({ messageId: id, rating })),
    )
    assert.deepEqual(
      rows.map(({ title }) => title),
      choices.toReversed(),
    )
  }
  const button = `rating:${id}:2`
  assert.deepEqual(judge(question, written('2 · Bad', { button }), later(1)), { kind: 'tap', rating: 2 })
  assert.deepEqual(judge(rated, written('2 · Bad', { button }), later(1)), { kind: 'tap', rating: 2 })
  assert.equal(judge({ ...question, message_id: newId() }, written('2', { button }), later(1)), undefined)
  assert.equal(readChoiceId('rating:1:2'), undefined)
})

test('an answer counts for three days, and a comment for its time, once', () => {
  assert.deepEqual(judge(question, written('3'), later(3 * 24 * 60)), { kind: 'text', rating: 3 })
  assert.equal(judge(question, written('3'), later(3 * 24 * 60 + 1)), undefined)
  assert.deepEqual(judge(rated, written(' Too slow '), later(15)), { kind: 'comment', comment: 'Too slow' })
  assert.equal(judge(rated, written('Too slow'), later(16)), undefined)
  assert.equal(judge({ ...rated, comment: 'first' }, written('second'), later(1)), undefined)
  assert.equal(judge({ ...rated, comment_until: null }, written('no request'), later(1)), undefined)
  assert.equal(judge(rated, written('STOP', { is_wish: true }), later(1)), undefined)
  assert.equal(judge(rated, written('a caption', { content_type: 'image' }), later(1)), undefined)
})
