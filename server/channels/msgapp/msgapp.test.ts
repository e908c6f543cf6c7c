import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Content, MediaReference, OutgoingMessage } from '../channel.ts'
import { connectionOf, type FakeHttp, fakeHttp, fixture, outgoing, type ScriptedAnswer } from '../test-http.ts'
import { createMsgapp } from './msgapp.ts'

const connection = connectionOf('msgapp', { is_private: true })
const sent: ScriptedAnswer = { body: fixture('msgapp/answers/sent') }
const error = (name: string, status = 400): ScriptedAnswer => ({ status, body: fixture(`msgapp/answers/${name}`) })

async function send(changes: Partial<OutgoingMessage>, answer: ScriptedAnswer = sent) {
  const http = fakeHttp(answer)
  const result = await createMsgapp(http, 15_000).send(connection, outgoing(changes))
  return { result, http, body: http.requests.length > 0 ? http.json() : undefined }
}

test('a send goes to the number, with the token and our message id', async () => {
  const { result, http, body } = await send({})
  const [request] = http.requests
  assert.equal(request?.method, 'POST')
  assert.equal(request?.url, 'https://graph.example/v25.0/106540352242922/messages')
  assert.deepEqual(request?.headers, { authorization: 'Bearer the-token', 'content-type': 'application/json' })
  assert.equal(request?.timeoutMs, 15_000)
  assert.equal(request?.isPrivate, true)
  assert.deepEqual(body, {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: '+525512345678',
    type: 'text',
    text: { body: 'Hola', preview_url: false },
    biz_opaque_callback_data: '019770a0-0000-7000-8000-000000000001',
  })
  assert.deepEqual(result, {
    ok: true,
    external_id: 'wamid.HBgNNTIxNTUxMjM0NTY3OBUCABEYEjU3QUJDREVGMDEyMzQ1Njc4OQA=',
    person: { phone: '+5215512345678', user_id: 'MX.13491208655302741918', name: null, username: null },
  })
})

test('every kind of content has its wire form', async () => {
  const media_url = 'https://cdn.example/a'
  const components = [{ type: 'body', parameters: [{ type: 'text', text: 'Ana' }] }]
  const cases: [Content, unknown][] = [
    [
      { type: 'image', media_url, text: 'Front', filename: 'a.jpg' },
      { link: media_url, caption: 'Front' },
    ],
    [{ type: 'image', media_url, text: null, filename: null }, { link: media_url }],
    [
      { type: 'video', media_url, text: 'Clip', filename: null },
      { link: media_url, caption: 'Clip' },
    ],
    [
      { type: 'document', media_url, text: 'Receipt', filename: 'r.pdf' },
      { link: media_url, filename: 'r.pdf', caption: 'Receipt' },
    ],
    [{ type: 'audio', media_url, text: null, filename: null }, { link: media_url }],
    [
      { type: 'template', name: 'order_update', language: 'es_MX', components },
      { name: 'order_update', language: { code: 'es_MX' }, components },
    ],
    [
      { type: 'template', name: 'hello_world', language: 'en_US', components: [] },
      { name: 'hello_world', language: { code: 'en_US' } },
    ],
  ]
  for (const [content, wire] of cases) {
    const { body } = await send({ content })
    assert.equal((body as { type: string }).type, content.type)
    assert.deepEqual((body as Record<string, unknown>)[content.type], wire)
  }
})

test('a reply names the quoted message, and a contact without a number is addressed by user id', async () => {
  const unnumbered = { phone: null, user_id: 'MX.1', name: null, username: null }
  const { body } = await send({ reply_to: 'wamid.IN.1', to: unnumbered })
  const { context, to, recipient } = body as Record<string, unknown>
  assert.deepEqual(context, { message_id: 'wamid.IN.1' })
  assert.equal(to, undefined)
  assert.equal(recipient, 'MX.1')
  const withoutAddress = await send({ to: { phone: null, user_id: null, name: null, username: null } })
  assert.deepEqual([withoutAddress.http.requests.length, withoutAddress.result.ok], [0, false])
})

