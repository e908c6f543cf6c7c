/**
 * A conversation that a member does not see does not exist for that member: every call below `/conversations/{id}` is refused with
 * 404. Members who see all conversations pay nothing for it.
 */
import { notFound } from '../lib/errors.ts'
import type { Step } from '../lib/http/apply-steps.ts'
import { isUuid } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
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
export async function requireVisibleConversation(sql: Sql, reader: Reader, id: string): Promise<void> {
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
