import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertCheap } from '../../tests/cpu.ts'
import { codePoint } from '../lib/test-text.ts'
import { readAnswer } from './answers.ts'
import type { Answer, Message } from './definition.ts'
import { buttons, list, text as textMessage } from './test-definitions.ts'

function read(
  answer: Answer,
  text: string | null,
  message: Message = textMessage('?'),
  buttonId: string | null = null,
) {
  const result = readAnswer({ message, answer, save_as: 'answers.a' }, text, buttonId)
  return result.ok ? result.value : undefined
}

function assertRead(answer: Answer, expected: readonly [string, string | number | undefined][]): void {
  for (const [text, value] of expected) assert.equal(read(answer, text), value, JSON.stringify(text))
}

test('a text is any text that is not blank', () => {
  assertRead({ type: 'text' }, [
    [' Ann\n', 'Ann'],
    [' ', undefined],
    ['x'.repeat(4_096), 'x'.repeat(4_096)],
    ['x'.repeat(4_097), undefined],
  ])
  assert.equal(read({ type: 'text' }, null), undefined)
  const attribute = { message: textMessage('?'), answer: { type: 'text' as const }, save_as: 'contact.attributes.city' }
  assert.deepEqual(readAnswer(attribute, 'x'.repeat(500), null), { ok: true, value: 'x'.repeat(500) })
  assert.deepEqual(readAnswer(attribute, 'x'.repeat(501), null), { ok: false })
})

test('a number has a comma or a point as decimal mark, and a separator that is ambiguous is refused', () => {
  assertRead({ type: 'number' }, [
    ['5', 5],
    [' 1.5 ', 1.5],
    ['1,5', 1.5],
    ['-3', -3],
    ['\u22123,25', -3.25],
    ['+4', 4],
    ['.5', 0.5],
    [',5', 0.5],
    ['0.125', 0.125],
    ['0,125', 0.125],
    ['1234.567', 1234.567],
    ['1.2345', 1.2345],
    ['1,234.5', 1234.5],
    ['1.234,5', 1234.5],
    ['1.234.567', 1_234_567],
    ['1,234,567', 1_234_567],
    ['1 234', 1234],
    ['1\u202f234,5', 1234.5],
    ["1'234.50", 1234.5],
    ['٣٫٥', 3.5],
    ['२५', 25],
    ['１２', 12],
    ['-0', 0],
    ['007', 7],
    ['1.234', undefined],
    ['1,234', undefined],
    ['12.345', undefined],
    ['1.234.56', undefined],
    ['1,234,56', undefined],
    ['1.234.567.8', undefined],
    ['1.2.3', undefined],
    ['5 kg', undefined],
    ['five', undefined],
    ['', undefined],
    ['.', undefined],
    ['-', undefined],
    ['1e5', undefined],
    ['0x10', undefined],
    ['Infinity', undefined],
    ['9'.repeat(400), undefined],
  ])
  assertRead({ type: 'number', min: 1, max: 10 }, [
    ['1', 1],
    ['10', 10],
    ['0.9', undefined],
    ['10,1', undefined],
  ])
})

test('a number is read as it was written, with each decimal mark', () => {
  fc.assert(
    fc.property(fc.integer({ min: -999_999, max: 999_999 }), fc.integer({ min: 0, max: 99 }), (whole, cents) => {
      const decimals = String(cents).padStart(2, '0')
      const expected = Number(`${whole}.${decimals}`)
      for (const mark of ['.', ',']) assert.equal(read({ type: 'number' }, `${whole}${mark}${decimals}`), expected + 0)
      const grouped = whole.toLocaleString('en')
      assert.equal(read({ type: 'number' }, `${grouped}.${decimals}`), expected + 0)
      assert.equal(read({ type: 'number' }, `${grouped.replace(',', '.')},${decimals}`), expected + 0)
    }),
  )
})

