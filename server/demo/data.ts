/**
 * Writes the history of the demo workspace: contacts, segments, canned replies, office hours, teams, two weeks of conversations with their
 * episodes and ratings, targets, a broadcast and automations.
 *
 * All rows are written in the transaction that creates the workspace. The counters are written by the statements of their
 * modules, or by their loops from these rows: those of reports, the hours of episodes, the clocks of targets. The digest gets a request for every
 * message, because its position may be past their ids. Nothing is sent: there are no
 * events, no calls to a channel and no quota. Files are stored first; a crash before the commit leaves files without rows.
 *
 * Over 400 lines because it has a statement for each table.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { seedTemplates } from '../../simulator/wire/templates.ts'
import { optedOutReason } from '../broadcasts/broadcasts.ts'
import { addCounts, recipientFollower } from '../broadcasts/counts.ts'
import { noPhoneReason } from '../broadcasts/reach.ts'
import type { Template } from '../channels/channel.ts'
import { replaceTemplates } from '../channels/templates.ts'
import { addTags, readTagNames, resolveTags } from '../contacts/tags.ts'
import { filterFields } from '../conversations/filter-fields.ts'
import { labelKind } from '../conversations/labels.ts'
import { createView } from '../conversations/views.ts'
import { noteHistory } from '../insights/checklist.ts'
import { nowMs } from '../lib/clock.ts'
import { randomToken, type Sealer } from '../lib/crypto.ts'
import { pastId, timeOfId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'
import { colorOf, fold } from '../lib/text.ts'
import { mediaPath } from '../media/media.ts'
import { countOutcomes } from '../messages/outcomes.ts'
import { reindexMessages } from '../messages/reindex-requests.ts'
import { changeSettings } from '../satisfaction/settings.ts'
import { requireFilter } from '../segments/filter.ts'
import { insertAutomations } from './automations.ts'
import { insertWork } from './episodes.ts'
import { createPeople, createThreads, type PastPerson, paramsOf } from './history.ts'
import type { Past, PastMessage, PastRecipient, PastThread, Picture } from './past.ts'
import { cannedReplies, demoBroadcast, demoSegments, guests, labelColors, type PersonKey } from './people.ts'
import { insertAvailability, insertTargets, insertTeams } from './teams.ts'
import { spanOf } from './texts.ts'

type SeedOptions = {
  sql: Sql
  workspaceId: string
  memberIds: Past['memberIds']
  publicUrl: string
  store: Store
  /** Seals the secrets of its automations. */
  sealer: Sealer
}

const dayMs = 86_400_000
const maxPicture = 1_000_000
const pictureType = 'image/jpeg'
/** Its count is that of the customers who wait. */
const demoView = {
  name: 'Longest wait',
  is_shared: true,
  filters: { status: 'open', no_reply: 'true', sort: 'waiting' },
}
/** Customers are asked for a rating a minute after a closing, also from now on. */
const askedAbout = { is_on: true, comment_request: 'Is there anything that we should know?' }
const json = (rows: unknown) => JSON.stringify(rows)

/** Runs in the caller's transaction. */
export async function seedDemo({ sql, workspaceId, memberIds, publicUrl, store, sealer }: SeedOptions): Promise<void> {
  const ownerId = memberIds.owner
  const templates = listTemplates(workspaceId, publicUrl)
  const pictures = new Map<string, Picture>()
  const pictureOf = (filename: string): Picture => {
    const known = pictures.get(filename) ?? toPicture(filename)
    pictures.set(filename, known)
    return known
  }
  const now = nowMs()
  const broadcastId = pastId(now - spanOf(demoBroadcast.ago) - 60_000)
  const teamIds = await insertTeams(sql, { workspaceId, memberIds, nowMs: now })
  const satisfaction = await changeSettings(sql, workspaceId, askedAbout)
  const past: Past = {
    ...{
      workspaceId,
      ownerId,
      memberIds,
      publicUrl,
      nowMs: now,
      templates,
      pictureOf,
      broadcastId,
      teamIds,
      satisfaction,
    },
  }
  const people = createPeople(past)
  const { threads, recipients } = createThreads(past, people)

  const sizes = new Map<string, number>()
  for (const picture of pictures.values()) sizes.set(picture.id, await putPicture(store, picture))
  await replaceTemplates(sql, workspaceId, templates)
  await insertPeople(sql, workspaceId, [...people.values()])
  await insertThreads(sql, workspaceId, threads)
  await insertLabels(sql, past, threads)
  const changes = await insertWork(sql, workspaceId, threads)
  await insertTargets(sql, past, changes)
  await insertAvailability(sql, past)
  await insertNotes(sql, past, threads)
  await insertContactNotes(sql, workspaceId, [...people.values()])
  await insertCannedReplies(sql, past)
  await insertHours(sql, past)
  await insertFiles(sql, past, threads, sizes)
  const segments = toSegments(past, (key) => people.get(key)?.id ?? '')
  await insertSegments(sql, workspaceId, segments)
  await insertBroadcast(sql, past, segments.find(({ name }) => name === guests)?.id ?? null, recipients)
  await insertAutomations(sql, past, threads, sealer)
  await noteHistory(sql, workspaceId)
}

