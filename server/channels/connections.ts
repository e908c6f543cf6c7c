/**
 * Connections: how a workspace speaks on its channels, one a channel.
 *
 * Tokens are sealed and never shown again.
 *
 * `state` is what the last check or the last use showed: a send that finds the
 * token expired says so here, and the next one that works takes it back.
 */
import type { ChannelName } from '../contacts/contacts.ts'
import { nowMs } from '../lib/clock.ts'
import { type SealContext, SealError, type Sealer } from '../lib/crypto.ts'
import { requireRow, type Sql } from '../lib/db.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import type { Connection } from './channel.ts'
import { currentSignals, type StoredSignal } from './signals.ts'
import { deleteTemplates } from './templates.ts'
import type { Widget } from './widget.ts'

export type ConnectionState = 'unchecked' | 'connected' | 'failing'
/** Which simulator a connection speaks to: the one inside the service, or one that runs alone. */
export type SimulatorKind = 'built_in' | 'alone'

/** A connection as members see it, without what is secret. */
export type ListedConnection = Pick<
  Connection,
  'id' | 'channel' | 'account_id' | 'phone_number_id' | 'base_url' | 'api_version' | 'messages_per_second'
> & {
  /** Where the provider reports to, and what it proves itself with; null on `web`, which has no provider. */
  callback_url: string | null
  verify_token: string | null
  /** When the provider last asked whether the callback is ours, and last reported to it with a right signature. */
  callback_verified_at: string | null
  callback_received_at: string | null
  state: ConnectionState
  last_error: string | null
  checked_at: string | null
  simulator: SimulatorKind | null
  /** What the provider reported about the account, restrictions first. */
  signals: StoredSignal[]
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
 * What a callback or a visitor comes by: with what the workspace's customers may say to opt out and what was set of the
 * widget, so that nobody need ask again.
 */
export type CallbackConnection = Connection & FoundAlong
type FoundAlong = { opt_out_words: string[]; widget: Partial<Widget> }

/** For a callback, which names its connection alone: it says which workspace it is for. */
export async function getConnectionById(sql: Sql, sealer: Sealer, id: string): Promise<CallbackConnection | undefined> {
  const [row] = isUuid(id)
    ? await sql<(Row & FoundAlong)[]>`
        select ${connectionColumns(sql)}, widget,
          (select w.opt_out_words from workspaces w where w.id = workspace_id) as opt_out_words
        from channel_connections where id = ${id}`
    : []
  return row && toConnection(sealer, row)
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

/** The connection of the primary channel, without which nothing is sent there. */
export async function requireMsgapp(sql: Sql, sealer: Sealer, workspaceId: string): Promise<Connection> {
  const connection = await getConnection(sql, sealer, workspaceId, 'msgapp')
  if (connection) return connection
  throw new ApiError(
    'msgapp_not_configured',
    'the workspace has no msgapp connection; connect one in the dashboard, or npx parley workspace connect-simulator',
  )
}

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
    const shown = { ...stored, signals: currentSignals(row.signals) }
    if (shown.channel === 'web') return { ...shown, callback_url: null, verify_token: null }
    const secrets = tryOpening(sealer, row)
    const callback_url = callbackUrl(publicUrl, shown)
    if (secrets) return { ...shown, callback_url, verify_token: secrets.verify_token }
    return { ...shown, callback_url, verify_token: null, state: 'failing', last_error: unopened }
  })
}

/** Where the provider reports to. */
export function callbackUrl(publicUrl: string, { channel, id }: Pick<Connection, 'channel' | 'id'>): string {
  return `${publicUrl}/channels/${channel}/${id}`
}

export type GivenConnection = Omit<Connection, 'workspace_id' | 'id'> & {
  simulator: SimulatorKind | null
  state: ConnectionState
}

