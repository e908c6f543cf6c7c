/**
 * Limits on work, in CPU time of this process with its client: the machine may be busy. A limit is a multiple of a fixed
 * computation that runs beside it, so that it means the same on a slow machine.
 */
import assert from 'node:assert/strict'

/** The milliseconds of CPU that a run takes. */
async function measureCpu(run: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const values = `[${'[],'.repeat(300_000)}[]]`

/** Reading 300,000 values takes about 10 ms on a current machine. The cheapest of five has no garbage collection. */
async function measureUnit(): Promise<number> {
  const times: number[] = []
  while (times.length < 5) times.push(await measureCpu(() => JSON.parse(values)))
  return Math.min(...times)
}

let unit: Promise<number> | undefined

/**
 * Asserts that a run takes less than so many times the work of reading 300,000 values. Of several tries the cheapest counts: each has the
 * work, but only some have a garbage collection of the whole process.
 */
export async function assertCheap(what: string, maxUnits: number, run: () => unknown, tries = 1): Promise<void> {
  unit ??= measureUnit()
  const maxMs = maxUnits * (await unit)
  const times: number[] = []
  while (times.length < tries && Math.min(...times) >= maxMs) times.push(await measureCpu(run))
  const shown = times.map((ms) => `${Math.round(ms)} ms`).join(', ')
  assert.ok(Math.min(...times) < maxMs, `${what} took ${shown}, at most ${Math.round(maxMs)} ms expected`)
}
