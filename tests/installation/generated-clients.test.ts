/**
 * The OpenAPI document for machines: linters find nothing, and clients that common generators make of it compile strictly and work.
 * The programs are installed once, into a cache.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { start } from '../support.ts'

const execute = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const sources = join(import.meta.dirname, '../clients')

/** Runs a program in the folder. */
async function run(folder: string, file: string, args: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const options = { cwd: folder, encoding: 'utf8', timeout: 240_000, env: { ...process.env, ...env } } as const
  const { stdout } = await execute(process.execPath, [file, ...args], options).catch((error) => {
    throw new Error(`${file} ${args.join(' ')}: ${error.stdout}${error.stderr}`)
  })
  return stdout.trim()
}

/** Installs the generators and linters once. Undefined where the packages cannot be had. */
async function resolvePrograms(): Promise<string | undefined> {
  const locked = readFileSync(join(sources, 'package-lock.json'))
  const folder = join(
    root,
    'node_modules/.cache/clients',
    createHash('sha256').update(locked).digest('hex').slice(0, 16),
  )
  const programs = join(folder, 'node_modules')
  if (existsSync(join(folder, 'installed'))) return programs
  mkdirSync(folder, { recursive: true })
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(sources, file), join(folder, file))
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
  const failure = await execute('npm', args, { cwd: folder, timeout: 280_000 }).then(() => undefined, String)
  if (failure && process.env.CI) throw new Error(failure)
  if (failure) return undefined
  writeFileSync(join(folder, 'installed'), '')
  return programs
}

/** A project that uses the clients. Node runs no TypeScript below `node_modules`, so it is elsewhere. */
async function createProject(t: TestContext, programs: string, url: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-clients-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(programs, join(folder, 'node_modules'))
  for (const file of globSync(join(sources, '*.*'))) copyFileSync(file, join(folder, basename(file)))
  for (const file of ['.spectral.yaml', 'redocly.yaml']) copyFileSync(join(root, file), join(folder, file))
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { servers: unknown }
  document.servers = [{ url: `${url}/v1` }]
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document, null, 2))
  return folder
}

test('generated clients compile strictly and work, and linters find nothing in the document', async (t) => {
  const { url, api } = await start(t)
  const programs = await resolvePrograms()
  if (!programs) return t.skip('The generators of clients could not be installed.')
  const folder = await createProject(t, programs, url)
  const runProgram = (path: string, args: string[]) => run(folder, join(programs, path), args)
  const [redocly] = await Promise.all([
    runProgram('@redocly/cli/bin/cli.js', ['lint', '--format=json', 'openapi.json']),
    runProgram('@stoplight/spectral-cli/dist/index.js', ['lint', '--fail-severity=hint', 'openapi.json']),
    runProgram('openapi-typescript/bin/cli.js', ['openapi.json', '-o', 'generated/types.d.ts']),
    runProgram('@hey-api/openapi-ts/bin/run.js', ['-f', 'hey-api.config.mjs']),
    runProgram('orval/dist/bin/orval.mjs', ['--config', 'orval.config.mjs']),
  ])
  assert.deepEqual(JSON.parse(redocly).problems, [])
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  await run(folder, tsc, ['-p', '.', '--typeRoots', join(root, 'node_modules/@types')])

  const env = { URL: `${url}/v1`, KEY: await api.key('contacts:read', 'contacts:write') }
  const use = async (file: string) => JSON.parse(await run(folder, file, [], env))
  assert.deepEqual(await use('openapi-fetch.ts'), [201, 'Engines', ['Ada'], 'not_found'])
  assert.deepEqual(await use('hey-api.ts'), [201, 'Engines', ['Ben', 'Ada'], 'not_found'])
  assert.deepEqual(await use('orval.ts'), [201, 'Engines', ['Cy', 'Ben', 'Ada'], 'not_found'])
})
