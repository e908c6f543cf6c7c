/**
 * Reads the past of conversations for a dry run: messages, changes, opt-outs, and the state before them. Writes nothing.
 *
 * Conversations are read in chunks, the newest first, and of each at most `maxEvents` messages and changes: every statement takes a
 * bounded time, and the caller holds the rows of one chunk only.
 */

import { memberName } from '../../accounts/members.ts'
import { type OptOutRequest, toKeys } from '../../accounts/opt-out-words.ts'
import type { ChannelName } from '../../contacts/resource.ts'
import type { ConversationStatus } from '../../conversations/conversations.ts'
import { readSchedules, type ScheduleFinder } from '../../hours/schedules.ts'
import { idAt, isUuid, msOfId } from '../../lib/id.ts'
import { type Fragment, plannedPerCall, type Sql } from '../../lib/postgres/db.ts'
import { fold } from '../../lib/text.ts'
import { wishOf } from '../../messages/receiving/inbound.ts'
import type { ValuedContact } from '../../messages/sending/values.ts'
import { type Rule, toCondition } from '../../segments/filter.ts'
import { isOfPerson } from '../decide.ts'
import type { Definition } from '../definition.ts'
import { automationFields } from '../fields.ts'
import { listSteps } from '../steps.ts'
import { keyOfRule, listAllRules } from './conditions.ts'
import type { OtherBot, Thread } from './replay.ts'
import { applyEntry, changeLabels, newState, type PastEntry, type PastEvent, type ThreadState } from './state.ts'

/** Of a conversation. */
const maxEvents = 500
/** Messages and changes before the period that are read for the state at its begin. */
const maxBefore = 200
const maxEntriesBefore = 20

/** From which time events are read, and until when. */
export type Period = { fromMs: number; toMs: number }

export type Candidate = { contact_id: string; conversation_id: string | null }

/** The conversations that changed in the period, those with the latest change first. */
export const listConversations = (
  sql: Sql,
  workspaceId: string,
  { fromMs }: Period,
  limit: number,
): Promise<Candidate[]> =>
  sql<Candidate[]>`
    select v.contact_id, v.id as conversation_id from conversations v
    where v.workspace_id = ${workspaceId} and v.updated_at >= ${toTime(fromMs)}::timestamptz
    order by v.updated_at desc, v.id desc
    limit ${limit}`

/** The contacts that were created in the period, newest first, each with its conversation of that time. Contacts of an import start nothing. */
export const listCreated = (
  sql: Sql,
  workspaceId: string,
  { fromMs, toMs }: Period,
  limit: number,
): Promise<Candidate[]> =>
  sql<Candidate[]>`
    select c.id as contact_id, (
        select v.id from conversations v
        where v.workspace_id = c.workspace_id and v.contact_id = c.id and v.created_at < c.created_at + interval '5 seconds'
        order by v.last_message_at desc nulls last limit 1
      ) as conversation_id
    from contacts c
    where c.workspace_id = ${workspaceId} and c.id >= ${idAt(fromMs)} and c.id < ${idAt(toMs)} and not exists (
      select from contact_imports i
      join contact_import_changes n on n.workspace_id = i.workspace_id and n.import_id = i.id and n.contact_id = c.id
      where i.workspace_id = c.workspace_id and n.before is null
    )
    order by c.id desc
    limit ${limit}`

export type Setting = {
  optOutWords: ReadonlySet<string>
  memberNames: Map<string, string>
  teamNames: Map<string, string>
  /** The folded names of labels and tags by the ids that rules have. */
  names: Map<string, string>
  schedules: ScheduleFinder
}

/** What a definition names by id, and the words for opting out. */
export async function readSetting(sql: Sql, workspaceId: string, definition: Definition): Promise<Setting> {
  const memberIds = listSteps(definition).flatMap(({ step }) =>
    'assigned_agent_id' in step ? (step.assigned_agent_id ?? []) : [],
  )
  const teamIds = listSteps(definition).flatMap(({ step }) =>
    'assigned_team_id' in step ? (step.assigned_team_id ?? []) : [],
  )
  const ids = listAllRules(definition).flatMap(({ value = '' }) => (isUuid(value) ? [value.toLowerCase()] : []))
  const [workspace] = await sql<
    { opt_out_words: string[] }[]
  >`select opt_out_words from workspaces where id = ${workspaceId}`
  const members = await sql<{ id: string; name: string }[]>`
    select m.id, ${memberName(sql, sql`m`)} as name from members m
    where m.workspace_id = ${workspaceId} and m.id = any(${memberIds}::uuid[])`
  const teams = await sql<{ id: string; name: string }[]>`
    select id, name from teams where workspace_id = ${workspaceId} and id = any(${teamIds}::uuid[])`
  const named = await sql<{ id: string; name: string }[]>`
    select id, name from labels where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])
    union all
    select id, name from tags where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])`
  return {
    optOutWords: toKeys(workspace?.opt_out_words ?? []),
    memberNames: new Map(members.map(({ id, name }) => [id, name])),
    teamNames: new Map(teams.map(({ id, name }) => [id, name])),
    names: new Map(named.map(({ id, name }) => [id, fold(name)])),
    schedules: await readSchedules(sql, workspaceId),
  }
}

