/** The step `set`: changes the contact and the conversation as a member would, in the transaction of the step. */
import { changeAttributes, requireAttributes } from '../contacts/attributes.ts'
import { addTags, dropTags, readTagNames, requireFewTags, resolveTags } from '../contacts/tags.ts'
import { changeConversations } from '../conversations/changes.ts'
import { nowMs } from '../lib/clock.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { requireText } from './decisions.ts'
import type { SetStep } from './definition.ts'
import { toMs } from './durations.ts'
import { type StepContext, valuesOf } from './step-context.ts'

/** Locks tags, labels, the conversation and the contact, in this order. */
export async function applySet(sql: Sql, context: StepContext, step: SetStep): Promise<void> {
  const { run, actor } = context
  const { workspace_id: workspaceId, contact_id, conversation_id } = run
  const depth = run.depth + 1
  const added = readTagNames(step.add_tags ?? [], 'add_tags')
  const removed = readTagNames(step.remove_tags ?? [], 'remove_tags')
  await resolveTags(sql, workspaceId, added)
  const { status, assigned_agent_id, assigned_team_id, snooze_for, add_labels, remove_labels } = step
  const changes = {
    ...(status === undefined ? {} : { status }),
    ...(assigned_agent_id === undefined ? {} : { assigned_agent_id }),
    ...(assigned_team_id === undefined ? {} : { assigned_team_id }),
    ...(snooze_for ? { snoozed_until: new Date(nowMs() + toMs(snooze_for)).toISOString() } : {}),
    ...(add_labels ? { add_labels } : {}),
    ...(remove_labels ? { remove_labels } : {}),
  }
  if (conversation_id && Object.keys(changes).length > 0) {
    const [result] = await changeConversations(sql, workspaceId, actor, [conversation_id], changes)
    if (result && 'error' in result) throw result.error
  }
  const pairs = (names: Map<string, string>) => [...names.keys()].map((key) => ({ contact_id, key }))
  if (added.size + removed.size > 0) {
    // The lock serializes callers that change the tags of the same contact.
    await sql`
      update contacts set updated_at = clock_timestamp() where workspace_id = ${workspaceId} and id = ${contact_id}`
    if (removed.size > 0) await dropTags(sql, workspaceId, pairs(removed), depth)
    if (added.size > 0) {
      await addTags(sql, workspaceId, pairs(added), depth)
      await requireFewTags(sql, workspaceId, [contact_id])
    }
  }
  if (!step.attributes) return
  const filled = Object.entries(step.attributes).map(([name, value]) => [
    name,
    typeof value === 'string' ? requireText(value, valuesOf(context)) : value,
  ])
  await changeAttributes(sql, workspaceId, contact_id, requireAttributes(Object.fromEntries(filled)), depth)
}
