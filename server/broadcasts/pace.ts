/**
 * The pace of a sending number: a token bucket in a row of the database, with the number's circuit breaker.
 *
 * The bucket fills at the number's rate and holds a tenth of a second of it. A process locks the row while it hands over,
 * so all processes and all broadcasts of the number share the pace. A throttled send halves the rate; the rate recovers to
 * the connection's rate within 30 seconds.
 *
 * The circuit breaker (`circuit-breaker.ts`) is in the same row, because an outage of the channel concerns all broadcasts
 * of the number in every process.
 *
 * Messages of members and of the API never wait. They are subtracted from the bucket afterwards, while a broadcast runs.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import type { Connection } from '../channels/channel.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import { type Breaker, type BreakerEvent, type BreakerPolicy, transition } from './circuit-breaker.ts'

export type Pace = {
  /** Messages that may leave now: the tokens in the bucket. */
  allowance: number
  /** Messages a second. */
  rate: number
  /** The database's clock, in seconds. */
  at: number
  breaker: Breaker
}

type Recovery = Pick<Times['broadcasts'], 'recoveryMs'>

/** The bucket holds the messages of this time. */
const burstSeconds = 0.1
/** The most that live sends can overdraw the bucket, as time at the number's rate. */
const maxDebtSeconds = 1

export async function createPace(sql: Sql, { workspace_id, id }: Connection): Promise<void> {
  await sql`
    insert into broadcast_paces (workspace_id, connection_id, filled_at) values (${workspace_id}, ${id}, now())
    on conflict do nothing`
}

/**
 * Locks the number's pace until the transaction ends (lock order: ARCHITECTURE.md). Undefined: the connection was deleted, or
 * another process has the lock, unless `waits`.
 */
export async function lockPace(
  sql: Sql,
  { workspace_id, id, messages_per_second: pace }: Connection,
  { recoveryMs }: Recovery,
  { waits = false } = {},
): Promise<Pace | undefined> {
  const [row] = await sql<({ allowance: number; rate: number; at: number; filled_at: number } & BreakerRow)[]>`
    select p.allowance, ${rateNow(sql, pace, recoveryMs)} as rate, extract(epoch from clock_timestamp())::float8 as at,
      extract(epoch from p.filled_at)::float8 as filled_at, p.breaker_state, p.failure_count, p.probe_count, p.breaker_reason,
      (extract(epoch from p.breaker_until) * 1000)::float8 as breaker_until_ms
    from broadcast_paces p
    where p.workspace_id = ${workspace_id} and p.connection_id = ${id}
    for update ${waits ? sql`` : sql`skip locked`}`
  if (!row) return undefined
  const gained = Math.max(0, row.at - row.filled_at) * row.rate
  const capacity = Math.max(1, row.rate * burstSeconds)
  return { rate: row.rate, at: row.at, allowance: Math.min(capacity, row.allowance + gained), breaker: toBreaker(row) }
}

/** Takes `count` tokens. The caller has locked the row. */
export async function spendAllowance(
  sql: Sql,
  { workspace_id, id }: Connection,
  { allowance, at }: Pace,
  count: number,
): Promise<void> {
  await sql`
    update broadcast_paces set allowance = ${allowance - count}, filled_at = to_timestamp(${at})
    where workspace_id = ${workspace_id} and connection_id = ${id}`
}

/**
 * Halves the rate because the channel throttled a send that was handed over at `handedAt`. Sends in flight at the same
 * time halve it once. Returns whether this call did.
 */
export async function slowDown(
  sql: Sql,
  connection: Connection,
  handedAt: number,
  { recoveryMs }: Recovery,
): Promise<boolean> {
  const { workspace_id, id, messages_per_second: pace } = connection
  const slowed = await sql`
    update broadcast_paces p set rate = greatest(1, ${rateNow(sql, pace, recoveryMs)} / 2), throttled_at = clock_timestamp(),
      allowance = least(p.allowance, 0)
    where p.workspace_id = ${workspace_id} and p.connection_id = ${id}
      and (p.throttled_at is null or p.throttled_at < to_timestamp(${handedAt}))`
  return slowed.count > 0
}

type BreakerRow = {
  breaker_state: Breaker['state']
  failure_count: number
  probe_count: number
  breaker_until_ms: number | null
  breaker_reason: string | null
}

function toBreaker(row: BreakerRow): Breaker {
  const { breaker_state: state, failure_count, probe_count, breaker_until_ms, breaker_reason } = row
  if (state === 'closed') return { state, failureCount: failure_count }
  return { state, probeCount: probe_count, until: breaker_until_ms ?? 0, reason: breaker_reason ?? '' }
}

