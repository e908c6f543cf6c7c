import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { codePoint } from '../lib/test-text.ts'
import { identityOfPhone, parsePhone, requirePhone } from './phone.ts'

test('a number is read as people write it and kept in E.164', () => {
  for (const [text, country, number] of [
    ['+15555550100', 'US', '+15555550100'],
    ['+1 (415) 555-0100', 'DE', '+14155550100'],
    ['+1.415.555.0100', 'US', '+14155550100'],
    ['＋１４１５５５５０１００', 'US', '+14155550100'],
    ['+44 20 7946 0958', 'US', '+442079460958'],
    ['+80012345678', 'US', '+80012345678'],
  ] as const) {
    assert.equal(parsePhone(text, country), number, text)
  }
})

test('without a country code the default country decides', () => {
  for (const [text, country, number] of [
    ['(415) 555-0100', 'US', '+14155550100'],
    ['5555550100', 'US', '+15555550100'],
    ['030 123456', 'DE', '+4930123456'],
    ['020 7946 0958', 'GB', '+442079460958'],
    ['00 1 415 555 0100', 'DE', '+14155550100'],
    ['011 44 20 7946 0958', 'US', '+442079460958'],
  ] as const) {
    assert.equal(parsePhone(text, country), number, text)
  }
})

test('what is not a possible number is none', () => {
  const none = [
    ...[
      '',
      ' ',
      '+',
      '++14155550100',
      '0',
      '911',
      '+1',
      '+1415555010',
      '+141555501000',
      '+999123456789',
      '+0123456789',
    ],
    ...['+14155550100 ext. 5', '+14155550100x5', '+14155550100;ext=5', '+1(415)5550100#5'],
    ...['call +14155550100', '+14155550100 or +14155550101', '1-800-FLOWERS', '+1 415\n555 0100', '+1415\u00005550100'],
    ...[
      '{"to":"+14155550100"}',
      '["+14155550100"]',
      '"+14155550100"',
      'null',
      'true',
      'NaN',
      '1e10',
      '[object Object]',
    ],
    ...['constructor', '__proto__', "' or 1=1 --", '%', '_', '\ud800', '🙂', `+1${'4'.repeat(300_000)}`],
  ]
  for (const text of none) assert.equal(parsePhone(text, 'US'), undefined, JSON.stringify(text.slice(0, 60)))
})

test('with an unknown country, only numbers with a country code are read', () => {
  for (const country of ['', 'XX', 'us', 'constructor', '__proto__']) {
    assert.equal(parsePhone('4155550100', country), undefined)
    assert.equal(parsePhone('+14155550100', country), '+14155550100')
  }
})

test('any text is read without failing, and a number read twice stays itself', () => {
  const noise = fc.string({ unit: fc.constantFrom(...'0123456789+-() .;ext=#*,/x٤４\u200b') })
  fc.assert(
    fc.property(
      fc.oneof(noise, fc.string({ unit: codePoint })),
      fc.constantFrom('US', 'DE', 'IT', 'AR'),
      (text, country) => {
        const number = parsePhone(text, country)
        if (number === undefined) return
        assert.match(number, /^\+[1-9]\d{1,16}$/)
        assert.equal(parsePhone(number, 'US'), number)
      },
    ),
    { seed: 1, numRuns: 3_000 },
  )
})

test('a refusal names the field', () => {
  assert.throws(() => requirePhone('nobody', 'US', 'to'), { code: 'bad_request', message: 'to: not a phone number' })
})

test('a number with two spellings has one identity', () => {
  assert.equal(parsePhone('+52 1 55 1234 5678', 'US'), '+525512345678')
  assert.equal(parsePhone('+521 (55) 1234-5678', 'US'), '+525512345678')
  for (const [one, other] of [
    ['+5215512345678', '+525512345678'],
    ['+551187654321', '+5511987654321'],
  ] as const) {
    assert.equal(identityOfPhone(one), identityOfPhone(other))
  }
  // A landline of Brazil has no second spelling, nor has anybody else's number.
  for (const phone of ['+551123456789', '+551133334444', '+14155550100', '+52155123456']) {
    assert.equal(identityOfPhone(phone), phone)
  }
  fc.assert(fc.property(fc.string(), (text) => identityOfPhone(identityOfPhone(text)) === identityOfPhone(text)))
})

test('the short cut for numbers with the code 1 reads them as the library does', () => {
  const digits = (length: number) => fc.stringMatching(new RegExp(`^[0-9]{${length}}$`))
  const separator = fc.constantFrom('', ' ', '.', '-')
  const text = fc
    .tuple(
      ...[fc.constantFrom('', '+1', '1', '+'), separator, fc.constantFrom('', '('), digits(3)],
      ...[fc.constantFrom('', ')'), separator, digits(3), separator, digits(4)],
    )
    .map((parts) => parts.join(''))
  const country = fc.constantFrom('US', 'CA', 'JM', 'AG', 'DO', 'PR', 'DE', 'MX')
  fc.assert(
    fc.property(text, country, (phone, defaultCountry) => {
      const number = parsePhoneNumberFromString(phone, { defaultCountry, extract: false })
      assert.equal(
        parsePhone(phone, defaultCountry),
        number?.isPossible() && !number.ext ? number.number : undefined,
        phone,
      )
    }),
    { numRuns: 3_000 },
  )
})
