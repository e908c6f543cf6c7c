/**
 * What the channel reports of messages, applied in bulk and in any order.
 *
 * A report finds its message by the channel's id, or by ours, which travelled
 * with the send: so it also settles a message whose answer we never got. One
 * that finds nothing waits in `early_reports` and is tried again. Every report
 * of a delivery status is an event, repeated or late as it may be; the stored
 * status only moves up.
 */
import type { Report } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import { identitiesOf } from '../contacts/people.ts'
import { type Fragment, jsonObject, type Sql, sharedFragment } from '../lib/db.ts'
import { newId } from '../lib/id.ts'
import { emit } from '../webhooks/emit.ts'
import { messageColumns, messageStatuses } from './messages.ts'
import { countOutcomes } from './outcomes.ts'
import { reindexFailedReplies, reindexMessages } from './reindex-requests.ts'
import { followStatus, type StatusContext } from './status-follower.ts'

type StatusReport = Extract<Report, { kind: 'status' }>
export type Reported = { workspaceId: string; channel: ChannelName; report: StatusReport; isRetry?: boolean }

/** Apply them; answers each whether its message was found. Those without one wait for it. */
export async function applyStatuses(
  sql: Sql,
  reported: readonly Reported[],
  applying: StatusContext,
): Promise<boolean[]> {
  const { publicUrl, follower } = applying
  const leads = findLeads(reported)
  const rows = reported.map(({ workspaceId, channel, report }, place) => ({
    place,
    workspace_id: workspaceId,
    external_id: report.external_id,
    status: report.status,
    rank: messageStatuses.indexOf(report.status),
    error: report.error,
    leads: leads.has(place),
    // Events report delivery on the primary channel only.
    emits: channel === 'msgapp',
    occurred_at: report.at,
  }))
  const found = await sql<{ place: number }[]>`
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        place int, workspace_id uuid, external_id text, status text, rank int, error text, leads boolean, emits boolean,
        occurred_at timestamptz
      )
    ),
    found as (
      select g.place, m.workspace_id, m.conversation_id, m.id
      from given g
      join messages m on m.workspace_id = g.workspace_id and m.external_id = g.external_id and m.direction = 'outbound'
    ),
    -- In order, so that two batches never lock each other out; and only what will change.
    locked as (
      select m.workspace_id, m.conversation_id, m.id, g.status, g.rank, g.error, m.status as status_before
      from given g
      join messages m on m.workspace_id = g.workspace_id and m.external_id = g.external_id and m.direction = 'outbound'
      where g.leads and g.rank > ${rankOf(sql, sql`m.status`)}
      order by m.conversation_id, m.id
      for no key update of m
    ),
    moved as (
      update messages m set status = l.status, error = l.error
      from locked l
      where m.workspace_id = l.workspace_id and m.conversation_id = l.conversation_id and m.id = l.id
        and l.rank > ${rankOf(sql, sql`m.status`)}
      returning m.workspace_id, m.conversation_id, m.id, m.sender_type, m.status, m.error, m.created_at, l.status_before
    ),
    ${countOutcomes(sql, sql`moved`)}${followStatus(sql, follower, sql`moved`)},
    ${reindexFailedReplies(sql, sql`moved`)},
    ${emitReported(sql, publicUrl)}
    select place from found`
  const places = new Set(found.map(({ place }) => place))
  const unnamed = reported.filter((_, place) => !places.has(place))
  if (unnamed.length > 0) {
    const known = await nameMessages(sql, unnamed, applying)
    reported.forEach((one, place) => {
      if (known.has(one)) places.add(place)
    })
  }
  return reported.map((_, place) => places.has(place))
}

/**
 * Reports of messages the channel took without our hearing of it: our own id finds them, and they get their name. Then
 * they are reported as any other. What is still nobody's waits.
 */