/** The caller has locked the row. */
export async function saveBreaker(sql: Sql, { workspace_id, id }: Connection, breaker: Breaker): Promise<void> {
  const isClosed = breaker.state === 'closed'
  await sql`
    update broadcast_paces set breaker_state = ${breaker.state},
      failure_count = ${isClosed ? breaker.failureCount : 0}, probe_count = ${isClosed ? 0 : breaker.probeCount},
      breaker_until = to_timestamp(${isClosed ? null : breaker.until / 1000}::float8),
      breaker_reason = ${isClosed ? null : breaker.reason}
    where workspace_id = ${workspace_id} and connection_id = ${id}`
}

/** Records an outcome in the breaker. Returns its state before and after, or undefined when the connection was deleted. */
export function recordOutcome(
  db: Db,
  connection: Connection,
  event: BreakerEvent,
  policy: BreakerPolicy,
  times: Recovery,
): Promise<{ before: Breaker; after: Breaker } | undefined> {
  return db.begin(async (sql) => {
    const pace = await lockPace(sql, connection, times, { waits: true })
    if (!pace) return undefined
    const after = transition(pace.breaker, event, pace.at * 1000, policy)
    if (after !== pace.breaker) await saveBreaker(sql, connection, after)
    return { before: pace.breaker, after }
  }) as Promise<{ before: Breaker; after: Breaker } | undefined>
}

/** Makes the next probe of the broadcast's number due now, because a member resumed the broadcast. */
export async function probeNow(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await sql`
    update broadcast_paces p set breaker_until = now()
    from broadcasts b
    where b.workspace_id = ${workspaceId} and b.id = ${id} and p.workspace_id = b.workspace_id
      and p.connection_id = ${senderOf(sql)} and p.breaker_state = 'open'`
}

/** The number that sends broadcast `b`: its own, or the default one if it has none. */
export const senderOf = (sql: Sql) => sql`coalesce(
  (select k.id from channel_connections k where k.workspace_id = b.workspace_id and k.id = b.connection_id),
  (select k.id from channel_connections k where k.workspace_id = b.workspace_id and k.channel = 'msgapp')
)`

/** Condition: broadcast `b` waits, because the breaker of its number is open and the probe is not due. */
export const isHeld = (sql: Sql) => sql`exists (
  select from broadcast_paces p
  where p.workspace_id = b.workspace_id and p.connection_id = ${senderOf(sql)} and p.breaker_state <> 'closed'
    and p.breaker_until > now()
)`

/** The time until the bucket has a batch of `batchMs`. */
export function waitFor({ allowance, rate }: Pace, spent: number, batchMs: number): number {
  const batchSize = Math.max(1, (rate * batchMs) / 1000)
  return Math.max(5, Math.ceil(((batchSize - (allowance - spent)) / rate) * 1000))
}

const rateNow = (sql: Sql, pace: number, recoveryMs: number) => sql`
  case when p.throttled_at is null then ${pace}::float8 else least(${pace}::float8, p.rate +
    ${pace}::float8 * extract(epoch from clock_timestamp() - p.throttled_at)::float8 * 1000 / ${recoveryMs}::float8) end`

export type LiveSendCounter = { count(connection: Connection): void; stop(): Promise<void> }

const flushMs = 100

/** Counts live sends and subtracts them from their buckets every `flushMs`. */
export function createLiveSendCounter(sql: Sql, log: FastifyBaseLogger): LiveSendCounter {
  let counts = new Map<string, { workspace_id: string; connection_id: string; pace: number; count: number }>()
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<unknown> = Promise.resolve()

  function flush() {
    timer = undefined
    const rows = [...counts.values()]
    counts = new Map()
    flushing = spendLiveSends(sql, rows).catch((error) =>
      log.warn({ err: error }, 'live sends could not be subtracted from the pace of broadcasts'),
    )
  }

  return {
    count({ workspace_id, id, channel, messages_per_second: pace }) {
      if (channel !== 'msgapp') return
      const known = counts.get(id)
      if (known) known.count++
      else counts.set(id, { workspace_id, connection_id: id, pace, count: 1 })
      timer ??= setTimeout(flush, flushMs)
    },
    async stop() {
      clearTimeout(timer)
      await flushing
    },
  }
}

/** Changes only the buckets of numbers that handed recipients over in the last 2 seconds; no other bucket is in use. */
async function spendLiveSends(
  sql: Sql,
  rows: readonly { workspace_id: string; connection_id: string; pace: number; count: number }[],
): Promise<void> {
  await sql`
    with input as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        workspace_id uuid, connection_id uuid, pace int, count int
      )
    ),
    -- Sorted, so that two statements cannot deadlock.
    locked_paces as (
      select p.workspace_id, p.connection_id, i.pace, i.count
      from input i
      join broadcast_paces p on p.workspace_id = i.workspace_id and p.connection_id = i.connection_id
      where p.filled_at > now() - interval '2 seconds'
      order by p.workspace_id, p.connection_id
      for update of p
    )
    update broadcast_paces p set allowance = greatest(p.allowance - l.count, -l.pace * ${maxDebtSeconds}::float8)
    from locked_paces l
    where p.workspace_id = l.workspace_id and p.connection_id = l.connection_id`
}
