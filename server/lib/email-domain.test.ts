import assert from 'node:assert/strict'
import { test } from 'node:test'
import { domainOfEmail, toDomain } from './email-domain.ts'

test('domains are compared in lower case and Punycode, and other texts are none', () => {
  for (const [text, domain] of [
    ['acme.test', 'acme.test'],
    ['Mail.ACME.test', 'mail.acme.test'],
    ['straße.example', 'xn--strae-oqa.example'],
    ['xn--strae-oqa.example', 'xn--strae-oqa.example'],
    ['acme', undefined],
    ['', undefined],
    ['*.acme.test', undefined],
    ['acme.test.', undefined],
    ['acme..test', undefined],
    ['acme.test/evil.test', undefined],
    ['acme.test:25', undefined],
    ['acme.test\\evil.test', undefined],
    ['acme .test', undefined],
    ['acme%2etest', undefined],
  ] as const) {
    assert.equal(toDomain(text), domain, text)
    assert.equal(domainOfEmail(`ann@${text}`), domain, text)
  }
  assert.equal(toDomain('@acme.test'), undefined)
  assert.equal(domainOfEmail('ann@acme.test@evil.test'), 'evil.test')
})