/** The templates of the simulator, so that the first sync changes nothing. */
function listTemplates(workspaceId: string, publicUrl: string): Template[] {
  return seedTemplates(workspaceId, publicUrl).map((seeded) => {
    const { shape: _, id, ...template } = seeded
    return { ...template, external_id: id }
  })
}

function toPicture(filename: string): Picture {
  const token = randomToken()
  return { id: pastId(nowMs()), token, filename, path: mediaPath(token, filename) }
}

async function putPicture(store: Store, { id, filename }: Picture): Promise<number> {
  const bytes = readFileSync(join(import.meta.dirname, 'media', filename))
  const source = Readable.from([bytes], { objectMode: false })
  return (await store.put(id, source, { mime_type: pictureType, maxBytes: maxPicture })).size_bytes
}

async function insertPeople(sql: Sql, workspaceId: string, people: readonly PastPerson[]): Promise<void> {
  await sql`
    with people as (
      select *
      from json_to_recordset(${json(people)}::text::json) as g (
        id uuid, phone text, name text, name_key text, email text, email_key text, company text, company_key text,
        social_username text, social_username_key text, created_at timestamptz, opted_out_at timestamptz, channel text,
        external_id text, attributes jsonb
      )
    ),
    inserted_identities as (
      insert into contact_identities (workspace_id, channel, external_id, contact_id)
      select ${workspaceId}, channel, external_id, id from people
    )
    insert into contacts (workspace_id, id, phone, name, name_key, email, email_key, company, company_key, social_username,
      social_username_key, attributes, created_at, updated_at, opted_out_at, opted_out_by, opt_out_decided_at)
    select ${workspaceId}, id, phone, name, name_key, email, email_key, company, company_key, social_username,
      social_username_key, attributes, created_at, created_at, opted_out_at, case when opted_out_at is not null then 'customer' end,
      opted_out_at
    from people`
  await resolveTags(sql, workspaceId, readTagNames(people.flatMap(({ tags }) => tags)))
  await addTags(
    sql,
    workspaceId,
    people.flatMap(({ id, tags }) => tags.map((tag) => ({ contact_id: id, key: fold(tag) }))),
  )
}

