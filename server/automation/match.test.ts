import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertCheap } from '../../tests/cpu.ts'
import type { Trigger } from './definition.ts'
import { type Cause, isMatchable, matches } from './match.ts'

const message = (change: Partial<Extract<Cause, { type: 'message' }>> = {}): Cause => ({
  ...{
    type: 'message',
    text: 'Hello',
    content_type: 'text',
    button: null,
    is_first: false,
    is_first_since_closed: false,
  },
  ...change,
})
const contains = (word: string, text: string) => matches({ type: 'message', contains: [word] }, message({ text }))

test('a word is found whole, without regard to case and accents', () => {
  const found: [string, string][] = [
    ['price', 'What is the PRICE?'],
    ['price', 'price'],
    ['cafe', 'Un CAFÉ, por favor'],
    ['CAFÉ', 'cafe'],
    ['café', 'un cafe\u0301!'],
    ['strasse', 'Große Straße 5'],
    ['how much', 'So how\n  much is it'],
    ['οδος', 'Στην Οδός μου'],
    ['istanbul', 'İstanbul'],
    ['ﬁle', 'a file'],
    ['c++', 'I know C++ well'],
    ['#1', 'we are #1'],
    ['👍', 'ok👍ok'],
    ['5', 'size 5, please'],
    ['a', 'ab a'],
    ['aa', 'aaa aa'],
    ['価格', 'この価格は何ですか'],
    ['ราคา', 'ขอราคาหน่อย'],
    ['menu', 'menuを見せて'],
    ['메뉴', '메뉴 주세요'],
    ['हिन्दी', 'मुझे हिन्दी चाहिए'],
    ['سعر', 'ما هو السِّعر؟ سِعْر'],
  ]
  for (const [word, text] of found) assert.equal(contains(word, text), true, `${word} in ${text}`)
  const missing: [string, string][] = [
    ['price', 'prices'],
    ['price', 'overprice'],
    ['price', 'price2'],
    ['how much', 'how very much'],
    ['e', 'café'],
    ['5', '55'],
    ['か', 'がぎ'],
    ['가', '각'],
    ['की', 'का के'],
    ['क', 'की'],
    ['𝒜', '𝒜𝒷'],
    ['price', ''],
  ]
  for (const [word, text] of missing) assert.equal(contains(word, text), false, `${word} in ${text}`)
  assert.equal(matches({ type: 'message', contains: ['a'] }, message({ text: null })), false)
  assert.equal(matches({ type: 'message', contains: ['x', 'hello'] }, message()), true)
  assert.deepEqual([' ', '\u0301', '\n', 'a', '!', '👍'].map(isMatchable), [false, false, false, true, true, true])
})

test('a word of Latin letters is found exactly where the words of the text have it', () => {
  const letter = fc.constantFrom('a', 'b', 'é', 'A', '1')
  const word = fc.string({ unit: letter, minLength: 1, maxLength: 4 })
  const bare = (text: string) => text.replaceAll('é', 'e').toLowerCase()
  fc.assert(
    fc.property(word, fc.array(word, { maxLength: 8 }), fc.constantFrom(' ', ', ', '-', '\n'), (one, others, gap) => {
      assert.equal(contains(one, others.join(gap)), others.map(bare).includes(bare(one)))
    }),
    { numRuns: 500 },
  )
})

test('all options of a message trigger must match', () => {
  const trigger: Trigger = {
    type: 'message',
    when: 'first',
    contains: ['hello'],
    button: 'b',
    content_types: ['button', 'text'],
  }
  const all = { is_first: true, button: 'b' }
  assert.equal(matches(trigger, message(all)), true)
  for (const change of [
    { is_first: false },
    { button: null },
    { button: 'c' },
    { text: 'bye' },
    { content_type: 'image' },
  ]) {
    assert.equal(matches(trigger, message({ ...all, ...change })), false, JSON.stringify(change))
  }
  assert.equal(matches({ type: 'message' }, message()), true)
  assert.equal(matches({ type: 'message', when: 'any' }, message()), true)
  assert.equal(matches({ type: 'message', when: 'first_since_closed' }, message()), false)
  assert.equal(matches({ type: 'message', when: 'first_since_closed' }, message({ is_first_since_closed: true })), true)
})

test('changes, silence and the start by hand match their own triggers only', () => {
  const causes: [Trigger, Cause][] = [
    [{ type: 'message' }, message()],
    [
      { type: 'conversation', event: 'opened' },
      { type: 'conversation', event: 'opened' },
    ],
    [
      { type: 'conversation', event: 'label_added', label: 'Straße' },
      { type: 'conversation', event: 'label_added', label: 'STRASSE' },
    ],
    [
      { type: 'contact', event: 'tag_added', tag: 'VIP' },
      { type: 'contact', event: 'tag_added', tag: 'vip' },
    ],
    [
      { type: 'contact', event: 'attribute_changed', attribute: 'plan' },
      { type: 'contact', event: 'attribute_changed', attribute: 'plan' },
    ],
    [
      { type: 'silence', event: 'waiting', after: '60m' },
      { type: 'silence', event: 'waiting', after: '1h' },
    ],
    [
      { type: 'silence', event: 'no_reply', after: '2h' },
      { type: 'silence', event: 'no_reply', after: '2h' },
    ],
    [{ type: 'manual' }, { type: 'manual' }],
  ]
  causes.forEach(([trigger], i) => {
    causes.forEach(([, cause], k) => {
      assert.equal(matches(trigger, cause), i === k, JSON.stringify([trigger, cause]))
    })
  })
  const added: Cause = { type: 'conversation', event: 'label_added', label: 'Refund' }
  assert.equal(matches({ type: 'conversation', event: 'label_added' }, added), true)
  assert.equal(matches({ type: 'conversation', event: 'label_added', label: 'Other' }, added), false)
  assert.equal(
    matches({ type: 'contact', event: 'tag_added', tag: 'x' }, { type: 'contact', event: 'tag_added', tag: null }),
    false,
  )
  const changed: Cause = { type: 'contact', event: 'attribute_changed', attribute: 'city' }
  assert.equal(matches({ type: 'contact', event: 'attribute_changed', attribute: 'plan' }, changed), false)
  assert.equal(
    matches({ type: 'silence', event: 'waiting', after: '2h' }, { type: 'silence', event: 'waiting', after: '1h' }),
    false,
  )
})

test('50 words on a hostile text take linear work', async () => {
  for (const [unit, word] of [
    ['a', `${'a'.repeat(99)}b`],
    ['a', 'a'.repeat(100)],
    ['ab', 'ab'.repeat(50)],
    ['é', 'é'.repeat(100)],
    [' a', 'a b'],
    [' ', 'a'],
  ] as const) {
    const text = unit.repeat(65_536 / unit.length)
    const trigger: Trigger = { type: 'message', contains: Array.from({ length: 50 }, () => `${word}x`.slice(0, 100)) }
    await assertCheap(word.slice(0, 10), 10, () => matches(trigger, message({ text })), 3)
  }
})
