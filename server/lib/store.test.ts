import assert from 'node:assert/strict'
import { createHmac, hash, randomBytes } from 'node:crypto'
import { globSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createFolder } from '../../tests/folder.ts'
import { listen } from '../../tests/listen.ts'
import { until } from '../../tests/until.ts'
import { newId } from './id.ts'
import { type Store, StoreUnavailableError } from './store.ts'
import { createFolderStore } from './store-folder.ts'
import { createS3Store } from './store-s3.ts'
import { BrokenSourceError, TooLargeError } from './store-spool.ts'

const mebibyte = 1024 * 1024
const options = { mime_type: 'image/png', maxBytes: 4 * mebibyte }

type S3Server = { run(): Promise<{ port: number }>; close(): Promise<void> }
const S3rver: new (options: object) => S3Server = createRequire(import.meta.url)('s3rver')

async function startS3(t: TestContext) {
  const directory = createFolder(t)
  const settings = { address: '127.0.0.1', port: 0, silent: true, vhostBuckets: false }
  const s3 = new S3rver({ ...settings, directory, configureBuckets: [{ name: 'media' }] })
  const { port } = await s3.run()
  t.after(() => s3.close())
  const bucket = {
    endpoint: `http://127.0.0.1:${port}/`,
    region: 'us-east-1',
    bucket: 'media',
    access_key_id: 'S3RVER',
    secret_access_key: 'S3RVER',
  }
  return { directory, bucket, store: createS3Store(bucket) }
}

const stores: Record<string, (t: TestContext) => Promise<Store>> = {
  folder: async (t) => createFolderStore(join(createFolder(t), 'not', 'there', 'yet')),
  S3: async (t) => {
    const { store } = await startS3(t)
    return {
      ...store,
      // The server of the tests answers before it has written the file.
      async put(key, source, options) {
        const stored = await store.put(key, source, options)
        await until('the file', async () => (await read(store, key))?.bytes.length === stored.size_bytes)
        return stored
      },
    }
  },
}

async function read(store: Store, key: string, range?: { start: number; end: number }) {
  const found = await store.get(key, range)
  return found && { bytes: await buffer(found.bytes), size_bytes: found.size_bytes }
}

/** A source that yields some bytes and then fails. */
function breaking(bytes: Buffer): Readable {
  return Readable.from(
    (async function* () {
      yield bytes
      throw new Error('the connection was lost')
    })(),
  )
}

for (const [name, open] of Object.entries(stores)) {
  test(`${name}: get returns the bytes that were put, whole and in ranges`, async (t) => {
    const store = await open(t)
    const key = newId()
    const bytes = randomBytes(3 * mebibyte + 17)
    assert.deepEqual(await store.put(key, Readable.from(bytes), options), { size_bytes: bytes.length })
    assert.deepEqual(await read(store, key), { bytes, size_bytes: bytes.length })
    for (const [start, end] of [
      [0, 1],
      [1_000, 2_000_000],
      [bytes.length - 1, bytes.length - 1],
      [0, bytes.length - 1],
    ] as const) {
      const part = await read(store, key, { start, end })
      assert.deepEqual(part, { bytes: bytes.subarray(start, end + 1), size_bytes: bytes.length })
    }
  })

  test(`${name}: an empty object is an object, and a second put replaces the first`, async (t) => {
    const store = await open(t)
    const key = newId()
    assert.deepEqual(await store.put(key, Readable.from([]), options), { size_bytes: 0 })
    assert.deepEqual(await read(store, key), { bytes: Buffer.alloc(0), size_bytes: 0 })
    await store.put(key, Readable.from([Buffer.from('a longer one')]), options)
    await store.put(key, Readable.from([Buffer.from('short')]), options)
    assert.deepEqual(await read(store, key), { bytes: Buffer.from('short'), size_bytes: 5 })
  })

  test(`${name}: a missing or deleted object is undefined, and deleting it again is no error`, async (t) => {
    const store = await open(t)
    const key = newId()
    assert.equal(await store.get(key), undefined)
    assert.equal(await store.get(key, { start: 0, end: 1 }), undefined)
    await store.delete(key)
    await store.put(key, Readable.from([Buffer.from('here')]), options)
    await store.delete(key)
    await store.delete(key)
    assert.equal(await store.get(key), undefined)
  })

  test(`${name}: a source above the limit is not stored, one at the limit is`, async (t) => {
    const store = await open(t)
    const key = newId()
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(64 * 1024)
      })(),
    )
    await assert.rejects(store.put(key, endless, options), TooLargeError)
    assert.equal(endless.destroyed, true)
    assert.equal(await store.get(key), undefined)
    const exact = Readable.from([Buffer.alloc(10)])
    assert.deepEqual(await store.put(key, exact, { ...options, maxBytes: 10 }), { size_bytes: 10 })
  })

  test(`${name}: a source that fails leaves the previous object in place`, async (t) => {
    const store = await open(t)
    const key = newId()
    await assert.rejects(store.put(key, breaking(randomBytes(mebibyte)), options), (error) => {
      assert.ok(error instanceof BrokenSourceError)
      assert.equal(error.message, 'the connection was lost')
      return true
    })
    assert.equal(await store.get(key), undefined)
    await store.put(key, Readable.from([Buffer.from('before')]), options)
    await assert.rejects(store.put(key, breaking(randomBytes(mebibyte)), options), BrokenSourceError)
    assert.deepEqual((await read(store, key))?.bytes, Buffer.from('before'))
    const early = new PassThrough()
    early.destroy(new Error('before the first read'))
    await assert.rejects(store.put(key, early, options), /before the first read/)
  })

  test(`${name}: aborting a put destroys a source that hangs`, async (t) => {
    const store = await open(t)
    const source = new PassThrough()
    source.write(randomBytes(1_000))
    const abort = new AbortController()
    const putting = store.put(newId(), source, { ...options, signal: abort.signal })
    abort.abort()
    await assert.rejects(putting)
    assert.equal(source.destroyed, true)
  })

  test(`${name}: concurrent puts are independent`, async (t) => {
    const store = await open(t)
    const all = Array.from({ length: 20 }, () => ({ key: newId(), bytes: randomBytes(50_000) }))
    await Promise.all(all.map(({ key, bytes }) => store.put(key, Readable.from([bytes]), options)))
    for (const { key, bytes } of all) assert.deepEqual((await read(store, key))?.bytes, bytes)
  })
}

