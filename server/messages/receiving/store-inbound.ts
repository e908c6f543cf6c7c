/**
 * Stores customers' messages in bulk. One statement inserts the messages of a batch with their events, their media to
 * fetch, their opt-outs, the responses to broadcasts that they are and the automations that they may start, and updates their conversations. A message that is
 * already stored changes nothing. One that answers the question about satisfaction changes neither the status of its conversation nor its counts.
 *
 * A contact may be erased or merged after its thread was found, or the episode of its conversation may close. The statement then skips the
 * message, and it is stored again where the sender's identity leads.
 *
 * Over 400 lines because it is one statement with all its parts.
 */
import { isVisitMessageId } from '../../channels/web/web.ts'
import { type Decision, recordDecisions } from '../../contacts/opt-out.ts'
import { identitiesOf } from '../../contacts/people.ts'
import { contactJson } from '../../contacts/resource.ts'
import { recordReopenings } from '../../conversations/activity.ts'
import { openEpisodes, teamOfOpening } from '../../conversations/episodes/writing.ts'
import { type Lookup, lookUp, resolveLookups, retryMoved, threadOf } from '../../conversations/threads.ts'
import { timeOfId } from '../../lib/id.ts'
import { type Fragment, jsonObject, type Sql, sharedFragment, withoutEstimate } from '../../lib/postgres/db.ts'
import { toMediaColumns } from '../../media/media.ts'
import { messageKinds, queueTriggers } from '../../triggers/queue.ts'
import { emit } from '../../webhooks/emit.ts'
import { messageJson } from '../resource.ts'
import { awaitsResponse, type StatusContext, type StatusFollower } from '../status-follower.ts'
import type { InboundMessage } from './inbound.ts'
import { awaitsRating, type RatingAnswer, type RatingAnswers } from './rating-answers.ts'

export type StoredMessage = {
  id: string
  conversation_id: string
  contact_id: string
  has_media: boolean
  /** Whether it waits for the decision which automations it starts or continues. */
  is_queued: boolean
  /** Whether it may be a rating, for which the worker has something to do. */
  is_answer: boolean
}

/** Whether a message may start an automation: `opening` only if it opens its conversation. */
export type MayStart = 'always' | 'opening' | 'never'

/** What automations ask of a message before it is stored. */
export type MessageCause = {
  workspace_id: string
  automations_version: string
  text: string | null
  content_type: string
  button: string | null
}

export type InboundContext = StatusContext & {
  /** The module to the right that has the automations provides the function. */
  findStarts: (sql: Sql, messages: readonly MessageCause[]) => Promise<MayStart[]>
  /** So does the module that asks for ratings. */
  ratings?: RatingAnswers | undefined
}

/** A message on its way: whose it is, and where it is stored. */
type Arrival = Lookup & { message: InboundMessage; mayStart?: MayStart; answer?: RatingAnswer; stored?: StoredMessage }

/** Returns for each message where it is stored, or undefined when it was stored before. */
export async function storeInbound(
  sql: Sql,
  messages: readonly InboundMessage[],
  context: InboundContext,
): Promise<(StoredMessage | undefined)[]> {
  const arrivals = messages.map((message): Arrival => ({ message, who: message.from }))
  await findStarts(sql, arrivals, context)
  let left: Arrival[] = arrivals
  await retryMoved(async () => {
    left = await storeArrivals(sql, left, context)
    return left.length === 0 || undefined
  })
  return arrivals.map(({ stored }) => stored)
}

/** Most messages start nothing: to queue and decide one costs half as much again as to store it. */
async function findStarts(sql: Sql, arrivals: readonly Arrival[], context: InboundContext): Promise<void> {
  const automated = arrivals.flatMap((arrival) => {
    const { from, written, automationsVersion } = arrival.message
    if (automationsVersion === null) return []
    const { content_text: text, content_type, interactive_reply_id: button } = written
    const { workspace_id } = from
    return [{ arrival, cause: { workspace_id, automations_version: automationsVersion, text, content_type, button } }]
  })
  if (automated.length === 0) return
  const causes = automated.map(({ cause }) => cause)
  const found = await context.findStarts(sql, causes)
  automated.forEach(({ arrival }, i) => {
    arrival.mayStart = found[i] ?? 'always'
  })
}

