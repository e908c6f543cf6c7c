/**
 * The Python SDK: its own tests, all operations against a real service, its types, its installation and the examples of its README.
 * They are skipped where Python is not installed.
 */
import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { resolvePackage } from '../../scripts/packages.ts'
import { Parley } from '../../sdk/src/index.ts'
import { createFolder } from '../folder.ts'
import { scopes } from '../internals.ts'
import { listen } from '../listen.ts'
import { listSamples } from '../reference-samples.ts'
import { cases } from '../signatures.ts'
import { start, type World, withProvider } from '../support.ts'

const folder = join(import.meta.dirname, '../../sdk-python')
const runs = (command: string, ...args: string[]) => spawnSync(command, args, { timeout: 20_000 }).status === 0
const isSupported = (python: string) => runs(python, '-c', 'import sys; sys.exit(sys.version_info < (3, 9))')
const skip = isSupported('python3') ? false : 'no Python 3.9 or newer on the PATH'
const phone = '+14155550100'

/** Runs Python in the folder of the SDK, and returns its output. Asynchronous, because this process runs the service. */
async function run(python: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const settings = { PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: folder }
  const options = { cwd: folder, timeout: 200_000, env: { ...process.env, ...settings, ...env } }
  const { stdout, stderr } = await promisify(execFile)(python, args, options).catch((error) => {
    throw new Error(`${python} ${args.join(' ')}: ${error.stdout}${error.stderr}`)
  })
  return stdout + stderr
}

const versionOf = (python: string) => spawnSync(python, ['--version'], { encoding: 'utf8' }).stdout
const versions = ['3.9', '3.10', '3.11', '3.12', '3.13', '3.14'].map((version) => `python${version}`)
const others = skip ? [] : versions.filter((python) => versionOf(python) && versionOf(python) !== versionOf('python3'))

for (const python of ['python3', ...others]) {
  test(`the tests of the Python SDK pass with ${python}`, { skip }, async (t) => {
    const signatures = join(createFolder(t), 'signatures.json')
    writeFileSync(signatures, JSON.stringify(cases))
    const args = ['-W', 'error::ResourceWarning', '-m', 'unittest', 'discover', '-t', '.', '-s', 'tests']
    const output = await run(python, args, { PARLEY_TEST_SIGNATURES: signatures })
    assert.ok(Number(/^Ran (\d+) tests/m.exec(output)?.[1]) >= 40, output)
    // The test of the service, and one that needs Python 3.10.
    assert.ok(Number(/skipped=(\d+)/.exec(output)?.[1]) <= 2, output)
  })
}

test('the Python SDK has the methods of the TypeScript SDK', { skip }, async () => {
  const parley = new Parley({ apiKey: 'svc_live_x' })
  const toSnake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const expected = Object.entries(parley).flatMap(([resource, methods]) =>
    Object.keys(methods).map((name) => `${resource}.${toSnake(name)}`),
  )
  assert.ok(expected.length > 50)
  const program = `
import json
from parley_sdk import Parley
from tests.test_package import methods_of
print(json.dumps(sorted(methods_of(Parley('k')))))`
  const found: string[] = JSON.parse(await run('python3', ['-c', program]))
  assert.deepEqual(found.sort(), [...expected, 'me', 'usage'].sort())
})

