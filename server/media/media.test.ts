/** Media of customers: fetched from the channel, stored, and served by link. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import { type Times, times } from '../../common/times.ts'
import { createFolder } from '../../tests/folder.ts'
import { createDatabase, main, until } from '../../tests/support.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import type { Connection, FetchedMedia, MediaReference } from '../channels/channel.ts'
import { defaultPace, saveConnection } from '../channels/store-connection.ts'
import { ConfigError, readConfig } from '../config/config.ts'
import { createSealer } from '../lib/crypto.ts'
import { createServer } from '../lib/http/server.ts'
import { newId } from '../lib/id.ts'
import { createHealth } from '../lib/process/health.ts'
import { createMetrics } from '../lib/process/metrics.ts'
import { startPolls } from '../lib/process/polls.ts'
import type { Store } from '../lib/store.ts'
import { createFolderStore } from '../lib/store-folder.ts'
import { linkMedia } from '../messages/messages.ts'
import { mediaToken, startMediaFetch, watchMedia } from './media.ts'
import { mediaRoutes } from './routes.ts'

const log = pino({ level: 'silent' })
const sealer = createSealer('ab'.repeat(32))
const mebibyte = 1024 * 1024

type Answer = (media: MediaReference, connection: Connection) => FetchedMedia | Promise<FetchedMedia>
type Place = { workspaceId: string; conversationId: string }
type Added = { id: string; token: string; message_id: string }
type Row = {
  state: string
  attempt_count: number
  last_error: string | null
  mime_type: string | null
  size_bytes: number | null
  waits: number
}

const given = (bytes: string | Buffer, mime_type = 'image/jpeg'): FetchedMedia => ({
  ok: true,
  bytes: Readable.from([Buffer.from(bytes)]),
  mime_type,
})
const refused = (again: boolean, message = 'not now'): FetchedMedia => ({ ok: false, again, message })

/** A workspace with a conversation, a channel with scripted answers, and the routes on a port. */
async function startMedia(t: TestContext) {
  const database = await createDatabase(t)
  const db = database.connect(5)
  async function addWorkspace(): Promise<Place> {
    const owner = { email: `owner@${newId()}.test`, password: 'correct horse' }
    const { workspace_id: workspaceId } = await db.begin((sql) =>
      createWorkspace(sql, { name: 'Acme', default_country: 'US', owner }),
    )
    await saveConnection(db, sealer, workspaceId, {
      channel: 'msgapp',
      account_id: '1',
      phone_number_id: '2',
      base_url: 'http://channel.test',
      api_version: 'v25.0',
      access_token: 'the token',
      app_secret: 'secret',
      verify_token: 'verify',
      messages_per_second: defaultPace,
      is_private: true,
      simulator: null,
      state: 'connected',
    })
    const [contactId, conversationId] = [newId(), newId()]
    await db`insert into contacts (workspace_id, id, created_at, updated_at) values (${workspaceId}, ${contactId}, now(), now())`
    await db`
      insert into conversations (workspace_id, id, contact_id, channel, created_at, updated_at)
      values (${workspaceId}, ${conversationId}, ${contactId}, 'msgapp', now(), now())`
    return { workspaceId, conversationId }
  }
  const home = await addWorkspace()
  const { workspaceId } = home

  const dir = createFolder(t)
  const store = createFolderStore(dir)

  /** Inserts a message with media. */
  async function add(media: Partial<MediaReference> = {}, { workspaceId, conversationId } = home): Promise<Added> {
    const source = { id: newId(), url: null, mime_type: null, filename: null, ...media }
    const [id, message_id, token] = [newId(), newId(), mediaToken()]
    await db`
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, status, created_at)
      values (${workspaceId}, ${conversationId}, ${message_id}, 'inbound', 'customer', 'image', 'received', now())`
    await db`
      insert into media (workspace_id, id, conversation_id, message_id, channel, source, token, mime_type, filename,
        next_attempt_at, created_at)
      values (${workspaceId}, ${id}, ${conversationId}, ${message_id}, 'msgapp', ${db.json(source)}, ${token},
        ${source.mime_type}, ${source.filename}, now(), now())`
    return { id, token, message_id }
  }

  const asked: string[] = []
  /** Starts a worker. Its channel returns these answers in turn, and repeats the last one. */
  function work(answers: Answer[], options: { store?: Store; times?: Times['media'] } = {}) {
    let next = 0
    const db = database.connect(3)
    const polls = startPolls({ db, log, health: createHealth(times.health) })
    t.after(() => polls.stop())
    const loop = startMediaFetch({
      db,
      linkMessage: linkMedia,
      sealer,
      store,
      log,
      polls,
      times: times.media,
      channels: {
        msgapp: {
          async fetchMedia(connection, media, maxBytes) {
            assert.equal(maxBytes, 100 * mebibyte)
            asked.push(media.id ?? '')
            const answer = answers[Math.min(next++, answers.length - 1)]
            assert.ok(answer)
            return answer(media, connection)
          },
        },
      },
      ...options,
    })
    t.after(() => loop.stop())
    return loop
  }

  async function read({ id }: Added): Promise<Row> {
    const [row] = await db<Row[]>`
      select state, attempt_count, last_error, mime_type, size_bytes::int as size_bytes,
        extract(epoch from next_attempt_at - now())::float as waits
      from media where id = ${id}`
    assert.ok(row)
    return row
  }
  const settled = (added: Added, state: string) =>
    until(`media to be ${state}`, async () => {
      const row = await read(added)
      return row.state === state && row
    })
  const urlOf = async ({ message_id }: Added) => {
    const [message] = await db<{ media_url: string | null }[]>`
      select media_url from messages where workspace_id = ${workspaceId} and id = ${message_id}`
    return message?.media_url
  }
  /** Ends the delay before the next attempt. */
  const hurry = ({ id }: Added) =>
    db`update media set next_attempt_at = now() where workspace_id = ${workspaceId} and id = ${id}`

  const metrics = createMetrics()
  const app = createServer({ log, metrics })
  app.register(mediaRoutes({ db, store }))
  watchMedia(db, metrics)
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  const origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${origin}${path}`, { headers })

  /** Fetches and stores a file. Returns the path of its link. */
  async function show(bytes: string | Buffer, mimeType: string, filename: string | null = null): Promise<string> {
    const added = await add({ filename })
    const loop = work([() => given(bytes, mimeType)])
    await settled(added, 'stored')
    await loop.stop()
    return (await urlOf(added)) ?? ''
  }

  return { db, workspaceId, store, addWorkspace, add, work, read, settled, urlOf, hurry, get, show, asked, metrics }
}

test('media is fetched with the connection of the workspace, and the message gets its link', main, async (t) => {
  const { add, work, settled, urlOf, get } = await startMedia(t)
  const added = await add({ id: 'wamid-1' })
  assert.equal(await urlOf(added), null)
  work([
    (media, connection) => given(`${media.id} ${connection.base_url} ${connection.access_token}`, 'image/PNG; q=1'),
  ])
  const row = await settled(added, 'stored')
  const text = 'wamid-1 http://channel.test the token'
  assert.deepEqual([row.mime_type, row.size_bytes, row.last_error], ['image/png', text.length, null])
  assert.equal(await urlOf(added), `/media/${added.token}`)
  const answer = await get(`/media/${added.token}`)
  assert.deepEqual([answer.status, await answer.text()], [200, text])
})

test('a signal makes the worker claim at once', async (t) => {
  const { add, work, settled } = await startMedia(t)
  // No poll comes in time.
  const loop = work([() => given('x')], { times: { ...times.media, pollMs: 3_600_000 } })
  for (let i = 0; i < 3; i++) {
    const added = await add()
    loop.wake()
    await settled(added, 'stored')
  }
})

test('the type in the report counts when the download has none', async (t) => {
  const { add, work, settled } = await startMedia(t)
  const added = await add({ mime_type: 'audio/ogg; codecs=opus' })
  work([() => given('x', 'application/octet-stream')])
  assert.equal((await settled(added, 'stored')).mime_type, 'audio/ogg')
})

test('a failed fetch is retried with growing delays, and then stored', async (t) => {
  const { add, work, read, settled, urlOf, hurry } = await startMedia(t)
  const added = await add()
  const broken = () => {
    const bytes = new PassThrough()
    bytes.write('half')
    setImmediate(() => bytes.destroy(new Error('reset')))
    return { ok: true as const, bytes, mime_type: 'image/jpeg' }
  }
  const fails: [Answer, string, number][] = [
    [() => refused(true, 'busy'), 'busy', 1],
    [broken, 'the channel broke off: reset', 5],
    [() => Promise.reject(new Error('a bug')), 'something went wrong on our side', 30],
    [() => refused(true, 'no\0t\uD800'), 'not\uFFFD', 120],
    [() => refused(true, 'busy'), 'busy', 600],
  ]
  const loop = work([...fails.map(([answer]) => answer), () => given('at last')])
  for (const [i, [, message, pause]] of fails.entries()) {
    const row = await until(`failure ${i + 1}`, async () => {
      const found = await read(added)
      return found.attempt_count === i + 1 && found.last_error === message && found.waits <= pause && found
    })
    assert.ok(row.waits > pause - 3, `${row.waits} of ${pause} s`)
    assert.deepEqual([row.state, await urlOf(added)], ['pending', null])
    await hurry(added)
    loop.wake()
  }
  const row = await settled(added, 'stored')
  assert.deepEqual([row.attempt_count, row.last_error], [6, null])
  assert.equal(await urlOf(added), `/media/${added.token}`)
})

test('media fails after the sixth failed attempt, also when no attempt ever completed', async (t) => {
  const { db, add, work, settled, urlOf, asked } = await startMedia(t)
  const [tired, poisoned] = [await add(), await add()]
  await db`update media set attempt_count = 5 where id = ${tired.id}`
  await db`update media set attempt_count = 6 where id = ${poisoned.id}`
  work([() => refused(true, 'still busy')])
  assert.equal((await settled(tired, 'failed')).last_error, 'still busy')
  assert.equal((await settled(poisoned, 'failed')).last_error, 'no attempt completed')
  assert.deepEqual([asked.length, await urlOf(tired)], [1, null])
})

test('media that the channel has deleted fails at once', async (t) => {
  const { add, work, settled, get, metrics } = await startMedia(t)
  const added = await add()
  work([() => refused(false, 'the channel no longer has it')])
  const row = await settled(added, 'failed')
  assert.deepEqual([row.attempt_count, row.last_error], [1, 'the channel no longer has it'])
  assert.equal((await get(`/media/${added.token}`)).status, 404)
  await add()
  assert.match(await metrics.read(), /parley_media\{state="failed"\} 1/)
})

test('media over the size limit fails at once, and nothing of it is stored', async (t) => {
  const { add, work, settled, store } = await startMedia(t)
  const added = await add()
  let sent = 0
  const endless = Readable.from(
    (function* () {
      for (;;) {
        sent += mebibyte
        yield Buffer.alloc(mebibyte)
      }
    })(),
  )
  work([() => ({ ok: true, bytes: endless, mime_type: 'video/mp4' })])
  assert.equal((await settled(added, 'failed')).last_error, 'over 100 MB')
  assert.ok(sent < 120 * mebibyte)
  assert.equal(await store.get(added.id), undefined)
})

test('a fetch ends at its timeout', async (t) => {
  const { add, work, read } = await startMedia(t)
  const [silent, stuck] = [await add(), await add()]
  const bytes = new PassThrough()
  bytes.write('half')
  work([() => new Promise(() => {}), () => ({ ok: true, bytes, mime_type: 'image/jpeg' })], {
    times: { ...times.media, fetchMs: 200 },
  })
  for (const added of [silent, stuck]) {
    const row = await until('the time to be over', async () => {
      const found = await read(added)
      return found.last_error !== null && found
    })
    assert.deepEqual([row.state, row.last_error], ['pending', 'the fetch took longer than 0.2 s'])
  }
  assert.equal(bytes.destroyed, true)
})

test('media of a workspace arrives while the fetches of many others hang', async (t) => {
  const { addWorkspace, add, work, settled } = await startMedia(t)
  const hanging = await Promise.all(Array.from({ length: 10 }, addWorkspace))
  const stuck = new Set(hanging.map(({ workspaceId }) => workspaceId))
  const inFlight = new Map<string, number>()
  const most = new Map<string, number>()
  const fetch: Answer = (_media, { workspace_id }) => {
    if (!stuck.has(workspace_id)) return given('x')
    inFlight.set(workspace_id, (inFlight.get(workspace_id) ?? 0) + 1)
    most.set(workspace_id, Math.max(most.get(workspace_id) ?? 0, inFlight.get(workspace_id) ?? 0))
    return new Promise(() => {})
  }
  // The oldest rows all belong to one workspace.
  const [first, ...others] = hanging
  for (let i = 0; i < 20; i++) await add({}, first)
  const loop = work([fetch])
  await until('the first to hang', async () => inFlight.size > 0)
  const arrives = async () => {
    const added = await add()
    loop.wake()
    await settled(added, 'stored')
  }
  await arrives()
  const mostOfFirst = () => most.get(first?.workspaceId ?? '') ?? 0
  await until('four at once', async () => mostOfFirst() >= 4)
  for (const workspace of others) for (let i = 0; i < 3; i++) await add({}, workspace)
  loop.wake()
  await arrives()
  await until('the others to hang', async () => inFlight.size === hanging.length)
  await arrives()
  assert.equal(mostOfFirst(), 4)
})

test('a failure of the store does not count as an attempt', async (t) => {
  const { add, work, read, store, settled, hurry } = await startMedia(t)
  const added = await add()
  let works = false
  const put: Store['put'] = (...args) => (works ? store.put(...args) : Promise.reject(new Error('disk full')))
  const loop = work([() => given('x')], { store: { ...store, put } })
  const row = await until('the store to refuse', async () => {
    const found = await read(added)
    return found.last_error !== null && found
  })
  assert.deepEqual([row.state, row.attempt_count, row.last_error], ['pending', 0, 'something went wrong on our side'])
  // The statement that reads it may have begun just before the one that wrote it.
  assert.ok(row.waits > 50 && row.waits < 61, `${row.waits} s`)
  works = true
  await hurry(added)
  loop.wake()
  assert.equal((await settled(added, 'stored')).attempt_count, 1)
})

test('media waits while the workspace has no connection', async (t) => {
  const { db, add, work, read } = await startMedia(t)
  await db`delete from channel_connections`
  const added = await add()
  work([() => given('x')])
  const row = await until('a failure', async () => {
    const found = await read(added)
    return found.last_error !== null && found
  })
  assert.deepEqual([row.state, row.last_error], ['pending', 'the channel is not connected'])
})

test('the claims of a crashed worker expire, and its late outcome changes nothing', async (t) => {
  const { add, work, read, settled, hurry, asked } = await startMedia(t)
  const added = await add()
  let answerLate = (_: FetchedMedia) => {}
  // This worker still runs, so it may claim the row again itself.
  const crashed = work([() => new Promise((resolve) => (answerLate = resolve)), () => given('whole')])
  await until('the claim', async () => asked.length === 1)
  assert.ok((await read(added)).waits > 60, 'the lease is longer than a fetch')

  await hurry(added)
  const other = work([() => given('whole')])
  await settled(added, 'stored')
  await other.stop()
  answerLate(refused(false, 'too late'))
  await crashed.stop()
  const row = await read(added)
  assert.deepEqual([row.state, row.attempt_count, row.last_error], ['stored', 2, null])
})

test('a worker that stops releases its unfinished claims', async (t) => {
  const { add, work, read, settled, asked } = await startMedia(t)
  const added = await add()
  const loop = work([() => new Promise(() => {})], { times: { ...times.media, stopMs: 100 } })
  await until('the claim', async () => asked.length === 1)
  await loop.stop()
  const row = await read(added)
  assert.deepEqual([row.state, row.attempt_count, row.last_error], ['pending', 0, 'the service stopped'])
  work([() => given('x')])
  await settled(added, 'stored')
})

test('several workers fetch each file once, at most eight at a time', async (t) => {
  const { db, add, work, asked } = await startMedia(t)
  const added: Added[] = []
  for (let i = 0; i < 60; i++) added.push(await add())
  const most = [0, 0]
  // The first worker waits for the second, which would otherwise find no files left on a busy machine.
  const allStarted = Promise.withResolvers<void>()
  for (const worker of [0, 1]) {
    let now = 0
    work([
      async () => {
        most[worker] = Math.max(most[worker] ?? 0, ++now)
        if (most.every((number) => number > 0)) allStarted.resolve()
        await allStarted.promise
        await new Promise((resolve) => setTimeout(resolve, 30))
        now--
        return given('x')
      },
    ])
  }
  await until('all to be stored', async () => {
    const [{ count } = { count: 0 }] = await db<{ count: number }[]>`
      select count(*)::int as count from media where state = 'stored'`
    return count === added.length
  })
  assert.deepEqual([asked.length, new Set(asked).size], [60, 60])
  const isBounded = most.every((number) => number > 0 && number <= 8)
  assert.ok(isBounded, `${most}`)
})

test('a browser displays only types that cannot run code', async (t) => {
  const { show, get } = await startMedia(t)
  const file = 'application/octet-stream'
  const types: [string, string, 'inline' | 'attachment'][] = [
    ['image/jpeg', 'image/jpeg', 'inline'],
    ['image/webp', 'image/webp', 'inline'],
    ['audio/ogg; codecs=opus', 'audio/ogg', 'inline'],
    ['video/mp4', 'video/mp4', 'inline'],
    ['application/pdf', 'application/pdf', 'inline'],
    ['text/plain', 'text/plain; charset=utf-8', 'attachment'],
    ['image/svg+xml', file, 'attachment'],
    ['IMAGE/SVG+XML; charset=utf-8', file, 'attachment'],
    ['text/html', file, 'attachment'],
    ['text/html;image/png', file, 'attachment'],
    ['application/xhtml+xml', file, 'attachment'],
    ['text/xml', file, 'attachment'],
    ['text/javascript', file, 'attachment'],
    ['multipart/x-mixed-replace', file, 'attachment'],
    ['image/png\r\nset-cookie: a=b', file, 'attachment'],
    ['image/', file, 'attachment'],
    ['', file, 'attachment'],
  ]
  for (const [type, served, disposition] of types) {
    const { status, headers } = await get(await show('<script>alert(1)</script>', type))
    assert.equal(status, 200, type)
    assert.equal(headers.get('content-type'), served, type)
    assert.equal(headers.get('content-disposition'), disposition, type)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'/)
    assert.doesNotMatch(policy, /script|allow-(?!same-origin)/)
    if (served !== 'application/pdf') assert.match(policy, /; sandbox/)
    assert.equal(headers.get('cross-origin-resource-policy'), 'cross-origin')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.equal(headers.get('cache-control'), 'private, max-age=31536000, immutable')
    assert.equal(headers.get('set-cookie'), null)
  }
})

test('a filename is escaped in the link and in the headers', async (t) => {
  const { show, get } = await startMedia(t)
  const names: [string, string, string, string][] = [
    ['a b.pdf', 'a%20b.pdf', 'a b.pdf', 'a%20b.pdf'],
    ['he said "hi".pdf', 'he%20said%20%22hi%22.pdf', 'he said _hi_.pdf', 'he%20said%20%22hi%22.pdf'],
    ["it's (1)*.pdf", "it's%20(1)*.pdf", "it's (1)*.pdf", 'it%27s%20%281%29%2a.pdf'],
    [
      'größe 猫😀.pdf',
      'gr%C3%B6%C3%9Fe%20%E7%8C%AB%F0%9F%98%80.pdf',
      'gr__e __.pdf',
      'gr%C3%B6%C3%9Fe%20%E7%8C%AB%F0%9F%98%80.pdf',
    ],
    [
      'a\r\nset-cookie: x=y\n.pdf',
      'a%20set-cookie%3A%20x%3Dy%20.pdf',
      'a set-cookie: x=y .pdf',
      'a%20set-cookie%3A%20x%3Dy%20.pdf',
    ],
    ['../../etc/passwd', '.._.._etc_passwd', '.._.._etc_passwd', '.._.._etc_passwd'],
    ['C:\\x%00\\y.pdf', 'C%3A_x%2500_y.pdf', 'C:_x_00_y.pdf', 'C%3A_x%2500_y.pdf'],
    ['exe\u202Efdp.pdf', 'exe%20fdp.pdf', 'exe fdp.pdf', 'exe%20fdp.pdf'],
  ]
  for (const [name, inLink, ascii, extended] of names) {
    const path = await show('x', 'application/pdf', name)
    assert.match(path, /^\/media\/[0-9A-Za-z]{43}\//)
    assert.equal(path.split('/')[3], inLink)
    const { status, headers } = await get(path)
    assert.equal(status, 200, name)
    const disposition = headers.get('content-disposition')
    assert.equal(disposition, `inline; filename="${ascii}"; filename*=UTF-8''${extended}`, name)
    assert.equal(headers.get('set-cookie'), null)
  }
  for (const name of ['..', '.', ' ', '\n', '']) {
    assert.match(await show('x', 'application/pdf', name), /^\/media\/[0-9A-Za-z]{43}$/, JSON.stringify(name))
  }
  const long = await show('x', 'application/pdf', `${'猫'.repeat(5_000)}.pdf`)
  assert.ok(long.length < 2_000)
  assert.equal((await get(long)).status, 200)
})

test('byte ranges of a file are served, as media players request them', async (t) => {
  const { show, get } = await startMedia(t)
  const bytes = randomBytes(300_000)
  const path = await show(bytes, 'video/mp4')
  const whole = await get(path)
  assert.deepEqual([whole.headers.get('accept-ranges'), whole.headers.get('content-length')], ['bytes', '300000'])
  assert.deepEqual(Buffer.from(await whole.arrayBuffer()), bytes)

  const parts: [string, number, number][] = [
    ['bytes=0-0', 0, 0],
    ['bytes=0-1', 0, 1],
    ['bytes=1000-', 1_000, 299_999],
    ['bytes=1000-9999999', 1_000, 299_999],
    ['bytes=299999-', 299_999, 299_999],
    ['bytes=-500', 299_500, 299_999],
    ['bytes=-9999999', 0, 299_999],
  ]
  for (const [range, start, end] of parts) {
    const part = await get(path, { range })
    assert.equal(part.status, 206, range)
    assert.equal(part.headers.get('content-range'), `bytes ${start}-${end}/300000`)
    assert.equal(part.headers.get('content-type'), 'video/mp4')
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(start, end + 1), range)
  }
  for (const range of ['bytes=300000-', 'bytes=-0']) {
    const outside = await get(path, { range })
    assert.deepEqual([outside.status, outside.headers.get('content-range')], [416, 'bytes */300000'], range)
    assert.equal(((await outside.json()) as { error: { code: string } }).error.code, 'bad_request')
  }
  for (const range of ['bytes=5-2', 'bytes=0-1,5-6', 'bytes=-', 'lines=0-1', 'bytes=a-b', '']) {
    const all = await get(path, { range })
    assert.deepEqual([all.status, (await all.arrayBuffer()).byteLength], [200, 300_000], range)
  }
  assert.equal((await get(path, { range: 'bytes=0-1', 'if-range': '"other"' })).status, 200)
  const empty = await show('', 'audio/mpeg')
  assert.deepEqual([(await get(empty)).status, (await get(empty, { range: 'bytes=0-' })).status], [200, 416])
})

test('an unknown token is not found, nor is media that is pending or deleted', async (t) => {
  const { db, store, add, show, get } = await startMedia(t)
  const path = await show('x', 'image/png')
  const token = path.split('/')[2] ?? ''
  const waiting = await add()
  const guesses = [
    mediaToken(),
    waiting.token,
    token.slice(1),
    `${token}0`,
    token.slice(0, -1) + (token.endsWith('0') ? '1' : '0'),
    waiting.id,
    '%00',
    "'",
    '..%2f..%2fetc%2fpasswd',
  ]
  for (const guess of guesses) {
    for (const tail of ['', '/name.png']) {
      const answer = await get(`/media/${guess}${tail}`)
      assert.equal(answer.status, 404, guess)
      assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'not_found')
      assert.equal(answer.headers.get('cache-control'), null)
    }
  }
  assert.equal((await get(`${path}/any-name.png`)).status, 200)
  assert.equal((await get('/media')).status, 404)
  const { id } = (await db<{ id: string }[]>`select id from media where token = ${token}`)[0] ?? { id: '' }
  await store.delete(id)
  assert.equal((await get(path)).status, 404)
})

test('the settings of S3 are required together, and every wrong one is listed', () => {
  const all = {
    MEDIA_S3_ENDPOINT: 'https://s3.example.com',
    MEDIA_S3_BUCKET: 'media',
    MEDIA_S3_ACCESS_KEY_ID: 'id',
    MEDIA_S3_SECRET_ACCESS_KEY: 'secret',
  }
  assert.equal(readConfig({}).mediaS3, undefined)
  assert.deepEqual(readConfig(all).mediaS3, {
    endpoint: 'https://s3.example.com',
    region: 'us-east-1',
    bucket: 'media',
    access_key_id: 'id',
    secret_access_key: 'secret',
  })
  assert.equal(readConfig({ ...all, MEDIA_S3_REGION: 'auto' }).mediaS3?.region, 'auto')
  const faultsOf = (env: Record<string, string>): string[] => {
    try {
      readConfig(env)
      return []
    } catch (error) {
      assert.ok(error instanceof ConfigError)
      return [...error.message.matchAll(/^ {2}(\w+): /gm)].map(([, name = '']) => name)
    }
  }
  for (const name of Object.keys(all)) {
    assert.deepEqual(faultsOf({ ...all, [name]: ' ' }), [name])
    assert.deepEqual(faultsOf({ [name]: all[name as 'MEDIA_S3_BUCKET'] }).length, 3)
  }
  assert.equal(faultsOf({ MEDIA_S3_REGION: 'eu-central-1' }).length, 4)
  const wrong = { ...all, MEDIA_S3_ENDPOINT: 's3.example.com', MEDIA_S3_BUCKET: 'a/b', MEDIA_S3_REGION: 'über all' }
  assert.deepEqual(faultsOf(wrong), ['MEDIA_S3_ENDPOINT', 'MEDIA_S3_BUCKET', 'MEDIA_S3_REGION'])
  assert.deepEqual(faultsOf({ ...all, MEDIA_S3_ENDPOINT: 'https://u:p@s3.example.com' }), ['MEDIA_S3_ENDPOINT'])
})
