/**
 * The row of a sending number: how fast it may send, and whether at all.
 *
 * The pace is a bucket that fills at the number's rate and holds a tenth of a
 * second of it. A process that hands over holds the row, so one process at a
 * time does so for a number, and all processes and all broadcasts of the number
 * share its pace. A throttled send halves the rate; it grows back to the
 * connection's rate within half a minute.
 *
 * The circuit breaker (`circuit-breaker.ts`) is in the same row: an outage of
 * the channel concerns the number, with all its broadcasts and in every process.
 *
 * What members and the API send never waits. It is counted in the bucket
 * afterwards, while a broadcast is sending.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Connection } from '../channels/channel.ts'
import type { Db, Sql } from '../lib/db.ts'
import { type Breaker, type BreakerEvent, type BreakerPolicy, transition } from './circuit-breaker.ts'

export type Pace = {
  /** Messages that may leave now. */
  allowance: number
  /** Messages a second. */
  rate: number
  /** The database's clock, in seconds. */
  at: number
  breaker: Breaker
}

/** The bucket holds this part of a second. */
const burstSeconds = 0.1
/** Without complaints a number is back at its whole pace after this time. */
const recoverySeconds = 30
/** Sends that did not wait are made up for within this time, or forgotten. */
const maxDebtSeconds = 1

export async function createPace(sql: Sql, { workspace_id, id }: Connection): Promise<void> {
  await sql`
    insert into broadcast_paces (workspace_id, connection_id, filled_at) values (${workspace_id}, ${id}, now())
    on conflict do nothing`
}

/** Hold the number's pace until the end of the transaction; undefined: another process holds it. */
export async function lockPace(sql: Sql, { workspace_id, id, ...connection }: Connection): Promise<Pace | undefined> {
  const pace = connection.messages_per_second
  const [held] = await sql<({ allowance: number; rate: number; at: number; filled_at: number } & BreakerRow)[]>`
    select p.allowance, ${rateNow(sql, pace)} as rate, extract(epoch from clock_timestamp())::float8 as at,
      extract(epoch from p.filled_at)::float8 as filled_at, ${breakerColumns(sql)}
    from broadcast_paces p
    where p.workspace_id = ${workspace_id} and p.connection_id = ${id}
    for update skip locked`
  if (!held) return undefined
  const gained = Math.max(0, held.at - held.filled_at) * held.rate
  const most = Math.max(1, held.rate * burstSeconds)
  return { rate: held.rate, at: held.at, allowance: Math.min(most, held.allowance + gained), breaker: toBreaker(held) }
}

/** As many left; the row is held by the caller. */
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
 * The channel throttled a send that was handed over at `handedAt`: halve the rate, once for all that were in
 * flight at that moment. Answers whether this send did it.
 */
