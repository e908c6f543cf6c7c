/** The row of a connection, and its secrets: sealed in the row, opened when the connection is used. */
import { type SealContext, SealError, type Sealer } from '../lib/crypto.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import type { Connection } from './channel.ts'
import { remember } from './recent.ts'

export type ConnectionState = 'unchecked' | 'connected' | 'failing'
/** The simulator of a connection: the built-in one, or one that runs as its own process. */
export type SimulatorKind = 'built_in' | 'alone'

/** A connection with what its owner sees of it, also a disconnected one. */
export type StoredConnection = Connection & {
  simulator: SimulatorKind | null
  state: ConnectionState
  disconnected_at: string | null
}

export type Secrets = Pick<Connection, 'access_token' | 'app_secret' | 'verify_token'>
export type Row = Omit<Connection, keyof Secrets> & { secrets: string }

/** The columns of `Connection`. */
export const connectionColumns = (sql: Sql): Fragment => sql`
  c.workspace_id, c.id, c.channel_name as channel, c.name, c.address, c.channel is not null as is_default, c.scope,
  c.account_id, c.phone_number_id, c.base_url, c.api_version, c.secrets, c.messages_per_second, c.is_private`

export function toConnection<Stored extends Row>(sealer: Sealer, stored: Stored): Omit<Stored, 'secrets'> & Secrets {
  const { secrets: _, ...row } = stored
  return { ...row, ...openSecrets(sealer, stored) }
}

/** Secrets that cannot be opened are empty. */
export function toReadable<Stored extends Row>(sealer: Sealer, stored: Stored): Omit<Stored, 'secrets'> & Secrets {
  const { secrets: _, ...row } = stored
  return { ...row, ...(tryOpenSecrets(sealer, stored) ?? { access_token: '', app_secret: '', verify_token: '' }) }
}

/** By workspace and channel: the id is not known when the secrets are sealed. */
export const sealContext = ({ workspace_id, channel }: { workspace_id: string; channel: string }): SealContext => [
  'channel_connections',
  workspace_id,
  channel,
]

/** Cache of opened secrets, by row and sealed text: opening takes 10 µs, and each send needs them. */
const openedSecrets = new Map<string, Secrets>()

function openSecrets(sealer: Sealer, row: Row): Secrets {
  const key = `${row.workspace_id} ${row.channel} ${row.secrets}`
  const cached = openedSecrets.get(key)
  if (cached) return cached
  const secrets: Secrets = JSON.parse(sealer.open(row.secrets, sealContext(row)))
  remember(openedSecrets, key, secrets)
  return secrets
}

export function tryOpenSecrets(sealer: Sealer, row: Row): Secrets | undefined {
  try {
    return openSecrets(sealer, row)
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}
