/**
 * Connections: the accounts of a workspace on its channels, one per channel.
 *
 * Tokens are sealed and never returned. `state` is the outcome of the last check or the last use: a send that finds the
 * token expired sets it to `failing`, and the next successful send resets it.
 */
import type { ChannelName } from '../contacts/resource.ts'
import { createBatch } from '../lib/batch.ts'
import { nowMs } from '../lib/clock.ts'
import { type SealContext, SealError, type Sealer } from '../lib/crypto.ts'
import { ApiError, badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { requireRow, type Sql } from '../lib/postgres/db.ts'
import { currentAccountSignals, type StoredAccountSignal } from './account-signals.ts'
import type { Connection } from './channel.ts'
import { deleteTemplates } from './templates.ts'
import type { Widget } from './widget.ts'

export type ConnectionState = 'unchecked' | 'connected' | 'failing'
/** The simulator of a connection: the built-in one, or one that runs as its own process. */
export type SimulatorKind = 'built_in' | 'alone'

/** A connection as members see it, without tokens. */
export type ListedConnection = Pick<
  Connection,
  'id' | 'channel' | 'account_id' | 'phone_number_id' | 'base_url' | 'api_version' | 'messages_per_second'
> & {
  /** The URL to which the provider posts, and the token of its handshake; null on `web`, which has no provider. */
  callback_url: string | null
  verify_token: string | null
  /** The times of the last handshake and of the last callback with a valid signature. */
  callback_verified_at: string | null
  callback_received_at: string | null
  state: ConnectionState
  last_error: string | null
  checked_at: string | null
  simulator: SimulatorKind | null
  /** The provider's reports about the account, restrictions first. */
  signals: StoredAccountSignal[]
}

export async function getConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  channel: ChannelName,
): Promise<Connection | undefined> {
  const [row] = await sql<Row[]>`
    select ${connectionColumns(sql)} from channel_connections
    where workspace_id = ${workspaceId} and channel = ${channel}`
  return row && toConnection(sealer, row)
}

/**
 * The connection of a callback or a visitor, with the workspace's opt-out words, the settings of the widget and the sealed identity
 * secret, so that one statement reads all of them.
 */
export type CallbackConnection = Connection & CallbackSettings
type CallbackSettings = { opt_out_words: string[]; widget: Partial<Widget>; identity_secret: string | null }

/**
 * Reads connections for callbacks and site chat, whose URLs have only the id of the connection. The row gives the workspace.
 * Concurrent requests share a statement.
 */
export const createConnectionReader = (
  sql: Sql,
  sealer: Sealer,
): ((id: string) => Promise<CallbackConnection | undefined>) => {
  const read = createBatch({
    run: async (ids: readonly string[]) => {
      const rows = await sql<(Row & CallbackSettings)[]>`
        select ${connectionColumns(sql)}, widget, identity_secret,
          (select w.opt_out_words from workspaces w where w.id = workspace_id) as opt_out_words
        from channel_connections where id = any(${[...new Set(ids)]}::uuid[])`
      const byId = new Map(rows.map((row) => [row.id, row]))
      return ids.map((id) => byId.get(id))
    },
  })
  return async (id) => {
    const row = isUuid(id) ? await read(id.toLowerCase()) : undefined
    return row && toConnection(sealer, row)
  }
}

export async function requireConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  id: string,
): Promise<Connection> {
  const [row] = isUuid(id)
    ? await sql<Row[]>`
        select ${connectionColumns(sql)} from channel_connections where workspace_id = ${workspaceId} and id = ${id}`
    : []
  if (!row) throw notFound('channel')
  return toConnection(sealer, row)
}

/** The connection of the primary channel. Throws `msgapp_not_configured` without one. */
export async function requireMsgapp(sql: Sql, sealer: Sealer, workspaceId: string): Promise<Connection> {
  const connection = await getConnection(sql, sealer, workspaceId, 'msgapp')
  if (!connection) throw notConnected('msgapp')
  return connection
}

