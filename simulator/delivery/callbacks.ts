/**
 * Delivery of callbacks: signed as the provider signs them, and repeated until
 * the service accepts them with a 200.
 *
 * Status reports of one account are batched: up to 200 per POST, up to four
 * POSTs in flight. A refused body is repeated unchanged with exponential
 * backoff for seven days; later batches do not wait for it. When the service
 * accepts a callback of the account, all callbacks in backoff are retried at
 * once.
 */
import { createHmac } from 'node:crypto'
import { Agent } from 'undici'
import { isLoopbackHost } from '../../common/address.ts'
import type { Times } from '../../common/times.ts'
import type { AccountState } from '../state/accounts.ts'
import type { Journal } from '../state/journal.ts'
import type { Log } from '../state/log.ts'

/** A message whose status reports are batched. `state.channel` selects the wire format. */
export type Report = { readonly seq: number; readonly state: AccountState }

/** `status` is 0 when the service did not answer. */
type Attempt = { ok: boolean; status: number; message: string }

export type Callbacks<Item extends Report> = {
  /** Posts once and returns the outcome. */
  post(state: AccountState, body: string): Promise<Attempt>
  /**
   * Posts until the service accepts the callback. Returns the outcome of the first attempt. `number` identifies the
   * callback in the journal.
   */
  deliver(state: AccountState, body: string, number: number, onAccepted?: () => void): Promise<Attempt>
  /** Callbacks that `deliver` has not delivered yet. */
  waitingCount(): number
  /** Queues a status report for the next batch. The journal records it when the service has accepted it. */
  enqueue(item: Item, step: number, isDuplicate: boolean): void
  /** Posts the queued reports. */
  flush(): void
  stop(): Promise<void>
}

export type QueuedReport<Item> = { item: Item; step: number }

type Outbox<Item> = {
  queued: QueuedReport<Item>[]
  duplicates: QueuedReport<Item>[]
  postCount: number
  /** Batches that wait for one of the four slots. */
  waitingForSlot: (() => void)[]
  /** Ends the backoff of each refused body. */
  wakeUps: Set<() => void>
}

const maxBatch = 200
const maxPosts = 4
/** With this many bodies in backoff, new reports stay in the queue, which needs less memory than their bodies. */
const maxInBackoff = 64
const giveUpMs = 7 * 24 * 60 * 60 * 1000
const responseTimeoutMs = 10_000
const stopTimeoutMs = 1_000

type CallbacksOptions<Item> = {
  journal: Journal
  log: Log
  formatBatch: (state: AccountState, batch: readonly QueuedReport<Item>[]) => string
  times: Times['simulator']
}

