/** The dashboard's pages as files: built, served with a strict policy, small, and with all their words in one place. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { callsFile, describeCalls } from '../scripts/calls.ts'
import { start } from './support.ts'

test('calls.ts matches the routes of the service', async () => {
  assert.equal(readFileSync(callsFile, 'utf8'), await describeCalls(), 'run `npm run calls`')
})

test('every page path serves the page, with a policy that allows only our scripts', async (t) => {
  const { url } = await start(t, { pages: true })
  const sections = [
    ...readFileSync('dashboard/src/app.tsx', 'utf8').matchAll(/^ {2}'(\/[a-z]+)': \(\) => import\(/gm),
  ].map(([, path]) => path)
  assert.ok(sections.length >= 9)
  for (const path of [
    '/',
    '/sign-in',
    '/setup',
    '/invitations/x',
    ...sections,
    ...sections.map((section) => `${section}/x/y`),
  ]) {
    const answer = await fetch(`${url}${path}`)
    assert.equal(answer.status, 200, path)
    assert.match(await answer.text(), /<div id="root">/, path)
    const policy = answer.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/)
    assert.doesNotMatch(policy, /unsafe|\*/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(answer.headers.get('cache-control'), 'no-cache')
  }

  const open = (path: string, accept: string, method = 'GET') => fetch(`${url}${path}`, { method, headers: { accept } })
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  for (const path of ['/nowhere', '/inboxes', '/assets/old.js', '/%00']) {
    const missing = await open(path, browser)
    assert.equal(missing.status, 404, path)
    assert.match(await missing.text(), /<div id="root">/, path)
    assert.match(missing.headers.get('content-security-policy') ?? '', /default-src 'none'; script-src 'self'/)
    assert.equal(missing.headers.get('x-content-type-options'), 'nosniff')
  }
  for (const [path, accept, method] of [
    ['/nowhere', '*/*'],
    ['/nowhere', 'application/json'],
    ['/nowhere', 'text/html;q=0, application/json'],
    ['/nowhere', browser, 'POST'],
    ['/app/api/nowhere', browser],
    ['/v1/nowhere', browser],
    ['/v1', browser],
  ] as const) {
    const refused = await open(path, accept, method)
    assert.match(refused.headers.get('content-type') ?? '', /^application\/json/, `${method} ${path} ${accept}`)
    assert.ok([401, 404].includes(refused.status))
  }
})

test('HEAD requests and clients without compression are served correctly', async (t) => {
  const { url } = await start(t, { pages: true })
  const [, script = ''] = /src="(\/assets\/[^"]+)"/.exec(await (await fetch(url)).text()) ?? []
  for (const path of ['/', '/inbox/x', script]) {
    const ask = (method: string, encoding: string) =>
      fetch(`${url}${path}`, { method, headers: { 'accept-encoding': encoding } })
    const whole = await ask('GET', 'identity')
    const head = await ask('HEAD', 'identity')
    assert.equal(head.status, 200, path)
    assert.equal(head.headers.get('content-length'), String((await whole.arrayBuffer()).byteLength))
    assert.equal(await head.text(), '')
    for (const [given, used] of [
      ['gzip, deflate, br', 'br'],
      ['GZIP;q=0.5', 'gzip'],
      ['br;q=0, gzip;q=1.0', 'gzip'],
      ['br; q=0.000, gzip;q=0', null],
      ['brotli', null],
    ] as const) {
      assert.equal((await ask('HEAD', given)).headers.get('content-encoding'), used, given)
    }
  }
})

test('the page has no inline script or style, and its files are cached as immutable', async (t) => {
  const { url } = await start(t, { pages: true })
  const page = await (await fetch(url)).text()
  assert.doesNotMatch(page, /<style|style=|<script(?![^>]*\bsrc=)|\bon\w+=/)
  for (const [, path] of page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)) {
    const answer = await fetch(`${url}${path}`)
    assert.equal(answer.status, 200, path)
    assert.match(answer.headers.get('cache-control') ?? '', /immutable/)
  }
})

