/**
 * Generators of clients for Python, Go and Java, and `openapi-generator`: each client compiles, creates a contact and reads it.
 * The generators for TypeScript are in `generated-clients.test.ts`.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFolder } from '../folder.ts'
import { start } from '../support.ts'
import { resolvePythonPackages, resolveTool, runProgram, sources } from '../tools.ts'

const root = join(import.meta.dirname, '../..')
const isInstalled = (program: string, ...args: string[]) => spawnSync(program, args, { timeout: 60_000 }).status === 0
const skipGo = isInstalled('go', 'version') ? false : 'Go is not installed.'
const skipJava = isInstalled('javac', '-version') ? false : 'No Java compiler is installed.'

/** What a client prints that created the contact and read it. */
const expected = [201, 'Ada']

/** A folder with the files of `tests/clients/NAME` and the document, and what a client needs to call the service. */
async function createProject(t: TestContext, name: string, query = '') {
  const { url, api } = await start(t)
  const folder = createFolder(t)
  cpSync(join(sources, name), folder, { recursive: true })
  writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${url}/openapi.json${query}`)).text())
  return { folder, env: { URL: `${url}/v1`, KEY: await api.key('contacts:read', 'contacts:write') } }
}

const compilePython = (folder: string, python: string) =>
  runProgram(folder, python, ['-m', 'compileall', '-q', 'parley_client'])

test('the client of openapi-python-client compiles and works', async (t) => {
  const programs = await resolvePythonPackages('generators')
  if (!programs) return t.skip('openapi-python-client could not be installed. It needs Python 3.11 or newer with venv.')
  const { folder, env } = await createProject(t, 'python')
  const python = join(programs, 'python')
  const args = ['-m', 'openapi_python_client', 'generate', '--path', 'openapi.json', '--meta', 'none']
  // It formats the client with the program `ruff`.
  const path = { PATH: `${programs}${delimiter}${process.env.PATH}` }
  await runProgram(folder, python, [...args, '--output-path', 'parley_client', '--fail-on-warning'], path)
  await compilePython(folder, python)
  assert.deepEqual(JSON.parse(await runProgram(folder, python, ['openapi_python_client_use.py'], env)), expected)
})

test('the client of oapi-codegen compiles and works', { skip: skipGo }, async (t) => {
  const modules = readFileSync(join(sources, 'go/go.sum'), 'utf8')
  // Another toolchain is not downloaded, and the modules are files that can be deleted.
  const settings = (folder: string) => ({
    GOMODCACHE: join(folder, 'modules'),
    GOCACHE: join(folder, 'build'),
    GOFLAGS: '-modcacherw -buildvcs=false',
    GOTOOLCHAIN: 'local',
  })
  const tool = await resolveTool('oapi-codegen', modules, async (folder) => {
    cpSync(join(sources, 'go'), folder, { recursive: true })
    await runProgram(folder, 'go', ['mod', 'download'], settings(folder))
    await runProgram(folder, 'go', ['build', '-o', 'programs/', 'tool'], settings(folder))
  })
  if (!tool) return t.skip('oapi-codegen could not be installed. It needs Go 1.25 or newer.')
  const { folder, env } = await createProject(t, 'go')
  mkdirSync(join(folder, 'parley'))
  await runProgram(folder, join(tool, 'programs/oapi-codegen'), ['-config', 'oapi-codegen.yaml', 'openapi.json'])
  await runProgram(folder, 'go', ['build', '-o', 'client', '.'], settings(tool))
  assert.deepEqual(JSON.parse(await runProgram(folder, join(folder, 'client'), [], env)), expected)
})

/** The generator, and what its Java client needs. */
const jars = [
  'org/openapitools/openapi-generator-cli/7.25.0',
  'com/google/code/findbugs/jsr305/3.0.2',
  'com/google/code/gson/gson/2.10.1',
  'com/squareup/okhttp3/logging-interceptor/4.12.0',
  'com/squareup/okhttp3/okhttp/4.12.0',
  'com/squareup/okio/okio-jvm/3.6.0',
  'io/gsonfire/gson-fire/1.9.0',
  'jakarta/annotation/jakarta.annotation-api/1.3.5',
  'jakarta/ws/rs/jakarta.ws.rs-api/2.1.6',
  'org/apache/commons/commons-lang3/3.18.0',
  'org/jetbrains/kotlin/kotlin-stdlib/1.9.10',
  'org/openapitools/jackson-databind-nullable/0.2.11',
]

/** Downloads the jars from Maven Central once. Undefined where that is not possible. */
const resolveJars = () =>
  resolveTool('openapi-generator', jars.join(), (folder) =>
    Promise.all(
      jars.map(async (path) => {
        const [artifact = '', version] = path.split('/').slice(-2)
        const answer = await fetch(`https://repo.maven.apache.org/maven2/${path}/${artifact}-${version}.jar`)
        assert.equal(answer.status, 200, path)
        writeFileSync(join(folder, `${artifact}.jar`), Buffer.from(await answer.arrayBuffer()))
      }),
    ),
  )

/** Generates a client from the document without `webhooks`, which most languages of the generator do not read. */
async function generate(t: TestContext, name: string, args: readonly string[]) {
  const folder = await resolveJars()
  if (!folder) return t.skip('openapi-generator could not be downloaded.')
  const project = await createProject(t, name, '?webhooks=false')
  const program = ['-jar', join(folder, 'openapi-generator-cli.jar'), 'generate', '-i', 'openapi.json']
  await runProgram(project.folder, 'java', [...program, ...args])
  return { ...project, jars: folder }
}

test('the TypeScript client of openapi-generator compiles and works', { skip: skipJava }, async (t) => {
  const properties = '--additional-properties=importFileExtension=.js'
  const project = await generate(t, 'typescript-fetch', ['-g', 'typescript-fetch', '-o', 'generated', properties])
  if (!project) return
  const { folder, env } = project
  const packages = join(root, 'node_modules')
  const compiling = [join(packages, 'typescript/bin/tsc'), '-p', '.', '--typeRoots', join(packages, '@types')]
  await runProgram(folder, process.execPath, compiling)
  assert.deepEqual(JSON.parse(await runProgram(folder, process.execPath, ['built/use.js'], env)), expected)
})

test('the Python client of openapi-generator compiles and works', { skip: skipJava }, async (t) => {
  const programs = await resolvePythonPackages('generators')
  if (!programs) return t.skip('The packages of the client could not be installed.')
  const properties = '--additional-properties=packageName=parley_client'
  const project = await generate(t, 'python', ['-g', 'python', '-o', '.', properties])
  if (!project) return
  const { folder, env } = project
  const python = join(programs, 'python')
  await compilePython(folder, python)
  assert.deepEqual(JSON.parse(await runProgram(folder, python, ['openapi_generator_use.py'], env)), expected)
})

test('the Java client of openapi-generator compiles and works', { skip: skipJava }, async (t) => {
  const project = await generate(t, 'java', ['-g', 'java', '-o', 'generated'])
  if (!project) return
  const { folder, env, jars } = project
  const files = ['Use.java', ...globSync('generated/src/main/**/*.java', { cwd: folder })]
  writeFileSync(join(folder, 'files'), files.join('\n'))
  const path = [
    join(folder, 'built'),
    ...globSync(join(jars, '*.jar'), { exclude: ['**/openapi-generator-cli.jar'] }),
  ].join(delimiter)
  await runProgram(folder, 'javac', ['-nowarn', '-cp', path, '-d', 'built', '@files'])
  assert.deepEqual(JSON.parse(await runProgram(folder, 'java', ['-cp', path, 'Use'], env)), expected)
})
