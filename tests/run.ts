/**
 * `npm test`: check, one PostgreSQL for all, every test file, the runner's own
 * summary last.
 */
import { spawn, spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../server/lib/embedded-postgres.ts'
import { buildPages } from '../server/web/pages.ts'
import { resolveChromium } from './chromium.ts'
import { resolvePgbouncer } from './pgbouncer.ts'
import { createTemplate, testSettings } from './support.ts'

const only = process.argv.slice(2)

if (only.length === 0) {
  const check = spawnSync('npm', ['run', '--silent', 'check'], { stdio: 'inherit' })
  if (check.status !== 0) process.exit(check.status ?? 1)
}
resolveChromium({ install: true })
resolvePgbouncer({ install: true })
await buildPages()

const dataDir = mkdtempSync(join(tmpdir(), 'parley-test-'))
const postgres = await startEmbeddedPostgres({ dataDir, settings: testSettings })
await createTemplate(postgres.address)

const files =
  only.length > 0 ? only : globSync(['tests/**/*.test.ts', 'common/**/*.test.ts', 'server/**/*.test.ts']).sort()
const runner = spawn(
  process.execPath,
  ['--test', '--test-reporter=spec', `--test-concurrency=${availableParallelism()}`, '--test-timeout=300000', ...files],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      PARLEY_TEST_DATABASE: JSON.stringify(postgres.address),
      // Every file, and every service a test starts, loads the whole program: half a second of a core each without this.
      NODE_COMPILE_CACHE: join(dataDir, 'compiled'),
    },
  },
)
// Told to stop, or left alone: nothing of ours stays behind.
for (const event of ['SIGTERM', 'SIGINT', 'SIGHUP', 'disconnect']) process.on(event, () => runner.kill('SIGTERM'))

const code = await new Promise<number>((resolve) => runner.on('exit', (status) => resolve(status ?? 1)))
await postgres.stop()
if (code === 0) rmSync(dataDir, { recursive: true, force: true })
else console.error(`The databases of tests that failed are in ${dataDir}`)
process.exit(code)