test('an email address has a name and a domain', () => {
  assertRead({ type: 'email' }, [
    ['ann@example.com', 'ann@example.com'],
    [' Ann.Lee+x@Example.co.uk. ', 'Ann.Lee+x@Example.co.uk'],
    ['<ann@example.com>', 'ann@example.com'],
    ['mailto:ann@example.com', 'ann@example.com'],
    ['jörg@straße.example', 'jörg@straße.example'],
    ['ann@example', undefined],
    ['ann.example.com', undefined],
    ['@example.com', undefined],
    ['ann@@example.com', undefined],
    ['ann lee@example.com', undefined],
    ['.ann@example.com', undefined],
    ['a..b@example.com', undefined],
    ['ann@exa mple.com', undefined],
    ['ann@example.com, bob@example.com', undefined],
    [`${'a'.repeat(65)}@example.com`, undefined],
    [`a@${'b.'.repeat(200)}com`, undefined],
    ['', undefined],
  ])
})

test('a date is a real day, with the day first where both orders are possible', () => {
  assertRead({ type: 'date' }, [
    ['2026-12-31', '2026-12-31'],
    ['2026/1/5', '2026-01-05'],
    ['31.12.2026', '2026-12-31'],
    ['1. 2. 2026', '2026-02-01'],
    ['31/12/2026', '2026-12-31'],
    ['12/31/2026', '2026-12-31'],
    ['3/4/2026', '2026-04-03'],
    ['31-12-2026', '2026-12-31'],
    [' 31.12.2026! ', '2026-12-31'],
    ['٣١/١٢/٢٠٢٦', '2026-12-31'],
    ['29.02.2028', '2028-02-29'],
    ['01.01.0099', '0099-01-01'],
    ['29.02.2026', undefined],
    ['31/04/2026', undefined],
    ['12.31.2026', undefined],
    ['13/13/2026', undefined],
    ['00.01.2026', undefined],
    ['2026-13-01', undefined],
    ['01.01.0000', undefined],
    ['31.12.26', undefined],
    ['31.12/2026', undefined],
    ['tomorrow', undefined],
    ['', undefined],
  ])
})

test('a choice is the tapped button, its title or its number', () => {
  const choose = (text: string | null, buttonId: string | null = null, message = buttons) =>
    read({ type: 'choice' }, text, message, buttonId)
  assert.equal(choose('Sales', 'sales'), 'sales')
  assert.equal(choose(null, 'support'), 'support')
  assert.equal(choose('Sales', 'of-an-earlier-message'), undefined)
  assert.deepEqual(
    [choose('SALES'), choose(' sales! '), choose('1'), choose('2.'), choose('٢')],
    ['sales', 'sales', 'sales', 'support', 'support'],
  )
  assert.deepEqual([choose('0'), choose('3'), choose(''), choose(null), choose('Sale')], Array(5).fill(undefined))
  assert.deepEqual(
    [choose('extra LARGE', null, list), choose('2', null, list), choose('l', 'l', list)],
    ['xl', 'l', 'l'],
  )
  // A title that is a number comes before the number of a row.
  const numbers: Message = {
    type: 'interactive',
    interactive: {
      kind: 'buttons',
      body: '?',
      buttons: [
        { id: 'two', title: '2' },
        { id: 'one', title: '1' },
      ],
    },
  }
  assert.deepEqual([choose('2', null, numbers), choose('1', null, numbers)], ['two', 'one'])
  assert.equal(choose('1', null, textMessage('?')), undefined)
})

const types: Answer[] = [{ type: 'text' }, { type: 'number' }, { type: 'email' }, { type: 'date' }, { type: 'choice' }]

test('any text is an answer or is not, and never an error', () => {
  fc.assert(
    fc.property(fc.constantFrom(...types), fc.string({ unit: codePoint }), (answer, text) => {
      read(answer, text, buttons)
    }),
    { numRuns: 1_000 },
  )
})

test('a hostile answer takes linear work', async () => {
  for (const unit of ['1', '1.', '1,234', ' ', '@', 'a@', 'a.', '-', '<', '!', '\u0300', '٣']) {
    for (const answer of types) {
      await assertCheap(`${answer.type} ${unit}`, 2, () => read(answer, unit.repeat(65_536 / unit.length), buttons), 3)
    }
  }
})