async function nameMessages(sql: Sql, reported: readonly Reported[], applying: StatusContext): Promise<Set<Reported>> {
  const { follower } = applying
  const rows = reported.map(({ workspaceId, channel, report, isRetry = false }, place) => ({
    place,
    workspace_id: workspaceId,
    external_id: report.external_id,
    message_id: report.message_id,
    waits: !isRetry,
    early_id: newId(),
    report: { ...report, channel },
  }))
  const named = await sql<{ place: number }[]>`
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        place int, workspace_id uuid, external_id text, message_id uuid, waits boolean, early_id uuid, report jsonb
      )
    ),
    locked as (
      select distinct on (m.workspace_id, m.conversation_id, m.id)
        m.workspace_id, m.conversation_id, m.id, m.created_at, m.status, g.external_id
      from given g
      join messages m on m.workspace_id = g.workspace_id and m.id = g.message_id
        and m.external_id is null and m.direction = 'outbound'
      where not exists (
        select from messages n where n.workspace_id = g.workspace_id and n.external_id = g.external_id
      )
      order by m.workspace_id, m.conversation_id, m.id, g.place
    ),
    named as (
      update messages m set
        external_id = l.external_id,
        -- It was sent after all: whatever else is said of it is above that.
        status = case when m.status in ('pending', 'failed') then 'sent' else m.status end,
        error = null
      from locked l
      where m.workspace_id = l.workspace_id and m.conversation_id = l.conversation_id and m.id = l.id
        and m.external_id is null
      returning m.workspace_id, m.id, m.sender_type, m.status, m.error, m.external_id, l.status = 'failed' as was_given_up,
        m.created_at, l.status as status_before
    ),
    ${countOutcomes(sql, sql`named`)}${followStatus(sql, follower, sql`named`)},
    -- What we had given up counts in its plan again.
    counted as (
      update plan_usage u set message_count = u.message_count + n.n
      from (
        select workspace_id, date_trunc('month', created_at at time zone 'utc')::date as month, count(*)::int as n
        from named where was_given_up group by 1, 2
      ) n
      where u.workspace_id = n.workspace_id and u.month = n.month
    ),
    ours as (
      select g.place from given g
      join named n on n.workspace_id = g.workspace_id and n.external_id = g.external_id
    ),
    waiting as (
      insert into early_reports (workspace_id, id, external_id, report, received_at)
      select g.workspace_id, g.early_id, g.external_id, g.report, now()
      from given g
      where g.waits and g.place not in (select place from ours)
    )
    select place from ours`
  const known = new Set(named.flatMap(({ place }) => reported[place] ?? []))
  if (known.size > 0) await applyStatuses(sql, [...known], applying)
  return known
}

/**
 * Members of a `with` list: `message.status_updated` for each row of `given g` whose message was `found f`. The event's
 * message is as `moved v`, the statement's own update, leaves it: tables are read as they were before the statement.
 */
const emitReported = sharedFragment((sql, publicUrl) => {
  const after = {
    status: sql`coalesce(v.status, m.status)`,
    error: sql`case when v.id is null then m.error else v.error end`,
  }
  const message = sql`
    select ${jsonObject(sql, messageColumns(sql, sql`'msgapp'`, publicUrl, after))}
    from messages m
    where m.workspace_id = f.workspace_id and m.conversation_id = f.conversation_id and m.id = f.id`
  return emit(sql, {
    event: 'message.status_updated',
    workspaces: sql`found`,
    from: sql`given g
      join found f on f.place = g.place
      left join moved v on v.workspace_id = f.workspace_id and v.id = f.id`,
    where: sql`g.emits`,
    workspaceId: sql`g.workspace_id`,
    occurredAt: sql`g.occurred_at`,
    data: jsonObject(
      sql,
      sql`g.external_id as msgapp_message_id, f.conversation_id, g.status, (${message}) as message`,
    ),
  })
})

/** Of several reports about one message the one that says most; the others are events and no more. */
function findLeads(reported: readonly Reported[]): Set<number> {
  const leads = new Map<string, number>()
  reported.forEach(({ workspaceId, report }, place) => {
    const key = `${workspaceId} ${report.external_id}`
    const other = reported[leads.get(key) ?? -1]?.report
    if (!other || messageStatuses.indexOf(report.status) > messageStatuses.indexOf(other.status)) leads.set(key, place)
  })
  return new Set(leads.values())
}