/** Make the channel's connection or replace it; its id stays, and with it the callback's address. */
export async function saveConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  { access_token, app_secret, verify_token, ...given }: GivenConnection,
): Promise<Connection> {
  const id = newId()
  const secrets: Secrets = { access_token, app_secret, verify_token }
  const context = sealContext({ workspace_id: workspaceId, channel: given.channel })
  const sealed = sealer.seal(JSON.stringify(secrets), context)
  const [row] = await sql<Row[]>`
    insert into channel_connections as c
      (workspace_id, id, channel, account_id, phone_number_id, base_url, api_version, secrets, messages_per_second,
        is_private, simulator, state, created_at, updated_at)
    values (${workspaceId}, ${id}, ${given.channel}, ${given.account_id}, ${given.phone_number_id}, ${given.base_url},
      ${given.api_version}, ${sealed}, ${given.messages_per_second}, ${given.is_private},
      ${given.simulator}, ${given.state}, ${timeOfId(id)}, ${timeOfId(id)})
    on conflict (workspace_id, channel) do update set
      account_id = excluded.account_id, phone_number_id = excluded.phone_number_id, base_url = excluded.base_url,
      api_version = excluded.api_version, secrets = excluded.secrets, messages_per_second = excluded.messages_per_second,
      is_private = excluded.is_private, simulator = excluded.simulator, state = excluded.state,
      last_error = case when excluded.state = 'failing' then c.last_error end, updated_at = now(),
      -- What another account's provider did says nothing of this one's.
      callback_verified_at = case when ${isSameAccount(sql)} then c.callback_verified_at end,
      callback_received_at = case when ${isSameAccount(sql)} then c.callback_received_at end,
      signals = case when ${isSameAccount(sql)} then c.signals else '[]' end
    returning ${connectionColumns(sql)}`
  const saved = requireRow(row, 'the saved connection')
  noted.delete(saved.id)
  heard.delete(saved.id)
  return toConnection(sealer, saved)
}

export type StoredConnection = Connection & { simulator: SimulatorKind | null; state: ConnectionState }

/** The channel's connection, locked for a change in the caller's transaction. Secrets that cannot be opened are empty. */
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
  const [gone] = isUuid(id)
    ? await sql<{ channel: ChannelName }[]>`
        delete from channel_connections where workspace_id = ${workspaceId} and id = ${id} returning channel`
    : []
  if (!gone) throw notFound('channel')
  if (gone.channel === 'msgapp') await deleteTemplates(sql, workspaceId)
  return gone.channel
}

/** What a check showed. */
export async function settleCheck(
  sql: Sql,
  workspaceId: string,
  id: string,
  { state, last_error }: { state: ConnectionState; last_error: string | null },
): Promise<void> {
  noted.delete(id)
  await sql`
    update channel_connections set state = ${state}, last_error = ${last_error}, checked_at = now()
    where workspace_id = ${workspaceId} and id = ${id}`
}

/**
 * What a use showed: an error that lies in the connection, in words for a person, or null when it works. Written only
 * when it is news; the same word again asks the database at most every half minute, so this may be called at each send.
 */
export async function noteOutcome(sql: Sql, workspaceId: string, id: string, error: string | null): Promise<void> {
  const before = noted.get(id)
  if (before && before.error === error && nowMs() - before.at < renoteMs) return
  remember(noted, id, { error, at: nowMs() })
  const state = error === null ? 'connected' : 'failing'
  await sql`
    update channel_connections set state = ${state}, last_error = ${error}, checked_at = now()
    where workspace_id = ${workspaceId} and id = ${id}
      and (state <> ${state} or last_error is distinct from ${error})`
}

/** The provider asked whether the callback is ours, with the right token; or reported to it, which is noted now and then. */
export async function noteCallback(
  sql: Sql,
  { workspace_id, id }: Pick<Connection, 'workspace_id' | 'id'>,
  what: 'verified' | 'received',
): Promise<void> {
  if (what === 'received') {
    if (nowMs() - (heard.get(id) ?? 0) < renoteMs) return
    remember(heard, id, nowMs())
  }
  await sql`
    update channel_connections set ${sql(`callback_${what}_at`)} = now()
    where workspace_id = ${workspace_id} and id = ${id}`
}

/** A connection to the simulator inside the service, with what the simulator shows of its workspace. */
export type SimulatedConnection = Connection & { workspace_name: string; is_demo: boolean }

