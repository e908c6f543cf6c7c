/**
 * A call of a member to a conversation that was merged into another one reaches that one. A page has the old id when another
 * member merges the contact while it is open, and links keep it.
 */
import type { FastifyRequest } from 'fastify'
import type { Sql } from '../lib/db.ts'
import { isUuid } from '../lib/id.ts'
import { type App, listOf } from '../lib/server.ts'

/** Replaces the id of a merged conversation in all calls below `/conversations/{id}`. */
export function followMerges(app: App, sql: Sql): void {
  app.addHook('onRoute', (route) => {
    if (route.url.includes('/conversations/:id')) route.preHandler = [...listOf(route.preHandler), follow]
  })

  async function follow({ session, params }: FastifyRequest): Promise<void> {
    const conversation = params as { id: string }
    conversation.id = (await getMergeTarget(sql, session.workspaceId, conversation.id)) ?? conversation.id
  }
}

/** The conversation that has the content of a merged one. */
async function getMergeTarget(sql: Sql, workspaceId: string, id: string): Promise<string | undefined> {
  if (!isUuid(id)) return undefined
  const [merged] = await sql<{ into_id: string }[]>`
    select into_id from merged_conversations where workspace_id = ${workspaceId} and id = ${id}`
  return merged?.into_id
}
