/**
 * A conversation that a member does not see does not exist for that member: every call below `/conversations/{id}` is refused with
 * 404. Members who see all conversations pay nothing for it.
 */
import { forbidden, notFound } from '../lib/errors.ts'
import type { Step } from '../lib/http/apply-steps.ts'
import { isUuid } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { type Reader, restrictionOf, visibleTo } from '../teams/visibility.ts'

/** Comes before `followMerges`, so that it checks the conversation that has the content of a merged one. */
export const requireVisible = (sql: Sql): Step => ({
  ofRoute: ({ url, handler }) =>
    url.includes('/conversations/:id')
      ? {
          async handler(request, reply) {
            const { id } = request.params as { id: string }
            if (request.caller) await requireVisibleConversation(sql, request.caller, id)
            return handler.call(this, request, reply)
          },
        }
      : undefined,
})

/** Throws 404 when the reader does not see the conversation. */
async function requireVisibleConversation(sql: Sql, reader: Reader, id: string): Promise<void> {
  if (!restrictionOf(reader)) return
  const visible = await listVisibleIds(sql, reader, [id])
  if (!visible.has(id.toLowerCase())) throw notFound('conversation')
}

/** Of these conversations, those that the reader sees. */
export async function listVisibleIds(sql: Sql, reader: Reader, ids: readonly string[]): Promise<Set<string>> {
  if (!restrictionOf(reader)) return new Set(ids.map((id) => id.toLowerCase()))
  const rows = await sql<{ id: string }[]>`
    select v.id from conversations v
    where v.workspace_id = ${reader.workspaceId} and v.id = any(${ids.filter(isUuid)}::uuid[]) and ${visibleTo(sql, reader)}`
  return new Set(rows.map(({ id }) => id))
}

/**
 * Condition: the reader sees what members know about a contact, such as notes about it. It is hidden from a restricted member if the
 * contact has conversations and the member sees none of them.
 */
export const isContactShown = (sql: Sql, reader: Reader, contactId: Fragment): Fragment =>
  restrictionOf(reader)
    ? sql`coalesce((
        select bool_or(${visibleTo(sql, reader)}) from conversations v
        where v.workspace_id = ${reader.workspaceId} and v.contact_id = ${contactId}
      ), true)`
    : sql`true`

/** Whether the reader sees what members know about the contact. */
export async function seesContact(sql: Sql, reader: Reader, contactId: string): Promise<boolean> {
  if (!restrictionOf(reader) || !isUuid(contactId)) return true
  const [row] = await sql<{ is_shown: boolean }[]>`
    select ${isContactShown(sql, reader, sql`${contactId}::uuid`)} as is_shown`
  return row?.is_shown === true
}

/** Refuses to merge contacts if the reader does not see all of their conversations: afterwards one would have the messages of the other. */
export async function requireMergeable(sql: Sql, reader: Reader, contactIds: readonly string[]): Promise<void> {
  if (!restrictionOf(reader)) return
  const [foreign] = await sql`
    select from conversations v
    where v.workspace_id = ${reader.workspaceId} and v.contact_id = any(${contactIds.filter(isUuid)}::uuid[])
      and not ${visibleTo(sql, reader)}
    limit 1`
  if (foreign) throw forbidden('a conversation of these contacts belongs to another team')
}

/**
 * Refuses to start a conversation on the primary channel with a contact whose conversation there the reader does not see. `connectionId`:
 * the connection that sends.
 */
export async function requireReachable(
  sql: Sql,
  reader: Reader,
  { contactId, connectionId = null }: { contactId: string; connectionId?: string | undefined | null },
): Promise<void> {
  if (!restrictionOf(reader) || !isUuid(contactId)) return
  const [foreign] = await sql`
    select from conversations v
    where v.workspace_id = ${reader.workspaceId} and v.contact_id = ${contactId} and v.channel = 'msgapp'
      and (${connectionId}::uuid is null or v.connection_id = ${connectionId}::uuid) and not ${visibleTo(sql, reader)}
    limit 1`
  if (foreign) throw forbidden('the conversation with this contact belongs to another team')
}