/** Returns the messages whose conversation is gone, has another contact or has no open episode any more since its thread was found. */
async function storeArrivals(sql: Sql, arrivals: readonly Arrival[], context: InboundContext): Promise<Arrival[]> {
  await lookUp(sql, arrivals)
  // No contact is created for a repeated message: its sender may have another phone number by now.
  const repeated = await findRepeated(
    sql,
    arrivals.filter(({ thread }) => !thread?.conversation_id),
  )
  const fresh = arrivals.filter((arrival) => !repeated.has(arrival))
  if (fresh.length === 0) return []
  await resolveLookups(sql, fresh)
  await findRatings(sql, fresh, context)
  return insertMessages(sql, fresh, context)
}

/** Most conversations were never asked for a rating. */
async function findRatings(sql: Sql, arrivals: readonly Arrival[], { ratings }: InboundContext): Promise<void> {
  for (const arrival of arrivals) delete arrival.answer
  const asked = arrivals.flatMap((arrival) => {
    const { thread, message, who } = arrival
    const question_id = thread?.rating_message_id
    if (!awaitsRating(question_id)) return []
    const { content_text: text, content_type, interactive_reply_id: button } = message.written
    const { workspace_id } = who
    const is_wish = message.wish !== undefined
    return [{ arrival, maybe: { workspace_id, question_id, text, content_type, button, is_wish } }]
  })
  if (!ratings || asked.length === 0) return
  const maybe = asked.map((each) => each.maybe)
  const found = await ratings.find(sql, maybe)
  asked.forEach(({ arrival }, i) => {
    const answer = found[i]
    if (answer) arrival.answer = answer
  })
}

/** The messages that are already stored. */
async function findRepeated(sql: Sql, arrivals: readonly Arrival[]): Promise<Set<Arrival>> {
  if (arrivals.length === 0) return new Set()
  const known = await sql<{ position: number }[]>`
    select i.position::int
    from unnest(${arrivals.map(({ who }) => who.workspace_id)}::uuid[],
      ${arrivals.map(({ message }) => message.written.external_id)}::text[])
      with ordinality as i (workspace_id, external_id, position)
    join messages m on m.workspace_id = i.workspace_id and m.external_id = i.external_id`
  return new Set(known.flatMap(({ position }) => arrivals[position - 1] ?? []))
}

