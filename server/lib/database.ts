/** The database of this process: the one in `DATABASE_URL`, or the embedded one in the data directory. */
import { type ConnectOptions, connect, type Db } from './db.ts'
import { type DatabaseAddress, findEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts'
import { StartError } from './start-error.ts'

/** `databaseUrl` names an external database. Without it the embedded one in `dataDir` is used. */
export type DatabaseChoice = { databaseUrl?: string | undefined; dataDir: string }

export type Database = {
  connect(max: number, options?: Pick<ConnectOptions, 'hot' | 'byIndex' | 'relaxed'>): Db
  /** Resolves with a reason if the embedded database ends by itself. */
  exited: Promise<string>
  stop(): Promise<void>
}

/** For the service, which starts the embedded database itself. */
export async function openDatabase({ databaseUrl, dataDir }: DatabaseChoice): Promise<Database> {
  if (databaseUrl) return external(databaseUrl)
  const { address, exited, stop } = await startEmbeddedPostgres({ dataDir })
  return { connect: (max, options) => connect({ database: address, max, ...options }), exited, stop }
}

/** For a command: uses the embedded database of a running service, or starts it until the command ends. */
export async function joinDatabase(config: DatabaseChoice): Promise<Database> {
  const running = config.databaseUrl ?? (await findEmbeddedPostgres(config.dataDir))
  return running ? external(running) : openDatabase(config)
}

function external(database: string | DatabaseAddress): Database {
  return {
    connect: (max, options) => connect({ database, max, ...options }),
    exited: new Promise(() => {}),
    stop: async () => {},
  }
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
