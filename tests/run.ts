/**
 * `npm test` runs the check and every test file. `npm run test:fast` runs the
 * check, the unit tests and the test of each room's main promise.
 * `npm test -- FILE…` runs only these files.
 *
 * All files share one PostgreSQL. Long files have a process each; the others run
 * in groups, so that the program, the service and the browser start once per
 * group. The check runs beside the first files; when it fails, the run fails.
 * The runner's own summary is printed last.
 */
import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { buildPages } from '../scripts/build.ts'
import { resolveChromium } from '../scripts/chromium.ts'
import { resolvePackage } from '../scripts/packages.ts'
import { startEmbeddedPostgres } from '../server/lib/embedded-postgres.ts'
import { resolvePgbouncer } from './pgbouncer.ts'
import { runTests } from './rerun.ts'
import { createTemplate, testSettings } from './support.ts'

const besideCode = ['common/**/*.test.ts', 'server/**/*.test.ts', 'simulator/**/*.test.ts']

/** The longest first, so that none of them runs alone at the end. */
const longest = [
  'tests/machines.test.ts',
  'tests/memory.test.ts',
  'tests/process.test.ts',
  'tests/release.test.ts',
  'tests/bad-input.test.ts',
  'tests/isolation.test.ts',
  'server/webhooks/deliver.test.ts',
  'server/broadcasts/broadcasts.test.ts',
  'server/lib/embedded-postgres.test.ts',
  'tests/inbound.test.ts',
  'tests/deliver-load.test.ts',
  'tests/deliver-crash.test.ts',
  'tests/broadcast-crash.test.ts',
  'tests/dashboard-inbox.test.ts',
  'tests/dashboard-settings.test.ts',
  'tests/crash.test.ts',
  'tests/integrator-cli.test.ts',
  'tests/simulator.test.ts',
  'tests/webhooks.test.ts',
  'tests/web-chat.test.ts',
]

/** Some files wait more than they compute. */
const concurrency = availableParallelism() + 1

const asked = process.argv.slice(2)
const isFast = asked[0] === '--fast'
const isWhole = asked.length === 0

const everyFile = () => globSync(['tests/**/*.test.ts', ...besideCode]).sort()

/** Files that change `process.env`, replace timers of the whole process, or need ids that no other file has advanced. */
const alone = [
  'tests/libraries.test.ts',
  'tests/sdk-package.test.ts',
  'tests/sdk.test.ts',
  'tests/sdk-stream.test.ts',
  'tests/sdk-webhooks.test.ts',
  'server/lib/id.test.ts',
]

function listFiles(): string[] {
  if (!isWhole) return asked
  const units = listUnits()
  const others = everyFile().filter((file) => ![...longest, ...alone, ...units].includes(file))
  const pages = others.filter((file) => readFileSync(file, 'utf8').includes('./dashboard.ts'))
  const services = others.filter((file) => !pages.includes(file))
  return [...longest, ...createGroups(pages, 3), ...createGroups(services, 6), ...alone, ...createGroups(units, 1)]
}

/** Writes modules that import the files, `count` of them. Each runs in one process. */
function createGroups(files: readonly string[], count: number): string[] {
  const groups = Array.from({ length: count }, (_, index) => files.filter((_, i) => i % count === index))
  return groups.map((group) => {
    const module = join(mkdtempSync(join(dataDir, 'group-')), 'group.test.mjs')
    writeFileSync(module, group.map((file) => `import '${pathToFileURL(resolve(file))}'\n`).join(''))
    return module
  })
}

/** Tests that need no service and no database, and the rules of the house. */
function listUnits(): string[] {
  const isUnit = (file: string) => !/support\.ts|embedded-postgres/.test(readFileSync(file, 'utf8'))
  const beside = globSync(besideCode).filter((file) => isUnit(file) && !alone.includes(file))
  return ['tests/house.test.ts', 'tests/structure.test.ts', ...beside.sort()]
}

/** Files with the test of a room's main promise. */
const listMain = () => everyFile().filter((file) => /',\s+main,\s/.test(readFileSync(file, 'utf8')))

/** Type-checks and lints. Answers what it printed, and whether it passed. */
function check(): Promise<{ passed: boolean; output: string }> {
  const child = spawn('npm', ['run', '--silent', 'check'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  return new Promise((resolve) => child.on('close', (code) => resolve({ passed: code === 0, output })))
}

const stopping = new AbortController()
// Stopped, or without the launcher: nothing of ours stays behind.
for (const event of ['SIGTERM', 'SIGINT', 'SIGHUP', 'disconnect']) process.on(event, () => stopping.abort())

const checking = isFast || isWhole ? check() : undefined
void checking?.then(({ passed }) => passed || stopping.abort())
if (!isFast) {
  resolveChromium({ install: true })
  resolvePgbouncer({ install: true })
  resolvePackage('mypy', ['/usr/bin/mypy'], { install: true })
  resolvePackage('iproute2', ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip'], { install: true })
}
const dataDir = mkdtempSync(join(tmpdir(), 'parley-test-'))
const [postgres] = await Promise.all([startEmbeddedPostgres({ dataDir, settings: testSettings }), buildPages()])
await createTemplate(postgres.address)
process.env.PARLEY_TEST_DATABASE = JSON.stringify(postgres.address)
// Every file, and every service a test starts, loads the whole program: half a second of a core each without this.
process.env.NODE_COMPILE_CACHE = join(import.meta.dirname, '../node_modules/.cache/tests')

let failures = 0
async function report(files: string[], only = false): Promise<void> {
  const options = { concurrency, timeout: 600_000, execArgv: ['--test-timeout=300000'], signal: stopping.signal }
  const reporter = spec()
  reporter.on('data', (text) => process.stdout.write(text))
  for await (const event of runTests({ ...options, files, only })) {
    if (event.type === 'test:fail' && !event.data.todo) failures++
    reporter.write(event)
  }
  reporter.end()
  await finished(reporter)
}

if (isFast) {
  await report([...createGroups(listUnits(), 1), 'server/lib/id.test.ts'])
  process.env.PARLEY_TEST_MAIN = '1'
  await report(createGroups(listMain(), concurrency), true)
} else await report(listFiles())

const checked = await checking
await postgres.stop()
const passed = failures === 0 && !stopping.signal.aborted && checked?.passed !== false
if (checked && !checked.passed) console.error(checked.output)
if (passed) rmSync(dataDir, { recursive: true, force: true })
else console.error(`The databases of tests that failed are in ${dataDir}`)
process.exit(passed ? 0 : 1)
