/** What tests of whole installations ask of load on all journeys: it goes on, the services are ready, and the audit finds no difference. */
import assert from 'node:assert/strict'
import type { Owner } from '../tests/owner.ts'
import type { Program } from '../tests/program.ts'
import { until } from '../tests/until.ts'
import { audit } from './audit.ts'
import type { Load } from './load.ts'
import type { Stack } from './stack.ts'

/** Waits until each journey has moved on, for as long as a busy machine may need. Returns how many milliseconds that took. */
export async function untilProgress(load: Load, what: string, count = 10): Promise<number> {
  const startedAt = performance.now()
  const before = load.counts()
  const journeys = ['sends', 'inbound', 'contacts', 'streamed']
  const isPast = (journey: string) => (load.counts()[journey] ?? 0) >= (before[journey] ?? 0) + count
  await until(what, () => journeys.every(isPast))
  return Math.round(performance.now() - startedAt)
}

/** What each service answers at `/readyz`: the status, and the failing checks. */
export const readReadiness = (services: readonly Program[]): Promise<string[]> =>
  Promise.all(
    services.map(async ({ url }) => {
      const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
      return `${response?.status ?? 'no answer'} ${response?.ok ? '' : await response?.text()}`.trim()
    }),
  )

export async function untilReady(services: readonly Program[]): Promise<void> {
  let last: string[] = []
  const isReady = async () => {
    last = await readReadiness(services)
    return last.every((status) => status === '200')
  }
  await until('all services to be ready', isReady).catch((error) => assert.fail(`${error}: ${last.join(', ')}`))
}

/** Ends the load and compares. */
export async function assertNothingDiffers(t: Owner, stack: Stack, load: Load): Promise<void> {
  await load.stop()
  const differences = await audit(stack, load)
  load.end()
  t.diagnostic(JSON.stringify(load.counts()))
  assert.deepEqual(differences, [])
}
