/**
 * Delivery scheduling: which endpoints may claim how many deliveries, and when the next claim runs.
 *
 * Pure policy. It has no timers and no database: the delivery loop reports events together with the time, and reads
 * `wakeAt`. All times are milliseconds of one monotonic clock.
 *
 * An endpoint is in one of three standings:
 * - `new`: no attempt has ended since the process started, or since the endpoint was forgotten;
 * - `proven`: the last attempt succeeded quickly;
 * - `poor`: the last attempt failed or was slow, or the secret could not be opened.
 *
 * Policy:
 * 1. Slots limit the deliveries in flight. A delivery holds its slot until its outcome is stored.
 * 2. Each endpoint has a share, the most deliveries it may have in flight. A quick success adds one, a slow attempt halves it.
 *    The part of a share above 64 is for idle slots only: proven endpoints with long queues divide them, and a quarter of all
 *    slots stays free. So another endpoint is served as soon as it has something due, and the slots lent are not lent again.
 * 3. Unproven endpoints (`new` and `poor`) get at most half of all slots, and `poor` ones at most three quarters of that
 *    half. So any number of dead endpoints leaves half of the slots to the proven ones.
 * 4. A claim starts at most 16 deliveries to unproven endpoints: each opens a connection, some milliseconds of work.
 * 5. A slow endpoint starts one delivery at a time, and all slow endpoints together one every 8 ms. Their attempts time out
 *    together, so without this limit they would also restart together.
 * 6. `poor` endpoints are served round robin.
 * 7. An endpoint whose secret cannot be opened is paused for a second, so that its deliveries wait for the operator.
 *
 * The claim cycle has three states: idle (`wakeAt` is infinite; the loop's poll ends it), scheduled (`wakeAt` is set) and
 * claiming (between `planClaim` and `recordClaim` or `recordClaimFailure`). The next claim is scheduled at once when half of
 * the deliveries in flight have ended since the last one, and otherwise after about the time that a claim takes. With many
 * in flight it waits longer, because a claim of 200 costs the database a third less per delivery than claims of 32.
 */
import type { Times } from '../../common/times.ts'

type Standing = 'new' | 'proven' | 'poor'

type EndpointState = {
  inFlight: number
  share: number
  standing: Standing
  /** The last claim returned as many deliveries as it was allowed, or skipped the endpoint: more may be due. */
  mayHaveMore: boolean
  /** The last attempt was slow. */
  isSlow: boolean
  pausedUntil: number
}

export type Scheduler = {
  readonly slots: number
  readonly times: Pick<Times['webhooks'], 'slowMs' | 'pauseMs'>
  usedSlots: number
  /** In round-robin order: the next endpoint to be served comes first. */
  readonly endpoints: Map<string, EndpointState>
  /** When the next claim is due. */
  wakeAt: number
  /** How long ends of attempts are collected before a claim. */
  gatherMs: number
  /** Attempts that ended since the last claim started, and the number at which the next claim starts at once. */
  endedCount: number
  endedLimit: number
  /** The last claim left deliveries in the queue because a limit was reached. */
  isSaturated: boolean
  nextSlowStartAt: number
}

/** How much a claim may take. The arrays are parallel. */
export type ClaimPlan = {
  plannedAt: number
  /** Deliveries in total. */
  limit: number
  endpointIds: readonly string[]
  capacities: readonly number[]
  standings: readonly Standing[]
  /** For each endpoint that is not listed; its standing is `new`. */
  newCapacity: number
  /** For all endpoints together that are not `proven`. */
  unprovenCapacity: number
}

/** How an attempt ended. `unsigned`: the secret could not be opened. `crashed`: the attempt threw, so it shows nothing. */
export type AttemptEnd = { isDelivered: boolean; durationMs: number } | 'unsigned' | 'crashed'

const initialShare = 2
/** What an endpoint may have in flight however busy the others are. */
const fairShare = 64
/** Deliveries one claim takes for an endpoint. A claim of few deliveries for many endpoints costs more than the reverse. */
const claimSize = 16
const maxUnprovenStarts = 16
const slowStartEveryMs = 8
const minGatherMs = 2
const maxGatherMs = 25
/** From this number in flight, ends are gathered for `maxGatherMs`. */
const manyInFlight = 64
const minEndedLimit = 4
/** Endpoints in memory. All of them are parameters of every claim. */
const maxEndpoints = 2_000

export function createScheduler(slots: number, times: Scheduler['times']): Scheduler {
  return {
    slots,
    times,
    usedSlots: 0,
    endpoints: new Map(),
    wakeAt: Number.POSITIVE_INFINITY,
    gatherMs: minGatherMs,
    endedCount: 0,
    endedLimit: Number.POSITIVE_INFINITY,
    isSaturated: false,
    nextSlowStartAt: 0,
  }
}

