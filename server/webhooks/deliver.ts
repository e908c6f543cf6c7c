/**
 * The delivery loop: claim, sign, post, settle.
 *
 * `scheduler.ts` decides what to claim and when. A poll behind it finds deliveries that become due without a signal. Outcomes
 * are settled in batches, and no connection or transaction is held during a post.
 *
 * A delivery has four states: queued (due or waiting for a retry), claimed (leased by this process), posted (its outcome is
 * known) and settled (its outcome is stored). A crash in between leaves the lease to expire, and the delivery is claimed again.
 *
 * When the encryption key cannot open an endpoint's secret, only the operator can fix it. The endpoint's deliveries are
 * released without counting an attempt and are tried again every second, for as long as their events are kept.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import { createBatch } from '../lib/batch.ts'
import { SealError, type Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Health } from '../lib/process/health.ts'
import type { Loop } from '../lib/process/loop.ts'
import type { Polls } from '../lib/process/polls.ts'
import { within } from '../lib/time.ts'
import { sealContext } from './endpoints.ts'
import type { Poster } from './post.ts'
import {
  type ClaimedDelivery,
  type ClaimedEndpoint,
  claimDeliveries,
  hasQueued,
  maxAttempts,
  releaseDeliveries,
} from './queue.ts'
import {
  type AttemptEnd,
  createScheduler,
  planClaim,
  recordAttempt,
  recordClaim,
  recordClaimFailure,
  releaseSlot,
  requestClaim,
} from './scheduler.ts'
import { type Attempt, type AttemptResult, settleAttempts } from './settle.ts'

/** How attempts end, for a counter. `unopened`: the secret of the endpoint cannot be decrypted. */
export const countedAttempts = ['delivered', 'again', 'failed', 'unopened'] as const

export type DeliveryOptions = {
  /** A connection that finds rows by index (`byIndex`). It may lose a commit in a power cut: the delivery is sent again. */
  db: Db
  sealer: Sealer
  poster: Poster
  log: FastifyBaseLogger
  health: Health
  polls: Polls
  times: Times['webhooks']
  slots?: number
  /** Counts an attempt by its outcome. */
  count?: (outcome: (typeof countedAttempts)[number]) => void
}

/** `wake`: a delivery may be due. */
export type DeliveryLoop = Loop & { wake(): void }

/** Outcomes within this time are settled in one statement. */
const settleEveryMs = 16

export function startDelivering(options: DeliveryOptions): DeliveryLoop {
  const { db, sealer, poster, log, health, polls, times, slots = 512, count = () => {} } = options
  const scheduler = createScheduler(slots, times)
  const openSecrets = createSecretReader(sealer, log)
  const settle = createSettling(db, health, times)
  const release = createReleasing(db)
  let claiming: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let timerAt: number | undefined
  let isStopped = false
  let onDrained = () => {}
  /** Of the last claim. The poll reports it. */
  let failure: unknown

  function wake(): void {
    requestClaim(scheduler, performance.now())
    schedule()
  }

  /** Starts the claim that is due, or sets the timer for the next one. */
  function schedule(): void {
    if (isStopped || claiming || scheduler.wakeAt === Number.POSITIVE_INFINITY) return
    const waitMs = scheduler.wakeAt - performance.now()
    if (waitMs < 1) {
      claiming = claim().finally(() => {
        claiming = undefined
        schedule()
      })
    } else if (scheduler.wakeAt !== timerAt) {
      clearTimeout(timer)
      timerAt = scheduler.wakeAt
      timer = setTimeout(() => {
        timerAt = undefined
        schedule()
      }, waitMs)
    }
  }

  async function claim(): Promise<void> {
    failure = undefined
    const claimedAt = performance.now()
    const plan = planClaim(scheduler, claimedAt)
    if (!plan) return
    try {
      const deliveries = await health.watch('deliver', () => claimDeliveries(db, plan, times))
      const endpointIds = deliveries.map(({ endpoint_id }) => endpoint_id)
      recordClaim(scheduler, plan, endpointIds, performance.now())
      for (const delivery of deliveries) void deliver(delivery, claimedAt)
    } catch (error) {
      recordClaimFailure(scheduler, performance.now())
      failure = error
    }
  }

  /** Ends when the outcome is stored. A delivery whose secret cannot be opened is released. */
  async function deliver(delivery: ClaimedDelivery, claimedAt: number): Promise<void> {
    let end: AttemptEnd = 'crashed'
    try {
      let result: AttemptResult | undefined
      try {
        const secrets = openSecrets(delivery.endpoint)
        if (delivery.attempt > maxAttempts) result = lostAttempt
        else if (secrets) result = await poster.post(delivery, secrets)
        end = result ? { isDelivered: result.outcome === 'delivered', durationMs: result.duration_ms } : 'unsigned'
      } finally {
        recordAttempt(scheduler, delivery.endpoint_id, end, performance.now())
        schedule()
      }
      count(result?.outcome ?? 'unopened')
      await (result ? settle({ delivery, result, claimedAt }) : release(delivery))
    } catch (error) {
      log.error(
        { err: error, endpoint: delivery.endpoint_id },
        'a delivery could not be settled; it is retried when its lease expires',
      )
    }
    releaseSlot(scheduler, performance.now())
    schedule()
    if (scheduler.usedSlots === 0) onDrained()
  }

  const polling = polls.add({
    ...{ name: 'deliver', everyMs: times.pollMs, isDue: hasQueued },
    run: async () => {
      wake()
      await claiming
      if (failure) throw failure
    },
  })
  return {
    wake,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await polling.stop()
      await claiming
      if (scheduler.usedSlots === 0) return
      await within(times.stopMs, new Promise<void>((resolve) => (onDrained = resolve)))
    },
  }
}

