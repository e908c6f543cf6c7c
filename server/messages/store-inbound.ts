/**
 * What customers write, kept in bulk: who wrote, in which conversation, the
 * message, its event, its media to fetch, the conversation's last word and
 * count of unread, and whether the sender wants no broadcasts. One statement
 * for all of a batch; a message that is there already changes nothing.
 */
import { readWish, type Wish } from '../accounts/opt-out-words.ts'
import type { MediaReference, Report, Written } from '../channels/channel.ts'
import { isNamedVisit } from '../channels/web/web.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import { type Decision, deciding } from '../contacts/opt-out.ts'
import type { Who } from '../contacts/people.ts'
import { contactJson } from '../contacts/resource.ts'
import { findThreads, resolveThreads, type Thread } from '../conversations/threads.ts'
import { type Fragment, jsonObject, type Sql, sharedFragment } from '../lib/db.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { mediaToken } from '../media/media.ts'
import { emit } from '../webhooks/emit.ts'
import { messageColumns } from './messages.ts'

export type Received = {
  workspaceId: string
  channel: ChannelName
  /** Made when it came, so that messages keep the order in which they came. */
  id: string
  from: Who
  written: Written
  /** What it says of broadcasts, if it does. */
  wish?: Wish | undefined
}

export type Kept = { id: string; conversation_id: string; contact_id: string; has_media: boolean }

export function toReceived(
  workspaceId: string,
  channel: ChannelName,
  { from, ...written }: Extract<Report, { kind: 'message' }>,
  more: Partial<Who> = {},
): Received {
  return { workspaceId, channel, id: newId(), from: { workspace_id: workspaceId, channel, ...from, ...more }, written }
}

/** Whether a customer opts out or in with this: by what is written or tapped on the primary channel. */
export function wishOf(channel: ChannelName, { content_type, content_text }: Written, own: ReadonlySet<string>) {
  const isWord = content_type === 'text' || content_type === 'button' || content_type === 'interactive'
  return channel === 'msgapp' && isWord && content_text ? readWish(content_text, own) : undefined
}

/** Keep them; answers each its place, or undefined for one that is there already. */
export async function keepReceived(sql: Sql, received: readonly Received[]): Promise<(Kept | undefined)[]> {
  const people = received.map(({ from }) => from)
  const found = await findThreads(sql, people)
  // Nobody is made for a message that is there already: its sender may have another name by now.
  const repeated = await findRepeated(
    sql,
    received.filter((_, place) => !found[place]?.conversation_id),
  )
  const isNew = received.map(({ written }) => !repeated.has(written.external_id))
  const threads = await resolveThreads(
    sql,
    people.filter((_, place) => isNew[place]),
    found.filter((_, place) => isNew[place]),
  )
  const fresh = received.filter((_, place) => isNew[place])
  const kept = await insertReceived(sql, fresh, threads)
  let next = 0
  return isNew.map((isOne) => (isOne ? kept[next++] : undefined))
}

/** Which of them are there already. */
async function findRepeated(sql: Sql, received: readonly Received[]): Promise<Set<string>> {
  if (received.length === 0) return new Set()
  const known = await sql<{ external_id: string }[]>`
    select m.external_id
    from unnest(${received.map(({ workspaceId }) => workspaceId)}::uuid[],
      ${received.map(({ written }) => written.external_id)}::text[]) as g (workspace_id, external_id)
    join messages m on m.workspace_id = g.workspace_id and m.external_id = g.external_id`
  return new Set(known.map(({ external_id }) => external_id))
}