test('the outcome of a send is unknown unless it is certain', async () => {
  const rejected = (code: number | null, message: string, again = false) => ({
    ok: false,
    outcome: 'rejected',
    again,
    code,
    message,
  })
  const unknown = (message: string) => ({ ok: false, outcome: 'unknown', message })
  const cases: [ScriptedAnswer, unknown][] = [
    [error('undeliverable'), rejected(131026, '131026: Message undeliverable')],
    [
      error('parameter-count'),
      rejected(
        132000,
        '132000: Number of parameters does not match the expected number of params. body: number of localizable_params (1) does not match the expected number of params (3)',
      ),
    ],
    [error('throttled'), rejected(130429, '130429: Rate limit hit', true)],
    [error('throttled', 500), rejected(130429, '130429: Rate limit hit', true)],
    [
      error('token-expired', 401),
      rejected(190, '190: Error validating access token: Session has expired on Monday, 15-Jun-25 06:00:00 PDT.'),
    ],
    [error('something-went-wrong', 500), unknown('131000: Something went wrong')],
    [{ status: 429, body: 'slow down' }, rejected(null, 'HTTP 429', true)],
    [
      { status: 403, body: '<html>' },
      { ...rejected(null, 'HTTP 403'), isDenied: true },
    ],
    [{ status: 401 }, { ...rejected(null, 'HTTP 401'), isDenied: true }],
    [{ status: 302 }, rejected(null, 'HTTP 302')],
    [{ status: 502, body: '<html>' }, unknown('HTTP 502')],
    [{ status: 200, body: '{"messages":' }, unknown('HTTP 200 without a message id')],
    [{ status: 200, body: { messages: [{ id: 5 }] } }, unknown('HTTP 200 without a message id')],
    ['silence', unknown('no answer within 15 s')],
    ['refused', { ok: false, outcome: 'unsent', message: 'connection refused' }],
  ]
  for (const [answer, expected] of cases) assert.deepEqual((await send({}, answer)).result, expected)
  for (const code of [4, 80007, 131056, 131057]) {
    const { result } = await send({}, { status: 500, body: { error: { code, message: 'Later' } } })
    assert.deepEqual(result, rejected(code, `${code}: Later`, true))
  }
})

test('what the provider says is bounded and can be kept', async () => {
  const error = { code: 1, message: `\0\ud800${'x'.repeat(5_000)}` }
  const { result } = await send({}, { status: 400, body: { error } })
  assert.ok(!result.ok && result.message.length <= 1_000 && result.message.startsWith('1: \ufffdx'))
})

const picture: MediaReference = { id: '1003383421387256', url: null, mime_type: null, filename: null }
const resolved: ScriptedAnswer = { body: fixture('msgapp/answers/media') }
const fetchWith = (http: FakeHttp, media = picture, changes = {}) =>
  createMsgapp(http, 15_000).fetchMedia(connectionOf('msgapp', changes), media, 1_000)

