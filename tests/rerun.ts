/**
 * Runs test files, and the files with failures once more, one after the other. A test that passes only then is flaky: the summary
 * names it with its first failure, and the run passes unless `PARLEY_STRICT=1`. If any test fails again, all failures count.
 */
import { run } from 'node:test'
import type { TestEvent } from 'node:test/reporters'

type Options = NonNullable<Parameters<typeof run>[0]> & {
  /** Processes with files that share one; the files of a failed process run alone the second time. */
  files: readonly string[]
}

export type Outcome = { failures: Failure[]; flaky: Failure[]; counts: Counts }
type Failure = Extract<TestEvent, { type: 'test:fail' }>
/** The counts of the runner's summary, in its order. */
export type Counts = Map<string, number>

/** More files than this fail for a reason that no second run removes. */
const maxFiles = 5

/** Yields the events but for the summary, which it returns. */
export async function* runTests(options: Options): AsyncGenerator<TestEvent, Outcome> {
  const failures: Failure[] = []
  const counts: Counts = new Map()
  for await (const event of run(options)) {
    const { name, count } = readCount(event)
    if (isFailure(event)) failures.push(event)
    if (name === undefined) yield event
    else counts.set(name, count)
  }
  const files = [...new Set(failures.map(({ data }) => data.file))]
  const mayRepeat = files.length > 0 && files.length <= maxFiles && !options.signal?.aborted
  if (!mayRepeat || !(await passAgain(options, files))) return { failures, flaky: [], counts }
  const failed = (counts.get('fail') ?? 0) + (counts.get('cancelled') ?? 0)
  counts.set('pass', (counts.get('pass') ?? 0) + failed)
  counts.set('fail', 0)
  counts.set('cancelled', 0)
  return { failures: [], flaky: failures, counts }
}

const isFailure = (event: TestEvent): event is Failure => event.type === 'test:fail' && !event.data.todo

/** A line of the runner's summary: one for each count, after all tests. */
function readCount({ type, data }: TestEvent): { name: string | undefined; count: number } {
  const [, name, count] =
    (type === 'test:diagnostic' &&
      data.nesting === 0 &&
      /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/.exec(data.message)) ||
    []
  return { name, count: Number(count) }
}

async function passAgain(options: Options, files: readonly (string | undefined)[]): Promise<boolean> {
  if (files.includes(undefined)) return false
  let passed = true
  for await (const event of run({ ...options, files: files as string[], concurrency: 1 }))
    if (isFailure(event)) passed = false
  return passed
}