/** Something may be due: claim now. */
export function requestClaim(scheduler: Scheduler, now: number): void {
  scheduler.wakeAt = Math.min(scheduler.wakeAt, now)
}

/** Starts a claim. Returns undefined if all slots are in use. */
export function planClaim(scheduler: Scheduler, now: number): ClaimPlan | undefined {
  const { slots, usedSlots, endpoints } = scheduler
  scheduler.wakeAt = Number.POSITIVE_INFINITY
  scheduler.endedCount = 0
  scheduler.endedLimit = Number.POSITIVE_INFINITY
  const limit = slots - usedSlots
  if (limit <= 0) return undefined
  forgetIdleEndpoints(endpoints)

  const used = { new: 0, proven: 0, poor: 0 }
  let longQueueCount = 0
  for (const { inFlight, standing, mayHaveMore } of endpoints.values()) {
    used[standing] += inFlight
    if (mayHaveMore) longQueueCount++
  }
  const half = Math.floor(slots / 2)
  const unprovenCapacity = Math.min(limit, maxUnprovenStarts, Math.max(0, half - used.new - used.poor))
  const canStartSlow = now >= scheduler.nextSlowStartAt
  const left = {
    total: limit,
    poor: Math.min(unprovenCapacity, Math.max(0, half - Math.floor(half / 4) - used.poor)),
    slow: canStartSlow ? 1 : 0,
  }
  const longClaimSize = Math.max(claimSize, Math.ceil(limit / Math.max(1, longQueueCount)))
  const planned = [...endpoints]
  const capacities: number[] = []
  for (const [id, endpoint] of planned) {
    const { share, inFlight, standing, mayHaveMore, isSlow, pausedUntil } = endpoint
    const fair = Math.max(0, Math.min(share, fairShare) - inFlight)
    const own = now < pausedUntil ? 0 : Math.min(mayHaveMore ? longClaimSize : claimSize, fair)
    let capacity = own
    if (standing === 'poor') {
      capacity = Math.min(own, left.poor, isSlow ? left.slow : own)
      if (isSlow && own > 0 && left.poor > 0 && left.slow === 0) scheduler.wakeAt = now + slowStartEveryMs
      left.poor -= capacity
      if (isSlow) left.slow -= capacity
      if (capacity > 0) moveToBack(endpoints, id, endpoint)
    } else if (mayHaveMore) {
      capacity = Math.min(own, left.total)
      left.total -= capacity
    }
    capacities.push(capacity)
  }
  if (canStartSlow && left.slow === 0) scheduler.nextSlowStartAt = now + slowStartEveryMs
  lendIdleSlots(planned, capacities, left.total - Math.ceil(slots / 4), now)
  return {
    plannedAt: now,
    limit,
    endpointIds: planned.map(([id]) => id),
    capacities,
    standings: planned.map(([, { standing }]) => standing),
    newCapacity: unprovenCapacity > 0 ? initialShare : 0,
    unprovenCapacity,
  }
}

/** Adds `idle` slots to the capacities of proven endpoints with long queues whose share is above the fair one. */
function lendIdleSlots(
  planned: readonly (readonly [string, EndpointState])[],
  capacities: number[],
  idle: number,
  now: number,
): void {
  const borrowers = planned.flatMap(([, { standing, mayHaveMore, share, inFlight, pausedUntil }], i) => {
    const wanted = share - inFlight - (capacities[i] ?? 0)
    return standing === 'proven' && mayHaveMore && share > fairShare && wanted > 0 && now >= pausedUntil
      ? [{ i, wanted }]
      : []
  })
  let left = idle
  borrowers.forEach(({ i, wanted }, position) => {
    const lent = Math.max(0, Math.min(wanted, Math.ceil(left / (borrowers.length - position))))
    capacities[i] = (capacities[i] ?? 0) + lent
    left -= lent
  })
}

