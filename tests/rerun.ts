/**
 * Runs test files. Files with failures run once more, one after the other: a test that waits for real processes and a real browser can
 * fail beside others on a busy machine. A test that passes then is named above the summary. If any fails again, all failures count.
 */
import { run } from 'node:test'
import type { TestEvent } from 'node:test/reporters'

type Options = NonNullable<Parameters<typeof run>[0]>

/** More files than this fail for a reason that no second run removes. */
const maxFiles = 5

export async function* runTests(options: Options): AsyncGenerator<TestEvent> {
  const failures: Failure[] = []
  const endings: TestEvent[] = []
  for await (const event of run(options)) {
    if (isFailure(event)) failures.push(event)
    else if (isEnding(event)) endings.push(event)
    else yield event
  }
  const files = [...new Set(failures.map(({ data }) => data.file))]
  const passed =
    files.length > 0 && files.length <= maxFiles && !options.signal?.aborted && (await passAgain(options, files))
  if (!passed) yield* failures
  for (const { data } of passed ? failures : [])
    yield describe(
      `failed beside other tests, passed when its file ran again: ${data.name} (${data.file}): ${data.details.error.cause}`,
    )
  yield* passed ? countAsPassed(endings) : endings
}

type Failure = Extract<TestEvent, { type: 'test:fail' }>

const isFailure = (event: TestEvent): event is Failure => event.type === 'test:fail' && !event.data.todo

/** The runner's summary: one line for each count, after all tests. */
const isEnding = ({ type, data }: TestEvent): boolean =>
  type === 'test:diagnostic' &&
  data.nesting === 0 &&
  /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) \d/.test(data.message)

async function passAgain(options: Options, files: readonly (string | undefined)[]): Promise<boolean> {
  if (files.includes(undefined)) return false
  let passed = true
  for await (const event of run({ ...options, files: files as string[], concurrency: 1 }))
    if (isFailure(event)) passed = false
  return passed
}

const describe = (message: string): TestEvent => ({
  type: 'test:diagnostic',
  data: { nesting: 0, message, level: 'info' },
})

function countAsPassed(endings: readonly TestEvent[]): TestEvent[] {
  const counts = endings.map(({ data }) => (data && 'message' in data ? data.message.split(' ') : []))
  const failed = counts.reduce(
    (sum, [name, count]) => sum + (name === 'fail' || name === 'cancelled' ? Number(count) : 0),
    0,
  )
  return counts.map(([name, count]) => {
    if (name === 'pass') return describe(`pass ${Number(count) + failed}`)
    return describe(`${name} ${name === 'fail' || name === 'cancelled' ? 0 : count}`)
  })
}