export async function slowDown(sql: Sql, connection: Connection, handedAt: number): Promise<boolean> {
  const { workspace_id, id, messages_per_second: pace } = connection
  const slowed = await sql`
    update broadcast_paces p set rate = greatest(1, ${rateNow(sql, pace)} / 2), throttled_at = clock_timestamp(),
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

const breakerColumns = (sql: Sql) => sql`
  p.breaker_state, p.failure_count, p.probe_count, p.breaker_reason,
  (extract(epoch from p.breaker_until) * 1000)::float8 as breaker_until_ms`

function toBreaker(row: BreakerRow): Breaker {
  const { breaker_state: state, failure_count, probe_count, breaker_until_ms, breaker_reason } = row
  if (state === 'closed') return { state, failureCount: failure_count }
  return { state, probeCount: probe_count, until: breaker_until_ms ?? 0, reason: breaker_reason ?? '' }
}

/** The row is held by the caller. */
export async function saveBreaker(sql: Sql, { workspace_id, id }: Connection, breaker: Breaker): Promise<void> {
  const isClosed = breaker.state === 'closed'
  await sql`
    update broadcast_paces set breaker_state = ${breaker.state},
      failure_count = ${isClosed ? breaker.failureCount : 0}, probe_count = ${isClosed ? 0 : breaker.probeCount},
      breaker_until = to_timestamp(${isClosed ? null : breaker.until / 1000}::float8),
      breaker_reason = ${isClosed ? null : breaker.reason}
    where workspace_id = ${workspace_id} and connection_id = ${id}`
}

/** Tell the number's breaker of an outcome; answers its state before and after, or undefined when the row is gone. */
export function recordOutcome(
  db: Db,
  connection: Connection,
  event: BreakerEvent,
  policy: BreakerPolicy,
): Promise<{ before: Breaker; after: Breaker } | undefined> {
  const { workspace_id, id } = connection
  return db.begin(async (sql) => {
    const [row] = await sql<(BreakerRow & { now_ms: number })[]>`
      select ${breakerColumns(sql)}, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms
      from broadcast_paces p
      where p.workspace_id = ${workspace_id} and p.connection_id = ${id}
      for update`
    if (!row) return undefined
    const before = toBreaker(row)
    const after = transition(before, event, row.now_ms, policy)
    if (after !== before) await saveBreaker(sql, connection, after)
    return { before, after }
  }) as Promise<{ before: Breaker; after: Breaker } | undefined>
}

/** A member wants sending to go on: the next probe is due now. */
export async function probeNow(sql: Sql, workspaceId: string): Promise<void> {
  await sql`
    update broadcast_paces set breaker_until = now() where workspace_id = ${workspaceId} and breaker_state = 'open'`
}

/** Condition: broadcast `b` must wait, since the breaker of its number is open and its probe is not due yet. */
export const isHeldBack = (sql: Sql) => sql`exists (
  select from broadcast_paces p
  where p.workspace_id = b.workspace_id and p.breaker_state <> 'closed' and p.breaker_until > now()
)`

/** How long until a batch worth handing over may leave. */
export function waitFor({ allowance, rate }: Pace, spent: number, batchMs: number): number {
  const worth = Math.max(1, (rate * batchMs) / 1000)
  return Math.max(5, Math.ceil(((worth - (allowance - spent)) / rate) * 1000))
}

const rateNow = (sql: Sql, pace: number) => sql`
  case when p.throttled_at is null then ${pace}::float8 else least(${pace}::float8, p.rate +
    ${pace}::float8 * extract(epoch from clock_timestamp() - p.throttled_at)::float8 / ${recoverySeconds}::float8) end`

export type LiveSends = { count(connection: Connection): void; stop(): Promise<void> }

const gatherMs = 100

/** Counts what goes out without waiting, and tells the bucket of it a few times a second. */
export function createLiveSends(sql: Sql, log: FastifyBaseLogger): LiveSends {
  let counts = new Map<string, { workspace_id: string; connection_id: string; pace: number; count: number }>()
  let timer: NodeJS.Timeout | undefined
  let telling: Promise<unknown> = Promise.resolve()

  function tell() {
    timer = undefined
    const rows = [...counts.values()]
    counts = new Map()
    telling = makeRoom(sql, rows).catch((error) => log.warn({ err: error }, 'sends could not be counted in their pace'))
  }

  return {
    count({ workspace_id, id, channel, messages_per_second: pace }) {
      if (channel !== 'msgapp') return
      const known = counts.get(id)
      if (known) known.count++
      else counts.set(id, { workspace_id, connection_id: id, pace, count: 1 })
      timer ??= setTimeout(tell, gatherMs)
    },
    async stop() {
      clearTimeout(timer)
      await telling
    },
  }
}

/** Only where something was handed over a moment ago: nobody else needs the room. */
async function makeRoom(
  sql: Sql,
  rows: readonly { workspace_id: string; connection_id: string; pace: number; count: number }[],
): Promise<void> {
  await sql`
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        workspace_id uuid, connection_id uuid, pace int, count int
      )
    ),
    locked as (
      select p.workspace_id, p.connection_id, g.pace, g.count
      from given g
      join broadcast_paces p on p.workspace_id = g.workspace_id and p.connection_id = g.connection_id
      where p.filled_at > now() - interval '2 seconds'
      order by p.workspace_id, p.connection_id
      for update of p
    )
    update broadcast_paces p set allowance = greatest(p.allowance - l.count, -l.pace * ${maxDebtSeconds}::float8)
    from locked l
    where p.workspace_id = l.workspace_id and p.connection_id = l.connection_id`
}
