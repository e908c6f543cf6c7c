/**
 * Runs the tests. All files share one PostgreSQL and one Chromium, short files share a process (`schedule.ts`), and the check runs
 * beside the first files; when it fails, the run fails. The runner's own summary is printed last.
 *
 *   npm test                    the check, the units, the service, the browser, a crash of each engine, a start of the program
 *   npm run test:installation   whole installations, and the tests of the service on PostgreSQL 15
 *   npm run test:fast           the check, the units, and the test of each module's main promise
 *   npm test -- FILE…           only these files
 *   npm test -- --times         prints what took the longest, too
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { spec, type TestEvent } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { onStopRequest } from '../common/stop-request.ts'
import { buildPages } from '../scripts/build.ts'
import { resolveChromium } from '../scripts/chromium.ts'
import { resolvePackage } from '../scripts/packages.ts'
import { type DatabaseAddress, startEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
import { startChromium } from './chromium.ts'
import { createTemplate, testSettings } from './database.ts'
import { whyNoPatroni } from './patroni.ts'
import { resolvePgbouncer } from './pgbouncer.ts'
import { startPostgres15 } from './postgres-15.ts'
import { type Counts, type Outcome, runTests } from './rerun.ts'
import { listTestFiles, planProcesses, readSeconds, storeSeconds } from './schedule.ts'
import { createTimer } from './slowest.ts'

const options = process.argv.slice(2).filter((word) => word.startsWith('--'))
const asked = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const isFast = options.includes('--fast')
const isInstallation = options.includes('--installation')
const isWhole = asked.length === 0

/** A quarter of the time is waiting for conditions, and more for the browser. */
const concurrency = availableParallelism() + 2

const stopping = new AbortController()
// Nothing of ours stays behind.
onStopRequest(() => stopping.abort())