test('media is found by its id and fetched with the token', async () => {
  const http = fakeHttp(resolved, { headers: { 'content-type': 'image/png', 'content-length': '3' }, body: 'abc' })
  const fetched = await fetchWith(http)
  assert.ok(fetched.ok)
  assert.equal(Buffer.concat(await fetched.bytes.toArray()).toString(), 'abc')
  assert.equal(fetched.mime_type, 'image/jpeg')
  assert.equal(http.requests[0]?.url, 'https://graph.example/v25.0/1003383421387256')
  assert.match(http.requests[1]?.url ?? '', /^https:\/\/lookaside\.fbsbx\.com\//)
  assert.equal(http.requests[1]?.headers?.authorization, 'Bearer the-token')
  assert.equal(http.requests[1]?.timeoutMs, 30_000)
})

test('the token goes only to the provider, and private addresses are refused', async () => {
  const cases: [string, boolean, boolean][] = [
    ['https://graph.example/media/1', true, true],
    ['http://graph.example/media/1', false, false],
    ['https://graph.example:8443/media/1', false, false],
    ['https://lookaside.fbsbx.com/1', true, false],
    ['https://scontent.xx.fbcdn.net/1', true, false],
    ['https://mmg.whatsapp.net/1', true, false],
    ['https://scontent.cdninstagram.com/1', true, false],
    ['http://lookaside.fbsbx.com/1', false, false],
    ['https://evilfbsbx.com/1', false, false],
    ['https://lookaside.fbsbx.com.evil.example/1', false, false],
    ['https://lookaside.fbsbx.com@evil.example/1', false, false],
    ['http://169.254.169.254/latest', false, false],
  ]
  for (const [url, hasToken, isPrivate] of cases) {
    const http = fakeHttp({ body: 'abc' })
    assert.ok((await fetchWith(http, { ...picture, id: null, url }, { is_private: true })).ok)
    assert.equal(http.requests[0]?.headers?.authorization, hasToken ? 'Bearer the-token' : undefined, url)
    assert.equal(http.requests[0]?.isPrivate, isPrivate, url)
  }
  const http = fakeHttp({ body: 'abc' })
  await fetchWith(http, { ...picture, id: null, url: 'https://graph.example/media/1' })
  assert.equal(http.requests[0]?.isPrivate, false, 'of a connection that is not private')
})

test('of a private host only the files of the simulator are fetched', async () => {
  const origin = 'http://127.0.0.1:4000'
  const cases: [string, boolean][] = [
    ['/simulator/media/880123?ext=1&hash=2', true],
    ['/simulator/lookaside?mid=880123&ext=1&hash=2', true],
    ['/metrics', false],
    ['/app/api/setup', false],
    ['/simulator/control/sent', false],
    ['/simulator/graph/v25.0/1', false],
    ['/simulator/media/../control/sent', false],
    ['/simulator/media/%2e%2e/control/sent', false],
    ['/simulator/lookaside/../control/sent', false],
    ['/media/1', false],
  ]
  for (const [path, isPrivate] of cases) {
    const http = fakeHttp({ body: 'abc' })
    const changes = { is_private: true, base_url: `${origin}/simulator/graph` }
    await fetchWith(http, { ...picture, id: null, url: `${origin}${path}` }, changes)
    assert.equal(http.requests[0]?.isPrivate, isPrivate, path)
  }
})

test('media that is gone or too large is not asked for again, media that may come is', async () => {
  const byUrl = { ...picture, id: null, url: 'https://lookaside.fbsbx.com/1' }
  const cases: [MediaReference, ScriptedAnswer[], boolean][] = [
    [picture, [error('no-such-object')], false],
    [picture, [error('token-expired', 401)], true],
    [picture, ['silence'], true],
    [picture, [{ body: 'not json' }], true],
    [picture, [resolved, { status: 404 }, resolved, { status: 404 }], true],
    [picture, [resolved, { status: 404 }, error('no-such-object')], false],
    [picture, [resolved, { headers: { 'content-length': '1001' }, body: 'abc' }], false],
    [picture, [resolved, { status: 503 }], true],
    [picture, [resolved, 'silence'], true],
    [byUrl, [{ status: 404 }], false],
    [byUrl, [{ status: 410 }], false],
    [byUrl, [{ status: 302 }], false],
    [byUrl, [{ status: 429 }], true],
    [{ ...byUrl, url: 'nonsense' }, [], false],
    [{ ...byUrl, url: null }, [], false],
    [{ ...picture, id: '..' }, [], false],
  ]
  for (const [media, answers, again] of cases) {
    const http = fakeHttp(...answers)
    const fetched = await fetchWith(http, media)
    assert.ok(!fetched.ok)
    assert.equal(fetched.again, again, JSON.stringify(answers))
    assert.equal(http.requests.length, answers.length)
    const areClosed = http.bodies.every((body) => body.destroyed)
    assert.ok(areClosed, 'what is not read is let go')
  }
})

test('an address that ended is asked for once more', async () => {
  const http = fakeHttp(resolved, { status: 404 }, resolved, { body: 'abc' })
  assert.ok((await fetchWith(http)).ok)
})

test('templates are listed through all pages, by cursor and never at another host', async () => {
  const page = fixture('msgapp/answers/templates') as { data: unknown[] }
  const next = (after: string) => ({ next: `https://evil.example/v25.0/1/message_templates?limit=100&after=${after}` })
  const http = fakeHttp(
    { body: { data: page.data.slice(0, 4), paging: next('c1') } },
    { body: { data: [...page.data.slice(4), { name: 'no id' }, 7], paging: { cursors: { after: 'c2' } } } },
  )
  const templates = await createMsgapp(http, 15_000).listTemplates?.(connection)
  assert.equal(templates?.length, page.data.length)
  assert.deepEqual(Object.keys(templates?.[0] ?? {}).sort(), [
    ...['category', 'components', 'external_id', 'language', 'name', 'parameter_format', 'status'],
  ])
  assert.ok(
    http.requests.every(({ url }) => url.startsWith('https://graph.example/v25.0/102290129340398/message_templates?')),
  )
  const cursors = http.requests.map(({ url }) => new URL(url).searchParams.get('after'))
  assert.deepEqual(cursors, [null, 'c1'])
})

test('a list of templates that broke off is none', async () => {
  const full = { body: { data: [], paging: { next: 'https://graph.example/?after=again' } } }
  for (const answers of [
    ['silence'] as const,
    [error('token-expired', 401)],
    [{ body: { data: 'none' } }],
    [full, { status: 500 }],
    [{ body: { data: [], paging: { next: 'https://graph.example/' } } }],
    Array.from({ length: 200 }, () => full),
  ]) {
    const http = fakeHttp(...answers)
    assert.equal(await createMsgapp(http, 15_000).listTemplates?.(connection), undefined)
    assert.ok(http.requests.length <= 100)
  }
})

test('a check names the setting that is wrong, and stops there', async () => {
  const number: ScriptedAnswer = { body: fixture('msgapp/answers/number') }
  const templates: ScriptedAnswer = { body: { data: [] } }
  const cases: [ScriptedAnswer[], string | null, number][] = [
    [['silence'], 'base_url', 1],
    [[{ status: 404, body: '<html>' }], 'base_url', 1],
    [[{ status: 200, body: '<html>' }], 'base_url', 1],
    [[{ status: 400, body: { error: { code: 2500, message: 'Unknown path components: /v99.0' } } }], 'api_version', 1],
    [[error('token-expired', 401)], 'access_token', 2],
    [[error('token-expired', 400)], 'access_token', 2],
    [[error('no-such-object')], 'phone_number_id', 3],
    [[{ status: 403, body: { error: { code: 200, message: '(#200) Permission missing' } } }], 'access_token', 3],
    [[{ status: 500, body: { error: { code: 2, message: 'Temporary' } } }], null, 2],
    [[number, error('no-such-object')], 'account_id', 4],
    [[number, 'silence'], 'base_url', 4],
  ]
  for (const [answers, field, length] of cases) {
    const steps = await createMsgapp(fakeHttp(...answers), 15_000).check(connection)
    const last = steps.at(-1)
    assert.deepEqual([last?.ok, last?.field, steps.length], [false, field, length], JSON.stringify(answers))
    assert.ok(steps.slice(0, -1).every(({ ok }) => ok))
  }
  const steps = await createMsgapp(fakeHttp(number, templates), 15_000).check(connection)
  const results = steps.map(({ step, ok, message }) => [step, ok, message])
  assert.deepEqual(results, [
    ['Reach the provider', true, 'The provider answers.'],
    ['Access token is valid', true, 'The provider accepts it.'],
    ['Read the phone number', true, 'Acme, +1 555-000-1111'],
    ['Read the templates of the account', true, 'Found.'],
  ])
})
