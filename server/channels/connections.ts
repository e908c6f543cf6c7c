/**
 * Connections: the accounts of a workspace on its channels: phone numbers, social accounts and sites.
 *
 * Each channel has a default connection, which is used when nothing else decides. A disconnected connection stays, without its
 * secrets, while it has conversations; connecting the same account again continues them.
 *
 * Tokens are sealed and never returned. `state` is the outcome of the last check or the last use: a send that finds the
 * token expired sets it to `failing`, and the next successful send resets it.
 */
import { identityOfPhone, parsePhone } from '../contacts/phone.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { createBatch } from '../lib/batch.ts'
import type { Sealer } from '../lib/crypto.ts'
import { ApiError, badRequest, notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { messageKinds } from '../triggers/queue.ts'
import { currentAccountSignals, type StoredAccountSignal } from './account-signals.ts'
import type { Connection } from './channel.ts'
import {
  type ConnectionState,
  connectionColumns,
  type Row,
  type SimulatorKind,
  type StoredConnection,
  toConnection,
  toReadable,
  tryOpenSecrets,
} from './connection-rows.ts'
import { type PublicConnection, publicConnection } from './resource.ts'
import type { Widget } from './widget.ts'

/** A connection as members see it, without tokens. */
export type ListedConnection = Pick<
  Connection,
  | 'id'
  | 'channel'
  | 'name'
  | 'address'
  | 'is_default'
  | 'account_id'
  | 'phone_number_id'
  | 'base_url'
  | 'api_version'
  | 'messages_per_second'
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

type Shown = Pick<
  ListedConnection,
  'simulator' | 'state' | 'last_error' | 'checked_at' | 'callback_verified_at' | 'callback_received_at' | 'signals'
>

const unreadableSecrets = 'its secrets cannot be opened with this ENCRYPTION_KEY; enter them again'

/** The default connection of a channel. */
export async function getConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  channel: ChannelName,
): Promise<Connection | undefined> {
  const [row] = await sql<Row[]>`
    select ${connectionColumns(sql)} from channel_connections c
    where c.workspace_id = ${workspaceId} and c.channel = ${channel}`
  return row && toConnection(sealer, row)
}

/** Undefined also when it is disconnected. */
export async function getConnectionById(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  id: string,
): Promise<Connection | undefined> {
  const [row] = await sql<Row[]>`
    select ${connectionColumns(sql)} from channel_connections c
    where c.workspace_id = ${workspaceId} and c.id = ${id} and c.disconnected_at is null`
  return row && toConnection(sealer, row)
}

/** The sender that a request names in `from`: the id of a number, or the number in any form that `to` accepts. */
export type SenderRef = { from: string; defaultCountry: string }

/** The number that `from` names. 400 when the workspace has no such number. */
export async function requireSender(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  { from, defaultCountry }: SenderRef,
): Promise<Connection> {
  const found = isUuid(from)
    ? await getConnectionById(sql, sealer, workspaceId, from)
    : await findNumber(sql, sealer, workspaceId, parsePhone(from, defaultCountry))
  if (found?.channel !== 'msgapp')
    throw badRequest('from: not a connected number of the workspace; GET /connections lists them')
  return found
}

/** Compares as identities are compared, in which a country can have two spellings of a number. */
async function findNumber(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  phone: string | undefined,
): Promise<Connection | undefined> {
  if (!phone) return undefined
  const rows = await sql<Row[]>`
    select ${connectionColumns(sql)} from channel_connections c
    where c.workspace_id = ${workspaceId} and c.channel_name = 'msgapp' and c.disconnected_at is null
      and c.address is not null`
  const row = rows.find(({ address }) => address && identityOfPhone(address) === identityOfPhone(phone))
  return row && toConnection(sealer, row)
}

/**
 * The connection of a callback or a visitor, with what the workspace does with messages, the settings of the widget and the sealed identity
 * secret, so that one statement reads all of them.
 */