async function insertReceived(
  sql: Sql,
  received: readonly Received[],
  threads: readonly Thread[],
): Promise<(Kept | undefined)[]> {
  const rows = received.map((one, place) => toRow(one, threads[place] as Thread))
  const decisions = received.flatMap((one, place) => toDecision(one, threads[place] as Thread) ?? [])
  // Hardly any batch has some, and the others are not slowed down by it.
  const isNew = sql`d.message_id in (select id from added)`
  const decided = decisions.length > 0 ? sql`${deciding(sql, decisions, isNew)},` : sql``
  const added = await sql<{ id: string }[]>`
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        workspace_id uuid, conversation_id uuid, contact_id uuid, id uuid, content_type text, content_text text,
        content jsonb, external_id text, reply_to text, interactive_reply_id text, sent_at timestamptz, created_at timestamptz,
        channel text, media_id uuid, media_source jsonb, media_token text, mime_type text, filename text
      )
    ),
    -- First and in order: two batches with the same conversations, or the same message, take turns here.
    locked as (
      select v.workspace_id, v.id
      from conversations v
      where (v.workspace_id, v.id) in (select workspace_id, conversation_id from given)
      order by v.id
      for no key update
    ),
    added as (
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text,
        content, external_id, status, reply_to_message_id, interactive_reply_id, sent_at, created_at)
      select g.workspace_id, g.conversation_id, g.id, 'inbound', 'customer', g.content_type, g.content_text, g.content,
        g.external_id, 'received', coalesce((
          select m.id from messages m
          where m.workspace_id = g.workspace_id and m.external_id = g.reply_to
            and m.conversation_id = g.conversation_id
        ), (
          -- What is answered may have come in the same moment.
          select o.id from given o
          where g.reply_to is not null and o.external_id = g.reply_to and o.workspace_id = g.workspace_id
            and o.conversation_id = g.conversation_id
          order by o.id limit 1
        )), g.interactive_reply_id, least(g.sent_at, now()), g.created_at
      from given g
      join locked l on l.workspace_id = g.workspace_id and l.id = g.conversation_id
      order by g.id
      on conflict do nothing
      returning workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, content,
        media_url, template_name, broadcast_id, external_id, status, error, reply_to_message_id, interactive_reply_id,
        sent_at, deleted_at, created_at
    ),
    touched as (
      update conversations v set
        unread_count = v.unread_count + a.n,
        last_inbound_at = greatest(v.last_inbound_at, a.sent_at),
        last_message_text =
          case when v.last_message_at > a.created_at then v.last_message_text else a.content_text end,
        last_message_at = greatest(v.last_message_at, a.created_at),
        status = 'open',
        updated_at = now()
      from (
        select workspace_id, conversation_id, count(*)::int as n, max(sent_at) as sent_at, max(created_at) as created_at,
          (array_agg(content_text order by id desc))[1] as content_text
        from added group by workspace_id, conversation_id
      ) a
      where v.workspace_id = a.workspace_id and v.id = a.conversation_id
    ),
    fetching as (
      insert into media (workspace_id, id, conversation_id, message_id, channel, source, token, mime_type, filename,
        next_attempt_at, created_at)
      select g.workspace_id, g.media_id, g.conversation_id, g.id, g.channel, g.media_source, g.media_token, g.mime_type,
        g.filename, now(), g.created_at
      from given g join added a on a.id = g.id
      where g.media_id is not null
    ),
    ${decided}
    ${emitReceived(sql, [...new Set(received.map(({ channel }) => channel))].sort().join(' '))}
    select id from added`
  const ids = new Set(added.map(({ id }) => id))
  return rows.map(({ id, conversation_id, media_id }, place) => {
    const contact_id = threads[place]?.contact_id ?? ''
    return ids.has(id) ? { id, conversation_id, contact_id, has_media: media_id !== null } : undefined
  })
}

/**
 * Members of a `with` list: `message.received` for the rows of `given g` that were inserted as `added m`. The key names
 * the channels of the batch, sorted: a shape that is not used would still cost some 50 us of the statement's start.
 */
const emitReceived = sharedFragment((sql, channels) => {
  const ids = sql`m.conversation_id, g.contact_id`
  // Media is fetched later, so no message has a path to complete.
  const rest = sql`m.content_type, m.content_text as text,
    ${jsonObject(sql, messageColumns(sql, sql`g.channel`, ''))} as message,
    ${contactJson(sql, sql`g.workspace_id`, sql`g.contact_id`)} as contact`
  const keys: Record<string, Fragment> = {
    msgapp: sql`${ids}, m.external_id as msgapp_message_id`,
    social: sql`g.channel, ${ids}, m.external_id as social_message_id`,
    web: sql`g.channel, ${ids}, m.id as message_id`,
  }
  const shapes = channels
    .split(' ')
    .map((name) => sql`when ${name} then ${jsonObject(sql, sql`${keys[name] ?? ids}, ${rest}`)}`)
  return emit(sql, {
    event: 'message.received',
    workspaces: sql`added`,
    from: sql`given g join added m on m.id = g.id`,
    workspaceId: sql`g.workspace_id`,
    occurredAt: sql`g.sent_at`,
    data: sql`case g.channel ${shapes.reduce((one, other) => sql`${one} ${other}`)} end`,
  })
})

function toRow({ workspaceId, channel, id, written }: Received, { conversation_id, contact_id }: Thread) {
  const { external_id, at, content_type, content_text, media } = written
  return {
    workspace_id: workspaceId,
    conversation_id,
    contact_id,
    id,
    content_type,
    content_text,
    content: written.content,
    // A visitor's message has no name but ours, unless their page gave it one to know it by.
    external_id: channel === 'web' && !isNamedVisit(external_id) ? null : external_id,
    reply_to: written.reply_to,
    interactive_reply_id: written.interactive_reply_id,
    sent_at: at,
    created_at: timeOfId(id),
    channel,
    ...toMediaColumns(media),
  }
}

function toDecision({ workspaceId, id, wish, written }: Received, { contact_id }: Thread): Decision | undefined {
  if (!wish) return undefined
  return { workspace_id: workspaceId, contact_id, wish, by: 'customer', at: written.at, message_id: id }
}

/** The columns of a row of `media` that is to be fetched; all null without media. */
export function toMediaColumns(media: MediaReference | null) {
  if (!media) return { media_id: null, media_source: null, media_token: null, mime_type: null, filename: null }
  const { mime_type, filename } = media
  return { media_id: newId(), media_source: media, media_token: mediaToken(), mime_type, filename }
}
