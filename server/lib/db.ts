/**
 * The connection to PostgreSQL.
 *
 * `Sql` is what a verb takes: the pool or a transaction alike. `Db` is the
 * pool, which can begin a transaction. Times come out as ISO 8601 text in UTC
 * to the millisecond, the very text the API shows, so no layer maps them.
 */
import postgres from 'postgres'
import { createSocketOpener, type Encryption } from './db-socket.ts'
import type { DatabaseAddress } from './embedded-postgres.ts'

export type Sql = postgres.ISql
export type Db = postgres.Sql
export type ReservedSql = postgres.ReservedSql
export type Fragment = postgres.Fragment

export type Connecting = {
  database: string | DatabaseAddress
  max: number
  /**
   * For the few hot statements, whose text never changes: parsed and planned once a connection. All others are planned
   * with their values at each call, which costs 0.3 ms and is right at any size: a plan made for no search text in
   * particular reads a million rows for one that everybody's name contains. Nor do the texts of ever new filters pile
   * up in the server.
   */
  hot?: boolean
  /**
   * Whatever the statistics say, find rows by their index: for a queue that is empty when its plan is made, and holds
   * 100,000 a second later. Reading it whole was cheapest then, and takes seconds now.
   */
  byIndex?: boolean
  /** A commit need not be on disk when it is answered: for what may be done again after a power cut. */
  relaxed?: boolean
  statementTimeoutMs?: number
}

const timestamptz = 1184

export function connect(connecting: Connecting): Db {
  const { database, max, hot = false, byIndex = false, relaxed = false, statementTimeoutMs = 60_000 } = connecting
  const settings = {
    statement_timeout: statementTimeoutMs,
    // A plan for a fraction of a millisecond of work is not worth compiling.
    jit: 'off',
    // Without it, PostgreSQL plans a statement of few rows at every call: 0.7 ms of planning for 0.1 ms of work.
    ...(hot ? { plan_cache_mode: 'force_generic_plan' } : {}),
    ...(byIndex ? { enable_seqscan: 'off', enable_bitmapscan: 'off', enable_sort: 'off' } : {}),
    ...(relaxed ? { synchronous_commit: 'off' } : {}),
  }
  const { address, encryption } = readAddress(database)
  const opener = createSocketOpener(settings, encryption)
  const options: postgres.Options<Record<string, postgres.PostgresType>> & { socket: unknown } = {
    ...address.options,
    max,
    prepare: hot,
    connect_timeout: 10,
    // `createSocketOpener` negotiates TLS.
    ssl: false,
    socket: opener.open,
    onnotice: () => {},
    // PgBouncer accepts these two as startup parameters; all other settings follow as a statement.
    connection: { application_name: 'parley', TimeZone: 'UTC' },
    types: {
      date: {
        to: timestamptz,
        from: [timestamptz],
        serialize: (time: unknown) => time,
        parse: (text: string) => toIso(text),
      },
    },
  }
  const db = postgres(address.url, options) as unknown as Db
  const endPool = db.end.bind(db)
  const end: Db['end'] = (ending) => endPool(ending).finally(opener.close)
  return guardTransactions(Object.assign(db, { end }))
}

type Run = (sql: Sql) => unknown

/**
 * A transaction whose line broke ends here. The driver would still write what comes next, be it its own `rollback`, and as
 * there is nothing to write to any more throw where nobody catches it, which ends the process (porsager/postgres#1208).
 * So whatever is asked on a lost line is refused, and the driver, which has told the caller already, never learns that
 * the work on it is through.
 */
function guardTransactions(db: Db): Db {
  const begin = db.begin.bind(db) as (options: string, run: Run) => Promise<unknown>
  const guarded = async (...given: [Run] | [string, Run]): Promise<unknown> => {
    const [options, run] = given.length === 1 ? ['', given[0]] : given
    let lost: unknown
    const refuseWhenLost: ProxyHandler<Sql> = {
      apply(sql, self, values) {
        if (lost) throw lost
        return Reflect.apply(sql as unknown as (...values: unknown[]) => unknown, self, values)
      },
    }
    const work = (sql: Sql) =>
      new Promise((resolve, reject) => {
        const ended = (async () => run(new Proxy(sql, refuseWhenLost)))()
        ended.then(
          (value) => lost || resolve(value),
          // What failed because the line broke is known before the driver has said so.
          (error) => setImmediate(() => lost || reject(error)),
        )
      })
    try {
      return await begin(options, work)
    } catch (error) {
      lost = error
      throw error
    }
  }
  return Object.assign(db, { begin: guarded })
}