export type CallbackConnection = Connection & CallbackSettings
type CallbackSettings = {
  opt_out_words: string[]
  /**
   * Changes with the automations of the workspace. Null: a customer's message starts and continues none. It is the version of the
   * workspace's row, which each change of its automations writes.
   */
  automations_version: string | null
  widget: Partial<Widget>
  identity_secret: string | null
}

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
        select ${connectionColumns(sql)}, c.widget, c.identity_secret, w.opt_out_words,
          case when w.automation_kinds && ${[...messageKinds]}::text[] then w.xmin::text end as automations_version
        from channel_connections c join workspaces w on w.id = c.workspace_id
        where c.id = any(${[...new Set(ids)]}::uuid[]) and c.disconnected_at is null`
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
  const connection = isUuid(id) ? await getConnectionById(sql, sealer, workspaceId, id) : undefined
  if (!connection) throw notFound('channel')
  return connection
}

/** The number that `from` names, or the default one. Throws `msgapp_not_configured` without one. */
export async function requireMsgapp(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  sender?: SenderRef,
): Promise<Connection> {
  if (sender) return requireSender(sql, sealer, workspaceId, sender)
  const connection = await getConnection(sql, sealer, workspaceId, 'msgapp')
  if (!connection) throw notConnected('msgapp')
  return connection
}

/** One connected number of each provider account of the primary channel, the default number first. */
export async function listAccounts(sql: Sql, sealer: Sealer, workspaceId: string): Promise<Connection[]> {
  const rows = await sql<Row[]>`
    select ${connectionColumns(sql)} from channel_connections c
    where c.workspace_id = ${workspaceId} and c.channel_name = 'msgapp' and c.disconnected_at is null
    order by c.channel nulls last, c.id`
  const first = rows.filter((row, i) => rows.findIndex(({ account_id }) => account_id === row.account_id) === i)
  return first.map((row) => toConnection(sealer, row))
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
    select ${connectionColumns(sql)}, c.simulator, c.state, c.last_error, c.checked_at, c.callback_verified_at,
      c.callback_received_at, c.signals
    from channel_connections c
    where c.workspace_id = ${workspaceId} and c.disconnected_at is null
    order by c.id`
  return rows.map((row) => {
    const { secrets: _, workspace_id: __, is_private: ___, scope: ____, ...stored } = row
    const shown = { ...stored, signals: currentAccountSignals(row.signals) }
    if (shown.channel === 'web') return { ...shown, callback_url: null, verify_token: null }
    const secrets = tryOpenSecrets(sealer, row)
    const callback_url = callbackUrl(publicUrl, shown)
    if (secrets) return { ...shown, callback_url, verify_token: secrets.verify_token }
    return { ...shown, callback_url, verify_token: null, state: 'failing', last_error: unreadableSecrets }
  })
}

/** The connections of a workspace as the API shows them, oldest first, with the disconnected ones. */
export const listPublicConnections = (sql: Sql, workspaceId: string): Promise<PublicConnection[]> => sql<
  PublicConnection[]
>`
  select ${publicConnection.columns(sql)} from channel_connections k where k.workspace_id = ${workspaceId} order by k.id`

export async function requirePublicConnection(sql: Sql, workspaceId: string, id: string): Promise<PublicConnection> {
  const [connection] = isUuid(id)
    ? await sql<PublicConnection[]>`
        select ${publicConnection.columns(sql)} from channel_connections k where k.workspace_id = ${workspaceId} and k.id = ${id}`
    : []
  if (!connection) throw notFound('connection')
  return connection
}

/** The URL to which the provider posts. */
export function callbackUrl(publicUrl: string, { channel, id }: Pick<Connection, 'channel' | 'id'>): string {
  return `${publicUrl}/channels/${channel}/${id}`
}

/** A connection to the built-in simulator, with the fields of its workspace that the simulator shows. */
export type SimulatedConnection = Connection & { workspace_name: string; is_demo: boolean }

/** Connections of all workspaces, for the built-in simulator: it is the provider of each of them. */
export async function listBuiltInConnections(sql: Sql, sealer: Sealer): Promise<SimulatedConnection[]> {
  const rows = await sql<(Row & { workspace_name: string; is_demo: boolean })[]>`
    select ${connectionColumns(sql)}, w.name as workspace_name, w.is_demo
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

/** Connections of all workspaces, without previews, that have a provider or a simulator, the newest first. Secrets that cannot be opened are empty. */
export async function listProvidedConnections(sql: Sql, sealer: Sealer, limit: number): Promise<ProvidedConnection[]> {
  const rows = await sql<
    (Row &
      Pick<Shown, 'simulator' | 'state' | 'callback_verified_at'> & { disconnected_at: null; workspace_name: string })[]
  >`
    select ${connectionColumns(sql)}, c.simulator, c.state, c.disconnected_at, c.callback_verified_at, w.name as workspace_name
    from channel_connections c join workspaces w on w.id = c.workspace_id
    where c.channel_name <> 'web' and c.disconnected_at is null and w.preview_of is null
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
