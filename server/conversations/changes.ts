/**
 * Changes of members, API keys and automations: status, assignee, snoozing and labels, of one conversation or of many.
 *
 * One transaction locks the conversations, computes the state of each after the change, and writes those that differ. So the
 * caller gets the states before and after: for the activity in the thread, and to undo a change.
 */
import { readTagNames, resolveTags } from '../contacts/tags.ts'
import { nowMs } from '../lib/clock.ts'
import { type ApiError, badRequest, notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { type Db, type Fragment, isDangling, isoTime, type Sql, withRetries } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import { parseTime } from '../lib/time.ts'
import { notTeam, requireTeamName } from '../teams/teams.ts'
import { type ConversationChange, type ConversationState, recordChanges, recordReopenings } from './activity.ts'
import { notMember, requireAssignee } from './assignees.ts'
import type { ConversationStatus } from './conversations.ts'
import { assignEpisodes, closeEpisodes, closingOf, episodeColumns, reopenEpisodes } from './episodes/writing.ts'
import { type Label, labelKind, labelsJson, maxLabels } from './labels.ts'
import type { Actor } from './timeline.ts'

export type ConversationChanges = {
  status?: ConversationStatus | undefined
  assigned_agent_id?: string | null | undefined
  assigned_team_id?: string | null | undefined
  /** Snoozes until then; null ends it. */
  snoozed_until?: string | null | undefined
  /** Names: exactly these labels. */
  labels?: readonly string[] | undefined
  add_labels?: readonly string[] | undefined
  remove_labels?: readonly string[] | undefined
}

/** For each different id, in the order of the input: the states before and after, or why it was not changed. */
export type ChangeResult = ConversationChange | Refusal
type Refusal = { id: string; error: ApiError }

export const maxSnoozeDays = 366

export async function updateConversation(
  db: Db,
  workspaceId: string,
  actor: Actor,
  id: string,
  changes: ConversationChanges,
): Promise<ConversationChange> {
  const [result] = await updateConversations(db, workspaceId, actor, [id], changes)
  if (!result) throw notFound('conversation')
  if ('error' in result) throw result.error
  return result
}

/** Changes many conversations alike. An id that cannot be changed does not stop the others. `actor`: for the activity. */
export async function updateConversations(
  db: Db,
  workspaceId: string,
  actor: Actor,
  ids: readonly string[],
  changes: ConversationChanges,
): Promise<ChangeResult[]> {
  const change = (sql: Sql) => changeConversations(sql, workspaceId, actor, ids, changes)
  return withRetries(() => db.begin(change) as Promise<ChangeResult[]>).catch((error: unknown) => {
    // The member was removed, or the team deleted, at the same moment.
    if (isDangling(error, 'conversations_team_fkey')) throw notTeam('assigned_team_id')
    throw isDangling(error, 'conversations_assigned_agent_fkey') ? notMember() : error
  })
}

/** The same in the caller's transaction. */
export async function changeConversations(
  sql: Sql,
  workspaceId: string,
  actor: Actor,
  ids: readonly string[],
  changes: ConversationChanges,
): Promise<ChangeResult[]> {
  const snoozedUntil = readSnooze(changes)
  const names = readNames(changes)
  const requested = [...new Set(ids.map((id) => id.toLowerCase()))]
  // Labels are locked before conversations, but a change of no conversation creates no label.
  const isAny = await hasAny(sql, workspaceId, requested)
  const resolved = isAny ? (names.set ?? names.added) : new Map<string, string>()
  const labels = await resolveTags(sql, workspaceId, resolved, { kind: labelKind })
  if (changes.assigned_agent_id) await requireAssignee(sql, workspaceId, changes.assigned_agent_id)
  if (changes.assigned_team_id) await requireTeamName(sql, workspaceId, changes.assigned_team_id, 'assigned_team_id')
  const locked = await lockConversations(sql, workspaceId, requested)
  const results = requested.map((id): LockedChange | Refusal => {
    const before = locked.get(id)
    if (!before) return { id, error: notFound('conversation') }
    const after = stateAfter(before, { ...changes, snoozed_until: snoozedUntil }, { ...names, labels })
    const isTooMany = after.labels.size > Math.max(maxLabels, before.labels.size)
    return isTooMany
      ? { id, error: badRequest(`labels: at most ${maxLabels} per conversation`) }
      : { id, before, after }
  })
  const changed = results.filter((one): one is LockedChange => !('error' in one) && isChanged(one))
  // Labels first: an episode that closes keeps those at its end.
  await writeLabels(sql, workspaceId, changed)
  await writeStates(sql, workspaceId, actor, changed)
  await recordChanges(sql, workspaceId, actor, changed.map(toChange))
  return results.map((one) => ('error' in one ? one : toChange(one)))
}

/**
 * Assigns an unassigned conversation to the member who has just replied, if the workspace wants it. Returns whether it did. Of two
 * members who reply at the same time, the first one is assigned.
 */
export async function assignReplier(db: Db, workspaceId: string, id: string, memberId: string): Promise<boolean> {
  const [wanted] = await db`
    select from workspaces w join conversations v on v.workspace_id = w.id
    where w.id = ${workspaceId} and w.assign_on_reply and v.id = ${id} and v.assigned_agent_id is null`
  if (!wanted) return false
  return withRetries(() =>
    db.begin(async (sql) => {
      const before = (await lockConversations(sql, workspaceId, [id])).get(id)
      if (!before || before.assigned_agent_id !== null) return false
      const change = { id, before, after: { ...before, assigned_agent_id: memberId } }
      await writeStates(sql, workspaceId, { memberId }, [change])
      await recordChanges(sql, workspaceId, { memberId }, [toChange(change)])
      return true
    }),
  ).catch((error: unknown) => {
    // The member was removed at the same moment.
    if (isDangling(error, 'conversations_assigned_agent_fkey')) return false
    throw error
  })
}

export const hasEndedSnoozes = (sql: Sql): Fragment =>
  sql`exists (select from conversations where snoozed_until <= now())`

/** Reopens conversations whose snooze has ended, at the top of the inbox. Returns their workspaces. */
export async function wakeSnoozed(sql: Sql): Promise<string[]> {
  const woken = await sql<{ workspace_id: string }[]>`
    with
    -- Of all workspaces. Conversations that another statement changes now are due again a second later.
    due as (
      select workspace_id, id from conversations
      where snoozed_until <= now()
      order by snoozed_until
      limit ${wokenAtOnce}
      for no key update skip locked
    ),
    woken_conversations as (
      update conversations v set status = 'open', snoozed_until = null, inbox_at = now(), updated_at = now()
      from due d
      where v.workspace_id = d.workspace_id and v.id = d.id
      returning v.workspace_id, v.id
    ),
    ${recordReopenings(sql, 'timer', sql`select workspace_id, id, now() as at from woken_conversations`)}
    select workspace_id from woken_conversations`
  const workspaceIds = woken.map(({ workspace_id }) => workspace_id)
  return [...new Set(woken.length === wokenAtOnce ? [...workspaceIds, ...(await wakeSnoozed(sql))] : workspaceIds)]
}

const wokenAtOnce = 1_000

type Labels = Map<string, Pick<Label, 'id' | 'name'>>
type LockedState = Omit<ConversationState, 'labels'> & { labels: Labels }
type LockedChange = { id: string; before: LockedState; after: LockedState }
type LabelNames = {
  set: ReadonlyMap<string, string> | undefined
  added: ReadonlyMap<string, string>
  removed: ReadonlyMap<string, string>
}

/** The end of the snooze in UTC; null to end it; undefined when the input does not mention it. */
function readSnooze({ status, snoozed_until: until }: ConversationChanges): string | null | undefined {
  if (until === undefined || until === null) return until
  const timeMs = parseTime(until)
  if (timeMs === undefined) throw badRequest('snoozed_until: must be a date-time such as 2026-01-31T09:30:00Z')
  if (timeMs <= nowMs()) throw badRequest('snoozed_until: must be in the future')
  if (timeMs > nowMs() + maxSnoozeDays * 86_400_000) {
    throw badRequest(`snoozed_until: must be within ${maxSnoozeDays} days`)
  }
  if (status !== undefined && status !== 'pending') {
    throw badRequest('snoozed_until: a snoozed conversation has the status pending')
  }
  return new Date(timeMs).toISOString()
}

function readNames({ labels, add_labels, remove_labels }: ConversationChanges): LabelNames {
  if (labels && (add_labels || remove_labels)) {
    throw badRequest('labels: not together with add_labels or remove_labels')
  }
  return {
    set: labels && readTagNames(labels, 'labels', maxLabels),
    added: readTagNames(add_labels ?? [], 'add_labels', maxLabels),
    removed: readTagNames(remove_labels ?? [], 'remove_labels', maxLabels),
  }
}

async function hasAny(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<boolean> {
  const [found] = await sql`
    select from conversations
    where workspace_id = ${workspaceId} and id = any(${ids.filter(isUuid)}::uuid[])
    limit 1`
  return found !== undefined
}

/** Locks the conversations in the order of their ids. Returns their states by id. */
async function lockConversations(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, LockedState>> {
  type Row = Omit<ConversationState, 'labels'> & { id: string; labels: Label[] }
  const rows = await sql<Row[]>`
    select v.id, v.status, v.assigned_agent_id, v.team_id as assigned_team_id, ${isoTime(sql, sql`v.snoozed_until`)} as snoozed_until,
      ${labelsJson(sql)} as labels
    from conversations v
    where v.workspace_id = ${workspaceId} and v.id = any(${ids.filter(isUuid)}::uuid[])
    order by v.id
    for no key update`
  return new Map(
    rows.map(({ id, labels, ...state }) => [
      id,
      { ...state, labels: new Map(labels.map((label) => [fold(label.name), label])) },
    ]),
  )
}

/** Any status but `pending` ends a snooze, and the end of a snooze reopens. */
function stateAfter(
  before: LockedState,
  { status, assigned_agent_id, assigned_team_id: teamId, snoozed_until: until }: ConversationChanges,
  names: LabelNames & { labels: ReadonlyMap<string, Label> },
): LockedState {
  const isWoken = until === null && before.snoozed_until !== null
  const statusAfter = status ?? (until ? 'pending' : isWoken ? 'open' : before.status)
  const labels: Labels = new Map(names.set ? [] : before.labels)
  for (const [key, label] of names.labels) if (!labels.has(key)) labels.set(key, label)
  for (const key of names.removed.keys()) labels.delete(key)
  return {
    status: statusAfter,
    assigned_agent_id: assigned_agent_id === undefined ? before.assigned_agent_id : assigned_agent_id,
    assigned_team_id: teamId === undefined ? before.assigned_team_id : (teamId?.toLowerCase() ?? null),
    snoozed_until: until !== undefined ? until : statusAfter === 'pending' ? before.snoozed_until : null,
    labels,
  }
}

function isChanged({ before, after }: LockedChange): boolean {
  return (
    isStateChanged(before, after) ||
    before.labels.size !== after.labels.size ||
    [...after.labels.keys()].some((key) => !before.labels.has(key))
  )
}

const isStateChanged = (before: LockedState, after: LockedState) =>
  before.status !== after.status ||
  before.assigned_agent_id !== after.assigned_agent_id ||
  before.assigned_team_id !== after.assigned_team_id ||
  before.snoozed_until !== after.snoozed_until

const toState = ({ labels, ...state }: LockedState): ConversationState => ({
  ...state,
  labels: [...labels.values()].map(({ name }) => name),
})

const toChange = ({ id, before, after }: LockedChange): ConversationChange => ({
  id,
  before: toState(before),
  after: toState(after),
})

/** Writes the states after the change, and what they are for the episodes of the conversations. */
async function writeStates(
  sql: Sql,
  workspaceId: string,
  actor: Actor,
  changed: readonly LockedChange[],
): Promise<void> {
  const rows = changed.map(({ id, before, after: { labels: _, ...state } }) => ({
    id,
    ...state,
    closes: before.status !== 'closed' && state.status === 'closed',
    reopens: before.status === 'closed' && state.status !== 'closed',
    assigns: state.assigned_agent_id !== null && state.assigned_agent_id !== before.assigned_agent_id,
  }))
  if (rows.length === 0) return
  await sql`
    with
    -- The states after the change.
    input as (
      select ${workspaceId}::uuid as workspace_id, i.id, i.status, i.assigned_agent_id, i.assigned_team_id, i.snoozed_until, i.closes,
        i.reopens, i.assigns
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        id uuid, status text, assigned_agent_id uuid, assigned_team_id uuid, snoozed_until timestamptz, closes boolean,
        reopens boolean, assigns boolean
      )
    ),
    ${closeEpisodes(sql, sql`(select workspace_id, id, assigned_agent_id, assigned_team_id as team_id from input where closes)`, closingOf(actor))},
    ${reopenEpisodes(sql, sql`(select workspace_id, id, assigned_agent_id from input where reopens)`)},
    ${assignEpisodes(sql, sql`(select workspace_id, id from input where assigns and not closes)`)}
    update conversations v set status = i.status, assigned_agent_id = i.assigned_agent_id,
      team_id = i.assigned_team_id, snoozed_until = i.snoozed_until,
      ${episodeColumns(sql, sql`i.closes`)},
      updated_at = now()
    from input i
    left join reopened_episodes r on r.workspace_id = i.workspace_id and r.conversation_id = i.id
    where v.workspace_id = ${workspaceId} and v.id = i.id`
}

async function writeLabels(sql: Sql, workspaceId: string, changed: readonly LockedChange[]): Promise<void> {
  const pairsOf = (one: 'before' | 'after', other: 'before' | 'after') =>
    changed.flatMap((change) =>
      [...change[one].labels]
        .filter(([key]) => !change[other].labels.has(key))
        .map(([, label]) => ({ conversation_id: change.id, label_id: label.id })),
    )
  const removed = pairsOf('before', 'after')
  const added = pairsOf('after', 'before')
  if (removed.length > 0) {
    await sql`
      delete from conversation_labels cl
      using json_to_recordset(${JSON.stringify(removed)}::text::json) as i (conversation_id uuid, label_id uuid)
      where cl.workspace_id = ${workspaceId} and cl.conversation_id = i.conversation_id and cl.label_id = i.label_id`
  }
  if (added.length > 0) {
    await sql`
      insert into conversation_labels (workspace_id, conversation_id, label_id)
      select ${workspaceId}, i.conversation_id, i.label_id
      from json_to_recordset(${JSON.stringify(added)}::text::json) as i (conversation_id uuid, label_id uuid)
      on conflict do nothing`
  }
}