async function insertMessages(
  sql: Sql,
  arrivals: readonly Arrival[],
  { publicUrl, follower, ratings }: InboundContext,
): Promise<Arrival[]> {
  const rows = withQuotes(arrivals.map(toRow))
  const decisions = arrivals.flatMap(toDecision)
  const channels = [...new Set(arrivals.map(({ who }) => who.channel))].sort()
  // Few batches have an opt-out; the statement of the others is shorter.
  const isInserted = sql`d.message_id in (select id from inserted_messages)`
  const decided = decisions.length > 0 ? sql`${recordDecisions(sql, decisions, isInserted)},` : sql``
  // So is that of batches in which no message concerns an automation: building and starting this part costs a tenth of storing a message.
  const isQueued = arrivals.some(mayBeQueued)
  // And that of batches whose conversations all have an open episode: those messages are only counted.
  const withoutEpisode = arrivals.flatMap(({ thread }) =>
    thread?.conversation_id && !thread.episode_id ? thread.conversation_id : [],
  )
  const opens = withoutEpisode.length > 0
  // And that of batches without a rating.
  const rated = arrivals.flatMap(({ answer, message: { id } }) => (answer ? [{ id, ...answer }] : []))
  const hasRatings = ratings !== undefined && rated.length > 0
  const isWork = hasRatings ? sql`m.id not in (select id from rating_answers)` : undefined
  const only = isWork ? sql` filter (where ${isWork})` : sql``
  const alsoWork = isWork ? sql` and ${isWork}` : sql``
  const moves = hasRatings ? sql`(v.blocked_at is null and n.is_work)` : sql`v.blocked_at is null`
  const stays = hasRatings ? sql`not (v.blocked_at is null and n.is_work)` : sql`v.blocked_at is not null`
  const isOpening = sql`v.episode_id is null and ${moves}`
  const answers = follower ? arrivals.flatMap(toAnswer) : []
  const responded =
    follower && answers.length > 0 ? sql`${recordResponses(sql, follower, answers, decisions.length > 0)},` : sql``
  const noted = await sql<{ id: string; is_moved: boolean; is_queued: boolean }[]>`
    with
    -- The messages to store, with their media.
    input as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        workspace_id uuid, conversation_id uuid, contact_id uuid, id uuid, content_type text, content_text text,
        content jsonb, media_url text, external_id text, reply_to text, quoted_id uuid, reply_to_message_id uuid,
        interactive_reply_id text, sent_at timestamptz, created_at timestamptz, channel text, connection_id uuid, identity text, media_id uuid, media_source jsonb, media_token text,
        mime_type text, filename text, is_stop boolean, may_start text
      )
    ),
    -- Their conversations, locked first and in the order of their ids: two batches with the same message wait here. Without those whose
    -- episode was open when the thread was found and is not any more: this statement may not see its closing.
    locked_conversations as (
      select v.workspace_id, v.id, v.contact_id, v.status, v.blocked_at, v.last_received_at, v.bot_run_id
        ${opens ? sql`, v.connection_id, v.assigned_agent_id, v.episode_id` : sql``}
      from conversations v
      where (v.workspace_id, v.id) in (select workspace_id, conversation_id from input)
        and ${withoutEstimate(sql, opens ? sql`v.episode_id is not null or v.id = any(${withoutEpisode}::uuid[])` : sql`v.episode_id is not null`)}
      order by v.id
      for no key update
    ),
    -- Without messages that are already stored, and without those whose conversation changed hands. The quoted message may
    -- be part of this batch.
    inserted_messages as (
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text,
        content, media_url, external_id, status, reply_to_message_id, interactive_reply_id, sent_at, created_at, visitor_id)
      select i.workspace_id, i.conversation_id, i.id, 'inbound', 'customer', i.content_type, i.content_text, i.content,
        i.media_url, i.external_id, 'received', case when i.reply_to is null then i.reply_to_message_id else coalesce((
          select m.id from messages m
          where m.workspace_id = i.workspace_id and m.external_id = i.reply_to
            and m.conversation_id = i.conversation_id
        ), i.quoted_id) end, i.interactive_reply_id, least(i.sent_at, i.created_at), i.created_at,
        case when i.channel = 'web' then i.identity end
      from input i
      join locked_conversations l
        on l.workspace_id = i.workspace_id and l.id = i.conversation_id and l.contact_id = i.contact_id
      order by i.id
      on conflict do nothing
      returning workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, content,
        media_url, template_name, broadcast_id, external_id, status, error, reply_to_message_id, interactive_reply_id,
        sent_at, deleted_at, created_at
    ),
    ${hasRatings ? ratings.record(sql, rated) : sql``}
    -- Reopened, moved in the inbox, with the last message and the unread count that it shows. The customer waits from the
    -- first message without a reply; a closed conversation has no such message, and a reaction needs no reply. The conversation of a
    -- blocked contact stays where it is, and so does one with nothing but answers to the question about satisfaction.
    updated_conversations as (
      update conversations v set
        unread_count = case when ${moves} then v.unread_count + n.count else v.unread_count end,
        last_inbound_at = greatest(v.last_inbound_at, n.sent_at),
        last_received_at = greatest(v.last_received_at, n.created_at),
        last_inbound_identity = n.identity,
        last_message_text =
          case when v.last_message_at > n.created_at then v.last_message_text else n.content_text end,
        last_message_at = greatest(v.last_message_at, n.created_at),
        inbox_at = case when ${moves} then greatest(v.inbox_at, n.created_at) else v.inbox_at end,
        waiting_since = case
          when ${stays} then v.waiting_since
          when v.status = 'closed' then n.waiting_since
          else coalesce(v.waiting_since, n.waiting_since)
        end,
        status = case when ${moves} then 'open' else v.status end,
        snoozed_until = case when ${stays} then v.snoozed_until end,
        episode_messages = case when v.blocked_at is null then v.episode_messages + n.count else v.episode_messages end,
        ${
          opens
            ? sql`
              episode_id = case when ${isOpening} then n.first_id else v.episode_id end,
              team_id = case when ${isOpening} then ${teamOfOpening(sql)} else v.team_id end,`
            : sql``
        }
        updated_at = now()
      from (
        select m.workspace_id, m.conversation_id, (count(*)${only})::int as count, max(m.sent_at) as sent_at,
          ${isWork ? sql`bool_or(${isWork}) as is_work,` : sql``}
          ${opens ? sql`(array_agg(m.id order by m.id)${only})[1] as first_id,` : sql``}
          max(m.created_at) as created_at,
          min(m.created_at) filter (where m.content_type <> 'reaction'${alsoWork}) as waiting_since,
          (array_agg(m.content_text order by m.id desc))[1] as content_text,
          (array_agg(i.identity order by m.id desc))[1] as identity
        from inserted_messages m join input i on i.id = m.id
        group by m.workspace_id, m.conversation_id
      ) n
      where v.workspace_id = n.workspace_id and v.id = n.conversation_id
    ),
    ${
      opens
        ? sql`${openEpisodes(
            sql,
            sql`(
              select m.workspace_id, m.conversation_id, (array_agg(m.id order by m.id))[1] as id, min(m.created_at) as at
              from inserted_messages m ${isWork ? sql`where ${isWork}` : sql``}
              group by m.workspace_id, m.conversation_id
            )`,
          )},`
        : sql``
    }
    -- A line in the thread of each conversation that was not open.
    ${recordReopenings(
      sql,
      'customer',
      sql`
        select l.workspace_id, l.id, min(m.created_at) as at
        from locked_conversations l
        join inserted_messages m on m.workspace_id = l.workspace_id and m.conversation_id = l.id
        where ${withoutEstimate(sql, sql`l.status <> 'open' and l.blocked_at is null`)}${alsoWork}
        group by l.workspace_id, l.id`,
    )},
    -- The media of the new messages, for the loop that fetches them.
    inserted_media as (
      insert into media (workspace_id, id, conversation_id, message_id, channel, connection_id, source, token, mime_type, filename,
        next_attempt_at, created_at)
      select i.workspace_id, i.media_id, i.conversation_id, i.id, i.channel, i.connection_id, i.media_source, i.media_token, i.mime_type,
        i.filename, now(), i.created_at
      from input i join inserted_messages n on n.id = i.id
      where i.media_id is not null
    ),
    ${decided}
    ${responded}
    ${isQueued ? sql`${queueReceived(sql, hasRatings ? 'rated' : '')},` : sql``}
    ${emitReceived(sql, [publicUrl, ...channels].join(' '))}
    -- The messages that were not inserted, and those that automations wait for; most batches have none.
    select i.id, l.id is null as is_moved, false as is_queued
    from input i
    left join locked_conversations l
      on l.workspace_id = i.workspace_id and l.id = i.conversation_id and l.contact_id = i.contact_id
    where i.id not in (select id from inserted_messages)
    ${isQueued ? sql`union all select message_id, false, true from queued_triggers` : sql``}`
  const notes = new Map(noted.map((message) => [message.id, message]))
  for (const arrival of arrivals) {
    const { id, written } = arrival.message
    const is_queued = notes.get(id)?.is_queued === true
    if (notes.has(id) && !is_queued) continue
    const { conversation_id, contact_id } = threadOf(arrival)
    const is_answer = arrival.answer !== undefined
    arrival.stored = { id, conversation_id, contact_id, has_media: written.media !== null, is_queued, is_answer }
  }
  return arrivals.filter(({ message }) => notes.get(message.id)?.is_moved)
}

