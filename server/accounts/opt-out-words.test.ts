import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../lib/errors.ts'
import { codePoint } from '../lib/test-text.ts'
import { type OptOutRequest, readOptOutRequest, readOptOutWords, toKeys } from './opt-out-words.ts'

const none = toKeys([])
const often = { seed: 1, numRuns: 2_000 }

/** Characters around a word that are ignored. */
const around = fc.string({
  unit: fc.constantFrom(...[...' \n\t.,!?¡¿"\'«»()-–—…*_/،。！\u200e\u200f\u200b\ufeff\u00a0𐬺']),
  maxLength: 20,
})
/** A word in any mixture of cases. */
const cased = (word: string) =>
  fc
    .array(fc.boolean(), { minLength: word.length, maxLength: word.length })
    .map((high) => [...word].map((letter, i) => (high[i] ? letter.toUpperCase() : letter.toLowerCase())).join(''))

test('the word alone opts out, in any case, with any white space and punctuation around it', () => {
  for (const [word, wish] of [
    ['stop', 'stop'],
    ['unsubscribe', 'stop'],
    ['start', 'resume'],
  ] as [string, OptOutRequest][]) {
    fc.assert(
      fc.property(around, cased(word), around, (before, written, after) => {
        assert.equal(readOptOutRequest(before + written + after, none), wish)
      }),
      often,
    )
  }
})

test('a word among others does not count, nor does a part of one', () => {
  for (const text of [
    ...['please stop', 'stop it', 'STOP START', 'sto', 'stopp', 'nonstop', 's t o p', 'st.op', 'don’t stop!'],
    'restart',
    ...['', ' ', '!!!', '🛑', 'STOP 🛑', 'stоp', 'ＳＴＯＰ', 'st\u200bop'],
    ...['\ud800', 'stop\0', `stop${'x'.repeat(10_000)}`],
  ]) {
    assert.equal(readOptOutRequest(text, toKeys(['basta'])), undefined, text)
  }
})

test('of any text, only the words themselves count', () => {
  const own = ['Basta', 'no más', 'ОТПИСАТЬСЯ', 'ΤΕΛΟΣ', 'Schluß', '停止', '🛑', 'C++', 'arrêt!']
  const keys = toKeys(own)
  const letters = fc.string({ unit: fc.constantFrom(...[...'stopарtS T.!basnomá\u0301🛑ςΣß']), maxLength: 8 })
  fc.assert(
    fc.property(fc.oneof(letters, fc.string({ unit: 'grapheme' }), fc.string({ unit: codePoint })), (text) => {
      // The expected result, by a regular expression and the language's own case-insensitive comparison.
      const bare = text.replace(/^[\s\p{P}\p{Cf}]+/u, '').replace(/[\s\p{P}\p{Cf}]+$/u, '')
      const isOne = (words: string[]) =>
        words.some((word) => word.normalize('NFC').toUpperCase() === bare.normalize('NFC').toUpperCase())
      const expected = isOne(['start'])
        ? 'resume'
        : isOne(['stop', 'unsubscribe', ...own, 'arrêt'])
          ? 'stop'
          : undefined
      assert.equal(readOptOutRequest(text, keys), expected)
    }),
    often,
  )
  for (const text of [
    'BASTA',
    ' No Ma\u0301s. ',
    'отписаться',
    'τελος',
    'τέλος!'.normalize('NFD').replace('\u0301', ''),
  ])
    assert.equal(readOptOutRequest(text, keys), 'stop', text)
  for (const text of ['SCHLUSS', 'schluẞ', '停止。', '«🛑»', 'c++', 'ARRÊT', 'arre\u0302t']) {
    assert.equal(readOptOutRequest(text, keys), 'stop', text)
  }
})

test('words are stored trimmed, without duplicates, in their first spelling', () => {
  const words = [' Basta ', 'BASTA', 'basta!', 'Éxit', 'e\u0301xit', 'stop']
  assert.deepEqual(readOptOutWords(words), ['Basta', 'Éxit', 'stop'])
  assert.deepEqual(readOptOutWords([]), [])
  assert.equal(readOptOutWords(['😀'.repeat(80)]).length, 1)
  assert.equal(readOptOutWords(Array.from({ length: 100 }, (_, i) => `word ${i % 50}`)).length, 50)
  for (const [words, message] of [
    [['a', ' '], /^opt_out_words\[1\]: .*blank/],
    [['😀'.repeat(81)], /^opt_out_words\[0\]: .*80/],
    [['?!'], /^opt_out_words\[0\]: .*punctuation/],
    [['Start.'], /^opt_out_words\[0\]: Start\. /],
    [Array.from({ length: 51 }, (_, i) => `word ${i}`), /^opt_out_words: .*50/],
  ] as [string[], RegExp][]) {
    assert.throws(
      () => readOptOutWords(words),
      (error) => error instanceof ApiError && error.code === 'bad_request' && message.test(error.message),
    )
  }
})

test('every stored word opts out, and storing it again changes nothing', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 }), { maxLength: 50 }), (words) => {
      const usable = words.filter(
        (word) => /[^\s\p{P}\p{Cf}]/u.test(word) && readOptOutRequest(word, none) !== 'resume',
      )
      const stored = readOptOutWords(usable)
      assert.deepEqual(readOptOutWords(stored), stored)
      for (const word of usable) assert.equal(readOptOutRequest(`"${word.toUpperCase()}"`, toKeys(stored)), 'stop')
    }),
    often,
  )
})

test('a long message full of stops is read, which would take hours if each of them were tried as the end', () => {
  const text = `${'.'.repeat(1_000_000)}a${'.'.repeat(1_000_000)}${'a.'.repeat(1_000_000)}`
  assert.equal(readOptOutRequest(text, none), undefined)
})