const checking = isWhole && !isInstallation ? check() : undefined
void checking?.then(({ passed }) => passed || stopping.abort())
if (!isFast && !isInstallation) resolveChromium({ install: true })
if (isInstallation) {
  resolvePgbouncer({ install: true })
  resolvePackage('mypy', ['/usr/bin/mypy'], { install: true })
  resolvePackage('prometheus', ['/usr/bin/promtool'], { install: true })
  resolvePackage('iproute2', ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip'], { install: true })
  const noPatroni = whyNoPatroni({ install: true })
  if (noPatroni) console.error(`The test of Patroni is skipped: ${noPatroni}.`)
}
const dataDir = mkdtempSync(join(tmpdir(), 'parley-test-'))
const [postgres, postgres15] = await Promise.all([
  startEmbeddedPostgres({ dataDir, settings: testSettings }),
  isInstallation ? startPostgres15() : undefined,
  buildPages(),
])
const chromium = isFast || isInstallation ? undefined : await startChromium()
const createTemplateIn = async (address: DatabaseAddress) => {
  await createTemplate(address)
  return { PARLEY_TEST_DATABASE: JSON.stringify(address) }
}
Object.assign(process.env, await createTemplateIn(postgres.address))
if (chromium) process.env.PARLEY_TEST_BROWSER = chromium.endpoint
// Every file, and every service a test starts, loads the whole program: half a second of a core each without this.
process.env.NODE_COMPILE_CACHE = join(import.meta.dirname, '../node_modules/.cache/tests')
process.env.PARLEY_TEST_SPENT = join(dataDir, 'spent')

/** Processes that run beside each other, with the files of each. */
type Phase = { processes: readonly (readonly string[])[]; env?: Record<string, string>; only?: boolean }

async function planPhases(): Promise<Phase[]> {
  const { units, services, pages, installation } = listTestFiles()
  const seconds = readSeconds()
  if (!isWhole) return [{ processes: asked.map((file) => [file]) }]
  if (isInstallation) {
    const phases: Phase[] = [
      {
        processes: planProcesses(
          installation.map((file) => [file]),
          seconds,
        ),
      },
    ]
    if (postgres15) {
      const env = await createTemplateIn(postgres15.address)
      phases.push({ processes: planProcesses([services], seconds), env })
    }
    return phases
  }
  if (isFast) {
    const withMain = services.filter((file) => /',\s+main,\s/.test(readFileSync(file, 'utf8')))
    const processes = Array.from({ length: concurrency }, (_, lane) =>
      withMain.filter((_, i) => i % concurrency === lane),
    )
    return [{ processes: planProcesses([units], seconds) }, { processes, env: { PARLEY_TEST_MAIN: '1' }, only: true }]
  }
  return [{ processes: [...planProcesses([units], seconds), ...planProcesses([services, pages], seconds)] }]
}

/** One file as it is, or a module that imports several. */
function toModule(process: readonly string[]): string {
  const [first = '', ...more] = process
  if (more.length === 0) return first
  const module = join(mkdtempSync(join(dataDir, 'process-')), 'process.test.mjs')
  writeFileSync(module, process.map((file) => `import '${pathToFileURL(resolve(file))}'\n`).join(''))
  return module
}

const reporter = createReporter()
/** The reporter lists all failures at this event, so it gets the event only if there are any that count. */
let rootSummary: TestEvent | undefined
const timer = createTimer()

async function runPhase({ processes, env, only = false }: Phase): Promise<Outcome> {
  Object.assign(process.env, env)
  const running = runTests({
    ...{ files: processes.map(toModule), only, concurrency, signal: stopping.signal },
    ...{ timeout: 600_000, execArgv: ['--test-timeout=300000'] },
  })
  for (;;) {
    const { done, value } = await running.next()
    if (done) return value
    timer.record(value)
    if (isRootSummary(value)) rootSummary = value
    else reporter.write(value)
  }
}

const outcomes: Outcome[] = []
for (const phase of await planPhases()) outcomes.push(await runPhase(phase))
const failures = outcomes.flatMap((outcome) => outcome.failures)
const flaky = outcomes.flatMap((outcome) => outcome.flaky)

const checked = await checking
await Promise.all([postgres.stop(), postgres15?.stop(), chromium?.stop()])
const isPassed = failures.length === 0 && !stopping.signal.aborted && checked?.passed !== false
if (checked && !checked.passed) console.error(checked.output)
if (isPassed && options.includes('--times'))
  console.log(timer.describe(readFileSync(process.env.PARLEY_TEST_SPENT, 'utf8')))
if (isPassed && isWhole && !isFast) storeSeconds(timer.secondsOfFiles(), Object.values(listTestFiles()).flat())
if (failures.length > 0) reporter.write(rootSummary)
for (const message of describeSummary()) reporter.write(describe(message))
reporter.end()
await finished(reporter)
if (isPassed) rmSync(dataDir, { recursive: true, force: true })
else console.error(`The databases of tests that failed are in ${dataDir}`)
process.exit(isPassed && !(process.env.PARLEY_STRICT === '1' && flaky.length > 0) ? 0 : 1)

/** The runner's counts over all phases, with the flaky tests and their first failures above them. */
function describeSummary(): string[] {
  const names = flaky.map(({ data: { name, file = '', details } }) => {
    const { error } = details
    return `flaky: ${name} (${relative('.', file)}) passed only when its file ran again. At first: ${error.cause ?? error}`
  })
  const counts: Counts = new Map()
  for (const outcome of outcomes)
    for (const [name, count] of outcome.counts) counts.set(name, (counts.get(name) ?? 0) + count)
  return [...names, `flaky: ${flaky.length}`, ...[...counts].map(([name, count]) => `${name} ${count}`)]
}

function createReporter(): InstanceType<typeof spec> {
  return spec().on('data', (text) => process.stdout.write(text))
}

function isRootSummary({ type, data }: TestEvent): boolean {
  return type === 'test:summary' && data.file === undefined
}

function describe(message: string): TestEvent {
  return { type: 'test:diagnostic', data: { nesting: 0, message, level: 'info' } }
}

/** Type-checks and lints. Answers what it printed, and whether it passed. */
function check(): Promise<{ passed: boolean; output: string }> {
  const child = spawn('npm', ['run', '--silent', 'check'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  return new Promise((resolve) => child.on('close', (code) => resolve({ passed: code === 0, output })))
}
