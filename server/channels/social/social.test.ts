import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Content, OutgoingMessage, Person, Report, WrittenMessage } from '../channel.ts'
import { connectionOf, fakeHttp, fixture, outgoing, type ScriptedAnswer } from '../test-http.ts'
import { parse } from './parse.ts'
import { createSocial } from './social.ts'

const connection = connectionOf('social')
const at = '2025-06-15T15:06:40.876Z'
const mid = 'aWdfZAG1faXRlbToxOklHTWVzc2FnZAUlEOjE3ODQxNDAwMDAwMDAwMDAw'
const person: Person = { phone: null, user_id: '1234567890123456', name: null, username: null }
const written = (said: Partial<WrittenMessage>): WrittenMessage => ({
  external_id: mid,
  at,
  content_type: 'text',
  content_text: null,
  media: null,
  reply_to: null,
  interactive_reply_id: null,
  content: null,
  ...said,
})
const message = (said: Partial<WrittenMessage>): Report => ({ kind: 'message', from: person, ...written(said) })
const media = (query: string) => ({
  id: null,
  url: `https://lookaside.fbsbx.com/ig_messaging_cdn/?${query}`,
  mime_type: null,
  filename: null,
})
const unsupported = (attachment: unknown) => [message({ content_type: 'unsupported', content: { attachment } })]
const ignored = (reason: string): Report => ({ kind: 'ignored', reason })
const derived = /^derived:[0-9a-f]{64}$/

const expected: Record<string, Report[]> = {
  text: [message({ content_text: 'Hola ☕' })],
  image: [message({ content_type: 'image', media: media('asset_id=1&signature=a') })],
  images: [
    message({ content_type: 'image', media: media('asset_id=1&signature=a') }),
    message({ external_id: `${mid}:1`, content_type: 'image', media: media('asset_id=2&signature=a') }),
    message({ external_id: `${mid}:2`, content_type: 'image', media: media('asset_id=3&signature=a') }),
  ],
  video: [message({ content_type: 'video', media: media('asset_id=4') })],
  audio: [message({ content_type: 'audio', media: media('asset_id=5') })],
  file: [message({ content_type: 'document', media: media('asset_id=6') })],
  reel: unsupported({
    type: 'ig_reel',
    title: 'Ten cafés',
    url: 'https://www.instagram.com/reel/abc/',
    reel_video_id: '17900000000000000',
  }),
  post: unsupported({
    type: 'ig_post',
    title: 'Menu',
    url: 'https://lookaside.fbsbx.com/ig_messaging_cdn/?asset_id=7',
    ig_post_media_id: '17900000000000001',
  }),
  share: unsupported({ type: 'share', url: 'https://www.instagram.com/p/abc/' }),
  'story-mention': unsupported({
    type: 'story_mention',
    url: 'https://lookaside.fbsbx.com/ig_messaging_cdn/?asset_id=8',
  }),
  ephemeral: unsupported({ type: 'ephemeral' }),
  reply: [message({ content_text: 'that one', reply_to: 'aWdfZAG1fQUOTED' })],
  'story-reply': [
    message({
      content_text: 'Nice!',
      content: {
        story: { id: '17900000000000002', url: 'https://lookaside.fbsbx.com/ig_messaging_cdn/?asset_id=9' },
      },
    }),
  ],
  echo: [{ kind: 'echo', to: person, ...written({ content_text: 'We are open until 9.' }) }],
  self: [ignored('the account wrote to itself')],
  deleted: [{ kind: 'revoke', from: person, external_id: mid, at }],
  unsupported: [message({ content_type: 'unsupported' })],
  'quick-reply': [message({ content_type: 'interactive', content_text: 'Yes', interactive_reply_id: 'YES_42' })],
  'from-ad': [
    message({
      content_text: 'How much?',
      content: {
        referral: {
          ref: 'summer',
          ad_id: '6045246247433',
          source: 'ADS',
          type: 'OPEN_THREAD',
          ads_context_data: { ad_title: 'Summer', photo_url: 'https://scontent.example/2.jpg' },
        },
      },
    }),
  ],
  reaction: [
    message({
      external_id: 'aWdfZAG1fOURS:reaction:1234567890123456:1750000000876',
      content_type: 'reaction',
      content_text: '❤️',
      reply_to: 'aWdfZAG1fOURS',
    }),
  ],
  unreaction: [
    message({
      external_id: 'aWdfZAG1fOURS:reaction:1234567890123456:1750000000876',
      content_type: 'reaction',
      reply_to: 'aWdfZAG1fOURS',
    }),
  ],
  read: [{ kind: 'read_up_to', external_id: 'aWdfZAG1fOURS', from: person, at }],
  postback: [message({ content_type: 'button', content_text: 'Talk to us', interactive_reply_id: 'HUMAN' })],
  edit: [{ kind: 'edit', from: person, external_id: mid, text: 'Hola, fixed', at }],
  standby: [message({ content_text: 'Hola' })],
  'test-event': [
    {
      kind: 'message',
      from: { ...person, user_id: '12334' },
      ...written({ external_id: 'random_mid', at: '2025-06-15T15:06:40.000Z', content_text: 'random_text' }),
    },
  ],
}

