/**
 * Workspaces whose channels connect to a simulator instead of the provider.
 *
 * The operator creates these connections, so they may use private addresses.
 * Account ids, numbers and tokens are generated once and stay. The built-in
 * simulator reads its accounts from the connections; a standalone simulator
 * gets them by a control call.
 */
import { randomInt } from 'node:crypto'
import type { KnownCustomer, SimulatorAccount } from '../../simulator/simulator.ts'
import type { Connection } from '../channels/channel.ts'
import type { SimulatorKind } from '../channels/connection-rows.ts'
import { callbackUrl, listBuiltInConnections } from '../channels/connections.ts'
import {
  defaultPace,
  defaultVersion,
  deleteLeftTemplates,
  findDefault,
  findReplaced,
  lockConnections,
  readName,
  saveConnection,
  storeConnection,
  webConnection,
} from '../channels/store-connection.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { randomToken, type Sealer } from '../lib/crypto.ts'
import { badRequest } from '../lib/errors.ts'
import { createHttp } from '../lib/http/client.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { StartError } from '../lib/process/start-error.ts'

type ConnectOptions = {
  /** A transaction, so that all three channels are connected or none. */
  db: Sql
  sealer: Sealer
  workspaceId: string
  kind: SimulatorKind
  simulatorUrl: string
  /** Default: the current rate, or 80. */
  messagesPerSecond?: number | undefined
  /** Keeps existing connections, also those to the provider. */
  onlyMissing?: boolean
}

/** Connects every channel of a workspace to a simulator. A second call changes the address and the rate only. */
export async function connectSimulator(options: ConnectOptions): Promise<Record<ChannelName, Connection>> {
  return {
    msgapp: await connectChannel(options, 'msgapp'),
    social: await connectChannel(options, 'social'),
    web: await connectChannel(options, 'web'),
  }
}

async function connectChannel(
  { db, sealer, workspaceId, kind, simulatorUrl, messagesPerSecond, onlyMissing = false }: ConnectOptions,
  channel: ChannelName,
): Promise<Connection> {
  const rows = await lockConnections(db, sealer, workspaceId)
  const stored = findDefault(rows, channel)
  if (stored && onlyMissing) return stored
  const messages_per_second = messagesPerSecond ?? stored?.messages_per_second ?? defaultPace
  if (channel === 'web') return saveConnection(db, sealer, workspaceId, { ...webConnection, messages_per_second })
  // Ids and tokens of the real provider are not sent to a simulator.
  const kept = stored?.simulator ? stored : undefined
  const replaced = kept ? undefined : findReplaced(rows, { channel })
  if (replaced) await deleteLeftTemplates(db, workspaceId, rows, replaced)
  const ids = {
    account_id: kept?.account_id || randomDigits(),
    phone_number_id: channel === 'msgapp' ? kept?.phone_number_id || randomDigits() : '',
  }
  const secrets = {
    access_token: kept?.access_token || randomToken(),
    app_secret: kept?.app_secret || randomToken(),
    verify_token: kept?.verify_token || randomToken(),
  }
  const input = { channel, ...ids, ...secrets, messages_per_second, ...simulatedBy(kind, simulatorUrl) }
  const address = channel === 'msgapp' ? simulatedNumber(ids.phone_number_id) : undefined
  return saveConnection(db, sealer, workspaceId, { ...input, address })
}

const simulatedBy = (kind: SimulatorKind, simulatorUrl: string) =>
  ({
    base_url: graphUrl(simulatorUrl),
    api_version: defaultVersion,
    is_private: true,
    simulator: kind,
    state: 'connected',
  }) as const

/** The phone number of a simulated number, in E.164. */
const simulatedNumber = (phoneNumberId: string): string => `+1555${phoneNumberId.slice(-7)}`

type AddOptions = Omit<ConnectOptions, 'onlyMissing'> & {
  name: string
  /** The number belongs to the provider account of the default number, and has its token. */
  isSameAccount: boolean
  /** The id of the connection, from which those of its account follow, so that a simulator has one state for it. */
  id?: string
}

/** Connects one more simulated number. */
export async function addSimulatedNumber(options: AddOptions): Promise<Connection> {
  const { db, sealer, workspaceId, kind, simulatorUrl, messagesPerSecond = defaultPace, isSameAccount, id } = options
  const rows = await lockConnections(db, sealer, workspaceId)
  const first = findDefault(rows, 'msgapp')
  if (isSameAccount && !first?.simulator) throw badRequest('--same-account: the workspace has no simulated number')
  const account = isSameAccount ? first : undefined
  const phone_number_id = id ? digitsOf(id) : randomDigits()
  return storeConnection(db, sealer, workspaceId, rows, {
    channel: 'msgapp',
    id,
    name: readName(options.name),
    address: simulatedNumber(phone_number_id),
    account_id: account?.account_id ?? (id ? digitsOf(id) : randomDigits()),
    phone_number_id,
    access_token: account?.access_token ?? randomToken(),
    app_secret: account?.app_secret ?? randomToken(),
    verify_token: randomToken(),
    messages_per_second: messagesPerSecond,
    ...simulatedBy(kind, simulatorUrl),
  })
}

