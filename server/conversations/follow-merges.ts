/**
 * A call of a member to a conversation that was merged into another one reaches that one. A page has the old id when another
 * member merges the contact while it is open, and links keep it.
 */
import { ApiError } from '../lib/errors.ts'
import type { Step } from '../lib/http/apply-steps.ts'
import { isUuid } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'

/**
 * Replaces the id of a merged conversation in all calls below `/conversations/{id}`. The merge may end while the handler runs or
 * waits for the conversation: a handler that does not find it has changed nothing, and runs again with the other one.
 */
export const followMerges = (sql: Sql): Step => ({
  ofRoute: ({ url, handler }) =>
    url.includes('/conversations/:id')
      ? {
          async handler(request, reply) {
            const conversation = request.params as { id: string }
            const follow = async () => {
              const id = await getMergeTarget(sql, request.caller?.workspaceId ?? '', conversation.id)
              conversation.id = id ?? conversation.id
              return id !== undefined
            }
            await follow()
            try {
              return await handler.call(this, request, reply)
            } catch (error) {
              if (!(error instanceof ApiError && error.code === 'not_found' && (await follow()))) throw error
              return handler.call(this, request, reply)
            }
          },
        }
      : undefined,
})

/** The conversation that has the content of a merged one. */
async function getMergeTarget(sql: Sql, workspaceId: string, id: string): Promise<string | undefined> {
  if (!isUuid(id)) return undefined
  const [merged] = await sql<{ into_id: string }[]>`
    select into_id from merged_conversations where workspace_id = ${workspaceId} and id = ${id}`
  return merged?.into_id
}
