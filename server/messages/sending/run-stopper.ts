/**
 * A person wins: a reply of a member, or one from the provider's own app, ends the automations of its conversation in the transaction
 * that stores it. The module to the right that has the runs provides the functions.
 */
import { nowMs } from '../../lib/clock.ts'
import { msOfId, newId } from '../../lib/id.ts'
import type { Sql } from '../../lib/postgres/db.ts'

export type RunStopper = {
  /** Whether the workspace has automations. The conversations of others have no runs. */
  isAutomated(sql: Sql, workspaceId: string): Promise<boolean>
  /** Ends the open runs of a conversation that the transaction has locked. `memberId`: null for a reply from the provider's own app. */
  stop(sql: Sql, workspaceId: string, conversationId: string, memberId: string | null): Promise<void>
}

/**
 * The id of a reply: `id`, or a new one if an automated message has a later id. The id of a reply is older than its transaction, and an
 * automation may have written a message in between. With the conversation locked, none follows.
 */
export async function idAfterBots(sql: Sql, workspaceId: string, conversationId: string, id: string): Promise<string> {
  const [last] = await sql<{ id: string }[]>`
    select id from messages
    where workspace_id = ${workspaceId} and conversation_id = ${conversationId} and id > ${id} and sender_type = 'bot'
    order by id desc
    limit 1`
  return last ? newId(Math.max(nowMs(), msOfId(last.id) + 1)) : id
}