type EndedDelivery = { delivery: ClaimedDelivery; result: AttemptResult; claimedAt: number }

/** Stores outcomes in batches. An attempt that ends near the end of its lease must prove that it still holds the delivery. */
function createSettling(db: Db, health: Health, times: Times['webhooks']) {
  return createBatch({
    run: async (ended: readonly EndedDelivery[]) => {
      const lateBefore = performance.now() - (times.leaseMs - times.lateMs)
      const attempts = ended.map(
        ({ delivery, result, claimedAt }): Attempt => ({ ...result, delivery, isLate: claimedAt < lateBefore }),
      )
      await health.watch('settle-deliveries', () => settleAttempts(db, attempts, times))
      return attempts.map(() => undefined)
    },
    max: 512,
    lanes: 1,
    waitMs: settleEveryMs,
  })
}

function createReleasing(db: Db) {
  return createBatch({
    run: async (deliveries: readonly ClaimedDelivery[]) => {
      await releaseDeliveries(db, deliveries)
      return deliveries.map(() => undefined)
    },
    lanes: 1,
    waitMs: settleEveryMs,
  })
}

const maxCachedSecrets = 2_000
/** The log reports unreadable secrets at most this often. */
const logEveryMs = 60_000

/**
 * Opens and caches the secrets of endpoints: the earlier ones that are still valid, then the current one. Undefined: the
 * encryption key does not open the current one. An earlier one that it does not open is skipped.
 */
function createSecretReader(sealer: Sealer, log: FastifyBaseLogger) {
  /** By endpoint and sealed text. */
  const secrets = new Map<string, string>()
  let nextLogAt = 0
  const open = (workspace_id: string, id: string, sealed: string): string | SealError => {
    const key = `${id} ${sealed}`
    const cached = secrets.get(key)
    if (cached !== undefined) return cached
    try {
      const secret = sealer.open(sealed, sealContext({ workspace_id, id }))
      if (secrets.size >= maxCachedSecrets) secrets.clear()
      secrets.set(key, secret)
      return secret
    } catch (error) {
      if (error instanceof SealError) return error
      throw error
    }
  }
  return ({ workspace_id, endpoint_id: id, secret, old_secrets }: ClaimedEndpoint): string[] | undefined => {
    const current = open(workspace_id, id, secret)
    if (typeof current === 'string') {
      const earlier = old_secrets.map((sealed) => open(workspace_id, id, sealed))
      return [...earlier.filter((each) => typeof each === 'string'), current]
    }
    if (performance.now() >= nextLogAt) {
      nextLogAt = performance.now() + logEveryMs
      log.error(
        { err: current, endpoint: id },
        'webhooks wait: ENCRYPTION_KEY does not open the secret of an endpoint; restore the key',
      )
    }
    return undefined
  }
}

/** The worker stopped during the last attempt. Nothing is posted, because that would be one attempt too many. */
const lostAttempt: AttemptResult = {
  outcome: 'failed',
  http_status: null,
  duration_ms: 0,
  error: 'the worker stopped during the last attempt, so its outcome is unknown',
  response: null,
}
