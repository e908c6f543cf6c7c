import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { codePoint } from '../../lib/test-text.ts'
import {
  expandValues,
  findValueFault,
  hasFields,
  listRequiredFields,
  type ValuedContact,
  valueFields,
} from './values.ts'

const ann: ValuedContact = { name: 'Ann', phone: '+14155550100', email: null, company: ' ' }
const expand = (text: string, contact = ann) => {
  const expanded = expandValues({ body: [text] }, contact)
  return expanded.ok ? expanded.params.body?.[0] : expanded
}

test('a placeholder is replaced by the field, or by its fallback', () => {
  for (const [text, expected] of [
    ['Hi {{contact.name}}!', 'Hi Ann!'],
    ['{{ contact.name }}, {{contact.name|there}}', 'Ann, Ann'],
    ['{{contact.email|your address}} of {{contact.company|}}.', 'your address of .'],
    ['{{contact.phone}}', '+14155550100'],
    ['{{name}} {{1}} {contact.name} {{contact}}', '{{name}} {{1}} {contact.name} {{contact}}'],
  ] as const) {
    assert.equal(expand(text), expected)
  }
  assert.deepEqual(expand('{{contact.name}} at {{contact.company}}'), { ok: false, missing: 'company' })
})

test('an attribute is a field, and only an own property of the contact is one', () => {
  const contact = { ...ann, attributes: { city: 'Paris', visits: 3, is_vip: false } }
  assert.equal(expand('{{contact.attributes.city}} {{contact.attributes.visits}}', contact), 'Paris 3')
  assert.equal(expand('{{contact.attributes.is_vip}} {{contact.attributes.shoe|none}}', contact), 'false none')
  for (const name of ['shoe', 'constructor']) {
    assert.deepEqual(expand(`{{contact.attributes.${name}}}`, contact), { ok: false, missing: `attributes.${name}` })
  }
  const unknown = { ...ann, attributes: null }
  assert.deepEqual(expand('{{contact.attributes.city}}', unknown), { ok: false, missing: 'attributes.city' })
  assert.match(findValueFault({ body: ['{{contact.attributes.No}}'] }, 'p') ?? '', /^p\.body\[0\]: unknown field/)
})

test('the required fields are listed once and in order, without those that have a fallback', () => {
  const params = {
    body: ['{{contact.attributes.city}} {{contact.name|there}}', '{{contact.email}} {{contact.attributes.city }}'],
    bodyNamed: { a: '{{contact.company}} {{contact.age}}' },
  }
  assert.deepEqual(listRequiredFields(params), ['attributes.city', 'email', 'company'])
  const many = Array.from({ length: 100 }, (_, i) => `{{contact.attributes.a${i}}}`).join('')
  assert.equal(listRequiredFields({ body: Array<string>(200).fill(many) }).length, 100)
})

test('values are filled wherever they stand, and everything else stays', () => {
  const params = {
    bodyNamed: { who: '{{contact.name}}' },
    headerLocation: { latitude: '1', longitude: '2', name: '{{contact.name}}' },
    cards: [{ body: ['{{contact.phone}}'] }],
  }
  assert.deepEqual(expandValues(params, ann), {
    ok: true,
    params: {
      bodyNamed: { who: 'Ann' },
      headerLocation: { latitude: '1', longitude: '2', name: 'Ann' },
      cards: [{ body: ['+14155550100'] }],
    },
  })
})

test('a field that is not there is named with its place', () => {
  for (const [params, message] of [
    [
      { body: ['x', '{{contact.age}}'] },
      'template.params.body[1]: unknown field contact.age; use one of name, phone, email, company, attributes.NAME',
    ],
    [
      { bodyNamed: { a: '{{contact.}}' } },
      'template.params.bodyNamed.a: unknown field contact.; use one of name, phone, email, company, attributes.NAME',
    ],
    [{ cards: [{ buttonParams: { 0: '{{contact.Name|x}}' } }] }, /^template\.params\.cards\[0\]\.buttonParams\.0: /],
    [{ body: ['{{contact.constructor}}'] }, /contact\.constructor/],
  ] as const) {
    const fault = findValueFault(params, 'template.params') ?? ''
    if (typeof message === 'string') assert.equal(fault, message)
    else assert.match(fault, message)
  }
  assert.equal(findValueFault({ body: ['{{contact.name|x}}', '{{other}}'] }, 'template.params'), undefined)
})

const field = fc.constantFrom(...valueFields)
const plain = fc.string({ unit: codePoint, maxLength: 20 }).map((text) => text.replace(/[{}|]/g, ''))
const contacts = fc.record({ name: plain, phone: plain, email: plain, company: plain })

test('whatever a contact is called, text without fields stays as it is', () => {
  fc.assert(
    fc.property(fc.array(plain), contacts, (body, contact) => {
      assert.equal(hasFields({ body }), false)
      assert.deepEqual(expandValues({ body }, contact), { ok: true, params: { body } })
    }),
  )
})

test('what stands in a field is taken literally, whatever it looks like', () => {
  const odd = fc.oneof(plain, fc.constantFrom('{{contact.name}}', '$&', '$1', '{{contact.email|x}}', "$'", '\\'))
  fc.assert(
    fc.property(field, odd, plain, plain, plain, (name, value, before, after, fallback) => {
      const contact = { ...ann, [name]: value }
      const expected = value.trim() ? value : fallback
      assert.equal(expand(`${before}{{contact.${name}|${fallback}}}${after}`, contact), before + expected + after)
      const bare = expand(`${before}{{contact.${name}}}${after}`, contact)
      assert.deepEqual(bare, value.trim() ? before + value + after : { ok: false, missing: name })
    }),
  )
})

test('a long field that never ends is read, which would take hours if its end were searched at each character', () => {
  const body = [`{{contact.${' '.repeat(2_000_000)}`]
  assert.equal(findValueFault({ body }, 'template.params'), undefined)
  assert.deepEqual(expandValues({ body }, ann), { ok: true, params: { body } })
})
