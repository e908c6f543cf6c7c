import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import { times, until } from '../../../tests/support.ts'
import type { Answer, ChildStatus } from './peers.ts'
import { createSupervisor } from './supervisor.ts'

type Line = { msg: string; process: string; reason?: string; restart_in_ms?: number }
type Asked = { answers: Answer[]; statuses: ChildStatus[] }

function create(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-supervisor-'))
  const logged: Line[] = []
  let output = ''
  const supervisor = createSupervisor({
    program: join(import.meta.dirname, '../../../tests/fixtures/child.mjs'),
    env: {},
    log: pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    write: (lines) => {
      output += lines
    },
    times: times.supervisor,
  })
  t.after(async () => {
    await supervisor.stop('end')
    rmSync(folder, { recursive: true, force: true })
  })
  const lines = (): { from: string; pid: number }[] =>
    output
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  return { supervisor, folder, logged, lines }
}

test('children start, write whole lines, answer each other, and stop', async (t) => {
  const { supervisor, folder, lines } = create(t)
  for (const name of ['one', 'two', 'last']) supervisor.create(name)
  await supervisor.start(['one', 'two'], () => folder)
  const { answers, statuses } = await supervisor.run<Asked>('last', folder)
  assert.deepEqual(
    answers.toSorted((one, other) => one.process.localeCompare(other.process)),
    [
      { process: 'one', value: 'one' },
      { process: 'two', value: 'two' },
    ],
  )
  const ready = { isReady: true, wasReady: true, downMs: 0, restarts: 0 }
  assert.deepEqual(statuses, [
    { process: 'one', ...ready },
    { process: 'two', ...ready },
  ])
  await supervisor.stop('end')
  const sources = lines().map(({ from }) => from)
  assert.deepEqual(sources.sort(), ['last', 'one', 'two'])
})

test('the first start fails with the reason of the child that fails', async (t) => {
  const { supervisor, folder } = create(t)
  writeFileSync(join(folder, 'two'), '')
  for (const name of ['one', 'two']) supervisor.create(name)
  const starting = supervisor.start(['one', 'two'], () => folder)
  await assert.rejects(starting, { name: 'StartError', message: /two must not start/ })
})

test('a child that ends is restarted, with growing delays while its start fails', async (t) => {
  const { supervisor, folder, logged, lines } = create(t)
  for (const name of ['one', 'last']) supervisor.create(name)
  await supervisor.start(['one'], () => folder)
  writeFileSync(join(folder, 'one'), '')
  process.kill(lines()[0]?.pid ?? 0, 'SIGKILL')
  const delays = () => logged.flatMap(({ restart_in_ms }) => restart_in_ms ?? [])
  await until('three failures', async () => delays().length === 3)
  assert.deepEqual(delays(), [200, 400, 800])
  assert.ok(logged.some(({ reason }) => reason?.includes('one must not start')))

  const { statuses } = await supervisor.run<Asked>('last', folder)
  const [status] = statuses
  assert.deepEqual([status?.process, status?.isReady, status?.wasReady, status?.restarts], ['one', false, true, 3])
  assert.ok((status?.downMs ?? 0) > 600)
  rmSync(join(folder, 'one'))
  await until('it to be ready again', async () => logged.some(({ msg }) => msg === 'the process is ready again'))
})