export type PastThread = Thread & Candidate & { contact_name: string | null; isComplete: boolean }

export type Reading = Period & {
  automationId: string
  rules: readonly Rule[]
  optOutWords: ReadonlySet<string>
  schedules: ScheduleFinder
  /** The trigger asks for the creation of contacts, or for their first message. */
  needsCreation: boolean
  needsFirst: boolean
}

/** Reads the past of some conversations. */
export async function readThreads(
  sql: Sql,
  workspaceId: string,
  candidates: readonly Candidate[],
  reading: Reading,
): Promise<PastThread[]> {
  const ids = candidates.flatMap(({ conversation_id }) => conversation_id ?? [])
  const rows = await readRows(sql, workspaceId, candidates, reading)
  const messages = Map.groupBy(await readMessages(sql, workspaceId, ids, reading), byConversation)
  const entries = Map.groupBy(await readEntries(sql, workspaceId, ids, reading), byConversation)
  const bots = Map.groupBy(await readOtherBots(sql, workspaceId, ids, reading), byConversation)
  return rows.map((row) => {
    const id = row.conversation_id ?? ''
    const found = { messages: messages.get(id) ?? [], entries: entries.get(id) ?? [] }
    return toThread(row, found, bots.get(id) ?? [], reading)
  })
}

const byConversation = ({ conversation_id }: { conversation_id: string }): string => conversation_id
const toTime = (ms: number): string => new Date(ms).toISOString()
const msOf = (time: string | null): number | null => (time === null ? null : Date.parse(time))

type ThreadRow = Candidate & {
  created_at: string
  contact: ValuedContact
  opted_out_at: string | null
  opted_out_by: string | null
  opt_out_decided_at: string | null
  channel: ChannelName | null
  status: ConversationStatus | null
  assigned_agent_id: string | null
  team_id: string | null
  connection_id: string | null
  labels: string[]
  received_at: string | null
  inbound_at: string | null
  wrote_at: string | null
  replied_at: string | null
  entries_before: PastEntry[]
  first_id: string | null
  facts: boolean[]
}

/** The contacts and conversations of today, with their state before the period. */
async function readRows(
  sql: Sql,
  workspaceId: string,
  candidates: readonly Candidate[],
  { fromMs, rules, needsFirst }: Reading,
): Promise<ThreadRow[]> {
  const before = idAt(fromMs)
  const facts = rules.map((rule): Fragment => {
    const condition = toCondition(sql, workspaceId, automationFields, { match: 'all', rules: [rule] })
    return sql`coalesce(${condition}, false)`
  })
  const firstId = sql`(
    select f.id from conversations o cross join lateral (
      select e.id from messages e
      where e.workspace_id = o.workspace_id and e.conversation_id = o.id and e.direction = 'inbound'
      order by e.id limit 1
    ) f
    where o.workspace_id = c.workspace_id and o.contact_id = c.id
    order by f.id limit 1
  )`
  return sql<ThreadRow[]>`
    select i.contact_id, i.conversation_id, c.created_at, c.opted_out_at, c.opted_out_by, c.opt_out_decided_at,
      json_build_object('name', c.name, 'phone', c.phone, 'email', c.email, 'company', c.company, 'attributes', c.attributes) as contact,
      v.channel, v.status, v.assigned_agent_id, v.team_id, v.connection_id, array(
        select l.name from conversation_labels cl join labels l on l.workspace_id = cl.workspace_id and l.id = cl.label_id
        where cl.workspace_id = v.workspace_id and cl.conversation_id = v.id
        order by l.name_key
      ) as labels,
      b.received_at, b.inbound_at, b.wrote_at, b.replied_at, coalesce((
        select json_agg(json_build_object('kind', e.kind, 'details', e.details) order by e.id) from (
          select e.id, e.kind, e.details from timeline_entries e
          where e.workspace_id = v.workspace_id and e.conversation_id = v.id and e.id < ${before}
            and e.kind not in ('note', 'labeled')
          order by e.id desc limit ${maxEntriesBefore}
        ) e
      ), '[]') as entries_before,
      ${needsFirst ? firstId : sql`null::uuid`} as first_id,
      ${facts.length === 0 ? sql`array[]::boolean[]` : plannedPerCall(sql, sql`array[${facts.reduce((one, other) => sql`${one}, ${other}`)}]`)} as facts
    from json_to_recordset(${JSON.stringify(candidates)}::text::json) as i (contact_id uuid, conversation_id uuid)
    join contacts c on c.workspace_id = ${workspaceId} and c.id = i.contact_id
    left join conversations v on v.workspace_id = ${workspaceId} and v.id = i.conversation_id
    -- When the customer and the team last wrote before the period.
    left join lateral (
      select max(m.created_at) filter (where m.direction = 'inbound') as received_at,
        max(coalesce(m.sent_at, m.created_at)) filter (where m.direction = 'inbound') as inbound_at,
        max(m.created_at) filter (where m.direction = 'inbound' and m.content_type <> 'reaction') as wrote_at,
        max(m.created_at) filter (where ${isOfPerson(sql)}) as replied_at
      from (
        select m.direction, m.sender_type, m.sender_id, m.sent_at, m.created_at, m.content_type from messages m
        where m.workspace_id = ${workspaceId} and m.conversation_id = v.id and m.id < ${before}
        order by m.id desc limit ${maxBefore}
      ) m
    ) b on true`
}