/** Inserts the conversations, their messages, and the counters of statuses. */
async function insertThreads(sql: Sql, workspaceId: string, threads: readonly PastThread[]): Promise<void> {
  const conversations = threads.map(({ messages, notes: _notes, entries: _entries, ratings: _ratings, ...thread }) => {
    const last = messages.at(-1)
    const isReply = ({ sender_id }: PastMessage) => sender_id !== null
    const isInbound = ({ direction }: PastMessage) => direction === 'inbound'
    const isWork = (message: PastMessage) => isReply(message) || (isInbound(message) && !message.isOfRating)
    const unanswered = messages.slice(messages.findLastIndex(isReply) + 1).filter(isWork)
    return {
      ...thread,
      inbox_at: messages.findLast(isWork)?.created_at ?? null,
      waiting_since: unanswered.find(({ content_type }) => content_type !== 'reaction')?.created_at ?? null,
      last_received_at: messages.findLast(isInbound)?.created_at ?? null,
      last_message_text: last?.content_text ?? null,
      last_message_at: last?.created_at ?? null,
      last_inbound_at: messages.findLast(isInbound)?.sent_at ?? null,
    }
  })
  await sql`
    insert into conversations (workspace_id, id, contact_id, channel, status, assigned_agent_id, team_id, last_message_text,
      last_message_at, last_inbound_at, last_received_at, inbox_at, waiting_since, snoozed_until, unread_count, created_at,
      updated_at)
    select ${workspaceId}, id, contact_id, channel, status, assigned_agent_id, team_id, last_message_text, last_message_at,
      last_inbound_at, last_received_at, inbox_at, waiting_since, snoozed_until, unread_count, created_at, last_message_at
    from json_to_recordset(${json(conversations)}::text::json) as g (
      id uuid, contact_id uuid, channel text, status text, assigned_agent_id uuid, team_id uuid, last_message_text text,
      last_message_at timestamptz, last_inbound_at timestamptz, last_received_at timestamptz, inbox_at timestamptz,
      waiting_since timestamptz, snoozed_until timestamptz, unread_count int, created_at timestamptz
    )`
  await sql`
    with inserted_messages as (
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, sender_id, content_type, content_text,
        content, media_url, template_name, external_id, status, error, reply_to_message_id, interactive_reply_id, broadcast_id, sent_at,
        created_at)
      select ${workspaceId}, conversation_id, id, direction, sender_type, sender_id, content_type, content_text, content,
        media_url, template_name, external_id, status, error, reply_to_message_id, interactive_reply_id, broadcast_id, sent_at,
        created_at
      from json_to_recordset(${json(threads.flatMap(({ messages }) => messages))}::text::json) as g (
        conversation_id uuid, id uuid, direction text, sender_type text, sender_id uuid, content_type text,
        content_text text, content jsonb, media_url text, template_name text, external_id text, status text, error text,
        reply_to_message_id uuid, interactive_reply_id text, broadcast_id uuid, sent_at timestamptz, created_at timestamptz
      )
      order by id
      returning workspace_id, conversation_id, id, created_at, status, 'pending' as status_before, direction
    ),
    -- Those that a provider reports on: the others have no outcome.
    sent_messages as (
      select m.workspace_id, m.created_at, m.status, m.status_before, v.connection_id
      from inserted_messages m
      join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
      where m.direction = 'outbound' and v.channel <> 'web'
    ),
    ${countOutcomes(sql, sql`sent_messages`)},
    ${reindexMessages(sql, sql`inserted_messages`)}
    select count(*) from inserted_messages`
}

async function insertNotes(sql: Sql, { workspaceId }: Past, threads: readonly PastThread[]): Promise<void> {
  const rows = threads.flatMap(({ id, notes }) => notes.map((note) => ({ ...note, conversation_id: id })))
  await sql`
    insert into timeline_entries (workspace_id, conversation_id, id, kind, member_id, text, details, created_at)
    select ${workspaceId}, conversation_id, id, 'note', member_id, text, jsonb_build_object('mentions', mentions), created_at
    from json_to_recordset(${json(rows)}::text::json) as g (
      conversation_id uuid, id uuid, member_id uuid, text text, mentions jsonb, created_at timestamptz
    )`
  await sql`
    insert into mentions (workspace_id, member_id, id, conversation_id)
    select ${workspaceId}, m.member_id::uuid, g.id, g.conversation_id
    from json_to_recordset(${json(rows)}::text::json) as g (conversation_id uuid, id uuid, mentions jsonb)
    cross join jsonb_array_elements_text(g.mentions) as m (member_id)`
}

async function insertContactNotes(sql: Sql, workspaceId: string, people: readonly PastPerson[]): Promise<void> {
  const rows = people.flatMap(({ id, note }) =>
    note ? [{ ...note, contact_id: id, created_at: timeOfId(note.id) }] : [],
  )
  await sql`
    insert into contact_notes (workspace_id, contact_id, id, member_id, text, created_at)
    select ${workspaceId}, contact_id, id, member_id, text, created_at
    from json_to_recordset(${json(rows)}::text::json) as g (
      contact_id uuid, id uuid, member_id uuid, text text, created_at timestamptz
    )`
}

async function insertCannedReplies(sql: Sql, { workspaceId, nowMs }: Past): Promise<void> {
  const rows = cannedReplies.map(({ shortcut, text }) => {
    const id = pastId(nowMs - 14 * dayMs)
    return { id, shortcut, shortcut_key: fold(shortcut), text, created_at: timeOfId(id) }
  })
  await sql`
    insert into canned_replies (workspace_id, id, member_id, shortcut, shortcut_key, text, created_at, updated_at)
    select ${workspaceId}, id, null, shortcut, shortcut_key, text, created_at, created_at
    from json_to_recordset(${json(rows)}::text::json) as g (
      id uuid, shortcut text, shortcut_key text, text text, created_at timestamptz
    )`
}

