/**
 * Callbacks: signed as the provider signs them, and repeated until they are
 * taken.
 *
 * Anything but 200 is no. Status reports of one address go together, up to 200
 * in a POST and up to four POSTs at once; a body that was refused is repeated
 * as it is, after growing pauses, for seven days, while later ones go on. As
 * soon as the address takes one, those that wait are tried again at once.
 */
import { createHmac } from 'node:crypto'
import { Agent } from 'undici'
import { isLoopbackHost } from '../../common/address.ts'
import type { Log } from '../simulator.ts'
import type { AccountState } from '../state/accounts.ts'
import type { Journal } from '../state/journal.ts'

/** What is reported in batches; `state.channel` says in which words. */
export type Report = { readonly seq: number; readonly state: AccountState }

type Attempt = { ok: boolean; status: number; message: string }

export type Callbacks<Item extends Report> = {
  /** One attempt, whatever comes of it. */
  post(state: AccountState, body: string): Promise<Attempt>
  /** The first attempt's outcome; without a 200 the rest follows by itself. `number` is the callback's in the journal. */
  deliver(state: AccountState, body: string, number: number, taken?: () => void): Promise<Attempt>
  /** How many callbacks `deliver` still repeats. */
  waitingCount(): number
  /** Report it with others. `taken` of the journal is written when they were. */
  report(item: Item, step: number, isRepeat: boolean): void
  /** Send what was reported since the last time. */
  flush(): void
  stop(): Promise<void>
}

type Entry<Item> = { item: Item; step: number }

type Outbox<Item> = {
  waiting: Entry<Item>[]
  repeats: Entry<Item>[]
  busy: number
  /** Who waits to be one of the four. */
  queue: (() => void)[]
  /** Bodies between two attempts, and what wakes them. */
  pausing: Set<() => void>
}

const maxBatch = 200
const maxBusy = 4
/** So many refused bodies at once; then new reports wait, unwritten, which costs less. */
const maxPausing = 64
const firstPauseMs = 200
const longestPauseMs = 30_000
const giveUpMs = 7 * 24 * 60 * 60 * 1000
const answerMs = 10_000

export function createCallbacks<Item extends Report>({
  journal,
  log,
  write,
}: {
  journal: Journal
  log: Log
  /** The body of a batch. */
  write: (state: AccountState, batch: readonly { item: Item; step: number }[]) => string
}): Callbacks<Item> {
  const limits = { connections: 64, pipelining: 1, headersTimeout: answerMs, bodyTimeout: answerMs }
  const strict = new Agent({ ...limits, connect: { timeout: 5_000 } })
  const loopback = new Agent({ ...limits, connect: { timeout: 5_000, rejectUnauthorized: false } })
  const outboxes = new Map<AccountState, Outbox<Item>>()
  const underWay = new Set<Promise<unknown>>()
  let waitingCount = 0
  let stopping = false

  async function post(state: AccountState, body: string): Promise<Attempt> {
    const { account } = state
    if (!account) return { ok: false, status: 0, message: 'the account is not registered' }
    const target = new URL(account.callback_url)
    const bytes = Buffer.from(body)
    try {
      const { statusCode, body: answer } = await (isLoopbackHost(target.hostname) ? loopback : strict).request({
        origin: target.origin,
        path: target.pathname + target.search,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'facebookexternalua',
          'x-hub-signature-256': `sha256=${createHmac('sha256', account.app_secret).update(bytes).digest('hex')}`,
        },
        body: bytes,
      })
      await answer.dump()
      return { ok: statusCode === 200, status: statusCode, message: `the service answered ${statusCode}` }
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      return { ok: false, status: 0, message: `the service did not answer: ${code ?? message}` }
    }
  }

  function outboxOf(state: AccountState): Outbox<Item> {
    let outbox = outboxes.get(state)
    if (!outbox) {
      outbox = { waiting: [], repeats: [], busy: 0, queue: [], pausing: new Set() }
      outboxes.set(state, outbox)
    }
    return outbox
  }

  /** Attempt after attempt until it is taken. Not when we stop: the journal knows what is left. */
  async function insist(state: AccountState, body: string, attempt: () => Promise<Attempt>): Promise<boolean> {
    const { pausing } = outboxOf(state)
    const since = Date.now()
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const { ok, status, message } = await attempt()
      if (ok) {
        for (const wake of pausing) wake()
        return true
      }
      if (stopping) return false
      if (Date.now() - since > giveUpMs) {
        log.warn(
          { callback_url: state.account?.callback_url, bytes: body.length },
          'a callback was never taken; given up',
        )
        return true
      }
      // A service that is just starting is not worth a word.
      if (pauseMs === (status === 0 ? firstPauseMs * 8 : firstPauseMs)) {
        log.warn(
          { callback_url: state.account?.callback_url, reason: message },
          'a callback was not taken; it is repeated',
        )
      }
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          pausing.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, pauseMs)
        pausing.add(wake)
      })
      if (stopping) return false
    }
  }

  function track(work: Promise<unknown>) {
    underWay.add(work)
    void work.finally(() => underWay.delete(work))
  }

  async function carry(state: AccountState, outbox: Outbox<Item>, batch: Entry<Item>[], isRepeat: boolean) {
    const body = write(state, batch)
    const taken = await insist(state, body, async () => {
      while (outbox.busy >= maxBusy) await new Promise<void>((resolve) => outbox.queue.push(resolve))
      outbox.busy++
      const outcome = await post(state, body)
      outbox.busy--
      outbox.queue.shift()?.()
      return outcome
    })
    if (taken && !isRepeat) {
      journal.append(`{"k":"s","d":[${batch.map(({ item, step }) => item.seq * 8 + step).join(',')}]}`)
    }
    if (!stopping) pump(state, outbox)
  }

  function pump(state: AccountState, outbox: Outbox<Item>) {
    while (outbox.busy < maxBusy && outbox.pausing.size < maxPausing) {
      const isRepeat = outbox.waiting.length === 0
      const queue = isRepeat ? outbox.repeats : outbox.waiting
      if (queue.length === 0 || !state.account) return
      track(carry(state, outbox, queue.splice(0, maxBatch), isRepeat))
    }
  }

  return {
    post,
    waitingCount: () => waitingCount,
    deliver(state, body, number, taken) {
      waitingCount++
      return new Promise((resolve) => {
        const work = insist(state, body, async () => {
          const outcome = await post(state, body)
          resolve(outcome)
          return outcome
        })
        const settled = work.then((isTaken) => {
          waitingCount--
          if (!isTaken) return
          journal.append(`{"k":"x","d":[${number}]}`)
          taken?.()
        })
        track(settled)
      })
    },
    report(item, step, isRepeat) {
      const outbox = outboxOf(item.state)
      if (isRepeat) outbox.repeats.push({ item, step })
      else outbox.waiting.push({ item, step })
    },
    flush() {
      for (const [state, outbox] of outboxes) pump(state, outbox)
    },
    async stop() {
      stopping = true
      for (const { pausing } of outboxes.values()) for (const wake of pausing) wake()
      // What is under way may be taken: hear it out, or it is repeated after the next start.
      await Promise.race([Promise.all(underWay), new Promise((resolve) => setTimeout(resolve, 1_000).unref())])
      await Promise.all([strict.destroy(), loopback.destroy()])
    },
  }
}