/**
 * Whether the statement looks at the conversation. A run with questions that starts after the thread was found asks later than this message
 * arrived, which is thus no answer.
 */
const mayBeQueued = (arrival: Arrival): boolean => {
  const { mayStart, thread } = arrival
  return mayStart !== undefined && (mayStart !== 'never' || wishOf(arrival) === 'stop' || Boolean(thread?.bot_run_id))
}

/** A rating is no opt-out, even if its text is a word that is one. */
const wishOf = ({ answer, message }: Arrival) => (answer ? undefined : message.wish)

/**
 * Members of a `with` list: the new messages that may start automations, answer the question of one, or end those of a contact who opts
 * out. A message opens its conversation if that was closed or has no earlier one. Those of blocked contacts start nothing, nor do ratings.
 */
const queueReceived = sharedFragment((sql, key) => {
  const isWork = key === 'rated' ? sql` and m.id not in (select id from rating_answers)` : sql``
  // Not correlated, so PostgreSQL reads the first messages once, into a hash table.
  const opens = sql`((l.status = 'closed' or l.last_received_at is null) and m.id in (
    select distinct on (m.workspace_id, m.conversation_id) m.id from inserted_messages m
    where true${isWork}
    order by m.workspace_id, m.conversation_id, m.id
  ))`
  return queueTriggers(sql, {
    kinds: messageKinds,
    workspaces: sql`inserted_messages`,
    from: sql`inserted_messages m
      join input i on i.id = m.id
      join locked_conversations l on l.workspace_id = m.workspace_id and l.id = m.conversation_id`,
    where: sql`${withoutEstimate(sql, sql`l.blocked_at is null`)}${isWork}
      and (i.may_start = 'always' or i.is_stop or l.bot_run_id is not null or (i.may_start = 'opening' and ${opens}))`,
    workspaceId: sql`m.workspace_id`,
    event: sql`case when i.is_stop then 'stop' else 'received' end`,
    contactId: sql`l.contact_id`,
    conversationId: sql`m.conversation_id`,
    messageId: sql`m.id`,
    detail: sql`case when ${opens} then 'opens' end`,
  })
})