test('the first script has less than 160 KB and the inbox less than 250 KB', async (t) => {
  const { url } = await start(t, { pages: true })
  const fetchZipped = async (path: string) => {
    const { request } = await import('node:http')
    return new Promise<Buffer>((resolve, reject) => {
      request(`${url}${path}`, { headers: { 'accept-encoding': 'gzip' } }, (answer) => {
        const parts: Buffer[] = []
        answer.on('data', (part) => parts.push(part)).on('end', () => resolve(Buffer.concat(parts)))
      })
        .on('error', reject)
        .end()
    })
  }
  const page = gunzipSync(await fetchZipped('/inbox')).toString()
  const seen = new Set<string>()
  const lazy = new Set<string>()
  let bytes = 0
  const load = async (path: string) => {
    if (seen.has(path)) return
    seen.add(path)
    const zipped = await fetchZipped(path)
    bytes += zipped.length
    const script = gunzipSync(zipped).toString()
    for (const [, name] of script.matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g)) await load(`/assets/${name}`)
    for (const [, name = ''] of script.matchAll(/import\(`?"?\.\/(inbox-[\w-]+\.js)/g)) lazy.add(`/assets/${name}`)
  }
  for (const [, path = ''] of page.matchAll(/<(?:script|link)[^>]*(?:src|href)="(\/assets\/[^"]+\.js)"/g))
    await load(path)
  assert.ok(bytes < 160_000, `${bytes} bytes`)
  for (const path of lazy) await load(path)
  const hasInbox = [...seen].some((path) => path.includes('inbox-'))
  assert.ok(hasInbox, `the inbox is among ${[...seen].join(', ')}`)
  assert.ok(bytes < 250_000, `${bytes} bytes`)
})

test('every string of the pages is in words/', () => {
  const files = globSync('dashboard/src/**/*.tsx')
  assert.ok(files.length > 20)
  for (const file of files) {
    const text = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    // Text between tags, and text of the attributes people read, or screen readers speak.
    const written = [
      ...text.matchAll(/>\s*([A-Z][a-z]+(?: [a-z]+)*[^<>{}()=;]*)\s*<\//g),
      ...text.matchAll(/\s(?:label|title|placeholder|aria-label|alt|hint|lead)="([^"]*[A-Za-z][^"]*)"/g),
    ].map(([, words]) => words)
    assert.deepEqual(written, [], file)
  }
})

test('styles mirror in right-to-left languages and have two weights', () => {
  const files = globSync(['ui/*.css', 'dashboard/src/**/*.css', 'reference/src/*.css', 'simulator/phone/src/*.css'])
  assert.ok(files.length > 20)
  const physical =
    /(?:margin|padding|border|inset)-(?:left|right)\b|text-align: (?:left|right)|^\s*(?:left|right):|-(?:left|right)-radius/
  for (const file of files) {
    const lines = readFileSync(file, 'utf8').split('\n')
    // Code is written from left to right, and a centered element has no side.
    const found = lines.filter(
      (line, at) =>
        /font-weight: \d/.test(line) ||
        (physical.test(line) && !/left: 50%/.test(line) && !/^pre /.test(lines[at - 1] ?? '')),
    )
    assert.deepEqual(found, [], file)
  }
})

test('the schemas of automations are served beside the API reference, as the SDK has them', async (t) => {
  const { url } = await start(t, { pages: true })
  for (const name of ['automation.schema.json', 'automation-file.schema.json']) {
    const response = await fetch(`${url}/docs/${name}`)
    assert.deepEqual(
      [response.status, response.headers.get('content-type')],
      [200, 'application/schema+json; charset=utf-8'],
    )
    assert.equal(await response.text(), readFileSync(`sdk/${name}`, 'utf8'), 'run `npm run sdk-types`')
    const { exports } = JSON.parse(readFileSync('sdk/package.json', 'utf8'))
    assert.equal(exports[`./${name}`], `./${name}`)
  }
})
