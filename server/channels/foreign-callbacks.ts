/**
 * Callbacks about a number or account that is not that of the connection: nothing of them is stored.
 *
 * The workspace may have connected it all the same, while the provider posts to the address of another connection: an app has one
 * callback URL for all its numbers. Then the notice says which URL is right. Otherwise it names the number to which customers write.
 */
import { nowIso } from '../lib/clock.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { recordAccountSignal } from './account-signals.ts'
import type { Connection, ForeignCallback } from './channel.ts'
import { callbackUrl } from './connections.ts'

/** Shows a notice on the card of the connection that received the callback. */
export async function recordForeign(
  sql: Sql,
  connection: Pick<Connection, 'workspace_id' | 'id' | 'channel' | 'name'>,
  { key, id, shown, reason, hasMessages }: ForeignCallback,
  publicUrl: string,
): Promise<void> {
  const other = id === null ? undefined : await findConnected(sql, connection, id)
  // Statuses of messages that another system sent concern no member.
  if (!other && !hasMessages) return
  const signal = { severity: 'warning', at: nowIso(), expires_at: null } as const
  if (!other) {
    const text = `Messages for ${shown} were ignored: ${reason}.`
    return recordAccountSignal(sql, connection, { ...signal, key, text })
  }
  const named = other.address ?? shown
  const text =
    `${named.charAt(0).toUpperCase()}${named.slice(1)} is connected as “${other.name}”, but its callbacks arrive at the address of ` +
    `“${connection.name}” and are ignored. At the provider, set the callback URL of ${named} to ` +
    `${callbackUrl(publicUrl, other)}, with the verify token in its settings.`
  return recordAccountSignal(sql, connection, { ...signal, key: `foreign:${id}`, text })
}

type OtherConnection = Pick<Connection, 'id' | 'channel' | 'name' | 'address'>

/** The other connection of the workspace that is for this number or account. */
async function findConnected(
  sql: Sql,
  { workspace_id, id, channel }: Pick<Connection, 'workspace_id' | 'id' | 'channel'>,
  foreignId: string,
): Promise<OtherConnection | undefined> {
  const [other] = await sql<OtherConnection[]>`
    select c.id, c.channel_name as channel, c.name, c.address from channel_connections c
    where c.workspace_id = ${workspace_id} and c.channel_name = ${channel} and c.id <> ${id} and c.disconnected_at is null
      and case c.channel_name when 'msgapp' then c.phone_number_id else c.account_id end = ${foreignId}`
  return other
}
