/**
 * Work that comes back by itself.
 *
 * A run that fails is logged and the next one comes at its time; `stop` waits
 * for the run under way, so nothing is cut in half.
 */
import type { FastifyBaseLogger } from 'fastify'

export type Loop = { stop(): Promise<void> }

type Repeating = { name: string; everyMs: number; log: FastifyBaseLogger; run: () => Promise<unknown> }

export function startRepeating({ name, everyMs, log, run }: Repeating): Loop {
  let underWay: Promise<void> | undefined
  const turn = async () => {
    try {
      await run()
    } catch (error) {
      log.error({ err: error, loop: name }, 'a loop failed; it tries again at its next turn')
    } finally {
      underWay = undefined
    }
  }
  const timer = setInterval(() => {
    underWay ??= turn()
  }, everyMs)
  return {
    async stop() {
      clearInterval(timer)
      await underWay
    },
  }
}
