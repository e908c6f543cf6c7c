import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { codePoint } from '../lib/test-text.ts'
import { excerpt, findTerms, listWords, maxSearchedLength, readTerms } from './words.ts'

const textsOf = (text: string) => [...listWords(text)].map((word) => word.text)
const finds = (query: string, text: string) => findTerms(text, readTerms(query)) !== undefined

test('words are runs of letters and digits, without case and accents', () => {
  assert.deepEqual(textsOf("Don't: ÉCOLE, Straße & A-1234_x"), ['don', 't', 'ecole', 'strasse', 'a', '1234', 'x'])
  assert.deepEqual(textsOf('👍 ⚡️ — … \0'), [])
})

test('only the beginning of a very long run is read', () => {
  const marks = '\u0316\u0301'.repeat(500)
  assert.deepEqual(
    [...listWords(`e${marks}x y`)],
    [
      { text: 'e', start: 0, end: 1_002 },
      { text: 'y', start: 1_003, end: 1_004 },
    ],
  )
  assert.ok(finds(`e${marks}`, `e${marks}x`))
  // Marks of two units each: one of them is cut in half.
  assert.ok(textsOf(`e${'\u{1d167}'.repeat(500)}`).every((word) => word.isWellFormed()))
})

test('only the beginning of a very long text is searched, also if it is one run of dense characters', () => {
  assert.equal([...listWords('中'.repeat(200_000))].length, maxSearchedLength)
  const text = `first ${'x '.repeat(maxSearchedLength)}last`
  assert.ok(finds('first x', text))
  assert.ok(!finds('last', text))
})

test('all terms must match, the last one as a prefix', () => {
  for (const [query, text, isThere] of [
    ['ord conf', 'Your order is confirmed', false],
    ['order conf', 'Your order is confirmed', true],
    ['CONFIRMED order', 'your order is confirmed', true],
    ['cafe', 'Café au lait', true],
    ['c', 'Café', false],
    ['c', 'plan C', true],
    ['Müller', 'MULLER', true],
    ['ann@example.com', 'write to Ann@Example.com', true],
    ['東京', '明日東京へ', true],
    ['京', '東京', true],
    ['東へ', '明日東京へ', false],
    ['สวัสดี', 'สวัสดีครับ', true],
  ] as const) {
    assert.equal(finds(query, text), isThere, `${query} in ${text}`)
  }
})

test('an excerpt shows the first match, on one line', () => {
  const text = `${'before '.repeat(60)}needle\n\n${'after '.repeat(60)}`
  const shown = excerpt(text, text.indexOf('needle'))
  assert.match(shown, /^….*needle after.*…$/)
  assert.ok(shown.length <= 124, `${shown.length}`)
  assert.equal(excerpt(' short\ntext ', 3), 'short text')
})

test('any text matches itself, its words have the right positions and can be stored', () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint, maxLength: 200 }), (text) => {
      const words = [...listWords(text)]
      for (const { text: word, start, end } of words) {
        assert.ok(word.isWellFormed() && !word.includes('\0') && /^[\p{L}\p{N}\p{M}\ufffd]+$/u.test(word), word)
        assert.ok(start >= 0 && start < end && end <= text.length)
      }
      const terms = readTerms(text)
      assert.equal(findTerms(text, terms) !== undefined, words.length > 0)
      assert.ok(excerpt(text, words.at(-1)?.start ?? 0).isWellFormed() || !text.isWellFormed())
    }),
  )
})
