/** The database of a command, and the check that a database has enough connections. */
import {
  type DatabaseAddress,
  findEmbeddedPostgres,
  inspectEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../embedded/postgres.ts'
import { StartError } from '../process/start-error.ts'
import { type ConnectOptions, connect, type Db } from './db.ts'

/** `databaseUrl` names an external database. Without it the embedded one in `dataDir` is used. */
type DatabaseChoice = { databaseUrl?: string | undefined; dataDir: string }

export type Connect = (max: number, options?: Omit<ConnectOptions, 'database' | 'max'>) => Db

export const connectorOf =
  (database: string | DatabaseAddress): Connect =>
  (max, options) =>
    connect({ database, max, ...options })

/**
 * Uses the embedded database of a running service, or starts it until the command ends. It creates none: a command with the
 * settings of another folder would work on an empty database and report success.
 */
export async function joinDatabase(choice: DatabaseChoice): Promise<{ connect: Connect; stop(): Promise<void> }> {
  const running = choice.databaseUrl ?? (await findEmbeddedPostgres(choice.dataDir))
  if (running) return { connect: connectorOf(running), stop: async () => {} }
  if ((await inspectEmbeddedPostgres(choice.dataDir)).state === 'absent') {
    throw new StartError(
      `There is no database in ${choice.dataDir}. Set DATA_DIR to the data folder of the service, or DATABASE_URL to its database. For a service of systemd, run deploy/parley, which uses the settings of the service.`,
    )
  }
  const { address, stop } = await startEmbeddedPostgres({ dataDir: choice.dataDir })
  return { connect: connectorOf(address), stop }
}

/**
 * Opens every connection of the pools once. A pooler that has too few server connections accepts the client and lets its
 * first statement wait, so without this check the service would start and hang under load.
 */
export async function requireConnections(pools: readonly Db[]): Promise<void> {
  const reserving = pools.flatMap((pool) => Array.from({ length: pool.options.max }, () => pool.reserve()))
  try {
    for (const connection of await Promise.all(reserving)) connection.release()
  } catch (error) {
    throw new StartError(
      `the database gives this process fewer than ${reserving.length + 1} connections (${error}); raise default_pool_size of the pooler, or max_connections of PostgreSQL`,
    )
  }
}