for (const [name, reports] of Object.entries(expected)) {
  test(`social reads ${name}`, () => assert.deepEqual(parse(connection, fixture(`social/${name}`)), reports))
}

const one = (item: Record<string, unknown>) =>
  parse(connection, { entry: [{ messaging: [{ sender: { id: '1' }, timestamp: 1750000000876, ...item }] }] })

test('text beside an unsupported attachment is kept', () => {
  const [report] = one({ message: { mid: 'm', text: 'see this', attachments: [{ type: 'share', payload: {} }] } })
  assert.ok(report?.kind === 'message' && report.content_type === 'text' && report.content_text === 'see this')
})

test('an echo of another account is not ours', () => {
  const [report] = one({ recipient: { id: '2' }, message: { mid: 'm', text: 'x', is_echo: true } })
  assert.equal(report?.kind, 'ignored')
})

test('a click on an ad or a link without a message is kept, with its referral', () => {
  const [report, ...more] = parse(connection, fixture('social/referral'))
  assert.ok(report?.kind === 'message' && more.length === 0)
  assert.match(report.external_id, derived)
  assert.deepEqual(
    [report.content_type, report.content_text, report.content],
    ['unsupported', null, { referral: { ref: 'qr', source: 'IGME', type: 'OPEN_THREAD' } }],
  )
})

test('messages for another account are reported as foreign', () => {
  const id = '17841499999999999'
  const other = fixture('social/another-account') as { entry: Record<string, unknown>[] }
  for (const body of [other, { entry: [{ ...other.entry[0], id }] }]) {
    const about = { kind: 'foreign', id, key: `foreign:${id}`, shown: `account ${id}`, hasMessages: true }
    assert.deepEqual(parse(connection, body)[0], { ...about, reason: 'this account is not connected' })
  }
})

test('what cannot be read is unsupported with its parts; without a sender it is malformed', () => {
  const items: [Record<string, unknown>, unknown][] = [
    [{ message: { mid: 'm' } }, null],
    [{ message: { mid: 'm', text: 5 } }, { text: 5 }],
    [{ message: { mid: 'm', attachments: ['x'] } }, { attachment: 'x' }],
    [{ message: { mid: 'm', attachments: { type: 'share', payload: {} } } }, { attachment: { type: 'share' } }],
    [{ message: { mid: 'm', quick_reply: {} } }, { quick_reply: {} }],
    [{ message: 'hi' }, { message: 'hi' }],
    [{ reaction: { action: 'react', emoji: '❤️' } }, { reaction: { action: 'react', emoji: '❤️' } }],
    [{ postback: { mid: 'm' } }, { postback: { mid: 'm' } }],
    [{ message_edit: { mid: 'm' } }, { message_edit: { mid: 'm' } }],
  ]
  for (const [item, content] of items) {
    const [report, ...more] = one(item)
    assert.ok(report?.kind === 'message' && more.length === 0, JSON.stringify(item))
    assert.deepEqual([report.content_type, report.content_text, report.content], ['unsupported', null, content])
    assert.equal(one({ sender: {}, ...item })[0]?.kind, 'malformed')
  }
  const [unnamed] = one({ message: { text: 'hi' } })
  assert.ok(unnamed?.kind === 'message' && unnamed.content_text === 'hi')
  assert.match(unnamed.external_id, derived)
})

test('an id that the index of an attachment makes too long is replaced', () => {
  const reports = one({
    message: {
      mid: 'm'.repeat(512),
      attachments: [1, 2].map((id) => ({ type: 'image', payload: { url: `https://a.example/${id}` } })),
    },
  })
  const [first, second] = reports
  assert.ok(first?.kind === 'message' && second?.kind === 'message')
  assert.equal(first.external_id, 'm'.repeat(512))
  assert.match(second.external_id, derived)
})

const sent: ScriptedAnswer = { body: fixture('social/answers/sent') }
async function send(changes: Partial<OutgoingMessage>, answer: ScriptedAnswer = sent) {
  const http = fakeHttp(answer)
  const result = await createSocial(http, 15_000).send(connection, outgoing(changes))
  return { result, asked: http.requests, body: http.requests.length > 0 ? http.json() : undefined }
}