/**
 * Members of a `with` list: `message.received` for the rows of `input i` that became `inserted_messages m`. The key is the
 * public URL and the channels of the batch, sorted: each further shape would add about 50 µs to the start of the statement.
 */
const emitReceived = sharedFragment((sql, key) => {
  const [publicUrl = '', ...channels] = key.split(' ')
  const ids = sql`m.conversation_id, i.contact_id`
  const rest = sql`m.content_type, m.content_text as text,
    ${messageJson(sql, sql`i.channel`, publicUrl)} as message,
    ${contactJson(sql, sql`i.workspace_id`, sql`i.contact_id`)} as contact`
  const keys: Record<string, Fragment> = {
    msgapp: sql`${ids}, m.external_id as msgapp_message_id`,
    social: sql`i.channel, ${ids}, m.external_id as social_message_id`,
    web: sql`i.channel, ${ids}, m.id as message_id`,
  }
  const shapes = channels.map((name) => sql`when ${name} then ${jsonObject(sql, sql`${keys[name] ?? ids}, ${rest}`)}`)
  return emit(sql, {
    event: 'message.received',
    workspaces: sql`inserted_messages`,
    from: sql`input i join inserted_messages m on m.id = i.id`,
    order: sql`m.id`,
    // Of `m`: with the workspace of `i` the planner scans `input` once per message.
    workspaceId: sql`m.workspace_id`,
    occurredAt: sql`i.sent_at`,
    data: sql`case i.channel ${shapes.reduce((one, other) => sql`${one} ${other}`)} end`,
  })
})

/** A message in a conversation to which a broadcast was sent lately. */
type Answer = { id: string; broadcast_message_id: string; contact_id: string; is_stop: boolean }

/** A reaction is no answer. */
function toAnswer(arrival: Arrival): Answer[] {
  const { id, wish, written } = arrival.message
  const { contact_id, last_broadcast_message_id: last } = threadOf(arrival)
  if (arrival.answer || !awaitsResponse(last) || written.content_type === 'reaction') return []
  return [{ id, broadcast_message_id: last, contact_id, is_stop: wish === 'stop' }]
}

