/**
 * The settings of a connection that members may change, with their rules.
 *
 * A member's connection has a public https URL; only the operator's may be private. A change of the URL requires the ids and
 * secrets again: a stored token is never sent to a host it was not entered for.
 */
import { isIP } from 'node:net'
import { isPublicAddress } from '../../common/address.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { randomToken, type Sealer } from '../lib/crypto.ts'
import { badRequest } from '../lib/errors.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { Connection } from './channel.ts'
import type { StoredConnection } from './connection-rows.ts'
import {
  defaultPace,
  defaultVersion,
  deleteLeftTemplates,
  findReplaced,
  isAccount,
  lockConnections,
  readName,
  requireConnected,
  storeConnection,
  webConnection,
} from './store-connection.ts'

/** Absent settings keep their value, or get the default. */
export type ConnectionSettings = {
  account_id?: string | undefined
  phone_number_id?: string | undefined
  access_token?: string | undefined
  app_secret?: string | undefined
  verify_token?: string | undefined
  base_url?: string | undefined
  api_version?: string | undefined
  messages_per_second?: number | undefined
  name?: string | undefined
  /** Web chat: the host of the site. Other channels know their address from the provider. */
  address?: string | undefined
}

/** What a member connects: the default connection of a channel, another one besides it, or new settings for the connection `id`. */
export type ConnectionChoice = { channel: ChannelName; isAnother?: boolean } | { id: string }

/** Connects a channel with a member's settings, in the caller's transaction. */
export async function configureConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  choice: ConnectionChoice,
  settings: ConnectionSettings,
): Promise<Connection> {
  const { rows, channel, stored } = await lockChosen(sql, sealer, workspaceId, choice, settings)
  const name = settings.name === undefined ? undefined : readName(settings.name)
  const messages_per_second = settings.messages_per_second ?? stored?.messages_per_second ?? defaultPace
  if (channel === 'web') {
    const address = settings.address === undefined ? undefined : readHost(settings.address)
    const input = { ...webConnection, messages_per_second, name, address }
    return storeConnection(sql, sealer, workspaceId, rows, input, stored)
  }
  const base_url = readBaseUrl(channel, settings, stored)
  const kept = stored?.base_url === base_url ? stored : undefined
  const input = {
    channel,
    name,
    base_url,
    account_id: requireSetting('account_id', settings.account_id ?? kept?.account_id),
    phone_number_id:
      channel === 'msgapp' ? requireSetting('phone_number_id', settings.phone_number_id ?? kept?.phone_number_id) : '',
    access_token: requireSetting('access_token', settings.access_token ?? kept?.access_token),
    app_secret: requireSetting('app_secret', settings.app_secret ?? kept?.app_secret),
    verify_token: requireSetting('verify_token', settings.verify_token ?? (kept?.verify_token || randomToken())),
    api_version: requireSetting('api_version', settings.api_version ?? (kept?.api_version || defaultVersion)),
    messages_per_second,
    is_private: kept?.is_private ?? false,
    simulator: kept?.simulator ?? null,
  }
  const isSame = kept !== undefined && checkedSettings.every((name) => input[name] === kept[name])
  const twin = rows.find((row) => row.id !== stored?.id && row.disconnected_at === null && isAccount(row, input))
  if (twin)
    throw badRequest(`${channel === 'msgapp' ? 'phone_number_id' : 'account_id'}: already connected as ${twin.name}`)
  if (stored && input.account_id !== kept?.account_id) await deleteLeftTemplates(sql, workspaceId, rows, stored)
  const state = isSame && kept.disconnected_at === null ? kept.state : 'unchecked'
  return storeConnection(sql, sealer, workspaceId, rows, { ...input, state }, stored)
}

/** The connections of the workspace, locked, and the one that gets the settings; undefined: a new one. */
async function lockChosen(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  choice: ConnectionChoice,
  settings: ConnectionSettings,
): Promise<{ rows: StoredConnection[]; channel: ChannelName; stored: StoredConnection | undefined }> {
  const rows = await lockConnections(sql, sealer, workspaceId)
  if ('id' in choice) {
    const stored = requireConnected(rows, choice.id)
    return { rows, channel: stored.channel, stored }
  }
  const { channel } = choice
  const ids = { account_id: settings.account_id?.trim(), phone_number_id: settings.phone_number_id?.trim() }
  if (!choice.isAnother) return { rows, channel, stored: findReplaced(rows, { channel, ...ids }) }
  const disconnected = rows.filter((row) => row.channel === channel && row.disconnected_at !== null)
  return { rows, channel, stored: disconnected.find((row) => isAccount(row, ids)) }
}

/** The host of a site, from a host name or a pasted URL; null for an empty text. */
function readHost(input: string): string | null {
  const text = input.trim()
  if (text === '') return null
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `https://${text}`)
  if (!url || url.username || url.password || !/^[^/?#@]+$/.test(url.host)) {
    throw badRequest('address: must be the host of a site, such as shop.example')
  }
  return url.host
}

/** The settings that a check verifies. While they stay the same, its outcome stays valid. */
const checkedSettings = [
  'account_id',
  'phone_number_id',
  'access_token',
  'app_secret',
  'verify_token',
  'api_version',
] as const

const providers = { msgapp: 'https://graph.facebook.com', social: 'https://graph.instagram.com' } as const

/**
 * The URL of the connection: the requested one, the stored one, or the provider's. New secrets for a simulated connection
 * turn it into a real one. A disconnected connection has no secrets that belong to its URL.
 */
function readBaseUrl(
  channel: keyof typeof providers,
  { base_url: input, access_token }: ConnectionSettings,
  stored: StoredConnection | undefined,
): string {
  const base_url = input?.trim().replace(/\/+$/, '')
  if (stored && base_url === stored.base_url) return base_url
  if (base_url) return requirePublicUrl(base_url)
  const becomesReal = stored?.simulator && access_token !== undefined
  const isKept = stored?.disconnected_at === null && !becomesReal
  return isKept ? stored.base_url : providers[channel]
}

function requirePublicUrl(text: string): string {
  const url = URL.parse(text)
  if (url?.protocol !== 'https:') throw badRequest('base_url: must be an https:// URL')
  if (url.username || url.password) throw badRequest('base_url: must not contain a user name or password')
  if (url.search || url.hash) throw badRequest('base_url: must not contain a query or fragment')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // A host name is resolved and checked at every connection.
  if (host === 'localhost' || (isIP(host) && !isPublicAddress(host))) {
    throw badRequest(`base_url: ${host} is not a public address`)
  }
  return url.href.replace(/\/+$/, '')
}

/** The format of each setting. Ids and versions become part of a path, tokens of a header. */
const formats = {
  account_id: [/^\d{1,32}$/, 'must be a number, as shown by the provider'],
  phone_number_id: [/^\d{1,32}$/, 'must be a number, as shown by the provider'],
  api_version: [/^v\d{1,3}\.\d{1,2}$/, `must be a version such as ${defaultVersion}`],
  access_token: [/^[\x21-\x7e]{1,2000}$/, 'must have 1 to 2000 printable characters'],
  app_secret: [/^[\x21-\x7e]{1,200}$/, 'must have 1 to 200 printable characters'],
  verify_token: [/^[\x21-\x7e]{1,200}$/, 'must have 1 to 200 printable characters'],
} as const

function requireSetting(name: keyof typeof formats, input: string | undefined): string {
  const text = input?.trim()
  if (!text) throw badRequest(`${name}: required`)
  const [format, rule] = formats[name]
  if (!format.test(text)) throw badRequest(`${name}: ${rule}`)
  return text
}