export const notConnected = (channel: ChannelName): ApiError =>
  channel === 'msgapp'
    ? new ApiError(
        'msgapp_not_configured',
        'the workspace has no msgapp connection; connect one in the dashboard, or run npx parley workspace connect-simulator',
      )
    : badRequest(`the workspace has no ${channel} connection`)

export async function listConnections(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  publicUrl: string,
): Promise<ListedConnection[]> {
  const rows = await sql<(Row & Shown)[]>`
    select ${connectionColumns(sql)}, simulator, state, last_error, checked_at, callback_verified_at,
      callback_received_at, signals
    from channel_connections
    where workspace_id = ${workspaceId}
    order by id`
  return rows.map((row) => {
    const { secrets: _, workspace_id: __, is_private: ___, ...stored } = row
    const shown = { ...stored, signals: currentAccountSignals(row.signals) }
    if (shown.channel === 'web') return { ...shown, callback_url: null, verify_token: null }
    const secrets = tryOpenSecrets(sealer, row)
    const callback_url = callbackUrl(publicUrl, shown)
    if (secrets) return { ...shown, callback_url, verify_token: secrets.verify_token }
    return { ...shown, callback_url, verify_token: null, state: 'failing', last_error: unreadableSecrets }
  })
}

/** The URL to which the provider posts. */
export function callbackUrl(publicUrl: string, { channel, id }: Pick<Connection, 'channel' | 'id'>): string {
  return `${publicUrl}/channels/${channel}/${id}`
}

export type ConnectionInput = Omit<Connection, 'workspace_id' | 'id'> & {
  simulator: SimulatorKind | null
  state: ConnectionState
}

/** Creates or replaces the connection of the channel. The id stays, and with it the callback URL. */
export async function saveConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  { access_token, app_secret, verify_token, ...input }: ConnectionInput,
): Promise<Connection> {
  const id = newId()
  const secrets: Secrets = { access_token, app_secret, verify_token }
  const context = sealContext({ workspace_id: workspaceId, channel: input.channel })
  const sealed = sealer.seal(JSON.stringify(secrets), context)
  const [row] = await sql<Row[]>`
    insert into channel_connections as c
      (workspace_id, id, channel, account_id, phone_number_id, base_url, api_version, secrets, messages_per_second,
        is_private, simulator, state, created_at, updated_at)
    values (${workspaceId}, ${id}, ${input.channel}, ${input.account_id}, ${input.phone_number_id}, ${input.base_url},
      ${input.api_version}, ${sealed}, ${input.messages_per_second}, ${input.is_private},
      ${input.simulator}, ${input.state}, ${timeOfId(id)}, ${timeOfId(id)})
    on conflict (workspace_id, channel) do update set
      account_id = excluded.account_id, phone_number_id = excluded.phone_number_id, base_url = excluded.base_url,
      api_version = excluded.api_version, secrets = excluded.secrets, messages_per_second = excluded.messages_per_second,
      is_private = excluded.is_private, simulator = excluded.simulator, state = excluded.state,
      last_error = case when excluded.state = 'failing' then c.last_error end, updated_at = now(),
      -- Another account has its own handshake, callbacks and signals.
      callback_verified_at = case when ${isSameAccount(sql)} then c.callback_verified_at end,
      callback_received_at = case when ${isSameAccount(sql)} then c.callback_received_at end,
      signals = case when ${isSameAccount(sql)} then c.signals else '[]' end
    returning ${connectionColumns(sql)}`
  const saved = requireRow(row, 'the saved connection')
  lastOutcomes.delete(saved.id)
  lastCallbacks.delete(saved.id)
  return toConnection(sealer, saved)
}

export type StoredConnection = Connection & { simulator: SimulatorKind | null; state: ConnectionState }

