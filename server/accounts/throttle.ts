/**
 * Guesses: how often somebody may be wrong about a password or a token.
 *
 * Ten times a minute for an address and what is guessed at, counted in the
 * database so that several processes share one count. A failure is counted
 * before there is one and taken back after a success: however many processes
 * are asked at once, no more than ten guesses get through.
 */
import type { Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import { createTurns } from '../lib/turn.ts'

export type Guess = {
  address: string
  /** The folded e-mail whose password it is, or another name that is no e-mail. */
  key: string
}

const maxFailures = 10

const inTurn = createTurns()

/** Checking a password takes 50 ms of a core on purpose: whoever comes after this many is asked to come again. */
const maxWaiting = 100
let waiting = 0

/** Let `check` look at a guess, if there were not too many wrong ones; `undefined` is what it answers to a wrong one. */
export async function checkGuess<Right>(
  sql: Sql,
  { address, key }: Guess,
  check: () => Promise<Right | undefined>,
): Promise<Right | undefined> {
  if (waiting >= maxWaiting) throw tooMany('too many people sign in at once', 1)
  waiting++
  try {
    // In turn, so that somebody who signs in many times at once is not taken for many failures.
    return await inTurn(`${address} ${key}`, async () => {
      await countFailure(sql, address, key)
      const right = await check()
      if (right !== undefined) await uncountFailure(sql, address, key)
      return right
    })
  } finally {
    waiting--
  }
}

async function countFailure(sql: Sql, address: string, key: string): Promise<void> {
  const [window] = await sql<{ failure_count: number; seconds: number }[]>`
    insert into sign_in_failures as f (address, email_key, started_at, failure_count)
    values (${address}, ${key}, now(), 1)
    on conflict (address, email_key) do update set
      started_at = case when f.started_at > now() - interval '60 seconds' then f.started_at else now() end,
      failure_count = 1 + case when f.started_at > now() - interval '60 seconds' then f.failure_count else 0 end
    returning failure_count, ceil(extract(epoch from started_at + interval '60 seconds' - now()))::int as seconds`
  if (window && window.failure_count > maxFailures) throw tooMany('too many failed sign-ins', window.seconds)
}

/** It was none. */
async function uncountFailure(sql: Sql, address: string, key: string): Promise<void> {
  await sql`
    update sign_in_failures set failure_count = greatest(0, failure_count - 1)
    where address = ${address} and email_key = ${key}`
}

function tooMany(what: string, seconds: number): ApiError {
  const retryAfter = String(Math.max(1, seconds))
  return new ApiError('rate_limited', `${what}; try again in ${retryAfter} s`, { 'retry-after': retryAfter })
}
