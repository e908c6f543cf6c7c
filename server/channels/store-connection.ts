/**
 * Connects, changes and disconnects the accounts of a workspace. A disconnected connection stays, without its secrets, while it has
 * conversations; connecting the same account again continues them.
 */
import type { ChannelName } from '../contacts/resource.ts'
import type { Sealer } from '../lib/crypto.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { requireRow, type Sql } from '../lib/postgres/db.ts'
import { fold, isStorable, lengthOf } from '../lib/text.ts'
import type { Connection } from './channel.ts'
import { forgetOutcomes } from './connection-outcomes.ts'
import {
  type ConnectionState,
  connectionColumns,
  type Row,
  type Secrets,
  type SimulatorKind,
  type StoredConnection,
  sealContext,
  toReadable,
} from './connection-rows.ts'
import { getConnectionById } from './connections.ts'
import { deleteTemplates, deleteUnusedTemplates } from './templates.ts'

export type ConnectionInput = Omit<Connection, 'workspace_id' | 'id' | 'name' | 'address' | 'is_default' | 'scope'> & {
  simulator: SimulatorKind | null
  state: ConnectionState
  /** Of a new connection. Absent: any. */
  id?: string | undefined
  /** Absent: the stored name, or one after the channel. */
  name?: string | undefined
  /** Absent: the stored address, if the account is the same. */
  address?: string | null | undefined
}

/** Creates or replaces the default connection of the channel. The id stays, and with it the callback URL. */
export async function saveConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  input: ConnectionInput,
): Promise<Connection> {
  const rows = await lockConnections(sql, sealer, workspaceId)
  return storeConnection(sql, sealer, workspaceId, rows, input, findReplaced(rows, input))
}

/**
 * The connections of a workspace, also disconnected ones, locked until the caller's transaction ends. The lock of the workspace
 * serializes callers. Secrets that cannot be opened are empty.
 */
export async function lockConnections(sql: Sql, sealer: Sealer, workspaceId: string): Promise<StoredConnection[]> {
  await sql`select from workspaces where id = ${workspaceId} for no key update`
  const stored = await sql<(Row & Pick<StoredConnection, 'simulator' | 'state' | 'disconnected_at'>)[]>`
    select ${connectionColumns(sql)}, c.simulator, c.state, c.disconnected_at from channel_connections c
    where c.workspace_id = ${workspaceId}
    order by c.id
    for update`
  return stored.map((row) => toReadable(sealer, row))
}

/** The connection with this id. 404 when it is disconnected or does not exist. */
export function requireConnected(rows: readonly StoredConnection[], id: string): StoredConnection {
  const row = rows.find((each) => each.id === id && each.disconnected_at === null)
  if (!row) throw notFound('channel')
  return row
}

/** The default connection of a channel. */
export const findDefault = (rows: readonly StoredConnection[], channel: ChannelName): StoredConnection | undefined =>
  rows.find((row) => row.channel === channel && row.is_default)

/**
 * The connection that a new account of the channel replaces: the default one; without one the disconnected one of the same
 * account, or the only disconnected one, so that its conversations continue.
 */
export function findReplaced(
  rows: readonly StoredConnection[],
  input: Pick<Connection, 'channel'> & AccountIds,
): StoredConnection | undefined {
  const disconnected = rows.filter((row) => row.channel === input.channel && row.disconnected_at !== null)
  return (
    findDefault(rows, input.channel) ??
    disconnected.find((row) => isAccount(row, input)) ??
    (disconnected.length === 1 ? disconnected[0] : undefined)
  )
}

/** The provider's ids of a number or account, as far as they are known. */
type AccountIds = { account_id?: string | undefined; phone_number_id?: string | undefined }

/** Whether a connection is for this number or account. Sites have no account. */
export const isAccount = (row: Connection, { account_id, phone_number_id }: AccountIds): boolean =>
  row.channel !== 'web' && row.account_id === account_id && row.phone_number_id === (phone_number_id ?? '')

const maxConnections = 50
/** With the disconnected ones, whose conversations are kept. */
const maxStored = 500