/** For the simulator inside the service, which stands for the provider of every workspace that is connected to it. */
export async function listBuiltInConnections(sql: Sql, sealer: Sealer): Promise<SimulatedConnection[]> {
  const rows = await sql<(Row & { workspace_name: string; is_demo: boolean })[]>`
    select c.workspace_id, c.id, c.channel, c.account_id, c.phone_number_id, c.base_url, c.api_version, c.secrets,
      c.messages_per_second, c.is_private, w.name as workspace_name, w.is_demo
    from channel_connections c join workspaces w on w.id = c.workspace_id
    where c.simulator = 'built_in'
    order by c.id`
  return rows.flatMap(({ workspace_name, is_demo, ...row }) =>
    tryOpening(sealer, row) ? [{ ...toConnection(sealer, row), workspace_name, is_demo }] : [],
  )
}

/** One of those, the same for whoever asks: its address says where that simulator is. */
export async function getBuiltInConnection(sql: Sql, sealer: Sealer): Promise<Connection | undefined> {
  const [row] = await sql<Row[]>`
    select ${connectionColumns(sql)} from channel_connections where simulator = 'built_in' order by id limit 1`
  return row && toReadable(sealer, row)
}

/**
 * The simulator inside the service is at another address now, for every workspace. With `from` only if it still is
 * there: of several who move it at once, one does. Answers how many connections moved.
 */
export async function moveBuiltInConnections(sql: Sql, to: string, from: string | null = null): Promise<number> {
  const { count } = await sql`
    update channel_connections set base_url = ${to}, updated_at = now()
    where simulator = 'built_in' and base_url <> ${to} and (${from}::text is null or base_url = ${from})`
  return count
}

export const defaultPace = 80
export const defaultVersion = 'v25.0'

/** There is no provider to speak to and nothing to prove. */
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

const unopened = 'its secrets cannot be opened with this ENCRYPTION_KEY; enter them again'

/** Columns of a connection as an adapter needs them. */
const connectionColumns = (sql: Sql) => sql`
  workspace_id, id, channel, account_id, phone_number_id, base_url, api_version, secrets, messages_per_second, is_private`

/** Connection `c` is saved again for the account it was for. */
const isSameAccount = (sql: Sql) => sql`
  c.account_id = excluded.account_id and c.phone_number_id = excluded.phone_number_id and c.base_url = excluded.base_url`

function toConnection<Stored extends Row>(sealer: Sealer, stored: Stored): Omit<Stored, 'secrets'> & Secrets {
  const { secrets: _, ...row } = stored
  return { ...row, ...openSecrets(sealer, stored) }
}

/** Secrets that cannot be opened are empty. */
function toReadable<Stored extends Row>(sealer: Sealer, stored: Stored): Omit<Stored, 'secrets'> & Secrets {
  const { secrets: _, ...row } = stored
  return { ...row, ...(tryOpening(sealer, stored) ?? { access_token: '', app_secret: '', verify_token: '' }) }
}

/** A workspace has one connection a channel; its id is not known yet when its secrets are sealed. */
export const sealContext = ({ workspace_id, channel }: { workspace_id: string; channel: string }): SealContext => [
  'channel_connections',
  workspace_id,
  channel,
]

/** Opened secrets by row and sealed text: opening takes 10 µs, and each send needs them. */
const opened = new Map<string, Secrets>()

function openSecrets(sealer: Sealer, row: Row): Secrets {
  const key = `${row.workspace_id} ${row.channel} ${row.secrets}`
  const known = opened.get(key)
  if (known) return known
  const secrets: Secrets = JSON.parse(sealer.open(row.secrets, sealContext(row)))
  remember(opened, key, secrets)
  return secrets
}

function tryOpening(sealer: Sealer, row: Row): Secrets | undefined {
  try {
    return openSecrets(sealer, row)
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}

/** What was last noted of a connection by this process. */
const noted = new Map<string, { error: string | null; at: number }>()
const renoteMs = 30_000

/** When a callback of a connection was last noted by this process. */
const heard = new Map<string, number>()

const maxRemembered = 1_000

/** Keep under a key, and let go of what was kept first when there is too much. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  const [first] = map.keys()
  if (map.size > maxRemembered && first !== undefined) map.delete(first)
}