test('files are readable by their owner only, and old drafts are removed', async (t) => {
  const dir = join(createFolder(t), 'media')
  const store = createFolderStore(dir)
  const drafts = join(dir, 'incoming')
  mkdirSync(drafts, { recursive: true })
  const [old, young] = [join(drafts, 'old'), join(drafts, 'young')]
  for (const draft of [old, young]) writeFileSync(draft, 'half')
  utimesSync(old, new Date(), new Date(Date.now() - 2 * 60 * 60_000))

  const key = newId()
  await store.put(key, Readable.from([Buffer.from('x')]), options)
  await assert.rejects(store.put(newId(), breaking(Buffer.from('x')), options))

  assert.deepEqual(readdirSync(drafts), ['young'], 'another process may be writing a young draft')
  const [path = ''] = globSync(`${dir}/*/*/${key}`)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(path, join(dir, key.slice(-2), key.slice(-4, -2), key))
})

test('a key that would leave the folder is refused', async (t) => {
  const store = createFolderStore(createFolder(t))
  for (const key of ['../../etc/passwd', 'a/b/c/d', '', '....', 'abc\0def']) {
    await assert.rejects(store.get(key), /is not a valid key/)
  }
})

test('S3 receives the content type, and its error codes are reported', async (t) => {
  const { directory, bucket, store } = await startS3(t)
  const key = newId()
  await store.put(key, Readable.from([Buffer.from('x')]), options)
  const [metadata = ''] = globSync(`${directory}/media/*metadata.json`)
  assert.match(readFileSync(metadata, 'utf8'), /image\/png/)

  const wrongKey = createS3Store({ ...bucket, access_key_id: 'wrong' })
  const source = Readable.from([Buffer.from('x')])
  await assert.rejects(wrongKey.put(key, source, options), /S3 answered PUT with 403 InvalidAccessKeyId/)
  const wrongBucket = createS3Store({ ...bucket, bucket: 'nowhere' })
  await assert.rejects(wrongBucket.get(key), /S3 answered GET with 404 NoSuchBucket/)
  await assert.rejects(wrongBucket.put(key, Readable.from([Buffer.from('x')]), options), /404 NoSuchBucket/)
})

test('a bucket that refuses connections or answers 5xx is an outage, and an aborted put is none', async (t) => {
  const server = createServer((request, answer) => {
    request.resume().on('end', () => answer.writeHead(503).end('<Error><Code>SlowDown</Code></Error>'))
  })
  const store = createS3Store({ ...secrets, endpoint: await listen(t, server), bucket: 'media' })
  const calls = [
    () => store.put(newId(), Readable.from([Buffer.from('x')]), options),
    () => store.get(newId()),
    () => store.delete(newId()),
  ]
  for (const call of calls) await assert.rejects(call(), { name: 'StoreUnavailableError', message: /503 SlowDown/ })
  const signal = AbortSignal.abort(new Error('stopped'))
  const aborted = store.put(newId(), Readable.from([Buffer.from('x')]), { ...options, signal })
  await assert.rejects(aborted, (error) => !(error instanceof StoreUnavailableError))
  await new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })
  for (const call of calls) await assert.rejects(call(), { name: 'StoreUnavailableError', message: /does not answer/ })
})

test('every request has a valid AWS signature, version 4', async (t) => {
  const seen: string[] = []
  const server = createServer((request, answer) => {
    seen.push(`${request.method} ${request.headers.authorization === sign(request) ? 'signed' : 'not signed'}`)
    request.resume().on('end', () => answer.writeHead(request.method === 'DELETE' ? 204 : 200).end())
  })
  const endpoint = `${await listen(t, server)}/behind/a/path`
  const store = createS3Store({ ...secrets, endpoint, bucket: 'media' })
  const key = newId()
  await store.put(key, Readable.from([Buffer.from('x')]), options)
  await read(store, key)
  await store.delete(key)
  assert.deepEqual(seen, ['PUT signed', 'GET signed', 'DELETE signed'])
})

const secrets = { region: 'eu-central-1', access_key_id: 'AKID', secret_access_key: 'so secret' }

/** The expected authorization header: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
function sign({ method = '', url = '', headers }: IncomingMessage): string {
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
  const names = ['host', 'x-amz-content-sha256', 'x-amz-date']
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join('')
  const canonical = [method, url, '', lines, names.join(';'), headers['x-amz-content-sha256']].join('\n')
  const time = String(headers['x-amz-date'])
  const scope = [time.slice(0, 8), secrets.region, 's3', 'aws4_request']
  const toSign = ['AWS4-HMAC-SHA256', time, scope.join('/'), hash('sha256', canonical, 'hex')].join('\n')
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${secrets.secret_access_key}`)
  const signature = hmac(key, toSign).toString('hex')
  const credential = `Credential=${secrets.access_key_id}/${scope.join('/')}`
  return `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`
}
