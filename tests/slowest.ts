/** What a test run spent its time on, for `npm test -- --times`. */
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import type { Seconds } from './schedule.ts'
import type { Spent } from './spent.ts'

export type Timer = {
  record(event: TestEvent): void
  /** The seconds of each file: the sum of its tests. */
  secondsOfFiles(): Seconds
  /** The slowest files and tests, and the shares of starting, waiting and working. `spent` has a line for each process. */
  describe(spent: string): string
}

const listed = 10

export function createTimer(): Timer {
  const tests: { file: string; name: string; ms: number }[] = []
  let processesMs = 0
  const secondsOfFiles = () => {
    const sums: Seconds = {}
    for (const { file, ms } of tests) sums[file] = (sums[file] ?? 0) + ms / 1_000
    return sums
  }
  return {
    record({ type, data }) {
      if (type !== 'test:complete' || data.nesting > 0) return
      const { file = '', name, details } = data
      // The runner reports a process as a test without the file that it entered by.
      if ('entryFile' in data) tests.push({ file: relative('.', file), name, ms: details.duration_ms })
      else processesMs += details.duration_ms
    },
    secondsOfFiles,
    describe(text) {
      const spent = text.split('\n').flatMap((line): Spent[] => (line ? [JSON.parse(line)] : []))
      const sumOf = (kind: keyof Spent) => spent.reduce((sum, one) => sum + one[kind], 0)
      const testsMs = tests.reduce((sum, { ms }) => sum + ms, 0)
      const starting = processesMs - testsMs + sumOf('starting')
      const waiting = sumOf('waiting')
      const share = (ms: number) => `${Math.round((100 * ms) / processesMs)} %`
      const files = Object.entries(secondsOfFiles()).map(([name, seconds]) => ({ name, ms: seconds * 1_000 }))
      return [
        'The slowest files',
        ...slowest(files),
        'The slowest tests',
        ...slowest(tests.map(({ file, name, ms }) => ({ name: `${file}: ${name}`, ms }))),
        `All processes together: ${inSeconds(processesMs)}, of which ${share(starting)} starting (processes, services, ` +
          `databases, programs), ${share(waiting)} waiting for conditions, ${share(processesMs - starting - waiting)} working (with the waits of the browser)`,
      ].join('\n')
    },
  }
}

const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

const slowest = (items: readonly { name: string; ms: number }[]): string[] =>
  items
    .toSorted((one, other) => other.ms - one.ms)
    .slice(0, listed)
    .map(({ name, ms }) => `${inSeconds(ms).padStart(9)}  ${name}`)
