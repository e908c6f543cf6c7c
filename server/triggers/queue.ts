/**
 * Changes that may start an automation: queued by the statement that makes the change, so none is lost and none of a rolled-back
 * change is queued.
 *
 * Only workspaces whose automations wait for this kind of change have rows; for the others a statement costs one look-up.
 * `automation/decide.ts` reads the queue.
 */
import { idFromTime } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'

type TriggerKind = 'message' | 'conversation' | 'contact' | 'target' | 'rating'

/** A customer's message is a change of the first kind; of the second one if it opens its conversation. */
export const messageKinds = ['message', 'conversation'] as const satisfies readonly TriggerKind[]

export type QueuedTriggers = {
  /** A workspace whose automations wait for one of them gets the rows. */
  kinds: readonly TriggerKind[]
  /** A relation with the `workspace_id` of all changes. */
  workspaces: Fragment
  /** The items of a `from` clause. Each row of it is a change. */
  from: Fragment
  where?: Fragment
  /** Expressions over `from`. */
  workspaceId: Fragment
  event: Fragment
  contactId: Fragment
  conversationId?: Fragment
  messageId?: Fragment
  detail?: Fragment
  /** How many automations caused one another before the change. */
  depth?: number
}

/** Members of a `with` list that queue changes. */
export function queueTriggers(sql: Sql, queued: QueuedTriggers): Fragment {
  const { kinds, workspaces, from, where, workspaceId, event, contactId, depth = 0 } = queued
  const { conversationId = sql`null::uuid`, messageId = sql`null::uuid`, detail = sql`null::text` } = queued
  return sql`
    -- By an array, so that the workspaces are found by their key however many there are.
    automated_workspaces as (
      select w.id from workspaces w
      where w.id = any(array(select distinct workspace_id from ${workspaces}))
        and w.automation_kinds && ${[...kinds]}::text[]
    ),
    -- Two levels, because the id is made of the time.
    queued_triggers as (
      insert into automation_triggers (workspace_id, id, kind, event, contact_id, conversation_id, message_id, detail, depth)
      select q.workspace_id, ${idFromTime(sql, sql`q.queued_at`)}, ${kinds[0] ?? ''}::text, q.event, q.contact_id,
        q.conversation_id, q.message_id, q.detail, ${depth}::smallint
      from (
        select ${workspaceId} as workspace_id, ${event} as event, ${contactId} as contact_id,
          ${conversationId} as conversation_id, ${messageId} as message_id, ${detail} as detail,
          clock_timestamp() as queued_at
        from ${from}
        where ${workspaceId} in (select id from automated_workspaces)${where ? sql` and ${where}` : sql``}
      ) q
      returning message_id
    )`
}
