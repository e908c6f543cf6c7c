/** The SDK as an installed package: the examples of its README compile and run, also on other runtimes, and so do its commands. */
import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { usages } from '../../cli/usage.ts'
import { builtDir } from '../../common/pages.ts'
import { version } from '../../common/version.ts'
import { signatureOf } from '../../common/webhook-request.ts'
import { buildPages } from '../../scripts/build.ts'
import { javaScriptPackage, pythonPackage } from '../../scripts/sdk.ts'
import { createFolder } from '../folder.ts'
import { scopes } from '../internals.ts'
import { listSamples } from '../reference-samples.ts'
import { start, until, withProvider } from '../support.ts'

const root = join(import.meta.dirname, '../..')
const secret = 'whsec_of_the_readme'

/** A project folder with the package that the service offers, installed by npm. */
let folder: string | undefined
after(() => folder && rmSync(folder, { recursive: true, force: true }))

async function resolveFolder(): Promise<string> {
  if (folder) return folder
  await buildPages()
  folder = mkdtempSync(join(tmpdir(), 'parley-sdk-'))
  cpSync(join(builtDir('sdk'), javaScriptPackage), join(folder, javaScriptPackage))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${javaScriptPackage}`], folder)
  return folder
}

function run(command: string, args: string[], cwd: string): string {
  const options = { cwd, encoding: 'utf8', timeout: 60_000 } as const
  const { status, stdout, stderr, error } = spawnSync(command, args, options)
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${error?.message ?? ''}${stdout}${stderr}`)
  return stdout.trim()
}

/** All examples of the README as one module, with merged imports. */
function readExamples(): string {
  const readme = readFileSync(join(root, 'sdk/README.md'), 'utf8')
  const blocks = [...readme.matchAll(/```ts\n([\s\S]+?)```/g)].map(([, block = '']) => block)
  assert.ok(blocks.length >= 8)
  const imports = /^import \{ (.+?) \} from 'parley-sdk'\n/gm
  const names = new Set(
    blocks.flatMap((block) => [...block.matchAll(imports)].flatMap(([, all = '']) => all.split(', '))),
  )
  const code = blocks.map((block) => block.replace(imports, ''))
  return `import { ${[...names].join(', ')} } from 'parley-sdk'\n${code.join('\n')}`
}

test('the examples of the README compile against the published package and run', async (t) => {
  const folder = await resolveFolder()
  const example = join(folder, 'example.ts')
  writeFileSync(example, readExamples())
  writeFileSync(join(folder, 'process.d.ts'), 'declare const process: { env: Record<string, string | undefined> }\n')
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
    module: 'nodenext',
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    // Checks the declarations of the package, but not those of the platform.
    skipDefaultLibCheck: true,
    noEmit: true,
  }
  const project = { compilerOptions, files: ['example.ts', 'process.d.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project))
  run(join(root, 'node_modules/.bin/tsc'), ['-p', folder], folder)

  const world = await withProvider(start(t))
  const { provider } = world
  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'Where is it?' })
  const logged: string[] = []
  t.mock.method(console, 'log', (...words: unknown[]) => {
    logged.push(words.join(' '))
    // The example is connected and waits for this message.
    if (words[0] === 'Connected.') void provider.writes({ from: '+14155550100', text: 'That is all.' })
  })
  process.env.PARLEY_API_KEY = await world.api.key(...scopes)
  process.env.PARLEY_URL = `${world.url}/v1`
  process.env.PARLEY_WEBHOOK_SECRET = secret
  const { default: handler } = await import(pathToFileURL(example).href)

  const sent = await provider.sent('+14155550100')
  assert.equal(sent[0]?.body.text.body, 'It is on its way.')
  assert.equal(sent[1]?.body.template.name, 'order_confirmed')
  for (const line of [
    /^Acme: messages:send/,
    /^Ann \+14155550100$/,
    /^2 $/,
    /^2 contacts$/,
    /of 2$/,
    /^[0-9a-f-]{36} That is all\.$/,
    /^No contact has this id\.$/,
    /^rejected 131026 131026: /,
  ]) {
    const isLogged = logged.some((each) => line.test(each))
    assert.ok(isLogged, `${line} is not in\n${logged.join('\n')}`)
  }

  const body = JSON.stringify({ id: 'x', event: 'message.received', data: { conversation_id: 'c', text: 'Thanks' } })
  const deliver = async (by: string): Promise<number> => {
    const at = Math.floor(Date.now() / 1_000)
    const headers = { 'x-service-signature': `t=${at},v1=${signatureOf(by, at, body)}` }
    return (await handler.fetch(new Request('http://receiver.test', { method: 'POST', headers, body }))).status
  }
  assert.deepEqual([await deliver('whsec_other'), await deliver(secret)], [401, 204])
  assert.equal(logged.at(-1), 'c Thanks')
})

