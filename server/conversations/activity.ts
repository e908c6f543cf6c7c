/**
 * Activity: the lines of a thread about what happened to its conversation. Each is an entry of the timeline, written in the
 * transaction of the change.
 */
import { idFromTime, newId, timeOfId } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { queueTriggers } from '../triggers/queue.ts'
import type { ConversationStatus } from './conversations.ts'
import { type ActivityKind, type Actor, authorOf, type StoredDetails } from './timeline.ts'

/** The fields of a conversation that members and API keys change. Labels are names. */
export type ConversationState = {
  status: ConversationStatus
  assigned_agent_id: string | null
  /** The id of the team. */
  assigned_team_id: string | null
  snoozed_until: string | null
  labels: string[]
}

export type ConversationChange = { id: string; before: ConversationState; after: ConversationState }

type Activity = { kind: ActivityKind; details: StoredDetails }

/** Records what a member, an API key or an automation changed. The changes may start automations. */
export async function recordChanges(
  sql: Sql,
  workspaceId: string,
  actor: Actor,
  changes: readonly ConversationChange[],
): Promise<void> {
  const memberId = 'memberId' in actor ? actor.memberId : null
  const teams = await readTeamNames(sql, workspaceId, changes)
  const rows = changes.flatMap(({ id: conversation_id, before, after }) => {
    const author = authorOf(actor, conversation_id)
    return describeChange(before, after, teams).map(({ kind, details }) => {
      const id = newId()
      return { conversation_id, id, created_at: timeOfId(id), kind, details: { ...details, ...author.details } }
    })
  })
  if (rows.length === 0) return
  const triggers = changes.flatMap(({ id, before, after }) =>
    listTriggers(before, after).map(({ event, detail = null }) => ({ conversation_id: id, event, detail })),
  )
  await sql`
    with
    inserted_entries as (
      insert into timeline_entries (workspace_id, conversation_id, id, kind, member_id, details, created_at)
      select ${workspaceId}::uuid, i.conversation_id, i.id, i.kind, ${memberId}::uuid, i.details, i.created_at
      from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as i (conversation_id uuid, id uuid, kind text, details jsonb, created_at timestamptz)
    ),
    changes as (
      select ${workspaceId}::uuid as workspace_id, i.conversation_id, i.event, i.detail
      from json_to_recordset(${JSON.stringify(triggers)}::text::json) as i (conversation_id uuid, event text, detail text)
    ),
    ${queueTriggers(sql, {
      kinds: ['conversation'],
      workspaces: sql`changes`,
      from: sql`changes i join conversations v on v.workspace_id = i.workspace_id and v.id = i.conversation_id`,
      workspaceId: sql`i.workspace_id`,
      event: sql`i.event`,
      contactId: sql`v.contact_id`,
      conversationId: sql`i.conversation_id`,
      detail: sql`i.detail`,
      depth: 'runId' in actor ? actor.depth + 1 : 0,
    })}
    select 1`
}

/** The events of a change that an automation can wait for. */
export function listTriggers(
  before: ConversationState,
  after: ConversationState,
): { event: 'opened' | 'closed' | 'assigned' | 'label_added' | 'label_removed'; detail?: string }[] {
  const isStatus = (status: ConversationStatus) => after.status === status && before.status !== status
  return [
    ...(isStatus('open') && before.status === 'closed' ? [{ event: 'opened' as const }] : []),
    ...(isStatus('closed') ? [{ event: 'closed' as const }] : []),
    ...(after.assigned_agent_id !== null && after.assigned_agent_id !== before.assigned_agent_id
      ? [{ event: 'assigned' as const }]
      : []),
    ...after.labels
      .filter((name) => !before.labels.includes(name))
      .map((detail) => ({ event: 'label_added' as const, detail })),
    ...before.labels
      .filter((name) => !after.labels.includes(name))
      .map((detail) => ({ event: 'label_removed' as const, detail })),
  ]
}

/** A snooze also sets the status; it is one line. */
function describeChange(
  before: ConversationState,
  after: ConversationState,
  teams: ReadonlyMap<string, string>,
): Activity[] {
  const isSnoozed = after.snoozed_until !== null && after.snoozed_until !== before.snoozed_until
  const added = after.labels.filter((name) => !before.labels.includes(name))
  const removed = before.labels.filter((name) => !after.labels.includes(name))
  const activities: (Activity | false)[] = [
    isSnoozed && { kind: 'snoozed', details: { until: after.snoozed_until ?? '' } },
    !isSnoozed && after.status !== before.status && { kind: 'status', details: { status: after.status } },
    after.assigned_agent_id !== before.assigned_agent_id && {
      kind: 'assigned',
      details: { assignee_id: after.assigned_agent_id },
    },
    after.assigned_team_id !== before.assigned_team_id && {
      kind: 'assigned',
      details: { team: toTeamRef(after.assigned_team_id, teams) },
    },
    (added.length > 0 || removed.length > 0) && { kind: 'labeled', details: { added, removed } },
  ]
  return activities.filter((one) => one !== false)
}

const toTeamRef = (id: string | null, teams: ReadonlyMap<string, string>) =>
  id === null ? null : { id, name: teams.get(id) ?? '' }

/** The names of the teams that conversations got. */
async function readTeamNames(
  sql: Sql,
  workspaceId: string,
  changes: readonly ConversationChange[],
): Promise<Map<string, string>> {
  const ids = changes.flatMap(({ before, after }) =>
    after.assigned_team_id !== null && after.assigned_team_id !== before.assigned_team_id
      ? [after.assigned_team_id]
      : [],
  )
  if (ids.length === 0) return new Map()
  const teams = await sql<{ id: string; name: string }[]>`
    select id, name from teams where workspace_id = ${workspaceId} and id = any(${[...new Set(ids)]}::uuid[])`
  return new Map(teams.map(({ id, name }) => [id, name]))
}

/**
 * A member of a `with` list, named `recorded_reopenings`: conversations that a customer's message or the end of a snooze reopened.
 * `reopened` selects `workspace_id`, `id` and `at`. The entry sorts before a message of the same time.
 */
export const recordReopenings = (sql: Sql, by: 'customer' | 'timer', reopened: Fragment): Fragment => sql`
  recorded_reopenings as (
    insert into timeline_entries (workspace_id, conversation_id, id, kind, details, created_at)
    select r.workspace_id, r.id, ${idFromTime(sql, sql`r.at`)}, 'status',
      ${by === 'customer' ? sql`'{"status": "open", "by": "customer"}'` : sql`'{"status": "open", "by": "timer"}'`}, r.at
    from (${reopened}) r
  )`