type MessageRow = {
  conversation_id: string
  id: string
  direction: string
  text: string | null
  content_type: string
  button: string | null
  sent_at: string | null
  deleted_at: string | null
}

/** Those of customers and persons, of each conversation the newest. */
const readMessages = (
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
  { fromMs, toMs }: Period,
): Promise<MessageRow[]> =>
  sql<MessageRow[]>`
    select m.conversation_id, m.id, m.direction, m.content_text as text, m.content_type, m.interactive_reply_id as button,
      m.sent_at, m.deleted_at
    from unnest(${[...ids]}::uuid[]) as i (id)
    cross join lateral (
      select m.conversation_id, m.id, m.direction, m.content_text, m.content_type, m.interactive_reply_id, m.sent_at, m.deleted_at
      from messages m
      where m.workspace_id = ${workspaceId} and m.conversation_id = i.id and m.id >= ${idAt(fromMs)} and m.id < ${idAt(toMs)}
        and (m.direction = 'inbound' or ${isOfPerson(sql)})
      order by m.id desc limit ${maxEvents}
    ) m`

type EntryRow = PastEntry & { conversation_id: string; id: string }

/** The changes of conversations, without those by runs of the automation that is tried. */
const readEntries = (
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
  { automationId, fromMs, toMs }: Reading,
): Promise<EntryRow[]> =>
  sql<EntryRow[]>`
    select e.conversation_id, e.id, e.kind, e.details
    from unnest(${[...ids]}::uuid[]) as i (id)
    cross join lateral (
      select e.workspace_id, e.conversation_id, e.id, e.kind, e.details from timeline_entries e
      where e.workspace_id = ${workspaceId} and e.conversation_id = i.id and e.id >= ${idAt(fromMs)} and e.id < ${idAt(toMs)}
        and e.kind <> 'note'
      order by e.id desc limit ${maxEvents}
    ) e
    where not exists (
      select from automation_runs r
      where r.workspace_id = e.workspace_id and r.id = (e.details ->> 'run_id')::uuid and r.automation_id = ${automationId}
    )`

type BotRow = {
  conversation_id: string
  started_at: string
  ended_at: string | null
  message_id: string | null
  wins: boolean
}

/** The runs with questions of other automations. */
const readOtherBots = (
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
  { automationId, fromMs }: Reading,
): Promise<BotRow[]> =>
  sql<BotRow[]>`
    select r.conversation_id, r.started_at, r.ended_at, r.message_id, (a.position, a.id) < (t.position, t.id) as wins
    from automation_runs r
    join automations a on a.workspace_id = r.workspace_id and a.id = r.automation_id
    join automations t on t.workspace_id = r.workspace_id and t.id = ${automationId}
    where r.workspace_id = ${workspaceId} and r.conversation_id = any(${[...ids]}::uuid[]) and r.has_questions
      and r.automation_id <> ${automationId} and (r.ended_at is null or r.ended_at >= ${toTime(fromMs)}::timestamptz)
    order by r.id desc
    limit ${maxEvents}`

type Found = { messages: readonly MessageRow[]; entries: readonly EntryRow[] }