/** Where a stored status stands, counted as in `messageStatuses`. */
const rankOf = (sql: Sql, status: Fragment) =>
  sql`array_position(array['received', 'pending', 'sent', 'failed', 'delivered', 'read'], ${status}) - 1`

const extras = [1, 2, 3, 4, 5, 6, 7, 8, 9]

export type Correction = Extract<Report, { kind: 'edit' | 'revoke' }>

export type Corrected = {
  /** False: there is no such message yet. */
  isKnown: boolean
  /** Media that went with it, to be dropped from the store. */
  media: string[]
}

/** Somebody changed or took back what they wrote. Nobody can do so with what another wrote. */
export async function applyCorrection(
  sql: Sql,
  workspaceId: string,
  channel: ChannelName,
  report: Correction,
): Promise<Corrected> {
  const isGone = report.kind === 'revoke'
  // A message of several attachments was kept as several, with a number behind the name.
  const names = isGone ? [report.external_id, ...extras.map((n) => `${report.external_id}:${n}`)] : [report.external_id]
  const messages = await sql<{ id: string; is_theirs: boolean }[]>`
    select m.id, case when m.direction = 'outbound' then ${report.from === null} else exists (
        select from conversations v
        join contact_identities i on i.workspace_id = v.workspace_id and i.contact_id = v.contact_id
        where v.workspace_id = m.workspace_id and v.id = m.conversation_id
          and i.channel = ${channel} and i.external_id = any(${report.from ? identitiesOf(report.from) : []}::text[])
      ) end as is_theirs
    from messages m
    where m.workspace_id = ${workspaceId} and m.external_id = any(${names})`
  const theirs = messages.filter(({ is_theirs }) => is_theirs).map(({ id }) => id)
  if (theirs.length === 0) return { isKnown: messages.length > 0, media: [] }
  // Media before messages, as whoever fetches them does.
  const media = isGone
    ? await sql<{ id: string }[]>`
        delete from media where workspace_id = ${workspaceId} and message_id = any(${theirs}::uuid[]) returning id`
    : []
  await sql`
    with corrected as (
      update messages m set
        content_text = case when m.deleted_at is null then ${report.kind === 'edit' ? report.text : null}::text else m.content_text end,
        content = case when ${isGone} then null else m.content end,
        media_url = case when ${isGone} then null else m.media_url end,
        interactive_reply_id = case when ${isGone} then null else m.interactive_reply_id end,
        deleted_at = case when ${isGone} then coalesce(m.deleted_at, ${report.at}::timestamptz) else m.deleted_at end
      where m.workspace_id = ${workspaceId} and m.external_id = any(${names}) and m.id = any(${theirs}::uuid[])
      returning m.workspace_id, m.conversation_id, m.id, m.content_text
    ),
    ${reindexMessages(sql, sql`corrected`)}
    update conversations v set last_message_text = c.content_text, updated_at = now()
    from corrected c
    where v.workspace_id = ${workspaceId} and v.id = c.conversation_id and not exists (
      select from messages n
      where n.workspace_id = ${workspaceId} and n.conversation_id = c.conversation_id and n.id > c.id
    )`
  return { isKnown: true, media: media.map(({ id }) => id) }
}

/** Everything we sent in a conversation up to this message was read; false: there is no such message yet. */
export async function applyReadUpTo(sql: Sql, workspaceId: string, externalId: string): Promise<boolean> {
  const [mark] = await sql<{ conversation_id: string; id: string }[]>`
    select conversation_id, id from messages where workspace_id = ${workspaceId} and external_id = ${externalId}`
  if (!mark) return false
  await sql`
    with locked as (
      select m.id, m.status as status_before
      from messages m
      where m.workspace_id = ${workspaceId} and m.conversation_id = ${mark.conversation_id} and m.id <= ${mark.id}
        and m.direction = 'outbound' and m.status in ('sent', 'delivered')
      order by m.id
      for no key update
    ),
    moved as (
      update messages m set status = 'read'
      from locked l
      where m.workspace_id = ${workspaceId} and m.conversation_id = ${mark.conversation_id} and m.id = l.id
      returning m.workspace_id, m.created_at, m.status, l.status_before
    ),
    ${countOutcomes(sql, sql`moved`)}
    select 1`
  return true
}