/**
 * Members of a `with` list: the responses to broadcasts among `inserted_messages`. `hasDecisions`: the list has `updated_contacts`,
 * and all of them are locked before any response is written (lock order: ARCHITECTURE.md).
 */
function recordResponses(
  sql: Sql,
  follower: StatusFollower,
  answers: readonly Answer[],
  hasDecisions: boolean,
): Fragment {
  const contacts = sql`left join updated_contacts u on u.workspace_id = m.workspace_id and u.id = a.contact_id`
  return sql`
    -- The message of a broadcast that each new message answers: the one that it quotes, otherwise the last one.
    answers as (
      select m.workspace_id, coalesce(m.reply_to_message_id, a.broadcast_message_id) as message_id, m.content_type,
        m.created_at as at, ${hasDecisions ? sql`a.is_stop and u.is_opted_out` : sql`false`} as is_stop
      from json_to_recordset(${JSON.stringify(answers)}::text::json) as a (
        id uuid, broadcast_message_id uuid, contact_id uuid, is_stop boolean
      )
      join inserted_messages m on m.id = a.id
      ${hasDecisions ? contacts : sql``}
    ),
    -- Every answer is a reply; a tap and an opt-out are also counted as such.
    responses as (
      select workspace_id, message_id, 'replied' as kind, at from answers
      union all
      select workspace_id, message_id, 'tapped', at from answers where content_type = 'button'
      union all
      select workspace_id, message_id, 'opted_out', at from answers where is_stop
    ),
    ${follower.respond(sql, sql`responses`)}`
}

function toRow(arrival: Arrival) {
  const { mayStart } = arrival
  const { id, from, written, media_url } = arrival.message
  const { conversation_id, contact_id } = threadOf(arrival)
  const { external_id, at, content_type, content_text, content, media, reply_to, interactive_reply_id } = written
  const { workspace_id, channel } = from
  const isWeb = channel === 'web'
  // A field that is undefined is not in the JSON and null in the statement: this halves the time to read a text message.
  return {
    workspace_id,
    conversation_id,
    contact_id,
    id,
    content_type,
    content_text: content_text ?? undefined,
    content: content ?? undefined,
    media_url,
    // A web message has an external id only when the visitor's page gave it a `client_id`.
    external_id: isWeb && !isVisitMessageId(external_id) ? undefined : external_id,
    // The web channel has no ids of its own for our messages.
    reply_to: isWeb ? undefined : (reply_to ?? undefined),
    reply_to_message_id: isWeb ? (reply_to ?? undefined) : undefined,
    interactive_reply_id: interactive_reply_id ?? undefined,
    sent_at: at,
    created_at: timeOfId(id),
    channel,
    identity: identitiesOf(from)[0],
    is_stop: wishOf(arrival) === 'stop' || undefined,
    may_start: mayStart === 'never' ? undefined : mayStart,
    ...(media ? { ...toMediaColumns(media), connection_id: from.connection_id ?? undefined } : {}),
  }
}

/** With the message that each of them quotes, if it is in the same batch: `quoted_id`. */
function withQuotes(rows: ReturnType<typeof toRow>[]) {
  if (rows.every(({ reply_to }) => !reply_to)) return rows
  const keyOf = ({ workspace_id, conversation_id }: (typeof rows)[number], externalId?: string) =>
    `${workspace_id} ${conversation_id} ${externalId}`
  const ids = new Map<string, string>()
  for (const row of rows) {
    const other = ids.get(keyOf(row, row.external_id))
    if (!other || row.id < other) ids.set(keyOf(row, row.external_id), row.id)
  }
  return rows.map((row) => (row.reply_to ? { ...row, quoted_id: ids.get(keyOf(row, row.reply_to)) } : row))
}

function toDecision(arrival: Arrival): Decision[] {
  const { id, from, written } = arrival.message
  const wish = wishOf(arrival)
  if (!wish) return []
  const { contact_id } = threadOf(arrival)
  return [{ workspace_id: from.workspace_id, contact_id, wish, by: 'customer', at: written.at, message_id: id }]
}
