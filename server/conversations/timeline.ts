/**
 * The timeline of a conversation: everything in its thread that is not a message. Notes are written by members or API keys and
 * never sent.
 * The other entries record what happened to the conversation (`activity.ts`).
 *
 * Entries have time-ordered ids like messages, so a thread merges both by id.
 */
import type { AnyCaller } from '../accounts/callers.ts'
import { idempotencyKeyOf } from '../accounts/idempotency.ts'
import { readKeyNames } from '../accounts/keys.ts'
import { memberName } from '../accounts/members.ts'
import { badRequest, forbidden, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { lengthOf } from '../lib/text.ts'
import type { Policy } from '../teams/capacity.ts'
import type { statuses } from './filter-fields.ts'

/** A run of an automation. `depth`: how many automations caused one another before it. `isSilence`: its automation waits for silence. */
export type RunActor = { runId: string; automation: string; depth: number; isSilence: boolean }

/**
 * The policy of a team, which assigns conversations of its queue: `open` says how many the member then has, by conversation. Or the
 * return to the queue, because the member is offline and the customer has waited for `minutes`.
 */
export type PolicyActor =
  | { policy: Exclude<Policy, 'none'>; capacity: number; open: ReadonlyMap<string, number> }
  | { policy: 'offline'; minutes: number; from: string }

/** Who wrote a note or changed a conversation: a member, an API key, a run of an automation or the policy of a team. */
export type Actor = { memberId: string } | { keyId: string } | RunActor | PolicyActor

export const actorOf = ({ member, keyId = '' }: AnyCaller): Actor => (member ? { memberId: member.id } : { keyId })

export const timelineKinds = [
  'note',
  'status',
  'assigned',
  'labeled',
  'snoozed',
  'blocked',
  'unblocked',
  'rated',
] as const
export type ActivityKind = Exclude<(typeof timelineKinds)[number], 'note'>
/** What caused a change that no member made. */
export const timelineCauses = ['customer', 'api', 'timer', 'automation', 'policy'] as const

export const timelinePolicies = ['round_robin', 'fewest_open', 'offline'] as const satisfies PolicyActor['policy'][]

/** `name` is null for a member who was removed. */
type MemberRef = { id: string; name: string | null }

/** The stored details of an entry, by kind. */
export type StoredDetails = {
  by?: (typeof timelineCauses)[number]
  /** With `by: 'api'`: the key. */
  key_id?: string
  /** With `by: 'automation'`: the run and the name of its automation. */
  run_id?: string
  automation?: string
  /** With `by: 'policy'`: why; how many conversations the member then has, of how many; or how long the customer has waited. */
  policy?: (typeof timelinePolicies)[number]
  open?: number
  capacity?: number
  minutes?: number
  /** With `policy: 'offline'`: the member who is. */
  from_id?: string
  /** `note` */
  mentions?: string[]
  /** `status`; `blocked`: the status before, if the block closed the conversation. */
  status?: (typeof statuses)[number]
  /** `assigned`: null when the conversation became unassigned. */
  assignee_id?: string | null
  /** `assigned`: null when the conversation left its team. With its name, so that the line outlives it. */
  team?: { id: string; name: string } | null
  /** `labeled`: the names of labels, so that the line outlives them. */
  added?: string[]
  removed?: string[]
  /** `snoozed` */
  until?: string
  /** `rated`: 1 to 5. */
  rating?: number
}

export type TimelineEntry = {
  id: string
  kind: (typeof timelineKinds)[number]
  member: MemberRef | null
  text: string | null
  details: Omit<StoredDetails, 'mentions' | 'assignee_id' | 'key_id' | 'from_id'> & {
    mentions?: MemberRef[]
    assignee?: MemberRef | null
    from?: MemberRef
    key?: { id: string; name: string | null }
  }
  created_at: string
  /** Of the request that added the note, if a page of a member made it within the last day: the page knows its note by it. */
  idempotency_key?: string
}

type StoredEntry = Omit<TimelineEntry, 'member' | 'details' | 'idempotency_key'> & {
  member_id: string | null
  details: StoredDetails
  idempotency_key?: string | null
}

/** A page of all entries or of one kind, newest first. 404 when the workspace does not have the conversation. */
export async function listTimeline(
  sql: Sql,
  workspaceId: string,
  conversationId: string,
  { limit, before }: Position,
  kind?: TimelineEntry['kind'],
): Promise<Page<TimelineEntry>> {
  await requireExisting(sql, workspaceId, conversationId)
  const path = sql`'/app/api/conversations/' || e.conversation_id::text || '/notes'`
  const rows = await sql<StoredEntry[]>`
    select e.id, e.kind, e.member_id, e.text, e.details, e.created_at,
      case when e.kind = 'note' and e.member_id is not null
        then ${idempotencyKeyOf(sql, workspaceId, path, sql`e.id`)} end as idempotency_key
    from timeline_entries e
    where e.workspace_id = ${workspaceId} and e.conversation_id = ${conversationId} and e.id < ${before}
      and ${kind ? sql`e.kind = ${kind}` : sql`true`}
    order by e.id desc
    limit ${limit + 1}`
  return toPage(await resolveMembers(sql, workspaceId, rows), limit)
}

export const maxNoteLength = 10_000

/** `id`: given when the request may be repeated; a note with this id is returned as it is. */
export type NoteInput = { id?: string | undefined; text: string; mentions: readonly string[] }

/** Adds a note. The mentioned members find it in their mentions. */
export async function createNote(
  sql: Sql,
  workspaceId: string,
  conversationId: string,
  actor: Actor,
  { id = newId(), text: input, mentions }: NoteInput,
): Promise<TimelineEntry> {
  const text = input.trim()
  if (text === '' || lengthOf(text) > maxNoteLength)
    throw badRequest(`text: must have 1 to ${maxNoteLength} characters`)
  if (!isUuid(conversationId)) throw notFound('conversation')
  const mentionedIds = [...new Set(mentions)]
  const known = await sql`
    select id from members where workspace_id = ${workspaceId} and id = any(${mentionedIds}::uuid[])`
  if (known.length < mentionedIds.length) throw badRequest('mentions: not members of this workspace')
  const { memberId, details } = authorOf(actor, conversationId)
  const rows = await sql<StoredEntry[]>`
    with
    -- Nothing when the conversation is erased or merged at the same moment.
    locked_conversation as (
      select workspace_id, id from conversations
      where workspace_id = ${workspaceId} and id = ${conversationId}
      for key share
    ),
    inserted_note as (
      insert into timeline_entries (workspace_id, conversation_id, id, kind, member_id, text, details, created_at)
      select v.workspace_id, v.id, ${id}, 'note', ${memberId}::uuid, ${text},
        ${JSON.stringify({ ...details, mentions: mentionedIds })}::text::jsonb, ${timeOfId(id)}
      from locked_conversation v
      on conflict do nothing
      returning workspace_id, conversation_id, id, kind, member_id, text, details, created_at
    ),
    -- A member who mentions themselves needs no reminder.
    inserted_mentions as (
      insert into mentions (workspace_id, member_id, id, conversation_id)
      select n.workspace_id, m.id, n.id, n.conversation_id
      from inserted_note n
      join members m on m.workspace_id = n.workspace_id and m.id = any(${mentionedIds}::uuid[]) and m.id <> n.member_id
    )
    select id, kind, member_id, text, details, created_at from inserted_note
    union all
    select e.id, e.kind, e.member_id, e.text, e.details, e.created_at
    from timeline_entries e join locked_conversation v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
    where e.id = ${id}`
  const [note] = await resolveMembers(sql, workspaceId, rows)
  if (!note) throw notFound('conversation')
  return note
}

/** The stored author of an entry of the conversation. */
export function authorOf(actor: Actor, conversationId: string): { memberId: string | null; details: StoredDetails } {
  if ('memberId' in actor) return { memberId: actor.memberId, details: {} }
  if ('keyId' in actor) return { memberId: null, details: { by: 'api', key_id: actor.keyId } }
  if ('policy' in actor) return { memberId: null, details: { by: 'policy', ...reasonOf(actor, conversationId) } }
  return { memberId: null, details: { by: 'automation', run_id: actor.runId, automation: actor.automation } }
}

function reasonOf(actor: PolicyActor, conversationId: string): StoredDetails {
  if (actor.policy === 'offline') return { policy: actor.policy, minutes: actor.minutes, from_id: actor.from }
  return { policy: actor.policy, open: actor.open.get(conversationId) ?? 0, capacity: actor.capacity }
}

/** Deletes a note and its mentions. Only its author may; every member may delete the note of an API key. `mentions`: the members whom it mentioned. */
export async function deleteNote(
  sql: Sql,
  workspaceId: string,
  conversationId: string,
  memberId: string,
  id: string,
): Promise<{ id: string; deleted: true; mentions: readonly string[] }> {
  await requireExisting(sql, workspaceId, conversationId)
  const [note] = isUuid(id)
    ? await sql<{ member_id: string | null; details: StoredDetails }[]>`
        select member_id, details from timeline_entries
        where workspace_id = ${workspaceId} and conversation_id = ${conversationId} and id = ${id} and kind = 'note'`
    : []
  if (!note) throw notFound('note')
  if (note.member_id !== null && note.member_id !== memberId) throw forbidden('only the author may delete a note')
  await sql`
    delete from timeline_entries
    where workspace_id = ${workspaceId} and conversation_id = ${conversationId} and id = ${id}`
  return { id, deleted: true, mentions: note.details.mentions ?? [] }
}

async function requireExisting(sql: Sql, workspaceId: string, conversationId: string): Promise<void> {
  const [conversation] = isUuid(conversationId)
    ? await sql`select from conversations where workspace_id = ${workspaceId} and id = ${conversationId}`
    : []
  if (!conversation) throw notFound('conversation')
}

/** Replaces the ids of members with their names. */
async function resolveMembers(sql: Sql, workspaceId: string, rows: readonly StoredEntry[]): Promise<TimelineEntry[]> {
  const ids = new Set(
    rows.flatMap(({ member_id, details: { mentions = [], assignee_id, from_id } }) => [
      ...(member_id ? [member_id] : []),
      ...(from_id ? [from_id] : []),
      ...(assignee_id ? [assignee_id] : []),
      ...mentions,
    ]),
  )
  const members =
    ids.size === 0
      ? []
      : await sql<{ id: string; name: string }[]>`
          select m.id, ${memberName(sql, sql`m`)} as name from members m
          where m.workspace_id = ${workspaceId} and m.id = any(${[...ids]}::uuid[])`
  const names = new Map(members.map(({ id, name }) => [id, name]))
  const keyNames = await readKeyNames(
    sql,
    workspaceId,
    rows.flatMap(({ details: { key_id } }) => key_id ?? []),
  )
  const refOf = (id: string): MemberRef => ({ id, name: names.get(id) ?? null })
  return rows.map(
    ({ member_id, details: { mentions, assignee_id, key_id, from_id, ...details }, idempotency_key, ...row }) => ({
      ...row,
      ...(idempotency_key ? { idempotency_key } : {}),
      member: member_id ? refOf(member_id) : null,
      details: {
        ...details,
        ...(key_id ? { key: { id: key_id, name: keyNames.get(key_id) ?? null } } : {}),
        ...(from_id ? { from: refOf(from_id) } : {}),
        ...(mentions ? { mentions: mentions.map(refOf) } : {}),
        ...(assignee_id === undefined ? {} : { assignee: assignee_id === null ? null : refOf(assignee_id) }),
      },
    }),
  )
}