/** A proxy that validates every response against the OpenAPI document, and closes the connection instead of the first answer to a send. */
async function startProxy(t: TestContext, { url, contract }: World): Promise<{ url: string; used: Set<string> }> {
  const used = new Set<string>()
  let isLost = false
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '' } = request
    const body = method === 'GET' ? null : Buffer.concat(await Array.fromAsync(request))
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
    const closing = new AbortController()
    response.on('close', () => closing.abort())
    const init = { method, headers: headers as Record<string, string>, body, signal: closing.signal }
    const answer = await fetch(url + path, init)
    const [pathname = ''] = path.replace('/v1', '').split('?')
    for (const known of contract.operations)
      if (known.method === method && new RegExp(`^${known.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname))
        used.add(known.operation.operationId)
    response.statusCode = answer.status
    for (const [name, value] of answer.headers)
      if (!['connection', 'keep-alive', 'transfer-encoding', 'content-length'].includes(name))
        response.setHeader(name, value)
    if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
      // The client ends the stream.
      await answer.body?.pipeTo(Writable.toWeb(response)).catch(() => {})
      return
    }
    const text = await answer.text()
    const { status, headers: received } = answer
    contract.hold(method, path.replace('/v1', ''), { status, headers: received, text, body: JSON.parse(text) })
    if (method === 'POST' && pathname === '/messages' && !isLost) {
      isLost = true
      return response.destroy()
    }
    return response.end(text)
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  return { url: `${await listen(t, server)}/v1`, used }
}

for (const client of ['Parley', 'AsyncParley']) {
  test(`${client} has a method for every operation, and sends once if a response is lost`, { skip }, async (t) => {
    const world = await withProvider(start(t))
    const { provider } = world
    const proxy = await startProxy(t, world)
    const access = { PARLEY_TEST_KEY: await world.api.key(...scopes), PARLEY_TEST_WORKSPACE: world.api.workspaceId }
    const env = { ...access, PARLEY_TEST_URL: proxy.url, PARLEY_TEST_CLIENT: client }
    assert.match(await run('python3', ['-m', 'unittest', 'tests.test_service'], env), /^OK$/m)
    const documented = world.contract.operations.map(({ operation }) => operation.operationId)
    assert.deepEqual([...proxy.used].sort(), documented.sort())
    // A send whose response was lost, a reply and two broadcasts.
    assert.equal((await provider.sent(phone)).length, 4)
  })
}

/** All Python examples of a document as one program. */
function readExamples(): string {
  const readme = readFileSync(join(folder, 'README.md'), 'utf8')
  const blocks = [...readme.matchAll(/```python\n([\s\S]+?)```/g)].map(([, block = '']) => block)
  assert.ok(blocks.length >= 12)
  return blocks.join('\n')
}

const webhookSecret = 'whsec_of_the_readme'

/** Calls the WSGI handler of the README with a signed and a forged event. */
const callHandler = `
import hashlib, hmac, io, json, time
def deliver(secret):
    body = json.dumps({'id': 'x', 'event': 'message.received', 'data': {'conversation_id': 'c', 'text': 'Thanks'}}).encode()
    t = str(int(time.time()))
    v1 = hmac.new(secret.encode(), t.encode() + b'.' + body, hashlib.sha256).hexdigest()
    statuses = []
    handle_webhook(
        {'wsgi.input': io.BytesIO(body), 'CONTENT_LENGTH': str(len(body)), 'HTTP_X_SERVICE_SIGNATURE': f't={t},v1={v1}'},
        lambda status, headers: statuses.append(status[:3]))
    return statuses
print(deliver('whsec_other') + deliver('${webhookSecret}'))`

test('the examples of the Python README run', { skip }, async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  await provider.writes({ from: phone, name: 'Ann', text: 'Where is it?' })
  const program = join(createFolder(t), 'example.py')
  writeFileSync(program, readExamples() + callHandler)
  const env = {
    ...process.env,
    PYTHONPATH: folder,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUNBUFFERED: '1',
    PARLEY_API_KEY: await world.api.key(...scopes),
    PARLEY_URL: `${world.url}/v1`,
    PARLEY_WEBHOOK_SECRET: webhookSecret,
  }
  const child = spawn('python3', [program], { env })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  let connections = 0
  child.stderr.on('data', (part) => (output += part))
  child.stdout.on('data', (part) => {
    output += part
    const connected = output.split('Connected').length - 1
    // The example is connected and waits for this message.
    if (connected > connections) void provider.writes({ from: phone, text: 'That is all.' })
    connections = connected
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  assert.equal(code, 0, output)
  const sent = await provider.sent(phone)
  assert.equal(sent[0]?.body.text.body, 'It is on its way.')
  assert.equal(sent[1]?.body.template.name, 'order_confirmed')
  for (const line of [
    /^Acme: messages:send/m,
    /^Ann \+14155550100$/m,
    /^2 None$/m,
    /^2 contacts$/m,
    /^1 phone: not a phone number$/m,
    /of 2$/m,
    /^[0-9a-f-]{36} That is all\.$/m,
    /^Acme sent \d+ messages in 20/m,
    // The first event of any kind; reports of earlier messages may come before the customer's.
    /^message\.(received|status_updated)$/m,
    /^No contact has this id\.$/m,
    /^rejected 131026 131026: /m,
    /^c Thanks$/m,
    /^\['401', '204'\]$/m,
  ])
    assert.match(output, line)
})

const mypy = resolvePackage('mypy', ['/usr/bin/mypy'])

test('mypy finds nothing in the Python SDK, and finds mistakes in programs', {
  skip: mypy ? skip : 'no mypy',
}, async (t) => {
  const cache = createFolder(t)
  const check = (...args: string[]) =>
    run(mypy ?? '', ['--cache-dir', cache, '--python-version', '3.9', '--config-file', 'pyproject.toml', ...args])
  await check('parley_sdk', 'tests')
  const example = join(cache, 'example.py')
  // The handler of the README takes the untyped arguments of WSGI.
  writeFileSync(example, readExamples())
  await check('--allow-untyped-defs', example)
  const samples = (await listSamples('Python')).map(
    (code, index) => `def s${index}() -> None:\n${code.replace(/^/gm, '    ')}`,
  )
  assert.ok(samples.length > 40)
  writeFileSync(example, ['import os', 'from parley_sdk import Parley', ...samples, ''].join('\n'))
  await check(example)
  const mistakes: [string, RegExp][] = [
    ['parley.messages.send({"text": "no recipient"})', /Missing key "to"/],
    ['parley.contacts.create({"phone": "+1", "nme": "x"})', /[Ee]xtra key "nme"/],
    ['parley.conversations.list(status="opened")', /incompatible type/],
    ['print(parley.me()["acount"])', /has no key "acount"/],
  ]
  const lines = ['from parley_sdk import Parley', 'parley = Parley("k")', ...mistakes.map(([mistake]) => mistake)]
  writeFileSync(example, `${lines.join('\n')}\n`)
  const output = await check(example).then(
    () => '',
    (error) => error.message,
  )
  for (const [, message] of mistakes) assert.match(output, message)
})

const builder = ['python3', '/usr/bin/python3'].find(
  (python) => isSupported(python) && runs(python, '-m', 'pip', '--version'),
)

test('pip installs the Python SDK, and its license is an expression that future tools accept', {
  skip: builder ? skip : 'no Python with pip',
}, async (t) => {
  const created = createFolder(t)
  const tools = join(created, 'tools')
  const [requirement = ''] = /setuptools>=\d+/.exec(readFileSync(join(folder, 'pyproject.toml'), 'utf8')) ?? []
  const installing = ['--quiet', '--disable-pip-version-check', '--target', tools]
  if (!runs(builder ?? '', '-m', 'pip', 'install', ...installing, requirement)) {
    t.skip(`pip cannot install ${requirement}`)
    return
  }
  // A copy, because a build leaves files behind.
  const source = join(created, 'sdk-python')
  cpSync(folder, source, { recursive: true })
  const target = join(created, 'installed')
  const options = ['--quiet', '--no-index', '--no-build-isolation', '--no-deps', '--disable-pip-version-check']
  await run(builder ?? '', ['-m', 'pip', 'install', ...options, '--target', target, source], { PYTHONPATH: tools })
  const program =
    'import parley_sdk, os; print(parley_sdk.__version__, parley_sdk.__file__, os.listdir(os.path.dirname(parley_sdk.__file__)))'
  const output = await run(builder ?? '', ['-c', program], { PYTHONPATH: target })
  const { version } = JSON.parse(readFileSync(join(folder, '../sdk/package.json'), 'utf8'))
  // The version in the spelling of Python.
  assert.ok(output.startsWith(`${version.replace('-dev', '.dev0')} `), output)
  assert.match(output, /py\.typed/)
  const described = 'import importlib.metadata as m; print(m.metadata("parley-sdk").get_all("License-Expression"))'
  assert.equal((await run(builder ?? '', ['-c', described], { PYTHONPATH: target })).trim(), "['MIT']")
})
