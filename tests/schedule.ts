/**
 * What a test run starts, in which order.
 *
 * The tests of a process share one service and one browser, so short files run together in one process. The processes with the most
 * work start first, so that none of them runs alone at the end; the unit tests start before all others, so that a simple mistake
 * shows within seconds. The work of a file is measured: `tests/seconds.json` has the median of its last runs.
 */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

export type Seconds = Record<string, number>

/** Files that change `process.env`, replace timers of the whole process, or need ids that no other file has advanced. */
const ownProcess = [
  'tests/libraries.test.ts',
  'tests/sdk.test.ts',
  'tests/sdk-stream.test.ts',
  'tests/sdk-webhooks.test.ts',
  'server/lib/id.test.ts',
]

const besideCode = ['cli/**/*.test.ts', 'common/**/*.test.ts', 'server/**/*.test.ts', 'simulator/**/*.test.ts']

/** The files by what they need. `installation` are the tests of whole installations, which `npm test` does not run. */
export type TestFiles = Record<'units' | 'services' | 'pages' | 'installation', string[]>

export function listTestFiles(): TestFiles {
  const files: TestFiles = { units: [], services: [], pages: [], installation: [] }
  for (const file of globSync(['tests/**/*.test.ts', ...besideCode]).sort()) files[kindOf(file)].push(file)
  return files
}

function kindOf(file: string): keyof TestFiles {
  if (file.startsWith('tests/installation/')) return 'installation'
  const text = readFileSync(file, 'utf8')
  if (text.includes("./dashboard.ts'")) return 'pages'
  return /(support|program|until)\.ts'/.test(text) ? 'services' : 'units'
}

/** More work than this in one process would leave the others idle at the end. */
const maxSeconds = 60
/** Of a file that was never measured. */
const unknownSeconds = 10

/** Which files share a process: only files of one kind do. The processes with the most work come first. */
export function planProcesses(kinds: readonly (readonly string[])[], seconds: Seconds): string[][] {
  const secondsOf = (file: string) => seconds[file] ?? unknownSeconds
  const processes = kinds.flatMap((files) => {
    const packed: { files: string[]; seconds: number; isFull: boolean }[] = []
    for (const file of files.toSorted((one, other) => secondsOf(other) - secondsOf(one))) {
      const isApart = ownProcess.includes(file)
      const room = packed.find((one) => !one.isFull && !isApart && one.seconds + secondsOf(file) <= maxSeconds)
      room?.files.push(file)
      if (room) room.seconds += secondsOf(file)
      else packed.push({ files: [file], seconds: secondsOf(file), isFull: isApart })
    }
    return packed
  })
  return processes.toSorted((one, other) => other.seconds - one.seconds).map(({ files }) => files)
}

const committedFile = 'tests/seconds.json'
/** The last runs on this machine. */
const historyFile = 'node_modules/.cache/test-seconds.json'
const maxRuns = 5

export const readSeconds = (): Seconds => readJson<Seconds>(committedFile, {})

/**
 * Adds a run to the history. A file whose median differs from the committed value by more than a factor of two is written to
 * `tests/seconds.json`; shorter files than a second do not change the order.
 */
export function storeSeconds(run: Seconds, existing: readonly string[]): void {
  const history = readJson<Record<string, number[]>>(historyFile, {})
  const committed = readSeconds()
  const next: Seconds = {}
  for (const file of existing) {
    const runs = [...(history[file] ?? []), ...(run[file] === undefined ? [] : [round(run[file])])].slice(-maxRuns)
    if (runs.length > 0) history[file] = runs
    const now = runs.length > 0 ? median(runs) : committed[file]
    if (now === undefined) continue
    const before = committed[file]
    next[file] = before !== undefined && !isFarFrom(before, now) ? before : now
  }
  mkdirSync(dirname(historyFile), { recursive: true })
  writeFileSync(historyFile, JSON.stringify(history))
  const text = `${JSON.stringify(next, null, 2)}\n`
  if (text !== `${JSON.stringify(committed, null, 2)}\n`) writeFileSync(committedFile, text)
}

const isFarFrom = (before: number, now: number): boolean =>
  Math.max(before, now, 1) > 2 * Math.max(Math.min(before, now), 1)

const round = (value: number): number => Math.round(value * 10) / 10

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

function readJson<Value>(file: string, otherwise: Value): Value {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : otherwise
}
