/**
 * Limits on guessing passwords and codes of the second factor.
 *
 * A guess is counted as a failure before it is checked, and the count is reverted when it was right. So no more guesses
 * are checked than the limits allow, however many processes are asked at once: the counts are in the database.
 *
 * What is counted depends on who guesses:
 * - A browser in which the member signed in before (a known device) has a count of its own. No other client can use it up.
 * - Every other client counts with its network, over all e-mails, and with its network for the e-mail.
 * - Once many networks have failed for one e-mail, they are counted by larger networks and slowed down for it. A network
 *   without a failure is still checked at once, so a distributed attack does not lock the member out.
 *
 * Over a limit a guess is not refused at once, because the member may share the network with the attacker. Slots open at a
 * slow rate, and each goes to one of the waiting guesses, drawn at random. The others are answered 429, and so is a wrong
 * guess in such a slot. An attacker who floods from the member's own network can still win nearly every draw. No limit on
 * guesses can distinguish the two; a known device can.
 *
 * Checking a password takes some 25 ms of a core on purpose. The work is queued fairly by network, and known devices have a
 * queue of their own, so many connections from one network delay no other, and no unknown client delays a known device.
 */
import { networkOf, siteOf } from '../lib/client-address.ts'
import { hashPassword, sha256 } from '../lib/crypto.ts'
import type { Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import { createFairQueue } from '../lib/fair-queue.ts'
import { createKeyedMutex } from '../lib/keyed-mutex.ts'
import { createLottery } from '../lib/lottery.ts'

/** `burst` failures at once, then one more every `refillSeconds`, until the window ends. */
type Limit = { burst: number; refillSeconds: number; windowSeconds: number }

const tenAMinute: Limit = { burst: 10, refillSeconds: 3, windowSeconds: 60 }
const perNetwork: Limit = { burst: 60, refillSeconds: 1, windowSeconds: 60 }
/** Of the million codes three are valid: an attacker with the password has one chance in 500 per day. */
const perCode: Limit = { burst: 5, refillSeconds: 300, windowSeconds: 900 }
/** Over all known devices of a member. */
const perMember: Limit = { burst: 10, refillSeconds: 300, windowSeconds: 900 }
/** For a site and e-mail while the e-mail is under attack from many networks. */
const underAttack: Limit = { burst: 2, refillSeconds: 300, windowSeconds: 900 }

/** The e-mail is under attack once networks began to fail for it this often. One network does so at most once a minute. */
const attackingNetworks = 20
/** No window is longer. */
const attackWindowSeconds = 900
/** Not the address of a network. */
const allNetworks = '*'

/** A slot further away is not worth holding a connection for. */
const maxWaitMs = 10_000
/** The clock and another process's count may have moved meanwhile. */
const minWaitMs = 50
/** Guesses of one flow that are queued. */
const maxQueued = 100
/** A guess that waited this long in the queue: its client has most likely given up. */
const maxQueuedMs = 20_000

/** At most three of libuv's four threads, so that file access and name lookups do not wait for passwords. */
const queues = { known: createFairQueue(1), unknown: createFairQueue(2) }
/** Only clients over a limit wait here, so these bounds refuse no other client. A waiting request takes 26 KB (measured). */
const lottery = createLottery({ maxPerKey: 200, maxWaiting: 2_000 })
/** Serializes the guesses of one client. Otherwise simultaneous correct sign-ins would count as failures for a moment. */
const withMutex = createKeyedMutex()
const queued = new Map<string, number>()

/** A row of `sign_in_failures`. */
type Counter = { address: string; email_key: string; limit: Limit }

export type Guesser = {
  queue: keyof typeof queues
  /** Flows share the queue fairly. */
  flow: string
  /** The client's failures for one password. */
  own: Counter
  /** The failures of an unknown client's network for all passwords. */
  network?: Counter
  /** The failures of all known devices of the member. */
  devices?: Counter
  /** Instead of `own`, while the e-mail is under attack. */
  site?: Counter
}

/** A browser in which this member signed in before. */
export const knownDevice = (memberId: string, deviceId: string): Guesser => ({
  queue: 'known',
  flow: memberId,
  own: { address: `device ${deviceId}`, email_key: '', limit: tenAMinute },
})

/** A member with a session who proves the password again. */
export const signedInMember = (memberId: string): Guesser => ({
  queue: 'known',
  flow: memberId,
  own: { address: `member ${memberId}`, email_key: '', limit: tenAMinute },
})

/**
 * The code of the second factor at sign-in, after the right password. A browser in which the member signed in before has a count of
 * its own, so an attacker with the password cannot lock the member out of it. All such browsers share a larger one, so that many of them
 * give no more guesses.
 */
export const signInCode = (memberId: string, deviceId: string | undefined): Guesser => ({
  queue: 'known',
  flow: memberId,
  own: { address: deviceId ? `code device ${deviceId}` : `code member ${memberId}`, email_key: '', limit: perCode },
  ...(deviceId ? { devices: { address: `code devices ${memberId}`, email_key: '', limit: perMember } } : {}),
})

/** A member with a session who proves a code of the second factor. */
export const signedInCode = (memberId: string): Guesser => ({
  queue: 'known',
  flow: memberId,
  own: { address: `code session ${memberId}`, email_key: '', limit: perCode },
})

/** Any other client. Of the folded e-mail only a hash is stored: a member may have typed a password into that field. */
export function unknownClient(clientAddress: string, emailKey: string): Guesser {
  const address = networkOf(clientAddress)
  const site = siteOf(clientAddress)
  const email_key = sha256(emailKey)
  return {
    queue: 'unknown',
    flow: site,
    own: { address, email_key, limit: tenAMinute },
    network: { address, email_key: '', limit: perNetwork },
    site: { address: `site ${site}`, email_key, limit: underAttack },
  }
}

/**
 * Runs `check` on a guess unless a limit refuses it (429). `check` returns `undefined` for a wrong guess. `countsAsWrong`: a right one
 * that is counted like a wrong one.
 */
export async function checkGuess<Right>(
  sql: Sql,
  guesser: Guesser,
  check: () => Promise<Right | undefined>,
  countsAsWrong: (right: Right) => boolean = () => false,
): Promise<Right | undefined> {
  const { network, devices, own } = guesser
  const contested = [network, devices, own].find((counter) => counter && lottery.hasWaiting(keyOf(counter)))
  const first = contested ? { refused: contested, waitMs: 0 } : await attempt(sql, guesser, check, countsAsWrong)
  if (!('refused' in first)) return first.right
  const everyMs = first.refused.limit.refillSeconds * 1000
  if (first.waitMs > maxWaitMs) throw tooManyFailures(first.waitMs)
  const timing = { afterMs: first.waitMs, everyMs }
  const drawn = await lottery.enter(keyOf(first.refused), timing, () => attempt(sql, guesser, check, countsAsWrong))
  if (!drawn || 'refused' in drawn) throw tooManyFailures(everyMs)
  return drawn.right
}

/** E-mails that strangers can cause, by the hash of the folded address and by network. */
const resetsPerEmail: Limit = { burst: 3, refillSeconds: 300, windowSeconds: 900 }
const resetsPerNetwork: Limit = { burst: 20, refillSeconds: 30, windowSeconds: 900 }
const invitationsPerWorkspace: Limit = { burst: 50, refillSeconds: 18, windowSeconds: 900 }

/** Counts a request for a password reset, or refuses it (429). Unknown addresses count like known ones. */
export async function countResetRequest(sql: Sql, clientAddress: string, emailKey: string): Promise<void> {
  const network = { address: `reset ${networkOf(clientAddress)}`, email_key: '', limit: resetsPerNetwork }
  const email = { address: 'reset', email_key: sha256(emailKey), limit: resetsPerEmail }
  const counted = await countFailure(sql, [network, email])
  if ('refused' in counted) throw tooMany('too many requests for a new password', Math.ceil(counted.waitMs / 1000))
}

/** Counts an invitation by e-mail. Returns false if the workspace has sent too many. */
export async function countInvitationMail(sql: Sql, workspaceId: string): Promise<boolean> {
  const counter = { address: `invitations ${workspaceId}`, email_key: '', limit: invitationsPerWorkspace }
  return !('refused' in (await countFailure(sql, [counter])))
}

/**
 * Counts a callback of the OpenID Connect provider as a failure of the network, or refuses it (429). Each one causes requests to the
 * provider. Returns the function that reverts the count of a right one.
 */
export async function countCallback(sql: Sql, clientAddress: string): Promise<() => Promise<void>> {
  const counters = [{ address: `oidc ${networkOf(clientAddress)}`, email_key: '', limit: perNetwork }]
  const counted = await countFailure(sql, counters)
  if ('refused' in counted) throw tooManyFailures(counted.waitMs)
  return () => revertCount(sql, counters)
}

export async function sweepFailures(sql: Sql): Promise<void> {
  await sql`delete from sign_in_failures where started_at < now() - make_interval(secs => ${attackWindowSeconds})`
}

type Refusal = { refused: Counter; waitMs: number }

/** Counts the guess, checks it, and reverts the count if it was right. Throws if it was wrong and over the burst. */
async function attempt<Right>(
  sql: Sql,
  guesser: Guesser,
  check: () => Promise<Right | undefined>,
  countsAsWrong: (right: Right) => boolean,
): Promise<Refusal | { right: Right | undefined }> {
  const { queue, flow, own, network, devices, site } = guesser
  return limitQueued(flow, (requireInTime) =>
    withMutex(keyOf(own), () =>
      queues[queue](flow, async () => {
        requireInTime()
        const specific = site && (await isUnderAttack(sql, site.email_key)) ? site : own
        const counters = [specific, network, devices].filter((counter) => counter !== undefined)
        const counted = await countFailure(sql, counters)
        if ('refused' in counted) return counted
        const right = await check()
        if (right !== undefined && !countsAsWrong(right)) await revertCount(sql, counters)
        else {
          if (network && counted.isFirst) await countNetwork(sql, own.email_key)
          if (counted.over) throw tooManyFailures(counted.over.limit.refillSeconds * 1000)
        }
        return { right }
      }),
    ),
  )
}

/** Hashes a new password. `owner`: whose work it is; it waits only for work of the same owner, and in turn with that of others. */
export const hashInTurn = (owner: string, password: string): Promise<string> =>
  limitQueued(owner, (requireInTime) =>
    queues.unknown(owner, async () => {
      requireInTime()
      return hashPassword(password)
    }),
  )

/** Refuses work of a flow that has too much waiting (429). `requireInTime` refuses work that has waited too long. */
async function limitQueued<Result>(flow: string, run: (requireInTime: () => void) => Promise<Result>): Promise<Result> {
  const queuedAt = performance.now()
  const count = queued.get(flow) ?? 0
  if (count >= maxQueued) throw tooMany('too many sign-ins at once', 1)
  queued.set(flow, count + 1)
  try {
    return await run(() => {
      if (performance.now() - queuedAt > maxQueuedMs) throw tooMany('too many sign-ins at once', 5)
    })
  } finally {
    const left = (queued.get(flow) ?? 1) - 1
    if (left > 0) queued.set(flow, left)
    else queued.delete(flow)
  }
}

/** `isFirst`: the first failure in the window of the first counter. `over`: the counter whose burst is used up. */
type Counted = { isFirst: boolean; over: Counter | undefined }

/** Counts one failure more in each counter, or in none. The most specific comes first: it refuses most of a flood. */
async function countFailure(sql: Sql, counters: readonly Counter[]): Promise<Refusal | Counted> {
  const counted: Counted = { isFirst: false, over: undefined }
  for (const [i, counter] of counters.entries()) {
    const { failureCount, waitMs } = await countOne(sql, counter)
    if (failureCount === 0) {
      await revertCount(sql, counters.slice(0, i))
      return { refused: counter, waitMs }
    }
    if (i === 0) counted.isFirst = failureCount === 1
    if (failureCount > counter.limit.burst) counted.over = counter
  }
  return counted
}

/** `failureCount` is 0 when the counter has no capacity for `waitMs`. */
async function countOne(
  sql: Sql,
  { address, email_key, limit: { burst, refillSeconds, windowSeconds } }: Counter,
): Promise<{ failureCount: number; waitMs: number }> {
  const [row] = await sql<{ failure_count: number; wait_ms: number }[]>`
    with counted as (
      insert into sign_in_failures as f (address, email_key, started_at, failure_count)
      values (${address}, ${email_key}, now(), 1)
      on conflict (address, email_key) do update set
        started_at = case when f.started_at > now() - make_interval(secs => ${windowSeconds}) then f.started_at else now() end,
        failure_count = 1 + case when f.started_at > now() - make_interval(secs => ${windowSeconds}) then f.failure_count else 0 end
      where f.started_at <= now() - make_interval(secs => ${windowSeconds})
        or f.failure_count < ${burst} + floor(extract(epoch from now() - f.started_at) / ${refillSeconds})
      returning failure_count
    )
    select failure_count, 0 as wait_ms from counted
    union all
    select 0, ceil(1000 * extract(epoch from started_at - now()
      + least(${windowSeconds}, (failure_count + 1 - ${burst}) * ${refillSeconds}) * interval '1 second'))::int
    from sign_in_failures
    where address = ${address} and email_key = ${email_key} and not exists (select from counted)`
  // No row: another process deleted it just now.
  return { failureCount: row?.failure_count ?? 0, waitMs: Math.max(minWaitMs, row?.wait_ms ?? 0) }
}

/** A counter without failures is deleted, so that neither right nor refused guesses leave rows behind. */
async function revertCount(sql: Sql, counters: readonly Counter[]): Promise<void> {
  for (const { address, email_key } of counters) {
    await sql`
      with empty as (
        delete from sign_in_failures
        where address = ${address} and email_key = ${email_key} and failure_count <= 1
        returning 1
      )
      update sign_in_failures set failure_count = failure_count - 1
      where address = ${address} and email_key = ${email_key} and failure_count > 1 and not exists (select from empty)`
  }
}

/** One more network began to fail for this e-mail. */
async function countNetwork(sql: Sql, email_key: string): Promise<void> {
  await sql`
    insert into sign_in_failures as f (address, email_key, started_at, failure_count)
    values (${allNetworks}, ${email_key}, now(), 1)
    on conflict (address, email_key) do update set
      started_at = case when f.started_at > now() - make_interval(secs => ${attackWindowSeconds}) then f.started_at else now() end,
      failure_count = 1 + case when f.started_at > now() - make_interval(secs => ${attackWindowSeconds}) then f.failure_count else 0 end`
}

async function isUnderAttack(sql: Sql, email_key: string): Promise<boolean> {
  const [row] = await sql`
    select 1 from sign_in_failures
    where address = ${allNetworks} and email_key = ${email_key} and failure_count >= ${attackingNetworks}
      and started_at > now() - make_interval(secs => ${attackWindowSeconds})`
  return row !== undefined
}

const keyOf = ({ address, email_key }: Counter): string => `${address} ${email_key}`

const tooManyFailures = (waitMs: number): ApiError => tooMany('too many failed sign-ins', Math.ceil(waitMs / 1000))

function tooMany(what: string, seconds: number): ApiError {
  const retryAfter = String(Math.max(1, seconds))
  return new ApiError('rate_limited', `${what}; try again in ${retryAfter} s`, { 'retry-after': retryAfter })
}
