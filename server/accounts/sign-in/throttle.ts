/**
 * Limits on guessing passwords and codes of the second factor, and on the e-mails that strangers can cause.
 *
 * A counter allows a number of failures in a window of time. Then guesses are answered 429 and not checked until the window ends.
 * - A browser in which the member signed in before (a known device) has counters of its own. No other client can use them up.
 * - Every other client counts with its network, over all e-mails, and with its site for the e-mail. One attacker often has all
 *   networks of a site.
 *
 * One statement counts a guess as a failure before it is checked, and the count is reverted when the guess was right. So no more
 * guesses are checked than the limits allow, in all processes together. A refused guess adds no row, so the limit of a network also
 * bounds its rows, and a sweep deletes them after 15 minutes.
 *
 * Checking a password takes some 25 ms of a core on purpose. The work is queued fairly by site, and known devices have a queue of
 * their own, so many connections from one site delay no other, and no unknown client delays a known device.
 */
import { hashPassword, sha256 } from '../../lib/crypto.ts'
import { ApiError } from '../../lib/errors.ts'
import { createFairQueue } from '../../lib/fair-queue.ts'
import { networkOf, siteOf } from '../../lib/http/client-address.ts'
import type { Sql } from '../../lib/postgres/db.ts'

/** A row of `sign_in_failures`, which allows `most` failures. */
type Counter = { address: string; email_key: string; most: number }
type Limits = { windowSeconds: number; counters: readonly Counter[] }

/** Flows share the queue fairly. */
export type Guesser = Limits & { queue: keyof typeof queues; flow: string }

/** No window is longer. */
const longSeconds = 900
const shortSeconds = 60

const counter = (address: string, most: number, email_key = ''): Counter => ({ address, email_key, most })

const memberGuesser = (memberId: string, windowSeconds: number, ...counters: Counter[]): Guesser => ({
  queue: 'known',
  flow: memberId,
  windowSeconds,
  counters,
})

/** A browser in which this member signed in before. */
export const knownDevice = (memberId: string, deviceId: string): Guesser =>
  memberGuesser(memberId, shortSeconds, counter(`device ${deviceId}`, 10))

/** A member with a session who proves the password again. */
export const signedInMember = (memberId: string): Guesser =>
  memberGuesser(memberId, shortSeconds, counter(`member ${memberId}`, 10))

/** Of the million codes three are valid: an attacker with the password has one chance in 700 per day. */
const wrongCodes = 5

/**
 * The code of the second factor at sign-in, after the right password. A known device has a count of its own, so an attacker with the
 * password cannot lock the member out of it. All known devices share a larger one, so that many of them give no more guesses.
 */
export const signInCode = (memberId: string, deviceId: string | undefined): Guesser =>
  deviceId
    ? memberGuesser(
        memberId,
        longSeconds,
        counter(`code device ${deviceId}`, wrongCodes),
        counter(`code devices ${memberId}`, 2 * wrongCodes),
      )
    : memberGuesser(memberId, longSeconds, counter(`code member ${memberId}`, wrongCodes))

/** A member with a session who proves a code of the second factor. */
export const signedInCode = (memberId: string): Guesser =>
  memberGuesser(memberId, longSeconds, counter(`code session ${memberId}`, wrongCodes))

/** Any other client. Of the folded e-mail only a hash is stored: a member may have typed a password into that field. */
export function unknownClient(clientAddress: string, emailKey: string): Guesser {
  const site = siteOf(clientAddress)
  const counters = [counter(networkOf(clientAddress), 60), counter(`site ${site}`, 10, sha256(emailKey))]
  return { queue: 'unknown', flow: site, windowSeconds: shortSeconds, counters }
}

/** Guesses of one flow that wait. A waiting request takes 26 KB (measured). */
const bound = { maxWaiting: 100, refuse: () => tooMany('too many sign-ins at once', 1) }
/** At most three of libuv's four threads, so that file access and name lookups do not wait for passwords. */
const queues = { known: createFairQueue(1, bound), unknown: createFairQueue(2, bound) }
/** A guess that waited this long in the queue: its client has most likely given up. */
const maxQueuedMs = 20_000

/** Hashes a new password. `owner`: whose work it is; it waits only for work of the same owner, and in turn with that of others. */
export const hashInTurn = (owner: string, password: string): Promise<string> =>
  inQueue('unknown', owner, () => hashPassword(password))

