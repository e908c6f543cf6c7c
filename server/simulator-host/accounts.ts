/**
 * Workspaces that speak to a simulator instead of the provider.
 *
 * Their connections are the operator's, so they may be at a private address.
 * Accounts, numbers and tokens are made up once and stay. The simulator inside
 * the service reads its accounts from the connections; one that runs alone is
 * told.
 */
import { randomInt } from 'node:crypto'
import type { KnownCustomer, SimulatorAccount } from '../../simulator/simulator.ts'
import type { Connection } from '../channels/channel.ts'
import {
  callbackUrl,
  defaultPace,
  defaultVersion,
  getBuiltInConnection,
  listBuiltInConnections,
  lockConnection,
  type SimulatorKind,
  saveConnection,
  webConnection,
} from '../channels/connections.ts'
import { deleteTemplates } from '../channels/templates.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import { randomToken, type Sealer } from '../lib/crypto.ts'
import type { Db, Sql } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { StartError } from '../lib/start-error.ts'

export type Simulating = {
  /** Best a transaction: the three are connected together. */
  db: Sql
  sealer: Sealer
  workspaceId: string
  kind: SimulatorKind
  simulatorUrl: string
  /** Absent: as it is, or 80. */
  messagesPerSecond?: number | undefined
  /** Leave connections alone that are there already, whatever they speak to. */
  onlyMissing?: boolean
}

/** Connect every channel of a workspace to a simulator; again: the address and the pace change, ids and tokens stay. */
export async function connectSimulator(simulating: Simulating): Promise<Record<ChannelName, Connection>> {
  return {
    msgapp: await simulate(simulating, 'msgapp'),
    social: await simulate(simulating, 'social'),
    web: await simulate(simulating, 'web'),
  }
}

async function simulate(
  { db, sealer, workspaceId, kind, simulatorUrl, messagesPerSecond, onlyMissing = false }: Simulating,
  channel: ChannelName,
): Promise<Connection> {
  const stored = await lockConnection(db, sealer, workspaceId, channel)
  if (stored && onlyMissing) return stored
  const messages_per_second = messagesPerSecond ?? stored?.messages_per_second ?? defaultPace
  if (channel === 'web') return saveConnection(db, sealer, workspaceId, { ...webConnection, messages_per_second })
  // What the provider gave out is not for a simulator.
  const kept = stored?.simulator ? stored : undefined
  if (channel === 'msgapp' && !kept) await deleteTemplates(db, workspaceId)
  return saveConnection(db, sealer, workspaceId, {
    channel,
    account_id: kept?.account_id || randomDigits(),
    phone_number_id: channel === 'msgapp' ? kept?.phone_number_id || randomDigits() : '',
    base_url: graphUrl(simulatorUrl),
    api_version: defaultVersion,
    access_token: kept?.access_token || randomToken(),
    app_secret: kept?.app_secret || randomToken(),
    verify_token: kept?.verify_token || randomToken(),
    messages_per_second,
    is_private: true,
    simulator: kind,
    state: 'connected',
  })
}

/** The accounts of the simulator inside the service. Its callbacks go to `publicOrigin`. */
export async function loadSimulatorAccounts(
  db: Sql,
  sealer: Sealer,
  publicOrigin: string,
): Promise<SimulatorAccount[]> {
  const connections = await listBuiltInConnections(db, sealer)
  return connections.map((connection) => toAccount(connection, connection, publicOrigin))
}

/** Longer than any window is open. */
const recentDays = 7
const maxCustomers = 500

/**
 * Who wrote to the accounts of the simulator inside the service while their windows may be open: those whom only the
 * database knows, a demo's history or the past of a process with another folder, can be answered too. Some of each kind
 * of conversation, from the end of its stretch of the index.
 */
export async function listRecentCustomers(db: Sql): Promise<KnownCustomer[]> {
  return db<KnownCustomer[]>`
    select k.workspace_id, k.channel, i.external_id as id, c.name, c.social_username as username, v.last_inbound_at
    from channel_connections k
    cross join unnest(array['open', 'pending', 'closed']) as s (status)
    cross join lateral (
      select v.contact_id, v.last_inbound_at from conversations v
      where v.workspace_id = k.workspace_id and v.channel = k.channel and v.status = s.status
        and coalesce(v.last_message_at, v.created_at) > now() - make_interval(days => ${recentDays})
      order by coalesce(v.last_message_at, v.created_at) desc
      limit ${maxCustomers}
    ) v
    join contacts c on c.workspace_id = k.workspace_id and c.id = v.contact_id
    join contact_identities i on i.workspace_id = k.workspace_id and i.channel = k.channel and i.contact_id = v.contact_id
    where k.simulator = 'built_in' and k.channel in ('msgapp', 'social') and v.last_inbound_at is not null`
}

/** Tell a simulator that runs alone which accounts it stands for. */
export async function registerSimulatorAccounts(
  db: Sql,
  simulatorUrl: string,
  connections: Record<ChannelName, Connection>,
  publicOrigin: string,
): Promise<void> {
  const { msgapp, social } = connections
  const [workspace] = await db<{ workspace_name: string; is_demo: boolean }[]>`
    select name as workspace_name, is_demo from workspaces where id = ${msgapp.workspace_id}`
  if (!workspace) throw badRequest('--workspace: not found')
  for (const connection of [msgapp, social]) {
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
  return {
    workspace_id,
    channel: connection.channel === 'social' ? 'social' : 'msgapp',
    account_id,
    phone_number_id,
    display_phone_number: phone_number_id && `1555${phone_number_id.slice(-7)}`,
    business_name: workspace_name,
    access_token,
    app_secret,
    verify_token,
    callback_url: callbackUrl(publicOrigin, connection),
    messages_per_second: connection.messages_per_second,
    is_default: is_demo,
  }
}

/** Where the simulator inside the service is, as some connection has it. */
export async function getBuiltInUrl(db: Db, sealer: Sealer): Promise<string | undefined> {
  const connection = await getBuiltInConnection(db, sealer)
  return connection?.base_url.replace(/\/graph$/, '')
}

/** `http://host:port`, with or without `/simulator` behind it, to the one form we keep. */
export function readSimulatorUrl(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw badRequest('--url: must be an http:// or https:// address')
  return `${url.origin}${url.pathname.replace(/\/*(simulator\/*)?$/, '')}/simulator`
}

export const graphUrl = (simulatorUrl: string): string => `${simulatorUrl}/graph`

/** A provider's id: 16 digits, none of them a leading zero. */
const randomDigits = (): string => `${randomInt(1, 10)}${Array.from({ length: 15 }, () => randomInt(10)).join('')}`