test('the samples of the API reference compile against the published package', async () => {
  const folder = join(await resolveFolder(), 'reference')
  mkdirSync(folder, { recursive: true })
  const programs = (await listSamples('TypeScript')).map(
    (code, index) => `export async function s${index}() {\n${code}\n}`,
  )
  assert.ok(programs.length > 40)
  writeFileSync(join(folder, 'samples.ts'), ["import { Parley } from 'parley-sdk'", ...programs].join('\n'))
  const process = 'declare const process: { env: Record<string, string | undefined> }'
  const console = 'declare const console: { log(...values: unknown[]): void }'
  writeFileSync(join(folder, 'globals.d.ts'), `${process}\n${console}\n`)
  const compilerOptions = { target: 'es2022', lib: ['es2022', 'dom'], module: 'nodenext', types: [], strict: true }
  const files = ['samples.ts', 'globals.d.ts']
  const options = { ...compilerOptions, skipLibCheck: true, noEmit: true }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }))
  run(join(root, 'node_modules/.bin/tsc'), ['-p', folder], folder)
})

test('a CommonJS program can require the published package with its types', async () => {
  const folder = join(await resolveFolder(), 'commonjs')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
  const program = `
    import { Parley, ParleyError } from 'parley-sdk'
    const parley: Parley = new Parley({ apiKey: 'svc_live_x', baseUrl: 'http://127.0.0.1:1/v1', maxRetries: 0 })
    const code: Promise<string> = parley.contacts.get('x').then(({ id }) => id, (error: ParleyError) => error.code)
    code.then((text) => console.log(text))`
  writeFileSync(join(folder, 'program.ts'), program)
  const compilerOptions = { target: 'es2022', lib: ['es2022', 'dom'], module: 'nodenext', types: [], strict: true }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
  run(join(root, 'node_modules/.bin/tsc'), ['-p', folder], folder)
  assert.match(readFileSync(join(folder, 'program.js'), 'utf8'), /require\("parley-sdk"\)/)
  // Node 20 cannot require an ES module.
  const args = ['--no-experimental-require-module', join(folder, 'program.js')]
  assert.equal(run(process.execPath, args, folder), 'network_error')
})

/** Runs a command of the installed package, as an integrator does, without a copy of Parley and without the network. */
async function command(env: Record<string, string>, ...args: string[]): Promise<string> {
  const options = { cwd: await resolveFolder(), timeout: 60_000, env: { ...process.env, ...env } }
  // Asynchronous, because this process also runs the service that the command calls.
  return (await promisify(execFile)('npx', ['--offline', 'parley-sdk', ...args], options)).stdout
}

