/**
 * The OpenAPI document for machines: linters find nothing, and clients that common generators make of it compile strictly and work.
 * `client-generators.test.ts` has the generators for other languages.
 */
import assert from 'node:assert/strict'
import { copyFileSync, globSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFolder } from '../folder.ts'
import { start } from '../support.ts'
import { resolveNodePackages, runProgram, sources } from '../tools.ts'

const root = join(import.meta.dirname, '../..')

const run = (folder: string, file: string, args: string[] = [], env: NodeJS.ProcessEnv = {}) =>
  runProgram(folder, process.execPath, [file, ...args], env)

/** A project that uses the clients. Node runs no TypeScript below `node_modules`, so it is elsewhere. */
async function createProject(t: TestContext, programs: string, url: string): Promise<string> {
  const folder = createFolder(t)
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
  const programs = await resolveNodePackages('clients', sources)
  if (!programs) return t.skip('The generators of clients could not be installed.')
  const folder = await createProject(t, programs, url)
  const runPackage = (path: string, args: string[]) => run(folder, join(programs, path), args)
  const [redocly] = await Promise.all([
    runPackage('@redocly/cli/bin/cli.js', ['lint', '--format=json', 'openapi.json']),
    runPackage('@stoplight/spectral-cli/dist/index.js', ['lint', '--fail-severity=hint', 'openapi.json']),
    runPackage('openapi-typescript/bin/cli.js', ['openapi.json', '-o', 'generated/types.d.ts']),
    runPackage('@hey-api/openapi-ts/bin/run.js', ['-f', 'hey-api.config.mjs']),
    runPackage('orval/dist/bin/orval.mjs', ['--config', 'orval.config.mjs']),
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