test('a reply goes to the user id, from the account', async () => {
  const { result, asked, body } = await send({ reply_to: 'aWdfQUOTED' })
  assert.equal(asked[0]?.url, 'https://graph.example/v25.0/17841400000000000/messages')
  assert.equal(asked[0]?.headers?.authorization, 'Bearer the-token')
  const recipient = { id: '1234567890123456' }
  const reply_to = { mid: 'aWdfQUOTED' }
  assert.deepEqual(body, { recipient, messaging_type: 'RESPONSE', message: { text: 'Hola' }, reply_to })
  assert.deepEqual(result, { ok: true, external_id: mid, person })
})

test('a late reply says that a person wrote it', async () => {
  const { body } = await send({ late_reply: true })
  const recipient = { id: '1234567890123456' }
  assert.deepEqual(body, { recipient, messaging_type: 'MESSAGE_TAG', tag: 'HUMAN_AGENT', message: { text: 'Hola' } })
})

test('images go as a list, other media alone, a document as a file', async () => {
  const media_url = 'https://cdn.example/a'
  const cases = { image: 'image', video: 'video', audio: 'audio', document: 'file' } as const
  for (const [type, wire] of Object.entries(cases)) {
    const { body } = await send({ content: { type, media_url, text: null, filename: 'a' } as Content })
    const attachment = { type: wire, payload: { url: media_url } }
    const message = type === 'image' ? { attachments: [attachment] } : { attachment }
    assert.deepEqual((body as { message: unknown }).message, message)
  }
})

test('what this channel cannot carry is refused without asking', async () => {
  const template: Content = { type: 'template', name: 'hello_world', language: 'en_US', components: [] }
  for (const changes of [
    { content: template },
    { content: { type: 'text', text: `${'é'.repeat(500)}!` } satisfies Content },
    { to: { ...person, user_id: null, phone: '+15550100' } },
  ]) {
    const { result, asked } = await send(changes)
    assert.ok(!result.ok && result.outcome === 'rejected' && !result.again && result.code === null)
    assert.equal(asked.length, 0)
  }
  assert.ok((await send({ content: { type: 'text', text: 'é'.repeat(500) } })).result.ok)
})

test('the outcomes of a send', async () => {
  const outside = '10: This message is sent outside of allowed window.'
  const cases: [ScriptedAnswer, unknown][] = [
    [
      { status: 403, body: fixture('social/answers/outside-window') },
      { ok: false, outcome: 'rejected', again: false, code: 10, message: outside },
    ],
    [
      { status: 400, body: fixture('social/answers/throttled') },
      {
        ok: false,
        outcome: 'rejected',
        again: true,
        code: 613,
        message: '613: Calls to this api have exceeded the rate limit.',
      },
    ],
    [{ status: 500 }, { ok: false, outcome: 'unknown', message: 'HTTP 500' }],
    ['silence', { ok: false, outcome: 'unknown', message: 'no answer within 15 s' }],
    [{ body: {} }, { ok: false, outcome: 'unknown', message: 'HTTP 200 without a message id' }],
  ]
  for (const [answer, expected] of cases) assert.deepEqual((await send({}, answer)).result, expected)
})

test('a profile contains what the provider returns', async () => {
  const fetchWith = (answer: ScriptedAnswer) =>
    createSocial(fakeHttp(answer), 15_000).fetchProfile?.(connection, '1234567890123456')
  assert.deepEqual(await fetchWith({ body: fixture('social/answers/profile') }), {
    name: 'Ana Ruiz',
    username: 'ana.r',
    avatar_url: 'https://scontent.cdninstagram.com/v/1.jpg',
  })
  assert.deepEqual(await fetchWith({ body: { name: null, profile_pic: 'javascript:alert(1)' } }), {
    name: null,
    username: null,
    avatar_url: null,
  })
  for (const answer of [
    'silence',
    { status: 400, body: { error: { code: 230 } } },
    { body: '[]' },
  ] as ScriptedAnswer[]) {
    assert.equal(await fetchWith(answer), undefined)
  }
})

test('a check reads the account', async () => {
  const check = (answer: ScriptedAnswer) => createSocial(fakeHttp(answer), 15_000).check(connection)
  const steps = await check({ body: fixture('social/answers/account') })
  assert.ok(steps.every(({ ok }) => ok))
  assert.equal(steps.at(-1)?.message, 'Acme')
  const wrong = await check({ status: 400, body: fixture('msgapp/answers/no-such-object') })
  assert.deepEqual([wrong.at(-1)?.ok, wrong.at(-1)?.field], [false, 'account_id'])
})
