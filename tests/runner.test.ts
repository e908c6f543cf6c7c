/** The test runner itself: a second run hides no failure, and long files start first. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFolder } from './folder.ts'
import { listTestFiles, planProcesses } from './schedule.ts'

function run(t: TestContext, env: Record<string, string> = {}) {
  const folder = createFolder(t)
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const args = ['tests/fixtures/rerun.mjs', 'tests/fixtures/fails-once.mjs']
  const variables = { ...inherited, ...env, FAILS_ONCE: join(folder, 'ran') }
  const output = execFileSync(process.execPath, args, { env: variables, encoding: 'utf8' })
  const { failures, flaky, counts } = JSON.parse(output)
  return { failures, flaky, passed: counts.pass, failed: counts.fail }
}

test('a test that passes only in the second run is flaky, with its first failure', (t) => {
  assert.deepEqual(run(t), { failures: [], flaky: ['fails once: the first run'], passed: 2, failed: 0 })
})

test('a test that fails again has failed', (t) => {
  const failed = { failures: ['fails once: the first run'], flaky: [], passed: 1, failed: 1 }
  assert.deepEqual(run(t, { FAILS_ALWAYS: '1' }), failed)
})

test('the longest files start first, and short ones share a process', () => {
  const seconds = { long: 80, middle: 45, short: 10, shorter: 4, page: 20, 'tests/sdk.test.ts': 6 }
  const services = ['shorter', 'short', 'tests/sdk.test.ts', 'long', 'middle', 'new']
  assert.deepEqual(planProcesses([services, ['page']], seconds), [
    ['long'],
    ['middle', 'short', 'shorter'],
    ['page'],
    ['new'],
    ['tests/sdk.test.ts'],
  ])
})

test('every test file belongs to one tier', () => {
  const { units, services, pages, installation } = listTestFiles()
  for (const [file, files] of [
    ['tests/runner.test.ts', units],
    ['server/lib/id.test.ts', units],
    ['tests/contacts.test.ts', services],
    ['tests/dashboard-inbox.test.ts', pages],
    ['tests/installation/failover.test.ts', installation],
  ] as const) {
    assert.ok(files.includes(file), file)
  }
})