/** The connection of the channel, locked until the caller's transaction ends. Secrets that cannot be opened are empty. */
export async function lockConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  channel: ChannelName,
): Promise<StoredConnection | undefined> {
  const [row] = await sql<(Row & Pick<Shown, 'simulator' | 'state'>)[]>`
    select ${connectionColumns(sql)}, simulator, state from channel_connections
    where workspace_id = ${workspaceId} and channel = ${channel}
    for update`
  return row && toReadable(sealer, row)
}

export async function deleteConnection(sql: Sql, workspaceId: string, id: string): Promise<ChannelName> {
  const [deleted] = isUuid(id)
    ? await sql<{ channel: ChannelName }[]>`
        delete from channel_connections where workspace_id = ${workspaceId} and id = ${id} returning channel`
    : []
  if (!deleted) throw notFound('channel')
  if (deleted.channel === 'msgapp') await deleteTemplates(sql, workspaceId)
  return deleted.channel
}

/** Stores the outcome of a check. */
export async function settleCheck(
  sql: Sql,
  workspaceId: string,
  id: string,
  { state, last_error }: { state: ConnectionState; last_error: string | null },
): Promise<void> {
  lastOutcomes.delete(id)
  await sql`
    update channel_connections set state = ${state}, last_error = ${last_error}, checked_at = now()
    where workspace_id = ${workspaceId} and id = ${id}`
}

/**
 * Records the outcome of a use: an error of the connection for members, or null when it works. Every send may call this:
 * the same outcome reaches the database at most every 30 seconds, and a row changes only when its outcome does.
 */
export async function recordConnectionOutcome(
  sql: Sql,
  workspaceId: string,
  id: string,
  error: string | null,
): Promise<void> {
  const before = lastOutcomes.get(id)
  if (before && before.error === error && nowMs() - before.at < rerecordMs) return
  remember(lastOutcomes, id, { error, at: nowMs() })
  const state = error === null ? 'connected' : 'failing'
  await sql`
    update channel_connections set state = ${state}, last_error = ${error}, checked_at = now()
    where workspace_id = ${workspaceId} and id = ${id}
      and (state <> ${state} or last_error is distinct from ${error})`
}

/** Records the time of a handshake or of a callback with a valid signature. Callbacks are recorded every 30 seconds at most. */
export async function recordCallback(
  sql: Sql,
  { workspace_id, id }: Pick<Connection, 'workspace_id' | 'id'>,
  event: 'verified' | 'received',
): Promise<void> {
  if (event === 'received') {
    if (nowMs() - (lastCallbacks.get(id) ?? 0) < rerecordMs) return
    remember(lastCallbacks, id, nowMs())
  }
  await sql`
    update channel_connections set ${sql(`callback_${event}_at`)} = now()
    where workspace_id = ${workspace_id} and id = ${id}`
}

/** A connection to the built-in simulator, with the fields of its workspace that the simulator shows. */
export type SimulatedConnection = Connection & { workspace_name: string; is_demo: boolean }

/** Connections of all workspaces, for the built-in simulator: it is the provider of each of them. */
export async function listBuiltInConnections(sql: Sql, sealer: Sealer): Promise<SimulatedConnection[]> {
  const rows = await sql<(Row & { workspace_name: string; is_demo: boolean })[]>`
    select c.workspace_id, c.id, c.channel, c.account_id, c.phone_number_id, c.base_url, c.api_version, c.secrets,
      c.messages_per_second, c.is_private, w.name as workspace_name, w.is_demo
    from channel_connections c join workspaces w on w.id = c.workspace_id
    where c.simulator = 'built_in'
    order by c.id`
  return rows.flatMap(({ workspace_name, is_demo, ...row }) =>
    tryOpenSecrets(sealer, row) ? [{ ...toConnection(sealer, row), workspace_name, is_demo }] : [],
  )
}

