/**
 * Limits the broadcast sends in flight of this process.
 *
 * When a channel stops answering, every send in flight gets an unknown outcome and is never repeated. So a number may have
 * at most 25 sends (or a tenth of a second of its pace) since the channel's last answer. After that it sends one at a time,
 * until the channel answers or the circuit breaker opens. While the channel answers, this limit is never reached.
 */

/** For all numbers. The HTTP client opens 256 connections to one address; further sends wait for one. */
const maxInFlight = 400
/** For one number, so that members' messages find a free connection and other numbers have capacity. */
const maxPerNumber = 200
const maxUnanswered = 25

/** The sends of one number: in flight, and since the channel's last answer, in flight or ended without one. */
export type Load = { count: number; unanswered: number }

export type InFlight = {
  /** The number of further sends that may start for this number. */
  capacity(load: Load, messagesPerSecond: number): number
  /** Resolves when the channel answers a send or a send ends; immediately after `stop`. */
  whenFreed(): Promise<void>
  /** Counts a send until it ends. `run` never rejects; it calls `onAnswer` when the channel answers. */
  track(load: Load, run: (onAnswer: () => void) => Promise<void>): void
  /** Resolves all waiting callers, and waits for the sends in flight. */
  stop(): Promise<void>
}

export function createInFlight(): InFlight {
  const sends = new Set<Promise<void>>()
  let freed = Promise.withResolvers<void>()
  let isStopped = false

  function free(): void {
    freed.resolve()
    if (!isStopped) freed = Promise.withResolvers()
  }

  return {
    capacity({ count, unanswered }, messagesPerSecond) {
      const mostUnanswered = Math.max(maxUnanswered, Math.ceil(messagesPerSecond / 10))
      const unansweredLimit = Math.max(mostUnanswered - unanswered, count === 0 ? 1 : 0)
      return Math.min(maxInFlight - sends.size, maxPerNumber - count, unansweredLimit)
    },
    whenFreed: () => freed.promise,
    track(load, run) {
      load.count++
      load.unanswered++
      const onAnswer = () => {
        load.unanswered = 0
        free()
      }
      const send = run(onAnswer).finally(() => {
        load.count--
        sends.delete(send)
        free()
      })
      sends.add(send)
    },
    async stop() {
      isStopped = true
      free()
      await Promise.all(sends)
    },
  }
}
