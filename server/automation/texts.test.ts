import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertCheap } from '../../tests/cpu.ts'
import type { Message } from './definition.ts'
import { buttons, list, messages, text } from './test-definitions.ts'
import { fillMessage, fillText, listTexts, type TextValues } from './texts.ts'

const values: TextValues = {
  contact: { name: 'Ann', phone: null, email: '', company: 'A&B', attributes: { city: 'Köln', orders: 3, vip: false } },
  answers: {
    size: 'L',
    count: 2.5,
    isNew: true,
    order: { status: 'shipped', items: [{ name: 'Shoe' }], none: null, 'a b': 'x' },
    evil: '{{contact.name}} {{answers.size}} $& $1',
  },
}
const fill = (value: string) => {
  const filled = fillText(value, values)
  return filled.ok ? filled.text : filled
}

test('references become values, fallbacks or nothing', () => {
  const expected: [string, string][] = [
    ['Hi {{contact.name}}!', 'Hi Ann!'],
    ['{{ contact.name | there }}', 'Ann'],
    ['{{contact.phone|no phone}}, {{contact.email|no email}}', 'no phone, no email'],
    ['[{{contact.phone}}]', '[]'],
    ['[{{contact.phone|}}]', '[]'],
    ['{{contact.attributes.city}} {{contact.attributes.orders}} {{contact.attributes.vip}}', 'Köln 3 false'],
    ['{{contact.attributes.unknown|none}}', 'none'],
    ['{{answers.size}} {{answers.count}}', 'L 2.5'],
    ['{{answers.order.status}} {{answers.order.items.0.name}}', 'shipped Shoe'],
    ['{{answers.order|none}} {{answers.order.none|none}} {{answers.order.x.y|none}}', 'none none none'],
    ['{{answers.toString|none}} {{answers.order.constructor|none}} {{answers.__proto__|none}}', 'none none none'],
    ['{{answers.evil}}', '{{contact.name}} {{answers.size}} $& $1'],
    ['{{name}} {{1}} {{user.x}} {{contact.name}', '{{name}} {{1}} {{user.x}} {{contact.name}'],
  ]
  for (const [template, result] of expected) assert.equal(fill(template), result, template)
})

test('a value is never expanded itself', () => {
  const part = fc.constantFrom('{{contact.name}}', '{{answers.a}}', '{{', '}}', '$&', '$1', 'x', '|')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
      const value = parts.join('')
      const filled = fillText('<{{answers.a}}>', { ...values, answers: { a: value } })
      assert.deepEqual(filled, { ok: true, text: `<${value.trim() ? value : ''}>` })
    }),
  )
})

test('every text of a message is filled, ids and names are not', () => {
  const reference = '{{answers.size}}'
  /** The message with a reference in every text. */
  const withReferences = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string')
      return ['type', 'kind'].includes(key) ? value : /^https/.test(value) ? `https://x.test/${reference}` : reference
    if (Array.isArray(value)) return value.map((item) => withReferences(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withReferences(item, name)]))
  }
  const literal: Record<string, number> = { template: 1 }
  for (const message of messages) {
    const written = withReferences(message) as Message
    const all = JSON.stringify(written).split(reference).length - 1
    const ids = JSON.stringify(written).split(`"id":"${reference}"`).length - 1
    const language = message.type === 'template' && message.template.language ? 1 : 0
    assert.equal(
      listTexts(written).length,
      all - ids - (literal[message.type] ?? 0) - language,
      JSON.stringify(written),
    )
  }
  const filled = fillMessage({ ...list, ...{} } as Message, values)
  assert.deepEqual(filled, { ok: true, message: list })
  const titled = {
    ...buttons,
    interactive: {
      kind: 'buttons',
      body: '{{contact.name}}?',
      buttons: [{ id: '{{contact.name}}', title: '{{answers.size}}' }],
    },
  }
  assert.deepEqual(fillMessage(titled as Message, values), {
    ok: true,
    message: {
      type: 'interactive',
      interactive: { kind: 'buttons', body: 'Ann?', buttons: [{ id: '{{contact.name}}', title: 'L' }] },
    },
  })
})

test('a value in a URL is encoded', () => {
  const image: Message = { type: 'image', media_url: 'https://x.test/{{answers.path}}?c={{contact.company}}' }
  const filled = fillMessage(image, { ...values, answers: { path: '../a b\ud800' } })
  assert.deepEqual(filled, {
    ok: true,
    message: { type: 'image', media_url: 'https://x.test/..%2Fa%20b%EF%BF%BD?c=A%26B' },
  })
})

test('a message that its values make unusable is not sent, with the reason', () => {
  const reasonOf = (message: Message, answers = {}) => {
    const filled = fillMessage(message, { ...values, answers: { ...values.answers, ...answers } })
    return filled.ok ? undefined : filled.reason
  }
  assert.equal(reasonOf(text(' {{contact.phone}}')), 'text: must not be blank')
  assert.equal(reasonOf(text('{{answers.size}}'), { size: 'x'.repeat(4_097) }), 'text: must have 1 to 4096 characters')
  assert.equal(
    reasonOf(text('{{answers.size}}'), { size: 'x'.repeat(20_000) }),
    'text: must have at most 4096 characters',
  )
  assert.equal(reasonOf(text('{{answers.size}}'), { size: 'a\0' }), 'text: contains a character that is not text')
  const titled = (title: string): Message => ({
    type: 'interactive',
    interactive: {
      kind: 'buttons',
      body: 'x',
      buttons: [
        { id: 'a', title },
        { id: 'b', title: 'L' },
      ],
    },
  })
  assert.equal(reasonOf(titled('{{answers.size}}')), 'interactive.buttons[1].title: must be unique in the message')
  assert.equal(
    reasonOf(titled('{{answers.size}}'), { size: 'x'.repeat(21) }),
    'interactive.buttons[0].title: must have at most 20 characters',
  )
  const template = (value: string): Message => ({
    type: 'template',
    template: { name: 'x', params: { body: [value] } },
  })
  assert.equal(
    reasonOf(template('{{contact.phone}}')),
    'template.params.body[0]: contact.phone is empty and has no fallback',
  )
  assert.equal(reasonOf(template('{{contact.phone|none}}')), undefined)
  assert.deepEqual(fillText('{{answers.size}}'.repeat(9), values, 8), {
    ok: false,
    reason: 'has more than 8 characters with its values',
  })
})

test('hostile texts take linear work and bounded memory', async () => {
  for (const unit of ['{{contact.', '{{answers.a|', '{{ ', '{{', '{{contact.name}}', '{{answers.order.status}}', ' ']) {
    const long = unit.repeat(65_536 / unit.length)
    const big = { ...values, contact: { ...values.contact, name: 'x'.repeat(65_536) } }
    await assertCheap(unit, 2, () => fillText(long, big), 3)
    await assertCheap(unit, 2, () => fillMessage(text(long), big), 3)
  }
})