test('npx parley-sdk runs every command of integrators from the installed package', async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  const env = { PARLEY_API_KEY: await world.api.key(...scopes), PARLEY_URL: world.url }
  assert.equal(await command(env, '--version'), `${version}\n`)
  const help = await command(env, 'help')
  for (const name of Object.keys(usages)) assert.match(help, new RegExp(`^  npx parley-sdk ${name} .{10,100}$`, 'm'))
  await assert.rejects(command(env, 'lissen'), /Unknown command: lissen/)

  const received: string[] = []
  const hook = createServer((request, response) => {
    received.push(String(request.headers['x-service-event']))
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
  t.after(() => hook.close())
  const forward = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`
  const folder = await resolveFolder()
  const starting = (...args: string[]) => {
    const program = join(folder, 'node_modules/.bin/parley-sdk')
    const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...env } })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    t.after(() => child.kill('SIGKILL'))
    return { child, output: () => output }
  }
  const [listening, tailing, assisting] = [starting('listen', '--forward', forward), starting('tail'), starting('mcp')]
  await until('the listener', async () => listening.output().includes('Forwarding to'), 30_000)
  await until('the tail', async () => tailing.output().includes('Waiting for events.'), 30_000)

  const options = ['--from', '+12025550123', '--simulator', provider.simulatorUrl, '--json']
  const contact = JSON.parse(await command(env, 'trigger', 'contact.created', ...options))
  const sent = JSON.parse(
    await command(env, 'send', '--to', '+14155550100', '--template', 'hello_world', '--name', 'Ann', '--json'),
  )
  assert.ok(contact.id && sent.message_id)
  assert.match(await command(env, 'templates', '--search', 'hello'), /^hello_world /m)
  const definition = { trigger: { type: 'manual' }, steps: [{ type: 'end' }] }
  await world.api.post('/automations', { name: 'By hand', definition })
  const automations = createFolder(t)
  assert.equal(await command(env, 'automations', 'pull', '--dir', automations), 'by-hand.json: created\n')
  assert.equal(await command(env, 'automations', 'test', '--dir', automations), 'by-hand.json: valid\n')
  for (const name of ['automation.schema.json', 'automation-file.schema.json']) {
    const print = `console.log(require.resolve('parley-sdk/${name}'))`
    const path = run(process.execPath, ['--input-type=commonjs', '-e', print], folder)
    assert.equal(readFileSync(path, 'utf8'), readFileSync(join(root, 'sdk', name), 'utf8'))
  }
  await until('the forwarded event', async () => received.includes('contact.created'))
  await until('the line', async () => tailing.output().includes(`contact_id=${contact.id}`))

  const messages = [
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'get_contact', arguments: { id: contact.id } } },
  ]
  for (const message of messages) assisting.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  await until('the answer', async () => assisting.output().includes('+12025550123'), 30_000)

  // The package contains other packages, so it has their licenses.
  const licenses = readFileSync(join(folder, 'node_modules/parley-sdk/dist/cli-licenses.md'), 'utf8')
  assert.match(licenses, /@modelcontextprotocol\/sdk/)
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'node_modules/parley-sdk/package.json'), 'utf8'))
  assert.equal(dependencies, undefined)
})

test('the service offers the packages of both SDKs for download', async (t) => {
  const { url } = await start(t, { pages: true })
  for (const name of [javaScriptPackage, pythonPackage]) {
    const response = await fetch(`${url}/docs/sdk/${name}`)
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/gzip'])
    assert.equal(response.headers.get('content-encoding'), null)
    const bytes = Buffer.from(await response.arrayBuffer())
    assert.ok(bytes.equals(readFileSync(join(builtDir('sdk'), name))), name)
  }
  // The lines of the README install the package and its commands.
  const [, install = ''] = /```sh\n(curl -O[^`]+)```/.exec(readFileSync(join(root, 'sdk/README.md'), 'utf8')) ?? []
  assert.match(install, /npm install/)
  const project = createFolder(t)
  writeFileSync(join(project, 'package.json'), '{}')
  const npm = { npm_config_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' }
  const options = { cwd: project, timeout: 60_000, env: { ...process.env, ...npm } }
  const lines = `${install.replaceAll('http://127.0.0.1:4000', url)}npx parley-sdk --version`
  const { stdout } = await promisify(execFile)('sh', ['-euc', lines], options)
  assert.ok(stdout.endsWith(`${version}\n`), stdout)
  // The dashboard shows the command for a computer without an installation: npm gets the package from the service.
  const empty = createFolder(t)
  const shown = ['--yes', `${url}/docs/sdk/${javaScriptPackage}`, '--version']
  const apart = { cwd: empty, timeout: 60_000, env: { ...process.env, npm_config_cache: join(empty, 'cache') } }
  assert.equal((await promisify(execFile)('npx', shown, apart)).stdout, `${version}\n`)
})

/** The path of a program whose `--version` output starts with `version`. */
function find(name: string, version: string): string | undefined {
  const paths = (process.env.PATH ?? '').split(delimiter).map((dir) => join(dir, name))
  return paths.find((path) => spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout?.startsWith(version))
}

const platforms = [
  { name: 'Node 20', program: find('node', 'v20.'), run: [] },
  { name: 'Bun', program: find('bun', ''), run: ['run'] },
  {
    name: 'Deno',
    program: find('deno', 'deno '),
    run: ['run', '--no-prompt', '--allow-net', '--node-modules-dir=manual'],
  },
]

for (const { name, program, run } of platforms) {
  const skip = program ? false : `no ${name} on the PATH`
  test(`the published package runs on ${name}`, { skip }, async (t) => {
    const world = await start(t)
    const code = `
      import { argv } from 'node:process'
      import { Parley, ParleyError, verifyWebhook } from 'parley-sdk'
      const [apiKey, baseUrl, payload, signature, secret] = argv.slice(2)
      const parley = new Parley({ apiKey, baseUrl })
      const { account } = await parley.me()
      const contacts = []
      for await (const { phone } of parley.contacts.list()) contacts.push(phone)
      const onReady = () => parley.contacts.create({ phone: '+14155550101' })
      for await (const { data } of parley.events.stream({ events: ['contact.created'] }, { onReady })) {
        contacts.push(data.phone)
        break
      }
      const refused = await parley.contacts.get('none').catch((error) => error instanceof ParleyError && error.code)
      const aborted = await parley.me({ signal: AbortSignal.abort() }).catch(({ code }) => code)
      const event = await verifyWebhook({ payload, signature, secret })
      const forged = await verifyWebhook({ payload, signature, secret: 'other' }).catch(({ code }) => code)
      console.log(JSON.stringify([account.name, contacts, refused, aborted, event.id, forged]))`
    await world.api.post('/contacts', { phone: '+14155550100' })
    const folder = await resolveFolder()
    const file = join(folder, 'program.mjs')
    writeFileSync(file, code)
    const at = Math.floor(Date.now() / 1_000)
    const body = '{"id":"x","event":"contact.created","data":{}}'
    const header = `t=${at},v1=${signatureOf(secret, at, body)}`
    const programArgs = [await world.api.key(...scopes), `${world.url}/v1`, body, header, secret]
    // Asynchronous, because this process also runs the service that the program calls.
    const options = { cwd: folder, timeout: 60_000 }
    const { stdout } = await promisify(execFile)(program ?? '', [...run, file, ...programArgs], options)
    const contacts = ['+14155550100', '+14155550101']
    assert.deepEqual(JSON.parse(stdout), ['Acme', contacts, 'not_found', 'aborted', 'x', 'invalid_signature'])
  })
}
