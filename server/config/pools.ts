/**
 * The pools of database connections, and why each is apart. A process has those of its role.
 *
 * A statement never waits behind another pool's statements. The statements of a `hot` pool are planned once per connection, for any
 * values; in the others PostgreSQL decides that (`lib/postgres/db.ts`).
 */
import type { Connect } from '../lib/postgres/database.ts'
import type { Db } from '../lib/postgres/db.ts'
import { slowReadMs } from '../lib/postgres/slow-reads.ts'

export type Pools = {
  /** Everything else: writes of the API, settings, pages of the dashboard, sweeps. */
  general: Db
  /**
   * Searches, composed filters, exports and dry runs of automations, whose cost the caller decides (`lib/postgres/slow-reads.ts`). No
   * other statement may wait for them. PostgreSQL refuses their writes.
   */
  slow: Db
  /**
   * Reads of the API that take a fixed number of steps in an index: a resource by its id, a page of a list. Planned once, because
   * planning took as long as reading: a page of conversations took 2.6 ms of the database, 1.4 ms of it for the rows.
   */
  reads: Db
  /** API key, rate and scope of every request, sessions, sign-in and readiness: nothing may be ahead of them. */
  admission: Db
  /** Sends, inbound messages and the web chat. */
  messages: Db
  /** Outcomes of sends. Loses its last commits in a power cut; the reports of the channel settle those messages again. */
  settle: Db
  /** Hand-over of broadcasts: transactions of many rows that lock the pace of a number. */
  broadcasts: Db
  /**
   * The webhook queue and the digest of messages: one statement each to claim, settle, release and digest, so four
   * connections never wait. Reads by index only, because these tables may be empty when a statement is planned and hold
   * 100,000 rows a second later. Loses its last commits in a power cut; that work is done again.
   */
  queue: Db
}

const sizes: Record<keyof Pools, number> = {
  general: 5,
  slow: 2,
  reads: 3,
  admission: 2,
  messages: 6,
  settle: 3,
  broadcasts: 3,
  queue: 4,
}

/** The pools of a process that serves HTTP. */
export const apiPools = ['general', 'slow', 'reads', 'admission', 'messages', 'settle'] as const
/** The pools of a process that runs the engines. */
export const workerPools = ['general', 'settle', 'broadcasts', 'queue'] as const

export type ApiPools = Pick<Pools, (typeof apiPools)[number]>
export type WorkerPools = Pick<Pools, (typeof workerPools)[number]>

/** Up to so many API processes have pools of the full size. More share as many connections: PostgreSQL allows 100 by default. */
const fullProcesses = 3
/** A transaction and its neighbours must not wait for each other. */
const minSizes: Partial<typeof sizes> = { general: 2 }

/**
 * How many connections a service opens at most. Each process with pools also has one for notifications. With the demo there is one of
 * the process `simulator`.
 */
export function countConnections(service: { roles: ReadonlySet<string>; processes: number; demo: boolean }): number {
  const { roles, processes, demo } = service
  const count = (names: readonly (keyof Pools)[], of: number) => names.reduce((sum, name) => sum + sizeOf(name, of), 1)
  const apis = roles.has('api') ? processes * count(apiPools, processes) + Number(demo) : 0
  return apis + (roles.has('worker') ? count(workerPools, 1) : 0)
}

/** Opens the named pools of one of `processes` API processes. */
export function createPools<Name extends keyof Pools>(
  connect: Connect,
  names: readonly Name[],
  processes = 1,
): Pick<Pools, Name> {
  const open = (name: keyof Pools) => [name, connect(sizeOf(name, processes), options[name])] as const
  return Object.fromEntries(names.map(open)) as Pick<Pools, Name>
}

/** The size of a pool in each of `processes` processes. */
function sizeOf(name: keyof Pools, processes: number): number {
  const share = Math.min(1, fullProcesses / processes)
  return Math.max(minSizes[name] ?? 1, Math.floor(sizes[name] * share))
}

const options: Record<keyof Pools, Parameters<Connect>[1]> = {
  general: {},
  slow: { statementTimeoutMs: slowReadMs, readOnly: true },
  reads: { hot: true, byIndex: true },
  admission: { hot: true },
  messages: { hot: true },
  settle: { hot: true, relaxed: true },
  broadcasts: { hot: true },
  queue: { hot: true, byIndex: true, relaxed: true },
}

export async function endPools(pools: readonly Db[]): Promise<void> {
  await Promise.all(pools.map((pool) => pool.end({ timeout: 1 })))
}