/** The office hours of the workspace: the week of a shop, closed on New Year's Day. */
async function insertHours(sql: Sql, { workspaceId, nowMs }: Past): Promise<void> {
  const id = pastId(nowMs - 14 * dayMs)
  const periods = [0, 1, 2, 3, 4, 5].map((day) => ({ day, from: '09:00', to: day === 5 ? '14:00' : '18:00' }))
  const holidays = [{ date: `${new Date(nowMs).getUTCFullYear() + 1}-01-01`, name: 'New Year’s Day' }]
  await sql`
    insert into schedules (workspace_id, id, name, name_key, time_zone, periods, holidays, created_at, updated_at)
    select w.id, ${id}, 'Shop', ${fold('Shop')}, w.time_zone, ${sql.json(periods)}, ${sql.json(holidays)}, ${timeOfId(id)},
      ${timeOfId(id)}
    from workspaces w where w.id = ${workspaceId}`
  await sql`update workspaces set schedule_id = ${id} where id = ${workspaceId}`
}

/** Labels the conversations, and saves a view that all members share. */
async function insertLabels(sql: Sql, past: Past, threads: readonly PastThread[]): Promise<void> {
  const { workspaceId, ownerId } = past
  const ids = new Map<string, string | undefined>()
  for (const [name, color] of Object.entries(labelColors)) {
    const labels = await resolveTags(sql, workspaceId, readTagNames([name]), { kind: labelKind, color })
    ids.set(name, labels.get(fold(name))?.id)
  }
  const rows = threads.flatMap(({ id, labels: names }) =>
    names.map((name) => ({ conversation_id: id, label_id: ids.get(name) })),
  )
  await sql`
    insert into conversation_labels (workspace_id, conversation_id, label_id)
    select ${workspaceId}, conversation_id, label_id
    from json_to_recordset(${json(rows)}::text::json) as g (conversation_id uuid, label_id uuid)`
  await createView(sql, workspaceId, ownerId, demoView)
}

/** A customer's file is a row of `media`, a member's file one of `uploads`. Both are stored already. */
async function insertFiles(
  sql: Sql,
  past: Past,
  threads: readonly PastThread[],
  sizes: ReadonlyMap<string, number>,
): Promise<void> {
  const withFiles = threads.flatMap(({ channel, messages }) =>
    messages.flatMap(({ picture, ...message }) => (picture ? [{ message, picture, channel }] : [])),
  )
  const rows = withFiles.map(({ message: { id, conversation_id, direction, created_at }, picture, channel }) => ({
    ...{ ...picture, size_bytes: sizes.get(picture.id) ?? 0 },
    ...{ message_id: id, conversation_id, direction, created_at, channel },
  }))
  await sql`
    insert into media (workspace_id, id, conversation_id, message_id, channel, source, state, token, mime_type, filename,
      size_bytes, attempt_count, next_attempt_at, created_at)
    select ${past.workspaceId}, id, conversation_id, message_id, channel, '{}', 'stored', token, ${pictureType}, filename,
      size_bytes, 1, created_at, created_at
    from json_to_recordset(${json(rows.filter(({ direction }) => direction === 'inbound'))}::text::json) as g (
      id uuid, conversation_id uuid, message_id uuid, channel text, token text, filename text, size_bytes bigint,
      created_at timestamptz
    )`
  const header = past.pictureOf(demoBroadcast.picture)
  const at = new Date(past.nowMs - spanOf(demoBroadcast.ago)).toISOString()
  const uploads = [
    ...rows.filter(({ direction }) => direction === 'outbound'),
    { ...header, size_bytes: sizes.get(header.id) ?? 0, created_at: at },
  ]
  await sql`
    insert into uploads (workspace_id, id, token, mime_type, filename, size_bytes, created_by, created_at, used_at)
    select ${past.workspaceId}, id, token, ${pictureType}, filename, size_bytes, ${past.ownerId}, created_at, created_at
    from json_to_recordset(${json(uploads)}::text::json) as g (
      id uuid, token text, filename text, size_bytes bigint, created_at timestamptz
    )`
}

function toSegments({ nowMs }: Past, idOf: (key: PersonKey) => string) {
  return demoSegments.map(({ name, description, since, ...kind }) => {
    const id = pastId(nowMs - since * dayMs)
    const filter = 'filter' in kind ? requireFilter(filterFields, kind.filter) : null
    const members = 'members' in kind ? kind.members.map(idOf) : []
    return {
      id,
      name,
      name_key: fold(name),
      description,
      color: colorOf(id),
      filter,
      members,
      created_at: timeOfId(id),
    }
  })
}

