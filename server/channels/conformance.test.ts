/** What every adapter promises, whatever the other side says. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Http } from '../lib/http/client.ts'
import { isUuid } from '../lib/id.ts'
import { isStorable } from '../lib/text.ts'
import {
  type Channel,
  type Content,
  contentTypes,
  type Person,
  type Report,
  type SendAnswer,
  severities,
} from './channel.ts'
import { createMsgapp } from './msgapp/msgapp.ts'
import { createSocial } from './social/social.ts'
import { connectionOf, fakeHttp, outgoing, type ScriptedAnswer } from './test-http.ts'
import { brokenMessages, change, fixturesOf, odd, replaceAt } from './test-messages.ts'
import { createWeb } from './web/web.ts'

const adapters: Record<'msgapp' | 'social' | 'web', (http: Http) => Channel> = {
  msgapp: (http) => createMsgapp(http, 15_000),
  social: (http) => createSocial(http, 15_000),
  web: createWeb,
}
const hourMs = 60 * 60 * 1000
const windows = { msgapp: [24 * hourMs, null], social: [24 * hourMs, 7 * 24 * hourMs], web: [null, null] }

/** Anything, put where it is read. */
const envelopes: Record<'msgapp' | 'social' | 'web', (one: unknown, other: unknown, word: string) => unknown[]> = {
  msgapp: (one, other, word) => {
    const quoted = { context: other, errors: other }
    const item = { id: 'wamid.1', from: '15550100', to: '15550100', type: word, [word]: one, ...quoted }
    const echoes = { message_echoes: [item], user_preferences: [one] }
    const value = { contacts: [other], messages: [one, item], statuses: [one], ...echoes }
    return ['messages', 'smb_message_echoes', 'user_preferences', 'user_id_update', word].map((field) => ({
      entry: [{ changes: [{ field, value }] }],
    }))
  },
  social: (one, other, word) => {
    const item = { sender: { id: '1' }, timestamp: other, [word]: one }
    const message = { mid: 'm', [word]: one, attachments: [other, { type: word, payload: one }] }
    return [{ entry: [{ messaging: [one, item, { ...item, message }], changes: [{ value: item }] }] }]
  },
  web: (one, other, word) => [{ visitor_id: 'v', message_id: 'm', text: 'x', [word]: one, at: other }],
}

