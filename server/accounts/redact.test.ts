/** Redaction: no secret stays, and the rest of a body stays readable. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertCheap } from '../../tests/cpu.ts'
import { redactBody, redactError, redactHeaders, redactText } from './redact.ts'

const redact = (body: string) => redactBody(Buffer.from(body))

test('values of secret fields are removed at any depth, and all others stay', () => {
  const body = {
    url: 'https://ann:hunter2@example.com/hook?token=hunter2&page=2',
    secret: 'hunter2',
    nested: [{ access_token: 'hunter2', apiKey: ['hunter2'], Password: 12345, note: 'Bearer hunter2' }],
    text: 'my key is svc_live_hunter2 and whsec_hunter2, password: hunter2',
    to: '+14155550100',
    refresh_token: null,
  }
  const kept = redact(JSON.stringify(body))
  assert.doesNotMatch(kept, /hunter2|12345|svc_live_|whsec_/)
  assert.deepEqual(JSON.parse(kept), {
    url: 'https://[removed]@example.com/hook?token=[removed]&page=2',
    secret: '[removed]',
    nested: [{ access_token: '[removed]', apiKey: '[removed]', Password: '[removed]', note: 'Bearer [removed]' }],
    text: 'my key is [removed] and [removed], password: [removed]',
    to: '+14155550100',
    refresh_token: null,
  })
})

test('a body that is not valid JSON is kept without its secrets', () => {
  for (const body of [
    '{"name": "Ann", "secret": "hunter2",,}',
    '{"name": "Ann", "secret": "hunt\\"er2, hunter2"',
    "{'name': 'Ann', 'api_key': 'hunter2'",
    '{"name": "Ann", "token": {"a": {"b": "hunter2"}}, "c": "hunter2"',
    '{"name": "Ann", "password": hunter2',
    'name=Ann&client_secret=hunter2&x=1',
  ]) {
    const kept = redact(body)
    assert.doesNotMatch(kept, /hunter2/, body)
    assert.match(kept, /Ann/, body)
  }
})

test('only the beginning of a long body is kept', () => {
  for (const length of [5_000, 200_000]) {
    const kept = redact(JSON.stringify({ name: 'Ann', secret: 'hunter2', text: 'x'.repeat(length) }))
    assert.equal(kept.length, 4_097)
    assert.match(kept, /^\{"name":"Ann".*x…$/)
    assert.doesNotMatch(kept, /hunter2/)
  }
  // A regular expression that backtracks at each character of a long word would take hours.
  const word = 'a'.repeat(8 * 1024 * 1024)
  assert.equal(redactText(word), word)
})

test('a query keeps everything but secrets', () => {
  assert.equal(
    redactText('/v1/contacts?phone=%2B14155550100&email=ann@example.com&api_key=hunter2&access_token=hunter2'),
    '/v1/contacts?phone=%2B14155550100&email=ann@example.com&api_key=[removed]&access_token=[removed]',
  )
})

test('codes for one sign-in are removed, and other codes stay', () => {
  const body = {
    code: '123456',
    otp: '123456',
    sms_otp: '1',
    verification_code: '2',
    error_code: 131_026,
    country_code: 'US',
  }
  assert.deepEqual(JSON.parse(redact(JSON.stringify(body))), {
    code: '[removed]',
    otp: '[removed]',
    sms_otp: '[removed]',
    verification_code: '[removed]',
    error_code: 131_026,
    country_code: 'US',
  })
  assert.equal(redactText('/cb?code=123&state=1&country_code=US'), '/cb?code=[removed]&state=1&country_code=US')
})

test('a response keeps the code of its error, and loses the secrets that the error quotes', () => {
  const kept = redactError({
    code: 'bad_request',
    message: 'url: https://ann:hunter2@example.com/?token=hunter2',
    details: { outcome: 'rejected', access_token: 'hunter2', reason: 'Bearer hunter2' },
  })
  assert.deepEqual(JSON.parse(kept), {
    error: {
      code: 'bad_request',
      message: 'url: https://[removed]@example.com/?token=[removed]',
      details: { outcome: 'rejected', access_token: '[removed]', reason: 'Bearer [removed]' },
    },
  })
  assert.equal(redactError({ code: 'internal', message: 'x'.repeat(100_000) }).length, 65_537)
  const headers = { 'x-request-id': 'r-1', 'retry-after': 7, 'set-cookie': 'a=hunter2', location: '/?token=hunter2' }
  assert.equal(
    redactHeaders(headers),
    'x-request-id: r-1\nretry-after: 7\nset-cookie: [removed]\nlocation: /?token=[removed]',
  )
})

test('the value of another name may contain a secret', () => {
  assert.equal(redactText('note: password: hunter2'), 'note: password: [removed]')
  assert.equal(redactText('a=token=hunter2&b=1'), 'a=token=[removed]&b=1')
})

test('the work grows linearly with the text, whatever it contains', async () => {
  const words = [
    'pwd',
    'secret',
    'token',
    'api_key',
    'a',
    '-',
    '_',
    ' ',
    '"',
    "'",
    ':',
    '=',
    '{',
    '[',
    '\\',
    '/',
    '@',
    '//a',
    'Bearer ',
    'svc_live_',
    'pwd ',
    'pwd:',
    'pwd="',
    'pwd="\\',
    "pwd='",
    'a=',
    '//',
    'otp_',
  ]
  const ends = ['', ' '.repeat(32_768), ':', '"', '@', 'x'.repeat(32_768)]
  for (const word of words) {
    for (const end of ends) {
      // Quadratic work takes seconds for the longer text.
      const text = word.repeat(Math.ceil(1_048_576 / word.length)) + end
      const about = `1 MiB of ${JSON.stringify(word)} before ${JSON.stringify(end.slice(0, 3))}`
      await assertCheap(about, 100, () => redactText(text))
    }
  }
})
