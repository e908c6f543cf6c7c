/**
 * A call of a member to a conversation that was merged into another one reaches that one. A page has the old id when another
 * member merges the contact while it is open, and links keep it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { App } from '../lib/server.ts'

/**
 * Replaces the id of a merged conversation in all calls below `/conversations/{id}`. The merge may end while the handler runs or
 * waits for the conversation: a handler that does not find it has changed nothing, and runs again with the other one.
 */
export function followMerges(app: App, sql: Sql): void {
  app.addHook('onRoute', (route) => {
    const { handler } = route
    if (!route.url.includes('/conversations/:id')) return
    route.handler = async function (request: FastifyRequest, reply: FastifyReply) {
      const conversation = request.params as { id: string }
      const follow = async () => {
        const id = await getMergeTarget(sql, request.session.workspaceId, conversation.id)
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
    }
  })
}

/** The conversation that has the content of a merged one. */
async function getMergeTarget(sql: Sql, workspaceId: string, id: string): Promise<string | undefined> {
  if (!isUuid(id)) return undefined
  const [merged] = await sql<{ into_id: string }[]>`
    select into_id from merged_conversations where workspace_id = ${workspaceId} and id = ${id}`
  return merged?.into_id
}