for (const name of ['msgapp', 'social', 'web'] as const) {
  const create = adapters[name]
  const connection = connectionOf(name)
  const parse = (body: unknown) => create(fakeHttp()).parse(connection, body)
  const fixtures = fixturesOf(name)

  test(`${name} says its name and its windows`, () => {
    const { name: said, windowMs, lateWindowMs } = create(fakeHttp())
    assert.deepEqual([said, windowMs, lateWindowMs], [name, ...windows[name]])
  })

  test(`${name} makes well-formed reports of everything captured, each time the same`, () => {
    assert.ok(fixtures.length > 0)
    for (const payload of fixtures) {
      const reports = parse(payload)
      assert.ok(reports.length > 0)
      reports.forEach(assertWellFormed)
      assert.deepEqual(parse(payload).map(withoutOwnTime), reports.map(withoutOwnTime))
    }
  })

  test(`${name} reads any JSON without a throw`, () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (body) => parse(body).forEach(assertWellFormed)),
      { seed: 1, numRuns: 1_000 },
    )
  })

  test(`${name} reads whatever its own words can be made into`, () => {
    const words = wordsOf(fixtures)
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 9, depthSize: 'small' },
        odd,
        fc.constantFrom(...words.values),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...words.names), tie('tree'), { maxKeys: 8 }),
      ),
    }))
    const plain = words.values.filter((value) => typeof value === 'string')
    fc.assert(
      fc.property(tree, tree, fc.constantFrom(...plain, ...words.names), (one, other, word) => {
        for (const body of [one, ...envelopes[name](one, other, word)]) parse(body).forEach(assertWellFormed)
      }),
      { seed: 1, numRuns: 500 },
    )
  })

  test(`${name} reads captured payloads in which something is wrong, and still reads their neighbours`, () => {
    const payload = fc.constantFrom(...fixtures)
    fc.assert(
      fc.property(payload, fc.array(change, { minLength: 1, maxLength: 4 }), (payload, changes) => {
        const broken = changes.reduce<unknown>((body, each) => replaceAt(body, each), structuredClone(payload))
        parse(broken).forEach(assertWellFormed)
        if (name === 'web') return
        const { entry } = (fixtures.find((body) => parse(body)[0]?.kind === 'message') ?? {}) as { entry: unknown[] }
        const together = parse({ entry: [...listOf(broken), ...entry] })
        assert.deepEqual(together.slice(-parse({ entry }).length).map(withoutTime), parse({ entry }).map(withoutTime))
      }),
      { seed: 1, numRuns: 2_000 },
    )
  })

  if (name !== 'web') {
    test(`${name} keeps every message of a known sender once, whatever is wrong inside it`, () => {
      fc.assert(
        fc.property(brokenMessages(name), (message) => {
          const [before, broken, after] = [messageOf('before'), { ...message, ...idsOf('broken') }, messageOf('after')]
          const reports = parse(callbackOf([before, broken, after]))
          reports.forEach(assertWellFormed)
          const ids = reports.map((report) => (report.kind === 'message' ? report.external_id : report.kind))
          const further = ids.slice(2, -1)
          assert.deepEqual([...ids.slice(0, 2), ids.at(-1)], ['before', 'broken', 'after'])
          // A social message with several attachments is several of ours.
          assert.ok(further.every((id) => name === 'social' && id.startsWith('broken:')))
        }),
        { seed: 1, numRuns: 3_000 },
      )
    })

    const idsOf = (id: string) => (name === 'msgapp' ? { id, from: '5215512345678' } : { mid: id })
    const messageOf = (id: string) =>
      name === 'msgapp' ? { ...idsOf(id), type: 'text', text: { body: 'hi' } } : { ...idsOf(id), text: 'hi' }
    const callbackOf = (messages: object[]) =>
      name === 'msgapp'
        ? { entry: [{ changes: [{ field: 'messages', value: { messages } }] }] }
        : { entry: [{ messaging: messages.map((message) => ({ sender: { id: '1' }, message })) }] }
  }

  test(`${name} settles a send whatever is answered`, async () => {
    const status = fc.oneof(fc.integer({ min: 100, max: 599 }), fc.constantFrom(200, 400, 429, 500))
    const error = fc.record({ error: fc.record({ code: fc.oneof(odd, fc.nat()), message: odd, error_data: odd }) })
    const sent = fc.record({ messages: fc.array(fc.record({ id: odd })), contacts: odd, message_id: odd })
    const answer: fc.Arbitrary<ScriptedAnswer> = fc.oneof(
      fc.constantFrom('silence' as const, 'refused' as const),
      fc.record({ status, body: fc.oneof(error, sent, fc.jsonValue(), fc.string()) }),
    )
    await fc.assert(
      fc.asyncProperty(answer, fc.constantFrom(...contents), async (answer, content) => {
        const result = await create(fakeHttp(answer)).send(connection, outgoing({ content }))
        assertSettled(result)
        if (name === 'web' || result.ok) return
        // What the adapter itself refuses never gets as far as a connection.
        if (typeof answer === 'string') {
          const outcome = answer === 'silence' ? 'unknown' : 'unsent'
          assert.equal(result.outcome, name === 'social' && result.outcome === 'rejected' ? 'rejected' : outcome)
          return
        }
        const isLost = (answer.status ?? 200) >= 500 || (answer.status ?? 200) < 300
        if (!isLost) assert.equal(result.outcome, 'rejected')
      }),
      { seed: 1, numRuns: 1_000 },
    )
  })

  test(`${name} answers with values when the other side is silent or speaks nonsense`, async () => {
    for (const answer of [
      'silence',
      { body: 'nonsense' },
      { status: 500, body: [] },
      { body: { error: 7 } },
    ] as ScriptedAnswer[]) {
      const channel = create(fakeHttp(answer, answer, answer, answer))
      const reference = { id: '1', url: null, mime_type: null, filename: null }
      const media = await channel.fetchMedia(connection, reference, 100)
      assert.ok(!media.ok && typeof media.message === 'string')
      assert.equal(await channel.listTemplates?.(connection), undefined)
      const profile = await channel.fetchProfile?.(connection, '1')
      assert.ok(profile === undefined || profile.name === null)
      const steps = await channel.check(connection)
      assert.equal(steps.at(-1)?.ok, name === 'web')
      for (const step of steps) assert.ok(step.step !== '' && step.message !== '')
    }
  })

  test(`${name} takes only callbacks that are signed with its secret, over the bytes as they came`, () => {
    const channel = create(fakeHttp())
    const body = Buffer.from('{"text":"caf\\u00e9 \\/ \xe9"}', 'latin1')
    const sign = (secret: string, bytes = body) => `sha256=${createHmac('sha256', secret).update(bytes).digest('hex')}`
    const isSigned = (signature: string | undefined, bytes = body, secret = 'the-secret') =>
      channel.isSigned(
        { ...connection, app_secret: secret },
        {
          headers: signature === undefined ? {} : { 'x-hub-signature-256': signature },
          body: bytes,
        },
      )
    assert.equal(isSigned(sign('the-secret')), name !== 'web')
    assert.equal(isSigned(sign('the-secret', Buffer.alloc(0)), Buffer.alloc(0)), name !== 'web')
    for (const wrong of [
      undefined,
      '',
      'sha256=',
      sign('another'),
      sign('the-secret').slice(0, -1),
      `${sign('the-secret')}0`,
      sign('the-secret').replace('sha256', 'sha1'),
      sign('the-secret', Buffer.from(JSON.stringify({ text: 'café / é' }))),
    ]) {
      assert.equal(isSigned(wrong), false, String(wrong))
    }
    assert.equal(isSigned(sign(''), body, ''), false, 'an empty secret proves nothing')
  })

  test(`${name} answers the handshake only to who knows the token`, () => {
    const answer = (query: Record<string, unknown>, token = 'the-verify-token') =>
      create(fakeHttp()).answerHandshake({ ...connection, verify_token: token }, query)
    const right = { 'hub.mode': 'subscribe', 'hub.challenge': '1158201444', 'hub.verify_token': 'the-verify-token' }
    assert.equal(answer(right), name === 'web' ? undefined : '1158201444')
    for (const wrong of [
      {},
      { ...right, 'hub.mode': 'unsubscribe' },
      { ...right, 'hub.verify_token': 'another' },
      { ...right, 'hub.verify_token': ['the-verify-token'] },
      { ...right, 'hub.challenge': undefined },
      { ...right, 'hub.challenge': ['1'] },
    ]) {
      assert.equal(answer(wrong), undefined)
    }
    assert.equal(answer({ ...right, 'hub.verify_token': '' }, ''), undefined, 'an empty token proves nothing')
  })
}

