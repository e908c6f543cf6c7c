import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { codePoint } from './test-text.ts'
import { bareOf, colorOf, escapeLike, fold, isStorable, lengthOf } from './text.ts'

/** Letters whose length or shape depends on case, and combining marks. */
const tricky = fc.string({
  unit: fc.constantFrom(
    ...[...'aZéÉßẞſΣσςİıIiǅǆŉǰΐΰᾳᾼﬁﬃΩÅՙևᏠꭰ𐐀𐐨ნᲜ%_\\\n🙂'],
    ...['\u0301', '\u0307', '\u0323', '\u0345', '\u030c', '\u200d', '\u2126', '\u212a', '\u212b'],
  ),
})
const anyText = fc.oneof(tricky, fc.string({ unit: codePoint }), fc.string({ unit: 'grapheme' }))
const often = { seed: 1, numRuns: 3_000 }

test('spellings that differ only in case fold to the same', () => {
  const same = [
    ['É', 'é', 'e\u0301', 'E\u0301'],
    ['straße', 'STRASSE', 'STRAẞE', 'Strasse'],
    ['ΟΔΟΣ', 'οδος', 'οδοσ', 'Οδός'.normalize('NFD').replace('\u0301', '')],
    ['Μαΐου', 'ΜΑΪ\u0301ΟΥ', 'Μαΐου'.toUpperCase()],
    ['ﬁ\u0323', 'FI\u0323', 'fị'],
    ['Istanbul', 'ISTANBUL', 'istanbul'],
    ['İzmir', 'i\u0307zmir'],
    ['ǅ', 'Ǆ', 'ǆ'],
    ['\u212a', 'K', 'k'],
    ['𐐀', '𐐨'],
  ]
  for (const [first = '', ...others] of same)
    for (const other of others) assert.equal(fold(other), fold(first), `${other} = ${first}`)
})

test('different letters stay different', () => {
  for (const [one, other] of [
    ['e', 'é'],
    ['İ', 'i'],
    ['o', '0'],
    ['%', '_'],
    ['a', 'а'],
    ['', ' '],
  ] as const) {
    assert.notEqual(fold(one), fold(other), `${one} ${other}`)
  }
  assert.ok(!fold('José').includes(fold('e')), 'e is no part of é')
})

test('every cased letter of Unicode folds to the same as its capital, its small form and its decomposition, and folding twice changes nothing', () => {
  for (let point = 0; point < 0x110000; point++) {
    if (point >= 0xd800 && point < 0xe000) continue
    const letter = String.fromCodePoint(point)
    if (letter.toUpperCase() === letter && letter.toLowerCase() === letter) continue
    const folded = fold(letter)
    if (
      fold(folded) !== folded ||
      fold(letter.toUpperCase()) !== folded ||
      fold(letter.toLowerCase()) !== folded ||
      fold(letter.normalize('NFD')) !== folded
    ) {
      assert.fail(`U+${point.toString(16)} ${letter}`)
    }
  }
})

test('folding ignores case and composition, and folding twice changes nothing', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const folded = fold(text)
      assert.equal(fold(folded), folded)
      assert.equal(fold(text.normalize('NFC')), folded)
      assert.equal(fold(text.normalize('NFD')), folded)
      assert.equal(fold(text.toLowerCase()), folded)
      assert.equal(fold(text.normalize('NFD').toUpperCase()), folded)
    }),
    often,
  )
})

test('white space, punctuation and invisible marks are removed at the ends only', () => {
  const marks = fc.constantFrom(...[...' \n.!¿«—、\u200e\u200b\ufeff𐬺'])
  fc.assert(
    fc.property(fc.string({ unit: fc.oneof(marks, fc.constantFrom(...'aé🙂\ud800\udc00')) }), (text) => {
      assert.equal(bareOf(text), text.replace(/^[\s\p{P}\p{Cf}]+/u, '').replace(/[\s\p{P}\p{Cf}]+$/u, ''))
    }),
    often,
  )
})

test('an escaped text has no wildcard and keeps its characters', () => {
  assert.equal(escapeLike('50%_\\x'), '50\\%\\_\\\\x')
  fc.assert(
    fc.property(tricky, (text) => {
      const escaped = escapeLike(text)
      assert.equal(escaped.replace(/\\([\\%_])/g, '$1'), text)
      assert.doesNotMatch(escaped.replace(/\\[\\%_]/g, ''), /[\\%_]/)
    }),
    often,
  )
})

test('text that PostgreSQL cannot store is recognized', () => {
  for (const text of ['\0', 'a\0b', '\ud800', 'a\udc00', '\udc00\ud800', '🙂'.slice(0, 1)]) {
    assert.equal(isStorable(text), false, JSON.stringify(text))
  }
  for (const text of ['', 'a', '🙂', '\u0001', '\uffff', '\ufeff', '\u202e', '😀\u200d😀']) {
    assert.equal(isStorable(text), true, JSON.stringify(text))
  }
})

test('length counts characters, not code units', () => {
  for (const [text, length] of [
    ['', 0],
    ['abc', 3],
    ['🙂', 1],
    ['e\u0301', 2],
    ['🙂'.repeat(80), 80],
    ['👨‍👩‍👧', 5],
  ] as const) {
    assert.equal(lengthOf(text), length)
  }
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: codePoint }), fc.string({ unit: fc.constantFrom('\ud83d', '\ude42', 'a') })),
      (text) => {
        assert.equal(lengthOf(text), [...text].length)
      },
    ),
    often,
  )
})

test('the same name always gets the same colour, and every name gets one', () => {
  fc.assert(
    fc.property(anyText, (name) => {
      assert.match(colorOf(name), /^#[0-9a-f]{6}$/)
      assert.equal(colorOf(name), colorOf(name))
    }),
    { seed: 1 },
  )
})