/** Stores a connection: `stored` with new settings, or another one. The caller has locked `rows`. */
export async function storeConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  rows: readonly StoredConnection[],
  { access_token, app_secret, verify_token, ...input }: ConnectionInput,
  stored?: StoredConnection,
): Promise<Connection> {
  const { channel } = input
  const others = rows.filter(({ id }) => id !== stored?.id)
  const connected = others.filter(({ disconnected_at }) => disconnected_at === null)
  if (connected.length >= maxConnections) throw badRequest(`a workspace has at most ${maxConnections} connections`)
  if (!stored && rows.length >= maxStored)
    throw badRequest(`a workspace has at most ${maxStored} connections, with the disconnected ones`)
  const taken = new Set(connected.map(({ name }) => fold(name)))
  const name = input.name === undefined ? freeName(stored?.name ?? firstNames[channel], taken) : input.name
  if (taken.has(fold(name))) throw badRequest('name: another connection has this name')
  const isDefault = !connected.some((other) => other.channel === channel && other.is_default)
  const isSame = stored && isAccount(stored, input) && stored.base_url === input.base_url
  const address =
    input.address === undefined ? (isSame || channel === 'web' ? (stored?.address ?? null) : null) : input.address
  const id = stored?.id ?? input.id ?? newId()
  const columns = {
    channel: isDefault ? channel : null,
    name,
    name_key: fold(name),
    address,
    scope: scopeOf(input, others, stored),
    account_id: input.account_id,
    phone_number_id: input.phone_number_id,
    base_url: input.base_url,
    api_version: input.api_version,
    secrets: sealer.seal(
      JSON.stringify({ access_token, app_secret, verify_token } satisfies Secrets),
      sealContext({ workspace_id: workspaceId, channel }),
    ),
    messages_per_second: input.messages_per_second,
    is_private: input.is_private,
    simulator: input.simulator,
    state: input.state,
  }
  if (!stored) {
    const createdAt = timeOfId(id)
    await sql`
      insert into channel_connections (workspace_id, id, channel_name, name, name_key, secrets, created_at, updated_at)
      values (${workspaceId}, ${id}, ${channel}, ${columns.name}, ${columns.name_key}, ${columns.secrets}, ${createdAt}, ${createdAt})`
  }
  await sql`
    update channel_connections c set ${sql(columns)}, disconnected_at = null, updated_at = now(),
      last_error = case when ${input.state} = 'failing' then c.last_error end,
      -- Another account has its own handshake, callbacks and signals.
      callback_verified_at = case when ${isSame ?? false} then c.callback_verified_at end,
      callback_received_at = case when ${isSame ?? false} then c.callback_received_at end,
      signals = case when ${isSame ?? false} then c.signals else '[]' end
    where c.workspace_id = ${workspaceId} and c.id = ${id}`
  forgetOutcomes(id)
  return requireRow(await getConnectionById(sql, sealer, workspaceId, id), 'the saved connection')
}

const firstNames = { msgapp: 'Phone number', social: 'Social account', web: 'Website' } as const

/** The name, with a number behind it if another connection has it. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(fold(name))) return name
  const base = name.replace(/ \d+$/, '')
  for (let n = 2; ; n++) if (!taken.has(fold(`${base} ${n}`))) return `${base} ${n}`
}

const maxName = 60

/** Throws 400 for an unusable name. */
export function readName(input: string): string {
  const name = input.trim()
  if (name === '') throw badRequest('name: must not be blank')
  if (lengthOf(name) > maxName) throw badRequest(`name: must have at most ${maxName} characters`)
  if (!isStorable(name)) throw badRequest('name: contains a character that is not text')
  return name
}

/**
 * The first account of a channel has no scope, so that its user ids and templates are stored as they are. Two accounts never have the same
 * scope: a connection that moves to another account keeps its scope only if no connection of the earlier account is left.
 */
function scopeOf(
  { channel, account_id }: Pick<Connection, 'channel' | 'account_id'>,
  others: readonly StoredConnection[],
  stored: StoredConnection | undefined,
): string {
  const ofChannel = others.filter((other) => other.channel === channel)
  const sameAccount = ofChannel.find((other) => other.account_id === account_id)
  if (sameAccount) return sameAccount.scope
  const taken = new Set(ofChannel.map(({ scope }) => scope))
  const preferred = stored?.scope ?? (ofChannel.length === 0 ? '' : account_id)
  let scope = taken.has(preferred) ? account_id : preferred
  while (taken.has(scope)) scope += '0'
  return scope
}

/**
 * Deletes the templates of the account that a connection leaves, unless another connected number has the account. The caller has
 * locked `rows`, and stores the connection after that.
 */
export async function deleteLeftTemplates(
  sql: Sql,
  workspaceId: string,
  rows: readonly StoredConnection[],
  { id, channel, scope }: StoredConnection,
): Promise<void> {
  const isShared = rows.some(
    (row) => row.id !== id && row.disconnected_at === null && row.channel === channel && row.scope === scope,
  )
  if (channel === 'msgapp' && !isShared) await deleteTemplates(sql, workspaceId, scope)
}

/** Makes a connection the default of its channel. */
export async function makeDefault(
  sql: Sql,
  workspaceId: string,
  { id, channel }: Pick<Connection, 'id' | 'channel'>,
): Promise<void> {
  await sql`
    update channel_connections set channel = null, updated_at = now()
    where workspace_id = ${workspaceId} and channel = ${channel} and id <> ${id}`
  await sql`
    update channel_connections set channel = channel_name, updated_at = now()
    where workspace_id = ${workspaceId} and id = ${id} and disconnected_at is null`
}

/**
 * Disconnects a connection, in the caller's transaction. While it has conversations, a trigger keeps the row without its secrets. If it
 * was the default, the oldest other one of the channel is the default now.
 */
export async function deleteConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  id: string,
): Promise<Pick<Connection, 'channel' | 'name'>> {
  const rows = await lockConnections(sql, sealer, workspaceId)
  const row = requireConnected(rows, id)
  const { channel, name } = row
  await sql`delete from channel_connections where workspace_id = ${workspaceId} and id = ${id}`
  const next = rows.find((each) => each.channel === channel && each.id !== id && each.disconnected_at === null)
  if (row.is_default && next) await makeDefault(sql, workspaceId, next)
  if (channel === 'msgapp') await deleteUnusedTemplates(sql, workspaceId)
  return { channel, name }
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