/** Ends a claim. `claimedIds` has the endpoint of each claimed delivery; all of them are in flight from now on. */
export function recordClaim(
  scheduler: Scheduler,
  { plannedAt, limit, endpointIds, capacities, standings, unprovenCapacity }: ClaimPlan,
  claimedIds: readonly string[],
  now: number,
): void {
  const { endpoints } = scheduler
  const isFull = claimedIds.length === limit
  const counts = new Map<string, number>()
  for (const id of claimedIds) counts.set(id, (counts.get(id) ?? 0) + 1)
  let provenCount = 0
  let hasCapacityLeft = false
  endpointIds.forEach((id, i) => {
    const endpoint = endpoints.get(id)
    const count = counts.get(id) ?? 0
    if (standings[i] === 'proven') provenCount += count
    if (!endpoint) return
    endpoint.mayHaveMore = isFull || count === capacities[i]
    const fair = Math.min(endpoint.share, fairShare)
    if (standings[i] === 'proven' && endpoint.mayHaveMore && endpoint.inFlight + count < fair) {
      hasCapacityLeft = true
    }
  })
  const isUnprovenFull = claimedIds.length - provenCount >= unprovenCapacity
  scheduler.isSaturated = isFull || isUnprovenFull
  for (const id of claimedIds) startAttempt(scheduler, id)
  const isMany = scheduler.usedSlots >= manyInFlight
  scheduler.gatherMs = isMany ? maxGatherMs : Math.min(maxGatherMs, Math.max(minGatherMs, now - plannedAt))
  scheduler.endedLimit = Math.max(minEndedLimit, scheduler.usedSlots / 2)

  const isRequested = scheduler.wakeAt <= now
  if (isRequested) scheduler.wakeAt = Number.POSITIVE_INFINITY
  if (scheduler.endedCount >= scheduler.endedLimit) scheduler.wakeAt = now
  // After a full claim, the next one waits for an attempt to end.
  else if (!isFull && (isRequested || hasCapacityLeft || (isUnprovenFull && unprovenCapacity > 0))) {
    scheduleSoon(scheduler, now)
  }
}

/** The claim threw. The loop's poll repeats it, and earlier if a claim was requested in the meantime. */
export function recordClaimFailure(scheduler: Scheduler, now: number): void {
  if (scheduler.wakeAt <= now) scheduler.wakeAt = now + scheduler.gatherMs
}

/** An attempt ended: its endpoint may start another, although the slot is in use until `releaseSlot`. */
export function recordAttempt(scheduler: Scheduler, endpointId: string, end: AttemptEnd, now: number): void {
  const endpoint = scheduler.endpoints.get(endpointId)
  // An endpoint with deliveries in flight is never forgotten.
  if (!endpoint) throw new Error(`no delivery to ${endpointId} is in flight`)
  endpoint.inFlight--
  if (end === 'crashed') return
  if (end === 'unsigned') {
    endpoint.standing = 'poor'
    endpoint.pausedUntil = now + scheduler.times.pauseMs
    return
  }
  learn(scheduler, endpointId, endpoint, end)
  scheduler.endedCount++
  if (!endpoint.mayHaveMore && !scheduler.isSaturated) return
  if (scheduler.endedCount >= scheduler.endedLimit) scheduler.wakeAt = now
  else scheduleSoon(scheduler, now)
}

/** The outcome of a delivery is stored, or the delivery is released. */
export function releaseSlot(scheduler: Scheduler, now: number): void {
  scheduler.usedSlots--
  if (scheduler.isSaturated) scheduleSoon(scheduler, now)
}

/** A claim that is scheduled already keeps its time. */
function scheduleSoon(scheduler: Scheduler, now: number): void {
  if (scheduler.wakeAt === Number.POSITIVE_INFINITY) scheduler.wakeAt = now + scheduler.gatherMs
}

function startAttempt(scheduler: Scheduler, id: string): void {
  const endpoint: EndpointState = scheduler.endpoints.get(id) ?? {
    inFlight: 0,
    share: initialShare,
    standing: 'new',
    mayHaveMore: true,
    isSlow: false,
    pausedUntil: 0,
  }
  moveToBack(scheduler.endpoints, id, endpoint)
  endpoint.inFlight++
  scheduler.usedSlots++
}

function learn(
  { endpoints, slots, times }: Scheduler,
  id: string,
  endpoint: EndpointState,
  { isDelivered, durationMs }: { isDelivered: boolean; durationMs: number },
): void {
  endpoint.isSlow = durationMs > times.slowMs
  endpoint.standing = isDelivered && !endpoint.isSlow ? 'proven' : 'poor'
  if (endpoint.isSlow) endpoint.share = Math.max(1, Math.floor(endpoint.share / 2))
  else if (isDelivered) endpoint.share = Math.min(Math.max(fairShare, Math.floor(slots / 2)), endpoint.share + 1)
  // An idle endpoint that failed and has its initial share or more is forgotten: it starts again as `new`.
  if (!isDelivered && endpoint.inFlight === 0 && endpoint.share >= initialShare) endpoints.delete(id)
}

function moveToBack(endpoints: Map<string, EndpointState>, id: string, endpoint: EndpointState): void {
  endpoints.delete(id)
  endpoints.set(id, endpoint)
}

/** Forgets the endpoints that have been idle for longest. */
function forgetIdleEndpoints(endpoints: Map<string, EndpointState>): void {
  let surplus = endpoints.size - maxEndpoints
  for (const [id, { inFlight }] of endpoints) {
    if (surplus <= 0) return
    if (inFlight > 0) continue
    endpoints.delete(id)
    surplus--
  }
}
