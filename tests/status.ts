/** Reads the status of an installation. */
import assert from 'node:assert/strict'
import { type Browser, type Json, until } from './support.ts'

/** A heartbeat follows after at most ten seconds, and a busy machine is slow. */
const timeoutMs = 60_000

export const alertsOf = (status: Json): string[] => status.problems.map(({ alert }: Json) => alert)
export const namesOf = (status: Json): string[] => (status.processes ?? []).map(({ process }: Json) => process)

/** Waits for a status with a property. An answer is up to three seconds old. */
export function untilStatus(browser: Browser, what: string, isSo: (status: Json) => boolean): Promise<Json> {
  let last: Json
  return until(
    () => `${what}, not ${JSON.stringify(last)?.slice(0, 2_000)}`,
    async () => {
      // A process that is killed closes its connections.
      const answer = await browser.call('GET', '/status', undefined, { connection: 'close' }).catch(() => undefined)
      if (!answer) return false
      assert.equal(answer.status, 200, answer.text)
      last = answer.body.data
      return isSo(last) && last
    },
    timeoutMs,
  )
}
