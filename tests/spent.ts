/**
 * How long the tests of a process started programs and waited for conditions, for `npm test -- --times`. Overlapping spans count
 * once, and a wait inside a start is a part of the start.
 */
import { appendFileSync } from 'node:fs'

type Kind = 'starting' | 'waiting'
export type Spent = Record<Kind, number>

const open: Spent = { starting: 0, waiting: 0 }
const spentMs: Spent = { starting: 0, waiting: 0 }
let since = performance.now()

function settle(): void {
  const now = performance.now()
  const kind = open.starting > 0 ? 'starting' : open.waiting > 0 ? 'waiting' : undefined
  if (kind) spentMs[kind] += now - since
  since = now
}

/** Counts the time that `run` takes. */
export async function spend<Value>(kind: Kind, run: () => Promise<Value>): Promise<Value> {
  settle()
  open[kind]++
  try {
    return await run()
  } finally {
    settle()
    open[kind]--
  }
}

/** The file that the test run reads at its end: a line for each process. */
const file = process.env.PARLEY_TEST_SPENT
if (file) process.on('exit', () => appendFileSync(file, `${JSON.stringify(spentMs)}\n`))