/** The accounts of the built-in simulator. It posts callbacks to `publicOrigin`. */
export async function loadSimulatorAccounts(
  db: Sql,
  sealer: Sealer,
  publicOrigin: string,
): Promise<SimulatorAccount[]> {
  const connections = await listBuiltInConnections(db, sealer)
  return connections.map((connection) => toAccount(connection, connection, publicOrigin))
}

/** The longest window of a channel. */
const recentDays = 7
const maxCustomers = 500

/**
 * Lists customers whose window may be open, so that the built-in simulator accepts replies to them. Its journal may not
 * know them: the demo's history is in the database only. Reads the newest conversations of each status by index.
 */
export async function listRecentCustomers(db: Sql): Promise<KnownCustomer[]> {
  return db<KnownCustomer[]>`
    select k.workspace_id, k.channel_name as channel, k.id as connection_id,
      regexp_replace(i.external_id, '^[0-9]+/', '') as id, c.name, v.last_inbound_at,
      case k.channel_name when 'social' then c.social_username else c.username end as username
    from channel_connections k
    cross join unnest(array['open', 'pending', 'closed']) as s (status)
    cross join lateral (
      select v.contact_id, v.last_inbound_at from conversations v
      where v.workspace_id = k.workspace_id and v.connection_id = k.id and v.status = s.status
        and coalesce(v.last_message_at, v.created_at) > now() - make_interval(days => ${recentDays})
      order by coalesce(v.last_message_at, v.created_at) desc
      limit ${maxCustomers}
    ) v
    join contacts c on c.workspace_id = k.workspace_id and c.id = v.contact_id
    join contact_identities i on i.workspace_id = k.workspace_id and i.channel = k.channel_name and i.contact_id = v.contact_id
    where k.simulator = 'built_in' and k.channel_name in ('msgapp', 'social') and v.last_inbound_at is not null`
}

/** Registers the accounts with a standalone simulator. */
export async function registerSimulatorAccounts(
  db: Sql,
  simulatorUrl: string,
  { msgapp, social }: { msgapp: Connection; social?: Connection },
  publicOrigin: string,
): Promise<void> {
  const [workspace] = await db<{ workspace_name: string; is_demo: boolean }[]>`
    select name as workspace_name, is_demo from workspaces where id = ${msgapp.workspace_id}`
  if (!workspace) throw badRequest('--workspace: not found')
  for (const connection of social ? [msgapp, social] : [msgapp]) {
    await register(simulatorUrl, toAccount(connection, workspace, publicOrigin))
  }
}

async function register(simulatorUrl: string, account: SimulatorAccount): Promise<void> {
  const url = `${simulatorUrl}/control/accounts`
  const answer = await fetch(url, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(account),
    signal: AbortSignal.timeout(registerMs),
  }).catch((error: Error) => {
    const { cause = error } = error as { cause?: unknown }
    throw new StartError(`--url: no simulator answers at ${url}: ${cause instanceof Error ? cause.message : cause}`)
  })
  const text = await answer.text()
  if (!answer.ok) throw new StartError(`--url: ${url} answered ${answer.status}: ${text.slice(0, 200)}`)
}

const registerMs = 10_000

function toAccount(
  connection: Connection,
  { workspace_name, is_demo }: { workspace_name: string; is_demo: boolean },
  publicOrigin: string,
): SimulatorAccount {
  const { workspace_id, account_id, phone_number_id, access_token, app_secret, verify_token } = connection
  const display_phone_number = phone_number_id && simulatedNumber(phone_number_id).slice(1)
  return {
    workspace_id,
    channel: connection.channel === 'social' ? 'social' : 'msgapp',
    connection_id: connection.id,
    name: connection.name,
    address: connection.address ?? (display_phone_number && `+${display_phone_number}`),
    is_channel_default: connection.is_default,
    account_id,
    phone_number_id,
    display_phone_number,
    business_name: workspace_name,
    access_token,
    app_secret,
    verify_token,
    callback_url: callbackUrl(publicOrigin, connection),
    messages_per_second: connection.messages_per_second,
    is_default: is_demo,
  }
}

/** Whether the simulator of this connection answers. One of another database does not know the connection. */
export async function isAnswering({ base_url, api_version, account_id, access_token }: Connection): Promise<boolean> {
  const http = createHttp()
  const url = `${base_url}/${api_version}/${account_id}?fields=id`
  const headers = { authorization: `Bearer ${access_token}` }
  const answer = await http.request({ method: 'GET', url, headers, timeoutMs: answerMs, isPrivate: true })
  await http.stop()
  return answer.ok && answer.status === 200
}

const answerMs = 1_000

/** Normalises `http://host:port`, with or without `/simulator`, to the form that is stored. */
export function readSimulatorUrl(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw badRequest('--url: must be an http:// or https:// address')
  return `${url.origin}${url.pathname.replace(/\/*(simulator\/*)?$/, '')}/simulator`
}

export const graphUrl = (simulatorUrl: string): string => `${simulatorUrl}/graph`

/** An id like the provider's: 16 digits without a leading zero. */
const randomDigits = (): string => `${randomInt(1, 10)}${Array.from({ length: 15 }, () => randomInt(10)).join('')}`

/** Digits of the same form that follow from an id. */
const digitsOf = (id: string): string =>
  `9${(BigInt(`0x${id.replaceAll('-', '')}`) % 10n ** 15n).toString().padStart(15, '0')}`
