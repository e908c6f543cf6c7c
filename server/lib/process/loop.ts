/**
 * Repeats a task until it is stopped.
 *
 * A round that fails is logged and repeated, after `retryMs` when the ordinary
 * interval is longer: an hourly task does not wait an hour after a failure.
 * `stop` waits for the round in flight.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Health } from './health.ts'

export type Loop = { stop(): Promise<void> }

type Repeating = {
  name: string
  everyMs: number
  retryMs?: number
  log: FastifyBaseLogger
  health: Health
  run: () => Promise<unknown>
}

export function startRepeating({ name, everyMs, retryMs = everyMs, log, health, run }: Repeating): Loop {
  let timer: NodeJS.Timeout | undefined
  let inFlight: Promise<void> | undefined
  let isStopped = false

  function schedule(afterMs: number): void {
    timer = setTimeout(() => {
      inFlight = round()
    }, afterMs)
  }

  async function round(): Promise<void> {
    const startedAt = performance.now()
    let intervalMs = everyMs
    try {
      await health.watch(name, run)
    } catch (error) {
      log.error({ err: error, loop: name }, 'a background task failed; it runs again')
      intervalMs = Math.min(everyMs, retryMs)
    }
    if (!isStopped) schedule(Math.max(0, intervalMs - (performance.now() - startedAt)))
  }

  health.register(name)
  schedule(everyMs)
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await inFlight
    },
  }
}
