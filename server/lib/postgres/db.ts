/**
 * Connections to PostgreSQL.
 *
 * A function that runs statements takes `Sql`: a pool or a transaction. `Db` is a pool, which can begin a transaction. Times are
 * returned as ISO 8601 text in UTC with milliseconds, exactly as the API shows them, so no layer maps them.
 */
import type postgres from 'postgres'
import type { DatabaseAddress } from '../embedded/postgres.ts'
import { within } from '../time.ts'
import { type Address, type Host, readAddress } from './address.ts'
import driver, { perCallComment } from './driver.ts'
import { createSocketOpener, nameOf } from './socket.ts'

export type Sql = postgres.ISql
export type Db = postgres.Sql
export type ReservedSql = postgres.ReservedSql
export type Fragment = postgres.Fragment

export type ConnectOptions = {
  database: string | DatabaseAddress
  max: number
  /**
   * Every statement is prepared once per connection, unless it is `plannedPerCall`. PostgreSQL plans it with its values for the first
   * calls and then decides by the cost. With `hot` it is planned once, for any values.
   */
  hot?: boolean
  /**
   * Finds rows by index, whatever the statistics say. For a queue that is empty when its statements are planned and holds
   * 100,000 rows a second later: a sequential scan is the cheapest plan at first and takes seconds later.
   */
  byIndex?: boolean
  /** Commits asynchronously. For work that may be repeated after a power cut. */
  relaxed?: boolean
  statementTimeoutMs?: number
  /** PostgreSQL refuses every statement that writes. */
  readOnly?: boolean
  /** The session holds a lock: its connection is not replaced after an hour, as others are. */
  holdsLock?: boolean
}

/**
 * How the server gets rid of the sessions of a machine that has lost power or its network, or of a process that stands still. Their
 * locks would stop all other processes: by default for two hours, or for as long as the process stands still. No transaction of ours
 * pauses between its statements. Sessions through a unix socket ignore the settings of TCP.
 */
const abandonedSessions = {
  idle_in_transaction_session_timeout: 10_000,
  // An idle session without a sign of its client ends after a minute.
  tcp_keepalives_idle: 30,
  tcp_keepalives_interval: 10,
  tcp_keepalives_count: 3,
  // So does one whose client does not confirm an answer.
  tcp_user_timeout: 60_000,
}

const timestamptz = 1184

