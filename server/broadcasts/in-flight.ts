/**
 * Sends in flight in this process, and how many more may leave.
 *
 * When a channel stops answering, every send in flight gets an unknown outcome and is never repeated. So a number has at
 * most 25 sends (or a tenth of a second of its pace) since the last answer of its channel; then it sends one at a time, until
 * an answer comes or the circuit breaker opens. While answers come in, this bound is never reached.
 */

/** In all. The HTTP client opens 256 connections to one address; above that a send waits for one. */
const maxInAll = 400
/** For one number: what members send finds a connection, and a slow channel leaves capacity to others. */
const maxOfNumber = 200
const maxUnanswered = 25

export type InFlight = {
  /** How many more may leave for this number. */
  capacity(key: string, messagesPerSecond: number): number
  /** Resolves when a send is answered or ends; at once after `stop`. */
  whenFreed(): Promise<void>
  /** Counts a send until it ends. `run` never rejects; it calls `onAnswer` when the channel answers. */
  track(key: string, run: (onAnswer: () => void) => Promise<void>): void
  /** Lets every waiting caller go, and waits for the sends in flight. */
  stop(): Promise<void>
}

export function createInFlight(): InFlight {
  const sends = new Set<Promise<void>>()
  /** `unanswered`: sends since the last answer, in flight or ended without one. */
  const loads = new Map<string, { count: number; unanswered: number }>()
  let waiting: (() => void)[] = []
  let isStopped = false

  function free(): void {
    const freed = waiting
    waiting = []
    for (const resolve of freed) resolve()
  }

  return {
    capacity(key, messagesPerSecond) {
      const { count, unanswered } = loads.get(key) ?? { count: 0, unanswered: 0 }
      const mostUnanswered = Math.max(maxUnanswered, Math.ceil(messagesPerSecond / 10))
      const silence = Math.max(mostUnanswered - unanswered, count === 0 ? 1 : 0)
      return Math.min(maxInAll - sends.size, maxOfNumber - count, silence)
    },
    whenFreed: () => (isStopped ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    track(key, run) {
      const load = loads.get(key) ?? { count: 0, unanswered: 0 }
      loads.set(key, load)
      load.count++
      load.unanswered++
      const onAnswer = () => {
        load.unanswered = 0
        free()
      }
      const send = run(onAnswer).finally(() => {
        load.count--
        if (load.count === 0 && load.unanswered === 0) loads.delete(key)
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