async function insertSegments(sql: Sql, workspaceId: string, segments: ReturnType<typeof toSegments>): Promise<void> {
  await sql`
    insert into segments (workspace_id, id, name, name_key, description, color, kind, filter, created_at, updated_at)
    select ${workspaceId}, id, name, name_key, description, color,
      case when jsonb_typeof(filter) = 'object' then 'dynamic' else 'static' end, nullif(filter, 'null'), created_at, created_at
    from jsonb_to_recordset(${json(segments)}::text::jsonb) as g (
      id uuid, name text, name_key text, description text, color text, filter jsonb, created_at timestamptz
    )`
  const members = segments.flatMap(({ id, members }) => members.map((contact_id) => ({ segment_id: id, contact_id })))
  await sql`
    insert into segment_members (workspace_id, segment_id, contact_id)
    select ${workspaceId}, segment_id, contact_id
    from json_to_recordset(${json(members)}::text::json) as g (segment_id uuid, contact_id uuid)`
}

/** Inserts a completed broadcast: every recipient has an outcome. */
async function insertBroadcast(
  sql: Sql,
  past: Past,
  segmentId: string | null,
  recipients: readonly PastRecipient[],
): Promise<void> {
  const { workspaceId, nowMs, broadcastId: id } = past
  const { name, ago, template } = demoBroadcast
  const startedMs = nowMs - spanOf(ago)
  const started = new Date(startedMs).toISOString()
  const completed = new Date(startedMs + recipients.length * 1_000).toISOString()
  const count = recipients.length
  await sql`
    insert into broadcasts (workspace_id, id, name, status, template_name, template_language, params, segment_id, author_id,
      total_count, filled_count, is_filled, position, created_at, started_at, served_at, completed_at)
    values (${workspaceId}, ${id}, ${name}, 'sent', ${template.name}, ${template.language},
      ${json(paramsOf(past))}::text::jsonb, ${segmentId}, ${past.ownerId}, ${count}, ${count}, true, ${count}, ${timeOfId(id)}, ${started},
      ${completed}, ${completed})`
  const rows = recipients.map(({ message, ...recipient }) => {
    const skippedReason = recipient.phone === null ? noPhoneReason : optedOutReason
    const outcome = message
      ? { status: message.status, reason: message.error }
      : { status: 'skipped', reason: skippedReason }
    const sent = { message_id: message?.id ?? null, attempt_count: message ? 1 : 0, sent_at: message?.created_at }
    return { ...recipient, ...outcome, ...sent }
  })
  await sql`
    with inserted_recipients as (
      insert into broadcast_recipients (workspace_id, broadcast_id, place, contact_id, phone, status, reason, message_id,
        attempt_count, delivered_at, read_at)
      select ${workspaceId}, ${id}, place, contact_id, phone, status, reason, message_id, attempt_count,
        case when status in ('delivered', 'read') then sent_at + interval '4 seconds' end,
        case when status = 'read' then sent_at + place * interval '5 minutes' end
      from json_to_recordset(${json(rows)}::text::json) as g (
        place int, contact_id uuid, phone text, status text, reason text, message_id uuid, attempt_count int,
        sent_at timestamptz
      )
      returning workspace_id, broadcast_id, 'pending' as status_before, status as status_after
    )
    ${addCounts(sql, sql`inserted_recipients`)}`
  await sql`
    update broadcast_counts set settled_at = ${completed} where workspace_id = ${workspaceId} and broadcast_id = ${id}`
  await sql`
    with
    -- The messages of customers after the one of the broadcast.
    answers as (
      select m.workspace_id, o.id as message_id, m.content_type, m.created_at as at
      from messages o
      join messages m on m.workspace_id = o.workspace_id and m.conversation_id = o.conversation_id and m.id > o.id
      where o.workspace_id = ${workspaceId} and o.broadcast_id = ${id} and m.direction = 'inbound'
        and m.content_type <> 'reaction'
    ),
    responses as (
      select workspace_id, message_id, 'replied' as kind, at from answers
      union all
      select workspace_id, message_id, 'tapped', at from answers where content_type = 'button'
    ),
    ${recipientFollower.respond(sql, sql`responses`)}
    select count(*) from inserted_responses`
}