const unencrypted: Encryption = { mode: 'off', isDirect: false }

type Address = { url: string; options: Partial<DatabaseAddress> }

/** Splits a database URL into what the driver reads itself and what it would misread: a socket's folder and TLS. */
function readAddress(database: string | DatabaseAddress): { address: Address; encryption: Encryption } {
  if (typeof database !== 'string') return { address: { url: '', options: database }, encryption: unencrypted }
  const url = new URL(database)
  const take = (name: string) => {
    const value = url.searchParams.get(name)
    url.searchParams.delete(name)
    return value
  }
  const host = take('host')
  const mode = take('sslmode') ?? take('ssl')
  const isDirect = take('sslnegotiation') === 'direct'
  const isVerified = take('sslrootcert') === 'system'
  const encryption = { mode: isVerified ? ('verify' as const) : encryptionModeOf(mode), isDirect }
  return { address: { url: url.href, options: host ? { host } : {} }, encryption }
}

function encryptionModeOf(sslmode: string | null): Encryption['mode'] {
  if (sslmode === null || sslmode === 'disable' || sslmode === 'false') return 'off'
  if (sslmode === 'prefer' || sslmode === 'allow') return 'prefer'
  return sslmode === 'require' ? 'require' : 'verify'
}

/** `2026-01-31 09:30:00.5+00`, as PostgreSQL writes it in UTC, to `2026-01-31T09:30:00.500Z`. */
function toIso(text: string): string {
  const [, day, time, fraction = ''] = /^(\S+) ([\d:]+)(?:\.(\d+))?\+00$/.exec(text) ?? []
  if (!day || !time) return new Date(text).toISOString()
  return `${day}T${time}.${fraction.padEnd(3, '0').slice(0, 3)}Z`
}

/** A `timestamptz` expression as the text that `connect` turns one into, for JSON that a statement builds. */
export const isoTime = (sql: Sql, time: Fragment): Fragment =>
  sql`to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** A JSON object, without white space, of a list of columns as `select` takes it. */
export const jsonObject = (sql: Sql, columns: Fragment): Fragment =>
  sql`(select row_to_json(o) from (select ${columns}) o)`

/**
 * A fragment that is built once for each key and then shared by statements. A fragment is text and values, without a
 * connection. Building a long one anew for each statement took 30 to 60 us.
 */
export function sharedFragment(build: (sql: Sql, key: string) => Fragment): (sql: Sql, key: string) => Fragment {
  const built = new Map<string, Fragment>()
  return (sql, key) => {
    const fragment = built.get(key) ?? build(sql, key)
    built.set(key, fragment)
    return fragment
  }
}

/** Whether an error is the database refusing a duplicate under the named unique constraint. */
export function isDuplicate(error: unknown, constraint: string): boolean {
  return error instanceof postgres.PostgresError && error.code === '23505' && error.constraint_name === constraint
}

/** Whether an error is the database refusing what refers to something that is not there, under the named constraint. */
export function isDangling(error: unknown, constraint: string): boolean {
  return error instanceof postgres.PostgresError && error.code === '23503' && error.constraint_name === constraint
}

/** Whether the database refused the data itself: a value it cannot hold, a rule it breaks. Trying again would not help. */
export function isUnkeepable(error: unknown): boolean {
  return error instanceof postgres.PostgresError && /^2[23]/.test(error.code)
}

/** Whether two statements were in each other's way and the database let this one go: nothing of it happened. */
function isCollision(error: unknown): boolean {
  return error instanceof postgres.PostgresError && (error.code === '40P01' || error.code === '40001')
}

/** Whether a statement took longer than it may. */
export function isTimeout(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === '57014'
}

/** Whether a statement gave up waiting for a lock (`lock_timeout`). */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === '55P03'
}

/** Run it again when it was in another's way. */
export async function withRetries<Result>(run: () => Promise<Result>, triesLeft = 4): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (!isCollision(error) || triesLeft <= 1) throw error
    return withRetries(run, triesLeft - 1)
  }
}