test('adapters have no SQL and know no module to their right', () => {
  for (const file of globSync('{msgapp,social,web}/*.ts', { cwd: import.meta.dirname })) {
    const text = readFileSync(`${import.meta.dirname}/${file}`, 'utf8')
    assert.doesNotMatch(text, /\bsql`|lib\/postgres\//, file)
    for (const [, path = ''] of text.matchAll(/from '(\.[^']+)'/g)) {
      assert.match(
        path,
        /^\.\/|^\.\.\/(channel|signature|graph|media|reading|template-params|test-http)\.ts$|^\.\.\/\.\.\/(lib|contacts)\/|^\.\.\/\.\.\/\.\.\/tests\//,
        file,
      )
    }
  }
})

const media_url = 'https://cdn.example/a'
const contents: Content[] = [
  { type: 'text', text: 'Hola' },
  { type: 'text', text: 'é'.repeat(4_096) },
  { type: 'image', media_url, text: 'Front', filename: null },
  { type: 'video', media_url, text: null, filename: null },
  { type: 'audio', media_url, text: null, filename: null },
  { type: 'document', media_url, text: null, filename: 'a.pdf' },
  { type: 'template', name: 'hello_world', language: 'en_US', components: [] },
]

/** The names and the plain values that occur in captured payloads. */
function wordsOf(value: unknown): { names: string[]; values: unknown[] } {
  const names = new Set<string>()
  const values = new Set<unknown>()
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) values.add(value)
    else if (Array.isArray(value)) value.forEach(visit)
    else
      for (const [name, part] of Object.entries(value)) {
        names.add(name)
        visit(part)
      }
  }
  visit(value)
  return { names: [...names], values: [...values] }
}

const listOf = (body: unknown): unknown[] => {
  const entry = (body as { entry?: unknown } | null)?.entry
  return Array.isArray(entry) ? entry : []
}

/** A signal may come without a time of the provider's, and then has ours. */
const withoutOwnTime = (report: Report) => (report.kind === 'signal' ? withoutTime(report) : report)

const withoutTime = (report: Report) => ({ ...report, at: undefined })

function assertWellFormed(report: Report): void {
  const isTime = (at: string) => new Date(at).toISOString() === at && Date.parse(at) >= Date.UTC(2009)
  const isId = (id: unknown) => typeof id === 'string' && id !== '' && id.length <= 512 && isStorable(id)
  const isText = (text: unknown, max: number) =>
    text === null || (typeof text === 'string' && text !== '' && text.length <= max && isStorable(text))
  const assertPerson = ({ phone, user_id, name, username, ...rest }: Person) => {
    assert.deepEqual(rest, {})
    assert.ok(phone !== null || user_id !== null, 'an identity')
    assert.ok(phone === null || /^\+[1-9]\d{4,19}$/.test(phone))
    assert.ok(user_id === null || isId(user_id))
    assert.ok(isText(name, 500) && isText(username, 500))
  }
  if ('at' in report) assert.ok(isTime(report.at) && Date.parse(report.at) <= Date.now() + 25 * hourMs)
  if ('external_id' in report) assert.ok(isId(report.external_id))
  if ('from' in report && report.from) assertPerson(report.from)
  if ('to' in report) assertPerson(report.to)
  switch (report.kind) {
    case 'echo':
    case 'message': {
      const { content_type, content_text, media, reply_to, interactive_reply_id, content } = report
      assert.ok(contentTypes.includes(content_type) && content_type !== 'template')
      assert.ok(isText(content_text, 65_536) && isText(interactive_reply_id, 1_000))
      assert.ok(reply_to === null || isId(reply_to))
      if (content_type === 'unsupported') assert.equal(content_text, null)
      if (content_type === 'text') assert.notEqual(content_text, null)
      if (media) {
        assert.ok((media.id === null || isId(media.id)) && isText(media.url, 65_536))
        assert.ok(media.id !== null || media.url !== null)
        assert.ok(isText(media.mime_type, 500) && isText(media.filename, 500))
      }
      assert.equal(media !== null, ['image', 'video', 'audio', 'document', 'sticker'].includes(content_type))
      const json = JSON.stringify(content)
      assert.ok(json.length <= 256 * 1024 && !/\\u(?:0000|d[89a-f]..)/.test(json.replaceAll('\\\\', '')))
      break
    }
    case 'status':
      assert.ok(report.message_id === null || isUuid(report.message_id))
      assert.ok(['sent', 'delivered', 'read', 'failed'].includes(report.status))
      assert.ok(isText(report.error, 1_000) && (report.error === null || report.status === 'failed'))
      if (report.recipient) assertPerson(report.recipient)
      break
    case 'edit':
      assert.ok(report.text !== null && isText(report.text, 65_536))
      break
    case 'template': {
      const { status, quality, category } = report.changes
      assert.ok(isId(report.name) && isId(report.language))
      for (const word of [status, quality, category]) assert.ok(word === undefined || /^[A-Z_]+$/.test(word))
      break
    }
    case 'signal':
      assert.ok(isId(report.key) && (report.severity === 'resolved' || severities.includes(report.severity)))
      assert.ok(isText(report.text, 1_000) && report.text !== null && !report.text.includes('undefined'))
      assert.ok(report.expires_at === null || isTime(report.expires_at))
      break
    case 'foreign':
      assert.ok(isId(report.key) && (report.id === null || isId(report.id)))
      for (const text of [report.shown, report.reason])
        assert.ok(text !== null && isText(text, 200) && !text.includes('undefined'))
      break
    case 'preference':
      assert.ok(['stop', 'resume'].includes(report.wants))
      break
    case 'malformed':
    case 'ignored':
      assert.ok(report.reason !== '' && report.reason.length <= 2_000 && isStorable(report.reason))
      break
    default:
      assert.ok(['read_up_to', 'revoke', 'moved'].includes(report.kind))
  }
}

function assertSettled(result: SendAnswer): void {
  if (result.ok) {
    assert.ok(result.external_id === null || (result.external_id !== '' && result.external_id.length <= 512))
    if (result.person) assert.ok(result.person.phone !== null || result.person.user_id !== null)
    return
  }
  assert.ok(result.message !== '' && result.message.length <= 1_000 && isStorable(result.message))
  if (result.outcome === 'rejected') assert.ok(result.code === null || Number.isSafeInteger(result.code))
}