function inQueue<Result>(queue: keyof typeof queues, flow: string, run: () => Promise<Result>): Promise<Result> {
  const queuedAt = performance.now()
  return queues[queue](flow, async () => {
    if (performance.now() - queuedAt > maxQueuedMs) throw tooMany('too many sign-ins at once', 5)
    return run()
  })
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
  return inQueue(guesser.queue, guesser.flow, async () => {
    const waitSeconds = await count(sql, guesser)
    if (waitSeconds > 0) throw tooMany('too many failed sign-ins', waitSeconds)
    const right = await check()
    if (right !== undefined && !countsAsWrong(right)) await revert(sql, guesser)
    return right
  })
}

/** Counts a request for a password reset, or refuses it (429). Unknown addresses count like known ones. */
export async function countResetRequest(sql: Sql, clientAddress: string, emailKey: string): Promise<void> {
  const counters = [counter(`reset ${networkOf(clientAddress)}`, 20), counter('reset', 3, sha256(emailKey))]
  const waitSeconds = await count(sql, { windowSeconds: longSeconds, counters })
  if (waitSeconds > 0) throw tooMany('too many requests for a new password', waitSeconds)
}

/** Counts an invitation by e-mail. Returns false if the workspace has sent too many. */
export async function countInvitationMail(sql: Sql, workspaceId: string): Promise<boolean> {
  const counters = [counter(`invitations ${workspaceId}`, 50)]
  return (await count(sql, { windowSeconds: longSeconds, counters })) === 0
}

/**
 * Counts a callback of the OpenID Connect provider as a failure of the network, because each one causes requests to the provider.
 * Returns the function that reverts the count of a right one, or undefined if the network has reached its limit.
 */
export async function countCallback(sql: Sql, clientAddress: string): Promise<(() => Promise<void>) | undefined> {
  const limits = { windowSeconds: shortSeconds, counters: [counter(`oidc ${networkOf(clientAddress)}`, 60)] }
  return (await count(sql, limits)) > 0 ? undefined : () => revert(sql, limits)
}

export async function sweepFailures(sql: Sql): Promise<void> {
  await sql`delete from sign_in_failures where started_at < now() - make_interval(secs => ${longSeconds})`
}

/** Counts one failure more in all counters. Returns 0, or the seconds until the counters that are at their limit start again. */
async function count(sql: Sql, { windowSeconds, counters }: Limits): Promise<number> {
  const windowStart = sql`now() - make_interval(secs => ${windowSeconds})`
  const [row] = await sql<{ wait_seconds: number | null }[]>`
    -- What is to be counted.
    with counters as (
      select address, email_key, most
      from unnest(
        ${counters.map(({ address }) => address)}::text[],
        ${counters.map(({ email_key }) => email_key)}::text[],
        ${counters.map(({ most }) => most)}::int[]
      ) as c (address, email_key, most)
    ),
    -- Those at their limit.
    exhausted as (
      select f.started_at from counters c
      join sign_in_failures f on f.address = c.address and f.email_key = c.email_key
      where f.failure_count >= c.most and f.started_at > ${windowStart}
    ),
    -- Counts in all or in none, in the order of the key.
    counted as (
      insert into sign_in_failures as f (address, email_key, started_at, failure_count)
      select address, email_key, now(), 1 from counters
      where not exists (select from exhausted)
      order by address, email_key
      on conflict (address, email_key) do update set
        started_at = case when f.started_at > ${windowStart} then f.started_at else now() end,
        failure_count = 1 + case when f.started_at > ${windowStart} then f.failure_count else 0 end
      returning f.address, f.email_key, f.started_at, f.failure_count
    ),
    -- The second part: concurrent guesses took what was left.
    refusing as (
      select started_at from exhausted
      union all
      select f.started_at from counters c
      join counted f on f.address = c.address and f.email_key = c.email_key
      where f.failure_count > c.most
    )
    select ceil(extract(epoch from max(started_at) - (${windowStart})))::int as wait_seconds from refusing`
  return row?.wait_seconds ?? 0
}

/** One statement each, so that none holds the lock of one counter while it waits for another. */
async function revert(sql: Sql, { counters }: Limits): Promise<void> {
  for (const { address, email_key } of counters) {
    await sql`
      update sign_in_failures set failure_count = failure_count - 1
      where address = ${address} and email_key = ${email_key} and failure_count > 0`
  }
}

function tooMany(what: string, seconds: number): ApiError {
  const message = `${what}; try again in ${seconds} s`
  return new ApiError('rate_limited', message, { 'retry-after': String(seconds) })
}