export function connect(options: ConnectOptions): Db {
  const {
    database,
    max,
    hot = false,
    byIndex = false,
    relaxed = false,
    readOnly = false,
    statementTimeoutMs = 60_000,
  } = options
  const settings = {
    statement_timeout: statementTimeoutMs,
    ...abandonedSessions,
    // Compiling a plan is not worth it for a fraction of a millisecond of work.
    jit: 'off',
    // A statement takes one core at most, however much a caller asks for.
    max_parallel_workers_per_gather: 0,
    // Otherwise PostgreSQL plans a statement for few rows at every call: 0.7 ms of planning for 0.1 ms of work.
    ...(hot ? { plan_cache_mode: 'force_generic_plan' } : {}),
    ...(byIndex ? { enable_seqscan: 'off', enable_bitmapscan: 'off', enable_sort: 'off' } : {}),
    ...(relaxed ? { synchronous_commit: 'off' } : {}),
    ...(readOnly ? { default_transaction_read_only: 'on' } : {}),
  }
  const address = readAddress(database)
  const findPrimary = address.hosts.length > 0 ? () => findPrimaryOf(address) : undefined
  const opener = createSocketOpener({ settings, encryption: address.encryption, findPrimary })
  const driverOptions: postgres.Options<Record<string, postgres.PostgresType>> & { socket: unknown } = {
    ...address.options,
    max,
    ...(options.holdsLock ? { max_lifetime: null } : {}),
    connect_timeout: 10,
    // At most a second, so that every connection is back soon after the database is.
    backoff: (retries: number) => Math.min(1, 0.05 * 2 ** retries) * (0.5 + Math.random() / 2),
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
  const db = driver(address.url, driverOptions) as unknown as Db
  const endPool = db.end.bind(db)
  const end: Db['end'] = (ending) => endPool(ending).finally(opener.close)
  return guardTransactions(Object.assign(db, { end }))
}

const primaryTimeoutMs = 5_000

/** The one of several servers that accepts writes. All are asked at the same time. */
async function findPrimaryOf({ url, hosts, encryption }: Address): Promise<Host> {
  const requirePrimary = async (at: Host): Promise<Host> => {
    // The session of a standby is refused.
    const opener = createSocketOpener({ settings: {}, encryption })
    const probe = driver(url, { ...at, max: 1, fetch_types: false, ssl: false, socket: opener.open } as object)
    try {
      const answer = await within(primaryTimeoutMs, probe`select 1`)
      if (!answer) throw new Error(`the database server at ${nameOf(at)} does not answer`)
      return at
    } finally {
      void probe.end({ timeout: 0 }).finally(opener.close)
    }
  }
  try {
    return await Promise.any(hosts.map(requirePrimary))
  } catch (error) {
    const reasons = error instanceof AggregateError ? error.errors.map(({ message }) => message) : [error]
    throw new Error(`no database server accepts writes: ${reasons.join('; ')}`)
  }
}

type Transaction = (sql: Sql) => unknown

/**
 * Ends a transaction whose connection is lost. The driver would still write the next statement, or its own `rollback`, to the
 * closed socket and throw outside of any handler, which ends the process (porsager/postgres#1208). So statements on a lost
 * connection are refused here. The driver has rejected the caller's promise by then, and the promise it waits for stays open.
 */
function guardTransactions(db: Db): Db {
  const begin = db.begin.bind(db) as (mode: string, run: Transaction) => Promise<unknown>
  const guarded = async (...args: [Transaction] | [string, Transaction]): Promise<unknown> => {
    const [mode, run] = args.length === 1 ? ['', args[0]] : args
    let lost: unknown
    const refuseWhenLost: ProxyHandler<Sql> = {
      apply(sql, self, values) {
        if (lost) throw lost
        return Reflect.apply(sql as unknown as (...values: unknown[]) => unknown, self, values)
      },
    }
    const guard = (sql: Sql) =>
      new Promise((resolve, reject) => {
        const result = (async () => run(new Proxy(sql, refuseWhenLost)))()
        result.then(
          (value) => lost || resolve(value),
          // A statement can fail before the driver reports the lost connection.
          (error) => setImmediate(() => lost || reject(error)),
        )
      })
    try {
      return await begin(mode, guard)
    } catch (error) {
      lost = error
      throw error
    }
  }
  return Object.assign(db, { begin: guarded })
}

/** `2026-01-31 09:30:00.5+00`, as PostgreSQL writes it in UTC, to `2026-01-31T09:30:00.500Z`. A page of a list has 250 of them. */
function toIso(text: string): string {
  if (!isFourDigitYear(text)) return new Date(text).toISOString()
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(3, '0').slice(0, 3)}Z`
}

const isFourDigitYear = (text: string): boolean => text[10] === ' ' && text.endsWith('+00')

/** A `timestamptz` expression as ISO 8601 text, for JSON that a statement builds. */
export const isoTime = (sql: Sql, time: Fragment): Fragment =>
  sql`to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/**
 * A condition whose statement is planned with its values at each call. For a search: a plan for any term reads a million rows for a
 * term that occurs in every name. And for a text that a caller composes: prepared, such texts would pile up in the server.
 */
export const plannedPerCall = (sql: Sql, condition: Fragment): Fragment =>
  sql`${sql.unsafe(perCallComment)} ${condition}`

/**
 * A condition on the rows of a `with` list, of which the planner expects that half fulfill it. It often guesses that one row does, and then joins by nested
 * loops, which compare each row with each: a batch of 1,000 messages took 0.8 s instead of 0.1.
 */
export const withoutEstimate = (sql: Sql, condition: Fragment): Fragment =>
  sql`case when ${condition} then true else false end`

/** A JSON object, without white space, of a list of select columns. */
export const jsonObject = (sql: Sql, columns: Fragment): Fragment =>
  sql`(select row_to_json(o) from (select ${columns}) o)`

/**
 * Caches a fragment per key, to be shared by statements. A fragment is text and values, without a connection. Building a
 * long one for each statement took 30 to 60 us.
 */
export function sharedFragment(build: (sql: Sql, key: string) => Fragment): (sql: Sql, key: string) => Fragment {
  const built = new Map<string, Fragment>()
  return (sql, key) => {
    const fragment = built.get(key) ?? build(sql, key)
    built.set(key, fragment)
    return fragment
  }
}

/**
 * Takes the rows out of a result, for hot statements with many rows. A query of the driver holds its result, and in measurements
 * both survived minor collections: a page of 50 rows left 58 KB until the next major one. The cause seems to be that V8 allocates
 * the functions that a query creates in its constructor in old space.
 */
export const takeRows = <Row>(result: Row[]): Row[] => result.splice(0)

/** Values of a parameter `::text[]::boolean[]`: the driver takes an array that starts with a boolean for a single one. */
export const booleanTexts = (values: readonly (boolean | null)[]): (string | null)[] =>
  values.map((value) => (value === null ? null : value ? 't' : 'f'))

/** A row that must exist: its absence is a bug. `what` names the row in the error. */
export function requireRow<Row>(row: Row | undefined, what: string): Row {
  if (row === undefined) throw new Error(`${what} does not exist`)
  return row
}

/** Whether the database refused a duplicate under the named unique constraint. */
export function isDuplicate(error: unknown, constraint: string): boolean {
  return error instanceof driver.PostgresError && error.code === '23505' && error.constraint_name === constraint
}

/** Whether the database refused a reference to a missing row under the named foreign key. */
export function isDangling(error: unknown, constraint: string): boolean {
  return error instanceof driver.PostgresError && error.code === '23503' && error.constraint_name === constraint
}

/** Whether the database refused the data itself: an invalid value or a violated constraint. A retry would not help. */
export function isUnkeepable(error: unknown): boolean {
  return error instanceof driver.PostgresError && /^2[23]/.test(error.code)
}

/** Whether the database rolled the statement back because of a deadlock or a serialization failure. */
export function isCollision(error: unknown): boolean {
  return error instanceof driver.PostgresError && (error.code === '40P01' || error.code === '40001')
}

/** Whether a statement exceeded `statement_timeout`. */
export function isTimeout(error: unknown): boolean {
  return error instanceof driver.PostgresError && error.code === '57014'
}

/** Whether a statement exceeded `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof driver.PostgresError && error.code === '55P03'
}

/** Retries after a deadlock or a serialization failure. */
export async function withRetries<Result>(run: () => Promise<Result>, triesLeft = 4): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (!isCollision(error) || triesLeft <= 1) throw error
    return withRetries(run, triesLeft - 1)
  }
}