/** The address of the built-in simulator, from the oldest of those, so that every process gets the same. */
export async function getBuiltInUrl(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ base_url: string }[]>`
    select base_url from channel_connections where simulator = 'built_in' order by id limit 1`
  return row?.base_url.replace(/\/graph$/, '')
}

export type ProvidedConnection = StoredConnection & Pick<Shown, 'callback_verified_at'> & { workspace_name: string }

/** Connections of all workspaces that have a provider or a simulator, the newest first. Secrets that cannot be opened are empty. */
export async function listProvidedConnections(sql: Sql, sealer: Sealer, limit: number): Promise<ProvidedConnection[]> {
  const rows = await sql<
    (Row & Pick<Shown, 'simulator' | 'state' | 'callback_verified_at'> & { workspace_name: string })[]
  >`
    select c.workspace_id, c.id, c.channel, c.account_id, c.phone_number_id, c.base_url, c.api_version, c.secrets,
      c.messages_per_second, c.is_private, c.simulator, c.state, c.callback_verified_at, w.name as workspace_name
    from channel_connections c join workspaces w on w.id = c.workspace_id
    where c.channel <> 'web'
    order by c.simulator is not null, c.id desc
    limit ${limit}`
  return rows.map((row) => toReadable(sealer, row))
}

/** Moves the connections of all workspaces to the built-in simulator's new address. Returns the number of moved ones. */
export async function moveBuiltInConnections(sql: Sql, to: string): Promise<number> {
  const { count } = await sql`
    update channel_connections set base_url = ${to}, updated_at = now()
    where simulator = 'built_in' and base_url <> ${to}`
  return count
}

export const defaultPace = 80
export const defaultVersion = 'v25.0'

/** The web channel has no provider and no credentials. */
export const webConnection = {
  channel: 'web',
  account_id: '',
  phone_number_id: '',
  base_url: '',
  api_version: '',
  access_token: '',
  app_secret: '',
  verify_token: '',
  is_private: false,
  simulator: null,
  state: 'connected',
} as const

type Secrets = Pick<Connection, 'access_token' | 'app_secret' | 'verify_token'>
type Row = Omit<Connection, keyof Secrets> & { secrets: string }
type Shown = Pick<
  ListedConnection,
  'simulator' | 'state' | 'last_error' | 'checked_at' | 'callback_verified_at' | 'callback_received_at' | 'signals'
>

const unreadableSecrets = 'its secrets cannot be opened with this ENCRYPTION_KEY; enter them again'

/** The columns of `Connection`. */
const connectionColumns = (sql: Sql) => sql`
  workspace_id, id, channel, account_id, phone_number_id, base_url, api_version, secrets, messages_per_second, is_private`

/** Condition: connection `c` is saved for the same account as before. */
const isSameAccount = (sql: Sql) => sql`
  c.account_id = excluded.account_id and c.phone_number_id = excluded.phone_number_id and c.base_url = excluded.base_url`

function toConnection<Stored extends Row>(sealer: Sealer, stored: Stored): Omit<Stored, 'secrets'> & Secrets {
  const { secrets: _, ...row } = stored
  return { ...row, ...openSecrets(sealer, stored) }
}

/** Secrets that cannot be opened are empty. */
function toReadable<Stored extends Row>(sealer: Sealer, stored: Stored): Omit<Stored, 'secrets'> & Secrets {
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

function tryOpenSecrets(sealer: Sealer, row: Row): Secrets | undefined {
  try {
    return openSecrets(sealer, row)
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}

/** The last outcome of each connection that this process recorded. */
const lastOutcomes = new Map<string, { error: string | null; at: number }>()
const rerecordMs = 30_000

/** The time of the last callback of each connection that this process recorded. */
const lastCallbacks = new Map<string, number>()

const maxEntries = 1_000

/** Adds an entry, and evicts the oldest one when there are too many. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  const [first] = map.keys()
  if (map.size > maxEntries && first !== undefined) map.delete(first)
}