export function createCallbacks<Item extends Report>(options: CallbacksOptions<Item>): Callbacks<Item> {
  const { journal, log, formatBatch } = options
  const { firstBackoffMs, maxBackoffMs } = options.times
  const limits = { connections: 64, pipelining: 1, headersTimeout: responseTimeoutMs, bodyTimeout: responseTimeoutMs }
  const strict = new Agent({ ...limits, connect: { timeout: 5_000 } })
  const loopback = new Agent({ ...limits, connect: { timeout: 5_000, rejectUnauthorized: false } })
  const outboxes = new Map<AccountState, Outbox<Item>>()
  const inFlight = new Set<Promise<unknown>>()
  let waitingCount = 0
  let isStopping = false

  async function post(state: AccountState, body: string): Promise<Attempt> {
    const { account } = state
    if (!account) return { ok: false, status: 0, message: 'the account is not registered' }
    const target = new URL(account.callback_url)
    const bytes = Buffer.from(body)
    try {
      const { statusCode, body: responseBody } = await (isLoopbackHost(target.hostname) ? loopback : strict).request({
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
      await responseBody.dump()
      return { ok: statusCode === 200, status: statusCode, message: `the service answered ${statusCode}` }
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      return { ok: false, status: 0, message: `the service did not answer: ${code ?? message}` }
    }
  }

  function outboxOf(state: AccountState): Outbox<Item> {
    let outbox = outboxes.get(state)
    if (!outbox) {
      outbox = { queued: [], duplicates: [], postCount: 0, waitingForSlot: [], wakeUps: new Set() }
      outboxes.set(state, outbox)
    }
    return outbox
  }

  /** Returns false when the simulator stops first; the journal then repeats the callback after the next start. */
  async function postUntilAccepted(
    state: AccountState,
    body: string,
    attempt: () => Promise<Attempt>,
  ): Promise<boolean> {
    const { wakeUps } = outboxOf(state)
    const since = Date.now()
    for (let backoffMs = firstBackoffMs; ; backoffMs = Math.min(backoffMs * 2, maxBackoffMs)) {
      const { ok, status, message } = await attempt()
      if (ok) {
        for (const wake of wakeUps) wake()
        return true
      }
      if (isStopping) return false
      const callback_url = state.account?.callback_url
      if (Date.now() - since > giveUpMs) {
        log.warn({ callback_url, bytes: body.length }, 'a callback was not accepted for seven days; it is dropped')
        return true
      }
      // A service that is starting does not answer for a moment, so that is logged only from the fourth attempt on.
      if (backoffMs === (status === 0 ? firstBackoffMs * 8 : firstBackoffMs)) {
        log.warn({ callback_url, reason: message }, 'a callback was not accepted; it is repeated')
      }
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          wakeUps.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, backoffMs)
        wakeUps.add(wake)
      })
      if (isStopping) return false
    }
  }

  function track(work: Promise<unknown>) {
    inFlight.add(work)
    void work.finally(() => inFlight.delete(work))
  }

  async function sendBatch(
    state: AccountState,
    outbox: Outbox<Item>,
    batch: QueuedReport<Item>[],
    isDuplicate: boolean,
  ) {
    const body = formatBatch(state, batch)
    const isAccepted = await postUntilAccepted(state, body, async () => {
      while (outbox.postCount >= maxPosts) await new Promise<void>((resolve) => outbox.waitingForSlot.push(resolve))
      outbox.postCount++
      const outcome = await post(state, body)
      outbox.postCount--
      outbox.waitingForSlot.shift()?.()
      return outcome
    })
    if (isAccepted && !isDuplicate) {
      journal.append(`{"k":"s","d":[${batch.map(({ item, step }) => item.seq * 8 + step).join(',')}]}`)
    }
    if (!isStopping) startBatches(state, outbox)
  }

  function startBatches(state: AccountState, outbox: Outbox<Item>) {
    while (outbox.postCount < maxPosts && outbox.wakeUps.size < maxInBackoff) {
      const isDuplicate = outbox.queued.length === 0
      const queue = isDuplicate ? outbox.duplicates : outbox.queued
      if (queue.length === 0 || !state.account) return
      track(sendBatch(state, outbox, queue.splice(0, maxBatch), isDuplicate))
    }
  }

  return {
    post,
    waitingCount: () => waitingCount,
    deliver(state, body, number, onAccepted) {
      waitingCount++
      return new Promise((resolve) => {
        const delivered = postUntilAccepted(state, body, async () => {
          const outcome = await post(state, body)
          resolve(outcome)
          return outcome
        })
        const settled = delivered.then((isAccepted) => {
          waitingCount--
          if (!isAccepted) return
          journal.append(`{"k":"x","d":[${number}]}`)
          onAccepted?.()
        })
        track(settled)
      })
    },
    enqueue(item, step, isDuplicate) {
      const outbox = outboxOf(item.state)
      if (isDuplicate) outbox.duplicates.push({ item, step })
      else outbox.queued.push({ item, step })
    },
    flush() {
      for (const [state, outbox] of outboxes) startBatches(state, outbox)
    },
    async stop() {
      isStopping = true
      for (const { wakeUps } of outboxes.values()) for (const wake of wakeUps) wake()
      // A callback in flight may be accepted; without its outcome the next start would repeat it.
      await Promise.race([Promise.all(inFlight), new Promise((resolve) => setTimeout(resolve, stopTimeoutMs).unref())])
      await Promise.all([strict.destroy(), loopback.destroy()])
    },
  }
}
