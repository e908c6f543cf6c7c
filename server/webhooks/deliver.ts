/**
 * The engine: claim, sign, post, settle, and let nobody starve.
 *
 * There are so many slots. An endpoint has at most its own share of them,
 * which grows with its successes and is halved when it fails slowly; endpoints
 * that are new, slow or failing have half of all slots between them, a quarter
 * of which is for the new. So a dead endpoint, or hundreds of them, costs its
 * own deliveries and nothing else. Results are settled together; nothing of the
 * database is held during a post.
 *
 * A secret that our key does not open is the operator's to mend: what is for
 * that endpoint waits, uncounted, and is looked at again every second, for as
 * long as its event is kept.
 */
import type { FastifyBaseLogger } from 'fastify'
import { createBatch } from '../lib/batch.ts'
import { SealError, type Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import type { Health } from '../lib/health.ts'
import type { Loop } from '../lib/loop.ts'
import { within } from '../lib/time.ts'
import { sealContext } from './endpoints.ts'
import type { Answered, Poster } from './post.ts'
import {
  type Attempted,
  type Claimed,
  claimDeliveries,
  leaseSeconds,
  maxAttempts,
  type Rooms,
  returnDeliveries,
  type Standing,
  settleAttempts,
} from './queue.ts'

export type Delivering = {
  /** Finds rows by their index. A commit it loses in a power cut only means that something is sent again. */
  db: Db
  sealer: Sealer
  poster: Poster
  log: FastifyBaseLogger
  health: Health
  slots?: number
  /** Count an attempt by what came of it. */
  count?: (outcome: string) => void
}

/** `wake`: something may be due. */
export type DeliveringLoop = Loop & { wake(): void }

type Ended = Attempted & { claimedAt: number }

type Endpoint = {
  inFlight: number
  share: number
  standing: Standing
  /** It had all that was asked for at its last turn, or was not asked: there may be more. */
  hasMore: boolean
  /** Its last post took long. */
  isSlow: boolean
  /** Its secret does not open: until then nothing of it is claimed. */
  lockedUntil: number
}

const firstShare = 2
const maxShare = 64
/** A turn of an endpoint that has more: a few of many endpoints cost a claim more than many of a few. */
const turnSize = 16
/** Posts to endpoints that are not proven begin so many at a time: each opens a connection, some milliseconds' work. */
const maxUnprovenAtOnce = 16
/** Those that were slow begin one after the other. A slot of theirs is free once in five seconds, but all at the same time. */
const slowEveryMs = 8
/** Who takes longer is slow, whatever comes of it. */
const slowMs = 1_500
/** After this an endpoint is looked at again whose secret did not open, in case the key or the secret is mended. */
const lockedMs = 1_000
/** So often the log says that there is one. */
const tellMs = 60_000
/** A delivery that is due by time alone is seen this late at most. */
const pollMs = 250
/** Ends of posts within this time are followed by one claim; longer if a claim takes longer, but no more than this. */
const gatherMs = { least: 2, most: 25 }
/** What ends within this time is settled together. */
const settleMs = 8
/** Endpoints that are remembered: all of them go along with every claim. */
const maxKnown = 2_000
/** Told to stop, posts under way get this long. */
const graceMs = 5_500

export function startDelivering(delivering: Delivering): DeliveringLoop {
  const { db, sealer, poster, log, health, slots = 512, count = () => {} } = delivering
  const endpoints = new Map<string, Endpoint>()
  const underWay = new Set<Promise<void>>()
  /** Opened, by endpoint and sealed text. */
  const secrets = new Map<string, string>()
  const settle = createBatch({
    run: async (ended: readonly Ended[]) => {
      const lateFrom = performance.now() - (leaseSeconds - 1) * 1000
      const attempted = ended.map(({ claimedAt, ...one }) => ({ ...one, isLate: claimedAt < lateFrom }))
      await health.watch('settle-deliveries', () => settleAttempts(db, attempted))
      return attempted.map(() => undefined)
    },
    max: 200,
    lanes: 1,
    waitMs: settleMs,
  })
  const giveBack = createBatch({
    run: async (claimed: readonly Claimed[]) => {
      await returnDeliveries(db, claimed)
      return claimed.map(() => undefined)
    },
    lanes: 1,
    waitMs: settleMs,
  })
  let tellAt = 0
  let claiming: Promise<void> | undefined
  let again = false
  let stopped = false
  let gather = gatherMs.least
  /** Posts that ended since the last claim, and half of what was under way then: the other half is while we claim. */
  let endCount = 0
  let halfCount = 0
  /** The last claim left things behind for which there was no room. */
  let isCrowded = false
  let nextSlowAt = 0
  let timer: NodeJS.Timeout | undefined
  const poll = setInterval(() => wake(), pollMs)

  function wake(): void {
    if (stopped) return
    again = true
    claiming ??= claimAll().finally(() => {
      claiming = undefined
      if (endCount >= halfCount) wake()
      else if (again) wakeSoon()
    })
  }

  function wakeSoon(afterMs = gather): void {
    timer ??= setTimeout(() => {
      timer = undefined
      wake()
    }, afterMs)
  }

  async function claimAll(): Promise<void> {
    again = false
    endCount = 0
    halfCount = Number.POSITIVE_INFINITY
    const free = slots - underWay.size
    if (free <= 0) return
    try {
      const claimedAt = performance.now()
      const rooms = roomsOf(free)
      const claimed = await health.watch('deliver', () => claimDeliveries(db, free, rooms))
      noteMore(rooms, claimed, free)
      gather = Math.min(gatherMs.most, Math.max(gatherMs.least, performance.now() - claimedAt))
      for (const delivery of claimed) start(delivery, claimedAt)
      halfCount = Math.max(4, underWay.size / 2)
    } catch (error) {
      log.error({ err: error }, 'deliveries could not be claimed; the next look tries again')
    }
  }

  function roomsOf(free: number): Rooms {
    forgetIdle()
    const taken = { new: 0, proven: 0, poor: 0 }
    for (const { inFlight, standing } of endpoints.values()) taken[standing] += inFlight
    const half = Math.floor(slots / 2)
    const unprovenRoom = Math.min(free, maxUnprovenAtOnce, Math.max(0, half - taken.new - taken.poor))
    // Whose turn it is, and no more than there is room for: the others need not be looked at.
    let poorLeft = Math.min(unprovenRoom, Math.max(0, half - Math.floor(half / 4) - taken.poor))
    let slowLeft = Number(performance.now() >= nextSlowAt)
    let isHeldBack = false
    let provenLeft = free
    const longCount = endpoints.values().reduce((count, { hasMore }) => count + Number(hasMore), 0)
    const longTurn = Math.max(turnSize, Math.ceil(free / Math.max(1, longCount)))
    const known = [...endpoints].map(([id, endpoint]) => {
      const { share, inFlight, standing, hasMore, isSlow, lockedUntil } = endpoint
      if (performance.now() < lockedUntil) return { id, room: 0, standing }
      const own = Math.max(0, Math.min(hasMore ? longTurn : turnSize, share - inFlight))
      if (standing === 'poor') {
        if (isSlow && slowLeft === 0 && own > 0 && poorLeft > 0) isHeldBack = true
        const room = Math.min(own, poorLeft, isSlow ? slowLeft : own)
        poorLeft -= room
        if (isSlow) slowLeft -= room
        if (room > 0) toTheBack(id, endpoint)
        return { id, room, standing }
      }
      const room = hasMore ? Math.min(own, provenLeft) : own
      if (hasMore) provenLeft -= room
      return { id, room, standing }
    })
    if (slowLeft === 0 && performance.now() >= nextSlowAt) nextSlowAt = performance.now() + slowEveryMs
    if (isHeldBack) wakeSoon(slowEveryMs)
    return {
      ids: known.map(({ id }) => id),
      rooms: known.map(({ room }) => room),
      standings: known.map(({ standing }) => standing),
      otherwise: unprovenRoom > 0 ? firstShare : 0,
      unprovenRoom,
    }
  }

  /** Who may have more, and whether that is worth another look soon: what an end makes room for waits for that end. */
  function noteMore({ ids, rooms, standings, unprovenRoom }: Rooms, claimed: readonly Claimed[], limit: number): void {
    const counts = new Map<string, number>()
    for (const { endpoint_id: id } of claimed) counts.set(id, (counts.get(id) ?? 0) + 1)
    const isFull = claimed.length === limit
    let provenCount = 0
    ids.forEach((id, i) => {
      const endpoint = endpoints.get(id)
      const count = counts.get(id) ?? 0
      const room = rooms[i] ?? 0
      if (standings[i] === 'proven') provenCount += count
      if (!endpoint) return
      endpoint.hasMore = isFull || count === room
      if (standings[i] === 'proven' && endpoint.hasMore && endpoint.inFlight + count < endpoint.share) again = true
    })
    isCrowded = isFull || claimed.length - provenCount >= unprovenRoom
    if (isCrowded && unprovenRoom > 0) again = true
    if (isFull) again = false
  }

  /** `endpoints` is in the order of turns. */
  function toTheBack(id: string, endpoint: Endpoint): void {
    endpoints.delete(id)
    endpoints.set(id, endpoint)
  }

  /** The longest idle go first. */
  function forgetIdle(): void {
    let surplus = endpoints.size - maxKnown
    for (const [id, { inFlight }] of endpoints) {
      if (surplus <= 0) return
      if (inFlight > 0) continue
      endpoints.delete(id)
      surplus--
    }
  }

  function start(delivery: Claimed, claimedAt: number): void {
    const endpoint: Endpoint = endpoints.get(delivery.endpoint_id) ?? {
      inFlight: 0,
      share: firstShare,
      standing: 'new',
      hasMore: true,
      isSlow: false,
      lockedUntil: 0,
    }
    toTheBack(delivery.endpoint_id, endpoint)
    endpoint.inFlight++
    const run = deliver(delivery, endpoint, claimedAt).catch((error) => {
      log.error({ err: error, endpoint: delivery.endpoint_id }, 'a delivery could not be settled; it comes back')
    })
    underWay.add(run)
    void run.finally(() => {
      underWay.delete(run)
      if (isCrowded && !stopped) wakeSoon()
    })
  }

  /** There is room for another, though this one is not settled yet. */
  function noteEnd(endpoint: Endpoint): void {
    endCount++
    if (stopped || !(endpoint.hasMore || isCrowded)) return
    if (endCount >= halfCount) wake()
    else wakeSoon()
  }

  async function deliver(delivery: Claimed, endpoint: Endpoint, claimedAt: number): Promise<void> {
    const { workspace_id, endpoint_id, id, place, event_id, event, attempt } = delivery
    let answered: Answered | undefined
    try {
      answered = await post(delivery)
    } finally {
      endpoint.inFlight--
    }
    if (!answered) {
      endpoint.standing = 'poor'
      endpoint.lockedUntil = performance.now() + lockedMs
      return giveBack(delivery)
    }
    learn(endpoint_id, endpoint, answered)
    noteEnd(endpoint)
    count(answered.outcome)
    await settle({
      delivery: { workspace_id, endpoint_id, id, place, event_id, event, attempt },
      ...answered,
      claimedAt,
    })
  }

  /** Undefined: it cannot be signed. */
  async function post(delivery: Claimed): Promise<Answered | undefined> {
    if (delivery.attempt > maxAttempts)
      return failed('the worker stopped during the last attempt, so its outcome is unknown')
    let secret: string
    try {
      secret = open(delivery)
    } catch (error) {
      if (!(error instanceof SealError)) throw error
      count('unopened')
      if (performance.now() >= tellAt) {
        tellAt = performance.now() + tellMs
        const { endpoint_id: endpoint } = delivery
        log.error({ err: error, endpoint }, 'webhooks wait: the secret of an endpoint cannot be opened with this key')
      }
      return undefined
    }
    return poster.post(delivery, secret)
  }

  function open({ workspace_id, endpoint_id: id, secret: sealed }: Claimed): string {
    const key = `${id} ${sealed}`
    const known = secrets.get(key)
    if (known !== undefined) return known
    const secret = sealer.open(sealed, sealContext({ workspace_id, id }))
    if (secrets.size >= maxKnown) secrets.clear()
    secrets.set(key, secret)
    return secret
  }

  /** Success earns slots, slowness costs them. */
  function learn(id: string, endpoint: Endpoint, { outcome, duration_ms }: Answered): void {
    const isSlow = duration_ms > slowMs
    endpoint.isSlow = isSlow
    endpoint.standing = outcome === 'delivered' && !isSlow ? 'proven' : 'poor'
    if (isSlow) endpoint.share = Math.max(1, Math.floor(endpoint.share / 2))
    if (outcome !== 'delivered') {
      // What is not under way and knows nothing good is as good as new, and takes no room here.
      if (endpoint.inFlight === 0 && endpoint.share >= firstShare) endpoints.delete(id)
    } else if (!isSlow) endpoint.share = Math.min(maxShare, endpoint.share + 1)
  }

  return {
    wake,
    async stop() {
      stopped = true
      clearInterval(poll)
      clearTimeout(timer)
      await claiming
      await within(graceMs, Promise.all(underWay))
    },
  }
}

/** Nothing was posted, and nothing will be. */
const failed = (error: string): Answered => ({
  outcome: 'failed',
  http_status: null,
  duration_ms: 0,
  error,
  response: null,
})