function toThread(row: ThreadRow, found: Found, bots: readonly BotRow[], reading: Reading): PastThread {
  const { contact_id, conversation_id, contact, channel, facts } = row
  const { rules, schedules, toMs } = reading
  return {
    ...{ contact_id, conversation_id, contact, contact_name: contact.name, channel: channel ?? undefined },
    state: stateBefore(row, found, reading),
    schedule: schedules({ teamId: row.team_id, connectionId: row.connection_id }),
    facts: new Map(rules.map((rule, i) => [keyOfRule(rule), facts[i] ?? false])),
    events: listEvents(row, found, reading),
    bots: bots.map(({ started_at, ended_at, message_id, wins }): OtherBot => {
      return { fromMs: Date.parse(started_at), toMs: msOf(ended_at) ?? toMs, message_id, wins }
    }),
    isComplete: found.messages.length < maxEvents && found.entries.length < maxEvents,
  }
}

/** Of a conversation whose changes were never recorded, the state of today. */
function stateBefore(row: ThreadRow, { messages, entries }: Found, { fromMs }: Reading): ThreadState {
  const state = newState()
  const { entries_before: before, opted_out_at, received_at, inbound_at, wrote_at, replied_at } = row
  for (const entry of before) applyEntry(state, { ...entry, details: withoutCause(entry) }, fromMs)
  const recorded = [...before, ...entries]
  const isRecorded = (...kinds: string[]) => recorded.some(({ kind }) => kinds.includes(kind))
  const isOpened = messages.some(({ direction }) => direction === 'inbound')
  if (!isRecorded('status', 'snoozed', 'blocked') && !isOpened) state.status = row.status ?? 'open'
  if (!recorded.some(({ details }) => 'assignee_id' in details)) state.assigned_agent_id = row.assigned_agent_id
  if (!recorded.some(({ details }) => 'team' in details)) state.assigned_team_id = row.team_id
  // Backwards from today.
  state.labels = entries
    .toSorted((one, other) => (one.id < other.id ? 1 : -1))
    .reduce((labels, { details: { added = [], removed = [] } }) => changeLabels(labels, removed, added), row.labels)
  state.isOptedOut = opted_out_at !== null && Date.parse(opted_out_at) < fromMs
  state.receivedMs = msOf(received_at)
  state.inboundMs = msOf(inbound_at)
  state.inboxMs = Math.max(msOf(received_at) ?? 0, msOf(replied_at) ?? 0) || null
  state.waitingSinceMs = wrote_at !== null && (replied_at === null || wrote_at > replied_at) ? msOf(wrote_at) : null
  return state
}

/** Before the period, a message of the customer that reopened the conversation is known by its entry only. */
function withoutCause({ details }: PastEntry): PastEntry['details'] {
  const { by: _, ...rest } = details
  return rest
}

/** In the order of their time; of the same time, changes come before messages. */
function listEvents(row: ThreadRow, { messages, entries }: Found, reading: Reading): PastEvent[] {
  const { fromMs, toMs, needsCreation } = reading
  const events: PastEvent[] = []
  const createdMs = Date.parse(row.created_at)
  if (needsCreation && createdMs >= fromMs) events.push({ kind: 'created', ms: createdMs })
  for (const { id, kind, details } of entries) events.push({ kind: 'change', ms: msOfId(id), entry: { kind, details } })
  const storedMs = msOf(row.opt_out_decided_at ?? row.opted_out_at)
  // Whole seconds are stored. What a customer decides is decided by the message, which is an event of its own.
  const decidedMs = storedMs !== null && row.opted_out_by === 'customer' ? storedMs + 999 : storedMs
  if (decidedMs !== null && decidedMs >= fromMs && decidedMs < toMs) {
    events.push({ kind: 'opt_out', ms: decidedMs, isOptedOut: row.opted_out_at !== null })
  }
  for (const message of messages) events.push(toEvent(message, row, reading))
  return events.sort((one, other) => one.ms - other.ms || compare(idOf(one), idOf(other)))
}

/** Of an event that is no message: before those of the same time. */
const idOf = (event: PastEvent): string => (event.kind === 'message' ? event.message.id : '')
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

function toEvent(row: MessageRow, { channel, first_id }: ThreadRow, { optOutWords }: Reading): PastEvent {
  const { id, direction, text, content_type, button, sent_at, deleted_at } = row
  const ms = msOfId(id)
  if (direction !== 'inbound') return { kind: 'person', ms }
  const written = { content_type, content_text: text } as Parameters<typeof wishOf>[1]
  const wish: OptOutRequest | undefined = channel ? wishOf(channel, written, optOutWords) : undefined
  const sentMs = msOf(sent_at) ?? ms
  return {
    ...{ kind: 'message', ms },
    message: {
      id,
      ms,
      sentMs,
      text,
      content_type,
      button,
      deletedMs: msOf(deleted_at),
      wish,
      is_first: id === first_id,
    },
  }
}
